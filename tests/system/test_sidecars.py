"""Sidecars: init containers with restartPolicy Always (docs/manifests.md)."""

import os

from harness import Mete, check, equal, pod, wait


def container(name, script, **fields):
    return {"name": name, "image": "host", "command": ["sh", "-c", script], **fields}


def statuses(m, name):
    status = m.object("pod", name)["status"]
    return {c["name"]: c for key in ("initContainerStatuses", "containerStatuses") for c in status.get(key, [])}


def test_sidecars_begin_before_the_others_and_end_after_them():
    with Mete("none") as m:
        said = os.path.join(m.dir, "said")
        os.mkdir(said, 0o777)
        os.chmod(said, 0o777)
        # The first attempt of the sidecar ends; the second stays. The main container runs once the probe of the sidecar has succeeded.
        side = container("side", f"trap 'ls {said} >{said}/at-end; exit 0' TERM; [ -e {said}/first ] || {{ touch {said}/first; exit 3; }}; "
                                 f"touch {said}/side; while :; do sleep 0.1; done", restartPolicy="Always",
                         startupProbe={"exec": {"command": ["test", "-e", f"{said}/side"]}, "periodSeconds": 1},
                         resources={"requests": {"cpu": "100m"}})
        setup = container("setup", f"test -e {said}/side", resources={"requests": {"cpu": "300m"}})
        main = container("main", f"until [ -e {said}/go ]; do sleep 0.1; done; touch {said}/main", resources={"requests": {"cpu": "200m"}})
        m.ok("create", "-f", "-", stdin=pod("work", "", containers=[main], initContainers=[side, setup], terminationGracePeriodSeconds=20))
        wait(lambda: m.ok("get", "pod", "work", "--no-headers").split()[1:3] == ["2/2", "Running"], "both run")
        found = statuses(m, "work")
        equal((found["side"]["restartCount"], found["side"]["started"], found["setup"]["state"]["terminated"]["exitCode"]), (1, True, 0))
        # Init containers beside the sidecar count, and so does the sidecar beside the others.
        m.ok("create", "quota", "cpu", "--hard=requests.cpu=1")
        wait(lambda: m.object("quota", "cpu")["status"].get("used", {}).get("requests.cpu") == "400m", "the larger sum counts")
        open(f"{said}/go", "w").close()
        m.wait_phase("work", "Succeeded")
        with open(f"{said}/at-end") as f:
            check("main" in f.read().split(), "the sidecar ended before the main container")
        equal(statuses(m, "work")["side"]["state"]["terminated"]["exitCode"], 0)
        faults_are_named(m)


def faults_are_named(m):
    for fields, said in (({"containers": [container("a", "true", restartPolicy="Always")]}, "spec.containers[0].restartPolicy: Forbidden: may not be set for non-init containers"),
                         ({"initContainers": [container("a", "true", restartPolicy="Never")]}, 'spec.initContainers[0].restartPolicy: Unsupported value: "Never"'),
                         ({"initContainers": [container("a", "true", restartPolicy="Always", resources={"limits": {"nvidia.com/gpu": 1}})]},
                          "spec.initContainers[0].resources: Forbidden: gpus and claims of sidecars")):
        r = m.kubectl("create", "-f", "-", stdin=pod("bad", "", **{"containers": [container("main", "true")], **fields}))
        check(r.code != 0 and said in r.err, fields, r)
