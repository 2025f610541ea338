/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sentences of a check about what looks wrong, its commands and its lines, and the description
 * of a disk: src/commands/check_wrong.c, check.c and check_target.c.
 */
#include "unit.h"

/* Static functions print its lines and make its plans. */
#include "../../src/commands/check.c"
#include "../../src/commands/check_target.c"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check_fixture.h"
#include "scratch.h"

static struct check_notes notes;

/* True if one of the sentences about them begins so. */
static bool judges(const struct check_target *t, const struct check_result *result,
		   const char *begin)
{
	notes = (struct check_notes){ .n = 0 };
	check_judge(t, result, &notes);
	for (size_t i = 0; i < notes.n; i++)
		if (strncmp(notes.text[i], begin, strlen(begin)) == 0)
			return true;
	return false;
}

/* The only sentence about them; "" without one. */
static const char *judged(const struct check_target *t, const struct check_result *result)
{
	notes = (struct check_notes){ .n = 0 };
	check_judge(t, result, &notes);
	if (notes.n > 1)
		fail_msg("%s\n%s", notes.text[0], notes.text[1]);
	return notes.n ? notes.text[0] : "";
}

static void assert_begins(const char *text, const char *begin)
{
	if (strncmp(text, begin, strlen(begin)) != 0)
		fail_msg("\"%s\" does not begin with \"%s\"", text, begin);
}

TEST(test_sound)
{
	struct check_target t = sound_target();
	struct check_result r = sound_result();

	assert_string_equal(judged(&t, &r), "");
}

TEST(test_errors)
{
	struct check_target t = sound_target();
	struct check_result r = sound_result();

	r.rows[CHECK_SINGLE].errors = 3;
	r.rows[CHECK_SINGLE].first_error_offset = 8192;
	strcpy(r.rows[CHECK_SINGLE].first_error, "Input/output error");
	assert_string_equal(judged(&t, &r), "3 of 1120003 reads failed, the first one at offset "
					    "8192: Input/output error.");
	r = sound_result();
	r.rows[CHECK_DEEP].outstanding = 32;
	assert_begins(judged(&t, &r), "32 reads did not complete");
}

TEST(test_sources)
{
	struct check_target t = sound_target();
	struct check_result r = sound_result();

	r.rows[0].hole_bytes = r.rows[0].bytes / 2;
	r.zeros = 64;
	assert_begins(judged(&t, &r), "41 % of what was read was never written");
	r = sound_result();
	r.zeros = 58;
	assert_begins(judged(&t, &r), "58 of 64 sampled blocks hold only zeros");
	r.zeros = 57;
	assert_string_equal(judged(&t, &r), "");
	t.block = true;
	r.zeros = 32;
	assert_begins(judged(&t, &r), "32 of 64 sampled blocks hold only zeros");
	r.zeros = 15;
	assert_string_equal(judged(&t, &r), "");
	t.device.rotational = true;
	r.zeros = 57;
	r.rows[CHECK_SINGLE].times[FIGURE_P50] = r.rows[CHECK_SINGLE].times[FIGURE_P99] = 3 * MS;
	assert_string_equal(judged(&t, &r), "");
	t = sound_target();
	r = sound_result();
	for (int i = 0; i < CHECK_PHASES; i++)
		r.rows[i].device_bytes /= 4;
	assert_begins(judged(&t, &r), "Device nvme0n1 transferred 6.37 GB, but this check read "
				      "25.5 GB with -dio: the rest came from elsewhere");
	for (int i = 0; i < CHECK_PHASES; i++)
		r.rows[i].device_bytes *= 2;
	assert_string_equal(judged(&t, &r), "");
	r = sound_result();
	r.rows[0].others = true;
	r.rows[0].device_bytes *= 2;
	assert_begins(judged(&t, &r),
		      "Device nvme0n1 moved 41.9 GB, of which this check accounts for 21.0 GB: "
		      "something else used it");
	r = sound_result();
	r.rows[0].split = true;
	r.rows[0].device_requests *= 2;
	r.rows[1].device_requests += 7;
	assert_begins(judged(&t, &r),
		      "Device nvme0n1: the kernel split 20000 operations into 40000 smaller "
		      "requests.");
	r = sound_result();
	t.direct = false;
	assert_begins(judged(&t, &r), "Direct I/O is not possible here: reads go through");
	r.rows[1].cache_bytes = 1000;
	r.rows[1].resident_bytes = 500;
	assert_true(judges(&t, &r, "Direct I/O is not possible here"));
	assert_true(judges(&t, &r, "50 % of what was read came from memory (the page cache)"));
	assert_int_equal(notes.n, 2);
	r.rows[1].resident_bytes = 99;
	assert_begins(judged(&t, &r), "Direct I/O is not possible here");
	t.memory = true;
	assert_begins(judged(&t, &r), "This file is in memory (ext4)");
}

TEST(test_device)
{
	struct check_target t = sound_target();
	struct check_result r = sound_result();

	t.device.raid_degraded = 1;
	assert_begins(judged(&t, &r), "The RAID nvme0n1 is degraded: it lacks 1 of its members.");
	t = sound_target();
	strcpy(t.device.raid_action, "resync");
	assert_begins(judged(&t, &r), "The RAID nvme0n1 rebuilds or checks itself (resync)");
	t = sound_target();
	strcpy(t.device.link_now, "8.0 GT/s x2");
	strcpy(t.device.link_most, "16.0 GT/s x4");
	assert_begins(judged(&t, &r), "The PCI Express link of nvme0n1 runs at 8.0 GT/s x2, and "
				      "could run at 16.0 GT/s x4.");
	t = sound_target();
	t.device.usb_mbits = 480;
	assert_begins(judged(&t, &r), "nvme0n1 is connected by USB at 480 Mbit/s: no more than 60");
	t.device.usb_mbits = 5000;
	assert_string_equal(judged(&t, &r), "");
	t = sound_target();
	t.device.queue_depth = 1;
	assert_begins(judged(&t, &r), "nvme0n1 takes one request at a time");
}

TEST(test_rates)
{
	struct check_target t = sound_target();
	struct check_result r = sound_result();

	r.rows[CHECK_DEEP] = sound_row(4096, 32, 140000);
	assert_begins(judged(&t, &r), "32 requests in flight complete 1.4 times as many");
	r.rows[CHECK_DEEP] = sound_row(4096, 32, 160000);
	assert_string_equal(judged(&t, &r), "");
	r.rows[CHECK_DEEP] = sound_row(4096, 32, 90000);
	assert_begins(judged(&t, &r), "32 requests in flight complete 0.9 times as many");
	r.rows[CHECK_DEEP] = sound_row(4096, 32, 40000);
	assert_begins(judged(&t, &r), "32 requests in flight complete 0.40 times as many per "
				      "second as one did just before (less than 0.9): the device "
				      "became slower");
	r = sound_result();
	r.rows[CHECK_SINGLE].times[FIGURE_P99] = 1.1 * MS;
	assert_begins(judged(&t, &r), "One in a hundred reads takes 1.10 ms or more");
	r = sound_result();
	r.rows[CHECK_LARGE].times[FIGURE_MAX] = 1500 * MS;
	assert_begins(judged(&t, &r), "The longest read took 1.50 s");
	r = sound_result();
	r.rows[CHECK_SINGLE].times[FIGURE_P50] = r.rows[CHECK_SINGLE].times[FIGURE_P99] = 3 * MS;
	assert_begins(judged(&t, &r), "A random read takes 3.00 ms (more than 2.00 ms)");
	t.device.rotational = true;
	assert_string_equal(judged(&t, &r), "");
	r = sound_result();
	assert_begins(judged(&t, &r), "nvme0n1 answers in ");
	t.device.is_virtual = true;
	assert_string_equal(judged(&t, &r), "");
	t = sound_target();
	r.rows[CHECK_LARGE] = sound_row(MIB, 8, 1000);
	assert_begins(judged(&t, &r), "Sequential reads of large requests (105 MB/s) are slower");
	r.rows[CHECK_LARGE] = sound_row(MIB, 8, 3520);
	assert_string_equal(judged(&t, &r), "");
	r = sound_result();
	r.rows[CHECK_LARGE].starved = 0.5;
	assert_begins(judged(&t, &r), "Limited by a busy machine: xdd could have gone on 50 % "
				      "of the time, but other programs had the processors.");
	r.rows[CHECK_LARGE].starved = 0;
	strcpy(r.rows[CHECK_LARGE].stopped, "xdd itself was stopped for at least 2.00 s");
	r.rows[CHECK_LARGE].times[FIGURE_MAX] = 1500 * MS;
	assert_begins(judged(&t, &r), "xdd itself was stopped for at least 2.00 s.");
	*r.rows[CHECK_LARGE].stopped = '\0';
	r.rows[CHECK_LARGE].times[FIGURE_MAX] = 1 * MS;
	r.rows[CHECK_LARGE].quota = 0.9;
	assert_begins(judged(&t, &r), "Limited by the CPU quota of its control group (of a "
				      "container, for example), which stopped xdd 90 % of the "
				      "time.");
	r.rows[CHECK_LARGE].quota = 0;
	strcpy(r.rows[CHECK_LARGE].limited, "device nvme0n1: a control group allows 1 MB/s");
	assert_begins(judged(&t, &r), "Device nvme0n1: a control group allows 1 MB/s.");
}

/* Measurements that are brief, or missing, are not judged. */
TEST(test_little)
{
	struct check_target t = sound_target();
	struct check_result r = { .sampled = 0 };

	assert_string_equal(judged(&t, &r), "");
	r.rows[CHECK_SINGLE] = sound_row(4096, 1, 10);
	r.rows[CHECK_SINGLE].times[FIGURE_P99] = 100 * MS;
	r.rows[CHECK_DEEP] = sound_row(4096, 32, 10);
	assert_string_equal(judged(&t, &r), "");
}

TEST(test_advice)
{
	struct check_target t = sound_target();
	struct check_result r = sound_result();

	notes = (struct check_notes){ .n = 0 };
	check_advise(&t, &r, &notes);
	assert_int_equal(notes.n, 6);
	assert_begins(notes.text[1], "xdd -op read -target /data/file -dio -ioengine io_uring ");
	assert_string_equal(
		notes.text[3],
		"xdd -op read -target /data/file -dio -ioengine io_uring -queuedepth 32 "
		"-reqsize 4k -seek random -timelimit 30s -throttle ops 50001 -latency "
		"percentiles 50,99,99.9");
	assert_begins(notes.text[5], "xdd -op write -target /data/xdd-write-test -dio ");
	t.block = true;
	*t.new_file = '\0';
	notes = (struct check_notes){ .n = 0 };
	check_advise(&t, &r, &notes);
	assert_int_equal(notes.n, 4);
	r.rows[CHECK_LARGE].errors = 1;
	notes = (struct check_notes){ .n = 0 };
	check_advise(&t, &r, &notes);
	assert_int_equal(notes.n, 0);
}

/* No command for a name that would control a terminal, or that a command has no room for. */
TEST(test_advice_names)
{
	struct check_target t = sound_target();
	struct check_result r = sound_result();
	char name[401];

	t.path = name;
	snprintf(name, sizeof(name), "/data/\033[31mred");
	notes = (struct check_notes){ .n = 0 };
	check_advise(&t, &r, &notes);
	assert_int_equal(notes.n, 2);
	assert_begins(notes.text[1], "xdd -op write -target /data/xdd-write-test ");
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	notes = (struct check_notes){ .n = 0 };
	check_advise(&t, &r, &notes);
	assert_int_equal(notes.n, 2);
	snprintf(name, sizeof(name), "/data/a 'name'");
	snprintf(t.new_file, sizeof(t.new_file), "/data/\n");
	notes = (struct check_notes){ .n = 0 };
	check_advise(&t, &r, &notes);
	assert_int_equal(notes.n, 4);
	assert_begins(notes.text[1], "xdd -op read -target '/data/a '\\''name'\\''' -dio ");
}

/* Half as long until it takes a tenth of the free blocks at most; not below 64 MiB. */
TEST(test_new_bytes)
{
	static const struct {
		uint64_t free_blocks, wanted;
	} disks[] = {
		{ 10 * GIB / 4096 + 9, GIB },
		{ 10 * GIB / 4096, GIB },
		{ 10 * GIB / 4096 - 1, GIB / 2 },
		{ 640 * MIB / 4096, 64 * MIB },
		{ 640 * MIB / 4096 - 1, 0 },
		{ 320 * MIB / 4096, 0 },
		{ 0, 0 },
	};

	for (size_t i = 0; i < sizeof(disks) / sizeof(disks[0]); i++) {
		const struct statvfs fs = { .f_frsize = 4096, .f_bavail = disks[i].free_blocks };

		assert_int_equal(check_new_bytes(&fs), disks[i].wanted);
	}
}

/* ---- a disk below a root of the test's own ---- */

/* Create file `name` below the root with a line of text, and its directories. */
static void put(const char *name, const char *text)
{
	char path[1024];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	for (char *p = path + strlen(directory) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0700);
		*p = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%s\n", text);
	fclose(f);
}

/* One byte that differs, the first or the last one, makes a block of data. */
TEST(test_zeros)
{
	static const struct {
		int all, first, last;
		unsigned zeros;
	} blocks[] = { { 0, 0, 0, 1 }, { 0, 1, 0, 0 }, { 0, 0, 1, 0 }, { 1, 1, 1, 0 } };
	char path[700];

	snprintf(path, sizeof(path), "%s/blocks", directory);
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		const struct check_target t = { .path = path,
						.size_bytes = 512,
						.unit_bytes = 512 };
		struct check_result r = { .sampled = 0 };
		unsigned char block[512];
		FILE *f = fopen(path, "w");

		memset(block, blocks[i].all, sizeof(block));
		block[0] = (unsigned char)blocks[i].first;
		block[511] = (unsigned char)blocks[i].last;
		assert_non_null(f);
		assert_int_equal(fwrite(block, sizeof(block), 1, f), 1);
		assert_int_equal(fclose(f), 0);
		check_sample_zeros(&t, &r);
		assert_int_equal(r.sampled, 1);
		assert_int_equal(r.zeros, blocks[i].zeros);
	}
}

#define BLOCK "sys/class/block/"

TEST(test_nvme)
{
	struct check_device d = { .removable = false };

	put(BLOCK "nvme0n1/device/model", "Fast Disk 980   ");
	put(BLOCK "nvme0n1/device/device/current_link_speed", "8.0 GT/s PCIe");
	put(BLOCK "nvme0n1/device/device/max_link_speed", "16.0 GT/s PCIe");
	put(BLOCK "nvme0n1/device/device/current_link_width", "4");
	put(BLOCK "nvme0n1/device/device/max_link_width", "4");
	put(BLOCK "nvme0n1/queue/rotational", "0");
	put(BLOCK "nvme0n1/queue/scheduler", "mq-deadline [none] kyber");
	put(BLOCK "nvme0n1/queue/max_sectors_kb", "128");
	check_device_read(&d, directory, "nvme0n1");
	assert_string_equal(d.name, "nvme0n1");
	assert_string_equal(d.model, "Fast Disk 980");
	assert_string_equal(d.link_now, "8.0 GT/s x4");
	assert_string_equal(d.link_most, "16.0 GT/s x4");
	assert_true(d.rotational_known && !d.rotational && !d.removable);
	assert_int_equal(d.queue_depth, 0);
	assert_string_equal(d.scheduler, "none");
	assert_int_equal(d.most_bytes, 131072);
	put(BLOCK "nvme0n1/device/device/current_link_speed", "16.0 GT/s PCIe");
	d = (struct check_device){ .removable = false };
	check_device_read(&d, directory, "nvme0n1");
	assert_string_equal(d.link_now, "");
}

TEST(test_usb)
{
	struct check_device d = { .removable = false };
	char from[700], to[700];

	put("sys/devices/usb1/1-2/idVendor", "1d6b");
	put("sys/devices/usb1/1-2/speed", "480");
	put("sys/devices/usb1/1-2/host0/block/sda/removable", "1");
	put("sys/devices/usb1/1-2/host0/block/sda/queue/rotational", "1");
	put("sys/devices/usb1/1-2/host0/block/sda/device/vendor", "Stick   ");
	put("sys/devices/usb1/1-2/host0/block/sda/device/model", "X");
	put("sys/devices/usb1/1-2/host0/block/sda/device/queue_depth", "1");
	put("sys/class/block/none", "");
	snprintf(from, sizeof(from), "%s/" BLOCK "sda", directory);
	snprintf(to, sizeof(to), "%s/sys/devices/usb1/1-2/host0/block/sda", directory);
	assert_int_equal(symlink(to, from), 0);
	check_device_read(&d, directory, "sda");
	assert_int_equal(d.usb_mbits, 480);
	assert_int_equal(d.queue_depth, 1);
	assert_true(d.removable);
	assert_string_equal(d.model, "Stick X");
	assert_true(d.rotational_known && d.rotational);
}

/* Disks of virtual machines: virtio, SCSI and NVMe of a hypervisor, Xen. */
TEST(test_virtual)
{
	static const struct {
		const char *name, *vendor, *model;
		bool is_virtual;
		const char *shown;
	} disks[] = {
		{ "vda", "0x1af4", "", true, "" },
		{ "xvda", "", "", true, "" },
		{ "sdq", "QEMU    ", "QEMU HARDDISK   ", true, "QEMU QEMU HARDDISK" },
		{ "sdr", "VMware  ", "Virtual disk    ", true, "VMware Virtual disk" },
		{ "nvme1n1", "", "Amazon Elastic Block Store", true, "Amazon Elastic Block Store" },
		{ "sds", "ATA     ", "Disk 980", false, "Disk 980" },
		{ "sdt", "Maker   ", "", false, "Maker" },
	};
	char path[128];

	for (size_t i = 0; i < sizeof(disks) / sizeof(disks[0]); i++) {
		struct check_device d = { .removable = false };

		snprintf(path, sizeof(path), BLOCK "%s/device/vendor", disks[i].name);
		put(path, disks[i].vendor);
		snprintf(path, sizeof(path), BLOCK "%s/device/model", disks[i].name);
		put(path, disks[i].model);
		check_device_read(&d, directory, disks[i].name);
		assert_int_equal(d.is_virtual, disks[i].is_virtual);
		assert_string_equal(d.model, disks[i].shown);
		assert_false(d.rotational_known);
	}
}

TEST(test_layers)
{
	struct check_device d = { .removable = false };

	put(BLOCK "md0/md/level", "raid5");
	put(BLOCK "md0/md/degraded", "1");
	put(BLOCK "md0/md/sync_action", "recover");
	check_device_read(&d, directory, "md0");
	assert_string_equal(d.raid, "raid5");
	assert_int_equal(d.raid_degraded, 1);
	assert_string_equal(d.raid_action, "recover");
	put(BLOCK "md0/md/sync_action", "idle");
	put(BLOCK "loop0/loop/backing_file", "/data/disk.img");
	put(BLOCK "loop0/loop/dio", "0");
	d = (struct check_device){ .removable = false };
	check_device_read(&d, directory, "md0");
	assert_string_equal(d.raid_action, "");
	check_device_read(&d, directory, "loop0");
	assert_string_equal(d.loop_file, "/data/disk.img");
	assert_true(d.loop_buffered);
	d = (struct check_device){ .removable = false };
	check_device_read(&d, directory, "missing");
	assert_string_equal(d.name, "missing");
	assert_false(d.loop_buffered);
}

/* Standard output is no terminal, wherever the test runs. */
int isatty(int fd)
{
	return 0;
}

static char *printed;
static size_t printed_size;
static FILE *real_stdout;

static void begin_print(void)
{
	real_stdout = stdout;
	stdout = open_memstream(&printed, &printed_size);
}

static void end_print(const char *wanted)
{
	fclose(stdout);
	stdout = real_stdout;
	if (strcmp(printed, wanted) != 0)
		fail_msg("printed:\n%s\nexpected:\n%s", printed, wanted);
	free(printed);
}

static const struct screen roomy = { .columns = 100, .gap = "..." },
			   just_roomy = { .columns = 72, .gap = "..." },
			   narrow = { .columns = 71, .gap = "..." };

TEST(test_print_target)
{
	struct check_target t = sound_target();

	begin_print();
	t.device.name[0] = '\0';
	*t.file_system = '\0';
	t.size_bytes = 999;
	check_print_target(&roomy, &t);
	t.no_sys = true;
	t.size_bytes = 1000;
	t.direct = false;
	check_print_target(&roomy, &t);
	t.memory = true;
	strcpy(t.source, "tmpfs");
	strcpy(t.mount_point, "/run");
	check_print_target(&roomy, &t);
	t = sound_target();
	strcpy(t.source, "/dev/sdb1");
	strcpy(t.mount_point, "/data");
	strcpy(t.device.model, "Maker Disk");
	strcpy(t.device.raid, "raid5");
	strcpy(t.device.loop_file, "/data/img");
	t.device.is_virtual = t.device.removable = true;
	t.device.usb_mbits = 480;
	strcpy(t.device.scheduler, "none");
	err_set(&t.why_engine, -EPERM, "io_uring is not permitted");
	check_print_target(&roomy, &t);
	t = sound_target();
	t.block = true;
	strcpy(t.file_system, "xfs");
	strcpy(t.source, "xfs");
	err_set(&t.use, -EBUSY, "is mounted on /");
	check_print_target(&roomy, &t);
	t.device.rotational = true;
	check_print_target(&roomy, &t);
	end_print("/data/file: file, 999 B\n"
		  "  read only, direct I/O, -ioengine io_uring\n"
		  "\n"
		  "/data/file: file, 1.00 kB (1000 bytes)\n"
		  "  /sys is not mounted: the device could not be looked at\n"
		  "  read only, through the page cache, -ioengine io_uring\n"
		  "\n"
		  "/data/file: file, 1.00 kB (1000 bytes)\n"
		  "  mounted on /run\n"
		  "  read only, through the page cache, -ioengine io_uring\n"
		  "\n"
		  "/data/file: file, 1.07 GB (1 GiB)\n"
		  "  ext4, /dev/sdb1, mounted on /data\n"
		  "  nvme0n1, Maker Disk, RAID (raid5), loop device of /data/img, "
		  "virtual disk, whose host may cache, removable, USB 480 Mbit/s, "
		  "scheduler none\n"
		  "  read only, direct I/O, -ioengine io_uring\n"
		  "  no better engine: io_uring is not permitted\n"
		  "\n"
		  "/data/file: block device, 1.07 GB (1 GiB)\n"
		  "  xfs, is mounted on /\n"
		  "  nvme0n1, not rotational\n"
		  "  read only, direct I/O, -ioengine io_uring\n"
		  "\n"
		  "/data/file: block device, 1.07 GB (1 GiB)\n"
		  "  xfs, is mounted on /\n"
		  "  nvme0n1, rotational\n"
		  "  read only, direct I/O, -ioengine io_uring\n"
		  "\n");
}

TEST(test_print_rows)
{
	struct check_result r = sound_result();

	begin_print();
	check_print_rows(&just_roomy, &r);
	check_print_rows(&narrow, &r);
	r.rows[CHECK_LARGE].seconds = 0.2;
	r.rows[CHECK_SINGLE].seconds = 0.19;
	r.rows[CHECK_DEEP].measured = false;
	r.rows[CHECK_DEEP].seconds = 0;
	check_print_rows(&just_roomy, &r);
	r.rows[CHECK_SINGLE].partial = true;
	check_print_rows(&narrow, &r);
	end_print("                                  rate     IOPS     p50     p99     "
		  "max\n"
		  "sequential 1 MiB, depth 8    2.10 GB/s 2.00 k/s  100 us  300 us "
		  "5.00 ms\n"
		  "random 4 KiB, depth 1        41.0 MB/s 10.0 k/s  100 us  300 us "
		  "5.00 ms\n"
		  "random 4 KiB, depth 32        410 MB/s  100 k/s  100 us  300 us "
		  "5.00 ms\n"
		  "\n"
		  "                      rate     IOPS     p50     p99     max\n"
		  "sequential x8    2.10 GB/s 2.00 k/s  100 us  300 us 5.00 ms\n"
		  "random x1        41.0 MB/s 10.0 k/s  100 us  300 us 5.00 ms\n"
		  "random x32        410 MB/s  100 k/s  100 us  300 us 5.00 ms\n"
		  "(sequential: 1 MiB, random: 4 KiB; x32: 32 in flight)\n"
		  "\n"
		  "                                  rate     IOPS     p50     p99     "
		  "max\n"
		  "sequential 1 MiB, depth 8     105 GB/s  100 k/s  100 us  300 us "
		  "5.00 ms\n"
		  "random 4 KiB, depth 1        2.16 GB/s  526 k/s  100 us  300 us "
		  "5.00 ms\n"
		  "random 4 KiB, depth 32       not measured\n"
		  "(random 4 KiB, depth 1: 100000 requests in 190 ms: too short to be "
		  "exact)\n"
		  "\n"
		  "                      rate     IOPS     p50     p99     max\n"
		  "sequential x8     105 GB/s  100 k/s  100 us  300 us 5.00 ms\n"
		  "random x1        2.16 GB/s  526 k/s  100 us  300 us 5.00 ms\n"
		  "random x32       not measured\n"
		  "(sequential: 1 MiB, random: 4 KiB; x32: 32 in flight)\n"
		  "The check was cut short: these figures are of a part of it.\n"
		  "\n");
}

TEST(test_print_notes)
{
	struct check_notes wrong = { .n = 2, .text = { "This.", "That." } };
	struct check_notes next = { .n = 2, .text = { "Do:", "xdd -op read 'a b' c\\ d" } };
	const struct check_notes none = { .n = 0 };
	struct check_result r = sound_result();

	begin_print();
	check_print_notes(&roomy, &r, &wrong, &next);
	check_print_notes(&roomy, &r, &none, &none);
	r.rows[CHECK_DEEP].partial = true;
	check_print_notes(&roomy, &r, &none, &none);
	r.rows[CHECK_DEEP].partial = r.rows[CHECK_LARGE].measured = false;
	check_print_notes(&roomy, &r, &none, &none);
	end_print("What looks wrong:\n"
		  "- This.\n"
		  "- That.\n"
		  "\n"
		  "Do:\n"
		  "  xdd -op read 'a b' c\\ d\n"
		  "Nothing looks wrong.\n"
		  "Nothing looks wrong in what was measured.\n"
		  "Nothing looks wrong in what was measured.\n");
}

/* A command ends two columns before the edge, and a word of its own is never broken. */
TEST(test_print_command)
{
	static const char command[] =
		"xdd -op read -target 'a  b' c\\ d 'it'\\''s x'  -dio -ioengine x";

	begin_print();
	for (unsigned columns = 30; columns <= 36; columns++) {
		const struct screen s = { .columns = columns };

		put_command(&s, command);
	}
	end_print("  xdd -op read -target \\\n"
		  "      'a  b' c\\ d \\\n"
		  "      'it'\\''s x' -dio \\\n"
		  "      -ioengine x\n"
		  "  xdd -op read -target 'a  b' \\\n"
		  "      c\\ d 'it'\\''s x' -dio \\\n"
		  "      -ioengine x\n"
		  "  xdd -op read -target 'a  b' \\\n"
		  "      c\\ d 'it'\\''s x' -dio \\\n"
		  "      -ioengine x\n"
		  "  xdd -op read -target 'a  b' \\\n"
		  "      c\\ d 'it'\\''s x' -dio \\\n"
		  "      -ioengine x\n"
		  "  xdd -op read -target 'a  b' \\\n"
		  "      c\\ d 'it'\\''s x' -dio \\\n"
		  "      -ioengine x\n"
		  "  xdd -op read -target 'a  b' \\\n"
		  "      c\\ d 'it'\\''s x' -dio \\\n"
		  "      -ioengine x\n"
		  "  xdd -op read -target 'a  b' c\\ d \\\n"
		  "      'it'\\''s x' -dio -ioengine x\n");
}

TEST(test_print_summary)
{
	struct check_target t[] = { sound_target(), sound_target() };
	struct check_result r[] = { sound_result(), sound_result() };
	const struct screen wide = { .columns = 200, .gap = "..." },
			    least = { .columns = 60, .gap = "..." };

	r[1].rows[CHECK_SINGLE].ops = 50000;
	r[1].rows[CHECK_DEEP].measured = false;
	t[1].name = "/data/directory/of/a/long/name";
	begin_print();
	check_print_summary(&wide, t, r, 2);
	check_print_summary(&least, t, r, 2);
	end_print("\n"
		  "                                                                 "
		  "seq.    random       p99      deep\n"
		  "/data/file                                                  2.10 "
		  "GB/s  10.0 k/s    300 us   100 k/s\n"
		  "/data/directory/of/a/long/name                              2.10 "
		  "GB/s  5.00 k/s    300 us      0 /s\n"
		  "\n"
		  "                         seq.    random       p99      deep\n"
		  "/data/file          2.10 GB/s  10.0 k/s    300 us   100 k/s\n"
		  "/data...a/long/name 2.10 GB/s  5.00 k/s    300 us      0 /s\n");
}

TEST(test_titles)
{
	struct check_target t = sound_target();
	struct check c = { .n = 1 };
	char text[64];

	title_of(&c, &t, CHECK_LARGE, text, sizeof(text));
	assert_string_equal(text, "1 of 3, sequential");
	c.n = 2;
	title_of(&c, &t, CHECK_DEEP, text, sizeof(text));
	assert_string_equal(text, "/data/file, 3 of 3, random, 32 in flight");
}

/* The run of each phase. */
TEST(test_plans)
{
	static const struct {
		uint64_t req_bytes, depth, ops;
		bool random;
	} phases[CHECK_PHASES] = { { MIB, 8, 1024, false },
				   { 4096, 1, 262144, true },
				   { 4096, 32, 262144, true } };
	struct check_target t = sound_target();

	t.path = (char *)(uintptr_t) "null";
	t.engine = "psync";
	for (int i = 0; i < CHECK_PHASES; i++) {
		const struct target_plan *p;
		struct plan *plan;

		t.direct = i == 1;
		assert_int_equal(make_plan(&t, (enum check_phase)i, 2500 * NS_PER_MS, &plan), 0);
		p = &plan->targets[0];
		assert_int_equal(plan->n_targets, 1);
		assert_int_equal(p->req_bytes, phases[i].req_bytes);
		assert_int_equal(p->queue_depth, phases[i].depth);
		assert_int_equal(p->pass_ops, phases[i].ops);
		assert_int_equal(p->time_limit_ns, 2500 * NS_PER_MS);
		assert_int_equal(p->direct_io, t.direct);
		assert_int_equal(p->seek.pattern == SEEK_RANDOM, phases[i].random);
		assert_int_equal(p->seek.range_blocks, phases[i].random ? phases[i].ops : 0);
		assert_int_equal(p->seek.seed == PLAN_DEFAULT_SEED, !phases[i].random);
		plan_free(plan);
		/* A small target is read more than once. */
		t.size_bytes = 256 * 4096;
		if (phases[i].random) {
			assert_int_equal(make_plan(&t, (enum check_phase)i, NS_PER_SEC, &plan), 0);
			assert_int_equal(plan->targets[0].pass_ops, 4096);
			assert_int_equal(plan->targets[0].seek.range_blocks, 256);
			plan_free(plan);
		}
		t.size_bytes = GIB;
	}
}

TEST(test_large_requests)
{
	static const struct {
		uint64_t most, size, unit, wanted;
	} cases[] = {
		{ 0, GIB, 4096, MIB },
		{ 2 * MIB, GIB, 4096, MIB },
		{ MIB, GIB, 4096, MIB },
		{ MIB - 1, GIB, 4096, MIB / 2 },
		{ 64 << 10, GIB, 4096, 64 << 10 },
		{ (64 << 10) - 1, GIB, 4096, MIB },
		/* Eight of them at least. */
		{ 0, 8 * MIB, 4096, MIB },
		{ 0, 8 * MIB - 1, 4096, MIB / 2 },
		{ 0, 4096, 4096, 4096 },
		{ 0, GIB, 2 * MIB, 2 * MIB },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct check_target t = { .size_bytes = cases[i].size,
					  .unit_bytes = cases[i].unit,
					  .device.most_bytes = cases[i].most };

		find_large(&t);
		assert_int_equal(t.large_bytes, cases[i].wanted);
	}
}

/* A row keeps these figures, findings and failures of a run. */
TEST(test_sink)
{
	static const char text[] = "x: Sentence. Advice.";
	struct finding f = { .text = text, .sentence = 3, .advice = 12 };
	struct report_failure failure = { .offset = 7, .why = "first" };
	const struct device_use use = { .ops = 1, .device_bytes = 2, .requests = 3 };
	struct result r = { .what = RESULT_COMBINED,
			    .figures = { .tally = { .ops = { 3 },
						    .bytes = { 12 },
						    .errors = 2,
						    .outstanding = 1 },
					 .elapsed_ns = NS_PER_SEC / 2,
					 .cache = { .range_bytes = 10,
						    .resident_bytes = 4,
						    .hole_bytes = 6,
						    .accuracy = CACHE_NOT_MEASURED,
						    .holes_unknown = true } },
			    .times.waited = 0.25,
			    .partial = true };
	struct check_row row = { .ops = 0 };

	take_result(&row, &r);
	assert_int_equal(row.ops, 0);
	r.what = RESULT_TARGET_AVERAGE;
	take_result(&row, &r);
	assert_int_equal(row.ops, 3);
	assert_int_equal(row.bytes, 12);
	assert_int_equal(row.errors, 2);
	assert_int_equal(row.outstanding, 1);
	assert_true(row.measured && row.partial);
	assert_true(row.seconds > 0.499 && row.seconds < 0.501);
	assert_true(fabs(check_figure(&row, FIGURE_IOPS) - 6) < 0.01);
	assert_true(fabs(check_figure(&row, FIGURE_BANDWIDTH) - 24) < 0.01);
	assert_int_equal(row.cache_bytes + row.resident_bytes + row.covered_bytes + row.hole_bytes,
			 0);
	assert_true(row.starved + row.quota < 0.01);
	r.bound = RESULT_BOUND_STARVED;
	r.figures.cache.holes_unknown = false;
	take_result(&row, &r);
	assert_true(row.starved > 0.24 && row.quota < 0.01);
	assert_int_equal(row.cache_bytes + row.resident_bytes, 0);
	assert_int_equal(row.covered_bytes, 10);
	assert_int_equal(row.hole_bytes, 6);
	r.bound = RESULT_BOUND_QUOTA;
	r.figures.cache.accuracy = (enum cache_accuracy)0;
	r.figures.elapsed_ns = 0;
	take_result(&row, &r);
	assert_true(row.quota > 0.24);
	assert_int_equal(row.cache_bytes, 10);
	assert_int_equal(row.resident_bytes, 4);
	assert_false(row.measured);
	assert_true(fabs(check_figure(&row, FIGURE_IOPS)) < 0.01);

	for (int i = 0; i < 4; i++) {
		static const enum rule_id rules[] = { RULE_OTHERS, RULE_SPLIT, RULE_STOPPED,
						      RULE_LIMIT };

		f.rule = rules[i];
		take_finding(&row, &f);
		assert_true(row.others);
		assert_int_equal(row.split, i >= 1);
		assert_string_equal(row.stopped, i >= 2 ? "Sentence." : "");
		assert_string_equal(row.limited, i >= 3 ? "Sentence." : "");
	}
	take_failure(&row, &failure);
	failure = (struct report_failure){ .offset = 8, .why = "second" };
	take_failure(&row, &failure);
	assert_int_equal(row.first_error_offset, 7);
	assert_string_equal(row.first_error, "first");
	take_device(&row, &use);
	assert_int_equal(row.device_ops, 1);
	assert_int_equal(row.device_bytes, 2);
	assert_int_equal(row.device_requests, 3);
}

RUN_TESTS(enter_directory, remove_directory)
