"""The claims about the Python client, a function each; test_clients.py runs this with a kubeconfig and a directory."""

import os
import sys
import time

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.stream import stream

GPU = "nvidia.com/gpu"
NS = "default"


def wait(condition, what, deadline_s=100):
    end = time.monotonic() + deadline_s
    while not (value := condition()):
        assert time.monotonic() < end, f"not within {deadline_s} s: {what}"
        time.sleep(0.02)
    return value


def refused(call, status, *words):
    try:
        call()
    except ApiException as e:
        body = e.body.decode() if isinstance(e.body, bytes) else e.body
        assert e.status == status and all(w in body for w in words), (e.status, body, words)
        return
    raise AssertionError(f"accepted, although {status} is right")


def spec(script, gpus=0, **more):
    c = {"name": "main", "image": "host", "command": ["sh", "-c", script]}
    if gpus:
        c["resources"] = {"limits": {GPU: str(gpus)}}
    return {"restartPolicy": "Never", "containers": [{**c, **more.pop("container", {})}], **more}


def pod(name, script, gpus=0, **more):
    return {"metadata": {"name": name, "labels": {"app": name}}, "spec": spec(script, gpus, **more)}


def phase(name):
    return core.read_namespaced_pod(name, NS).status.phase


def start(name, script, **more):
    core.create_namespaced_pod(NS, pod(name, script, **more))
    wait(lambda: phase(name) == "Running", f"{name} runs")


def ended(name):
    return wait(lambda: (p := phase(name)) in ("Succeeded", "Failed") and p, f"{name} ends")


def gone(read, *words):
    try:
        read(*words)
        return False
    except ApiException as e:
        assert e.status == 404, e
        return True


def a_job_tells_what_became_of_its_pods():
    body = {"metadata": {"name": "sweep"},
            "spec": {"completions": 4, "parallelism": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 0,
                     "template": {"spec": spec("nvidia-smi -L | wc -l; test $JOB_COMPLETION_INDEX != 2", 1)}}}
    batch.create_namespaced_job(NS, body)
    seen = []
    for event in watch.Watch().stream(batch.list_namespaced_job, NS, field_selector="metadata.name=sweep", timeout_seconds=60):
        status = event["object"].status
        seen.append(status.succeeded or 0)
        kinds = [c.type for c in status.conditions or [] if c.status == "True"]
        if "Failed" in kinds or "Complete" in kinds:
            break
    assert seen == sorted(seen), seen
    job = batch.read_namespaced_job_status("sweep", NS)
    assert (job.status.succeeded, job.status.failed, job.status.completed_indexes, job.status.failed_indexes) == (3, 1, "0,1,3", "2")
    assert {c.reason for c in job.status.conditions if c.type == "Failed"} == {"FailedIndexes"}, job.status
    pods = core.list_namespaced_pod(NS, label_selector="batch.kubernetes.io/job-name=sweep").items
    assert sorted(p.metadata.labels["batch.kubernetes.io/job-completion-index"] for p in pods) == ["0", "1", "2", "3"]
    assert {core.read_namespaced_pod_log(p.metadata.name, NS).strip() for p in pods} == {"1"}  # it takes "1\n" for JSON
    batch.delete_namespaced_job("sweep", NS, propagation_policy="Foreground")
    wait(lambda: gone(batch.read_namespaced_job, "sweep", NS), "the job is gone")
    assert not core.list_namespaced_pod(NS, label_selector="job-name=sweep").items


def a_job_is_held_and_let_go():
    body = {"metadata": {"name": "held"}, "spec": {"suspend": True, "template": {"spec": spec("exec sleep 1000")}}}
    batch.create_namespaced_job(NS, body)
    wait(lambda: any(c.type == "Suspended" for c in batch.read_namespaced_job("held", NS).status.conditions or []), "it is held")
    assert not core.list_namespaced_pod(NS, label_selector="job-name=held").items
    batch.patch_namespaced_job("held", NS, {"spec": {"suspend": False}})
    wait(lambda: batch.read_namespaced_job("held", NS).status.active == 1, "it is active")
    refused(lambda: batch.patch_namespaced_job("held", NS, {"spec": {"completions": 5}}), 422, "field is immutable")
    batch.delete_namespaced_job("held", NS, propagation_policy="Background")
    wait(lambda: not core.list_namespaced_pod(NS, label_selector="job-name=held").items, "its pod follows")


def a_cron_job_is_kept_and_changed():
    body = {"metadata": {"name": "nightly"},
            "spec": {"schedule": "30 2 * * 1-5", "timeZone": "Europe/Paris", "concurrencyPolicy": "Forbid",
                     "startingDeadlineSeconds": 100, "successfulJobsHistoryLimit": 1, "failedJobsHistoryLimit": 2,
                     "jobTemplate": {"spec": {"template": {"spec": spec("true")}}}}}
    made = batch.create_namespaced_cron_job(NS, body).spec
    assert (made.time_zone, made.concurrency_policy, made.failed_jobs_history_limit) == ("Europe/Paris", "Forbid", 2), made
    assert batch.patch_namespaced_cron_job("nightly", NS, {"spec": {"suspend": True}}).spec.suspend
    refused(lambda: batch.patch_namespaced_cron_job("nightly", NS, {"spec": {"timeZone": "Mars/Base"}}), 422, "spec.timeZone")
    refused(lambda: batch.patch_namespaced_cron_job("nightly", NS, {"spec": {"schedule": "* * *"}}), 422, "spec.schedule")
    batch.delete_namespaced_cron_job("nightly", NS)


def four_and_seven_are_not_ten():
    core.create_namespace({"metadata": {"name": "team"}})
    core.create_namespaced_resource_quota("team", {"metadata": {"name": "gpus"}, "spec": {"hard": {"requests." + GPU: "10"}}})
    core.create_namespaced_pod("team", pod("four", "exec sleep 1000", 4))
    refused(lambda: core.create_namespaced_pod("team", pod("seven", "true", 7)), 403,
            f"exceeded quota: gpus, requested: requests.{GPU}=7, used: requests.{GPU}=4, limited: requests.{GPU}=10")
    core.delete_namespace("team")
    wait(lambda: gone(core.read_namespace, "team"), "the namespace is gone")


def logs_are_cut_as_asked():
    start("talks", "for i in 1 2 3; do echo line $i; done; echo to err >&2; exec sleep 1000")
    read = lambda **more: core.read_namespaced_pod_log("talks", NS, **more)
    wait(lambda: len(read().splitlines()) == 4, "it has talked")
    assert read(tail_lines=2).count("\n") == 2 and read(limit_bytes=6) == "line 1"
    assert all(line[10] == "T" and "Z " in line for line in read(timestamps=True).splitlines())
    assert read(since_seconds=1000).count("\n") == 4 and read(container="main").startswith("line 1\n")
    refused(lambda: read(container="other"), 400, "other")
    refused(lambda: read(previous=True), 400, "previous terminated container")
    lines = watch.Watch().stream(core.read_namespaced_pod_log, "talks", NS, tail_lines=4)
    assert sorted(next(lines) for _ in range(4)) == ["line 1", "line 2", "line 3", "to err"]
    core.delete_namespaced_pod("talks", NS, grace_period_seconds=0)


def programs_run_in_a_container():
    start("box", "exec sleep 1000", container={"env": [{"name": "WORD", "value": "inside"}]})
    run = lambda *words, **more: stream(core.connect_get_namespaced_pod_exec, "box", NS, command=list(words), stderr=True,
                                        stdout=True, **{"stdin": False, "tty": False, **more})
    assert run("sh", "-c", "echo $WORD $$ | grep -c inside").strip() == "1"
    s = run("sh", "-c", "cat; exit 5", stdin=True, tty=True, _preload_content=False)
    s.write_channel(4, '{"Width":91,"Height":31}')
    s.write_stdin("typed\n")
    heard = ""
    while "typed\r\ntyped" not in heard:
        s.update(timeout=1)
        heard += s.read_stdout(timeout=1) if s.peek_stdout() else ""
    s.write_stdin("\x04")
    s.run_forever(timeout=20)
    assert s.returncode == 5, s.returncode
    start("hears", "while read w; do echo got $w; done", container={"stdin": True})
    a = stream(core.connect_get_namespaced_pod_attach, "hears", NS, stdin=True, stdout=True, stderr=True, tty=False, _preload_content=False)
    a.write_stdin("one\n")
    wait(lambda: (a.update(timeout=1), a.peek_stdout())[1], "it answers")
    assert a.read_stdout() == "got one\n"
    a.close()


def an_eviction_asks_the_budget():
    policy = client.PolicyV1Api()
    policy.create_namespaced_pod_disruption_budget(NS, {
        "metadata": {"name": "box"}, "spec": {"minAvailable": "100%", "selector": {"matchLabels": {"app": "box"}}}})
    evict = lambda **more: core.create_namespaced_pod_eviction("box", NS, client.V1Eviction(
        metadata=client.V1ObjectMeta(name="box", namespace=NS), delete_options=client.V1DeleteOptions(**more)))
    refused(evict, 429, "disruption budget")
    policy.delete_namespaced_pod_disruption_budget("box", NS)
    evict(dry_run=["All"])
    assert phase("box") == "Running"
    evict(grace_period_seconds=0)
    wait(lambda: gone(core.read_namespaced_pod, "box", NS), "it went")


def an_account_has_tokens():
    core.create_namespaced_service_account(NS, {"metadata": {"name": "robot"}})
    source = {"serviceAccountToken": {"path": "token", "expirationSeconds": 900}}
    start("bearer", "exec sleep 1000", serviceAccountName="robot", volumes=[{"name": "t", "projected": {"sources": [source]}}],
          container={"volumeMounts": [{"name": "t", "mountPath": "/mnt"}]})
    inside = stream(core.connect_get_namespaced_pod_exec, "bearer", NS, stdout=True, stderr=True, stdin=False, tty=False,
                    command=["cat", "/mnt/token"])
    assert inside.count(".") == 2, inside
    asked = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(
        audiences=[], expiration_seconds=3600, bound_object_ref=client.V1BoundObjectReference(kind="Pod", name="bearer", api_version="v1")))
    made = core.create_namespaced_service_account_token("robot", NS, asked).status.token
    review = lambda token: client.AuthenticationV1Api().create_token_review({"spec": {"token": token}}).status
    for token in (inside, made):
        found = review(token)
        assert found.authenticated and found.user.username == f"system:serviceaccount:{NS}:robot", found
        assert found.user.extra["authentication.kubernetes.io/pod-name"] == ["bearer"], found
    for_others = core.create_namespaced_service_account_token("robot", NS, client.AuthenticationV1TokenRequest(
        spec=client.V1TokenRequestSpec(audiences=["vault"], expiration_seconds=600))).status.token
    assert not review(for_others).authenticated and "another audience" in review(for_others).error
    found = client.AuthenticationV1Api().create_token_review({"spec": {"token": for_others, "audiences": ["x", "vault"]}}).status
    assert found.authenticated and found.audiences == ["vault"], found
    core.delete_namespaced_pod("bearer", NS, grace_period_seconds=0)
    wait(lambda: not review(made).authenticated, "a token ends with the pod that it is bound to")
    rights = lambda verb, user: client.AuthorizationV1Api().create_subject_access_review(
        {"spec": {"user": user, "resourceAttributes": {"verb": verb, "resource": "pods", "namespace": NS}}}).status.allowed
    assert not rights("delete", "nobody-in-particular")


def a_dry_run_stores_nothing():
    made = core.create_namespaced_pod(NS, pod("dry", "true"), dry_run="All")
    assert made.metadata.uid and gone(core.read_namespaced_pod, "dry", NS)
    refused(lambda: core.create_namespaced_pod(NS, pod("dry", "true", container={"image": ""}), dry_run="All"), 422, "image")
    core.create_namespaced_config_map(NS, {"metadata": {"name": "kept"}, "data": {"a": "1"}, "binaryData": {"b": "AAEC"}})
    core.delete_namespaced_config_map("kept", NS, dry_run="All")
    core.replace_namespaced_config_map("kept", NS, {"metadata": {"name": "kept"}, "data": {}}, dry_run="All")
    assert core.read_namespaced_config_map("kept", NS).data == {"a": "1"}
    assert core.patch_namespaced_config_map("kept", NS, [{"op": "move", "from": "/data/a", "path": "/data/z"}]).data == {"z": "1"}


def the_dynamic_client_finds_all_kinds():
    found = dynamic.DynamicClient(client.ApiClient())
    leases = found.resources.get(api_version="coordination.k8s.io/v1", kind="Lease")
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "leader"},
            "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "acquireTime": "2026-01-02T03:04:05.000006Z"}}
    made = leases.create(namespace=NS, body=body)
    assert made.spec.acquireTime == "2026-01-02T03:04:05.000006Z"
    changed = leases.patch(namespace=NS, name="leader", body={"spec": {"holderIdentity": "b"}},
                           content_type="application/merge-patch+json")
    assert changed.spec.holderIdentity == "b"
    refused(lambda: leases.server_side_apply(namespace=NS, name="leader", body=body, field_manager="me"), 409, "conflict with", "holderIdentity")
    applied = leases.server_side_apply(namespace=NS, name="leader", body=body, field_manager="me", force_conflicts=True)
    assert applied.spec.holderIdentity == "a"
    jobs = found.resources.get(api_version="batch/v1", kind="Job")
    assert {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"} == set(jobs.verbs)
    metrics = found.resources.get(api_version="metrics.k8s.io/v1beta1", kind="NodeMetrics")
    assert wait(lambda: metrics.get().items, "the node is measured")[0].usage.cpu
    gpus = found.resources.get(api_version="mete.dev/v1", kind="Gpu")
    assert len(gpus.get().items) == 8
    leases.delete(namespace=NS, name="leader")


def files_of_manifests_are_taken():
    directory = os.path.join(os.path.dirname(os.path.abspath(__file__)), "manifests")
    for name in sorted(os.listdir(directory)):
        utils.create_from_yaml(client.ApiClient(), os.path.join(directory, name))
    wait(lambda: batch.read_namespaced_job("train", "research").status.succeeded == 2, "the training ends")


CLAIMS = (
    a_job_tells_what_became_of_its_pods, a_job_is_held_and_let_go, a_cron_job_is_kept_and_changed, four_and_seven_are_not_ten,
    logs_are_cut_as_asked, programs_run_in_a_container, an_eviction_asks_the_budget, an_account_has_tokens,
    a_dry_run_stores_nothing, the_dynamic_client_finds_all_kinds, files_of_manifests_are_taken)

if __name__ == "__main__":
    config.load_kube_config(sys.argv[1])
    core, batch = client.CoreV1Api(), client.BatchV1Api()
    for claim in CLAIMS:
        claim()
        print("ok", claim.__name__)
    print("fine")
