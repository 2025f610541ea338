/*
 * The information lines about the data of a target. Called by info_target.c.
 */
#include <string.h>

#include "report/info.h"
#include "xdd/base/text.h"

/* The words of patterns that have nothing to add. */
static const char *pattern_word(enum pattern_kind kind)
{
	switch (kind) {
	case PATTERN_RANDOM:
		return "random";
	case PATTERN_RANDOM_BY_TARGET:
		return "random by target number";
	case PATTERN_SEQUENCED:
		return "sequenced";
	case PATTERN_LFPAT:
		return "lfpat";
	case PATTERN_LTPAT:
		return "ltpat";
	case PATTERN_CJTPAT:
		return "cjtpat";
	case PATTERN_CRPAT:
		return "crpat";
	case PATTERN_CSPAT:
		return "cspat";
	case PATTERN_TAGGED:
		return "tagged";
	default:
		return NULL;
	}
}

static void put_quoted(FILE *f, const char *label, const char *text, size_t bytes)
{
	fputs(label, f);
	printable_put(f, text);
	fprintf(f, "' <%zu bytes>", bytes);
}

static void write_text(FILE *f, const struct pattern_options *o)
{
	const char *repeated = o->replicate ? "Replicated" : "Not Replicated";

	if (o->kind == PATTERN_ASCII) {
		put_quoted(f, ",ASCII: '", o->text, o->n_bytes);
		fprintf(f, " %s ", repeated);
	} else if (o->kind == PATTERN_HEX) {
		fprintf(f, ",HEX: 0x%s <%zu bytes>, %s", o->text, o->n_bytes, repeated);
	} else if (o->kind == PATTERN_FILE) {
		put_quoted(f, ",file '", o->file, o->n_bytes);
	}
}

static void write_pattern(FILE *f, const struct pattern_options *o)
{
	const char *word = pattern_word(o->kind);

	fputs("\t\tData pattern in buffer", f);
	if (word)
		fprintf(f, ",%s ", word);
	else if (o->kind == PATTERN_CHARACTER)
		fprintf(f, ",0x%02x", o->word ? (unsigned char)*o->word : 0);
	if (o->kind == PATTERN_REDUCIBLE && (o->compress || !o->dedupe))
		fprintf(f, ",compress %u percent ", (unsigned)o->compress);
	if (o->kind == PATTERN_REDUCIBLE && o->dedupe)
		fprintf(f, ",dedupe %u percent ", (unsigned)o->dedupe);
	if (o->inverse)
		fputs(",inversed ", f);
	write_text(f, o);
	if (o->prefix)
		fprintf(f, ",PREFIX: 0x%s <%zu nibbles>", o->prefix, strlen(o->prefix));
	fputc('\n', f);
}

void info_data(FILE *f, const struct target_plan *t)
{
	static const char *const verification[] = {
		[VERIFY_NONE] = "disabled.",
		[VERIFY_CONTENTS] = "enabled for Content verification.",
		[VERIFY_LOCATION] = "enabled for Location verification.",
		[VERIFY_LOCATION | VERIFY_CONTENTS] =
			"enabled for Location verification. enabled for Content verification.",
	};

	write_pattern(f, &t->pattern);
	fprintf(f, "\t\tData buffer verification is %s\n", verification[t->verify]);
}
