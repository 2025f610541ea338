#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Peers of an end-to-end destination that do what xdd never does: strangers that send garbage, nothing or too much, sources
whose blocks lie outside of their plan, peers without the key, and recorded sessions. The file of the destination keeps
every byte, the real copy goes on, and both sides get words.
"""
import os
import re
import signal
import socket
import threading

import messages as m
import xdde2e as e
import xddhold
import xddports
import xddsys
import xddtest as t
import xddwire as w

KIB = 1 << 10
REQUEST = 64 * KIB
WORDS = ["-blocksize", REQUEST, "-reqsize", 1]
OLD = b"the contents before" * 1000

if not w.xxhash():
    t.skip_all("the library xxHash is needed to compute checksums")
t.tolerate(m.E2E_REFUSED)


def old_file(name):
    """A file whose contents a refused peer may not change."""
    path = t.path(name)
    with open(path, "wb") as f:
        f.write(OLD)
    return path


def contents(path):
    with open(path, "rb") as f:
        return f.read()


def source_file(size=20 * REQUEST + 5):
    path = t.path("source.%d" % size)
    if not os.path.exists(path):
        with open(path, "wb") as f:
            f.write(os.urandom(size))
    return path


def key_file(name, text):
    path = t.path(name)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
        f.write(text)
    return path


class Destination:
    """A copy of which the destination runs; the source does once copy() is called."""

    def __init__(self, name, both=(), ports=1, env=None):
        self.file = old_file(name)
        self.copy = e.Copy(source_file(), self.file, [*WORDS, *both], ports=ports, timeout=30)
        self.port, self.side = self.copy.port, self.copy.destination
        self.side.start(env)
        self.side.await_err(e.m.E2E_WAITS)

    def unchanged(self, title):
        t.ok(contents(self.file) == OLD, title + ": the file has all of its bytes")

    def copies(self, title):
        """The destination still takes the real source."""
        self.copy.source.start()
        self.copy.finish()
        t.equal(self.copy.statuses() + (self.copy.same(),), (0, 0, True), title + ": the real copy ends well", self.copy)


# Strangers


def stranger(port, connection=w.CONTROL_CONNECTION, raw=None, body=b"", **fields):
    """A Peer that has sent a first message. `raw`: these bytes instead."""
    p = w.Peer(port, connection, timeout=t.TIMEOUT / 2)
    if raw is None:
        p.send(fields.pop("kind", w.HELLO), body=body, **fields)
    else:
        p.send_raw(raw)
    return p


def answer(p):
    """The text of the refusal, or "closed"; "open" when no answer comes in time."""
    with p:
        try:
            kind, body = p.receive()
        except (socket.timeout, TimeoutError):
            return "open"
        except (BrokenPipeError, ConnectionResetError):
            return "closed"
    return "closed" if kind is None else w.error_text(body) if kind == w.ERROR else "type %d" % kind


def is_open(p):
    """The destination has neither sent anything nor closed the connection."""
    timeout = p.socket.gettimeout()
    p.socket.setblocking(False)
    try:
        p.socket.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        p.socket.settimeout(timeout)
    return False


CONTROL_HELLO = w.hello(w.CONTROL) if w.xxhash() else b""
DATA_HELLO = w.hello(w.TRANSFER, bytes(range(16))) if w.xxhash() else b""


def refused(d):
    """No time passes between a connection and its message: the destination is stopped until all have been sent."""
    cases = [
        ("text", "closed", {"raw": b"GET / HTTP/1.1\r\nHost: one\r\n\r\n" * 4}),
        ("another version", "version %d of the protocol, the destination version %d" % (w.VERSION + 1, w.VERSION),
         {"body": CONTROL_HELLO, "version": w.VERSION + 1}),
        ("a body with a wrong digest", "closed", {"body": CONTROL_HELLO, "digest_": (1, 2)}),
        ("a body that does not parse", "closed", {"body": b"\xff" * 40}),
        ("a plan first", "closed", {"kind": w.PLAN, "body": w.plan(REQUEST, 10 * REQUEST)}),
        ("a purpose that does not fit the connection", "closed", {"body": CONTROL_HELLO, "connection": 0}),
        ("a target that there is not", "fewer end-to-end targets than the source", {"body": CONTROL_HELLO, "target": 7}),
        ("a data connection of no session", "knows no such session", {"body": DATA_HELLO, "connection": 0}),
        ("a code where there is no key", "knows no such session", {"body": DATA_HELLO, "connection": 0, "code": b"c" * 16}),
    ]
    t.ok(xddsys.stop(d.side.process.pid), "the destination stands still")
    peers = [stranger(d.port, **fields) for _, _, fields in cases]
    d.side.signal(signal.SIGCONT)
    for (title, expected, _), p in zip(cases, peers):
        got = answer(p)
        t.ok(re.search(expected, got), "a stranger that sends %s is refused" % title, "expected: %s\ngot: %s" % (expected, got))
    p = stranger(d.port, raw=b"")
    p.socket.shutdown(socket.SHUT_WR)
    t.equal(answer(p), "closed", "a stranger that ends its connection is forgotten")


def turned_away(d, late):
    """Strangers that do not send all of a message."""
    message = w.header(w.HELLO, body=CONTROL_HELLO)
    peers = [stranger(d.port, raw=raw) for raw in (b"", message[:50], message)]
    late.wait(d.side.process)
    t.equal([is_open(p) for p in peers], [True] * 3,
            "strangers that send nothing, half of a header, or no body are waited for")
    late.go()
    for _ in peers[1:]:
        late.wait(d.side.process)
        late.go()
    t.equal([answer(p) for p in peers], ["closed"] * 3, "and are turned away once they are late")


def test_strangers():
    # None of those that are refused is turned away because it is late: the destination would be held there.
    with xddhold.at("stranger late") as late:
        d = Destination("strangers", env=late.env)
        refused(d)
        turned_away(d, late)
    d.unchanged("strangers")
    d.copies("after strangers")
    t.ok(re.search(m.E2E_REFUSED, d.side.err(), re.M), "a warning says that connections were refused", d.side.run)


# Sources that are no strangers any more


class Source:
    """A source that has met the destination: it may send blocks of pass 1 on data connection 0."""

    def __init__(self, port, size=10 * REQUEST, **plan):
        session = os.urandom(16)
        self.control, self.session = w.Peer(port), session
        self.control.send(w.HELLO, w.hello(w.CONTROL, session))
        self.answers = [self.control.receive()[0]]
        self.control.send(w.PLAN, w.plan(REQUEST, size, **plan))
        self.answers += [self.control.receive()[0], self.control.receive()[0]]
        self.data = w.Peer(port, 0)
        self.data.send(w.HELLO, w.hello(w.TRANSFER, session))
        self.answers.append(self.data.receive()[0])
        self.control.send(w.PASS_BEGIN, pass_=1)

    def block(self, op, kind=w.DATA, body=b"b" * REQUEST, **fields):
        fields.setdefault("offset", op * REQUEST)
        fields.setdefault("pass_", 1)
        self.data.send(kind, body, sequence=op, **fields)

    def says(self, title, d, expected, statuses=(6,)):
        """The destination ends with one of these statuses and this reason, which it tells the source too."""
        words = self.last_words()
        self.close()
        run = d.side.finish(20)
        plain = re.sub(r"( at )?127\.0\.0\.1:\d+", "", words)
        t.equal((run.status in statuses, run.error_lines()[1:], plain), (True, ["xdd: target 0, %s: %s" % (d.file, words)], expected),
                title + ": both sides get the reason", run)

    def last_words(self):
        """The text of the ERROR on the control connection. The destination waits a second for close()."""
        try:
            kind, body = self.control.receive()
        except (socket.timeout, TimeoutError):
            return "nothing"
        return w.error_text(body) if kind == w.ERROR else "type %s" % kind

    def close(self):
        self.control.socket.close()
        self.data.socket.close()


BODY = b"b" * REQUEST
OUTSIDE = "the source sent DATA %d of pass 1 on connection 0, which is not within its plan"
BLOCKS = [
    ("beyond the plan", OUTSIDE % 0, lambda s: s.block(0, offset=10 * REQUEST)),
    ("with a wrong digest", "block at byte 0 of the copy arrived damaged (connection 0, from )", lambda s: s.block(0, digest_=w.digest(b"other"))),
    ("with a wrong checksum of its header", "the source sent a header with a wrong checksum on connection 0", lambda s: s.block(0, checksum=1)),
    ("with a code", "the source sent a message with a wrong authentication code on connection 0", lambda s: s.block(0, code=b"c" * 16)),
    ("of another version", "the source sent a message of another version of the protocol on connection 0",
     lambda s: s.block(0, version=w.VERSION + 1)),
    ("of no known type", "the source sent a message of an unknown type on connection 0", lambda s: s.block(0, kind=99)),
    ("that is no message", "the source sent bytes that are no message of xdd on connection 0", lambda s: s.data.send_raw(b"garbage " * 100)),
    ("on the control connection", "the source sent a message with a length out of range", lambda s: s.control.send(w.DATA, BODY, pass_=1)),
]


def test_blocks():
    """
    Each kind of fault with its words, status and file, a destination for each: unit/test_session_hostile and
    unit/test_wire have the bounds.
    """
    for title, expected, send in BLOCKS:
        title = "a block " + title
        d = Destination("blocks")
        s = Source(d.port)
        t.equal(s.answers, [w.WELCOME, w.ACCEPT, w.READY, w.WELCOME], title + ": the session is as a real one before it")
        send(s)
        # A control message may come before the QThreads have joined, which is still the start of the run.
        s.says(title, d, expected, (4, 6) if "control" in title else (6,))
        d.unchanged(title)


def test_gap():
    """In serial order, an operation that never comes while later ones wait for their turn: the destination notices."""
    d = Destination("gap", ["-ordering", "storage", "serial"], ports=2)
    s = Source(d.port, connections=2)
    other = w.Peer(d.port + 1, 1)
    other.send(w.HELLO, w.hello(w.TRANSFER, s.session))
    t.equal((s.answers, other.receive()[0]), ([w.WELCOME, w.ACCEPT, w.READY, w.WELCOME], w.WELCOME),
            "a gap: the session is as a real one before it")
    s.block(3)
    other.send(w.PASS_LAST, pass_=1, sequence=0)
    words = s.last_words()
    s.close()
    other.socket.close()
    run = d.side.finish(20)
    expected = "the source did not send operation 0 of pass 1, which must be written before others"
    t.equal((run.status, expected in run.err, expected in words), (6, True, True), "a gap: both sides name the operation", run)
    d.unchanged("a gap")


def test_again():
    """Operations that come twice, or not in their order, are refused before their data is written again."""
    for title, ops in (("the same operation twice", (3, 3)), ("operations that descend", (3, 2))):
        d = Destination("again")
        s = Source(d.port)
        s.block(ops[0])
        s.block(ops[1], body=b"d" * REQUEST, offset=3 * REQUEST)
        s.says(title, d, OUTSIDE % ops[1])
        t.ok(contents(d.file)[3 * REQUEST:4 * REQUEST].strip(b"b") == b"", title + ": only the first one may be written")


def test_again_elsewhere():
    """An operation that comes on two connections."""
    d = Destination("elsewhere", ports=2)
    s = Source(d.port, connections=2)
    other = w.Peer(d.port + 1, 1)
    other.send(w.HELLO, w.hello(w.TRANSFER, s.session))
    other.receive()
    s.block(3)
    other.send(w.DATA, BODY, pass_=1, sequence=3, offset=3 * REQUEST)
    s.says("an operation on two connections", d, "the source sent operation 3 of pass 1, for the second time")
    other.socket.close()


def test_own_amount():
    """A destination holds a source with an open amount to its own, and to the largest offset."""
    for title, words, offset, expected in (
            ("beyond the destination's own amount", ["-numreqs", 4], 100 * REQUEST, OUTSIDE % 0),
            ("beyond the largest offset", ["-startoffset", 1], 2 ** 63 - 1 - REQUEST,
             "the source sent operation 0 of pass 1, which lies outside of the copied extent")):
        d = Destination("amount", words)
        s = Source(d.port, size=w.NO_SIZE, ops=w.NO_SIZE)
        s.block(0, offset=offset)
        s.says("a block " + title, d, expected)
        d.unchanged("a block " + title)


# Sources of a copy that is resumed: the destination asks for the digests of what it has kept


KEPT = [bytes([97 + i]) * REQUEST for i in range(5)]
DIGESTS = "the source sent digests that were not asked for"


class Resuming:
    """A destination that has KEPT, operations 0 to 4 of 10, and a source of the same copy, to which it has sent PROVE."""

    def __init__(self):
        self.file, self.record, self.session = old_file("resume"), t.path("resume.rst"), os.urandom(16)
        if os.path.exists(self.record):
            os.unlink(self.record)
        self.start()
        s = Source(self.port)
        for op, data in enumerate(KEPT):
            s.block(op, body=data)
        t.until(lambda: b"# durable 0 5\n" in contents(self.record), self.side.process)
        s.close()
        self.side.finish(20)
        self.before = contents(self.file), contents(self.record)
        self.start()
        self.control = w.Peer(self.port)
        self.control.send(w.HELLO, w.hello(w.CONTROL, self.session))
        self.answers = [self.control.receive()[0]]
        self.control.send(w.PLAN, w.plan(REQUEST, 10 * REQUEST))
        kind, body = self.control.receive()
        self.asked = w.ranges(body) if kind == w.PROVE else kind

    def start(self):
        self.copy = e.Copy(source_file(), self.file, [*WORDS, "-restart", "file", self.record, "-restart", "frequency", 0.02],
                           timeout=30)
        self.port, self.side = self.copy.port, self.copy.destination
        self.side.start()
        self.side.await_err(e.m.E2E_WAITS)

    def close(self):
        self.control.socket.close()


SUMS = [
    ("an operation that was not asked for", DIGESTS, [w.sums(5, [KEPT[0]], REQUEST)]),
    ("operations of which some were not asked for", DIGESTS, [w.sums(3, KEPT[:4], REQUEST)]),
    ("an operation twice", DIGESTS, [w.sums(0, KEPT[:2], REQUEST) + w.sums(1, KEPT[1:2], REQUEST)]),
    ("operations that descend", DIGESTS, [w.sums(1, KEPT[1:2], REQUEST) + w.sums(0, KEPT[:1], REQUEST)]),
    ("a part of an operation", DIGESTS, [w.sums(0, [KEPT[0][:100]], REQUEST)]),
    ("bytes outside of the plan", DIGESTS, [w.sums(0, KEPT[:1], REQUEST, offset=10 * REQUEST)]),
    ("bytes at the largest offset", DIGESTS, [w.sums(0, KEPT[:1], REQUEST, offset=2 ** 63 - 1 - REQUEST)]),
    ("operations of another size", DIGESTS, [w.sums(0, KEPT[:1], 2 * REQUEST, end=REQUEST)]),
    ("no bytes", DIGESTS, [w.sums(0, [], REQUEST, end=0)]),
    ("more bytes than digests", DIGESTS, [w.sums(0, KEPT[:1], REQUEST, end=2 * REQUEST)]),
    ("more digests than follow", DIGESTS, [w.sums(0, KEPT, REQUEST, number=5)[:-1]]),
    ("2^32 - 1 digests", DIGESTS, [w.sums(0, KEPT[:1], REQUEST, number=2 ** 32 - 1)]),
    ("garbage", DIGESTS, [b"garbage" * 100]),
    ("too much", "the source sent a message with a length out of range", [bytes(786433)]),
    ("two answers", "the source sent SUMS, which is not allowed between passes", [w.sums(0, KEPT, REQUEST)] * 2),
] if w.xxhash() else []


def test_sums():
    for title, expected, bodies in SUMS:
        title = "digests of %s" % title
        d = Resuming()
        t.equal(d.asked, [(0, 5)], title + ": the destination asks for what it has kept")
        d.control.send(w.SUMS, bodies[0])
        kind, body = d.control.receive()
        while kind in (w.ACCEPT, w.READY):
            for again in bodies[1:] if kind == w.READY else ():
                d.control.send(w.SUMS, again)
            kind, body = d.control.receive()
        words = w.error_text(body) if kind == w.ERROR else "type %s" % kind
        d.close()
        run = d.side.finish(20)
        t.equal((run.status, run.error_lines()[-1], re.sub(" at 127.0.0.1:[0-9]+", "", words)),
                (4, "xdd: target 0, %s: %s" % (d.file, words), expected), title + ": both sides get the reason", run)
        t.ok(contents(d.file) == d.before[0], title + ": the file has all of its bytes")


def test_right_sums():
    """A source that follows doc/wire.md: what is equal is kept, and what is not, or has no digest, is asked for."""
    for title, body, missing in (
            ("each is equal", w.sums(0, KEPT, REQUEST), [(5, 5)]),
            ("one differs", w.sums(0, KEPT[:2] + [b"x" * REQUEST] + KEPT[3:], REQUEST), [(2, 1), (5, 5)]),
            ("one could not be read", w.sums(0, KEPT[:1], REQUEST) + w.sums(2, KEPT[2:], REQUEST), [(1, 1), (5, 5)]),
            ("none could be read", b"", [(0, 10)])):
        d = Resuming()
        d.control.send(w.SUMS, body)
        kind, plan = d.control.receive()
        t.equal((kind, w.ranges(plan[-4 - 16 * len(missing):])), (w.ACCEPT, missing), "digests: " + title)
        d.close()
        d.side.finish(20, warns=[m.warning(m.ANY_TARGET, ".* that were durable differ .*")] if missing != [(5, 5)] else ())


def finish(s, blocks):
    """Send all blocks, and end pass and session. Returns the types of the answers."""
    total = 0
    for op, data in enumerate(blocks):
        s.block(op, body=data)
        total = w.add(total, op * REQUEST, data)
    s.data.send(w.PASS_LAST, pass_=1, sequence=len(blocks))
    s.control.send(w.PASS_END, w.result(len(blocks), sum(map(len, blocks)), total), pass_=1)
    answers = [s.control.receive()[0]]
    s.control.send(w.BYE)
    return answers + [s.control.receive()[0]]


def test_names():
    """
    A source that is not xdd, whose host and file have names that control terminals: it follows doc/wire.md, so its copy
    is complete. Names are shown escaped.
    """
    blocks = [os.urandom(REQUEST) for _ in range(3)] + [b"the end"]
    document = t.path("names.json")
    for title, host, name in (("escapes", b"\x1b[2J\x1b]0;x\x07\0", b"/a\nxdd: error\r\xe2\x80\xae\0"),
                              ("no UTF-8", b"\xff\xfe\xc0\x80\0", b"\xed\xa0\x80" * 1365 + b"\0"),
                              ("empty names", b"\0", b"\0"), ("the longest names", b"h" * 255 + b"\0", b"n" * 4095 + b"\0")):
        file = old_file("names")
        d = e.Copy(source_file(), file, [*WORDS, "-verbose"], writes=["-jsonout", document])
        d.destination.start()
        d.destination.await_err(e.m.E2E_WAITS)
        s = Source(d.port, size=sum(map(len, blocks)), host=host, name=name)
        answers = finish(s, blocks)
        run = d.destination.finish(20)
        s.close()
        t.equal((answers, run.status, contents(file) == b"".join(blocks)), ([w.PASS_RESULT, w.BYE], 0, True),
                "a source with %s: the copy is complete" % title, run)
        t.ok(not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ufffd]", run.out + run.err),
             "a source with %s: the output has nothing that controls a terminal" % title, ascii(run.out + run.err))
        t.ok(e.document(document)["endtoend"], "a source with %s: the document can be read" % title)


def test_plans():
    for title, plan in (("a request size of 0", w.plan(1, 10).replace(b"\x01" + bytes(7), bytes(8), 1)),
                        ("names without an end", w.plan(REQUEST, 10, host=b"host")),
                        ("garbage", os.urandom(300))):
        d = Destination("plans")
        with w.Peer(d.port) as p:
            p.send(w.HELLO, CONTROL_HELLO)
            p.receive()
            p.send(w.PLAN, plan)
            p.receive()
        d.unchanged("a plan with " + title)
        d.copies("after a plan with " + title)


# Keys


class Recorder:
    """Passes connections on to another port, and keeps what the source sends on each."""

    def __init__(self, port, ports):
        self.to, self.tapes, self.sockets = port, [], []
        self.port = xddports.free_ports(ports)
        for i in range(ports):
            s = socket.create_server(("127.0.0.1", self.port + i))
            self.sockets.append(s)
            threading.Thread(target=self._accept, args=(s, port + i), daemon=True).start()

    def _accept(self, listening, port):
        while True:
            try:
                a = listening.accept()[0]
            except OSError:
                return
            b = socket.create_connection(("127.0.0.1", port), 10)
            b.settimeout(None)
            tape = [port, b""]
            self.tapes.append(tape)
            threading.Thread(target=self._pass, args=(a, b, tape), daemon=True).start()
            threading.Thread(target=self._pass, args=(b, a, None), daemon=True).start()

    @staticmethod
    def _pass(a, b, tape):
        try:
            while data := a.recv(65536):
                if tape:
                    tape[1] += data
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        for s in self.sockets:
            s.close()


def replay(tapes, first, port):
    """Send what was recorded, to the same ports of another destination. Returns the number of sent bytes."""
    sent = 0
    for recorded, data in tapes:
        try:
            with socket.create_connection(("127.0.0.1", port + recorded - first), 5) as s:
                s.settimeout(1)
                s.sendall(data)
                sent += len(data)
                while s.recv(65536):
                    pass
        except OSError:
            continue
    return sent


def test_replay():
    key = key_file("key", "a key of more than 16 bytes")
    for title, both in (("a recorded session", ["-e2e", "key", key]),
                        ("a recorded session that is encrypted", ["-e2e", "key", key, "-e2e", "encrypt"])):
        d = Destination("recorded", both, ports=2)
        recorder = Recorder(d.port, 2)
        words = d.copy.source.words
        words[words.index("127.0.0.1:%d,2" % d.port)] = "127.0.0.1:%d,2" % recorder.port
        d.copies(title)
        recorder.close()
        t.ok(sum(len(data) for _, data in recorder.tapes) > os.path.getsize(source_file()), title + ": all of it is recorded")
        again = Destination("replayed", both, ports=2)
        t.ok(replay(recorder.tapes, d.port, again.port) > 0, title + ": it is sent again")
        again.unchanged(title)
        again.copies("after " + title)


def test_without_key():
    key, other = key_file("key", "a key of more than 16 bytes"), key_file("other", "another key of that length")
    d = Destination("keyed", ["-e2e", "key", key])
    text = "has a key, the source has none"
    got = answer(stranger(d.port, body=CONTROL_HELLO))
    t.ok(re.search(text, got), "a source without a key is told so", got)
    text = "no such session"
    got = answer(stranger(d.port, body=DATA_HELLO, connection=0))
    t.ok(re.search(text, got), "a data connection without a session is refused", got)
    for title, words, expected in (("no key", (), "destination has a key, the source has none"),
                                   ("another key", ("-e2e", "key", other), "another key")):
        run = e.Side("source", d.copy.source.words)
        at = run.words.index("key")
        run.words[at - 1:at + 2] = words
        result = run.start().finish(30)
        t.ok(result.status != 0 and re.search(expected, result.err), "xdd with %s ends in words" % title, result)
    d.unchanged("sources without the key")
    d.copies("after sources without the key")


t.run_together(test_strangers, test_blocks, test_gap, test_again, test_own_amount, test_sums, test_right_sums,
               test_names, test_plans, test_without_key, test_replay)
t.done()
