/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The common part of both roles: src/copy/role*.c. A source and a destination speak over a pair of
 * sockets; neither has files.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit.h"

#include "copy/role.h"
#include "xdd/base/err.h"
#include "xdd/base/units.h"

#define TIMEOUT_NS (10 * NS_PER_SEC)

struct side {
	struct copy_settings settings;
	struct data_links data;
	struct stop stop;
	struct copy_job job;
	struct role *role;
	_Atomic unsigned received;
	unsigned slow_us; /* of each message */
	int refuse;
	bool offered, answered; /* role_all_offered(), and what its role says of RESULTs */
	bool ended_unstopped;
	/* the work of the side, between start and end */
	void (*act)(struct side *s);
	int status;
};

struct pair {
	struct side source, destination;
};

static int take(void *arg, const struct wire_header *h, const uint8_t *body, struct err *why)
{
	struct side *s = arg;

	(void)body;
	usleep(s->slow_us);
	s->received++;
	if (s->refuse == -EBADMSG)
		err_set(why, -EBADMSG, "%s is refused", wire_type_name(h->type));
	return s->refuse;
}

static void count(void *arg, struct copy_counts *c)
{
	struct side *s = arg;

	c->moved_bytes = s->settings.port;
}

static bool is_answered(void *arg)
{
	struct side *s = arg;

	return s->answered;
}

static const struct role_ops ops = {
	.receive = take,
	.counts = count,
	.all_answered = is_answered,
};

static void open_side(struct side *s, int fd, const char *peer)
{
	stop_init(&s->stop);
	s->job = (struct copy_job){
		.settings = &s->settings,
		.peer_host = peer,
		.channel = link_on_fds(fd, fd, TIMEOUT_NS),
		.data = &s->data,
		.stop = &s->stop,
	};
	assert_non_null(s->job.channel);
	assert_int_equal(copy_report_open(&s->job.report, NULL), 0);
}

static void close_side(struct side *s)
{
	link_close(s->job.channel);
	copy_report_close(s->job.report, 0);
	stop_destroy(&s->stop);
}

static void open_pair(struct pair *p)
{
	int fds[2];

	memset(p, 0, sizeof(*p));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	open_side(&p->source, fds[0], "b");
	open_side(&p->destination, fds[1], "a");
}

static void close_pair(struct pair *p)
{
	/* A destination that ended early must know that, as it keeps files for -R then. */
	assert_false(p->destination.ended_unstopped);
	close_side(&p->source);
	close_side(&p->destination);
}

static void start(struct side *s, enum copy_role is)
{
	assert_int_equal(role_open(&s->role, &s->job, is, &ops, s), 0);
	if (s->offered)
		role_all_offered(s->role);
	assert_int_equal(role_start(s->role), 0);
	if (s->act)
		s->act(s);
}

static void *source_main(void *arg)
{
	struct side *s = arg;

	start(s, COPY_SOURCE);
	s->status = role_finish(s->role);
	role_close(s->role);
	return NULL;
}

static void *destination_main(void *arg)
{
	struct side *s = arg;

	start(s, COPY_DESTINATION);
	if (!role_wait_finish(s->role) && !role_stopped(&s->job))
		s->ended_unstopped = true;
	s->status = role_finish(s->role);
	role_close(s->role);
	return NULL;
}

static void run_pair(struct pair *p)
{
	pthread_t threads[2];

	assert_int_equal(pthread_create(&threads[0], NULL, source_main, &p->source), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, destination_main, &p->destination), 0);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

static void wait_for_stop(struct side *s)
{
	stop_sleep_until(&s->stop, UINT64_MAX / 2);
}

/* The ends were exchanged, so neither side has a cause of its own. */
static void assert_good_order(const struct pair *p)
{
	assert_string_equal(p->source.job.why.text, "");
	assert_string_equal(p->destination.job.why.text, "");
}

/* ---- good ends ---- */

TEST(test_good_end)
{
	struct pair p;

	open_pair(&p);
	p.source.settings.port = 4711;
	run_pair(&p);
	assert_int_equal(p.source.status, XDD_OK);
	assert_int_equal(p.destination.status, XDD_OK);
	assert_good_order(&p);
	close_pair(&p);
}

static void fail_one(struct side *s)
{
	role_fail(s->role, 0, COPY_FAILED, "dir/file", "cannot open (%s)", "no reason");
	role_fail(s->role, 0, 0, "dir", "cannot set times");
	assert_int_equal(role_send(s->role, WIRE_COPY_WANT, "1234567890123456", 16), 0);
}

/* A failure of one side is the status of both; messages for the role reach it before the end. */
TEST(test_failure)
{
	struct pair p;

	open_pair(&p);
	p.destination.act = fail_one;
	run_pair(&p);
	assert_string_equal(p.source.job.why.text, "");
	assert_int_equal(p.source.status, COPY_FAILED);
	assert_int_equal(p.destination.status, COPY_FAILED);
	assert_int_equal(p.source.received, 1);
	assert_int_equal(copy_report_status(p.source.job.report), COPY_FAILED);
	assert_string_equal(p.source.job.why.text, "");
	close_pair(&p);
}

/* ---- a server that is the destination ends first ---- */

static void wait_for_finished(struct side *s)
{
	struct copy_counts c;

	for (unsigned i = 0; i < 10000 && !role_stopped(&s->job); i++) {
		if (role_peer_counts(s->role, &c))
			return;
		usleep(1000);
	}
}

/* FINISHED comes while the source works, and BYE then: neither stops it. */
static void see_finished(struct side *s)
{
	assert_int_equal(role_send(s->role, WIRE_COPY_OFFER, "", 1), 0);
	wait_for_finished(s);
	usleep(10000);
	assert_false(role_stopped(&s->job));
}

static void end_first(struct side *s)
{
	while (!s->received)
		usleep(1000);
	role_nothing_left(s->role);
}

TEST(test_end_of_server)
{
	struct pair p;

	open_pair(&p);
	p.source.offered = p.source.answered = p.source.job.peer_is_server = true;
	p.source.act = see_finished;
	p.destination.job.is_server = true;
	p.destination.act = end_first;
	run_pair(&p);
	assert_int_equal(p.source.status, XDD_OK);
	assert_int_equal(p.destination.status, XDD_OK);
	assert_good_order(&p);
	close_pair(&p);
}

static void end_at_once(struct side *s)
{
	role_nothing_left(s->role);
}

static void cancel_at_end(struct side *s)
{
	role_nothing_left(s->role);
	role_cancel(s->role, COPY_NOT_WRITABLE, "the file system is full");
}

/* One that the user has started waits for FINISH, as does one that ends early. */
TEST(test_wait_for_finish)
{
	struct pair p;

	for (unsigned i = 0; i < 2; i++) {
		open_pair(&p);
		p.destination.job.is_server = i;
		p.destination.act = i ? cancel_at_end : end_at_once;
		run_pair(&p);
		assert_int_equal(p.source.status, i ? COPY_NOT_WRITABLE : XDD_OK);
		assert_good_order(&p);
		close_pair(&p);
	}
}

/* The messages of a destination that says FINISHED by itself, and goes, without BYE perhaps. */
static void say_finished(struct pair *p, bool bye)
{
	struct copy_counts c = { .status = 0 };
	uint8_t body[WIRE_MAX_HELLO_BYTES];

	assert_int_equal(link_send_body(p->destination.job.channel, WIRE_COPY_FINISHED, body,
					copy_encode_counts(&c, body, sizeof(body))),
			 0);
	if (bye)
		assert_int_equal(link_send_body(p->destination.job.channel, WIRE_BYE, NULL, 0), 0);
	link_close(p->destination.job.channel);
	p->destination.job.channel = NULL;
}

static void send_failures(struct side *s)
{
	wait_for_finished(s);
	for (unsigned i = 0; i < 10; i++)
		role_fail(s->role, 0, 0, "dir", "cannot set times");
}

/* Only a server may do so, and only once it was offered all and has answered. */
TEST(test_early_finished)
{
	for (unsigned i = 0; i < 8; i++) {
		struct pair p;

		open_pair(&p);
		p.source.offered = i & 1;
		p.source.answered = i & 2;
		p.source.job.peer_is_server = i & 4;
		p.source.act = send_failures;
		say_finished(&p, true);
		source_main(&p.source);
		if (i == 7) {
			assert_string_equal(p.source.job.why.text, "");
			assert_int_equal(p.source.status, XDD_OK);
		} else {
			assert_non_null(
				strstr(p.source.job.why.text, "FINISHED at the wrong time"));
			assert_int_equal(p.source.status, COPY_FAILED);
		}
		close_pair(&p);
	}
}

/* The source reads on where it cannot write: FINISHED or a lost channel decides. */
TEST(test_gone)
{
	struct pair p;

	open_pair(&p);
	p.source.offered = p.source.answered = p.source.job.peer_is_server = true;
	p.source.act = send_failures;
	link_close(p.destination.job.channel);
	p.destination.job.channel = NULL;
	source_main(&p.source);
	assert_int_equal(p.source.status, COPY_SSH_ENDED);
	assert_non_null(strstr(p.source.job.why.text, "lost"));
	close_pair(&p);

	open_pair(&p);
	p.source.offered = p.source.answered = p.source.job.peer_is_server = true;
	p.source.act = send_failures;
	say_finished(&p, false);
	source_main(&p.source);
	assert_int_equal(p.source.status, XDD_OK);
	assert_string_equal(p.source.job.why.text, "");
	close_pair(&p);
}

/* A failed write does not hide the reason that is not read yet. */
TEST(test_last_words)
{
	const struct wire_error e = { .status = COPY_NOT_WRITABLE, .text = "no room" };
	uint8_t body[WIRE_MAX_ERROR_BYTES], want[16] = { 0 };
	struct link *peer;
	struct pair p;

	open_pair(&p);
	peer = p.destination.job.channel;
	assert_int_equal(link_send_body(peer, WIRE_COPY_WANT, want, sizeof(want)), 0);
	assert_int_equal(link_send_body(peer, WIRE_ERROR, body, wire_encode_error(&e, body)), 0);
	link_close(peer);
	p.destination.job.channel = NULL;
	/* Counts are sent meanwhile. */
	p.source.slow_us = 2 * COPY_COUNTS_NS / NS_PER_US;
	p.source.act = wait_for_stop;
	source_main(&p.source);
	assert_int_equal(p.source.status, COPY_NOT_WRITABLE);
	assert_string_equal(p.source.job.why.text, "no room");
	close_pair(&p);
}

/* ---- early ends ---- */

static void cancel_full(struct side *s)
{
	role_cancel(s->role, COPY_NOT_WRITABLE, "the file system is full");
	role_cancel(s->role, COPY_FAILED, "this one does not count");
}

TEST(test_cancel)
{
	struct pair p;

	open_pair(&p);
	p.destination.act = cancel_full;
	p.source.act = wait_for_stop;
	run_pair(&p);
	assert_int_equal(p.source.status, COPY_NOT_WRITABLE);
	assert_int_equal(p.destination.status, COPY_NOT_WRITABLE);
	assert_int_equal(copy_report_status(p.source.job.report), COPY_NOT_WRITABLE);
	assert_good_order(&p);
	close_pair(&p);
}

static void stop_by_signal(struct side *s)
{
	stop_request(&s->stop, STOP_SIGNAL, 2);
}

TEST(test_signal)
{
	struct pair p;

	for (unsigned i = 0; i < 2; i++) {
		open_pair(&p);
		p.source.act = i ? stop_by_signal : wait_for_stop;
		p.destination.act = i ? wait_for_stop : stop_by_signal;
		run_pair(&p);
		assert_int_equal(p.source.status, XDD_CANCELED);
		assert_int_equal(p.destination.status, XDD_CANCELED);
		assert_good_order(&p);
		close_pair(&p);
	}
}

static void end_fatally(struct side *s)
{
	role_fatal(s->role, COPY_NO_SOURCE, "x: no such file");
}

TEST(test_fatal)
{
	struct pair p;

	open_pair(&p);
	p.source.act = end_fatally;
	run_pair(&p);
	assert_int_equal(p.source.status, COPY_NO_SOURCE);
	assert_int_equal(p.destination.status, COPY_NO_SOURCE);
	assert_string_equal(p.source.job.why.text, "x: no such file");
	assert_string_equal(p.destination.job.why.text, "x: no such file");
	close_pair(&p);
}

TEST(test_refused_message)
{
	struct pair p;

	open_pair(&p);
	p.destination.act = fail_one;
	p.source.refuse = -EBADMSG;
	p.source.act = wait_for_stop;
	run_pair(&p);
	assert_int_equal(p.source.status, COPY_FAILED);
	assert_int_equal(p.destination.status, COPY_FAILED);
	assert_non_null(strstr(p.source.job.why.text, "COPY_WANT is refused"));
	assert_non_null(strstr(p.destination.job.why.text, "COPY_WANT is refused"));
	close_pair(&p);
}

/* ---- the channel ---- */

TEST(test_lost_channel)
{
	struct pair p;

	open_pair(&p);
	p.source.act = wait_for_stop;
	link_close(p.destination.job.channel);
	p.destination.job.channel = NULL;
	source_main(&p.source);
	assert_int_equal(p.source.status, COPY_SSH_ENDED);
	assert_non_null(strstr(p.source.job.why.text, "lost"));
	close_pair(&p);
}

/* A source that gets a message at the wrong time ends the session. */
static void ended_by(enum wire_type type, const char *text)
{
	struct copy_counts c = { .status = 0 };
	uint8_t body[WIRE_MAX_HELLO_BYTES];
	struct pair p;

	open_pair(&p);
	p.source.act = wait_for_stop;
	assert_int_equal(link_send_body(p.destination.job.channel, type, body,
					copy_encode_counts(&c, body, sizeof(body))),
			 0);
	assert_int_equal(link_send_body(p.destination.job.channel, WIRE_BYE, NULL, 0), 0);
	source_main(&p.source);
	assert_int_equal(p.source.status, COPY_FAILED);
	assert_non_null(strstr(p.source.job.why.text, text));
	close_pair(&p);
}

/* A server that all entries were offered to may have left in good order; no other peer may. */
TEST(test_may_have_left)
{
	for (int i = 0; i < 4; i++) {
		const bool offered = i & 1, server = i & 2;
		int sent = 0;
		struct pair p;

		open_pair(&p);
		p.source.job.peer_is_server = server;
		assert_int_equal(
			role_open(&p.source.role, &p.source.job, COPY_SOURCE, &ops, &p.source), 0);
		if (offered)
			role_all_offered(p.source.role);
		/* The cause is not awaited then. */
		stop_request(&p.source.stop, STOP_ERROR, 0);
		close_side(&p.destination);
		/* The first messages may fit into a buffer. */
		for (int k = 0; k < 100 && !sent; k++)
			sent = role_send(p.source.role, WIRE_ALIVE, NULL, 0);
		assert_int_equal(sent, offered && server ? 0 : -ECONNRESET);
		role_close(p.source.role);
		close_side(&p.source);
	}
}

TEST(test_wrong_end)
{
	/* It is the message of a source. */
	ended_by(WIRE_COPY_FINISH, "COPY_FINISH at the wrong time");
	/* The source has not said that it sent all. */
	ended_by(WIRE_COPY_FINISHED, "COPY_FINISHED at the wrong time");
}

static void cancel_later(struct side *s)
{
	usleep(100000);
	role_cancel(s->role, COPY_NOT_WRITABLE, "the file system is full");
}

static void lose_link(struct side *s)
{
	struct err e;

	role_link_failed(s->role, 3, err_set(&e, -ECONNRESET, "it is gone"), &e);
}

/* The channel tells why a data connection ended, if it does so soon. */
TEST(test_lost_link)
{
	struct pair p;

	/* The source waits a second for the cause; a machine may stand still for longer. */
	for (unsigned i = 0;; i++) {
		open_pair(&p);
		p.source.act = lose_link;
		p.destination.act = cancel_later;
		run_pair(&p);
		if (i == 4 || p.source.status != COPY_SSH_ENDED)
			break;
		close_pair(&p);
	}
	assert_int_equal(p.source.status, COPY_NOT_WRITABLE);
	assert_string_equal(p.source.job.why.text, "");
	close_pair(&p);

	open_pair(&p);
	p.source.act = lose_link;
	run_pair(&p);
	assert_int_equal(p.source.status, COPY_SSH_ENDED);
	assert_string_equal(p.source.job.why.text, "data connection 3 to b: it is gone");
	assert_string_equal(p.destination.job.why.text, p.source.job.why.text);
	close_pair(&p);
}

TEST(test_worse_status)
{
	assert_int_equal(copy_worse_status(0, COPY_FAILED), COPY_FAILED);
	assert_int_equal(copy_worse_status(COPY_FAILED, XDD_CANCELED), XDD_CANCELED);
	assert_int_equal(copy_worse_status(XDD_MISCOMPARE, 0), XDD_MISCOMPARE);
}

RUN_TESTS(ignore_sigpipe, NULL)
