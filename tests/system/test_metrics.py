"""The page /metrics: NVIDIA's names and ours, both formats, who may read it, and what holds a gpu."""

import contextlib
import http.client
import os
import re
import shutil
import ssl

from harness import DEADLINE_S, METE, Mete, check, equal, execute, pod, wait
from metrics_kit import OPEN, Page, address, get, get_unix, page

# The panels of Grafana dashboard 12239 and the variables of its queries.
PANELS = ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED",
          "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE")
DEVICE_LABELS = {"gpu", "UUID", "pci_bus_id", "device", "modelName", "Hostname", "DCGM_FI_DRIVER_VERSION"}


def test_a_machine_of_eight():
    with Mete(metrics="127.0.0.1:0") as m:
        wait(lambda: len(page(m).of(PANELS[-1])) == 8, "each gpu has two samples")
        p = page(m)
        for name in PANELS:
            found = p.of(name)
            equal([labels["gpu"] for labels, _ in found], [str(i) for i in range(8)], name)
            for labels, _ in found:
                equal(set(labels), DEVICE_LABELS, name)
        equal({labels["modelName"] for labels, _ in p.of(PANELS[0])}, {"NVIDIA H100 80GB HBM3"})
        equal(sum(v for _, v in p.of("mete_gpus", state="free")), 8)
        equal(sum(v for _, v in p.of("mete_largest_free_set", model="h100")), 8)
        told_apart(m)
        held_by_a_pod(m)
        refused(m)


def told_apart(m):
    """Both formats and each choice of families."""
    equal(get(m)[1], "text/plain; version=0.0.4; charset=utf-8")
    status, kind, text = get(m, accept=OPEN + ";version=1.0.0,text/plain;q=0.5")
    equal((status, kind), (200, OPEN + "; version=1.0.0; charset=utf-8"))
    check(text.endswith("# EOF\n"), text[-200:])
    p = Page(text)
    equal(p.types["DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"], "unknown")
    equal(p.types["mete_gpu_energy_joules"], "counter")
    p = page(m, "/metrics?families=dcgm-old")
    equal(len(p.of("dcgm_gpu_temp")), 8)
    check(not p.of("DCGM_FI_DEV_GPU_TEMP") and not p.of("mete_gpus"), "no other names")
    check(not page(m, "/metrics?families=mete").of("DCGM_FI_DEV_GPU_TEMP"), "no other names")


def held_by_a_pod(m):
    m.ok("apply", "-f", "-", stdin=pod("holder", "exec sleep 1000", gpus=2))
    m.wait_phase("holder", "Running")
    p = page(m)
    held = p.of("DCGM_FI_DEV_GPU_UTIL", namespace="default", pod="holder", container="main")
    equal(len(held), 2, p.series)
    ours = p.of("mete_gpu_held", namespace="default", pod="holder", queue="default", user="admin")
    equal({labels["uuid"] for labels, _ in ours}, {labels["UUID"] for labels, _ in held})
    check(all(int(labels["job"]) > 0 for labels, _ in ours), ours)
    equal(sum(v for _, v in p.of("mete_gpus", state="held")), 2)
    check(all("user" not in labels for labels, _ in page(m, "/metrics?drop=user").of("mete_gpu_held")), "no users")
    equal(get_unix(m)[0], 200)
    history_of(m, held[0][0]["UUID"])
    waits_for_the_rest(m)
    m.ok("delete", "pod", "holder", "--grace-period=0", "--force")
    wait(lambda: not page(m).of("mete_gpu_held"), "the gpus are free again")
    check(m.read("/apis/mete.dev/v1/history?pod=default/holder")["rows"], "an ended pod has a history")
    check(0 < page(m).value("mete_history_bytes") < page(m).value("mete_history_max_bytes"), "within the bound")


def waits_for_the_rest(m):
    """A pod that does not fit, and what was counted while the other one started."""
    m.ok("apply", "-f", "-", stdin=pod("large", "true", gpus=8))
    wait(lambda: page(m).value("mete_jobs_waiting", queue="default", **{"class": "place", "reason": "NoNodeFits"}) == 1,
         "the pod waits for room")
    p = page(m)
    equal(p.value("mete_gpus_wanted", queue="default"), 8)
    check(p.value("mete_oldest_wait_seconds", queue="default") >= 0, p.series)
    equal(p.value("mete_quota_used_gpus", queue="default"), 2)
    equal(p.value("mete_wait_seconds_count", queue="default"), 1)
    equal(p.value("mete_start_seconds_count", image="cached"), 1)
    for name in ("mete_schedule_seconds", "mete_store_sync_seconds"):
        check(p.value(name + "_count") > 0, name)
        equal(p.value(name + "_bucket", le="+Inf"), p.value(name + "_count"), name)
    equal(p.value("mete_node_condition", condition="Ready", status="true"), 1)
    check(p.value("process_resident_memory_bytes") > 1 << 20 and p.value("mete_disk_free_bytes") > 0, "the server itself")
    exemplars = Page(get(m, accept=OPEN)[2]).exemplars
    check(("mete_wait_seconds_bucket", {"job": "default/holder"}) in exemplars, exemplars)
    wait(lambda: page(m).value("mete_gpu_idle_held_seconds_total", queue="default", namespace="default"), "idle time is counted")
    m.ok("delete", "pod", "large")


def history_of(m, uuid):
    """The history of a held gpu and of its pod; also after the pod's end."""
    h = wait(lambda: m.read(f"/apis/mete.dev/v1/history?uuid={uuid}&from=10m&step=1s"), "the gpu has a history")
    equal(h["fields"][0], "utilizationPct")
    check(h["rows"] and all(len(row) == 7 and h["fromS"] <= row[0] < h["toS"] for row in h["rows"]), h)
    check(h["rows"][-1][5] > 0, "a gpu has a temperature", h)
    pod_h = wait(lambda: m.read("/apis/mete.dev/v1/history?pod=default/holder"), "the pod has a history")
    equal((pod_h["namespace"], pod_h["pod"]), ("default", "holder"))
    equal(m.read("/apis/mete.dev/v1/history?pod=" + pod_h["uid"])["uid"], pod_h["uid"])
    for bad in ("", "?pod=a&uuid=b", "?uuid=GPU-0", "?pod=default/none", f"?uuid={uuid}&step=x", f"?uuid={uuid}&from=30d&step=1s"):
        check(m.read("/apis/mete.dev/v1/history" + bad) is None, bad)


def refused(m):
    equal(get(m, "/other")[0], 404)
    equal(get(m, "/metrics?families=all")[0], 400)
    equal(get(m, "/metrics?drop=pod")[0], 400)
    equal(get(m, method="POST")[0], 400)
    port = address(m)[1]
    r = execute([METE, "up", "--data", m.data + "-2", "--gpus", "none", "--listen", "127.0.0.1:0", "--metrics", f"127.0.0.1:{port}"],
                env=m.env)
    check(r.code != 0 and f"127.0.0.1:{port} is in use by another program" in r.err, r)
    check("try: mete up --metrics 127.0.0.1:0" in r.err, r)
    r = m.mete("up", "--metrics", "9400")
    check(r.code == 2 and 'metrics "9400": want HOST:PORT' in r.err, r)


def tls_page(m, ca):
    """The page by TLS, checked by that authority."""
    with open(m.log) as f:
        host, port = re.findall(r"Metrics: https://(127\.0\.0\.1):(\d+)/metrics", f.read())[-1]
    context = ssl.create_default_context(cafile=ca)
    with contextlib.closing(http.client.HTTPSConnection(host, int(port), timeout=DEADLINE_S, context=context)) as c:
        c.request("GET", "/metrics")
        r = c.getresponse()
        return r.status, Page(r.read().decode())


def test_metrics_by_tls():
    with Mete(metrics="127.0.0.1:0", gpus="none") as m:
        pki = os.path.join(m.data, "server", "pki")
        own = os.path.join(m.dir, "tls")
        config = os.path.join(m.dir, "mete.yaml")
        m.arguments += ["--config", config]
        os.mkdir(own, 0o755)
        for word, ca in (("own", os.path.join(pki, "ca.crt")), (own, os.path.join(own, "ca.crt"))):
            with open(config, "w") as f:
                f.write(f"apiVersion: mete.dev/v1\nkind: Config\nmetricsTls: {word}\n")
            for name in ("ca.crt", "server.crt", "server.key"):
                shutil.copy(os.path.join(pki, name), own)
                os.chmod(os.path.join(own, name), 0o644)
            m.stop()
            m.start()
            status, p = tls_page(m, ca)
            equal(status, 200)
            check(p.of("mete_build_info"), p.series)
        with open(config, "w") as f:
            f.write("apiVersion: mete.dev/v1\nkind: Config\nmetricsTls: yes please\n")
        r = execute([METE, "up", "--data", os.path.join(m.dir, "other"), "--config", config])
        check(r.code == 2 and "want off, own, or the absolute path" in r.err, r)


def test_off_listens_nowhere():
    with Mete(gpus="none") as m:
        with open(m.log) as f:
            check("Metrics" not in f.read(), "no address")
        status, _, text = get_unix(m)
        equal(status, 200)
        equal(Page(text).of("mete_gpus"), [])
