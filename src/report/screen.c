/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A text screen, and cells and lines of the result table; see the header. Called by the
 * result block, by report.c and the writers.
 */
#include "report/screen.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"

#define DEFAULT_COLUMNS 80
#define MAX_COLUMNS 1000

/* Longer lines of prose are hard to read, however wide the screen is. */
#define PROSE_COLUMNS 100

/* A number from the environment, or 0. */
static unsigned from_environment(const char *name, unsigned most)
{
	const char *text = getenv(name);
	uint64_t value;

	return text && !units_parse_u64(text, &value) && value <= most ? (unsigned)value : 0;
}

static bool is_set(const char *name)
{
	const char *text = getenv(name);

	return text && *text;
}

/* True if the terminal of this environment shows UTF-8. */
static bool has_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (is_set(names[i])) {
			const char *locale = getenv(names[i]);

			return strcasestr(locale, "utf-8") || strcasestr(locale, "utf8");
		}
	}
	return false;
}

void screen_init(struct screen *s, int fd)
{
	struct winsize size = { 0 };
	const char *term = getenv("TERM");
	const bool terminal = isatty(fd);

	if (terminal && ioctl(fd, TIOCGWINSZ, &size))
		size = (struct winsize){ 0 };
	s->columns = size.ws_col ? size.ws_col : from_environment("COLUMNS", MAX_COLUMNS);
	if (!s->columns)
		s->columns = DEFAULT_COLUMNS;
	if (s->columns < SCREEN_MIN_COLUMNS)
		s->columns = SCREEN_MIN_COLUMNS;
	s->rows = size.ws_row ? size.ws_row : from_environment("LINES", MAX_COLUMNS);
	s->colour = terminal && !is_set("NO_COLOR") && term && *term && strcmp(term, "dumb") != 0;
	s->gap = has_utf8() ? "\u2026" : "...";
	s->unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

void screen_free(struct screen *s)
{
	if (s->unicode != (locale_t)0)
		freelocale(s->unicode);
	s->unicode = (locale_t)0;
}

/* The columns of the character of `len` bytes at `text`. */
static unsigned width_of(const struct screen *s, const char *text, size_t len)
{
	mbstate_t state = { 0 };
	locale_t before;
	wchar_t wide;
	int width = 2;

	if (len == 1)
		return 1;
	if (s->unicode == (locale_t)0)
		return 2;
	before = uselocale(s->unicode);
	if (mbrtowc(&wide, text, len, &state) == len)
		width = wcwidth(wide);
	uselocale(before);
	return width < 0 ? 2 : (unsigned)width;
}

static size_t length_of(const char *text)
{
	size_t len = utf8_length(text);

	return len ? len : 1;
}

/* The columns of the first `size` bytes. */
static unsigned width_until(const struct screen *s, const char *text, size_t size)
{
	unsigned width = 0;

	for (size_t at = 0; at < size;) {
		size_t len = length_of(text + at);

		width += width_of(s, text + at, len);
		at += len;
	}
	return width;
}

unsigned screen_width(const struct screen *s, const char *text)
{
	return width_until(s, text, strlen(text));
}

char *screen_shorten(const struct screen *s, const char *text, unsigned columns)
{
	const unsigned gap = screen_width(s, s->gap);
	unsigned width = screen_width(s, text), room, head;
	size_t from, to;
	char *out;

	if (width <= columns)
		return strdup(text);
	/* The end of a name says more than its beginning. */
	room = columns > gap ? columns - gap : 0;
	head = room / 3;
	for (from = 0; text[from]; from += length_of(text + from)) {
		unsigned next = width_of(s, text + from, length_of(text + from));

		if (next > head)
			break;
		head -= next;
		room -= next;
		width -= next;
	}
	for (to = from; text[to] && width > room; to += length_of(text + to))
		width -= width_of(s, text + to, length_of(text + to));
	if (asprintf(&out, "%.*s%s%s", (int)from, text, columns >= gap ? s->gap : "", text + to) <
	    0)
		return NULL;
	return out;
}

/* Write `text` in a tone, or as it is where the screen has no colours. */
static void screen_put(const struct screen *s, FILE *f, enum screen_tone tone, const char *text)
{
	static const char *const codes[] = {
		[SCREEN_BOLD] = "\033[1m",
		[SCREEN_GOOD] = "\033[32m",
		[SCREEN_CAUTION] = "\033[33m",
		[SCREEN_BAD] = "\033[31m",
	};

	if (s->colour && tone != SCREEN_PLAIN)
		fprintf(f, "%s%s\033[m", codes[tone], text);
	else
		fputs(text, f);
}

/* True if a line may end before the blank `text[at]`: a number stays with its unit. */
static bool may_break(const char *text, size_t at)
{
	return text[at] == ' ' && !(at && text[at - 1] >= '0' && text[at - 1] <= '9');
}

/* The bytes from `text` on that go onto a line of `room` columns; at least one character. */
static size_t fitting(const struct screen *s, const char *text, unsigned room)
{
	size_t at = 0, end = 0;
	unsigned width = 0;

	while (text[at]) {
		size_t len = length_of(text + at);

		if (may_break(text, at))
			end = at;
		width += width_of(s, text + at, len);
		if (width > room && at)
			return end ? end : at;
		at += len;
	}
	return at;
}

/*
 * Write a text that begins in column `used`, folded where it passes `columns`. Further lines begin
 * with the `blanks` bytes before the text, which take `indent` columns, and two blanks more.
 */
static void fold_text(const struct screen *s, FILE *f, const char *text, unsigned columns,
		      unsigned used, size_t blanks, unsigned indent)
{
	const char *const before = text - blanks;

	for (;;) {
		const size_t len = fitting(s, text, used < columns ? columns - used : 1);

		fprintf(f, "%.*s", (int)len, text);
		text += len;
		text += strspn(text, " ");
		if (!*text)
			break;
		fprintf(f, "\n%.*s  ", (int)blanks, before);
		used = indent + 2;
	}
}

void screen_wrap(const struct screen *s, FILE *f, enum screen_tone tone, const char *label,
		 const char *text)
{
	unsigned used = 0;

	if (label) {
		screen_put(s, f, tone, label);
		fputs(": ", f);
		used = screen_width(s, label) + 2;
	}
	fold_text(s, f, text, s->columns < PROSE_COLUMNS ? s->columns : PROSE_COLUMNS, used, 0, 0);
	fputc('\n', f);
}

void screen_say(const char *text)
{
	char *safe = xneed(printable_dup(text, false));
	struct screen s;

	screen_init(&s, STDOUT_FILENO);
	if (isatty(STDOUT_FILENO))
		screen_wrap(&s, stdout, SCREEN_PLAIN, NULL, safe);
	else
		puts(safe);
	screen_free(&s);
	free(safe);
}

#define TAB_COLUMNS 8

/* Write a line without its line feed, folded where it does not fit. */
static void fold_line(const struct screen *s, FILE *f, const char *line)
{
	const size_t blanks = strspn(line, " \t");
	unsigned indent = 0;

	for (size_t i = 0; i < blanks; i++)
		indent += line[i] == '\t' ? TAB_COLUMNS : 1;
	fprintf(f, "%.*s", (int)blanks, line);
	fold_text(s, f, line + blanks, s->columns, indent, blanks, indent);
}

void screen_fold(const struct screen *s, FILE *f, const char *text, size_t len)
{
	while (len) {
		const char *end = memchr(text, '\n', len);
		const size_t n = end ? (size_t)(end - text) : len;
		char *line = strndup(text, n);

		if (line)
			fold_line(s, f, line);
		else
			fwrite(text, 1, n, f);
		free(line);
		if (end)
			fputc('\n', f);
		text += n + (end != NULL);
		len -= n + (end != NULL);
	}
}

void screen_table_widen(struct screen_table *t, const char *const *cells)
{
	for (size_t i = 0; i < t->n; i++) {
		struct screen_column *col = &t->columns[i];
		const unsigned width = screen_width(t->screen, cells ? cells[i] : col->heading);

		col->width = width > col->width ? width : col->width;
	}
}

#define LEAST_COLUMN 4

/* The columns that a row takes with a gap of `gap`. */
static unsigned table_width(const struct screen_table *t, unsigned gap)
{
	unsigned width = 0;

	for (size_t i = 0; i < t->n; i++)
		width += t->columns[i].left_out ? 0 : t->columns[i].width + (i ? gap : 0);
	return width;
}

/* The column that is left out next; NULL: all stay. */
static struct screen_column *next_to_leave(const struct screen_table *t)
{
	struct screen_column *next = NULL;

	for (size_t i = 0; i < t->n; i++) {
		struct screen_column *col = &t->columns[i];

		if (!col->left_out && col->leave > (next ? next->leave : 0))
			next = col;
	}
	return next;
}

/* The widest column but the last one, whose cells are not cut; NULL: none can be cut. */
static struct screen_column *widest(const struct screen_table *t)
{
	struct screen_column *found = NULL;

	for (size_t i = 0; i + 1 < t->n; i++) {
		struct screen_column *col = &t->columns[i];

		if (!col->left_out && col->width > (found ? found->width : LEAST_COLUMN))
			found = col;
	}
	return found;
}

void screen_table_fit(struct screen_table *t)
{
	/* One column stays free: some terminals go to the next line after the last one. */
	const unsigned room = t->screen->columns - 1;
	struct screen_column *col;

	t->gap = 2;
	if (table_width(t, t->gap) > room)
		t->gap = 1;
	while (table_width(t, t->gap) > room && (col = next_to_leave(t)))
		col->left_out = true;
	while (table_width(t, t->gap) > room && (col = widest(t)))
		col->width--;
}

void screen_table_put(const struct screen_table *t, FILE *f, const char *const *cells)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct screen_column *col = &t->columns[i];
		const char *text = cells ? cells[i] : col->heading;
		const unsigned width = screen_width(t->screen, text);
		char *cut = width > col->width ? screen_shorten(t->screen, text, col->width) : NULL;
		const int gap = i ? (int)t->gap : 0, pad = cut ? 0 : (int)(col->width - width);

		if (!col->left_out && i + 1 == t->n)
			fprintf(f, "%*s%s", *text ? gap : 0, "", text);
		else if (!col->left_out)
			fprintf(f, "%*s%s%*s", gap + (col->left ? 0 : pad), "", cut ? cut : text,
				col->left ? pad : 0, "");
		free(cut);
	}
	fputc('\n', f);
}

void screen_table_end(const struct screen_table *t, FILE *f)
{
	char *text = strdup("");

	for (size_t i = 0, n = 0; text && i < t->n; i++) {
		char *more;

		if (!t->columns[i].left_out || !*t->columns[i].heading)
			continue;
		if (asprintf(&more, "%s%s%s", text, n++ ? ", " : "", t->columns[i].heading) < 0)
			more = NULL;
		free(text);
		text = more;
	}
	if (text && *text)
		screen_wrap(t->screen, f, SCREEN_PLAIN, "no room for", text);
	free(text);
}

void line_cell_set(struct line_cell *cell, const char *text)
{
	cell->whole = NULL;
	snprintf(cell->text, sizeof(cell->text), "%s", text);
}

/* The bytes of the character at `s`, or of what is none. */
static size_t line_step(const char *s)
{
	size_t unsafe = printable_unsafe(s);

	return unsafe ? unsafe : utf8_length(s);
}

/* The part of a name that `width` characters show: the end of a path, the start of others. */
static const char *shown_part(const char *name, int width)
{
	int n = 0;

	for (const char *p = name; *p; p += line_step(p))
		n++;
	for (; n > width && strchr(name, '/'); n--)
		name += line_step(name);
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
		const size_t n = line_step(name);

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

static char *line_put(char *out, const char *text, size_t len)
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
		out = line_put(out, cells[i].text, len);
	}
	*out++ = '\n';
	*out = '\0';
	return (size_t)(out - buf);
}

static char *put_quoted(char *out, const char *text)
{
	if (!strpbrk(text, ",\"\r\n"))
		return line_put(out, text, strlen(text));
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
