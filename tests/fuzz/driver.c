/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a harness without libFuzzer, as a test that prints TAP.
 *
 *     fuzz_NAME          XDD_FUZZ_INPUTS inputs (10,000 with sanitizers, 2,000 without; 1,000,000
 *                        with XDD_TEST_LONG=1)
 *     fuzz_NAME FILE...  these inputs, one after the other
 *
 * Input n is a pure function of the seed (XDD_TEST_SEED) and n. The inputs are tried in a child.
 * When it dies, hangs or leaks, the parent stores the input in tests/findings of the build
 * directory, and prints its path.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define SHORT_INPUTS 10000
#define PLAIN_INPUTS 2000 /* in a build without sanitizers, which finds less */
#define LONG_INPUTS 1000000
#define HANG_S 60
#define POLLS_PER_S 50
#define LEAK_CHECK_INPUTS 500
#define MEMORY_MAX_BYTES (2ull << 30)

/* Shared with the child, which writes; `ready` is set once its set-up is complete. */
struct shared {
	_Atomic uint64_t number; /* of the input that is tried */
	_Atomic uint64_t accepted;
	_Atomic uint64_t refused;
	size_t size;
	uint8_t data[FUZZ_MAX_BYTES];
};

static struct shared *shared;
static uint64_t seed;

/* Of the leak sanitizer, where it is linked. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));
const char *__asan_default_options(void);

/* AddressSanitizer asks for these. */
const char *__asan_default_options(void)
{
	return "hard_rss_limit_mb=4096:allocator_may_return_null=1:detect_leaks=1";
}

static bool sanitized(void)
{
	const char *sanitizers = getenv("XDD_SANITIZERS");

	return sanitizers && strcmp(sanitizers, "no") != 0;
}

static void limit_memory(void)
{
	struct rlimit limit = { MEMORY_MAX_BYTES, MEMORY_MAX_BYTES };
	struct rlimit no_core = { 0, 0 };

	/* Sanitizers reserve terabytes of addresses. */
	if (!sanitized())
		setrlimit(RLIMIT_AS, &limit);
	setrlimit(RLIMIT_CORE, &no_core);
}

/* From memory of its exact size, so that a sanitizer sees a byte too far. */
static int try_copy(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	int refused;

	if (!copy)
		fuzz_fail("memory is short");
	memcpy(copy, data, size);
	refused = fuzz_one(copy, size);
	free(copy);
	return refused;
}

static void try_number(uint64_t number)
{
	struct fuzz_random r = { seed * 0x100000001b3ull + number };

	shared->size = fuzz_harness.make(&r, shared->data);
	/* Half of them are not mutated: valid, or nearly. */
	if (fuzz_once_in(&r, 2))
		shared->size = fuzz_mutate(&r, shared->data, shared->size, fuzz_harness.words,
					   fuzz_harness.n_words);
	atomic_store(&shared->number, number);
	if (try_copy(shared->data, shared->size))
		atomic_fetch_add(&shared->refused, 1);
	else
		atomic_fetch_add(&shared->accepted, 1);
}

static bool leaks(void)
{
	return __lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check();
}

/* A leak among the last inputs: find which one. */
static void find_leak(uint64_t from, uint64_t to)
{
	for (uint64_t n = from; n <= to; n++) {
		try_number(n);
		if (leaks())
			fuzz_fail("input %" PRIu64 " leaks memory", n);
	}
	fuzz_fail("one of the inputs %" PRIu64 " to %" PRIu64 " leaks memory", from, to);
}

static void try_all(uint64_t inputs)
{
	limit_memory();
	fuzz_set_up();
	for (uint64_t n = 1; n <= inputs; n++) {
		try_number(n);
		if ((n % LEAK_CHECK_INPUTS == 0 || n == inputs) && leaks())
			find_leak(n - (n - 1) % LEAK_CHECK_INPUTS, n);
	}
	fuzz_clean_up();
	exit(EXIT_SUCCESS);
}

/*
 * Wait for the child. Returns its status, or -1 if one input took too long and the child was
 * killed.
 */
static int watch(pid_t child)
{
	const struct timespec poll = { 0, 1000000000 / POLLS_PER_S };
	uint64_t last = UINT64_MAX;
	int status, quiet = 0;

	for (;;) {
		uint64_t number = atomic_load(&shared->number);

		if (waitpid(child, &status, WNOHANG) == child)
			return status;
		quiet = number == last ? quiet + 1 : 0;
		last = number;
		if (quiet > HANG_S * POLLS_PER_S) {
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
			return -1;
		}
		nanosleep(&poll, NULL);
	}
}

/* Not in the directory of the test, which is removed. */
static void store_finding(void)
{
	const char *top = getenv("TOP_BUILDDIR");
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/tests/findings", top ? top : ".");
	if (mkdir(path, 0700) && errno != EEXIST)
		snprintf(path, sizeof(path), ".");
	snprintf(path + strlen(path), sizeof(path) - strlen(path), "/%s-%" PRIu64 "-%" PRIu64,
		 fuzz_harness.name, seed, atomic_load(&shared->number));
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, shared->data, shared->size) != (ssize_t)shared->size)
		printf("# %s: cannot be written\n", path);
	else
		printf("# input: %s\n", path);
	if (fd >= 0)
		close(fd);
}

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
	const char *text = getenv(variable);

	return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static int run(void)
{
	uint64_t inputs = number_of("XDD_FUZZ_INPUTS", number_of("XDD_TEST_LONG", 0) ? LONG_INPUTS :
						       sanitized() ? SHORT_INPUTS :
								     PLAIN_INPUTS);
	uint64_t accepted, refused;
	pid_t child;
	int status;
	bool ok;

	seed = number_of("XDD_TEST_SEED", 1);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return EXIT_FAILURE;
	printf("1..2\n# seed %" PRIu64 "\n", seed);
	fflush(stdout);
	child = fork();
	if (child < 0)
		return EXIT_FAILURE;
	if (child == 0)
		try_all(inputs);
	status = watch(child);
	ok = status == 0;
	if (!ok) {
		printf("# input %" PRIu64 " of seed %" PRIu64 ": %s %d\n",
		       atomic_load(&shared->number), seed,
		       status < 0	   ? "no end after seconds:" :
		       WIFSIGNALED(status) ? "signal" :
					     "exit status",
		       status < 0	   ? HANG_S :
		       WIFSIGNALED(status) ? WTERMSIG(status) :
					     WEXITSTATUS(status));
		store_finding();
	}
	accepted = atomic_load(&shared->accepted);
	refused = atomic_load(&shared->refused);
	printf("%s 1 - %s: %" PRIu64 " inputs, %" PRIu64 " accepted, %" PRIu64 " refused\n",
	       ok ? "ok" : "not ok", fuzz_harness.name, accepted + refused, accepted, refused);
	/* Inputs that are all refused, or all accepted, test little. */
	printf("%s 2 - at least one in fifty is accepted, and one is refused\n",
	       accepted * 50 >= inputs && refused * 50 >= inputs ? "ok" : "not ok");
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* `path` is absolute: the harness works in a directory of its own. */
static int try_file(const char *path)
{
	static uint8_t data[FUZZ_MAX_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, data, sizeof(data));

	if (fd >= 0)
		close(fd);
	if (size < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return EXIT_FAILURE;
	}
	fprintf(stderr, "%s: %s\n", path, try_copy(data, (size_t)size) ? "refused" : "accepted");
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	int status = EXIT_SUCCESS;

	if (argc == 1)
		return run();
	for (int i = 1; i < argc; i++) {
		char *path = realpath(argv[i], NULL);

		argv[i] = path ? path : argv[i];
	}
	fuzz_set_up();
	for (int i = 1; i < argc && !status; i++)
		status = try_file(argv[i]);
	fuzz_clean_up();
	return status;
}
