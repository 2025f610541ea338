/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of hosts of xdd multi, its launchers, and the states, output and display of its ranks:
 * src/commands/multi_hosts.c, multi_launch.c and multi_run.c.
 */
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/multi.h"
#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/net/globaltime.h"
#include "xdd/sys/clock.h"

#define LOCAL_NS (7 * NS_PER_SEC + 5)
#define WALL_NS (1600000000 * NS_PER_SEC + 7)
#define OFFSET_NS (1700000000 * (int64_t)NS_PER_SEC)

/* The machine and the time server as multi_hosts.c sees them. */
static struct {
	const int *read_errs; /* of the next reads; ends with 0 */
	const char *end;      /* of the room for the text; a read leaves one byte of it */
	bool silent;	      /* nothing comes in the time that read_all() waits */
	double load;
	bool no_load;
	long processors;
	int server_err;
	unsigned asked, ended;
} play;

static const int no_errs[] = { 0 };

static ssize_t fake_read(int fd, void *buf, size_t size)
{
	assert_ptr_equal((char *)buf + size + 1, play.end);
	/* A byte at a time. */
	if (!*play.read_errs)
		return read(fd, buf, 1);
	errno = *play.read_errs++;
	return -1;
}

static int fake_poll(struct pollfd *p, nfds_t n, int wait_ms)
{
	assert_int_equal(n, 1);
	assert_int_equal(p->events, POLLIN);
	assert_int_equal(wait_ms, 10000);
	return !play.silent;
}

static int fake_load(double *load, int n)
{
	assert_int_equal(n, 1);
	*load = play.load;
	return !play.no_load;
}

static long fake_sysconf(int name)
{
	assert_int_equal(name, _SC_NPROCESSORS_ONLN);
	return play.processors;
}

static uint64_t fake_now_ns(void)
{
	return LOCAL_NS;
}

static uint64_t fake_wall_ns(void)
{
	return WALL_NS;
}

static int fake_begin(struct globaltime_client **c, const struct globaltime_settings *settings,
		      struct stop *stop, struct err *why)
{
	assert_string_equal(settings->host, "clock");
	assert_int_equal(settings->port, 3000);
	assert_null(stop);
	play.asked++;
	if (play.server_err)
		return err_set(why, play.server_err, "no answer");
	*c = (struct globaltime_client *)&play;
	return 0;
}

static void fake_get(struct globaltime_client *c, uint64_t at_ns, struct globaltime *out)
{
	assert_ptr_equal(c, &play);
	assert_int_equal(at_ns, LOCAL_NS);
	*out = (struct globaltime){ .offset_ns = OFFSET_NS };
}

static void fake_end(struct globaltime_client *c)
{
	assert_ptr_equal(c, &play);
	play.ended++;
}

#define read fake_read
#define poll fake_poll
#define getloadavg fake_load
#define sysconf fake_sysconf
#define clock_now_ns fake_now_ns
#define clock_wall_ns fake_wall_ns
#define globaltime_begin fake_begin
#define globaltime_get fake_get
#define globaltime_end fake_end
#include "../../src/commands/multi_hosts.c"
#undef read
#undef poll
#undef clock_now_ns
#undef clock_wall_ns

/* Its static functions need no processes. */
#include "../../src/commands/multi_run.c"

/* One host; NULL: refused. */
static void is_host(const char *text, const char *user, const char *name, uint32_t slots)
{
	struct arena *arena = arena_new();
	struct multi_hosts h = { .n = 0 };
	enum xdd_status status;

	assert_non_null(arena);
	log_hold();
	status = multi_hosts_add(arena, &h, text, "-hosts", 7);
	log_drop(0);
	log_release();
	assert_int_equal(status, name ? XDD_OK : XDD_BAD_ARGUMENT);
	if (name) {
		assert_int_equal(h.n, 1);
		assert_string_equal(h.list[0].name, name);
		assert_int_equal(h.list[0].slots, slots);
		assert_int_equal(!h.list[0].user, !user);
		if (user)
			assert_string_equal(h.list[0].user, user);
	}
	arena_free(arena);
}

TEST(test_hosts)
{
	is_host("node1", NULL, "node1", 7);
	is_host(" node1, ", NULL, "node1", 7);
	is_host("node1:3", NULL, "node1", 3);
	is_host("ann@node1.example.org:3", "ann", "node1.example.org", 3);
	is_host("10.0.0.1", NULL, "10.0.0.1", 7);
	is_host("::1", NULL, "::1", 7);
	is_host("[fe80::1]:2", NULL, "fe80::1", 2);
	is_host("ann@[::1]", "ann", "::1", 7);
	is_host("a@b@c", "a@b", "c", 7);
}

TEST(test_refused)
{
	static const char *const texts[] = {
		"-x",  "-x@a", "@a",  "a@",  ":2",	"a:",	 "a:0",	   "a:-1",  "a:16385",
		"a:x", "[::1", "[]",  "a/b", "[a]b:1",	"a\tb;", "a`b",	   "../a",  "a%b",
		"4",   "a*",   "a=b", "..:", "a$(x):1", "\x7f",	 "[a]:1x", "[a]1:2"
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		is_host(texts[i], NULL, NULL, 0);
}

TEST(test_ranges)
{
	static const char *const names[] = { "n08",   "n09",   "n10",		"n3",
					     "b1-x2", "b1-x3", "b0-x123456789", "b0-x00999" };
	static const char *const wrong[] = { "n[",	  "n[]",   "n[1",	    "n[1-]",
					     "n[2-1]",	  "n[a]",  "n[1,]",	    "n[1-2",
					     "n[1;2]",	  "n[1]]", "n[1000000000]", "n[1-99999]",
					     "n[0-16384]" };
	struct arena *arena = arena_new();
	struct multi_hosts h = { .n = 0 };

	assert_non_null(arena);
	assert_int_equal(multi_hosts_add(arena, &h,
					 "ann@n[08-10,3]:2,b[1]-x[2-3] b[0]-x[123456789,00999-999]",
					 "-hosts", 1),
			 XDD_OK);
	assert_int_equal(h.n, 8);
	for (size_t i = 0; i < h.n; i++) {
		assert_string_equal(h.list[i].name, names[i]);
		assert_int_equal(h.list[i].slots, i < 4 ? 2 : 1);
	}
	arena_free(arena);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		is_host(wrong[i], NULL, NULL, 0);
}

/* More hosts than the first allocation has room for. */
TEST(test_many)
{
	struct arena *arena = arena_new();
	struct multi_hosts h = { .n = 0 };

	assert_non_null(arena);
	for (unsigned i = 0; i < 1000; i++) {
		const char *name = arena_printf(arena, "node%u", i);

		assert_int_equal(multi_hosts_add(arena, &h, name, "-hosts", 1), XDD_OK);
	}
	assert_int_equal(h.n, 1000);
	assert_string_equal(h.list[63].name, "node63");
	assert_string_equal(h.list[999].name, "node999");
	arena_free(arena);
}

TEST(test_read_all)
{
	static const int again[] = { EAGAIN, EINTR, EAGAIN, 0 }, broken[] = { EAGAIN, EIO, 0 };
	static const struct {
		size_t size;
		int err;
	} cases[] = { { 4, -EFBIG }, { 5, -EFBIG }, { 6, 0 }, { 100, 0 } };
	char text[100];
	int fd[2];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
		assert_int_equal(write(fd[1], "abcd", 4), 4);
		close(fd[1]);
		play.read_errs = again;
		play.end = text + cases[i].size;
		memset(text, 'x', sizeof(text));
		assert_int_equal(read_all(fd[0], text, cases[i].size), cases[i].err);
		close(fd[0]);
		if (!cases[i].err)
			assert_string_equal(text, "abcd");
	}
	play.end = text + sizeof(text);
	fd[0] = open("/", O_RDONLY | O_CLOEXEC);
	assert_int_equal(read_all(fd[0], text, sizeof(text)), -EISDIR);
	play.read_errs = broken;
	assert_int_equal(read_all(fd[0], text, sizeof(text)), -EIO);
	play.silent = true;
	assert_int_equal(read_all(fd[0], text, sizeof(text)), -ETIMEDOUT);
	play.silent = false;
	close(fd[0]);
}

/* ---- the clock of the run ---- */

static struct multi timed(const char *server, uint64_t start_in_ns)
{
	memset(&play, 0, sizeof(play));
	play.read_errs = no_errs;
	play.processors = 4;
	return (struct multi){ .arena = arena_new(),
			       .line = { .time_server = server, .start_in_ns = start_in_ns },
			       .n = 10 };
}

/* NULL is no text. */
static void assert_text(const char *text, const char *wanted)
{
	assert_string_equal(text ? text : "(none)", wanted ? wanted : "(none)");
}

TEST(test_start_time)
{
	static const struct {
		const char *server;
		uint64_t start_in_ns;
		const char *host, *port, *start;
		unsigned asked;
		bool dry;
	} cases[] = {
		{ "clock:3000", 1500000000, "clock", "3000", "1700000008.500000005", 1, false },
		{ "clock:3000", 1, "clock", "3000", "1700000007.000000006", 1, false },
		{ "clock:3000", 0, "clock", "3000", NULL, 1, false },
		{ "clock:3000", 1, "clock", "3000", MULTI_TIME_TEXT, 0, true },
		{ "clock", 0, "clock", "2000", NULL, 0, true },
		{ "none", 1500000000, NULL, NULL, "1600000001.500000007", 0, false },
		{ "none", 0, NULL, NULL, NULL, 0, false },
		{ NULL, 1, NULL, MULTI_PORT_TEXT, MULTI_TIME_TEXT, 0, true },
		{ NULL, 0, NULL, MULTI_PORT_TEXT, NULL, 0, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct multi m = timed(cases[i].server, cases[i].start_in_ns);

		m.line.dry_run = cases[i].dry;
		assert_int_equal(multi_time_begin(&m), XDD_OK);
		assert_text(m.time_host, cases[i].host);
		assert_text(m.time_port, cases[i].port);
		assert_text(m.start_time, cases[i].start);
		assert_int_equal(play.asked, cases[i].asked);
		assert_int_equal(play.ended, cases[i].asked);
		assert_null(m.server);
		multi_time_end(&m);
		arena_free(m.arena);
	}
}

/* A server of this process has the clock of this host. */
TEST(test_own_server)
{
	struct multi m = timed(NULL, 2 * NS_PER_SEC);

	assert_int_equal(multi_time_begin(&m), XDD_OK);
	assert_non_null(m.server);
	assert_null(m.time_host);
	assert_in_range(atoi(m.time_port), 1, UINT16_MAX);
	assert_string_equal(m.start_time, "1600000002.000000007");
	multi_time_end(&m);
	assert_null(m.server);
	arena_free(m.arena);
}

static char said[256];

static void keep_said(void *arg, const char *text, size_t size)
{
	snprintf(said, sizeof(said), "%.*s", (int)size, text);
}

TEST(test_no_server)
{
	struct multi m = timed("clock:3000", 1);

	play.server_err = -ETIMEDOUT;
	log_divert(keep_said, NULL);
	m.line.time_server = "clock:0";
	assert_int_equal(multi_time_begin(&m), XDD_BAD_ARGUMENT);
	assert_int_equal(play.asked, 0);
	m.line.time_server = "clock:3000";
	assert_int_equal(multi_time_begin(&m), XDD_INIT_FAILED);
	log_divert(NULL, NULL);
	assert_string_equal(said, "xdd: multi -timeserver clock:3000: no answer\n");
	assert_int_equal(play.ended, 0);
	assert_null(m.start_time);
	arena_free(m.arena);
}

/* The default grows with the ranks of a processor and with the load. */
TEST(test_default_start)
{
	static const struct {
		double load;
		bool none;
		long processors;
		uint64_t wanted_ms;
	} cases[] = {
		{ 0, false, 4, 6000 },	 { 4, false, 4, 12000 },    { 1, false, 4, 7500 },
		{ 27, false, 4, 46500 }, { 100, false, 4, 48000 },  { 100, true, 4, 6000 },
		{ 0, false, 1, 7500 },	 { 0.5, false, -1, 11250 }, { 0, false, 0, 7500 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct multi m = timed(NULL, UINT64_MAX);

		play.load = cases[i].load;
		play.no_load = cases[i].none;
		play.processors = cases[i].processors;
		assert_int_equal(start_in_ns(&m), cases[i].wanted_ms * NS_PER_MS);
		arena_free(m.arena);
	}
}

/* The signals that were sent: "-1 TERM, ". */
static char sent[256];

int kill(pid_t pid, int sig)
{
	const size_t n = strlen(sent);

	snprintf(sent + n, sizeof(sent) - n, "%d %s, ", (int)pid, sigabbrev_np(sig));
	return 0;
}

#define RANKS 6
#define GRACE_NS (3 * NS_PER_SEC)

static const struct multi_launcher ssh_like = { .name = "ssh" },
				   pdsh_like = { .name = "pdsh", .end_signal = SIGINT };
static struct multi_rank ranks[RANKS];
static struct multi several;

/* One rank of each state, and a second one that runs and has not answered. */
static void make_ranks(void)
{
	static const enum multi_state states[RANKS] = { MULTI_IDLE,  MULTI_RUNNING, MULTI_RUNNING,
							MULTI_ASKED, MULTI_KILLED,  MULTI_ENDED };

	memset(ranks, 0, sizeof(ranks));
	for (size_t i = 0; i < RANKS; i++) {
		ranks[i].label = "host";
		ranks[i].state = states[i];
		ranks[i].child = (struct child){ (pid_t)(100 + i), -1, -1, -1 };
		ranks[i].deadline_ns = UINT64_MAX;
		ranks[i].answered = i != 2;
	}
	ranks[RANKS - 1].reaped = true;
	several = (struct multi){ .launcher = &ssh_like,
				  .line = { .grace_ns = GRACE_NS, .quiet = true },
				  .ranks = ranks,
				  .n = RANKS };
	*sent = '\0';
}

static void assert_states(const char *wanted)
{
	char text[RANKS + 1] = "";

	for (size_t i = 0; i < RANKS; i++)
		text[i] = "IRAKE"[ranks[i].state];
	assert_string_equal(text, wanted);
}

TEST(test_interrupt)
{
	struct loop l = { .m = &several };

	make_ranks();
	log_hold();
	interrupt(&l, SIGINT);
	log_drop(0);
	log_release();
	assert_states("IAKAKE");
	assert_string_equal(sent, "-102 TERM, ");
	assert_string_equal(ranks[1].why, "");
	assert_string_equal(ranks[2].why, "had not answered when the run was ended");
	assert_int_equal(ranks[1].deadline_ns, several.interrupted_ns + GRACE_NS);
	assert_int_equal(ranks[2].deadline_ns, several.interrupted_ns + KILL_NS);
	assert_int_equal(ranks[3].deadline_ns, UINT64_MAX);
	assert_int_equal(several.interrupted, SIGINT);
	/* One signal that comes twice, then a second one. */
	several.interrupted_ns = clock_kernel_ns() + NS_PER_SEC;
	interrupt(&l, SIGTERM);
	assert_int_equal(several.interrupted, SIGINT);
	several.interrupted_ns = 0;
	interrupt(&l, SIGTERM);
	assert_states("IKKKKE");
	assert_string_equal(sent, "-102 TERM, -101 TERM, -102 KILL, -103 TERM, -104 KILL, ");
	assert_int_equal(several.interrupted, SIGTERM);
}

TEST(test_launcher_signal)
{
	make_ranks();
	several.launcher = &pdsh_like;
	end_launcher(&several, &ranks[1], 7);
	end_launcher(&several, &ranks[1], 7);
	assert_string_equal(sent, "-101 INT, -101 KILL, ");
	assert_int_equal(ranks[1].deadline_ns, 7 + KILL_NS);
}

TEST(test_silence)
{
	static const struct {
		uint64_t now_ns;
		const char *states, *first, *second;
	} cases[] = {
		{ 10 * NS_PER_SEC - 1, "IRRAKE", "", "" },
		{ 10 * NS_PER_SEC, "IAKAKE", "gave no sign of life for 2.5 s",
		  "did not answer within 2.5 s" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_ranks();
		several.line.timeout_ns = 2500 * NS_PER_MS;
		for (size_t k = 0; k < RANKS; k++) {
			ranks[k].sign_ns = 7500 * NS_PER_MS;
			check_silence(&several, &ranks[k], cases[i].now_ns);
		}
		assert_states(cases[i].states);
		assert_string_equal(ranks[1].why, cases[i].first);
		assert_string_equal(ranks[2].why, cases[i].second);
		assert_string_equal(ranks[3].why, "");
	}
	assert_int_equal(ranks[1].deadline_ns, 10 * NS_PER_SEC + GRACE_NS);
	make_ranks();
	check_silence(&several, &ranks[1], UINT64_MAX);
	assert_states("IRRAKE");
}

TEST(test_end)
{
	struct multi_rank *r = &ranks[3];

	make_ranks();
	r->deadline_ns = 1000;
	check_end(&several, r, 999);
	assert_int_equal(r->state, MULTI_ASKED);
	check_end(&several, r, 1000);
	assert_string_equal(r->why, "did not end when it was asked to");
	assert_string_equal(sent, "-103 TERM, ");
	assert_int_equal(r->deadline_ns, 1000 + KILL_NS);
	check_end(&several, r, 999 + KILL_NS);
	assert_string_equal(sent, "-103 TERM, ");
	check_end(&several, r, 1000 + KILL_NS);
	assert_string_equal(sent, "-103 TERM, -103 KILL, ");
	/* Its output may stay open for a while after its end. */
	for (int errors = 0; errors < 2; errors++) {
		int fd[2];

		make_ranks();
		assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
		*(errors ? &r->child.error_fd : &r->child.read_fd) = fd[0];
		r->reaped = true;
		check_end(&several, r, 1000);
		assert_int_equal(r->state, MULTI_ASKED);
		assert_int_equal(r->deadline_ns, 1000 + REST_NS);
		check_end(&several, r, 999 + REST_NS);
		assert_int_equal(r->state, MULTI_ASKED);
		check_end(&several, r, 1000 + REST_NS);
		assert_int_equal(r->state, MULTI_ENDED);
		assert_int_equal(r->child.read_fd, -1);
		assert_int_equal(r->child.error_fd, -1);
		close(fd[1]);
	}
	make_ranks();
	r->reaped = true;
	check_end(&several, r, 0);
	assert_states("IRREKE");
	assert_string_equal(sent, "");
}

/* When something is due next. */
TEST(test_times)
{
	struct loop l = { .m = &several };

	make_ranks();
	multi_look(&l, 1000);
	assert_int_equal(check_times(&l, 1000), 1000 + LOOK_NS);
	several.line.timeout_ns = 5000;
	ranks[1].sign_ns = 4000;
	ranks[2].sign_ns = 3000;
	assert_int_equal(check_times(&l, 1000), 8000);
	ranks[3].deadline_ns = 8500;
	ranks[4].deadline_ns = 7000;
	ranks[5].deadline_ns = 500;
	assert_int_equal(check_times(&l, 1000), 7000);
	assert_states("IRRAKE");
}

/* Time for which this process stood still counts for no rank. */
TEST(test_stood_still)
{
	const uint64_t begin_ns = 100 * NS_PER_SEC, slack_ns = NS_PER_SEC;
	struct loop l = { .m = &several };

	make_ranks();
	ranks[1].sign_ns = 90 * NS_PER_SEC;
	ranks[2].sign_ns = begin_ns;
	ranks[3].deadline_ns = 105 * NS_PER_SEC;
	multi_look(&l, begin_ns);
	skip_stop(&l, begin_ns + 2 * LOOK_NS - 1);
	assert_int_equal(ranks[1].sign_ns, 90 * NS_PER_SEC);
	multi_look(&l, begin_ns);
	skip_stop(&l, begin_ns + 20 * NS_PER_SEC);
	assert_in_range(ranks[1].sign_ns, 110 * NS_PER_SEC - slack_ns, 110 * NS_PER_SEC);
	assert_in_range(ranks[2].sign_ns, 120 * NS_PER_SEC - slack_ns, 120 * NS_PER_SEC);
	assert_in_range(ranks[3].deadline_ns, 125 * NS_PER_SEC - slack_ns, 125 * NS_PER_SEC);
	assert_int_equal(ranks[1].deadline_ns, UINT64_MAX);
}

TEST(test_wait_ms)
{
	assert_int_equal(wait_ms(5, 5), 0);
	assert_int_equal(wait_ms(6, 5), 0);
	assert_int_equal(wait_ms(5, 6), 1);
	assert_int_equal(wait_ms(5, 5 + NS_PER_MS), 2);
}

TEST(test_find_document)
{
	static const struct {
		const char *bytes;
		size_t n, at;
	} cases[] = {
		{ "", 0, 0 },
		{ "abc", 3, 3 },
		{ "{\"format\": 1", 12, 0 },
		{ "abc{ \t\r\n\"format\"", 17, 3 },
		{ "{x}{\"format\"", 12, 3 },
		{ "{{\"format\"", 10, 1 },
		/* The last bytes may be a part of it. */
		{ "a{", 2, 1 },
		{ "a{ ", 3, 1 },
		{ "a{ \"form", 8, 1 },
		{ "{\"forms", 7, 7 },
		{ "{\"format ", 9, 9 },
		{ "{\0\"format\"", 11, 11 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(find_document(cases[i].bytes, cases[i].n), cases[i].at);
}

/* Output before the document, up to a limit, and the document in parts. */
TEST(test_take_document)
{
	struct multi_rank *r = &ranks[1];
	static char noise[MULTI_MAX_NOISE];

	make_ranks();
	memset(noise, 'n', sizeof(noise));
	take_document(&several, r, noise, sizeof(noise));
	assert_int_equal(r->noise_bytes, MULTI_MAX_NOISE);
	assert_int_equal(r->sign_ns, 0);
	take_document(&several, r, "{\"for", 5);
	assert_int_not_equal(r->sign_ns, 0);
	take_document(&several, r, "mat\"", 4);
	assert_int_equal(r->document_bytes, 9);
	assert_memory_equal(r->document, "{\"format\"", 9);
	assert_states("IRRAKE");
	free(r->document);
	make_ranks();
	take_document(&several, r, noise, sizeof(noise));
	take_document(&several, r, "n", 1);
	assert_states("IKRAKE");
	assert_string_equal(r->why,
			    MULTI_NOISE_TEXT ", more than 64 KiB; login scripts must print less");
	free(r->document);
}

/* Lines end with a newline, with the room for them, and with the end of the output. */
TEST(test_messages)
{
	static const char text[] = "one\r\ntwo\0\n\n\r\nthree\nfour\nfive\nsix";
	static const char *const last[] = { "six", "two?", "three", "four", "five" };
	struct multi_rank *r = &ranks[1];
	static char line[MULTI_LINE_BYTES];
	char *log;
	size_t size;

	make_ranks();
	r->log = open_memstream(&log, &size);
	log_hold();
	multi_messages_take(&several, r, text, sizeof(text) - 1);
	assert_int_equal(r->n_lines, 5);
	multi_messages_take(&several, r, NULL, 0);
	multi_messages_take(&several, r, NULL, 0);
	assert_int_equal(r->n_lines, 6);
	for (size_t i = 0; i < MULTI_LAST_LINES; i++)
		assert_string_equal(r->last[i], last[i]);
	memset(line, 'x', sizeof(line));
	multi_messages_take(&several, r, line, sizeof(line));
	log_drop(0);
	log_release();
	assert_int_equal(r->n_lines, 7);
	assert_int_equal(strlen(r->last[1]), MULTI_LINE_BYTES - 1);
	assert_int_equal(r->line_bytes, 1);
	fclose(r->log);
	log[31] = '\0';
	assert_string_equal(log, "one\ntwo?\nthree\nfour\nfive\nsix\nxx");
	free(log);
	for (size_t i = 0; i < MULTI_LAST_LINES; i++)
		free(r->last[i]);
}

static void is_shown(const char *wanted)
{
	const struct summary s = multi_show_summarize(&several);
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	multi_show_put(f, &s);
	fclose(f);
	assert_string_equal(text, wanted);
	free(text);
}

TEST(test_display)
{
	const struct progress_line ready = { .state = PROGRESS_READY },
				   first = { .state = PROGRESS_RUNNING,
					     .pass = 2,
					     .passes = 3,
					     .done_ppm = 504999,
					     .bytes = 3000000,
					     .ops = 300,
					     .elapsed_ns = 3 * NS_PER_SEC,
					     .left_s = 7 },
				   second = { .state = PROGRESS_RUNNING,
					      .pass = 1,
					      .passes = 4,
					      .done_ppm = 700000,
					      .bytes = 1000000,
					      .ops = 100,
					      .elapsed_ns = NS_PER_SEC / 2,
					      .left_s = 5 };

	make_ranks();
	is_shown("5 starting, 1 done");
	ranks[0].has_progress = ranks[1].has_progress = true;
	ranks[0].progress = ranks[1].progress = ready;
	is_shown("3 starting, 2 ready, 1 done");
	ranks[1].progress = first;
	is_shown(
		"3 starting, 1 ready, 1 running, 1 done; pass 2 of 3, 50 %, 1.00 MB/s, 100 /s, 7 s left");
	ranks[0].progress = second;
	ranks[2].state = ranks[3].state = ranks[4].state = MULTI_ENDED;
	is_shown("2 running, 4 done; pass 1 of 4, 50 %, 3.00 MB/s, 300 /s, 7 s left");
	ranks[0].progress.done_ppm = -1;
	ranks[0].progress.elapsed_ns = 0;
	ranks[1].progress.left_s = 0;
	ranks[0].progress.left_s = -1;
	is_shown("2 running, 4 done; pass 1 of 4, 1.00 MB/s, 100 /s, 0 s left");
	ranks[1].progress.left_s = -1;
	is_shown("2 running, 4 done; pass 1 of 4, 1.00 MB/s, 100 /s");
	ranks[1].progress.done_ppm = 0;
	ranks[0].progress.done_ppm = 0;
	is_shown("2 running, 4 done; pass 1 of 4, 0 %, 1.00 MB/s, 100 /s");
}

/* Choose a launcher. Returns its command, joined; NULL: refused, with one line in the log. */
static const char *choose(struct multi *m)
{
	const char *text = "";
	enum xdd_status status;

	log_hold();
	status = multi_launcher_choose(m);
	log_drop(0);
	log_release();
	if (status) {
		assert_int_equal(status, XDD_BAD_ARGUMENT);
		return NULL;
	}
	for (const char *const *w = m->command; *w; w++)
		text = xarena_printf(m->arena, "%s%s%s", text, *text ? " " : "", *w);
	return text;
}

TEST(test_remote_xdd)
{
	static const char *const cases[][2] = {
		{ NULL, "xdd" },
		{ "/opt", "/opt/xdd" },
		{ "/opt/", "/opt/xdd" },
		{ "/opt/xdd", "/opt/xdd" },
		{ "xdd", "xdd" },
		{ "xdd.new", "xdd.new" },
		{ "bin/xddx", "bin/xddx/xdd" },
	};

	unsetenv("SLURM_JOB_NODELIST");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct multi m = { .arena = arena_new(),
				   .line = { .command = "/bin/sh", .remote_xdd = cases[i][0] } };

		assert_string_equal(choose(&m), "/bin/sh");
		assert_string_equal(m.remote_xdd, cases[i][1]);
		assert_string_equal(m.launcher->name, "ssh");
		arena_free(m.arena);
	}
}

/* Programs are found as execvp(3) finds them. */
TEST(test_program)
{
	static const struct {
		const char *path, *command;
		bool found;
	} cases[] = {
		{ "/nonexistent", "/bin/sh -x", true },
		{ "/bin", "/nonexistent/sh", false },
		{ "/nonexistent:/bin", "sh -x", true },
		{ "/bin:/nonexistent", "sh", true },
		{ "/nonexistent", "sh", false },
		{ "/bin", "/etc/passwd", false },
		/* An empty part is the current directory. */
		{ ":/nonexistent", "sh", true },
		{ "/nonexistent:", "sh", true },
	};
	char *before = strdup(getenv("PATH")), *home = getcwd(NULL, 0);

	assert_int_equal(chdir("/bin"), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct multi m = { .arena = arena_new(), .line = { .command = cases[i].command } };
		const char *command;

		setenv("PATH", cases[i].path, 1);
		command = choose(&m);
		assert_int_equal(command != NULL, cases[i].found);
		if (command)
			assert_string_equal(command, cases[i].command);
		arena_free(m.arena);
	}
	setenv("PATH", before, 1);
	assert_int_equal(chdir(home), 0);
	free(before);
	free(home);
}

/* The second of two hosts decides. */
TEST(test_hosts_of_launchers)
{
	static const struct {
		const char *launcher;
		struct multi_host host;
		bool taken;
	} cases[] = {
		{ "ssh", { "ann", "::1", 1 }, true },	{ "ssh", { NULL, "b", 1 }, true },
		{ "mpirun", { "ann", "b", 1 }, false }, { "mpirun", { NULL, "::1", 1 }, false },
		{ "mpirun", { NULL, "b", 1 }, true },	{ "srun", { "ann", "b", 1 }, false },
		{ "pdsh", { NULL, "::1", 1 }, false },	{ "rsh", { NULL, "b", 1 }, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct multi_host hosts[2] = { { NULL, "a", 1 }, cases[i].host };
		struct multi m = { .arena = arena_new(),
				   .line = { .command = "/bin/sh", .launcher = cases[i].launcher },
				   .hosts = { hosts, 2 } };

		assert_int_equal(choose(&m) != NULL, cases[i].taken);
		arena_free(m.arena);
	}
}

RUN_TESTS(NULL, NULL)
