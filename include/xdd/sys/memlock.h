/*
 * The amount of memory that a process may lock.
 */
#ifndef XDD_SYS_MEMLOCK_H
#define XDD_SYS_MEMLOCK_H

#include <stdint.h>

/*
 * In bytes; UINT64_MAX when there is no limit, by ulimit -l or by right (CAP_IPC_LOCK). Any thread.
 */
uint64_t memlock_limit_bytes(void);

#endif
