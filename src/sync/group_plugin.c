/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding and loading the plugin for MPI. Called by group_begin().
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "sync/group_internal.h"
#include "xdd/base/log.h"
#include "xdd/sys/child.h"

#define PLUGIN_NAME "xdd-mpi.so"
#define PATH_BYTES 4096

/* The directory of the program, which has the plugin in a tree that was built. */
static bool beside_program(char *path)
{
	char *slash;

	if (child_program(path, PATH_BYTES - sizeof(PLUGIN_NAME)))
		return false;
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	strcpy(slash + 1, PLUGIN_NAME);
	return access(path, R_OK) == 0;
}

/* Never from the current directory: what lies there is not the program's. */
static void find_plugin(char *path)
{
	const char *directory = secure_getenv("XDD_PLUGIN_DIR");

	if (directory && *directory == '/')
		snprintf(path, PATH_BYTES, "%s/" PLUGIN_NAME, directory);
	else if (!beside_program(path))
		snprintf(path, PATH_BYTES, "%s/" PLUGIN_NAME, PLUGIN_DIRECTORY);
}

/*
 * Each rank speaks for itself: only some hosts may lack the plugin, and the launcher may end all
 * ranks as soon as one has ended. `who` names the one that speaks; "" without a launcher.
 */
static const char *name_self(char *who, size_t size)
{
	char host[GROUP_HOST_SIZE] = "";
	unsigned rank, ranks;

	*who = '\0';
	gethostname(host, sizeof(host) - 1);
	if (group_launched(&rank, &ranks))
		snprintf(who, size, "rank %u on %s: ", rank, host);
	return who;
}

static const struct xdd_mpi *accept_plugin(const char *who, const char *path,
					   const struct xdd_mpi *mpi)
{
	if (!mpi)
		return log_fail(NULL, "-mpi: %s%s: is not a plugin of xdd", who, path);
	if (mpi->abi != XDD_MPI_ABI || mpi->bytes != sizeof(*mpi))
		return log_fail(NULL,
				"-mpi: %s%s: is of another version of xdd (interface %u, expected "
				"%u); install the one that was built with this program",
				who, path, mpi->abi, XDD_MPI_ABI);
	return mpi;
}

const struct xdd_mpi *group_load(void)
{
	char path[PATH_BYTES], name[GROUP_HOST_SIZE + 32];
	const char *who = name_self(name, sizeof(name));
	void *library;

	find_plugin(path);
	if (access(path, R_OK) < 0)
		return log_fail(NULL,
				"-mpi: %sthere is no %s: " PLUGIN_BUILT
				"; XDD_PLUGIN_DIR names another directory",
				who, path);
	/* The components of Open MPI expect its symbols to be visible to all. */
	library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!library)
		return log_fail(NULL, "-mpi: %scannot load %s: %s", who, path, dlerror());
	return accept_plugin(who, path, dlsym(library, XDD_MPI_SYMBOL));
}

static bool number_of(const char *name, unsigned *value)
{
	const char *text = getenv(name);
	char *end;
	unsigned long v;

	if (!text || *text < '0' || *text > '9')
		return false;
	v = strtoul(text, &end, 10);
	if (*end || v > 1u << 30)
		return false;
	*value = (unsigned)v;
	return true;
}

bool group_launched(unsigned *rank, unsigned *size)
{
	static const char *const names[][2] = {
		{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
		{ "PMI_RANK", "PMI_SIZE" },
		{ "SLURM_PROCID", "SLURM_STEP_NUM_TASKS" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (number_of(names[i][0], rank) && number_of(names[i][1], size) && *size > 1)
			return true;
	}
	*rank = 0;
	*size = 1;
	return false;
}
