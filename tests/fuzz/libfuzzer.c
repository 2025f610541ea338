/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The entry points of libFuzzer, which replace driver.c; the script libfuzzer builds with it.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_set_up();
	atexit(fuzz_clean_up);
	return 0;
}

/* A refused input may still be one that found something new: it stays in the corpus. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size <= FUZZ_MAX_BYTES)
		fuzz_one(data, size);
	return 0;
}

/* Now and then a valid input, so that no initial corpus is needed. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
	static uint8_t made[FUZZ_MAX_BYTES];
	struct fuzz_random r = { seed };
	size_t n;

	if (!fuzz_once_in(&r, 16))
		return LLVMFuzzerMutate(data, size, most);
	n = fuzz_harness.make(&r, made);
	n = n < most ? n : most;
	memcpy(data, made, n);
	return n;
}
