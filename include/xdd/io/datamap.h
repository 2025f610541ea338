/*
 * Which bytes of a file or device are in the page cache, and which are holes, at one moment. Taken
 * before a pass; afterwards it tells the shares of what the pass has read.
 *
 * Owned by one target; one thread at a time, outside the timed window.
 */
#ifndef XDD_IO_DATAMAP_H
#define XDD_IO_DATAMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct datamap {
	uint64_t begin; /* bytes; the first page of the range */
	uint64_t end;
	size_t n;	  /* cells */
	uint64_t *bounds; /* n + 1: where each cell begins, and the end */
	double *resident; /* n + 1: bytes before each cell that are resident */
	double *holes;	  /* n + 1: bytes before each cell that are holes */
	int cache_err;	  /* 0, or -errno: residency is not known */
	int hole_err;	  /* 0, or -errno: holes are not known */
	bool cache_sampled;
};

/*
 * Look at the bytes from `begin` to `end` (not empty), in at most `cells` (64 or more) cells of
 * whole pages. `cache` and `holes` say what to look for. Inside a cell, resident bytes and holes
 * count as evenly spread. After `cells` extents the rest counts as having the share of holes of
 * what was seen. `m` is zero or was taken before. Returns 0 or -ENOMEM, with an empty map.
 */
int datamap_take(struct datamap *m, int fd, uint64_t begin, uint64_t end, size_t cells, bool cache,
		 bool holes);

/*
 * Add to the three: the bytes from `offset` to `offset + bytes` that the map covers, and of these
 * the resident ones and the holes. Nothing is added for what is not known, nor from an empty map.
 */
void datamap_add(const struct datamap *m, uint64_t offset, uint64_t bytes, double *covered,
		 double *resident, double *holes);

/* Is an extent that ends at `at` (and begins with the map) known to the page? */
bool datamap_is_exact(const struct datamap *m, uint64_t at);

/* Is each cell one page? */
bool datamap_has_all_pages(const struct datamap *m);

/* Frees what the map holds and empties it. */
void datamap_free(struct datamap *m);

#endif
