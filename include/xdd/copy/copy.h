/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies of files and trees between hosts: xdd copy, and xddcp. doc/design.md has the parts,
 * doc/wire.md the messages.
 */
#ifndef XDD_COPY_COPY_H
#define XDD_COPY_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/base/status.h"

#define COPY_MAX_CONNECTIONS 128
#define COPY_MAX_BLOCK_BYTES (32u << 20)
#define COPY_MIN_BLOCK_BYTES (4u << 10)

/* Why a directory is no source, on either side; COPY_BAD_ARGUMENTS. */
#define COPY_IS_DIRECTORY "is a directory; say -r to copy it"
#define COPY_IS_DIRECTORY_RESUME \
	COPY_IS_DIRECTORY        \
	" (-R and -a resume an interrupted copy; for -a of rsync say -r -P)" /* with -R */
#define COPY_IS_DIRECTORY_LIST "is a directory; expected a list of names"    /* with -F */

/* Of copy_stem(), with the NUL; and the last second of the year 9999. */
#define COPY_STEM_BYTES 256
#define COPY_MAX_BEGUN_S UINT64_C(253402300799)

/* Settings that both sides of a copy must know. Values only; sent to the other side. */
struct copy_settings {
	bool recursive;	       /* -r */
	bool everything;       /* -P: owners, ACLs, extended attributes */
	bool verify;	       /* -k: compare only */
	bool compare_contents; /* -c: files of equal size and time are compared */
	bool dry_run;	       /* -n: change nothing */
	bool in_place;	       /* -i */
	bool resume;	       /* -R, -a: keep what an interrupted copy has, and continue it */
	bool trust;	       /* -trust: without reading what is kept */
	bool list;	       /* -F: the source is a file with names */
	bool list_nul;	       /* -0: they end with NUL */
	bool ordered_source, ordered_destination; /* -o */
	bool direct_source, direct_destination;	  /* -s, -d */
	bool encrypt;				  /* -e */
	bool free_ports;      /* -f: end other copies of this user that have the ports */
	bool port_given;      /* -p: use these ports and no others */
	bool force;	      /* -force: write to a device that carries data */
	bool stamps;	      /* -v: a log, and time stamps as text on both sides */
	bool stamps_binary;   /* -w: and dumps */
	bool into;	      /* the destination is a directory that files are copied into */
	bool new_name;	      /* it was no directory when the first attempt began */
	uint16_t port;	      /* -p: the first one */
	uint32_t connections; /* -t */
	uint32_t block_bytes; /* of a message of data of a large file */
	uint64_t size_bytes;  /* bytes of the only source to copy; UINT64_MAX: all */
	uint64_t timeout_ns;
	uint64_t begun_s; /* begin of the copy, in seconds of UTC: in the names of -v */
};

/* A name on a host. */
struct copy_place {
	const char *user; /* NULL: ssh's own */
	const char *host; /* NULL: this host. Without brackets */
	const char *path; /* "" of a remote host: the home directory */
	const char *word; /* as the user wrote it; NULL: unknown */
};

/* A whole command line. Strings are borrowed for the copy. */
struct copy_request {
	struct copy_settings settings;
	const struct copy_place *sources; /* at least one, all of one host */
	size_t n_sources;
	struct copy_place destination;
	const char *const *ssh; /* command and arguments of ssh, ends with NULL; at least one */
	bool ssh_by_variable;	/* XDDCP_SSH has it */
	const char *remote_xdd; /* program on the other hosts: "xdd" */
	bool remote_tty;	/* -Y */
	unsigned retries;	/* of the whole copy, after the connection was lost */
	uint64_t answer_ns;	/* limit for the first answer of a server; 0: none */
	const char *log_path;	/* NULL: none */
	const char *json_path;	/* NULL: none */
	bool quiet;		/* neither progress nor summary */
	const char *command;	/* the command line, for log and JSON */
};

/* How many attempts copy_run() may make; 1 where the request can be read once only. */
unsigned copy_attempts(const struct copy_request *request);

/*
 * Copy. Reports to standard output and log_error(). Returns the exit status: XDD_OK, XDD_CANCELED,
 * XDD_MISCOMPARE or an enum copy_status. Main thread, once, while there is no other thread.
 */
int copy_run(const struct copy_request *request);

/*
 * The name of files about a copy of `path` that began at `begun_s`, at most COPY_MAX_BEGUN_S,
 * without an ending: "xddcp-HOST-NAME-2026-11-23-081500-GMT", with this host and the last part of
 * the path. Any thread.
 */
void copy_stem(const char *path, uint64_t begun_s, char stem[COPY_STEM_BYTES]);

/*
 * The other side: xdd copy -server, with messages on standard input and output. Returns an exit
 * status as above. Main thread, once.
 */
int copy_server(void);

#endif
