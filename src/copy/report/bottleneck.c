/*
 * The shares of both sides of a copy of files, and the verdict on them. Called by the summary and
 * the writer of JSON.
 */
#include "copy/report/report_internal.h"
#include "xdd/base/nstime.h"

/* Shorter copies are over before their threads are busy. */
#define SHORTEST_NS (NS_PER_SEC / 5)

static double share(uint64_t ns, uint64_t elapsed_ns, unsigned threads)
{
	double part = (double)ns / ((double)elapsed_ns * threads);

	return part < 1 ? part : 1;
}

static struct copy_shares shares(const struct copy_counts *c, uint64_t elapsed_ns, unsigned threads)
{
	return (struct copy_shares){
		.storage = share(c->storage_ns, elapsed_ns, threads),
		.network = share(c->network_ns, elapsed_ns, threads),
		.waiting = share(c->waiting_ns, elapsed_ns, threads),
		.checking = share(c->checking_ns, elapsed_ns, threads),
		.processor = share(c->cpu_ns + c->cpu_wait_ns, elapsed_ns, threads),
		.quota = share(c->quota_ns, elapsed_ns, threads),
		.transit = share(c->transit_ns, elapsed_ns, threads),
		.flush = share(c->flush_ns, elapsed_ns, 1),
	};
}

struct copy_bottleneck bottleneck_judge(const struct copy_counts *source,
					const struct copy_counts *destination, uint64_t elapsed_ns,
					unsigned threads)
{
	struct copy_bottleneck b = { 0 };

	if (!elapsed_ns || !threads)
		return b;
	b.source = shares(source, elapsed_ns, threads);
	b.destination = shares(destination, elapsed_ns, threads);
	if (elapsed_ns >= SHORTEST_NS && (source->moved_bytes || destination->moved_bytes))
		b.verdict = copy_limit_judge(&b.source, &b.destination, true);
	return b;
}
