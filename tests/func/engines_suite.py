#!/usr/bin/env python3
"""
Engines: the tests of options that move data run again with each engine that queues.
"""
import os
import re
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import xddtest as t
from xddengines import QUEUED, ENGINES, absent

HERE = os.path.dirname(os.path.abspath(__file__))
# These tests move data. The other tests of these files are about null, options and outputs, which do not depend on the
# engine, or iterate over the engines by themselves. MORE is about as large as SUITE, and runs in parallel with it.
SUITE = (("errors.py", "test_end_of_file test_end_of_file_direct test_eio test_eio_of_a_device test_full_disk "
          "test_max_errors test_max_errors_to_print test_stop_on_error test_short_and_interrupted test_closed_output"),
         ("arithmetic.py", "test_short_last_operation test_directions test_noop test_latency"),
         ("patterns.py", "test_random_repeats test_randomize test_targets_differ test_sequential test_interleave "
          "test_offsets"),
         ("files.py", "test_passes test_reopen"),
         ("files_data.py", "test_flushwrite test_syncwrite test_threshold test_retry test_retry_in_vain test_retry_full "
          "test_preallocate test_pretruncate"),
         ("timestamps.py", "test_rows test_against_results test_strace test_failures test_wrap test_oneshot"),
         ("guide_examples.py", ""))
MORE = (("result_lines.py", ""),
        ("datapattern.py", "test_contents test_random test_reducible test_tagged"),
        ("verify.py", "test_kinds_of_places test_kinds_of_tags test_location test_nothing_transferred test_limits test_dio"),
        ("jsonout.py", "test_latency test_against_csv test_errors test_time_limits"),
        ("latency.py", "test_sums test_intervals test_errors_do_not_count"),
        ("coordinate.py", "test_guide_example test_allowance test_start_trigger test_stop_trigger test_syncio test_master_ends"),
        ("heartbeat.py", "test_targets test_passes test_files"), ("scale.py", "test_many_targets"),
        ("crosschecks.py", ""), ("deskew.py", ""))

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


suites = [Suite(engine, suite) for suite in (SUITE, MORE) for engine in QUEUED if engine in ENGINES]
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
