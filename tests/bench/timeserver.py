# SPDX-License-Identifier: GPL-2.0-or-later
"""
How many answers a time server gives, and what they cost it: ask_time.c asks as fast as it can. And how close to each other
four hosts start that ask one. Used by run.
"""
import os
import re
import subprocess
import sys
import time

from commands import Broken, Skip, call

ANSWER_S = 10  # for the server to say where it listens
START_S = 4  # until hosts start, which reach the server first


class Server:
    """xdd timeserver on a free port, for a "with"."""

    def __init__(self, binary):
        self.words = [binary, "timeserver", "-foreground", "-port", "0", "-bind", "127.0.0.1"]

    def __enter__(self):
        self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        found = re.search(r"port (\d+)", self.process.stdout.readline())
        if not found:
            self.__exit__()
            raise Broken("xdd timeserver does not listen")
        self.port = found.group(1)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate(timeout=ANSWER_S)

    def sample(self, program, seconds):
        """One run of ask_time.c."""
        answers, wall_s, cpu_s = map(float, call([program, self.port, "%g" % seconds, str(self.process.pid)]).split())
        if not answers or not cpu_s:
            raise Broken("xdd timeserver does not answer")
        return {"answers_per_s": answers / wall_s, "answers_per_cpu_s": answers / cpu_s}


class Hosts:
    """Four network namespaces with clocks of their own, and links of 0.2 ms to that of a time server."""

    def __init__(self, binary):
        sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
        os.environ["XDD"] = binary
        import messages  # pylint: disable=import-outside-toplevel,import-error
        import xddhosts  # pylint: disable=import-outside-toplevel,import-error
        import xddnet as net  # pylint: disable=import-outside-toplevel,import-error
        import xddtest  # pylint: disable=import-outside-toplevel,import-error
        from xddjson import load  # pylint: disable=import-outside-toplevel,import-error
        why = net.why_not("unshare") or net.why_no_clocks()
        if why:
            raise Skip(why)
        self.lib, self.load, server = xddhosts, load, net.namespace("server")
        self.hosts = [xddhosts.Host(number, server) for number in range(len(xddhosts.HOSTS))]
        self.words = [binary, "timeserver", "-foreground", "-port", "2000"]
        self.serving = server.start(*self.words)
        if not xddtest.until(lambda: "listening" in self.serving.text()):
            raise Broken("xdd timeserver does not listen")
        self.taken, self.late = 0, messages.STARTED_LATE

    def sample(self):
        """One start of all of them."""
        at_ns = time.time_ns() + START_S * self.lib.NS
        self.taken += 1
        start = self.lib.Start("start%d" % self.taken, self.hosts, self.lib.EQUAL, [2000] * len(self.hosts), [at_ns] * len(self.hosts))
        for run in start.runs:
            if run.end(tolerate=self.late).status:
                raise Broken("a host did not run")
        docs = [self.load(start.file(host, ".json"))["start"] for host in self.hosts]
        first = [start.first_ns(host) for host in self.hosts]
        late = [doc["late_ns"] for doc in docs]
        return {"skew_us": (max(first) - min(first)) / 1e3, "reported_us": (max(late) - min(late)) / 1e3,
                "bound_us": max(doc["bound_ns"] for doc in docs) / 1e3}
