/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command xdd multi: a run on many hosts. Private to src/commands.
 *
 * One process starts the others through a launcher such as ssh, one for each rank, and reads their
 * documents and messages. Everything belongs to the main thread, except the time server.
 */
#ifndef XDD_COMMANDS_MULTI_H
#define XDD_COMMANDS_MULTI_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/base/status.h"
#include "xdd/report/document.h"
#include "xdd/report/heartbeat.h"
#include "xdd/sys/child.h"

struct arena;
struct command;
struct multi_launcher;
struct multi_server;
struct option_table;

#define MULTI_MAX_RANKS 16384
#define MULTI_DOCUMENT_MAX_BYTES (512u << 20)
#define MULTI_LINE_BYTES 4096 /* of a message; a longer one is cut */
#define MULTI_LAST_LINES 5    /* messages that a report about a failure repeats */
#define MULTI_WHY_BYTES 512
#define MULTI_NOISE_TEXT "sent other output than results"
#define MULTI_MAX_NOISE (64u << 10) /* bytes of it before the results, as in xddcp */
#define MULTI_PORT_TEXT "PORT"	    /* of -dryrun, for what is not known yet */
#define MULTI_TIME_TEXT "STARTTIME"

/* ---- the command line: multi.c ---- */

struct multi_line {
	const char *hosts, *host_file;
	uint64_t slots; /* of a host without a number of its own */
	const char *launcher, *command, *remote_xdd;
	const char *time_server, *run_id, *out, *json;
	uint64_t start_in_ns; /* UINT64_MAX: not given */
	uint64_t timeout_ns, grace_ns;
	bool quiet, dry_run;
};

/* ---- hosts: multi_hosts.c ---- */

struct multi_host {
	const char *user; /* NULL: the launcher's */
	const char *name; /* without brackets */
	uint32_t slots;	  /* ranks */
};

struct multi_hosts {
	struct multi_host *list;
	size_t n;
};

/*
 * Add the hosts of `text`: names separated by commas and blanks, each as name, user@name,
 * name[1-8,12] or [address], with :slots after it. `origin` names the option in messages. Returns
 * XDD_OK or a status, reported.
 */
enum xdd_status multi_hosts_add(struct arena *arena, struct multi_hosts *h, const char *text,
				const char *origin, uint32_t slots);

/*
 * As multi_hosts_add(), from a file: a host per line, with slots=<n> as an alternative, and #
 * comments.
 */
enum xdd_status multi_hosts_read(struct arena *arena, struct multi_hosts *h, const char *path,
				 uint32_t slots);

/* Those of the allocation of Slurm: multi_hosts.c. */
enum xdd_status multi_hosts_slurm(struct arena *arena, struct multi_hosts *h, uint32_t slots);

/* ---- ranks ---- */

enum multi_state {
	MULTI_IDLE,
	MULTI_RUNNING,
	MULTI_ASKED,  /* it was asked to end, with results */
	MULTI_KILLED, /* its launcher was ended */
	MULTI_ENDED,
};

struct multi_rank {
	/* const once the ranks are made */
	const struct multi_host *host;
	uint32_t number;
	const char *label;  /* the host, with the rank where it has several */
	char *const *words; /* of the launcher; ends with NULL */
	char *const *ask;   /* those that ask for the end; NULL: the end of standard input does */

	enum multi_state state;
	struct child child;
	struct child asking;  /* the command `ask`; pid 0: it does not run */
	bool reaped;	      /* its status is known */
	int status;	      /* child_status() */
	uint64_t sign_ns;     /* when it gave a sign of life */
	uint64_t deadline_ns; /* of the state; UINT64_MAX: none */
	bool answered;	      /* xdd has begun there */
	bool has_progress;
	struct progress_line progress;

	char *document; /* bytes of its standard output */
	size_t document_bytes, document_room;
	size_t noise_bytes;	     /* of other output before it */
	char line[MULTI_LINE_BYTES]; /* the beginning of a message */
	size_t line_bytes;
	char *last[MULTI_LAST_LINES]; /* the last messages, in a ring */
	size_t n_lines;
	FILE *log; /* of -out; NULL: none */

	struct document results;   /* its document; no root: none, or not valid */
	char why[MULTI_WHY_BYTES]; /* "": it did what it should */
};

struct multi {
	struct arena *arena;
	struct multi_line line;
	struct multi_hosts hosts;
	const struct multi_launcher *launcher;
	const char *const *command; /* of the launcher; ends with NULL */
	const char *remote_xdd;
	const char *run_id;
	char *const *words; /* options of xdd; end with NULL */

	struct multi_rank *ranks;
	size_t n;

	const char *time_host;	     /* of the time server that was named; NULL: this host */
	const char *time_port;	     /* NULL: each host uses its own clock */
	const char *start_time;	     /* NULL: each rank begins when it is ready */
	struct multi_server *server; /* in this process; NULL: none */

	int signal_fd;			   /* signals that this process takes */
	int interrupted;		   /* the latest of them that ends the run; 0: none */
	uint64_t interrupted_ns, shown_ns; /* when it came, and when the display was drawn */
};

/* ---- launchers: multi_launch.c ---- */

struct multi_launcher {
	const char *name;
	const char *command;  /* its words, separated by blanks */
	const char *attached; /* the stream that tells the other side of the end */
	bool shell;	      /* the words go through a shell of the other side */
	int end_signal;	      /* ends it and what it has started; 0: SIGTERM */
	bool users;	      /* it takes user@host */
	bool addresses;	      /* it takes IPv6 addresses */
};

/* Choose the launcher, and check its program and the hosts. Returns a status, reported. */
enum xdd_status multi_launcher_choose(struct multi *m);

/* Set the words of all ranks. Returns a status, reported. Starts nothing. */
enum xdd_status multi_launcher_words(struct multi *m);

/* ---- the clock: multi_hosts.c ---- */

/*
 * Set time_host, time_port and start_time: starts a server in this process where none was named.
 * Returns a status, reported.
 */
enum xdd_status multi_time_begin(struct multi *m);

/* The time server as `host` can reach it. NULL: no memory. */
const char *multi_time_host(const struct multi *m, const struct multi_host *host);

/* End that server. Safe without one. */
void multi_time_end(struct multi *m);

/* ---- processes: multi_run.c ---- */

/* Take signals from now on; before any thread is started. Returns a status, reported. */
enum xdd_status multi_signals(struct multi *m);

/* Start all ranks, and wait until all have ended. Returns a status, reported. */
enum xdd_status multi_run(struct multi *m);

/* Bytes of its standard error; `n` 0: it has ended. */
void multi_messages_take(struct multi *m, struct multi_rank *r, const char *bytes, size_t n);

/* ---- results: multi.c ---- */

/* Free what the ranks have. */
void multi_result_free(struct multi *m);

#endif
