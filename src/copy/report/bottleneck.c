/*
 * The shares of both sides of a copy of files, and the verdict on them. Called by the summary and
 * the writer of JSON.
 */
#include "copy/report/report_internal.h"
#include "xdd/base/units.h"

/* Shorter copies are over before their threads are busy. */
#define SHORTEST_NS (NS_PER_SEC / 5)

static struct copy_shares shares(const struct copy_counts *c, uint64_t elapsed_ns, unsigned threads)
{
	return (struct copy_shares){
		.storage = copy_share(c->storage_ns, elapsed_ns, threads),
		.network = copy_share(c->network_ns, elapsed_ns, threads),
		.waiting = copy_share(c->waiting_ns, elapsed_ns, threads),
		.checking = copy_share(c->checking_ns, elapsed_ns, threads),
		.processor = copy_share(c->cpu_ns + c->cpu_wait_ns, elapsed_ns, threads),
		.quota = copy_share(c->quota_ns, elapsed_ns, threads),
		.transit = copy_share(c->transit_ns, elapsed_ns, threads),
		.flush = copy_share(c->flush_ns, elapsed_ns, 1),
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
