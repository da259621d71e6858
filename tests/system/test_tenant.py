"""One tenant against another: Eve attacks Ann from the API, from her containers and from the machine.

Both are users of the machine, with a token and a namespace each. Each line of a list is one attack, with its expected
answer."""

import concurrent.futures
import contextlib
import hashlib
import http.client
import json
import os
import re

from door import Door
from harness import METE, Mete, check, equal, execute_as, pod, wait
from test_isolation import TOOLS, bring_tools, manifest

ANN, EVE = 5, 13  # games and proxy of Debian's passwd: no login
TOKENS = {"ann": "a" * 43, "eve": "e" * 43}
MARK = "only-for-ann"
ROLES = """users:
- {name: ann, uid: 5, hostUid: 5, tokenSha256: "%s", roles: [{role: edit, namespace: team-a}]}
- {name: eve, uid: 13, hostUid: 13, tokenSha256: "%s", roles: [{role: edit, namespace: team-e}]}
"""
A, E = "/api/v1/namespaces/team-a", "/api/v1/namespaces/team-e"
MERGE = "application/merge-patch+json"
SLEEP = "sleep 1000"
AT_ONCE = {"terminationGracePeriodSeconds": 0}


class Person:
    """A user of the machine, who comes by the unix socket, or with the token over TLS."""

    def __init__(self, m, name, uid, ns):
        self.m, self.name, self.ns, self.uid = m, name, ns, uid
        self.door = Door(m)
        self.door.tls = self.bare_tls()

    def bare_tls(self):
        import ssl
        with open(os.path.join(self.m.data, "server", "pki", "ca.crt")) as f:
            return ssl.create_default_context(cadata=f.read())

    def ask(self, method, path, body=None, kind="application/json", headers=()):
        c = http.client.HTTPSConnection(*self.door.address, context=self.door.tls, timeout=30)
        with contextlib.closing(c):
            c.request(method, path, json.dumps(body) if body is not None else None,
                      {"Content-Type": kind, "Authorization": "Bearer " + TOKENS[self.name], **dict(headers)})
            r = c.getresponse()
            text = r.read()
        with contextlib.suppress(ValueError):
            return r.status, json.loads(text)
        return r.status, text.decode(errors="replace")

    def on_machine(self, *argv, stdin=None):
        return execute_as(self.uid, self.uid, argv, stdin=stdin,
                          env={**self.m.env, "HOME": "/nonexistent", "KUBECONFIG": "/nonexistent"})

    def mete(self, *words, stdin=None):
        return self.on_machine(METE, *words, stdin=stdin)

    def apply(self, text):
        body = json.loads(text)
        body["metadata"]["namespace"] = self.ns
        r = self.mete("apply", "-f", "-", stdin=json.dumps(body))
        equal(r.code, 0, r)

    def kubectl(self, *words, stdin=None):
        return self.m.kubectl("--kubeconfig", self.config(), *words, stdin=stdin)

    def config(self):
        path = os.path.join(self.m.home, self.name)
        if not os.path.exists(path):
            config = json.loads(self.m.ok("config", "view", "--raw", "-o", "json"))
            for u in config["users"]:
                u["user"] = {"token": TOKENS[self.name]}
            with open(path, "w") as f:
                json.dump(config, f)
        return path

    def run(self, name, text, want="Succeeded"):
        """The lines of a pod of one's own."""
        self.apply(text)
        phase = self.m.wait_phase(name, ("Succeeded", "Failed"), ns=self.ns)
        out = self.m.ok("logs", name, "-n", self.ns)
        equal(phase, want, out)
        return out.splitlines()


@contextlib.contextmanager
def two_tenants(**options):
    with Mete(**options) as m:
        for ns in ("team-a", "team-e"):
            m.ok("create", "namespace", ns)
        path = os.path.join(m.data, "server", "users.yaml")
        with open(path, "w") as f:
            f.write(ROLES % tuple(hashlib.sha256(TOKENS[n].encode()).hexdigest() for n in ("ann", "eve")))
        os.chmod(path, 0o644)
        ann, eve = Person(m, "ann", ANN, "team-a"), Person(m, "eve", EVE, "team-e")
        wait(lambda: ann.ask("GET", A + "/pods")[0] == 200 == eve.ask("GET", E + "/pods")[0], "users.yaml is read")
        bring_tools(m)
        yield m, ann, eve


def own(meta=None, spec=None, container=None):
    c = {"name": "main", "image": "host", "command": ["true"], **(container or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "try", **(meta or {})},
            "spec": {"restartPolicy": "Never", "containers": [c], **(spec or {})}}


def job_of(body):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "try"},
            "spec": {"template": {"metadata": body["metadata"] | {"name": ""}, "spec": body["spec"]}}}


def settle(m, ann, eve):
    """What Ann has: a secret, an account, a container of the host and one of an image, with a gpu each."""
    m.ok("create", "secret", "generic", "key", "-n", "team-a", f"--from-literal=k={MARK}")
    m.ok("create", "serviceaccount", "ci", "-n", "team-a")
    env = [{"name": "MARK", "value": MARK}]
    gpu = {"limits": {"nvidia.com/gpu": 1}}
    ann.apply(pod("theirs", "", containers=[{"name": "main", "image": "host", "env": env, "resources": gpu,
                                             "command": ["sh", "-c", f"echo {MARK}; umask 077; echo {MARK} > /tmp/mark-$$; {SLEEP}"]}],
                  **AT_ONCE))
    ann.apply(manifest("boxed", f"echo {MARK}; {SLEEP}", container={"env": env}, limits={"nvidia.com/gpu": 1}, **AT_ONCE))
    eve.apply(pod("mine", SLEEP, **AT_ONCE))
    for name, ns in (("theirs", "team-a"), ("boxed", "team-a"), ("mine", "team-e")):
        m.wait_phase(name, "Running", ns=ns)


def ann_is_well(m, ann):
    for name in ("theirs", "boxed"):
        status = m.object("pod", name, "-n", "team-a")["status"]
        equal((status["phase"], status["containerStatuses"][0]["restartCount"]), ("Running", 0), name)
    equal(ann.kubectl("exec", "-n", "team-a", "boxed", "--", "/bin/echo", "well").out, "well\n")
    equal(ann.mete("exec", "-n", "team-a", "theirs", "--", "echo", "well").out, "well\n")


# ---- the API ----

def test_a_tenant_is_kept_out_by_the_api():
    with two_tenants() as (m, ann, eve):
        settle(m, ann, eve)
        m.ok("create", "-f", "-", "-n", "team-e", stdin=json.dumps(
            {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"},
             "spec": {"hard": {"requests.nvidia.com/gpu": "2", "count/pods": "40", "count/jobs.batch": "4"}}}))
        wait(lambda: m.object("quota", "q", "-n", "team-e").get("status", {}).get("used"), "the quota counts")
        others_are_closed(eve)
        nobody_else_is_impersonated(eve)
        the_cluster_is_closed(m, eve)
        own_objects_say_nothing_that_is_ours_to_say(eve)
        tokens_are_not_stolen(m, eve)
        clients_say_the_same(eve)
        quotas_hold_in_races(m, eve)
        ann_is_well(m, ann)


def refused(eve, method, path, body=None, code=403, message="cannot", kind="application/json", **options):
    if method == "PATCH" and kind == "application/json":
        kind = MERGE
    status, answer = eve.ask(method, path, body, kind, **options)
    what = (method, path, body, options)
    equal(status, code, *what, answer)
    check(isinstance(answer, dict) and message in answer["message"], *what, answer, "want: " + message)
    check(MARK not in json.dumps(answer), *what, answer)


def others_are_closed(eve):
    b = A.replace("/api/v1", "/apis/batch/v1")
    for method, path, body in (
            [("GET", f"{A}/{kind}{query}", None) for kind in (
                "secrets", "secrets/key", "pods", "pods/theirs", "configmaps", "events", "serviceaccounts", "resourcequotas",
                "limitranges", "pods/theirs/status") for query in ("", "?watch=1", "?limit=1")] +
            [("GET", f"/api/v1/{kind}{query}", None) for kind in ("secrets", "pods", "configmaps", "events", "serviceaccounts")
             for query in ("", "?watch=1", "?fieldSelector=metadata.namespace=team-e")] +
            [("GET", f"{A}/pods/theirs/log?container=main{more}", None) for more in ("", "&follow=true", "&previous=true")] +
            [(method, f"{A}/pods/theirs/{door}?command=id&stdout=true&ports=22", None) for method in ("GET", "POST")
             for door in ("exec", "attach", "portforward")] + [
                ("POST", A + "/pods", own()), ("POST", A + "/secrets", {"metadata": {"name": "x"}}),
                ("DELETE", A + "/pods/theirs", None), ("DELETE", A + "/pods", None), ("DELETE", A + "/secrets/key", None),
                ("PATCH", A + "/pods/theirs", {"metadata": {"labels": {"a": "b"}}}),
                ("PATCH", A + "/pods/theirs/status", {"status": {"phase": "Failed"}}),
                ("POST", A + "/pods/theirs/eviction", {"metadata": {"name": "theirs"}}),
                ("POST", A + "/pods/theirs/binding", {"metadata": {"name": "theirs"}, "target": {"name": "vm"}}),
                ("POST", A + "/serviceaccounts/ci/token", {"spec": {}}),
                ("GET", b + "/jobs", None), ("POST", b + "/jobs", job_of(own())),
                ("GET", "/apis/mete.dev/v1/namespaces/team-a/workloads", None), ("GET", "/apis/mete.dev/v1/workloads", None),
                ("DELETE", "/api/v1/namespaces/team-a", None)]):
        refused(eve, method, path, body)
    refused(eve, "GET", E + "/../team-a/secrets/key", code=400, message="path segment")
    refused(eve, "GET", E + "/pods/..%2f..%2fteam-a%2fsecrets%2fkey", code=400, message="path segment")
    status, answer = eve.ask("POST", E + "/pods", own({"namespace": "team-a"}))
    check(status == 400 and "namespace" in answer["message"], answer)


def nobody_else_is_impersonated(eve):
    for header, value in (("User", "ann"), ("User", "admin"), ("User", "root"), ("User", "system:node:vm"),
                          ("Group", "system:masters"), ("Group", "system:nodes"), ("Uid", "0"), ("Extra-Scopes", "all")):
        for also in ({}, {"Impersonate-User": "eve"}):
            status, answer = eve.ask("GET", A + "/secrets/key", headers={**also, "Impersonate-" + header: value})
            check(status in (400, 403) and MARK not in json.dumps(answer), header, value, also, status, answer)
    for name in ("X-Remote-User", "X-Remote-Group", "X-Forwarded-User", "X-Mete-User"):
        refused(eve, "GET", A + "/secrets/key", headers={name: "system:masters"})
    for words in (("",), ("Bearer",), ("Bearer x",), ("Basic YWRtaW46YWRtaW4=",), ("Bearer " + "a" * 42,),
                  ("Bearer " + TOKENS["ann"] + " x",), ("Bearer " + "x" * 60000,)):
        status, answer = eve.ask("GET", A + "/secrets/key", headers={"Authorization": words[0]})
        check(status in (400, 401, 431), words[0][:40], status, answer)


def the_cluster_is_closed(m, eve):
    node = m.object("nodes")["items"][0]["metadata"]["name"]
    nodes = f"/api/v1/nodes/{node}"
    for method, path, body in (
            ("PATCH", nodes, {"spec": {"unschedulable": True}}), ("DELETE", nodes, None),
            ("PATCH", nodes + "/status", {"status": {"capacity": {"nvidia.com/gpu": "99"}}}),
            ("POST", "/api/v1/nodes", {"metadata": {"name": "rogue"}}),
            ("POST", "/api/v1/namespaces", {"metadata": {"name": "more"}}), ("DELETE", E, None),
            ("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "first"}, "value": 1000000}),
            ("POST", E + "/resourcequotas", {"metadata": {"name": "mine"}, "spec": {"hard": {"pods": "9"}}}),
            ("PATCH", E + "/resourcequotas/q", {"spec": {"hard": {"requests.nvidia.com/gpu": "8"}}}),
            ("PATCH", E + "/resourcequotas/q/status", {"status": {"used": {"requests.nvidia.com/gpu": "0"}}}),
            ("DELETE", E + "/resourcequotas/q", None), ("POST", E + "/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": []}}),
            ("PATCH", E + "/pods/mine/status", {"status": {"phase": "Succeeded"}}),
            ("PUT", E + "/pods/mine/status", {**own({"name": "mine"}), "status": {"phase": "Succeeded"}}),
            ("POST", E + "/pods/mine/binding", {"metadata": {"name": "mine"}, "target": {"name": node}}),
            ("POST", E + "/serviceaccounts/default/token", {"spec": {}}),
            ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": TOKENS["ann"]}}),
            ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": {"user": "ann"}}),
            ("POST", f"/mete.dev/v1/nodes/{node}/stream", {}), ("DELETE", f"/mete.dev/v1/nodes/{node}/images?name={TOOLS}", None),
            ("POST", f"/mete.dev/v1/nodes/{node}/images/import", None), ("POST", f"/mete.dev/v1/nodes/{node}/images/gc", {})):
        status, answer = eve.ask(method, path, body, MERGE if method == "PATCH" else "application/json")
        equal(status, 403, method, path, answer)
    status, answer = eve.ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"namespace": "team-a", "verb": "get", "resource": "secrets"}}})
    equal((status, answer["status"]["allowed"]), (201, False), answer)


def own_objects_say_nothing_that_is_ours_to_say(eve):
    """What Eve may not write into what is hers, as a Pod and as the template of a Job."""
    image = {"image": TOOLS, "imagePullPolicy": "Never"}
    volume = [{"name": "v", "hostPath": {"path": "/etc"}}]
    tries = [(own({"annotations": {key: value}}), (403, 422)) for key, value in (
        ("mete.dev/user", "ann"), ("mete.dev/devices", '{"containers":{"main":["GPU-0"]}}'), ("mete.dev/usage", "{}"))] + [
        (own({"labels": {"mete.dev/job-id": "1"}}), (403, 422)),
        (own(spec={"nodeName": "vm"}), (403, 422)), (own(spec={"hostPID": True}), (422,)), (own(spec={"hostIPC": True}), (422,)),
        (own(spec={"volumes": volume}), (403,)),
        (own(spec={"volumes": [{"name": "v", "hostPath": {"path": "/proc/1/root"}}]}), (403, 422)),
        (own(spec={"volumes": [{"name": "v", "hostPath": {"path": "/dev"}}]}), (403, 422)),
        (own(spec={"volumes": volume}, container={**image, "volumeMounts": [{"name": "v", "mountPath": "/x"}]}), (403,)),
        (own(container={"securityContext": {"runAsUser": 0}}), (403,)),
        (own(container={"securityContext": {"runAsUser": ANN}}), (403,)),
        (own(container={"securityContext": {"runAsGroup": 0}}), (403,)),
        (own(spec={"securityContext": {"supplementalGroups": [0, ANN]}}), (403,)),
        (own(spec={"securityContext": {"fsGroup": 0}}), (403, 422)),
        (own(container={"securityContext": {"privileged": True}}), (403, 422)),
        (own(container={**image, "securityContext": {"privileged": True}}), (403,)),
        (own(container={**image, "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}), (403,)),
        (own(container={**image, "securityContext": {"capabilities": {"add": ["ALL"]}}}), (403,)),
        (own(container={**image, "securityContext": {"seccompProfile": {"type": "Unconfined"}}}), (403,)),
        (own(container={**image, "securityContext": {"procMount": "Unmasked"}}), (422,)),
        (own(spec={"hostUsers": True}, container=image), (403,)),
        (own(spec={"priorityClassName": "system-node-critical"}), (403,)),
        (own(container={"volumeDevices": [{"name": "v", "devicePath": "/dev/nvidia0"}]}), (400, 422))]
    for body, codes in tries:
        for path, what in ((E + "/pods", body), (E.replace("/api/v1", "/apis/batch/v1") + "/jobs", job_of(body))):
            status, answer = eve.ask("POST", path, what)
            check(status in codes, path, body, f"want {codes}", status, answer)
    for patch in ({"metadata": {"annotations": {"mete.dev/user": "ann"}}}, {"metadata": {"annotations": {"mete.dev/devices": "{}"}}},
                  {"metadata": {"labels": {"mete.dev/job-id": "1"}}}, {"spec": {"nodeName": "other"}},
                  {"spec": {"securityContext": {"runAsUser": 0}}}, {"spec": {"priority": 1}}, {"spec": {"hostUsers": True}},
                  {"spec": {"volumes": volume}}):
        status, answer = eve.ask("PATCH", E + "/pods/mine", patch, MERGE)
        check(status in (403, 422), patch, status, answer)
    first = own({"name": "first"}, {"priority": 2000000000})
    equal(eve.ask("POST", E + "/pods", first)[0], 403, first)
    equal(eve.ask("POST", E.replace("/api/v1", "/apis/batch/v1") + "/jobs", job_of(first) | {"metadata": {"name": "first"}})[0], 201)
    wait(lambda: "priority (2000000000) must not be provided" in eve.kubectl("get", "events", "-n", "team-e").out,
         "no pod comes of such a Job, as in Kubernetes")
    any_path = own({"name": "paths", "annotations": {"mete.dev/host-paths": "any"}})
    status, answer = eve.ask("POST", E + "/pods", any_path)
    equal(status, 422, answer)
    status, answer = eve.ask("POST", E.replace("/api/v1", "/apis/batch/v1") + "/jobs", job_of(any_path))
    equal((status, answer["spec"]["template"]["metadata"].get("annotations", {})), (201, {}), "nobody says it of himself", answer)
    status, answer = eve.ask("POST", E + "/pods", {**own({"name": "honest"}), "status": {"phase": "Failed", "podIP": "1.2.3.4"}})
    equal((status, answer["metadata"]["annotations"]["mete.dev/user"]), (201, "eve"), answer)
    equal(answer["status"]["phase"], "Pending")


def tokens_are_not_stolen(m, eve):
    """A pod that names another's account or secret gets what is of that name in its own namespace: nothing."""
    token = {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
    refs = [{"name": "v", "secret": {"secretName": "key"}}, {"name": "v", "projected": {"sources": [{"secret": {"name": "key"}}]}}]
    for i, volume in enumerate(refs):
        status, answer = eve.ask("POST", E + "/pods", own({"name": f"steals{i}"}, {"volumes": [volume]}, {
            "image": TOOLS, "imagePullPolicy": "Never", "args": ["cat /v/*"], "volumeMounts": [{"name": "v", "mountPath": "/v"}]}))
        equal(status, 201, answer)
        wait(lambda: "Secret 'key' not found" in m.ok("get", "pod", f"steals{i}", "-n", "team-e", "-o", "json"),
             "it waits for a secret of its own namespace")
    status, answer = eve.ask("POST", E + "/pods", own({"name": "ci"}, {"serviceAccountName": "ci", "volumes": [token]}))
    check(status in (403, 422) and "ci" in answer["message"], status, answer)


def clients_say_the_same(eve):
    for words in (("get", "secret", "key"), ("logs", "theirs"), ("exec", "theirs", "--", "id"), ("attach", "theirs"),
                  ("delete", "pod", "theirs"), ("get", "pods")):
        for r in (eve.kubectl(words[0], "-n", "team-a", *words[1:]), eve.mete(words[0], "-n", "team-a", *words[1:])):
            check(r.code != 0 and MARK not in r.out and "cannot" in r.err, words, r)
    there = os.path.join(eve.m.home, "copy")
    for r in (eve.kubectl("cp", "team-a/boxed:/etc/passwd", there), eve.mete("cp", "-n", "team-a", "boxed:/etc/passwd", there),
              eve.kubectl("get", "secrets", "-A"), eve.mete("get", "pods", "-A"), eve.kubectl("get", "pods", "--as", "ann", "-n", "team-a"),
              eve.kubectl("create", "token", "ci", "-n", "team-a"), eve.kubectl("label", "node", "vm", "a=b")):
        check(r.code != 0 and MARK not in r.out and not os.path.exists(there), r)


def quotas_hold_in_races(m, eve):
    """Forty at once for two gpus, a half of them by Jobs' templates that name more than the quota has."""
    def one(i):
        return eve.ask("POST", E + "/pods", own({"name": f"race{i}"}, container={
            "resources": {"limits": {"nvidia.com/gpu": 1}}, "command": ["sleep", "1000"]}))
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(one, range(30)))
    equal(sorted(s for s, _ in answers), [201] * 2 + [403] * 28)
    check(all("exceeded quota: q" in a["message"] for s, a in answers if s == 403), answers)
    name = next(a["metadata"]["name"] for s, a in answers if s == 201)
    status, answer = eve.ask("PATCH", f"{E}/pods/{name}", {"spec": {"containers": [{
        "name": "main", "image": "host", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}}, MERGE)
    check(status in (403, 422), status, answer)
    held = [p for p in m.object("pods", "-n", "team-e")["items"] if "mete.dev/devices" in p["metadata"].get("annotations", {})]
    check(len(held) <= 2, held)
    for s, a in answers:
        if s == 201:
            equal(eve.ask("DELETE", f"{E}/pods/{a['metadata']['name']}?gracePeriodSeconds=0")[0], 200)


# ---- from inside, and from the machine ----

LOOK = """
set -- /proc/[0-9]*; echo pids $#
for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ 2>/dev/null | grep '^MARK='; done
for p in $PIDS; do kill -9 $p 2>/dev/null && echo killed $p; cat /proc/$p/environ 2>/dev/null; ls /proc/$p/root/ 2>/dev/null; done
for f in $DATA/kubeconfig $DATA/node/token $DATA/server/users.yaml $DATA/server/pki/ca.key $DATA/node/pods /etc/shadow; do
    cat $f $f/* 2>/dev/null
done
for f in /proc/1/root$DATA/kubeconfig /proc/self/root$DATA/kubeconfig /proc/1/cwd/$DATA/node/token; do cat $f 2>/dev/null; done
cat /tmp/mark-* 2>/dev/null
for i in 0 1 2 3 4 5 6 7; do
    mknod /dev/shm/n c 195 $i 2>/dev/null && echo made $i
    test -e /dev/nvidia$i && echo has nvidia$i
done
for d in mem kmem port kmsg sda vda loop0 fuse kvm; do (exec 3<>/dev/$d) 2>/dev/null && echo opened $d; done
echo 1 2>/dev/null > /proc/sys/kernel/panic && echo wrote panic
for f in /sys/fs/cgroup/*/mete/*/tasks /sys/fs/cgroup/*/tasks /sys/fs/cgroup/cgroup.procs; do test -e $f && (echo $$ > $f) 2>/dev/null && echo left by $f; done
mount -t proc proc /tmp 2>/dev/null && echo mounted
echo end"""


def test_a_tenant_is_kept_out_from_inside():
    with two_tenants() as (m, ann, eve):
        settle(m, ann, eve)
        pids = processes_of_ann()
        check(len(pids) >= 2, pids)
        taken = set(re.findall(r"has (nvidia\d)", "\n".join(look(m, ann, "see", "host", pids))))
        script = {"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}, {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "all"},
                          {"name": "CUDA_VISIBLE_DEVICES", "value": "0,1,2,3,4,5,6,7"}]}
        equal(taken, set(), "without asking there is none")
        devices = {name: gpus_in(m, ns, name) for ns, name in (("team-a", "theirs"), ("team-a", "boxed"))}
        check(len(devices["theirs"]) == len(devices["boxed"]) == 1 and devices["theirs"] != devices["boxed"], devices)
        for image in ("host", TOOLS):
            name = "host" if image == "host" else "image"
            equal(look(m, eve, name, image, pids, **script), ["pids 1", "end"], image)
            out = look(m, eve, name + "-gpu", image, pids, limits={"nvidia.com/gpu": 1}, **script)
            equal(len(out), 3, image, out)
            check(out[1][4:] not in devices["theirs"] | devices["boxed"], image, out, devices)
            nobody_answers_without_a_name(m, eve, image)
        from_the_machine(m, eve, pids)
        ann_is_well(m, ann)


def processes_of_ann():
    """Pids whose environment has Ann's mark."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/environ", "rb") as f:
                if b"MARK=" + MARK.encode() in f.read().split(b"\0"):
                    found.append(int(pid))
    return found


def gpus_in(m, ns, name):
    out = m.ok("exec", "-n", ns, name, "--", "/bin/sh", "-c", "ls /dev")
    return set(re.findall(r"^nvidia\d$", out, re.M))


def look(m, who, name, image, pids, limits=None, env=()):
    c = {"name": "main", "image": image, "imagePullPolicy": "Never", "command": ["/bin/sh", "-c", LOOK], "env": [
        {"name": "PIDS", "value": " ".join(map(str, pids))}, {"name": "DATA", "value": m.data}, *env]}
    if limits:
        c["resources"] = {"limits": limits}
    return [line for line in who.run(name, pod(name, "", containers=[c])) if line]


def nobody_answers_without_a_name(m, eve, image):
    """The network is the node's: the doors are there, and ask who it is."""
    if image != "host":
        return  # the same network, but no curl
    host, port = eve.door.address
    out = eve.run("curls", pod("curls", f"""
for p in /api/v1/secrets {A}/secrets/key /metrics /mete.dev/v1/nodes/vm/images; do
    curl -sk --max-time 10 -o /dev/null -w '%{{http_code}}\\n' https://{host}:{port}$p
done
curl -s --max-time 5 --unix-socket {m.data}/mete.sock http://m/api/v1/secrets || echo no socket"""))
    equal(out, ["401"] * 4 + ["no socket"])


def from_the_machine(m, eve, pids):
    """As a user who is logged in beside the containers."""
    for pid in pids:
        for argv in (("cat", f"/proc/{pid}/environ"), ("ls", f"/proc/{pid}/root/"), ("ls", f"/proc/{pid}/fd/"),
                     ("kill", "-0", str(pid)), ("cat", f"/proc/{pid}/mem"), ("nsenter", "-t", str(pid), "-m", "true"),
                     ("nsenter", "-t", str(pid), "-U", "true")):
            r = eve.on_machine(*argv)
            check(r.code != 0 and MARK not in r.out, argv, r)
    r = eve.on_machine("sh", "-c", f"cat {m.data}/kubeconfig {m.data}/server/*.yaml {m.data}/server/*.db* {m.data}/server/pki/*.key "
                       f"{m.data}/node/token /tmp/mark-*; ls -R {m.data}/node")
    check(r.code != 0 and MARK not in r.out and TOKENS["ann"] not in r.out and "PRIVATE" not in r.out, r)
    for where, below in (("server", ()), ("node", ("pods", "images", "run", "exec"))):
        for name in ("", *below):
            path = os.path.join(m.data, where, name)
            r = eve.on_machine("touch", os.path.join(path, "x"))
            check(r.code != 0, path, r)


# ---- more than was given ----

def test_a_tenant_takes_no_more_than_was_given():
    with two_tenants() as (m, ann, eve):
        settle(m, ann, eve)
        eve.apply(manifest("spills", "dd if=/dev/zero of=/s/x bs=1M count=24; " + SLEEP, volumes=[
            {"name": "s", "emptyDir": {"sizeLimit": "8Mi"}}], container={"volumeMounts": [{"name": "s", "mountPath": "/s"}]},
            security={"runAsUser": 0}, **AT_ONCE))
        bomb = "import os,time\nn=0\ntry:\n  while n<20000:\n    if os.fork()==0: time.sleep(1000)\n    n+=1\nexcept OSError: pass\n" \
               "print(n<4096, flush=True)"
        eve.apply(pod("bomb", "", containers=[{"name": "main", "image": "host", "command": ["python3", "-c", bomb]}], **AT_ONCE))
        wait(lambda: "True" in m.mete("logs", "-n", "team-e", "bomb").out or m.phase("bomb", "team-e") == "Succeeded", "it is bounded")
        ann_is_well(m, ann)
        for image in ("host", TOOLS):
            hogs(m, eve, image)
        ann_is_well(m, ann)
        m.wait_phase("spills", "Failed", ns="team-e")
        equal(m.object("pod", "spills", "-n", "team-e")["status"]["reason"], "Evicted")
        ann_is_well(m, ann)


def hogs(m, eve, image):
    """Memory: it alone is killed. Processors: throttled to what it has."""
    name = "host" if image == "host" else "image"
    quota = {"limits": {"cpu": "200m", "memory": "48Mi"}}
    burn = "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done; cat /sys/fs/cgroup/cpu/cpu.stat /sys/fs/cgroup/cpu.stat 2>/dev/null; true"
    c = {"name": "main", "image": image, "imagePullPolicy": "Never", "resources": quota, "command": ["/bin/sh", "-c", burn]}
    out = "\n".join(eve.run(name + "-cpu", pod(name + "-cpu", "", containers=[c])))
    check(int(re.search(r"nr_throttled (\d+)", out)[1]) > 0, out)
    c["command"] = ["/bin/sh", "-c", "exec tail /dev/zero"]
    eve.run(name + "-memory", pod(name + "-memory", "", containers=[c]), want="Failed")
    ended = m.object("pod", name + "-memory", "-n", "team-e")["status"]["containerStatuses"][0]["state"]["terminated"]
    equal((ended["reason"], ended["exitCode"]), ("OOMKilled", 137))
