/*
 * -stonewall on several hosts: the figures of a pass of all of them. Called for the document, and
 * for its text.
 *
 * Each host counts until it learned that the pass was over, or was over with it. All of that
 * together lasts from the first issue of any host to the moment from which no host issued any more.
 */
#include "report/combine_host.h"
#include "xdd/report/jvalue.h"
#include "xdd/report/stonewall.h"
#include "xdd/stat/histogram.h"

static uint64_t count_of(const json_t *o, const char *key)
{
	const json_int_t n = json_integer_value(json_object_get(o, key));

	return n > 0 ? (uint64_t)n : 0;
}

static struct span span_of(const json_t *o)
{
	const double ops = json_number_value(json_object_get(o, "ops"));

	return (struct span){ .ns = count_of(o, "ns"),
			      .bytes = count_of(o, "bytes"),
			      .op_units = ops > 0 ? (uint64_t)(ops * (double)FLOW_OP) : 0 };
}

/* Add an interval of a host, which begins at `begin_ns`; `*end_ns` is the last end of all. */
static void add_span(struct span *sum, uint64_t *end_ns, uint64_t begin_ns, const json_t *o)
{
	const struct span s = span_of(o);

	sum->bytes += s.bytes;
	sum->op_units += s.op_units;
	if (begin_ns && begin_ns + s.ns > *end_ns)
		*end_ns = begin_ns + s.ns;
}

/* The entry for a pass in the document of a host, or NULL. */
static const json_t *entry_of(const json_t *doc, uint64_t pass)
{
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(doc, "stonewall"), i, o)
	{
		if (count_of(o, "pass") == pass)
			return o;
	}
	return NULL;
}

/* Whose target ended the pass. Ranks of MPI know it; of other hosts it is the first one. */
static void set_cause(struct stonewall_result *s, const struct combine_host *h, const json_t *o)
{
	const json_t *target = json_object_get(o, "target"), *rank = json_object_get(o, "rank");

	s->target = json_is_integer(target) ? (uint32_t)json_integer_value(target) :
					      STONEWALL_BY_TIME;
	s->ranks = json_is_integer(rank) || h->ranked;
	s->rank = json_is_integer(rank) ? (unsigned)json_integer_value(rank) : (unsigned)h->rank;
}

/* Add up a pass that all hosts have. False: one has not. */
static bool add_up(const struct combine_host *hosts, size_t n, struct stonewall_result *s)
{
	uint64_t at_ns = 0, end_ns = 0, first_ns = UINT64_MAX;

	for (size_t i = 0; i < n; i++) {
		const json_t *o = entry_of(hosts[i].doc, s->pass);
		const json_t *at = json_object_get(o, "at");
		const uint64_t begin = count_of(o, "begin_ns");

		if (!o)
			return false;
		if (begin && (!s->begin_ns || begin < s->begin_ns))
			s->begin_ns = begin;
		if (begin && begin + count_of(at, "ns") < first_ns) {
			first_ns = begin + count_of(at, "ns");
			set_cause(s, &hosts[i], o);
		}
		add_span(&s->at, &at_ns, begin, at);
		add_span(&s->end, &end_ns, begin, json_object_get(o, "end"));
	}
	s->at.ns = at_ns - s->begin_ns;
	s->end.ns = end_ns - s->begin_ns;
	return true;
}

json_t *combine_stonewall(const struct combine_host *hosts, size_t n)
{
	json_t *passes = json_array();
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(hosts[0].doc, "stonewall"), i, o)
	{
		struct stonewall_result s = { .pass = count_of(o, "pass") };

		set_cause(&s, &hosts[0], o);
		if (add_up(hosts, n, &s))
			json_array_append_new(passes, jvalue_stonewall(&s));
	}
	return passes;
}

void combine_stonewall_text(const json_t *doc, FILE *to)
{
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(doc, "stonewall"), i, o)
	{
		struct stonewall_result s = { .pass = count_of(o, "pass"),
					      .at = span_of(json_object_get(o, "at")),
					      .end = span_of(json_object_get(o, "end")) };

		set_cause(&s, &(struct combine_host){ .ranked = false }, o);
		stonewall_write(to, &s);
	}
}
