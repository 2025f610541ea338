/*
 * A file, pipe or terminal that lines are written to: opened for append, one write(2) a line of a
 * regular file, and the first error remembered. How writes wait for a reader: output.h.
 *
 * An outfile belongs to one thread at a time.
 */
#ifndef XDD_REPORT_OUTFILE_H
#define XDD_REPORT_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct outfile {
	int fd;	       /* -1: not wanted */
	bool shared;   /* standard output or standard error: not ours to close */
	bool empty;    /* it held nothing when it was opened, or what it held is no matter */
	bool mid_line; /* the last line has no end: the next write ends it first */
	int error;     /* the first errno of a write, 0: none */
};

/* The identity of a path: an existing file, or a name in a directory. */
struct outfile_id {
	bool known; /* false: nothing that two outputs could disagree about */
	dev_t dev;
	ino_t ino;
	char missing[256]; /* a file to be created: its name in the directory dev, ino; else "" */
};

/*
 * The identity of `path`; or, for NULL, of the regular file that standard output is. A symbolic
 * link to nothing is the file that would be created. Standard streams (output_standard()) and
 * /dev/null have none: several outputs may go there.
 */
void outfile_identify(struct outfile_id *id, const char *path);

/* The identity of the file or block device that a standard stream is redirected to. */
void outfile_identify_stream(struct outfile_id *id, int fd);

bool outfile_is_same(const struct outfile_id *a, const struct outfile_id *b);

/*
 * Open for append; NULL is standard output. A name of a standard stream is that stream, so that all
 * who have it write at one offset. Returns 0 or -errno, as output_open() does.
 */
int outfile_open(struct outfile *o, const char *path);

/* Write all of it. Errors are remembered; the next call tries again, on a new line. */
void outfile_write(struct outfile *o, const char *data, size_t size);

/* Safe on one that is not open. Returns 0, or -errno of the first failed write or of close(2). */
int outfile_close(struct outfile *o);

#endif
