/*
 * Offers of the source. Private to src/copy/destination. Receiving thread.
 */
#ifndef COPY_DESTINATION_ENTRIES_H
#define COPY_DESTINATION_ENTRIES_H

#include "copy/destination/destination.h"

/* A directory that is entered, as it is at the destination. */
enum level_kind {
	LEVEL_THERE,  /* it exists */
	LEVEL_LOST,   /* it failed: so do all entries in it, without lines */
	LEVEL_WOULD,  /* -n: it would be created */
	LEVEL_ABSENT, /* -k: it does not exist, which was reported */
};

struct level {
	enum level_kind kind;
	struct dir_node *node; /* LEVEL_THERE: a reference. Others: the nearest that is, borrowed */
	int fd;		       /* of `node`, borrowed while entries arrive in it; -1: not now */
	mode_t mask;	    /* of files that are created in it: META_KEEP_MODE until it is known */
	bool fresh;	    /* it was made by this copy: nothing is in it */
	bool differs;	    /* -k: its attributes do. Only of the root */
	bool is_root;	    /* an entry that stands for the destination itself */
	size_t below_bytes; /* not LEVEL_THERE: length of its path below `node`; 0: it is `node` */
	uint64_t id;	    /* of its entry; 0: the root, without one */
	uint32_t cost_bytes;
};

/* Returns NULL without memory. */
struct entries *entries_new(void);
/* Leaves the directories that are still entered. Accepts NULL. */
void entries_free(struct destination *d, struct entries *x);

/* An OFFER. Returns 0, -EBADMSG with `why`, or another -errno. */
int entries_offer(struct destination *d, const uint8_t *body, size_t length, char *why);

/* True once COPY_END has come and all directories were left. */
bool entries_complete(const struct entries *x);

/* The attributes of an entry that stands for the destination itself; NULL: there was none. */
const struct copy_entry *entries_of_root(const struct entries *x);

/* ---- existing.c ---- */

/* Without -P: the permissions that new files in `level` (THERE, with its descriptor) may have. */
mode_t entries_mask(struct destination *d, struct level *level);

/*
 * A file is offered in `level` (THERE): is it there already, and what is to come? Returns 0,
 * -EBADMSG with `why`, or -ENOMEM.
 */
int existing_offer(struct destination *d, struct level *level, const struct copy_entry *e,
		   uint32_t cost_bytes, char *why);

/* A new item for an entry in `level`; counted in its directory. NULL without memory. */
struct item *entries_item(struct destination *d, const struct level *level,
			  const struct copy_entry *e, uint32_t cost_bytes);

#endif
