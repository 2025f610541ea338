# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages of end-to-end copies as doc/wire.md has them, for tests that play a side which does what xdd never does.

    with w.Peer(port) as p:
        p.send(w.HELLO, body=w.hello(w.CONTROL))
        kind, body = p.receive()

Shares no code with xdd, except that the checksums come from the library xxHash. xxhash() says whether it is there.
"""
import ctypes
import ctypes.util
import os
import socket
import struct

(HELLO, WELCOME, PLAN, ACCEPT, READY, PASS_BEGIN, DATA, SKIP, PASS_LAST, PASS_STOP, PASS_END, PASS_RESULT, ALIVE, ERROR,
 BYE, PROVE, SUMS) = range(1, 18)
VERSION = 2
CONTROL, TRANSFER = 1, 2
CONTROL_CONNECTION = 0xffffffff
NO_SIZE = 2 ** 64 - 1
HEADER_BYTES = 96


class _Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def _load():
    try:
        library = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
        library.XXH3_64bits.restype = ctypes.c_uint64
        library.XXH3_128bits.restype = _Hash128
    except (OSError, AttributeError):
        return None
    for function in (library.XXH3_64bits, library.XXH3_128bits):
        function.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    return library


_library = _load()


def xxhash():
    return _library is not None


def digest(data):
    """(low, high)"""
    if not data:
        return 0, 0
    h = _library.XXH3_128bits(data, len(data))
    return h.low, h.high


def checksum(data):
    return _library.XXH3_64bits(data, len(data))


def header(kind, target=0, connection=CONTROL_CONNECTION, pass_=0, length=None, sequence=0, offset=0, body=b"",
           digest_=None, version=VERSION, magic=b"XDD2", code=bytes(16), zeros=0, checksum=None):
    """The bytes of a header; any field may be wrong, and the checksum is right unless it is given."""
    raw = struct.pack("<4sHHIIIIQQQQQ", magic, version, kind, target, connection, pass_, zeros,
                      len(body) if length is None else length, sequence, offset, *(digest_ or digest(body)))
    raw += code + bytes(8)
    return raw + struct.pack("<Q", _library.XXH3_64bits(raw, len(raw)) if checksum is None else checksum)


def hello(purpose, session=bytes(16), flags=0, software=b"test\0"):
    return struct.pack("<II", purpose, flags) + session + software


def plan(req_bytes, size, connections=1, passes=1, ops=None, flags=0, host=b"host\0", name=b"name\0"):
    fields = struct.pack("<16sQQQQIIQQQqqQQQQ", os.urandom(16), req_bytes, size, -(-size // req_bytes) if ops is None else ops,
                         passes, connections, flags, NO_SIZE, 0, size, 0, 0, 0, 0, 0, 0)
    return (fields + struct.pack("<I", len(host)) + host + struct.pack("<I", len(name)) + name + struct.pack("<I", 0))


def sums(op, blocks, size, offset=None, end=None, number=None):
    """Digests of operations of `size` bytes from `op` on, whose data is `blocks`."""
    offset = op * size if offset is None else offset
    end = offset + sum(map(len, blocks)) if end is None else end
    return struct.pack("<QQQII", op, offset, end, size, len(blocks) if number is None else number) + b"".join(
        struct.pack("<QQ", *digest(block)) for block in blocks)


def ranges(body):
    """The body of PROVE, or the end of ACCEPT, as [(first, count), ...]."""
    number, = struct.unpack_from("<I", body)
    return [struct.unpack_from("<QQ", body, 4 + 16 * i) for i in range(number)]


def add(total, offset, data):
    """Add a block to the digest of a pass, a number of 128 bits."""
    low, high = digest(struct.pack("<QQQQ", offset, len(data), *digest(data)))
    return (total + low + (high << 64)) % 2 ** 128


def result(ops, size, total):
    """The body of PASS_END: times are zero."""
    return struct.pack("<QQQQQ", ops, size, 0, total % 2 ** 64, total >> 64) + bytes(104)


def error_text(body):
    return body[4:].rstrip(b"\0").decode()


class Peer:
    """A connection that sends and receives messages."""

    def __init__(self, port, connection=CONTROL_CONNECTION, address="127.0.0.1", timeout=20):
        self.connection, self.sent = connection, 0
        self.socket = socket.create_connection((address, port), timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, kind, body=b"", **fields):
        """`payload` follows the header instead of the body, when it is given."""
        payload = fields.pop("payload", body)
        fields.setdefault("connection", self.connection)
        fields.setdefault("sequence", self.sent)
        self.sent += 1
        self.socket.sendall(header(kind, body=body, **fields) + payload)

    def send_raw(self, data):
        self.socket.sendall(data)

    def _receive(self, n):
        data = b""
        while len(data) < n:
            try:
                piece = self.socket.recv(n - len(data))
            except ConnectionResetError:
                return None
            if not piece:
                return None
            data += piece
        return data

    def receive(self):
        """The next message that is not ALIVE, as (type, body); (None, b"") at the end of the connection."""
        while True:
            raw = self._receive(HEADER_BYTES)
            if raw is None:
                return None, b""
            kind, length = struct.unpack_from("<H", raw, 6)[0], struct.unpack_from("<Q", raw, 24)[0]
            body = self._receive(length)
            if kind != ALIVE:
                return (None, b"") if body is None else (kind, body)
