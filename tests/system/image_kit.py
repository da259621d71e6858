"""Images made by hand: layers as tars, OCI layouts, Docker archives, and a registry on loopback that serves them."""

import base64
import gzip
import hashlib
import http.server
import io
import json
import os
import tarfile
import threading

BUSYBOX = "/bin/busybox"
APPLETS = ("sh true false ls cat env id sleep echo stat test touch mkdir rm mount dd readlink kill grep wc head find "
           "sort tr chmod chown ln cp mv sync").split()
OCI = "application/vnd.oci.image"


def digest(octets):
    return "sha256:" + hashlib.sha256(octets).hexdigest()


class Layer:
    """A tar, entry by entry; each method returns the layer."""

    def __init__(self):
        self.file = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.file, mode="w", format=tarfile.PAX_FORMAT)

    def add(self, name, octets=None, **fields):
        info = tarfile.TarInfo(name)
        info.mode = 0o644
        info.mtime = 1700000000
        for key, value in fields.items():
            setattr(info, key, value)
        if octets is not None:
            info.size = len(octets)
        self.tar.addfile(info, io.BytesIO(octets) if octets is not None else None)
        return self

    def text(self, name, text, **fields):
        return self.add(name, text.encode(), **fields)

    def dir(self, name, **fields):
        return self.add(name, type=tarfile.DIRTYPE, **{"mode": 0o755, **fields})

    def symlink(self, name, target):
        return self.add(name, type=tarfile.SYMTYPE, linkname=target)

    def link(self, name, target):
        return self.add(name, type=tarfile.LNKTYPE, linkname=target)

    def octets(self):
        self.tar.close()
        return self.file.getvalue()


def base_layer():
    layer = Layer().dir(".").dir("bin").dir("etc").dir("tmp", mode=0o1777).dir("data")
    with open(BUSYBOX, "rb") as f:
        layer.add("bin/busybox", f.read(), mode=0o755)
    for applet in APPLETS:
        layer.symlink(f"bin/{applet}", "busybox")
    layer.text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\napp:x:1000:1000:app:/data:/bin/sh\n")
    layer.text("etc/group", "root:x:0:\napp:x:1000:\n")
    layer.text("data/below", "of the first layer\n").text("data/hidden", "gone\n")
    layer.dir("data/opaque").text("data/opaque/old", "gone\n")
    return layer.octets()


class Image:
    """An image. Layers are tars; `compress` makes their blobs."""

    def __init__(self, layers, config=None, compress=gzip.compress, suffix="+gzip", arch="amd64"):
        self.layers = layers
        self.blobs = [compress(layer) for layer in layers]
        self.suffix = suffix
        self.config = json.dumps({
            "architecture": arch, "os": "linux", "config": config or {},
            "rootfs": {"type": "layers", "diff_ids": [digest(layer) for layer in layers]},
        }).encode()

    def manifest(self):
        return {
            "schemaVersion": 2, "mediaType": OCI + ".manifest.v1+json",
            "config": self.descriptor(self.config, OCI + ".config.v1+json"),
            "layers": [self.descriptor(blob, OCI + ".layer.v1.tar" + self.suffix) for blob in self.blobs],
        }

    @staticmethod
    def descriptor(octets, media):
        return {"mediaType": media, "digest": digest(octets), "size": len(octets)}

    def files(self, name=None, manifest=None):
        """The files of an OCI layout."""
        text = json.dumps(manifest or self.manifest()).encode()
        entry = self.descriptor(text, OCI + ".manifest.v1+json")
        if name:
            entry["annotations"] = {"org.opencontainers.image.ref.name": name}
        files = {
            "oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
            "index.json": json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode(),
        }
        for octets in [text, self.config, *self.blobs]:
            files["blobs/sha256/" + digest(octets)[7:]] = octets
        return files

    def layout(self, name=None):
        return archive(self.files(name))

    def docker(self, name):
        files = {f"{i}/layer.tar": layer for i, layer in enumerate(self.layers)}
        files["config.json"] = self.config
        files["manifest.json"] = json.dumps(
            [{"Config": "config.json", "RepoTags": [name], "Layers": list(files)[:len(self.layers)]}]).encode()
        return archive(files)


def archive(files):
    layer = Layer()
    for name, octets in files.items():
        layer.add(name, octets)
    return layer.octets()


def write(path, octets):
    with open(path, "wb") as f:
        f.write(octets)
    return path


def write_dir(path, files):
    for name, octets in files.items():
        os.makedirs(os.path.dirname(os.path.join(path, name)), exist_ok=True)
        write(os.path.join(path, name), octets)
    return path


class Registry:
    """The GET side of the OCI distribution protocol, over plain http, with a password for some repositories."""

    def __init__(self):
        self.blobs = {}
        self.manifests = {}  # (repository, tag or digest) → octets
        self.private = {}  # repository → "user:password"
        self.asked = []  # paths
        self.is_broken = False
        registry = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                registry.answer(self)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def push(self, repository, tag, image, password=None):
        text = json.dumps(image.manifest()).encode()
        for octets in [image.config, *image.blobs]:
            self.blobs[digest(octets)] = octets
        self.manifests[repository, tag] = self.manifests[repository, digest(text)] = text
        if password:
            self.private[repository] = password
        return f"{self.host}/{repository}:{tag}"

    def answer(self, h):
        self.asked.append(h.path)
        parts = h.path.strip("/").split("/")
        if self.is_broken:
            return self.send(h, 500, b"{}")
        if h.path in ("/v2/", "/v2"):
            if self.private and not h.headers.get("Authorization"):
                return self.send(h, 401, b"{}", {"WWW-Authenticate": 'Basic realm="test"'})
            return self.send(h, 200, b"{}")
        repository, what, name = "/".join(parts[1:-2]), parts[-2], parts[-1]
        want = self.private.get(repository)
        if want and h.headers.get("Authorization") != "Basic " + base64.b64encode(want.encode()).decode():
            return self.send(h, 401, b'{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}',
                             {"WWW-Authenticate": 'Basic realm="test"'})
        octets = self.manifests.get((repository, name)) if what == "manifests" else self.blobs.get(name)
        if octets is None:
            return self.send(h, 404, b'{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}')
        kind = OCI + ".manifest.v1+json" if what == "manifests" else "application/octet-stream"
        return self.send(h, 200, octets, {"Content-Type": kind, "Docker-Content-Digest": digest(octets)})

    @staticmethod
    def send(h, status, octets, headers=()):
        h.send_response(status)
        for key, value in dict(headers).items():
            h.send_header(key, value)
        h.send_header("Content-Length", str(len(octets)))
        h.end_headers()
        if h.command != "HEAD":
            h.wfile.write(octets)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
