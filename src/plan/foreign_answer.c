/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answer to a command line with words of other tools: what each stands for, and the whole line
 * in xdd's words. Nothing is accepted: the second try is the user's.
 */
#include "plan/foreign_answer.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "plan/fio.h"
#include "plan/parse.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"

#define TOOLS_MAX 10

struct answer {
	const struct option_table *table;
	struct arena *arena;
	struct foreign_part *parts;
	size_t n_parts;
	size_t most_parts;
	unsigned votes[TOOLS_MAX];
	const struct foreign_tool *order[TOOLS_MAX + 1]; /* that with most words first */
};

/* ---- the parts of a command line ---- */

static bool knows(const struct foreign_tool *tool, const char *name)
{
	for (const struct foreign *row = tool->rows; row->word; row++) {
		if (row->kind != FOREIGN_COMMAND && strcmp(row->word, name) == 0)
			return true;
	}
	return foreign_find(tool, name, NULL) != NULL;
}

static bool any_knows(const char *name)
{
	const struct foreign_tool *tool;

	for (size_t i = 0; (tool = foreign_tool_at(i)); i++) {
		if (knows(tool, name))
			return true;
	}
	return false;
}

/* The length of the letter before a value in the same word, as in -b16k; 0: there is none. */
static size_t letter_of(const struct answer *a, const char *text)
{
	const struct foreign_tool *tool;
	size_t len = 0;

	if (text[0] != '-' || strchr(text, '=') || option_find(a->table, text + 1) ||
	    any_knows(text + 1))
		return 0;
	for (size_t i = 0; !len && (tool = foreign_tool_at(i)); i++)
		len = foreign_letter(tool, text + 1);
	return len;
}

/* The name in front of "=", or the whole text without dashes. */
static char *name_of(struct arena *arena, const char *text)
{
	text += strspn(text, "-");
	return xarena_printf(arena, "%.*s", (int)strcspn(text, "="), text);
}

/* An option by its form, or a word such as if=FILE. */
static bool begins_part(struct arena *arena, const char *text)
{
	const char *name = text + strspn(text, "-");

	if (text[0] == '-')
		return isalpha((unsigned char)name[0]);
	return strchr(text, '=') && any_knows(name_of(arena, text));
}

/* Values that are lists: a part for each. */
static bool is_list(const struct foreign_part *part)
{
	return part->joined && !part->opt && strchr(part->value, ',') &&
	       (strcmp(part->name, "iflag") == 0 || strcmp(part->name, "oflag") == 0 ||
		strcmp(part->name, "conv") == 0);
}

static void add_part(struct answer *a, const struct foreign_part *part)
{
	char *list, *save = NULL;

	if (!is_list(part)) {
		a->parts[a->n_parts++] = *part;
		return;
	}
	list = xarena_strdup(a->arena, part->value);
	for (char *value = strtok_r(list, ",", &save); value; value = strtok_r(NULL, ",", &save)) {
		a->parts[a->n_parts] = *part;
		a->parts[a->n_parts++].value = value;
	}
}

/* The most parts that the words can have. */
static size_t count_parts(const struct word *words, size_t n)
{
	size_t most = n;

	for (size_t i = 0; i < n; i++) {
		for (const char *c = words[i].text; *c; c++)
			most += *c == ',';
	}
	return most;
}

static void split(struct answer *a, char **argv, size_t n)
{
	struct word *words = xarena_alloc(a->arena, n * sizeof(*words) + 1);

	for (size_t i = 0; i < n; i++)
		words[i] = (struct word){ .text = argv[i + 1], .pos = (unsigned)i + 1 };
	a->most_parts = count_parts(words, n);
	a->parts = xarena_alloc(a->arena, a->most_parts * sizeof(*a->parts) + 1);
	for (size_t i = 0, end; i < n; i = end) {
		struct foreign_part part = { .words = &words[i], .name = "" };
		const char *text = words[i].text, *equals = strchr(text, '=');
		size_t letter = letter_of(a, text);

		end = i + 1;
		if (begins_part(a->arena, text)) {
			part.name = letter ?
					    xarena_printf(a->arena, "%.*s", (int)letter, text + 1) :
					    name_of(a->arena, text);
			part.opt = text[0] == '-' ? option_find(a->table, part.name) : NULL;
			part.joined = equals || letter;
			/* The first argument of an option of xdd may be any word. */
			if (part.opt && part.opt->arg && !part.joined && end < n &&
			    words[end].text[0] != '-')
				end++;
			while (end < n && !begins_part(a->arena, words[end].text))
				end++;
			part.value = letter	 ? text + 1 + letter :
				     part.joined ? equals + 1 :
				     end > i + 1 ? words[i + 1].text :
						   NULL;
		}
		part.n_words = end - i;
		add_part(a, &part);
	}
}

/* ---- the tool of each part ---- */

/* Words without dashes, such as if=FILE, do not belong to an option with one. */
static bool has_form(const struct foreign_part *part, const struct foreign_tool *tool)
{
	return *tool->dashes || part->words[0].text[0] != '-';
}

/* A word that has a value where its tool has one, and none elsewhere. */
static bool has_its_value(const struct foreign_part *part, const struct foreign_tool *tool)
{
	const struct foreign *row = foreign_find(tool, part->name, part->value);

	return row && (row->kind == FOREIGN_SWITCH ||
		       (row->kind == FOREIGN_VALUE) == (part->value != NULL));
}

static bool names_target(const struct foreign_part *part, const struct foreign_tool *tool)
{
	const struct foreign *row = foreign_find(tool, part->name, part->value);

	return row && foreign_names_targets(row) && has_its_value(part, tool);
}

/*
 * Order the tools by the number of words that are theirs and not xdd's. A letter that several tools
 * have counts more for those that have it as it was typed: -r 80 is not the -r of IOR. A word that
 * names the target counts most: -f is the target of xdisk, and a script of IOR.
 */
static void vote(struct answer *a)
{
	const struct foreign_tool *tool;
	size_t n = 0;

	for (; (tool = foreign_tool_at(n)); n++) {
		for (size_t i = 0; i < a->n_parts; i++) {
			const struct foreign_part *part = &a->parts[i];

			if (!part->opt && has_form(part, tool) && knows(tool, part->name))
				a->votes[n] += 1 + has_its_value(part, tool) +
					       2 * names_target(part, tool);
		}
		a->order[n] = tool;
	}
	for (size_t i = 1; i < n; i++) {
		for (size_t k = i; k > 0 && a->votes[k] > a->votes[k - 1]; k--) {
			unsigned votes = a->votes[k];

			tool = a->order[k];
			a->votes[k] = a->votes[k - 1];
			a->order[k] = a->order[k - 1];
			a->votes[k - 1] = votes;
			a->order[k - 1] = tool;
		}
	}
}

/*
 * A row stands for an option of xdd only with a value that xdd does not have, or by the company it
 * is in.
 */
static bool applies(const struct answer *a, const struct foreign_part *part, size_t tool,
		    const struct foreign *row)
{
	if (!has_form(part, a->order[tool]))
		return false;
	return !part->opt || row->values || (row->overrides && tool == 0 && a->votes[0]);
}

static void find_row(const struct answer *a, struct foreign_part *part)
{
	for (size_t i = 0; a->order[i] && !part->row; i++) {
		const struct foreign *row = foreign_find(a->order[i], part->name, part->value);

		if (row && applies(a, part, i, row)) {
			part->row = row;
			part->tool = a->order[i];
		}
	}
}

/* ---- paths of elbencho ---- */

/* The number of words of a part that are its own, and not stray ones. */
static size_t own_words(const struct foreign_part *part)
{
	if (!*part->name)
		return 0;
	if (part->opt && !part->row)
		return part->n_words;
	return part->value && !part->joined && part->row && part->row->kind == FOREIGN_VALUE ? 2 :
											       1;
}

/* elbencho has no option before its paths: each stray word becomes a part of its own. */
static void name_paths(struct answer *a)
{
	static const struct foreign path = { .word = "path", .say = "-target %v" };
	struct foreign_part *parts = xarena_alloc(a->arena, a->most_parts * sizeof(*parts) + 1);
	size_t n = 0;

	if (a->order[0] != &foreign_elbencho || !a->votes[0])
		return;
	for (size_t i = 0; i < a->n_parts; i++) {
		struct foreign_part part = a->parts[i];
		const size_t own = own_words(&part), all = part.n_words;

		part.n_words = own < all ? own : all;
		if (own)
			parts[n++] = part;
		for (size_t k = own; k < all; k++)
			parts[n++] = (struct foreign_part){ .words = &part.words[k],
							    .n_words = 1,
							    .name = path.word,
							    .value = part.words[k].text,
							    .joined = true,
							    .tool = &foreign_elbencho,
							    .row = &path };
	}
	a->parts = parts;
	a->n_parts = n;
}

/* ---- messages ---- */

const struct foreign *foreign_command(const char *word, const struct foreign_tool **tool)
{
	const struct foreign *row;

	for (size_t i = 0; (*tool = foreign_tool_at(i)); i++) {
		for (row = (*tool)->rows; row->word; row++) {
			if (row->kind == FOREIGN_COMMAND && strcmp(row->word, word) == 0)
				return row;
		}
	}
	row = foreign_any(word, NULL, tool);
	return row && *(*tool)->dashes ? row : NULL;
}

const char *foreign_advice(struct arena *arena, const struct foreign *row, const char *value)
{
	const char *text = foreign_text(arena, row, value);

	if (*text)
		text = xarena_printf(arena, "say %s", text);
	else if (row->say)
		text = "leave it out";
	else
		text = row->in_jobs ? "xdd fio translates it" : "xdd has nothing like it";
	return row->note ? xarena_printf(arena, "%s; %s", text, row->note) : text;
}

enum xdd_status foreign_report(struct arena *arena, const struct setting *s, const struct word *w,
			       const struct foreign_tool *tool, const struct foreign *row,
			       const char *value)
{
	return parse_error(XDD_BAD_OPTION, s, w, "is a word of %s; %s", tool->name,
			   foreign_advice(arena, row, value));
}

/* The word after a switch is its value only if it looks like one. */
static bool takes_value(const struct foreign_part *part)
{
	if (part->row->kind == FOREIGN_SWITCH)
		return part->joined ||
		       (part->value && strlen(part->value) == 1 && strchr("01", part->value[0]));
	return part->row->kind == FOREIGN_VALUE;
}

/* The words after a part that are not its value; NULL: none. */
static const struct word *rest_of(const struct foreign_part *part)
{
	size_t own = part->value && !part->joined ? 2 : 1;

	if (!part->joined && !takes_value(part))
		own = 1;
	return part->n_words > own ? &part->words[own] : NULL;
}

/* True if the words of xdd are those that were typed, as of "-bs 4k" and "--bs=4k". */
static bool is_the_same(const struct answer *a, const struct foreign_part *part)
{
	const char **words;
	int n = part->row->overrides ? foreign_words(a->arena, part->row, part->value, &words) : -1;

	if (n < 0 || (size_t)n != part->n_words + (part->joined ? 1 : 0) || !part->opt)
		return false;
	if (part->joined && strcmp(words[1], part->value) != 0)
		return false;
	return option_find(a->table, words[0] + 1) == part->opt;
}

/* "-dio=1": an option of xdd that takes no value. */
static bool is_too_much(const struct foreign_part *part)
{
	return !part->row && part->opt && part->joined && !option_takes_value(part->opt);
}

/* True if another part has a word of the same tool. */
static bool has_company(const struct answer *a, const struct foreign_part *part)
{
	for (size_t i = 0; i < a->n_parts; i++) {
		if (&a->parts[i] != part && a->parts[i].tool == part->tool)
			return true;
	}
	return false;
}

/*
 * Return the meanings of the letter of a part in each tool; NULL where they agree, or where another
 * word of the tool shows which one is meant.
 */
static const char *meanings(const struct answer *a, const struct foreign_part *part)
{
	const char *first = NULL, *list = "";
	bool differ = false;

	if (part->opt || !part->tool || strlen(part->name) != 1 || part->words[0].text[0] != '-' ||
	    has_company(a, part))
		return NULL;
	for (size_t i = 0; a->order[i]; i++) {
		const struct foreign *row = foreign_find(a->order[i], part->name, part->value);
		const char *text;

		if (!row || !has_form(part, a->order[i]))
			continue;
		text = foreign_text(a->arena, row, part->value);
		text = *text ? text : row->say ? "nothing" : "nothing that xdd has";
		differ |= first && strcmp(first, text) != 0;
		first = first ? first : text;
		list = xarena_printf(a->arena, "%s%s%s (%s)", list, *list ? ", or " : "", text,
				     a->order[i]->name);
	}
	return differ ? list : NULL;
}

/* Report a part; false: it is not understood. */
static bool report_part(const struct answer *a, const struct foreign_part *part)
{
	struct setting s = { .name = part->words[0], .arena = a->arena };
	const struct word *value = part->value && !part->joined ? &part->words[1] : NULL, *rest;
	const char *list;

	if (!part->row && part->opt && !is_too_much(part))
		return true;
	if (!part->row) {
		parse_unknown_word(a->table, a->arena, &part->words[0]);
		return false;
	}
	if (is_the_same(a, part))
		return true;
	rest = rest_of(part);
	if (!takes_value(part))
		value = NULL;
	list = meanings(a, part);
	if (list) {
		parse_error(XDD_BAD_OPTION, &s, value, "means %s", list);
		return false;
	}
	foreign_report(a->arena, &s, value, part->tool, part->row, part->value);
	/* Words of xdd may follow a value, but no file. */
	if (rest && (!part->opt || access(rest->text, F_OK) == 0)) {
		parse_unknown_word(a->table, a->arena, rest);
		return false;
	}
	return part->value || !part->row->say || !strchr(part->row->say, '%');
}

/* ---- the command line ---- */

/* Options that print at once, and do nothing else. */
static bool only_prints(const struct answer *a, const struct foreign_fit *fit)
{
	static const char *const names[] = { "fullhelp", "version" };

	for (size_t i = 0; i < fit->n; i++) {
		const struct option *opt =
			fit->words[i][0] == '-' ? option_find(a->table, fit->words[i] + 1) : NULL;

		for (size_t k = 0; opt && k < sizeof(names) / sizeof(names[0]); k++) {
			if (strcmp(opt->name, names[k]) == 0)
				return true;
		}
	}
	return false;
}

/* True if xdd would take the words, with files that suit them. Reports what is wrong otherwise. */
static bool is_right(const struct answer *a, const struct foreign_fit *fit)
{
	struct word *words = xarena_alloc(a->arena, (fit->n + 1) * sizeof(*words));

	if (fit->why)
		log_error("no command line of xdd is proposed: %s", fit->why);
	if (fit->why || !fit->n || only_prints(a, fit))
		return false;
	for (size_t i = 0; i < fit->n; i++)
		words[i] = (struct word){ .text = fit->words[i], .pos = fit->from[i] };
	return plan_suppose(words, fit->n) == XDD_OK;
}

static char *append(const struct answer *a, char *line, const char *word)
{
	const char *quoted = xneed(quote_word(a->arena, word));

	return xarena_printf(a->arena, "%s %s", line, quoted);
}

/* ", without -X 1, -Y": the parts that the command line does not have. */
static char *without(const struct answer *a, const struct foreign_fit *fit)
{
	char *text = xarena_strdup(a->arena, "");
	bool any = false;

	for (size_t i = 0; i < a->n_parts; i++) {
		const struct foreign_part *part = &a->parts[i];
		const size_t n = part->row && takes_value(part) && !part->joined ? 2 : 1;

		if (!fit->lost[i])
			continue;
		text = xarena_printf(a->arena, "%s%s", text, any ? "," : ", without");
		for (size_t k = 0; k < n && k < part->n_words; k++)
			text = append(a, text, part->words[k].text);
		any = true;
	}
	return text;
}

/* A word of which xdd multi makes `word`: percent signs in it begin no placeholder. */
static const char *plain(const struct answer *a, const char *word)
{
	char *text = xarena_alloc(a->arena, 2 * strlen(word) + 1), *to = text;

	for (const char *c = word; *c; c++) {
		if (*c == '%' && c[1])
			*to++ = '%';
		*to++ = *c;
	}
	return text;
}

/* `line`, and the parts that it does not have. */
static void propose_line(const struct answer *a, const struct foreign_fit *fit, const char *line)
{
	log_error("try%s: %s", without(a, fit), line);
}

static void propose(const struct answer *a, const struct foreign_fit *fit)
{
	char *line = xarena_strdup(a->arena, "xdd");

	if (fit->multi) {
		line = append(a, line, "multi");
		line = append(a, line, fit->multi);
		line = append(a, line, fit->hosts);
		line = append(a, line, "--");
	}
	for (size_t i = 0; i < fit->n; i++)
		line = append(a, line, fit->multi ? plain(a, fit->words[i]) : fit->words[i]);
	propose_line(a, fit, line);
}

/* ---- a command line of fio ---- */

/* The setting of a job that a part is; NULL: it is no word of fio. */
static const char *setting_name(const struct foreign_part *part)
{
	/* Options of xdd with values that fio has as well. */
	static const char *const shared[][2] = { { "op", "rw" }, { "ioengine", "ioengine" } };
	const char *name = part->row ? part->row->word : part->opt ? part->opt->name : "";

	if (part->row ? part->tool != &foreign_fio : !part->opt)
		return NULL;
	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
		if (strcmp(shared[i][0], name) == 0)
			return shared[i][1];
	}
	return part->row ? name : NULL;
}

/* True if all parts are words of fio with no stray words between them. */
static bool is_of_fio(const struct answer *a)
{
	for (size_t i = 0; i < a->n_parts; i++) {
		const struct foreign_part *part = &a->parts[i];

		if (!setting_name(part) || (part->row ? rest_of(part) != NULL : part->n_words > 2))
			return false;
	}
	return a->n_parts;
}

static bool is_of_line(const struct foreign_part *part)
{
	return part->row && part->row->type == FIO_LINE;
}

static bool is_lost(const struct answer *a, const struct foreign_fit *fit,
		    const struct foreign_part *part)
{
	return fit->lost[part - a->parts];
}

static bool has_name(const struct answer *a)
{
	for (size_t i = 0; i < a->n_parts; i++) {
		if (strcmp(setting_name(&a->parts[i]), "name") == 0)
			return true;
	}
	return false;
}

/* The parts as settings of a job, which gets a name where they have none. */
static int read_job(const struct answer *a, const struct foreign_fit *fit, struct fio_file *f)
{
	const struct foreign_part *end = a->parts + a->n_parts;
	int err = has_name(a) ? 0 : fio_read_word(f, 0, "name", "job");

	for (const struct foreign_part *part = a->parts; !err && part < end; part++) {
		if (!is_lost(a, fit, part) && !is_of_line(part))
			err = fio_read_word(f, part->words[0].pos, setting_name(part), part->value);
	}
	return err;
}

/*
 * Map the job without the parts that are lost. A part without which it would be another job, and
 * which xdd cannot do, is lost as well. Returns 0, or as fio_map().
 */
static int map_job(const struct answer *a, struct foreign_fit *fit, struct fio_file *f,
		   struct fio_group **groups)
{
	for (;;) {
		const struct foreign_part *part = a->parts;
		int err;

		*f = (struct fio_file){ .arena = a->arena, .typed = true };
		err = read_job(a, fit, f);
		if (!err)
			err = fio_map(f, groups);
		if (err != -EINVAL || !f->refused)
			return err;
		while (part < a->parts + a->n_parts &&
		       (is_lost(a, fit, part) || part->words[0].pos != f->refused->line))
			part++;
		if (part == a->parts + a->n_parts)
			return err;
		fit->lost[part - a->parts] = true;
	}
}

/* Settings that have no effect beside others are named, where xdd has words for them. */
static void lose_unused(const struct answer *a, struct foreign_fit *fit,
			const struct fio_group *groups)
{
	for (const struct fio_note *n = groups->notes; n; n = n->next) {
		for (size_t i = 0; i < a->n_parts && n->left_out && n->setting; i++) {
			const struct foreign_part *part = &a->parts[i];

			fit->lost[i] |= part->words[0].pos == n->setting->line && part->row &&
					part->row->say && *part->row->say && !is_of_line(part);
		}
	}
}

/* The job as arguments of xdd fio, which runs several commands. */
static char *job_line(const struct answer *a, const struct foreign_fit *fit)
{
	char *line =
		xarena_strdup(a->arena, has_name(a) ? "xdd fio -run" : "xdd fio -run --name=job");

	for (size_t i = 0; i < a->n_parts; i++) {
		const struct foreign_part *part = &a->parts[i];
		const char *value = part->value, *name = setting_name(part);
		const char *word = xarena_printf(a->arena, "--%s%s%s", name, value ? "=" : "",
						 value ? value : "");

		if (!fit->lost[i])
			line = append(a, line, word);
	}
	return line;
}

/* The words of xdd for words of fio's command line, after the words of its one command. */
static char *with_options(const struct answer *a, const char *command)
{
	struct foreign_part *parts = xarena_alloc(a->arena, a->n_parts * sizeof(*parts));
	char *line = xarena_strdup(a->arena, command);
	struct foreign_fit fit;
	size_t n = 0;

	for (size_t i = 0; i < a->n_parts; i++) {
		if (is_of_line(&a->parts[i]))
			parts[n++] = a->parts[i];
	}
	foreign_fit(a->arena, a->table, parts, n, n, &fit);
	for (size_t i = 0; i < fit.n; i++)
		line = append(a, line, fit.words[i]);
	return line;
}

/*
 * A command line of fio is a job, whose translation is proposed where it is one command. False: it
 * is none.
 */
static bool propose_job(const struct answer *a)
{
	struct foreign_fit fit = { .lost = xarena_alloc(a->arena, a->n_parts * sizeof(bool) + 1) };
	struct fio_group *groups;
	struct fio_file f;
	bool one;
	int err;

	if (!is_of_fio(a))
		return false;
	for (size_t i = 0; i < a->n_parts; i++)
		fit.lost[i] = a->parts[i].row && a->parts[i].row->type == FIO_LEFT_OUT;
	err = map_job(a, &fit, &f, &groups);
	if (err) {
		if (err == -EINVAL)
			log_error("no command line of xdd is proposed: %s", fio_why(&f));
		return true;
	}
	lose_unused(a, &fit, groups);
	one = !groups->next && groups->commands && !groups->commands->next;
	for (size_t i = 0; !one && i < a->n_parts; i++)
		fit.lost[i] |= is_of_line(&a->parts[i]);
	propose_line(a, &fit, one ? with_options(a, groups->commands->line) : job_line(a, &fit));
	return true;
}

/*
 * Propose a command line: of all parts; or, if xdd would refuse it, without one that is another
 * tool's. Nothing, and the reason, if neither is possible.
 */
static void propose_some(const struct answer *a)
{
	struct foreign_fit fit;
	const size_t none = a->n_parts, before = log_hold();
	size_t held;

	if (propose_job(a))
		return;
	foreign_fit(a->arena, a->table, a->parts, a->n_parts, none, &fit);
	if (is_right(a, &fit)) {
		propose(a, &fit);
		return;
	}
	held = log_hold();
	for (size_t i = a->n_parts; i-- > 0;) {
		if (!a->parts[i].row || !a->parts[i].row->say ||
		    foreign_names_targets(a->parts[i].row))
			continue;
		foreign_fit(a->arena, a->table, a->parts, a->n_parts, i, &fit);
		fit.lost[i] = true;
		if (is_right(a, &fit)) {
			log_drop(before);
			propose(a, &fit);
			return;
		}
		log_drop(held);
	}
}

/* Report all parts. Returns the status of the refusal. */
static enum xdd_status report_parts(const struct answer *a, enum xdd_status refused)
{
	enum xdd_status status = refused;
	bool understood = true;

	for (size_t i = 0; i < a->n_parts; i++) {
		const struct foreign_part *part = &a->parts[i];

		if (!report_part(a, part))
			understood = false;
		if (!part->opt || is_too_much(part))
			status = XDD_BAD_OPTION;
	}
	if (understood)
		propose_some(a);
	return status;
}

/* The parts of a command line, and what they stand for. */
static void read_parts(struct answer *a, int argc, char **argv)
{
	split(a, argv, argc > 1 ? (size_t)argc - 1 : 0);
	vote(a);
	for (size_t i = 0; i < a->n_parts; i++)
		find_row(a, &a->parts[i]);
	name_paths(a);
}

bool foreign_answer(int argc, char **argv, size_t held, enum xdd_status *status)
{
	struct answer a = { .table = &run_options, .arena = xarena_new() };
	bool found = false;

	read_parts(&a, argc, argv);
	for (size_t i = 0; i < a.n_parts; i++) {
		found = found || a.parts[i].row || is_too_much(&a.parts[i]);
	}
	if (found) {
		log_drop(held);
		*status = report_parts(&a, *status);
	}
	arena_free(a.arena);
	return found;
}
