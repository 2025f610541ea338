/*
 * Messages that are kept in place of being printed, so that a command can say what they are about.
 * Callers: run_series.c, sweep_points.c.
 */
#ifndef COMMANDS_CAPTURED_H
#define COMMANDS_CAPTURED_H

#include <stddef.h>

#define CAPTURED_TEXT_SIZE 4096

struct captured {
	char text[CAPTURED_TEXT_SIZE]; /* lines; ends with a NUL once there is one */
	size_t size;		       /* 0: none yet */
};

/* For log_divert(), with a struct captured as its argument: what has no room is left out. */
void captured_add(void *captured, const char *text, size_t size);

/* A line without the name of the program in front. */
const char *captured_message(const char *line);

#endif
