/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Findings of a run about its own numbers, and the table of rules; see the headers. Called by the
 * run.
 */
#include "xdd/report/result.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report_internal.h"
#include "xdd/base/log.h"
#include "xdd/base/text.h"
#include "xdd/report/rule.h"

#define TEXT_BYTES 1024

/* Fewer targets have a message each, with their names. */
#define GROUP_LEAST 4

/* Keeps a copy of the text. Returns false when memory is short. */
static bool keep(struct report *r, struct finding finding)
{
	struct finding *grown;
	char *copy = strdup(finding.text);

	if (!copy)
		return false;
	finding.text = copy;
	pthread_mutex_lock(&r->findings_lock);
	grown = realloc(r->findings, (r->n_findings + 1) * sizeof(*grown));
	if (grown) {
		r->findings = grown;
		r->findings[r->n_findings++] = finding;
	}
	pthread_mutex_unlock(&r->findings_lock);
	if (!grown)
		free(copy);
	return grown;
}

/* True if findings are shown elsewhere, so that a message beside them would repeat them. */
static bool shows_findings(const struct report *r)
{
	const int fd = r->plan->output_file ? r->screen.fd : r->text.fd;

	return r->sink || (report_person(r) && log_shares_terminal(fd));
}

static void put_message(const struct report *r, const char *text)
{
	if (r && shows_findings(r))
		log_keep_warning(text);
	else
		log_warning("%s", text);
}

struct finding_about finding_of_target(const struct target_plan *t)
{
	return (struct finding_about){ t->number, t->path, t->direct_io };
}

struct finding_about finding_of_run(const char *name, bool direct)
{
	return (struct finding_about){ FINDING_RUN, name, direct };
}

const char *finding_advice(const struct finding *f)
{
	const struct rule *rule = &rule_table[f->rule];

	return f->direct && rule->advice_direct ? rule->advice_direct : rule->advice;
}

void report_finding(struct report *r, struct finding_about about, enum rule_id rule,
		    const char *says, ...)
{
	char text[TEXT_BYTES] = "";
	struct finding finding = {
		.rule = rule, .target = about.target, .direct = about.direct, .text = text
	};
	va_list ap;

	if (about.target >= 0)
		text_add(text, sizeof(text), "target %" PRId64 ", ", about.target);
	if (about.name)
		text_add(text, sizeof(text), "%s: ", about.name);
	finding.sentence = strlen(text);
	va_start(ap, says);
	text_vadd(text, sizeof(text), says, ap);
	va_end(ap);
	finding.advice = strlen(text);
	if (finding_advice(&finding))
		text_add(text, sizeof(text), "; %s", finding_advice(&finding));
	if (!r || !keep(r, finding))
		log_warning("%s", text);
	else if (!r->findings_held)
		put_message(r, text);
}

void report_findings_hold(struct report *r)
{
	r->findings_held = true;
	r->first_held = r->n_findings;
}

/* A finding that waits for its message. */
struct held {
	const struct finding *finding;
	bool done;
};

static bool is_same(const struct held *a, const struct held *b)
{
	const struct finding *f = a->finding, *g = b->finding;

	return !b->done && f->rule == g->rule && f->target >= 0 && g->target >= 0 &&
	       strcmp(f->text + f->sentence, g->text + g->sentence) == 0;
}

/* Add "3" or "3 to 7" to a list in `buf`; "..." where it is full. */
static void add_range(char *buf, size_t size, int64_t first, int64_t last)
{
	const bool full = strlen(buf) + 64 > size;

	if (full && !strstr(buf, "..."))
		text_list(buf, size, "...");
	else if (!full && first == last)
		text_list(buf, size, "%" PRId64, first);
	else if (!full)
		text_list(buf, size, "%" PRId64 " to %" PRId64, first, last);
}

/* One message for `h` and all up to `end` that are the same, which are done then. */
static void put_group(const struct report *r, struct held *h, struct held *end)
{
	char text[TEXT_BYTES + 256], targets[192] = "";
	int64_t first = h->finding->target, last = first;
	size_t n = 1;

	for (const struct held *k = h + 1; k < end; k++)
		n += is_same(h, k);
	if (n < GROUP_LEAST) {
		put_message(r, h->finding->text);
		return;
	}
	for (struct held *k = h + 1; k < end; k++) {
		if (!is_same(h, k))
			continue;
		k->done = true;
		if (k->finding->target != last + 1) {
			add_range(targets, sizeof(targets), first, last);
			first = k->finding->target;
		}
		last = k->finding->target;
	}
	add_range(targets, sizeof(targets), first, last);
	snprintf(text, sizeof(text), "targets %s: %s", targets,
		 h->finding->text + h->finding->sentence);
	put_message(r, text);
}

void report_findings_release(struct report *r)
{
	const size_t n = r->n_findings - r->first_held;
	struct held *held = calloc(n + 1, sizeof(*held));

	r->findings_held = false;
	for (size_t i = 0; i < n; i++) {
		if (held)
			held[i].finding = &r->findings[r->first_held + i];
		else
			put_message(r, r->findings[r->first_held + i].text);
	}
	for (size_t i = 0; held && i < n; i++) {
		if (!held[i].done)
			put_group(r, &held[i], held + n);
	}
	free(held);
}

const struct finding *report_findings(const struct report *r, size_t *n)
{
	*n = r->n_findings;
	return r->findings;
}

void findings_free(struct report *r)
{
	for (size_t i = 0; i < r->n_findings; i++)
		free((char *)r->findings[i].text);
	free(r->findings);
}

/* ---- the tables of rules and causes ---- */

#define RULE(id, says, ...) [RULE_##id] = { .sentence = says, __VA_ARGS__ },
const struct rule rule_table[RULES] = {
#include "xdd/report/rules.def"
};

#define CAUSE(bound, ...) [RESULT_BOUND_##bound] = { __VA_ARGS__ }
const struct result_cause result_causes[RESULT_BOUNDS] = {
	CAUSE(DEVICE, "device", "device-bound", "the storage", "device", false, RULE_BY_DEVICE),
	CAUSE(GENERATOR, "generator", "generator-bound", "xdd and the kernel", "busy", false,
	      RULE_GENERATOR),
	CAUSE(PACED, "paced", "paced", "its own pace", "pace", false, RULE_BY_PACE),
	CAUSE(STARVED, "starved", "starved", "other programs", "no_processor", true,
	      RULE_BY_OTHERS),
	CAUSE(MIXED, "mixed", "mixed", "no single cause", NULL, false, RULE_BY_SEVERAL),
	CAUSE(QUOTA, "quota", "quota", "a CPU quota", "no_processor", true, RULE_BY_QUOTA),
	CAUSE(LIMIT, "io_quota", "io_quota", "an I/O quota", "device", true, RULE_BY_LIMIT),
};
