/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of JSON documents, and their output; see the header. Called by all writers of JSON.
 */
#include "xdd/report/jvalue.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "report/info.h"
#include "xdd/base/log.h"
#include "xdd/base/text.h"
#include "xdd/report/report.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* atomic: see jvalue_lost() */
static _Atomic unsigned long lost;

/*
 * Memory for what jansson asks for between the first request that has failed and the end of the
 * piece of text that it parses: it aborts where a number lacks its last character. Used once.
 */
#define RESERVE_BYTES (64 << 10)
static _Alignas(max_align_t) char reserve[RESERVE_BYTES];
static atomic_size_t reserve_used;

static void *from_reserve(size_t size)
{
	const size_t align = _Alignof(max_align_t);
	size_t at;

	if (size > RESERVE_BYTES)
		return NULL;
	size = (size + align - 1) / align * align;
	at = atomic_fetch_add(&reserve_used, size);
	if (at <= RESERVE_BYTES - size)
		return reserve + at;
	atomic_fetch_sub(&reserve_used, size);
	return NULL;
}

static void *count_malloc(size_t size)
{
	void *p = malloc(size);

	if (p)
		return p;
	jvalue_no_memory();
	return from_reserve(size);
}

static bool is_of_reserve(const void *p)
{
	const uintptr_t at = (uintptr_t)p, from = (uintptr_t)reserve;

	return at >= from && at < from + RESERVE_BYTES;
}

static void count_free(void *p)
{
	if (!is_of_reserve(p))
		free(p);
}

void jvalue_no_memory(void)
{
	atomic_fetch_add(&lost, 1);
}

void jvalue_start(void)
{
	json_set_alloc_funcs(count_malloc, count_free);
}

unsigned long jvalue_lost(void)
{
	return atomic_load(&lost);
}

char *jvalue_dump(const json_t *value, size_t flags)
{
	char *text = json_dumps(value, flags);

	return is_of_reserve(text) ? NULL : text;
}

struct loading {
	json_load_callback_t read;
	void *arg;
	unsigned long lost; /* of jvalue_lost() */
};

static size_t read_piece(void *buf, size_t size, void *arg)
{
	const struct loading *l = arg;

	return jvalue_lost() == l->lost ? l->read(buf, size, l->arg) : (size_t)-1;
}

json_t *jvalue_load(json_load_callback_t read, void *arg, size_t flags, json_error_t *error)
{
	struct loading l = { read, arg, jvalue_lost() };
	json_t *value = json_load_callback(read_piece, &l, flags, error);

	if (jvalue_lost() == l.lost)
		return value;
	json_decref(value);
	return NULL;
}

struct text {
	const char *at;
	size_t left;
};

static size_t read_text(void *buf, size_t size, void *arg)
{
	struct text *t = arg;
	const size_t n = t->left < size ? t->left : size;

	memcpy(buf, t->at, n);
	t->at += n;
	t->left -= n;
	return n;
}

json_t *jvalue_parse(const char *text, size_t size, size_t flags, json_error_t *error)
{
	struct text t = { text, size };

	return jvalue_load(read_text, &t, flags, error);
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

json_t *jvalue_known(bool known, uint64_t value)
{
	return known ? jvalue_count(value) : json_null();
}

json_t *jvalue_given(uint64_t value)
{
	return jvalue_known(value != 0, value);
}

json_t *jvalue_real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *jvalue_ns(double ns)
{
	return isnan(ns) ? json_null() : jvalue_count((uint64_t)ns);
}

json_t *jvalue_time(uint64_t wall_ns)
{
	char text[INFO_UTC_SIZE];

	return jvalue_text(info_utc(wall_ns, text));
}

json_t *jvalue_connection(const struct connection_info *c)
{
	json_t *o = json_object();

	jvalue_put(o, "local", jvalue_text(c->local));
	jvalue_put(o, "peer", jvalue_text(c->peer));
	jvalue_put(o, "congestion", jvalue_text(c->congestion));
	jvalue_put(o, "cipher", jvalue_text(*c->cipher ? c->cipher : NULL));
	jvalue_put(o, "kernel_tls", json_boolean(c->kernel_tls));
	jvalue_put(o, "send_buffer_bytes", jvalue_count(c->send_buffer_bytes));
	jvalue_put(o, "receive_buffer_bytes", jvalue_count(c->receive_buffer_bytes));
	jvalue_put(o, "rtt_ns", jvalue_count(c->rtt_ns));
	jvalue_put(o, "rtt_minimum_ns", jvalue_count(c->rtt_min_ns));
	jvalue_put(o, "rtt_variance_ns", jvalue_count(c->rtt_variance_ns));
	jvalue_put(o, "window_segments", jvalue_count(c->window_segments));
	jvalue_put(o, "segment_bytes", jvalue_count(c->segment_bytes));
	jvalue_put(o, "retransmits", jvalue_count(c->retransmits));
	jvalue_put(o, "transit_ns", jvalue_count(c->transit_ns));
	jvalue_put(o, "sent_bytes", jvalue_count(c->sent_bytes));
	jvalue_put(o, "received_bytes", jvalue_count(c->received_bytes));
	return o;
}

json_t *jvalue_messages(void)
{
	json_t *array = json_array();
	enum log_level level;
	const char *text;

	for (size_t i = 0; (text = log_kept(i, &level)); i++) {
		json_t *o = json_object();

		jvalue_put(o, "level", jvalue_text(log_level_name(level)));
		jvalue_put(o, "text", jvalue_text(text));
		json_array_append_new(array, o);
	}
	return array;
}

json_t *jvalue_shares(const struct copy_shares *s)
{
	json_t *o = json_object();

	jvalue_put(o, "storage", jvalue_real(s->storage));
	jvalue_put(o, "network", jvalue_real(s->network));
	jvalue_put(o, "waiting", jvalue_real(s->waiting));
	jvalue_put(o, "checking", jvalue_real(s->checking));
	jvalue_put(o, "transit", jvalue_real(s->transit));
	jvalue_put(o, "pace", jvalue_real(s->pace));
	jvalue_put(o, "processor", jvalue_real(s->processor));
	jvalue_put(o, "quota", jvalue_real(s->quota));
	jvalue_put(o, "flush", jvalue_real(s->flush));
	return o;
}

json_t *jvalue_between(const struct copy_verdict *v)
{
	json_t *array;

	if (v->other == COPY_LIMIT_UNKNOWN)
		return json_null();
	array = json_array();
	json_array_append_new(array, jvalue_text(copy_limit_name(v->limit)));
	json_array_append_new(array, jvalue_text(copy_limit_name(v->other)));
	return array;
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

/* ---- the output of a document ---- */

int jsonfile_open(struct jsonfile *j, const char *path, FILE *spool)
{
	int err;

	*j = (struct jsonfile){ .f = spool, .path = path, .lost = jvalue_lost() };
	if (spool)
		return 0;
	err = newfile_open(&j->file, path);
	j->f = j->file.f;
	return err;
}

void jsonfile_fail(struct jsonfile *j, int err)
{
	if (!j->error)
		j->error = err;
}

void jsonfile_put(struct jsonfile *j, FILE *f, json_t *value)
{
	if (!value)
		jsonfile_fail(j, ENOMEM);
	else if (json_dumpf(value, f, JVALUE_FORMAT | JSON_ENCODE_ANY))
		jsonfile_fail(j, errno ? errno : EIO);
	json_decref(value);
}

void jsonfile_member(struct jsonfile *j, const char *key, json_t *value)
{
	fprintf(j->f, ",\n\"%s\":", key);
	jsonfile_put(j, j->f, value);
}

void jsonfile_put_array(struct jsonfile *j, const char *key, FILE *items)
{
	int err;

	fprintf(j->f, ",\n\"%s\":[", key);
	err = ferror(items) ? -EIO : spool_copy(items, j->f);
	fputs("\n]", j->f);
	if (err)
		jsonfile_fail(j, -err);
}

int jsonfile_end(struct jsonfile *j)
{
	if (jvalue_lost() != j->lost)
		jsonfile_fail(j, ENOMEM);
	if (fflush(j->f) || ferror(j->f))
		jsonfile_fail(j, errno ? errno : EIO);
	return -j->error;
}

/* Whole, to where it can only be written. */
static int write_spool(const struct jsonfile *j)
{
	struct outfile out;
	int err = outfile_open(&out, j->path), closed;

	if (err)
		return err;
	err = outfile_copy(&out, j->f);
	closed = outfile_close(&out);
	return err ? err : closed;
}

int jsonfile_close(struct jsonfile *j)
{
	int err = jsonfile_end(j);

	if (j->file.f) {
		err = newfile_close(&j->file, err);
		j->f = NULL;
	} else if (!err) {
		err = write_spool(j);
	}
	jsonfile_discard(j);
	return err;
}

void jsonfile_discard(struct jsonfile *j)
{
	if (!j->file.f && j->f)
		fclose(j->f);
	newfile_discard(&j->file);
	j->f = NULL;
}

bool jvalue_is_plain(const json_t *value)
{
	const json_t *element;
	size_t i;

	if (json_is_object(value))
		return false;
	json_array_foreach(value, i, element)
	{
		if (json_is_object(element) || json_is_array(element))
			return false;
	}
	return true;
}

void jvalue_show(FILE *f, const json_t *value)
{
	const json_t *element;
	size_t i;

	if (!value || json_is_null(value)) {
		fputs("(none)", f);
	} else if (json_is_string(value) && !json_string_length(value)) {
		fputs("(empty)", f);
	} else if (!jvalue_is_plain(value)) {
		fputs("(there)", f);
	} else if (json_is_array(value)) {
		json_array_foreach(value, i, element)
		{
			if (i)
				fputc(' ', f);
			jvalue_show(f, element);
		}
	} else {
		jvalue_write(f, value);
	}
}
