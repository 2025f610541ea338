# SPDX-License-Identifier: GPL-2.0-or-later
"""Mask what a run of xdd measures, so that the outputs of two binaries can be compared.

Counts, bytes, names, headings, units and messages stay as they are. A measured number becomes <N>, with
its decimals where the output has a fixed number of them, and <0> where it is zero and the zero itself
is certain ("no flush"). mask(text) knows the text output, CSV files, JSON documents and heartbeat lines.
"""
import re

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?$")

# Headings of the text output and identifiers of CSV files whose columns are measured.
MEASURED = re.compile(
    r"(?i)(\w*bandwidth|\w*_BW|\w*iops|latency|1st_op|elapsed(time\w*)?|overhead(time)?|pat_fill|patternfilltime|"
    r"(buffer)?flush(time)?|open(time)?|close(time)?|dsk_\w+|deskew\w+|tail\w+|fairness|pct_\w+|percent(cpu\w*|user|system)|"
    r"cpu(_?time)?|user(_?time)?|sys(tem|_time)?(time)?|(longest|shortest)(_?op|_?offset)?|min|max|mean|stddev|wavg|p[\d.]+|"
    r"(rd|wrt|read|write|fls)?_?(lat|resp)_?(min|max|mean|stddev|wavg|p[\d.]+)|start|end|from|to|"
    r"starttime|startts|endts|io time ms|relative ms|delta us|loop ms|inst mb/sec|thread id|cpu start|cpu end|"
    r"start_ns|end_ns|io_ns|cpu_start|cpu_end)$")

RESULT_LINE = re.compile(r" *(QUEUE_PASS|TARGET_PASS|TARGET_AVERAGE|COMBINED|LATENCY_\w+|INTERVAL(_ALL)?) ")
CSV_HEADING = re.compile(r"(document|[A-Z][\w.]*)(,[A-Z][\w.]*){3,}$|Target, RWV Op, ")

# Lines of text: pattern and what it becomes. All that match are applied.
N = r"-?\d+(?:\.\d+)?"
LINES = [(re.compile(pattern), to) for pattern, to in (
    (r"^((Starting|Ending) time for this run,) .*", r"\1 <time>"),
    (r"(Process ID|Thread ID|Seconds before starting), \d+", r"\1, <N>"),
    (r"(memory available bytes|file system free bytes), \d+", r"\1, <N>"),
    (r"^(Start,) " + N + "(, bound)", r"\1 <N>\2"),
    (r"^(Timer, .*resolution) .*", r"\1 <N>"),
    (r"(Size of [A-Z_]+ is) \d+", r"\1 <N>"),
    (r"/dev/loop\d+|\bloop\d+\b", "<loop>"),
    (r"^(DEBUG_\w+) " + N, r"\1 <N>"),
    (r"(: thread) \d+ (starts|ends)", r"\1 <N> \2"),
    (r"(descriptor) \d+", r"\1 <N>"),
    (r"( bytes in) \d+ ns", r"\1 <N> ns"),
    (r"(\d+|<N>) ns\b", r"<N> ns"),
    (r"interval of the bandwidth is \S+", "interval of the bandwidth is <N>"),
    (r"reached after \d+ passes|not reached after \d+ passes", "<reached or not>"),
    (r"(Worker Thread) \d+", r"\1 <N>"),
    (r"(?<=,)" + N + r"(?=,(MBps|iops|ms_p50|ms_p99|ms_max)\b)", "<N>"),
    (r"(?<=/TOD,)[^,]*|(?<=/ELAPSED,)\d+", "<time>"),
    (r"(?<=,)\d+(?=,s\b)", "<N>"),
    (r"(\"(?:ts|dur)\":|\"origin_ns\":)\"?" + N + "\"?", r"\1<N>"),
    (r"global clock.*", "global clock <N>"),
    (r"(Timestamp table written to .* entries,) \d+ bytes", r"\1 <N> bytes"),
    (r"the time now is " + N, "the time now is <N>"),
    (r"is \S+ seconds in the past: (.* shows) " + N, r"is <N> seconds in the past: \1 <N>"),
    (r"(bytes, locked,) " + N, r"\1 <N>"),
    (r"(that was) .*", r"\1 <N>"),
    (r"(clock tick, 1000, delta,) [1-9]\d*", r"\1 <N>"),
    (r"(Start skew, pass \d+,).*", r"\1 <N>"),
    (r"(Target \d+, rate:) \S+ of", r"\1 <N> of"),
    (r"(passes: mean) \S+ \S+, standard deviation \S+ [^ ,]+", r"\1 <N>, standard deviation <N>"),
    (r" +a +b +b to a +(9\d % interval)", r" a b, b to a, \1"),
    (r" +\d\S* \S+ +\d\S* \S+ +[-+]\d\S* %  .*  (may be chance)$", r" <N>, \1"),
    (r"(mean|standard deviation) -?\d\S*?(,?)(?= |$)", r"\1 <N>\2"),
    (r"(95 % interval) .*", r"\1 <N>"),
    (r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", "<time>"),
    (r"(threshold of .* s?, *)" + N, r"\1<N>"),
    (r"(took) " + N, r"\1 <N>"),
    (r"^(host) +start +elapsed .*", r"\1 <N>"),
    (r"^(\S+/\d+) +(- |\d\S* [num]?s) +\d\S* [num]?s .*", r"\1 <N>"),
)]
# Lines whose decimals, or whose numbers altogether, are measured.
DECIMALS = re.compile(r"^(Deskew, |Stonewall, |Without flush, |Average I/O time|I/O Time Range|Dead Time Range|Flush, |Bound, |Start skew|"
                      r"Target \d+, (pass \d+, )?without |  all targets |  target \d+ )|, without the flush|apart")
NUMBERS = re.compile(r"^(Deskew, (pass \d+|combined), (head|window|tail)|Fairness, |xdd: .* than -reportthreshold|"
                     r"((Target \d+, )?(pass \d+, )?|Run, )(longest|shortest) operation|Statistics|Interval)|"
                     r"(longest|shortest) operation, ")
# Said by chance: how busy the machine was, or what the page cache happened to do.
DROPPED = re.compile(r"@xdd 1 |xdd: warning: (target \d+, .*(; the device might do more|: only [\d.]+ .* were reached)|(loop )?device .*: )|"
                     r"Target \d+, [a-z-]+: its QThreads were |not reproducible|^BUCKET,|^Device \S+: \d+ requests")


def masked_number(text):
    """A number that was measured, with its number of decimals."""
    point = text.find(".")
    return "<.%d>" % (len(text) - point - 1) if point >= 0 else "<N>"


def mask_words(line, names):
    """A line of a table of the text output: words by their headings, blanks and all."""
    parts = re.split(r"( +)", line.strip(" "))
    for i in range(0, len(parts), 2):
        name = names[i // 2] if i // 2 < len(names) else ""
        if MEASURED.match(name) and NUMBER.match(parts[i]):
            parts[i] = masked_number(parts[i])
            if i:
                parts[i - 1] = " "
    return "".join(parts)


def mask_fields(line, names):
    """A line of a CSV file."""
    fields = line.split(",")
    for i, field in enumerate(fields):
        name = names[i] if i < len(names) else ""
        if MEASURED.match(name.strip()) and NUMBER.match(field.strip()):
            fields[i] = masked_number(field)
    return ",".join(fields)


def mask_line(line):
    for pattern, to in LINES:
        line = pattern.sub(to, line)
    if NUMBERS.search(line):
        return re.sub(r"\b\d+(\.\d+)?\b|\b(read|write|[num]?s)\b", "<N>", line)
    if DECIMALS.search(line):
        return re.sub(r" *\b\d+\.(\d+)\b", lambda m: " <.%d>" % len(m.group(1)), re.sub(" +", " ", line))
    return line


def mask_text(text):
    """The text output, messages, or a CSV file."""
    out, words, fields, bars = [], [], [], False
    for line in text.split("\n"):
        if DROPPED.search(line):
            continue
        if re.match(r"(What|Latency|Interval) .*(Pass|Ops)", line):
            words, bars = line.split(), "|" in line
        elif CSV_HEADING.match(line):
            fields = [name.strip() for name in line.split(",")]
        elif words and RESULT_LINE.match(line):
            line = re.sub(r"\|.*", "| <histogram>", line) if bars else mask_words(line, words)
        elif fields and line.count(",") == len(fields) - 1:
            line = mask_line(mask_fields(line, fields))
        else:
            line = mask_line(line)
        out.append(line)
    return "\n".join(out)


# Keys of JSON documents: numbers that are measured; those of which the zero is by chance; objects of numbers.
JSON_CERTAIN = (r"bandwidth|iops|elapsed\w*|overhead_ns|fill_ns|flush_ns|sync_ns|open_ns|close_ns|first_operation_ns|"
                r"minimum|maximum|mean|minimum_ns|mean_ns|maximum_ns")
JSON_BY_CHANCE = (r"available_bytes|free_bytes|user_ns|system_ns|"
                  r"standard_deviation(_ns)?|autocorrelation|interval_low|interval_high|change|change_pass|change_amount|"
                  r"fairness|slowest_target|fastest_target|first_target|last_target|wait_ns|bound|ns|not_reproducible|"
                  r"thread|pid|skew_ns|read_ops|write_ops|busy_percent|left_out|weighted_ns|start_ns|end_ns|"
                  r"first_ns|last_ns|p50_ns|p99_ns|max_ns|begin_ns|finish_ns|achieved_ns|machine_offset_ns")
VALUE = r"(-?\d[\d.e+-]*|null|true|false|\"[^\"]*\")"
JSON_NUMBERS = re.compile(r'"(%s)":%s' % (JSON_CERTAIN, VALUE))
JSON_CHANCES = re.compile(r'"(%s)":%s' % (JSON_BY_CHANCE, VALUE))
JSON_TIMES = re.compile(r'"(start_time|end_time|time)":"[^"]*"')
JSON_LISTS = re.compile(r'"(values|histogram|passes)":\[[^]]*\]')
JSON_BUSY = re.compile(r'"(busy_ns|percentiles_ns)":\{([^}]*)\}')
JSON_OBJECTS = re.compile(r'"(head|window|tail|longest|shortest)":\{[^}]*\}')


def json_number(text):
    return "<0>" if text in ("0", "0.0") else text if text in ("null", "true", "false") else "<N>"


def mask_json(text):
    """The document of -jsonout, as it stands: order, blanks and all."""
    text = JSON_TIMES.sub(r'"\1":<time>', text)
    text = JSON_LISTS.sub(r'"\1":[<N>]', text)
    text = JSON_OBJECTS.sub(r'"\1":{<N>}', text)
    text = re.sub(r'"bound_shares":(null|\{[^}]*\})', '"bound_shares":<?>', text)
    text = JSON_BUSY.sub(lambda m: '"%s":{%s}' % (m.group(1), re.sub(
        r":(\d+)", lambda n: ":" + json_number(n.group(1)), m.group(2))), text)
    text = JSON_CHANCES.sub(r'"\1":<?>', text)
    text = JSON_NUMBERS.sub(lambda m: '"%s":%s' % (m.group(1), json_number(m.group(2))), text)
    text = re.sub(r'\{"level":"warning","text":"[^"]*: only [^"]* were reached[^"]*"\},?', "", text)
    return re.sub(r"/dev/loop\d+|\bloop\d+\b", "<loop>", text)


def mask(text):
    """Any of them: by what it begins with. A JSON document may stand among text, from its first line on."""
    begin = text.find('{"format":"xdd results"')
    if begin >= 0:
        return mask_text(text[:begin]) + mask_json(text[begin:])
    return mask_text(text)
