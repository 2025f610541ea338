/*
 * Groups of commands as a script for a shell, with what is left out as comments. Called by the
 * command.
 */
#include "commands/fio.h"
#include "xdd/base/printable.h"

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

void fio_print(FILE *out, const struct fio_group *g)
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
