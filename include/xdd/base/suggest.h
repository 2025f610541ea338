/*
 * "Did you mean": how near two words are.
 */
#ifndef XDD_BASE_SUGGEST_H
#define XDD_BASE_SUGGEST_H

#include <stddef.h>

/*
 * The number of insertions, deletions, replacements and swaps of neighbours that turn `a` (`a_len`
 * characters) into `b`, ignoring case. For words longer than 63 characters it is their length.
 * (Optimal string alignment distance.) Pure; any thread.
 */
unsigned suggest_distance(const char *a, size_t a_len, const char *b);

/* Word `i` of some words, or NULL past the last one. */
typedef const char *(*suggest_word_at)(const void *words, size_t i);

/* The word of `words` nearest to a misspelt word, or NULL when none is near. Any thread. */
const char *suggest_nearest(const char *word, suggest_word_at at, const void *words);

/*
 * True when `distance` is small enough to suggest the word, for a misspelt word of `len`
 * characters.
 */
int suggest_is_near(unsigned distance, size_t len);

#endif
