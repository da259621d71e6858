"""A webhook for tests: an HTTPS server whose answers are Python functions, with a certificate of its own authority."""

import base64
import contextlib
import http.server
import json
import os
import socket
import ssl
import subprocess
import tempfile
import threading


class Certificates:
    """An authority and a server's certificate for these names, made by openssl."""

    def __init__(self, *names):
        self.dir = tempfile.mkdtemp(prefix="mete-hook-")
        alt = ",".join(("IP:" if n[0].isdigit() else "DNS:") + n for n in names)
        self.run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                 "-subj", "/CN=hook-ca", "-keyout", self.path("ca.key"), "-out", self.path("ca.crt"))
        self.run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=hook",
                 "-keyout", self.path("tls.key"), "-out", self.path("tls.csr"))
        with open(self.path("ext"), "w", encoding="ascii") as f:
            f.write(f"subjectAltName={alt}\n")
        self.run("x509", "-req", "-in", self.path("tls.csr"), "-CA", self.path("ca.crt"), "-CAkey", self.path("ca.key"),
                 "-CAcreateserial", "-days", "2", "-extfile", self.path("ext"), "-out", self.path("tls.crt"))
        with open(self.path("ca.crt"), "rb") as f:
            self.bundle = base64.b64encode(f.read()).decode()

    @staticmethod
    def run(*words):
        subprocess.run(["openssl", *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def path(self, name):
        return os.path.join(self.dir, name)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.hook.serve(self, json.loads(body))

    def do_GET(self):
        self.server.hook.serve(self, None)

    def log_message(self, *words):
        pass


class Hook:
    """Serves paths: `answers[path]` is a function of an AdmissionRequest, which returns a response or raw bytes."""

    def __init__(self, certificates):
        self.certificates = certificates
        self.asked = []
        self.answers = {}
        self.stop = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("0.0.0.0", 0), Handler)
        self.server.daemon_threads = True
        self.server.hook = self
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates.path("tls.crt"), certificates.path("tls.key"))
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.stop.set()
        self.server.shutdown()
        self.server.server_close()

    def serve(self, handler, review):
        path = handler.path.split("?")[0]
        request = review["request"] if review else None
        if request:
            self.asked.append((path, request))
        made = self.answers[path](request)
        if made is None:
            return
        if isinstance(made, dict):
            made = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                               "response": {"uid": request["uid"], **made}}).encode()
        with contextlib.suppress(OSError):
            handler.send_response(200)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Content-Length", str(len(made)))
            handler.end_headers()
            handler.wfile.write(made)

    def of(self, path):
        return [r for p, r in self.asked if p == path]

    def client(self, path):
        return {"url": f"https://127.0.0.1:{self.port}{path}", "caBundle": self.certificates.bundle}


def own_address():
    """An address of this machine that is not of the loopback; None: there is none."""
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as s:
        try:
            s.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return s.getsockname()[0]


def patch(*operations):
    return {"allowed": True, "patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(operations).encode()).decode()}


def rule(*resources, operations=("CREATE", "UPDATE"), groups=("*",), versions=("*",), **more):
    return {"operations": list(operations), "apiGroups": list(groups), "apiVersions": list(versions),
            "resources": list(resources), **more}


def webhook(hook, path, *rules, name=None, **more):
    return {"name": name or f"{path[1:]}.hooks.example.com", "clientConfig": hook.client(path), "rules": list(rules),
            "sideEffects": "None", "admissionReviewVersions": ["v1"], **more}
