/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A destination of a copy whose source breaks the rules: the session ends, and nothing is left.
 */
#include "copy_offers_rig.h"

#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK (64u << 10)

static uint8_t zeros[4 * BLOCK];

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

/* A file of `size_bytes`, for which a WANT has come. */
static uint64_t wanted(struct source_rig *r, uint64_t size_bytes)
{
	uint64_t id = rig_file(r, "file", size_bytes);

	rig_send(r);
	rig_until_want(r, id, COPY_SEND);
	return id;
}

TEST(test_entries)
{
	struct source_rig r;

	begin(&r);
	r.last_id = 1;
	rig_file(&r, "a", 1);
	rig_end(&r);
	refused(&r, "out of order");

	begin(&r);
	rig_leave(&r);
	rig_end(&r);
	refused(&r, "had not begun");

	begin(&r);
	rig_dir(&r, "a");
	rig_end(&r);
	refused(&r, "within a directory");

	begin(&r);
	rig_end(&r);
	rig_file(&r, "a", 1);
	rig_send(&r);
	refused(&r, "after the end");

	begin(&r);
	rig_dir(&r, "a");
	rig_dir(&r, "");
	rig_send(&r);
	refused(&r, "without a name");

	begin(&r);
	rig_link(&r, "b", rig_file(&r, "a", 1));
	rig_send(&r);
	refused(&r, "unknown file");
}

TEST(test_top_names)
{
	struct source_rig r;

	rig_open(&r, "d");
	assert_int_equal(mkdir(r.path, 0755), 0);
	r.top_names[0] = "asked";
	rig_start(&r);
	rig_file(&r, ".profile", 1);
	rig_end(&r);
	refused(&r, "not asked for");

	rig_open(&r, "name");
	r.top_names[0] = "asked";
	rig_start(&r);
	rig_file(&r, "asked", 1);
	rig_file(&r, "asked", 1);
	rig_end(&r);
	refused(&r, "more than one file");
	assert_false(rig_exists(&r, "name"));
}

TEST(test_data)
{
	struct source_rig r;
	uint64_t id;

	begin(&r);
	rig_bundle(&r, 5, 0, "x", 1);
	refused(&r, "not asked for");

	begin(&r);
	id = wanted(&r, 2);
	rig_bundle(&r, id, 0, "x", 1);
	refused(&r, "another size");

	begin(&r);
	id = wanted(&r, 1);
	rig_bundle(&r, id, 0, "x", 1);
	rig_bundle(&r, id, 0, "x", 1);
	refused(&r, "not asked for");

	begin(&r);
	id = wanted(&r, 4 * BLOCK);
	rig_block(&r, id + 1, 0, zeros, BLOCK);
	refused(&r, "not asked for");

	begin(&r);
	id = wanted(&r, 4 * BLOCK);
	rig_block(&r, id, 3 * BLOCK + 1, zeros, BLOCK);
	refused(&r, "outside of a file");

	begin(&r);
	id = wanted(&r, 4 * BLOCK);
	rig_block(&r, id, (uint64_t)1 << 50, zeros, BLOCK);
	refused(&r, "outside of a file");

	begin(&r);
	id = wanted(&r, 4 * BLOCK);
	rig_block(&r, id, 0, zeros, BLOCK);
	rig_block(&r, id, BLOCK - 1, zeros, BLOCK);
	refused(&r, "or twice");

	begin(&r);
	id = wanted(&r, 4 * BLOCK);
	rig_block(&r, id, 0, zeros, BLOCK);
	rig_bundle(&r, id, 0, zeros, 4 * BLOCK);
	refused(&r, "not asked for");

	begin(&r);
	id = wanted(&r, 4 * BLOCK);
	rig_sums(&r, id, zeros, 0, BLOCK);
	refused(&r, "not asked for");
}

TEST(test_file_end)
{
	struct source_rig r;
	uint64_t id;

	begin(&r);
	rig_file_end(&r, 9, 0, 0, 0);
	refused(&r, "unknown file");

	begin(&r);
	id = wanted(&r, 4 * BLOCK);
	rig_file_end(&r, id, 2, BLOCK, 0);
	rig_file_end(&r, id, 2, BLOCK, 0);
	refused(&r, "two ends");

	begin(&r);
	id = wanted(&r, 4 * BLOCK);
	rig_block(&r, id, 0, zeros, BLOCK);
	rig_block(&r, id, BLOCK, zeros, BLOCK);
	rig_file_end(&r, id, 1, BLOCK, 0);
	refused(&r, "other amounts");

	begin(&r);
	id = wanted(&r, 4 * BLOCK);
	rig_block(&r, id, 0, zeros, BLOCK);
	rig_file_end(&r, id, 1, BLOCK + 1, 0);
	refused(&r, "other amounts");
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

/* More than the window has room for. */
TEST(test_window)
{
	struct source_rig r;
	char name[16];

	begin(&r);
	for (unsigned i = 1; i <= COPY_WINDOW_ENTRIES; i++) {
		snprintf(name, sizeof(name), "%u", i);
		rig_file(&r, name, 1);
		if (i % 4096)
			continue;
		rig_send(&r);
		rig_until_want(&r, i, COPY_SEND);
	}
	rig_file(&r, "last", 1);
	rig_send(&r);
	refused(&r, "window");
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

/* The end, while files are expected. */
TEST(test_finish)
{
	struct source_rig r;
	uint64_t id;

	begin(&r);
	id = wanted(&r, 4 * BLOCK);
	rig_block(&r, id, 0, zeros, BLOCK);
	rig_end(&r);
	rig_send_finish(&r);
	refused(&r, "before all was done");
}

RUN_TESTS(ignore_sigpipe, NULL)
