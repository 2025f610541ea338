#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""xddcp: ways to reach the other host, and what is said when there is none."""
import ctypes
import json
import os
import pwd
import re
import signal
import socket
import struct
import subprocess
import threading
import time

import xddcopywire as w
import xddhold
import xddnet as net
import xddports
import xddprocesses
import xddtest as t
import xddssh as s
import xddsys

CANCELED = 5
NO_XDD, NO_SSH, SSH_ENDED, BAD_VERSION, NO_PORT, BAD_NAMES = 103, 108, 109, 112, 115, 102
FIRST_PORT = 40010  # without -p
SIZE = 300000
ENV = {**os.environ, "PATH": os.path.dirname(os.path.abspath(t.XDD)) + ":" + os.environ["PATH"]}
BANNER = w.BANNER.decode() + "8.0.0"
SECRET = b"This line must not be seen on the network.\n"


def source():
    name = t.path("source")
    if not os.path.exists(name):
        with open(name, "wb") as f:
            f.write(SECRET * (SIZE // len(SECRET)))
    return name


def script(name, text):
    """A program `xdd` in a directory of its own, which is returned."""
    directory = t.path(name)
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "xdd"), "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(os.path.join(directory, "xdd"), 0o755)
    return directory


_number = 0


def target():
    global _number
    _number += 1
    return t.path("copy.%d" % _number)


def same(a, b):
    with open(a, "rb") as f, open(b, "rb") as g:
        return f.read() == g.read()


def copies(description, where, *options, note=None, env=None, **kwargs):
    """Copy to `where`, a server or a stand-in. Returns the object of -J."""
    to = target()
    r = s.xddcp("-J", *options, source(), where.place(to), env=env, **kwargs)
    good = r.status == 0 and os.path.exists(to) and same(source(), to)
    if note is not None:
        good = good and (note in r.err + r.out)
    t.ok(good, description, "status %d\n%s%s" % (r.status, r.out, r.err))
    try:
        return json.loads(r.out)
    except ValueError:
        return {}


def fails(description, where, status, text, *options, **kwargs):
    to = target()
    started = time.monotonic()
    r = s.xddcp(*options, source(), where.place(to), **kwargs)
    good = r.status == status and re.search(text, r.err) and not os.path.exists(to)
    t.ok(bool(good), description, "status %d after %.1f s\n%s%s" % (r.status, time.monotonic() - started, r.out, r.err))
    return r


# ---- sshd ----

def through_sshd():
    if s.why_not():
        return t.skip("copies through sshd", s.why_not())
    with s.Sshd() as server:
        copies("-S with the words of a command", server, "-S", server.ssh)
        copies("XDDCP_SSH", server, env={**os.environ, "XDDCP_SSH": server.ssh})
        to = target()
        r = s.xddcp("-q", "-S", server.ssh, source(), server.place(to, user=True))
        t.ok(r.status == 0 and same(source(), to), "user@host", r.err)
        copies("-Y: ssh with a terminal", server, "-Y", "-S", server.ssh)
        copies("-e", server, "-e", "-S", server.ssh)

        server.know("other")
        fails("a wrong host key", server, SSH_ENDED, "ssh cannot reach it, or is not let in", "-S", server.ssh)
        server.know()
        os.rename(server.path("authorized"), server.path("kept"))
        r = fails("a refused key", server, SSH_ENDED, "ssh cannot reach it, or is not let in", "-S", server.ssh)
        t.ok("Permission denied" in r.err, "the message of ssh is there too", r.err)
        os.rename(server.path("kept"), server.path("authorized"))
        start_up(server)
    with s.Sshd(remote_xdd="") as server:
        # The shell of the session looks for "xdd" in the home directory too, where it may be a clone of this tree.
        found = os.path.isdir(os.path.join(pwd.getpwuid(os.getuid()).pw_dir, "xdd"))
        fails("no xdd on the other host", server, NO_XDD, "there is no program \"xdd\" there" if found else
              "cannot start \"xdd\" there; install xdd there, or give its path", "-S", server.ssh)
        copies("-b: the directory of xdd", server, "-b", os.path.dirname(os.path.abspath(t.XDD)), "-S", server.ssh)
        odd = t.path("it's a \\ $(directory) of \"xdd\"!")
        os.mkdir(odd)
        os.symlink(os.path.abspath(t.XDD), os.path.join(odd, "xdd"))
        copies("-b: characters that mean something to shells", server, "-b", odd, "-S", server.ssh)
        fails("-b: a directory without xdd", server, NO_XDD, "cannot start \"/no such/xdd\"", "-b", "/no such", "-S", server.ssh)
    noisy = 'ForceCommand printf "Welcome to this host\\\\n"; eval "$SSH_ORIGINAL_COMMAND"'
    with s.Sshd(server_lines=[noisy]) as server:
        copies("a login script that prints a line", server, "-S", server.ssh)


def ipv6():
    if s.why_not(ipv6=True):
        return t.skip("IPv6", s.why_not(ipv6=True))
    with s.Sshd(address="::1") as server:
        facts = copies("an IPv6 address in brackets", server, "-S", server.ssh)
        t.ok("[::1]:" in json.dumps(facts), "data connections use IPv6", json.dumps(facts))


def start_up(server):
    """The time for one small file, beyond that of ssh itself."""
    small = t.make_file("small", 1000)

    def seconds(command):
        times = []
        for _ in range(7):
            began = time.monotonic()
            command()
            times.append(time.monotonic() - began)
        return sorted(times)[3]

    ssh = seconds(lambda: subprocess.run([*server.ssh.split(), "127.0.0.1", "true"], check=True))
    copy = seconds(lambda: s.xddcp("-q", "-S", server.ssh, small, server.place(target())))
    # `make bench` judges it; here the machine is busy with other tests.
    t.diag("ssh true %.0f ms, a copy of one small file %.0f ms" % (ssh * 1e3, copy * 1e3))
    t.ok(copy < ssh + 2 * (10 if xddsys.sanitized() else 1), "one small file takes not much longer than ssh itself",
         "%.3f and %.3f s" % (copy, ssh))


# ---- stand-ins for ssh ----

def bad_servers():
    fake = s.Fake()
    fails("a program for -S that does not exist", fake, NO_SSH, "cannot find the program \"/no/ssh\"", "-S", "/no/ssh")
    old = s.Fake(name="old", remote_xdd=script("old-xdd", "echo 'Usage: xdd [options]'; exit 3\n"))
    fails("an older xdd, which prints its usage", old, BAD_VERSION, "ended with status 3 .*Usage: xdd", "-S", old.ssh)
    csh = s.Fake(name="ssh", before="exit 1")
    fails("a shell whose status is 1 where a program is missing", csh, NO_XDD, "cannot start \"xdd\" there", "-S", csh.ssh)
    wrapper = s.Fake(name="wrapper", before="exit 1")
    fails("another program than ssh ends with that", wrapper, NO_XDD, "ended with status 1 .*-b.*that takes the options of ssh",
          "-S", wrapper.ssh)
    new = s.Fake(name="new", remote_xdd=script("new-xdd", "echo XDD-COPY 99 10.1; exec cat >/dev/null\n"))
    r = fails("another version of the protocol", new, BAD_VERSION, "has xdd 10.1, with version 99", "-S", new.ssh)
    t.ok(re.search(r"this is .*, with version \d", r.err), "both versions are named", r.err)
    noisy = s.Fake(name="noisy", before="yes 'Have a nice day'")
    fails("a login script without end", noisy, BAD_VERSION, "Have a nice day.*must print nothing", "-S", noisy.ssh)
    ends = s.Fake(name="ends", remote_xdd=script("end-xdd", "echo %s; exit 0\n" % BANNER))
    fails("a server that ends at once", ends, SSH_ENDED, "fakehost", "-S", ends.ssh)
    wrong = s.Fake(name="wrong", remote_xdd=script("wrong-xdd", "echo %s; exec cat /dev/zero\n" % BANNER))
    fails("a server that sends no messages", wrong, 114, "no message of xdd", "-S", wrong.ssh)
    said = s.Fake(name="said", before="echo hello")
    copies("other output before that of xdd", said, "-S", said.ssh)
    with open(said.calls, encoding="utf-8") as f:
        words = f.read().split("\n")
    t.equal(words[:4], ["-T", "--", "fakehost", "exec xdd copy -server"], "the words for ssh")


def no_source():
    """A source of this host that is missing is found before ssh is started, which may ask for a password."""
    started = t.path("ssh-was-started")
    ssh = os.path.join(script("witness", ": > '%s'\n" % started), "xdd")
    r = s.xddcp("-q", "-S", ssh, t.path("missing"), "host:there")
    t.ok(r.status == 106 and "missing: No such file or directory" in r.err, "a source that is missing", (r.status, r.err))
    t.ok(not os.path.exists(started), "a source that is missing: ssh was not started", r.err)


def local_names():
    """A local file whose name reads as one on a host: the line about ssh says how to name it."""
    none = s.Fake(name="none", before="exit 255")
    where = t.path("local")
    os.mkdir(where)
    for name in ("a:b", "other", "ann@c:d"):
        with open(os.path.join(where, name), "w", encoding="ascii") as f:
            f.write(name)

    def line(*args):
        r = s.xddcp("-q", "-S", none.ssh, *args, cwd=where)
        return r.status, r.err.strip()

    hint = "; for the local file of this name say ./"
    cannot = "xdd: copy: a: ssh cannot reach it, or is not let in (its own message is above)"
    t.equal(line("a:b", "to"), (SSH_ENDED, cannot + hint + "a:b"), "a source with a colon")
    t.equal(line("a:x", "a:b", "to"), (SSH_ENDED, cannot + hint + "a:b"), "the second source with a colon")
    t.equal(line("other", "a:b"), (SSH_ENDED, cannot + hint + "a:b"), "a destination with a colon")
    t.equal(line("a:c", "to"), (SSH_ENDED, cannot), "no local file of this name: no hint")
    t.equal(line("ann@c:d", "to"), (SSH_ENDED, cannot.replace("a:", "c:", 1) + hint + "ann@c:d"), "a name with a user")
    r = s.xddcp("-q", "./a:b", "copied", cwd=where)
    t.ok(r.status == 0 and same(os.path.join(where, "a:b"), os.path.join(where, "copied")), "./a:b is the local file", r.err)


def unreachable():
    """Ports that cannot be reached from one side, then from both: 192.0.2.0/24 belongs to no host."""
    def with_addresses(name, client, server):
        return s.Fake(name=name, remote_xdd=script(name + "-xdd", "SSH_CONNECTION='%s 5 %s 22' exec %s \"$@\"\n"
                                                   % (client, server, os.path.abspath(t.XDD))))

    other_way = with_addresses("other-way", "127.0.0.1", "192.0.2.1")
    began = time.monotonic()
    facts = copies("the other host cannot be reached: it connects to this one", other_way, "-t", "3", "-S", other_way.ssh)
    t.ok("127.0.0.1:" in json.dumps(facts), "there are data connections", json.dumps(facts))
    neither = with_addresses("neither", "192.0.2.1", "192.0.2.1")
    copies("neither can be reached: data goes through ssh", neither, "-S", neither.ssh, note="data goes through ssh")
    from_there = with_addresses("pull", "192.0.2.1", "192.0.2.1")
    to = target()
    r = s.xddcp("-S", from_there.ssh, from_there.place(source()), to)
    t.ok(r.status == 0 and same(source(), to) and "data goes through ssh" in r.out + r.err,
         "the same from there to here", r.out + r.err)
    t.ok(time.monotonic() - began < 60, "attempts take seconds at most")


def busy():
    """A socket that listens, and its port."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", 0))
    sock.listen(1)
    return sock, sock.getsockname()[1]


def comm(pid):
    """The name of the program of a process."""
    return os.path.basename(os.readlink("/proc/%d/exe" % pid))


def waiting_xdd(port, network=None):
    """Another xdd that listens on `port`, for the other side of a run."""
    prefix = network.words() if network else []
    other = subprocess.Popen([*prefix, t.XDD, "-op", "write", "-targets", "1", t.path("sink"), "-reqsize", "1", "-numreqs", "1", "-e2e",
                              "isdestination", "-e2e", "destination", "127.0.0.1:%d,1" % port, "-e2e", "timeout", "60"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def listens():
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0
    t.until((lambda: port in network.listening()) if network else listens, other)
    return other


def ports():
    fake = s.Fake(name="ports")
    port = xddports.free_ports(1)
    facts = copies("-p: a port of the user's choice", fake, "-p", str(port), "-t", "2", "-S", fake.ssh)
    t.ok(re.search(r":(%d|%d)\b" % (port, port + 1), json.dumps(facts)), "-p: it is used", json.dumps(facts))
    sock, port = busy()
    with sock:
        r = fails("-p: a port that another program has", fake, NO_PORT, "no port from %d to %d is free" % (port, port),
                  "-p", str(port), "-t", "1", "-S", fake.ssh)
        t.ok("process %d (python" % os.getpid() in r.err, "-p: that program is named", r.err)
        r = fails("-f ends no other programs", fake, NO_PORT, "no port from", "-f", "-p", str(port), "-t", "1", "-S", fake.ssh)
        t.ok(r.err.rstrip().endswith("(%s), which -f does not end; give another one with -p" % comm(os.getpid())),
             "-f: that program is named", r.err)
    port = xddports.free_ports(1)
    with waiting_xdd(port) as other:
        fails("another xdd has the port", fake, NO_PORT, r"process %d \(xdd\)" % other.pid, "-p", str(port), "-t", "1",
              "-S", fake.ssh)
        t.ok(other.poll() is None, "it runs on")
        copies("-f ends it", fake, "-f", "-p", str(port), "-t", "1", "-S", fake.ssh)
        t.ok(other.wait(20) != 0, "it has ended")
    port = xddports.free_ports(1)
    with waiting_xdd(port) as other:
        other.send_signal(signal.SIGSTOP)
        try:
            copies("-f ends one that is stopped", fake, "-f", "-p", str(port), "-t", "1", "-S", fake.ssh)
            t.ok(xddprocesses.await_end(other.pid, 20), "that has ended too")
        finally:
            other.kill()


def default_ports():
    """Without -p, -f ends nothing where an xdd has the first port. In a network of its own, as other tests use the same ports."""
    if net.why_not():
        t.skip("-f without -p", net.why_not())
        return
    network, fake, to = net.namespace("force"), s.Fake(name="force"), target()
    with waiting_xdd(FIRST_PORT, network) as other:
        run = network.command(s.XDDCP, "-f", "-t", "1", "-S", fake.ssh, source(), fake.place(to), env=ENV)
        t.ok(run.status == 0 and same(source(), to) and other.poll() is None, "-f without -p: another port, and nothing is ended", run)
        other.kill()
    network.remove()


def both_remote():
    fake = s.Fake(name="both")
    to = target()
    r = s.xddcp("-J", "-S", fake.ssh, "hosta:" + source(), "hostb:" + to)
    t.ok(r.status == 0 and same(source(), to), "between two other hosts", r.out + r.err)
    with open(fake.calls, encoding="utf-8") as f:
        hosts = {line.strip() for line in f} & {"hosta", "hostb"}
    t.equal(hosts, {"hosta", "hostb"}, "ssh is started to each")


    one = s.Fake(name="one", before='case " $* " in *" hostb "*) exit 255;; esac')
    r = s.xddcp("-S", one.ssh, "hosta:" + source(), "hostb:" + target())
    t.ok(r.status == SSH_ENDED and "hostb: ssh cannot reach it" in r.err, "one of two hosts cannot be reached", r.err)


def waits():
    """ssh may wait for a password: nothing but a signal ends that."""
    pids = t.path("waiting.pid")
    fake = s.Fake(name="waiting", before="echo $$ >%s.new; mv %s.new %s; exec sleep 1000" % (pids, pids, pids))
    for signum, group in ((signal.SIGINT, True), (signal.SIGTERM, False), (signal.SIGKILL, False)):
        p = subprocess.Popen([s.XDDCP, "-S", fake.ssh, source(), fake.place(target())], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, env=ENV, start_new_session=True)
        try:
            t.until(lambda: os.path.exists(pids), p)
            with open(pids, encoding="ascii") as f:
                ssh = int(f.read())
            os.unlink(pids)
            began = time.monotonic()
            (os.killpg if group else os.kill)(p.pid, signum)
            p.wait(30)
            took = time.monotonic() - began
        finally:
            p.kill()
            p.wait()
        status = -signum if signum == signal.SIGKILL else CANCELED
        t.ok(p.returncode == status and took < 5, "%s while ssh waits%s" % (signum.name, ", from the terminal" if group else ""),
             "status %d after %.1f s" % (p.returncode, took))
        t.ok(xddprocesses.await_end(ssh, 10), "ssh ends as well")


# ---- secrets ----

SO_RCVBUFFORCE, SOL_PACKET, PACKET_STATISTICS = 33, 263, 6


class Sniffer:
    """All bytes on the loopback interface of a namespace. Its socket has room for all of a copy."""

    def __init__(self, ns):
        # The namespace of a thread, which ends once it has made the socket.
        thread = threading.Thread(target=self.open, args=(ns,))
        self.sock, self.seen, self.lost = None, [], 0
        thread.start()
        thread.join()

    def open(self, ns):
        with open("/run/netns/" + ns.name, "rb") as f:
            if ctypes.CDLL(None, use_errno=True).setns(f.fileno(), 0) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.htons(3))
        self.sock.bind(("lo", 0))
        self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            while True:
                self.seen.append(self.sock.recv(1 << 17))
        except BlockingIOError:
            pass
        _, self.lost = struct.unpack("II", self.sock.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
        self.sock.close()

    def saw(self, what):
        return any(what in packet for packet in self.seen)


def encrypted():
    if net.why_not():
        return t.skip("-e: nothing is seen on the network", net.why_not())
    fake, ns = s.Fake(name="sniffed"), net.namespace("sniffed")
    with Sniffer(ns) as sniffer:
        copies("a copy that is not encrypted", fake, "-S", fake.ssh, prefix=ns.words())
    t.ok(sniffer.saw(SECRET) and sniffer.lost == 0, "its contents are seen on the network", sniffer.lost)
    with Sniffer(ns) as sniffer:
        facts = copies("-e", fake, "-e", "-S", fake.ssh, prefix=ns.words())
    t.ok(not sniffer.saw(SECRET[:20]) and len(sniffer.seen) > 10 and sniffer.lost == 0,
         "-e: contents are not seen on the network", (len(sniffer.seen), sniffer.lost))
    t.ok("AES" in json.dumps(facts) or "CHACHA" in json.dumps(facts), "-e: the cipher is reported", json.dumps(facts))
    ns.remove()


def snapshot():
    """All command lines and environments of this machine."""
    found = []
    for name in os.listdir("/proc"):
        for file in ("cmdline", "environ"):
            try:
                with open("/proc/%s/%s" % (name, file), "rb") as f:
                    found.append(f.read())
            except OSError:
                pass
    return b"\n".join(found)


def key_is_secret():
    """The bytes that go to the server are recorded: they begin with START, and its body with the key."""
    record = t.path("record")
    recorder = s.Fake(name="recorder", remote_xdd=script("recorder-xdd", "tee %s | %s \"$@\"\n" % (record, os.path.abspath(t.XDD))))

    # Both sides have the key then, and ssh has started the server.
    with xddhold.at("WELCOME received:1") as h, subprocess.Popen(
            [s.XDDCP, "-S", recorder.ssh, source(), recorder.place(target())], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env=dict(ENV, **{xddhold.VARIABLE: h.value})) as p:
        h.wait(p)
        everything = snapshot()
        h.go()
        out = p.communicate(timeout=t.TIMEOUT)[0]
    t.equal(p.returncode, 0, "a copy that is watched", out)
    with open(record, "rb") as f:
        data = f.read()
    magic, _, kind = struct.unpack("<IHH", data[:8])
    t.equal((magic, kind), (0x32444458, 32), "the first message is START")
    key = data[96:128]
    t.ok(len(set(key)) > 8, "it has a key", key.hex())
    t.ok(b"-server" in everything, "the command lines were seen")
    t.ok(not any(form in everything for form in (key, key.hex().encode(), key[:12])),
         "the key is on no command line and in no environment")


# ---- the end of ssh ----

def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
        return [int(word) for word in f.read().split()]


def lost():
    """ssh is killed while a large file is copied: the server has lost the other side, and ends."""
    if s.why_not():
        return t.skip("ssh is lost", s.why_not())
    big = t.make_file("big", 128 << 20)
    with s.Sshd() as server:
        for signum in (signal.SIGTERM, signal.SIGKILL):
            directory = t.path("to." + signum.name)
            os.mkdir(directory)
            to = os.path.join(directory, "copy")
            with subprocess.Popen([s.XDDCP, "-e", "-t", "1", "-blocksize", "4096", "-S", server.ssh, big, server.place(to)],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", env=ENV) as p:
                t.until(lambda: os.listdir(directory), p)
                for xdd in children(p.pid):
                    for pid in children(xdd):
                        os.kill(pid, signum)
                out, err = p.communicate(timeout=60)
            t.ok(p.returncode == SSH_ENDED and not os.path.exists(to), "ssh ends by %s: the status says so, and there is no file"
                 % signum.name, "status %d\n%s%s" % (p.returncode, out, err))
            t.until(lambda: not os.listdir(directory), seconds=20)
            t.equal(os.listdir(directory), [], "the server has removed its temporary file")


t.run(through_sshd, ipv6, bad_servers, no_source, local_names, unreachable, ports, default_ports, both_remote,
      waits, encrypted, key_is_secret, lost)
t.done()
