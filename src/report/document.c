/*
 * Documents of -jsonout from files; see the header. Called by compare_load.c and combine*.c.
 */
#include "report/document.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/jsonout.h"
#include "xdd/base/log.h"
#include "xdd/report/jvalue.h"

struct reader {
	int fd;
	unsigned long long bytes; /* so far */
	int error;		  /* errno of a failed read, EFBIG: too long; 0: none */
	bool at_end;
};

static size_t read_some(void *buf, size_t size, void *arg)
{
	struct reader *r = arg;
	ssize_t n;

	do {
		n = read(r->fd, buf, size);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		r->error = errno;
	if (n == 0)
		r->at_end = true;
	if (n > 0)
		r->bytes += (unsigned long long)n;
	if (r->bytes > DOCUMENT_MAX_BYTES)
		r->error = EFBIG;
	return r->error ? (size_t)-1 : (size_t)n;
}

static json_t *parse(const char *command, const char *path, struct reader *r)
{
	const unsigned long lost = jvalue_lost();
	json_error_t err;
	json_t *root = jvalue_load(read_some, r, JSON_REJECT_DUPLICATES, &err);

	if (root)
		return root;
	if (jvalue_lost() != lost)
		r->error = ENOMEM;
	/* A document that ends in the middle of a word or a number is cut short as well. */
	if (r->error)
		log_error("%s: %s: %s", command, path, strerror(r->error));
	else if (r->at_end || json_error_code(&err) == json_error_premature_end_of_input)
		log_error("%s: %s: the document is cut short, in line %d", command, path, err.line);
	else
		log_error("%s: %s: no JSON: line %d, column %d: %s", command, path, err.line,
			  err.column, err.text);
	return NULL;
}

json_t *document_read(const char *command, const char *path)
{
	struct reader r = { .fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) };
	struct stat st;
	json_t *root;

	if (r.fd < 0) {
		log_error("%s: %s: %s", command, path, strerror(errno));
		return NULL;
	}
	if (fstat(r.fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		log_error("%s: %s: %s", command, path, strerror(EISDIR));
		close(r.fd);
		return NULL;
	}
	root = parse(command, path, &r);
	close(r.fd);
	return root;
}

bool document_check(const char *command, const char *path, const json_t *root)
{
	const char *format = json_string_value(json_object_get(root, "format"));
	const json_t *version = json_object_get(root, "version");

	if (!format || strcmp(format, JSONOUT_FORMAT) != 0) {
		log_error("%s: %s: this is JSON, but not of xdd -jsonout", command, path);
		return false;
	}
	if (!json_is_integer(version) || json_integer_value(version) != JSONOUT_VERSION) {
		log_error("%s: %s: this is of version %" JSON_INTEGER_FORMAT
			  " of the format; this xdd reads version %d",
			  command, path, json_integer_value(version), JSONOUT_VERSION);
		return false;
	}
	if (json_is_object(json_object_get(root, "environment")) &&
	    json_is_object(json_object_get(root, "plan")) &&
	    json_is_array(json_object_get(root, "statistics")))
		return true;
	log_error("%s: %s: the environment, the plan or the statistics are missing", command, path);
	return false;
}
