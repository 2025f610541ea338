# SPDX-License-Identifier: GPL-2.0-or-later
"""The tasks of tests/func/tasks.py: a first try in the words of other tools, and what xdd answers to it.

A task is solved by its first try, or by a second one that follows from the answer to the first: the command that the
answer proposes ("try: xdd ..."), or one whose words the answer or the first try has.
"""
import json
import os
import re
import shlex
import shutil
import xddtest as t

KIB, MIB = 1 << 10, 1 << 20
TRIES = 2

_count = 0


def solve(title, first, second=None, before=(), json_too=True, status=0, says=(), files=(), figures=None):
    """
    One result: the task is solved in two tries at most.

    `first` and `second` are command lines without "xdd"; `second` is None where the answer has to propose it. The
    commands `before` prepare the task. A solution ends with `status`, prints the patterns of `says`, leaves `files`
    (names with a pattern of their contents), and has `figures`, see FIGURES.
    """
    where = scratch()
    for words in before:
        run = t.command([t.XDD, *shlex.split(words)], cwd=where)
        if run.status:
            return t.ok(False, "%s: the preparation runs" % title, run)
    document = ["-jsonout", "result.json"] if json_too else []
    words, tries = shlex.split(first) + document, []
    for number in range(TRIES):
        if os.path.exists(os.path.join(where, "result.json")):
            os.unlink(os.path.join(where, "result.json"))
        run = t.command([t.XDD, *words], cwd=where)
        tries.append(run)
        wrong = missing(run, where, status, says, files, figures or {})
        if not wrong or number == TRIES - 1:
            break
        words, why = next_try(run, first, second, document)
        if words is None:
            wrong = why
            break
    return t.ok(not wrong, title, "%s\n%s" % (wrong, "\n".join(str(run) for run in tries)))


def scratch():
    """A directory of the task's own: T, a, b and the files of d hold data; nothing else exists."""
    global _count
    _count += 1
    where = t.path("task%d" % _count)
    os.makedirs(os.path.join(where, "d"))
    for name, size in (("T", MIB), ("a", MIB // 4), ("b", MIB // 4), ("d/1", 64 * KIB), ("d/2", 64 * KIB), ("d/3", 64 * KIB)):
        shutil.copyfile(master(size), os.path.join(where, name))
    return where


def master(size):
    """A file of `size` random bytes, made once."""
    file = t.path("master.%d" % size)
    if not os.path.exists(file):
        with open(file, "wb") as f:
            f.write(os.urandom(size))
    return file


# The next try


def next_try(run, first, second, document):
    """The words of the second try, or None and the reason why the answer leads to none."""
    proposed = re.search(r"try: xdd (.*)$", run.err + run.out, re.M)
    if second is None:
        if not proposed:
            return None, "the answer proposes no command (try: xdd ...)"
        words = shlex.split(proposed.group(1))
        return (words if not document or "-jsonout" in words else words + document), ""
    known = set(words_of(first) + words_of(run.err + run.out))
    unknown = [word for word in words_of(second) if word not in known]
    if unknown:
        return None, "the answer does not name: %s" % " ".join(unknown)
    return shlex.split(second) + document, ""


def words_of(text):
    """The words of a command line or a message, without the punctuation of sentences."""
    return [word.strip("\"'.,;:()?") for word in re.split(r"[\s=]+", text) if word]


# A solution


def missing(run, where, status, says, files, figures):
    """The first thing that a solution needs and this run lacks; "" if it is one."""
    if run.status not in (status if isinstance(status, tuple) else (status,)):
        return "status %s, expected %s" % (run.status, status)
    for pattern in says:
        if not re.search(pattern, run.out + run.err, re.M):
            return "nothing printed matches %s" % pattern
    for name, pattern in files:
        file = os.path.join(where, name)
        if not os.path.exists(file):
            return "there is no file %s" % name
        if not re.search(pattern, text_of(file), re.M):
            return "%s has nothing that matches %s" % (name, pattern)
    if not figures:
        return ""
    try:
        with open(os.path.join(where, "result.json"), encoding="utf-8") as f:
            document = json.load(f)
    except (OSError, ValueError) as err:
        return "no results: %s" % err
    for name, expected in figures.items():
        got = FIGURES[name](document)
        if not (expected(got) if callable(expected) else got == expected):
            return "%s is %r, expected %s" % (name, got, "otherwise" if callable(expected) else repr(expected))
    return ""


def text_of(file):
    """The contents of a file; "" if there is none."""
    if not os.path.exists(file):
        return ""
    with open(file, encoding="utf-8", errors="replace") as f:
        return f.read()


def _combined(document):
    return next(r for r in document["results"] if r["what"] == "COMBINED")


def _sum(document, what):
    return sum(_combined(document)[what].values())


def _resolved(name):
    return lambda document: document["plan"]["targets"][0]["resolved"][name]


def _option(group, name):
    return lambda document: document["plan"]["targets"][0]["options"][group][name]


def _percentile(kind, percent):
    """The percentile of reads, or of writes where nothing is read."""
    def value(document):
        directions = _combined(document)["latency"].get(kind) or {}
        found = directions.get("read") or directions.get("write") or {}
        return (found.get("percentiles_ns") or {}).get(percent) is not None
    return value


# Figures of the document of a run, by the names that tasks use.
FIGURES = {
    "request": _resolved("request_bytes"),
    "depth": _resolved("queue_depth"),
    "op": _resolved("operation"),
    "reads": _resolved("read_percent"),
    "pattern": _resolved("seek_pattern"),
    "dio": _resolved("direct_io"),
    "open_sync": _resolved("open_sync"),
    "engine": _resolved("engine"),
    "start": _resolved("start_bytes"),
    "range": _resolved("range_bytes"),
    "limit_ns": _resolved("time_limit_ns"),
    "run_ns": lambda d: d["plan"]["resolved"]["run_time_ns"],
    "passes": lambda d: d["plan"]["resolved"]["passes"],
    "targets": lambda d: [target["name"] for target in d["plan"]["targets"]],
    "ops": lambda d: _sum(d, "ops"),
    "bytes": lambda d: _sum(d, "bytes"),
    "errors": lambda d: _combined(d)["errors"],
    "flushed": lambda d: _combined(d)["flush_ns"] > 0,
    "p50": _percentile("service", "50"),
    "p99": _percentile("service", "99"),
    "intervals": lambda d: len(d.get("intervals") or []),
    "response_p50": _percentile("response", "50"),
    "throttle_ops": _option("throttle", "ops"),
    "throttle_bw": _option("throttle", "bw"),
    "flushwrite": lambda d: d["plan"]["targets"][0]["options"]["flushwrite"],
    "syncwrite": lambda d: d["plan"]["targets"][0]["options"]["syncwrite"],
    "delay": lambda d: d["plan"]["options"]["operationdelay"],
    "seed": _option("seek", "seed"),
    "preallocate": lambda d: d["plan"]["targets"][0]["options"]["preallocate"],
    "dropcache": lambda d: d["plan"]["targets"][0]["options"]["dropcache"],
    "datapattern": lambda d: sorted(k for k, v in d["plan"]["targets"][0]["options"]["datapattern"].items() if v),
    "processor": lambda d: d["plan"]["targets"][0]["options"]["processor"],
}


def has_direct_io():
    """Does the directory of the test have direct I/O?"""
    run = t.command([t.XDD, "-op", "read", "-target", master(64 * KIB), "-dio", "-reqsize", "4", "-numreqs", "1"])
    return run.status == 0
