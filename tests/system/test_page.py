"""The web page: sign-in, guards of requests, and all of it in headless Chromium."""

import http.client
import json
import os
import re
import shutil
import tempfile
import urllib.parse

from harness import METE, ROOT, Mete, Skip, check, equal, execute, execute_as, patience, wait

BROWSER = os.path.join(ROOT, "tests", "browser")
ATTACK = "<img src=x onerror=alert(1)>"
SCRIPT = "<script>alert(2)</script>"


def link_of(m):
    return re.search(r"https?://\S+/in#k=\w+", m.log_text())[0]


class Page:
    """A client of the page, with a cookie once it has signed in."""

    def __init__(self, link):
        url = urllib.parse.urlsplit(link)
        self.host, self.key, self.cookie = url.netloc, url.fragment[2:], None

    def ask(self, method, path, body=None, **headers):
        c = http.client.HTTPConnection(self.host, timeout=60)
        sent = {"Host": self.host} | {k.replace("_", "-"): v for k, v in headers.items()}
        if self.cookie:
            sent.setdefault("Cookie", self.cookie)
        c.request(method, path, body, sent)
        r = c.getresponse()
        text = r.read().decode()
        c.close()
        return r.status, text, r.headers

    def sign_in(self):
        status, text, headers = self.ask("POST", "/in", f"k={self.key}", Origin=f"http://{self.host}")
        equal(status, 303, text)
        self.cookie = headers["Set-Cookie"].split(";")[0]
        return headers["Set-Cookie"]


def audit_lines(m):
    r = m.mete("audit", "-o", "jsonl")
    equal(r.code, 0, r)
    return [json.loads(line) for line in r.out.splitlines()]


def run_as_nobody(m, *words):
    return execute_as(65534, 65534, [METE, *words], env=m.env | {"METE_DATA": m.data})


def test_a_session_acts_as_its_user_and_guards_its_changes():
    with Mete() as m:
        page = Page(link_of(m))
        own = {"Origin": f"http://{page.host}"}
        equal(page.ask("GET", "/")[0], 303, "without a session")
        equal(page.ask("GET", "/api/v1/pods")[0], 401)
        equal(page.ask("GET", "/in", Host="evil.example")[0], 400, "a name that was turned to this address")
        equal(page.ask("POST", "/in", f"k={page.key}")[0], 403, "no Origin")
        equal(page.ask("POST", "/in", f"k={page.key}", Origin="http://evil.example")[0], 403)
        cookie = page.sign_in()
        check("HttpOnly" in cookie and "SameSite=Strict" in cookie, cookie)
        equal(page.ask("POST", "/in", f"k={page.key}", **own)[0], 403, "the link again")
        equal(json.loads(page.ask("GET", "/page/me")[1])["user"], "root")
        status, _, headers = page.ask("GET", "/")
        equal(status, 200)
        check("default-src 'self'" in headers["Content-Security-Policy"] and
              "unsafe" not in headers["Content-Security-Policy"], headers)

        namespace = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "made-here"}})
        create = ("POST", "/api/v1/namespaces", namespace)
        equal(page.ask(*create)[0], 403, "no Origin, no header")
        equal(page.ask(*create, X_Mete="1", Origin="http://evil.example")[0], 403)
        equal(page.ask(*create, **own)[0], 403, "a form of another site cannot set X-Mete, but has no Origin of ours")
        equal(page.ask(*create, X_Mete="1", **own)[0], 201)
        equal(page.ask("GET", "/api/v1/namespaces", Impersonate_User="ann")[0], 200, "that header does not pass")

        r = run_as_nobody(m, "login")
        equal(r.code, 0, r)
        other = Page(r.out.strip())
        other.sign_in()
        equal(json.loads(other.ask("GET", "/page/me")[1])["user"], "nobody")
        equal(other.ask("GET", "/api/v1/namespaces/made-here/pods")[0], 403)
        equal(other.ask("GET", "/api/v1/namespaces/default/pods")[0], 200)

        equal(page.ask("POST", "/out")[0], 403, "no Origin")
        equal(page.ask("POST", "/out", **own)[0], 303)
        equal(page.ask("GET", "/page/me")[0], 401)

        signs = [x for x in audit_lines(m) if x.get("path") == "/mete.dev/v1/session"]
        equal([(x["verb"], x["user"], x["code"]) for x in signs],
              [("sign-in", "root", 201), ("sign-in", "system:anonymous", 401), ("sign-in", "nobody", 201),
               ("sign-out", "root", 200)])
        check(all(x["page"].startswith("127.0.0.1:") for x in signs), signs)
        equal(signs[0]["from"], "unix:uid=0", "the credential of the link")
        check("page 127.0.0.1:" in m.mete("audit").out, "mete audit shows the browser's address")
        made = next(x for x in audit_lines(m) if x.get("name") == "made-here")
        check(made["page"].startswith("127.0.0.1:"), made)
        links = [x for x in audit_lines(m) if x.get("path") == "/mete.dev/v1/sign-in"]
        equal([x["user"] for x in links], ["root", "nobody"])


def test_the_list_of_jobs_is_filtered_sorted_and_counted():
    with Mete() as m:
        page = Page(link_of(m))
        page.sign_in()

        def jobs(query=""):
            status, text, _ = page.ask("GET", f"/apis/mete.dev/v1/jobs{query}")
            equal(status, 200, text)
            return json.loads(text)

        for i in range(4):
            equal(m.mete("run", "-d", "--gpus", "4", "--name", f"job-{i}", "--", "sleep", "300").code, 0)
        wait(lambda: jobs()["counts"]["running"] == 2, "two jobs run")
        equal([j["name"] for j in jobs()["items"]], ["job-3", "job-2", "job-1", "job-0"])
        equal([j["name"] for j in jobs("?sort=name&limit=1&offset=1")["items"]], ["job-1"])
        waiting = jobs("?state=waiting")
        equal((waiting["total"], waiting["counts"]["running"]), (2, 2))
        check(all(j["reason"] for j in waiting["items"]), waiting)
        equal(jobs("?q=job-2")["total"], 1)
        equal(jobs("?user=ann")["total"], 0)
        (queue,) = jobs()["queues"]
        equal((queue["running"], queue["waiting"], queue["gpusWaiting"]), (2, 2, 8))
        equal(page.ask("GET", "/apis/mete.dev/v1/jobs?state=asleep")[0], 400)
        equal(m.mete("cancel", "job-3").code, 0)
        wait(lambda: jobs()["total"] == 3 or jobs()["counts"]["failed"] == 1, "the list follows")


def pod_that_attacks():
    return json.dumps({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "attack", "annotations": {"note": SCRIPT, "other": ATTACK}},
        "spec": {"restartPolicy": "Never", "containers": [{
            "name": "main", "image": "host", "command": ["sh", "-c", f"echo '{ATTACK}'; echo '{SCRIPT}'; sleep 600"],
            "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}})


def event_that_attacks():
    return json.dumps({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "attack", "namespace": "default"}, "type": "Warning",
        "involvedObject": {"kind": "Pod", "name": "attack", "namespace": "default"}, "reason": SCRIPT, "message": ATTACK})


SLICED = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "sliced"}, "spec": {"restartPolicy": "Never", "containers": [{
    "name": "main", "image": "host", "command": ["sleep", "600"], "resources": {"limits": {"nvidia.com/mig-3g.40gb": "1"}}}]}}
QUEUE = {"apiVersion": "mete.dev/v1", "kind": "Queue", "metadata": {"name": "research"}, "spec": {}}
LIMIT = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "limit", "namespace": "default"}, "spec": {"hard": {"pods": "60"}}}


def load(m, page):
    """A loaded system: jobs that run, wait and hold a slice, and texts that attack wherever a user can leave one."""
    def done(*words, stdin=None):
        r = m.mete(*words, stdin=stdin)
        equal(r.code, 0, words, r)

    node = m.object("nodes")["items"][0]["metadata"]["name"]
    done("gpus", "set", f"{node}/7", "--mode", "slices=1g.10gb:2,3g.40gb")
    for manifest in (json.dumps(QUEUE), json.dumps(LIMIT), pod_that_attacks(), event_that_attacks()):
        done("apply", "-f", "-", stdin=manifest)
    talk = "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.3; done"
    done("run", "-d", "--gpus", "2", "--name", "talker", "--", "sh", "-c", talk)
    done("run", "-d", "--gpus", "7", "--name", "too-large", "--", "true")
    done("run", "-d", "--name", "again", "--", "sleep", "600")
    wait(lambda: "nvidia.com/mig-3g.40gb" in m.object("nodes")["items"][0]["status"]["allocatable"], "slices are offered")
    done("apply", "-f", "-", stdin=json.dumps(SLICED))
    m.wait_phase("sliced", "Running")
    done("apply", "-f", "-", stdin=json.dumps(SLICED | {"metadata": {"name": "slice-next"}}))
    m.kubectl("get", "pods", "--as", ATTACK)
    page.ask("POST", "/in", f"k={'0' * 32}", Origin=f"http://{page.host}", User_Agent=SCRIPT)


def test_the_page_in_a_browser():
    if not shutil.which("chromium") or not os.path.isdir(os.path.join(BROWSER, "node_modules")):
        raise Skip("no chromium, or no tests/browser/node_modules: tools/bootstrap --tests makes them")
    with Mete() as m:
        link = link_of(m)
        load(m, Page(link))
        home = tempfile.mkdtemp(prefix="mete-browser-")
        try:
            r = execute(["node", os.path.join(BROWSER, "page.mjs")], deadline_s=240,
                        env=m.env | {"LINK": link, "HOME": home, "PATIENCE": str(patience()),
                                     "SHOTS": os.environ.get("METE_SHOTS", "")})
        finally:
            shutil.rmtree(home, ignore_errors=True)
        equal(r.code, 0, r)
