"""The command line: the choice of the server, error texts, and the libraries that a command loads."""

import csv
import json
import os
import re
import socket
import tempfile

from harness import METE, Mete, check, equal, execute, pod, wait

# What a command that talks over the unix socket maps: docs/adr/0010-libraries-at-first-use.md.
LIBRARIES = {"jansson", "event_core-2.1", "yaml-0", "crypto", "ssl", "event_openssl-2.1", "wslay", "z", "sqlite3", "m", "c", "dl"}
# Of a build with sanitizers.
SANITIZERS = {"asan", "ubsan", "tsan", "gcc_s", "stdc++", "rt", "pthread", "resolv", "unwind"}


def test_client_words():
    with Mete() as m:
        a_kubeconfig_names_the_server(m)
        a_command_loads_what_it_needs(m)
        sizes_are_for_people(m)
        why_tells_what_keeps_a_bound_pod(m)


def a_kubeconfig_names_the_server(m):
    kubeconfig = os.path.join(m.data, "kubeconfig")
    nowhere = os.path.join(m.dir, "nowhere")
    bare = {k: v for k, v in m.env.items() if k not in ("METE_DATA", "KUBECONFIG")}
    node = m.mete("nodes", "-o", "name").out
    check(node.startswith("node/"), node)

    def ask(*words, **variables):
        return execute([METE, "nodes", "-o", "name", *words], env={**bare, **variables})

    equal(ask(KUBECONFIG=kubeconfig).out, node)
    equal(ask(KUBECONFIG=f"{nowhere}:{kubeconfig}").out, node, "absent files are passed over")
    equal(ask("--kubeconfig", kubeconfig, "--context", "mete", KUBECONFIG=nowhere).out, node)
    equal(ask(KUBECONFIG=nowhere, METE_DATA=m.data).out, node, "METE_DATA goes before it")
    equal(ask("--data", m.data, KUBECONFIG=nowhere).out, node, "a flag goes before it")
    r = ask(KUBECONFIG=nowhere)
    check(r.code == 3 and nowhere in r.err and "  try: correct $KUBECONFIG" in r.err, r)
    r = ask("--context", "other", KUBECONFIG=kubeconfig)
    check(r.code == 1 and f'$KUBECONFIG: {kubeconfig}: no context "other"' in r.err, r)
    r = ask("--context", "other")
    check(r.code == 2 and "--kubeconfig FILE or $KUBECONFIG" in r.err, r)


def why_tells_what_keeps_a_bound_pod(m):
    absent = "127.0.0.1:1/team/absent:1"

    def put(name, policy, **container):
        main = {"name": "main", "image": absent, "imagePullPolicy": policy, **container}
        m.ok("create", "-f", "-", stdin=pod(name, "", containers=[main], restartPolicy="Always"))

    def told(name, code, text):
        r = wait(lambda: (r := m.mete("why", name)) and text in r.out and r, f"why {name}")
        check(f"  {code}: container main: " in r.out or code == "CrashLoop", r)
        reason = json.loads(m.mete("why", name, "-o", "json").out)["status"]["reason"]
        equal((reason["code"], reason["class"], reason["since"]), (code, "yours", None))
        return r.out

    put("unpulled", "IfNotPresent")
    out = told("unpulled", "ImagePullFailed", "; next try at 20")
    check(f'Back-off pulling image "{absent}": ErrImagePull: ' in out and f"  Image: {absent}, on node " in out, out)
    check("mete image pull" in out, out)
    put("never", "Never")
    check("mete image import" in told("never", "ImageNotFound", "is not present with pull policy of Never"), "advice")
    put("unnamed", "IfNotPresent", image="Not/An Image")
    told("unnamed", "InvalidImageName", "Failed to apply")
    put("unset", "IfNotPresent", image="host", env=[{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "no", "key": "k"}}}])
    told("unset", "ConfigNotFound", "env A: ConfigMap 'no' not found")
    put("loops", "IfNotPresent", image="host", command=["sh", "-c", "exit 3"])
    out = told("loops", "CrashLoop", "  CrashLoop: container main ended with exit code 3 and was restarted ")
    check("mete logs JOB --previous" in out, out)
    check("back-off" in next(line for line in m.mete("ps").out.splitlines() if " loops " in line), "ps tells it, too")
    m.ok("delete", "pods", "--all", "--now")


def sizes_are_for_people(m):
    node = json.loads(m.mete("nodes", "-o", "json").out)["items"][0]
    kib = int(node["status"]["allocatable"]["memory"].removesuffix("Ki"))
    equal(int(next(csv.DictReader(m.mete("nodes", "-o", "csv").out.splitlines()))["MEMORY"]), kib * 1024)
    check(f" {kib / 1024 ** 2:.1f}Gi " in m.mete("nodes").out, m.mete("nodes").out)
    gpu = json.loads(m.mete("gpus", "-o", "jsonl").out.splitlines()[0])
    equal(gpu["spec"]["memoryBytes"], 85520809984)
    check(" 79.6Gi " in m.mete("gpus").out, m.mete("gpus").out)


def a_command_loads_what_it_needs(m):
    """LD_DEBUG names each library that the dynamic linker opens, at the start or later."""
    for words in (("ps",), ("why",), ("gpus", "-o", "json"), ("run", "--", "true"), ("logs", "--help")):
        r = m.mete(*words, env={"LD_DEBUG": "files"})
        equal(r.code, 0, r)
        opened = set(re.findall(r"calling init: \S*/lib([^/]+?)\.so", r.err))
        check("jansson" in opened, r)
        equal(opened - LIBRARIES - SANITIZERS, set(), words)
    r = m.mete("ps", "--kubeconfig", os.path.join(m.data, "kubeconfig"), env={"LD_DEBUG": "files"})
    check(r.code == 0 and "/libcurl.so" in r.err, "TLS is libcurl's")


def test_try_lines_fit_their_cause():
    with tempfile.TemporaryDirectory(prefix="mete-test-") as at:
        sealed = os.path.join(at, "sealed")
        os.mkdir(sealed)
        mount = f"mount -t tmpfs -o ro none {sealed} && exec {METE} up --gpus none --listen 127.0.0.1:0 --data {sealed}/data"
        r = execute(["unshare", "-m", "sh", "-c", mount])
        check(r.code == 4 and "read-only file system" in r.err and "  try: findmnt -T PATH" in r.err, r)
        r = execute([METE, "ps", "--data", at])
        check(r.code == 6 and "no such file" in r.err and "  try: sudo mete up" in r.err, r)
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(os.path.join(at, "mete.sock"))  # without listening
            r = execute([METE, "ps", "--data", at])
        check(r.code == 6 and "connection refused" in r.err and "mete doctor" in r.err, r)
        os.chmod(at, 0o700)
        r = execute(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", METE, "ps", "--data", at])
        check(r.code == 6 and "permission denied" in r.err and "  try: sudo mete ..." in r.err, r)


def test_a_certificate_of_another_server_is_told():
    with Mete(gpus="none") as m, Mete(gpus="none") as other:
        with open(os.path.join(m.data, "kubeconfig")) as f:
            ours = f.read()
        with open(os.path.join(other.data, "kubeconfig")) as f:
            theirs = f.read()
        server = re.search(r"server: .*", ours)[0]
        mixed = os.path.join(m.dir, "mixed")
        with open(mixed, "w") as f:
            f.write(re.sub(r"server: .*", server, theirs))
        r = m.mete("ps", "--kubeconfig", mixed)
        check(r.code == 6 and "certificate" in r.err and "  try: a kubeconfig of this server" in r.err, r)


def test_what_the_pages_of_slices_and_queues_say():
    """docs/slices.md and docs/queues.md: contradicting requests are refused; a pod without a queue has no label of one."""
    with Mete(gpus="emulated:1xH100") as m:
        for limits, cause in (({"nvidia.com/gpumem-percentage": "50"}, "limits[nvidia.com/gpumem-percentage]: Forbidden: is not implemented by mete yet"),
                              ({"nvidia.com/gpu": "1", "nvidia.com/gpucores": "50"}, "limits[nvidia.com/gpumem]: Required value: a share by gpucores needs its memory"),
                              ({"nvidia.com/gpumem": "1024", "nvidia.com/gpu.shared": "1"}, "gpumem and gpucores are about nvidia.com/gpu only")):
            main = {"name": "main", "image": "host", "command": ["true"], "resources": {"limits": limits}}
            r = m.mete("apply", "-f", "-", stdin=pod("part", "", containers=[main]))
            check(r.code == 1 and cause in r.err, r)
        r = m.mete("run", "--gpus", "1.5", "--", "true")
        check(r.code == 125 and "want a number of GPUs or a part of one" in r.err, r)
        equal(m.object("queues", "default")["spec"]["preemption"], {"within": "LowerPriority", "reclaim": "Never"})
        m.ok("create", "-f", "-", stdin=pod("plain", "true"))
        check("mete.dev/queue" not in m.object("pod", "plain")["metadata"]["labels"], "no label")
        m.ok("label", "namespace", "default", "mete.dev/queue=later")
        m.ok("create", "-f", "-", stdin=pod("labelled", "true"))
        m.ok("label", "namespace", "default", "mete.dev/queue-")
        equal(m.object("pod", "labelled")["metadata"]["labels"]["mete.dev/queue"], "later")
        check("  NoSuchQueue: " in wait(lambda: (r := m.mete("why", "labelled")) and "NoSuchQueue" in r.out and r, "why").out, "why")
