/*
 * The beginning of a copy with -restart: the restart file is read, and compared with the plans of
 * both sides. Called by the target thread; restart_monitor.c continues.
 */
#include "run/endtoend/restart.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "run/endtoend/restart_state.h"
#include "xdd/base/log.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/io/access.h"

#define NAME_PART_MAX 50 /* of the default name: hosts and files */
#define PATTERN_SAMPLES 1024u

/* ---- patterns ---- */

/* The offset of operation `n` from the start of the extent. */
typedef uint64_t offset_of(const void *arg, uint64_t n);

/* Operations with numbers that are spread evenly, also over the first and the last ones. */
static uint64_t pattern_hash(uint64_t ops, offset_of *offset, const void *arg)
{
	uint64_t offsets[PATTERN_SAMPLES], n = 0, third = PATTERN_SAMPLES / 3;

	if (ops <= PATTERN_SAMPLES) {
		for (; n < ops; n++)
			offsets[n] = offset(arg, n);
		return digest_short(offsets, n * sizeof(offsets[0]));
	}
	for (uint64_t i = 0; i < third; i++) {
		offsets[n++] = offset(arg, i);
		offsets[n++] = offset(arg, ops - 1 - i);
		offsets[n++] = offset(arg, ops / third * i + random_splitmix64(i) % (ops / third));
	}
	return digest_short(offsets, n * sizeof(offsets[0]));
}

static uint64_t offset_of_access(const void *arg, uint64_t n)
{
	const struct access *a = arg;
	struct access_op op;

	access_op(a, n, &op);
	return op.offset - a->base;
}

static uint64_t offset_of_sequence(const void *arg, uint64_t n)
{
	return *(const uint64_t *)arg * n;
}

uint64_t restart_pattern(const struct target_plan *t)
{
	struct access a;

	if (t->pass_ops == PLAN_UNLIMITED)
		return 0;
	access_init(&a, t, 1);
	return pattern_hash(t->pass_ops, offset_of_access, &a);
}

static bool is_sequential(const struct wire_plan *peer)
{
	return peer->pattern == pattern_hash(peer->ops, offset_of_sequence, &peer->req_bytes);
}

/* ---- identity ---- */

static int64_t time_ns(const struct statx_timestamp *t)
{
	return t->tv_sec * (int64_t)NS_PER_SEC + t->tv_nsec;
}

int restart_look_at(struct restart_record *rec, int fd, const char *path)
{
	struct statx st;

	if (statx(fd, path, *path ? 0 : AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st))
		return -errno;
	rec->destination_inode = st.stx_ino;
	if (!S_ISREG(st.stx_mode)) {
		/* A device has no size here, and its node is made again at every start. */
		rec->destination_device = makedev(st.stx_rdev_major, st.stx_rdev_minor);
		rec->destination_inode = 0;
		rec->destination_size_bytes = WIRE_NO_SIZE;
		rec->destination_mtime_ns = rec->destination_birth_ns = 0;
		return 0;
	}
	rec->destination_device = makedev(st.stx_dev_major, st.stx_dev_minor);
	rec->destination_size_bytes = st.stx_size;
	rec->destination_mtime_ns = time_ns(&st.stx_mtime);
	rec->destination_birth_ns = st.stx_mask & STATX_BTIME ? time_ns(&st.stx_btime) : 0;
	return 0;
}

/* The part of the record that names the copy. */
static void describe(const struct restart *r, struct restart_record *rec,
		     const struct wire_plan *own, const struct wire_plan *peer)
{
	const uint64_t back = r->skipped_ops * peer->req_bytes;

	memcpy(rec->run, peer->run, sizeof(rec->run));
	snprintf(rec->source_host, sizeof(rec->source_host), "%s", peer->host);
	snprintf(rec->source_name, sizeof(rec->source_name), "%s", peer->name);
	rec->source_size_bytes = peer->size_bytes;
	rec->source_mtime_ns = peer->mtime_ns;
	rec->source_ctime_ns = peer->ctime_ns;
	rec->source_device = peer->device;
	rec->source_inode = peer->inode;
	rec->source_start_bytes = peer->start_bytes - back;
	snprintf(rec->destination_host, sizeof(rec->destination_host), "%s", own->host);
	snprintf(rec->destination_name, sizeof(rec->destination_name), "%s", own->name);
	rec->destination_start_bytes = own->start_bytes - back;
	rec->req_bytes = peer->req_bytes;
	rec->bytes = peer->bytes + back;
	rec->ops = peer->ops + r->skipped_ops;
	/* The hash depends on the number of operations, which -restart offset changes. */
	rec->pattern = is_sequential(peer) ? 0 : peer->pattern ? peer->pattern : 1;
}

/* ---- the name of the restart file ---- */

/* Append a dot and `part`, which may be text of the other side. */
static void add_part(char *name, size_t size, const char *part)
{
	size_t n = strlen(name), end = n + NAME_PART_MAX;

	if (!*part)
		part = "NA";
	if (n + 1 < size)
		name[n++] = '.';
	for (; *part && n <= end && n + 1 < size; part++)
		name[n++] = (unsigned char)*part <= ' ' || strchr("/%\x7f", *part) ? '_' : *part;
	name[n] = '\0';
}

/* xdd.SRCHOST.SRCBASE.DSTHOST.DSTBASE.YYYY-MM-DD-hhmm-GMT.rst in the current directory. */
static char *default_path(const struct wire_plan *own, const struct wire_plan *peer)
{
	char name[5 * (NAME_PART_MAX + 2)] = "xdd", date[32];
	time_t now = time(NULL);
	struct tm tm;

	add_part(name, sizeof(name), peer->host);
	add_part(name, sizeof(name), path_last(peer->name));
	add_part(name, sizeof(name), own->host);
	add_part(name, sizeof(name), path_last(own->name));
	strftime(date, sizeof(date), "%Y-%m-%d-%H%M-GMT", gmtime_r(&now, &tm));
	add_part(name, sizeof(name), date);
	add_part(name, sizeof(name), "rst");
	return strdup(name);
}

/* ---- opening ---- */

static int refuse(const struct restart *r, char *why, size_t size, const char *problem)
{
	snprintf(why, size,
		 "restart file %s: %s; to copy everything, remove it or name another with -restart "
		 "file",
		 r->path, problem);
	return -EINVAL;
}

/* Read the restart file, if there is one. Returns 0 or -errno, with a text in `why`. */
static int read_record(struct restart *r, char *why, size_t size)
{
	char problem[RESTART_WHY_SIZE];
	int err = restart_record_read(r->path, &r->record, problem, sizeof(problem));

	if (err == -ENOENT)
		return 0;
	if (err)
		return refuse(r, why, size, problem);
	r->resumes = true;
	return 0;
}

int restart_open(struct restart **out, const struct target_plan *t, char *why, size_t size)
{
	struct restart *r;
	int err = 0;

	*out = NULL;
	if (!t->restart.enabled || t->endtoend.role != E2E_DESTINATION)
		return 0;
	r = calloc(1, sizeof(*r));
	if (!r) {
		snprintf(why, size, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	r->plan = t;
	r->fd = -1;
	restart_record_init(&r->record);
	extents_init(&r->written, RESTART_MAX_RANGES);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	*out = r;
	if (!t->restart.file)
		return 0;
	r->path = strdup(t->restart.file);
	if (r->path)
		return read_record(r, why, size);
	err = -ENOMEM;
	snprintf(why, size, "%s", strerror(-err));
	return err;
}

void restart_free(struct restart *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	restart_record_free(&r->record);
	extents_clear(&r->written);
	free(r->path);
	free(r);
}

/* ---- answering the source ---- */

/* -restart offset leaves out the same part on both sides. */
static int check_offset(const struct wire_plan *own, const struct wire_plan *peer, char *why,
			size_t size)
{
	if (own->skipped_bytes == peer->skipped_bytes)
		return 0;
	snprintf(why, size,
		 "the source leaves out %" PRIu64 " bytes, the destination %" PRIu64
		 ": give both the same -restart offset",
		 peer->skipped_bytes, own->skipped_bytes);
	return -EINVAL;
}

/* The first part of what a record has, which the user vouches for. */
static int add_skipped(struct restart *r, const struct wire_plan *own, const struct wire_plan *peer)
{
	r->skipped_ops = r->skipped_bytes = 0;
	if (own->skipped_bytes % peer->req_bytes == 0)
		r->skipped_ops = own->skipped_bytes / peer->req_bytes;
	else
		r->skipped_bytes = own->skipped_bytes;
	r->end_bytes = r->skipped_ops * peer->req_bytes;
	return extents_add(&r->written, 0, r->skipped_ops);
}

/*
 * Compare the record that was read with this copy. Returns 1: it is of this copy; 0: of another one
 * that is complete or of which nothing is durable, so that nothing is lost; or -errno with a text
 * in `why`.
 */
static int compare(struct restart *r, const struct restart_record *now, int found, char *why,
		   size_t size)
{
	const struct restart_record *old = &r->record;
	char problem[RESTART_WHY_SIZE];
	bool same = !found && restart_record_matches(old, now, problem, sizeof(problem));

	if (old->complete && !(same && restart_record_unchanged(old, now)))
		return 0;
	/* The time of the last change of any kind is not in it. */
	if (same && old->version < RESTART_VERSION && r->plan->restart.trust)
		return refuse(r, why, size,
			      "is of an earlier version, which does not name the source exactly: "
			      "leave -restart trust out");
	if (same)
		return 1;
	/* A run that could not start removes the file that it created. */
	if (!old->durable.total)
		return 0;
	if (found)
		snprintf(problem, sizeof(problem), "the destination cannot be examined (%s)",
			 strerror(-found));
	return refuse(r, why, size, problem);
}

/* Continue the copy of the record. Returns 0 or -ENOMEM. */
static int resume(struct restart *r)
{
	const struct restart_record *old = &r->record;
	const bool trust = r->plan->restart.trust;

	r->end_bytes = old->end_bytes > r->end_bytes ? old->end_bytes : r->end_bytes;
	r->digest = old->digest;
	if (old->complete)
		log_notice(
			"target %u, %s: the restart file %s says that it is complete: %s; to copy "
			"it again, remove that file",
			r->plan->number, r->plan->path, r->path,
			trust ? "nothing is copied, and nothing compared (-restart trust)" :
				"what equals the source is not copied");
	else
		log_notice("target %u, %s: %" PRIu64 " of %" PRIu64 " bytes are durable: %s",
			   r->plan->number, r->plan->path, old->durable_bytes, old->bytes,
			   trust ? "the others are copied, and nothing is compared "
				   "(-restart trust)" :
				   "they are compared with the source, and the others copied");
	return extents_join(&r->written, &old->durable);
}

/* The operations of this session that are missing. */
static size_t list_missing(const struct restart *r, const struct wire_plan *peer,
			   struct wire_range *ranges)
{
	const uint64_t end = r->skipped_ops + peer->ops;
	struct extent gap = { 0, r->skipped_ops };
	size_t n = 0;

	while (n < WIRE_MAX_RANGES && extents_next_missing(&r->written, gap.end, end, &gap))
		ranges[n++] =
			(struct wire_range){ gap.begin - r->skipped_ops, gap.end - gap.begin };
	return n;
}

static int no_memory(char *why, size_t size)
{
	snprintf(why, size, "%s", strerror(ENOMEM));
	return -ENOMEM;
}

/* Replace the record that was read by that of this copy, with nothing durable. */
static void begin_record(struct restart *r, struct restart_record *now)
{
	restart_record_free(&r->record);
	r->record = *now;
}

int restart_accept(struct restart *r, const struct wire_plan *own, const struct wire_plan *peer,
		   struct wire_range *ranges, size_t *n, char *why, size_t size)
{
	struct restart_record now;
	int err = check_offset(own, peer, why, size), found = 0;

	*n = 0;
	if (err || !r)
		return err;
	if (peer->ops == WIRE_NO_SIZE) {
		snprintf(why, size,
			 "-restart: a copy that only time ends cannot be resumed; give "
			 "the source -bytes or -numreqs");
		return -EINVAL;
	}
	if (add_skipped(r, own, peer))
		return no_memory(why, size);
	if (!r->path)
		r->path = default_path(own, peer);
	if (!r->path)
		return no_memory(why, size);
	if (!r->plan->restart.file)
		err = read_record(r, why, size);
	if (err)
		return err;
	restart_record_init(&now);
	describe(r, &now, own, peer);
	if (r->plan->kind != TARGET_NULL)
		found = restart_look_at(&now, AT_FDCWD, r->plan->path);
	if (r->resumes)
		err = compare(r, &now, found, why, size);
	r->resumes = err == 1;
	if (err < 0)
		return err;
	if (r->resumes && resume(r))
		return no_memory(why, size);
	r->out_of_order = now.pattern != 0;
	begin_record(r, &now);
	if (r->resumes)
		*n = list_missing(r, peer, ranges);
	return r->resumes;
}

int restart_take_kept(struct restart *r, const struct wire_plan *peer, struct extents *kept)
{
	const uint64_t end = r->skipped_ops + peer->ops;
	int err = 0;

	if (r->plan->restart.trust)
		return 0;
	for (size_t i = 0; i < r->written.n && !err; i++) {
		const struct extent *x = &r->written.items[i];
		uint64_t from = x->begin > r->skipped_ops ? x->begin : r->skipped_ops;
		uint64_t to = x->end < end ? x->end : end;

		if (from < to)
			err = extents_add(kept, from - r->skipped_ops, to - r->skipped_ops);
	}
	extents_clear(&r->written);
	if (!err)
		err = extents_add(&r->written, 0, r->skipped_ops);
	r->end_bytes = r->skipped_ops * peer->req_bytes;
	r->digest = (struct digest){ 0 };
	return err;
}

void restart_kept_again(struct restart *r, const struct wire_plan *peer, struct wire_range *ranges,
			size_t *n)
{
	/* Operations without room in the set are copied, and count then. */
	r->forgotten = (struct digest){ 0 };
	*n = list_missing(r, peer, ranges);
}
