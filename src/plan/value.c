/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words as values: reading them, storing them where a row says, measures, and words of setup
 * files. Called while a plan is built, and measures also where a plan is shown.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/feature.h"
#include "plan/parse.h"
#include "xdd/base/file.h"
#include "xdd/base/units.h"

/*
 * Setup files: read whole and split into words like a shell does, each with its line.
 */

#define SETUP_MAX_BYTES (16u << 20)
#define NAME_MAX_BYTES 64
#define SECTIONS_MAX 1000
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* A setup file that is being split into words. */
struct splitter {
	struct arena *arena;
	const char *file;
	const char *in;
	char *out; /* end of the unquoted text; never overtakes `in` */
	unsigned line;
	bool fresh; /* nothing but blanks stands before `in` on its line */
	struct setup_words *found;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

/* Read to the end of any kind of file, into the arena. */
static int read_all(struct arena *arena, int fd, char **text, size_t *len)
{
	char *data;
	int err = readfile(fd, SETUP_MAX_BYTES, &data, len);

	if (err)
		return err;
	*text = xarena_alloc(arena, *len + 1);
	memcpy(*text, data, *len + 1);
	free(data);
	return 0;
}

static void add_word(struct splitter *s, const char *text, unsigned line)
{
	struct setup_words *f = s->found;

	f->words = xarena_room(s->arena, f->words, f->n, sizeof(*f->words));
	f->words[f->n++] = (struct word){ .text = text, .file = s->file, .pos = line };
}

/* ---- sections ---- */

/*
 * The length of the name of the section that begins at `in`, a bracket and the first word of its
 * line; -1: the line is one of words. Words may begin with a bracket, as patterns of names do, but
 * a bracket that closes at the end of the line makes a section.
 */
static ptrdiff_t section_length(const char *in)
{
	const size_t len = strcspn(in, "]\n");
	const char *after = in + len + 1;
	size_t blanks;

	if (in[len] != ']')
		return -1;
	blanks = strspn(after, " \t\r\f\v");
	if (after[blanks] && after[blanks] != '\n' && !(blanks && after[blanks] == '#'))
		return -1;
	return (ptrdiff_t)len - 1;
}

/* A name goes into names of files, and onto command lines. */
static bool name_is_good(const char *name, size_t len)
{
	if (!len || len > NAME_MAX_BYTES || *name == '-' || *name == '.')
		return false;
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)name[i] <= ' ' || strchr("\x7f[]/%#\"'\\", name[i]))
			return false;
	}
	return true;
}

static enum xdd_status take_section(struct splitter *s, size_t len)
{
	struct setup_words *f = s->found;
	const char *name =
		xarena_printf(s->arena, "%.*s", (int)(len < 4096 ? len : 4096), s->in + 1);
	struct setting where = { .name = { .text = "section", .file = s->file, .pos = s->line } };
	struct word at = { .text = name, .file = s->file, .pos = s->line };

	if (!f->sections)
		f->sections = xarena_alloc(s->arena, SECTIONS_MAX * sizeof(*f->sections));
	if (!name_is_good(name, len))
		return parse_error(XDD_BAD_ARGUMENT, &where, &at,
				   "expected a name of 1 to %d characters without blanks, quotes, "
				   "brackets or any of / %% # \\, and not with - or . first",
				   NAME_MAX_BYTES);
	if (f->n_sections == SECTIONS_MAX)
		return parse_error(XDD_BAD_ARGUMENT, &where, &at,
				   "is too many: a setup file has %d sections at most",
				   SECTIONS_MAX);
	f->sections[f->n_sections++] =
		(struct setup_section){ .name = name, .line = s->line, .first = f->n };
	s->in += strcspn(s->in, "\n");
	return XDD_OK;
}

/* ---- words ---- */

/* A run of characters between quotes; `s->in` is after the opening one. */
static bool take_quoted(struct splitter *s, char quote)
{
	for (; *s->in && *s->in != quote; s->in++) {
		if (quote == '"' && *s->in == '\\' && strchr("\"\\$`\n", s->in[1]) && s->in[1]) {
			s->in++;
			if (*s->in == '\n') {
				s->line++;
				continue;
			}
		} else if (*s->in == '\n') {
			s->line++;
		}
		*s->out++ = *s->in;
	}
	if (!*s->in)
		return false;
	s->in++;
	return true;
}

/* One word, quotes and backslashes resolved. False: a quote is never closed. */
static bool take_word(struct splitter *s)
{
	while (*s->in && !is_blank(*s->in)) {
		char c = *s->in++;

		if (c == '\'' || c == '"') {
			if (!take_quoted(s, c))
				return false;
		} else if (c == '\\' && *s->in == '\n') {
			s->in++;
			s->line++;
		} else if (c == '\\' && *s->in) {
			*s->out++ = *s->in++;
		} else {
			*s->out++ = c;
		}
	}
	return true;
}

/* Step over blanks, and ends of lines. */
static void skip_blanks(struct splitter *s)
{
	while (is_blank(*s->in) || (s->in[0] == '\\' && s->in[1] == '\n')) {
		const bool goes_on = *s->in == '\\';

		if (goes_on)
			s->in++;
		if (*s->in++ == '\n') {
			s->line++;
			s->fresh = !goes_on;
		}
	}
}

static enum xdd_status take_words(struct splitter *s)
{
	const char *start = s->out;
	const unsigned line = s->line;

	s->fresh = false;
	if (!take_word(s)) {
		struct word at = { .text = s->file, .file = s->file, .pos = line };
		struct setting where = { .name = { .text = "-setup" } };

		return parse_error(XDD_BAD_ARGUMENT, &where, &at,
				   "a quote opens here and is never closed");
	}
	/* The terminator may fall on the blank after the word, no further: step over that first. */
	if (*s->in && *s->in++ == '\n') {
		s->line++;
		s->fresh = true;
	}
	*s->out++ = '\0';
	add_word(s, start, line);
	return XDD_OK;
}

static enum xdd_status setup_file_split(struct splitter *s)
{
	enum xdd_status status = XDD_OK;

	while (!status) {
		ptrdiff_t len;

		skip_blanks(s);
		if (!*s->in)
			break;
		if (*s->in == '#') {
			s->in += strcspn(s->in, "\n");
			continue;
		}
		len = s->fresh && *s->in == '[' ? section_length(s->in) : -1;
		status = len < 0 ? take_words(s) : take_section(s, (size_t)len);
	}
	return status;
}

static int open_setup(struct arena *arena, const char *path, char **text, size_t *len)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		err = -EISDIR;
	if (!err)
		err = read_all(arena, fd, text, len);
	close(fd);
	return err;
}

enum xdd_status setup_file_read(struct arena *arena, const struct word *name,
				struct setup_words *found)
{
	struct splitter s = {
		.arena = arena, .file = name->text, .line = 1, .fresh = true, .found = found
	};
	struct setting where = { .name = { .text = "-setup" } };
	char *text = NULL;
	size_t len = 0;
	int err = open_setup(arena, name->text, &text, &len);

	*found = (struct setup_words){ .n = 0 };
	if (err)
		return parse_error(XDD_BAD_ARGUMENT, &where, name, "cannot be read (%s)",
				   err == -EFBIG ? "too large for a setup file" : strerror(-err));
	if (memchr(text, '\0', len))
		return parse_error(XDD_BAD_ARGUMENT, &where, name,
				   "is not a text file: it holds a NUL byte");
	/* Editors of other systems begin a file with a byte order mark. */
	s.in = text + (strncmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) ?
			       0 :
			       strlen(BYTE_ORDER_MARK));
	s.out = text;
	return setup_file_split(&s);
}

static bool is_percentage(const struct option *row)
{
	return row->unit && strcmp(row->unit, "percent") == 0;
}

static enum xdd_status want_u64(const struct setting *s, const struct option *row)
{
	const char *word = s->args[0].text, *unit = row->unit ? " of " : "";
	bool suffix = units_has_suffix(word) && row->unit && !is_percentage(row);

	return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
			   "expected a whole number%s%s, %" PRIu64 " to %" PRIu64 "%s", unit,
			   row->unit ? row->unit : "", row->min, row->max,
			   suffix ? "; k, M and G are thousands, millions and so on" : "");
}

/* Whole percent: "70" and "70%". */
static int read_percentage(const char *word, uint64_t *value)
{
	uint64_t millionths;
	int ret = units_parse_percent(word, &millionths);

	if (!ret && millionths % 1000000)
		ret = -EINVAL;
	if (!ret)
		*value = millionths / 1000000;
	return ret;
}

static enum xdd_status store_u64(const struct setting *s, const struct option *row, void *field)
{
	const char *word = s->args[0].text;
	uint64_t v;
	/* A number without a unit, such as a port or a seed, counts nothing. */
	int ret = is_percentage(row) ? read_percentage(word, &v) :
		  row->unit	     ? units_parse_count(word, &v) :
				       units_parse_u64(word, &v);

	if (ret || v < row->min || v > row->max)
		return want_u64(s, row);
	*(uint64_t *)field = v * (row->scale ? row->scale : 1);
	return XDD_OK;
}

/* Keep how the number was given, for feature_work.c. */
static void keep_amount(const struct setting *s, const struct option *row, void *dst,
			enum amount_kind kind, uint64_t value)
{
	struct amount *a = (struct amount *)((char *)dst + row->amount);

	if (!row->amount)
		return;
	a->kind = kind;
	a->value = value;
	a->from = s->by_default ? NULL : s;
}

static enum xdd_status store_size(const struct setting *s, const struct option *row, void *dst)
{
	char lo[32], hi[32];
	uint64_t v;

	if (units_parse_size(s->args[0].text, &v) || v < row->min || v > row->max)
		return parse_error(
			XDD_BAD_ARGUMENT, s, &s->args[0],
			"expected a size in bytes, such as 4096, 4k, 1.5G or 10MB, %s to %s",
			units_size_text(row->min, lo, sizeof(lo)),
			units_size_text(row->max, hi, sizeof(hi)));
	*(uint64_t *)((char *)dst + row->off) = v;
	keep_amount(s, row, dst, units_has_suffix(s->args[0].text) ? AMOUNT_OF_BYTES : AMOUNT_AS_IS,
		    v);
	return XDD_OK;
}

static enum xdd_status want_amount(const struct setting *s, const struct option *row)
{
	const char *share = row->share ? ", or a share of the target such as 50%" : "";
	uint64_t scale = row->scale ? row->scale : 1;
	char hi[32];

	if (row->type == OPT_BLOCKS)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "expected a whole number of %s, %" PRIu64 " to %" PRIu64
				   ", bytes with a suffix such as 4k or 1M%s",
				   row->unit, row->min, row->max, share);
	if (scale > 1)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "expected a number of %s, up to %" PRIu64
				   ", bytes with a suffix such as 16M or 10MB%s",
				   row->unit, row->max, share);
	return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
			   "expected a size in bytes, such as 4096, 4k, 1.5G or 10MB, 1 byte to "
			   "%s%s",
			   units_size_text(row->max, hi, sizeof(hi)), share);
}

/* OPT_AMOUNT and OPT_BLOCKS; `*field` gets what is known without the target. */
static enum xdd_status store_amount(const struct setting *s, const struct option *row, void *dst)
{
	uint64_t *field = (uint64_t *)((char *)dst + row->off);
	uint64_t v, scale = row->scale ? row->scale : 1;
	const char *word = s->args[0].text;
	bool blocks = row->type == OPT_BLOCKS;

	if (row->share && *word && word[strlen(word) - 1] == '%') {
		if (units_parse_percent(word, &v) || (!v && row->min))
			return want_amount(s, row);
		keep_amount(s, row, dst, AMOUNT_SHARE, v);
		*field = 0;
		return XDD_OK;
	}
	if (units_has_suffix(word)) {
		/* The block size is not known yet, nor the greatest number of bytes. */
		uint64_t most = blocks ? INT64_MAX : row->max * scale;

		if (units_parse_size(word, &v) || (!v && row->min) || v > most)
			return want_amount(s, row);
		keep_amount(s, row, dst, blocks ? AMOUNT_OF_BYTES : AMOUNT_AS_IS, v);
		*field = blocks ? 0 : v;
		return XDD_OK;
	}
	if ((blocks ? units_parse_u64(word, &v) : units_parse_amount(word, scale, &v)) ||
	    (v < row->min && blocks) || (!v && row->min) || v > row->max * scale)
		return want_amount(s, row);
	keep_amount(s, row, dst, AMOUNT_AS_IS, v);
	*field = v;
	return XDD_OK;
}

/* A limit of a time, for a message. */
static char *time_text(uint64_t ns, char *buf, size_t size)
{
	const uint64_t second = NS_PER_SEC, ms = second / 1000;

	if (ns == PLAN_CENTURY_NS)
		snprintf(buf, size, "100 years");
	else if (ns % second)
		snprintf(buf, size, "%" PRIu64 "ms", ns / ms);
	else
		snprintf(buf, size, "%" PRIu64 "s", ns / second);
	return buf;
}

/*
 * Read the time in word `w` of setting `s`, from `min` to `max`, in nanoseconds; `min` may be 1 for
 * any time above 0. Returns XDD_OK, or XDD_BAD_ARGUMENT with one line given to log_error().
 */
static enum xdd_status parse_time(const struct setting *s, const struct word *w, uint64_t min,
				  uint64_t max, uint64_t *ns)
{
	char lo[32], hi[32];
	uint64_t v;

	if (units_parse_seconds(w->text, &v) == 0 && v >= min && v <= max) {
		*ns = v;
		return XDD_OK;
	}
	time_text(min, lo, sizeof(lo));
	time_text(max, hi, sizeof(hi));
	if (min == 1)
		return parse_error(
			XDD_BAD_ARGUMENT, s, w,
			"expected a time above 0 and up to %s: seconds with decimals, or with ms, "
			"us, min or h",
			hi);
	return parse_error(
		XDD_BAD_ARGUMENT, s, w,
		"expected a time of %s to %s: seconds with decimals, or with ms, us, min or h",
		min ? lo : "0", hi);
}

static const char *choice_at(const void *choices, size_t i)
{
	return ((const struct choice *)choices)[i].word;
}

static enum xdd_status store_choice(const struct setting *s, const struct option *row, void *field)
{
	const char *word = s->args[0].text;

	for (const struct choice *c = row->choices; c->word; c++) {
		if (strcmp(word, c->word) == 0 || (c->alias && strcmp(word, c->alias) == 0)) {
			*(int *)field = c->value;
			return XDD_OK;
		}
	}
	return parse_error_words(s, &s->args[0], choice_at, row->choices);
}

static enum xdd_status store_text(const struct setting *s, const struct option *row, void *field)
{
	if (!*s->args[0].text)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0], "%s cannot be empty",
				   row->arg);
	*(const char **)field = s->args[0].text;
	return XDD_OK;
}

static void store_value(const struct option *row, void *field)
{
	if (row->size == sizeof(bool))
		*(bool *)field = row->value;
	else if (row->size)
		*(int *)field = row->value;
}

/* The value of a row into its field, and the further fields that it sets. */
static enum xdd_status store(const struct setting *s, const struct option *row, void *dst)
{
	void *field = (char *)dst + row->off;
	enum xdd_status status = XDD_OK;

	switch (row->type) {
	case OPT_FLAG:
	case OPT_SET:
		store_value(row, field);
		break;
	case OPT_BIT:
		*(unsigned *)field |= (unsigned)row->value;
		break;
	case OPT_U64:
		status = store_u64(s, row, field);
		break;
	case OPT_SIZE:
		status = store_size(s, row, dst);
		break;
	case OPT_AMOUNT:
	case OPT_BLOCKS:
		status = store_amount(s, row, dst);
		break;
	case OPT_SECONDS:
		status = parse_time(s, &s->args[0], row->min, row->max, field);
		break;
	case OPT_TEXT:
		status = store_text(s, row, field);
		break;
	case OPT_CHOICE:
		status = store_choice(s, row, field);
		break;
	case OPT_CUSTOM:
	case OPT_NAMES:
	case OPT_SUB:
	case OPT_ACTION:
	case OPT_REFUSED:
		break;
	}
	if (row->sets && !s->by_default)
		*(bool *)((char *)dst + row->sets) = true;
	if (row->selects)
		*(int *)((char *)dst + row->selects) = row->value;
	return status;
}

/* The words of the other form without its name: a list of sizes and weights. */
static enum xdd_status refuse_form(const struct setting *s, const struct option *row)
{
	return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
			   "sizes with weights need the word %s: -%s %s %s", row->form->name,
			   s->opt->name, row->form->name, s->args[0].text);
}

enum xdd_status parse_apply_row(const struct setting *s, const struct option *row, void *dst)
{
	enum xdd_status status;

	if (row->form && strcmp(s->args[0].text, row->form->name) == 0)
		row = row->form;
	else if (row->form && strchr(s->args[0].text, ':'))
		return refuse_form(s, row);
	status = store(s, row, dst);
	return !status && row->apply ? row->apply(s, dst) : status;
}

enum xdd_status parse_apply(const struct setting *s, void *dst)
{
	if (s->sub && s->opt->source)
		return s->opt->source->apply(s, dst);
	return parse_apply_row(s, s->sub ? s->sub : s->opt, dst);
}

size_t option_arity_number(const struct word *args, size_t avail)
{
	uint64_t n;

	return avail && units_parse_u64(args[0].text, &n) == 0;
}

/*
 * Measures: how much of a target's pass, in time, operations, a share of them, or bytes.
 */

static const struct {
	const char *word;
	enum measure_unit unit;
	uint64_t scale;
} measures[] = {
	{ "time", MEASURE_TIME, 1 },	       { "op", MEASURE_OPS, 1 },
	{ "percent", MEASURE_PERCENT, 1 },     { "mbytes", MEASURE_BYTES, 1u << 20 },
	{ "kbytes", MEASURE_BYTES, 1u << 10 },
};

static const char *measure_at(const void *unused, size_t i)
{
	(void)unused;
	return i < sizeof(measures) / sizeof(measures[0]) ? measures[i].word : NULL;
}

static enum xdd_status read_percent(const struct setting *s, const struct word *w, uint64_t *value)
{
	if (units_parse_percent(w->text, value) || !*value)
		return parse_error(
			XDD_BAD_ARGUMENT, s, w,
			"expected a percentage above 0 and up to 100, with decimals if need be");
	return XDD_OK;
}

static enum xdd_status read_ops(const struct setting *s, const struct word *w, uint64_t *value)
{
	if (units_parse_count(w->text, value) || !*value || *value > INT64_MAX)
		return parse_error(XDD_BAD_ARGUMENT, s, w, "expected a whole number, 1 to %" PRId64,
				   INT64_MAX);
	return XDD_OK;
}

static enum xdd_status read_bytes(const struct setting *s, const struct word *w, uint64_t scale,
				  uint64_t *value)
{
	if (units_parse_amount(w->text, scale, value) || !*value || *value > INT64_MAX)
		return parse_error(XDD_BAD_ARGUMENT, s, w,
				   "expected a number, up to %" PRIu64
				   ", or bytes with a suffix, such as 16M or 10MB",
				   (uint64_t)INT64_MAX / scale);
	return XDD_OK;
}

enum xdd_status measure_read(const struct setting *s, const struct word *w, struct measure *m)
{
	for (size_t i = 0; i < sizeof(measures) / sizeof(measures[0]); i++) {
		if (strcmp(w[0].text, measures[i].word) != 0)
			continue;
		m->unit = measures[i].unit;
		if (m->unit == MEASURE_PERCENT)
			return read_percent(s, &w[1], &m->value);
		if (m->unit == MEASURE_TIME)
			return parse_time(s, &w[1], 1, PLAN_CENTURY_NS, &m->value);
		if (m->unit == MEASURE_OPS)
			return read_ops(s, &w[1], &m->value);
		return read_bytes(s, &w[1], measures[i].scale, &m->value);
	}
	return parse_error_words(s, w, measure_at, NULL);
}

/* The names of units, and the value of one. */
static const struct {
	const char *text;
	double scale;
} units[] = {
	[MEASURE_TIME] = { "seconds", 1e9 },
	[MEASURE_OPS] = { "operations", 1 },
	[MEASURE_PERCENT] = { "percent", PLAN_RATIO_ONE / 100 },
	[MEASURE_BYTES] = { "KiB", 1024 },
};

char *plan_measure_text(const struct measure *m, char *buf, size_t size)
{
	const char *text = units[m->unit].text;

	if (m->unit == MEASURE_OPS && m->value == 1)
		text = "operation";
	snprintf(buf, size, "%.12g %s", (double)m->value / units[m->unit].scale, text);
	return buf;
}
