#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Outputs: what is never written to, pipes and their readers, and the name of standard output.
"""
import os
import shutil
import socket
import stat
import subprocess

import messages as m
import xddhold
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
    words = [t.XDD] + "-op noop -targets 1 null -numreqs 1 -passes 100000 -passdelay 1 -verbose -ts append output".split()
    with xddhold.at("pass ended:1") as h, subprocess.Popen(words + [t.path("late")], stdin=subprocess.DEVNULL,
                                                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                                           env=h.env) as p:
        try:
            h.wait(p)
            os.symlink(device, name)
            p.terminate()
            h.go()
            err = p.communicate(timeout=t.TIMEOUT)[1]
        finally:
            p.kill()
    with open(device, "rb") as f:
        t.ok("-ts output %s: is a block device" % name in err and not any(f.read(MIB)), "a name that changes", err)


# Before the call with the number `CALL` of those that look at the name, it becomes a link to a device.
CHANGES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int calls;

static void look(const char *path)
{
	if (strcmp(path, getenv("NAME")) == 0 && ++calls == atoi(getenv("CALL")))
		renameat(-100, getenv("LINK"), -100, path);
}

#define NEXT(name) (((__typeof__(name) *)dlsym(RTLD_NEXT, #name)))

int stat(const char *path, struct stat *st) { look(path); return NEXT(stat)(path, st); }
int lstat(const char *path, struct stat *st) { look(path); return NEXT(lstat)(path, st); }
int stat64(const char *path, struct stat64 *st) { look(path); return NEXT(stat64)(path, st); }
int lstat64(const char *path, struct stat64 *st) { look(path); return NEXT(lstat64)(path, st); }
int rename(const char *from, const char *to) { look(to); return NEXT(rename)(from, to); }

ssize_t readlink(const char *path, char *to, size_t size)
{
	look(path);
	return NEXT(readlink)(path, to, size);
}

ssize_t __readlink_chk(const char *path, char *to, size_t size, size_t room)
{
	return readlink(path, to, size < room ? size : room);
}
"""


def test_changed_between_calls():
    """A file that becomes a link to a device between any two looks of xdd at it: the device's node stays in its place."""
    device, text = s.loop_device(s.sparse_file("between.img", MIB)), "a name that changes between two looks at it"
    env = device and s.preload("changes", CHANGES)
    if not env:
        return t.skip(text, s.sys_why() if device is None else "no C compiler")
    node, name, link, job = t.path("node"), t.path("turned"), t.path("turned.link"), t.path("job.fio")
    os.mknod(node, 0o600 | stat.S_IFBLK, os.stat(device).st_rdev)
    with open(job, "w") as f:
        f.write("[a]\nrw=read\nsize=1m\nfilename=%s\n" % t.path("f"))
    for words in (["tsread", "-c", "-o", name, dumped()], ["fio", job, "-o", name], RUN + ["-jsonout", name]):
        title = "%s: %s" % (words[0], text)
        for call in range(1, 40):
            with open(name, "w"):
                pass
            if not os.path.lexists(link):
                os.symlink(node, link)
            run = t.command([t.XDD] + words, env=dict(env, NAME=name, LINK=link, CALL=str(call)))
            kept, changed = stat.S_ISBLK(os.lstat(node).st_mode), not os.path.lexists(link)
            if not kept or not changed:
                break
            os.unlink(name)
        t.ok(kept and not changed and call > 4 and run.status == 0, title, (call, run))
        if not kept:
            os.unlink(node)
            os.mknod(node, 0o600 | stat.S_IFBLK, os.stat(device).st_rdev)
    return None


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
        os.unlink(path)
        reader = t.make_pipe(path)
        run = t.xdd(*words, *["-maxpri"] * (option == "-errout"), timeout=20)
        got = t.drain(reader)
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


def test_inputs():
    """A file that the command reads is not replaced, whatever its name."""
    where = t.path("inputs")
    os.mkdir(where)
    texts = {"setup": "-op noop -targets 1 null -numreqs 1\n", "outer": "-setup setup\n",
             "list": "0 0 1 n\n", "L.T0.txt": "0 0 1 n\n", "pattern": "abc", "targets": "null\n"}
    for name, text in texts.items():
        with open(os.path.join(where, name), "w", encoding="utf-8") as f:
            f.write(text)
        os.link(os.path.join(where, name), os.path.join(where, name + "-hard"))
        os.symlink(name, os.path.join(where, name + "-link"))
    noop = "-op noop -numreqs 1 -targets "
    for option, words, file in (("-setup", "-setup setup", "setup"), ("-setup", "-setup outer", "setup"),
                                ("-seek load", "-targets 1 null -seek load list", "list"),
                                ("-seek load", "-targets 1 null -seek load L", "L.T0.txt"),
                                ("-datapattern file", noop + "1 null -datapattern file pattern", "pattern"),
                                ("a list of -targets", noop + "@targets", "targets")):
        for output in FILES:
            for alias in ("", "-hard", "-link"):
                run = t.xdd(*words.split(), *output.split(), file + alias, cwd=where)
                t.ok(refused(run, 2, output.split()[0], m.reads_file(option)), "%s and the file of %s%s" %
                     (output, words, alias), run)
    # Names that the option makes; standard streams, which the shell has opened.
    os.symlink("setup", os.path.join(where, "p.target.0000.csv"))
    run = t.xdd("-setup", "setup", "-ts", "output", "p", cwd=where)
    t.ok(refused(run, 2, "-ts output", m.reads_file("-setup")), "-ts output and the setup file", run)
    run = t.xdd("-targets", 1, "null", "-seek", "load", "L", "-seek", "save", "L", cwd=where)
    t.ok(refused(run, 2, "-seek save", m.reads_file("-seek load")), "a list is not saved where it is loaded", run)
    with open(os.path.join(where, "setup"), "a", encoding="utf-8") as f:
        run = t.xdd("-setup", "setup", stdout=f, cwd=where)
    t.ok(refused(run, 2, "standard output", m.reads_file("-setup")), "standard output is the setup file", run)
    run = t.xdd("-op", "write", "-targets", 1, "pattern", "-numreqs", 1, "-datapattern", "file", "pattern-link", cwd=where)
    t.ok(refused(run, 2, "pattern", "-datapattern file reads this file"), "a pattern is not written over", run)
    for words in ("sweep -setup setup -queuedepth 1,2 -rounds 1 -jsonout setup", "sweep -setup setup -queuedepth 1,2 -journal setup-link",
                  "sweep -setup setup -queuedepth 1,2 -csvout setup-hard"):
        run = t.xdd(*words.split(), cwd=where)
        t.ok(refused(run, 2, words.split()[-2], m.reads_file("-setup")), words, run)
    # One run of a command reads what another writes.
    with open(os.path.join(where, "runs"), "w", encoding="utf-8") as f:
        f.write("-targets 1 null -numreqs 1\n[a]\n-op noop -jsonout pattern\n[b]\n-op noop -datapattern file pattern\n")
    run = t.xdd("-setup", "runs", cwd=where)
    t.ok(refused(run, 2, "-jsonout", m.reads_file("-datapattern file")), "one section and the pattern of another", run)
    for name, text in texts.items():
        with open(os.path.join(where, name), encoding="utf-8") as f:
            t.equal(f.read(), text, "%s is as it was" % name)
    t.equal(sorted(os.listdir(where)), sorted([n + e for n in texts for e in ("", "-hard", "-link")] + ["p.target.0000.csv", "runs"]),
            "and nothing was created")


def test_commands():
    """The same of other commands."""
    doc, job, hosts = t.path("in.json"), t.path("job.fio"), t.path("hosts")
    t.xdd(*RUN, "-jsonout", doc)
    for path, text in ((job, "[j]\nrw=read\nsize=1M\nfilename=f\n"), (hosts, "localhost\n")):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    before = {}
    for path in (doc, job, hosts):
        os.link(path, path + "-hard")
        with open(path, "rb") as f:
            before[path] = f.read()
    for words, why in ((["combine", doc, "-jsonout", doc + "-hard"], "is a document to read"),
                       (["combine", doc, "-csvout", doc + "-hard"], "is a document to read"),
                       (["combine", doc, "-jsonout", t.path("new"), "-csvout", t.path("new")], m.file_of("-jsonout")),
                       (["report", doc, "-noplots", "-o", doc + "-hard"], "is a document to read"),
                       (["fio", job, "-o", job + "-hard"], "is the file of -o"),
                       (["multi", "-hostfile", hosts, "-jsonout", hosts + "-hard", "--", *RUN], "is the file of -hostfile")):
        run = t.xdd(*words)
        t.ok(run.status == 2 and len(run.error_lines()) == 1 and why in run.err, " ".join(words[:3:2]) + ": " + why, run)
    for path, data in before.items():
        with open(path, "rb") as f:
            t.equal(f.read(), data, "%s is as it was" % os.path.basename(path))
    t.ok(not os.path.exists(t.path("new")), "no file of two outputs")


t.run(test_inputs, test_commands, test_devices, test_changed_name, test_changed_between_calls, test_sockets, test_pipes, test_dash,
      test_errout, test_targets)
shutil.rmtree(t.path("empty"), ignore_errors=True)
t.done()
