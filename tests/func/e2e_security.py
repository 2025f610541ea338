#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
End-to-end copies against peers that may not take part: without the key, with another one, with messages that a proxy
forges, or while another source has the destination. The target does not change. e2e_hostile.py has strangers and
recorded sessions.
"""
import ctypes
import ctypes.util
import os
import re
import shutil
import socket
import struct
import threading
import time

import messages as m
import xdde2e as e
import xddhold
import xddports
import xddtest as t
import xddwire as w

os.environ.pop("XDD_E2E_KEY", None)
t.tolerate(m.WEAK_KEY, m.E2E_NO_KEY, m.E2E_REFUSED)

KIB = 1 << 10
REQUEST = 64 * KIB
SIZE = 10 * REQUEST
LIMIT_S = 40
STEP = ["-e2e", "timeout", 4]
# Of copies that end by themselves: a machine may stand still for seconds.
PATIENT = ["-e2e", "timeout", 20]


def key_file(name, text, mode=0o600):
    path = t.path(name)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


SOURCE = e.random_file("source", SIZE)
BEFORE = e.random_file("before", SIZE)
KEY = key_file("key", "the key that both sides have\n")
SAME = key_file("same", "  the key that both sides have")
OTHER = key_file("other", "a key that the other side has not")


def fresh(name="destination"):
    """A destination with data of its own."""
    return shutil.copy(BEFORE, t.path(name))


def words(source_more=(), destination_more=(), source=SOURCE, name="destination"):
    size = ["-reqsize", REQUEST // KIB]
    return (["-targets", 1, source, *size, *source_more], ["-targets", 1, t.path(name), *size, *destination_more])


def start_side(role, words, more=(), env=None):
    return e.Side(role, [*words, "-e2e", "is" + role, *more]).start(env)


def start_both(source, destination, more, peer_more=None, env=(None, None)):
    """Both sides: source, destination."""
    dst = start_side("destination", destination, peer_more or more, env[1])
    return start_side("source", source, more, env[0]), dst


def both(*args, timeout=LIMIT_S, **kwargs):
    """Run both sides until they end: source, destination."""
    src, dst = start_both(*args, **kwargs)
    return src.finish(timeout), dst.finish(timeout)


def unchanged(title, run, name="destination"):
    """No byte of the destination is another than before."""
    t.ok(e.same_files(t.path(name), BEFORE), title + ": no byte has changed", run)


def copied(title, src, dst, statuses=(0, 0)):
    t.equal((src.status, dst.status), statuses, title + ": both sides end well", "%s\n%s" % (src, dst))
    t.ok(e.same_files(SOURCE, t.path("destination")), title + ": the files are equal")


# Keys

def test_keys():
    env = [{}, {"XDD_E2E_KEY": "the key that both sides have"}]
    for title, more, peer, envs in (
            ("a key", ["key", KEY], ["key", KEY], (0, 0)),
            ("a key with other blanks around it", ["key", KEY], ["key", SAME], (0, 0)),
            ("the key of the environment", [], ["key", KEY], (1, 0)),
            ("the key of the environment on both sides", [], [], (1, 1)),
            ("encryption", ["key", KEY, "encrypt"], ["key", SAME, "encrypt"], (0, 0))):
        fresh()
        port = xddports.free_ports(2)
        place = e.to(["127.0.0.1:%d,2" % port])
        more, peer = (place + (["-e2e", *words_] if words_ else []) + PATIENT for words_ in (more, peer))
        src, dst = both(*words(), more, peer_more=peer, env=(env[envs[0]], env[envs[1]]), timeout=LIMIT_S)
        copied(title, src, dst)
        t.ok(not re.search(m.E2E_NO_KEY, dst.err, re.M), title + ": no warning about a missing key", dst)


def test_cookie():
    fresh()
    for title, own, peer, good in (("the same cookie", "0123456789abcdef" * 2, "0123456789ABCDEF" * 2, True),
                                   ("another cookie", "0123456789abcdef" * 2, "0123456789abcde0" * 2, False)):
        place = e.to(["127.0.0.1:%d" % xddports.free_ports(1)]) + STEP
        src, dst = both(*words(), place + ["-cookie", own], peer_more=place + ["-cookie", peer], timeout=LIMIT_S)
        if good:
            copied(title, src, dst)
        else:
            t.equal((src.status, dst.status), (4, 4), title + ": refused", "%s\n%s" % (src, dst))
        fresh()


def test_wrong_keys():
    """The destination waits on for the source that has the key, until its timeout is over; all of them at once."""
    cases = []
    for title, more, peer, text in (
            ("another key", ["key", OTHER], ["key", KEY], "did not prove that it has the key .*another key"),
            ("no key on the source", [], ["key", KEY], "the destination has a key, the source has none"),
            ("no key on the destination", ["key", KEY], [], "did not prove that it has the key .*may have no key"),
            ("no encryption on the source", ["key", KEY], ["key", KEY, "encrypt"], None),
            ("another key, encrypted", ["key", OTHER, "encrypt"], ["key", KEY, "encrypt"], "another key")):
        fresh(title)
        place = e.to(["127.0.0.1:%d" % xddports.free_ports(1)]) + STEP
        sides = start_both(*words(name=title), place + (["-e2e", *more] if more else []),
                           peer_more=place + (["-e2e", *peer] if peer else []))
        cases.append((title, text, *sides))
    for title, text, src, dst in cases:
        src, dst = src.finish(LIMIT_S), dst.finish(LIMIT_S)
        t.equal((src.status, dst.status), (4, 4), title + ": refused on both sides", "%s\n%s" % (src, dst))
        t.ok(not text or re.search(text, src.err), title + ": the source says why", src)
        t.ok(len([line for line in src.error_lines() if line.startswith("xdd: target")]) == 1,
             title + ": in one line", src)
        unchanged(title, dst, title)


def test_key_files():
    directory = t.path("directory")
    os.mkdir(directory)
    for title, path, why in (
            ("missing", t.path("nosuch"), r"cannot read the key \(No such file or directory\)"),
            ("readable by the group", key_file("group", "x" * 20, 0o640), "must not be accessible to other users"),
            ("readable by all", key_file("all", "x" * 20, 0o604), "must not be accessible to other users"),
            ("too short", key_file("short", "x" * 15 + "\n"), "expected a key of 16 to 4096 bytes, not 15"),
            ("too long", key_file("long", "x" * 5000), "expected a key of 16 to 4096 bytes"),
            ("empty", key_file("empty", ""), "expected a key of 16 to 4096 bytes"),
            ("a directory", directory, "expected a file")):
        for role, target in (("source", SOURCE), ("destination", t.path("new"))):
            run = t.xdd("-targets", 1, target, "-e2e", "is" + role, "destination", "127.0.0.1:%d" % xddports.free_ports(1), "key",
                        path, timeout=LIMIT_S)
            t.ok(run.status == 2 and len(run.error_lines()) == 1 and re.match("xdd: -e2e key: .*" + why, run.err),
                 "a key that is %s, on the %s: one line, status 2" % (title, role), run)
    run = t.xdd("-targets", 1, t.path("new"), "-e2e", "isdest", "dest", "127.0.0.1:%d" % xddports.free_ports(1), timeout=LIMIT_S,
                env=dict(os.environ, XDD_E2E_KEY="short"))
    t.ok(run.status == 2 and re.search("XDD_E2E_KEY: expected a key of 16 to 4096 bytes, not 5", run.err),
         "a short key in the environment", run)
    t.ok(not os.path.exists(t.path("new")), "no destination was created")


# Plans that do not fit

def test_mismatches():
    place = "127.0.0.1:%d"
    for title, own, peer, text in (
            ("request size", [], ["-reqsize", 32], "requests of 65536 bytes, the destination expects 32768"),
            ("passes", ["-passes", 2], [], "the number of passes is 2 on the source and 1 on the destination"),
            ("amount", [], ["-bytes", SIZE - 1], "copies %d bytes per pass, the destination expects %d" % (SIZE, SIZE - 1)),
            ("connections", ["-queuedepth", 2], [], "the number of data connections is 2 on the source and 1 on the")):
        fresh()
        src, dst = both(*words(own, peer), e.to([place % xddports.free_ports(2)]) + PATIENT, timeout=LIMIT_S)
        t.equal((src.status, dst.status), (4, 4), "another %s: refused on both sides" % title, "%s\n%s" % (src, dst))
        for side, run in (("source", src), ("destination", dst)):
            t.ok(re.search(text, run.err), "another %s: the %s names both values" % (title, side), run)
        unchanged("another " + title, dst)


def test_addresses():
    port = xddports.free_ports(2)
    new = t.path("new")
    with socket.create_server(("127.0.0.1", port + 1)):
        for title, role, target, place, why in (
                ("a port in use", "destination", new, "127.0.0.1:%d,2" % port, "127.0.0.1:%d.*Address already in use" % (port + 1)),
                ("an address of another host", "destination", new, "192.0.2.1:%d" % port, "192.0.2.1.*Cannot assign requested address"),
                ("a name that does not resolve", "destination", new, "nosuch.invalid:%d" % port, r"nosuch\.invalid"),
                ("a name that does not resolve", "source", SOURCE, "nosuch.invalid:%d" % port, r"nosuch\.invalid")):
            begin = time.monotonic()
            run = t.xdd("-targets", 1, target, "-e2e", "is" + role, "destination", place, *STEP, timeout=LIMIT_S)
            errors = [line for line in run.error_lines() if "warning" not in line and "note" not in line]
            t.ok(run.status in (2, 4) and len(errors) == 1 and re.search(why, errors[0]),
                 "%s on the %s: one line" % (title, role), run)
            t.ok(time.monotonic() - begin < 20, "%s on the %s: in time" % (title, role))
    t.ok(not os.path.exists(new), "no destination was created")


# Messages that are forged on their way

def load_xxhash():
    name = ctypes.util.find_library("xxhash")
    library = ctypes.CDLL(name) if name else None
    if library:
        library.XXH3_64bits.restype = ctypes.c_uint64
        library.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    return library


XXHASH = load_xxhash()
FIELDS = {"magic": (0, "<I"), "version": (4, "<H"), "type": (6, "<H"), "target": (8, "<I"), "connection": (12, "<I"),
          "pass": (16, "<I"), "zero": (20, "<I"), "length": (24, "<Q"), "sequence": (32, "<Q"), "offset": (40, "<Q"),
          "digest": (48, "<Q"), "code": (64, "<Q"), "unused": (80, "<Q"), "checksum": (88, "<Q")}
DATA, SKIP = 7, 8


def connections(listener):
    """Those that are made to it, until it is closed."""
    while True:
        try:
            yield listener.accept()[0]
        except OSError:
            return


def forward(a, b):
    """Everything from one socket to the other."""
    try:
        while data := a.recv(1 << 16):
            b.sendall(data)
        b.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class Forger:
    """
    Stands between the sides and rewrites headers of a data connection, with a checksum that is right. `change` gets the
    fields of DATA message `nth` (from 1), and returns those to change.
    """

    def __init__(self, target, change, nth=1, sum_up=True):
        self.port, self.target = xddports.free_ports(1), target
        self.change, self.nth, self.sum_up = change, nth, sum_up
        self.seen, self.forged, self.record = 0, 0, []
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        for near in connections(self.listener):
            far = socket.create_connection(("127.0.0.1", self.target))
            sent = bytearray()
            self.record.append(sent)
            threading.Thread(target=self.up, args=(near, far, sent), daemon=True).start()
            threading.Thread(target=forward, args=(far, near), daemon=True).start()

    def exactly(self, s, n):
        data = bytearray()
        while len(data) < n:
            more = s.recv(min(n - len(data), 1 << 16))
            if not more:
                raise OSError("the end")
            data += more
        return data

    def up(self, near, far, sent):
        try:
            while True:
                header = self.exactly(near, 96)
                if header[:4] != b"XDD2":  # TLS
                    sent += header
                    far.sendall(header)
                    while data := near.recv(1 << 16):
                        sent += data
                        far.sendall(data)
                    break
                body = self.exactly(near, self.field(header, "length"))
                if self.field(header, "type") == DATA:
                    self.forge(header, body)
                sent += header + body
                far.sendall(header + body)
            far.shutdown(socket.SHUT_WR)
        except OSError:
            for s in (near, far):
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def field(self, header, name):
        at, form = FIELDS[name]
        return struct.unpack_from(form, header, at)[0]

    def forge(self, header, body):
        self.seen += 1
        if self.seen != self.nth or not self.change:
            return
        for name, value in self.change({name: self.field(header, name) for name in FIELDS}).items():
            if name == "body":
                body[:] = value(body)
                continue
            at, form = FIELDS[name]
            struct.pack_into(form, header, at, value)
        if self.sum_up:
            struct.pack_into("<Q", header, 88, XXHASH.XXH3_64bits(bytes(header[:88]), 88))
        self.forged += 1

    def close(self):
        self.listener.close()


def inverted(body):
    return bytes(b ^ 0xff for b in body)


# Fields of the first DATA message: nothing was written before it.
FORGED = {
    "an offset at the end": lambda f: {"offset": SIZE},
    "an offset one byte before the end": lambda f: {"offset": SIZE - 1},
    "an offset of 2^63": lambda f: {"offset": 1 << 63},
    "an offset of 2^64 - 1": lambda f: {"offset": (1 << 64) - 1},
    "a length of 2^63": lambda f: {"length": 1 << 63},
    "a length of 2^64 - 1": lambda f: {"length": (1 << 64) - 1},
    "a length above the request size": lambda f: {"length": REQUEST + 1},
    "a length of 0": lambda f: {"length": 0},
    "a number past the last operation": lambda f: {"sequence": SIZE // REQUEST},
    "a number of 2^64 - 1": lambda f: {"sequence": (1 << 64) - 1},
    "another type": lambda f: {"type": 99},
    "type 0": lambda f: {"type": 0},
    "a message of the control connection": lambda f: {"type": 11},
    "another version": lambda f: {"version": w.VERSION + 1},
    "another magic": lambda f: {"magic": 0x33444458},
    "another pass": lambda f: {"pass": 2},
    "another target": lambda f: {"target": 1},
    "another connection": lambda f: {"connection": 1},
    "a field that is zero": lambda f: {"zero": 1},
    "other data": lambda f: {"body": inverted},
    "another digest": lambda f: {"digest": f["digest"] ^ 1},
    "a code": lambda f: {"code": 1},
}

# Of the copied extent: without a key, only the digest of the pass shows that.
MOVED = {
    "an offset that is another operation's": lambda f: {"offset": 3 * REQUEST},
    "an offset inside of a request": lambda f: {"offset": 512},
}


def forged_copy(title, change, key, nth=1, sum_up=True):
    fresh()
    port = xddports.free_ports(1)
    forger = Forger(port, change, nth, sum_up)
    with xddhold.at("cause awaited") as h:
        dst = start_side("destination", words()[1], e.to(["127.0.0.1:%d" % port]) + PATIENT + key, h.env)
        dst.await_err(m.E2E_WAITS)
        src = start_side("source", words()[0], e.to(["127.0.0.1:%d" % forger.port]) + PATIENT + key)
        t.equal(h.arrived(LIMIT_S, dst.process), None, title + ": the destination waits for no other cause")
    src, dst = src.finish(LIMIT_S), dst.finish(LIMIT_S)
    forger.close()
    return forger, src, dst


def forged_copies(where, key):
    forger, src, dst = forged_copy("nothing", None, key)
    copied("through the proxy" + where, src, dst)
    for name, change in {**FORGED, **MOVED}.items():
        title = name + where
        forger, src, dst = forged_copy(title, change, key)
        t.ok(forger.forged == 1, title + ": was sent", forger.seen)
        t.equal((src.status, dst.status), (6, 6), title + ": both sides fail", "%s\n%s" % (src, dst))
        if key or name in FORGED:
            unchanged(title, dst)


def test_forged_with_key():
    if not XXHASH:
        t.skip("forged messages, with a key", "there is no libxxhash")
        return
    forged_copies(", with a key", ["-e2e", "key", KEY])


def test_forged():
    if not XXHASH:
        t.skip("forged messages", "there is no libxxhash")
        return
    forged_copies("", [])
    forger, src, dst = forged_copy("checksum", lambda f: {"checksum": f["checksum"] ^ 1}, [], sum_up=False)
    t.equal((src.status, dst.status), (6, 6), "another checksum: both sides fail", "%s\n%s" % (src, dst))
    unchanged("another checksum", dst)


def test_duplicate():
    """The second message is the first once more, with other data."""
    if not XXHASH:
        t.skip("forged messages", "there is no libxxhash")
        return
    forger, src, dst = forged_copy("duplicate", lambda f: {"sequence": 0, "offset": 0}, [], nth=2)
    t.equal((src.status, dst.status), (6, 6), "an operation twice: both sides fail", "%s\n%s" % (src, dst))
    with open(t.path("destination"), "rb") as f, open(SOURCE, "rb") as g, open(BEFORE,
                                                                              "rb") as h:
        data, first, before = f.read(), g.read(REQUEST), h.read()
    t.ok(data == first + before[REQUEST:], "an operation twice: only the first one is written", dst)


# Recorded sessions

def test_second_source():
    """A second source is turned away while the first one copies, until its timeout is over."""
    fresh()
    port = xddports.free_ports(1)
    more = e.to(["127.0.0.1:%d" % port]) + ["-e2e", "timeout", 30]
    dst = start_side("destination", words()[1], more)
    dst.await_err(m.E2E_WAITS)
    with xddhold.at("operation:1") as h:
        first = start_side("source", words()[0], more, h.env)
        h.wait(first.process)
        second = start_side("source", words(source=e.random_file("second", SIZE))[0], more + ["-e2e", "timeout", 2])
        second.finish(LIMIT_S)
    seconds, second = second.seconds, second.run
    t.ok(1.5 < seconds < 20, "a second source: tries until its timeout", seconds)
    t.ok(second.status == 4 and re.search("busy", second.err), "a second source: refused in words", second)
    copied("despite a second source", first.finish(LIMIT_S), dst.finish(LIMIT_S))


class Forwarder:
    """Like ssh -L: takes connections at once, and closes them while nothing listens at the target."""

    def __init__(self, target):
        self.target, self.port, self.closed = target, xddports.free_ports(1), 0
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        for near in connections(self.listener):
            try:
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                self.closed += 1
                near.close()
                continue
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=forward, args=(a, b), daemon=True).start()

    def close(self):
        self.listener.close()


def test_forwarder():
    """A source that finds a port forwarder before the destination is there."""
    fresh()
    port = xddports.free_ports(1)
    forwarder = Forwarder(port)
    near = e.to(["127.0.0.1:%d" % forwarder.port])
    src = start_side("source", words()[0], near + ["-e2e", "timeout", 30])
    t.until(lambda: forwarder.closed >= 2, src.process)
    t.ok(forwarder.closed >= 2, "a forwarder without a destination: the source tries again", forwarder.closed)
    dst = start_side("destination", words()[1], e.to(["127.0.0.1:%d" % port]) + PATIENT)
    copied("through a forwarder that is there first", src.finish(LIMIT_S), dst.finish(LIMIT_S))
    begin = time.monotonic()
    src = start_side("source", words()[0], near + ["-e2e", "timeout", 2]).finish(LIMIT_S)
    seconds = time.monotonic() - begin
    t.ok(src.status == 4 and re.search("was closed by the destination before the end", src.err),
         "a forwarder without a destination: the source says why", src)
    t.ok(1.5 < seconds < 20, "a forwarder without a destination: until the timeout", seconds)
    forwarder.close()


def test_stranger():
    """A stranger that holds the session without a plan, for as long as it may."""
    if not XXHASH:
        t.skip("a stranger", "there is no libxxhash")
        return
    fresh()
    port = xddports.free_ports(1)
    more = e.to(["127.0.0.1:%d" % port])
    dst = start_side("destination", words()[1], more)
    dst.await_err(m.E2E_WAITS)
    with w.Peer(port) as stranger:
        stranger.send(w.HELLO, body=w.hello(w.CONTROL))
        t.equal(stranger.receive()[0], w.WELCOME, "a stranger: it has the session")
        src = start_side("source", words()[0], more + ["-e2e", "timeout", 30])
        time.sleep(1)
        t.ok(src.process.poll() is None, "a stranger: the source still tries")
        copied("after a stranger", src.finish(LIMIT_S), dst.finish(LIMIT_S))


t.run_together(test_keys, test_cookie, test_wrong_keys, test_key_files, test_mismatches, test_addresses, test_forged,
               test_forged_with_key, test_duplicate, test_second_source, test_forwarder, test_stranger)
t.done()
