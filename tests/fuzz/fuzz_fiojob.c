/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Job files of fio, up to the commands. An input is the contents of one.
 */
#include <stdio.h>
#include <string.h>

#include "commands/commands.h"
#include "fuzz.h"
#include "plan/fio.h"
#include "xdd/base/log.h"
#include "xdd/commands/command.h"

static const char *const words[] = {
	"[global]\n",
	"[job]\n",
	"[",
	"]\n",
	"\n",
	"stonewall\n",
	"include setup\n",
	"include data\n",
	"${HOME}",
	"$pagesize*",
	"$ncpus",
	";",
	"#",
	"=",
	":",
	"\\:",
	",",
	"%",
	"4k",
	"1g",
	"-1",
	"0x",
	"18446744073709551615",
	"1.5m",
	"4ki",
	"'",
	"\"abc\"",
	"\x1b",
	"\xe2\x80\xae",
	"\xff",
	"rw=randrw\n",
	"size=1m\n",
	"filename=data:short\n",
	"filename=null\n",
	"nrfiles=3\n",
	"numjobs=5\n",
	"directory=dir\n",
	"bs=4k,8k\n",
	"loops=2\n",
	"verify=crc32c\n",
	"ioengine=libaio\n",
	"kb_base=1000\n",
	"time_based\nruntime=5\n",
};

static const char *pick(struct fuzz_random *r, const char *const *texts, size_t n)
{
	return texts[fuzz_below(r, n)];
}

#define PICK(r, texts) pick(r, texts, sizeof(texts) / sizeof((texts)[0]))

/* A value that the option may have, now and then. */
static char *make_value(struct fuzz_random *r, char *out, const struct foreign *row)
{
	static const char *const text[] = {
		"data",	   "null",     "randread", "write:4",	"libaio", "io_uring", "crc32c",
		"pattern", "zipf:1.2", "0-1",	   "50:99.9",	"0x12",	  "4k-8k",    "shm",
		"bind:0",  "native",   "a:b",	   "$jobname.", "local",  "dsync"
	};
	static const char *const amounts[] = { "4k", "1m",     "50%", "64k", "10m",
					       "7",  "100000", "1g",  "512", "3000" };
	char number[64];

	switch (fio_type_of(row)) {
	case FIO_BY_SAY:
	case FIO_TEXT:
	case FIO_PREFIX:
	case FIO_LEFT_OUT:
	case FIO_LINE:
		return stpcpy(out, PICK(r, text));
	case FIO_CHANGES:
	case FIO_BOOL:
		return stpcpy(out, fuzz_once_in(r, 2) ? "1" : "0");
	case FIO_BYTES:
	case FIO_AMOUNT:
		if (!fuzz_once_in(r, 8))
			return stpcpy(out, PICK(r, amounts));
		break;
	case FIO_COUNT:
	case FIO_SECONDS:
	case FIO_USEC:
		if (!fuzz_once_in(r, 8))
			return out + sprintf(out, "%zu", fuzz_below(r, 9));
		break;
	}
	return stpcpy(out, fuzz_number(r, number, sizeof(number)));
}

static char *make_settings(struct fuzz_random *r, char *out)
{
	size_t rows = 0;

	while (fio_row(rows))
		rows++;
	for (size_t n = fuzz_below(r, 8); n; n--) {
		const struct foreign *row = fio_row(fuzz_below(r, rows));

		/* Most of the table has no meaning for xdd. */
		if (fio_type_of(row) == FIO_LEFT_OUT && !fuzz_once_in(r, 8))
			continue;
		out = stpcpy(out, row->word);
		if (fio_type_of(row) != FIO_BOOL || !fuzz_once_in(r, 4))
			out = make_value(r, stpcpy(out, "="), row);
		out = stpcpy(out, fuzz_once_in(r, 8) ? " ; a comment\r\n" : "\n");
	}
	return out;
}

static size_t make(struct fuzz_random *r, uint8_t *data)
{
	char *out = stpcpy((char *)data, "[global]\nsize=1m\nfilename=data\n");

	for (size_t n = 1 + fuzz_below(r, 5); n; n--) {
		out = make_settings(r, out);
		out += sprintf(out, "[job%zu]\n", n);
		if (fuzz_once_in(r, 3))
			out = stpcpy(out, "stonewall\n");
	}
	out = make_settings(r, out);
	return (size_t)(out - (char *)data);
}

int fuzz_one(const uint8_t *data, size_t size)
{
	char *argv[] = { (char *)"fio", (char *)fuzz_file(0, data, size), NULL };
	int status;

	fuzz_messages_clear();
	status = command_fio.main(2, argv);
	if (status != XDD_OK && status != XDD_BAD_ARGUMENT)
		fuzz_fail("status %d", status);
	fuzz_messages_check(status == XDD_BAD_ARGUMENT ? 1 : 0);
	fuzz_output_check();
	return status == XDD_BAD_ARGUMENT;
}

const struct fuzz_harness fuzz_harness = {
	.name = "fiojob",
	.make = make,
	.words = words,
	.n_words = sizeof(words) / sizeof(words[0]),
};
