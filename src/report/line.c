/*
 * Cells and lines of the result table; see the header. Called by report.c and csv.c.
 */
#include "report/line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "xdd/base/text.h"

void line_cell_set(struct line_cell *cell, const char *text)
{
	cell->whole = NULL;
	snprintf(cell->text, sizeof(cell->text), "%s", text);
}

/* The bytes of the character at `s`, or of what is none. */
static size_t step(const char *s)
{
	size_t unsafe = printable_unsafe(s);

	return unsafe ? unsafe : utf8_length(s);
}

/* The part of a name that `width` characters show: the end of a path, the start of others. */
static const char *shown_part(const char *name, int width)
{
	int n = 0;

	for (const char *p = name; *p; p += step(p))
		n++;
	for (; n > width && strchr(name, '/'); n--)
		name += step(name);
	return name;
}

/*
 * A name in one word: a blank would be the end of the column for readers that split lines at
 * blanks.
 */
static void name_cell(struct line_cell *cell, const char *name, int width)
{
	char word[LINE_CELL_SIZE];
	size_t len = 0;
	int used = 0;

	for (name = shown_part(name, width); *name && used < width; used++) {
		const bool unsafe = printable_unsafe(name), blank = *name == ' ';
		const size_t n = step(name);

		if (len + n >= sizeof(word))
			break;
		memcpy(word + len, unsafe ? "?" : blank ? "_" : name, unsafe || blank ? 1 : n);
		len += unsafe || blank ? 1 : n;
		name += n;
	}
	if ((size_t)(width - used) + len >= sizeof(cell->text))
		used = width;
	memset(cell->text, ' ', (size_t)(width - used));
	memcpy(cell->text + width - used, word, len);
	cell->text[(size_t)(width - used) + len] = '\0';
}

/* `width` 0: as short as the value is. `unknown`: the text for a value that is not known. */
static void print_value(struct line_cell *cell, const struct column *col, const struct result *r,
			int width, const char *unknown)
{
	struct column_value v;

	cell->whole = NULL;
	column_value(col, r, &v);
	if (v.unknown) {
		snprintf(cell->text, sizeof(cell->text), "%*s", width, unknown);
		return;
	}
	switch (col->type) {
	case COLUMN_COUNT:
		snprintf(cell->text, sizeof(cell->text), "%*" PRIu64, width, v.count);
		break;
	case COLUMN_REAL:
		snprintf(cell->text, sizeof(cell->text), "%*.*f", width, col->precision, v.real);
		break;
	case COLUMN_TEXT:
	case COLUMN_DELIMITER:
		if (col->identifies && width)
			name_cell(cell, v.text, width);
		else
			snprintf(cell->text, sizeof(cell->text), "%*s", width, v.text);
		break;
	}
}

void line_cell_padded(struct line_cell *cell, const struct column *col, const struct result *r)
{
	/* An empty cell would shift the following ones for readers that split lines at blanks. */
	print_value(cell, col, r, col->width, "-");
}

void line_cell_bare(struct line_cell *cell, const struct column *col, const struct result *r)
{
	struct column_value v;
	size_t blanks, len;

	print_value(cell, col, r, 0, "");
	column_value(col, r, &v);
	if (!v.unknown && col->identifies && col->type == COLUMN_TEXT && v.text != v.buf) {
		cell->whole = v.text;
		return;
	}
	len = strlen(cell->text);
	while (len && cell->text[len - 1] == ' ')
		len--;
	cell->text[len] = '\0';
	blanks = strspn(cell->text, " ");
	memmove(cell->text, cell->text + blanks, len - blanks + 1);
}

size_t line_size(size_t n)
{
	/* CSV: every character a quote that is doubled, two quotes around, a comma. */
	return n * (2 * LINE_CELL_SIZE + 3) + 2;
}

static char *put(char *out, const char *text, size_t len)
{
	return (char *)memcpy(out, text, len) + len;
}

size_t line_join(char *buf, const struct line_cell *cells, size_t n, unsigned columns)
{
	char *out = buf, *line = buf;

	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(cells[i].text);

		if (i && columns && (size_t)(out - line) + 1 + len > columns) {
			*out++ = '\n';
			line = out;
			out = (char *)memset(out, ' ', LINE_INDENT) + LINE_INDENT;
		} else if (i) {
			*out++ = ' ';
		}
		out = put(out, cells[i].text, len);
	}
	*out++ = '\n';
	*out = '\0';
	return (size_t)(out - buf);
}

static char *put_quoted(char *out, const char *text)
{
	if (!strpbrk(text, ",\"\r\n"))
		return put(out, text, strlen(text));
	*out++ = '"';
	for (; *text; text++) {
		if (*text == '"')
			*out++ = '"';
		*out++ = *text;
	}
	*out++ = '"';
	return out;
}

size_t line_csv(char *buf, const struct line_cell *cells, size_t n)
{
	char *out = buf;

	for (size_t i = 0; i < n; i++) {
		if (i)
			*out++ = ',';
		out = put_quoted(out, cells[i].whole ? cells[i].whole : cells[i].text);
	}
	*out++ = '\n';
	*out = '\0';
	return (size_t)(out - buf);
}
