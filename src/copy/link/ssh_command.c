/*
 * The command line of ssh for a server of a copy: ssh_command.h.
 */
#include "copy/link/ssh_command.h"

#include <stdio.h>

#include "xdd/base/memory.h"
#include "xdd/sys/child.h"

static const char *problem(const struct copy_request *request, const struct copy_place *place)
{
	const char *wrong = ssh_wrong_name(place->host, place->user);

	if (!wrong && ssh_has_control(request->remote_xdd))
		wrong = "the path of xdd (-b) must not have control characters";
	return wrong;
}

char **ssh_command(struct arena *arena, const struct copy_request *request,
		   const struct copy_place *place, char *why, size_t size)
{
	const char *wrong = problem(request, place);
	char *path, *command = NULL, **words = NULL;

	if (wrong) {
		snprintf(why, size, "%s", wrong);
		return NULL;
	}
	path = ssh_quote_path(arena, request->remote_xdd);
	if (path)
		command = arena_printf(arena, "exec %s copy -server", path);
	if (command)
		words = ssh_words(arena, request->ssh, request->remote_tty ? SSH_TTY : SSH_PLAIN,
				  place->user, place->host, command);
	if (!words)
		snprintf(why, size, "%s", "no memory");
	return words;
}
