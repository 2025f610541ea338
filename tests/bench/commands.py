# SPDX-License-Identifier: GPL-2.0-or-later
"""Running commands: their cost, and their end in any case. Used by contenders.py and run."""
import dataclasses
import os
import re
import shutil
import signal
import subprocess


class Broken(Exception):
    """A run that failed, hung, or printed nonsense."""


class Skip(Exception):
    """Something that is not available on this machine; the text says why."""


@dataclasses.dataclass
class Usage:
    """The cost of a process, from start to end."""
    wall_s: float
    user_s: float
    sys_s: float
    maxrss_kib: int
    nvcsw: int
    nivcsw: int
    others: float = 0  # share of the machine that everything else took meanwhile, kernel threads included

    @property
    def cpu_s(self):
        return self.user_s + self.sys_s


def call(argv, timeout_s=20):
    """Run a helper of the bench itself; its output. Raises Skip with the reason if that fails."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=timeout_s, text=True, errors="replace", check=False)
    except (OSError, subprocess.TimeoutExpired) as err:
        raise Skip("%s: %s" % (argv[0], err)) from err
    if done.returncode:
        raise Skip("%s: %s" % (argv[0], last_line(done.stderr) or "status %d" % done.returncode))
    return done.stdout


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def busy_s():
    """Processor time that the whole machine has spent at work since it was started."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


class Runner:
    """Compiles the bench's C programs into a directory of its own, and runs commands there."""

    def __init__(self, directory, source):
        self.directory = directory
        self.source = source
        self.cc = os.environ.get("CC") or "cc"
        self.compiled = {}

    def path(self, name):
        return os.path.join(self.directory, name)

    def compile(self, name, *more):
        """The path of program `name`, made of its C file and `more` (files and options). Raises Skip."""
        if name not in self.compiled:
            sources = [os.path.join(self.source, word) if word.endswith(".c") else word
                       for word in (name + ".c",) + more]
            try:
                call(self.cc.split() + ["-std=gnu17", "-D_GNU_SOURCE", "-O2", "-pthread", "-o", self.path(name)] +
                     sources, timeout_s=60)
                self.compiled[name] = self.path(name)
            except Skip as err:
                self.compiled[name] = err
        if isinstance(self.compiled[name], Skip):
            raise Skip("%s.c does not compile here (%s)" % (name, self.compiled[name]))
        return self.compiled[name]

    def run(self, argv, timeout_s):
        """Run a command; its standard output and its cost. Raises Broken."""
        report = self.path("usage")
        busy = busy_s()
        out = self._spawn([self.compile("measure"), report] + argv, argv, timeout_s)
        with open(report, encoding="ascii") as file:
            words = file.read().split()
        usage = Usage(*map(float, words[:3]), *map(int, words[3:]))
        spent = busy_s() - busy - usage.cpu_s
        usage.others = max(spent, 0) / max(usage.wall_s * os.cpu_count(), 1e-3)
        return out, usage

    def count_syscalls(self, argv, timeout_s):
        """System calls of a command and all its threads, as strace counts them. Raises Broken."""
        report = self.path("strace")
        self._spawn(["strace", "-f", "-c", "-o", report] + argv, argv, timeout_s)
        with open(report, encoding="utf-8", errors="replace") as file:
            for line in file:
                words = line.split()
                if words and words[-1] == "total":
                    return int(words[3])
        raise Broken("strace counted nothing")

    def count_instructions(self, argv, timeout_s):
        """User-space instructions of a command and all its threads. Raises Broken, and Skip where nothing counts them."""
        report = self.path("instructions")
        if have("valgrind"):
            counter, pattern = ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + os.devnull,
                                "--log-file=" + report], r"Collected : (\d+)"
        elif have("perf"):
            counter, pattern = ["perf", "stat", "-x,", "-e", "instructions:u", "-o", report], r"^(\d+),.*instructions:u"
        else:
            raise Skip("neither valgrind nor perf is installed")
        self._spawn(counter + argv, argv, timeout_s)
        with open(report, encoding="utf-8", errors="replace") as file:
            found = re.search(pattern, file.read(), re.M)
        if not found:
            raise Skip("%s counts no instructions here" % counter[0])
        return int(found.group(1))

    def _spawn(self, argv, shown, timeout_s):
        """Run it in a process group of its own, which is killed when this is interrupted or takes too long."""
        out_name, err_name = self.path("stdout"), self.path("stderr")
        with open(out_name, "wb") as out, open(err_name, "wb") as err:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=self.directory,
                                     start_new_session=True)
            try:
                status = child.wait(timeout_s)
            except subprocess.TimeoutExpired:
                raise Broken("still running after %d s: %s" % (timeout_s, " ".join(shown))) from None
            finally:
                if child.poll() is None:
                    os.killpg(child.pid, signal.SIGKILL)
                    child.wait()
        if status:
            with open(err_name, encoding="utf-8", errors="replace") as file:
                raise Broken("status %d (%s): %s" % (status, last_line(file.read()), " ".join(shown)))
        with open(out_name, encoding="utf-8", errors="replace") as file:
            return file.read()


def have(program):
    return shutil.which(program) is not None
