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
#include "xdd/base/log.h"
#include "xdd/base/readfile.h"

#define SETUP_MAX_BYTES (16u << 20)

/* A setup file that is being split into words. */
struct splitter {
	struct arena *arena;
	const char *file;
	const char *in;
	char *out; /* end of the unquoted text; never overtakes `in` */
	unsigned line;
	struct word *words;
	size_t n, cap;
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
	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 32;
		struct word *more = arena_alloc(s->arena, cap * sizeof(*more));

		if (!more)
			return -ENOMEM;
		if (s->n)
			memcpy(more, s->words, s->n * sizeof(*more));
		s->words = more;
		s->cap = cap;
	}
	s->words[s->n++] = (struct word){ .text = text, .file = s->file, .pos = line };
	return 0;
}

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

static enum xdd_status split(struct splitter *s)
{
	for (;;) {
		const char *start;
		unsigned line;

		while (is_blank(*s->in) || (s->in[0] == '\\' && s->in[1] == '\n')) {
			if (*s->in == '\\')
				s->in++;
			if (*s->in++ == '\n')
				s->line++;
		}
		if (!*s->in)
			return XDD_OK;
		if (*s->in == '#') {
			s->in += strcspn(s->in, "\n");
			continue;
		}
		start = s->out;
		line = s->line;
		if (!take_word(s)) {
			struct word at = { .text = s->file, .file = s->file, .pos = line };
			struct setting where = { .name = { .text = "-setup" } };

			return parse_error(XDD_BAD_ARGUMENT, &where, &at,
					   "a quote opens here and is never closed");
		}
		/*
		 * The terminator may fall on the blank after the word, no further: step over that
		 * blank first.
		 */
		if (*s->in) {
			if (*s->in++ == '\n')
				s->line++;
		}
		*s->out++ = '\0';
		if (add_word(s, start, line)) {
			log_error("-setup %s: %s", s->file, strerror(ENOMEM));
			return XDD_INIT_FAILED;
		}
	}
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

enum xdd_status setup_file_read(struct arena *arena, const struct word *name, struct word **words,
				size_t *n_words)
{
	struct splitter s = { .arena = arena, .file = name->text, .line = 1 };
	struct setting where = { .name = { .text = "-setup" } };
	enum xdd_status status;
	char *text = NULL;
	size_t len = 0;
	int err = open_setup(arena, name->text, &text, &len);

	if (err)
		return parse_error(XDD_BAD_ARGUMENT, &where, name, "cannot be read (%s)",
				   err == -EFBIG ? "too large for a setup file" : strerror(-err));
	if (memchr(text, '\0', len))
		return parse_error(XDD_BAD_ARGUMENT, &where, name,
				   "is not a text file: it holds a NUL byte");
	s.in = text;
	s.out = text;
	status = split(&s);
	*words = s.words;
	*n_words = s.n;
	return status;
}
