/*
 * Options of xdd copy that exclude each other. Called by copy_words.c.
 */
#include <stddef.h>
#include <string.h>

#include "commands/copy_line.h"
#include "xdd/base/log.h"
#include "xdd/base/output.h"

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

int copy_line_combination(const struct copy_line *l)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (!copy_line_has(l, pairs[i].a) || !copy_line_has(l, pairs[i].b))
			continue;
		log_error("copy: -%s excludes -%s: %s", pairs[i].a, pairs[i].b, pairs[i].why);
		return COPY_BAD_COMBINATION;
	}
	if (same_output(l->request.log_path, l->request.json_path)) {
		log_error("copy: the log and the JSON document need different files");
		return COPY_BAD_COMBINATION;
	}
	if (copy_line_has(l, "null") && !copy_line_has(l, "list")) {
		log_error("copy: -null is about names in a list; say -list too");
		return COPY_BAD_COMBINATION;
	}
	if (copy_line_has(l, "trust") && !copy_line_has(l, "resume")) {
		log_error("copy: -trust is about parts of an interrupted copy; say -resume too");
		return COPY_BAD_COMBINATION;
	}
	return 0;
}

void copy_line_name_ignored(const struct copy_line *l)
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
