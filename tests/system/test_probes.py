"""Probes, lifecycle hooks and termination messages: effects on a container, seen from outside and inside."""

import http.server
import json
import os
import signal
import subprocess
import threading
import time

from harness import Mete, check, equal, pod, wait


class Server:
    """A port of the test, with answers set by the test; remembers its requests."""

    def __init__(self):
        self.status = 200
        self.asked = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append((self.path, dict(self.headers)))
                self.send_response(outer.status)
                if outer.status == 302:
                    self.send_header("Location", "/elsewhere" if self.path != "/elsewhere" else "/end")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"ok")
                if outer.status == 302 and self.path == "/elsewhere":
                    outer.status = 500

            def log_message(self, *_):
                pass

        self.httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.httpd.server_address[1]
        self.thread = threading.Thread(target=self.httpd.serve_forever, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.httpd.shutdown()
        self.httpd.server_close()


def container(script, **more):
    return [{"name": "main", "image": "host", "command": ["sh", "-c", script], **more}]


def start(m, name, script, restart="Always", spec=None, **more):
    m.ok("apply", "-f", "-", stdin=pod(name, "", containers=container(script, **more), restartPolicy=restart,
                                       **(spec or {})))


def status(m, name):
    return (m.object("pod", name)["status"].get("containerStatuses") or [{}])[0]


def condition(m, name, kind):
    return next(c for c in m.object("pod", name)["status"]["conditions"] if c["type"] == kind)


def events(m, name, reason):
    found = m.object("events")["items"]
    return [e for e in found if e["involvedObject"]["name"] == name and e["reason"] == reason]


def wait_event(m, name, reason, message):
    try:
        return wait(lambda: [e for e in events(m, name, reason) if message in e["message"]],
                    f"an event {reason} of {name} says {message!r}")[0]
    except AssertionError as e:
        raise AssertionError(f"{e}\n{m.ok('get', 'events')}") from None


def lines(path):
    try:
        with open(path) as f:
            return f.read().splitlines()
    except FileNotFoundError:
        return []


EVERY_SECOND = {"periodSeconds": 1, "timeoutSeconds": 5}


def test_probes():
    with Mete() as m, m.unharmed():
        readiness_follows_a_file(m)
        startup_comes_first(m)
        with Server() as server:
            liveness_restarts(m, server)
            redirects_of_the_same_host_are_followed(m, server)
        an_open_port_is_enough(m)
        what_never_restarts_fails(m)
        a_probe_that_hangs_fails_in_time(m)
        what_is_not_implemented_is_refused(m)
        survives_the_node(m)


def readiness_follows_a_file(m):
    flag = f"{m.dir}/ready"
    start(m, "ready", "exec sleep 1000", readinessProbe={
        "exec": {"command": ["sh", "-c", f"echo asked by $(id -u) in $PWD; test -e {flag}"]}, **EVERY_SECOND,
        "failureThreshold": 2, "successThreshold": 2})
    m.wait_phase("ready", "Running")
    wait_event(m, "ready", "Unhealthy", "Readiness probe failed: asked by 0 in /")
    found = status(m, "ready")
    equal((found["ready"], found["started"], found["restartCount"]), (False, True, 0))
    for kind in ("Ready", "ContainersReady"):
        c = condition(m, "ready", kind)
        equal((c["status"], c["reason"], c["message"]),
              ("False", "ContainersNotReady", "containers with unready status: [main]"))
    open(flag, "w").close()
    m.ok("wait", "pod/ready", "--for=condition=Ready", "--timeout=600s")
    os.unlink(flag)
    m.ok("wait", "pod/ready", "--for=condition=Ready=false", "--timeout=600s")
    equal(status(m, "ready")["restartCount"], 0, "readiness restarts nothing")
    check(wait_event(m, "ready", "Unhealthy", "Readiness probe failed")["count"] > 1, "repeated events are counted")


def startup_comes_first(m):
    flag, asked = f"{m.dir}/started", f"{m.dir}/liveness-asked"
    start(m, "slow", "exec sleep 1000",
          startupProbe={"exec": {"command": ["test", "-e", flag]}, **EVERY_SECOND, "failureThreshold": 100},
          livenessProbe={"exec": {"command": ["sh", "-c", f"echo x >>{asked}"]}, **EVERY_SECOND},
          readinessProbe={"exec": {"command": ["true"]}, "periodSeconds": 60})
    wait_event(m, "slow", "Unhealthy", "Startup probe failed")
    found = status(m, "slow")
    equal((found["started"], found["ready"]), (False, False))
    equal(lines(asked), [], "liveness waits for startup")
    open(flag, "w").close()
    wait(lambda: status(m, "slow")["started"], "it has started")
    wait(lambda: status(m, "slow")["ready"], "it is asked at once whether it is ready")
    wait(lambda: lines(asked), "liveness is asked")
    equal(status(m, "slow")["restartCount"], 0)


def liveness_restarts(m, server):
    begun = f"{m.dir}/begun"
    start(m, "live", f"trap 'echo term >>{begun}; exit 0' TERM; echo begin >>{begun}; while :; do sleep 0.1; done",
          restart="OnFailure",
          livenessProbe={"httpGet": {"host": "127.0.0.1", "port": server.port, "path": "/healthz?full=1",
                                     "httpHeaders": [{"name": "X-Probe", "value": "mete"}]},
                         **EVERY_SECOND, "failureThreshold": 2, "terminationGracePeriodSeconds": 600})
    wait(lambda: len(server.asked) > 1, "liveness is asked")
    path, headers = server.asked[0]
    equal((path, headers["X-Probe"]), ("/healthz?full=1", "mete"))
    equal(lines(begun), ["begin"])
    server.status = 500
    wait_event(m, "live", "Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 500")
    wait_event(m, "live", "Killing", "Container main failed liveness probe, will be restarted")
    server.status = 200
    wait(lambda: lines(begun)[-2:] == ["term", "begin"] and status(m, "live")["ready"], "it was asked to end, and began again")
    # Once, or more often if the answer 200 came after the next two probes.
    equal(lines(begun), ["begin"] + ["term", "begin"] * status(m, "live")["restartCount"])
    m.ok("delete", "pod", "live", "--grace-period=0", "--force")
    n = len(server.asked)
    wait(lambda: m.phase("live") is None, "it is gone")
    time_ns = time.monotonic_ns()
    wait(lambda: time.monotonic_ns() - time_ns > 2_500_000_000, "two periods")
    check(len(server.asked) <= n + 1, "nobody is asked after the end")


def redirects_of_the_same_host_are_followed(m, server):
    server.status = 302
    server.asked.clear()
    start(m, "moved", "exec sleep 1000",
          readinessProbe={"httpGet": {"host": "127.0.0.1", "port": server.port, "path": "/"}, **EVERY_SECOND})
    wait_event(m, "moved", "Unhealthy", "statuscode: 500")
    equal([path for path, _ in server.asked[:3]], ["/", "/elsewhere", "/end"])
    m.ok("delete", "pod", "moved", "--grace-period=0", "--force")


def an_open_port_is_enough(m):
    start(m, "port", "sleep 1; exec python3 -c 'import socket,time; s=socket.create_server((\"\", 18123)); "
                     "time.sleep(1000)'", ports=[{"name": "web", "containerPort": 18123}],
          readinessProbe={"tcpSocket": {"port": "web"}, **EVERY_SECOND},
          livenessProbe={"tcpSocket": {"port": 18123}, **EVERY_SECOND, "failureThreshold": 30})
    wait_event(m, "port", "Unhealthy", "connection refused")
    m.ok("wait", "pod/port", "--for=condition=Ready", "--timeout=600s")
    m.ok("delete", "pod", "port", "--grace-period=0", "--force")


def what_never_restarts_fails(m):
    start(m, "once", "exec sleep 1000", restart="Never",
          startupProbe={"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 1,
                        "terminationGracePeriodSeconds": 1})
    m.wait_phase("once", "Failed")
    wait_event(m, "once", "Killing", "Container main failed startup probe")
    equal(status(m, "once")["restartCount"], 0)
    start(m, "missing", "exec sleep 1000", livenessProbe={"exec": {"command": ["/no/such"]}, "periodSeconds": 1,
                                                          "failureThreshold": 1})
    wait_event(m, "missing", "Unhealthy", "Liveness probe errored and resulted in unknown state")
    equal(status(m, "missing")["restartCount"], 0, "what cannot be asked says nothing")


def a_probe_that_hangs_fails_in_time(m):
    started = f"{m.dir}/hangs"
    start(m, "hangs", "exec sleep 1000", restart="Never",
          livenessProbe={"exec": {"command": ["sh", "-c", f"echo $$ >>{started}; sleep 1000"]}, "periodSeconds": 1,
                         "timeoutSeconds": 1, "failureThreshold": 2})
    wait_event(m, "hangs", "Unhealthy", "timed out")
    m.wait_phase("hangs", "Failed")
    equal(len(lines(started)), 2)


def what_is_not_implemented_is_refused(m):
    for part, word in (({"livenessProbe": {"grpc": {"port": 0}}}, "livenessProbe.grpc.port"),
                       ({"livenessProbe": {"grpc": {"port": 1}, "exec": {"command": ["a"]}}}, "may not specify more than 1 handler type"),
                       ({"lifecycle": {"preStop": {"tcpSocket": {"port": 1}}}}, "preStop.tcpSocket"),
                       ({"readinessProbe": {"exec": {"command": ["a"]}, "successThreshold": -1}}, "successThreshold"),
                       ({"livenessProbe": {}}, "must specify a handler type")):
        r = m.kubectl("apply", "-f", "-", stdin=pod("wrong", "", containers=container("true", **part)))
        check(r.code != 0 and word in r.err, part, r)
    r = m.kubectl("apply", "-f", "-", stdin=pod("wrong", "true", readinessGates=[{"conditionType": "a/b"}]))
    check(r.code != 0 and "readinessGates" in r.err, r)


def survives_the_node(m):
    flag, asked = f"{m.dir}/well", f"{m.dir}/well-asked"
    open(flag, "w").close()
    start(m, "stays", "exec sleep 1000",
          startupProbe={"exec": {"command": ["test", "-e", flag]}, **EVERY_SECOND},
          readinessProbe={"exec": {"command": ["sh", "-c", f"echo x >>{asked}; test -e {flag}"]}, **EVERY_SECOND},
          livenessProbe={"exec": {"command": ["true"]}, **EVERY_SECOND})
    m.ok("wait", "pod/stays", "--for=condition=Ready", "--timeout=600s")
    since = condition(m, "stays", "Ready")["lastTransitionTime"]
    before = status(m, "stays")["containerID"]
    os.kill(m.child("node"), signal.SIGKILL)
    n = len(lines(asked))
    wait(lambda: len(lines(asked)) > n + 2, "a new node asks the containers that it found")
    c = condition(m, "stays", "Ready")
    equal((c["status"], c["lastTransitionTime"]), ("True", since), "it was ready all the time")
    equal(status(m, "stays")["containerID"], before)
    os.unlink(flag)
    m.ok("wait", "pod/stays", "--for=condition=Ready=false", "--timeout=600s")
    equal(status(m, "stays")["restartCount"], 0)


def test_lifecycle_hooks():
    with Mete() as m, m.unharmed():
        post_start_comes_before_running(m)
        post_start_that_fails_ends_it(m)
        pre_stop_comes_before_sigterm(m)
        pre_stop_counts_against_the_grace(m)


def post_start_comes_before_running(m):
    go, second = f"{m.dir}/go", f"{m.dir}/second"
    both = container("exec sleep 1000", lifecycle={"postStart": {"exec": {
        "command": ["sh", "-c", f"while ! test -e {go}; do sleep 0.1; done"]}}})
    both.append({"name": "after", "image": "host", "command": ["sh", "-c", f"touch {second}; exec sleep 1000"]})
    m.ok("apply", "-f", "-", stdin=pod("hooked", "", containers=both, restartPolicy="Always"))
    wait(lambda: "ContainerCreating" in json.dumps(m.object("pod", "hooked")["status"]), "it is being created")
    check(not os.path.exists(second), "the next container waits for postStart")
    check(m.phase("hooked") == "Pending", "not running before postStart is done")
    open(go, "w").close()
    m.ok("wait", "pod/hooked", "--for=condition=Ready", "--timeout=600s")
    wait(lambda: os.path.exists(second), "the next container comes after it")
    m.ok("delete", "pod", "hooked", "--grace-period=0", "--force")


def post_start_that_fails_ends_it(m):
    start(m, "unhooked", "exec sleep 1000", restart="Never", spec={"terminationGracePeriodSeconds": 1},
          lifecycle={"postStart": {"exec": {"command": ["sh", "-c", "echo secret; exit 1"]}}})
    m.wait_phase("unhooked", "Failed")
    equal(wait_event(m, "unhooked", "FailedPostStartHook", "")["message"], "PostStartHook failed: exit code 1")
    wait_event(m, "unhooked", "Killing", "FailedPostStartHook")
    start(m, "hookless", "exec sleep 1000", restart="Never", spec={"terminationGracePeriodSeconds": 1},
          lifecycle={"postStart": {"exec": {"command": ["no-such-hook"]}}})
    m.wait_phase("hookless", "Failed")
    check("not found" in wait_event(m, "hookless", "FailedPostStartHook", "PostStartHook failed: ")["message"])
    said = m.log_text()
    check("exit code 1" in said and "no-such-hook" in said, "the log knows why, too", said)
    check("secret" not in m.ok("get", "events") + said, "what the hook wrote is told to nobody")


def pre_stop_comes_before_sigterm(m):
    order = f"{m.dir}/order"
    with Server() as server:
        start(m, "stops", f"trap 'echo term >>{order}; exit 0' TERM; while :; do sleep 0.1; done",
              lifecycle={"postStart": {"httpGet": {"host": "127.0.0.1", "port": server.port, "path": "/began"}},
                         "preStop": {"exec": {"command": ["sh", "-c", f"sleep 1; echo stop >>{order}"]}}})
        m.ok("wait", "pod/stops", "--for=condition=Ready", "--timeout=600s")
        equal([path for path, _ in server.asked], ["/began"])
        m.ok("delete", "pod", "stops", "--timeout=600s")
        equal(lines(order), ["stop", "term"])


def pre_stop_counts_against_the_grace(m):
    for name, hook in (("hung", {"exec": {"command": ["sleep", "1000"]}}), ("sleepy", {"sleep": {"seconds": 2}})):
        start(m, name, "trap '' TERM; while :; do sleep 0.1; done", spec={"terminationGracePeriodSeconds": 2},
              lifecycle={"preStop": hook})
        m.ok("wait", f"pod/{name}", "--for=condition=Ready", "--timeout=600s")
        began = time.monotonic()
        m.ok("delete", "pod", name, "--timeout=600s")
        took = time.monotonic() - began
        check(3 < took < 20, f"2 s of grace, then 2 s for SIGTERM: {took:.1f} s")
    wait_event(m, "hung", "FailedPreStopHook", "PreStopHook failed")


def test_last_words():
    with Mete() as m, m.unharmed():
        for name, script, more, want in (
                ("says", "printf 'all is lost' >/dev/termination-log; exit 3", {}, "all is lost"),
                ("elsewhere", "echo bye >/dev/last", {"terminationMessagePath": "/dev/last"}, "bye\n"),
                ("silent", "echo one; exit 1", {}, None),
                ("logged", "echo one; echo two >&2; exit 1",
                 {"terminationMessagePolicy": "FallbackToLogsOnError"}, "one\ntwo\n"),
                ("well", "echo one; exit 0", {"terminationMessagePolicy": "FallbackToLogsOnError"}, None),
                ("long", "head -c 100000 /dev/zero | tr '\\0' x >/dev/termination-log", {}, "x" * 4096),
                ("many", "seq 200; exit 1", {"terminationMessagePolicy": "FallbackToLogsOnError"},
                 "".join(f"{i}\n" for i in range(121, 201))),
        ):
            start(m, name, script, restart="Never", **more)
            m.wait_phase(name, ("Succeeded", "Failed"))
            equal(status(m, name)["state"]["terminated"].get("message"), want, name)
        start(m, "outside", "true", restart="Never", terminationMessagePath=f"{m.dir}/words")
        wait(lambda: "terminationMessagePath" in json.dumps(status(m, "outside")), "nothing is made on the host")
        check(not os.path.exists(f"{m.dir}/words"), "nothing is made on the host")
        # The file is a mount: a container can neither remove it nor replace it by a link.
        start(m, "sly", "rm -f /dev/termination-log; ln -sf /etc/hostname /dev/termination-log; "
                        "mv /etc/hostname /dev/termination-log; echo tried", restart="Never")
        m.wait_phase("sly", ("Succeeded", "Failed"))
        equal(status(m, "sly")["state"]["terminated"].get("message"), None)
        equal(subprocess.run(["test", "-s", "/etc/hostname"], check=False).returncode, 0, "the host's is as it was")


# The health service of gRPC, by the official library.
HEALTH = r"""
import sys, grpc
from concurrent import futures

def check(request, context):
    if request == b"\n\x07missing":
        context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
    return b"\x08\x02" if request == b"\n\x04sick" else b"\x08\x01"

server = grpc.server(futures.ThreadPoolExecutor(4))
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(
    "grpc.health.v1.Health", {"Check": grpc.unary_unary_rpc_method_handler(check)}),))
port = server.add_insecure_port("0.0.0.0:0")
server.start()
print(port, flush=True)
sys.stdin.read()
"""


def test_probes_by_grpc():
    with Mete("none") as m, subprocess.Popen(["/usr/bin/python3", "-c", HEALTH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        port = int(server.stdout.readline())
        for name, more, said in (("well", {}, None), ("sick", {"service": "sick"}, 'service unhealthy (responded with "NOT_SERVING")'),
                                 ("missing", {"service": "missing"}, "health rpc probe failed: gRPC status 5"),
                                 ("long", {"service": "s" * 200}, None)):
            start(m, name, "exec sleep 1000", readinessProbe={"grpc": {"port": port, **more}, "periodSeconds": 1, "timeoutSeconds": 20})
            if said:
                wait_event(m, name, "Unhealthy", said)
            else:
                m.ok("wait", f"pod/{name}", "--for=condition=Ready", "--timeout=600s")
        server.stdin.close()
        server.wait(60)
        wait_event(m, "well", "Unhealthy", "connect")
