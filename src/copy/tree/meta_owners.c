/*
 * Users and groups of two hosts by their names: those that the source tells, and the numbers that
 * they have at the destination. See meta.h.
 */
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "copy/tree/meta_attrs.h"
#include "xdd/base/random.h"

#define MAX_IDS 65536
#define FIRST_SIZE 64
#define LOOKUP_BYTES 65536 /* a group may have many members */

/* ---- numbers ---- */

struct id_slot {
	uint32_t id, other;
	bool used, group;
};

/* A table with open addressing. */
struct id_table {
	struct id_slot *slots;
	size_t n, size; /* a power of two, or 0 */
};

/* The slot of a number, or the free one for it. */
static struct id_slot *find(const struct id_table *t, uint32_t id, bool group)
{
	size_t i = (size_t)random_splitmix64(2 * (uint64_t)id + group) & (t->size - 1);

	while (t->slots[i].used && (t->slots[i].id != id || t->slots[i].group != group))
		i = (i + 1) & (t->size - 1);
	return &t->slots[i];
}

static int grow(struct id_table *t)
{
	struct id_table larger = { .n = t->n, .size = t->size ? 2 * t->size : FIRST_SIZE };

	larger.slots = calloc(larger.size, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->size; i++) {
		if (t->slots[i].used)
			*find(&larger, t->slots[i].id, t->slots[i].group) = t->slots[i];
	}
	free(t->slots);
	*t = larger;
	return 0;
}

static bool has(const struct id_table *t, uint32_t id, bool group)
{
	return t->size && find(t, id, group)->used;
}

/* Returns 0, also for those beyond the limit, or -ENOMEM. */
static int put(struct id_table *t, uint32_t id, bool group, uint32_t other)
{
	struct id_slot *s;

	if (t->n >= MAX_IDS && !has(t, id, group))
		return 0;
	if (4 * t->n >= 3 * t->size && grow(t))
		return -ENOMEM;
	s = find(t, id, group);
	t->n += !s->used;
	*s = (struct id_slot){ .id = id, .group = group, .other = other, .used = true };
	return 0;
}

/* ---- source ---- */

struct meta_names {
	struct id_table known;
	bool has_last;
	uint32_t last_uid, last_gid; /* of the entry before */
	char buffer[LOOKUP_BYTES];
};

struct meta_names *meta_names_new(void)
{
	return calloc(1, sizeof(struct meta_names));
}

void meta_names_free(struct meta_names *k)
{
	if (k)
		free(k->known.slots);
	free(k);
}

static const char *user_name(struct meta_names *k, uint32_t uid)
{
	struct passwd user, *found = NULL;

	getpwuid_r(uid, &user, k->buffer, sizeof(k->buffer), &found);
	return found ? found->pw_name : NULL;
}

static const char *group_name(struct meta_names *k, uint32_t gid)
{
	struct group group, *found = NULL;

	getgrgid_r(gid, &group, k->buffer, sizeof(k->buffer), &found);
	return found ? found->gr_name : NULL;
}

/* True if the number is new and has a name that can be sent. */
static bool is_news(struct meta_names *k, uint32_t id, bool group, struct copy_entry *owner)
{
	const char *name;

	if (has(&k->known, id, group) || put(&k->known, id, group, 0) || !has(&k->known, id, group))
		return false;
	name = group ? group_name(k, id) : user_name(k, id);
	if (!name || !*name || strlen(name) >= COPY_MAX_NAME_BYTES || strchr(name, '/') ||
	    strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return false;
	*owner = (struct copy_entry){ .kind = COPY_OWNER, .name = name, .group = group };
	if (group)
		owner->gid = id;
	else
		owner->uid = id;
	return true;
}

static bool is_news_in_acl(struct meta_names *k, const struct copy_attr *a,
			   struct copy_entry *owner)
{
	struct attr_acl_id id;

	for (size_t at = 0; attr_acl_next(a, &at, &id);) {
		if (is_news(k, id.id, id.group, owner))
			return true;
	}
	return false;
}

bool meta_owner_before(struct meta_names *k, const struct copy_entry *e, struct copy_entry *owner)
{
	if (e->kind != COPY_DIR && e->kind != COPY_FILE && e->kind != COPY_SYMLINK)
		return false;
	if (!k->has_last || k->last_uid != e->uid || k->last_gid != e->gid) {
		if (is_news(k, e->uid, false, owner) || is_news(k, e->gid, true, owner))
			return true;
		k->has_last = true;
		k->last_uid = e->uid;
		k->last_gid = e->gid;
	}
	for (size_t i = 0; i < e->n_attrs; i++) {
		if (is_news_in_acl(k, &e->attrs[i], owner))
			return true;
	}
	return false;
}

/* ---- destination ---- */

struct shared_table {
	pthread_mutex_t lock;
	struct id_table table; /* guarded by the lock */
};

struct meta_owners {
	struct shared_table *shared; /* const */
	char buffer[LOOKUP_BYTES];   /* of the writer */
};

struct meta_owners *meta_owners_new(void)
{
	struct meta_owners *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->shared = calloc(1, sizeof(*o->shared));
	if (!o->shared) {
		free(o);
		return NULL;
	}
	pthread_mutex_init(&o->shared->lock, NULL);
	return o;
}

void meta_owners_free(struct meta_owners *o)
{
	if (!o)
		return;
	pthread_mutex_destroy(&o->shared->lock);
	free(o->shared->table.slots);
	free(o->shared);
	free(o);
}

int meta_owners_add(struct meta_owners *o, const struct copy_entry *e)
{
	uint32_t there = e->group ? e->gid : e->uid, here = there;
	struct passwd user, *found_user = NULL;
	struct group group, *found_group = NULL;
	int err;

	if (e->group)
		getgrnam_r(e->name, &group, o->buffer, sizeof(o->buffer), &found_group);
	else
		getpwnam_r(e->name, &user, o->buffer, sizeof(o->buffer), &found_user);
	if (found_group)
		here = found_group->gr_gid;
	if (found_user)
		here = found_user->pw_uid;
	if (here == there)
		return 0;
	pthread_mutex_lock(&o->shared->lock);
	err = put(&o->shared->table, there, e->group, here);
	pthread_mutex_unlock(&o->shared->lock);
	return err;
}

static uint32_t here(const struct meta_owners *o, uint32_t id, bool group)
{
	struct shared_table *s = o->shared;

	pthread_mutex_lock(&s->lock);
	if (has(&s->table, id, group))
		id = find(&s->table, id, group)->other;
	pthread_mutex_unlock(&s->lock);
	return id;
}

uid_t meta_uid(const struct meta_owners *o, uint32_t uid)
{
	return here(o, uid, false);
}

gid_t meta_gid(const struct meta_owners *o, uint32_t gid)
{
	return here(o, gid, true);
}
