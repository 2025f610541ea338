/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A child process, and the command line of ssh. Called for copies and for runs on many hosts.
 */
#include "xdd/sys/child.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

/* Room for data that goes through ssh. */
#define PIPE_BYTES (256 << 10)

/* A kernel without descriptors of processes is asked so often. */
#define LOOK_NS (5 * NS_PER_MS)

/* Between SIGTERM and SIGKILL. */
#define END_NS NS_PER_SEC

/* ---- start ---- */

int child_program(char *path, size_t size)
{
	static const char self[] = "/proc/self/exe";
	ssize_t n = readlink(self, path, size - 1);
	const char *other = NULL;

	if (n > 0)
		path[n] = '\0';
	if (n <= 0)
		other = (const char *)getauxval(AT_EXECFN);
	else if ((size_t)n == size - 1 || access(path, X_OK))
		other = self; /* it was cut, or the file was removed or replaced since */
	if (other && snprintf(path, size, "%s", other) >= (int)size)
		return -ENAMETOOLONG;
	return n > 0 || other ? 0 : -ENOENT;
}

/* The ends of this process and the ends of the child. */
struct pipes {
	int input[2], output[2], failed[2], errors[2];
};

static void close_pipes(struct pipes *p)
{
	int *all[] = { p->input, p->output, p->failed, p->errors };

	for (unsigned i = 0; i < 8; i++)
		if (all[i / 2][i % 2] >= 0)
			close(all[i / 2][i % 2]);
}

static int open_pipes(struct pipes *p, unsigned flags)
{
	memset(p, -1, sizeof(*p));
	if (pipe2(p->input, O_CLOEXEC) == 0 && pipe2(p->output, O_CLOEXEC) == 0 &&
	    pipe2(p->failed, O_CLOEXEC) == 0 &&
	    (!(flags & CHILD_ERRORS) || pipe2(p->errors, O_CLOEXEC) == 0))
		return 0;
	return -errno;
}

/* dup2(2) leaves a descriptor that is in its place already as it is: closed by execve(2). */
static int child_move(int fd, int to)
{
	return fd == to ? fcntl(fd, F_SETFD, 0) : dup2(fd, to);
}

/* The child, up to its program: only functions that are safe after a fork with threads. */
_Noreturn static void run(const struct pipes *p, pid_t parent, char *const argv[], unsigned flags)
{
	sigset_t none;
	int err;

	/*
	 * Signals as a shell gives them to its children; this process may block or ignore some. The
	 * terminal's go to the group of this process only.
	 */
	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, flags & CHILD_OWN_GROUP ? SIG_DFL : SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (prctl(PR_SET_PDEATHSIG, flags & CHILD_END_SIGINT ? SIGINT : SIGTERM) == 0 &&
	    getppid() != parent)
		_exit(1);
	if (flags & CHILD_OWN_GROUP)
		setpgid(0, 0);
	if (child_move(p->input[0], STDIN_FILENO) >= 0 &&
	    child_move(p->output[1], STDOUT_FILENO) >= 0 &&
	    (p->errors[1] < 0 || child_move(p->errors[1], STDERR_FILENO) >= 0))
		execvp(argv[0], argv);
	err = errno;
	/* Nothing is left to do where this fails. */
	if (write(p->failed[1], &err, sizeof(err)) < 0)
		_exit(1);
	_exit(1);
}

/* Returns 0, or -errno of the child's execve(2). */
static int await_start(int fd)
{
	int err = 0;
	ssize_t n;

	do
		n = read(fd, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	return n == sizeof(err) ? -err : 0;
}

static int start(struct child *c, struct pipes *p, char *const argv[], unsigned flags)
{
	pid_t parent = getpid();
	int err;

	fcntl(p->input[1], F_SETPIPE_SZ, PIPE_BYTES);
	fcntl(p->output[0], F_SETPIPE_SZ, PIPE_BYTES);
	c->pid = fork();
	if (c->pid < 0)
		return -errno;
	if (c->pid == 0)
		run(p, parent, argv, flags);
	close(p->failed[1]);
	p->failed[1] = -1;
	err = await_start(p->failed[0]);
	if (err) {
		waitpid(c->pid, NULL, 0);
		return err;
	}
	c->read_fd = p->output[0];
	c->write_fd = p->input[1];
	c->error_fd = p->errors[0];
	p->output[0] = p->input[1] = p->errors[0] = -1;
	fcntl(c->read_fd, F_SETFL, O_NONBLOCK);
	fcntl(c->write_fd, F_SETFL, O_WRONLY | O_NONBLOCK);
	if (c->error_fd >= 0)
		fcntl(c->error_fd, F_SETFL, O_NONBLOCK);
	return 0;
}

int child_start(struct child *c, char *const argv[], unsigned flags)
{
	struct pipes p;
	int err = open_pipes(&p, flags);

	if (!err)
		err = start(c, &p, argv, flags);
	close_pipes(&p);
	return err;
}

/* ---- end ---- */

int child_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Sleep until the process of `fd` ends, or for a while. */
static void look_later(int fd, uint64_t left_ns)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct timespec time = clock_timespec(fd >= 0 ? left_ns : ns_earlier(left_ns, LOOK_NS));

	ppoll(&p, 1, &time, NULL);
}

/* Returns true with its exit status if it ends within `wait_ns`. */
static bool ends_within(pid_t pid, int fd, uint64_t wait_ns, int *result)
{
	uint64_t until_ns = clock_now_ns() + wait_ns;

	for (;;) {
		uint64_t now_ns = clock_now_ns();
		int status = 0;
		pid_t found = waitpid(pid, &status, WNOHANG);

		if (found == pid || (found < 0 && errno != EINTR)) {
			/* After an error nothing more can be known of it. */
			*result = found == pid ? child_status(status) : 0;
			return true;
		}
		if (now_ns >= until_ns)
			return false;
		look_later(fd, until_ns - now_ns);
	}
}

int child_wait(pid_t pid, uint64_t wait_ns)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), result = 0;

	if (!ends_within(pid, fd, wait_ns, &result)) {
		kill(pid, SIGTERM);
		/* One that is stopped gets SIGTERM once it runs. */
		kill(pid, SIGCONT);
		if (!ends_within(pid, fd, END_NS, &result)) {
			kill(pid, SIGKILL);
			ends_within(pid, fd, UINT64_MAX / 2, &result);
		}
	}
	if (fd >= 0)
		close(fd);
	return result;
}

/* Words added to the user's. */
#define MORE_WORDS 12

/* Characters that the commands in a configuration of ssh would give to a shell, with a name. */
#define UNSAFE_HOST "'`\"$\\;&<>|(){}"
#define UNSAFE_USER "'`\";&<>|(){}"

/*
 * Within quotes the shells differ about quotes, backslashes and exclamation marks, so those stand
 * outside, after a backslash.
 */
static void put_quoted(char *o, const char *word)
{
	*o++ = '\'';
	for (; *word; word++) {
		if (strchr("'\\!", *word)) {
			memcpy(o, "'\\", 2);
			o[2] = *word;
			o[3] = '\'';
			o += 4;
		} else {
			*o++ = *word;
		}
	}
	*o++ = '\'';
	*o = '\0';
}

char *ssh_quote(struct arena *arena, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-_./+:,@%";
	char *out = arena_alloc(arena, strlen(word) * 4 + 3);

	if (!out)
		return NULL;
	if (*word && !word[strspn(word, plain)])
		strcpy(out, word);
	else
		put_quoted(out, word);
	return out;
}

char *ssh_quote_path(struct arena *arena, const char *path)
{
	bool home = strncmp(path, "~/", 2) == 0;
	char *rest;

	if (!home)
		return ssh_quote(arena, path);
	if (!path[2])
		return arena_strdup(arena, path);
	rest = ssh_quote(arena, path + 2);
	return rest ? arena_printf(arena, "~/%s", rest) : NULL;
}

bool ssh_has_control(const char *text)
{
	for (; *text; text++)
		if (iscntrl((unsigned char)*text))
			return true;
	return false;
}

static bool is_name(const char *name, const char *unsafe)
{
	if (!*name || *name == '-')
		return false;
	for (const char *c = name; *c; c++)
		if (iscntrl((unsigned char)*c) || isspace((unsigned char)*c) || strchr(unsafe, *c))
			return false;
	return true;
}

const char *ssh_wrong_name(const char *host, const char *user)
{
	if (!is_name(host, UNSAFE_HOST))
		return "a name of a host must not begin with \"-\", and not have "
		       "blanks or characters of shells";
	if (user && !is_name(user, UNSAFE_USER))
		return "a name of a user must not begin with \"-\", and not have "
		       "blanks or characters of shells";
	return NULL;
}

bool ssh_is_openssh(const char *program)
{
	return strcmp(path_last(program), "ssh") == 0;
}

/*
 * Options that hold whatever the user's configuration says: bytes must pass unchanged, and a
 * forwarding of ports belongs to the user's own session.
 */
static char **add_options(char **w, const char *ssh, unsigned flags)
{
	if (flags & SSH_TTY) {
		*w++ = (char *)"-tt";
		*w++ = (char *)"-e";
		*w++ = (char *)"none";
	} else {
		*w++ = (char *)"-T";
	}
	if (ssh_is_openssh(ssh)) {
		*w++ = (char *)"-x";
		*w++ = (char *)"-a";
		*w++ = (char *)"-oClearAllForwardings=yes";
		if (flags & SSH_BATCH)
			*w++ = (char *)"-oBatchMode=yes";
	}
	return w;
}

char **ssh_words(struct arena *arena, const char *const *ssh, unsigned flags, const char *user,
		 const char *host, const char *command)
{
	size_t own = 0;
	char **words, **w;

	while (ssh[own])
		own++;
	words = arena_alloc(arena, (own + MORE_WORDS) * sizeof(*words));
	if (!words)
		return NULL;
	memcpy(words, ssh, own * sizeof(*words));
	w = add_options(words + own, ssh[0], flags);
	*w++ = (char *)"--";
	*w = user ? arena_printf(arena, "%s@%s", user, host) : arena_strdup(arena, host);
	if (!*w++)
		return NULL;
	*w = arena_strdup(arena, command);
	return *w ? words : NULL;
}
