/*
 * Documents of xdd report, without plots. An input is a document, and, after a NUL, another one.
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
	"\"histogram\":[1,2]",
	"\"intervals\":[]",
	"\"target\":0,",
	"\"elapsed_ns\":0",
	"\"begin_ns\":1",
	"\"partial\":true",
	"\"path\":\"<script>\"",
	"\"options\":\"\\\"'`\"",
	"\"axes\":[]",
	"\"points\":[]",
	"0.0",
	"1e24",
	"9223372036854775807",
	"\"18446744073709551615\"",
};

static char *make_statistic(struct fuzz_random *r, char *out)
{
	const size_t passes = fuzz_below(r, 7);

	out += sprintf(out, "{\"target\":null,\"not_reproducible\":null,\"passes\":[");
	for (size_t i = 1; i <= passes; i++)
		out += sprintf(out, "%s%zu", i > 1 ? "," : "", i);
	out = stpcpy(out, "]");
	for (enum pass_figure figure = 0; figure < FIGURE_COUNT; figure++) {
		const size_t mean = fuzz_below(r, 1000000);

		out += sprintf(out, ",\"%s\":{\"mean\":%zu.5,\"interval_high\":%zu,\"values\":[",
			       figure_name(figure), mean, mean + 9);
		for (size_t i = 0; i < passes; i++)
			out += sprintf(out, "%s%zu", i ? "," : "", mean);
		out = stpcpy(out, "]}");
	}
	return stpcpy(out, "}");
}

static char *make_result(struct fuzz_random *r, char *out, const char *what, size_t pass)
{
	const size_t begin = fuzz_below(r, 1000), ops = fuzz_below(r, 100),
		     least = fuzz_below(r, 5000);

	return out + sprintf(out,
			     "{\"what\":\"%s\",\"target\":0,\"pass\":%zu,\"operation\":\"read\","
			     "\"bytes\":{\"read\":%zu},\"ops\":{\"read\":%zu},\"elapsed_ns\":1000,"
			     "\"begin_ns\":%zu,\"finish_ns\":%zu,\"bound\":\"device\",\"latency\":{"
			     "\"service\":{\"read\":{\"count\":%zu,\"percentiles_ns\":{\"50\":5,"
			     "\"99\":9},\"histogram\":[%zu,%zu,%zu,1]}}}}",
			     what, pass, ops * 4096, ops, begin, begin + 1000, ops + 1, least, ops,
			     2 * least + 1);
}

static char *make_intervals(struct fuzz_random *r, char *out)
{
	const size_t n = fuzz_below(r, 9);

	out = stpcpy(out, ",\"intervals\":[");
	for (size_t i = 0; i < n; i++)
		out += sprintf(out,
			       "%s{\"start_ns\":%zu,\"end_ns\":%zu,\"target\":%s,\"pass\":1,"
			       "\"direction\":\"read\",\"ops\":%zu,\"bytes\":5,\"p50_ns\":%zu,"
			       "\"p99_ns\":90,\"max_ns\":99}",
			       i ? "," : "", i * 10, i * 10 + 10, i % 2 ? "0" : "null", i, i * 7);
	return stpcpy(out, "]");
}

static char *make_run(struct fuzz_random *r, char *out)
{
	const size_t passes = 1 + fuzz_below(r, 3);

	out += sprintf(out,
		       "{\"format\":\"%s\",\"version\":%d,\"status\":0,\"environment\":{\"host\":{"
		       "\"name\":\"h\"},\"list\":[1,[2]]},\"plan\":{\"targets\":[{\"number\":0,"
		       "\"path\":\"d<&'\",\"resolved\":{\"a\":1}}]},\"statistics\":[",
		       JSONOUT_FORMAT, JSONOUT_VERSION);
	out = stpcpy(make_statistic(r, out), "],\"results\":[");
	for (size_t i = 1; i <= passes; i++)
		out = stpcpy(make_result(r, out, "TARGET_PASS", i), ",");
	out = stpcpy(make_result(r, out, "TARGET_AVERAGE", 0), ",");
	out = stpcpy(make_result(r, out, "COMBINED", 0), "]");
	if (fuzz_once_in(r, 2))
		out = make_intervals(r, out);
	return stpcpy(out, ",\"messages\":[{\"level\":\"warning\",\"text\":\"t\"}]}\n");
}

static char *make_sweep(struct fuzz_random *r, char *out)
{
	const size_t rows = 1 + fuzz_below(r, 2);

	out += sprintf(out,
		       "{\"format\":\"%s\",\"version\":%d,\"axes\":[{\"option\":\"a\",\"values\":["
		       "\"1\",\"2\"]},{\"option\":\"b\",\"values\":[\"x\",\"y\"]}],\"points\":[",
		       SWEEP_FORMAT, SWEEP_VERSION);
	for (size_t i = 0; i < 2 * rows; i++) {
		out += sprintf(out,
			       "%s{\"point\":%zu,\"varied\":{\"a\":\"%zu\",\"b\":\"%s\"},"
			       "\"rounds\":[{\"findings\":[\"cached\"]}],\"statistics\":[",
			       i ? "," : "", i + 1, 1 + i / 2, i % 2 ? "y" : "x");
		out = stpcpy(make_statistic(r, out), "]}");
	}
	return stpcpy(out, "],\"status\":0}\n");
}

static size_t make(struct fuzz_random *r, uint8_t *data)
{
	const bool sweeps = fuzz_once_in(r, 3);
	char *out = (sweeps ? make_sweep : make_run)(r, (char *)data);

	if (fuzz_once_in(r, 2))
		out = (sweeps ? make_sweep : make_run)(r, out + 1); /* after the NUL */
	return (size_t)(out - (char *)data);
}

int fuzz_one(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size, *b = size ? memchr(data, '\0', size) : NULL;
	char *argv[5] = { (char *)"report", (char *)"-noplots" };
	int argc = 2, status;

	argv[argc++] = (char *)fuzz_file(0, data, (size_t)((b ? b : end) - data));
	if (b)
		argv[argc++] = (char *)fuzz_file(1, b + 1, (size_t)(end - b - 1));
	fuzz_messages_clear();
	status = command_report.main(argc, argv);
	if (status != XDD_OK && status != XDD_BAD_ARGUMENT)
		fuzz_fail("status %d", status);
	fuzz_messages_check(status ? 1 : 0);
	fuzz_output_check();
	return status != XDD_OK;
}

const struct fuzz_harness fuzz_harness = {
	.name = "report",
	.make = make,
	.words = words,
	.n_words = sizeof(words) / sizeof(words[0]),
};
