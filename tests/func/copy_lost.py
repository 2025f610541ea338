#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
A connection that is lost, and a side that does not answer any more: the copy ends with the cause and leaves nothing wrong, or is
tried again.
"""
import os
import re
import shutil
import signal
import subprocess
import time

import xddhold
import xddnet as net
import xddprocesses
import xddssh as s
import xddsys
import xddtest as t

SSH_ENDED = 109
ENV = {**os.environ, "PATH": os.path.dirname(os.path.abspath(t.XDD)) + ":" + os.environ["PATH"]}


SOURCE, ENDLESS = t.path("source"), t.path("endless")
for name, piece, mib in ((SOURCE, os.urandom(1 << 20), 48), (ENDLESS, b"e" * (1 << 20), 512)):
    with open(name, "wb") as new:
        for _ in range(mib):
            new.write(piece)


def same(name):
    """True: this copy has the data of the source."""
    with open(SOURCE, "rb") as f, open(t.path(name), "rb") as g:
        return f.read() == g.read()


def broken(times, *words):
    """
    Run xddcp, and kill the ssh of its first connections, which is the server as well, when that has begun to write. One that
    resumes a copy has its journal, and is killed when the file is complete.
    """
    with xddhold.at("journal created:1", "before rename:1") as h:
        run = net.Started([s.XDDCP, *words], env={xddhold.VARIABLE: h.value, "PATH": ENV["PATH"]})
        while True:
            held = h.arrived(t.TIMEOUT, run.process)
            if not held:
                return run.end()
            if times > 0:
                os.kill(held.pid, signal.SIGKILL)
            times -= 1
            held.go()


def test_retries():
    fake = s.Fake(name="broken")
    for options in (["-retries", "2"], ["-R", "-retries", "2"]):
        r = broken(2, "-S", fake.ssh, *options, SOURCE, fake.place(t.path("copy")))
        t.ok(r.status == 0 and same("copy"), "%s: the third attempt completes the copy" % " ".join(options), r)
        lines = [line for line in r.err.splitlines() if re.match("xdd: note: copy: fakehost: .*; attempt ", line)]
        t.equal([line.rsplit("; ", 1)[1] for line in lines], ["attempt 2 of 3 follows", "attempt 3 of 3 follows"],
                "%s: each loss is a line" % " ".join(options), r)
        os.unlink(t.path("copy"))
    # No attempt copies into a directory that the one before has made, and failures are told once.
    tree = s.fresh("tree")
    shutil.copyfile(SOURCE, os.path.join(tree, "file"))
    os.mkfifo(os.path.join(tree, "fifo"))
    r = broken(2, "-S", fake.ssh, "-r", "-retries", "2", tree, fake.place(t.path("new")))
    t.equal((r.status, os.listdir(t.path("new")), r.err.count("attempt "), r.err.count("fifo: ")), (114, ["file"], 2, 1),
            "-r to a new name: the last attempt completes what the first has begun", r)
    t.ok(re.search(r"^  failed: 1:?$", r.out, re.M), "and a failure of each attempt is one", r)
    with xddhold.at("before rename:1") as h:
        run = net.Started([t.XDD, "copy", "-S", fake.ssh, "-r", "-retries", "1", fake.place(tree), s.fresh("there")],
                          env={xddhold.VARIABLE: h.value})
        h.wait(run.process)
        server = server_of(run.process)
        if server:
            os.kill(server, signal.SIGKILL)
    r = run.end()
    t.equal((r.status, os.listdir(t.path("there")), r.err.count("attempt ")), (114, ["tree"], 1),
            "-r from another host to a directory that was there: the last attempt copies into it, too", r)
    r = broken(3, "-S", fake.ssh, "-retries", "1", SOURCE, fake.place(t.path("lost")))
    t.ok(r.status == SSH_ENDED and "the connection was lost" in r.err and r.err.count("attempt ") == 1 and
         not os.path.exists(t.path("lost")), "no more attempts than these", r)


def server_of(process):
    def found():
        r = t.command(["ps", "-o", "pid=,args=", "--ppid", str(process.pid)])
        return [int(line.split()[0]) for line in r.out.splitlines() if line.rstrip().endswith("copy -server")]
    return (t.until(found, process) or [0])[0]


def unfinished(directory):
    return [n for n in os.listdir(t.path(directory)) if n.startswith(".xddcp-") and n.endswith(".part")]


def test_silence():
    """A process that is stopped holds its connections, and says nothing."""
    fake = s.Fake(name="silent")
    copy = t.path("silent.d/copy")
    words = [t.XDD, "copy", "-S", fake.ssh, "-timeout", "2", ENDLESS, fake.place(copy)]
    s.fresh("silent.d")
    with xddhold.at("block sent:1") as h, subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                                           start_new_session=True, env=h.env) as p:
        server = server_of(p)
        h.wait(p)
        t.until(lambda: unfinished("silent.d"))
        t.ok(server and unfinished("silent.d") and p.poll() is None, "the copy is in progress")
        os.kill(server, signal.SIGSTOP)
        h.go()
        began = time.monotonic()
        try:
            out, err = p.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            for pid in (p.pid, server):
                os.kill(pid, signal.SIGKILL)
            out, err = p.communicate()
        seconds = time.monotonic() - began
        t.ok(p.returncode == SSH_ENDED and seconds < 40 and ": it has sent nothing for 2 s (-timeout)\n" in err,
             "a silent server ends the copy", "status %s after %.1f s\n%s%s" % (p.returncode, seconds, out, err))
        try:
            os.kill(server, signal.SIGCONT)
        except ProcessLookupError:
            pass
    # This ssh is the server itself, so it was killed.
    t.ok(xddprocesses.await_end(server, 20), "the server ends")
    t.ok(not os.path.exists(copy), "there is no file with the final name")
    r = s.xddcp("-S", fake.ssh, SOURCE, fake.place(t.path("silent.d/next")))
    t.equal([n for n in os.listdir(t.path("silent.d")) if n.startswith(".xddcp")], [], "the next copy removes what it left", r)


def noted_xdd():
    """A directory for -b: its xdd writes the number of its process to a file first, whose path is returned as well."""
    directory, pid = s.fresh("noted"), t.path("noted.pid")
    program = os.path.join(directory, "xdd")
    with open(program, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\necho $$ >'%s'\nexec '%s' \"$@\"\n" % (pid, os.path.abspath(t.XDD)))
    os.chmod(program, 0o755)
    return directory, pid


def number_in(path):
    try:
        with open(path, encoding="utf-8") as f:
            return int(f.read() or 0)
    except FileNotFoundError:
        return 0


def killed(title, words, place, pattern, pid=None):
    directory = s.fresh("killed.d")
    with subprocess.Popen([t.XDD, "copy", *words, ENDLESS, place(os.path.join(directory, "copy"))],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        server = 0 if pid else server_of(p)
        t.until(lambda: unfinished("killed.d"), p)
        server = number_in(pid) if pid else server
        if p.poll() is None and server:
            os.kill(server, signal.SIGKILL)
        out, err = p.communicate(timeout=t.TIMEOUT)
    # On a busy machine the copy may last long enough for a line of progress.
    lines = [line for line in err.splitlines() if not re.match(r" *\d+ %, ", line)]
    t.ok(p.returncode == SSH_ENDED and re.search(pattern, err) and len(lines) == 1, "kill -9 of xdd %s is explained" % title,
         "%s, server %s\n%s%s" % (p.returncode, server, out, err))


def test_killed():
    by_signal = r": the connection was lost; %sxdd on %s was killed by signal 9 \(SIGKILL\)"
    killed("on this host", [], str, by_signal % ("", "this host"))
    fake = s.Fake(name="killed")
    killed("on another host", ["-S", fake.ssh], fake.place, by_signal % ("ssh or ", fake.host))
    if s.why_not():
        t.skip("kill -9 of xdd that sshd has started", s.why_not())
        return
    directory, pid = noted_xdd()
    with s.Sshd() as server:
        killed("that sshd has started", ["-S", server.ssh, "-b", directory + "/"], server.place,
               "; ssh ended with status 255: either the network has failed, or xdd on 127.0.0.1 was killed", pid)


# The first write of all sends SIGTERM to its process; writes go on once the data connections are ended for it.
TERMINATED = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int sent, ended;

int shutdown(int fd, int how)
{
	pthread_mutex_lock(&lock);
	ended = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return ((int (*)(int, int))dlsym(RTLD_NEXT, "shutdown"))(fd, how);
}

static ssize_t write_at(const char *name, int fd, const void *data, size_t size, off_t at)
{
	pthread_mutex_lock(&lock);
	if (!sent && open(getenv("TERMINATED"), O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) {
		sent = 1;
		kill(getpid(), getenv("KILLED") ? SIGKILL : SIGTERM);
	}
	while (sent && !ended)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return ((ssize_t (*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, name))(fd, data, size, at);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return write_at("pwrite", fd, data, size, at); }
ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) { return write_at("pwrite64", fd, data, size, at); }
"""


def test_terminated():
    """SIGTERM to xdd on another host, as its shutdown sends it, is a loss that is repeated; on this host it ends the copy."""
    env = xddsys.preload("terminated", TERMINATED)
    if env is None:
        t.skip("SIGTERM to the other side", "no C compiler")
        return
    marker = t.path("terminated.once")
    settings = " ".join("%s='%s'" % (k, v) for k, v in dict(env, TERMINATED=marker).items())
    fake = s.Fake(name="terminated", prefix="env " + settings)
    for title, source, options, status in (("pushed", SOURCE, ["-R", "-retries", "2"], 0),
                                           ("relayed", fake.place(SOURCE), ["-R", "-retries", "2"], 0),
                                           ("without retries", SOURCE, [], SSH_ENDED)):
        directory = s.fresh("terminated.d")
        r = s.xddcp("-S", fake.ssh, *options, source, fake.place(os.path.join(directory, "copy")))
        t.ok(r.status == status and os.path.exists(marker) and "fakehost: xdd was ended there by SIGTERM" in r.err and
             ("; attempt 2 of 3 follows" in r.err) == ("failed: " not in r.out) == (status == 0),
             "SIGTERM to the destination on another host, %s" % title, r)
        t.ok(same("terminated.d/copy") if status == 0 else not os.listdir(directory), "%s: what is left" % title)
        os.unlink(marker)
    # The ssh of the second attempt removes the pipe that the first one could not copy.
    tree, directory = s.fresh("terminated.tree"), s.fresh("terminated.d")
    shutil.copyfile(SOURCE, os.path.join(tree, "file"))
    fifo = os.path.join(tree, "fifo")
    os.mkfifo(fifo)
    fake = s.Fake(name="repaired", prefix="env " + settings, before="[ ! -e '%s' ] || rm -f '%s'" % (marker, fifo))
    r = s.xddcp("-S", fake.ssh, "-r", "-retries", "2", tree, fake.place(directory))
    t.ok(r.status == 0 and r.err.count("fifo: ") == 1 and "failed: " not in r.out and
         same("terminated.d/terminated.tree/file"), "a failure that a later attempt has repaired does not count", r)
    os.unlink(marker)
    directory = s.fresh("terminated.d")
    r = s.xddcp("-R", "-retries", "2", SOURCE, os.path.join(directory, "copy"), env=dict(os.environ, **env, TERMINATED=marker))
    t.ok(r.status == 5 and "SIGTERM" in r.out + r.err and "attempt" not in r.err, "SIGTERM to the other process on this host", r)


def test_script():
    """xddcp stays: it repeats the copy where xdd on this host is killed, and passes signals on."""
    env = xddsys.preload("killed", TERMINATED)
    if env is None:
        t.skip("kill -9 of xdd below xddcp", "no C compiler")
        return
    fake, marker = s.Fake(name="script"), t.path("script.once")
    env = dict(os.environ, **env, TERMINATED=marker, KILLED="1")
    for options, status in ((["-retries", "2"], 0), (["-a", "-n", "1"], 0), (["-R"], 128 + signal.SIGKILL)):
        directory = s.fresh("script.d")
        r = s.xddcp("-S", fake.ssh, *options, fake.place(SOURCE), os.path.join(directory, "copy"), env=env)
        note = "xddcp: xdd on this host was ended by signal 9; attempt 2 of %s follows" % (int(options[-1]) + 1 if status == 0 else 0)
        t.ok(r.status == status and os.path.exists(marker) and (note in r.err) == (status == 0),
             "kill -9 of xdd on this host, %s" % " ".join(options), r)
        t.ok(status or same("script.d/copy") and not unfinished("script.d"), "%s: what is there" % " ".join(options))
        os.unlink(marker)
    for words, attempts in ((["-F", s.write(t.path("names"), b"f\n")], "3\n"), (["-F", "-"], "1\n")):
        r = t.command([t.XDD, "copy", "-attempts", "-retries", "2", *words, "host:/d"])
        t.equal((r.status, r.out), (0, attempts), "attempts of a list, %s" % words[1], r)
    for title, sig, send in (("SIGTERM to xddcp", signal.SIGTERM, os.kill), ("SIGINT to xddcp", signal.SIGINT, os.kill),
                             ("Ctrl-C", signal.SIGINT, os.killpg)):
        s.fresh("script.d")
        with subprocess.Popen([s.XDDCP, "-S", fake.ssh, fake.place(ENDLESS), t.path("script.d/copy")], env=ENV,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              start_new_session=True) as p:
            t.until(lambda: unfinished("script.d"), p)
            send(p.pid, sig)
            out, err = p.communicate(timeout=t.TIMEOUT)
        t.ok(p.returncode == 5 and "canceled; " in out and err.count("the copy ends") == 1 and not os.listdir(t.path("script.d")),
             title + ": the copy ends in good order", (p.returncode, out, err))


def interrupted_in_place(title, words, there, begun, end, expected):
    """A copy of an endless file that ends by end(process, server) once it is begun: the line names the destination."""
    with subprocess.Popen([t.XDD, "copy", "-q", *words, there], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        server = server_of(p)
        t.until(begun, p)
        if p.poll() is None and server:
            end(p, server)
        err = p.communicate(timeout=t.TIMEOUT)[1]
    lines = [line for line in err.splitlines() if "incomplete" in line]
    t.ok(lines == ["xdd: warning: copy: " + expected], title, "%s, server %s\n%s" % (p.returncode, server, err))


def test_in_place():
    """A file that is written in place stays, and is named."""
    fake, source = s.Fake(name="in-place"), ENDLESS

    def interrupt(process, _):
        process.send_signal(signal.SIGINT)

    def kill_server(_, server):
        os.kill(server, signal.SIGKILL)

    def freeze_server(process, server):
        os.kill(server, signal.SIGSTOP)
        process.send_signal(signal.SIGINT)

    incomplete = "%s: is incomplete, as it was written in place"
    path = os.path.join(s.fresh("in-place.d"), "copy")
    for title, words, there, end, expected in (
            ("-i and SIGINT, there", [source], fake.place(path), interrupt, incomplete % fake.place("copy")),
            ("-i and SIGINT, here", [fake.place(source)], path, interrupt, incomplete % "copy"),
            ("-i and a lost connection, here", [fake.place(source)], path, kill_server, incomplete % "copy"),
            ("-i, SIGINT and a destination that stands still", [source], fake.place(path), freeze_server,
             "the destination has not ended 5 s after the signal: a file or device that it writes in place may be incomplete")):
        s.write(path, b"old")
        interrupted_in_place(title, ["-S", fake.ssh, "-i", *words], there, lambda: os.path.getsize(path) > 3, end, expected)
    os.unlink(path)
    # In memory, as the end of a device waits for its writes.
    image = xddsys.sparse_file(os.path.join(xddsys.MEMORY or t.tmp(), "xddtest.in-place.%d" % os.getpid()), 512 << 20)
    device = xddsys.loop_device(image)
    if not device:
        os.unlink(image)
        t.skip("a device that is incomplete", "needs loop devices")
        return

    def first_byte():
        with open(device, "rb") as f:
            return f.read(1) == b"e"

    interrupted_in_place("a device and SIGINT", ["-S", fake.ssh, source], fake.place(device), first_byte, interrupt,
                         incomplete % fake.place(device))
    xddsys.detach(device)
    os.unlink(image)


def lingering(title, trap):
    """An ssh that stays after the end of the server is ended, and does not make a complete copy fail."""
    ssh = t.path("lingers")
    with open(ssh, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n%s'%s' \"$@\"; exec sleep 60 >/dev/null 2>&1 </dev/null\n" % (trap, s.Fake(name="lingering").ssh))
    os.chmod(ssh, 0o755)
    r = s.xddcp("-q", "-S", ssh, SOURCE, "fakehost:" + t.path("lingering.copy"))
    t.ok(r.status == 0 and same("lingering.copy") and
         r.err == "xdd: note: copy: fakehost: ssh did not end within 10 s after the copy, and was ended\n",
         "an ssh that stays and %s does not fail the copy" % title, r)


def test_lingering():
    lingering("ends by SIGTERM", "")


def test_stubborn():
    lingering("ignores SIGTERM", "trap '' TERM; ")


t.run_together(test_lingering, test_stubborn, test_retries, test_silence, test_killed, test_terminated, test_script, test_in_place)
t.done()
