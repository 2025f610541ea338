/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums, shares and the verdict of end-to-end copies, also of copies of files, and an end-to-end
 * copy as lines and as an object of a document; see the header. Called by the results manager and
 * the writers.
 */
#include "xdd/report/endtoend.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/jsonout.h"
#include "xdd/base/units.h"
#include "xdd/report/jvalue.h"

/* The part that limits a copy takes at least so much of the time, and more than any other one. */
#define LEAST_SHARE 0.4
#define LEAST_LEAD 1.1

/*
 * A destination that limits a copy from a source that waits to send is hardly ever starved: a
 * third of the time is enough to acquit it.
 */
#define STARVED_WEIGHT 3

/* A part below this share is not worth to be named beside another one. */
#define NAMED_SHARE 0.1

double copy_share(uint64_t ns, uint64_t elapsed_ns, uint64_t n)
{
	const double all = (double)elapsed_ns * (double)n, part = all > 0 ? (double)ns / all : 0;

	return part < 1 ? part : 1;
}

static double copy_limit_least(double a, double b)
{
	return a < b ? a : b;
}

static double most(double a, double b)
{
	return a > b ? a : b;
}

/*
 * A CPU quota stops all threads of a process, and a data thread that sleeps meanwhile waits for
 * them or for its own turn to run. Other processes of the control group may have used the quota up
 * while this process had no work: then its data threads miss less than half of that time.
 */
static double stopped(const struct copy_shares *s)
{
	return s->processor >= s->quota / 2 ? s->quota : 0;
}

/* The time in which a side held up the copy, by cause, together at most 1. */
struct parts {
	double storage, processor, pace;
	double network; /* in which it waited for the network in the middle of a transfer */
};

/*
 * Digests need a processor for all of their time. The rest of the processor time was used, or
 * missing, in the storage and the network alike: what remains of these is a wait for them.
 */
static struct parts parts_of(const struct copy_shares *s)
{
	const double work = s->storage + s->network;
	const double processor = most(most(s->processor, s->checking), stopped(s));
	struct parts p = { .processor = copy_limit_least(processor, 1) };
	const double running = copy_limit_least(p.processor - s->checking, work);

	if (work > 0) {
		p.storage = copy_limit_least(s->storage * (1 - running / work), 1 - p.processor);
		p.network = copy_limit_least(s->network * (1 - running / work), 1 - p.processor);
	}
	p.pace = copy_limit_least(s->pace, 1 - p.processor - p.storage);
	return p;
}

static double sum(const struct parts *p)
{
	return p->storage + p->processor + p->pace;
}

/*
 * As sockets have buffers, the network may also be busy while a side reads or writes. If the source
 * is the faster one, the destination waits in the middle of blocks. If the destination is, the
 * source waits to send while data is on its way, or while the destination is starved. A destination
 * that a CPU quota stops is not starved in that time.
 */
static void copy_limit_measure(double parts[COPY_LIMITS], const struct copy_shares *source,
			       const struct copy_shares *destination, bool names)
{
	const struct parts s = parts_of(source), d = parts_of(destination);
	const double flush = copy_limit_least(destination->flush, 1);
	/* Through ssh the destination does not tell that it waited. */
	const double idle = most(1 - sum(&d), 0);
	const double starved =
		STARVED_WEIGHT * (copy_limit_least(idle, destination->waiting + d.network) - flush -
				  stopped(destination));
	const double files =
		names ? copy_limit_least(source->waiting, most(idle - d.network - flush, 0)) : 0;

	parts[COPY_LIMIT_UNKNOWN] = 0;
	parts[COPY_LIMIT_SOURCE_STORAGE] = s.storage;
	parts[COPY_LIMIT_SOURCE_PROCESSOR] = s.processor;
	parts[COPY_LIMIT_SOURCE_PACE] = s.pace;
	/* Flushes go on beside the data and after it. */
	parts[COPY_LIMIT_DESTINATION_STORAGE] = most(d.storage, flush);
	parts[COPY_LIMIT_DESTINATION_PROCESSOR] = d.processor;
	parts[COPY_LIMIT_DESTINATION_PACE] = d.pace;
	parts[COPY_LIMIT_FILES] = files;
	/* Neither side had anything to do, and the data was not there yet. */
	parts[COPY_LIMIT_NETWORK] =
		most(1 - sum(&s) - most(sum(&d), flush) - files,
		     most(d.network, copy_limit_least(s.network, most(source->transit, starved))));
}

static enum copy_limit largest(const double parts[COPY_LIMITS], enum copy_limit except)
{
	enum copy_limit best = COPY_LIMIT_UNKNOWN;

	for (enum copy_limit i = COPY_LIMIT_SOURCE_STORAGE; i < COPY_LIMITS; i++) {
		if (i != except && parts[i] > parts[best])
			best = i;
	}
	return best;
}

static bool by_quota(const struct copy_shares *s)
{
	return s->quota >= s->processor / 2;
}

struct copy_verdict copy_limit_judge(const struct copy_shares *source,
				     const struct copy_shares *destination, bool names)
{
	struct copy_verdict v = { 0 };
	double parts[COPY_LIMITS];
	enum copy_limit second;

	copy_limit_measure(parts, source, destination, names);
	v.limit = largest(parts, COPY_LIMIT_UNKNOWN);
	second = largest(parts, v.limit);
	if (parts[v.limit] < LEAST_SHARE || parts[v.limit] < LEAST_LEAD * parts[second])
		v.other = second;
	/* A part of a whole that is small is no rival: nothing else was there to wait for. */
	if (parts[second] < NAMED_SHARE)
		v.other = COPY_LIMIT_UNKNOWN;
	v.quota = (v.limit == COPY_LIMIT_SOURCE_PROCESSOR && by_quota(source)) ||
		  (v.limit == COPY_LIMIT_DESTINATION_PROCESSOR && by_quota(destination));
	return v;
}

static const struct {
	const char *name, *text;
} words[COPY_LIMITS] = {
	[COPY_LIMIT_SOURCE_STORAGE] = { "source-storage", "the storage of the source" },
	[COPY_LIMIT_NETWORK] = { "network", "the network" },
	[COPY_LIMIT_DESTINATION_STORAGE] = { "destination-storage",
					     "the storage of the destination" },
	[COPY_LIMIT_SOURCE_PROCESSOR] = { "source-processor", "the processor of the source" },
	[COPY_LIMIT_DESTINATION_PROCESSOR] = { "destination-processor",
					       "the processor of the destination" },
	[COPY_LIMIT_SOURCE_PACE] = { "source-pace", "the pace requested at the source" },
	[COPY_LIMIT_DESTINATION_PACE] = { "destination-pace",
					  "the pace requested at the destination" },
	[COPY_LIMIT_FILES] = { "files", "finding or creating files" },
};

const char *copy_limit_name(enum copy_limit limit)
{
	return words[limit].name;
}

enum copy_limit copy_limit_named(const char *name)
{
	for (enum copy_limit i = COPY_LIMIT_SOURCE_STORAGE; i < COPY_LIMITS; i++) {
		if (strcmp(name, words[i].name) == 0)
			return i;
	}
	return COPY_LIMIT_UNKNOWN;
}

const char *copy_verdict_name(const struct copy_verdict *v)
{
	return v->other != COPY_LIMIT_UNKNOWN ? "unclear" : words[v->limit].name;
}

const char *copy_verdict_text(const struct copy_verdict *v, char buf[COPY_VERDICT_SIZE])
{
	const char *quota = v->quota ? ", which a CPU quota stopped" : "";

	if (v->limit == COPY_LIMIT_UNKNOWN)
		return NULL;
	if (v->other == COPY_LIMIT_UNKNOWN)
		snprintf(buf, COPY_VERDICT_SIZE, "%s%s", words[v->limit].text, quota);
	else
		snprintf(buf, COPY_VERDICT_SIZE, "unclear: %s%s, or %s", words[v->limit].text,
			 quota, words[v->other].text);
	return buf;
}

/*
 * Sums, shares and the verdict of end-to-end copies; see the header. Called by the results manager
 * and the writers.
 */

struct endtoend_result *endtoend_result_new(uint32_t n)
{
	struct endtoend_result *r = calloc(1, sizeof(*r) + n * sizeof(r->info[0]));

	if (r)
		r->n_info = n;
	return r;
}

static void add_side(struct endtoend_side *sum, const struct endtoend_side *from)
{
	sum->known &= from->known;
	sum->lanes = from->lanes;
	sum->ops += from->ops;
	sum->bytes += from->bytes;
	sum->failed += from->failed;
	memcpy(sum->digest, from->digest, sizeof(sum->digest));
	sum->elapsed_ns += from->elapsed_ns;
	sum->storage_ns += from->storage_ns;
	sum->network_ns += from->network_ns;
	sum->waiting_ns += from->waiting_ns;
	sum->checking_ns += from->checking_ns;
	sum->pace_ns += from->pace_ns;
	sum->cpu_ns += from->cpu_ns;
	sum->cpu_wait_ns += from->cpu_wait_ns;
	sum->quota_ns += from->quota_ns;
	sum->transit_ns += from->transit_ns;
	sum->retransmits += from->retransmits;
}

int endtoend_result_add(struct endtoend_result **sum, const struct endtoend_result *from)
{
	struct endtoend_result *old = *sum, *r = endtoend_result_new(from->n_info);

	if (!r)
		return -ENOMEM;
	memcpy(r, from, sizeof(*r) + from->n_info * sizeof(r->info[0]));
	r->pass = 0;
	r->passes = 1;
	if (old) {
		r->passes += old->passes;
		r->complete &= old->complete;
		r->resumed_bytes += old->resumed_bytes;
		r->compared_bytes += old->compared_bytes;
		r->source = old->source;
		r->destination = old->destination;
		add_side(&r->source, &from->source);
		add_side(&r->destination, &from->destination);
	}
	free(old);
	*sum = r;
	return 0;
}

static struct copy_shares shares_of(const struct endtoend_side *side, uint64_t elapsed_ns,
				    uint32_t n)
{
	return (struct copy_shares){
		.storage = copy_share(side->storage_ns, elapsed_ns, side->lanes ? side->lanes : n),
		.network = copy_share(side->network_ns, elapsed_ns, n),
		.waiting = copy_share(side->waiting_ns, elapsed_ns, n),
		.checking = copy_share(side->checking_ns, elapsed_ns, n),
		.pace = copy_share(side->pace_ns, elapsed_ns, n),
		.processor = copy_share(side->cpu_ns + side->cpu_wait_ns, elapsed_ns, n),
		.quota = copy_share(side->quota_ns, elapsed_ns, n),
		.transit = copy_share(side->transit_ns, elapsed_ns, n),
	};
}

struct copy_shares endtoend_shares(const struct endtoend_side *side, uint32_t n_qthreads)
{
	return shares_of(side, side->elapsed_ns, n_qthreads);
}

/* A source may have sent all long before the destination has written it. */
struct copy_verdict endtoend_verdict(const struct endtoend_result *r)
{
	const struct endtoend_side *s = &r->source, *d = &r->destination;
	const uint64_t elapsed_ns = s->elapsed_ns > d->elapsed_ns ? s->elapsed_ns : d->elapsed_ns;
	struct copy_shares source, destination;

	if (!s->known || !d->known || !s->elapsed_ns || !d->elapsed_ns)
		return (struct copy_verdict){ 0 };
	source = shares_of(s, elapsed_ns, r->n_qthreads);
	destination = shares_of(d, elapsed_ns, r->n_qthreads);
	return copy_limit_judge(&source, &destination, false);
}

static void endtoend_text_begin(FILE *f, const struct endtoend_result *r)
{
	fprintf(f, "End-to-end, target %" PRIu32 ", ", r->target);
}

/* The pace, and the processor time that is part of the times before it. */
static void write_processor(FILE *f, const struct copy_shares *s)
{
	if (s->pace > 0)
		fprintf(f, ", paces %.1f %%", 100 * s->pace);
	fprintf(f, " (processor %.1f %%)", 100 * s->processor);
}

static void write_source(FILE *f, const struct endtoend_result *r)
{
	struct copy_shares s = endtoend_shares(&r->source, r->n_qthreads);

	if (!r->source.known) {
		fputs("the source did not report its times", f);
		return;
	}
	fprintf(f, "source reads %.1f %%, checks %.1f %%, sends %.1f %%, waits %.1f %%",
		100 * s.storage, 100 * s.checking, 100 * s.network, 100 * s.waiting);
	write_processor(f, &s);
}

static void write_destination(FILE *f, const struct endtoend_result *r)
{
	struct copy_shares s = endtoend_shares(&r->destination, r->n_qthreads);

	if (!r->destination.known) {
		fputs("the destination did not report its times", f);
		return;
	}
	fprintf(f, "destination waits %.1f %%, receives %.1f %%, checks %.1f %%, writes %.1f %%",
		100 * s.waiting, 100 * s.network, 100 * s.checking, 100 * s.storage);
	write_processor(f, &s);
}

static void write_times(FILE *f, const struct endtoend_result *r)
{
	const struct copy_verdict v = endtoend_verdict(r);
	char text[COPY_VERDICT_SIZE];

	endtoend_text_begin(f, r);
	if (copy_verdict_text(&v, text))
		fprintf(f, "limited by %s: ", text);
	write_source(f, r);
	fputs("; ", f);
	write_destination(f, r);
	fputc('\n', f);
}

/* The bytes that were kept of earlier runs, and how far they were compared. */
static void write_resumed(FILE *f, const struct endtoend_result *r)
{
	const uint64_t differing = endtoend_differing_bytes(r);

	fprintf(f, ", %" PRIu64 " bytes of earlier runs, which %s", r->resumed_bytes,
		r->compared_bytes ? "equal the source" : "were not compared (-restart trust)");
	if (differing)
		fprintf(f, ", and %" PRIu64 " bytes that did not were copied again", differing);
}

/* The count and the digest: the own ones where the sides do not agree. */
static void write_contents(FILE *f, const struct endtoend_result *r)
{
	const struct endtoend_side *own = r->role == E2E_SOURCE ? &r->source : &r->destination;

	endtoend_text_begin(f, r);
	fprintf(f, "%s %" PRIu64 " operations, %" PRIu64 " bytes",
		r->complete ? "both sides confirm" : "not confirmed by the other side:", own->ops,
		own->bytes);
	if (r->source.failed + r->destination.failed)
		fprintf(f, ", %" PRIu64 " failed on the source, %" PRIu64 " on the destination",
			r->source.failed, r->destination.failed);
	if (r->resumed_bytes || r->compared_bytes)
		write_resumed(f, r);
	fprintf(f, r->passes > 1 ? ", digest of the last pass %s\n" : ", digest %s\n", own->digest);
}

static void write_connections(FILE *f, const struct endtoend_result *r)
{
	uint64_t least = UINT64_MAX, most = 0, retransmits = 0;

	for (uint32_t i = 0; i < r->n_info; i++) {
		const struct connection_info *c = &r->info[i];

		retransmits += c->retransmits;
		least = c->rtt_ns < least ? c->rtt_ns : least;
		most = c->rtt_ns > most ? c->rtt_ns : most;
	}
	if (!r->n_info)
		return;
	endtoend_text_begin(f, r);
	fprintf(f,
		"%" PRIu32 " connections, retransmissions %" PRIu64
		", round trip %.3f to %.3f ms, congestion control %s",
		r->n_info, retransmits, (double)least / (double)NS_PER_MS,
		(double)most / (double)NS_PER_MS, r->info[0].congestion);
	if (*r->info[0].cipher)
		fprintf(f, ", %s%s", r->info[0].cipher,
			r->info[0].kernel_tls ? " in the kernel" : "");
	fputc('\n', f);
}

static void write_monitor(FILE *f, const struct endtoend_result *r)
{
	const struct endtoend_monitor *m = &r->monitor;

	if (!m->used)
		return;
	endtoend_text_begin(f, r);
	fprintf(f,
		"restart monitor: %" PRIu64 " flushes in %.3f s, %" PRIu64 " records in %.3f s\n",
		m->flushes, (double)m->flush_ns / (double)NS_PER_SEC, m->records,
		(double)m->record_ns / (double)NS_PER_SEC);
}

void endtoend_write(FILE *f, const struct endtoend_result *r)
{
	write_times(f, r);
	write_contents(f, r);
	write_connections(f, r);
	write_monitor(f, r);
}

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
