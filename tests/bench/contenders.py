# SPDX-License-Identifier: GPL-2.0-or-later
"""The contenders: xdd, the bare loops, fio. Each turns a workload into a command, and its output into figures."""
import csv
import json
import os

from commands import Broken, Skip, call, have

COLUMNS = "+WHAT+OPS+ELAPSEDTIMEPASS+BANDWIDTH+IOPS+LATENCY+USERTIME+SYSTEMTIME"
PERCENTILES = (50, 90, 99)


class Contender:
    """command() and figures() belong together: the latter reads what the former's command wrote."""

    def __init__(self, name, runner):
        self.name = name
        self.runner = runner

    def command(self, work, path, span, seconds=None, ops=None, targets=1):
        """The words of a command that works for `seconds`, or does `ops` operations (on each target)."""
        raise NotImplementedError

    def figures(self, out):
        """{"ops", "elapsed_s", "iops"} of the command that was run last and printed `out`; "p50_us" and so on if asked for."""
        raise NotImplementedError


class Xdd(Contender):
    """`keywords` are words after -ioengine's, `options` further options; `ordering` is that of -ordering."""

    def __init__(self, name, runner, binary, keywords=(), options=(), plain=False, ordering=""):
        super().__init__(name, runner)
        self.binary = binary
        self.plain = plain  # constant data, and nothing verified
        self.ordering = ordering
        self.keywords = list(keywords)
        self.options = list(options)
        self.columns = COLUMNS
        self.csv = runner.path("xdd.csv")

    def command(self, work, path, span, seconds=None, ops=None, targets=1):
        depth = work.threads * work.depth
        if work.apart:
            targets, depth, span, ops = work.threads, work.depth, span // work.threads, ops and ops // work.threads
        if work.verify and not self.plain:
            call([self.binary, "-op", "write", "-targets", "1", path, "-reqsize", str(work.size // 1024), "-blocksize",
                  "1024", "-bytes", str(span), "-datapattern", work.pattern])
        words = [self.binary, "-op", "noop" if path is None else work.op, "-targets",
                 str(-targets if targets > 1 else 1), path or "null", "-blocksize", "1024",
                 "-reqsize", str(work.size // 1024), "-queuedepth", str(depth)]
        if work.engine not in ("psync", "null"):
            words += ["-ioengine", work.engine] + self.keywords
        if work.direct:
            words += ["-dio"]
        if work.pattern:
            words += ["-datapattern", "x" if self.plain else work.pattern]
            words += ["-verify", "contents"] if work.verify and not self.plain else []
        if self.ordering:
            words += ["-ordering", self.ordering]
        if path is not None:
            words += ["-seek", "random"] if work.random else []
            words += ["-seek", "range", str(span // 1024)]
            words += ["-targetoffset", str(span // 1024)] if work.apart else []
        words += ["-timelimit", str(seconds)] if seconds else ["-numreqs", str(ops)]
        if os.path.exists(self.csv):
            os.unlink(self.csv)
        self.columns = COLUMNS + "".join("+LATP%d" % p for p in PERCENTILES if work.percentiles)
        return words + self.options + ["-outputformat", "new", self.columns, "-csvout", self.csv]

    def figures(self, out):
        names = self.columns.strip("+").split("+")
        try:
            with open(self.csv, encoding="utf-8", newline="") as file:
                rows = [dict(zip(names, row)) for row in list(csv.reader(file))[1:]]
        except OSError as err:
            raise Broken("xdd wrote no CSV: %s" % err) from err
        for row in rows:
            if row["WHAT"].strip() == "COMBINED":
                found = {"ops": int(row["OPS"]), "elapsed_s": float(row["ELAPSEDTIMEPASS"]),
                         "iops": float(row["IOPS"]), "latency_ms": float(row["LATENCY"])}
                # The percentile of a few operations is empty.
                found.update(("p%d_us" % p, float(row["LATP%d" % p]) * 1000) for p in PERCENTILES if row.get("LATP%d" % p))
                return found
        raise Broken("xdd wrote no COMBINED line to its CSV")


class Loop(Contender):
    """A bare loop: limit_PROGRAM.c, with `options`."""

    def __init__(self, name, runner, program, libraries=(), options=()):
        super().__init__(name, runner)
        self.binary = runner.compile("limit_" + program, "limit.c", *libraries)
        self.options = list(options)

    def command(self, work, path, span, seconds=None, ops=None, targets=1):
        words = [self.binary, "-s", str(work.size), "-t", str(work.threads * targets), "-q", str(work.depth)]
        if path is not None:
            words += ["-f", path, "-p", str(span)]
        words += ["-d"] * work.direct + ["-r"] * work.random + self.options
        return words + (["-T", str(seconds)] if seconds else ["-n", str(ops * targets)])

    def figures(self, out):
        try:
            ops, elapsed_s, cpu_s = out.split()
            ops, elapsed_s, cpu_s = int(ops), float(elapsed_s), float(cpu_s)
        except ValueError:
            raise Broken("the loop printed %r" % out[:100]) from None
        return {"ops": ops, "elapsed_s": elapsed_s, "iops": ops / elapsed_s if elapsed_s else 0,
                "loop_cpu_s": cpu_s}


class Fio(Contender):
    """fio with the same engine, depth, size and flags. Its latencies are measured, as is its default."""

    def __init__(self, name, runner, options=(), threads=None):
        super().__init__(name, runner)
        self.options = list(options)
        self.threads = threads  # null device: a job for each thread, not one of that depth
        self.json = runner.path("fio.json")

    def command(self, work, path, span, seconds=None, ops=None, targets=1):
        jobs, depth = work.threads * targets, work.depth
        if work.engine == "null" and not self.threads:
            jobs, depth = 1, work.threads
        words = ["fio", "--name=bench", "--thread", "--norandommap", "--ioengine=" + work.engine,
                 "--iodepth=%d" % depth, "--bs=%d" % work.size, "--rw=" + ("randread" if work.random else "read"),
                 "--output-format=json", "--output=" + self.json]
        if path is None:
            words += ["--size=1g"]
        else:
            # Each job has its own extent, as in the loops; page-aligned buffers, which are fast; the cache is not dropped.
            extent = span // jobs // work.size * work.size
            words += ["--filename=" + path, "--size=%d" % extent, "--offset_increment=%d" % extent,
                      "--iomem_align=4096", "--invalidate=0", "--fadvise_hint=0", "--direct=%d" % work.direct]
        if jobs > 1:
            words += ["--numjobs=%d" % jobs, "--group_reporting"]
        if seconds:
            words += ["--time_based", "--runtime=%dms" % round(seconds * 1000)]
        else:
            words += ["--number_ios=%d" % -(-ops * targets // jobs)]
        return words + self.options

    def figures(self, out):
        try:
            with open(self.json, encoding="utf-8", errors="replace") as file:
                text = file.read()
            # Notes may precede it.
            job = json.loads(text[text.index("{"):])["jobs"][0]
            read = job["read"]
            if job.get("error"):
                raise Broken("fio: error %d" % job["error"])
            found = {"ops": read["total_ios"], "elapsed_s": read["runtime"] / 1000, "iops": read["iops"]}
            times = read["clat_ns"].get("percentile", {})
            found.update(("p%d_us" % p, times["%d.000000" % p] / 1000) for p in PERCENTILES if times)
            return found
        except (OSError, ValueError, KeyError, IndexError) as err:
            raise Broken("fio's JSON: %s" % err) from err


class Field:
    """The contenders for a workload, as far as they are available here."""

    def __init__(self, runner, binary):
        self.runner = runner
        self.binary = binary
        self.have_fio = have("fio")
        self.notes = []  # what is missing, each once
        self._help = None

    def _engine_help(self):
        """The help of xdd on -ioengine; "" if it does not know that option."""
        if self._help is None:
            try:
                self._help = call([self.binary, "-help", "ioengine"])
            except Skip:
                self._help = ""
        return self._help

    def _check_engine(self, engine):
        """Raises Skip when xdd does not have the engine, or says that this kernel does not."""
        text = self._engine_help()
        if not text:
            raise Skip("this xdd has no -ioengine")
        for line in call([self.binary, "-ioengine", "list"]).splitlines():
            words = line.replace(":", " ").split()
            if words and words[0] == engine:
                if {"not", "no", "unavailable"} & {word.lower().strip(",.;") for word in words[1:]}:
                    raise Skip("xdd: " + " ".join(line.split()))
                return
        raise Skip("this xdd has no engine " + engine)

    def _optional(self, found, make):
        try:
            found.append(make())
        except Skip as err:
            if str(err) not in self.notes:
                self.notes.append(str(err))

    def of(self, work):
        """In the order they are run. Raises Skip when xdd cannot do it."""
        if work.ordering:
            return self._ordered(work)
        if work.engine in ("libaio", "io_uring"):
            return self._asynchronous(work)
        if work.percentiles:
            if not self.have_fio:
                raise Skip("fio is not installed")
            return [Xdd("xdd", self.runner, self.binary), Fio("fio", self.runner)]
        if work.stamps:
            # A table of 64 MiB that wraps; only the summary is made of it.
            return [Xdd("xdd", self.runner, self.binary, options=["-ts", "on"]),
                    Xdd("untraced", self.runner, self.binary)]
        if work.person:
            return [Xdd("xdd", self.runner, self.binary, options=["-report", "person"]),
                    Xdd("table", self.runner, self.binary, options=["-report", "table"])]
        found = [Xdd("xdd", self.runner, self.binary)]
        if work.pattern:
            return found + [Xdd("constant", self.runner, self.binary, plain=True)]
        program = "null" if work.engine == "null" else "pread"
        self._optional(found, lambda: Loop("loop", self.runner, program))
        if self.have_fio:
            found.append(Fio("fio", self.runner))
            if work.engine == "null" and work.threads > 1:
                found.append(Fio("fio threads", self.runner, threads=True))
        return found

    def _ordered(self, work):
        """With and without -ordering; and, where nothing is transferred, beside a bare mutex."""
        if work.engine != "null":
            self._check_engine(work.engine)
        found = [Xdd("xdd", self.runner, self.binary, ordering=work.ordering), Xdd("xdd none", self.runner, self.binary)]
        if work.engine == "null":
            self._optional(found, lambda: Loop("mutex loop", self.runner, "mutex"))
        return found

    def _asynchronous(self, work):
        self._check_engine(work.engine)
        ring = work.engine == "io_uring"
        keywords = [word for word in ("fixedbufs", "fixedfiles") if ring and word in self._engine_help()]
        options = ["-F", "-D"] if ring else []
        library = "-luring" if ring else "-laio"
        found = [Xdd("xdd", self.runner, self.binary, keywords)]
        # The default is compared with batches only for deep queues.
        if work.depth >= 128 and "batch" in self._engine_help():
            found.append(Xdd("xdd batch", self.runner, self.binary, keywords + ["batch", str(work.depth // 4)]))
        for name, more in (("loop", []), ("batch loop", ["-b"])):
            self._optional(found, lambda name=name, more=more: Loop(name, self.runner, work.engine, [library],
                                                                    options + more))
        if self.have_fio:
            found.append(Fio("fio", self.runner, ["--fixedbufs", "--registerfiles"] if ring else []))
        return found
