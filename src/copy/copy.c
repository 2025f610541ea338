/*
 * A copy as its user started it: attempts, and the report. Called by the command xdd copy.
 */
#include "xdd/copy/copy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "copy/attempt.h"
#include "copy/role.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

/* Between attempts: doubled each time. */
#define PAUSE_NS NS_PER_SEC
#define MOST_PAUSE_NS (30 * NS_PER_SEC)

/* Paths for both sides; those of a remote host that are empty are its home directory. */
static const char *path_of(const struct copy_place *p)
{
	return *p->path ? p->path : ".";
}

/* A name with a host that is also that of a local file; NULL: there is none. */
static const char *local_name(const struct copy_place *places, size_t n)
{
	struct stat st;

	for (size_t i = 0; i < n; i++) {
		if (places[i].host && places[i].word && lstat(places[i].word, &st) == 0)
			return places[i].word;
	}
	return NULL;
}

/* The host that ssh did not reach may be the begin of a local name. */
static void hint_at_local_name(struct copy_attempt *a)
{
	const struct copy_request *r = a->request;
	const char *name = a->at == COPY_SOURCE ? local_name(r->sources, r->n_sources) :
						  local_name(&r->destination, 1);
	size_t length = strlen(a->why);

	if (name)
		snprintf(a->why + length, sizeof(a->why) - length,
			 "; for the local file of this name say ./%s", name);
}

/* Why there is no good end, as a line of the report. */
static void report_why(struct copy_report *report, const struct copy_attempt *a, int status)
{
	struct copy_failure f = { .status = (uint32_t)status };

	memcpy(f.text, a->why, sizeof(f.text));
	copy_report_failure(report, a->at, &f);
}

/* `left` attempts of request->retries are left. */
static void note_retry(struct copy_report *report, const struct copy_attempt *a, unsigned left)
{
	const char *host = attempt_place(a, a->at)->host;
	const unsigned retries = a->request->retries;

	copy_report_note(report, "%s: %s; attempt %u of %u follows", host ? host : "this host",
			 a->why, retries - left + 2, retries + 1);
}

static void stop_sleeping(void *arg)
{
	stop_request(arg, STOP_SIGNAL, 0);
}

/* Wait before another attempt. False: a signal came. */
static bool pause_before(struct copy_signals *signals, uint64_t ns)
{
	struct stop stop;
	bool slept;

	stop_init(&stop);
	copy_signals_attach(signals, NULL, stop_sleeping, &stop);
	slept = stop_sleep_until(&stop, clock_now_ns() + ns) == 0;
	copy_signals_detach(signals);
	stop_destroy(&stop);
	return slept;
}

/* A list on standard input can be read once only. */
static bool can_repeat(const struct copy_request *r)
{
	return !r->settings.list || strcmp(r->sources[0].path, "-") != 0;
}

unsigned copy_attempts(const struct copy_request *request)
{
	return can_repeat(request) ? request->retries + 1 : 1;
}

static int copy_all(struct copy_request *request, struct copy_report *report,
		    struct copy_signals *signals, const char *const *sources)
{
	const bool local = !request->sources[0].host;
	uint64_t pause_ns = PAUSE_NS;
	bool begun = false, careful = !can_repeat(request), first = true;

	for (unsigned left = can_repeat(request) ? request->retries : 0;; left--) {
		struct copy_attempt a = {
			.request = request,
			.report = report,
			.signals = signals,
			.sources = sources,
			.careful = careful,
			/* Within this host the destination is another process. */
			.here = { local, !request->destination.host && !local },
		};
		int status = copy_attempt(&a);

		begun |= a.begun;
		/*
		 * The next one must not copy into a directory that the first one makes. None
		 * follows where the first one does not know.
		 */
		if (first)
			request->settings.new_name = !a.is_directory;
		first = false;
		if (a.unwelcome && status != XDD_CANCELED) {
			copy_report_note(report, "%s; trying another way", a.why);
			careful = true;
			left++;
			continue;
		}
		if (!a.lost || status == XDD_CANCELED || !left || !begun) {
			if (a.lost && !begun)
				hint_at_local_name(&a);
			if (*a.why && status != XDD_OK && status != XDD_CANCELED)
				report_why(report, &a, status);
			return status;
		}
		note_retry(report, &a, left);
		if (!pause_before(signals, pause_ns))
			return XDD_CANCELED;
		pause_ns = ns_earlier(2 * pause_ns, MOST_PAUSE_NS);
		/* The time stamps of the attempt before stay. */
		request->settings.begun_s = (uint64_t)time(NULL);
	}
}

static int copy_with_report(const struct copy_request *request, struct copy_report *report,
			    struct copy_signals *signals)
{
	struct copy_request r = *request;
	const char **sources = calloc(r.n_sources, sizeof(*sources));
	int status;

	if (!sources) {
		log_error("copy: %s", strerror(ENOMEM));
		return COPY_FAILED;
	}
	for (size_t i = 0; i < r.n_sources; i++)
		sources[i] = path_of(&r.sources[i]);
	r.destination.path = path_of(&r.destination);
	status = copy_all(&r, report, signals, sources);
	free(sources);
	return copy_worse_status(status, copy_report_status(report));
}

int copy_run(const struct copy_request *request)
{
	struct copy_signals *signals;
	struct copy_report *report;
	int status, err;

	err = copy_signals_start(&signals, false);
	if (err) {
		log_error("copy: cannot start a thread (%s)", strerror(-err));
		return COPY_FAILED;
	}
	status = copy_report_open(&report, request);
	if (!status) {
		status = copy_with_report(request, report, signals);
		status = copy_report_close(report, status);
	}
	copy_signals_end(signals);
	return status;
}
