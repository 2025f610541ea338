#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Sources that do what xdd never does, and the real destination: names that lead out of it, links that point there, data for files
that are not wanted, too much, too little, or garbage. Nothing outside of the destination changes, and it ends in time, and says
why. Destinations are in copy_hostile_destinations.py, servers of a real initiator in copy_hostile_servers.py.
"""
import concurrent.futures
import os
import stat
import struct
import threading
import time

import xddtest as t
import xddwire as w
import xddcopywire as c

if not w.xxhash():
    t.skip_all("the library xxHash is needed to compute checksums")

from xddhostile import END_S, MALFORMED, SILENCE_S, Place, finish_after, judge, refused  # noqa: E402


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
    refused("a file that was not asked for", offer("b"), says="there: a file that was not asked for")
    refused("a second file that was not asked for", c.file(1, "a", 5) + c.file(2, "b", 5) + c.END,
            says="there: a file that was not asked for")
    refused("a directory that stands for the destination", c.directory(1, "") + c.file(2, "b", 5) + c.LEAVE + c.END,
            says="there: a file that was not asked for")
    refused("a directory without a name below", c.directory(1, "a") + c.directory(2, "") + c.LEAVE + c.LEAVE + c.END,
            names=("a",), says="there: a directory without a name")


def test_sources_left_out():
    """A source that offers some of its names only, and says that all is well: each name that is missing fails."""
    none = "was not offered, and no reason was given"
    stands = "a source that stands for its contents " + none
    dirs = c.directory(1, "") + c.LEAVE
    for title, sources, entries, ids, before, wanted in (
            ("one of three", ["a", "x/b", "c"], c.file(1, "a", 0) + c.file(2, "c", 0), (1, 2), (), [("b", none)]),
            ("two of three", ["a", "b", "c"], c.file(1, "b", 0), (1,), (), [("a", none), ("c", none)]),
            ("all of two", ["a", "b"], b"", (), (), [("a", none), ("b", none)]),
            ("one of two that stand for their contents", ["a/", "b/"], dirs, (1,), (), [("", stands)]),
            ("one twice, in place of another", ["a", "b"], c.file(1, "a", 0) + c.file(2, "a", 0), (1, 2), (), [("b", none)]),
            ("one with a warning", ["a", "b"], c.file(1, "a", 0), (1,), [c.failure(0, 0, "b", "hm")], [("b", none)]),
            ("one with the failure of another entry", ["a", "b"], c.file(1, "a", 0), (1,), [c.failure(1, 114, "a", "hm")],
             [("b", none)]),
            ("one, which has failed", ["a", "b"], c.file(1, "a", 0), (1,), [c.failure(0, 114, "/x/b", "cannot open")], []),
            ("none of two", ["a/", "b/"], dirs + c.directory(2, "") + c.LEAVE, (1, 2), (), []),
            ("names of a list", ["list"], c.file(1, "a", 0), (1,), (), [])):
        place = Place()
        results = {}
        with c.Server(c.DESTINATION, place.there, sources=sources, limit_s=END_S, recursive=True, into=True,
                      list=sources == ["list"]) as s:
            s.begin()
            for body in before:
                s.send(c.FAILURE, body)
            s.send(c.OFFER, entries + c.END)
            while len(results) < len(ids):
                kind, body = s.receive()
                if kind == c.WANT:
                    s.send(c.BUNDLE, b"".join(c.record(want[0], b"") for want in c.take_wants(body)))
                elif kind == c.RESULT:
                    results.update(c.take_results(body))
                elif kind != c.FAILURE:
                    break
            counts = s.finish()
            status, _ = s.end()
        found = [(path.decode(), text) for _, _, _, path, text in s.failures]
        t.equal((found, status, counts["failed"], set(results)), (wanted, 114 if wanted or before else 0, len(wanted), set(ids)),
                "of the sources %s, what is left out: %s" % (" ".join(sources), title))


def test_order():
    a, not_begun = c.directory(1, "a"), "there: the end of a directory that it had not begun"
    for title, entries, names, says in (
            ("an id of 0", c.file(0, "a", 5), (), MALFORMED),
            ("a first id of 2", c.file(2, "a", 5), (), "there: entries out of order"),
            ("an id twice", a + c.file(1, "b", 5), ("a",), "there: entries out of order"),
            ("an id that is left out", a + c.file(3, "b", 5), ("a",), "there: entries out of order"),
            ("the largest id", a + c.file(2 ** 64 - 1, "b", 5), ("a",), MALFORMED),
            ("a directory left that was not entered", c.LEAVE, (), not_begun),
            ("a directory left twice", a + c.LEAVE + c.LEAVE, ("a",), not_begun),
            ("an end within a directory", a + c.END, ("a",), "there: the end of all within a directory"),
            ("an entry after the end", a + c.LEAVE + c.END + c.file(2, "b", 5), ("a",), MALFORMED),
            ("an unknown kind", a + b"\x08", ("a",), MALFORMED),
            ("half of an entry", a + c.file(2, "b", 5)[:-3], ("a",), MALFORMED),
            ("a link to itself", a + c.link(2, "b", 2), ("a",), MALFORMED),
            ("a link to a later file", a + c.link(2, "b", 3), ("a",), MALFORMED),
            ("a link to a directory", a + c.link(2, "b", 1), ("a",), "there: a link to an unknown file"),
            ("a size beyond 2^63", a + c.file(2, "b", 2 ** 63), ("a",), MALFORMED),
            ("a mode beyond the permissions", a + c.file(2, "b", 5, mode=0o100644), ("a",), MALFORMED),
            ("an unknown flag", a + c.file(2, "b", 5, flags=0x40), ("a",), MALFORMED),
            ("attributes that do not end", a + c.file(2, "b", 5, attrs=[("user.x", b"v" * 100)])[:-50], ("a",), MALFORMED)):
        refused(title, entries, names=names, says=says)
    refused("an offer after the end of all", a + c.file(2, "b", 5) + c.LEAVE + c.END, (c.OFFER, c.file(3, "c", 5)),
            names=("a",), says="there: more after the end of all")


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
                    lambda s: finish_after(s, {1: c.LOST, 2: c.LOST}), names=("a",), says="is not a directory",
                    prepare=lambda p, target=target: os.symlink(target, os.path.join(p.there, "a")))


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
            prepare=lambda p: os.mkdir(os.path.join(p.there, "a")), names=("a",), into=True,
            says="cannot be replaced, as it is a directory there")


FILE = c.file(1, "a", 300000) + c.END
SMALL = c.file(1, "a", 5) + c.END


# The reasons of the destination, where it can decode the message.
DATA = {
    "a file that was not asked for": ("a bundle for an unknown id", "a bundle for the largest id", "a bundle before any offer",
                                       "a bundle for a file in blocks"),
    "a file of another size than it says": ("a small file that is too long", "a small file that is too short"),
    "data that was not asked for": ("a block of an unknown file", "a block of a file with a large id"),
    "data that lies outside of a file, or twice": ("a block beyond the end", "a block far beyond the end", "a block twice",
                                                    "blocks that overlap"),
    "the end of an unknown file": ("an end of an unknown file",), "two ends of a file": ("an end twice",),
    "other amounts of a file than it says": ("fewer bytes than came", "more bytes than came", "fewer messages than came"),
    "digests that were not asked for": ("digests that no one wants",),
    "the other side sent data with a wrong checksum": ("data with a wrong digest", "a small file with a wrong digest"),
    "the other side sent a message with a length out of range": ("a block of more than was agreed on",),
    "the other side sent a message with a field out of range": (
        "a block beyond 2^63", "data on a connection that there is not", "control on the connection of data")}


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
            ("a bundle for a file in blocks", c.file(1, "a", 1 << 18) + c.END, [block(1, 0, x), (c.BUNDLE, c.record(1, bytes(1 << 18)))]),
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
        refused(title, entries, *calls, into=True,
                says=next(("there: " + says for says, titles in DATA.items() if title in titles), MALFORMED))
    refused("blocks in descending order, with -o", FILE, lambda s: s.expect(c.WANT), block(1, 100000, x), block(1, 0, x),
            into=True, ordered_destination=True, says="there: data in descending order, which -o rules out")
    refused("a small file twice", SMALL, (c.BUNDLE, c.record(1, b"12345") * 2), names=("a",), into=True,
            says="there: a file that was not asked for")


def test_incomplete():
    """Files whose end has not come are not there, whatever else the source says."""
    x = bytes(100000)
    for title, messages in (
            ("no data", []),
            ("a part of the data", [lambda s: s.block(1, 0, x)]),
            ("all data and no end", [lambda s: s.block(1, 0, bytes(300000))])):
        for how, wanted in (("the end of the channel", (109, [])), ("BYE", (114, [])), ("CANCEL", (5, [])),
                            ("FINISH", (5, ["there ended the copy before all was done"]))):
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
                found = s.end()
            t.equal((found, place.names(), place.unchanged()), (wanted, [], True), "%s, then %s: no file" % (title, how))


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
        judge("more files than fit into the window", place, s, ("a",), "there: more than fits into the window")
    t.ok(60000 < offered < 100000, "they are refused before many more have come", offered)


def test_messages():
    """Messages of the other side, of other sessions, in wrong states, and none at all."""
    def raw(**fields):
        kind, body = fields.pop("kind", c.OFFER), fields.pop("body", SMALL)
        return lambda s: s.send(kind, body, **fields)

    for title, says, message in (
            ("a want from a source", "a message that has no place there", (c.WANT, c.want(1))),
            ("a result from a source", "a message that has no place there", (c.RESULT, c.result(1, c.DONE))),
            ("FINISHED from a source", "it sent COPY_FINISHED at the wrong time", (c.FINISHED, c.counts())),
            ("START again", "a message that has no place there", (c.START, c.start(bytes(32), c.DESTINATION, "/"))),
            ("MEET again", "a message that has no place there", (c.MEET, c.meet(c.LISTEN))),
            ("BEGIN again", "a message that has no place there", (c.BEGIN, b"")),
            ("HELLO of an end-to-end copy", "a message that has no place there", (w.HELLO, w.hello(w.CONTROL))),
            ("a plan of an end-to-end copy", "a message that has no place there", (w.PLAN, w.plan(4096, 4096))),
            ("counts that are too long", "the other side sent a message with a length out of range", (c.COUNTS, bytes(8 * len(c.COUNT_NAMES) + 1))),
            ("counts beyond 2^63", "it sent COPY_COUNTS with a wrong body", (c.COUNTS, b"\xff" * 8 * len(c.COUNT_NAMES))),
            ("a failure that does not parse", "it sent COPY_FAILURE with a wrong body", (c.FAILURE, bytes(30))),
            ("an error without a text", "it sent COPY_CANCEL with a wrong body", (c.CANCEL, struct.pack("<I", 114) + b"x")),
            ("an unknown type", "the other side sent a message of an unknown type", raw(kind=999)),
            ("an offer without entries", "the other side sent a message with a length out of range", raw(body=b"", length=0)),
            ("an offer of more than 2^20 bytes", "the other side sent a message with a length out of range",
             raw(length=(1 << 20) + 1)),
            ("a message out of sequence", "the other side sent message 99, not 3", raw(sequence=99)),
            ("another version", "the other side speaks version %d of the protocol, this one version %d" % (w.VERSION + 1, w.VERSION),
             raw(version=w.VERSION + 1)),
            ("a wrong checksum", "the other side sent a header with a wrong checksum", raw(checksum=1)),
            ("a wrong digest", "the other side sent data with a wrong checksum", raw(digest_=(1, 2))),
            ("a code without a key", "the other side sent a message with a wrong authentication code", raw(code=b"x" * 16)),
            ("garbage", "the other side sent bytes that are no message of xdd", os.urandom(4000))):
        refused(title, None, message, into=True, says="there: " + says)
    refused("FINISH before all results", SMALL, (c.FINISH, c.counts(walk_done=1)), into=True,
            says="there ended the copy before all was done")


def silent_after(title, raw):
    """A source that sends `raw` of a message and no sign of life; returns what is wrong."""
    place = Place(title)
    with c.Server(c.DESTINATION, place.there, sources=["a"], limit_s=SILENCE_S + END_S, timeout_s=SILENCE_S, into=True) as s:
        s.begin()
        begun = time.monotonic()
        s.raw(raw)
        status, texts = s.end(close=False)
    spent = time.monotonic() - begun
    good = status not in (None, 0) and spent > SILENCE_S - 1 and place.unchanged() and place.names() == []
    return "" if good else "status %s after %.1f s, texts %s" % (status, spent, texts)


def test_silence():
    """Half of a message, or nothing, and no sign of life: the limit of time ends it."""
    cases = {"nothing": b"", "half of a header": w.header(c.OFFER, body=SMALL)[:50],
             "a header without its body": w.header(c.OFFER, body=SMALL, sequence=3)}
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as together:
        for title, wrong in zip(cases, together.map(silent_after, cases, cases.values())):
            t.equal(wrong, "", "%s, then silence, ends it after its limit" % title)


def test_beginnings():
    """Before the copy: nothing, garbage, wrong settings and steps."""
    key, there = bytes(32), t.path("nothing")
    good = c.start(key, c.DESTINATION, there)
    for title, body in (("a role of 0", good[:48] + b"\0" + good[49:]), ("a role of 3", good[:48] + b"\3" + good[49:]),
                        ("an unknown setting", good[:52] + b"\xff" * 4 + good[56:]),
                        ("half of it", good[:100]), ("more than it", good + b"x")):
        with c.Server(c.DESTINATION, there, start_body=body, limit_s=END_S) as s:
            found = s.end()
        t.equal(found, (114, ["expected a valid START as the first message"]), "START with %s" % title)
    for title, message, says in (
            ("an offer", (c.OFFER, c.END), "COPY_OFFER came before BEGIN"),
            ("BEGIN without a meeting", (c.BEGIN, b""), "BEGIN came before MEET"),
            ("a step that is unknown", (c.MEET, b"\x09" + c.meet(c.LISTEN)[1:]), "a wrong MEET was received"),
            ("17 addresses", (c.MEET, c.meet(c.CONNECT, port=1, addresses=["192.0.2.1"] * 17)), "a wrong MEET was received")):
        with c.Server(c.DESTINATION, there, limit_s=END_S) as s:
            s.expect(c.STARTED)
            s.send(*message)
            found = s.end()
        t.equal(found, (114, [says]), "%s in the place of a meeting" % title)
    other = (114, ["the other side sent bytes that are no message of xdd"])
    for title, raw, wanted in (("nothing", b"", (109, [])), ("zeros", bytes(500), other), ("text", b"help\n" * 50, other)):
        with c.Server(c.DESTINATION, there, start_body=b"", limit_s=END_S) as s:
            s.raw(raw)
            found = s.end()
        t.equal(found, wanted, "%s in the place of START" % title)


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
        def refusal(text):
            return "ERROR", c.error(6, text)

        for title, more, says in (("another key", {"key": bytes(32)}, "the first message has a wrong code"),
                                  ("another session", {"session": b"x" * 16}, "this is another copy"),
                                  ("a number that is too large", {"number": 5}, "there is no such data connection"),
                                  ("the first number that is too large", {"number": 1}, "there is no such data connection")):
            t.equal(answer(**more), refusal(says), "a connection with %s is refused" % title)
        with c.DataConnection(port, s.key, limit_s=END_S) as d:
            kind, body = d.receive()
            t.equal(kind, w.WELCOME, "one with the key is taken")
            t.equal(answer(), refusal("this data connection is there already"), "a second one of the same number is refused")
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
    for title, bad, says in (("a wrong code", {"code": b"x" * 16}, "a message with a wrong authentication code"),
                             ("a wrong sequence", {"sequence": 7}, "message 7, not 1")):
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
                judge("data with %s ends the copy" % title, place, s, close=False,
                      says="data connection 0 to there: data connection 0 (127.0.0.1:%d): the other side sent %s" %
                      (d.socket.getsockname()[1], says))


t.run_all()
