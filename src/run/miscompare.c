/*
 * Data that is not what it should be: one line for each stretch of it up to -maxerrorstoprint, and how
 * many there were. Called by QThreads, outside the timed window.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "run/internal.h"
#include "xdd/base/log.h"

/* "0x0011..." */
static const char *hex(const uint8_t *bytes, unsigned n, char *buf)
{
	char *o = buf;

	*o++ = '0';
	*o++ = 'x';
	for (unsigned i = 0; i < n; i++)
		o += sprintf(o, "%02x", bytes[i]);
	*o = '\0';
	return buf;
}

static void print_miscompare(const struct qthread *q, const struct miscompare *m)
{
	const struct target *t = q->target;
	char expected[2 * VERIFY_SHOWN_BYTES + 3], found[2 * VERIFY_SHOWN_BYTES + 3];

	log_error("DATA MISCOMPARE on Target %u Worker Thread %u: %s, read operation %" PRIu64
		  " of pass %" PRIu64 ": %" PRIu64 " bytes at offset %" PRIu64
		  " are wrong: at %" PRIu64 " expected %s, found %s: %s%s%s",
		  t->plan->number, q->number, t->plan->path, m->op, m->pass, m->bytes, m->offset,
		  m->shown_at, hex(m->expected, m->shown, expected), hex(m->found, m->shown, found),
		  miscompare_name(m->kind), *m->text ? ": " : "", m->text);
}

bool miscompare(struct qthread *q, const struct miscompare *m)
{
	struct target *t = q->target;
	const uint64_t limit = t->run->plan->max_errors_to_print;
	uint64_t total = atomic_fetch_add(&t->run->miscompares, 1) + 1;

	atomic_fetch_add(&t->run->miscompared_bytes, m->bytes);
	if (total <= limit)
		print_miscompare(q, m);
	errors_count(t, EBADMSG);
	return total < limit;
}

void miscompare_summary(const struct run *run)
{
	uint64_t total = atomic_load(&run->miscompares), limit = run->plan->max_errors_to_print;

	if (total)
		log_error("%" PRIu64 " data miscompares in all, %" PRIu64
			  " bytes, of which %" PRIu64 " are shown (-maxerrorstoprint)",
			  total, atomic_load(&run->miscompared_bytes),
			  total < limit ? total : limit);
	for (size_t i = 0; i < run->plan->n_targets; i++) {
		const struct target *t = &run->targets[i];
		uint64_t unjudged = t->data ? atomic_load(&t->data->unjudged) : 0;

		if (unjudged)
			log_notice(
				"target %u, %s: %" PRIu64
				" sectors without a tag were read that this run had not written; "
				"they could not be verified",
				t->plan->number, t->plan->path, unjudged);
	}
}
