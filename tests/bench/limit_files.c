/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bare loop of copies of trees: the system calls that a copy of many small files cannot do
 * without, by one process, with no protocol, no network and no digest. A file is looked up, read,
 * and looked up again to see that it did not change; its copy is written without a name, gets its
 * times, and then its name, so it is never there half written.
 *
 *   limit_files [-t THREADS] SOURCE DESTINATION
 *
 * copies the tree SOURCE to DESTINATION, which must not exist. It has directories and regular
 * files of at most MAX_BYTES. Each directory is the work of one thread. tests/bench/run compiles
 * and runs it.
 */
#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_THREADS 64
#define MAX_BYTES (1 << 20)

struct directory {
	char *from, *to;
};

static struct directory *directories;
static size_t directory_count;
static atomic_size_t next_directory;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Give the file `fd` its name. */
static int publish(int fd, int to, const char *name)
{
	char path[64];

	if (!linkat(fd, "", to, name, AT_EMPTY_PATH))
		return 0;
	/* Before Linux 6.10 that takes a capability. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, to, name, AT_SYMLINK_FOLLOW);
}

static void copy_file(int from, int to, const char *name, char *buf)
{
	struct stat before, after;
	int fd;

	if (fstatat(from, name, &before, AT_SYMLINK_NOFOLLOW))
		die(name);
	fd = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || before.st_size > MAX_BYTES || read(fd, buf, MAX_BYTES) != before.st_size ||
	    fstat(fd, &after) || after.st_mtim.tv_nsec != before.st_mtim.tv_nsec)
		die(name);
	close(fd);

	fd = openat(to, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, before.st_mode & 07777);
	if (fd < 0 || pwrite(fd, buf, (size_t)before.st_size, 0) != before.st_size ||
	    futimens(fd, (struct timespec[]){ before.st_atim, before.st_mtim }) ||
	    publish(fd, to, name))
		die(name);
	close(fd);
}

static void copy_directory(const struct directory *d, char *buf)
{
	DIR *dir = opendir(d->from);
	int to = open(d->to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;

	if (!dir || to < 0)
		die(d->from);
	while ((entry = readdir(dir)))
		if (entry->d_type == DT_REG)
			copy_file(dirfd(dir), to, entry->d_name, buf);
	close(to);
	closedir(dir);
}

static void *copy_directories(void *arg)
{
	char *buf = malloc(MAX_BYTES);
	size_t i;

	(void)arg;
	if (!buf)
		die("malloc");
	while ((i = atomic_fetch_add(&next_directory, 1)) < directory_count)
		copy_directory(&directories[i], buf);
	free(buf);
	return NULL;
}

/* Create the directories of the copy, and list them. */
static void make_directories(char *source, const char *destination)
{
	FTS *tree =
		fts_open((char *[]){ source, NULL }, FTS_PHYSICAL | FTS_NOSTAT | FTS_NOCHDIR, NULL);
	size_t skip = strlen(source), space = 0;
	struct directory *d;
	FTSENT *entry;

	if (!tree)
		die(source);
	while ((entry = fts_read(tree))) {
		if (entry->fts_info != FTS_D)
			continue;
		if (directory_count == space) {
			space = space ? 2 * space : 1024;
			directories = realloc(directories, space * sizeof(*directories));
			if (!directories)
				die("realloc");
		}
		d = &directories[directory_count++];
		d->from = strdup(entry->fts_path);
		if (!d->from || asprintf(&d->to, "%s%s", destination, entry->fts_path + skip) < 0)
			die("asprintf");
		if (mkdir(d->to, 0777))
			die(d->to);
	}
	fts_close(tree);
}

int main(int argc, char **argv)
{
	pthread_t threads[MAX_THREADS];
	unsigned count = 4;
	int option;

	while ((option = getopt(argc, argv, "t:")) == 't')
		count = (unsigned)atoi(optarg);
	if (option != -1 || count < 1 || count > MAX_THREADS || optind + 2 != argc) {
		fprintf(stderr, "limit_files: see the comment at the top of limit_files.c\n");
		return 2;
	}
	make_directories(argv[optind], argv[optind + 1]);
	for (unsigned i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, copy_directories, NULL))
			die("pthread_create");
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
