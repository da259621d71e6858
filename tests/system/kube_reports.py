"""What users of a cluster ask the scheduler through the API server, each with their own rights: on a real kube-apiserver (tests/kube/run), and on
Mete's own server behind a front proxy that does for reports.mete.dev what a kube-apiserver does (test_kube_reports.py)."""

import contextlib
import json
import socket
import ssl

import kube_objects
from harness import METE, check, equal, execute, wait


def as_user(c, namespace, *roles):
    """Runs `mete` as a service account of the namespace with these cluster roles in it."""
    c.ok("create", "namespace", namespace)
    c.ok("create", "serviceaccount", namespace, "-n", namespace)
    for role in roles:
        c.ok("create", "rolebinding", role, f"--clusterrole={role}", f"--serviceaccount={namespace}:{namespace}", "-n", namespace)
    env = {**c.env, "METE_KUBECONFIG": c.kubeconfig_of(namespace, namespace)}
    return lambda *words: execute([METE, *words], env=env)


def check_users(c):
    """`c` has 8 GPUs, all free; its pod(name, namespace, gpus) is a manifest for Mete's scheduler."""
    ann, bob = as_user(c, "team-a", "edit"), as_user(c, "team-b", "edit")
    c.apply(c.pod("held", "team-a", 3), c.pod("large", "team-a", 16), c.pod("other", "team-b", 2))
    for ns, name in (("team-a", "held"), ("team-b", "other")):
        wait(lambda: c.get("pod", name, "-n", ns)["spec"].get("nodeName"), f"{name} is placed")
    why = wait(lambda: [r.out for r in [ann("why", "large")] if r.code == 0 and "GPU" in r.out], "the reason")
    check("node" in why[0], why)
    check("large" in ann("why").out)
    equal(bob("why", "large", "-n", "team-a").code, 4)
    equal(bob("why", "-n", "team-a").code, 4)
    equal(ann("free", "-n", "team-b").code, 4)
    free = json.loads(ann("free", "-o", "json").out)["items"][0]
    equal((free["gpus"], free["free"]), (8, 3), free)
    gpus = json.loads(ann("gpus", "-o", "json").out)["items"]
    holders = sorted(str(g["status"]["holder"]["pod"]) for g in gpus if g["status"].get("holder"))
    equal(holders, ["None"] * 2 + ["held"] * 3)
    equal(sum(g["status"].get("holder", {}).get("pod") == "other" for g in json.loads(bob("gpus", "-o", "json").out)["items"]), 2)
    check("held" in ann("ps").out and "other" not in ann("ps").out, ann("ps"))
    equal(bob("ps", "-n", "team-a").code, 4)
    c.apply(kube_objects.queue("shown"))
    wait(lambda: "shown" in ann("queues").out, "the queue in the report")
    equal(ann("reserve", "mine", "--gpus", "1", "--start", "+1h", "--duration", "1h", "--user", "ann").code, 4)
    whole = execute([METE, "reserve", "whole", "--gpus", "1", "--start", "+1h", "--duration", "1h", "--user", "ann"], env=c.env)
    equal(whole.code, 0, whole)
    wait(lambda: c.get("reservation.mete.dev", "whole").get("status", {}).get("phase") == "pending", "the reservation's phase")
    c.ok("delete", "reservation.mete.dev", "whole")
    c.ok("delete", "queue.mete.dev", "shown")
    c.ok("delete", "namespace", "team-a", "team-b", "--wait=false")
    check_strangers(*c.reports.split(":"))


def check_strangers(host, port):
    """The door believes the names of users from the front proxy alone."""
    with contextlib.suppress(OSError):  # the end of the handshake
        raw = ssl.create_default_context()
        raw.check_hostname, raw.verify_mode = False, ssl.CERT_NONE
        with raw.wrap_socket(socket.create_connection((host, int(port)))) as s:
            s.sendall(b"GET /apis/reports.mete.dev/v1alpha1/gpus HTTP/1.1\r\nHost: x\r\nX-Remote-User: admin\r\nX-Remote-Group: system:masters\r\n\r\n")
            check(s.recv(4096).startswith(b"HTTP/1.1 401 "), "the reports believe anybody")
