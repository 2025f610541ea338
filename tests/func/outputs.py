#!/usr/bin/env python3
"""
Outputs: what is never written to, pipes and their readers, and the name of standard output.
"""
import os
import shutil
import socket
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import messages as m
import xddsys as s
import xddtest as t

MIB = 1 << 20
RUN = "-op noop -targets 1 null -numreqs 1".split()
FILES = ("-output", "-csvout", "-combinedout", "-jsonout", "-errout", "-latency output", "-intervals output")
# Options whose files have names of their own: the text after the prefix.
PREFIXES = {"-seek save": ".T0.txt", "-ts dump": ".target.0000.bin", "-ts output": ".target.0000.csv",
            "-ts append output": ".target.0000.csv", "-heartbeat ops output": ".T0000.csv"}


def names():
    """(title, words, where the output is to be) for each output of a run."""
    for number, option in enumerate(FILES):
        path = t.path("out%d" % number)
        yield option, RUN + option.split() + [path], path
    for number, (option, suffix) in enumerate(PREFIXES.items()):
        path = t.path("prefix%d" % number)
        yield option, RUN + option.split() + [path], path + suffix


def dumped():
    """A dump for xdd tsread."""
    t.xdd(*RUN, "-ts", "dump", t.path("d"))
    return t.path("d.target.0000.bin")


def refused(run, status, option, why):
    return (run.status == status and len(run.error_lines()) == 1 and option in run.err and why in run.err and
            "COMBINED" not in run.out)


def test_devices():
    """Neither by its name nor by a link is a byte of a block device replaced."""
    image = s.sparse_file("disk.img", MIB)
    device = s.loop_device(image)
    if device is None:
        return t.skip("outputs onto a block device", s.sys_why())
    for option, words, path in names():
        os.symlink(device, path)
        run = t.xdd(*words)
        t.ok(refused(run, 2, option.split()[0], "is a block device"), "%s: no block device" % option, run)
        t.ok(refused(t.xdd(*words, "-dryrun"), 2, option.split()[0], "is a block device"), "%s: -dryrun says so" % option)
        os.unlink(path)
    for option in FILES:
        run = t.xdd(*RUN, *option.split(), device)
        t.ok(refused(run, 2, "%s %s:" % (option, device), "is a block device"), "%s: the device itself" % option, run)
    run = t.command([t.XDD, "tsread", "-c", "-o", device, dumped()])
    t.ok(refused(run, 2, "tsread -o", "is a block device"), "tsread -o: no block device", run)
    subprocess.run(["blockdev", "--flushbufs", device], check=False)
    with open(device, "rb") as f:
        t.ok(not any(f.read(MIB)), "nothing was written to the device")


def test_changed_name():
    """A name that leads to a device only once the run has begun: the dump is written at its end."""
    device = s.loop_device(s.sparse_file("late.img", MIB))
    if device is None:
        return t.skip("a name that changes", s.sys_why())
    name = t.path("late.target.0000.csv")
    words = [t.XDD] + "-op noop -targets 1 null -numreqs 1 -passes 100000 -passdelay 1 -ts append output".split()
    with subprocess.Popen(words + [t.path("late")], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as p:
        try:
            s.settle(p, 0.3)
            os.symlink(device, name)
            p.terminate()
            err = p.communicate(timeout=t.TIMEOUT)[1]
        finally:
            p.kill()
    with open(device, "rb") as f:
        t.ok("-ts output %s: is a block device" % name in err and not any(f.read(MIB)), "a name that changes", err)


def test_sockets():
    path = t.path("socket")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        for option in FILES:
            run = t.xdd(*RUN, *option.split(), path)
            t.ok(refused(run, 2, "%s %s:" % (option, path), "is a socket"), "%s: no socket" % option, run)


def test_pipes():
    """A pipe without a reader is refused before the run; one with a reader gets all of it."""
    for option, words, path in names():
        os.mkfifo(path)
        target = t.path("new")
        run = t.xdd("-op", "write", "-targets", 1, target, "-reqsize", 1, "-numreqs", 1, *words[len(RUN):], timeout=20)
        t.ok(refused(run, 2, option.split()[0], "is a pipe that no process reads") and not os.path.exists(target),
             "%s: a pipe without a reader is refused before the run" % option, run)
        with subprocess.Popen(["cat", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as reader:
            try:
                run = t.xdd(*words, *["-maxpri"] * (option == "-errout"), timeout=20)
                got = reader.communicate(timeout=20)[0]
            except subprocess.TimeoutExpired:
                got = b""
            finally:
                reader.kill()
        t.ok(run.status == 0 and (got or option == "-errout") and stat.S_ISFIFO(os.stat(path).st_mode),
             "%s: a pipe with a reader gets the output" % option, run)
        os.unlink(path)
    os.mkfifo(t.path("pipe"))
    run = t.command([t.XDD, "tsread", "-o", t.path("pipe"), dumped()], timeout=20)
    t.equal((run.status, "is a pipe that no process reads" in run.err), (6, True),
            "tsread -o: a pipe without a reader", run)


def test_dash():
    """The name - is standard output."""
    empty = t.path("empty")
    os.mkdir(empty)
    dump = os.path.abspath(dumped())
    for option, wanted in (("-csvout", "WHAT,"), ("-combinedout", "WHAT,"), ("-output", "COMBINED"),
                           ("-latency output", "latency"), ("-jsonout", '"format"')):
        run = t.command([os.path.abspath(t.XDD)] + RUN + option.split() + ["-"], cwd=empty)
        t.ok(run.status == 0 and wanted.lower() in run.out.lower() and not os.listdir(empty), "%s - is standard output" % option, run)
    run = t.command([os.path.abspath(t.XDD)] + RUN + "-output /dev/null -csvout - -outputformat +WHAT+OPS".split(), cwd=empty)
    t.equal(run.out.splitlines(), ["WHAT,OPS", "COMBINED,1"], "-csvout -: CSV alone, with -output /dev/null")
    run = t.command([os.path.abspath(t.XDD), "tsread", "-c", "-o", "-", dump], cwd=empty)
    t.ok(run.status == 0 and len(run.out.splitlines()) == 2 and not os.listdir(empty), "tsread -o - is standard output", run)
    run = t.command([os.path.abspath(t.XDD)] + RUN + ["-errout", "-", "-debug", "io"], cwd=empty)
    t.ok(run.status == 0 and "DEBUG_IO" in run.out and not run.err and not os.listdir(empty), "-errout - is standard output", run)
    run = t.command([os.path.abspath(t.XDD)] + RUN + ["-jsonout", "-", "-csvout", "-"], cwd=empty)
    t.equal((run.status, "-csvout -: -jsonout - has standard output to itself" in run.err), (2, True),
            "-jsonout - has it alone", run)


def test_errout():
    """Everything that is said goes to the file, also before the run; a command line that is refused changes no file."""
    old, data, results = t.path("errout"), t.make_file("short", 40 << 10), t.path("results")
    read = ["-op", "read", "-reqsize", 4, "-numreqs", 20, "-timelimit", 60]
    missing = read + ["-targets", 2, t.path("missing"), data]

    def refill():
        for name in (old, results):
            with open(name, "w") as f:
                f.write("old\n")

    def lines(name):
        with open(name) as f:
            return f.read().splitlines()

    refill()
    run = t.xdd(*read, "-targets", 1, data, "-errout", old)
    t.ok(run.status == 6 and not run.err and "xdd: warning: target 0, %s: the operations reach to 80 KiB" % data in lines(old)[0] and
         "END-OF-FILE" in lines(old)[1], "-errout: a warning before the run is in the file", (lines(old), run))
    run = t.xdd(*missing, "-errout", old)
    t.ok(run.status == 4 and not run.err and lines(old) == ["xdd: target 0, %s: No such file or directory" % t.path("missing")],
         "-errout: why a target is refused is in the file", (lines(old), run))
    for what, words in (("a command line that is refused", read + ["-targets", 1, data, "-errout", old, "-queuedepth", 0]),
                        ("-dryrun", read + ["-targets", 1, data, "-errout", old, "-dryrun"]),
                        ("a target", missing + ["-errout", data]),
                        ("a target that is created", missing + ["-errout", t.path("missing")]),
                        ("another output", missing + ["-errout", results, "-output", results])):
        refill()
        before = os.stat(data)
        run = t.xdd(*words, warns=m.REACHES if what == "-dryrun" else ())
        t.ok(len(run.err.splitlines()) == 1 and lines(old) == lines(results) == ["old"] and not os.path.exists(t.path("missing")) and
             os.stat(data).st_mtime_ns == before.st_mtime_ns, "-errout, %s: the message is on standard error" % what, run)


def test_targets():
    """One file that is not there yet, by its own name and by a link to it, is not an output and a target at once."""
    directory = t.path("same")
    os.mkdir(directory)
    real, link = os.path.join(directory, "real"), os.path.join(directory, "link")
    os.symlink("real", link)
    write = "-op write -reqsize 4 -numreqs 4".split()
    for option in FILES:
        for target, output in ((link, real), (real, link)):
            run = t.xdd(*write, "-targets", 1, target, *option.split(), output)
            t.ok(refused(run, 2, option.split()[0], m.is_target(0)) and os.listdir(directory) == ["link"],
                 "%s and a target by way of a link to nothing" % option, run)
    os.symlink("p.target.0000.bin", link + "2")
    run = t.xdd(*write, "-targets", 1, link + "2", "-ts", "dump", os.path.join(directory, "p"))
    t.ok(refused(run, 2, "-ts", m.is_target(0)), "-ts dump and a target by way of a link to nothing", run)
    # Messages would be written into the target, wherever the results go.
    for words in ([], ["-output", t.path("same.out")], ["-errout", t.path("same.err")]):
        file = t.make_file("same.data", 65536)
        with open(file, "ab") as f:
            p = subprocess.run(t.xdd_words(*write, "-targets", 1, file, *words), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=f, timeout=t.TIMEOUT, check=False)
        with open(file, "rb") as f:
            f.seek(65536)
            said = f.read().decode(errors="replace")
        t.ok(p.returncode == 2 and said.startswith("xdd: standard error: " + m.is_target(0)),
             "standard error is the target %s" % words, (p.returncode, said))
    file = t.make_file("same.data", 65536)
    with open(file, "ab") as f:
        run = t.xdd(*write, "-targets", 1, file, "-output", "/dev/null", "-csvout", "/dev/stdout", stdout=f)
    t.ok(refused(run, 2, "-csvout /dev/stdout:", m.is_target(0)), "-csvout /dev/stdout is the target", run)
    with open(t.path("same.log"), "wb") as f:
        p = subprocess.run(t.xdd_words(*RUN), stdin=subprocess.DEVNULL, stdout=f, stderr=f, timeout=t.TIMEOUT, check=False)
    t.ok(p.returncode == 0, "standard output and standard error may be one file")


t.run(test_devices, test_changed_name, test_sockets, test_pipes, test_dash, test_errout, test_targets)
shutil.rmtree(t.path("empty"), ignore_errors=True)
t.done()
