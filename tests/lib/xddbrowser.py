# SPDX-License-Identifier: GPL-2.0-or-later
"""
A headless Chromium for tests, driven through its debugging pipe (standard library only).

Its command line options that print a page are no basis for a test: they say neither when a page is ready nor why one is not.
Here each step is a question with an answer, each wait ends at the answer, at the end of the browser or after a bound, and
the browser is started once for all pages.
"""
import base64
import fcntl
import json
import os
import select
import shutil
import signal
import time
import xddtest as t

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ANSWER_S = 100  # of a step, a start included; it takes one or two seconds on an idle machine
STARTS = 3      # a browser that ends, or does not answer, is started again so often

# An unprivileged sandbox is not to be had in containers, nor much of /dev/shm; the rest leaves out work that no page needs.
OPTIONS = ("--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --renderer-process-limit=1 --no-first-run --no-default-browser-check "
           "--disable-background-networking --disable-component-update --disable-extensions --disable-sync "
           "--disable-crash-reporter --password-store=basic --remote-debugging-pipe").split()


class Failed(Exception):
    """The browser has ended, or does not answer. This is no property of a page."""


class Browser:
    """One process of Chromium. Its answers come on descriptor 4, questions go to 3, each ends with a zero byte."""

    def __init__(self, home):
        self.events, self.rest, self.number = [], b"", 0
        self.errors = os.path.join(home, "errors")
        os.makedirs(home)
        (to, self.to), (self.answers, answers) = os.pipe(), os.pipe()
        errors = os.open(self.errors, os.O_WRONLY | os.O_CREAT, 0o666)
        # Numbers that are none of those which the browser gets.
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (to, answers, errors)]
        self.process = os.posix_spawn(
            CHROMIUM, [CHROMIUM, *OPTIONS, "--user-data-dir=" + os.path.join(home, "profile"), "about:blank"],
            dict(os.environ, HOME=home, XDG_CACHE_HOME=home, XDG_CONFIG_HOME=home, TMPDIR=t.short_tmp()), setsid=True,
            file_actions=[(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                          *((os.POSIX_SPAWN_DUP2, end, fd) for end, fd in zip((ends[2], ends[2], *ends[:2]), (1, 2, 3, 4)))])
        for fd in (to, answers, errors, *ends):
            os.close(fd)

    def close(self):
        try:
            os.killpg(self.process, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.process, 0)
        for fd in (self.to, self.answers):
            os.close(fd)

    def message(self, deadline):
        """The next message of the browser."""
        while b"\0" not in self.rest:
            if not select.select([self.answers], [], [], max(0, deadline - time.monotonic()))[0]:
                raise Failed("no answer in %d s" % ANSWER_S)
            part = os.read(self.answers, 1 << 20)
            if not part:
                raise Failed("it has ended")
            self.rest += part
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def ask(self, method, session=None, **params):
        """The answer to a question; events that come before it are kept."""
        self.number += 1
        question = {"id": self.number, "method": method, "params": params}
        if session:
            question["sessionId"] = session
        try:
            left = json.dumps(question).encode() + b"\0"
            while left:
                left = left[os.write(self.to, left):]
        except BrokenPipeError:
            raise Failed("it has ended") from None
        deadline = time.monotonic() + ANSWER_S
        while True:
            m = self.message(deadline)
            if m.get("id") == self.number:
                if "error" in m:
                    raise Failed("%s: %s" % (method, m["error"].get("message")))
                return m["result"]
            self.keep(m)

    def keep(self, message):
        if message.get("method") in ("Inspector.targetCrashed", "Target.targetCrashed"):
            raise Failed("the process of the page has ended")
        self.events.append(message)

    def wait(self, session, method):
        """Wait for an event of a page, which may have come already."""
        deadline = time.monotonic() + ANSWER_S
        while not any(e.get("method") == method and e.get("sessionId") == session for e in self.events):
            self.keep(self.message(deadline))

    def view(self, url, work, scripts=True):
        """The result of `work` for a page that is loaded; it gets the function that calls methods of the page. `scripts`: it runs its own."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.events = []

        def page(method, **params):
            return self.ask(method, session, **params)
        for domain in ("Page", "Runtime", "Log", "Inspector"):
            page(domain + ".enable")
        page("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.events = []
        failed = page("Page.navigate", url=url).get("errorText")
        if failed:
            raise Failed("%s: %s" % (url, failed))
        self.wait(session, "Page.loadEventFired")
        try:
            return work(page)
        finally:
            self.ask("Target.closeTarget", targetId=target)

    def faults(self):
        """Errors of scripts and all that the browser has logged about the last page."""
        return [json.dumps(e["params"])[:500] for e in self.events
                if e.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]


_browser = None
_starts = 0


def quit():
    global _browser
    if _browser:
        _browser.close()
    _browser = None


def view(*args, **kwargs):
    """
    Browser.view() by the one browser of the test, and its faults. A browser that fails is started again, with a line that
    says so; after the last time, None.
    """
    global _browser, _starts
    while _browser or _starts < STARTS:
        try:
            if not _browser:
                _starts += 1
                _browser = Browser(t.path("browser.%d" % _starts))
            return _browser.view(*args, **kwargs), _browser.faults()
        except Failed as e:
            t.diag("start %d of the browser: %s" % (_starts, e))
            with open(_browser.errors, errors="replace") as f:
                t.diag(f.read()[-1000:])
            quit()
    return None, ["no browser"]


def show(page, width, scheme="light", media="screen", height=900):
    """Lay the page out in a window of that size."""
    page("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])
    page("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
    value(page, "new Promise(done => { (function ask() { innerWidth === %d ? done() : setTimeout(ask, 10); })(); })" % width)


def value(page, script):
    """The value of an expression in the page, whose own policy does not matter for it."""
    answer = page("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
    if "exceptionDetails" in answer:
        raise ValueError(json.dumps(answer["exceptionDetails"])[:1000])
    return answer["result"].get("value")


def drag(page, *places, touch=False):
    """Press the mouse or a finger at the first place in the window, move it to the others, and release it at the last."""
    for kind, (x, y) in (("start", places[0]), *(("move", place) for place in places[1:]), ("end", places[-1])):
        if touch:
            page("Input.dispatchTouchEvent", type="touch" + kind.capitalize(), touchPoints=[] if kind == "end" else [{"x": x, "y": y}])
        else:
            page("Input.dispatchMouseEvent", type={"start": "mousePressed", "move": "mouseMoved", "end": "mouseReleased"}[kind],
                 x=x, y=y, button="left", buttons=0 if kind == "end" else 1, clickCount=1)


def double_click(page, x, y):
    for count in (1, 2):
        for kind, buttons in (("mousePressed", 1), ("mouseReleased", 0)):
            page("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=buttons, clickCount=count)


def press(page, key, **more):
    for kind in ("keyDown", "keyUp"):
        page("Input.dispatchKeyEvent", type=kind, key=key, **more)


def picture(page, file):
    """The whole page as a PNG."""
    with open(file, "wb") as f:
        f.write(base64.b64decode(page("Page.captureScreenshot", captureBeyondViewport=True)["data"]))


def pdf(page):
    return base64.b64decode(page("Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.69)["data"])
