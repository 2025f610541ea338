#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Servers that do what xdd never does to the process that a user has started, in the place of ssh: sources, destinations, and
programs that are no server. Nothing but what was asked for changes, the process ends in time with words, and its status is 0
only if all is there.
"""
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import xddwire as w
import xddcopywire as c

END_S = 30
BRIEF = "-timeout", "3"  # where a server that breaks off has to be noticed
ADDRESS = "127.0.0.1"
ERROR_BYTES = 1028  # the longest answer to START


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


def ends_well(s, **values):
    s.send(c.FINISH, c.counts(walk_done=1, **values))
    s.expect(c.FINISHED)
    s.send(c.BYE)
    s.expect(c.BYE)


def loses_a(s):
    """The data of a file is a reason, of which there is no FAILURE."""
    s.expect(c.WANT)
    s.send(c.BUNDLE, c.record(1, b"it is gone\0", 114))
    s.expect(c.RESULT)
    ends_well(s, offered_files=1)


def answers(s, outcome, **counts):
    """A destination that has this result for the only file, and no reason."""
    s.send(c.RESULT, c.result(1, outcome))
    s.expect(c.FINISH)
    s.send(c.FINISHED, c.counts(**counts))
    s.send(c.BYE)
    s.expect(c.BYE)


def copy_of_a(s, failed=0):
    """A whole copy of "a" as it should be, except for the name."""
    s.expect(c.WANT)
    s.data_sent = s.send(c.BUNDLE, c.record(1, b"12345"))
    s.expect(c.RESULT)
    ends_well(s, offered_files=1, offered_bytes=5, failed=failed)


def leaves_out_b(s):
    """Both files that were offered arrive."""
    results = {}
    while len(results) < 2:
        kind, body = s.receive()
        if kind == c.WANT:
            s.send(c.BUNDLE, b"".join(c.record(want[0], b"") for want in c.take_wants(body)))
        elif kind == c.RESULT:
            results.update(c.take_results(body))
    ends_well(s, offered_files=2)


def push(answer):
    """A destination that answers so once all is offered: a slow walk sends several messages. No other record ends like END."""
    def scenario():
        s = c.Served()
        s.begin()
        while not s.expect(c.OFFER).endswith(c.END):
            pass
        answer(s)
        s.drain()
    return scenario


def ends_early(*messages, status=0):
    """An answer: these messages, FINISHED with this status and BYE at once, and the end of the process."""
    def answer(s):
        for message in messages:
            s.send(*message)
        s.send(c.FINISHED, c.counts(status=status))
        s.send(c.BYE)
        os._exit(status)
    return answer


def says(data):
    def scenario():
        os.write(1, data)
        sys.exit(1)
    return scenario


def reads_nothing():
    """START cannot be sent to it: what it says counts all the same."""
    os.close(0)
    os.write(1, c.BANNER + b"8.0.0\n" + bytes(500))
    sys.exit(1)


def says_much():
    try:
        while True:
            os.write(1, b"a line of noise\n" * 100)
    except BrokenPipeError:
        sys.exit(1)


def says_nothing():
    open(os.environ["XDD_STARTED"], "wb").close()
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


def starts_with(size):
    """An offer of this many bytes in the place of STARTED."""
    def scenario():
        s = c.Served()
        s.expect(c.START)
        s.send(c.OFFER, bytes(size))
    return scenario


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
    steps = []
    kind, body = s.receive()
    while kind == c.MEET:
        inside = body[0] == c.INSIDE
        steps.append(body[0])
        s.send(c.MET, c.meet(body[0], ok=inside, text="" if inside else "this is a test"))
        kind, body = s.receive()
    with open(os.environ["XDD_STEPS"], "a", encoding="utf-8") as f:
        f.write("%s %s\n" % (steps, c.NAMES.get(kind, "?")))
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
    "directory": pull(c.directory(1, "a") + c.file(2, ".bashrc", 0) + c.LEAVE + c.END),
    "other name of a link": pull(c.directory(1, "a") + c.symlink(2, "s", "../../outside", flags=c.HAS_LINKS) + c.LEAVE +
                                 c.link(3, "b", 2) + c.END),
    "unknown want": push(lambda s: s.send(c.WANT, c.want(77))),
    "want of all ids": push(lambda s: s.send(c.WANT, b"".join(c.want(i) for i in range(1, 30000)))),
    "wrong result": push(lambda s: s.send(c.RESULT, c.result(77, c.DONE))),
    "offer": push(lambda s: s.send(c.OFFER, c.END)),
    "finished": push(lambda s: s.send(c.FINISHED, c.counts())),
    "early end": push(ends_early((c.RESULT, c.result(1, c.SAME)))),
    "end before a result": push(ends_early((c.RESULT, c.result(2, c.SAME) + c.result(3, c.SAME)))),
    "end before data": push(ends_early((c.WANT, c.want(1)), (c.RESULT, c.result(1, c.LOST)))),
    "end that receives no more": push(ends_early((c.RESULT, c.result(1, c.SAME)), status=109)),
    "bye": push(lambda s: s.send(c.BYE)),
    "garbage": push(lambda s: s.raw(os.urandom(4096))),
    "error": push(lambda s: s.send(c.ERROR, c.error(114, "the end \x1b[2Jof all"))),
    "nothing": pull(c.END, ends_well),
    "one of three left out": pull(c.file(1, "a", 0) + c.file(2, "c", 0) + c.END, leaves_out_b),
    "a reason without a failure": pull(c.file(1, "a", 5) + c.END, loses_a),
    "failures without a line": pull(c.file(1, "a", 5) + c.END, lambda s: copy_of_a(s, failed=3)),
    "lost without a failure": push(lambda s: answers(s, c.LOST)),
    "would be copied": push(lambda s: answers(s, c.WOULD)),
    "equal": push(lambda s: answers(s, c.EQUAL)),
    "differs": push(lambda s: answers(s, c.DIFFERS)),
    "other files": push(lambda s: answers(s, c.DONE, done_files=2, done_bytes=600000)),
    "other bytes": push(lambda s: answers(s, c.DONE, done_files=1, done_bytes=600001)),
    "no banner": says(b"Welcome to this host\nno xdd is here\n"),
    "noise": says_much,
    "silence": says_nothing,
    "other protocol": says(b"XDD-COPY %d 99.0.0\n" % (c.PROTOCOL + 1)),
    "binary banner": says(b"XDD-COPY \xff\xfe\x1b[2J\n"),
    "garbage after the banner": says(c.BANNER + b"8.0.0\n" + os.urandom(500)),
    "garbage of one that reads nothing": reads_nothing,
    "no server": no_server,
    "refusal": refuses,
    "refusal that controls the terminal": refuses_badly,
    "another message": starts_with(ERROR_BYTES),
    "another message that is too long": starts_with(ERROR_BYTES + 1),
    "stop in a message": stops_in_message,
    "another program on the port": answers_on_the_port,
} if w.xxhash() else {}

if os.environ.get("XDD_SCENARIO"):
    c.serve(SCENARIOS)

import xddtest as t  # noqa: E402 - a server prints no TAP

if not w.xxhash():
    t.skip_all("the library xxHash is needed to compute checksums")

from xddhostile import Place, tree  # noqa: E402


def initiator(scenario, *operands, words=BRIEF, seconds=END_S):
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


def said(err):
    """The lines of xdd, without the note that data goes through ssh."""
    return [line for line in err.splitlines() if line.startswith("xdd: ") and "data goes through ssh" not in line]


def test_servers_as_sources():
    """host:a there: only "a" is created, whatever the host offers."""
    malformed, other = "a message whose contents are malformed", "a file that was not asked for"
    for scenario, says in (("good", None), ("other name", other), ("parent", malformed), ("parent directory", malformed),
                           ("path", malformed), ("absolute", malformed), ("startup files", other), ("more names", other),
                           ("whole destination", other), ("link", LINK)):
        check_source(scenario, says, "host:a", words=("-r", *(() if scenario == "good" else BRIEF)),
                     allowed={"good": ["a"], "more names": ["a"]}.get(scenario, []))


LINK = "a symbolic link in the place of a file"


def test_other_kinds():
    """A file that is asked for is neither a directory nor a symbolic link, by whatever name that arrives."""
    check_source("directory", "a directory, without -r", "host:a")
    check_source("link", LINK, "host:a")
    check_source("other name of a link", LINK, "host:a", "host:b", words=("-r", *BRIEF), allowed=["a", "a/s"])


def check_source(scenario, says, *operands, words=BRIEF, allowed=()):
    place = Place()
    status, err, out = initiator(scenario, *operands, place.there, words=words)
    t.ok((status, said(err)) == ((114, ["xdd: copy: host: " + says]) if says else (0, [])) and place.unchanged() and
         set(place.names()) <= set(allowed), "a server that offers: %s" % scenario,
         "status %s, names %s\n%s%s" % (status, place.names(), err, out))


def fails(scenario, says, *operands, status=114, **more):
    """The process fails with this status and this line."""
    found, err, out = initiator(scenario, *operands, **more)
    t.equal((found, said(err)), (status, ["xdd: copy: " + says]), "a server of the scenario %s" % scenario, err + out)


def test_servers_as_destinations():
    for scenario, says in (
            ("unknown want", "it sent a want that is not valid for entry 77"),
            ("want of all ids", "it sent a want that is not valid for entry 2"),
            ("wrong result", "it sent a result that is not valid for entry 77"),
            ("offer", "it sent a message that a destination does not send: COPY_OFFER"),
            ("finished", "it sent COPY_FINISHED at the wrong time"), ("bye", "it ended too early"),
            ("garbage", "the other side sent bytes that are no message of xdd"),
            ("error", "it sent ERROR with a wrong body")):
        fails(scenario, "host: " + says, os.path.join(tree(), "large"), "host:there")


def test_no_reasons():
    """Not all arrives, and the server says that all is well: that is a failure."""
    without = "entries have failed without a reason"
    for scenario, says in (("nothing", "a: was not offered, and no reason was given"), ("a reason without a failure", without),
                           ("failures without a line", without)):
        fails(scenario, says, "host:a", Place().there, words=())
    place = Place()
    status, err, out = initiator("one of three left out", "host:a", "host:x/b", "host:c", place.there, words=())
    t.ok(status == 114 and said(err) == ["xdd: copy: b: was not offered, and no reason was given"] and
         place.names() == ["a", "c"] and "  failed: 1:\n    b: was not offered" in out,
         "a source with: one of three left out", "status %s, names %s\n%s%s" % (status, place.names(), err, out))
    wrong = "it sent a result that is not valid for entry 1"
    for scenario, says in (("lost without a failure", without), ("would be copied", wrong), ("equal", wrong), ("differs", wrong)):
        fails(scenario, "host: " + says, os.path.join(tree(), "large"), "host:there", words=())


def test_counts():
    """Both sides must agree about what is there."""
    for scenario, counts in (("other files", "2 files and 600000"), ("other bytes", "1 files and 600001")):
        fails(scenario, "the two sides disagree: the destination counts %s bytes, the source 1 and 600000" % counts,
              os.path.join(tree(), "large"), "host:there", words=())


def test_early_ends():
    """A server may end first, once all results are there, and the source has nothing to complain of."""
    operands = os.path.join(tree(), "large"), "host:there"
    status, err, out = initiator("early end", *operands, words=())
    t.equal((status, said(err)), (0, []), "a server that ends with the last result", err + out)
    fails("end before a result", "host: it sent COPY_FINISHED at the wrong time", tree(), "host:there", words=("-r",))
    fails("end that receives no more", "host: the connection was lost; ssh ended with status 109: either the network has failed, "
          "or xdd on host was killed, as the kernel does where memory is short", *operands, status=109, words=())
    status, err, out = initiator("end before data", *operands)
    t.ok(status not in (None, 134, 139, -6, -11), "one that ends while it is sent data", "status %s\n%s%s" % (status, err, out))


def test_another_program():
    """Connections that take HELLO and answer something else are a way to meet that fails: the others follow."""
    steps = t.path("steps")
    os.environ["XDD_STEPS"] = steps
    status, err, _ = initiator("another program on the port", os.path.join(tree(), "small"), "host:there", words=())
    with open(steps, encoding="utf-8") as f:
        got = f.read().splitlines()
    t.equal((status, got), (0, ["%s BEGIN" % [c.CONNECT, c.INSIDE]]), "another program on the port: nothing is offered before "
            "WELCOME, and another way is tried in the one session", err)
    t.ok(re.search("data goes through ssh.*does not answer as the other side of this copy", err),
         "another program on the port: the user learns of it", err)


def test_no_servers():
    """The user gets words in time for all that ssh prints."""
    version = t.xdd("-version").out.split()[-1]
    before = '"xdd" ended with status %d before it answered'
    login = ("; it may be of another version, or a login script ended it: install xdd %s on both, or give its path with -b" %
             version)
    for scenario, status, says in (
            ("no banner", 112, before % 1 + ': "no xdd is here"' + login),
            ("noise", 112, 'sends output that is not xdd\'s: "a line of noise"; '
             "its login scripts must print nothing for commands"),
            ("other protocol", 112, "has xdd 99.0.0, with version %d of the protocol; this is xdd %s, with version %d; "
             "install the same on both, or give the path of another one with -b" % (c.PROTOCOL + 1, version, c.PROTOCOL)),
            ("binary banner", 112, before % 1 + r': "XDD-COPY \xff\xfe\x1b[2J"' + login),
            ("garbage after the banner", 114, "the other side sent bytes that are no message of xdd"),
            ("garbage of one that reads nothing", 114, "the other side sent bytes that are no message of xdd"),
            ("no server", 112, before % 77 + login), ("refusal", 119, "no such directory"),
            ("refusal that controls the terminal", 114, "sent a malformed message"),
            ("another message", 114, "sent a message that was not expected"),
            ("another message that is too long", 114, "sent a message that is too long"),
            ("stop in a message", 109, "it has sent nothing for 3 s (-timeout)")):
        fails(scenario, "host: " + says, "host:a", t.path("there"), words=BRIEF if scenario == "stop in a message" else (),
              status=status, seconds=60)


def test_silent_server():
    """ssh may wait for a password, so there is no limit of time; a signal ends it."""
    started = t.path("started")
    os.mkfifo(started)
    r = subprocess.Popen([t.XDD, "copy", "-S", "%s %s" % (sys.executable, os.path.abspath(__file__)), "host:a",
                          t.path("there")], env=dict(os.environ, XDD_SCENARIO="silence", XDD_STARTED=started),
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    # Returns when ssh runs.
    with open(started, "rb") as f:
        f.read()
    r.send_signal(signal.SIGINT)
    try:
        out, err = r.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(r.pid, signal.SIGKILL)
        out, err = r.communicate()
    t.ok(r.returncode == 5, "a server that says nothing, until SIGINT", (r.returncode, err))


t.run_all()
