/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Restart files: which copy may continue another, and files on disk: src/net/restart_file.c.
 */
#include "restart_sample.h"

/* Set the field of `other` that a case names to something else. */
struct identity_case {
	void *field;
	size_t size; /* of a text; 0: a number */
	const char *expected;
};

FIXTURE_TEST(test_identity)
{
	const struct identity_case cases[] = {
		{ other.source_host, 1, "the host of the source was alpha, and is x now" },
		{ other.source_name, 1, "the name of the source was /data/from, and is x now" },
		{ &other.source_size_bytes, 0,
		  "the size of the source in bytes was 409504, and is 5 now" },
		{ &other.source_mtime_ns, 0,
		  "the time of the last change of the source, in ns, was -1500000000, and is 5 now" },
		{ &other.source_ctime_ns, 0,
		  "the time of the last change of any kind of the source, in ns, was -1400000000, "
		  "and is 5 now" },
		{ &other.source_device, 0,
		  "the device number of the source was 2049, and is 5 now" },
		{ &other.source_inode, 0, "the inode number of the source was 77, and is 5 now" },
		{ &other.source_start_bytes, 0,
		  "the start offset in the source was 0, and is 5 now" },
		{ other.destination_host, 1, "the host of the destination was beta, and is x now" },
		{ other.destination_name, 1,
		  "the name of the destination was /data/to, and is x now" },
		{ &other.destination_device, 0,
		  "the device number of the destination was 2050, and is 5 now" },
		{ &other.destination_inode, 0,
		  "the inode number of the destination was 78, and is 5 now" },
		{ &other.destination_start_bytes, 0,
		  "the start offset in the destination was 0, and is 5 now" },
		{ &other.destination_birth_ns, 0,
		  "the destination is another file of the same name" },
		{ &other.destination_size_bytes, 0,
		  "the destination has 5 bytes now, of 409504 that were written" },
		{ &other.req_bytes, 0, "the request size in bytes was 4096, and is 5 now" },
		{ &other.bytes, 0, "the number of bytes to copy was 409504, and is 5 now" },
		{ &other.ops, 0, "the number of operations was 100, and is 5 now" },
		{ &other.pattern, 0,
		  "the hash of the offsets of the source (its -seek options) was "
		  "1311768467463790320, and is 5 now" },
	};

	make_sample(&other);
	assert_true(restart_record_matches(&sample, &other, &why));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_sample(&other);
		if (cases[i].size)
			strcpy(cases[i].field, "x");
		else
			*(uint64_t *)cases[i].field = 5;
		assert_false(restart_record_matches(&sample, &other, &why));
		assert_string_equal(why.text, cases[i].expected);
	}
}

/* These differ between the sessions of one copy. */
FIXTURE_TEST(test_may_change)
{
	make_sample(&other);
	other.run[0] ^= 1;
	other.time[0] = '3';
	other.destination_size_bytes++;
	other.destination_mtime_ns++;
	other.destination_birth_ns = 0;
	extents_clear(&other.durable);
	other.durable_bytes = 0;
	other.digest.low = 0;
	assert_true(restart_record_matches(&sample, &other, &why));
}

FIXTURE_TEST(test_unchanged)
{
	make_sample(&other);
	assert_true(restart_record_unchanged(&sample, &other));
	other.destination_mtime_ns++;
	assert_false(restart_record_unchanged(&sample, &other));
	make_sample(&other);
	other.destination_size_bytes++;
	assert_false(restart_record_unchanged(&sample, &other));
	/* A device has no time of change. */
	make_sample(&other);
	sample.destination_size_bytes = other.destination_size_bytes = WIRE_NO_SIZE;
	assert_false(restart_record_unchanged(&sample, &other));
}

FIXTURE_TEST(test_long_values)
{
	make_sample(&other);
	memset(other.source_name, 'y', sizeof(other.source_name) - 1);
	assert_false(restart_record_matches(&sample, &other, &why));
	assert_non_null(strstr(why.text, "yyy... now"));
	assert_true(strlen(why.text) < 200);
}

static int read_file(const char *path)
{
	restart_record_free(&other);
	restart_record_init(&other);
	err_set(&why, 0, "(none)");
	return restart_record_read(path, &other, &why);
}

FIXTURE_TEST(test_files)
{
	char directory[] = "/tmp/xdd-restart-XXXXXX", path[64];
	FILE *f;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/file", directory);
	assert_int_equal(read_file(path), -ENOENT);
	assert_int_equal(restart_record_write(path, &sample), 0);
	assert_int_equal(read_file(path), 0);
	assert_same(&sample, &other);
	make_complete(&sample);
	assert_int_equal(restart_record_write(path, &sample), 0);
	assert_int_equal(read_file(path), 0);
	assert_true(other.complete);

	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(read_file(path), -ENOENT);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(read_file(path), -EMEDIUMTYPE);
	assert_string_equal(why.text, "is not a regular file");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(read_file(directory), -EMEDIUMTYPE);
	assert_int_equal(restart_record_write("/nowhere/file", &sample), -ENOENT);
	assert_int_equal(rmdir(directory), 0);
}

RUN_TESTS(NULL, NULL)
