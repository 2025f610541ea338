# SPDX-License-Identifier: GPL-2.0-or-later
"""A proxy between the sides of an end-to-end copy, for functional tests."""
import atexit
import socket
import threading
import xddports


class Proxy:
    """
    Forwards TCP from ports `base`, `base` + 1, ... on 127.0.0.1 to those from `target` on, and inverts one bit of
    one byte: `flip` = (stream, offset, bit). A stream is (number of the port, number of the connection on it, way), way
    "up" from the side that connects, or "down". `sizes` counts the bytes of each stream, `flipped` is true once it is
    done.
    """

    def __init__(self, target, n, flip=None):
        self._sockets = xddports.listeners(n)
        self.base = self._sockets[0].getsockname()[1]
        self.sizes, self.flipped = {}, False
        self._flip, self._target = flip, target
        self._threads, self._lock = [], threading.Lock()
        atexit.register(self.close)
        for port, listener in enumerate(list(self._sockets)):
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
