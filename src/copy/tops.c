/*
 * Names of the sources of a copy at its destination; see the header.
 */
#include "copy/tops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The last component of `path`; "" where that is not a name of its own. NULL: no memory. */
static char *top_of(const char *path)
{
	size_t end = strlen(path), begin;

	if (!end || path[end - 1] == '/')
		return strdup("");
	begin = end;
	while (begin > 0 && path[begin - 1] != '/')
		begin--;
	if (strcmp(path + begin, ".") == 0 || strcmp(path + begin, "..") == 0)
		return strdup("");
	return strdup(path + begin);
}

int copy_tops_set(struct copy_job *job)
{
	char **names;

	job->top_names = NULL;
	job->n_top_names = 0;
	if (job->settings->list)
		return 0;
	names = calloc(job->n_sources, sizeof(*names));
	if (!names)
		return -ENOMEM;
	job->top_names = (const char *const *)names;
	job->n_top_names = job->n_sources;
	for (size_t i = 0; i < job->n_sources; i++) {
		names[i] = top_of(job->sources[i]);
		if (!names[i]) {
			copy_tops_free(job);
			return -ENOMEM;
		}
	}
	return 0;
}

void copy_tops_free(struct copy_job *job)
{
	char **names = (char **)job->top_names;

	for (size_t i = 0; names && i < job->n_top_names; i++)
		free(names[i]);
	free(names);
	job->top_names = NULL;
	job->n_top_names = 0;
}
