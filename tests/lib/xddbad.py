# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of bad input, and how they are run: badinput.py and badinput_files.py have the rows.

Each row is run in a fresh directory that holds

    data   65536 bytes      empty   0 bytes      note   a line of text
    dir/   a directory      fifo    a pipe       and the row's own files

and is compared with what it was before, the directory's own time included. A row says what the message must
show: the option and its value, what is allowed, and where it stood, "(argument N)" or "file:line: ".
"""
import collections
import hashlib
import os
import re
import shlex
import stat
import messages as m
import xddtest as t

LIMIT_S = 20
LONGEST_LINE = 200
INT64_MAX = 2 ** 63 - 1
READ = "-op read -targets 1 data"       # the option under test is argument 6, its value argument 7
NULL = "-op read -targets 1 null -numreqs 1"

Row = collections.namedtuple("Row", "name args status at wants files prefix changes many out longest")
ROWS = []


def row(name, args, status, at, *wants, files=None, prefix=(), changes=(), many=False, out=False,
        longest=LONGEST_LINE):
    """
    args     a line for shlex, or a list of words
    at       the place that is to blame: the number of an argument, "file:line", or None where several options
             and the target together are wrong
    wants    regular expressions that the message must match
    files    further files: name to contents
    prefix   words before the command
    changes  files that may be new or different afterwards: those of a run that took place
    many     more lines than one are inherent
    out      so is output
    """
    words = args if isinstance(args, list) else shlex.split(args)
    place = [] if at is None else [r"\(argument %d\)" % at] if isinstance(at, int) else ["^xdd: " + re.escape(at) + ": "]
    ROWS.append(Row(name, words, status, at, place + list(wants), files or {}, list(prefix), set(changes), many,
                    out, longest))


def value(option, bad, *wants, base=READ, status=2, **kwargs):
    """A bad value of an option, or of "option suboption", after `base`."""
    words = shlex.split(base) + ["-" + w if i == 0 else w for i, w in enumerate(option.split())] + [bad]
    shown = bad if bad and not re.search(r"\s", bad) else "'%s'" % bad
    row("-%s %r" % (option, bad if len(bad) < 40 else bad[:40] + "..."), words, status, len(words),
        m.line("-%s %s" % (re.escape(option), re.escape(shown))), *wants, **kwargs)


MODES = {"ro": 0o444, "wo": 0o200, "locked/": 0o555, "closed/": 0o000}


def make(directory, files):
    """The sentinels and the row's own files: "name/" is a directory, "name@" a symbolic link."""
    os.mkdir(directory)
    everything = dict({"data": bytes(range(256)) * 256, "empty": b"", "note": b"not to be changed\n", "dir/": b""},
                      **files)
    for name, content in everything.items():
        path = os.path.join(directory, name.rstrip("/@"))
        if name.endswith("/"):
            os.mkdir(path)
        elif name.endswith("@"):
            os.symlink(content, path)
        else:
            with open(path, "wb") as f:
                f.write(content if isinstance(content, bytes) else content.encode())
        if name in MODES:
            os.chmod(path, MODES[name])
    os.mkfifo(os.path.join(directory, "fifo"))


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha1(f.read()).hexdigest()


def look(directory):
    """All there is: name to kind, mode, size, times and contents."""
    seen = {}
    for top, dirs, files in os.walk(directory):
        for name in ["."] + dirs + files:
            path = os.path.normpath(os.path.join(top, name))
            st = os.lstat(path)
            whole = digest(path) if stat.S_ISREG(st.st_mode) and os.access(path, os.R_OK) else None
            seen[os.path.relpath(path, directory)] = (st.st_mode, st.st_ino, st.st_size if whole else 0,
                st.st_mtime_ns, whole)
    return seen


def problems(case, run, before, after):
    found = []
    lines = run.err.split("\n")
    if run.status != case.status:
        found.append("the status is %s, not %s" % (run.status, case.status))
    if run.err and lines.pop() != "":
        found.append("the last line of stderr has no end")
    if any(not line.startswith("xdd: ") or not line[5:].strip() for line in lines):
        found.append('a line of stderr does not begin with "xdd: "')
    if not lines or (len(lines) > 1 and not case.many):
        found.append("%d lines on stderr" % len(lines))
    found += ["too long a line: %d characters" % len(line) for line in lines if len(line) > case.longest]
    found += ["stderr does not match " + want for want in case.wants if not any(re.search(want,
        line) for line in lines)]
    if run.out and not case.out:
        found.append("there is output")
    for name in sorted(set(before) | set(after)):
        if before.get(name) != after.get(name) and name not in case.changes:
            found.append("%s is %s" % (name,
                "new" if name not in before else "gone" if name not in after else "changed"))
    return found


_number = 0


def check(case):
    global _number
    _number += 1
    directory = t.path("case%d" % _number)
    make(directory, case.files)
    before = look(directory)
    run = t.command(case.prefix + [t.XDD] + case.args, timeout=LIMIT_S, cwd=directory)
    found = problems(case, run, before, look(directory))
    for name in ("closed", "locked"):
        if os.path.isdir(os.path.join(directory, name)):
            os.chmod(os.path.join(directory, name), 0o700)
    t.ok(not found, case.name, "\n".join(found) + "\n" + str(run) if found else "")


def check_rows():
    for entry in list(ROWS):
        check(entry)
