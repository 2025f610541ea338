#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The command line of xddcp: what is refused, with its exit status and one line, before ssh is started and anything is created;
words of other tools; the script, which finds xdd; and in copies without ssh what each option does, and names of any characters.
"""
import json
import os
import random
import re
import shlex
import shutil

import xddports
import xddssh
import xddtest as t

WHERE = t.tmp()
FAKE = xddssh.Fake()
# Random words may be a copy within this host.
t.tolerate("has no meaning within this host")
ARGUMENTS, NAMES, NO_XDD, COMBINATION, NO_SOURCE = 101, 102, 103, 105, 106


def names():
    return sorted(os.listdir(WHERE))


def xddcp(line, **kwargs):
    return FAKE.copy(*(shlex.split(line) if isinstance(line, str) else line), cwd=WHERE, **kwargs)


def refused(line, status, *says):
    """One line that has these words, and nothing was done."""
    before = names()
    run = xddcp(line)
    missing = [text for text in says if text not in run.err]
    t.ok(run.status == status and run.err.count("\n") == 1 and run.err.startswith("xdd: copy") and not run.out and not missing
         and not FAKE.started() and names() == before, "%s: %d" % (line, status), "%s\nmissing: %s" % (run, missing))


def test_options():
    refused("-Q a h:b", ARGUMENTS, "-Q", "is not an option")
    refused("-recursiv a h:b", ARGUMENTS, "did you mean -recursive?")
    refused("--resme a h:b", ARGUMENTS, "did you mean -resume?")
    refused("-foce a h:b", ARGUMENTS, "did you mean -force?")
    refused("-order a h:b", ARGUMENTS, "did you mean -ordered?")
    refused("-seek a h:b", ARGUMENTS, "is not an option")
    refused("-dio a h:b", ARGUMENTS, "say -d -s")
    refused("-rand d h:b", ARGUMENTS, "is not an option")
    refused("-rQ d h:b", ARGUMENTS, "-rQ", "is not an option")
    for line, *says in (
            ("-t a", "-t a", "expected a whole number, 1 to 128"), ("-t 0", "1 to 128"), ("-t 129", "1 to 128"), ("-t 1e3", "1 to 128"),
            # -t and -p have another meaning in other tools; their names have not.
            ("-threads x", "expected a whole number, 1 to 128\n"), ("--threads=x", "expected a whole number, 1 to 128\n"),
            ("-port x", "expected a whole number, 1 to 65535\n"), ("-p 0", "1 to 65535"), ("-p 65536", "1 to 65535"),
            ("-p 65529 -t 8", "at most 65528", "8 threads"), ("-blocksize 1k", "4 KiB to 32 MiB"), ("-blocksize 33M", "4 KiB to 32 MiB"),
            ("-blocksize 5000", "a multiple of 4 KiB"), ("-timeout 0.5", "expected a time of 1s to 3600s: seconds with decimals"),
            ("-timeout soon", "1s to 3600s"), ("-retries 1001", "expected a whole number, 0 to 1000"),
            ("-n 9 -retries 2", "-n 9: is -retries 9, which is given as well; leave one out"), ("--nothing=1", "is not an option"),
            ("-log ''", "<file> cannot be empty"), ("-S 'ssh \"x'", "a quote is not closed"), ("-S ' '", "expected a command"),
            ("-S ''", "<command> cannot be empty"), ("-server", "is for the other side"),
            ("-p", "-p a", "1 to 65535", "times are always copied, and -P copies permissions")):
        refused(line + " a h:b", ARGUMENTS, *says)
    refused("-rp d h:b", ARGUMENTS, "-rp d", "times are always copied, and -P copies permissions")
    refused("a h:b -t", ARGUMENTS, "missing argument <#threads>")
    refused("--recursive=yes d h:b", ARGUMENTS, "takes no value", "-recursive")
    refused("a h:b -log -v", ARGUMENTS, "copy -log: missing argument <file>: found option -v instead")


def test_names():
    refused("", ARGUMENTS, "expected a source and a destination")
    refused("a", ARGUMENTS, "expected a source and a destination")
    refused("-F h:- d", NAMES, "-: is standard input", "expected a list that is a file")
    refused("a h:b g:c", NAMES, "h:b", "is not on the host of the first source")
    refused("h:a g:b c", NAMES, "g:b", "is not on the host of the first source")
    refused("h:a u@h:b c", NAMES, "u@h:b", "is not on the host of the first source")
    refused("h:a h:b 5", NAMES, "5", "is a size or a destination")
    refused("a full 5", NAMES, "5", "is a size or a destination")
    refused("a h:b 5x", ARGUMENTS, "5x", "expected a size")
    refused("a h:b 99999999999999999999", ARGUMENTS, "expected a size")
    refused("a -- -oProxyCommand=x:b", NAMES, "begins with a dash")
    refused("a u@-oProxyCommand=x:b", NAMES, "begins with a dash")
    refused("a -- -u@h:b", NAMES, "begins with a dash")
    refused("a 'two words:b'", NAMES, "a host has no blanks")
    refused("a 'h$(touch):b'", NAMES, "is not the name of a host")
    refused("a h1,h2:b", NAMES, "is not the name of a host")
    refused("a u@:b", NAMES, "the host is empty")
    refused("a @h:b", NAMES, "the user is empty")
    refused("a %s:b" % ("h" * 300), NAMES, "is too long")
    refused("a rsync://h/b", NAMES, "is a URL")
    refused("a h::b", NAMES, "form of rsync")
    refused("a fe80::1:b", NAMES, "[address]:path")
    refused("a ::1:b", NAMES, "[address]:path")
    for place in ("[x]y]:b", "[]:b", "h%0,g:b", "ssh://h/b"):
        refused("a " + place, NAMES, place.partition(":b")[0])
    refused("h:a b c", NAMES, "b")
    refused("-size 7 a h:b 7", ARGUMENTS, "7")
    refused("a h:~ann/b", NAMES, "home directory of another user")
    refused(["a", ""], NAMES, "is empty")
    refused(["", "h:b"], NAMES, "is empty")
    refused("-F list other h:b", NAMES, "one list of names")
    refused("missing h:b", NO_SOURCE, "missing: No such file or directory")
    refused("a missing h:b", NO_SOURCE, "missing: No such file or directory")
    refused(["no\nfile\x1b[31m", "h:b"], NO_SOURCE, "no?file?[31m: No such file")
    refused("d h:b", ARGUMENTS, "d: is a directory; say -r")
    refused("-F d h:b", ARGUMENTS, "expected a list of names")
    refused("-d s h:b", NO_SOURCE, "s: No such file")
    refused("-n 7 h:b", NO_SOURCE, "7: No such file")
    refused("-n 3 a h:b", ARGUMENTS, "is a value of the option or the file 3")


def test_combinations():
    for line in ("-k -i", "-k -R", "-k -a", "-k -n", "-k -force", "-n -R", "-n -a", "-n -f", "-n -v", "-n -w", "-i -R", "-J -jsonout x"):
        refused(line + " a h:b", COMBINATION, "excludes")
    refused("-log x -jsonout x a h:b", COMBINATION, "need different files")
    refused("-J -log - a h:b", COMBINATION, "need different files")
    refused("-J -log /dev/stdout a h:b", COMBINATION, "need different files")
    refused("-log full full h:b", ARGUMENTS, "is a source and the log")
    refused("-jsonout ./full a full h:b", ARGUMENTS, "is a source and the log")
    refused("-0 a h:b", COMBINATION, "-null is about names in a list")
    refused("-r d h:b 5", COMBINATION, "-recursive excludes -size")
    refused("-F a h:b 5", COMBINATION, "-list excludes -size")
    refused("-size 5 a a h:b", COMBINATION, "a size is for one source")


def test_other_tools():
    refused("-avz d h:b", ARGUMENTS, "-avz: is a word of rsync; say -r -P -v")
    refused("-aH d h:b", ARGUMENTS, "-aH: is a word of rsync; say -r -P")
    refused("-anz d h:b", ARGUMENTS, "say -r -P -n")
    refused("-av d h:b", ARGUMENTS, "d: is a directory; say -r")
    refused("-R d h:b", ARGUMENTS, "d: is a directory; say -r")
    refused("-avh d h:b", ARGUMENTS, "-avh: is a word of rsync; say -r -P -v")
    refused("-rh d h:b", ARGUMENTS, "-rh: -h is the help here and stands alone; leave it out")
    refused("-avv d h:b", ARGUMENTS, "say -r -P -v")
    refused("-rvv d h:b", ARGUMENTS, "-rvv: is not an option")
    refused("-vv a h:b", ARGUMENTS, "-vv: is a word of rsync; say -v")
    for word, says in (("archive", "say -r -P"), ("checksum", "say -c"), ("bwlimit=5", "nothing like it"), ("progress", "leave it out"),
                       ("partial", "say -R"), ("info", "leave it out"), ("owner", "say -P"), ("xattrs", "say -P"),
                       ("delete", "nothing like it"), ("exclude=x", "say -F -0"), ("human-readable", "leave it out"),
                       ("ignore-existing", "nothing like it"), ("ignore-times", "say -c"), ("list-only", "say -r -n"),
                       ("mkpath", "leave it out"), ("fsync", "leave it out"), ("include-from=x", "say -F -0"), ("m", "say -F -0"),
                       ("link-dest=x", "nothing like it"), ("mirror", "nothing like it"), ("limit=5", "nothing like it"),
                       ("chown=a", "say -P"), ("no-perms", "leave it out"), ("u", "nothing like it"), ("ru", "nothing like it")):
        refused("-%s d h:b" % word, ARGUMENTS, "-%s: is a word of rsync" % word, says)
    for word, says in (("-numeric-ids", "nothing like it: -P finds owners by name"), ("-devices", "nothing like it: devices"),
                       ("D", "nothing like it: devices"), ("-perms", "say -P"), ("K", "nothing like it"), ("E", "say -P"),
                       ("W", "leave it out"), ("-3", "leave it out: the data of two other hosts")):
        refused("-%s d h:b" % word.replace("-3", "3"), ARGUMENTS, says)
    refused("-no-such-word d h:b", ARGUMENTS, "-no-such-word: is not an option")
    for words in ("-json x.json a h:b", "-json=x.json a h:b", "--json x.json a h:b"):
        refused(words, ARGUMENTS, "writes to standard output; for a file say -jsonout x.json")
    for words in ("-j 4 -r d h:b", "--transfers=4 a h:b", "--parallel 4 a h:b"):
        refused(words, ARGUMENTS, "say -t <number>")
    refused("-n3 a h:b", ARGUMENTS, "-n3: expected a blank before 3")
    refused("-rw5 a h:b", ARGUMENTS, "-rw5: expected a blank before 5")
    refused("-l 1000 a h:b", ARGUMENTS, "is a limit of scp")
    refused("-z a h:b", ARGUMENTS, "-z: is a word of rsync and scp; leave it out")
    refused("-rC d h:b", ARGUMENTS, "leave it out: the data are not compressed")
    refused("--archive d h:b", ARGUMENTS, "say -r -P")
    refused("-a --progress d h:b", ARGUMENTS, "leave it out: progress and a summary are always shown; for -a of rsync say -r -P")
    refused("-r -a --delete d h:b", ARGUMENTS, "and others stay\n")
    refused("--dry-run a h:b", ARGUMENTS, "say -n")
    refused("--rsh=ssh a h:b", ARGUMENTS, "say -S <command>")
    refused("-e 'ssh -p 22' a h:b", ARGUMENTS, "say -S <command>")
    refused("--acls a h:b", ARGUMENTS, "say -P")
    refused("--parents a h:b", ARGUMENTS, "say -F <list>")
    refused("-4 a h:b", ARGUMENTS, "say -S <command>")
    refused("-P 22 a h:b", ARGUMENTS, "say -S 'ssh -p <port>'")
    refused("-i ~/.ssh/id_rsa a h:b", ARGUMENTS, "say -S 'ssh -i <file>'")
    refused("-i mine a h:b", ARGUMENTS, "say -S 'ssh -i <file>'")
    refused("-ri mine d h:b", ARGUMENTS, "say -S 'ssh -i <file>'")
    refused("-o Compression=yes a h:b", ARGUMENTS, "say -S 'ssh -o <setting>'")
    refused("-oProxyJump=between a h:b", ARGUMENTS, "say -S 'ssh -oProxyJump=between'")
    refused("-c aes128-ctr a h:b", ARGUMENTS, "say -e to encrypt")
    refused("-J between a h:b", ARGUMENTS, "say -S 'ssh -J <host>'")
    refused("-O full a h:b", ARGUMENTS, "full: is a file that the log would be appended to")
    refused("-s 8 a h:b", ARGUMENTS, "say -t <number>")


def test_help():
    for word in ("-h", "-help", "--help"):
        run = xddcp(word + " a b c")
        t.ok(run.status == 0 and run.out.startswith("usage: xddcp ") and not run.err and not FAKE.started(), word, run)
    run = xddcp("a -version")
    t.ok(run.status == 0 and re.match(r"xdd: Version \d+\.\d+\.\d+", run.out), "-version", run)
    run = xddcp("-h")
    width = max(len(line) for line in run.out.splitlines())
    t.ok(width <= 80, "the help fits a terminal", width)


def test_script():
    """xddcp finds xdd beside itself, by -l, or in PATH."""
    own = t.path("own")
    os.mkdir(own)
    script = shutil.copy(xddssh.XDDCP, own)
    nowhere = {"PATH": "/usr/bin:/bin"}

    def run(*words, env=None, program=script):
        return t.command([program, *words], env=env or nowhere, cwd=WHERE)

    if not shutil.which("xdd", path=nowhere["PATH"]):
        r = run("a", "h:b")
        t.ok(r.status == NO_XDD and r.err.count("\n") == 1 and "cannot find xdd" in r.err, "no xdd: the remedy", r)
    r = run("-l", "own", "a", "h:b")
    t.ok(r.status == NO_XDD and r.err.count("\n") == 1 and "-l own: has no program xdd" in r.err, "-l without xdd", r)
    where = os.path.dirname(os.path.abspath(t.XDD))
    for words in (["-l", where], ["-localxdd", where], ["--localxdd=" + where], ["-rl", where], ["-q", "-l", where]):
        r = run(*words, "missing", "h:b")
        t.ok(r.status == NO_SOURCE, " ".join(words[:-1]) + ": finds xdd", r)
    odd = t.path("new\\nline \\t")
    os.symlink(where, odd)
    r = run("-l", odd, "missing", "h:b")
    t.ok(r.status == NO_SOURCE, "a directory with backslashes: finds xdd", r)
    r = run("missing", "h:b", env={"PATH": where + ":" + nowhere["PATH"]})
    t.ok(r.status == NO_SOURCE, "finds xdd in PATH", r)
    os.symlink(os.path.abspath(t.XDD), os.path.join(own, "xdd"))
    os.symlink(script, t.path("link"))
    for program in (script, t.path("link"), "own/xddcp"):
        r = run("missing", "h:b", program=program)
        t.ok(r.status == NO_SOURCE, "%s: finds xdd beside the script" % os.path.relpath(program, WHERE), r)
    os.unlink(t.path("link"))
    shutil.rmtree(own)


WORDS = """-r -P -k -c -n -i -R -a -F -0 -d -s -o -e -f -p -t -b -l -S -Y -v -w -O -q -J -size -blocksize -timeout -retries -log -jsonout
-force -- --threads=4 --threads=x -rPv -rt8 -avz --delete a missing d d/ full 3 s b sd 8 70000 10M 10G 1e9 h: h:x u@h:x [::1]:x g:x :x
a:b ./a:b '' - -- x.log y.json --help=1 -server -foce""".split()


def test_random_words():
    """Any words: one of the statuses of a command line, with one line, or a start of ssh, which fails here."""
    refusals = (ARGUMENTS, NAMES, COMBINATION, NO_SOURCE)
    random.seed(41)
    before = names()
    failing = t.path("failing-ssh")
    wrong = []
    for _ in range(200):
        # Where -O takes the word before it, this file is the destination.
        with open(failing, "w", encoding="ascii") as f:
            f.write("#!/bin/sh\nexit 255\n")
        os.chmod(failing, 0o755)
        words = ["" if word == "''" else word for word in random.choices(WORDS, k=random.randint(1, 7))]
        run = t.command([t.XDD, "copy", *words, "-S", failing], cwd=WHERE, env={"XDDCP_SSH": failing})
        if run.status in refusals:
            good = run.err.count("\n") == 1 and not run.out
        else:
            good = run.status in (0, 108, 109)
        if not good:
            wrong.append(str(run))
        for name in set(names()) - set(before) - {"failing-ssh"}:
            os.unlink(t.path(name))
    t.ok(not wrong, "random words", "\n".join(wrong[:5]))
    os.unlink(failing)


# ---- copies, where ssh is a script that starts the other side here ----

ODD = ["a b", "'quoted'", '"double"', "new\nline", "-dash", "--", "$(touch x)", "`x`", "*", "\\back", ";", "&", "a:b", "~", "#",
       "caf\u00e9", "\udcff\udcfe", " ", "tab\t", "a'b\"c d"]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def read(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def copied(title, args, *pairs, **kwargs):
    """A copy that succeeds; each pair is a file and its contents."""
    run = xddcp(args, **kwargs)
    wrong = [path for path, text in pairs if not os.path.isfile(path) or read(path) != text]
    t.ok(run.status == 0 and not wrong, title, "%s\nwrong: %s" % (run, wrong))
    return run


def test_odd_names():
    """Names of any characters arrive, in both directions, as files and as directories."""
    source, there, back = t.path("odd"), t.path("there"), t.path("back")
    for name in ODD:
        write(os.path.join(source, name), name[::-1])
    os.mkdir(there)
    os.mkdir(back)
    copied("odd names as sources", [*[os.path.join(source, name) for name in ODD], FAKE.place(there)],
           *[(os.path.join(there, name), name[::-1]) for name in ODD])
    copied("odd names as remote sources", [*[FAKE.place(os.path.join(there, name)) for name in ODD], back],
           *[(os.path.join(back, name), name[::-1]) for name in ODD])
    for name in ODD:
        copied("odd name of a destination: %r" % name, [os.path.join(source, "a b"), FAKE.place(os.path.join(t.path("new"), name, ""))]
               if os.path.isdir(t.path("new")) else ["-q", os.path.join(source, "a b"), FAKE.place(t.path("new") + "/")])
        t.ok(name == ODD[0] or os.path.isfile(os.path.join(t.path("new"), name, "a b")), "a directory %r" % name)
    os.chdir(source)
    run = FAKE.copy("-q", "--", "-dash", FAKE.place(t.path("dashed")), cwd=source)
    t.ok(run.status == 0 and read(t.path("dashed")) == "hsad-", "a name with a dash after --", run)
    run = FAKE.copy("-q", "./a:b", FAKE.place(t.path("colon")), cwd=source)
    t.ok(run.status == 0 and read(t.path("colon")) == "b:a", "a local name with a colon", run)
    os.chdir("/")


def test_tilde():
    """The home directory of the other side by its sign of the shell; patterns are not expanded."""
    home = t.path("home")
    write(os.path.join(home, "sub", "f"), "f")
    write(t.path("of-home"), "of-home")
    there = xddssh.Fake(name="home-ssh", before="cd %s" % shlex.quote(home))
    for path, file in (("~", "of-home"), ("~/", "of-home"), ("~/new", "new"), ("~//sub/", "sub/of-home"), ("./~", "~")):
        run = there.copy("-q", "of-home", there.place(path), cwd=WHERE)
        t.ok(run.status == 0 and read(os.path.join(home, file)) == "of-home", "to %s" % path, run)
    run = there.copy("-q", there.place("~/sub/f"), "from-home", cwd=WHERE)
    t.ok(run.status == 0 and read(t.path("from-home")) == "f", "from ~/", run)
    run = there.copy("-q", "-r", there.place("~"), "all-of-home", cwd=WHERE)
    t.ok(run.status == 0 and read(t.path("all-of-home/sub/f")) == "f", "all of ~", run)
    run = there.copy("-q", there.place("su?/f"), "from-home", cwd=WHERE)
    t.ok(run.status == NO_SOURCE and "su?/f: No such file or directory; patterns are not expanded" in run.err and
         run.err.count("\n") == 1, "a pattern: the remedy", run)


def test_lists():
    for name in ("one", "sub/two", "sub/new\nline"):
        write(os.path.join(t.path("tree"), name), name)
    write(t.path("tree/names"), "one\nsub/two\n")
    write(t.path("tree/nul"), "one\0sub/new\nline\0")
    run = FAKE.copy("-F", "names", FAKE.place(t.path("l1")), cwd=t.path("tree"))
    t.ok(run.status == 0 and read(t.path("l1/sub/two")) == "sub/two" and os.path.exists(t.path("l1/one")), "-F", run)
    run = FAKE.copy("-F0", "nul", FAKE.place(t.path("l2")), cwd=t.path("tree"))
    t.ok(run.status == 0 and os.path.exists(t.path("l2/sub/new\nline")), "-F -0", run)
    run = t.command(["sh", "-c", 'exec "$@" <nul', "sh", t.XDD, "copy", "-S", FAKE.ssh, "-F", "-0", "-", FAKE.place(t.path("l3"))],
                    cwd=t.path("tree"))
    t.ok(run.status == 0 and os.path.exists(t.path("l3/sub/new\nline")), "-F - reads standard input", run)
    run = FAKE.copy("-F", "nul", FAKE.place(t.path("l4")), cwd=t.path("tree"))
    t.ok(run.status != 0 and "one: is followed by NUL in the list; say -null" in run.err and not os.path.exists(t.path("l4/one")),
         "a list of find -print0 without -0", run)
    write(t.path("tree/dos"), "one\r\nsub/two\r\n")
    run = FAKE.copy("-F", "dos", FAKE.place(t.path("l5")), cwd=t.path("tree"))
    t.ok(run.status == 114 and run.err.count("does not exist; the list has carriage returns at the ends of its lines") == 2,
         "a list with the line ends of DOS", run)


def met(title, name, *words):
    """The log of a copy."""
    copied(title, [*words, "-log", name + ".log", "data", FAKE.place(t.path("out/" + name))])
    return read(t.path(name + ".log"))


def test_effects():
    data = t.make_file("data", 3 << 20)
    out = t.path("out")
    os.mkdir(out)
    copied("a size after the destination", ["data", FAKE.place(out), "1M"])
    t.equal(os.path.getsize(os.path.join(out, "data")), 1 << 20, "so many bytes arrive")
    copied("-size", ["-size", "5000", "data", FAKE.place(os.path.join(out, "part"))])
    t.equal(os.path.getsize(os.path.join(out, "part")), 5000, "so many bytes arrive")
    run = copied("-n", ["-n", "data", FAKE.place(os.path.join(out, "none"))])
    t.ok("data" in run.out and not os.path.exists(os.path.join(out, "none")), "-n names it and changes nothing", run)
    run = copied("-q", ["-q", "data", FAKE.place(os.path.join(out, "quiet"))])
    t.ok(not run.out and not run.err, "-q prints nothing", run)
    run = xddcp(["-k", "data", FAKE.place(os.path.join(out, "quiet"))])
    t.ok(run.status == 0, "-k: the same", run)
    run = xddcp(["-k", "data", FAKE.place(os.path.join(out, "part"))])
    t.ok(run.status == 7, "-k: differs", run)
    run = copied("-J", ["-q", "-J", "data", FAKE.place(os.path.join(out, "j"))])
    few = len(os.sched_getaffinity(0)) <= 4
    t.equal(json.loads(run.out)["settings"]["connections"], 4 if few else 8, "-J prints JSON, with as many threads as processors allow")
    if t.have("taskset"):
        run = t.command(["taskset", "-c", t.PROCESSOR, t.XDD, "copy", "-q", "-J", "-S", FAKE.ssh, "data",
                         FAKE.place(os.path.join(out, "one"))], cwd=WHERE)
        t.equal(json.loads(run.out)["settings"]["connections"], 4, "one processor: 4 threads")
    copied("-jsonout and -log", ["-jsonout", "result.json", "-log", "copy.log", "data", FAKE.place(os.path.join(out, "k"))])
    t.ok(json.loads(read(t.path("result.json"))) and "data" in read(t.path("copy.log")), "both are written")
    for name in ("protocol", "again.log"):
        copied("-O: a new file", ["-O", name, "data", FAKE.place(os.path.join(out, "o1" + name))])
        copied("-O: the log of an earlier copy", ["-O", name, "data", FAKE.place(os.path.join(out, "o2" + name))])
        t.equal(read(t.path(name)).count(" command xdd copy "), 2, "it is appended to " + name)
    log = met("-t", "three", "-t", "3")
    t.equal(log.count(" connection "), 3, "-t 3: three connections")
    port = xddports.free_ports(1)
    log = met("-p", "port", "-t1", "-p", str(port))
    t.ok(":%d" % port in log, "-p: the port is used", log)
    for option in ("-d", "-s", "-o", "-i", "-c", "-P", "-R", "-e", "-f", "-blocksize=64k", "-timeout=10", "-retries=1", "-force"):
        name = os.path.join(out, "with" + option)
        run = copied(option, [option, "data", FAKE.place(name)])
        t.ok(os.path.getsize(name) == os.path.getsize(data), option + ": all of it arrives", run)
    for words in (["-d", "b"], ["-o", "sd"], ["-n", "1"], ["-w", "5"], ["-W", "5"], ["-V"]):
        name = os.path.join(out, "later" + words[0])
        run = copied(" ".join(words), [*words, "data", FAKE.place(name)])
        t.ok(os.path.getsize(name) == os.path.getsize(data), " ".join(words) + ": the form of a later program", run)
        t.equal(run.err.count("xdd: note: copy -W: events of the kernel are not traced"), words[0] == "-W", words[0] + ": what is not done", run)
    os.makedirs(os.path.join(out, "tree"))
    for words, says in (["-a"], True), (["-aq"], True), (["-R"], False), (["-a", "-P"], False):
        run = xddcp([*words, "-r", os.path.join(out, "tree"), FAKE.place(os.path.join(out, "tree" + words[0]))])
        t.ok(run.status == 0 and ("xdd: note: copy -a: is -R" in run.err) == says, " ".join(words) + ": what -a of rsync does more", run)


def calls():
    text = read(FAKE.calls)
    os.unlink(FAKE.calls)
    return text.splitlines()


def test_ssh():
    """The words that ssh is started with."""
    out = t.path("ssh")
    os.mkdir(out)
    write(t.path("small"), "x")
    if os.path.exists(FAKE.calls):
        os.unlink(FAKE.calls)
    for place, user, host in (("ann@fakehost", "ann", "fakehost"), ("[::1]", None, "::1"), ("ann@[fe80::1%eth0]", "ann", "fe80::1%eth0")):
        copied(place, ["small", place + ":" + out])
        words = calls()
        t.ok(host in words or "%s@%s" % (user, host) in words, "%s: the host is a word" % place, words)
        t.ok(not user or user in words or "%s@%s" % (user, host) in words, "%s: the user is one" % place, words)
    copied("words of -S", ["small", FAKE.place(out)], env={**os.environ, "XDDCP_SSH": "no-such-ssh"})
    calls()
    run = xddssh.xddcp("small", FAKE.place(out), cwd=WHERE, env={**os.environ, "XDDCP_SSH": FAKE.ssh + " -4 'two words'"})
    words = calls()
    t.ok(run.status == 0 and words[:2] == ["-4", "two words"], "XDDCP_SSH is split into words", "%s\n%s" % (run, words))
    run = xddssh.xddcp("-S", "/no/such/ssh", "small", FAKE.place(out), cwd=WHERE)
    t.ok(run.status == 108 and "/no/such/ssh" in run.err and "XDDCP_SSH" not in run.err, "an ssh that is missing", run)
    for program, reason in (("/no/such/ssh", "cannot find the program"), ("/dev/null", "cannot start")):
        run = xddssh.xddcp("small", FAKE.place(out), cwd=WHERE, env={**os.environ, "XDDCP_SSH": program})
        t.ok(run.status == 108 and '%s "%s" of the variable XDDCP_SSH' % (reason, program) in run.err and run.err.count("\n") == 1,
             "%s: %s: the variable is named" % (program, reason), run)
    nothing = xddssh.Fake(name="bare-ssh", remote_xdd="/nowhere")
    where = os.path.dirname(os.path.abspath(t.XDD))
    for path in (where, where + "/", os.path.join(where, "xdd")):
        run = xddssh.xddcp("-S", nothing.ssh, "-b", path, "small", nothing.place(out), cwd=WHERE)
        t.ok(run.status == 0, "-b " + ("the program" if path.endswith("xdd") else "its directory"), run)
    copied("-Y", ["-Y", "small", FAKE.place(out)])
    t.ok(any(word.startswith("-t") for word in calls()), "-Y: ssh has a terminal")


for file in ("a", "3", "mine", "mine.pub", "list"):
    open(t.path(file), "w", encoding="ascii").close()
with open(t.path("full"), "w", encoding="ascii") as f:
    f.write("text\n")
os.mkdir(t.path("d"))
t.run_all()
