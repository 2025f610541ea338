/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of a walk: walk*.c. One thread.
 */
#ifndef COPY_TREE_WALK_PRIVATE_H
#define COPY_TREE_WALK_PRIVATE_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "copy/tree/walk.h"
#include "xdd/base/err.h"

#define WALK_BUFFER_BYTES (64u << 10)
#define WALK_MAX_SAVED_BYTES (4u << 20) /* unread entries of directories that are not the current */
#define WALK_MAX_LINE_BYTES (64u << 10) /* a name in a list */

/* A directory that is entered and not left yet. */
struct walk_level {
	struct dir_node *node; /* a reference */
	bool read;	       /* all in it is offered; false: on the way to names of a list */
	bool absolute;	       /* from an absolute name of a list: no other name lies in it */
	bool failed;	       /* reading failed: no more of it */
	bool own;	       /* this copy makes directories in it; a failure has said so */
	/* offsets to continue at after a subdirectory: after its entry, after the rest */
	int64_t used_off, end_off;
	char *rest; /* entries that were read, and not used; NULL: none */
	uint32_t rest_size;
};

/* Names seen before, by their hashes. */
struct walk_set {
	uint64_t *slots; /* 0: free */
	size_t n, size;	 /* size: a power of two, or 0 */
};

/* Files with several names. */
struct walk_links {
	size_t most; /* that are remembered at once; const */
	bool keep;   /* a name may come twice, so none is known to be the last; const */
	struct walk_link *slots;
	size_t n, size;
	uint64_t *devs; /* their devices */
	uint32_t n_devs;
	bool full; /* some are not known */
};

struct walk_list {
	FILE *file; /* NULL: there is no list */
	int end;    /* the byte after each name */
	bool absolute, pending;
	bool broken; /* it cannot be read any more */
	bool root;   /* levels[0] stands for the destination directory */
	char *line;
	size_t length; /* of `line` */
	struct walk_set tops;
};

/* The directory of the previous file that was named, so that the next one need not look it up. */
struct walk_named {
	char *path;
	struct dir_node *node;
};

struct walk {
	/* const after walk_open() */
	const struct copy_settings *settings;
	const char *const *sources;
	size_t n_sources;
	const char *journal, *made;
	time_t avoid_since;
	uint64_t host;			     /* identity_host() */
	uint64_t left_out_dev, left_out_ino; /* 0: no file is left out */

	struct dirs *dirs;
	size_t next_source;
	uint64_t next_id;
	bool ended, warn_links;

	struct walk_level *levels;
	size_t n_levels;
	size_t saved_bytes, oldest_saved; /* of the rests, and the lowest level that may have one */

	/* of the last level */
	int fd; /* borrowed; -1: it is not */
	bool seek;
	size_t at, end; /* in `buffer` */
	uint64_t ino;	/* d_ino of the entry that walk_read() returned last */
	char *buffer;

	struct walk_links links;
	struct walk_list list;
	struct walk_named named;
	char name[COPY_MAX_NAME_BYTES]; /* of the entry that was found last */
	char real_name[COPY_MAX_NAME_BYTES];
	char target[COPY_MAX_PATH_BYTES];
};

/* ---- walk.c: entries ---- */

/* A failure of `name` in `dir`; both may be NULL. */
void walk_fail(struct walk *w, struct walk_found *f, int status, struct dir_node *dir,
	       const char *name, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* As walk_fail(), with the text of -errno: "cannot open (Permission denied)". */
void walk_fail_errno(struct walk *w, struct walk_found *f, struct dir_node *dir, const char *name,
		     const char *what, int err);
/* The file or link `name` in `dir`, or a failure for others, with f->st set. */
void walk_found_name(struct walk *w, struct walk_found *f, struct dir_node *dir, const char *name);
/* A directory that was entered: its reference belongs to the walk. */
void walk_found_dir(struct walk *w, struct walk_found *f, struct dir_node *node, const char *name,
		    uint32_t flags, bool read);
void walk_found_leave(struct walk *w, struct walk_found *f);

/* ---- walk_read.c: directories ---- */

/* 0 or -ENOMEM. Takes the reference. */
int walk_push(struct walk *w, struct dir_node *node, bool read);
void walk_pop(struct walk *w);
/*
 * The descriptor of the last level, or -errno. It is borrowed while entries are used, except the
 * entries of a rest, which a directory has after a subdirectory was left.
 */
int walk_borrow(struct walk *w);
/*
 * The next entry of the last level: 1 with `*name`, valid until the level changes, and its d_type;
 * 0 at the end; or -errno, after which there are no more.
 */
int walk_read(struct walk *w, const char **name, unsigned char *type);
/* Enter subdirectory `name` of the last level, or describe why not. False: nothing to say. */
bool walk_enter(struct walk *w, struct walk_found *f, const char *name);

/* ---- walk.c: names that the user gave ---- */

/* The directory of `path`, which is not followed itself. 0 or -errno. No reference is given. */
int walk_named_dir(struct walk *w, const char *path, struct dir_node **dir);

/* ---- walk_read.c ---- */

/* 0, or an exit status with a text in `why`. */
int walk_list_open(struct walk *w, const char *path, struct err *why);
void walk_list_close(struct walk_list *l);
/* The next step to or at a name of the list. False: there are no more. */
bool walk_list(struct walk *w, struct walk_found *f);

/* ---- walk_read.c ---- */

/* Names of two kinds. Adding returns false if it was there, or memory is short. */
enum walk_kind {
	WALK_RELATIVE = 1,
	WALK_ABSOLUTE,
};
bool walk_set_add(struct walk_set *s, const char *name, enum walk_kind kind);
void walk_set_free(struct walk_set *s);

/*
 * The id of the first name of a file with several names; `id` if this is the first, which is
 * remembered; 0: it cannot be. `*is_last`: its other names were all seen, and it is forgotten,
 * which never happens with `keep`.
 */
uint64_t walk_links_first(struct walk_links *l, const struct stat *st, uint64_t id, bool *is_last);
void walk_links_free(struct walk_links *l);

#endif
