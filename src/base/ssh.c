/*
 * The command line of ssh: xdd/base/ssh.h. Called for copies and for runs on many hosts.
 */
#include "xdd/base/ssh.h"

#include <ctype.h>
#include <string.h>

#include "xdd/base/arena.h"
#include "xdd/base/path.h"

/* Words besides those of the user. */
#define MORE_WORDS 12

/* Characters that the commands in a configuration of ssh would give to a shell, with a name. */
#define UNSAFE_HOST "'`\"$\\;&<>|(){}"
#define UNSAFE_USER "'`\";&<>|(){}"

/*
 * Within quotes the shells differ about quotes, backslashes and exclamation marks, so those stand
 * outside, after a backslash.
 */
static void put_quoted(char *o, const char *word)
{
	*o++ = '\'';
	for (; *word; word++) {
		if (strchr("'\\!", *word)) {
			memcpy(o, "'\\", 2);
			o[2] = *word;
			o[3] = '\'';
			o += 4;
		} else {
			*o++ = *word;
		}
	}
	*o++ = '\'';
	*o = '\0';
}

char *ssh_quote(struct arena *arena, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-_./+:,@%";
	char *out = arena_alloc(arena, strlen(word) * 4 + 3);

	if (!out)
		return NULL;
	if (*word && !word[strspn(word, plain)])
		strcpy(out, word);
	else
		put_quoted(out, word);
	return out;
}

char *ssh_quote_path(struct arena *arena, const char *path)
{
	bool home = strncmp(path, "~/", 2) == 0;
	char *rest;

	if (!home)
		return ssh_quote(arena, path);
	if (!path[2])
		return arena_strdup(arena, path);
	rest = ssh_quote(arena, path + 2);
	return rest ? arena_printf(arena, "~/%s", rest) : NULL;
}

bool ssh_has_control(const char *text)
{
	for (; *text; text++)
		if (iscntrl((unsigned char)*text))
			return true;
	return false;
}

static bool is_name(const char *name, const char *unsafe)
{
	if (!*name || *name == '-')
		return false;
	for (const char *c = name; *c; c++)
		if (iscntrl((unsigned char)*c) || isspace((unsigned char)*c) || strchr(unsafe, *c))
			return false;
	return true;
}

const char *ssh_wrong_name(const char *host, const char *user)
{
	if (!is_name(host, UNSAFE_HOST))
		return "a name of a host must not begin with \"-\", and not have "
		       "blanks or characters of shells";
	if (user && !is_name(user, UNSAFE_USER))
		return "a name of a user must not begin with \"-\", and not have "
		       "blanks or characters of shells";
	return NULL;
}

bool ssh_is_openssh(const char *program)
{
	return strcmp(path_last(program), "ssh") == 0;
}

/*
 * Options that hold whatever the user's configuration says: bytes must pass unchanged, and a
 * forwarding of ports belongs to the user's own session.
 */
static char **add_options(char **w, const char *ssh, unsigned flags)
{
	if (flags & SSH_TTY) {
		*w++ = (char *)"-tt";
		*w++ = (char *)"-e";
		*w++ = (char *)"none";
	} else {
		*w++ = (char *)"-T";
	}
	if (ssh_is_openssh(ssh)) {
		*w++ = (char *)"-x";
		*w++ = (char *)"-a";
		*w++ = (char *)"-oClearAllForwardings=yes";
		if (flags & SSH_BATCH)
			*w++ = (char *)"-oBatchMode=yes";
	}
	return w;
}

char **ssh_words(struct arena *arena, const char *const *ssh, unsigned flags, const char *user,
		 const char *host, const char *command)
{
	size_t own = 0;
	char **words, **w;

	while (ssh[own])
		own++;
	words = arena_alloc(arena, (own + MORE_WORDS) * sizeof(*words));
	if (!words)
		return NULL;
	memcpy(words, ssh, own * sizeof(*words));
	w = add_options(words + own, ssh[0], flags);
	*w++ = (char *)"--";
	*w = user ? arena_printf(arena, "%s@%s", user, host) : arena_strdup(arena, host);
	if (!*w++)
		return NULL;
	*w = arena_strdup(arena, command);
	return *w ? words : NULL;
}
