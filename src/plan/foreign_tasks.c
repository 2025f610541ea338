/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command lines of xdisk and IOR as a whole: the values that these tools have by default, and the
 * files and parts of files of their processes. Called by foreign_fit.c.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "plan/fio.h"
#include "plan/foreign_answer.h"
#include "xdd/base/units.h"
#include "xdd/plan/foreign.h"
#include "xdd/plan/option.h"

#define MOST_TASKS 128 /* that get offsets one by one */

static const char *const sizes[] = { "blocksize", "reqsize", NULL };
static const char *const directions[] = { "op", "rwratio", NULL };
static const char *const amounts[] = { "bytes",	  "kbytes", "mbytes", "gbytes",
				       "numreqs", "range",  NULL };
static const char *const limits[] = { "timelimit", "runtime", NULL };
static const char *const ranks[] = { "mpi", "ranks", NULL };

/* ---- processes and names ---- */

/* True if a word in the command line is this one of `tool`. */
static bool has_word(const struct fitting *f, const struct foreign_tool *tool, const char *word)
{
	for (size_t i = 0; i < f->n_parts; i++) {
		const struct foreign_part *part = &f->parts[i];

		if (part->row && part->tool == tool && strcmp(part->row->word, word) == 0)
			return true;
	}
	return false;
}

/* The number of `word`, from 1 to 65536; 0: none. */
static size_t number_of(const char *word)
{
	uint64_t n;

	return units_parse_u64(word, &n) || n > 65536 ? 0 : (size_t)n;
}

/* The number of tasks that the command line gives, or 1; 0: it makes no sense. */
static size_t tasks_of(struct fitting *f, struct group **group)
{
	*group = fit_find_special(f, "@tasks");
	if (!*group)
		return 1;
	(*group)->gone = true;
	return number_of((*group)->words[1]);
}

/* The targets that a word of `tool` names; NULL: none. */
static struct group *targets_of(struct fitting *f, const struct foreign_tool *tool)
{
	struct group *one = fit_find_option(f, "target"), *list = fit_find_option(f, "targets");
	struct group *g = one ? one : list;

	return g && !(one && list) && g->part->row && g->part->tool == tool ? g : NULL;
}

static const char *count_text(struct fitting *f, size_t n)
{
	return xarena_printf(f->arena, "%zu", n);
}

/* ---- parts of files ---- */

/* A number of bytes, as short as it can be. */
static const char *bytes_text(struct fitting *f, uint64_t bytes)
{
	static const char units[] = "Bkmg";
	size_t unit = 0;

	while (bytes && bytes % 1024 == 0 && units[unit + 1]) {
		bytes /= 1024;
		unit++;
	}
	return xarena_printf(f->arena, "%" PRIu64 "%c", bytes, units[unit]);
}

/* The size of a request, which parts of files are multiples of. */
static uint64_t request_bytes(struct fitting *f)
{
	const struct group *size = fit_find_given(f, "blocksize");
	uint64_t bytes;

	if (!size)
		size = fit_find_given(f, "reqsize");
	return size && !units_parse_size(size->words[1], &bytes) && bytes ? bytes : 1;
}

/* `part` of `of` parts of a file, or of the `size` that is given. */
static const char *share(struct fitting *f, const char *size, size_t part, size_t of)
{
	const uint64_t request = request_bytes(f);
	uint64_t bytes;

	if (!size)
		return xarena_printf(f->arena, "%.8g%%", 100.0 * (double)part / (double)of);
	if (part == of)
		return size;
	if (units_parse_size(size, &bytes) || bytes / of < request) {
		fit_refuse(f, "the size does not give each process a request");
		return size;
	}
	return bytes_text(f, bytes / of / request * request * part);
}

/*
 * Each of `tasks` processes gets its part of one of the `n_names` files. Returns the number of
 * parts of a file; 0: that is not possible.
 */
static size_t divide(struct fitting *f, struct group *targets, const char *size, size_t tasks)
{
	const bool one = targets->n == 2;
	const size_t n_names = one ? 1 : targets->n - 2;
	const char **names = &targets->words[one ? 1 : 2], **words;

	if (tasks == n_names || !tasks)
		return 1;
	if (tasks % n_names || (n_names > 1 && tasks > MOST_TASKS))
		return 0;
	if (n_names == 1) {
		fit_become(f, targets,
			   FIT_LIST("-targets", xarena_printf(f->arena, "-%zu", tasks), names[0]));
		fit_add(f, targets, FIT_LIST("-targetoffset", share(f, size, 1, tasks)));
		return tasks;
	}
	words = xarena_alloc(f->arena, (tasks + 2) * sizeof(*words));
	words[0] = "-targets";
	words[1] = count_text(f, tasks);
	for (size_t i = 0; i < tasks; i++)
		words[i + 2] = names[i % n_names];
	fit_become(f, targets, tasks + 2, words);
	for (size_t i = n_names; i < tasks; i++)
		fit_add(f, targets,
			FIT_LIST("-startoffset", "target", count_text(f, i),
				 share(f, size, i / n_names, tasks / n_names)));
	return tasks / n_names;
}

/* ---- xdisk ---- */

static bool is_list_file(const struct group *targets)
{
	return strcmp(targets->words[0], "-targets") == 0 && targets->words[1][0] == '@';
}

/*
 * The files of the processes; `size` is the size of the whole, if it is given. Returns the number
 * of parts of a file.
 */
static size_t fit_processes(struct fitting *f, struct group *targets, const char *size)
{
	struct group *tasks;
	const size_t n = tasks_of(f, &tasks);
	size_t parts = n ? 1 : 0;

	/* "name..." */
	if (targets->n == 3 && strcmp(targets->words[1], "<n>") == 0)
		targets->words[1] = count_text(f, n ? n : 1);
	else if (tasks && is_list_file(targets))
		parts = 0;
	else if (tasks)
		parts = divide(f, targets, size, n);
	if (!parts)
		fit_lose(f, tasks);
	return parts ? parts : 1;
}

/* -S1 and -R1 go once over all of each file, and have no time limit. */
static void fit_once(struct fitting *f, const struct group *targets, const char *size, size_t parts)
{
	const struct group *op = fit_find_option(f, "op");
	struct group *g;

	while ((g = fit_find_special(f, "@once")))
		g->gone = true;
	while ((g = fit_find_option(f, "timelimit")) || (g = fit_find_option(f, "warmup")))
		g->gone = true;
	/* Reads end at the end of the file by themselves. */
	if (size || parts > 1 || !op || strcmp(op->words[1], "read") != 0)
		fit_add(f, targets, FIT_LIST("-bytes", share(f, size, 1, parts)));
}

static void fit_create(struct fitting *f, struct group *create, const char *size, size_t parts)
{
	struct group *seek = fit_find_option(f, "seek"), *warmup = fit_find_option(f, "warmup");

	fit_become(f, create, FIT_LIST("-bytes", share(f, size, 1, parts)));
	if (seek)
		fit_become(f, seek, FIT_LIST("-seek", "random", "once"));
	if (warmup)
		warmup->gone = true;
}

static void fit_timed(struct fitting *f, const struct group *targets, struct group *range,
		      const char *size, size_t parts)
{
	const bool limited = fit_has_option(f, limits) || (!range && fit_has_option(f, amounts));

	if (range)
		fit_become(f, range, FIT_LIST("-range", share(f, size, 1, parts)));
	else if (parts > 1)
		fit_add(f, targets, FIT_LIST("-range", share(f, size, 1, parts)));
	if (!limited)
		fit_add(f, targets, FIT_LIST("-timelimit", "5"));
}

static void fit_xdisk(struct fitting *f, struct group *targets)
{
	struct group *create = fit_find_special(f, "@create"), *range = fit_find_option(f, "range");
	struct group *snooze = fit_find_option(f, "snooze");
	const bool once = fit_find_special(f, "@once");
	const char *size = create ? create->words[1] : range ? range->words[1] : NULL;
	size_t parts;

	/* -f alone is a word of other tools too. */
	if (!fit_has_option(f, directions) && !create && !has_word(f, &foreign_xdisk, "S") &&
	    !has_word(f, &foreign_xdisk, "R")) {
		fit_refuse(f, "xdisk needs -S, -R or -C");
		return;
	}
	if (!fit_has_option(f, directions))
		fit_add(f, targets, FIT_LIST("-op", create ? "write" : "read"));
	if (!fit_has_option(f, sizes))
		fit_add(f, targets, FIT_LIST("-bs", "4k"));
	/* xdisk does not rest between operations in flight at the same time. */
	if (snooze && fit_find_option(f, "queuedepth"))
		snooze->gone = true;
	parts = fit_processes(f, targets, size);
	if (create) {
		fit_create(f, create, size, parts);
	} else if (once) {
		if (range)
			range->gone = true;
		fit_once(f, targets, size, parts);
	} else {
		fit_timed(f, targets, range, size, parts);
	}
}

/* ---- IOR ---- */

/* The group that says this operation; NULL: none. */
static struct group *find_op(struct fitting *f, const char *op)
{
	const struct option *opt = option_find(f->table, "op");

	for (size_t i = 0; i < f->n; i++) {
		struct group *g = &f->groups[i];

		if (!g->gone && g->opt == opt && g->n == 2 && strcmp(g->words[1], op) == 0)
			return g;
	}
	return NULL;
}

/*
 * Without -w, -r, -W and -R a test of IOR writes and reads. A test that does both, or verifies what
 * it writes, is one with -readback, which verifies. True: it reads.
 */
static bool fit_phases(struct fitting *f, const struct group *targets)
{
	struct group *check = fit_find_special(f, "@verify"), *write = find_op(f, "write"),
		     *read = find_op(f, "read");
	const bool none = !fit_has_option(f, directions);
	const bool back = none ? !check : write && (read || check);

	if (none)
		fit_add(f, targets, FIT_LIST("-op", check ? "read" : "write"));
	if (!back)
		return read || (none && check);
	while ((check = fit_find_special(f, "@verify")))
		check->gone = true;
	if (read)
		fit_become(f, read, FIT_LIST("-readback"));
	else
		fit_add(f, targets, FIT_LIST("-readback"));
	return true;
}

/* The segments of a task, one after the other, in a file of its own. */
static void fit_own_amount(struct fitting *f, struct group *block, struct group *segments,
			   const struct group *targets)
{
	const char *size = block ? block->words[1] : "1m",
		   *times = segments ? segments->words[1] : "1";
	uint64_t bytes, n;

	if (segments)
		segments->gone = true;
	while ((block = fit_find_option(f, "blockperrank")))
		block->gone = true;
	if (strcmp(times, "1") != 0 && !units_parse_size(size, &bytes) &&
	    !units_parse_u64(times, &n) && n && bytes <= UINT64_MAX / n)
		size = bytes_text(f, bytes * n);
	else if (strcmp(times, "1") != 0)
		fit_refuse(f, "-b and -s of IOR must be numbers");
	fit_add(f, targets, FIT_LIST("-bytes", size));
}

/* IOR puts the number of the task after the name; names with "@" between are taken in turn. */
static void fit_own_files(struct fitting *f, struct group *targets, size_t tasks)
{
	const char *first = targets->words[1], **words;
	char *names = xarena_strdup(f->arena, first), *save = NULL;
	size_t n = 1, k = 0;
	const char **list;

	for (const char *c = first; *c; c++)
		n += *c == '@';
	list = xarena_alloc(f->arena, n * sizeof(*list));
	words = xarena_alloc(f->arena, (tasks + 2) * sizeof(*words));
	for (char *name = strtok_r(names, "@", &save); name; name = strtok_r(NULL, "@", &save))
		list[k++] = name;
	/* A rank is a task with its own words. */
	if (k == 1 && tasks == 1 && fit_has_option(f, ranks)) {
		fit_become(f, targets,
			   FIT_LIST("-target",
				    foreign_numbered(f->arena, list[0], strlen(list[0]), ".%r")));
		return;
	}
	if (k == 1 && tasks > 1) {
		fit_become(f, targets,
			   FIT_LIST("-targets", count_text(f, tasks),
				    foreign_numbered(f->arena, list[0], strlen(list[0]), ".%08d")));
		return;
	}
	if (!k || tasks > MOST_TASKS) {
		fit_refuse(f, "there are too many tasks for several names");
		return;
	}
	words[0] = "-targets";
	words[1] = count_text(f, tasks);
	for (size_t i = 0; i < tasks; i++)
		words[i + 2] = xarena_printf(f->arena, "%s.%08zu", list[i % k], i);
	if (tasks > 1)
		fit_become(f, targets, tasks + 2, words);
	else
		fit_become(f, targets, FIT_LIST("-target", words[2]));
}

/* A file for all tasks: each has its block in each segment. */
static void fit_shared_file(struct fitting *f, struct group *targets, size_t tasks)
{
	if (tasks > 1)
		fit_become(f, targets,
			   FIT_LIST("-targets", xarena_printf(f->arena, "-%zu", tasks),
				    targets->words[1]));
	if (!fit_find_option(f, "blockperrank") && !fit_has_option(f, amounts))
		fit_add(f, targets, FIT_LIST("-blockperrank", "1m"));
}

/* -C, -Z, -X and -Q: a task reads what another one wrote. `reorders`: it can. */
static void fit_reorder(struct fitting *f, const struct group *targets, bool reorders)
{
	struct group *next = fit_find_special(f, "@next"), *any = fit_find_special(f, "@any"),
		     *seed = fit_find_special(f, "@seed"),
		     *distance = fit_find_special(f, "@distance");
	struct group *all[] = { next, any, seed, distance };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i])
			all[i]->gone = true;
	}
	if (!reorders || (!next && !any))
		return;
	if (any && seed)
		fit_add(f, targets, FIT_LIST("-reorder", "random", seed->words[1]));
	else if (any)
		fit_add(f, targets, FIT_LIST("-reorder", "random"));
	else if (distance)
		fit_add(f, targets, FIT_LIST("-reorder", distance->words[1]));
	else
		fit_add(f, targets, FIT_LIST("-reorder"));
}

static void fit_ior(struct fitting *f, struct group *targets)
{
	struct group *own = fit_find_special(f, "@perfile"), *count, *block, *segments;
	const size_t tasks = tasks_of(f, &count);
	const bool reads = fit_phases(f, targets);

	if (!tasks) {
		fit_refuse(f, "-N of IOR must be a number of tasks");
		return;
	}
	if (!fit_has_option(f, sizes))
		fit_add(f, targets, FIT_LIST("-bs", "256k"));
	block = fit_find_given(f, "blockperrank");
	segments = fit_find_option(f, "segments");
	if (own) {
		own->gone = true;
		fit_own_amount(f, block, segments, targets);
		fit_own_files(f, targets, tasks);
	} else {
		fit_shared_file(f, targets, tasks);
	}
	fit_reorder(f, targets, reads && !own && (tasks > 1 || fit_has_option(f, ranks)));
}

/* ---- elbencho ---- */

static bool is_directory(const char *name)
{
	struct stat st;

	return stat(name, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Threads share a file; in a directory that is written each has its own. */
static void fit_elbencho(struct fitting *f, struct group *targets)
{
	const struct option *target = option_find(f->table, "target");
	struct group *count, *read = find_op(f, "read"), *size = fit_find_option(f, "bytes");
	const struct group *write = find_op(f, "write");
	const size_t n = tasks_of(f, &count);
	const char *name = targets->words[1];
	size_t n_paths = 0, parts;

	if (write && read)
		fit_become(f, read, FIT_LIST("-readback"));
	for (size_t i = 0; i < f->n; i++)
		n_paths += !f->groups[i].gone && f->groups[i].opt == target;
	if (n_paths == 1 && write && n && is_directory(name)) {
		fit_become(f, targets,
			   FIT_LIST("-targets", count_text(f, n),
				    foreign_numbered(f->arena, name, strlen(name), "/f%03d")));
		return;
	}
	if (!count || n == 1)
		return;
	parts = n_paths == 1 && !is_directory(name) ?
			divide(f, targets, size ? size->words[1] : NULL, n) :
			0;
	if (parts && size)
		fit_become(f, size, FIT_LIST("-bytes", share(f, size->words[1], 1, parts)));
	if (!parts)
		fit_lose(f, count);
}

/* ---- sgpdd-survey ---- */

/* Size, in MiB, and threads count all regions of a device. */
static void fit_survey(struct fitting *f, struct group *targets)
{
	struct group *count, *size = fit_find_option(f, "mbytes"),
			     *threads = fit_find_given(f, "queuedepth");
	const size_t regions = tasks_of(f, &count), names = targets->n == 2 ? 1 : targets->n - 2;
	const size_t depth = threads ? number_of(threads->words[1]) : regions;
	const uint64_t bytes = size ? (uint64_t)number_of(size->words[1]) << 20 : 0;

	if (regions < 2)
		return;
	if (depth % regions || !divide(f, targets, NULL, regions * names)) {
		fit_refuse(f, "thrhi must be a multiple of crghi");
		return;
	}
	if (threads)
		fit_become(f, threads, FIT_LIST("-queuedepth", count_text(f, depth / regions)));
	if (size)
		fit_become(f, size, FIT_LIST("-bytes", share(f, bytes_text(f, bytes), 1, regions)));
}

/* ---- fio ---- */

/* The words of a random direction of fio. */
static bool is_random_once(const struct group *g)
{
	return !g->gone && g->part->tool == &foreign_fio && g->n == 3 &&
	       strcmp(g->words[0], "-seek") == 0 && strcmp(g->words[2], "once") == 0;
}

static bool has_option(const struct fitting *f, enum fio_option option)
{
	for (size_t i = 0; i < f->n_parts; i++) {
		const struct foreign_part *part = &f->parts[i];

		if (part->row && part->tool == &foreign_fio && part->row->option == option)
			return true;
	}
	return false;
}

/* fio visits each block once where requests have one size, and no other distribution is named. */
static void fit_random(struct fitting *f)
{
	const struct group *size = fit_find_option(f, "reqsize");
	const bool is_mix = size && size->n > 1 && strcmp(size->words[1], "mix") == 0;
	bool zipf = false;

	for (size_t i = 0; i < f->n; i++) {
		const struct group *g = &f->groups[i];

		zipf |= !g->gone && g->n > 1 && strcmp(g->words[0], "-seek") == 0 &&
			strcmp(g->words[1], "zipf") == 0;
	}
	for (size_t i = 0; i < f->n; i++) {
		struct group *g = &f->groups[i];

		if (!is_random_once(g))
			continue;
		g->gone = zipf;
		if (!zipf && (is_mix || has_option(f, FIO_NORANDOMMAP)))
			fit_become(f, g, FIT_LIST("-seek", "random"));
	}
}

/* Without a size fio goes over all of a file. xdd reads all of it, and writes nothing unasked. */
static void fit_fio(struct fitting *f, struct group *targets)
{
	fit_random(f);
	if (fit_has_option(f, directions) && !find_op(f, "read") && !fit_has_option(f, limits) &&
	    !fit_has_option(f, amounts))
		fit_add(f, targets, FIT_LIST("-bytes", "100%"));
}

/* ---- all ---- */

/* The file that IOR has without -o, where the words clearly belong to a test. */
static void fit_default_file(struct fitting *f)
{
	static const char *const targets[] = { "target", "targets", NULL };

	if (!has_word(f, &foreign_ior, "t") || !has_word(f, &foreign_ior, "b") ||
	    has_word(f, &foreign_ior, "f") || fit_has_option(f, targets))
		return;
	for (size_t i = 0; i < f->n; i++) {
		if (f->groups[i].part->tool == &foreign_ior) {
			fit_add(f, &f->groups[i], FIT_LIST("-target", "testFile"));
			return;
		}
	}
}

/* Words of xdisk and IOR beside targets in the words of xdd. */
static void fit_left(struct fitting *f)
{
	struct group *create = fit_find_special(f, "@create"), *once,
		     *list = fit_find_option(f, "targets");

	for (size_t i = 0; i < f->n; i++) {
		if (f->groups[i].n == 3 && strcmp(f->groups[i].words[1], "<n>") == 0)
			fit_refuse(f, "there are two lists of files");
	}
	if (create)
		fit_become(f, create, FIT_LIST("-bytes", create->words[1]));
	while ((once = fit_find_special(f, "@once")))
		once->gone = true;
	fit_lose(f, fit_find_special(f, "@perfile"));
	if (f->n)
		fit_reorder(f, list ? list : f->groups, list);
}

void fit_tasks(struct fitting *f)
{
	static const struct {
		const struct foreign_tool *tool;
		void (*fit)(struct fitting *f, struct group *targets);
	} rows[] = {
		{ &foreign_xdisk, fit_xdisk },	     { &foreign_ior, fit_ior },
		{ &foreign_elbencho, fit_elbencho }, { &foreign_sgpdd_survey, fit_survey },
		{ &foreign_fio, fit_fio },
	};

	fit_default_file(f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct group *targets = targets_of(f, rows[i].tool);

		if (targets)
			rows[i].fit(f, targets);
	}
	fit_left(f);
}
