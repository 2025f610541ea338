/*
 * The sessions of a run: set-up and end. Called by run.c, and by all threads of a session that
 * fails.
 */
#include "run/endtoend/endtoend.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "run/coord/gate.h"
#include "run/endtoend/proof.h"
#include "run/endtoend/restart.h"
#include "run/run_state.h"
#include "run/target.h"
#include "run/target/failures.h"
#include "xdd/base/log.h"
#include "xdd/report/endtoend.h"
#include "xdd/sync/wait.h"

#define WHY_SIZE 256

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
	char why[WHY_SIZE] = "";
	int err = cookie ? net_key_from_cookie(options->cookie, key, why, sizeof(why)) :
			   net_key_load(options->key_file, key, why, sizeof(why));

	if (!err)
		return XDD_OK;
	log_error("%s: %s", cookie ? "-cookie" : "-e2e key", *why ? why : strerror(-err));
	return XDD_BAD_ARGUMENT;
}

enum xdd_status endtoend_check(const struct plan *plan)
{
	struct net_key key = { 0 };
	enum xdd_status status;
	const char *why;

	if (!first_options(plan))
		return XDD_OK;
	if (!digest_available(&why)) {
		log_error("-e2e: %s", why);
		return XDD_BAD_ARGUMENT;
	}
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
	/* For the other sessions. */
	if (*why)
		run_explain(t, "%s: %s", t->plan->path, why);
	if (begun)
		atomic_fetch_add(&t->run->failures.errors, 1);
	if (run_stop(t->run, begun ? STOP_ERROR : STOP_START, ECONNABORTED))
		log_error("target %u, %s: %s", t->plan->number, t->plan->path,
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

/* Targets of both sides that copy to each other have the same rank among those of their role. */
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
	char why[WHY_SIZE];

	for (size_t i = 0; i < o->n_addresses; i++) {
		const struct endtoend_address *a = &o->addresses[i];

		for (uint32_t k = 0; k < a->ports; k++) {
			int err = listener_add(run->endtoend.listener, a->host,
					       (uint16_t)(a->port + k), why, sizeof(why));

			if (!err)
				continue;
			log_error("target %u, %s: -e2e destination: %s", t->number, t->path, why);
			return XDD_TARGET_FAILED;
		}
	}
	return XDD_OK;
}

/* The sockets have the options of the first destination. */
static struct listener *new_listener(struct endtoend_run *shared, const struct endtoend_options *o)
{
	shared->options = (struct connection_options){
		.timeout_ns = o->timeout_ns,
		.congestion = o->congestion,
		.send_buffer_bytes = o->send_buffer_bytes,
		.receive_buffer_bytes = o->receive_buffer_bytes,
	};
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
		if (!run->endtoend.listener) {
			log_error("the run cannot be set up: %s", strerror(ENOMEM));
			return XDD_INIT_FAILED;
		}
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
	err = getrandom(shared->id, sizeof(shared->id), 0) < 0 ? -errno : 0;
	status = err ? XDD_OK : load_key(run->plan, &shared->key);
	if (!err && !status)
		status = open_listener(run);
	if (err || status)
		goto out;
	err = open_sessions(run);
out:
	if (err)
		log_error("the run cannot be set up: %s", strerror(-err));
	else if (!status && shared->listener && !shared->key.present)
		log_warning("-e2e without a key: everyone who can reach the ports of the "
			    "destination can write to its targets; -e2e key <file> on both sides "
			    "prevents that");
	return err ? XDD_INIT_FAILED : status;
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
