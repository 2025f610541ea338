/*
 * The client of -timeserver before the run; see the header.
 */
#include "xdd/run/timebase.h"

#include <errno.h>
#include <stdio.h>

#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

#define RETRY_NS (NS_PER_SEC / 5)

_Static_assert(TIMESERVER_PORT == GLOBALTIME_PORT, "the default of -timeserver port");
_Static_assert(TIMESERVER_MAX_BOUNCE == GLOBALTIME_MAX_BOUNCE, "the limit of -timeserver bounce");

/* False, with the reason in `why`: the clock is not known well enough. */
static bool is_exact(const struct timeserver_options *s, struct globaltime_client *client,
		     char *why, size_t size)
{
	struct globaltime now;

	globaltime_get(client, clock_now_ns(), &now);
	if (!s->max_error_ns || now.bound_ns <= s->max_error_ns)
		return true;
	snprintf(why, size,
		 "the global clock is known within %.6f ms only, and maxerror allows %.6f ms; use "
		 "more -timeserver bounce, a quieter network, or -timeserver wait",
		 (double)now.bound_ns / 1e6, (double)s->max_error_ns / 1e6);
	return false;
}

/* One attempt. Returns 0, or -errno with the reason in `why`. */
static int reach(const struct timeserver_options *s, uint64_t timeout_ns, struct stop *stop,
		 struct globaltime_client **client, char *why, size_t size)
{
	const struct globaltime_settings settings = {
		.host = s->host,
		.port = (uint16_t)s->port,
		.bounce = (unsigned)s->bounce,
		.timeout_ns = timeout_ns,
	};
	int err = globaltime_begin(client, &settings, stop, why, size);

	if (err || is_exact(s, *client, why, size))
		return err;
	globaltime_end(*client);
	*client = NULL;
	return -ETIME;
}

/* As reach(), until the time of -timeserver wait is over. */
static int reach_in_time(const struct timeserver_options *s, struct stop *stop,
			 struct globaltime_client **client, char *why, size_t size)
{
	const uint64_t end = clock_now_ns() + s->wait_ns;
	uint64_t timeout_ns = s->wait_ns;

	for (;;) {
		int err = reach(s, timeout_ns, stop, client, why, size);
		uint64_t now = clock_now_ns();

		if (!err || err == -ECANCELED || now + RETRY_NS >= end)
			return err;
		if (stop_sleep_until(stop, now + RETRY_NS))
			return -ECANCELED;
		timeout_ns = end - now;
	}
}

/* -starttime and -ts triggertime, by the clock of the server. */
static enum xdd_status check_times(const struct plan *plan, struct globaltime_client *client)
{
	uint64_t now = clock_now_ns();
	struct globaltime global;
	enum xdd_status status;

	globaltime_get(client, now, &global);
	now += (uint64_t)global.offset_ns;
	status = plan_check_start_time(plan, now, globaltime_server(client));
	if (!status)
		plan_warn_trigger_times(plan, now);
	return status;
}

enum xdd_status timebase_open(const struct plan *plan, struct stop *stop,
			      struct globaltime_client **client)
{
	const struct timeserver_options *s = &plan->timeserver;
	char why[GLOBALTIME_WHY_BYTES] = "";
	enum xdd_status status;
	int err;

	*client = NULL;
	if (!s->host)
		return XDD_OK;
	/* The clock that the client compares with is that of the run. */
	clock_calibrate();
	err = reach_in_time(s, stop, client, why, sizeof(why));
	if (err == -ECANCELED)
		return XDD_CANCELED;
	if (err) {
		log_error("-timeserver %s: %s", s->host, why);
		return XDD_INIT_FAILED;
	}
	status = check_times(plan, *client);
	if (status) {
		globaltime_end(*client);
		*client = NULL;
	}
	return status;
}
