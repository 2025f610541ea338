#!/usr/bin/env python3
"""
The command line of xdd multi: hosts, files of hosts, launchers (with scripts in their places), -dryrun, -out, the display, and
what is refused before anything is started.
"""
import os
import pty
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import xddmulti as multi
import xddssh
import xddtest as t

HERE = os.path.dirname(os.path.abspath(t.XDD))
SHORT = "-op noop -targets 1 null -reqsize 1 -numreqs 64".split()
PACED = "-op noop -targets 1 null -reqsize 1 -numreqs 400 -operationdelay 0.01".split()
SCRIPT = os.path.join(xddssh.TOP, "contrib", "xdd-multi")


def dry(*words, env=None):
    """The lines of -dryrun that are commands."""
    r = t.xdd("multi", "-dryrun", "-runid", "R", *words, env=env)
    return r, [line for line in r.out.splitlines() if not line.startswith("#")]


def test_hosts():
    path = t.path("hostfile")
    with open(path, "w", encoding="utf-8") as f:
        f.write("# the hosts of a run\n127.0.0.1\n\n  127.0.0.2 slots=2   # two\n127.0.0.3:1\n")
    for words, labels in (
            (["-hosts", "127.0.0.1"], ["127.0.0.1"]),
            (["-hosts", "127.0.0.1,127.0.0.2 127.0.0.3"], ["127.0.0.1", "127.0.0.2", "127.0.0.3"]),
            (["-hosts", "127.0.0.1:2,ann@127.0.0.2"], ["127.0.0.1.0", "127.0.0.1.1", "127.0.0.2"]),
            (["-hosts", "127.0.0.1,127.0.0.1"], ["127.0.0.1.0", "127.0.0.1.1"]),
            (["-n", "[::1]:2"], ["::1.0", "::1.1"]),
            (["-w", "::1"], ["::1"]),
            (["-hostfile", path], ["127.0.0.1", "127.0.0.2.1", "127.0.0.2.2", "127.0.0.3"]),
            (["-hosts", "localhost", "-N", path, "-slots", 2], ["localhost.0", "localhost.1", "127.0.0.1.2", "127.0.0.1.3",
                                                                "127.0.0.2.4", "127.0.0.2.5", "127.0.0.3"])):
        r, lines = dry(*words, "--", *SHORT)
        got = [line.rsplit(": ", 1)[1] for line in r.out.splitlines() if line.startswith("# rank")]
        t.ok(r.status == 0 and got == labels and len(lines) == len(labels), " ".join(map(str, words)), r)


def test_dryrun():
    r, lines = dry("-hosts", "127.0.0.1,ann@127.0.0.2", "-S", "ssh -p 22", "-b", "/opt/x dd/", "-startin", 3, "--", "-op", "read",
                   "-targets", 1, "/data/a b.%h.%r")
    wanted = ("ssh -p 22 -T -x -a -oClearAllForwardings=yes -oBatchMode=yes -- ann@127.0.0.2 'exec '\\''/opt/x dd/xdd'\\'' -op read "
              "-targets 1 '\\''/data/a b.127.0.0.2.1'\\'' -runid R -rank 1 -ranks 2 -timeserver host 127.0.0.1 -timeserver port PORT "
              "-starttime STARTTIME -jsonout - -attached input'")
    t.equal(lines[1:], [wanted], "the exact command of a host", r)
    _, lines = dry("-hosts", "127.0.0.1", "-timeserver", "clock:3000", "-startin", 0, "--", *SHORT)
    t.ok("-timeserver host clock -timeserver port 3000 -jsonout" in lines[0], "a time server that is named, and no start time", lines)
    _, lines = dry("-hosts", "127.0.0.1", "-timeserver", "none", "--", *SHORT)
    t.ok("-timeserver" not in lines[0] and "-starttime STARTTIME" in lines[0], "no time server", lines)


def test_refused():
    fake = xddssh.Fake()
    base = ["-S", fake.ssh]
    cases = (
        ([], "expected the options of xdd after --"),
        (["-hosts", "a"], "expected the options of xdd after --"),
        (["--", *SHORT], "expected hosts"),
        (["-hosts", "", "--", *SHORT], "missing argument"),
        (["-hosts", "-oProxyCommand=id", "--", *SHORT], "must not begin with \"-\""),
        (["-hosts", "a,-b", "--", *SHORT], "multi -hosts -b: a name of a host must not begin with \"-\""),
        (["-hosts", "-l@a", "--", *SHORT], "a name of a user must not begin with \"-\""),
        (["-hosts", "a;id", "--", *SHORT], "characters of shells"),
        (["-hosts", "$(id)", "--", *SHORT], "characters of shells"),
        (["-hosts", "../x", "--", *SHORT], "is not the name of a host"),
        (["-hosts", "a:0", "--", *SHORT], "expected the number of ranks after the colon"),
        (["-hosts", "a:99999", "--", *SHORT], "expected the number of ranks after the colon"),
        (["-hosts", "a:x", "--", *SHORT], "expected the number of ranks after the colon"),
        (["-n", "4", "--", *SHORT], "-slots sets the number of ranks"),
        (["-hosts", "a:16384,b", "--", *SHORT], "16385 ranks: must be at most 16384"),
        (["-hosts", "a", "-slots", "0", "--", *SHORT], "multi -slots 0: expected a number from 1 to 16384"),
        (["-hosts", "a", "-launcher", "rsh", "--", *SHORT], "expected ssh, srun, mpirun or pdsh"),
        (["-hosts", "a", "-hostz", "b", "--", *SHORT], "did you mean -hosts"),
        (["-hostfile", t.path("none"), "--", *SHORT], "No such file"),
        (["-hosts", "127.0.0.1", "--", *SHORT, "-id", "%x"], "multi %x: \"%x\" is no placeholder"),
        (["-hosts", "127.0.0.1", "--", *SHORT, "-jsonout", "x"], "multi: -jsonout: is no option of a run on many hosts"),
        (["-hosts", "127.0.0.1", "--", *SHORT, "-rank", "0"], "multi: -rank: is no option"),
        (["-hosts", "127.0.0.1", "--", *SHORT, "-id", "a\nb"], "control characters"),
        (["-hosts", "127.0.0.1", "-timeserver", "h:0", "--", *SHORT], "multi -timeserver h:0: expected <host>"),
        (["-hosts", "127.0.0.1", "-timeserver", "-x", "--", *SHORT], "multi -timeserver -x: expected <host>"),
        (["-hosts", "127.0.0.1", "-jsonout", t.path("no/dir"), "--", *SHORT], "multi -jsonout"),
        (["-hosts", "127.0.0.1", "-out", "/dev/null", "--", *SHORT], "multi -out"),
        (["-hosts", "127.0.0.1", "-S", "'", "--", *SHORT], "a quote is not closed"),
        (["-hosts", "127.0.0.1", "-S", "/nonexistent/ssh", "--", *SHORT], "cannot find the program \"/nonexistent/ssh\""))
    for words, text in cases:
        r = t.xdd("multi", *([] if "-S" in words else base), *words)
        t.ok(r.status in (2, 3) and len(r.error_lines()) == 1 and text in r.err and r.out == "", "refused: %r" % (words[:4],), r)
    t.ok(not fake.started(), "nothing was started")


def launcher(name, skip, last="exec \"$@\""):
    """A directory with a script in the place of a launcher: it notes its words, and runs those after the first `skip`."""
    directory = t.path("bin." + name)
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\nprintf '%%s\\n' \"$*\" >>%s.calls\nshift %d\n%s\n" % (path, skip, last))
    os.chmod(path, 0o755)
    return directory


def calls(directory, name):
    with open(os.path.join(directory, name + ".calls"), encoding="utf-8") as f:
        return sorted(f.read().splitlines())


def test_launchers():
    for name, skip, last, begin in (("srun", 4, "exec \"$@\"", "--overlap --nodes=1 --ntasks=1 --nodelist=localhost "),
                                    ("mpirun", 4, "exec \"$@\"", "-np 1 --host localhost "),
                                    ("pdsh", 4, "exec sh -c \"$1\"", "-N -S -w localhost exec ")):
        directory = launcher(name, skip, last)
        out = t.path(name + ".json")
        env = dict(os.environ, PATH=directory + ":" + os.environ["PATH"])
        r = t.xdd("multi", "-launcher", name, "-hosts", "localhost:2", "-b", HERE, "-startin", 0, "-jsonout", out, "--", *SHORT, env=env,
                  tolerate=(r"warning: ",))
        began = calls(directory, name)
        t.ok(r.status == 0 and len(multi.load(out)["hosts"]) == 2 and len(began) == 2 and all(c.startswith(begin) for c in began),
             "-launcher %s" % name, (r, began))
        empty = t.path("empty")
        os.makedirs(empty, exist_ok=True)
        r = t.xdd("multi", "-launcher", name, "-hosts", "localhost", "--", *SHORT, env=dict(os.environ, PATH=empty))
        t.ok(r.status == 2 and "-launcher %s: cannot find the program \"%s\"" % (name, name) in r.err, "%s is missing" % name, r)
    r = t.xdd("multi", "-launcher", "mpirun", "-S", "sh", "-hosts", "ann@localhost", "--", *SHORT)
    t.ok(r.status == 2 and "leave out the user" in r.err, "a user with mpirun", r)


def test_slurm():
    directory = launcher("srun", 4)
    launcher("scontrol", 0)
    scontrol = os.path.join(directory, "scontrol")
    with open(scontrol, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n[ \"$*\" = 'show hostnames localhost,127.0.0.[1-2]' ] && printf 'localhost\\n127.0.0.1\\n127.0.0.2\\n'\n")
    os.chmod(scontrol, 0o755)
    out = t.path("slurm.json")
    env = dict(os.environ, PATH=directory + ":" + os.environ["PATH"], SLURM_JOB_NODELIST="localhost,127.0.0.[1-2]")
    r = t.xdd("multi", "-b", HERE, "-startin", 0, "-jsonout", out, "--", *SHORT, env=env, tolerate=(r"warning: ",))
    t.ok(r.status == 0 and len(multi.load(out)["hosts"]) == 3, "an allocation of Slurm: srun on its hosts", r)
    os.unlink(scontrol)
    r = t.xdd("multi", "--", *SHORT, env=env)
    t.ok(r.status == 2 and "scontrol" in r.err and "-hosts" in r.err, "without scontrol", r)


def test_out():
    fake = xddssh.Fake("echo noise from a login script >&2")
    directory = t.path("kept")
    r = t.xdd("multi", "-S", fake.ssh, "-hosts", "127.0.0.1,127.0.0.2:2", "-startin", 0, "-o", directory, "--", *SHORT,
              tolerate=(r"warning: ",))
    stems = ("127.0.0.1", "127.0.0.2.1", "127.0.0.2.2")
    t.equal((r.status, sorted(os.listdir(directory))), (0, sorted(s + e for s in stems for e in (".json", ".log"))),
            "documents and messages of each host", r)
    with open(os.path.join(directory, "127.0.0.1.log"), encoding="utf-8") as f:
        t.ok("noise from a login script" in f.read() and "127.0.0.1: noise from a login script" in r.err,
             "messages have the host's name before them", r)
    t.equal(multi.load(os.path.join(directory, "127.0.0.2.2.json"))["rank"], 2, "a document of one rank")


def test_noise():
    """Output that is none of xdd's."""
    fake = xddssh.Fake("echo hello")
    r = t.xdd("multi", "-S", fake.ssh, "-hosts", "127.0.0.1", "-startin", 0, "--", *SHORT)
    t.ok(r.status == 4 and "multi: 127.0.0.1: sent other output than results" in r.err and "no host has sent results" in r.err,
         "a login script that prints", r)
    fake = xddssh.Fake("printf '\\033[2Jevil\\n@xdd 1 broken\\n' >&2; head -c 100000 /dev/zero | tr '\\0' 'x' >&2; exit 1", name="evil")
    r = t.xdd("multi", "-S", fake.ssh, "-hosts", "127.0.0.1", "-startin", 0, "--", *SHORT)
    t.ok(r.status == 4 and "\033" not in r.err and "\\x1b[2Jevil" in r.err and "ended with status 1" in r.err,
         "control characters and endless lines", r.err[:300])


def test_script():
    env = dict(os.environ, PATH=HERE + ":" + os.environ["PATH"])
    r = t.command([SCRIPT, "-help"], env=env)
    t.ok(r.status == 0 and r.out.startswith("usage: xdd-multi -hosts"), "contrib/xdd-multi", r)


def commands(name):
    """Lines of a document that are a command."""
    with open(os.path.join(xddssh.TOP, name), encoding="utf-8") as f:
        lines = [line.strip().replace("\\-", "-").replace("\\(aq", "'") for line in f]
    return [line for line in lines if line.startswith("xdd-multi -") and line != "xdd-multi - one run of xdd on many hosts"]


def test_examples():
    """Every command of the documents is one: run by a script in the place of ssh, with a dry run of xdd."""
    directory = launcher("srun", 4)
    with open(t.path("hosts"), "w", encoding="utf-8") as f:
        f.write("127.0.0.1\n")
    env = dict(os.environ, PATH=directory + ":" + HERE + ":" + os.environ["PATH"])
    for name, n in (("doc/xdd-multi.1", 15), ("doc/user-guide.md", 2), ("doc/recipes.md", 2), ("README", 1)):
        found = commands(name)
        for line in found:
            line = re.sub(r"(?<![-\w])(node[1-3]|clock|a|b)(?=[,: ])", "localhost", line.replace(SCRIPT, ""))
            line = line.replace("xdd-multi", SCRIPT + " -dryrun -hosts localhost", 1)
            r = t.command(["sh", "-c", line], env=env, cwd=t.tmp())
            t.ok(r.status == 0 and "-attached input" in r.out, "%s: %s" % (name, line[len(SCRIPT):]), r)
        t.ok(len(found) >= n, "%s has its examples" % name, found)


def test_display():
    """One line for all hosts on a terminal, in place of theirs."""
    fake = xddssh.Fake()
    ours, theirs = pty.openpty()
    p = subprocess.Popen([t.XDD, "multi", "-S", fake.ssh, "-hosts", "127.0.0.1,127.0.0.2", "-startin", "0", "--", *PACED],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs, start_new_session=True)
    os.close(theirs)
    text = b""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            more = os.read(ours, 65536)
        except OSError:
            break
        if not more:
            break
        text += more
    os.close(ours)
    status = p.wait(60)
    t.ok(status == 0 and re.search(rb"2 running; pass 1 of 1, \d+ %, [\d.]+ [kMG]?B/s, [\d.]+ k?/s, \d+ s left", text) and
         b"@xdd" not in text, "the display", (status, text[-2000:]))


t.run(test_hosts, test_dryrun, test_refused, test_launchers, test_slurm, test_out, test_noise, test_script, test_examples, test_display)
t.done()
