/*
 * The durable ranges of files that are not complete, in the journal, for -R.
 */
#include "copy/destination/commit_state.h"
#include "xdd/base/nstime.h"

void commit_tick(struct commit *c, uint64_t now_ns)
{
	if (now_ns - c->touched_ns < JOURNAL_TOUCH_NS)
		return;
	c->touched_ns = now_ns;
	pthread_mutex_lock(&c->journal_lock);
	journal_touch(&c->journal);
	pthread_mutex_unlock(&c->journal_lock);
}

uint64_t commit_sleep_ns(const struct commit *c)
{
	(void)c;
	return JOURNAL_TOUCH_NS;
}
