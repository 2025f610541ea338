/*
 * Opening one directory. Any thread.
 */
#ifndef COPY_TREE_OPENDIR_H
#define COPY_TREE_OPENDIR_H

/*
 * Open the directory `name` in `at`, one component that is no link and neither "." nor "..". One
 * that may not be read is opened with O_PATH. Returns a descriptor or -errno: -ELOOP or -ENOTDIR
 * where it is a link or another file, -EINVAL for another name.
 */
int opendir_below(int at, const char *name);

/* As opendir_below(), for a path, absolute or relative to `at`; links are followed. "" is `at`. */
int opendir_path(int at, const char *path);

#endif
