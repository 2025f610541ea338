/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin xdd-mpi.so: "xdd/sync/mpi_plugin.h" on MPI. Compiled and linked by the compiler of MPI
 * only, and loaded by src/sync/group_plugin.c.
 */
#include "xdd/sync/mpi_plugin.h"

#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A message that MPI may still be reading. */
struct sending {
	struct sending *next;
	MPI_Request request;
	char data[];
};

struct xdd_mpi_world {
	MPI_Comm comm; /* of our own: nothing else in the process sends on it */
	int rank, size;
	struct sending *sending;

	/* the call of all ranks that is running, and its memory */
	MPI_Request call;
	void *mine, *received; /* NULL: none */

	/* a gather: the sizes go first; then, on rank 0, where the data go, in units */
	MPI_Datatype unit;
	bool sizes_first;
	uint64_t own_size, *sizes;
	int *n_units, *offsets;

	/* the message that is being received; `data` NULL: none */
	MPI_Request request;
	struct xdd_mpi_message coming;

	int error; /* the last one that MPI returned */
	char library[128];
	char text[MPI_MAX_ERROR_STRING];
};

static int failed(struct xdd_mpi_world *w, int error)
{
	if (error == MPI_SUCCESS)
		return 0;
	w->error = error;
	return -1;
}

static const char *mpi_explain(struct xdd_mpi_world *w)
{
	int length = 0;

	if (MPI_Error_string(w->error, w->text, &length) != MPI_SUCCESS)
		snprintf(w->text, sizeof(w->text), "MPI error %d", w->error);
	return w->text;
}

/* Forget the messages that have left. */
static int sweep(struct xdd_mpi_world *w)
{
	for (struct sending **s = &w->sending, *one; (one = *s);) {
		int done = 0;

		if (failed(w, MPI_Test(&one->request, &done, MPI_STATUS_IGNORE)))
			return -1;
		if (done) {
			*s = one->next;
			free(one);
		} else {
			s = &one->next;
		}
	}
	return 0;
}

static int mpi_sent(struct xdd_mpi_world *w)
{
	return sweep(w) ? -1 : !w->sending;
}

static int mpi_send(struct xdd_mpi_world *w, unsigned to, int tag, const void *data, size_t size)
{
	struct sending *s, **last = &w->sending;

	if (size > INT_MAX)
		return failed(w, MPI_ERR_COUNT);
	s = malloc(sizeof(*s) + size);
	if (!s)
		return failed(w, MPI_ERR_NO_MEM);
	s->next = NULL;
	if (size)
		memcpy(s->data, data, size);
	if (failed(w,
		   MPI_Isend(s->data, (int)size, MPI_BYTE, (int)to, tag, w->comm, &s->request))) {
		free(s);
		return -1;
	}
	while (*last)
		last = &(*last)->next;
	*last = s;
	return sweep(w);
}

/* Begin to receive a message, if there is one. */
static int begin_message(struct xdd_mpi_world *w)
{
	MPI_Message message;
	MPI_Status status;
	int found = 0, size = 0;

	if (failed(w, MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, w->comm, &found, &message, &status)))
		return -1;
	if (!found)
		return 0;
	if (failed(w, MPI_Get_count(&status, MPI_BYTE, &size)))
		return -1;
	w->coming = (struct xdd_mpi_message){
		.from = (unsigned)status.MPI_SOURCE,
		.tag = status.MPI_TAG,
		.size = (size_t)size,
		.data = malloc((size_t)size + 1),
	};
	if (!w->coming.data)
		return failed(w, MPI_ERR_NO_MEM);
	return failed(w, MPI_Imrecv(w->coming.data, size, MPI_BYTE, &message, &w->request));
}

static int mpi_receive(struct xdd_mpi_world *w, struct xdd_mpi_message *m)
{
	int done = 0;

	if (sweep(w) || (!w->coming.data && begin_message(w)))
		return -1;
	if (!w->coming.data)
		return 0;
	if (failed(w, MPI_Test(&w->request, &done, MPI_STATUS_IGNORE)))
		return -1;
	if (!done)
		return 0;
	*m = w->coming;
	w->coming.data = NULL;
	return 1;
}

/* ---- calls of all ranks ---- */

static int mpi_barrier_begin(struct xdd_mpi_world *w)
{
	return failed(w, MPI_Ibarrier(w->comm, &w->call));
}

/* Memory of `bytes`, which begins with a copy of the data; NULL, with an error, without memory. */
static void *copy_of(struct xdd_mpi_world *w, const void *data, size_t size, size_t bytes)
{
	void *copy = calloc(1, bytes);

	if (!copy)
		failed(w, MPI_ERR_NO_MEM);
	else if (size)
		memcpy(copy, data, size);
	return copy;
}

static int mpi_broadcast_begin(struct xdd_mpi_world *w, const void *data, size_t size)
{
	if (size > INT_MAX)
		return failed(w, MPI_ERR_COUNT);
	w->received = copy_of(w, data, size, size + 1);
	if (!w->received)
		return -1;
	return failed(w, MPI_Ibcast(w->received, (int)size, MPI_BYTE, 0, w->comm, &w->call));
}

static int mpi_max_begin(struct xdd_mpi_world *w, uint64_t value)
{
	w->received = copy_of(w, &value, sizeof(value), sizeof(value));
	if (!w->received)
		return -1;
	return failed(w, MPI_Iallreduce(MPI_IN_PLACE, w->received, 1, MPI_UINT64_T, MPI_MAX,
					w->comm, &w->call));
}

static size_t units_of(uint64_t size)
{
	return size / XDD_MPI_UNIT + 1;
}

/* Rank 0: room for the data of all. */
static int make_room(struct xdd_mpi_world *w)
{
	size_t units = 0;

	for (int i = 0; i < w->size; i++) {
		if (units > INT_MAX)
			return failed(w, MPI_ERR_COUNT);
		w->offsets[i] = (int)units;
		w->n_units[i] = (int)units_of(w->sizes[i]);
		units += units_of(w->sizes[i]);
	}
	w->received = malloc(units * XDD_MPI_UNIT);
	return w->received ? 0 : failed(w, MPI_ERR_NO_MEM);
}

static int mpi_gather_begin(struct xdd_mpi_world *w, const void *data, size_t size)
{
	const size_t units = units_of(size);

	if (units > INT_MAX)
		return failed(w, MPI_ERR_COUNT);
	w->mine = copy_of(w, data, size, units * XDD_MPI_UNIT);
	if (!w->mine)
		return -1;
	w->own_size = size;
	w->sizes_first = true;
	return failed(w, MPI_Igather(&w->own_size, 1, MPI_UINT64_T, w->sizes, 1, MPI_UINT64_T, 0,
				     w->comm, &w->call));
}

static int gather_data(struct xdd_mpi_world *w)
{
	w->sizes_first = false;
	if (w->rank == 0 && make_room(w))
		return -1;
	return failed(w, MPI_Igatherv(w->mine, (int)units_of(w->own_size), w->unit, w->received,
				      w->n_units, w->offsets, w->unit, 0, w->comm, &w->call));
}

static int mpi_call_done(struct xdd_mpi_world *w, void **data, const uint64_t **sizes)
{
	int done = 0;

	if (failed(w, MPI_Test(&w->call, &done, MPI_STATUS_IGNORE)))
		return -1;
	if (!done)
		return 0;
	if (w->sizes_first)
		return gather_data(w);
	*data = w->received;
	*sizes = w->sizes;
	free(w->mine);
	w->mine = w->received = NULL;
	return 1;
}

static const char *mpi_library(struct xdd_mpi_world *w)
{
	return w->library;
}

static void name_library(struct xdd_mpi_world *w)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int length = 0;

	if (MPI_Get_library_version(text, &length) != MPI_SUCCESS)
		return;
	text[strcspn(text, ",\n")] = '\0';
	snprintf(w->library, sizeof(w->library), "%.100s", text);
}

/* The hosts, by the lowest rank on each. */
static int find_node(const struct xdd_mpi_world *w, struct xdd_mpi_place *place)
{
	int lowest = (int)place->rank, on_node = 1, first = 0, before = 0;
	MPI_Comm node;
	int err = MPI_Comm_split_type(w->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);

	if (err)
		return err;
	err = MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, node);
	if (!err)
		err = MPI_Comm_size(node, &on_node);
	first = lowest == (int)place->rank;
	if (!err)
		err = MPI_Scan(&first, &before, 1, MPI_INT, MPI_SUM, w->comm);
	/* How many hosts have a lowest rank up to the lowest rank of this one. */
	if (!err)
		err = MPI_Bcast(&before, 1, MPI_INT, 0, node);
	if (!err)
		err = MPI_Bcast(&on_node, 1, MPI_INT, 0, w->comm);
	MPI_Comm_free(&node);
	place->node = before > 0 ? (unsigned)before - 1 : 0;
	place->ranks_per_node = (unsigned)on_node;
	return err;
}

static int prepare_calls(struct xdd_mpi_world *w)
{
	int err = MPI_Type_contiguous(XDD_MPI_UNIT, MPI_BYTE, &w->unit);

	w->call = MPI_REQUEST_NULL;
	w->sizes = calloc((size_t)w->size, sizeof(*w->sizes));
	w->n_units = calloc((size_t)w->size, sizeof(*w->n_units));
	w->offsets = calloc((size_t)w->size, sizeof(*w->offsets));
	if (err)
		return err;
	return w->sizes && w->n_units && w->offsets ? MPI_Type_commit(&w->unit) : MPI_ERR_NO_MEM;
}

static int find_place(struct xdd_mpi_world *w, struct xdd_mpi_place *place)
{
	int err = MPI_Comm_dup(MPI_COMM_WORLD, &w->comm);

	if (!err)
		err = MPI_Comm_set_errhandler(w->comm, MPI_ERRORS_RETURN);
	if (!err)
		err = MPI_Comm_rank(w->comm, &w->rank);
	if (!err)
		err = MPI_Comm_size(w->comm, &w->size);
	if (!err)
		err = prepare_calls(w);
	place->rank = (unsigned)w->rank;
	place->size = (unsigned)w->size;
	return err ? err : find_node(w, place);
}

static void free_world(struct xdd_mpi_world *w)
{
	while (w->sending) {
		struct sending *s = w->sending;

		w->sending = s->next;
		free(s);
	}
	free(w->coming.data);
	free(w->mine);
	free(w->received);
	free(w->sizes);
	free(w->n_units);
	free(w->offsets);
	free(w);
}

static struct xdd_mpi_world *mpi_begin(struct xdd_mpi_place *place, char *why, size_t size)
{
	struct xdd_mpi_world *w = calloc(1, sizeof(*w));
	int level = 0, err;

	if (!w) {
		snprintf(why, size, "no memory");
		return NULL;
	}
	err = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
	if (err == MPI_SUCCESS)
		err = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	if (err == MPI_SUCCESS)
		err = find_place(w, place);
	if (err == MPI_SUCCESS && level >= MPI_THREAD_FUNNELED) {
		name_library(w);
		return w;
	}
	w->error = err;
	snprintf(why, size, "%s",
		 err ? mpi_explain(w) : "this MPI allows no other threads in a process");
	free_world(w);
	return NULL;
}

static void mpi_end(struct xdd_mpi_world *w)
{
	MPI_Type_free(&w->unit);
	MPI_Comm_free(&w->comm);
	MPI_Finalize();
	free_world(w);
}

extern const struct xdd_mpi xdd_mpi_plugin;

const struct xdd_mpi xdd_mpi_plugin = {
	.abi = XDD_MPI_ABI,
	.bytes = sizeof(struct xdd_mpi),
	.begin = mpi_begin,
	.library = mpi_library,
	.explain = mpi_explain,
	.send = mpi_send,
	.receive = mpi_receive,
	.sent = mpi_sent,
	.barrier_begin = mpi_barrier_begin,
	.broadcast_begin = mpi_broadcast_begin,
	.max_begin = mpi_max_begin,
	.gather_begin = mpi_gather_begin,
	.call_done = mpi_call_done,
	.end = mpi_end,
};
