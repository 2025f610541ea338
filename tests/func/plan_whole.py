#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
All that -dryrun says of many command lines, or why they are refused. plan_whole.txt has the command lines, each with its
status and the lines that it should print and that plain commands do not (xddwhole.py).
"""
import xddtest as t
import xddwhole


def test_plans():
    xddwhole.make_files()
    xddwhole.compare_commands("plan_whole.txt", "plans are what they should be", "-dryrun")


t.run_all()
