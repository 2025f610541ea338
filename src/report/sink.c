/*
 * Reports without outputs, whose results go to a sink; see the header. Called by commands and by
 * the run.
 */
#include "xdd/report/sink.h"

#include <errno.h>
#include <string.h>

#include "report/report_internal.h"
#include "xdd/base/log.h"

enum xdd_status report_open_sink(const struct plan *plan, const struct report_sink *sink,
				 struct report **out)
{
	struct report *r = report_new(plan);

	*out = r;
	if (!r) {
		log_error("%s", strerror(ENOMEM));
		return XDD_INIT_FAILED;
	}
	r->sink = sink;
	return XDD_OK;
}

bool report_takes_failures(const struct report *r)
{
	return r->sink && r->sink->failure;
}

void report_failure(struct report *r, const struct report_failure *failure)
{
	pthread_mutex_lock(&r->findings_lock);
	r->sink->failure(r->sink->arg, failure);
	pthread_mutex_unlock(&r->findings_lock);
}

const char *report_title(const struct report *r)
{
	return r->sink ? r->sink->title : NULL;
}

void report_end_sink(const struct report *r, enum report_end end)
{
	const struct report_sink *sink = r->sink;

	for (size_t i = 0; sink->finding && i < r->n_findings; i++)
		sink->finding(sink->arg, &r->findings[i]);
	if (sink->end)
		sink->end(sink->arg, end);
}
