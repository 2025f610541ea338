# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages of copies of files as doc/wire.md has them, for tests that play either side, as xdd does or never does.

    with c.Server(c.DESTINATION, "/there", sources=["a"]) as s:
        s.begin()                                  # data goes through the channel
        s.send(c.OFFER, c.file(1, "a", 5) + c.END)
        wants = c.wants(s.expect(c.WANT))
        s.data(c.BUNDLE, c.record(1, b"12345"))
        s.expect(c.RESULT)

Shares no code with xdd, except that the checksums come from the library xxHash (xddwire.py). A copy of this process may
also stand in for ssh, and play the server for a real xdd: serve().
"""
import hashlib
import hmac
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
import xddwire as w

(START, STARTED, MEET, MET, BEGIN, OFFER, WANT, RESULT, BLOCK, BUNDLE, SUMS, FILE_END, FAILURE, COUNTS, CANCEL, FINISH,
 FINISHED) = range(32, 49)
ALIVE, ERROR, BYE = w.ALIVE, w.ERROR, w.BYE
NAMES = {number: name for name, number in list(globals().items()) if name.isupper() and isinstance(number, int)}
SOURCE, DESTINATION = 1, 2
LISTEN, CONNECT, INSIDE = 1, 2, 3
SEND, DIGESTS = 1, 2
DONE, SAME, EQUAL, DIFFERS, LOST, WOULD = range(1, 7)
SPARSE, HAS_LINKS, DEVICE, IMPLIED = 1, 2, 4, 8
SETTINGS = ("recursive", "everything", "verify", "contents", "dry_run", "in_place", "resume", "list", "list_nul",
            "ordered_source", "ordered_destination", "direct_source", "direct_destination", "encrypt", "free_ports",
            "port_given", "force", "stamps", "stamps_binary", "into", "new_name", "trust")
PROTOCOL = 6
BANNER = b"XDD-COPY %d " % PROTOCOL
NO_SIZE = 2 ** 64 - 1
BLOCK_BYTES = 1 << 20
DATA = 0  # the connection of data in the channel
CHANNEL = w.CONTROL_CONNECTION
TYPES_OF_DATA = (BLOCK, BUNDLE, SUMS, FILE_END)


def name_bytes(name):
    return name if isinstance(name, bytes) else os.fsencode(name)


def string(text):
    """With its length, and its NUL."""
    raw = name_bytes(text) + b"\0"
    return struct.pack("<H", len(raw)) + raw


# Bodies


def start(key, role, destination, sources=("a",), session=bytes(16), here=True, connections=1, block_bytes=BLOCK_BYTES,
          size=NO_SIZE, timeout_s=20, begun_s=0, port=0, **settings):
    bits = 0
    for setting, on in settings.items():
        bits |= bool(on) << SETTINGS.index(setting)
    fixed = struct.pack("<32s16sBBHIIIQQQ", key, session, role, here, port, bits, connections, block_bytes, size,
                        int(timeout_s * 1e9), begun_s)
    return (fixed + string(destination) + string("here") + string("there") + struct.pack("<H", len(sources)) +
            b"".join(string(s) for s in sources))


def started(software="xdd 8.0.0", host="host", address="", directory=0):
    return string(software) + string(host) + string(address) + bytes((directory,))


def meet(how, ok=False, port=0, text="", addresses=()):
    return struct.pack("<BBHH", how, ok, port, len(addresses)) + string(text) + b"".join(string(a) for a in addresses)


def _named(kind, number, name, flags, mode, mtime_ns, middle, after=b"", attrs=(), ids=None):
    raw = name_bytes(name) + b"\0"
    body = struct.pack("<BBHHHQIIqq", kind, flags, len(raw), mode, len(attrs), number, *(ids or (os.getuid(), os.getgid())),
                       mtime_ns, mtime_ns) + middle + raw + after
    for key, value in attrs:
        key = name_bytes(key) + b"\0"
        body += struct.pack("<HI", len(key), len(value)) + key + value
    return body


def directory(number, name, flags=0, mode=0o755, mtime_ns=10 ** 18, **more):
    return _named(1, number, name, flags, mode, mtime_ns, b"", **more)


LEAVE, END = b"\x02", b"\x07"


def file(number, name, size, flags=0, mode=0o644, mtime_ns=10 ** 18, identity=0, version=0, **more):
    return _named(3, number, name, flags, mode, mtime_ns, struct.pack("<QQQ", size, identity, version), **more)


def symlink(number, name, target, flags=0, mode=0o777, mtime_ns=10 ** 18, **more):
    raw = name_bytes(target) + b"\0"
    return _named(4, number, name, flags, mode, mtime_ns, struct.pack("<H", len(raw)), raw, **more)


def link(number, name, first):
    raw = name_bytes(name) + b"\0"
    return struct.pack("<BBHQQ", 5, 0, len(raw), number, first) + raw


def owner(name, number, group=False):
    raw = name_bytes(name) + b"\0"
    return struct.pack("<BBHI", 6, group, len(raw), number) + raw


def want(number, how=SEND, ranges=()):
    return struct.pack("<QII", number, how, len(ranges)) + b"".join(struct.pack("<QQ", *r) for r in ranges)


def result(number, outcome):
    return struct.pack("<Q", number | outcome << 56)


def record(number, data, status=0):
    """Of a bundle; with a status, `data` is the reason with its NUL."""
    return struct.pack("<QII", number, len(data), status) + data + bytes(-len(data) % 8)


def file_end(number, messages, size, status=0, text=b""):
    return struct.pack("<QQQI", number, messages, size, status) + text


def sums(number, offset, blocks, block_bytes=BLOCK_BYTES):
    end = offset + sum(len(b) for b in blocks)
    return (struct.pack("<QQQII", number, offset, end, block_bytes, len(blocks)) +
            b"".join(struct.pack("<QQ", *w.digest(b)) for b in blocks))


def failure(number, status, path, text, differs=False):
    return struct.pack("<QIB", number, status, differs) + string(path) + string(text)


COUNT_NAMES = ("offered_files", "offered_bytes", "offered_dirs", "offered_links", "walk_done", "done_files", "done_bytes",
               "skipped_files", "skipped_bytes", "dirs", "links", "failed", "warnings", "moved_bytes", "storage_ns",
               "network_ns", "waiting_ns", "checking_ns", "flush_ns", "resumed_bytes", "owners_not_set", "status",
               "cpu_ns", "cpu_wait_ns", "quota_ns", "transit_ns")


def counts(**values):
    return struct.pack("<%dQ" % len(COUNT_NAMES), *(values.get(name, 0) for name in COUNT_NAMES))


def error(status, text):
    return struct.pack("<I", status) + name_bytes(text) + b"\0"


def take_counts(body):
    return dict(zip(COUNT_NAMES, struct.unpack("<%dQ" % len(COUNT_NAMES), body)))


def take_string(body, at):
    n = struct.unpack_from("<H", body, at)[0]
    return body[at + 2:at + 1 + n], at + 2 + n


def take_wants(body):
    """[(id, how, [(begin, end)])]"""
    at, found = 0, []
    while at < len(body):
        number, how, n = struct.unpack_from("<QII", body, at)
        at += 16
        found.append((number, how, [struct.unpack_from("<QQ", body, at + 16 * i) for i in range(n)]))
        at += 16 * n
    return found


def take_results(body):
    """{id: outcome}"""
    return {raw % 2 ** 56: raw >> 56 for raw in struct.unpack("<%dQ" % (len(body) // 8), body)}


def take_failure(body):
    """(id, status, differs, path, text)"""
    number, status, differs = struct.unpack_from("<QIB", body)
    path, at = take_string(body, 13)
    text, at = take_string(body, at)
    return number, status, bool(differs), path, text.decode()


def take_entries(body):
    """Of an offer: dicts with kind, id, name, flags, mode, size, first, target, mtime_ns, attrs, as far as they have them."""
    at, found = 0, []
    while at < len(body):
        kind = body[at]
        e = {"kind": kind}
        found.append(e)
        if kind in (2, 7):
            at += 1
            continue
        if kind == 6:
            n, e["number"] = struct.unpack_from("<HI", body, at + 2)
            e["name"], at = body[at + 8:at + 7 + n], at + 8 + n
            continue
        if kind == 5:
            n, e["id"], e["first"] = struct.unpack_from("<HQQ", body, at + 2)
            e["name"], at = body[at + 20:at + 19 + n], at + 20 + n
            continue
        e["flags"], n, e["mode"], n_attrs, e["id"], e["uid"], e["gid"], e["mtime_ns"] = struct.unpack_from(
            "<BHHHQIIq", body, at + 1)
        at += 40
        n_target = 0
        if kind == 3:
            e["size"], e["identity"], e["version"] = struct.unpack_from("<QQQ", body, at)
            at += 24
        elif kind == 4:
            n_target = struct.unpack_from("<H", body, at)[0]
            at += 2
        e["name"], at = body[at:at + n - 1], at + n
        if n_target:
            e["target"], at = body[at:at + n_target - 1], at + n_target
        e["attrs"] = []
        for _ in range(n_attrs):
            n, size = struct.unpack_from("<HI", body, at)
            e["attrs"].append((body[at + 6:at + 5 + n], body[at + 6 + n:at + 6 + n + size]))
            at += 6 + n + size
    return found


def take_records(body):
    """{id: (status, data)}"""
    at, found = 0, {}
    while at < len(body):
        number, size, status = struct.unpack_from("<QII", body, at)
        found[number] = (status, body[at + 16:at + 16 + size])
        at += 16 + (size + 7 & ~7)
    return found


# Streams


class Ended(Exception):
    """The other side has ended, or says nothing in time."""


class Stream:
    """Messages on two descriptors, with a limit of time for all of it."""

    def __init__(self, read_fd, write_fd, limit_s=60):
        self.read_fd, self.write_fd = read_fd, write_fd
        self.sent, self.seen, self.unread = 0, [], b""
        self.until = time.monotonic() + limit_s
        self.errors = []  # texts of ERROR and CANCEL
        self.failures = []
        os.set_blocking(write_fd, False)

    def _left(self, for_s=None):
        left = self.until - time.monotonic()
        return max(left if for_s is None else min(left, for_s), 0)

    def raw(self, data):
        """Write as much as the other side takes. Returns False once it takes no more."""
        while data:
            if not select.select([], [self.write_fd], [], self._left())[1]:
                raise Ended("the other side does not read")
            try:
                data = data[os.write(self.write_fd, data[:65536]):]
            except (BrokenPipeError, ConnectionResetError):
                return False
            except BlockingIOError:
                pass
        return True

    def send(self, kind, body=b"", **fields):
        """Any field of the header may be wrong."""
        fields.setdefault("connection", DATA if kind in TYPES_OF_DATA else CHANNEL)
        fields.setdefault("sequence", self.sent)
        self.sent += 1
        return self.raw(w.header(kind, body=body, **fields) + body)

    def block(self, number, offset, data, **fields):
        return self.send(BLOCK, data, target=number % 2 ** 32, pass_=number >> 32, offset=offset, **fields)

    def _peek(self, n, for_s=None):
        """The next `n` bytes, which stay; None if the end comes first. What has come before Ended stays as well."""
        while len(self.unread) < n:
            if not select.select([self.read_fd], [], [], self._left(for_s))[0]:
                raise Ended("nothing comes")
            piece = self._read(n - len(self.unread))
            if not piece:
                return None
            self.unread += piece
        return self.unread[:n]

    def _read(self, n):
        return os.read(self.read_fd, n)

    def _take(self, n):
        self.unread = self.unread[n:]

    def receive_header(self, for_s=None):
        """The next message, as (fields, body); (None, b"") at the end. Of all kinds."""
        raw = self._peek(w.HEADER_BYTES, for_s)
        if raw is None:
            return None, b""
        names = ("magic", "version", "kind", "target", "connection", "pass", "zero", "length", "sequence", "offset")
        h = dict(zip(names, struct.unpack_from("<4sHHIIIIQQQ", raw)))
        if raw != w.header(h["kind"], h["target"], h["connection"], h["pass"], h["length"], h["sequence"], h["offset"],
                           digest_=struct.unpack_from("<QQ", raw, 48), code=raw[64:80]):
            raise AssertionError("a header that doc/wire.md does not allow: %s" % raw.hex())
        whole = self._peek(w.HEADER_BYTES + h["length"])
        if whole is None:
            return None, b""
        self._take(len(whole))
        body = whole[w.HEADER_BYTES:]
        if w.digest(body) != struct.unpack_from("<QQ", raw, 48):
            raise AssertionError("%s has a wrong digest" % NAMES.get(h["kind"]))
        return h, body

    def receive(self, for_s=None):
        """The next message but ALIVE and COUNTS, as (type, body); (None, b"") at the end."""
        while True:
            h, body = self.receive_header(for_s)
            if h is None:
                return None, b""
            kind = h["kind"]
            if kind in (ERROR, CANCEL):
                self.errors.append(body[4:-1].decode())
            if kind == FAILURE:
                self.failures.append(take_failure(body))
            if kind not in (ALIVE, COUNTS):
                self.seen.append(kind)
                return kind, body

    def expect(self, *kinds):
        """The body of the next message of these types; FAILUREs before it are kept in `failures`."""
        while True:
            kind, body = self.receive()
            if kind in kinds:
                return body
            if kind != FAILURE:
                raise Ended("%s came, not %s; %s" % (NAMES.get(kind, "the end"), [NAMES[k] for k in kinds], self.errors))

    def drain(self, for_s=None):
        """Receive until the end. Returns what came, as [(type, body)]."""
        found = []
        while True:
            kind, body = self.receive(for_s)
            if kind is None:
                return found
            found.append((kind, body))


def derive(key, label):
    return hmac.new(key, label.encode(), hashlib.sha256).digest()


class DataConnection(Stream):
    """A data connection to a port, whose headers have codes."""

    def __init__(self, port, key, number=0, session=bytes(16), address="127.0.0.1", limit_s=60, flags=1):
        self.socket = socket.create_connection((address, port), 10)
        self.socket.setblocking(False)
        super().__init__(self.socket.fileno(), self.socket.fileno(), limit_s)
        self.key, self.number = derive(key, "xdd copy: codes"), number
        self.send(w.HELLO, w.hello(w.TRANSFER, session, flags))

    def send(self, kind, body=b"", **fields):
        fields.setdefault("connection", self.number)
        fields.setdefault("sequence", self.sent)
        self.sent += 1
        raw = w.header(kind, body=body, **fields)
        code = hmac.new(self.key, raw[:64], hashlib.sha256).digest()[:16]
        return self.raw(w.header(kind, body=body, code=code, **fields) + body)

    def _read(self, n):
        try:
            return super()._read(n)
        except ConnectionResetError:
            return b""

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Server(Stream):
    """`xdd copy -server` as this process has started it, in `role`; START is sent, STARTED received."""

    def __init__(self, role, destination, xdd=None, limit_s=60, start_body=None, key=None, cwd=None, **settings):
        self.key = key or os.urandom(32)
        self.process = subprocess.Popen([xdd or os.environ["XDD"], "copy", "-server"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, start_new_session=True)
        super().__init__(self.process.stdout.fileno(), self.process.stdin.fileno(), limit_s)
        self.banner = self._line()
        if start_body is None:
            start_body = start(self.key, role, destination, **settings)
        if start_body:
            self.send(START, start_body)

    def _line(self):
        line = b""
        while not line.endswith(b"\n"):
            piece = self._peek(1)
            if piece is None:
                raise Ended("no banner: %r" % line)
            self._take(1)
            line += piece
        return line

    def meet(self, how=INSIDE, **fields):
        """A step towards data connections; its answer as (ok, port, text)."""
        self.send(MEET, meet(how, **fields))
        body = self.expect(MET)
        return bool(body[1]), struct.unpack_from("<H", body, 2)[0], take_string(body, 6)[0].decode()

    def begin(self):
        self.expect(STARTED)
        if not self.meet()[0]:
            raise Ended("data cannot go through the channel")
        self.send(BEGIN)
        return self

    def finish(self, **values):
        """As a source: FINISH until both BYE. Returns the counts of FINISHED."""
        self.send(FINISH, counts(walk_done=1, **values))
        found = take_counts(self.expect(FINISHED))
        # Without ours: a round trip less.
        self.expect(BYE)
        self.send(BYE)
        return found

    def end(self, close=True, for_s=20):
        """Receive what still comes, and wait; with `close`, end the channel once it says nothing more. Returns (status, texts)."""
        until = time.monotonic() + for_s
        try:
            if close and self.quiet():
                self.process.stdin.close()
            self.drain(for_s)
        except Ended:
            pass
        try:
            status = self.process.wait(max(until - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            status = None
        return status, self.errors + [f[4] for f in self.failures]

    def quiet(self, for_s=0.5):
        """Receive until the end, the reason of it, or so long. Returns False at the end."""
        whole, self.until = self.until, min(self.until, time.monotonic() + for_s)
        try:
            while not self.errors:
                if self.receive()[0] is None:
                    return False
        except Ended:
            pass
        finally:
            self.until = whole
        return True

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except OSError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Served(Stream):
    """The other end: this process is the server of a real xdd, through the pipes of its ssh."""

    def __init__(self, noise=b"", limit_s=60, banner=BANNER + b"8.0.0\n"):
        super().__init__(0, 1, limit_s)
        self.raw(noise + banner)

    def begin(self):
        """Until BEGIN; data goes through the channel. Returns the body of START."""
        asked = self.expect(START)
        # The first step is here before an answer to START is: a round trip less.
        kind, body = self.receive()
        self.send(STARTED, started())
        while True:
            if kind == BEGIN:
                return asked
            if kind != MEET:
                raise Ended("%s came" % NAMES.get(kind, "the end"))
            inside = body[0] == INSIDE
            self.send(MET, meet(body[0], ok=inside, text="" if inside else "this is a test"))
            kind, body = self.receive()


def serve(scenarios):
    """
    The program of a test that stands in for ssh: runs the scenario that $XDD_SCENARIO names, a function that takes no
    arguments, then reads until the other side ends.
    """
    scenario = scenarios[os.environ["XDD_SCENARIO"]]
    try:
        scenario()
    except (Ended, BrokenPipeError) as e:
        print("scenario: %s" % e, file=sys.stderr)
        sys.exit(1)
    while os.read(0, 65536):
        pass
    sys.exit(0)
