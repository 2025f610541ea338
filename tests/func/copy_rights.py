#!/usr/bin/env python3
"""
Permissions of directories at the destination: those on the way to the names of a list, and those into which their owner may not
write.
"""
import os
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import xddssh
import xddtest as t

FAKE = xddssh.Fake()


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


t.run(test_on_the_way)
t.done()
