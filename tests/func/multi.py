#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
xdd multi through a real sshd on loopback addresses: the results of 1, 4 and 32 hosts, one start, the words of each rank, and the
worst status.
"""
import os

import messages as m
import xddmulti as multi
import xddssh
import xddtest as t

REASON = xddssh.why_not()
if REASON:
    t.skip_all(REASON)

SHORT = "-op noop -targets 1 null -reqsize 1 -numreqs 64".split()


def hosts(n):
    return ["127.0.0.%d" % (i + 1) for i in range(n)]


def test_hosts():
    for n in (1, 4, 32):
        out = t.path("all.%d.json" % n)
        # All of them log in at once: on a busy machine, with login scripts that take a second, the last one is late.
        run = multi.run(server, "-hosts", ",".join(hosts(n)), "-startin", 0, "-timeout", 250, "-jsonout", out, "--", *SHORT)
        doc = multi.load(out)
        t.ok(run.status == 0 and len(doc["hosts"]) == n, "%d hosts: their results are combined" % n, run)
        t.ok(not multi.left(run.run_id), "nothing is left running", multi.left(run.run_id))


def test_start():
    """One start time. A host that is late does not run: 20 s are enough on a busy machine."""
    directory = t.path("start")
    run = multi.run(server, "-hosts", ",".join(hosts(4)), "-startin", 20, "-out", directory, "--", *SHORT, tolerate=m.MULTI_LATE)
    docs = [multi.load(os.path.join(directory, host + ".json")) for host in hosts(4)]
    starts = {doc["start"]["requested_ns"] for doc in docs}
    t.ok(run.status == 0 and len(starts) == 1 and None not in starts, "all hosts have one start time", (run, starts))
    t.ok(all(doc["clock"]["source"] == "timeserver" for doc in docs), "all hosts ask the time server of xdd multi",
         [doc["clock"] for doc in docs])
    t.ok(all(doc["start"]["achieved_ns"] >= doc["start"]["requested_ns"] - doc["start"]["bound_ns"] for doc in docs),
         "no host is early", [doc["start"] for doc in docs])
    t.equal(sorted(doc["rank"] for doc in docs), [0, 1, 2, 3], "each host has its rank")


def test_words():
    """Placeholders, and words that a shell must not see."""
    directory = t.path("words")
    os.mkdir(directory)
    run = multi.run(server, "-hosts", "127.0.0.1:2,127.0.0.2", "-startin", 0, "--", "-op", "write", "-targets", 1,
                    directory + "/%h.%r.of.%n.50%%", "-numreqs", 4, "-reqsize", 4)
    t.equal((run.status, sorted(os.listdir(directory))),
            (0, ["127.0.0.1.0.of.3.50%", "127.0.0.1.1.of.3.50%", "127.0.0.2.2.of.3.50%"]), "a target for each rank", run)
    hostile = ["$(touch " + directory + "/pwned)", "`id`", "a;b", "it's", "a\\b", "*", "a b", "\"", "!x", "~", "-x", "a&b|c>d", "\u20ac"]
    directory = t.path("hostile")
    os.mkdir(directory)
    hostile = [name.replace("/", "_") for name in hostile]
    run = multi.run(server, "-hosts", "127.0.0.1", "-startin", 0, "--", "-op", "write", "-targets", len(hostile),
                    *[os.path.join(directory, name) for name in hostile], "-numreqs", 1, "-reqsize", 4)
    t.equal((run.status, sorted(os.listdir(directory))), (0, sorted(hostile)), "words that a shell would change", run)


def test_worst_status():
    directory = t.path("worst")
    os.mkdir(directory)
    for rank in (0, 2):
        with open(os.path.join(directory, "in.%d" % rank), "wb") as f:
            f.write(bytes(65536))
    out = t.path("worst.json")
    run = multi.run(server, "-hosts", ",".join(hosts(3)), "-startin", 0, "-jsonout", out, "--", "-op", "read", "-targets", 1,
                    directory + "/in.%r", "-reqsize", 4, warns=[m.MULTI_MISSING % (2, 3)])
    t.ok(run.status == 4 and len(multi.load(out)["hosts"]) == 2 and "multi: 127.0.0.2: ended with status 4" in run.all_err and
         "127.0.0.2: xdd: " in run.all_err, "a host without its file: its status and messages, and the others' results", run)


with xddssh.Sshd(listen="0.0.0.0") as server:
    t.run_together(test_hosts, test_start, test_words, test_worst_status)
t.done()
