/*
 * Numbers of files that both sides of a copy compare; see the header. Called by the walk and by the
 * destination.
 */
#include "copy/tree/identity.h"

#include <stdbool.h>
#include <string.h>

#include "xdd/net/digest.h"
#include "xdd/sys/sysfile.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

uint64_t identity_host(void)
{
	char line[64];
	const char *boot = sysfile_line(BOOT_ID, line, sizeof(line));

	return boot && *boot ? digest_short(boot, strlen(boot)) : 0;
}

uint64_t identity_of_file(uint64_t host, const struct stat *st)
{
	const bool block = S_ISBLK(st->st_mode);
	const uint64_t parts[] = {
		host,
		block,
		block ? st->st_rdev : st->st_dev,
		block ? 0 : st->st_ino,
	};
	uint64_t id;

	if (!host || (!block && !S_ISREG(st->st_mode)))
		return 0;
	id = digest_short(parts, sizeof(parts));
	return id ? id : 1;
}

uint64_t identity_of_contents(const struct stat *st)
{
	const uint64_t parts[] = {
		st->st_ino,
		(uint64_t)st->st_size,
		(uint64_t)st->st_mtim.tv_sec,
		(uint64_t)st->st_mtim.tv_nsec,
		(uint64_t)st->st_ctim.tv_sec,
		(uint64_t)st->st_ctim.tv_nsec,
	};
	uint64_t id;

	if (!S_ISREG(st->st_mode))
		return 0;
	id = digest_short(parts, sizeof(parts));
	return id ? id : 1;
}
