/*
 * CRC-32C (Castagnoli, polynomial 0x1EDC6F41 reflected, as in RFC 3720 B.4), the checksum of the
 * blocks of a dump. Pure functions; any thread.
 */
#ifndef XDD_BASE_CRC32C_H
#define XDD_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum `crc` (0 to begin with) continued with `size` further bytes. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

#endif
