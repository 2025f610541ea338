/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups of jobs to commands of xdd: one run for each group, a write of the files that it reads
 * before it, and a read that verifies after it; and the words of each, as few as say it.
 */
#include "plan/fio.h"

#include <stdlib.h>
#include <string.h>

#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/plan/plan.h"

/* ---- words of a command ---- */

static void put_targets(struct fio_map *m, FILE *out, const struct fio_target *t, size_t n)
{
	bool one = true;

	for (size_t i = 1; i < n; i++)
		one = one && strcmp(t[i].path, t[0].path) == 0;
	/*
	 * In the one name of -target, %r stands for a number, commas separate names, and the other
	 * characters make a pattern of files.
	 */
	if (n == 1 && !strpbrk(t[0].path, "%," TARGET_PATTERN))
		fputs(" -target", out);
	else
		fprintf(out, " -targets %s%zu", one ? "-" : "", n);
	for (size_t i = 0; i < (one ? 1 : n); i++) {
		const char *path = xneed(quote_word(m->file->arena, t[i].path));

		fprintf(out, " %s", path);
	}
}

static bool same(const struct fio_words *a, const struct fio_words *b)
{
	if (!a->option || !b->option)
		return a->option == b->option;
	return strcmp(a->option, b->option) == 0 && strcmp(a->args, b->args) == 0;
}

/* The targets from `i` on that have the same words in the slot. */
static size_t run_of(const struct fio_target *t, size_t n, size_t i, enum fio_slot slot)
{
	size_t end = i + 1;

	while (end < n && same(&t[end].slot[slot], &t[i].slot[slot]))
		end++;
	return end - i;
}

static void put_words(FILE *out, const struct fio_words *w, size_t first, size_t n)
{
	fprintf(out, " %s", w->option);
	if (n == 1)
		fprintf(out, " target %zu", first);
	else if (n)
		fprintf(out, " target %zu-%zu", first, first + n - 1);
	if (*w->args)
		fprintf(out, " %s", w->args);
}

/* A general setting for all, where all have one, and then those that differ from it. */
static void put_slot(FILE *out, const struct fio_target *t, size_t n, enum fio_slot slot)
{
	const struct fio_words *general = &t[0].slot[slot];

	for (size_t i = 0; i < n; i++) {
		if (!t[i].slot[slot].option)
			general = NULL;
	}
	if (general)
		put_words(out, general, 0, 0);
	for (size_t i = 0; i < n;) {
		const struct fio_words *w = &t[i].slot[slot];
		size_t length = run_of(t, n, i, slot);

		if (w->option && (!general || !same(w, general)))
			put_words(out, w, i, length);
		i += length;
	}
}

static void put_names(const struct fio_map *m, FILE *out)
{
	const char *between = ": ";

	for (const struct fio_job *j = m->group->jobs; j; j = j->next) {
		uint64_t clones = fio_number(j, FIO_NUMJOBS, 1);

		fprintf(out, "%s%s", between, j->name);
		if (clones > 1)
			fprintf(out, " (%llu)", (unsigned long long)clones);
		between = ", ";
	}
}

static void put_title(struct fio_map *m, enum fio_stage stage, struct fio_command *c)
{
	static const char *const what[] = {
		[FIO_LAYOUT] = ", before it: the files that it reads",
		[FIO_RUN] = "",
		[FIO_READ_BACK] = ", after it: what was written is verified",
	};
	struct memstream s;

	xmemstream_open(&s);
	fprintf(s.f, "group %u of %u%s", m->number, m->groups, what[stage]);
	if (stage == FIO_RUN)
		put_names(m, s.f);
	c->title = xarena_strdup(m->file->arena, xmemstream_close(&s));
	free(s.text);
}

/* The words of the command. */
static const char *make_line(struct fio_map *m, const struct fio_target *targets, size_t n,
			     const char *general)
{
	const char *line;
	struct memstream s;

	fputs("xdd", xmemstream_open(&s));
	put_slot(s.f, targets, n, SLOT_OP);
	put_targets(m, s.f, targets, n);
	for (enum fio_slot slot = SLOT_OP + 1; slot < SLOTS; slot++)
		put_slot(s.f, targets, n, slot);
	fputs(general, s.f);
	if (m->file->report)
		fprintf(s.f, " -report %s", m->file->report);
	line = xarena_strdup(m->file->arena, xmemstream_close(&s));
	free(s.text);
	return line;
}

/*
 * The command with the null device for files that commands before it write, without the options
 * that the null device does not have.
 */
static const char *make_check(struct fio_map *m, const struct fio_target *targets, size_t n,
			      const char *general)
{
	static const enum fio_slot of_files[] = { SLOT_ENGINE,	    SLOT_VERIFY,
						  SLOT_PREALLOCATE, SLOT_PRETRUNCATE,
						  SLOT_DROPCACHE,   SLOT_DELETE };
	struct fio_target *copy = xarena_alloc(m->file->arena, n * sizeof(*copy));

	memcpy(copy, targets, n * sizeof(*copy));
	for (size_t i = 0; i < n; i++) {
		if (!copy[i].made)
			continue;
		copy[i].path = "null";
		for (size_t k = 0; k < sizeof(of_files) / sizeof(of_files[0]); k++)
			copy[i].slot[of_files[k]] = (struct fio_words){ NULL, NULL };
	}
	return make_line(m, copy, n, general);
}

static void fio_add_command(struct fio_map *m, enum fio_stage stage,
			    const struct fio_target *targets, size_t n, const char *general)
{
	struct fio_command *c = xarena_alloc(m->file->arena, sizeof(*c));

	c->stage = stage;
	c->line = make_line(m, targets, n, general);
	c->check = make_check(m, targets, n, general);
	*m->group->commands_end = c;
	m->group->commands_end = &c->next;
	put_title(m, stage, c);
}

#define LOG_INTERVAL_MS 1000 /* where fio would log each operation */
#define LOG_INTERVAL_MAX_MS 86400000
#define PERCENTILES_MAX 20  /* of fio */
#define PERCENTILE_DIGITS 6 /* after the point, of xdd */

static bool any(const struct fio_group *g, enum fio_option option)
{
	for (const struct fio_job *j = g->jobs; j; j = j->next) {
		if (fio_number(j, option, 0))
			return true;
	}
	return false;
}

/* The number that an option has in each job of the group; 0 where they differ. */
static uint64_t common(const struct fio_group *g, enum fio_option option, uint64_t otherwise)
{
	uint64_t n = fio_number(g->jobs, option, otherwise);

	for (const struct fio_job *j = g->jobs; j; j = j->next) {
		if (fio_number(j, option, otherwise) != n)
			return 0;
	}
	return n;
}

/* ---- options of the whole run ---- */

/* Percentages with colons between them, as fio and -latency percentiles accept them. */
static bool are_percentiles(const char *list)
{
	for (unsigned n = 1; n <= PERCENTILES_MAX; n++) {
		size_t len = strcspn(list, ":,"), point = strcspn(list, ".:,");
		char item[16];
		double percent;

		if (len >= sizeof(item) || len > point + 1 + PERCENTILE_DIGITS)
			return false;
		memcpy(item, list, len);
		item[len] = '\0';
		if (units_parse_real(item, &percent) || percent <= 0 || percent > 100)
			return false;
		list += len;
		if (!*list++)
			return true;
	}
	return false;
}

static void put_latency(struct fio_map *m, FILE *out)
{
	static const enum fio_option logs[] = { FIO_WRITE_LAT_LOG, FIO_WRITE_BW_LOG,
						FIO_WRITE_IOPS_LOG };
	const struct fio_job *percentiles = NULL, *log = NULL;
	const char *list = "50,90,95,99,99.9,99.99", *prefix = NULL;
	char time[FIO_SIZE_SIZE];
	uint64_t ms;

	for (const struct fio_job *j = m->group->jobs; j; j = j->next) {
		if (fio_number(j, FIO_CLAT_PERCENTILES, 0) ||
		    fio_number(j, FIO_LAT_PERCENTILES, 0) || fio_is_set(j, FIO_PERCENTILE_LIST))
			percentiles = j;
		for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++) {
			if (!log && fio_is_set(j, logs[i])) {
				log = j;
				prefix = fio_text(j, logs[i], NULL);
			}
		}
	}
	if (percentiles && fio_is_set(percentiles, FIO_PERCENTILE_LIST)) {
		list = fio_text(percentiles, FIO_PERCENTILE_LIST, "");
		if (!are_percentiles(list)) {
			fio_leave(m, percentiles, FIO_PERCENTILE_LIST,
				  "expected up to 20 percentages above 0 and up to 100, "
				  "with colons between them");
			percentiles = NULL;
		}
	}
	if (percentiles) {
		fputs(" -latency percentiles ", out);
		for (; *list; list++)
			fputc(*list == ':' ? ',' : *list, out);
	}
	if (!log)
		return;
	ms = fio_number(log, FIO_LOG_AVG_MSEC, 0);
	if (!ms || ms > LOG_INTERVAL_MAX_MS)
		ms = LOG_INTERVAL_MS;
	prefix = xarena_printf(m->file->arena, "%s.csv", prefix ? prefix : log->name);
	prefix = xneed(quote_word(m->file->arena, prefix));
	fprintf(out, " -intervals %s output %s", fio_time_text(ms * NS_PER_MS, time), prefix);
	fio_note(m, log,
		 "one file has the rates and latencies of each interval; -ts dump has each "
		 "operation");
}

static void put_exitall(struct fio_map *m, FILE *out)
{
	if (!any(m->group, FIO_EXITALL))
		return;
	if (m->n_targets > 1)
		fputs(" -stonewall", out);
	for (const struct fio_job *j = m->group->jobs; j && m->n_targets <= 1; j = j->next)
		fio_leave(m, j, FIO_EXITALL, "there is no other target");
}

static void put_general(struct fio_map *m, FILE *out)
{
	char time[FIO_SIZE_SIZE];

	if (m->passes > 1)
		fprintf(out, " -passes %llu", (unsigned long long)m->passes);
	if (m->runtime_ns)
		fprintf(out, " -runtime %s", fio_time_text(m->runtime_ns, time));
	if (any(m->group, FIO_EXITALL_ON_ERROR))
		fputs(" -stoponerror", out);
	if (m->reads_back)
		fputs(" -readback", out);
	put_exitall(m, out);
	put_latency(m, out);
}

/* ---- the commands of a group ---- */

/* One pass for each loop, where all jobs have as many. */
static void plan_passes(struct fio_map *m)
{
	bool timed = any(m->group, FIO_TIME_BASED);

	m->passes = timed ? 1 : common(m->group, FIO_LOOPS, 1);
	if (m->passes > 1000000000)
		m->passes = 1000000000;
	m->runtime_ns = m->passes > 1 ? common(m->group, FIO_RUNTIME, 0) : 0;
}

static bool shares_path(const struct fio_map *m, size_t i)
{
	for (size_t k = 0; k < m->n_targets; k++) {
		if (k != i && strcmp(m->targets[k].path, m->targets[i].path) == 0)
			return true;
	}
	return false;
}

/* Tags name their target and are whole sectors; otherwise data that depends on the offset only. */
static void settle_pattern(struct fio_map *m, size_t i)
{
	struct fio_target *t = &m->targets[i];

	if (!t->verifies || strcmp(t->slot[SLOT_PATTERN].args, "tagged") != 0)
		return;
	if (t->end_bytes % 512 == 0 && !t->slot[SLOT_BLOCKSIZE].option && !shares_path(m, i))
		return;
	fio_put(m, t, SLOT_PATTERN, "-datapattern", "random");
}

/* A target that reads back has the offsets of the same number only. */
static int settle_read_back(struct fio_map *m)
{
	bool all = true, timed = m->runtime_ns;

	for (size_t i = 0; i < m->n_targets; i++) {
		all = all && m->targets[i].verify_after && !m->targets[i].only_time;
		timed = timed || m->targets[i].slot[SLOT_TIMELIMIT].option;
	}
	timed = timed || (any(m->group, FIO_EXITALL) && m->n_targets > 1);
	m->reads_back = all && timed && !any(m->group, FIO_EXITALL);
	for (size_t i = 0; i < m->n_targets; i++) {
		struct fio_target *t = &m->targets[i];
		int err = 0;

		settle_pattern(m, i);
		/* Of a run that time ends, only -readback knows what was written. */
		if (t->verify_after &&
		    (m->reads_back || timed || (!all && t->random && !t->whole))) {
			t->verify_after = false;
			if (!m->reads_back)
				err = fio_refuse(
					m, t->job, FIO_VERIFY, "%s",
					timed ? "xdd reads back what was written before time "
						"ended it once, where all jobs of the group are "
						"verified" :
						"xdd does not read back a part of random "
						"writes beside jobs that are not verified");
		}
		if (err)
			return err;
	}
	return 0;
}

static void clear(struct fio_target *t, enum fio_slot slot)
{
	t->slot[slot] = (struct fio_words){ NULL, NULL };
}

static void add_read_back(struct fio_map *m)
{
	static const enum fio_slot of_writes[] = { SLOT_TIMELIMIT,   SLOT_THROTTLE,
						   SLOT_FLUSHWRITE,  SLOT_FLUSHBETWEEN,
						   SLOT_SYNCWRITE,   SLOT_STARTDELAY,
						   SLOT_PREALLOCATE, SLOT_WARMUP,
						   SLOT_PRETRUNCATE };
	struct fio_target *all = xarena_alloc(m->file->arena, m->n_targets * sizeof(*all));
	char size[FIO_SIZE_SIZE];
	size_t n = 0;

	for (size_t i = 0; i < m->n_targets; i++) {
		struct fio_target *t = &all[n];

		if (!m->targets[i].verify_after)
			continue;
		*t = m->targets[i];
		t->made = true;
		clear(&m->targets[i], SLOT_DELETE);
		for (size_t k = 0; k < sizeof(of_writes) / sizeof(of_writes[0]); k++)
			clear(t, of_writes[k]);
		fio_put(m, t, SLOT_OP, "-op", "read");
		if (t->lap_bytes)
			fio_put(m, t, SLOT_AMOUNT, "-bytes", "%s",
				fio_size_text(t->lap_bytes, size));
		fio_put(m, t, SLOT_VERIFY, "-verify", "contents");
		if (!t->slot[SLOT_DIO].option)
			fio_put(m, t, SLOT_DROPCACHE, "-dropcache", "%s", "");
		n++;
	}
	m->read_back = all;
	m->n_read_back = n;
}

/* The write of a file that is read before it is large enough; as in fio, of all of it. */
static void lay_out(struct fio_map *m, const struct fio_target *t, struct fio_target *out,
		    struct fio_known *k)
{
	uint64_t end = t->layout_bytes;
	char size[FIO_SIZE_SIZE];

	*out = (struct fio_target){ .path = t->path };
	/* Tagged data has whole sectors. */
	end += (512 - end % 512) % 512;
	fio_put(m, out, SLOT_OP, "-op", "write");
	fio_put(m, out, SLOT_REQSIZE, "-reqsize", "1M");
	fio_put(m, out, SLOT_AMOUNT, "-bytes", "%s", fio_size_text(end, size));
	fio_put(m, out, SLOT_SYNCWRITE, "-syncwrite", "%s", "");
	if (t->verifies)
		out->slot[SLOT_PATTERN] = t->slot[SLOT_PATTERN];
	else if (!t->plain)
		out->slot[SLOT_PATTERN] = t->data;
	k->bytes = end;
	k->exists = true;
	k->changed = true;
}

/* The target that needs the most of the file of target `i`, if `i` is its first. */
static const struct fio_target *most_of(const struct fio_map *m, size_t i)
{
	const struct fio_target *most = &m->targets[i];

	for (size_t k = 0; k < m->n_targets; k++) {
		const struct fio_target *t = &m->targets[k];

		if (strcmp(t->path, most->path) != 0)
			continue;
		if (k < i)
			return NULL;
		if (t->layout_bytes > most->layout_bytes)
			most = t;
	}
	return most;
}

static void add_layout(struct fio_map *m)
{
	struct fio_target *files = xarena_alloc(m->file->arena, m->n_targets * sizeof(*files));
	size_t n = 0;

	for (size_t i = 0; i < m->n_targets; i++) {
		const struct fio_target *t = most_of(m, i);
		struct fio_known *k = t ? fio_known(m, t->path) : NULL;

		if (!t || !t->layout_bytes)
			continue;
		if (k->is_file && k->bytes < t->layout_bytes)
			lay_out(m, t, &files[n++], k);
	}
	if (n)
		fio_add_command(m, FIO_LAYOUT, files, n, "");
}

/* Read files into the page cache, whole and each once. */
static void add_pre_read(struct fio_map *m)
{
	struct fio_target *files = xarena_alloc(m->file->arena, m->n_targets * sizeof(*files));
	char size[FIO_SIZE_SIZE];
	size_t n = 0;

	for (size_t i = 0; i < m->n_targets; i++) {
		const struct fio_target *t = &m->targets[i];
		const struct fio_known *k = fio_known(m, t->path);
		bool again = false;

		for (size_t f = 0; f < n; f++)
			again |= strcmp(files[f].path, t->path) == 0;
		if (!t->pre_read || again)
			continue;
		files[n] = (struct fio_target){ .path = t->path, .made = k && k->changed };
		fio_put(m, &files[n], SLOT_OP, "-op", "read");
		fio_put(m, &files[n], SLOT_REQSIZE, "-reqsize", "1M");
		if (k && k->bytes)
			fio_put(m, &files[n], SLOT_AMOUNT, "-bytes", "%s",
				fio_size_text(k->bytes, size));
		n++;
	}
	if (n)
		fio_add_command(m, FIO_LAYOUT, files, n, "");
}

/* The files as the next group finds them. */
static void remember(struct fio_map *m)
{
	for (size_t i = 0; i < m->n_targets; i++) {
		struct fio_known *k = fio_known(m, m->targets[i].path);

		if (!k->is_file || !m->targets[i].writes)
			continue;
		if (m->targets[i].end_bytes > k->bytes)
			k->bytes = m->targets[i].end_bytes;
		k->exists = true;
		k->changed = true;
	}
	for (size_t i = 0; i < m->n_targets; i++) {
		struct fio_known *k = fio_known(m, m->targets[i].path);

		if (k && m->targets[i].removes && k->is_file) {
			k->exists = false;
			k->changed = true;
			k->bytes = 0;
		}
	}
}

/* fallocate=none and keep leave a file as large as what is written. */
static bool gives_size(const struct fio_job *j)
{
	const char *how = fio_text(j, FIO_FALLOCATE, "native");

	return strcmp(how, "none") != 0 && strcmp(how, "0") != 0 && strcmp(how, "keep") != 0;
}

/* fio removes a smaller file before it writes a part of it; xdd keeps what it has. */
static int refuse_smaller(struct fio_map *m, const struct fio_target *t, const struct fio_known *k)
{
	if (!t->writes || t->layout_bytes || !k->is_file || !k->bytes || k->bytes >= t->end_bytes)
		return 0;
	return fio_refuse(m, t->job, FIO_SIZE,
			  "%.200s is smaller, and fio removes it before it writes a part of it",
			  k->path);
}

/*
 * Files that jobs write in part have their whole size from the start. All writers of a file name
 * the largest, so that none cuts off the data of another.
 */
static int settle_sizes(struct fio_map *m)
{
	char size[FIO_SIZE_SIZE];
	int err = 0;

	for (size_t i = 0; !err && i < m->n_targets; i++) {
		const struct fio_known *k = fio_known(m, m->targets[i].path);
		uint64_t end = 0;
		bool part = false, replaced = false;

		for (size_t n = 0; n < m->n_targets; n++) {
			const struct fio_target *t = &m->targets[n];

			if (strcmp(t->path, k->path) != 0)
				continue;
			end = t->end_bytes > end ? t->end_bytes : end;
			part |= t->writes && !t->layout_bytes && !t->whole && gives_size(t->job);
			replaced |= t->whole && !t->start_bytes && t->end_bytes >= k->bytes;
		}
		if (!replaced)
			err = refuse_smaller(m, &m->targets[i], k);
		if (!err && part && m->targets[i].writes && k->is_file && k->bytes < end)
			fio_put(m, &m->targets[i], SLOT_PRETRUNCATE, "-pretruncate", "%s",
				fio_size_text(end, size));
	}
	return err;
}

static int add_commands(struct fio_map *m)
{
	struct memstream s;
	int err = settle_read_back(m);

	if (!err)
		err = settle_sizes(m);
	if (err)
		return err;
	add_layout(m);
	add_pre_read(m);
	for (size_t i = 0; i < m->n_targets; i++) {
		const struct fio_known *k = fio_known(m, m->targets[i].path);

		m->targets[i].removes = m->targets[i].slot[SLOT_DELETE].option;
		m->targets[i].made = k && k->changed;
	}
	add_read_back(m);
	if (any(m->group, FIO_CREATE_ONLY))
		return 0;
	put_general(m, xmemstream_open(&s));
	xmemstream_close(&s);
	fio_add_command(m, FIO_RUN, m->targets, m->n_targets, s.text);
	free(s.text);
	if (m->n_read_back)
		fio_add_command(m, FIO_READ_BACK, m->read_back, m->n_read_back, "");
	remember(m);
	return 0;
}

static int map_group(struct fio_map *m, struct fio_group *g)
{
	int err = 0;

	m->group = g;
	m->n_targets = 0;
	free(m->targets);
	m->targets = NULL;
	m->number++;
	plan_passes(m);
	for (const struct fio_job *j = g->jobs; !err && j; j = j->next)
		err = fio_map_job(m, j);
	return err || !m->n_targets ? err : add_commands(m);
}

int fio_map(struct fio_file *f, struct fio_group **groups)
{
	struct fio_map m = { .file = f };
	int err = fio_jobs(f, groups);

	for (const struct fio_group *g = err ? NULL : *groups; g; g = g->next)
		m.groups++;
	for (struct fio_group *g = err ? NULL : *groups; !err && g; g = g->next)
		err = map_group(&m, g);
	free(m.targets);
	return err;
}
