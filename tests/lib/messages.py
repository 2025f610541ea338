# SPDX-License-Identifier: GPL-2.0-or-later
"""The wording of xdd's messages, once: patterns for tests, which name a message instead of quoting it.

A message is "xdd: <subject>: <problem>". line(subject, problem) is the pattern of one that begins so; the subject
is what the test made up (an option and its value, a target), and is a pattern itself. A problem is a constant here,
or a function of what varies. To reword a message, change the source and its line here, nothing else. The sections
are the parts of the program that print the messages.
"""


def line(subject, problem=""):
    return r"^xdd: (?:\S+:\d+: )?%s: %s" % (subject, problem)


def near(word):
    """The suggestion after a word that is almost one; empty where there is none."""
    return r"; did you mean %s\?" % word if word else ""


# Words of the command line: src/plan

NO_OPTION = "is not an option"
STRAY = "is a stray word"
MISSING = "missing argument"
WHOLE_RUN = "for the whole run and takes no target"
NO_TARGET = "-targets: is missing"
EMPTY = "cannot be empty"
TARGET_NAME_EMPTY = "the name of a target cannot be empty"
TARGET_NAME_LONG = "the name of a target is longer than 4095"
TARGET_COUNT = "expected names, or their number first, 1 to 8192"
NO_NUMBER = r"does not stand for a number; expected %d, or %01d to %09d, and %% for a percent sign"
ONE_ENGINE = "expected one engine, then its keywords"
LOWER_FIRST = "expected the lower number of the range first"
TARGET_SCOPE = 'expected a target number, a range such as 0-3, or "all" after "target"'
TARGET_NUMBER = "expected the number of a target"
ONLY_RANDOM = "expected the word random, or nothing"
WAITS_FOR_ITSELF = "cannot wait for itself"


def no_option(meant=None):
    return NO_OPTION + (near("-" + meant) if meant else "; xdd -help lists them")


def no_suboption(meant=None):
    return "is not a suboption" + near(meant)


def no_value(option):
    return "takes no value; say " + option


def missing(what=".+", follows=None):
    """An option without its argument, at the end or before another option."""
    return MISSING + " %s" % what + (": found option %s instead" % follows if follows else "")


def names_wanted(wanted, given):
    return "expected %d names, found %d" % (wanted, given)


def too_many_targets(number):
    return "is too many: %d targets, and 8192 is the most" % number


COMMAS_IN_NAME = "is one file, which has commas in its name"


def no_such_target(number=None):
    """A target that the run does not have; it has `number`."""
    if number is None:
        return "is not a target"
    return "is not a target: there " + ("is one, number 0" if number == 1 else "are %d, 0 to %d" % (number, number - 1))


def keyword_of_another(owners, engine):
    """A keyword after the name of an engine that does not have it."""
    return "is a keyword of %s, not of %s" % (owners, engine)


def without_name(word):
    """The rate `word`, which may be one of operations or of bytes."""
    return "expected a name before the number: -throttle ops %s (operations per second) or -throttle bw %s (" % (word, word)


# Values: src/plan/value.c

def whole_number(unit=None, least=None, most=None):
    """A count that is none, or is out of range."""
    return WHOLE_NUMBER + "%s%s" % (" of " + unit if unit else "", "" if least is None else
                                             ", %s to %s" % (least, "" if most is None else most))


SIZE = "expected a size in bytes"
NUMA_NODES = "expected NUMA nodes, as in "
PROCESSORS = "expected processors, as in "
PROCESSOR = "expected the number of a processor"
UNTIL_PERCENT = "expected a percentage above 0 and up to 100 after until"
FEWER_PASSES = "; for fewer passes give their number without until"
WHOLE_NUMBER = "expected a whole number"


def size(most):
    """A number of bytes: `most` in words."""
    return SIZE + ", such as 4096, 4k, 1.5G or 10MB, 1 byte to " + most


def positive_time(units=""):
    return "expected a time above 0 and up to 100 years" + units


def time(most="100 years"):
    return "expected a time of 0 to %s" % most


SECONDS = ": seconds with decimals"
TIME_UNITS = ": seconds .* ms, us, min or h"
PERCENT_READS = "expected the percentage of reads, 0 to 100"


def choice(words, meant=None):
    """One of a few words: in the words of the message, such as "read, write or noop"."""
    return "expected " + words + near(meant)


def one_of(words, meant=None):
    return choice("one of " + words, meant)


def amount_of(unit, most):
    """A number of KiB and the like, or bytes with a suffix."""
    return "expected a number of %s, up to %d, bytes with a suffix such as .*" % (unit, most) + SHARE


SHARE = "or a share of the target such as 50%"
NO_SHARE = "cannot compute a share: the size of .* is not known before the run, or is 0"


def block_multiple(block, target=None):
    return "must be a multiple of the block size%s, %s;" % ("" if target is None else " of target %d" % target, block)


def nearest_are(*sizes):
    return "the nearest %s %s" % ("is" if len(sizes) == 1 else "are", " and ".join(sizes))


# Amounts and places: src/plan/feature_work.c, feature_seek.c, files.c, feature_files.c

EIB = "8 EiB"
PAST_LARGEST = "the operations reach past the largest offset, " + EIB
NO_AMOUNT = "is given no amount of work"
NO_AMOUNT_SAY = NO_AMOUNT + "; say -numreqs, -bytes"
NO_AMOUNT_ALL = NO_AMOUNT + "; say -bytes 100% for all of it once, or -numreqs, -bytes"
NO_AMOUNT_RANDOM = NO_AMOUNT + "; say -bytes 100% for as much as it holds, or -numreqs"
NO_OPERATION = "no operation is given"
NO_OPERATION_SAY = "is not empty, and %s; say -op read, or -op write" % NO_OPERATION
NOTHING_TO_READ = "there is nothing to read"
DELAYS_TOO_LONG = "-startdelay, -targetstartdelay: are too long together"
LARGER_THAN_2_GIB = "larger than 2 GiB"
BUFFERS_TOO_LARGE = "the I/O buffers would take"
LESS_THAN_CYCLE = "less than a cycle of the mix, "
SIZE_AND_WEIGHT = "expected <size>:<weight>, as in 4k:60,64k:40"
MIX_WEIGHT = "expected a whole number from 1 to 1000000 as its weight"
MIX_SIZE = "expected a whole number of blocks, or bytes with a suffix such as 4k or 1M"
MIX_SUM = "the weights must have a sum of 10000 at most, divided by what they have in common"
MIX_TWICE = "is there twice; say each size once"
MIX_SEEK = "-reqsize mix: must be with sequential or random requests; -seek is "
MIX_APART = "-reqsize mix: cannot be combined with "
SMALLER_THAN_REQUEST = "smaller than one request"
SAY_HOW_MANY = "say how many operations"
SAY_RANGE = "say the range with -seek range"


def reach_to(reached, size_, whose="it"):
    """Operations beyond the end of a target, refused or as a warning."""
    return "the operations reach to %s, and %s has %s" % (reached, whose, size_)


def need_space(least=None, free=None, more=""):
    """Writes that do not fit; without numbers the beginning of the message."""
    return "the operations%s need at least " % more + ("" if least is None else least + " of free space") + (
        "" if free is None else ", and the file system has " + free)


def range_too_small(blocks):
    return "is smaller than one request of %d blocks" % blocks


def range_does_not_hold(requests, blocks):
    return "does not hold %d requests of %d blocks" % (requests, blocks)


def less_than_request(has, request):
    return "it holds %d bytes .*less than one request of %d" % (has, request)


DIO_BLOCK_SIZE = "the block size"
DIO_REQUEST_SIZE = "the request size"


def dio_multiple(what, value):
    """Direct I/O with a size or an offset that the device has not."""
    return r"%s.*multiple of \d+ bytes; it is %d$" % (what, value)


# Discards: src/plan/feature_engine.c, feature_work.c

DISCARD_MULTIPLE = r"-op discard: the request size \(-reqsize, -blocksize\) must be a multiple of 512 bytes"
DISCARD_NO_DEVICE = r"-op discard: the device cannot discard \(queue/discard_max_bytes is 0\)"
DISCARD_UNITS = "-op discard: requests are no whole units of"
DISCARD_ENGINE = "-op discard: the engine %s cannot discard; use -ioengine psync or io_uring"
DISCARD_MIX = "discards cannot be mixed with reads and writes"
DISCARD_EMPTY = "-op discard: is empty: there is nothing to discard"
DISCARD_PAST = "-op discard: the operations reach to .*, and the file has"
DISCARD_CHAR = "-op discard: is a character device; name a block device or a regular file"
DISCARD_PATTERN = "-op discard transfers no data"
DISCARD_LIST = r"the list mixes discards \(d\) with other operations"

# Lists of operations: src/plan/feature_seek.c, src/io/access.c

NO_OPERATIONS = "holds no operations"
LIST_PAST_LARGEST = "operation 0 lies past the largest offset"
SIX_FIELDS = "expected six fields"
LOCATION_LARGE = "the location is too large"
LIST_SIZE = "the request size is not"
LIST_OPERATION = "the operation is not r, w, n or d"
LIST_TIME = "a time is not a number"


def list_request(has, request):
    return r"operation 0 has %d blocks, a request %d \(-reqsize\)" % (has, request)


def list_line(number, why=""):
    return "line %d: .*%s" % (number, why)


def not_a_number(what):
    return "the %s is not a number" % what


def more_than_list(has):
    return "is more than the list of -seek load has, %s" % has


def list_has(file, does):
    """-op against the list: it writes, reads or mixes."""
    return "the list of -seek load %s %s" % (file, does)


def list_replaces_target(prefix, file):
    return "-seek save %s would replace this target: the list goes to %s$" % (prefix, file)


# Setup files: src/plan/value.c

UNREADABLE = "cannot be read"
NUL_BYTE = "NUL byte"
SETUP_LOOP = "is a loop of setup files"
SETUP_NESTED = "setup files are nested more than 32 deep"
OPEN_QUOTE = "a quote opens here and is never closed"
SETUP_TOO_LARGE = "too large for a setup file"


def unreadable(reason):
    return r"%s \(%s\)" % (UNREADABLE, reason)


# Options against each other: src/plan/repeated.c, feature_coordination.c

SECOND_OPERATION = "is a second operation for all targets"


def second_operation(first, meant):
    return "%s, after %s; %s" % (SECOND_OPERATION, first, meant)


def never_comes_to(operations, has):
    return "never fires: needs %d operations, a pass has %d" % (operations, has)


# Commands: src/commands

NO_COMMAND = "is no command and no such file"
CHECK_DIRECTORY = "is a directory; expected a file or a device"
CHECK_CHARACTER = "is a character device; expected a file or a block device"
CHECK_PIPE = "is a pipe; expected a file or a block device"
CHECK_SOCKET = "is a socket; expected a file or a block device"
CHECK_MISSING = "no such file or device"
CHECK_COMMAND = r"no such file or device; did you mean the command curve\?$"
CHECK_EMPTY = "has a size of 0; a check needs 4096 bytes at least"
CHECK_FIO = "is a job file of fio"
CHECK_NO_TIME = "-seconds: missing argument"
CHECK_TIME = "check -seconds .*: expected a time of 100ms to 86400s: seconds with decimals, or with ms, us, min or h"
CHECK_NOTHING = "expected a file or device"
CHECK_RUN_OPTION = "is an option of a run; say xdd -target <name> -op"

# The sentences of a check about what looks wrong.
CHECK_IN_MEMORY = "^This file is in memory"
CHECK_BUSY = "^Limited by a busy machine: xdd could have gone on"
CHECK_HOLES = "^100 % of what was read was never written"
CHECK_ZEROS = r"^\d+ of \d+ sampled blocks hold only zeros"
CHECK_NO_SYS = "^  /sys is not mounted: the device could not be looked at$"
CHECK_LOOP = r"^Loop device loop\d+ reads and writes its file, .*, through the page cache"


def no_command(meant):
    return NO_COMMAND + near(meant)


def check_needs(bytes_):
    return r"has \d+ bytes; a check needs %d at least" % bytes_


def check_controller(disk):
    return r"is a controller; expected one of its disks, such as %s$" % disk


def check_failed(offset):
    return r"^\d+ of \d+ reads failed, the first one at offset %d: Input/output error" % offset


# Targets: src/plan/extent.c, src/io/target_file.c

NO_FILE = "No such file or directory"
IS_DIRECTORY = "Is a directory"
NOT_A_DIRECTORY = "Not a directory"
NAME_TOO_LONG = "File name too long"
TOO_MANY_LINKS = "Too many levels"
NO_PERMISSION = "Permission denied"
NO_SPACE = "No space left"
DIRECTORY_MISSING = "directory does not exist"
NOT_A_FILE = "expected a file or a device"
NO_WRITING = "no permission to write"
NO_READING = "no permission to read"
NO_CREATING = "no permission to create files"
NO_DEVICE = "no such device"
MAPPED_CANNOT_GROW = "a mapped file cannot grow"
SCSI_WANTED = "(?:needs|expected) a SCSI device"
ENGINE_HAS = "the engine psync has"


# Outputs: src/plan/files.c, src/report/outputs.c

OTHER_COLUMNS = "its first line does not name the columns"
NO_COLUMN = "no such column identifier"
COLUMN_LIST = "expected a list of identifiers"
COLUMN_PLUS = COLUMN_LIST + ", each with a plus sign"


def is_target(number):
    return "this is target %d" % number


def file_of(options):
    return "this is the file of %s too" % options


def reads_file(option):
    """An output is a file that the same command reads."""
    return "%s reads this file; give the output a file of its own" % option


def no_directory(name):
    return "there is no directory " + name


def cannot_create_in(name):
    return "cannot create a file in the directory " + name


# While it runs: src/run

END_OF_FILE = "END-OF-FILE"


def end_of_file(after):
    return "END-OF-FILE after %d bytes" % after


def io_error(op, size_, offset, name):
    return "%s of %d bytes at offset %s of %s, " % (op, size_, offset, name)


def more_failed(number, reason):
    return "%s more operations failed: %s" % (number, reason)


def errors_end_pass(number, pass_=1):
    return r"pass %d ends: %d operations have failed \(-maxerrors\)" % (pass_, number)


def no_limit(option):
    return "-%s: 0 means no limit" % option


def hung(option):
    return "-%s is over, and no operation has completed for 3 s: the run ends without those" % option


PAST_END = "pass 1 ends: all further operations are past the end of the target"

# An operation that failed: target, QThread, direction, bytes, offset, name, operation, pass, reason, bytes done.
FAILURE = (r"xdd: I/O ERROR on Target (\d+) Worker Thread (\d+): (\w+) of (\d+) bytes at offset (\d+) of (.*), "
           r"operation (\d+) of pass (\d+): (.*) after (\d+) bytes$")
# Data in a buffer of stdio that could not be written: by itself, and with an operation that failed.
LATE_WRITE = r"^xdd: target \d+, .*: cannot write the data of operations that were complete: "
LOST_BEFORE = r": File too large, with \d+ bytes of operations before it, which were in the buffer after 0 bytes$"
# Wrong data: target, QThread, name, operation, pass, bytes, offset, first wrong offset, expected, found, kind, more.
MISCOMPARE = (r"xdd: DATA MISCOMPARE on Target (\d+) Worker Thread (\d+): (.*), read operation (\d+) of pass (\d+): "
              r"(\d+) bytes at offset (\d+) are wrong: at (\d+) expected 0x(\w+), found 0x(\w+): "
              r"(other data|zeros|never transferred|misplaced|stale|torn|flipped bits)(?:: (.*))?$")
# -reportthreshold: target, QThread, direction, block, offset, time in seconds, excess in milliseconds, threshold.
THRESHOLD = (r"xdd: target (\d+), QThread (\d+): slow (\w+) of block (\d+), at byte (\d+): took ([\d.]+) s, ([\d.]+) ms more "
             r"than -reportthreshold (.*)$")


# End-to-end copies: a destination that listens.
E2E_WAITS = r"^xdd: note: target \d+, .*: waits for its source at "


# Copies: a data connection has no answer within the 2 s that an attempt has.
SLOW_MEETING = r"^xdd: note: copy: .*does not answer as the other side of this copy \(Connection timed out\)"
# A line of its progress, where there is no terminal.
COPY_PROGRESS = r"^(?: *\d+ %, )?(?:\d+ of \d+\+? files, )?[\d.]+ \w?B of [\d.]+ \w?B\+?(?:, .*)?$"


# Warnings


def warning(subject, problem):
    return "xdd: warning: %s: %s" % (subject, problem)


# Several targets that have the same warning share a line.
ANY_TARGET = r"(?:target \d+, .*|targets \d[\d, to]*)"
# Targets that are too small for a warning of their own have one together.
MANY_OR_ONE = "(?:%s|\\d+ targets, of which .* is one)" % ANY_TARGET
ALL_HOLES = "100 % of what was read was never written: such reads need no device; write all of it first, with -op write"
# Warnings about a small file in memory, a file that is all holes, and a device that other processes use.
CACHED = warning(MANY_OR_ONE, r"(about )?\d+ % of what was read (came from memory|was never written)")
STAYED = r"^xdd: warning: target \d+, .*: -dropcache left %d %% of the pages in memory: another program uses them or has locked them$"
# Writes that are in memory at the end; and zeros, written where they may cost nothing.
DIRTY = warning(MANY_OR_ONE, r"(about )?(\d+) % of what was written, ([\d.]+ [kMG]?B), was still in memory when the run ended, not on the "
                "device: ")
DIRTY_ALL = "the rate is of memory; add -dio or -syncwrite to measure the device"
RANDOM_DATA = "add -datapattern random to write data that does not compress"
ZEROS = warning(ANY_TARGET, "only zeros were written, which is the default: ")
ZEROS_COMPRESSED = "its file system compresses them; " + RANDOM_DATA
ZEROS_ZRAM = "zram stores none of them; " + RANDOM_DATA
FEWER_PASSES_RUN = r"^xdd: warning: (?:target \d+, .+: )?-passes (\d+): only (\d+) were run before -runtime ended the run$"
NO_DIRECT_IO = "-dio: the file system has no direct I/O for this file, and uses the page cache; " \
    "put it on another file system"
DIO_CACHED = warning(ANY_TARGET, NO_DIRECT_IO)
OTHERS_USE_DEVICE = "xdd: warning: device .*"
LOOP_BUFFERED = "xdd: warning: loop device .* reads and writes its file, .*, through the page cache: "
IO_LIMIT = warning("device .*", "a control group allows (.*) of (reads|writes), and this run reached that; ")
# Of the engines that queue, on any file without -dio.
BUFFERED = warning(ANY_TARGET, "(libaio|io_uring) without -dio: ")
BOUND = "(xdd was the limit, not the device|a busy machine|the CPU quota of its control group).* of the time.*; the device might do more"
E2E_REFUSED = warning("-e2e: connections were refused", "")
E2E_NO_KEY = warning("-e2e without a key", "")
WILL_START = "the targets start in "
TRIGGER_PAST = "-ts triggertime: that time is past"
STARTED_LATE = warning("the targets were not ready at the time of -starttime", "")
MULTI_LATE = warning("multi", r"\S+: started [\d.]+ s late; use a longer -startin")
MULTI_MISSING = warning("multi", "there are results of %d of %d ranks")
BUSY = warning(ANY_TARGET, BOUND)
STOPPED = "xdd: warning: xdd itself was stopped for at least "
BECAME_SLOW = warning(ANY_TARGET, r"pass \d+: (\d+) operations before its last one were not issued, ")
RATE = "only ([\\d.]+) operations per second were reached; "
RATE_NOT_REACHED = warning(ANY_TARGET, "-throttle .*: " + RATE)
BANDWIDTH_NOT_REACHED = warning(ANY_TARGET, r"-throttle bw .*: only [\d.]+ MB/s were reached; ")


def blocksize_alone(size_, request):
    return "-blocksize %d without -reqsize: a request has %s, 128 blocks; -reqsize 1 is for requests of one block" % (
        size_, request)


def random_stays(bytes_, percent, blocks):
    return "-seek random: the requests stay in %s, %s %% of the target, as much as a pass moves; " \
        "-seek range %d is all of it" % (bytes_, percent, blocks)


# An option that is given twice for all targets: any of these, or the one with these words.
REPEATED = "^xdd: warning: (.*:\\d+: )?-.* \\((argument|line) \\d+\\) and .* applies( to all targets; .*)?$"


def repeated(option, values, applies, hint=""):
    """`values` are (value, number of the argument or line); where `option` is "", several options set one value."""
    listed = ["%s (%s)" % (v, n if isinstance(n, str) else "argument %d" % n) for v, n in values]
    times = "given twice" if len(values) == 2 else "given %d times" % len(values)
    return "%s%s and %s: %s applies%s" % (
        "-%s: %s, " % (option, times) if option else "", ", ".join(listed[:-1]), listed[-1], applies,
        hint and " to all targets; for one target say " + hint)


REACHES = warning(ANY_TARGET, "the operations reach to ")
STRICT_URING = warning(ANY_TARGET, "-ordering strict with io_uring: kernel threads execute requests that have to wait, in any order; "
                       "libaio keeps the order")
DID_NOTHING = warning(ANY_TARGET, "it did nothing in pass ")
ZIPF_EXPONENT = "expected the exponent, a number above 0 and up to 10"
RANGE_STARTS_OVER = warning(ANY_TARGET, "-seek range .*: is smaller than the amount of a pass")
NO_FIELD = warning(ANY_TARGET, "-heartbeat: no field is named")
BLOCKSIZE_ALONE = warning(ANY_TARGET, "-blocksize .* without -reqsize: ")
RANDOM_STAYS = warning(ANY_TARGET, "-seek random: the requests stay in ")
NOTHING_STAMPED = warning(ANY_TARGET, "-ts: nothing is stamped")
WEAK_KEY = warning("-cookie", "is a weak key: the list of processes shows it to all users of this machine")
NOT_SAVED = r"-stonewall save: leaves it out, whose operations have not all succeeded"
HOG_NOT_LOCKED = r"-hogmemory: the memory is not locked and may be swapped out"
RUNTIME_FIRST_PASS = warning("-passes", "-runtime ends the run in its first pass")


# End-to-end copies: src/plan/endtoend_*.c, feature_endtoend.c

ADDRESS_FORM = "expected <host>, <host>:<port> or <host>:<port>,<#ports>"
ADDRESS_BRACKETS = r"an IPv6 number needs brackets, as in \[fe80::1\]:40010"
ADDRESS_BRACKET_MISSING = "the bracket after the IPv6 number is missing"
ADDRESS_AFTER_BRACKET = "expected a colon and a port after the bracket, or nothing"
ADDRESS_IPV6 = "expected an IPv6 number in brackets"
ADDRESS_PORT = "expected a port from 1 to 65535 after the colon"
ADDRESS_COUNT = "expected a number of ports from 1 to 65535 after the comma"
ADDRESS_COUNT_ALONE = "a number of ports needs a port before it, as in host:40010,4"
ADDRESS_NUMA = "a third number, a NUMA node, is not supported; -processor and -numa bind threads and buffers"
ADDRESS_LONG = "the name of a host has up to 255 characters"
PORTS_END = "the ports would end past 65535; use a lower port or fewer ports"
ADDRESSES_TOO_MANY = "is one address too many: a target has at most 16"
PORT = "expected a whole number, 1 to 65535"
E2E_TIMEOUT = "expected a time of 2s to 86400s"
ALGORITHM = "expected the name of an algorithm, such as cubic or bbr"
COOKIE = "expected 32 hexadecimal digits"
E2E_SIDE = "needs a side of the copy: say -e2e issource or -e2e isdestination as well"
NOT_A_COPY = "is for a copy between hosts, and -endtoend is not given"
ONLY_READS = "-e2e issource: a source only reads; say -op read, or leave -op and -rwratio out"
ONLY_WRITES = "-e2e isdestination: a destination only writes; say -op write, or leave -op and -rwratio out"
SOURCE_HAS_DATA = "-datapattern: the data of a destination comes from its source"
E2E_KEY = "-e2e encrypt: needs a key; say -e2e key <file>, or set XDD_E2E_KEY"
TWO_KEYS = "-cookie: is a key, and -e2e key names another; leave one out"
LIST_OF_COPY = "-seek load: the operations of a copy have one size"
NO_DATA_TO_COPY = "with these keywords, transfers no data; a copy without a file is the target null's"
DATA_WITHOUT_SIZE = "its size is 0, and yet it has data; say how much to copy, with -bytes"
RESTART_PASSES = "-restart: a copy of several passes cannot be resumed; leave -passes out"
RESTART_NULL = "-restart: the null device keeps nothing that could be resumed"
SOURCE_ORDERS = warning(ANY_TARGET, "-ordering network serial: the source orders what it sends; say it there")
PARTS_ONLY = warning(ANY_TARGET, "-seek: the operations repeat offsets and leave others out")
NO_RESTART_FILE = warning(ANY_TARGET, "-restart: no restart file is made on the source; the destination keeps it")
SOURCE_WORDS = warning("-e2e source(path|monitor)", "has no effect: ")


def is_side_already(target, role):
    return "target %d is the %s of a copy already; it cannot be both sides" % (target, role)


def e2e_address(role):
    return "-e2e %s: needs the address of the destination; say -e2e destination <host>" % role


def ports_end(host, ports, first):
    return "-e2e destination %s: %d ports from port %d on would end past 65535" % (host, ports, first)


def ports_too_many(number):
    return "-e2e destination: %d ports are too many: a target has at most 65536" % number


def source_decides(option):
    return "%s: the source decides the order of a copy; say it on the source" % option


def destination_waits(option):
    return "%s: a destination cannot wait for another target: its source would wait too" % option


def amount_of_destination(engine):
    return "-ioengine %s: needs to know how much a destination gets" % engine


def outside_of_copy(reach, amount):
    return "-seek: the operations reach over %s, and a copy has %s" % (reach, amount)


def other_side(role, target, other):
    return "-e2e: is the %s of a copy, and target %d the %s of another" % (role, target, other)


def same_for_all(option, target):
    return "%s: must be the same for all targets of a run; target %d has another" % (option, target)


def past_end_of_copy(offset, has):
    return "-restart offset %d: is past the end of the copy, which has %d bytes" % (offset, has)


def restart_removes(option):
    return "-restart: -%s would remove what was copied; leave it out" % option


def restart_file_is(name, target):
    return "-restart file %s: is target %d" % (name, target)


def restart_file_of(name, target):
    return "-restart file %s: is the file of target %d too" % (name, target)
