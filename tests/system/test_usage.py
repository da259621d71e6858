"""Usage is recorded once and adds up to the nanosecond, whichever process is killed; kubectl top shows current usage."""

import json
import os
import signal

from harness import Mete, check, equal, pod, wait

NS = 10**9
PRICES = "currency: EUR\ngpuHour: {h100: 2.50, default: 1}\ncpuHour: 0.02\nmemoryGibHour: 0.003\n"


def ns_of(amount):
    return amount["seconds"] * NS + amount["nanos"]


def usage(m, *words):
    r = m.mete("usage", "-o", "json", *words)
    equal(r.code, 0, r)
    return json.loads(r.out)


def rows(m, *words):
    return usage(m, "--rows", *words)["items"]


def ended(m):
    return [r for r in rows(m) if r["cause"]]


def adds_up(m):
    """Held, free and out of service are the capacity; what is held is what the attempts say."""
    report = usage(m, "--by", "user,model")
    for gpu in report["gpus"]:
        parts = ns_of(gpu["held"]) + ns_of(gpu["free"]) + ns_of(gpu["outOfService"])
        equal(parts, ns_of(gpu["capacity"]), gpu)
    held = sum(ns_of(g["held"]) for g in report["gpus"])
    equal(sum(ns_of(i["gpuTime"]) for i in report["items"]), held, report)
    equal(ns_of(report["total"]["gpuTime"]), held, report)
    equal(sum(i["attempts"] for i in report["items"]), report["total"]["attempts"], report)
    if report["currency"]:
        equal(sum(i["costMicro"] for i in report["items"]), report["total"]["costMicro"], report)
    return report


def kill(m, word):
    old = wait(lambda: m.child(word), f"mete {word} runs")
    os.kill(old, signal.SIGKILL)
    wait(lambda: m.child(word) not in (None, old), f"mete {word} runs again")
    wait(lambda: m.mete("ps").code == 0, "the server answers again")


def test_jobs_are_charged_for_what_they_held():
    with Mete() as m:
        with open(os.path.join(m.data, "prices.yaml"), "w") as f:
            f.write(PRICES)
        m.ok("create", "namespace", "team")
        busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 3"
        m.ok("apply", "-f", "-", stdin=pod("busy", busy, gpus=2))
        m.ok("apply", "-f", "-", stdin=pod("long", "sleep 1000", gpus=1, ns="team"))
        m.ok("apply", "-f", "-", stdin=pod("none", "exit 0"))
        m.wait_phase("busy", "Failed")
        m.wait_phase("none", "Succeeded")
        m.wait_phase("long", "Running", ns="team")
        by_pod = {r["pod"]: r for r in rows(m)}
        equal(sorted(by_pod), ["busy", "long", "none"])
        r = by_pod["busy"]
        equal((r["cause"], r["exitCode"], len(r["gpus"]), r["namespace"]), ("Failed", 3, 2, "default"), r)
        equal({g["model"] for g in r["gpus"]}, {"h100"}, r)
        check(ns_of(r["cpuTime"]) > 10**7, "a busy loop takes CPU time", r)
        check(r["memoryPeakBytes"] > 0 and r["costMicro"] > 0, r)
        equal((by_pod["none"]["gpus"], ns_of(by_pod["none"]["gpuTime"])), ([], 0))
        equal((by_pod["long"]["to"], by_pod["long"]["cause"]), (None, None))
        report = adds_up(m)
        equal(report["total"]["running"], 1, report)
        by_ns = {i["namespace"]: i for i in usage(m, "--by", "namespace")["items"]}
        equal(sorted(by_ns), ["default", "team"])
        equal(m.mete("usage", "--by", "colour").code != 0, True)
        m.ok("delete", "pod", "long", "-n", "team", "--grace-period=1")
        last = wait(lambda: [r for r in ended(m) if r["pod"] == "long"], "the row of what was deleted")
        equal([r["cause"] for r in last], ["Cancelled"], last)
        adds_up(m)


def test_each_restart_is_a_row_and_none_is_twice_whoever_is_killed():
    with Mete() as m:
        marks = os.path.join(m.dir, "marks")
        os.mkdir(marks)
        os.chmod(marks, 0o777)
        script = f"n=$(ls {marks} | wc -l); : >{marks}/$n; sleep 0.3; [ $n -ge 2 ]"
        m.ok("apply", "-f", "-", stdin=pod("again", script, gpus=1, restartPolicy="OnFailure"))
        for i in range(4):
            m.ok("apply", "-f", "-", stdin=pod(f"job-{i}", f"sleep 0.{i}; exit {i}", gpus=1))
            kill(m, "node" if i % 2 else "server")
        for i in range(4):
            m.wait_phase(f"job-{i}", ("Succeeded", "Failed"))
        m.wait_phase("again", "Succeeded")
        found = ended(m)
        names = sorted((r["pod"], r["attempt"]) for r in found)
        want = [("again", 0), ("again", 1), ("again", 2)] + [(f"job-{i}", 0) for i in range(4)]
        equal(names, want, found)
        attempts = sorted((r for r in found if r["pod"] == "again"), key=lambda r: r["attempt"])
        for before, after in zip(attempts, attempts[1:]):
            equal(after["from"], before["to"], attempts)
        equal([r["cause"] for r in attempts], ["Failed", "Failed", "Completed"], attempts)
        for r in found:
            check(r["cpuTime"] is not None, "what it used outlives the kills", r)
        adds_up(m)
        kill(m, "server")
        equal(sorted((r["pod"], r["attempt"]) for r in ended(m)), want)
        adds_up(m)


def test_gpus_of_a_cordoned_node_are_out_of_service():
    with Mete(gpus="emulated:2xT4") as m:
        adds_up(m)
        m.ok("cordon", m.object("nodes")["items"][0]["metadata"]["name"])
        before = ns_of(adds_up(m)["gpus"][0]["outOfService"])
        wait(lambda: ns_of(adds_up(m)["gpus"][0]["outOfService"]) > before + NS // 10, "time out of service grows")
        m.ok("uncordon", m.object("nodes")["items"][0]["metadata"]["name"])
        after = wait(lambda: adds_up(m), "the report")["gpus"][0]
        free = ns_of(after["free"])
        wait(lambda: ns_of(adds_up(m)["gpus"][0]["free"]) > free, "time free grows")
        equal(ns_of(adds_up(m)["gpus"][0]["outOfService"]), ns_of(after["outOfService"]))


def test_periods_and_bad_prices():
    with Mete() as m:
        m.ok("apply", "-f", "-", stdin=pod("a", "exit 0", gpus=1))
        m.wait_phase("a", "Succeeded")
        equal(len(rows(m, "--last", "1h")), 1)
        equal(rows(m, "--from", "2020-01", "--to", "2020-02"), [])
        r = m.mete("usage", "--last", "a while")
        equal(r.code, 2, r)
        check("2026-11-01" in r.err, "says what would be right", r)
        with open(os.path.join(m.data, "prices.yaml"), "w") as f:
            f.write("currency: EUR\ngpuHour:\n  h100: cheap\n")
        r = m.mete("usage")
        equal(r.code, 0, r)
        check("prices.yaml:3: h100: want a price" in r.err, r)


def test_kubectl_top_shows_what_runs_and_nothing_else():
    with Mete() as m:
        m.ok("apply", "-f", "-", stdin=pod("hot", "while :; do :; done"))
        m.ok("apply", "-f", "-", stdin=pod("done", "exit 0"))
        m.wait_phase("done", "Succeeded")

        def top():
            r = m.kubectl("top", "pods", "--no-headers")
            return r.code == 0 and r.out.split()

        name, cpu, memory = wait(top, "kubectl top pods tells of the pod")[:3]
        equal(name, "hot")
        check(int(cpu.rstrip("m")) > 0, "a busy loop is seen, though other processes may have most of the machine", cpu)
        check(memory.endswith("Mi"), memory)
        node = wait(lambda: (r := m.kubectl("top", "nodes", "--no-headers")).code == 0 and r.out.split(), "kubectl top nodes")
        check(int(node[1].rstrip("m")) > 0, node)
        listed = json.loads(m.ok("get", "--raw", "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods"))
        equal([p["metadata"]["name"] for p in listed["items"]], ["hot"])
        check("metrics.k8s.io/v1beta1" in m.ok("api-versions").split())
        equal(m.object("pods")["kind"], "List")  # `pods` goes on meaning those of the core group
        m.ok("delete", "pod", "hot", "--grace-period=1")
        equal(json.loads(m.ok("get", "--raw", "/apis/metrics.k8s.io/v1beta1/pods"))["items"], [])
