/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies between two hosts: -endtoend, -restart. The user guide, 5.2, 10.5 and 10.6.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "plan/feature.h"
#include "plan/files.h"
#include "plan/parse.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/plan/engine_info.h"

#define E(field) TARGET_FIELD(endtoend.field)
#define HEX_DIGITS "0123456789abcdefABCDEF"
#define MIN_TIMEOUT_NS (2 * NS_PER_SEC) /* the sides send a sign of life every second */
#define MAX_TIMEOUT_NS (24 * 3600 * NS_PER_SEC)
#define MIN_SOCKET_BYTES 4096
#define MAX_SOCKET_BYTES (1u << 30)
#define ALGORITHM_SIZE 16 /* TCP_CA_NAME_MAX of the kernel, its end included */

/* Both roles for one target contradict each other, wherever they stand. */
static enum xdd_status apply_role(const struct setting *s, void *dst)
{
	enum endtoend_role role = (enum endtoend_role)s->sub->value;
	struct target_plan *t = dst;

	if (t->endtoend.role != E2E_NONE && t->endtoend.role != role)
		return parse_error(XDD_BAD_ARGUMENT, s, NULL,
				   "target %u is the %s of a copy already; it cannot be both sides",
				   t->number, endtoend_role_name(t->endtoend.role));
	t->endtoend.role = role;
	return XDD_OK;
}

static enum xdd_status apply_destination(const struct setting *s, void *dst)
{
	struct endtoend_options *e = &((struct target_plan *)dst)->endtoend;
	struct endtoend_address a;
	const char *why = endtoend_address_read(s->args[0].text, s->arena, &a);

	if (why)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0], "%s", why);
	if (e->n_addresses == E2E_MAX_ADDRESSES)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "is one address too many: a target has at most %d",
				   E2E_MAX_ADDRESSES);
	if (!e->addresses)
		e->addresses = xarena_alloc(s->arena, E2E_MAX_ADDRESSES * sizeof(a));
	e->addresses[e->n_addresses++] = a;
	return XDD_OK;
}

static enum xdd_status apply_congestion(const struct setting *s, void *dst)
{
	const struct word *w = &s->args[0];
	struct target_plan *t = dst;

	if (!*w->text || strlen(w->text) >= ALGORITHM_SIZE || strpbrk(w->text, " \t\n/"))
		return parse_error(
			XDD_BAD_ARGUMENT, s, w,
			"expected the name of an algorithm, such as cubic or bbr; "
			"net.ipv4.tcp_available_congestion_control lists what this machine has");
	t->endtoend.congestion = w->text;
	return XDD_OK;
}

/* Words of older programs, which only get a warning. */
static enum xdd_status apply_nothing(const struct setting *s, void *dst)
{
	(void)s;
	(void)dst;
	return XDD_OK;
}

static enum xdd_status apply_cookie(const struct setting *s, void *dst)
{
	const char *text = s->args[0].text;
	struct target_plan *t = dst;

	if (strlen(text) != E2E_COOKIE_DIGITS || text[strspn(text, HEX_DIGITS)])
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "expected %d hexadecimal digits, 0-9, a-f or A-F",
				   E2E_COOKIE_DIGITS);
	t->endtoend.cookie = text;
	return XDD_OK;
}

#define ROLE(name_, alias_, value_, help_)                                                 \
	{                                                                                  \
		.name = name_, .aliases = alias_, .type = OPT_CUSTOM, .apply = apply_role, \
		.value = value_, .help = help_,                                            \
	}

#define BUFFER(name_, field_, help_)                                                       \
	{                                                                                  \
		.name = name_, OPTION_SIZE("<bytes>", MIN_SOCKET_BYTES, MAX_SOCKET_BYTES), \
		E(field_), .help = help_,                                                  \
	}

static const struct option endtoend_rows[] = {
	ROLE("issource", "issrc", E2E_SOURCE, "this side reads, and sends what it reads"),
	ROLE("isdestination", "isdest", E2E_DESTINATION,
	     "this side receives, and writes what it receives"),
	{ .name = "destination",
	  .aliases = "dest host",
	  OPTION_CUSTOM("<host>[:<port>[,<#ports>]]", apply_destination),
	  .collects = true,
	  .help = "an address of the destination; one for each network interface" },
	{ .name = "port",
	  .aliases = "baseport",
	  OPTION_NUMBER("<port>", 1, 65535),
	  E(port),
	  .help = "first port of the addresses that have none of their own; 40010 by default" },
	{ .name = "portcount",
	  OPTION_NUMBER("<#ports>", 1, 65535),
	  .unit = "ports",
	  E(port_count),
	  .help = "ports of each address that has no number of its own" },
	{ .name = "timeout",
	  OPTION_TIME("<seconds>", MIN_TIMEOUT_NS, MAX_TIMEOUT_NS),
	  .def = "60",
	  E(timeout_ns),
	  .sets = offsetof(struct target_plan, endtoend.timeout_given),
	  .help = "how long to wait for the other side, in each step" },
	{ .name = "key",
	  OPTION_TEXT("<file>"),
	  E(key_file),
	  .help = "both sides must have the key in this file" },
	{ .name = "encrypt",
	  .type = OPT_SET,
	  .value = true,
	  E(encrypt),
	  .help = "send the data over TLS 1.3; needs a key" },
	{ .name = "congestion",
	  OPTION_CUSTOM("<algorithm>", apply_congestion),
	  .help = "congestion control of TCP, such as cubic or bbr" },
	BUFFER("sendbuffer", send_buffer_bytes, "send buffer of each socket"),
	BUFFER("receivebuffer", receive_buffer_bytes, "receive buffer of each socket"),
	{ .name = "sourcepath",
	  .aliases = "srcpath",
	  OPTION_CUSTOM("<file> <time>", apply_nothing),
	  .n_args = 2,
	  .help = "of older programs; no effect: the source sends its name and its time" },
	{ .name = "sourcemonitor",
	  .aliases = "srcmon",
	  .type = OPT_CUSTOM,
	  .apply = apply_nothing,
	  .help = "of older programs; no effect: the destination records what is durable" },
	{ 0 },
};

static const struct option rows[] = {
	{ .name = "endtoend",
	  .aliases = "e2e",
	  .scope = SCOPE_TARGET,
	  OPTION_SUB("<suboption>", endtoend_rows),
	  .help = "copy the target to, or from, another host",
	  .detail =
		  "Two runs of xdd are the sides of a copy: the source reads its target and sends "
		  "it over TCP, the destination receives and writes. Either may start first. Both "
		  "name the address of the destination, at which it listens; -op may be left out. "
		  "The number of connections and the request size must be the same on both sides. "
		  "The destination needs no amount, the source decides; if it has one, it must be "
		  "the source's. Each port is one connection, served by one QThread: the sum "
		  "of the numbers of ports overrides -queuedepth. Without numbers of ports, the "
		  "queue depth is the number of connections (with -threads, that number), dealt to "
		  "the addresses in turn. Engines that queue (libaio, io_uring) read ahead: "
		  "their queue depth is -queuedepth, or twice the number of ports. Several targets "
		  "may use the same ports; the first target of the source goes to the first of the "
		  "destination. The access pattern is the source's and stays inside the "
		  "amount that is copied; a source with a size and a time limit is read once, at "
		  "most. Lockstep, triggers and -syncio belong on the source. A source tries to "
		  "connect until the timeout; a destination waits for its source without limit "
		  "unless a timeout is given. With a key (a file, or the environment variable "
		  "XDD_E2E_KEY) both sides prove that they have it before anything else is read or "
		  "written; without, anyone that can reach the port can write to the target. With "
		  "a key and without encrypt the data is protected against accident, not against "
		  "a change on purpose on its way.",
	  .example = "xdd -targets 1 data -e2e issource destination 192.168.1.5:40010,4" },
	{ .name = "restart",
	  .aliases = "rst",
	  .scope = SCOPE_TARGET,
	  OPTION_SUB("<suboption>", restart_rows),
	  .help = "resume a copy of -endtoend that was interrupted",
	  .detail =
		  "On the destination, a thread flushes the target every so many seconds and then "
		  "records in the restart file which parts are durable. The file is replaced "
		  "atomically. When the file of -restart file exists and belongs to an unfinished "
		  "copy, the copy is resumed: names, size, times of change and request size must be "
		  "the file's, otherwise the copy is refused and the difference named. Both "
		  "sides then read what is durable and compare digests of it; the source sends "
		  "what is missing or differs. With trust the destination keeps what is durable "
		  "unread: this is faster, but what another program has changed in it since "
		  "stays unnoticed. A source keeps no file and needs "
		  "none of these words. offset is for both sides: that many bytes of the copy "
		  "are done, on the source and on the destination, and the amount is reduced by "
		  "them. The first line of a restart file has it, so that the file can be used "
		  "with -setup; these bytes are not compared. A copy of several passes cannot be resumed, nor one that "
		  "recreates, truncates or removes its file.",
	  .example = "xdd -targets 1 copy -e2e isdest dest 192.168.1.5 -restart file copy.rst" },
	{ .name = "congestion",
	  .scope = SCOPE_TARGET,
	  OPTION_CUSTOM("<algorithm>", apply_congestion),
	  .help = "the same as -endtoend congestion" },
	{ .name = "cookie",
	  .scope = SCOPE_TARGET,
	  OPTION_CUSTOM("<32 hex digits>", apply_cookie),
	  .help = "a weak key for -endtoend, visible to all users of the machine",
	  .detail = "Of older programs. Use -endtoend key, whose file others cannot read." },
	{ 0 },
};

/* The operation follows from the side; another one is refused once all targets have a path. */
static enum xdd_status endtoend_locate(struct plan *plan, struct target_plan *t)
{
	(void)plan;
	if (t->endtoend.role == E2E_NONE || t->op != OP_UNSET || t->seek.pattern == SEEK_LOAD)
		return XDD_OK;
	t->op = t->endtoend.role == E2E_SOURCE ? OP_READ : OP_WRITE;
	t->read_ratio = t->op == OP_READ ? PLAN_RATIO_ONE : 0;
	return XDD_OK;
}

static enum xdd_status endtoend_probe(struct plan *plan, struct target_plan *t)
{
	enum xdd_status status;

	(void)plan;
	if (t->endtoend.role == E2E_NONE)
		return XDD_OK;
	status = endtoend_check_side(t);
	return status ? status : endtoend_resolve_ports(t);
}

/* A source has the data of its file: without a pattern there is nothing that they could be. */
static enum xdd_status check_pattern(const struct plan *plan, const struct target_plan *t)
{
	if (t->endtoend.role != E2E_SOURCE || t->verify != VERIFY_CONTENTS ||
	    t->kind == TARGET_NULL ||
	    settings_have(plan->settings, plan->n_settings, "datapattern", NULL))
		return XDD_OK;
	return plan_refuse(t, "-verify contents: the source of an end-to-end copy has the data of "
			      "its file; name their pattern (-datapattern), or leave it out: the "
			      "copy checks what it transfers");
}

static enum xdd_status feature_endtoend_check(struct plan *plan)
{
	enum xdd_status status = endtoend_check_together(plan);

	for (size_t i = 0; i < plan->n_targets && !status; i++) {
		status = endtoend_check_work(&plan->targets[i]);
		if (!status)
			status = check_pattern(plan, &plan->targets[i]);
	}
	return status;
}

/* Operations at random offsets leave parts out, and a small range repeats others. */
static void warn_parts(const struct target_plan *t)
{
	bool repeats = t->range_bytes && t->range_bytes < t->pass_bytes;

	if (t->endtoend.role != E2E_SOURCE || t->pass_ops < 2 || t->pass_ops == PLAN_UNLIMITED ||
	    (t->seek.pattern != SEEK_RANDOM && t->seek.pattern != SEEK_ZIPF &&
	     t->seek.pattern != SEEK_NONE && !repeats))
		return;
	target_warning(t, "-seek: the operations repeat offsets and leave others out: what arrives "
			  "is no copy of the whole extent");
}

/* Once for each of the words of older programs. */
static void endtoend_warn(const struct plan *plan)
{
	if (settings_have(plan->settings, plan->n_settings, "cookie", NULL))
		log_warning(
			"-cookie: is a weak key: the list of processes shows it to all users of "
			"this machine; use -e2e key <file>");
	if (settings_have(plan->settings, plan->n_settings, "endtoend", "sourcepath"))
		log_warning("-e2e sourcepath: has no effect: the source sends the name and the "
			    "time of its file");
	if (settings_have(plan->settings, plan->n_settings, "endtoend", "sourcemonitor"))
		log_warning("-e2e sourcemonitor: has no effect: -restart on the destination "
			    "records what is durable");
}

const struct plan_feature feature_endtoend = {
	.group = { "End-to-end copies", rows },
	.target = { [TARGET_LOCATE] = endtoend_locate, [TARGET_PROBE] = endtoend_probe },
	.plan = { [PLAN_BEGIN] = endtoend_check_named, [PLAN_CHECK] = feature_endtoend_check },
	.warn_target = warn_parts,
	.warn = endtoend_warn,
};

/*
 * Copies that can be resumed: the suboptions of -restart. The user guide, 5.2.
 */

#define R(field) TARGET_FIELD(restart.field)
#define ENABLES .sets = offsetof(struct target_plan, restart.enabled)
#define MIN_FREQUENCY_NS (NS_PER_SEC / 100)
#define MAX_FREQUENCY_NS (24 * 3600 * NS_PER_SEC)

static enum xdd_status apply_offset(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	(void)s;
	t->restart.enabled = true;
	return XDD_OK;
}

const struct option restart_rows[] = {
	{ .name = "enable",
	  .type = OPT_SET,
	  .value = true,
	  R(enabled),
	  .help = "keep a restart file on the destination" },
	{ .name = "frequency",
	  .aliases = "freq",
	  OPTION_TIME("<seconds>", MIN_FREQUENCY_NS, MAX_FREQUENCY_NS),
	  .def = "1",
	  R(frequency_ns),
	  ENABLES,
	  .help = "how often the restart file is written" },
	{ .name = "file",
	  OPTION_TEXT("<name>"),
	  R(file),
	  ENABLES,
	  .help = "the restart file; its name is made from hosts, files and time otherwise" },
	{ .name = "trust",
	  .type = OPT_SET,
	  .value = true,
	  R(trust),
	  ENABLES,
	  .help = "keep what is there already without comparing it with the source" },
	{ .name = "offset",
	  .aliases = "byteoffset",
	  OPTION_SIZE("<bytes>", 0, INT64_MAX),
	  R(offset_bytes),
	  .sets = offsetof(struct target_plan, restart.offset_given),
	  .apply = apply_offset,
	  .help = "leave out so many bytes at the start of the copy; on both sides" },
	{ 0 },
};

/* The option of `t` that changes or removes what was copied already, or NULL. */
static const char *removing_option(const struct target_plan *t)
{
	const char *option = plan_recreating_option(t);

	if (option)
		return option;
	return t->pretruncate ? "pretruncate" : t->delete_file ? "deletefile" : NULL;
}

/* Refuse a copy that cannot be resumed. */
static enum xdd_status restart_check(struct plan *plan, struct target_plan *t)
{
	const char *option = removing_option(t);

	if (t->endtoend.role == E2E_NONE || !t->restart.enabled)
		return XDD_OK;
	if (plan->passes > 1)
		return plan_refuse(t, "-restart: a copy of several passes cannot be resumed; leave "
				      "-passes out");
	if (t->endtoend.role == E2E_SOURCE)
		return XDD_OK;
	if (t->kind == TARGET_NULL)
		return plan_refuse(t, "-restart: the null device keeps nothing that could be "
				      "resumed");
	if (plan_engine_caps(t) & ENGINE_SCSI)
		return plan_refuse(t,
				   "-restart: cannot flush by -ioengine %s while it writes; use "
				   "another engine",
				   plan_engine(t)->name);
	if (option)
		return plan_refuse(t, "-restart: -%s would remove what was copied; leave it out",
				   option);
	return XDD_OK;
}

static enum xdd_status check_files(struct plan *plan)
{
	return plan_check_restart_files(plan);
}

static void restart_warn(const struct target_plan *t)
{
	const struct restart_options *r = &t->restart;

	/* An offset is for both sides. */
	if (t->endtoend.role != E2E_SOURCE || !r->enabled || r->offset_given)
		return;
	target_warning(t,
		       "-restart: no restart file is made on the source; the destination keeps it");
}

const struct plan_feature feature_restart = {
	.target = { [TARGET_CHECK] = restart_check },
	.plan = { [PLAN_CHECK] = check_files },
	.warn_target = restart_warn,
};
