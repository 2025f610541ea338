/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of a job, as fio names them, and options of a target that follow from the settings of
 * its job. Called by the mapper. Nothing is opened.
 */
#include "plan/fio.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/plan/engine_info.h"
#include "xdd/sys/sysfile.h"

#define ALIGN_MAX (1u << 30)
#define DELAY_MAX_NS (365ull * 86400 * NS_PER_SEC)
#define HEX_MAX 8192 /* digits of a pattern */

static const struct fio_engine engines[] = {
	{ "psync", "psync", true, NULL },
	{ "sync", "psync", true, NULL },
	{ "vsync", "psync", true, "requests next to each other are not put together" },
	{ "pvsync", "psync", true, NULL },
	{ "pvsync2", "psync", true, NULL },
	{ "posixaio", "psync", false, "xdd's own threads do the I/O" },
	{ "libaio", "libaio", false, NULL },
	{ "io_uring", "io_uring", false, NULL },
	{ "mmap", "mmap", true, NULL },
	{ "sg", "sg", false, NULL },
	{ "null", "null", false, NULL },
};

static const struct fio_engine *find_engine(const struct fio_job *j)
{
	const char *name = fio_text(j, FIO_IOENGINE, "psync");

	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
		if (strcmp(engines[i].name, name) == 0)
			return &engines[i];
	}
	return NULL;
}

const struct fio_engine *fio_engine(const struct fio_job *j)
{
	const struct fio_engine *e = find_engine(j);

	return e ? e : &engines[0];
}

bool fio_has_engine(const struct fio_job *j)
{
	return find_engine(j);
}

void fio_put(struct fio_map *m, struct fio_target *t, enum fio_slot slot, const char *option,
	     const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	t->slot[slot].option = option;
	t->slot[slot].args = xneed(arena_vprintf(m->file->arena, fmt, ap));
	va_end(ap);
}

/* ---- engine ---- */

static void map_keywords(struct fio_map *m, const struct fio_job *j, const char *engine,
			 char *words, size_t size)
{
	static const struct {
		enum fio_option option;
		const char *engine, *keyword;
	} keywords[] = {
		{ FIO_FIXEDBUFS, "io_uring", " fixedbufs" },
		{ FIO_REGISTERFILES, "io_uring", " fixedfiles" },
		{ FIO_SQTHREAD_POLL, "io_uring", " sqpoll" },
		{ FIO_HIPRI, "io_uring", " iopoll" },
		{ FIO_READFUA, "sg", " fua" },
		{ FIO_WRITEFUA, "sg", " fua" },
	};

	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
		if (!fio_number(j, keywords[i].option, 0))
			continue;
		if (strcmp(keywords[i].engine, engine) != 0)
			fio_leave(m, j, keywords[i].option, "is not for this engine");
		else if (!strstr(words, keywords[i].keyword))
			text_add(words, size, "%s", keywords[i].keyword);
	}
}

/* In fio they are calls of the thread with any engine. */
static void leave_engine(struct fio_map *m, const struct fio_job *j)
{
	fio_leave(m, j, FIO_IOENGINE, "this engine of xdd cannot discard; psync does");
	fio_leave(m, j, FIO_IODEPTH_BATCH, "requests are submitted one by one");
}

static void map_engine(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	const struct fio_engine *e = fio_engine(j);
	uint64_t batch = fio_number(j, FIO_IODEPTH_BATCH, 1);
	char words[128] = "";

	if (t->discards && !(engine_named(e->ours)->caps & ENGINE_DISCARDS)) {
		leave_engine(m, j);
		return;
	}
	map_keywords(m, j, e->ours, words, sizeof(words));
	if (e->why)
		fio_note(m, j, "ioengine=%s: %s", e->name, e->why);
	if (batch > 1 && !e->one &&
	    (strcmp(e->ours, "libaio") == 0 || strcmp(e->ours, "io_uring") == 0))
		text_add(words, sizeof(words), " batch %llu", (unsigned long long)batch);
	else
		fio_leave(m, j, FIO_IODEPTH_BATCH,
			  "requests are submitted one by one, or as -ioengine decides");
	if (strcmp(e->ours, "psync") != 0 && strcmp(e->ours, "null") != 0)
		fio_put(m, t, SLOT_ENGINE, "-ioengine", "%s%s", e->ours, words);
}

static bool is_direct(const struct fio_job *j)
{
	return fio_number(j, FIO_DIRECT, 0) || !fio_number(j, FIO_BUFFERED, 1);
}

static void map_cache(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	bool null = strcmp(fio_engine(j)->name, "null") == 0;

	if (fio_number(j, FIO_PRE_READ, 0) && !is_direct(j) && t->reads) {
		t->pre_read = true;
		fio_leave(m, j, FIO_INVALIDATE, "pre_read fills the page cache");
		return;
	}
	fio_leave(m, j, FIO_PRE_READ, "is for reads through the page cache");
	if (is_direct(j) && strcmp(fio_engine(j)->ours, "mmap") == 0) {
		fio_leave(m, j, FIO_DIRECT, "mapped data is in the page cache");
		fio_leave(m, j, FIO_BUFFERED, "mapped data is in the page cache");
		return;
	}
	if (null || is_direct(j) || !t->reads || strcmp(fio_engine(j)->ours, "sg") == 0)
		fio_leave(m, j, FIO_INVALIDATE, "is for reads through the page cache");
	else if (fio_number(j, FIO_INVALIDATE, 1))
		fio_put(m, t, SLOT_DROPCACHE, "-dropcache", "%s", "");
	if (is_direct(j) && !null && strcmp(fio_engine(j)->ours, "sg") != 0)
		fio_put(m, t, SLOT_DIO, "-dio", "%s", "");
}

/* ---- data ---- */

static int put_hex(struct fio_map *m, const struct fio_job *j, struct fio_target *t,
		   enum fio_option option)
{
	const char *text = fio_text(j, option, ""), *hex;
	size_t n = strlen(text);
	int err;

	/* 'name' is a file with the pattern. */
	if (n > 2 && text[0] == '\'' && text[n - 1] == '\'' && !memchr(text + 1, '\'', n - 2)) {
		const char *name = xarena_printf(m->file->arena, "%.*s", (int)n - 2, text + 1);
		const char *quoted = xneed(quote_word(m->file->arena, name));

		fio_put(m, t, SLOT_PATTERN, "-datapattern", "file %s", quoted);
		return 0;
	}
	if (fio_parse_pattern(m->file->arena, text, &hex) || strlen(hex) > HEX_MAX) {
		err = fio_refuse(m, j, option,
				 "the pattern cannot be read; -datapattern hex and file have "
				 "patterns");
		if (!err)
			fio_put(m, t, SLOT_PATTERN, "-datapattern", "random");
		return err;
	}
	fio_put(m, t, SLOT_PATTERN, "-datapattern", "hex %s replicate", hex);
	return 0;
}

/* Verification that xdd does not have, or has at other moments. */
static int refuse_verify(struct fio_map *m, const struct fio_job *j, const struct fio_target *t,
			 const char *method)
{
	const bool after = t->writes && fio_number(j, FIO_DO_VERIFY, 1);

	if (strcmp(method, "null") == 0)
		return fio_refuse(m, j, FIO_VERIFY,
				  "xdd does not read without verification what it wrote");
	if (t->reads && t->writes)
		return fio_refuse(m, j, FIO_VERIFY,
				  "xdd verifies reads, or what it wrote, but not a mix of both");
	if (after && t->repeats)
		return fio_refuse(m, j, FIO_VERIFY,
				  "xdd reads back each write, fio each block once");
	if (after && (t->lap_bytes || fio_number(j, FIO_LOOPS, 1) > 1))
		return fio_refuse(m, j, FIO_VERIFY,
				  "xdd verifies what was written once, after all of it; fio after "
				  "each loop");
	return 0;
}

static int map_verify(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	const char *method = fio_text(j, FIO_VERIFY, "none");
	bool pattern = fio_is_set(j, FIO_VERIFY_PATTERN);
	int err;

	if (strcmp(method, "none") == 0 || strcmp(method, "0") == 0)
		return 0;
	if (strcmp(t->path, "null") == 0) {
		fio_leave(m, j, FIO_VERIFY, "the null device moves no data");
		return 0;
	}
	if (t->discards) {
		fio_leave(m, j, FIO_VERIFY, "discards transfer no data");
		fio_leave(m, j, FIO_VERIFY_PATTERN, "is for verify=pattern");
		return 0;
	}
	err = refuse_verify(m, j, t, method);
	if (err || fio_is_listed(j, FIO_VERIFY))
		return err;
	if (pattern && strcmp(method, "pattern") == 0) {
		err = put_hex(m, j, t, FIO_VERIFY_PATTERN);
	} else {
		fio_leave(m, j, FIO_VERIFY_PATTERN, "is for verify=pattern");
		fio_note(m, j,
			 "verify=%s: xdd writes and verifies data of its own "
			 "(-datapattern tagged); what fio wrote does not verify",
			 method);
		fio_put(m, t, SLOT_PATTERN, "-datapattern", "tagged");
	}
	t->verifies = true;
	t->verify_after = t->writes && !t->reads && fio_number(j, FIO_DO_VERIFY, 1);
	if (t->reads)
		fio_put(m, t, SLOT_VERIFY, "-verify", "contents");
	return err;
}

/* Other data take its place: in fio too, except that compressible parts are zeros here. */
static void leave_data(struct fio_map *m, const struct fio_job *j)
{
	static const char why[] = "verified data, and data that compress or repeat, are xdd's own";

	fio_leave(m, j, FIO_BUFFER_PATTERN, "%s", why);
	fio_leave(m, j, FIO_ZERO_BUFFERS, "%s", why);
}

/* The data of writes, as SLOT_PATTERN. */
static int map_data(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	uint64_t compress = fio_number(j, FIO_BUFFER_COMPRESS, 0);
	uint64_t dedupe = fio_number(j, FIO_DEDUPE, 0);

	if (compress > 100 || dedupe > 100)
		return fio_fail_job(m, j,
				    "expected percentages of compression and dedupe up to 100");
	if (compress || dedupe || t->verifies)
		leave_data(m, j);
	else if (fio_is_set(j, FIO_BUFFER_PATTERN))
		return put_hex(m, j, t, FIO_BUFFER_PATTERN);
	if (compress && dedupe)
		fio_put(m, t, SLOT_PATTERN, "-datapattern", "compress %u dedupe %u",
			(unsigned)compress, (unsigned)dedupe);
	else if (compress || dedupe)
		fio_put(m, t, SLOT_PATTERN, "-datapattern", "%s %u",
			compress ? "compress" : "dedupe", (unsigned)(compress + dedupe));
	else if (!t->verifies && !t->plain)
		fio_put(m, t, SLOT_PATTERN, "-datapattern", "random");
	return 0;
}

/* Settings for the data of writes also apply to files that are laid out for reads. */
static void leave_unwritten(struct fio_map *m, const struct fio_job *j, const struct fio_target *t)
{
	static const enum fio_option of_writes[] = { FIO_BUFFER_PATTERN, FIO_BUFFER_COMPRESS,
						     FIO_DEDUPE, FIO_ZERO_BUFFERS };
	const struct fio_known *k = fio_known(m, t->path);

	if (k->is_file && k->bytes < t->layout_bytes)
		return;
	for (size_t i = 0; i < sizeof(of_writes) / sizeof(of_writes[0]); i++)
		fio_leave(m, j, of_writes[i], "is for writes");
}

static int map_pattern(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	struct fio_words verified;
	int err = map_verify(m, j, t);

	if (err)
		return err;
	t->plain |= fio_number(j, FIO_ZERO_BUFFERS, 0);
	verified = t->slot[SLOT_PATTERN];
	if (!t->writes)
		leave_unwritten(m, j, t);
	err = map_data(m, j, t);
	t->data = t->slot[SLOT_PATTERN];
	if (!t->writes)
		t->slot[SLOT_PATTERN] = verified;
	return err;
}

/* ---- flushes ---- */

static bool is_synchronous(const struct fio_job *j)
{
	const char *text = fio_text(j, FIO_SYNC, "none");

	return strcmp(text, "none") != 0 && strcmp(text, "0") != 0;
}

/* The engines that write through an open file take flags of open(2); the others flush. */
static bool opens_synchronous(const struct fio_job *j)
{
	const char *engine = fio_engine(j)->ours;

	return is_synchronous(j) && strcmp(engine, "mmap") != 0 && strcmp(engine, "sg") != 0;
}

/* Numbers of writes between flushes that xdd counts in another way. */
static int refuse_flush(struct fio_map *m, const struct fio_job *j, const struct fio_target *t)
{
	const enum fio_option option = fio_number(j, FIO_FSYNC, 0) ? FIO_FSYNC : FIO_FDATASYNC;

	if (!fio_number(j, option, 0))
		return 0;
	if (option == FIO_FSYNC && fio_number(j, FIO_FDATASYNC, 0))
		return fio_refuse(m, j, FIO_FDATASYNC,
				  "xdd flushes in one way, and fsync is another");
	if (t->reads)
		return fio_refuse(
			m, j, option,
			"between two writes of a mix, fio flushes after each read as well");
	if (fio_files(j) > 1)
		return fio_refuse(m, j, option,
				  "fio counts the writes to all files of a job together");
	if (fio_number(j, FIO_LOOPS, 1) > 1)
		return fio_refuse(m, j, FIO_LOOPS,
				  "fio counts the writes between flushes over all loops");
	return 0;
}

static int map_flush(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	static const enum fio_option all[] = { FIO_FSYNC, FIO_FDATASYNC, FIO_SYNC, FIO_END_FSYNC,
					       FIO_FSYNC_ON_CLOSE };
	uint64_t fsync = fio_number(j, FIO_FSYNC, 0), data = fio_number(j, FIO_FDATASYNC, 0);
	bool synchronous = is_synchronous(j), opens = opens_synchronous(j);
	uint64_t n = synchronous && !opens ? 1 : fsync ? fsync : data;
	bool at_end = fio_number(j, FIO_END_FSYNC, 0) || fio_number(j, FIO_FSYNC_ON_CLOSE, 0);
	int err;

	for (size_t i = 0; !t->writes && i < sizeof(all) / sizeof(all[0]); i++)
		fio_leave(m, j, all[i], "is for writes");
	if (!t->writes)
		return 0;
	err = refuse_flush(m, j, t);
	if (!err && t->ragged && fio_number(j, FIO_FSYNC_ON_CLOSE, 0))
		err = fio_refuse(m, j, FIO_FSYNC_ON_CLOSE,
				 "fio closes a file twice whose size is no multiple of bs");
	if (t->reads)
		n = synchronous && !opens;
	if (err)
		return err;
	if (opens)
		fio_put(m, t, SLOT_OPENSYNC,
			strcmp(fio_text(j, FIO_SYNC, ""), "dsync") == 0 ? "-odsync" : "-osync",
			"%s", "");
	if (n && n <= INT64_MAX)
		fio_put(m, t, SLOT_FLUSHWRITE, "-flushwrite", "%llu", (unsigned long long)n);
	if (n && (!synchronous || opens))
		fio_put(m, t, SLOT_FLUSHBETWEEN, "-flushbetween", "%s", "");
	if (synchronous && !opens)
		fio_note(m, j,
			 "sync=%s: a flush after each write takes the place of O_SYNC, which "
			 "ioengine=%s does not use, and is not part of the latency",
			 fio_text(j, FIO_SYNC, ""), fio_text(j, FIO_IOENGINE, "psync"));
	else if (n)
		fio_note(m, j, "flushes are fdatasync(2), and not part of the latency of a write");
	if (at_end)
		fio_put(m, t, SLOT_SYNCWRITE, "-syncwrite", "%s", "");
	return 0;
}

/* ---- processors and memory ---- */

/* A mask such as 0x5 as a list of processors. */
static void put_mask(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	char list[64 * 4] = "";
	uint64_t mask;

	if (fio_parse_bytes(fio_text(j, FIO_CPUMASK, ""), 1024, &mask) || !mask) {
		fio_leave(m, j, FIO_CPUMASK, "cannot be read; -processor has a list");
		return;
	}
	for (unsigned i = 0; i < 64; i++) {
		if (mask >> i & 1)
			text_add(list, sizeof(list), "%s%u", *list ? "," : "", i);
	}
	fio_put(m, t, SLOT_PROCESSOR, "-processor", "%s", list);
}

static bool is_list(const char *text)
{
	return *text && !text[strspn(text, "0123456789,-")] && strlen(text) < 256;
}

static void map_processors(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	const char *list = fio_text(j, FIO_CPUS_ALLOWED, NULL);
	const char *nodes = fio_text(j, FIO_NUMA_CPU_NODES, NULL);

	if (nodes && is_list(nodes) && !strchr(nodes, '-')) {
		char words[4 + 5 * 256] = "node";
		size_t n = strlen(words);

		for (; *nodes; nodes++) {
			words[n++] = *nodes;
			if (*nodes == ',')
				n += strlen(strcpy(words + n, "node"));
		}
		words[n] = '\0';
		fio_put(m, t, SLOT_PROCESSOR, "-processor", "%s", words);
	} else if (nodes) {
		fio_leave(
			m, j, FIO_NUMA_CPU_NODES,
			"expected a list of nodes; -processor node0 is for the processors of a node");
	}
	if (list && is_list(list)) {
		fio_put(m, t, SLOT_PROCESSOR, "-processor", "%s", list);
		return;
	}
	fio_leave(m, j, FIO_CPUS_ALLOWED, "cannot be read; -processor has a list");
	if (fio_is_set(j, FIO_CPUMASK))
		put_mask(m, j, t);
}

static void map_numa(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	const char *policy = fio_text(j, FIO_NUMA_MEM_POLICY, "default");
	const char *nodes = strchr(policy, ':');

	nodes = nodes ? nodes + 1 : "";
	if (strcmp(policy, "default") == 0)
		return;
	if (strcmp(policy, "local") == 0)
		fio_put(m, t, SLOT_NUMA, "-numa", "local");
	else if (strncmp(policy, "bind:", 5) == 0 && is_list(nodes))
		fio_put(m, t, SLOT_NUMA, "-numa", "%s", nodes);
	else if (strncmp(policy, "interleave:", 11) == 0 && is_list(nodes))
		fio_put(m, t, SLOT_NUMA, "-numa", "interleave:%s", nodes);
	else
		fio_leave(m, j, FIO_NUMA_MEM_POLICY, "-numa has nodes, local and interleave");
}

static void map_memory(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	const char *mem = fio_text(j, FIO_MEM, "malloc");
	uint64_t align = fio_number(j, FIO_MEM_ALIGN, 0);

	if (strncmp(mem, "shm", 3) == 0)
		fio_put(m, t, SLOT_SHARED, "-sharedmemory", "%s", "");
	if (strncmp(mem, "shmhuge", 7) == 0 || strncmp(mem, "mmaphuge", 8) == 0)
		fio_put(m, t, SLOT_HUGE, "-hugepages", "%s", "");
	else if (strncmp(mem, "shm", 3) != 0)
		fio_leave(m, j, FIO_MEM, "buffers are mapped memory of each QThread");
	if (align > ALIGN_MAX)
		fio_leave(m, j, FIO_MEM_ALIGN, "-memalign has at most 1 GiB");
	else if (align)
		fio_put(m, t, SLOT_MEMALIGN, "-memalign", "%llu", (unsigned long long)align);
}

static int map_delay(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	const char *text = fio_text(j, FIO_STARTDELAY, "0");
	size_t n = strcspn(text, "-,");
	char word[32], time[FIO_SIZE_SIZE];
	uint64_t ns;

	snprintf(word, sizeof(word), "%.*s", (int)(n < sizeof(word) ? n : sizeof(word) - 1), text);
	if (fio_parse_time(word, NS_PER_SEC, &ns) || text[n])
		return fio_refuse(m, j, FIO_STARTDELAY,
				  "-startdelay is one time, such as 10 or 500ms");
	if (!ns)
		return 0;
	if (ns > DELAY_MAX_NS)
		fio_leave(m, j, FIO_STARTDELAY, "is longer than a year");
	else
		fio_put(m, t, SLOT_STARTDELAY, "-startdelay", "%s", fio_time_text(ns, time));
	return 0;
}

int fio_map_options(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	int err;

	map_engine(m, j, t);
	map_cache(m, j, t);
	err = map_pattern(m, j, t);
	if (!err)
		err = map_flush(m, j, t);
	if (err)
		return err;
	map_processors(m, j, t);
	map_numa(m, j, t);
	map_memory(m, j, t);
	return map_delay(m, j, t);
}

#define SECTOR_BYTES 512 /* of sizes in /sys, whatever the device has */

/* ---- what is known ---- */

static void look(struct fio_known *k)
{
	uint64_t sectors;
	struct stat st;
	char size[64];

	if (strcmp(k->path, "null") == 0)
		return;
	k->is_file = strncmp(k->path, "/dev/", 5) != 0;
	if (stat(k->path, &st))
		return;
	k->exists = true;
	k->is_file = S_ISREG(st.st_mode);
	if (k->is_file)
		k->bytes = (uint64_t)st.st_size;
	if (!S_ISBLK(st.st_mode))
		return;
	snprintf(size, sizeof(size), "/sys/dev/block/%u:%u/size", major(st.st_rdev),
		 minor(st.st_rdev));
	if (sysfile_number(size, &sectors))
		k->bytes = sectors * SECTOR_BYTES;
}

struct fio_known *fio_known(struct fio_map *m, const char *path)
{
	struct fio_known *k;

	for (k = m->known; k; k = k->next) {
		if (strcmp(k->path, path) == 0)
			return k;
	}
	k = xarena_alloc(m->file->arena, sizeof(*k));
	k->path = path;
	look(k);
	k->next = m->known;
	m->known = k;
	return k;
}

/* ---- names ---- */

/* The part of a list "a:b" that begins at `*text`; a colon after a backslash belongs to a name. */
static const char *list_part(struct arena *arena, const char **text)
{
	struct memstream m;
	const char *c = *text, *part;

	xmemstream_open(&m);
	for (; *c && *c != ':'; c++) {
		if (c[0] == '\\' && c[1] == ':')
			c++;
		fputc(*c, m.f);
	}
	*text = *c ? c + 1 : c;
	part = xarena_strdup(arena, xmemstream_close(&m));
	free(m.text);
	return part;
}

static size_t list_length(const char *text)
{
	size_t n = 1;

	for (; *text; text++) {
		if (text[0] == '\\' && text[1] == ':')
			text++;
		else if (*text == ':')
			n++;
	}
	return n;
}

/* Part `i` of a list. */
static const char *list_at(struct arena *arena, const char *list, size_t i)
{
	const char *part;

	do {
		part = list_part(arena, &list);
	} while (i--);
	return part;
}

size_t fio_files(const struct fio_job *j)
{
	const struct fio_engine *engine = fio_engine(j);

	if (engine && strcmp(engine->name, "null") == 0)
		return 1;
	if (fio_is_set(j, FIO_FILENAME))
		return list_length(fio_text(j, FIO_FILENAME, ""));
	return fio_number(j, FIO_NRFILES, 1) ? fio_number(j, FIO_NRFILES, 1) : 1;
}

/* A name that fio makes, such as job.0.0. */
static void put_format(FILE *out, const struct fio_job *j, size_t clone, size_t file)
{
	const char *c = fio_text(j, FIO_FILENAME_FORMAT, "$jobname.$jobnum.$filenum");

	while (*c) {
		if (strncmp(c, "$jobname", 8) == 0) {
			fputs(j->section->name, out);
			c += 8;
		} else if (strncmp(c, "$jobnum", 7) == 0) {
			fprintf(out, "%zu", clone);
			c += 7;
		} else if (strncmp(c, "$filenum", 8) == 0) {
			fprintf(out, "%zu", file);
			c += 8;
		} else if (strncmp(c, "$clientuid", 10) == 0) {
			c += 10; /* empty without a server of fio */
		} else {
			fputc(*c++, out);
		}
	}
}

/* Names that the options of xdd read in another way: null, -x, @list. */
static bool needs_dot(const char *path)
{
	return strcmp(path, "null") == 0 || *path == '-' || *path == '@';
}

const char *fio_path(struct fio_map *m, const struct fio_job *j, size_t clone, size_t file)
{
	struct arena *arena = m->file->arena;
	const char *directory = NULL, *path;
	bool named = fio_is_set(j, FIO_FILENAME);
	struct memstream s;

	if (strcmp(fio_engine(j)->name, "null") == 0)
		return "null";
	if (fio_is_set(j, FIO_DIRECTORY)) {
		const char *list = fio_text(j, FIO_DIRECTORY, "");

		directory = list_at(arena, list, named ? 0 : clone % list_length(list));
	}
	xmemstream_open(&s);
	if (directory)
		fprintf(s.f, "%s/", directory);
	if (named)
		fputs(list_at(arena, fio_text(j, FIO_FILENAME, ""), file), s.f);
	else
		put_format(s.f, j, clone, file);
	xmemstream_close(&s);
	path = xarena_printf(arena, "%s%s", needs_dot(s.text) ? "./" : "", s.text);
	free(s.text);
	return path;
}
