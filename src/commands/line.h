/*
 * Command lines that consist of options with a value or none: those of xdd timeserver and xdd
 * gettime. Private to src/commands; main thread.
 */
#ifndef XDD_COMMANDS_LINE_H
#define XDD_COMMANDS_LINE_H

#include <stdbool.h>

#include "xdd/base/status.h"

struct command;
struct option;

/*
 * Read `argv` from its second word on, by the rows of the command: each value goes to its field in
 * `line`. Rows are OPT_FLAG, OPT_U64, OPT_SECONDS or OPT_TEXT. A row named "help" ends it, with
 * `*help`. Returns XDD_OK, or XDD_BAD_ARGUMENT or XDD_BAD_OPTION, reported.
 */
enum xdd_status line_read(const struct command *command, int argc, char **argv, void *line,
			  bool *help);

/*
 * As line_read(), for one option: its value `text` (NULL: there is no further word) goes to its
 * field in `line`. `word` is the option as given, and `name` the command.
 */
enum xdd_status line_take(const char *name, const struct option *opt, const char *word,
			  const char *text, void *line);

#endif
