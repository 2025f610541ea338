/*
 * Small files of the kernel. Called while a run is checked and described, and for the clock.
 */
#include "xdd/sys/sysfile.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "xdd/base/units.h"

char *sysfile_line(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char *start = buf, *end;
	ssize_t n;

	if (fd < 0)
		return NULL;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n <= 0)
		return NULL;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	while (isblank((unsigned char)*start))
		start++;
	end = start + strlen(start);
	while (end > start && isblank((unsigned char)end[-1]))
		*--end = '\0';
	return *start ? start : NULL;
}

bool sysfile_number(const char *path, uint64_t *value)
{
	char buf[32], *line = sysfile_line(path, buf, sizeof(buf));

	return line && units_parse_u64(line, value) == 0;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

char *sysfile_unescape(char *text)
{
	char *o = text;

	for (const char *c = text; *c; c++) {
		if (c[0] == '\\' && is_octal(c[1]) && is_octal(c[2]) && is_octal(c[3])) {
			*o++ = (char)((c[1] - '0') * 64 + (c[2] - '0') * 8 + (c[3] - '0'));
			c += 3;
		} else {
			*o++ = *c;
		}
	}
	*o = '\0';
	return text;
}
