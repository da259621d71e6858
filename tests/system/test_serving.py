"""A model server behind a Service, rolled to another version while it is asked (docs/deployments.md)."""

import collections
import http.client
import os
import threading

import test_driver as images
from harness import BUILD, check, equal, wait
from network_kit import apply, networked

SERVER = os.path.join(BUILD, "tests", "gpu", "model_server")
CLIENTS = 4


def deployment(version, **container):
    c = {"name": "main", "image": "test/model:1", "imagePullPolicy": "Never", "command": ["model_server", version, "10240"], "ports": [{"containerPort": 8080}],
         "readinessProbe": {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1}, **container}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "model"},
            "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "model"}},
                     "template": {"metadata": {"labels": {"app": "model"}, "annotations": {"gpu-fraction": "0.5"}}, "spec": {"containers": [c]}}}}


SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "model"},
           "spec": {"selector": {"app": "model"}, "ports": [{"port": 80, "targetPort": 8080}]}}


class Clients:
    """Threads that ask an address without a pause, each request on a connection of its own, and count the answers."""

    def __init__(self, address):
        self.address = address
        self.answers = collections.Counter()
        self.lock = threading.Lock()
        self.is_over = threading.Event()
        self.threads = [threading.Thread(target=self.ask) for _ in range(CLIENTS)]

    def ask(self):
        while not self.is_over.is_set():
            connection = http.client.HTTPConnection(self.address, timeout=10)
            try:
                connection.request("GET", "/")
                answer = connection.getresponse()
                body = answer.read().decode()
                said = body.split(",")[0] if answer.status == 200 else f"status {answer.status}"
            except (OSError, http.client.HTTPException) as e:
                said = f"failed: {e!r}"
            finally:
                connection.close()
            with self.lock:
                self.answers[said] += 1

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *unused):
        self.is_over.set()
        for t in self.threads:
            t.join()


def test_no_request_fails_while_a_model_is_rolled_to_another_version():
    with networked(gpus="emulated:2xH100") as m:
        layer = images.debian().add("usr/bin/model_server", images.octets_of(SERVER), mode=0o755)
        images.import_image(m, "test/model:1", layer)
        apply(m, deployment("v1"), SERVICE)
        m.ok("rollout", "status", "deployment/model", "--timeout=120s")
        address = m.object("service", "model")["spec"]["clusterIP"]
        with Clients(address) as clients:
            wait(lambda: clients.answers["hello from v1"] >= 100, "the first version answers")
            apply(m, deployment("v2"))
            m.ok("rollout", "status", "deployment/model", "--timeout=120s")
            wait(lambda: clients.answers["hello from v2"] >= 100, "the second version answers")
            wait(lambda: len(m.object("pods")["items"]) == 3, "the first version's pods are gone")
        equal(set(clients.answers), {"hello from v1", "hello from v2"})
        check(sum(clients.answers.values()) > 200, clients.answers)
