/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tagged data: sectors, the writes that they may hold, and the history of reads.
 */
#ifndef XDD_IO_TAG_H
#define XDD_IO_TAG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/plan/target_options.h"

/*
 * Tagged data: sectors of 512 bytes that say what they are. Format, all words little endian:
 *
 *	  0	8 bytes	"XDDtag1\n" 	  8	u64	checksum: XXH3, 64 bits, of bytes 16 to 511
 *	 16	u64	run: wall clock at its start, nanoseconds since 1970
 * 24	u64	offset: of this sector in the target, bytes 	 32	u64	generation: number
 * of the write, from 1, of all writes of that run to that target 	 40	u64	oldest: the
 * lowest generation that may have been outstanding with this write 	 48	u64	since: the
 * generation with which the pass began 	 56	u64	request: offset of the first sector
 * of the write 	 64	u64	sweep: everything from here to the request was written
 * before it in the same 			pass; equals the request where that is not known
 *	 72	u32	target: its number in that run 	 76	u32	pass, from 1
 * 80	u32	bytes of the request 	 84	u32	zero 	 88	424 bytes	output of
 * splitmix64 (S. Vigna, public domain) from the checksum of 			bytes 16 to 87
 *
 * Pure functions; any thread.
 */

#define TAG_MAGIC PATTERN_TAG_MAGIC
#define TAG_MAGIC_BYTES 8
#define TAG_SECTOR_BYTES 512
#define TAG_HEADER_BYTES 88

/* Where a field stands in a sector, for messages. */
#define TAG_AT_RUN 16
#define TAG_AT_OFFSET 24
#define TAG_AT_GENERATION 32
#define TAG_AT_TARGET 72

struct tag {
	uint64_t run;
	uint64_t offset;
	uint64_t generation;
	uint64_t oldest;
	uint64_t since;
	uint64_t request;
	uint64_t sweep;
	uint32_t target;
	uint32_t pass;
	uint32_t bytes;
};

enum tag_state {
	TAG_NONE,   /* no tag */
	TAG_BROKEN, /* a tag, and a checksum that does not fit the sector */
	TAG_GOOD,
};

/* True if this build has the checksum. Otherwise false, with `*why` a static message. */
bool tag_available(const char **why);

/* Write one sector. */
void tag_write(const struct tag *tag, void *sector);

/* Write `bytes`, whole sectors, the first of which `tag` describes; the others follow it. */
void tag_fill(const struct tag *tag, void *buf, uint64_t bytes);

/* Read the tag of a sector into `tag`, which does not change when there is none. */
enum tag_state tag_read(const void *sector, struct tag *tag);

/*
 * The writes that each sector of a target may hold while tagged writes and reads are in flight
 * together.
 *
 * Writes are numbered as they are prepared. Of writes that overlap in time and place either may be
 * the one that remains, so no sector has one right number; what is certain is a lower bound. When
 * a write is prepared, it notes the lowest number that is still outstanding: every write below
 * that is over, and will be overwritten. Once it is over itself, its sectors hold nothing below
 * what it noted. A read records these bounds before it is issued; a number below them is old data,
 * whatever the timing was.
 *
 * A read that overlaps a write may see part of a sector as it was and part as it will be, on file
 * systems that copy without a lock; and with the engine mmap two writes that overlap may leave
 * such a sector for good. So completed writes are logged for a while, and sectors that two writes
 * wrote at once are marked: a checksum that is wrong says nothing then.
 *
 * The bounds take 8 bytes a sector, of memory that is only there once it is used. Where a target
 * would need more than TAG_BOOK_MAX_BYTES, or memory is short, there are none, and every number is
 * allowed.
 */

#define TAG_BOOK_MAX_BYTES (1ull << 30)

/* In a bound: two writes wrote the sector at the same time. */
#define TAG_BOOK_DUBIOUS (1ull << 63)

/* A write that is outstanding, or one that is over. tag.c only. */
struct tag_book_place {
	_Atomic uint64_t number; /* no higher than the write's; UINT64_MAX: none */
	_Atomic uint64_t offset;
	_Atomic uint64_t bytes;
	uint64_t logged; /* owned by the write: length of the log when it was prepared */
	uint64_t oldest; /* owned by the write */
} __attribute__((aligned(128)));

struct tag_book_entry {
	_Atomic uint64_t number; /* of the entry, from 1; 0: it is being written */
	_Atomic uint64_t offset;
	_Atomic uint64_t bytes;
};

struct tag_book {
	/* atomic: number of the next write */
	_Atomic uint64_t next __attribute__((aligned(128)));

	/* atomic: writes that have been logged; the last ones are in `log` */
	_Atomic uint64_t logged __attribute__((aligned(128)));

	/* one for each write that may be outstanding */
	struct tag_book_place *places __attribute__((aligned(128)));

	struct tag_book_entry *log;

	/*
	 * atomic, one for each sector: the lower bound; 0: not written in this run. NULL: none are
	 * kept
	 */
	_Atomic uint64_t *bounds;

	/* const after tag_book_init() */
	uint32_t depth;
	uint32_t log_size;
	bool tears;	  /* two writes may leave a mixture of both */
	uint64_t first;	  /* byte of the target at which the bounds begin */
	uint64_t sectors; /* that have one */
};

/*
 * For `depth` writes at a time. With `end` above `first` reads are to be checked while writes go
 * on, and there are bounds for bytes `first` to `end` of the target. Returns 0 or -ENOMEM.
 */
int tag_book_init(struct tag_book *b, uint32_t depth, uint64_t first, uint64_t end, bool tears);

/* Safe on one that is all zero. */
void tag_book_destroy(struct tag_book *b);

/*
 * A write of whole sectors is prepared in `place` (below depth), which has none outstanding.
 * Returns its number, from 1, and the lowest that may be outstanding in `*oldest`. Any thread; each
 * slot by one thread at a time.
 */
uint64_t tag_book_write(struct tag_book *b, uint32_t place, uint64_t offset, uint64_t bytes,
			uint64_t *oldest);

/*
 * It is over: its sectors hold nothing that is older than it noted, unless it failed (`good` is
 * false) and their content is unknown.
 */
void tag_book_written(struct tag_book *b, uint32_t place, bool good);

/*
 * The write that was prepared in `place` is not going to be issued: it holds no bound down any
 * more. Its thread.
 */
void tag_book_release(struct tag_book *b, uint32_t place);

/*
 * Before a read is issued: the bounds of its sectors; 0 where there are none. Returns the length of
 * the log. Any thread.
 */
uint64_t tag_book_read(const struct tag_book *b, uint64_t offset, uint64_t bytes, uint64_t *bounds);

/*
 * True if a write to any of these bytes may have been outstanding at any time since the log had
 * length `logged`. Any thread.
 */
bool tag_book_overlaps(const struct tag_book *b, uint64_t logged, uint64_t offset, uint64_t bytes);

/*
 * The target was cut off: nothing is known from byte `from` on. Call it while no operation is in
 * flight.
 */
void tag_book_forget(struct tag_book *b, uint64_t from);

/* Numbers below this one have been given out. Any thread. */
uint64_t tag_book_next(const struct tag_book *b);

/*
 * The results of tagged reads of a target, to find data that is older than other data proves it
 * should be, in a run that only reads.
 *
 * A write of a sequential pass says in its tags what was written before it in the same pass. Once
 * such a tag is seen, older data in that extent, seen before or after, is a write that was lost.
 * Passes are told apart by the run, whose number grows with time, and by the generation with which
 * they began. What is kept is bounded: where data of too many passes alternates, some of it goes
 * unchecked.
 */

#define TAG_HISTORY_STRETCHES 128
#define TAG_HISTORY_SWEEPS 16
#define TAG_HISTORY_RUNS 16
#define TAG_HISTORY_STALE 64

/* Data of one pass of a run. */
struct tag_extent {
	struct tag tag; /* of some sector of it */
	uint64_t offset;
	uint64_t end;
	uint64_t op; /* the read that saw it */
	uint64_t pass;
};

/* Data that is older than it should be. */
struct tag_stale {
	struct tag_extent what;
	struct tag newer; /* the tag that proves it */
};

struct tag_history {
	pthread_mutex_t lock;

	/* guarded by lock: what was seen, and still may prove too old */
	struct tag_extent seen[TAG_HISTORY_STRETCHES];
	unsigned n_seen;

	/* guarded by lock: from `offset` to `end`, nothing may be older than the pass of the tag */
	struct tag_extent sweeps[TAG_HISTORY_SWEEPS];
	unsigned n_sweeps;

	/* guarded by lock: which number this target had in the runs that wrote it */
	struct {
		uint64_t run;
		uint32_t target;
	} runs[TAG_HISTORY_RUNS];
	unsigned n_runs;

	/* guarded by lock: what has been found and not been taken */
	struct tag_stale stale[TAG_HISTORY_STALE];
	unsigned n_stale;
};

/* Returns 0 or -errno, with `*h` to be given to tag_history_free(), which accepts NULL. */
int tag_history_new(struct tag_history **h);
void tag_history_free(struct tag_history *h);

/* True if they were written in the same pass of the same run. */
bool tag_same_pass(const struct tag *a, const struct tag *b);

/* Add an extent that was read; its tag belongs to the highest offset in it. Any thread. */
void tag_history_add(struct tag_history *h, const struct tag_extent *s);

/* Take one that was found to be too old. False: there is none. Any thread. */
bool tag_history_take(struct tag_history *h, struct tag_stale *stale);

/*
 * True if data of a target that had this number in that run may be here: it has that number now
 * (`own`), or was found to have had it then. Any thread.
 */
bool tag_history_target(struct tag_history *h, const struct tag *tag, uint32_t own);

#endif
