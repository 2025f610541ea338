/*
 * Data threads: one for each data connection.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "copy/source/large.h"
#include "copy/source/small.h"
#include "copy/source/work.h"
#include "xdd/sys/clock.h"

void stamp_sent(struct data_thread *d, uint64_t begin_ns, uint64_t offset_bytes, uint64_t bytes)
{
	d->stamp.offset_bytes = offset_bytes;
	d->stamp.bytes = (uint32_t)bytes;
	d->stamp.network_begin_ns = begin_ns;
	d->stamp.network_end_ns = stamps_now(d->s->stamps);
	stamps_add(d->s->stamps, d->number, &d->stamp);
	d->stamp = (struct stamp){ 0 };
}

static int do_work(struct data_thread *d, struct held_dir *held, const struct work *w)
{
	int err;

	switch (w->kind) {
	case WORK_SMALL:
		return small_answer(d, held, w->entries);
	case WORK_OPEN:
		err = large_answer(d, held, w->entries);
		source_let_go(held);
		return err;
	case WORK_BLOCKS:
		return large_help(d, w->file);
	default:
		return 0;
	}
}

void *data_thread(void *data)
{
	struct held_dir held = { .self = geteuid(), .fd = -1 };
	struct data_thread *d = data;
	struct work w;
	int err = 0;

	for (;;) {
		work_take(d, &w);
		if (w.kind == WORK_NONE)
			break;
		err = do_work(d, &held, &w);
		work_done(d->s);
		if (err)
			break;
	}
	/* It waits a moment for the cause. The others go on, or fail as well. */
	if (err && !atomic_load(&d->s->closing))
		role_link_failed(d->s->role, d->number, err, NULL);
	source_thread_ends(d->s);
	return NULL;
}

void source_errno_text(char *text, size_t size, const char *what, int err)
{
	snprintf(text, size, "%s (%s)", what, strerror(-err));
}

void source_entry_failed(struct source *s, const struct entry *e, const char *text)
{
	char path[COPY_MAX_PATH_BYTES];

	if (atomic_load(&s->closing))
		return;
	dirs_path(e->dirs, e->dir, e->name, path, sizeof(path));
	role_fail(s->role, e->id, COPY_FAILED, path, "%s", text);
}
