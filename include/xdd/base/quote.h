/*
 * Words for a shell: command lines in reports and messages. Any thread that has the arena.
 */
#ifndef XDD_BASE_QUOTE_H
#define XDD_BASE_QUOTE_H

struct arena;

/* `word`, in quotes where a shell needs them; memory of `arena`. NULL: no memory. */
char *quote_word(struct arena *arena, const char *word);

#endif
