/*
 * A host's document: reading it from a file, and checking what the other parts rely on. Called by
 * the command and by combine.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/combine_host.h"
#include "report/document.h"
#include "report/jsonout.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/report/column.h"

#define MAX_STATUS XDD_MISCOMPARE
#define MAX_RANKS (1u << 24)

static bool bad(const struct combine_source *s, const char *what)
{
	log_error("combine: %s: %s", s->document, what);
	return false;
}

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static bool is_what(const json_t *result, enum result_what what)
{
	const char *text = text_of(result, "what");

	return text && strcmp(text, column_what(what)) == 0;
}

/* ---- reading ---- */

/* Members of `o` that equal those of `first` become the same ones. */
static void share(json_t *o, json_t *first)
{
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe(o, next, key, value)
	{
		json_t *other = json_object_get(first, key);

		if (other && other != value && json_equal(other, value))
			json_object_set(o, key, other);
		else if (json_is_object(value) && json_is_object(other))
			share(value, other);
	}
}

/* Only the results of targets and of all of them count, and columns of the latter. */
static void trim_results(json_t *results)
{
	for (size_t i = json_array_size(results); i-- > 0;) {
		json_t *result = json_array_get(results, i);

		if (is_what(result, RESULT_QUEUE_PASS) || is_what(result, RESULT_TARGET_AVERAGE))
			json_array_remove(results, i);
		else if (is_what(result, RESULT_TARGET_PASS))
			json_object_del(result, "columns");
	}
}

json_t *combine_load(const char *path)
{
	return document_read("combine", path);
}

void combine_trim(json_t *doc, json_t *first)
{
	static const char *const unused[] = { "intervals", "endtoend", "deskew", "start_skew" };

	trim_results(json_object_get(doc, "results"));
	for (size_t i = 0; i < sizeof(unused) / sizeof(unused[0]); i++)
		json_object_del(doc, unused[i]);
	share(json_object_get(doc, "plan"), json_object_get(first, "plan"));
	share(json_object_get(doc, "environment"), json_object_get(first, "environment"));
}

/* ---- checking ---- */

/* A time of jvalue_time(), in ns since 1970; 0: it is none. */
static uint64_t time_of(const json_t *o, const char *key)
{
	const char *text = text_of(o, key), *rest;
	struct tm tm = { 0 };
	unsigned ms = 0;
	time_t seconds;

	rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
	if (!rest || sscanf(rest, ".%3uZ", &ms) != 1)
		return 0;
	seconds = timegm(&tm);
	/* The year 2262, the last of 63 bits. */
	if (seconds <= 0 || seconds >= (time_t)(INT64_MAX / NS_PER_SEC))
		return 0;
	return (uint64_t)seconds * NS_PER_SEC + ms * NS_PER_MS;
}

static bool read_clock(struct combine_host *h, const struct combine_source *s, const json_t *doc)
{
	const json_t *clock = json_object_get(doc, "clock");
	const char *source = text_of(clock, "source");
	bool end_known;

	if (!json_is_object(clock))
		return true;
	h->served = source && strcmp(source, "timeserver") == 0;
	if (!combine_count(s, clock, "bound_ns", &h->bound_ns, &h->bound_known) ||
	    !combine_count(s, clock, "bound_at_end_ns", &h->end_bound_ns, &end_known))
		return false;
	if (!end_known)
		h->end_bound_ns = h->bound_ns;
	if (json_is_integer(json_object_get(clock, "machine_offset_ns")))
		h->machine = text_of(clock, "machine");
	h->machine_offset = json_integer_value(json_object_get(clock, "machine_offset_ns"));
	return true;
}

static bool read_rank(struct combine_host *h, const struct combine_source *s, const json_t *doc)
{
	bool rank, ranks;

	if (!combine_count(s, doc, "rank", &h->rank, &rank) ||
	    !combine_count(s, doc, "ranks", &h->ranks, &ranks))
		return false;
	h->ranked = rank && ranks;
	if (h->ranked && (h->ranks > MAX_RANKS || h->rank >= h->ranks))
		return bad(s, "rank: expected a number below that of ranks");
	return true;
}

/* When and where, for the messages of all other parts. */
static bool read_head(struct combine_host *h, const struct combine_source *s, const json_t *doc)
{
	const json_t *status = json_object_get(doc, "status");
	const json_t *host = json_object_get(json_object_get(doc, "environment"), "host");

	h->name = text_of(host, "name");
	if (!h->name || !*h->name)
		h->name = "?";
	h->called = h->name;
	h->run_id = text_of(doc, "run_id");
	if (!json_is_integer(status) || json_integer_value(status) < 0 ||
	    json_integer_value(status) > MAX_STATUS)
		return bad(s, "status: expected an exit status of xdd");
	h->status = (uint64_t)json_integer_value(status);
	h->partial = json_is_true(json_object_get(doc, "partial"));
	h->start_ns = time_of(doc, "start_time");
	h->end_ns = time_of(doc, "end_time");
	if (!json_is_array(json_object_get(doc, "results")))
		return bad(s, "the results are missing");
	return read_clock(h, s, doc) && read_rank(h, s, doc);
}

static enum op_request op_of(const json_t *o)
{
	const char *text = text_of(o, "operation");

	for (enum op_request op = OP_READ; text && op <= OP_MIXED; op++) {
		if (strcmp(text, plan_op_name(op)) == 0)
			return op;
	}
	return OP_MIXED;
}

/* The result of all targets. */
static bool read_combined(struct combine_host *h, const struct combine_source *s, const json_t *o)
{
	struct result *r = &h->sum;
	uint64_t miscompares;

	if (h->combined)
		return bad(s, "results: COMBINED is there twice");
	h->combined = o;
	r->what = RESULT_COMBINED;
	r->op = op_of(o);
	r->partial = json_is_true(json_object_get(o, "partial"));
	r->processors = 1;
	return combine_count(s, o, "passes", &r->pass, NULL) &&
	       combine_count(s, o, "targets", &r->target, NULL) &&
	       combine_count(s, o, "queue_depth", &r->queue, NULL) &&
	       combine_count(s, o, "request_bytes", &r->req_bytes, NULL) &&
	       combine_count(s, o, "block_bytes", &r->block_size, NULL) &&
	       combine_count(s, o, "miscompares", &miscompares, &r->verified) &&
	       combine_decode(s, o, &r->figures);
}

/* Where a result lies in global time; `*placed`: the document says. */
static bool read_span(const struct combine_source *s, const json_t *o, struct combine_span *span,
		      bool *placed)
{
	bool begin, finish;

	if (!combine_count(s, o, "begin_ns", &span->from_ns, &begin) ||
	    !combine_count(s, o, "finish_ns", &span->to_ns, &finish))
		return false;
	*placed = begin && finish;
	if (*placed && span->from_ns > span->to_ns)
		return bad(s, "results: finish_ns: expected a time after begin_ns");
	return true;
}

static bool read_pass(struct combine_host *h, uint32_t number, const struct combine_source *s,
		      const json_t *o)
{
	struct combine_pass p = { .host = number, .result = o }, *passes;
	uint64_t target;

	if (!combine_count(s, o, "pass", &p.pass, NULL) ||
	    !combine_count(s, o, "target", &target, NULL) ||
	    !combine_count(s, o, "elapsed_ns", &p.elapsed_ns, NULL) ||
	    !read_span(s, o, &p.span, &p.placed))
		return false;
	if (!p.pass || target > UINT32_MAX)
		return bad(s, "results: expected a pass from 1 on and the number of a target");
	p.target = (uint32_t)target;
	p.partial = json_is_true(json_object_get(o, "partial"));
	passes = array_room(h->passes, h->n_passes, sizeof(*passes));
	if (!passes)
		return bad(s, strerror(ENOMEM));
	h->passes = passes;
	passes[h->n_passes++] = p;
	if (p.pass > h->last_pass)
		h->last_pass = p.pass;
	return true;
}

static int by_pass(const void *a, const void *b)
{
	const struct combine_pass *x = a, *y = b;

	if (x->pass != y->pass)
		return x->pass < y->pass ? -1 : 1;
	return (x->target > y->target) - (x->target < y->target);
}

/*
 * When the host was transferring. Targets meet before each pass, so a pass of all lasts from its
 * first issue to its last completion; with -nobarrier passes of targets are independent.
 */
static bool read_spans(struct combine_host *h, const struct combine_source *s, const json_t *doc)
{
	const json_t *options = json_object_get(json_object_get(doc, "plan"), "options");
	const bool apart = json_is_true(json_object_get(options, "nobarrier"));
	uint64_t solid_ns = UINT64_MAX;

	h->spans = calloc(h->n_passes + 1, sizeof(*h->spans));
	if (!h->spans)
		return bad(s, strerror(ENOMEM));
	if (h->n_passes)
		qsort(h->passes, h->n_passes, sizeof(*h->passes), by_pass);
	h->placed = true;
	for (size_t i = 0; i < h->n_passes; i++) {
		const struct combine_pass *p = &h->passes[i];
		struct combine_span *last = h->n_spans ? &h->spans[h->n_spans - 1] : NULL;

		if (i && p->pass == p[-1].pass && p->target == p[-1].target)
			return bad(s, "results: a pass of a target is there twice");
		if (!p->placed) {
			h->placed &= !p->elapsed_ns;
		} else if (!apart && last && i && p->pass == p[-1].pass && p[-1].placed) {
			if (p->span.from_ns < last->from_ns)
				last->from_ns = p->span.from_ns;
			if (p->span.to_ns > last->to_ns)
				last->to_ns = p->span.to_ns;
		} else {
			h->spans[h->n_spans++] = p->span;
		}
	}
	/* Once a target has ended its last pass, the host is never between passes. */
	for (size_t i = 0; apart && i < h->n_passes; i++) {
		if (h->passes[i].pass == h->last_pass && h->passes[i].placed &&
		    h->passes[i].span.to_ns < solid_ns)
			solid_ns = h->passes[i].span.to_ns;
	}
	h->n_spans = combine_spans_join(h->spans, h->n_spans, solid_ns);
	return true;
}

bool combine_host_read(struct combine_host *host, uint32_t number, const json_t *doc,
		       const struct combine_source *s)
{
	const json_t *result;
	size_t i;

	*host = (struct combine_host){ .doc = doc, .document = s->document };
	figures_init(&host->sum.figures);
	if (!document_check("combine", s->document, doc) || !read_head(host, s, doc))
		return false;
	json_array_foreach(json_object_get(doc, "results"), i, result)
	{
		if (is_what(result, RESULT_COMBINED) && !read_combined(host, s, result))
			return false;
		if (is_what(result, RESULT_TARGET_PASS) && !read_pass(host, number, s, result))
			return false;
	}
	if (!read_spans(host, s, doc))
		return false;
	host->idle = !tally_ops(&host->sum.figures.tally) && !host->sum.figures.tally.errors &&
		     !host->sum.figures.tally.outstanding;
	host->placed &= host->n_spans > 0;
	return true;
}

void combine_host_free(struct combine_host *host)
{
	figures_free(&host->sum.figures);
	free(host->passes);
	free(host->spans);
}
