/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads: starting them, and explaining why one cannot be started, by limits of the kernel, of
 * control groups and of the user; and the thread for signals. Called for QThreads, the results
 * manager and the helper threads of a run, and for signals of runs (src/run/progress/signals.c)
 * and copies (src/copy/signals.c).
 */
#include "xdd/sync/thread.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/base/output.h"
#include "xdd/base/status.h"
#include "xdd/base/units.h"
#include "xdd/sys/machine.h"
#include "xdd/sys/sysfile.h"

/* Room for a few frames and a line of text; the sanitizers need far more. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define THREAD_STACK_BYTES (256 * 1024)
#else
#define THREAD_STACK_BYTES 0
#endif

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102 /* Linux 6.13; not in the headers of glibc 2.36 */
#endif

/*
 * Signals from outside go to the one thread that waits for them, whichever threads exist before it.
 * Signals that a thread causes itself stay unblocked.
 */
static void block_signals(sigset_t *old)
{
	sigset_t set;

	sigfillset(&set);
	sigdelset(&set, SIGSEGV);
	sigdelset(&set, SIGBUS);
	sigdelset(&set, SIGFPE);
	sigdelset(&set, SIGILL);
	sigdelset(&set, SIGABRT);
	sigdelset(&set, SIGTRAP);
	sigdelset(&set, SIGSYS);
	sigdelset(&set, SIGPROF);
	pthread_sigmask(SIG_BLOCK, &set, old);
}

/* Size of their stacks; 0: the default of the system. Any thread. */
static size_t thread_stack_bytes(void)
{
	return THREAD_STACK_BYTES;
}

void thread_stacks_open(struct thread_stacks *s, size_t n)
{
	const size_t guard = (size_t)sysconf(_SC_PAGESIZE), each = guard + thread_stack_bytes();
	void *map;

	*s = (struct thread_stacks){ 0 };
	if (!thread_stack_bytes() || n > SIZE_MAX / each)
		return;
	map = mmap(NULL, n * each, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (map == MAP_FAILED)
		return;
	/* A stack uses few of its pages. */
	madvise(map, n * each, MADV_NOHUGEPAGE);
	*s = (struct thread_stacks){ .map = map, .n = n, .each = each, .guard = guard };
}

void thread_stacks_close(struct thread_stacks *s)
{
	if (s->map)
		munmap(s->map, s->n * s->each);
	*s = (struct thread_stacks){ 0 };
}

/*
 * Make a page inaccessible. A guard region leaves the mapping whole, which older kernels split.
 * Returns 0 or a number of errno.
 */
static int protect_page(char *page, size_t size)
{
	if (madvise(page, size, MADV_GUARD_INSTALL) == 0 || mprotect(page, size, PROT_NONE) == 0)
		return 0;
	return errno == ENOMEM ? EAGAIN : errno;
}

/* Give the thread a stack of `s`, or one of its own. Returns 0 or a number of errno. */
static int set_stack(pthread_attr_t *attr, struct thread_stacks *s)
{
	const size_t size = thread_stack_bytes();
	size_t i = s ? atomic_fetch_add(&s->used, 1) : 0;
	char *page;
	int err;

	if (!size)
		return 0;
	if (!s || i >= s->n)
		return pthread_attr_setstacksize(attr, size);
	page = s->map + i * s->each;
	err = protect_page(page, s->guard);
	return err ? err : pthread_attr_setstack(attr, page + s->guard, size);
}

int thread_start(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	return thread_start_on(NULL, thread, fn, arg);
}

int thread_start_on(struct thread_stacks *stacks, pthread_t *thread, void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	sigset_t old;
	int err = pthread_attr_init(&attr);

	if (err)
		return -err;
	err = set_stack(&attr, stacks);
	block_signals(&old);
	if (!err)
		err = pthread_create(thread, &attr, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

/*
 * Attribute a failure to a limit that leaves room for fewer threads than this: counts change, and
 * the kernel keeps some in reserve.
 */
#define NEAR_THREADS 300

/* Count the threads of the user only for so many threads: counting takes milliseconds. */
#define COUNTED_THREADS 64

/* A stack and the page below it. */
#define MAPPINGS_A_THREAD 2

/* The limit that leaves the least room so far. */
struct nearest {
	uint64_t room; /* UINT64_MAX: none is known */
	char text[160];
};

static void consider(struct nearest *n, const char *name, uint64_t max, uint64_t used,
		     uint64_t each)
{
	uint64_t room = max > used ? (max - used) / each : 0;

	if (room >= n->room)
		return;
	n->room = room;
	snprintf(n->text, sizeof(n->text), "%s, %" PRIu64 ", leaves room for %" PRIu64, name, max,
		 room);
}

/* Threads of the whole system: "0.00 0.00 0.00 1/234 567". */
static uint64_t system_threads(void)
{
	char buf[128], *slash, *line = sysfile_line("/proc/loadavg", buf, sizeof(buf));

	slash = line ? strchr(line, '/') : NULL;
	return slash ? strtoull(slash + 1, NULL, 10) : 0;
}

static void consider_system(struct nearest *n)
{
	uint64_t max, used = system_threads();

	if (sysfile_number("/proc/sys/kernel/threads-max", &max))
		consider(n, "the sysctl kernel.threads-max", max, used, 1);
	if (sysfile_number("/proc/sys/kernel/pid_max", &max))
		consider(n, "the sysctl kernel.pid_max", max, used, 1);
}

/* A control group of the process. */
static void consider_group(void *arg, const char *dir, const char *name, bool unified)
{
	struct nearest *n = arg;
	char file[640], text[sizeof(n->text) / 2];
	uint64_t max, used;

	(void)unified;
	snprintf(file, sizeof(file), "%s/pids.max", dir);
	if (!sysfile_number(file, &max))
		return;
	snprintf(text, sizeof(text), "pids.max of the control group %.40s", *name ? name : "/");
	snprintf(file, sizeof(file), "%s/pids.current", dir);
	if (sysfile_number(file, &used))
		consider(n, text, max, used, 1);
}

static bool may_exceed(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { { 0 } };

	return getuid() == 0 || syscall(SYS_capget, &header, caps) ||
	       (caps[0].effective & (CAP_TO_MASK(CAP_SYS_RESOURCE) | CAP_TO_MASK(CAP_SYS_ADMIN)));
}

/* Number of threads of a process that belongs to `uid`, otherwise 0. */
static uint64_t threads_of(const char *pid, uid_t uid)
{
	char path[64], line[256];
	unsigned long owner = ULONG_MAX;
	uint64_t threads = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.20s/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "Uid:", 4) == 0)
			owner = strtoul(line + 4, NULL, 10);
		else if (strncmp(line, "Threads:", 8) == 0)
			threads = strtoull(line + 8, NULL, 10);
	}
	if (f)
		fclose(f);
	return owner == uid ? threads : 0;
}

static uint64_t user_threads(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	uint64_t threads = 0;

	while (dir && (entry = readdir(dir))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			threads += threads_of(entry->d_name, getuid());
	}
	if (dir)
		closedir(dir);
	return threads;
}

static void consider_user(struct nearest *n, uint64_t more)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NPROC, &limit) || limit.rlim_cur == RLIM_INFINITY || may_exceed())
		return;
	if (more >= COUNTED_THREADS || more >= limit.rlim_cur / 8)
		consider(n, "the limit on processes (ulimit -u)", limit.rlim_cur, user_threads(),
			 1);
}

static uint64_t mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	uint64_t lines = 0;
	int c;

	while (f && (c = getc(f)) != EOF)
		lines += c == '\n';
	if (f)
		fclose(f);
	return lines;
}

static void consider_mappings(struct nearest *n, uint64_t more)
{
	uint64_t max;

	if (more >= COUNTED_THREADS && sysfile_number("/proc/sys/vm/max_map_count", &max))
		consider(n, "the sysctl vm.max_map_count", max, mappings(), MAPPINGS_A_THREAD);
}

/* Stacks need memory like everything else: it explains a failure, and predicts none. */
static void consider_memory(struct nearest *n)
{
	char buf[128], *line = sysfile_line("/proc/self/statm", buf, sizeof(buf));
	uint64_t stack = thread_stack_bytes();
	struct rlimit limit;

	if (stack && line && getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		consider(n, "the limit on memory (ulimit -v)", limit.rlim_cur,
			 strtoull(line, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE), stack);
}

static struct nearest nearest_limit(uint64_t more)
{
	struct nearest n = { .room = UINT64_MAX };

	consider_system(&n);
	cgroup_each("pids", consider_group, &n);
	consider_user(&n, more);
	consider_mappings(&n, more);
	return n;
}

bool thread_limit_exceeded(uint64_t more, struct err *why)
{
	struct nearest n = nearest_limit(more);

	if (n.room >= more)
		return false;
	err_set(why, -EAGAIN, "%s", n.text);
	return true;
}

const char *thread_error(int err, struct err *why)
{
	struct nearest n;

	if (err != -EAGAIN)
		return strerror(-err);
	n = nearest_limit(NEAR_THREADS);
	consider_memory(&n);
	if (n.room < NEAR_THREADS)
		err_set(why, err, "no more threads: %s", n.text);
	else
		err_set(why, err, "no more threads: memory or a limit is exhausted");
	return why->text;
}

/*
 * One thread waits for the signals that end a program; all other threads have them blocked. That
 * thread also writes messages, so it must not depend on their reader: it waits only briefly for
 * room in an output, and a handler takes the second signal.
 */

/* Private to this module: ends the thread. */
#define SIGNAL_QUIT SIGRTMIN

/* How long messages of the signal thread wait for room: no second signal can come in this time. */
#define MESSAGE_NS SAME_SIGNAL_NS

/* atomic: clock from which a signal is the second one */
static _Atomic uint64_t second_from_ns;

/* atomic: a signal of the parent repeats the first one, which came from elsewhere */
static atomic_bool parent_repeats;

static bool is_ignored(int sig)
{
	struct sigaction old;

	return sigaction(sig, NULL, &old) == 0 && old.sa_handler == SIG_IGN;
}

/* The signals that end the program. */
static void set_of_ends(const struct signal_thread *s, sigset_t *set)
{
	sigemptyset(set);
	if (!s->keep_ignored || !is_ignored(SIGINT))
		sigaddset(set, SIGINT);
	if (!s->keep_ignored || !is_ignored(SIGTERM))
		sigaddset(set, SIGTERM);
	/* nohup makes the process ignore it on purpose. */
	if (!is_ignored(SIGHUP))
		sigaddset(set, SIGHUP);
}

static void set_of_others(const struct signal_thread *s, sigset_t *set)
{
	sigemptyset(set);
	if (s->progress)
		sigaddset(set, SIGUSR1);
	sigaddset(set, SIGNAL_QUIT);
}

static bool is_from_parent(const siginfo_t *info)
{
	return info->si_code == SI_USER && info->si_pid == getppid();
}

static void end_at_once(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	if (is_from_parent(info) && atomic_exchange(&parent_repeats, false))
		return;
	if (clock_kernel_ns() >= atomic_load(&second_from_ns))
		_exit(XDD_CANCELED);
}

/* From here on the second signal ends the process, whatever the signal thread does or waits for. */
static void expect_second(const struct signal_thread *s, const siginfo_t *first)
{
	struct sigaction action = { .sa_sigaction = end_at_once,
				    .sa_flags = SA_RESTART | SA_SIGINFO };
	sigset_t ends;

	atomic_store(&parent_repeats, !is_from_parent(first));
	atomic_store(&second_from_ns, clock_kernel_ns() + SAME_SIGNAL_NS);
	set_of_ends(s, &ends);
	sigfillset(&action.sa_mask);
	for (int sig = 1; sig < SIGRTMIN; sig++) {
		if (sigismember(&ends, sig) == 1)
			sigaction(sig, &action, NULL);
	}
	pthread_sigmask(SIG_UNBLOCK, &ends, NULL);
}

/* The next signal; 0 at `until_ns`; negative when there was none. */
static int wait_signal(const sigset_t *set, uint64_t until_ns, siginfo_t *info)
{
	uint64_t now = clock_kernel_ns(), left;
	struct timespec timeout;
	int sig;

	if (until_ns == UINT64_MAX)
		return sigwaitinfo(set, info);
	left = until_ns > now ? until_ns - now : 0;
	timeout = (struct timespec){ .tv_sec = (time_t)(left / NS_PER_SEC),
				     .tv_nsec = (long)(left % NS_PER_SEC) };
	sig = sigtimedwait(set, info, &timeout);
	return sig < 0 && errno == EAGAIN ? 0 : sig;
}

static void *signal_main(void *arg)
{
	struct signal_thread *s = arg;
	uint64_t late_ns = UINT64_MAX;
	sigset_t set, ends;
	bool first = true;

	outwait_limit(clock_kernel_ns() + MESSAGE_NS);
	debug_line(DEBUG_TASK, "signals: thread %d starts", gettid());
	set_of_others(s, &set);
	set_of_ends(s, &ends);
	sigorset(&set, &set, &ends);
	for (;;) {
		siginfo_t info;
		int sig = wait_signal(&set, late_ns, &info);

		if (sig < 0)
			continue;
		outwait_limit(clock_kernel_ns() + MESSAGE_NS);
		if (sig == SIGNAL_QUIT)
			break;
		if (sig == 0) {
			late_ns = UINT64_MAX;
			s->late(s->arg);
		} else if (sig == SIGUSR1) {
			s->progress(s->arg);
			hold(HOLD_SIGNAL_TAKEN);
		} else if (first) {
			first = false;
			set_of_others(s, &set);
			expect_second(s, &info);
			if (s->late)
				late_ns = clock_kernel_ns() + s->late_ns;
			s->first(s->arg, sig);
			hold(HOLD_SIGNAL_TAKEN);
		}
	}
	debug_line(DEBUG_TASK, "signals: thread %d ends", gettid());
	return NULL;
}

int signal_thread_start(struct signal_thread *s)
{
	sigset_t set, ends, old;
	int err;

	set_of_others(s, &set);
	set_of_ends(s, &ends);
	sigorset(&set, &set, &ends);
	err = pthread_sigmask(SIG_BLOCK, &set, &old);
	if (err)
		return -err;
	err = pthread_create(&s->thread, NULL, signal_main, s);
	if (err)
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	else
		hold(HOLD_SIGNALS_READY);
	return -err;
}

void signal_thread_end(struct signal_thread *s)
{
	pthread_kill(s->thread, SIGNAL_QUIT);
	pthread_join(s->thread, NULL);
}
