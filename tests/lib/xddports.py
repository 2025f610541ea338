# SPDX-License-Identifier: GPL-2.0-or-later
"""Ports for what tests listen on."""

import os
import random
import socket
import threading

# Below the range that the kernel takes ports of outgoing connections from.
LOWEST_PORT, HIGHEST_PORT = 12000, 32000
# Each process draws from a range of its own, of so many ports: 200 processes, of several suites side by side.
RANGE = 100
_drawing = threading.Lock()
_range = None       # a socket whose name reserves the range, and the first port of it
_last_range = None  # the one before: a thread may be about to listen on a port that it drew there
_drawn = 0          # ports of it that were drawn


def _own_range():
    """Reserve a range: another test could draw a port that is not listened on yet."""
    bases = list(range(LOWEST_PORT, HIGHEST_PORT, RANGE))
    random.shuffle(bases)
    for base in bases:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            s.bind("\0xddtest-ports-%d" % base)
            return s, base
        except OSError:
            s.close()
    raise RuntimeError("other tests have reserved all ports")


def _leave_range():
    """In a child process, which draws from one of its own."""
    global _range, _last_range
    _range = _last_range = None


os.register_at_fork(after_in_child=_leave_range)


def _draw(n):
    """The first of `n` ports in a row. A range that is used up is left: connections that have ended hold its ports."""
    global _range, _last_range, _drawn
    with _drawing:
        if _range is None or _drawn + n > RANGE:
            _last_range, _range, _drawn = _range, _own_range(), 0
        _drawn += n
        return _range[1] + _drawn - n


def listeners(n, address="127.0.0.1"):
    """Sockets that listen on `n` free ports in a row: nothing else can take one between the choice and its use."""
    for _ in range(200):
        base = _draw(n)
        held = []
        try:
            for port in range(base, base + n):
                held.append(socket.create_server((address, port)))
            return held
        except OSError:
            for s in held:
                s.close()
    raise RuntimeError("no %d free ports in a row on %s" % (n, address))


def free_ports(n, address="127.0.0.1"):
    """The first of `n` ports in a row on which nothing listens, and that no other call or process gets soon."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for _ in range(200):
        base = _draw(n)
        held = []
        try:
            for port in range(base, base + n):
                s = socket.socket(family, socket.SOCK_STREAM)
                held.append(s)
                s.bind((address, port))
            return base
        except OSError:
            continue
        finally:
            for s in held:
                s.close()
    raise RuntimeError("no %d free ports in a row on %s" % (n, address))
