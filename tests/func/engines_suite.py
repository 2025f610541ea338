#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Engines: eight tests of runs that move data, again with each engine that queues.
"""
import os
import re
import subprocess
import sys
import threading

import xddtest as t
from xddengines import QUEUED, ENGINES, absent

HERE = os.path.dirname(os.path.abspath(__file__))
# The unit tests hold the contract of each engine. These tests are about its part in a run: errors and short transfers, each
# block once, passes that reopen, writes that are tried again, time stamps and tagged data.
SUITE = (("errors.py", "test_eio test_full_disk test_short_and_interrupted"), ("patterns.py", "test_offsets"),
         ("files.py", "test_reopen"), ("files_data.py", "test_retry"), ("timestamps.py", "test_against_results"),
         ("verify.py", "test_kinds_of_tags"))

if t.ENGINE:
    t.skip_all("this test sets the engine itself")


class Suite(threading.Thread):
    """Runs tests one after the other; what they print is kept."""

    def __init__(self, engine, suite):
        super().__init__(daemon=True)
        self.engine, self.suite, self.printed = engine, suite, []
        self.child = None

    def run(self):
        for name, tests in self.suite:
            env = dict(os.environ, XDD_TEST_ENGINE=self.engine, XDD_TEST_ONLY=tests, XDD=os.path.abspath(t.XDD))
            self.child = subprocess.Popen([sys.executable, os.path.join(HERE, name)], stdin=subprocess.DEVNULL,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env)
            try:
                out = self.child.communicate(timeout=10 * t.TIMEOUT)[0]
            except subprocess.TimeoutExpired:
                self.child.terminate()  # it removes what it made
                out = self.child.communicate()[0]
            self.printed.append((name, out.decode(errors="replace"), self.child.returncode))

    def show(self):
        """Its results as ours."""
        self.join()
        for name, out, status in self.printed:
            title = "%s, %s: " % (self.engine, name)
            lines = out.splitlines()
            nothing = re.search(r"^1\.\.0 # SKIP (.*)", out, re.M)
            if nothing:
                t.skip(title + "all", nothing.group(1))
                continue
            for i, line in enumerate(lines):
                m = re.match(r"(not )?ok \d+ - (.*?)(?: # SKIP (.*))?$", line)
                if m and m.group(3):
                    t.skip(title + m.group(2), m.group(3))
                elif m:
                    detail = []
                    for more in lines[i + 1:]:
                        if not more.startswith("#"):
                            break
                        detail.append(more[2:])
                    t.ok(not m.group(1), title + m.group(2), "\n".join(detail))
            if not re.search(r"^1\.\.\d+$", out, re.M):
                t.ok(False, title + "runs to its end", "status %s\n%s" % (status, "\n".join(lines[-30:])))


suites = [Suite(engine, SUITE) for engine in QUEUED if engine in ENGINES]
try:
    for suite in suites:
        suite.start()
    for suite in suites:
        suite.show()
    absent("the tests of other options")
finally:
    for suite in suites:
        if suite.is_alive() and suite.child:
            suite.child.terminate()
t.done()
