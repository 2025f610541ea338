# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies over the loopback device: xdd's end-to-end runs, a bare loop, iperf3, rsync and scp. Used by run.

Each contender has two processes. Its rate is that of the data, its CPU time that of both with all their children.
"""
import csv
import dataclasses
import filecmp
import getpass
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import time

from commands import Broken, Skip, call, have, last_line

STREAMS = 4
TIMEOUT_S = 120  # of one copy
READY_S = 10  # for a server to listen


@dataclasses.dataclass
class Copied:
    """A copy that has ended well."""
    wall_s: float  # of the client
    cpu_s: float  # of both
    out: str  # of the client


def free_ports(count):
    """The first of `count` free ports in a row, below those that the kernel deals out."""
    for base in range(20000 + os.getpid() % 5000, 32000, count):
        held = []
        try:
            for port in range(base, base + count):
                held.append(socket.socket())
                held[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                held[-1].bind(("127.0.0.1", port))
            return base
        except OSError:
            continue
        finally:
            for each in held:
                each.close()
    raise Skip("no %d ports in a row are free" % count)


def wait_until_listening(port, server):
    """The kernel's table says so: a connection of our own would be the one that the server expects."""
    end = time.monotonic() + READY_S
    wanted = re.compile(r"^ *\d+: (0100007F|00000000|0+):%04X 0+:0000 0A " % port, re.M)
    while time.monotonic() < end:
        if server.poll() is not None:
            return
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            if os.path.exists(table):
                with open(table, encoding="ascii") as file:
                    if wanted.search(file.read()):
                        return
        time.sleep(0.002)
    raise Broken("%s does not listen" % server.args[0])


def children_cpu_s():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def wait_exactly(process, timeout_s):
    """As process.wait(), which asks every 50 ms when it has a limit, and so returns up to 50 ms late."""
    end = os.pidfd_open(process.pid)
    try:
        if not select.select([end], [], [], timeout_s)[0]:
            raise subprocess.TimeoutExpired(process.args, timeout_s)
    finally:
        os.close(end)
    return process.wait()


class Pair:
    """Runs a server and its client, and ends both in any case."""

    def __init__(self, directory):
        self.directory = directory

    def _start(self, argv, name):
        with open(os.path.join(self.directory, name + ".out"), "wb") as out, \
                open(os.path.join(self.directory, name + ".err"), "wb") as err:
            # Not a session of its own: the scheduler gives each session a share, and the bare loop has one.
            return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=self.directory,
                                    preexec_fn=os.setpgrp)

    def _read(self, name):
        with open(os.path.join(self.directory, name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def _end(self, process):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def run(self, server_argv, client_argv, port, server_ends, until=None):
        """`server_ends`: it does so by itself, with status 0; otherwise it is ended by SIGTERM. `until`: the client gets SIGINT
        once this is true."""
        before = children_cpu_s()
        server = self._start(server_argv, "server")
        try:
            wait_until_listening(port, server)
            start = time.monotonic()
            client = self._start(client_argv, "client")
            try:
                while until and client.poll() is None and not until():
                    time.sleep(0.002)
                if until and client.poll() is None:
                    client.send_signal(signal.SIGINT)
                status = wait_exactly(client, TIMEOUT_S)
                wall_s = time.monotonic() - start
            finally:
                self._end(client)
            if status and not until:
                raise Broken("status %d (%s): %s" % (status, last_line(self._read("client.err")), " ".join(client_argv)))
            if not server_ends:
                server.terminate()
            status = server.wait(READY_S)
            if server_ends and status:
                raise Broken("status %d (%s): %s" % (status, last_line(self._read("server.err")), " ".join(server_argv)))
        except subprocess.TimeoutExpired as err:
            raise Broken("still running after %d s: %s" % (err.timeout, " ".join(err.cmd))) from None
        finally:
            self._end(server)
        return Copied(wall_s, children_cpu_s() - before, self._read("client.out"))


class Copier:
    """`copy()` copies once. Its sample has "bytes", "elapsed_s" and "cpu_s"; `words` is a command for people."""

    def __init__(self, name, runner, place):
        self.name = name
        self.runner = runner
        self.source, self.destination, self.size = place
        self.words = []

    def copy(self):
        raise NotImplementedError


class Loop(Copier):
    """limit_network.c."""

    def __init__(self, name, runner, place):
        super().__init__(name, runner, place)
        self.words = [runner.compile("limit_network"), "-t", str(STREAMS), "-p", str(self.size)]
        if self.source:
            self.words += ["-f", self.source, "-g", self.destination]

    def copy(self):
        out, _ = self.runner.run(self.words, TIMEOUT_S)
        count, elapsed_s, cpu_s = out.split()
        return {"bytes": int(count), "elapsed_s": float(elapsed_s), "cpu_s": float(cpu_s)}


class Xdd(Copier):
    """Two xdd: every block is checked, and the digests of both sides are compared."""

    def __init__(self, name, runner, place, binary, key=None, encrypt=False):
        super().__init__(name, runner, place)
        self.binary = binary
        self.security = []
        if key:
            path = runner.path("key")
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
                file.write(key + "\n")
            self.security += ["-e2e", "key", path]
        if encrypt:
            self.security += ["-e2e", "encrypt"]
        self.pair = Pair(runner.directory)
        self.csv = [runner.path(role + ".csv") for role in ("issource", "isdestination")]

    def _side(self, role, op, path, port, csv_file):
        if os.path.exists(csv_file):
            os.unlink(csv_file)
        return [self.binary, "-op", op, "-targets", "1", path or "null", "-blocksize", "1024", "-reqsize", "1024", "-bytes",
                str(self.size), "-e2e", role, "-e2e", "destination", "127.0.0.1:%d,%d" % (port, STREAMS),
                *self.security, "-outputformat", "new", "+WHAT+BYTESXFERED+ELAPSEDTIMEPASS", "-csvout", csv_file]

    def copy(self):
        port = free_ports(STREAMS)
        source = self._side("issource", "read", self.source, port, self.csv[0])
        destination = self._side("isdestination", "write", self.destination, port, self.csv[1])
        self.words = source
        done = self.pair.run(destination, source, port, server_ends=True)
        counts, elapsed = set(), []
        for path in self.csv:
            with open(path, encoding="utf-8", newline="") as file:
                what, count, seconds = list(csv.reader(file))[-1]
            if what.strip() != "COMBINED":
                raise Broken("xdd wrote no COMBINED line to its CSV")
            counts.add(int(count))
            elapsed.append(float(seconds))
        if counts != {self.size}:
            raise Broken("xdd copied %s bytes of %d" % (counts, self.size))
        # The source's time ends with its last send, the destination's begins with the first block.
        return {"bytes": self.size, "elapsed_s": max(elapsed), "cpu_s": done.cpu_s, "wall_s": done.wall_s}


class Iperf(Copier):
    """iperf3 with as many streams, for a second: from memory to memory."""

    def __init__(self, name, runner, place):
        super().__init__(name, runner, place)
        if not have("iperf3"):
            raise Skip("iperf3 is not installed")
        self.pair = Pair(runner.directory)

    def copy(self):
        port = free_ports(1)
        self.words = ["iperf3", "-c", "127.0.0.1", "-p", str(port), "-P", str(STREAMS), "-t", "1", "-J"]
        done = self.pair.run(["iperf3", "-s", "-1", "-p", str(port)], self.words, port, server_ends=True)
        try:
            received = json.loads(done.out)["end"]["sum_received"]
            return {"bytes": received["bytes"], "elapsed_s": received["seconds"], "cpu_s": done.cpu_s}
        except (ValueError, KeyError) as err:
            raise Broken("iperf3's JSON: %s" % err) from err


class Rsync(Copier):
    """An rsync daemon, whole files."""

    def __init__(self, name, runner, place):
        super().__init__(name, runner, place)
        if not have("rsync"):
            raise Skip("rsync is not installed")
        self.pair = Pair(runner.directory)
        self.config = runner.path("rsyncd.conf")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("use chroot = no\n[bench]\npath = %s\nread only = no\n" % os.path.dirname(self.destination))
            if not os.geteuid():
                file.write("uid = root\ngid = root\n")

    def copy(self):
        port = free_ports(1)
        server = ["rsync", "--daemon", "--no-detach", "--address=127.0.0.1", "--port=%d" % port, "--config=" + self.config]
        self.words = ["rsync", "-W", "--ignore-times", self.source,
                      "rsync://127.0.0.1:%d/bench/%s" % (port, os.path.basename(self.destination))]
        done = self.pair.run(server, self.words, port, server_ends=False)
        return {"bytes": self.size, "elapsed_s": done.wall_s, "cpu_s": done.cpu_s}


class Scp(Copier):
    """scp to an sshd of our own, on a port of its own, with a key of its own."""

    def __init__(self, name, runner, place, cipher=None):
        super().__init__(name, runner, place)
        self.sshd = shutil.which("sshd") or ("/usr/sbin/sshd" if os.path.exists("/usr/sbin/sshd") else None)
        if not self.sshd or not have("scp"):
            raise Skip("sshd or scp is not installed")
        if not os.geteuid() and not os.path.isdir("/run/sshd"):
            os.mkdir("/run/sshd", 0o755)
        self.pair = Pair(runner.directory)
        self.options = ["-c", cipher] if cipher else []
        self.config = runner.path("sshd_config")
        for key in ("host_key", "user_key"):
            if not os.path.exists(runner.path(key)):
                call(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", runner.path(key)])
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("ListenAddress 127.0.0.1\nHostKey %s\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM no\nPidFile none\n"
                       "PasswordAuthentication no\nPermitRootLogin yes\nSubsystem sftp internal-sftp\n" %
                       (runner.path("host_key"), runner.path("user_key.pub")))

    def copy(self):
        port = free_ports(1)
        self.words = ["scp", "-q", "-F", "none", "-i", self.runner.path("user_key"), "-P", str(port), "-o", "BatchMode=yes",
                      "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
                      *self.options, self.source, "%s@127.0.0.1:%s" % (getpass.getuser(), self.destination)]
        done = self.pair.run([self.sshd, "-D", "-e", "-f", self.config, "-p", str(port)], self.words, port,
                             server_ends=False)
        return {"bytes": self.size, "elapsed_s": done.wall_s, "cpu_s": done.cpu_s}


def spoil(path):
    """Change the first and the last byte, so that a copy that does nothing is found out."""
    with open(path, "r+b", buffering=0) as file:
        for at, whence in ((0, os.SEEK_SET), (-1, os.SEEK_END)):
            file.seek(at, whence)
            byte = file.read(1)
            file.seek(at, whence)
            file.write(bytes([byte[0] ^ 0xff]))


def checked(copier):
    """One copy, to warm up, whose result is compared with the source."""
    if copier.source:
        spoil(copier.destination)
    sample = copier.copy()
    if copier.source and not isinstance(copier, Iperf) and \
            not filecmp.cmp(copier.source, copier.destination, shallow=False):
        raise Broken("%s made a wrong copy" % copier.name)
    return sample


def contenders(row, runner, binary, place, notes):
    """Those of a row, in the order they are run. What is missing goes to `notes`, except xdd."""
    found = [Xdd("xdd", runner, place, binary, key="0123456789abcdef0123456789abcdef" if row.encrypted else None,
                 encrypt=row.encrypted)]
    makers = {
        "loop": lambda: Loop("loop", runner, place),
        "iperf3": lambda: Iperf("iperf3", runner, place),
        "rsync": lambda: Rsync("rsync", runner, place),
        "scp": lambda: Scp("scp", runner, place),
        "scp aes128-gcm": lambda: Scp("scp aes128-gcm", runner, place, "aes128-gcm@openssh.com"),
    }
    for name in row.against:
        try:
            found.append(makers[name]())
        except Skip as err:
            if str(err) not in notes:
                notes.append(str(err))
    return found


def figures_of(sample):
    sample["mb_per_s"] = sample["bytes"] / sample["elapsed_s"] / 1e6
    sample["cpu_s_per_gb"] = sample["cpu_s"] / (sample["bytes"] / 1e9)
    return sample
