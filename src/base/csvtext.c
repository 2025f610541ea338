/*
 * Text in CSV files. Called by writers of tables.
 */
#include "xdd/base/csvtext.h"

#include <string.h>

void csvtext_write(FILE *f, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, f);
		return;
	}
	fputc('"', f);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', f);
		fputc(*text, f);
	}
	fputc('"', f);
}
