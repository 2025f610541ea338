#!/usr/bin/env python3
"""
Signals and kill -9 for each process of a copy at random moments: no process stays, no wrong file has a final name, status 0
only if all is there, an orderly end leaves no temporary file, and the next copy, with -R or without, completes the first one
and removes what it left.

Copy n is a function of the seed (XDD_TEST_SEED) and n, except for the moment at which the signal arrives. XDD_TEST_LONG=1
makes many more of them.
"""
import collections
import filecmp
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import xddssh
import xddsys as s
import xddtest as t

SEED = int(os.environ.get("XDD_TEST_SEED", "1"))
LONG = bool(os.environ.get("XDD_TEST_LONG"))
LIMIT_S = 60
END_S = 20
TEMPORARY = ".xddcp-"

# Processes that get the signal. "group": what Ctrl-C in a terminal does.
VICTIMS = (("group", signal.SIGINT), ("initiator", signal.SIGTERM), ("initiator", signal.SIGHUP), ("initiator", signal.SIGKILL),
           ("ssh", signal.SIGKILL), ("server", signal.SIGKILL), ("server", signal.SIGTERM))

Case = collections.namedtuple("Case", "number form resume encrypt victim sig at")


def make_tree(root):
    """Small files in several directories, two large ones, links, and an empty directory."""
    r = random.Random(SEED)
    for d in range(6):
        os.makedirs(os.path.join(root, "d%d" % d, "deep"))
        for i in range(40):
            with open(os.path.join(root, "d%d" % d, "f%d" % i), "wb") as f:
                f.write(r.randbytes(r.choice((0, 10, 1000, 5000, 70000))))
    for i in range(2):
        with open(os.path.join(root, "d%d" % i, "deep", "large"), "wb") as f:
            f.write(r.randbytes(6 << 20) * (8 if LONG else 4))
    os.mkdir(os.path.join(root, "empty"))
    os.symlink("../d0/f1", os.path.join(root, "d1", "link"))
    os.link(os.path.join(root, "d2", "f2"), os.path.join(root, "d3", "hard"))


def files_below(root):
    """Relative names of all that is no directory."""
    return [os.path.relpath(os.path.join(base, name), root)
            for base, dirs, names in os.walk(root)
            for name in names + [d for d in dirs if os.path.islink(os.path.join(base, d))]]


def same(a, b):
    if os.path.islink(a) or os.path.islink(b):
        return os.path.islink(a) and os.path.islink(b) and os.readlink(a) == os.readlink(b)
    return filecmp.cmp(a, b, shallow=False)


def wrong_names(source, destination):
    """Final names at the destination whose contents are not those of the source."""
    return [name for name in files_below(destination) if not os.path.basename(name).startswith(TEMPORARY)
            and not (os.path.lexists(os.path.join(source, name)) and
                     same(os.path.join(source, name), os.path.join(destination, name)))]


def temporary_files(destination):
    return [name for name in files_below(destination) if os.path.basename(name).startswith(TEMPORARY)]


def is_complete(source, destination):
    return sorted(files_below(source)) == sorted(
        n for n in files_below(destination)) and not wrong_names(source, destination)


class Processes:
    """The processes of a copy, found by the path of xdd in their command lines."""

    def __init__(self, xdd):
        self.xdd = xdd.encode()

    def all(self):
        found = {}
        for pid in os.listdir("/proc"):
            if not pid.isdigit():
                continue
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as f:
                    words = f.read()
                if self.xdd not in words:
                    continue
                with open("/proc/%s/stat" % pid, "rb") as f:
                    state = f.read().rsplit(b")", 1)[1].split()[0]
            except OSError:
                continue
            if state not in b"ZX":
                found[int(pid)] = words
        return found

    def wait_none(self):
        end = time.monotonic() + END_S
        while self.all():
            if time.monotonic() > end:
                return self.all()
            time.sleep(0.005)
        return {}

    def victim(self, kind, initiator):
        """The process, or 0 while there is none."""
        for pid, words in self.all().items():
            words = words.rstrip(b"\0").split(b"\0")
            server = words[0] == self.xdd and words[-1] == b"-server"
            if (kind == "server" and server) or (kind == "ssh" and not server and pid != initiator):
                return pid
        return 0


class Rig:
    def __init__(self, ssh, place):
        self.ssh, self.place = ssh, place
        self.directory = tempfile.mkdtemp(prefix="xddcopy.", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else t.tmp())
        self.source = os.path.join(self.directory, "source")
        self.xdd = os.path.join(self.directory, "xdd")
        shutil.copy(t.XDD, self.xdd)
        make_tree(self.source)
        self.processes = Processes(self.xdd)
        self.seconds = {}

    def close(self):
        for pid in self.processes.all():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:  # it has ended by itself
                pass
        shutil.rmtree(self.directory, ignore_errors=True)

    def words(self, case, destination):
        source = self.source + "/"
        if case.form in ("pull", "relay"):
            source = self.place(source)
        if case.form in ("push", "relay"):
            destination = self.place(destination)
        flags = ["-R"] if case.resume else []
        flags += ["-e"] if case.encrypt else []
        return [self.xdd, "copy", "-S", self.ssh, "-b", self.xdd, "-r", *flags, source, destination]

    def start(self, case, destination):
        return subprocess.Popen(self.words(case, destination), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, start_new_session=True, text=True, errors="replace")

    def finish(self, process):
        try:
            return process.communicate(timeout=LIMIT_S)[0], process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.communicate()[0] + "\n(the copy did not end)", -999

    def whole(self, case, destination):
        """A copy without a signal: output, status, seconds."""
        began = time.monotonic()
        out, status = self.finish(self.start(case, destination))
        return out, status, time.monotonic() - began

    def duration(self, case):
        """How long a whole copy of this kind takes: the longest of two."""
        key = (case.form, case.encrypt, case.resume)
        if key not in self.seconds:
            destination = os.path.join(self.directory, "first")
            times = []
            for _ in range(2):
                out, status, seconds = self.whole(case, destination)
                if status or not is_complete(self.source, destination):
                    raise RuntimeError("a copy without signals: status %s\n%s" % (status, out))
                times.append(seconds)
                shutil.rmtree(destination)
            self.seconds[key] = min(times)
        return self.seconds[key]

    def hit(self, case, process):
        """Send the signal at its moment. True if the process was there."""
        time.sleep(case.at * self.duration(case))
        pid = process.pid
        if case.victim not in ("group", "initiator"):
            pid = self.processes.victim(case.victim, process.pid)
        if not pid or process.poll() is not None:
            return False
        try:
            if case.victim == "group":
                os.killpg(pid, case.sig)
            else:
                os.kill(pid, case.sig)
        except ProcessLookupError:
            return False
        return True

    def judge_first(self, case, destination, status, left):
        """Return what is wrong after a copy with a signal."""
        wrong = []
        if left:
            wrong.append("processes that stay: %s" % left)
        if status == -999:
            wrong.append("the copy does not end")
        names = wrong_names(self.source, destination)
        if names:
            wrong.append("wrong files with final names: %s" % names[:5])
        if status == 0 and not is_complete(self.source, destination):
            wrong.append("status 0, and not complete")
        orderly = case.sig != signal.SIGKILL or not self.killed_destination(case)
        if orderly and not case.resume and temporary_files(destination):
            wrong.append("temporary files: %s" % temporary_files(destination)[:5])
        return wrong

    def killed_destination(self, case):
        """True if the process that writes was killed."""
        return (case.victim, case.form) in (("server", "push"), ("initiator", "pull"), ("server", "relay"))

    def one(self, case):
        """A copy with a signal, and the next one. Returns whether it hit, and what is wrong."""
        destination = os.path.join(self.directory, "copy")
        self.duration(case)
        os.mkdir(destination)
        process = self.start(case, destination)
        hit = self.hit(case, process)
        out, status = self.finish(process)
        left = self.processes.wait_none()
        wrong = self.judge_first(case, destination, status, left)
        again, status, _ = self.whole(case, destination)
        if status or not is_complete(self.source, destination):
            wrong.append("the next copy: status %s, temporary %s\n%s" % (status, temporary_files(destination)[:5], again))
        if self.processes.wait_none():
            wrong.append("processes stay after the next copy")
        shutil.rmtree(destination)
        return hit, ["%s\n%s" % (w, out) for w in wrong]


def cases(n, victims, salt):
    for number in range(n):
        r = random.Random("%d %s %d" % (SEED, salt, number))
        victim, sig = victims[number % len(victims)]
        yield Case(number, r.choice(("push", "pull", "push", "pull", "relay")), r.random() < 0.5, r.random() < 0.2, victim, sig,
                   r.uniform(0, 1))


def run(rig, n, victims, what):
    """`n` copies; and as many more at most, where a busy machine made too many of them end before their signal."""
    hits = 0
    failed = []
    for case in cases(2 * n, victims, what):
        if case.number >= n and hits >= n // 2:
            break
        hit, wrong = rig.one(case)
        hits += hit
        if wrong:
            failed.append("%s\n%s" % (case, "\n".join(wrong)))
    t.ok(not failed, "%d copies with signals, %s" % (n, what), "\n".join(failed[:4]))
    t.ok(hits >= n // 2, "%d copies with signals, %s: most of them met a process" % (n, what), "%d of %d" % (hits, n))


def number_of(long, short):
    """Copies; half as many with sanitizers, where each takes several times as long."""
    return long if LONG else short // 2 if s.sanitized() else short


def main():
    fake = xddssh.Fake()
    rig = Rig(fake.ssh, fake.place)
    try:
        # There is no process between the local xdd and the server.
        run(rig, number_of(180, 42), [v for v in VICTIMS if v[0] != "ssh"], "without sshd")
    finally:
        rig.close()
    if xddssh.isolation():
        inside = xddssh.Fake(name="isolated", prefix=xddssh.isolation())
        rig = Rig(inside.ssh, inside.place)
        try:
            run(rig, number_of(60, 14), [v for v in VICTIMS if v[0] != "ssh"], "data through ssh")
        finally:
            rig.close()
    else:
        t.skip("copies with signals, data through ssh", "needs network namespaces")
    reason = xddssh.why_not()
    if reason:
        t.skip("copies with signals through sshd", reason)
    else:
        with xddssh.Sshd() as server:
            rig = Rig(server.ssh, server.place)
            try:
                run(rig, number_of(140, 14), VICTIMS, "through sshd")
            finally:
                rig.close()
    t.done()


main()
