# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading a page of xdd report, strictly (standard library only)."""
import base64
import hashlib
import html.parser
import re

VOID = {"meta", "br", "hr", "img", "link", "input"}
HEADINGS = ("h1", "h2", "h3", "h4")


def source_of(script):
    """The word of a Content-Security-Policy that admits this text of a script."""
    return "'sha256-%s'" % base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


class Element:
    """`parts` are elements and texts. Its descendants follow it in `page`, which has all elements in their order, up to `end`."""

    def __init__(self, name, attributes, parent, page):
        self.name, self.attributes, self.parent, self.parts = name, attributes, parent, []
        self.page, self.begin = page, len(page) + 1
        self.end = self.begin
        page.append(self)

    def all(self, *names):
        """This element's descendants of these names, in the order of the page."""
        return [e for e in self.page[self.begin:self.end] if not names or e.name in names]

    def text(self):
        return "".join(part if isinstance(part, str) else part.text() for part in self.parts)


class Page(html.parser.HTMLParser):
    """The tree of a page; `faults` has a line for each tag that does not fit."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.root = Element("(root)", {}, None, [])
        self.at, self.faults, self.source = self.root, [], text
        self.feed(text)
        self.close()
        self.root.end = len(self.root.page)
        if self.at is not self.root:
            self.faults.append("not closed: " + self.at.name)
        ids = [e.attributes["id"] for e in self.root.all() if "id" in e.attributes]
        self.ids = set(ids)
        self.faults += ["id twice: " + i for i in self.ids if ids.count(i) > 1]

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            self.faults.append("an attribute twice in " + tag)
        e = self.add(tag, attrs)
        if tag not in VOID:
            self.at = e

    def handle_startendtag(self, tag, attrs):
        self.add(tag, attrs)

    def add(self, tag, attrs):
        e = Element(tag, dict(attrs), self.at, self.root.page)
        self.at.parts.append(e)
        return e

    def handle_endtag(self, tag):
        if self.at.name != tag:
            self.faults.append("</%s> ends <%s> at %s" % (tag, self.at.name, self.getpos()))
            return
        self.at.end = len(self.root.page)
        self.at = self.at.parent

    def handle_data(self, data):
        self.at.parts.append(data)

    def all(self, *names):
        return self.root.all(*names)

    def headings(self):
        return [e.text() for e in self.all(*HEADINGS)]

    def tables(self):
        """Each caption, and its rows as lists of texts, the head first."""
        return {table.all("caption")[0].text(): [[cell.text() for cell in row.all("th", "td")] for row in table.all("tr")]
                for table in self.all("table")}

    def policy(self):
        """The policies of the page: name, and words."""
        metas = [e.attributes for e in self.all("meta") if e.attributes.get("http-equiv") == "Content-Security-Policy"]
        return [dict(part.strip().split(" ", 1) for part in meta["content"].split(";")) for meta in metas]

    def external(self):
        """The elements and attributes that would fetch or run something, except the script that the policy admits."""
        found = [e.name for e in self.all("script", "iframe", "object", "embed", "link", "base", "form", "foreignobject",
                                          "animate", "set")
                 if e.name != "script" or e.attributes or [p.get("script-src") for p in self.policy()] != [source_of(e.text())]]
        for e in self.all():
            for name, value in e.attributes.items():
                if name.startswith("on"):
                    found.append("%s of %s" % (name, e.name))
                if name in ("href", "src", "xlink:href", "srcset", "data", "action") and not (value or "").startswith("#") and \
                        not (value or "").startswith("data:image/png;base64,"):
                    found.append("%s=%s" % (name, value))
        style = "".join(e.text() for e in self.all("style")) + "".join(e.attributes.get("style", "") for e in self.all())
        return found + re.findall(r"@import|url\((?!#)[^)]*\)", style)


def _light(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a, b):
    """That of two colours #rrggbb, from 1 to 21, by WCAG 2."""
    a, b = sorted((_light(a), _light(b)))
    return (b + 0.05) / (a + 0.05)


def colours(style):
    """The variables of each :root block, light and dark."""
    return [dict(re.findall(r"--(\w+):(#[0-9a-f]{6})", block)) for block in re.findall(r":root\{([^}]*)\}", style)]
