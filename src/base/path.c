/*
 * Names of files as text. Called where files are checked and made.
 */
#include "xdd/base/path.h"

#include <string.h>

const char *path_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *path_directory(const char *path)
{
	size_t len = (size_t)(path_last(path) - path);

	if (len == 0)
		return strdup(".");
	return strndup(path, len > 1 ? len - 1 : len);
}
