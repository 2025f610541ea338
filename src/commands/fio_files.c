/*
 * The files of a job, as fio names them, and their sizes. Called by the mapper. Nothing is opened.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "commands/fio.h"
#include "xdd/base/memory.h"
#include "xdd/sys/sysfile.h"

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
	k = arena_alloc(m->file->arena, sizeof(*k));
	if (!k)
		return NULL;
	k->path = path;
	look(k);
	k->next = m->known;
	m->known = k;
	return k;
}

/* ---- names ---- */

/* The part of a list "a:b" that begins at `*text`; a colon after a backslash belongs to a name. */
static int list_part(struct arena *arena, const char **text, const char **part)
{
	struct memstream m;
	const char *c = *text;

	if (!memstream_open(&m))
		return -ENOMEM;
	for (; *c && *c != ':'; c++) {
		if (c[0] == '\\' && c[1] == ':')
			c++;
		fputc(*c, m.f);
	}
	*text = *c ? c + 1 : c;
	if (memstream_close(&m))
		return -ENOMEM;
	*part = arena_strdup(arena, m.text);
	free(m.text);
	return *part ? 0 : -ENOMEM;
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
static int list_at(struct arena *arena, const char *list, size_t i, const char **part)
{
	int err;

	do {
		err = list_part(arena, &list, part);
	} while (!err && i--);
	return err;
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
static int put_format(FILE *out, const struct fio_job *j, size_t clone, size_t file)
{
	const char *c = fio_text(j, FIO_FILENAME_FORMAT, "$jobname.$jobnum.$filenum");

	while (*c) {
		if (strncmp(c, "$jobname", 8) == 0) {
			fputs(j->name, out);
			c += 8;
		} else if (strncmp(c, "$jobnum", 7) == 0) {
			fprintf(out, "%zu", clone);
			c += 7;
		} else if (strncmp(c, "$filenum", 8) == 0) {
			fprintf(out, "%zu", file);
			c += 8;
		} else {
			fputc(*c++, out);
		}
	}
	return 0;
}

/* Names that the options of xdd read in another way: null, -x, @list. */
static bool needs_dot(const char *path)
{
	return strcmp(path, "null") == 0 || *path == '-' || *path == '@';
}

int fio_path(struct fio_map *m, const struct fio_job *j, size_t clone, size_t file,
	     const char **path)
{
	struct arena *arena = m->file->arena;
	const char *directory = NULL, *name = NULL;
	bool named = fio_is_set(j, FIO_FILENAME);
	struct memstream s;
	int err = 0;

	if (strcmp(fio_engine(j)->name, "null") == 0) {
		*path = "null";
		return 0;
	}
	if (fio_is_set(j, FIO_DIRECTORY)) {
		const char *list = fio_text(j, FIO_DIRECTORY, "");

		err = list_at(arena, list, named ? 0 : clone % list_length(list), &directory);
	}
	if (!err && named)
		err = list_at(arena, fio_text(j, FIO_FILENAME, ""), file, &name);
	if (err)
		return err;
	if (!memstream_open(&s))
		return -ENOMEM;
	if (directory)
		fprintf(s.f, "%s/", directory);
	if (name)
		fputs(name, s.f);
	else
		put_format(s.f, j, clone, file);
	if (memstream_close(&s))
		return -ENOMEM;
	*path = arena_printf(arena, "%s%s", needs_dot(s.text) ? "./" : "", s.text);
	free(s.text);
	return *path ? 0 : -ENOMEM;
}
