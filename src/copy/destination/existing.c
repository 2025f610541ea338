/*
 * Offered files beside what the destination has under their names: the same, to be compared by
 * digests, to be copied, or in the way. Called by entries.c.
 */
#include "copy/destination/entries.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy/destination/file.h"
#include "copy/destination/inplace.h"
#include "copy/destination/links.h"
#include "copy/destination/sums.h"
#include "copy/tree/identity.h"

/* An offered file. */
struct offer {
	struct level *level;
	const struct copy_entry *e;
	uint32_t cost_bytes;
	bool exists;
	struct stat st;		      /* if it exists */
	struct inplace_file *inplace; /* -i, and it has several names */
};

/* A file that needs no more messages. */
static int end_at_once(struct destination *d, const struct offer *o, enum copy_outcome outcome)
{
	file_count(d, o->e, outcome);
	dest_result(d, o->e->id, 0, outcome);
	if (o->e->flags & COPY_HAS_LINKS)
		links_file_ended(d, o->e->id, outcome);
	return 0;
}

static bool is_same_size(const struct offer *o)
{
	return o->exists && S_ISREG(o->st.st_mode) && (uint64_t)o->st.st_size == o->e->size_bytes;
}

/* The time of a device is not that of its contents. */
static bool is_same_time(const struct offer *o)
{
	return !(o->e->flags & COPY_DEVICE) && meta_same_time(&o->st.st_mtim, o->e->mtime_ns);
}

/* Pipes and character devices, which have no identity, are read only once, from their begin. */
static bool can_read_again(const struct copy_entry *e)
{
	return !(e->flags & COPY_DEVICE) || e->identity;
}

/* True: -c is to compare it. */
static bool compares_contents(const struct destination *d, const struct copy_entry *e)
{
	return d->settings->compare_contents && can_read_again(e);
}

/* ---- what must come from the source ---- */

/* A file that exists keeps its permissions, without bits that would give rights of its owner. */
static mode_t mode_of(struct destination *d, const struct offer *o)
{
	if (d->settings->everything || !o->level->node)
		return o->e->mode;
	if (o->exists && S_ISREG(o->st.st_mode))
		return o->st.st_mode & 0777;
	return o->e->mode & entries_mask(d, o->level);
}

static struct item *new_item(struct destination *d, const struct offer *o)
{
	struct item *i = entries_item(d, o->level, o->e, o->cost_bytes);

	if (!i)
		return NULL;
	i->exists = o->exists && S_ISREG(o->st.st_mode);
	i->file.mode = mode_of(d, o);
	i->inplace = o->inplace;
	return i;
}

static int add(struct destination *d, struct item *i, enum item_state state, char *why)
{
	i->state = state;
	if (!items_add(&d->items, i))
		return 0;
	file_forget(d, i);
	return dest_violation(why, "more files than fit into the window");
}

static int want_sums(struct destination *d, const struct offer *o, char *why)
{
	const struct copy_want want = { .id = o->e->id, .how = COPY_SUMS };
	struct item *i;
	int err;

	if (items_open(&d->items, o->cost_bytes))
		return dest_violation(why, "more than fits into the window");
	i = new_item(d, o);
	if (!i)
		return -ENOMEM;
	err = add(d, i, ITEM_SUMS, why);
	if (!err)
		answers_want(&d->answers, &want);
	return err;
}

/*
 * Bytes that an interrupted copy has of it need not come again: with -trust, or once their digests
 * are those of the source, which `want` then asks for. Returns 1 if all are there; 0 with `want`,
 * whose ranges are then to be freed; or -errno.
 */
static int resume(struct destination *d, struct item *i, struct copy_want *want,
		  struct extent **ranges)
{
	struct extents durable;
	int err;

	extents_init(&durable, 0);
	err = commit_resume(d->commit, &i->file, &durable);
	if (err == 1) {
		i->resumed = true;
		err = d->settings->trust ? sums_keep(d, i, &durable, want, ranges) :
					   sums_prove(i, &durable, want, ranges);
	}
	extents_clear(&durable);
	return err;
}

static int want_contents(struct destination *d, const struct offer *o, char *why)
{
	struct copy_want want = { .id = o->e->id, .how = COPY_SEND };
	struct extent *ranges = NULL;
	struct item *i;
	int err = 0;

	if (items_open(&d->items, o->cost_bytes))
		return dest_violation(why, "more than fits into the window");
	i = new_item(d, o);
	if (!i)
		return -ENOMEM;
	if (d->settings->resume && d->commit && !d->settings->in_place && can_read_again(o->e))
		err = resume(d, i, &want, &ranges);
	if (err == 1) {
		file_complete(d, i);
		err = 0;
	} else if (err < 0) {
		file_failed(d, i, "continue", err);
		err = 0;
	} else {
		err = add(d, i, want.how == COPY_SUMS ? ITEM_SUMS : ITEM_SEND, why);
		if (!err)
			answers_want(&d->answers, &want);
	}
	free(ranges);
	return err;
}

/* ---- decisions ---- */

static int differs(struct destination *d, const struct offer *o, const char *text)
{
	dest_differs(d, o->e->id, o->level->node, o->e->name, "%s", text);
	return end_at_once(d, o, COPY_DIFFERS);
}

/* Files of the same size that have contents are compared by digests, the others here. */
static int verify(struct destination *d, const struct offer *o, char *why)
{
	const struct copy_entry *e = o->e;
	char text[WIRE_MAX_TEXT_BYTES] = "";
	int err;

	if (!o->exists)
		return differs(d, o, "does not exist");
	if (!S_ISREG(o->st.st_mode))
		return differs(d, o, "is not a regular file");
	if (is_same_size(o) && e->size_bytes)
		return want_sums(d, o, why);
	if (!is_same_size(o))
		snprintf(text, sizeof(text), "has %" PRIu64 " bytes, not %" PRIu64,
			 (uint64_t)o->st.st_size, e->size_bytes);
	err = file_compare(d, o->level->node, e, -1, text);
	if (*text)
		return differs(d, o, text);
	if (!err)
		return end_at_once(d, o, COPY_EQUAL);
	dest_failed(d, e->id, o->level->node, e->name, "open", err);
	return end_at_once(d, o, COPY_LOST);
}

static int in_the_way(struct destination *d, const struct offer *o)
{
	dest_failed_text(d, o->e->id, o->level->node, o->e->name,
			 "cannot be replaced, as it is a directory there");
	return end_at_once(d, o, COPY_LOST);
}

/* True if `st` is the offered file, by the same name or another one. */
static bool is_itself(const struct destination *d, const struct copy_entry *e,
		      const struct stat *st)
{
	return e->identity && e->identity == identity_of_file(d->host, st);
}

/* The source that a user named, at the top; NULL: the file was found in a tree or a list. */
static const char *named_source(const struct destination *d, const struct offer *o)
{
	const struct copy_job *job = d->job;

	if (o->level->id || !job->top_names)
		return NULL;
	for (size_t i = 0; i < job->n_top_names; i++) {
		if (!strcmp(job->top_names[i], o->e->name))
			return job->sources[i];
	}
	return job->n_sources == 1 ? job->sources[0] : NULL;
}

/* Nothing of it is to be opened: writing in place would cut the source. */
static int itself(struct destination *d, const struct offer *o)
{
	const char *source = named_source(d, o);
	char path[COPY_MAX_PATH_BYTES];

	dest_path(d, o->level->node, o->e->name, path);
	if (source) {
		role_fail(d->role, o->e->id, COPY_FAILED, path,
			  "is the same file as the source %.512s; expected another file", source);
		return end_at_once(d, o, COPY_LOST);
	}
	role_fail(d->role, o->e->id, 0, path, "is the same file as its source, and was skipped");
	return end_at_once(d, o, COPY_SAME);
}

static int is_there(struct destination *d, const struct offer *o)
{
	if (!d->settings->dry_run)
		file_correct(d, o->level->node, o->e, &o->st);
	return end_at_once(d, o, COPY_SAME);
}

/* Other offers for the file may come, or have come. Returns 0 or -ENOMEM. */
static int note_names(struct destination *d, struct offer *o)
{
	char path[COPY_MAX_PATH_BYTES];

	if (!d->inplace || !o->exists || !S_ISREG(o->st.st_mode) || o->st.st_nlink < 2)
		return 0;
	o->inplace = inplace_offer(d->inplace, &o->st, o->e->id,
				   dest_path(d, o->level->node, o->e->name, path));
	return o->inplace ? 0 : -ENOMEM;
}

static bool is_refused(struct destination *d, const struct offer *o, bool writes)
{
	return file_refused(d, o->inplace, o->level->node, o->e, writes);
}

static int decide(struct destination *d, struct offer *o, char *why)
{
	bool same = is_same_size(o), contents = compares_contents(d, o->e);

	if (d->settings->verify)
		return verify(d, o, why);
	if (o->exists && S_ISDIR(o->st.st_mode))
		return in_the_way(d, o);
	if (o->exists && is_itself(d, o->e, &o->st))
		return itself(d, o);
	if (note_names(d, o))
		return -ENOMEM;
	if (is_refused(d, o, false))
		return end_at_once(d, o, COPY_LOST);
	if (same && (contents ? !o->e->size_bytes : is_same_time(o)))
		return is_there(d, o);
	if (same && contents)
		return want_sums(d, o, why);
	if (is_refused(d, o, true))
		return end_at_once(d, o, COPY_LOST);
	if (d->settings->dry_run)
		return end_at_once(d, o, COPY_WOULD);
	return want_contents(d, o, why);
}

static int offer_device(struct destination *d, struct offer *o, char *why)
{
	bool verify = d->settings->verify;

	if (!verify && !fstat(d->root.device, &o->st) && is_itself(d, o->e, &o->st))
		return itself(d, o);
	if (d->root.block && o->e->size_bytes && compares_contents(d, o->e))
		return want_sums(d, o, why);
	if (d->settings->dry_run)
		return end_at_once(d, o, COPY_WOULD);
	if (verify)
		return o->e->size_bytes ? want_sums(d, o, why) : end_at_once(d, o, COPY_EQUAL);
	return want_contents(d, o, why);
}

int existing_offer(struct destination *d, struct level *level, const struct copy_entry *e,
		   uint32_t cost_bytes, char *why)
{
	struct offer o = { .level = level, .e = e, .cost_bytes = cost_bytes };
	int err = 0;

	if (d->root.device >= 0)
		return offer_device(d, &o, why);
	if (e->flags & COPY_HAS_LINKS)
		err = links_expect(d, level->node, e->name, e, false, why);
	if (err)
		return err;
	o.exists = !level->fresh && !fstatat(level->fd, e->name, &o.st, AT_SYMLINK_NOFOLLOW);
	if (!o.exists && !level->fresh && errno != ENOENT) {
		dest_failed(d, e->id, level->node, e->name, "look at", -errno);
		return end_at_once(d, &o, COPY_LOST);
	}
	return decide(d, &o, why);
}
