/*
 * A child process whose standard streams lead to this one: ssh and other programs that start xdd on
 * other hosts, or a server of this host. For copies and for runs on many hosts.
 */
#ifndef XDD_SYS_CHILD_H
#define XDD_SYS_CHILD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How a child is started. */
enum child_flags {
	CHILD_PLAIN = 0,
	CHILD_ERRORS = 1,     /* its standard error leads to this process too */
	CHILD_OWN_GROUP = 2,  /* its process group is its own: it gets no signals of the terminal */
	CHILD_END_SIGINT = 4, /* SIGTERM leaves what it has started */
};

struct child {
	pid_t pid;
	int read_fd, write_fd; /* of this process; they do not block */
	int error_fd;	       /* the same with CHILD_ERRORS; else -1 */
};

/*
 * Start `argv`, found in PATH. Without CHILD_ERRORS its standard error is that of this process, and
 * without CHILD_OWN_GROUP so is its process group, because it may ask for a password on the
 * terminal; it then ignores SIGINT, which is for this process. When the calling thread ends, the
 * child gets SIGTERM, or SIGINT with CHILD_END_SIGINT. Returns 0; or -errno, also that of its
 * execve(2). Any thread.
 */
int child_start(struct child *c, char *const argv[], unsigned flags);

/*
 * Wait until it ends, at most `wait_ns`, then end it. Returns its exit status, or 128 + the signal.
 * The thread that started it.
 */
int child_wait(pid_t pid, uint64_t wait_ns);

/*
 * The path of the program of this process, to start another of it. Without /proc the path by which
 * it was started, which may be relative. Returns 0 or -errno. Any thread.
 */
int child_program(char *path, size_t size);

/* The exit status of child_wait() for a status of waitpid(2). */
int child_status(int status);

#endif
