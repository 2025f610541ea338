/*
 * The messages of all ranks; see the header. Called by the thread of a group, and on rank 0 by any
 * thread that has a message.
 */
#include "sync/group_log.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/memory.h"

#define NAME "xdd: "

void group_log_init(struct group_log *l)
{
	memset(l, 0, sizeof(*l));
	pthread_mutex_init(&l->lock, NULL);
}

static int add(struct group_log *l, unsigned rank, const char *text, size_t size, uint64_t now_ns)
{
	struct group_line *line;

	for (unsigned i = 0; i < l->n; i++) {
		line = &l->lines[i];
		if (strncmp(line->text, text, size) == 0 && !line->text[size] &&
		    line->first != rank && line->last != rank) {
			line->last = rank;
			line->ranks++;
			return 1;
		}
	}
	if (l->n == GROUP_LOG_LINES)
		return 0;
	line = &l->lines[l->n];
	line->text = strndup(text, size);
	/* A line for which there is no memory is lost: there is no better place to say so. */
	if (!line->text)
		return 1;
	line->first = line->last = rank;
	line->ranks = 1;
	if (!l->n++)
		l->since_ns = now_ns;
	return 1;
}

int group_log_add(struct group_log *l, unsigned rank, const char *text, size_t size,
		  uint64_t now_ns)
{
	int done;

	pthread_mutex_lock(&l->lock);
	done = add(l, rank, text, size, now_ns);
	pthread_mutex_unlock(&l->lock);
	return done;
}

static void write_line(FILE *f, const struct group_line *line, unsigned size, const char *host)
{
	const bool named = strncmp(line->text, NAME, strlen(NAME)) == 0;
	const char *rest = named ? line->text + strlen(NAME) : line->text;

	if (line->ranks == 1 && line->first)
		fprintf(f, "%srank %u on %s: %s\n", named ? NAME : "", line->first, host, rest);
	else if (line->ranks == 1)
		fprintf(f, "%s\n", line->text);
	else if (line->ranks == size)
		fprintf(f, "%s (all %u ranks)\n", line->text, size);
	else
		fprintf(f, "%s (%u of %u ranks; one is rank %u on %s)\n", line->text, line->ranks,
			size, line->first, host);
}

char *group_log_take(struct group_log *l, uint64_t now_ns, unsigned size, group_log_host *host,
		     void *arg)
{
	struct memstream m = { 0 };

	pthread_mutex_lock(&l->lock);
	if (l->n && (now_ns == UINT64_MAX || now_ns > l->since_ns + GROUP_LOG_WAIT_NS)) {
		if (memstream_open(&m)) {
			for (unsigned i = 0; i < l->n; i++)
				write_line(m.f, &l->lines[i], size, host(arg, l->lines[i].first));
			if (memstream_close(&m))
				m.text = NULL;
		}
		for (unsigned i = 0; i < l->n; i++)
			free(l->lines[i].text);
		l->n = 0;
	}
	pthread_mutex_unlock(&l->lock);
	return m.text;
}

void group_log_destroy(struct group_log *l)
{
	for (unsigned i = 0; i < l->n; i++)
		free(l->lines[i].text);
	pthread_mutex_destroy(&l->lock);
}
