/*
 * The bytes of the data pattern of each target, and checks of what can be written and verified.
 * Called by plan_resolve(), once everything else is known about the targets.
 */
#include "plan/pattern_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/errors.h"
#include "plan/extent.h"
#include "xdd/base/file.h"
#include "xdd/base/memory.h"
#include "xdd/plan/engine_info.h"

#define FILE_MAX_BYTES (1u << 30)
#define SECTOR_BYTES 512

/* So many sectors may tell that data are tagged: the first one may be damaged. */
#define TAKEN_SECTORS 8

/* Every target whose pattern is this file shares one copy. */
static bool share_file(const struct plan *plan, struct target_plan *t)
{
	for (const struct target_plan *o = plan->targets; o < t; o++) {
		if (o->pattern.kind != PATTERN_FILE || strcmp(o->pattern.file, t->pattern.file))
			continue;
		t->pattern.bytes = o->pattern.bytes;
		t->pattern.n_bytes = o->pattern.n_bytes;
		return true;
	}
	return false;
}

static int read_whole(int fd, uint8_t *bytes, size_t size)
{
	ssize_t n = readfile_part(fd, bytes, size);

	if (n < 0)
		return (int)n;
	return (size_t)n < size ? -ENODATA : 0;
}

static int load_file(struct plan *plan, struct pattern_options *o, const char **why)
{
	int fd = open(o->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
	struct stat st;
	uint8_t *bytes;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0) {
		err = -errno;
	} else if (!S_ISREG(st.st_mode)) {
		*why = "must be a regular file";
		err = -EINVAL;
	} else if (!st.st_size || st.st_size > FILE_MAX_BYTES) {
		*why = st.st_size ? "the file is larger than 1 GiB" : "the file is empty";
		err = -EINVAL;
	}
	if (err)
		goto out;
	bytes = arena_alloc(plan->arena, (size_t)st.st_size);
	err = bytes ? read_whole(fd, bytes, (size_t)st.st_size) : -ENOMEM;
	o->bytes = bytes;
	o->n_bytes = (size_t)st.st_size;
out:
	close(fd);
	return err;
}

static enum xdd_status resolve_file(struct plan *plan, struct target_plan *t)
{
	const char *why = NULL;
	int err = share_file(plan, t) ? 0 : load_file(plan, &t->pattern, &why);

	if (!err)
		return XDD_OK;
	return plan_refuse(t, "-datapattern file %s: %s", t->pattern.file,
			   why ? why : strerror(-err));
}

static unsigned nibble(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

/* Most significant digit first; an odd number of digits has a zero before it. */
static enum xdd_status hex_bytes(struct plan *plan, struct pattern_options *o)
{
	size_t digits = strlen(o->text), odd = digits % 2, n = (digits + odd) / 2;
	uint8_t *bytes = arena_alloc(plan->arena, n);

	if (!bytes)
		return plan_no_memory();
	for (size_t i = 0; i < digits; i++) {
		size_t at = i + odd;

		bytes[at / 2] = (uint8_t)(bytes[at / 2] << 4 | nibble(o->text[i]));
	}
	o->bytes = bytes;
	o->n_bytes = n;
	return XDD_OK;
}

static enum xdd_status check_tagged(const struct target_plan *t)
{
	/* Without an option that names it, the pattern is taken from the data. */
	const char *option = t->pattern.use ? "-datapattern tagged" : "-verify of tagged data";

	if (t->pattern.inverse)
		return plan_refuse(t, "-datapattern tagged: cannot be inverse");
	if (!plan_reads(t) && !plan_writes(t))
		return XDD_OK;
	return plan_check_multiples(t, option, SECTOR_BYTES, true);
}

static enum xdd_status resolve_pattern(struct plan *plan, struct target_plan *t)
{
	struct pattern_options *o = &t->pattern;

	if (o->prefix && o->kind != PATTERN_SEQUENCED)
		return plan_refuse(
			t,
			"-datapattern prefix %s: is for sequenced data; say -datapattern sequenced "
			"prefix %s",
			o->prefix, o->prefix);
	if (o->given && plan_engine_caps(t) & ENGINE_NO_PATTERN && t->op != OP_NOOP)
		return plan_refuse(
			t, "-datapattern: -ioengine %s, with these keywords, transfers no data",
			t->engine->name);
	if (o->kind == PATTERN_FILE)
		return resolve_file(plan, t);
	if (o->kind == PATTERN_TAGGED)
		return check_tagged(t);
	if (o->kind == PATTERN_ASCII) {
		o->bytes = (const uint8_t *)o->text;
		o->n_bytes = strlen(o->text);
	} else if (o->kind == PATTERN_HEX) {
		return hex_bytes(plan, o);
	}
	return XDD_OK;
}

/* The reason why a target has nothing to verify, which `buf` may hold, or NULL. */
static const char *unverifiable(const struct target_plan *t, char *buf, size_t size)
{
	const struct engine_info *engine = plan_engine(t);

	if (t->op == OP_WRITE)
		return "nothing is read, only written: verify in a run that reads, or with "
		       "-rwratio";
	if (t->op == OP_NOOP)
		return "nothing is read by -op noop";
	if (t->op == OP_DISCARD)
		return "nothing is read by -op discard";
	if (t->kind == TARGET_NULL)
		return "the null device transfers no data";
	if (!(plan_engine_caps(t) & ENGINE_NO_DATA))
		return NULL;
	snprintf(buf, size, "-ioengine %s%s transfers no data", engine->name,
		 engine->caps & ENGINE_NO_DATA ? "" : " with these keywords");
	return buf;
}

/* -verify location compares with sequenced data: refuse another pattern. */
static enum xdd_status resolve_location(struct target_plan *t)
{
	struct pattern_options *o = &t->pattern;

	if (o->kind == PATTERN_SEQUENCED)
		return XDD_OK;
	if (o->kind == PATTERN_TAGGED)
		return t->verify & VERIFY_CONTENTS ?
			       XDD_OK :
			       plan_refuse(
				       t,
				       "-verify location: is for sequenced data; with -datapattern "
				       "tagged, -verify contents checks the location as well");
	return plan_refuse(
		t,
		"-verify location: is for sequenced data, and -datapattern names another pattern; "
		"say -datapattern sequenced, or -verify contents alone");
}

/* Patterns whose bytes depend on where a request begins. */
static bool begins_with_request(enum pattern_kind kind)
{
	return kind == PATTERN_ASCII || kind == PATTERN_HEX ||
	       (kind >= PATTERN_LFPAT && kind <= PATTERN_CSPAT);
}

/* Requests of several sizes overlap at random offsets, so each finds parts of others. */
static enum xdd_status check_overlaps(const struct target_plan *t)
{
	if (!(t->verify & VERIFY_CONTENTS) || !t->mix || t->seek.pattern != SEEK_RANDOM ||
	    !begins_with_request(t->pattern.kind))
		return XDD_OK;
	return plan_refuse(t, "-verify: the pattern begins again with each request, and those of "
			      "-reqsize mix overlap at random offsets; say -datapattern tagged");
}

/* True if one of the first sectors that the target reads begins as tagged data does. */
static bool reads_tags(const struct target_plan *t)
{
	char piece[TAKEN_SECTORS * SECTOR_BYTES];
	uint64_t first, end;
	bool found = false;
	ssize_t n;
	int fd;

	if (t->foreseen || (t->kind != TARGET_FILE && t->kind != TARGET_BLOCK))
		return false;
	fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	/* The page cache gets no more than this piece. */
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	plan_pass_range(t, 1, &first, &end);
	n = pread(fd, piece, sizeof(piece), (off_t)first);
	for (ssize_t at = 0; at + SECTOR_BYTES <= n && !found; at += SECTOR_BYTES)
		found = memcmp(piece + at, PATTERN_TAG_MAGIC, strlen(PATTERN_TAG_MAGIC)) == 0;
	close(fd);
	return found;
}

/* A run that writes too may replace the data before they are read. */
static bool only_reads(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_targets; i++)
		if (plan_writes(&plan->targets[i]))
			return false;
	return true;
}

/* Without -datapattern, tagged data say themselves what they are to be compared with. */
static void take_pattern(struct target_plan *t)
{
	struct pattern_options *o = &t->pattern;

	if (!(t->verify & VERIFY_CONTENTS) || o->given || !reads_tags(t))
		return;
	o->kind = PATTERN_TAGGED;
	o->given = true;
}

/*
 * The pattern that location implies where none is named, and the verification that sequenced
 * implies when read.
 */
static enum xdd_status resolve_verify(struct target_plan *t)
{
	struct pattern_options *o = &t->pattern;
	const bool named = o->kind != PATTERN_CHARACTER || o->word;
	char buf[80];
	const char *why = unverifiable(t, buf, sizeof(buf));

	if (why && t->verify_named)
		return plan_refuse(t, "-verify: %s", why);
	if (o->kind == PATTERN_SEQUENCED && t->op == OP_READ)
		t->verify |= VERIFY_CONTENTS;
	if (t->verify & VERIFY_LOCATION && !named) {
		o->kind = PATTERN_SEQUENCED;
		o->given = true;
	}
	if (why)
		t->verify = VERIFY_NONE;
	return t->verify & VERIFY_LOCATION ? resolve_location(t) : check_overlaps(t);
}

enum xdd_status plan_resolve_data(struct plan *plan)
{
	const bool reads_all = only_reads(plan);
	bool wanted = false, verified = false;
	char buf[80];

	for (size_t i = 0; i < plan->n_targets; i++) {
		struct target_plan *t = &plan->targets[i];
		enum xdd_status status;

		wanted |= t->verify != VERIFY_NONE;
		status = resolve_verify(t);
		if (!status && reads_all)
			take_pattern(t);
		if (!status)
			status = resolve_pattern(plan, t);
		if (status)
			return status;
		verified |= t->verify != VERIFY_NONE;
	}
	if (wanted && !verified)
		return plan_refuse(&plan->targets[0], "-verify: %s",
				   unverifiable(&plan->targets[0], buf, sizeof(buf)));
	return XDD_OK;
}
