"""A gpu that falls ill costs that gpu, tells why, and comes back by proof."""

import json
import os
import re
import tarfile

from harness import BUILD, Mete, check, equal, execute, pod, wait
from metrics_kit import page


def set_gpu(m, which, *faults):
    machine = os.path.join(m.data, "node", "gpusim", "machine.bin")
    r = execute([os.path.join(BUILD, "gpusim", "gpusim"), "set", machine, str(which), *faults])
    equal(r.code, 0, r)


def gpus(m):
    return {g["spec"]["index"]: g for g in m.read("/apis/mete.dev/v1/gpus")["items"]}


def healths(m):
    return [g["status"]["health"] for _, g in sorted(gpus(m).items())]


def wait_healths(m, *want):
    wait(lambda: healths(m) == list(want), f"the gpus are {want}")


def events(m, reason):
    return [e for e in m.read("/api/v1/events")["items"] if e["reason"] == reason]


def wait_event(m, reason, kind, *words):
    def found():
        return [e for e in events(m, reason) if e["involvedObject"]["kind"] == kind and
                all(w in e["message"] for w in words)]

    return wait(found, f"an event {reason} of a {kind} with {words}")


def hear_xids(m, gpu):
    """The driver's events begin a moment after the node: XID 13 says when."""
    def is_heard():
        set_gpu(m, gpu, "xid=13")
        return "xid=13" in m.log_text()

    wait(is_heard, "XIDs are heard")


def holder_index(m, name):
    devices = json.loads(m.object("pod", name)["metadata"]["annotations"]["mete.dev/devices"])
    uuid = devices["containers"]["main"][0].split("/")[0]
    return next(i for i, g in gpus(m).items() if g["spec"]["uuid"] == uuid)


def job(name, command):
    """A Job that does not count failures that are not its own."""
    template = json.loads(pod(name, command, gpus=1, terminationGracePeriodSeconds=1))["spec"]
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    return json.dumps({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
                       "spec": {"backoffLimit": 0, "podFailurePolicy": {"rules": [rule]},
                                "template": {"spec": template}}})


def uid(m, name):
    found = m.read(f"/api/v1/namespaces/default/pods/{name}")
    return found and found["metadata"]["uid"]


def test_a_gpu_off_the_bus_ends_its_jobs_which_run_again_elsewhere():
    with Mete(gpus="emulated:7xT4") as m, m.unharmed():
        flag = os.path.join(m.dir, "flag")
        m.ok("apply", "-f", "-", stdin=pod("a", "sleep 1000", gpus=1, terminationGracePeriodSeconds=1))
        m.ok("apply", "-f", "-", stdin=pod("b", "sleep 1000", gpus=1, terminationGracePeriodSeconds=1))
        m.ok("apply", "-f", "-", stdin=pod("fails", f"until [ -e {flag} ]; do sleep 0.02; done; rm {flag}; exit 3", gpus=1,
                                           terminationGracePeriodSeconds=1))
        m.ok("apply", "-f", "-", stdin=job("j", "sleep 1000"))

        def pods_of_job():
            return [p for p in m.read("/api/v1/namespaces/default/pods")["items"] if p["metadata"]["name"].startswith("j-")]

        for name in ("a", "b", "fails"):
            m.wait_phase(name, "Running")
        first = wait(lambda: [p for p in pods_of_job() if p["status"].get("phase") == "Running"], "the Job's pod runs")[0]
        first = first["metadata"]["name"]
        sick = {name: holder_index(m, name) for name in ("a", "fails", first)}
        before = {name: m.object("pod", name)["metadata"] for name in ("a", "b", "fails")}
        for index in sick.values():
            set_gpu(m, index, "lost=1")
        open(flag, "w").close()  # its program fails before the gpu is read
        for name in ("a", "fails"):
            wait(lambda: uid(m, name) not in (None, before[name]["uid"]), f"{name} is made again")
        m.wait_phase("a", "Running")
        check(holder_index(m, "a") not in sick.values())
        again = m.object("pod", "a")["metadata"]
        equal(again["annotations"]["mete.dev/requeues"], "1")
        equal(again["labels"]["mete.dev/job-id"], before["a"]["labels"]["mete.dev/job-id"])
        equal(uid(m, "b"), before["b"]["uid"], "the job of another gpu goes on")
        wait(lambda: any(p["metadata"]["name"] != first and p["status"].get("phase") == "Running" for p in pods_of_job()) or
             m.read("/apis/batch/v1/namespaces/default/jobs/j")["status"].get("failed"), "the Job makes another pod")
        equal(m.read("/apis/batch/v1/namespaces/default/jobs/j")["status"].get("failed"), None)
        wait_event(m, "GpuLost", "Pod", f"GPU {sick['a']} ", "is lost")
        wait_event(m, "GpuLost", "Node", f"GPU {sick['a']} ", "reboot the machine")
        for name in ("a", "fails"):
            rows = [r for r in m.read("/apis/mete.dev/v1/accounting")["items"] if r["pod"] == name]
            equal([r["cause"] for r in rows], ["GpuLost", None], "each attempt has one row", rows)
        for index in sick.values():
            set_gpu(m, index, "lost=0")
            wait_event(m, "GpuHealthy", "Node", f"GPU {index} ")
        wait_healths(m, *["healthy"] * 7)


def test_a_program_that_fails_on_a_sound_gpu_has_failed():
    with Mete(gpus="emulated:1xT4") as m:
        hear_xids(m, 0)
        m.ok("apply", "-f", "-", stdin=pod("wrong", "sleep 1; exit 3", gpus=1))
        m.wait_phase("wrong", "Running")
        set_gpu(m, 0, "xid=31")
        wait_event(m, "GpuXid", "Pod", "XID 31", "restart the program")
        m.wait_phase("wrong", "Failed")
        equal(m.object("pod", "wrong")["status"].get("reason"), None)
        equal(healths(m), ["healthy"])


def test_an_xid_counts_until_the_proof_also_over_restarts():
    with Mete(gpus="emulated:2xT4") as m:
        hear_xids(m, 1)
        set_gpu(m, 1, "xid=48")
        wait_healths(m, "healthy", "unhealthy")
        wait_event(m, "GpuXid", "Node", "GPU 1 ", "XID 48", "could not be corrected")
        wait_event(m, "GpuUnhealthy", "Node", "reset the GPU")
        equal(gpus(m)[1]["status"]["healthReason"], "XID 48: An ECC error that could not be corrected (double bit)")
        m.stop()
        set_gpu(m, 0, "kernel-xid=119")  # nobody listens, but the kernel's log keeps it
        m.start()
        wait_healths(m, "unhealthy", "unhealthy")
        m.stop()
        os.remove(os.path.join(m.data, "node", "gpusim", "kmsg"))
        path = os.path.join(m.data, "node", "gpu-health.json")
        with open(path) as f:
            kept = json.load(f)
        with open(path, "w") as f:
            json.dump({**kept, "bootId": "another"}, f)  # as after a reboot
        m.start()
        wait_event(m, "GpuHealthy", "Node", "GPU 1 ")
        wait_healths(m, "healthy", "healthy")


def slices(m):
    return {s["uuid"]: s for s in gpus(m)[0]["spec"]["slices"]}


def slice_of(m, name):
    devices = json.loads(m.object("pod", name)["metadata"]["annotations"]["mete.dev/devices"])
    return devices["containers"]["main"][0].split(",")[1]


def slice_pod(name):
    resources = {"limits": {"nvidia.com/mig-3g.40gb": 1}}
    return pod(name, "", terminationGracePeriodSeconds=1,
               containers=[{"name": "main", "image": "host", "command": ["sleep", "1000"], "resources": resources}])


def test_an_xid_of_a_slice_costs_that_slice():
    with Mete(gpus="emulated:1xH100") as m:
        node = m.object("nodes")["items"][0]["metadata"]["name"]
        equal(m.mete("gpus", "set", f"{node}/0", "--mode", "slices=3g.40gb:2").code, 0)
        for name in ("a", "b"):
            m.ok("apply", "-f", "-", stdin=slice_pod(name))
            m.wait_phase(name, "Running")
        sick = slice_of(m, "a")
        set_gpu(m, 0, f"xid=95:{slices(m)[sick]['gi']}")
        wait(lambda: slices(m)[sick].get("health") == "unhealthy", "the slice is out of service")
        equal((healths(m), slices(m)[slice_of(m, "b")].get("health")), (["healthy"], None), "the rest is in service")
        wait_event(m, "GpuXid", "Node", "Slice 3g.40gb@", "XID 95")
        equal([e["involvedObject"]["name"] for e in events(m, "GpuXid") if e["involvedObject"]["kind"] == "Pod"], ["a"])
        equal(m.object("nodes")["items"][0]["status"]["allocatable"]["nvidia.com/mig-3g.40gb"], "1")
        check("healthy, 1 slice not" in m.mete("gpus").out, m.mete("gpus"))
        wait_finding(m, "gpu", "has a slice 3g.40gb@", "XID 95")
        m.ok("apply", "-f", "-", stdin=slice_pod("c"))
        m.ok("delete", "pod", "a")
        wait(lambda: "3g.40gb" in m.mete("why", "c").out and m.phase("c") == "Pending", "the sick slice is not given")
        m.ok("delete", "pod", "b")
        m.wait_phase("c", "Running")
        check(slice_of(m, "c") != sick, "the pod has the other slice")
        r = m.mete("drain", f"{node}/gpu0", "--reason", "a reset", "--evict", "--timeout", "60s")
        equal(r.code, 0, r)
        reset(m, node, 0)
        wait(lambda: not slices(m)[sick].get("health"), "the reset and the check bring the slice back")
        equal(m.mete("resume", f"{node}/gpu0").code, 0)
        wait_healths(m, "healthy")


def xid_total(m, gpu):
    return page(m).value("mete_gpu_xid_total", gpu=str(gpu))


def whole_log(m):
    with open(m.log, errors="replace") as f:
        return f.read()


def send_xids(m, codes_of):
    """Lists of codes by gpu: each code is sent once, and is in the log once."""
    uuids = {i: g["spec"]["uuid"] for i, g in gpus(m).items()}
    step = 8  # the driver keeps few events
    for at in range(0, max(map(len, codes_of.values())), step):
        sent = {gpu: codes[at:at + step] for gpu, codes in codes_of.items() if codes[at:at + step]}
        for gpu, codes in sent.items():
            set_gpu(m, gpu, *(f"xid={code}" for code in codes))
        wait(lambda: all(f"gpu={uuids[gpu]} xid={codes[-1]}\n" in whole_log(m) for gpu, codes in sent.items()), "XIDs are heard")
    lines = re.findall(r"gpu reported an error.* gpu=(\S+) xid=(\d+)", whole_log(m))
    for gpu, codes in codes_of.items():
        equal(sorted(int(code) for uuid, code in lines if uuid == uuids[gpu]), sorted(codes), f"GPU {gpu} tells each XID once")


def test_each_xid_of_the_table_counts_once_and_does_what_the_table_says():
    states = ("keep", "suspect", "unhealthy", "lost")
    with Mete(gpus="emulated:5xT4", metrics="127.0.0.1:0") as m:
        hear_xids(m, 4)
        table = json.loads(m.mete("gpus", "xids", "-o", "json").out)["items"]
        codes = {gpu: [x["code"] for x in table if x["state"] == state] for gpu, state in enumerate(states)}
        equal(sum(map(len, codes.values())), len(table))
        send_xids(m, codes)
        wait_healths(m, "healthy", "suspect", "unhealthy", "lost", "healthy")
        for gpu in codes:
            wait(lambda: xid_total(m, gpu) == len(codes[gpu]), f"the metrics count the XIDs of GPU {gpu}")
            last = page(m).of("DCGM_FI_DEV_XID_ERRORS", gpu=str(gpu))
            equal([(v, labels["err_code"]) for labels, v in last], [(codes[gpu][-1], str(codes[gpu][-1]))])
            check(last[0][0]["err_msg"] not in ("", "No Error"), last)
        m.stop()
        m.start()
        hear_xids(m, 4)
        set_gpu(m, 0, "xid=13")
        wait(lambda: xid_total(m, 0) == len(codes[0]) + 1, "a restart forgets no XID, and counts none twice")
        equal([xid_total(m, gpu) for gpu in (1, 2, 3)], [len(codes[gpu]) for gpu in (1, 2, 3)])
        wait_healths(m, "healthy", "suspect", "unhealthy", "lost", "healthy")


def test_one_gpu_is_drained_and_resumed():
    with Mete(gpus="emulated:2xT4") as m:
        node = m.object("nodes")["items"][0]["metadata"]["name"]
        m.ok("apply", "-f", "-", stdin=pod("a", "sleep 1000", gpus=1, terminationGracePeriodSeconds=1))
        m.wait_phase("a", "Running")
        index = holder_index(m, "a")
        equal(m.mete("drain", f"{node}/gpu{index}").code, 2, "the reason is required")
        r = m.mete("drain", f"{node}/gpu{index}", "--reason", "ticket 812")
        equal((r.code, r.err), (0, f"GPU {index} of node {node} is drained: no new jobs start on it; 1 pod is on it\n"), r)
        wait(lambda: gpus(m)[index]["status"].get("healthReason") == "ticket 812", "the reason is shown")
        equal(gpus(m)[index]["status"]["health"], "drained")
        equal(m.phase("a"), "Running")
        m.ok("apply", "-f", "-", stdin=pod("two", "true", gpus=2))
        r = m.mete("drain", f"{node}/gpu{index}", "--reason", "ticket 812", "--evict", "--timeout", "60s")
        check(r.code == 0 and "is empty" in r.err, r)
        m.ok("apply", "-f", "-", stdin=pod("b", "nvidia-smi -L", gpus=1))
        m.wait_phase("b", "Succeeded")
        check(gpus(m)[index]["spec"]["uuid"] not in m.ok("logs", "b"), "the pod runs on the other gpu")
        why = f"gpu {index} is drained by root: ticket 812"
        wait(lambda: why in m.mete("why", "two").out, "why says who drained the gpu, and the reason")
        m.stop()
        m.start()
        wait(lambda: gpus(m)[index]["status"]["health"] == "drained", "a restart changes nothing")
        r = m.mete("resume", f"{node}/{gpus(m)[index]['spec']['uuid']}")
        equal((r.code, r.err), (0, f"GPU {index} of node {node} is in use again\n"), r)
        wait_healths(m, "healthy", "healthy")


def test_an_administrator_says_that_the_remedy_is_done():
    with Mete(gpus="emulated:2xT4") as m:
        node = m.object("nodes")["items"][0]["metadata"]["name"]
        hear_xids(m, 0)
        for xid, health in ((74, "suspect"), (95, "unhealthy"), (79, "lost")):
            set_gpu(m, 0, f"xid={xid}")
            wait_healths(m, health, "healthy")
            r = m.mete("resume", f"{node}/gpu0")
            equal((r.code, r.err), (0, f"GPU 0 of node {node} is checked now; if it passes, jobs start on it again\n"), r)
            wait_healths(m, "healthy", "healthy")
        with open(os.path.join(m.data, "xids.yaml"), "w") as f:
            f.write("xids:\n- {code: 43, state: suspect, action: inspect, meaning: we look at these}\n")
        r = m.mete("gpus", "xids", "13", "43", "48")
        check(r.code == 0 and "the GPU is unhealthy: XID 48: An ECC error that could not be corrected (double bit); inspect the GPU" in r.err, r)
        r = m.mete("gpus", "xids", "--dry-run", os.path.join(m.data, "xids.yaml"), "-o", "json")
        equal([(x["code"], x["state"], x["changed"]) for x in json.loads(r.out)["items"]], [(43, "suspect", True)], r)
        check("XID 13" not in (r := m.mete("gpus", "xids", "13", "31", "94")).err and "stays in service" in r.err, r)
        equal(len(json.loads(m.mete("gpus", "xids", "-o", "json").out)["items"]), 176)
        set_gpu(m, 1, "xid=43")
        wait_healths(m, "healthy", "suspect")
        equal(gpus(m)[1]["status"]["healthReason"], "XID 43: we look at these")


def reset(m, node, gpu):
    r = m.mete("gpus", "reset", f"{node}/gpu{gpu}")
    check(r.code == 0 and f"GPU {gpu} of node {node} is reset now" in r.err, r)


def drain(m, gpu):
    r = m.mete("drain", gpu, "--reason", "ticket 812")
    equal(r.code, 0, r)


def test_a_gpu_is_reset_and_returns_after_its_check():
    with Mete(gpus="emulated:2xT4") as m:
        node = m.object("nodes")["items"][0]["metadata"]["name"]
        r = m.mete("gpus", "reset", f"{node}/gpu1")
        check(r.code == 5 and "is in service: mete drain" in r.err, r)
        set_gpu(m, 1, "remap-pending=1", "ecc-uncorrected=1")
        wait_healths(m, "healthy", "unhealthy")
        wait(lambda: gpus(m)[1]["status"].get("healthReason") == "the driver asks for a reset of the GPU", "the driver's action")
        reset(m, node, 1)
        wait_event(m, "GpuReset", "Node", "GPU 1 ", "after its check")
        wait_healths(m, "healthy", "healthy")
        wait_event(m, "GpuHealthy", "Node", "GPU 1 ")
        set_gpu(m, 0, f"process={os.getpid()}:2000")
        drain(m, f"{node}/gpu0")
        reset(m, node, 0)
        wait_event(m, "GpuResetFailed", "Node", "GPU 0 ", "in use by another process")
        wait_healths(m, "unhealthy", "healthy")
        set_gpu(m, 0, "process=0")
        m.stop()
        m.start()  # an answered request stays answered
        wait_healths(m, "unhealthy", "healthy")
        reset(m, node, 0)
        wait_event(m, "GpuReset", "Node", "GPU 0 ")
        wait_healths(m, "drained", "healthy")
        equal(m.mete("resume", f"{node}/gpu0").code, 0)
        wait_healths(m, "healthy", "healthy")
        m.ok("apply", "-f", "-", stdin=pod("a", "sleep 1000", gpus=1, terminationGracePeriodSeconds=1))
        m.wait_phase("a", "Running")
        held = holder_index(m, "a")
        drain(m, f"{node}/gpu{held}")
        reset(m, node, held)
        wait_event(m, "GpuResetFailed", "Node", f"GPU {held} ", "pod a holds it")
        wait(lambda: gpus(m)[held]["status"]["health"] == "drained", "a gpu that is held is not reset")
        equal(m.phase("a"), "Running")


def doctor(m):
    """The findings that are not fine: check, what was found, what to do."""
    return [(f["check"], f["found"], f["fix"]) for f in json.loads(m.mete("doctor", "-o", "json").out)["items"]
            if f["state"] in ("warning", "FAILED")]


def wait_finding(m, check_name, *words):
    def is_found():
        return any(name == check_name and all(w in f"{found} {fix}" for w in words) for name, found, fix in doctor(m))

    wait(is_found, f"the doctor finds {check_name}: {words}")


def conditions(m):
    return {c["type"]: c for c in m.object("nodes")["items"][0]["status"]["conditions"]}


def bundle_has_no_secrets(m):
    path = os.path.join(m.dir, "bundle.tar")
    with open(os.path.join(m.data, "xids.yaml"), "w") as f:
        f.write("xids:\n- {code: 900, meaning: 'password: hunter2'}\n")
    r = m.mete("doctor", "--bundle", path)
    check("without secrets" in r.err, r)
    equal(os.stat(path).st_mode & 0o777, 0o600)
    equal(m.mete("doctor", "--bundle", path).code, 5, "a file that exists is kept")
    with tarfile.open(path) as tar:
        parts = {member.name: tar.extractfile(member).read().decode() for member in tar}
    for name, words in (("findings.json", "XID 119"), ("nodes.json", "GPUProblem"), ("gpus.json", "healthAdvice"),
                        ("events.json", "GpuLost"), ("xids.yaml", "[secret]"), ("gpu-health.json", "bootId")):
        check(words in parts[f"mete-bundle/{name}"], name, parts.keys())
    secrets = ["hunter2", "PRIVATE KEY"]
    with open(os.path.join(m.data, "node", "token")) as f:
        secrets.append(f.read().strip())
    for top, _, files in os.walk(m.data):
        for name in (n for n in files if n.endswith(".key")):
            with open(os.path.join(top, name)) as f:
                secrets += f.read().splitlines()[1:3]
    with open(os.path.join(m.data, "kubeconfig")) as f:
        secrets += re.findall(r"(?:token|client-key-data): (\S+)", f.read())
    check(len(secrets) > 6, secrets)
    with open(path, "rb") as f:
        whole = f.read()
    for secret in secrets:
        check(secret.encode() not in whole, f"the bundle has {secret[:12]}...")


# Faults of a gpu that `gpusim set` makes, and the words of the finding: what was found, what to do.
FAULTS = (
    (("xid=119",), ("XID 119", "reset the GPU")),
    (("ecc-uncorrected=1",), ("1 uncorrected memory errors", "replace it if they come again")),
    (("temperature=93", "throttle=thermal"), ("is hot: 93 C", "the driver lowers its clocks", "check fans")),
    (("throttle=brake",), ("power brake", "power supply")),
    (("remap-failed=1",), ("could not be remapped", "the GPU has to be replaced")),
    (("remap-pending=1",), ("the driver asks for a reset", "reset the GPU")),
    (("nvlink-errors=3",), ("errors on its NVLinks", "reseat")),
    ((f"process={os.getpid()}:2000",), ("1 processes that Mete did not start, with 2000 MiB", "mete run")),
    (("process=4194303:3000",), ("is quarantined: 3000 MiB", "gives them back")),
    (("throttle=hw-thermal",), ("is hot", "the driver lowers its clocks")),
    (("lost=1",), ("is lost", "reboot the machine")),
    (("hang=-1",), ("is not answering", "it is checked, then it returns")),
)


def test_the_doctor_finds_each_fault_and_says_what_to_do():
    with Mete(gpus=f"emulated:{len(FAULTS)}xA100") as m:
        hear_xids(m, 0)
        before = doctor(m)
        check(not any(name == "gpu" for name, _, _ in before), before)
        equal((conditions(m)["GPUProblem"]["status"], conditions(m)["GPUProblem"]["reason"]), ("False", "NoProblem"))
        for gpu, (faults, _) in enumerate(FAULTS):
            set_gpu(m, gpu, *faults)
        wait(lambda: "quarantined" in (h := healths(m)) and h[-1] == "not answering", "the slow ones are there, before the doctor is asked")
        for gpu, (_, words) in enumerate(FAULTS):
            wait_finding(m, "gpu", f"GPU {gpu} of node", *words)
        wait(lambda: (c := conditions(m)["GPUProblem"])["status"] == "True" and c["reason"] == "GpuLost" and
             "GPU 0 is unhealthy: XID 119" in c["message"], "the node has the condition")
        bundle_has_no_secrets(m)
        set_gpu(m, len(FAULTS) - 1, "hang=0")
        set_gpu(m, "machine", "driver=mismatched")
        wait_finding(m, "gpu driver", "library and kernel module differ")
        set_gpu(m, "machine", "driver=unloaded")
        wait_finding(m, "gpu driver", "modprobe nvidia")


def test_memory_that_nobody_holds_puts_a_gpu_into_quarantine():
    with Mete(gpus="emulated:2xT4") as m:
        set_gpu(m, 1, "process=4194303:3000")  # of a process that is gone
        wait_healths(m, "healthy", "quarantined")
        wait_event(m, "GpuQuarantined", "Node", "GPU 1 ", "3000 MiB of its memory are in use that no process holds")
        set_gpu(m, 1, "process=0")
        wait_event(m, "GpuHealthy", "Node", "GPU 1 ")
        wait_healths(m, "healthy", "healthy")


def run_on_others(m, name, n):
    """Jobs start on the gpus that answer."""
    for i in range(n):
        m.ok("apply", "-f", "-", stdin=pod(f"{name}{i}", "true", gpus=1))
    for i in range(n):
        m.wait_phase(f"{name}{i}", "Succeeded")


def last_samples(m):
    return {labels["gpu"]: value for labels, value in page(m).of("mete_gpu_last_sample_timestamp_seconds")}


def metrics_go_on(m, hung):
    """The page has new readings of the others, and none of the gpu that does not answer."""
    readings = ("DCGM_FI_DEV_GPU_TEMP", "mete_gpu_power_watts", "mete_gpu_memory_used_bytes")
    wait(lambda: not page(m).of(readings[0], gpu=hung), "the hung gpu has no readings")
    before = last_samples(m)
    wait(lambda: all(at > before[gpu] for gpu, at in last_samples(m).items() if gpu != hung), "the others are sampled on")
    equal(last_samples(m)[hung], before[hung], "the time of the last answer is told, however old")
    p = page(m)
    for name in readings:
        equal([labels["gpu"] for labels, _ in p.of(name)], [gpu for gpu in sorted(before) if gpu != hung], name)
    equal([sum(v for _, v in p.of("mete_gpus", state=state)) for state in ("sick", "free")], [1, 7])


def test_a_driver_that_hangs_for_one_gpu_costs_that_gpu():
    with Mete(gpus="emulated:8xT4", metrics="127.0.0.1:0") as m:
        wait(lambda: len(page(m).of("DCGM_FI_DEV_GPU_TEMP")) == 8, "each gpu is sampled")
        set_gpu(m, 2, "hang=3000")
        check(page(m).of("mete_gpus"), "the page waits for no driver")
        run_on_others(m, "a", 3)
        check(page(m).of("mete_gpus"), "the page waits for no driver")
        set_gpu(m, 2, "hang=0")
        equal(healths(m)[3:], ["healthy"] * 5)
        wait_healths(m, *["healthy"] * 8)
        for hang in (60000, -1):
            set_gpu(m, 2, f"hang={hang}")
            run_on_others(m, f"b{hang}".replace("-", "x"), 3)
            wait_healths(m, "healthy", "healthy", "not answering", *["healthy"] * 5)
            metrics_go_on(m, "2")
            m.ok("apply", "-f", "-", stdin=pod(f"c{abs(hang)}", "true", gpus=7))
            m.wait_phase(f"c{abs(hang)}", "Succeeded")
            set_gpu(m, 2, "hang=0")
            wait_healths(m, *["healthy"] * 8)  # the driver let go, and the check passed
        wait(lambda: len(page(m).of("DCGM_FI_DEV_GPU_TEMP")) == 8, "the gpu has readings again")
        wait_event(m, "GpuNotAnswering", "Node", "GPU 2 ")
        wait_event(m, "GpuHealthy", "Node", "GPU 2 ")
