/*
 * xdd tsread: prints dumps of time stamps.
 */
#ifndef XDD_TRACE_TSREAD_H
#define XDD_TRACE_TSREAD_H

#include "xdd/base/status.h"

/*
 * `argv[0]` is "tsread". Writes to standard output or the file asked for, complaints to log_error().
 * Returns XDD_OK; XDD_BAD_ARGUMENT or XDD_BAD_OPTION; XDD_IO_ERROR when something could not be read or
 * written; XDD_MISCOMPARE when a dump is damaged: what is sound of it was printed. Called by main.
 */
enum xdd_status tsread_main(int argc, char **argv);

#endif
