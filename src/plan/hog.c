/*
 * -hogmemory: a share of the memory of the host, or bytes. Called by feature_machine.c and
 * resources.c.
 */
#include "plan/hog.h"

#include <inttypes.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/value.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sys/machine.h"

#define MIB (UINT64_C(1) << 20)

enum xdd_status plan_apply_hog(const struct setting *s, void *dst)
{
	const char *word = s->args[0].text;
	struct plan *plan = dst;
	double percent = 0;
	uint64_t bytes = 0;

	if (strchr(word, '%') && !units_parse_percentage(word, &percent) && percent > 0) {
		plan->hog_percent = percent;
		plan->hog_bytes = 0;
		return XDD_OK;
	}
	if (!strchr(word, '%') && !units_parse_size(word, &bytes) && bytes) {
		plan->hog_percent = 0;
		plan->hog_bytes = bytes;
		return XDD_OK;
	}
	return parse_error(
		XDD_BAD_ARGUMENT, s, &s->args[0],
		"expected a share of the memory of the host, above 0 and up to 100%%, such as "
		"75%%, or bytes, such as 2g");
}

enum xdd_status plan_check_hog(struct plan *plan, uint64_t buffer_bytes)
{
	struct hostmemory m;
	uint64_t taken, most;

	if (plan->hog_percent <= 0 && !plan->hog_bytes)
		return XDD_OK;
	if (hostmemory_read(&m)) {
		log_error(
			"-hogmemory: cannot find out how much memory is available (/proc/meminfo)");
		return XDD_BAD_ARGUMENT;
	}
	if (plan->hog_percent > 0)
		plan->hog_bytes = (uint64_t)((double)m.total_bytes * plan->hog_percent / 100);
	taken = buffer_bytes + plan_hog_reserve_bytes(m.total_bytes);
	most = m.room_bytes > taken ? m.room_bytes - taken : 0;
	if (plan->hog_bytes <= most)
		return XDD_OK;
	log_error("-hogmemory: %" PRIu64 " MiB are more than the %" PRIu64
		  " MiB that can be occupied of %" PRIu64 " MiB%s%s; %" PRIu64
		  " MiB of those that are available are for I/O buffers and in reserve",
		  plan->hog_bytes / MIB, most / MIB, m.total_bytes / MIB, *m.limit ? " by " : "",
		  m.limit, taken / MIB);
	return XDD_BAD_ARGUMENT;
}
