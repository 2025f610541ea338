/*
 * The command line of ssh, for programs of this kind that run a command on another host through its
 * shell. Results are memory of the arena; any thread, with its own arena.
 */
#ifndef XDD_BASE_SSH_H
#define XDD_BASE_SSH_H

#include <stdbool.h>

struct arena;

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
 * The words that run `command`, for the other shell, at a host: those of `ssh` (ends with NULL, at
 * least one), options whatever the user's configuration says, the host, and the command. The names
 * are sound. Returns NULL where memory is short.
 */
char **ssh_words(struct arena *arena, const char *const *ssh, unsigned flags, const char *user,
		 const char *host, const char *command);

#endif
