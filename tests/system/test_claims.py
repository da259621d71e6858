"""Pods get gpus through ResourceClaims of resource.k8s.io/v1, with the stock kubectl."""

import json

from harness import Mete, check, equal, pod, wait

GROUP = "resource.k8s.io/v1"
PROTECTION = "resource.kubernetes.io/delete-protection"
FACTS = 'device.attributes["gpu.nvidia.com"]'


def request(name="gpu", device_class="gpu.nvidia.com", cel=None, **more):
    exactly = {"deviceClassName": device_class, **more}
    if cel:
        exactly["selectors"] = [{"cel": {"expression": cel}}]
    return {"name": name, "exactly": exactly}


def first_available(name, *options):
    """The options, (name, class, expression), in the order of preference."""
    return {"name": name, "firstAvailable": [
        {"name": n, "deviceClassName": c, "selectors": [{"cel": {"expression": cel}}]} for n, c, cel in options]}


def claim_spec(*requests, config=None, **more):
    devices = {"requests": list(requests), **more}
    if config:
        devices["config"] = [{"opaque": {"driver": "gpu.nvidia.com", "parameters": config}}]
    return {"devices": devices}


def claim(name, *requests, **more):
    return json.dumps({"apiVersion": GROUP, "kind": "ResourceClaim", "metadata": {"name": name},
                       "spec": claim_spec(*requests, **more)})


def template(name, *requests, **more):
    return json.dumps({"apiVersion": GROUP, "kind": "ResourceClaimTemplate", "metadata": {"name": name},
                       "spec": {"spec": claim_spec(*requests, **more)}})


def user(name, claim_name=None, template_name=None, command="sleep 1000"):
    p = json.loads(pod(name, command))
    source = {"resourceClaimName": claim_name} if claim_name else {"resourceClaimTemplateName": template_name}
    p["spec"]["resourceClaims"] = [{"name": "gpu", **source}]
    p["spec"]["containers"][0].setdefault("resources", {})["claims"] = [{"name": "gpu"}]
    return json.dumps(p)


def create(m, *objects):
    for o in objects:
        m.ok("create", "-f", "-", stdin=o)


def devices(m, name):
    text = m.object("pod", name)["metadata"].get("annotations", {}).get("mete.dev/devices")
    return json.loads(text)["containers"]["main"] if text else None


def results(m, name):
    allocation = m.object("resourceclaim", name).get("status", {}).get("allocation", {})
    return [(r["request"], r["driver"], r["device"]) for r in allocation.get("devices", {}).get("results", [])]


def users(m, name):
    return [u["name"] for u in m.object("resourceclaim", name).get("status", {}).get("reservedFor", [])]


def wait_slice(m, n):
    return wait(lambda: (s := m.object("resourceslices")["items"]) and len(s[0]["spec"]["devices"]) == n and s[0],
                f"a slice with {n} devices")


def attempts(m, *names):
    rows = json.loads(m.kubectl("get", "--raw", "/apis/mete.dev/v1/accounting").out)["items"]
    return sorted((r for r in rows if r["pod"] in names), key=lambda r: r["pod"])


def held_in_queue(m):
    return m.object("queue", "default").get("status", {}).get("gpus")


def why(m, name, text):
    return wait(lambda: text in (r := m.mete("why", name)).out and r.out, f"the reason '{text}' of {name}")


def test_devices_are_published():
    with Mete("emulated:2xH100") as m:
        s = wait_slice(m, 2)
        node = m.object("nodes")["items"][0]["metadata"]["name"]
        equal((s["spec"]["driver"], s["spec"]["pool"]["name"], s["spec"]["nodeName"]), ("gpu.nvidia.com", node, node))
        d = s["spec"]["devices"][0]
        equal(d["name"], "gpu-0")
        facts = d["attributes"]
        equal((facts["type"]["string"], facts["productName"]["string"], facts["architecture"]["string"]),
              ("gpu", "NVIDIA H100 80GB HBM3", "Hopper"))
        equal(facts["cudaComputeCapability"]["version"], "9.0.0")
        equal(d["capacity"]["memory"]["value"], "81559Mi")
        equal(sorted(c["metadata"]["name"] for c in m.object("deviceclasses")["items"]),
              ["gpu.nvidia.com", "mig.nvidia.com"])
        equal(m.kubectl("get", "resourceslices").out.split("\n")[0].split(), ["NAME", "NODE", "DRIVER", "POOL", "AGE"])
        equal(m.kubectl("get", "deviceclasses").out.split("\n")[0].split(), ["NAME", "AGE"])


def test_a_claim_of_a_whole_gpu_is_given_and_freed():
    with Mete("emulated:2xH100") as m:
        create(m, claim("one", request()), user("p", "one"))
        m.wait_phase("p", "Running")
        held = devices(m, "p")
        equal(len(held), 1)
        equal(m.kubectl("exec", "p", "--", "sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES").out.strip(), held[0])
        wait(lambda: results(m, "one"), "the claim's allocation")
        gpu = next(g for g in json.loads(m.mete("gpus", "-o", "json").out)["items"] if g["spec"]["uuid"] == held[0])
        equal(results(m, "one"), [("gpu", "gpu.nvidia.com", f"gpu-{gpu['spec']['index']}")])
        equal(users(m, "one"), ["p"])
        line = m.kubectl("get", "resourceclaims").out.split("\n")
        equal((line[0].split(), line[1].split()[:2]), (["NAME", "STATE", "AGE"], ["one", "allocated,reserved"]))
        m.ok("delete", "pod", "p", "--grace-period=0", "--force")
        wait(lambda: not results(m, "one") and not users(m, "one"), "the end of the allocation")
        equal(m.kubectl("get", "resourceclaims").out.split("\n")[1].split()[:2], ["one", "pending"])
        create(m, claim("both", request(count=2)), user("q", "both"))
        m.wait_phase("q", "Running")
        equal(len(devices(m, "q")), 2)


def test_selectors_choose_among_gpus():
    with Mete("emulated:2xH100") as m:
        s = wait_slice(m, 2)
        uuid = s["spec"]["devices"][1]["attributes"]["uuid"]["string"]
        create(m, claim("second", request(cel=f'{FACTS}.uuid == "{uuid}"')), user("a", "second"))
        m.wait_phase("a", "Running")
        equal(devices(m, "a"), [uuid])
        memory = 'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi")) >= 0'
        create(m, claim("big", request(cel=f'{memory} && {FACTS}.productName.startsWith("NVIDIA H100")')),
               user("b", "big"))
        m.wait_phase("b", "Running")
        check(devices(m, "b") != [uuid])
        create(m, claim("huge", request(cel=memory.replace("40Gi", "100Gi"))), user("c", "huge"))
        why(m, "c", "request gpu of ResourceClaim huge: no device of class gpu.nvidia.com matches")
        create(m, claim("taken", request(cel=f'{FACTS}.uuid == "{uuid}"')), user("d", "taken"))
        why(m, "d", "out of 1 chosen gpu")
        m.ok("delete", "pod", "a", "--grace-period=0", "--force")
        m.wait_phase("d", "Running")
        equal(devices(m, "d"), [uuid])
        r = m.kubectl("create", "-f", "-", stdin=claim("bad", request(cel="device.driver ==")))
        check(r.code != 0 and "column 17: the expression is incomplete" in r.err, r)
        r = m.kubectl("create", "-f", "-", stdin=claim("bad", request(cel="device.attributes.all(a, true)")))
        check(r.code != 0 and 'the method "all" is not known here' in r.err, r)


def test_a_template_makes_a_claim_that_goes_with_its_pod():
    with Mete("emulated:2xH100") as m:
        create(m, template("each", request()), user("a", template_name="each"), user("b", template_name="each"))
        m.wait_phase("a", "Running")
        m.wait_phase("b", "Running")
        check(devices(m, "a") != devices(m, "b"))
        claims = m.object("resourceclaims")["items"]
        equal(len(claims), 2)
        owners = sorted(c["metadata"]["ownerReferences"][0]["name"] for c in claims)
        equal(owners, ["a", "b"])
        told = wait(lambda: m.object("pod", "a")["status"].get("resourceClaimStatuses"), "the name of the claim")
        check(told[0]["resourceClaimName"].startswith("a-gpu-"), told)
        m.ok("delete", "pod", "a", "--grace-period=0", "--force")
        wait(lambda: len(m.object("resourceclaims")["items"]) == 1, "the end of the claim")


def test_two_pods_share_a_claim():
    with Mete("emulated:2xH100") as m:
        create(m, claim("shared", request()), user("a", "shared"), user("b", "shared"))
        m.wait_phase("a", "Running")
        m.wait_phase("b", "Running")
        equal(devices(m, "a"), devices(m, "b"))
        wait(lambda: sorted(users(m, "shared")) == ["a", "b"], "both users of the claim")
        equal(len(results(m, "shared")), 1)
        equal([(r["pod"], len(r["gpus"])) for r in attempts(m, "a", "b")], [("a", 1), ("b", 0)], "one pod counts for the gpu")
        wait(lambda: held_in_queue(m) == "1", "the claim's gpu counts once in the queue")
        m.ok("delete", "pod", "a", "--grace-period=0", "--force")
        wait(lambda: users(m, "shared") == ["b"], "the only user of the claim")
        rows = attempts(m, "a", "b")
        equal([(r["pod"], len(r["gpus"])) for r in rows], [("a", 1), ("b", 1)], "then the other one")
        check(rows[0]["to"].rstrip("Z").ljust(29, "0").endswith(str(rows[1]["gpus"][0]["fromNs"])[-9:]),
              "the gpu's time of pod b begins with the end of pod a", rows)
        create(m, claim("both", request(count=2)), user("c", "both"))
        why(m, "c", "needs 2 gpus")
        equal(held_in_queue(m), "1", "the claim's gpu after the end of its first pod")
        m.ok("delete", "pod", "b", "--grace-period=0", "--force")
        m.wait_phase("c", "Running")


def test_a_used_claim_is_kept():
    with Mete("emulated:1xH100") as m:
        create(m, claim("kept", request()), user("a", "kept"))
        m.wait_phase("a", "Running")
        wait(lambda: m.object("resourceclaim", "kept")["metadata"].get("finalizers") == [PROTECTION], "the protection")
        m.ok("delete", "resourceclaim", "kept", "--wait=false")
        check("deletionTimestamp" in m.object("resourceclaim", "kept")["metadata"], "the claim waits for its pod")
        create(m, user("b", "kept"))
        why(m, "b", "ResourceClaim kept is being deleted")
        m.ok("delete", "pod", "a", "--grace-period=0", "--force")
        wait(lambda: not m.object("resourceclaims")["items"], "the end of the claim")
        why(m, "b", "there is no ResourceClaim kept")


def test_quotas_count_the_devices_of_claims():
    name = "gpu.nvidia.com.deviceclass.resource.k8s.io/devices"
    with Mete("emulated:2xH100") as m:
        create(m, claim("before", request()))
        m.ok("create", "quota", "q", f"--hard={name}=2,count/resourceclaims.resource.k8s.io=9")
        used = m.object("quota", "q")["status"]["used"]
        equal(used, {name: "1", "count/resourceclaims.resource.k8s.io": "1"})
        create(m, user("a", "before"), user("b", "before"))
        m.wait_phase("b", "Running")
        equal(m.object("quota", "q")["status"]["used"], used, "pods that share a claim")
        r = m.kubectl("create", "-f", "-", stdin=claim("two", request(count=2)))
        check(r.code != 0 and f"exceeded quota: q, requested: {name}=2, used: {name}=1, limited: {name}=2" in r.err, r)
        create(m, template("all", request(allocationMode="All")), user("c", template_name="all"))
        why(m, "c", f"requested: {name}=32")
        create(m, claim("second", request()))
        m.ok("delete", "resourceclaim", "second")
        equal(m.object("quota", "q")["status"]["used"], used)


def test_parts_of_gpus_are_claimed():
    share = {"apiVersion": "mete.dev/v1", "kind": "Share", "compute": 0.5, "memory": "20Gi"}
    with Mete("emulated:1xH100") as m:
        create(m, claim("half", request(), config=share), user("a", "half"))
        m.wait_phase("a", "Running")
        check(devices(m, "a")[0].endswith("/share:500,21474836480"), devices(m, "a"))
        create(m, template("halves", request(), config=share), user("b", template_name="halves"),
               user("c", template_name="halves"))
        m.wait_phase("b", "Running")
        why(m, "c", "needs 0.5 of a gpu")
        r = m.kubectl("create", "-f", "-", stdin=claim("mps", request(), config={
            "apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig", "sharing": {"strategy": "MPS"}}))
        check(r.code != 0 and "sharing.strategy MPS: not implemented yet" in r.err, r)


def test_what_is_missing_is_told():
    with Mete("emulated:1xH100") as m:
        create(m, user("a", "absent"), user("b", template_name="absent"))
        why(m, "a", "there is no ResourceClaim absent")
        why(m, "b", "there is no ResourceClaimTemplate absent")
        create(m, claim("absent", request(device_class="none")))
        why(m, "a", "there is no DeviceClass none")
        create(m, json.dumps({"apiVersion": GROUP, "kind": "DeviceClass", "metadata": {"name": "none"},
                              "spec": {"selectors": [{"cel": {"expression": f'{FACTS}.type == "gpu"'}}]}}))
        m.wait_phase("a", "Running")


def test_a_pod_with_claims_names_no_node():
    with Mete("emulated:1xH100") as m:
        p = json.loads(user("p", "one"))
        p["spec"]["nodeName"] = m.object("nodes")["items"][0]["metadata"]["name"]
        r = m.kubectl("create", "-f", "-", stdin=json.dumps(p))
        check(r.code != 0 and "the scheduler chooses the node of a pod with resourceClaims" in r.err, r)


def test_claims_survive_a_restart():
    with Mete("emulated:2xH100") as m:
        create(m, claim("shared", request()), user("a", "shared"), user("b", "shared"))
        m.wait_phase("a", "Running")
        m.wait_phase("b", "Running")
        m.ok("delete", "pod", "a", "--grace-period=0", "--force")
        wait(lambda: users(m, "shared") == ["b"], "the only user of the claim")
        m.stop()
        m.start()
        create(m, claim("both", request(count=2)), user("c", "both"))
        why(m, "c", "needs 2 gpus")
        equal(users(m, "shared"), ["b"])


def test_slices_are_claimed_by_profile():
    with Mete("emulated:1xH100") as m:
        node = m.object("nodes")["items"][0]["metadata"]["name"]
        equal(m.mete("gpus", "set", node, "--mode", "slices=1g.10gb:2,2g.20gb:1").code, 0)
        s = wait_slice(m, 3)
        equal(sorted(d["attributes"]["profile"]["string"] for d in s["spec"]["devices"]),
              ["1g.10gb", "1g.10gb", "2g.20gb"])
        by_profile = f'{FACTS}.profile == "2g.20gb"'
        create(m, claim("slice", request(device_class="mig.nvidia.com", cel=by_profile)), user("a", "slice"))
        m.wait_phase("a", "Running")
        check("/slice:2g.20gb@" in devices(m, "a")[0], devices(m, "a"))
        wait(lambda: results(m, "slice") and "gpu-0-mig-2g20gb-" in results(m, "slice")[0][2], "the claim's allocation")
        create(m, claim("any", request(device_class="mig.nvidia.com")), user("b", "any"))
        why(m, "b", "select one profile")


def test_a_single_slice_is_claimed():
    with Mete("emulated:1xH100") as m:
        node = m.object("nodes")["items"][0]["metadata"]["name"]
        equal(m.mete("gpus", "set", node, "--mode", "slices=1g.10gb:3").code, 0)
        s = wait_slice(m, 3)
        chosen = sorted(s["spec"]["devices"], key=lambda d: d["name"])[1]
        by_uuid = f'{FACTS}.uuid == "{chosen["attributes"]["uuid"]["string"]}"'
        create(m, claim("one", request(device_class="mig.nvidia.com", cel=by_uuid)), user("a", "one"))
        m.wait_phase("a", "Running")
        wait(lambda: results(m, "one") == [("gpu", "gpu.nvidia.com", chosen["name"])], "the claim's allocation")
        create(m, claim("same", request(device_class="mig.nvidia.com", cel=by_uuid)), user("b", "same"))
        why(m, "b", "needs mig 1g.10gb out of chosen slices of 1 gpu")
        m.ok("delete", "pod", "a", "--grace-period=0", "--force")
        m.wait_phase("b", "Running")


def test_slices_of_one_gpu_are_claimed_together():
    with Mete("emulated:2xH100") as m:
        node = m.object("nodes")["items"][0]["metadata"]["name"]
        equal(m.mete("gpus", "set", node, "--mode", "slices=1g.10gb:1,2g.20gb:1").code, 0)
        wait_slice(m, 4)
        by = {p: f'{FACTS}.profile == "{p}"' for p in ("1g.10gb", "2g.20gb")}
        create(m, claim("small", request(device_class="mig.nvidia.com", cel=by["1g.10gb"])), user("a", "small"))
        m.wait_phase("a", "Running")
        other = devices(m, "a")[0].split("/")[0]
        both = [request("s", "mig.nvidia.com", by["1g.10gb"]), request("l", "mig.nvidia.com", by["2g.20gb"])]
        same = [{"requests": ["s", "l"], "matchAttribute": "gpu.nvidia.com/parentUUID"}]
        create(m, claim("pair", *both, constraints=same), user("b", "pair"), claim("second", *both, constraints=same),
               user("c", "second"))
        m.wait_phase("b", "Running")
        gpus = {d.split("/")[0] for d in devices(m, "b")}
        check(len(gpus) == 1 and other not in gpus, gpus, other)
        wait(lambda: [r[0] for r in results(m, "pair")] == ["s", "l"], "the claim's allocation")
        why(m, "c", "needs")
        m.ok("delete", "pod", "a", "--grace-period=0", "--force")
        m.wait_phase("c", "Running")
        equal({d.split("/")[0] for d in devices(m, "c")}, {other})
        r = m.kubectl("create", "-f", "-", stdin=claim("bad", *both, constraints=[{"requests": ["x"], "matchAttribute": "a/b"}]))
        check(r.code != 0 and "must be the name of a request in claim" in r.err, r)


def test_the_first_available_kind_is_given():
    with Mete("emulated:2xH100") as m:
        s = wait_slice(m, 2)
        kinds = [(n, "gpu.nvidia.com", f'{FACTS}.uuid == "{d["attributes"]["uuid"]["string"]}"')
                 for n, d in zip(("best", "next"), s["spec"]["devices"])]
        create(m, template("either", first_available("gpu", *kinds)), *(user(n, template_name="either") for n in "abc"))
        m.wait_phase("a", "Running")
        m.wait_phase("b", "Running")
        wait(lambda: sorted(r for c in m.object("resourceclaims")["items"] for r in results(m, c["metadata"]["name"])) == [
            ("gpu/best", "gpu.nvidia.com", "gpu-0"), ("gpu/next", "gpu.nvidia.com", "gpu-1")], "both kinds are given")
        why(m, "c", "out of 1 chosen gpu")
        second = next(n for n in "ab" if devices(m, n)[0] == s["spec"]["devices"][1]["attributes"]["uuid"]["string"])
        m.ok("delete", "pod", second, "--grace-period=0", "--force")
        m.wait_phase("c", "Running")
        equal(devices(m, "c"), [s["spec"]["devices"][1]["attributes"]["uuid"]["string"]])
        r = m.kubectl("create", "-f", "-", stdin=claim("bad", {"name": "gpu"}))
        check(r.code != 0 and "exactly one of `exactly` or `firstAvailable` is required" in r.err, r)


def test_monitoring_sees_devices_and_holds_nothing():
    with Mete("emulated:2xH100") as m:
        create(m, claim("own", request(count=2)), user("work", "own"))
        m.wait_phase("work", "Running")
        everything = claim("all", request(allocationMode="All", adminAccess=True))
        r = m.kubectl("create", "-f", "-", stdin=everything)
        check(r.code != 0 and "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label" in r.err, r)
        m.ok("label", "namespace", "default", "resource.kubernetes.io/admin-access=true")
        create(m, everything, user("monitor", "all", command="nvidia-smi -L; sleep 1000"))
        m.wait_phase("monitor", "Running")
        wait(lambda: m.kubectl("logs", "monitor").out.count("UUID: GPU-") == 2, "the monitor sees both gpus")
        equal(devices(m, "monitor"), None)
        found = wait(lambda: m.object("resourceclaim", "all").get("status", {}).get("allocation"), "the allocation")
        equal([(r["device"], r["adminAccess"]) for r in found["devices"]["results"]], [("gpu-0", True), ("gpu-1", True)])
        equal([len(r["gpus"]) for r in attempts(m, "monitor")], [0], "nobody is billed")
        m.ok("delete", "pod", "work", "--grace-period=0", "--force")
        create(m, claim("next", request(count=2)), user("more", "next"))
        m.wait_phase("more", "Running")
