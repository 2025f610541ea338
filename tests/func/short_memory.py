#!/usr/bin/env python3
"""
Memory that is short: in one run after another a single request for memory fails, or the C library cannot find an
address. xdd ends with a status and a message, never by a signal. XDD_TEST_LONG lets each request fail once.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import xddsys as s
import xddtest as t

# Requests of a run that fail, spread over all; those that shrink memory all fail once.
SAMPLES = 40

# Fails the request number XDD_FAIL_AT of XDD_FAIL (any, or those that shrink), and counts into XDD_FAIL_LOG. Requests of
# OpenSSL, of the dynamic linker and of the C library's look at users are left alone: some of these end the process.
CODE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

static struct { uintptr_t from, to; } left_alone[64];
static int n_left, shrinking;
static long at, calls;
static __thread int inside; /* looks for a user */

static int object(struct dl_phdr_info *info, size_t size, void *unused)
{
	static const char *const names[] = { "libcrypto", "libssl", "ld-linux" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		for (int p = 0; strstr(info->dlpi_name, names[i]) && p < info->dlpi_phnum; p++)
			if (info->dlpi_phdr[p].p_type == PT_LOAD && n_left < 64) {
				left_alone[n_left].from = info->dlpi_addr + info->dlpi_phdr[p].p_vaddr;
				left_alone[n_left].to = left_alone[n_left].from + info->dlpi_phdr[p].p_memsz;
				n_left++;
			}
	return 0;
}

__attribute__((constructor)) static void begin(void)
{
	dl_iterate_phdr(object, NULL);
	shrinking = !strcmp(getenv("XDD_FAIL"), "shrink");
	at = atol(getenv("XDD_FAIL_AT"));
}

__attribute__((destructor)) static void end(void)
{
	int fd = open(getenv("XDD_FAIL_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0600);

	if (fd >= 0) {
		dprintf(fd, "%ld\n", calls);
		close(fd);
	}
}

static int fails(void *caller, int shrinks)
{
	if (!at || inside || (shrinking && !shrinks))
		return 0;
	for (int i = 0; i < n_left; i++)
		if ((uintptr_t)caller >= left_alone[i].from && (uintptr_t)caller < left_alone[i].to)
			return 0;
	return __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) == at;
}

int getpwuid_r(uid_t uid, struct passwd *to, char *text, size_t size, struct passwd **found)
{
	int (*real)(uid_t, struct passwd *, char *, size_t, struct passwd **) = dlsym(RTLD_NEXT, "getpwuid_r");
	int err;

	inside = 1;
	err = real(uid, to, text, size, found);
	inside = 0;
	return err;
}

void *malloc(size_t size)
{
	return fails(__builtin_return_address(0), 0) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails(__builtin_return_address(0), 0) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return fails(__builtin_return_address(0), p && size < malloc_usable_size(p)) ? NULL :
										       __libc_realloc(p, size);
}
"""

NO_ADDRESSES = r"""
#include <netdb.h>

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **list)
{
	(void)host, (void)service, (void)hints, (void)list;
	return EAI_MEMORY;
}
"""

COUNT_ONLY = 1 << 40


def commands():
    """A few commands that hold text, documents and lists in memory."""
    job, document = t.path("job.fio"), t.path("document.json")
    with open(job, "w", encoding="ascii") as f:
        f.write("[global]\nbs=4k\nsize=64k\n[a]\nrw=write\nfilename=f1\n[b]\nrw=read\nfilename=f1\nzonemode=none\n")
    plain = ["-op", "noop", "-target", "null", "-numreqs", "10", "-passes", "2"]
    t.xdd(*plain, "-jsonout", document)
    return {"run": plain + ["-jsonout", t.path("out.json"), "-csvout", t.path("out.csv"), "-verbose"],
            "fio": ["fio", job],
            "compare": ["compare", document, document],
            "combine": ["combine", "-force", document, document],
            "refusal": ["--rw=randread", "--bs=4k", "--filename=nothing", "--iodepth=4"],
            "report": ["report", document, "-o", t.path("page.html")],
            "help": ["-help", "throttle"]}


def counted(log):
    """The requests of the process that the library has counted last; 0 if none ended by itself."""
    try:
        with open(log, encoding="ascii") as f:
            return max(int(line) for line in f)
    except (OSError, ValueError):
        return 0


def died(status):
    return status == "timeout" or status < 0 or status >= 128


def test_each_request():
    library = s.preload("memory", CODE)
    if library is None or os.environ.get("XDD_SANITIZERS", "no") != "no":
        return t.skip("requests for memory that fail", "no compiler, or a sanitizer has its own memory")
    log = t.path("calls")
    for name, words in commands().items():
        for which in ("shrink", "any"):
            env = dict(library, XDD_FAIL=which, XDD_FAIL_LOG=log)
            run = t.xdd(*words, env=dict(env, XDD_FAIL_AT=str(COUNT_ONLY)), tolerate=".")
            n = counted(log)
            t.ok(not died(run.status) and (n > 0 or which == "shrink"), "%s: requests for memory (%s) are counted" % (name, which), run)
            os.unlink(log)
            step = 1 if which == "shrink" or os.environ.get("XDD_TEST_LONG") else max(1, n // SAMPLES)
            deaths = []
            for at in range(1, n + 1, step):
                run = t.xdd(*words, env=dict(env, XDD_FAIL_AT=str(at)), tolerate=".")
                if died(run.status):
                    deaths.append("%d: %s" % (at, run))
            t.equal(deaths[:3], [], "%s: no request (%s) of %d ends it by a signal if it fails" % (name, which, n))
            if os.path.exists(log):
                os.unlink(log)
    return None


def test_no_addresses():
    """The wildcard has no name that a message could quote."""
    env = s.preload("addresses", NO_ADDRESSES)
    if env is None:
        return t.skip("addresses that are not found", "no compiler")
    run = t.xdd("timeserver", "-port", 0, env=env)
    t.ok(run.status not in (0, "timeout") and run.status > 0 and "addresses of this host" in run.err,
         "a time server without the addresses of its host", run)
    return None


t.run(test_each_request, test_no_addresses)
sys.exit(t.done())
