#!/usr/bin/env python3
"""
What lies at the destination already or is made on the way: directories that lead to the names of a list, those into which their
owner may not write, links and FIFOs in the place of files, the mask of the process, and default ACLs.
"""
import os
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import xddssh
import xddsys as s
import xddtest as t

FAKE = xddssh.Fake()
ROOT = os.geteuid() == 0


def xddcp(*args, **kwargs):
    kwargs.setdefault("cwd", t.tmp())
    return xddssh.xddcp("-S", FAKE.ssh, *args, **kwargs)


def write(path, data=b"data"):
    with open(path, "xb") as file:
        file.write(data)


def mode(path):
    return "%04o" % stat.S_IMODE(os.lstat(path).st_mode)


def test_on_the_way():
    """Directories that a list does not name."""
    source, copy = t.path("listed"), t.path("listed copy")
    os.makedirs(source + "/open/shared")
    os.mkdir(source + "/there")
    for name in ("open/1", "open/shared/2", "there/3", "open/shared/4"):
        write("%s/%s" % (source, name))
    os.chmod(source + "/open", 0o751)
    os.chmod(source + "/open/shared", 0o577)
    os.utime(source + "/open/shared", ns=(10 ** 18, 10 ** 18))
    os.makedirs(copy + "/there")
    os.chmod(copy + "/there", 0o705)
    # The second way through open/shared begins when the first has ended.
    write(t.path("list"), b"open/shared/2\nthere/3\nopen/shared/4\nopen/1\n")
    run = xddcp("-F", "../list", FAKE.place(copy), cwd=source)
    t.ok(run.status == 0 and os.path.exists(copy + "/open/shared/4"), "a list, with two ways through a directory", run)
    t.equal([mode(copy + name) for name in ("/open", "/open/shared", "/there")], ["0751", "0777", "0705"],
            "directories on the way that are made have the permissions of the source, and their owner may write", run)


def test_own_directories():
    """A user who is not root copies files into directories of its own that it may not write into."""
    other = s.for_nobody() if ROOT else ([], os.path.abspath(t.XDD))
    if not other:
        return t.skip("directories that their owner may not write into", "needs another user")
    prefix, binary = other
    top = t.path("of another user")
    os.mkdir(top)
    if ROOT:
        os.chown(top, 65534, 65534)

    def run(words):
        return t.command([*prefix, "sh", "-c", "cd '%s' && %s" % (top, words.replace("COPY", "'%s' copy -r" % binary))], cwd="/")
    made = run("mkdir -p s/closed/in d && echo 1 >s/closed/in/1 && chmod 0555 s/closed/in s/closed s && COPY s/ d && COPY s named")
    t.ok(made.status == 0, "a tree of directories that are not writable", made)
    more = run("chmod 0755 s s/closed/in && echo 2 >s/closed/in/2 && echo 3 >s/3 && chmod 0555 s s/closed/in && COPY s/ d && "
               "COPY s/ named")
    found = [[mode(os.path.join(top, where, name)) for name in ("", "closed", "closed/in")] for where in ("d", "named")]
    t.ok(more.status == 0 and os.path.exists(top + "/d/closed/in/2") and os.path.exists(top + "/named/3"), "files are added", more)
    t.equal(found, [["0555"] * 3] * 2, "the permissions are as before")
    kept = run("COPY s d")
    t.ok(kept.status == 120 and mode(top + "/d") == "0555", "a directory that is no copy of the source is left as it is", kept)
    beside = run("echo old-one >one && mkdir w && echo older >w/one && chmod 0555 w && COPY one w/one")
    t.ok(beside.status == 120 and "w/one: no permission to write into its directory; -i writes into the file itself" in beside.err,
         "a file that may be written, without room for another one: the line names -i", beside)
    beside = run("COPY -i one w/one && cmp one w/one")
    t.ok(beside.status == 0, "-i does so", beside)
    unread = run("mkdir u d2 && chmod 0300 u && mkdir d2/u && chmod 0 d2/u && COPY -P u d2")
    t.ok(unread.status == 114 and unread.err.count("\n") == 1 and "cannot read directory" in unread.err,
         "directories that their owner may not read", unread)
    subprocess.run(["chmod", "-R", "u+rwx", top], check=True)
    return None


def test_no_files_in_place():
    """-i writes into files, and never through or in place of anything else: the line says so."""
    copy, outside = t.path("in place"), t.path("outside")
    os.mkdir(copy)
    write(outside, b"old")
    write(t.path("small"))
    write(t.path("large"), bytes(1 << 21))
    for name in ("small", "large"):
        for kind, make in (("link", lambda path: os.symlink(outside, path)), ("FIFO", os.mkfifo)):
            make("%s/%s" % (copy, name))
            run = xddcp("-i", name, FAKE.place(copy))
            t.ok(run.status == 114 and "%s: is not a regular file there" % name in run.err and os.path.getsize(outside) == 3,
                 "-i and a %s in the place of a %s file" % (kind, name), run)
            os.unlink("%s/%s" % (copy, name))


MODES = (0o644, 0o755, 0o600, 0o640, 0o666, 0o777, 0o604, 0o444, 0o400, 0o200, 0, 0o1644, 0o2755, 0o4755, 0o6711)


def test_created():
    """Files in memory, whose mode is that of their creation where the mask and ACLs allow it."""
    top = s.tmpfs("created", 16 << 20)
    if not top:
        return t.skip("permissions of files in memory", s.sys_why())
    for place in ("plain", "acl"):
        os.makedirs("%s/from/%s" % (top, place))
        for number in (1, 2):
            for value in MODES:
                path = "%s/from/%s/%04o.%d" % (top, place, value, number)
                write(path)
                os.chmod(path, value)
    wanted = {name: "%04o" % int(name[:4], 8) for name in os.listdir(top + "/from/acl")}
    for mask in ("000", "022", "077", "177"):
        copy = "%s/to %s" % (top, mask)
        os.makedirs(copy + "/acl")
        acl = t.have("setfacl") and not t.command(["setfacl", "-d", "-m", "u:daemon:rwx,g::r,m::rx,o::-", copy + "/acl"]).status
        run = t.command(["sh", "-c", 'umask %s && exec "$0" copy -r "$1" "$2"' % mask, os.path.abspath(t.XDD), top + "/from/", copy])
        found = [{name: mode("%s/%s/%s" % (copy, place, name)) for name in os.listdir("%s/%s" % (copy, place))}
                 for place in ("plain", "acl")]
        t.ok(run.status == 0 and found == [wanted] * 2, "umask %s: permissions are those of the source" % mask, "%s\n%s" % (found, run))
        if not acl:
            t.skip("umask %s: a default ACL" % mask, "no ACLs here")
            continue
        # A file that was created for its owner only, and got its permissions afterwards.
        before = os.umask(0o077)
        write(copy + "/acl/reference")
        os.umask(before)
        wrong = []
        for name, value in wanted.items():
            os.chmod(copy + "/acl/reference", int(value, 8))
            lists = [os.getxattr("%s/acl/%s" % (copy, file), "system.posix_acl_access") for file in ("reference", name)]
            wrong += [name] if lists[0] != lists[1] else []
        t.equal(wrong, [], "umask %s: users of a default ACL have the rights that the permissions leave them" % mask)
    return None


t.run(test_on_the_way, test_own_directories, test_no_files_in_place, test_created)
t.done()
