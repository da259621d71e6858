"""The audit: each verb leaves its line, a changed byte is found, a full disk refuses changes and loses no line."""

import json
import os
import re
import signal

from harness import METE, Mete, check, equal, execute_as, pod, wait
from test_door import bare_kubeconfig
from test_disk_full import SmallDisk, is_refused

USERS = """users:
- name: alice
  uid: 20001
  hostUid: 20001
  roles:
  - {role: edit, namespace: team}
"""


def lines(m, *words):
    r = m.mete("audit", "-o", "jsonl", *words)
    equal(r.code, 0, r)
    return [json.loads(x) for x in r.out.splitlines()]


def audit_dir(m):
    return os.path.join(m.data, "server", "audit")


def files(m):
    return sorted(os.path.join(audit_dir(m), x) for x in os.listdir(audit_dir(m)))


def what(line):
    """verb resource/subresource namespace/name: outcome"""
    resource = "/".join(x for x in (line.get("resource", line.get("path")), line.get("subresource")) if x)
    name = "/".join(x for x in (line.get("namespace"), line.get("name")) if x)
    return f"{line['verb']} {resource} {name}: {line.get('code', line.get('stage'))}"


def verify(m, *words):
    return m.mete("audit", "verify", *words)


def left(m, before):
    """What the lines after number `before` say, without those about the audit itself."""
    return [what(x) for x in lines(m) if x["number"] > before and "/audit" not in x.get("path", "")]


def last(m):
    return lines(m)[-1]["number"]


def test_each_verb_leaves_its_line():
    with Mete() as m:
        m.ok("create", "namespace", "team")
        m.ok("apply", "-f", "-", stdin=pod("one", "sleep 1000", ns="team"))
        m.wait_phase("one", "Running", ns="team")
        m.ok("label", "pod", "one", "a=b", "-n", "team")
        m.ok("create", "configmap", "c", "--from-literal=k=v", "-n", "team")
        doc = json.loads(m.ok("get", "configmap", "c", "-n", "team", "-o", "json"))
        doc["data"]["k"] = "other"
        m.ok("replace", "-f", "-", stdin=json.dumps(doc))
        m.ok("exec", "one", "-n", "team", "--", "true")
        m.ok("create", "secret", "generic", "s", "--from-literal=password=hunter2", "-n", "team")
        m.ok("patch", "secret", "s", "-n", "team", "-p", '{"stringData":{"password":"hunter3"}}')
        m.ok("get", "secret", "s", "-n", "team")
        m.ok("create", "token", "default", "-n", "team")
        m.ok("delete", "configmap", "--all", "-n", "team")
        m.ok("delete", "pod", "one", "-n", "team", "--grace-period=0", "--force")
        found = [what(x) for x in lines(m)]
        for want in ("create namespaces team: 201", "create pods team/one: 201", "patch pods team/one: 200",
                     "create configmaps team/c: 201", "update configmaps team/c: 200",
                     "create secrets team/s: 201", "patch secrets team/s: 200", "get secrets team/s: begun",
                     "create serviceaccounts/token team/default: 201", "delete pods team/one: 200"):
            check(want in found, want, *found)
        check(any(x.startswith(("get pods/exec team/one", "create pods/exec team/one")) for x in found), *found)
        check(any("configmaps team" in x and x.startswith("delete") for x in found), *found)
        by = {what(x): x for x in lines(m)}
        equal(by["patch pods team/one: 200"]["changed"], ["metadata.labels.a"])
        equal(by["update configmaps team/c: 200"]["changed"], ["data.k"])
        equal(by["patch secrets team/s: 200"]["changed"], ["stringData"])
        equal(by["create pods team/one: 201"]["user"], "admin")
        check(by["create pods team/one: 201"]["from"].startswith("127.0.0.1:"), by["create pods team/one: 201"])
        check("kubectl" in by["create pods team/one: 201"]["agent"])
        with open(files(m)[0]) as f:
            text = f.read()
        check("hunter" not in text and "password" not in text, "secrets are left out")
        r = verify(m)
        check(r.code == 0 and re.match(r"\d+ lines, whole to line \d+:[0-9a-f]{64}\n", r.out), r)


def test_each_command_leaves_its_line():
    with Mete() as m:
        node = m.object("nodes")["items"][0]["metadata"]["name"]
        before = last(m)

        def done(*words):
            r = m.mete(*words)
            equal(r.code, 0, words, r)

        done("run", "--name", "r", "-d", "--", "sleep", "1000")
        m.wait_phase("r", "Running")
        done("run", "--name", "w", "-d", "--gpus", "8", "--hold", "--", "true")
        done("release", "w")
        done("cancel", "w")
        done("drain", node, "--reason", "why")
        done("resume", node)
        done("gpus", "set", f"{node}/1", "--mode", "replicas=4")
        done("reserve", "v", "--gpus", "1", "--start", "+1h", "--duration", "1h", "--user", "root")
        done("reserve", "rm", "v")
        done("requeue", "r")
        wait(lambda: m.mete("logs", "r").code == 0, "the second attempt has a log")
        found = left(m, before)
        for want in ("create pods default/r: 201", "create pods default/w: 201", "delete pods default/w: 200",
                     f"patch nodes {node}: 200", "create reservations v: 201", "delete reservations v: 200",
                     "create pods/eviction default/r: 201"):
            check(want in found, want, *found)
        changed = {tuple(x.get("changed", ())) for x in lines(m, "--resource", "nodes")}
        check(("spec.unschedulable",) in changed or any("spec.unschedulable" in x for x in changed), changed)
        check(any("metadata.annotations.mete.dev/gpu-modes" in y for x in changed for y in x), changed)
        check(not any(x["user"].startswith("system:node") for x in lines(m)), "nodes carry out, and leave no lines")


def with_users(m):
    """Two users of the socket, alice with the role edit in namespace team; the program, which they may enter."""
    m.ok("create", "namespace", "team")
    path = os.path.join(m.data, "server", "users.yaml")
    with open(path, "w") as f:
        f.write(USERS)
    os.chmod(path, 0o644)
    os.chmod(m.data, 0o755)
    wait(lambda: as_user(m, "get", "pods", "-n", "team").code == 0, "users.yaml is read")


def as_user(m, *words):
    return execute_as(20001, 20001, [METE, *words], env=m.env)


def test_refusals_leave_their_lines_and_only_administrators_read():
    with Mete() as m:
        with_users(m)
        m.ok("create", "secret", "generic", "s", "--from-literal=a=b")
        before = last(m)
        equal(as_user(m, "get", "secrets", "-n", "default").code, 4)
        equal(as_user(m, "delete", "pod", "x", "-n", "default", "-y").code, 4)
        equal(as_user(m, "audit").code, 4)
        equal(as_user(m, "run", "-n", "team", "--name", "mine", "-d", "--", "true").code, 0)
        m.kubectl("delete", "pod", "absent", "-n", "team")
        m.ok("get", "pods", "-n", "team", "--as", "alice")
        m.ok("delete", "pod", "mine", "-n", "team", "--as", "alice", "--wait=false")
        equal(m.kubectl("get", "pods", "--token", "wrong", "--kubeconfig", bare_kubeconfig(m)).code, 1)
        found = [x for x in lines(m) if x["number"] > before]
        whats = [what(x) for x in found]
        for want in ("list secrets default: 403", "get /mete.dev/v1/audit : 403", "create pods team/mine: 201",
                     "delete pods team/absent: 404", "delete pods team/mine: 200"):
            check(want in whats, want, *whats)
        by = {what(x): x for x in found}
        equal(by["list secrets default: 403"]["user"], "alice")
        equal(by["list secrets default: 403"]["from"], "unix:uid=20001")
        removed = by["delete pods team/mine: 200"]
        equal((removed["user"], removed["as"]), ("admin", "alice"))
        check(any(x["user"] == "system:anonymous" and x["code"] == 401 for x in found), *found)
        check("list pods team: begun" not in whats, "reads are not recorded")
        equal({x["user"] for x in lines(m, "--user", "alice")}, {"alice", "admin"})
        equal({x["verb"] for x in lines(m, "--verb", "delete")}, {"delete"})
        equal({x["namespace"] for x in lines(m, "--namespace", "team", "--resource", "pods")}, {"team"})
        equal(lines(m, "--since", "2100-01-01"), [])
        check(len(lines(m, "--since", "1h")) > len(found))


def test_all_reads_are_recorded_where_configured():
    config = os.path.join("/tmp", f"mete-audit-{os.getpid()}.yaml")
    with open(config, "w") as f:
        f.write("apiVersion: mete.dev/v1\nkind: Config\nauditReads: all\n")
    try:
        with Mete(arguments=("--config", config)) as m:
            before = last(m)
            m.ok("get", "pods")
            check("list pods default: begun" in left(m, before), left(m, before))
    finally:
        os.unlink(config)


def test_verify_finds_each_damage():
    with Mete() as m:
        for i in range(6):
            m.ok("create", "configmap", f"c{i}")
        r = verify(m)
        equal(r.code, 0, r)
        head = r.out.split()[-1]
        path = files(m)[0]
        with open(path, "rb") as f:
            whole = f.read()
        rows = whole.splitlines(keepends=True)
        m.stop()
        copy = os.path.join(m.dir, "copy")
        os.mkdir(copy)

        def found(content):
            with open(os.path.join(copy, os.path.basename(path)), "wb") as f:
                f.write(content)
            return verify(m, "--dir", copy, "--head", head)

        r = found(whole)
        equal(r.code, 0, r)
        equal(r.out.split()[-1], head)
        middle = rows[3]
        at = middle.index(b"configmaps")
        swapped = middle[:at] + b"C" + middle[at + 1:]
        for content, line in ((b"".join([*rows[:3], swapped, *rows[4:]]), "line 4"),
                              (b"".join([*rows[:3], *rows[4:]]), "line 4"),
                              (b"".join([*rows[:4], rows[3], *rows[4:]]), "line 5"),
                              (whole[:-1], f"line {len(rows)}"), (b"".join(rows[:-2]), "is missing"),
                              (b"".join(rows[2:]), "are missing")):
            r = found(content)
            check(r.code == 1 and line in r.err, line, r)
        for number in range(0, len(whole), 97):
            changed = bytearray(whole)
            changed[number] ^= 1
            r = found(bytes(changed))
            check(r.code == 1, f"byte {number} is changed", r)


def test_a_full_disk_refuses_changes_and_loses_no_line():
    with SmallDisk() as m:
        m.ok("create", "configmap", "before")
        m.fill()
        taken = is_refused(m, "new")
        r = m.kubectl("create", "configmap", "refused")
        check(r.code != 0 and "no space left" in r.err, r)
        m.ok("get", "pods")
        m.ok("delete", "configmap", "before")
        m.free()
        wait(lambda: m.kubectl("create", "configmap", "after").code == 0, "it goes on by itself")
        wait(lambda: "create configmaps default/refused: 507" in [what(x) for x in lines(m)], "the refusal's line")
        found = [what(x) for x in lines(m)]
        for name in taken:
            equal(found.count(f"create pods default/{name}: 201"), 1, name, *found)
        for want in ("delete configmaps default/before: 200", "create configmaps default/after: 201"):
            equal(found.count(want), 1, want, *found)
        r = verify(m)
        equal(r.code, 0, r)


def test_a_killed_server_has_a_line_for_each_change_and_no_other():
    """Line and change are one transaction: whenever the server is killed, both are there, or none."""
    with Mete(gpus="none") as m:
        for turn in range(4):
            crowd = [m.spawn([METE, "run", "--name", f"k{turn}-{i}", "-d", "--", "true"]) for i in range(8)]
            wait(lambda: any(p.poll() is not None for p in crowd), "some are answered")
            old = m.child("server")
            os.kill(old, signal.SIGKILL)
            for p in crowd:
                p.wait(60)
            wait(lambda: m.child("server") not in (None, old), "the server runs again")
            wait(lambda: m.mete("ps").code == 0, "the server answers again")
        pods = {x["metadata"]["name"] for x in m.object("pods")["items"]}
        made = [x["name"] for x in lines(m, "--verb", "create", "--resource", "pods") if x.get("code") == 201]
        equal(sorted(made), sorted(pods), "a line for each pod, a pod for each line")
        equal([x["verb"] for x in lines(m)].count("start"), 5)
        r = verify(m)
        equal(r.code, 0, r)
