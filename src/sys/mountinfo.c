/*
 * Options of mounted file systems; see the header. Called by the checks of results.
 */
#include "xdd/sys/mountinfo.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The options after "- type source" of a line; cuts the line. NULL: it has none. */
static char *super_options(char *line)
{
	char *save = NULL, *word;

	line[strcspn(line, "\n")] = '\0';
	for (word = strtok_r(line, " ", &save); word && strcmp(word, "-") != 0;
	     word = strtok_r(NULL, " ", &save))
		;
	strtok_r(NULL, " ", &save);
	strtok_r(NULL, " ", &save);
	return strtok_r(NULL, " ", &save);
}

static bool has_option(char *options, const char *name)
{
	const size_t len = strlen(name);
	char *save = NULL;

	for (char *o = strtok_r(options, ",", &save); o; o = strtok_r(NULL, ",", &save)) {
		if (strncmp(o, name, len) == 0 && (!o[len] || o[len] == '='))
			return true;
	}
	return false;
}

bool mountinfo_has_option(const char *path, const char *name)
{
	char *line = NULL, *options = NULL;
	struct statx st;
	size_t size = 0;
	bool has = false;
	FILE *f;

	if (statx(AT_FDCWD, path, 0, STATX_MNT_ID, &st) < 0 || !(st.stx_mask & STATX_MNT_ID))
		return false;
	f = fopen("/proc/self/mountinfo", "re");
	while (f && !options && getline(&line, &size, f) > 0) {
		if (strtoull(line, NULL, 10) == st.stx_mnt_id)
			options = super_options(line);
		if (options)
			has = has_option(options, name);
	}
	free(line);
	if (f)
		fclose(f);
	return has;
}
