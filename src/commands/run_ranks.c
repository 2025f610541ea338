/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run of many ranks; see the header. Called by run.c.
 */
#include "commands/run_ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/plan/runs.h"
#include "xdd/report/combine.h"
#include "xdd/report/jvalue.h"
#include "xdd/report/report.h"

enum xdd_status ranks_begin(struct arena *arena, int *argc, char ***argv, struct group **g)
{
	struct ranks_place place;
	enum xdd_status status;

	*g = NULL;
	if (!ranks_wanted(*argc, *argv))
		return XDD_OK;
	status = group_begin(g);
	if (status)
		return status;
	place = (struct ranks_place){
		.host = group_host(*g, group_rank(*g)),
		.rank = group_rank(*g),
		.n_ranks = group_size(*g),
		.ranks_per_node = group_ranks_per_node(*g),
	};
	return ranks_words(arena, *argc, *argv, &place, argc, argv);
}

enum xdd_status ranks_agree(struct group *g, enum xdd_status status)
{
	uint64_t worst = (uint64_t)status;

	if (!g)
		return status;
	if (group_max(g, &worst) || worst > XDD_MISCOMPARE)
		return status ? status : XDD_IO_ERROR;
	return (enum xdd_status)worst;
}

/* ---- outputs ---- */

/* A line of `files` that is in `others` too, of `*size` bytes, or NULL. */
static const char *shared_line(const char *files, const char *others, size_t *size)
{
	for (; *files; files += *size + (files[*size] == '\n')) {
		*size = strcspn(files, "\n");
		for (const char *o = others; *o;) {
			const size_t n = strcspn(o, "\n");

			if (n == *size && memcmp(o, files, n) == 0)
				return files;
			o += n + (o[n] == '\n');
		}
	}
	return NULL;
}

static enum xdd_status compare_outputs(const struct group_piece *files, unsigned n)
{
	for (unsigned a = 0; a < n; a++) {
		for (unsigned b = a + 1; b < n && *files[a].data; b++) {
			size_t size;
			const char *line = shared_line(files[a].data, files[b].data, &size);

			if (!line)
				continue;
			return log_refuse(
				"-mpi: -%.*s: is an output of rank %u and of rank %u; give each "
				"rank its own, with %%r in the name",
				(int)size, line, a, b);
		}
	}
	return XDD_OK;
}

static enum xdd_status gather_outputs(struct group *g, const char *own)
{
	struct group_piece *files = xcalloc(group_size(g), sizeof(*files));
	enum xdd_status status = XDD_OK;
	int err = group_gather(g, own, strlen(own), files);

	if (!err && group_rank(g) == 0)
		status = compare_outputs(files, group_size(g));
	free(files[0].data);
	free(files);
	return err ? XDD_INIT_FAILED : status;
}

enum xdd_status ranks_check(struct group *g, struct plan *plan)
{
	enum xdd_status status;
	char *own;

	if (!g)
		return XDD_OK;
	/* Rank 0 writes these for all. */
	plan->person = false;
	if (group_rank(g))
		plan->json_file = plan->errout_file = NULL;
	/* Each rank makes its document, which goes to memory, as if it had a file. */
	if (!plan->json_file)
		plan->json_file = "/dev/null";
	own = group_size(g) > 1 ? report_outputs(plan) : strdup("");
	status = gather_outputs(g, own ? own : "");
	free(own);
	return status;
}

/* ---- results ---- */

static json_t *skew_value(const struct group_skew *s)
{
	json_t *o = json_object();

	jvalue_put(o, "pass", jvalue_count(s->pass));
	jvalue_put(o, "skew_ns", jvalue_count(s->skew_ns));
	jvalue_put(o, "bound_ns", jvalue_count(s->bound_ns));
	jvalue_put(o, "first_rank", jvalue_count(s->first));
	jvalue_put(o, "last_rank", jvalue_count(s->last));
	return o;
}

/* How the ranks were started, and how far apart. */
static json_t *mpi_value(struct group *g)
{
	json_t *o = json_object(), *passes = json_array();
	struct group_skew most;
	size_t n;
	const struct group_skew *skews = group_skews(g, &n, &most);

	for (size_t i = 0; skews && i < n; i++)
		json_array_append_new(passes, skew_value(&skews[i]));
	jvalue_put(o, "library", jvalue_text(group_library(g)));
	jvalue_put(o, "ranks", jvalue_count(group_size(g)));
	jvalue_put(o, "greatest_skew", most.pass ? skew_value(&most) : json_null());
	jvalue_put(o, "skews", passes);
	return o;
}

static void print_skew(struct group *g, FILE *to)
{
	struct group_skew most;
	size_t n;

	group_skews(g, &n, &most);
	fprintf(to, "Ranks, %u, MPI, %s", group_size(g), group_library(g));
	if (most.pass)
		fprintf(to,
			", start skew, %.1f, us, known to, %.1f, us, pass, %" PRIu64
			", from rank, %u, to rank, %u",
			(double)most.skew_ns / 1e3, (double)most.bound_ns / 1e3, most.pass,
			most.first, most.last);
	fputc('\n', to);
}

/* Returns 0 or -errno. */
static int write_document(const char *path, json_t *doc)
{
	struct jsonfile out;
	FILE *spool = NULL;
	struct stat st;
	int err;

	/* Only a file can be replaced. */
	if (output_standard(path) >= 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode))) {
		spool = spool_open(NULL);
		if (!spool)
			return -errno;
	}
	err = jsonfile_open(&out, path, spool);
	if (err)
		return err;
	jsonfile_put(&out, out.f, json_incref(doc));
	return jsonfile_close(&out);
}

static enum xdd_status put_document(const struct plan *plan, json_t *doc, bool incomplete)
{
	int err = incomplete ? -ENOMEM : write_document(plan->json_file, doc);

	if (!err)
		return XDD_OK;
	return log_fail(XDD_IO_ERROR, "-jsonout %s: %s; the results are missing there",
			plan->json_file, output_strerror(err));
}

static enum xdd_status put_text(struct group *g, const struct plan *plan, const json_t *doc)
{
	struct memstream m;
	struct outfile out;
	int err = 0, closed;

	if (output_standard(plan->json_file) == STDOUT_FILENO)
		return XDD_OK;
	if (memstream_open(&m)) {
		err = combine_print_text(doc, m.f);
		print_skew(g, m.f);
	}
	closed = memstream_close(&m);
	if (!err)
		err = closed;
	if (!err)
		err = outfile_open(&out, NULL);
	if (!err) {
		outfile_write(&out, m.text, m.size);
		err = outfile_close(&out);
	}
	free(m.text);
	if (err)
		log_error("standard output: %s; results are missing there", strerror(-err));
	return err ? XDD_IO_ERROR : XDD_OK;
}

static enum xdd_status put_results(struct group *g, const struct plan *plan, json_t *doc,
				   uint64_t status)
{
	const unsigned long lost = jvalue_lost();
	enum xdd_status text, document;

	jvalue_put(doc, "mpi", mpi_value(g));
	text = put_text(g, plan, doc);
	if (text && !status)
		status = XDD_IO_ERROR;
	combine_set_status(doc, (enum xdd_status)status);
	document = put_document(plan, doc, jvalue_lost() != lost);
	return text ? text : document;
}

/* Rank 0: the documents of all ranks. */
static enum xdd_status combine(struct group *g, const struct plan *plan,
			       const struct group_piece *pieces, uint64_t status)
{
	const unsigned n = group_size(g);
	const struct combine_options options = { .force = true };
	struct document *docs = calloc(n, sizeof(*docs));
	char(*names)[96] = calloc(n, sizeof(*names));
	json_t *all = NULL;
	enum xdd_status written = XDD_IO_ERROR;
	bool ok = docs && names;

	for (unsigned i = 0; ok && i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "rank %u on %s", i, group_host(g, i));
		ok = document_parse(&docs[i], pieces[i].data, pieces[i].size) == 0;
		if (ok)
			ok = document_read(&docs[i], "combine", names[i]);
		else
			log_error("%s: its results did not arrive whole", names[i]);
	}
	if (ok)
		all = combine_documents(docs, n, &options);
	if (all)
		written = put_results(g, plan, all, status);
	json_decref(all);
	for (unsigned i = 0; docs && i < n; i++)
		document_free(&docs[i]);
	free(names);
	free(docs);
	return written;
}

/* True if no rank has begun: there is nothing to combine. */
static bool never_began(uint64_t status)
{
	return status && status <= XDD_TARGET_FAILED;
}

enum xdd_status ranks_report(struct group *g, const struct plan *plan, const char *document,
			     size_t size, enum xdd_status status)
{
	struct group_piece *pieces = xcalloc(group_size(g), sizeof(*pieces));
	enum xdd_status worst = ranks_agree(g, status), written = XDD_OK;
	int err = 0;

	if (!never_began(worst)) {
		err = group_gather(g, document, size, pieces);
		if (!err && group_rank(g) == 0)
			written = combine(g, plan, pieces, worst);
	}
	free(pieces[0].data);
	free(pieces);
	if (group_is_broken(g))
		return worst ? worst : XDD_IO_ERROR;
	if (err)
		log_error("-mpi: the results cannot be gathered: %s", strerror(-err));
	if (err || written)
		status = XDD_IO_ERROR;
	return ranks_agree(g, worst ? worst : status);
}
