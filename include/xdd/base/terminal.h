/*
 * The terminal that a file descriptor may be.
 */
#ifndef XDD_BASE_TERMINAL_H
#define XDD_BASE_TERMINAL_H

#include <sys/ioctl.h>

/* The width of the terminal `fd`, or 0: not a terminal, or its width is unknown. */
static inline unsigned terminal_columns(int fd)
{
	struct winsize size = { 0 };

	return ioctl(fd, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

#endif
