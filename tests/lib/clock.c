/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library for LD_PRELOAD that gives a process virtual time: clocks stand still while any thread
 * runs, and jump to the earliest deadline when all threads wait. One thread runs at a time, and
 * those that are woken follow each other in order: a run of the same command is the same to the
 * nanosecond, whatever else the machine does, and takes no longer than its work.
 *
 * XDD_CLOCK_FILE names a file that holds the time (8 bytes, nanoseconds): processes that wait for
 * each other, as a sweep does for its runs, share it.
 *
 * XDD_CLOCK_DO is what happens when: actions separated by commas, each of the form WHAT@SECONDS.
 * WHAT is the number of a signal that the process gets, "+SECONDS": it stands still for that
 * long, as if it were stopped, or "!FILE": that program runs to its end in real time. Only the
 * first process takes them.
 *
 * XDD_CLOCK_STEP_NS: work takes time: each reading of the clock is a step of so many nanoseconds,
 * which the thread that reads it has worked. That is its processor time, and all of it. With
 * ",idle" after the number no thread works in that time.
 *
 * XDD_CLOCK_DEVICE, "PART-OF-NAME LAW [SERVERS]": pread(2) and pwrite(2) on files of that name take
 * as long as the law says, and so many at once are served (1), in the order of their arrival. LAW
 * is a list of times in nanoseconds that is gone through again and again ("1000000,2000000*20":
 * one operation of 1 ms, and then 20 of 2 ms),
 * "exponential:MEAN", or "hang:N,TIMES": operation N, from 0, and all after it never end. The files
 * are read and written through the page cache.
 *
 * Other programs that the process starts, and xdd below them, follow: the former have real time.
 *
 * What takes real time takes no virtual time: operations on devices, and the work of other
 * processes. While a process has children, the clock does not jump past
 * a wait for a descriptor.
 *
 * A signal whose handler runs, or ends the process, does so before time goes on.
 *
 * It replaces: futex(2) as xdd calls it, condition variables, joins, sleeps,
 * poll(2), epoll_wait(2), sigwaitinfo(2), and locks that are held by a thread that waits.
 * A process whose threads unlock mutexes that they have not locked ends with status 99.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REAL(name_) ((__typeof__(&name_))real(#name_))

#define NS_PER_SEC 1000000000ull
#define NEVER UINT64_MAX
#define HANDLER_S 10

/* The clocks at the beginning. The wall clock is ahead of the times of all files. */
#define BEGIN_NS (1000 * NS_PER_SEC)
#define WALL_NS (1900000000 * NS_PER_SEC)

/*
 * A thread that reads the clock this often without a wait has no other way to let time pass: each
 * reading from then on is a step, after which others have their turn when their time has come, and
 * in any case after so many steps. After a wait that ended by time it is sooner: xdd sleeps until
 * shortly before a moment, and reads the clock until then.
 */
#define READINGS 10000u
#define READINGS_AFTER_SLEEP 100u
#define STEP_NS 1000u
#define STEPS_IN_TURN 100u

#define ACTIONS 64
#define KICK (SIGRTMAX - 1) /* ends a wait for signals at its deadline */

struct thread {
	sem_t turn;
	pthread_t id;
	struct thread *next;	   /* of all threads */
	struct thread *next_ready; /* in the queue that it is in */

	/* The wait of the thread: */
	bool waits;
	bool queued;	     /* it may run, and is in the queue for that */
	const void *key;     /* of a word, a condition, a thread; NULL: time alone */
	uint64_t until_ns;   /* NEVER: without limit */
	bool late;	     /* that came */
	uint64_t turn_count; /* waits with one deadline end in the order in which they began */
	const sigset_t *signals;
	struct pollfd *fds;
	nfds_t n_fds;
	int kick; /* an eventfd that ends its poll */

	uint64_t worked_ns;
	long sleeps;
	bool over;
	void *(*fn)(void *);
	void *arg;
};

struct action {
	uint64_t at_ns;
	int signal;	   /* 0: none */
	uint64_t still_ns; /* how long the process stands still */
	char *program;	   /* that runs, or NULL */
};

static _Atomic uint64_t own_now;
static _Atomic uint64_t *now_ns = &own_now;
static _Atomic unsigned readings;
static unsigned free_readings = READINGS, step_ns = STEP_NS;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static struct thread *threads, *first_ready, *last_ready, *running;
static uint64_t turns;
static unsigned children;
static struct action actions[ACTIONS];
static unsigned n_actions, done_actions;
static uint64_t worked_ns; /* by all threads */
static bool idle_steps;	   /* no thread works in the time of a step */

static struct thread main_thread;
static __thread struct thread *self;

static void *real(const char *name)
{
	void *symbol = dlsym(RTLD_NEXT, name);

	if (!symbol)
		abort();
	return symbol;
}

static void fail(const char *what)
{
	fprintf(stderr, "clock.so: %s\n", what);
	_exit(99);
}

static void take_lock(void)
{
	static __typeof__(&pthread_mutex_lock) next;

	if (!next)
		next = REAL(pthread_mutex_lock);
	next(&lock);
}

static void leave_lock(void)
{
	static __typeof__(&pthread_mutex_unlock) next;

	if (!next)
		next = REAL(pthread_mutex_unlock);
	next(&lock);
}

/* ---- the queue of those that may run. All with the lock. ---- */

static void make_ready(struct thread *t)
{
	if (t->queued)
		return;
	t->queued = true;
	t->next_ready = NULL;
	if (last_ready)
		last_ready->next_ready = t;
	else
		first_ready = t;
	last_ready = t;
}

/* A descriptor that a thread polls is ready: it comes by itself. */
static bool is_one_on_its_way(void)
{
	for (struct thread *t = threads; t; t = t->next) {
		if (t->waits && t->fds && REAL(poll)(t->fds, t->n_fds, 0) > 0)
			return true;
	}
	return false;
}

static struct thread *next_by_time(void)
{
	struct thread *next = NULL;

	for (struct thread *t = threads; t; t = t->next) {
		if (!t->waits || t->queued || t->until_ns == NEVER)
			continue;
		if (children && t->fds)
			continue;
		if (!next || t->until_ns < next->until_ns ||
		    (t->until_ns == next->until_ns && t->turn_count < next->turn_count))
			next = t;
	}
	return next;
}

static void move_to(uint64_t at_ns)
{
	if (at_ns > *now_ns)
		*now_ns = at_ns;
	readings = 0;
}

/* Its deadline has come. */
static void end_by_time(struct thread *t)
{
	const uint64_t one = 1;

	t->late = true;
	make_ready(t);
	if (t->fds && write(t->kick, &one, sizeof(one)) < 0)
		abort();
	if (t->signals)
		REAL(pthread_kill)(t->id, KICK);
}

/* A signal that a thread waits for goes to that thread, which is ready from now on. */
static bool prepare_signal(int sig, const pthread_t *only)
{
	for (struct thread *t = threads; t; t = t->next) {
		if (t->waits && t->signals && sigismember(t->signals, sig) == 1 &&
		    (!only || pthread_equal(*only, t->id))) {
			make_ready(t);
			return true;
		}
	}
	return false;
}

/* ---- handlers of signals: time goes on after them. ---- */

static struct sigaction handlers[_NSIG];
static sem_t handled;

static void run_handler(int sig, siginfo_t *info, void *context)
{
	if (handlers[sig].sa_flags & SA_SIGINFO)
		handlers[sig].sa_sigaction(sig, info, context);
	else
		handlers[sig].sa_handler(sig);
	sem_post(&handled);
}

static bool has_handler(const struct sigaction *action)
{
	return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

int sigaction(int sig, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction mine, before = { .sa_handler = SIG_DFL };
	int err;

	if (!self || sig <= 0 || sig >= _NSIG)
		return REAL(sigaction)(sig, action, old);
	before = handlers[sig];
	if (action) {
		mine = *action;
		handlers[sig] = *action;
		if (has_handler(action)) {
			mine.sa_sigaction = run_handler;
			mine.sa_flags |= SA_SIGINFO;
		}
	}
	err = REAL(sigaction)(sig, action ? &mine : NULL, old);
	if (!err && old && old->sa_sigaction == run_handler)
		*old = before;
	return err;
}

/* It may end the process. A signal that is blocked has no handler that runs. */
static void wait_for_handler(void)
{
	struct timespec until;

	REAL(clock_gettime)(CLOCK_REALTIME, &until);
	until.tv_sec += HANDLER_S;
	while (sem_timedwait(&handled, &until) < 0 && errno == EINTR)
		;
}

/* Without the environment of this library, and without the handlers of pthread_atfork(). */
static void run_program(char *program)
{
	char *argv[] = { program, NULL }, *envp[] = { NULL };
	int status;
	pid_t pid;

	if (posix_spawn(&pid, program, NULL, NULL, argv, envp) ||
	    REAL(waitpid)(pid, &status, 0) != pid || status)
		fail("a program of XDD_CLOCK_DO failed");
}

static void act(const struct action *a)
{
	bool waited_for;

	move_to(a->at_ns);
	*now_ns += a->still_ns;
	if (a->program)
		run_program(a->program);
	if (!a->signal)
		return;
	waited_for = prepare_signal(a->signal, NULL);
	REAL(kill)(getpid(), a->signal);
	if (!waited_for && has_handler(&handlers[a->signal]))
		wait_for_handler();
}

/* Nothing runs: the next thread, or the next time at which there is one. */
static void dispatch(void)
{
	struct thread *t;

	running = NULL;
	while (!first_ready) {
		if (is_one_on_its_way())
			return;
		t = next_by_time();
		if (done_actions < n_actions &&
		    (!t || actions[done_actions].at_ns <= t->until_ns)) {
			if (!t && children)
				return;
			act(&actions[done_actions++]);
			continue;
		}
		if (!t)
			return;
		move_to(t->until_ns);
		end_by_time(t);
		if (free_readings > READINGS_AFTER_SLEEP)
			readings = free_readings - READINGS_AFTER_SLEEP;
	}
	t = first_ready;
	first_ready = t->next_ready;
	if (!first_ready)
		last_ready = NULL;
	t->queued = false;
	t->waits = false;
	running = t;
	sem_post(&t->turn);
}

/* With the lock, which is free when this returns. */
static void wait_for_turn(struct thread *t)
{
	leave_lock();
	while (sem_wait(&t->turn) < 0)
		;
	t->key = NULL;
	t->fds = NULL;
	t->signals = NULL;
}

static void begin_wait(struct thread *t, const void *key, uint64_t until_ns)
{
	t->waits = true;
	t->late = false;
	t->key = key;
	t->until_ns = until_ns;
	t->turn_count = ++turns;
	readings = 0;
}

/* With the lock, which is free when this returns. True: the time came first. */
static bool wait_on(const void *key, uint64_t until_ns)
{
	struct thread *t = self;

	t->sleeps++;
	begin_wait(t, key, until_ns);
	dispatch();
	wait_for_turn(t);
	return t->late;
}

static unsigned wake(const void *key, unsigned most)
{
	unsigned woken = 0;

	while (woken < most) {
		struct thread *first = NULL;

		for (struct thread *t = threads; t; t = t->next) {
			if (t->waits && !t->queued && t->key == key &&
			    (!first || t->turn_count < first->turn_count))
				first = t;
		}
		if (!first)
			break;
		make_ready(first);
		woken++;
	}
	return woken;
}

/* Others that may run do so first. Where there are none, time passes. */
static void yield(void)
{
	take_lock();
	begin_wait(self, NULL, *now_ns + STEP_NS);
	if (first_ready)
		make_ready(self);
	dispatch();
	wait_for_turn(self);
}

/* A wait in the kernel is over; another thread that runs goes on first. */
static void end_kernel_wait(struct thread *t)
{
	take_lock();
	if (t->waits || running != t) {
		make_ready(t);
		if (!running)
			dispatch();
	}
	wait_for_turn(t);
}

/* ---- threads ---- */

static void init_thread(struct thread *t)
{
	sem_init(&t->turn, 0, 0);
	t->kick = -1;
}

static void add_thread(struct thread *t)
{
	t->next = threads;
	threads = t;
}

static void end_thread(void *arg)
{
	struct thread *t = arg;

	take_lock();
	t->over = true;
	if (t->kick >= 0)
		close(t->kick);
	wake(t, UINT_MAX);
	dispatch();
	leave_lock();
}

static void *thread_main(void *arg)
{
	void *ret;

	self = arg;
	while (sem_wait(&self->turn) < 0)
		;
	pthread_cleanup_push(end_thread, arg);
	ret = self->fn(self->arg);
	pthread_cleanup_pop(1);
	return ret;
}

int pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	if (!self)
		return REAL(pthread_create)(id, attr, fn, arg);
	struct thread *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return EAGAIN;
	t->fn = fn;
	t->arg = arg;
	init_thread(t);
	take_lock();
	err = REAL(pthread_create)(&t->id, attr, thread_main, t);
	if (err) {
		free(t);
	} else {
		add_thread(t);
		*id = t->id;
		make_ready(t);
	}
	leave_lock();
	return err;
}

int pthread_join(pthread_t id, void **value)
{
	if (!self)
		return REAL(pthread_join)(id, value);
	struct thread *t;

	take_lock();
	for (t = threads; t && !pthread_equal(t->id, id); t = t->next)
		;
	while (t && !t->over) {
		wait_on(t, NEVER);
		take_lock();
	}
	if (t)
		t->id = (pthread_t)0;
	leave_lock();
	return REAL(pthread_join)(id, value);
}

int pthread_kill(pthread_t id, int sig)
{
	if (!self)
		return REAL(pthread_kill)(id, sig);
	int err;

	take_lock();
	prepare_signal(sig, &id);
	err = REAL(pthread_kill)(id, sig);
	leave_lock();
	return err;
}

int kill(pid_t pid, int sig)
{
	if (!self)
		return REAL(kill)(pid, sig);
	int err;

	take_lock();
	if (pid == getpid())
		prepare_signal(sig, NULL);
	err = REAL(kill)(pid, sig);
	leave_lock();
	return err;
}

int sched_yield(void)
{
	if (!self)
		return REAL(sched_yield)();
	yield();
	return 0;
}

/* ---- clocks ---- */

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / NS_PER_SEC), (long)(ns % NS_PER_SEC) };
}

static uint64_t ns_of(const struct timespec *t)
{
	uint64_t ns;

	if (__builtin_mul_overflow((uint64_t)t->tv_sec, NS_PER_SEC, &ns) ||
	    __builtin_add_overflow(ns, (uint64_t)t->tv_nsec, &ns))
		return NEVER;
	return ns;
}

/* Others go on whose time has come, or that have waited for this thread long enough. */
static void step(unsigned steps)
{
	struct thread *t;

	take_lock();
	*now_ns += step_ns;
	if (!idle_steps) {
		worked_ns += step_ns;
		self->worked_ns += step_ns;
	}
	if (done_actions < n_actions && actions[done_actions].at_ns <= *now_ns)
		act(&actions[done_actions++]);
	while ((t = next_by_time()) && t->until_ns <= *now_ns)
		end_by_time(t);
	if (!first_ready ||
	    (!first_ready->late && !first_ready->signals && steps % STEPS_IN_TURN)) {
		leave_lock();
		return;
	}
	begin_wait(self, NULL, NEVER);
	make_ready(self);
	dispatch();
	wait_for_turn(self);
	readings = free_readings;
}

static uint64_t read_now(void)
{
	unsigned n = atomic_fetch_add_explicit(&readings, 1, memory_order_relaxed);

	if (n >= free_readings && self && running == self)
		step(n);
	return *now_ns;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	if (!self)
		return REAL(clock_gettime)(clock, t);
	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		*t = timespec_of(WALL_NS + read_now() - BEGIN_NS);
		return 0;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
		*t = timespec_of(read_now());
		return 0;
	case CLOCK_PROCESS_CPUTIME_ID:
		*t = timespec_of(worked_ns);
		return 0;
	case CLOCK_THREAD_CPUTIME_ID:
		*t = timespec_of(self->worked_ns);
		return 0;
	default:
		return REAL(clock_gettime)(clock, t);
	}
}

time_t time(time_t *t)
{
	if (!self)
		return REAL(time)(t);
	time_t now = (time_t)((WALL_NS + read_now() - BEGIN_NS) / NS_PER_SEC);

	if (t)
		*t = now;
	return now;
}

int getrusage(__rusage_who_t who, struct rusage *usage)
{
	if (!self)
		return REAL(getrusage)(who, usage);
	uint64_t ns = who == RUSAGE_SELF ? worked_ns : who == RUSAGE_THREAD ? self->worked_ns : 0;
	int err = REAL(getrusage)(who, usage);

	usage->ru_utime = (struct timeval){ (time_t)(ns / NS_PER_SEC),
					    (suseconds_t)(ns % NS_PER_SEC / 1000) };
	usage->ru_stime = (struct timeval){ 0 };
	if (who == RUSAGE_THREAD)
		usage->ru_nvcsw = self->sleeps;
	return err;
}

/* Deadlines of either clock: they are far enough apart. */
static uint64_t deadline_of(const struct timespec *until)
{
	uint64_t ns = ns_of(until);

	return ns == NEVER || ns < WALL_NS / 2 ? ns : ns - WALL_NS + BEGIN_NS;
}

static void sleep_until(uint64_t until_ns)
{
	take_lock();
	if (until_ns <= *now_ns) {
		leave_lock();
		return;
	}
	wait_on(NULL, until_ns);
}

int nanosleep(const struct timespec *length, struct timespec *left)
{
	if (!self)
		return REAL(nanosleep)(length, left);
	(void)left;
	sleep_until(*now_ns + ns_of(length));
	return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left)
{
	if (!self)
		return REAL(clock_nanosleep)(clock, flags, t, left);
	(void)clock;
	(void)left;
	sleep_until(flags & TIMER_ABSTIME ? deadline_of(t) : *now_ns + ns_of(t));
	return 0;
}

unsigned sleep(unsigned seconds)
{
	if (!self)
		return REAL(sleep)(seconds);
	sleep_until(*now_ns + seconds * NS_PER_SEC);
	return 0;
}

/* ---- the device ---- */

#define SERVERS 64
#define TIMES 8192

static struct {
	char part[128]; /* of the names of its files */
	unsigned n_servers, n_times;
	bool exponential;
	uint64_t hang; /* the first operation that never ends */
	uint64_t times_ns[TIMES];

	/* With the lock: */
	uint64_t done;
	uint64_t random;
	uint64_t free_ns[SERVERS]; /* when each has served what it has */
} device;

/* Exponential times by inversion, of a multiplicative congruential generator (Knuth's MMIX). */
static uint64_t service_ns(uint64_t n)
{
	if (n >= device.hang)
		return NEVER;
	if (!device.exponential)
		return device.times_ns[n % device.n_times];
	device.random = device.random * 6364136223846793005u + 1442695040888963407u;
	return (uint64_t)(-log(((double)(device.random >> 11) + 0.5) / 0x1p53) *
			  (double)device.times_ns[0]);
}

static bool is_of_device(int fd)
{
	char link[64], name[PATH_MAX];
	ssize_t n;

	if (!device.n_servers)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, name, sizeof(name) - 1);
	name[n > 0 ? n : 0] = '\0';
	return strstr(name, device.part);
}

static void serve(int fd)
{
	unsigned first = 0;
	uint64_t length, end = NEVER;

	if (!is_of_device(fd))
		return;
	take_lock();
	for (unsigned i = 1; i < device.n_servers; i++) {
		if (device.free_ns[i] < device.free_ns[first])
			first = i;
	}
	length = service_ns(device.done++);
	if (device.free_ns[first] < *now_ns)
		device.free_ns[first] = *now_ns;
	if (length != NEVER)
		end = device.free_ns[first] += length;
	if (end > *now_ns)
		wait_on(NULL, end);
	else
		leave_lock();
}

static void read_device(const char *text)
{
	char law[4096] = "";
	char *at = law;

	if (!text)
		return;
	device.n_servers = 1;
	device.hang = NEVER;
	if (sscanf(text, "%127s %4095s %u", device.part, law, &device.n_servers) < 2 ||
	    !device.n_servers || device.n_servers > SERVERS)
		fail("no device in XDD_CLOCK_DEVICE");
	if (sscanf(law, "hang:%" SCNu64, &device.hang) == 1)
		at = strchr(law, ',') ? strchr(law, ',') + 1 : (char[]){ "0" };
	else if (strncmp(law, "exponential:", 12) == 0)
		at += 12, device.exponential = true;
	while (*at && device.n_times < TIMES) {
		uint64_t ns = strtoull(at, &at, 10),
			 times = *at == '*' ? strtoull(at + 1, &at, 10) : 1;

		while (times-- && device.n_times < TIMES)
			device.times_ns[device.n_times++] = ns;
		at += *at == ',';
	}
	if (!device.n_times)
		fail("no times in XDD_CLOCK_DEVICE");
}

ssize_t pread64(int fd, void *buf, size_t size, off_t offset)
{
	serve(fd);
	return REAL(pread64)(fd, buf, size, offset);
}

ssize_t pwrite64(int fd, const void *buf, size_t size, off_t offset)
{
	serve(fd);
	return REAL(pwrite64)(fd, buf, size, offset);
}

/* ---- words, conditions and locks ---- */

static long futex(const _Atomic uint32_t *word, int op, uint32_t value,
		  const struct timespec *until)
{
	long ret = 0;

	take_lock();
	if ((op & FUTEX_CMD_MASK) == FUTEX_WAKE) {
		ret = (long)wake(word, value);
	} else if (*word == value) {
		if (wait_on(word, until ? deadline_of(until) : NEVER)) {
			errno = ETIMEDOUT;
			return -1;
		}
		return 0;
	}
	leave_lock();
	return ret;
}

long syscall(long number, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (self && number == SYS_futex &&
	    ((a[1] & FUTEX_CMD_MASK) == FUTEX_WAKE || (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET))
		return futex((const _Atomic uint32_t *)a[0], (int)a[1], (uint32_t)a[2],
			     (const struct timespec *)a[3]);
	return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int wait_for_condition(pthread_cond_t *c, pthread_mutex_t *m, uint64_t until_ns)
{
	bool late;

	take_lock();
	pthread_mutex_unlock(m);
	late = wait_on(c, until_ns);
	pthread_mutex_lock(m);
	return late ? ETIMEDOUT : 0;
}

int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	if (!self)
		return REAL(pthread_cond_wait)(c, m);
	return wait_for_condition(c, m, NEVER);
}

int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
	if (!self)
		return REAL(pthread_cond_timedwait)(c, m, until);
	return wait_for_condition(c, m, deadline_of(until));
}

int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
			   const struct timespec *until)
{
	if (!self)
		return REAL(pthread_cond_clockwait)(c, m, clock, until);
	(void)clock;
	return wait_for_condition(c, m, deadline_of(until));
}

int pthread_cond_signal(pthread_cond_t *c)
{
	if (!self)
		return REAL(pthread_cond_signal)(c);
	take_lock();
	wake(c, 1);
	leave_lock();
	return 0;
}

int pthread_cond_broadcast(pthread_cond_t *c)
{
	if (!self)
		return REAL(pthread_cond_broadcast)(c);
	take_lock();
	wake(c, UINT_MAX);
	leave_lock();
	return 0;
}

/* The holder of a lock waits, as one thread runs at a time. */
int pthread_mutex_lock(pthread_mutex_t *m)
{
	static __typeof__(&pthread_mutex_lock) next;
	int err;

	if (!next)
		next = REAL(pthread_mutex_lock);
	if (!self || m == &lock)
		return next(m);
	while ((err = pthread_mutex_trylock(m)) == EBUSY)
		yield();
	return err;
}

/* A thread that has not locked what it unlocks shares it without a lock. */
int pthread_mutex_unlock(pthread_mutex_t *m)
{
	static __typeof__(&pthread_mutex_unlock) next;
	static __thread pid_t own;

	if (!next)
		next = REAL(pthread_mutex_unlock);
	if (!own)
		own = gettid();
#ifdef __GLIBC__
	if (self && m != &lock && m->__data.__owner != own)
		fail("a thread unlocks a mutex that it has not locked");
#endif
	return next(m);
}

int pthread_mutex_destroy(pthread_mutex_t *m)
{
	const int err = REAL(pthread_mutex_destroy)(m);

	if (self && err)
		fail("a mutex is destroyed while it is locked");
	return err;
}

/* ---- descriptors and signals ---- */

static int poll_until(struct pollfd *fds, nfds_t n, uint64_t until_ns, const sigset_t *mask)
{
	struct timespec now = { 0 };
	struct thread *t = self;
	struct pollfd own[n + 1];
	uint64_t count;
	int ready, err;

	ready = REAL(ppoll)(fds, n, &now, mask);
	if (ready || until_ns <= *now_ns)
		return ready;
	if (t->kick < 0)
		t->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	memcpy(own, fds, n * sizeof(*fds));
	own[n] = (struct pollfd){ .fd = t->kick, .events = POLLIN };
	take_lock();
	begin_wait(t, NULL, until_ns);
	t->fds = own;
	t->n_fds = n;
	dispatch();
	leave_lock();
	ready = REAL(ppoll)(own, n + 1, NULL, mask);
	err = errno;
	end_kernel_wait(t);
	if (ready < 0) {
		errno = err;
		return ready;
	}
	while (read(t->kick, &count, sizeof(count)) > 0)
		;
	/* A descriptor that is ready counts more than the time that is up. */
	return REAL(ppoll)(fds, n, &now, NULL);
}

int poll(struct pollfd *fds, nfds_t n, int ms)
{
	if (!self)
		return REAL(poll)(fds, n, ms);
	return poll_until(fds, n, ms < 0 ? NEVER : *now_ns + (uint64_t)ms * 1000000, NULL);
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *length, const sigset_t *mask)
{
	if (!self)
		return REAL(ppoll)(fds, n, length, mask);
	return poll_until(fds, n, length ? *now_ns + ns_of(length) : NEVER, mask);
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int ms)
{
	if (!self)
		return REAL(epoll_wait)(epoll, events, most, ms);
	struct pollfd fd = { .fd = epoll, .events = POLLIN };

	if (poll_until(&fd, 1, ms < 0 ? NEVER : *now_ns + (uint64_t)ms * 1000000, NULL) < 0)
		return -1;
	return REAL(epoll_wait)(epoll, events, most, 0);
}

static int wait_for_signal(const sigset_t *set, siginfo_t *info, uint64_t until_ns)
{
	struct timespec none = { 0 };
	struct thread *t = self;
	sigset_t more = *set;
	int sig, err;

	sig = REAL(sigtimedwait)(set, info, &none);
	if (sig > 0 || until_ns <= *now_ns)
		return sig;
	sigaddset(&more, KICK);
	take_lock();
	begin_wait(t, NULL, until_ns);
	t->signals = &more;
	dispatch();
	leave_lock();
	sig = REAL(sigwaitinfo)(&more, info);
	err = errno;
	end_kernel_wait(t);
	if (sig == KICK) {
		sig = -1;
		err = EAGAIN;
	}
	errno = err;
	return sig;
}

int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	if (!self)
		return REAL(sigwaitinfo)(set, info);
	return wait_for_signal(set, info, NEVER);
}

int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *length)
{
	if (!self)
		return REAL(sigtimedwait)(set, info, length);
	return wait_for_signal(set, info, length ? *now_ns + ns_of(length) : NEVER);
}

/* ---- processes ---- */

static void before_fork(void)
{
	take_lock();
}

static void after_fork(void)
{
	children++;
	leave_lock();
}

static void in_child(void)
{
	struct thread *t = self;

	first_ready = last_ready = NULL;
	threads = running = t;
	t->next = t->next_ready = NULL;
	children = 0;
	leave_lock();
}

static void a_child_ended(void)
{
	take_lock();
	if (children)
		children--;
	leave_lock();
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	pid_t ended = REAL(waitpid)(pid, status, options);

	if (ended > 0)
		a_child_ended();
	return ended;
}

int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	int err = REAL(waitid)(type, id, info, options);

	if (err == 0 && info && info->si_pid && !(options & WNOWAIT))
		a_child_ended();
	return err;
}

/* ---- files of the kernel's own clock: no thread waits for a processor ---- */

static const char no_wait[] = "0 0 0\n";

static bool is_schedstat(const char *path)
{
	return self && strstr(path, "/schedstat");
}

static bool is_hidden(const char *path)
{
	return self && strstr(path, "/current_clocksource");
}

/*
 * The law says how long an operation takes: reading a disk for each one would add real time only.
 * The file has been opened for direct I/O before: a file system that has none has refused it.
 */
static void leave_direct(int fd, int flags)
{
	if (fcntl(fd, F_SETFL, flags & ~O_DIRECT) < 0)
		fail("a file cannot be read through the page cache");
}

int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;
	int fd;

	va_start(ap, flags);
	if (flags & (O_CREAT | O_TMPFILE))
		mode = va_arg(ap, mode_t);
	va_end(ap);
	if (is_hidden(path)) {
		errno = ENOENT;
		return -1;
	}
	if (!is_schedstat(path)) {
		fd = REAL(open64)(path, flags, mode);
		if (fd >= 0 && flags & O_DIRECT && is_of_device(fd))
			leave_direct(fd, flags);
		return fd;
	}
	fd = memfd_create("schedstat", MFD_CLOEXEC);
	if (fd >= 0 && (write(fd, no_wait, sizeof(no_wait) - 1) < 0 || lseek(fd, 0, SEEK_SET) < 0))
		abort();
	return fd;
}

/* The kernel counts what all programs do, in real time. A device with a law has no counters. */
FILE *fopen64(const char *path, const char *mode)
{
	if (self && (idle_steps || device.n_times) && strstr(path, "/sys/class/block/") &&
	    strstr(path, "/stat")) {
		errno = ENOENT;
		return NULL;
	}
	return REAL(fopen64)(path, mode);
}

int access(const char *path, int mode)
{
	if (is_schedstat(path))
		return 0;
	if (is_hidden(path)) {
		errno = ENOENT;
		return -1;
	}
	return REAL(access)(path, mode);
}

/*
 * ---- processors ----
 *
 * One thread runs at a time: on one processor a turn is passed without waking another one, which
 * takes most of the time of a run otherwise. The process does not see that it has only one.
 */

#define SET_SIZE 1024 /* bytes: of all processors that a kernel knows */

static unsigned char all_processors[SET_SIZE], one_processor[SET_SIZE];
static bool on_one_processor;

static long real_setaffinity(const unsigned char *set)
{
	return syscall(SYS_sched_setaffinity, 0, SET_SIZE, set);
}

/* Take the affinity of the parent in virtual time, or else of this process. */
static void find_all_processors(const char *of_parent)
{
	if (!of_parent) {
		if (syscall(SYS_sched_getaffinity, 0, SET_SIZE, all_processors) < 0)
			fail("cannot tell the processors");
		return;
	}
	for (size_t i = 0; i < SET_SIZE; i++) {
		if (sscanf(of_parent + 2 * i, "%2hhx", &all_processors[i]) != 1)
			fail("XDD_CLOCK_PROCESSORS is not what clock.so writes");
	}
}

static void stay_on_one_processor(void)
{
	char words[2 * SET_SIZE + 1];
	int here = sched_getcpu();

	find_all_processors(getenv("XDD_CLOCK_PROCESSORS"));
	for (size_t i = 0; i < SET_SIZE; i++)
		sprintf(words + 2 * i, "%02x", all_processors[i]);
	CPU_SET_S((unsigned)here, SET_SIZE, (cpu_set_t *)one_processor);
	if (here < 0 || real_setaffinity(one_processor) < 0)
		fail("cannot stay on one processor");
	setenv("XDD_CLOCK_PROCESSORS", words, 1);
	on_one_processor = true;
}

/* A process in real time that one in virtual time has started. */
static void leave_one_processor(void)
{
	const char *of_parent = getenv("XDD_CLOCK_PROCESSORS");

	if (!of_parent)
		return;
	find_all_processors(of_parent);
	real_setaffinity(all_processors);
	unsetenv("XDD_CLOCK_PROCESSORS");
}

static bool is_set(size_t size, const cpu_set_t *set, const unsigned char *wanted)
{
	return on_one_processor && size <= SET_SIZE && memcmp(set, wanted, size) == 0;
}

static const cpu_set_t *set_to_use(size_t size, const cpu_set_t *set)
{
	return is_set(size, set, all_processors) ? (const cpu_set_t *)one_processor : set;
}

static void show_all_processors(size_t size, cpu_set_t *set)
{
	if (is_set(size, set, one_processor))
		memcpy(set, all_processors, size);
}

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	int ret = REAL(sched_getaffinity)(pid, size, set);

	if (ret == 0)
		show_all_processors(size, set);
	return ret;
}

int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set)
{
	int err = REAL(pthread_getaffinity_np)(thread, size, set);

	if (!err)
		show_all_processors(size, set);
	return err;
}

int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
	return REAL(sched_setaffinity)(pid, size, set_to_use(size, set));
}

int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set)
{
	return REAL(pthread_setaffinity_np)(thread, size, set_to_use(size, set));
}

/* ---- the beginning ---- */

static uint64_t seconds_ns(const char *text, char **end)
{
	double seconds = strtod(text, end);

	if (*end == text || seconds < 0)
		fail("no time in XDD_CLOCK_DO");
	return (uint64_t)(seconds * 1e9 + 0.5);
}

static void read_actions(const char *text)
{
	char *end;

	while (text && *text) {
		struct action *a = &actions[n_actions];

		if (++n_actions > ACTIONS)
			fail("too many actions in XDD_CLOCK_DO");
		if (*text == '+')
			a->still_ns = seconds_ns(text, &end);
		else if (*text == '!')
			end = strchrnul(text, '@');
		else
			a->signal = (int)strtol(text, &end, 10);
		if (*end != '@')
			fail("no @ in XDD_CLOCK_DO");
		if (*text == '!')
			a->program = strndup(text + 1, (size_t)(end - text - 1));
		a->at_ns = *now_ns + seconds_ns(end + 1, &end);
		text = *end == ',' ? end + 1 : end;
	}
	unsetenv("XDD_CLOCK_DO");
}

static void share(const char *file)
{
	int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *shared;

	if (fd < 0 || ftruncate(fd, sizeof(*now_ns)) < 0)
		fail("cannot open XDD_CLOCK_FILE");
	shared = mmap(NULL, sizeof(*now_ns), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		fail("cannot map XDD_CLOCK_FILE");
	close(fd);
	now_ns = shared;
}

/* The program of the first process. Others that it starts have real time. */
static bool is_the_program(void)
{
	const char *program = getenv("XDD_CLOCK_PROGRAM");
	char here[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", here, sizeof(here) - 1);

	here[n > 0 ? n : 0] = '\0';
	if (!program)
		setenv("XDD_CLOCK_PROGRAM", here, 1);
	return !program || strcmp(program, here) == 0;
}

__attribute__((constructor)) static void begin(void)
{
	const char *file = getenv("XDD_CLOCK_FILE");
	sigset_t kick;

	if (!is_the_program()) {
		leave_one_processor();
		return;
	}
	stay_on_one_processor();
	if (file)
		share(file);
	if (!*now_ns)
		*now_ns = BEGIN_NS;
	if (getenv("XDD_CLOCK_STEP_NS")) {
		step_ns = (unsigned)atoi(getenv("XDD_CLOCK_STEP_NS"));
		idle_steps = strstr(getenv("XDD_CLOCK_STEP_NS"), ",idle");
		free_readings = 0;
	}
	sem_init(&handled, 0, 0);
	read_actions(getenv("XDD_CLOCK_DO"));
	read_device(getenv("XDD_CLOCK_DEVICE"));
	sigemptyset(&kick);
	sigaddset(&kick, KICK);
	REAL(pthread_sigmask)(SIG_BLOCK, &kick, NULL);
	main_thread.id = pthread_self();
	init_thread(&main_thread);
	add_thread(&main_thread);
	self = running = &main_thread;
	pthread_atfork(before_fork, after_fork, in_child);
}
