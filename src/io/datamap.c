/*
 * Maps of resident bytes and holes; see the header. Called by src/run/meter/sample.c.
 */
#include "xdd/io/datamap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xdd/io/pagecache.h"

/* How often the size of cells doubles over a large range. */
#define OCTAVES 16

void datamap_free(struct datamap *m)
{
	free(m->bounds);
	free(m->resident);
	free(m->holes);
	*m = (struct datamap){ 0 };
}

/*
 * Where cells begin: each page is one or, of a larger range, the cells double in size each time
 * that the offset doubles. So they are small at the beginning of a range, and a sequential pass may
 * read no more than that.
 */
static void set_bounds(struct datamap *m, size_t cells, uint64_t page)
{
	const uint64_t range = m->end - m->begin;
	const bool pages = range <= cells * page;
	const size_t per = pages ? (range + page - 1) / page : cells / OCTAVES;
	uint64_t from = 0;

	m->bounds[0] = m->begin;
	for (unsigned s = pages ? OCTAVES : 1; s <= OCTAVES; s++) {
		uint64_t to = range >> (OCTAVES - s);

		for (size_t i = 1; i <= per; i++) {
			uint64_t at =
				from + (uint64_t)((double)(to - from) * (double)i / (double)per);

			at = m->begin + (pages ? i * page : at / page * page);
			if (at > m->bounds[m->n] && at < m->end)
				m->bounds[++m->n] = at;
		}
		from = to;
	}
	m->bounds[++m->n] = m->end;
}

/* The cell that holds `at`, which is inside the range. */
static size_t cell_of(const struct datamap *m, uint64_t at)
{
	size_t low = 0, high = m->n;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (m->bounds[middle] <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Amounts of cells become sums of all cells before. */
static void add_up(double *cells, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i <= n; i++) {
		double own = cells[i];

		cells[i] = sum;
		sum += own;
	}
}

static int map_cache(struct datamap *m, int fd)
{
	for (size_t i = 0; i < m->n; i++) {
		uint64_t at = m->bounds[i], resident = 0;
		int err = pagecache_resident(fd, at, m->bounds[i + 1] - at, &resident,
					     &m->cache_sampled);

		if (err)
			return err;
		m->resident[i] = (double)resident;
	}
	add_up(m->resident, m->n);
	return 0;
}

/* Share a hole among the cells that it lies in. */
static void add_hole(struct datamap *m, uint64_t at, uint64_t end)
{
	for (size_t i = at < end ? cell_of(m, at) : m->n; at < end; i++) {
		uint64_t next = m->bounds[i + 1] < end ? m->bounds[i + 1] : end;

		m->holes[i] += (double)(next - at);
		at = next;
	}
}

/* From `at` on, as many holes as before. */
static void extrapolate(struct datamap *m, uint64_t at)
{
	double share = 0;

	for (size_t i = 0; i < m->n; i++)
		share += m->holes[i];
	share /= (double)(at - m->begin);
	for (size_t i = cell_of(m, at); i < m->n; i++) {
		uint64_t from = m->bounds[i] > at ? m->bounds[i] : at;

		m->holes[i] += share * (double)(m->bounds[i + 1] - from);
	}
}

static int map_holes(struct datamap *m, int fd, size_t extents)
{
	uint64_t at = m->begin;

	for (size_t seen = 0; at < m->end; seen++) {
		off_t data = lseek(fd, (off_t)at, SEEK_DATA), hole;

		if (data < 0 && errno != ENXIO)
			return -errno;
		/* There is no more data up to the end of the file. */
		if (data < 0 || (uint64_t)data >= m->end) {
			add_hole(m, at, m->end);
			break;
		}
		add_hole(m, at, (uint64_t)data);
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole < 0)
			return -errno;
		at = (uint64_t)hole;
		if (seen >= extents && at < m->end) {
			extrapolate(m, at);
			break;
		}
	}
	add_up(m->holes, m->n);
	return 0;
}

int datamap_take(struct datamap *m, int fd, uint64_t begin, uint64_t end, size_t cells, bool cache,
		 bool holes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	datamap_free(m);
	m->begin = begin / page * page;
	m->end = end;
	m->bounds = calloc(cells + 2, sizeof(*m->bounds));
	m->resident = calloc(cells + 2, sizeof(*m->resident));
	m->holes = calloc(cells + 2, sizeof(*m->holes));
	if (!m->bounds || !m->resident || !m->holes) {
		datamap_free(m);
		return -ENOMEM;
	}
	set_bounds(m, cells, page);
	m->cache_err = cache ? map_cache(m, fd) : -EOPNOTSUPP;
	m->hole_err = holes ? map_holes(m, fd, cells) : -EOPNOTSUPP;
	if (m->cache_err)
		memset(m->resident, 0, (m->n + 1) * sizeof(*m->resident));
	if (m->hole_err)
		memset(m->holes, 0, (m->n + 1) * sizeof(*m->holes));
	return 0;
}

/* The part of a quantity that lies before `at`, by its sums before each cell. */
static double before(const struct datamap *m, const double *sums, uint64_t at)
{
	size_t i = cell_of(m, at);

	return sums[i] + (sums[i + 1] - sums[i]) * (double)(at - m->bounds[i]) /
				 (double)(m->bounds[i + 1] - m->bounds[i]);
}

bool datamap_is_exact(const struct datamap *m, uint64_t at)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	size_t i;

	if (!m->n || at <= m->begin || at >= m->end)
		return true;
	i = cell_of(m, at);
	return at == m->bounds[i] || m->bounds[i + 1] - m->bounds[i] <= page;
}

bool datamap_has_all_pages(const struct datamap *m)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return m->n == (m->end - m->begin + page - 1) / page;
}

void datamap_add(const struct datamap *m, uint64_t offset, uint64_t bytes, double *covered,
		 double *resident, double *holes)
{
	uint64_t end = offset + bytes;

	if (offset < m->begin)
		offset = m->begin;
	if (end > m->end)
		end = m->end;
	if (!m->n || offset >= end)
		return;
	*covered += (double)(end - offset);
	*resident += before(m, m->resident, end) - before(m, m->resident, offset);
	*holes += before(m, m->holes, end) - before(m, m->holes, offset);
}
