/*
 * Temporary files of dead sessions. Callers: commit.c, commit_kept.c, stale.c.
 */
#ifndef COPY_DESTINATION_STALE_H
#define COPY_DESTINATION_STALE_H

#include <stdbool.h>
#include <stdint.h>

struct commit;

/* True: the temporary file of this number is still wanted. */
typedef bool stale_keep(void *arg, uint64_t number);

/*
 * Remove the temporary files of a session from the root and from the directories that its journal
 * names, except those that `keep` (may be NULL) wants.
 */
void stale_sweep(struct commit *c, int journal_fd, uint64_t session, stale_keep *keep, void *arg);

/* Close the journals of dead sessions; those of commit_entered_all() are gone. */
void stale_leave(struct commit *c);

#endif
