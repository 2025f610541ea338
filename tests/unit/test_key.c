/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading the key: src/net/tls.c.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"
#include "xdd/base/err.h"
#include "xdd/net/connection.h"

/* SHA-256 of "0123456789abcdef", by sha256sum. */
static const uint8_t digits[NET_KEY_BYTES] = {
	0x9f, 0x9f, 0x51, 0x11, 0xf7, 0xb2, 0x7a, 0x78, 0x1f, 0x1f, 0x1d,
	0xdd, 0xe5, 0xeb, 0xc2, 0xdd, 0x2b, 0x79, 0x6b, 0xfc, 0x73, 0x65,
	0xc9, 0xc2, 0x8b, 0x54, 0x8e, 0x56, 0x41, 0x76, 0x92, 0x9f,
};

static const char path[] = "key";

/* Write `n` bytes to the file, with `mode`. */
static void put(const void *data, size_t n, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, n), n);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void assert_key(const char *file)
{
	struct err why;
	struct net_key key;
	int err = net_key_load(file, &key, &why);

	if (err)
		fail_msg("%d, %s", err, why.text);
	assert_true(key.present);
	assert_memory_equal(key.bytes, digits, sizeof(digits));
	net_key_forget(&key);
	assert_false(key.present);
	assert_int_equal(key.bytes[0], 0);
}

static void assert_no_key(const char *file, int expected, const char *part)
{
	struct err why;
	struct net_key key;

	assert_int_equal(net_key_load(file, &key, &why), expected);
	assert_false(key.present);
	if (!strstr(why.text, part))
		fail_msg("\"%s\" has no \"%s\"", why.text, part);
}

TEST(test_file)
{
	put("0123456789abcdef", 16, 0600);
	assert_key(path);
	put("0123456789abcdef\n", 17, 0400);
	assert_key(path);
	put(" \t0123456789abcdef \r\n\n", 22, 0600);
	assert_key(path);
}

TEST(test_sizes)
{
	char text[2 * NET_KEY_MAX_BYTES + 1];
	struct err why;
	struct net_key key;

	memset(text, 'k', sizeof(text));
	put(text, NET_KEY_MAX_BYTES, 0600);
	assert_int_equal(net_key_load(path, &key, &why), 0);
	put(text, NET_KEY_MAX_BYTES + 1, 0600);
	assert_no_key(path, -EINVAL, "expected a key of 16 to 4096 bytes, not 4097");
	put(text, sizeof(text), 0600);
	assert_no_key(path, -EFBIG, "expected a key of 16 to 4096 bytes");
	put(text, NET_KEY_MIN_BYTES - 1, 0600);
	assert_no_key(path, -EINVAL, "expected a key of 16 to 4096 bytes, not 15");
	put("               \n\n\n", 18, 0600);
	assert_no_key(path, -EINVAL, "not 0");
	put("", 0, 0600);
	assert_no_key(path, -EINVAL, "not 0");
}

/* Bytes of any value count. */
TEST(test_binary)
{
	struct err why;
	struct net_key a, b;

	put("0123\0\0\0\0\0\0\0\0\0\0\0\1", 16, 0600);
	assert_int_equal(net_key_load(path, &a, &why), 0);
	put("0123\0\0\0\0\0\0\0\0\0\0\0\2", 16, 0600);
	assert_int_equal(net_key_load(path, &b, &why), 0);
	assert_memory_not_equal(a.bytes, b.bytes, NET_KEY_BYTES);
}

TEST(test_modes)
{
	static const mode_t modes[] = { 0640, 0604, 0620, 0602, 0644, 0660, 0666 };

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		put("0123456789abcdef", 16, modes[i]);
		assert_no_key(path, -EACCES, "must not be accessible to other users");
	}
}

TEST(test_not_a_file)
{
	assert_no_key("/dev/zero", -EINVAL, "expected a file or a pipe");
	assert_no_key("/", -EINVAL, "expected a file or a pipe");
	assert_no_key("/dev/null/key", -ENOTDIR, "cannot read the key (Not a directory)");
	unlink(path);
	assert_no_key(path, -ENOENT, "cannot read the key (No such file or directory)");
}

TEST(test_pipe)
{
	char name[64];
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "0123456789abcdef\n", 17), 17);
	close(fds[1]);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fds[0]);
	assert_key(name);
	close(fds[0]);

	/* Nothing writes to it: that is not waited for. */
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_no_key(path, -EINVAL, "not 0");
	unlink(path);
}

TEST(test_environment)
{
	struct err why;
	struct net_key key;

	unsetenv("XDD_E2E_KEY");
	assert_int_equal(net_key_load(NULL, &key, &why), 0);
	assert_false(key.present);

	setenv("XDD_E2E_KEY", " 0123456789abcdef\n", 1);
	assert_key(NULL);
	setenv("XDD_E2E_KEY", "short", 1);
	assert_no_key(NULL, -EINVAL, "XDD_E2E_KEY: expected a key of 16 to 4096 bytes, not 5");
	setenv("XDD_E2E_KEY", "", 1);
	assert_no_key(NULL, -EINVAL, "XDD_E2E_KEY: expected a key of 16 to 4096 bytes, not 0");

	/* The file overrides it. */
	put("0123456789abcdef", 16, 0600);
	assert_key(path);
	unsetenv("XDD_E2E_KEY");
}

/* -cookie takes digits of either case, and has the limit on length of a key file. */
TEST(test_cookie)
{
	static char text[64 * NET_KEY_MAX_BYTES];
	struct err why;
	struct net_key key;

	assert_int_equal(net_key_from_cookie("0123456789ABCdef", &key, &why), 0);
	assert_true(key.present);
	assert_memory_equal(key.bytes, digits, sizeof(digits));
	assert_int_equal(net_key_from_cookie("0123456789abcde", &key, &why), -EINVAL);
	assert_string_equal(why.text, "-cookie: expected a key of 16 to 4096 bytes, not 15");
	assert_false(key.present);
	/* Of a longer one the first 4096 count. */
	memset(text, 'K', sizeof(text) - 1);
	assert_int_equal(net_key_from_cookie(text, &key, &why), 0);
	memset(text, 'k', NET_KEY_MAX_BYTES);
	put(text, NET_KEY_MAX_BYTES, 0600);
	{
		struct net_key other;

		assert_int_equal(net_key_load(path, &other, &why), 0);
		assert_memory_equal(key.bytes, other.bytes, sizeof(key.bytes));
	}
}

RUN_TESTS_IF(net_key_available(&reason), enter_directory, remove_directory)
