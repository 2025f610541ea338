/*
 * The memory of the host, and the part that this process may still use. No state; any thread.
 */
#ifndef XDD_SYS_HOSTMEMORY_H
#define XDD_SYS_HOSTMEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hostmemory {
	uint64_t total_bytes; /* of the host, or the limit of its control group if that is less */
	uint64_t room_bytes;  /* available of it without swapping */
	char limit[96];	      /* the name of the limit that leaves this room; "": the host */
};

/* Returns 0 or -errno. */
int hostmemory_read(struct hostmemory *m);

/*
 * When the kernel runs out of memory, have it end this process before others. Returns the value
 * from before, for hostmemory_oom_restore(), or -1 if it could not be changed.
 */
int hostmemory_oom_first(void);
void hostmemory_oom_restore(int before);

#endif
