/*
 * Differences between the documents of several hosts, all at once: which values a member has, and
 * which hosts have which. Called by combine.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/combine_host.h"
#include "xdd/report/jvalue.h"

#define PATH_SIZE 256
#define MAX_DEPTH 12
#define MAX_DIFFERENCES 200

struct differ {
	json_t *found; /* array */
	size_t n;      /* documents */
	bool plan;     /* of the plans, which have the names of targets that are everywhere */
};

/* Members that change all the time, are meant to differ from host to host, or say it again. */
static bool is_left_out(const struct differ *d, const char *key, unsigned depth)
{
	static const char *const skipped[] = {
		"available_bytes", "free_bytes", "given", "jsonout", "output",
		"errout",	   "csvout",	 "id",	  "rank",    "combinedout",
	};

	for (size_t i = 0; i < sizeof(skipped) / sizeof(skipped[0]); i++) {
		if (strcmp(key, skipped[i]) == 0)
			return true;
	}
	/* The name of the host; its target's names; those in the options of the run. */
	return (depth == 0 && strcmp(key, "host") == 0) ||
	       (depth == 2 && strcmp(key, d->plan ? "name" : "path") == 0) ||
	       (depth == 1 && strcmp(key, "targets") == 0);
}

static bool all_equal(const json_t *const *values, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (values[i] != values[0] &&
		    !(values[0] && values[i] &&
		      json_equal((json_t *)values[0], (json_t *)values[i])))
			return false;
	}
	return true;
}

/* Each value once, with its hosts. */
static void put_difference(struct differ *d, const char *path, const json_t *const *values)
{
	json_t *o = json_object(), *list = json_array(), *index = json_object();

	for (size_t i = 0; i < d->n; i++) {
		json_t *value = values[i] ? (json_t *)values[i] : json_null();
		char *text = jvalue_dump(value, JVALUE_FORMAT | JSON_ENCODE_ANY);
		json_t *one = text ? json_object_get(index, text) : NULL;

		if (text && !one) {
			one = json_pack("{s:O,s:[]}", "value", value, "hosts");
			json_array_append_new(list, one);
			json_object_set(index, text, one);
		}
		json_array_append_new(json_object_get(one, "hosts"), jvalue_count(i));
		free(text);
	}
	json_decref(index);
	jvalue_put(o, "name", jvalue_text(path));
	jvalue_put(o, "values", list);
	json_array_append_new(d->found, o);
}

static void walk(struct differ *d, const char *path, const json_t *const *values, unsigned depth);

static void walk_member(struct differ *d, const char *path, const json_t *const *values,
			const char *key, size_t index, unsigned depth)
{
	const json_t **members = calloc(d->n, sizeof(*members));
	char buf[PATH_SIZE];

	if (!members)
		jvalue_no_memory();
	if (key)
		snprintf(buf, sizeof(buf), "%s%s%s", path, *path ? " " : "", key);
	else
		snprintf(buf, sizeof(buf), "%s%s%zu", path, *path ? " " : "", index);
	for (char *c = buf; *c; c++)
		*c = *c == '_' ? ' ' : *c;
	for (size_t i = 0; members && i < d->n; i++) {
		members[i] = key ? json_object_get(values[i], key) :
				   json_array_get(values[i], index);
		/* Missing is as good as null. */
		if (json_is_null(members[i]))
			members[i] = NULL;
	}
	if (members)
		walk(d, buf, members, depth + 1);
	free(members);
}

/* The members of the first object, then those that only others have. */
static void walk_objects(struct differ *d, const char *path, const json_t *const *values,
			 unsigned depth)
{
	json_t *seen = json_object(), *value;
	const char *key;

	for (size_t i = 0; seen && i < d->n; i++) {
		if (i && values[i] == values[i - 1])
			continue;
		json_object_foreach((json_t *)values[i], key, value)
		{
			if (is_left_out(d, key, depth) || json_object_get(seen, key))
				continue;
			json_object_set_new(seen, key, json_true());
			walk_member(d, path, values, key, 0, depth);
		}
	}
	json_decref(seen);
}

/* Arrays of objects, such as targets; one of plain values is a value. */
static bool all_lists(const json_t *const *values, size_t n, size_t *longest)
{
	*longest = 0;
	for (size_t i = 0; i < n; i++) {
		size_t size = json_array_size(values[i]);

		if (!json_is_array(values[i]) || !json_is_object(json_array_get(values[i], 0)))
			return false;
		*longest = size > *longest ? size : *longest;
	}
	return true;
}

static void walk(struct differ *d, const char *path, const json_t *const *values, unsigned depth)
{
	bool objects = true;
	size_t longest;

	if (all_equal(values, d->n) || json_array_size(d->found) >= MAX_DIFFERENCES)
		return;
	for (size_t i = 0; i < d->n; i++)
		objects &= json_is_object(values[i]);
	if (objects && depth < MAX_DEPTH) {
		walk_objects(d, path, values, depth);
	} else if (all_lists(values, d->n, &longest) && depth < MAX_DEPTH) {
		for (size_t i = 0; i < longest; i++)
			walk_member(d, path, values, NULL, i, depth);
	} else {
		put_difference(d, path, values);
	}
}

json_t *combine_differences(const struct combine_host *hosts, size_t n, const char *member)
{
	struct differ d = { .found = json_array(), .n = n, .plan = strcmp(member, "plan") == 0 };
	const json_t **values = calloc(n, sizeof(*values));

	for (size_t i = 0; values && i < n; i++)
		values[i] = json_object_get(hosts[i].doc, member);
	if (values)
		walk(&d, "", values, 0);
	else
		jvalue_no_memory();
	free(values);
	return d.found;
}
