#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Destinations that do what xdd never does, and the real source: they want what was not offered, and answer what they were not
asked. The end of a copy, and the sizes of its messages, with a side that follows doc/wire.md.
"""
import os
import struct
import subprocess
import time

import xddtest as t
import xddwire as w
import xddcopywire as c

if not w.xxhash():
    t.skip_all("the library xxHash is needed to compute checksums")

from xddhostile import END_S, SILENCE_S, Place, tree  # noqa: E402


SMALL = c.file(1, "a", 5) + c.END


def source(**settings):
    s = c.Server(c.SOURCE, "there", sources=[tree()], limit_s=END_S, recursive=True, **settings)
    entries = []
    try:
        s.begin()
        while not entries or entries[-1]["kind"] != 7:
            entries += c.take_entries(s.expect(c.OFFER))
    except c.Ended:
        s.close()
        raise
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


def test_peer():
    """The peer of these tests keeps the part of a message that has come when it stops waiting for the rest."""
    ends = os.pipe()
    peer = c.Stream(*ends)
    message = w.header(c.WANT, body=b"body", connection=c.CHANNEL, sequence=0) + b"body"
    for part in (message[:9], message[9:len(message) - 1]):
        os.write(ends[1], part)
        try:
            found = peer.receive(0)
        except c.Ended:
            found = "nothing"
        t.equal(found, "nothing", "%d bytes of a message: it waits" % len(part))
    os.write(ends[1], message[-1:])
    t.equal(peer.receive(0), (c.WANT, b"body"), "and receives it whole")
    for end in ends:
        os.close(end)


def test_destinations():
    """Wants and results that do not fit what was offered end the copy."""
    before = {name: os.lstat(os.path.join(tree(), name)) for name in os.listdir(tree())}
    want, result = ("a %s that is not valid for entry " % kind for kind in ("want", "result"))
    bad_want, sends, parse = want + "%(large)d", "a message that a destination does not send: ", "%s that do not parse"
    for title, says, messages, settings in (
            ("a want of id 0", parse % "wants", lambda n: [(c.WANT, c.want(0))], {}),
            ("a want of an unknown id", want + "5", lambda n: [(c.WANT, c.want(5))], {}),
            ("a want of the largest id", want + "72057594037927935", lambda n: [(c.WANT, c.want(2 ** 56 - 1))], {}),
            ("a want of a directory", want + "%(source)d", lambda n: [(c.WANT, c.want(n["source"]["id"]))], {}),
            ("a want of a symbolic link", want + "%(link)d", lambda n: [(c.WANT, c.want(n["link"]["id"]))], {}),
            ("a want twice", bad_want, lambda n: [(c.WANT, c.want(n["large"]["id"]) * 2)], {}),
            ("digests twice", bad_want, lambda n: [(c.WANT, c.want(n["large"]["id"], c.DIGESTS) * 2)], {}),
            ("a range beyond the end", bad_want, lambda n: [(c.WANT, c.want(n["large"]["id"], c.SEND, [(0, 600001)]))], {}),
            ("a range far beyond the end", parse % "wants", lambda n: [(c.WANT, c.want(n["large"]["id"], c.SEND, [(2 ** 62, 2 ** 63)]))], {}),
            ("an empty range", parse % "wants", lambda n: [(c.WANT, c.want(n["large"]["id"], c.SEND, [(5, 5)]))], {}),
            ("ranges that overlap", parse % "wants", lambda n: [(c.WANT, c.want(n["large"]["id"], c.SEND, [(0, 10), (5, 20)]))], {}),
            ("more ranges than are there", parse % "wants", lambda n: [(c.WANT, struct.pack("<QII", n["large"]["id"], 1, 4000))], {}),
            ("contents with -k", bad_want, lambda n: [(c.WANT, c.want(n["large"]["id"]))], {"verify": True}),
            ("contents with -n", bad_want, lambda n: [(c.WANT, c.want(n["large"]["id"]))], {"dry_run": True}),
            ("a result of an unknown id", result + "9", lambda n: [(c.RESULT, c.result(9, c.DONE))], {}),
            ("a result twice", result + "%(large)d", lambda n: [(c.RESULT, c.result(n["large"]["id"], c.SAME) * 2)], {}),
            ("an unknown outcome", parse % "results", lambda n: [(c.RESULT, c.result(n["large"]["id"], 9))], {}),
            ("a want after the result", bad_want, lambda n: [
                (c.RESULT, c.result(n["large"]["id"], c.SAME)), (c.WANT, c.want(n["large"]["id"]))], {}),
            ("half of a result", parse % "results", lambda n: [(c.RESULT, c.result(n["large"]["id"], c.SAME) + b"1234")], {}),
            ("an offer", sends + "COPY_OFFER", lambda n: [(c.OFFER, c.END)], {}),
            ("a bundle", sends + "COPY_BUNDLE", lambda n: [(c.BUNDLE, c.record(1, b"x"))], {}),
            ("FINISH", "COPY_FINISH at the wrong time", lambda n: [(c.FINISH, c.counts())], {}),
            ("FINISHED before FINISH", "COPY_FINISHED at the wrong time", lambda n: [(c.FINISHED, c.counts()), (c.BYE, b"")], {}),
            ("BYE", "", lambda n: [(c.BYE, b"")], {}),
            ("START", sends + "COPY_START", lambda n: [(c.START, c.start(bytes(32), 1, "/", ["/etc/shadow"]))], {})):
        s, names, _ = source(**settings)
        with s:
            for message in messages(names):
                s.send(*message)
            status, texts = s.end()
        ids = {name: e["id"] for name, e in names.items()}
        t.equal((status, texts), (114, ["there: it sent " + says % ids] if says else []), "a destination that sends %s" % title)
    other = "there: the other side sent bytes that are no message of xdd"
    for title, raw, wanted in (("zeros", bytes(1000), (114, [other])), ("garbage", os.urandom(5000), (114, [other])),
                               ("half of a header", w.header(c.WANT)[:40], (109, []))):
        s, names, _ = source()
        with s:
            s.raw(raw)
            status, texts = s.end()
        t.equal((status, texts), wanted, "a destination that sends %s" % title)
    t.ok(all(os.lstat(os.path.join(tree(), name)) == st or
             os.lstat(os.path.join(tree(), name)).st_mtime_ns == st.st_mtime_ns for name, st in before.items()),
         "the source is as it was")


def test_unread():
    """A destination that reads nothing and stays silent: the source ends by its limit of time."""
    s, names, _ = source(timeout_s=SILENCE_S)
    begun = time.monotonic()
    with s:
        s.send(c.WANT, c.want(names["large"]["id"]))
        try:
            status = s.process.wait(SILENCE_S + END_S)
        except subprocess.TimeoutExpired:
            status = None
    t.ok(status not in (None, 0), "a destination that neither reads nor speaks", (status, time.monotonic() - begun))


t.run_all()
