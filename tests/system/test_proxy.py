"""pods/proxy and services/proxy: HTTP requests to a pod's port through the API server (docs/exec.md)."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import threading
import urllib.request

from door import Door
from harness import KUBECTL, Mete, check, equal, execute, wait

# Answers with what it got, but for the paths below.
SERVER = r"""
import http.server, json, ssl, sys, threading
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        words = self.path.split("/")
        if words[1] == "to":  # where Location leads
            self.send_response(302)
            self.send_header("Location", self.headers["X-To"])
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif words[1] == "echo":  # after an upgrade; "bye" ends it
            self.send_response(101)
            self.send_header("Upgrade", "echo")
            self.send_header("Connection", "Upgrade")
            self.end_headers()
            while (data := self.rfile.read1(65536)) not in (b"", b"bye"):
                self.wfile.write(data)
            self.close_connection = True
        elif words[1] == "none":
            self.send_response(204)
            self.end_headers()
        elif words[1] == "send":  # so many bytes, in chunks
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for _ in range(int(words[2]) // 65536):
                self.wfile.write(b"10000\r\n" + bytes(65536) + b"\r\n")
            self.wfile.write(b"0\r\n\r\n")
        elif words[1] == "short":  # less than promised
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"short")
            self.close_connection = True
        else:
            text = json.dumps([self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, len(body)]).encode()
            self.send_response(404 if words[1] == "missing" else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("X-Own", "yes")
            self.send_header("Keep-Alive", "timeout=5")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(text)
    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer
    def log_message(self, *_):
        pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H)
tls = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), H)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[3])
tls.socket = context.wrap_socket(tls.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=tls.serve_forever, daemon=True).start()
print("listens", flush=True)
s.serve_forever()
"""

NS = "/api/v1/namespaces/default"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(m):
    """A pod with the server above: its port, and that with TLS."""
    port, tls = free_port(), free_port()
    pem = os.path.join(m.dir, "web.pem")
    r = execute(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=web", "-keyout", pem + ".key", "-out", pem])
    check(r.code == 0, "openssl", r)
    with open(pem, "a") as f, open(pem + ".key") as key:
        f.write(key.read())
    os.chmod(pem, 0o644)
    m.ok("apply", "-f", "-", stdin=json.dumps({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [
            {"name": "main", "image": "host", "command": ["python3", "-c", SERVER, str(port), str(tls), pem], "ports": [{"containerPort": port, "name": "http"}],
             "securityContext": {"runAsUser": 65534}}]}}))
    m.wait_phase("web", "Running")
    wait(lambda: m.kubectl("logs", "web").out == "listens\n", "the server listens")
    return port, tls


class Client:
    def __init__(self, m):
        self.door = Door(m)

    def ask(self, method, path, body=None, **headers):
        c = http.client.HTTPSConnection(*self.door.address, context=self.door.tls, timeout=60)
        with contextlib.closing(c):
            c.request(method, NS + path, body, {k.replace("_", "-"): v for k, v in headers.items()})
            r = c.getresponse()
            return r.status, r.headers, r.read()

    def refused(self, status, path, said):
        got, _, text = self.ask("GET", path)
        equal(got, status, text)
        check(said in json.loads(text)["message"], text)


def test_requests_reach_pods_and_services():
    with Mete("none") as m:
        port, tls = start(m)
        client = Client(m)
        with m.unharmed(clean=False):
            methods_and_paths_pass(client, port)
            headers_pass(client, port)
            verbs_are_those_of_methods(m, client)
            locations_lead_through_the_proxy(client, port)
            bodies_are_streams(client)
            pods_may_speak_tls(client, port, tls)
            connections_are_upgraded(client, port, tls)
            what_cannot_be_is_named(client, port)
            services_lead_to_their_pods(m, client, port)
            programs_get_through(m, port)
        lines = [json.loads(line) for line in m.mete("audit", "-o", "jsonl").out.splitlines()]
        check([a for a in lines if a.get("subresource") == "proxy" and a.get("resource") == "services"], lines[-3:])


def methods_and_paths_pass(client, port):
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        status, _, text = client.ask(method, f"/pods/web:{port}/proxy/some//path/%2f../?a=b&c=%20d", b"x" * 10 if method[0] == "P" else None)
        equal(status, 200, text)
        equal(json.loads(text)[:2] + json.loads(text)[3:], [method, "/some//path/%2f../?a=b&c=%20d", 10 if method[0] == "P" else 0])
    status, headers, text = client.ask("HEAD", f"/pods/web:{port}/proxy/")
    check(status == 200 and text == b"" and int(headers["Content-Length"]) > 10, status, headers)
    equal(json.loads(client.ask("POST", "/pods/web/proxy?x=1", b"")[2])[:2], ["POST", "/?x=1"])  # the pod's first port
    equal(client.ask("POST", f"/pods/http:web:{port}/proxy/a/b/c/d/e/f/g", b"y" * 3_000_000)[0], 200)
    for method in ("GET", "HEAD"):  # relative links need the slash
        status, headers, _ = client.ask(method, "/pods/web/proxy?x=1")
        equal((status, headers["Location"]), (301, f"{NS}/pods/web/proxy/?x=1"))


def headers_pass(client, port):
    status, headers, text = client.ask("GET", "/pods/web/proxy/missing", X_One="1", Connection="close, X-Two", X_Two="2", Te="trailers", Cookie="a=b")
    got = json.loads(text)[2]
    equal((status, headers["X-Own"], headers["Keep-Alive"], headers["Content-Type"]), (404, "yes", None, "application/json"))
    equal([got.get(k) for k in ("x-one", "x-two", "te", "cookie", "authorization", "connection")], ["1", None, None, "a=b", None, "close"])
    equal((got["x-forwarded-uri"], got["x-forwarded-for"]), (f"{NS}/pods/web/proxy/missing", "127.0.0.1"))


def verbs_are_those_of_methods(m, client):
    m.ok("create", "role", "reader", "--verb=get", "--resource=pods/proxy")
    m.ok("create", "rolebinding", "reader", "--role=reader", "--user=ann")
    equal(client.ask("POST", "/pods/web/proxy/x", b"", Impersonate_User="ann")[0], 403)
    equal(client.ask("GET", "/services/web/proxy/x", Impersonate_User="ann")[0], 403)
    status, _, text = client.ask("GET", "/pods/web/proxy/x", Impersonate_User="ann")
    equal((status, [k for k in json.loads(text)[2] if k.startswith("impersonate")]), (200, []))


def locations_lead_through_the_proxy(client, port):
    own = f"{NS}/pods/web:{port}/proxy"
    here = ":".join(map(str, client.door.address))
    for to, seen in (("/next?x=1", own + "/next?x=1"), ("next", "next"), (own + "/next", own + "/next"), ("https://example.org/next", "https://example.org/next"),
                     (f"https://{here}/next", own + "/next"), (f"http://{here}", own + "/"), ("//example.org/x", "//example.org/x")):
        status, headers, _ = client.ask("GET", f"/pods/web:{port}/proxy/to", X_To=to)
        equal((status, headers["Location"]), (302, seen), to)


def bodies_are_streams(client):
    status, _, text = client.ask("GET", f"/pods/web/proxy/send/{64 << 20}")
    equal((status, len(text)), (200, 64 << 20))
    equal(client.ask("GET", "/pods/web/proxy/none")[::2], (204, b""))
    status = None
    with contextlib.suppress(http.client.HTTPException, OSError):
        status = client.ask("GET", "/pods/web/proxy/short")
    equal(status, None, "the client sees that the answer is not whole")


def pods_may_speak_tls(client, port, tls):
    """Their certificates are not verified, as in Kubernetes."""
    status, _, text = client.ask("PUT", f"/pods/https:web:{tls}/proxy/a?b=c", b"x" * 100_000)
    equal((status, json.loads(text)[:2], json.loads(text)[3]), (200, ["PUT", "/a?b=c"], 100_000))
    status, _, text = client.ask("GET", f"/pods/https:web:{tls}/proxy/send/{16 << 20}")
    equal((status, len(text)), (200, 16 << 20))
    client.refused(503, f"/pods/https:web:{port}/proxy/", "error trying to reach service: TLS: ")
    client.refused(503, f"/pods/web:{tls}/proxy/", "error trying to reach service: ")


def connections_are_upgraded(client, port, tls):
    for name in (f"web:{port}", f"https:web:{tls}"):
        with client.door.connect_unix() as s:
            s.sendall(f"GET {NS}/pods/{name}/proxy/echo HTTP/1.1\r\nHost: m\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n".encode())
            f = s.makefile("rb")
            check(f.readline().startswith(b"HTTP/1.1 101 "))
            head = b"".join(iter(f.readline, b"\r\n")).lower()
            check(b"upgrade: echo\r\n" in head and head.count(b"connection:") == 1, head)
            for size in (1, 1000, 60_000, 1_000_000):
                sender = threading.Thread(target=s.sendall, args=(bytes(size),))
                sender.start()
                equal(len(f.read(size)), size)
                sender.join()
            s.sendall(b"bye")
            equal(f.read(), b"")
        status, _, text = client.ask("GET", f"/pods/{name}/proxy/", Connection="Upgrade", Upgrade="echo")
        equal((status, json.loads(text)[2]["upgrade"]), (200, "echo"))  # the pod does not want to


def what_cannot_be_is_named(client, port):
    client.refused(404, "/pods/none/proxy/", 'pods "none" not found')
    client.refused(400, "/pods/a:b:c:d/proxy/", "invalid pod request")
    client.refused(400, "/pods/ftp:web:1/proxy/", "invalid pod request")
    client.refused(400, "/pods/web:0/proxy/", "the port is not a number of 1 to 65535")
    client.refused(503, f"/pods/web:{free_port()}/proxy/", "error trying to reach service: ")


def services_lead_to_their_pods(m, client, port):
    def service(name, **spec):
        return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}

    target = {"kind": "Pod", "name": "web", "namespace": "default"}
    subset = {"addresses": [{"ip": "10.9.8.7", "targetRef": target}], "ports": [{"name": "http", "port": port}, {"name": "other", "port": 1}]}
    m.ok("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        service("web", ports=[{"name": "http", "port": 80}, {"name": "other", "port": 81}]),
        {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "web"}, "subsets": [subset]},
        service("empty", ports=[{"port": 80}], selector={"app": "none"}),
        service("outside", ports=[{"port": 80}]),
        {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "outside"},
         "subsets": [{"addresses": [{"ip": "10.9.8.7"}], "ports": [{"port": 80}]}]}]}))
    for name in ("web:80", "web:http", "http:web:http"):
        status, _, text = client.ask("PUT", f"/services/{name}/proxy/a?b=c", b"z")
        equal((status, json.loads(text)[:2]), (200, ["PUT", "/a?b=c"]), name)
    client.refused(503, "/services/web:82/proxy/", 'no service port 82 found for service "web"')
    client.refused(503, "/services/web:none/proxy/", 'no endpoints available for service "web"')
    client.refused(503, "/services/web:other/proxy/", "error trying to reach service: ")
    client.refused(503, "/services/empty/proxy/", 'no endpoints available for service "empty"')
    client.refused(503, "/services/outside/proxy/", "only pods are reached")
    client.refused(404, "/services/missing/proxy/", 'services "missing" not found')


def programs_get_through(m, port):
    equal(json.loads(m.ok("get", "--raw", f"{NS}/pods/web:{port}/proxy/x?y=z"))[:2], ["GET", "/x?y=z"])
    m.ok("cluster-info")
    proxy = subprocess.Popen([KUBECTL, "proxy", "--port=0"], env=m.env, stdout=subprocess.PIPE, text=True)
    try:
        own = int(proxy.stdout.readline().rsplit(":", 1)[1])
        with urllib.request.urlopen(f"http://127.0.0.1:{own}{NS}/services/web:http/proxy/through", timeout=60) as r:
            equal(json.loads(r.read())[:2], ["GET", "/through"])
    finally:
        proxy.kill()
        proxy.wait()
        proxy.stdout.close()
