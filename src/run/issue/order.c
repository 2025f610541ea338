/*
 * The order of a target's operations. Called by the issue loop for ordered targets, and by the
 * target when it is set up and between passes.
 */
#include "run/issue/order.h"

#include <errno.h>

/*
 * One QThread takes its numbers in order and submits them in order; serial is a rule of the issue
 * loop.
 */
static bool needs_nothing(const struct target_plan *plan)
{
	return plan->ordering == ORDERING_NONE || plan->qthreads == 1;
}

static void cancel(void *arg)
{
	struct order *o = arg;

	if (o->by == ORDER_BY_TOT)
		tot_cancel(&o->tot);
	else
		lock_cancel(&o->lock);
}

int order_init(struct order *o, const struct target_plan *plan, bool early, bool audited,
	       struct stop *stop)
{
	int err = 0;

	o->by = needs_nothing(plan) ? ORDER_BY_NOTHING : early ? ORDER_BY_TOT : ORDER_BY_LOCK;
	o->mode = plan->ordering;
	o->alone = plan->ordering == ORDERING_SERIAL;
	o->audited = audited;
	lock_init(&o->lock);
	if (o->by == ORDER_BY_TOT)
		err = tot_init(&o->tot, plan->queue_depth);
	if (!err && o->by != ORDER_BY_NOTHING)
		err = stop_on_request(stop, cancel, o);
	return err;
}

void order_begin_pass(struct order *o)
{
	atomic_store_explicit(&o->next, 0, memory_order_relaxed);
	if (o->by == ORDER_BY_TOT)
		tot_reset(&o->tot);
}

void order_destroy(struct order *o)
{
	tot_destroy(&o->tot);
}

int order_enter(struct order *o, uint64_t n)
{
	return o->by == ORDER_BY_TOT ? tot_wait(&o->tot, n) : lock_take(&o->lock);
}

bool order_try(struct order *o, uint64_t n)
{
	return o->by == ORDER_BY_TOT ? tot_is_turn(&o->tot, n) : lock_try(&o->lock);
}

void order_leave(struct order *o, uint64_t n)
{
	if (o->by == ORDER_BY_TOT)
		tot_pass_on(&o->tot, n);
	else
		lock_release(&o->lock);
}

void order_leave_briefly(struct order *o, uint64_t n)
{
	if (o->by == ORDER_BY_TOT)
		tot_pass_on(&o->tot, n);
	else
		lock_release_quietly(&o->lock);
}

const char *order_text(const struct order *o)
{
	if (o->mode == ORDERING_NONE)
		return NULL;
	return o->by == ORDER_BY_TOT  ? "by turns in the target operation table" :
	       o->by == ORDER_BY_LOCK ? "by the issue lock" :
					"by the one QThread that issues them";
}
