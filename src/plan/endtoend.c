/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies between two hosts while a plan is resolved and checked: addresses, connections, and
 * refusals.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/feature.h"
#include "plan/parse.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/plan/engine_info.h"
#include "xdd/plan/option.h"

/*
 * Addresses of -e2e destination: reading them, and the connections to each.
 */

#define MAX_HOST 255
#define ENDTOEND_ADDRESS_MAX_PORT 65535
#define NUMBER_SIZE 16

/* An IPv6 number, perhaps with its interface: "fe80::1%eth0". */
static bool is_ipv6(const char *host)
{
	size_t len = strcspn(host, "%");
	char number[INET6_ADDRSTRLEN];
	struct in6_addr addr;

	if (len >= sizeof(number) || strcmp(host + len, "%") == 0)
		return false;
	memcpy(number, host, len);
	number[len] = '\0';
	return inet_pton(AF_INET6, number, &addr) == 1;
}

/* A name or an IPv4 number: whether it exists is found when it is resolved. */
static bool is_name(const char *host)
{
	for (const char *c = host; *c; c++) {
		if ((unsigned char)*c <= ' ' || *c == 0x7f || strchr("[]/@%\"'", *c))
			return false;
	}
	return *host != '\0' && *host != '-';
}

/* The next number of `*text`, which ends at a comma or at the end; `*text` moves on to that. */
static int read_number(const char **text, uint64_t *value)
{
	size_t len = strcspn(*text, ",");
	char number[NUMBER_SIZE];

	if (len >= sizeof(number))
		return -EINVAL;
	memcpy(number, *text, len);
	number[len] = '\0';
	*text += len;
	return units_parse_u64(number, value) || *value < 1 || *value > ENDTOEND_ADDRESS_MAX_PORT ?
		       -EINVAL :
		       0;
}

/* ":port" or ":port,count". Returns the problem, or NULL. */
static const char *read_ports(const char *text, struct endtoend_address *a)
{
	uint64_t port, count = 0;

	if (*text == ',')
		return "a number of ports needs a port before it, as in host:40010,4";
	text++;
	if (read_number(&text, &port))
		return "expected a port from 1 to 65535 after the colon";
	if (*text == ',') {
		text++;
		if (read_number(&text, &count))
			return "expected a number of ports from 1 to 65535 after the comma";
		if (port + count - 1 > ENDTOEND_ADDRESS_MAX_PORT)
			return "the ports would end past 65535; use a lower port or fewer ports";
	}
	if (*text)
		return "a third number, a NUMA node, is not supported; -processor and -numa bind "
		       "threads and buffers";
	a->port = (uint16_t)port;
	a->ports = (uint32_t)count;
	return NULL;
}

/* The part of `text` that is the host: `*host` and `*len`, and `*rest` after it. */
static const char *endtoend_address_split(const char *text, const char **host, size_t *len,
					  const char **rest)
{
	if (*text != '[') {
		*host = text;
		*len = strcspn(text, ":,");
		*rest = text + *len;
		if (**rest == ':' && strchr(*rest + 1, ':'))
			return "an IPv6 number needs brackets, as in [fe80::1]:40010";
		return NULL;
	}
	*host = text + 1;
	*len = strcspn(*host, "]");
	*rest = *host + *len;
	if (!**rest)
		return "the bracket after the IPv6 number is missing";
	++*rest;
	return **rest && **rest != ':' && **rest != ',' ?
		       "expected a colon and a port after the bracket, or nothing" :
		       NULL;
}

const char *endtoend_address_read(const char *text, struct arena *arena, struct endtoend_address *a)
{
	const char *host = NULL, *rest = NULL, *why;
	size_t len = 0;
	char *name;

	*a = (struct endtoend_address){ .port = 0 };
	why = endtoend_address_split(text, &host, &len, &rest);
	if (!why && *rest)
		why = read_ports(rest, a);
	if (why)
		return why;
	if (len > MAX_HOST)
		return "the name of a host has up to 255 characters";
	name = xarena_alloc(arena, len + 1);
	memcpy(name, host, len);
	if (*text == '[' ? !is_ipv6(name) : !is_name(name))
		return *text == '[' ? "expected an IPv6 number in brackets" :
				      "expected <host>, <host>:<port> or <host>:<port>,<#ports>";
	a->host = name;
	return NULL;
}

uint64_t endtoend_connections(const struct endtoend_options *e)
{
	uint64_t n = 0;

	for (size_t i = 0; i < e->n_addresses; i++)
		n += e->addresses[i].ports;
	return n;
}

const struct endtoend_address *endtoend_address_of(const struct endtoend_options *e,
						   uint64_t connection, uint16_t *port)
{
	const struct endtoend_address *a = e->addresses;

	while (connection >= a->ports) {
		connection -= a->ports;
		a++;
	}
	*port = (uint16_t)(a->port + connection);
	return a;
}

const char *endtoend_role_name(enum endtoend_role role)
{
	return role == E2E_SOURCE ? "source" : role == E2E_DESTINATION ? "destination" : "none";
}

/*
 * The connections: which ports each address has, and how many operations are outstanding.
 */

#define ENDTOEND_PORTS_MAX_PORT 65535
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

/* Addresses without a number of their own take it from -e2e portcount, or have one. */
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
		if (a->port + a->ports - 1 > ENDTOEND_PORTS_MAX_PORT)
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

/*
 * Refusals: options and work that a side of a copy cannot have.
 */

#define KEY_VARIABLE "XDD_E2E_KEY"

/* True if `s` gives an option that belongs to a copy. */
static bool is_of_copy(const struct setting *s)
{
	static const char *const names[] = { "endtoend", "restart", "congestion", "cookie" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(s->opt->name, names[i]) == 0)
			return true;
	}
	return false;
}

enum xdd_status endtoend_check_named(struct plan *plan)
{
	for (size_t i = 0; i < plan->n_settings; i++) {
		const struct setting *s = &plan->settings[i];
		bool any = !is_of_copy(s);

		/* An option for all targets applies to the targets that are sides of a copy. */
		for (uint64_t n = s->first; !any && n <= s->last; n++)
			any = plan->targets[n].endtoend.role != E2E_NONE;
		if (any)
			continue;
		if (strcmp(s->opt->name, "endtoend") == 0)
			return parse_error(XDD_BAD_ARGUMENT, s, NULL,
					   "needs a side of the copy: say -e2e issource or -e2e "
					   "isdestination as well");
		return parse_error(XDD_BAD_ARGUMENT, s, NULL,
				   "is for a copy between hosts, and -endtoend is not given");
	}
	return XDD_OK;
}

/* The option of `t` that asks for writes in another order than the source's, or NULL. */
static const char *seek_option(const struct target_plan *t)
{
	const struct seek_options *seek = &t->seek;

	if (seek->pattern != SEEK_SEQUENTIAL)
		return "-seek";
	if (seek->range_blocks)
		return "-seek range";
	if (seek->save_file)
		return "-seek save";
	if (seek->disthist)
		return "-seek disthist";
	if (seek->seekhist)
		return "-seek seekhist";
	return t->randomize ? "-randomize" : NULL;
}

/* The option of `t` by which it would wait for another target, or NULL. */
static const char *waiting_option(const struct target_plan *t)
{
	if (t->lockstep.on)
		return "-lockstep";
	if (t->start_trigger.on)
		return "-starttrigger";
	return t->stop_trigger.on ? "-stoptrigger" : NULL;
}

static enum xdd_status check_destination(const struct target_plan *t)
{
	const char *seek = seek_option(t), *waits = waiting_option(t);
	bool amount = t->numreqs || t->amount_bytes;

	if (t->op != OP_WRITE)
		return plan_refuse(t,
				   "-e2e isdestination: a destination only writes; say -op write, "
				   "or leave -op and -rwratio out");
	if (seek)
		return plan_refuse(
			t, "%s: the source decides the order of a copy; say it on the source",
			seek);
	if (waits)
		return plan_refuse(t,
				   "%s: a destination cannot wait for another target: its source "
				   "would wait too; say it on the source",
				   waits);
	if (t->pattern.given)
		return plan_refuse(t,
				   "-datapattern: the data of a destination comes from its source");
	if (!amount && plan_engine_caps(t) & (ENGINE_MAPS | ENGINE_SCSI))
		return plan_refuse(t,
				   "-ioengine %s: needs to know how much a destination gets; say "
				   "-bytes or -numreqs, as on the source",
				   plan_engine(t)->name);
	return XDD_OK;
}

static enum xdd_status check_source(const struct target_plan *t)
{
	if (t->seek.pattern == SEEK_LOAD)
		return plan_refuse(t,
				   "-seek load: the operations of a copy have one size, and those "
				   "of a list may differ; use another pattern");
	if (t->op != OP_READ)
		return plan_refuse(t, "-e2e issource: a source only reads; say -op read, or leave "
				      "-op and -rwratio out");
	return XDD_OK;
}

static enum xdd_status check_key(const struct endtoend_options *e, const struct target_plan *t)
{
	const char *variable = getenv(KEY_VARIABLE);

	if (e->cookie && e->key_file)
		return plan_refuse(t, "-cookie: is a key, and -e2e key names another; leave one "
				      "out");
	if (!e->encrypt || e->key_file || e->cookie || (variable && *variable))
		return XDD_OK;
	return plan_refuse(t,
			   "-e2e encrypt: needs a key; say -e2e key <file>, or set " KEY_VARIABLE);
}

enum xdd_status endtoend_check_side(const struct target_plan *t)
{
	const struct endtoend_options *e = &t->endtoend;
	enum xdd_status status;

	if (!e->n_addresses)
		return plan_refuse(t,
				   "-e2e %s: needs the address of the destination; say -e2e "
				   "destination <host>",
				   e->role == E2E_SOURCE ? "issource" : "isdestination");
	status = check_key(e, t);
	if (status)
		return status;
	if (t->kind != TARGET_NULL && plan_engine_caps(t) & (ENGINE_NO_DATA | ENGINE_NO_PATTERN))
		return plan_refuse(t,
				   "-ioengine %s, with these keywords, transfers no data; a copy "
				   "without a file is the target null's",
				   plan_engine(t)->name);
	return e->role == E2E_SOURCE ? check_source(t) : check_destination(t);
}

/* True if a file whose size is 0 has data, as files of procfs have. */
static bool has_data(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;
	char c;

	if (fd < 0)
		return false;
	n = read(fd, &c, 1);
	close(fd);
	return n > 0;
}

enum xdd_status endtoend_check_work(const struct target_plan *t)
{
	char reach[32], amount[32];

	if (t->endtoend.role != E2E_SOURCE || t->pass_ops == PLAN_UNLIMITED)
		return XDD_OK;
	if (!t->pass_ops && !t->size_bytes && has_data(t->path))
		return plan_refuse(t, "its size is 0, and yet it has data; say how much to copy, "
				      "with -bytes");
	if (t->extent_bytes <= t->pass_bytes)
		return XDD_OK;
	return plan_refuse(t,
			   "-seek: the operations reach over %s, and a copy has %s: they must stay "
			   "inside of what is copied",
			   units_size_text(t->extent_bytes, reach, sizeof(reach)),
			   units_size_text(t->pass_bytes, amount, sizeof(amount)));
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* The option in which two destinations differ, and cannot, as they share sockets; or NULL. */
static const char *different(const struct endtoend_options *a, const struct endtoend_options *b)
{
	if (!same_text(a->key_file, b->key_file))
		return "-e2e key";
	if (!same_text(a->cookie, b->cookie))
		return "-cookie";
	if (a->role == E2E_SOURCE)
		return NULL;
	if (!same_text(a->congestion, b->congestion))
		return "-e2e congestion";
	if (a->send_buffer_bytes != b->send_buffer_bytes)
		return "-e2e sendbuffer";
	return a->receive_buffer_bytes != b->receive_buffer_bytes ? "-e2e receivebuffer" : NULL;
}

static enum xdd_status check_pair(const struct target_plan *a, const struct target_plan *b)
{
	const char *option = different(&a->endtoend, &b->endtoend);

	if (a->endtoend.role != b->endtoend.role)
		return plan_refuse(b,
				   "-e2e: is the %s of a copy, and target %u the %s of another: a "
				   "run is one side for all of its targets; start one run for each",
				   endtoend_role_name(b->endtoend.role), a->number,
				   endtoend_role_name(a->endtoend.role));
	if (option)
		return plan_refuse(b,
				   "%s: must be the same for all targets of a run; target %u "
				   "has another",
				   option, a->number);
	return XDD_OK;
}

enum xdd_status endtoend_check_together(const struct plan *plan)
{
	const struct target_plan *first = NULL;
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < plan->n_targets && !status; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (t->endtoend.role == E2E_NONE)
			continue;
		if (first)
			status = check_pair(first, t);
		else
			first = t;
	}
	if (status || !first || first->endtoend.role != E2E_DESTINATION || !plan->syncio_ops)
		return status;
	return log_refuse(
		"-syncio: a destination cannot wait for another target: its source would wait "
		"too; say it on the source");
}
