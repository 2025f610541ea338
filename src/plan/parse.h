/*
 * From words to settings to a plan: the state of reading a command line, and the messages about it.
 *
 * Private to src/plan; one thread.
 */
#ifndef XDD_PLAN_PARSE_H
#define XDD_PLAN_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "xdd/base/arena.h"
#include "xdd/base/nstime.h"
#include "xdd/base/suggest.h"
#include "xdd/base/units.h"
#include "xdd/plan/option.h"
#include "xdd/plan/plan.h"

/* A setup file that is being read, innermost first: for the message about a loop of files. */
struct setup_file {
	const struct setup_file *outer;
	dev_t dev;
	ino_t ino;
};

struct parse {
	struct plan *plan;
	struct arena *arena; /* the plan's */
	struct setting *settings;
	size_t n_settings;
	size_t cap_settings;
	const struct setup_file *setup; /* innermost open setup file */
	unsigned n_setup_files;		/* read so far */
	bool done;			/* -help and the like: there is nothing to run */
};

/* words.c: take a setup file apart. Returns XDD_OK, or a status with one line given to log_error(). */
enum xdd_status words_read_setup(struct parse *p, const struct word *name, struct word **words,
				 size_t *n_words);

/* parse.c: turn words into settings of `p`; setup files are read where they stand. */
enum xdd_status parse_words(struct parse *p, const struct word *words, size_t n_words);

/* parse.c: the action of -setup. */
enum xdd_status parse_setup(struct parse *p, const struct setting *s);

/* apply.c: create the targets, give every option its default, apply the settings left to right. */
enum xdd_status apply_settings(struct parse *p);

/* apply.c: one setting into one struct: the plan, or a target. A bad value is reported. */
enum xdd_status parse_apply(const struct setting *s, void *dst);

/* conflict.c: refuse two operations (-op, -rwratio) for all targets on the command line or in one setup file. */
enum xdd_status parse_check_operations(const struct parse *p);

/*
 * apply.c: tell about a bad value: "-name value: <text> (where); hint". Always returns `status`.
 * `w` may be NULL when no word is to blame.
 */
enum xdd_status parse_error(enum xdd_status status, const struct setting *s, const struct word *w,
			    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* apply.c: tell that one of the words that `at` gives is wanted, and which may be meant. */
enum xdd_status parse_error_words(const struct setting *s, const struct word *w, suggest_word_at at,
				  const void *words);

/* apply.c: "a, b or c" in `buf`; returns `buf`. */
char *parse_list_words(suggest_word_at at, const void *words, char *buf, size_t size);

/*
 * apply.c: the time that a word stands for, from `min` to `max`, in nanoseconds; `min` may be 1 for any time
 * above 0. Tells about one that is none.
 */
enum xdd_status parse_time(const struct setting *s, const struct word *w, uint64_t min,
			   uint64_t max, uint64_t *ns);

/* The longest time that is taken. */
#define PLAN_CENTURY_NS (100ull * 365 * 24 * 3600 * NS_PER_SEC)

/* apply.c: tell that memory is short; always returns XDD_INIT_FAILED. */
enum xdd_status plan_no_memory(void);

/* probe.c: find out what the target's path is; fills kind, size_bytes and the two alignments. */
enum xdd_status probe_target(struct target_plan *t);

/* The largest offset a file may have. */
#define PLAN_MAX_OFFSET ((uint64_t)INT64_MAX)

/* amount.c: the operations and bytes of a pass, and the range that they go over. */
enum xdd_status plan_resolve_amount(const struct plan *plan, struct target_plan *t);

/* check.c: tell what is wrong with a target's options; always returns XDD_BAD_ARGUMENT. */
enum xdd_status plan_refuse(const struct target_plan *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* check.c: how large the target is is known. */
bool plan_has_size(const struct target_plan *t);

/* check.c: first byte of the range of the last pass. */
uint64_t plan_last_start(const struct plan *plan, const struct target_plan *t);

/*
 * check.c: bytes of the target that every pass can have to itself, those that other targets of the run write to a new
 * file among them; 0 where nothing is known or left.
 */
uint64_t plan_bytes_left(const struct plan *plan, const struct target_plan *t);

/* check.c: the byte after the last one that a run may touch; UINT64_MAX where it does not fit. */
uint64_t plan_extent(const struct plan *plan, const struct target_plan *t);

/*
 * check.c: sizes and offsets of all operations are multiples of what `option` asks for; the size of the last one as
 * well with `last`.
 */
enum xdd_status plan_check_multiples(const struct target_plan *t, const char *option,
				     uint32_t unit_bytes, bool last);

/* check.c: what a target that is resolved can do on its own: extent, -dio, -memalign, -seek, -ordering. */
enum xdd_status plan_check_target(const struct plan *plan, struct target_plan *t);

/* check_order.c: an order that the engine cannot keep. */
enum xdd_status plan_check_order(const struct target_plan *t);

/* check_order.c: an order that the kernel may not keep; log_warning(). */
void plan_warn_order(const struct target_plan *t);

/* check_files.c: the option by which files of a target are made anew; NULL: by none. */
const char *plan_made_anew(const struct target_plan *t);

/* check_files.c: what is to be done with files against what the targets are, and -force. */
enum xdd_status plan_check_files(struct plan *plan);

/* Where the file of a target lies, for finding two that are the same. */
struct place {
	struct target_plan *target;
	dev_t dev;
	ino_t ino;
	const char *name; /* of what is not there yet, in the folder dev, ino; else "" */
};

/*
 * check_places.c: the places of all targets, those of the same file side by side; to be freed. NULL: memory is short.
 * For qsort() and the like: 0 of two that are the same file.
 */
struct place *plan_places(const struct plan *plan);
int plan_compare_places(const void *a, const void *b);

/*
 * writers.c: who writes the files that others read, as `writer` of these, once kinds and operations are known; a
 * missing file that none of them writes is reported. `*places` is for plan_find_ends(), and to be freed; it may be NULL.
 */
enum xdd_status plan_find_writers(const struct plan *plan, struct place **places);

/* writers.c: how far these write, as `written_bytes` of the readers, once their amounts are known. */
void plan_find_ends(const struct plan *plan, const struct place *places);

/* check_places.c: files that would take each other's place: -recreatefiles, -createnewfiles, -seek save. */
enum xdd_status plan_check_places(const struct plan *plan);

/* check_places.c: targets that verify tagged data while another writes there. After plan_resolve_data(). */
enum xdd_status plan_check_tagged(const struct plan *plan);

/* data.c: what the pattern is made of, and whether it can be written and verified as asked. */
enum xdd_status plan_resolve_data(struct plan *plan);

/* coordinate.c: targets that wait for each other can: no cycles, nothing that never comes. */
enum xdd_status plan_check_coordination(const struct plan *plan);

/* machine.c: work out how the buffers of a target lie in memory. */
void resolve_memory(struct target_plan *t);

/* machine.c: -memalign is something that -dio can do with. */
enum xdd_status plan_check_memalign(const struct target_plan *t);

/* check.c: the passes that were asked for can be had. */
enum xdd_status plan_check_passes(struct plan *plan);

/* machine.c: the memory of the machine; UINT64_MAX where it is not known. In GIB for a message. */
uint64_t plan_machine_bytes(void);
#define GIB ((double)(1u << 30))

/* machine.c: the buffers of all targets fit into memory, and into the huge pages there are. */
enum xdd_status plan_check_memory(const struct plan *plan);

/* trace.c: file names and sizes of the tables of time stamps, and what cannot be. */
enum xdd_status plan_resolve_trace(const struct plan *plan, struct target_plan *t);

/* trace.c: bytes of memory that the table of a target takes. */
uint64_t plan_trace_bytes(const struct target_plan *t);

/* trace.c: the tables of all targets fit into memory. */
enum xdd_status plan_check_trace_memory(const struct plan *plan);

/* trace.c: what is allowed and may still surprise. */
void plan_warn_trace(const struct target_plan *t);

/* option_value.c: fill `by_option` of a plan that has its settings. */
enum xdd_status plan_sort_settings(struct plan *plan);

/* resolve.c: work out everything marked "resolved" in the plan. */
enum xdd_status plan_resolve(struct plan *plan);

/* help.c: to standard output. `name` is an option with or without dashes. */
void help_usage(void);
void help_full(void);
void help_version(void);
int help_option(const char *name);

/* option.c: the arity of rows that take a whole number or nothing. */
size_t option_arity_number(const struct word *args, size_t avail);

/* options_*.c: the rows of the table, a file a group. */
extern const struct option options_target[];
extern const struct option options_work[];
extern const struct option options_access[];
extern const struct option options_data[];
extern const struct option options_engine[];
extern const struct option options_order[];
extern const struct option options_machine[];
extern const struct option options_files[];
extern const struct option options_timing[];
extern const struct option options_coordinate[];
extern const struct option options_output[];
extern const struct option options_heartbeat[];
extern const struct option options_latency[];
extern const struct option options_trace[];
extern const struct option options_debug[];
extern const struct option options_general[];
extern const struct option options_refused[];

#endif
