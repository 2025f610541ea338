"""Both sides of an end-to-end copy, and what may stand between them, for functional tests.

    port = c.free_ports(4)
    to = c.to("127.0.0.1:%d,4" % port)
    src, dst = c.both(["-op", "read", "-targets", 1, file, ...], ["-op", "write", ...], to)

With `ns`, two namespaces of xddnet.py, the sides run there: ns=(source, destination).
"""
import atexit
import filecmp
import os
import random
import socket
import threading
import xddnet as net
import xddtest as t

# Without a key, the destination warns that any process that reaches the port can write.
UNPROTECTED = r"-e2e key"
t.tolerate(UNPROTECTED)


def free_ports(n, host="127.0.0.1"):
    """The first of `n` consecutive free ports, below those that the kernel assigns by itself."""
    for _ in range(200):
        base = random.randrange(10000, 32000 - n)
        try:
            for port in range(base, base + n):
                with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as s:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    s.bind((host, port))
        except OSError:
            continue
        return base
    raise RuntimeError("no %d consecutive free ports" % n)


def to(*addresses):
    """-e2e destination for each of them."""
    return [word for address in addresses for word in ("-e2e", "destination", address)]


def write_random(name, size, seed=1):
    """A file with `size` bytes that do not repeat; its path."""
    file, r = t.path(name), random.Random(seed)
    with open(file, "wb") as f:
        while size > 0:
            f.write(r.randbytes(min(size, 1 << 20)))
            size -= 1 << 20 if size > 1 << 20 else size
    return file


def equal_files(a, b):
    try:
        return filecmp.cmp(a, b, shallow=False)
    except OSError:
        return False


def start_side(role, words, more=(), ns=None, env=None):
    """Start one side, role "source" or "destination"; the net.Started. `more` stands at the end."""
    command = t.xdd_words(*words, "-e2e", "is" + role, *more)
    return ns.start(*command, env=env) if ns else net.Started(command, env=env)


class Sides:
    """Both sides in the background: `source` and `destination`."""

    def __init__(self, source, destination, more, ns=(None, None), env=({}, {}), first="destination", peer_more=None):
        def begin(role):
            if role == "source":
                self.source = start_side(role, source, more, ns[0], env[0])
            else:
                self.destination = start_side(role, destination, peer_more or more, ns[1], env[1])
        begin(first)
        begin("source" if first == "destination" else "destination")

    def end(self, timeout=t.TIMEOUT, warns=((), ()), tolerate=((), ())):
        """The outcomes of source and destination; `timeout` for each."""
        return (self.source.end(timeout, warns[0], tolerate[0]), self.destination.end(timeout, warns[1], tolerate[1]))


def both(source, destination, more, timeout=t.TIMEOUT, warns=((), ()), tolerate=((), ()), **kwargs):
    """Run both sides until they end: source, destination."""
    return Sides(source, destination, more, **kwargs).end(timeout, warns, tolerate)


class Proxy:
    """
    Forwards TCP from ports `base`, `base` + 1, ... on 127.0.0.1 to those from `target` on, and inverts one bit of
    one byte: `flip` = (stream, offset, bit). A stream is (number of the port, number of the connection on it, way), way
    "up" from the side that connects, or "down". `sizes` counts the bytes of each stream, `flipped` is true once it is
    done.
    """

    def __init__(self, target, n, flip=None):
        self.base = free_ports(n)
        self.sizes, self.flipped = {}, False
        self._flip, self._target = flip, target
        self._sockets, self._threads, self._lock = [], [], threading.Lock()
        atexit.register(self.close)
        for port in range(n):
            listener = socket.create_server(("127.0.0.1", self.base + port))
            self._sockets.append(listener)
            self._thread(self._accept, port, listener)

    def _thread(self, function, *args):
        thread = threading.Thread(target=function, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self, port, listener):
        connection = 0
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self._target + port), timeout=20)
            except OSError:
                near.close()  # the source tries again
                continue
            for s in (near, far):
                s.settimeout(None)
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._sockets += [near, far]
            self._thread(self._forward, (port, connection, "up"), near, far)
            self._thread(self._forward, (port, connection, "down"), far, near)
            connection += 1

    def _forward(self, stream, a, b):
        at = 0
        try:
            while True:
                data = a.recv(1 << 18)
                if not data:
                    b.shutdown(socket.SHUT_WR)
                    return
                if self._flip and self._flip[0] == stream and at <= self._flip[1] < at + len(data):
                    data = bytearray(data)
                    data[self._flip[1] - at] ^= 1 << self._flip[2]
                    self.flipped = True
                at += len(data)
                self.sizes[stream] = at
                b.sendall(data)
        except OSError:
            for s in (a, b):
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def close(self):
        with self._lock:
            sockets, self._sockets = self._sockets, []
        for s in sockets:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()


def remove(*names):
    for name in names:
        try:
            os.unlink(name)
        except FileNotFoundError:
            pass
