#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Engines: what one cannot do is refused in one line before anything is touched.
"""
import errno
import os
import platform
import re
import shutil
import subprocess

import messages as m
import xddsys as s
import xddtest as t
from xddengines import ENGINES, absent, digest, restore

if t.ENGINE:
    t.skip_all("this test sets the engine itself")


def refused(title, args, pattern, status=2, prefix=(), existing=True, **kwargs):
    """One line, that status, nothing printed, and the directory is what it was."""
    directory = t.path("refused")
    if not os.path.isdir(directory):
        os.mkdir(directory)
        os.chmod(t.tmp(), 0o711)
        os.chmod(directory, 0o777)
    data = os.path.join(directory, "data")
    restore({data: b"was here before\n" * 4096})
    before = sorted(os.listdir(directory)), os.stat(directory).st_mtime_ns, digest([data]), os.stat(data).st_mtime_ns
    run = t.command([*prefix, kwargs.pop("binary", os.path.abspath(t.XDD))] + [str(a) for a in args], cwd=directory, **kwargs)
    after = sorted(os.listdir(directory)), os.stat(directory).st_mtime_ns, digest([data]), os.stat(data).st_mtime_ns
    t.ok(run.status == status and len(run.error_lines()) == 1 and re.search("^xdd: .*" + pattern, run.err) and not run.out,
         "refused: %s: one line, status %d" % (title, status), run)
    t.ok(before == after, "refused: %s: nothing is touched" % title, "%s\n%s" % (before, after))


DATA = "-op read -targets 1 data -reqsize 4 -numreqs 2 "
NEW = "-op write -targets 1 new -reqsize 4 -numreqs 2 "


def test_refusals():
    cases = [("an engine there is none of", NEW + "-ioengine io_urng", "-ioengine io_urng: .*" + m.near("io_uring"), 3),
             ("a keyword of others", NEW + "-ioengine psync batch 4",
              "-ioengine batch: " + m.keyword_of_another("libaio and io_uring", "psync")),
             ("touch with null", NEW + "-ioengine null touch", "-ioengine touch: " + m.keyword_of_another("mmap", "null")),
             ("fua with psync", NEW + "-ioengine psync fua", "-ioengine fua: " + m.keyword_of_another("sg", "psync")),
             ("a keyword of io_uring", NEW + "-dio -ioengine libaio fixedbufs",
              "-ioengine fixedbufs: " + m.keyword_of_another("io_uring", "libaio")),
             ("sg on a plain file", DATA + "-ioengine sg", "data: -ioengine sg: " + m.SCSI_WANTED),
             ("-sgio on a plain file", DATA + "-sgio", "data: -ioengine sg: " + m.SCSI_WANTED),
             ("sg on a new file", NEW + "-ioengine sg", "new: -ioengine sg: "),
             ("mmap with -dio", DATA + "-dio -ioengine mmap", "mmap: mapped data is in the page cache, which -dio excludes"),
             ("mmap of a new file", NEW + "-ioengine mmap", "new: -ioengine mmap: " + m.MAPPED_CANNOT_GROW),
             ("mmap of a short file", "-op write -targets 1 data -reqsize 4 -numreqs 17 -ioengine mmap",
              "data: -ioengine mmap: " + m.MAPPED_CANNOT_GROW),
             ("stdio with -dio", DATA + "-dio -ioengine stdio", "stdio: data goes through a buffer of the C library"),
             ("-threads with psync", NEW + "-threads 2", "new: -threads: the engine psync has a QThread for each"),
             ("-threads with mmap", DATA + "-threads 2 -ioengine mmap", "-threads: the engine mmap has a QThread for each"),
             ("batch 0", NEW + "-ioengine libaio batch 0", "-ioengine batch 0: .*1 to 65536"),
             ("batch without a number", NEW + "-ioengine libaio batch", "-ioengine batch: " + m.MISSING),
             ("-threads 0", NEW + "-threads 0", "-threads 0: .*1 to 65536"),
             ("no engine", NEW + "-ioengine", "-ioengine: " + m.MISSING)]
    if "io_uring" in ENGINES:
        cases += [("a ring too deep", NEW + "-dio -qd 40000 -ioengine io_uring", "a ring holds 32768 requests at most")]
    for title, args, pattern, *status in cases:
        refused(title, args.split(), pattern, *status)
    absent("refusals")


def test_libaio_depth():
    if "libaio" not in ENGINES:
        return absent("the depth the kernel allows")
    with open("/proc/sys/fs/aio-max-nr") as f:
        most = int(f.read())
    if most >= 65536:
        return t.skip("libaio: a depth past the kernel's limit", "fs.aio-max-nr is %d, and -queuedepth ends at 65536" % most)
    return refused("libaio: a depth past the kernel's limit", (NEW + "-dio -reqsize 1 -qd %d -ioengine libaio" % (most + 1)).split(),
                   "fs.aio-max-nr")


def test_together():
    """Targets that each have room, but not all of them: the run ends before it begins, and leaves nothing."""
    if "libaio" not in ENGINES:
        return absent("contexts of several targets")
    with open("/proc/sys/fs/aio-max-nr") as f:
        most = int(f.read())
    if most > 100000:
        return t.skip("libaio: contexts of several targets", "fs.aio-max-nr is %d" % most)
    names = [t.path("together%d" % i) for i in (1, 2)]
    run = t.xdd("-op", "write", "-targets", 2, *names, *"-blocksize 512 -reqsize 1 -dio -numreqs 2 -ioengine libaio".split(),
                "-queuedepth", most * 5 // 8)
    t.equal((run.status, len(run.error_lines()), "fs.aio-max-nr" in run.err, "COMBINED" in run.out),
            (2, 1, True, False), "libaio: the depths of all targets are past the kernel's limit: one line", run)
    t.ok(not [name for name in names if os.path.exists(name)], "libaio: nothing is left behind")
    return None


def test_iopoll():
    if "io_uring" not in ENGINES:
        return absent("iopoll")
    directory = s.tmpfs("nopoll", 1 << 20)
    if directory is None:
        return t.skip("iopoll where none is", s.sys_why())
    file = os.path.join(directory, "file")
    with open(file, "wb") as f:
        f.write(bytes(65536))
    run = t.xdd("-op", "read", "-targets", 1, file, *"-reqsize 4 -numreqs 2 -dio -ioengine io_uring iopoll".split())
    t.ok(run.status == 2 and len(run.error_lines()) == 1 and re.search("-ioengine io_uring: iopoll: |-dio", run.err) and
         not run.out, "refused: iopoll on tmpfs", run)
    file = t.make_file("poll", 65536)
    run = t.xdd("-op", "read", "-targets", 1, file, *"-reqsize 4 -numreqs 2 -ioengine io_uring iopoll".split())
    t.equal((run.status, "iopoll: only requests with -dio" in run.err, run.out), (2, True, ""),
            "refused: iopoll without -dio", run)
    return None


def test_memlock():
    if "io_uring" not in ENGINES:
        return absent("fixedbufs and the memlock limit")
    if not t.have("prlimit") or os.geteuid() == 0 and not t.have("setpriv"):
        return t.skip("fixedbufs and the memlock limit", "no prlimit or setpriv")
    prefix, binary = ["prlimit", "--memlock=65536:65536"], t.XDD
    if os.geteuid() == 0:
        prefix += ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
        binary = t.path("xdd-for-all")
        shutil.copy(t.XDD, binary)
        os.chmod(t.tmp(), 0o711)
        os.chmod(binary, 0o755)
    if t.command(prefix + [binary, "-version"]).status:
        return t.skip("fixedbufs and the memlock limit", "the binary does not run for all")
    return refused("a memlock limit too low for fixedbufs", (NEW + "-dio -qd 64 -ioengine io_uring fixedbufs").split(),
                   r"fixedbufs: .* and the memlock limit \(ulimit -l\) is 64 KiB", prefix=prefix, binary=binary)


def test_open_files():
    """Refused before anything is opened or created, with the limit."""
    if not t.have("prlimit"):
        return t.skip("the limit on open files", "no prlimit")
    words = (t.XDD, "-op", "write", "-targets", 100, t.path("many%03d"), *"-numreqs 1 -reqsize 4k".split())
    run = t.command(["prlimit", "--nofile=64:64"] + [str(w) for w in words])
    t.ok(run.status == 2 and "-targets: the run needs 103 open files, and the limit is 64" in run.err and
         not os.path.exists(t.path("many000")), "more targets than open files", run)
    run = t.command(["prlimit", "--nofile=64:1024"] + [str(w) for w in words], tolerate=t.BUFFERED)
    return t.ok(run.status == 0 and os.path.exists(t.path("many099")), "a soft limit is raised", run)


def test_seccomp():
    setup = {"x86_64": 206, "aarch64": 0}.get(platform.machine())
    for engine, number, error, pattern in (("io_uring", 425, errno.EPERM, "a seccomp filter forbids io_uring|io_uring is "),
                                           ("io_uring", 425, errno.ENOSYS, "no io_uring .*or a seccomp filter hides"),
                                           ("libaio", setup, errno.EPERM, "a seccomp filter forbids asynchronous"),
                                           ("libaio", setup, errno.ENOSYS, "a seccomp filter hides it")):
        title = "%s where seccomp answers %s" % (engine, errno.errorcode[error])
        if engine not in ENGINES or number is None:
            t.skip(title, "this build, kernel or machine has no such engine")
            continue
        try:
            if t.command(["true"], preexec_fn=s.forbid(number, error)).status:
                raise OSError
        except (OSError, subprocess.SubprocessError):
            t.skip(title, "this kernel takes no seccomp filter")
            continue
        refused(title, (NEW + "-dio -ioengine " + engine).split(), "new: -ioengine %s: .*(%s)" % (engine, pattern),
                preexec_fn=s.forbid(number, error))
        run = t.xdd("-ioengine", "list", preexec_fn=s.forbid(number, error))
        t.ok(run.status == 0 and re.search(r"^%s +no .*\n +.*(%s)" % (engine, pattern), run.out, re.M),
             title + ": -ioengine list says so", run)


def test_sysctl():
    """The kernel says EPERM, as a seccomp filter does, and a sysctl (a stand-in for it) says why."""
    sysctl = "/proc/sys/kernel/io_uring_disabled"
    if "io_uring" not in ENGINES or not os.path.exists(sysctl):
        return t.skip("io_uring disabled by sysctl", "no io_uring, or no such sysctl in this kernel")
    stand_in = t.path("io_uring_disabled")
    prefix = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" %s && exec "$@"' % sysctl, stand_in]
    for value, pattern in ((1, "io_uring is for the administrator and one group: the sysctl kernel.io_uring_disabled is 1"),
                           (2, "io_uring is switched off: the sysctl kernel.io_uring_disabled is 2")):
        with open(stand_in, "w") as f:
            f.write("%d\n" % value)
        try:
            if t.command(prefix + ["cat", sysctl], preexec_fn=s.forbid(425, errno.EPERM)).out != "%d\n" % value:
                raise OSError
        except (OSError, subprocess.SubprocessError):
            t.skip("io_uring disabled by sysctl, %d" % value, "no mounts in a namespace, or no seccomp")
            continue
        refused("io_uring disabled by sysctl, %d" % value, (NEW + "-dio -ioengine io_uring").split(), pattern, prefix=prefix,
                preexec_fn=s.forbid(425, errno.EPERM))
    return None


t.run_all()
