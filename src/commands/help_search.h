/*
 * The search of xdd -help. Main thread.
 */
#ifndef XDD_COMMANDS_HELP_SEARCH_H
#define XDD_COMMANDS_HELP_SEARCH_H

#include <stdbool.h>

/*
 * Print one line each for the options, suboptions, commands, columns and words of other tools that
 * have to do with `word`, best first. False: there are none, and nothing was printed.
 */
bool help_search(const char *word);

#endif
