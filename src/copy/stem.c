/*
 * Names of files about a copy. Called by the command xdd copy, for its log, and by stamps.c.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "xdd/copy/copy.h"

#define HOST_BYTES 64
#define NAME_BYTES 100

/* The last part of a path; a length of 0: there is none that would do. */
static const char *last_part(const char *path, size_t *length)
{
	size_t end = strlen(path), begin;

	while (end && path[end - 1] == '/')
		end--;
	for (begin = end; begin && path[begin - 1] != '/'; begin--)
		;
	*length = end - begin;
	if (strncmp(path + begin, "..", *length) == 0)
		*length = 0;
	return path + begin;
}

void copy_stem(const char *path, uint64_t begun_s, char stem[COPY_STEM_BYTES])
{
	char host[HOST_BYTES + 1] = "", when[32];
	time_t begun = (time_t)begun_s;
	struct tm tm;
	size_t length;
	const char *name = last_part(path, &length);

	if (gethostname(host, sizeof(host) - 1) || !*host)
		strcpy(host, "localhost");
	if (!length) {
		name = "files";
		length = strlen(name);
	}
	gmtime_r(&begun, &tm);
	strftime(when, sizeof(when), "%Y-%m-%d-%H%M%S", &tm);
	snprintf(stem, COPY_STEM_BYTES, "xddcp-%s-%.*s-%s-GMT", host,
		 (int)(length < NAME_BYTES ? length : NAME_BYTES), name, when);
}
