#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
All that commands other than a run say of command lines that they refuse, or answer without a run. commands_whole.txt has
the command lines, each with its status and what it should print (xddwhole.py).
"""
import xddtest as t
import xddwhole


def test_commands():
    xddwhole.make_files()
    xddwhole.compare_commands("commands_whole.txt", "commands say what they should")


t.run_all()
