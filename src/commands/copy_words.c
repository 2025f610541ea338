/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The words of the command line of xdd copy: names of options, clusters of letters, values in the
 * forms of earlier programs, and operands; sources and destination; and options that exclude each
 * other. Called by copy.c.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands/copy_line.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/commands/command.h"
#include "xdd/sys/machine.h"

struct pair {
	const char *a, *b;
	const char *why;
};

static const struct pair pairs[] = {
	{ "verify", "inplace", "-verify writes nothing" },
	{ "verify", "resume", "-verify writes nothing, so there is nothing to resume" },
	{ "verify", "dryrun", "-verify changes nothing, and reads contents; use one of them" },
	{ "verify", "force", "-verify writes nothing" },
	{ "dryrun", "resume", "-dryrun writes nothing, so there is nothing to resume" },
	{ "dryrun", "freeports", "-dryrun changes nothing, and -freeports ends programs" },
	{ "dryrun", "verbose", "-dryrun moves no data, and its list is on standard output" },
	{ "dryrun", "dump", "-dryrun moves no data, and its list is on standard output" },
	{ "inplace", "resume", "only what has a temporary name can be resumed" },
	{ "list", "size", "a size is for one file" },
	{ "recursive", "size", "a size is for one file" },
	{ "json", "jsonout", "both say where the results go" },
};

/* Both may be NULL. */
static bool same_output(const char *a, const char *b)
{
	if (!a || !b)
		return false;
	return strcmp(a, b) == 0 ||
	       (output_standard(a) >= 0 && output_standard(a) == output_standard(b));
}

static bool copy_line_has(const struct copy_line *l, const char *name);

/* Refuse options that exclude each other. Returns 0 or a status, reported. */
static int copy_line_combination(const struct copy_line *l)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (!copy_line_has(l, pairs[i].a) || !copy_line_has(l, pairs[i].b))
			continue;
		return log_fail(COPY_BAD_COMBINATION, "copy: -%s excludes -%s: %s", pairs[i].a,
				pairs[i].b, pairs[i].why);
	}
	if (same_output(l->request.log_path, l->request.json_path))
		return log_fail(COPY_BAD_COMBINATION,
				"copy: the log and the JSON document need different files");
	if (copy_line_has(l, "null") && !copy_line_has(l, "list"))
		return log_fail(COPY_BAD_COMBINATION,
				"copy: -null is about names in a list; say -list too");
	if (copy_line_has(l, "trust") && !copy_line_has(l, "resume"))
		return log_fail(
			COPY_BAD_COMBINATION,
			"copy: -trust is about parts of an interrupted copy; say -resume too");
	return 0;
}

/* Name the options of ssh that were given where there is none: within this host. */
static void copy_line_name_ignored(const struct copy_line *l)
{
	static const char *const of_ssh[] = { "ssh", "tty", "remotexdd" };

	if (l->request.sources[0].host || l->request.destination.host)
		return;
	for (size_t i = 0; i < sizeof(of_ssh) / sizeof(of_ssh[0]); i++) {
		if (copy_line_has(l, of_ssh[i]))
			log_warning("copy -%s: has no meaning within this host and is ignored; "
				    "say <host>:<path> for a name on another one",
				    of_ssh[i]);
	}
}

/*
 * Sources and destination.
 */

#define HOST_MAX 255

/* The colon between host and path, as scp finds it; NULL: a local path. */
static const char *host_end(const char *word)
{
	bool bracket = *word == '[';

	if (*word == ':')
		return NULL;
	for (const char *c = word; *c; c++) {
		if (c[0] == '@' && c[1] == '[')
			bracket = true;
		if (c[0] == ']' && c[1] == ':' && bracket)
			return c + 1;
		if (*c == ':' && !bracket)
			return c;
		if (*c == '/')
			return NULL;
	}
	return NULL;
}

static bool has_blank_or_control(const char *s)
{
	for (; *s; s++) {
		if (isspace((unsigned char)*s) || iscntrl((unsigned char)*s))
			return true;
	}
	return false;
}

/* ssh would take a host or user that begins with a dash for an option. */
static const char *host_is_wrong(const struct copy_place *p)
{
	if (!*p->host)
		return "the host is empty";
	if (p->user && !*p->user)
		return "the user is empty";
	if (*p->host == '-' || (p->user && *p->user == '-'))
		return "a host or user begins with a dash; say ./ before a local name";
	if (strlen(p->host) > HOST_MAX || (p->user && strlen(p->user) > HOST_MAX))
		return "the name of the host is too long";
	if (has_blank_or_control(p->host) || (p->user && has_blank_or_control(p->user)))
		return "a host has no blanks; say ./ before a local name with a colon";
	if (strpbrk(p->host, "[],'\"`$\\()<>|&;*?!{}"))
		return "is not the name of a host; say ./ before a local name with a colon";
	if (*p->path == ':')
		return "host::module is a form of rsync, and an address of IPv6 needs brackets; "
		       "say host:path or [address]:path";
	if (strncmp(p->path, "//", 2) == 0)
		return "is a URL; say host:path";
	if (*p->path == '~')
		return "the home directory of another user is not looked up; say its path, or ./ "
		       "before a name with a tilde";
	return NULL;
}

/* A path without the tilde of the home directory: relative paths begin there. */
static const char *without_tilde(const char *path)
{
	if (path[0] != '~' || (path[1] && path[1] != '/'))
		return path;
	path++;
	return path + strspn(path, "/");
}

const char *copy_place_parse(struct arena *arena, const char *word, struct copy_place *place)
{
	const char *colon = host_end(word), *host = word;
	char *name, *at;

	memset(place, 0, sizeof(*place));
	place->path = word;
	place->word = word;
	if (!*word)
		return "is empty";
	if (!colon)
		return strncmp(word, "::", 2) != 0 ? NULL :
						     "an address of IPv6 needs brackets; say "
						     "[address]:path, or ./ before a local name";
	name = xarena_printf(arena, "%.*s", (int)(colon - word), word);
	/* The name of a user may have an @. */
	at = strrchr(name, '@');
	if (at) {
		*at = '\0';
		place->user = name;
		host = at + 1;
	} else {
		host = name;
	}
	if (*host == '[' && host[1]) {
		char *end = strrchr(host, ']');

		if (!end || end[1])
			return "expected [address]:path";
		*end = '\0';
		host++;
	}
	place->host = host;
	place->path = without_tilde(colon + 1);
	return host_is_wrong(place);
}

/* True if both are on the same host, as far as their names say. */
static bool same_host(const struct copy_place *a, const struct copy_place *b)
{
	if (!a->host || !b->host)
		return a->host == b->host;
	if (!a->user != !b->user || (a->user && strcmp(a->user, b->user) != 0))
		return false;
	return strcmp(a->host, b->host) == 0;
}

static int bad_names(const char *word, const char *why)
{
	if (*word)
		log_error("copy: %.256s: %s", word, why);
	else
		log_error("copy: a source or destination is empty");
	return COPY_BAD_NAMES;
}

static void copy_line_use(struct copy_line *l, const struct option *opt);

/* A size after the destination: source destination size. */
static int take_size(struct copy_line *l, const struct copy_place *places)
{
	const char *word = l->operands[l->n_operands - 1];
	struct stat st;
	uint64_t bytes;

	if (l->n_operands != 3 || places[2].host || !isdigit((unsigned char)*word) ||
	    strchr(word, '/'))
		return 0;
	if (same_host(&places[0], &places[1])) {
		if (units_parse_size(word, &bytes) || lstat(word, &st) == 0)
			return 0;
		return bad_names(word,
				 "is a size or a destination; say -size, or ./ before a name");
	}
	if (copy_line_has(l, "size"))
		return log_fail(COPY_BAD_ARGUMENTS, "copy: %s: a size is given twice", word);
	if (units_parse_size(word, &bytes) || bytes == UINT64_MAX)
		return log_fail(COPY_BAD_ARGUMENTS,
				"copy: %.128s: expected a size, such as 4096 or 10G", word);
	l->size_bytes = bytes;
	copy_line_use(l, option_find(&copy_options, "size"));
	l->n_operands--;
	return 0;
}

static int check_places(const struct copy_line *l, const struct copy_place *places, size_t n)
{
	for (size_t i = 1; i + 1 < n; i++) {
		if (!same_host(&places[0], &places[i]))
			return bad_names(l->operands[i],
					 "is not on the host of the first source; copy it by a "
					 "command of its own");
	}
	if (n > 2 && copy_line_has(l, "list"))
		return log_fail(
			COPY_BAD_NAMES,
			"copy: -list takes one list of names as the source; a configuration of "
			"ssh is -S 'ssh -F <file>'");
	if (n > 2 && copy_line_has(l, "size"))
		return log_fail(COPY_BAD_COMBINATION, "copy: a size is for one source");
	return 0;
}

/* Operands into sources, destination and size. Returns 0 or a status, reported. */
static int copy_line_places(struct copy_line *l)
{
	struct copy_place *places = xarena_alloc(l->arena, sizeof(*places) * (l->n_operands + 1));
	struct copy_request *r = &l->request;
	const char *why;
	size_t len;
	int status;

	if (l->n_operands < 2)
		return log_fail(
			COPY_BAD_ARGUMENTS,
			"copy: expected a source and a destination: xddcp [option ...] <source> ... "
			"<host>:<path>, or xddcp -h");
	for (size_t i = 0; i < l->n_operands; i++) {
		why = copy_place_parse(l->arena, l->operands[i], &places[i]);
		if (why)
			return bad_names(l->operands[i], why);
	}
	status = take_size(l, places);
	if (!status)
		status = check_places(l, places, l->n_operands);
	if (status)
		return status;
	r->sources = places;
	r->n_sources = l->n_operands - 1;
	r->destination = places[r->n_sources];
	r->settings.size_bytes = l->size_bytes;
	len = strlen(r->destination.path);
	r->settings.into = r->n_sources > 1 || r->settings.list ||
			   (len && r->destination.path[len - 1] == '/');
	return 0;
}

/* Why a source of this host cannot be one; NULL: it can. */
static const char *source_is_wrong(const struct copy_line *l, const char *path, int *status)
{
	const bool list = l->request.settings.list;
	struct stat st;

	if (list && strcmp(path, "-") == 0)
		return NULL;
	*status = COPY_NO_SOURCE;
	if (lstat(path, &st))
		return strerror(errno);
	*status = COPY_BAD_ARGUMENTS;
	if (stat(path, &st) || !S_ISDIR(st.st_mode) || l->request.settings.recursive)
		return NULL;
	if (list)
		return COPY_IS_DIRECTORY_LIST;
	return l->request.settings.resume ? COPY_IS_DIRECTORY_RESUME : COPY_IS_DIRECTORY;
}

/* The standard input of the other host has the messages of the copy. */
static const char *other_source_is_wrong(const struct copy_line *l, const char *path, int *status)
{
	if (!l->request.settings.list || strcmp(path, "-") != 0)
		return NULL;
	*status = COPY_BAD_NAMES;
	return "is standard input, which has names of files of this host; expected a list that is "
	       "a file";
}

/* True if an output would be written into a source. */
static bool is_output(const struct copy_line *l, const char *path)
{
	const char *const outputs[] = { l->request.log_path, l->request.json_path };
	struct stat st, out;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
		if (outputs[i] && output_standard(outputs[i]) < 0 && stat(outputs[i], &out) == 0 &&
		    out.st_dev == st.st_dev && out.st_ino == st.st_ino)
			return true;
	}
	return false;
}

/* Look whether the sources of this host are there. Returns 0 or a status, reported. */
static int copy_line_sources(const struct copy_line *l)
{
	for (size_t i = 0; i < l->request.n_sources; i++) {
		const struct copy_place *p = &l->request.sources[i];
		int status = 0;
		const char *why = p->host ? other_source_is_wrong(l, p->path, &status) :
					    source_is_wrong(l, p->path, &status);

		if (!why && !p->host && is_output(l, p->path)) {
			why = "is a source and the log or the JSON document; use another file";
			status = COPY_BAD_ARGUMENTS;
		}
		if (!why)
			continue;
		log_error("copy: %.512s: %s", p->path, why);
		return status;
	}
	return 0;
}

/* More threads than two per processor make a copy slower where these are the limit. */
#define FEW_PROCESSORS 4

/* True if the option with this name was given. */
static bool copy_line_has(const struct copy_line *l, const char *name)
{
	for (size_t i = 0; i < l->n_used; i++) {
		if (strcmp(l->used[i]->name, name) == 0)
			return true;
	}
	return false;
}

/* Note that an option was given. */
static void copy_line_use(struct copy_line *l, const struct option *opt)
{
	if (!copy_line_has(l, opt->name))
		l->used[l->n_used++] = opt;
}

/* The option of a letter, or NULL. */
static const struct option *letter_option(char letter)
{
	const char name[2] = { letter, '\0' };

	return letter ? option_find(&copy_options, name) : NULL;
}

static void note_option(struct line *line, const struct option *opt, const char *word,
			const char *value)
{
	struct copy_line *l = line->to;

	(void)value;
	copy_line_use(l, opt);
	l->letter_a |= strcmp(opt->name, "resume") == 0 && word[strlen(word) - 1] == 'a';
}

/* True if `text` may be the value of a flag in the form of the later program: -d b, -n 3. */
static bool is_later_value(const struct option *opt, const char *text)
{
	if (!text || !*text)
		return false;
	if (strcmp(opt->name, "directdestination") == 0 || strcmp(opt->name, "ordered") == 0)
		return strcmp(text, "s") == 0 || strcmp(text, "d") == 0 || strcmp(text, "b") == 0 ||
		       strcmp(text, "sd") == 0;
	if (strcmp(opt->name, "dryrun") == 0 || strcmp(opt->name, "dump") == 0)
		return strlen(text) < 5 && !text[strspn(text, "0123456789")];
	return false;
}

/* Refuse the word after a letter that has another meaning in other tools. */
static int refuse_habit(struct copy_line *l, const char *word, const char *next)
{
	const char letter = word[1] != '-' ? word[strlen(word) - 1] : '\0';
	const char *why = next && *next != '-' ? copy_foreign_value(l->arena, letter, next) : NULL;
	const bool is_letter = letter && (!word[2] || !option_find(&copy_options, word + 1));

	if (!why || !is_letter)
		return 0;
	return log_fail(COPY_BAD_ARGUMENTS, "copy %.128s %.128s: %s", word, next, why);
}

/* Refuse a file after -json, which writes to standard output; a source that exists is one. */
static int refuse_json_file(const struct option *opt, const char *word, const char *next,
			    bool joined)
{
	const size_t len = next ? strlen(next) : 0;
	struct stat st;

	if (!len || strcmp(opt->name, "json") != 0)
		return 0;
	if (!joined && (len < 5 || strcmp(next + len - 5, ".json") != 0 || lstat(next, &st) == 0))
		return 0;
	return log_fail(COPY_BAD_ARGUMENTS,
			"copy %.128s%s%s: writes to standard output; for a file say -jsonout %s",
			word, joined ? "" : " ", joined ? "" : next, next);
}

/* The last letter of `word`, or a name. */
static enum xdd_status last_option(struct copy_line *l, const struct option *opt, const char *word)
{
	const char *next = l->line.argv[l->line.at + 1];

	if (refuse_habit(l, word, next) || refuse_json_file(opt, word, next, false))
		return XDD_BAD_ARGUMENT;
	l->line.at++;
	if (opt->arg || !is_later_value(opt, next) || l->n_maybe == COPY_USED_MAX)
		return line_store_next(&l->line, opt, word);
	l->maybe[l->n_maybe++] = (struct copy_maybe){ opt, l->n_operands };
	l->operands[l->n_operands++] = next;
	l->line.at++;
	return XDD_OK;
}

/* XDD_OK: there is no better message than the one of line_read(). */
static enum xdd_status bad_option(const struct copy_line *l, const char *word)
{
	if (strcmp(word, "-server") == 0)
		log_error("copy -server: is for the other side of a copy, and has no other words");
	else if (!copy_foreign_option(l, word))
		return XDD_OK;
	return XDD_BAD_OPTION;
}

/* The length of `letters` that are options, without a number that the last one takes. */
static size_t cluster_length(const char *letters)
{
	size_t n = 0;

	for (const struct option *opt; (opt = letter_option(letters[n]));) {
		n++;
		if (opt->arg)
			break;
	}
	return n;
}

/* Letters that are more probably a word: near an option, an option of a run, or one twice. */
static bool is_word(const char *letters)
{
	const size_t length = strlen(letters);

	for (size_t i = 0; i < length; i++) {
		if (isalpha((unsigned char)letters[i]) && strchr(letters + i + 1, letters[i]))
			return true;
	}
	/* -h of rsync is no help: its user expects a copy. */
	return strcmp(letters, "server") == 0 || (letters[1] && strchr(letters, 'h')) ||
	       copy_foreign_name(letters) || (length > 2 && option_find(&run_options, letters)) ||
	       (length > 3 && option_suggest(&copy_options, letters));
}

/* -n3, -w5: a value in the form of the later program is a word of its own. */
static enum xdd_status bad_cluster(const struct copy_line *l, const char *word,
				   const struct option *last, const char *rest)
{
	if (!is_later_value(last, rest))
		return bad_option(l, word);
	return log_refuse("copy %.128s: expected a blank before %s", word, rest);
}

/* -rPv, -rt 4, -t8: letters, and perhaps a number for the last. */
static enum xdd_status cluster(struct copy_line *l)
{
	const char *word = l->line.argv[l->line.at], *letters = word + 1;
	const size_t n = cluster_length(letters);
	const struct option *last;

	if (!n || is_word(letters))
		return bad_option(l, word);
	last = letter_option(letters[n - 1]);
	if (letters[n] && !(last->arg && isdigit((unsigned char)letters[n])))
		return bad_cluster(l, word, last, letters + n);
	for (size_t k = 0; k + 1 < n; k++) {
		const char one[] = { '-', letters[k], '\0' };

		line_store(&l->line, letter_option(letters[k]), one, NULL);
	}
	if (!letters[n])
		return last_option(l, last, word);
	l->line.at++;
	return line_store(&l->line, last, word, letters + n);
}

/* -W <seconds> of the later program: its -w, and a trace of the kernel. */
static const struct option *later_trace(struct copy_line *l, const char *word, const char *next)
{
	const struct option *dump = option_find(&copy_options, "dump");

	if (strcmp(word, "-W") != 0 || !is_later_value(dump, next))
		return NULL;
	l->kernel_trace = true;
	return dump;
}

/* The forms of letters and values that other commands do not have. */
static enum xdd_status take_option(struct line *line)
{
	struct copy_line *l = line->to;
	const char *word = line->argv[line->at], *value;
	const struct option *opt = line_option(line, &value);

	if (opt && value && refuse_json_file(opt, word, value, true))
		return XDD_BAD_ARGUMENT;
	if (line->ended || word[0] != '-' || !word[1] || strcmp(word, "--") == 0 || value)
		return XDD_OK;
	if (!opt)
		opt = later_trace(l, word, line->argv[line->at + 1]);
	if (opt)
		return opt->type == OPT_ACTION ? XDD_OK : last_option(l, opt, word);
	return strchr(word, '=') ? bad_option(l, word) : cluster(l);
}

static enum xdd_status take_operand(struct line *line, const char *word)
{
	struct copy_line *l = line->to;

	l->operands[l->n_operands++] = word;
	return XDD_OK;
}

static void set_flag(struct copy_line *l, const struct option *opt)
{
	line_store(&l->line, opt, opt->name, NULL);
}

/* Apply a value in the form of the later program; a plain flag of the same name stays. */
static int later_value(struct copy_line *l, const struct option *opt, const char *text)
{
	struct copy_settings *s = &l->request.settings;

	if (strcmp(opt->name, "dryrun") == 0)
		return line_store(&l->line, option_find(&copy_options, "retries"), "-n", text) ?
			       COPY_BAD_ARGUMENTS :
			       0;
	if (strcmp(opt->name, "dump") == 0) {
		set_flag(l, opt);
		return 0;
	}
	copy_line_use(l, opt);
	if (strcmp(opt->name, "directdestination") == 0) {
		s->direct_destination |= strcmp(text, "s") != 0;
		s->direct_source |= strcmp(text, "d") != 0;
	} else {
		s->ordered_destination |= strcmp(text, "s") != 0;
		s->ordered_source |= strcmp(text, "d") != 0;
	}
	return 0;
}

/* `text` may be a file as well. `has_retries`: this option has a value by its own name. */
static int check_later_value(const struct option *opt, const char *text, bool has_retries)
{
	struct stat st;

	if (lstat(text, &st) == 0)
		return log_fail(
			COPY_BAD_ARGUMENTS,
			"copy -%s %s: is a value of the option or the file %s; say ./%s for the file",
			opt->aliases, text, text, text);
	if (has_retries && strcmp(opt->name, "dryrun") == 0)
		return log_fail(COPY_BAD_ARGUMENTS,
				"copy -n %s: is -retries %s, which is given as well; leave one out",
				text, text);
	return 0;
}

/*
 * Words that may be values are values where there is a source and a destination without them, and
 * no file of such a name.
 */
static int later_forms(struct copy_line *l)
{
	const bool has_retries = copy_line_has(l, "retries");

	if (l->n_operands < l->n_maybe + 2) {
		for (size_t i = 0; i < l->n_maybe; i++)
			set_flag(l, l->maybe[i].opt);
		return 0;
	}
	for (size_t i = 0; i < l->n_maybe; i++) {
		const struct option *opt = l->maybe[i].opt;
		const char *text = l->operands[l->maybe[i].operand];
		int status = check_later_value(opt, text, has_retries);

		if (!status)
			status = later_value(l, opt, text);
		if (status)
			return status;
		l->operands[l->maybe[i].operand] = NULL;
	}
	for (size_t i = 0, n = l->n_operands, to = 0; i < n; i++) {
		if (l->operands[i])
			l->operands[to++] = l->operands[i];
		else
			l->n_operands--;
	}
	return 0;
}

/* The directory of a program, or the program. */
static const char *program_of(struct arena *arena, const char *path)
{
	const char *last = path_last(path);

	if (strcmp(last, "xdd") == 0 || strncmp(last, "xdd.", 4) == 0)
		return path;
	return xarena_printf(arena, "%s%sxdd", path, *last ? "/" : "");
}

/* Values that are parts of the request. */
static int settle(struct copy_line *l)
{
	static const char *const plain_ssh[] = { "ssh", NULL };
	struct copy_request *r = &l->request;
	struct copy_settings *s = &r->settings;

	s->connections = (uint32_t)l->threads;
	s->block_bytes = (uint32_t)l->block_bytes;
	s->port = (uint16_t)l->port;
	s->port_given = copy_line_has(l, "port");
	s->timeout_ns = l->timeout_ns;
	s->stamps |= s->stamps_binary;
	r->retries = (unsigned)l->retries;
	r->answer_ns = copy_line_has(l, "timeout") ? l->timeout_ns : 0;
	r->ssh = plain_ssh;
	r->remote_xdd = l->remote_xdd ? program_of(l->arena, l->remote_xdd) : "xdd";
	if (l->json)
		r->json_path = "-";
	if (l->block_bytes % 4096)
		return log_fail(COPY_BAD_ARGUMENTS,
				"copy -blocksize %" PRIu64 ": must be a multiple of 4 KiB",
				l->block_bytes);
	if (l->port + l->threads - 1 > 65535)
		return log_fail(
			COPY_BAD_ARGUMENTS,
			"copy -p %u: must be at most %u, because %u threads try as many ports",
			s->port, 65536 - s->connections, s->connections);
	return 0;
}

static int use_ssh(struct copy_line *l)
{
	const char *from = l->ssh ? "-S" : "XDDCP_SSH", *text = l->ssh;
	int err;

	if (!text)
		text = getenv("XDDCP_SSH");
	if (!text || (!*text && !l->ssh))
		return 0;
	l->request.ssh_by_variable = !l->ssh;
	err = copy_split(l->arena, text, &l->request.ssh);
	if (err)
		log_error("copy %s %.128s: %s", from, text,
			  err == -EINVAL ? "a quote is not closed" :
					   "expected a command, such as 'ssh -p 2222'");
	return err ? COPY_BAD_ARGUMENTS : 0;
}

uint32_t copy_default_threads(unsigned processors)
{
	return processors && processors <= FEW_PROCESSORS ? 4 : 8;
}

/* The processors of this process, which settle the default of both sides; 0: not known. */
static unsigned processors(void)
{
	struct idset own;

	return topology_processors(&own) ? 0 : idset_count(&own);
}

int copy_line_read(struct copy_line *l, int argc, char *const *argv)
{
	int status;

	l->line = (struct line){ .name = "copy",
				 .options = &copy_options,
				 .to = l,
				 .operand = take_operand,
				 .other = take_option,
				 .stored = note_option };
	l->threads = copy_default_threads(processors());
	l->port = 40010;
	l->block_bytes = 1u << 20;
	l->size_bytes = UINT64_MAX;
	l->timeout_ns = 30 * NS_PER_SEC;
	l->operands = xarena_alloc(l->arena, sizeof(*l->operands) * ((size_t)argc + 1));
	if (line_read(&l->line, argc, argv))
		return COPY_BAD_ARGUMENTS;
	if (l->line.shows)
		return 0;
	status = later_forms(l);
	if (!status)
		status = settle(l);
	if (!status)
		status = use_ssh(l);
	if (!status)
		status = copy_line_places(l);
	if (!status)
		status = copy_line_combination(l);
	if (!status)
		status = copy_line_sources(l);
	if (!status)
		copy_line_name_ignored(l);
	if (!status)
		copy_foreign_notes(l);
	return status;
}
