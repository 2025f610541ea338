# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs of xdd multi for tests: processes found by the name of the run, which all of them have in their command lines."""
import json
import os
import subprocess
import time

import xddtest as t

LIMIT_S = 300
END_S = 30

_runs = 0


def new_id():
    global _runs
    _runs += 1
    return "test%d.%d.%d" % (os.getpid(), _runs, time.monotonic_ns())


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def processes(run_id):
    """Command lines, as lists of words, by process."""
    found = {}
    for pid in os.listdir("/proc"):
        if not pid.isdigit():
            continue
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                words = f.read()
            with open("/proc/%s/stat" % pid, "rb") as f:
                state = f.read().rsplit(b")", 1)[1].split()[0]
        except OSError:
            continue
        if run_id.encode() in words and state not in b"ZX":
            found[int(pid)] = [w.decode(errors="replace") for w in words.rstrip(b"\0").split(b"\0")]
    return found


def left(run_id):
    """The processes of a run that stay; those that are ending have time for it."""
    t.until(lambda: not processes(run_id), seconds=END_S)
    return processes(run_id)


def is_xdd(words):
    return "-attached" in words


def command(server, run_id, words):
    words = [str(w) for w in words]
    ssh = [] if "-S" in words[:words.index("--")] or not server else ["-S", server.ssh]
    return [t.XDD, "multi", "-runid", run_id, *ssh, *words]


def run(server, *words, **kwargs):
    """The outcome, with run_id, and all_err: standard error with its warnings."""
    run_id = new_id()
    r = t.command(command(server, run_id, words), timeout=LIMIT_S, **kwargs)
    r.run_id = run_id
    r.all_err = r.err + "\n".join(r.warnings)
    return r


def script(name, text):
    path = t.path(name)
    with open(path, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


def slow_ssh(server, address, seconds):
    """A command in place of ssh that is slow for a host."""
    return script("slow-ssh", """
slow=0
for word do
	shift
	[ "$word" = %s ] && slow=%d
	set -- "$@" "$word"
done
sleep "$slow"
exec %s "$@"
""" % (address, seconds, server.ssh))


class Started:
    """A run in the background, in a process group of its own."""

    def __init__(self, server, *words, env=None, more_id=""):
        self.run_id = new_id() + more_id
        self.p = subprocess.Popen(command(server, self.run_id, words), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, start_new_session=True, env=dict(env or os.environ, LC_ALL="C"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.p.poll() is None:
            self.p.kill()
            self.p.wait()

    def all_xdd(self):
        return {pid: words for pid, words in processes(self.run_id).items() if is_xdd(words)}

    def xdd_of(self, rank):
        for pid, words in self.all_xdd().items():
            if words[words.index("-rank") + 1] == str(rank):
                return pid
        return 0

    def ssh_of(self, host):
        for pid, words in processes(self.run_id).items():
            if host in words and not is_xdd(words) and pid != self.p.pid and "multi" not in words:
                return pid
        return 0

    def end(self):
        """Its status and messages."""
        try:
            _, err = self.p.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            self.p.kill()
            _, err = self.p.communicate()
            return "timeout", err.decode(errors="replace")
        return self.p.returncode, err.decode(errors="replace")
