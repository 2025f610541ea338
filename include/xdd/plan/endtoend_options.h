/*
 * -endtoend and -restart of a target. User guide, 5.2, 10.5 and 10.6.
 */
#ifndef XDD_PLAN_ENDTOEND_OPTIONS_H
#define XDD_PLAN_ENDTOEND_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define E2E_DEFAULT_PORT 40010
#define E2E_DEFAULT_TIMEOUT_NS (60ull * 1000000000)
#define E2E_MAX_ADDRESSES 16
#define E2E_MAX_CONNECTIONS 65536 /* of a target */
#define E2E_COOKIE_DIGITS 32

enum endtoend_role {
	E2E_NONE,
	E2E_SOURCE,
	E2E_DESTINATION,
};

/* An address of the destination, as option and resolved. */
struct endtoend_address {
	const char *host; /* a name or a number; an IPv6 number without its brackets */
	uint16_t port;	  /* the first port; option: 0 when it was not given */
	uint32_t ports;	  /* how many, from `port` on; option: 0 when it was not given */
};

struct endtoend_options {
	/* option */
	enum endtoend_role role;
	struct endtoend_address *addresses;
	size_t n_addresses;
	uint64_t port;	     /* -e2e port; 0: not given */
	uint64_t port_count; /* -e2e portcount; 0: not given */
	uint64_t timeout_ns; /* of each step, E2E_DEFAULT_TIMEOUT_NS where it was not given */
	bool timeout_given;
	const char *key_file; /* NULL: not given; XDD_E2E_KEY may have the key then */
	const char *cookie;   /* -cookie: 32 hexadecimal digits, a weak key; NULL: not given */
	bool encrypt;
	const char *congestion;	       /* algorithm; NULL: that of the system */
	uint64_t send_buffer_bytes;    /* of a socket; 0: the kernel adapts it */
	uint64_t receive_buffer_bytes; /* the same */

	/* resolved: addresses[].port and .ports, whose sum is the number of QThreads */
};

/* -restart. */
struct restart_options {
	bool enabled;	       /* any suboption was given */
	uint64_t frequency_ns; /* default 1 s */
	const char *file;      /* NULL: not given */
	uint64_t offset_bytes; /* so much of the copy is done, and is left out */
	bool offset_given;
	bool trust; /* data that is there already is not compared with the source */
};

/* The data connections of a target, one for each QThread. Once the plan is resolved; any thread. */
uint64_t endtoend_connections(const struct endtoend_options *e);

/*
 * The address that data connection `connection` goes to, and its port in `*port`. The connections
 * are numbered through the ports of the first address, then those of the next one.
 */
const struct endtoend_address *endtoend_address_of(const struct endtoend_options *e,
						   uint64_t connection, uint16_t *port);

/* "source", "destination" or "none". */
const char *endtoend_role_name(enum endtoend_role role);

#endif
