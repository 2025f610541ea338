/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exit statuses of the program. Functions that can end the run return them as well.
 */
#ifndef XDD_BASE_STATUS_H
#define XDD_BASE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

enum xdd_status {
	XDD_OK = 0,
	XDD_INIT_FAILED = 1,
	XDD_BAD_ARGUMENT = 2,
	XDD_BAD_OPTION = 3,
	XDD_TARGET_FAILED = 4,
	XDD_CANCELED = 5,
	XDD_IO_ERROR = 6,
	XDD_MISCOMPARE = 7,
};

/*
 * Exit statuses of a copy besides XDD_OK, XDD_CANCELED (a signal) and XDD_MISCOMPARE (contents that
 * differ): as the xddcp of earlier programs had them, where they apply.
 */
enum copy_status {
	COPY_BAD_ARGUMENTS = 101, /* the least */
	COPY_BAD_NAMES = 102,	  /* the form of source and destination */
	COPY_NO_XDD = 103,	  /* on the other host */
	COPY_BAD_COMBINATION = 105,
	COPY_NO_SOURCE = 106,
	COPY_NO_SSH = 108,    /* it cannot be started */
	COPY_SSH_ENDED = 109, /* it could not connect, or the connection was lost */
	COPY_BAD_SIZE = 111,
	COPY_BAD_VERSION = 112,
	COPY_FAILED = 114, /* something was not copied */
	COPY_NO_PORT = 115,
	COPY_NEEDS_SIZE = 118,	   /* a device whose size is not known */
	COPY_NO_DESTINATION = 119, /* its directory does not exist */
	COPY_NOT_WRITABLE = 120,   /* the greatest */
};

/* True for XDD_OK and the ranges of both enums: a peer may send it. */
static inline bool status_is_known(uint32_t status)
{
	return status <= XDD_MISCOMPARE ||
	       (status >= COPY_BAD_ARGUMENTS && status <= COPY_NOT_WRITABLE);
}

#endif
