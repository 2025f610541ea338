/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The targets of a run, their names and kinds, and how they are opened: -targets, -targetdir,
 * -dio, -dropcache.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/feature.h"
#include "plan/files.h"
#include "plan/parse.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"

/*
 * Names with a number in them.
 */

#define NUMBER_SIZE sizeof("18446744073709551615")

/*
 * The length of the conversion at `text`, a percent sign, with the digits of its number in
 * `*width`; 0: there is none.
 */
static size_t conversion(const char *text, int *width)
{
	*width = 1;
	if (text[1] == 'd')
		return 2;
	if (text[1] != '0' || text[2] < '1' || text[2] > '9' || text[3] != 'd')
		return 0;
	*width = text[2] - '0';
	return 4;
}

/* The sign at or after `name` that is not of "%%"; NULL: there is none. */
static const char *next_sign(const char *name)
{
	const char *sign = strchr(name, '%');

	while (sign && sign[1] == '%')
		sign = strchr(sign + 2, '%');
	return sign;
}

bool numbered_name_is(const char *name)
{
	int width;

	for (const char *sign = next_sign(name); sign; sign = next_sign(sign + 1)) {
		if (conversion(sign, &width))
			return true;
	}
	return false;
}

const char *numbered_name_wrong(const char *name)
{
	int width;

	for (const char *sign = next_sign(name); sign; sign = next_sign(sign + 1)) {
		if (!conversion(sign, &width))
			return sign;
	}
	return NULL;
}

const char *numbered_name(struct arena *arena, const char *name, uint64_t n)
{
	/* A conversion of two characters may become a number of twenty. */
	char *text = xarena_alloc(arena, strlen(name) * NUMBER_SIZE / 2 + NUMBER_SIZE), *to = text;
	int width;

	while (*name) {
		const size_t len = *name == '%' ? conversion(name, &width) : 0;

		if (len) {
			to += sprintf(to, "%0*" PRIu64, width, n);
			name += len;
			continue;
		}
		if (name[0] == '%' && name[1] == '%')
			name++;
		*to++ = *name++;
	}
	*to = '\0';
	return text;
}

/*
 * Words that stand for several targets: patterns, directories and lists. For -targets and -target
 * where no count is given.
 */

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
		t->names = xarena_alloc(s->arena, PLAN_MAX_TARGETS * sizeof(*t->names));
	if (!*text)
		return parse_error(XDD_BAD_ARGUMENT, s, w, "the name of a target cannot be empty");
	if (strlen(text) >= PATH_MAX)
		return parse_error(XDD_BAD_ARGUMENT, s, NULL,
				   "the name of a target is longer than %d characters",
				   PATH_MAX - 1);
	t->names[t->n++] = (struct target_name){ .text = text, .directory = directory };
	return XDD_OK;
}

/* Add `n` targets of the name in `w`. */
static enum xdd_status target_names_add(struct target_names *t, const struct setting *s,
					const struct word *w, uint64_t n)
{
	enum xdd_status status = XDD_OK;

	for (uint64_t i = 0; i < n && !status; i++)
		status = add(t, s, w, w->text, NULL);
	return status;
}

/* Keep a line for -dryrun; beyond some it has enough of them. */
static void note(struct target_names *t, const struct setting *s, const char *text)
{
	if (!t->notes)
		t->notes = xarena_alloc(s->arena, (NOTES_MAX + 1) * sizeof(*t->notes));
	if (t->n_notes < NOTES_MAX)
		t->notes[t->n_notes++] = text;
}

/* The path of a name as it will be opened. */
static const char *in_targetdir(const struct target_names *t, const struct setting *s,
				const char *name)
{
	const char *dir = t->dir;

	if (!dir || !*dir)
		return name;
	return xarena_printf(s->arena, "%s%s%s", dir, dir[strlen(dir) - 1] == '/' ? "" : "/", name);
}

/* Add `n` targets with the names that `w` stands for: file%02d is file00, file01 and so on. */
static enum xdd_status target_names_numbered(struct target_names *t, const struct setting *s,
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

		status = add(t, s, w, name, NULL);
	}
	if (status)
		return status;
	note(t, s,
	     xarena_printf(s->arena, "%s: %" PRIu64 " names, %s to %s.", w->text, n,
			   t->names[first].text, t->names[t->n - 1].text));
	return XDD_OK;
}

/*
 * True if `w`, the only name after the count `n`, stands for `n` numbered names. One target of the
 * very name of a file that exists is that file.
 */
static bool target_names_is_numbered(const struct target_names *t, const struct setting *s,
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
		path = xarena_strdup(s->arena, path + prefix);
		status = add(t, s, w, path, NULL);
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
		memory_end();
	else
		status = add_matches(t, s, w, &found, prefix);
	globfree(&found);
	if (status)
		return status;
	if (t->n == first)
		return parse_error(XDD_BAD_ARGUMENT, s, w,
				   "matches no file and no device; -targets 1 <name> takes a name "
				   "as it stands");
	sort_from(t, first);
	note(t, s,
	     xarena_printf(s->arena, "%s: matches %zu files or devices.", w->text, t->n - first));
	return XDD_OK;
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
		name = xarena_printf(s->arena, "%s%s%s", w->text, slash, e->d_name);
		status = add(t, s, w, name, w->text);
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
	note(t, s,
	     xarena_printf(s->arena,
			   "%s: is a directory; targets are its %zu files with data, not its %zu "
			   "empty files, directories and links.",
			   w->text, t->n - first, empty));
	return XDD_OK;
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
	*text = xneed(malloc(input.size + 1));
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
		name = xarena_strdup(s->arena, line);
		status = add(t, s, w, name, NULL);
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
	note(t, s, xarena_printf(s->arena, "%s: lists %zu targets.", w->text, t->n - first));
	return XDD_OK;
}

/* True if `text` is a list of names with commas between them, none of them empty. */
static bool is_comma_list(const char *text)
{
	return strchr(text, ',') && *text != ',' && text[strlen(text) - 1] != ',' &&
	       !strstr(text, ",,");
}

static enum xdd_status target_names_expand(struct target_names *t, const struct setting *s,
					   const struct word *w);

static enum xdd_status expand_commas(struct target_names *t, const struct setting *s,
				     const struct word *w)
{
	char *name, *rest = xarena_strdup(s->arena, w->text);
	const size_t first = t->n;
	enum xdd_status status = XDD_OK;

	while (!status && (name = strsep(&rest, ",")) != NULL) {
		struct word part = *w;

		part.text = name;
		status = target_names_expand(t, s, &part);
	}
	if (!status)
		note(t, s,
		     xarena_printf(s->arena,
				   "%s: names %zu targets; no file has this name, and -targets 1 "
				   "<name> takes it as it stands.",
				   w->text, t->n - first));
	return status;
}

/* The file `w` exists: say so where each name between its commas is a file as well. */
static void note_comma(const struct target_names *t, const struct setting *s, const struct word *w)
{
	char *name, *rest = xarena_strdup(s->arena, w->text);
	struct stat st;

	while ((name = strsep(&rest, ",")) != NULL) {
		if (lstat(in_targetdir(t, s, name), &st) < 0)
			return;
	}
	log_warning(
		"%s %s: is one file, which has commas in its name; blanks between names make them "
		"several targets",
		s->name.text, w->text);
}

/*
 * Add the targets that `w` stands for: a name, a pattern of names, a directory, @ and the name of a
 * list, or names with commas between them.
 */
static enum xdd_status target_names_expand(struct target_names *t, const struct setting *s,
					   const struct word *w)
{
	struct stat st;
	const char *path;
	bool exists;

	if (!*w->text || strcmp(w->text, "null") == 0)
		return add(t, s, w, w->text, NULL);
	if (w->text[0] == '@')
		return expand_list(t, s, w);
	path = in_targetdir(t, s, w->text);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return expand_directory(t, s, w, path);
	exists = lstat(path, &st) == 0;
	if (!exists && strpbrk(w->text, TARGET_PATTERN))
		return expand_pattern(t, s, w, path);
	if (!exists && is_comma_list(w->text))
		return expand_commas(t, s, w);
	if (exists && is_comma_list(w->text))
		note_comma(t, s, w);
	return add(t, s, w, w->text, NULL);
}

/* Of targets that are supposed only: a common size, and more than any amount. */
#define SUPPOSED_SECTOR 512
#define SUPPOSED_BYTES (UINT64_C(1) << 50)

/* A whole number, or one with a minus sign, as the guide has it before the names. */
static bool is_count(const char *text)
{
	uint64_t n;

	return units_parse_u64(text + (text[0] == '-'), &n) != -EINVAL;
}

/* A number, but none of targets: rather a slip than a name. */
static bool is_odd_count(const char *text)
{
	uint64_t n;
	double real;

	return units_parse_count(text, &n) == 0 || units_parse_real(text, &real) == 0 ||
	       (text[0] == '+' && is_count(text + 1));
}

/*
 * Names, up to the next word with a dash. One that begins with a dash is left to apply_targets(),
 * with the words that belong to it.
 */
static size_t arity_names(const struct word *args, size_t avail)
{
	size_t n = 0;

	while (n < avail && (args[n].text[0] != '-' || !args[n].text[1]))
		n++;
	if (n)
		return n;
	while (n < avail && !option_is_word(&run_options, args[n].text))
		n++;
	return n ? n : 1;
}

/* -targets N name..., -targets -N name, or names alone. */
static size_t arity_targets(const struct word *args, size_t avail)
{
	uint64_t n;

	if (!avail)
		return 2;
	if (args[0].text[0] == '-' && is_count(args[0].text))
		return 2;
	if (!is_count(args[0].text))
		return arity_names(args, avail);
	/*
	 * Too few names, or no number: take the words up to the next option, and let
	 * apply_targets() report the problem.
	 */
	if (units_parse_u64(args[0].text, &n) || n < 1 || n > PLAN_MAX_TARGETS)
		n = avail;
	for (size_t i = 1; i <= n; i++) {
		if (i >= avail || option_is_word(&run_options, args[i].text))
			return i;
	}
	return 1 + n;
}

static enum xdd_status check_room(const struct target_names *t, const struct setting *s, uint64_t n)
{
	if (t->n + n <= PLAN_MAX_TARGETS)
		return XDD_OK;
	return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
			   "is too many: %" PRIu64 " targets, and %d is the most", t->n + n,
			   PLAN_MAX_TARGETS);
}

static enum xdd_status want_names(const struct setting *s)
{
	return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
			   "expected names, or their number first, 1 to %d; ./%.64s is a file of "
			   "that name",
			   PLAN_MAX_TARGETS, s->args[0].text);
}

static enum xdd_status apply_names(const struct setting *s, void *dst)
{
	enum xdd_status status = XDD_OK;

	if (s->args[0].text[0] == '-' && s->args[0].text[1])
		return want_names(s);
	for (size_t i = 0; i < s->n_args && !status; i++)
		status = target_names_expand(dst, s, &s->args[i]);
	return status;
}

/* -targets N name ...: one name for each, or one with %d for all. */
static enum xdd_status apply_counted(const struct setting *s, struct target_names *names,
				     uint64_t n)
{
	enum xdd_status status;
	const bool numbered = s->n_args == 2 && target_names_is_numbered(names, s, &s->args[1], n);

	if (!numbered && s->n_args != 1 + n)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "expected %" PRIu64 " name%s, found %zu", n, n == 1 ? "" : "s",
				   s->n_args - 1);
	status = check_room(names, s, n);
	if (!status && numbered)
		return target_names_numbered(names, s, &s->args[1], n);
	for (uint64_t i = 1; i <= n && !status; i++)
		status = target_names_add(names, s, &s->args[i], 1);
	return status;
}

static enum xdd_status apply_targets(const struct setting *s, void *dst)
{
	const char *count = s->args[0].text;
	bool same = count[0] == '-';
	enum xdd_status status;
	uint64_t n;

	if (!is_count(count) && !same && is_odd_count(count))
		return want_names(s);
	if (!is_count(count) && !same)
		return apply_names(s, dst);
	if (units_parse_u64(count + same, &n) || n < 1 || n > PLAN_MAX_TARGETS)
		return want_names(s);
	if (!same)
		return apply_counted(s, dst, n);
	if (s->n_args != 2)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "expected a name after the number");
	status = check_room(dst, s, n);
	return status ? status : target_names_add(dst, s, &s->args[1], n);
}

static size_t arity_dropcache(const struct word *args, size_t avail)
{
	return avail && strcmp(args[0].text, "system") == 0 ? 1 : 0;
}

static enum xdd_status apply_dropcache(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	t->drop_cache = true;
	if (s->n_args)
		t->drop_system_cache = true;
	return XDD_OK;
}

static const struct option rows[] = {
	{ .name = "targets",
	  .type = OPT_NAMES,
	  .arg = "[<n>] <name> ...",
	  .arity = arity_targets,
	  .apply = apply_targets,
	  .help = "the files and devices to work on, perhaps with their number first",
	  .detail =
		  "Targets are numbered from 0 in the order given. With their number first, names "
		  "are taken as they stand, but one name with %d, or with %02d for two digits, "
		  "stands for that many: -targets 8 file%02d is file00 to file07 (%% is then a "
		  "percent sign). Without it they end at the next word with a dash, and may be patterns in quotes, as in '/dev/nvme*n1', a directory, which stands for "
		  "the regular files in it that have data (only to read them), or @list: a file "
		  "with a name on each line, where # begins a comment (@- is standard input), or names with "
		  "commas between them, as in a,b, unless there is a file of that very name. "
		  "Patterns and directories are sorted by name; -dryrun says how many targets each "
		  "has. With a minus sign, as in -targets -4 /dev/sdx, one name stands for that "
		  "many targets. The name null is the null device: operations on it are counted "
		  "and move nothing (a file of that name is ./null, one named 8 is ./8). The "
		  "option may be given several times; each adds targets.",
	  .example = "xdd -op read -targets /dev/sdx /dev/sdy -reqsize 128 -mbytes 64" },
	{ .name = "target",
	  .type = OPT_NAMES,
	  .arg = "<name> ...",
	  .arity = arity_names,
	  .apply = apply_names,
	  .help = "more files or devices to work on, as -targets without a number" },
	{ .name = "targetdir",
	  .aliases = "td",
	  OPTION_TEXT("<directory>"),
	  TARGET_FIELD(dir),
	  .help = "directory that is put before the names of the targets",
	  .detail =
		  "A slash is put between directory and name where it is missing. The null device "
		  "is "
		  "not affected." },
	{ .name = "dropcache",
	  .scope = SCOPE_TARGET,
	  OPTION_CUSTOM("[system]", apply_dropcache),
	  .arity = arity_dropcache,
	  .collects = true,
	  .help = "empty the page cache of the target before each pass",
	  .detail =
		  "Dirty pages are written back first; the time this takes counts in no rate. "
		  "Pages that another program has mapped or locked stay, with a warning. With the "
		  "word system all caches of the machine are emptied first, other programs' too, "
		  "through "
		  "/proc/sys/vm/drop_caches; that needs the right to write there." },
	{ .name = "dio",
	  .aliases = "directio",
	  TARGET_FLAG(direct_io),
	  .help = "direct I/O: bypass the page cache (O_DIRECT)",
	  .detail =
		  "Request size and offsets must then be multiples of what the device or file "
		  "system "
		  "asks for, usually 512 or 4096 bytes; anything else is refused before the run. "
		  "Only the "
		  "amount may end anywhere (-bytes, or a whole file that is read): the last bytes "
		  "of the "
		  "last operation, less than a page, go through the page cache, by a second "
		  "descriptor, and "
		  "-verbose says how many. Such a write is issued when all others of its pass are "
		  "complete." },
	{ 0 },
};

static enum xdd_status target_locate(struct plan *plan, struct target_plan *t)
{
	if (strcmp(t->name, "null") == 0) {
		t->kind = TARGET_NULL;
		t->path = t->name;
		return XDD_OK;
	}
	if (!t->dir)
		t->dir = "";
	if (!*t->dir)
		t->path = t->name;
	else
		t->path = xarena_printf(plan->arena, "%s%s%s", t->dir,
					t->dir[strlen(t->dir) - 1] == '/' ? "" : "/", t->name);
	return XDD_OK;
}

static void suppose(struct target_plan *t)
{
	t->io_align_bytes = SUPPOSED_SECTOR;
	if (t->kind == TARGET_NULL)
		return;
	t->kind = TARGET_FILE;
	t->size_bytes = SUPPOSED_BYTES;
	t->foreseen = true;
}

static enum xdd_status target_probe(struct plan *plan, struct target_plan *t)
{
	enum xdd_status status;

	if (plan->supposes_files) {
		suppose(t);
		return XDD_OK;
	}
	status = probe_target(t);
	if (!status)
		plan_probe_earlier(plan, t);
	return status;
}

/*
 * Bytes of the last operation that -dio cannot transfer: up to a page, so that as few bytes as
 * possible are left, and so that writes to the rest of its page do not bypass the page cache where
 * requests are whole pages.
 */
static uint64_t tail_bytes(const struct target_plan *t)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t unit = t->io_align_bytes > page ? t->io_align_bytes : page;

	return t->last_op_bytes % t->io_align_bytes ? t->last_op_bytes % unit : 0;
}

/* Files that were not named are not overwritten. */
static enum xdd_status check_directory(const struct target_plan *t)
{
	if (!t->from_directory || !plan_changes(t))
		return XDD_OK;
	return plan_refuse(t,
			   "is one of the files in directory %.128s, which are only read; name the "
			   "files to write to, as in '%.128s%s*'",
			   t->from_directory, t->from_directory,
			   t->from_directory[strlen(t->from_directory) - 1] == '/' ? "" : "/");
}

static enum xdd_status check_target(struct plan *plan, struct target_plan *t)
{
	/* A character device has no page cache to go through. */
	const bool strict = t->kind == TARGET_CHAR;
	enum xdd_status status = check_directory(t);

	(void)plan;
	if (status)
		return status;
	/* Discards pass no page cache. */
	if (!t->direct_io || t->kind == TARGET_NULL || t->op == OP_NOOP || t->op == OP_DISCARD) {
		t->io_align_bytes = 1;
		return XDD_OK;
	}
	status = plan_check_multiples(t, "-dio", t->io_align_bytes, strict);
	if (!status)
		t->tail_bytes = tail_bytes(t);
	return status;
}

/*
 * Check that the caches of the machine can be emptied: with the right to do so, and between passes.
 */
static enum xdd_status check_drop_system(struct plan *plan)
{
	static const char path[] = "/proc/sys/vm/drop_caches";

	for (size_t i = 0; i < plan->n_targets; i++)
		plan->drop_system_cache |= plan->targets[i].drop_system_cache;
	if (!plan->drop_system_cache)
		return XDD_OK;
	if (plan->no_barrier && plan->passes > 1)
		return log_refuse(
			"-dropcache system: with -nobarrier the targets have no time between "
			"passes "
			"in which none of them runs; use -dropcache without the word");
	if (fileopen_access(AT_FDCWD, path, W_OK) == 0)
		return XDD_OK;
	return log_refuse("-dropcache system: %s: %s; -dropcache without the word needs no right",
			  path, strerror(errno));
}

void plan_warn_dio(const struct target_plan *t, const char *path)
{
	log_warning(
		"target %u, %s: -dio: the file system has no direct I/O for this file, and uses "
		"the page cache; put it on another file system",
		t->number, path);
}

static void target_warn(const struct target_plan *t)
{
	if (t->direct_ignored && t->op != OP_NOOP)
		plan_warn_dio(t, t->path);
}

const struct plan_feature feature_target = {
	.group = { "Targets", rows },
	.target = { [TARGET_LOCATE] = target_locate,
		    [TARGET_PROBE] = target_probe,
		    [TARGET_CHECK] = check_target },
	.plan = { [PLAN_BEGIN] = check_drop_system },
	.warn_target = target_warn,
};
