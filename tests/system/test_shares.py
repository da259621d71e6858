"""Pods get replicas, capped shares and slices of gpus, by the names of manifests and of `mete run`."""

import json
import re

from harness import Mete, check, equal, pod, wait

GPU = "nvidia.com/gpu"


def node_name(m):
    return m.object("nodes")["items"][0]["metadata"]["name"]


def offered(m, resource):
    return m.object("nodes")["items"][0]["status"]["allocatable"].get(resource)


def devices(m, name):
    text = m.object("pod", name)["metadata"].get("annotations", {}).get("mete.dev/devices")
    return json.loads(text)["containers"] if text else None


def part(name, command, limits=None, annotations=None):
    p = json.loads(pod(name, command))
    p["metadata"].setdefault("annotations", {}).update(annotations or {})
    p["spec"]["containers"][0]["resources"] = {"limits": {k: str(v) for k, v in (limits or {}).items()}}
    return json.dumps(p)


def gpu(m, index):
    return next(g for g in json.loads(m.mete("gpus", "-o", "json").out)["items"] if g["spec"]["index"] == index)


def test_sixteen_pods_share_four_gpus():
    with Mete("emulated:4xT4") as m:
        equal(m.mete("gpus", "set", node_name(m), "--mode", "replicas=4").code, 0)
        wait(lambda: offered(m, GPU) == "16", "replicas")
        for i in range(16):
            m.ok("create", "-f", "-", stdin=part(f"p{i}", "sleep 1000", {GPU: 1} if i % 2 else {"nvidia.com/gpu.shared": 1}))
        for i in range(16):
            m.wait_phase(f"p{i}", "Running")
        held = [d for i in range(16) for d in devices(m, f"p{i}")["main"]]
        equal(sorted({d: held.count(d) for d in held}.values()), [4, 4, 4, 4])
        check(all(d.endswith("/replica:4") for d in held), held)
        out = m.kubectl("exec", "p0", "--", "sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES").out
        equal(out.strip(), devices(m, "p0")["main"][0].split("/")[0])

        m.ok("create", "-f", "-", stdin=part("late", "sleep 1000", {GPU: 1}))
        why = wait(lambda: (r := m.mete("why", "late")) and "no such device is free" in r.out and r, "the reason").out
        check("needs 1 gpu; no such device is free" in why, why)
        check("late" in m.mete("ps").out)

        check(re.search(r"JOBS OF 1 .*\n.* 0 of 4 +0 +0 ", m.mete("free").out), m.mete("free"))
        view = gpu(m, 0)["status"]
        equal((len(view["holders"]), view["holders"][0]["isolation"], view["holders"][0]["milli"]), (4, "none", 250))
        wide = m.mete("gpus", "-o", "wide").out
        check(re.search(r"\(shared\), .*\(shared\), .*\(shared\) and 1 more", wide) and " none " in wide, wide)

        m.ok("delete", "pod", "p3", "--grace-period=0", "--force")
        m.wait_phase("late", "Running")
        # a restart of the server keeps the holders
        before = {f"p{i}": devices(m, f"p{i}") for i in range(16) if i != 3}
        m.stop()
        m.start()
        equal({name: devices(m, name) for name in before}, before)
        m.ok("create", "-f", "-", stdin=part("later", "true", {"nvidia.com/gpu.shared": 1}))
        wait(lambda: "no such device is free" in m.mete("why", "later").out, "all replicas are held")


def test_capped_shares_add_up_to_a_gpu():
    with Mete("emulated:1xA100") as m:
        def placed(name):
            return wait(lambda: devices(m, name), f"{name} has its devices")["main"]

        memory = gpu(m, 0)["spec"]["memoryBytes"]
        m.ok("create", "-f", "-", stdin=part("half", "sleep 1000", annotations={"gpu-fraction": "0.5"}))
        milli, size = map(int, placed("half")[0].split("/share:")[1].split(","))
        check(milli == 500 and memory * 0.45 < size <= memory // 2, size, memory)
        m.ok("create", "-f", "-", stdin=part("hami", "sleep 1000", {GPU: 1, "nvidia.com/gpumem": 2048, "nvidia.com/gpucores": 30}))
        check(placed("hami")[0].endswith(f"/share:300,{2048 << 20}"), devices(m, "hami"))
        wait(lambda: re.search("^default .* 0[.]8 ", m.mete("queues").out, re.MULTILINE), "the queue holds 0.8 GPUs")
        m.ok("create", "-f", "-", stdin=part("third", "sleep 1000", annotations={"gpu-fraction": "0.3"}))
        why = wait(lambda: (r := m.mete("why", "third")) and "needs 0.3 of a gpu" in r.out and r, "why").out
        r = m.mete("free", "--gpus", "0.1")
        check(re.search(r"JOBS OF 0.1\n.* \d\n", r.out) and "a job of 0.1 in queue default " in r.err, r)
        m.ok("delete", "pod", "hami", "--grace-period=0", "--force")
        placed("third")
        ps = m.mete("ps").out
        check(re.search(r"third .* 0\.3 ", ps) and re.search(r"half .* 0\.5 ", ps), ps)
        equal(sorted((h["pod"], h["milli"], h["isolation"]) for h in gpu(m, 0)["status"]["holders"]),
              [("half", 500, "memory + compute"), ("third", 300, "memory + compute")])
        check(re.search(r"half \(0\.5,\d+(\.\d)?Gi\), .*third \(0\.3,", m.mete("gpus").out), m.mete("gpus"))
        # a whole gpu waits for the shares
        m.ok("create", "-f", "-", stdin=part("whole", "true", {GPU: 1}))
        wait(lambda: "needs 1 gpu" in m.mete("why", "whole").out, "why")
        m.ok("delete", "pod", "half", "third", "--grace-period=0", "--force")
        m.wait_phase("whole", "Succeeded")


def test_pods_get_slices_that_exist_and_slices_that_are_made_for_them():
    with Mete("emulated:2xH100") as m:
        equal(m.mete("gpus", "set", f"{node_name(m)}/0", "--mode", "slices=1g.10gb:2,3g.40gb:1").code, 0)
        wait(lambda: offered(m, "nvidia.com/mig-1g.10gb") == "2", "two small slices")
        show = "echo $NVIDIA_VISIBLE_DEVICES; nvidia-smi -L"
        r = m.mete("run", "--gpus", "mig-1g.10gb", "--", "sh", "-c", show)
        equal(r.code, 0, r)
        uuid = r.out.split()[0]
        check(uuid.startswith("MIG-") and f"(UUID: {uuid})" in r.out and r.out.count("MIG 1g.10gb") == 1, r)

        m.ok("create", "-f", "-", stdin=part("both", "sleep 1000", {"nvidia.com/mig-1g.10gb": 2}))
        m.wait_phase("both", "Running")
        held = devices(m, "both")["main"]
        check(len(set(held)) == 2 and all("/slice:1g.10gb@" in d and ",MIG-" in d for d in held), held)
        m.ok("create", "-f", "-", stdin=part("third", "sleep 1000", {"nvidia.com/mig-1g.10gb": 1}))
        why = wait(lambda: (r := m.mete("why", "third")) and "needs mig 1g.10gb" in r.out and r, "why").out
        check(re.search(r"0 of 2 +nvidia.com/mig-1g.10gb", why), why)
        view = gpu(m, 0)["status"]
        equal([(h["pod"], h["isolation"], h["milli"]) for h in view["holders"]], [("both", "hardware", 142)] * 2)

        r = m.mete("free", "--gpus", "mig-1g.10gb")
        check(re.search(r"JOBS OF mig-1g.10gb\n.* 0\n", r.out) and "a job of mig-1g.10gb in queue default would wait" in r.err, r)

        # the scheduler cuts the other gpu
        equal(m.mete("gpus", "set", f"{node_name(m)}/1", "--mode", "flexible").code, 0)
        m.wait_phase("third", "Running")
        check(devices(m, "third")["main"][0].split("/")[0] == gpu(m, 1)["spec"]["uuid"], devices(m, "third"))
        before = {name: devices(m, name) for name in ("both", "third")}
        m.stop()
        m.start()
        equal({name: devices(m, name) for name in before}, before)
        m.ok("delete", "pod", "third", "--grace-period=0", "--force")
        m.ok("create", "-f", "-", stdin=part("whole", "true", {GPU: 1}))
        m.wait_phase("whole", "Succeeded")


def test_what_cannot_be_asked_for_is_refused_with_what_would_be_right():
    with Mete("emulated:1xT4") as m:
        for limits, annotations, said in (
                ({GPU: 1}, {"gpu-fraction": "0.5"}, "metadata.annotations[gpu-fraction]: Forbidden: a container of the pod asks for gpus"),
                ({}, {"gpu-fraction": "1.5"}, "must be between 0.001 and 0.999"),
                ({}, {"gpu-memory": "20Gi"}, "must be a number of MiB"),
                ({"nvidia.com/gpumem": 1024, "nvidia.com/mig-1g.10gb": 1}, {}, "gpumem and gpucores are about nvidia.com/gpu only"),
                ({"nvidia.com/mig-huge": 1}, {}, "limits[nvidia.com/mig-huge]")):
            r = m.kubectl("create", "-f", "-", stdin=part("bad", "true", limits, annotations))
            check(r.code != 0 and said in r.err, said, r)
        m.ok("create", "-f", "-", stdin=part("half", "sleep 1000", annotations={"gpu-fraction": "0.5"}))
        r = m.kubectl("annotate", "pod", "half", "--overwrite", "gpu-fraction=0.1")
        check(r.code != 0 and "the gpus that a pod asks for do not change" in r.err, r)
        r = m.mete("run", "--gpus", "mig-1g.10gb", "--", "true")
        check(r.code == 125 and "NeverFits" in r.err, r)
