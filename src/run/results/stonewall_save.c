/*
 * -stonewall: the figures of a pass, and the record at the end of a run. Called by the results
 * manager.
 */
#include "run/results/stonewall_save.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "run/coord/stonewall.h"
#include "run/results/manager.h"
#include "run/run_state.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/plan/plan.h"
#include "xdd/plan/stonewall_record.h"
#include "xdd/report/report.h"
#include "xdd/report/stonewall.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/histogram.h"

static struct span span_of(const struct tally *t, uint64_t ns)
{
	return (struct span){ ns, tally_bytes(t), tally_ops(t) * FLOW_OP };
}

void stonewall_pass(struct manager *m, const struct tally *all)
{
	struct stonewall_result result = { .pass = m->together.pass, .ranks = m->run->group };
	struct stonewall_moment moment;
	uint64_t first;

	if (!stonewall_get(m->run, m->together.pass, &moment, &result.rank))
		return;
	first = moment.tally.first_issue_ns;
	result.target = moment.target;
	if (all->first_issue_ns != UINT64_MAX)
		result.begin_ns = all->first_issue_ns + (uint64_t)m->clock.begin.g.offset_ns;
	result.end = span_of(all, m->together.figures.elapsed_ns);
	result.at = span_of(&moment.tally, moment.at_ns > first ? moment.at_ns - first : 0);
	/* Nothing was outstanding. */
	if (result.at.ns > result.end.ns)
		result.at.ns = result.end.ns;
	report_stonewall(m->report, &result);
	manager_write_stonewall(m, RESULT_STONEWALL_AT, &moment.tally, result.begin_ns,
				result.at.ns);
	manager_write_stonewall(m, RESULT_STONEWALL_END, all, result.begin_ns, result.end.ns);
}

/* Operations that failed or hang may lie anywhere in the pass: such a target has no line. */
static bool wrote_all(const struct target_sum *sum)
{
	return !sum->figures.tally.errors && !sum->figures.tally.outstanding && !sum->partial;
}

static void put_lines(const struct manager *m, FILE *f)
{
	stonewall_record_begin(f, m->plan);
	for (size_t i = 0; i < m->plan->n_targets; i++) {
		const struct target_plan *t = &m->plan->targets[i];

		if (t->op != OP_WRITE)
			continue;
		if (wrote_all(&m->sums[i]))
			stonewall_record_put(f, t, m->sums[i].most_ops);
		else
			log_warning("target %" PRIu32 ", %s: -stonewall save: leaves it out, whose "
				    "operations have not all succeeded",
				    t->number, t->path);
	}
}

void stonewall_save(const struct manager *m)
{
	char *name = stonewall_record_name(m->plan->stonewall.save_file, m->plan->rank);
	struct newfile file = { 0 };
	int err = name ? newfile_open(&file, name) : -ENOMEM;

	if (!err) {
		put_lines(m, file.f);
		err = newfile_close(&file, ferror(file.f) ? -EIO : 0);
	}
	if (err) {
		log_error("-stonewall save %s: %s", name ? name : m->plan->stonewall.save_file,
			  strerror(-err));
		m->run->manager.output_failed = true;
	}
	free(name);
}
