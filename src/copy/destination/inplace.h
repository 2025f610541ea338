/*
 * Files of several names that are written in place (-i): two sources must not be written into one
 * file. Private to src/copy/destination. Any thread, except where stated.
 */
#ifndef COPY_DESTINATION_INPLACE_H
#define COPY_DESTINATION_INPLACE_H

#include "copy/destination/destination.h"

/* A file whose names were offered. It lives as long as the table. */
struct inplace_file;
struct inplace;

/* Returns NULL without memory. */
struct inplace *inplace_new(void);
/* Accepts NULL. */
void inplace_free(struct inplace *p);

/*
 * A source is offered for `path`, a name of the existing file with the status `st`; `id` is of its
 * entry. Returns the file, or NULL without memory. Receiving thread.
 */
struct inplace_file *inplace_offer(struct inplace *p, const struct stat *st, uint64_t id,
				   const char *path);

/*
 * True if the entry `id` must not be written into the file, nor found equal to it: another name of
 * it was offered, and one of both needs other contents. With `writes` the entry needs them, and no
 * other one may have been offered; later ones will be refused. `other`, of COPY_MAX_PATH_BYTES,
 * becomes the other name then.
 */
bool inplace_refuses(struct inplace *p, struct inplace_file *f, uint64_t id, bool writes,
		     char *other);

#endif
