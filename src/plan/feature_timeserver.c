/*
 * The global clock: the suboptions of -timeserver, and the check of -starttime. Their rows are in
 * the group of feature_coordination.c. The user guide, 4.6.
 */
#include "plan/feature.h"

#include <stdio.h>
#include <string.h>

#include "plan/errors.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

#define S(field) PLAN_FIELD(timeserver.field)
#define MAX_ERROR_NS (3600 * NS_PER_SEC)
#define MAX_WAIT_NS (24 * 3600 * NS_PER_SEC)
#define MAX_NUMBER 32
#define WEEK_NS (7 * 24 * 3600 * NS_PER_SEC)

/* A number alone is milliseconds, as the smallest useful errors are parts of them. */
static enum xdd_status apply_max_error(const struct setting *s, void *dst)
{
	struct plan *plan = dst;
	const char *text = s->args[0].text;
	size_t len = strlen(text);
	bool bare = len && strspn(text, "0123456789.") == len;
	char word[MAX_NUMBER + sizeof("ms")];
	uint64_t ns;

	if (len <= MAX_NUMBER)
		snprintf(word, sizeof(word), "%s%s", text, bare ? "ms" : "");
	if (len > MAX_NUMBER || units_parse_seconds(word, &ns) || !ns || ns > MAX_ERROR_NS)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "expected milliseconds, or a time with a suffix such as 50us, "
				   "up to 1h");
	plan->timeserver.max_error_ns = ns;
	return XDD_OK;
}

const struct option timeserver_rows[] = {
	{ .name = "host",
	  .type = OPT_TEXT,
	  .arg = "<name>",
	  S(host),
	  .help = "the host that xdd timeserver runs on: a name or an address" },
	{ .name = "port",
	  .type = OPT_U64,
	  .arg = "<#>",
	  .min = 1,
	  .max = UINT16_MAX,
	  .def = "2000",
	  S(port),
	  .help = "its port" },
	{ .name = "bounce",
	  .type = OPT_U64,
	  .arg = "<#messages>",
	  .min = 1,
	  .max = TIMESERVER_MAX_BOUNCE,
	  .unit = "messages",
	  .def = "100",
	  S(bounce),
	  .help = "messages that are exchanged before the run: more make the error smaller" },
	{ .name = "maxerror",
	  .type = OPT_CUSTOM,
	  .arg = "<milliseconds>",
	  .apply = apply_max_error,
	  .help = "refuse to run if the global clock is not known as exactly as this" },
	{ .name = "wait",
	  .type = OPT_SECONDS,
	  .arg = "<seconds>",
	  .min = 0,
	  .max = MAX_WAIT_NS,
	  .def = "0",
	  S(wait_ns),
	  .help = "keep trying for so long to reach the server, and maxerror; 0: one attempt" },
	{ 0 },
};

enum xdd_status plan_check_start_time(const struct plan *plan, uint64_t now_ns, const char *clock)
{
	uint64_t at = plan->start_time_ns;
	bool ahead = at > now_ns;

	if (!at || (ahead && at - now_ns <= WEEK_NS))
		return XDD_OK;
	log_error("-starttime %.3f: is %.3f seconds in the %s: the clock of %s shows %.3f%s",
		  (double)at / 1e9, (double)(ahead ? at - now_ns : now_ns - at) / 1e9,
		  ahead ? "future" : "past", clock, (double)now_ns / 1e9,
		  ahead ? ", and a week is the most" : "");
	return XDD_BAD_ARGUMENT;
}

static enum xdd_status check(struct plan *plan)
{
	const struct timeserver_options *s = &plan->timeserver;
	const char *word = s->max_error_ns		  ? "maxerror" :
			   s->wait_ns			  ? "wait" :
			   s->port != TIMESERVER_PORT	  ? "port" :
			   s->bounce != TIMESERVER_BOUNCE ? "bounce" :
							    NULL;

	/* Of the server's clock, once it is known. */
	if (s->host)
		return XDD_OK;
	if (word) {
		log_error("-timeserver %s: expected -timeserver host <name> as well", word);
		return XDD_BAD_ARGUMENT;
	}
	return plan_check_start_time(plan, clock_wall_ns(), "this machine");
}

const struct plan_feature feature_timeserver = {
	.plan = { [PLAN_CHECK] = check },
};
