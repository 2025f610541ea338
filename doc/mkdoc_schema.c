/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Members of JSON documents for a manual page, from doc/<name>.schema.json: types, units and
 * meaning. Objects that a schema names are parts of their own, and others are where they occur.
 */
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mkdoc.h"

/* Units that the end of a name tells. */
static const struct {
	const char *end, *unit;
} units[] = {
	{ "_ns", "nanoseconds" },	 { "_bytes", "bytes" },
	{ "_percent", "percent" },	 { "_iops", "operations per second" },
	{ "_ppm", "parts per million" },
};

#define REFERENCE "#/$defs/"

/* "series row" for "#/$defs/series_row". */
static void put_part_name(const char *reference)
{
	const char *name = strncmp(reference, REFERENCE, strlen(REFERENCE)) == 0 ?
				   reference + strlen(REFERENCE) :
				   reference;

	for (; *name; name++)
		putchar(*name == '_' ? ' ' : *name);
}

static void put_value(const json_t *value)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY);

	if (text)
		mkdoc_roff(text);
	free(text);
}

static void put_list(const json_t *list, void (*put)(const json_t *one))
{
	const size_t n = json_array_size(list);

	for (size_t i = 0; i < n; i++) {
		if (i)
			fputs(i + 1 == n ? " or " : ", ", stdout);
		put(json_array_get(list, i));
	}
}

static void put_type(const json_t *schema);

static void put_type_name(const json_t *name)
{
	fputs(json_string_value(name), stdout);
}

static void put_type(const json_t *schema)
{
	const json_t *type = json_object_get(schema, "type");
	const json_t *items = json_object_get(schema, "items");
	const char *reference = json_string_value(json_object_get(schema, "$ref"));

	if (reference)
		put_part_name(reference);
	else if (json_object_get(schema, "const"))
		put_value(json_object_get(schema, "const"));
	else if (json_object_get(schema, "enum"))
		put_list(json_object_get(schema, "enum"), put_value);
	else if (json_object_get(schema, "anyOf"))
		put_list(json_object_get(schema, "anyOf"), put_type);
	else if (json_is_array(type))
		put_list(type, put_type_name);
	else if (json_is_string(type))
		put_type_name(type);
	else
		fputs("any value", stdout);
	if (items) {
		fputs(" of ", stdout);
		put_type(items);
	}
}

static void put_unit(const char *name)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		const size_t length = strlen(units[i].end);

		if (strlen(name) > length &&
		    strcmp(name + strlen(name) - length, units[i].end) == 0)
			printf(", %s", units[i].unit);
	}
}

/* The part of a schema that has members: itself, or what it is a list of. NULL: none. */
static const json_t *with_members(const json_t *schema)
{
	const json_t *items = json_object_get(schema, "items");
	const json_t *choices = json_object_get(schema, "anyOf"), *found = NULL;

	if (json_object_get(schema, "properties"))
		return schema;
	for (size_t i = 0; i < json_array_size(choices) && !found; i++)
		found = with_members(json_array_get(choices, i));
	return found ? found : items ? with_members(items) : NULL;
}

static void put_members(const json_t *schema);

static void put_member(const char *name, const json_t *schema)
{
	const char *text = json_string_value(json_object_get(schema, "description"));
	const json_t *inner = with_members(schema);

	printf(".TP\n\\fB");
	mkdoc_roff(name);
	printf("\\fR (");
	put_type(schema);
	put_unit(name);
	printf(")\n");
	if (text) {
		mkdoc_roff(text);
		putchar('\n');
	}
	if (!inner)
		return;
	printf(".RS\n");
	put_members(inner);
	printf(".RE\n");
}

static void put_members(const json_t *schema)
{
	const char *name;
	const json_t *member;

	json_object_foreach((json_t *)(uintptr_t)json_object_get(schema, "properties"), name,
			    member) put_member(name, member);
}

static void put_part(const char *name, const json_t *schema)
{
	const char *text = json_string_value(json_object_get(schema, "description"));
	const json_t *inner = with_members(schema);

	printf(".SS ");
	put_part_name(name);
	putchar('\n');
	if (text) {
		mkdoc_roff(text);
		printf(".\n");
	}
	if (!inner) {
		printf("Type: ");
		put_type(schema);
		printf(".\n");
		return;
	}
	put_members(inner);
}

void mkdoc_schema(const char *name)
{
	char path[4096];
	json_error_t why;
	json_t *root;
	const char *key;
	json_t *part;

	snprintf(path, sizeof(path), "%s/%s.schema.json", SCHEMA_DIRECTORY, name);
	root = json_load_file(path, 0, &why);
	if (!root) {
		fprintf(stderr, "mkdoc: %s: %s\n", path, why.text);
		exit(1);
	}
	put_members(root);
	json_object_foreach(json_object_get(root, "$defs"), key, part) put_part(key, part);
	json_decref(root);
}
