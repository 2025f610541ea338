/*
 * The rows of the column table about end-to-end copies. Read by column_at().
 *
 * Times are sums over the QThreads of a target, shares are of their time in the pass. The other
 * side measures some of them; without its report they are unknown.
 */
#include "xdd/base/units.h"
#include "xdd/report/column.h"

/* A share of the time that the QThreads had, in percent. */
static void set_share(struct column_value *v, const struct result *r, uint64_t ns)
{
	double all = (double)r->figures.elapsed_ns * (double)r->qthreads;

	v->unknown = all <= 0;
	if (!v->unknown)
		v->real = 100 * (double)ns / all;
}

static void get_storage(const struct result *r, struct column_value *v)
{
	v->real = (double)tally_busy_ns(&r->figures.tally) / NS_PER_SEC;
}

static void get_network(const struct result *r, struct column_value *v)
{
	v->real = (double)r->figures.tally.net_ns / NS_PER_SEC;
}

static void get_percent_network(const struct result *r, struct column_value *v)
{
	set_share(v, r, r->figures.tally.net_ns);
}

static void get_lag(const struct result *r, struct column_value *v)
{
	v->unknown = !r->qthreads;
	if (!v->unknown)
		v->real = (double)r->figures.lag_ns / (double)r->qthreads / NS_PER_MS;
}

static void get_percent_lag(const struct result *r, struct column_value *v)
{
	set_share(v, r, r->figures.lag_ns);
}

static void set_moment(struct column_value *v, uint64_t ns)
{
	v->unknown = !ns;
	v->real = (double)ns / NS_PER_MS;
}

static void get_first_read(const struct result *r, struct column_value *v)
{
	set_moment(v, r->figures.first_read_ns);
}

static void get_last_write(const struct result *r, struct column_value *v)
{
	set_moment(v, r->figures.last_write_ns);
}

#define ROW(id_, heading_, units_, needs_, get_, help_)                                      \
	{                                                                                    \
		.id = id_, .type = COLUMN_REAL, .heading = heading_, .units = units_,        \
		.width = sizeof(heading_) - 1, .precision = 2, .needs = needs_, .get = get_, \
		.help = help_,                                                               \
	}

const struct column columns_endtoend[] = {
	ROW("E2EIOTIME", "     E2E_I/O", "     seconds", FIGURES_NETWORK, get_storage,
	    "end-to-end: time of operations on storage, of all QThreads together"),
	ROW("E2ESRTIME", "     E2E_S/R", "     seconds", FIGURES_NETWORK, get_network,
	    "end-to-end: time of sending or receiving, of all QThreads together"),
	ROW("E2EPERCENTSRTIME", " E2E_Pct_S/R", "     percent", FIGURES_NETWORK,
	    get_percent_network,
	    "end-to-end: share of sending or receiving in the time of the QThreads"),
	ROW("E2ELAGTIME", " E2E_Lag", "millisec", FIGURES_LAG, get_lag,
	    "end-to-end: time that a QThread of the destination waited, on average"),
	ROW("E2EPERCENTLAGTIME", "E2E_Pct_Lag ", "   percent  ", FIGURES_LAG, get_percent_lag,
	    "end-to-end: share of that in the time of the QThreads"),
	ROW("E2EFIRSTREADTIME", "  E2E_1st_Rd", "    millisec", FIGURES_NETWORK, get_first_read,
	    "end-to-end: from the start of the pass to the end of the source's first read"),
	ROW("E2ELASTWRITETIME", " E2E_Lst_Wrt", "    millisec", FIGURES_NETWORK, get_last_write,
	    "end-to-end: from the start of the pass to the end of the destination's last write"),
	{ 0 },
};
