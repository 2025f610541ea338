# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading what -jsonout writes, strictly, and holding it against its schema (standard library only).

The validator knows the part of JSON Schema that doc/jsonout.schema.json uses, and refuses any other.
"""
import json
import os
import re
import xddtest as t

KNOWN = {"$schema", "$defs", "$ref", "anyOf", "title", "description", "type", "required", "properties", "additionalProperties",
         "items", "const", "enum", "minimum", "maximum", "pattern"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def schema(name="jsonout.schema.json"):
    with open(os.path.join(os.environ["TOP_SRCDIR"], "doc", name), encoding="utf-8") as f:
        return json.load(f)


def write(name, document):
    """A file of the test with this text, or with this document; its path."""
    file = t.path(name)
    with open(file, "w", encoding="utf-8") as f:
        # json.dump() would encode in Python, which takes three times as long.
        f.write(document if isinstance(document, str) else json.dumps(document))
    return file


def of_run(name, *args):
    """The document of a run, which is a file of the test with this name."""
    file = t.path(name)
    run = t.xdd(*args, "-jsonout", file, tolerate=[t.CACHED])
    t.equal(run.status, 0, name + ": a run")
    return load(file)


def _is(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def _object(value, rules, root, place):
    properties, others = rules.get("properties", {}), rules.get("additionalProperties", True)
    for name in rules.get("required", []):
        if name not in value:
            yield "%s: lacks %s" % (place, name)
    for name, member in value.items():
        if name in properties:
            yield from complaints(member, properties[name], root, place + "." + name)
        elif others is False:
            yield "%s: has a member %s" % (place, name)
        elif others is not True:
            yield from complaints(member, others, root, place + "." + name)


def complaints(value, rules, root, place=""):
    """The faults of `value`, a line for each."""
    assert set(rules) <= KNOWN, "the validator does not know %s" % (set(rules) - KNOWN)
    if "$ref" in rules:
        yield from complaints(value, root["$defs"][rules["$ref"].rsplit("/", 1)[1]], root, place)
    if "anyOf" in rules:
        found = [list(complaints(value, one, root, place)) for one in rules["anyOf"]]
        yield from min(found, key=len)
    types = rules.get("type")
    types = [types] if isinstance(types, str) else types
    if types and not any(_is(value, name) for name in types):
        yield "%s: %r is no %s" % (place, value, " or ".join(types))
        return
    if "const" in rules and value != rules["const"]:
        yield "%s: %r is not %r" % (place, value, rules["const"])
    if "enum" in rules and value not in rules["enum"]:
        yield "%s: %r is none of %r" % (place, value, rules["enum"])
    if _is(value, "number") and not rules.get("minimum", value) <= value <= rules.get("maximum", value):
        yield "%s: %r is out of range" % (place, value)
    if isinstance(value, str) and not re.search(rules.get("pattern", ""), value):
        yield "%s: %r does not match %s" % (place, value, rules["pattern"])
    if isinstance(value, list):
        for i, element in enumerate(value):
            yield from complaints(element, rules.get("items", {}), root, "%s[%d]" % (place, i))
    if isinstance(value, dict):
        yield from _object(value, rules, root, place)


def _no_number(text):
    raise ValueError("%s is no JSON" % text)


def _no_doubles(pairs):
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a member stands twice in %s" % pairs)
    return dict(pairs)


def parse(text):
    """The document as Python has it; ValueError for what is no JSON, as NaN."""
    return json.loads(text, parse_constant=_no_number, object_pairs_hook=_no_doubles)


def load(file):
    with open(file, "rb") as f:
        return parse(f.read().decode("utf-8"))


def enough(percent, n):
    """True if this percentile of `n` operations is shown: at least ten are expected on its shorter side."""
    return percent >= 100 or n * min(percent, 100 - percent) >= 1000 - 1e-6


def of_sweep(run, name, title):
    """The document of a sweep or a curve that was run, a file of the test with this name; None if it cannot be read."""
    t.equal(run.status, 0, title, run)
    try:
        document = load(t.path(name))
    except (OSError, ValueError) as e:
        t.ok(False, title + ": the document can be read", e)
        return None
    rules = schema("sweep.schema.json")
    t.equal(list(complaints(document, rules, rules))[:5], [], title + ": the document is as the schema has it")
    return document


def problems(document):
    """The violations of the schema, and sums that are wrong; a list of lines."""
    rules = schema()
    return list(complaints(document, rules, rules)) or [
        *_sums(document), *(_interval_sums(document) if "intervals" in document else [])]


def rows(document, what, **fields):
    return [r for r in document["results"] if r["what"] == what and all(r[k] == v for k, v in fields.items())]


def total(row, name="ops"):
    return sum(row[name].values())


BY_DIRECTION = ("ops", "bytes", "failed_bytes", "busy_ns")
# Figures that QThreads count, and figures that targets count.
OF_QTHREADS = ("issued", "errors", "outstanding", "warmup_ops", "miscompares", "retries", "order_breaks", "fill_ns", "overhead_ns",
               "network_ns", "network_wait_ns", "check_ns")
OF_TARGETS = OF_QTHREADS + ("flushes", "flush_ns", "sync_ns", "open_ns", "close_ns", "wait_ns", "range_bytes",
                            "resident_bytes", "hole_bytes")
# Sums of the targets where they are known.
OF_KNOWN = ("resident_bytes", "hole_bytes")


def _sum(found, name):
    values = [r[name] for r in found]
    if name in OF_KNOWN:
        values = [v for v in values if v is not None] or [None]
    return None if None in values else sum(values)


def _no_sums(wholes, parts, names):
    """The figures of a line that differ from the sums, or the extremes, of its parts."""
    for name in names:
        if _sum(wholes, name) != _sum(parts, name):
            yield name
    for name in BY_DIRECTION:
        for d in ("read", "write", "noop", "discard"):
            if sum(r[name][d] for r in wholes) != sum(r[name][d] for r in parts):
                yield "%s.%s" % (name, d)
    for name, most in (("longest", max), ("shortest", min)):
        if len({most((r[name]["ns"] for r in found if r[name]), default=None) for found in (wholes, parts)}) > 1:
            yield name


def _rates(document):
    for r in document["results"]:
        for name, amount in (("bandwidth", total(r, "bytes")), ("iops", total(r))):
            wanted = amount * 1e9 / r["elapsed_ns"] if r["elapsed_ns"] else None
            if (r[name] or 0) != (wanted or 0) and not abs(r[name] - wanted) <= 1e-9 * wanted:
                yield "%s is not %r in the elapsed time: %r" % (name, wanted, r)


def _times(document):
    """Results lie within each other, and a pass lasts from its begin to its finish."""
    for r in document["results"]:
        if r["begin_ns"] is None or r["finish_ns"] is None:
            if r["begin_ns"] != r["finish_ns"] or r["elapsed_ns"]:
                yield "an elapsed time without begin and finish: %r" % r
            continue
        length = r["finish_ns"] - r["begin_ns"]
        # The clock of a server may run at another rate. Begin and finish are right within its bounds at the start and at the end.
        clock = document["clock"] if document["clock"] and document["clock"]["server"] else None
        slack = r["elapsed_ns"] * 5e-4 + 1000 + (clock["bound_ns"] or 0) + (clock["bound_at_end_ns"] or 0) if clock else 0
        if length < r["elapsed_ns"] - slack or "pass" in r and length > r["elapsed_ns"] + slack:
            yield "from begin to finish is not the elapsed time: %r" % r
    for whole, parts in (("COMBINED", "TARGET_AVERAGE"), ("TARGET_AVERAGE", "TARGET_PASS")):
        for r in rows(document, whole):
            some = [p for p in rows(document, parts) if p["begin_ns"] and p["target"] == r.get("target", p["target"])]
            wanted = (min(p["begin_ns"] for p in some), max(p["finish_ns"] for p in some)) if some else (None, None)
            if (r["begin_ns"], r["finish_ns"]) != wanted:
                yield "%s is not from the first begin to the last finish: %r" % (whole, r)


def _sums(document):
    yield from _times(document)
    yield from _rates(document)
    for r in document["results"]:
        if r["issued"] != total(r) + r["errors"] + r["outstanding"]:
            yield "issued is not succeeded, failed and outstanding: %r" % r
    for p in rows(document, "TARGET_PASS"):
        queues = rows(document, "QUEUE_PASS", target=p["target"], **{"pass": p["pass"]})
        for name in _no_sums([p], queues, OF_QTHREADS):
            yield "%s of a pass is not what its QThreads have: %r" % (name, p)
    for a in rows(document, "TARGET_AVERAGE"):
        passes = rows(document, "TARGET_PASS", target=a["target"])
        if a["passes"] != len(passes):
            yield "not the number of passes: %r" % a
        for name in _no_sums([a], passes, OF_TARGETS):
            yield "%s of a target is not what its passes have: %r" % (name, a)
    combined, averages = rows(document, "COMBINED"), rows(document, "TARGET_AVERAGE")
    if len(combined) > 1:
        yield "several lines COMBINED"
    for name in _no_sums(combined, averages, OF_TARGETS):
        yield "%s of all is not what the targets have: %r, %r" % (name, [r[name] for r in combined], [r[name] for r in averages])


def interval_sums(document, target):
    """Operations, bytes and errors of the rows of -intervals of a target, or of all of them (None)."""
    found = [r for r in document["intervals"] if r["target"] == target]
    sums = [sum(r[k] for r in found if r["direction"] == d) for k in ("ops", "bytes") for d in ("read", "write", "noop", "discard")]
    return sums + [sum(r["errors"] for r in found)]


def _interval_sums(document):
    for r in rows(document, "TARGET_AVERAGE") + rows(document, "COMBINED"):
        wanted = [r[k][d] for k in ("ops", "bytes") for d in ("read", "write", "noop", "discard")] + [r["errors"]]
        got = interval_sums(document, None if r["what"] == "COMBINED" else r["target"])
        if got != wanted:
            yield "the rows of -intervals are not %s, target %d: %r, %r" % (r["what"], r.get("target", -1), got, wanted)


def check(file, title):
    """Load it and hold it against the schema; None when that cannot be."""
    try:
        document = load(file)
    except (OSError, ValueError) as why:
        t.ok(False, title + ": a document", why)
        return None
    t.equal(problems(document)[:5], [], title + ": a document as the schema has it, whose sums come out")
    return document
