/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cross-checks of targets and devices: src/run/results/crosscheck.c, with devices, file systems and
 * a report that are made here. test_bound.c has the verdicts.
 */
#include "said.h"
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "run/run_state.h"
#include "xdd/base/sets.h"
#include "xdd/io/datamap.h"
#include "xdd/report/report.h"
#include "xdd/sys/blockdev.h"
#include "xdd/sys/machine.h"
#include "xdd/sys/sysfile.h"

#define MIB (1ull << 20)

/* ---- what is reported ---- */

static struct device_use use;

__attribute__((format(printf, 4, 5))) static void
fake_finding(struct report *r, struct finding_about about, enum rule_id rule, const char *fmt, ...)
{
	va_list args;

	(void)r;
	say("%s, %s%s: ", rule_table[rule].name, about.name ? about.name : "-",
	    about.direct ? " -dio" : "");
	va_start(args, fmt);
	vsay_line(fmt, args);
	va_end(args);
}

__attribute__((format(printf, 2, 3))) static void fake_detail(struct report *r, const char *fmt,
							      ...)
{
	va_list args;

	(void)r;
	va_start(args, fmt);
	vsay_line(fmt, args);
	va_end(args);
}

static void fake_device(struct report *r, const struct device_use *u)
{
	(void)r;
	use = *u;
}

/* ---- devices ---- */

static const struct {
	const char *path;
	dev_t number;
} paths[] = {
	{ "/a", 1 },	      { "/a/x", 1 },	    { "/a/y", 1 },	{ "/b", 3 },
	{ "/dev/loop0", 20 }, { "/nameless/x", 5 }, { "/dev/sda", 10 }, { "/dev/zram0", 30 },
	{ "/dev/ram0", 40 },  { "/dev/zra", 50 },   { "/dev/loo", 60 }, { "/dev/rab", 70 },
	{ ".", 1 },
};

static const struct {
	dev_t number, disk;
	const char *name;
} disks[] = {
	{ 1, 10, "sda" },    { 3, 10, "sda" },	  { 10, 10, "sda" },
	{ 20, 20, "loop0" }, { 30, 30, "zram0" }, { 40, 40, "ram0" },
	{ 50, 50, "zra" },   { 60, 60, "loo" },	  { 70, 70, "rab" },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static unsigned lookups;
static bool loop_buffered, uncounted;
static const char *unreadable;
static struct diskstats counts;
static uint32_t fs_type;
static const char *mount_option;
static int n_processors;

static int fake_number(const char *path, dev_t *number)
{
	for (size_t i = 0; i < COUNT(paths); i++) {
		if (strcmp(paths[i].path, path) == 0) {
			*number = paths[i].number;
			return 0;
		}
	}
	return -ENOENT;
}

static int fake_disk(dev_t number, char name[DISKSTATS_NAME_SIZE], dev_t *disk)
{
	lookups++;
	for (size_t i = 0; i < COUNT(disks); i++) {
		if (disks[i].number == number) {
			strcpy(name, disks[i].name);
			*disk = disks[i].disk;
			return 0;
		}
	}
	return -ENODEV;
}

static int fake_device_of_path(const char *path, char name[DISKSTATS_NAME_SIZE])
{
	dev_t number;

	return fake_number(path, &number) ? -ENODEV : fake_disk(number, name, &number);
}

static int fake_read(const char *name, struct diskstats *stats)
{
	*stats = counts;
	return unreadable && strcmp(name, unreadable) == 0 ? -EIO : 0;
}

static bool fake_counts(const char *name)
{
	(void)name;
	return !uncounted;
}

static bool fake_loop(const char *root, const char *name, char *file, size_t size, bool *buffered)
{
	(void)root;
	strncpy(file, "/img", size);
	*buffered = loop_buffered;
	return strncmp(name, "loop", 4) == 0;
}

static void fake_limits(dev_t dev, struct cgroup_io *io)
{
	*io = (struct cgroup_io){ .bytes = { dev == 10 ? 1000 : 0 } };
}

static bool fake_option(const char *path, const char *name)
{
	(void)path;
	return mount_option && strcmp(name, mount_option) == 0;
}

static int fake_statfs(const char *path, struct statfs *fs)
{
	(void)path;
	fs->f_type = fs_type;
	return fs_type ? 0 : -1;
}

static int fake_processors(struct idset *set)
{
	*set = (struct idset){ 0 };
	for (int i = 0; i < n_processors; i++)
		idset_add(set, (unsigned)i);
	return n_processors ? 0 : -ENOENT;
}

/* Without the processors of this machine. */
static double fake_share(uint64_t throttled_ns, double elapsed_ns, double threads)
{
	return (double)throttled_ns / (elapsed_ns * threads);
}

#define cgroup_throttled_share fake_share
#define report_finding fake_finding
#define report_detail fake_detail
#define report_device fake_device
#define diskstats_number fake_number
#define diskstats_disk fake_disk
#define diskstats_device fake_device_of_path
#define diskstats_read fake_read
#define diskstats_counts fake_counts
#define blockdev_loop fake_loop
#define cgroup_io_limits fake_limits
#define mountinfo_has_option fake_option
#define statfs(path, fs) fake_statfs(path, fs)
#define topology_processors fake_processors

#include "../../src/run/results/crosscheck.c"

static struct target_plan targets[10];
static struct plan plan;
static struct run run;
static struct crosscheck check;

static void add_target(enum target_kind kind, const char *path, bool direct)
{
	struct target_plan *t = &targets[plan.n_targets];

	*t = (struct target_plan){ .number = (uint32_t)plan.n_targets++,
				   .kind = kind,
				   .path = (char *)path,
				   .op = OP_READ,
				   .direct_io = direct,
				   .qthreads = 2,
				   .queue_depth = 4 };
}

static int set_up(void **state)
{
	plan = (struct plan){ .targets = targets };
	run.plan = &plan;
	check = (struct crosscheck){ 0 };
	said[0] = '\0';
	lookups = 0;
	loop_buffered = uncounted = false;
	unreadable = mount_option = NULL;
	counts = (struct diskstats){ 0 };
	fs_type = 0;
	n_processors = 8;
	return 0;
}

/* ---- devices of targets ---- */

TEST_SETUP(test_devices, set_up)
{
	static const int32_t wanted[] = { 0, 0, 1, -1, 0, -1, -1, 0, 0 };

	loop_buffered = true;
	add_target(TARGET_FILE, "/a/x", false);
	add_target(TARGET_FILE, "/a/y", true);
	add_target(TARGET_BLOCK, "/dev/loop0", false);
	add_target(TARGET_NULL, "/a/x", true);
	/* A new file is on the device of its directory, and its blocks are not counted. */
	add_target(TARGET_MISSING, "/b/new", true);
	add_target(TARGET_FILE, "/nowhere/x", true);
	add_target(TARGET_FILE, "/nameless/x", true);
	add_target(TARGET_BLOCK, "/dev/sda", false);
	add_target(TARGET_MISSING, "new", true);
	assert_int_equal(crosscheck_begin(&check, &plan), 0);
	assert_memory_equal(check.device_of, wanted, sizeof(wanted));
	assert_int_equal(check.n_devices, 2);
	assert_string_equal(check.devices[0].name, "sda");
	assert_int_equal(check.devices[0].limits.bytes[0], 1000);
	assert_string_equal(check.devices[0].loop_file, "");
	assert_true(check.devices[0].counted);
	assert_string_equal(check.devices[1].name, "loop0");
	assert_int_equal(check.devices[1].limits.bytes[0], 0);
	assert_string_equal(check.devices[1].loop_file, "/img");
	assert_false(check.devices[1].counted);
	/* Files on one device in a row need one look. */
	assert_int_equal(lookups, 6);
	crosscheck_end(&check, &run);

	set_up(state);
	add_target(TARGET_BLOCK, "/dev/loop0", true);
	add_target(TARGET_MISSING, "/a/new", true);
	add_target(TARGET_MISSING, "/b/new", true);
	assert_int_equal(crosscheck_begin(&check, &plan), 0);
	assert_int_equal(check.n_devices, 2);
	assert_string_equal(check.devices[0].loop_file, "");
	assert_true(check.devices[0].counted);
	assert_false(check.devices[1].counted);
	crosscheck_end(&check, &run);
}

/* Counts that cannot be read, before or after, are not compared; nor without a beginning. */
TEST_SETUP(test_counted, set_up)
{
	static const struct {
		const char *before, *after;
		bool starts, counted[2];
	} cases[] = {
		{ NULL, NULL, true, { true, true } },	 { NULL, NULL, false, { false, false } },
		{ "sda", NULL, true, { false, true } },	 { NULL, "loop0", true, { true, false } },
		{ "sda", "sda", true, { false, true } },
	};

	add_target(TARGET_FILE, "/a/x", true);
	add_target(TARGET_BLOCK, "/dev/loop0", true);
	for (size_t i = 0; i < COUNT(cases); i++) {
		check = (struct crosscheck){ 0 };
		assert_int_equal(crosscheck_begin(&check, &plan), 0);
		counts.bytes[0] = 5;
		unreadable = cases[i].before;
		if (cases[i].starts)
			crosscheck_start(&check);
		counts.bytes[0] = 7;
		unreadable = cases[i].after;
		crosscheck_stop(&check);
		for (int k = 0; k < 2; k++) {
			assert_int_equal(check.devices[k].counted, cases[i].counted[k]);
			if (!cases[i].counted[k])
				continue;
			assert_int_equal(check.devices[k].before.bytes[0], 5);
			assert_int_equal(check.devices[k].after.bytes[0], 7);
		}
		free(check.devices);
		free(check.device_of);
	}
}

/* Figures in which each number is different. */
static struct figures figures_of(uint64_t n)
{
	struct figures f = { .elapsed_ns = 100 * n, .cache.hole_bytes = 10 * n };

	for (int dir = 0; dir < DIR_COUNT; dir++) {
		f.tally.ops[dir] = n + (unsigned)dir;
		f.tally.bytes[dir] = 1000 * n + (unsigned)dir;
	}
	return f;
}

TEST_SETUP(test_sums, set_up)
{
	static const uint64_t numbers[] = { 3, 5, 2, 7 };
	const struct device_check *d;

	add_target(TARGET_FILE, "/a/x", true);
	add_target(TARGET_FILE, "/a/y", false);
	add_target(TARGET_BLOCK, "/dev/sda", true);
	add_target(TARGET_NULL, "null", true);
	assert_int_equal(crosscheck_begin(&check, &plan), 0);
	for (unsigned i = 0; i < 4; i++) {
		struct figures f = figures_of(numbers[i]);

		f.tally.warmup_ops = i == 1 || i == 3;
		crosscheck_add(&check, &targets[i], &f);
	}
	assert_int_equal(check.n_devices, 1);
	d = &check.devices[0];
	for (unsigned dir = DIR_READ; dir <= DIR_WRITE; dir++) {
		assert_int_equal(d->all_ops[dir], 10 + 3 * dir);
		assert_int_equal(d->all_bytes[dir], 10000 + 3 * dir);
		assert_int_equal(d->ops[dir], 5 + 2 * dir);
		assert_int_equal(d->bytes[dir], 5000 + 2 * dir);
	}
	assert_int_equal(d->elapsed_ns, 500);
	assert_int_equal(d->hole_bytes, 50);
	assert_false(d->warmed_up);
	for (unsigned warm = 1; warm < 3; warm++) {
		struct figures f = { .tally.warmup_ops = warm % 2 };

		crosscheck_add(&check, &targets[0], &f);
		assert_true(d->warmed_up);
	}
	free(check.devices);
	free(check.device_of);
	/* Nothing was begun. */
	check = (struct crosscheck){ 0 };
	crosscheck_add(&check, &targets[0], &(struct figures){ 0 });
	crosscheck_open(&check);
	assert_false(crosscheck_is_limited(&check, &targets[0]));
	crosscheck_end(&check, &run);
	assert_string_equal(said, "");
}

/* ---- limits of control groups ---- */

TEST_SETUP(test_limited, set_up)
{
	/* In half a second; the limits are per second. */
	static const struct {
		uint64_t ops[2], bytes[2], elapsed_ns;
		struct cgroup_io limits;
		const char *says;
	} cases[] = {
		{ { 45 }, { 0 }, 500000000, { .ops = { 100 } }, "100 /s of reads" },
		{ { 44 }, { 0 }, 500000000, { .ops = { 100 } }, NULL },
		{ { 0, 45 }, { 0 }, 500000000, { .ops = { 0, 100 } }, "100 /s of writes" },
		{ { 45 }, { 0 }, 500000000, { .ops = { 0, 100 } }, NULL },
		{ { 0 }, { 450000 }, 500000000, { .bytes = { 1000000 } }, "1.00 MB/s of reads" },
		{ { 0 }, { 449999 }, 500000000, { .bytes = { 1000000 } }, NULL },
		{ { 0 },
		  { 0, 450000 },
		  500000000,
		  { .bytes = { 0, 1000000 } },
		  "1.00 MB/s of writes" },
		{ { 45 },
		  { 1 },
		  500000000,
		  { .ops = { 100 }, .bytes = { 1000000 } },
		  "1.00 MB/s and 100 /s of reads" },
		/* The kernel needs a while. */
		{ { 45 }, { 0 }, 200000000, { .ops = { 100 } }, "100 /s of reads" },
		{ { 45 }, { 0 }, 199999999, { .ops = { 100 } }, NULL },
		{ { 1000 }, { 1000 }, 500000000, { .ops = { 0 } }, NULL },
	};

	add_target(TARGET_FILE, "/a/x", false);
	add_target(TARGET_NULL, "null", false);
	for (size_t i = 0; i < COUNT(cases); i++) {
		char wanted[200] = "";

		check = (struct crosscheck){ 0 };
		said[0] = '\0';
		assert_int_equal(crosscheck_begin(&check, &plan), 0);
		memcpy(check.devices[0].all_ops, cases[i].ops, sizeof(cases[i].ops));
		memcpy(check.devices[0].all_bytes, cases[i].bytes, sizeof(cases[i].bytes));
		check.devices[0].elapsed_ns = cases[i].elapsed_ns;
		check.devices[0].limits = cases[i].limits;
		assert_int_equal(crosscheck_is_limited(&check, &targets[0]), cases[i].says != NULL);
		assert_false(crosscheck_is_limited(&check, &targets[1]));
		crosscheck_end(&check, &run);
		if (cases[i].says)
			snprintf(wanted, sizeof(wanted),
				 "limit, -: device sda: a control group allows %s, and this run "
				 "reached that; the device might do more\n",
				 cases[i].says);
		assert_string_equal(said, wanted);
	}
}

/* ---- what devices did ---- */

#define OWN (16 * MIB) /* the least that is judged */
#define READS(n) .ops = { n }, .bytes = { OWN }
#define WRITES(n) .ops = { 0, n }, .bytes = { 0, OWN }

TEST_SETUP(test_device, set_up)
{
	static const struct {
		uint64_t ops[2], bytes[2], holes;
		struct diskstats did;
		bool warmed_up, uncounted;
		const char *rule;
	} cases[] = {
		{ READS(4096), .did = { { 4096 }, { 0 }, { OWN } } },
		{ WRITES(4096), .did = { { 0, 4096 }, { 0 }, { 0, OWN } } },
		/* Reads that the device did not transfer. */
		{ READS(4096), .did.bytes = { OWN / 2 } },
		{ READS(4096), .did.bytes = { OWN / 2 - 1 }, .rule = "elsewhere" },
		{ READS(4096), .did.bytes = { 0, OWN }, .rule = "elsewhere" },
		{ READS(4096), .did.bytes = { 0 }, .uncounted = true },
		{ READS(4096), .did.bytes = { 0 }, .warmed_up = true },
		{ .ops = { 1 }, .bytes = { OWN - 1 } },
		{ READS(4096), .holes = 1 },
		{ .ops = { 4096 }, .bytes = { OWN + 1 }, .holes = 1, .rule = "elsewhere" },
		{ WRITES(4096), .did = { { 0 }, { 0 }, { 0 } } },
		/* Others used the device. */
		{ READS(4096), .did.bytes = { OWN + 4 * MIB } },
		{ READS(4096), .did.bytes = { OWN + 4 * MIB + 1 }, .rule = "others" },
		{ READS(4096), .did.bytes = { OWN, 4 * MIB + 1 }, .rule = "others" },
		{ WRITES(4096), .did.bytes = { 0, OWN + 4 * MIB + 1 }, .rule = "others" },
		{ .ops = { 4096 }, .bytes = { 80 * MIB }, .did.bytes = { 88 * MIB - 1 } },
		{ .ops = { 4096 },
		  .bytes = { 80 * MIB },
		  .did.bytes = { 88 * MIB },
		  .rule = "others" },
		{ READS(4096), .did.bytes = { OWN + 4 * MIB + 1 }, .warmed_up = true },
		/* Requests were split; others have 4 KiB each. */
		{ READS(4096), .did = { { 4096 + 409 }, { 0 }, { OWN } } },
		{ READS(4096), .did = { { 4096 + 410 }, { 0 }, { OWN } }, .rule = "split" },
		{ READS(100), .did = { { 164 }, { 0 }, { OWN } } },
		{ READS(100), .did = { { 165 }, { 0 }, { OWN } }, .rule = "split" },
		{ WRITES(100), .did = { { 0, 165 }, { 0 }, { 0, OWN } }, .rule = "split" },
		{ READS(100), .did = { { 165, 9 }, { 0 }, { OWN, 40960 } } },
		{ READS(100), .did = { { 165, 10 }, { 0 }, { OWN, 40960 } }, .rule = "split" },
		{ READS(100), .holes = 40960, .did = { { 174 }, { 0 }, { OWN } } },
		{ READS(100), .holes = 40960, .did = { { 175 }, { 0 }, { OWN } }, .rule = "split" },
		{ .ops = { 50, 50 },
		  .bytes = { OWN / 2, OWN / 2 },
		  .did = { { 164 }, { 0 }, { OWN } } },
		/* Requests were merged. */
		{ READS(100), .did = { { 100 }, { 64 }, { OWN } } },
		{ READS(100), .did = { { 100 }, { 65 }, { OWN } }, .rule = "merged" },
		{ WRITES(100), .did = { { 0, 100 }, { 0, 65 }, { 0, OWN } }, .rule = "merged" },
		{ READS(1000), .did = { { 100 }, { 99 }, { OWN } } },
		{ READS(1000), .did = { { 100 }, { 100 }, { OWN } }, .rule = "merged" },
		/* One of them speaks for the others. */
		{ READS(100), .did = { { 165 }, { 65 }, { OWN } }, .rule = "split" },
		{ READS(100), .did = { { 3000 }, { 65 }, { 2 * OWN } }, .rule = "others" },
	};

	add_target(TARGET_FILE, "/a/x", true);
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct diskstats *did = &cases[i].did;
		struct device_check *d;
		char detail[200];
		size_t n;

		set_up(state);
		add_target(TARGET_FILE, "/a/x", true);
		assert_int_equal(crosscheck_begin(&check, &plan), 0);
		d = &check.devices[0];
		memcpy(d->ops, cases[i].ops, sizeof(d->ops));
		memcpy(d->bytes, cases[i].bytes, sizeof(d->bytes));
		d->hole_bytes = cases[i].holes;
		d->warmed_up = cases[i].warmed_up;
		uncounted = cases[i].uncounted;
		d->before = (struct diskstats){ { 3, 5 }, { 7, 11 }, { 13, 17 } };
		d->after = d->before;
		for (int dir = 0; dir < 2; dir++) {
			d->after.requests[dir] += did->requests[dir];
			d->after.merged[dir] += did->merged[dir];
			d->after.bytes[dir] += did->bytes[dir];
		}
		crosscheck_end(&check, &run);
		assert_int_equal(use.ops, cases[i].ops[0] + cases[i].ops[1]);
		assert_int_equal(use.bytes, cases[i].bytes[0] + cases[i].bytes[1]);
		assert_int_equal(use.requests, did->requests[0] + did->requests[1]);
		assert_int_equal(use.merged, did->merged[0] + did->merged[1]);
		assert_int_equal(use.device_bytes, did->bytes[0] + did->bytes[1]);
		snprintf(detail, sizeof(detail),
			 "Device sda: %" PRIu64 " requests and %" PRIu64 " merged for %" PRIu64
			 " operations, %" PRIu64 " bytes for %" PRIu64 "\n",
			 use.requests, use.merged, use.ops, use.device_bytes, use.bytes);
		n = strlen(detail);
		assert_memory_equal(said, detail, n);
		if (cases[i].rule ? strncmp(said + n, cases[i].rule, strlen(cases[i].rule)) != 0 :
				    said[n] != '\0')
			fail_msg("case %zu: %s", i, said + n);
	}
}

/* Counts that went back are none. A device that is not counted is not judged. */
TEST_SETUP(test_back, set_up)
{
	add_target(TARGET_FILE, "/a/x", true);
	assert_int_equal(crosscheck_begin(&check, &plan), 0);
	check.devices[0].before = (struct diskstats){ { 9, 9 }, { 9, 9 }, { 9, 9 } };
	crosscheck_end(&check, &run);
	assert_string_equal(said, "Device sda: 0 requests and 0 merged for 0 operations, 0 bytes "
				  "for 0\n");
	set_up(state);
	add_target(TARGET_FILE, "/a/x", false);
	assert_int_equal(crosscheck_begin(&check, &plan), 0);
	crosscheck_end(&check, &run);
	assert_string_equal(said, "");
}

/* The sentence of each finding of a device. */
TEST_SETUP(test_sentences, set_up)
{
	static const struct {
		struct diskstats did;
		const char *says;
	} cases[] = {
		{ { { 100 }, { 0 }, { MIB } },
		  "elsewhere, - -dio: device sda transferred 1.05 MB, but this run read 16.8 MB with "
		  "-dio: the rest came from elsewhere, such as memory (the page cache)\n" },
		{ { { 100 }, { 0 }, { 32 * MIB } },
		  "others, - -dio: device sda moved 33.6 MB, of which this run accounts for 16.8 MB: "
		  "something else used it, or earlier writes were still going to it\n" },
		{ { { 200 }, { 0 }, { OWN } },
		  "split, - -dio: device sda: the kernel split 100 operations into 200 smaller "
		  "requests\n" },
		{ { { 100 }, { 70 }, { OWN } },
		  "merged, - -dio: device sda: the kernel merged 70 of 100 operations into larger "
		  "requests\n" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		set_up(state);
		add_target(TARGET_FILE, "/a/x", true);
		assert_int_equal(crosscheck_begin(&check, &plan), 0);
		check.devices[0].ops[0] = 100;
		check.devices[0].bytes[0] = OWN;
		check.devices[0].after = cases[i].did;
		crosscheck_end(&check, &run);
		assert_string_equal(strchr(said, '\n') + 1, cases[i].says);
	}
}

TEST_SETUP(test_loop, set_up)
{
	static const struct {
		uint64_t bytes[2], elapsed_ns;
		bool buffered, says;
	} cases[] = {
		{ { OWN }, 0, true, true },
		{ { OWN - 1 }, 0, true, false },
		{ { OWN / 2, OWN / 2 }, 0, true, true },
		{ { 0 }, NS_PER_SEC, true, true },
		{ { 0 }, NS_PER_SEC - 1, true, false },
		{ { OWN }, NS_PER_SEC, false, false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		set_up(state);
		loop_buffered = cases[i].buffered;
		add_target(TARGET_BLOCK, "/dev/loop0", false);
		assert_int_equal(crosscheck_begin(&check, &plan), 0);
		memcpy(check.devices[0].all_bytes, cases[i].bytes, sizeof(cases[i].bytes));
		check.devices[0].elapsed_ns = cases[i].elapsed_ns;
		crosscheck_end(&check, &run);
		assert_string_equal(said, cases[i].says ?
						  "loop, -: loop device loop0 reads and writes its "
						  "file, /img, through the page cache: the figures "
						  "may be of memory, not of a device\n" :
						  "");
	}
}

/* ---- zeros ---- */

#define COMPRESSES "its file system compresses them"
#define THIN "thin, compressing or deduplicating storage may not store them"

TEST_SETUP(test_zeros, set_up)
{
	static const struct {
		enum target_kind kind;
		const char *path;
		uint32_t fs_type;
		const char *option, *why;
	} cases[] = {
		{ TARGET_FILE, "/a/x", 0x2fc12fc1, NULL, COMPRESSES },
		{ TARGET_MISSING, "/a/new", 0x2fc12fc1, NULL, COMPRESSES },
		{ TARGET_FILE, "/a/x", 0x9123683e, "compress", COMPRESSES },
		{ TARGET_FILE, "/a/x", 0x9123683e, "compress-force", COMPRESSES },
		{ TARGET_FILE, "/a/x", 0x9123683e, "compression", NULL },
		{ TARGET_FILE, "/a/x", 0xca451a4e, "compression", COMPRESSES },
		{ TARGET_FILE, "/a/x", 0xca451a4e, "compress", NULL },
		{ TARGET_FILE, "/a/x", 0xef53, "compress", NULL },
		{ TARGET_FILE, "/a/x", 0, NULL, NULL },
		{ TARGET_FILE, "/nowhere", 0, NULL, NULL },
		{ TARGET_BLOCK, "/dev/sda", 0x2fc12fc1, NULL, THIN },
		{ TARGET_BLOCK, "/nowhere", 0, NULL, NULL },
		{ TARGET_BLOCK, "/dev/zram0", 0, NULL, "zram stores none of them" },
		{ TARGET_FILE, "/dev/zram0", 0, NULL, "zram stores none of them" },
		{ TARGET_BLOCK, "/dev/ram0", 0, NULL, NULL },
		{ TARGET_BLOCK, "/dev/loop0", 0, NULL, NULL },
		{ TARGET_NULL, "/dev/sda", 0, NULL, NULL },
		/* Names that are not quite the ones above. */
		{ TARGET_BLOCK, "/dev/zra", 0, NULL, THIN },
		{ TARGET_BLOCK, "/dev/loo", 0, NULL, THIN },
		{ TARGET_BLOCK, "/dev/rab", 0, NULL, THIN },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		for (int change = 0; change < 5; change++) {
			struct target_plan *t = &targets[0];

			set_up(state);
			add_target(cases[i].kind, cases[i].path, true);
			t->op = change == 1 ? OP_READ : OP_WRITE;
			t->pattern.word = change == 2 ? "1" : NULL;
			if (change == 3)
				t->pattern.kind = PATTERN_RANDOM;
			if (change == 4)
				t->endtoend.role = E2E_DESTINATION;
			fs_type = cases[i].fs_type;
			mount_option = cases[i].option;
			assert_int_equal(crosscheck_begin(&check, &plan), 0);
			crosscheck_open(&check);
			if (change || !cases[i].why)
				assert_null(check.zeros_why);
			else
				assert_string_equal(check.zeros_why, cases[i].why);
			assert_ptr_equal(check.zeros, change || !cases[i].why ? NULL : t);
			crosscheck_end(&check, &run);
		}
	}
}

/* The first target that may lose them speaks for all. */
TEST_SETUP(test_first_zeros, set_up)
{
	struct result sums = { .figures.tally.bytes = { OWN } };

	for (int i = 0; i < 3; i++) {
		add_target(i ? TARGET_BLOCK : TARGET_NULL, i ? "/dev/sda" : "null", true);
		targets[i].op = OP_WRITE;
	}
	assert_int_equal(crosscheck_begin(&check, &plan), 0);
	crosscheck_open(&check);
	assert_ptr_equal(check.zeros, &targets[1]);
	for (sums.target = 0; sums.target < 3; sums.target++)
		crosscheck_target(&check, &run, &sums, NULL, &(struct dirty_sample){ 0 });
	assert_string_equal(said, "zeros, /dev/sda -dio: only zeros were written, which is the "
				  "default: " THIN "\n");
	check.devices[0].counted = false;
	crosscheck_end(&check, &run);
}

/* ---- what was read and written ---- */

#define CACHE(all, resident, holes) \
	.range_bytes = all, .resident_bytes = resident, .hole_bytes = holes
#define SAYS_OF(n) "Target 0, page cache: " n "\n"

TEST_SETUP(test_data, set_up)
{
	static const struct {
		uint64_t bytes, elapsed_ns;
		struct cache_state cache;
		struct dirty_sample dirty;
		const char *says;
	} cases[] = {
		{ OWN,
		  0,
		  { CACHE(1000, 100, 99) },
		  { 0 },
		  "cached, /a/x: 10 % of what was read came from memory (the page cache), not from "
		  "the device\n" SAYS_OF("10.0 % of what was read was in it before, and 9.9 % was "
					 "never written") },
		{ 1,
		  NS_PER_SEC,
		  { CACHE(1000, 99, 100), .accuracy = CACHE_SAMPLED },
		  { 0 },
		  "holes, /a/x: 10 % of what was read was never written: such reads need no "
		  "device\n" SAYS_OF("about 9.9 % of what was read was in it before, and 10.0 % "
				     "was never written") },
		{ OWN,
		  0,
		  { CACHE(1000, 500, 0), .accuracy = CACHE_SAMPLED, .holes_unknown = true },
		  { 0 },
		  "cached, /a/x: about 50 % of what was read came from memory (the page cache), "
		  "not from the device\n" SAYS_OF("about 50.0 % of what was read was in it "
						  "before") },
		{ OWN - 1,
		  NS_PER_SEC - 1,
		  { CACHE(1000, 500, 500) },
		  { true, false, 1, MIB },
		  SAYS_OF("50.0 % of what was read was in it before, and 50.0 % was never "
			  "written") },
		{ OWN,
		  0,
		  { CACHE(1000, 0, 50), .accuracy = CACHE_NOT_MEASURED },
		  { 0 },
		  SAYS_OF("not measured, -dio reads past it; 5.0 % of what was read was never "
			  "written") },
		{ OWN,
		  0,
		  { CACHE(1000, 0, 0), .accuracy = CACHE_UNKNOWN, .holes_unknown = true },
		  { 0 },
		  SAYS_OF("unknown, the kernel does not say how much of what was read was in it") },
		{ OWN, 0, { CACHE(0, 0, 0) }, { false, false, 1, MIB }, "" },
		{ OWN, 0, { CACHE(0, 0, 0) }, { true, false, .05, MIB - 1 }, "" },
		{ OWN, 0, { CACHE(0, 0, 0) }, { true, false, .0499, MIB }, "" },
		{ OWN,
		  0,
		  { CACHE(0, 0, 0) },
		  { true, true, .0625, MIB },
		  "dirty, /a/x: about 6 % of what was written, 1.05 MB, was still in memory when the "
		  "run ended, not on the device: the rate is partly of memory\n" },
		{ OWN,
		  0,
		  { CACHE(0, 0, 0) },
		  { true, false, .5, MIB },
		  "dirty, /a/x: 50 % of what was written, 1.05 MB, was still in memory when the run "
		  "ended, not on the device: the rate is of memory\n" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct result sums = { .figures.elapsed_ns = cases[i].elapsed_ns,
				       .figures.cache = cases[i].cache,
				       .figures.tally.bytes = { cases[i].bytes } };

		set_up(state);
		add_target(TARGET_FILE, "/a/x", false);
		crosscheck_target(&check, &run, &sums, NULL, &cases[i].dirty);
		assert_string_equal(said, cases[i].says);
		assert_int_equal(check.small.n, i == 3);
	}
}

/* Targets that are too small each are judged together, from two on. */
TEST_SETUP(test_small, set_up)
{
	static const struct dirty_sample dirty[] = { { true, false, .5, MIB },
						     { true, true, 1, MIB },
						     { false, false, 1, MIB } };
	struct result sums = { .figures.cache = { CACHE(100, 20, 10) } };

	add_target(TARGET_NULL, "null", true);
	add_target(TARGET_FILE, "/a/x", true);
	add_target(TARGET_BLOCK, "/dev/sda", true);
	add_target(TARGET_MISSING, "/a/new", false);
	for (int n = 1; n <= 4; n++) {
		check = (struct crosscheck){ 0 };
		said[0] = '\0';
		for (sums.target = 0; sums.target < (unsigned)n; sums.target++) {
			memset(sums.figures.tally.bytes, 0, sizeof(sums.figures.tally.bytes));
			/* Half of what matters, without the null device. */
			sums.figures.tally.bytes[DIR_READ] = sums.target == 1 ? 0 : OWN / 4;
			sums.figures.tally.bytes[DIR_WRITE] = sums.target == 1 ? OWN / 2 : OWN / 4;
			sums.figures.cache.range_bytes = sums.target ? 100 : 0;
			crosscheck_target(&check, &run, &sums, NULL,
					  &dirty[sums.target ? sums.target - 1 : 0]);
		}
		assert_int_equal(check.small.n, n - 1);
		assert_true(check.small.direct == (n > 1 && n < 4));
		said[0] = '\0';
		crosscheck_end(&check, &run);
		if (n < 3)
			assert_string_equal(said, "");
	}
	assert_string_equal(
		said,
		"cached, 3 targets, of which /a/x is one: 20 % of what was read came from "
		"memory (the page cache), not from the device\n"
		"holes, 3 targets, of which /a/x is one: 10 % of what was read was never "
		"written: such reads need no device\n"
		"dirty, 3 targets, of which /a/x is one: about 67 % of what was written, 2.10 "
		"MB, was still in memory when the run ended, not on the device: the rate is "
		"of memory\n");
	/* Still too little together. */
	check = (struct crosscheck){ .small = { .n = 2, .bytes = { OWN - 1 } } };
	check.small.first = &targets[1];
	check.small.cache = (struct cache_state){ CACHE(100, 100, 100) };
	said[0] = '\0';
	crosscheck_end(&check, &run);
	assert_string_equal(said, "");
}

/* ---- how QThreads spent their time ---- */

static const char *const bound_names[] = {
	[RESULT_BOUND_UNKNOWN] = "",
	[RESULT_BOUND_DEVICE] = "device-bound: ",
	[RESULT_BOUND_GENERATOR] = "generator-bound: ",
	[RESULT_BOUND_PACED] = "paced: ",
	[RESULT_BOUND_STARVED] = "starved: ",
	[RESULT_BOUND_MIXED] = "mixed: ",
	[RESULT_BOUND_QUOTA] = "quota: ",
	[RESULT_BOUND_LIMIT] = "io_quota: ",
};

static const char *const bound_findings[COUNT(bound_names)] = {
	[RESULT_BOUND_GENERATOR] =
		"generator, /a/x -dio: xdd was the limit, not the device: its threads were busy or "
		"waited for a processor 40 % of the time; the device might do more\n",
	[RESULT_BOUND_STARVED] =
		"starved, /a/x -dio: a busy machine: xdd could have gone on 10 % of the time, but "
		"other programs had the processors; the device might do more\n",
	[RESULT_BOUND_QUOTA] =
		"quota, /a/x -dio: the CPU quota of its control group (of a container, for "
		"example) stopped xdd 10 % of the time; the device might do more\n",
};

TEST_SETUP(test_bound_lines, set_up)
{
	struct bound_facts f = { .own = .125, .kernel = .175, .waited = .1, .outstanding = .75 };

	for (unsigned i = 0; i < 2 * 5 * COUNT(bound_names); i++) {
		const unsigned bound = i % COUNT(bound_names), change = i / COUNT(bound_names) % 5;
		struct result sums = { .bound = (enum result_bound)bound,
				       .figures.tally.bytes = { change == 1 ? 1 : OWN } };
		char wanted[400];

		set_up(state);
		f.paced = i >= 5 * COUNT(bound_names);
		add_target(change == 2 ? TARGET_NULL : TARGET_FILE, "/a/x", change != 3);
		targets[0].op = change == 4 ? OP_NOOP : OP_READ;
		crosscheck_target(&check, &run, &sums, &f, &(struct dirty_sample){ 0 });
		snprintf(wanted, sizeof(wanted),
			 "%sTarget 0, %sits QThreads were 12.5 %% of the time in xdd itself, "
			 "17.5 %% in the kernel,%s 10.0 %% without a processor%s\n",
			 change == 0 && bound_findings[bound] ? bound_findings[bound] : "",
			 bound_names[bound], f.paced ? "" : " and",
			 f.paced ? ", and 25.0 % idle until an operation was due" : "");
		assert_string_equal(said, wanted);
	}
}

TEST_SETUP(test_facts, set_up)
{
	struct result r = { .figures = { .elapsed_ns = NS_PER_SEC, .known = FIGURES_WAIT } };
	struct bound_run all = { .cpu_ns = 0 };
	struct bound_facts f;
	struct idset set;

	add_target(TARGET_FILE, "/a/x", true);
	add_target(TARGET_FILE, "/a/y", true);
	targets[1].qthreads = 2;
	r.target = 1;
	r.figures.cpu.user_ns = 500000000;
	r.figures.cpu.sys_ns = 250000000;
	r.figures.wait_ns = 125000000;
	r.figures.tally.busy_ns[DIR_READ] = 1000000000;
	r.figures.tally.busy_ns[DIR_WRITE] = 1000000000;
	assert_true(bound_facts(&f, &plan, &r, &all));
	assert_true(f.own == .25 && f.kernel == .125 && f.waited == .0625 && f.outstanding == .5);
	assert_true(f.quota == 0 && f.filled == .75 / 8 && !f.paced && f.device);
	/* The whole run had more of the processors. */
	all.cpu_ns = 4 * NS_PER_SEC;
	assert_true(bound_facts(&f, &plan, &r, &all) && f.filled == .5);
	/* filled counts allowed processors only; a target's list overrides the list of the run. */
	set = (struct idset){ 0 };
	idset_add(&set, 5);
	plan.processors = &set;
	assert_true(bound_facts(&f, &plan, &r, &all) && f.filled == .75);
	idset_add(&set, 6);
	assert_true(bound_facts(&f, &plan, &r, &all) && f.filled == .5);
	targets[1].processors = &set;
	plan.processors = NULL;
	all.cpu_ns = 0;
	assert_true(bound_facts(&f, &plan, &r, &all) && f.filled == .375);
	targets[1].processors = NULL;
	/* None that is known: one. */
	n_processors = 0;
	all.cpu_ns = 4 * NS_PER_SEC;
	assert_true(bound_facts(&f, &plan, &r, &all) && f.filled == .75);
	n_processors = 8;
	/* One operation at a time. */
	targets[1].ordering = ORDERING_SERIAL;
	assert_true(bound_facts(&f, &plan, &r, &all) && f.outstanding == 1);
	targets[1].ordering = ORDERING_STRICT;
	assert_true(bound_facts(&f, &plan, &r, &all) && f.outstanding == 1);
	targets[1].engine = &(const struct engine_info){ .caps = ENGINE_QUEUES };
	assert_true(bound_facts(&f, &plan, &r, &all) && f.outstanding == .5);
	targets[1].ordering = ORDERING_LOOSE;
	targets[1].engine = NULL;
	assert_true(bound_facts(&f, &plan, &r, &all) && f.outstanding == .5);
	/* No share is greater than what is left. */
	r.figures.wait_ns = 2 * NS_PER_SEC;
	assert_true(bound_facts(&f, &plan, &r, &all) && f.waited == 1 - .25 - .125);
	r.figures.cpu.user_ns = 2 * NS_PER_SEC;
	assert_true(bound_facts(&f, &plan, &r, &all) && f.own == 1 && f.waited == 0);
	/* Time in which the process was stopped does not count. */
	r.figures.cpu.user_ns = 500000000;
	all.stopped_ns = 500000000;
	assert_true(bound_facts(&f, &plan, &r, &all) && f.own == .5 && f.kernel == .25);
	all.stopped_ns = NS_PER_SEC - LEAST_NS;
	assert_true(bound_facts(&f, &plan, &r, &all));
	all.stopped_ns++;
	assert_false(bound_facts(&f, &plan, &r, &all));
	all.stopped_ns = 2 * NS_PER_SEC;
	assert_false(bound_facts(&f, &plan, &r, &all));
}

/* A quota stops as many threads as the run has, and explains no more than the wait. */
TEST_SETUP(test_quota, set_up)
{
	struct result r = { .figures = { .elapsed_ns = NS_PER_SEC } };
	struct bound_run all = { .throttled_ns = 100000000 };
	struct bound_facts f;

	add_target(TARGET_FILE, "/a/x", true);
	add_target(TARGET_FILE, "/a/y", true);
	r.figures.wait_ns = 2 * NS_PER_SEC;
	assert_true(bound_facts(&f, &plan, &r, &all));
	assert_true(f.quota == 1e8 / (1e9 * 4));
	assert_true(f.waited_unknown);
	r.figures.wait_ns = 2;
	assert_true(bound_facts(&f, &plan, &r, &all) && f.quota == f.waited && f.waited > 0);
}

RUN_TESTS(NULL, NULL)
