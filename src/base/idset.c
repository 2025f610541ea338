/*
 * Sets of small numbers; see the header. Used for processors and NUMA nodes.
 */
#include "xdd/base/idset.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "xdd/base/units.h"

#define WORDS (IDSET_SIZE / IDSET_BITS_PER_WORD)
#define ITEM_SIZE 32 /* more than one number or range needs */

void idset_add(struct idset *s, unsigned id)
{
	s->words[id / IDSET_BITS_PER_WORD] |= 1ul << id % IDSET_BITS_PER_WORD;
}

bool idset_has(const struct idset *s, unsigned id)
{
	return id < IDSET_SIZE &&
	       (s->words[id / IDSET_BITS_PER_WORD] >> id % IDSET_BITS_PER_WORD & 1);
}

unsigned idset_count(const struct idset *s)
{
	unsigned n = 0;

	for (size_t i = 0; i < WORDS; i++)
		n += (unsigned)__builtin_popcountl(s->words[i]);
	return n;
}

int idset_nth(const struct idset *s, unsigned n)
{
	for (unsigned id = 0; id < IDSET_SIZE; id++) {
		if (idset_has(s, id) && n-- == 0)
			return (int)id;
	}
	return -1;
}

void idset_merge(struct idset *s, const struct idset *from)
{
	for (size_t i = 0; i < WORDS; i++)
		s->words[i] |= from->words[i];
}

void idset_intersect(struct idset *s, const struct idset *other)
{
	for (size_t i = 0; i < WORDS; i++)
		s->words[i] &= other->words[i];
}

int idset_first_outside(const struct idset *s, const struct idset *other)
{
	struct idset rest = *s;

	for (size_t i = 0; i < WORDS; i++)
		rest.words[i] &= ~other->words[i];
	return idset_nth(&rest, 0);
}

/* "8" or "0-3". */
static int parse_item(void *set, char *item)
{
	struct idset *s = set;
	char *dash = strchr(item, '-');
	uint64_t first, last;
	int err;

	if (dash)
		*dash = '\0';
	err = units_parse_u64(item, &first);
	if (err)
		return err;
	last = first;
	if (dash)
		err = units_parse_u64(dash + 1, &last);
	if (err)
		return err;
	if (last < first)
		return -EINVAL;
	if (last >= IDSET_SIZE)
		return -ERANGE;
	for (uint64_t id = first; id <= last; id++)
		idset_add(s, (unsigned)id);
	return 0;
}

int idset_each_item(const char *text, int (*take)(void *arg, char *item), void *arg)
{
	for (;;) {
		size_t len = strcspn(text, ",");
		char item[ITEM_SIZE];
		int err;

		if (len >= sizeof(item))
			return -EINVAL;
		memcpy(item, text, len);
		item[len] = '\0';
		err = take(arg, item);
		if (err || !text[len])
			return err;
		text += len + 1;
	}
}

int idset_parse(struct idset *s, const char *text)
{
	return idset_each_item(text, parse_item, s);
}

/* Append "0-3", with a comma where it is not the first. */
static bool append(char *buf, size_t size, unsigned first, unsigned last)
{
	size_t len = strlen(buf);
	char item[ITEM_SIZE];
	int n;

	if (first == last)
		n = snprintf(item, sizeof(item), "%s%u", len ? "," : "", first);
	else
		n = snprintf(item, sizeof(item), "%s%u-%u", len ? "," : "", first, last);
	if (n < 0 || len + (size_t)n + sizeof("...") > size)
		return false;
	memcpy(buf + len, item, (size_t)n + 1);
	return true;
}

char *idset_text(const struct idset *s, char *buf, size_t size)
{
	*buf = '\0';
	for (unsigned id = 0; id < IDSET_SIZE; id++) {
		unsigned first = id;

		if (!idset_has(s, id))
			continue;
		while (idset_has(s, id + 1))
			id++;
		if (!append(buf, size, first, id)) {
			strncat(buf, "...", size - strlen(buf) - 1);
			return buf;
		}
	}
	if (!*buf)
		snprintf(buf, size, "none");
	return buf;
}
