# SPDX-License-Identifier: GPL-2.0-or-later
"""
Job files of fio, carried out by fio and by xdd, and what each of them does to files: the operations of the jobs as strace
sees them, flushes, and the files afterwards. Files that either lays out before the jobs count by their contents only.
"""
import collections
import functools
import os
import re
import zlib

import xddsys as s
import xddtest as t

# The end of a message that refuses a job file by the name of a setting.
REFUSED = r"(?:: (\w[\w-]*)(?:=.*)?: .*; -leaveout \w[\w-]* translates without it|\]: (?:expected|has|ends) .*|: expected .*)$"

_CALLS = ("execve,openat,lseek,read,write,readv,writev,pread64,pwrite64,preadv,pwritev,preadv2,pwritev2,io_submit,fsync,fdatasync,"
          "sync_file_range")
_BLOCK = 1024   # bytes in which contents are classified
_SAMPLES = 128  # blocks of a file

# `done` counts (call, file, offset, bytes), `flushes` counts files; `files` has each file's Contents by name.
Side = collections.namedtuple("Side", "run done flushes files")

# The shares of bytes that zlib leaves of a block, and of distinct blocks among those that are not zero; `digest` is for
# contents that repeat.
Contents = collections.namedtuple("Contents", "size left distinct digest")


class _Log:
    """The operations in a log of strace, on files below a directory."""

    def __init__(self, log, directory, stages, positioned):
        self._engine_moves = positioned
        self.done, self.flushes = collections.Counter(), collections.Counter()
        self._at, self._directory, self._stages = {}, os.path.realpath(directory) + "/", stages
        self._stage, self._main, self._written = 0, None, set()
        for pid, text in s.calls_of(log):
            self._main = self._main or pid
            self._call(pid, text)

    def _is_of_jobs(self, pid):
        """fio lays out files in its first process, before its jobs; xdd by commands of their own."""
        if self._stages is None:
            return pid != self._main
        # The first process is the translator; each command is checked by a process, and then run by one.
        n = self._stage - 2 - len(self._stages)
        return 0 <= n < len(self._stages) and self._stages[n] != "before"

    def _add(self, pid, call, path, offset, size):
        if path.startswith(self._directory) and self._is_of_jobs(pid) and not _is_log(path):
            self.done[call, os.path.basename(path), offset, size] += 1
            if call == "write":
                self._written.add(path)

    def _flush(self, pid, path):
        """A flush before the first write of a command empties the page cache, and is no operation of its jobs."""
        if path in self._written and self._is_of_jobs(pid):
            self.flushes[os.path.basename(path)] += 1

    def _positioned(self, pid, text):
        """Calls that use the position of the open file, as the engines sync and vsync make them."""
        m = re.match(r"(openat)\(.*= (\d+)<(.*)>$|(lseek)\((\d+)<(.*)>, .* = (\d+)$|"
                     r"(read|write)v?\((\d+)<([^>]*)>.*, \d+ *\) += (\d+)$", text)
        if not m:
            return bool(re.match(r"(openat|lseek|read|write)", text))
        if m[1]:
            self._at[pid, m[2]] = 0
        elif m[4]:
            self._at[pid, m[5]] = int(m[7])
        else:
            at = self._at.get((pid, m[9]), 0)
            if self._engine_moves:  # With others, fio fills the page cache by such calls.
                self._add(pid, m[8], m[10], at, int(m[11]))
            self._at[pid, m[9]] = at + int(m[11])
        return True

    def _call(self, pid, text):
        if text.startswith("execve(") and text.endswith("= 0"):
            self._stage += 1
            self._written.clear()
        elif text.startswith("io_submit("):
            for m in re.finditer(r"aio_lio_opcode=IOCB_CMD_P(READ|WRITE),.*?aio_fildes=\d+<([^>]*)>,.*?aio_nbytes=(\d+), aio_offset=(\d+)", text):
                self._add(pid, m[1].lower(), m[2], int(m[4]), int(m[3]))
        elif not self._positioned(pid, text):
            m = re.match(r"(?:fsync|fdatasync|sync_file_range)\(\d+<([^>]*)>", text)
            if m:
                self._flush(pid, m[1])
            m = re.match(r"p(read|write)64\(\d+<([^>]*)>, .*, (\d+), (\d+) *\) += (\d+)", text)
            if m:
                self._add(pid, m[1], m[2], int(m[4]), int(m[3]))
            m = re.match(r"p(read|write)v2?\(\d+<([^>]*)>, .*\], \d+, (\d+).* = (\d+)$", text)
            if m:
                self._add(pid, m[1], m[2], int(m[3]), int(m[4]))


def _is_log(path):
    """A file of results, or of state by which fio verifies in another run."""
    return path.endswith(("-verify.state", ".log", ".csv"))


def contents(path):
    """The class of a file's contents."""
    with open(path, "rb") as f:
        return _contents_of(f.read())


@functools.lru_cache(maxsize=16)  # Most files of most sides are as they were before the jobs.
def _contents_of(data):
    blocks = [data[at:at + _BLOCK] for at in range(0, len(data), _BLOCK)] or [b""]
    # An odd step, as units of data that compress are even.
    seen = blocks[::len(blocks) // _SAMPLES | 1]
    packed = [len(zlib.compress(block, 1)) for block in seen]
    left = sum(packed) / max(1, sum(map(len, seen)))
    filled = [block for block in blocks if block.strip(b"\0")]
    return Contents(len(data), left, len(set(filled)) / max(1, len(filled)),
                    zlib.crc32(data) if len(set(blocks)) <= 8 and all(n < 0.2 * len(b) for n, b in zip(packed, seen)) else 0)


def _stages_of(text):
    """The stage of each command that "xdd fio" prints before it runs them: before the jobs, the jobs, after them."""
    titles = re.findall(r"^# group \d+ of \d+(, before it|, after it|):?.*\n(?:# .*\n)*xdd ", text, re.M)
    return ["before" if "before" in title else "after" if title else "jobs" for title in titles]


def side(name, job, directory, *words, env=None):
    """The job file, with more words of a command line, by "fio" or "xdd" in the directory: a Side."""
    log = os.path.join(directory, "log")
    # Without that clock, fio calibrates another one each time it begins.
    program = ["fio", "--output=/dev/null", "--clocksource=clock_gettime", job] if name == "fio" else [t.XDD, "fio", job, "-run"]
    run = t.command(s.strace(log, _CALLS, "-v") + [*program, *words], cwd=directory, env=env, tolerate="-dropcache left ")
    with open(os.path.join(directory, job), encoding="utf-8") as f:
        seen = _Log(log, directory, _stages_of(run.out) if name == "xdd" else None, bool(re.search(r"ioengine\s*=\s*v?sync\b", f.read())))
    os.unlink(log)
    return Side(run, seen.done, seen.flushes, _files(directory))


def _files(directory):
    """Those that a job may have written."""
    return {name: contents(os.path.join(directory, name)) for name in sorted(os.listdir(directory))
            if not name.endswith(".fio") and not _is_log(name) and os.path.isfile(os.path.join(directory, name))}


# ---- comparison ----


def _summed(done, drawn):
    """The operations without what each program draws by itself; `drawn` names it: offsets, directions, sizes."""
    sums = collections.Counter()
    for (call, file, offset, size), n in done.items():
        if "sizes" not in drawn:
            sums["" if "directions" in drawn else call, file, "" if "offsets" in drawn else offset, size] += n
    return sums


def _differences(sums, others):
    return ["%s: xdd %d, fio %d" % (k, sums.get(k, 0), others.get(k, 0)) for k in sorted(set(sums) | set(others), key=str)
            if sums.get(k, 0) != others.get(k, 0)]


def _shares(done, key):
    """The operations of each key, and how many they are together."""
    counts = collections.Counter()
    for operation, n in done.items():
        counts[key(operation)] += n
    return counts, sum(counts.values())


def _unlike(what, mine, theirs, key, tolerance):
    """The shares of what each program draws by chance, where they differ by more than chance."""
    (counts, n), (others, m) = _shares(mine, key), _shares(theirs, key)
    return ["%s %s: xdd %d of %d, fio %d of %d" % (what, k, counts[k], n, others[k], m) for k in sorted(set(counts) | set(others))
            if n and m and abs(counts[k] / n - others[k] / m) > tolerance + 1 / min(n, m) ** 0.5]


def _amounts(done):
    sums = collections.Counter()
    for (call, file, _, size), n in done.items():
        sums[call, file] += n * size
    return sums


def _drawn_differences(mine, theirs, drawn):
    """Draws have these in common: the shares of directions and sizes, the amount, the range, the blocks that are hit."""
    found = []
    if "directions" in drawn:
        found += _unlike("direction", mine.done, theirs.done, lambda k: k[:2], 0.25)
    if "sizes" in drawn:
        found += _unlike("size", mine.done, theirs.done, lambda k: (k[0], k[1], k[3]), 0.2)
        most = 2 * max([k[3] for k in theirs.done] + [0])
        ours, of_fio = (sum(_amounts(side_.done).values()) for side_ in (mine, theirs))
        found += ["bytes: xdd %d, fio %d" % (ours, of_fio)] if abs(ours - of_fio) > most else []
    if "offsets" in drawn:
        for side_ in (mine, theirs):
            other = theirs if side_ is mine else mine
            most = max([k[3] for k in side_.done] + [0])
            units, of_other = ({(k[1], k[2]) for k in d.done} for d in (side_, other))
            if len(of_other) >= 40 and len(units) < 0.7 * len(of_other):
                found.append("%s hits %d offsets, and the other program %d" % ("xdd" if side_ is mine else "fio", len(units), len(of_other)))
            reach, beyond = (max([k[2] for k in d.done] + [0]) for d in (side_, other))
            if len(of_other) >= 16 and beyond > 1.25 * reach + 4 * most:
                found.append("%s reaches to %d, and the other program to %d" % ("xdd" if side_ is mine else "fio", reach, beyond))
    return found


def _unlike_contents(mine, theirs, drawn):
    found = []
    for name in sorted(set(mine) & set(theirs)):
        a, b = mine[name], theirs[name]
        # The last of random requests of any size, or of a time, may end elsewhere.
        same_size = a.size == b.size or drawn & {"sizes", "offsets", "directions"}
        if not same_size or abs(a.left - b.left) > 0.12 or (a.size >= 1 << 20 and abs(a.distinct - b.distinct) > 0.25) or (a.digest != b.digest and not drawn):
            found.append("%s: xdd %s, fio %s" % (name, a, b))
    return found


def differences(mine, theirs, drawn=(), ignored=()):
    """
    How the Side of xdd differs from the Side of fio, as lines; none where they are the same. `drawn`: what each program draws by
    itself, of "offsets", "directions" and "sizes". Passes of a mix flush to empty the page cache. `ignored`: what is not
    compared, of "contents" and "operations".
    """
    drawn = set(drawn)
    found = []
    if (mine.run.status == 0) != (theirs.run.status == 0):
        found.append("status: xdd %s, fio %s" % (mine.run.status, theirs.run.status))
    if "operations" not in ignored:
        found += _differences(_summed(mine.done, drawn), _summed(theirs.done, drawn))[:8]
        found += _drawn_differences(mine, theirs, drawn)
        found += ["flushes of %s: xdd %d, fio %d" % (file, mine.flushes[file], theirs.flushes[file])
                  for file in sorted(set(mine.flushes) | set(theirs.flushes))
                  if mine.flushes[file] != theirs.flushes[file] and "directions" not in drawn]
    if sorted(mine.files) != sorted(theirs.files):
        found.append("files: xdd %s, fio %s" % (sorted(mine.files), sorted(theirs.files)))
    if "contents" not in ignored:
        found += _unlike_contents(mine.files, theirs.files, drawn)
    return found
