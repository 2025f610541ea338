/*
 * The findings of the rounds of a sweep: their names in documents, and what they say. Called where
 * a sweep is written or shown.
 */
#include <stddef.h>

#include "xdd/report/finding.h"
#include "xdd/report/sweep.h"

static const struct {
	const char *name, *text;
} findings[] = {
	[FINDING_CACHED] = { "cached", "reads were answered by the page cache, not the device" },
	[FINDING_HOLES] = { "holes", "data that was never written was read: no device was needed" },
	[FINDING_DIRTY] = { "dirty", "writes were still in memory at the end, not on the device" },
	[FINDING_ZEROS] = { "zeros", "zeros were written, which storage may compress or drop" },
	[FINDING_GENERATOR] = { "generator", "xdd limited the rate, not the device" },
	[FINDING_STARVED] = { "starved", "other programs had the processors" },
	[FINDING_OTHERS] = { "others", "a device moved data that is not of this sweep" },
	[FINDING_SPLIT] = { "split", "the kernel split requests" },
	[FINDING_MERGED] = { "merged", "the kernel merged requests" },
	[FINDING_RATE] = { "rate", "the rate of -throttle was not reached" },
	[FINDING_PASSES] = { "passes", "there were fewer passes than requested" },
	[FINDING_GAP] = { "gap", "some operations were not issued" },
	[FINDING_LATE] = { "late", "targets were not ready at the start time" },
	[FINDING_STOPPED] = { "stopped", "xdd itself was stopped for a while" },
	[FINDING_LOOP] = { "loop", "a loop device used the page cache for its file" },
	[FINDING_LIMIT] = { "limit", "an I/O limit of the control group was reached" },
	[FINDING_QUOTA] = { "quota", "the CPU quota of the control group stopped xdd" },
};

const char *sweep_finding_name(unsigned kind)
{
	return kind < sizeof(findings) / sizeof(findings[0]) ? findings[kind].name : NULL;
}

const char *sweep_finding_text(unsigned kind)
{
	return kind < sizeof(findings) / sizeof(findings[0]) ? findings[kind].text : NULL;
}

unsigned sweep_findings(const struct sweep_point *p)
{
	unsigned bits = 0;

	for (size_t i = 0; i < p->n; i++)
		bits |= p->rounds[i].findings;
	return bits;
}
