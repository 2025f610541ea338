/*
 * File systems by number; see the header. Called where /proc/self/mountinfo does not have the
 * mount, as in a chroot.
 */
#include "xdd/sys/fstype.h"

#include <stddef.h>
#include <stdio.h>

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
