/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A destination that commits files, for test_copy_commit.c and test_copy_journal.c. The functions
 * of the C library that flush and rename are replaced by ones that note their order, and fail on
 * demand; the file system is of the kind that a test sets.
 */
#ifndef XDD_TESTS_COMMIT_RIG_H
#define XDD_TESTS_COMMIT_RIG_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#include "copy/destination/commit.h"
#include "xdd/base/err.h"

#define EXT4 0xef53
#define TMPFS 0x01021994
#define FUSE 0x65735546

/* ---- the C library, with faults ---- */

extern long magic;	    /* of each file system */
extern const char *release; /* of the kernel */
/* a letter for each call: p put, S syncfs, f and d fsync, s fdatasync, R rename, D and x done */
extern char order[1 << 18];
/* Also set while the commit thread runs. */
extern _Atomic int syncfs_error, fsync_error, fdatasync_error, rename_error;
extern _Atomic int close_error; /* of the close of a regular file, after n_close others */
extern _Atomic unsigned n_close;
extern _Atomic bool syncfs_after_rename; /* syncfs_error is of calls after the first rename */
extern _Atomic unsigned flush_delay_us;
/* Called by fsync() of a file. */
extern void (*_Atomic on_fsync)(void);

void note(char letter);
void forget_calls(void);
size_t calls(char letter);

/* ---- the destination ---- */

#define MAX_FILES 20000
#define TREE_ID 7

extern char root[64];
extern struct dirs *dirs;
extern struct commit *commit;
extern struct copy_settings settings;
extern struct err why;
extern pthread_mutex_t log_lock; /* guards what follows */
extern size_t n_done;
extern int done_err[MAX_FILES];
extern char done_what[16];

int set_up(void **state);
int tear_down(void **state);

int open_session(struct commit **c, const char *session);
void begin(void);
void end(void);
/* The copy was interrupted; `keep`: with -R. */
void end_early(bool keep);

/* A file of the destination without a name; and under a temporary name, with its name in it. */
struct commit_file *make_entry(struct dir_node *dir, const char *name, uint64_t id);
struct commit_file *make(struct commit *c, struct dir_node *dir, const char *name, uint64_t id);
void put(const char *name, uint64_t id);
void put_many(size_t n);
/* Have all that was put be committed, and wait for it. */
void drain(struct commit *c);
/* Free what commit_drop() has left. */
void forget(struct commit_file *f);

/* A directory in the root, which is made if it does not exist. */
struct dir_node *sub(const char *name);

/* Names in the root; those of this program only if `own`. And temporary names in the whole tree. */
size_t count(bool own);
size_t count_parts(void);
void assert_contents(const char *name);

#define FIXTURE_TEST(name) TEST_SETUP_TEARDOWN(name, set_up, tear_down)

#endif
