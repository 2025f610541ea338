/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library for LD_PRELOAD that lets one call of a run fail, the k-th of its class. All processes
 * of the run that execute XDD_COUNT_PROGRAM count together, in the file XDD_COUNT_STATE. The file
 * also has the class and k, and afterwards names the call that has failed. tests/lib/xddcount.py
 * compiles the library, writes the file and reads it, so it knows the layout of struct state.
 *
 * Calls of system functions count where xdd itself makes them. Requests for memory count wherever
 * they come from, but not from OpenSSL, the dynamic linker, and the C library's look at users and
 * addresses: some of these end the process where memory is short.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <malloc.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum class {
	MEMORY,	   /* a request for memory */
	SHRINK,	   /* a request for less memory than before */
	EXHAUSTED, /* a request for memory, and all after it */
	ERROR,	   /* a system call, with an error that it can have */
	FULL,	   /* a call that needs room, with ENOSPC, and all after it */
	INTERRUPT, /* a system call, with EINTR */
	SHORT,	   /* a transfer, which moves half of its bytes */
	MESSAGE,   /* a transfer on a socket or a pipe, whose peer is gone; a datagram is lost */
	CLASSES
};

struct state {
	int64_t class, at;
	int64_t counts[CLASSES];
	int64_t reached; /* calls that have failed */
	int64_t pid, fd; /* of the first one; -1: no descriptor */
	int64_t caller;	 /* its offset in the program, or 0: of a library */
	char call[64];
};

static struct state *state;
static struct {
	uintptr_t from, to;
} xdd[16], openssl[32], linker[16];
static uintptr_t base;
static int n_xdd, n_openssl, n_linker;
static __thread int inside; /* a function of the C library that ends where memory is short */

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static int object(struct dl_phdr_info *info, size_t size, void *unused)
{
	const int own = !*info->dlpi_name && !n_xdd;
	const int ssl = strstr(info->dlpi_name, "libcrypto") || strstr(info->dlpi_name, "libssl");

	(void)size, (void)unused;
	for (int p = 0; p < info->dlpi_phnum; p++) {
		uintptr_t from = info->dlpi_addr + info->dlpi_phdr[p].p_vaddr;
		uintptr_t to = from + info->dlpi_phdr[p].p_memsz;

		if (info->dlpi_phdr[p].p_type != PT_LOAD)
			continue;
		if (own && n_xdd < 16) {
			base = info->dlpi_addr;
			xdd[n_xdd].from = from;
			xdd[n_xdd++].to = to;
		} else if (ssl && n_openssl < 32) {
			openssl[n_openssl].from = from;
			openssl[n_openssl++].to = to;
		} else if (strstr(info->dlpi_name, "ld-linux") && n_linker < 16) {
			linker[n_linker].from = from;
			linker[n_linker++].to = to;
		}
	}
	return 0;
}

#define WITHIN(list_, n_, address_)                                       \
	({                                                                \
		int found = 0;                                            \
		for (int i = 0; i < n_ && !found; i++)                    \
			found = (uintptr_t)(address_) >= list_[i].from && \
				(uintptr_t)(address_) < list_[i].to;      \
		found;                                                    \
	})

__attribute__((constructor)) static void begin(void)
{
	const char *program = getenv("XDD_COUNT_PROGRAM"), *file = getenv("XDD_COUNT_STATE");
	char self[PATH_MAX] = "";
	int fd;
	void *map;

	if (!program || !file ||
	    syscall(SYS_readlink, "/proc/self/exe", self, sizeof(self) - 1) < 0 ||
	    strcmp(self, program))
		return;
	dl_iterate_phdr(object, NULL);
	fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC);
	map = (void *)syscall(SYS_mmap, NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED,
			      fd, 0);
	if (fd < 0 || map == MAP_FAILED)
		abort();
	syscall(SYS_close, fd);
	state = map;
}

/* Counts a call of this class; returns if it is to fail. */
static int counted(enum class class, const char *call, const void *caller, int fd)
{
	const int lasts = class == EXHAUSTED || class == FULL;
	int64_t n;

	if (!state)
		return 0;
	n = __atomic_add_fetch(&state->counts[class], 1, __ATOMIC_RELAXED);
	if (class != state->class || !state->at || (lasts ? n < state->at : n != state->at))
		return 0;
	if (__atomic_fetch_add(&state->reached, 1, __ATOMIC_RELAXED) == 0) {
		state->pid = getpid();
		state->fd = fd;
		state->caller = WITHIN(xdd, n_xdd, caller) ? (int64_t)((uintptr_t)caller - base) :
							     0;
		strncpy(state->call, call, sizeof(state->call) - 1);
	}
	return 1;
}

#define CALLER __builtin_return_address(0)
#define OWN(caller_) (state && WITHIN(xdd, n_xdd, caller_))

/* Memory */

static int no_memory(const char *call, const void *caller, int shrinks)
{
	int fails;

	if (!state || inside || WITHIN(openssl, n_openssl, caller) ||
	    WITHIN(linker, n_linker, caller))
		return 0;
	fails = counted(MEMORY, call, caller, -1);
	fails |= counted(EXHAUSTED, call, caller, -1);
	fails |= shrinks && counted(SHRINK, call, caller, -1);
	if (fails)
		errno = ENOMEM;
	return fails;
}

void *malloc(size_t size)
{
	return no_memory("malloc", CALLER, 0) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return no_memory("calloc", CALLER, 0) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return no_memory("realloc", CALLER, p && size < malloc_usable_size(p)) ?
		       NULL :
		       __libc_realloc(p, size);
}

void *reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return no_memory("reallocarray", CALLER, p && bytes < malloc_usable_size(p)) ?
		       NULL :
		       __libc_realloc(p, bytes);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return no_memory("aligned_alloc", CALLER, 0) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **p, size_t alignment, size_t size)
{
	void *made = no_memory("posix_memalign", CALLER, 0) ? NULL :
							      __libc_memalign(alignment, size);

	if (!made)
		return ENOMEM;
	*p = made;
	return 0;
}

/* System calls */

#define NEXT(name_)                                                          \
	({                                                                   \
		static __typeof__(&name_) next;                              \
		if (!next)                                                   \
			next = (__typeof__(&name_))dlsym(RTLD_NEXT, #name_); \
		next;                                                        \
	})

/*
 * 'd' a socket of datagrams, 's' any other, 'p' a pipe, 'e' a counter of eventfd(2) or the like,
 * which has no errors, or 0: a file. Leaves errno alone.
 */
static int kind_of(int fd)
{
	const int err = errno;
	struct stat s = { .st_mode = S_IFREG };
	int type = 0, kind = 0;
	socklen_t size = sizeof(type);

	if (NEXT(fstat)(fd, &s) == 0 && !(s.st_mode & S_IFMT))
		kind = 'e';
	else if (S_ISFIFO(s.st_mode))
		kind = 'p';
	else if (S_ISSOCK(s.st_mode) &&
		 NEXT(getsockopt)(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0)
		kind = type == SOCK_DGRAM ? 'd' : 's';
	errno = err;
	return kind;
}

static int is_error(const char *call, const void *caller, int fd, int err)
{
	if (!OWN(caller) || !counted(ERROR, call, caller, fd))
		return 0;
	errno = err;
	return 1;
}

/* Messages stay readable, and links have no room to lack. */
static int is_full(const char *call, const void *caller, int fd)
{
	if (fd == STDERR_FILENO || !OWN(caller) || (fd >= 0 && kind_of(fd)) ||
	    !counted(FULL, call, caller, fd))
		return 0;
	errno = ENOSPC;
	return 1;
}

static int is_interrupted(const char *call, const void *caller, int fd)
{
	if (!OWN(caller) || !counted(INTERRUPT, call, caller, fd))
		return 0;
	errno = EINTR;
	return 1;
}

#define ERRS(fd_, err_) is_error(__func__, CALLER, fd_, err_)
#define FULLS(fd_) is_full(__func__, CALLER, fd_)
#define EINTRS(fd_) is_interrupted(__func__, CALLER, fd_)

/* A call that fails with -1 and this error; `also_` are more faults. */
#define WRAP(type_, name_, parameters_, arguments_, fd_, err_, also_)                   \
	type_ name_ parameters_                                                         \
	{                                                                               \
		return ERRS(fd_, err_) || (also_) ? (type_)-1 : NEXT(name_) arguments_; \
	}

WRAP(int, accept4, (int fd, struct sockaddr *a, socklen_t *n, int f), (fd, a, n, f), fd, EMFILE,
     EINTRS(fd))
WRAP(int, access, (const char *p, int m), (p, m), -1, EIO, 0)
WRAP(int, bind, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n), fd, EADDRINUSE, 0)
WRAP(int, chdir, (const char *p), (p), -1, EIO, 0)
WRAP(int, chmod, (const char *p, mode_t m), (p, m), -1, EIO, 0)
WRAP(int, connect, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n), fd, ECONNREFUSED, 0)
WRAP(int, dup, (int fd), (fd), fd, EMFILE, 0)
WRAP(int, dup2, (int fd, int to), (fd, to), fd, EMFILE, 0)
WRAP(int, dup3, (int fd, int to, int f), (fd, to, f), fd, EMFILE, 0)
WRAP(int, epoll_create1, (int f), (f), -1, EMFILE, 0)
WRAP(int, epoll_ctl, (int fd, int op, int of, struct epoll_event *e), (fd, op, of, e), fd, ENOSPC,
     0)
WRAP(int, epoll_wait, (int fd, struct epoll_event *e, int n, int ms), (fd, e, n, ms), fd, ENOMEM,
     ms &&EINTRS(fd))
WRAP(int, eventfd, (unsigned n, int f), (n, f), -1, EMFILE, 0)
WRAP(int, faccessat, (int fd, const char *p, int m, int f), (fd, p, m, f), fd, EIO, 0)
WRAP(int, fallocate64, (int fd, int m, off64_t o, off64_t n), (fd, m, o, n), fd, EIO,
     FULLS(fd) || EINTRS(fd))
WRAP(int, fchmod, (int fd, mode_t m), (fd, m), fd, EIO, 0)
WRAP(int, fchown, (int fd, uid_t u, gid_t g), (fd, u, g), fd, EIO, 0)
WRAP(int, fchownat, (int fd, const char *p, uid_t u, gid_t g, int f), (fd, p, u, g, f), fd, EIO, 0)
WRAP(int, fdatasync, (int fd), (fd), fd, EIO, FULLS(fd) || EINTRS(fd))
WRAP(ssize_t, fgetxattr, (int fd, const char *a, void *v, size_t n), (fd, a, v, n), fd, EIO, 0)
WRAP(ssize_t, flistxattr, (int fd, char *v, size_t n), (fd, v, n), fd, EIO, 0)
WRAP(int, flock, (int fd, int op), (fd, op), fd, ENOLCK, EINTRS(fd))
WRAP(pid_t, fork, (void), (), -1, EAGAIN, 0)
WRAP(int, fremovexattr, (int fd, const char *a), (fd, a), fd, EIO, 0)
WRAP(int, fsetxattr, (int fd, const char *a, const void *v, size_t n, int f), (fd, a, v, n, f), fd,
     EIO, FULLS(fd))
WRAP(int, fstat64, (int fd, struct stat64 *s), (fd, s), fd, EIO, 0)
WRAP(int, fstatat64, (int fd, const char *p, struct stat64 *s, int f), (fd, p, s, f), fd, EIO, 0)
WRAP(int, fstatfs64, (int fd, struct statfs64 *s), (fd, s), fd, EIO, EINTRS(fd))
WRAP(int, fstatvfs64, (int fd, struct statvfs64 *s), (fd, s), fd, EIO, EINTRS(fd))
WRAP(int, fsync, (int fd), (fd), fd, EIO, FULLS(fd) || EINTRS(fd))
WRAP(int, ftruncate64, (int fd, off64_t n), (fd, n), fd, EIO, EINTRS(fd))
WRAP(int, futimens, (int fd, const struct timespec v[2]), (fd, v), fd, EIO, 0)
WRAP(int, gethostname, (char *s, size_t n), (s, n), -1, ENAMETOOLONG, 0)
WRAP(ssize_t, getrandom, (void *b, size_t n, unsigned f), (b, n, f), -1, ENOSYS, EINTRS(-1))
WRAP(ssize_t, lgetxattr, (const char *p, const char *a, void *v, size_t n), (p, a, v, n), -1, EIO,
     0)
WRAP(int, linkat, (int a, const char *p, int b, const char *q, int f), (a, p, b, q, f), a, EIO,
     FULLS(a))
WRAP(int, listen, (int fd, int n), (fd, n), fd, EADDRINUSE, 0)
WRAP(ssize_t, llistxattr, (const char *p, char *v, size_t n), (p, v, n), -1, EIO, 0)
WRAP(int, lremovexattr, (const char *p, const char *a), (p, a), -1, EIO, 0)
WRAP(int, lsetxattr, (const char *p, const char *a, const void *v, size_t n, int f),
     (p, a, v, n, f), -1, EIO, FULLS(-1))
WRAP(off64_t, lseek64, (int fd, off64_t o, int w), (fd, o, w), fd, EIO, 0)
WRAP(int, lstat64, (const char *p, struct stat64 *s), (p, s), -1, EIO, 0)
WRAP(int, madvise, (void *p, size_t n, int a), (p, n, a), -1, ENOMEM, 0)
WRAP(int, memfd_create, (const char *p, unsigned f), (p, f), -1, EMFILE, 0)
WRAP(int, mincore, (void *p, size_t n, unsigned char *v), (p, n, v), -1, ENOMEM, 0)
WRAP(int, mkdir, (const char *p, mode_t m), (p, m), -1, EIO, FULLS(-1))
WRAP(int, mkdirat, (int fd, const char *p, mode_t m), (fd, p, m), fd, EIO, FULLS(fd))
WRAP(int, mkostemp64, (char *p, int f), (p, f), -1, EIO, FULLS(-1))
WRAP(int, mlock, (const void *p, size_t n), (p, n), -1, ENOMEM, 0)
WRAP(int, mlockall, (int f), (f), -1, ENOMEM, 0)
WRAP(void *, mmap64, (void *p, size_t n, int pr, int f, int fd, off64_t o), (p, n, pr, f, fd, o),
     fd, ENOMEM, 0)
WRAP(int, pipe2, (int p[2], int f), (p, f), -1, EMFILE, 0)
WRAP(int, poll, (struct pollfd * p, nfds_t n, int ms), (p, n, ms), p ? p->fd : -1, ENOMEM,
     ms &&EINTRS(-1))
WRAP(int, ppoll, (struct pollfd * p, nfds_t n, const struct timespec *ts, const sigset_t *s),
     (p, n, ts, s), p ? p->fd : -1, ENOMEM, EINTRS(-1))
WRAP(ssize_t, readlink, (const char *p, char *b, size_t n), (p, b, n), -1, EIO, 0)
WRAP(ssize_t, readlinkat, (int fd, const char *p, char *b, size_t n), (fd, p, b, n), fd, EIO, 0)
WRAP(int, rename, (const char *p, const char *q), (p, q), -1, EIO, FULLS(-1))
WRAP(int, renameat, (int a, const char *p, int b, const char *q), (a, p, b, q), a, EIO, FULLS(a))
WRAP(pid_t, setsid, (void), (), -1, EPERM, 0)
WRAP(int, getsockname, (int fd, struct sockaddr *a, socklen_t *n), (fd, a, n), fd, ENOBUFS, 0)
WRAP(int, getpeername, (int fd, struct sockaddr *a, socklen_t *n), (fd, a, n), fd, ENOTCONN, 0)
WRAP(int, getsockopt, (int fd, int l, int o, void *v, socklen_t *n), (fd, l, o, v, n), fd,
     ENOPROTOOPT, 0)
WRAP(int, setsockopt, (int fd, int l, int o, const void *v, socklen_t n), (fd, l, o, v, n), fd,
     ENOPROTOOPT, 0)
WRAP(int, signalfd, (int fd, const sigset_t *s, int f), (fd, s, f), fd, EMFILE, 0)
WRAP(int, socket, (int d, int t, int p), (d, t, p), -1, EMFILE, 0)
WRAP(int, stat64, (const char *p, struct stat64 *s), (p, s), -1, EIO, 0)
WRAP(int, statfs64, (const char *p, struct statfs64 *s), (p, s), -1, EIO, EINTRS(-1))
WRAP(int, statvfs64, (const char *p, struct statvfs64 *s), (p, s), -1, EIO, EINTRS(-1))
WRAP(int, statx, (int fd, const char *p, int f, unsigned m, struct statx *s), (fd, p, f, m, s), fd,
     EIO, 0)
WRAP(int, symlinkat, (const char *to, int fd, const char *p), (to, fd, p), fd, EIO, FULLS(fd))
WRAP(int, sync_file_range, (int fd, off64_t o, off64_t n, unsigned f), (fd, o, n, f), fd, EIO,
     FULLS(fd))
WRAP(int, syncfs, (int fd), (fd), fd, EIO, FULLS(fd))
WRAP(int, truncate64, (const char *p, off64_t n), (p, n), -1, EIO, EINTRS(-1))
WRAP(int, unlink, (const char *p), (p), -1, EIO, 0)
WRAP(int, unlinkat, (int fd, const char *p, int f), (fd, p, f), fd, EIO, 0)
WRAP(int, utimensat, (int fd, const char *p, const struct timespec v[2], int f), (fd, p, v, f), fd,
     EIO, 0)

int open64(const char *path, int flags, ...)
{
	const int makes = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
	va_list more;
	mode_t mode;

	va_start(more, flags);
	mode = makes ? va_arg(more, mode_t) : 0;
	va_end(more);
	if (ERRS(-1, EIO) || EINTRS(-1) || (makes && FULLS(-1)))
		return -1;
	return NEXT(open64)(path, flags, mode);
}

int openat64(int at, const char *path, int flags, ...)
{
	const int makes = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
	va_list more;
	mode_t mode;

	va_start(more, flags);
	mode = makes ? va_arg(more, mode_t) : 0;
	va_end(more);
	if (ERRS(at, EIO) || EINTRS(at) || (makes && FULLS(at)))
		return -1;
	return NEXT(openat64)(at, path, flags, mode);
}

int fcntl64(int fd, int command, ...)
{
	const int copies = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
	va_list more;
	void *argument;

	va_start(more, command);
	argument = va_arg(more, void *);
	va_end(more);
	/* That looks for a descriptor, and nothing else. */
	if (command == F_GETFD)
		return NEXT(fcntl64)(fd, command);
	return ERRS(fd, copies ? EMFILE : EIO) ? -1 : NEXT(fcntl64)(fd, command, argument);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list more;
	void *argument;

	va_start(more, request);
	argument = va_arg(more, void *);
	va_end(more);
	return ERRS(fd, ENOTTY) ? -1 : NEXT(ioctl)(fd, request, argument);
}

long syscall(long number, ...)
{
	va_list more;
	long a[6];

	va_start(more, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(more, long);
	va_end(more);
	if (number == SYS_futex) {
		const int command = a[1] & FUTEX_CMD_MASK;

		if ((command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) && EINTRS(-1))
			return -1;
	} else if (OWN(CALLER)) {
		char name[32];

		snprintf(name, sizeof(name), "syscall %ld", number);
		if (is_error(name, CALLER, (int)a[0], EIO))
			return -1;
	}
	return NEXT(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int posix_fadvise64(int fd, off64_t offset, off64_t size, int advice)
{
	return ERRS(fd, EIO) ? EIO : NEXT(posix_fadvise64)(fd, offset, size, advice);
}

struct dirent64 *readdir64(DIR *d)
{
	return ERRS(-1, EIO) ? NULL : NEXT(readdir64)(d);
}

DIR *opendir(const char *path)
{
	return ERRS(-1, EMFILE) ? NULL : NEXT(opendir)(path);
}

DIR *fdopendir(int fd)
{
	return ERRS(fd, EIO) ? NULL : NEXT(fdopendir)(fd);
}

char *realpath(const char *path, char *to)
{
	return ERRS(-1, EIO) ? NULL : NEXT(realpath)(path, to);
}

int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *arg)
{
	return ERRS(-1, EAGAIN) ? EAGAIN : NEXT(pthread_create)(t, a, f, arg);
}

int execv(const char *path, char *const argv[])
{
	return ERRS(-1, EIO) ? -1 : NEXT(execv)(path, argv);
}

int execvp(const char *path, char *const argv[])
{
	return ERRS(-1, EIO) ? -1 : NEXT(execvp)(path, argv);
}

/* Linux closes the descriptor also where it reports an error. */
int close(int fd)
{
	int result = NEXT(close)(fd);

	return ERRS(fd, EIO) ? -1 : result;
}

/* Calls that do not wait are not interrupted. */

pid_t waitpid(pid_t pid, int *status, int options)
{
	return !(options & WNOHANG) && EINTRS(-1) ? -1 : NEXT(waitpid)(pid, status, options);
}

int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	return !(options & WNOHANG) && EINTRS(-1) ? -1 : NEXT(waitid)(type, id, info, options);
}

int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	return EINTRS(-1) ? -1 : NEXT(sigwaitinfo)(set, info);
}

int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *wait)
{
	return EINTRS(-1) ? -1 : NEXT(sigtimedwait)(set, info, wait);
}

int nanosleep(const struct timespec *wait, struct timespec *left)
{
	if (!EINTRS(-1))
		return NEXT(nanosleep)(wait, left);
	if (left)
		*left = *wait;
	return -1;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wait, struct timespec *left)
{
	if (!EINTRS(-1))
		return NEXT(clock_nanosleep)(clock, flags, wait, left);
	if (left && !(flags & TIMER_ABSTIME))
		*left = *wait;
	return EINTR;
}

/* Files of stdio; those in memory have no descriptor. */

#define STREAM_HAS_FAILED 0x20 /* the bit of ferror(3) */

static int stream_fails(const char *call, const void *caller, FILE *f, int writes)
{
	int fd = f ? fileno(f) : -1;

	if (fd < 0 || (!is_error(call, caller, fd, EIO) && !(writes && is_full(call, caller, fd))))
		return 0;
	f->_flags |= STREAM_HAS_FAILED;
	return 1;
}

FILE *fopen64(const char *path, const char *mode)
{
	return ERRS(-1, EIO) ? NULL : NEXT(fopen64)(path, mode);
}

FILE *fdopen(int fd, const char *mode)
{
	return ERRS(fd, ENOMEM) ? NULL : NEXT(fdopen)(fd, mode);
}

int fflush(FILE *f)
{
	return stream_fails("fflush", CALLER, f, 1) ? EOF : NEXT(fflush)(f);
}

int fclose(FILE *f)
{
	const int fails = stream_fails("fclose", CALLER, f, 1), err = errno,
		  result = NEXT(fclose)(f);

	if (!fails)
		return result;
	errno = err;
	return EOF;
}

size_t fread(void *buf, size_t size, size_t n, FILE *f)
{
	return stream_fails("fread", CALLER, f, 0) ? 0 : NEXT(fread)(buf, size, n, f);
}

size_t fwrite(const void *buf, size_t size, size_t n, FILE *f)
{
	return stream_fails("fwrite", CALLER, f, 1) ? 0 : NEXT(fwrite)(buf, size, n, f);
}

int fputs(const char *text, FILE *f)
{
	return stream_fails("fputs", CALLER, f, 1) ? EOF : NEXT(fputs)(text, f);
}

ssize_t __getdelim(char **line, size_t *size, int delimiter, FILE *f)
{
	return stream_fails("getdelim", CALLER, f, 0) ? -1 :
							NEXT(__getdelim)(line, size, delimiter, f);
}

char *fgets(char *line, int size, FILE *f)
{
	return stream_fails("fgets", CALLER, f, 0) ? NULL : NEXT(fgets)(line, size, f);
}

/* Transfers */

enum direction {
	READS,
	WRITES
};

/*
 * Returns 0 if the call is made, of `*size` bytes, and 1 if not: then `*result` is its result. A
 * pipe cannot be cut for good: other processes have descriptors of it.
 */
static int transfer_fails(const char *call, const void *caller, int fd, enum direction direction,
			  int flags, size_t *size, ssize_t *result)
{
	int kind;

	if (!state)
		return 0;
	*result = -1;
	kind = kind_of(fd);
	if (kind != 'e' && is_error(call, caller, fd, EIO))
		return 1;
	if ((!(flags & MSG_DONTWAIT) && is_interrupted(call, caller, fd)) ||
	    (direction == WRITES && is_full(call, caller, fd)))
		return 1;
	if (kind != 'e' && *size > 1 && OWN(caller) && counted(SHORT, call, caller, fd)) {
		*size /= 2;
		return 0;
	}
	if (!kind || kind == 'e' || fd <= STDERR_FILENO ||
	    (!OWN(caller) && !WITHIN(openssl, n_openssl, caller)) ||
	    !counted(MESSAGE, call, caller, fd))
		return 0;
	if (kind == 's')
		NEXT(shutdown)(fd, SHUT_RDWR);
	if (kind == 'd' && direction == WRITES) {
		*result = (ssize_t)*size;
	} else if (kind == 'd') {
		char lost;

		NEXT(recv)(fd, &lost, 1, MSG_DONTWAIT);
		errno = EAGAIN;
	} else if (direction == WRITES) {
		errno = kind == 's' ? ECONNRESET : EPIPE;
	} else {
		*result = 0;
	}
	return 1;
}

#define TRANSFER(name_, direction_, flags_, parameters_, arguments_)                        \
	ssize_t name_ parameters_                                                           \
	{                                                                                   \
		ssize_t result;                                                             \
                                                                                            \
		if (transfer_fails(#name_, CALLER, fd, direction_, flags_, &size, &result)) \
			return result;                                                      \
		return NEXT(name_) arguments_;                                              \
	}

TRANSFER(read, READS, 0, (int fd, void *buf, size_t size), (fd, buf, size))
TRANSFER(write, WRITES, 0, (int fd, const void *buf, size_t size), (fd, buf, size))
TRANSFER(pread64, READS, 0, (int fd, void *buf, size_t size, off64_t o), (fd, buf, size, o))
TRANSFER(pwrite64, WRITES, 0, (int fd, const void *buf, size_t size, off64_t o), (fd, buf, size, o))
TRANSFER(recv, READS, flags, (int fd, void *buf, size_t size, int flags), (fd, buf, size, flags))
TRANSFER(send, WRITES, flags, (int fd, const void *buf, size_t size, int flags),
	 (fd, buf, size, flags))

/* The vector that moves `size` bytes, of one that moves more. */
static int cut_vector(const struct iovec *iov, int n, size_t size, struct iovec *to)
{
	int used = 0;

	while (used < n && used < 64 && size) {
		to[used] = iov[used];
		if (to[used].iov_len > size)
			to[used].iov_len = size;
		size -= to[used++].iov_len;
	}
	return used;
}

static size_t vector_size(const struct iovec *iov, int n)
{
	size_t size = 0;

	for (int i = 0; i < n; i++)
		size += iov[i].iov_len;
	return size;
}

ssize_t writev(int fd, const struct iovec *iov, int n)
{
	size_t whole = vector_size(iov, n), size = whole;
	struct iovec less[64];
	ssize_t result;

	if (transfer_fails("writev", CALLER, fd, WRITES, 0, &size, &result))
		return result;
	if (size < whole) {
		n = cut_vector(iov, n, size, less);
		iov = less;
	}
	return NEXT(writev)(fd, iov, n);
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	size_t whole = vector_size(m->msg_iov, (int)m->msg_iovlen), size = whole;
	struct iovec less[64];
	struct msghdr copy = *m;
	ssize_t result;

	if (transfer_fails("sendmsg", CALLER, fd, WRITES, flags, &size, &result))
		return result;
	if (size < whole) {
		copy.msg_iovlen = cut_vector(m->msg_iov, (int)m->msg_iovlen, size, less);
		copy.msg_iov = less;
	}
	return NEXT(sendmsg)(fd, &copy, flags);
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	size_t size = 1;
	ssize_t result;

	if (transfer_fails("recvmsg", CALLER, fd, READS, flags, &size, &result))
		return result;
	return NEXT(recvmsg)(fd, m, flags);
}

/* Of several datagrams all are lost. */
int sendmmsg(int fd, struct mmsghdr *m, unsigned n, int flags)
{
	size_t size = 1;
	ssize_t result;

	if (transfer_fails("sendmmsg", CALLER, fd, WRITES, flags, &size, &result))
		return result < 0 ? -1 : (int)n;
	return NEXT(sendmmsg)(fd, m, n, flags);
}

int recvmmsg(int fd, struct mmsghdr *m, unsigned n, int flags, struct timespec *wait)
{
	size_t size = 1;
	ssize_t result;

	if (transfer_fails("recvmmsg", CALLER, fd, READS, flags, &size, &result))
		return result < 0 ? -1 : 0;
	return NEXT(recvmmsg)(fd, m, n, flags, wait);
}

/* Functions of the C library that look for users and addresses */

#define LOOK_UP(name_, key_, found_)                                                           \
	int name_(key_ key, struct found_ *to, char *text, size_t size, struct found_ **found) \
	{                                                                                      \
		int err;                                                                       \
                                                                                               \
		if (ERRS(-1, EIO))                                                             \
			return EIO;                                                            \
		inside++;                                                                      \
		err = NEXT(name_)(key, to, text, size, found);                                 \
		inside--;                                                                      \
		return err;                                                                    \
	}

LOOK_UP(getpwuid_r, uid_t, passwd)
LOOK_UP(getpwnam_r, const char *, passwd)
LOOK_UP(getgrgid_r, gid_t, group)
LOOK_UP(getgrnam_r, const char *, group)

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
		struct addrinfo **list)
{
	int err;

	if (ERRS(-1, ENOMEM))
		return EAI_MEMORY;
	inside++;
	err = NEXT(getaddrinfo)(host, service, hints, list);
	inside--;
	return err;
}

int getnameinfo(const struct sockaddr *a, socklen_t n, char *host, socklen_t h, char *service,
		socklen_t s, int flags)
{
	int err;

	if (ERRS(-1, ENOMEM))
		return EAI_MEMORY;
	inside++;
	err = NEXT(getnameinfo)(a, n, host, h, service, s, flags);
	inside--;
	return err;
}

/* Queues of requests: what the kernel reports of a request, and calls that take several. */

#if __has_include(<libaio.h>)
#include <libaio.h>

int io_setup(int n, io_context_t *context)
{
	return ERRS(-1, EAGAIN) ? -EAGAIN : NEXT(io_setup)(n, context);
}

int io_submit(io_context_t context, long n, struct iocb **iocbs)
{
	return ERRS(-1, EAGAIN) ? -EAGAIN : NEXT(io_submit)(context, n, iocbs);
}

int io_getevents(io_context_t context, long least, long most, struct io_event *events,
		 struct timespec *wait)
{
	int n;

	if (EINTRS(-1))
		return -EINTR;
	n = NEXT(io_getevents)(context, least, most, events, wait);
	for (int i = 0; i < n; i++)
		if (ERRS(-1, EIO))
			events[i].res = -EIO;
	return n;
}
#endif

#if __has_include(<liburing.h>)
#include <liburing.h>

int io_uring_queue_init(unsigned n, struct io_uring *ring, unsigned flags)
{
	return ERRS(-1, ENOMEM) ? -ENOMEM : NEXT(io_uring_queue_init)(n, ring, flags);
}

int io_uring_register_buffers(struct io_uring *ring, const struct iovec *iov, unsigned n)
{
	return ERRS(-1, ENOMEM) ? -ENOMEM : NEXT(io_uring_register_buffers)(ring, iov, n);
}

int io_uring_register_files(struct io_uring *ring, const int *files, unsigned n)
{
	return ERRS(-1, EMFILE) ? -EMFILE : NEXT(io_uring_register_files)(ring, files, n);
}

int io_uring_register_ring_fd(struct io_uring *ring)
{
	return ERRS(-1, EINVAL) ? -EINVAL : NEXT(io_uring_register_ring_fd)(ring);
}

/* A request that fails has a descriptor of no file: no kernel refuses that otherwise. */
static void spoil(struct io_uring *ring, const void *caller)
{
	struct io_uring_sq *sq = &ring->sq;

	for (unsigned i = sq->sqe_head; i != sq->sqe_tail; i++) {
		struct io_uring_sqe *sqe = &sq->sqes[i & *sq->kring_mask];

		if (is_error("request of io_uring", caller, -1, EBADF)) {
			sqe->flags &= (uint8_t)~IOSQE_FIXED_FILE;
			sqe->fd = -1;
		}
	}
}

int io_uring_submit(struct io_uring *ring)
{
	if (EINTRS(-1) || ERRS(-1, EAGAIN))
		return -errno;
	spoil(ring, CALLER);
	return NEXT(io_uring_submit)(ring);
}

int io_uring_submit_and_wait(struct io_uring *ring, unsigned n)
{
	if (EINTRS(-1) || ERRS(-1, EAGAIN))
		return -errno;
	spoil(ring, CALLER);
	return NEXT(io_uring_submit_and_wait)(ring, n);
}

int io_uring_submit_and_wait_timeout(struct io_uring *ring, struct io_uring_cqe **cqe, unsigned n,
				     struct __kernel_timespec *ts, sigset_t *set)
{
	if (EINTRS(-1) || ERRS(-1, EAGAIN))
		return -errno;
	spoil(ring, CALLER);
	return NEXT(io_uring_submit_and_wait_timeout)(ring, cqe, n, ts, set);
}

int io_uring_submit_and_get_events(struct io_uring *ring)
{
	if (EINTRS(-1) || ERRS(-1, EAGAIN))
		return -errno;
	spoil(ring, CALLER);
	return NEXT(io_uring_submit_and_get_events)(ring);
}
#endif
