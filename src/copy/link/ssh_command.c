/*
 * The command line of ssh: ssh_command.h.
 */
#include "copy/link/ssh_command.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "xdd/base/arena.h"

/* Words besides those of the user. */
#define MORE_WORDS 12

/* Characters that the commands in a configuration of ssh would give to a shell, with a name. */
#define UNSAFE_HOST "'`\"$\\;&<>|(){}"
#define UNSAFE_USER "'`\";&<>|(){}"

static bool is_name(const char *name, const char *unsafe)
{
	if (!*name || *name == '-')
		return false;
	for (const char *c = name; *c; c++)
		if (iscntrl((unsigned char)*c) || isspace((unsigned char)*c) || strchr(unsafe, *c))
			return false;
	return true;
}

/*
 * Within quotes the shells differ about quotes, backslashes and exclamation marks, so those stand
 * outside, after a backslash.
 */
char *ssh_quote(struct arena *arena, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-_./+:,@%";
	char *out = arena_alloc(arena, strlen(word) * 4 + 3), *o = out;

	if (!out)
		return NULL;
	if (strncmp(word, "~/", 2) == 0)
		for (unsigned i = 0; i < 2; i++)
			*o++ = *word++;
	if (!word[strspn(word, plain)]) {
		strcpy(o, word);
		return out;
	}
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
	return out;
}

static bool has_control(const char *text)
{
	for (; *text; text++)
		if (iscntrl((unsigned char)*text))
			return true;
	return false;
}

/* True: the command is that of OpenSSH, and not another program with fewer options. */
static bool is_openssh(const char *command)
{
	const char *slash = strrchr(command, '/');

	return strcmp(slash ? slash + 1 : command, "ssh") == 0;
}

/*
 * Options that a copy needs whatever the user's configuration says: bytes must pass unchanged, and
 * a forwarding of ports belongs to the user's own session.
 */
static char **add_options(char **w, const struct copy_request *request)
{
	if (request->remote_tty) {
		*w++ = (char *)"-tt";
		*w++ = (char *)"-e";
		*w++ = (char *)"none";
	} else {
		*w++ = (char *)"-T";
	}
	if (is_openssh(request->ssh[0])) {
		*w++ = (char *)"-x";
		*w++ = (char *)"-a";
		*w++ = (char *)"-oClearAllForwardings=yes";
	}
	return w;
}

static bool check(const struct copy_request *request, const struct copy_place *place, char *why,
		  size_t size)
{
	if (!is_name(place->host, UNSAFE_HOST))
		snprintf(why, size,
			 "a name of a host must not begin with \"-\", and not have "
			 "blanks or characters of shells");
	else if (place->user && !is_name(place->user, UNSAFE_USER))
		snprintf(why, size,
			 "a name of a user must not begin with \"-\", and not have "
			 "blanks or characters of shells");
	else if (has_control(request->remote_xdd))
		snprintf(why, size, "the path of xdd (-b) must not have control characters");
	else
		return true;
	return false;
}

char **ssh_command(struct arena *arena, const struct copy_request *request,
		   const struct copy_place *place, char *why, size_t size)
{
	size_t own = 0;
	char **words, **w, *path;

	if (!check(request, place, why, size))
		return NULL;
	snprintf(why, size, "%s", "no memory");
	while (request->ssh[own])
		own++;
	words = arena_alloc(arena, (own + MORE_WORDS) * sizeof(*words));
	path = ssh_quote(arena, request->remote_xdd);
	if (!words || !path)
		return NULL;
	memcpy(words, request->ssh, own * sizeof(*words));
	w = add_options(words + own, request);
	*w++ = (char *)"--";
	*w = place->user ? arena_printf(arena, "%s@%s", place->user, place->host) :
			   arena_strdup(arena, place->host);
	if (!*w++)
		return NULL;
	*w = arena_printf(arena, "exec %s copy -server", path);
	return *w ? words : NULL;
}
