/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A destination of a copy whose source breaks the rules: the session ends, and nothing is left.
 * Most rules are in tests/func/copy_hostile.py, where a source is a program of its own.
 */
#include "copy_offers_rig.h"

#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK (64u << 10)

static const uint8_t zeros[BLOCK];

/* A destination directory that exists. */
static void begin(struct source_rig *r)
{
	rig_open(r, "d");
	assert_int_equal(mkdir(r->path, 0755), 0);
	r->settings.into = true;
	rig_start(r);
}

static void refused(struct source_rig *r, const char *text)
{
	assert_int_equal(rig_refused(r, text), COPY_FAILED);
	rig_close(r);
}

TEST(test_two_of_one_name)
{
	struct source_rig r;

	rig_open(&r, "name");
	r.source = "asked";
	rig_start(&r);
	rig_file(&r, "asked", 1);
	rig_file(&r, "asked", 1);
	rig_end(&r);
	refused(&r, "more than one file");
	assert_false(rig_exists(&r, "name"));
}

/* Digests that do not cover a file are no comparison. */
TEST(test_part_of_sums)
{
	struct source_rig r;
	uint64_t id;

	rig_open(&r, "d");
	assert_int_equal(mkdir(r.path, 0755), 0);
	rig_write(&r, "d/file", zeros, BLOCK);
	r.settings.into = r.settings.verify = true;
	rig_start(&r);
	id = rig_file(&r, "file", BLOCK);
	rig_end(&r);
	rig_until_want(&r, id, COPY_SUMS);
	rig_sums(&r, id, zeros, 0, BLOCK / 2);
	rig_file_end(&r, id, 1, 0, 0);
	refused(&r, "digests of a part");
}

/* The window leaves out directories that are not left, so that a deep tree fits. */
TEST(test_open_directories)
{
	static uint8_t value[200 << 10];
	const struct copy_attr attr = { .name = "user.x", .value = value, .size = sizeof(value) };
	struct source_rig r;

	begin(&r);
	for (size_t i = 0; i <= (64u << 20) / sizeof(value); i++) {
		struct copy_entry e = rig_entry(&r, COPY_DIR, "d");

		e.attrs = &attr;
		e.n_attrs = 1;
		rig_add(&r, &e);
		rig_send(&r);
	}
	refused(&r, "more directories in each other");
}

/*
 * Files of which other names may follow, with paths of half a MiB below directories that -n does
 * not make: of those beyond 64 MiB the last component is remembered, which is not taken for a path
 * of a file that is there.
 */
TEST(test_long_names_of_links)
{
	const size_t depth = 2000, path_bytes = depth * COPY_MAX_NAME_BYTES + sizeof("f");
	const uint64_t kept = (64u << 20) / path_bytes;
	char name[COPY_MAX_NAME_BYTES] = "";
	uint64_t first = 0, last_kept, cut;
	char there[256], other[256];
	struct source_rig r;

	rig_open(&r, "d");
	assert_int_equal(mkdir(r.path, 0755), 0);
	rig_write(&r, "d/f", "", 0);
	assert_int_equal(link(rig_path(&r, "d/f", there), rig_path(&r, "d/cut", other)), 0);
	r.settings.into = r.settings.dry_run = true;
	rig_start(&r);
	memset(name, 'd', sizeof(name) - 1);
	for (size_t i = 0; i < depth; i++)
		rig_dir(&r, name);
	for (size_t i = 0; i <= kept; i++) {
		struct copy_entry e = rig_entry(&r, COPY_FILE, "f");

		e.flags = COPY_HAS_LINKS;
		first = first ? first : e.id;
		rig_add(&r, &e);
	}
	for (size_t i = 0; i < depth; i++)
		rig_leave(&r);
	last_kept = rig_link(&r, "kept", first + kept - 1);
	cut = rig_link(&r, "cut", first + kept);
	rig_end(&r);
	rig_until_result(&r, first + kept, COPY_WOULD);
	rig_until_result(&r, last_kept, COPY_WOULD);
	rig_until_result(&r, cut, COPY_WOULD);
	assert_int_equal(rig_finish(&r), XDD_OK);
	rig_close(&r);
}

/* The last name of a file is said, and no other may follow: the file is forgotten. */
TEST(test_last_name)
{
	struct source_rig r;
	struct copy_entry e;
	uint64_t id;

	for (int ended = 0; ended <= 1; ended++) {
		begin(&r);
		e = rig_entry(&r, COPY_FILE, "a");
		e.flags = COPY_HAS_LINKS;
		e.size_bytes = ended ? 0 : 1;
		id = rig_add(&r, &e);
		rig_send(&r);
		rig_until_want(&r, id, COPY_SEND);
		if (ended) {
			rig_bundle(&r, id, 0, "", 0);
			rig_until_result(&r, id, COPY_DONE);
		}
		rig_last_link(&r, "b", id);
		rig_link(&r, "c", id);
		rig_send(&r);
		refused(&r, "a link to an unknown file");
	}
}

RUN_TESTS(ignore_sigpipe, NULL)
