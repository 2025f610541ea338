/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages between the two sides of an end-to-end copy, and the digests in them.
 */
#ifndef XDD_NET_WIRE_H
#define XDD_NET_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Checksums of an end-to-end copy: XXH3 with 128 bits, from the library xxHash.
 *
 * The digest of a pass is the sum modulo 2^128 of a hash of (offset, length, digest of the data)
 * of each block. It does not depend on the order of the blocks, and parts of a copy can be added.
 * Pure functions; any thread.
 */

#define DIGEST_TEXT_SIZE 33

struct digest {
	uint64_t low;
	uint64_t high;
};

/* False, with `*why` a static message: this xdd was built without xxHash. */
bool digest_available(const char **why);

/* Of `size` bytes; of 0 bytes it is zero. */
struct digest digest_data(const void *data, size_t size);

/*
 * The digest of data that arrives in pieces, so that each piece is read while it is in the cache.
 * digest_stream_end() returns the digest_data() of all that was added since digest_stream_start().
 * A stream belongs to one thread. digest_stream_new() returns NULL without memory;
 * digest_stream_free() accepts NULL.
 */
struct digest_stream;
struct digest_stream *digest_stream_new(void);
void digest_stream_free(struct digest_stream *s);
void digest_stream_start(struct digest_stream *s);
void digest_stream_add(struct digest_stream *s, const void *data, size_t size);
struct digest digest_stream_end(const struct digest_stream *s);

/*
 * Bytes of a piece that a receiver adds at a time. Smaller pieces wake it more often, which costs
 * more than reading a block of this size from the second-level cache.
 */
#define DIGEST_PIECE_BYTES (1u << 20)

static inline bool digest_equal(struct digest a, struct digest b)
{
	return a.low == b.low && a.high == b.high;
}

/* Add the block of `length` bytes at `offset` with the digest `data` to `*sum`. */
void digest_add(struct digest *sum, uint64_t offset, uint64_t length, struct digest data);

/* Add the sum `from` to `*sum`. */
void digest_join(struct digest *sum, struct digest from);

/* XXH3 with 64 bits, for the checksums of headers. */
uint64_t digest_short(const void *data, size_t size);

/* 32 hexadecimal digits, the high ones first, into `buf`; returns `buf`. */
char *digest_text(struct digest d, char buf[DIGEST_TEXT_SIZE]);

/*
 * Messages between the two sides of an end-to-end copy: their layout, limits and checksums.
 * doc/wire.md describes them.
 *
 * No function here reads or writes a connection. A received message is decoded into a checked
 * struct before anything acts on it. Any thread; a struct wire_key belongs to one thread at a
 * time.
 */

#define WIRE_MAGIC 0x32444458u /* "XDD2" */
#define WIRE_VERSION 2
#define WIRE_HEADER_BYTES 96
#define WIRE_MAX_BODY_BYTES (1u << 20) /* of any message except WIRE_DATA */
#define WIRE_MAX_HELLO_BYTES 1024      /* of a message from a peer that is not authenticated */
#define WIRE_MAX_TEXT_BYTES 1024       /* of a message */
#define WIRE_MAX_ERROR_BYTES (4 + WIRE_MAX_TEXT_BYTES)
#define WIRE_MAX_NAME_BYTES 4096      /* of a host or a file */
#define WIRE_MAX_RANGES 60000	      /* of WIRE_ACCEPT */
#define WIRE_MAX_PROOF_OPS 16384      /* of WIRE_PROVE; their digests fit into one message */
#define WIRE_MAX_CONNECTIONS 65536    /* of data */
#define WIRE_NO_CONNECTION UINT32_MAX /* the control connection */
#define WIRE_SESSION_BYTES 16
#define WIRE_KEY_BYTES 32
#define WIRE_CODE_BYTES 16	/* of an authentication code */
#define WIRE_NO_SIZE UINT64_MAX /* amounts that only time ends; sizes that are not set */

/* The letter tells who sends it: s source, d destination. The connection: c control, t data. */
enum wire_type {
	WIRE_HELLO = 1,	  /* s   c t  first message of a connection; struct wire_hello */
	WIRE_WELCOME,	  /*   d c t  the answer; struct wire_hello */
	WIRE_PLAN,	  /* s   c    struct wire_plan */
	WIRE_ACCEPT,	  /*   d c    struct wire_plan of the destination, and the ranges to send */
	WIRE_READY,	  /*   d c    its file is open; no body */
	WIRE_PASS_BEGIN,  /* s   c    `pass` begins; no body */
	WIRE_DATA,	  /* s     t  an operation: sequence, offset, digest, payload */
	WIRE_SKIP,	  /* s     t  operation `sequence` failed and has no data; no body */
	WIRE_PASS_LAST,	  /* s     t  no more in this pass; `sequence`: DATA and SKIP before it */
	WIRE_PASS_STOP,	  /*   d c    end this pass early: a limit of the destination; no body */
	WIRE_PASS_END,	  /* s   c    struct wire_pass */
	WIRE_PASS_RESULT, /*   d c    struct wire_pass */
	WIRE_ALIVE,	  /* s d c    nothing to say; no body */
	WIRE_ERROR,	  /* s d c t  struct wire_error; the sender ends the session */
	WIRE_BYE,	  /* s d c    the session ends as it should; no body */
	WIRE_PROVE,	  /*   d c    ranges of operations whose digests it wants */
	WIRE_SUMS,	  /* s   c    the answer: struct wire_sums, any number of them */

	/* Copies of files: "copy/message/message.h". r: a server, i: who started it. */
	WIRE_COPY_START = 32, /* i   c    key, settings and names */
	WIRE_COPY_STARTED,    /*   r c    the answer */
	WIRE_COPY_MEET,	      /* i   c    a step towards data connections */
	WIRE_COPY_MET,	      /*   r c    its answer */
	WIRE_COPY_BEGIN,      /* i   c    data connections are there, the copy begins; no body */
	WIRE_COPY_OFFER,      /* s   c    files that are there, in the order of the walk */
	WIRE_COPY_WANT,	      /*   d c    files whose contents are to be sent */
	WIRE_COPY_RESULT,     /*   d c    files that are complete, or failed */
	WIRE_COPY_BLOCK,      /* s     t  a range of a large file */
	WIRE_COPY_BUNDLE,     /* s     t  small files */
	WIRE_COPY_SUMS,	      /* s     t  digests of blocks */
	WIRE_COPY_FILE_END,   /* s     t  no more of a large file */
	WIRE_COPY_FAILURE,    /* s d c    a file that is not copied, and why */
	WIRE_COPY_COUNTS,     /* s d c    how far this side is */
	WIRE_COPY_CANCEL,     /* s d i c  end early, orderly; struct wire_error */
	WIRE_COPY_FINISH,     /* s   c    all is sent, and all results are received; counts */
	WIRE_COPY_FINISHED,   /*   d c    the answer; counts */
	WIRE_TYPES
};

/* A decoded header, within all limits of its type. Integers on the wire are little-endian. */
struct wire_header {
	enum wire_type type;
	uint32_t target; /* number of the source's target; matched by the session, not by wire.c */
	uint32_t connection;  /* 0 to n-1: data; WIRE_NO_CONNECTION: control */
	uint32_t pass;	      /* from 1; 0 outside of passes */
	uint64_t length;      /* bytes of body that follow */
	uint64_t sequence;    /* DATA, SKIP: operation number. Others: messages before on it */
	uint64_t offset;      /* DATA: bytes from the start of the copied extent. Others: 0 */
	struct digest digest; /* of the body; zero when it is empty */
};

/*
 * The secret of a session, ready to compute the authentication codes of headers: HMAC-SHA256, cut
 * to WIRE_CODE_BYTES. wire_key_new() returns NULL without memory, and without OpenSSL; it keeps no
 * reference to `bytes`. wire_key_free() overwrites the secret and accepts NULL.
 */
struct wire_key;
struct wire_key *wire_key_new(const uint8_t bytes[WIRE_KEY_BYTES]);
void wire_key_free(struct wire_key *key);

/* Compute the code of `size` bytes of `data`. False: the library failed, and `out` is undefined. */
bool wire_key_code(struct wire_key *key, const void *data, size_t size,
		   uint8_t out[WIRE_CODE_BYTES]);

/* True if `code` is the code of `data`. The time does not depend on where they differ. */
bool wire_key_check(struct wire_key *key, const void *data, size_t size,
		    const uint8_t code[WIRE_CODE_BYTES]);

/*
 * A key for one use of a secret, from which no other can be computed: HMAC-SHA256 of `label`.
 * Returns 0; -ENOTSUP without OpenSSL; or -EIO. Any thread.
 */
int wire_key_derive(const uint8_t secret[WIRE_KEY_BYTES], const char *label,
		    uint8_t out[WIRE_KEY_BYTES]);

enum wire_fault {
	WIRE_OK,
	WIRE_BAD_MAGIC,	   /* not a message of xdd */
	WIRE_BAD_VERSION,  /* one of another version */
	WIRE_BAD_CHECKSUM, /* of the header */
	WIRE_BAD_CODE,	   /* the authentication code is wrong */
	WIRE_BAD_TYPE,
	WIRE_BAD_FIELD, /* a field is out of range for this type */
	WIRE_BAD_LENGTH,
	WIRE_BAD_BODY, /* a body does not parse */
	WIRE_BAD_DATA, /* the digest of a body is wrong */
};

/* A sentence that completes "the peer sent ...": "a message with a wrong checksum". */
const char *wire_fault_text(enum wire_fault fault);

/* "DATA", "PLAN", for messages and -debug e2e. */
const char *wire_type_name(enum wire_type type);

/* Encode `h`. Without `key` (NULL) zeros stand in for the code. */
void wire_encode(const struct wire_header *h, struct wire_key *key, uint8_t out[WIRE_HEADER_BYTES]);

/*
 * Decode a header and check everything that does not depend on the session: magic, checksum,
 * version, code, type, and for the type: length (DATA: at most `max_data`), kind of connection,
 * pass, offset, zero where zero belongs. `*h` is set on WIRE_OK only. On WIRE_BAD_VERSION
 * `*version` is the peer's version; it may be NULL. With `key`, a header without its code is
 * WIRE_BAD_CODE; without one, a header that has a code is.
 */
enum wire_fault wire_decode(const uint8_t in[WIRE_HEADER_BYTES], struct wire_key *key,
			    uint64_t max_data, struct wire_header *h, unsigned *version);

/* Compare the digest of a received body of `h->length` bytes: WIRE_OK or WIRE_BAD_DATA. */
enum wire_fault wire_check_body(const struct wire_header *h, const void *body);

/* ---- bodies ---- */

enum wire_purpose {
	WIRE_CONTROL = 1,
	WIRE_TRANSFER = 2,
};

enum {
	WIRE_CAN_KEY = 1 << 0,	   /* this side has a key */
	WIRE_CAN_ENCRYPT = 1 << 1, /* this side encrypts all data */
};

struct wire_hello {
	enum wire_purpose purpose;
	uint32_t flags;			     /* WIRE_CAN_... */
	uint8_t session[WIRE_SESSION_BYTES]; /* random, chosen by the source */
	char software[64];		     /* "xdd 8.0.0" */
};

/*
 * A side's part in the copy. Names are any bytes, because names of files are: they are printed
 * through base/printable only.
 */
struct wire_plan {
	uint8_t run[WIRE_SESSION_BYTES]; /* the same in the results of both sides */
	uint64_t req_bytes;
	uint64_t bytes;			/* of a pass; WIRE_NO_SIZE: the source decides */
	uint64_t ops;			/* the same */
	uint64_t passes;		/* at most */
	uint32_t connections;		/* of data */
	uint32_t flags;			/* WIRE_CAN_..., WIRE_RESUMES */
	uint64_t final_bytes;		/* of the destination's file; WIRE_NO_SIZE: leave it */
	uint64_t start_bytes;		/* first byte of the extent in the sender's own target */
	uint64_t size_bytes;		/* of the source now */
	int64_t mtime_ns, ctime_ns;	/* of the source; 0 for devices */
	uint64_t device, inode;		/* of the source */
	uint64_t pattern;		/* source: hash of the offsets of its operations */
	uint64_t skipped_bytes;		/* -restart offset */
	char host[256];			/* the sender's */
	char name[WIRE_MAX_NAME_BYTES]; /* of its target */
};

enum {
	WIRE_RESUMES = 1 << 8, /* the destination has a part already */
	WIRE_SERIAL = 1 << 9,  /* the storage of this side does one operation at a time */
};

/* Operations `first` to `first + count - 1` of the pass. */
struct wire_range {
	uint64_t first;
	uint64_t count;
};

/*
 * Digests of consecutive blocks of a file. All but the last block are full. In WIRE_SUMS a block is
 * an operation, and `id` the number of the first one; in WIRE_COPY_SUMS `id` is the file.
 */
struct wire_sums {
	uint64_t id;
	uint64_t offset_bytes; /* of the first block; WIRE_SUMS: from the start of the extent */
	uint32_t block_bytes;
	uint64_t end_bytes; /* of the last block */
	size_t n;
	const uint8_t *digests; /* WIRE_SUM_BYTES each */
};

#define WIRE_SUM_BYTES 16

/* Times are sums over the connections, in nanoseconds. */
struct wire_pass {
	uint64_t ops;	      /* operations sent, or written */
	uint64_t bytes;	      /* of these */
	uint64_t failed;      /* operations that failed on this side */
	struct digest digest; /* of the blocks sent or written: digest_add() */
	uint64_t elapsed_ns;
	uint64_t storage_ns;	/* in reads, or in writes */
	uint64_t network_ns;	/* sending, or receiving payloads */
	uint64_t waiting_ns;	/* for the next message (destination), or for a turn */
	uint64_t checking_ns;	/* checksums */
	uint64_t first_read_ns; /* source: from the start of the pass to its first complete read */
	uint64_t last_write_ns; /* destination: to its last complete write */
	uint64_t retransmits;
	uint64_t pace_ns;     /* for its own pace by request */
	uint64_t cpu_ns;      /* running on a processor, in any of these times */
	uint64_t cpu_wait_ns; /* ready to run, and without a processor */
	uint64_t quota_ns;    /* in which a CPU quota stopped its control group */
	uint64_t transit_ns;  /* source: data was on its way to a peer that had room for it */
	char error[WIRE_MAX_TEXT_BYTES]; /* of the first that failed, one line; "": none */
};

struct wire_error {
	uint32_t status;		/* enum xdd_status, or enum copy_status, of the sender */
	char text[WIRE_MAX_TEXT_BYTES]; /* one line */
};

/*
 * Encode a body into `out`, which has WIRE_MAX_BODY_BYTES (WIRE_MAX_HELLO_BYTES for a hello,
 * WIRE_MAX_ERROR_BYTES for an error). Return the length. `ranges` (`n`, at most WIRE_MAX_RANGES)
 * only go with WIRE_ACCEPT. In `software` and `text`, bytes that a decoder would refuse become
 * question marks.
 */
size_t wire_encode_hello(const struct wire_hello *b, uint8_t *out);
size_t wire_encode_plan(const struct wire_plan *b, const struct wire_range *ranges, size_t n,
			uint8_t *out);
size_t wire_encode_pass(const struct wire_pass *b, uint8_t *out);
size_t wire_encode_error(const struct wire_error *b, uint8_t *out);

/*
 * The body of WIRE_PROVE, of `n` ranges, into `out` of WIRE_MAX_BODY_BYTES. Returns the length. The
 * decoder accepts ranges of 1 to WIRE_MAX_PROOF_OPS operations together, as wire_decode_plan() has
 * them; `ranges` has room for WIRE_MAX_PROOF_OPS.
 */
size_t wire_encode_prove(const struct wire_range *ranges, size_t n, uint8_t *out);
enum wire_fault wire_decode_prove(const uint8_t *body, size_t length, struct wire_range *ranges,
				  size_t *n);

/*
 * One struct wire_sums into `out`, which has `room`; its digests may have been computed in place.
 * Returns the length; 0: it does not fit. wire_decode_sums() decodes one at the start of `length`
 * bytes, `*used` of them; the digests stay there. Their number is right for the extent, which is
 * not empty.
 */
size_t wire_encode_sums(const struct wire_sums *b, uint8_t *out, size_t room);
enum wire_fault wire_decode_sums(const uint8_t *body, size_t length, struct wire_sums *b,
				 size_t *used);

/* Digest `i` of `b`; a digest as it is in `digests`. */
struct digest wire_sums_at(const struct wire_sums *b, size_t i);
void wire_put_sum(struct digest d, uint8_t out[WIRE_SUM_BYTES]);

/*
 * Decode a body of `length` bytes, of which each must be used. Numbers are within their limits:
 * amounts are WIRE_NO_SIZE or below 2^63, and unknown flags are refused. Texts end with NUL;
 * `software` and `text` are printable UTF-8 without line ends. WIRE_OK or WIRE_BAD_BODY, which
 * leaves `*b` undefined.
 *
 * wire_decode_plan(): `ranges` has room for WIRE_MAX_RANGES; they are ascending, disjoint and not
 * empty. NULL: a body with ranges is refused, and `n` may be NULL.
 */
enum wire_fault wire_decode_hello(const uint8_t *body, size_t length, struct wire_hello *b);
enum wire_fault wire_decode_plan(const uint8_t *body, size_t length, struct wire_plan *b,
				 struct wire_range *ranges, size_t *n);
enum wire_fault wire_decode_pass(const uint8_t *body, size_t length, struct wire_pass *b);
enum wire_fault wire_decode_error(const uint8_t *body, size_t length, struct wire_error *b);

/*
 * Decode the header of the first message of a connection, HELLO, before the key for its code is
 * known: wire_decode() without a check of the code. The session calls wire_decode() with the key.
 */
enum wire_fault wire_decode_first(const uint8_t in[WIRE_HEADER_BYTES], struct wire_header *h,
				  unsigned *version);

#endif
