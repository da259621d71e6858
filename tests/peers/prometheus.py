"""Debian's Prometheus and Alertmanager against a Mete with emulated GPUs under load: the names, the rules, each query of the
dashboards, and an alert from an injected XID to a webhook.

build/peers/debian has the programs, unpacked from Debian's packages: nothing is installed, and no service starts."""

import contextlib
import glob
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import urllib.parse
import urllib.request

from harness import BUILD, ROOT, Mete, check, equal, execute, pod, wait
from metrics_kit import OPEN, Page, address, get, page

HERE = os.path.dirname(os.path.abspath(__file__))
PLACE = os.path.join(ROOT, "build", "peers", "debian")
# Alertmanager finds its templates at a fixed path.
ALERTMANAGER = ("unshare", "-m", "sh", "-c", f'mount --bind {PLACE}/usr/share /usr/share && exec "$@"', "sh")
PACKAGES = ("prometheus", "prometheus-alertmanager")
DEPLOY = os.path.join(ROOT, "deploy")
RULES = os.path.join(DEPLOY, "prometheus", "mete.rules.yaml")
DASHBOARDS = sorted(glob.glob(os.path.join(DEPLOY, "grafana", "*.json")))

# The queries of Grafana dashboard 12239, with the values that it puts in place of its variables.
NVIDIA = [query + '{instance=~".*", gpu=~".*"}' + rest for query, rest in (
    ("DCGM_FI_DEV_GPU_TEMP", ""), ("DCGM_FI_DEV_POWER_USAGE", ""), ("DCGM_FI_DEV_SM_CLOCK", " * 1000000"), ("DCGM_FI_DEV_GPU_UTIL", ""),
    ("DCGM_FI_DEV_FB_USED", ""), ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", ""))]
NVIDIA += [f'avg({NVIDIA[0]})', f'sum({NVIDIA[1]})', "avg(DCGM_FI_DEV_GPU_UTIL) by (gpu, Hostname)",
           "avg_over_time(DCGM_FI_DEV_GPU_UTIL[30m]) < 101"]
QUEUE = """
apiVersion: mete.dev/v1
kind: Queue
metadata: {name: team}
spec: {quotas: [{resource: gpu, nominal: 2}]}
"""


def programs():
    """The directory of the programs, which are unpacked where they are missing."""
    found = os.path.join(PLACE, "usr", "bin")
    if not os.path.exists(os.path.join(found, "promtool")):
        os.makedirs(PLACE, exist_ok=True)
        subprocess.run(["apt-get", "-qq", "download", *PACKAGES], cwd=PLACE, check=True, stderr=subprocess.DEVNULL)
        for package in glob.glob(os.path.join(PLACE, "*.deb")):
            subprocess.run(["dpkg", "-x", package, PLACE], check=True)
    return found


def tool(name, *words, stdin=None, cwd=None):
    return execute([os.path.join(programs(), name), *words], stdin=stdin, cwd=cwd)


def check_files():
    r = tool("promtool", "check", "rules", RULES)
    check(r.code == 0, r)
    r = tool("promtool", "test", "rules", "rules.test.yaml", cwd=os.path.join(HERE, "prometheus"))
    check(r.code == 0, r)
    with open(RULES) as f:
        alerts = set(re.findall(r"- alert: (\w+)", f.read()))
    with open(os.path.join(HERE, "prometheus", "rules.test.yaml")) as f:
        equal(set(re.findall(r"alertname: (\w+)", f.read())), alerts, "each alert has a test")
    r = tool("promtool", "check", "config", "--syntax-only", os.path.join(DEPLOY, "prometheus", "prometheus.yaml"))
    check(r.code == 0, r)
    r = tool("amtool", "check-config", os.path.join(DEPLOY, "alertmanager", "alertmanager.yaml"))
    check(r.code == 0, r)


def check_names(m):
    """Our names are clean; the only complaints about NVIDIA's are of their form, which is not ours to choose."""
    r = tool("promtool", "check", "metrics", stdin=get(m, "/metrics?families=mete")[2])
    equal((r.code, r.out + r.err), (0, ""))
    r = tool("promtool", "check", "metrics", stdin=get(m, "/metrics?families=dcgm,dcgm-old")[2])
    for line in (r.out + r.err).splitlines():
        check(re.match(r"(?i)dcgm_\w+ (counter metrics|non-counter metrics|label names|metric name) should", line), line)
    check(Page(get(m, accept=OPEN)[2]).exemplars, "OpenMetrics has exemplars")


class Hook:
    """A webhook that keeps what Alertmanager sends."""

    def __init__(self):
        self.alerts = []
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.alerts += json.loads(body)["alerts"]
                self.send_response(200)
                self.end_headers()

            def log_message(self, *words):
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def running(*argv):
    p = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield p
    finally:
        p.terminate()
        p.wait(60)


def write(path, text):
    with open(path, "w") as f:
        f.write(text)
    return path


def ask(port, query):
    """The result of a query; a query that Prometheus refuses fails."""
    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": query})
    with urllib.request.urlopen(url, timeout=60) as r:
        return json.load(r)["data"]["result"]


def answers(port):
    with contextlib.suppress(OSError):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=5) as r:
            return r.status == 200
    return False


def load(m):
    """Whole gpus that work, shares and slices with their holders that do not, a pod that waits, and a queue with a quota."""
    m.ok("apply", "-f", "-", stdin=QUEUE)
    smoke = os.path.join(m.dir, "cuda_smoke")
    shutil.copy(os.path.join(BUILD, "tests", "gpu", "cuda_smoke"), smoke)
    os.chmod(smoke, 0o755)
    for i in range(2):
        m.ok("apply", "-f", "-", stdin=pod(f"busy-{i}", f"while :; do {smoke} busy 1000 || sleep 1; done", gpus=1))
    for i in range(2):
        limits = {"nvidia.com/gpumem": 20000, "nvidia.com/gpucores": 30}
        m.ok("apply", "-f", "-", stdin=pod(f"share-{i}", "", containers=[
            {"name": "main", "image": "host", "command": ["sleep", "1000"], "resources": {"limits": {"nvidia.com/gpu": 1, **limits}}}]))
    m.ok("apply", "-f", "-", stdin=pod("slice", "", containers=[
        {"name": "main", "image": "host", "command": ["sleep", "1000"], "resources": {"limits": {"nvidia.com/mig-1g.10gb": 1}}}]))
    m.ok("apply", "-f", "-", stdin=pod("large", "true", gpus=8))
    for name in ("busy-0", "busy-1", "slice"):
        m.wait_phase(name, "Running")


@contextlib.contextmanager
def stranger(m):
    """A program on gpu 0 that nobody submitted: it holds 4000 MiB."""
    env = dict(os.environ, METE_GPUSIM_MACHINE=os.path.join(m.data, "node", "gpusim", "machine.bin"), METE_GPUSIM_ALL="1",
               LD_LIBRARY_PATH=os.path.join(BUILD, "gpusim"))
    with subprocess.Popen([os.path.join(m.dir, "cuda_smoke"), "hold", "4000"], env=env, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as p:
        try:
            equal(p.stdout.readline(), b"holding\n")
            yield
        finally:
            p.kill()


def check_queries(port):
    panels = []
    for path in DASHBOARDS:
        with open(path) as f:
            panels += [p for p in json.load(f)["panels"] if "targets" in p]
    check(len(DASHBOARDS) > 3 and len(panels) > 50, DASHBOARDS, len(panels))
    for panel in panels:
        for target in panel["targets"]:
            query = target["expr"].replace("$node", ".*").replace("$queue", ".*").replace("$price", "2").replace("$kwh", "0.3")
            wait(lambda: ask(port, query), f"{panel['title']}: {query}", 120)
    for query in NVIDIA:
        wait(lambda: ask(port, query), query, 120)


def main():
    check_files()
    with Mete(metrics="127.0.0.1:0") as m:
        watch(m)


def watch(m):
    hook = Hook()
    port, alert_port = free_port(), free_port()
    host, own = address(m)
    node = m.object("nodes")["items"][0]["metadata"]["name"]
    r = m.mete("gpus", "set", f"{node}/7", "--mode", "slices=1g.10gb:7")
    check(r.code == 0, r)
    config = write(os.path.join(m.dir, "prometheus.yaml"), f"""
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{RULES}]
alerting: {{alertmanagers: [{{static_configs: [{{targets: ['127.0.0.1:{alert_port}']}}]}}]}}
scrape_configs: [{{job_name: mete, static_configs: [{{targets: ['{host}:{own}']}}]}}]
""")
    alerts = write(os.path.join(m.dir, "alertmanager.yaml"), f"""
route: {{receiver: hook, group_by: [alertname], group_wait: 1s, group_interval: 1s}}
receivers: [{{name: hook, webhook_configs: [{{url: 'http://127.0.0.1:{hook.port}/'}}]}}]
""")
    load(m)
    check_names(m)
    at = programs()
    with running(os.path.join(at, "prometheus"), "--config.file", config, "--storage.tsdb.path", os.path.join(m.dir, "tsdb"),
                 "--web.listen-address", f"127.0.0.1:{port}"), \
            running(*ALERTMANAGER, os.path.join(at, "prometheus-alertmanager"), "--config.file", alerts, "--storage.path",
                    os.path.join(m.dir, "alerts"), "--cluster.listen-address=", "--web.listen-address", f"127.0.0.1:{alert_port}"):
        wait(lambda: answers(port) and answers(alert_port), "Prometheus and Alertmanager are ready")
        wait(lambda: ask(port, 'up{job="mete"} == 1'), "Mete is scraped")
        equal(len(ask(port, "count by (uuid) (mete_gpu_xid_total)")), 8)
        with stranger(m):
            check_queries(port)
        check_restart(m, port)
        r = execute([os.path.join(BUILD, "gpusim", "gpusim"), "set", os.path.join(m.data, "node", "gpusim", "machine.bin"), "0", "xid=79"])
        check(r.code == 0, r)
        wait(lambda: any(a["labels"]["alertname"] == "MeteGpuXid" and a["labels"]["gpu"] == "0" for a in hook.alerts),
             "the XID is at the webhook", 120)


def check_restart(m, port):
    """After a restart of the server, and of the node, no counter of a driver is lower than before."""
    before = {labels["uuid"]: value for labels, value in page(m).of("mete_gpu_energy_joules_total")}
    for role in ("server", "node"):
        killed = m.child(role)
        os.kill(killed, 9)
        wait(lambda: m.child(role) not in (None, killed), f"another {role} runs")
        wait(lambda: len(page(m).of("mete_gpu_energy_joules_total")) >= len(before), f"the gpus are back after the {role}'s end")
        for labels, value in page(m).of("mete_gpu_energy_joules_total"):
            check(value >= before.get(labels["uuid"], 0), role, labels, value, before)
    equal(ask(port, "sum(resets(mete_gpu_energy_joules_total[10m]))")[0]["value"][1], "0")
