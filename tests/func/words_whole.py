#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The whole answers to command lines in the words of other tools: the words of xdd, and the command line that is proposed.
words_whole.txt has the command lines, each with its status and what it should print (xddwhole.py); words.py shows that
what is proposed runs.
"""
import xddtest as t
import xddwhole


def test_words():
    xddwhole.make_files()
    xddwhole.compare_commands("words_whole.txt", "words of other tools are answered as they should", "-dryrun")


t.run_all()
