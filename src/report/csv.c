/*
 * CSV files; see the header. Called by check.c before a run and by report.c.
 */
#include "report/csv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xdd/base/output.h"

size_t csv_header_cells(struct line_cell *cells, const struct column_list *list)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (list->columns[i]->type != COLUMN_DELIMITER)
			line_cell_set(&cells[n++], list->names[i]);
	}
	return n;
}

size_t csv_result_cells(struct line_cell *cells, const struct column_list *list,
			const struct result *r)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (list->columns[i]->type != COLUMN_DELIMITER)
			line_cell_bare(&cells[n++], list->columns[i], r);
	}
	return n;
}

/* Compare the first line of the open file with `header`; it may lack its newline at the end. */
static int compare_start(int fd, const char *header, size_t len)
{
	char *start = malloc(len);
	size_t got = 0;
	ssize_t n = 1;
	int ret;

	if (!start)
		return -ENOMEM;
	while (got < len && n > 0) {
		n = pread(fd, start + got, len - got, (off_t)got);
		if (n > 0)
			got += (size_t)n;
		else if (n < 0 && errno == EINTR)
			n = 1;
	}
	if (n < 0)
		ret = -errno;
	else if (got == 0)
		ret = CSV_START_NEW;
	else
		ret = got + 1 >= len && memcmp(start, header, got) == 0 ? CSV_START_SAME :
									  CSV_START_OTHER;
	free(start);
	return ret;
}

int csv_look(const char *path, const char *header, size_t len)
{
	struct stat st;
	int fd, ret;

	if (output_standard(path) >= 0)
		return CSV_START_NEW;
	if (stat(path, &st) < 0)
		return errno == ENOENT ? CSV_START_NEW : -errno;
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return CSV_START_NEW;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = compare_start(fd, header, len);
	close(fd);
	return ret;
}
