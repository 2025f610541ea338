/*
 * Exit statuses of the program. Functions that can end the run return them as well.
 */
#ifndef XDD_BASE_STATUS_H
#define XDD_BASE_STATUS_H

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

#endif
