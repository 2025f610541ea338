# SPDX-License-Identifier: GPL-2.0-or-later
"""A throw-away sshd on a free port, with keys of its own, for tests of xddcp.

    with xddssh.Sshd() as server:
        r = xddssh.xddcp("-S", server.ssh, source, server.place(destination))

Fake() takes the place of ssh where a test is not about it: a script that runs its last argument with sh, as sshd would.
why_not() says why there can be no sshd here. Nothing of the user's own configuration or keys is read.
"""
import getpass
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import time

import xddports
import xddtest as t

TOP = os.path.abspath(os.environ["TOP_SRCDIR"])
XDDCP = os.path.join(TOP, "contrib", "xddcp")
START_S = 20


def sshd_program():
    for directory in os.environ.get("PATH", "").split(":") + ["/usr/sbin", "/usr/local/sbin", "/sbin"]:
        path = os.path.join(directory, "sshd")
        if directory and os.access(path, os.X_OK):
            return path
    return None


def why_not(ipv6=False):
    """A reason for a skip, or ""."""
    if not sshd_program() or not t.have("ssh") or not t.have("ssh-keygen"):
        return "needs ssh and sshd"
    shell = pwd.getpwuid(os.geteuid()).pw_shell
    if os.path.basename(shell) in ("nologin", "false"):
        return "needs a user who may log in, and not one with " + shell
    if ipv6:
        try:
            with socket.socket(socket.AF_INET6) as s:
                s.bind(("::1", 0))
        except OSError:
            return "needs IPv6"
    return ""


def bracketed(address):
    return "[%s]" % address if ":" in address else address


def new_key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "xdd test", "-f", path], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def xddcp(*args, prefix=(), **kwargs):
    """Run contrib/xddcp with the xdd under test, after the words of `prefix`; -w writes its logs in the test's directory."""
    env = dict(kwargs.pop("env", None) or os.environ)
    env["PATH"] = os.path.dirname(os.path.abspath(t.XDD)) + ":" + env.get("PATH", "")
    return t.command([*prefix, XDDCP, *args], env=env, **{"cwd": t.tmp(), **kwargs})


# ---- files of tests of copies ----

def fresh(name, top=None):
    """An empty directory, in the directory of the test or below `top`."""
    path = os.path.join(top or t.path("."), name)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def noise(size, seed=1):
    return random.Random(seed).randbytes(size)


def unprivileged():
    """Words before a command that may not read files of mode 000, or None."""
    if os.geteuid():
        return ()
    words = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    return words if t.have("setpriv") and t.command(words + ["true"]).status == 0 else None


class Sshd:
    """`remote_xdd`: a directory that is first in the PATH of commands there; by default that of the xdd under test; "" for none.

    `server_lines`, `client_lines`: more lines of sshd_config and of the configuration of ssh. `prefix`: words before both
    commands, such as "ip netns exec NAME". The server ends with the test.
    """

    def __init__(self, address="127.0.0.1", remote_xdd=None, server_lines=(), client_lines=(), prefix=(), listen=None):
        self.address = address
        self.host = bracketed(address)
        self.user = getpass.getuser()
        self.dir = t.path("sshd.%d" % time.monotonic_ns())
        os.mkdir(self.dir, 0o700)
        self.remote_xdd = os.path.dirname(os.path.abspath(t.XDD)) if remote_xdd is None else remote_xdd
        self.server_lines = list(server_lines)
        self.client_lines = list(client_lines)
        self.prefix = list(prefix)
        self.listen = listen or address
        self.process = None
        self.port = 0
        for key in ("host", "client", "other"):
            new_key(self.path(key))
        shutil.copy(self.path("client.pub"), self.path("authorized"))

    def path(self, name):
        return os.path.join(self.dir, name)

    def place(self, path, user=False):
        """[USER@]HOST:PATH"""
        return "%s%s:%s" % (self.user + "@" if user else "", self.host, path)

    @property
    def ssh(self):
        """The value of -S."""
        return "ssh -F " + self.path("ssh_config")

    def write(self, name, lines):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def know(self, key="host"):
        """Have the client expect the host key `key`: "host" is the right one."""
        with open(self.path(key + ".pub"), encoding="utf-8") as file:
            self.write("known", ["xdd-test " + " ".join(file.read().split()[:2])])

    def configure(self):
        path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        if self.remote_xdd:
            path = self.remote_xdd + ":" + path
        self.write("sshd_config", [
            "ListenAddress %s" % (self.host if ":" in self.address else self.listen), "Port %d" % self.port,
            "HostKey " + self.path("host"), "PidFile none", "AuthorizedKeysFile " + self.path("authorized"),
            "StrictModes no", "UsePAM no", "PasswordAuthentication no", "KbdInteractiveAuthentication no",
            "PermitRootLogin yes", "PrintMotd no", "PrintLastLog no", "MaxStartups 100:30:200", "LogLevel ERROR",
            # The shell that sshd starts reads $HOME/.bashrc. The user's own may be slow, or print something.
            "SetEnv PATH=%s HOME=%s" % (path, self.dir), "AcceptEnv XDD_TEST_*", "PermitUserRC no", *self.server_lines])
        self.know()
        self.write("ssh_config", [
            *self.client_lines,
            "Host *", "  Port %d" % self.port, "  IdentityFile " + self.path("client"), "  IdentitiesOnly yes",
            "  IdentityAgent none", "  UserKnownHostsFile " + self.path("known"), "  GlobalKnownHostsFile /dev/null",
            "  HostKeyAlias xdd-test", "  StrictHostKeyChecking yes", "  BatchMode yes", "  LogLevel ERROR",
            "  ConnectTimeout %d" % t.TIMEOUT, "  SendEnv XDD_TEST_*",
            # The defaults take several times as much processor time.
            "  KexAlgorithms curve25519-sha256", "  Ciphers aes128-gcm@openssh.com"])

    def __enter__(self):
        if os.geteuid() == 0:
            # sshd insists on it.
            os.makedirs("/run/sshd", 0o755, exist_ok=True)
        end = time.monotonic() + START_S
        while True:
            self.port = xddports.free_ports(1, self.address if not self.prefix else "127.0.0.1")
            self.configure()
            with open(self.path("sshd.log"), "ab") as log:
                self.process = subprocess.Popen(
                    [*self.prefix, sshd_program(), "-D", "-e", "-f", self.path("sshd_config")],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
            while self.process.poll() is None:
                if self.connects():
                    return self
                if time.monotonic() > end:
                    break
                time.sleep(0.02)
            self.__exit__()
            if time.monotonic() > end:
                raise RuntimeError("sshd does not start: " + self.log())

    def connects(self):
        return subprocess.run([*self.prefix, *self.ssh.split(), self.address, "true"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0

    def log(self):
        with open(self.path("sshd.log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def __exit__(self, *_):
        if self.process:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
            self.process = None


def isolation():
    """Words that start a command without a network, so that data must go through ssh; "" where that is not possible."""
    words = "unshare -n" if os.geteuid() == 0 else "unshare -rn"
    return words if t.have("unshare") and t.command([*words.split(), "true"]).status == 0 else ""


class Fake:
    """
    A script for -S. `before`: lines of shell that it runs first; `prefix`: words before the command. Each start adds its words,
    a line each, to `calls`.
    """

    def __init__(self, before="", name="fake-ssh", remote_xdd=None, prefix=""):
        directory = os.path.dirname(os.path.abspath(t.XDD)) if remote_xdd is None else remote_xdd
        self.ssh = t.path(name)
        self.calls = t.path(name + ".calls")
        self.host = "fakehost"
        with open(self.ssh, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n"
                       "for word; do printf '%%s\\n' \"$word\"; done >>%s\n%s\n"
                       "for last; do :; done\n"
                       "PATH=%s:$PATH SSH_CONNECTION='127.0.0.1 50000 127.0.0.1 22'\n"
                       "export PATH SSH_CONNECTION\n"
                       "exec %s sh -c \"$last\"\n" % (self.calls, before, directory, prefix))
        os.chmod(self.ssh, 0o755)

    def place(self, path):
        return "%s:%s" % (self.host, path)

    def started(self):
        return os.path.exists(self.calls)

    def copy(self, *args, **kwargs):
        """xddcp() with this ssh."""
        return xddcp("-S", self.ssh, *args, **kwargs)
