/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line of xdd copy. Private to src/commands; main thread.
 */
#ifndef XDD_COMMANDS_COPY_LINE_H
#define XDD_COMMANDS_COPY_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/copy/copy.h"
#include "xdd/plan/line.h"
#include "xdd/plan/option.h"

struct arena;

#define COPY_USED_MAX 64 /* more than there are options */

/* A word after an option that is its value in the form of the later program, or an operand. */
struct copy_maybe {
	const struct option *opt;
	size_t operand; /* its index among the operands */
};

struct copy_line {
	struct line line;
	struct copy_request request;
	struct arena *arena;

	const char **operands;
	size_t n_operands;
	struct copy_maybe maybe[COPY_USED_MAX];
	size_t n_maybe;

	const struct option *used[COPY_USED_MAX]; /* options that were given, once each */
	size_t n_used;
	bool letter_a;	   /* -resume was given as -a */
	bool kernel_trace; /* -dump was given as -W */

	/* Values that become parts of the request when all words were read. */
	const char *ssh;
	const char *remote_xdd;
	const char *local_xdd;
	bool json;
	uint64_t threads, port, block_bytes, size_bytes, timeout_ns, retries;
};

extern const struct option_table copy_options;

/*
 * Read a command line; `argv[0]` is the name of the command. Opens and starts nothing. Returns 0,
 * or an enum copy_status, reported. `l` is all zero, except its arena. If `line.shows` is not NULL,
 * nothing else counts.
 */
int copy_line_read(struct copy_line *l, int argc, char *const *argv);

/*
 * The number of threads where the option is not given, on a host with so many processors; 0: that
 * is not known.
 */
uint32_t copy_default_threads(unsigned processors);

/*
 * Split `text` into words as a shell does, with quotes and backslashes, and without expansions; the
 * result ends with NULL and is memory of `arena`. Returns 0; -EINVAL: a quote is open; -ENODATA: no
 * words.
 */
int copy_split(struct arena *arena, const char *text, const char *const **words);

/*
 * Find the place that a word names: `host:path`, `user@host:path`, `[host]:path`, or a local path,
 * which has a "/" before its first ":" or none. Memory of `arena`. Returns NULL, or what is wrong.
 */
const char *copy_place_parse(struct arena *arena, const char *word, struct copy_place *place);

/*
 * Report option `word`, which is none of ours, if it is one of other tools that copy: with the
 * words to say instead, and what -a before it means. False: it is not known.
 */
bool copy_foreign_option(const struct copy_line *l, const char *word);

/* True if `letters` are a name in another tool, after one dash or two: archive, checksum. */
bool copy_foreign_name(const char *letters);

/* Tell what a letter does not do here that it does in another tool. After all words were read. */
void copy_foreign_notes(const struct copy_line *l);

/*
 * The complaint about `letter` with `next`, the word after it, in the sense of another tool, which
 * is not ours: scp -i <identity>, -P <port>, rsync -e ssh. NULL: nothing shows that.
 */
const char *copy_foreign_value(struct arena *arena, char letter, const char *next);

#endif
