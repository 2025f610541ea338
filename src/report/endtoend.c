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
	sum->pace_ns += from->pace_ns;
	sum->cpu_ns += from->cpu_ns;
	sum->cpu_wait_ns += from->cpu_wait_ns;
	sum->quota_ns += from->quota_ns;
	sum->transit_ns += from->transit_ns;
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

static struct copy_shares shares_of(const struct endtoend_side *side, uint64_t elapsed_ns,
				    uint32_t n)
{
	return (struct copy_shares){
		.storage = copy_share(side->storage_ns, elapsed_ns, side->lanes ? side->lanes : n),
		.network = copy_share(side->network_ns, elapsed_ns, n),
		.waiting = copy_share(side->waiting_ns, elapsed_ns, n),
		.checking = copy_share(side->checking_ns, elapsed_ns, n),
		.pace = copy_share(side->pace_ns, elapsed_ns, n),
		.processor = copy_share(side->cpu_ns + side->cpu_wait_ns, elapsed_ns, n),
		.quota = copy_share(side->quota_ns, elapsed_ns, n),
		.transit = copy_share(side->transit_ns, elapsed_ns, n),
	};
}

struct copy_shares endtoend_shares(const struct endtoend_side *side, uint32_t n_qthreads)
{
	return shares_of(side, side->elapsed_ns, n_qthreads);
}

/* A source may have sent all long before the destination has written it. */
struct copy_verdict endtoend_verdict(const struct endtoend_result *r)
{
	const struct endtoend_side *s = &r->source, *d = &r->destination;
	const uint64_t elapsed_ns = s->elapsed_ns > d->elapsed_ns ? s->elapsed_ns : d->elapsed_ns;
	struct copy_shares source, destination;

	if (!s->known || !d->known || !s->elapsed_ns || !d->elapsed_ns)
		return (struct copy_verdict){ 0 };
	source = shares_of(s, elapsed_ns, r->n_qthreads);
	destination = shares_of(d, elapsed_ns, r->n_qthreads);
	return copy_limit_judge(&source, &destination, false);
}
