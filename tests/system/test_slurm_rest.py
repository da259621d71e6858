"""Slurmrestd's paths: what its clients send to submit, watch and cancel jobs, by token, with true HTTP codes."""

import contextlib
import hashlib
import http.client
import json
import os
import shutil
import ssl
import tempfile

from door import Door
from harness import Mete, check, equal, wait

UID = 5  # games of Debian's passwd: no login
TOKENS = {"ann": "a" * 43, "eve": "e" * 43}
USERS = """users:
- {name: ann, uid: 5, hostUid: 5, tokenSha256: "%s", roles: [{role: edit, namespace: default}]}
- {name: eve, uid: 13, hostUid: 13, tokenSha256: "%s", roles: [{role: edit, namespace: default}]}
"""
ALL = ("v0.0.42", "v0.0.43", "v0.0.44")


class Client:
    def __init__(self, m):
        self.address = Door(m).address
        with open(os.path.join(m.data, "server", "pki", "ca.crt"), encoding="ascii") as f:
            self.tls = ssl.create_default_context(cadata=f.read())

    def ask(self, method, path, body=None, who="ann", version="v0.0.42", headers=None):
        c = http.client.HTTPSConnection(*self.address, context=self.tls, timeout=60)
        if headers is None:
            headers = {"X-SLURM-USER-NAME": who, "X-SLURM-USER-TOKEN": TOKENS[who]}
        with contextlib.closing(c):
            c.request(method, f"/slurm/{version}/{path}", json.dumps(body) if body is not None else None,
                      {"Content-Type": "application/json", **headers})
            r = c.getresponse()
            return r.status, json.loads(r.read())

    def ok(self, method, path, **options):
        status, document = self.ask(method, path, **options)
        check(status == 200 and document["errors"] == [] and "meta" in document, path, status, document)
        return document

    def refused(self, want, *words, **options):
        status, document = self.ask(*words, **options)
        equal(status, want, document)
        return document["errors"][0]["description"]

    def state(self, job, **options):
        return self.ok("GET", f"job/{job}", **options)["jobs"][0]["job_state"]

    def submit(self, script, home, **job):
        body = {"script": script, "job": {"name": "rest", "current_working_directory": home, "environment": ["PATH=/bin:/usr/bin"], **job}}
        return self.ok("POST", "job/submit", body=body)["job_id"]


def test_clients_of_slurmrestd():
    home = tempfile.mkdtemp(prefix="mete-job-")
    os.chown(home, UID, UID)
    try:
        with Mete("emulated:1xH100") as m:
            path = os.path.join(m.data, "server", "users.yaml")
            with open(path, "w", encoding="ascii") as f:
                f.write(USERS % tuple(hashlib.sha256(t.encode()).hexdigest() for t in TOKENS.values()))
            os.chmod(path, 0o644)
            c = Client(m)
            wait(lambda: c.ask("GET", "ping")[0] == 200, "users.yaml is read")
            jobs_run(c, home)
            jobs_are_cancelled(c, home)
            the_cluster_is_shown(c)
            errors_have_codes(c, home)
    finally:
        shutil.rmtree(home)


def jobs_run(c, home):
    job = c.submit("#!/bin/sh\nid -u; echo $SLURM_JOB_NAME $SLURM_NTASKS $1\n", home, argv=["word"], tasks=1, standard_output=f"{home}/out",
                   time_limit={"set": True, "infinite": False, "number": 90}, memory_per_node={"set": True, "number": 64},
                   tres_per_node="gres/gpu=1", partition="main", excluded_nodes=["other"], hold=False)
    wait(lambda: c.state(job) not in (["PENDING"], ["RUNNING"], ["RUNNING", "COMPLETING"]), "the job ended", 120)
    equal(c.state(job), ["COMPLETED"])
    with open(f"{home}/out", encoding="ascii") as f:
        equal(f.read(), f"{UID}\nrest 1 word\n")
    for version in ALL:
        row = next(j for j in c.ok("GET", "jobs", version=version)["jobs"] if j["job_id"] == job)
        equal((row["name"], row["time_limit"]["number"], row["memory_per_node"]["number"], row["tres_per_node"], row["exit_code"]["return_code"]["number"]),
              ("rest", 90, 64, "gres/gpu:1", 0), row)


def jobs_are_cancelled(c, home):
    job = c.submit("#!/bin/sh\nexec sleep 1000\n", home)
    wait(lambda: c.state(job) == ["RUNNING"], "the job runs", 60)
    equal(c.refused(403, "DELETE", f"job/{job}", who="eve"), "Access/permission denied")
    c.ok("DELETE", f"job/{job}", headers={"Authorization": f"Bearer {TOKENS['ann']}"})
    wait(lambda: c.state(job) == ["CANCELLED"], "the job is cancelled", 60)
    c.ok("DELETE", f"job/{job}")


def the_cluster_is_shown(c):
    node = c.ok("GET", "nodes")["nodes"][0]
    check(node["state"] == ["IDLE"] and node["cpus"] > 0 and node["gres"].startswith("gpu:h100:1"), node)
    equal(c.ok("GET", f"node/{node['name']}")["nodes"][0]["hostname"], node["name"])
    partition = c.ok("GET", "partitions")["partitions"][0]
    equal((partition["name"], partition["nodes"], partition["partition"]["state"]), ("main", {"configured": node["name"], "total": 1}, ["UP"]))
    equal(c.ok("GET", "ping")["pings"][0]["pinged"], "UP")
    wait(lambda: c.ok("GET", "diag")["statistics"]["jobs_canceled"] == 1, "the cancelled job is counted", 60)


def errors_have_codes(c, home):
    def submit(want, script="#!/bin/sh\n", **job):
        return c.refused(want, "POST", "job/submit", {"script": script, "job": {"current_working_directory": home, **job}})
    check("Unauthorized" in c.refused(401, "GET", "jobs", headers={}))
    check("Unauthorized" in c.refused(401, "POST", "job/submit", {"script": "#!/bin/sh\n", "job": {"current_working_directory": "/"}},
                                      headers={"X-SLURM-USER-TOKEN": "x" * 43}))
    equal(c.refused(404, "GET", "job/99999999"), "Invalid job id specified")
    equal(c.refused(404, "DELETE", "job/99999999"), "Invalid job id specified")
    equal(c.refused(400, "GET", "job/x"), "Invalid job id specified")
    equal(submit(400, container="/x"), "job.container is not available yet")
    equal(submit(400, tasks="many"), "job.tasks: malformed")
    equal(submit(400, array="x"), "Batch job submission failed: Invalid job array specification")
    check("script: missing" in submit(400, script=""))
    check("Invalid partition name specified" in submit(422, partition="none"))
    check("node configuration is not available" in submit(422, tres_per_job="gres/gpu:99"))
    check("is not available yet" in c.refused(404, "GET", "licenses"))
    check("is not available yet" in c.refused(404, "GET", "jobs", version="v0.0.39"))
    check("is not available yet" in c.refused(405, "DELETE", "jobs"))
    equal(c.ask("POST", "job/submit")[0], 400)
