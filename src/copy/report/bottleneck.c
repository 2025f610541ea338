/*
 * The part that limited a copy, judged by the times of both sides. Called by the summary and the
 * writer of JSON.
 */
#include "copy/report/report_internal.h"
#include "xdd/base/nstime.h"

/* Shorter copies are over before their threads are busy. */
#define SHORTEST_NS (NS_PER_SEC / 5)

/* The part that limits a copy takes at least so much of the time, and more than any other one. */
#define LEAST_SHARE 0.4
#define LEAST_LEAD 1.2

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
		.flush = share(c->flush_ns, elapsed_ns, 1),
	};
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

static double most(double a, double b)
{
	return a > b ? a : b;
}

/*
 * A source that limits the copy reads or checks, and the destination waits for data. A destination
 * that does so writes or checks, and the sends of the source block or its threads have no work. If
 * the network does so, sends block, and the destination waits for data or receives it. If neither
 * side has data to move, other threads were slower: the walk, the creation of files. Flushes go on
 * beside the data and after it; they are the destination's.
 */
static enum copy_limit limit_of(const struct copy_bottleneck *b)
{
	const struct copy_shares *s = &b->source, *d = &b->destination;
	const double arriving = d->network + d->waiting;
	const double parts[] = {
		[COPY_LIMIT_SOURCE] = least(s->storage + s->checking, arriving),
		[COPY_LIMIT_NETWORK] = least(s->network, arriving),
		[COPY_LIMIT_DESTINATION] =
			most(least(d->storage + d->checking, s->network + s->waiting), d->flush),
		[COPY_LIMIT_FILES] = least(s->waiting, d->waiting),
	};
	enum copy_limit best = COPY_LIMIT_SOURCE;
	double second = 0;

	for (enum copy_limit i = COPY_LIMIT_NETWORK; i <= COPY_LIMIT_FILES; i++) {
		if (parts[i] > parts[best])
			best = i;
	}
	for (enum copy_limit i = COPY_LIMIT_SOURCE; i <= COPY_LIMIT_FILES; i++) {
		if (i != best)
			second = most(second, parts[i]);
	}
	if (parts[best] < LEAST_SHARE || parts[best] < LEAST_LEAD * second)
		return COPY_LIMIT_NONE;
	return best;
}

struct copy_bottleneck bottleneck_judge(const struct copy_counts *source,
					const struct copy_counts *destination, uint64_t elapsed_ns,
					unsigned threads)
{
	struct copy_bottleneck b = { .limit = COPY_LIMIT_UNKNOWN };

	if (!elapsed_ns || !threads)
		return b;
	b.source = shares(source, elapsed_ns, threads);
	b.destination = shares(destination, elapsed_ns, threads);
	if (elapsed_ns >= SHORTEST_NS && (source->moved_bytes || destination->moved_bytes))
		b.limit = limit_of(&b);
	return b;
}

const char *bottleneck_name(enum copy_limit limit)
{
	static const char *const names[] = {
		[COPY_LIMIT_UNKNOWN] = NULL,	  [COPY_LIMIT_SOURCE] = "source",
		[COPY_LIMIT_NETWORK] = "network", [COPY_LIMIT_DESTINATION] = "destination",
		[COPY_LIMIT_FILES] = "files",	  [COPY_LIMIT_NONE] = "none",
	};

	return names[limit];
}
