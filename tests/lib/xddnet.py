# SPDX-License-Identifier: GPL-2.0-or-later
"""Networks for functional tests: namespaces, veth pairs, and links with delay, rate and faults (linkemu.c).

    if net.why_not():
        t.skip_all(net.why_not())
    a, b = net.namespace("a"), net.namespace("b")
    net.veth(a, b, ["10.9.1.1/24", "fd09:1::1/64"], ["10.9.1.2/24", "fd09:1::2/64"])
    link = net.link(a, b, ["10.9.2.1/24"], ["10.9.2.2/24"], "delay=25", "rate=1000")
    server = b.start("iperf3", "-s", "-1")
    b.wait_for_port(5201, server)
    run = a.command("iperf3", "-c", "10.9.2.2")
    link.set("loss=1", "a:delay=10")

Everything goes away when the test ends, by SIGTERM too; the next test removes the leftovers of one that was killed.
"""
import atexit
import collections
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import time
import xddsys as s  # pylint: disable=unused-import  # SIGTERM ends a test with its exit functions
import xddtest as t

PREFIX = "xddtest-"
LINKEMU = os.path.join(os.environ.get("TOP_BUILDDIR", "."), "tests/lib/linkemu")
_numbers = itertools.count()
_why = None


def why_not(*commands):
    """Why there can be no networks here, or these commands are missing; "" when all is there."""
    global _why
    for command in commands:
        if not t.have(command):
            return command + " is not installed"
    if _why is None:
        _why = _find_why_not()
    return _why


def _find_why_not():
    if os.geteuid() != 0:
        return "network namespaces are for root only"
    if not t.have("ip"):
        return "ip is not installed"
    if not os.path.exists("/dev/net/tun"):
        return "no /dev/net/tun"
    if not os.path.exists(LINKEMU):
        return "tests/lib/linkemu is not built"
    _remove_leftovers()
    try:
        namespace("try").remove()
    except RuntimeError as err:
        return str(err)
    return ""


def _ip(*args):
    run = t.command(["ip", *args])
    if run.status != 0:
        raise RuntimeError("ip %s: %s" % (" ".join(args), run.err.strip() or run.status))
    return run.out


def _remove(name):
    for pid in t.command(["ip", "netns", "pids", name]).out.split():
        try:
            os.kill(int(pid), signal.SIGKILL)
        except ProcessLookupError:
            pass
    t.command(["ip", "netns", "delete", name])
    shutil.rmtree("/etc/netns/" + name, ignore_errors=True)


def _remove_leftovers():
    """Namespaces whose test is gone."""
    for name in os.listdir("/run/netns") if os.path.isdir("/run/netns") else []:
        found = re.match(PREFIX + r"(\d+)-", name)
        if found and not os.path.exists("/proc/" + found.group(1)):
            _remove(name)


class Started:
    """A command that runs in the background: `pid`. Killed when the test ends."""

    def __init__(self, words, env=None, cwd=None):
        self.words = [str(word) for word in words]
        number = next(_numbers)
        self.files = [t.path("started.%d.%s" % (number, name)) for name in ("out", "err")]
        self.begun = time.monotonic()
        with open(self.files[0], "wb") as out, open(self.files[1], "wb") as err:
            self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=cwd,
                                            env=dict(os.environ, LC_ALL="C", **(env or {})), start_new_session=True)
        self.pid = self.process.pid
        atexit.register(self.kill)

    def running(self):
        return self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        if self.running():
            os.killpg(self.pid, signal.SIGKILL)
            self.process.wait()

    def text(self):
        """Standard output and standard error until now."""
        return "".join(open(name, errors="replace").read() for name in self.files)

    def end(self, timeout=t.TIMEOUT, warns=(), tolerate=()):
        """Wait for its end; the t.Run as t.command() returns it, which is killed with status "timeout" after that time."""
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            status = "timeout"
        out, err = (open(name, errors="replace").read() for name in self.files)
        run = t.Run(self.words, status, out, err)
        run.seconds = time.monotonic() - self.begun
        t.check_warnings(run, warns, (tolerate,) if isinstance(tolerate, str) else tolerate)
        return run


def why_no_clocks():
    """Why namespaces can have no clocks of their own here; "" when they can."""
    run = t.command(["unshare", "-T", "--monotonic", "1000", "--boottime", "1000", "cat", "/proc/self/timens_offsets"])
    found = re.search(r"^monotonic +1000 ", run.out, re.M)
    return "" if run.status == 0 and found else "no time namespaces: " + run.err.strip()


class Namespace:
    """
    A network namespace: `name`. Its commands see /etc/netns/NAME/hosts as /etc/hosts, and clocks since the boot that are
    `ahead` seconds ahead of those of the machine.
    """

    def __init__(self, label, ahead=0):
        self.ahead = ahead
        self.name = "%s%d-%d-%s" % (PREFIX, os.getpid(), next(_numbers), label)
        self._devices = itertools.count()
        _ip("netns", "add", self.name)
        atexit.register(self.remove)
        _ip("-n", self.name, "link", "set", "lo", "up")

    def remove(self):
        """Kill its processes and remove it."""
        if os.path.exists("/run/netns/" + self.name):
            _remove(self.name)

    def words(self, *args):
        clock = ["unshare", "-T", "--monotonic", self.ahead, "--boottime", self.ahead, "--"] if self.ahead else []
        return ["ip", "netns", "exec", self.name, *(str(arg) for arg in (*clock, *args))]

    def command(self, *args, **kwargs):
        """As t.command()."""
        return t.command(self.words(*args), **kwargs)

    def xdd(self, *args, **kwargs):
        return t.command(self.words(*t.xdd_words(*args)), **kwargs)

    def start(self, *args, **kwargs):
        """The Started; its process is that of the command."""
        return Started(self.words(*args), **kwargs)

    def start_xdd(self, *args, **kwargs):
        return self.start(*t.xdd_words(*args), **kwargs)

    def read(self, path):
        """A file that depends on the namespace, such as those below /proc/net and /proc/sys/net."""
        return self.command("cat", path).out

    def sysctl(self, name, value):
        """Set net.NAME, such as ipv4.tcp_wmem, of this namespace."""
        file = "/proc/sys/net/" + name.replace(".", "/")
        run = self.command("sh", "-c", 'echo "$1" >"$2"', "sh", value, file)
        if run.status != 0:
            raise RuntimeError("%s: %s" % (name, run.err))

    def hosts(self, names):
        """Give addresses to host names: a dictionary."""
        os.makedirs("/etc/netns/" + self.name, exist_ok=True)
        with open("/etc/netns/%s/hosts" % self.name, "w", encoding="ascii") as file:
            file.write("127.0.0.1 localhost\n::1 localhost\n")
            file.writelines("%s %s\n" % (address, name) for name, address in names.items())

    def listening(self):
        """Ports on which TCP listens here."""
        lines = (self.read("/proc/net/tcp") + self.read("/proc/net/tcp6")).splitlines()
        found = (re.match(r" *\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F:]+ 0A ", line) for line in lines)
        return {int(match.group(1), 16) for match in found if match}

    def wait_for_port(self, port, process=None, timeout=20.0):
        """True once a process listens there; false when `process` has ended or the time is over."""
        return t.until(lambda: port in self.listening(), process and process.process, timeout)

    def device(self):
        """The name of a new device."""
        return "net%d" % next(self._devices)

    def up(self, device, addresses, mtu):
        """Long queues: what overflows is to be dropped by the link that is tested with, and be counted there."""
        _ip("-n", self.name, "link", "set", device, "mtu", str(mtu), "txqueuelen", "10000", "up")
        for address in addresses:
            _ip("-n", self.name, "address", "add", address, "dev", device, *(["nodad"] if ":" in address else []))


def namespace(label, ahead=0):
    """A new Namespace; RuntimeError when there can be none. `ahead`: see why_no_clocks()."""
    return Namespace(label, ahead)


def veth(a, b, addresses_a, addresses_b, mtu=1500):
    """A pair of devices; their names."""
    names = a.device(), b.device()
    _ip("link", "add", "name", names[0], "netns", a.name, "type", "veth", "peer", "name", names[1], "netns", b.name)
    a.up(names[0], addresses_a, mtu)
    b.up(names[1], addresses_b, mtu)
    return names


Fate = collections.namedtuple("Fate", "arrived due length")


class Link:
    """A linkemu: see the head of linkemu.c for its settings. Frames that namespace `a` sends go in direction "a"."""

    def __init__(self, a, b, settings):
        self.names = a.device(), b.device()
        words = ["%s:%s" % (ns.name, name) for ns, name in zip((a, b), self.names)]
        self.process = subprocess.Popen([LINKEMU, *words, *settings], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        atexit.register(self.end)
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError(self.process.stderr.read().strip())

    def _ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def set(self, *settings):
        """Change settings now; true when they are good."""
        return self._ask(" ".join(settings)) == "ok\n"

    def cut(self, seconds="inf"):
        self.set("cut=%s" % seconds)

    def heal(self):
        self.set("cut=0")

    def counters(self):
        """Dictionaries by the names that linkemu.h has, in lower case, for the directions "a" and "b"."""
        return json.loads(self._ask("counters"))

    def fates(self):
        """By direction, the latest frames that were put in transit: (arrival and due time in ns, length)."""
        return {way: [Fate(*fate) for fate in fates] for way, fates in json.loads(self._ask("fates")).items()}

    def end(self):
        """Remove the devices; the last counters."""
        if self.process.poll() is not None:
            return None
        try:
            out, _ = self.process.communicate(timeout=20)
            return json.loads(out.splitlines()[-1])
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None


def link(a, b, addresses_a, addresses_b, *settings, mtu=1500):
    """A Link between two namespaces, ready for use."""
    made = Link(a, b, settings)
    a.up(made.names[0], addresses_a, mtu)
    b.up(made.names[1], addresses_b, mtu)
    return made
