/*
 * The computer and the build that a run was made with; see the header. Called by report_open().
 */
#include "report/environment.h"

#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "config.h"
#include "xdd/report/jvalue.h"
#include "xdd/sys/machine.h"
#include "xdd/sys/sysfile.h"

#define CPU_FOLDER "/sys/devices/system/cpu"
#define NODE_FOLDER "/sys/devices/system/node"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

static void put_line(json_t *object, const char *key, const char *path)
{
	char buf[256], *line = sysfile_line(path, buf, sizeof(buf));

	if (line)
		jvalue_put(object, key, jvalue_text(line));
}

static json_t *kernel(void)
{
	json_t *o = json_object();
	struct utsname name;

	if (uname(&name) < 0)
		return o;
	jvalue_put(o, "system", jvalue_text(name.sysname));
	jvalue_put(o, "release", jvalue_text(name.release));
	jvalue_put(o, "version", jvalue_text(name.version));
	jvalue_put(o, "machine", jvalue_text(name.machine));
	return o;
}

static json_t *host(void)
{
	json_t *o = json_object();
	struct utsname name;

	if (uname(&name) == 0)
		jvalue_put(o, "name", jvalue_text(name.nodename));
	put_line(o, "vendor", "/sys/class/dmi/id/sys_vendor");
	put_line(o, "product", "/sys/class/dmi/id/product_name");
	return o;
}

/*
 * "model name : ..." of the first processor. No more of the file is read: the kernel asks every
 * processor for its frequency when it comes to its lines.
 */
static void put_model(json_t *o)
{
	static const char *const labels[] = { "model name", "cpu model", "Model", "cpu\t" };
	int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	char buf[2048], *value = NULL;
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return;
	buf[n] = '\0';
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]) && !value; i++) {
		value = strstr(buf, labels[i]);
		value = value ? strchr(value, ':') : NULL;
	}
	if (!value)
		return;
	value += 1 + strspn(value + 1, " \t");
	value[strcspn(value, "\n")] = '\0';
	jvalue_put(o, "model", jvalue_text(value));
}

/* Those of all processors, each once, apart by blanks. */
static void put_governors(json_t *o, long processors)
{
	char found[256] = "", path[128], buf[64];

	for (long i = 0; i < processors && i < IDSET_SIZE; i++) {
		const char *governor;

		snprintf(path, sizeof(path), CPU_FOLDER "/cpu%ld/cpufreq/scaling_governor", i);
		governor = sysfile_line(path, buf, sizeof(buf));
		/* A machine without them has none at all. */
		if (!governor && i == 0)
			return;
		if (!governor || strstr(found, governor) ||
		    strlen(found) + strlen(governor) + 2 > sizeof(found))
			continue;
		if (*found)
			strcat(found, " ");
		strcat(found, governor);
	}
	if (*found)
		jvalue_put(o, "governor", jvalue_text(found));
}

static json_t *processors(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN), all = sysconf(_SC_NPROCESSORS_CONF);
	json_t *o = json_object();
	struct idset allowed;

	put_model(o);
	if (online > 0)
		jvalue_put(o, "online", jvalue_count((uint64_t)online));
	if (all > 0)
		jvalue_put(o, "configured", jvalue_count((uint64_t)all));
	if (topology_processors(&allowed) == 0)
		jvalue_put(o, "allowed", jvalue_count(idset_count(&allowed)));
	put_governors(o, all);
	put_line(o, "frequency_boost", CPU_FOLDER "/cpufreq/boost");
	return o;
}

static json_t *numa(void)
{
	char buf[256], *online = sysfile_line(NODE_FOLDER "/online", buf, sizeof(buf));
	json_t *o = json_object();
	struct idset nodes = { 0 };

	if (!online)
		return o;
	if (idset_parse(&nodes, online) == 0)
		jvalue_put(o, "nodes", jvalue_count(idset_count(&nodes)));
	jvalue_put(o, "online", jvalue_text(online));
	return o;
}

/* A line "Name:   123 kB", or without a unit. */
static void put_memory(json_t *o, const char *meminfo, const char *name, const char *key)
{
	const char *at = strstr(meminfo, name);
	char *end;
	uint64_t value;

	if (!at)
		return;
	value = strtoull(at + strlen(name), &end, 10);
	if (strncmp(end, " kB", 3) == 0)
		value *= 1024;
	jvalue_put(o, key, jvalue_count(value));
}

static json_t *memory(void)
{
	int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	long page = sysconf(_SC_PAGESIZE);
	json_t *o = json_object();
	char buf[8192];
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);

	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = '\0';
	put_memory(o, buf, "MemTotal:", "total_bytes");
	put_memory(o, buf, "MemAvailable:", "available_bytes");
	put_memory(o, buf, "SwapTotal:", "swap_bytes");
	put_memory(o, buf, "HugePages_Total:", "huge_pages");
	put_memory(o, buf, "Hugepagesize:", "huge_page_bytes");
	if (page > 0)
		jvalue_put(o, "page_bytes", jvalue_count((uint64_t)page));
	put_line(o, "transparent_huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled");
	return o;
}

/* "name=version name=version", as configure put them together; without a version: true. */
static json_t *libraries(void)
{
	char text[] = BUILD_LIBRARIES, *save = NULL;
	json_t *o = json_object();

	jvalue_put(o, "libc", jvalue_text(gnu_get_libc_version()));
	for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *version = strchr(word, '=');

		if (version)
			*version++ = '\0';
		jvalue_put(o, word, version && *version ? jvalue_text(version) : json_true());
	}
	return o;
}

static json_t *build(void)
{
	json_t *o = json_object();

	jvalue_put(o, "version", jvalue_text(PACKAGE_VERSION));
	jvalue_put(o, "compiler", jvalue_text(COMPILER));
	jvalue_put(o, "cflags", jvalue_text(BUILD_CFLAGS));
	jvalue_put(o, "host", jvalue_text(BUILD_HOST));
	jvalue_put(o, "sanitizers", jvalue_text(BUILD_SANITIZERS));
	jvalue_put(o, "libraries", libraries());
	return o;
}

json_t *environment_collect(const struct plan *plan)
{
	json_t *o = json_object();

	if (!o || jvalue_put(o, "host", host()) || jvalue_put(o, "kernel", kernel()) ||
	    jvalue_put(o, "processors", processors()) || jvalue_put(o, "numa", numa()) ||
	    jvalue_put(o, "memory", memory()) || jvalue_put(o, "build", build()) ||
	    jvalue_put(o, "targets", environment_targets(plan))) {
		json_decref(o);
		return NULL;
	}
	return o;
}

/* A value as people read it; members of an object are lines of their own. */
static void write_value(FILE *f, const char *label, const json_t *value)
{
	const char *key;
	json_t *member;
	size_t i;
	char deeper[256];

	if (json_is_object(value)) {
		json_object_foreach((json_t *)value, key, member)
		{
			snprintf(deeper, sizeof(deeper), "%s%s%s", label, *label ? " " : "", key);
			write_value(f, deeper, member);
		}
		return;
	}
	if (json_is_array(value)) {
		json_array_foreach((json_t *)value, i, member)
		{
			snprintf(deeper, sizeof(deeper), "%.*s %zu", (int)strlen(label) - 1, label,
				 i);
			write_value(f, deeper, member);
		}
		return;
	}
	fputs("Environment, ", f);
	for (const char *c = label; *c; c++)
		fputc(*c == '_' ? ' ' : *c, f);
	fputs(", ", f);
	jvalue_write(f, value);
	fputc('\n', f);
}

void environment_write(FILE *f, const json_t *environment)
{
	write_value(f, "", environment);
}
