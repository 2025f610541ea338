/*
 * The messages of all ranks on their way to the reader, on rank 0: those that several ranks send
 * are written once, with their number. Private to src/sync.
 */
#ifndef XDD_SYNC_GROUP_LOG_H
#define XDD_SYNC_GROUP_LOG_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* A line waits this long for the same one of other ranks. */
#define GROUP_LOG_WAIT_NS 500000000ull
#define GROUP_LOG_LINES 64

struct group_line {
	char *text;		     /* without the newline */
	unsigned first, last, ranks; /* first and last to send it, and how many have */
};

struct group_log {
	pthread_mutex_t lock; /* guards all fields below */
	struct group_line lines[GROUP_LOG_LINES];
	unsigned n;
	uint64_t since_ns; /* when the first of them came */
};

/* The name of a rank's host, for people. */
typedef const char *group_log_host(void *arg, unsigned rank);

void group_log_init(struct group_log *l);

/*
 * A line of `rank` has come at `now_ns`. Any thread. Returns 0 if there is no room: write what is
 * there, and call it again.
 */
int group_log_add(struct group_log *l, unsigned rank, const char *text, size_t size,
		  uint64_t now_ns);

/*
 * The lines that wait, as one text of malloc(), with the names of ranks where `size` ranks are not
 * of one mind; NULL: there are none, or they may wait longer. `now_ns` UINT64_MAX: none may.
 */
char *group_log_take(struct group_log *l, uint64_t now_ns, unsigned size, group_log_host *host,
		     void *arg);

void group_log_destroy(struct group_log *l);

#endif
