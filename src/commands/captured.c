/*
 * Messages that are kept in place of being printed.
 */
#include "commands/captured.h"

#include <string.h>

void captured_add(void *captured, const char *text, size_t size)
{
	struct captured *c = captured;
	const size_t room = sizeof(c->text) - 1 - c->size;

	if (size > room)
		size = room;
	memcpy(c->text + c->size, text, size);
	c->size += size;
	c->text[c->size] = '\0';
}

const char *captured_message(const char *line)
{
	static const char prefix[] = "xdd: ";
	const size_t length = sizeof(prefix) - 1;

	return strncmp(line, prefix, length) == 0 ? line + length : line;
}
