/*
 * Documents of xdd combine. An input is one to three documents with a NUL between them; a last part
 * that is empty or a few characters are options.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "fuzz.h"
#include "report/jsonout.h"
#include "xdd/commands/command.h"
#include "xdd/stat/histogram.h"

static const char *const words[] = {
	FUZZ_JSON_WORDS,
	"0",
	"18446744073709551615",
	"\"18446744073709551615\"",
	"9223372036854775807",
	"\"partial\":true",
	"\"run_id\":\"x\"",
	"\"rank\":1,\"ranks\":2,",
	"\"histogram\":[]",
	"\"begin_ns\":null",
	"\"what\":\"COMBINED\"",
	"\"what\":\"TARGET_PASS\"",
	"\"nobarrier\":true",
	"\"clock\":{\"source\":\"timeserver\",\"bound_ns\":5}",
	"\"machine\":\"m 1\",\"machine_offset_ns\":9223372036854775807,",
	"\n",
};

static char *make_figures(struct fuzz_random *r, char *out, uint64_t begin)
{
	size_t ops = 1 + fuzz_below(r, 1000), at = fuzz_below(r, HISTOGRAM_BUCKETS);
	uint64_t ns = histogram_bucket_from((unsigned)at);
	size_t length = fuzz_below(r, 100000);

	out += sprintf(
		out,
		"\"ops\":{\"read\":%zu,\"write\":0,\"noop\":0},\"bytes\":{\"read\":%zu,"
		"\"write\":0,\"noop\":0},\"failed_bytes\":{\"read\":0,\"write\":0,\"noop\":0},"
		"\"busy_ns\":{\"read\":%" PRIu64 ",\"write\":0,\"noop\":0},\"issued\":%zu,"
		"\"errors\":0,\"outstanding\":0,\"elapsed_ns\":%zu,",
		ops, 512 * ops, ns, ops, length);
	if (!fuzz_once_in(r, 5))
		out += sprintf(out, "\"begin_ns\":%" PRIu64 ",\"finish_ns\":%" PRIu64 ",", begin,
			       begin + length);
	return out +
	       sprintf(out,
		       "\"latency\":{\"service\":{\"read\":{\"count\":%zu,\"minimum_ns\":%" PRIu64
		       ",\"mean_ns\":%" PRIu64 ".0,\"standard_deviation_ns\":0.0,"
		       "\"maximum_ns\":%" PRIu64 ",\"percentiles_ns\":{\"99.9\":%" PRIu64
		       "},\"histogram\":[%" PRIu64 ",%zu]}},\"response\":{}},"
		       "\"columns\":{\"longest\":1.5,\"optype\":\"read\"}",
		       ops, ns, ns, ns, ns, ns, ops);
}

static char *make_document(struct fuzz_random *r, char *out)
{
	uint64_t begin = 1000000 + fuzz_below(r, 1000000);
	size_t passes = fuzz_below(r, 4), targets = 1 + fuzz_below(r, 2);
	size_t host = fuzz_below(r, 3), other = fuzz_below(r, 2);
	bool ranked = fuzz_once_in(r, 3), partial = fuzz_once_in(r, 3);
	size_t status = fuzz_below(r, 8);
	bool served = fuzz_once_in(r, 2);

	out += sprintf(out,
		       "{\"format\":\"%s\",\"version\":%d,\"xdd\":\"9\",\"end\":\"normal\","
		       "\"id\":null,\"run_id\":\"r\",\"partial\":%s,\"status\":%zu,",
		       JSONOUT_FORMAT, JSONOUT_VERSION, partial ? "true" : "false", status);
	if (ranked)
		out += sprintf(out, "\"rank\":%zu,\"ranks\":3,", host);
	out += sprintf(
		out,
		"\"command_line\":\"xdd -op read\",\"start_time\":\"2027-01-01T00:00:00.%03zuZ\","
		"\"end_time\":\"2027-01-01T00:00:01.000Z\",\"environment\":{\"host\":{\"name\":"
		"\"h%zu\"},\"kernel\":{\"release\":\"%zu\"}},\"plan\":{\"options\":{"
		"\"nobarrier\":%s},\"targets\":[{\"path\":\"p\",\"options\":{\"reqsize\":%zu}}]},"
		"\"messages\":[{\"level\":\"error\",\"text\":\"t\"}],\"statistics\":[],"
		"\"clock\":{\"source\":\"%s\",\"bound_ns\":%s,\"machine\":\"m %zu\","
		"\"machine_offset_ns\":-%zu},\"results\":[",
		host, host, other, partial ? "true" : "false", other,
		served ? "timeserver" : "wall", served ? "7" : "null", other, host);
	for (size_t pass = 1; pass <= passes; pass++) {
		for (size_t target = 0; target < targets; target++) {
			out += sprintf(out,
				       "{\"what\":\"TARGET_PASS\",\"pass\":%zu,\"target\":%zu,",
				       pass, target);
			out = stpcpy(make_figures(r, out, begin), "},");
		}
		begin += fuzz_below(r, 200000);
	}
	out += sprintf(out,
		       "{\"what\":\"COMBINED\",\"passes\":%zu,\"targets\":%zu,\"queue_depth\":1,"
		       "\"operation\":\"read\",\"request_bytes\":512,\"block_bytes\":512,",
		       passes, targets);
	return stpcpy(make_figures(r, out, begin), "}]}\n");
}

static size_t make(struct fuzz_random *r, uint8_t *data)
{
	char *out = make_document(r, (char *)data);

	if (fuzz_once_in(r, 2))
		out = make_document(r, out + 1); /* the NUL stays between */
	return (size_t)(out - (char *)data);
}

static bool is_status_2(const uint8_t *data, size_t size)
{
	static const char key[] = "\"status\"";
	const uint8_t *at = data, *end = data + size;

	while ((at = memmem(at, (size_t)(end - at), key, sizeof(key) - 1))) {
		at += sizeof(key) - 1;
		if (memchr(at, '2', end - at < 8 ? (size_t)(end - at) : 8))
			return true;
	}
	return false;
}

int fuzz_one(const uint8_t *data, size_t size)
{
	uint64_t hash = fuzz_hash(data, size);
	const uint8_t *b = memchr(data, '\0', size);
	size_t first = b ? (size_t)(b - data) : size;
	char *argv[10] = { (char *)"combine" };
	int argc = 1, status;

	if (hash % 3 == 0)
		argv[argc++] = (char *)"-force";
	if (hash % 5 == 0) {
		argv[argc++] = (char *)"-hosts";
		argv[argc++] = (char *)"h0,h1";
	}
	if (hash % 4 == 0) {
		argv[argc++] = (char *)"-csvout";
		argv[argc++] = (char *)"-";
	} else if (hash % 4 == 1) {
		argv[argc++] = (char *)"-o";
		argv[argc++] = (char *)"/dev/null";
	}
	argv[argc++] = (char *)fuzz_file(0, data, first);
	if (b)
		argv[argc++] = (char *)fuzz_file(1, b + 1, size - first - 1);
	fuzz_messages_clear();
	status = command_combine.main(argc, argv);
	if (status < 0 || status > XDD_MISCOMPARE)
		fuzz_fail("status %d", status);
	/* Unless 2 is the status of a host. */
	if (status != XDD_BAD_ARGUMENT || !is_status_2(data, size))
		fuzz_messages_check(status == XDD_BAD_ARGUMENT ? FUZZ_SOME : 0);
	if (hash % 4)
		fuzz_output_check();
	return status == XDD_BAD_ARGUMENT;
}

const struct fuzz_harness fuzz_harness = {
	.name = "combine",
	.make = make,
	.words = words,
	.n_words = sizeof(words) / sizeof(words[0]),
};
