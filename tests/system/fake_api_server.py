"""An API server that knows objects by their paths, and no more: for tests of programs beside a kubelet."""

import http.server
import json
import queue
import re
import socketserver
import threading
import urllib.parse


class FakeApiServer:
    """Serves lists, watches, reads and writes at self.url. Objects: self.objects, {path: object}; `refine` may change an object
    that is written, as a server drops members that it does not know."""

    def __init__(self, claim_versions=("v1",)):
        self.lock = threading.RLock()
        self.objects = {}
        self.version = 1
        self.watches = []
        self.calls = []
        self.refine = lambda o: o
        self.claim_versions = claim_versions
        self.is_away = False
        self.lists = {"resourceslices", "nodes"}  # the kinds that it has
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def __getattr__(self, name):
                if name.startswith("do_"):
                    return lambda: fake.serve(self, name[3:])
                raise AttributeError(name)

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a client that has gone

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def kubeconfig(self, path):
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"clusters": [{"name": "c", "cluster": {"server": self.url}}],
                       "contexts": [{"name": "c", "context": {"cluster": "c"}}], "current-context": "c"}, f)
        return path

    def put(self, path, o):
        """Creates or replaces an object, as its watchers see it."""
        with self.lock:
            kind = "MODIFIED" if path in self.objects else "ADDED"
            self.version += 1
            o = self.refine(json.loads(json.dumps(o)))
            o.setdefault("metadata", {}).setdefault("uid", f"00000000-0000-0000-0000-{self.version:012d}")
            o["metadata"]["resourceVersion"] = str(self.version)
            self.objects[path] = o
            self.tell(path, kind, o)
            return o

    def remove(self, path):
        with self.lock:
            o = self.objects.pop(path)
            self.version += 1
            o["metadata"]["resourceVersion"] = str(self.version)
            self.tell(path, "DELETED", o)
            return o

    def tell(self, path, kind, o):
        for start, events in self.watches:
            if is_below(path, start):
                events.put({"type": kind, "object": o})

    def below(self, path):
        with self.lock:
            return [json.loads(json.dumps(o)) for p, o in sorted(self.objects.items()) if is_below(p, path)]

    def serve(self, h, method):
        url = urllib.parse.urlsplit(h.path)
        body = h.rfile.read(int(h.headers.get("Content-Length") or 0))
        with self.lock:
            self.calls.append((method, h.path))
        if self.is_away:
            return self.answer(h, 503, {"kind": "Status", "message": "away", "reason": "ServiceUnavailable", "code": 503})
        if method == "GET" and "watch=true" in url.query:
            return self.watch(h, url.path)
        with self.lock:
            return self.answer(h, *self.act(method, url.path, json.loads(body) if body else None))

    def act(self, method, path, body):
        if path == "/apis/resource.k8s.io":
            return 200, {"kind": "APIGroup", "versions": [{"version": v} for v in self.claim_versions]}
        path = path.removesuffix("/status")
        there = self.objects.get(path)
        if method == "POST" and path.endswith("/binding"):
            return self.bind(path.removesuffix("/binding"), body)
        if method == "POST":
            path += "/" + body["metadata"]["name"]
            return (409, refusal(409, "AlreadyExists")) if path in self.objects else (201, self.put(path, body))
        if method == "GET" and not there and path.rsplit("/", 1)[-1] in self.lists:
            return 200, {"kind": "List", "metadata": {"resourceVersion": str(self.version)}, "items": self.below(path)}
        if not there:
            return 404, refusal(404, "NotFound")
        if method == "PUT":
            if body["metadata"].get("resourceVersion") != there["metadata"]["resourceVersion"]:
                return 409, refusal(409, "Conflict")
            return 200, self.put(path, body)
        if method == "PATCH":
            if body.get("metadata", {}).get("resourceVersion") not in (None, there["metadata"]["resourceVersion"]):
                return 409, refusal(409, "Conflict")
            return 200, self.put(path, merge(json.loads(json.dumps(there)), body))
        if method == "DELETE":
            return 200, self.remove(path)
        return 200, there

    def bind(self, path, body):
        """A pod gets its node, and the annotations of the Binding."""
        pod = json.loads(json.dumps(self.objects[path]))
        if pod["spec"].get("nodeName"):
            return 409, refusal(409, "Conflict")
        pod["spec"]["nodeName"] = body["target"]["name"]
        pod["metadata"].setdefault("annotations", {}).update(body["metadata"].get("annotations", {}))
        self.put(path, pod)
        return 201, {"kind": "Status", "status": "Success"}

    def answer(self, h, status, o):
        text = json.dumps(o).encode()
        h.send_response(status)
        h.send_header("Content-Type", "application/json")
        h.send_header("Content-Length", str(len(text)))
        h.end_headers()
        h.wfile.write(text)

    def watch(self, h, path):
        """From now on: a change between a list and its watch is told as the present state."""
        events = queue.Queue()
        with self.lock:
            for o in self.below(path):
                events.put({"type": "MODIFIED", "object": o})
            self.watches.append((path, events))
        h.send_response(200)
        h.send_header("Content-Type", "application/json")
        h.send_header("Connection", "close")
        h.end_headers()
        try:
            while True:
                h.wfile.write(json.dumps(events.get()).encode() + b"\n")
                h.wfile.flush()
        except OSError:
            pass
        h.close_connection = True


def is_below(path, collection):
    """Is the object of the collection, perhaps that of all namespaces?"""
    return path.startswith(collection + "/") or re.sub("/namespaces/[^/]+(?=/)", "", path).startswith(collection + "/")


def merge(o, patch):
    for key, value in patch.items():
        if value is None:
            o.pop(key, None)
        elif isinstance(value, dict) and isinstance(o.get(key), dict):
            merge(o[key], value)
        elif key == "conditions":  # a strategic merge patch: by type
            o[key] = list({c["type"]: c for c in o.get(key, []) + value}.values())
        else:
            o[key] = value
    return o


def refusal(code, reason):
    return {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": reason}
