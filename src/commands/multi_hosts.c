/*
 * Lists of hosts: multi.h. Called by multi.c.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/multi.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/sys/child.h"

#define FILE_MAX_BYTES (4u << 20)
#define NAME_MAX_BYTES 255

static enum xdd_status no_memory(void)
{
	log_error("multi: %s", strerror(ENOMEM));
	return XDD_INIT_FAILED;
}

/* The colon before the number of ranks, or NULL. An address of IPv6 without brackets has more. */
static char *find_slots(char *text)
{
	char *end = strrchr(text, ']'), *colon = strchr(end ? end : text, ':');

	return colon && !strchr(colon + 1, ':') ? colon : NULL;
}

/* An address of IPv6, perhaps with a zone: fe80::1%eth0. */
static bool is_address(const char *name)
{
	char number[INET6_ADDRSTRLEN];
	const size_t n = strcspn(name, "%");
	struct in6_addr address;

	if (n >= sizeof(number) || (name[n] && !name[n + 1]))
		return false;
	memcpy(number, name, n);
	number[n] = '\0';
	return inet_pton(AF_INET6, number, &address) == 1;
}

/* The problem of `host`, or NULL. Names become names of files, so slashes are refused as well. */
static const char *problem(const struct multi_host *host)
{
	const char *wrong = ssh_wrong_name(host->name, host->user);

	if (wrong)
		return wrong;
	if (strpbrk(host->name, "/[],@?*=") || (strchr(host->name, '%') && !is_address(host->name)))
		return "is not the name of a host";
	if (strchr(host->name, ':') && !is_address(host->name))
		return "expected one number of ranks after the host, such as node1:2 or "
		       "[fe80::1]:2";
	if (!host->name[strspn(host->name, "0123456789")])
		return "expected the name of a host; -slots sets the number of ranks of each host";
	if (strlen(host->name) > NAME_MAX_BYTES ||
	    (host->user && strlen(host->user) > NAME_MAX_BYTES))
		return "is too long";
	return NULL;
}

static const char *parse_slots(const char *text, uint32_t *slots)
{
	uint64_t n;

	if (units_parse_u64(text, &n) || !n || n > MULTI_MAX_RANKS)
		return "expected the number of ranks after the colon, from 1 to 16384";
	*slots = (uint32_t)n;
	return NULL;
}

/* Take `text` apart, which is changed. Returns the problem, or NULL. */
static const char *parse_host(char *text, struct multi_host *host)
{
	char *colon = find_slots(text), *at, *end;
	const char *wrong = NULL;

	if (colon) {
		*colon = '\0';
		wrong = parse_slots(colon + 1, &host->slots);
	}
	host->name = text;
	at = strrchr(text, '@');
	if (at) {
		*at = '\0';
		host->user = text;
		host->name = at + 1;
	}
	if (*host->name == '[') {
		end = strchr(host->name, ']');
		if (!end || end[1])
			return "expected [address] of IPv6";
		*end = '\0';
		host->name++;
	}
	return wrong ? wrong : problem(host);
}

static bool make_room(struct arena *arena, struct multi_hosts *h)
{
	size_t room = h->room ? 2 * h->room : 64;
	struct multi_host *list;

	if (h->n < h->room)
		return true;
	list = arena_alloc(arena, room * sizeof(*list));
	if (!list)
		return false;
	if (h->n)
		memcpy(list, h->list, h->n * sizeof(*list));
	h->list = list;
	h->room = room;
	return true;
}

static enum xdd_status bad_host(const char *origin, const char *word, const char *why)
{
	log_error("multi %s %.256s: %s", origin, word, why);
	return XDD_BAD_ARGUMENT;
}

static enum xdd_status add_one(struct arena *arena, struct multi_hosts *h, const char *word,
			       const char *origin, uint32_t slots)
{
	struct multi_host host = { .slots = slots };
	char *text = arena_strdup(arena, word);
	const char *wrong;

	if (!text || !make_room(arena, h))
		return no_memory();
	if (h->n == MULTI_MAX_RANKS)
		return bad_host(origin, word, "is one host more than the 16384 that may be");
	wrong = parse_host(text, &host);
	if (wrong)
		return bad_host(origin, word, wrong);
	h->list[h->n++] = host;
	return XDD_OK;
}

/* ---- ranges ---- */

/* A range such as 08-12 at `*text`, and `*text` after it; `*width` is that of its first number. */
static bool take_range(const char **text, uint64_t *first, uint64_t *last, int *width)
{
	const char *c = *text;
	uint64_t *number = first;

	*width = (int)strspn(c, "0123456789");
	for (;; number = last, c++) {
		size_t digits = strspn(c, "0123456789");

		if (!digits || digits > 9)
			return false;
		*number = strtoull(c, NULL, 10);
		c += digits;
		if (number == last || *c != '-')
			break;
	}
	if (number == first)
		*last = *first;
	*text = c;
	return *first <= *last;
}

static enum xdd_status add(struct arena *arena, struct multi_hosts *h, const char *word,
			   const char *origin, uint32_t slots);

/* node[1-3,7]: the numbers between the brackets, with the leading zeros of each first one. */
static enum xdd_status add_ranges(struct arena *arena, struct multi_hosts *h, const char *word,
				  const char *open, const char *origin, uint32_t slots)
{
	const char *close = strchr(open, ']'), *at = open;
	enum xdd_status status = XDD_OK;

	while (close && at < close && !status) {
		uint64_t first, last;
		int width;

		at++;
		if (!take_range(&at, &first, &last, &width) || (*at != ',' && at != close))
			return bad_host(origin, word, "expected ranges, such as node[1-8,12]");
		for (; first <= last && !status; first++) {
			char *one = arena_printf(arena, "%.*s%0*" PRIu64 "%s", (int)(open - word),
						 word, width, first, close + 1);

			status = one ? add(arena, h, one, origin, slots) : no_memory();
		}
	}
	return close ? status : bad_host(origin, word, "a bracket is not closed");
}

/* Brackets with a colon between them have an address of IPv6. */
static enum xdd_status add(struct arena *arena, struct multi_hosts *h, const char *word,
			   const char *origin, uint32_t slots)
{
	const char *open = strchr(word, '[');

	if (!open || open == word || open[-1] == '@')
		return add_one(arena, h, word, origin, slots);
	return add_ranges(arena, h, word, open, origin, slots);
}

/* The length of the first host of a list; commas between brackets belong to it. */
static size_t host_length(const char *text, const char *separators)
{
	bool inside = false;
	size_t n = 0;

	for (; text[n] && (inside || !strchr(separators, text[n])); n++) {
		if (text[n] == '[' || text[n] == ']')
			inside = text[n] == '[';
	}
	return n;
}

enum xdd_status multi_hosts_add(struct arena *arena, struct multi_hosts *h, const char *text,
				const char *origin, uint32_t slots)
{
	static const char separators[] = ", \t\n";
	enum xdd_status status = XDD_OK;

	while (!status && *(text += strspn(text, separators))) {
		size_t length = host_length(text, separators);
		char *word = arena_printf(arena, "%.*s", (int)length, text);

		status = word ? add(arena, h, word, origin, slots) : no_memory();
		text += length;
	}
	return status;
}

/* ---- files ---- */

static bool is_blank(const char *line)
{
	return !line[strspn(line, " \t\r")];
}

/* The number after `key` where `word` begins with it. False: it does not, or has no number. */
static bool take_key(const char *word, const char *key, uint32_t *number)
{
	const size_t n = strlen(key);

	return strncmp(word, key, n) == 0 && !parse_slots(word + n, number);
}

/* A line of a file, which is changed: a host, perhaps with slots=<n> and max_slots of mpirun. */
static enum xdd_status read_line(struct arena *arena, struct multi_hosts *h, char *line,
				 const char *origin, uint32_t slots)
{
	uint32_t most = MULTI_MAX_RANKS;
	char *save = NULL, *name, *word;
	bool good = true;

	line[strcspn(line, "#\r")] = '\0';
	name = strtok_r(line, " \t", &save);
	while (good && (word = strtok_r(NULL, " \t", &save)))
		good = take_key(word, "slots=", &slots) || take_key(word, "max_slots=", &most) ||
		       take_key(word, "max-slots=", &most);
	if (!name || !good || (strchr(name, ',') && !strchr(name, '['))) {
		log_error("multi %s: expected a host, or a host and slots=<#ranks>", origin);
		return XDD_BAD_ARGUMENT;
	}
	return add(arena, h, name, origin, slots < most ? slots : most);
}

static enum xdd_status read_lines(struct arena *arena, struct multi_hosts *h, char *text,
				  const char *path, uint32_t slots)
{
	enum xdd_status status = XDD_OK;

	for (unsigned n = 1; text && !status; n++) {
		char *line = strsep(&text, "\n");
		char *hash = strchr(line, '#');

		if (hash)
			*hash = '\0';
		if (!is_blank(line)) {
			char *origin = arena_printf(arena, "-hostfile %s:%u:", path, n);

			status = origin ? read_line(arena, h, line, origin, slots) : no_memory();
		}
	}
	return status;
}

enum xdd_status multi_hosts_read(struct arena *arena, struct multi_hosts *h, const char *path,
				 uint32_t slots)
{
	int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	int err = fd < 0 ? -errno : 0;
	enum xdd_status status;
	char *text = NULL;
	size_t size;

	if (!err)
		err = readfile(fd, FILE_MAX_BYTES, &text, &size);
	if (fd >= 0)
		close(fd);
	if (!err && strlen(text) != size)
		err = -EBADMSG;
	if (err) {
		log_error("multi -hostfile %s: %s", path,
			  err == -EBADMSG ? "is not a text" : strerror(-err));
		free(text);
		return XDD_BAD_ARGUMENT;
	}
	status = read_lines(arena, h, text, path, slots);
	free(text);
	return status;
}
