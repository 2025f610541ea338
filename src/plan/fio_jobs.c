/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Settings to typed values by the table of fio's words, sections to jobs, jobs to groups and
 * targets, and the lines about settings that are left out.
 */
#include "plan/fio.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"

/* ---- rows ---- */

/* True of a value that says what xdd does anyway. */
static bool fio_is_usual(const struct foreign *row, const char *value)
{
	return value && (strcmp(value, "0") == 0 || strcmp(value, "none") == 0 ||
			 (row->usual && strcmp(value, row->usual) == 0));
}

/* Several rows of a word, each for some of its values, follow each other. */
static bool is_first(const struct foreign *row)
{
	return row == foreign_fio.rows || strcmp(row[-1].word, row->word) != 0;
}

const struct foreign *fio_row(size_t i)
{
	for (const struct foreign *row = foreign_fio.rows; row->word; row++) {
		if (is_first(row) && !i--)
			return row;
	}
	return NULL;
}

/* The row of a name; NULL: fio has no such option, as far as is known here. */
static const struct foreign *fio_row_of(const char *name)
{
	/* A form that fio takes, too; -threads of xdd is something else. */
	if (strcmp(name, "threads") == 0)
		name = "thread";
	for (const struct foreign *row = foreign_fio.rows; row->word; row++) {
		if (strcmp(row->word, name) == 0)
			return row;
	}
	return NULL;
}

enum fio_type fio_type_of(const struct foreign *row)
{
	if (row->type == FIO_LINE)
		return FIO_LEFT_OUT;
	if (row->type != FIO_BY_SAY)
		return (enum fio_type)row->type;
	return row->say ? FIO_LEFT_OUT : FIO_CHANGES;
}

bool fio_is_setting(const char *name, const char **word, bool *is_switch)
{
	const struct foreign *row = fio_row_of(name);

	if (!row)
		return false;
	*word = row->word;
	*is_switch = fio_type_of(row) == FIO_BOOL;
	return true;
}

static const char *fio_reason(struct arena *arena, const struct foreign *row)
{
	const char *say = row->shown ? row->shown : row->say;

	if (row->note)
		return row->note;
	return say && *say ? xarena_printf(arena, "a run has %s for it", say) : "it is not needed";
}

/* ---- notes ---- */

static void add(struct fio_file *f, struct fio_group *g, bool left_out, const char *section,
		const struct fio_setting *setting, const char *text)
{
	struct fio_note *note = xarena_alloc(f->arena, sizeof(*note));

	note->left_out = left_out;
	note->section = section;
	note->setting = setting;
	note->text = text;
	*g->notes_end = note;
	g->notes_end = &note->next;
}

static void fio_leave_setting(struct fio_file *f, struct fio_group *g, struct fio_setting *s,
			      const char *text)
{
	if (s->listed)
		return;
	s->listed = true;
	add(f, g, true, s->section, s, text);
}

static bool fio_may_leave(const struct fio_file *f, const char *name)
{
	const size_t len = strlen(name);

	for (const char *at = f->leave; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		if (strncmp(at, name, len) == 0 && (!at[len] || at[len] == ','))
			return true;
	}
	return false;
}

static int fio_refuse_setting(struct fio_file *f, struct fio_group *g, struct fio_setting *s,
			      const char *text)
{
	if (fio_may_leave(f, s->name)) {
		fio_leave_setting(f, g, s, text);
		return 0;
	}
	f->refused = s;
	return fio_fail(f, s->path, s->line,
			"%.60s%s%.60s: %s; -leaveout %.60s translates without it", s->name,
			s->value ? "=" : "", s->value ? s->value : "", text, s->name);
}

/* The words about a setting. NULL: it is not set, or listed already. */
static const char *words_about(struct fio_file *f, const struct fio_setting *s, const char *fmt,
			       va_list ap)
{
	return s && !s->listed ? xneed(arena_vprintf(f->arena, fmt, ap)) : NULL;
}

int fio_refuse(const struct fio_map *m, const struct fio_job *j, enum fio_option option,
	       const char *fmt, ...)
{
	struct fio_setting *s = j->v[option].setting;
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = words_about(m->file, s, fmt, ap);
	va_end(ap);
	return text ? fio_refuse_setting(m->file, m->group, s, text) : 0;
}

void fio_leave(const struct fio_map *m, const struct fio_job *j, enum fio_option option,
	       const char *fmt, ...)
{
	struct fio_setting *s = j->v[option].setting;
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = words_about(m->file, s, fmt, ap);
	va_end(ap);
	if (text)
		fio_leave_setting(m->file, m->group, s, text);
}

void fio_note(const struct fio_map *m, const struct fio_job *j, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = xneed(arena_vprintf(m->file->arena, fmt, ap));
	va_end(ap);
	for (const struct fio_note *n = m->group->notes; n; n = n->next) {
		if (!n->left_out && strcmp(n->text, text) == 0)
			return;
	}
	add(m->file, m->group, false, j->name, NULL, text);
}

int fio_fail_job(const struct fio_map *m, const struct fio_job *j, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return fio_fail(m->file, j->section->path, j->section->line, "[%.60s]: %s", j->name, text);
}

/* ---- jobs ---- */

#define PERCENT_MAX 100

struct reader {
	struct fio_file *file;
	struct fio_job *job; /* whose values are set */
	struct fio_group *group;
	unsigned kb_base;
};

bool fio_is_set(const struct fio_job *j, enum fio_option option)
{
	return j->v[option].setting;
}

uint64_t fio_number(const struct fio_job *j, enum fio_option option, uint64_t otherwise)
{
	return fio_is_set(j, option) ? j->v[option].n : otherwise;
}

const char *fio_text(const struct fio_job *j, enum fio_option option, const char *otherwise)
{
	return fio_is_set(j, option) ? j->v[option].setting->value : otherwise;
}

/* ---- values ---- */

/* Up to three sizes with commas: reads, writes, trims. The last of one or two is for the rest. */
static int parse_list(const char *text, unsigned kb_base, struct fio_value *v)
{
	uint64_t sizes[3] = { 0, 0, 0 };

	for (size_t i = 0; i < 3; i++) {
		size_t n = strcspn(text, ",");
		char word[32];
		int err;

		if (n >= sizeof(word))
			return -EINVAL;
		memcpy(word, text, n);
		word[n] = '\0';
		err = n ? fio_parse_bytes(word, kb_base, &sizes[i]) : 0;
		if (err)
			return err;
		text += n;
		if (!*text) {
			for (size_t k = i + 1; k < 3; k++)
				sizes[k] = sizes[i];
			v->n = sizes[0];
			v->write = sizes[1];
			v->trim = sizes[2];
			return 0;
		}
		text++;
	}
	return -EINVAL;
}

static int parse_amount(const char *text, unsigned kb_base, struct fio_value *v, bool may_range,
			bool may_be_zero)
{
	size_t n = strlen(text);
	const char *range = may_range ? strpbrk(text, "-,") : NULL;
	char word[32];
	int err;

	if (n && text[n - 1] == '%') {
		if (n >= sizeof(word))
			return -EINVAL;
		memcpy(word, text, n - 1);
		word[n - 1] = '\0';
		err = fio_parse_bytes(word, kb_base, &v->n);
		if (err || (v->n == 0 && !may_be_zero) || v->n > PERCENT_MAX)
			return err ? err : -ERANGE;
		v->percent = (unsigned)v->n;
		return 0;
	}
	/* Of a range of sizes, the last. */
	return fio_parse_bytes(range ? range + 1 : text, kb_base, &v->n);
}

static int parse_bool(const char *text, struct fio_value *v)
{
	if (!text || strcmp(text, "1") == 0)
		v->n = 1;
	else if (strcmp(text, "0") == 0)
		v->n = 0;
	else
		return -EINVAL;
	return 0;
}

static int parse_value(const struct reader *r, const struct foreign *row, const char *text,
		       struct fio_value *v)
{
	if (row->type == FIO_BOOL)
		return parse_bool(text, v);
	if ((!text || !*text) && row->type == FIO_PREFIX)
		return 0;
	if (!text || !*text)
		return -EINVAL;
	switch (row->type) {
	case FIO_COUNT:
		return fio_parse_bytes(text, r->kb_base, &v->n);
	case FIO_BYTES:
		return parse_list(text, r->kb_base, v);
	case FIO_AMOUNT:
		return parse_amount(text, r->kb_base, v, row->option == FIO_FILESIZE,
				    row->option == FIO_OFFSET ||
					    row->option == FIO_OFFSET_INCREMENT);
	case FIO_SECONDS:
		return fio_parse_time(text, NS_PER_SEC, &v->n);
	case FIO_USEC:
		return fio_parse_time(text, NS_PER_US, &v->n);
	default:
		return 0;
	}
}

/* A second filename, also one after [global], adds to the list of the first. */
static struct fio_setting *add_names(struct arena *arena, const struct fio_setting *s,
				     const struct fio_setting *before)
{
	struct fio_setting *both = xarena_alloc(arena, sizeof(*both));

	*both = *s;
	both->value = xarena_printf(arena, "%s:%s", before->value, s->value);
	return both;
}

/* Of rwmixread and rwmixwrite the later one counts. */
static void override_mix(struct reader *r, enum fio_option option)
{
	const enum fio_option other = option == FIO_RWMIXREAD  ? FIO_RWMIXWRITE :
				      option == FIO_RWMIXWRITE ? FIO_RWMIXREAD :
								 option;
	struct fio_value *v = &r->job->v[other];

	if (other == option || !v->setting)
		return;
	fio_leave_setting(r->file, r->group, v->setting,
			  option == FIO_RWMIXREAD ? "rwmixread, which comes later, counts" :
						    "rwmixwrite, which comes later, counts");
	*v = (struct fio_value){ 0 };
}

static int read_setting(struct reader *r, struct fio_setting *s)
{
	static const char *const expected[] = {
		[FIO_LEFT_OUT] = "", /* any value */
		[FIO_CHANGES] = "",
		[FIO_TEXT] = "a value",
		[FIO_PREFIX] = "a value",
		[FIO_BOOL] = "0 or 1",
		[FIO_COUNT] = "a number",
		[FIO_BYTES] = "numbers for reads and writes, such as 4k or 4k,8k",
		[FIO_AMOUNT] = "bytes or a percentage, such as 1g or 50%",
		[FIO_SECONDS] = "a time, such as 30, 10s or 1m",
		[FIO_USEC] = "a time, such as 100 (us), 10ms or 1s",
	};
	const struct foreign *row = fio_row_of(s->name);
	struct fio_value v = { .setting = s };
	enum fio_type type;
	int err;

	if (!row)
		return fio_refuse_setting(r->file, r->group, s,
					  "is not an option of fio, as far as xdd knows");
	type = fio_type_of(row);
	if (type == FIO_LEFT_OUT || type == FIO_CHANGES) {
		const char *why = fio_reason(r->file->arena, row);

		if (type == FIO_CHANGES && !fio_is_usual(row, s->value))
			return fio_refuse_setting(r->file, r->group, s, why);
		fio_leave_setting(r->file, r->group, s, why);
		return 0;
	}
	err = parse_value(r, row, s->value, &v);
	if (err)
		return fio_fail(r->file, s->path, s->line, "%.60s%s%.60s: %s %s", s->name,
				s->value ? "=" : "", s->value ? s->value : "",
				err == -ERANGE ? "is out of range; expected" : "expected",
				expected[row->type]);
	if (row->option == FIO_FILENAME && r->job->v[FIO_FILENAME].setting)
		v.setting = add_names(r->file->arena, s, r->job->v[FIO_FILENAME].setting);
	override_mix(r, row->option);
	r->job->v[row->option] = v;
	return 0;
}

/* The base counts for all sizes of its section, before it too. */
static int read_base(struct reader *r, const struct fio_section *section)
{
	for (struct fio_setting *s = section->settings; s; s = s->next) {
		const struct foreign *row = fio_row_of(s->name);

		if (!row || row->option != FIO_KB_BASE)
			continue;
		if (s->value && strcmp(s->value, "1000") == 0)
			r->kb_base = 1000;
		else if (s->value && strcmp(s->value, "1024") == 0)
			r->kb_base = 1024;
		else
			return fio_fail(r->file, s->path, s->line,
					"kb_base: expected 1000 or 1024");
	}
	return 0;
}

static int read_section(struct reader *r, const struct fio_section *section)
{
	int err = read_base(r, section);

	for (struct fio_setting *s = section->settings; !err && s; s = s->next)
		err = read_setting(r, s);
	return err;
}

/* ---- groups ---- */

static struct fio_group *group_new(struct fio_file *f)
{
	struct fio_group *g = xarena_alloc(f->arena, sizeof(*g));

	g->jobs_end = &g->jobs;
	g->notes_end = &g->notes;
	g->commands_end = &g->commands;
	return g;
}

/*
 * True if the jobs of a section wait for those before them: by a stonewall, or for one of them by
 * name.
 */
static bool begins_group(const struct fio_job *global, const struct fio_section *section)
{
	bool begins = fio_number(global, FIO_STONEWALL, 0) != 0;

	for (const struct fio_setting *s = section->settings; s; s = s->next) {
		const struct foreign *row = fio_row_of(s->name);

		if (row && row->option == FIO_STONEWALL)
			begins = !s->value || strcmp(s->value, "0") != 0;
		else if (row && row->option == FIO_WAIT_FOR)
			return true;
	}
	return begins;
}

/* Notes on the settings of [global] belong to the next job. */
static void move_notes(struct fio_group *from, struct fio_group *to)
{
	if (!from->notes)
		return;
	*to->notes_end = from->notes;
	to->notes_end = from->notes_end;
	from->notes = NULL;
	from->notes_end = &from->notes;
}

static int add_job(struct reader *r, const struct fio_section *section,
		   const struct fio_job *global, struct fio_group **last)
{
	struct fio_job *j = xarena_alloc(r->file->arena, sizeof(*j));
	struct fio_group *g = *last;
	int err;

	if (g->jobs && begins_group(global, section)) {
		g->next = group_new(r->file);
		*last = g = g->next;
	}
	move_notes(r->group, g);
	memcpy(j->v, global->v, sizeof(j->v));
	j->section = section;
	*g->jobs_end = j;
	g->jobs_end = &j->next;
	err = read_section(&(struct reader){ r->file, j, g, r->kb_base }, section);
	j->name = fio_text(j, FIO_NAME, section->name);
	return err;
}

int fio_jobs(struct fio_file *f, struct fio_group **groups)
{
	struct fio_job *global = xarena_alloc(f->arena, sizeof(*global));
	struct fio_group *first = group_new(f), *last = first;
	struct reader r = { f, global, group_new(f), 1024 };
	int err = 0;

	for (const struct fio_section *s = f->sections; !err && s; s = s->next)
		err = s->global ? read_section(&r, s) : add_job(&r, s, global, &last);
	*groups = first->jobs ? first : NULL;
	return err;
}

/* ---- the script ---- */

static void put_descriptions(FILE *out, const struct fio_group *g)
{
	for (const struct fio_job *j = g->jobs; j; j = j->next) {
		const char *text = fio_text(j, FIO_DESCRIPTION, NULL);

		if (!text)
			continue;
		fputs("# ", out);
		printable_put(out, j->name);
		fputs(": ", out);
		printable_put(out, text);
		fputc('\n', out);
	}
}

static void put_setting(FILE *out, const struct fio_setting *s)
{
	printable_put(out, s->name);
	if (s->value) {
		fputc('=', out);
		printable_put(out, s->value);
	}
	fputs(" (", out);
	printable_put(out, s->path);
	fprintf(out, ":%u): ", s->line);
}

static void put_notes(FILE *out, const struct fio_group *g, bool left_out)
{
	for (const struct fio_note *n = g->notes; n; n = n->next) {
		if (n->left_out != left_out)
			continue;
		fprintf(out, "# %s: [", left_out ? "left out" : "note");
		printable_put(out, n->section);
		fputs("] ", out);
		if (n->setting)
			put_setting(out, n->setting);
		printable_put(out, n->text);
		fputc('\n', out);
	}
}

static void print_group(FILE *out, const struct fio_group *g)
{
	for (const struct fio_command *c = g->commands; c; c = c->next) {
		fputs("# ", out);
		printable_put(out, c->title);
		fputc('\n', out);
		if (c->stage == FIO_RUN)
			put_descriptions(out, g);
		fprintf(out, "%s\n", c->line);
	}
	if (!g->commands) {
		fputs("# no command for", out);
		for (const struct fio_job *j = g->jobs; j; j = j->next) {
			fputs(j == g->jobs ? " " : ", ", out);
			printable_put(out, j->name);
		}
		fputc('\n', out);
	}
	put_notes(out, g, false);
	put_notes(out, g, true);
	if (g->next)
		fputc('\n', out);
}

void fio_print(FILE *out, const struct fio_group *groups)
{
	for (; groups; groups = groups->next)
		print_group(out, groups);
}

/* ---- targets: one for each file of each clone, with what depends on its kind ---- */

/* The directions of rw=; false: xdd has no such operation. */
static bool map_directions(const char *rw, struct fio_target *t)
{
	size_t n = strcspn(rw, ":");
	static const struct {
		const char *name;
		bool reads, writes, random, discards;
	} words[] = {
		{ "read", true, false, false, false },	  { "write", false, true, false, false },
		{ "randread", true, false, true, false }, { "randwrite", false, true, true, false },
		{ "rw", true, true, false, false },	  { "readwrite", true, true, false, false },
		{ "randrw", true, true, true, false },	  { "trim", false, false, false, true },
		{ "randtrim", false, false, true, true },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i].name) != n || strncmp(rw, words[i].name, n) != 0)
			continue;
		t->reads = words[i].reads;
		t->writes = words[i].writes;
		t->random = words[i].random;
		t->discards = words[i].discards;
		return true;
	}
	return false;
}

/*
 * The number after the colon of rw=: of sequential requests the bytes between two of them, of
 * random ones how many follow each other.
 */
static int map_number(struct fio_map *m, const struct fio_job *j, struct fio_target *t,
		      const char *text)
{
	const unsigned kb_base = (unsigned)fio_number(j, FIO_KB_BASE, 1024);
	uint64_t n;

	if (!text || strcmp(text, ":0") == 0 || (t->random && strcmp(text, ":1") == 0))
		return 0;
	if (t->random)
		return fio_refuse(m, j, FIO_RW,
				  "each random request of xdd has an offset of its own");
	if (text[1] == '-')
		return fio_refuse(m, j, FIO_RW, "xdd does not go backwards");
	if (fio_parse_bytes(text + 1, kb_base, &n))
		return fio_refuse(m, j, FIO_RW, "expected bytes after the colon, such as 12k");
	t->stride = n;
	return 0;
}

static int map_kind(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	static const struct {
		enum fio_option option;
		const char *why;
	} never[] = {
		{ FIO_OPENDIR, "expected the names of files (filename)" },
		{ FIO_PROFILE, "xdd has no profiles" },
		{ FIO_READ_IOLOG, "-seek load <file> reads lists of xdd" },
	};
	const char *rw = fio_text(j, FIO_RW, "read");
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(never) / sizeof(never[0]); i++)
		err = fio_refuse(m, j, never[i].option, "%s", never[i].why);
	if (!err && !fio_number(j, FIO_ALLOW_FILE_CREATE, 1))
		err = fio_refuse(m, j, FIO_ALLOW_FILE_CREATE,
				 "xdd creates the files of a job that are missing");
	if (!err && !fio_has_engine(j))
		err = fio_refuse(m, j, FIO_IOENGINE,
				 "xdd has no engine like this one; -ioengine list shows its own");
	if (err)
		return err;
	fio_leave(m, j, FIO_ALLOW_FILE_CREATE, "xdd creates the files of a job that are missing");
	if (!map_directions(rw, t)) {
		if (strncmp(rw, "trimwrite", 9) != 0 && strncmp(rw, "randtrimwrite", 13) != 0)
			return fio_fail(m->file, j->v[FIO_RW].setting->path,
					j->v[FIO_RW].setting->line,
					"rw=%.60s: expected read, write, rw, trim, or one of "
					"these with rand before it",
					rw);
		map_directions("read", t);
		return fio_refuse(m, j, FIO_RW, "xdd discards or writes, and does not alternate");
	}
	err = map_number(m, j, t, strchr(rw, ':'));
	return err ? err : fio_map_mix(m, j, t);
}

static int map_depth(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	const struct fio_engine *e = fio_engine(j);
	uint64_t depth = fio_number(j, FIO_IODEPTH, 1), files = fio_files(j);

	if (depth > 65536)
		return fio_fail(m->file, j->section->path, j->v[FIO_IODEPTH].setting->line,
				"iodepth: expected 65536 at most");
	if (depth > 1 && e->one && !(m->file->typed && !fio_is_set(j, FIO_IOENGINE))) {
		fio_leave(m, j, FIO_IODEPTH,
			  "ioengine=%s has one operation outstanding at a time, in fio too; "
			  "-queuedepth is for each engine of xdd",
			  e->name);
		return 0;
	}
	if (depth > 1 && files > 1) {
		depth = (depth + files - 1) / files;
		fio_note(m, j, "the files share iodepth=%s: -queuedepth is %u for each",
			 fio_text(j, FIO_IODEPTH, ""), (unsigned)depth);
	}
	if (depth > 1)
		fio_put(m, t, SLOT_QUEUEDEPTH, "-queuedepth", "%u", (unsigned)depth);
	return 0;
}

/* Options that depend on the kind of the file. */
static void map_file(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	const struct fio_known *k = fio_known(m, t->path);
	const char *how = fio_text(j, FIO_FALLOCATE, "none");
	bool allocate = strcmp(how, "native") == 0 || strcmp(how, "posix") == 0 ||
			strcmp(how, "keep") == 0 || strcmp(how, "1") == 0;
	char size[FIO_SIZE_SIZE];

	if (allocate && t->writes && k->is_file && t->end_bytes)
		fio_put(m, t, SLOT_PREALLOCATE, "-preallocate", "%s",
			fio_size_text(t->end_bytes, size));
	else if (strcmp(how, "none") != 0 && strcmp(how, "0") != 0)
		fio_leave(m, j, FIO_FALLOCATE,
			  "files that are read are written first; -preallocate and "
			  "-pretruncate are for files that are written");
	if (fio_number(j, FIO_UNLINK, 0) && k->is_file)
		fio_put(m, t, SLOT_DELETE, "-deletefile", "%s", "");
}

static struct fio_target *target_new(struct fio_map *m)
{
	m->targets = xarray_room(m->targets, m->n_targets, sizeof(*m->targets));
	memset(&m->targets[m->n_targets], 0, sizeof(*m->targets));
	return &m->targets[m->n_targets++];
}

static int map_target(struct fio_map *m, const struct fio_job *j, const struct fio_target *kind,
		      size_t clone, size_t file)
{
	struct fio_target *t = target_new(m);
	const struct fio_known *k;
	int err;

	*t = *kind;
	t->job = j;
	t->path = fio_path(m, j, clone, file);
	if (!*t->path)
		return fio_fail_job(m, j, "filename: expected names with colons between them");
	if (strcmp(t->path, "./-") == 0)
		return fio_fail_job(m, j, "standard input and output are no targets");
	k = fio_known(m, t->path);
	if (t->discards && k->is_file)
		return fio_fail_job(m, j,
				    "fio discards blocks of devices only, and %.200s is a file; "
				    "-op discard makes holes in it",
				    k->path);
	err = fio_map_amount(m, j, t, clone, file);
	if (!err)
		err = map_depth(m, j, t);
	if (!err)
		err = fio_map_options(m, j, t);
	if (!err)
		map_file(m, j, t);
	return err;
}

/* Settings that have no effect without others, or with them. */
static int leave_unused(struct fio_map *m, const struct fio_job *j, const struct fio_target *kind)
{
	bool named = fio_is_set(j, FIO_FILENAME), verify = fio_is_set(j, FIO_VERIFY);
	bool logs = fio_is_set(j, FIO_WRITE_BW_LOG) || fio_is_set(j, FIO_WRITE_IOPS_LOG) ||
		    fio_is_set(j, FIO_WRITE_LAT_LOG);
	bool one_size = !strpbrk(fio_text(j, FIO_FILESIZE, ""), "-,");
	const struct {
		enum fio_option option;
		bool unused;
		const char *why;
	} all[] = {
		{ FIO_NRFILES, named, "filename names the files" },
		{ FIO_FILENAME_FORMAT, named, "filename names the files" },
		{ FIO_WAIT_FOR, true, "the job waits for all jobs before it, as with stonewall" },
		{ FIO_DO_VERIFY, !verify, "has no verify beside it" },
		{ FIO_DO_VERIFY, kind->reads, "reads are verified as they are done" },
		{ FIO_VERIFY_PATTERN, !verify, "has no verify beside it" },
		{ FIO_VERIFY_ONLY, !kind->writes, "is for jobs that write" },
		{ FIO_OVERWRITE, kind->reads, "is for jobs that only write" },
		{ FIO_LOG_AVG_MSEC, !logs, "has no write_lat_log or the like beside it" },
		{ FIO_OFFSET_ALIGN,
		  !j->v[FIO_OFFSET].percent && !j->v[FIO_OFFSET_INCREMENT].percent,
		  "has no offset in percent beside it" },
		{ FIO_OFFSET_INCREMENT, fio_number(j, FIO_NUMJOBS, 1) <= 1,
		  "has no numjobs beside it" },
	};
	int err = one_size ? 0 :
			     fio_refuse(m, j, FIO_FILESIZE,
					"the files have one size, the largest of the range");

	if (err)
		return err;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i].unused)
			fio_leave(m, j, all[i].option, "%s", all[i].why);
	}
	return 0;
}

int fio_map_job(struct fio_map *m, const struct fio_job *j)
{
	uint64_t clones = fio_number(j, FIO_NUMJOBS, 1), files;
	struct fio_target kind = { 0 };
	int err = map_kind(m, j, &kind);

	if (!err)
		err = leave_unused(m, j, &kind);
	if (err)
		return err;
	if (fio_number(j, FIO_VERIFY_ONLY, 0)) {
		kind.reads = true;
		kind.writes = false;
	}
	kind.overwrite = fio_number(j, FIO_OVERWRITE, 0);
	clones = clones ? clones : 1;
	files = fio_files(j);
	if (clones > FIO_TARGETS_MAX || files > FIO_TARGETS_MAX ||
	    m->n_targets + clones * files > FIO_TARGETS_MAX ||
	    m->all_targets + clones * files > FIO_ALL_TARGETS_MAX)
		return fio_fail_job(m, j,
				    "numjobs and files make more targets than the 1024 of a "
				    "command, or the 20000 of all");
	m->all_targets += clones * files;
	for (uint64_t clone = 0; !err && clone < clones; clone++) {
		for (uint64_t file = 0; !err && file < files; file++)
			err = map_target(m, j, &kind, clone, file);
	}
	return err;
}
