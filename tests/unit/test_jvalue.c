/*
 * Values of JSON documents: text that is not UTF-8, numbers that JSON does not have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "xdd/report/jvalue.h"

#define R "\xef\xbf\xbd"

static void assert_text(const char *text, const char *wanted)
{
	json_t *value = jvalue_text(text);

	assert_non_null(value);
	assert_string_equal(json_string_value(value), wanted);
	json_decref(value);
}

/* Well-formed and ill-formed sequences: the Unicode Standard, tables 3-7 and 3-8. */
static void test_text(void **state)
{
	(void)state;
	assert_true(json_is_null(jvalue_text(NULL)));
	assert_text("", "");
	assert_text("/dev/sda \"\\\n\x01", "/dev/sda \"\\\n\x01");
	assert_text("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
	assert_text("a\xff"
		    "b",
		    "a" R "b");
	assert_text("\xc0\xaf", R R);
	assert_text("\xed\xa0\x80", R R R);
	assert_text("\xf4\x90\x80\x80", R R R R);
	assert_text("\xe2\x82", R R);
	assert_text("\xc3", R);
	assert_text("\xf0\x80\x80\x80\xc3\xa4", R R R R "\xc3\xa4");
}

static void assert_dump(json_t *value, const char *wanted)
{
	char *text = json_dumps(value, JVALUE_FORMAT | JSON_ENCODE_ANY);

	assert_string_equal(text, wanted);
	free(text);
	json_decref(value);
}

static void test_numbers(void **state)
{
	(void)state;
	assert_dump(jvalue_count(0), "0");
	assert_dump(jvalue_count(INT64_MAX), "9223372036854775807");
	assert_dump(jvalue_count((uint64_t)INT64_MAX + 1), "\"9223372036854775808\"");
	assert_dump(jvalue_count(UINT64_MAX), "\"18446744073709551615\"");
	assert_dump(jvalue_real(0.1), "0.1");
	assert_dump(jvalue_real(INFINITY), "null");
	assert_dump(jvalue_real(-INFINITY), "null");
	assert_dump(jvalue_real(NAN), "null");
}

static void test_put(void **state)
{
	json_t *o = json_object();

	(void)state;
	assert_int_equal(jvalue_put(o, "a", jvalue_count(1)), 0);
	assert_int_equal(jvalue_put(o, "b", NULL), -1);
	assert_int_equal(jvalue_put(o, "a", jvalue_count(2)), 0);
	assert_dump(o, "{\"a\":2}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_put),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
