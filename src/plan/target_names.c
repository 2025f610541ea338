/*
 * Words that stand for several targets: patterns, directories and lists. Called by -targets and
 * -target where no count is given.
 */
#include "plan/target_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/errors.h"
#include "plan/numbered_name.h"
#include "xdd/base/file.h"
#include "xdd/base/memory.h"

#define LIST_MAX_BYTES ((size_t)PLAN_MAX_TARGETS * PATH_MAX)
#define NOTES_MAX 16 /* words that -dryrun explains */
#define BLANKS " \t\r"

static enum xdd_status add(struct target_names *t, const struct setting *s, const struct word *w,
			   const char *text, const char *directory)
{
	if (t->n == PLAN_MAX_TARGETS)
		return parse_error(XDD_BAD_ARGUMENT, s, w, "is too many: %d targets are the most",
				   PLAN_MAX_TARGETS);
	if (!t->names)
		t->names = arena_alloc(s->arena, PLAN_MAX_TARGETS * sizeof(*t->names));
	if (!t->names)
		return plan_no_memory();
	if (!*text)
		return parse_error(XDD_BAD_ARGUMENT, s, w, "the name of a target cannot be empty");
	if (strlen(text) >= PATH_MAX)
		return parse_error(XDD_BAD_ARGUMENT, s, NULL,
				   "the name of a target is longer than %d characters",
				   PATH_MAX - 1);
	t->names[t->n++] = (struct target_name){ .text = text, .directory = directory };
	return XDD_OK;
}

enum xdd_status target_names_add(struct target_names *t, const struct setting *s,
				 const struct word *w, uint64_t n)
{
	enum xdd_status status = XDD_OK;

	for (uint64_t i = 0; i < n && !status; i++)
		status = add(t, s, w, w->text, NULL);
	return status;
}

/* Keep a line for -dryrun; beyond some it has enough of them. */
static enum xdd_status note(struct target_names *t, const struct setting *s, const char *text)
{
	if (!text)
		return plan_no_memory();
	if (!t->notes)
		t->notes = arena_alloc(s->arena, (NOTES_MAX + 1) * sizeof(*t->notes));
	if (!t->notes)
		return plan_no_memory();
	if (t->n_notes < NOTES_MAX)
		t->notes[t->n_notes++] = text;
	return XDD_OK;
}

/* The path of a name as it will be opened. */
static const char *in_targetdir(const struct target_names *t, const struct setting *s,
				const char *name)
{
	const char *dir = t->dir;

	if (!dir || !*dir)
		return name;
	return arena_printf(s->arena, "%s%s%s", dir, dir[strlen(dir) - 1] == '/' ? "" : "/", name);
}

enum xdd_status target_names_numbered(struct target_names *t, const struct setting *s,
				      const struct word *w, uint64_t n)
{
	const char *wrong = numbered_name_wrong(w->text);
	const size_t first = t->n;
	enum xdd_status status = XDD_OK;

	if (wrong)
		return parse_error(
			XDD_BAD_ARGUMENT, s, w,
			"\"%.8s\" does not stand for a number; expected %%d, or %%01d to "
			"%%09d, and %%%% for a percent sign",
			wrong);
	for (uint64_t i = 0; i < n && !status; i++) {
		const char *name = numbered_name(s->arena, w->text, i);

		status = name ? add(t, s, w, name, NULL) : plan_no_memory();
	}
	if (status)
		return status;
	return note(t, s,
		    arena_printf(s->arena, "%s: %" PRIu64 " names, %s to %s.", w->text, n,
				 t->names[first].text, t->names[t->n - 1].text));
}

bool target_names_is_numbered(const struct target_names *t, const struct setting *s,
			      const struct word *w, uint64_t n)
{
	struct stat st;
	const char *path;

	if (!numbered_name_is(w->text))
		return false;
	path = n == 1 ? in_targetdir(t, s, w->text) : NULL;
	return !path || lstat(path, &st) < 0;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(((const struct target_name *)a)->text, ((const struct target_name *)b)->text);
}

/* By name, byte by byte: the same in every locale. */
static void sort_from(struct target_names *t, size_t first)
{
	if (t->n > first)
		qsort(t->names + first, t->n - first, sizeof(*t->names), compare_texts);
}

/* Files and devices of a pattern; anything else that it matches is no target. */
static enum xdd_status add_matches(struct target_names *t, const struct setting *s,
				   const struct word *w, const glob_t *found, size_t prefix)
{
	enum xdd_status status = XDD_OK;
	struct stat st;

	for (size_t i = 0; i < found->gl_pathc && !status; i++) {
		const char *path = found->gl_pathv[i];

		if (stat(path, &st) < 0 ||
		    !(S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) || S_ISCHR(st.st_mode)))
			continue;
		path = arena_strdup(s->arena, path + prefix);
		status = path ? add(t, s, w, path, NULL) : plan_no_memory();
	}
	return status;
}

static enum xdd_status expand_pattern(struct target_names *t, const struct setting *s,
				      const struct word *w, const char *path)
{
	size_t first = t->n, prefix = strlen(path) - strlen(w->text);
	glob_t found = { .gl_pathc = 0 };
	enum xdd_status status = XDD_OK;

	if (glob(path, GLOB_NOSORT, NULL, &found) == GLOB_NOSPACE)
		status = plan_no_memory();
	if (!status)
		status = add_matches(t, s, w, &found, prefix);
	globfree(&found);
	if (status)
		return status;
	if (t->n == first)
		return parse_error(XDD_BAD_ARGUMENT, s, w,
				   "matches no file and no device; -targets 1 <name> takes a name "
				   "as it stands");
	sort_from(t, first);
	return note(t, s,
		    arena_printf(s->arena, "%s: matches %zu files or devices.", w->text,
				 t->n - first));
}

/*
 * The regular files of an open directory that have data: what a read of it means. Links may lead
 * out of it.
 */
static enum xdd_status add_files(struct target_names *t, const struct setting *s,
				 const struct word *w, DIR *dir, size_t *empty)
{
	const char *slash = w->text[strlen(w->text) - 1] == '/' ? "" : "/";
	enum xdd_status status = XDD_OK;
	struct dirent *e;
	struct stat st;

	while (!status && (e = readdir(dir)) != NULL) {
		const char *name;

		if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		if (!st.st_size) {
			++*empty;
			continue;
		}
		name = arena_printf(s->arena, "%s%s%s", w->text, slash, e->d_name);
		status = name ? add(t, s, w, name, w->text) : plan_no_memory();
	}
	return status;
}

static enum xdd_status expand_directory(struct target_names *t, const struct setting *s,
					const struct word *w, const char *path)
{
	size_t first = t->n, empty = 0;
	enum xdd_status status;
	DIR *dir = opendir(path);

	if (!dir)
		return parse_error(XDD_BAD_ARGUMENT, s, w, "cannot be read (%s)", strerror(errno));
	status = add_files(t, s, w, dir, &empty);
	closedir(dir);
	if (status)
		return status;
	if (t->n == first)
		return parse_error(XDD_BAD_ARGUMENT, s, w,
				   "is a directory without files that have data; expected a file "
				   "or a device");
	sort_from(t, first);
	return note(t, s,
		    arena_printf(s->arena,
				 "%s: is a directory; targets are its %zu files with data, not "
				 "its %zu empty files, directories and links.",
				 w->text, t->n - first, empty));
}

/* Standard input, once it has been read: each of several runs has a plan of its own. */
static struct {
	char *text;
	size_t size;
} input;

static int read_input(char **text, size_t *size)
{
	int err = input.text ? 0 : readfile(STDIN_FILENO, LIST_MAX_BYTES, &input.text, &input.size);

	if (err)
		return err;
	*size = input.size;
	*text = malloc(input.size + 1);
	if (!*text)
		return -ENOMEM;
	memcpy(*text, input.text, input.size + 1);
	return 0;
}

static int read_list(const char *name, char **text, size_t *size)
{
	int fd, err;

	if (strcmp(name, "-") == 0)
		return read_input(text, size);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = readfile(fd, LIST_MAX_BYTES, text, size);
	close(fd);
	return err;
}

/* A name on each line; blanks around it do not count, nor do lines that begin with #. */
static enum xdd_status add_lines(struct target_names *t, const struct setting *s,
				 const struct word *w, char *text)
{
	enum xdd_status status = XDD_OK;
	char *line, *rest = text;

	while (!status && (line = strsep(&rest, "\n")) != NULL) {
		const char *name;
		size_t len;

		line += strspn(line, BLANKS);
		len = strlen(line);
		while (len && strchr(BLANKS, line[len - 1]))
			line[--len] = '\0';
		if (!len || *line == '#')
			continue;
		name = arena_strdup(s->arena, line);
		status = name ? add(t, s, w, name, NULL) : plan_no_memory();
	}
	return status;
}

static enum xdd_status expand_list(struct target_names *t, const struct setting *s,
				   const struct word *w)
{
	const char *name = w->text + 1;
	size_t size, first = t->n;
	enum xdd_status status;
	char *text;
	int err;

	if (!*name)
		return parse_error(XDD_BAD_ARGUMENT, s, w,
				   "expected the name of a list after @, or @- for standard input");
	err = read_list(name, &text, &size);
	if (err)
		return parse_error(XDD_BAD_ARGUMENT, s, w,
				   "cannot be read (%s); ./%.64s is a target of that name",
				   err == -EFBIG ? "too large for a list of names" : strerror(-err),
				   w->text);
	if (memchr(text, '\0', size)) {
		free(text);
		return parse_error(XDD_BAD_ARGUMENT, s, w,
				   "is not a list of names: it holds a NUL byte");
	}
	status = add_lines(t, s, w, text);
	free(text);
	if (status)
		return status;
	if (t->n == first)
		return parse_error(XDD_BAD_ARGUMENT, s, w, "names no target");
	return note(t, s, arena_printf(s->arena, "%s: lists %zu targets.", w->text, t->n - first));
}

enum xdd_status target_names_expand(struct target_names *t, const struct setting *s,
				    const struct word *w)
{
	struct stat st;
	const char *path;

	if (!*w->text || strcmp(w->text, "null") == 0)
		return add(t, s, w, w->text, NULL);
	if (w->text[0] == '@')
		return expand_list(t, s, w);
	path = in_targetdir(t, s, w->text);
	if (!path)
		return plan_no_memory();
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return expand_directory(t, s, w, path);
	if (strpbrk(w->text, "*?[") && lstat(path, &st) < 0)
		return expand_pattern(t, s, w, path);
	return add(t, s, w, w->text, NULL);
}
