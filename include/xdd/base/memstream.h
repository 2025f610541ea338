/*
 * Text of unknown length, made by stdio into memory.
 *
 *	struct memstream m;
 *
 *	if (!memstream_open(&m))
 *		return -ENOMEM;
 *	fprintf(m.f, ...);
 *	err = memstream_close(&m);
 *	... m.text, m.size ...
 *	free(m.text);
 */
#ifndef XDD_BASE_MEMSTREAM_H
#define XDD_BASE_MEMSTREAM_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct memstream {
	FILE *f; /* NULL: there is no stream */
	char *text;
	size_t size; /* bytes, without the NUL that follows them */
};

/* Returns the stream, or NULL where memory is short. */
static inline FILE *memstream_open(struct memstream *m)
{
	m->text = NULL;
	m->size = 0;
	m->f = open_memstream(&m->text, &m->size);
	return m->f;
}

/*
 * Close the stream, which may be NULL. Returns 0 with `text`, which the caller frees, or -ENOMEM
 * with `text` NULL.
 */
static inline int memstream_close(struct memstream *m)
{
	int failed = !m->f || ferror(m->f);

	if (m->f && fclose(m->f))
		failed = 1;
	m->f = NULL;
	/* glibc loses the text, and reports no error, if it cannot shrink it. */
	if (!failed && m->text)
		return 0;
	free(m->text);
	m->text = NULL;
	m->size = 0;
	return -ENOMEM;
}

/* Close the stream and free its text. Safe on a stream that is all zero. */
static inline void memstream_discard(struct memstream *m)
{
	memstream_close(m);
	free(m->text);
	m->text = NULL;
}

#endif
