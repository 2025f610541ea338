/*
 * The log of a copy: a line for each failure and note, with -v for each entry, and the summary.
 * Called by report.c, which locks.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "copy/report/report_internal.h"
#include "xdd/base/output.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

#define TIME_SIZE 32

struct logfile {
	FILE *f;
	int error; /* the first errno */
};

static void put_time(FILE *f)
{
	uint64_t now_ns = clock_wall_ns();
	time_t now = (time_t)(now_ns / NS_PER_SEC);
	char text[TIME_SIZE];
	struct tm tm;

	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", localtime_r(&now, &tm));
	fprintf(f, "%s.%03u ", text, (unsigned)(now_ns % NS_PER_SEC / NS_PER_MS));
}

static int open_path(const char *path)
{
	int fd = output_standard(path);

	if (fd < 0)
		return output_open(path, O_APPEND);
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

int logfile_open(struct logfile **l, const struct copy_request *request)
{
	struct logfile *new = calloc(1, sizeof(*new));
	int fd = new ? open_path(request->log_path) : -ENOMEM;

	if (fd < 0) {
		free(new);
		return fd;
	}
	new->f = outwait_stream(fd);
	if (!new->f) {
		int err = -errno;

		close(fd);
		free(new);
		return err;
	}
	*l = new;
	put_time(new->f);
	fputs("command ", new->f);
	/* As the shell reads it. */
	printable_put(new->f, request->command ? request->command : "xdd copy");
	fputc('\n', new->f);
	return 0;
}

void logfile_line(struct logfile *l, const char *word, const char *text)
{
	put_time(l->f);
	fprintf(l->f, "%s ", word);
	printable_put_exact(l->f, text);
	fputc('\n', l->f);
}

static const char *outcome_word(enum copy_outcome outcome)
{
	static const char *const words[] = {
		[COPY_DONE] = "copied",	    [COPY_SAME] = "same",	[COPY_EQUAL] = "equal",
		[COPY_DIFFERS] = "differs", [COPY_LOST] = "not copied", [COPY_WOULD] = "would copy",
	};

	return words[outcome];
}

static const char *kind_word(enum copy_kind kind)
{
	switch (kind) {
	case COPY_DIR:
		return "directory";
	case COPY_SYMLINK:
		return "symbolic link";
	case COPY_LINK:
		return "hard link";
	default:
		return "file";
	}
}

void logfile_entry(struct logfile *l, const char *path, enum copy_kind kind, uint64_t bytes,
		   enum copy_outcome outcome)
{
	put_time(l->f);
	fprintf(l->f, "%s %s, %" PRIu64 " bytes: ", outcome_word(outcome), kind_word(kind), bytes);
	printable_put_exact(l->f, path);
	fputc('\n', l->f);
}

void logfile_flush(struct logfile *l)
{
	errno = 0;
	if ((fflush(l->f) || ferror(l->f)) && !l->error)
		l->error = errno ? errno : EIO;
}

int logfile_close(struct logfile *l, const struct copy_state *s)
{
	int err;

	if (!l)
		return 0;
	if (s->request) {
		put_time(l->f);
		summary_write(l->f, s);
		put_time(l->f);
		fprintf(l->f, "exit status %d\n", s->status);
	}
	logfile_flush(l);
	if (fclose(l->f) && !l->error)
		l->error = errno;
	err = -l->error;
	free(l);
	return err;
}
