/*
 * Names with a number in them; see the header. Called by target_names.c.
 */
#include "plan/numbered_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "xdd/base/memory.h"

#define NUMBER_SIZE sizeof("18446744073709551615")

/*
 * The length of the conversion at `text`, a percent sign, with the digits of its number in
 * `*width`; 0: there is none.
 */
static size_t conversion(const char *text, int *width)
{
	*width = 1;
	if (text[1] == 'd')
		return 2;
	if (text[1] != '0' || text[2] < '1' || text[2] > '9' || text[3] != 'd')
		return 0;
	*width = text[2] - '0';
	return 4;
}

/* The sign at or after `name` that is not of "%%"; NULL: there is none. */
static const char *next_sign(const char *name)
{
	const char *sign = strchr(name, '%');

	while (sign && sign[1] == '%')
		sign = strchr(sign + 2, '%');
	return sign;
}

bool numbered_name_is(const char *name)
{
	int width;

	for (const char *sign = next_sign(name); sign; sign = next_sign(sign + 1)) {
		if (conversion(sign, &width))
			return true;
	}
	return false;
}

const char *numbered_name_wrong(const char *name)
{
	int width;

	for (const char *sign = next_sign(name); sign; sign = next_sign(sign + 1)) {
		if (!conversion(sign, &width))
			return sign;
	}
	return NULL;
}

const char *numbered_name(struct arena *arena, const char *name, uint64_t n)
{
	/* A conversion of two characters may become a number of twenty. */
	char *text = arena_alloc(arena, strlen(name) * NUMBER_SIZE / 2 + NUMBER_SIZE), *to = text;
	int width;

	while (text && *name) {
		const size_t len = *name == '%' ? conversion(name, &width) : 0;

		if (len) {
			to += sprintf(to, "%0*" PRIu64, width, n);
			name += len;
			continue;
		}
		if (name[0] == '%' && name[1] == '%')
			name++;
		*to++ = *name++;
	}
	if (text)
		*to = '\0';
	return text;
}
