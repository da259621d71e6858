"""The kubectl commands that users type, against DIR/kubeconfig."""

import contextlib
import json
import signal

from harness import KUBECTL, Mete, check, equal, pod, wait


@contextlib.contextmanager
def running():
    """One Mete for all tests would be faster; one Mete a file isolates the tests enough."""
    with Mete() as m:
        yield m


def test_pods_and_objects():
    with running() as m:
        a_pod_with_a_gpu_prints_its_devices(m)
        node_selectors_choose(m)
        taints_keep_off_and_tolerations_let_in(m)
        apply_twice_and_changed(m)
        watch_shows_changes(m)
        describe_tells_the_story(m)
        logs_follow(m)
        delete_and_wait(m)
        a_job_that_does_not_listen_is_not_waited_for(m)
        label_annotate_and_cordon(m)
        namespaces_come_and_go(m)
        config_reaches_the_container(m)
        errors_say_what_is_wrong(m)


def a_pod_with_a_gpu_prints_its_devices(m):
    m.ok("apply", "-f", "-", stdin=pod("smi", "nvidia-smi -L; ls /dev | grep '^nvidia[0-9]' | wc -l", gpus=1))
    m.wait_phase("smi", "Succeeded")
    lines = m.ok("logs", "smi").splitlines()
    equal(len(lines), 2, lines)
    check(lines[0].startswith("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-"), lines)
    equal(lines[1], "1")
    out = m.ok("get", "pod", "smi")
    check("NAME" in out and "READY" in out and "Completed" in out, out)
    wide = m.ok("get", "pods", "-o", "wide")
    check("NODE" in wide, wide)


def node_selectors_choose(m):
    node = m.object("nodes")["items"][0]
    m.ok("apply", "-f", "-", stdin=pod("pick", "true", nodeSelector={"pool": "blue"}))
    wait(lambda: "PodScheduled" in m.ok("get", "pod", "pick", "-o", "jsonpath={.status.conditions[*].type}"), "a reason")
    equal(m.phase("pick"), "Pending")
    m.ok("label", "node", node["metadata"]["name"], "pool=blue")
    m.wait_phase("pick", "Succeeded")
    m.ok("label", "node", node["metadata"]["name"], "pool-")


def taints_keep_off_and_tolerations_let_in(m):
    name = m.object("nodes")["items"][0]["metadata"]["name"]
    m.ok("taint", "nodes", name, "dedicated=ml:NoSchedule")
    m.ok("apply", "-f", "-", stdin=pod("kept-off", "true"))
    tolerant = pod("let-in", "true",
                   tolerations=[{"key": "dedicated", "operator": "Equal", "value": "ml", "effect": "NoSchedule"}])
    m.ok("apply", "-f", "-", stdin=tolerant)
    m.wait_phase("let-in", "Succeeded")
    equal(m.phase("kept-off"), "Pending")
    message = m.ok("get", "pod", "kept-off", "-o", 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}')
    check("dedicated" in message or "taint" in message, message)
    m.ok("taint", "nodes", name, "dedicated-")
    m.wait_phase("kept-off", "Succeeded")


def apply_twice_and_changed(m):
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm"}, "data": {"a": "1", "b": "2"}}
    check("created" in m.ok("apply", "-f", "-", stdin=json.dumps(manifest)))
    before = m.object("configmap", "cm")["metadata"]["resourceVersion"]
    check("unchanged" in m.ok("apply", "-f", "-", stdin=json.dumps(manifest)))
    equal(m.object("configmap", "cm")["metadata"]["resourceVersion"], before)
    manifest["data"] = {"a": "1", "c": "3"}
    check("configured" in m.ok("apply", "-f", "-", stdin=json.dumps(manifest)))
    equal(m.object("configmap", "cm")["data"], {"a": "1", "c": "3"})
    running_pod = json.loads(pod("changed", "sleep 1000"))
    m.ok("apply", "-f", "-", stdin=json.dumps(running_pod))
    running_pod["metadata"]["labels"] = {"tier": "gold"}
    check("configured" in m.ok("apply", "-f", "-", stdin=json.dumps(running_pod)))
    equal(m.object("pod", "changed")["metadata"]["labels"]["tier"], "gold")
    running_pod["spec"]["containers"][0]["command"] = ["true"]
    r = m.kubectl("apply", "-f", "-", stdin=json.dumps(running_pod))
    check(r.code != 0 and "pod updates may not change fields" in r.err, r)
    m.ok("delete", "pod", "changed", "--grace-period=1")


def watch_shows_changes(m):
    w = m.spawn([KUBECTL, "get", "pods", "-w", "--no-headers", "-o", "custom-columns=N:.metadata.name,P:.status.phase"])
    w.stdout.readline()  # of the list that the watch begins with
    m.ok("apply", "-f", "-", stdin=pod("seen", "true"))
    m.wait_phase("seen", "Succeeded")
    m.ok("delete", "pod", "seen")
    w.send_signal(signal.SIGINT)
    out = w.communicate(timeout=600)[0]
    phases = [line.split()[1] for line in out.splitlines() if line.startswith("seen")]
    check("Pending" in phases and "Succeeded" in phases, out)
    check(phases.index("Pending") < phases.index("Succeeded"), out)


def describe_tells_the_story(m):
    m.ok("apply", "-f", "-", stdin=pod("told", "exit 3"))
    m.wait_phase("told", "Failed")
    out = m.ok("describe", "pod", "told")
    check("Exit Code:    3" in out, out)
    check("Reason:       Error" in out, out)
    wait(lambda: "Started" in m.ok("describe", "pod", "told") and "Scheduled" in m.ok("describe", "pod", "told"), "events")
    newer = m.ok("get", "events.events.k8s.io", "--field-selector", "regarding.name=told,reason=Started", "--no-headers").split()
    equal(newer[1:4], ["Normal", "Started", "pod/told"])
    node = m.object("nodes")["items"][0]["metadata"]["name"]
    out = m.ok("describe", "node", node)
    check("nvidia.com/gpu:" in out and "8" in out, out)


def logs_follow(m):
    m.ok("apply", "-f", "-", stdin=pod("talks", "for i in 1 2 3 4 5; do echo line $i; sleep 0.2; done"))
    m.wait_phase("talks", ("Running", "Succeeded"))
    equal(m.ok("logs", "-f", "talks"), "".join(f"line {i}\n" for i in range(1, 6)))
    equal(m.ok("logs", "talks", "--tail=2"), "line 4\nline 5\n")


def delete_and_wait(m):
    m.ok("apply", "-f", "-", stdin=pod("dies", "trap 'exit 0' TERM; while :; do sleep 0.1; done"))
    m.ok("wait", "--for=condition=Ready", "pod/dies", "--timeout=600s")
    m.ok("delete", "pod", "dies", "--grace-period=10")
    r = m.kubectl("get", "pod", "dies")
    check(r.code == 1 and 'pods "dies" not found' in r.err, r)


def a_job_that_does_not_listen_is_not_waited_for(m):
    """The first process of a container is spared what SIGTERM does to others, and would use up the whole grace."""
    for name, command in (("plain", "exec sleep 1000"), ("family", "sleep 1000; true")):
        m.ok("apply", "-f", "-", stdin=pod(name, command))
        m.wait_phase(name, "Running")
        m.ok("delete", "pod", name, "--grace-period=3000", "--timeout=600s")


def label_annotate_and_cordon(m):
    name = m.object("nodes")["items"][0]["metadata"]["name"]
    m.ok("label", "node", name, "rack=r1")
    m.ok("annotate", "node", name, "note=hello there")
    node = m.object("node", name)
    equal(node["metadata"]["labels"]["rack"], "r1")
    equal(node["metadata"]["annotations"]["note"], "hello there")
    check(name in m.ok("get", "nodes", "-l", "rack=r1"))
    check(name not in m.ok("get", "nodes", "-l", "rack=r2"))
    m.ok("cordon", name)
    check("Ready,SchedulingDisabled" in m.ok("get", "nodes"))
    m.ok("apply", "-f", "-", stdin=pod("waits", "true"))
    wait(lambda: "cordon" in m.ok("get", "pod", "waits", "-o", "jsonpath={.status.conditions[*].message}").lower() or
         "drain" in m.ok("get", "pod", "waits", "-o", "jsonpath={.status.conditions[*].message}").lower(), "the reason")
    m.ok("uncordon", name)
    m.wait_phase("waits", "Succeeded")


def namespaces_come_and_go(m):
    m.ok("create", "namespace", "team-a")
    m.ok("apply", "-n", "team-a", "-f", "-", stdin=pod("theirs", "sleep 1000"))
    m.wait_phase("theirs", "Running", ns="team-a")
    check("theirs" in m.ok("get", "pods", "-A"))
    m.ok("delete", "namespace", "team-a", "--timeout=600s")
    r = m.kubectl("get", "namespace", "team-a")
    check(r.code == 1 and "not found" in r.err, r)
    r = m.kubectl("apply", "-n", "team-a", "-f", "-", stdin=pod("late", "true"))
    check(r.code == 1 and 'namespaces "team-a" not found' in r.err, r)


def config_reaches_the_container(m):
    m.ok("create", "configmap", "settings", "--from-literal=mode=fast")
    m.ok("create", "secret", "generic", "password", "--from-literal=key=s3cret")
    manifest = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "reads", "labels": {"app": "x"}},
        "spec": {
            "restartPolicy": "Never",
            "volumes": [{"name": "s", "secret": {"secretName": "password"}}, {"name": "e", "emptyDir": {}},
                        {"name": "c", "configMap": {"name": "settings"}}],
            "initContainers": [{"name": "first", "image": "host", "command": ["sh", "-c", "echo from init > /mnt/word"],
                                "volumeMounts": [{"name": "e", "mountPath": "/mnt"}]}],
            "containers": [
                {"name": "main", "image": "host",
                 "command": ["sh", "-c", "echo $(MODE) $POD $KEY; cat /srv/key; echo; cat /mnt/word /opt/mode; echo; exit 4"],
                 "env": [{"name": "MODE", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "mode"}}},
                         {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                         {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "password", "key": "key"}}}],
                 "volumeMounts": [{"name": "s", "mountPath": "/srv"}, {"name": "e", "mountPath": "/mnt"},
                                  {"name": "c", "mountPath": "/opt"}]},
                {"name": "side", "image": "host", "command": ["sh", "-c", "echo side"]}]}}
    m.ok("apply", "-f", "-", stdin=json.dumps(manifest))
    m.wait_phase("reads", "Failed")
    equal(m.ok("logs", "reads", "-c", "main"), "fast reads s3cret\ns3cret\nfrom init\nfast\n")
    equal(m.ok("logs", "reads", "-c", "side"), "side\n")
    status = m.object("pod", "reads")["status"]
    codes = {s["name"]: s["state"]["terminated"]["exitCode"] for s in status["containerStatuses"]}
    equal(codes, {"main": 4, "side": 0})


def errors_say_what_is_wrong(m):
    r = m.kubectl("apply", "-f", "-", stdin=pod("Bad_Name", "true"))
    check(r.code == 1 and "a lowercase RFC 1123 subdomain" in r.err, r)
    r = m.kubectl("apply", "-f", "-", stdin=pod("x", "true", hostnam="typo"))
    check(r.code == 1 and 'unknown field "spec.hostnam"' in r.err, r)
    r = m.kubectl("get", "pod", "nowhere")
    equal(r.err.strip(), 'Error from server (NotFound): pods "nowhere" not found')


def test_a_large_job_is_not_starved_and_knows_why_it_waits():
    with Mete() as m:
        m.ok("apply", "-f", "-", stdin=pod("holds", "while [ ! -e /tmp/none ]; do sleep 0.1; done", gpus=3))
        m.wait_phase("holds", "Running")
        m.ok("apply", "-f", "-", stdin=pod("large", "nvidia-smi -L | wc -l", gpus=8))

        def reason():
            out = m.ok("get", "pod", "large", "-o", 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}')
            return out if "8" in out and "5" in out else None

        wait(reason, "the reason names what is asked and what is free")
        m.ok("apply", "-f", "-", stdin=pod("small", "true", gpus=4))
        equal(m.phase("large"), "Pending")
        m.ok("delete", "pod", "holds", "--grace-period=1")
        m.wait_phase("large", "Succeeded")
        equal(m.ok("logs", "large"), "8\n")
        m.wait_phase("small", "Succeeded")
        large = m.object("pod", "large")["status"]["containerStatuses"][0]["state"]["terminated"]
        small = m.object("pod", "small")["status"]["containerStatuses"][0]["state"]["terminated"]
        check(large["startedAt"] <= small["startedAt"], large, small)
