/*
 * The lines of a check on standard output. Called by check.c.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/check.h"
#include "xdd/base/output.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"

#define LEAST_COLUMNS 60
#define MOST_COLUMNS 100
#define USUAL_COLUMNS 80

/* From so many columns on, rows have their names in full. */
#define ROOMY_COLUMNS 72

/* Rates of shorter measurements differ much from one to the next. */
#define SHORT_SECONDS 0.2

unsigned check_width(void)
{
	uint64_t columns = terminal_columns(STDOUT_FILENO);
	const char *env = getenv("COLUMNS");

	if (!columns && isatty(STDOUT_FILENO) && env)
		units_parse_u64(env, &columns);
	if (!columns)
		columns = USUAL_COLUMNS;
	if (columns < LEAST_COLUMNS)
		return LEAST_COLUMNS;
	return columns > MOST_COLUMNS ? MOST_COLUMNS : (unsigned)columns;
}

/* ---- text that fits the width ---- */

/* Columns of a text, each character taking one. */
static unsigned columns_of(const char *text, size_t bytes)
{
	unsigned n = 0;

	for (size_t i = 0; i < bytes; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

/* A name that is cut in its middle to `most` columns; to be freed. */
static char *shortened(const char *name, unsigned most)
{
	static const char gap[] = "...";
	char *safe = printable_dup(name, false), *cut;
	unsigned columns = safe ? columns_of(safe, strlen(safe)) : 0;
	unsigned tail = most / 2, head = most - tail - (unsigned)strlen(gap);
	const char *end;

	if (!safe || columns <= most)
		return safe;
	end = safe + strlen(safe);
	for (unsigned n = 0; n < tail; n++)
		do
			end--;
		while (((unsigned char)*end & 0xc0) == 0x80);
	cut = safe;
	for (unsigned n = 0; n < head; n++)
		do
			cut++;
		while (((unsigned char)*cut & 0xc0) == 0x80);
	memcpy(cut, gap, strlen(gap));
	memmove(cut + strlen(gap), end, strlen(end) + 1);
	return safe;
}

/* Print a word of prose, cut where a line has no room for it. Returns its columns. */
static unsigned put_word(const char *text, size_t bytes, unsigned most)
{
	char *word = columns_of(text, bytes) > most ? strndup(text, bytes) : NULL;
	char *cut = word ? shortened(word, most) : NULL;

	if (cut)
		fputs(cut, stdout);
	else
		fwrite(text, 1, bytes, stdout);
	free(cut);
	free(word);
	return cut ? most : columns_of(text, bytes);
}

/* The length of the first word of a text, in which blanks between quotes separate no words. */
static size_t word_bytes(const char *text)
{
	bool quoted = false;
	size_t n;

	for (n = 0; text[n] && (quoted || text[n] != ' '); n++) {
		if (text[n] == '\'')
			quoted = !quoted;
		else if (text[n] == '\\' && !quoted && text[n + 1])
			n++;
	}
	return n;
}

/*
 * Print words in lines, each after `indent` blanks; the first one continues at column `at`. A line
 * that is continued ends with `more`, which is empty for prose: a command has quotes.
 */
static void put_wrapped(const char *text, unsigned at, unsigned indent, const char *more,
			unsigned width)
{
	const unsigned room = width - (unsigned)strlen(more);
	bool first = true;

	while (*text) {
		size_t bytes = *more ? word_bytes(text) : strcspn(text, " ");
		unsigned most = *more || !isatty(STDOUT_FILENO) ? UINT_MAX : room - indent;
		unsigned columns = columns_of(text, bytes);

		columns = columns < most ? columns : most;
		if (!first && at + 1 + columns > room) {
			printf("%s\n%*s", more, (int)indent, "");
			at = indent;
		} else if (!first) {
			putchar(' ');
			at++;
		}
		at += put_word(text, bytes, most);
		first = false;
		text += bytes;
		text += strspn(text, " ");
	}
	putchar('\n');
}

/* As put_wrapped(), for text from outside. */
static void put_lines(const char *text, unsigned indent, unsigned width)
{
	char *safe = printable_dup(text, false);

	printf("%*s", (int)indent, "");
	put_wrapped(safe ? safe : "", indent, indent, "", width);
	free(safe);
}

/* ---- what it is ---- */

static void add(char *text, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Append a part of a list. */
static void add(char *text, size_t size, const char *fmt, ...)
{
	size_t n = strlen(text);
	va_list ap;

	if (n)
		n += (size_t)snprintf(text + n, size - n, ", ");
	if (n >= size)
		return;
	va_start(ap, fmt);
	vsnprintf(text + n, size - n, fmt, ap);
	va_end(ap);
}

static void print_device(const struct check_device *d, unsigned width)
{
	char text[1024] = "";

	if (!*d->name)
		return;
	add(text, sizeof(text), "%s", d->name);
	if (*d->model)
		add(text, sizeof(text), "%s", d->model);
	if (*d->raid)
		add(text, sizeof(text), "RAID (%s)", d->raid);
	if (*d->loop_file)
		add(text, sizeof(text), "loop device of %s", d->loop_file);
	if (d->rotational_known)
		add(text, sizeof(text), "%s", d->rotational ? "rotational" : "not rotational");
	if (d->removable)
		add(text, sizeof(text), "removable");
	if (d->usb_mbits)
		add(text, sizeof(text), "USB %" PRIu64 " Mbit/s", d->usb_mbits);
	if (*d->scheduler)
		add(text, sizeof(text), "scheduler %s", d->scheduler);
	put_lines(text, 2, width);
}

static void print_place(const struct check_target *t, unsigned width)
{
	char text[1024] = "";

	if (*t->file_system)
		add(text, sizeof(text), "%s", t->file_system);
	if (*t->source && *t->file_system && strcmp(t->source, t->file_system) != 0)
		add(text, sizeof(text), "%s", t->source);
	if (*t->mount_point)
		add(text, sizeof(text), "mounted on %s", t->mount_point);
	if (*t->use)
		add(text, sizeof(text), "%s", t->use);
	if (*text)
		put_lines(text, 2, width);
}

void check_print_target(const struct check_target *t, unsigned width)
{
	char size[SCALED_SIZE], exact[32], text[128];
	char *name;

	units_size_text(t->size_bytes, exact, sizeof(exact));
	snprintf(text, sizeof(text), ": %s, %s%s%s%s", t->block ? "block device" : "file",
		 scaled_bytes((double)t->size_bytes, size), t->size_bytes < 1000 ? "" : " (",
		 t->size_bytes < 1000 ? "" : exact, t->size_bytes < 1000 ? "" : ")");
	/* Lines that go elsewhere may be of any length. */
	name = shortened(t->name,
			 isatty(STDOUT_FILENO) ? width - (unsigned)strlen(text) : UINT_MAX);
	printf("%s%s\n", name ? name : "?", text);
	free(name);
	print_place(t, width);
	print_device(&t->device, width);
	if (t->no_sys && !t->memory)
		put_lines("/sys is not mounted: the device could not be looked at", 2, width);
	printf("  read only, %s, engine %s\n\n",
	       t->direct ? "direct I/O" : "through the page cache", t->engine);
}

/* ---- figures ---- */

static const char *row_name(const struct check_row *row, enum check_phase phase, bool roomy,
			    char *buf, size_t size)
{
	char bytes[32];

	units_size_text(row->req_bytes, bytes, sizeof(bytes));
	snprintf(buf, size, "%s %s%s%" PRIu64, phase == CHECK_LARGE ? "sequential" : "random",
		 roomy ? bytes : "", roomy ? ", depth " : "x", row->depth);
	return buf;
}

static void print_row(const struct check_row *row, enum check_phase phase, bool roomy)
{
	char name[64], rate[SCALED_SIZE], iops[SCALED_SIZE];
	char p50[SCALED_SIZE], p99[SCALED_SIZE], most[SCALED_SIZE];
	const int columns = roomy ? 28 : 16;

	printf("%-*s", columns, row_name(row, phase, roomy, name, sizeof(name)));
	if (!row->measured) {
		printf(" not measured\n");
		return;
	}
	printf(" %9s %8s %7s %7s %7s\n", scaled_rate(check_rate(row), rate),
	       scaled_ops(check_iops(row), iops), scaled_time(row->p50_ns, p50),
	       scaled_time(row->p99_ns, p99), scaled_time(row->max_ns, most));
}

/* How long a row took that ended, with all that there is to read, before its figures settle. */
static void print_short(const struct check_row *row, enum check_phase phase, unsigned width)
{
	char name[64], time[SCALED_SIZE], text[160];

	if (!row->measured || row->partial || row->seconds >= SHORT_SECONDS)
		return;
	snprintf(text, sizeof(text), "(%s: %" PRIu64 " requests in %s: too short to be exact)",
		 row_name(row, phase, width >= ROOMY_COLUMNS, name, sizeof(name)), row->ops,
		 scaled_time(row->seconds * NS_PER_SEC, time));
	put_wrapped(text, 0, 1, "", width);
}

void check_print_rows(const struct check_result *result, unsigned width)
{
	const bool roomy = width >= ROOMY_COLUMNS;
	const struct check_row *deep = &result->rows[CHECK_DEEP];
	char large[32], small[32];
	bool partial = false;

	printf("%-*s %9s %8s %7s %7s %7s\n", roomy ? 28 : 16, "", "rate", "IOPS", "p50", "p99",
	       "max");
	for (int i = 0; i < CHECK_PHASES; i++) {
		print_row(&result->rows[i], (enum check_phase)i, roomy);
		partial |= result->rows[i].partial;
	}
	if (!roomy)
		printf("(sequential: %s, random: %s; x%" PRIu64 ": %" PRIu64 " in flight)\n",
		       units_size_text(result->rows[CHECK_LARGE].req_bytes, large, sizeof(large)),
		       units_size_text(deep->req_bytes, small, sizeof(small)), deep->depth,
		       deep->depth);
	for (int i = 0; i < CHECK_PHASES; i++)
		print_short(&result->rows[i], (enum check_phase)i, width);
	if (partial)
		printf("The check was cut short: these figures are of a part of it.\n");
	putchar('\n');
}

/* ---- what looks wrong, and what to do next ---- */

static bool is_whole(const struct check_result *r)
{
	for (int i = 0; i < CHECK_PHASES; i++) {
		if (!r->rows[i].measured || r->rows[i].partial)
			return false;
	}
	return true;
}

void check_print_notes(const struct check_result *result, const struct check_notes *wrong,
		       const struct check_notes *next, unsigned width)
{
	if (!wrong->n)
		printf("Nothing looks wrong%s.\n", is_whole(result) ? "" : " in what was measured");
	else
		printf("What looks wrong:\n");
	for (size_t i = 0; i < wrong->n; i++) {
		char *safe = printable_dup(wrong->text[i], false);

		printf("- ");
		put_wrapped(safe ? safe : "", 2, 2, "", width);
		free(safe);
	}
	if (next->n)
		putchar('\n');
	for (size_t i = 0; i < next->n; i++) {
		const bool command = i % 2;

		printf("%s", command ? "  " : "");
		put_wrapped(next->text[i], command ? 2 : 0, command ? 6 : 0, command ? " \\" : "",
			    width);
	}
}

void check_print_summary(const struct check_target *targets, const struct check_result *results,
			 size_t n, unsigned width)
{
	const unsigned columns = width - 41;

	printf("\n%-*s %9s %9s %9s %9s\n", (int)columns, "", "seq.", "random", "p99", "deep");
	for (size_t i = 0; i < n; i++) {
		const struct check_row *rows = results[i].rows;
		char rate[SCALED_SIZE], one[SCALED_SIZE], p99[SCALED_SIZE], deep[SCALED_SIZE];
		char *name = shortened(targets[i].name, columns);

		printf("%s%*s %9s %9s %9s %9s\n", name ? name : "?",
		       (int)(columns - (name ? columns_of(name, strlen(name)) : 1)), "",
		       scaled_rate(check_rate(&rows[CHECK_LARGE]), rate),
		       scaled_ops(check_iops(&rows[CHECK_SINGLE]), one),
		       scaled_time(rows[CHECK_SINGLE].p99_ns, p99),
		       scaled_ops(check_iops(&rows[CHECK_DEEP]), deep));
		free(name);
	}
}
