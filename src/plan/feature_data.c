/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data of operations: -datapattern, -verify.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/feature.h"
#include "plan/files.h"
#include "plan/parse.h"
#include "xdd/base/err.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/plan/engine_info.h"

/*
 * The bytes of the data pattern of each target, and checks of what can be written and verified,
 * once everything else is known about the targets.
 */

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

static int load_file(struct plan *plan, struct pattern_options *o, struct err *why)
{
	int fd = open(o->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
	struct stat st;
	uint8_t *bytes;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = err_set(why, -EINVAL, "must be a regular file");
	else if (!st.st_size || st.st_size > FILE_MAX_BYTES)
		err = err_set(why, -EINVAL, "the file is %s",
			      st.st_size ? "larger than 1 GiB" : "empty");
	if (err)
		goto out;
	bytes = xarena_alloc(plan->arena, (size_t)st.st_size);
	err = read_whole(fd, bytes, (size_t)st.st_size);
	o->bytes = bytes;
	o->n_bytes = (size_t)st.st_size;
out:
	close(fd);
	return err;
}

static enum xdd_status resolve_file(struct plan *plan, struct target_plan *t)
{
	struct err why = { 0 };
	int err = share_file(plan, t) ? 0 : load_file(plan, &t->pattern, &why);

	if (!err)
		return XDD_OK;
	return plan_refuse(t, "-datapattern file %s: %s", t->pattern.file, err_text(&why, err));
}

static unsigned nibble(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

/* Most significant digit first; an odd number of digits has a zero before it. */
static enum xdd_status hex_bytes(struct plan *plan, struct pattern_options *o)
{
	size_t digits = strlen(o->text), odd = digits % 2, n = (digits + odd) / 2;
	uint8_t *bytes = xarena_alloc(plan->arena, n);

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
		return "nothing is read, only written: -readback reads it after the run and "
		       "compares it";
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
	return plan_refuse(t,
			   "-verify: the pattern begins again with each request, and requests of "
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

/*
 * Load what the patterns of all targets consist of, and refuse those that cannot be written or
 * verified as asked. Sets `pattern` and `verify`. Returns XDD_OK, or another status with one line
 * given to log_error().
 */
static enum xdd_status plan_resolve_data(struct plan *plan)
{
	const bool reads_all = only_reads(plan);
	bool wanted = false, verified = false;
	char buf[80];

	for (struct target_plan *t = plan->targets; t < plan_end(plan); t++) {
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

#define HEX_DIGITS "0123456789abcdefABCDEF"
#define PREFIX_MAX_DIGITS 16

/*
 * A -datapattern that names a pattern replaces the one of an earlier -datapattern, and keeps its
 * modifiers. A prefix belongs to sequenced data, and is removed with it. compress and dedupe are
 * one pattern, in one -datapattern or in two, but not one of all targets and one of a target: the
 * latter says all of that target's pattern.
 */
static void name_pattern(struct pattern_options *o, const struct setting *s, enum pattern_kind kind)
{
	const bool replaced = o->kind == PATTERN_SEQUENCED && kind != PATTERN_SEQUENCED;
	const bool same_scope = o->scope && s->scope.text ? !strcmp(o->scope, s->scope.text) :
							    o->scope == s->scope.text;
	const bool added = o->kind == PATTERN_REDUCIBLE && kind == PATTERN_REDUCIBLE && same_scope;

	if (added)
		o->use = s->name.text;
	else if (o->use != s->name.text)
		*o = (struct pattern_options){
			.use = s->name.text,
			.scope = s->scope.text,
			.prefix = replaced ? NULL : o->prefix,
			.replicate = o->replicate,
			.inverse = o->inverse,
		};
	o->given = true;
	o->kind = kind;
}

/* One of the words that name a pattern; its row's `value` says which. */
static enum xdd_status apply_pattern(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	name_pattern(&t->pattern, s, (enum pattern_kind)s->sub->value);
	return XDD_OK;
}

static enum xdd_status apply_character(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	if (!*s->args[0].text)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0], "expected a character");
	name_pattern(&t->pattern, s, PATTERN_CHARACTER);
	t->pattern.word = s->args[0].text;
	return XDD_OK;
}

static enum xdd_status apply_text(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;
	const struct word *w = &s->args[0];
	enum pattern_kind kind = (enum pattern_kind)s->sub->value;

	if (!*w->text)
		return parse_error(XDD_BAD_ARGUMENT, s, w, "%s cannot be empty", s->sub->arg);
	if (kind == PATTERN_HEX && w->text[strspn(w->text, HEX_DIGITS)])
		return parse_error(XDD_BAD_ARGUMENT, s, w,
				   "expected hexadecimal digits, 0-9, a-f or A-F");
	name_pattern(&t->pattern, s, kind);
	if (kind == PATTERN_FILE)
		t->pattern.file = w->text;
	else
		t->pattern.text = w->text;
	return XDD_OK;
}

static enum xdd_status apply_prefix(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;
	const struct word *w = &s->args[0];
	size_t len = strlen(w->text);

	if (!len || len > PREFIX_MAX_DIGITS || w->text[strspn(w->text, HEX_DIGITS)])
		return parse_error(XDD_BAD_ARGUMENT, s, w,
				   "expected 1 to %d hexadecimal digits, 0-9, a-f or A-F",
				   PREFIX_MAX_DIGITS);
	t->pattern.use = s->name.text;
	t->pattern.given = true;
	t->pattern.prefix = w->text;
	return XDD_OK;
}

static enum xdd_status apply_modifier(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	t->pattern.use = s->name.text;
	t->pattern.given = true;
	return XDD_OK;
}

/* The number is stored already, and name_pattern() would clear it. */
static enum xdd_status apply_reducible(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;
	uint64_t *field = (uint64_t *)((char *)dst + s->sub->off), percent = *field;

	name_pattern(&t->pattern, s, PATTERN_REDUCIBLE);
	*field = percent;
	return XDD_OK;
}

static enum xdd_status apply_verify(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	t->verify_named |= s->scope.text && strcmp(s->scope.text, "all") != 0;
	return XDD_OK;
}

#define PATTERN(name_, value_, help_)                                                       \
	{                                                                                   \
		.name = name_, .type = OPT_CUSTOM, .value = value_, .apply = apply_pattern, \
		.help = help_,                                                              \
	}

#define MODIFIER(name_, help_)                                                               \
	{                                                                                    \
		.name = #name_, .type = OPT_SET, .value = true, TARGET_FIELD(pattern.name_), \
		.apply = apply_modifier, .help = help_,                                      \
	}

#define PERCENT(name_, field_, help_)                                                  \
	{                                                                              \
		.name = name_, OPTION_NUMBER("<percent>", 0, 100), .unit = "percent",  \
		TARGET_FIELD(pattern.field_), .apply = apply_reducible, .help = help_, \
	}

static const struct option pattern_rows[] = {
	PATTERN("random", PATTERN_RANDOM,
		"random bytes, the same at the same offset of any target"),
	PATTERN("randbytarget", PATTERN_RANDOM_BY_TARGET,
		"random bytes, others on each target of the run"),
	PATTERN("sequenced", PATTERN_SEQUENCED,
		"64-bit words, little endian, each the byte offset at which it stands"),
	{ .name = "prefix",
	  OPTION_CUSTOM("<hex digits>", apply_prefix),
	  .help = "sequenced: put these digits into the upper bits of each word, 4 bits a digit" },
	MODIFIER(inverse, "the ones' complement of the pattern"),
	{ .name = "ascii",
	  OPTION_CUSTOM("<string>", apply_text),
	  .value = PATTERN_ASCII,
	  .help = "the string at the start of each request, zeros after it" },
	{ .name = "hex",
	  OPTION_CUSTOM("<hex digits>", apply_text),
	  .value = PATTERN_HEX,
	  .help = "these bytes at the start of each request, zeros after them" },
	MODIFIER(replicate, "ascii, hex: repeat through the whole request"),
	{ .name = "file",
	  OPTION_CUSTOM("<name>", apply_text),
	  .value = PATTERN_FILE,
	  .help = "the contents of a file, repeated from the start of the target" },
	PATTERN("lfpat", PATTERN_LFPAT, "the low-frequency 8B/10B pattern"),
	PATTERN("ltpat", PATTERN_LTPAT, "the low-transition 8B/10B pattern"),
	PATTERN("cjtpat", PATTERN_CJTPAT, "the compliant jitter 8B/10B pattern"),
	PATTERN("crpat", PATTERN_CRPAT, "the compliant random 8B/10B pattern"),
	PATTERN("cspat", PATTERN_CSPAT, "the compliant sequential 8B/10B pattern"),
	PERCENT("compress", compress, "random bytes of which a compressor saves this share"),
	PERCENT("dedupe", dedupe,
		"random bytes of which this share, in units of 4 KiB, are copies"),
	PATTERN("tagged", PATTERN_TAGGED,
		"each 512-byte sector names its run, target, offset and write"),
	{ 0 },
};

static const struct option character_row = {
	.name = "<character>",
	OPTION_CUSTOM("<character>", apply_character),
	.help = "this byte, repeated",
};

static const struct option verify_rows[] = {
	{ .name = "contents",
	  .type = OPT_BIT,
	  .value = VERIFY_CONTENTS,
	  TARGET_FIELD(verify),
	  .apply = apply_verify,
	  .help = "compare all that is read with the data pattern" },
	{ .name = "location",
	  .type = OPT_BIT,
	  .value = VERIFY_LOCATION,
	  TARGET_FIELD(verify),
	  .apply = apply_verify,
	  .help = "compare the first word of each 512 bytes read with its offset; the data pattern "
		  "is "
		  "sequenced then" },
	{ 0 },
};

static const struct option rows[] = {
	{ .name = "datapattern",
	  .aliases = "dp",
	  .scope = SCOPE_TARGET,
	  OPTION_SUB("<character>|<pattern>", pattern_rows),
	  .other = &character_row,
	  .help = "the data to write, and to compare with when reading",
	  .detail =
		  "The default is zeros. A word that is not a pattern stands for its first "
		  "character, repeated. A pattern and its modifiers (prefix, inverse, replicate) "
		  "may follow one -datapattern, or have one each, in any order: a later "
		  "-datapattern that names a pattern replaces the pattern and keeps the modifiers; "
		  "compress and dedupe are one pattern, and may have one each for the same targets. "
		  "random, compress and dedupe are made from -seek seed and from the offset in the "
		  "target, so a later run with the same seed can verify them, whatever its "
		  "operations and passes. compress and dedupe may go together. A compressor that "
		  "sees all of a unit of 4 KiB saves the share that compress says; of each MiB of "
		  "the target, dedupe makes the share of its 256 units that it says copies of "
		  "others. tagged writes into each sector of 512 bytes the run, the target, the "
		  "offset, the number of the write and a checksum, which lets -verify distinguish "
		  "old data, misplaced data, torn sectors and flipped bits, also while the same "
		  "run writes; requests are whole sectors then. Filling a buffer is never part of "
		  "the time of an operation; the column PATTERNFILLTIME shows it.",
	  .example = "xdd -targets 1 scratch -mbytes 64 -datapattern sequenced prefix 0123" },
	{ .name = "verify",
	  .scope = SCOPE_TARGET,
	  OPTION_SUB("[contents|location]", verify_rows),
	  .alone = &verify_rows[0],
	  .help = "check what is read against the data pattern",
	  .detail =
		  "-verify alone means contents. The pattern must have been written before, or by "
		  "writes of the same run. Without -datapattern, a run that only reads takes the "
		  "data for tagged if its first 4 KiB hold a tag. Every "
		  "buffer is overwritten before it is read into, so data that never arrived is "
		  "seen. A miscompare is reported in one line, at most -maxerrorstoprint lines, "
		  "with the offset, the expected and the found data, and its kind where it is "
		  "known; it counts as an error for -maxerrors and -stoponerror, and the run ends "
		  "with status 7. ascii, hex and the 8B/10B patterns start again with each "
		  "request: read them in the requests in which they were written. Reading with "
		  "-datapattern sequenced verifies contents by itself. contents and location add "
		  "up, in one -verify or in several. location is for sequenced data, which it "
		  "implies when no pattern is given, and is refused with another.",
	  .example = "xdd -op read -targets 1 scratch -datapattern tagged -verify contents" },
	{ .name = "readback",
	  PLAN_FLAG(read_back),
	  .help = "read all that was written, once the run is over, and compare it",
	  .detail =
		  "Makes two runs of one, as two sections of a setup file: write, with all options, "
		  "and read, with -op read -verify contents as well. Each has its results, and the "
		  "second one ends with status 7 where data differ. All targets must write, and an "
		  "amount of work must say how much; where -timelimit or -runtime ends it before, "
		  "what was written is read. The data are tagged unless -datapattern names "
		  "others. -dropcache or -dio makes sure that the data come from the device. "
		  "-deletefile removes the files after the second run.",
	  .example = "xdd -op write -target scratch -reqsize 1M -bytes 64M -readback" },
	{ 0 },
};

static enum xdd_status data_check(struct plan *plan)
{
	enum xdd_status status = plan_resolve_data(plan);

	if (!status)
		status = plan_check_buffered(plan);
	return status ? status : plan_check_tagged(plan);
}

/* -readback reads no more than was written before time ended it. */
static enum xdd_status limit_read_back(struct plan *plan, struct target_plan *t)
{
	const uint32_t number = t->layout.block_bytes ? t->layout.owner_number : t->number;
	const uint64_t ops = plan->written_ops ? plan->written_ops[number] : UINT64_MAX;

	if (!ops)
		return plan_refuse(t, "-readback: its time was over before it wrote anything");
	plan_limit_ops(t, ops);
	return XDD_OK;
}

static void data_warn(const struct target_plan *t)
{
	const char *word = t->pattern.kind == PATTERN_CHARACTER ? t->pattern.word : NULL;

	if (word && word[1])
		target_warning(t,
			       "-datapattern %.64s: is not a pattern; its first character, %c, is "
			       "used%s",
			       word, *word,
			       strncmp(word, "zero", 4) == 0 ? "; zeros are the data without "
							       "-datapattern" :
							       "");
}

const struct plan_feature feature_data = {
	.group = { "Data", rows },
	.plan = { [PLAN_CHECK] = data_check },
	.target = { [TARGET_SIZE] = limit_read_back },
	.warn_target = data_warn,
};
