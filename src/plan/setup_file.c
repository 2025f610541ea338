/*
 * Setup files: read whole and split into words like a shell does, each with its line. Called by the
 * parser for -setup.
 */
#include "plan/setup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/errors.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"

#define SETUP_MAX_BYTES (16u << 20)
#define NAME_MAX_BYTES 64
#define SECTIONS_MAX 1000
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* A setup file that is being split into words. */
struct splitter {
	struct arena *arena;
	const char *file;
	const char *in;
	char *out; /* end of the unquoted text; never overtakes `in` */
	unsigned line;
	bool fresh; /* nothing but blanks stands before `in` on its line */
	size_t cap; /* of found->words */
	struct setup_words *found;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

/* Read to the end of any kind of file, into the arena. */
static int read_all(struct arena *arena, int fd, char **text, size_t *len)
{
	char *data;
	int err = readfile(fd, SETUP_MAX_BYTES, &data, len);

	if (err)
		return err;
	*text = arena_alloc(arena, *len + 1);
	if (*text)
		memcpy(*text, data, *len + 1);
	free(data);
	return *text ? 0 : -ENOMEM;
}

static int add_word(struct splitter *s, const char *text, unsigned line)
{
	struct setup_words *f = s->found;

	if (f->n == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 32;
		struct word *more = arena_alloc(s->arena, cap * sizeof(*more));

		if (!more)
			return -ENOMEM;
		if (f->n)
			memcpy(more, f->words, f->n * sizeof(*more));
		f->words = more;
		s->cap = cap;
	}
	f->words[f->n++] = (struct word){ .text = text, .file = s->file, .pos = line };
	return 0;
}

/* ---- sections ---- */

/*
 * The length of the name of the section that begins at `in`, a bracket and the first word of its
 * line; -1: the line is one of words. Words may begin with a bracket, as patterns of names do, but
 * a bracket that closes at the end of the line makes a section.
 */
static ptrdiff_t section_length(const char *in)
{
	const size_t len = strcspn(in, "]\n");
	const char *after = in + len + 1;
	size_t blanks;

	if (in[len] != ']')
		return -1;
	blanks = strspn(after, " \t\r\f\v");
	if (after[blanks] && after[blanks] != '\n' && !(blanks && after[blanks] == '#'))
		return -1;
	return (ptrdiff_t)len - 1;
}

/* A name goes into names of files, and onto command lines. */
static bool name_is_good(const char *name, size_t len)
{
	if (!len || len > NAME_MAX_BYTES || *name == '-' || *name == '.')
		return false;
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)name[i] <= ' ' || strchr("\x7f[]/%#\"'\\", name[i]))
			return false;
	}
	return true;
}

static enum xdd_status no_memory(const struct splitter *s)
{
	log_error("-setup %s: %s", s->file, strerror(ENOMEM));
	return XDD_INIT_FAILED;
}

static enum xdd_status take_section(struct splitter *s, size_t len)
{
	struct setup_words *f = s->found;
	const char *name =
		arena_printf(s->arena, "%.*s", (int)(len < 4096 ? len : 4096), s->in + 1);
	struct setting where = { .name = { .text = "section", .file = s->file, .pos = s->line } };
	struct word at = { .text = name, .file = s->file, .pos = s->line };

	if (!f->sections)
		f->sections = arena_alloc(s->arena, SECTIONS_MAX * sizeof(*f->sections));
	if (!name || !f->sections)
		return no_memory(s);
	if (!name_is_good(name, len))
		return parse_error(XDD_BAD_ARGUMENT, &where, &at,
				   "expected a name of 1 to %d characters without blanks, quotes, "
				   "brackets or any of / %% # \\, and not with - or . first",
				   NAME_MAX_BYTES);
	if (f->n_sections == SECTIONS_MAX)
		return parse_error(XDD_BAD_ARGUMENT, &where, &at,
				   "is too many: a setup file has %d sections at most",
				   SECTIONS_MAX);
	f->sections[f->n_sections++] =
		(struct setup_section){ .name = name, .line = s->line, .first = f->n };
	s->in += strcspn(s->in, "\n");
	return XDD_OK;
}

/* ---- words ---- */

/* A run of characters between quotes; `s->in` is after the opening one. */
static bool take_quoted(struct splitter *s, char quote)
{
	for (; *s->in && *s->in != quote; s->in++) {
		if (quote == '"' && *s->in == '\\' && strchr("\"\\$`\n", s->in[1]) && s->in[1]) {
			s->in++;
			if (*s->in == '\n') {
				s->line++;
				continue;
			}
		} else if (*s->in == '\n') {
			s->line++;
		}
		*s->out++ = *s->in;
	}
	if (!*s->in)
		return false;
	s->in++;
	return true;
}

/* One word, quotes and backslashes resolved. False: a quote is never closed. */
static bool take_word(struct splitter *s)
{
	while (*s->in && !is_blank(*s->in)) {
		char c = *s->in++;

		if (c == '\'' || c == '"') {
			if (!take_quoted(s, c))
				return false;
		} else if (c == '\\' && *s->in == '\n') {
			s->in++;
			s->line++;
		} else if (c == '\\' && *s->in) {
			*s->out++ = *s->in++;
		} else {
			*s->out++ = c;
		}
	}
	return true;
}

/* Step over blanks, and ends of lines. */
static void skip_blanks(struct splitter *s)
{
	while (is_blank(*s->in) || (s->in[0] == '\\' && s->in[1] == '\n')) {
		const bool goes_on = *s->in == '\\';

		if (goes_on)
			s->in++;
		if (*s->in++ == '\n') {
			s->line++;
			s->fresh = !goes_on;
		}
	}
}

static enum xdd_status take_words(struct splitter *s)
{
	const char *start = s->out;
	const unsigned line = s->line;

	s->fresh = false;
	if (!take_word(s)) {
		struct word at = { .text = s->file, .file = s->file, .pos = line };
		struct setting where = { .name = { .text = "-setup" } };

		return parse_error(XDD_BAD_ARGUMENT, &where, &at,
				   "a quote opens here and is never closed");
	}
	/* The terminator may fall on the blank after the word, no further: step over that first. */
	if (*s->in && *s->in++ == '\n') {
		s->line++;
		s->fresh = true;
	}
	*s->out++ = '\0';
	return add_word(s, start, line) ? no_memory(s) : XDD_OK;
}

static enum xdd_status split(struct splitter *s)
{
	enum xdd_status status = XDD_OK;

	while (!status) {
		ptrdiff_t len;

		skip_blanks(s);
		if (!*s->in)
			break;
		if (*s->in == '#') {
			s->in += strcspn(s->in, "\n");
			continue;
		}
		len = s->fresh && *s->in == '[' ? section_length(s->in) : -1;
		status = len < 0 ? take_words(s) : take_section(s, (size_t)len);
	}
	return status;
}

static int open_setup(struct arena *arena, const char *path, char **text, size_t *len)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		err = -EISDIR;
	if (!err)
		err = read_all(arena, fd, text, len);
	close(fd);
	return err;
}

enum xdd_status setup_file_read(struct arena *arena, const struct word *name,
				struct setup_words *found)
{
	struct splitter s = {
		.arena = arena, .file = name->text, .line = 1, .fresh = true, .found = found
	};
	struct setting where = { .name = { .text = "-setup" } };
	char *text = NULL;
	size_t len = 0;
	int err = open_setup(arena, name->text, &text, &len);

	*found = (struct setup_words){ .n = 0 };
	if (err)
		return parse_error(XDD_BAD_ARGUMENT, &where, name, "cannot be read (%s)",
				   err == -EFBIG ? "too large for a setup file" : strerror(-err));
	if (memchr(text, '\0', len))
		return parse_error(XDD_BAD_ARGUMENT, &where, name,
				   "is not a text file: it holds a NUL byte");
	/* Editors of other systems begin a file with a byte order mark. */
	s.in = text + (strncmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) ?
			       0 :
			       strlen(BYTE_ORDER_MARK));
	s.out = text;
	return split(&s);
}
