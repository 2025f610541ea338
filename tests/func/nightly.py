#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
xdd-nightly: the first night, an unchanged, a slower and an accepted one, runs that fail or are disturbed, a full disk, two
at once, kills; and where it runs: from cron, without HOME, with a state that cannot be written, under another umask.
"""
import glob
import os
import re
import shlex
import signal
import subprocess

import xddjson as j
import xddsys as s
import xddtest as t

SCRIPT = os.path.join(os.environ["TOP_SRCDIR"], "contrib", "xdd-nightly")
RUN = ["-op", "read", "-target", "null", "-reqsize", "4k", "-numreqs", 1000, "-passes", 5]
FAST, SLOW = 1000, 700     # requests per second of the storage
CUT = ["-runtime", 3.5]    # the last pass has no time, which is a warning
NIGHT = re.compile(r"\d{8}T\d{6}Z(?:_\d+)?\.(\w+)\.json$")


class Series:
    """A series of nights with its own directory, and an xdd in PATH whose storage has a rate."""

    def __init__(self, name):
        self.where = t.path(name)
        self.state = os.path.join(self.where, "state")
        os.makedirs(os.path.join(self.where, "bin"))
        self.env = dict(os.environ, PATH=os.path.join(self.where, "bin") + ":" + os.environ["PATH"])
        self.storage()

    def storage(self, rate=FAST, before=""):
        """The xdd of the next nights: its runs are in virtual time, and requests arrive at this rate."""
        text = """#!/bin/sh
%s
[ "$1" != compare ] || exec %s "$@"
export %s
exec %s "$@" -throttle ops %d poisson
""" % (before, shlex.quote(t.XDD), " ".join("%s=%s" % (n, shlex.quote(v)) for n, v in t.clock_environment().items()),
            shlex.quote(t.XDD), rate)
        name = os.path.join(self.where, "bin", "xdd")
        with open(name + ".new", "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(name + ".new", 0o755)
        os.rename(name + ".new", name)

    def stop_clock(self):
        """All nights from now on have one time."""
        name = os.path.join(self.where, "bin", "date")
        with open(name, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\necho 20261129T033000Z\n")
        os.chmod(name, 0o755)

    def words(self, *options, run=None):
        return ["sh", SCRIPT, *map(str, options), "--", *map(str, run or RUN)]

    def night(self, *options, run=None, **kwargs):
        kwargs.setdefault("env", self.env)
        return t.command(self.words("-state", self.state, *options, run=run), cwd=self.where, **kwargs)

    def accept(self):
        return t.command(["sh", SCRIPT, "-state", self.state, "-accept"], cwd=self.where, env=self.env)

    def kinds(self, name="nightly"):
        """The kinds of the nights, oldest first."""
        names = sorted(os.listdir(os.path.join(self.state, name)))
        return [NIGHT.match(one).group(1) for one in names if one.endswith(".json")]


def silent(run, description):
    t.equal((run.status, run.out, run.err), (0, "", ""), description, run)


def test_nights():
    nights = Series("nights")
    silent(nights.night(), "the first night says nothing")
    silent(nights.night(), "an unchanged night says nothing")
    t.equal(nights.kinds(), ["good", "good"], "both are good")
    nights.storage(SLOW)
    run = nights.night()
    t.equal((run.status, run.err), (4, ""), "a slower night ends with 4", run)
    t.ok("changed since the last good night" in run.out and re.search(r"bandwidth .* -30\.\d %", run.out) and
         "-accept" in run.out, "... and prints the comparison and how to accept it", run.out)
    t.equal(nights.night().status, 4, "the next slow night says so again: it is compared with the last good one")
    nights.storage()
    silent(nights.night(), "a night as before says nothing")
    t.equal(nights.kinds(), ["good", "good", "changed", "changed", "good"], "what the nights have become")
    nights.storage(SLOW)
    t.equal(nights.night().status, 4, "slow again")
    silent(nights.accept(), "-accept")
    silent(nights.night(), "an accepted night is the last good one")
    nights.storage(FAST)
    silent(nights.night(), "a faster night exceeds no limit that it was not given")
    nights.storage(SLOW)
    run = nights.night()
    t.ok(run.status == 4 and "changed since the last good night" in run.out, "... and has become the last good one", run)
    for document in glob.glob(os.path.join(nights.state, "nightly", "*.json")):
        t.ok(not j.problems(j.load(document)), "the document of a night is one of a run", document)


def test_one_second():
    """Nights of one second have names in their order, also when the first ones have been removed."""
    nights = Series("second")
    nights.stop_clock()
    for n in range(12):
        silent(nights.night("-keep", 3), "night %d of one second" % (n + 1))
    names = sorted(name for name in os.listdir(os.path.join(nights.state, "nightly")) if name.endswith(".json"))
    t.equal(names, ["20261129T033000Z%s.good.json" % which for which in ("", "_011", "_012")],
            "... the first and the last ones stay")


def test_drift():
    """Each night is 4 % slower than the one before: within the limit of 10 % as compared with that, and not in the end."""
    nights = Series("drift")
    nights.stop_clock()
    silent(nights.night(), "a good night")
    for rate in (960, 922):
        nights.storage(rate)
        silent(nights.night("-keep", 2), "%d %% of the first rate" % (rate // 10))
    nights.storage(880)
    run = nights.night("-keep", 2)
    t.equal((run.status, run.err), (4, ""), "88 %: slow drift ends with 4", run)
    t.ok("changed since the first good night" in run.out and "within the limits since the last one" in run.out and
         re.search(r"bandwidth .* -1[12]\.\d %", run.out), "... and says since when", run.out)
    t.equal(nights.kinds(), ["good", "good", "changed"], "... -keep 2 keeps the first good night, and the last one")
    silent(nights.accept(), "-accept")
    t.equal(nights.kinds(), ["past", "past", "good"], "... ends comparisons with earlier nights")
    silent(nights.night(), "the next night is as the accepted one")
    nights.storage(845)
    silent(nights.night(), "4 % less than the accepted one")
    nights.storage(SLOW)
    run = nights.night()
    t.ok(run.status == 4 and "changed since the last good night" in run.out, "a step is told as one", run)


def test_keep():
    nights = Series("keep")
    silent(nights.night(), "a good night")
    nights.storage(SLOW)
    for _ in range(4):
        nights.night("-keep", 3)
    t.equal(nights.kinds(), ["good", "changed", "changed"], "-keep 3: the oldest are removed, the last good one is not")
    logs = glob.glob(os.path.join(nights.state, "nightly", "*.log"))
    t.equal(len(logs), 3, "... with their messages", logs)


def test_bad_runs():
    """Nights that failed or were disturbed never are the last good one."""
    nights = Series("bad")
    silent(nights.night(), "a good night")
    run = nights.night(run=["-op", "read", "-target", "missing"])
    t.equal((run.status, run.err), (6, ""), "a run that fails ends with 6", run)
    t.ok("the run failed with status 4" in run.out and "missing" in run.out, "... and says why", run.out)
    run = nights.night(run=RUN + CUT)
    t.equal((run.status, run.err), (6, ""), "a run with a warning ends with 6", run)
    t.ok("disturbed" in run.out and "only 4 were run" in run.out, "... and says which", run.out)
    t.equal(nights.kinds(), ["good", "failed", "disturbed"], "neither is good")
    silent(nights.night(), "the next night is compared with the good one")
    silent(nights.night("-expect", "other", "-expect", "were run before", run=RUN + CUT),
           "-expect: an expected warning is no disturbance")
    t.equal(nights.kinds(), ["good", "failed", "disturbed", "good", "good"], "... and the night is good")
    nights.storage(before="exit 7")
    run = nights.night()
    t.ok(run.status == 6 and "the run failed with status 7" in run.out and "No message of it was kept" in run.out,
         "a run without a message", run)
    nights.storage()
    run = nights.night(run=RUN[:-2] + ["-passes", 1])
    t.equal((run.status, nights.kinds()[-1]), (3, "changed"), "one pass cannot be compared: 3", run)
    with open(sorted(glob.glob(os.path.join(nights.state, "nightly", "*.good.json")))[-1], "w", encoding="utf-8") as f:
        f.write("{")
    run = nights.night()
    t.ok(run.status == 1 and "cannot compare" in run.err, "a damaged good document is named", run)
    silent(nights.accept(), "... and the night may replace it")
    silent(nights.night(), "... for the next one")


def test_words():
    nights = Series("words")
    for words, says in ((["-nosuch"], "is not an option"), (["-keep", "0"], "-keep 0: expected"), (["-name", "../x"], "-name ../x"),
                        (["-name", ""], "-name : expected"), (["-state"], "expected a value"), ([], "expected -- and")):
        run = t.command(["sh", SCRIPT, *words], env=nights.env)
        t.ok(run.status == 2 and says in run.err and run.err.count("\n") == 1 and not run.out, "refused: %s" % words, run)
    run = t.command(["sh", SCRIPT, "--help"])
    t.ok(run.status == 0 and run.out.startswith("usage: xdd-nightly") and not run.err, "--help", run)
    t.ok(all(len(line) < 80 for line in run.out.splitlines()), "... within 79 columns")
    run = nights.accept()
    t.ok(run.status == 1 and "no night to accept" in run.err, "-accept without a night", run)
    silent(nights.night("--name", "other", "--keep", "2"), "options may have two dashes")
    t.equal(nights.kinds("other"), ["good"], "-name: a series of its own")


def test_full_disk():
    """On a full file system the night before stays the last good one."""
    nights = Series("full")
    small = s.tmpfs("small", 1 << 20)
    if not small:
        t.skip("a full file system", s.sys_why())
        return
    nights.state = os.path.join(small, "state")
    silent(nights.night(), "a good night on a small file system")
    fill = os.path.join(small, "fill")
    t.command(["dd", "if=/dev/zero", "of=" + fill, "bs=4k"])
    run = nights.night()
    t.ok(run.status == 6 and "Room there" in run.out, "a full disk is told", run)
    os.unlink(fill)
    t.equal(nights.kinds(), ["good", "failed"], "no part of a document is good")
    silent(nights.night(), "with room again, the next night is compared")


def test_two_at_once():
    nights = Series("two")
    os.mkfifo(os.path.join(nights.where, "go"))
    nights.storage(before="[ \"$1\" = compare ] || read -r line <go")
    first = subprocess.Popen(nights.words("-state", nights.state), cwd=nights.where, env=nights.env, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
    with open(os.path.join(nights.where, "go"), "w", encoding="utf-8") as go:  # its xdd has begun
        run = nights.night()
        t.ok(run.status == 1 and "the run of another night is not over" in run.err, "a second one is refused", run)
        go.write("go\n")
    out = first.communicate(timeout=60)[0]
    t.equal((first.returncode, out), (0, b""), "the first one is not disturbed")
    t.equal(nights.kinds(), ["good"], "one night")


def test_signals():
    for name in ("HUP", "INT", "TERM", "KILL"):
        nights = Series("signal" + name)
        silent(nights.night(), "a good night")
        os.mkfifo(os.path.join(nights.where, "go"))
        # exec: the signal reaches xdd, as it does where no script stands for it.
        nights.storage(before="[ \"$1\" = compare ] || { echo $$ >pid; : >go; exec sleep 60; }")
        first = subprocess.Popen(nights.words("-state", nights.state), cwd=nights.where, env=nights.env,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        with open(os.path.join(nights.where, "go"), encoding="utf-8") as go:
            go.read()
        with open(os.path.join(nights.where, "pid"), encoding="utf-8") as f:
            child = int(f.read())
        first.send_signal(getattr(signal, "SIG" + name))
        if name == "KILL":
            first.wait(60)
            run = nights.night()
            t.ok(run.status == 1 and "not over" in run.err, "KILL: the lock lasts as long as the run", run)
            os.kill(child, signal.SIGKILL)
            t.until(lambda pid=child: s.has_ended(pid))
        out = first.communicate(timeout=60)[0].decode()
        if name != "KILL":
            t.equal((first.returncode, out.count("\n")), (5, 1), "SIG%s ends night and run, with a line" % name, out)
        t.ok(s.has_ended(child), "... no process stays")
        nights.storage()
        silent(nights.night(), "... the next night is compared with the good one")
        t.equal(nights.kinds(), ["good", "good"], "... and the interrupted one has left nothing", os.listdir(nights.state + "/nightly"))


def test_crossings():
    nights = Series("crossings")
    path = nights.env["PATH"]
    silent(nights.night(env={"PATH": path}), "env -i, with -state")
    home = os.path.join(nights.where, "home")
    words = nights.words()
    for env, where in (({"HOME": home}, home + "/.local/state/xdd-nightly"), ({"HOME": "/nosuch", "XDG_STATE_HOME": home + "/x"}, home + "/x/xdd-nightly"),
                       ({"STATE_DIRECTORY": home + "/unit"}, home + "/unit")):
        run = subprocess.run(["env", "-i", "PATH=" + path, *("%s=%s" % pair for pair in env.items()), *words], cwd=nights.where,
                             stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
        t.equal((run.returncode, run.stdout, run.stderr), (0, b"", b""), "the environment %s" % sorted(env), run)
        t.ok(glob.glob(where + "/nightly/*.good.json"), "... keeps its state in %s" % where.replace(home, "~"))
    run = subprocess.run(["env", "-i", "PATH=" + path, *words], cwd=nights.where, capture_output=True, check=False, timeout=60)
    t.ok(run.returncode == 2 and b"-state" in run.stderr, "no HOME: named, with the option that helps", run)
    run = subprocess.run(["sh", "-c", 'umask 777; exec "$@"', "sh", *nights.words("-name", "umask", "-state", nights.state)],
                         cwd=nights.where, env=nights.env, capture_output=True, check=False, timeout=60)
    t.equal((run.returncode, run.stdout, run.stderr), (0, b"", b""), "under another umask", run)
    modes = {oct(os.stat(one).st_mode & 0o777) for one in glob.glob(nights.state + "/umask/*")}
    t.equal(modes, {"0o644"}, "... files have the usual mode")
    nights.state = os.path.join(nights.where, "with 'blanks' and *")
    silent(nights.night(), "a state directory with blanks and quotes")
    silent(nights.night(), "... twice")
    nights.state = "relative"
    silent(nights.night(), "a relative state directory")


def test_read_only():
    nights = Series("readonly")
    os.makedirs(nights.state)
    words = nights.words("-state", nights.state)
    if os.geteuid() == 0:
        before = s.in_mounts("mount -t tmpfs -o ro none %s" % shlex.quote(nights.state))
        if not before:
            t.skip("a state that cannot be written", s.sys_why())
            return
        words = before + words
    else:
        os.chmod(nights.state, 0o500)
    run = t.command(words, cwd=nights.where, env=nights.env)
    t.ok(run.status == 1 and run.err.count("\n") == 1 and "name another one with -state" in run.err,
         "a state that cannot be written", run)


def test_units():
    """The units of systemd, as they are installed."""
    if not t.have("systemd-analyze"):
        t.skip("units", "systemd-analyze is not installed")
        return
    units = t.path("units")
    os.mkdir(units)
    names = [os.path.join(units, "xdd-nightly." + kind) for kind in ("service", "timer")]
    for name, suffix in zip(names, (".in", "")):
        with open(os.path.join(os.path.dirname(SCRIPT), os.path.basename(name) + suffix), encoding="utf-8") as f:
            text = f.read().replace("@bindir@", os.path.dirname(SCRIPT)).replace("@sysconfdir@", "/etc")
        with open(name, "w", encoding="utf-8") as f:
            f.write(text)
    run = t.command(["systemd-analyze", "verify", "--man=no", *names])
    t.equal((run.status, re.findall(r".*xdd-nightly.*", run.out + run.err)), (0, []), "systemd accepts the units", run)


t.virtual_time()
t.run_all()
