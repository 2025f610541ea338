/*
 * The memory of a walk: names at the top, and files with several names. See walk_private.h.
 *
 * Both are tables with open addressing. Names are known by 64 bits of a hash: among a million of
 * names, two are taken for the same one with a probability below 10^-7.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "copy/tree/walk_private.h"
#include "xdd/base/bytes.h"
#include "xdd/base/memory.h"
#include "xdd/base/random.h"

#define FIRST_SIZE 256

/* ---- names ---- */

static uint64_t hash_name(const char *name, enum walk_kind kind)
{
	size_t n = strlen(name);
	uint64_t h = random_splitmix64(n * RANDOM_GOLDEN + (uint64_t)kind);

	for (; n >= 8; name += 8, n -= 8)
		h = random_splitmix64(h ^ bytes_get(name, 8));
	if (n)
		h ^= bytes_get(name, (unsigned)n);
	h = random_splitmix64(h + RANDOM_GOLDEN);
	return h ? h : 1;
}

/* The slot that has `h`, or the free one for it. */
static uint64_t *find_name(const struct walk_set *s, uint64_t h)
{
	size_t i = (size_t)h & (s->size - 1);

	while (s->slots[i] && s->slots[i] != h)
		i = (i + 1) & (s->size - 1);
	return &s->slots[i];
}

static int grow_names(struct walk_set *s)
{
	struct walk_set larger = { .n = s->n, .size = s->size ? 2 * s->size : FIRST_SIZE };

	larger.slots = calloc(larger.size, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < s->size; i++) {
		if (s->slots[i])
			*find_name(&larger, s->slots[i]) = s->slots[i];
	}
	free(s->slots);
	*s = larger;
	return 0;
}

bool walk_set_has(const struct walk_set *s, const char *name, enum walk_kind kind)
{
	return s->size && *find_name(s, hash_name(name, kind));
}

bool walk_set_add(struct walk_set *s, const char *name, enum walk_kind kind)
{
	uint64_t h = hash_name(name, kind), *slot;

	if (4 * s->n >= 3 * s->size && grow_names(s))
		return false;
	slot = find_name(s, h);
	if (*slot)
		return false;
	*slot = h;
	s->n++;
	return true;
}

void walk_set_free(struct walk_set *s)
{
	free(s->slots);
	*s = (struct walk_set){ .n = 0 };
}

/* ---- files with several names ---- */

struct walk_link {
	uint64_t ino;
	uint64_t id;   /* 0: free */
	uint32_t dev;  /* the index of its device */
	uint32_t left; /* names that were not seen */
};

/* The index of a device. Returns 0 or -ENOMEM. */
static int dev_index(struct walk_links *l, uint64_t dev, uint32_t *index)
{
	uint64_t *devs;

	for (uint32_t i = 0; i < l->n_devs; i++) {
		if (l->devs[i] == dev) {
			*index = i;
			return 0;
		}
	}
	devs = array_room(l->devs, l->n_devs, sizeof(*devs));
	if (!devs)
		return -ENOMEM;
	l->devs = devs;
	*index = l->n_devs;
	devs[l->n_devs++] = dev;
	return 0;
}

static size_t link_home(const struct walk_links *l, uint32_t dev, uint64_t ino)
{
	return (size_t)random_splitmix64(ino * RANDOM_GOLDEN + dev) & (l->size - 1);
}

static struct walk_link *find_link(const struct walk_links *l, uint32_t dev, uint64_t ino)
{
	size_t i = link_home(l, dev, ino);

	while (l->slots[i].id && (l->slots[i].ino != ino || l->slots[i].dev != dev))
		i = (i + 1) & (l->size - 1);
	return &l->slots[i];
}

static int grow_links(struct walk_links *l)
{
	struct walk_links larger = *l;

	larger.size = l->size ? 2 * l->size : FIRST_SIZE;
	larger.slots = calloc(larger.size, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < l->size; i++) {
		const struct walk_link *x = &l->slots[i];

		if (x->id)
			*find_link(&larger, x->dev, x->ino) = *x;
	}
	free(l->slots);
	*l = larger;
	return 0;
}

/* Free a slot, and close the gap in the chain of those that follow. */
static void drop_link(struct walk_links *l, struct walk_link *x)
{
	size_t mask = l->size - 1, gap = (size_t)(x - l->slots), i = gap;

	for (;;) {
		size_t home;

		i = (i + 1) & mask;
		if (!l->slots[i].id)
			break;
		home = link_home(l, l->slots[i].dev, l->slots[i].ino);
		if (((i - home) & mask) >= ((i - gap) & mask)) {
			l->slots[gap] = l->slots[i];
			gap = i;
		}
	}
	l->slots[gap].id = 0;
	l->n--;
}

uint64_t walk_links_first(struct walk_links *l, const struct stat *st, uint64_t id, bool *is_last)
{
	struct walk_link *x;
	uint32_t dev;

	*is_last = false;
	if (4 * l->n >= 3 * l->size && l->n < l->most && grow_links(l))
		return 0;
	if (dev_index(l, st->st_dev, &dev))
		return 0;
	x = find_link(l, dev, st->st_ino);
	if (x->id) {
		id = x->id;
		*is_last = --x->left == 0;
		if (*is_last)
			drop_link(l, x);
		return id;
	}
	if (l->n >= l->most)
		return 0;
	*x = (struct walk_link){
		.dev = dev, .ino = st->st_ino, .id = id, .left = (uint32_t)st->st_nlink - 1
	};
	l->n++;
	return id;
}

void walk_links_free(struct walk_links *l)
{
	free(l->slots);
	free(l->devs);
	*l = (struct walk_links){ .most = l->most };
}
