/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The environment of a run: src/report/environment.c, from files of the kernel.
 */
#include "unit.h"

#include <jansson.h>
#include <stdlib.h>

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
