/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Child processes and the command line of ssh: src/sys/child.c. test_copy_ssh.c has children
 * that do not end by themselves.
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/sys/child.h"

/* A child that hangs is a failure of its own. */
#define LONG_NS (60 * NS_PER_SEC)

#define WORDS(...) ((char *const[]){ __VA_ARGS__, NULL })

static unsigned open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void close_child(const struct child *c)
{
	close(c->read_fd);
	close(c->write_fd);
	if (c->error_fd >= 0)
		close(c->error_fd);
}

/* All that comes from a descriptor that does not block. */
static void read_all(int fd, char *text, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n = 1;
	size_t have = 0;

	while (n > 0 && have < size - 1) {
		assert_int_equal(poll(&p, 1, 60000), 1);
		n = read(fd, text + have, size - 1 - have);
		assert_true(n >= 0);
		have += (size_t)n;
	}
	text[have] = '\0';
}

TEST(test_streams)
{
	const unsigned before = open_files();
	struct child c;
	char text[64];

	assert_int_equal(
		child_start(&c, WORDS("sh", "-c", "cat; echo wrong >&2; exit 3"), CHILD_ERRORS), 0);
	assert_int_equal(open_files(), before + 3);
	assert_int_equal(read(c.read_fd, text, sizeof(text)), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(read(c.error_fd, text, sizeof(text)), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(fcntl(c.write_fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	assert_int_equal(write(c.write_fd, "right\n", 6), 6);
	close(c.write_fd);
	read_all(c.read_fd, text, sizeof(text));
	assert_string_equal(text, "right\n");
	read_all(c.error_fd, text, sizeof(text));
	assert_string_equal(text, "wrong\n");
	assert_int_equal(child_wait(c.pid, LONG_NS), 3);
	c.write_fd = open("/dev/null", O_WRONLY);
	close_child(&c);
	assert_int_equal(open_files(), before);
}

/* Data of a copy needs room. */
TEST(test_room)
{
	struct child c;

	assert_int_equal(child_start(&c, WORDS("cat"), CHILD_PLAIN), 0);
	assert_int_equal(c.error_fd, -1);
	assert_int_equal(fcntl(c.read_fd, F_GETPIPE_SZ), 256 << 10);
	assert_int_equal(fcntl(c.write_fd, F_GETPIPE_SZ), 256 << 10);
	close_child(&c);
	assert_int_equal(child_wait(c.pid, LONG_NS), 0);
}

TEST(test_no_program)
{
	const unsigned before = open_files();
	struct child c;

	assert_int_equal(child_start(&c, WORDS("/no/such/program"), CHILD_ERRORS), -ENOENT);
	assert_int_equal(child_start(&c, WORDS("/etc/passwd"), CHILD_PLAIN), -EACCES);
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(open_files(), before);
}

/* A mask of signals in /proc/self/status of a child. */
static uint64_t mask_of(const char *name, unsigned flags)
{
	struct child c;
	char text[128];

	assert_int_equal(child_start(&c, WORDS("grep", (char *)name, "/proc/self/status"), flags),
			 0);
	read_all(c.read_fd, text, sizeof(text));
	assert_int_equal(child_wait(c.pid, LONG_NS), 0);
	close_child(&c);
	return strtoull(text + strlen(name) + 1, NULL, 16);
}

static bool has_signal(uint64_t mask, int number)
{
	return mask >> (number - 1) & 1;
}

TEST(test_signals)
{
	sigset_t blocked, before;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &blocked, &before);
	assert_int_equal(mask_of("SigBlk", CHILD_PLAIN), 0);
	assert_true(has_signal(mask_of("SigIgn", CHILD_PLAIN), SIGINT));
	assert_false(has_signal(mask_of("SigIgn", CHILD_OWN_GROUP), SIGINT));
	assert_false(has_signal(mask_of("SigIgn", CHILD_PLAIN), SIGPIPE));
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	signal(SIGPIPE, SIG_DFL);
}

static pid_t group_of(unsigned flags)
{
	struct child c;
	pid_t group;

	assert_int_equal(child_start(&c, WORDS("cat"), flags), 0);
	group = getpgid(c.pid);
	close_child(&c);
	assert_int_equal(child_wait(c.pid, LONG_NS), 0);
	return group == c.pid ? 0 : group;
}

TEST(test_group)
{
	assert_int_equal(group_of(CHILD_PLAIN), getpgrp());
	assert_int_equal(group_of(CHILD_OWN_GROUP), 0);
}

struct start {
	struct child child;
	unsigned flags;
	int err;
};

static void *start_sleep(void *arg)
{
	struct start *s = arg;

	s->err = child_start(&s->child, WORDS("sleep", "1000"), s->flags);
	return NULL;
}

/* It ends with the thread that started it. */
static int end_of_orphan(unsigned flags)
{
	struct start s = { .flags = flags };
	pthread_t thread;
	int status;

	assert_int_equal(pthread_create(&thread, NULL, start_sleep, &s), 0);
	pthread_join(thread, NULL);
	assert_int_equal(s.err, 0);
	assert_int_equal(waitpid(s.child.pid, &status, 0), s.child.pid);
	close_child(&s.child);
	return child_status(status);
}

TEST(test_orphan)
{
	assert_int_equal(end_of_orphan(CHILD_OWN_GROUP), 128 + SIGTERM);
	assert_int_equal(end_of_orphan(CHILD_OWN_GROUP | CHILD_END_SIGINT), 128 + SIGINT);
}

TEST(test_status)
{
	assert_int_equal(child_status(0), 0);
	assert_int_equal(child_status(7 << 8), 7);
	assert_int_equal(child_status(SIGKILL), 128 + SIGKILL);
}

/* Of a process that is no child nothing is known. It is not waited for, and gets no signal. */
TEST(test_no_child)
{
	assert_int_equal(child_wait(getpid(), LONG_NS), 0);
}

TEST(test_program)
{
	char path[4096], expected[4096] = "", small[8];

	assert_true(readlink("/proc/self/exe", expected, sizeof(expected) - 1) > 0);
	assert_int_equal(child_program(path, sizeof(path)), 0);
	assert_string_equal(path, expected);
	assert_int_equal(child_program(small, sizeof(small)), -ENAMETOOLONG);
	/* The directory exists as well, and is no program. */
	assert_int_equal(child_program(path, (size_t)(strrchr(expected, '/') - expected) + 1), 0);
	assert_string_equal(path, "/proc/self/exe");
}

/* The words of a command, with blanks between them. */
static const char *joined(const char *const *ssh, unsigned flags, const char *user)
{
	static char text[256];
	struct arena *arena = arena_new();
	char **words = ssh_words(arena, ssh, flags, user, "host", "a command");

	assert_non_null(words);
	*text = '\0';
	for (; *words; words++) {
		strcat(text, *words);
		strcat(text, words[1] ? " " : "");
	}
	arena_free(arena);
	return text;
}

TEST(test_words)
{
	static const char *const plain[] = { "/usr/bin/ssh", "-p", "22", NULL };
	static const char *const other[] = { "dbclient", NULL };

	assert_string_equal(joined(plain, SSH_PLAIN, NULL),
			    "/usr/bin/ssh -p 22 -T -x -a -oClearAllForwardings=yes -- host a "
			    "command");
	assert_string_equal(joined(plain, SSH_TTY | SSH_BATCH, "me"),
			    "/usr/bin/ssh -p 22 -tt -e none -x -a -oClearAllForwardings=yes "
			    "-oBatchMode=yes -- me@host a command");
	assert_string_equal(joined(other, SSH_BATCH, "me"), "dbclient -T -- me@host a command");
	assert_string_equal(joined(other, SSH_TTY, NULL), "dbclient -tt -e none -- host a command");
}

TEST(test_names)
{
	static const char *const hosts[] = { "",     "-host", "a b",  "a\tb", "a\nb", "a'b", "a`b",
					     "a\"b", "a$b",   "a\\b", "a;b",  "a&b",  "a|b" };
	static const char *const users[] = { "", "-me", "a b", "a'b", "a;b" };

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		assert_non_null(strstr(ssh_wrong_name(hosts[i], "me"), "a name of a host"));
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++)
		assert_non_null(strstr(ssh_wrong_name("host", users[i]), "a name of a user"));
	assert_null(ssh_wrong_name("host-1.example", NULL));
	/* A user of Windows: DOMAIN\name$. */
	assert_null(ssh_wrong_name("::1", "DOMAIN\\me$"));
	assert_true(ssh_has_control("a\x7f"));
	assert_true(ssh_has_control("\n"));
	assert_false(ssh_has_control("a b~"));
	assert_false(ssh_has_control(""));
	assert_true(ssh_is_openssh("ssh"));
	assert_true(ssh_is_openssh("/opt/bin/ssh"));
	assert_false(ssh_is_openssh("/opt/ssh/plink"));
}

TEST(test_quotes)
{
	struct arena *arena = arena_new();
	const char *longest;

	assert_string_equal(ssh_quote(arena, "it's"), "'it'\\''s'");
	/* It has room of its own. */
	longest = ssh_quote(arena, "!!!!!!!!");
	ssh_quote(arena, "next");
	assert_string_equal(longest, "''\\!''\\!''\\!''\\!''\\!''\\!''\\!''\\!''");
	assert_string_equal(ssh_quote(arena, "\\!"), "''\\\\''\\!''");
	assert_string_equal(ssh_quote(arena, "a*"), "'a*'");
	assert_string_equal(ssh_quote_path(arena, "~"), "'~'");
	assert_string_equal(ssh_quote_path(arena, "a b"), "'a b'");
	assert_string_equal(ssh_quote_path(arena, "~/a'"), "~/'a'\\'''");
	arena_free(arena);
}

RUN_TESTS(NULL, NULL)
