/*
 * Commands to go on with after a check. Pure functions, called by check.c.
 */
#include <inttypes.h>
#include <string.h>

#include "commands/check.h"
#include "xdd/base/text.h"

/*
 * A word, quoted for a shell where it needs that. NULL: there is no room for all of it, or it has
 * characters that control a terminal, and a command with another name would be of another file.
 */
static const char *quoted(const char *word, char *buf, size_t size)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-_./+:,=@%";
	size_t n = 0;

	for (const char *p = word; *p; p += utf8_length(p))
		if (printable_unsafe(p))
			return NULL;
	if (!word[strspn(word, plain)])
		return strlen(word) < size ? word : NULL;
	buf[n++] = '\'';
	for (; *word && n + 6 < size; word++) {
		if (*word == '\'')
			n += (size_t)sprintf(buf + n, "'\\''");
		else
			buf[n++] = *word;
	}
	buf[n++] = '\'';
	buf[n] = '\0';
	return *word ? NULL : buf;
}

static void advise_reads(const struct check_target *t, const struct check_result *result,
			 struct check_notes *notes)
{
	const char *dio = t->direct ? " -dio" : " -dropcache";
	char buf[CHECK_NOTE_SIZE / 2], common[CHECK_NOTE_SIZE - 128];
	const char *name = quoted(t->path, buf, sizeof(buf));

	if (!name)
		return;
	snprintf(common, sizeof(common),
		 "xdd -op read -target %s%s -ioengine %s -queuedepth 32 -reqsize %" PRIu64
		 "k -seek random",
		 name, dio, t->engine, t->unit_bytes / 1024);
	check_note(notes, "How certain the figures are, and a file for xdd compare:");
	check_note(notes, "%s -timelimit 10s -passes 5 -jsonout before.json", common);
	check_note(notes, "Response times at half the rate that it reached:");
	check_note(notes, "%s -timelimit 30s -throttle ops %.0f -latency percentiles 50,99,99.9",
		   common, check_iops(&result->rows[CHECK_DEEP]) / 2 + 1);
}

void check_advise(const struct check_target *t, const struct check_result *result,
		  struct check_notes *notes)
{
	char buf[CHECK_NOTE_SIZE / 2];
	const char *name;

	if (t->memory)
		return;
	for (int i = 0; i < CHECK_PHASES; i++)
		if (!result->rows[i].measured || result->rows[i].errors)
			return;
	advise_reads(t, result, notes);
	name = quoted(t->new_file, buf, sizeof(buf));
	if (!*t->new_file || !name)
		return;
	check_note(notes, "Writes, to a new file that is removed afterwards:");
	check_note(notes,
		   "xdd -op write -target %s%s -bytes %" PRIu64
		   "M -reqsize 1M -queuedepth 8 -datapattern random -syncwrite -deletefile",
		   name, t->direct ? " -dio" : "", t->new_bytes >> 20);
}
