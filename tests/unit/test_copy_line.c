/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line of xdd copy: src/commands/copy_words.c, copy_options.c. Lines that are refused
 * are in tests/func/copy_options.py.
 */
#include "unit.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/copy_line.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"

#define WORDS_MAX 32

/* Read a command line whose words are separated by blanks, with quotes. Returns its status. */
static int read_line(struct arena *arena, struct copy_line *l, const char *text)
{
	const char *const *words;
	char *argv[WORDS_MAX + 2] = { (char *)(uintptr_t) "copy" };
	int argc = 1;

	memset(l, 0, sizeof(*l));
	l->arena = arena;
	assert_int_equal(copy_split(arena, text, &words), 0);
	for (; words[argc - 1]; argc++) {
		assert_true(argc <= WORDS_MAX);
		argv[argc] = (char *)(uintptr_t)words[argc - 1];
	}
	return copy_line_read(l, argc, argv);
}

/* `status` is that of the line; sources are remote, so that no file is looked for. */
#define LINE(l, text, status) assert_int_equal(read_line(*state, l, text), status)

/* The default on this host. */
static uint32_t expected_threads(void)
{
	cpu_set_t own;

	assert_int_equal(sched_getaffinity(0, sizeof(own), &own), 0);
	return CPU_COUNT(&own) <= 4 ? 4 : 8;
}

static int begin(void **state)
{
	unsetenv("XDDCP_SSH");
	*state = arena_new();
	return *state ? 0 : -1;
}

static int end(void **state)
{
	arena_free(*state);
	return 0;
}

TEST_SETUP_TEARDOWN(test_threads, begin, end)
{
	struct copy_line l;

	assert_int_equal(copy_default_threads(0), 8);
	assert_int_equal(copy_default_threads(1), 4);
	assert_int_equal(copy_default_threads(4), 4);
	assert_int_equal(copy_default_threads(5), 8);
	assert_int_equal(copy_default_threads(512), 8);
	LINE(&l, "-t 3 h:a b", 0);
	assert_int_equal(l.request.settings.connections, 3);
}

TEST_SETUP_TEARDOWN(test_defaults, begin, end)
{
	struct copy_line l;
	const struct copy_settings *s = &l.request.settings;
	struct copy_settings plain = {
		.port = 40010,
		.connections = expected_threads(),
		.block_bytes = 1u << 20,
		.size_bytes = UINT64_MAX,
		.timeout_ns = 30 * NS_PER_SEC,
	};

	LINE(&l, "h:a b", 0);
	assert_memory_equal(s, &plain, sizeof(plain));
	assert_string_equal(l.request.remote_xdd, "xdd");
	assert_string_equal(l.request.ssh[0], "ssh");
	assert_null(l.request.ssh[1]);
	assert_null(l.request.log_path);
	assert_null(l.request.json_path);
	assert_int_equal(l.request.retries, 0);
	assert_int_equal(l.request.answer_ns, 0);
	assert_int_equal(l.request.n_sources, 1);
	assert_string_equal(l.request.sources[0].host, "h");
	assert_string_equal(l.request.sources[0].path, "a");
	assert_null(l.request.destination.host);
	assert_string_equal(l.request.destination.path, "b");
}

TEST_SETUP_TEARDOWN(test_letters_and_names, begin, end)
{
	static const struct {
		const char *letter, *name;
		size_t off;
	} flags[] = {
#define SETTING(letter, name, field) { letter, name, offsetof(struct copy_settings, field) }
		SETTING("-r", "recursive", recursive),
		SETTING("-P", "preserve", everything),
		SETTING("-k", "verify", verify),
		SETTING("-c", "contents", compare_contents),
		SETTING("-n", "dryrun", dry_run),
		SETTING("-i", "inplace", in_place),
		SETTING("-R", "resume", resume),
		SETTING("-a", "resume", resume),
		SETTING("-F", "list", list),
		SETTING("-o", "ordered", ordered_destination),
		SETTING("-d", "directdestination", direct_destination),
		SETTING("-s", "directsource", direct_source),
		SETTING("-e", "encrypt", encrypt),
		SETTING("-f", "freeports", free_ports),
		SETTING("-v", "verbose", stamps),
		SETTING("-w", "dump", stamps_binary),
		SETTING("-force", "force", force),
	};
	char text[128];
	struct copy_line l;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		const bool *field = (const bool *)((char *)&l.request.settings + flags[i].off);

		snprintf(text, sizeof(text), "%s h:a b", flags[i].letter);
		LINE(&l, text, 0);
		assert_true(*field);
		snprintf(text, sizeof(text), "-%s h:a b", flags[i].name);
		LINE(&l, text, 0);
		assert_true(*field);
		snprintf(text, sizeof(text), "h:a --%s b", flags[i].name);
		LINE(&l, text, 0);
		assert_true(*field);
		snprintf(text, sizeof(text), "h:a --%s=1 b", flags[i].name);
		LINE(&l, text, COPY_BAD_ARGUMENTS);
	}
}

TEST_SETUP_TEARDOWN(test_values, begin, end)
{
	struct copy_line l;
	const struct copy_settings *s = &l.request.settings;

	LINE(&l, "-t 4 -p 50000 -blocksize 64k -timeout 2min -retries 3 h:a b", 0);
	assert_int_equal(s->connections, 4);
	assert_int_equal(s->port, 50000);
	assert_true(s->port_given);
	assert_int_equal(s->block_bytes, 65536);
	assert_int_equal(s->timeout_ns, 120 * NS_PER_SEC);
	assert_int_equal(l.request.answer_ns, 120 * NS_PER_SEC);
	assert_int_equal(l.request.retries, 3);
	LINE(&l, "--threads=4 -port=7 --log=x -jsonout y h:a b", 0);
	assert_int_equal(s->connections, 4);
	assert_int_equal(s->port, 7);
	assert_string_equal(l.request.log_path, "x");
	assert_string_equal(l.request.json_path, "y");
	LINE(&l, "-t8 -p40000 -J h:a b", 0);
	assert_int_equal(s->port, 40000);
	assert_string_equal(l.request.json_path, "-");
	LINE(&l, "-p 65535 -t 1 h:a b", 0);
}

TEST_SETUP_TEARDOWN(test_clusters, begin, end)
{
	struct copy_line l;
	const struct copy_settings *s = &l.request.settings;

	LINE(&l, "-rPv h:a b", 0);
	assert_true(s->recursive && s->everything && s->stamps);
	LINE(&l, "-rF0 h:a b", 0);
	assert_true(s->recursive && s->list && s->list_nul);
	LINE(&l, "-rt 3 h:a b", 0);
	assert_true(s->recursive && s->connections == 3);
	LINE(&l, "-rt3 h:a b", 0);
	assert_int_equal(s->connections, 3);
	LINE(&l, "-tr h:a b", COPY_BAD_ARGUMENTS);
	LINE(&l, "--rPv h:a b", COPY_BAD_ARGUMENTS);
	LINE(&l, "h:a -- -rPv", 0);
	assert_string_equal(l.request.destination.path, "-rPv");
}

TEST_SETUP_TEARDOWN(test_later_forms, begin, end)
{
	struct copy_line l;
	const struct copy_settings *s = &l.request.settings;

	LINE(&l, "-d s h:a b", 0);
	assert_true(s->direct_source && !s->direct_destination);
	LINE(&l, "-d b -o sd h:a /b", 0);
	assert_true(s->direct_source && s->direct_destination);
	assert_true(s->ordered_source && s->ordered_destination);
	LINE(&l, "-d d -o d h:a /b", 0);
	assert_true(!s->direct_source && s->direct_destination);
	assert_true(!s->ordered_source && s->ordered_destination);
	LINE(&l, "-s -d d h:a /b", 0);
	assert_true(s->direct_source && s->direct_destination);
	LINE(&l, "-n 3 h:a /b", 0);
	assert_true(!s->dry_run && l.request.retries == 3);
	LINE(&l, "-k -n 3 h:a /b", 0);
	/* A plain flag holds, whatever its form with a value says. */
	LINE(&l, "-n -n 3 h:a /b", 0);
	assert_true(s->dry_run && l.request.retries == 3);
	LINE(&l, "-n 3 h:a -dryrun /b", 0);
	assert_true(s->dry_run && l.request.retries == 3);
	LINE(&l, "-n 2 -n 3 h:a /b", 0);
	assert_int_equal(l.request.retries, 3);
	LINE(&l, "-retries 2 -n h:a /b", 0);
	assert_true(s->dry_run && l.request.retries == 2);
	LINE(&l, "-d -d s h:a /b", 0);
	assert_true(s->direct_source && s->direct_destination);
	LINE(&l, "-o -o s h:a /b", 0);
	assert_true(s->ordered_source && s->ordered_destination);
	LINE(&l, "-w 5 h:a /b", 0);
	assert_true(s->stamps_binary && l.request.n_sources == 1);
	/* Too few names without it, so it is one. */
	LINE(&l, "h:a -d b", 0);
	assert_true(s->direct_destination && !s->direct_source);
	assert_string_equal(l.request.destination.path, "b");
	LINE(&l, "h:a -n 3", 0);
	assert_true(s->dry_run);
	assert_string_equal(l.request.destination.path, "3");
}

TEST_SETUP_TEARDOWN(test_size, begin, end)
{
	struct copy_line l;
	const struct copy_settings *s = &l.request.settings;

	LINE(&l, "h:a b 10k", 0);
	assert_int_equal(s->size_bytes, 10240);
	LINE(&l, "h:a b -size 0", 0);
	assert_int_equal(s->size_bytes, 0);
	LINE(&l, "h:a g:b 7", 0);
	assert_int_equal(s->size_bytes, 7);
	assert_string_equal(l.request.destination.host, "g");
	LINE(&l, "h:a h:b ./7", 0);
	assert_int_equal(l.request.n_sources, 2);
}

static void place(struct arena *arena, const char *word, const char *user, const char *host,
		  const char *path)
{
	struct copy_place p;

	assert_null(copy_place_parse(arena, word, &p));
	if (host)
		assert_string_equal(p.host, host);
	else
		assert_null(p.host);
	if (user)
		assert_string_equal(p.user, user);
	else
		assert_null(p.user);
	assert_string_equal(p.path, path);
}

TEST_SETUP_TEARDOWN(test_places, begin, end)
{
	place(*state, "a", NULL, NULL, "a");
	place(*state, "./a:b", NULL, NULL, "./a:b");
	place(*state, "/a:b", NULL, NULL, "/a:b");
	place(*state, "d/a:b", NULL, NULL, "d/a:b");
	place(*state, ":a", NULL, NULL, ":a");
	place(*state, "h:", NULL, "h", "");
	place(*state, "h:a b\nc:d", NULL, "h", "a b\nc:d");
	place(*state, "u@h:/a", "u", "h", "/a");
	place(*state, "u@dom@h:/a", "u@dom", "h", "/a");
	place(*state, "[::1]:a", NULL, "::1", "a");
	place(*state, "u@[::1]:a", "u", "::1", "a");
	place(*state, "[fe80::1%eth0]:a]:b", NULL, "fe80::1%eth0", "a]:b");
	place(*state, "u@[fe80::1%eth0]:", "u", "fe80::1%eth0", "");
	place(*state, "[h]:a", NULL, "h", "a");
	place(*state, "1.2.3.4:a", NULL, "1.2.3.4", "a");
	place(*state, "./::1:a", NULL, NULL, "./::1:a");
	place(*state, "h:~", NULL, "h", "");
	place(*state, "h:~//a/~", NULL, "h", "a/~");
	place(*state, "h:./~a", NULL, "h", "./~a");
	place(*state, "~/a", NULL, NULL, "~/a");
	place(*state, "[::1]", NULL, NULL, "[::1]");
}

TEST_SETUP_TEARDOWN(test_names, begin, end)
{
	struct copy_line l;

	LINE(&l, "-r / b", 0);
	assert_null(l.request.sources[0].host);
	assert_null(l.request.destination.host);
	LINE(&l, "h:a h:b c", 0);
	assert_true(l.request.settings.into);
	LINE(&l, "h:a c/", 0);
	assert_true(l.request.settings.into);
	LINE(&l, "-F h:a c", 0);
	assert_true(l.request.settings.into);
	LINE(&l, "h:a c", 0);
	assert_false(l.request.settings.into);
	LINE(&l, "h:a g:", 0);
	assert_false(l.request.settings.into);
	LINE(&l, "-h x y", 0);
	assert_string_equal(l.line.shows, "help");
}

TEST_SETUP_TEARDOWN(test_programs, begin, end)
{
	struct copy_line l;

	LINE(&l, "-b /opt/bin h:a b", 0);
	assert_string_equal(l.request.remote_xdd, "/opt/bin/xdd");
	LINE(&l, "-b /opt/xdd/ h:a b", 0);
	assert_string_equal(l.request.remote_xdd, "/opt/xdd/xdd");
	LINE(&l, "-b /opt/xdd.Linux h:a b", 0);
	assert_string_equal(l.request.remote_xdd, "/opt/xdd.Linux");
	LINE(&l, "-b xdd h:a b", 0);
	assert_string_equal(l.request.remote_xdd, "xdd");
	LINE(&l, "-S \"ssh  -p '2 2'\" h:a b", 0);
	assert_string_equal(l.request.ssh[1], "-p");
	assert_string_equal(l.request.ssh[2], "2 2");
	assert_null(l.request.ssh[3]);
	assert_int_equal(setenv("XDDCP_SSH", "my-ssh -4", 1), 0);
	LINE(&l, "h:a b", 0);
	assert_string_equal(l.request.ssh[0], "my-ssh");
	LINE(&l, "-S other h:a b", 0);
	assert_string_equal(l.request.ssh[0], "other");
	assert_int_equal(setenv("XDDCP_SSH", "\"", 1), 0);
	LINE(&l, "h:a b", COPY_BAD_ARGUMENTS);
	assert_int_equal(setenv("XDDCP_SSH", "", 1), 0);
	LINE(&l, "h:a b", 0);
	assert_string_equal(l.request.ssh[0], "ssh");
	unsetenv("XDDCP_SSH");
}

static void split(struct arena *arena, const char *text, const char *expected)
{
	const char *const *words;
	char got[256] = "";

	assert_int_equal(copy_split(arena, text, &words), 0);
	for (; *words; words++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "<%s>", *words);
	assert_string_equal(got, expected);
}

TEST_SETUP_TEARDOWN(test_split, begin, end)
{
	const char *const *words;

	split(*state, "ssh", "<ssh>");
	split(*state, "  ssh\t-p\n22 ", "<ssh><-p><22>");
	split(*state, "ssh -o 'A=b c' \"d e\"", "<ssh><-o><A=b c><d e>");
	split(*state, "a'b'\"c\"d", "<abcd>");
	split(*state, "a\\ b \\'c\\\" '\\'", "<a b><'c\"><\\>");
	split(*state, "\"a\\\"b\\c\\\\\" ''", "<a\"b\\c\\><>");
	split(*state, "$HOME ~ `x` * $(y)", "<$HOME><~><`x`><*><$(y)>");
	split(*state, "a\\", "<a\\>");
	assert_int_equal(copy_split(*state, "a 'b", &words), -EINVAL);
	assert_int_equal(copy_split(*state, "a \"b", &words), -EINVAL);
	assert_int_equal(copy_split(*state, " \t", &words), -ENODATA);
	assert_int_equal(copy_split(*state, "''", &words), -ENODATA);
}

RUN_TESTS(NULL, NULL)
