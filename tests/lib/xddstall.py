# SPDX-License-Identifier: GPL-2.0-or-later
"""Outputs whose reader stalls, for tests."""
import fcntl
import os


class Stalled:
    """A pipe, or a FIFO of this name, that is full and that no process reads from."""

    def __init__(self, fifo=None, full=True):
        if fifo:
            os.mkfifo(fifo)
            self.r = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
            self.w = os.open(fifo, os.O_WRONLY)
        else:
            self.r, self.w = os.pipe()
        fcntl.fcntl(self.r, fcntl.F_SETPIPE_SZ, 4096)
        if full:
            os.set_blocking(self.w, False)
            try:
                while True:
                    os.write(self.w, b"\n" * 4096)
            except BlockingIOError:
                pass
            os.set_blocking(self.w, True)

    def close(self):
        os.close(self.r)
        os.close(self.w)
