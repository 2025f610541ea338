/*
 * The lines about end-to-end copies after the results. Called by facts.c.
 */
#include <inttypes.h>

#include "xdd/base/units.h"
#include "xdd/report/endtoend.h"

static void begin(FILE *f, const struct endtoend_result *r)
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

	begin(f, r);
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

	begin(f, r);
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
	begin(f, r);
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
	begin(f, r);
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
