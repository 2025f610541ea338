/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small files of the kernel, options of mounted file systems, and file systems by number, where
 * /proc/self/mountinfo does not have the mount, as in a chroot. Called while a run is checked and
 * described, by the checks of results, and for the clock.
 */
#include "xdd/sys/sysfile.h"

#include <ctype.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xdd/base/units.h"

char *sysfile_line(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char *start = buf, *end;
	ssize_t n;

	if (fd < 0)
		return NULL;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n <= 0)
		return NULL;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	while (isblank((unsigned char)*start))
		start++;
	end = start + strlen(start);
	while (end > start && isblank((unsigned char)end[-1]))
		*--end = '\0';
	return *start ? start : NULL;
}

bool sysfile_number(const char *path, uint64_t *value)
{
	char buf[32], *line = sysfile_line(path, buf, sizeof(buf));

	return line && units_parse_u64(line, value) == 0;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

char *sysfile_unescape(char *text)
{
	char *o = text;

	for (const char *c = text; *c; c++) {
		if (c[0] == '\\' && is_octal(c[1]) && is_octal(c[2]) && is_octal(c[3])) {
			*o++ = (char)((c[1] - '0') * 64 + (c[2] - '0') * 8 + (c[3] - '0'));
			c += 3;
		} else {
			*o++ = *c;
		}
	}
	*o = '\0';
	return text;
}

/* The options after "- type source" of a line; cuts the line. NULL: it has none. */
static char *super_options(char *line)
{
	char *save = NULL, *word;

	line[strcspn(line, "\n")] = '\0';
	for (word = strtok_r(line, " ", &save); word && strcmp(word, "-") != 0;
	     word = strtok_r(NULL, " ", &save))
		;
	strtok_r(NULL, " ", &save);
	strtok_r(NULL, " ", &save);
	return strtok_r(NULL, " ", &save);
}

static bool has_option(char *options, const char *name)
{
	const size_t len = strlen(name);
	char *save = NULL;

	for (char *o = strtok_r(options, ",", &save); o; o = strtok_r(NULL, ",", &save)) {
		if (strncmp(o, name, len) == 0 && (!o[len] || o[len] == '='))
			return true;
	}
	return false;
}

bool mountinfo_has_option(const char *path, const char *name)
{
	char *line = NULL, *options = NULL;
	struct statx st;
	size_t size = 0;
	bool has = false;
	FILE *f;

	if (statx(AT_FDCWD, path, 0, STATX_MNT_ID, &st) < 0 || !(st.stx_mask & STATX_MNT_ID))
		return false;
	f = fopen("/proc/self/mountinfo", "re");
	while (f && !options && getline(&line, &size, f) > 0) {
		if (strtoull(line, NULL, 10) == st.stx_mnt_id)
			options = super_options(line);
		if (options)
			has = has_option(options, name);
	}
	free(line);
	if (f)
		fclose(f);
	return has;
}

/*
 * File systems by number; see the header. Called where /proc/self/mountinfo does not have the
 * mount, as in a chroot.
 */

/*
 * Those of linux/magic.h, and of file systems that have their numbers elsewhere; statfs(2) lists
 * most.
 */
static const struct {
	unsigned long magic;
	const char *name;
} types[] = {
	{ 0x0000ef53, "ext2/ext3/ext4" }, { 0x58465342, "xfs" },     { 0x9123683e, "btrfs" },
	{ 0x01021994, "tmpfs" },	  { 0x858458f6, "ramfs" },   { 0x958458f6, "hugetlbfs" },
	{ 0x794c7630, "overlay" },	  { 0x65735546, "fuse" },    { 0x00006969, "nfs" },
	{ 0xff534d42, "cifs" },		  { 0xfe534d42, "smb2" },    { 0x01021997, "9p" },
	{ 0xf2f52010, "f2fs" },		  { 0x2fc12fc1, "zfs" },     { 0xca451a4e, "bcachefs" },
	{ 0x00c36400, "ceph" },		  { 0x0bd00bd0, "lustre" },  { 0x47504653, "gpfs" },
	{ 0x7461636f, "ocfs2" },	  { 0x01161970, "gfs2" },    { 0x00004d44, "vfat" },
	{ 0x2011bab0, "exfat" },	  { 0x7366746e, "ntfs3" },   { 0x73717368, "squashfs" },
	{ 0xe0f5e1e2, "erofs" },	  { 0x00009660, "iso9660" }, { 0x00009fa0, "proc" },
	{ 0x62656572, "sysfs" },
};

const char *fstype_name(unsigned long magic, char buf[FSTYPE_SIZE])
{
	snprintf(buf, FSTYPE_SIZE, "0x%lx", magic);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (types[i].magic == magic)
			snprintf(buf, FSTYPE_SIZE, "%s", types[i].name);
	}
	return buf;
}
