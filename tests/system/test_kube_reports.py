"""mete why, free and gpus on a cluster: the scheduler's reports, through an API server that is Mete's own behind a front proxy."""

import http.client
import http.server
import json
import os
import re
import socket
import socketserver
import ssl
import threading

from harness import METE, Mete, check, equal, execute, pod, wait
from kube_reports import check_users
from queue_objects import install_kueue, kueue
from test_kube_scheduler import NAME, certificates, manifest, scheduler

GROUP = "/apis/reports.mete.dev"
API_SERVICE = "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.reports.mete.dev"
SLICE = "/apis/discovery.k8s.io/v1/namespaces/mete-system/endpointslices/mete-scheduler"
# What a kube-apiserver has of mete.dev: the kinds that the definitions make.
OURS_ALONE = re.compile(r"/mete\.dev/|/apis/mete\.dev/v1/(namespaces/[^/]+/)?(?!queues|reservations|namespaces)[a-z]")


class FrontProxy:
    """A kube-apiserver's way with reports.mete.dev: it authenticates the user, asks whether the path is allowed, and forwards the request to the
    door of the scheduler with the user's name, by a certificate of its own. Other requests go to Mete's server, by HTTP at self.url."""

    def __init__(self, server, files, door):
        self.server, self.files, self.door = server, files, door
        self.authority = None  # of the door's certificate, as the scheduler tells in the APIService
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def __getattr__(self, name):
                if name.startswith("do_"):
                    return lambda: proxy.serve(self, name[3:])
                raise AttributeError(name)

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a client that has gone

        self.http = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()

    def connect(self):
        host, port = self.server["server"].removeprefix("https://").split(":")
        context = ssl.create_default_context(cafile=self.server["certificate-authority"])
        return http.client.HTTPSConnection(host, int(port), context=context)

    def ask(self, h, path, body):
        """An answer of Mete's server to the user of a request."""
        c = self.connect()
        c.request("POST", path, json.dumps(body), {"Authorization": h.headers.get("Authorization") or "", "Content-Type": "application/json"})
        r = c.getresponse()
        return r.status, json.loads(r.read())

    def serve(self, h, method):
        path = h.path.split("?")[0]
        body = h.rfile.read(int(h.headers.get("Content-Length") or 0))
        if path == API_SERVICE and method == "PATCH":
            self.authority = json.loads(body)["spec"]["caBundle"]
            return answer(h, 200, body)
        if path == SLICE and method == "PATCH":  # servers refuse loopback addresses, and the door has no other here
            equal(json.loads(body)["endpoints"][0]["addresses"], [self.door[0]])
            return answer(h, 200, body)
        if OURS_ALONE.match(path):
            return answer(h, 404, b'{"kind":"Status","code":404,"reason":"NotFound","message":"the server could not find the requested resource"}')
        if path.startswith(GROUP):
            return self.forward_report(h, method, path)
        c = self.connect()
        c.request(method, h.path, body, {k: v for k, v in h.headers.items() if k.lower() not in ("host", "connection")})
        return relay(h, c.getresponse())

    def forward_report(self, h, method, path):
        status, review = self.ask(h, "/apis/authentication.k8s.io/v1/selfsubjectreviews", {"apiVersion": "authentication.k8s.io/v1",
                                                                                           "kind": "SelfSubjectReview"})
        if status != 201:
            return answer(h, 401, json.dumps(review).encode())
        parts = path.removeprefix(GROUP).strip("/").split("/")[1:]
        namespace = parts[1] if parts[:1] == ["namespaces"] and len(parts) > 2 else ""
        parts = parts[2:] if namespace else parts
        if parts:
            attributes = {"verb": "get" if parts[1:] else "list", "group": "reports.mete.dev", "version": "v1alpha1", "resource": parts[0],
                          "namespace": namespace, "name": "".join(parts[1:2])}
            _, access = self.ask(h, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
                "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": attributes}})
            if not access["status"]["allowed"]:
                return answer(h, 403, b'{"kind":"Status","code":403,"reason":"Forbidden","message":"forbidden"}')
        if not self.authority:
            return answer(h, 503, b'{"kind":"Status","code":503,"reason":"ServiceUnavailable","message":"no endpoint"}')
        user = review["status"]["userInfo"]
        lines = [f"{method} {h.path} HTTP/1.1", "Host: mete-scheduler", "Connection: close", f"X-Remote-User: {user['username']}",
                 *(f"X-Remote-Group: {group}" for group in user.get("groups", []))]
        with self.open_door() as s:
            s.sendall("\r\n".join([*lines, "", ""]).encode())
            r = http.client.HTTPResponse(s)
            r.begin()
            return relay(h, r)

    def open_door(self):
        context = ssl.create_default_context(cadata=text_of(self.authority))
        context.load_cert_chain(self.files["client.crt"], self.files["client.key"])
        return context.wrap_socket(socket.create_connection(self.door), server_hostname="mete-scheduler.mete-system.svc")


def text_of(bundle):
    return execute(["base64", "-d"], stdin=bundle).out


def answer(h, status, body):
    h.send_response(status)
    h.send_header("Content-Type", "application/json")
    h.send_header("Content-Length", str(len(body)))
    h.end_headers()
    h.wfile.write(body)


def relay(h, r):
    """Gives the answer on as it comes: it may be a watch."""
    h.send_response(r.status)
    for name in ("Content-Type", "Warning"):
        if r.headers.get(name):
            h.send_header(name, r.headers[name])
    h.send_header("Connection", "close")
    h.end_headers()
    while piece := r.read1(65536):
        h.wfile.write(piece)
        h.wfile.flush()
    h.close_connection = True


class OwnCluster:
    """As kube_reports.py wants a cluster."""

    def __init__(self, m, proxy):
        self.m, self.proxy = m, proxy
        self.ok, self.get = m.ok, m.object
        self.reports = ":".join(map(str, proxy.door))
        self.env = {**m.env, "METE_DATA": "", "METE_KUBECONFIG": self.kubeconfig_of("mete-system", "mete-scheduler")}

    def apply(self, *objects):
        self.m.ok("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))

    def kubeconfig_of(self, namespace, account):
        token = self.m.ok("create", "token", account, "-n", namespace).strip()
        path = os.path.join(self.m.dir, f"{account}.kubeconfig")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"clusters": [{"name": "c", "cluster": {"server": self.proxy.url}}], "users": [{"name": "u", "user": {"token": token}}],
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": namespace}}], "current-context": "c"}, f)
        return path

    def pod(self, name, namespace, gpus):
        return json.loads(pod(name, "sleep 1000", gpus, namespace, schedulerName=NAME))


def test_users_ask_a_cluster_with_their_own_rights():
    with Mete("emulated:8xH100") as m:
        server = json.loads(m.ok("config", "view", "--raw", "--flatten", "-o", "json"))["clusters"][0]["cluster"]
        authority = os.path.join(m.dir, "server-ca.crt")
        with open(authority, "w", encoding="utf-8") as f:
            f.write(text_of(server["certificate-authority-data"]))
        files = certificates(m.dir)
        with socket.create_server(("127.0.0.1", 0)) as s:
            door = s.getsockname()
        with FrontProxy({"server": server["server"], "certificate-authority": authority}, files, door) as proxy:
            m.ok("create", "namespace", "mete-system")
            m.ok("create", "serviceaccount", "mete-scheduler", "-n", "mete-system")
            m.ok("create", "clusterrolebinding", "scheduler", "--clusterrole=cluster-admin", "--serviceaccount=mete-system:mete-scheduler")
            c = OwnCluster(m, proxy)
            c.apply(*(o for o in manifest(m, "mete-scheduler.yaml", "ClusterRole", "ClusterRoleBinding") if o["metadata"]["name"] in (
                "mete-reports", "mete-user")))
            with open(files["ca.crt"], encoding="utf-8") as f:
                c.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"},
                         "data": {"requestheader-client-ca-file": f.read(), "requestheader-allowed-names": '["client"]',
                                  "requestheader-username-headers": '["X-Remote-User"]'}})
            install_kueue(m)
            c.apply(json.loads(kueue("ClusterQueue", "theirs", queueingStrategy="StrictFIFO")))
            with scheduler(m, "--reports", c.reports, env=c.env):
                wait(lambda: proxy.authority, "the APIService")
                r = execute([METE, "queues", "-o", "wide"], env=c.env)
                check("ClusterQueue.kueue.x-k8s.io theirs" in r.out and "StrictFIFO" in r.out and "SOURCE" in r.out, r)
                check_users(c)
