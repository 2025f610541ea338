# SPDX-License-Identifier: GPL-2.0-or-later
"""
Ranks of xdd under mpirun.
"""
import json
import os
import signal
import subprocess
import tempfile

import xddtest as t

BUILD = os.environ["TOP_BUILDDIR"]
SANITIZERS = os.environ.get("XDD_SANITIZERS", "no")
PLUGIN = os.path.join(BUILD, "xdd-mpi.so")
LIMIT = 300
START_LIMIT = 300
HOST = os.uname().nodename
SMALL = ["-reqsize", "16", "-mbytes", "1"]
# Lines of mpirun itself about a rank that ends with a status.
LAUNCHER = ("---", "Primary job", "a non-zero exit code", "mpirun detected", "the job to be terminated", "Process name",
            "Exit code", "mpirun noticed")


def missing():
    """Why ranks cannot be started here, or None."""
    if not t.have("mpirun"):
        return "there is no mpirun (Debian: openmpi-bin)"
    if not os.path.exists(PLUGIN):
        return "xdd was built without MPI (Debian: libopenmpi-dev)"
    if "thread" in SANITIZERS:
        return "the library of MPI is not instrumented for the thread sanitizer"
    return None


def needed():
    """Skip the test where ranks cannot be started."""
    reason = missing()
    if reason:
        t.skip_all(reason)


def _fresh_directory():
    """
    A directory for one mpirun. Of two that begin at the same time in one directory, the second may fail: both find that there
    is no ompi.HOST.USER, and make it.
    """
    return tempfile.mkdtemp(prefix="", dir=t.short_tmp())


def environment(**more):
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
               OMPI_MCA_btl_vader_single_copy_mechanism="none", OMPI_MCA_rmaps_base_oversubscribe="1",
               OMPI_MCA_hwloc_base_binding_policy="none", TMPDIR=_fresh_directory(),
               # All ranks are on this host, and none is placed near a device. Looking for networks and devices takes Open
               # MPI half of the processor time of a short run.
               OMPI_MCA_pml="ob1", OMPI_MCA_btl="self,vader", HWLOC_COMPONENTS="-pci,-linuxio")
    # Open MPI itself does not free all that it has.
    env["ASAN_OPTIONS"] = t.sanitizer_options("ASAN_OPTIONS", "detect_leaks=0")
    env.update(more)
    return env


class Ranks:
    """
    xdd under mpirun: status, out, err, and `lines`, which are err without what mpirun itself prints. A warning that the test
    does not tolerate is a failure, as in t.command().
    """

    def __init__(self, n, *words, before=(), **more):
        self.args = ["mpirun", "-np", str(n), *before, t.XDD, *map(str, words)]
        self.process = subprocess.Popen(self.args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, cwd=t.tmp(), env=environment(**more), start_new_session=True)
        self.status = None

    def children(self):
        """The process of each rank, in their order."""
        ranks = {}
        with open("/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)) as f:
            for pid in f.read().split():
                try:
                    with open("/proc/%s/environ" % pid) as e:
                        rank = [w for w in e.read().split("\0") if w.startswith("OMPI_COMM_WORLD_RANK=")]
                except OSError:
                    continue
                if rank:
                    ranks[int(rank[0].split("=")[1])] = int(pid)
        return [ranks[i] for i in sorted(ranks)]

    def wait(self):
        try:
            self.out, err = self.process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.out, err = self.process.communicate()
            err += "\nended by the test after %d s" % LIMIT
        self.err, self.status = err, self.process.returncode
        t.check_warnings(self, (), ())
        self.lines = [l for l in self.err.splitlines() if l.strip() and not l.lstrip().startswith(LAUNCHER)]
        return self

    def __str__(self):
        return "command: %s\nstatus:  %s\nstderr:\n%s\nstdout:\n%s" % (" ".join(self.args), self.status, self.err, self.out)


def mpi(n, *words, **more):
    return Ranks(n, "-mpi", *words, **more).wait()


def load(name):
    with open(t.path(name)) as f:
        return json.load(f)


def wait_until_up(run, condition):
    """Wait until ranks that have been started are up: a busy machine takes minutes, and ranks that end are never up."""
    return t.until(condition, run.process, START_LIMIT) and run.process.poll() is None
