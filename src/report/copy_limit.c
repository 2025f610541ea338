/*
 * The part that limited a copy; see the header. Called by the writers of both kinds of copies.
 */
#include "xdd/report/copy_limit.h"

#include <stdio.h>
#include <string.h>

/* The part that limits a copy takes at least so much of the time, and more than any other one. */
#define LEAST_SHARE 0.4
#define LEAST_LEAD 1.1

/*
 * A destination that limits a copy from a source that waits to send is hardly ever starved: a
 * third of the time is enough to acquit it.
 */
#define STARVED_WEIGHT 3

/* A part below this share is not worth to be named beside another one. */
#define NAMED_SHARE 0.1

double copy_share(uint64_t ns, uint64_t elapsed_ns, uint64_t n)
{
	const double all = (double)elapsed_ns * (double)n, part = all > 0 ? (double)ns / all : 0;

	return part < 1 ? part : 1;
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
 * A CPU quota stops all threads of a process, and a data thread that sleeps meanwhile waits for
 * them or for its own turn to run. Other processes of the control group may have used the quota up
 * while this process had no work: then its data threads miss less than half of that time.
 */
static double stopped(const struct copy_shares *s)
{
	return s->processor >= s->quota / 2 ? s->quota : 0;
}

/* The time in which a side held up the copy, by cause, together at most 1. */
struct parts {
	double storage, processor, pace;
	double network; /* in which it waited for the network in the middle of a transfer */
};

/*
 * Digests need a processor for all of their time. The rest of the processor time was used, or
 * missing, in the storage and the network alike: what remains of these is a wait for them.
 */
static struct parts parts_of(const struct copy_shares *s)
{
	const double work = s->storage + s->network;
	const double processor = most(most(s->processor, s->checking), stopped(s));
	struct parts p = { .processor = least(processor, 1) };
	const double running = least(p.processor - s->checking, work);

	if (work > 0) {
		p.storage = least(s->storage * (1 - running / work), 1 - p.processor);
		p.network = least(s->network * (1 - running / work), 1 - p.processor);
	}
	p.pace = least(s->pace, 1 - p.processor - p.storage);
	return p;
}

static double sum(const struct parts *p)
{
	return p->storage + p->processor + p->pace;
}

/*
 * As sockets have buffers, the network may also be busy while a side reads or writes. If the source
 * is the faster one, the destination waits in the middle of blocks. If the destination is, the
 * source waits to send while data is on its way, or while the destination is starved. A destination
 * that a CPU quota stops is not starved in that time.
 */
static void measure(double parts[COPY_LIMITS], const struct copy_shares *source,
		    const struct copy_shares *destination, bool names)
{
	const struct parts s = parts_of(source), d = parts_of(destination);
	const double flush = least(destination->flush, 1);
	/* Through ssh the destination does not tell that it waited. */
	const double idle = most(1 - sum(&d), 0);
	const double starved = STARVED_WEIGHT * (least(idle, destination->waiting + d.network) -
						 flush - stopped(destination));
	const double files = names ? least(source->waiting, most(idle - d.network - flush, 0)) : 0;

	parts[COPY_LIMIT_UNKNOWN] = 0;
	parts[COPY_LIMIT_SOURCE_STORAGE] = s.storage;
	parts[COPY_LIMIT_SOURCE_PROCESSOR] = s.processor;
	parts[COPY_LIMIT_SOURCE_PACE] = s.pace;
	/* Flushes go on beside the data and after it. */
	parts[COPY_LIMIT_DESTINATION_STORAGE] = most(d.storage, flush);
	parts[COPY_LIMIT_DESTINATION_PROCESSOR] = d.processor;
	parts[COPY_LIMIT_DESTINATION_PACE] = d.pace;
	parts[COPY_LIMIT_FILES] = files;
	/* Neither side had anything to do, and the data was not there yet. */
	parts[COPY_LIMIT_NETWORK] =
		most(1 - sum(&s) - most(sum(&d), flush) - files,
		     most(d.network, least(s.network, most(source->transit, starved))));
}

static enum copy_limit largest(const double parts[COPY_LIMITS], enum copy_limit except)
{
	enum copy_limit best = COPY_LIMIT_UNKNOWN;

	for (enum copy_limit i = COPY_LIMIT_SOURCE_STORAGE; i < COPY_LIMITS; i++) {
		if (i != except && parts[i] > parts[best])
			best = i;
	}
	return best;
}

static bool by_quota(const struct copy_shares *s)
{
	return s->quota >= s->processor / 2;
}

struct copy_verdict copy_limit_judge(const struct copy_shares *source,
				     const struct copy_shares *destination, bool names)
{
	struct copy_verdict v = { 0 };
	double parts[COPY_LIMITS];
	enum copy_limit second;

	measure(parts, source, destination, names);
	v.limit = largest(parts, COPY_LIMIT_UNKNOWN);
	second = largest(parts, v.limit);
	if (parts[v.limit] < LEAST_SHARE || parts[v.limit] < LEAST_LEAD * parts[second])
		v.other = second;
	/* A part of a whole that is small is no rival: nothing else was there to wait for. */
	if (parts[second] < NAMED_SHARE)
		v.other = COPY_LIMIT_UNKNOWN;
	v.quota = (v.limit == COPY_LIMIT_SOURCE_PROCESSOR && by_quota(source)) ||
		  (v.limit == COPY_LIMIT_DESTINATION_PROCESSOR && by_quota(destination));
	return v;
}

static const struct {
	const char *name, *text;
} words[COPY_LIMITS] = {
	[COPY_LIMIT_SOURCE_STORAGE] = { "source-storage", "the storage of the source" },
	[COPY_LIMIT_NETWORK] = { "network", "the network" },
	[COPY_LIMIT_DESTINATION_STORAGE] = { "destination-storage",
					     "the storage of the destination" },
	[COPY_LIMIT_SOURCE_PROCESSOR] = { "source-processor", "the processor of the source" },
	[COPY_LIMIT_DESTINATION_PROCESSOR] = { "destination-processor",
					       "the processor of the destination" },
	[COPY_LIMIT_SOURCE_PACE] = { "source-pace", "the pace requested at the source" },
	[COPY_LIMIT_DESTINATION_PACE] = { "destination-pace",
					  "the pace requested at the destination" },
	[COPY_LIMIT_FILES] = { "files", "finding or creating files" },
};

const char *copy_limit_name(enum copy_limit limit)
{
	return words[limit].name;
}

enum copy_limit copy_limit_named(const char *name)
{
	for (enum copy_limit i = COPY_LIMIT_SOURCE_STORAGE; i < COPY_LIMITS; i++) {
		if (strcmp(name, words[i].name) == 0)
			return i;
	}
	return COPY_LIMIT_UNKNOWN;
}

const char *copy_verdict_name(const struct copy_verdict *v)
{
	return v->other != COPY_LIMIT_UNKNOWN ? "unclear" : words[v->limit].name;
}

const char *copy_verdict_text(const struct copy_verdict *v, char buf[COPY_VERDICT_SIZE])
{
	const char *quota = v->quota ? ", which a CPU quota stopped" : "";

	if (v->limit == COPY_LIMIT_UNKNOWN)
		return NULL;
	if (v->other == COPY_LIMIT_UNKNOWN)
		snprintf(buf, COPY_VERDICT_SIZE, "%s%s", words[v->limit].text, quota);
	else
		snprintf(buf, COPY_VERDICT_SIZE, "unclear: %s%s, or %s", words[v->limit].text,
			 quota, words[v->other].text);
	return buf;
}
