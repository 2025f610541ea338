/*
 * One document of the documents of several hosts; see the header. Called by xdd combine, and by
 * those that start a run on several hosts.
 */
#include "xdd/report/combine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/combine_host.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
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

/* ---- random offsets that ranks share ---- */

/* File systems of one host; a file of any other one may be open on several. */
static bool is_local(const char *type)
{
	static const char *const types[] = { "ext2", "ext3",  "ext4", "xfs",   "btrfs",	  "f2fs",
					     "zfs",  "tmpfs", "vfat", "exfat", "overlay", "ramfs" };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(type, types[i]) == 0)
			return true;
	}
	return false;
}

static const char *text_at(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static const json_t *target_of(const struct combine_host *h, const char *part, size_t i)
{
	return json_array_get(json_object_get(json_object_get(h->doc, part), "targets"), i);
}

/* True if both hosts have one kernel: the boot id is the first word of the name of a clock. */
static bool same_kernel(const struct combine_host *a, const struct combine_host *b)
{
	size_t length = a->machine ? strcspn(a->machine, " ") : 0;

	return length && b->machine && strcspn(b->machine, " ") == length &&
	       strncmp(a->machine, b->machine, length) == 0;
}

/* True if target `i` of both hosts is one file, at the offsets of one random sequence. */
static bool same_offsets(const struct combine_host *a, const struct combine_host *b, size_t i)
{
	const json_t *x = target_of(a, "plan", i), *y = target_of(b, "plan", i);
	const json_t *seek = json_object_get(json_object_get(x, "options"), "seek");
	const json_t *other = json_object_get(json_object_get(y, "options"), "seek");
	const json_t *fs = json_object_get(target_of(a, "environment", i), "file_system");
	const json_t *rx = json_object_get(x, "resolved"), *ry = json_object_get(y, "resolved");
	const char *pattern = text_at(rx, "seek_pattern"), *kind = text_at(rx, "kind");
	const json_t *seed = json_object_get(seek, "seed");

	if (strncmp(pattern, "random", 6) != 0 && strcmp(pattern, "zipf") != 0)
		return false;
	if (strcmp(kind, "file") != 0 && strcmp(kind, "block device") != 0)
		return false;
	if (!seed || !json_equal((json_t *)seed, json_object_get(other, "seed")) ||
	    strcmp(text_at(ry, "seek_pattern"), pattern) != 0 ||
	    strcmp(text_at(x, "path"), text_at(y, "path")) != 0 ||
	    !json_is_null(json_object_get(json_object_get(x, "options"), "blockperrank")))
		return false;
	return same_kernel(a, b) || (fs && *text_at(fs, "type") && !is_local(text_at(fs, "type")));
}

/* The first target that several ranks access at the same offsets; -1: there is none. */
static int shared_target(const struct combination *c)
{
	for (size_t k = 1; k < c->n; k++) {
		const struct combine_host *h = &c->hosts[k];
		const json_t *plan = json_object_get(h->doc, "plan");
		const size_t n = json_array_size(json_object_get(plan, "targets"));

		for (size_t i = 0; i < n; i++) {
			if (same_offsets(&c->hosts[0], h, i) || same_offsets(h - 1, h, i))
				return (int)i;
		}
	}
	return -1;
}

static void note_offsets(const struct combination *c)
{
	const int i = shared_target(c);
	char text[256];

	if (i < 0)
		return;
	snprintf(text, sizeof(text),
		 "target %d: several ranks access one file at the same random offsets, so caches "
		 "may answer most of them; -seek seed <n>%%r gives each rank offsets of its own",
		 i);
	json_array_append_new(c->notes, jvalue_text(text));
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
	note_offsets(c);
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
	const unsigned long lost = jvalue_lost();
	json_t *doc = NULL;

	figures_init(&c.sum.figures);
	if (!c.hosts || !c.missing || !c.notes || !c.statistics || !c.pass_times)
		no_memory();
	else
		doc = combine(&c, docs, names, o);
	if (doc && jvalue_lost() != lost) {
		no_memory();
		json_decref(doc);
		doc = NULL;
	}
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
