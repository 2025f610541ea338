/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stdio engine: fread, fwrite and fseeko on a stream of the C library, one operation at a time
 * in each QThread. It shows what the buffer of the library costs and saves.
 *
 * A stream has an open file description of its own, because it reads and writes at the offset that
 * the kernel keeps in it. It begins each pass without data of the pass before.
 */
#include "xdd/io/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xdd/base/file.h"

#define BUFFER_MAX (1ull << 30)
#define NOWHERE UINT64_MAX

/* open(2) takes these flags as F_GETFL returns them. */
#define KEPT_FLAGS (O_ACCMODE | O_NOATIME | O_SYNC)

struct stdio_options {
	uint64_t buffer_bytes; /* 0: what the library chooses */
	bool unbuffered;
};

struct stdio {
	/* const after init */
	int fd;
	const char *mode;
	char *buffer; /* NULL: the library has its own, or there is none */
	size_t buffer_bytes;
	bool unbuffered;

	FILE *file;	 /* NULL when it could not be opened again between two passes */
	uint64_t at;	 /* where the next transfer begins without a seek, or NOWHERE */
	enum op_dir dir; /* of the last transfer */
	size_t held;	 /* bytes of complete operations in the buffer before the last one */
};

/* ---- before the run ---- */

static unsigned stdio_caps(const void *options)
{
	const struct stdio_options *o = options;

	return ENGINE_OPENS | (o->unbuffered ? 0 : ENGINE_BUFFERS);
}

/* Writes that are complete before their data is in the file break the promises of these options. */
static int check_buffered_writes(const struct target_plan *t, struct err *why)
{
	const bool several = t->qthreads > 1;

	if (t->retries)
		return err_set(why, -EINVAL,
			       "-retry: an error may concern data of earlier operations, "
			       "which is lost then; say unbuffered");
	if (t->flush_writes > 1 && several)
		return err_set(why, -EINVAL,
			       "-flushwrite: a QThread cannot write the buffers of the others; "
			       "say -flushwrite 1, -queuedepth 1 or unbuffered");
	if (t->ordering != ORDERING_NONE && several)
		return err_set(why, -EINVAL,
			       "-ordering: each QThread writes its buffer when that is full; "
			       "say -queuedepth 1 or unbuffered");
	if (t->verify != VERIFY_NONE && several)
		return err_set(why, -EINVAL,
			       "-verify: a QThread does not see what is in the buffers of the "
			       "others; say -queuedepth 1 or unbuffered");
	if (t->endtoend.role != E2E_NONE)
		return err_set(why, -EINVAL,
			       "a destination reports what is in the file, not what is in a "
			       "buffer; say unbuffered");
	return 0;
}

static int stdio_check(const struct target_plan *target, struct err *why)
{
	const struct stdio_options *o = target->engine_options;

	if (target->direct_io)
		return err_set(why, -EINVAL,
			       "data goes through a buffer of the C library, whose address and "
			       "size -dio does not allow");
	if (target->kind == TARGET_CHAR)
		return err_set(why, -ENODEV,
			       "only files and block devices can be read and written here");
	if (o->unbuffered && o->buffer_bytes)
		return err_set(why, -EINVAL,
			       "unbuffered, bufsize: exclude each other; leave one of them out");
	return o->unbuffered || !plan_writes(target) ? 0 : check_buffered_writes(target, why);
}

/* ---- a context ---- */

/* Open the stream. It is closed without the descriptor of the context, which a copy stands for. */
static int open_stream(struct stdio *s)
{
	int fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0), err;

	s->at = NOWHERE;
	s->file = fd < 0 ? NULL : fdopen(fd, s->mode);
	if (!s->file) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	if (s->unbuffered)
		setvbuf(s->file, NULL, _IONBF, 0);
	else if (s->buffer)
		setvbuf(s->file, s->buffer, _IOFBF, s->buffer_bytes);
	return 0;
}

static void stdio_fini(void *ctx)
{
	struct stdio *s = ctx;

	if (!s)
		return;
	if (s->file)
		fclose(s->file);
	if (s->fd >= 0)
		close(s->fd);
	free(s->buffer);
	free(s);
}

/* A stream for both reads a buffer at each seek, also when it is only written to. */
static const char *mode_of(enum op_request op, int flags)
{
	const int access = flags & O_ACCMODE;

	if (access == O_RDONLY || op == OP_READ)
		return "r";
	return access == O_WRONLY || op == OP_WRITE ? "w" : "r+";
}

static int set_up(struct stdio *s, const struct engine_params *params)
{
	const struct stdio_options *o = params->target->engine_options;
	int flags = fcntl(params->fd, F_GETFL);

	s->mode = mode_of(params->target->op, flags);
	s->unbuffered = o->unbuffered;
	s->fd = flags < 0 ? -errno : fileopen_again(params->fd, flags & KEPT_FLAGS);
	if (s->fd == -ENOENT)
		return err_set(params->why, s->fd,
			       "needs /proc, to open the file for each QThread");
	if (s->fd < 0)
		return s->fd;
	if (o->buffer_bytes) {
		s->buffer_bytes = o->buffer_bytes;
		s->buffer = malloc(s->buffer_bytes);
		if (!s->buffer)
			return err_set(params->why, -ENOMEM, "bufsize: no memory for a buffer");
		/* The first operations must not include the page faults. */
		memset(s->buffer, 1, s->buffer_bytes);
	}
	return open_stream(s);
}

static int stdio_init(void **ctx, const struct engine_params *params)
{
	struct stdio *s;
	int err;

	/* Without data there is no file. */
	if (params->fd < 0 || params->target->op == OP_NOOP)
		return 0;
	s = engine_alloc(sizeof(*s));
	if (!s)
		return -ENOMEM;
	err = set_up(s, params);
	if (err) {
		stdio_fini(s);
		return err;
	}
	*ctx = s;
	return 0;
}

/* errno, which the library leaves as it is where it knows of an error from before. */
static int last_error(void)
{
	return errno ? -errno : -EIO;
}

/*
 * Move what is left of the request. Returns the bytes moved, or -errno; of a read they may be less
 * than wanted, which is no error yet.
 */
static ssize_t transfer(struct stdio *s, const struct io_request *req)
{
	const uint64_t offset = req->offset + req->done;
	const size_t size = req->size - req->done;
	char *buf = (char *)req->buf + req->done;
	size_t n;
	int err;

	errno = 0;
	if (offset != s->at || req->dir != s->dir) {
		s->at = NOWHERE;
		if (fseeko(s->file, (off_t)offset, SEEK_SET)) {
			err = last_error();
			clearerr(s->file);
			return err;
		}
		s->held = 0; /* written by the seek */
	}
	s->dir = req->dir;
	n = req->dir == DIR_READ ? fread(buf, 1, size, s->file) : fwrite(buf, 1, size, s->file);
	if (n == size) {
		s->at = offset + size;
		return (ssize_t)n;
	}
	err = ferror(s->file) ? last_error() : 0;
	clearerr(s->file);
	s->at = NOWHERE;
	/* How much of a write that failed is in the file is unknown. */
	return req->dir == DIR_READ && n ? (ssize_t)n : err;
}

static int stdio_submit(void *ctx, struct io_request *req)
{
	struct stdio *s = ctx;
	ssize_t n;

	if (req->dir == DIR_NOOP) {
		req->done = req->size;
		return 0;
	}
	if (!s || !s->file) {
		req->error = -EBADF;
		return 0;
	}
	s->held = __fpending(s->file);
	do {
		n = transfer(s, req);
		/* The library has dropped what it had in its buffer: again would be too late. */
		if (n == -EINTR && req->dir == DIR_WRITE)
			n = -EIO;
	} while (!io_request_result(req, n));
	return 0;
}

static void stdio_explain(const void *ctx, const struct io_request *req, char *buf, size_t size)
{
	const struct stdio *s = ctx;

	*buf = '\0';
	if (s && s->held)
		snprintf(buf, size,
			 "%s, with %zu bytes of operations before it, which were in the buffer",
			 req->error == -ENODATA ? "END-OF-FILE" : strerror(-req->error), s->held);
}

static int stdio_drain(void *ctx, bool ends_pass, uint64_t *held_bytes)
{
	struct stdio *s = ctx;
	int err = 0, again;

	*held_bytes = 0;
	if (!s || !s->file)
		return 0;
	*held_bytes = __fpending(s->file);
	errno = 0;
	if (*held_bytes && fflush(s->file)) {
		err = last_error();
		clearerr(s->file);
		s->at = NOWHERE;
	}
	if (!ends_pass)
		return err;
	errno = 0;
	if (fclose(s->file) && !err)
		err = last_error();
	again = open_stream(s);
	return err ? err : again;
}

static void stdio_describe(const void *ctx, char *buf, size_t size)
{
	const struct stdio *s = ctx;

	*buf = '\0';
	if (!s)
		return;
	if (s->unbuffered)
		snprintf(buf, size, "no buffer");
	else if (s->buffer)
		snprintf(buf, size, "a buffer of %zu bytes for each QThread", s->buffer_bytes);
	else
		snprintf(buf, size, "the buffer that the C library chooses");
}

static const struct option stdio_keywords[] = {
	{ .name = "bufsize",
	  .type = OPT_SIZE,
	  .arg = "<#bytes>",
	  .min = 1,
	  .max = BUFFER_MAX,
	  OPTION_FIELD(struct stdio_options, buffer_bytes),
	  .help = "size of the buffer of each QThread, which setvbuf() sets" },
	ENGINE_KEYWORD("unbuffered", struct stdio_options, unbuffered,
		       "no buffer: each operation is a system call"),
	{ 0 },
};

const struct engine engine_stdio = {
	.info = { ENGINE_NAMED("stdio", "fread and fwrite of the C library, through its buffer"),
		  .caps = ENGINE_OPENS | ENGINE_BUFFERS, .caps_with = stdio_caps,
		  .keywords = stdio_keywords, .options_size = sizeof(struct stdio_options) },
	.check = stdio_check,
	.init = stdio_init,
	.submit = stdio_submit,
	.drain = stdio_drain,
	.describe = stdio_describe,
	.explain = stdio_explain,
	.fini = stdio_fini,
};
