# SPDX-License-Identifier: GPL-2.0-or-later
"""
Hold points (doc/design.md): stop a process of xdd where it is about to do something, and let it go on.

    with xddhold.at("signals ready") as h:
        p = subprocess.Popen(t.xdd_words(...), env=h.env)
        h.wait()                # it is there
        p.send_signal(...)
        h.go()                  # and goes on

Child processes of xdd have the same points. No wait is longer than t.TIMEOUT. A process that is held when the with statement
ends goes on, also where the test itself dies.
"""
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile

import xddtest as t

VARIABLE = "XDD_TEST_HOLD"


class Missed(Exception):
    """The process ended, or did not reach the point in time."""


class Held:
    """A thread that is at a point: its name, the number of the arrival or operation, and the process."""

    def __init__(self, connection, line):
        self.connection = connection
        self.point, n, pid = line.split("\t")
        self.n, self.pid = int(n), int(pid)

    def go(self):
        self.connection.close()


class at:  # pylint: disable=invalid-name
    """
    Hold at `points`: names, "name:n" for the nth arrival only (for "operation": operation n). `env` is the environment of
    processes that are to be held.
    """

    def __init__(self, *points, env=None):
        self.points, self.held = points, []
        # The path of a socket has 107 bytes at most.
        self.directory = tempfile.mkdtemp(prefix="xddhold.", dir="/tmp")
        os.chmod(self.directory, 0o755)
        path = os.path.join(self.directory, "socket")
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        os.chmod(path, 0o777)
        self.socket.listen(128)
        self.value = ",".join(points) + "@" + path
        self.env = dict(os.environ if env is None else env, **{VARIABLE: self.value})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.go()
        self.socket.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def arrived(self, seconds, process=None):
        """The next thread that reaches a point, or None: none does in this time, or before `process` has ended."""
        watch = [self.socket]
        if process and process.poll() is None:
            watch.append(os.pidfd_open(process.pid))
        elif process:
            seconds = 0
        try:
            ready, _, _ = select.select(watch, [], [], seconds)
        finally:
            for fd in watch[1:]:
                os.close(fd)
        if self.socket not in ready:
            return None
        connection = self.socket.accept()[0]
        connection.settimeout(t.TIMEOUT)
        with connection.makefile("r", encoding="ascii") as f:
            line = f.readline()
        # It was killed as it came.
        if not line:
            return self.arrived(seconds, process)
        self.held.append(Held(connection, line))
        return self.held[-1]

    def wait(self, process=None, who=""):
        """
        Wait until a thread has reached a point, and return it. Raises Missed, at once where `process` has ended. `who`: only
        those of this "process" or of an "other" one are held, the rest goes on.
        """
        while True:
            held = self.arrived(t.TIMEOUT, process)
            if not held:
                raise Missed("no process has reached " + " or ".join(self.points))
            if not who or (held.pid == process.pid) == (who == "process"):
                return held
            held.go()

    def go(self):
        """All that are held go on."""
        for held in self.held:
            held.go()
        self.held = []


def interrupted(args, operation, env=None):
    """
    Run a command that is sent SIGINT when operation `operation` of a pass is outstanding, and that goes on once its
    signal thread has the signal. A run that does not end has status "timeout".
    """
    with at("operation:%d" % operation, "signal taken:1", env=env) as h:
        p = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=h.env)
        try:
            h.wait(p)
            p.send_signal(signal.SIGINT)
            # Other targets reach the operation as well.
            while h.wait(p).point != "signal taken":
                pass
        except Missed:
            p.kill()
    try:
        out, err = p.communicate(timeout=t.TIMEOUT)
        status = p.returncode
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
        status = "timeout"
    run = t.Run(args, status, out.decode(errors="replace"), err.decode(errors="replace"))
    t.check_warnings(run, (), ())
    return run
