/*
 * The writes that each sector of a target may hold while tagged writes and reads are in flight
 * together.
 *
 * Writes are numbered as they are prepared. Of writes that overlap in time and place either may be
 * the one that remains, so no sector has one right number; what is certain is a lower bound. When a
 * write is prepared, it notes the lowest number that is still outstanding: every write below that
 * is over, and will be overwritten. Once it is over itself, its sectors hold nothing below what it
 * noted. A read records these bounds before it is issued; a number below them is old data,
 * whatever the timing was.
 *
 * A read that overlaps a write may see part of a sector as it was and part as it will be, on file
 * systems that copy without a lock; and with the engine mmap two writes that overlap may leave such
 * a sector for good. So completed writes are logged for a while, and sectors that two writes
 * wrote at once are marked: a checksum that is wrong says nothing then.
 *
 * The bounds take 8 bytes a sector, of memory that is only there once it is used. Where a target
 * would need more than TAG_BOOK_MAX_BYTES, or memory is short, there are none, and every number is
 * allowed.
 */
#ifndef XDD_IO_TAG_BOOK_H
#define XDD_IO_TAG_BOOK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TAG_BOOK_MAX_BYTES (1ull << 30)

/* In a bound: two writes wrote the sector at the same time. */
#define TAG_BOOK_DUBIOUS (1ull << 63)

/* A write that is outstanding, or one that is over. tag_book.c only. */
struct tag_book_place {
	_Atomic uint64_t number; /* no higher than that of the write; UINT64_MAX: none */
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

#endif
