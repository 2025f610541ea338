/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The amount, offsets and rate of a target, from sizes, times and rates of fio. Called by the
 * mapper.
 */
#include "plan/fio.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/arith.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/plan/mix.h"

#define BLOCK_DEFAULT 1024u /* of xdd */
#define SECTOR_BYTES 512u   /* the block of requests that are no multiple of the default */
#define BLOCK_MAX (1u << 30)
#define BLOCKS_MAX 2097152u   /* of a request */
#define REQUEST_DEFAULT 4096u /* of fio */
#define OFFSET_MAX ((uint64_t)INT64_MAX)
#define TIME_MAX_NS (365ull * 86400 * NS_PER_SEC)

/* The part of a file that a job uses. Bytes; 0 where it is not known. */
struct extent {
	uint64_t offset;
	uint64_t region;
	uint64_t amount;  /* of a loop */
	uint64_t unit;	  /* the least size of all directions */
	uint64_t request; /* sizes and offsets are multiples of it; without a mix the size */
	uint64_t largest; /* of a mix; otherwise the same */
	uint64_t cycle;	  /* bytes of a cycle of a mix; otherwise the same */
	double mean;	  /* the mean size */
	const char *mix;  /* the words of -reqsize; NULL: one size */
};

/* ---- the operation ---- */

static void leave_mix(struct fio_map *m, const struct fio_job *j)
{
	fio_leave(m, j, FIO_RWMIXREAD, "is for rw and randrw");
	fio_leave(m, j, FIO_RWMIXWRITE, "is for rw and randrw");
}

/* The percentage of reads in a mix. */
static uint64_t reads_of(const struct fio_job *j)
{
	if (fio_is_set(j, FIO_RWMIXWRITE))
		return 100 - fio_number(j, FIO_RWMIXWRITE, 50);
	return fio_number(j, FIO_RWMIXREAD, 50);
}

/* Reads and writes each have a sequence of offsets. */
static bool has_streams(const struct fio_target *t)
{
	return t->reads && t->writes && !t->random;
}

int fio_map_mix(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	const uint64_t reads = reads_of(j);

	if (!t->reads || !t->writes) {
		leave_mix(m, j);
		return 0;
	}
	if (reads > 100)
		return fio_fail_job(m, j, "expected rwmixread and rwmixwrite from 0 to 100");
	t->reads = reads > 0;
	t->writes = reads < 100;
	if (!has_streams(t) || !t->stride)
		return 0;
	t->stride = 0;
	return fio_refuse(m, j, FIO_RW, "reads and writes in sequence have no gaps in xdd");
}

static void map_operation(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	if (!t->reads || !t->writes) {
		fio_put(m, t, SLOT_OP, "-op", "%s",
			t->discards ? "discard" :
			t->reads    ? "read" :
				      "write");
		return;
	}
	fio_put(m, t, SLOT_OP, "-rwratio", has_streams(t) ? "%u" : "%u random",
		(unsigned)reads_of(j));
}

/* ---- requests ---- */

/* The words of -reqsize, and what is known of the sizes. */
static void put_splits(struct fio_map *m, const struct fio_split *list, int n, struct extent *e)
{
	const char *words = fio_splits_text(m->file->arena, list, n);
	uint64_t weights = 0;

	e->request = 0;
	for (int i = 0; i < n; i++) {
		e->request = gcd(e->request, list[i].bytes);
		e->cycle += list[i].percent * list[i].bytes;
		weights += list[i].percent;
	}
	words = xarena_printf(m->file->arena, "mix %s", words);
	e->unit = list[0].bytes;
	e->largest = list[n - 1].bytes;
	e->mean = (double)e->cycle / (double)weights;
	e->mix = n > 1 ? words : NULL;
}

/* A size of "4k-64k". Returns what follows it; NULL: it is none. */
static const char *range_part(const struct fio_job *j, const char *text, uint64_t *bytes)
{
	const size_t n = strcspn(text, "-/:,");
	char word[32];

	snprintf(word, sizeof(word), "%.*s", (int)(n < 31 ? n : 31), text);
	return fio_parse_bytes(word, (unsigned)fio_number(j, FIO_KB_BASE, 1024), bytes) || !*bytes ?
		       NULL :
		       text + n;
}

/*
 * The sizes of bsrange, multiples of the least, are as likely as each other. With one range only,
 * or the one of the direction.
 */
static int map_range(struct fio_map *m, const struct fio_job *j, const struct fio_target *t,
		     struct extent *e)
{
	const char *text = fio_text(j, FIO_BSRANGE, ""), *comma = strchr(text, ','), *end;
	struct fio_split list[MIX_MAX_SIZES];
	uint64_t least, most;

	if (comma && !t->reads)
		text = comma + 1;
	end = range_part(j, text, &least);
	end = end && *end && *end != ',' ? range_part(j, end + 1, &most) : NULL;
	if (!end || (*end && *end != ',') || most < least)
		return fio_fail(m->file, j->section->path, j->v[FIO_BSRANGE].setting->line,
				"%s=%.60s: expected sizes, such as 4k-64k",
				j->v[FIO_BSRANGE].setting->name, j->v[FIO_BSRANGE].setting->value);
	if (most % least || most / least > MIX_MAX_SIZES || (comma && t->reads && t->writes))
		return fio_refuse(m, j, FIO_BSRANGE,
				  "xdd has one range for reads and writes, of %d multiples of its "
				  "least size at most",
				  MIX_MAX_SIZES);
	for (uint64_t i = 0; i < most / least; i++)
		list[i] = (struct fio_split){ .bytes = (i + 1) * least, .percent = 1 };
	put_splits(m, list, (int)(most / least), e);
	return 0;
}

/* The sizes of the target's direction; sizes of reads precede a comma. "": none. */
static const char *split_of(const struct fio_job *j, const struct fio_target *t)
{
	const char *text = fio_text(j, FIO_BSSPLIT, ""), *comma = strchr(text, ',');

	if (comma && comma[1] && comma[1] != ',' && !t->reads)
		text = comma + 1;
	return *text == ',' ? "" : text;
}

static int map_split(struct fio_map *m, const struct fio_job *j, const struct fio_target *t,
		     struct extent *e)
{
	const char *text = split_of(j, t);
	struct fio_split list[MIX_MAX_SIZES];
	int n;

	n = fio_parse_splits(text, (unsigned)fio_number(j, FIO_KB_BASE, 1024), list);
	if (n < 0)
		return fio_fail(m->file, j->section->path, j->v[FIO_BSSPLIT].setting->line,
				"bssplit=%.60s: expected up to %d sizes with percentages, such as "
				"4k/60:64k/40",
				text, MIX_MAX_SIZES);
	if (strchr(text, ',') && t->reads && t->writes)
		return fio_refuse(m, j, FIO_BSSPLIT,
				  "reads and writes of a target have the same sizes");
	put_splits(m, list, n, e);
	return 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int map_request(struct fio_map *m, const struct fio_job *j, const struct fio_target *t,
		       struct extent *e)
{
	const struct fio_value *bs = &j->v[FIO_BS];
	uint64_t read = bs->n ? bs->n : REQUEST_DEFAULT;
	uint64_t write = bs->write ? bs->write : REQUEST_DEFAULT;
	uint64_t trim = bs->trim ? bs->trim : REQUEST_DEFAULT;
	char size[32];

	e->unit = least(least(read, write), trim);
	e->request = t->discards ? trim : t->reads ? read : write;
	e->largest = e->cycle = e->request;
	e->mean = (double)e->request;
	if (t->random && e->request > e->unit)
		return fio_refuse(m, j, FIO_BS,
				  "random offsets of xdd are multiples of the size, offsets of fio "
				  "of the least size of all directions");
	if (t->reads && t->writes && read != write)
		return fio_refuse(m, j, FIO_BS,
				  "reads and writes of a target have one size; here %s",
				  units_size_text(read, size, sizeof(size)));
	return 0;
}

/* The block size, where requests and offsets are no multiples of that which xdd takes. */
static int map_blocks(struct fio_map *m, const struct fio_job *j, struct fio_target *t,
		      const struct extent *e)
{
	uint64_t usual = e->request % BLOCK_DEFAULT ? SECTOR_BYTES : BLOCK_DEFAULT;
	uint64_t block = gcd(e->request, e->offset);
	char size[FIO_SIZE_SIZE];

	if (e->largest > FIO_REQUEST_MAX || block > BLOCK_MAX || e->largest / block > BLOCKS_MAX)
		return fio_fail_job(m, j,
				    "has requests that xdd cannot do; they have 2 GiB and 2097152 "
				    "blocks at most");
	if (block % usual)
		fio_put(m, t, SLOT_BLOCKSIZE, "-blocksize", "%llu", (unsigned long long)block);
	fio_put(m, t, SLOT_REQSIZE, "-reqsize", "%s",
		e->mix ? e->mix : fio_size_text(e->request, size));
	return 0;
}

/* ---- sizes and offsets ---- */

/* A setting in bytes; a percentage is one of `of`. */
static uint64_t bytes_of(const struct fio_value *v, uint64_t of)
{
	if (!v->percent)
		return v->n;
	return of / 100 * v->percent + of % 100 * v->percent / 100;
}

/* Down, where up does not fit. */
static uint64_t round_up(uint64_t n, uint64_t unit)
{
	const uint64_t rest = n % unit;
	uint64_t up;

	return rest && !__builtin_add_overflow(n, unit - rest, &up) ? up : n - rest;
}

/* A percentage of a file that is not there yet is one of the size that it gets. */
static uint64_t size_of_file(const struct fio_job *j, const struct fio_known *k)
{
	const struct fio_value *size = &j->v[FIO_SIZE];

	if (k->bytes || !size->setting || size->percent)
		return k->bytes;
	return size->n / fio_files(j);
}

static int map_offset(struct fio_map *m, const struct fio_job *j, const struct fio_known *k,
		      size_t clone, struct extent *e)
{
	static const enum fio_option options[] = { FIO_OFFSET, FIO_OFFSET_INCREMENT };
	const uint64_t align = fio_number(j, FIO_OFFSET_ALIGN, 0);
	uint64_t of[2];

	for (size_t i = 0; i < 2; i++) {
		const struct fio_value *v = &j->v[options[i]];

		of[i] = bytes_of(v, size_of_file(j, k));
		if (v->percent && !of[i]) {
			int err = fio_refuse(m, j, options[i], "the size of %s is not known",
					     k->path);

			if (err)
				return err;
		}
	}
	if (__builtin_mul_overflow(of[1], (uint64_t)clone, &of[1]) ||
	    __builtin_add_overflow(of[0], of[1], &e->offset))
		e->offset = UINT64_MAX;
	/* A percentage is rounded up, to the least request without offset_align. */
	if ((j->v[FIO_OFFSET].percent || j->v[FIO_OFFSET_INCREMENT].percent) &&
	    e->offset <= OFFSET_MAX)
		e->offset = round_up(e->offset, align ? align : e->unit);
	return e->offset > OFFSET_MAX ? fio_fail_job(m, j, "has an offset above 2^63-1") : 0;
}

/* The share of one file in a size of all `files`; the first ones get the rest, in requests. */
static uint64_t share(uint64_t size, size_t files, size_t file, uint64_t request)
{
	uint64_t each = size / files, rest = (size - each * files) / request;

	return file < rest ? each + request : each;
}

/* As share(), of operations: whole requests, which the files of a job do in turn. */
static uint64_t share_of_work(uint64_t bytes, size_t files, size_t file, uint64_t request)
{
	uint64_t ops = bytes / request;

	return (ops / files + (file < ops % files)) * request;
}

/* True if fio visits each block once. */
static bool has_map(const struct fio_job *j, const struct fio_target *t)
{
	return t->random && !fio_number(j, FIO_NORANDOMMAP, 0) &&
	       strcmp(fio_text(j, FIO_RANDOM_DISTRIBUTION, "random"), "random") == 0;
}

static void map_region(const struct fio_job *j, const struct fio_target *t,
		       const struct fio_known *k, size_t files, size_t file, struct extent *e)
{
	const struct fio_value *size = &j->v[FIO_SIZE], *filesize = &j->v[FIO_FILESIZE];
	uint64_t there = k->bytes > e->offset ? k->bytes - e->offset : 0;

	e->region = there;
	if (size->setting)
		e->region = size->percent ? least(bytes_of(size, k->bytes), there) :
					    share(size->n, files, file, e->request);
	/* fio cuts a percentage to whole requests. */
	if (size->percent && size->percent < 100)
		e->region -= e->region % e->unit;
	if (filesize->setting && filesize->n)
		e->region = bytes_of(filesize, there);
	/* A device does not grow. */
	if (!k->is_file && there && e->region > there)
		e->region = there;
	e->amount = e->region;
	/*
	 * In a file that is larger, fio begins requests until it has done as much, but no more than
	 * its map of blocks has.
	 */
	if (!has_map(j, t) && size->setting && !size->percent && e->region % e->request &&
	    (t->random || e->offset + round_up(e->region, e->request) <= k->bytes)) {
		if (!t->random)
			e->region = round_up(e->region, e->request);
		e->amount = share_of_work(round_up(size->n, e->request), files, file, e->request);
	}
	if (filesize->setting && size->setting && !size->percent && size->n &&
	    size->n / files < e->region)
		e->amount = share_of_work(size->n, files, file, e->request);
}

static void map_work(const struct fio_job *j, size_t files, size_t file, struct extent *e)
{
	const struct fio_value *io_size = &j->v[FIO_IO_SIZE];
	uint64_t ops = e->mix ? 0 : fio_number(j, FIO_NUMBER_IOS, 0), most;

	if (io_size->setting && io_size->n)
		/* fio begins requests until it has done as much. */
		e->amount = share_of_work(round_up(io_size->percent ? bytes_of(io_size, e->region) :
								      io_size->n,
						   e->request),
					  files, file, e->request);
	if (!ops || __builtin_mul_overflow(ops, e->largest, &most))
		return;
	most = share_of_work(most, files, file, e->request);
	if (!e->amount || most < e->amount)
		e->amount = most;
}

/* The files of a job take turns, and this one has none. */
static int check_work(struct fio_map *m, const struct fio_job *j, struct extent *e)
{
	if (!e->region || e->amount)
		return 0;
	e->amount = e->region;
	return fio_refuse(m, j, fio_is_set(j, FIO_NUMBER_IOS) ? FIO_NUMBER_IOS : FIO_IO_SIZE,
			  "there are fewer requests than files");
}

static int check_extent(struct fio_map *m, const struct fio_job *j, const struct fio_known *k,
			const struct fio_target *t, const struct extent *e)
{
	if (e->region && e->region < e->largest)
		return fio_fail_job(
			m, j,
			"has requests that are larger than its part of a file; expected "
			"a smaller bs or a larger size");
	if (e->region > OFFSET_MAX - e->offset)
		return fio_fail_job(m, j, "ends above offset 2^63-1");
	if (e->region || e->amount)
		return 0;
	if (strcmp(t->path, "null") == 0)
		return fio_fail_job(m, j, "has no size; expected size=");
	if (k->is_file)
		return fio_fail_job(m, j, "has no size, and %.200s %s; expected size=", k->path,
				    k->exists ? "is empty" : "does not exist");
	fio_note(m, j, "the size of %s is not known here; -bytes has the amount", k->path);
	return 0;
}

/* ---- the options ---- */

static int put_seek(struct fio_map *m, const struct fio_job *j, struct fio_target *t,
		    const struct extent *e, const char *how, bool wraps)
{
	uint64_t range = e->region / e->request * e->request;
	char words[128] = "", size[FIO_SIZE_SIZE];

	if (e->mix && wraps && range < e->cycle)
		return fio_fail_job(
			m, j,
			"has a bssplit whose sizes together, each as often as it has percent, "
			"are more than its part of a file; expected rounder percentages");
	if (t->random)
		snprintf(words, sizeof(words), " %s", how);
	else if (has_streams(t))
		snprintf(words, sizeof(words), " streams");
	else if (t->stride)
		snprintf(words, sizeof(words), " interleave %llu",
			 (unsigned long long)(t->stride / e->request + 1));
	if ((t->random || t->stride || wraps) && range)
		text_add(words, sizeof(words), " range %s", fio_size_text(range, size));
	if (t->random && fio_is_set(j, FIO_RANDSEED))
		text_add(words, sizeof(words), " seed %llu",
			 (unsigned long long)fio_number(j, FIO_RANDSEED, 0));
	if (*words)
		fio_put(m, t, SLOT_SEEK, "-seek", "%s", words + 1);
	return 0;
}

static void map_random(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	if (!t->random) {
		fio_leave(m, j, FIO_RANDSEED, "is for random offsets");
		fio_leave(m, j, FIO_RANDREPEAT, "is for random offsets");
		fio_leave(m, j, FIO_NORANDOMMAP, "is for random offsets");
		return;
	}
	if (fio_number(j, FIO_RANDREPEAT, 1))
		return;
	fio_put(m, t, SLOT_RANDOMIZE, "-randomize", "%s", "");
	fio_note(m, j,
		 "%s=0: each pass has offsets of its own, the same in every run; "
		 "-seek seed <number> chooses others",
		 j->v[FIO_RANDREPEAT].setting->name);
}

/* The exponent of "zipf" or "zipf:1.2"; 0: the text is another one. */
static double zipf_of(const char *text)
{
	char *end = NULL;
	double theta;

	if (strcmp(text, "zipf") == 0)
		return 1.1;
	if (strncmp(text, "zipf:", 5) != 0)
		return 0;
	theta = strtod(text + 5, &end);
	return !*end && theta > 0 && theta <= 10 ? theta : 0;
}

/*
 * The words of -seek for random offsets, into `how`. fio visits each block once, unless
 * norandommap is set or another distribution is named.
 */
static int map_distribution(struct fio_map *m, const struct fio_job *j, const struct fio_target *t,
			    const char **how)
{
	const char *name = fio_text(j, FIO_RANDOM_DISTRIBUTION, "random");

	if (!t->random) {
		fio_leave(m, j, FIO_RANDOM_DISTRIBUTION, "is for random offsets");
		return 0;
	}
	*how = fio_number(j, FIO_NORANDOMMAP, 0) ? "random" : "random once";
	if (strcmp(name, "random") == 0)
		return 0;
	if (!zipf_of(name))
		return fio_refuse(m, j, FIO_RANDOM_DISTRIBUTION,
				  "xdd has uniform offsets and -seek zipf <theta>");
	if (fio_files(j) > 1)
		return fio_refuse(m, j, FIO_RANDOM_DISTRIBUTION,
				  "xdd draws from each file of a job on its own");
	*how = xarena_printf(m->file->arena, "zipf %.9g", zipf_of(name));
	return 0;
}

/*
 * Whole strides of one lap only: fio goes through the same blocks again, xdd through the next. A
 * command line that was typed gets one lap, and its answer says so.
 */
static int check_stride(struct fio_map *m, const struct fio_job *j, struct fio_target *t,
			const struct extent *e, uint64_t *amount, bool only_time)
{
	const uint64_t stride = t->stride, step = stride + e->request;
	const uint64_t lap = stride ? (e->region + step - 1) / step * e->request : 0;

	if (!stride)
		return 0;
	if (!e->mix && stride % e->request == 0 && !e->offset && !only_time && e->region) {
		if (m->file->typed && *amount > lap)
			*amount = lap;
		if (*amount <= lap)
			return 0;
	}
	/* Left out, requests lie side by side. */
	t->stride = 0;
	return fio_refuse(m, j, FIO_RW,
			  "gaps of xdd are whole requests, from the start of a file, and its "
			  "second lap has other blocks; expected an io_size of one lap");
}

/* Where a stream of fio starts over in a file, the file leaves turns to the others. */
static int check_streams(struct fio_map *m, const struct fio_job *j, const struct fio_target *t,
			 const struct extent *e, uint64_t amount, bool only_time)
{
	if (!has_streams(t) || fio_files(j) == 1 || (!only_time && amount <= e->region))
		return 0;
	return fio_refuse(m, j, FIO_RW,
			  "reads and writes in sequence of several files start over together in "
			  "xdd; expected an io_size of one lap");
}

/* The passes of xdd would each have a warm-up, and loops of fio have one together. */
static int map_ramp(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	uint64_t ns = fio_number(j, FIO_RAMP_TIME, 0);
	char time[FIO_SIZE_SIZE];

	if (!ns)
		return 0;
	if (ns > TIME_MAX_NS)
		return fio_fail_job(m, j, "has a ramp_time of more than a year");
	if (m->passes > 1)
		return fio_refuse(m, j, FIO_RAMP_TIME,
				  "-warmup is for each pass, and loops have one together");
	fio_put(m, t, SLOT_WARMUP, "-warmup", "%s", fio_time_text(ns, time));
	return 0;
}

/* Time ends the pass: a limit beside the amount, or the only one. `*only`: there is no amount. */
static int map_time(struct fio_map *m, const struct fio_job *j, struct fio_target *t, bool *only)
{
	uint64_t ns = fio_number(j, FIO_RUNTIME, 0);
	char time[FIO_SIZE_SIZE];
	int err;

	*only = ns && fio_number(j, FIO_TIME_BASED, 0);
	err = map_ramp(m, j, t);
	if (err)
		return err;
	if (!ns) {
		fio_leave(m, j, FIO_TIME_BASED, "has no runtime beside it");
		return 0;
	}
	if (ns > TIME_MAX_NS)
		return fio_fail_job(m, j, "has a runtime of more than a year");
	if (m->runtime_ns)
		return 0;
	if (!*only && m->passes > 1)
		fio_note(m, j, "runtime limits each pass by itself");
	fio_put(m, t, SLOT_TIMELIMIT, "-timelimit", "%s", fio_time_text(ns, time));
	return 0;
}

/* ---- rates ---- */

/*
 * True if the rates of reads and of writes differ in proportion from the mix. xdd has one rate for
 * both directions.
 */
static bool has_two_rates(const struct fio_job *j, const struct fio_target *t,
			  enum fio_option option)
{
	const struct fio_value *v = &j->v[option];
	const double reads = (double)reads_of(j) / 100;

	return v->setting && t->reads && t->writes && v->n && v->write &&
	       fabs((double)v->n / (double)(v->n + v->write) - reads) > 0.005;
}

/* Operations per second of a rate in both directions; 0: none. */
static double rate_of(const struct fio_job *j, const struct fio_target *t, enum fio_option option)
{
	const struct fio_value *v = &j->v[option];
	double reads = (double)v->n, writes = (double)v->write;

	if (!v->setting)
		return 0;
	if (t->discards)
		return (double)v->trim;
	if (!t->reads || !t->writes)
		return t->reads ? reads : writes;
	/* Each direction has its own; the mix holds the other back. */
	return reads + writes;
}

/* The intervals of a rate: `*word` goes after it. */
static int map_intervals(struct fio_map *m, const struct fio_job *j, const char **word)
{
	const char *process = fio_text(j, FIO_RATE_PROCESS, "linear");

	*word = strcmp(process, "poisson") == 0 ? " poisson" : "";
	if (**word || strcmp(process, "linear") == 0)
		return 0;
	return fio_fail_job(m, j, "expected rate_process=linear or poisson");
}

static int map_rate(struct fio_map *m, const struct fio_job *j, struct fio_target *t, size_t files,
		    double request)
{
	char size[FIO_SIZE_SIZE];
	double bytes = rate_of(j, t, FIO_RATE) / (double)files;
	double ops = rate_of(j, t, FIO_RATE_IOPS) / (double)files;
	uint64_t think = fio_number(j, FIO_THINKTIME, 0);
	uint64_t blocks = fio_number(j, FIO_THINKTIME_BLOCKS, 1);
	const char *poisson = "";
	int err;

	err = blocks == 1 ?
		      0 :
		      fio_refuse(m, j, FIO_THINKTIME_BLOCKS, "a delay follows each operation");
	if (err)
		return err;
	if (!(bytes > 0) && !(ops > 0))
		fio_leave(m, j, FIO_RATE_PROCESS, "there is no rate");
	else
		err = map_intervals(m, j, &poisson);
	if (err || (!(bytes > 0) && !(ops > 0) && !think))
		return err;
	for (size_t i = 0; i < 2; i++) {
		enum fio_option option = i ? FIO_RATE_IOPS : FIO_RATE;

		if (has_two_rates(j, t, option))
			return fio_refuse(m, j, option,
					  "a target has one rate, and reads and writes are not "
					  "in this proportion; expected rwmixread=%.0f",
					  100 * (double)j->v[option].n /
						  (double)(j->v[option].n + j->v[option].write));
	}
	if (t->reads && t->writes && (bytes > 0 || ops > 0))
		fio_note(m, j, "the rate is the sum of reads and writes");
	if (think && (bytes > 0 || ops > 0))
		err = fio_refuse(m, j, FIO_THINKTIME,
				 "a target has a rate or a delay, and not both");
	if (err)
		return err;
	if (ops > 0 && (!(bytes > 0) || ops <= bytes / request)) {
		fio_put(m, t, SLOT_THROTTLE, "-throttle", "ops %.*f%s",
			ops < floor(ops) + 1e-6 ? 0 : 6, ops, poisson);
		fio_leave(m, j, FIO_RATE, "rate_iops is lower");
	} else if (bytes > 0) {
		fio_put(m, t, SLOT_THROTTLE, "-throttle", "bw %s%s",
			fio_size_text(bytes > 1 ? (uint64_t)bytes : 1, size), poisson);
		fio_leave(m, j, FIO_RATE_IOPS, "rate is lower");
	} else if (think > TIME_MAX_NS) {
		fio_leave(m, j, FIO_THINKTIME, "is longer than a year");
	} else {
		fio_put(m, t, SLOT_THROTTLE, "-throttle", "delay %s",
			fio_time_text(think ? think : 1, size));
	}
	return 0;
}

/* ---- all of it ---- */

/* Loops of this job only are one pass that is as much longer. */
static uint64_t loops_here(const struct fio_map *m, const struct fio_job *j)
{
	uint64_t loops = fio_number(j, FIO_LOOPS, 1);

	return m->passes > 1 || !loops ? 1 : loops;
}

static int map_extent(struct fio_map *m, const struct fio_job *j, struct fio_target *t,
		      struct extent *e)
{
	/* A last request that ends beyond the size is left out, but neither stream comes so far. */
	uint64_t amount = has_streams(t) ? round_up(e->amount, e->request) :
					   e->amount / e->request * e->request;
	char size[FIO_SIZE_SIZE];
	const char *how = "";
	bool only_time;
	int err = map_time(m, j, t, &only_time);

	if (!only_time && __builtin_mul_overflow(amount, loops_here(m, j), &amount))
		return fio_fail_job(m, j, "does more than 2^64 bytes");
	if (err)
		return err;
	if (only_time) {
		amount = 0;
		fio_leave(m, j, FIO_LOOPS, "time_based repeats the job until its runtime");
	}
	err = check_stride(m, j, t, e, &amount, only_time);
	if (amount)
		fio_put(m, t, SLOT_AMOUNT, "-bytes", "%s", fio_size_text(amount, size));
	if (!err)
		err = check_streams(m, j, t, e, amount, only_time);
	if (!err)
		err = map_distribution(m, j, t, &how);
	if (!err)
		err = put_seek(m, j, t, e, how, only_time || amount > e->region);
	if (err)
		return err;
	if (e->offset)
		fio_put(m, t, SLOT_STARTOFFSET, "-startoffset", "%s",
			fio_size_text(e->offset, size));
	t->only_time = only_time;
	t->ops = e->mix || only_time ? 0 : amount / e->request;
	t->whole = amount >= e->region && (has_map(j, t) || !t->random) && !t->stride;
	if (amount > e->region)
		t->lap_bytes = e->region / e->request * e->request;
	t->ragged = e->region % e->request;
	t->repeats = t->random && !has_map(j, t);
	t->start_bytes = e->offset;
	t->end_bytes = e->offset + e->region;
	/* A mapped file cannot grow. */
	if (t->writes && strcmp(fio_engine(j)->ours, "mmap") == 0)
		t->plain = t->overwrite = true;
	if (t->reads || t->discards || t->overwrite || fio_number(j, FIO_CREATE_ONLY, 0))
		t->layout_bytes = t->end_bytes;
	return 0;
}

/* Reads have other sizes than writes: random offsets of fio are multiples of the least of all. */
static bool of_directions(const struct fio_job *j, const struct fio_target *t,
			  enum fio_option option)
{
	return t->random && strchr(fio_text(j, option, ""), ',');
}

/* Several sizes. Nothing is known of them where there are none, or -leaveout names them. */
static int map_mix(struct fio_map *m, const struct fio_job *j, const struct fio_target *t,
		   struct extent *e)
{
	const enum fio_option option = fio_is_set(j, FIO_BSRANGE) ? FIO_BSRANGE : FIO_BSSPLIT;
	int err = 0;

	if (option == FIO_BSRANGE)
		err = map_range(m, j, t, e);
	else if (*split_of(j, t))
		err = map_split(m, j, t, e);
	if (err || (!e->mix && !of_directions(j, t, option)))
		return err;
	if (has_streams(t)) {
		*e = (struct extent){ 0 };
		return fio_refuse(m, j, option,
				  "reads and writes in sequence have one size in xdd");
	}
	if (!t->random)
		return fio_refuse(m, j, FIO_NUMBER_IOS,
				  "the number of requests of several sizes follows from their "
				  "bytes");
	*e = (struct extent){ 0 };
	return fio_refuse(m, j, option,
			  "xdd places a random request at a multiple of its own size, fio at a "
			  "multiple of the least size");
}

static int map_sizes(struct fio_map *m, const struct fio_job *j, const struct fio_target *t,
		     struct extent *e)
{
	int err = map_mix(m, j, t, e);

	return err || e->request ? err : map_request(m, j, t, e);
}

/* A loop of fio goes on where the last one ended; a pass of xdd begins at the start. */
static int check_loops(struct fio_map *m, const struct fio_job *j, const struct fio_target *t,
		       const struct extent *e)
{
	const bool whole = j->v[FIO_SIZE].percent || !(j->v[FIO_SIZE].n % e->request);

	if (fio_number(j, FIO_LOOPS, 1) <= 1 ||
	    (!e->mix && !has_streams(t) && (whole || has_map(j, t)) &&
	     e->amount / e->request == e->region / e->request))
		return 0;
	return fio_refuse(
		m, j, FIO_LOOPS,
		"each pass of xdd begins at the start; expected a size that is a multiple "
		"of one bs, and no io_size or number_ios");
}

int fio_map_amount(struct fio_map *m, const struct fio_job *j, struct fio_target *t, size_t clone,
		   size_t file)
{
	const struct fio_known *k = fio_known(m, t->path);
	size_t files = fio_files(j);
	struct extent e = { 0 };
	int err;

	map_operation(m, j, t);
	err = map_sizes(m, j, t, &e);
	if (!err)
		err = map_offset(m, j, k, clone, &e);
	if (err)
		return err;
	map_region(j, t, k, files, file, &e);
	map_work(j, files, file, &e);
	err = check_work(m, j, &e);
	if (!err)
		err = check_extent(m, j, k, t, &e);
	if (!err)
		err = check_loops(m, j, t, &e);
	if (!err)
		err = map_blocks(m, j, t, &e);
	if (err)
		return err;
	map_random(m, j, t);
	err = map_rate(m, j, t, files, e.mean);
	return err ? err : map_extent(m, j, t, &e);
}
