/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The environment of a run: src/report/environment.c, from files of the kernel.
 */
#include "unit.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "kernel_files.h"
#include "report/info.h"
#include "xdd/plan/plan.h"
#include "xdd/report/report.h"

#define QUEUE "/sys/dev/char/1:3/queue/"
#define CPU "/sys/devices/system/cpu/"

#define KERNEL_TEST(name) TEST_SETUP_TEARDOWN(name, kernel_files_begin, kernel_files_end)

/* `o` holds exactly `wanted`, in single quotes. Consumes `o`. */
static void assert_holds(json_t *o, const char *wanted)
{
	char text[1024];
	char *found = json_dumps(o, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY);

	snprintf(text, sizeof(text), "%s", wanted);
	for (char *c = text; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	assert_non_null(found);
	assert_string_equal(found, text);
	free(found);
	json_decref(o);
}

/* The description of /dev/null, a character device, without its name, which is from /sys itself. */
static json_t *null_device(void)
{
	json_t *facts = path_facts("/dev/null");
	json_t *device = json_incref(json_object_get(facts, "device"));

	json_object_del(device, "name");
	json_decref(facts);
	return device;
}

KERNEL_TEST(test_device)
{
	assert_null(null_device());
	kernel_file_put(QUEUE "scheduler", "none\n");
	kernel_file_put(QUEUE "rotational", "0\n");
	kernel_file_put(QUEUE "nr_requests", "64\n");
	kernel_file_put(QUEUE "write_cache", "write back\n");
	kernel_file_put("/sys/dev/char/1:3/ro", "1\n");
	kernel_file_put("/sys/dev/char/1:3/size", "3\n");
	assert_holds(null_device(), "{'nr_requests':64,'read_only':true,'rotational':false,"
				    "'scheduler':'none','size_bytes':1536,"
				    "'write_cache':'write back'}");
	kernel_file_put(QUEUE "scheduler", "bfq [mq-deadline] none\n");
	kernel_file_put(QUEUE "write_cache", "[write back\n");
	assert_holds(null_device(), "{'nr_requests':64,'read_only':true,'rotational':false,"
				    "'scheduler':'mq-deadline','size_bytes':1536,"
				    "'write_cache':'[write back'}");
}

KERNEL_TEST(test_partition)
{
	/* The directory of the disk is above it. */
	kernel_file_put("/sys/dev/char/1:3/partition", "1\n");
	kernel_file_put("/sys/dev/char/size", "8\n");
	kernel_file_put("/sys/dev/char/removable", "1\n");
	assert_holds(null_device(), "{'partition':true,'removable':true,'size_bytes':4096}");
}

/* The file system and the device of "/", whose mount is `line` after its number. */
static void assert_mount(const char *line, const char *file_system, const char *device)
{
	static const char *const numbers[] = { "type", "block_bytes", "size_bytes", "free_bytes" };
	struct statx st;
	json_t *facts, *fs;
	char text[512];

	assert_int_equal(statx(AT_FDCWD, "/", 0, STATX_MNT_ID, &st), 0);
	if (!(st.stx_mask & STATX_MNT_ID))
		skip();
	snprintf(text, sizeof(text), "%llu1 1 8:3 / /other rw - other /dev/other rw\n%llu %s\n",
		 (unsigned long long)st.stx_mnt_id, (unsigned long long)st.stx_mnt_id, line);
	kernel_file_put("/proc/self/mountinfo", text);
	facts = path_facts("/");
	fs = json_object_get(facts, "file_system");
	assert_non_null(json_object_get(fs, "type"));
	for (size_t i = strstr(file_system, "type") ? 1 : 0; i < 4; i++)
		assert_int_equal(json_object_del(fs, numbers[i]), 0);
	assert_holds(json_incref(fs), file_system);
	if (device)
		assert_holds(json_incref(json_object_get(facts, "device")), device);
	else
		assert_null(json_object_get(facts, "device"));
	json_decref(facts);
}

KERNEL_TEST(test_mount)
{
	kernel_file_put("/sys/dev/block/8:3/ro", "0\n");
	kernel_file_put("/dev/none", "");
	kernel_file_node("/dev/sdz 1", makedev(8, 3));
	assert_mount("1 8:3 /root /mnt\\040it rw,noatime shared:1 master:2 - ext4 /dev/sdz\\0401 "
		     "rw,sync",
		     "{'mount_options':'rw,noatime','mount_point':'/mnt it','source':'/dev/sdz 1',"
		     "'super_options':'rw,sync','type':'ext4'}",
		     "{'read_only':false}");
	assert_mount("1 8:3 / /mnt rw - xfs tmpfs ro",
		     "{'mount_options':'rw','mount_point':'/mnt','source':'tmpfs',"
		     "'super_options':'ro','type':'xfs'}",
		     NULL);
	assert_mount("1 8:3 / /mnt rw - xfs /dev/none ro",
		     "{'mount_options':'rw','mount_point':'/mnt','source':'/dev/none',"
		     "'super_options':'ro','type':'xfs'}",
		     NULL);
	/* Lines that are cut short. */
	assert_mount("1 8:3 / /mnt rw - xfs /dev/sdz\\0401", "{}", NULL);
	assert_mount("1 8:3 / /mnt rw xfs /dev/sdz\\0401 ro", "{}", NULL);
	assert_mount("1 8:3 / /mnt - xfs /dev/sdz\\0401 ro", "{}", NULL);
}

/* A part of the environment without targets. */
static json_t *part(const char *name)
{
	const struct plan plan = { .n_targets = 0 };
	json_t *o = environment_collect(&plan), *found;

	assert_non_null(o);
	found = json_incref(json_object_get(o, name));
	json_decref(o);
	return found;
}

KERNEL_TEST(test_memory)
{
	json_t *o;

	kernel_file_put("/proc/meminfo", "MemTotal:       8 kB\nMemAvailable:   4 kB\n"
					 "HugePages_Total:       3\nHugepagesize:    2048 kB\n");
	kernel_file_put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
	o = part("memory");
	json_object_del(o, "page_bytes");
	assert_holds(o, "{'available_bytes':4096,'huge_page_bytes':2097152,'huge_pages':3,"
			"'total_bytes':8192,'transparent_huge_pages':'always [madvise] never'}");
}

KERNEL_TEST(test_nodes)
{
	assert_holds(part("numa"), "{}");
	kernel_file_put("/sys/devices/system/node/online", "0-2,7\n");
	assert_holds(part("numa"), "{'nodes':4,'online':'0-2,7'}");
}

KERNEL_TEST(test_processors)
{
	json_t *o = part("processors");

	assert_null(json_object_get(o, "model"));
	assert_null(json_object_get(o, "governor"));
	json_decref(o);
	kernel_file_put("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Fast 9\nflags\t: a b\n");
	kernel_file_put(CPU "cpu0/cpufreq/scaling_governor", "powersave\n");
	kernel_file_put(CPU "cpufreq/boost", "1\n");
	o = part("processors");
	assert_string_equal(json_string_value(json_object_get(o, "model")), "Fast 9");
	assert_string_equal(json_string_value(json_object_get(o, "governor")), "powersave");
	assert_string_equal(json_string_value(json_object_get(o, "frequency_boost")), "1");
	json_decref(o);
}

KERNEL_TEST(test_host)
{
	json_t *o;

	kernel_file_put("/sys/class/dmi/id/sys_vendor", "  Vendor of it \n");
	o = part("host");
	assert_true(json_object_del(o, "name") == 0);
	assert_holds(o, "{'vendor':'Vendor of it'}");
}

RUN_TESTS(NULL, NULL)
