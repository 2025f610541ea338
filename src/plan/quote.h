/*
 * Words for a shell: command lines in reports and messages. Main thread.
 */
#ifndef XDD_PLAN_QUOTE_H
#define XDD_PLAN_QUOTE_H

struct arena;

/* `word`, in quotes where a shell needs them; memory of `arena`. NULL: no memory. */
char *quote_word(struct arena *arena, const char *word);

#endif
