/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -restart: which operations a resumed copy asks for, and which copies are refused:
 * src/run/endtoend/restart.c.
 */
#include "restart_fixture.h"

#include <glob.h>
#include <sys/resource.h>

FIXTURE_TEST(test_not_used)
{
	plan.restart.enabled = false;
	assert_int_equal(restart_open(&r, &plan, &why), 0);
	assert_null(r);
	plan.restart.enabled = true;
	plan.endtoend.role = E2E_SOURCE;
	assert_int_equal(restart_open(&r, &plan, &why), 0);
	assert_null(r);
	assert_int_equal(restart_accept(NULL, &own, &peer, ranges, &n_ranges, &why), 0);
	assert_int_equal(restart_begin(NULL, -1, &why), 0);
	restart_written(NULL, 0, 0, 1, digest_of(0));
	assert_int_equal(restart_end(NULL, true, &why), 0);
}

FIXTURE_TEST(test_new_copy)
{
	struct restart_record *rec;

	assert_int_equal(accept_peer(), 0);
	assert_int_equal(n_ranges, 0);
	assert_int_equal(access("file", F_OK), -1);
	assert_int_equal(begin(), 0);
	assert_first_line("-restart offset 0");
	rec = read_record();
	assert_int_equal(rec->durable.n, 0);
	assert_string_equal(rec->source_host, "alpha");
	assert_string_equal(rec->source_name, "/data/from");
	assert_string_equal(rec->destination_host, "beta");
	assert_string_equal(rec->destination_name, "/data/to");
	assert_int_equal(rec->bytes, BYTES);
	assert_memory_equal(rec->run, peer.run, sizeof(rec->run));
	write_ops(0, 10);
	write_ops(20, 30);
	assert_int_equal(end(false), 0);
	rec = read_record();
	assert_first_line("-restart offset 40960");
	assert_int_equal(rec->durable.n, 2);
	assert_int_equal(rec->durable.total, 20);
	assert_int_equal(rec->end_bytes, 30 * REQUEST);
	assert_int_equal(flushes, 2);
}

FIXTURE_TEST(test_resume)
{
	struct restart_record *rec;
	struct digest sum = digest_of_ops(0, OPS);

	interrupt_copy();
	assert_int_equal(accept_peer(), 1);
	assert_int_equal(n_ranges, 2);
	assert_int_equal(ranges[0].first, 10);
	assert_int_equal(ranges[0].count, 10);
	assert_int_equal(ranges[1].first, 30);
	assert_int_equal(ranges[1].count, 70);
	assert_int_equal(begin(), 0);
	/* Nothing is lost if the second session ends at once. */
	assert_int_equal(read_record()->durable.total, 20);
	write_ops(10, 20);
	write_ops(30, OPS);
	assert_int_equal(end(true), 0);
	assert_first_line("# The copy is complete.");
	rec = read_record();
	assert_true(rec->complete);
	assert_true(digest_equal(rec->digest, sum));
}

FIXTURE_TEST(test_nothing_missing)
{
	assert_int_equal(accept_peer(), 0);
	assert_int_equal(begin(), 0);
	write_ops(0, OPS);
	assert_int_equal(end(false), 0);
	assert_first_line("-restart offset 409504");
	assert_int_equal(accept_peer(), 1);
	assert_int_equal(n_ranges, 0);
	assert_int_equal(begin(), 0);
	assert_int_equal(end(true), 0);
	assert_first_line("# The copy is complete.");
}

FIXTURE_TEST(test_empty_copy)
{
	make_file("target", 0);
	peer.bytes = peer.ops = peer.size_bytes = 0;
	assert_int_equal(accept_peer(), 0);
	assert_int_equal(begin(), 0);
	assert_int_equal(end(true), 0);
	assert_first_line("# The copy is complete.");
}

FIXTURE_TEST(test_complete_again)
{
	complete_copy();
	assert_int_equal(accept_peer(), 1);
	assert_int_equal(n_ranges, 0);
	assert_int_equal(end(false), 0);
	/* The file of a copy that is complete may be used for another one. */
	peer.mtime_ns++;
	assert_int_equal(accept_peer(), 0);
	assert_int_equal(begin(), 0);
	assert_first_line("-restart offset 0");
	assert_int_equal(end(true), 0);
	/* The destination was changed since. */
	make_file("target", BYTES + 1);
	assert_int_equal(accept_peer(), 0);
}

/* A run that could not start leaves its restart file, and removes the file that it created. */
FIXTURE_TEST(test_nothing_durable)
{
	assert_int_equal(accept_peer(), 0);
	assert_int_equal(begin(), 0);
	assert_int_equal(end(false), 0);
	assert_int_equal(unlink("target"), 0);
	assert_int_equal(accept_peer(), 0);
	assert_int_equal(n_ranges, 0);
	make_file("target", 0);
	assert_int_equal(begin(), 0);
	write_ops(0, 1);
	assert_int_equal(end(false), 0);
	assert_int_equal(unlink("target"), 0);
	assert_int_equal(accept_peer(), -EINVAL);
}

static void assert_refused(const char *problem)
{
	char expected[ERR_TEXT_SIZE + 200];

	snprintf(expected, sizeof(expected),
		 "restart file file: %s; to copy everything, remove it or name another with "
		 "-restart file",
		 problem);
	assert_int_equal(accept_peer(), -EINVAL);
	assert_string_equal(why.text, expected);
	end(false);
}

FIXTURE_TEST(test_other_copies)
{
	interrupt_copy();
	peer.size_bytes++;
	assert_refused("the size of the source in bytes was 409504, and is 409505 now");
	peer.size_bytes--;
	peer.mtime_ns++;
	assert_refused("the time of the last change of the source, in ns, was 1234567890123456789, "
		       "and is 1234567890123456790 now");
	peer.mtime_ns--;
	strcpy(peer.name, "/data/x");
	assert_refused("the name of the source was /data/from, and is /data/x now");
	strcpy(peer.name, "/data/from");
	peer.req_bytes *= 2;
	peer.ops /= 2;
	assert_refused("the request size in bytes was 4096, and is 8192 now");
	peer.req_bytes /= 2;
	peer.ops *= 2;
	own.start_bytes = 512;
	assert_refused("the start offset in the destination was 0, and is 512 now");
	own.start_bytes = 0;
	/* Nothing of that has changed the file. */
	assert_int_equal(accept_peer(), 1);
	assert_int_equal(n_ranges, 2);
}

FIXTURE_TEST(test_other_destinations)
{
	interrupt_copy();
	make_file("target", 30 * REQUEST - 1);
	assert_refused("the destination has 122879 bytes now, of 122880 that were written");
	make_file("target", 30 * REQUEST);
	assert_int_equal(accept_peer(), 1);
	end(false);
	make_file("other", BYTES);
	assert_int_equal(rename("other", "target"), 0);
	assert_int_equal(accept_peer(), -EINVAL);
	assert_non_null(strstr(why.text, "of the destination was "));
	end(false);
	assert_int_equal(unlink("target"), 0);
	assert_refused("the destination cannot be examined (No such file or directory)");
}

/* The file was another one when it was opened. */
FIXTURE_TEST(test_replaced_meanwhile)
{
	interrupt_copy();
	assert_int_equal(accept_peer(), 1);
	make_file("other", BYTES);
	assert_int_equal(rename("other", "target"), 0);
	assert_int_equal(begin(), -ESTALE);
}

FIXTURE_TEST(test_damaged_file)
{
	FILE *f;

	interrupt_copy();
	f = fopen("file", "r+");
	assert_non_null(f);
	assert_int_equal(fseek(f, 17, SEEK_SET), 0);
	fputc('9', f);
	fclose(f);
	assert_refused("line 31: does not match the rest: the file is damaged");
	f = fopen("file", "w");
	assert_non_null(f);
	fputs("precious\n", f);
	fclose(f);
	assert_refused("line 1: is not from a restart file of xdd");
	assert_first_line("precious");
}

FIXTURE_TEST(test_order_of_source)
{
	struct target_plan source = { .op = OP_READ,
				      .req_bytes = REQUEST,
				      .pass_ops = OPS,
				      .pass_bytes = BYTES,
				      .last_op_bytes = REQUEST,
				      .read_ratio = PLAN_RATIO_ONE,
				      .seek = { .pattern = SEEK_RANDOM, .range_blocks = 100 },
				      .block_size = REQUEST,
				      .range_bytes = OPS * REQUEST };
	uint64_t random, other;

	random = restart_pattern(&source);
	source.seek.seed = 17;
	other = restart_pattern(&source);
	assert_int_not_equal(random, other);
	set_pattern(OPS);
	assert_int_not_equal(random, peer.pattern);
	source.seek.pattern = SEEK_SEQUENTIAL;
	assert_int_equal(restart_pattern(&source), peer.pattern);

	/* The first line of a copy in another order says nothing. */
	peer.pattern = random;
	assert_int_equal(restart_open(&r, &plan, &why), 0);
	assert_int_equal(restart_accept(r, &own, &peer, ranges, &n_ranges, &why), 0);
	assert_int_equal(begin(), 0);
	write_ops(0, 10);
	assert_int_equal(end(false), 0);
	assert_first_line("-restart offset 0");
	assert_int_equal(read_record()->durable.total, 10);
	assert_int_equal(accept_peer(), -EINVAL);
	assert_non_null(strstr(why.text, "its -seek options"));
}

FIXTURE_TEST(test_without_amount)
{
	assert_int_equal(restart_open(&r, &plan, &why), 0);
	peer.ops = peer.bytes = WIRE_NO_SIZE;
	assert_int_equal(restart_accept(r, &own, &peer, ranges, &n_ranges, &why), -EINVAL);
	assert_string_equal(why.text,
			    "-restart: a copy that only time ends cannot be resumed; give the "
			    "source -bytes or -numreqs");
}

/* Change the plans of both sides as -restart offset does. */
static void leave_out(uint64_t bytes)
{
	own.skipped_bytes = peer.skipped_bytes = bytes;
	own.start_bytes = peer.start_bytes = bytes;
	peer.bytes = BYTES - bytes;
	peer.ops = (peer.bytes + REQUEST - 1) / REQUEST;
}

FIXTURE_TEST(test_offset)
{
	leave_out(50 * REQUEST);
	assert_int_equal(accept_peer(), 0);
	assert_int_equal(begin(), 0);
	restart_written(r, 0, 0, REQUEST, digest_of(0));
	restart_written(r, 1, REQUEST, REQUEST, digest_of(1));
	assert_int_equal(end(false), 0);
	assert_first_line("-restart offset 212992");
	assert_int_equal(read_record()->durable.total, 52);
	assert_int_equal(read_record()->bytes, BYTES);
	/* The same copy, without the offset, and with a larger one. */
	leave_out(0);
	assert_int_equal(accept_peer(), 1);
	assert_int_equal(n_ranges, 1);
	assert_int_equal(ranges[0].first, 52);
	assert_int_equal(ranges[0].count, 48);
	end(false);
	leave_out(52 * REQUEST);
	assert_int_equal(accept_peer(), 1);
	assert_int_equal(n_ranges, 1);
	assert_int_equal(ranges[0].first, 0);
	assert_int_equal(ranges[0].count, 48);
}

FIXTURE_TEST(test_offset_within_request)
{
	leave_out(100);
	peer.ops = OPS;
	peer.bytes = OPS * REQUEST;
	assert_int_equal(accept_peer(), 0);
	assert_int_equal(begin(), 0);
	write_ops(0, 2);
	assert_int_equal(end(false), 0);
	assert_first_line("-restart offset 8292");
	assert_int_equal(accept_peer(), 1);
	assert_int_equal(ranges[0].first, 2);
}

FIXTURE_TEST(test_offset_of_one_side)
{
	static const char expected[] = "the source leaves out 0 bytes, the destination 4096: give "
				       "both the same -restart offset";

	own.skipped_bytes = REQUEST;
	assert_int_equal(accept_peer(), -EINVAL);
	assert_string_equal(why.text, expected);
	assert_int_equal(restart_accept(NULL, &own, &peer, ranges, &n_ranges, &why), -EINVAL);
	assert_string_equal(why.text, expected);
}

FIXTURE_TEST(test_default_name)
{
	const char *path;
	glob_t found;

	plan.restart.file = NULL;
	strcpy(peer.host, "../../etc\n");
	strcpy(peer.name, "/");
	own.host[0] = '\0';
	memset(own.name, 'x', sizeof(own.name) - 1);
	assert_int_equal(accept_peer(), 0);
	assert_int_equal(begin(), 0);
	assert_int_equal(glob("xdd.*", 0, NULL, &found), 0);
	path = found.gl_pathv[0];
	assert_memory_equal(path, "xdd..._.._etc_.NA.NA.xxxx", 25);
	assert_null(strchr(path, '/'));
	assert_true(strlen(path) < 255);
	assert_string_equal(path + strlen(path) - 8, "-GMT.rst");
	assert_int_equal(unlink(path), 0);
	globfree(&found);
}

/* A file that cannot be read may be the record of another copy. */
FIXTURE_TEST(test_default_name_unreadable)
{
	struct rlimit usual, none = { .rlim_cur = 0 };
	int err;

	plan.restart.file = NULL;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
	none.rlim_max = usual.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	err = accept_peer();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
	assert_int_equal(err, -EINVAL);
	assert_non_null(strstr(why.text, "cannot be read"));
}

RUN_TESTS(enter, leave)
