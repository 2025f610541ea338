/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sessions of a run: set-up and end, and their passes. Called by run.c, by all threads of a
 * session that fails, by the results manager, and by the last QThread to leave a pass.
 */
#include "run/endtoend/endtoend.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/coord/gate.h"
#include "run/meter/meter.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "run/target/data.h"
#include "run/target/target_file_ops.h"
#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/base/text.h"
#include "xdd/io/target_file.h"
#include "xdd/report/endtoend.h"
#include "xdd/stat/counters.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"
#include "xdd/sys/machine.h"

static bool is_endtoend(const struct target_plan *t)
{
	return t->endtoend.role != E2E_NONE;
}

/* All end-to-end targets of a run have the same key: the plan has compared them. */
static const struct endtoend_options *first_options(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_targets; i++)
		if (is_endtoend(&plan->targets[i]))
			return &plan->targets[i].endtoend;
	return NULL;
}

static enum xdd_status load_key(const struct plan *plan, struct net_key *key)
{
	const struct endtoend_options *options = first_options(plan);
	const bool cookie = options->cookie && !options->key_file;
	struct err why = { 0 };
	int err = cookie ? net_key_from_cookie(options->cookie, key, &why) :
			   net_key_load(options->key_file, key, &why);

	return err ? log_refuse("%s: %s", cookie ? "-cookie" : "-e2e key", err_text(&why, err)) :
		     XDD_OK;
}

enum xdd_status endtoend_check(const struct plan *plan)
{
	struct net_key key = { 0 };
	enum xdd_status status;
	const char *why;

	if (!first_options(plan))
		return XDD_OK;
	if (!digest_available(&why))
		return log_refuse("-e2e: %s", why);
	status = load_key(plan, &key);
	net_key_forget(&key);
	return status;
}

uint64_t endtoend_threads(const struct plan *plan)
{
	uint64_t sessions = 0, monitors = 0, listener = 0;

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (!is_endtoend(t))
			continue;
		sessions++;
		if (t->endtoend.role == E2E_DESTINATION) {
			listener = 1;
			monitors += t->restart.enabled;
		}
	}
	return sessions + monitors + listener;
}

/* ---- failures ---- */

void endtoend_broke(struct endtoend *e)
{
	struct target *t = e->target;
	const bool begun = atomic_load(&e->begun);
	const char *why = session_why(e->session);

	if (stop_requested(&t->run->stop))
		return;
	if (begun)
		atomic_fetch_add(&t->run->failures.errors, 1);
	run_fail(t, begun ? STOP_ERROR : STOP_START, -ECONNABORTED, "%s",
		 *why ? why : "the session with the other side has failed");
}

static void session_failed(void *arg)
{
	endtoend_broke(arg);
}

/* The destination ends a pass of the source early. */
static void stop_pass(void *arg, uint32_t pass)
{
	struct endtoend *e = arg;
	struct target *t = e->target;

	if (atomic_load(&t->pass) != pass)
		return;
	atomic_store(&t->state.over, true);
	gate_wake(t);
}

/* ---- set-up ---- */

static int open_table(struct session_table *table, size_t n)
{
	table->sessions = calloc(n + 1, sizeof(struct session *));
	return table->sessions ? 0 : -ENOMEM;
}

/* Targets that copy to each other have the same rank among the targets of their role. */
static int open_target(struct target *t)
{
	struct endtoend_run *shared = &t->run->endtoend;
	const bool sends = t->plan->endtoend.role == E2E_SOURCE;
	struct session_table *table = sends ? &shared->sources : &shared->destinations;
	struct endtoend *e = calloc(1, sizeof(*e));
	const struct session_params params = {
		.target = (uint32_t)table->n,
		.options = &t->plan->endtoend,
		.key = &shared->key,
		.stop = &t->run->stop,
		.listener = sends ? NULL : shared->listener,
		.failed = session_failed,
		.stop_pass = stop_pass,
		.prove = proof_answer,
		.arg = e,
	};

	if (!e)
		return -ENOMEM;
	t->endtoend = e;
	e->target = t;
	e->sends = sends;
	e->plan = *t->plan;
	pthread_mutex_init(&e->lock, NULL);
	e->awaited = calloc(t->plan->qthreads, sizeof(*e->awaited));
	e->session = e->awaited ? session_new(&params) : NULL;
	if (!e->session)
		return -ENOMEM;
	table->sessions[table->n++] = e->session;
	if (!sends)
		t->plan = &e->plan;
	return 0;
}

/* Listen on the addresses of one destination. */
static enum xdd_status listen_for(struct run *run, const struct target_plan *t)
{
	const struct endtoend_options *o = &t->endtoend;
	struct err why;

	for (size_t i = 0; i < o->n_addresses; i++) {
		const struct endtoend_address *a = &o->addresses[i];

		for (uint32_t k = 0; k < a->ports; k++) {
			int err = listener_add(run->endtoend.listener, a->host,
					       (uint16_t)(a->port + k), &why);

			if (err)
				return target_fail(XDD_TARGET_FAILED, t, "-e2e destination: %s",
						   why.text);
		}
	}
	return XDD_OK;
}

/* The sockets have the options of the first destination. */
static struct listener *new_listener(struct endtoend_run *shared, const struct endtoend_options *o)
{
	shared->options = session_sockets(o);
	return listener_new(&shared->options, shared->key.present ? &shared->key : NULL);
}

static enum xdd_status open_listener(struct run *run)
{
	const struct plan *plan = run->plan;
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < plan->n_targets && !status; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (t->endtoend.role != E2E_DESTINATION)
			continue;
		if (!run->endtoend.listener)
			run->endtoend.listener = new_listener(&run->endtoend, &t->endtoend);
		if (!run->endtoend.listener)
			return run_not_set_up(-ENOMEM);
		status = listen_for(run, t);
	}
	return status;
}

static int open_sessions(struct run *run)
{
	struct endtoend_run *shared = &run->endtoend;
	int err = open_table(&shared->sources, run->plan->n_targets);

	if (!err)
		err = open_table(&shared->destinations, run->plan->n_targets);
	for (size_t i = 0; i < run->plan->n_targets && !err; i++)
		if (is_endtoend(&run->plan->targets[i]))
			err = open_target(&run->targets[i]);
	if (!err && shared->listener)
		err = listener_start(shared->listener, session_offer, &shared->destinations);
	return err;
}

enum xdd_status endtoend_open(struct run *run)
{
	struct endtoend_run *shared = &run->endtoend;
	enum xdd_status status;
	int err;

	if (!first_options(run->plan))
		return XDD_OK;
	if (getrandom(shared->id, sizeof(shared->id), 0) < 0)
		return run_not_set_up(-errno);
	status = load_key(run->plan, &shared->key);
	if (!status)
		status = open_listener(run);
	if (status)
		return status;
	err = open_sessions(run);
	if (err)
		return run_not_set_up(err);
	if (shared->listener && !shared->key.present)
		log_warning("-e2e without a key: everyone who can reach the ports of the "
			    "destination can write to its targets; -e2e key <file> on both sides "
			    "prevents that");
	return XDD_OK;
}

bool endtoend_any(const struct run *run)
{
	return run->endtoend.sources.n || run->endtoend.destinations.n;
}

/* ---- the end ---- */

void endtoend_conclude(struct run *run)
{
	for (size_t i = 0; i < run->plan->n_targets; i++) {
		struct target *t = &run->targets[i];

		if (t->endtoend && !stop_requested(&run->stop) &&
		    session_close(t->endtoend->session))
			endtoend_broke(t->endtoend);
	}
}

static void close_target(struct target *t)
{
	struct endtoend *e = t->endtoend;

	if (!e)
		return;
	/* First: its thread may report a failure of the target. */
	session_free(e->session);
	t->endtoend = NULL;
	t->plan = &t->run->plan->targets[t->plan->number];
	restart_free(e->restart);
	extents_clear(&e->received);
	pthread_mutex_destroy(&e->lock);
	free(e->awaited);
	free(e->ranges);
	free(e->before);
	free(e->result);
	free(e);
}

/* Strangers at the ports of the destination are worth a look, though they did no harm. */
static void warn_refused(const struct listener *l)
{
	const uint64_t n = l ? listener_refused(l) : 0;

	if (n)
		log_warning("-e2e: connections were refused: %" PRIu64
			    " of others, at the ports of the destination",
			    n);
}

void endtoend_close(struct run *run)
{
	struct endtoend_run *shared = &run->endtoend;

	warn_refused(shared->listener);
	/* First: its thread offers connections to the sessions. */
	listener_free(shared->listener);
	for (size_t i = 0; run->targets && i < run->plan->n_targets; i++)
		close_target(&run->targets[i]);
	free(shared->sources.sessions);
	free(shared->destinations.sessions);
	net_key_forget(&shared->key);
}

/*
 * Passes of end-to-end targets: their announcement, and the exchange of results.
 */

/* The growth of a counter, which may be gone with what it was of. */
static uint64_t passes_since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* Figures of connections, which the kernel counts from their beginning on. */
struct lifetime {
	uint64_t retransmits, transit_ns;
};

static struct lifetime lifetime_of(const struct target *t)
{
	struct lifetime sum = { 0 };

	for (uint32_t i = 0; i < t->plan->qthreads; i++) {
		struct connection_info info;

		if (!session_info(t->endtoend->session, i, &info))
			continue;
		sum.retransmits += info.retransmits;
		sum.transit_ns += info.transit_ns;
	}
	return sum;
}

/* ---- the announcement ---- */

/* Nothing has been received, and no QThread waits for a turn. */
static void reset_received(struct endtoend *e)
{
	pthread_mutex_lock(&e->lock);
	extents_clear(&e->received);
	memset(e->awaited, 0, e->target->plan->qthreads * sizeof(*e->awaited));
	pthread_mutex_unlock(&e->lock);
}

bool endtoend_begin_target(struct target *t, uint64_t pass)
{
	struct endtoend *e = t->endtoend;
	int more;

	if (!e)
		return true;
	reset_received(e);
	more = session_begin(e->session, (uint32_t)pass);
	if (more < 0)
		endtoend_broke(e);
	e->throttled_ns = cgroup_throttled_ns();
	e->transit_ns = e->sends ? lifetime_of(t).transit_ns : 0;
	atomic_store(&e->begun, true);
	return more > 0;
}

bool endtoend_begin(struct run *run, uint64_t pass)
{
	bool more = true;

	/* A destination may wait for a source that waits for the announcement of this run. */
	for (size_t i = 0; i < run->plan->n_targets && more; i++)
		if (run->targets[i].endtoend && run->targets[i].endtoend->sends)
			more = endtoend_begin_target(&run->targets[i], pass);
	for (size_t i = 0; i < run->plan->n_targets && more; i++)
		if (run->targets[i].endtoend && !run->targets[i].endtoend->sends)
			more = endtoend_begin_target(&run->targets[i], pass);
	return more;
}

/* ---- the result of this side ---- */

static void add_qthread(struct wire_pass *own, const struct qthread *q, struct tally *all)
{
	const struct transfer *x = q->transfer;
	struct tally tally;

	tally_clear(&tally);
	tally_add_counters(&tally, &q->counters);
	tally_add(all, &tally);
	own->ops += x->ops;
	own->bytes += x->bytes;
	own->failed += x->failed;
	digest_join(&own->digest, x->digest);
	/* An engine that queues has several operations in flight at a time. */
	own->storage_ns += plan_queues(q->target->plan) ? x->storage_ns : tally_busy_ns(&tally);
	own->network_ns += tally.net_ns;
	if (plan_is_paced(q->target->run->plan, q->target->plan))
		own->pace_ns += x->held_ns;
	own->waiting_ns += tally.net_wait_ns;
	own->checking_ns += tally.check_ns;
	if (x->first_read_ns && (!own->first_read_ns || x->first_read_ns < own->first_read_ns))
		own->first_read_ns = x->first_read_ns;
}

/* The processor time of all QThreads between the first operation and the last. */
static void add_processor(struct wire_pass *own, const struct target *t, const struct tally *all)
{
	const uint64_t throttled_ns =
		passes_since(cgroup_throttled_ns(), t->endtoend->throttled_ns);
	const uint32_t n = t->plan->qthreads;

	for (uint32_t i = 0; i < n; i++) {
		const struct qthread *q = &t->qthreads[i];
		struct cpu_time cpu =
			cputime_within(&q->cpu, all->first_issue_ns, all->last_done_ns);

		own->cpu_ns += cpu.user_ns + cpu.sys_ns;
		own->cpu_wait_ns += cputime_waited(q, all->first_issue_ns, all->last_done_ns, cpu);
	}
	own->quota_ns =
		(uint64_t)(cgroup_throttled_share(throttled_ns, (double)own->elapsed_ns, n) *
			   (double)own->elapsed_ns * n);
}

static void passes_summarize(const struct target *t, struct wire_pass *own)
{
	const uint64_t lanes = t->endtoend->own.flags & WIRE_SERIAL ? 1 : t->plan->qthreads;
	const uint64_t sync_ns = atomic_load(&t->state.sync_ns);
	struct lifetime connections;
	struct tally all;

	*own = (struct wire_pass){ 0 };
	tally_clear(&all);
	for (uint32_t i = 0; i < t->plan->qthreads; i++)
		add_qthread(own, &t->qthreads[i], &all);
	own->elapsed_ns = tally_elapsed_ns(&all);
	if (own->elapsed_ns)
		own->elapsed_ns += sync_ns;
	/* All of them wait for the flush. */
	own->storage_ns += sync_ns * lanes;
	own->waiting_ns -= own->pace_ns;
	add_processor(own, t, &all);
	/* From the start of the pass. */
	if (own->first_read_ns)
		own->first_read_ns -= all.first_issue_ns;
	if (!t->endtoend->sends && all.last_done_ns)
		own->last_write_ns = all.last_done_ns - all.first_issue_ns;
	connections = lifetime_of(t);
	own->retransmits = connections.retransmits;
	if (t->endtoend->sends)
		own->transit_ns = passes_since(connections.transit_ns, t->endtoend->transit_ns);
}

static void fill_side(struct endtoend_side *side, const struct wire_plan *plan,
		      const struct wire_pass *p)
{
	*side = (struct endtoend_side){
		.known = true,
		.lanes = plan->flags & WIRE_SERIAL ? 1 : 0,
		.ops = p->ops,
		.bytes = p->bytes,
		.failed = p->failed,
		.elapsed_ns = p->elapsed_ns,
		.storage_ns = p->storage_ns,
		.network_ns = p->network_ns,
		.waiting_ns = p->waiting_ns,
		.checking_ns = p->checking_ns,
		.pace_ns = p->pace_ns,
		.cpu_ns = p->cpu_ns,
		.cpu_wait_ns = p->cpu_wait_ns,
		.quota_ns = p->quota_ns,
		.transit_ns = p->transit_ns,
		.retransmits = p->retransmits,
	};
	digest_text(p->digest, side->digest);
}

/* Bytes that the destination had before: the last operation of the copy may be shorter. */
static uint64_t resumed_bytes(const struct endtoend *e)
{
	const struct wire_plan *p = e->sends ? &e->own : &e->peer;
	const struct wire_range *last = e->n_ranges ? &e->ranges[e->n_ranges - 1] : NULL;
	uint64_t bytes;

	if (!e->resumes || p->ops <= e->ops)
		return 0;
	bytes = (p->ops - e->ops) * p->req_bytes;
	if (!last || last->first + last->count < p->ops)
		bytes -= p->ops * p->req_bytes - p->bytes;
	return bytes;
}

static void keep_result(struct target *t, const struct wire_pass *own, const struct wire_pass *peer)
{
	struct endtoend *e = t->endtoend;
	struct endtoend_result *r = endtoend_result_new(t->plan->qthreads);

	if (!r)
		return;
	r->target = t->plan->number;
	r->pass = t->pass;
	r->role = t->plan->endtoend.role;
	r->peer_host = e->peer.host;
	r->peer_name = e->peer.name;
	r->n_qthreads = t->plan->qthreads;
	r->resumed_bytes = resumed_bytes(e);
	r->compared_bytes = e->compared_bytes;
	text_hex(e->sends ? e->own.run : e->peer.run, WIRE_SESSION_BYTES, r->session);
	fill_side(e->sends ? &r->source : &r->destination, &e->own, own);
	if (peer) {
		fill_side(e->sends ? &r->destination : &r->source, &e->peer, peer);
		r->complete = !own->failed && !peer->failed;
	}
	r->n_info = 0;
	for (uint32_t i = 0; i < t->plan->qthreads; i++)
		if (session_info(e->session, i, &r->info[r->n_info]))
			r->n_info++;
	free(e->result);
	e->result = r;
	e->first_read_ns = e->sends ? own->first_read_ns : peer ? peer->first_read_ns : 0;
	e->last_write_ns = !e->sends ? own->last_write_ns : peer ? peer->last_write_ns : 0;
}

/* ---- the end of a pass ---- */

/* The other side could not read or write some operations: the copy is incomplete. */
static void report_peer(struct target *t, const struct wire_pass *peer)
{
	if (!peer->failed)
		return;
	atomic_fetch_add(&t->run->failures.errors, 1);
	target_error(t->plan,
		     "pass %" PRIu64 ": the copy is incomplete: %" PRIu64 " operations failed on "
		     "the %s%s%s",
		     t->pass, peer->failed, t->endtoend->sends ? "destination" : "source",
		     *peer->error ? ", the first: " : "", peer->error);
}

/* Give the file of a destination the size of the source's. */
static void set_final_size(struct target *t)
{
	const struct endtoend *e = t->endtoend;
	const uint64_t size = e->plan.start_bytes + e->peer.final_bytes;
	struct stat st;

	if (e->peer.final_bytes == WIRE_NO_SIZE || t->file.fd < 0 || fstat(t->file.fd, &st) ||
	    !S_ISREG(st.st_mode) || (uint64_t)st.st_size <= size)
		return;
	if (ftruncate(t->file.fd, (off_t)size)) {
		atomic_fetch_add(&t->run->failures.errors, 1);
		target_error(t->plan,
			     "cannot be truncated to the %" PRIu64 " bytes of the source: %s", size,
			     strerror(errno));
	} else if (t->plan->sync_write) {
		target_flush_pass(t);
	}
}

/* A target with -restart has one pass. */
static void end_restart(struct target *t, bool complete)
{
	struct endtoend *e = t->endtoend;
	struct err why;
	int err = restart_end(e->restart, complete, &why);

	if (e->result)
		restart_costs(e->restart, &e->result->monitor);
	if (!err)
		return;
	atomic_fetch_add(&t->run->failures.errors, 1);
	target_error(t->plan, "%s", why.text);
}

void endtoend_release(struct run *run)
{
	for (size_t i = 0; i < run->plan->n_targets; i++)
		if (run->targets[i].endtoend)
			end_restart(&run->targets[i], false);
}

/*
 * Exchange the results, once what was written is durable where -restart says so. Returns 0 or
 * -errno, with the session failed.
 */
static int passes_exchange(struct target *t, struct wire_pass *own, struct wire_pass *peer)
{
	struct endtoend *e = t->endtoend;
	struct err why;
	int err;

	if (stop_requested(&t->run->stop))
		return -ECANCELED;
	err = endtoend_look_at_file(t, own, &why);
	if (!err)
		err = restart_settle(e->restart, &why);
	if (err) {
		session_fail(e->session, XDD_IO_ERROR, why.text);
		return err;
	}
	return session_finish(e->session, (uint32_t)t->pass, own, peer);
}

void endtoend_end_pass(struct target *t)
{
	struct endtoend *e = t->endtoend;
	struct wire_pass own, peer;
	bool complete;
	int err;

	if (!e)
		return;
	passes_summarize(t, &own);
	err = passes_exchange(t, &own, &peer);
	if (!err && e->sends)
		atomic_store(&t->state.confirmed_ns, clock_now_ns());
	keep_result(t, &own, err ? NULL : &peer);
	if (err) {
		endtoend_broke(e);
		end_restart(t, false);
		return;
	}
	report_peer(t, &peer);
	complete = !own.failed && !peer.failed && own.ops == e->ops;
	if (complete && !e->sends)
		set_final_size(t);
	end_restart(t, complete);
}

void endtoend_add_result(struct target *t, struct pass_result *r)
{
	struct endtoend *e = t->endtoend;
	struct figures *f = &r->figures;

	if (!e || !e->result)
		return;
	r->endtoend = e->result;
	e->result = NULL;
	f->lag_ns = r->endtoend->destination.waiting_ns + r->endtoend->destination.pace_ns;
	if (r->endtoend->destination.known)
		f->known |= FIGURES_LAG;
	f->first_read_ns = e->first_read_ns;
	f->last_write_ns = e->last_write_ns;
}
