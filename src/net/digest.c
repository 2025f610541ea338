/*
 * Checksums of an end-to-end copy, from the library xxHash; without it a stand-in that says so.
 * Called for every message, and by the restart file.
 */
#include "config.h"

#include "xdd/net/digest.h"

#include <inttypes.h>
#include <stdio.h>

#include "xdd/base/bytes.h"
#include "xdd/base/uint128.h"

#ifdef HAVE_XXHASH

#include <xxhash.h>

bool digest_available(const char **why)
{
	(void)why;
	return true;
}

static struct digest hash(const void *data, size_t size)
{
	XXH128_hash_t h = XXH3_128bits(data, size);

	return (struct digest){ .low = h.low64, .high = h.high64 };
}

uint64_t digest_short(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}

#else

bool digest_available(const char **why)
{
	*why = "this xdd was built without the library xxHash";
	return false;
}

static struct digest hash(const void *data, size_t size)
{
	(void)data;
	(void)size;
	return (struct digest){ 0 };
}

uint64_t digest_short(const void *data, size_t size)
{
	(void)data;
	(void)size;
	return 0;
}

#endif

struct digest digest_data(const void *data, size_t size)
{
	return size ? hash(data, size) : (struct digest){ 0 };
}

void digest_join(struct digest *sum, struct digest from)
{
	uint128 total =
		((uint128)sum->high << 64 | sum->low) + ((uint128)from.high << 64 | from.low);

	sum->low = (uint64_t)total;
	sum->high = (uint64_t)(total >> 64);
}

void digest_add(struct digest *sum, uint64_t offset, uint64_t length, struct digest data)
{
	uint8_t block[32];

	bytes_put(block, 8, offset);
	bytes_put(block + 8, 8, length);
	bytes_put(block + 16, 8, data.low);
	bytes_put(block + 24, 8, data.high);
	digest_join(sum, hash(block, sizeof(block)));
}

char *digest_text(struct digest d, char buf[DIGEST_TEXT_SIZE])
{
	snprintf(buf, DIGEST_TEXT_SIZE, "%016" PRIx64 "%016" PRIx64, d.high, d.low);
	return buf;
}
