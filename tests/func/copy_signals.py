#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Signals and kill -9 for each process of a copy while one of its threads is held (doc/design.md, "Hold points"): no process
stays, no wrong file has a final name, status 0 only if all is there, an orderly end leaves no temporary file, and the next
copy, with -R or without, completes the first one and removes what it left.

Copy n is a function of the seed (XDD_TEST_SEED) and n. XDD_TEST_LONG=1 makes many more of them.
"""
import collections
import os
import random
import shutil
import signal
import subprocess
import tempfile

import xddhold
import xddprocesses
import xddssh
import xddsys
import xddtest as t

SEED = int(os.environ.get("XDD_TEST_SEED", "1"))
LONG = bool(os.environ.get("XDD_TEST_LONG"))
LIMIT_S = 60
TEMPORARY = ".xddcp-"

# Processes that get the signal. "group": what Ctrl-C in a terminal does.
VICTIMS = (("group", signal.SIGINT), ("initiator", signal.SIGTERM), ("initiator", signal.SIGHUP), ("initiator", signal.SIGKILL),
           ("ssh", signal.SIGKILL), ("server", signal.SIGKILL), ("server", signal.SIGTERM))

# The point, up to which number of arrivals, and whether it is the "process" of the user, or an "other" one.
Point = collections.namedtuple("Point", "name most who")
POINTS = (Point("signals ready", 1, "process"), Point("signals ready", 1, "other"), Point("journal created", 1, ""),
          Point("bundle sent", 2, ""), Point("block sent", 4, ""), Point("before rename", 200, ""), Point("after rename", 200, ""))
# Where one thread of a copy is held, the others go on, but they do not come to an end without this file.
KEEPS = "before rename:200"
# Only data connections have these.
POINTS_OF_CONNECTIONS = (Point("WELCOME sent", 1, ""), Point("WELCOME received", 1, ""))

Case = collections.namedtuple("Case", "number form resume encrypt victim sig point nth")


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
            f.write(r.randbytes(6 << 20) * (8 if LONG else 1))
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
    return xddssh.read(a) == xddssh.read(b)


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


class Rig:
    def __init__(self, ssh, place, prefix="", directory=None):
        self.ssh, self.place, self.prefix = ssh, place, prefix.split()
        self.directory = tempfile.mkdtemp(prefix="xddcopy.", dir=directory or t.tmp())
        self.source = os.path.join(self.directory, "source")
        self.xdd = os.path.join(self.directory, "xdd")
        shutil.copy(t.XDD, self.xdd)
        make_tree(self.source)
        self.processes = xddprocesses.Processes(self.xdd)

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
        return [*self.prefix, self.xdd, "copy", "-S", self.ssh, "-b", self.xdd, "-r", *flags, source, destination]

    def start(self, case, destination, env=None):
        return subprocess.Popen(self.words(case, destination), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, start_new_session=True, text=True, errors="replace", env=env)

    def finish(self, process):
        try:
            return process.communicate(timeout=LIMIT_S)[0], process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.communicate()[0] + "\n(the copy did not end)", -999

    def interrupt(self, case, destination):
        """A copy with a signal: output and status."""
        point = "%s:%d" % (case.point.name, case.nth)
        with xddhold.at(point, *([] if case.point.name == "before rename" else [KEEPS])) as h:
            process = self.start(case, destination, h.env)
            try:
                self.hit(case, process, h)
            except xddhold.Missed as e:
                process.kill()
                out, status = self.finish(process)
                return "%s\n%s" % (e, out), status, False
        return *self.finish(process), True

    def hit(self, case, process, h):
        """Send the signal while a process is held."""
        while True:
            held = h.arrived(t.TIMEOUT, process)
            if not held:
                raise xddhold.Missed("no process has reached " + case.point.name)
            if held.point != case.point.name:
                continue
            if case.point.who in ("", "process" if held.pid == process.pid else "other"):
                break
            held.go()
        if case.victim == "group":
            os.killpg(process.pid, case.sig)
        else:
            os.kill(self.processes.victim(case.victim, process.pid), case.sig)

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
        """A copy with a signal, and the next one. Returns what is wrong."""
        destination = os.path.join(self.directory, "copy")
        os.mkdir(destination)
        out, status, met = self.interrupt(case, destination)
        left = self.processes.wait_none()
        wrong = self.judge_first(case, destination, status, left)
        if not met:
            wrong.append("the copy does not come to its point")
        again, status = self.finish(self.start(case, destination))
        if status or not is_complete(self.source, destination):
            wrong.append("the next copy: status %s, temporary %s\n%s" % (status, temporary_files(destination)[:5], again))
        if self.processes.wait_none():
            wrong.append("processes stay after the next copy")
        shutil.rmtree(destination)
        return ["%s\n%s" % (w, out) for w in wrong]


def cases(n, victims, points, what):
    """Each victim at each point, in an order of the seed; then each again."""
    # A server that receives the signal is there once it is held itself.
    pairs = [(v, p) for v in victims for p in points if p.who != "process" or v[0] in ("group", "initiator")]
    random.Random("%d %s" % (SEED, what)).shuffle(pairs)
    for number in range(n):
        r = random.Random("%d %s %d" % (SEED, what, number))
        (victim, sig), point = pairs[number % len(pairs)]
        yield Case(number, r.choice(("push", "pull", "push", "pull", "relay")), r.random() < 0.5, r.random() < 0.2, victim, sig,
                   point, r.randint(1, point.most))


def run(rig, n, victims, points, what):
    failed = []
    for case in cases(n, victims, points, what):
        wrong = rig.one(case)
        if wrong:
            failed.append("%s\n%s" % (case, "\n".join(wrong)))
    t.ok(not failed, "%d copies with signals, %s" % (n, what), "\n".join(failed[:4]))


def with_rig(n, victims, points, what, *args, **kwargs):
    rig = Rig(*args, **kwargs)
    try:
        run(rig, n, victims, points, what)
    finally:
        rig.close()


# There is no process between the local xdd and the server.
WITHOUT_SSH = [v for v in VICTIMS if v[0] != "ssh"]


def test_without_sshd():
    fake = xddssh.Fake()
    # Files have no temporary names in memory, and names that a flush makes durable elsewhere.
    with_rig(360 if LONG else 46, WITHOUT_SSH, POINTS + POINTS_OF_CONNECTIONS, "without sshd", fake.ssh, fake.place,
             directory=xddsys.MEMORY)


def test_through_ssh():
    if not xddssh.isolation():
        t.skip("copies with signals, data through ssh", "needs network namespaces")
        return
    inside = xddssh.Fake(name="isolated", prefix=xddssh.isolation())
    # Both sides, as other tests may listen here.
    with_rig(120 if LONG else 14, WITHOUT_SSH, POINTS, "data through ssh", inside.ssh, inside.place, xddssh.isolation())


def test_through_sshd():
    reason = xddssh.why_not()
    if reason:
        t.skip("copies with signals through sshd", reason)
        return
    with xddssh.Sshd() as server:
        with_rig(280 if LONG else 14, VICTIMS, POINTS + POINTS_OF_CONNECTIONS, "through sshd", server.ssh, server.place)


t.run_together(test_without_sshd, test_through_ssh, test_through_sshd)
t.done()
