"""Grafana's Loki and Promtail: a job's log reaches Loki by the configuration in deploy/logs, of which only addresses and
directories are changed. build/peers/go has both programs, built from Go's module proxy: this takes some ten minutes once."""

import json
import os
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request

import nvidia
from harness import ROOT, Mete, check, equal, wait

MODULE = "github.com/grafana/loki/v3@v3.3.2"
SUM = "h1:S/VODX0Ik/tP6I4sNd54kMHbvQDtWLHipDCZrGvpBUQ="
PROGRAMS = {"loki": "./cmd/loki", "promtail": "./clients/cmd/promtail"}

SERVER = """auth_enabled: false
server: {{http_listen_address: 127.0.0.1, http_listen_port: {http}, grpc_listen_address: 127.0.0.1, grpc_listen_port: {grpc}}}
common:
  instance_addr: 127.0.0.1
  path_prefix: {place}
  replication_factor: 1
  ring: {{kvstore: {{store: inmemory}}}}
  storage: {{filesystem: {{chunks_directory: {place}/chunks, rules_directory: {place}/rules}}}}
schema_config:
  configs: [{{from: 2024-01-01, store: tsdb, object_store: filesystem, schema: v13, index: {{prefix: index_, period: 24h}}}}]
analytics: {{reporting_enabled: false}}
"""

POD = """
apiVersion: v1
kind: Pod
metadata: {name: talk}
spec:
  restartPolicy: Never
  containers: [{name: main, image: host, command: [sh, -c, "echo a line for loki; echo and another >&2"]}]
"""


def build():
    """The programs' go.mod replaces modules, which Go heeds in the main module only: a copy of the sources is one."""
    if all(os.path.exists(os.path.join(nvidia.PLACE, p)) for p in PROGRAMS):
        return
    print("peers: building Loki and Promtail", flush=True)
    os.makedirs(nvidia.PLACE, exist_ok=True)
    found = json.loads(nvidia.go("mod", "download", "-json", MODULE, cwd=nvidia.PLACE))
    equal(found["Sum"], SUM, MODULE)
    place = os.path.join(nvidia.PLACE, "loki-sources")
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(found["Dir"], place)
    subprocess.run(["chmod", "-R", "u+w", place], check=True)
    # a folder that the module's archive lacks; its own module has the same
    nvidia.go("mod", "edit", "-dropreplace", "github.com/grafana/loki/pkg/push", cwd=place)
    for program, of in PROGRAMS.items():
        subprocess.run(["env", "CGO_ENABLED=0", "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local", shutil.which("go"), "build", "-o",
                        os.path.join(nvidia.PLACE, program), of], check=True, cwd=place)
    shutil.rmtree(place)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def shipped(m, loki, place):
    """deploy/logs/promtail.yaml, with the places of this test."""
    with open(os.path.join(ROOT, "deploy", "logs", "promtail.yaml"), encoding="utf-8") as f:
        text = f.read()
    for was, now in (("/var/lib/mete/", m.data + "/"), ("127.0.0.1:3100", f"127.0.0.1:{loki}"),
                     ("/var/lib/promtail/", place + "/"), ("http_listen_port: 9080", f"http_listen_port: {free_port()}")):
        check(was in text, f"deploy/logs/promtail.yaml has no {was}")
        text = text.replace(was, now)
    return text


def ask(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as r:
            return r.read().decode()
    except OSError:
        return None


def lines(loki, query):
    text = ask(f"http://127.0.0.1:{loki}/loki/api/v1/query_range?" + urllib.parse.urlencode({"query": query}))
    return [line for stream in json.loads(text)["data"]["result"] for _, line in stream["values"]] if text else []


def start(m, name, config):
    path = os.path.join(m.dir, f"{name}.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(config)
    with open(os.path.join(m.dir, f"{name}.log"), "wb") as log:
        return subprocess.Popen([os.path.join(nvidia.PLACE, name), f"-config.file={path}"], stdout=log, stderr=log)


def main():
    build()
    with Mete(gpus="none") as m:
        loki, place, started = free_port(), os.path.join(m.dir, "loki"), []
        try:
            started.append(start(m, "loki", SERVER.format(http=loki, grpc=free_port(), place=place)))
            wait(lambda: ask(f"http://127.0.0.1:{loki}/ready"), "Loki is ready", 120)
            started.append(start(m, "promtail", shipped(m, loki, m.dir)))
            m.ok("apply", "-f", "-", stdin=POD)
            m.wait_phase("talk", "Succeeded")
            query = '{job="mete", namespace="default", pod="talk", container="main"}'
            wait(lambda: sorted(lines(loki, query)) == ["a line for loki", "and another"], "the log is in Loki", 120)
        finally:
            for p in reversed(started):
                p.terminate()
                p.wait()
