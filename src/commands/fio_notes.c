/*
 * The lines about settings that are left out, and about differences. Called where jobs are read and
 * mapped.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "commands/fio.h"

static const char *format(struct arena *arena, const char *fmt, va_list ap)
{
	char *text = NULL;
	const char *copy;

	if (vasprintf(&text, fmt, ap) < 0)
		return NULL;
	copy = arena_strdup(arena, text);
	free(text);
	return copy;
}

static int add(struct fio_file *f, struct fio_group *g, bool left_out, const char *section,
	       const struct fio_setting *setting, const char *text)
{
	struct fio_note *note = arena_alloc(f->arena, sizeof(*note));

	if (!note || !text)
		return -ENOMEM;
	note->left_out = left_out;
	note->section = section;
	note->setting = setting;
	note->text = text;
	*g->notes_end = note;
	g->notes_end = &note->next;
	return 0;
}

int fio_leave_setting(struct fio_file *f, struct fio_group *g, struct fio_setting *s,
		      const char *text)
{
	if (s->listed)
		return 0;
	s->listed = true;
	return add(f, g, true, s->section, s, text);
}

bool fio_may_leave(const struct fio_file *f, const char *name)
{
	const size_t len = strlen(name);

	for (const char *at = f->leave; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		if (strncmp(at, name, len) == 0 && (!at[len] || at[len] == ','))
			return true;
	}
	return false;
}

int fio_refuse_setting(struct fio_file *f, struct fio_group *g, struct fio_setting *s,
		       const char *text)
{
	if (fio_may_leave(f, s->name))
		return fio_leave_setting(f, g, s, text);
	return fio_fail(f, s->path, s->line,
			"%.60s%s%.60s: %s; -leaveout %.60s translates without it", s->name,
			s->value ? "=" : "", s->value ? s->value : "", text, s->name);
}

/* List a setting, or refuse it, by `act`: once, and only if it is set. */
static int list(struct fio_file *f, struct fio_group *g, struct fio_setting *s,
		int (*act)(struct fio_file *, struct fio_group *, struct fio_setting *,
			   const char *),
		const char *fmt, va_list ap)
{
	const char *text;

	if (!s || s->listed)
		return 0;
	text = format(f->arena, fmt, ap);
	return text ? act(f, g, s, text) : -ENOMEM;
}

int fio_refuse(struct fio_file *f, struct fio_group *g, const struct fio_job *j,
	       enum fio_option option, const char *fmt, ...)
{
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = list(f, g, j->v[option].setting, fio_refuse_setting, fmt, ap);
	va_end(ap);
	return err;
}

int fio_leave(struct fio_file *f, struct fio_group *g, const struct fio_job *j,
	      enum fio_option option, const char *fmt, ...)
{
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = list(f, g, j->v[option].setting, fio_leave_setting, fmt, ap);
	va_end(ap);
	return err;
}

int fio_note(struct fio_file *f, struct fio_group *g, const struct fio_job *j, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = format(f->arena, fmt, ap);
	va_end(ap);
	if (!text)
		return -ENOMEM;
	for (const struct fio_note *n = g->notes; n; n = n->next) {
		if (!n->left_out && strcmp(n->text, text) == 0)
			return 0;
	}
	return add(f, g, false, j->name, NULL, text);
}
