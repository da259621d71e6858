"""Users' manifests (manifests/), applied by kubectl with its validation, and their effects in containers."""

import glob
import os
import socket
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))

from harness import Mete, check, equal, execute, wait  # noqa: E402

NS = ("-n", "research")
PORT_THERE = "18188"  # in a manifest; pods have the node's network


def test_manifests():
    port = free_port()
    with Mete() as m:
        apply_all(m, port, ("created",))
        training_runs_on_two_workers(m)
        evaluation_runs_when_it_is_due(m)
        a_notebook_is_ready_when_it_answers(m, port)
        a_sweep_ends_at_its_first_bug(m)
        again_changes_nothing(m, port)
        the_team_has_no_more_than_it_may(m)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return str(s.getsockname()[1])


def apply_all(m, port, words):
    for path in sorted(glob.glob(os.path.join(HERE, "manifests", "*.yaml"))):
        with open(path) as f:
            r = m.kubectl("apply", "-f", "-", stdin=f.read().replace(PORT_THERE, port))
        check(r.code == 0 and not r.err, path, r)  # no warning either
        check(all(line.split()[-1] in words for line in r.out.splitlines()), path, r)


def again_changes_nothing(m, port):
    """kubectl takes the number 2 of a file for other than the text "2" of the server, and says `configured`."""
    apply_all(m, port, ("unchanged", "configured"))
    for kind, name in (("job", "train"), ("pod", "notebook"), ("cronjob", "evaluate"), ("job", "sweep")):
        equal(m.object(kind, name, *NS)["metadata"]["generation"], 1, name)


def training_runs_on_two_workers(m):
    m.ok(*NS, "wait", "--for=condition=complete", "job/train", "--timeout=600s")
    for i in range(2):
        said = m.ok(*NS, "logs", "-l", f"job-name=train,batch.kubernetes.io/job-completion-index={i}")
        equal(said.splitlines(), [f"rank {i} of 2", "shm 262144", "gpus 2", "memory 2048"])
    for pod in m.object("pods", "-l", "job-name=train", *NS)["items"]:
        equal((pod["spec"]["priority"], pod["spec"]["serviceAccountName"]), (100000, "pipeline"))
        check(not any("kube-api-access" in v["name"] for v in pod["spec"]["volumes"]), "its account wants no token")
    equal(m.object("job", "train", *NS)["status"]["completedIndexes"], "0,1")


def evaluation_runs_when_it_is_due(m):
    check("15 2 * * *" in m.ok(*NS, "get", "cronjob", "evaluate"))
    m.ok(*NS, "create", "job", "--from=cronjob/evaluate", "by-hand")
    m.ok(*NS, "wait", "--for=condition=complete", "job/by-hand", "--timeout=600s")
    equal(m.ok(*NS, "logs", "job/by-hand"), "accuracy 0.93\n1\n")
    limits = m.object("pods", "-l", "job-name=by-hand", *NS)["items"][0]["spec"]["containers"][0]["resources"]["limits"]
    equal(limits, {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"})  # the LimitRange adds the missing ones


def a_notebook_is_ready_when_it_answers(m, port):
    m.ok(*NS, "wait", "--for=condition=Ready", "pod/notebook", "--timeout=600s")
    r = execute(["curl", "-s", f"http://127.0.0.1:{port}/index.html"])
    equal(r.out, "hello\n", r)
    r = m.mete("exec", *NS, "notebook", "--", "sh", "-c", "id -u; id -g; id -G; echo $JUPYTER_TOKEN; stat -c %g /work")
    equal(r.out.split(), ["1000", "1000", "1000", "s3cret", "1000"], r)
    quota = m.object("quota", "compute", *NS)["status"]["used"]
    check(int(quota["requests.nvidia.com/gpu"]) >= 1, quota)


def a_sweep_ends_at_its_first_bug(m):
    m.ok(*NS, "wait", "--for=condition=failed", "job/sweep", "--timeout=600s")
    status = m.object("job", "sweep", *NS)["status"]
    failed = next(c for c in status["conditions"] if c["type"] == "Failed")
    equal(failed["reason"], "PodFailurePolicy")
    wait(lambda: not [p for p in m.object("pods", "-l", "job-name=sweep", *NS)["items"] if p["status"]["phase"] == "Running"],
         "the other trials are ended")


def the_team_has_no_more_than_it_may(m):
    r = m.kubectl(*NS, "create", "job", "big", "--image=host", "--", "true")
    equal(r.code, 0, r)
    m.ok(*NS, "wait", "--for=condition=complete", "job/big", "--timeout=600s")
    m.ok("delete", "namespace", "research", "--timeout=600s")
    check(not m.object("pods", "-A")["items"], "nothing of it is left")
