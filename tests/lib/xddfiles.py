# SPDX-License-Identifier: GPL-2.0-or-later
"""Common parts of files.py and files_data.py: runs with the columns of times, and the system calls of a run."""
import os
import re
import xddsys as s
import xddtest as t

COLUMNS = ("+WHAT+PASS+TARGET+OPS+ERRORS+RETRIES+BYTESXFERED+ELAPSEDTIMEPASS+LATENCY+BUFFERFLUSHTIME+OPENTIME"
           "+CLOSETIME")
WRITE = "-op write -reqsize 4 -numreqs 8".split()


def run_rows(*args, **kwargs):
    return t.xdd_csv(*args, "-verbose", "-outputformat", "new", COLUMNS, **kwargs)


def passes(rows, column, target=0):
    return [float(r[column]) for r in rows if r["WHAT"] == "TARGET_PASS" and r["TARGET"] == str(target)]


def total(rows, column):
    return [float(r[column]) for r in rows if r["WHAT"] == "COMBINED"][0]


def one_error(run, status, *texts):
    return run.status == status and len(run.error_lines()) == 1 and all(x in run.err for x in texts)


def calls(*args, inject=(), only=None, **kwargs):
    """
    Run xdd under strace. Returns the run, its rows, and what it called on files, in order: (call, path, result,
    the line). `only` is a path that alone is looked at, and that `inject` (words of strace) is about.
    """
    if not t.have("strace"):
        return None
    calls.n += 1
    log, csv = t.path("calls.%d" % calls.n), t.path("calls.%d.csv" % calls.n)
    words = s.strace(log, "openat,close,unlink,fdatasync,fallocate,ftruncate,pwrite64")
    for path in [only] + ["/proc/self/fd/%d" % fd for fd in range(3, 40)] if only else []:
        words += ["-P", path]
    for word in inject:
        words += ["-e", "inject=" + word]
    run = t.command(words + t.xdd_words(*args, "-verbose", "-outputformat", "new", COLUMNS, "-csvout", csv), **kwargs)
    found, looked = [], {}
    for pid, text in s.calls_of(log):
        m = re.match(r'(\w+)\((?:AT_FDCWD[^,]*, )?(?:"([^"]*)"|\d+<([^>]*)>).*\) += (-?\d+)', text)
        closed = re.match(r"close\((\d+)<", text)
        if closed and looked.pop((pid, closed.group(1)), None):
            continue
        if not m:
            continue
        call = (m.group(1), (m.group(2) or m.group(3)).replace(" (deleted)", ""), int(m.group(4)), text)
        # A file is found and looked at (O_PATH). If it is then opened by that descriptor, that is one opening,
        # by its name.
        if "O_PATH" in text and call[2] >= 0:
            looked[pid, m.group(4)] = call
            continue
        by = re.fullmatch(r"/proc/self/fd/(\d+)", call[1])
        if by and (pid, by.group(1)) in looked:
            call = looked[pid, by.group(1)][:2] + call[2:]
        found.append(call)
    rows = t.read_csv(csv) if os.path.exists(csv) else []
    return run, rows, found


calls.n = 0


def of(found, path, *names):
    """The calls on that file, and their names; opening that fails, and the opening that makes a file, left out."""
    return [c for c in found if c[1] == path and c[0] in names and c[2] >= 0 and "O_EXCL" not in c[3]]
