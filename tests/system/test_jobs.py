"""Jobs and CronJobs with kubectl and `mete`, with kill -9 of the server in between."""

import json
import os
import signal
import time

from harness import Mete, check, equal, pod, wait

GPU = "nvidia.com/gpu"
PODS = int(os.environ.get("METE_TEST_PODS", "300"))


def job(name, command, gpus=0, restart="Never", **spec):
    """A Job manifest as JSON text; `command` is for sh -c."""
    c = {"name": "main", "image": "host", "command": ["sh", "-c", command]}
    if gpus:
        c["resources"] = {"limits": {GPU: gpus}}
    return json.dumps({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
                       "spec": {**spec, "template": {"spec": {"restartPolicy": restart, "containers": [c]}}}})


def condition(m, name, kind):
    found = [c for c in m.object("job", name)["status"].get("conditions", []) if c["type"] == kind]
    return found[0] if found and found[0]["status"] == "True" else None


def wait_condition(m, name, kind, deadline_s=60):
    return wait(lambda: condition(m, name, kind), f"job {name} is {kind}", deadline_s)


def pods_of(m, name):
    return m.object("pods", "-l", f"job-name={name}")["items"]


def shared(m):
    """A directory that jobs write to."""
    path = os.path.join(m.dir, "out")
    os.mkdir(path)
    os.chmod(path, 0o777)
    return path


def test_four_completions_share_two_gpus():
    with Mete("emulated:2xH100") as m:
        out = shared(m)
        # A gpu's lock is held as long as its pod: a second holder would be a second pod on it.
        command = (f"gpu=$(nvidia-smi --query-gpu=uuid --format=csv,noheader); exec 9>{out}/$gpu; "
                   f"flock -n 9 || echo twice >>{out}/conflicts; echo $gpu >>{out}/runs; sleep 0.5")
        m.ok("apply", "-f", "-", stdin=job("four", command, gpus=1, completions=4, parallelism=4))
        m.ok("wait", "--for=condition=complete", "job/four", "--timeout=600s")
        with open(f"{out}/runs") as f:
            runs = f.read().split()
        equal(len(runs), 4)
        equal(len(set(runs)), 2, runs)
        check(not os.path.exists(f"{out}/conflicts"), "two pods had one gpu")
        check("4/4" in m.ok("get", "job", "four"), m.ok("get", "job", "four"))
        check("4 Succeeded" in m.ok("describe", "job", "four"))
        equal({p["metadata"]["labels"]["mete.dev/job-id"] for p in pods_of(m, "four")},
              {m.object("job", "four")["metadata"]["labels"]["mete.dev/job-id"]})
        check(all(not p["metadata"].get("finalizers") for p in pods_of(m, "four")), "a pod is still to be counted")


def test_an_index_reaches_its_pod():
    with Mete("emulated:1xH100") as m:
        out = shared(m)
        m.ok("apply", "-f", "-", stdin=job("indexed", f"echo x >>{out}/$JOB_COMPLETION_INDEX", completions=5, parallelism=3,
                                           completionMode="Indexed"))
        m.ok("wait", "--for=condition=complete", "job/indexed", "--timeout=600s")
        equal(m.object("job", "indexed")["status"]["completedIndexes"], "0-4")
        for i in range(5):
            with open(f"{out}/{i}") as f:
                equal(f.read(), "x\n", f"index {i} ran once")
        equal(sorted(p["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] for p in pods_of(m, "indexed")),
              ["0", "1", "2", "3", "4"])


def test_failures_end_a_job_as_its_policy_says():
    with Mete("emulated:1xH100") as m, m.unharmed():
        policy = {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]}
        m.ok("apply", "-f", "-", stdin=job("policy", "exit 42", podFailurePolicy=policy))
        failed = wait_condition(m, "policy", "Failed")
        equal(failed["reason"], "PodFailurePolicy")
        check("failed with exit code 42 matching FailJob rule at index 0" in failed["message"], failed)
        m.ok("apply", "-f", "-", stdin=job("limit", "exit 1", backoffLimit=0))
        equal(wait_condition(m, "limit", "Failed")["reason"], "BackoffLimitExceeded")
        equal(m.object("job", "limit")["status"]["failed"], 1)
        m.ok("apply", "-f", "-", stdin=job("late", "sleep 600", activeDeadlineSeconds=1))
        equal(wait_condition(m, "late", "Failed")["reason"], "DeadlineExceeded")
        equal(pods_of(m, "late"), [])
        r = m.mete("show", "limit")
        check("Job has reached the specified backoff limit" in r.out and "failed" in r.out, r)
        # In place: the containers are started again in the same pod.
        out = shared(m)
        m.ok("apply", "-f", "-", stdin=job("again", f"[ -e {out}/once ] || {{ touch {out}/once; exit 1; }}", restart="OnFailure"))
        m.ok("wait", "--for=condition=complete", "job/again", "--timeout=600s")
        equal(len(pods_of(m, "again")), 1)
        equal(m.object("job", "again")["status"].get("failed", 0), 0)


def test_suspended_it_holds_nothing():
    with Mete("emulated:1xH100") as m:
        m.ok("apply", "-f", "-", stdin=job("held", "sleep 600", gpus=1, suspend=True))
        wait_condition(m, "held", "Suspended")
        equal(pods_of(m, "held"), [])
        check("suspended" in m.mete("ps").out, m.mete("ps"))
        m.ok("patch", "job", "held", "-p", '{"spec":{"suspend":false}}')
        first = wait(lambda: (p := pods_of(m, "held")) and p[0]["status"]["phase"] == "Running" and p[0], "it runs")
        m.ok("patch", "job", "held", "-p", '{"spec":{"suspend":true}}')
        wait(lambda: not pods_of(m, "held"), "its pod is gone")
        m.ok("apply", "-f", "-", stdin=pod("other", "true", gpus=1))
        m.wait_phase("other", "Succeeded")
        m.ok("patch", "job", "held", "-p", '{"spec":{"suspend":false}}')
        again = wait(lambda: (p := pods_of(m, "held")) and p[0], "it has a pod again")
        check(again["metadata"]["uid"] != first["metadata"]["uid"], "it is another one")
        equal(m.object("job", "held")["status"].get("failed", 0), 0)


def test_what_has_ended_goes():
    with Mete("emulated:1xH100") as m:
        m.ok("apply", "-f", "-", stdin=job("short", "true", ttlSecondsAfterFinished=0))
        wait(lambda: m.kubectl("get", "job", "short").code != 0 and not pods_of(m, "short"), "it is gone with its pods")
        for cascade in ("background", "foreground"):
            m.ok("apply", "-f", "-", stdin=job("parent", "sleep 600", parallelism=2, completions=2))
            wait(lambda: len(pods_of(m, "parent")) == 2, "two pods")
            m.ok("delete", "job", "parent", f"--cascade={cascade}")
            wait(lambda: not pods_of(m, "parent"), f"they go with it, {cascade}")
        m.ok("apply", "-f", "-", stdin=job("parent", "sleep 600"))
        wait(lambda: pods_of(m, "parent"), "a pod")
        m.ok("delete", "job", "parent", "--cascade=orphan")
        left = wait(lambda: [p for p in pods_of(m, "parent") if not p["metadata"].get("finalizers")], "it is let go")
        check("deletionTimestamp" not in left[0]["metadata"], "it goes on")
        # A deleted pod waits only for its containers.
        m.ok("delete", "pod", left[0]["metadata"]["name"], "--grace-period=1")
        wait(lambda: not pods_of(m, "parent"), "it is gone")


def test_kubectl_makes_jobs_and_cron_jobs():
    with Mete("emulated:1xH100") as m:
        m.ok("create", "job", "hello", "--image=host", "--", "echo", "hello there")
        m.ok("wait", "--for=condition=complete", "job/hello", "--timeout=600s")
        equal(m.ok("logs", "job/hello"), "hello there\n")
        m.ok("create", "cronjob", "nightly", "--image=host", "--schedule=0 3 * * *", "--", "echo", "night")
        m.ok("create", "job", "--from=cronjob/nightly", "now")
        m.ok("wait", "--for=condition=complete", "job/now", "--timeout=600s")
        owner = m.object("job", "now")["metadata"]["ownerReferences"][0]
        equal((owner["kind"], owner["name"]), ("CronJob", "nightly"))
        check("0 3 * * *" in m.ok("get", "cj"), m.ok("get", "cj"))
        check("nightly" in m.ok("describe", "cronjob", "nightly"))
        m.ok("delete", "cronjob", "nightly")
        wait(lambda: m.kubectl("get", "job", "now").code != 0, "its job goes with it")
        r = m.kubectl("create", "cronjob", "bad", "--image=host", "--schedule=61 * * * *", "--", "true")
        check("end of range (61) above maximum (59): 61" in r.err, r)
        r = m.kubectl("apply", "-f", "-", stdin=job("bad", "true", restart="Always"))
        check('valid values: "OnFailure", "Never"' in r.err, r)
        r = m.kubectl("explain", "job.spec.backoffLimit")
        check("The number of pods that may fail" in r.out, r)


def test_a_cron_job_runs_by_itself():
    with Mete("emulated:1xH100") as m:
        m.ok("create", "cronjob", "minute", "--image=host", "--schedule=* * * * *", "--", "true")
        made = wait(lambda: m.object("jobs")["items"], "its first job", 65)
        wait_condition(m, made[0]["metadata"]["name"], "Complete")
        cron = m.object("cronjob", "minute")
        equal(made[0]["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"],
              cron["status"]["lastScheduleTime"])
        wait(lambda: m.object("cronjob", "minute")["status"].get("lastSuccessfulTime"), "its success is told")


def test_mete_takes_a_job_as_one():
    with Mete("emulated:1xH100") as m:
        r = m.mete("apply", "-f", "-", stdin=job("train", "sleep 600", gpus=1, completions=3, parallelism=3))
        equal(r.code, 0, r)
        wait(lambda: "1 running, 2 waiting" in m.mete("ps").out, "ps counts its pods")
        r = m.mete("ps", "-o", "name")
        equal(r.out, "job/train\n", r)
        number = json.loads(m.mete("ps", "-o", "json").out)["items"][0]["spec"]["jobId"]
        r = m.mete("show", number)
        check(r.code == 0 and r.out.count("train-") >= 3, r)
        r = m.mete("why", number)
        check("needs 1 gpu" in r.out, r)
        r = m.mete("logs", number)
        check(r.code == 1 and "has 3 pods: name one pod, for example pod/train-" in r.err, r)
        r = m.mete("cancel", number, "--wait", "--grace", "1")
        equal(r.code, 0, r)
        equal(pods_of(m, "train"), [])
        r = m.mete("show", "job/train")
        equal(r.code, 3, r)


def test_every_pod_counts_once_over_kills_of_the_server():
    """NonIndexed: one run too many would be one line too many."""
    with Mete("emulated:1xH100") as m:
        out = shared(m)
        m.ok("apply", "-f", "-", stdin=job("many", f"echo x >>{out}/runs; sleep 0.0$((RANDOM % 10))", completions=60, parallelism=8))

        def lines():
            try:
                with open(f"{out}/runs") as f:
                    return len(f.read().split())
            except FileNotFoundError:
                return 0

        for goal in (5, 15, 25, 35, 45):
            wait(lambda: lines() >= goal, f"{goal} runs")
            os.kill(wait(lambda: m.child("server"), "the server"), signal.SIGKILL)
        wait(lambda: m.kubectl("get", "job", "many").code == 0, "the server is back")
        wait_condition(m, "many", "Complete", 120)
        status = m.object("job", "many")["status"]
        equal(status["succeeded"], 60)
        equal(status.get("failed", 0), 0)
        equal(lines(), 60)
        equal(len(pods_of(m, "many")), 60)


def test_many_pods():
    with Mete("emulated:1xH100") as m:
        began = time.monotonic()
        m.ok("apply", "-f", "-", stdin=job("wide", "true", completions=PODS, parallelism=100, completionMode="Indexed"))
        wait_condition(m, "wide", "Complete", 400)
        status = m.object("job", "wide")["status"]
        equal((status["succeeded"], status["completedIndexes"]), (PODS, f"0-{PODS - 1}"))
        equal(status.get("failed", 0), 0)
        print(f"# {PODS} pods in {time.monotonic() - began:.0f} s")
        m.ok("delete", "job", "wide", deadline_s=120)
        wait(lambda: not pods_of(m, "wide"), "they go with it", 120)
