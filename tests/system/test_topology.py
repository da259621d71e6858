"""Gangs in one rack on the real server, and `mete topo`."""

import json
import tempfile

from harness import Mete, check, equal, pod, wait

LABEL = "scheduling.x-k8s.io/pod-group"
REQUIRED = "kueue.x-k8s.io/podset-required-topology"


def group(m, name, members, annotations=None):
    m.ok("create", "-f", "-", stdin=json.dumps({
        "apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup",
        "metadata": {"name": name, "annotations": annotations or {}}, "spec": {"minMember": members}}))


def submit(m, name, of, gpus, annotations=None):
    body = json.loads(pod(name, "sleep 1000", gpus=gpus, terminationGracePeriodSeconds=1))
    body["metadata"].update(labels={LABEL: of}, annotations=annotations or {})
    m.ok("create", "-f", "-", stdin=json.dumps(body))


def why(m, job):
    r = m.mete("why", job, "-o", "json")
    check(r.code == 0, r)
    return json.loads(r.out)["status"]["reason"]


def test_a_gang_waits_for_a_domain_and_starts_in_it():
    with Mete("emulated:8xH100") as m:
        node = m.object("nodes")["items"][0]["metadata"]["name"]
        group(m, "train", 2)
        for name in ("train-0", "train-1"):
            submit(m, name, "train", 2, {REQUIRED: "rack"})
        r = wait(lambda: (r := why(m, "train-0")) and r["code"] == "NeverFits" and r, "no machine has a rack")
        equal(r["message"], "needs 2 x 2 gpus in one rack; no node has the label rack")
        r = m.mete("topo")
        check(r.code == 0 and "rack" not in r.out and "node" in r.out and "8 of 8" in r.out, r)
        m.ok("label", "node", node, "rack=r1")
        for name in ("train-0", "train-1"):
            m.wait_phase(name, "Running")

        r = m.mete("topo")
        lines = [line.split() for line in r.out.splitlines()]
        equal(lines[1][:5], ["rack", "r1", "4", "of", "8"], r)
        equal(lines[2][:5], ["node", node, "4", "of", "8"], r)
        check(any(line[:2] == ["link", "group"] for line in lines[3:]), r)
        r = m.mete("topo", "-o", "json")
        rack, machine, links = json.loads(r.out)["items"][:3]
        equal(rack["spec"], {"level": "rack", "key": "rack", "depth": 0})
        equal(rack["status"]["gpusFree"], 4)
        equal(machine["status"]["state"], "ready")
        equal(sum(d["isFree"] for d in machine["status"]["devices"]), 4)
        equal(links["spec"]["level"], "link group")
        r = m.mete("topo")  # behind the domains, for one node, as nvidia-smi topo -m
        matrix = [line.split() for line in r.out.split("\n\n")[1].splitlines()]
        equal(matrix[0], ["GPU", *(f"GPU{i}" for i in range(8)), "CPU", "AFFINITY", "NUMA", "AFFINITY"], r)
        equal(matrix[1], ["GPU0", "X", *["NV18"] * 7, "0-31", "0"], r)
        equal(matrix[8], ["GPU7", *["NV18"] * 7, "X", "32-63", "1"], r)
        check("NV# = # NVLinks" in r.err, r)
        equal(machine["status"]["devices"][0]["connections"], {str(i): "NV18" for i in range(1, 8)})
        equal([machine["status"]["devices"][0][key] for key in ("links", "switchLinks", "fabric")], [18, 18, "completed"])
        r = m.mete("topo", "--levels", "no key")
        check(r.code == 2 and '"no key" is not a label' in r.err, r)

        group(m, "wide", 3, {REQUIRED: "rack"})
        for i in range(3):
            submit(m, f"wide-{i}", "wide", 2)
        r = wait(lambda: (r := why(m, "wide-0")) and r["code"] == "NoNodeFits" and r, "4 of 6 are free")
        equal(r["message"], "needs 3 x 2 gpus at once; there is room for 2")
        m.ok("delete", "pod", "train-0", "train-1")
        for i in range(3):
            m.wait_phase(f"wide-{i}", "Running")


PCIE = """
gpus:
- {count: 4, model: L40S, gpusPerSwitch: 2, cpusPerNode: 8}
- {count: 2, model: V100, gpusPerPort: 2, links: none, numaNodes: 1}
- {count: 2, model: H100, linkCount: 9, clique: 8f1c1d9e-0d5c-4b5a-9c1e-2f6a7b8c9d0e.3}
"""
WAYS = """
X PIX SYS SYS NODE NODE NODE SYS 0-7 0
PIX X SYS SYS NODE NODE NODE SYS 0-7 0
SYS SYS X PIX SYS SYS SYS NODE 8-15 1
SYS SYS PIX X SYS SYS SYS NODE 8-15 1
NODE NODE SYS SYS X PXB NODE SYS 0-31 0
NODE NODE SYS SYS PXB X NODE SYS 0-31 0
NODE NODE SYS SYS NODE NODE X NV9 0-31 0
SYS SYS NODE NODE SYS SYS NV9 X 32-63 1
"""


def check_ways(m):
    node = m.object("nodes")["items"][0]
    r = m.mete("topo", node["metadata"]["name"])
    equal([line.split()[1:] for line in r.out.splitlines()[1:]], [line.split() for line in WAYS.split("\n") if line], r)
    check("PIX = one PCIe switch, PXB = several PCIe switches, NODE = within a NUMA node, SYS" in r.err, r)
    r = m.mete("topo", node["metadata"]["name"], "-o", "json")
    gpus = [item["spec"] for item in json.loads(r.out)["items"]]
    equal(gpus[0]["connections"]["1"], "PIX")
    equal([gpu["clique"] for gpu in gpus[5:]], [None, *["8f1c1d9e-0d5c-4b5a-9c1e-2f6a7b8c9d0e.3"] * 2])
    equal([gpu["switchLinks"] for gpu in gpus[5:]], [None, 9, 9])
    r = m.mete("topo", "nowhere")
    check(r.code == 3 and "nowhere" in r.err, r)


def test_gpus_reach_each_other_as_the_driver_says():
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as profile:
        profile.write(PCIE)
        profile.flush()
        with Mete(f"emulated:{profile.name}") as m:
            check_ways(m)
            refuse_topologies(m)


def refuse_topologies(m):
    body = json.loads(pod("p", "true"))
    for key, value, says in (
            (REQUIRED, "no key", "Invalid value"),
            ("kueue.x-k8s.io/podset-slice-size", "2", "is not implemented"),
    ):
        body["metadata"]["annotations"] = {key: value}
        r = m.kubectl("create", "-f", "-", stdin=json.dumps(body))
        check(r.code == 1 and key in r.err and says in r.err, r)


def volcano(m, name, members, topology):
    return m.kubectl("create", "-f", "-", stdin=json.dumps({
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": name},
        "spec": {"minMember": members, "networkTopology": topology}}))


def test_volcanos_tiers_are_labels_that_the_configuration_names():
    with Mete("emulated:8xH100") as m:
        r = volcano(m, "v", 2, {"mode": "hard", "highestTierAllowed": 1})
        check(r.code == 1 and "spec.networkTopology: Forbidden: not implemented without tiers" in r.err, r)
    with tempfile.TemporaryDirectory() as d:
        path = f"{d}/mete.yaml"
        with open(path, "w", encoding="utf-8") as out:
            out.write("apiVersion: mete.dev/v1\nkind: Config\nnetworkTiers: rack,block\n")
        with Mete("emulated:8xH100", arguments=("--config", path)) as m:
            node = m.object("nodes")["items"][0]["metadata"]["name"]
            r = volcano(m, "v", 2, {"mode": "hard", "highestTierAllowed": 3})
            check(r.code == 1 and "highestTierAllowed: Invalid value: 3: there are 2 tiers" in r.err, r)
            r = volcano(m, "v", 2, {"mode": "hard", "highestTierName": "block"})
            check(r.code == 0, r)
            equal(m.object("podgroups.scheduling.volcano.sh", "v")["spec"]["networkTopology"],
                  {"mode": "hard", "highestTierName": "block"})
            for name in ("v-0", "v-1"):
                body = json.loads(pod(name, "sleep 1000", gpus=2, terminationGracePeriodSeconds=1))
                body["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "v"}
                m.ok("create", "-f", "-", stdin=json.dumps(body))
            r = wait(lambda: (r := why(m, "v-0")) and r["code"] == "NeverFits" and r, "no machine is in a block")
            equal(r["message"], "needs 2 x 2 gpus in one block; no node has the label block")
            m.ok("label", "node", node, "block=k1")
            for name in ("v-0", "v-1"):
                m.wait_phase(name, "Running")
            with open(path, "w", encoding="utf-8") as out:
                out.write("apiVersion: mete.dev/v1\nkind: Config\nnetworkTiers: rack,rack\n")
            m.stop()
            r = m.mete("up", "--config", path, "--data", m.data, "--gpus", "none", "--listen", "127.0.0.1:0")
            check(r.code != 0 and 'networkTiers: "rack" is tier 1 already' in r.err, r)
            with open(path, "w", encoding="utf-8") as out:
                out.write("apiVersion: mete.dev/v1\nkind: Config\n")
            m.start()
            equal(m.object("podgroups.scheduling.volcano.sh", "v")["metadata"]["annotations"][
                "mete.dev/network-tier-required"], "block")


def test_the_pods_of_a_job_that_are_to_be_together_start_together():
    with Mete("emulated:8xH100") as m:
        node = m.object("nodes")["items"][0]["metadata"]["name"]
        m.ok("label", "node", node, "rack=r1")
        m.ok("create", "-f", "-", stdin=pod("first", "sleep 1000", gpus=1, terminationGracePeriodSeconds=1))
        m.wait_phase("first", "Running")
        template = json.loads(pod("x", "sleep 1000", gpus=4, terminationGracePeriodSeconds=1, restartPolicy="Never"))
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"},
               "spec": {"parallelism": 2, "completions": 2, "backoffLimit": 3,
                        "template": {"metadata": {"annotations": {REQUIRED: "rack"}}, "spec": template["spec"]}}}
        m.ok("create", "-f", "-", stdin=json.dumps(job))

        def pods():
            items = m.object("pods", "-l", "batch.kubernetes.io/job-name=train")["items"]
            return [p for p in items if not p["metadata"].get("deletionTimestamp")]

        wait(lambda: len(pods()) == 2, "the Job has made its pods")
        name = pods()[0]["metadata"]["name"]
        r = wait(lambda: (r := why(m, name)) and r["code"] == "NoNodeFits" and r, "7 of 8 are free")
        equal(r["message"], "needs 2 x 4 gpus at once; there is room for 1")
        check(not any(p["spec"].get("nodeName") for p in pods()), "one would fit")
        m.ok("delete", "pod", "first")
        wait(lambda: [p["status"]["phase"] for p in pods()] == ["Running"] * 2, "both run")

        m.ok("delete", "pod", pods()[1]["metadata"]["name"])
        wait(lambda: [p["status"]["phase"] for p in pods()] == ["Running"] * 2, "the one that went is made anew")
        m.ok("delete", "job", "train")
        wait(lambda: not pods(), "they go with their Job")
