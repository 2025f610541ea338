"""How many answers a time server gives, and what they cost it: ask_time.c asks as fast as it can. Used by run."""
import re
import subprocess

from commands import Broken, call

ANSWER_S = 10  # for the server to say where it listens


class Server:
    """xdd timeserver on a free port, for a "with"."""

    def __init__(self, binary):
        self.words = [binary, "timeserver", "-foreground", "-port", "0", "-bind", "127.0.0.1"]

    def __enter__(self):
        self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        found = re.search(r"port (\d+)", self.process.stdout.readline())
        if not found:
            self.__exit__()
            raise Broken("xdd timeserver does not listen")
        self.port = found.group(1)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate(timeout=ANSWER_S)

    def sample(self, program, seconds):
        """One run of ask_time.c."""
        answers, wall_s, cpu_s = map(float, call([program, self.port, "%g" % seconds, str(self.process.pid)]).split())
        if not answers or not cpu_s:
            raise Broken("xdd timeserver does not answer")
        return {"answers_per_s": answers / wall_s, "answers_per_cpu_s": answers / cpu_s}
