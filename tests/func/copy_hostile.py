#!/usr/bin/env python3
"""
Sides of a copy that do what xdd never does: sources whose names lead out of the destination, whose links point there,
that send data for files that are not wanted, too much, too little, or garbage; destinations that want what was not offered; and
servers that do so to the process that a user has started. Nothing outside of the destination changes, every process ends
in time, and says why.
"""
import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import xddwire as w
import xddcopywire as c

NEEDS = "the library xxHash is needed to compute checksums"
END_S = 30
ADDRESS = "127.0.0.1"


# Servers that stand in for ssh: run by a real xdd, see initiator(). Not part of the test process.


def pull(entries, data=lambda s: None):
    """A source that offers these entries, and sends what `data` does."""
    def scenario():
        s = c.Served()
        s.begin()
        s.send(c.OFFER, entries)
        data(s)
        s.drain()
    return scenario


def copy_of_a(s):
    """A whole copy of "a" as it should be, except for the name."""
    s.expect(c.WANT)
    s.data_sent = s.send(c.BUNDLE, c.record(1, b"12345"))
    s.expect(c.RESULT)
    s.send(c.FINISH, c.counts(walk_done=1, offered_files=1, offered_bytes=5))
    s.expect(c.FINISHED)
    s.send(c.BYE)
    s.expect(c.BYE)


def push(answer):
    """A destination that answers the first offer so."""
    def scenario():
        s = c.Served()
        s.begin()
        s.expect(c.OFFER)
        answer(s)
        s.drain()
    return scenario


def ends_early(*messages):
    """An answer: these messages, FINISHED and BYE at once, and the end of the process."""
    def answer(s):
        for message in messages:
            s.send(*message)
        s.send(c.FINISHED, c.counts())
        s.send(c.BYE)
        os._exit(0)
    return answer


def says(data):
    def scenario():
        os.write(1, data)
        sys.exit(1)
    return scenario


def says_much():
    try:
        while True:
            os.write(1, b"a line of noise\n" * 100)
    except BrokenPipeError:
        sys.exit(1)


def says_nothing():
    time.sleep(600)


def no_server():
    sys.exit(77)


def refuses():
    s = c.Served()
    s.expect(c.START)
    s.send(c.ERROR, c.error(119, "no such directory"))


def refuses_badly():
    s = c.Served()
    s.expect(c.START)
    s.send(c.ERROR, c.error(119, "no such \x1b[2Jdirectory"))


def stops_in_message():
    s = c.Served()
    s.begin()
    s.raw(w.header(c.OFFER, body=c.END)[:50])
    time.sleep(600)


def answers_on_the_port():
    """The port of the server belongs to another program, which takes connections and says something else."""
    listener = socket.create_server((ADDRESS, 0))
    held = []

    def imposter():
        while True:
            held.append(listener.accept()[0])
            held[-1].sendall(b"220 welcome to another program\r\n" * 10)

    threading.Thread(target=imposter, daemon=True).start()
    s = c.Served()
    s.expect(c.START)
    s.expect(c.MEET)
    s.send(c.STARTED, c.started(address=ADDRESS))
    s.send(c.MET, c.meet(c.LISTEN, ok=True, port=listener.getsockname()[1]))
    kind, body = s.receive()
    with open(os.environ["XDD_STEPS"], "a", encoding="utf-8") as f:
        f.write(c.NAMES.get(kind, "?") + "\n")
    if kind != c.MEET:
        s.drain()
        return
    while kind == c.MEET:
        inside = body[0] == c.INSIDE
        s.send(c.MET, c.meet(body[0], ok=inside, text="" if inside else "this is a test"))
        kind, body = s.receive()
    s.expect(c.OFFER)
    s.send(c.WANT, c.want(1))
    s.expect(c.BUNDLE)
    s.send(c.RESULT, c.result(1, c.DONE))
    s.expect(c.FINISH)
    s.send(c.FINISHED, c.counts(done_files=1, done_bytes=100))
    s.send(c.BYE)
    s.drain()


SCENARIOS = {
    "good": pull(c.file(1, "a", 5) + c.END, copy_of_a),
    "other name": pull(c.file(1, "b", 5) + c.END, copy_of_a),
    "parent": pull(c.file(1, "..", 5) + c.END, copy_of_a),
    "parent directory": pull(c.directory(1, "..") + c.file(2, "evil", 5) + c.LEAVE + c.END),
    "path": pull(c.file(1, "../outside/evil", 5) + c.END, copy_of_a),
    "absolute": pull(c.file(1, "/tmp/evil", 5) + c.END, copy_of_a),
    "startup files": pull(c.file(1, ".bashrc", 5) + c.END, copy_of_a),
    "more names": pull(c.file(1, "a", 5) + c.file(2, ".ssh", 5) + c.END, copy_of_a),
    "whole destination": pull(c.directory(1, "") + c.file(2, ".bashrc", 5) + c.LEAVE + c.END),
    "link": pull(c.symlink(1, "a", "../outside") + c.directory(2, "a") + c.file(3, "evil", 5) + c.LEAVE + c.END),
    "unknown want": push(lambda s: s.send(c.WANT, c.want(77))),
    "want of all ids": push(lambda s: s.send(c.WANT, b"".join(c.want(i) for i in range(1, 30000)))),
    "wrong result": push(lambda s: s.send(c.RESULT, c.result(77, c.DONE))),
    "offer": push(lambda s: s.send(c.OFFER, c.END)),
    "finished": push(lambda s: s.send(c.FINISHED, c.counts())),
    "early end": push(ends_early((c.RESULT, c.result(1, c.SAME)))),
    "end before a result": push(ends_early((c.RESULT, c.result(2, c.SAME) + c.result(3, c.SAME)))),
    "end before data": push(ends_early((c.WANT, c.want(1)), (c.RESULT, c.result(1, c.LOST)))),
    "bye": push(lambda s: s.send(c.BYE)),
    "garbage": push(lambda s: s.raw(os.urandom(4096))),
    "error": push(lambda s: s.send(c.ERROR, c.error(114, "the end \x1b[2Jof all"))),
    "no banner": says(b"Welcome to this host\nno xdd is here\n"),
    "noise": says_much,
    "silence": says_nothing,
    "other protocol": says(b"XDD-COPY 7 99.0.0\n"),
    "binary banner": says(b"XDD-COPY \xff\xfe\x1b[2J\n"),
    "garbage after the banner": says(c.BANNER + b"8.0.0\n" + os.urandom(500)),
    "no server": no_server,
    "refusal": refuses,
    "refusal that controls the terminal": refuses_badly,
    "stop in a message": stops_in_message,
    "another program on the port": answers_on_the_port,
} if w.xxhash() else {}

if os.environ.get("XDD_SCENARIO"):
    c.serve(SCENARIOS)

import xddtest as t  # noqa: E402 - a server prints no TAP

if not w.xxhash():
    t.skip_all(NEEDS)


# Nothing here may change.


class Place:
    """A directory with a destination "there", and all else that must stay as it is."""

    def __init__(self):
        self.top = os.path.join(t.tmp(), "place")
        shutil.rmtree(self.top, ignore_errors=True)
        self.there, self.outside = os.path.join(self.top, "there"), os.path.join(self.top, "outside")
        os.makedirs(self.there)
        os.makedirs(os.path.join(self.outside, "directory"))
        for name in ("outside/file", "outside/directory/file", "a", "evil.old"):
            with open(os.path.join(self.top, name), "w") as f:
                f.write("the contents of " + name)
        os.chmod(os.path.join(self.outside, "file"), 0o640)
        self.before = self.look()

    def look(self):
        """{path: facts} of all but what is below the destination."""
        found = {}
        for top, directories, files in os.walk(self.top):
            if top == self.top:
                directories.remove("there")
            for name in directories + files:
                path = os.path.join(top, name)
                st = os.lstat(path)
                text = open(path).read() if stat.S_ISREG(st.st_mode) else ""
                found[os.path.relpath(path, self.top)] = (st.st_mode, st.st_ino, st.st_mtime_ns, st.st_uid, text)
        return found

    def unchanged(self):
        return self.look() == self.before

    def names(self):
        """All below the destination, with temporary names."""
        return sorted(os.path.relpath(os.path.join(top, name), self.there)
                      for top, directories, files in os.walk(self.there) for name in directories + files)


def clean(text):
    """A text for people: one line, which does not control the terminal."""
    return text and not re.search(r"[\x00-\x1f\x7f-\x9f]", text)


def judge(title, place, server, names=(), statuses=None, pattern=".", close=True):
    """The server ends in time, with words, and nothing but `names` is new."""
    status, texts = server.end(close, END_S)
    found = [n for n in place.names() if n not in names]
    t.ok(status is not None and (status in statuses if statuses else status not in (0, 134, 139, -6, -11)) and
         place.unchanged() and not found and any(re.search(pattern, text) for text in texts) and all(map(clean, texts)),
         title, "status %s, texts %s, unchanged %s, found %s" % (status, texts, place.unchanged(), found))


def refused(title, entries, *more, sources=("a",), names=(), prepare=lambda p: None, pattern=".", **settings):
    """
    A source that sends this offer and these messages, (type, body) or raw bytes, to the real destination. It does not
    wait for answers.
    """
    place = Place()
    prepare(place)
    place.before = place.look()
    with c.Server(c.DESTINATION, place.there, sources=sources, limit_s=END_S, recursive=True, **settings) as s:
        s.begin()
        if entries is not None:
            s.send(c.OFFER, entries)
        try:
            for message in more:
                if callable(message):
                    message(s)
                elif isinstance(message, bytes):
                    s.raw(message)
                else:
                    s.send(*message)
        except c.Ended as e:
            t.diag("%s: %s" % (title, e))
        judge(title, place, s, names, pattern=pattern)


# Sources


def test_good_source():
    """Without a fault the same messages make a copy: the faults below are the reasons for what follows them."""
    place = Place()
    entries = (c.directory(1, "a", mode=0o750) + c.file(2, "small", 5) + c.file(3, "large", 300000, mode=0o600) +
               c.symlink(4, "link", "../../outside") + c.file(5, "empty", 0, flags=c.HAS_LINKS) + c.link(6, "again", 5) +
               c.LEAVE + c.END)
    data = os.urandom(300000)
    with c.Server(c.DESTINATION, place.there, sources=["a"], limit_s=END_S, recursive=True) as s:
        s.begin()
        s.send(c.OFFER, entries)
        wanted, results = set(), {}
        while wanted != {2, 3, 5}:
            kind, body = s.receive()
            if kind == c.WANT:
                wanted |= {number for number, how, ranges in c.take_wants(body)}
            elif kind == c.RESULT:
                results.update(c.take_results(body))
            else:
                break
        s.send(c.BUNDLE, c.record(2, b"small") + c.record(5, b""))
        s.block(3, 262144, data[262144:])
        s.block(3, 0, data[:262144])
        s.send(c.FILE_END, c.file_end(3, 2, 300000))
        while len(results) < 6:
            results.update(c.take_results(s.expect(c.RESULT)))
        found = s.finish(offered_files=3)
        status, texts = s.end()
    t.equal((wanted, set(results.values()), status, texts), ({2, 3, 5}, {c.DONE}, 0, []), "a source that follows doc/wire.md")
    t.ok((found["done_files"], found["done_bytes"], found["status"]) == (3, 300005, 0), "its counts", found)
    with open(os.path.join(place.there, "a", "large"), "rb") as f:
        same = f.read() == data
    st = os.stat(os.path.join(place.there, "a", "large"))
    t.ok(same and stat.S_IMODE(st.st_mode) == 0o600 and st.st_mtime_ns == 10 ** 18, "its file has the contents and attributes")
    t.equal(place.names(), sorted(["a", "a/again", "a/empty", "a/large", "a/link", "a/small"]), "all names are there, no others")
    t.ok(place.unchanged(), "nothing else has changed")


def raw_entry(kind, name):
    return {"directory": c.directory, "file": lambda n, x: c.file(n, x, 5),
            "symbolic link": lambda n, x: c.symlink(n, x, "target"),
            "hard link": lambda n, x: c.link(n, x, 2)}[kind](3, name)


def test_names():
    """Names that are no single component, of each kind of entry, below a directory."""
    bad = ["..", ".", "/", "a/b", "../outside/evil", "/etc/evil", "outside/", b"n\0m", b"x" * 256, b"x" * 5000]
    for kind in ("directory", "file", "symbolic link", "hard link"):
        for name in bad + ([""] if kind != "directory" else []):
            refused("a %s with the name %.20r" % (kind, name),
                    c.directory(1, "a") + c.file(2, "f", 5, flags=c.HAS_LINKS) + raw_entry(kind, name) + c.LEAVE + c.END,
                    names=("a",))


def test_tops():
    """At the top there are only the names that were asked for."""
    def offer(name):
        return c.file(1, name, 5) + c.END
    refused("a file that was not asked for", offer("b"), pattern="not asked for")
    refused("a second file that was not asked for", c.file(1, "a", 5) + offer("b"), pattern=".")
    refused("a directory that stands for the destination", c.directory(1, "") + c.file(2, "b", 5) + c.LEAVE + c.END)
    refused("a directory without a name below", c.directory(1, "a") + c.directory(2, "") + c.LEAVE + c.LEAVE + c.END,
            names=("a",))


def test_order():
    a = c.directory(1, "a")
    for title, entries, names in (
            ("an id of 0", c.file(0, "a", 5), ()),
            ("a first id of 2", c.file(2, "a", 5), ()),
            ("an id twice", a + c.file(1, "b", 5), ("a",)),
            ("an id that is left out", a + c.file(3, "b", 5), ("a",)),
            ("the largest id", a + c.file(2 ** 64 - 1, "b", 5), ("a",)),
            ("a directory left that was not entered", c.LEAVE, ()),
            ("a directory left twice", a + c.LEAVE + c.LEAVE, ("a",)),
            ("an end within a directory", a + c.END, ("a",)),
            ("an entry after the end", a + c.LEAVE + c.END + c.file(2, "b", 5), ("a",)),
            ("an unknown kind", a + b"\x08", ("a",)),
            ("half of an entry", a + c.file(2, "b", 5)[:-3], ("a",)),
            ("a link to itself", a + c.link(2, "b", 2), ("a",)),
            ("a link to a later file", a + c.link(2, "b", 3), ("a",)),
            ("a link to a directory", a + c.link(2, "b", 1), ("a",)),
            ("a size beyond 2^63", a + c.file(2, "b", 2 ** 63), ("a",)),
            ("a mode beyond the permissions", a + c.file(2, "b", 5, mode=0o100644), ("a",)),
            ("an unknown flag", a + c.file(2, "b", 5, flags=0x40), ("a",)),
            ("attributes that do not end", a + c.file(2, "b", 5, attrs=[("user.x", b"v" * 100)])[:-50], ("a",))):
        refused(title, entries, names=names)
    refused("an offer after the end of all", a + c.file(2, "b", 5) + c.LEAVE + c.END, (c.OFFER, c.file(3, "c", 5)),
            names=("a",))


def test_links():
    """Directories are never entered through links, old or new."""
    evil = c.directory(3, "l") + c.file(4, "evil", 5) + c.LEAVE
    for target in ("../../outside", "/tmp", ".", "..", "../../outside/file", "nothing"):
        place = Place()
        with c.Server(c.DESTINATION, place.there, sources=["a"], limit_s=END_S, recursive=True) as s:
            s.begin()
            s.send(c.OFFER, c.directory(1, "a") + c.symlink(2, "l", target) + evil + c.LEAVE + c.END)
            results = {}
            try:
                while len(results) < 4:
                    results.update(c.take_results(s.expect(c.RESULT)))
                s.finish()
            except c.Ended:
                pass
            status, texts = s.end()
        # One of the two names comes first, the other one fails; the file has the fate of its directory.
        inside = {"a", "a/l"} | ({"a/l/evil"} if os.path.isdir(os.path.join(place.there, "a", "l")) and
                                 not os.path.islink(os.path.join(place.there, "a", "l")) else set())
        t.ok(place.unchanged() and set(place.names()) <= inside and status not in (None, 0, 134, 139),
             "a directory with the name of a link to %s" % target,
             "status %s, texts %s, names %s, results %s" % (status, texts, place.names(), results))
    for target in ("../outside", "../outside/file"):
        for entries, title in ((c.directory(1, "a") + c.file(2, "evil", 5) + c.LEAVE + c.END, "a directory"),):
            refused("%s in the place of an existing link to %s" % (title, target), entries,
                    lambda s: finish_after(s, {1: c.LOST, 2: c.LOST}), names=("a",), pattern="not a directory",
                    prepare=lambda p, target=target: os.symlink(target, os.path.join(p.there, "a")))


def finish_after(s, expected):
    """Receive these results, then end as a source should."""
    results = {}
    while len(results) < len(expected):
        results.update(c.take_results(s.expect(c.RESULT)))
    if results != expected:
        raise c.Ended("the results are %r" % results)
    s.finish()


def test_existing():
    """A file replaces a link of its name, and is never written through it; with -i neither."""
    for in_place in (False, True):
        place = Place()
        os.symlink("../outside/file", os.path.join(place.there, "a"))
        with c.Server(c.DESTINATION, place.there, sources=["a"], limit_s=END_S, in_place=in_place, into=True) as s:
            s.begin()
            s.send(c.OFFER, c.file(1, "a", 5) + c.END)
            kind, body = s.receive()
            if kind == c.WANT:
                s.send(c.BUNDLE, c.record(1, b"12345"))
                kind, body = s.receive()
            while kind == c.FAILURE:
                kind, body = s.receive()
            if kind == c.RESULT:
                s.finish()
            status, texts = s.end()
        t.ok(place.unchanged() and status is not None, "a file in the place of a link%s" % (", in place" if in_place else ""),
             "status %s, texts %s, names %s" % (status, texts, place.names()))
    refused("a file in the place of a directory", c.file(1, "a", 5) + c.END, lambda s: finish_after(s, {1: c.LOST}),
            prepare=lambda p: os.mkdir(os.path.join(p.there, "a")), names=("a",), pattern="directory", into=True)


FILE = c.file(1, "a", 300000) + c.END if w.xxhash() else b""
SMALL = c.file(1, "a", 5) + c.END if w.xxhash() else b""


def test_data():
    """Data that no one wants, in the wrong places, too much and too little. Nothing gets the final name."""
    x = bytes(100000)

    def block(number, offset, data, **more):
        return lambda s: s.block(number, offset, data, **more)

    def end(*args, **more):
        return (c.FILE_END, c.file_end(*args, **more))

    for title, entries, messages in (
            ("a bundle for an unknown id", SMALL, [(c.BUNDLE, c.record(2, b"12345"))]),
            ("a bundle for the largest id", SMALL, [(c.BUNDLE, c.record(2 ** 56 - 1, b"12345"))]),
            ("a bundle before any offer", None, [(c.BUNDLE, c.record(1, b"12345"))]),
            ("a small file that is too long", SMALL, [(c.BUNDLE, c.record(1, b"123456"))]),
            ("a small file that is too short", SMALL, [(c.BUNDLE, c.record(1, b"1234"))]),
            ("a record beyond its bundle", SMALL, [(c.BUNDLE, struct.pack("<QII", 1, 4000, 0) + b"12345678")]),
            ("padding that is not zero", SMALL, [(c.BUNDLE, c.record(1, b"12345")[:-1] + b"x")]),
            ("a reason that controls a terminal", SMALL, [(c.BUNDLE, c.record(1, b"a\x1b[2J\0", 114))]),
            ("a reason with an unknown status", SMALL, [(c.BUNDLE, c.record(1, b"reason\0", 77))]),
            ("a bundle for a large file", FILE, [(c.BUNDLE, c.record(1, b"12345"))]),
            ("a block of an unknown file", FILE, [block(2, 0, x)]),
            ("a block of a file with a large id", FILE, [block(2 ** 50, 0, x)]),
            ("a block beyond the end", FILE, [block(1, 250000, x)]),
            ("a block far beyond the end", FILE, [block(1, 2 ** 62, x)]),
            ("a block beyond 2^63", FILE, [block(1, 2 ** 63 - 5, x)]),
            ("a block twice", FILE, [block(1, 0, x), block(1, 0, x)]),
            ("blocks that overlap", FILE, [block(1, 0, x), block(1, 50000, x)]),
            ("an end of an unknown file", FILE, [end(2, 0, 0)]),
            ("an end twice", FILE, [block(1, 0, x), end(1, 2, 300000), end(1, 2, 300000)]),
            ("fewer bytes than came", FILE, [block(1, 0, x), end(1, 1, 5)]),
            ("more bytes than came", FILE, [block(1, 0, x), end(1, 1, 200000)]),
            ("fewer messages than came", FILE, [block(1, 0, x), block(1, 100000, x), end(1, 1, 200000)]),
            ("an unknown status at the end", FILE, [end(1, 0, 0, 99, b"reason\0")]),
            ("digests that no one wants", FILE, [(c.SUMS, c.sums(1, 0, [x]))]),
            ("data with a wrong digest", FILE, [block(1, 0, x, digest_=(1, 2))]),
            ("a small file with a wrong digest", SMALL, [(c.BUNDLE, c.record(1, b"12345"), ("digest", 1))]),
            ("a block of more than was agreed on", c.file(1, "a", 2 ** 40) + c.END,
             [block(1, 0, bytes(10), length=33 << 20)]),
            ("data on a connection that there is not", FILE, [block(1, 0, x, connection=1)]),
            ("control on the connection of data", FILE, [lambda s: s.send(c.OFFER, c.END, connection=0)])):
        calls = []
        for message in messages:
            if not callable(message) and len(message) == 3:
                calls.append(lambda s, m=message: s.send(m[0], m[1], digest_=(1, 2)))
            elif callable(message):
                calls.append(message)
            else:
                calls.append(lambda s, m=message: s.send(*m))
        if entries is not None:
            calls.insert(0, lambda s: s.expect(c.WANT))
        refused(title, entries, *calls, into=True)


def test_incomplete():
    """Files whose end has not come are not there, whatever else the source says."""
    x = bytes(100000)
    for title, messages in (
            ("no data", []),
            ("a part of the data", [lambda s: s.block(1, 0, x)]),
            ("all data and no end", [lambda s: s.block(1, 0, bytes(300000))])):
        for how in ("the end of the channel", "BYE", "CANCEL", "FINISH"):
            place = Place()
            with c.Server(c.DESTINATION, place.there, sources=["a"], limit_s=END_S, into=True) as s:
                s.begin()
                s.send(c.OFFER, FILE)
                s.expect(c.WANT)
                for message in messages:
                    message(s)
                if how == "CANCEL":
                    s.send(c.CANCEL, c.error(5, "the copy was ended by SIGINT"))
                if how in ("CANCEL", "FINISH"):
                    s.send(c.FINISH, c.counts(status=5))
                if how == "BYE":
                    s.send(c.BYE)
                status, texts = s.end()
            t.ok(status not in (None, 0, 134, 139) and place.names() == [] and place.unchanged(),
                 "%s, then %s: no file" % (title, how), "status %s, texts %s, names %s" % (status, texts, place.names()))


def test_reason():
    """The reason of a source that cannot read is not an invitation to keep what came."""
    for title, entries, message in (
            ("a small file", SMALL, (c.BUNDLE, c.record(1, b"cannot read\0", 114))),
            ("a large file", FILE, (c.FILE_END, c.file_end(1, 0, 0, 114, b"shrank\0")))):
        place = Place()
        with c.Server(c.DESTINATION, place.there, sources=["a"], limit_s=END_S, into=True) as s:
            s.begin()
            s.send(c.OFFER, entries)
            s.expect(c.WANT)
            s.send(c.FAILURE, c.failure(1, 114, "a", "cannot read"))
            s.send(*message)
            results = c.take_results(s.expect(c.RESULT))
            found = s.finish(failed=1, status=114)
            status, texts = s.end()
        t.equal((results, status, place.names(), place.unchanged(), found["failed"]), ({1: c.LOST}, 114, [], True, 0),
                "%s that could not be read" % title, texts)


def test_window():
    """More than may be offered without results: memory is bounded."""
    entries = [c.directory(1, "a")] + [c.file(i, "f%d" % i, 1000) for i in range(2, 140000)]
    place = Place()
    with c.Server(c.DESTINATION, place.there, sources=["a"], limit_s=60, recursive=True) as s:
        s.begin()
        reader = threading.Thread(target=s.drain)
        reader.start()
        offered = 0
        try:
            for at in range(0, len(entries), 4000):
                if not s.send(c.OFFER, b"".join(entries[at:at + 4000])):
                    break
                offered = at
        except c.Ended:
            pass
        reader.join(END_S)
        judge("more files than fit into the window", place, s, ("a",), pattern="window")
    t.ok(60000 < offered < 100000, "they are refused before many more have come", offered)


def test_messages():
    """Messages of the other side, of other sessions, in wrong states, and none at all."""
    def raw(**fields):
        kind, body = fields.pop("kind", c.OFFER), fields.pop("body", SMALL)
        return lambda s: s.send(kind, body, **fields)

    for title, message in (
            ("a want from a source", (c.WANT, c.want(1))),
            ("a result from a source", (c.RESULT, c.result(1, c.DONE))),
            ("FINISHED from a source", (c.FINISHED, c.counts())),
            ("START again", (c.START, c.start(bytes(32), c.DESTINATION, "/"))),
            ("MEET again", (c.MEET, c.meet(c.LISTEN))),
            ("BEGIN again", (c.BEGIN, b"")),
            ("HELLO of an end-to-end copy", (w.HELLO, w.hello(w.CONTROL))),
            ("a plan of an end-to-end copy", (w.PLAN, w.plan(4096, 4096))),
            ("counts that are too long", (c.COUNTS, bytes(177))),
            ("counts beyond 2^63", (c.COUNTS, b"\xff" * 176)),
            ("a failure that does not parse", (c.FAILURE, bytes(30))),
            ("an error without a text", (c.CANCEL, struct.pack("<I", 114) + b"x")),
            ("an unknown type", raw(kind=49)),
            ("type 0", raw(kind=0)),
            ("an offer without entries", raw(body=b"", length=0)),
            ("an offer of 2^63 bytes", raw(length=1 << 63)),
            ("an offer of 2^32 bytes", raw(length=1 << 32)),
            ("an offer of more than 2^20 bytes", raw(length=(1 << 20) + 1)),
            ("a message out of sequence", raw(sequence=99)),
            ("another version", raw(version=2)),
            ("a wrong checksum", raw(checksum=1)),
            ("a wrong digest", raw(digest_=(1, 2))),
            ("a code without a key", raw(code=b"x" * 16)),
            ("a target", raw(target=1)),
            ("a pass", raw(pass_=1)),
            ("zeros", bytes(400)),
            ("garbage", os.urandom(4000)),
            ("text", b"GET / HTTP/1.1\r\n\r\n" * 20)):
        refused(title, None, message, into=True)
    refused("FINISH before all results", c.file(1, "a", 5), (c.FINISH, c.counts(walk_done=1)), into=True, pattern=".")


def test_silence():
    """Half of a message, or nothing, and no sign of life: the limit of time ends it."""
    for title, raw in (("nothing", b""), ("half of a header", w.header(c.OFFER, body=SMALL)[:50]),
                       ("a header without its body", w.header(c.OFFER, body=SMALL, sequence=3))):
        place = Place()
        begun = time.monotonic()
        with c.Server(c.DESTINATION, place.there, sources=["a"], limit_s=END_S, timeout_s=2, into=True) as s:
            s.begin()
            s.raw(raw)
            status, texts = s.end(close=False)
        spent = time.monotonic() - begun
        t.ok(status not in (None, 0) and 1.5 < spent < 15 and place.unchanged() and place.names() == [],
             "%s, then silence, ends it after 2 s" % title, "status %s after %.1f s, texts %s" % (status, spent, texts))


def test_beginnings():
    """Before the copy: nothing, garbage, wrong settings and steps."""
    key, there = bytes(32), t.path("nothing")
    good = c.start(key, c.DESTINATION, there)
    for title, body in (("a role of 0", good[:48] + b"\0" + good[49:]), ("a role of 3", good[:48] + b"\3" + good[49:]),
                        ("no connections", c.start(key, 2, there, connections=0)),
                        ("129 connections", c.start(key, 2, there, connections=129)),
                        ("blocks of 64 MiB", c.start(key, 2, there, block_bytes=64 << 20)),
                        ("no time", c.start(key, 2, there, timeout_s=0)),
                        ("a source without names", c.start(key, 1, there, sources=())),
                        ("an unknown setting", good[:52] + b"\xff" * 4 + good[56:]),
                        ("half of it", good[:100]), ("more than it", good + b"x")):
        with c.Server(c.DESTINATION, there, start_body=body, limit_s=END_S) as s:
            status, texts = s.end()
        t.ok(status not in (None, 0, 134, 139) and texts and all(map(clean, texts)), "START with %s" % title, (status, texts))
    for title, message in (("an offer", (c.OFFER, c.END)), ("BEGIN without a meeting", (c.BEGIN, b"")),
                           ("a step that is unknown", (c.MEET, b"\x09" + c.meet(c.LISTEN)[1:])),
                           ("17 addresses", (c.MEET, c.meet(c.CONNECT, port=1, addresses=["192.0.2.1"] * 17)))):
        with c.Server(c.DESTINATION, there, limit_s=END_S) as s:
            s.expect(c.STARTED)
            s.send(*message)
            status, texts = s.end()
        t.ok(status not in (None, 0, 134, 139) and texts and all(map(clean, texts)), "%s in the place of a meeting" % title,
             (status, texts))
    for title, raw in (("nothing", b""), ("zeros", bytes(500)), ("text", b"help\n" * 50)):
        with c.Server(c.DESTINATION, there, start_body=b"", limit_s=END_S) as s:
            s.raw(raw)
            status, texts = s.end()
        t.ok(status not in (None, 0, 134, 139), "%s in the place of START" % title, (status, texts))


def test_data_connections():
    """A peer without the key of this copy gets no data connection, and the copy goes on."""
    place = Place()
    with c.Server(c.DESTINATION, place.there, sources=["a"], limit_s=END_S, into=True) as s:
        s.expect(c.STARTED)
        ok, port, text = s.meet(c.LISTEN)
        t.ok(ok and port, "the server listens", text)

        def answer(key=s.key, then=None, **more):
            try:
                with c.DataConnection(port, key, limit_s=8, **more) as d:
                    kind, body = d.receive()
                    if kind == w.WELCOME and then:
                        return then(d)
                    return c.NAMES.get(kind, {w.WELCOME: "WELCOME", None: "closed"}.get(kind)), body
            except (c.Ended, ConnectionError, AssertionError) as e:
                return "ended", str(e).encode()
        for title, more in (("another key", {"key": bytes(32)}), ("another session", {"session": b"x" * 16}),
                            ("a number that is too large", {"number": 5})):
            kind, body = answer(**more)
            t.ok(kind != "WELCOME", "a connection with %s is refused" % title, (kind, body))
        with c.DataConnection(port, s.key, limit_s=END_S) as d:
            kind, body = d.receive()
            t.equal(kind, w.WELCOME, "one with the key is taken")
            kind, body = answer()
            t.ok(kind != "WELCOME", "a second one of the same number is refused", (kind, body))
            s.send(c.BEGIN)
            s.send(c.OFFER, FILE)
            s.expect(c.WANT)
            d.send(c.BLOCK, bytes(300000), target=1)
            d.send(c.FILE_END, c.file_end(1, 1, 300000))
            results = c.take_results(s.expect(c.RESULT))
            found = s.finish()
            status, texts = s.end()
    t.equal((results, status, place.names(), found["done_bytes"]), ({1: c.DONE}, 0, ["a"], 300000),
            "the copy is complete", texts)
    for title, bad in (("a wrong code", {"code": b"x" * 16}), ("a wrong sequence", {"sequence": 7})):
        place = Place()
        with c.Server(c.DESTINATION, place.there, sources=["a"], limit_s=END_S, into=True) as s:
            s.expect(c.STARTED)
            port = s.meet(c.LISTEN)[1]
            with c.DataConnection(port, s.key, limit_s=END_S) as d:
                d.receive()
                s.send(c.BEGIN)
                s.send(c.OFFER, FILE)
                s.expect(c.WANT)
                if "code" in bad:
                    d.raw(w.header(c.BLOCK, 1, 0, body=bytes(1000), sequence=1, **bad) + bytes(1000))
                else:
                    d.send(c.BLOCK, bytes(1000), target=1, **bad)
                judge("data with %s ends the copy" % title, place, s, close=False)


# Destinations


def tree():
    top = t.path("source")
    if not os.path.isdir(top):
        os.mkdir(top)
        for name, size in (("small", 100), ("large", 600000)):
            with open(os.path.join(top, name), "wb") as f:
                f.write(os.urandom(size))
        os.symlink("/etc/passwd", os.path.join(top, "link"))
    return top


def source(**settings):
    s = c.Server(c.SOURCE, "there", sources=[tree()], limit_s=END_S, recursive=True, **settings)
    s.begin()
    entries = []
    while not entries or entries[-1]["kind"] != 7:
        entries += c.take_entries(s.expect(c.OFFER))
    return s, {e["name"].decode(): e for e in entries if e.get("name")}, entries


def test_good_destination():
    s, names, entries = source()
    with s:
        t.equal(sorted(names), ["large", "link", "small", "source"], "a tree is offered")
        t.ok(names["link"]["target"] == b"/etc/passwd" and names["large"]["size"] == 600000 and
             [e["id"] for e in entries if "id" in e] == [1, 2, 3, 4], "with its facts", entries)
        s.send(c.WANT, c.want(names["large"]["id"], c.SEND, [(0, 10), (500000, 600000)]) + c.want(names["small"]["id"]))
        got, ended, data = {}, None, {}
        while len(got) < 1 or ended is None:
            h, body = s.receive_header()
            if h is None:
                break
            if h["kind"] == c.BUNDLE:
                got.update(c.take_records(body))
            elif h["kind"] == c.BLOCK:
                data[h["offset"]] = body
            elif h["kind"] == c.FILE_END:
                ended = struct.unpack_from("<QQQI", body)
        with open(os.path.join(tree(), "large"), "rb") as f:
            large = f.read()
        with open(os.path.join(tree(), "small"), "rb") as f:
            small = f.read()
        t.ok(got == {names["small"]["id"]: (0, small)}, "a small file comes in a bundle", got.keys())
        t.ok(b"".join(data[at] for at in sorted(data)) == large[:10] + large[500000:] and
             ended == (names["large"]["id"], len(data), 100010, 0), "ranges of a large one in blocks", (ended, list(data)))
        s.send(c.RESULT, b"".join(c.result(i, c.DONE) for i in (1, 2, 3, 4)))
        s.expect(c.FINISH)
        s.send(c.FINISHED, c.counts(done_files=2, done_bytes=600100))
        s.expect(c.BYE)
        s.send(c.BYE)
        status, texts = s.end()
    t.equal((status, texts), (0, []), "a destination that follows doc/wire.md ends well")


def grows(sizes, first, entry):
    """Each message is at most as large as all before it together, plus what one entry takes."""
    return all(size <= max(first, sum(sizes[:i])) + entry for i, size in enumerate(sizes))


def test_growth():
    """Messages are small at first: the other side can work on them before TCP has a large window."""
    top, n = t.path("many"), 1000
    os.mkdir(top)
    for i in range(n):
        with open(os.path.join(top, "%0100d" % i), "wb") as f:
            f.write(bytes(1000))
    offers, bundles, wanted = [], [], []
    with c.Server(c.SOURCE, "there", sources=[top], limit_s=END_S, recursive=True) as s:
        s.begin()
        entries = []
        while not entries or entries[-1]["kind"] != 7:
            body = s.expect(c.OFFER)
            offers.append(len(body))
            entries += c.take_entries(body)
        wanted = [e["id"] for e in entries if e["kind"] == 3]
        s.send(c.WANT, b"".join(map(c.want, wanted)))
        got = {}
        while len(got) < n:
            body = s.expect(c.BUNDLE)
            bundles.append(len(body))
            got.update(c.take_records(body))
        s.send(c.RESULT, b"".join(c.result(e["id"], c.DONE) for e in entries if "id" in e))
        s.expect(c.FINISH)
        s.send(c.FINISHED, c.counts(done_files=n, done_bytes=n * 1000))
        s.expect(c.BYE)
        s.send(c.BYE)
        status, texts = s.end()
    t.equal((status, texts, sorted(got)), (0, [], wanted), "many files are offered and sent")
    t.ok(grows(offers, 8 << 10, 200), "offers grow", offers)
    t.ok(grows(bundles, 64 << 10, 0), "bundles grow", bundles)


def ended(s):
    try:
        return s.process.wait(END_S)
    except subprocess.TimeoutExpired:
        return None


def test_end():
    """A server that is the destination waits for nothing once all is there: FINISH and the end of ssh take no time."""
    place = Place()
    with c.Server(c.DESTINATION, place.there, sources=["a"], limit_s=END_S, into=True, timeout_s=10 * END_S) as s:
        s.begin()
        s.send(c.OFFER, SMALL)
        s.expect(c.WANT)
        s.send(c.BUNDLE, c.record(1, b"12345"))
        results = c.take_results(s.expect(c.RESULT))
        found = c.take_counts(s.expect(c.FINISHED))
        s.expect(c.BYE)
        status = ended(s)
    t.equal((status, place.names(), results, found["done_bytes"]), (0, ["a"], {1: c.DONE}, 5),
            "it ends without FINISH and BYE of the source")
    place = Place()
    with c.Server(c.DESTINATION, place.there, sources=["a"], limit_s=END_S, recursive=True) as s:
        s.begin()
        s.send(c.OFFER, c.directory(1, "a") + c.LEAVE)
        results = c.take_results(s.expect(c.RESULT))
        early = s.quiet()
        s.send(c.OFFER, c.END)
        s.expect(c.FINISHED)
        s.expect(c.BYE)
        status = ended(s)
    t.equal((status, results, early), (0, {1: c.DONE}, True), "it waits for the end of all offers")


def test_end_of_lost():
    """A file that has failed at the destination: its data may still be on the way, and the server takes it."""
    place = Place()
    with c.Server(c.DESTINATION, place.there, sources=["a"], limit_s=END_S, recursive=True) as s:
        s.begin()
        s.send(c.OFFER, c.directory(1, "a") + c.file(2, "f", 300000) + c.LEAVE + c.END)
        s.expect(c.WANT)
        os.rmdir(os.path.join(place.there, "a"))
        s.block(2, 0, bytes(100000))
        results = c.take_results(s.expect(c.RESULT))
        early = s.quiet()
        s.block(2, 100000, bytes(200000))
        s.send(c.FILE_END, c.file_end(2, 2, 300000))
        results.update(c.take_results(s.expect(c.RESULT)))
        s.expect(c.FINISHED)
        s.expect(c.BYE)
        status = ended(s)
    t.equal((status, results[2], early), (114, c.LOST, True), "it ends once all data has come", (results, s.failures))


def test_destinations():
    """Wants and results that do not fit what was offered end the copy."""
    before = {name: os.lstat(os.path.join(tree(), name)) for name in os.listdir(tree())}
    for title, messages, settings in (
            ("a want of id 0", lambda n: [(c.WANT, c.want(0))], {}),
            ("a want of an unknown id", lambda n: [(c.WANT, c.want(5))], {}),
            ("a want of the largest id", lambda n: [(c.WANT, c.want(2 ** 56 - 1))], {}),
            ("a want of a directory", lambda n: [(c.WANT, c.want(n["source"]["id"]))], {}),
            ("a want of a symbolic link", lambda n: [(c.WANT, c.want(n["link"]["id"]))], {}),
            ("a want twice", lambda n: [(c.WANT, c.want(n["large"]["id"]) * 2)], {}),
            ("digests twice", lambda n: [(c.WANT, c.want(n["large"]["id"], c.DIGESTS) * 2)], {}),
            ("a range beyond the end", lambda n: [(c.WANT, c.want(n["large"]["id"], c.SEND, [(0, 600001)]))], {}),
            ("a range far beyond the end", lambda n: [(c.WANT, c.want(n["large"]["id"], c.SEND, [(2 ** 62, 2 ** 63)]))], {}),
            ("an empty range", lambda n: [(c.WANT, c.want(n["large"]["id"], c.SEND, [(5, 5)]))], {}),
            ("ranges that overlap", lambda n: [(c.WANT, c.want(n["large"]["id"], c.SEND, [(0, 10), (5, 20)]))], {}),
            ("more ranges than are there", lambda n: [(c.WANT, struct.pack("<QII", n["large"]["id"], 1, 4000))], {}),
            ("contents with -k", lambda n: [(c.WANT, c.want(n["large"]["id"]))], {"verify": True}),
            ("contents with -n", lambda n: [(c.WANT, c.want(n["large"]["id"]))], {"dry_run": True}),
            ("a result of an unknown id", lambda n: [(c.RESULT, c.result(9, c.DONE))], {}),
            ("a result twice", lambda n: [(c.RESULT, c.result(n["large"]["id"], c.SAME) * 2)], {}),
            ("an unknown outcome", lambda n: [(c.RESULT, c.result(n["large"]["id"], 9))], {}),
            ("a want after the result", lambda n: [(c.RESULT, c.result(n["large"]["id"], c.SAME)),
                                                   (c.WANT, c.want(n["large"]["id"]))], {}),
            ("half of a result", lambda n: [(c.RESULT, c.result(n["large"]["id"], c.SAME) + b"1234")], {}),
            ("an offer", lambda n: [(c.OFFER, c.END)], {}),
            ("a bundle", lambda n: [(c.BUNDLE, c.record(1, b"x"))], {}),
            ("FINISH", lambda n: [(c.FINISH, c.counts())], {}),
            ("FINISHED before FINISH", lambda n: [(c.FINISHED, c.counts()), (c.BYE, b"")], {}),
            ("BYE", lambda n: [(c.BYE, b"")], {}),
            ("START", lambda n: [(c.START, c.start(bytes(32), 1, "/", ["/etc/shadow"]))], {})):
        s, names, _ = source(**settings)
        with s:
            for message in messages(names):
                s.send(*message)
            status, texts = s.end()
        t.ok(status not in (None, 0, 134, 139) and (texts or title == "BYE") and all(map(clean, texts)),
             "a destination that sends %s" % title, (status, texts))
    for title, raw in (("zeros", bytes(1000)), ("garbage", os.urandom(5000)), ("half of a header", w.header(c.WANT)[:40])):
        s, names, _ = source()
        with s:
            s.raw(raw)
            status, texts = s.end()
        t.ok(status not in (None, 0, 134, 139), "a destination that sends %s" % title, (status, texts))
    t.ok(all(os.lstat(os.path.join(tree(), name)) == st or
             os.lstat(os.path.join(tree(), name)).st_mtime_ns == st.st_mtime_ns for name, st in before.items()),
         "the source is as it was")


def test_unread():
    """A destination that reads nothing and stays silent: the source ends by its limit of time."""
    begun = time.monotonic()
    s, names, _ = source(timeout_s=2)
    with s:
        s.send(c.WANT, c.want(names["large"]["id"]))
        try:
            status = s.process.wait(END_S)
        except subprocess.TimeoutExpired:
            status = None
    t.ok(status not in (None, 0), "a destination that neither reads nor speaks", (status, time.monotonic() - begun))


# The process that a user has started


def initiator(scenario, *operands, words=("-timeout", "3"), seconds=END_S):
    """Run xdd copy with this file in the place of ssh; returns (status, standard error, standard output)."""
    environment = dict(os.environ, XDD_SCENARIO=scenario)
    r = subprocess.Popen([t.XDD, "copy", *words, "-S", "%s %s" % (sys.executable, os.path.abspath(__file__)), *operands],
                         env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         start_new_session=True)
    try:
        out, err = r.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(r.pid, 9)
        out, err = r.communicate()
        return None, err.decode(errors="replace"), out.decode(errors="replace")
    return r.returncode, err.decode(errors="replace"), out.decode(errors="replace")


def test_servers_as_sources():
    """host:a there: only "a" is created, whatever the host offers."""
    for scenario in ("good", "other name", "parent", "parent directory", "path", "absolute", "startup files", "more names",
                     "whole destination", "link"):
        place = Place()
        status, err, out = initiator(scenario, "host:a", place.there, words=("-r", "-timeout", "3"))
        allowed = {"good": ["a"], "link": ["a"], "more names": ["a"]}.get(scenario, [])
        good = status == 0 if scenario == "good" else status not in (None, 0, 134, 139, -6, -11)
        t.ok(good and place.unchanged() and set(place.names()) <= set(allowed) and
             (scenario == "good" or "xdd: " in err) and "\x1b" not in err,
             "a server that offers: %s" % scenario, "status %s, names %s\n%s%s" % (status, place.names(), err, out))


def test_servers_as_destinations():
    for scenario in ("unknown want", "want of all ids", "wrong result", "offer", "finished", "bye", "garbage", "error"):
        status, err, out = initiator(scenario, os.path.join(tree(), "large"), "host:there")
        t.ok(status not in (None, 0, 134, 139, -6, -11) and "xdd: " in err and "\x1b" not in err,
             "a server that answers: %s" % scenario, "status %s\n%s%s" % (status, err, out))


def test_early_ends():
    """A server may end first, once all results are there, and the source has nothing to complain of."""
    operands = os.path.join(tree(), "large"), "host:there"
    status, err, out = initiator("early end", *operands)
    t.ok(status == 0 and "xdd: host" not in err and "ended" not in err, "a server that ends with the last result", "status %s\n%s%s" % (status, err, out))
    status, err, out = initiator("end before a result", tree(), "host:there", words=("-r", "-timeout", "3"))
    t.ok(status == 114 and "FINISHED at the wrong time" in err, "one that ends before it", "status %s\n%s%s" % (status, err, out))
    status, err, out = initiator("end before data", *operands)
    t.ok(status not in (None, 134, 139, -6, -11), "one that ends while it is sent data", "status %s\n%s%s" % (status, err, out))


def test_another_program():
    """A copy that has begun before WELCOME starts again, waits for it, and finds another way."""
    steps = t.path("steps")
    os.environ["XDD_STEPS"] = steps
    status, err, _ = initiator("another program on the port", os.path.join(tree(), "small"), "host:there", words=())
    with open(steps, encoding="utf-8") as f:
        got = f.read().split()
    t.equal((status, got), (0, ["BEGIN", "MEET"]), "another program on the port: the second attempt waits for WELCOME", err)
    t.ok(re.search("trying another way", err) and re.search("data goes through ssh", err),
         "another program on the port: the user learns of it", err)


def test_no_servers():
    """The user gets words in time for all that ssh prints."""
    for scenario, pattern in (
            ("no banner", "Welcome to this host|no xdd is here"), ("noise", "noise"), ("other protocol", "99.0.0"),
            ("binary banner", "."), ("garbage after the banner", "."), ("no server", "77"),
            ("refusal", "no such directory"), ("refusal that controls the terminal", "malformed"),
            ("stop in a message", "host")):
        status, err, out = initiator(scenario, "host:a", t.path("there"), seconds=60)
        t.ok(status not in (None, 0, 134, 139, -6, -11) and re.search(pattern, err) and "xdd: " in err and
             "\x1b" not in err and len(err) < 20000,
             "in the place of a server: %s" % scenario, "status %s\n%s" % (status, err[:3000]))


def test_silent_server():
    """ssh may wait for a password, so there is no limit of time; a signal ends it."""
    r = subprocess.Popen([t.XDD, "copy", "-S", "%s %s" % (sys.executable, os.path.abspath(__file__)), "host:a",
                          t.path("there")], env=dict(os.environ, XDD_SCENARIO="silence"), stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    time.sleep(1)
    r.send_signal(signal.SIGINT)
    try:
        out, err = r.communicate(timeout=15)
    except subprocess.TimeoutExpired:
        os.killpg(r.pid, signal.SIGKILL)
        out, err = r.communicate()
    t.ok(r.returncode == 5, "a server that says nothing, until SIGINT", (r.returncode, err))


test_good_source()
test_names()
test_tops()
test_order()
test_links()
test_existing()
test_data()
test_incomplete()
test_reason()
test_window()
test_messages()
test_silence()
test_beginnings()
test_data_connections()
test_good_destination()
test_growth()
test_end()
test_end_of_lost()
test_destinations()
test_unread()
test_servers_as_sources()
test_servers_as_destinations()
test_early_ends()
test_another_program()
test_no_servers()
test_silent_server()
t.done()
