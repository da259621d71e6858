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
from harness import METE, Mete, check, equal, execute_as, wait

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

    def ask(self, method, path, body=None, who="ann", version="v0.0.42", headers=None, db=False):
        c = http.client.HTTPSConnection(*self.address, context=self.tls, timeout=60)
        if headers is None:
            headers = {"X-SLURM-USER-NAME": who, "X-SLURM-USER-TOKEN": TOKENS[who]}
        with contextlib.closing(c):
            c.request(method, f"/slurm{'db' if db else ''}/{version}/{path}", json.dumps(body) if body is not None else None,
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
            jobs_are_changed(c, home)
            the_accounting_is_shown(c, home)
            accounts_are_shown(m, c)
            tokens_are_made(m, c)
            the_cluster_is_shown(c)
            the_cluster_is_changed(m, c)
            commands_print_the_same(m, c)
            errors_have_codes(c, home)
    finally:
        shutil.rmtree(home)


def jobs_run(c, home):
    job = c.submit("#!/bin/sh\nid -u; echo $SLURM_JOB_NAME $SLURM_NTASKS $1\n", home, argv=["word"], tasks=1, standard_output=f"{home}/out",
                   time_limit={"set": True, "infinite": False, "number": 90}, memory_per_node={"set": True, "number": 64},
                   tres_per_node="gres/gpu=1", partition="main", hold=False)
    unknown = {"script": "#!/bin/sh\n", "job": {"current_working_directory": home, "environment": ["PATH=/bin"], "excluded_nodes": ["other"]}}
    equal(c.refused(422, "POST", "job/submit", body=unknown), "Invalid node name specified")
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


def jobs_are_changed(c, home):
    job = c.submit("#!/bin/sh\nexec sleep 1000\n", home, hold=True, array="0-1")
    def shown(member):
        return c.ok("GET", f"job/{job}")["jobs"][0][member]
    body = {"time_limit": {"set": True, "number": 45}, "name": "other", "comment": "two words", "nice": 7}
    equal(c.ok("POST", f"job/{job}", body=body)["results"][0]["job_id"], job)
    equal((shown("time_limit")["number"], shown("name"), shown("comment"), shown("nice")), (45, "other", "two words", 7))
    equal(c.refused(403, "POST", f"job/{job}", {"name": "x"}, who="eve"), "Access/permission denied")
    equal(c.refused(400, "POST", f"job/{job}", {"environment": []}), "job.environment: a change of it is not available yet")
    equal(c.refused(400, "POST", f"job/{job}", {"time_limit": "x"}), "job.time_limit: malformed")
    c.refused(400, "POST", f"job/{job}", {})
    c.refused(400, "POST", f"job/{job}", [])
    equal(c.refused(404, "POST", "job/99999999", {"name": "x"}), "Invalid job id specified")
    c.ok("POST", f"job/{job}_1", body={"hold": False})
    c.ok("POST", f"job/{job}", body={"hold": False})
    wait(lambda: {tuple(j["job_state"]) for j in c.ok("GET", f"job/{job}")["jobs"]} == {("RUNNING",)}, "the elements run", 60)
    check("not available yet" in c.refused(400, "DELETE", f"job/{job}?signal=USR1"))
    c.ok("DELETE", f"job/{job}_1")
    wait(lambda: c.state(f"{job}_1") == ["CANCELLED"] and c.state(f"{job}_0") == ["RUNNING"], "one element is cancelled", 60)
    c.ok("DELETE", f"job/{job}?signal=KILL")
    wait(lambda: {tuple(j["job_state"]) for j in c.ok("GET", f"job/{job}")["jobs"]} == {("CANCELLED",)}, "all are cancelled", 60)
    equal(c.refused(409, "POST", f"job/{job}", {"name": "x"}), "Job/step already completing or completed")


def the_accounting_is_shown(c, home):
    job = c.submit("#!/bin/sh\nexit 3\n", home, name="counted", comment="why")
    wait(lambda: c.state(job) == ["FAILED"], "the job failed", 60)
    row = c.ok("GET", f"job/{job}", db=True)["jobs"][0]
    equal((row["name"], row["state"]["current"], row["exit_code"]["return_code"]["number"], row["comment"]["job"], row["association"]["user"]),
          ("counted", ["FAILED"], 3, "why", "games"))
    equal([s["step"]["name"] for s in row["steps"]], ["batch"])
    check({"type": "cpu", "name": "", "id": 1, "count": 1} in row["tres"]["allocated"], row)
    for query, is_there in (("users=games", True), ("users=nobody", False), ("job_name=counted&state=FAILED", True), ("state=RUNNING", False),
                            (f"step={job}&skip_steps=1", True), ("start_time=4000000000", False), ("end_time=1000000000", False)):
        if "4000000000" in query:
            c.refused(400, "GET", f"jobs?{query}", db=True)
            continue
        found = c.ok("GET", f"jobs/?{query}", db=True)["jobs"]
        equal(job in [j["job_id"] for j in found], is_there, query)
        check("skip_steps" not in query or found[0]["steps"] == [], found)
    equal(c.refused(404, "GET", "job/99999999", db=True), "Invalid job id specified")
    equal(c.refused(400, "GET", "jobs?reason=x", db=True), "the parameter reason is not available yet")


def accounts_are_shown(m, c):
    m.mete("sacctmgr", "-i", "add", "account", "vision", "Description=Eyes", "Organization=uni", "Fairshare=3", "GrpTRES=gres/gpu=2,mem=1G")
    m.mete("sacctmgr", "-i", "add", "user", "ann", "account=vision")
    m.mete("sacctmgr", "-i", "add", "qos", "high", "Priority=100", "MaxTRESPU=cpu=4", "MaxWall=60", "Flags=DenyOnLimit", "UsageFactor=0.5")
    account = c.ok("GET", "account/vision", db=True)["accounts"][0]
    equal((account["description"], account["organization"]), ("Eyes", "uni"))
    equal([a["user"] for a in account["associations"]], ["", "ann"])
    check({"root", "vision"} <= {a["name"] for a in c.ok("GET", "accounts/", db=True)["accounts"]})
    equal(c.ok("GET", "user/ann", db=True)["users"][0]["default"], {"account": "vision", "wckey": ""})
    row = c.ok("GET", "associations/?account=vision&user=ann", db=True)["associations"]
    equal([(a["account"], a["user"], a["is_default"], a["lineage"]) for a in row], [("vision", "ann", True, "/vision/0-ann/")])
    top = c.ok("GET", "associations?account=vision", db=True)["associations"][0]
    equal((top["shares_raw"], top["parent_account"], [(t["type"], t["count"]) for t in top["max"]["tres"]["total"]]),
          (3, "root", [("mem", 1024), ("gres", 2)]))
    qos = c.ok("GET", "qos/high", db=True)["qos"][0]
    equal((qos["priority"]["number"], qos["flags"], qos["limits"]["max"]["wall_clock"]["per"]["job"]["number"], qos["usage_factor"]["number"]),
          (100, ["DENY_LIMIT"], 60, 0.5))
    equal(c.ok("GET", "tres", db=True)["TRES"][0], {"count": 0, "id": 1, "name": "", "type": "cpu"})
    equal(c.ok("GET", "clusters", db=True)["clusters"][0]["name"], "mete")
    equal(c.refused(404, "GET", "user/nobody", db=True), "not found")
    c.refused(405, "POST", "accounts", {}, db=True)
    for entity, name in (("accounts", "account"), ("users", "user"), ("qos", "qos"), ("associations", "assoc"), ("clusters", "cluster")):
        said = json.loads(m.mete("sacctmgr", "list", name, "--json").out)
        equal(said[entity], c.ok("GET", entity, db=True)[entity], entity)


def tokens_are_made(m, c):
    def scontrol(uid, *words):
        return execute_as(uid, uid, [METE, "scontrol", "token", *words], env=m.env)
    def token(*words, uid=0):
        r = scontrol(uid, *words)
        check(r.code == 0 and r.out.startswith("SLURM_JWT="), r)
        return r.out.strip().removeprefix("SLURM_JWT=")
    def asks(given, name=None, want=200):
        headers = {"X-SLURM-USER-TOKEN": given, **({"X-SLURM-USER-NAME": name} if name else {})}
        status, document = c.ask("GET", "jobs", headers=headers)
        equal(status, want, document)
    own = token(uid=UID)
    asks(own)
    asks(own, "ann")
    asks(own, "root", want=401)
    asks(own[:-4] + "AAAA", want=401)
    asks(token("username=nobody", "lifespan=60"), "nobody")
    root = token("lifespan=60")
    asks(root, "ann")
    asks(root, "nosuchuser", want=401)
    short = token("lifespan=1", uid=UID)
    wait(lambda: c.ask("GET", "jobs", headers={"X-SLURM-USER-TOKEN": short})[0] == 401, "the token has expired")
    for words, uid, text in ((["username=root"], UID, "administrators do"), (["username=nosuchuser"], 0, "neither in users.yaml"),
                             (["lifespan=0"], 0, "lifespan"), (["lifespan=99999999999"], 0, "lifespan"), (["nope"], 0, "invalid option")):
        r = scontrol(uid, *words)
        check(r.code == 1 and (text in r.err or "seconds" in r.err or "want" in r.err), words, r)


def the_cluster_is_shown(c):
    node = c.ok("GET", "nodes")["nodes"][0]
    check(node["state"] == ["IDLE"] and node["cpus"] > 0 and node["gres"].startswith("gpu:h100:1"), node)
    equal(c.ok("GET", f"node/{node['name']}")["nodes"][0]["hostname"], node["name"])
    partition = c.ok("GET", "partitions")["partitions"][0]
    equal((partition["name"], partition["nodes"], partition["partition"]["state"]), ("main", {"allowed_allocation": "", "configured": node["name"], "total": 1}, ["UP"]))
    equal(c.ok("GET", "ping")["pings"][0]["pinged"], "UP")
    wait(lambda: c.ok("GET", "diag")["statistics"]["jobs_canceled"] == 3, "the cancelled jobs are counted", 60)


def the_cluster_is_changed(m, c):
    name = c.ok("GET", "nodes")["nodes"][0]["name"]
    r = m.mete("scontrol", "create", "reservation", "ReservationName=later", "StartTime=now+10hours", "Duration=60", "Users=root", f"Nodes={name}")
    check(r.code == 0, r)
    later = c.ok("GET", "reservation/later")["reservations"][0]
    equal((later["node_list"], later["node_count"], later["users"], later["flags"], later["end_time"]["number"] - later["start_time"]["number"]),
          (name, 1, "root", ["SPEC_NODES"], 3600))
    equal(c.refused(404, "GET", "reservation/none"), "not found")
    equal(c.ok("GET", "licenses")["licenses"], [])
    headers = {"X-SLURM-USER-TOKEN": m.mete("scontrol", "token").out.strip().removeprefix("SLURM_JWT=")}
    c.refused(403, "POST", f"node/{name}", {"state": ["DRAIN"], "reason": "x"})
    c.refused(400, "POST", f"node/{name}", {"state": ["DRAIN"]}, headers=headers)
    c.refused(400, "POST", f"node/{name}", {"weight": 5}, headers=headers)
    c.refused(404, "POST", "node/a%3fb", {"state": ["DRAIN"], "reason": "x"}, headers=headers)
    c.ok("POST", f"node/{name}", body={"state": ["DRAIN"], "reason": "two words"}, headers=headers)
    wait(lambda: "DRAIN" in c.ok("GET", f"node/{name}")["nodes"][0]["state"], "the node drains")
    equal(c.ok("GET", f"node/{name}")["nodes"][0]["reason"], "two words")
    c.ok("POST", f"node/{name}", body={"state": ["RESUME"]}, headers=headers)
    wait(lambda: c.ok("GET", f"node/{name}")["nodes"][0]["state"] == ["IDLE"], "the node is back")


def commands_print_the_same(m, c):
    """The documents of the commands are those of the paths."""
    for words, path, member in ((["scontrol", "show", "nodes"], "nodes", "nodes"), (["scontrol", "show", "partitions"], "partitions", "partitions"),
                                (["scontrol", "show", "reservations"], "reservations", "reservations"), (["scontrol", "show", "jobs"], "jobs", "jobs"),
                                (["squeue", "-t", "all"], "jobs", "jobs")):
        headers = {"X-SLURM-USER-TOKEN": m.mete("scontrol", "token").out.strip().removeprefix("SLURM_JWT=")}
        def by_name(document, member=member):
            return sorted(document[member], key=lambda row: str(row.get("job_id", row["name"])))
        def agree(words=words, path=path, headers=headers):
            return by_name(json.loads(m.mete(*words, "--json").out)) == by_name(c.ok("GET", path, headers=headers))
        wait(agree, f"{words} and {path} agree")
    line = json.loads(m.mete("sinfo", "--json").out)["sinfo"][0]
    equal((line["nodes"]["total"], line["node"]["state"], line["partition"]["name"], line["cpus"]["total"], line["gres"]["total"].split("(")[0]),
          (1, ["IDLE"], "main", line["cpus"]["idle"], "gpu:h100:1"))
    for words in (["sacct", "-a"], ["sinfo"], ["scontrol", "show", "node"], ["squeue"], ["sacctmgr", "list", "qos"]):
        r = m.mete(*words, "--yaml")
        check(r.code == 0 and "meta:" in r.out, r)
    r = m.mete("scontrol", "show", "config", "--json")
    check(r.code == 1 and "show config has no --json" in r.err, r)
    equal(json.loads(m.mete("squeue", "-s", "--json").out)["steps"], [])


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
    check("is not available yet" in c.refused(404, "GET", "shares"))
    check("is not available yet" in c.refused(404, "GET", "jobs", version="v0.0.39"))
    check("is not available yet" in c.refused(405, "DELETE", "jobs"))
    equal(c.ask("POST", "job/submit")[0], 400)
