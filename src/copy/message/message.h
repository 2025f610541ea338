/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of copies of files: their bodies. Types and headers are in "xdd/net/wire.h",
 * doc/wire.md describes both.
 *
 * The source numbers what it offers: entries. Directories are entered and left in the order of the
 * walk, so an entry has its own name only, and lies in the directory that was entered last.
 *
 * Encoders and decoders are pure functions; any thread. A decoder checks each length, count and
 * flag, uses every byte, and accepts one encoding only. Pointers in decoded structs point into the
 * body, which must outlive them; texts and names in it end with NUL.
 */
#ifndef COPY_MESSAGE_MESSAGE_H
#define COPY_MESSAGE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/base/codec.h"
#include "xdd/base/sets.h"
#include "xdd/copy/copy.h"
#include "xdd/net/wire.h"

#define COPY_PROTOCOL 6
#define COPY_BANNER "XDD-COPY" /* the first line of a server: "XDD-COPY 6 8.0.0" */
#define COPY_MAX_OFFER_BYTES (1u << 20)
#define COPY_MAX_BUNDLE_BYTES (1u << 20)   /* of the body of WIRE_COPY_BUNDLE */
#define COPY_SMALL_FILE_BYTES (256u << 10) /* files up to this size travel in bundles */
#define COPY_MAX_NAME_BYTES 256		   /* of an entry, with its NUL */
#define COPY_MAX_PATH_BYTES 4096	   /* of a symbolic link, or a path in a text, with NUL */
#define COPY_MAX_ATTR_NAME_BYTES 256
#define COPY_MAX_ATTRS_BYTES (256u << 10) /* of all attributes of an entry */
#define COPY_MAX_ATTRS 1024
#define COPY_MAX_SOURCES 4096
#define COPY_MAX_ADDRESSES 16
#define COPY_MAX_RANGES 4096 /* of a WANT */
#define COPY_MAX_HOST_BYTES 256
#define COPY_MAX_ID (((uint64_t)1 << 56) - 1)

/* ---- WIRE_COPY_START: the first message to a server ---- */

enum copy_role {
	COPY_SOURCE = 1,
	COPY_DESTINATION = 2,
};

/* The role of the other side. */
static inline enum copy_role copy_peer_of(enum copy_role role)
{
	return role == COPY_SOURCE ? COPY_DESTINATION : COPY_SOURCE;
}

struct copy_start {
	uint8_t key[WIRE_KEY_BYTES];
	uint8_t session[WIRE_SESSION_BYTES];
	enum copy_role role; /* of the server */
	bool peer_is_here;   /* the other role is the one that sends this; false: another server */
	struct copy_settings settings;
	const char *destination; /* path; for the source for messages only */
	const char *own_host;	 /* names of the server and of the other side, for messages */
	const char *peer_host;
	const char **sources; /* paths; the caller frees the array, copy_start_free() */
	size_t n_sources;
};

/*
 * Encoders return the length; 0: it does not fit into `room`, or a name or number is beyond the
 * limits above. Texts to display are cut, and bytes in them that a decoder refuses become question
 * marks. All bodies fit into WIRE_MAX_BODY_BYTES, except START with many long names.
 *
 * Decoders return WIRE_OK or WIRE_BAD_BODY, which leaves `*b` undefined.
 */
size_t copy_encode_start(const struct copy_start *b, uint8_t *out, size_t room);
/* After WIRE_OK the caller frees the array of names. */
enum wire_fault copy_decode_start(const uint8_t *body, size_t length, struct copy_start *b);
void copy_start_free(struct copy_start *b);

/* ---- WIRE_COPY_STARTED, WIRE_COPY_MEET, WIRE_COPY_MET: how data connections come about ---- */

/* A server's answer to START. */
struct copy_started {
	char software[64]; /* "xdd 8.0.0" */
	char host[256];
	char ssh_address[64]; /* of this host as ssh reached it; "": not known */
	bool is_directory;    /* of a destination: its name names a directory */
};

enum copy_meet_how {
	COPY_LISTEN = 1,  /* listen, and answer with the port */
	COPY_CONNECT = 2, /* connect to the addresses and port */
	COPY_INSIDE = 3,  /* data goes through the channel */
};

/* A step of meeting, and its answer. */
struct copy_meet {
	enum copy_meet_how how;
	uint16_t port;			/* CONNECT; and in the answer to LISTEN */
	bool ok;			/* answer only */
	char text[WIRE_MAX_TEXT_BYTES]; /* answer only: why not */
	size_t n_addresses;
	char addresses[COPY_MAX_ADDRESSES][64]; /* numeric, or host names */
};

size_t copy_encode_started(const struct copy_started *b, uint8_t *out, size_t room);
enum wire_fault copy_decode_started(const uint8_t *body, size_t length, struct copy_started *b);
size_t copy_encode_meet(const struct copy_meet *b, uint8_t *out, size_t room);
enum wire_fault copy_decode_meet(const uint8_t *body, size_t length, struct copy_meet *b);

/* ---- WIRE_COPY_OFFER: entries ---- */

/*
 * Rules of both sides, which each checks of the other; what breaks them ends the session:
 *
 * - Each DIR, FILE, SYMLINK and LINK gets one RESULT. That of a DIR comes after its LEAVE, unless
 *   it is LOST.
 * - The window: at most COPY_WINDOW_ENTRIES entries with COPY_WINDOW_BYTES encoded bytes are
 *   offered and have no RESULT. A DIR counts from its LEAVE on, with the size of its own entry.
 * - WANT is for a FILE without RESULT: one with SEND, or one with SUMS, or one with SUMS and, after
 *   their FILE_END, one with SEND. With -k there is no SEND. SUMS of ranges need -R, and
 *   the FILE must not change between them and SEND.
 * - The source answers each WANT, also after a RESULT LOST. SUMS and SEND of ranges with FILE_END,
 *   which follows any number of messages. SEND of a whole file of up to COPY_SMALL_FILE_BYTES that
 *   is neither SPARSE nor a DEVICE with a record of a BUNDLE; SEND of others with FILE_END.
 * - With -o of the destination the BLOCKs of a file come on one connection, in ascending order.
 * - A RESULT other than LOST comes after the answers to all WANTs of the FILE.
 * - For an answer with a status the source has sent a FAILURE, unless the file was LOST before: the
 *   destination drops the file without one, and its RESULT is LOST.
 * - CANCEL: the side that sends it begins nothing new, and so does the other once it has it. WANTs
 *   may remain without answers, files without FILE_END, entries without RESULT.
 * - FINISH: the source sends nothing more on data connections. Without CANCEL it has all RESULTs.
 *   After CANCEL, RESULTs may follow until FINISHED. The source answers that with BYE.
 * - FINISHED comes after FINISH. That of a server may come before, without CANCEL: after END, all
 *   RESULTs and the answers to all WANTs. It then leaves, and what the source sends may be lost.
 * - done_files and done_bytes of FINISHED: FILEs with a RESULT DONE, and their size_bytes.
 */
#define COPY_WINDOW_ENTRIES 65536u
#define COPY_WINDOW_BYTES (16u << 20)

/*
 * Files of which other names may follow, at most: entries with COPY_HAS_LINKS less LINKs with
 * COPY_LAST_NAME. The destination has some 80 bytes for each. Beyond that a source offers the names
 * as separate files.
 */
#define COPY_MAX_FIRSTS ((uint64_t)1 << 26)

enum copy_kind {
	COPY_DIR = 1, /* enter it: later entries lie in it */
	COPY_LEAVE,   /* leave the directory that was entered last */
	COPY_FILE,    /* or, as the only entry of all, a device */
	COPY_SYMLINK,
	COPY_LINK,  /* another name of the file `first` */
	COPY_OWNER, /* the name of a user or group; with -P, before its first use */
	COPY_END,   /* the walk is over; the last entry of the last offer */
};

enum {
	COPY_SPARSE = 1 << 0,	 /* FILE: has holes, which are not sent */
	COPY_HAS_LINKS = 1 << 1, /* FILE, SYMLINK: LINK entries may follow */
	COPY_DEVICE = 1 << 2,	 /* FILE: a device or pipe-like source; size as the user gave it */
	COPY_IMPLIED = 1 << 3,	 /* DIR: leads to names of a list; one that exists stays as it is */
	COPY_LAST_NAME = 1 << 4, /* LINK: no other LINK to `first` follows */
};

struct copy_attr {
	const char *name; /* "user.x", "system.posix_acl_access" */
	const uint8_t *value;
	size_t size;
};

/* True for a last component: not "", ".", "..", and without "/". */
bool copy_is_name(const char *name);

struct copy_entry {
	enum copy_kind kind;
	uint64_t id; /* DIR, FILE, SYMLINK, LINK: 1, 2, 3 ... in the order of offers */
	/* copy_is_name(); or "" of a DIR that stands for the destination directory itself. */
	const char *name;
	uint32_t flags;
	uint32_t mode; /* permissions, 07777 */
	uint32_t uid, gid;
	uint64_t size_bytes;
	uint64_t identity;	       /* FILE: of the file itself (tree/dirs.h); 0: not known */
	uint64_t version;	       /* FILE: of its contents (the same); 0: not known */
	int64_t mtime_ns, atime_ns;    /* since 1970 */
	uint64_t first;		       /* LINK: id of an entry with COPY_HAS_LINKS */
	const char *target;	       /* SYMLINK */
	bool group;		       /* OWNER: `name` names group `gid`; else user `uid` */
	const struct copy_attr *attrs; /* with -P; decoded: in the cursor, until the next entry */
	size_t n_attrs;
};

/*
 * Append to an offer. Returns the bytes used; 0: it does not fit into `room`, or its name, target
 * or attributes are beyond the limits. One within them fits into an empty offer.
 */
size_t copy_encode_entry(const struct copy_entry *e, uint8_t *out, size_t room);

/* Reads the entries of an offer in order. */
struct copy_cursor {
	struct decoder in; /* of the body: dec_begin() */
	struct copy_attr attrs[COPY_MAX_ATTRS];
};
/* WIRE_OK with `*more` false at the end. */
enum wire_fault copy_decode_entry(struct copy_cursor *c, struct copy_entry *e, bool *more);

/* ---- WIRE_COPY_WANT: what the destination lacks ---- */

enum copy_how {
	COPY_SEND = 1, /* the contents, or, with ranges, those */
	COPY_SUMS = 2, /* digests of the blocks, or, with ranges, of those in them */
};

struct copy_want {
	uint64_t id;
	enum copy_how how;
	const struct extent *ranges; /* bytes; ascending, disjoint. Decoded: in the cursor */
	size_t n_ranges;	     /* 0: all of it */
};

struct copy_want_cursor {
	struct decoder in; /* of the body: dec_begin() */
	struct extent ranges[COPY_MAX_RANGES];
};
size_t copy_encode_want(const struct copy_want *w, uint8_t *out, size_t room);
enum wire_fault copy_decode_want(struct copy_want_cursor *c, struct copy_want *w, bool *more);

/* ---- WIRE_COPY_RESULT: the end of entries at the destination; array of these ---- */

enum copy_outcome {
	COPY_DONE = 1, /* it is there under its final name, durable */
	COPY_SAME,     /* it was there already: skipped */
	COPY_EQUAL,    /* -k: the contents are equal */
	COPY_DIFFERS,  /* -k: they are not; a FAILURE has come before */
	COPY_LOST,     /* it failed; a FAILURE has come before, from either side */
	COPY_WOULD,    /* -n: it would be copied */
};

struct copy_result {
	uint64_t id;
	enum copy_outcome outcome;
};

size_t copy_encode_result(const struct copy_result *r, uint8_t *out, size_t room);
/* Result `i` of a body; false past the last one. First check the body: */
enum wire_fault copy_check_results(const uint8_t *body, size_t length, size_t *n);
struct copy_result copy_result_at(const uint8_t *body, size_t i);

/* ---- data connections ---- */

/*
 * WIRE_COPY_BLOCK: a range of bytes of a large file. The id is in `target` (low 32 bits) and `pass`
 * (high 32 bits) of the header, the offset in `offset`, the payload is the body.
 */
static inline uint64_t copy_block_id(const struct wire_header *h)
{
	return h->target | (uint64_t)h->pass << 32;
}

static inline void copy_set_block_id(struct wire_header *h, uint64_t id)
{
	h->target = (uint32_t)id;
	h->pass = (uint32_t)(id >> 32);
}

/*
 * WIRE_COPY_BUNDLE: whole small files. A record is id (8), size (4), status (4: 0, or the exit
 * status of a file that failed, which then has a text of `size` bytes with its NUL, at most
 * WIRE_MAX_TEXT_BYTES and safe to print, instead of contents), contents, zeros up to a multiple
 * of 8.
 */
#define COPY_BUNDLE_RECORD_BYTES 16

struct copy_bundle_file {
	uint64_t id;
	uint32_t status; /* 0: `data` is the contents; else a message */
	const uint8_t *data;
	uint32_t size;
};

/* Write the head of a record; the contents follow. And the bytes that a record takes. */
void copy_bundle_head(uint64_t id, uint32_t size, uint32_t status,
		      uint8_t out[COPY_BUNDLE_RECORD_BYTES]);
static inline size_t copy_bundle_bytes(uint32_t size)
{
	return COPY_BUNDLE_RECORD_BYTES + (((size_t)size + 7) & ~(size_t)7);
}
/* The next file of a body; WIRE_OK with `*more` false at the end. */
enum wire_fault copy_decode_bundle(struct decoder *in, struct copy_bundle_file *f, bool *more);

/*
 * WIRE_COPY_FILE_END: the source sends no more of file `id`, which it wanted with BLOCKs or SUMS.
 * Sent once, after all of them were sent, perhaps on other connections: the destination waits until
 * it has received as many.
 */
struct copy_file_end {
	uint64_t id;
	uint64_t messages; /* BLOCK and SUMS of this file, on all connections */
	uint64_t bytes;	   /* in the BLOCKs; holes are not sent */
	uint32_t status;   /* 0; or the source failed: a text follows */
	char text[WIRE_MAX_TEXT_BYTES];
};
size_t copy_encode_file_end(const struct copy_file_end *b, uint8_t *out, size_t room);
enum wire_fault copy_decode_file_end(const uint8_t *body, size_t length, struct copy_file_end *b);

/*
 * WIRE_COPY_SUMS: one struct wire_sums, of file `id`. The offset of the first block is a multiple
 * of the size of blocks.
 */
enum wire_fault copy_decode_sums(const uint8_t *body, size_t length, struct wire_sums *b);

/* ---- both directions ---- */

/* WIRE_COPY_FAILURE: a name that is not copied, or differs; or a warning. */
struct copy_failure {
	uint64_t id;	 /* 0: no entry */
	uint32_t status; /* 0: a warning; else a status of enum copy_status or xdd_status */
	bool differs;	 /* -k: `text` lists all that differs */
	char path[COPY_MAX_PATH_BYTES]; /* any bytes; relative to source or destination. "": none.
					   A longer one is cut in front, after "..." */
	char text[WIRE_MAX_TEXT_BYTES]; /* one line: "cannot open (Permission denied)" */
};
/* Set the path, cut if necessary. */
void copy_failure_path(struct copy_failure *f, const char *path);
size_t copy_encode_failure(const struct copy_failure *b, uint8_t *out, size_t room);
enum wire_fault copy_decode_failure(const uint8_t *body, size_t length, struct copy_failure *b);

/*
 * WIRE_COPY_COUNTS: of one side, cumulative: every 250 ms, and with FINISH and FINISHED, whose body
 * it is too. Times are sums over threads. The body has the fields in this order.
 */
struct copy_counts {
	uint64_t offered_files, offered_bytes; /* source: found so far */
	uint64_t offered_dirs, offered_links;
	uint64_t walk_done;		       /* source: 1 once all are found */
	uint64_t done_files, done_bytes;       /* source: sent; destination: durable */
	uint64_t skipped_files, skipped_bytes; /* destination: identical */
	uint64_t dirs, links; /* destination: directories, and links of both kinds, made or there */
	uint64_t failed;      /* entries and names, of this side */
	uint64_t warnings;
	uint64_t moved_bytes;	 /* through data connections: bodies sent, contents received */
	uint64_t storage_ns;	 /* in reads, or in writes and creations */
	uint64_t network_ns;	 /* in sends, or in receives of payload */
	uint64_t waiting_ns;	 /* for work (source), for messages (destination) */
	uint64_t checking_ns;	 /* digests */
	uint64_t flush_ns;	 /* destination: of one thread, in flushes and renames */
	uint64_t resumed_bytes;	 /* destination: had been durable before, not sent again */
	uint64_t owners_not_set; /* destination: without the right to */
	uint64_t status;	 /* exit status of this side so far */
	uint64_t cpu_ns;	 /* data threads: running on a processor */
	uint64_t cpu_wait_ns;	 /* the same: ready to run, and without a processor */
	uint64_t quota_ns;	 /* in which a CPU quota stopped its control group */
	uint64_t transit_ns;	 /* source: data was on its way to a peer that had room for it */
};
size_t copy_encode_counts(const struct copy_counts *b, uint8_t *out, size_t room);
enum wire_fault copy_decode_counts(const uint8_t *body, size_t length, struct copy_counts *b);

#endif
