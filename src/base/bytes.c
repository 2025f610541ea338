/*
 * CRC-32C, eight bytes at a time by tables that are computed at the first use.
 */
#include "xdd/base/bytes.h"

#include <pthread.h>

#define POLYNOMIAL 0x82f63b78u /* reflected */
#define SLICES 8

/* const after make_tables() */
static uint32_t table[SLICES][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		table[0][i] = crc;
	}
	for (int s = 1; s < SLICES; s++) {
		for (int i = 0; i < 256; i++)
			table[s][i] = table[s - 1][i] >> 8 ^ table[0][table[s - 1][i] & 0xff];
	}
}

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
	const unsigned char *p = data;

	pthread_once(&once, make_tables);
	crc = ~crc;
	for (; size >= SLICES; size -= SLICES, p += SLICES) {
		uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
				      (uint32_t)p[3] << 24);

		crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^
		      table[5][low >> 16 & 0xff] ^ table[4][low >> 24] ^ table[3][p[4]] ^
		      table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
	}
	while (size--)
		crc = crc >> 8 ^ table[0][(crc ^ *p++) & 0xff];
	return ~crc;
}
