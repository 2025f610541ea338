"""Job files of fio, carried out by fio and by xdd: what each of them does to files."""
import collections
import os
import re

import xddsys as s
import xddtest as t


def operations(words, directory):
    """The transfers of a command as strace sees them: how often each (call, file, offset, bytes) was done."""
    log = os.path.join(directory, "log")
    # The leak checker cannot work in a traced process.
    run = t.command(["strace", "-f", "-qq", "-y", "-s0", "-e", "trace=pread64,pwrite64", "-e", "signal=none", "-o", log,
                     "-E", "ASAN_OPTIONS=detect_leaks=0", *words], cwd=directory, tolerate="-dropcache: .* stayed")
    found = collections.Counter()
    for _, text in s.calls_of(log):
        m = re.match(r"p(read|write)64\(\d+<([^>]*)>, .*, (\d+), (\d+) *\) += (\d+)", text)
        if m and m[2].startswith(os.path.realpath(directory) + "/"):
            found[m[1], os.path.basename(m[2]), int(m[4]), int(m[3])] += 1
    return run, found


def without_offsets(found, mixed=False):
    """The same by call, file and size only; where directions are `mixed` by chance, by file and size."""
    sums = collections.Counter()
    for (call, file, _, size), n in found.items():
        sums["" if mixed else call, file, size] += n
    return sums
