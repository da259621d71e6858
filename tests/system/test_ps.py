"""`mete ps` over the server's list of jobs: the same as from lists of pods and Jobs, page by page, for those who may list both."""

import contextlib
import csv
import http.client
import http.server
import json
import os
import socket
import threading
import urllib.parse

from harness import Mete, check, equal, pod, wait
from test_jobs import job
from test_tenant import two_tenants

PS = "/apis/mete.dev/v1/ps"
AT_ONCE = {"terminationGracePeriodSeconds": 0}


@contextlib.contextmanager
def without_list(m):
    """A server that passes all requests on to the unix socket, but has no list of jobs, as a kube-apiserver. Yields its kubeconfig."""
    class Pass(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path.startswith(PS):
                self.send_error(404)
                return
            c = http.client.HTTPConnection("unix", timeout=60)
            with contextlib.closing(c):
                c.sock = socket.socket(socket.AF_UNIX)
                c.sock.connect(os.path.join(m.data, "mete.sock"))
                c.request("GET", self.path, headers={"Accept": "application/json"})
                r = c.getresponse()
                text = r.read()
            self.send_response(r.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *words):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pass)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    path = os.path.join(m.home, "plain-kubeconfig")
    with open(path, "w") as f:
        json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                   "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
                   "users": [{"name": "u", "user": {}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}, f)
    try:
        yield path
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def made(m):
    """Waits until the server has its list."""
    wait(lambda: m.read(PS)["isMade"], "the list of jobs is made")


def settled(r):
    """The output without ages."""
    equal(r.code, 0, r)
    if r.out.startswith("JOB,"):
        return [[v for k, v in row.items() if k != "TIME"] for row in csv.DictReader(r.out.splitlines())]
    return r.out


def states(m):
    """Pods that wait, run and have ended, a Job that runs, one that has ended, and a pod whose Job is gone."""
    m.ok("create", "namespace", "team-a")
    for name, command, gpus, ns in (("runs", "sleep 600", 2, None), ("waits", "true", 16, None), ("fails", "exit 3", 0, None),
                                    ("good", "true", 0, None), ("apart", "sleep 600", 1, "team-a")):
        m.ok("apply", "-f", "-", stdin=pod(name, command, gpus=gpus, ns=ns, **AT_ONCE))
    m.ok("apply", "-f", "-", stdin=job("array", "sleep 600", gpus=2, completions=3, parallelism=3))
    m.ok("apply", "-f", "-", stdin=job("short", "true"))
    m.ok("apply", "-f", "-", stdin=job("parent", "sleep 600"))
    for name, phase, ns in (("runs", "Running", "default"), ("fails", "Failed", "default"), ("good", "Succeeded", "default"),
                            ("apart", "Running", "team-a")):
        m.wait_phase(name, phase, ns=ns)
    m.ok("wait", "--for=condition=complete", "job/short", "--timeout=600s")
    wait(lambda: m.object("pods", "-l", "job-name=parent")["items"], "the parent's pod")
    m.ok("delete", "job", "parent", "--cascade=orphan")


def check_pages(m):
    names = [i["metadata"]["name"] for i in json.loads(m.mete("ps", "-a", "-A", "-o", "json").out)["items"]]
    check(len(names) > 6, names)
    found, after = [], ""
    while after is not None:
        page = m.read(f"{PS}?all=true&limit=2&after={urllib.parse.quote(after, safe='')}")
        found += [i["metadata"]["name"] for i in page["items"]]
        equal(page["more"], len(names) - len(found))
        after = page["after"]
    equal(found, names)
    r = m.mete("ps", "-a", "-A", "--limit", "2")
    equal((len(r.out.splitlines()), r.err), (3, f"2 of {len(names)}; --limit 0 for all\n"), r)


def test_its_rows_are_those_of_pods_and_jobs():
    with Mete() as m, without_list(m) as plain:
        states(m)
        made(m)
        for words in ([], ["-a"], ["-n", "team-a"], ["-n", "nowhere"], ["-a", "-A"]):
            for form in ("json", "csv"):
                def both(words=words, form=form):
                    found = [settled(m.mete("ps", *words, "-o", form, *more)) for more in ([], ["--kubeconfig", plain])]
                    return found[0] == found[1] and (found[0],)
                out, = wait(both, f"ps {words} -o {form} says what the pods and Jobs say")
                check(bool(out) or "nowhere" in words, words)
        text = m.mete("ps").out
        check("array" in text and "parent-" in text and "short" not in text and "array-" not in text, text)
        check_pages(m)


def test_it_is_for_those_who_may_list_both():
    role = json.dumps({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
                       "metadata": {"name": "pods-only", "namespace": "team-a"},
                       "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]})
    with two_tenants() as (m, ann, eve):
        ann.apply(pod("hers", "sleep 600", **AT_ONCE))
        eve.apply(pod("mine", "sleep 600", **AT_ONCE))
        made(m)
        for who, name in ((ann, "hers"), (eve, "mine")):
            r = who.mete("ps", "-n", who.ns, "-o", "name")
            equal((r.code, r.out), (0, f"pod/{name}\n"), r)
            status, page = who.ask("GET", f"{PS}?namespace={who.ns}")
            equal((status, [i["metadata"]["name"] for i in page["items"]]), (200, [name]), page)
            for place in (f"?namespace={ann.ns if who is eve else eve.ns}", "", "?namespace="):
                equal(who.ask("GET", PS + place)[0], 403, place)
        r = eve.mete("ps", "-n", "team-a")
        check(r.code == 4 and 'cannot list resource "jobs" in API group "batch" in the namespace "team-a"' in r.err, r)
        equal(eve.mete("ps", "-A").code, 4)
        m.ok("apply", "-f", "-", stdin=role)
        m.ok("create", "rolebinding", "eve", "--role=pods-only", "--user=eve", "-n", "team-a")
        wait(lambda: eve.ask("GET", "/api/v1/namespaces/team-a/pods")[0] == 200, "she may list pods")
        equal(eve.ask("GET", f"{PS}?namespace=team-a")[0], 403, "but no Jobs")
