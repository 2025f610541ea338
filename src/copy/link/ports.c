/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that have TCP ports: link.h. The kernel lists sockets with their inodes, and each
 * process the inodes of its descriptors.
 */
#include "copy/link/link.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_SOCKETS 256
#define STATE_LISTEN 0x0a

/* Sockets that listen, by inode. */
struct sockets {
	uint64_t inodes[MAX_SOCKETS];
	size_t n;
};

/* ---- sockets ---- */

static void add_sockets(struct sockets *s, const char *path, uint16_t first, unsigned n)
{
	FILE *f = fopen(path, "re");
	char line[512];

	while (f && s->n < MAX_SOCKETS && fgets(line, sizeof(line), f)) {
		unsigned port, state;
		uint64_t inode;

		if (sscanf(line, "%*s %*[0-9A-F]:%x %*[0-9A-F]:%*x %x %*s %*s %*s %*s %*s %" SCNu64,
			   &port, &state, &inode) != 3)
			continue;
		if (state == STATE_LISTEN && port >= first && port - first < n && inode)
			s->inodes[s->n++] = inode;
	}
	if (f)
		fclose(f);
}

static void find_sockets(struct sockets *s, uint16_t first, unsigned n)
{
	s->n = 0;
	add_sockets(s, "/proc/net/tcp", first, n);
	add_sockets(s, "/proc/net/tcp6", first, n);
}

/* ---- processes ---- */

/* True: descriptor `name` of `fds` is one of the sockets. */
static bool is_socket(int fds, const char *name, const struct sockets *s)
{
	char link[64];
	ssize_t n = readlinkat(fds, name, link, sizeof(link) - 1);
	uint64_t inode;

	if (n < 0)
		return false;
	link[n] = '\0';
	if (sscanf(link, "socket:[%" SCNu64 "]", &inode) != 1)
		return false;
	for (size_t i = 0; i < s->n; i++)
		if (s->inodes[i] == inode)
			return true;
	return false;
}

static bool has_socket(pid_t pid, const struct sockets *s)
{
	char path[64];
	const struct dirent *e;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (e = readdir(dir)))
		found = is_socket(dirfd(dir), e->d_name, s);
	closedir(dir);
	return found;
}

/* The next process of `proc`, or 0. */
static pid_t next_process(DIR *proc)
{
	const struct dirent *e;

	while ((e = readdir(proc)))
		if (isdigit((unsigned char)e->d_name[0]))
			return (pid_t)atoi(e->d_name);
	return 0;
}

/* The last component of the name of its executable; "" where it cannot be seen. */
static void program_of(pid_t pid, char *name, size_t size)
{
	static const char deleted[] = " (deleted)";
	char path[64], exe[PATH_MAX];
	const char *base;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	exe[n < 0 ? 0 : n] = '\0';
	if (n >= (ssize_t)sizeof(deleted) && strcmp(exe + n - sizeof(deleted) + 1, deleted) == 0)
		exe[n - (ssize_t)sizeof(deleted) + 1] = '\0';
	base = strrchr(exe, '/');
	base = base ? base + 1 : exe;
	for (; *base && size > 1; base++, size--)
		*name++ = isgraph((unsigned char)*base) ? *base : '?';
	*name = '\0';
}

static bool is_ours(pid_t pid)
{
	char path[64], program[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (pid == getpid() || stat(path, &st) != 0 || st.st_uid != geteuid())
		return false;
	program_of(pid, program, sizeof(program));
	return strcmp(program, "xdd") == 0 || strcmp(program, "xdd.Linux") == 0;
}

/* ---- the interface ---- */

bool port_owner(uint16_t port, char text[PORT_OWNER_SIZE])
{
	struct sockets s;
	char program[32];
	bool found = false;
	DIR *proc;
	pid_t pid;

	find_sockets(&s, port, 1);
	proc = s.n ? opendir("/proc") : NULL;
	while (proc && !found && (pid = next_process(proc))) {
		found = has_socket(pid, &s);
		if (found) {
			program_of(pid, program, sizeof(program));
			snprintf(text, PORT_OWNER_SIZE, "process %d (%s)", (int)pid,
				 *program ? program : "?");
		}
	}
	if (proc)
		closedir(proc);
	return found;
}

/* To the process of `fd`, or where there is none to `pid`. Returns true once it is sent. */
static bool send_signal(pid_t pid, int fd, int sig)
{
	return (fd < 0 ? kill(pid, sig) : syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0)) == 0;
}

/* The number of a process may be given to another one between the look and the signal. */
static bool end_process(pid_t pid, const struct sockets *s)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	bool ended = false;

	if (fd < 0 && errno != ENOSYS)
		return false;
	/* One that is stopped gets SIGTERM once it runs. */
	if (is_ours(pid) && has_socket(pid, s))
		ended = send_signal(pid, fd, SIGTERM) && send_signal(pid, fd, SIGCONT);
	if (fd >= 0)
		close(fd);
	return ended;
}

unsigned ports_end_own(uint16_t first, unsigned n)
{
	struct sockets s;
	unsigned ended = 0;
	DIR *proc;
	pid_t pid;

	find_sockets(&s, first, n);
	proc = s.n ? opendir("/proc") : NULL;
	while (proc && (pid = next_process(proc)))
		ended += is_ours(pid) && end_process(pid, &s);
	if (proc)
		closedir(proc);
	return ended;
}
