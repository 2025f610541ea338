/*
 * Values of JSON documents; see the header. Called by all writers of JSON.
 */
#include "xdd/report/jvalue.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/*
 * The length of the character at `s` when it is well-formed UTF-8, else 0. The Unicode Standard,
 * table 3-7.
 */
static size_t character(const unsigned char *s)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t len;

	if (*s < 0x80)
		return 1;
	if (*s < 0xc2 || *s > 0xf4)
		return 0;
	len = *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4;
	if (*s == 0xe0)
		low = 0xa0;
	else if (*s == 0xed)
		high = 0x9f;
	else if (*s == 0xf0)
		low = 0x90;
	else if (*s == 0xf4)
		high = 0x8f;
	for (size_t i = 1; i < len; i++) {
		if (s[i] < low || s[i] > high)
			return 0;
		low = 0x80;
		high = 0xbf;
	}
	return len;
}

json_t *jvalue_text(const char *text)
{
	json_t *value;
	char *clean, *o;

	if (!text)
		return json_null();
	value = json_string(text);
	if (value)
		return value;
	clean = malloc(strlen(text) * strlen(REPLACEMENT) + 1);
	if (!clean)
		return NULL;
	o = clean;
	while (*text) {
		size_t len = character((const unsigned char *)text);

		if (len)
			o = mempcpy(o, text, len);
		else
			o = mempcpy(o, REPLACEMENT, strlen(REPLACEMENT));
		text += len ? len : 1;
	}
	*o = '\0';
	value = json_string(clean);
	free(clean);
	return value;
}

json_t *jvalue_count(uint64_t value)
{
	char digits[24];

	if (value <= INT64_MAX)
		return json_integer((json_int_t)value);
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	return json_string(digits);
}

json_t *jvalue_real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

int jvalue_put(json_t *object, const char *key, json_t *value)
{
	return value ? json_object_set_new(object, key, value) : -1;
}
