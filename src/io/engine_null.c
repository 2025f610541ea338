/*
 * The null engine: every operation succeeds at once and moves nothing. For the target `null`, and for
 * measuring what xdd itself costs.
 */
#include "xdd/io/engine.h"

static int null_submit(void *ctx, struct io_request *req)
{
	(void)ctx;
	req->done = req->size;
	return 0;
}

const struct engine engine_null = {
	.name = "null",
	.help = "does nothing; every operation succeeds at once",
	.caps = ENGINE_SYNC | ENGINE_NO_FILE | ENGINE_QUEUES,
	.submit = null_submit,
};
