# SPDX-License-Identifier: GPL-2.0-or-later
"""Helpers for functional tests of end-to-end copies: two runs of xdd, over loopback unless a test says otherwise.

    copy = e.Copy(source_file, destination_file, ports=4).run()
    t.equal(copy.statuses(), (0, 0), ...)

Both runs are bounded in time; what is left of them is killed.
"""
import filecmp
import json
import os
import re
import signal
import subprocess
import threading
import time

import messages as m
import xddports
import xddtest as t

TIMEOUT = 60


def host_text(address):
    return "[%s]" % address if ":" in address else address


def to(addresses):
    """The options that name these addresses of the destination."""
    return [word for address in addresses for word in ("-e2e", "destination", address)]


def random_file(name, size):
    """A file of random bytes; its path."""
    file = t.path(name)
    with open(file, "wb") as f:
        f.write(t.noise(size))
    return file


def same_files(a, b):
    """True: both exist and are equal."""
    return os.path.exists(a) and os.path.exists(b) and filecmp.cmp(a, b, shallow=False)


class Side:
    """One side of a copy: a process, and later its outcome as a t.Run."""

    def __init__(self, name, words):
        self.name, self.words = name, [str(word) for word in words]
        self.process = None
        self.run = None
        self.output = {}

    def start(self, env=None, prefix=()):
        full = dict(os.environ, LC_ALL="C")
        full.update(env or {})
        self.begin = time.monotonic()
        self.process = subprocess.Popen(list(prefix) + t.xdd_words(*self.words), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=full, start_new_session=True)
        self.readers = [threading.Thread(target=self._read, args=(which,)) for which in ("stdout", "stderr")]
        self.output = {"stdout": b"", "stderr": b""}
        for reader in self.readers:
            reader.start()
        return self

    def _read(self, which):
        stream = getattr(self.process, which)
        while True:
            data = os.read(stream.fileno(), 65536)
            if not data:
                break
            self.output[which] += data

    def err(self):
        """Standard error up to now."""
        return self.output["stderr"].decode(errors="replace")

    def await_err(self, pattern, timeout=20):
        """Wait until standard error has a line that matches. True: it has."""
        t.until(lambda: re.search(pattern, self.err(), re.M), self.process, timeout)
        if self.process.poll() is not None:
            for reader in self.readers:
                reader.join(5)
        return re.search(pattern, self.err(), re.M) is not None

    def signal(self, sig):
        self.process.send_signal(sig)

    def finish(self, timeout=TIMEOUT, warns=()):
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            status = "timeout"
        for reader in self.readers:
            reader.join()
        self.seconds = time.monotonic() - self.begin
        self.process.stdout.close()
        self.process.stderr.close()
        self.run = t.Run(self.words, status, self.output["stdout"].decode(errors="replace"), self.err())
        t.check_warnings(self.run, warns, (m.E2E_NO_KEY,))
        return self.run

    def kill(self):
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)


class Copy:
    """
    A copy of `source` to `destination`, names of targets or lists of them. `both`, `reads` and `writes` are further
    words for both sides, the source and the destination. `ports` are connections on `address`; or `addresses` are all
    addresses, as -e2e destination has them, and `through` those that the source is given instead. `waits` has the
    source start once the destination listens, else both start at once, or the source `early` seconds before. They run
    in `namespaces` of xddnet, (source, destination).
    """

    def __init__(self, source, destination, both=(), reads=(), writes=(), ports=1, address="127.0.0.1", early=None,
                 waits=True, port=None, warns_source=(), warns_destination=(), env=None, prefix_source=(),
                 prefix_destination=(), timeout=TIMEOUT, addresses=None, through=None, namespaces=None):
        self.source_files = [source] if isinstance(source, str) else list(source)
        self.destination_files = [destination] if isinstance(destination, str) else list(destination)
        if not addresses:
            self.port = port or xddports.free_ports(ports, address)
            addresses = ["%s:%d,%d" % (host_text(address), self.port, ports)]
        there, where = to(through or addresses), to(addresses)
        self.source = Side("source", ["-targets", len(self.source_files), *self.source_files, "-op", "read", *both,
                                      "-e2e", "issource", *there, *reads])
        self.destination = Side("destination", ["-targets", len(self.destination_files), *self.destination_files, "-op",
                                                "write", *both, "-e2e", "isdestination", *where, *writes])
        self.early, self.waits, self.env, self.timeout = early, waits, env, timeout
        self.warns = {"source": warns_source, "destination": warns_destination}
        self.prefix = {"source": list(prefix_source), "destination": list(prefix_destination)}
        if namespaces:
            self.prefix = {side: ns.words() + self.prefix[side] for side, ns in zip(("source", "destination"), namespaces)}

    def start(self):
        sides = [self.destination, self.source]
        if self.early is not None:
            sides.reverse()
        for i, side in enumerate(sides):
            side.start(self.env, self.prefix[side.name])
            if i == 0 and self.early is not None:
                time.sleep(self.early)
            elif i == 0 and self.waits:
                side.await_err(m.E2E_WAITS)
        return self

    def finish(self, timeout=None):
        for side in (self.source, self.destination):
            side.finish(timeout or self.timeout, self.warns[side.name])
        return self

    def run(self):
        return self.start().finish()

    def statuses(self):
        """Of the source and of the destination."""
        return self.source.run.status, self.destination.run.status

    def same(self):
        """True: all files are equal."""
        return all(filecmp.cmp(a, b, shallow=False) for a, b in zip(self.source_files, self.destination_files))

    def __str__(self):
        return "source:\n%s\ndestination:\n%s" % (self.source.run, self.destination.run)


def document(path):
    with open(path) as f:
        return json.load(f)
