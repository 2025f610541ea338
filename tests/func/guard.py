#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The overwrite guard: a device that is in use or holds something is not written to, and not a byte of it
changes; -force lifts the second, for the device that it names; a blank device needs nothing.
"""
import atexit
import hashlib
import os
import stat
import struct
import subprocess
import uuid

import messages as m
import xddsys as s
import xddtest as t
from xddguard import MIB, admin, device, digest, mount, refused

WORK = "-op write -reqsize 4 -numreqs 32".split()
IN_USE = "a device in use is not written to, not even with -force"

# The zoo: how each device is made, and the reason that the guard reports. A function returns None, or the reason why
# the device cannot be made.


def md_member(dev):
    """A superblock of version 1.2; mdadm makes one only where the kernel has md, and then an array too."""
    sectors = 64 * MIB // 512
    head = struct.pack("<IIII16s32sQIIQIIIIQIIII", 0xa92b4efc, 1, 0, 0, uuid.uuid4().bytes, b"host:xddtest", 1, 1, 0,
                       sectors - 2048, 0, 2, 0, 0, 0, 0, 0, 0, 0)
    place = struct.pack("<QQQQII16sBBHI", 2048, sectors - 2048, 8, 0, 0, 0, uuid.uuid4().bytes, 0, 0, 0, 0)
    roles = struct.pack("<2H", 0, 1)

    def block(checksum):
        return head + place + struct.pack("<QQQII32s", 1, 1, 0, checksum, 2, bytes(32)) + roles

    total = sum(struct.unpack("<%dI" % (len(block(0)) // 4), block(0)))
    total = (total & 0xffffffff) + (total >> 32)
    with open(dev, "r+b") as f:
        f.seek(4096)
        f.write(block(total & 0xffffffff))
    return None


def physical_volume(dev):
    return admin("pvcreate", "--config", "devices{use_devicesfile=0}", "-ff", "-y", dev)


def luks(dev):
    return admin("cryptsetup", "luksFormat", "--batch-mode", "--type", "luks2", "--pbkdf", "pbkdf2",
                 "--pbkdf-force-iterations", "1000", dev, "-", stdin=b"secret")


ZOO = (
    ("ext4", 64, lambda dev: admin("mkfs.ext4", "-q", "-F", dev), r"a file system \(ext4\)"),
    ("XFS", 512, lambda dev: admin("mkfs.xfs", "-q", "-f", dev), r"a file system \(xfs\)"),
    ("btrfs", 256, lambda dev: admin("mkfs.btrfs", "-q", "-f", dev), r"a file system \(btrfs\)"),
    ("swap", 64, lambda dev: admin("mkswap", dev), r"swap space \(swap\)"),
    ("LUKS", 64, luks, r"an encrypted volume \(crypto_LUKS\)"),
    ("LVM", 64, physical_volume, r"a RAID or LVM member \(LVM2_member\)"),
    ("md", 64, md_member, r"a RAID or LVM member \(linux_raid_member\)"),
    ("GPT", 64, lambda dev: admin("sgdisk", "--new=1:2048:0", dev), r"a partition table \(gpt\)"),
    ("MBR", 64, lambda dev: admin("sfdisk", "-q", "--no-reread", "--no-tell-kernel", dev,
                                  stdin=b"label: dos\n2048,,L\n"), r"a partition table \(dos\)"),
)


def with_libblkid():
    with open(t.XDD, "rb") as f:
        return b"it carries a partition table" in f.read()


def test_zoo():
    for name, size, make, what in ZOO:
        dev = device(name, size * MIB)
        if dev is None:
            t.skip("%s is refused" % name, s.sys_why())
            continue
        why = make(dev)
        if why:
            t.skip("%s is refused" % name, why)
            continue
        if not with_libblkid():
            what = "it is not blank"
        before = digest(dev)
        for words in (WORK, WORK + ["-rwratio", "50"]):
            run = t.xdd(*words, "-targets", 1, dev)
            t.ok(refused(run, dev, what + ".*-force " + dev), "%s is refused" % name, run)
        run = t.xdd(*WORK, "-targets", 1, dev, "-dryrun")
        t.ok(refused(run, dev, what), "%s is refused by -dryrun already" % name, run)
        t.equal(digest(dev), before, "%s: not a byte has changed" % name)
        run = t.xdd("-op", "read", "-reqsize", 4, "-numreqs", 16, "-targets", 1, dev)
        t.ok(run.status == 0, "%s may be read" % name, run)
        run = t.xdd(*WORK, "-targets", 1, dev, "-force", dev)
        t.ok(run.status == 0 and digest(dev) != before, "%s: -force lets it be written to" % name, run)


def test_blank():
    dev = device("blank")
    if dev is None:
        return t.skip("a blank device", s.sys_why())
    for words in ([], ["-queuedepth", 4], ["-reopen", "-passes", 3]):
        run = t.xdd(*WORK, "-targets", 1, dev, *words)
        t.equal((run.status, run.err), (0, ""), " ".join(["a blank device needs nothing"] + [str(w) for w in words]),
                run)
    run = t.xdd(*WORK, "-targets", 3, dev, dev, dev, "-rwratio", "target", 2, 50)
    t.equal((run.status, run.err), (0, ""), "several targets on one device", run)
    return None


def test_force():
    one, two = device("one"), device("two")
    if one is None or two is None:
        return t.skip("-force", s.sys_why())
    for dev in (one, two):
        if admin("mkfs.ext4", "-q", "-F", dev):
            return t.skip("-force", "no mkfs.ext4")
    alias, other = t.path("alias"), t.path("other")
    os.symlink(one, alias)
    os.symlink(two, other)
    before = digest(one), digest(two)
    run = t.xdd(*WORK, "-targets", 2, one, two, "-force", one)
    t.ok(refused(run, two, "") and (digest(one), digest(two)) == before, "-force allows the named device only", run)
    for words in (["-force", "/dev/null"], ["-force", t.path("nothing")], ["-force", one, "-force", two],
                  ["-force", "null"]):
        run = t.xdd(*WORK, "-targets", 2, one, "null", *words)
        t.equal((run.status, len(run.error_lines()), "-force" in run.err), (2, 1, True),
                "%s: names no target" % " ".join(words), run)
    for words in (["-force"], ["-force", ""]):
        run = t.xdd(*WORK, "-targets", 1, one, *words)
        t.equal((run.status, len(run.error_lines()), "-force" in run.err), (2, 1, True), "%r" % words, run)
    t.equal((digest(one), digest(two)), before, "nothing of that has changed a byte")
    run = t.xdd(*WORK, "-targets", 2, alias, two, "-force", one, "-force", other)
    t.ok(run.status == 0 and digest(one) != before[0] and digest(two) != before[1],
         "-force by other names of the devices", run)
    return None


def test_damaged():
    """A damaged signature still protects the device."""
    dev = device("damaged")
    if dev is None or not with_libblkid():
        return t.skip("a damaged signature", "no loop device or no libblkid")
    why = physical_volume(dev)
    if why:
        return t.skip("a damaged signature", why)
    with open(dev, "r+b") as f:
        f.seek(512 + 32)
        f.write(b"x" * 8)
    run = t.xdd(*WORK, "-targets", 1, dev)
    return t.ok(refused(run, dev, "LVM2_member"), "a label with a wrong checksum", run)


# In use


def partition(dev):
    """A partition of the loop device, through the kernel alone; None when it cannot be had."""
    if admin("addpart", dev, "1", "2048", "100000"):
        return None
    atexit.register(subprocess.run, ["delpart", dev, "1"], stderr=subprocess.DEVNULL)
    return dev + "p1" if os.path.exists(dev + "p1") and stat.S_ISBLK(os.stat(dev + "p1").st_mode) else None


def in_use(path, why, title, dev=None, quiet=True):
    """Refused with that reason, -force or not; `quiet`: no other process writes to it either."""
    before = digest(dev or path)
    for words in ([], ["-force", path]):
        run = t.xdd(*WORK, "-targets", 1, path, *words)
        t.ok(refused(run, path, why + ".*" + IN_USE), "%s%s" % (title, ", -force" * bool(words)), run)
    if quiet:
        t.equal(digest(dev or path), before, title + ": not a byte has changed")


def test_mounted():
    dev = device("mounted")
    if dev is None or admin("mkfs.ext4", "-q", "-F", dev):
        return t.skip("a mounted device", "no loop device or mkfs.ext4")
    why = mount(dev, "mnt with blank", "ext4")
    if why:
        return t.skip("a mounted device", why)
    in_use(dev, "it is mounted on .*/mnt with blank;", "a mounted device")
    alias = t.path("mounted.alias")
    os.symlink(dev, alias)
    in_use(alias, "it is mounted on", "a mounted device by another name", dev)
    return None


def test_partition():
    dev = device("disk")
    part = dev and partition(dev)
    if not part:
        return t.skip("partitions", "no partitions on loop devices here")
    why = admin("mkfs.ext4", "-q", "-F", part)
    if why:
        return t.skip("partitions", why)
    run = t.xdd(*WORK, "-targets", 1, part)
    t.ok(refused(run, part, "ext4" if with_libblkid() else "not blank"), "a partition with a file system", run)
    if mount(part, "part.mnt", "ext4"):
        return t.skip("a mounted partition", "it cannot be mounted")
    in_use(part, "it is mounted on", "a mounted partition", dev)
    in_use(dev, "its partition %s is mounted on" % os.path.basename(part), "the disk of a mounted partition")
    subprocess.run(["umount", t.path("part.mnt")], check=False)
    with open(part, "r+b") as f:
        f.write(bytes(8 * MIB))
    run = t.xdd(*WORK, "-targets", 2, dev, part)
    t.ok(run.status == 0, "a blank disk and its partition in one run", run)
    run = t.xdd(*WORK, "-targets", 2, part, dev)
    return t.ok(run.status == 0, "the same the other way round", run)


def test_swap():
    dev = device("swap.used")
    if dev is None or admin("mkswap", dev):
        return t.skip("swap in use", "no loop device or mkswap")
    why = admin("swapon", dev)
    if why:
        return t.skip("swap in use", why)
    atexit.register(subprocess.run, ["swapoff", dev], stderr=subprocess.DEVNULL)
    in_use(dev, "it is in use as swap space", "swap in use", quiet=False)
    subprocess.run(["swapoff", dev], check=False)
    return None


def test_btrfs_of_two():
    devs = [device("btrfs%d" % i, 256 * MIB) for i in (1, 2)]
    if None in devs:
        return t.skip("btrfs on two devices", s.sys_why())
    why = admin("mkfs.btrfs", "-q", "-f", "-d", "raid1", "-m", "raid1", *devs) or \
        admin("btrfs", "device", "scan", *devs) or mount(devs[0], "btrfs.mnt", "btrfs")
    if why:
        return t.skip("btrfs on two devices", why)
    for i, dev in enumerate(devs):
        in_use(dev, "it is (mounted on|part of a mounted btrfs)", "a mounted btrfs on two devices, device %d" % i)
    subprocess.run(["umount", t.path("btrfs.mnt")], check=False)
    return admin("btrfs", "device", "scan", "--forget", *devs)


def test_exclusive():
    dev = device("exclusive")
    if dev is None:
        return t.skip("a device that another has", s.sys_why())
    fd = os.open(dev, os.O_RDONLY | os.O_EXCL)
    in_use(dev, "it is in use: the kernel or another program has it open exclusively", "opened exclusively by another")
    os.close(fd)
    fd = os.open(dev, os.O_RDWR)
    run = t.xdd(*WORK, "-targets", 1, dev)
    os.close(fd)
    t.ok(run.status == 0, "opened by another, not exclusively", run)
    p = subprocess.Popen(t.xdd_words(*"-op write -reqsize 4 -timelimit 60 -targets 1".split(), dev, "-seek", "none"),
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        # A claim while the run starts would have it refused.
        t.until(lambda: s.io_bytes(p.pid, "wchar") >= MIB, p)
        try:
            os.close(os.open(dev, os.O_RDONLY | os.O_EXCL))
            held = False
        except OSError:
            held = True
        t.ok(held, "a run that writes has the device for itself")
        run = t.xdd(*WORK, "-targets", 1, dev)
        t.ok(refused(run, dev, "it is in use"), "a second run is refused meanwhile", run)
        run = t.xdd("-op", "read", "-reqsize", 4, "-numreqs", 16, "-targets", 1, dev)
        t.ok(run.status == 0, "but may read", run)
    finally:
        p.terminate()
        p.communicate(timeout=t.TIMEOUT)
    try:
        os.close(os.open(dev, os.O_RDONLY | os.O_EXCL))
        t.ok(True, "after the run it is free again")
    except OSError as e:
        t.ok(False, "after the run it is free again", e)
    return None


def test_loop_over_device():
    """A device that backs another device is in use, even if the kernel does not report it elsewhere."""
    below = device("below")
    above = below and s.loop_device(below, "--offset", str(MIB))
    if not above:
        return t.skip("a device that backs a loop device", s.sys_why())
    in_use(below, "it backs the loop device %s" % os.path.basename(above), "a device that backs a loop device")
    run = t.xdd(*WORK, "-targets", 1, above)
    t.ok(run.status == 0, "the loop device itself", run)
    s.detach(above)
    run = t.xdd(*WORK, "-targets", 1, below)
    return t.ok(run.status == 0, "nothing is left of that once the loop device is detached", run)


def test_no_sysfs():
    """Without /sys, as in a chroot, the nodes of loop devices tell what backs them."""
    below = device("below-no-sys")
    above = below and s.loop_device(below)
    hide = above and s.in_mounts("mount -t tmpfs none /sys")
    if not hide:
        return t.skip("without /sys", s.sys_why())
    before = digest(below)
    for path in (below, t.path("below-no-sys.img")):
        run = t.command(hide + t.xdd_words(*WORK, "-targets", 1, path))
        t.ok(refused(run, path, "it backs the loop device "), "without /sys: " + os.path.basename(path), run)
    return t.equal(digest(below), before, "without /sys: not a byte has changed")


def content(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def test_backing_file():
    """The file of a loop device: in use when the device is, however that is; the file by any name."""
    file = s.sparse_file("backing", 16 * MIB)
    dev = s.loop_device(file)
    if dev is None or admin("mkfs.ext4", "-q", "-F", dev):
        return t.skip("a file that backs a loop device", "no loop device or mkfs.ext4")
    name = os.path.basename(dev)
    os.link(file, t.path("backing.other"))
    os.symlink(file, t.path("backing.link"))
    before = content(file)

    def no_write(why, title, kinds=("backing", "backing.other", "backing.link")):
        for kind in kinds:
            run = t.xdd(*WORK, "-targets", 1, t.path(kind))
            t.ok(refused(run, t.path(kind), why + "; a file in use as a device is not written to"),
                 "%s, %s" % (title, kind), run)
        t.equal(content(file), before, title + ": not a byte has changed")
    if mount(dev, "backing.mnt", "ext4") is None:
        no_write("it backs the loop device %s, which is in use: it is mounted on .*" % name, "the file of a mounted device")
        run = t.xdd("-op", "read", "-reqsize", 4, "-numreqs", 16, "-targets", 1, file)
        t.ok(run.status == 0, "it may be read", run)
        subprocess.run(["umount", t.path("backing.mnt")], check=False)
    fd = os.open(dev, os.O_RDONLY | os.O_EXCL)
    no_write("it backs the loop device %s, which the kernel or another program has open exclusively" % name,
             "the file of a device that another has claimed", ("backing",))
    os.close(fd)
    run = t.xdd(*WORK, "-targets", 1, file)
    return t.ok(run.status == 0 and content(file) != before, "the file of a device that no process uses", run)


def is_of_the_kernel(path):
    """In some containers a plain tmpfs has the place of such a file system."""
    with open("/proc/self/mounts") as f:
        mounts = [line.split()[1:3] for line in f]
    return max((len(at), kind) for at, kind in mounts if (path + "/").startswith(at.rstrip("/") + "/"))[1] != "tmpfs"


def test_kernel_files():
    """Refused before the run already: writing may do anything, and measures nothing."""
    for path in ("/proc/self/comm", "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "/sys/kernel/debug/sleep_time",
                 "/sys/kernel/tracing/trace_marker", "/sys/fs/cgroup/cgroup.procs"):
        if not os.path.isfile(path) or not is_of_the_kernel(path):
            t.skip("a file of the kernel: " + path, "there is no such file")
            continue
        for words in ([], ["-dryrun"], ["-rwratio", 50, "-preallocate", 4096]):
            run = t.xdd(*WORK[:4], "-numreqs", 1, "-targets", 1, path, *words)
            t.ok(refused(run, path, "is a file of the kernel"), "a file of the kernel: %s %s" % (path, words), run)
    run = t.xdd("-op", "read", "-blocksize", 1, "-reqsize", 1, "-numreqs", 1, "-targets", 1, "/proc/self/comm",
                warns=m.REACHES)
    t.ok(run.status == 0, "it may be read", run)


def test_order():
    """Nothing is opened for writing before all devices have been looked at."""
    blank, full = device("order.blank"), device("order.full")
    if blank is None or admin("mkfs.ext4", "-q", "-F", full) or not s.can_trace():
        return t.skip("the guard comes first", "no loop device, mkfs.ext4 or strace")
    run, trace = s.trace(*WORK, "-targets", 3, blank, t.path("new file"), full)
    t.ok(run.status == 4, "one target of three is refused", run)
    opened = [f for path in (blank, full, t.path("new file")) for f in trace.flags(path)]
    t.ok(opened and all("O_RDONLY" in f for f in opened), "nothing was opened for writing", opened)
    t.ok(not os.path.exists(t.path("new file")), "and nothing made")
    run, trace = s.trace(*WORK, "-targets", 2, blank, blank)
    excl = [f for f in trace.flags(blank) if "O_EXCL" in f]
    # Once to look, and once for the run.
    return t.equal((run.status, len(excl)), (0, 2), "one exclusive claim a device, whatever the number of targets",
                   run)


if os.geteuid() != 0:
    t.skip_all("loop devices are for root only")
s.own_mounts()
t.run_all()
