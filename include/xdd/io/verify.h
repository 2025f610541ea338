/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Verification: whether what was read is what must be there, and if not what it is instead.
 *
 * A verifier belongs to one QThread. Nothing is printed: each extent of wrong data is passed to the
 * caller.
 */
#ifndef XDD_IO_VERIFY_H
#define XDD_IO_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/io/pattern.h"
#include "xdd/io/tag.h"
#include "xdd/plan/plan.h"

#define VERIFY_SECTOR_BYTES 512
#define VERIFY_SHOWN_BYTES 8

enum miscompare_kind {
	MISCOMPARE_OTHER, /* none of the below, as far as can be told */
	MISCOMPARE_ZEROS,
	MISCOMPARE_POISON, /* nothing was transferred into the buffer */
	MISCOMPARE_MISPLACED,
	MISCOMPARE_STALE,
	MISCOMPARE_TORN,
	MISCOMPARE_FLIPPED,
};

/* An extent of wrong data of one kind in one request. */
struct miscompare {
	enum miscompare_kind kind;
	uint64_t offset; /* of its first wrong byte in the target */
	uint64_t bytes;	 /* from there to its last wrong byte */
	uint8_t expected[VERIFY_SHOWN_BYTES];
	uint8_t found[VERIFY_SHOWN_BYTES];
	unsigned shown;	   /* bytes of these two */
	uint64_t shown_at; /* where in the target they stand */
	uint64_t op;	   /* the read that saw it: mostly the one that is being verified */
	uint64_t pass;
	char text[200]; /* details as text; "" when there are none */
};

/* Takes a miscompare; `arg` is the caller's. Returns whether further ones need a text. */
typedef bool verify_report_fn(void *arg, const struct miscompare *m);

/* Const while reads are verified, except `scans`. */
struct verifier {
	const struct target_plan *target;
	const struct pattern *pattern;
	uint64_t run;		     /* tagged: of this run */
	const struct tag_book *book; /* tagged, of a run that writes as well; NULL otherwise */
	struct tag_history *history; /* tagged, of a run that only reads; NULL otherwise */
	unsigned scans;		     /* searches for the place of misplaced data that are left */
	uint64_t unjudged;	     /* sectors without a tag that this run has not written */
};

/* A complete read. */
struct verify_read {
	const void *buf;
	uint64_t offset; /* of the target */
	uint64_t bytes;
	uint64_t op;
	uint64_t pass;
	const uint64_t *bounds; /* with a book: of tag_book_read() */
	uint64_t logged;	/* with a book: of tag_book_read() */
};

/* `book` and `history` may be NULL. Nothing is to be freed. */
void verifier_init(struct verifier *v, const struct target_plan *target,
		   const struct pattern *pattern, uint64_t run, const struct tag_book *book,
		   struct tag_history *history);

/*
 * Fill a buffer from byte `from` up to `size` with data that no pattern has, before a read that
 * will be verified.
 */
void verify_poison(void *buf, size_t from, size_t size);

/* Returns how many miscompares there were. `detail`: whether the first one needs a text. */
uint64_t verify_read(struct verifier *v, const struct verify_read *r, bool detail,
		     verify_report_fn *report, void *arg);

/* "stale" and the like. */
const char *miscompare_name(enum miscompare_kind kind);

#endif
