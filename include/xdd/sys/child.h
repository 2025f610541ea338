/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Child processes, and the command line of ssh that starts one on another host.
 */
#ifndef XDD_SYS_CHILD_H
#define XDD_SYS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct arena;

/*
 * A child process whose standard streams lead to this one: ssh and other programs that start xdd
 * on other hosts, or a server of this host. For copies and for runs on many hosts.
 */

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
 * Start `argv`, found in PATH. Without CHILD_ERRORS its standard error is the one of this process,
 * and without CHILD_OWN_GROUP so is its process group, because it may ask for a password on the
 * terminal; it then ignores SIGINT, which is for this process. When the calling thread ends, the
 * child gets SIGTERM, or SIGINT with CHILD_END_SIGINT. Returns 0; or -errno, also the one of its
 * execve(2). Any thread.
 */
int child_start(struct child *c, char *const argv[], unsigned flags);

/* Exit statuses of shells, and of ssh itself. */
#define CHILD_NOT_EXECUTABLE 126
#define CHILD_NOT_FOUND 127
#define CHILD_SIGNAL 128 /* plus the signal */
#define CHILD_SSH 255

/*
 * Wait until it ends, at most `wait_ns`, then end it. Returns its exit status, or CHILD_SIGNAL +
 * the signal.
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

/*
 * The command line of ssh, for programs of this kind that run a command on another host through
 * its shell. Results are memory of the arena; any thread, with its own arena.
 */

enum ssh_flags {
	SSH_PLAIN = 0,
	SSH_TTY = 1,   /* a terminal on the other side */
	SSH_BATCH = 2, /* no questions: a host that asks for a password fails */
};

/*
 * `word` as shells of POSIX, csh and fish read it. NULL: no memory. Control characters do not pass
 * all of them: the caller refuses those.
 */
char *ssh_quote(struct arena *arena, const char *word);

/* As ssh_quote(), but a leading "~/" stays, for the other shell to replace. */
char *ssh_quote_path(struct arena *arena, const char *path);

/* True: the text has control characters. */
bool ssh_has_control(const char *text);

/* True: the program is OpenSSH by its name, and not another one with fewer options. */
bool ssh_is_openssh(const char *program);

/* The problem of names that must not be given to ssh, or NULL. `user` may be NULL. */
const char *ssh_wrong_name(const char *host, const char *user);

/*
 * The words that run `command`, for the other shell, at a host: the words of `ssh` (ends with NULL,
 * at least one), options whatever the user's configuration says, the host, and the command. The
 * names are sound. Returns NULL where memory is short.
 */
char **ssh_words(struct arena *arena, const char *const *ssh, unsigned flags, const char *user,
		 const char *host, const char *command);

#endif
