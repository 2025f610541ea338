/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The key of -e2e key: connection.h. Read once, before anything is opened.
 */
#include "config.h"

#include "xdd/base/err.h"
#include "xdd/net/connection.h"

#include <errno.h>
#include <string.h>

#define ENVIRONMENT "XDD_E2E_KEY"

#ifdef HAVE_OPENSSL
#include <ctype.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xdd/base/file.h"
#include "xdd/base/text.h"

/* Blanks and line ends around the text may come on top. */
#define MAX_FILE_BYTES (2 * NET_KEY_MAX_BYTES)

bool net_key_available(const char **why)
{
	*why = NULL;
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* `origin` names the file, or the variable, for messages. */
static int derive(const char *text, size_t n, const char *origin, struct net_key *key,
		  struct err *why)
{
	while (n && is_blank(text[n - 1]))
		n--;
	for (; n && is_blank(*text); n--)
		text++;
	if (n < NET_KEY_MIN_BYTES || n > NET_KEY_MAX_BYTES)
		return err_set(why, -EINVAL, "%s: expected a key of %d to %d bytes, not %zu",
			       origin, NET_KEY_MIN_BYTES, NET_KEY_MAX_BYTES, n);
	if (!EVP_Digest(text, n, key->bytes, NULL, EVP_sha256(), NULL))
		return err_set(why, -EIO, "%s: OpenSSL cannot compute SHA-256", origin);
	key->present = true;
	return 0;
}

static int check_file(int fd, const char *origin, struct err *why)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))
		return err_set(why, -EINVAL, "%s: expected a file or a pipe with the key", origin);
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return err_set(why, -EACCES,
			       "%s: must not be accessible to other users (mode %04o); chmod 600",
			       origin, (unsigned)st.st_mode & 07777);
	return 0;
}

static int read_open(int fd, const char *origin, struct net_key *key, struct err *why)
{
	int err = check_file(fd, origin, why);
	char *text;
	size_t n;

	/* A pipe without a writer did not block when it was opened; one that has a writer may. */
	if (!err && fcntl(fd, F_SETFL, 0) < 0)
		err = -errno;
	if (err)
		return err;
	err = readfile(fd, MAX_FILE_BYTES, &text, &n);
	if (err == -EFBIG)
		err_set(why, err, "%s: expected a key of %d to %d bytes", origin, NET_KEY_MIN_BYTES,
			NET_KEY_MAX_BYTES);
	if (err)
		return err;
	err = derive(text, n, origin, key, why);
	OPENSSL_cleanse(text, n);
	free(text);
	return err;
}

static int read_file(const char *path, struct net_key *key, struct err *why)
{
	char *safe = printable_dup(path, false);
	const char *origin = safe ? safe : "?";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int err = fd < 0 ? -errno : read_open(fd, origin, key, why);

	if (err && !err_is_set(why))
		err_sys(why, err, "%s: cannot read the key", origin);
	if (fd >= 0)
		close(fd);
	free(safe);
	return err;
}

int net_key_load(const char *path, struct net_key *key, struct err *why)
{
	const char *text = getenv(ENVIRONMENT);

	memset(key, 0, sizeof(*key));
	err_clear(why);
	if (path)
		return read_file(path, key, why);
	return text ? derive(text, strlen(text), ENVIRONMENT, key, why) : 0;
}

int net_key_from_cookie(const char *digits, struct net_key *key, struct err *why)
{
	char lower[NET_KEY_MAX_BYTES];
	size_t n = strlen(digits);

	memset(key, 0, sizeof(*key));
	err_clear(why);
	if (n > sizeof(lower))
		n = sizeof(lower);
	for (size_t i = 0; i < n; i++)
		lower[i] = (char)tolower((unsigned char)digits[i]);
	return derive(lower, n, "-cookie", key, why);
}

void net_key_forget(struct net_key *key)
{
	OPENSSL_cleanse(key, sizeof(*key));
}

#else

#include <stdio.h>
#include <stdlib.h>

bool net_key_available(const char **why)
{
	*why = "this xdd was built without OpenSSL";
	return false;
}

int net_key_load(const char *path, struct net_key *key, struct err *why)
{
	const char *no;

	memset(key, 0, sizeof(*key));
	err_clear(why);
	if (!path && !getenv(ENVIRONMENT))
		return 0;
	net_key_available(&no);
	return err_set(why, -ENOTSUP, "%s: %s", path ? "-e2e key" : ENVIRONMENT, no);
}

int net_key_from_cookie(const char *digits, struct net_key *key, struct err *why)
{
	const char *no;

	(void)digits;
	memset(key, 0, sizeof(*key));
	net_key_available(&no);
	return err_set(why, -ENOTSUP, "%s", no);
}

void net_key_forget(struct net_key *key)
{
	memset(key, 0, sizeof(*key));
}

#endif
