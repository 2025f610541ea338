/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Do documents belong together, and are they complete? And their differences, all at once: which
 * values a member has, and which hosts have which. Called by combine.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/combine_host.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/report/jvalue.h"

#define PATH_SIZE 256
#define MAX_DEPTH 12
#define MAX_DIFFERENCES 200

struct differ {
	json_t *found; /* array */
	size_t n;      /* documents */
	bool plan;     /* of the plans, which have the names of targets that are everywhere */
};

/* Members that change all the time, are meant to differ from host to host, or say it again. */
static bool is_left_out(const struct differ *d, const char *key, unsigned depth)
{
	static const char *const skipped[] = {
		"available_bytes", "free_bytes", "given", "jsonout", "output",
		"errout",	   "csvout",	 "id",	  "rank",    "combinedout",
	};

	for (size_t i = 0; i < sizeof(skipped) / sizeof(skipped[0]); i++) {
		if (strcmp(key, skipped[i]) == 0)
			return true;
	}
	/* The name of the host; its target's names; those in the options of the run. */
	return (depth == 0 && strcmp(key, "host") == 0) ||
	       (depth == 2 && strcmp(key, d->plan ? "name" : "path") == 0) ||
	       (depth == 1 && strcmp(key, "targets") == 0);
}

static bool all_equal(const json_t *const *values, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (values[i] != values[0] &&
		    !(values[0] && values[i] &&
		      json_equal((json_t *)values[0], (json_t *)values[i])))
			return false;
	}
	return true;
}

/* Each value once, with its hosts. */
static void put_difference(struct differ *d, const char *path, const json_t *const *values)
{
	json_t *o = json_object(), *list = json_array(), *index = json_object();

	for (size_t i = 0; i < d->n; i++) {
		json_t *value = values[i] ? (json_t *)values[i] : json_null();
		char *text = jvalue_dump(value, JVALUE_FORMAT | JSON_ENCODE_ANY);
		json_t *one = text ? json_object_get(index, text) : NULL;

		if (text && !one) {
			one = json_pack("{s:O,s:[]}", "value", value, "hosts");
			json_array_append_new(list, one);
			json_object_set(index, text, one);
		}
		json_array_append_new(json_object_get(one, "hosts"), jvalue_count(i));
		free(text);
	}
	json_decref(index);
	jvalue_put(o, "name", jvalue_text(path));
	jvalue_put(o, "values", list);
	json_array_append_new(d->found, o);
}

static void combine_differ_walk(struct differ *d, const char *path, const json_t *const *values,
				unsigned depth);

static void walk_member(struct differ *d, const char *path, const json_t *const *values,
			const char *key, size_t index, unsigned depth)
{
	const json_t **members = calloc(d->n, sizeof(*members));
	char buf[PATH_SIZE];

	if (!members)
		jvalue_no_memory();
	if (key)
		snprintf(buf, sizeof(buf), "%s%s%s", path, *path ? " " : "", key);
	else
		snprintf(buf, sizeof(buf), "%s%s%zu", path, *path ? " " : "", index);
	for (char *c = buf; *c; c++)
		*c = *c == '_' ? ' ' : *c;
	for (size_t i = 0; members && i < d->n; i++) {
		members[i] = key ? json_object_get(values[i], key) :
				   json_array_get(values[i], index);
		/* Missing is as good as null. */
		if (json_is_null(members[i]))
			members[i] = NULL;
	}
	if (members)
		combine_differ_walk(d, buf, members, depth + 1);
	free(members);
}

/* The members of the first object, then those that only others have. */
static void walk_objects(struct differ *d, const char *path, const json_t *const *values,
			 unsigned depth)
{
	json_t *seen = json_object(), *value;
	const char *key;

	for (size_t i = 0; seen && i < d->n; i++) {
		if (i && values[i] == values[i - 1])
			continue;
		json_object_foreach((json_t *)values[i], key, value)
		{
			if (is_left_out(d, key, depth) || json_object_get(seen, key))
				continue;
			json_object_set_new(seen, key, json_true());
			walk_member(d, path, values, key, 0, depth);
		}
	}
	json_decref(seen);
}

/* Arrays of objects, such as targets; one of plain values is a value. */
static bool all_lists(const json_t *const *values, size_t n, size_t *longest)
{
	*longest = 0;
	for (size_t i = 0; i < n; i++) {
		size_t size = json_array_size(values[i]);

		if (!json_is_array(values[i]) || !json_is_object(json_array_get(values[i], 0)))
			return false;
		*longest = size > *longest ? size : *longest;
	}
	return true;
}

static void combine_differ_walk(struct differ *d, const char *path, const json_t *const *values,
				unsigned depth)
{
	bool objects = true;
	size_t longest;

	if (all_equal(values, d->n) || json_array_size(d->found) >= MAX_DIFFERENCES)
		return;
	for (size_t i = 0; i < d->n; i++)
		objects &= json_is_object(values[i]);
	if (objects && depth < MAX_DEPTH) {
		walk_objects(d, path, values, depth);
	} else if (all_lists(values, d->n, &longest) && depth < MAX_DEPTH) {
		for (size_t i = 0; i < longest; i++)
			walk_member(d, path, values, NULL, i, depth);
	} else {
		put_difference(d, path, values);
	}
}

json_t *combine_differences(const struct combine_host *hosts, size_t n, const char *member)
{
	struct differ d = { .found = json_array(), .n = n, .plan = strcmp(member, "plan") == 0 };
	const json_t **values = calloc(n, sizeof(*values));

	for (size_t i = 0; values && i < n; i++)
		values[i] = json_object_get(hosts[i].doc->root, member);
	if (values)
		combine_differ_walk(&d, "", values, 0);
	else
		jvalue_no_memory();
	free(values);
	return d.found;
}

#define NAMES_SHOWN 16

/* ---- hosts in the order of their names ---- */

static int by_name(const void *a, const void *b)
{
	const struct combine_host *x = *(const struct combine_host *const *)a;
	const struct combine_host *y = *(const struct combine_host *const *)b;
	const struct document *a_doc = x->doc, *b_doc = y->doc;
	const uint64_t a_rank = a_doc->ranked ? a_doc->rank + 1 : 0;
	const uint64_t b_rank = b_doc->ranked ? b_doc->rank + 1 : 0;
	int order = strcmp(x->name, y->name);

	if (!order)
		order = (a_rank > b_rank) - (a_rank < b_rank);
	if (!order)
		order = (a_doc->start_ns > b_doc->start_ns) - (a_doc->start_ns < b_doc->start_ns);
	return order ? order : (x > y) - (x < y);
}

/* Those without a rank come last; equal ranks stay in the order in which they were given. */
static int by_number(const void *a, const void *b)
{
	const struct combine_host *x = *(const struct combine_host *const *)a;
	const struct combine_host *y = *(const struct combine_host *const *)b;

	if (x->doc->ranked != y->doc->ranked)
		return x->doc->ranked ? -1 : 1;
	if (x->doc->ranked && x->doc->rank != y->doc->rank)
		return x->doc->rank < y->doc->rank ? -1 : 1;
	return (x > y) - (x < y);
}

static const struct combine_host **sorted(const struct combine_host *hosts, size_t n)
{
	const struct combine_host **order = calloc(n, sizeof(struct combine_host *));

	for (size_t i = 0; order && i < n; i++)
		order[i] = &hosts[i];
	if (order)
		qsort(order, n, sizeof(struct combine_host *), by_name);
	return order;
}

static bool same_place(const struct combine_host *a, const struct combine_host *b)
{
	return strcmp(a->name, b->name) == 0 && a->doc->ranked == b->doc->ranked &&
	       (!a->doc->ranked || a->doc->rank == b->doc->rank);
}

/* ---- do they belong together? ---- */

/* Each is to be combined once. */
static bool once_each(const struct combine_host *hosts, size_t n)
{
	const struct combine_host **order = sorted(hosts, n);
	bool good = order != NULL;

	if (!order)
		log_error("combine: %s", strerror(ENOMEM));
	for (size_t i = 1; good && i < n; i++) {
		const struct combine_host *a = order[i - 1], *b = order[i];

		if (!same_place(a, b) || a->doc->start_ns != b->doc->start_ns ||
		    !json_equal(a->doc->root, b->doc->root))
			continue;
		log_error("combine: %s: is the same document as %s; -force counts it twice",
			  b->doc->name, a->doc->name);
		good = false;
	}
	free(order);
	return good;
}

static bool same_run(const struct combine_host *hosts, size_t n)
{
	const struct document *a = hosts[0].doc;

	for (size_t i = 1; i < n; i++) {
		const struct document *b = hosts[i].doc;

		if (a->run_id && b->run_id && strcmp(a->run_id, b->run_id) == 0)
			continue;
		if (!a->run_id && !b->run_id)
			continue;
		return log_fail(
			false,
			"combine: %s: its run id is %s, and the run id of %s is %s: they are of "
			"different runs; -force combines them all the same",
			b->name, b->run_id ? b->run_id : "not given", a->name,
			a->run_id ? a->run_id : "not given");
	}
	return true;
}

static bool same_ranks(const struct combine_host *hosts, size_t n)
{
	const struct document *a = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct document *b = hosts[i].doc;

		if (!b->ranked)
			continue;
		if (!a)
			a = b;
		if (a->ranks == b->ranks)
			continue;
		return log_fail(false,
				"combine: %s: is of a run of %" PRIu64
				" ranks, and %s of one of %" PRIu64
				"; -force combines them all the same",
				b->name, b->ranks, a->name, a->ranks);
	}
	return true;
}

/* All are of one run. */
static bool rank_once(const struct combine_host *hosts, size_t n)
{
	const struct combine_host **order = calloc(n, sizeof(struct combine_host *));
	bool good = order != NULL;

	for (size_t i = 0; good && i < n; i++)
		order[i] = &hosts[i];
	if (good)
		qsort(order, n, sizeof(struct combine_host *), by_number);
	else
		log_error("combine: %s", strerror(ENOMEM));
	for (size_t i = 1; good && i < n; i++) {
		const struct document *a = order[i - 1]->doc, *b = order[i]->doc;

		if (!a->ranked || !b->ranked || a->rank != b->rank)
			continue;
		log_error("combine: %s: is of rank %" PRIu64 ", as %s is; give one document of "
			  "each rank, or -force to count both",
			  b->name, b->rank, a->name);
		good = false;
	}
	free(order);
	return good;
}

/* In global time where it is known, otherwise by the clocks of the hosts. */
static struct combine_span span_of(const struct combine_host *h)
{
	if (h->n_spans)
		return (struct combine_span){ h->spans[0].from_ns, h->spans[h->n_spans - 1].to_ns };
	return (struct combine_span){ h->doc->start_ns, h->doc->end_ns };
}

static bool same_time(const struct combine_host *hosts, size_t n)
{
	const struct combine_host *last = NULL, *first = NULL;

	for (size_t i = 0; i < n; i++) {
		struct combine_span s = span_of(&hosts[i]);

		if (!s.to_ns || hosts[i].idle)
			continue;
		if (!last || s.from_ns > span_of(last).from_ns)
			last = &hosts[i];
		if (!first || s.to_ns < span_of(first).to_ns)
			first = &hosts[i];
	}
	if (!first || span_of(last).from_ns <= span_of(first).to_ns)
		return true;
	return log_fail(
		false,
		"combine: %s: begins %.3f seconds after the end of %s, and they have no run id: "
		"they may be of different runs; -force combines them all the same",
		last->doc->name, (double)(span_of(last).from_ns - span_of(first).to_ns) / 1e9,
		first->doc->name);
}

bool combine_belong(const struct combine_host *hosts, size_t n, const struct combine_options *o)
{
	if (o->force)
		return true;
	return once_each(hosts, n) && same_run(hosts, n) && same_ranks(hosts, n) &&
	       (!hosts[0].doc->run_id || rank_once(hosts, n)) &&
	       (hosts[0].doc->run_id || same_time(hosts, n));
}

/* ---- are they complete? ---- */

/* Names, separated by commas; the first ones of many. */
struct names {
	struct memstream m;
	size_t n;
};

static void names_add(struct names *names, const char *name)
{
	if (!names->m.f && !names->n)
		memstream_open(&names->m);
	if (names->m.f && names->n < NAMES_SHOWN)
		fprintf(names->m.f, "%s%s", names->n ? ", " : "", name);
	names->n++;
}

/* A line of notes: `before` and the names. Nothing without names. */
static void names_note(struct names *names, json_t *notes, const char *before)
{
	struct memstream line;

	if (names->n > NAMES_SHOWN && names->m.f)
		fprintf(names->m.f, " and %zu more", names->n - NAMES_SHOWN);
	if (names->n && memstream_close(&names->m)) {
		jvalue_no_memory();
	} else if (names->n) {
		if (memstream_open(&line))
			fprintf(line.f, "%s%s", before, names->m.text);
		if (memstream_close(&line))
			jvalue_no_memory();
		else
			json_array_append_new(notes, jvalue_text(line.text));
		free(line.text);
	}
	memstream_discard(&names->m);
}

/* "node1" is "node1.example.org": only one of them may have a domain. */
static bool same_host(const char *a, const char *b)
{
	size_t len = strcspn(a, ".");

	if (strcmp(a, b) == 0)
		return true;
	return (!a[len] || !strchr(b, '.')) && strncmp(a, b, len) == 0 &&
	       (b[len] == '\0' || b[len] == '.');
}

/* "results/node1.json" is of node1, whatever the document says. */
static bool is_named(const char *document, const char *name)
{
	const char *last = strrchr(document, '/');
	size_t len = strlen(name);

	last = last ? last + 1 : document;
	return strncmp(last, name, len) == 0 &&
	       (last[len] == '\0' || strcmp(last + len, ".json") == 0);
}

static bool is_there(const struct combine_host *hosts, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (same_host(hosts[i].name, name) || is_named(hosts[i].doc->name, name))
			return true;
	}
	return false;
}

static void missing_hosts(const struct combine_host *hosts, size_t n,
			  const struct combine_options *o, json_t *missing, struct names *names)
{
	for (size_t i = 0; i < o->n_expected; i++) {
		if (is_there(hosts, n, o->expected[i]))
			continue;
		json_array_append_new(missing, jvalue_text(o->expected[i]));
		names_add(names, o->expected[i]);
	}
}

static int by_rank(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void missing_rank(uint64_t from, uint64_t to, const struct combine_options *o,
			 json_t *missing, struct names *names)
{
	for (uint64_t rank = from; rank < to; rank++) {
		const bool known = o->rank_hosts && rank < o->n_rank_hosts;
		char text[COMBINE_LABEL_SIZE];

		snprintf(text, sizeof(text), "rank %" PRIu64 "%s%.90s", rank, known ? " on " : "",
			 known ? o->rank_hosts[rank] : "");
		names_add(names, text);
		if (json_array_size(missing) < COMBINE_MAX_DOCUMENTS)
			json_array_append_new(missing, jvalue_text(text));
	}
}

/* The ranks that no document is of. */
static void missing_ranks(const struct combine_host *hosts, size_t n,
			  const struct combine_options *o, json_t *missing, struct names *names)
{
	uint64_t *ranks = calloc(n, sizeof(*ranks)), next = 0, all = 0;
	size_t found = 0;

	if (!ranks)
		jvalue_no_memory();
	for (size_t i = 0; ranks && i < n; i++) {
		if (!hosts[i].doc->ranked)
			continue;
		ranks[found++] = hosts[i].doc->rank;
		all = hosts[i].doc->ranks > all ? hosts[i].doc->ranks : all;
	}
	if (ranks)
		qsort(ranks, found, sizeof(*ranks), by_rank);
	for (size_t i = 0; i < found; i++) {
		missing_rank(next, ranks[i], o, missing, names);
		next = ranks[i] + 1 > next ? ranks[i] + 1 : next;
	}
	missing_rank(next, all, o, missing, names);
	free(ranks);
}

/* The name of a file, without its directory and .json. */
static int stem(const char *document, const char **from)
{
	const char *last = strrchr(document, '/');
	size_t len;

	*from = last ? last + 1 : document;
	len = strlen(*from);
	if (len > 5 && strcmp(*from + len - 5, ".json") == 0)
		len -= 5;
	return len < COMBINE_LABEL_SIZE ? (int)len : COMBINE_LABEL_SIZE;
}

static void set_label(struct combine_host *h, bool again)
{
	const char *file;
	int len = stem(h->doc->name, &file);
	size_t kept = 0, one;

	if (h->doc->ranked)
		snprintf(h->label, sizeof(h->label), "%.100s/%" PRIu64, h->called, h->doc->rank);
	else if (again)
		snprintf(h->label, sizeof(h->label), "%.60s:%.*s", h->called, len, file);
	else
		snprintf(h->label, sizeof(h->label), "%s", h->called);
	/* A character that is cut in its middle is no text. */
	while (h->label[kept] && (one = utf8_length(h->label + kept)))
		kept += one;
	h->label[kept] = '\0';
}

/* Several results of one host, and of one rank where there are ranks. */
void combine_label(struct combine_host *hosts, size_t n, json_t *notes)
{
	const struct combine_host **order = sorted(hosts, n);
	struct names names = { .n = 0 };

	if (!order)
		jvalue_no_memory();
	for (size_t i = 0; order && i < n; i++) {
		bool before = i && same_place(order[i - 1], order[i]);
		bool after = i + 1 < n && same_place(order[i], order[i + 1]);

		set_label(&hosts[order[i] - hosts], before || after);
		if (after && !before)
			names_add(&names, order[i]->name);
	}
	names_note(&names, notes, "several documents are of the same host: ");
	free(order);
}

void combine_missing(const struct combine_host *hosts, size_t n, const struct combine_options *o,
		     json_t *missing, json_t *notes)
{
	struct names gone = { .n = 0 }, cut = { .n = 0 }, idle = { .n = 0 };

	missing_hosts(hosts, n, o, missing, &gone);
	missing_ranks(hosts, n, o, missing, &gone);
	for (size_t i = 0; i < n; i++) {
		if (!hosts[i].combined || hosts[i].idle)
			names_add(&idle, hosts[i].label);
		else if (hosts[i].doc->partial)
			names_add(&cut, hosts[i].label);
	}
	names_note(&gone, notes, "missing, and not in the sums: ");
	names_note(&idle, notes, "did no operation: ");
	names_note(&cut, notes, "cut short, and in the sums with what was done until then: ");
}
