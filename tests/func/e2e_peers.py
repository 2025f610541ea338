#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Peers that were accepted and then lie: destinations that answer a source with what no plan allows, and sources that send
control messages at the wrong time. The other side ends in bounded time, and one line says why. e2e_hostile.py has
strangers, blocks, keys and recorded sessions.
"""
import os
import re
import socket
import struct
import threading

import messages as m
import xdde2e as e
import xddhold
import xddports
import xddtest as t
import xddwire as w

REQUEST = 4096
SIZE = 16 * REQUEST
WORDS = ["-blocksize", REQUEST, "-reqsize", 1]
OLD = b"x" * SIZE
LIMIT_S = 60
SILENCE = "no WELCOME", "no more signs of life"
RED = b"\033[31mred\n\0"

if not w.xxhash():
    t.skip_all("the library xxHash is needed to compute checksums")


# Reasons, without the addresses and digests in them.
MALFORMED = "the %s sent a message whose contents are malformed"
NO_MESSAGE = "the %s sent bytes that are no message of xdd"
LENGTH = "the %s sent a message with a length out of range"
NOT_ALLOWED = "the %%s sent %s, which is not allowed %s"
NOT_AS_SENT = "pass 1 did not arrive as it was sent: the source sent "
SILENT = "the connection to the %s was lost: no sign of life for 5 s"


def fresh(name, data):
    path = t.path(name.replace("/", " "))
    with open(path, "wb") as f:
        f.write(data)
    return path


def judge(title, run, status, says):
    """One line says why; it has no escape sequence that would reach the terminal."""
    plain = re.sub(r" at 127\.0\.0\.1:\d+|(?<=digest )[0-9a-f]{32}|(?<=wrote )[0-9a-f]{32}", "", run.err)
    plain = [line for line in plain.splitlines() if not line.startswith("xdd: note: ")]
    t.equal((run.status, [line.partition(": ")[2].partition(": ")[2] for line in plain]), (status, [says]), title, run)


def together(functions, width=5):
    """The runs are independent: some at a time."""
    for i in range(0, len(functions), width):
        threads = [threading.Thread(target=f) for f in functions[i:i + width]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def result(ops=16, size=SIZE, digest=1):
    """The body of PASS_END and PASS_RESULT."""
    return w.result(ops, size, digest)


# Destinations


class Destination:
    """A destination up to READY, and beyond: what a source connects to."""

    def __init__(self):
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.listening.settimeout(LIMIT_S)
        self.port = self.listening.getsockname()[1]

    def accept(self, connection=w.CONTROL_CONNECTION):
        peer = w.Peer.__new__(w.Peer)
        peer.connection, peer.sent = connection, 0
        peer.socket, _ = self.listening.accept()
        peer.socket.settimeout(LIMIT_S)
        return peer

    def greet(self):
        self.control = self.accept()
        kind, body = self.control.receive()
        assert kind == w.HELLO, kind
        self.session = body[8:24]

    def welcome(self):
        self.greet()
        self.control.send(w.WELCOME, w.hello(w.CONTROL, self.session))
        assert self.control.receive()[0] == w.PLAN

    def ready(self):
        self.welcome()
        self.control.send(w.ACCEPT, w.plan(REQUEST, SIZE))
        self.control.send(w.READY)
        self.data = self.accept(0)
        self.data.receive()
        self.data.send(w.WELCOME, w.hello(w.TRANSFER, self.session))
        assert self.control.receive()[0] == w.PASS_BEGIN

    def take(self):
        self.ready()
        kind = None
        while kind != w.PASS_LAST:
            kind = self.data.receive()[0]
            assert kind is not None
        assert self.control.receive()[0] == w.PASS_END


def ranges(*pairs):
    """The body of ACCEPT that asks for these operations only."""
    body = w.plan(REQUEST, SIZE, flags=1 << 8)
    return body[:-4] + struct.pack("<I", len(pairs)) + b"".join(struct.pack("<QQ", *pair) for pair in pairs)


LIES = {
    "a WELCOME of another session": (MALFORMED,
        lambda d: (d.greet(), d.control.send(w.WELCOME, w.hello(w.CONTROL, b"n" * 16)))),
    "text": (NO_MESSAGE, lambda d: (d.greet(), d.control.send_raw(b"no message " * 100))),
    "an ACCEPT of 2^63 bytes": (LENGTH, lambda d: (d.welcome(), d.control.send(w.ACCEPT, length=1 << 63))),
    "an ACCEPT of another request size": ("the source sends requests of 4096 bytes, "
        "the destination expects 512: give both the same -reqsize and -blocksize",
        lambda d: (d.welcome(), d.control.send(w.ACCEPT, w.plan(512, SIZE)))),
    "operations outside of the plan": (MALFORMED, lambda d: (d.welcome(), d.control.send(w.ACCEPT, ranges((100, 50))))),
    "2^63 operations": (MALFORMED, lambda d: (d.welcome(), d.control.send(w.ACCEPT, ranges((1, (1 << 63) - 1))))),
    "operations that overlap": (MALFORMED, lambda d: (d.welcome(), d.control.send(w.ACCEPT, ranges((0, 8), (4, 8))))),
    "READY without ACCEPT": (NOT_ALLOWED % ("READY", "before the plans are exchanged"),
        lambda d: (d.welcome(), d.control.send(w.READY))),
    "READY in the place of WELCOME": (NOT_ALLOWED % ("READY", "before the answer to the first message"),
        lambda d: (d.greet(), d.control.send(w.READY))),
    "ACCEPT twice": (NOT_ALLOWED % ("ACCEPT", "while the destination opens its file"),
        lambda d: (d.welcome(), [d.control.send(w.ACCEPT, w.plan(REQUEST, SIZE)) for _ in "12"])),
    "a refusal in red letters": (MALFORMED,
        lambda d: (d.welcome(), d.control.send(w.ERROR, struct.pack("<I", 6) + RED))),
    "PASS_RESULT before its pass": (NOT_ALLOWED % ("PASS_RESULT", "before the plans are exchanged"),
        lambda d: (d.welcome(), d.control.send(w.PASS_RESULT, result(), pass_=1))),
    "another number of operations": (NOT_AS_SENT + "16 blocks, the destination wrote 5",
        lambda d: (d.take(), d.control.send(w.PASS_RESULT, result(ops=5), pass_=1))),
    "another digest": (NOT_AS_SENT + "data with the digest , the destination wrote ",
        lambda d: (d.take(), d.control.send(w.PASS_RESULT, result(), pass_=1))),
    "the result of another pass": ("the destination sent PASS_RESULT of pass 4 in pass 1",
        lambda d: (d.take(), d.control.send(w.PASS_RESULT, result(), pass_=4))),
    "an end before the result": ("the connection to the destination was closed by the destination before the end",
        lambda d: (d.take(), d.control.socket.close(), d.data.socket.close())),
    "no WELCOME": (SILENT, lambda d: d.greet()),
    "no more signs of life": (SILENT, lambda d: d.ready()),
}

# Those that are told in a pass.
LATE = ("another number of operations", "another digest", "the result of another pass", "an end before the result",
        "no more signs of life")


def limit(title):
    """Only silence is to end at the limit; it must not end a test that a busy machine delays."""
    return ["-e2e", "timeout", 5 if title in SILENCE else LIMIT_S]


def against_source(title, lie, data, results):
    d = Destination()
    side = e.Side("source", ["-targets", 1, data, "-op", "read", *WORDS, "-e2e", "issource", "-e2e", "destination",
                             "127.0.0.1:%d,1" % d.port, *limit(title)]).start()
    try:
        lie(d)
    except (OSError, AssertionError) as err:
        results[title + ": the lie is told"] = err
    side.finish(LIMIT_S)
    results[title] = side.run
    d.listening.close()


def test_destinations():
    data, results = fresh("data", os.urandom(SIZE)), {}
    together([lambda title=title, lie=lie: against_source(title, lie, data, results) for title, (_, lie) in LIES.items()])
    for title, (says, _) in LIES.items():
        t.equal(results.get(title + ": the lie is told"), None, title + ": the lie is told", results[title])
        judge(title, results[title], 6 if title in LATE else 4, says % "destination" if "%s" in says else says)


# Sources


class Source:
    """A source in pass 1."""

    def __init__(self, port):
        session = os.urandom(16)
        self.control = w.Peer(port)
        self.control.send(w.HELLO, w.hello(w.CONTROL, session))
        self.control.receive()
        self.control.send(w.PLAN, w.plan(REQUEST, SIZE))
        self.control.receive(), self.control.receive()
        self.data = w.Peer(port, 0)
        self.data.send(w.HELLO, w.hello(w.TRANSFER, session))
        self.data.receive()
        self.control.send(w.PASS_BEGIN, pass_=1)

    def close(self):
        self.control.socket.close()
        self.data.socket.close()


MOVES = {
    "a message of a destination": (NOT_ALLOWED % ("ACCEPT", "during a pass"),
        lambda s: s.control.send(w.ACCEPT, w.plan(REQUEST, SIZE))),
    "a second PLAN": (NOT_ALLOWED % ("PLAN", "during a pass"), lambda s: s.control.send(w.PLAN, w.plan(REQUEST, SIZE))),
    "a second PASS_BEGIN": (NOT_ALLOWED % ("PASS_BEGIN", "during a pass"),
        lambda s: s.control.send(w.PASS_BEGIN, pass_=2)),
    "BYE in a pass": (NOT_ALLOWED % ("BYE", "during a pass"), lambda s: s.control.send(w.BYE)),
    "control messages out of order": ("the source sent a message with a field out of range",
        lambda s: s.control.send(w.PASS_END, result(), pass_=1, sequence=9)),
    "the end of another pass": ("the source sent PASS_END of pass 9 in pass 1",
        lambda s: s.control.send(w.PASS_END, result(), pass_=9)),
    "an end without its blocks": (
        NOT_AS_SENT + "16 blocks, the destination wrote 0",
        lambda s: (s.data.send(w.PASS_LAST, pass_=1, sequence=0), s.control.send(w.PASS_END, result(), pass_=1))),
    "text after PASS_BEGIN": (NO_MESSAGE, lambda s: s.control.send_raw(b"no message " * 100)),
    "an error in red letters": (MALFORMED, lambda s: s.control.send(w.ERROR, struct.pack("<I", 6) + RED)),
    "no more signs of life": (SILENT, lambda s: None),
}


def against_destination(title, move, results):
    file, port = fresh("old " + title, OLD), xddports.free_ports(1)
    with xddhold.at("pass begun:1") as h:
        side = e.Side("destination", ["-targets", 1, file, "-op", "write", *WORDS, "-e2e", "isdestination", "-e2e",
                                      "destination", "127.0.0.1:%d,1" % port, *limit(title)]).start(h.env)
        assert side.await_err(m.E2E_WAITS, LIMIT_S)
        source = Source(port)
        h.wait(side.process)
    move(source)
    side.finish(LIMIT_S)
    source.close()
    with open(file, "rb") as f:
        results[title] = (side.run, f.read() == OLD)


def test_sources():
    results = {}
    together([lambda title=title, move=move: against_destination(title, move, results)
              for title, (_, move) in MOVES.items()])
    for title, (says, _) in MOVES.items():
        run, unchanged = results[title]
        judge(title, run, 6, says % "source" if "%s" in says else says)
        t.ok(unchanged, title + ": the file has all of its bytes", run)


if __name__ == "__main__":
    t.run(test_destinations, test_sources)
    t.done()
