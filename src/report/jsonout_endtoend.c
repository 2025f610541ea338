/*
 * An end-to-end copy as an object of the document of -jsonout. Called by facts.c.
 */
#include "report/jsonout.h"
#include "xdd/report/jvalue.h"

static json_t *side(const struct endtoend_result *r, const struct endtoend_side *s)
{
	const struct copy_shares shares = endtoend_shares(s, r->n_qthreads);
	json_t *o;

	if (!s->known)
		return json_null();
	o = json_object();
	jvalue_put(o, "ops", jvalue_count(s->ops));
	jvalue_put(o, "bytes", jvalue_count(s->bytes));
	jvalue_put(o, "failed", jvalue_count(s->failed));
	jvalue_put(o, "digest", jvalue_text(s->digest));
	jvalue_put(o, "elapsed_ns", jvalue_count(s->elapsed_ns));
	jvalue_put(o, "storage_ns", jvalue_count(s->storage_ns));
	jvalue_put(o, "network_ns", jvalue_count(s->network_ns));
	jvalue_put(o, "waiting_ns", jvalue_count(s->waiting_ns));
	jvalue_put(o, "checking_ns", jvalue_count(s->checking_ns));
	jvalue_put(o, "pace_ns", jvalue_count(s->pace_ns));
	jvalue_put(o, "cpu_ns", jvalue_count(s->cpu_ns));
	jvalue_put(o, "cpu_wait_ns", jvalue_count(s->cpu_wait_ns));
	jvalue_put(o, "cpu_quota_ns", jvalue_count(s->quota_ns));
	jvalue_put(o, "transit_ns", jvalue_count(s->transit_ns));
	jvalue_put(o, "retransmits", jvalue_count(s->retransmits));
	jvalue_put(o, "shares", jvalue_shares(&shares));
	return o;
}

static json_t *monitor(const struct endtoend_monitor *m)
{
	json_t *o;

	if (!m->used)
		return json_null();
	o = json_object();
	jvalue_put(o, "flushes", jvalue_count(m->flushes));
	jvalue_put(o, "flush_ns", jvalue_count(m->flush_ns));
	jvalue_put(o, "records", jvalue_count(m->records));
	jvalue_put(o, "record_ns", jvalue_count(m->record_ns));
	return o;
}

json_t *jsonout_endtoend_value(const struct endtoend_result *r)
{
	json_t *o = json_object(), *connections = json_array();
	const struct copy_verdict v = endtoend_verdict(r);

	for (uint32_t i = 0; i < r->n_info; i++)
		json_array_append_new(connections, jvalue_connection(&r->info[i]));
	jvalue_put(o, "target", jvalue_count(r->target));
	jvalue_put(o, "pass", jvalue_count(r->pass));
	jvalue_put(o, "role", jvalue_text(r->role == E2E_SOURCE ? "source" : "destination"));
	jvalue_put(o, "session", jvalue_text(r->session));
	jvalue_put(o, "peer_host", jvalue_text(r->peer_host));
	jvalue_put(o, "peer_target", jvalue_text(r->peer_name));
	jvalue_put(o, "confirmed", json_boolean(r->complete));
	jvalue_put(o, "resumed_bytes", jvalue_count(r->resumed_bytes));
	jvalue_put(o, "compared_bytes", jvalue_count(r->compared_bytes));
	jvalue_put(o, "differing_bytes", jvalue_count(endtoend_differing_bytes(r)));
	jvalue_put(o, "restart_monitor", monitor(&r->monitor));
	jvalue_put(o, "bound", jvalue_text(copy_verdict_name(&v)));
	jvalue_put(o, "bound_between", jvalue_between(&v));
	jvalue_put(o, "qthreads", jvalue_count(r->n_qthreads));
	jvalue_put(o, "source", side(r, &r->source));
	jvalue_put(o, "destination", side(r, &r->destination));
	jvalue_put(o, "connections", connections);
	return o;
}
