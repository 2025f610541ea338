#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-attached: a run that ends as by SIGINT when the program that started it is gone, and that says how far it is.
"""
import json
import re
import subprocess

import xddtest as t

LIMIT_S = 60
# An hour's work.
LONG = "-op noop -targets 1 null -reqsize 1 -numreqs 360000 -operationdelay 0.01 -jsonout -".split()
FORM = re.compile(r"@xdd 1 (ready|running|ending) pass=\d+ passes=\d+ done=(-1|\d+) bytes=\d+ ops=\d+ elapsed=\d+ left=(-1|\d+)$")


class Started:
    def __init__(self, *args):
        self.p = subprocess.Popen([t.XDD, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  start_new_session=True)

    def lines(self, n):
        return [self.p.stderr.readline().decode().rstrip("\n") for _ in range(n)]

    def end(self):
        """Status, standard output and the rest of standard error."""
        try:
            out, err = self.p.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            self.p.kill()
            out, err = self.p.communicate()
            return "timeout", out.decode(), err.decode()
        return self.p.returncode, (out or b"").decode(), err.decode()


def operations(line):
    return int(re.search(r" ops=(\d+)", line).group(1))


def test_input():
    run = Started(*LONG, "-attached", "input")
    lines = run.lines(3)
    t.ok(all(FORM.match(line) for line in lines) and " running " in lines[-1], "lines say how far the run is", lines)
    t.ok(operations(lines[0]) <= operations(lines[1]) < operations(lines[2]), "their counts grow", lines)
    status, out, err = run.end()
    t.ok(status == 5 and "-attached: standard input has ended" in err, "the run ends after standard input has ended", err)
    doc = json.loads(out)
    t.ok(doc["end"] == "canceled" or doc["partial"], "its document is complete, and says that it was cut short", out[-300:])


def test_figures():
    """A line each second: the pass of the slowest target, sums of all, and the share of the slowest."""
    run = t.xdd(*"-op noop -targets 2 null null -reqsize 1 -numreqs 150 -numreqs target 1 250 -operationdelay 0.01 -passes 2 "
                "-attached output".split(), step=0)
    t.equal((run.status, run.error_lines()), (0, [
        "@xdd 1 ready pass=1 passes=2 done=0 bytes=0 ops=0 elapsed=0 left=-1",
        "@xdd 1 running pass=1 passes=2 done=404000 bytes=206848 ops=202 elapsed=1001000000 left=3",
        "@xdd 1 running pass=1 passes=2 done=804000 bytes=359424 ops=351 elapsed=2002000000 left=2",
        "@xdd 1 running pass=2 passes=2 done=204000 bytes=104448 ops=102 elapsed=503000000 left=1",
        "@xdd 1 running pass=2 passes=2 done=604000 bytes=308224 ops=301 elapsed=1504000000 left=0"]),
            "each line of a run in virtual time", run)


def test_output():
    run = Started(*LONG, "-attached", "output")
    lines = run.lines(2)
    run.p.stdout.close()
    run.p.stdout = None
    status, _, err = run.end()
    t.ok(status in (5, 6) and "-attached: standard output has no reader" in err, "the run ends when its output has no reader",
         (lines, status, err))


def test_completes():
    run = Started(*"-op noop -targets 1 null -numreqs 10 -operationdelay 0.03 -jsonout - -attached input".split())
    try:
        run.p.stdin.write(b"bytes that mean nothing\n")
        run.p.stdin.flush()
    except BrokenPipeError:  # it has ended already
        pass
    run.p.wait(LIMIT_S)
    status, out, err = run.end()
    t.ok(status == 0 and json.loads(out)["end"] == "normal" and len(err.splitlines()) <= 2,
         "a run whose standard input does not end is complete", err)


def test_before():
    """No standard input from the beginning: the run is over at once, with results."""
    run = t.xdd(*LONG, "-attached", "input")
    t.ok(run.status == 5 and json.loads(run.out)["partial"] is not None, "without standard input nothing is begun, or little", run)


def test_refused():
    run = t.xdd("-op", "noop", "-targets", 1, "null", "-attached", "ssh")
    t.ok(run.status == 2 and "-attached ssh: expected input or output" in run.err, "another stream", run)


t.run_all()
