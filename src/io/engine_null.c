/*
 * The null engine: every operation succeeds at once and moves nothing. For the target `null`, and
 * for measuring what xdd itself costs.
 */
#include "xdd/io/engine.h"

static int null_submit(void *ctx, struct io_request *req)
{
	(void)ctx;
	req->done = req->size;
	return 0;
}

const struct engine engine_null = {
	.info = { ENGINE_NAMED("null", "nothing is transferred; shows what xdd itself costs"),
		  .caps = ENGINE_NO_DATA | ENGINE_DISCARDS },
	.submit = null_submit,
};
