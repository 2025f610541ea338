/*
 * The target operation table. Called through order.c by QThreads that take numbers before the turn.
 *
 * The word of a slot holds how often a turn was given in it, and two bits: a thread sleeps on it,
 * and the table is cancelled. The count tells operation n from n plus the length of the table.
 */
#include "run/issue/tot.h"

#include <errno.h>
#include <stdlib.h>

#include "xdd/sync/wait.h"

#define TOT_WAITER 1u
#define TOT_CANCELED 2u
#define TOT_BITS 3u
#define TOT_TURN 4u /* step of the count */

static _Atomic uint32_t *slot_of(const struct tot *t, uint64_t n)
{
	return &t->slots[n % t->n_slots];
}

/* The count of the slot of operation `n` once it is its turn, without the bits. */
static uint32_t turn_of(const struct tot *t, uint64_t n)
{
	return ((uint32_t)(n / t->n_slots) + 1) * TOT_TURN;
}

int tot_init(struct tot *t, uint64_t queue_depth)
{
	t->n_slots = (uint32_t)queue_depth * TOT_SLOTS_PER_OPERATION;
	t->slots = calloc(t->n_slots, sizeof(*t->slots));
	if (!t->slots)
		return -ENOMEM;
	tot_reset(t);
	return 0;
}

void tot_destroy(struct tot *t)
{
	free(t->slots);
	t->slots = NULL;
}

void tot_reset(struct tot *t)
{
	for (uint32_t i = 0; i < t->n_slots; i++)
		atomic_fetch_and(&t->slots[i], TOT_CANCELED);
	atomic_fetch_or(&t->slots[0], TOT_TURN);
}

bool tot_is_turn(const struct tot *t, uint64_t n)
{
	uint32_t word = atomic_load_explicit(slot_of(t, n), memory_order_acquire);

	return (word & ~TOT_BITS) == turn_of(t, n);
}

int tot_wait(struct tot *t, uint64_t n)
{
	_Atomic uint32_t *slot = slot_of(t, n);
	const uint32_t turn = turn_of(t, n);
	uint32_t word = atomic_load_explicit(slot, memory_order_acquire);

	while ((word & ~TOT_BITS) != turn) {
		if (word & TOT_CANCELED)
			return -ECANCELED;
		if (!(word & TOT_WAITER) && !atomic_compare_exchange_weak_explicit(
						    slot, &word, word | TOT_WAITER,
						    memory_order_acquire, memory_order_acquire))
			continue;
		futex_wait(slot, word | TOT_WAITER, NULL);
		word = atomic_load_explicit(slot, memory_order_acquire);
	}
	return 0;
}

void tot_pass_on(struct tot *t, uint64_t n)
{
	_Atomic uint32_t *slot = slot_of(t, n + 1);
	const uint32_t turn = turn_of(t, n + 1);
	uint32_t word = atomic_load_explicit(slot, memory_order_relaxed);

	while (!atomic_compare_exchange_weak_explicit(slot, &word, turn | (word & TOT_CANCELED),
						      memory_order_release, memory_order_relaxed))
		;
	if (word & TOT_WAITER)
		futex_wake_all(slot);
}

void tot_cancel(struct tot *t)
{
	for (uint32_t i = 0; i < t->n_slots; i++) {
		atomic_fetch_or(&t->slots[i], TOT_CANCELED);
		futex_wake_all(&t->slots[i]);
	}
}
