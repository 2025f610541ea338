#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
mutate.py [OPTION...] [PATH...]: change one place of a C file at a time, and see whether the tests of the file fail.

"make mutate MUTATE='OPTION... PATH...'" calls it in the build directory, with its unit tests built. PATH is a file or
directory below src, all of src by default. A mutant is compiled in a temporary directory, its object is linked before
the library of the build into the tests that belong to the file, and these run one after another until one fails:
neither the source tree nor the objects of the build change.

Tests that belong to a file:
  - unit tests that call it, from their symbols: those that call it directly, or else through the fewest files between;
    those with the name of the file, or that name it in their first comment, come first, then those that call the
    function, then those that call the fewest other files;
  - functional tests that share a name with it (sweep_run.c: sweep.py), or that FUNCTIONAL names.
A test that fails or takes too long without a mutant is left out, and reported.

Results of a mutant: "killed" by a test that fails, "times out" if a test does not end, which counts as killed,
"survived", "same code" if the compiler makes the same object of it, or "no mutant" if it does not compile.

"make broken" tests the programs of broken.py in this way, each with all tests that are named with it.
"""
import argparse
import bisect
import collections
import concurrent.futures
import contextlib
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time

from broken import BROKEN, problem_of, tests_of, text_of

TOP = os.environ.get("TOP_SRCDIR") or sys.exit("TOP_SRCDIR must name the source tree; \"make mutate\" sets it")
BUILD = os.environ.get("TOP_BUILDDIR") or sys.exit("TOP_BUILDDIR must name the build; \"make mutate\" sets it")

# Files whose results only a run shows, where no name says which: functional tests below tests/func.
FUNCTIONAL = {
    "src/base/file": ["outputs", "replaced"],
    "src/base/log": ["badinput", "debug"],
    "src/base/out": ["outputs", "signals"],
    "src/base/random": ["poisson"],
    "src/base/text": ["multi_options", "options", "outputs", "printable", "result_lines", "sweep"],
    "src/base/units": ["amounts", "person"],
    "src/commands/": ["commands_whole"],
    "src/commands/check": ["advice"],
    "src/commands/check_": ["advice"],
    "src/commands/command": ["badinput", "combine", "options", "timeserver"],
    "src/commands/combine": ["documents_whole"],
    "src/commands/compare": ["documents_whole", "report_whole"],
    "src/commands/copy": ["copy_local", "copy_options", "copy_report"],
    "src/commands/curve": ["curve", "documents_whole"],
    "src/commands/fio": ["fio_whole", "fiojob"],
    "src/commands/help": ["options", "questions", "words"],
    "src/commands/multi": ["multi_faults", "multi_options"],
    "src/commands/report": ["documents_whole", "report_whole"],
    "src/commands/run": ["jsonout", "person", "sections"],
    "src/commands/run.c": ["debug", "ranks", "runs_whole", "target_names"],
    "src/commands/run_ranks": ["mpi", "ranks"],
    "src/commands/sweep": ["documents_whole", "sweep_files"],
    "src/commands/sweep_run": ["curve", "sweep_trim"],
    "src/commands/timeserver": ["badinput"],
    "src/copy/": ["copy_local", "copy_report"],
    "src/copy/attempt": ["copy_connect", "copy_hostile_servers", "copy_lost", "copy_resume"],
    "src/copy/destination/": ["copy_dest", "copy_hostile", "copy_rights"],
    "src/copy/destination/file": ["copy_attributes", "copy_resume"],
    "src/copy/destination/journal": ["copy_resume"],
    "src/copy/link/": ["copy_connect", "copy_directions", "copy_hostile_servers"],
    "src/copy/message/": ["copy_hostile"],
    "src/copy/report/": ["copy_limits", "copy_stamps"],
    "src/copy/role": ["copy_directions", "copy_signals"],
    "src/copy/signals": ["copy_signals", "signals"],
    "src/copy/server": ["copy_lost"],
    "src/copy/source/": ["copy_hostile_destinations", "copy_source"],
    "src/copy/source/data": ["open_flags"],
    "src/copy/tree/": ["copy_attributes", "copy_tree"],
    "src/io/access": ["patterns", "throttle"],
    "src/io/datamap": ["crosschecks", "pagecache", "verify"],
    "src/io/engine": ["engines", "memory"],
    "src/io/engine_io_uring": ["engines_refused"],
    "src/io/engine_psync": ["discard", "errors"],
    "src/io/engine_stdio": ["stdio"],
    "src/io/guard": ["guard", "guard_names"],
    "src/io/pattern": ["datapattern", "verify"],
    "src/io/scsi": ["engines_refused"],
    "src/io/tag": ["verify"],
    "src/io/target_file": ["files", "open_flags", "recreate_together"],
    "src/io/verify": ["verify"],
    "src/net/": ["e2e"],
    "src/net/restart": ["e2e_restart"],
    "src/net/session": ["e2e_hostile", "e2e_options", "e2e_peers", "e2e_security"],
    "src/net/time": ["timeserver", "timeserver_run"],
    "src/net/tls": ["e2e_security"],
    "src/plan/": ["badinput", "badinput_files", "options", "plan_whole"],
    "src/plan/endtoend": ["e2e_options"],
    "src/plan/extent": ["room", "sections"],
    "src/plan/feature_coordination": ["coordinate", "stonewall", "timeserver", "timeserver_run"],
    "src/plan/feature_data": ["datapattern"],
    "src/plan/feature_endtoend": ["e2e_options"],
    "src/plan/feature_engine": ["discard", "engines_refused", "engines_suite"],
    "src/plan/feature_files": ["room"],
    "src/plan/feature_general": ["debug", "surprises"],
    "src/plan/feature_layout": ["mpi", "mpi_layout", "mpi_stonewall", "ranks"],
    "src/plan/feature_machine": ["hogmemory", "memory", "processors"],
    "src/plan/feature_output": ["heartbeat", "latency", "outputs", "result_lines"],
    "src/plan/feature_passes": ["order", "order_ends", "pass_statistics", "throttle", "warmup"],
    "src/plan/feature_seek": ["e2e_options", "patterns"],
    "src/plan/feature_target": ["dio_tail", "target_names"],
    "src/plan/feature_work": ["amounts", "surprises"],
    "src/plan/files": ["outputs", "own_files", "target_names", "write_then_read"],
    "src/plan/fio_": ["fio_whole", "fioexamples", "fiojob", "words"],
    "src/plan/foreign": ["tasks", "words", "words_runs", "words_whole"],
    "src/plan/mix": ["request_mix"],
    "src/plan/option": ["engines_refused", "surprises"],
    "src/plan/parse": ["errors"],
    "src/plan/plan.c": ["multi_options"],
    "src/plan/repeated": ["check", "surprises"],
    "src/plan/runs": ["ranks", "sections"],
    "src/plan/vary": ["commands_whole", "sweep"],
    "src/report/": ["jsonout", "person", "arithmetic", "documents_whole", "runs_whole"],
    "src/report/check": ["sections"],
    "src/report/column": ["result_lines"],
    "src/report/compare": ["report_whole"],
    "src/report/columns": ["result_lines"],
    "src/report/csv": ["curve", "report_csv", "result_lines", "sweep"],
    "src/report/document": ["combine", "compare", "report", "report_csv", "report_whole"],
    "src/report/endtoend": ["copy_limits", "copy_report"],
    "src/report/environment": ["crosschecks"],
    "src/report/finding": ["check", "honest"],
    "src/report/info": ["e2e_options", "options"],
    "src/report/jvalue": ["copy_report", "e2e_report"],
    "src/report/jsonout_plan": ["e2e_report"],
    "src/report/latency": ["debug", "report"],
    "src/report/out": ["outputs"],
    "src/report/outputs": ["result_lines"],
    "src/report/page/": ["report", "report_whole"],
    "src/report/person": ["report"],
    "src/report/report": ["advice", "latency"],
    "src/report/screen": ["check", "result_lines"],
    "src/report/series": ["curve", "intervals", "sweep"],
    "src/report/statistics": ["deskew", "pass_statistics", "stonewall"],
    "src/report/sweep": ["curve", "report_csv"],
    "src/report/verdict": ["advice", "check", "crosschecks"],
    "src/run/": ["arithmetic", "errors", "runs_whole"],
    "src/run/coord/": ["coordinate", "stonewall"],
    "src/run/coord/gate": ["coordinate_mix", "debug", "limits"],
    "src/run/coord/pace": ["snooze", "throttle"],
    "src/run/endtoend/": ["e2e", "e2e_faults", "e2e_peers", "e2e_report", "e2e_restart", "e2e_resume"],
    "src/run/endtoend/meeting": ["files", "files_data"],
    "src/run/endtoend/transfer": ["e2e_hostile"],
    "src/run/engine": ["engines_refused"],
    "src/run/issue/": ["engines", "order"],
    "src/run/issue/issue": ["e2e"],
    "src/run/issue/op_hooks": ["files_data", "flushes", "warmup"],
    "src/run/issue/trace": ["timestamps"],
    "src/run/meter/": ["flushes", "latency"],
    "src/run/meter/meter": ["deskew"],
    "src/run/meter/sample": ["crosschecks", "honest", "pagecache"],
    "src/run/placement": ["hogmemory", "processors"],
    "src/run/progress/": ["heartbeat", "intervals"],
    "src/run/progress/heartbeat": ["attached"],
    "src/run/progress/signals": ["attached", "limits", "ranks", "signals"],
    "src/run/qthread": ["e2e_restart", "engines", "limits", "pass_statistics", "processors"],
    "src/run/results/": ["crosschecks", "honest", "jsonout"],
    "src/run/results/global": ["timeserver_run"],
    "src/run/results/results": ["limits", "result_lines", "throttle"],
    "src/run/results/results_lines": ["order", "pass_statistics", "timestamps", "warmup"],
    "src/run/results/sums": ["deskew", "limits", "pass_statistics", "stonewall"],
    "src/run/run": ["debug", "timeserver_run"],
    "src/run/run_check": ["engines_refused", "files_data", "room", "scale", "surprises"],
    "src/run/target/": ["errors", "files"],
    "src/run/target/data": ["verify"],
    "src/run/target/target": ["files_data", "recreate_together"],
    "src/run/target/target_file_ops": ["flushes", "limits", "order", "own_files", "stdio"],
    "src/stat/": ["arithmetic"],
    "src/stat/figures": ["latency"],
    "src/stat/histogram": ["honest"],
    "src/stat/stats": ["pass_statistics"],
    "src/sync/group": ["mpi", "mpi_stonewall", "ranks"],
    "src/sync/thread": ["limits", "processors", "scale", "signals"],
    "src/sys/blockdev": ["crosschecks", "guard", "options"],
    "src/sys/child": ["copy_connect", "multi_options", "sweep"],
    "src/sys/machine": ["crosschecks", "hogmemory", "memory", "processors"],
    "src/sys/sysfile": ["crosschecks"],
    "src/trace/": ["timestamps", "tsread"],
}

# A test may take this many times as long as without a mutant, and this long at least, before it counts as hanging.
TIMES = 5
LEAST_S = 30

# Of its memory: a mutant may ask for any amount.
MEMORY = 16 << 30

BINARY = {
    "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",),
    "&&": ("||",), "||": ("&&",), "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "%": ("*",),
    "&": ("|",), "|": ("&",), "<<": (">>",), ">>": ("<<",),
    "+=": ("-=", "="), "-=": ("+=", "="), "|=": ("&=", "="), "&=": ("|=", "="),
}
OTHER = {"++": "--", "--": "++", "true": "false", "false": "true"}
TOKEN = re.compile(r"[A-Za-z_]\w*|0[xX][0-9a-fA-F]+[uUlL]*|\d[\w.]*|"
                   r"->|\+\+|--|<<=|>>=|[-+*/%&|^<>=!]=|&&|\|\||<<|>>|\S")
TYPES = re.compile(r"(struct|union|enum|const|static|unsigned|signed|volatile|_Atomic|typedef|extern)\b|\w+\s+\**\w")
NO_STATEMENT = {"if", "for", "while", "do", "switch", "return", "case", "default", "else"}

Mutant = collections.namedtuple("Mutant", "path line function rule begin end text")


# ---- mutants of a file ---------------------------------------------------------------------------

def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def code_of(text):
    """The text with comments and preprocessor lines as blanks, and the contents of strings as "x"; positions stay."""
    text = re.sub(r"/\*.*?\*/", blank, text, flags=re.S)
    text = re.sub(r"(?m)^#(?:[^\n]*\\\n)*[^\n]*", blank, text)
    return re.sub(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'",
                  lambda m: m.group()[0] + "x" * (len(m.group()) - 2) + m.group()[0], text)


def functions_of(code):
    """(name, begin, end) of the bodies: in this tree a body begins and ends at the left margin."""
    for begin in re.finditer(r"(?m)^\{", code):
        end = code.find("\n}", begin.start())
        head = re.split(r"\n\}|;|\n\n", code[:begin.start()].rstrip())[-1]
        name = re.search(r"(\w+)\(", head)
        if end > 0 and name:
            yield name.group(1), begin.start(), end


class Body:
    """The tokens of one function."""

    def __init__(self, code, begin, end):
        self.code = code
        matches = list(TOKEN.finditer(code, begin + 1, end))
        self.words = [m.group() for m in matches]
        self.begins = [m.start() for m in matches]
        self.ends = [m.end() for m in matches]
        self.pairs, stack = {}, []
        for i, word in enumerate(self.words):
            if word in "([{":
                stack.append(i)
            elif word in ")]}" and stack:
                self.pairs[i] = stack.pop()
                self.pairs[self.pairs[i]] = i

    def spaced(self, i):
        """clang-format has blanks around binary operators only."""
        begin, end = self.begins[i], self.ends[i]
        return self.code[begin - 1].isspace() and self.code[end:end + 1].isspace() and i > 0

    def begins_statement(self, i):
        before = self.words[i - 1] if i else "{"
        if before == ")":
            opened = self.pairs.get(i - 1, 0)
            return opened > 0 and self.words[opened - 1] in ("if", "for", "while", "switch")
        return (before in (";", "{", "}", "else") or self.ends_label(i - 1)) and not self.in_parentheses(i)

    def ends_label(self, i):
        """The colon of a label, and not the one of a condition?"""
        if self.words[i] != ":":
            return False
        first = i
        while first > 0 and self.words[first - 1] not in (";", "{", "}"):
            first -= 1
        return self.words[first] in ("case", "default") or first == i - 1

    def in_parentheses(self, i):
        return any(self.words[a] == "(" and a < i < b for a, b in self.pairs.items() if a < b)

    def end_of_statement(self, i):
        """The ";" that ends an expression statement, or None."""
        while i < len(self.words):
            if self.words[i] == ";":
                return i
            if self.words[i] in "{}":
                return None
            i = self.pairs.get(i, i) + 1 if self.words[i] in "([" else i + 1
        return None

    def changes(self):
        """(rule, begin, end, new text)"""
        for i, word in enumerate(self.words):
            begin, end = self.begins[i], self.ends[i]
            if word in BINARY and self.spaced(i) and not self.in_dimension(i):
                for other in BINARY[word]:
                    yield "operator", begin, end, other
            elif word in OTHER:
                yield "value" if word.isalpha() else "operator", begin, end, OTHER[word]
            elif word == "!":
                yield "negation", begin, end, ""
            elif re.fullmatch(r"\d+[uUlL]*", word) and not self.in_dimension(i):
                digits = re.match(r"\d+", word).group()
                if digits == "0" or digits[0] != "0":
                    suffix = word[len(digits):]
                    yield "constant", begin, end, str(int(digits) + 1) + suffix
                    if int(digits) > 0:
                        yield "constant", begin, end, str(int(digits) - 1) + suffix
            elif word in ("if", "while") and self.words[i + 1:i + 2] == ["("] and i + 1 in self.pairs:
                first, last = self.ends[i + 1], self.begins[self.pairs[i + 1]]
                yield "condition", first, last, None
            elif word == "return" and self.words[i + 1] != ";":
                last = self.end_of_statement(i)
                if last:
                    first, stop = self.begins[i + 1], self.begins[last]
                    if self.code[first:stop].strip() != "0":
                        yield "return", first, stop, "0"
                    if re.search(r" (&&|\|\||[<>]|[<>=!]=) ", self.code[first:stop]):
                        yield "return", first, stop, None
            if self.begins_statement(i) and word not in NO_STATEMENT and re.match(r"[A-Za-z_*+-]", word):
                last = self.end_of_statement(i)
                # Only the sanitizers see that memory is not freed.
                if last and word != "free" and not TYPES.match(self.code[begin:self.begins[last]]):
                    yield "statement", begin, self.begins[last], ""

    def in_dimension(self, i):
        """The size of an array in a declaration: no test sees a larger one, and the sanitizers see a smaller one."""
        first = i
        while first > 0 and self.words[first] not in "[;{}":
            first -= 1
        before = self.words[first - 2]
        return (self.words[first] == "[" and re.fullmatch(r"\w+", self.words[first - 1]) is not None and
                re.fullmatch(r"[A-Za-z_]\w*|\*|,", before) is not None and before != "return")


def mutants_of(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        text = file.read()
    code = code_of(text)
    starts = [m.end() for m in re.finditer(r"\n", text)]
    for name, first, last in functions_of(code):
        for rule, begin, end, new in Body(code, first, last).changes():
            if new is None:
                new = "!(" + text[begin:end] + ")"
            yield Mutant(path, bisect.bisect_right(starts, begin) + 1, name, rule, begin, end, new)


def shown(mutant):
    """The changed lines, before and after."""
    with open(os.path.join(TOP, mutant.path), encoding="utf-8") as file:
        text = file.read()
    first = text.rfind("\n", 0, mutant.begin) + 1
    last = text.find("\n", mutant.end)
    lines = [text[first:last], text[first:mutant.begin] + mutant.text + text[mutant.end:last]]
    return [" ".join(line.split()) for line in lines]


def named(mutant):
    """As in the line of its result."""
    return "%s:%d %s: %s: %s -> %s" % (mutant.path, mutant.line, mutant.function, mutant.rule, *shown(mutant))


# ---- the build -----------------------------------------------------------------------------------

def say(*words):
    print(*words, flush=True)


def make_lines(*targets, new=()):
    """Commands that make would run, one per line."""
    words = ["make", "-n", "--no-print-directory"] + [w for file in new for w in ("-W", file)] + list(targets)
    run = subprocess.run(words, cwd=BUILD, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        sys.exit("mutate: make -n fails: " + run.stderr.strip())
    return run.stdout.replace("\\\n", " ").split("\n")


class Build:
    """Commands that compile a file and link a program, and the symbols of all objects. For all jobs."""

    def __init__(self):
        self.lock = threading.Lock()
        self.links, self.compiles = {}, {}
        self.defined, self.needed = {}, {}
        self.same = {}
        self.library = self.objects("src")
        self.tests = {}
        tests = [o[:-2] for o in self.objects("tests/unit")
                 if "/test_" in o and os.path.exists(os.path.join(BUILD, o[:-2]))]
        self.read_symbols(self.library + self.objects("tests/unit") + tests)
        self.owner = {s: o for o in self.library for s in self.defined[o]}
        helpers = [o for o in self.objects("tests/unit") if "/test_" not in o]
        for test in tests:
            self.tests[test] = self.reached(test, helpers)

    @staticmethod
    def objects(directory):
        """The objects of the build below `directory`, except of sources that are gone since."""
        objects = sorted(os.path.relpath(os.path.join(where, name), BUILD)
                         for where, _, names in os.walk(os.path.join(BUILD, directory))
                         for name in names if name.endswith(".o"))
        return [o for o in objects if any(os.path.exists(os.path.join(top, o[:-2] + ".c")) for top in (TOP, BUILD))]

    def read_symbols(self, objects):
        out = subprocess.run(["nm", "-A", "-g"] + objects, cwd=BUILD, stdout=subprocess.PIPE, text=True,
                             check=True).stdout
        for obj in objects:
            self.defined[obj], self.needed[obj] = set(), set()
        for obj, kind, symbol in re.findall(r"(?m)^(.*?):[0-9a-f ]* (\w) (\S+)$", out):
            (self.needed if kind in "Uw" else self.defined)[obj].add(symbol)

    def callees(self, obj):
        return {self.owner[s] for s in self.needed[obj] if s in self.owner}

    def reached(self, test, helpers):
        """{object: number of calls between the test and it}"""
        near = set()
        # A helper may replace close(): only the program shows whether it is a part of it.
        for obj in [test + ".o"] + [o for o in helpers if self.defined[o] <= self.defined[test]]:
            near |= self.callees(obj)
        reached, distance = {}, 1
        while near:
            reached.update((obj, distance) for obj in near)
            near = {callee for obj in near for callee in self.callees(obj)} - set(reached)
            distance += 1
        return reached

    def unit_tests(self, path, most, function=None):
        """Tests of a file, the nearest first, and of these the ones that call the function."""
        obj = path[:-2] + ".o"
        stem = os.path.basename(path)[:-2]
        found = []
        for test, reached in self.tests.items():
            if path in self.included(test):
                found.append((False, 0, False, 0, test))
            elif obj in reached:
                name = os.path.basename(test)[len("test_"):]
                alike = name == stem or related(name, stem) or self.is_about(test, path)
                direct = sum(1 for d in reached.values() if d == 1)
                found.append((not alike, reached[obj], function not in self.needed[test + ".o"], direct, test))
        least = min((f[1] for f in found if f[1]), default=0)
        return [f[-1] for f in sorted(found) if f[1] == least or not f[0]][:most]

    @staticmethod
    def is_about(test, path):
        """Does the first comment of a unit test, after its licence, name the file?"""
        with open(os.path.join(TOP, test + ".c"), encoding="utf-8") as file:
            return path in re.split(r"(?m)^ \*/$", file.read(), maxsplit=1)[0]

    @staticmethod
    def included(test):
        """The files of src that are a part of a unit test, which includes them."""
        if test.endswith(".py"):
            return []
        with open(os.path.join(TOP, test + ".c"), encoding="utf-8") as file:
            return re.findall(r'(?m)^#include "\.\./\.\./(src/.*\.c)"$', file.read())

    def compile_test(self, test, path, output):
        """Compile a test that includes a file with the changed one, which is beside `output`, as compile() does."""
        with open(os.path.join(TOP, test + ".c"), encoding="utf-8") as file:
            text = file.read()
        return self.compile(test + ".c", text.replace('"../../%s"' % path, '"%s"' % os.path.basename(path)), output)

    def compile(self, path, source, output):
        """Compile the text of a file, which is written beside `output`; returns whether the compiler took it."""
        if path not in self.compiles:
            obj = path[:-2] + ".o"
            file = os.path.join(TOP, path)
            line = next(l for l in make_lines(obj, new=[file, os.path.relpath(file, BUILD)]) if " -o %s " % obj in l)
            line = line.rsplit(";", 1)[-1] if "&&" not in line else line.split("&&")[0].rsplit(";", 1)[-1]
            words = [w for w in shlex.split(line) if w not in ("-MD", "-MP", "-Werror", "-g", "ccache")]
            for option in ("-MT", "-MF", "-o"):
                at = words.index(option)
                del words[at:at + 2]
            self.compiles[path] = words[:-1] + ["-w", "-iquote", os.path.dirname(os.path.join(TOP, path))]
        file = os.path.join(os.path.dirname(output), os.path.basename(path))
        with open(file, "w", encoding="utf-8") as f:
            f.write(source)
        return subprocess.run(self.compiles[path] + ["-o", output, file], cwd=BUILD, stderr=subprocess.DEVNULL,
                              check=False).returncode == 0

    def link(self, program, obj, output, own=None):
        """Link a program with an object in place of the one in the library, or of its own."""
        if program not in self.links:
            line = next(l for l in make_lines(program, new=["libxdd.a"]) if " -o %s " % program in l)
            self.links[program] = [w for w in shlex.split(line.rsplit(";", 1)[-1]) if w != "ccache"]
        words = list(self.links[program])
        words[words.index("-o") + 1] = output
        if own:
            words[words.index(own)] = obj
        else:
            words.insert(words.index("libxdd.a"), obj)
        return subprocess.run(words, cwd=BUILD, stderr=subprocess.DEVNULL, check=False).returncode == 0


def related(name, stem):
    """Is the name of a test the one of a file, a part of it, or more? Options of x are in feature_x.c."""
    stem = re.sub("^feature_", "", stem).replace("endtoend", "e2e")
    return name in (stem, stem + "s") or name.startswith(stem + "_") or stem.startswith(name + "_")


def functional_tests(path):
    stem = os.path.basename(path)[:-2]
    have = {name[:-3] for name in os.listdir(os.path.join(TOP, "tests/func")) if name.endswith(".py")}
    named = {test for prefix, tests in FUNCTIONAL.items() if path.startswith(prefix) for test in tests}
    return ["tests/func/%s.py" % name for name in sorted(named | {name for name in have if related(name, stem)})]


# ---- running tests -------------------------------------------------------------------------------

def contained(work):
    """
    Words before a command that end with it all that it has started, and give it a /dev/shm and a /tmp of its own, the
    latter in `work`; or none.
    """
    script = "mount -t tmpfs none /dev/shm && { [ -z \"$1\" ] || mount --bind \"$1\" /tmp; } && shift && exec \"$@\""
    words = ["unshare", "--mount-proc", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh"]
    # Not where it would hide the tree itself.
    if any(os.path.realpath(path).startswith("/tmp/") for path in (TOP, BUILD)):
        words.append("")
    else:
        words.append(os.path.join(work, "system-tmp"))
        os.mkdir(words[-1], 0o1777)
    try:
        if subprocess.run(words + ["true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return words
    except OSError:
        pass
    return []


class Times:
    """How long tests take without a mutant, None for one that cannot be used. For all jobs, which measure each once."""

    def __init__(self, slowest_s):
        self.slowest_s = slowest_s
        self.took, self.locks = {}, collections.defaultdict(threading.Lock)


class Runner:
    """Runs tests as "make check" does, each within a limit that its run without a mutant gives. For one job, in `work`."""

    def __init__(self, build, times, work):
        self.build, self.times, self.work = build, times, work
        self.words = contained(work)
        self.linked, self.path = set(), None
        self.temporary = os.path.join(work, "tmp")

    def run(self, test, program, limit_s):
        """Returns "passed", "failed" or "times out"."""
        env = dict(os.environ, XDD_TEST_TMPDIR=self.temporary, XDD_TEST_LIMIT_S=str(int(limit_s + 1)))
        if test.endswith(".py"):
            env["XDD"] = program
            program = os.path.join(TOP, test)
        words = ["prlimit", "--as=%d" % MEMORY, "--core=0"] + self.words + ["sh", os.path.join(TOP, "tests/lib/run-test"), program]
        with tempfile.TemporaryFile() as output:
            p = subprocess.Popen(words, cwd=BUILD, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                 start_new_session=True)
            try:
                status = p.wait(limit_s + 15)
            except subprocess.TimeoutExpired:
                status = 124
            finally:
                try:
                    os.killpg(p.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                p.wait()
            output.seek(0)
            text = output.read().decode(errors="replace")
        # A tree that a mutant made may be too deep for shutil.rmtree().
        subprocess.run(["rm", "-rf", self.temporary], stderr=subprocess.DEVNULL, check=False)
        if status in (124, 137):
            return "times out"
        bad = status or re.search(r"(?m)^not ok (?!.*# (SKIP|TODO))", text)
        return "failed" if bad else "passed"

    def change(self, path, text):
        """Compile a file with another text. Returns None, or why there is nothing to test."""
        build, obj = self.build, os.path.join(self.work, "mutant.o")
        self.path, self.linked = path, set()
        # With the lock: "make -n" renews what make itself is made from.
        with build.lock:
            if path not in build.same:
                with open(os.path.join(TOP, path), encoding="utf-8") as file:
                    if not build.compile(path, file.read(), obj):
                        sys.exit("mutate: %s does not compile without a mutant" % path)
                build.same[path] = read(obj)
        if not build.compile(path, text, obj):
            return "no mutant"
        return "same code" if read(obj) == build.same[path] else None

    def run_changed(self, test):
        """Run a test of a program with the changed file. Returns "passed", "failed", "times out" or "no mutant"."""
        program = program_of(test)
        build, obj = self.build, os.path.join(self.work, "mutant.o")
        output = os.path.join(self.work, os.path.basename(program))
        if self.path in build.included(test):
            obj = os.path.join(self.work, "test.o")
            if not build.compile_test(test, self.path, obj) or not build.link(program, obj, output, test + ".o"):
                return "no mutant"
        elif program not in self.linked and not build.link(program, obj, output):
            return "no mutant"
        self.linked.add(program)
        return self.run(test, output, max(LEAST_S, TIMES * self.times.took[test]))

    def usable(self, test):
        """Does the test pass within the limit without a mutant?"""
        took = self.times.took
        with self.times.locks[test]:
            if test not in took:
                program = os.path.join(BUILD, program_of(test))
                begin = time.monotonic()
                result = self.run(test, program, self.times.slowest_s)
                took[test] = time.monotonic() - begin
                if result != "passed":
                    say("# %s is left out: without a mutant it %s" % (test, "fails" if result == "failed" else result))
                    took[test] = None
            return took[test] is not None

    def in_order(self, tests):
        """Unit tests as they are, then functional tests, the fastest first."""
        return sorted(tests, key=lambda test: self.times.took[test] if test.endswith(".py") else 0)

    def result(self, mutant, tests):
        """Returns the result of a mutant and the test that decided it."""
        with open(os.path.join(TOP, mutant.path), encoding="utf-8") as file:
            text = file.read()
        result = self.change(mutant.path, text[:mutant.begin] + mutant.text + text[mutant.end:])
        if result:
            return result, ""
        for test in tests:
            result = self.run_changed(test)
            if result != "passed":
                return "killed" if result == "failed" else result, test
        return "survived", ""


def program_of(test):
    return "xdd" if test.endswith(".py") else test


def read(path):
    with open(path, "rb") as file:
        return file.read()


# ---- the whole -----------------------------------------------------------------------------------

def arguments():
    parser = argparse.ArgumentParser(prog="make mutate MUTATE=...",
                                     description="Test the tests with mutants of C files.")
    parser.add_argument("paths", nargs="*", metavar="PATH", default=["src"], help="files and directories below src")
    parser.add_argument("--count", type=int, default=20,
                        help="mutants for each module, a directory (default 20, 0: all)")
    parser.add_argument("--seed", type=int, default=1, help="choose mutants by this number (default 1)")
    parser.add_argument("--function", action="append", default=[], help="only mutants in this function")
    parser.add_argument("--line", action="append", default=[], metavar="FILE:LINE[-LAST]",
                        help="only mutants at these lines")
    parser.add_argument("--survivors", metavar="LOG", help="only the mutants that survived in the output of another run")
    parser.add_argument("--test", action="append", default=[], help="run this test, and not those of the file")
    parser.add_argument("--tests", type=int, default=6, help="unit tests of a file that are run at most (default 6)")
    parser.add_argument("--unit", action="store_true", help="unit tests only")
    parser.add_argument("--slowest", type=int, default=30, metavar="SECONDS",
                        help="leave out slower tests (default 30)")
    parser.add_argument("--jobs", type=int, default=1, help="mutants that are tested at a time (default 1)")
    parser.add_argument("--broken", action="store_true",
                        help="test the broken programs of broken.py, or those named, and fail if no test finds one")
    parser.add_argument("--list", action="store_true", help="print the mutants and tests, run nothing")
    return parser.parse_args()


def files_of(paths):
    for path in paths:
        path = os.path.relpath(os.path.join(TOP, path), TOP)
        if path.endswith(".c"):
            yield path
            continue
        for where, _, names in sorted(os.walk(os.path.join(TOP, path))):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(where, name), TOP)
                # Objects of the library only: main.c and the plug-in are no part of the unit tests.
                if name.endswith(".c") and name != "main.c" and os.path.exists(os.path.join(BUILD, path[:-2] + ".o")):
                    yield path


def at_lines(mutant, lines):
    for line in lines:
        file, _, numbers = line.partition(":")
        first, _, last = numbers.partition("-")
        if mutant.path.endswith(file) and int(first) <= mutant.line <= int(last or first):
            return True
    return not lines


def chosen(options):
    """The mutants, by module."""
    modules = collections.defaultdict(list)
    paths = options.paths
    survivors = None
    if options.survivors:
        with open(options.survivors, encoding="utf-8") as file:
            survivors = {m.group(1) for m in re.finditer(r"(?m)^survived +(.*?)  \[", file.read())}
    if survivors or options.line and paths == ["src"]:
        options.count = 0
    for path in files_of(paths):
        for mutant in mutants_of(path):
            if (at_lines(mutant, options.line) and (not options.function or mutant.function in options.function) and
                    (survivors is None or named(mutant) in survivors)):
                modules["/".join(path.split("/")[1:2])].append(mutant)
    for module, mutants in sorted(modules.items()):
        if options.count and len(mutants) > options.count:
            mutants = random.Random("%d %s" % (options.seed, module)).sample(mutants, options.count)
        yield module, sorted(mutants)


def test_broken(runner, names):
    """Test the broken programs of broken.py. Returns how many no test found."""
    missed = 0
    for name in names or BROKEN:
        broken = BROKEN.get(name) or sys.exit("mutate: no broken program %s; there are %s" % (name, ", ".join(BROKEN)))
        usable, results = [test for test in tests_of(broken) if runner.usable(test)], []
        problem = problem_of(broken) or runner.change(broken.path, text_of(broken).replace(broken.old, broken.new))
        if not problem:
            results = [(test, runner.run_changed(test)) for test in usable]
            if all(result in ("passed", "no mutant") for _, result in results):
                problem = "no test finds it"
        missed += problem is not None
        say("%s %s: %s  [%s]" % ("not ok" if problem else "ok", name, problem or broken.fault,
                                 ", ".join("%s %s" % result for result in results)))
    say("%d of %d broken programs were found" % (len(names or BROKEN) - missed, len(names or BROKEN)))
    return missed


RESULTS = ("killed", "times out", "survived", "same code", "no mutant")


def table(counts):
    say("\n%-12s %8s %8s %10s %9s %10s %10s %6s" % (("module", "mutants") + RESULTS + ("",)))
    total = collections.Counter()
    for module, count in sorted(counts.items()) + [("total", total)]:
        dead, alive = count["killed"] + count["times out"], count["survived"]
        share = "%.0f %%" % (100 * dead / (dead + alive)) if dead + alive else "-"
        say("%-12s %8d %8d %10d %9d %10d %10d %6s" % (
            (module, sum(count.values())) + tuple(count[r] for r in RESULTS) + (share,)))
        if module != "total":
            total += count


def test_mutants(options, build, runners):
    """Test the mutants, as many at a time as there are runners. Returns {module: {result: count}}."""
    counts = collections.defaultdict(collections.Counter)
    idle = list(runners)

    def test(module, mutant):
        tests = options.test or build.unit_tests(mutant.path, options.tests, mutant.function) + (
            [] if options.unit else functional_tests(mutant.path))
        if options.list:
            say(named(mutant), "  [%s]" % " ".join(tests))
            return
        runner = idle.pop()
        tests = runner.in_order([test for test in tests if runner.usable(test)])
        result, decided = runner.result(mutant, tests) if tests else ("survived", "")
        idle.append(runner)
        counts[module][result] += 1
        say("%-9s %s%s" % (result, named(mutant), "  [%s]" % (decided or " ".join(tests) or "no test")))

    pool = concurrent.futures.ThreadPoolExecutor(len(runners))
    try:
        for done in [pool.submit(test, module, mutant) for module, mutants in chosen(options) for mutant in mutants]:
            done.result()
    except KeyboardInterrupt:
        pass
    finally:
        pool.shutdown(cancel_futures=True)
    return counts


def main():
    options = arguments()
    os.nice(10)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with contextlib.ExitStack() as stack:
        build, times = Build(), Times(options.slowest)
        works = [stack.enter_context(tempfile.TemporaryDirectory(prefix="mutate.", dir=BUILD))
                 for _ in range(max(1, options.jobs))]
        runners = [Runner(build, times, work) for work in works]
        if options.broken:
            sys.exit(test_broken(runners[0], [] if options.paths == ["src"] else options.paths) != 0)
        counts = test_mutants(options, build, runners)
    if not options.list:
        table(counts)
        say("Seed %d. Of the mutants that the tests decided, the last column has the share killed." % options.seed)


if __name__ == "__main__":
    main()
