/*
 * The key of -e2e key: what both sides of an end-to-end copy share.
 */
#ifndef XDD_NET_KEY_H
#define XDD_NET_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NET_KEY_BYTES 32
#define NET_KEY_MIN_BYTES 16   /* of the text that it is derived from */
#define NET_KEY_MAX_BYTES 4096 /* the same */

/* Derived by SHA-256 from the bytes of the file without blanks and line ends around them. */
struct net_key {
	bool present;
	uint8_t bytes[NET_KEY_BYTES];
};

/* False, with `*why` a text for people (static): this xdd was built without OpenSSL. */
bool net_key_available(const char **why);

/*
 * Read the key from `path`, or from the environment variable XDD_E2E_KEY where `path` is NULL; no
 * key where neither is there. A file that others may read is refused. Returns 0, or -errno with a
 * text for people in `why` (`size` bytes). Main thread.
 */
int net_key_load(const char *path, struct net_key *key, char *why, size_t size);

/*
 * The key of -cookie, of its hexadecimal digits in upper or lower case. It is weak: the list of
 * processes shows it. Returns 0, or -errno with a text in `why`.
 */
int net_key_from_cookie(const char *digits, struct net_key *key, char *why, size_t size);

/* Overwrite the key. */
void net_key_forget(struct net_key *key);

#endif
