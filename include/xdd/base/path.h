/*
 * Names of files as text. Pure functions; any thread.
 */
#ifndef XDD_BASE_PATH_H
#define XDD_BASE_PATH_H

/* The name behind the last slash. */
const char *path_last(const char *path);

/* The folder that a file is in, "." where none is named; to be freed. NULL when memory is short. */
char *path_folder(const char *path);

#endif
