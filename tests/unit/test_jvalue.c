/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of JSON documents: text that is not UTF-8, numbers that JSON does not have; and the output
 * of a document.
 */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xdd/base/memory.h"
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
TEST(test_text)
{
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

TEST(test_numbers)
{
	assert_dump(jvalue_count(0), "0");
	assert_dump(jvalue_count(INT64_MAX), "9223372036854775807");
	assert_dump(jvalue_count((uint64_t)INT64_MAX + 1), "\"9223372036854775808\"");
	assert_dump(jvalue_count(UINT64_MAX), "\"18446744073709551615\"");
	assert_dump(jvalue_real(0.1), "0.1");
	assert_dump(jvalue_real(INFINITY), "null");
	assert_dump(jvalue_real(-INFINITY), "null");
	assert_dump(jvalue_real(NAN), "null");
}

TEST(test_put)
{
	json_t *o = json_object();

	assert_int_equal(jvalue_put(o, "a", jvalue_count(1)), 0);
	assert_int_equal(jvalue_put(o, "b", NULL), -1);
	assert_int_equal(jvalue_put(o, "a", jvalue_count(2)), 0);
	assert_dump(o, "{\"a\":2}");
}

static void assert_file(const char *path, const char *wanted)
{
	char text[64] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_true(fread(text, 1, sizeof(text) - 1, f) == strlen(wanted));
	fclose(f);
	assert_string_equal(text, wanted);
}

static void put_document(struct jsonfile *j, FILE *items)
{
	fputs("{\"a\":", j->f);
	jsonfile_put(j, j->f, jvalue_count(1));
	fputs("\n2", items);
	jsonfile_put_array(j, "b", items);
	fputs("}\n", j->f);
	fclose(items);
}

#define DOCUMENT "{\"a\":1,\n\"b\":[\n2\n]}\n"

/* A document is complete, or its file stays as it was; one in a spool is written at the end. */
/* `value` as people read it. Consumes `value`. */
static void assert_written(json_t *value, const char *wanted)
{
	struct memstream m;

	jvalue_write(xmemstream_open(&m), value);
	json_decref(value);
	assert_string_equal(xmemstream_close(&m), wanted);
	free(m.text);
}

TEST(test_write)
{
	assert_written(json_string("a\x1b"), "a\\x1b");
	assert_written(json_integer(-7), "-7");
	assert_written(json_real(.5), "0.5");
	assert_written(json_true(), "yes");
	assert_written(json_false(), "no");
	assert_written(json_null(), "");
}

TEST(test_output)
{
	char path[] = "/tmp/test_jvalue.XXXXXX";
	struct jsonfile j = { .f = NULL };
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "old", 3), 3);
	close(fd);

	jsonfile_discard(&j);
	assert_int_equal(jsonfile_open(&j, path, NULL), 0);
	put_document(&j, spool_open(NULL));
	jsonfile_put(&j, j.f, NULL);
	jsonfile_fail(&j, EIO);
	assert_file(path, "old");
	assert_int_equal(jsonfile_close(&j), -ENOMEM);
	jsonfile_discard(&j);
	assert_file(path, "old");

	assert_int_equal(jsonfile_open(&j, path, NULL), 0);
	put_document(&j, spool_open(NULL));
	assert_int_equal(jsonfile_close(&j), 0);
	jsonfile_discard(&j);
	assert_file(path, DOCUMENT);

	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(jsonfile_open(&j, path, spool_open(NULL)), 0);
	put_document(&j, spool_open(NULL));
	assert_file(path, "");
	assert_int_equal(jsonfile_close(&j), 0);
	assert_file(path, DOCUMENT);

	assert_int_equal(jsonfile_open(&j, path, spool_open(NULL)), 0);
	jvalue_no_memory();
	assert_int_equal(jsonfile_close(&j), -ENOMEM);
	assert_file(path, DOCUMENT);
	unlink(path);
}

RUN_TESTS(NULL, NULL)
