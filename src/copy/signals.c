/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SIGINT, SIGTERM and SIGHUP in a copy; see role.h. Called by copy.c, attempt.c, server.c and
 * role.c.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "copy/role.h"
#include "xdd/base/log.h"
#include "xdd/base/output.h"
#include "xdd/base/units.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/clock.h"

struct copy_signals {
	struct signal_thread thread;
	bool server; /* const: it prints nothing */
	pthread_mutex_t lock;
	pthread_cond_t came;
	/* guarded by lock */
	struct stop *stop; /* NULL: none */
	copy_signals_cut *cut;
	void *arg;
	int sig; /* the first one; 0: none */
	bool late;
};

/* s->lock is held, so what is attached stays. */
static void signals_act(struct copy_signals *s)
{
	if (s->stop)
		stop_request(s->stop, STOP_SIGNAL, s->sig);
	if (s->cut && (!s->stop || s->late))
		s->cut(s->arg);
}

static void take_first(void *arg, int sig)
{
	struct copy_signals *s = arg;

	outwait_end();
	if (!s->server)
		log_notice("signal %d, SIG%s: the copy ends; once more ends at once", sig,
			   sigabbrev_np(sig));
	pthread_mutex_lock(&s->lock);
	s->sig = sig;
	pthread_cond_broadcast(&s->came);
	signals_act(s);
	pthread_mutex_unlock(&s->lock);
}

static void take_late(void *arg)
{
	struct copy_signals *s = arg;

	pthread_mutex_lock(&s->lock);
	s->late = true;
	signals_act(s);
	pthread_mutex_unlock(&s->lock);
}

int copy_signals_start(struct copy_signals **s_out, bool server)
{
	struct copy_signals *s = calloc(1, sizeof(*s));
	int err;

	*s_out = NULL;
	if (!s)
		return -ENOMEM;
	s->thread = (struct signal_thread){ .first = take_first,
					    .late = take_late,
					    .late_ns = COPY_SIGNAL_GRACE_NS,
					    .keep_ignored = server,
					    .arg = s };
	s->server = server;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->came, NULL);
	err = signal_thread_start(&s->thread);
	if (err) {
		pthread_cond_destroy(&s->came);
		pthread_mutex_destroy(&s->lock);
		free(s);
		return err;
	}
	*s_out = s;
	return 0;
}

void copy_signals_attach(struct copy_signals *s, struct stop *stop, copy_signals_cut *cut,
			 void *arg)
{
	pthread_mutex_lock(&s->lock);
	s->stop = stop;
	s->cut = cut;
	s->arg = arg;
	if (s->sig)
		signals_act(s);
	pthread_mutex_unlock(&s->lock);
}

void copy_signals_detach(struct copy_signals *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = NULL;
	s->cut = NULL;
	pthread_mutex_unlock(&s->lock);
}

int copy_signals_await(struct copy_signals *s, uint64_t wait_ns)
{
	const uint64_t until_ns = clock_kernel_ns() + wait_ns;
	int sig;

	if (!s)
		return 0;
	pthread_mutex_lock(&s->lock);
	while (!s->sig && wait_ns && cond_wait(&s->came, &s->lock, until_ns) == 0)
		;
	sig = s->sig;
	pthread_mutex_unlock(&s->lock);
	return sig;
}

void copy_signals_end(struct copy_signals *s)
{
	if (!s)
		return;
	signal_thread_end(&s->thread);
	pthread_cond_destroy(&s->came);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
