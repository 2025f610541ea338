/*
 * The connections of an end-to-end copy: which ports each address has, and how many operations are
 * outstanding. Called while a plan is resolved.
 */
#include <inttypes.h>

#include "plan/endtoend.h"
#include "plan/errors.h"
#include "xdd/plan/engine_info.h"

#define MAX_PORT 65535
#define MAX_QUEUE_DEPTH 65536
#define DEPTH_PER_CONNECTION 2 /* one is sent while the next one is read */

/* True if a number of ports is given for any address. */
static bool has_counts(const struct endtoend_options *e)
{
	for (size_t i = 0; i < e->n_addresses; i++) {
		if (e->addresses[i].ports)
			return true;
	}
	return e->port_count != 0;
}

/* Addresses without a number of their own have that of -e2e portcount, or one. */
static void set_counts(struct endtoend_options *e)
{
	for (size_t i = 0; i < e->n_addresses; i++) {
		if (!e->addresses[i].ports)
			e->addresses[i].ports = e->port_count ? (uint32_t)e->port_count : 1;
	}
}

/* Without numbers of ports: deal the connections to the addresses in turn, at least one to each. */
static void deal_connections(struct target_plan *t)
{
	struct endtoend_options *e = &t->endtoend;
	uint64_t n = plan_queues(t) && t->threads ? t->threads : t->queue_depth;

	if (n < e->n_addresses)
		n = e->n_addresses;
	for (size_t i = 0; i < e->n_addresses; i++)
		e->addresses[i].ports = (uint32_t)(n / e->n_addresses + (i < n % e->n_addresses));
}

static enum xdd_status set_ports(const struct target_plan *t)
{
	const struct endtoend_options *e = &t->endtoend;
	uint16_t port = e->port ? (uint16_t)e->port : E2E_DEFAULT_PORT;

	for (size_t i = 0; i < e->n_addresses; i++) {
		struct endtoend_address *a = &e->addresses[i];

		if (!a->port)
			a->port = port;
		if (a->port + a->ports - 1 > MAX_PORT)
			return plan_refuse(t,
					   "-e2e destination %s: %" PRIu32
					   " ports from port %u on would end "
					   "past 65535; use a lower port or fewer ports",
					   a->host, a->ports, a->port);
	}
	return XDD_OK;
}

enum xdd_status endtoend_resolve_ports(struct target_plan *t)
{
	struct endtoend_options *e = &t->endtoend;
	enum xdd_status status;
	uint64_t n;

	if (has_counts(e))
		set_counts(e);
	else
		deal_connections(t);
	n = endtoend_connections(e);
	if (n > E2E_MAX_CONNECTIONS)
		return plan_refuse(t,
				   "-e2e destination: %" PRIu64
				   " ports are too many: a target has at most %d",
				   n, E2E_MAX_CONNECTIONS);
	status = set_ports(t);
	if (status)
		return status;
	if (!plan_queues(t))
		t->queue_depth = n;
	else if (!t->queue_depth_given || t->queue_depth < n)
		t->queue_depth = n * DEPTH_PER_CONNECTION;
	if (t->queue_depth > MAX_QUEUE_DEPTH)
		t->queue_depth = MAX_QUEUE_DEPTH;
	return XDD_OK;
}
