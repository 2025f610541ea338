/*
 * Documents of xdd compare. An input is a line with conditions of -failif (none if it is empty),
 * a document, and, after a NUL, another; without it, the first document is compared with
 * itself.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "fuzz.h"
#include "report/jsonout.h"
#include "xdd/commands/command.h"
#include "xdd/report/result.h"
#include "xdd/report/sweep.h"

static const char *const words[] = {
	FUZZ_JSON_WORDS,
	"\"values\":[]",
	"\"not_reproducible\":\"x\"",
	"\"partial\":true",
	"\"target\":0,",
	"\"passes\":[1]",
	"p99+10%",
	"bandwidth-5%,",
	"+1e9%",
	"\"version\":1",
	"\"varied\":{}",
	"\"points\":[]",
	"0.0",
	"1e-300",
	"\n",
};

static char *make_statistic(struct fuzz_random *r, char *out, const char *target)
{
	size_t passes = fuzz_below(r, 12), scatter = (size_t)1 << fuzz_below(r, 40);

	out += sprintf(out, "{\"target\":%s,\"not_reproducible\":%s,\"passes\":[", target,
		       fuzz_once_in(r, 4) ? "\"drift\"" : "null");
	for (size_t i = 1; i <= passes; i++)
		out += sprintf(out, "%s%zu", i > 1 ? "," : "", i);
	out = stpcpy(out, "]");
	for (enum pass_figure figure = 0; figure < FIGURE_COUNT; figure++) {
		out += sprintf(out, ",\"%s\":{\"values\":[", figure_name(figure));
		for (size_t i = 0; i < passes; i++)
			out += sprintf(out, "%s%zu.5", i ? "," : "", fuzz_below(r, scatter));
		out = stpcpy(out, "]}");
	}
	return stpcpy(out, "}");
}

static char *make_document(struct fuzz_random *r, char *out)
{
	/* One draw per statement: the compiler chooses the order of arguments. */
	bool partial = fuzz_once_in(r, 4), run_time = fuzz_once_in(r, 3);
	size_t host = fuzz_below(r, 2);
	size_t passes = fuzz_below(r, 9);

	out += sprintf(out,
		       "{\"format\":\"%s\",\"version\":%d,\"xdd\":\"9\",\"end\":\"normal\","
		       "\"partial\":%s,\"command_line\":\"xdd -op read\",\"start_time\":\"now\","
		       "\"environment\":{\"host\":\"h%zu\",\"cpus\":[0,1]},\"plan\":{\"resolved\":{"
		       "\"passes\":%zu,\"run_time_ns\":%s}},\"statistics\":[",
		       JSONOUT_FORMAT, JSONOUT_VERSION, partial ? "true" : "false", host, passes,
		       run_time ? "5" : "null");
	if (!fuzz_once_in(r, 4))
		out = stpcpy(make_statistic(r, out, "0"), ",");
	return stpcpy(make_statistic(r, out, "null"), "]}\n");
}

/* The document of a sweep with a few points, whose order may be any. */
static char *make_sweep(struct fuzz_random *r, char *out)
{
	size_t first = fuzz_below(r, 3);

	out += sprintf(out, "{\"format\":\"%s\",\"version\":%d,\"axes\":[],\"points\":[",
		       SWEEP_FORMAT, SWEEP_VERSION);
	for (size_t i = 0; i < 3; i++) {
		out += sprintf(out, "%s{\"varied\":{\"depth\":\"%zu\"},\"statistics\":[",
			       i ? "," : "", (first + i) % 4);
		out = stpcpy(make_statistic(r, out, "null"), "]}");
	}
	return stpcpy(out, "]}\n");
}

static size_t make(struct fuzz_random *r, uint8_t *data)
{
	static const char *const limits[] = { "",	    "",
					      "p99+10%",    "bandwidth-5%,latency+0%",
					      "iops-99.9%", "p99.9+1e3%" };
	char *out = stpcpy((char *)data, limits[fuzz_below(r, 6)]);
	const bool sweeps = fuzz_once_in(r, 3);

	out = (sweeps ? make_sweep : make_document)(r, stpcpy(out, "\n"));
	if (fuzz_once_in(r, 2))
		out = (sweeps ? make_sweep : make_document)(r, out + 1); /* after the NUL */
	return (size_t)(out - (char *)data);
}

int fuzz_one(const uint8_t *data, size_t size)
{
	const uint8_t *a = memchr(data, '\n', size), *end = data + size, *b;
	char *limit = strndup((const char *)data, a ? (size_t)(a - data) : size);
	char *argv[12] = { (char *)"compare" };
	const char *files[2];
	enum compare_status status;
	int argc = 1;

	if (!limit)
		fuzz_fail("memory is short");
	a = a ? a + 1 : end;
	b = memchr(a, '\0', (size_t)(end - a));
	files[0] = fuzz_file(0, a, (size_t)((b ? b : end) - a));
	files[1] = b ? fuzz_file(1, b + 1, (size_t)(end - b - 1)) : files[0];
	if (*limit) {
		argv[argc++] = (char *)"-failif";
		argv[argc++] = limit;
	}
	argv[argc++] = (char *)files[0];
	if (fuzz_hash(data, size) % 4 == 0) {
		argv[argc++] = (char *)files[0];
		argv[argc++] = (char *)"--";
		argv[argc++] = (char *)files[1];
	}
	argv[argc++] = (char *)files[1];
	fuzz_messages_clear();
	status = command_compare.main(argc, argv);
	if (status > COMPARE_LIMIT)
		fuzz_fail("status %d", (int)status);
	fuzz_messages_check(status == COMPARE_TROUBLE ? 1 : 0);
	fuzz_output_check();
	free(limit);
	return status == COMPARE_TROUBLE;
}

const struct fuzz_harness fuzz_harness = {
	.name = "compare",
	.make = make,
	.words = words,
	.n_words = sizeof(words) / sizeof(words[0]),
};
