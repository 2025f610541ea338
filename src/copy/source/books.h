/*
 * The books of the source: entries that were offered and have no result yet, found by their ids.
 * Callers: the other files of the source, which hold its lock.
 */
#ifndef COPY_SOURCE_BOOKS_H
#define COPY_SOURCE_BOOKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy/tree/walk.h"

/* The state of a file's wants. */
enum entry_state {
	ENTRY_IDLE,   /* it has no want without an answer */
	ENTRY_QUEUED, /* in the queue of work */
	ENTRY_TAKEN,  /* a data thread works on it */
};

/* An entry that was offered. */
struct entry {
	/* const once it was offered */
	uint64_t id;
	struct dirs *dirs;
	struct dir_node *dir; /* FILE: a reference; else NULL */
	uint64_t size_bytes;  /* to copy */
	uint64_t file_bytes;  /* of the file, as the walk found it */
	uint64_t dev, ino;
	int64_t mtime_ns;
	uint32_t type; /* S_IFMT of the mode */
	uint32_t uid;
	uint32_t encoded_bytes; /* in the offer */
	uint8_t kind;		/* enum copy_kind */
	uint8_t flags;		/* COPY_SPARSE ... */

	/* guarded by the lock of the source */
	bool counted;	       /* in the window */
	bool listed;	       /* in the books */
	uint8_t state;	       /* enum entry_state */
	uint8_t outcome;       /* enum copy_outcome, at its end */
	uint8_t how;	       /* of the want that is worked on */
	uint8_t asked;	       /* all hows that were wanted, as bits 1 << how */
	struct entry *next;    /* in the queue, or in a batch */
	struct extent *ranges; /* of the want; NULL: all */
	size_t n_ranges;
	bool partly; /* the destination keeps a part, by digests: the file must stay as it is */

	/* of the walk, then of the thread that has sent digests of a part */
	int64_t ctime_ns;

	/* atomic: the destination has lost it; set once */
	_Atomic bool lost;

	char name[]; /* in `dir` */
};

struct books {
	struct entry **slots; /* open addressing; NULL: free */
	unsigned bits;	      /* 1 << bits slots */
	size_t n;
	size_t window_entries;
	uint64_t window_bytes;
};

/* Returns 0 or -ENOMEM. */
int books_init(struct books *b);
/* Frees the entries as well. Safe on one that is all zero. */
void books_free(struct books *b);

/* Add an entry, which the books own from then on. Returns 0 or -ENOMEM. */
int books_add(struct books *b, struct entry *e);
struct entry *books_find(const struct books *b, uint64_t id);
/* Take an entry out, and out of the window. The caller owns it. */
void books_remove(struct books *b, struct entry *e);

/* True if the window has room for one more entry of so many bytes. */
bool books_have_room(const struct books *b, size_t encoded_bytes);
/* Count an entry in the window. */
void books_count(struct books *b, struct entry *e);

/* An entry that the walk has found, without a reference to its directory; NULL without memory. */
struct entry *entry_new(const struct walk_found *found, size_t encoded_bytes);
/* Free it, and release its directory. Accepts NULL. */
void entry_free(struct entry *e);

/* True if its contents travel in a bundle, where the want has no ranges. */
bool entry_is_small(const struct entry *e);

#endif
