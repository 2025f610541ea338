/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal of a sweep on disk: src/commands/sweep_run.c. Every line must be durable before
 * the next round is run, or the sweep ends.
 */
#include "parse_fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "commands/sweep.h"

static const struct sweep_kind kind = { .name = "sweep" };
static const struct sweep_round first = { .point = 0, .round = 1, .ops = 5, .known = true };
static struct sweep sweep;

static bool no_locks;

int flock(int fd, int how)
{
	if (!no_locks)
		return (int)syscall(SYS_flock, fd, how);
	errno = ENOTSUP;
	return -1;
}

/* A sweep of two points, whose journal is `path`. */
static void begin(const char *path, bool resume)
{
	sweep = (struct sweep){
		.kind = &kind, .words = "-op read", .journal_path = path, .journal.fd = -1
	};
	sweep.vary.n_points = 2;
	sweep.line.resume = resume;
	sweep.results = (struct sweep_results){
		.vary = &sweep.vary, .seed = 7, .started_ns = 99, .least = 3, .most = 3
	};
	assert_int_equal(sweep_results_begin(&sweep.results), 0);
}

static void end(bool done)
{
	sweep_journal_close(&sweep, done);
	assert_int_equal(sweep.journal.fd, -1);
	sweep_results_free(&sweep.results);
}

static void says(const char *words)
{
	const char *text = messages();

	if (!strstr(text, words))
		fail_msg("\"%s\" is not in \"%s\"", words, text);
}

static long size_of(const char *path)
{
	FILE *f = fopen(path, "r");
	long size;

	assert_non_null(f);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	size = ftell(f);
	assert_int_equal(fclose(f), 0);
	return size;
}

TEST(test_whole)
{
	struct sweep_round round = first;
	long header, one;

	begin("journal", false);
	/* An error that was before is none of the journal's. */
	errno = EIO;
	assert_int_equal(sweep_journal_open(&sweep), XDD_OK);
	header = size_of("journal");
	assert_true(header > 0);
	errno = EIO;
	assert_true(sweep_journal_add(&sweep, &round));
	one = size_of("journal");
	assert_true(one > header);
	round.point = 1;
	errno = EIO;
	assert_true(sweep_journal_add(&sweep, &round));
	assert_true(size_of("journal") > one);
	end(false);
	assert_string_equal(messages(), "");

	/* Another one begins nowhere else. */
	begin("journal", false);
	assert_int_equal(sweep_journal_open(&sweep), XDD_BAD_ARGUMENT);
	says("sweep: -journal journal: exists; -resume continues that sweep");
	end(false);

	begin("journal", true);
	sweep.results.seed = sweep.results.started_ns = 0;
	assert_int_equal(sweep_journal_open(&sweep), XDD_OK);
	assert_int_equal(sweep.results.seed, 7);
	assert_int_equal(sweep.results.started_ns, 99);
	assert_int_equal(sweep.results.points[0].n, 1);
	assert_int_equal(sweep.results.points[0].rounds[0].ops, 5);
	assert_int_equal(sweep.results.points[1].n, 1);
	round.round = 2;
	assert_true(sweep_journal_add(&sweep, &round));
	end(true);
	assert_string_equal(messages(), "");
	assert_int_equal(access("journal", F_OK), -1);
}

/* A round of two lines, or of a point that is not there, is damage. */
TEST(test_twice)
{
	struct sweep_round again = first;

	for (int i = 0; i < 2; i++) {
		begin("journal", false);
		assert_int_equal(sweep_journal_open(&sweep), XDD_OK);
		assert_true(sweep_journal_add(&sweep, &first));
		if (i)
			again.point = 2;
		assert_true(sweep_journal_add(&sweep, &again));
		end(false);
		begin("journal", true);
		assert_int_equal(sweep_journal_open(&sweep), XDD_BAD_ARGUMENT);
		says("sweep: -resume: journal: line 3 is damaged");
		end(false);
		assert_int_equal(unlink("journal"), 0);
	}
}

TEST(test_other_sweep)
{
	begin("journal", false);
	assert_int_equal(sweep_journal_open(&sweep), XDD_OK);
	/* In use. */
	{
		struct sweep open = sweep;

		begin("journal", true);
		assert_int_equal(sweep_journal_open(&sweep), XDD_BAD_ARGUMENT);
		says("journal is in use by another sweep");
		end(false);
		sweep = open;
	}
	end(false);
	begin("journal", true);
	sweep.words = "-op write";
	assert_int_equal(sweep_journal_open(&sweep), XDD_BAD_ARGUMENT);
	says("sweep: -resume: journal is of another sweep: -op read");
	end(false);
	begin("journal", true);
	sweep.vary.n_points = 3;
	assert_int_equal(sweep_journal_open(&sweep), XDD_BAD_ARGUMENT);
	says("sweep: -resume: journal is of a sweep of 2 points, and this one has 3");
	sweep.vary.n_points = 2; /* as its results were made */
	end(false);
	assert_int_equal(unlink("journal"), 0);
	begin("journal", true);
	assert_int_equal(sweep_journal_open(&sweep), XDD_BAD_ARGUMENT);
	says("sweep: -resume: journal does not exist: there is nothing to resume");
	end(false);
	begin("none/journal", false);
	assert_int_equal(sweep_journal_open(&sweep), XDD_BAD_ARGUMENT);
	says("sweep: -journal none/journal: No such file or directory");
	end(false);
}

/* On a file system without locks another sweep could write to it too. */
TEST(test_no_locks)
{
	no_locks = true;
	begin("journal", false);
	assert_int_equal(sweep_journal_open(&sweep), XDD_BAD_ARGUMENT);
	says("sweep: -journal journal: No locks available");
	end(false);
	begin("journal", true);
	assert_int_equal(sweep_journal_open(&sweep), XDD_BAD_ARGUMENT);
	says("sweep: -journal journal: No locks available");
	end(false);
	no_locks = false;
	assert_int_equal(unlink("journal"), 0);
}

/* A journal that does not grow ends the sweep. */
TEST(test_full)
{
	static char words[20000];
	struct rlimit before, small;
	bool added;

	begin("journal", false);
	/* The limit is for the log as well, which is much shorter. */
	memset(words, 'x', sizeof(words) - 1);
	sweep.words = words;
	assert_int_equal(sweep_journal_open(&sweep), XDD_OK);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = (rlim_t)size_of("journal") + 1;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	added = sweep_journal_add(&sweep, &first);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_false(added);
	says("sweep: -journal journal: File too large");
	end(false);
	assert_int_equal(unlink("journal"), 0);
}

/* One whose lines do not become durable, as those of a pipe, does as well. */
TEST(test_not_durable)
{
	int ends[2];

	begin("journal", false);
	assert_int_equal(pipe(ends), 0);
	sweep.journal.fd = ends[1];
	assert_false(sweep_journal_add(&sweep, &first));
	says("sweep: -journal journal: Invalid argument");
	end(false);
	close(ends[0]);
}

/* Without a journal there is nothing to do. */
TEST(test_none)
{
	begin(NULL, true);
	assert_int_equal(sweep_journal_open(&sweep), XDD_OK);
	assert_true(sweep_journal_add(&sweep, &first));
	end(true);
	assert_string_equal(messages(), "");
	/* It may be gone before the end. */
	begin("journal", false);
	assert_int_equal(sweep_journal_open(&sweep), XDD_OK);
	assert_int_equal(unlink("journal"), 0);
	end(true);
	says("sweep: journal: No such file or directory");
}

RUN_TESTS(set_up, remove_directory)
