/*
 * Directories that files are created in: their file systems, and a record of each in the journal,
 * so that a later copy finds the temporary files of this one, if it is killed, without a walk.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/destination/commit_state.h"

static struct commit_place *slot_of(struct commit *c, const struct dir_node *node)
{
	return &c->places[((uintptr_t)node >> 4) * 0x9e3779b97f4a7c15ull >> 56];
}

_Static_assert(COMMIT_PLACES == 256, "slot_of() takes 8 bits");

/* Returns the number of the file system, or -ENOENT. With place_lock. */
static int find(struct commit *c, dev_t dev)
{
	uint32_t n = atomic_load(&c->n_fs);

	for (uint32_t i = 0; i < n; i++) {
		if (c->fs[i].dev == dev)
			return (int)i;
	}
	return n == COMMIT_MAX_FS ? COMMIT_MAX_FS - 1 : -ENOENT;
}

/* Add a file system; `fd` becomes its own. With place_lock. */
static int add(struct commit *c, dev_t dev, int fd)
{
	uint32_t n = atomic_load(&c->n_fs);
	struct commit_fs *fs = &c->fs[n];

	fs->dev = dev;
	fs->fd = fd;
	fs->flush = commit_fs_flush(fd);
	if (n == COMMIT_MAX_FS - 1) {
		fs->flush = COMMIT_FLUSH_EACH;
		fs->fd = -1;
		close(fd);
	}
	atomic_store(&c->n_fs, n + 1);
	pthread_mutex_lock(&c->lock);
	c->slow = c->slow || fs->flush != COMMIT_FLUSH_NONE;
	c->each = c->each || fs->flush == COMMIT_FLUSH_EACH;
	pthread_mutex_unlock(&c->lock);
	return (int)n;
}

/* Of a directory that may not be read, a file without a name serves as well. */
static int open_fs(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && errno == EACCES)
		fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

/*
 * The descriptor is opened before anything is written to the file system: syncfs(2) reports what
 * failed since then.
 */
static int fs_of(struct commit *c, int dir_fd)
{
	struct stat st;
	int i, fd;

	if (fstat(dir_fd, &st))
		return -errno;
	pthread_mutex_lock(&c->place_lock);
	i = find(c, st.st_dev);
	pthread_mutex_unlock(&c->place_lock);
	if (i >= 0)
		return i;
	fd = open_fs(dir_fd);
	if (fd < 0)
		return fd;
	pthread_mutex_lock(&c->place_lock);
	i = find(c, st.st_dev);
	if (i >= 0)
		close(fd);
	else
		i = add(c, st.st_dev, fd);
	pthread_mutex_unlock(&c->place_lock);
	return i;
}

/* Record that the directory may have temporary files. A journal that fails stops no copy. */
static void record(struct commit *c, struct dir_node *node)
{
	char path[JOURNAL_MAX_PATH_BYTES];
	struct journal_record r = { .type = JOURNAL_DIR, .path = path };

	if (commit_journal(c))
		return;
	if (!dirs_whole_path(c->dirs, node, NULL, path, sizeof(path)))
		return; /* the next copy removes its files only if it enters the directory */
	if (strcmp(path, ".") == 0)
		path[0] = '\0';
	commit_record(c, &r);
}

/* Known already? Returns the number of the file system, or -ENOENT. */
static int look_up(struct commit *c, const struct dir_node *node)
{
	const struct commit_place *p = slot_of(c, node);
	int fs;

	pthread_mutex_lock(&c->place_lock);
	fs = p->node == node ? (int)p->fs : -ENOENT;
	pthread_mutex_unlock(&c->place_lock);
	return fs;
}

static void remember(struct commit *c, struct dir_node *node, uint32_t fs)
{
	struct commit_place *p = slot_of(c, node);
	struct dir_node *old;

	dirs_hold(c->dirs, node);
	pthread_mutex_lock(&c->place_lock);
	old = p->node;
	*p = (struct commit_place){ .node = node, .fs = fs };
	pthread_mutex_unlock(&c->place_lock);
	dirs_release(c->dirs, old);
}

enum commit_mode commit_mode_of(struct commit *c, const struct dir_node *node, mode_t mode)
{
	const struct commit_place *p = slot_of(c, node);
	enum commit_mode state = COMMIT_MODE_UNKNOWN;

	pthread_mutex_lock(&c->place_lock);
	if (p->node == node && p->mode == mode)
		state = p->state;
	pthread_mutex_unlock(&c->place_lock);
	return state;
}

void commit_mode_found(struct commit *c, const struct dir_node *node, mode_t mode,
		       enum commit_mode state)
{
	struct commit_place *p = slot_of(c, node);

	pthread_mutex_lock(&c->place_lock);
	if (p->node == node) {
		p->mode = mode;
		p->state = state;
	}
	pthread_mutex_unlock(&c->place_lock);
}

int commit_place(struct commit *c, struct dir_node *node, int dir_fd, bool temporary)
{
	int fs = look_up(c, node);

	if (fs >= 0)
		return fs;
	fs = fs_of(c, dir_fd);
	if (fs < 0 || !temporary)
		return fs;
	record(c, node);
	remember(c, node, (uint32_t)fs);
	return fs;
}

void commit_places_free(struct commit *c)
{
	for (unsigned i = 0; i < COMMIT_PLACES; i++) {
		dirs_release(c->dirs, c->places[i].node);
		c->places[i].node = NULL;
	}
	for (uint32_t i = 0; i < atomic_load(&c->n_fs); i++) {
		if (c->fs[i].fd >= 0)
			close(c->fs[i].fd);
	}
}
