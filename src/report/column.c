/*
 * Looking columns up by their identifiers, and -outputformat as a list of them.
 *
 * Called by report_check() and report_open(), and by the help.
 */
#include "xdd/report/column.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/text.h"

/* Take the next word of `*words` (separated by blanks; NULL: none): its length, 0 at the end. */
static size_t next_word(const char **words, const char **word)
{
	size_t len;

	if (!*words)
		return 0;
	*word = *words + strspn(*words, " ");
	len = strcspn(*word, " ");
	*words = *word + len;
	return len;
}

static bool has_id(const struct column *col, const char *id, size_t len)
{
	const char *aliases = col->aliases, *alias;
	size_t alias_len;

	if (strlen(col->id) == len && memcmp(col->id, id, len) == 0)
		return true;
	while ((alias_len = next_word(&aliases, &alias)) > 0) {
		if (alias_len == len && memcmp(alias, id, len) == 0)
			return true;
	}
	return false;
}

const struct column *column_find(const char *id, size_t len)
{
	const struct column *col;

	for (size_t i = 0; (col = column_at(i)) != NULL; i++) {
		if (has_id(col, id, len))
			return col;
	}
	return NULL;
}

void column_value(const struct column *col, const struct result *r, struct column_value *v)
{
	*v = (struct column_value){ .unknown = (col->needs & ~r->figures.known) != 0 };
	if (!v->unknown)
		col->get(r, v);
}

/* How far `id` is from the nearest of the column's identifiers. */
static unsigned column_distance(const struct column *col, const char *id, size_t len)
{
	const char *aliases = col->aliases, *alias;
	unsigned best = suggest_distance(id, len, col->id);
	size_t alias_len;

	while ((alias_len = next_word(&aliases, &alias)) > 0) {
		char word[32];
		unsigned d;

		if (alias_len >= sizeof(word))
			continue;
		memcpy(word, alias, alias_len);
		word[alias_len] = '\0';
		d = suggest_distance(id, len, word);
		if (d < best)
			best = d;
	}
	return best;
}

const char *column_suggest(const char *id, size_t len)
{
	const struct column *col, *nearest = NULL;
	unsigned best = 0;

	for (size_t i = 0; (col = column_at(i)) != NULL; i++) {
		unsigned d = column_distance(col, id, len);

		if (!nearest || d < best) {
			nearest = col;
			best = d;
		}
	}
	return nearest && suggest_is_near(best, len) ? nearest->id : NULL;
}

/* Room for the lists and, after them, the identifiers of `format` as strings. */
static int list_alloc(struct column_list *list, const char *format, char **text)
{
	size_t n = 0, size = strlen(format) + 1;

	for (const char *p = format; *p; p++)
		n += *p == '+';
	list->n = 0;
	list->names = NULL;
	list->columns = malloc(n * (sizeof(*list->columns) + sizeof(*list->names)) + size);
	if (!list->columns)
		return -ENOMEM;
	list->names = (const char **)(list->columns + n);
	*text = memcpy(list->names + n, format, size);
	return 0;
}

int column_list_parse(struct column_list *list, const char *format, const char **bad,
		      size_t *bad_len)
{
	const char *p = format;
	char *text;
	int err = list_alloc(list, format, &text);

	if (err)
		return err;
	do {
		const struct column *col = NULL;
		bool plus = *p == '+';
		size_t len;

		p += plus;
		len = strcspn(p, "+");
		if (plus)
			col = column_find(p, len);
		if (!col) {
			*bad = p;
			*bad_len = len;
			column_list_free(list);
			return -EINVAL;
		}
		list->columns[list->n] = col;
		list->names[list->n++] = text + (p - format);
		p += len;
		text[p - format] = '\0';
	} while (*p);
	return 0;
}

void column_list_free(struct column_list *list)
{
	free(list->columns);
	list->columns = NULL;
	list->names = NULL;
	list->n = 0;
}
