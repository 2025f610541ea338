/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes of a run on many hosts, their messages, and one display for all. Called by
 * multi.c.
 *
 * One loop waits for all of them. A rank that is silent for too long is asked to end, then its
 * launcher is ended; its xdd ends with the channel (-attached). So do all when this process ends,
 * because the kernel then ends the launchers.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands/multi.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/clock.h"

/*
 * The messages of the hosts. A line is a message, which is shown with the label of its
 * rank before it, or the progress of the run there, for the display.
 */

/* Keep one of the last messages. */
static void multi_messages_keep(struct multi_rank *r, const char *text)
{
	char **at = &r->last[r->n_lines++ % MULTI_LAST_LINES];

	free(*at);
	*at = printable_dup(text, false);
}

static void show(const struct multi_rank *r, const char *text)
{
	struct memstream out;

	if (!memstream_open(&out))
		return;
	fprintf(out.f, "%s: ", r->label);
	printable_put(out.f, text);
	fputc('\n', out.f);
	if (!memstream_close(&out))
		log_raw(out.text);
	free(out.text);
}

static void take_line(struct multi_rank *r)
{
	struct progress_line p;

	r->line[r->line_bytes] = '\0';
	/* Of a terminal on the other side. */
	if (r->line_bytes && r->line[r->line_bytes - 1] == '\r')
		r->line[r->line_bytes - 1] = '\0';
	r->line_bytes = 0;
	if (progress_line_decode(r->line, &p) == 0) {
		r->progress = p;
		if (!r->answered)
			hold(HOLD_HOST_ANSWERED);
		r->has_progress = r->answered = true;
		r->sign_ns = clock_kernel_ns();
		return;
	}
	if (!*r->line)
		return;
	multi_messages_keep(r, r->line);
	show(r, r->line);
	if (r->log)
		fprintf(r->log, "%s\n", r->line);
}

void multi_messages_take(struct multi *m, struct multi_rank *r, const char *bytes, size_t n)
{
	(void)m;
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] == '\n' || r->line_bytes + 1 == sizeof(r->line))
			take_line(r);
		if (bytes[i] != '\n')
			r->line[r->line_bytes++] = bytes[i] ? bytes[i] : '?';
	}
	if (!n && r->line_bytes)
		take_line(r);
}

/*
 * One display for all hosts.
 */

#define TERMINAL_NS (NS_PER_SEC / 2)
#define LINE_NS (10 * NS_PER_SEC)

/* All ranks together. */
struct summary {
	size_t starting, ready, running, done;
	uint64_t pass, passes;
	double share, bytes_per_s, ops_per_s;
	int64_t left_s;
};

static void add_running(struct summary *s, const struct progress_line *p)
{
	double seconds = (double)p->elapsed_ns / NS_PER_SEC;
	double share = p->done_ppm >= 0 ? (double)p->done_ppm / 1e6 : -1;

	s->running++;
	s->pass = p->pass < s->pass ? p->pass : s->pass;
	s->passes = p->passes > s->passes ? p->passes : s->passes;
	/* The pass is done when the last host is. */
	s->share = share < s->share ? share : s->share;
	s->left_s = p->left_s > s->left_s ? p->left_s : s->left_s;
	if (seconds > 0) {
		s->bytes_per_s += (double)p->bytes / seconds;
		s->ops_per_s += (double)p->ops / seconds;
	}
}

static struct summary multi_show_summarize(const struct multi *m)
{
	struct summary s = { .pass = UINT64_MAX, .share = 1, .left_s = -1 };

	for (size_t i = 0; i < m->n; i++) {
		const struct multi_rank *r = &m->ranks[i];

		if (r->state == MULTI_ENDED)
			s.done++;
		else if (!r->has_progress)
			s.starting++;
		else if (r->progress.state == PROGRESS_READY)
			s.ready++;
		else
			add_running(&s, &r->progress);
	}
	return s;
}

static void put_part(FILE *f, size_t n, const char *text, const char **before)
{
	if (!n)
		return;
	fprintf(f, "%s%zu %s", *before, n, text);
	*before = ", ";
}

static void multi_show_put(FILE *f, const struct summary *s)
{
	char rate[SCALED_SIZE], ops[SCALED_SIZE];
	const char *before = "";

	put_part(f, s->starting, "starting", &before);
	put_part(f, s->ready, "ready", &before);
	put_part(f, s->running, "running", &before);
	put_part(f, s->done, "done", &before);
	if (!s->running)
		return;
	fprintf(f, "; pass %" PRIu64 " of %" PRIu64, s->pass, s->passes);
	if (s->share >= 0)
		fprintf(f, ", %.0f %%", s->share * 100);
	fprintf(f, ", %s, %s", scaled_rate(s->bytes_per_s, rate), scaled_ops(s->ops_per_s, ops));
	if (s->left_s >= 0)
		fprintf(f, ", %" PRId64 " s left", s->left_s);
}

/* Show how far all hosts are, if that is due. Returns when it is due again. */
static uint64_t multi_show(struct multi *m, uint64_t now_ns)
{
	const bool terminal = log_is_terminal();
	const uint64_t interval_ns = terminal ? TERMINAL_NS : LINE_NS;
	struct summary s;
	struct memstream out;

	if (m->line.quiet)
		return UINT64_MAX;
	if (now_ns < m->shown_ns + interval_ns)
		return m->shown_ns + interval_ns;
	m->shown_ns = now_ns;
	s = multi_show_summarize(m);
	if (!memstream_open(&out))
		return now_ns + interval_ns;
	multi_show_put(out.f, &s);
	if (!memstream_close(&out)) {
		if (terminal)
			log_transient(out.text);
		else
			log_notice("multi: %s", out.text);
	}
	free(out.text);
	return now_ns + interval_ns;
}

#define READ_BYTES 65536
#define SPARE_FDS 64		 /* of this process besides the ranks' */
#define KILL_NS (2 * NS_PER_SEC) /* between SIGTERM and SIGKILL */

/* How often the loop looks at the time. */
#define LOOK_NS NS_PER_SEC

/* For the rest of its output, which a process that stays may keep open. */
#define REST_NS (NS_PER_SEC / 2)

/* The exit status of pkill that found no process. */
#define PKILL_NONE 1

struct loop {
	struct multi *m;
	struct pollfd *fds; /* the signals, then two for each rank */
	char *bytes;
	uint64_t looked_ns; /* when it looked at the time last */
	uint64_t worked_ns; /* its processor time then */
};

/* ---- one rank ---- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void send_signal(const struct multi_rank *r, int sig)
{
	if (!r->reaped)
		kill(-r->child.pid, sig);
}

static void set_why(struct multi_rank *r, const char *text)
{
	if (!*r->why)
		snprintf(r->why, sizeof(r->why), "%s", text);
}

static void end_launcher(const struct multi *m, struct multi_rank *r, uint64_t now_ns)
{
	const int first = m->launcher->end_signal ? m->launcher->end_signal : SIGTERM;

	close_fd(&r->child.write_fd);
	send_signal(r, r->state == MULTI_KILLED ? SIGKILL : first);
	r->state = MULTI_KILLED;
	r->deadline_ns = now_ns + KILL_NS;
}

/* Start the command that asks for the end. What it prints is not needed. */
static int start_asking(struct multi_rank *r)
{
	int err = child_start(&r->asking, r->ask, CHILD_OWN_GROUP | CHILD_END_SIGINT);

	if (err)
		r->asking.pid = 0;
	else
		close_fd(&r->asking.write_fd);
	return err;
}

static void asking_ended(struct multi_rank *r)
{
	close_fd(&r->asking.read_fd);
	r->asking.pid = 0;
}

/* Ask for the end of a run, which then sends its results. */
static void ask_end(const struct multi *m, struct multi_rank *r, uint64_t now_ns)
{
	if (r->state != MULTI_RUNNING || r->reaped)
		return;
	if (!r->answered || (r->ask && start_asking(r))) {
		set_why(r, r->answered ? "ended without results, which could not be asked for" :
					 "had not answered when the run was ended");
		end_launcher(m, r, now_ns);
		return;
	}
	close_fd(&r->child.write_fd);
	r->state = MULTI_ASKED;
	r->deadline_ns = now_ns + m->line.grace_ns;
	/* The time for its end begins once it was asked: reap_asking(). */
	if (r->ask)
		r->deadline_ns = m->line.timeout_ns ? now_ns + m->line.timeout_ns : UINT64_MAX;
}

static void start_rank(struct multi *m, struct multi_rank *r)
{
	const struct multi_launcher *l = m->launcher;
	/* A signal to the group of this process must not end it: the results come by it. */
	unsigned flags = CHILD_ERRORS | CHILD_OWN_GROUP |
			 (l->end_signal == SIGINT ? CHILD_END_SIGINT : 0);
	int err = child_start(&r->child, r->words, flags);

	r->sign_ns = clock_kernel_ns();
	r->deadline_ns = UINT64_MAX;
	r->state = err ? MULTI_ENDED : MULTI_RUNNING;
	if (!err)
		return;
	r->child = (struct child){ .pid = -1, .read_fd = -1, .write_fd = -1, .error_fd = -1 };
	r->reaped = true;
	r->status = -1;
	snprintf(r->why, sizeof(r->why), "cannot start \"%.128s\" (%s)", r->words[0],
		 strerror(-err));
}

/* ---- output ---- */

/* A document of xdd has its format first, perhaps after blanks. */
#define DOCUMENT_WORD "\"format\""

/*
 * The begin of the document in output that a login script may have begun; `n`: none so far. Where
 * the last bytes may be a part of it, it is their place.
 */
static size_t find_document(const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *open = memchr(bytes + i, '{', n - i);
		size_t word, left;

		if (!open)
			return n;
		i = (size_t)(open - bytes);
		for (word = i + 1; word < n && strchr(" \t\r\n", bytes[word]) && bytes[word];)
			word++;
		left = n - word < strlen(DOCUMENT_WORD) ? n - word : strlen(DOCUMENT_WORD);
		if (memcmp(bytes + word, DOCUMENT_WORD, left) == 0)
			return i;
	}
	return n;
}

/*
 * True if the bytes may be the beginning of a document. A login script may print before it: that
 * much is left out, as in xddcp.
 */
static bool may_be_document(struct multi_rank *r)
{
	const size_t at = find_document(r->document, r->document_bytes);

	r->noise_bytes += at;
	r->document_bytes -= at;
	memmove(r->document, r->document + at, r->document_bytes);
	return r->noise_bytes <= MULTI_MAX_NOISE;
}

static void take_document(const struct multi *m, struct multi_rank *r, const char *bytes, size_t n)
{
	size_t room = r->document_room ? r->document_room : READ_BYTES;
	char *more;

	while (room < r->document_bytes + n)
		room *= 2;
	more = r->document;
	if (room > MULTI_DOCUMENT_MAX_BYTES)
		more = NULL;
	else if (room != r->document_room)
		more = realloc(r->document, room);
	if (!more) {
		set_why(r, "sent a document that is too large");
		end_launcher(m, r, clock_kernel_ns());
		return;
	}
	r->document = more;
	r->document_room = room;
	memcpy(r->document + r->document_bytes, bytes, n);
	r->document_bytes += n;
	/* Nothing else is kept, and nothing else is a sign of life. */
	if (may_be_document(r)) {
		if (r->document_bytes)
			r->sign_ns = clock_kernel_ns();
		return;
	}
	set_why(r, MULTI_NOISE_TEXT ", more than 64 KiB; login scripts must print less");
	end_launcher(m, r, clock_kernel_ns());
}

static void take_output(struct loop *l, struct multi_rank *r, bool errors)
{
	int *fd = errors ? &r->child.error_fd : &r->child.read_fd;
	ssize_t n = read(*fd, l->bytes, READ_BYTES);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (errors)
		multi_messages_take(l->m, r, l->bytes, n > 0 ? (size_t)n : 0);
	else if (n > 0 && r->state != MULTI_KILLED)
		take_document(l->m, r, l->bytes, (size_t)n);
	if (n <= 0)
		close_fd(fd);
}

/* ---- time ---- */

static void check_silence(const struct multi *m, struct multi_rank *r, uint64_t now_ns)
{
	char text[MULTI_WHY_BYTES];

	if (r->state != MULTI_RUNNING || !m->line.timeout_ns ||
	    now_ns < r->sign_ns + m->line.timeout_ns)
		return;
	snprintf(text, sizeof(text),
		 r->answered ? "gave no sign of life for %.3g s" : "did not answer within %.3g s",
		 (double)m->line.timeout_ns / NS_PER_SEC);
	set_why(r, text);
	ask_end(m, r, now_ns);
}

static void check_end(const struct multi *m, struct multi_rank *r, uint64_t now_ns)
{
	bool open = r->child.read_fd >= 0 || r->child.error_fd >= 0;

	if (r->reaped && open && r->deadline_ns == UINT64_MAX)
		r->deadline_ns = now_ns + REST_NS;
	if (r->reaped && (!open || now_ns >= r->deadline_ns)) {
		close_fd(&r->child.read_fd);
		close_fd(&r->child.error_fd);
		close_fd(&r->child.write_fd);
		multi_messages_take((struct multi *)(uintptr_t)m, r, NULL, 0);
		r->state = MULTI_ENDED;
	} else if (!r->reaped && now_ns >= r->deadline_ns) {
		set_why(r, "did not end when it was asked to");
		end_launcher(m, r, now_ns);
	}
}

/* Returns how long this process did not work since it looked last, and looks. */
static uint64_t multi_look(struct loop *l, uint64_t now_ns)
{
	const uint64_t gap_ns = now_ns - l->looked_ns;
	struct cpu_time cpu;
	uint64_t worked_ns;

	clock_thread_cpu(&cpu);
	worked_ns = cpu.user_ns + cpu.sys_ns - l->worked_ns;
	l->looked_ns = now_ns;
	l->worked_ns += worked_ns;
	return gap_ns > worked_ns ? gap_ns - worked_ns : 0;
}

/*
 * Where this process was stopped, or the machine stood still, the ranks could not be heard, or
 * stood still as well: no limit counts that time. Much output of one rank is no reason to wait
 * longer for the others.
 */
static void skip_stop(struct loop *l, uint64_t now_ns)
{
	const uint64_t gap_ns = multi_look(l, now_ns);

	if (gap_ns < 2 * LOOK_NS)
		return;
	for (size_t i = 0; i < l->m->n; i++) {
		struct multi_rank *r = &l->m->ranks[i];

		r->sign_ns = ns_earlier(r->sign_ns + gap_ns, now_ns);
		if (r->deadline_ns != UINT64_MAX)
			r->deadline_ns += gap_ns;
	}
}

/* Returns when something is due next. */
static uint64_t check_times(struct loop *l, uint64_t now_ns)
{
	uint64_t next_ns = ns_earlier(multi_show(l->m, now_ns), now_ns + LOOK_NS);

	skip_stop(l, now_ns);
	for (size_t i = 0; i < l->m->n; i++) {
		struct multi_rank *r = &l->m->ranks[i];

		if (r->state == MULTI_ENDED)
			continue;
		check_silence(l->m, r, now_ns);
		check_end(l->m, r, now_ns);
		next_ns = ns_earlier(next_ns, r->deadline_ns);
		if (r->state == MULTI_RUNNING && l->m->line.timeout_ns)
			next_ns = ns_earlier(next_ns, r->sign_ns + l->m->line.timeout_ns);
	}
	return next_ns;
}

/* ---- signals ---- */

static void interrupt(struct loop *l, int sig)
{
	struct multi *m = l->m;
	uint64_t now_ns = clock_kernel_ns();

	if (m->interrupted && now_ns < m->interrupted_ns + SAME_SIGNAL_NS)
		return;
	if (!m->interrupted)
		log_notice("multi: signal %d, SIG%s: the run ends on all hosts; once more ends at "
			   "once",
			   sig, sigabbrev_np(sig));
	for (size_t i = 0; i < m->n; i++) {
		struct multi_rank *r = &m->ranks[i];

		if (r->state == MULTI_IDLE || r->state == MULTI_ENDED)
			continue;
		if (!m->interrupted)
			ask_end(m, r, now_ns);
		else
			end_launcher(m, r, now_ns);
	}
	m->interrupted = sig;
	m->interrupted_ns = now_ns;
}

/* True if the launcher has ended; what a killed one has started ends as well. */
static bool has_ended(const struct multi_rank *r, int *status)
{
	siginfo_t info = { .si_pid = 0 };

	/* Its process keeps its number, which is also the group's, until it is reaped. */
	if (waitid(P_PID, (id_t)r->child.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    !info.si_pid)
		return false;
	if (!info.si_pid) {
		/* After an error nothing more can be known of it. */
		*status = 0;
		return errno != EINTR;
	}
	if (info.si_code != CLD_EXITED)
		kill(-r->child.pid, SIGTERM);
	return waitpid(r->child.pid, status, 0) == r->child.pid;
}

/*
 * A rank whose end could not be asked for has little time for an end of its own. Where pkill has
 * found no xdd, it has ended, and its results are on the way.
 */
static void reap_asking(const struct multi *m, struct multi_rank *r)
{
	int status;
	bool asked;

	if (r->asking.pid <= 0 || waitpid(r->asking.pid, &status, WNOHANG) != r->asking.pid)
		return;
	asking_ended(r);
	asked = WIFEXITED(status) && WEXITSTATUS(status) <= PKILL_NONE;
	if (r->state == MULTI_ASKED && !r->reaped)
		r->deadline_ns = clock_kernel_ns() + (asked ? m->line.grace_ns : KILL_NS);
}

static void reap(struct multi *m)
{
	for (size_t i = 0; i < m->n; i++) {
		struct multi_rank *r = &m->ranks[i];
		int status;

		reap_asking(m, r);
		if (r->state == MULTI_IDLE || r->reaped || !has_ended(r, &status))
			continue;
		r->reaped = true;
		r->status = child_status(status);
		r->deadline_ns = UINT64_MAX;
	}
}

static void take_signals(struct loop *l)
{
	struct signalfd_siginfo info;

	while (read(l->m->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			reap(l->m);
		else
			interrupt(l, (int)info.ssi_signo);
	}
}

/* ---- the loop ---- */

static bool is_over(const struct multi *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->ranks[i].state != MULTI_ENDED)
			return false;
	return true;
}

static int wait_ms(uint64_t now_ns, uint64_t until_ns)
{
	return until_ns > now_ns ? (int)((until_ns - now_ns) / NS_PER_MS + 1) : 0;
}

static void wait_once(struct loop *l)
{
	struct multi *m = l->m;
	uint64_t now_ns = clock_kernel_ns(), until_ns = check_times(l, now_ns);

	l->fds[0] = (struct pollfd){ .fd = m->signal_fd, .events = POLLIN };
	for (size_t i = 0; i < m->n; i++) {
		const struct child *c = &m->ranks[i].child;
		bool ended = m->ranks[i].state == MULTI_ENDED;

		l->fds[1 + 2 * i] = (struct pollfd){ ended ? -1 : c->read_fd, POLLIN, 0 };
		l->fds[2 + 2 * i] = (struct pollfd){ ended ? -1 : c->error_fd, POLLIN, 0 };
	}
	if (is_over(m) || poll(l->fds, 1 + 2 * m->n, wait_ms(now_ns, until_ns)) <= 0)
		return;
	for (size_t i = 0; i < m->n; i++) {
		if (l->fds[1 + 2 * i].revents)
			take_output(l, &m->ranks[i], false);
		if (l->fds[2 + 2 * i].revents)
			take_output(l, &m->ranks[i], true);
	}
	if (l->fds[0].revents)
		take_signals(l);
}

/* Signals come while ranks are started as well. */
static void multi_run_all(struct loop *l)
{
	struct multi *m = l->m;

	for (size_t i = 0; i < m->n; i++) {
		if (m->interrupted) {
			m->ranks[i].state = MULTI_ENDED;
			set_why(&m->ranks[i], "was not started");
			continue;
		}
		start_rank(m, &m->ranks[i]);
		take_signals(l);
	}
	multi_look(l, clock_kernel_ns());
	while (!is_over(m))
		wait_once(l);
	for (size_t i = 0; i < m->n; i++) {
		struct multi_rank *r = &m->ranks[i];

		if (r->asking.pid <= 0)
			continue;
		kill(-r->asking.pid, SIGINT);
		child_wait(r->asking.pid, KILL_NS);
		asking_ended(r);
	}
	log_transient(NULL);
}

/* ---- set-up ---- */

/* Three pipes for each rank, two for a command that asks for its end, and a file of -out. */
static enum xdd_status raise_limit(size_t n)
{
	const uint64_t needed = n * 6 + SPARE_FDS;
	uint64_t limit;

	if (fileopen_make_room(needed, &limit))
		return XDD_OK;
	return log_fail(XDD_INIT_FAILED,
			"multi: %zu ranks need %" PRIu64 " open files, and the limit is %" PRIu64
			" (ulimit -n)",
			n, needed, limit);
}

enum xdd_status multi_signals(struct multi *m)
{
	static const int taken[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		struct sigaction old;

		/* nohup makes the process ignore it on purpose. */
		if (taken[i] == SIGHUP && sigaction(SIGHUP, NULL, &old) == 0 &&
		    old.sa_handler == SIG_IGN)
			continue;
		sigaddset(&set, taken[i]);
	}
	sigprocmask(SIG_BLOCK, &set, NULL);
	m->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (m->signal_fd >= 0)
		return XDD_OK;
	return log_fail(XDD_INIT_FAILED, "multi: %s", strerror(errno));
}

enum xdd_status multi_run(struct multi *m)
{
	struct loop l = { .m = m };
	enum xdd_status status = raise_limit(m->n);

	if (status)
		return status;
	l.fds = xarena_alloc(m->arena, (1 + 2 * m->n) * sizeof(*l.fds));
	l.bytes = xarena_alloc(m->arena, READ_BYTES);
	m->shown_ns = clock_kernel_ns();
	multi_run_all(&l);
	return XDD_OK;
}
