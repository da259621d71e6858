"""Pages of metrics: fetched from a Mete, and read without a library, as strictly as Prometheus reads them."""

import contextlib
import http.client
import re
import socket

from harness import DEADLINE_S, check

SERIES = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?[0-9]+(?:\.[0-9]+)?)(?: # \{(.*)\} (\S+) (\S+))?$')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')
OPEN = "application/openmetrics-text"


def address(m):
    """The host and port of the metrics, as `mete up` says them."""
    with open(m.log) as f:
        found = re.findall(r"Metrics: http://(127\.0\.0\.1):(\d+)/metrics", f.read())
    check(found, "mete up names the address of the metrics")
    return found[-1][0], int(found[-1][1])


def get(m, path="/metrics", accept=None, method="GET"):
    """Status, content type and text of a page."""
    with contextlib.closing(http.client.HTTPConnection(*address(m), timeout=DEADLINE_S)) as c:
        c.request(method, path, headers={"Accept": accept} if accept else {})
        r = c.getresponse()
        return r.status, r.getheader("Content-Type"), r.read().decode()


def get_unix(m, path="/metrics"):
    """The same as root on the unix socket of the API."""
    c = http.client.HTTPConnection("unix", timeout=DEADLINE_S)
    with contextlib.closing(c):
        c.sock = socket.socket(socket.AF_UNIX)
        c.sock.connect(m.data + "/mete.sock")
        c.request("GET", path)
        r = c.getresponse()
        return r.status, r.getheader("Content-Type"), r.read().decode()


def labels_of(text):
    found = {}
    at = 0
    while at < len(text or ""):
        label = LABEL.match(text, at)
        check(label, f"labels {text!r} at {at}")
        check(label[1] not in found, f"label {label[1]} is given twice: {text}")
        found[label[1]] = re.sub(r"\\(.)", lambda e: {"n": "\n"}.get(e[1], e[1]), label[2])
        at = label.end()
    return found


class Page:
    def __init__(self, text):
        self.types = {}
        self.helps = {}
        self.series = []
        self.exemplars = []
        seen = set()
        for line in text.splitlines():
            words = line.split(" ", 3)
            if line.startswith("# HELP "):
                check(words[2] not in self.helps, f"two heads: {line}")
                self.helps[words[2]] = words[3]
            elif line.startswith("# TYPE "):
                self.types[words[2]] = words[3]
            elif line != "# EOF":
                one = SERIES.match(line)
                check(one, f"no series: {line!r}")
                check(line.split(" ")[0] and line.rsplit(" ", 1)[0] not in seen, f"twice: {line}")
                seen.add(line.rsplit(" ", 1)[0])
                self.series.append((one[1], labels_of(one[2]), float(one[3])))
                if one[4]:
                    self.exemplars.append((one[1], labels_of(one[4])))

    def of(self, name, **labels):
        """The series of a family with these labels: pairs of labels and value."""
        return [(found, value) for family, found, value in self.series
                if family == name and all(found.get(k) == v for k, v in labels.items())]

    def value(self, name, **labels):
        """The value of the only such series; None: there is none."""
        found = self.of(name, **labels)
        check(len(found) <= 1, f"{name} {labels}: {found}")
        return found[0][1] if found else None


def page(m, path="/metrics"):
    status, _, text = get(m, path)
    check(status == 200, status, text)
    return Page(text)
