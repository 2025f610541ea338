/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Seek lists as files: src/io/access.c writes them, src/plan/feature_seek.c reads them.
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/feature.h"
#include "scratch.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/io/access.h"

#define BLOCK 512u
#define REQ (8u * BLOCK)

static const char save_name[] = "list", text_path[] = "text";
static char content[1 << 16];

static unsigned count_files(void)
{
	DIR *dir = opendir(directory);
	unsigned n = 0;

	assert_non_null(dir);
	for (struct dirent *e = readdir(dir); e; e = readdir(dir))
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(dir);
	return n;
}

static const char *read_file(const char *path)
{
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	n = fread(content, 1, sizeof(content) - 1, f);
	fclose(f);
	content[n] = '\0';
	return content;
}

static void write_text(const char *text, size_t size)
{
	FILE *f = fopen(text_path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static struct target_plan plan_of(enum seek_pattern pattern, uint64_t ops)
{
	return (struct target_plan){
		.op = OP_READ,
		.block_size = BLOCK,
		.req_blocks = REQ / BLOCK,
		.req_bytes = REQ,
		.pass_ops = ops,
		.last_op_bytes = REQ,
		.seek = { .pattern = pattern, .seed = 1, .save_file = save_name },
	};
}

TEST(test_format)
{
	struct target_plan t = plan_of(SEEK_INTERLEAVE, 3);
	char expected[128];
	struct stat st;
	mode_t mask;
	char *path;

	t.seek.interleave = 3;
	t.op = OP_MIXED;
	t.read_ratio = PLAN_RATIO_ONE / 2;
	t.number = 12;
	t.last_op_bytes = REQ - 7 * BLOCK + 1; /* a block and a byte: two blocks */
	t.start_offset_blocks = 5;
	t.start_bytes = 5 * BLOCK + 12 * 1000 * BLOCK; /* the target's own offset stays out */
	t.pass_offset_bytes = 99 * BLOCK;
	t.seek.seekhist = 2;
	t.seek.disthist = 3;
	assert_int_equal(seekfile_save(&t, &path), 0);

	snprintf(expected, sizeof(expected), "%s.T12.txt", save_name);
	assert_string_equal(path, expected);
	assert_string_equal(
		read_file(path),
		"# Longest seek=16, Shortest seek=16, Average seek distance=16\n"
		"#Ordinal Location Reqsize Operation Time1 Time2\n"
		"0000000000 000000000005 8 r 0000000000000000 0000000000000000\n"
		"0000000001 000000000029 8 w 0000000000000000 0000000000000000\n"
		"0000000002 000000000053 2 r 0000000000000000 0000000000000000\n"
		"#SeekHist 0000          2\n" /* 5 to 53: 29 is the last of the first half */
		"#SeekHist 0001          1\n"
		"#DistHist 0000          0\n"
		"#DistHist 0001          0\n"
		"#DistHist 0002          2\n");
	/* readable for whom any new file is, and nothing else left */
	mask = umask(0);
	umask(mask);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0666 & ~mask);
	assert_int_equal(count_files(), 1);
	unlink(path);
	free(path);
}

TEST(test_one_operation)
{
	struct target_plan t = plan_of(SEEK_SEQUENTIAL, 1);
	char *path;

	t.op = OP_NOOP;
	t.seek.seekhist = 3;
	t.seek.disthist = 1;
	assert_int_equal(seekfile_save(&t, &path), 0);
	assert_string_equal(read_file(path),
			    "# Longest seek=0, Shortest seek=0, Average seek distance=0\n"
			    "#Ordinal Location Reqsize Operation Time1 Time2\n"
			    "0000000000 000000000000 8 n 0000000000000000 0000000000000000\n"
			    "#SeekHist 0000          1\n"
			    "#SeekHist 0001          0\n"
			    "#SeekHist 0002          0\n"
			    "#DistHist 0000          0\n");
	unlink(path);
	free(path);
}

/* Seeks that go back are distances too. */
TEST(test_distances)
{
	static const struct seek_row rows[] = {
		{ 100, 8, 'r' }, { 0, 8, 'r' }, { 8, 8, 'r' }, { 26, 8, 'r' }
	};
	struct target_plan t = plan_of(SEEK_LOAD, 4);
	char *path;

	t.rows = rows;
	t.n_rows = 4;
	assert_int_equal(seekfile_save(&t, &path), 0);
	/* 108 to 0, 8 to 8, 16 to 26: 108, 0 and 10 */
	read_file(path);
	content[strcspn(content, "\n")] = '\0';
	assert_string_equal(content,
			    "# Longest seek=108, Shortest seek=0, Average seek distance=39");
	unlink(path);
	free(path);
}

/* The average is rounded down. */
TEST(test_average)
{
	static const struct seek_row rows[] = { { 0, 1, 'r' }, { 3, 1, 'r' }, { 7, 1, 'r' } };
	struct target_plan t = plan_of(SEEK_LOAD, 3);
	char *path;

	t.rows = rows;
	t.n_rows = 3;
	assert_int_equal(seekfile_save(&t, &path), 0);
	read_file(path);
	content[strcspn(content, "\n")] = '\0';
	assert_string_equal(content, "# Longest seek=3, Shortest seek=2, Average seek distance=2");
	unlink(path);
	free(path);
}

TEST(test_histogram_sums)
{
	struct target_plan t = plan_of(SEEK_RANDOM, 1000);
	unsigned lines = 0, sums[2] = { 0 };
	unsigned long long count;
	char *path, *save = NULL;
	unsigned bucket;

	t.range_bytes = 777 * REQ;
	t.seek.seekhist = 10;
	t.seek.disthist = 7;
	t.seek.save_file = NULL; /* then they go to the messages */
	keeps_open = 1;
	assert_int_equal(log_open(text_path), 0);
	assert_int_equal(seekfile_save(&t, &path), 0);
	assert_null(path);
	read_file(text_path);
	for (char *l = strtok_r(content, "\n", &save); l;
	     l = strtok_r(NULL, "\n", &save), lines++) {
		if (sscanf(l, "#SeekHist %4u %10llu", &bucket, &count) == 2)
			sums[0] += (unsigned)count;
		else if (sscanf(l, "#DistHist %4u %10llu", &bucket, &count) == 2)
			sums[1] += (unsigned)count;
		else
			fail_msg("%s", l);
		assert_int_equal(bucket, lines < 10 ? lines : lines - 10);
	}
	assert_int_equal(lines, 17);
	assert_int_equal(sums[0], 1000);
	assert_int_equal(sums[1], 999);
	unlink(text_path);
}

static void check_same_list(struct target_plan *t)
{
	const struct seek_row *rows = NULL;
	const char *what = NULL;
	struct target_plan loaded = *t;
	struct arena *arena = arena_new();
	struct access a, b;
	unsigned line = 0;
	size_t n_rows = 0;
	char *path;

	assert_int_equal(seekfile_save(t, &path), 0);
	assert_int_equal(seek_load_read(path, arena, &rows, &n_rows, &line, &what), 0);
	assert_int_equal(n_rows, t->pass_ops);

	loaded.seek.pattern = SEEK_LOAD;
	loaded.op = OP_MIXED;
	loaded.rows = rows;
	loaded.n_rows = n_rows;
	access_init(&a, t, 1);
	access_init(&b, &loaded, 1);
	for (uint64_t n = 0; n < n_rows; n++) {
		struct access_op x, y;

		access_op(&a, n, &x);
		access_op(&b, n, &y);
		assert_int_equal(x.offset, y.offset);
		assert_int_equal(x.size, y.size);
		assert_int_equal(x.dir, y.dir);
	}
	unlink(path);
	free(path);
	arena_free(arena);
}

TEST(test_save_and_load)
{
	static const enum seek_pattern patterns[] = { SEEK_SEQUENTIAL, SEEK_RANDOM, SEEK_STAGGER,
						      SEEK_INTERLEAVE, SEEK_NONE };

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		struct target_plan t = plan_of(patterns[i], 1000);

		t.op = OP_MIXED;
		t.read_ratio = 30200000;
		t.number = 3;
		t.seek.interleave = 5;
		t.range_bytes = 3333 * REQ;
		t.last_op_bytes = 700;
		t.start_offset_blocks = 11;
		t.start_bytes = (11 + 3 * 10000000000ull) * BLOCK;
		check_same_list(&t);
		t.op = OP_NOOP;
		check_same_list(&t);
	}
}

TEST(test_save_fails)
{
	struct target_plan t = plan_of(SEEK_SEQUENTIAL, 10);
	char *path, *other;

	t.seek.save_file = "/nonexistent/directory/list";
	assert_int_equal(seekfile_save(&t, &path), -ENOENT);
	assert_string_equal(path, "/nonexistent/directory/list.T0.txt");
	free(path);

	/* A directory of that name cannot be replaced, and the temporary file is removed. */
	t.seek.save_file = save_name;
	assert_true(asprintf(&other, "%s.T0.txt", save_name) > 0);
	assert_int_equal(mkdir(other, 0700), 0);
	assert_int_equal(seekfile_save(&t, NULL), -EISDIR);
	assert_int_equal(rmdir(other), 0);
	assert_int_equal(count_files(), 0);
	free(other);

	t.pass_ops = PLAN_UNLIMITED;
	assert_int_equal(seekfile_save(&t, NULL), -EINVAL);
	assert_int_equal(count_files(), 0);
}

TEST(test_save_replaces)
{
	struct target_plan t = plan_of(SEEK_SEQUENTIAL, 100);
	char *path;

	assert_int_equal(seekfile_save(&t, NULL), 0);
	t.pass_ops = 1;
	assert_int_equal(seekfile_save(&t, &path), 0);
	assert_null(strstr(read_file(path), "0000000001 "));
	unlink(path);
	free(path);
}

struct loaded {
	struct arena *arena;
	const struct seek_row *rows;
	size_t n_rows;
	unsigned line;
	const char *what;
};

static int load_bytes(struct loaded *l, const char *text, size_t size)
{
	memset(l, 0, sizeof(*l));
	l->arena = arena_new();
	write_text(text, size);
	return seek_load_read(text_path, l->arena, &l->rows, &l->n_rows, &l->line, &l->what);
}

static void done(struct loaded *l)
{
	arena_free(l->arena);
	unlink(text_path);
}

static void check_row(const struct seek_row *row, uint64_t block, uint32_t blocks, char op)
{
	assert_int_equal(row->block, block);
	assert_int_equal(row->blocks, blocks);
	assert_int_equal(row->op, op);
}

TEST(test_load_variants)
{
	static const char text[] = "# comment\n"
				   "\n"
				   "0000000000 000000000005 8 r 0000000000000000 0000000000000000\n"
				   "7 18446744073709551607 8 W\n" /* ordinals are not looked at */
				   "7\t12  4294967295\tN 1 18446744073709551615\r\n"
				   "\r\n"
				   "# end\r\n"
				   "  3 4 5 w"; /* no newline */
	struct loaded l;

	assert_int_equal(load_bytes(&l, text, sizeof(text) - 1), 0);
	assert_int_equal(l.n_rows, 4);
	check_row(&l.rows[0], 5, 8, 'r');
	check_row(&l.rows[1], 18446744073709551607ull, 8, 'w');
	check_row(&l.rows[2], 12, UINT32_MAX, 'n');
	check_row(&l.rows[3], 4, 5, 'w');
	done(&l);
}

TEST(test_load_bad_lines)
{
	static const char *const bad[] = {
		"garbage",
		"0 1 2",
		"0 1 2 r 4",
		"0 1 2 r 4 5 6",
		"x 1 2 r",
		"0 1x 2 r",
		"0 -1 2 r",
		"0 1.5 2 r",
		"0 18446744073709551616 2 r",
		"0 18446744073709551615 2 r",
		"0 1 0 r",
		"0 1 4294967296 r",
		"0 1 4k r",
		"0 1 2 x",
		"0 1 2 rw",
		"0 1 2 r a 0",
		"0 1 2 r 0 -1",
		" # not at the start of the line",
		"\r 0 1 2 r",
	};
	char text[256];
	struct loaded l;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int n = snprintf(text, sizeof(text),
				 "# 1\n# 2\n0 0 8 r\n1 8 8 r\n\n2 16 8 w 0 0\n%s\n3 0 8 r\n",
				 bad[i]);
		int ret = load_bytes(&l, text, (size_t)n);

		if (ret != -EBADMSG || l.line != 7 || !l.what || l.rows)
			fail_msg("\"%s\": %d, line %u", bad[i], ret, l.line);
		done(&l);
	}
	assert_int_equal(load_bytes(&l, "0 1 2 r\n0 1 2 r\0 0 0\n", 21), -EBADMSG);
	assert_int_equal(l.line, 2);
	done(&l);
}

TEST(test_load_nothing)
{
	struct loaded l;

	assert_int_equal(load_bytes(&l, "", 0), -EBADMSG);
	assert_int_equal(l.line, 0);
	done(&l);
	assert_int_equal(load_bytes(&l, "# only\n\n", 8), -EBADMSG);
	assert_int_equal(l.line, 0);
	done(&l);

	memset(&l, 0, sizeof(l));
	assert_int_equal(seek_load_read(text_path, NULL, &l.rows, &l.n_rows, &l.line, &l.what),
			 -ENOENT);
	assert_int_equal(seek_load_read(directory, NULL, &l.rows, &l.n_rows, &l.line, &l.what),
			 -EISDIR);
}

RUN_TESTS(enter_directory, remove_directory)
