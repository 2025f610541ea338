# SPDX-License-Identifier: GPL-2.0-or-later
"""Copies of files and trees through an sshd of our own: xddcp, scp, rsync and tar, and a bare loop. Used by run.

Times are those of the client, from start to end. Each copy goes to a directory that is empty, except where the row says
that the tree exists.

A virtual machine may give free memory back to its host ("free page reporting"): pages that were free for seconds are
expensive at their first use. Contenders alternate, and each begins when the files of the one before it are removed, so
that all find the memory in the same state.
"""
import dataclasses
import getpass
import os
import shlex
import shutil
import subprocess
import sys
import time

from commands import Broken, Skip, call, have
from network import STREAMS, TIMEOUT_S, Copier, Pair, free_ports

ADDRESS = "127.0.0.1"


@dataclasses.dataclass(frozen=True)
class Link:
    """The way to the sshd: words before its command, and its address."""
    prefix: tuple = ()
    address: str = ADDRESS


class Server:
    """Configuration and keys of an sshd, and of ssh to it."""

    def __init__(self, runner, binary):
        self.program = shutil.which("sshd") or ("/usr/sbin/sshd" if os.path.exists("/usr/sbin/sshd") else None)
        if not self.program or not have("ssh"):
            raise Skip("sshd or ssh is not installed")
        if not os.geteuid() and not os.path.isdir("/run/sshd"):
            os.mkdir("/run/sshd", 0o755)
        self.config = runner.path("files_sshd_config")
        self.key = runner.path("files_key")
        for key in (self.key, self.key + "_host"):
            if not os.path.exists(key):
                call(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key])
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("HostKey %s_host\nAuthorizedKeysFile %s.pub\nStrictModes no\nUsePAM no\nPidFile none\n"
                       "PasswordAuthentication no\nPermitRootLogin yes\nSubsystem sftp internal-sftp\n"
                       "SetEnv PATH=%s:/usr/bin:/bin\n" % (self.key, self.key, os.path.dirname(os.path.abspath(binary))))

    def daemon(self, port, link):
        return [*link.prefix, self.program, "-D", "-e", "-f", self.config, "-p", str(port),
                "-o", "ListenAddress=" + link.address]

    def options(self, port_option, port, cipher=None):
        return ["-F", "none", "-i", self.key, port_option, str(port), "-o", "BatchMode=yes",
                "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
                *(["-c", cipher] if cipher else [])]

    def ssh(self, port):
        return ["ssh", *self.options("-p", port)]


class FilesCopier(Copier):
    """`place` is (source, parent of the destination, bytes); the copy of source is below destination, under its name."""

    def __init__(self, name, runner, place, server, link=Link(), exists=False):
        super().__init__(name, runner, place)
        self.server = server
        self.link = link
        self.exists = exists
        self.pair = Pair(runner.directory)
        self.tree = os.path.isdir(self.source)
        self.where = os.path.join(self.destination, name.replace(" ", "-"))

    def command(self, port):
        """The words of the client."""
        raise NotImplementedError

    def host(self):
        return "%s@%s" % (getpass.getuser(), self.link.address)

    def clear(self):
        if not self.exists:
            # Those of the others too: there is not always memory for several.
            for name in os.listdir(self.destination):
                shutil.rmtree(os.path.join(self.destination, name))
        os.makedirs(self.where, exist_ok=True)

    def copy(self):
        self.clear()
        port = free_ports(1)
        self.words = self.command(port)
        self.prepare(port)
        if self.link.prefix:
            done = self.far(port)
        else:
            done = self.pair.run(self.server.daemon(port, self.link), self.words, port, server_ends=False)
        return {"bytes": self.size, "elapsed_s": done.wall_s, "cpu_s": done.cpu_s, "wall_ms": done.wall_s * 1e3}

    def prepare(self, port):
        """Make the state that a copy finds at its destination."""

    def far(self, port):
        """The same where the sshd is in another network: whether it listens is asked there."""
        raise NotImplementedError

    def check(self):
        copy = os.path.join(self.where, os.path.basename(self.source))
        done = subprocess.run(["diff", "-rq", "--no-dereference", self.source, copy], stdin=subprocess.DEVNULL,
                              capture_output=True, check=False, text=True)
        if done.returncode:
            raise Broken("%s made a wrong copy: %s" % (self.name, (done.stdout + done.stderr)[:200]))


class Xddcp(FilesCopier):
    """xdd copy; `options` are its own."""

    def __init__(self, name, runner, place, server, binary, options=(), **kwargs):
        super().__init__(name, runner, place, server, **kwargs)
        self.binary = binary
        self.options = list(options)

    def command(self, port):
        return [self.binary, "copy", "-q", "-S", " ".join(self.server.ssh(port)), *(["-r"] if self.tree else []),
                *self.options, self.source, "%s:%s/" % (self.host(), self.where)]


class Resumed(Xddcp):
    """xdd copy -R of one file, of which an interrupted copy has a share."""

    def __init__(self, *args, share, **kwargs):
        super().__init__(*args, **kwargs)
        self.share = share

    def prepare(self, port):
        self.pair.run(self.server.daemon(port, self.link), self.words, port, server_ends=False, until=self.has_share)
        if not self.parts():
            raise Broken("the copy that was to be interrupted was complete before")

    def parts(self):
        return [entry.stat().st_blocks * 512 for entry in os.scandir(self.where) if entry.name.endswith(".part")]

    def has_share(self):
        return any(size >= self.share * self.size for size in self.parts())


class Rsync(FilesCopier):
    """rsync over ssh."""

    def command(self, port):
        if not have("rsync"):
            raise Skip("rsync is not installed")
        return ["rsync", "-a", "-W", "-e", " ".join(self.server.ssh(port)), self.source, "%s:%s/" % (self.host(), self.where)]


class Tar(FilesCopier):
    """tar c | ssh tar x."""

    def command(self, port):
        parent, name = os.path.split(self.source)
        return ["sh", "-c", 'c=$1 s=$2 n=$3; shift 3; tar -C "$c" -cf - "$n" | "$@" "tar -C \'$s\' -xf -"', "sh", parent,
                self.where, name, *self.server.ssh(port), self.host()]


class Scp(FilesCopier):
    """scp -p, with a cipher of its choice."""

    def __init__(self, *args, cipher=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.cipher = cipher

    def command(self, port):
        if not have("scp"):
            raise Skip("scp is not installed")
        return ["scp", "-q", "-p", *(["-r"] if self.tree else []), *self.server.options("-P", port, self.cipher),
                self.source, "%s:%s/" % (self.host(), self.where)]


class Loop(FilesCopier):
    """limit_network.c into a new file, without ssh. Its pages are allocated as they are written, like those of a copy."""

    def command(self, port):
        return [self.runner.compile("limit_network"), "-t", str(STREAMS), "-p", str(self.size), "-f", self.source,
                "-g", os.path.join(self.where, os.path.basename(self.source))]

    def copy(self):
        self.clear()
        self.words = self.command(0)
        with open(self.words[-1], "wb") as file:
            file.truncate(self.size)
        out, _ = self.runner.run(self.words, TIMEOUT_S)
        count, elapsed_s, cpu_s = out.split()
        return {"bytes": int(count), "elapsed_s": float(elapsed_s), "cpu_s": float(cpu_s), "wall_ms": float(elapsed_s) * 1e3}


class TreeLoop(FilesCopier):
    """limit_files.c, started by ssh: it has the time of the login, and no data crosses a network."""

    def command(self, port):
        copy = os.path.join(self.where, os.path.basename(self.source))
        return [*self.server.ssh(port), self.host(),
                shlex.join([self.runner.compile("limit_files"), "-t", str(os.cpu_count()), self.source, copy])]


class Ssh(FilesCopier):
    """ssh alone: what a copy cannot be faster than."""

    def command(self, port):
        return [*self.server.ssh(port), self.host(), "true"]

    def check(self):
        pass


class Network:
    """Two namespaces with a link of a given delay between them; the client is in one, the sshd in the other."""

    def __init__(self, round_trip_ms):
        sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
        import xddnet as net  # pylint: disable=import-outside-toplevel,import-error
        why = net.why_not()
        if why:
            raise Skip(why)
        self.a, self.b = net.namespace("bencha"), net.namespace("benchb")
        self.link = net.link(self.a, self.b, ["10.77.%d.1/24" % round_trip_ms], ["10.77.%d.2/24" % round_trip_ms],
                             "delay=%d" % (round_trip_ms // 2))
        self.address = "10.77.%d.2" % round_trip_ms


class FarXddcp(Xddcp):
    """xdd copy over a link."""

    def __init__(self, *args, network, **kwargs):
        super().__init__(*args, link=Link(tuple(network.b.words()), network.address), **kwargs)
        self.network = network

    def command(self, port):
        return self.network.a.words(*super().command(port))

    def far(self, port):
        daemon = subprocess.Popen(self.server.daemon(port, self.link), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.network.b.wait_for_port(port)
            start = time.monotonic()
            done = subprocess.run(self.words, stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True,
                                  timeout=120)
            wall_s = time.monotonic() - start
        finally:
            daemon.kill()
            daemon.wait()
        if done.returncode:
            raise Broken("status %d: %s" % (done.returncode, done.stderr.strip()[:200]))
        return dataclasses.make_dataclass("Far", ["wall_s", "cpu_s"])(wall_s, 1e-9)


def contenders(row, runner, binary, place, notes):
    """Those of a row, xdd first. What is missing goes to `notes`, except xdd."""
    server = Server(runner, binary)
    common = (runner, place, server)
    if row.round_trip_ms:
        found = [FarXddcp("xdd", *common, binary, network=Network(row.round_trip_ms)),
                 FarXddcp("xdd near", *common, binary, network=Network(0))]
        return found
    if row.share:
        found = [Resumed("xdd", *common, binary, row.options, share=row.share)]
    else:
        found = [Xddcp("xdd", *common, binary, row.options, exists=row.exists)]
    makers = {
        "loop": lambda: (TreeLoop if row.count > 1 else Loop)("loop", *common),
        "rsync": lambda: Rsync("rsync", *common, exists=row.exists),
        "tar": lambda: Tar("tar", *common),
        "scp": lambda: Scp("scp", *common),
        "scp aes128-gcm": lambda: Scp("scp aes128-gcm", *common, cipher="aes128-gcm@openssh.com"),
        "ssh": lambda: Ssh("ssh", *common),
        "whole": lambda: Xddcp("whole", *common, binary, row.options),
        "trust": lambda: Resumed("trust", *common, binary, (*row.options, "-trust"), share=row.share),
    }
    for name in row.against:
        try:
            copier = makers[name]()
            copier.command(1)
            found.append(copier)
        except Skip as err:
            if str(err) not in notes:
                notes.append(str(err))
    return found


def checked(copier):
    """One copy, to warm up, whose result is compared with the source."""
    copier.copy()
    copier.check()


def make_tree(directory, count, size):
    """`count` files of `size` bytes in directories of 100, with contents that differ."""
    block = os.urandom(size + 4096)
    for i in range(count):
        if i % 100 == 0:
            where = os.path.join(directory, "d%02d" % (i // 10000), "e%02d" % (i // 100 % 100))
            os.makedirs(where)
        with open(os.path.join(where, "f%05d" % i), "wb", buffering=0) as file:
            file.write(block[i % 4096:i % 4096 + size])
