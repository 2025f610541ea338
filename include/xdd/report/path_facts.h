/*
 * Facts about a file or device: its file system, mount and disk.
 */
#ifndef XDD_REPORT_PATH_FACTS_H
#define XDD_REPORT_PATH_FACTS_H

#include <jansson.h>

/*
 * The members "file_system" and "device", as in the environment of a document of -jsonout; each is
 * missing where nothing is known. Nothing is opened. The caller releases the object; NULL when
 * memory is short. Any thread.
 */
json_t *path_facts(const char *path);

#endif
