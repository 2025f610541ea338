/*
 * One document of the documents of several hosts; see the header. Called by xdd combine, and by
 * those that start a run on several hosts.
 */
#include "xdd/report/combine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/combine_host.h"
#include "xdd/base/log.h"
#include "xdd/base/nstime.h"
#include "xdd/report/jvalue.h"

static void no_memory(void)
{
	log_error("combine: %s", strerror(ENOMEM));
}

/* ---- sums ---- */

/* Sums wrap around only in documents that are not true. */
static bool tally_fits(const struct tally *sum, const struct tally *from)
{
	return tally_bytes(sum) <= UINT64_MAX - tally_bytes(from) &&
	       tally_ops(sum) <= UINT64_MAX - tally_ops(from) &&
	       tally_busy_ns(sum) <= UINT64_MAX - tally_busy_ns(from) &&
	       sum->issued <= UINT64_MAX - from->issued;
}

static void add_kind(struct result *sum, const struct result *r, bool first)
{
	if (first) {
		sum->op = r->op;
		sum->req_bytes = r->req_bytes;
		sum->block_size = r->block_size;
		sum->pass = r->pass;
		sum->verified = r->verified;
	}
	if (sum->op != r->op)
		sum->op = OP_MIXED;
	sum->verified &= r->verified;
	sum->pass = r->pass > sum->pass ? r->pass : sum->pass;
	sum->target += r->target;
	sum->queue += r->queue;
	sum->partial |= r->partial;
}

static bool add_hosts(struct combination *c)
{
	struct result *sum = &c->sum;
	bool first = true;

	sum->what = RESULT_COMBINED;
	for (size_t i = 0; i < c->n; i++) {
		const struct combine_host *h = &c->hosts[i];

		if (!h->combined)
			continue;
		if (!tally_fits(&sum->figures.tally, &h->sum.figures.tally)) {
			log_error("combine: %s: the sums of all documents are too large",
				  h->document);
			return false;
		}
		add_kind(sum, &h->sum, first);
		if (figures_add(&sum->figures, &h->sum.figures)) {
			no_memory();
			return false;
		}
		first = false;
	}
	sum->figures.elapsed_ns = c->times.elapsed_ns;
	sum->partial |= json_array_size(c->missing) > 0;
	if (c->times.known) {
		sum->begin_ns = c->times.begin_ns;
		sum->finish_ns = c->times.finish_ns;
	}
	return true;
}

static void rank_hosts(struct combination *c)
{
	const bool bytes = tally_bytes(&c->sum.figures.tally) > 0;
	double least = 0, most = 0;
	bool first = true;

	for (size_t i = 0; i < c->n; i++) {
		const struct combine_host *h = &c->hosts[i];
		uint64_t ns = combine_spans_length(h->spans, h->n_spans);
		double rate = combine_rate(h, bytes);

		if (h->idle)
			continue;
		if (first || rate < least) {
			least = rate;
			c->slowest = (uint32_t)i;
		}
		if (first || rate > most) {
			most = rate;
			c->fastest = (uint32_t)i;
		}
		first = false;
		if (ns && c->times.known) {
			double share = (double)c->times.window_ns / (double)ns;

			c->window_bytes += share * (double)tally_bytes(&h->sum.figures.tally);
			c->window_ops += share * (double)tally_ops(&h->sum.figures.tally);
		}
	}
	c->fairness = most > 0 ? least / most : 0;
}

static void note_clocks(const struct combination *c)
{
	size_t bounded = 0, busy = 0;

	for (size_t i = 0; i < c->n; i++) {
		busy += c->hosts[i].n_spans > 0;
		bounded += c->hosts[i].n_spans && c->hosts[i].bound_known;
	}
	if (!c->times.known)
		json_array_append_new(
			c->notes,
			jvalue_text(
				"documents without global times (of an older xdd): skew and common "
				"window are not known, and the rates of all hosts together are "
				"those of hosts that begin at one moment"));
	else if (bounded < busy && busy > 1)
		json_array_append_new(
			c->notes,
			jvalue_text("hosts without -timeserver: how far their clocks differ is not "
				    "known, and so how true the skew and the sums are"));
}

/* A result of one host is that of all. */
static json_t *only_one(const struct combination *c)
{
	json_t *doc = json_copy((json_t *)c->hosts[0].doc);

	if (doc && !json_object_get(doc, "hosts"))
		jvalue_put(doc, "hosts", combine_hosts_value(c));
	return doc;
}

static bool read_host(struct combine_host *h, size_t number, const json_t *doc, const char *name,
		      size_t n)
{
	const struct combine_source s = { name, (uint64_t)INT64_MAX / n };

	if (!combine_host_read(h, (uint32_t)number, doc, &s))
		return false;
	if (n == 1 || !json_object_get(doc, "hosts"))
		return true;
	log_error("combine: %s: is a combined result; give the documents of its hosts", name);
	return false;
}

bool combine_check(const json_t *doc, const char *name, size_t n)
{
	struct combine_host h;
	bool good = read_host(&h, 0, doc, name, n);

	combine_host_free(&h);
	return good;
}

static bool read_hosts(struct combination *c, json_t *const *docs, const char *const *names,
		       const struct combine_options *o)
{
	for (size_t i = 0; i < c->n; i++) {
		struct combine_host *h = &c->hosts[i];

		if (!read_host(h, i, docs[i], names[i], c->n))
			return false;
		if (o->rank_hosts && h->ranked && h->rank < o->n_rank_hosts)
			h->called = o->rank_hosts[h->rank];
	}
	return true;
}

static json_t *combine(struct combination *c, json_t *const *docs, const char *const *names,
		       const struct combine_options *o)
{
	if (!read_hosts(c, docs, names, o) || !combine_belong(c->hosts, c->n, o))
		return NULL;
	combine_label(c->hosts, c->n, c->notes);
	combine_missing(c->hosts, c->n, o, c->missing, c->notes);
	if (c->n == 1 && !json_array_size(c->missing))
		return only_one(c);
	combine_share_clock(c->hosts, c->n);
	if (combine_times(&c->times, c->hosts, c->n)) {
		no_memory();
		return NULL;
	}
	note_clocks(c);
	if (!combine_passes(c->hosts, c->n, c->times.elapsed_ns, c->statistics, c->pass_times,
			    c->notes) ||
	    !add_hosts(c))
		return NULL;
	rank_hosts(c);
	return combine_value(c);
}

json_t *combine_documents(json_t *const *docs, const char *const *names, size_t n,
			  const struct combine_options *o)
{
	struct combination c = {
		.hosts = calloc(n, sizeof(*c.hosts)),
		.n = n,
		.missing = json_array(),
		.notes = json_array(),
		.statistics = json_array(),
		.pass_times = json_array(),
	};
	json_t *doc = NULL;

	figures_init(&c.sum.figures);
	if (!c.hosts || !c.missing || !c.notes || !c.statistics || !c.pass_times)
		no_memory();
	else
		doc = combine(&c, docs, names, o);
	for (size_t i = 0; c.hosts && i < n; i++)
		combine_host_free(&c.hosts[i]);
	figures_free(&c.sum.figures);
	free(c.hosts);
	json_decref(c.missing);
	json_decref(c.notes);
	json_decref(c.statistics);
	json_decref(c.pass_times);
	return doc;
}
