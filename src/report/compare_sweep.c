/*
 * Sweeps side by side, point by point: see the header. Called by compare.c.
 */
#include <stdlib.h>
#include <string.h>

#include "xdd/base/memory.h"
#include "xdd/report/compare.h"

/* A point of both sides; the runs' documents are the point's objects, which the sweeps own. */
struct point {
	struct compare_side a, b;
	struct compare_run runs[];
};

/* The point of a sweep with these values; NULL: it has none. */
static json_t *find_point(const struct compare_run *sweep, const json_t *varied)
{
	json_t *point;
	size_t i;

	json_array_foreach(json_object_get(sweep->root, "points"), i, point)
	{
		if (json_equal(json_object_get(point, "varied"), varied))
			return point;
	}
	return NULL;
}

/* Find the point in each sweep of a side. False: it is missing in one. */
static bool fill(const struct compare_side *sweeps, struct compare_side *side, size_t at,
		 const json_t *varied)
{
	for (size_t i = 0; i < sweeps->n; i++) {
		json_t *found =
			at < json_array_size(json_object_get(sweeps->runs[i].root, "points")) ?
				json_array_get(json_object_get(sweeps->runs[i].root, "points"),
					       at) :
				NULL;

		/* Most often it has the same number. */
		if (!found || !json_equal(json_object_get(found, "varied"), varied))
			found = find_point(&sweeps->runs[i], varied);
		if (!found)
			return false;
		side->runs[i] = sweeps->runs[i];
		side->runs[i].root = found;
		if (!compare_statistic(&side->runs[i], -1))
			return false;
	}
	return true;
}

/* "queuedepth 4, reqsize 4k"; to be freed. */
static char *name_of(const json_t *varied)
{
	struct memstream m;
	const char *option, *comma = "";
	json_t *value;

	if (!memstream_open(&m))
		return NULL;
	json_object_foreach((json_t *)(uintptr_t)varied, option, value)
	{
		fprintf(m.f, "%s%s %s", comma, option, json_string_value(value));
		comma = ", ";
	}
	if (!*comma)
		fputs("the point", m.f);
	return memstream_close(&m) ? NULL : m.text;
}

static enum compare_kind kind_of(const struct compare_points *points, const json_t *point)
{
	const json_t *round = json_array_get(json_object_get(point, "rounds"), 0);

	if (!points->curve)
		return COMPARE_TARGET;
	return json_is_number(json_object_get(round, "response")) ? COMPARE_LOAD : COMPARE_LOOP;
}

static bool are_curves(const struct compare_side *side)
{
	for (size_t i = 0; i < side->n; i++) {
		if (!json_is_object(json_object_get(side->runs[i].root, "curve")))
			return false;
	}
	return true;
}

static bool add_point(const struct compare_side *a, const struct compare_side *b, size_t at,
		      struct compare_points *points)
{
	const json_t *varied = json_object_get(
		json_array_get(json_object_get(a->runs[0].root, "points"), at), "varied");
	struct compare_subject *subject = &points->subjects[points->n];
	struct point *p = calloc(1, sizeof(*p) + (a->n + b->n) * sizeof(p->runs[0]));
	char *name;

	if (!p)
		return false;
	p->a = (struct compare_side){ a->name, p->runs, a->n };
	p->b = (struct compare_side){ b->name, p->runs + a->n, b->n };
	if (!fill(a, &p->a, at, varied) || !fill(b, &p->b, at, varied)) {
		points->left_out++;
		free(p);
		return true;
	}
	name = name_of(varied);
	if (!name) {
		free(p);
		return false;
	}
	*subject = (struct compare_subject){ .target = -1,
					     .name = name,
					     .a = &p->a,
					     .b = &p->b,
					     .kind = kind_of(points, p->runs[0].root) };
	points->n++;
	if (strlen(name) > points->width)
		points->width = strlen(name);
	return true;
}

bool compare_sweep_points(const struct compare_side *a, const struct compare_side *b,
			  struct compare_points *points)
{
	const size_t n = json_array_size(json_object_get(a->runs[0].root, "points"));
	size_t most = n;

	*points = (struct compare_points){ .subjects = calloc(n + 1, sizeof(*points->subjects)),
					   .curve = are_curves(a) && are_curves(b) };
	if (!points->subjects)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!add_point(a, b, i, points)) {
			compare_sweep_free(points);
			return false;
		}
	}
	for (size_t i = 0; i < b->n; i++) {
		const size_t other = json_array_size(json_object_get(b->runs[i].root, "points"));

		most = other > most ? other : most;
	}
	points->left_out = most - points->n;
	if (points->curve)
		points->subjects[points->n++] = (struct compare_subject){
			.target = -1, .name = "the curve", .a = a, .b = b, .kind = COMPARE_CURVE
		};
	return true;
}

void compare_sweep_free(struct compare_points *points)
{
	for (size_t i = 0; i < points->n; i++) {
		if (points->subjects[i].kind == COMPARE_CURVE)
			continue;
		free((char *)(uintptr_t)points->subjects[i].name);
		/* The side is the first member of its point. */
		free((struct compare_side *)(uintptr_t)points->subjects[i].a);
	}
	free(points->subjects);
	*points = (struct compare_points){ .n = 0 };
}
