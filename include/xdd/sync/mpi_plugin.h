/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface between xdd and its plugin for MPI, xdd-mpi.so, which is loaded on demand: xdd does
 * not link the library of MPI. The plugin has one symbol, XDD_MPI_SYMBOL, a const struct xdd_mpi.
 *
 * All functions are called by one thread, the one that calls begin(): MPI_THREAD_FUNNELED is
 * enough. None of them waits, except begin() and end(). They return 0 or more, or -1; explain()
 * then says why.
 */
#ifndef XDD_SYNC_MPI_PLUGIN_H
#define XDD_SYNC_MPI_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

/* To be increased with every change of the struct or of what its functions do. */
#define XDD_MPI_ABI 2u
#define XDD_MPI_SYMBOL "xdd_mpi_plugin"

/* The data of a gather fill whole units: then the offsets of large ones fit in an int of MPI. */
#define XDD_MPI_UNIT 64

/* A communicator; the contents belong to the plugin. */
struct xdd_mpi_world;

/* Where this process is among all: numbers from 0. */
struct xdd_mpi_place {
	unsigned rank, size;
	unsigned node;		 /* the host, numbered in the order of the lowest ranks */
	unsigned ranks_per_node; /* on the host of rank 0 */
};

struct xdd_mpi_message {
	unsigned from;
	int tag;
	void *data; /* of malloc(); the caller frees it */
	size_t size;
};

struct xdd_mpi {
	/* checked before anything else is read */
	uint32_t abi;	/* XDD_MPI_ABI */
	uint32_t bytes; /* size of this struct */

	/* Start MPI. NULL: failed, and `why` (of `size` bytes) says the reason. */
	struct xdd_mpi_world *(*begin)(struct xdd_mpi_place *place, char *why, size_t size);
	/* The library, for messages. */
	const char *(*library)(struct xdd_mpi_world *w);
	/* The reason of the last -1. */
	const char *(*explain)(struct xdd_mpi_world *w);
	/*
	 * Send a copy of the data. Messages to one rank arrive in the order in which they were
	 * sent.
	 */
	int (*send)(struct xdd_mpi_world *w, unsigned to, int tag, const void *data, size_t size);
	/* 1: a message of any rank has come. */
	int (*receive)(struct xdd_mpi_world *w, struct xdd_mpi_message *m);
	/* 1: all messages have left this process. */
	int (*sent)(struct xdd_mpi_world *w);
	/*
	 * Calls of all ranks: one at a time, in the same order on all. They copy what they send:
	 * nothing; the data of rank 0, for all; a value, of which all get the greatest; the data of
	 * all ranks, for rank 0.
	 */
	int (*barrier_begin)(struct xdd_mpi_world *w);
	int (*broadcast_begin)(struct xdd_mpi_world *w, const void *data, size_t size);
	int (*max_begin)(struct xdd_mpi_world *w, uint64_t value);
	int (*gather_begin)(struct xdd_mpi_world *w, const void *data, size_t size);
	/*
	 * 1: the call has ended for this rank. `*data` is what it received, of malloc(), or NULL;
	 * the caller frees it. Gathered data lie one after the other, each with zeros up to a whole
	 * XDD_MPI_UNIT, one at least; `*sizes` has their sizes, until the next call.
	 */
	int (*call_done)(struct xdd_mpi_world *w, void **data, const uint64_t **sizes);
	/* End MPI. All ranks call it: it may wait for them. */
	void (*end)(struct xdd_mpi_world *w);
};

#endif
