#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Virtual machines for tests (Python standard library only).

A test that needs a device, a kernel module or a topology that the machine does not have runs in a
small virtual machine under qemu's software emulation: Debian's kernel, and an initramfs made of
busybox, the xdd binary with its libraries, some modules and the guest scripts. No disk, no network, no
privileges; up in a few seconds.

    vm.py run [--xdd FILE] [--timeout S] [--console] SCRIPT...
        Run guest scripts one after the other, in one machine if they want the same number of processors, and print
        their results as one TAP test. After each, its devices are removed.
    vm.py fetch
        Get the kernel into the cache, if it is not there.

A guest script is a POSIX shell script that prints TAP. Lines at its start say what it needs:

    # vm: modules scsi_debug sg sd_mod
    # vm: programs dmsetup
    # vm: memory 1024         (MiB at least; shared out to the NUMA nodes)
    # vm: processors 4        (shared out to the two NUMA nodes; 2 otherwise)

A machine that prints no line for SILENT_S seconds is killed: how long a script takes depends on what else the host does.

The kernel is the package that linux-image-amd64 stands for. It is kept, unpacked, in $XDD_VM_CACHE or
${XDG_CACHE_HOME:-~/.cache}/xdd-vm; a linux-image-*.deb that lies there is used and nothing fetched.
"""
import argparse
import contextlib
import ctypes
import fcntl
import glob
import lzma
import os
import platform
import re
import select
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP_SRCDIR = os.environ.get("TOP_SRCDIR") or os.path.dirname(os.path.dirname(HERE))
QEMU = "qemu-system-x86_64"
# Emulation takes a quarter less processor time without instructions and checks that programs would otherwise use.
PROCESSOR = "max,la57=off,avx=off,avx2=off,erms=off,fsrm=off,smap=off,smep=off,pcid=off,xsave=off"
KERNEL_PACKAGE = "linux-image-amd64"
NODES = 2
DEFAULT_PROCESSORS = NODES
DEFAULT_MEMORY_MIB = 1024
SILENT_S = 240
DONE = "vm-done"  # the last line of a script: this and its status
QUIET_S = 1  # a serial line may stop that is silent for so long

# Directories of kernel modules to unpack: whole ones, since modules need each other. A change of the list needs a new
# number, so that older caches are unpacked again.
LAYOUT = 1
MODULE_FOLDERS = ("arch/x86/crypto", "block", "crypto", "drivers/ata", "drivers/block", "drivers/dax", "drivers/md",
                  "drivers/nvdimm", "drivers/nvme", "drivers/scsi", "drivers/virtio", "fs/configfs", "fs/ext4",
                  "fs/jbd2", "fs/mbcache.ko", "fs/xfs", "lib")

# Environment of the test that the guest script gets as well.
PASSED_ON = ("ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "XDD_SANITIZERS")

INIT = """#!/bin/sh
export PATH=/bin HOME=/ TMPDIR=/tmp LC_ALL=C
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts
mount -t tmpfs shm /dev/shm
ln -sf /proc/self/fd /dev/fd
. /guest/environment
stty -F /dev/ttyS1 raw -echo

tidy() {
	swapoff -a
	umount -a -t cgroup2
	[ ! -x /bin/dmsetup ] || dmsetup remove_all --force --noudevsync
	for device in /sys/kernel/config/nullb/*/; do
		rmdir "$device"
	done
	# The other modules stay: Linux 6.1 may call configfs after it was unloaded.
	rmmod scsi_debug
	rm -rf /tmp/*
}

{
	read -r up rest </proc/uptime
	echo "# up after $up s"
	for script in /guest/scripts/*; do
		sh "$script"
		echo "%s $?"
		tidy >/tidy.log 2>&1
	done
} </dev/null >/dev/ttyS1 2>&1
# The reader of the last line ends the machine.
sleep 60
poweroff -f
""" % DONE


class Unavailable(Exception):
    """This machine cannot run virtual machines; the text says why."""


# ---- the kernel --------------------------------------------------------------------------------------


def cache_directory():
    directory = os.environ.get("XDD_VM_CACHE")
    if not directory:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        directory = os.path.join(base, "xdd-vm")
    return directory


def package_name():
    """The package that the kernel's metapackage depends on."""
    p = subprocess.run(["apt-cache", "depends", "--important", KERNEL_PACKAGE], stdout=subprocess.PIPE,
                       stderr=subprocess.DEVNULL, timeout=60, check=False, env=dict(os.environ, LC_ALL="C"))
    found = re.search(r"Depends: (linux-image-\S+)", p.stdout.decode(errors="replace"))
    if not found:
        raise Unavailable("there is no package list to find a kernel in (apt-get update)")
    return found.group(1)


def download(directory):
    """Get the kernel package into `directory`."""
    if not shutil.which("apt-get") or not shutil.which("apt-cache"):
        raise Unavailable("there is no kernel in %s, and no apt-get to fetch one" % directory)
    name = package_name()
    with tempfile.TemporaryDirectory(dir=directory, prefix="tmp.") as tmp:
        try:
            p = subprocess.run(["apt-get", "-q", "-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=20",
                                "download", name], cwd=tmp, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               timeout=300, check=False)
        except subprocess.TimeoutExpired:
            raise Unavailable("the kernel package cannot be fetched in time") from None
        got = glob.glob(os.path.join(tmp, "*.deb"))
        if p.returncode or not got:
            raise Unavailable("there is no kernel in %s, and the package %s cannot be fetched" % (directory, name))
        os.rename(got[0], os.path.join(directory, os.path.basename(got[0])))


def plain_kernel(image):
    """The kernel inside a bzImage, which boots without being unpacked by the machine; None if it cannot be extracted."""
    try:
        start = ((image[0x1f1] or 4) + 1) * 512
        offset, size = struct.unpack_from("<II", image, 0x248)
        return lzma.LZMADecompressor().decompress(image[start + offset:start + offset + size])
    except (IndexError, struct.error, lzma.LZMAError):
        return None


def unpack(deb, directory):
    """Unpack the parts of a kernel package that machines need: `kernel`, and `modules` without subdirectories."""
    tmp = tempfile.mkdtemp(dir=os.path.dirname(directory), prefix="tmp.")
    try:
        os.mkdir(os.path.join(tmp, "modules"))
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as p:
            with tarfile.open(fileobj=p.stdout, mode="r|") as tar:
                for member in tar:
                    take(tar, member, tmp)
        if not os.path.exists(os.path.join(tmp, "kernel")):
            raise Unavailable("there is no kernel in %s" % deb)
        os.rename(tmp, directory)
    except (OSError, tarfile.TarError) as e:
        raise Unavailable("%s cannot be unpacked: %s" % (deb, e)) from None
    finally:
        shutil.rmtree(tmp, ignore_errors=True)


def take(tar, member, directory):
    """Keep one file of the package, if machines need it."""
    if not member.isfile():
        return
    module = re.match(r"\.(?:/usr)?/lib/modules/[^/]+/kernel/(.*\.ko)$", member.name)
    if module and module.group(1).startswith(MODULE_FOLDERS):
        with open(os.path.join(directory, "modules", os.path.basename(member.name)), "wb") as f:
            shutil.copyfileobj(tar.extractfile(member), f)
    elif re.match(r"\./boot/vmlinuz-", member.name):
        image = tar.extractfile(member).read()
        with open(os.path.join(directory, "kernel"), "wb") as f:
            f.write(plain_kernel(image) or image)


class Kernel:
    """A kernel in the cache; fetched and unpacked when it is not there."""

    def __init__(self):
        directory = cache_directory()
        try:
            os.makedirs(directory, exist_ok=True)
            with open(os.path.join(directory, "lock"), "w", encoding="ascii") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                self.directory = self.ready(directory)
        except OSError as e:
            raise Unavailable("no kernel in %s: %s" % (directory, e.strerror)) from None
        self.image = os.path.join(self.directory, "kernel")
        self.modules = {}
        for path in glob.glob(os.path.join(self.directory, "modules", "*.ko")):
            self.modules[os.path.basename(path)[:-3].replace("-", "_")] = path

    @staticmethod
    def ready(cache):
        """The directory of the newest kernel package in the cache. Only with the lock held."""
        for left in glob.glob(os.path.join(cache, "tmp.*")):
            shutil.rmtree(left, ignore_errors=True)
        if not glob.glob(os.path.join(cache, "linux-image-*.deb")):
            download(cache)
        deb = max(glob.glob(os.path.join(cache, "linux-image-*.deb")), key=os.path.getmtime)
        directory = "%s.%d" % (deb[:-len(".deb")], LAYOUT)
        if not os.path.isdir(directory):
            unpack(deb, directory)
        return directory

    def needs(self, module):
        """The names of the modules that a module needs."""
        with open(self.modules[module], "rb") as f:
            found = re.search(rb"\0depends=([^\0]*)\0", f.read())
        return [n.replace("-", "_") for n in found.group(1).decode().split(",") if n] if found else []

    def order(self, module, seen=()):
        """The module and all it needs, in the order to load them."""
        if module not in self.modules:
            raise Unavailable("the kernel in %s has no module %s" % (self.directory, module))
        result = []
        for needed in self.needs(module):
            if needed not in seen:
                result += [m for m in self.order(needed, seen + (module,)) if m not in result]
        return result + [module]


# ---- the initramfs -----------------------------------------------------------------------------------


class Archive:
    """A cpio archive of the kind that the kernel unpacks as its first file system."""

    def __init__(self, path):
        self.file = open(path, "wb")
        self.names = set()

    def entry(self, name, mode, data):
        path = name.encode() + b"\0"
        fields = (len(self.names) + 1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + path
        self.file.write(head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4))
        self.names.add(name)

    def directories(self, name):
        """The directories that lead to `name`."""
        parts = name.split("/")[:-1]
        for i in range(1, len(parts) + 1):
            self.directory("/".join(parts[:i]))

    def directory(self, name):
        if name not in self.names:
            self.entry(name, stat.S_IFDIR | 0o755, b"")

    def put(self, name, data, mode=0o644):
        if name not in self.names:
            self.directories(name)
            self.entry(name, stat.S_IFREG | mode, data.encode() if isinstance(data, str) else data)

    def copy(self, name, path, mode=0o644):
        with open(path, "rb") as f:
            self.put(name, f.read(), mode)

    def link(self, name, to):
        if name not in self.names:
            self.directories(name)
            self.entry(name, stat.S_IFLNK | 0o777, to.encode())

    def program(self, path):
        """A program, as /bin/NAME, with the libraries it needs where it looks for them."""
        self.copy("bin/" + os.path.basename(path), path, 0o755)
        p = subprocess.run([find_program("ldd"), path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        for library in re.findall(r"(/\S+) \(0x", p.stdout.decode()):
            self.copy(library.lstrip("/"), library, 0o755)

    def close(self):
        self.entry("TRAILER!!!", 0, b"")
        self.file.close()


def find_program(name):
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin:/usr/bin:/bin")
    if not path:
        raise Unavailable("%s is not installed" % name)
    return path


def busybox(archive):
    path = find_program("busybox")
    archive.program(path)
    for applet in subprocess.run([path, "--list"], stdout=subprocess.PIPE, check=True).stdout.decode().split():
        archive.link("bin/" + applet, "busybox")


def build_initramfs(path, kernel, scripts, needs, xdd):
    archive = Archive(path)
    for directory in ("dev", "proc", "sys", "tmp", "run", "etc"):
        archive.directory(directory)
    archive.put("init", INIT, 0o755)
    # Programs first: an applet of busybox does not stand for one of the same name.
    for name in needs["programs"]:
        archive.program(find_program(name))
    if xdd:
        archive.program(xdd)
    busybox(archive)
    for module in needs["modules"]:
        order = kernel.order(module)
        archive.put("modules/%s.order" % module, "\n".join(order) + "\n")
        for name in order:
            archive.copy("modules/%s.ko" % name, kernel.modules[name])
    for number, script in enumerate(scripts):
        archive.copy("guest/scripts/%03d" % number, script)
    archive.copy("guest/lib.sh", os.path.join(HERE, "lib.sh"))
    archive.copy("tests/lib/tap.sh", os.path.join(TOP_SRCDIR, "tests", "lib", "tap.sh"))
    environment = {k: os.environ[k] for k in PASSED_ON if k in os.environ}
    environment.update(XDD="/bin/" + os.path.basename(xdd) if xdd else "", TOP_SRCDIR="/")
    archive.put("guest/environment", "".join("export %s='%s'\n" % item for item in environment.items()))
    archive.close()


# ---- the machine -------------------------------------------------------------------------------------


def script_needs(path):
    """The '# vm:' lines of a guest script."""
    needs = {"modules": [], "programs": [], "memory": DEFAULT_MEMORY_MIB, "processors": DEFAULT_PROCESSORS}
    with open(path, encoding="utf-8") as f:
        for line in f:
            found = re.match(r"# vm: (\w+) (.*)", line)
            if not found:
                continue
            key, words = found.group(1), found.group(2).split()
            if key not in needs:
                raise ValueError("%s: unknown '# vm: %s'" % (path, key))
            if isinstance(needs[key], list):
                needs[key] += [w.replace("-", "_") for w in words] if key == "modules" else words
            else:
                needs[key] = int(words[0])
    return needs


def joint_needs(scripts):
    """Return the needs of a machine that runs all these scripts."""
    needs = [script_needs(script) for script in scripts]
    joint = {key: sorted({word for n in needs for word in n[key]}) for key in ("modules", "programs")}
    joint.update(memory=max(n["memory"] for n in needs), processors=max(n["processors"] for n in needs))
    return joint


def check_needs(kernel, needs):
    """Raises Unavailable if a program or a module is missing."""
    for name in needs["programs"]:
        find_program(name)
    for name in needs["modules"]:
        kernel.order(name)


def qemu_command(kernel, initramfs, console, needs):
    memory_mib, each = needs["memory"] // NODES, needs["processors"] // NODES
    command = [find_program(QEMU), "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", PROCESSOR,
               "-smp", str(each * NODES), "-m", str(memory_mib * NODES), "-nodefaults", "-display", "none", "-no-reboot"]
    for i in range(NODES):
        command += ["-object", "memory-backend-ram,id=m%d,size=%dM" % (i, memory_mib),
                    "-numa", "node,memdev=m%d,cpus=%d-%d" % (i, i * each, i * each + each - 1)]
    # The first serial line is the console, the second carries the results: the kernel never writes to it.
    command += ["-serial", "file:" + console, "-serial", "stdio", "-kernel", kernel.image, "-initrd", initramfs,
                # Without no_timer_check the kernel panics where the emulated timer does not tick in the first
                # moments, as this machine is busy.
                "-append", "console=ttyS0 loglevel=4 panic=-1 mitigations=off nokaslr norandmaps no_timer_check "
                           "rcupdate.rcu_expedited=1"]
    return command


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Machine:
    """One machine, in which guest scripts run. For each script in turn, `lines()` yields what it prints; then `status`
    is its status, or None when the machine did not get that far, and `trouble` says why."""

    def __init__(self, kernel, scripts, xdd):
        self.needs = joint_needs(scripts)
        self.status = None
        self.trouble = ""
        self.console = b""
        self.pending = b""
        self.is_up = False
        self.used_s = 0.0
        self.tmp = tempfile.mkdtemp(prefix="xdd-vm.")
        self.process = None
        try:
            initramfs = os.path.join(self.tmp, "initramfs")
            build_initramfs(initramfs, kernel, scripts, self.needs, xdd)
            command = qemu_command(kernel, initramfs, os.path.join(self.tmp, "console"), self.needs)
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.STDOUT, bufsize=0, preexec_fn=die_with_parent)
        except BaseException:
            self.end()
            raise

    def read(self, deadline):
        """More of the serial line; empty at its end, or after the deadline."""
        while time.monotonic() < deadline:
            if select.select([self.process.stdout], [], [], QUIET_S)[0]:
                return os.read(self.process.stdout.fileno(), 65536)
            # A machine may lose the interrupt that says "sent". A received character makes it send on.
            if self.is_up:
                with contextlib.suppress(BrokenPipeError):
                    self.process.stdin.write(b"\n")
        return b""

    def lines(self, silent_s):
        """The lines of a script, until it ends or is silent for too long."""
        deadline = time.monotonic() + silent_s
        self.status = None
        while True:
            line, newline, rest = self.pending.partition(b"\n")
            if not newline:
                data = self.read(deadline)
                self.pending += data
                if data:
                    continue
                self.trouble = ("the machine ended and its script did not say so" if time.monotonic() < deadline else
                                "stopped: nothing printed for %d s" % silent_s)
                return
            self.pending, self.is_up, deadline = rest, True, time.monotonic() + silent_s
            line = line.decode(errors="replace").rstrip("\r")
            if line.startswith(DONE + " "):
                self.status = int(line.split()[1])
                return
            yield line

    def cpu_s(self):
        """User and system time of the machine since the last call."""
        with open("/proc/%d/stat" % self.process.pid, encoding="ascii") as f:
            fields = f.read().rpartition(")")[2].split()
        used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        self.used_s, before_s = used, self.used_s
        return used - before_s

    def end(self):
        """Kill the machine and remove its files. Safe to call again."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None
        try:
            with open(os.path.join(self.tmp, "console"), "rb") as f:
                self.console = f.read()
        except OSError:
            pass
        shutil.rmtree(self.tmp, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


# ---- results -----------------------------------------------------------------------------------------


def test_name(script):
    return re.sub(r"\.sh$", "", os.path.basename(script))


class Results:
    """The results of several scripts, numbered through and printed as one TAP test."""

    def __init__(self):
        self.count = 0
        self.failed = 0

    def result(self, passed, text):
        self.count += 1
        self.failed += not passed
        print("%s %d - %s" % ("ok" if passed else "not ok", self.count, text), flush=True)

    def run(self, kernel, scripts, args):
        """Run scripts in one machine; after a failure, the others in a new one."""
        while scripts:
            with Machine(kernel, scripts, os.path.abspath(args.xdd)) as machine:
                while scripts:
                    script, *scripts = scripts
                    if not self.run_script(machine, script, args.timeout) or args.console:
                        machine.end()
                        for line in machine.console.decode(errors="replace").splitlines()[-60:]:
                            print("# console: " + line.rstrip("\r"))
                        break

    def run_script(self, machine, script, silent_s):
        """Returns whether it passed."""
        name = test_name(script)
        started = time.monotonic()
        planned, seen, failed = None, 0, self.failed
        for line in machine.lines(silent_s):
            found = re.match(r"(not )?ok\b[ \d]*(?:- )?(.*)", line)
            plan = re.match(r"1\.\.(\d+)(.*)", line)
            if found:
                seen += 1
                self.result(not found.group(1), "%s: %s" % (name, found.group(2)))
            elif plan:
                planned = int(plan.group(1))
                if planned == 0:
                    self.result(True, "%s%s" % (name, plan.group(2)))
            elif line.strip():
                print(line if line.startswith("#") else "# " + line, flush=True)
        if machine.trouble or planned != seen or (machine.status and self.failed == failed):
            self.result(False, "%s runs to its end" % name)
            print("# %s; %s results of %s; status %s" % (machine.trouble or "it ended", seen, planned, machine.status))
        print("# %s: %.1f s, CPU %.1f s" % (name, time.monotonic() - started, machine.cpu_s()), flush=True)
        return self.failed == failed


def run_scripts(args):
    if not args.xdd or not os.access(args.xdd, os.X_OK):
        sys.exit("vm.py: --xdd, or $XDD, must name the xdd binary")
    try:
        if platform.machine() != "x86_64":
            raise Unavailable("the machines are x86_64, and this one is not")
        find_program(QEMU)
        find_program("busybox")
        kernel = Kernel()
    except Unavailable as e:
        print("1..0 # SKIP %s" % e)
        return 0
    results = Results()
    machines = {}
    for script in args.scripts:
        needs = script_needs(script)
        try:
            check_needs(kernel, needs)
            machines.setdefault(needs["processors"], []).append(script)
        except Unavailable as e:
            results.result(True, "%s # SKIP %s" % (test_name(script), e))
    for scripts in machines.values():
        results.run(kernel, scripts, args)
    print("1..%d" % results.count)
    return 1 if results.failed else 0


def main():
    parser = argparse.ArgumentParser(description="Run tests in small virtual machines.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run guest scripts and print their results as TAP")
    run.add_argument("--xdd", default=os.environ.get("XDD"), help="the binary to test; default: $XDD")
    run.add_argument("--timeout", type=int, default=SILENT_S, help="kill a machine that prints no line for so many seconds")
    run.add_argument("--console", action="store_true", help="show the end of the console's output")
    run.add_argument("scripts", nargs="+", metavar="SCRIPT")
    commands.add_parser("fetch", help="get the kernel into the cache")
    args = parser.parse_args()
    # However this ends, machines are killed and files removed on the way out.
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda n, frame: sys.exit(128 + n))
    if args.command == "run":
        return run_scripts(args)
    try:
        print(Kernel().directory)
    except Unavailable as e:
        print("vm.py: %s" % e, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
