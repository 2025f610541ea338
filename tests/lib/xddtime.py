# SPDX-License-Identifier: GPL-2.0-or-later
"""
Global time for functional tests: the message (doc/globaltime.md), and a server with a clock of the test's own, which may
drift, step, and lose messages.

    python3 xddtime.py [port=N] [address=A] [base=NS] [ppm=X] [slow_us=N] [lost=PERCENT] [hold=NS]

prints its port, and reads lines from standard input: "step=NS" sets its clock, "lost=100" makes it silent, "id" gives it
another id, as if it was started again, "hold=NS" has it say that it sends answers so much later than it does. Each has the
answer "ok", "answers=N" once it has sent so many.
"""
import random
import socket
import struct
import sys
import threading
import time

from xddcrc import crc32c

BYTES = 64
REQUEST, REPLY = 1, 2
FORM = struct.Struct("<4sHHQQQQQ12sI")


def encode(kind=REQUEST, nonce=1, client=0, received=0, sent=0, server=0, magic=b"XDDT", version=1, zero=bytes(12)):
    body = FORM.pack(magic, version, kind, nonce, client, received, sent, server, zero, 0)[:-4]
    return body + struct.pack("<I", crc32c(body))


def decode(data):
    """A dictionary, or None: `data` is no message."""
    if len(data) != BYTES:
        return None
    magic, version, kind, nonce, client, received, sent, server, zero, crc = FORM.unpack(data)
    if magic != b"XDDT" or version != 1 or zero != bytes(12) or crc != crc32c(data[:-4]):
        return None
    return dict(kind=kind, nonce=nonce, client=client, received=received, sent=sent, server=server)


class Clock:
    """base + (CLOCK_MONOTONIC - origin) * (1 + ppm), in whole nanoseconds."""

    def __init__(self, base, ppm, origin=None):
        self.base, self.ppm = base, ppm
        self.origin = time.monotonic_ns() if origin is None else origin

    def at(self, monotonic_ns):
        past = monotonic_ns - self.origin
        # In integers: a double would round by hundreds of nanoseconds.
        return self.base + past + past * round(self.ppm * 1000) // 10**9

    def now(self):
        return self.at(time.monotonic_ns())


class Server:
    """Serves a Clock, with one thread."""

    def __init__(self, clock, address="127.0.0.1", port=0, slow_us=0, lost=0, hold=0):
        self.clock, self.slow_us, self.lost, self.hold = clock, slow_us, lost, hold
        self.random, self.id = random.Random(port), random.getrandbits(63) | 1
        self.requests = self.answers = 0
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.bind((address, port))
        self.port = self.socket.getsockname()[1]

    def start(self):
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def serve(self):
        while True:
            self.turn()

    def turn(self):
        data, peer = self.socket.recvfrom(BYTES + 1)
        received = self.clock.now()
        message = decode(data)
        self.requests += message is not None
        if not message or self.random.random() * 100 < self.lost:
            return
        if self.slow_us:
            time.sleep(self.slow_us / 1e6)
        sent = self.clock.now() + self.hold
        answer = encode(REPLY, message["nonce"], message["client"], received, sent, self.id)
        self.socket.sendto(answer, peer)
        self.answers += 1


def _main():
    words = dict(word.split("=") for word in sys.argv[1:])
    clock = Clock(int(words.pop("base", time.time_ns())), float(words.pop("ppm", 0)),
                  int(words["origin"]) if "origin" in words else None)
    words.pop("origin", None)
    address = words.pop("address", "127.0.0.1")
    server = Server(clock, address, **{name: int(value) for name, value in words.items()})
    print(server.port, flush=True)
    server.start()
    for line in sys.stdin:
        for word in line.split():
            name, _, value = word.partition("=")
            if name == "id":
                server.id += 2
            elif name == "lost":
                server.lost = int(value)
            elif name == "hold":
                server.hold = int(value)
            elif name == "step":
                clock.base += int(value)
            elif name == "answers":
                while server.answers < int(value):
                    time.sleep(0.005)
        print("ok", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    _main()
