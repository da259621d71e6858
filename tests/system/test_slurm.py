"""Slurm jobs through the API: an array runs as its user, is listed, ends with its codes, and is cancelled by its user only."""

import json
import os

from harness import Mete, check, equal, pod, wait

JOBS = "/apis/mete.dev/v1/namespaces/default/slurmjobs"


def slurm_job(name, command, **spec):
    """The script executes its arguments, so that the test holds for each way to start a program."""
    return json.dumps({"apiVersion": "mete.dev/v1", "kind": "SlurmJob", "metadata": {"name": name},
                       "spec": {"name": name, "script": '#!/bin/sh\nexec "$@"\n', "arguments": ["sh", "-c", command], "workDir": "/tmp",
                                "stdout": "/dev/null", "environment": ["GREETING=a $(b) $$"], **spec}})


def rows(m, what="jobs", **parameters):
    query = "&".join(f"{k}={v}" for k, v in {"what": what, **parameters}.items())
    return m.read(f"/apis/mete.dev/v1/slurm?{query}")[what]


def test_an_array_of_slurm_jobs_runs_and_is_listed():
    with Mete("emulated:1xH100") as m:
        out = os.path.join(m.dir, "out")
        os.mkdir(out)
        os.chmod(out, 0o777)
        command = f'echo "$GREETING $SLURM_ARRAY_JOB_ID $SLURM_NTASKS $SLURM_JOB_NODELIST" >>{out}/$SLURM_ARRAY_TASK_ID; exit $SLURM_ARRAY_TASK_ID'
        m.ok("apply", "-f", "-", stdin=slurm_job("sweep", command, array={"indexes": "0-2", "limit": 2}, tasks=1, gres="gpu:1"))
        job = wait(lambda: (lambda o: o["status"].get("endTime") and o)(m.object("slurmjob", "sweep")), "the array ended", 120)
        status = job["status"]
        equal((status["state"], status["completed"], status["failed"], status["exitCode"]), ("FAILED", "0", "1,2", 2), status)
        node = m.object("nodes")["items"][0]["metadata"]["name"]
        for i in range(3):
            with open(f"{out}/{i}") as f:
                equal(f.read(), f"a $(b) $$ {status['jobId']} 1 {node}\n", "each element ran once")
        listed = rows(m, states="all", ids=status["jobId"])
        equal(sorted((r["arrayTaskId"], r["state"], r["exitCode"]) for r in listed),
              [(0, "COMPLETED", 0), (1, "FAILED", 1), (2, "FAILED", 2)])
        equal(m.object("pods")["items"], [])
        ended = m.read(f"/apis/mete.dev/v1/accounting?ids={status['jobId']}")["items"]
        equal(sorted((r["slurm"]["arrayTaskId"], r["state"], r["exitCode"], r["slurm"]["name"]) for r in ended),
              [(0, "COMPLETED", 0, "sweep"), (1, "FAILED", 1, "sweep"), (2, "FAILED", 2, "sweep")])
        equal(len(m.read(f"/apis/mete.dev/v1/accounting?ids={status['jobId']}_1&states=FAILED")["items"]), 1)

        m.ok("apply", "-f", "-", stdin=slurm_job("long", "exec sleep 1000", gres="gpu:1"))
        m.ok("apply", "-f", "-", stdin=slurm_job("next", "true", gres="gpu:1"))
        m.ok("apply", "-f", "-", stdin=pod("other", "sleep 1000"))
        found = wait(lambda: (lambda r: r.get("long", {}).get("state") == "RUNNING" and r.get("other", {}).get("state") == "RUNNING" and r)(
            {row["name"]: row for row in rows(m)}), "long runs")
        equal((found["next"]["state"], found["next"]["reason"]), ("PENDING", "Resources"), found["next"])
        equal(found["long"]["tresPerNode"], "gres/gpu:1")
        equal(rows(m, "nodes")[0]["gresUsed"], "gpu:h100:1")
        equal(rows(m, "partitions")[0]["nodes"], node)
        m.ok("patch", "slurmjob", "long", "--type=merge", "-p", '{"spec":{"cancelled":"*"}}')
        wait(lambda: m.object("slurmjob", "next")["status"].get("state") == "COMPLETED", "the next job ran")
        equal(m.object("slurmjob", "long")["status"]["state"], "CANCELLED")
        m.ok("apply", "-f", "-", stdin=slurm_job("never", "true", hold="user", array={"indexes": "3,5"}))
        m.ok("patch", "slurmjob", "never", "--type=merge", "-p", '{"spec":{"cancelled":"*"}}')
        row = wait(lambda: m.read("/apis/mete.dev/v1/accounting?name=never")["items"], "the cancelled job is accounted for")[0]
        equal((row["state"], row["slurm"]["arrayTaskId"], row["node"]), ("CANCELLED", "3,5", None))

        m.ok("apply", "-f", "-", stdin=slurm_job("whole", "true", exclusive=True))
        wait(lambda: {r["name"]: r["reason"] for r in rows(m)}.get("whole") == "Resources", "an exclusive job waits for the other pod")
        m.ok("delete", "pod", "other", "--now")
        wait(lambda: m.object("slurmjob", "whole")["status"].get("state") == "COMPLETED", "it runs alone")
