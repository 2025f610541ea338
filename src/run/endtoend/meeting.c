/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The beginning of a session: both sides meet, compare their plans, and open their files. Called
 * by the target thread.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/endtoend/endtoend.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/err.h"
#include "xdd/base/file.h"
#include "xdd/base/units.h"
#include "xdd/io/target_file.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

/*
 * The files of both sides: refused where they are one, and examined again after a pass, because
 * other programs may use them meanwhile. Called when the sides meet, and by the last QThread to
 * leave a pass.
 */

/* The length of the host in "10.0.0.1:40010". */
static size_t host_length(const char *address)
{
	const char *colon = strrchr(address, ':');

	return colon ? (size_t)(colon - address) : 0;
}

/* True if both ends of the control connection have one address: nearly always one host. */
static bool within_host(struct session *s)
{
	struct connection_info info;
	size_t length;

	if (!session_info(s, WIRE_NO_CONNECTION, &info))
		return false;
	length = host_length(info.peer);
	return length && length == host_length(info.local) &&
	       memcmp(info.peer, info.local, length) == 0;
}

/*
 * True: the target of `e`, a destination, is the file or the device that the source reads, on this
 * host. Target thread, while the sides compare their plans. (meeting.c)
 */
static bool endtoend_same_file(struct endtoend *e, const struct wire_plan *own,
			       const struct wire_plan *peer)
{
	struct stat st;

	if (!peer->inode || strcmp(own->host, peer->host) != 0 || !within_host(e->session) ||
	    stat(e->target->plan->path, &st))
		return false;
	if (S_ISBLK(st.st_mode))
		return st.st_rdev == peer->device && !peer->mtime_ns;
	return st.st_dev == peer->device && st.st_ino == peer->inode;
}

/*
 * True if the file of a source is another than at the beginning. The time of its last change of any
 * kind counts as well: a program can restore the other one.
 */
static bool source_changed(const struct endtoend *e, const struct stat *st)
{
	return e->unsettled || (uint64_t)st->st_size != e->own.size_bytes ||
	       timespec_ns(&st->st_mtim) != e->own.mtime_ns ||
	       timespec_ns(&st->st_ctim) != e->own.ctime_ns;
}

int endtoend_look_at_file(struct target *t, const struct wire_pass *own, struct err *why)
{
	struct endtoend *e = t->endtoend;
	const bool complete = !own->failed && own->ops == e->ops;
	struct stat st;

	if (t->file.fd < 0 || fstat(t->file.fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	if (e->sends && source_changed(e, &st))
		return err_set(
			why, -ESTALE,
			"the file of the source changed while it was copied: the copy may have "
			"parts from before and after");
	if (e->sends)
		return 0;
	if (!st.st_nlink)
		return err_set(why, -ENOENT,
			       "the file of the destination was removed while it was written");
	if (complete && e->peer.final_bytes != WIRE_NO_SIZE &&
	    (uint64_t)st.st_size < e->own.start_bytes + e->peer.final_bytes)
		return err_set(why, -EIO,
			       "the file of the destination was truncated while it was written: "
			       "it has %" PRIu64 " bytes",
			       (uint64_t)st.st_size);
	return 0;
}

#define ADDRESSES_SIZE 512
#define MEETING_POLL_NS (2 * NS_PER_MS)
#define SETTLE_NS (5 * NS_PER_SEC) /* a file that is changed is waited for */

/* ---- the plan of this side ---- */

static uint64_t amount(uint64_t n)
{
	return n == PLAN_UNLIMITED ? WIRE_NO_SIZE : n;
}

/*
 * The size that the copy of a whole file is to have: known where the source is a file that is
 * copied from the start of the extent to its end, each byte once.
 */
static uint64_t final_bytes(const struct target *t, uint64_t size)
{
	const struct target_plan *p = t->plan;

	if (p->kind != TARGET_FILE || p->seek.pattern != SEEK_SEQUENTIAL ||
	    p->pass_bytes == PLAN_UNLIMITED || (p->range_bytes && p->range_bytes < p->pass_bytes) ||
	    (p->pass_offset_bytes && t->run->plan->passes > 1) ||
	    p->start_bytes + p->pass_bytes != size)
		return WIRE_NO_SIZE;
	return p->pass_bytes;
}

/* The identity of the source's file, by which a later run recognizes it. */
static void describe_source(const struct target *t, struct wire_plan *own)
{
	struct stat st;

	own->size_bytes = t->plan->size_bytes;
	if (t->file.fd < 0 || fstat(t->file.fd, &st))
		return;
	own->inode = st.st_ino;
	own->device = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
	if (!S_ISREG(st.st_mode))
		return;
	own->size_bytes = (uint64_t)st.st_size;
	own->mtime_ns = timespec_ns(&st.st_mtim);
	own->ctime_ns = timespec_ns(&st.st_ctim);
	own->final_bytes = final_bytes(t, own->size_bytes);
}

/*
 * Wait until each later change of a source's file shows in its ctime: file.h. The plan has the
 * ctime that it has then. A file that never rests changes in the copy too.
 */
static void await_settled(struct target *t, struct wire_plan *own)
{
	const uint64_t end_ns = clock_now_ns() + SETTLE_NS;
	struct endtoend *e = t->endtoend;
	int64_t ns;

	while (own->ctime_ns && (ns = fileage_wait_ns(t->file.fd, own->ctime_ns)) > 0) {
		uint64_t now_ns = clock_now_ns();

		e->unsettled = now_ns >= end_ns;
		if (e->unsettled ||
		    stop_sleep_until(&t->run->stop,
				     now_ns + ns_earlier((uint64_t)ns, FILEAGE_SLICE_NS)))
			return;
		describe_source(t, own);
	}
}

static void meeting_describe(struct target *t, struct wire_plan *own)
{
	const struct target_plan *p = t->plan;

	*own = (struct wire_plan){
		.req_bytes = p->req_bytes,
		.bytes = amount(p->pass_bytes),
		.ops = amount(p->pass_ops),
		.passes = t->run->plan->passes,
		.connections = p->qthreads,
		.flags = p->ordering == ORDERING_SERIAL ? WIRE_SERIAL : 0,
		.final_bytes = WIRE_NO_SIZE,
		.start_bytes = p->start_bytes,
		.skipped_bytes = p->restart.offset_bytes,
	};
	memcpy(own->run, t->run->endtoend.id, sizeof(own->run));
	if (gethostname(own->host, sizeof(own->host) - 1))
		own->host[0] = '\0';
	snprintf(own->name, sizeof(own->name), "%s", p->path);
	if (!t->endtoend->sends)
		return;
	own->pattern = restart_pattern(p);
	describe_source(t, own);
	await_settled(t, own);
}

/* ---- what both agree on ---- */

/*
 * A destination whose amount the source decides: complete its plan with the plan of the source,
 * which the session has compared with its own.
 */
static void adopt_amount(struct endtoend *e)
{
	struct target_plan *p = &e->plan;
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t unit = p->io_align_bytes > page ? p->io_align_bytes : page;
	uint64_t rest;

	if (p->pass_ops != PLAN_UNLIMITED || e->peer.ops == WIRE_NO_SIZE)
		return;
	rest = e->peer.bytes % p->req_bytes;
	p->pass_ops = e->peer.ops;
	p->pass_bytes = e->peer.bytes;
	p->last_op_bytes = rest ? rest : p->req_bytes;
	if (p->direct_io && p->kind != TARGET_NULL && p->last_op_bytes % p->io_align_bytes)
		p->tail_bytes = p->last_op_bytes % unit;
}

/* Index the ranges of operations that are missing. Returns 0 or -ENOMEM. */
static int index_ranges(struct endtoend *e)
{
	uint64_t sum = 0;

	if (!e->resumes) {
		free(e->ranges);
		e->ranges = NULL;
		return 0;
	}
	e->before = calloc(e->n_ranges + 1, sizeof(*e->before));
	if (!e->before)
		return -ENOMEM;
	for (size_t i = 0; i < e->n_ranges; i++) {
		e->before[i] = sum;
		sum += e->ranges[i].count;
	}
	e->ops = sum;
	/* The offsets of a source are computed from all operations; a destination has none. */
	e->plan.pass_ops = sum;
	return 0;
}

uint64_t endtoend_real_op(const struct endtoend *e, uint64_t n)
{
	size_t low = 0, high = e->n_ranges;

	if (!e->resumes || n >= e->ops)
		return n;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (e->before[middle] <= n)
			low = middle;
		else
			high = middle;
	}
	return e->ranges[low].first + (n - e->before[low]);
}

/* The destination's answer to the plan of the source: session_accept. */
static int accept_plan(void *arg, const struct wire_plan *own, const struct wire_plan *peer,
		       struct wire_range *ranges, size_t *n, struct err *why)
{
	struct endtoend *e = arg;
	int answer;

	if (endtoend_same_file(e, own, peer))
		return err_set(
			why, -EINVAL,
			"the source and the destination are one: %s cannot be copied to itself",
			own->name);
	answer = restart_accept(e->restart, own, peer, ranges, n, why);
	if (answer == 1)
		answer = proof_accept(e, peer, ranges, n, why);
	e->resumes = answer == 1;
	return answer;
}

/* "10.0.0.1:40010", and how many more there are, into `buf`. */
static const char *addresses_text(const struct endtoend_options *o, char *buf, size_t size)
{
	uint64_t ports = 0;
	const char *host = o->addresses[0].host;
	const bool v6 = strchr(host, ':') != NULL;

	for (size_t i = 0; i < o->n_addresses; i++)
		ports += o->addresses[i].ports;
	snprintf(buf, size, "%s%s%s:%u", v6 ? "[" : "", host, v6 ? "]" : "", o->addresses[0].port);
	if (ports > 1)
		snprintf(buf + strlen(buf), size - strlen(buf), " and %" PRIu64 " more", ports - 1);
	return buf;
}

/* A side cannot start. Returns `err`. */
static int meeting_failed(struct target *t, int err, const struct err *why)
{
	return run_fail(t, STOP_START, err, "%s", err_text(why, err));
}

/* The steps before a side meets the other. Returns 0 or -errno, reported. */
static int meeting_prepare(struct target *t)
{
	struct endtoend *e = t->endtoend;
	char text[ADDRESSES_SIZE];
	struct err why = { 0 };
	int err = 0;

	meeting_describe(t, &e->own);
	e->ranges = calloc(WIRE_MAX_RANGES, sizeof(*e->ranges));
	if (!e->ranges)
		err = -ENOMEM;
	if (!err && !e->sends)
		err = restart_open(&e->restart, t->plan, &why);
	if (err)
		return meeting_failed(t, err, &why);
	if (!e->sends)
		target_notice(t->plan, "waits for its source at %s",
			      addresses_text(&t->plan->endtoend, text, sizeof(text)));
	return 0;
}

/*
 * Sources meet their destinations one after the other. One that is refused, because the other side
 * has fewer targets, then ends sessions of which that side knows.
 */
static int await_earlier(struct target *t)
{
	struct run *run = t->run;

	for (struct target *other = run->targets; other < t; other++) {
		while (other->endtoend && !atomic_load(&other->endtoend->met)) {
			if (stop_sleep_until(&run->stop, clock_now_ns() + MEETING_POLL_NS))
				return -ECANCELED;
		}
	}
	return 0;
}

int endtoend_meet(struct target *t)
{
	struct endtoend *e = t->endtoend;
	int err = e ? meeting_prepare(t) : 0;

	if (err || !e)
		return err;
	if (e->sends && await_earlier(t))
		return -ECANCELED;
	err = session_meet(e->session, &e->own, &e->peer, e->ranges, &e->n_ranges,
			   e->sends ? NULL : accept_plan, e);
	proof_end(e);
	if (err) {
		endtoend_broke(e);
		return err;
	}
	atomic_store(&e->met, true);
	if (e->sends)
		e->resumes = e->peer.flags & WIRE_RESUMES;
	else
		adopt_amount(e);
	e->ops = t->plan->pass_ops;
	return index_ranges(e);
}

int endtoend_record(struct target *t)
{
	struct err why = { 0 };
	int err = t->endtoend ? restart_begin(t->endtoend->restart, t->file.fd, &why) : 0;

	return err ? meeting_failed(t, err, &why) : 0;
}

int endtoend_ready(struct target *t)
{
	int err = t->endtoend ? session_ready(t->endtoend->session) : 0;

	if (err)
		endtoend_broke(t->endtoend);
	return err;
}
