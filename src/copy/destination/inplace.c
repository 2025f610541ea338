/*
 * Files of several names with -i; see the header. Called by existing.c and sums.c.
 */
#include "copy/destination/inplace.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/random.h"

#define BUCKETS 4096u /* a power of two */

struct inplace_file {
	struct inplace_file *next;
	/* const */
	uint64_t dev, ino;
	uint64_t first_id;
	char *first; /* the name that was offered first */

	/* guarded by the lock of the table */
	char *last; /* another one; NULL: there is none */
	bool written;
};

struct inplace {
	pthread_mutex_t lock;
	struct inplace_file *buckets[BUCKETS]; /* of the receiving thread */
};

struct inplace *inplace_new(void)
{
	struct inplace *p = calloc(1, sizeof(*p));

	if (p)
		pthread_mutex_init(&p->lock, NULL);
	return p;
}

void inplace_free(struct inplace *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < BUCKETS; i++) {
		while (p->buckets[i]) {
			struct inplace_file *f = p->buckets[i];

			p->buckets[i] = f->next;
			free(f->first);
			free(f->last);
			free(f);
		}
	}
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static struct inplace_file **find(struct inplace *p, const struct stat *st)
{
	uint64_t hash = random_splitmix64(st->st_ino * RANDOM_GOLDEN + st->st_dev);
	struct inplace_file **at = &p->buckets[hash & (BUCKETS - 1)];

	while (*at && ((*at)->ino != st->st_ino || (*at)->dev != st->st_dev))
		at = &(*at)->next;
	return at;
}

struct inplace_file *inplace_offer(struct inplace *p, const struct stat *st, uint64_t id,
				   const char *path)
{
	struct inplace_file **at = find(p, st), *f = *at;
	char *name = strdup(path);

	if (!f && name)
		f = calloc(1, sizeof(*f));
	if (!f || !name) {
		free(name);
		return NULL;
	}
	if (*at) {
		pthread_mutex_lock(&p->lock);
		free(f->last);
		f->last = name;
		pthread_mutex_unlock(&p->lock);
		return f;
	}
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	f->first_id = id;
	f->first = name;
	*at = f;
	return f;
}

bool inplace_refuses(struct inplace *p, struct inplace_file *f, uint64_t id, bool writes,
		     char *other)
{
	bool refused;

	pthread_mutex_lock(&p->lock);
	refused = f->last && (writes || f->written);
	if (refused)
		snprintf(other, COPY_MAX_PATH_BYTES, "%s", id == f->first_id ? f->last : f->first);
	else
		f->written |= writes;
	pthread_mutex_unlock(&p->lock);
	return refused;
}
