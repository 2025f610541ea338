/*
 * The values that an option takes, in words. Called by the help and the page generator.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "xdd/base/units.h"
#include "xdd/plan/option.h"

#define SHARE "; a share of the target such as 50%"

static void count_range(const struct option *row, char *buf, size_t size)
{
	bool percent = row->unit && strcmp(row->unit, "percent") == 0;

	snprintf(buf, size, "%" PRIu64 " to %" PRIu64 "%s", row->min, row->max,
		 percent		       ? ", perhaps with %" :
		 row->max >= 1000 && row->unit ? "; 1k is 1000, 1M a million" :
						 "");
}

static void amount_range(const struct option *row, char *buf, size_t size)
{
	char lo[32], hi[32];

	if (row->scale > 1)
		snprintf(buf, size,
			 "up to %" PRIu64 ", with decimals if need be; bytes with a suffix such as "
			 "16M or 10MB%s",
			 row->max, row->share ? SHARE : "");
	else
		snprintf(buf, size, "%s to %s; 4k, 4KiB and 0.5M are powers of 1024, 4kB of 1000%s",
			 units_size_text(row->min, lo, sizeof(lo)),
			 units_size_text(row->max, hi, sizeof(hi)), row->share ? SHARE : "");
}

const char *option_range(const struct option *row, char *buf, size_t size)
{
	switch (row->type) {
	case OPT_U64:
		count_range(row, buf, size);
		return buf;
	case OPT_SIZE:
	case OPT_AMOUNT:
		amount_range(row, buf, size);
		return buf;
	case OPT_BLOCKS:
		snprintf(buf, size,
			 "%" PRIu64 " to %" PRIu64 " %s; bytes with a suffix such as 4k or 1MiB%s",
			 row->min, row->max, row->unit, row->share ? SHARE : "");
		return buf;
	case OPT_SECONDS:
		snprintf(buf, size, "seconds with decimals, or with ns, us, ms, s, min or h");
		return buf;
	default:
		return NULL;
	}
}
