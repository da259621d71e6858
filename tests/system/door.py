"""HTTP requests of a hostile client: arbitrary bytes, over TLS with the administrator's certificate or raw."""

import base64
import contextlib
import http.client
import json
import os
import re
import socket
import ssl

PODS = "/api/v1/namespaces/default/pods"


class Door:
    def __init__(self, m):
        with open(os.path.join(m.data, "kubeconfig")) as f:
            text = f.read()

        def data(key):
            return base64.b64decode(re.search(key + "-data: (.*)", text)[1])

        host, port = re.search(r"server: https://([0-9.]+):([0-9]+)", text).groups()
        self.address = (host, int(port))
        self.unix = os.path.join(m.data, "mete.sock")
        self.tls = ssl.create_default_context(cadata=data("certificate-authority").decode())
        pem = os.path.join(m.home, "admin.pem")
        with open(os.open(pem, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(data("client-certificate") + data("client-key"))
        self.tls.load_cert_chain(pem)
        self.warnings = []

    def ask(self, method, path, body=None, kind="application/json"):
        """Sends a request. Returns the status and the body, parsed if it is JSON."""
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        c = http.client.HTTPSConnection(*self.address, context=self.tls, timeout=30)
        with contextlib.closing(c):
            with contextlib.suppress(BrokenPipeError, ConnectionResetError, ssl.SSLError):
                c.request(method, path, body, {"Content-Type": kind})  # the server answers a too large body midway
            r = c.getresponse()
            self.warnings = r.headers.get_all("Warning") or []  # of the last answer
            text = r.read()
        with contextlib.suppress(ValueError):
            return r.status, json.loads(text)
        return r.status, text

    def connect_unix(self):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(20)
        s.connect(self.unix)
        return s

    def connect_tls(self):
        s = socket.create_connection(self.address, timeout=20)
        return self.tls.wrap_socket(s, server_hostname=self.address[0])

    def raw(self, octets):
        """Sends bytes that close the connection or are malformed. Returns all bytes up to the server's close."""
        with self.connect_unix() as s:
            s.sendall(octets)
            got = b""
            with contextlib.suppress(ConnectionResetError):
                while piece := s.recv(65536):
                    got += piece
        return got


def memory_kib(pid):
    """The process's peak memory."""
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmHWM:\s*(\d+)", f.read())[1])
