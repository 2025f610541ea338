/*
 * The journal of a sweep on disk. Called by sweep.c and sweep_run.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/sweep.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/output.h"

#define MOST_BYTES (1ull << 30)

static enum xdd_status fail(const struct sweep *s, int err)
{
	log_error("%s: -journal %s: %s", s->kind->name, s->journal_path, output_strerror(err));
	return err == -ENOMEM ? XDD_INIT_FAILED : XDD_BAD_ARGUMENT;
}

/* Make what was written durable. Returns 0 or -errno. */
static int flush(FILE *f)
{
	return fflush(f) || fdatasync(fileno(f)) ? -errno : 0;
}

/* ---- a new journal ---- */

static enum xdd_status begin(struct sweep *s)
{
	const struct sweep_journal header = { .words = s->words,
					      .seed = s->results.seed,
					      .points = s->vary.n_points,
					      .started_ns = s->results.started_ns };
	int fd = open(s->journal_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), err;

	if (fd < 0 && errno == EEXIST) {
		log_error("%s: -journal %s: exists; -resume continues that sweep, and without "
			  "the file a new one begins",
			  s->kind->name, s->journal_path);
		return XDD_BAD_ARGUMENT;
	}
	if (fd < 0)
		return fail(s, -errno);
	s->journal = flock(fd, LOCK_EX | LOCK_NB) < 0 ? NULL : fdopen(fd, "w");
	if (!s->journal) {
		close(fd);
		return fail(s, -ENOMEM);
	}
	err = sweep_journal_header(s->journal, &header);
	if (!err)
		err = flush(s->journal);
	return err ? fail(s, err) : XDD_OK;
}

/* ---- one that exists ---- */

/* A round that is there twice would count twice. */
static int take_round(void *arg, const struct sweep_round *round)
{
	struct sweep_results *r = arg;
	const struct sweep_point *p;

	if (round->point >= r->vary->n_points)
		return -EBADMSG;
	p = &r->points[round->point];
	for (size_t i = 0; i < p->n; i++) {
		if (p->rounds[i].round == round->round)
			return -EBADMSG;
	}
	return sweep_results_add(r, round);
}

static enum xdd_status check_header(struct sweep *s, const struct sweep_journal *header)
{
	if (!sweep_journal_matches(header, s->words)) {
		log_error("%s: -resume: %s is of another sweep: %s", s->kind->name, s->journal_path,
			  header->words);
		return XDD_BAD_ARGUMENT;
	}
	if (header->points != s->vary.n_points) {
		log_error("%s: -resume: %s is of a sweep of %ju points, and this one has %zu",
			  s->kind->name, s->journal_path, (uintmax_t)header->points,
			  s->vary.n_points);
		return XDD_BAD_ARGUMENT;
	}
	s->results.seed = header->seed;
	s->results.started_ns = header->started_ns;
	return XDD_OK;
}

static enum xdd_status decode(struct sweep *s, const char *text, size_t size, size_t *whole)
{
	struct sweep_journal header;
	enum xdd_status status = XDD_OK;
	size_t line;
	int err = sweep_journal_decode(text, size, &header, take_round, &s->results, whole, &line);

	if (header.words)
		status = check_header(s, &header);
	free((char *)(uintptr_t)header.words);
	if (status || !err)
		return status;
	if (err != -EBADMSG)
		return fail(s, err);
	log_error("%s: -resume: %s: line %zu is damaged", s->kind->name, s->journal_path, line);
	return XDD_BAD_ARGUMENT;
}

/* False, with a message: this is no journal, not even one whose first line is not whole. */
static bool is_journal(const struct sweep *s, int fd, const char *text, size_t size)
{
	static const char begins[] = SWEEP_JOURNAL_BEGINS;
	struct stat st;
	bool good = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);

	for (size_t i = 0; i < size && i < SWEEP_JOURNAL_DIGITS && good; i++)
		good = strchr("0123456789abcdef", text[i]) && text[i];
	if (size > SWEEP_JOURNAL_DIGITS && good) {
		size -= SWEEP_JOURNAL_DIGITS;
		good = memcmp(text + SWEEP_JOURNAL_DIGITS, begins,
			      size < sizeof(begins) - 1 ? size : sizeof(begins) - 1) == 0;
	}
	if (!good)
		log_error("%s: -resume: %s is no journal of a sweep", s->kind->name,
			  s->journal_path);
	return good;
}

/* Read it, and cut off a line that was not written whole. */
static enum xdd_status resume(struct sweep *s)
{
	int fd = open(s->journal_path, O_RDWR | O_APPEND | O_CLOEXEC);
	enum xdd_status status;
	char *text;
	size_t size, whole = 0;
	int err;

	if (fd < 0 && errno == ENOENT) {
		log_error("%s: -resume: %s does not exist: there is nothing to resume",
			  s->kind->name, s->journal_path);
		return XDD_BAD_ARGUMENT;
	}
	if (fd < 0)
		return fail(s, -errno);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		log_error("%s: -resume: %s is in use by another sweep", s->kind->name,
			  s->journal_path);
		close(fd);
		return XDD_BAD_ARGUMENT;
	}
	err = readfile(fd, MOST_BYTES, &text, &size);
	if (err) {
		close(fd);
		return fail(s, err);
	}
	if (!is_journal(s, fd, text, size)) {
		free(text);
		close(fd);
		return XDD_BAD_ARGUMENT;
	}
	/* It was ended before its first line was written. */
	if (!memchr(text, '\n', size)) {
		free(text);
		close(fd);
		return unlink(s->journal_path) < 0 ? fail(s, -errno) : begin(s);
	}
	status = decode(s, text, size, &whole);
	free(text);
	if (!status && ftruncate(fd, (off_t)whole) < 0)
		status = fail(s, -errno);
	s->journal = status ? NULL : fdopen(fd, "a");
	if (!s->journal)
		close(fd);
	return status || s->journal ? status : fail(s, -ENOMEM);
}

enum xdd_status sweep_journal_open(struct sweep *s)
{
	if (!s->journal_path)
		return XDD_OK;
	return s->line.resume ? resume(s) : begin(s);
}

bool sweep_journal_add(struct sweep *s, const struct sweep_round *round)
{
	int err;

	if (!s->journal)
		return true;
	err = sweep_journal_round(s->journal, round);
	if (!err)
		err = flush(s->journal);
	if (err)
		fail(s, err);
	return !err;
}

void sweep_journal_close(struct sweep *s, bool done)
{
	if (!s->journal)
		return;
	fclose(s->journal);
	s->journal = NULL;
	if (done && unlink(s->journal_path) < 0)
		log_warning("%s: %s: %s", s->kind->name, s->journal_path, strerror(errno));
}
