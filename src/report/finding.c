/*
 * Findings of a run about its own numbers; see the header. Called by the run.
 */
#include "xdd/report/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report_internal.h"
#include "xdd/base/log.h"

#define TEXT_BYTES 1024

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
	return r->sink || (report_person(r) && log_shares_terminal(r->text.fd));
}

void report_finding(struct report *r, enum finding_kind kind, int64_t target, const char *fmt, ...)
{
	char text[TEXT_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (r && keep(r, kind, target, text) && shows_findings(r))
		log_keep_warning(text);
	else
		log_warning("%s", text);
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
