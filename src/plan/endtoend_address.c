/*
 * Addresses of -e2e destination: reading them, and the connections to each. Reading is called while
 * a plan is built.
 */
#include "plan/endtoend_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "xdd/base/memory.h"
#include "xdd/base/units.h"

#define MAX_HOST 255
#define MAX_PORT 65535
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
	return units_parse_u64(number, value) || *value < 1 || *value > MAX_PORT ? -EINVAL : 0;
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
		if (port + count - 1 > MAX_PORT)
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
static const char *split(const char *text, const char **host, size_t *len, const char **rest)
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

int endtoend_address_read(const char *text, struct arena *arena, struct endtoend_address *a,
			  const char **why)
{
	const char *host = NULL, *rest = NULL;
	size_t len = 0;
	char *name;

	*a = (struct endtoend_address){ .port = 0 };
	*why = split(text, &host, &len, &rest);
	if (!*why && *rest)
		*why = read_ports(rest, a);
	if (!*why && len > MAX_HOST)
		*why = "the name of a host has up to 255 characters";
	if (*why)
		return -EINVAL;
	name = arena_alloc(arena, len + 1);
	if (!name)
		return -ENOMEM;
	memcpy(name, host, len);
	if (*text == '[' ? !is_ipv6(name) : !is_name(name)) {
		*why = *text == '[' ? "expected an IPv6 number in brackets" :
				      "expected <host>, <host>:<port> or <host>:<port>,<#ports>";
		return -EINVAL;
	}
	a->host = name;
	return 0;
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
