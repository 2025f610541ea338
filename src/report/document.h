/*
 * Documents of -jsonout that are read again: from files, of any author.
 *
 * Private to src/report. Any thread.
 */
#ifndef XDD_REPORT_DOCUMENT_H
#define XDD_REPORT_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>

/*
 * Read the JSON of `path`: no directory, at most DOCUMENT_MAX_BYTES. Returns a new reference, or
 * NULL after one line of log_error(), which begins with `command`.
 */
#define DOCUMENT_MAX_BYTES (1ull << 30)
json_t *document_read(const char *command, const char *path);

/*
 * Check that `root` is a document of a version that this program reads, with an environment, a plan
 * and statistics. False: reported as above.
 */
bool document_check(const char *command, const char *path, const json_t *root);

#endif
