/*
 * Placeholders in words of a command line, for a run on many hosts: one command line gives each
 * rank its own targets, offsets and names.
 *
 *   %h  the name of the host      %r  the rank, from 0
 *   %n  the number of ranks       %%  a percent sign
 *
 * A percent sign that ends a word, as in 30%, stands for itself.
 */
#ifndef XDD_PLAN_PLACEHOLDER_H
#define XDD_PLAN_PLACEHOLDER_H

#include <stddef.h>
#include <stdint.h>

struct arena;

/* The longest word that a replacement may give; the kernel admits 128 KiB. */
#define PLACEHOLDER_MAX_BYTES (64u << 10)

struct placeholders {
	const char *host;
	uint32_t rank, n_ranks;
};

/*
 * `word` with its placeholders replaced, in memory of `arena`; a word without a percent sign is
 * returned as it is. Returns 0 and the word in `*result`; or -EINVAL for a placeholder that does
 * not exist, -E2BIG for a result that is too long, or -ENOMEM, with the problem in `why`, without
 * the word. Any thread, with its own arena.
 */
int placeholder_replace(struct arena *arena, const char *word, const struct placeholders *p,
			const char **result, char *why, size_t size);

#endif
