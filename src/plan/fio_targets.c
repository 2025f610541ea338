/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The targets of a job: one for each file of each clone, with what depends on its kind.
 */
#include "plan/fio.h"

#include <string.h>

#include "xdd/base/memory.h"

/* The directions of rw=; false: xdd has no such operation. */
static bool map_directions(const char *rw, struct fio_target *t)
{
	size_t n = strcspn(rw, ":");
	static const struct {
		const char *name;
		bool reads, writes, random, discards;
	} words[] = {
		{ "read", true, false, false, false },	  { "write", false, true, false, false },
		{ "randread", true, false, true, false }, { "randwrite", false, true, true, false },
		{ "rw", true, true, false, false },	  { "readwrite", true, true, false, false },
		{ "randrw", true, true, true, false },	  { "trim", false, false, false, true },
		{ "randtrim", false, false, true, true },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i].name) != n || strncmp(rw, words[i].name, n) != 0)
			continue;
		t->reads = words[i].reads;
		t->writes = words[i].writes;
		t->random = words[i].random;
		t->discards = words[i].discards;
		return true;
	}
	return false;
}

/*
 * The number after the colon of rw=: of sequential requests the bytes between two of them, of
 * random ones how many follow each other.
 */
static int map_number(struct fio_map *m, const struct fio_job *j, struct fio_target *t,
		      const char *text)
{
	const unsigned kb_base = (unsigned)fio_number(j, FIO_KB_BASE, 1024);
	uint64_t n;

	if (!text || strcmp(text, ":0") == 0 || (t->random && strcmp(text, ":1") == 0))
		return 0;
	if (t->random)
		return fio_refuse(m->file, m->group, j, FIO_RW,
				  "each random request of xdd has an offset of its own");
	if (text[1] == '-')
		return fio_refuse(m->file, m->group, j, FIO_RW, "xdd does not go backwards");
	if (fio_parse_bytes(text + 1, kb_base, &n))
		return fio_refuse(m->file, m->group, j, FIO_RW,
				  "expected bytes after the colon, such as 12k");
	t->stride = n;
	return 0;
}

static int map_kind(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	static const struct {
		enum fio_option option;
		const char *why;
	} never[] = {
		{ FIO_OPENDIR, "expected the names of files (filename)" },
		{ FIO_PROFILE, "xdd has no profiles" },
		{ FIO_READ_IOLOG, "-seek load <file> reads lists of xdd" },
	};
	const char *rw = fio_text(j, FIO_RW, "read");
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(never) / sizeof(never[0]); i++)
		err = fio_refuse(m->file, m->group, j, never[i].option, "%s", never[i].why);
	if (!err && !fio_has_engine(j))
		err = fio_refuse(m->file, m->group, j, FIO_IOENGINE,
				 "xdd has no engine like this one; -ioengine list shows its own");
	if (err)
		return err;
	if (!map_directions(rw, t)) {
		map_directions("read", t);
		return fio_refuse(m->file, m->group, j, FIO_RW,
				  "xdd discards or writes, and does not alternate");
	}
	err = map_number(m, j, t, strchr(rw, ':'));
	return err ? err : fio_map_mix(m, j, t);
}

static int map_depth(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	const struct fio_engine *e = fio_engine(j);
	uint64_t depth = fio_number(j, FIO_IODEPTH, 1), files = fio_files(j);

	if (depth > 65536)
		return fio_fail(m->file, j->section->path, j->v[FIO_IODEPTH].setting->line,
				"iodepth: expected 65536 at most");
	if (depth > 1 && e->one && !(m->file->typed && !fio_is_set(j, FIO_IOENGINE))) {
		fio_leave(m->file, m->group, j, FIO_IODEPTH,
			  "ioengine=%s has one operation outstanding at a time, in fio too; "
			  "-queuedepth is for each engine of xdd",
			  e->name);
		return 0;
	}
	if (depth > 1 && files > 1) {
		depth = (depth + files - 1) / files;
		fio_note(m->file, m->group, j,
			 "the files share iodepth=%s: -queuedepth is %u for each",
			 fio_text(j, FIO_IODEPTH, ""), (unsigned)depth);
	}
	if (depth > 1)
		fio_put(m, t, SLOT_QUEUEDEPTH, "-queuedepth", "%u", (unsigned)depth);
	return 0;
}

/* Options that depend on the kind of the file. */
static void map_file(struct fio_map *m, const struct fio_job *j, struct fio_target *t)
{
	const struct fio_known *k = fio_known(m, t->path);
	const char *how = fio_text(j, FIO_FALLOCATE, "none");
	bool allocate = strcmp(how, "native") == 0 || strcmp(how, "posix") == 0 ||
			strcmp(how, "keep") == 0 || strcmp(how, "1") == 0;
	char size[FIO_SIZE_SIZE];

	if (allocate && t->writes && k->is_file && t->end_bytes)
		fio_put(m, t, SLOT_PREALLOCATE, "-preallocate", "%s",
			fio_size_text(t->end_bytes, size));
	else if (strcmp(how, "none") != 0 && strcmp(how, "0") != 0)
		fio_leave(m->file, m->group, j, FIO_FALLOCATE,
			  "files that are read are written first; -preallocate and "
			  "-pretruncate are for files that are written");
	if (fio_number(j, FIO_UNLINK, 0) && k->is_file)
		fio_put(m, t, SLOT_DELETE, "-deletefile", "%s", "");
}

static struct fio_target *target_new(struct fio_map *m)
{
	m->targets = xarray_room(m->targets, m->n_targets, sizeof(*m->targets));
	memset(&m->targets[m->n_targets], 0, sizeof(*m->targets));
	return &m->targets[m->n_targets++];
}

static int map_target(struct fio_map *m, const struct fio_job *j, const struct fio_target *kind,
		      size_t clone, size_t file)
{
	struct fio_target *t = target_new(m);
	const struct fio_known *k;
	int err;

	*t = *kind;
	t->job = j;
	t->path = fio_path(m, j, clone, file);
	if (!*t->path)
		return fio_fail(m->file, j->section->path, j->section->line,
				"[%.60s]: filename: expected names with colons between them",
				j->name);
	if (strcmp(t->path, "./-") == 0)
		return fio_fail(m->file, j->section->path, j->section->line,
				"[%.60s]: standard input and output are no targets", j->name);
	k = fio_known(m, t->path);
	if (t->discards && k->is_file)
		return fio_fail(
			m->file, j->section->path, j->section->line,
			"[%.60s]: fio discards blocks of devices only, and %.200s is a file; "
			"-op discard makes holes in it",
			j->name, k->path);
	err = fio_map_amount(m, j, t, clone, file);
	if (!err)
		err = map_depth(m, j, t);
	if (!err)
		err = fio_map_options(m, j, t);
	if (!err)
		map_file(m, j, t);
	return err;
}

/* Settings that have no effect without others, or with them. */
static int leave_unused(struct fio_map *m, const struct fio_job *j, const struct fio_target *kind)
{
	bool named = fio_is_set(j, FIO_FILENAME), verify = fio_is_set(j, FIO_VERIFY);
	bool logs = fio_is_set(j, FIO_WRITE_BW_LOG) || fio_is_set(j, FIO_WRITE_IOPS_LOG) ||
		    fio_is_set(j, FIO_WRITE_LAT_LOG);
	bool one_size = !strpbrk(fio_text(j, FIO_FILESIZE, ""), "-,");
	const struct {
		enum fio_option option;
		bool unused;
		const char *why;
	} all[] = {
		{ FIO_NRFILES, named, "filename names the files" },
		{ FIO_FILENAME_FORMAT, named, "filename names the files" },
		{ FIO_WAIT_FOR, true, "the job waits for all jobs before it, as with stonewall" },
		{ FIO_DO_VERIFY, !verify, "has no verify beside it" },
		{ FIO_DO_VERIFY, kind->reads, "reads are verified as they are done" },
		{ FIO_VERIFY_PATTERN, !verify, "has no verify beside it" },
		{ FIO_VERIFY_ONLY, !kind->writes, "is for jobs that write" },
		{ FIO_OVERWRITE, kind->reads, "is for jobs that only write" },
		{ FIO_LOG_AVG_MSEC, !logs, "has no write_lat_log or the like beside it" },
		{ FIO_OFFSET_ALIGN,
		  !j->v[FIO_OFFSET].percent && !j->v[FIO_OFFSET_INCREMENT].percent,
		  "has no offset in percent beside it" },
		{ FIO_OFFSET_INCREMENT, fio_number(j, FIO_NUMJOBS, 1) <= 1,
		  "has no numjobs beside it" },
	};
	int err = one_size ? 0 :
			     fio_refuse(m->file, m->group, j, FIO_FILESIZE,
					"the files have one size, the largest of the range");

	if (err)
		return err;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i].unused)
			fio_leave(m->file, m->group, j, all[i].option, "%s", all[i].why);
	}
	return 0;
}

int fio_map_job(struct fio_map *m, const struct fio_job *j)
{
	uint64_t clones = fio_number(j, FIO_NUMJOBS, 1), files;
	struct fio_target kind = { 0 };
	int err = map_kind(m, j, &kind);

	if (!err)
		err = leave_unused(m, j, &kind);
	if (err)
		return err;
	if (fio_number(j, FIO_VERIFY_ONLY, 0)) {
		kind.reads = true;
		kind.writes = false;
	}
	kind.overwrite = fio_number(j, FIO_OVERWRITE, 0);
	clones = clones ? clones : 1;
	files = fio_files(j);
	if (clones > FIO_TARGETS_MAX || files > FIO_TARGETS_MAX ||
	    m->n_targets + clones * files > FIO_TARGETS_MAX ||
	    m->all_targets + clones * files > FIO_ALL_TARGETS_MAX)
		return fio_fail(m->file, j->section->path, j->section->line,
				"[%.60s]: numjobs and files make more targets than the 1024 of a "
				"command, or the 20000 of all",
				j->name);
	m->all_targets += clones * files;
	for (uint64_t clone = 0; !err && clone < clones; clone++) {
		for (uint64_t file = 0; !err && file < files; file++)
			err = map_target(m, j, &kind, clone, file);
	}
	return err;
}
