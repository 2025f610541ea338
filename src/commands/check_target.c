/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Targets of a check, and their measurements. Called by check.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "commands/check.h"
#include "commands/commands.h"
#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/random.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/io/datamap.h"
#include "xdd/io/engine.h"
#include "xdd/io/guard.h"
#include "xdd/report/report.h"
#include "xdd/sys/blockdev.h"
#include "xdd/sys/clock.h"
#include "xdd/sys/sysfile.h"

/*
 * The disk of a target, as sysfs describes it.
 */

/* A file below the directory of a device; "" in `buf` where there is none. */
static const char *attribute(const char *directory, const char *file, char *buf, size_t size)
{
	char path[PATH_MAX];
	char *line;

	if (snprintf(path, sizeof(path), "%s/%s", directory, file) >= (int)sizeof(path))
		line = NULL;
	else
		line = sysfile_line(path, buf, size);
	if (!line)
		*buf = '\0';
	else if (line != buf)
		memmove(buf, line, strlen(line) + 1);
	return buf;
}

static bool check_device_number(const char *directory, const char *file, uint64_t *value)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", directory, file) >= (int)sizeof(path))
		return false;
	return sysfile_number(path, value);
}

/* Parts of vendors and models of the disks of virtual machines. */
static bool is_virtual_model(const char *text)
{
	static const char *const parts[] = {
		"QEMU",	   "VBOX", "VMware",	     "Virtual",
		"VIRTUAL", "Msft", "PersistentDisk", "Elastic Block Store",
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strstr(text, parts[i]))
			return true;
	}
	return false;
}

static void read_model(struct check_device *d, const char *directory)
{
	char vendor[32], model[64];

	attribute(directory, "device/vendor", vendor, sizeof(vendor));
	attribute(directory, "device/model", model, sizeof(model));
	/* virtio has a number there, and SATA disks have the word ATA. */
	d->is_virtual = strncmp(vendor, "0x", 2) == 0 || strncmp(d->name, "xvd", 3) == 0 ||
			is_virtual_model(vendor) || is_virtual_model(model);
	if (strncmp(vendor, "0x", 2) == 0 || strcmp(vendor, "ATA") == 0)
		*vendor = '\0';
	snprintf(d->model, sizeof(d->model), "%s%s%s", vendor, *vendor && *model ? " " : "", model);
}

static void read_queue(struct check_device *d, const char *directory)
{
	char text[128], *open, *close;
	uint64_t value;

	d->rotational_known = check_device_number(directory, "queue/rotational", &value);
	d->rotational = d->rotational_known && value;
	d->removable = check_device_number(directory, "removable", &value) && value;
	if (check_device_number(directory, "queue/max_sectors_kb", &value))
		d->most_bytes = value * 1024;
	check_device_number(directory, "device/queue_depth", &d->queue_depth);
	attribute(directory, "queue/scheduler", text, sizeof(text));
	open = strchr(text, '[');
	close = open ? strchr(open, ']') : NULL;
	if (close)
		snprintf(d->scheduler, sizeof(d->scheduler), "%.*s", (int)(close - open - 1),
			 open + 1);
}

/* "8.0 GT/s PCIe" and "4" for both; remembered only where the link runs below its best. */
static void read_link(struct check_device *d, const char *directory)
{
	char device[PATH_MAX], speed[32], speed_most[32];
	uint64_t width, width_most;

	if (snprintf(device, sizeof(device), "%s/device/device", directory) >= (int)sizeof(device))
		return;
	attribute(device, "current_link_speed", speed, sizeof(speed));
	attribute(device, "max_link_speed", speed_most, sizeof(speed_most));
	if (!check_device_number(device, "current_link_width", &width) ||
	    !check_device_number(device, "max_link_width", &width_most) ||
	    strtod(speed, NULL) <= 0 || !width)
		return;
	if (strtod(speed, NULL) >= strtod(speed_most, NULL) && width >= width_most)
		return;
	snprintf(d->link_now, sizeof(d->link_now), "%.1f GT/s x%u", strtod(speed, NULL),
		 (unsigned)width);
	snprintf(d->link_most, sizeof(d->link_most), "%.1f GT/s x%u", strtod(speed_most, NULL),
		 (unsigned)width_most);
}

/* The USB device that a disk hangs on is one of the directories above it. */
static void read_usb(struct check_device *d, const char *directory)
{
	char *path = realpath(directory, NULL), *slash;
	char vendor[32], speed[32];

	while (path && (slash = strrchr(path, '/')) && slash > path) {
		*slash = '\0';
		if (!*attribute(path, "idVendor", vendor, sizeof(vendor)))
			continue;
		d->usb_mbits = strtoull(attribute(path, "speed", speed, sizeof(speed)), NULL, 10);
		break;
	}
	free(path);
}

static void read_layers(struct check_device *d, const char *directory)
{
	attribute(directory, "md/level", d->raid, sizeof(d->raid));
	check_device_number(directory, "md/degraded", &d->raid_degraded);
	attribute(directory, "md/sync_action", d->raid_action, sizeof(d->raid_action));
	if (strcmp(d->raid_action, "idle") == 0)
		*d->raid_action = '\0';
}

void check_device_read(struct check_device *d, const char *root, const char *name)
{
	char directory[PATH_MAX];

	snprintf(d->name, sizeof(d->name), "%s", path_last(name));
	snprintf(directory, sizeof(directory), "%s/sys/class/block/%s", root, d->name);
	read_model(d, directory);
	read_queue(d, directory);
	read_link(d, directory);
	read_usb(d, directory);
	read_layers(d, directory);
	blockdev_loop(root, d->name, d->loop_file, sizeof(d->loop_file), &d->loop_buffered);
}

/*
 * Names as targets: the kind, and how it can be read.
 */

#define SMALL_BYTES 4096
#define LARGE_BYTES (1u << 20)
#define LARGE_LEAST_BYTES (64u << 10)
#define LARGE_SHARE 8 /* large requests are at most this part of the target */
#define SAMPLES 64

/* The size of a file for a write test, and its least. */
#define NEW_FILE_BYTES (1ull << 30)
#define NEW_FILE_LEAST (64ull << 20)

static enum xdd_status check_target_refuse(const struct check_target *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static enum xdd_status check_target_refuse(const struct check_target *t, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return log_refuse("check: %s: %s", t->name, text);
}

/* ---- names that cannot be checked ---- */

/* The group whose members may read, or NULL. */
static const char *group_of_readers(const struct stat *st)
{
	const struct group *g = st->st_mode & S_IRGRP ? getgrgid(st->st_gid) : NULL;

	return g ? g->gr_name : NULL;
}

static enum xdd_status refuse_missing(const struct check_target *t)
{
	const char *command = command_suggest(t->name);

	if (command)
		return check_target_refuse(
			t, "no such file or device; did you mean the command %s?", command);
	return check_target_refuse(t, "no such file or device");
}

static enum xdd_status refuse_open(const struct check_target *t, const struct stat *st, int err)
{
	const char *group = group_of_readers(st);

	if (err == ENOMEDIUM)
		return check_target_refuse(t, "has no medium");
	if (err != EACCES && err != EPERM)
		return check_target_refuse(t, "cannot be opened for reading: %s", strerror(err));
	if (geteuid() == 0)
		return check_target_refuse(t, "cannot be opened for reading: %s", strerror(err));
	if (group && st->st_gid != 0)
		return check_target_refuse(
			t,
			"cannot be opened for reading: %s; use sudo, or become a member of "
			"group %s",
			strerror(err), group);
	return check_target_refuse(t, "cannot be opened for reading: %s; use sudo", strerror(err));
}

static enum xdd_status refuse_directory(const struct check_target *t, const struct stat *st)
{
	char node[64];

	if (blockdev_node(st->st_dev, node, sizeof(node)) == 0)
		return check_target_refuse(
			t,
			"is a directory; expected a file or a device, such as %s, which it "
			"is on",
			node);
	return check_target_refuse(t, "is a directory; expected a file or a device");
}

/* The first block device of the controller /dev/nvme0, to be freed; NULL: there is none. */
static char *name_space_of(const char *path)
{
	const char *name = path_last(path);
	char *pattern, *found = NULL;
	glob_t names;

	if (strncmp(name, "nvme", 4) != 0 || name[4 + strspn(name + 4, "0123456789")])
		return NULL;
	if (asprintf(&pattern, "%sn[0-9]*", path) < 0)
		return NULL;
	if (glob(pattern, 0, NULL, &names) == 0) {
		found = strdup(names.gl_pathv[0]);
		globfree(&names);
	}
	free(pattern);
	return found;
}

static enum xdd_status refuse_character(const struct check_target *t, const struct stat *st)
{
	char *name_space = name_space_of(t->name);
	char node[64];
	dev_t dev;

	if (name_space)
		check_target_refuse(t, "is a controller; expected one of its disks, such as %s",
				    name_space);
	else if (blockdev_number_of(st, &dev) && blockdev_node(dev, node, sizeof(node)) == 0)
		check_target_refuse(t, "is a character device; expected its block device, %s",
				    node);
	else
		check_target_refuse(t, "is a character device; expected a file or a block device");
	free(name_space);
	return XDD_BAD_ARGUMENT;
}

static enum xdd_status refuse_kind(const struct check_target *t, const struct stat *st)
{
	switch (st->st_mode & S_IFMT) {
	case S_IFDIR:
		return refuse_directory(t, st);
	case S_IFCHR:
		return refuse_character(t, st);
	case S_IFIFO:
		return check_target_refuse(t, "is a pipe; expected a file or a block device");
	default:
		return check_target_refuse(t, "is a socket; expected a file or a block device");
	}
}

static enum xdd_status refuse_size(const struct check_target *t)
{
	const char *dot = strrchr(t->name, '.');

	if (!t->block && dot && strcmp(dot, ".fio") == 0)
		return check_target_refuse(
			t, "is a job file of fio; xdd fio %s shows the same as an xdd command",
			t->name);
	if (t->block && !t->size_bytes)
		return check_target_refuse(
			t, "has a size of 0: no medium, or nothing is attached to it");
	if (!t->size_bytes)
		return check_target_refuse(t, "has a size of 0; a check needs %d bytes at least",
					   SMALL_BYTES);
	return check_target_refuse(t, "has %" PRIu64 " bytes; a check needs %" PRIu64 " at least",
				   t->size_bytes, t->unit_bytes);
}

/* ---- how it can be read ---- */

/* True if a read past the page cache works: some file systems accept the flag only. */
static bool reads_directly(int fd, uint64_t bytes)
{
	void *buf = NULL;
	bool refused;

	if (posix_memalign(&buf, bytes, bytes))
		return false;
	refused = pread(fd, buf, bytes, 0) < 0 && errno == EINVAL;
	free(buf);
	return !refused;
}

static void find_direct(struct check_target *t, int fd)
{
	int direct = open(t->path, O_RDONLY | O_DIRECT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct directio d = { 0 };
	int sector = 0;

	t->memory = !t->block && pagecache_is_all(fd);
	t->unit_bytes = SMALL_BYTES;
	if (direct < 0)
		return;
	directio_query(&d, direct, NULL);
	if (d.offset_align > t->unit_bytes)
		t->unit_bytes = d.offset_align;
	if (t->block && ioctl(direct, BLKSSZGET, &sector) == 0 && (uint64_t)sector > t->unit_bytes)
		t->unit_bytes = (uint64_t)sector;
	t->direct = !d.ignored && !t->memory && t->size_bytes >= t->unit_bytes &&
		    reads_directly(direct, t->unit_bytes);
	close(direct);
}

/*
 * Large requests that the device takes whole, and of which the target has several.
 */
static void find_large(struct check_target *t)
{
	uint64_t most = t->device.most_bytes;

	t->large_bytes = LARGE_BYTES;
	while (most >= LARGE_LEAST_BYTES && t->large_bytes > most)
		t->large_bytes /= 2;
	while (t->large_bytes > t->unit_bytes && t->large_bytes > t->size_bytes / LARGE_SHARE)
		t->large_bytes /= 2;
	if (t->large_bytes < t->unit_bytes)
		t->large_bytes = t->unit_bytes;
}

/* Reads through the page cache block, or move to threads of the kernel: psync has its own. */
static void find_engine(struct check_target *t)
{
	const struct engine_info *engine = t->direct ? engine_queueing(&t->why_engine) : NULL;

	t->engine = engine ? engine->name : engine_registry[0]->name;
}

static void copy_text(char *buf, size_t size, const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	snprintf(buf, size, "%s", text ? text : "");
}

uint64_t check_new_bytes(const struct statvfs *fs)
{
	const uint64_t most = fs->f_bavail / 10;
	uint64_t bytes = NEW_FILE_BYTES;

	while (bytes > NEW_FILE_LEAST && bytes / fs->f_frsize > most)
		bytes /= 2;
	return bytes / fs->f_frsize > most ? 0 : bytes;
}

/* A file for a write test, under a name that does not exist. */
static void find_new_file(struct check_target *t)
{
	char *directory = path_directory(t->name);
	struct statvfs fs;
	struct stat st;
	int n;

	if (!directory || access(directory, W_OK) < 0 || statvfs(directory, &fs) < 0) {
		free(directory);
		return;
	}
	n = snprintf(t->new_file, sizeof(t->new_file), "%s/xdd-write-test", directory);
	free(directory);
	t->new_bytes = check_new_bytes(&fs);
	if (n >= (int)sizeof(t->new_file) || !t->new_bytes || lstat(t->new_file, &st) == 0)
		*t->new_file = '\0';
}

static void find_facts(struct check_target *t, const struct stat *st)
{
	json_t *facts = path_facts(t->path);
	const json_t *fs = json_object_get(facts, "file_system");
	char disk[DISKSTATS_NAME_SIZE];

	copy_text(t->file_system, sizeof(t->file_system), fs, "type");
	copy_text(t->mount_point, sizeof(t->mount_point), fs, "mount_point");
	copy_text(t->source, sizeof(t->source), fs, "source");
	json_decref(facts);
	if (t->block)
		guard_in_use("", st->st_rdev, &t->use);
	if (diskstats_device(t->path, disk) == 0)
		check_device_read(&t->device, "", disk);
	t->no_sys = access("/sys/dev", F_OK) != 0;
}

static enum xdd_status check_target_look(struct check_target *t, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return check_target_refuse(t, "%s", strerror(errno));
	t->block = S_ISBLK(st.st_mode);
	t->size_bytes = t->block ? 0 : (uint64_t)st.st_size;
	if (t->block && ioctl(fd, BLKGETSIZE64, &t->size_bytes) < 0)
		return check_target_refuse(t, "its size is not known: %s", strerror(errno));
	find_direct(t, fd);
	if (t->size_bytes < t->unit_bytes)
		return refuse_size(t);
	find_facts(t, &st);
	find_large(t);
	find_engine(t);
	if (!t->block)
		find_new_file(t);
	return XDD_OK;
}

static enum xdd_status open_and_look(struct check_target *t)
{
	enum xdd_status status;
	struct stat st;
	int fd;

	if (stat(t->name, &st) < 0)
		return errno == ENOENT ? refuse_missing(t) :
					 check_target_refuse(t, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		return refuse_kind(t, &st);
	fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return refuse_open(t, &st, errno);
	status = check_target_look(t, fd);
	close(fd);
	return status;
}

/* A name that begins with a slash, "./" or "../" means nothing else to -target. */
static char *path_of(const char *name)
{
	char *path;

	if (*name == '/' || strncmp(name, "./", 2) == 0 || strncmp(name, "../", 3) == 0)
		return strdup(name);
	return asprintf(&path, "./%s", name) < 0 ? NULL : path;
}

enum xdd_status check_target_open(struct check_target *t, const char *name)
{
	enum xdd_status status;

	*t = (struct check_target){ .name = name, .path = xneed(path_of(name)) };
	status = open_and_look(t);
	if (status)
		check_target_free(t);
	return status;
}

void check_target_free(struct check_target *t)
{
	free(t->path);
	t->path = NULL;
}

/* ---- zeros ---- */

static bool is_zeros(const unsigned char *buf, size_t bytes)
{
	return buf[0] == 0 && memcmp(buf, buf + 1, bytes - 1) == 0;
}

void check_sample_zeros(const struct check_target *t, struct check_result *result)
{
	const uint64_t blocks = t->size_bytes / t->unit_bytes;
	const uint64_t parts = blocks < SAMPLES ? blocks : SAMPLES, part = blocks / parts;
	int fd = open(t->path, O_RDONLY | (t->direct ? O_DIRECT : 0) | O_CLOEXEC | O_NOCTTY);
	void *buf = NULL;

	if (fd >= 0 && posix_memalign(&buf, t->unit_bytes, t->unit_bytes) == 0) {
		for (uint64_t i = 0; i < parts; i++) {
			uint64_t block = i * part + random_splitmix64(i) % part;

			if (pread(fd, buf, t->unit_bytes, (off_t)(block * t->unit_bytes)) !=
			    (ssize_t)t->unit_bytes)
				continue;
			result->sampled++;
			result->zeros += is_zeros(buf, t->unit_bytes);
		}
	}
	free(buf);
	if (fd >= 0)
		close(fd);
}

/*
 * The measurements of a check: each is a run in this process.
 */

#define NUMBER_SIZE 24

/* Small requests, at least, of a target that has fewer blocks. */
#define SMALL_REQUESTS 4096

static uint64_t check_depth(enum check_phase phase)
{
	static const uint64_t depths[] = {
		[CHECK_LARGE] = 8, [CHECK_SINGLE] = 1, [CHECK_DEEP] = 32
	};

	return depths[phase];
}

/* The depth of a phase, and its requests. */
static uint64_t check_request_bytes(const struct check_target *t, enum check_phase phase)
{
	return phase == CHECK_LARGE ? t->large_bytes : t->unit_bytes;
}

double check_figure(const struct check_row *row, enum pass_figure figure)
{
	if (pass_figures[figure].stat)
		return row->times[figure];
	return row->measured ?
		       (double)(figure == FIGURE_IOPS ? row->ops : row->bytes) / row->seconds :
		       0;
}

/* ---- the sink ---- */

static void take_cache(struct check_row *row, const struct cache_state *cache)
{
	if (cache->accuracy < CACHE_NOT_MEASURED) {
		row->cache_bytes = cache->range_bytes;
		row->resident_bytes = cache->resident_bytes;
	}
	if (!cache->holes_unknown) {
		row->covered_bytes = cache->range_bytes;
		row->hole_bytes = cache->hole_bytes;
	}
}

static void take_result(void *arg, const struct result *result)
{
	const struct figures *f = &result->figures;
	struct check_row *row = arg;

	if (result->what != RESULT_TARGET_AVERAGE)
		return;
	row->ops = tally_ops(&f->tally);
	row->bytes = tally_bytes(&f->tally);
	row->errors = f->tally.errors;
	row->outstanding = f->tally.outstanding;
	row->seconds = (double)f->elapsed_ns / (double)NS_PER_SEC;
	row->measured = row->ops && row->seconds > 0;
	row->partial = result->partial;
	for (enum pass_figure i = 0; i < FIGURE_ROUND; i++)
		row->times[i] = figure_of_pass(f, i);
	take_cache(row, &f->cache);
	if (result->bound == RESULT_BOUND_STARVED)
		row->starved = result->times.waited;
	if (result->bound == RESULT_BOUND_QUOTA)
		row->quota = result->times.waited;
}

static void take_device(void *arg, const struct device_use *use)
{
	struct check_row *row = arg;

	row->device_ops = use->ops;
	row->device_bytes = use->device_bytes;
	row->device_requests = use->requests;
}

static void take_sentence(char *buf, size_t size, const struct finding *f)
{
	snprintf(buf, size, "%.*s", (int)(f->advice - f->sentence), f->text + f->sentence);
}

static void take_finding(void *arg, const struct finding *finding)
{
	struct check_row *row = arg;

	row->others |= finding->rule == RULE_OTHERS;
	row->split |= finding->rule == RULE_SPLIT;
	if (finding->rule == RULE_STOPPED)
		take_sentence(row->stopped, sizeof(row->stopped), finding);
	if (finding->rule == RULE_LIMIT)
		take_sentence(row->limited, sizeof(row->limited), finding);
}

static void take_failure(void *arg, const struct report_failure *failure)
{
	struct check_row *row = arg;

	if (*row->first_error)
		return;
	row->first_error_offset = failure->offset;
	snprintf(row->first_error, sizeof(row->first_error), "%s", failure->why);
}

/* ---- the plan ---- */

static char *text_of(uint64_t value, char *buf)
{
	snprintf(buf, NUMBER_SIZE, "%" PRIu64, value);
	return buf;
}

/* The words of `xdd` for a phase. Requests are one block, whose size may be any. */
static enum xdd_status make_plan(const struct check_target *t, enum check_phase phase,
				 uint64_t limit_ns, struct plan **plan)
{
	const uint64_t block = check_request_bytes(t, phase), blocks = t->size_bytes / block;
	char size[NUMBER_SIZE], depth[NUMBER_SIZE], amount[NUMBER_SIZE], range[NUMBER_SIZE];
	char limit[NUMBER_SIZE], seed[NUMBER_SIZE];
	const char *words[32] = { "xdd", "-op",	  "read",      "-targets",
				  "1",	 t->path, "-ioengine", t->engine };
	size_t n = 8;

	snprintf(limit, sizeof(limit), "%.6f", (double)limit_ns / (double)NS_PER_SEC);
	words[n++] = "-blocksize";
	words[n++] = text_of(block, size);
	words[n++] = "-reqsize";
	words[n++] = "1";
	words[n++] = "-queuedepth";
	words[n++] = text_of(check_depth(phase), depth);
	words[n++] = "-timelimit";
	words[n++] = limit;
	if (t->direct)
		words[n++] = "-dio";
	if (phase == CHECK_LARGE) {
		words[n++] = "-bytes";
		words[n++] = text_of(t->size_bytes, amount);
	} else {
		words[n++] = "-numreqs";
		words[n++] = text_of(blocks > SMALL_REQUESTS ? blocks : SMALL_REQUESTS, amount);
		words[n++] = "-seek";
		words[n++] = "random";
		words[n++] = "range";
		words[n++] = text_of(blocks, range);
		words[n++] = "seed";
		/* A device may remember what was read before: other offsets each time. */
		words[n++] = text_of(clock_wall_ns(), seed);
	}
	words[n] = NULL;
	return runner_plan(words, plan);
}

void check_row_begin(struct check_row *row, const struct check_target *t, enum check_phase phase)
{
	*row = (struct check_row){ .req_bytes = check_request_bytes(t, phase),
				   .depth = check_depth(phase) };
}

enum xdd_status check_measure(struct runner *runner, const struct check_target *t,
			      enum check_phase phase, uint64_t limit_ns, const char *title,
			      struct check_row *row)
{
	const struct report_sink sink = {
		.arg = row,
		.needs = FIGURES_LATENCY | FIGURES_CPU | FIGURES_WAIT,
		.title = title,
		.result = take_result,
		.device = take_device,
		.finding = take_finding,
		.failure = take_failure,
	};
	enum xdd_status status;
	struct plan *plan;

	check_row_begin(row, t, phase);
	status = make_plan(t, phase, limit_ns, &plan);
	if (!status)
		status = runner_run(runner, plan, &sink);
	if (!runner->stuck)
		plan_free(plan);
	return status;
}
