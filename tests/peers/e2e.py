"""Kubernetes' own conformance tests, built from its module, against a real `mete up` with a pod network: a line a test and a table.

E2E_BIN names a folder that has e2e.test and agnhost already (default: build/e2e, where they are built once, half an hour of two
cores); E2E_FOCUS and E2E_SKIP are expressions for the names of tests, E2E_BESIDE the number of tests that run at a time, E2E_TABLE
the file for the table of failed tests in Markdown. Tests that must run alone run last."""

import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import image_kit
from harness import ROOT, Mete, check, execute
from network_kit import PODS, enter_own_network

MODULE = os.path.join(ROOT, "tests", "peers", "e2e")
BIN = os.environ.get("E2E_BIN", os.path.join(ROOT, "build", "e2e"))
FOCUS = os.environ.get("E2E_FOCUS", r"\[sig-(api-machinery|apps|node|network)\].*\[Conformance\]")
SKIP = os.environ.get("E2E_SKIP", "")
PROGRAMS = {"bash": "bash", "curl": "curl", "bind9-dnsutils": "dig", "netcat-openbsd": "nc",
            "libc-bin": "getent"}  # of Debian's packages
BESIDE = int(os.environ.get("E2E_BESIDE", "4"))
DEADLINE_S = 600
ALONE = re.compile(r"\[Serial\]|\[Disruptive\]")
NNP = '#include <stdio.h>\n#include <unistd.h>\nint main(void) { printf("Effective uid: %d\\n", geteuid()); return 0; }\n'
PASSWD = "root:x:0:0:root:/root:/bin/sh\nuser-defined-in-image:x:1000:1000::/:/bin/sh\n"
GROUP = "root:x:0:\nuser-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n"


def build():
    missing = [p for p in PROGRAMS if execute(["dpkg", "-s", p]).code != 0]
    if missing:
        subprocess.run(["apt-get", "-qq", "install", "-y", "--no-install-recommends", *missing], check=True, stdout=sys.stderr)
    os.makedirs(BIN, exist_ok=True)
    commands = {"agnhost": ["go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o"],
                "e2e.test": ["go", "test", "-c", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o"]}
    packages = {"agnhost": "k8s.io/kubernetes/test/images/agnhost", "e2e.test": "k8s.io/kubernetes/test/e2e"}
    for name, argv in commands.items():
        path = os.path.join(BIN, name)
        if not os.path.exists(path):
            print(f"building {name}", file=sys.stderr)
            subprocess.run([*argv, path, packages[name]], check=True, cwd=MODULE, env={**os.environ, "CGO_ENABLED": "0"}, stdout=sys.stderr)


def source():
    return execute(["go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes"], cwd=MODULE).out.strip()


def octets(path):
    with open(path, "rb") as f:
        return f.read()


def with_libraries(programs):
    """{path in the image: file} of the machine's programs and all that they load."""
    files = {}
    for name in programs:
        path = shutil.which(name)
        files[f"usr/bin/{name}"] = os.path.realpath(path)
        for found in re.findall(r"(/\S+) \(0x", execute(["ldd", path]).out):
            files[found.lstrip("/")] = os.path.realpath(found)
    return files


def layers():
    """The layers of all images: busybox with agnhost, a page for web servers, and the program that tells its user. bash is
    the shell: that of busybox drops variables such as data-1."""
    base = image_kit.Layer().dir(".").dir("bin").dir("etc").dir("tmp", mode=0o1777).dir("uploads", mode=0o1777)
    base.add("bin/busybox", octets(image_kit.BUSYBOX), mode=0o755)
    for applet in execute([image_kit.BUSYBOX, "--list"]).out.split():
        if applet not in ("busybox", "sh", "nc"):
            base.symlink(f"bin/{applet}", "busybox")
    base.symlink("bin/sh", "/usr/bin/bash")
    for path, file in with_libraries(PROGRAMS.values()).items():
        base.add(path, octets(file), mode=0o755)
    base.text("etc/passwd", PASSWD).text("etc/group", GROUP)
    base.add("agnhost", octets(os.path.join(BIN, "agnhost")), mode=0o755).symlink("agnhost-2", "agnhost")
    for name in ("localhost.crt", "localhost.key"):
        base.add(name, octets(os.path.join(source(), "test", "images", "agnhost", "porter", name)))
    for place in ("usr", "usr/share", "usr/share/nginx", "usr/share/nginx/html", "usr/local", "usr/local/bin"):
        base.dir(place)
    base.text("usr/share/nginx/html/index.html", "<html><body><h1>It works!</h1></body></html>\n")
    with tempfile.TemporaryDirectory() as place:
        program = os.path.join(place, "nnp")
        r = execute(["gcc", "-static", "-O1", "-x", "c", "-o", program, "-"], stdin=NNP)
        check(r.code == 0, r)
        base.add("usr/local/bin/nnp", octets(program), mode=0o4755)
    return [base.octets()]


CONFIGS = {
    "agnhost": {"Entrypoint": ["/agnhost"], "Cmd": ["pause"]},
    "busybox": {"Cmd": ["sh"]},
    "glibc-dns-testing": {"Cmd": ["sh"]},
    "nginx": {"Cmd": ["busybox", "httpd", "-f", "-p", "80", "-h", "/usr/share/nginx/html"]},
    "nonewprivs": {"Cmd": ["nnp"]},
    "nonroot": {"Entrypoint": ["/agnhost"], "Cmd": ["pause"], "User": "1234"},
    "pause": {"Entrypoint": ["/agnhost", "pause"]},
}


def import_images(m):
    """Images under the names that the tests use: their programs do the same, in one root file system."""
    r = execute([os.path.join(BIN, "e2e.test"), "--list-images"])
    names = [n for n in r.out.split() if n.rpartition("/")[2].split(":")[0] in CONFIGS and "/" in n]
    check(names, r)
    parts = layers()
    for name in names:
        config = {"Env": ["PATH=/usr/local/bin:/usr/bin:/bin:/"], **CONFIGS[name.rpartition("/")[2].split(":")[0]]}
        path = image_kit.write(os.path.join(m.dir, "image.tar"), image_kit.Image(parts, config, compress=bytes).docker(name))
        r = m.mete("image", "import", path)
        check(r.code == 0, name, r)


def arguments(m):
    return [os.path.join(BIN, "e2e.test"), "--kubeconfig", m.env["KUBECONFIG"], "--provider=skeleton", "--dump-logs-on-failure=false",
            "--ginkgo.no-color", "--ginkgo.timeout=20m", "--allowed-not-ready-nodes=0", "--minStartupPods=0"]


def list_tests(m):
    report = os.path.join(m.dir, "report.json")
    argv = [*arguments(m), "--ginkgo.dry-run", f"--ginkgo.json-report={report}", f"--ginkgo.focus={FOCUS}"]
    if SKIP:
        argv.append(f"--ginkgo.skip={SKIP}")
    r = execute(argv, env=m.env, deadline_s=300)
    check(r.code == 0, r.out[-2000:], r.err[-2000:])
    with open(report, encoding="utf-8") as f:
        specs = json.load(f)[0]["SpecReports"]
    return [" ".join([*s["ContainerHierarchyTexts"], s["LeafNodeText"]]) for s in specs
            if s["State"] == "passed" and s["LeafNodeType"] == "It"]


def why(text):
    """What the first failure in the output says, in a line."""
    found = re.search(r"^  \[FAILED\] (?!in )(.*?)\n  In \[", text, re.S | re.M) or re.search(r"(\[(?:TIMEDOUT|PANICKED|INTERRUPTED)\].*?)\n", text)
    return " ".join((found.group(1) if found else text[-300:]).split())[:400]


def run_one(m, name):
    start = time.monotonic()
    argv = [*arguments(m), f"--ginkgo.focus={re.escape(name)}".replace(r"\ ", " ")]
    try:
        r = execute(argv, env=m.env, deadline_s=DEADLINE_S)
    except subprocess.TimeoutExpired:
        return name, False, f"not within {DEADLINE_S} s", time.monotonic() - start
    passed = r.code == 0 and "1 Passed" in r.out
    if not passed:
        image_kit.write(os.path.join(BIN, "failed." + re.sub(r"\W+", "_", name)[:150]), (r.out + r.err).encode())
    return name, passed, "" if passed else "skipped by itself" if "0 Failed" in r.out else why(r.out), time.monotonic() - start


def tell(result):
    name, passed, cause, seconds = result
    print(f"{'ok' if passed else 'not ok'} {name} ({seconds:.0f} s){': ' + cause if cause else ''}", flush=True)
    return result


def write_table(results):
    sums = collections.Counter((re.match(r"\[(sig-[a-z-]+)\]", name).group(1), passed) for name, passed, _, _ in results)
    lines = ["| | passed | failed |", "| --- | --- | --- |"]
    lines += [f"| {sig} | {sums[sig, True]} | {sums[sig, False]} |" for sig in sorted({s for s, _ in sums})]
    lines += ["", "| failed | what it said |", "| --- | --- |"]
    lines += [f"| {name} | {cause.replace('|', ' ')} |" for name, passed, cause, _ in sorted(results) if not passed]
    image_kit.write(os.environ["E2E_TABLE"], ("\n".join(lines) + "\n").encode())


def main():
    build()
    enter_own_network()
    with Mete("emulated:2xH100", ["--pod-network", PODS]) as m:
        import_images(m)
        names = list_tests(m)
        together = [n for n in names if not ALONE.search(n)]
        print(f"{len(names)} tests", flush=True)
        with concurrent.futures.ThreadPoolExecutor(BESIDE) as pool:
            results = [tell(r.result()) for r in concurrent.futures.as_completed([pool.submit(run_one, m, n) for n in together])]
        results += [tell(run_one(m, n)) for n in names if ALONE.search(n)]
    print(f"{sum(r[1] for r in results)} of {len(results)} passed")
    if os.environ.get("E2E_TABLE"):
        write_table(results)
