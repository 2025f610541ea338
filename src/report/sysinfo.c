/*
 * The information lines about the computer. Called by info.c.
 */
#include <inttypes.h>
#include <pwd.h>
#include <stdint.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "report/info.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

#define NAME_SIZE 256

/* The name that was logged in with; without a login, as in a cron job, that of the user id. */
static void user_name(char *name, size_t size)
{
	struct passwd entry, *found = NULL;
	char strings[4096];

	if (getlogin_r(name, size) == 0 && name[0])
		return;
	if (getpwuid_r(getuid(), &entry, strings, sizeof(strings), &found) == 0 && found)
		snprintf(name, size, "%s", found->pw_name);
	else
		snprintf(name, size, "***unknown user login***");
}

static void write_limit(FILE *f, const char *label, long value)
{
	if (value >= 0)
		fprintf(f, "%s, %ld\n", label, value);
	else
		fprintf(f, "%s, unknown\n", label);
}

static long megabytes_of_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	if (pages < 0 || size < 0)
		return -1;
	return (long)((uint64_t)pages * (uint64_t)size >> 20);
}

static uint64_t seconds_until(uint64_t wall_ns)
{
	uint64_t now = clock_wall_ns();

	return wall_ns > now ? (wall_ns - now + NS_PER_SEC / 2) / NS_PER_SEC : 0;
}

void info_system(FILE *f, const struct plan *plan)
{
	struct utsname name;
	char user[NAME_SIZE];

	if (uname(&name) < 0)
		memset(&name, 0, sizeof(name));
	user_name(user, sizeof(user));
	fprintf(f, "Computer Name, %s, User Name, %s\n", name.nodename, user);
	fprintf(f, "OS release and version, %s %s %s\n", name.sysname, name.release, name.version);
	fprintf(f, "Machine hardware type, %s\n", name.machine);
	write_limit(f, "Number of processors on this system", sysconf(_SC_NPROCESSORS_ONLN));
	write_limit(f, "Page size in bytes", sysconf(_SC_PAGESIZE));
	write_limit(f, "Number of physical pages", sysconf(_SC_PHYS_PAGES));
	write_limit(f, "Megabytes of physical memory", megabytes_of_memory());
	write_limit(f, "Clock Ticks per second", sysconf(_SC_CLK_TCK));
	fprintf(f, "Seconds before starting, %" PRIu64 "\n", seconds_until(plan->start_time_ns));
}
