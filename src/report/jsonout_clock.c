/*
 * The global clock and the start of a run as objects of the document of -jsonout. Called by
 * jsonout.c.
 */
#include <stdint.h>
#include <sys/stat.h>

#include "report/jsonout.h"
#include "xdd/report/jvalue.h"
#include "xdd/sys/sysfile.h"

#define LINE_BYTES 80

/* Processes with the same value read one monotonic clock. */
static json_t *machine_value(void)
{
	char line[LINE_BYTES], *boot;
	struct stat st;

	boot = sysfile_line("/proc/sys/kernel/random/boot_id", line, sizeof(line));
	if (!boot)
		return json_null();
	/* A time namespace has a clock of its own. */
	if (stat("/proc/self/ns/time", &st))
		st.st_ino = 0;
	return json_sprintf("%s %ju", boot, (uintmax_t)st.st_ino);
}

json_t *jsonout_clock_value(const struct clock_result *c)
{
	const bool served = c->server != NULL;
	json_t *o = json_object();

	const char *source = c->ranks ? "mpi" : served ? "timeserver" : "wall";

	jvalue_put(o, "source", jvalue_text(source));
	jvalue_put(o, "server", jvalue_text(c->server));
	jvalue_put(o, "offset_ns", json_integer(c->offset_ns));
	jvalue_put(o, "bound_ns", served ? jvalue_count(c->bound_ns) : json_null());
	jvalue_put(o, "bound_at_end_ns", served ? jvalue_count(c->bound_at_end_ns) : json_null());
	jvalue_put(o, "drift_ppm", c->drift_known ? jvalue_real(c->drift_ppm) : json_null());
	jvalue_put(o, "round_trip_ns", served ? jvalue_count(c->round_trip_ns) : json_null());
	jvalue_put(o, "exchanges", jvalue_count(c->exchanges));
	jvalue_put(o, "lost", jvalue_count(c->lost));
	jvalue_put(o, "steps", jvalue_count(c->steps));
	jvalue_put(o, "machine", machine_value());
	jvalue_put(o, "machine_offset_ns", json_integer(c->local_ns));
	return o;
}

json_t *jsonout_start_value(const struct start_result *s)
{
	const bool requested = s->requested_ns != 0;
	const int64_t late_ns = (int64_t)(s->achieved_ns - s->requested_ns);
	json_t *o = json_object();

	jvalue_put(o, "requested_ns", requested ? jvalue_count(s->requested_ns) : json_null());
	jvalue_put(o, "achieved_ns", jvalue_count(s->achieved_ns));
	jvalue_put(o, "late_ns", requested ? json_integer(late_ns) : json_null());
	jvalue_put(o, "bound_ns", s->bound_known ? jvalue_count(s->bound_ns) : json_null());
	return o;
}
