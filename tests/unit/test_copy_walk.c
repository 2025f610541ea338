/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks over the files that are copied: src/copy/tree/walk*.c.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/tree/walk_private.h"
#include "leftovers.h"
#include "scratch.h"
#include "xdd/base/err.h"
#include "xdd/base/units.h"

#define NOBODY 65534
#define TEXT_BYTES 65536

static void shell(const char *command)
{
	assert_int_equal(system(command), 0);
}

static struct copy_settings recursive(void)
{
	return (struct copy_settings){ .recursive = true, .size_bytes = UINT64_MAX };
}

/* ---- a walk as text: one word for each entry ---- */

/* Each directory, file, link and failure of a walk. Directories in any order of their entries. */
struct record {
	char text[TEXT_BYTES];
	size_t n, failures, files, dirs;
	uint64_t ids;
};

static void add(struct record *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (r->n + 1 < TEXT_BYTES)
		r->n += (size_t)vsnprintf(r->text + r->n, TEXT_BYTES - r->n, fmt, args);
	va_end(args);
}

static void record_entry(struct record *r, const struct walk_found *f)
{
	const struct copy_entry *e = &f->entry;

	if (e->kind == COPY_LEAVE || e->kind == COPY_END) {
		add(r, e->kind == COPY_LEAVE ? ") " : ".");
		return;
	}
	assert_int_equal(e->id, ++r->ids);
	r->files += e->kind == COPY_FILE;
	r->dirs += e->kind == COPY_DIR;
	if (e->kind == COPY_SYMLINK)
		add(r, "@%s%s>%s ", e->name, e->flags & COPY_HAS_LINKS ? "+" : "", e->target);
	else if (e->kind == COPY_LINK)
		add(r, "=%s%s%d ", e->name, e->flags & COPY_LAST_NAME ? "." : "", (int)e->first);
	else
		add(r, "%s%s%s%s%s ", e->name, e->flags & COPY_SPARSE ? "~" : "",
		    e->flags & COPY_HAS_LINKS ? "+" : "", e->flags & COPY_IMPLIED ? "?" : "",
		    e->kind == COPY_DIR ? "(" : "");
}

static void record_failure(struct record *r, const struct copy_failure *f)
{
	r->failures++;
	assert_int_equal(f->id, 0);
	add(r, "!%s:%s! ", f->path, f->text);
}

/* The rest of a walk, which is closed. */
static void walk_on(struct walk *w, struct record *r)
{
	struct walk_found f;

	while (walk_next(w, &f)) {
		if (f.failed) {
			record_failure(r, &f.failure);
			continue;
		}
		record_entry(r, &f);
		dirs_release(f.dirs, f.dir);
	}
	walk_close(w);
}

static struct record *walk_all(struct walk *w)
{
	struct record *r = calloc(1, sizeof(*r));

	walk_on(w, r);
	return r;
}

static struct record *walk_with(const struct copy_settings *settings, const char *const *sources,
				size_t n)
{
	struct walk *w;
	struct err why = { 0 };

	if (walk_open(&w, settings, sources, n, &why))
		fail_msg("%s", why.text);
	return walk_all(w);
}

static struct record *walk_one(const char *source)
{
	struct copy_settings s = recursive();

	return walk_with(&s, &source, 1);
}

static void walks_as(const char *source, const char *text)
{
	struct record *r = walk_one(source);

	assert_string_equal(r->text, text);
	free(r);
}

/* The walk cannot begin. */
static void refused(const struct copy_settings *settings, const char *source, int status,
		    const char *text)
{
	struct walk *w = NULL;
	struct err why = { 0 };

	assert_int_equal(walk_open(&w, settings, &source, 1, &why), status);
	assert_null(w);
	assert_string_equal(why.text, text);
}

/* ---- tests ---- */

TEST(test_sources)
{
	static const char *const two[] = { "s/dir", "s/file", "s/dir/" };
	static const char *const alike[] = { "s/file", "s/dir/file" };
	static const char *const devices[] = { "/dev/zero", "s/file" };
	struct copy_settings settings = recursive(), plain = { .size_bytes = UINT64_MAX };
	struct leftovers before = leftovers_count();
	struct record *r;
	struct walk *w;
	struct err why;

	shell("mkdir -p s/dir; echo x >s/dir/file; echo yy >s/file; ln -s file s/link; ln -s dir s/dlink; "
	      "ln -s none s/dangling; mkfifo s/fifo");
	assert_string_equal(walk_top_name("s/dir"), "dir");
	assert_string_equal(walk_top_name("s/dir/"), "");
	assert_string_equal(walk_top_name("s/.."), "");
	walks_as("s/file", "file .");
	walks_as("./s//file", "file .");
	walks_as("s/link", "link .");
	walks_as("s/dir", "dir( file ) .");
	walks_as("s/dir/", "( file ) .");
	walks_as("s/dir//./", "( file ) .");
	walks_as("s/dlink", "dlink( file ) .");
	walks_as("s/dlink/", "( file ) .");
	walks_as("s/dir/.", "( file ) .");
	walks_as("s/dir/../dir", "dir( file ) .");
	r = walk_with(&settings, two, 3);
	assert_string_equal(r->text, "dir( file ) file ( file ) .");
	free(r);
	assert_int_equal(walk_open(&w, &settings, alike, 2, &why), COPY_BAD_NAMES);
	assert_string_equal(why.text, "s/dir/file: two sources have this last component");
	assert_int_equal(walk_open(&w, &settings, devices, 2, &why), COPY_BAD_NAMES);
	assert_string_equal(why.text, "/dev/zero: a device must be the only source");
	refused(&plain, "s/dir", COPY_BAD_ARGUMENTS, "s/dir: " COPY_IS_DIRECTORY);
	refused(&settings, "s/none", COPY_NO_SOURCE, "s/none: No such file or directory");
	refused(&settings, "s/dangling", COPY_NO_SOURCE, "s/dangling: No such file or directory");
	refused(&settings, "s/file/", COPY_NO_SOURCE, "s/file/: Not a directory");
	refused(&settings, "s/fifo", COPY_NO_SOURCE, "s/fifo: is a FIFO, which is not copied");
	refused(&settings, "/dev/null", COPY_NEEDS_SIZE,
		"/dev/null: is a character device, which needs a size");
	settings.size_bytes = 4;
	refused(&settings, "s/file", COPY_BAD_SIZE,
		"s/file: has 3 bytes, fewer than the size that is given");
	refused(&settings, "s/dir", COPY_BAD_SIZE, "s/dir: a size is for one file or device");
	leftovers_assert_none(&before);
}

/* The name in the directory is that of the file, if a link was named. */
TEST(test_real_name)
{
	struct copy_settings s = recursive();
	const char *source = "real/link";
	struct walk_found f;
	struct walk *w;
	struct err why;
	struct stat st;

	shell("mkdir -p real/deep; echo hello >real/deep/file; ln -s deep/file real/link");
	s.size_bytes = 2;
	assert_int_equal(walk_open(&w, &s, &source, 1, &why), 0);
	assert_true(walk_next(w, &f));
	assert_false(f.failed);
	assert_string_equal(f.entry.name, "link");
	assert_string_equal(f.name, "file");
	assert_int_equal(f.entry.size_bytes, 2);
	assert_int_equal(f.st.st_size, 6);
	assert_int_equal(fstatat(dirs_fd(f.dirs, f.dir), f.name, &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_ino, f.st.st_ino);
	dirs_done(f.dirs, f.dir);
	walk_close(w); /* the directory outlives the walk */
	assert_true(dirs_fd(f.dirs, f.dir) >= 0);
	dirs_done(f.dirs, f.dir);
	dirs_release(f.dirs, f.dir);
	/* All of it, and no more. */
	s.size_bytes = 6;
	assert_int_equal(walk_open(&w, &s, &source, 1, &why), 0);
	assert_true(walk_next(w, &f) && !f.failed);
	assert_int_equal(f.entry.size_bytes, 6);
	dirs_done(f.dirs, f.dir);
	dirs_release(f.dirs, f.dir);
	walk_close(w);
}

TEST(test_device)
{
	struct copy_settings s = { .size_bytes = 1000 };
	const char *source = "/dev/zero";
	struct walk_found f;
	struct walk *w;
	struct err why;

	assert_int_equal(walk_open(&w, &s, &source, 1, &why), 0);
	assert_true(walk_next(w, &f));
	assert_false(f.failed);
	assert_int_equal(f.entry.kind, COPY_FILE);
	assert_int_equal(f.entry.flags, COPY_DEVICE);
	assert_int_equal(f.entry.size_bytes, 1000);
	assert_true(S_ISCHR(f.st.st_mode));
	dirs_release(f.dirs, f.dir);
	walk_close(w);
}

/* A walk of `source` that has begun: the first entry. */
static struct walk *begin(const struct copy_settings *s, const char *const *source,
			  struct walk_found *f)
{
	struct err why = { 0 };
	struct walk *w;

	if (walk_open(&w, s, source, 1, &why))
		fail_msg("%s", why.text);
	assert_true(walk_next(w, f) && !f->failed);
	dirs_release(f->dirs, f->dir);
	return w;
}

/* A directory whose name was read is another file, or gone, when it is entered. */
TEST(test_replaced)
{
	static const struct {
		const char *command, *text;
	} cases[] = {
		{ "ln -s / re/%s", "was replaced while it was read" },
		{ ": >re/%s", "was replaced while it was read" },
		{ "true %s", "cannot open directory (No such file or directory)" },
	};
	struct copy_settings s = recursive();
	const char *source = "re";

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char command[64], text[128];
		struct walk_found f;
		struct record *r;
		struct walk *w;
		const char *other;

		shell("rm -rf re; mkdir -p re/a re/b");
		w = begin(&s, &source, &f);
		/* The first of both, in the order of the directory. */
		assert_true(walk_next(w, &f) && !f.failed);
		other = f.entry.name[0] == 'a' ? "b" : "a";
		dirs_release(f.dirs, f.dir);
		snprintf(command, sizeof(command), "rmdir re/%s", other);
		shell(command);
		snprintf(command, sizeof(command), cases[i].command, other);
		shell(command);
		r = calloc(1, sizeof(*r));
		r->ids = 2;
		walk_on(w, r);
		snprintf(text, sizeof(text), ") !re/%s:%s! ) .", other, cases[i].text);
		assert_string_equal(r->text, text);
		free(r);
	}
}

/* A part of a file that becomes too short after the walk has looked at it. */
TEST(test_shrinks)
{
	struct copy_settings s = recursive();
	const char *source = "shrinks";
	struct err why = { 0 };
	struct record *r;
	struct walk *w;

	shell("printf 0123456789 >shrinks");
	for (s.size_bytes = 8; s.size_bytes <= 9; s.size_bytes++) {
		shell("truncate -s 10 shrinks");
		assert_int_equal(walk_open(&w, &s, &source, 1, &why), 0);
		shell("truncate -s 8 shrinks");
		r = walk_all(w);
		assert_string_equal(
			r->text,
			s.size_bytes == 8 ?
				"shrinks ." :
				"!shrinks:has become smaller than the size that is given! .");
		free(r);
	}
}

/* Only a name that is missing may have been meant as a pattern. */
TEST(test_patterns_are_not_expanded)
{
	static const char *const names[] = { "pat/*", "pat/?x", "pat/[x]" };
	struct copy_settings s = recursive();
	char text[128];

	shell("mkdir -p pat; : >pat/f");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(text, sizeof(text),
			 "%s: No such file or directory; patterns are not expanded there: "
			 "name the files, or say -F",
			 names[i]);
		refused(&s, names[i], COPY_NO_SOURCE, text);
	}
	refused(&s, "pat/f/x*", COPY_NO_SOURCE, "pat/f/x*: Not a directory");
}

TEST(test_kinds)
{
	struct record *r;
	char *text;

	shell("mkdir -p k/empty; truncate -s 1M k/empty/holes; mkfifo k/fifo; ln -s . k/loop; "
	      "ln -s ../k k/loop2; ln -s '' k/none 2>/dev/null; touch k/'new\nline'; "
	      "printf x >'k/ lead'; : >'k/-rf'; : >k/.xddcp-0123456789abcdef-3.part; "
	      ": >k/.xddcp-0123456789abcdef.journal; : >k/.xddcp-other; : >'k/\"q'\\''$(x)'");
	r = walk_one("k");
	text = r->text;
	assert_non_null(strstr(text, "empty( holes~ ) "));
	assert_non_null(strstr(text, "!k/fifo:is a FIFO, which is not copied! "));
	assert_non_null(strstr(text, "@loop>. "));
	assert_non_null(strstr(text, "@loop2>../k "));
	assert_non_null(strstr(text, "new\nline "));
	assert_non_null(strstr(text, "-rf "));
	assert_non_null(strstr(text, "\"q'$(x) "));
	assert_non_null(strstr(text, ".xddcp-other "));
	assert_null(strstr(text, ".xddcp-0"));
	assert_int_equal(r->failures, 1);
	assert_int_equal(r->dirs, 2);
	free(r);
}

TEST(test_attributes)
{
	struct copy_settings s = recursive();
	const struct timespec times[2] = { { 5, 6 }, { -1, 999999999 } };
	const char *source = "attributes";
	struct walk_found f;
	struct walk *w;
	struct err why;

	shell("echo hello >attributes; chmod 4751 attributes");
	assert_int_equal(utimensat(AT_FDCWD, source, times, 0), 0);
	assert_int_equal(walk_open(&w, &s, &source, 1, &why), 0);
	assert_true(walk_next(w, &f));
	assert_int_equal(f.entry.mode, 04751);
	assert_int_equal(f.entry.uid, geteuid());
	assert_int_equal(f.entry.size_bytes, 6);
	assert_int_equal(f.entry.atime_ns, 5000000006);
	assert_int_equal(f.entry.mtime_ns, -1);
	dirs_release(f.dirs, f.dir);
	walk_close(w);
}

/* Two files with three names each, of which one lies outside, and many at once. */
TEST(test_links)
{
	struct record *r;
	unsigned links = 0;

	shell("mkdir -p l/a l/b; echo x >l/a/1; ln l/a/1 l/b/2; ln l/a/1 l/b/3; "
	      "echo y >l/a/4; ln l/a/4 l/b/5; ln l/a/4 outside-link");
	r = walk_one("l");
	assert_int_equal(r->files, 2);
	for (const char *p = r->text; (p = strchr(p, '=')); p++)
		links++;
	assert_int_equal(links, 3);
	free(r);
	shell("mkdir -p ll/a ll/b; cd ll/a; seq 5000 | xargs touch; cp -rl . ../b");
	r = walk_one("ll");
	assert_int_equal(r->files, 5000);
	assert_int_equal(r->ids, 10000 + 3);
	assert_int_equal(r->failures, 0);
	free(r);
}

/* Some of them are remembered until all names were seen; what does not fit is no link. */
TEST(test_links_limit)
{
	struct walk_links l = { .most = 2 };
	struct stat st = { .st_dev = 1, .st_nlink = 3 };
	bool is_last;

	for (ino_t ino = 1; ino <= 3; ino++) {
		st.st_ino = ino;
		assert_int_equal(walk_links_first(&l, &st, ino, &is_last), ino < 3 ? ino : 0);
		assert_false(is_last);
	}
	st.st_ino = 1;
	assert_int_equal(walk_links_first(&l, &st, 4, &is_last), 1);
	assert_false(is_last);
	assert_int_equal(walk_links_first(&l, &st, 5, &is_last), 1);
	assert_true(is_last);
	st.st_ino = 3;
	assert_int_equal(walk_links_first(&l, &st, 6, &is_last), 6);
	walk_links_free(&l);
}

TEST(test_unreadable)
{
	struct record *r;

	shell("mkdir -p u/closed/in u/search/in u/open; touch u/open/file u/closed/file; "
	      "chmod 0 u/closed; chmod 111 u/search");
	assert_int_equal(geteuid() ? 0 : seteuid(NOBODY), 0);
	r = walk_one("u");
	assert_non_null(
		strstr(r->text, "closed( !u/closed:cannot read directory (Permission denied)! ) "));
	assert_non_null(
		strstr(r->text, "search( !u/search:cannot read directory (Permission denied)! ) "));
	assert_non_null(strstr(r->text, "open( file ) "));
	assert_int_equal(r->failures, 2);
	free(r);
	walks_as("u/search/in", "in( ) .");
	assert_int_equal(getuid() ? 0 : seteuid(0), 0);
}

/* Deeper than paths can be, with few descriptors, and with directories that have siblings. */
TEST(test_deep)
{
	enum {
		LEVELS = 3000
	};
	struct rlimit old, few;
	struct record *r;
	int at = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; i < LEVELS; i++) {
		int next, fd;

		assert_int_equal(mkdirat(at, "deep", 0755), 0);
		next = openat(at, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		close(at);
		at = next;
		for (char name[2] = "a"; *name <= 'c'; ++*name) {
			fd = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
			assert_true(fd >= 0);
			close(fd);
		}
	}
	close(at);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	few.rlim_cur = 32;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	r = walk_one("deep");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(r->failures, 0);
	assert_int_equal(r->dirs, LEVELS);
	assert_int_equal(r->files, 3 * LEVELS);
	free(r);
}

/* More entries than a buffer has, with directories between them. */
TEST(test_wide)
{
	struct record *r;

	shell("mkdir w; cd w; seq -f 'a longer name for a file %.0f' 6000 | xargs -d '\n' touch; "
	      "seq -f 'a directory %.0f' 3000 | xargs -d '\n' mkdir; for d in *dir*; do "
	      "echo \"$d/x\"; done | xargs -d '\n' touch");
	r = walk_one("w");
	assert_int_equal(r->files, 6000 + 3000);
	assert_int_equal(r->dirs, 1 + 3000);
	assert_int_equal(r->failures, 0);
	free(r);
}

/* The destination lies in the source, and makes directories as fast as the walk finds them. */
TEST(test_into_itself)
{
	static const char journal[] = ".xddcp-0123456789abcdef.journal";
	struct copy_settings s = recursive();
	const char *source = "self";
	struct record *r;
	struct walk *w;
	struct err why;

	shell("mkdir -p self/x/self/x self/x/y; touch self/x/.xddcp-0123456789abcdef.journal");
	for (int i = 0; i < 3; i++) {
		static const char *const made[] = { NULL, "y", "" };
		static const char *const expected[] = {
			"!self/x/self:is the copy itself; a directory cannot be copied into itself! ",
			"!self/x/y:is the copy itself; a directory cannot be copied into itself! ",
			"!self/x:is the destination; new directories in it cannot be copied into themselves! ",
		};

		assert_int_equal(walk_open(&w, &s, &source, 1, &why), 0);
		walk_avoid(w, journal, made[i]);
		r = walk_all(w);
		assert_non_null(strstr(r->text, expected[i]));
		assert_int_equal(r->failures, 1);
		free(r);
	}
	assert_int_equal(walk_open(&w, &s, &source, 1, &why), 0);
	walk_avoid(w, ".xddcp-0000000000000000.journal", NULL);
	r = walk_all(w);
	assert_int_equal(r->failures, 0);
	free(r);
}

struct churn {
	_Atomic bool stop;
};

static void *change_tree(void *arg)
{
	struct churn *c = arg;

	while (!atomic_load(&c->stop)) {
		renameat2(AT_FDCWD, "churn/dir", AT_FDCWD, "churn/link", RENAME_EXCHANGE);
		mkdir("churn/come", 0755);
		mkdir("churn/come/and", 0755);
		rmdir("churn/come/and");
		rmdir("churn/come");
	}
	return NULL;
}

/* Directories come, go, and become links to others: nothing behind a link is found. */
TEST(test_race)
{
	struct churn c = { .stop = false };
	uint64_t end_ns = clock_kernel_ns() + NS_PER_SEC / 2;
	pthread_t thread;

	shell("mkdir -p churn/dir secrets; touch secrets/secret churn/dir/inside; "
	      "ln -s ../secrets churn/link");
	assert_int_equal(pthread_create(&thread, NULL, change_tree, &c), 0);
	while (clock_kernel_ns() < end_ns) {
		struct record *r = walk_one("churn");

		assert_null(strstr(r->text, "secret "));
		assert_memory_equal(r->text, "churn( ", 7);
		assert_string_equal(r->text + strlen(r->text) - 3, ") .");
		free(r);
	}
	atomic_store(&c.stop, true);
	pthread_join(thread, NULL);
}

/* ---- lists ---- */

static void lists_as(const char *names, bool with_dirs, const char *text)
{
	struct copy_settings s = recursive();
	const char *source = "list";
	FILE *f = fopen("list", "w");
	struct record *r;

	fputs(names, f);
	fclose(f);
	s.list = true;
	s.recursive = with_dirs;
	r = walk_with(&s, &source, 1);
	assert_string_equal(r->text, text);
	free(r);
}

TEST(test_lists)
{
	char names[512], text[512];

	shell("mkdir -p d/e/f g; touch d/1 d/e/2 d/e/f/3 g/4 5; ln -s d dl; ln -s 5 sl");
	lists_as("", false, ".");
	lists_as("\n\n", false, ".");
	lists_as("d/1\nd/e/2\nd/e/f/3\ng/4\n5\n", false, "d?( 1 e?( 2 f?( 3 ) ) ) g?( 4 ) 5 .");
	lists_as("5\n./d//./1\nd/e/f/3\nd/1", false, "5 d?( 1 e?( f?( 3 ) ) 1 ) .");
	lists_as("d\nd/e\nd/e/2\nsl\n", false, "d( e( 2 ) ) @sl>5 .");
	lists_as("d/e/f\ng\nd/e/f/3", true, "d?( e?( f( 3 ) ) ) g( 4 ) d?( e?( f?( 3 ) ) ) .");
	lists_as(".\n./5\n./g\n./g/4\n.\n", false, "( 5 g( 4 ) ) ( ) .");
	lists_as("dl/1\ndl/e/2\n", false, "dl?( 1 e?( 2 ) ) .");
	lists_as("../x\nd/../5\n5\n", false,
		 "!../x:has \"..\", which a list must not! !d/../5:has \"..\", which a list must "
		 "not! 5 .");
	lists_as("none\nd/none/x\n5/x\nd/1\n", false,
		 "!none:cannot read attributes (No such file or directory)! "
		 "d?( !d/none/x:cannot open (No such file or directory)! ) "
		 "!5/x:cannot open (Not a directory)! d?( 1 ) .");
	snprintf(names, sizeof(names), "%s/d/1\n%s/d/e\n%s/d/e/2\nd/e/2\n%s/g/1\n1/2\n", directory,
		 directory, directory, directory);
	snprintf(
		text, sizeof(text),
		"1 e( ) 2 d?( e?( 2 !%s/g/1:another name in the list has this name at the destination! !1/2:another name in the list has this name at the destination! ) "
		") .",
		directory);
	lists_as(names, false, text);
}

/* Names that come twice do not count for those that were not seen yet. */
TEST(test_list_links)
{
	shell("mkdir hl; touch hl/a; ln hl/a hl/b; ln hl/a hl/c; ln -s a hl/s; ln hl/s hl/t; ln hl/s hl/u");
	lists_as("hl/a\nhl/b\nhl/b\nhl/a\nhl/c\n", false, "hl?( a+ =b2 =b2 =a2 =c2 ) .");
	lists_as("hl/s\nhl/t\nhl/t\nhl/u\n", false, "hl?( @s+>a =t2 =t2 =u2 ) .");
}

/* Names that differ by a bit are not taken for each other. */
TEST(test_list_short_names)
{
	char names[1024] = "", text[1024] = "";

	shell("mkdir -p short; cd short; touch 0 1 2 3 4 5 6 7 8 9; mkdir d; cd d; touch A B C D E F");
	for (int i = 0; i < 10; i++)
		snprintf(names + strlen(names), 128, "%d\n", i);
	for (char c = 'A'; c <= 'F'; c++)
		snprintf(names + strlen(names), 128, "%s/short/d/%c\n", directory, c);
	for (const char *p = "0123456789ABCDEF"; *p; p++)
		snprintf(text + strlen(text), 16, "%c ", *p);
	strcat(text, ".");
	assert_int_equal(chdir("short"), 0);
	lists_as(names, false, text);
	assert_int_equal(chdir(".."), 0);
}

/* Names that end with NUL, and the size of a name. */
TEST(test_list_bytes)
{
	struct copy_settings s = recursive();
	const char *source = "list";
	struct record *r;

	shell("mkdir -p nul; touch 'nul/a\nb' 'nul/ c '; printf 'nul/a\\nb\\0nul/ c \\0' >list");
	s.list = s.list_nul = true;
	shell("printf 'nul/a\\nb' >/dev/null");
	r = walk_with(&s, &source, 1);
	assert_non_null(strstr(r->text, "nul?( "));
	assert_non_null(strstr(r->text, " c  )"));
	free(r);
	shell("head -c 100000 /dev/zero | tr '\\0' x >list; printf '\\0%s\\0' 'nul/ c ' >>list");
	r = walk_with(&s, &source, 1);
	assert_int_equal(r->failures, 1);
	assert_non_null(strstr(r->text, "nul?(  c  ) ."));
	free(r);
	s.size_bytes = 5;
	refused(&s, "list", COPY_BAD_SIZE, "a size is for one file or device, not for a list");
	refused(&(struct copy_settings){ .list = true, .size_bytes = UINT64_MAX }, "no list",
		COPY_NO_SOURCE, "list no list: No such file or directory");
}

RUN_TESTS(enter_directory, remove_directory)
