# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes that another program makes to files of a copy between its attempts, for tests of copies that are resumed.

`r` is a random.Random; each function returns the words for what it did.
"""
import os
import shutil


def write_at(path, offset, data):
    with open(path, "r+b") as f:
        f.seek(offset)
        f.write(data)


def contents(r, path, block, end=None):
    """Of a destination, mostly its bytes, below `end` (its size)."""
    size = os.path.getsize(path)
    end = end or size
    how = r.choice(("bytes",) * 5 + ("hole", "hole", "cut", "longer", "copied"))
    if how == "bytes":
        for _ in range(r.randint(1, 4)):
            write_at(path, r.randrange(end), r.randbytes(r.choice((1, 100, 8192, block))))
    elif how == "hole":
        write_at(path, r.randrange(end), bytes(r.choice((4096, 1 << 20))))
    elif how == "cut":
        os.truncate(path, r.randrange(size + 1))
    elif how == "longer":
        write_at(path, size, r.randbytes(5000))
    else:
        shutil.copy2(path, path + ".copy")
        os.rename(path + ".copy", path)
    return how


def source(r, path, block):
    """Mostly under the size and time that it had."""
    before = os.stat(path)
    how = r.choice(("replaced", "rewritten", "rewritten", "longer", "shorter"))
    at, data = r.randrange(before.st_size - block), r.randbytes(r.choice((1, 4096, block)))
    if how == "replaced":
        shutil.copy(path, path + ".new")
        write_at(path + ".new", at, data)
        os.rename(path + ".new", path)
    elif how == "rewritten":
        write_at(path, at, data)
    else:
        os.truncate(path, before.st_size + (4096 if how == "longer" else -4096))
    if r.randrange(4):
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    return "source " + how


def record(r, path, name):
    """Of the file in which a copy records what it has."""
    size = os.path.getsize(path)
    if size and r.randrange(2):
        os.truncate(path, r.randrange(size))
        return name + " cut"
    write_at(path, r.randrange(size + 1), r.randbytes(1))
    return name + " byte"
