/*
 * Sums, shares and the verdict of end-to-end copies; see the header. Called by the results manager
 * and the writers.
 */
#include "xdd/report/endtoend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct endtoend_result *endtoend_result_new(uint32_t n)
{
	struct endtoend_result *r = calloc(1, sizeof(*r) + n * sizeof(r->info[0]));

	if (r)
		r->n_info = n;
	return r;
}

static void add_side(struct endtoend_side *sum, const struct endtoend_side *from, bool first)
{
	sum->known = from->known && (first || sum->known);
	sum->lanes = from->lanes;
	sum->ops += from->ops;
	sum->bytes += from->bytes;
	sum->failed += from->failed;
	memcpy(sum->digest, from->digest, sizeof(sum->digest));
	sum->elapsed_ns += from->elapsed_ns;
	sum->storage_ns += from->storage_ns;
	sum->network_ns += from->network_ns;
	sum->waiting_ns += from->waiting_ns;
	sum->checking_ns += from->checking_ns;
	sum->retransmits += from->retransmits;
}

int endtoend_result_add(struct endtoend_result **sum, const struct endtoend_result *from)
{
	struct endtoend_result *old = *sum, *r = endtoend_result_new(from->n_info);

	if (!r)
		return -ENOMEM;
	memcpy(r, from, sizeof(*r) + from->n_info * sizeof(r->info[0]));
	r->pass = 0;
	r->passes = 1;
	if (old) {
		r->passes += old->passes;
		r->complete &= old->complete;
		r->resumed_bytes += old->resumed_bytes;
		r->compared_bytes += old->compared_bytes;
		r->source = old->source;
		r->destination = old->destination;
		add_side(&r->source, &from->source, false);
		add_side(&r->destination, &from->destination, false);
	}
	free(old);
	*sum = r;
	return 0;
}

static double share(uint64_t ns, const struct endtoend_side *side, uint64_t n)
{
	double all = (double)side->elapsed_ns * (double)n;
	double part = all > 0 ? (double)ns / all : 0;

	return part < 1 ? part : 1;
}

struct endtoend_shares endtoend_shares(const struct endtoend_side *side, uint32_t n_qthreads)
{
	return (struct endtoend_shares){
		.storage = share(side->storage_ns, side, side->lanes ? side->lanes : n_qthreads),
		.network = share(side->network_ns, side, n_qthreads),
		.waiting = share(side->waiting_ns, side, n_qthreads),
		.checking = share(side->checking_ns, side, n_qthreads),
	};
}

/*
 * A source that limits the copy reads, checks or waits for its own pace, and the destination waits
 * for data. A destination that does so writes or checks, and the source's sends block. If the
 * network does so, sends block and the destination waits for data or receives it.
 */
enum endtoend_bound endtoend_bound(const struct endtoend_result *r)
{
	struct endtoend_shares s = endtoend_shares(&r->source, r->n_qthreads);
	struct endtoend_shares d = endtoend_shares(&r->destination, r->n_qthreads);
	double source = s.storage + s.checking + s.waiting;
	double destination = d.storage + d.checking;
	double arriving = d.network + d.waiting;
	double network = s.network < arriving ? s.network : arriving;

	if (!r->source.known || !r->destination.known || !r->source.elapsed_ns ||
	    !r->destination.elapsed_ns)
		return ENDTOEND_UNKNOWN;
	if (network >= source && network >= destination)
		return ENDTOEND_NETWORK;
	return source >= destination ? ENDTOEND_SOURCE : ENDTOEND_DESTINATION;
}

const char *endtoend_bound_name(enum endtoend_bound bound)
{
	static const char *const names[] = {
		[ENDTOEND_UNKNOWN] = NULL,
		[ENDTOEND_SOURCE] = "source-bound",
		[ENDTOEND_NETWORK] = "network-bound",
		[ENDTOEND_DESTINATION] = "destination-bound",
	};

	return names[bound];
}
