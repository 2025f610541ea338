#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The completions for bash, zsh and fish: the words that they offer for the last word of a command line."""
import os
import re
import shlex

import xddtest as t

DIRECTORY = os.path.join(os.environ["TOP_SRCDIR"], "contrib", "completion")
FILE = os.path.join(DIRECTORY, "xdd.bash")
ASK = '''. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "_${1//-/_}"; printf '%s\\n' "${COMPREPLY[@]}"'''


def offered(line):
    """The words for the last word of a line; "" after a blank."""
    words = shlex.split(line) + ([""] if line.endswith(" ") else [])
    run = t.command(["bash", "-c", ASK, "bash", FILE, *words], cwd=WHERE, env={**os.environ, "HOME": t.tmp()})
    return run, [word for word in run.out.split("\n") if word]


def offers(line, *wanted, also=False):
    """Exactly these words; with `also`, others as well."""
    run, got = offered(line)
    good = set(wanted) <= set(got) if also else sorted(wanted) == sorted(got)
    t.ok(run.status == 0 and good and not run.err, "%s<Tab> offers %s" % (line, " ".join(wanted) or "nothing"),
         "%s\n%s" % (got, run))


def test_words():
    offers("xdd -que", "-queuedepth")
    offers("xdd --que", "--queuedepth")
    offers("xdd -op re", "read")
    offers("xdd -op target 1 re", "read")
    offers("xdd -op read w")
    offers("xdd -seek r", "random", "range")
    offers("xdd -s r", "random", "range")
    offers("xdd -seek random r", "random", "range")
    offers("xdd -seek random o", "once")
    offers("xdd -seek random once r", "random", "range")
    offers("xdd -seek random range ")
    offers("xdd -seek target 0 random range 50 s", "sequential", "stagger", "streams", "seed", "save", "seekhist")
    offers("xdd -ordering storage s", "serial", "strict")
    offers("xdd -ioengine io_uring sq", "sqpoll")
    offers("xdd -heartbeat 1 ops b", "bytes", "bw")
    offers("xdd -latency percentiles 50 h", "histogram")
    offers("xdd -seek random -verify c", "contents")


def test_commands_and_columns():
    offers("xdd comp", "compare")
    offers("xdd ", "check", "compare", "tsread", "directory", "file", also=True)
    offers("xdd compare -", "-failif", "-help")
    offers("xdd compare f", "file")
    offers("xdd tsread --su", "--summary")
    offers("xdd -outputformat n", "new")
    offers("xdd -outputformat +BANDW", "+BANDWIDTH")
    offers("xdd -outputformat new +OPS+BANDW", "+OPS+BANDWIDTH")
    offers("xdd -help comp", "compare")
    offers("xdd -help col", "columns")
    offers("xdd -help queued", "queuedepth")
    offers("xdd -help BANDW", "BANDWIDTH")
    offers("xdd -help -queued", "-queuedepth")


def test_files():
    offers("xdd -output f", "file")
    offers("xdd -targetdir ", "directory")
    offers("xdd -target f", "file")
    offers("xdd -targets 2 file d", "directory")
    offers("xdd -seek save f", "file")


def test_links():
    offers("gettime -bo", "-bounce")
    offers("timeserver --fo", "--foreground")
    offers("gettime -timeserver ")


def test_multi():
    offers("xdd multi -hostf", "-hostfile")
    offers("xdd multi --hostf", "--hostfile")
    offers("xdd multi -launcher s", "ssh", "srun")
    offers("xdd multi -out d", "directory")
    offers("xdd multi -hosts a -- -op re", "read")
    offers("xdd multi -hosts a -- -queued", "-queuedepth")


def nightly_options():
    """The options in the help of xdd-nightly."""
    run = t.command([os.path.join(os.environ["TOP_SRCDIR"], "contrib", "xdd-nightly"), "-help"])
    return re.findall(r"^  (-[a-z]+) ", run.out, re.M)


def test_nightly():
    options = nightly_options()
    t.ok(len(options) > 5, "xdd-nightly -help has its options", options)
    offers("xdd-nightly -", *options)
    offers("xdd-nightly --fail", "--failif")
    offers("xdd-nightly -state d", "directory")
    offers("xdd-nightly --state d", "directory")
    offers("xdd-nightly -name f")
    offers("xdd-nightly -queued")
    offers("xdd-nightly -failif p50+20% -- -queued", "-queuedepth")
    offers("xdd-nightly -- -op re", "read")
    offers("xdd-nightly -- swe", "sweep")
    offers("xdd-nightly -- sweep -each", "-each")
    offers("xdd nightly -fail")


def test_xddcp():
    offers("xddcp -recu", "-recursive")
    offers("xddcp --recu", "--recursive")
    offers("xdd copy -recu", "-recursive")
    offers("xddcp -r d", "directory", "delta:")
    offers("xdd copy d", "directory", "delta:")
    offers("xddcp file be", "beta:", "beta.example.org:")
    offers("xddcp ann@be", "ann@beta:", "ann@beta.example.org:")
    offers("xddcp file alp", "alpha:")
    offers("xddcp -threads ")
    offers("xddcp -log f", "file")
    offers("xddcp -l d", "directory")
    offers("xddcp beta : d")
    offers("xddcp -size ")


def test_xddcp_letters():
    offers("xddcp -r", "-r", "-recursive", "-remotexdd", "-retries", "-resume")
    offers("xddcp -", "-r", "-P", "-0", "-recursive", "-size", also=True)
    offers("xddcp --r", "--recursive", "--remotexdd", "--retries", "--resume")
    offers("xdd copy -k", "-k")


def test_xddcp_values():
    """Words as bash splits them: --log=file is three."""
    offers("xddcp --log = ", "file", "directory")
    offers("xddcp --log =", "file", "directory")
    offers("xddcp -O = f", "file")
    offers("xddcp --localxdd = ", "directory")
    offers("xddcp --threads = ")
    offers("xdd copy --log = f", "file")


# The completion of zsh, with the functions of its completion system that it calls in place of a terminal.
ZSH = '''
compdef() { :; }
_describe() { [[ $1 == -o ]] && shift; print -rl -- "${(@P)2}"; }
_files() { print -rl -- "(files)"; }
file=$1; shift
words=("$@"); CURRENT=$#; PREFIX=$words[-1]; service=${words[1]}
source $file
'''


def described(shell, line):
    """The words for the last word of a line, each with its description, in zsh or fish."""
    words = shlex.split(line) + ([""] if line.endswith(" ") else [])
    if shell == "zsh":
        run = t.command(["zsh", "-f", "-c", ZSH, "zsh", os.path.join(DIRECTORY, "_xdd"), *words], cwd=WHERE)
        found = [word.split(":", 1) for word in run.out.replace("\\:", "\0").splitlines() if word.startswith(words[-1])]
    else:
        run = t.command(["fish", "--private", "-c", "source $argv[1]; complete -C $argv[2]", os.path.join(DIRECTORY, "xdd.fish"), line],
                        cwd=WHERE, env={**os.environ, "HOME": t.tmp(), "XDG_CONFIG_HOME": t.tmp(), "XDG_DATA_HOME": t.tmp()})
        found = [word.split("\t", 1) for word in run.out.splitlines()]
    return run, {word[0]: word[1].replace("\0", ":") if len(word) > 1 else "" for word in found}


def shell_offers(shell, line, *wanted, also=False, says=None):
    run, got = described(shell, line)
    good = set(wanted) <= set(got) if also else sorted(wanted) == sorted(got)
    good = good and (not says or says in got.get(wanted[0], ""))
    t.ok(run.status == 0 and good and not run.err, "%s: %s<Tab> offers %s" % (shell, line, " ".join(wanted) or "nothing"),
         "%s\n%s" % (got, run))


def test_zsh_and_fish():
    for shell in ("zsh", "fish"):
        if not t.have(shell):
            t.skip("the completion of " + shell, shell + " is not installed")
            continue
        shell_offers(shell, "xdd -que", "-queuedepth", says="operations outstanding")
        shell_offers(shell, "xdd -op re", "read", also=True)
        shell_offers(shell, "xdd -seek ran", "random", "range", says="drawn uniformly")
        shell_offers(shell, "xdd -s target 0 ran", "random", "range")
        shell_offers(shell, "xdd -seek random onc", "once")
        shell_offers(shell, "xdd -ordering storage ser", "serial")
        shell_offers(shell, "xdd -outputformat +BANDW", "+BANDWIDTH", says="bytes over elapsed time")
        shell_offers(shell, "xdd comp", "compare", says="what differs between runs")
        shell_offers(shell, "xdd mul", "multi", says="many hosts: one start")
        shell_offers(shell, "xdd compare -fail", "-failif")
        shell_offers(shell, "xdd compare -queued")
        shell_offers(shell, "xdd -failif")
        shell_offers(shell, "gettime -bo", "-bounce")
        shell_offers(shell, "timeserver -fo", "-foreground")
        shell_offers(shell, "xddcp -recu", "-recursive")
        shell_offers(shell, "xdd copy -recu", "-recursive")
        shell_offers(shell, "xdd-multi -hostf", "-hostfile")
        shell_offers(shell, "xdd multi -hosts a -- -queued", "-queuedepth")
        shell_offers(shell, "xdd-multi -hosts a -- -op wri", "write")
        for option in nightly_options():
            shell_offers(shell, "xdd-nightly " + option, option)
        shell_offers(shell, "xdd-nightly -queued")
        shell_offers(shell, "xdd-nightly -name a -- -queued", "-queuedepth", says="operations outstanding")
        shell_offers(shell, "xdd-nightly -- -op wri", "write")
        shell_offers(shell, "xdd-nightly -- sweep -each", "-each")
        shell_offers(shell, "xdd-nightly -- curve -goa", "-goal")


if not t.have("bash"):
    t.skip_all("bash is not installed")
WHERE = t.path("where")
os.makedirs(os.path.join(WHERE, "directory"))
with open(os.path.join(WHERE, "file"), "w", encoding="ascii"):
    pass
os.mkdir(t.path(".ssh"))
with open(os.path.join(t.path(".ssh"), "known_hosts"), "w", encoding="ascii") as f:
    f.write("# a remark\nbeta,10.0.0.1 ssh-ed25519 AAAA\nbeta.example.org ssh-ed25519 AAAA\n|1|hashed= ssh-ed25519 AAAA\n"
            "*.example.com ssh-ed25519 AAAA\ndelta ssh-ed25519 AAAA\n")
with open(os.path.join(t.path(".ssh"), "config"), "w", encoding="ascii") as f:
    f.write("Host alpha *.wild\n  Port 22\nHost *\n")
t.run_all()
