# SPDX-License-Identifier: GPL-2.0-or-later
"""
What the tests of hostile sides of a copy of files share (tests/func/copy_hostile*.py): a directory in which nothing may change,
files to copy, and what the real side must do: it ends in time, with words.
"""
import os
import shutil
import stat

import xddcopywire as c
import xddtest as t

END_S = 30
# The timeout of tests that reach it, in seconds: a busy machine takes less for the messages before.
SILENCE_S = 15


class Place:
    """A directory with a destination "there", and all else that must stay as it is."""

    def __init__(self, name="place"):
        self.top = os.path.join(t.tmp(), name)
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


# The reason where the real side cannot decode a message.
MALFORMED = "there: a message whose contents are malformed"


def judge(title, place, server, names=(), says=MALFORMED, close=True):
    """The server fails in time, with these words only, and nothing but `names` is new."""
    status, texts = server.end(close, END_S)
    found = [n for n in place.names() if n not in names]
    t.equal((status, texts, place.unchanged(), found), (114, [says], True, []), title)


def refused(title, entries, *more, sources=("a",), names=(), prepare=lambda p: None, says=MALFORMED, **settings):
    """
    A source that sends this offer and these messages, (type, body) or raw bytes, to the real destination, which says why
    it ends. The source does not wait for answers.
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
        judge(title, place, s, names, says)


def finish_after(s, expected):
    """Receive these results, then end as a source should."""
    results = {}
    while len(results) < len(expected):
        results.update(c.take_results(s.expect(c.RESULT)))
    if results != expected:
        raise c.Ended("the results are %r" % results)
    s.finish()


def tree():
    top = t.path("source")
    if not os.path.isdir(top):
        os.mkdir(top)
        for name, size in (("small", 100), ("large", 600000)):
            with open(os.path.join(top, name), "wb") as f:
                f.write(os.urandom(size))
        os.symlink("/etc/passwd", os.path.join(top, "link"))
    return top
