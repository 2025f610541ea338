/*
 * The notes of a sweep: the warnings of the plans of its points, and the findings of their runs,
 * each once with the points that it concerns. Called by sweep.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands/captured.h"
#include "commands/sweep.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/plan/plan.h"

#define LABEL_SIZE 160
#define POINTS_SIZE 640
#define EXAMPLES 3

/* A warning of the plans of some points. */
struct sweep_warning {
	const char *text;
	bool *points;
	struct sweep_warning *next;
};

/* ---- the points, in words ---- */

/* Those that are run: all of a sweep, and of a curve as many as it has come to. */
static size_t points_of(const struct sweep *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->vary.n_points; i++)
		n += !s->results.points[i].unused;
	return n;
}

static void put_label(const struct sweep *s, size_t point, char *buf, size_t size)
{
	char label[LABEL_SIZE];

	sweep_label(&s->vary, point, label, sizeof(label));
	if (*label)
		snprintf(buf, size, "%s", label);
	else
		snprintf(buf, size, "point %zu", point + 1);
}

static size_t count(const struct sweep *s, const bool *points)
{
	size_t n = 0;

	for (size_t i = 0; i < s->vary.n_points; i++)
		n += points[i];
	return n;
}

/* "all 6 points", "the point", or "2 of 6 points: queuedepth 1; queuedepth 2", in `buf`. */
static const char *points_text(const struct sweep *s, const bool *points, char *buf, size_t size)
{
	const size_t all = points_of(s), n = count(s, points);
	size_t shown = 0, len;

	if (n >= all) {
		if (all > 2)
			snprintf(buf, size, "all %zu points", all);
		else
			snprintf(buf, size, "%s", all == 1 ? "the point" : "both points");
		return buf;
	}
	len = (size_t)snprintf(buf, size, "%zu of %zu points:", n, all);
	for (size_t i = 0; i < s->vary.n_points && shown < EXAMPLES && len < size; i++) {
		char label[LABEL_SIZE];

		if (!points[i])
			continue;
		put_label(s, i, label, sizeof(label));
		len += (size_t)snprintf(buf + len, size - len, "%s %s", shown++ ? ";" : "", label);
	}
	if (n > shown && len < size)
		snprintf(buf + len, size - len, "; and %zu more", n - shown);
	return buf;
}

/* ---- warnings of plans ---- */

static struct sweep_warning *new_warning(struct sweep *s, const char *text)
{
	struct sweep_warning **end = &s->warnings, *w = arena_alloc(s->arena, sizeof(*w));

	if (!w)
		return NULL;
	*w = (struct sweep_warning){
		.text = arena_strdup(s->arena, text),
		.points = arena_alloc(s->arena, s->vary.n_points * sizeof(*w->points)),
	};
	if (!w->text || !w->points)
		return NULL;
	memset(w->points, 0, s->vary.n_points * sizeof(*w->points));
	while (*end)
		end = &(*end)->next;
	return *end = w;
}

static void add_warning(struct sweep *s, size_t point, const char *text)
{
	struct sweep_warning *w = s->warnings;

	while (w && strcmp(w->text, text))
		w = w->next;
	if (!w)
		w = new_warning(s, text);
	/* One that is lost for want of memory is none that the results depend on. */
	if (w)
		w->points[point] = true;
}

void sweep_keep_warnings(struct sweep *s, size_t point, const struct plan *plan)
{
	static const char prefix[] = "warning: ";
	struct captured c = { .size = 0 };
	char *rest = c.text, *line;

	log_divert(captured_add, &c);
	plan_warn(plan);
	log_divert(NULL, NULL);
	while (c.size && (line = strsep(&rest, "\n")) && *line) {
		const char *text = captured_message(line);

		if (strncmp(text, prefix, sizeof(prefix) - 1) == 0)
			text += sizeof(prefix) - 1;
		add_warning(s, point, text);
	}
}

void sweep_log_warnings(const struct sweep *s)
{
	char points[POINTS_SIZE];

	for (const struct sweep_warning *w = s->warnings; w; w = w->next) {
		if (count(s, w->points) == s->vary.n_points)
			log_warning("%s", w->text);
		else
			log_warning("%s (%s)", w->text,
				    points_text(s, w->points, points, sizeof(points)));
	}
}

/* ---- after the table ---- */

static void put_note(const struct sweep *s, const char *kind, const char *text, const bool *points)
{
	char of[POINTS_SIZE];

	printf("%s: ", kind);
	printable_put(stdout, text);
	fputs(", at ", stdout);
	printable_put(stdout, points_text(s, points, of, sizeof(of)));
	putchar('\n');
}

void sweep_show_notes(const struct sweep *s)
{
	bool *points = s->quiet ? NULL : calloc(s->vary.n_points, sizeof(*points));
	const char *text;

	if (!points)
		return;
	for (unsigned kind = 0; (text = sweep_finding_text(kind)); kind++) {
		bool any = false;

		for (size_t i = 0; i < s->vary.n_points; i++) {
			points[i] = sweep_findings(&s->results.points[i]) >> kind & 1;
			any |= points[i];
		}
		if (any)
			put_note(s, "Finding", text, points);
	}
	for (const struct sweep_warning *w = s->warnings; w; w = w->next)
		put_note(s, "Warning", w->text, w->points);
	free(points);
}
