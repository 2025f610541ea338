/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Restart files: their text, and what is refused: src/net/restart_file.c.
 */
#include "restart_sample.h"

/* Replace `from` by `to` in the text of `r`, and give it the checksum that it then has. */
static char *forge(const struct restart_record *r, const char *from, const char *to)
{
	char *text = encode(r), *found = strstr(text, from), *out, *end;
	size_t size = strlen(text) + strlen(to) + 32, before;

	assert_non_null(found);
	before = (size_t)(found - text);
	out = malloc(size);
	assert_non_null(out);
	memcpy(out, text, before);
	snprintf(out + before, size - before, "%s%s", to, text + before + strlen(from));
	free(text);
	end = strstr(out, "# checksum ");
	if (end)
		sprintf(end, "# checksum %016" PRIx64 "\n", digest_short(out, (size_t)(end - out)));
	return out;
}

static void assert_refused(const char *from, const char *to, const char *expected)
{
	char *text = forge(&sample, from, to);

	assert_int_equal(decode(text, strlen(text)), -EINVAL);
	assert_string_equal(why.text, expected);
	free(text);
}

FIXTURE_TEST(test_text)
{
	char *text = encode(&sample);
	static const char head[] = "-restart offset 40960\n"
				   "# xdd restart file, version 2\n"
				   "# run 00112233445566778899aabbccddeeff\n"
				   "# time 2026-11-22 21:58:26 UTC\n"
				   "# source-host alpha\n"
				   "# source-name /data/from\n"
				   "# source-size 409504\n"
				   "# source-mtime-ns -1500000000\n"
				   "# source-device 2049\n"
				   "# source-inode 77\n"
				   "# source-ctime-ns -1400000000\n"
				   "# source-start 0\n"
				   "# destination-host beta\n"
				   "# destination-name /data/to\n"
				   "# destination-size 409504\n"
				   "# destination-mtime-ns 1795384706123456789\n"
				   "# destination-birth-ns 1795384700000000000\n"
				   "# destination-device 2050\n"
				   "# destination-inode 78\n"
				   "# destination-start 0\n"
				   "# request-size 4096\n"
				   "# bytes 409504\n"
				   "# operations 100\n"
				   "# pattern 1311768467463790320\n"
				   "# durable-bytes 49056\n"
				   "# durable-end 409504\n"
				   "# durable-digest 0011223344556677fedcba9876543210\n"
				   "# ranges 3\n"
				   "# durable 0 10\n"
				   "# durable 20 1\n"
				   "# durable 99 1\n"
				   "# checksum ";

	assert_memory_equal(text, head, strlen(head));
	assert_int_equal(strlen(text), strlen(head) + 17);
	free(text);
}

FIXTURE_TEST(test_round_trip)
{
	check_round_trip(&sample);
	assert_int_equal(other.source_mtime_ns, -1500000000);
	assert_memory_equal(other.run, sample.run, WIRE_SESSION_BYTES);
	assert_true(digest_equal(other.digest, sample.digest));
	/* Nothing is durable yet. */
	extents_clear(&sample.durable);
	sample.durable_bytes = 0;
	sample.offset_bytes = 0;
	check_round_trip(&sample);
	/* An empty file. */
	sample.bytes = 0;
	sample.ops = 0;
	check_round_trip(&sample);
}

/* Version 1 had no ctime; a record that is read is written in its version again. */
FIXTURE_TEST(test_version_1)
{
	char *text;

	sample.version = 1;
	sample.source_ctime_ns = 0;
	text = encode(&sample);
	assert_non_null(strstr(text, "# xdd restart file, version 1\n"));
	assert_null(strstr(text, "ctime"));
	free(text);
	check_round_trip(&sample);
	assert_int_equal(other.version, 1);
	assert_int_equal(other.source_ctime_ns, 0);
	/* Its copy is continued whatever the ctime is: the caller has it proven. */
	sample.version = RESTART_VERSION;
	sample.source_ctime_ns = 5;
	assert_true(restart_record_matches(&other, &sample, &why));
	assert_false(restart_record_matches(&sample, &other, &why));
	/* A line of the other version. */
	assert_refused("version 2", "version 1", "line 11: expected \"# source-start NUMBER\"");
}

FIXTURE_TEST(test_complete)
{
	static const char head[] = "# The copy is complete.\n"
				   "# 409504 bytes written to file /data/to\n"
				   "# xdd restart file, version 2\n";
	char *text;

	make_complete(&sample);
	text = encode(&sample);
	assert_memory_equal(text, head, strlen(head));
	free(text);
	check_round_trip(&sample);
}

/* A name is text of a comment, whatever is in it. */
FIXTURE_TEST(test_names)
{
	char *text;

	strcpy(sample.destination_name, "/a b\n-deletefile \xc3\xa4 100%\x1b[2J\xff\\");
	text = encode(&sample);
	assert_non_null(strstr(text, "# destination-name /a b%0a-deletefile \xc3\xa4 "
				     "100%25%1b[2J%ff\\\n"));
	free(text);
	check_round_trip(&sample);
	sample.source_host[0] = '\0';
	memset(sample.source_name, '\n', sizeof(sample.source_name) - 1);
	check_round_trip(&sample);
	assert_refused("# source-host ", "# source-host \n",
		       "line 6: expected \"# source-name TEXT\"");
	assert_refused("# destination-host beta", "# destination-host be%0",
		       "line 13: expected \"# destination-host TEXT\"");
	assert_refused("# destination-host beta", "# destination-host be%00",
		       "line 13: expected \"# destination-host TEXT\"");
	/* An unusual form of the same name. */
	assert_refused("# destination-host beta", "# destination-host %62eta",
		       "line 13: does not match the rest: the file is damaged");
}

FIXTURE_TEST(test_too_long)
{
	char *text, name[256 + 40];

	snprintf(name, sizeof(name), "# source-host %0256d", 0);
	text = forge(&sample, "# source-host alpha", name);
	assert_int_equal(decode(text, strlen(text)), -EINVAL);
	assert_string_equal(why.text, "line 5: expected \"# source-host TEXT\"");
	free(text);
	snprintf(name, sizeof(name), "# source-host %0255d", 0);
	text = forge(&sample, "# source-host alpha", name);
	assert_int_equal(decode(text, strlen(text)), 0);
	free(text);
}

FIXTURE_TEST(test_no_restart_file)
{
	static const char setup[] = "-restart offset 40960\n-op read\n";
	static const char data[] = "\x7f"
				   "ELF\0\0\0";

	assert_int_equal(decode("", 0), -EINVAL);
	assert_string_equal(why.text, "line 1: is not from a restart file of xdd");
	assert_int_equal(decode(data, sizeof(data)), -EINVAL);
	assert_string_equal(why.text, "line 1: is not from a restart file of xdd");
	assert_int_equal(decode(setup, strlen(setup)), -EINVAL);
	assert_string_equal(why.text, "line 2: is not from a restart file of xdd");
	assert_refused("version 2", "version 3",
		       "line 2: is of version 3, this xdd reads versions 1 to 2");
	assert_refused("version 2", "version 0",
		       "line 2: is of version 0, this xdd reads versions 1 to 2");
	assert_refused("version 2", "version x", "line 2: is not from a restart file of xdd");
}

/* A text of the greatest size is looked at. */
FIXTURE_TEST(test_size)
{
	static const char head[] = "-restart offset 0\n# xdd restart file, version 3\n";
	static char text[RESTART_MAX_BYTES + 1];

	memset(text, '\n', sizeof(text));
	memcpy(text, head, sizeof(head) - 1);
	assert_int_equal(decode(text, RESTART_MAX_BYTES), -EINVAL);
	assert_string_equal(why.text, "line 2: is of version 3, this xdd reads versions 1 to 2");
	assert_int_equal(decode(text, RESTART_MAX_BYTES + 1), -EINVAL);
	assert_string_equal(why.text, "line 1: is not from a restart file of xdd");
}

FIXTURE_TEST(test_malformed)
{
	assert_refused("offset 40960", "offset -1", "line 1: is not from a restart file of xdd");
	assert_refused("offset 40960", "offset 040960",
		       "line 1: does not match the rest: the file is damaged");
	assert_refused("# run 00", "# run 0", "line 3: expected \"# run 32 HEXADECIMAL DIGITS\"");
	assert_refused("# run 00", "# run 000", "line 3: expected \"# run 32 HEXADECIMAL DIGITS\"");
	assert_refused("# run 00", "# run 0G", "line 3: expected \"# run 32 HEXADECIMAL DIGITS\"");
	assert_refused("# source-size 409504", "# source-size 18446744073709551616",
		       "line 7: expected \"# source-size NUMBER\"");
	assert_refused("# source-mtime-ns -1500000000", "# source-mtime-ns 9223372036854775808",
		       "line 8: expected \"# source-mtime-ns NUMBER\"");
	assert_refused("# source-device 2049", "# source-device ",
		       "line 9: expected \"# source-device NUMBER\"");
	assert_refused("# source-inode", "# sauce-inode",
		       "line 10: expected \"# source-inode NUMBER\"");
	assert_refused("# durable-digest 00", "# durable-digest ",
		       "line 27: expected \"# durable-digest 32 HEXADECIMAL DIGITS\"");
	assert_refused("# checksum ", "# checkers ",
		       "line 32: expected \"# checksum NUMBER\": the file is incomplete");
}

FIXTURE_TEST(test_ranges)
{
	assert_refused("# ranges 3", "# ranges 2",
		       "line 30: the durable operations have 45056 bytes, not 49056");
	assert_refused("# ranges 3", "# ranges 4", "line 32: expected \"# durable FIRST COUNT\"");
	assert_refused("# ranges 3", "# ranges 60000",
		       "line 28: expected \"# ranges NUMBER\", at most 59999");
	assert_refused("# durable 20 1", "# durable 20",
		       "line 30: expected \"# durable FIRST COUNT\"");
	assert_refused("# durable 20 1", "# durable 20 0",
		       "line 30: these operations are out of order or not of the copy");
	assert_refused("# durable 20 1", "# durable 9 1",
		       "line 30: these operations are out of order or not of the copy");
	assert_refused("# durable 20 1", "# durable 10 1",
		       "line 30: these operations are out of order or not of the copy");
	assert_refused("# durable 99 1", "# durable 99 2",
		       "line 31: these operations are out of order or not of the copy");
	assert_refused("# durable 99 1", "# durable 99 18446744073709551615",
		       "line 31: these operations are out of order or not of the copy");
	assert_refused("# durable 99 1", "# durable 18446744073709551615 1",
		       "line 31: these operations are out of order or not of the copy");
}

FIXTURE_TEST(test_relations)
{
	static const char *const offsets[] = { "-restart offset 40960", "# durable-end 409504",
					       "# destination-start 0" };
	char most[64], *text;

	assert_refused("# request-size 4096", "# request-size 0",
		       "line 31: the numbers of bytes and operations above do not match");
	assert_refused("# bytes 409504", "# bytes 409601",
		       "line 31: the numbers of bytes and operations above do not match");
	assert_refused("# bytes 409504", "# bytes 405504",
		       "line 31: the numbers of bytes and operations above do not match");
	assert_refused("# request-size 4096", "# request-size 18446744073709551615",
		       "line 31: the numbers of bytes and operations above do not match");
	assert_refused("# durable-bytes 49056", "# durable-bytes 49055",
		       "line 31: the durable operations have 49056 bytes, not 49055");
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		snprintf(most, sizeof(most), "%.*s 9223372036854775807",
			 (int)(strrchr(offsets[i], ' ') - offsets[i]), offsets[i]);
		text = forge(&sample, offsets[i], most);
		assert_int_equal(decode(text, strlen(text)), 0);
		free(text);
		most[strlen(most) - 1]++;
		assert_refused(offsets[i], most,
			       "line 31: an offset above is larger than any file");
	}
	/* A copy that is complete, with an operation missing. */
	make_complete(&sample);
	assert_refused("# durable 0 100", "# durable 0 99",
		       "line 30: the durable operations have 405504 bytes, not 409504");
	assert_refused("# 409504 bytes", "# 409505 bytes",
		       "line 2: does not match the rest: the file is damaged");
	assert_refused("file /data/to", "file /data/from",
		       "line 2: does not match the rest: the file is damaged");
}

FIXTURE_TEST(test_each_bit)
{
	char *text = encode(&sample);
	size_t size = strlen(text);

	for (size_t bit = 0; bit < 8 * size; bit++) {
		text[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(decode(text, size), -EINVAL);
		assert_memory_equal(why.text, "line ", 5);
		text[bit / 8] ^= (char)(1 << bit % 8);
	}
	assert_int_equal(decode(text, size), 0);
	free(text);
}

FIXTURE_TEST(test_each_length)
{
	char *text = encode(&sample), *longer;
	size_t size = strlen(text);

	for (size_t n = 0; n < size; n++)
		assert_int_equal(decode(text, n), -EINVAL);
	longer = malloc(size + 2);
	assert_non_null(longer);
	snprintf(longer, size + 2, "%s\n", text);
	assert_int_equal(decode(longer, size + 1), -EINVAL);
	free(longer);
	free(text);
}

FIXTURE_TEST(test_most_ranges)
{
	sample.ops = 2 * RESTART_MAX_RANGES;
	sample.bytes = sample.ops * REQUEST;
	extents_clear(&sample.durable);
	for (uint64_t i = 0; i < RESTART_MAX_RANGES; i++)
		assert_int_equal(extents_add(&sample.durable, 2 * i, 2 * i + 1), 0);
	assert_int_equal(extents_add(&sample.durable, sample.ops - 1, sample.ops), 0);
	assert_int_equal(sample.durable.n, RESTART_MAX_RANGES);
	sample.durable_bytes = sample.durable.total * REQUEST;
	check_round_trip(&sample);
}

RUN_TESTS(NULL, NULL)
