/*
 * Text in CSV files. Called by writers of tables.
 */
#include "xdd/base/csvtext.h"

#include <math.h>
#include <string.h>

#define DIGITS 15 /* that each double keeps */
#define MOST_DECIMALS 24

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

void csvtext_number(FILE *f, double x)
{
	const int before = x != 0 ? (int)floor(log10(fabs(x))) + 1 : 1;
	const int decimals = before >= DIGITS ? 0 : DIGITS - before;
	char text[400]; /* DBL_MAX has 309 digits */
	size_t n;

	snprintf(text, sizeof(text), "%.*f", decimals < MOST_DECIMALS ? decimals : MOST_DECIMALS,
		 x);
	n = strlen(text);
	if (strchr(text, '.')) {
		while (text[n - 1] == '0')
			n--;
		n -= text[n - 1] == '.';
	}
	fwrite(text, 1, n, f);
}
