# SPDX-License-Identifier: GPL-2.0-or-later
"""CRC-32C, as in dumps, journals and messages of the time server."""


def _table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82f63b78 if i & 1 else 0)
        table.append(i)
    return table


_TABLE = _table()


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xff]
    return crc ^ 0xffffffff
