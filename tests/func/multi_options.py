#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The command line of xdd multi: hosts, files of hosts, launchers (with scripts in their places), -dryrun, -out, the display, and
what is refused before anything is started.
"""
import json
import os
import pty
import re
import signal
import subprocess
import time

import messages as m
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
        f.write("# the hosts of a run\n127.0.0.1\n\n  127.0.0.2 slots=2 max_slots=4  # two\n127.0.0.3:1\n")
    with open(path + ".most", "w", encoding="utf-8") as f:
        f.write("127.0.0.1 max-slots=1 slots=3\n127.0.0.2 max_slots=2\n")
    for words, labels in (
            (["-hosts", "127.0.0.1"], ["127.0.0.1"]),
            (["-hosts", "127.0.0.1,127.0.0.2 127.0.0.3"], ["127.0.0.1", "127.0.0.2", "127.0.0.3"]),
            (["-hosts", "127.0.0.1:2,ann@127.0.0.2"], ["127.0.0.1.0", "127.0.0.1.1", "127.0.0.2"]),
            (["-hosts", "127.0.0.1,127.0.0.1"], ["127.0.0.1.0", "127.0.0.1.1"]),
            (["-n", "[::1]:2"], ["::1.0", "::1.1"]),
            (["-w", "::1"], ["::1"]),
            (["-hosts", "[fe80::1%eth0]:2,ann@fe80::2%en1"], ["fe80::1%eth0.0", "fe80::1%eth0.1", "fe80::2%en1"]),
            (["-N", path + ".most"], ["127.0.0.1", "127.0.0.2"]),
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
    for server, host, port in (("h:1", "h", 1), ("h:65535", "h", 65535), ("[::1]:3000", "::1", 3000), ("[::1]", "::1", 2000), ("::1", "::1", 2000),
                               ("h", "h", 2000)):
        _, lines = dry("-hosts", "127.0.0.1", "-timeserver", server, "-startin", 0, "--", *SHORT)
        t.ok("-timeserver host %s -timeserver port %d -jsonout" % (host, port) in lines[0].replace("'\\''", ""), "-timeserver " + server, lines)
    _, lines = dry("-hosts", "127.0.0.1", "-timeserver", "none", "--", *SHORT)
    t.ok("-timeserver" not in lines[0] and "-starttime STARTTIME" in lines[0], "no time server", lines)


def test_ranks_per_node():
    for hosts, more, wanted in (("localhost:2,127.0.0.1:2", [], "-rankspernode 2"), ("localhost:2,127.0.0.1", [], None),
                                ("localhost,localhost", [], None), ("localhost:4", ["-rankspernode", 2], "-rankspernode 2")):
        r, lines = dry("-hosts", hosts, "--", *SHORT, *more)
        t.ok(r.status == 0 and lines[0].count("-rankspernode") == (wanted is not None) and (wanted or "") in lines[0],
             "-rankspernode of %s %s: %s" % (hosts, more, wanted), r)


def test_refused():
    fake = xddssh.Fake()
    base = ["-S", fake.ssh]
    files = {"words": "a b\n", "list": "# x\n\na slots=2 b,c\n", "comma": "a,c\n", "none": "a slots=0\n"}
    for name, text in files.items():
        with open(t.path("hosts." + name), "w", encoding="utf-8") as f:
            f.write(text)
    cases = (
        *((["-hostfile", t.path("hosts." + name), "--", *SHORT],
           "multi -hostfile %s:%d: expected a host, or a host and slots=<#ranks>\n" % (t.path("hosts." + name), text.count("\n")))
          for name, text in files.items()),
        *((["-hosts", "a,::1", "-launcher", name, "--", *SHORT], "multi ::1: %s takes names of hosts, and no IPv6 address" % name)
          for name in ("mpirun", "pdsh")),
        (["-hosts", "a", "-remotexdd", "a\nb", "--", *SHORT], "multi -remotexdd: must not have control characters"),
        (["-hosts", "h" * 256, "--", *SHORT], "h: is too long"),
        (["-hosts", "u" * 256 + "@a", "--", *SHORT], "multi -hosts u"),
        (["-hosts", "127.0.0.1", "--", *SHORT, *["-verbose"] * 14600],
         "multi: the command for a host is longer than 128 KiB; use -setup with a file on the hosts"),
        ([], "expected the options of xdd after --"),
        (["-hosts", "a"], "expected the options of xdd after --"),
        (["--", *SHORT], "expected hosts"),
        (["-hosts", "", "--", *SHORT], "<host>,... cannot be empty"),
        (["-hosts", "--", *SHORT], "multi -hosts: missing argument <host>,..."),
        (["-hosts", "-oProxyCommand=id", "--", *SHORT], "must not begin with \"-\""),
        (["-hosts", "a,-b", "--", *SHORT], "multi -hosts -b: a name of a host must not begin with \"-\""),
        (["-hosts", "-l@a", "--", *SHORT], "a name of a user must not begin with \"-\""),
        (["-hosts", "a;id", "--", *SHORT], "characters of shells"),
        (["-hosts", "$(id)", "--", *SHORT], "characters of shells"),
        (["-hosts", "../x", "--", *SHORT], "is not the name of a host"),
        (["-hosts", "a:0", "--", *SHORT], "expected the number of ranks after the colon"),
        (["-hosts", "a:99999", "--", *SHORT], "expected the number of ranks after the colon"),
        (["-hosts", "a:x", "--", *SHORT], "expected the number of ranks after the colon"),
        (["-hosts", "h:2:3", "--", *SHORT], "multi -hosts h:2:3: expected one number of ranks after the host"),
        (["-hosts", "ann@h:2:3", "--", *SHORT], "expected one number of ranks after the host"),
        (["-hosts", "[h:2]:3", "--", *SHORT], "expected one number of ranks after the host"),
        (["-hosts", "127.0.0.1", "--", *SHORT, "-reqsise", "4"], "-reqsise: is not an option; did you mean -reqsize"),
        (["-hosts", "127.0.0.1", "--", *SHORT, "-queuedepth", "0"], "-queuedepth 0:"),
        (["-n", "4", "--", *SHORT], "-slots sets the number of ranks"),
        (["-hosts", "a:16384,b", "--", *SHORT], "16385 ranks: must be at most 16384"),
        *((["-hosts", "127.0.0.1", "-runid", text, "--", *SHORT],
           "multi -runid %s: expected 1 to 64 printable ASCII characters, without blanks\n" % text) for text in ("a b", "a" * 65)),
        (["-hosts", "a", "-slots", "0", "--", *SHORT], "multi -slots 0: expected a whole number, 1 to 16384"),
        (["-hosts", "a", "-launcher", "rsh", "--", *SHORT], "expected ssh, srun, mpirun or pdsh"),
        (["-hosts", "a", "-hostz", "b", "--", *SHORT], "did you mean -hosts"),
        (["-hosts", "a", "-op", "read", "-target", "f"], "multi -op: is an option of a run; say it after --"),
        *((["-hosts", "a", "-" + word, "1", "--", *SHORT], "multi: -%s: is no option of a run on many hosts; %s\n" % (word, say))
          for word, say in (("rank", "xdd multi sets it"), ("ranks", "xdd multi sets it"), ("attached", "xdd multi sets it"),
                            ("mpi", "use mpirun or srun without xdd multi"),
                            ("starttime", "give xdd multi -startin <seconds>, before --"))),
        (["-hostfile", t.path("none"), "--", *SHORT], "No such file"),
        (["-hosts", "127.0.0.1", "--", *SHORT, "-id", "%x"], "multi %x: \"%x\" is no placeholder"),
        (["-hosts", "127.0.0.1", "--", *SHORT, "-jsonout", "x"], "multi: -jsonout: is no option of a run on many hosts"),
        (["-hosts", "127.0.0.1", "--", *SHORT, "-rank", "0"], "multi: -rank: is no option"),
        (["-hosts", "127.0.0.1", "--", *SHORT, "-id", "a\nb"], "control characters"),
        (["-hosts", "127.0.0.1", "-timeserver", "h:0", "--", *SHORT], "multi -timeserver h:0: expected <host>"),
        *((["-hosts", "127.0.0.1", "-timeserver", server, "--", *SHORT], "multi -timeserver %s: expected <host>" % server)
          for server in ("-x", "h:65536", "h:x", "h:", ":3000", "[]:3000")),
        (["-hosts", "127.0.0.1", "-jsonout", t.path("no/dir"), "--", *SHORT], "multi -jsonout"),
        (["-hosts", "127.0.0.1", "-out", "/dev/null", "--", *SHORT], "multi -out /dev/null/127.0.0.1.log: Not a directory\n"),
        (["-hosts", "127.0.0.1", "-out", t.path("no/dir"), "--", *SHORT], "multi -out %s: No such file or directory\n" % t.path("no/dir")),
        (["-hosts", "127.0.0.1", "-S", "'", "--", *SHORT], "a quote is not closed"),
        (["-hosts", "127.0.0.1", "-S", "/nonexistent/ssh", "--", *SHORT], "cannot find the program \"/nonexistent/ssh\""))
    for words, text in cases:
        r = t.xdd("multi", *([] if "-S" in words else base), *words)
        t.ok(r.status in (2, 3) and len(r.error_lines()) == 1 and text in r.err and r.out == "", "refused: %.99r" % (words[:4],), r)
    r = t.xdd("multi", "-launcher", "ssh", *base, "--", *SHORT, env={"SLURM_JOB_NODELIST": "n[1-2]", "PATH": t.tmp()})
    t.equal((r.status, r.err), (2, "xdd: multi: SLURM_JOB_NODELIST n[1-2]: scontrol cannot expand it (it is not installed); give the hosts "
                                   "with -hosts\n"), "hosts of a Slurm job without scontrol", r)
    for words in (["-hosts", "%s@%s" % ("u" * 255, "h" * 255), "--", *SHORT], ["-hosts", "127.0.0.1", "--", *SHORT, *["-verbose"] * 14500]):
        t.equal(dry(*base, *words)[0].status, 0, "the longest: %.20s" % words[1])
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
                                    ("pdsh", 5, "exec sh -c \"$1\"", "-b -N -S -w localhost exec ")):
        directory = launcher(name, skip, last)
        out = t.path(name + ".json")
        env = dict(os.environ, PATH=directory + ":" + os.environ["PATH"])
        r = t.xdd("multi", "-launcher", name, "-hosts", "localhost:2", "-b", HERE, "-startin", 0, "-jsonout", out, "--", *SHORT, env=env)
        began = calls(directory, name)
        t.ok(r.status == 0 and len(multi.load(out)["hosts"]) == 2 and len(began) == 2 and all(c.startswith(begin) for c in began),
             "-launcher %s" % name, (r, began))
        empty = t.path("empty")
        os.makedirs(empty, exist_ok=True)
        r = t.xdd("multi", "-launcher", name, "-hosts", "localhost", "--", *SHORT, env=dict(os.environ, PATH=empty))
        t.ok(r.status == 2 and "-launcher %s: cannot find the program \"%s\"" % (name, name) in r.err, "%s is missing" % name, r)
    r = t.xdd("multi", "-launcher", "mpirun", "-S", "sh", "-hosts", "ann@localhost", "--", *SHORT)
    t.ok(r.status == 2 and "leave out the user" in r.err, "a user with mpirun", r)


def test_pdsh_ends():
    """One SIGINT ends pdsh; what a pdsh has started that is killed ends as well."""
    notes, pids = t.path("pdsh.notes"), t.path("pdsh.pids")
    directory = launcher("pdsh", 0, "sleep 1000 &\nchild=$!\ntrap 'echo INT >>%s; kill $child; exit 130' INT\n"
                         "echo $$ $child >>%s\nwait $child" % (notes, pids))

    def started():
        lines = []
        while len(lines) < 2:
            time.sleep(0.02)
            if os.path.exists(pids):
                with open(pids, encoding="utf-8") as f:
                    lines = [line.split() for line in f.read().splitlines()]
        return lines

    def gone(pid):
        return t.until(lambda: not os.path.exists("/proc/" + pid))

    for how, wanted in (("SIGINT", 5), ("kill -9 of one", 4)):
        with open(notes, "w", encoding="utf-8"), open(pids, "w", encoding="utf-8"):
            pass
        p = subprocess.Popen([t.XDD, "multi", "-launcher", "pdsh", "-hosts", "localhost:2", "-startin", "0", "-timeout",
                              "0" if how == "SIGINT" else "5", "--", *SHORT], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, env=dict(os.environ, PATH=directory + ":" + os.environ["PATH"]), start_new_session=True)
        (first, child), _ = started()
        if how == "SIGINT":
            p.send_signal(signal.SIGINT)
        else:
            os.kill(int(first), signal.SIGKILL)
            t.ok(gone(child), "%s: what it has started ends" % how)
        _, err = p.communicate(timeout=t.TIMEOUT)
        with open(notes, encoding="utf-8") as f:
            got = f.read()
        t.ok(p.returncode == wanted and got == "INT\n" * (2 if how == "SIGINT" else 1), "%s: pdsh gets SIGINT, once" % how,
             (p.returncode, got, err))
        t.ok(all(gone(pid) for pair in started() for pid in pair), "%s: no process stays" % how)


def test_documents():
    """A document that is wrong is left out, and the others are kept."""
    for change, why in (('s/"run_id": *"[^"]*"/"run_id":"other"/', "127.0.0.2: sent results of another run or rank"),
                        ('s/"rank": *1/"rank":0/', "127.0.0.2: sent results of another run or rank"),
                        ('s/"status": *0/"status":99/', "127.0.0.2: sent results that cannot be combined"),
                        ('/TARGET_PASS/s/"issued": *[0-9]*/"issued":-1/', "127.0.0.2: sent results that cannot be combined"),
                        ('s/^.*$/{/', "127.0.0.2: sent other output than results")):
        fake = multi.script("wrong-ssh", "for last; do :; done\nPATH=%s:$PATH\ncase \"$*\" in *127.0.0.2*) sh -c \"$last\" | sed '%s' ;;\n"
                            "*) exec sh -c \"$last\" ;;\nesac\n" % (HERE, change))
        out = t.path("documents.json")
        r = t.xdd("multi", "-S", fake, "-hosts", "127.0.0.1,127.0.0.2,127.0.0.3", "-startin", 0, "-jsonout", out, "--", *SHORT,
                  warns=[m.MULTI_MISSING % (2, 3)])
        doc = multi.load(out)
        t.equal((r.status, [h["label"] for h in doc["hosts"]], doc["together"]["missing"]),
                (4, ["127.0.0.1/0", "127.0.0.3/2"], ["rank 1 on 127.0.0.2"]), "a wrong document is left out: " + change, r)
        t.ok("multi: " + why in r.err and "missing, and not in the sums: rank 1 on 127.0.0.2" in r.out, "and named", r)


def test_statuses():
    """The exit status is that of the document: a host without results counts as 4, and a greater status stays."""
    out = t.path("statuses.json")
    for ended, wanted in ((1, 4), (2, 4), (3, 4), (6, 6), (0, 4)):
        fake = multi.script("ends-%d" % ended, "for last; do :; done\nPATH=%s:$PATH\ncase \"$*\" in *127.0.0.2*) sh -c \"$last\" >/dev/null; "
                            "exit %d ;;\n*) exec sh -c \"$last\" ;;\nesac\n" % (HERE, ended))
        words = ["multi", "-S", fake, "-hosts", "127.0.0.1,127.0.0.2", "-startin", 0, "-jsonout", out, "--", *SHORT]
        r = t.xdd(*words, warns=[m.MULTI_MISSING % (1, 2)])
        doc = multi.load(out)
        t.equal((r.status, doc["status"], doc["end"]), (wanted, wanted, "errors"), "a host ends with %d and without results" % ended, r)
    fake = xddssh.Fake()
    words[words.index("-S") + 1] = fake.ssh
    r = t.command(["sh", "-c", '"$@" >/dev/full', "sh", t.XDD, *[str(w) for w in words]])
    t.equal((r.status, multi.load(out)["status"]), (6, 6), "standard output is full", r)


# Commands of a host, and all lines that report its end.
ENDS = (
    (":", []),
    ("seq 7 >&2; exit 3", ["ended with status 3; its last messages:", "  3", "  4", "  5", "  6", "  7"]),
    ("exit 255", ["ssh cannot reach it, or is not let in"]),
    ("echo no xdd >&2; exit 127", ["cannot start \"xdd\" there; install xdd there, or give its path with -remotexdd; its last messages:", "  no xdd"]),
    ("exit 126", ["cannot start \"xdd\" there; install xdd there, or give its path with -remotexdd"]),
    ("kill -9 $$", ["ssh was ended by signal 9"]),
    ("printf 'one\\r\\n\\ntwo' >&2; exit 0", ["sent no results; its last messages:", "  one", "  two"]),
    ("for last; do :; done; PATH=%s:$PATH; sh -c \"$last\"; exit 6" % HERE, ["ended with status 6"]),
    ("printf '%065537d'; exec sleep 1000", ["sent other output than results, more than 64 KiB; login scripts must print less"]),
    ("printf '%065536d'", []))


def test_ends():
    """Each way in which a host can end, in one run: all reports, the files of -out and the document."""
    names = ["127.0.0.%d" % (i + 1) for i in range(len(ENDS))]
    fake = xddssh.Fake("case \"$*\" in %s esac" % " ".join("*\" %s exec\"*) %s ;;" % (name, does) for name, (does, _) in zip(names, ENDS)),
                       name="ends")
    out, directory = t.path("ends.json"), t.path("ends.out")
    r = t.xdd("multi", "-S", fake.ssh, "-hosts", ",".join(names), "-startin", 0, "-jsonout", out, "-out", directory, "--", *SHORT,
              warns=[m.MULTI_MISSING % (3, 10)])
    wanted = ["xdd: multi: %s: %s" % (name, line) for name, (_, lines) in zip(names, ENDS) for line in lines]
    wanted.append("xdd: warning: multi: there are results of 3 of 10 ranks")
    t.equal((r.status, [line for line in r.err.splitlines() if line.startswith("xdd: ")]), (6, wanted), "the reports about all hosts", r)
    doc = multi.load(out)
    sound = [0, 7, 9]
    t.equal((doc["status"], [h["label"] for h in doc["hosts"]], doc["together"]["missing"]),
            (6, ["%s/%d" % (names[i], i) for i in sound], ["rank %d on %s" % (i, names[i]) for i in range(10) if i not in sound]), "the document")
    logs = {}
    for name in sorted(os.listdir(directory)):
        with open(os.path.join(directory, name), encoding="utf-8") as f:
            logs[name] = f.read() if name.endswith(".log") else json.load(f)["rank"]
    t.equal(logs, {**{name + ".log": "" for name in names}, **{names[i] + ".json": i for i in sound}, "127.0.0.2.log": "1\n2\n3\n4\n5\n6\n7\n",
                   "127.0.0.4.log": "no xdd\n", "127.0.0.7.log": "one\ntwo\n"}, "the files of -out")
    t.equal(sorted(line for line in r.err.splitlines() if not line.startswith("xdd: ")),
            sorted(["127.0.0.2: %d" % i for i in range(1, 8)] + ["127.0.0.4: no xdd", "127.0.0.7: one", "127.0.0.7: two"]), "messages, with their hosts")


def test_late():
    """A host that is reached after the start is named, with what to do."""
    fake = xddssh.Fake("case \"$*\" in *\" 127.0.0.2 exec\"*) sleep 3;; esac", name="late")
    # The other one is in time on any machine, or late as well; the status is the same.
    r = t.xdd("multi", "-S", fake.ssh, "-hosts", "127.0.0.2,127.0.0.1", "-startin", 1, "--", *SHORT, warns=[m.MULTI_MISSING % (1, 2)],
              tolerate=m.MULTI_LATE)
    t.ok(r.status == 4 and "multi: 127.0.0.2: was reached after the start time; use a longer -startin; its last messages:" in r.err,
         "a host that is late", r)


def test_default_timeout():
    """Without -timeout. The clock of xdd multi goes on by 0.1 s at each reading; it reads it for each piece of the output."""
    if t.XDD_SANITIZERS == "thread":
        t.skip("the default of -timeout", "there is no virtual time")
        return
    fake = multi.script("endless-ssh", "exec yes >&2\n")
    r = t.command(["sh", "-c", '"$@" 2>&1 >/dev/null | grep multi:', "sh", "env", *("%s=%s" % v for v in t.clock_environment(step=10**8).items()),
                   t.XDD, "multi", "-S", fake, "-hosts", "127.0.0.1", "-startin", "0", "--", *SHORT])
    t.equal(re.findall("did not answer within .*? s", r.out), ["did not answer within 30 s"], "-timeout is 30 s", r)


def test_early():
    """Ctrl-C before a host has answered. A wait that does not wait would read the clock until 30 s are over."""
    fake = xddssh.Fake("exec sleep 1000", name="early")
    env = None if t.XDD_SANITIZERS == "thread" else dict(os.environ, **t.clock_environment(step=10**9))
    with multi.Started(None, "-S", fake.ssh, "-hosts", "127.0.0.1", "--", *SHORT, env=env) as started:
        t.until(fake.started, started.p)
        started.p.send_signal(signal.SIGINT)
        status, err = started.end()
    t.ok(status == 5 and "multi: 127.0.0.1: had not answered when the run was ended" in err and "ended by signal" not in err,
         "Ctrl-C before a host has answered", (status, err))


def test_names():
    """Hosts have the names that the user gave."""
    fake = xddssh.Fake()
    r = t.xdd("multi", "-S", fake.ssh, "-hosts", "127.0.0.1,127.0.0.2", "-startin", 0, "--", *SHORT)
    t.ok(r.out.startswith("2 hosts, ") and "\n127.0.0.1/0 " in r.out and "\n127.0.0.2/1 " in r.out, "two hosts, by name", r)
    r = t.xdd("multi", "-S", fake.ssh, "-hosts", "127.0.0.1:3,127.0.0.2", "-startin", 0, "--", *SHORT)
    t.ok(r.out.startswith("4 ranks on 2 hosts, "), "ranks of hosts", r)
    r = t.xdd("multi", "-S", fake.ssh, "-hosts", "127.0.0.1:2", "-startin", 0, "--", *SHORT)
    t.ok(r.out.startswith("2 ranks on 1 host, "), "ranks of one host", r)


def test_slurm():
    directory = launcher("srun", 4)
    launcher("scontrol", 0)
    scontrol = os.path.join(directory, "scontrol")
    with open(scontrol, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n[ \"$*\" = 'show hostnames localhost,127.0.0.[1-2]' ] && printf 'localhost\\n127.0.0.1\\n127.0.0.2\\n'\n")
    os.chmod(scontrol, 0o755)
    out = t.path("slurm.json")
    env = dict(os.environ, PATH=directory + ":" + os.environ["PATH"], SLURM_JOB_NODELIST="localhost,127.0.0.[1-2]")
    r = t.xdd("multi", "-b", HERE, "-startin", 0, "-jsonout", out, "--", *SHORT, env=env)
    t.ok(r.status == 0 and len(multi.load(out)["hosts"]) == 3, "an allocation of Slurm: srun on its hosts", r)
    os.unlink(scontrol)
    r = t.xdd("multi", "--", *SHORT, env=env)
    t.ok(r.status == 2 and "scontrol" in r.err and "-hosts" in r.err, "without scontrol", r)


def test_out():
    fake = xddssh.Fake("echo noise from a login script >&2")
    directory = t.path("kept")
    r = t.xdd("multi", "-S", fake.ssh, "-hosts", "127.0.0.1,127.0.0.2:2", "-startin", 0, "-o", directory, "--", *SHORT)
    stems = ("127.0.0.1", "127.0.0.2.1", "127.0.0.2.2")
    t.equal((r.status, sorted(os.listdir(directory))), (0, sorted(s + e for s in stems for e in (".json", ".log"))),
            "documents and messages of each host", r)
    with open(os.path.join(directory, "127.0.0.1.log"), encoding="utf-8") as f:
        t.ok("noise from a login script" in f.read() and "127.0.0.1: noise from a login script" in r.err,
             "messages have the host's name before them", r)
    t.equal(multi.load(os.path.join(directory, "127.0.0.2.2.json"))["rank"], 2, "a document of one rank")


def test_noise():
    """Output that is none of xdd's."""
    for title, printed in (("a line", "hello\\n"), ("no line end", "{ hello "), ("a brace", "{\\n"), ("a word", "a \"format\" {\\n"), ("zeros", "\\0{\\0\\n"),
                           ("60 kB", "%060000d\\n")):
        fake = xddssh.Fake("printf '%s'" % printed, name="prints")
        r = t.xdd("multi", "-S", fake.ssh, "-hosts", "127.0.0.1,127.0.0.2", "-startin", 0, "--", *SHORT)
        t.ok(r.status == 0 and r.out.startswith("2 hosts, "), "a login script that prints %s" % title, r)
    r = t.command(["sh", "-c", 'ulimit -n 20; exec "$@"', "sh", t.XDD, "multi", "-hosts", "127.0.0.1", "--", *SHORT])
    t.ok(r.status == 1 and re.search(r"multi: 1 ranks need \d+ open files, and the limit is 20 \(ulimit -n\)", r.err), "too few open files", r)
    fake = xddssh.Fake("printf hello; exit 0", name="prints-only")
    r = t.xdd("multi", "-S", fake.ssh, "-hosts", "127.0.0.1", "-startin", 0, "--", *SHORT)
    t.ok(r.status == 4 and "multi: 127.0.0.1: sent no results" in r.err and "no host has sent results" in r.err,
         "a host that prints nothing else", r)
    for name, what in (("stdout", "echo hello; exec cat /dev/zero"), ("stderr", "exec yes >&2")):
        fake = xddssh.Fake("case \"$*\" in *\" 127.0.0.1 exec\"*) %s;; esac" % what, name="noise-" + name)
        out = t.path("noise.json")
        # The lines of standard error are shown: yes(1) would fill this test's memory.
        r = t.command(["sh", "-c", '"$@" 2>&1 >/dev/null | grep multi:', "sh", t.XDD, "multi", "-S", fake.ssh,
                       "-hosts", "127.0.0.1,127.0.0.2", "-startin", "0", "-timeout", "5", "-jsonout", out, "--", *SHORT])
        doc = multi.load(out)
        wanted = "127.0.0.1: sent other output than results" if name == "stdout" else "127.0.0.1: did not answer within 5 s"
        t.ok(wanted in r.out and [h["label"] for h in doc["hosts"]] == ["127.0.0.2/1"], "endless output on %s is no sign of life" % name, r)
    fake = xddssh.Fake("printf '\\033[2Jevil\\r\\n@xdd 1 broken\\n' >&2; head -c 100000 /dev/zero | tr '\\0' 'x' >&2; exit 1", name="evil")
    r = t.xdd("multi", "-S", fake.ssh, "-hosts", "127.0.0.1", "-startin", 0, "--", *SHORT)
    t.ok(r.status == 4 and "\033" not in r.err and "\\x1b[2Jevil\n" in r.err and "ended with status 1" in r.err,
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


def shown(*words):
    """The status of a run on two hosts, and what it writes to a terminal."""
    fake = xddssh.Fake()
    ours, theirs = pty.openpty()
    p = subprocess.Popen([t.XDD, "multi", "-S", fake.ssh, "-hosts", "127.0.0.1,127.0.0.2", "-startin", "0", *words, "--", *PACED],
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
    return p.wait(60), text


def test_display():
    """One line for all hosts on a terminal, in place of theirs; none with -quiet."""
    status, text = shown()
    t.ok(status == 0 and re.search(rb"2 running; pass 1 of 1, \d+ %, [\d.]+ [kMG]?B/s, [\d.]+ k?/s, \d+ s left", text) and
         b"@xdd" not in text, "the display", (status, text[-2000:]))
    for word in ("-quiet", "-q"):
        status, text = shown(word)
        t.ok(status == 0 and b"running" not in text and b"@xdd" not in text, word + ": no display", (status, text[-2000:]))


t.run_together(test_hosts, test_dryrun, test_ranks_per_node, test_refused, test_launchers, test_pdsh_ends, test_documents,
               test_statuses, test_ends, test_late, test_default_timeout, test_early, test_names, test_slurm, test_out, test_noise, test_script, test_examples,
               test_display)
t.done()
