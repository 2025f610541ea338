/*
 * The queue of wanted files, from which data threads take work, and the large files that are open.
 */
#ifndef COPY_SOURCE_WORK_H
#define COPY_SOURCE_WORK_H

#include "copy/source/source.h"

enum work_kind {
	WORK_NONE,   /* there is no more */
	WORK_SMALL,  /* `entries`: as many small files as fit into a bundle */
	WORK_OPEN,   /* `entries`: one file to be opened, then worked on */
	WORK_BLOCKS, /* `file`: help with its blocks */
};

struct work {
	enum work_kind kind;
	struct entry *entries;
	struct large *file;
};

/* Append a wanted file. With the lock. */
void work_put(struct source *s, struct entry *e);

/*
 * Wait for work; the time goes to `d->counts`. Any data thread, which calls work_done() before it
 * takes more.
 */
void work_take(struct data_thread *d, struct work *w);
void work_done(struct source *s);

/* Have other threads help with a large file, until the first of them leaves it. */
void work_share(struct source *s, struct large *f);
/* There is no more to take from a file. Returns true for the last of its users. */
bool work_leave(struct source *s, struct large *f);

/*
 * The last message of the answer is about to be sent: the caller touches the entry no more, and the
 * destination may want it again, or send its result. With the lock.
 */
void work_answered(struct entry *e);

/* Free what is in the queue, when no thread is left. */
void work_clear(struct source *s);

#endif
