# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading OpenMetrics text strictly (standard library only)."""
import re

NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"(,|\Z)')
SAMPLE = re.compile(r"([a-z0-9_]+)\{(.*)\} (\S+)\Z", re.S)
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?\Z")
SUFFIXES = {"counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_count", "_sum"]}
UNESCAPED = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}


class Fault(Exception):
    """The text is not OpenMetrics, or not as xdd writes it."""


def need(condition, *what):
    if not condition:
        raise Fault(" ".join(map(str, what)))


def labels_of(text):
    found, at = {}, 0
    while at < len(text):
        match = LABEL.match(text, at)
        need(match, "labels", repr(text))
        need(match[1] not in found, "label twice", match[1])
        need(bool(match[3]) == (match.end() < len(text)), "a comma at the end", repr(text))
        found[match[1]] = re.sub(r"\\.", lambda m: UNESCAPED[m[0]], match[2])
        at = match.end()
    return found


class Family:
    def __init__(self, name, text):
        self.name, self.help, self.type, self.unit, self.samples = name, text, None, "", {}


def _sample(line, family):
    match = SAMPLE.match(line)
    need(match and family and family.type, "a sample", repr(line))
    suffix = match[1][len(family.name):]
    need(match[1].startswith(family.name) and suffix in SUFFIXES[family.type], "a sample of", family.name, repr(line))
    labels = labels_of(match[2])
    key = (suffix, tuple(sorted(labels.items())))
    need(key not in family.samples, "a series twice", repr(line))
    need(NUMBER.match(match[3]), "a number", repr(line))
    family.samples[key] = float(match[3])


def _histogram(family):
    groups = {}
    for (suffix, labels), value in family.samples.items():
        rest = tuple(pair for pair in labels if pair[0] != "le")
        groups.setdefault(rest, {}).setdefault(suffix, []).append((dict(labels).get("le"), value))
    for group in groups.values():
        need(set(group) == {"_bucket", "_count", "_sum"}, "parts of a histogram", sorted(group))
        bounds = [float(le) for le, _ in group["_bucket"]]
        counts = [count for _, count in group["_bucket"]]
        need(bounds == sorted(set(bounds)) and bounds[-1] == float("inf"), "bounds", bounds)
        need(counts == sorted(counts) and counts[-1] == group["_count"][0][1], "counts", counts)


def parse(data):
    """The families of the bytes of a file, by name. Raises Fault."""
    text = data.decode("utf-8")
    need(text.endswith("\n# EOF\n"), "the end", repr(text[-40:]))
    families, family = {}, None
    for line in text[:-len("# EOF\n")].split("\n")[:-1]:
        if not line.startswith("#"):
            _sample(line, family)
            continue
        words = line.split(" ", 3)
        need(len(words) == 4 and words[0] == "#" and words[1] in ("HELP", "TYPE", "UNIT"), "a comment", repr(line))
        if words[1] == "HELP":
            need(words[2] not in families and NAME.match(words[2]), "a family twice", words[2])
            need(words[3].endswith(".") and words[3][0].isupper() | words[3][0].isdigit(), "a help", words[3])
            family = families[words[2]] = Family(words[2], words[3])
        need(words[2] == family.name and not family.samples, "metadata of", words[2])
        if words[1] == "TYPE":
            need(words[3] in SUFFIXES and not family.type, "a type", words[3])
            family.type = words[3]
        elif words[1] == "UNIT":
            need(family.name.endswith("_" + words[3]) or family.name == "xdd_" + words[3], "a unit", words[3])
            family.unit = words[3]
    for one in families.values():
        need(one.type, "the type of", one.name)
        if one.type == "histogram":
            _histogram(one)
    return families


def values(families, name, suffix=""):
    """The values of a family: {(target, operation): value}; (None, None): of the run."""
    return {(dict(labels).get("target"), dict(labels).get("operation")): value
            for (kind, labels), value in families[name].samples.items() if kind == suffix}
