/*
 * Sources and destination of xdd copy. Called by copy_words.c.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "commands/copy_line.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"

#include "xdd/base/units.h"

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
	name = arena_printf(arena, "%.*s", (int)(colon - word), word);
	if (!name)
		return "memory is short";
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
	if (copy_line_has(l, "size")) {
		log_error("copy: %s: a size is given twice", word);
		return COPY_BAD_ARGUMENTS;
	}
	if (units_parse_size(word, &bytes) || bytes == UINT64_MAX) {
		log_error("copy: %.128s: expected a size, such as 4096 or 10G", word);
		return COPY_BAD_ARGUMENTS;
	}
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
	if (n > 2 && copy_line_has(l, "list")) {
		log_error("copy: -list takes one list of names as the source; a configuration of "
			  "ssh is -S 'ssh -F <file>'");
		return COPY_BAD_NAMES;
	}
	if (n > 2 && copy_line_has(l, "size")) {
		log_error("copy: a size is for one source");
		return COPY_BAD_COMBINATION;
	}
	return 0;
}

int copy_line_places(struct copy_line *l)
{
	struct copy_place *places = arena_alloc(l->arena, sizeof(*places) * (l->n_operands + 1));
	struct copy_request *r = &l->request;
	const char *why;
	size_t len;
	int status;

	if (l->n_operands < 2 || !places) {
		log_error(
			"copy: expected a source and a destination: xddcp [option ...] <source> ... "
			"<host>:<path>, or xddcp -h");
		return COPY_BAD_ARGUMENTS;
	}
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

int copy_line_sources(const struct copy_line *l)
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
