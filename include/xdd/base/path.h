/*
 * Names of files as text. Pure functions; any thread.
 */
#ifndef XDD_BASE_PATH_H
#define XDD_BASE_PATH_H

/* The name after the last slash. */
const char *path_last(const char *path);

/*
 * The directory of a file, "." where none is named. The caller frees it. NULL when memory is short.
 */
char *path_directory(const char *path);

#endif
