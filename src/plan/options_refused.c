/*
 * Rows of options that are refused with a reason: those of older programs of this family that never
 * worked.
 */
#include "plan/feature.h"

#define REFUSED(name_, aliases_, why_)                                                 \
	{                                                                              \
		.name = name_, .aliases = aliases_, .type = OPT_REFUSED, .help = why_, \
	}

const struct option options_refused[] = {
	REFUSED("multipath", "mp",
		"xdd does not choose paths; name the multipath device itself as a target"),
	REFUSED("readafterwrite", "raw",
		"never worked in any xdd; run a writing and a reading target side by side instead"),
	REFUSED("writeafterread", "war",
		"was another name of -endtoend; there is no separate option"),
	REFUSED("targetin", "tin", "never worked in any xdd; use -targets and -op target <n> read"),
	REFUSED("targetout", "tout",
		"never worked in any xdd; use -targets and -op target <n> write"),
	REFUSED("xni", NULL, "xdd has one network transport, TCP, which needs no option"),
	REFUSED("ibdevice", NULL,
		"xdd has one network transport, TCP; InfiniBand works through IPoIB"),
	REFUSED("devicefile", "devf", "has no meaning; name the device with -targets"),
	REFUSED("interactive", "inter",
		"there is no interactive mode; use -dryrun to look before a run"),
	{ 0 },
};
