/*
 * The checksum of tagged sectors, from the library xxHash; without it a stand-in that says so.
 * Called by tag.c, and where a run is checked.
 */
#include "config.h"

#include "xdd/io/tag.h"

#ifdef HAVE_XXHASH

#include <xxhash.h>

bool tag_available(const char **why)
{
	(void)why;
	return true;
}

uint64_t tag_hash(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}

#else

bool tag_available(const char **why)
{
	*why = "this xdd was built without the library xxHash";
	return false;
}

uint64_t tag_hash(const void *data, size_t size)
{
	(void)data;
	(void)size;
	return 0;
}

#endif
