/*
 * The files of both sides: refused where they are one, and examined again after a pass, because
 * other programs may use them meanwhile. Called when the sides meet, and by the last QThread to
 * leave a pass.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "run/endtoend/endtoend.h"
#include "run/target.h"
#include "xdd/base/units.h"

/* The length of the host in "10.0.0.1:40010". */
static size_t host_length(const char *address)
{
	const char *colon = strrchr(address, ':');

	return colon ? (size_t)(colon - address) : 0;
}

/* True if both ends of the control connection have one address: nearly always that of one host. */
static bool within_host(struct session *s)
{
	struct connection_info info;
	size_t length;

	if (!session_info(s, WIRE_NO_CONNECTION, &info))
		return false;
	length = host_length(info.peer);
	return length && length == host_length(info.local) &&
	       memcmp(info.peer, info.local, length) == 0;
}

bool endtoend_same_file(struct endtoend *e, const struct wire_plan *own,
			const struct wire_plan *peer)
{
	struct stat st;

	if (!peer->inode || strcmp(own->host, peer->host) != 0 || !within_host(e->session) ||
	    stat(e->target->plan->path, &st))
		return false;
	if (S_ISBLK(st.st_mode))
		return st.st_rdev == peer->device && !peer->mtime_ns;
	return st.st_dev == peer->device && st.st_ino == peer->inode;
}

/*
 * True if the file of a source is another than at the beginning. The time of its last change of any
 * kind counts as well: a program can restore the other one.
 */
static bool source_changed(const struct endtoend *e, const struct stat *st)
{
	return e->unsettled || (uint64_t)st->st_size != e->own.size_bytes ||
	       timespec_ns(&st->st_mtim) != e->own.mtime_ns ||
	       timespec_ns(&st->st_ctim) != e->own.ctime_ns;
}

int endtoend_look_at_file(struct target *t, const struct wire_pass *own, char *why, size_t size)
{
	struct endtoend *e = t->endtoend;
	const bool complete = !own->failed && own->ops == e->ops;
	struct stat st;

	if (t->file.fd < 0 || fstat(t->file.fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	if (e->sends && source_changed(e, &st)) {
		snprintf(why, size,
			 "the file of the source changed while it was copied: the copy may have "
			 "parts from before and after");
		return -ESTALE;
	}
	if (e->sends)
		return 0;
	if (!st.st_nlink) {
		snprintf(why, size, "the file of the destination was removed while it was written");
		return -ENOENT;
	}
	if (complete && e->peer.final_bytes != WIRE_NO_SIZE &&
	    (uint64_t)st.st_size < e->own.start_bytes + e->peer.final_bytes) {
		snprintf(why, size,
			 "the file of the destination was truncated while it was written: "
			 "it has %" PRIu64 " bytes",
			 (uint64_t)st.st_size);
		return -EIO;
	}
	return 0;
}
