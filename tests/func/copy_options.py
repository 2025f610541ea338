#!/usr/bin/env python3
"""
The command line of xddcp: what is refused, with its exit status and one line, before ssh is started and anything is created;
words of other tools; and the script, which finds xdd.
"""
import os
import shlex
import shutil
import sys

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import xddssh
import xddtest as t

WHERE = t.tmp()
FAKE = xddssh.Fake()
ARGUMENTS, NAMES, NO_XDD, COMBINATION, NO_SOURCE = 101, 102, 103, 105, 106


def names():
    return sorted(os.listdir(WHERE))


def xddcp(line, **kwargs):
    return xddssh.xddcp("-S", FAKE.ssh, *(shlex.split(line) if isinstance(line, str) else line), cwd=WHERE, **kwargs)


def refused(line, status, *says):
    """One line that has these words, and nothing was done."""
    before = names()
    run = xddcp(line)
    missing = [text for text in says if text not in run.err]
    t.ok(run.status == status and run.err.count("\n") == 1 and run.err.startswith("xdd: copy") and not run.out and not missing
         and not FAKE.started() and names() == before, "%s: %d" % (line, status), "%s\nmissing: %s" % (run, missing))


def test_options():
    refused("-Q a h:b", ARGUMENTS, "-Q", "no such option")
    refused("-recursiv a h:b", ARGUMENTS, "did you mean -recursive?")
    refused("--resme a h:b", ARGUMENTS, "did you mean -resume?")
    refused("-foce a h:b", ARGUMENTS, "did you mean -force?")
    refused("-rQ d h:b", ARGUMENTS, "-rQ", "no such option")
    refused("-t a h:b", ARGUMENTS, "-t a", "from 1 to 128")
    refused("-t 0 a h:b", ARGUMENTS, "from 1 to 128")
    refused("-t 129 a h:b", ARGUMENTS, "from 1 to 128")
    refused("-t -1 a h:b", ARGUMENTS, "from 1 to 128")
    refused("-t 1e3 a h:b", ARGUMENTS, "from 1 to 128")
    refused("a h:b -t", ARGUMENTS, "missing argument <#threads>")
    refused("-p a h:b", ARGUMENTS, "-p a", "from 1 to 65535", "permissions and times are always copied")
    refused("-rp d h:b", ARGUMENTS, "-rp d", "permissions and times are always copied")
    refused("-p 70000 a h:b", ARGUMENTS, "from 1 to 65535")
    refused("-p 65530 a h:b", ARGUMENTS, "at most 65528", "8 threads")
    refused("-blocksize 1k a h:b", ARGUMENTS, "4 KiB to 32 MiB")
    refused("-blocksize 5000 a h:b", ARGUMENTS, "a multiple of 4 KiB")
    refused("-timeout 0 a h:b", ARGUMENTS, "from 1 second to 1 hour")
    refused("-timeout soon a h:b", ARGUMENTS, "from 1 second to 1 hour")
    refused("-retries 1001 a h:b", ARGUMENTS, "from 0 to 1000")
    refused("--recursive=yes d h:b", ARGUMENTS, "takes no value", "-recursive")
    refused("--nothing=1 a h:b", ARGUMENTS, "no such option")
    refused("-log '' a h:b", ARGUMENTS, "<file> is empty")
    refused("-S 'ssh \"x' a h:b", ARGUMENTS, "a quote is not closed")
    refused("-S '' a h:b", ARGUMENTS, "empty")
    refused("-server a h:b", ARGUMENTS, "is for the other side")


def test_names():
    refused("", ARGUMENTS, "expected a source and a destination")
    refused("a", ARGUMENTS, "expected a source and a destination")
    refused("a b", NAMES, "b:", "expected host:path")
    refused("./a:b ./c:d", NAMES, "./c:d", "expected host:path")
    refused("d/a:b /c:d", NAMES, "/c:d", "expected host:path")
    refused("a h:b g:c", NAMES, "h:b", "is not on the host of the first source")
    refused("h:a g:b c", NAMES, "g:b", "is not on the host of the first source")
    refused("h:a u@h:b c", NAMES, "u@h:b", "is not on the host of the first source")
    refused("h:a h:b 5", NAMES, "5", "is a size or a destination")
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
    refused("-0 a h:b", COMBINATION, "-null is about names in a list")
    refused("-r d h:b 5", COMBINATION, "-recursive excludes -size")
    refused("-F a h:b 5", COMBINATION, "-list excludes -size")
    refused("-size 5 a a h:b", COMBINATION, "a size is for one source")


def test_other_tools():
    refused("-avz d h:b", ARGUMENTS, "-avz: is a word of rsync; say -r -P -log <file>")
    refused("-aH d h:b", ARGUMENTS, "-aH: is a word of rsync; say -r -P")
    refused("-anz d h:b", ARGUMENTS, "say -r -P -n")
    refused("-av d h:b", ARGUMENTS, "d: is a directory; say -r")
    refused("-R d h:b", ARGUMENTS, "d: is a directory; say -r")
    refused("-z a h:b", ARGUMENTS, "-z: is a word of rsync and scp; leave it out")
    refused("-rC d h:b", ARGUMENTS, "leave it out: the data are not compressed")
    refused("--archive d h:b", ARGUMENTS, "say -r -P")
    refused("--progress a h:b", ARGUMENTS, "leave it out")
    refused("--info=progress2 a h:b", ARGUMENTS, "leave it out")
    refused("--partial a h:b", ARGUMENTS, "say -R")
    refused("--checksum a h:b", ARGUMENTS, "say -c")
    refused("--dry-run a h:b", ARGUMENTS, "say -n")
    refused("--delete d h:b", ARGUMENTS, "nothing like it")
    refused("--exclude=x d h:b", ARGUMENTS, "say -F -0 <list>")
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
    refused("-c aes128-ctr a h:b", ARGUMENTS, "say -e to encrypt")
    refused("-J between a h:b", ARGUMENTS, "say -S 'ssh -J <host>'")
    refused("-O full a h:b", ARGUMENTS, "full: is a file that the log would replace")
    refused("-s 8 a h:b", ARGUMENTS, "say -t <number>")


def test_help():
    for word in ("-h", "-help", "--help"):
        run = xddcp(word + " a b c")
        t.ok(run.status == 0 and run.out.startswith("usage: xddcp ") and not run.err and not FAKE.started(), word, run)
    run = xddcp("-h")
    width = max(len(line) for line in run.out.splitlines())
    t.ok(width <= 90, "the help fits a terminal", width)


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
    r = run("missing", "h:b", env={"PATH": where + ":" + nowhere["PATH"]})
    t.ok(r.status == NO_SOURCE, "finds xdd in PATH", r)
    os.symlink(os.path.abspath(t.XDD), os.path.join(own, "xdd"))
    os.symlink(script, t.path("link"))
    for program in (script, t.path("link"), "own/xddcp"):
        r = run("missing", "h:b", program=program)
        t.ok(r.status == NO_SOURCE, "%s: finds xdd beside the script" % os.path.relpath(program, WHERE), r)
    os.unlink(t.path("link"))
    shutil.rmtree(own)


for file in ("a", "3", "mine", "mine.pub", "list"):
    open(t.path(file), "w", encoding="ascii").close()
with open(t.path("full"), "w", encoding="ascii") as f:
    f.write("text\n")
os.mkdir(t.path("d"))
t.run(test_options, test_names, test_combinations, test_other_tools, test_help, test_script)
