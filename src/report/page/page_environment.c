/*
 * Environment and plan of a document as tables of names and values. Called by page.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/page.h"
#include "xdd/base/memory.h"
#include "xdd/report/jvalue.h"

#define PATH_BYTES 256
#define MAX_LEVELS 8

struct facts {
	struct page *p;
	size_t n; /* rows so far, also those that are not shown */
};

static void put_value(struct facts *facts, const char *path, const json_t *value)
{
	struct memstream m;

	if (++facts->n > PAGE_MAX_ROWS)
		return;
	if (memstream_open(&m))
		jvalue_write(m.f, value);
	if (memstream_close(&m)) {
		facts->p->incomplete = true;
		return;
	}
	page_row(facts->p, path);
	page_cell(facts->p, m.text);
	page_row_end(facts->p);
	free(m.text);
}

static void walk(struct facts *facts, const char *path, const json_t *value, int level)
{
	const json_t *member;
	const char *key;
	char below[PATH_BYTES];
	size_t i;

	if (level > MAX_LEVELS || json_is_null(value))
		return;
	if (json_is_object(value)) {
		json_object_foreach((json_t *)(uintptr_t)value, key, member)
		{
			snprintf(below, sizeof(below), "%s%s%s", path, *path ? " " : "", key);
			walk(facts, below, member, level + 1);
		}
	} else if (json_is_array(value)) {
		json_array_foreach(value, i, member)
		{
			snprintf(below, sizeof(below), "%s %zu", path, i);
			walk(facts, below, member, level + 1);
		}
	} else {
		put_value(facts, path, value);
	}
}

static void put_table(struct page *p, const char *caption, const json_t *value)
{
	static const char *const heads[] = { "|name", "|value", NULL };
	struct facts facts = { .p = p };

	page_table(p, caption, heads);
	walk(&facts, "", value, 0);
	page_table_end(p, facts.n > PAGE_MAX_ROWS ? facts.n - PAGE_MAX_ROWS : 0);
}

/* Members that a document lacks are left out. Returns 0, or -1 without memory. */
static int copy_member(json_t *to, const char *name, json_t *value)
{
	return value ? json_object_set(to, name, value) : 0; /* its references are counted */
}

/* The targets as the run had them. */
static void put_plan(struct page *p, const json_t *plan)
{
	const json_t *targets = json_object_get(plan, "targets"), *target;
	json_t *shown = json_object(), *list = json_array();
	int failed = copy_member(shown, "run", json_object_get(plan, "resolved"));
	size_t i;

	json_array_foreach(targets, i, target)
	{
		json_t *one = json_object(), *resolved = json_object_get(target, "resolved");

		failed |= copy_member(one, "path", json_object_get(target, "path"));
		failed |= resolved ? json_object_update(one, resolved) : 0;
		failed |= json_array_append_new(list, one);
	}
	failed |= json_object_set_new(shown, "target", list);
	p->incomplete |= failed != 0;
	put_table(p, "The plan of the run", shown);
	json_decref(shown);
}

void page_environment(struct page *p, const struct compare_run *run)
{
	page_section(p, 3, "Environment");
	put_table(p, "Machine, kernel, programs and storage",
		  json_object_get(run->root, "environment"));
	if (!compare_is_sweep(run))
		put_plan(p, json_object_get(run->root, "plan"));
	page_section_end(p);
}
