/*
 * Values of JSON documents; see the header. Called by all writers of JSON.
 */
#include "report/jvalue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/printable.h"
#include "xdd/base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

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
		size_t len = utf8_length(text);

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

void jvalue_write(FILE *f, const json_t *value)
{
	if (json_is_string(value))
		printable_put(f, json_string_value(value));
	else if (json_is_integer(value))
		fprintf(f, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		fprintf(f, "%.15g", json_real_value(value));
	else if (json_is_boolean(value))
		fputs(json_is_true(value) ? "yes" : "no", f);
}
