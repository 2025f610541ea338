/*
 * A child process whose standard input and output lead to this one: ssh, or a server of this host.
 * For ssh.c. Main thread.
 */
#ifndef COPY_LINK_CHILD_H
#define COPY_LINK_CHILD_H

#include <stdint.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int read_fd, write_fd; /* of this process; they do not block */
};

/*
 * Start `argv`, found in PATH. Its standard error is that of this process, and so is its process
 * group, because it may ask for a password on the terminal. It ends with the calling thread, and
 * ignores SIGINT, which is for this process. Returns 0; or -errno, also that of its execve(2).
 */
int child_start(struct child *c, char *const argv[]);

/*
 * Wait until it ends, at most `wait_ns`, then end it. Returns its exit status, or 128 + the signal.
 */
int child_wait(pid_t pid, uint64_t wait_ns);

#endif
