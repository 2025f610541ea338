#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A limit of I/O that the kernel enforces and xdd reads."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import messages as m
import xddsys
import xddtest as t

MIB = 1 << 20


def test_enforced():
    """
    2 MiB/s for 4 s. Requests always wait, so the kernel makes up for what it released late: only what is late at the
    end counts, and 10 % are allowed to be (the rule "limit"): 0.4 s.
    """
    device = xddsys.loop_device(xddsys.sparse_file("limited", 8 * MIB), "--direct-io=on")
    if device is None:
        return t.skip("limits of I/O", xddsys.sys_why())
    with xddsys.read_limit(device, 2 * MIB) as group:
        if not group:
            return t.skip("limits of I/O", xddsys.sys_why())
        run = t.command(group + t.xdd_words("-op", "read", "-target", device, "-dio", "-reqsize", 64, "-mbytes", 8,
                                            "-queuedepth", 64), warns=[m.IO_LIMIT])
    return t.ok(re.search(m.IO_LIMIT, run.err).groups() == ("2.10 MB/s", "reads"), "the limit of the kernel is reached", run)


t.run_all()
