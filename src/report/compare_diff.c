/*
 * The differences between two JSON values, for people. Called by compare.c.
 */
#include <stdlib.h>
#include <string.h>

#include "xdd/base/text.h"
#include "xdd/report/compare.h"
#include "xdd/report/jvalue.h"

#define PATH_SIZE 256
#define PATH_WIDTH 46

struct diff {
	FILE *f;
	const char *const *skip;
	size_t n;
};

static bool is_left_out(const struct diff *d, const char *key)
{
	for (const char *const *s = d->skip; *s; s++) {
		if (strcmp(*s, key) == 0)
			return true;
	}
	return false;
}

/* A list of plain values is one value: the words of an option. */
static bool is_plain(const json_t *value)
{
	const json_t *element;
	size_t i;

	if (json_is_object(value))
		return false;
	json_array_foreach(value, i, element)
	{
		if (json_is_object(element) || json_is_array(element))
			return false;
	}
	return true;
}

static void show(FILE *f, const json_t *value)
{
	const json_t *element;
	size_t i;

	if (!value || json_is_null(value)) {
		fputs("(none)", f);
	} else if (json_is_string(value) && !json_string_length(value)) {
		fputs("(empty)", f);
	} else if (!is_plain(value)) {
		fputs("(there)", f);
	} else if (json_is_array(value)) {
		json_array_foreach(value, i, element)
		{
			if (i)
				fputc(' ', f);
			show(f, element);
		}
	} else {
		jvalue_write(f, value);
	}
}

static void line(struct diff *d, const char *path, const json_t *a, const json_t *b)
{
	const size_t width = printable_is_safe(path) ? strlen(path) : PATH_WIDTH;

	fputs("  ", d->f);
	printable_put(d->f, path);
	fprintf(d->f, "%*s  ", width < PATH_WIDTH ? (int)(PATH_WIDTH - width) : 0, "");
	show(d->f, a);
	fputs(" -> ", d->f);
	show(d->f, b);
	fputc('\n', d->f);
	d->n++;
}

/* `path` and one name more, with blanks for underscores. */
static void deeper(char *buf, const char *path, const char *name)
{
	snprintf(buf, PATH_SIZE, "%s%s%s", path, *path ? " " : "", name);
	for (char *c = buf; *c; c++) {
		if (*c == '_')
			*c = ' ';
	}
}

static void walk(struct diff *d, const char *path, const json_t *a, const json_t *b);

static void walk_member(struct diff *d, const char *path, const char *key, const json_t *a,
			const json_t *b)
{
	char buf[PATH_SIZE];

	if (is_left_out(d, key))
		return;
	deeper(buf, path, key);
	walk(d, buf, a, b);
}

/* In the order of a, then what b alone has. */
static void walk_object(struct diff *d, const char *path, json_t *a, json_t *b)
{
	const char *key;
	json_t *value;

	json_object_foreach(a, key, value)
		walk_member(d, path, key, value, json_object_get(b, key));
	json_object_foreach(b, key, value)
	{
		if (!json_object_get(a, key))
			walk_member(d, path, key, NULL, value);
	}
}

static void walk_array(struct diff *d, const char *path, const json_t *a, const json_t *b)
{
	size_t na = json_array_size(a), nb = json_array_size(b);

	for (size_t i = 0; i < na || i < nb; i++) {
		char number[24];

		snprintf(number, sizeof(number), "%zu", i);
		walk_member(d, path, number, json_array_get(a, i), json_array_get(b, i));
	}
}

static void walk(struct diff *d, const char *path, const json_t *a, const json_t *b)
{
	if (a && b && json_equal((json_t *)a, (json_t *)b))
		return;
	if ((!a || json_is_null(a)) && (!b || json_is_null(b)))
		return;
	if (json_is_object(a) && json_is_object(b))
		walk_object(d, path, (json_t *)a, (json_t *)b);
	else if (json_is_array(a) && json_is_array(b) && !(is_plain(a) && is_plain(b)))
		walk_array(d, path, a, b);
	else
		line(d, path, a, b);
}

size_t compare_diff(FILE *f, const json_t *a, const json_t *b, const char *const *skip)
{
	struct diff d = { .f = f, .skip = skip };

	walk(&d, "", a, b);
	return d.n;
}
