/*
 * Findings of a run about its own numbers; see the header. Called by the run.
 */
#include "xdd/report/result.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report_internal.h"
#include "xdd/base/log.h"

#define TEXT_BYTES 1024

/* Fewer targets have a message each, with their names. */
#define GROUP_LEAST 4

/* Returns false when memory is short. */
static bool keep(struct report *r, enum finding_kind kind, int64_t target, const char *text)
{
	struct finding *grown;
	char *copy = strdup(text);

	if (!copy)
		return false;
	pthread_mutex_lock(&r->findings_lock);
	grown = realloc(r->findings, (r->n_findings + 1) * sizeof(*grown));
	if (grown) {
		r->findings = grown;
		r->findings[r->n_findings++] =
			(struct finding){ .kind = kind, .target = target, .text = copy };
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

void report_finding(struct report *r, enum finding_kind kind, int64_t target, const char *fmt, ...)
{
	char text[TEXT_BYTES];
	va_list ap;
	bool kept;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	kept = r && keep(r, kind, target, text);
	if (!kept)
		log_warning("%s", text);
	else if (!r->findings_held)
		put_message(r, text);
}

void report_findings_hold(struct report *r)
{
	r->findings_held = true;
	r->first_held = r->n_findings;
}

/* The text of a finding after "target N, path: ", or NULL. */
static const char *text_of_all(const struct report *r, const struct finding *f)
{
	char prefix[TEXT_BYTES];
	size_t len;

	if (f->target < 0 || (uint64_t)f->target >= r->plan->n_targets)
		return NULL;
	len = (size_t)snprintf(prefix, sizeof(prefix), "target %" PRId64 ", %s: ", f->target,
			       r->plan->targets[f->target].path);
	return len < sizeof(prefix) && strncmp(f->text, prefix, len) == 0 ? f->text + len : NULL;
}

/* A finding that waits for its message. */
struct held {
	const struct finding *finding;
	const char *text; /* of all targets; NULL: it cannot be put together with others */
	bool done;
};

static bool is_same(const struct held *a, const struct held *b)
{
	return !b->done && a->finding->kind == b->finding->kind && a->text && b->text &&
	       strcmp(a->text, b->text) == 0;
}

/* Add "3" or "3 to 7" to a list in `buf`; "..." where it is full. */
static void add_range(char *buf, size_t size, int64_t first, int64_t last)
{
	size_t len = strlen(buf);
	const char *comma = len ? ", " : "";

	if (len + 64 > size && !strstr(buf, "..."))
		snprintf(buf + len, size - len, ", ...");
	else if (len + 64 <= size && first == last)
		snprintf(buf + len, size - len, "%s%" PRId64, comma, first);
	else if (len + 64 <= size)
		snprintf(buf + len, size - len, "%s%" PRId64 " to %" PRId64, comma, first, last);
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
	snprintf(text, sizeof(text), "targets %s: %s", targets, h->text);
	put_message(r, text);
}

void report_findings_release(struct report *r)
{
	const size_t n = r->n_findings - r->first_held;
	struct held *held = calloc(n + 1, sizeof(*held));

	r->findings_held = false;
	for (size_t i = 0; i < n; i++) {
		const struct finding *f = &r->findings[r->first_held + i];

		if (held)
			held[i] = (struct held){ .finding = f, .text = text_of_all(r, f) };
		else
			put_message(r, f->text);
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
