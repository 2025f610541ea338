/*
 * Settings to typed values, sections to jobs, jobs to groups. Called by the command.
 */
#include <string.h>

#include "commands/fio.h"
#include "xdd/base/nstime.h"

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

		if (!why)
			return -ENOMEM;
		return type == FIO_CHANGES && !fio_is_usual(row, s->value) ?
			       fio_refuse_setting(r->file, r->group, s, why) :
			       fio_leave_setting(r->file, r->group, s, why);
	}
	err = parse_value(r, row, s->value, &v);
	if (err)
		return fio_fail(r->file, s->path, s->line, "%.60s%s%.60s: %s %s", s->name,
				s->value ? "=" : "", s->value ? s->value : "",
				err == -ERANGE ? "is out of range; expected" : "expected",
				expected[row->type]);
	r->job->v[row->option] = v;
	return 0;
}

/* The base counts for all sizes of its section, before it too. */
static int read_base(struct reader *r, const struct fio_section *section)
{
	for (struct fio_setting *s = section->settings; s; s = s->next) {
		if (strcmp(s->name, "kb_base") != 0)
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
	struct fio_group *g = arena_alloc(f->arena, sizeof(*g));

	if (!g)
		return NULL;
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
	struct fio_job *j = arena_alloc(r->file->arena, sizeof(*j));
	struct fio_group *g = *last;
	int err;

	if (!j)
		return -ENOMEM;
	if (g->jobs && begins_group(global, section)) {
		g->next = group_new(r->file);
		*last = g = g->next;
		if (!g)
			return -ENOMEM;
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
	struct fio_job *global = arena_alloc(f->arena, sizeof(*global));
	struct fio_group *first = group_new(f), *last = first;
	struct reader r = { f, global, group_new(f), 1024 };
	int err = 0;

	if (!global || !first || !r.group)
		return -ENOMEM;
	for (const struct fio_section *s = f->sections; !err && s; s = s->next)
		err = s->global ? read_section(&r, s) : add_job(&r, s, global, &last);
	*groups = first->jobs ? first : NULL;
	return err;
}
