/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The surroundings of all harnesses: messages, files in memory, a directory.
 */
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "xdd/base/log.h"

#define MESSAGES_MAX_BYTES (1u << 20)
#define OUTPUT_MAX_BYTES (4u << 20)

static int messages_fd = -1;
static int output_fd = -1;
static char directory[4096];

void fuzz_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("fuzz: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	abort();
}

static void make_file(const char *name, const char *text, off_t size)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) < 0 || (size && ftruncate(fd, size)))
		fuzz_fail("%s: cannot be created", name);
	close(fd);
}

static void make_directory(void)
{
	const char *parent = getenv("TMPDIR");

	snprintf(directory, sizeof(directory), "%s/xddfuzz.XXXXXX", parent ? parent : "/tmp");
	if (!mkdtemp(directory) || chdir(directory))
		fuzz_fail("%s: cannot be created", directory);
	make_file("data", "", 1 << 20);
	make_file("short", "", 5000);
	make_file("empty", "", 0);
	make_file("setup", "-numreqs 4 # four\n-reqsize 4\n", 0);
	make_file("loop", "-setup loop\n", 0);
	make_file("list", "0 0 4 r 0 0\n1 8 4 w 0 0\n2 4 4 n 0 0\n", 0);
	make_file("pattern", "0123456789abcdef", 0);
	if (mkdir("dir", 0700))
		fuzz_fail("%s/dir: cannot be created", directory);
}

void fuzz_set_up(void)
{
	char path[32];

	messages_fd = memfd_create("messages", MFD_CLOEXEC);
	output_fd = memfd_create("output", MFD_CLOEXEC);
	if (messages_fd < 0 || output_fd < 0 || dup2(output_fd, STDOUT_FILENO) < 0)
		fuzz_fail("the harness cannot be set up");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", messages_fd);
	if (log_open(path))
		fuzz_fail("%s: cannot be opened", path);
	make_directory();
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	remove(path);
	return 0;
}

void fuzz_clean_up(void)
{
	if (directory[0])
		nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void fuzz_messages_clear(void)
{
	if (ftruncate(messages_fd, 0))
		fuzz_fail("the messages cannot be cleared");
}

/* Check one line, without its newline. Returns true if it is an error. */
static bool check_line(const char *line, size_t size)
{
	static const char *const others[] = { "xdd: warning: ", "xdd: note: " };

	if (size < 6 || memcmp(line, "xdd: ", 5) != 0)
		fuzz_fail("a message does not begin with xdd: %.*s", (int)size, line);
	for (size_t i = 0; i < size; i++) {
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			fuzz_fail("a message holds control characters: %.*s", (int)size, line);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (strncmp(line, others[i], strlen(others[i])) == 0)
			return false;
	}
	return true;
}

void fuzz_messages_check(size_t errors)
{
	static char text[MESSAGES_MAX_BYTES + 1];
	ssize_t size = pread(messages_fd, text, MESSAGES_MAX_BYTES, 0);
	size_t found = 0;

	if (size < 0)
		fuzz_fail("the messages cannot be read");
	for (char *line = text, *end = text + size; line < end;) {
		char *stop = memchr(line, '\n', (size_t)(end - line));

		/* The last of too many may be cut here. */
		if (!stop && size == MESSAGES_MAX_BYTES)
			break;
		if (!stop)
			fuzz_fail("a message does not end");
		found += check_line(line, (size_t)(stop - line));
		line = stop + 1;
	}
	if (errors == FUZZ_SOME ? !found : found != errors)
		fuzz_fail("%zu messages of errors instead of %zu:\n%.*s", found, errors, (int)size,
			  text);
}

void fuzz_text_check(const char *text, size_t size)
{
	json_t *utf8 = json_stringn(text, size);

	if (!utf8)
		fuzz_fail("text is no UTF-8: %.*s", (int)size, text);
	json_decref(utf8);
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i],
			      next = i + 1 < size ? (unsigned char)text[i + 1] : 0;

		if ((c < ' ' && c != '\n' && c != '\t') || c == 0x7f ||
		    (c == 0xc2 && next >= 0x80 && next < 0xa0))
			fuzz_fail("text holds control characters at byte %zu: %.*s", i, (int)size,
				  text);
	}
}

void fuzz_output_check(void)
{
	static char text[OUTPUT_MAX_BYTES];
	ssize_t size;

	if (fflush(stdout))
		fuzz_fail("standard output cannot be written");
	size = pread(output_fd, text, sizeof(text), 0);
	if (size < 0 || ftruncate(output_fd, 0) || lseek(output_fd, 0, SEEK_SET))
		fuzz_fail("standard output cannot be read");
	/* A character may be cut at the end of so much. */
	if ((size_t)size < sizeof(text))
		fuzz_text_check(text, (size_t)size);
}

const char *fuzz_file(unsigned slot, const void *data, size_t size)
{
	static int fds[2] = { -1, -1 };
	static char paths[2][32];

	if (fds[slot] < 0)
		fds[slot] = memfd_create("input", MFD_CLOEXEC);
	if (fds[slot] < 0 || ftruncate(fds[slot], 0) ||
	    pwrite(fds[slot], data, size, 0) != (ssize_t)size)
		fuzz_fail("an input cannot be written");
	snprintf(paths[slot], sizeof(paths[slot]), "/proc/self/fd/%d", fds[slot]);
	return paths[slot];
}
