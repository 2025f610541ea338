/*
 * The words of the command line of xdd copy: names of options, clusters of letters, values in the
 * forms of earlier programs, and operands. Called by copy.c.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands/commands.h"
#include "commands/copy_line.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/commands/command.h"
#include "xdd/sys/machine.h"

/* More threads than two per processor make a copy slower where these are the limit. */
#define FEW_PROCESSORS 4

bool copy_line_has(const struct copy_line *l, const char *name)
{
	for (size_t i = 0; i < l->n_used; i++) {
		if (strcmp(l->used[i]->name, name) == 0)
			return true;
	}
	return false;
}

void copy_line_use(struct copy_line *l, const struct option *opt)
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

static void set_flag(struct copy_line *l, const struct option *opt)
{
	memcpy((char *)l + opt->off, &(bool){ true }, sizeof(bool));
	copy_line_use(l, opt);
}

static int take_value(struct copy_line *l, const struct option *opt, const char *word,
		      const char *text)
{
	const char *hint = copy_line_hint(opt, word);

	if (!text) {
		log_error("copy %.128s: missing argument %s%s%s", word, opt->arg, *hint ? "; " : "",
			  hint);
		return COPY_BAD_ARGUMENTS;
	}
	copy_line_use(l, opt);
	return copy_line_value(l, opt, word, text);
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
	log_error("copy %.128s %.128s: %s", word, next, why);
	return COPY_BAD_ARGUMENTS;
}

/* The last letter of a word, or a name: `*i` is its index, and moves past its value. */
static int last_option(struct copy_line *l, const struct option *opt, const char *word, int *i)
{
	int status = refuse_habit(l, word, l->argv[*i + 1]);

	if (status)
		return status;
	if (opt->arg)
		return take_value(l, opt, word, l->argv[*i + 1] ? l->argv[++*i] : NULL);
	l->letter_a |= strcmp(opt->name, "resume") == 0 && word[strlen(word) - 1] == 'a';
	if (!is_later_value(opt, l->argv[*i + 1]) || l->n_maybe == COPY_USED_MAX) {
		set_flag(l, opt);
		return 0;
	}
	l->maybe[l->n_maybe++] = (struct copy_maybe){ opt, l->n_operands };
	l->operands[l->n_operands++] = l->argv[++*i];
	return 0;
}

static int bad_option(const char *word)
{
	if (strcmp(word, "-server") == 0)
		log_error("copy -server: is for the other side of a copy, and has no other words");
	else if (!copy_foreign_option(word))
		command_bad_option(&command_copy, word);
	return COPY_BAD_ARGUMENTS;
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
static int bad_cluster(const char *word, const struct option *last, const char *rest)
{
	if (!is_later_value(last, rest))
		return bad_option(word);
	log_error("copy %.128s: expected a blank before %s", word, rest);
	return COPY_BAD_ARGUMENTS;
}

/* -rPv, -rt 4, -t8: letters, and perhaps a number for the last. */
static int cluster(struct copy_line *l, int *i)
{
	const char *word = l->argv[*i], *letters = word + 1;
	const size_t n = cluster_length(letters);
	const struct option *last;

	if (!n || is_word(letters))
		return bad_option(word);
	last = letter_option(letters[n - 1]);
	if (letters[n] && !(last->arg && isdigit((unsigned char)letters[n])))
		return bad_cluster(word, last, letters + n);
	for (size_t k = 0; k + 1 < n; k++) {
		set_flag(l, letter_option(letters[k]));
		l->letter_a |= letters[k] == 'a';
	}
	return letters[n] ? take_value(l, last, word, letters + n) : last_option(l, last, word, i);
}

/* --name=value */
static int with_equals(struct copy_line *l, const char *word)
{
	const char *name = word + (word[1] == '-' ? 2 : 1), *equals = strchr(name, '=');
	const char *key = arena_printf(l->arena, "%.*s", (int)(equals - name), name);
	const struct option *opt = key ? option_find(&copy_options, key) : NULL;

	if (!opt)
		return bad_option(word);
	if (opt->arg)
		return take_value(l, opt, word, equals + 1);
	log_error("copy %.128s: takes no value; say -%s", word, opt->name);
	return COPY_BAD_ARGUMENTS;
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

static int option_word(struct copy_line *l, int *i)
{
	const char *word = l->argv[*i], *name = word + (word[1] == '-' ? 2 : 1);
	const struct option *opt = option_find(&copy_options, name);

	if (!opt)
		opt = later_trace(l, word, l->argv[*i + 1]);
	if (opt)
		return last_option(l, opt, word, i);
	if (strchr(word, '='))
		return with_equals(l, word);
	return word[1] == '-' ? bad_option(word) : cluster(l, i);
}

static int read_words(struct copy_line *l, int argc)
{
	bool options = true;

	for (int i = 1; i < argc; i++) {
		const char *word = l->argv[i];
		int status = 0;

		if (options && strcmp(word, "--") == 0)
			options = false;
		else if (options && word[0] == '-' && word[1])
			status = option_word(l, &i);
		else
			l->operands[l->n_operands++] = word;
		if (status || l->help || l->version)
			return status;
	}
	return 0;
}

/* Apply a value in the form of the later program; a plain flag of the same name stays. */
static int later_value(struct copy_line *l, const struct option *opt, const char *text)
{
	struct copy_settings *s = &l->request.settings;

	if (strcmp(opt->name, "dryrun") == 0)
		return take_value(l, option_find(&copy_options, "retries"), "-n", text);
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

	if (lstat(text, &st) == 0) {
		log_error(
			"copy -%s %s: is a value of the option or the file %s; say ./%s for the file",
			opt->aliases, text, text, text);
		return COPY_BAD_ARGUMENTS;
	}
	if (has_retries && strcmp(opt->name, "dryrun") == 0) {
		log_error("copy -n %s: is -retries %s, which is given as well; leave one out", text,
			  text);
		return COPY_BAD_ARGUMENTS;
	}
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
	return arena_printf(arena, "%s%sxdd", path, *last ? "/" : "");
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
	if (!r->remote_xdd)
		return COPY_FAILED;
	if (l->block_bytes % 4096) {
		log_error("copy -blocksize %" PRIu64 ": must be a multiple of 4 KiB",
			  l->block_bytes);
		return COPY_BAD_ARGUMENTS;
	}
	if (l->port + l->threads - 1 > 65535) {
		log_error("copy -p %u: must be at most %u, because %u threads try as many ports",
			  s->port, 65536 - s->connections, s->connections);
		return COPY_BAD_ARGUMENTS;
	}
	return 0;
}

static int no_memory(void)
{
	log_error("copy: %s", strerror(ENOMEM));
	return COPY_FAILED;
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
	if (err == -ENOMEM)
		return no_memory();
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

	l->argv = argv;
	l->threads = copy_default_threads(processors());
	l->port = 40010;
	l->block_bytes = 1u << 20;
	l->size_bytes = UINT64_MAX;
	l->timeout_ns = 30 * NS_PER_SEC;
	l->operands = arena_alloc(l->arena, sizeof(*l->operands) * ((size_t)argc + 1));
	if (!l->operands)
		return no_memory();
	status = read_words(l, argc);
	if (status || l->help || l->version)
		return status;
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
