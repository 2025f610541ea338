/*
 * Command lines of options only: line.h. Called by timeserver.c and gettime.c.
 */
#include "commands/line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/commands/command.h"
#include "xdd/plan/option.h"

static enum xdd_status bad_value(const char *name, const struct option *opt, const char *word,
				 const char *text)
{
	char range[192];

	if (opt->type == OPT_U64)
		snprintf(range, sizeof(range), "a number from %" PRIu64 " to %" PRIu64, opt->min,
			 opt->max);
	else
		option_range(opt, range, sizeof(range));
	log_error("%s %.64s %.128s: expected %s%s%s", name, word, text, range,
		  opt->hint ? "; " : "", opt->hint ? opt->hint : "");
	return XDD_BAD_ARGUMENT;
}

enum xdd_status line_take(const char *name, const struct option *opt, const char *word,
			  const char *text, void *line)
{
	void *field = (char *)line + opt->off;
	uint64_t n = 0;
	int err;

	if (!opt->arg) {
		memcpy(field, &(bool){ true }, sizeof(bool));
		return XDD_OK;
	}
	if (!text || !*text) {
		log_error("%s %.64s: missing argument %s", name, word, opt->arg);
		return XDD_BAD_ARGUMENT;
	}
	if (opt->type == OPT_TEXT) {
		memcpy(field, &text, sizeof(text));
		return XDD_OK;
	}
	err = opt->type == OPT_SECONDS ? units_parse_seconds(text, &n) : units_parse_u64(text, &n);
	if (err || n < opt->min || n > opt->max)
		return bad_value(name, opt, word, text);
	memcpy(field, &n, sizeof(n));
	return XDD_OK;
}

enum xdd_status line_read(const struct command *command, int argc, char **argv, void *line,
			  bool *help)
{
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];
		const struct option *opt;
		enum xdd_status status;

		if (word[0] != '-' || !word[1]) {
			log_error("%s %.128s: expected an option; xdd %s -h lists them",
				  command->name, word, command->name);
			return XDD_BAD_ARGUMENT;
		}
		opt = option_find(command->options, word + (word[1] == '-' ? 2 : 1));
		if (!opt)
			return command_bad_option(command, word);
		if (strcmp(opt->name, "help") == 0) {
			*help = true;
			return XDD_OK;
		}
		if (opt->arg)
			i++;
		status = line_take(command->name, opt, word, i < argc ? argv[i] : NULL, line);
		if (status)
			return status;
	}
	return XDD_OK;
}
