# SPDX-License-Identifier: GPL-2.0-or-later
"""Time-stamp reports and dumps, read for tests."""
import csv
import io
import re
import struct

import xddtest as t
from xddcrc import crc32c

GUIDE_COLUMNS = ("Target, RWV Op, Pass, OP Number, Block Location, Distance, StartTS, EndTS, IO Time ms, Relative ms, "
                 "Delta us, Loop ms, Inst MB/sec")
OUR_COLUMNS = ", QThread, Thread ID, Slot, IO Size, Bytes, Error, CPU Start, CPU End"
COUNTS = ("Operations recorded", "failed", "overwritten", "not recorded", "before the trigger")


class Report:
    """A report: `lines`, `rows` (dictionaries by heading, numbers as numbers), `summary` (label to number)."""

    def __init__(self, text):
        self.text, self.rows, self.summary, self.lines = text, [], {}, text.splitlines()
        self.heading = self.columns = None
        inside = None
        for line in self.lines:
            if line.startswith("Start of "):
                inside = line.split()[2]
                if inside == "DETAILED":
                    self.heading, self.columns = line, None
            elif line.startswith("End of "):
                inside = None
            elif inside == "DETAILED" and line:
                cells = [cell.strip() for cell in line.split(",")]
                if self.columns is None:
                    self.columns = cells
                else:
                    self.rows.append(dict(zip(self.columns, map(number, cells)), cells=len(cells)))
            elif inside == "SUMMARY":
                cells = [cell.strip() for cell in line.split(",")]
                self.summary.update(zip(cells[::2], map(number, cells[1::2])))

    def counts(self):
        return tuple(self.summary.get(name) for name in COUNTS)


def bucket_middle(ns):
    """The middle of the interval that `ns` is counted in by a histogram, which is what a percentile is."""
    shift = max(ns.bit_length() - 8, 0)
    return (ns >> shift << shift) + (2 ** shift - 1) // 2


def number(text):
    """An int, a float or the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def read_report(file):
    with open(file, errors="replace") as f:
        return Report(f.read())


def tsread(*args, **kwargs):
    return t.command([t.XDD, "tsread"] + [str(a) for a in args], **kwargs)


def rows_of(dump):
    """All rows of a dump, by xdd tsread -csv."""
    run = tsread("-csv", dump)
    if run.status:
        t.ok(False, "reads " + dump, run)
    return [{k: number(v) for k, v in row.items()} for row in csv.DictReader(io.StringIO(run.out))]


def detailed_part(text):
    """The lines of the reports, without what describes the run."""
    return re.findall(r"(?:^Last time stamp .*\n)?^Start of (?:DETAILED|SUMMARY)(?:.*\n)*?^End of .*\n", text, re.M)


class Dump:
    """A dump as doc/tsdump.md describes it, read without xdd; raises ValueError where it is another."""

    def __init__(self, file):
        with open(file, "rb") as f:
            data = f.read()
        self.meta, self.entries, self.types = {}, [], []
        if data[:8] != b"\x89XDDTS\r\n":
            raise ValueError("magic")
        major, _, size = struct.unpack_from("<HHI", data, 8)
        if major != 1 or size != 32 or crc32c(data[:28]) != struct.unpack_from("<I", data, 28)[0]:
            raise ValueError("preamble")
        while size < len(data):
            size = self._block(data, size)
        if self.types[0] != 1 or self.types[-2:] != [1, 4]:
            raise ValueError("blocks %r" % self.types)

    def _block(self, data, at):
        mark, kind, which, count, size, crc, own = struct.unpack_from("<4sIIIQII", data, at)
        payload = data[at + 32:at + 32 + size]
        if mark != b"xBLK" or own != crc32c(data[at:at + 28]) or which != len(self.types) or size % 8 or \
                len(payload) != size or crc != crc32c(payload):
            raise ValueError("block %d at %d" % (len(self.types), at))
        self.types.append(kind)
        if kind == 1:
            self.meta = {}
            for line in payload.rstrip(b"\0").decode().splitlines():
                name, _, value = line.partition("=")
                self.meta.setdefault(name, []).append(value)
        elif kind == 3:
            fields = [(name, int(off), int(width)) for name, off, width in
                      (line.split() for line in self.meta["field"])]
            step = int(self.meta["entry_bytes"][0])
            for i in range(count):
                entry = payload[i * step:(i + 1) * step]
                self.entries.append({name: int.from_bytes(entry[off:off + width], "little")
                                     for name, off, width in fields})
        elif kind == 4:
            if struct.unpack("<QQ", payload) != (len(self.entries), which):
                raise ValueError("the last block counts otherwise")
        return at + 32 + size
