"""Failures of other programs, tried on Mete: docs/security.md names the classes and these tests."""

import hashlib
import json
import os
import shutil
import subprocess

from harness import METE, Mete, check, equal, pod, wait
from image_kit import Image, Layer, write
from test_confined import on_terminal
from test_isolation import LINK, TOOLS, bring, bring_tools, manifest, root, run

SHELL = {"Entrypoint": ["/bin/sh", "-c"]}
UP = "../" * 12
AT_ONCE = {"terminationGracePeriodSeconds": 0}

EVIL_LIBRARY = r"""
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void begin(void)
{
    int fd = open("%s/loaded", O_CREAT | O_WRONLY, 0666);
    if (fd >= 0)
        (void)!write(fd, "x", 1);
}
"""


def runtimes():
    return [r for r in ("crun", "runc") if shutil.which(r)]


def digests():
    """Hashes of all programs of the host that start containers."""
    paths = [shutil.which(r) for r in (*runtimes(), "conmon")] + [METE]
    return {path: hashlib.sha256(open(path, "rb").read()).hexdigest() for path in paths}


def ended(m, name):
    """Polls until the container has ended or waits with a message; returns that state."""
    def look():
        states = m.object("pod", name)["status"].get("containerStatuses") or [{}]
        state = states[0].get("state", {})
        return state.get("terminated") or (state.get("waiting", {}).get("message") and state["waiting"])
    return wait(look, f"{name} ended or was refused")


def test_programs_of_the_host_are_not_reached():
    """CVE-2019-5736: the runtime is what /proc/self/exe names while it enters a container."""
    before = digests()
    for runtime in runtimes():
        with Mete(arguments=["--runtime", runtime]) as m:
            bring(m, TOOLS, {"bin/self": LINK + "/proc/self/exe"}, **SHELL)
            watch = """i=0; while [ $i -lt 40 ]; do i=$((i+1)); for p in /proc/[0-9]*; do
                         case "$(readlink $p/exe)" in
                             /bin/busybox|/bin/sh|'') ;;
                             *) (exec 3<>$p/exe) 2>/dev/null && echo opened $p ;;
                         esac; done; sleep 0.05; done; sleep 1000"""
            m.ok("apply", "-f", "-", stdin=manifest("watch", watch, security={"runAsUser": 0}, **AT_ONCE))
            m.wait_phase("watch", "Running")
            for _ in range(8):
                for program in ("/proc/self/exe", "/bin/self"):
                    r = m.mete("exec", "watch", "--", program)
                    check("usage" not in r.out.lower() or "busybox" in r.out.lower(), runtime, r)
            equal(m.ok("logs", "watch"), "", runtime)
            for name, command in (("self", ["/proc/self/exe"]), ("link", ["/bin/self"])):
                m.ok("apply", "-f", "-", stdin=manifest(name, container={"command": command}))
                check("opened" not in str(ended(m, name)))
    equal(digests(), before, "a program of the host was written")


def test_no_directory_of_the_host_leaks():
    """CVE-2024-21626, by the image: its WORKDIR is a descriptor, or a link to one."""
    for runtime in runtimes():
        with Mete(arguments=["--runtime", runtime]) as m:
            names = []
            for fd in (3, 7, 8):
                for how, files, directory in (("fd", {}, f"/proc/self/fd/{fd}"),
                                              ("link", {"w": LINK + f"/proc/self/fd/{fd}"}, "/w")):
                    name = f"{how}{fd}"
                    bring(m, f"evil/{name}:1", files, WorkingDir=directory, **SHELL)
                    m.ok("apply", "-f", "-", stdin=manifest(name, "ls ..; ls ../../..; cat ../../../etc/hostname; ls /proc/self/cwd/..",
                                                            image=f"evil/{name}:1"))
                    names.append(name)
            for name in names:
                state = ended(m, name)
                shown = m.mete("logs", name).out.split()
                check(not {"boot", "usr", "node", "containers"} & set(shown), runtime, name, state, shown)
            bring_tools(m)
            m.ok("apply", "-f", "-", stdin=manifest("stays", "sleep 1000", **AT_ONCE))
            m.wait_phase("stays", "Running")
            r = m.mete("exec", "stays", "--", "/bin/ls", "/proc/self/cwd/..")
            check(not {"boot", "usr", "node"} & set(r.out.split()), r)


def test_mounts_follow_no_link_of_an_image_out():
    """CVE-2021-30465, 2025-31133, 2025-52565, 2025-52881: where a volume or a mask is mounted is a link of the image's."""
    for runtime in runtimes():
        with Mete(arguments=["--runtime", runtime]) as m:
            outside = os.path.join(m.dir, "outside")
            os.mkdir(outside)
            os.chmod(outside, 0o777)
            with open("/proc/sys/kernel/core_pattern") as f:
                before = f.read()
            targets = (
                    ("abs", {"data": LINK + outside}, "/data/made"), ("up", {"data": LINK + UP + outside[1:]}, "/data/made"),
                    ("whole", {"data": LINK + outside}, "/data"), ("proc", {"p": LINK + "proc"}, "/p/sys/kernel"),
                    ("self", {"p": LINK + "/proc/self"}, "/p/attr"), ("root", {"p": LINK + "/proc/1/root" + outside}, "/p/made"),
                    ("sys", {"s": LINK + "sys"}, "/s/fs/cgroup"), ("dev", {"d": LINK + "dev"}, "/d/shm/x"),
                    ("loop", {"l": LINK + "l"}, "/l/x"))
            for name, files, path in targets:
                bring(m, f"evil/{name}:1", files, **SHELL)
                m.ok("apply", "-f", "-", stdin=manifest(
                    name, f"echo x > {path}/mark; ls {path}; (echo h > /proc/sysrq-trigger) 2>/dev/null && echo wrote; "
                    "echo end",
                    image=f"evil/{name}:1", volumes=[{"name": "v", "emptyDir": {}}], security={"runAsUser": 0},
                    container={"volumeMounts": [{"name": "v", "mountPath": path}]}))
            for name, _, _ in targets:
                state = ended(m, name)
                check("wrote" not in m.mete("logs", name).out.split(), runtime, name, state)
                equal(os.listdir(outside), [], runtime, name, state)
            with open("/proc/sys/kernel/core_pattern") as f:
                equal(f.read(), before)
            for name, files in (("log", {"t": LINK + outside + "/x"}), ("logup", {"t": LINK + UP + outside[1:] + "/x"})):
                bring(m, f"evil/{name}:1", files, **SHELL)
                m.ok("apply", "-f", "-", stdin=manifest(name, "echo words > /t; exit 1", image=f"evil/{name}:1",
                                                        security={"runAsUser": 0}, container={"terminationMessagePath": "/t"}))
                state = ended(m, name)
                equal(os.listdir(outside), [], runtime, name, state)


def test_an_image_has_no_say_in_hooks():
    """CVE-2025-23266, 2025-23267, 2024-0132: LD_PRELOAD, ld.so files and NVIDIA variables of an image, with a gpu and without."""
    for runtime in runtimes():
        with Mete(arguments=["--runtime", runtime]) as m:
            outside = os.path.join(m.dir, "outside")
            os.mkdir(outside)
            os.chmod(outside, 0o777)
            library = os.path.join(m.dir, "evil.so")
            subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], check=True, text=True,
                           input=EVIL_LIBRARY % outside)
            with open(library, "rb") as f:
                evil = (f.read(), 0o755)
            bring(m, "evil/hooks:1", {
                "evil.so": evil, "etc/ld.so.preload": "/evil.so\n", "etc/ld.so.conf": "/\n", "etc/ld.so.cache": LINK + outside + "/cache",
                "usr/lib/x86_64-linux-gnu/libcuda.so.1": evil, "usr/lib64": LINK + outside,
                "etc/nvidia-container-runtime/config.toml": "[nvidia-container-cli]\nroot = \"/\"\n"},
                WorkingDir="/", Env=["PATH=/bin", "LD_PRELOAD=/proc/self/cwd/evil.so", "LD_AUDIT=./evil.so", "LD_LIBRARY_PATH=/",
                                     "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=all", "NVIDIA_REQUIRE_CUDA=cuda>=1",
                                     "NVIDIA_DISABLE_REQUIRE=1", "NVIDIA_CONFIG_ONLY=1"],
                Volumes={"/proc": {}, "/dev": {}}, **SHELL)
            for name, limits in (("without", {}), ("with", {"nvidia.com/gpu": 1})):
                m.ok("apply", "-f", "-", stdin=manifest(name, "env; ls /dev; sleep 1000", image="evil/hooks:1", limits=limits, **AT_ONCE))
                m.wait_phase(name, "Running")
                bundle = os.path.join(m.data, "node", "pods", m.object("pod", name)["metadata"]["uid"], "main-0")
                with open(os.path.join(bundle, "config.json")) as f:
                    config = json.load(f)
                check("hooks" not in config, config.get("hooks"))
                env = [v for v in config["process"]["env"] if v.startswith(("LD_PRELOAD", "LD_AUDIT", "NVIDIA_"))]
                annotations = m.object("pod", name)["metadata"]["annotations"]
                given = json.loads(annotations.get("mete.dev/devices", "{}")).get("containers", {}).get("main", [])
                equal(env, ["NVIDIA_VISIBLE_DEVICES=" + ",".join(given)] if given else [])
                out = wait(lambda: "pts" in (text := m.ok("logs", name)) and text, "it looked").splitlines()
                equal(len([line for line in out if line in {f"nvidia{i}" for i in range(8)}]), len(limits), out)
                m.ok("exec", name, "--", "/bin/true")
                equal(os.listdir(outside), [], runtime, name)


def test_layers_bring_no_rights():
    """Extended attributes that the kernel or overlayfs would believe, and whiteouts through links."""
    with Mete(gpus="none") as m:
        attributes = {"SCHILY.xattr.security.capability": "\x01\x00\x00\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
                      "SCHILY.xattr.trusted.overlay.opaque": "y", "SCHILY.xattr.trusted.overlay.redirect": "/etc",
                      "SCHILY.xattr.trusted.overlay.metacopy": "", "SCHILY.xattr.user.overlay.opaque": "y",
                      "SCHILY.xattr.system.posix_acl_access": "x", "SCHILY.xattr.security.selinux": "x"}
        layer = Layer().add("given", b"x", mode=0o755, pax_headers=attributes).dir("folder", pax_headers=attributes)
        image = Image([root({}), layer.octets()], {"Env": ["PATH=/bin"], **SHELL})
        r = m.mete("image", "import", write(os.path.join(m.dir, "x.tar"), image.docker("evil/x:1")))
        found = []
        for where, folders, files in os.walk(os.path.join(m.data, "node", "images", "layers")):
            for name in folders + files:
                path = os.path.join(where, name)
                found += [(path, a) for a in os.listxattr(path, follow_symlinks=False) if a != "security.selinux"]
        equal({a for _, a in found} - {"security.capability"}, set(), found, r)  # which counts inside the user namespace only
        equal(r.code, 0, r)
        equal(run(m, "x", "cat /given; ls -a /folder | wc -l", image="evil/x:1"), ["x2"])
        hidden = Layer().symlink("out", "/etc").text("out/.wh.passwd", "")
        image = Image([root({}), hidden.octets()], {"Env": ["PATH=/bin"], **SHELL})
        r = m.mete("image", "import", write(os.path.join(m.dir, "y.tar"), image.docker("evil/y:1")))
        check(r.code == 1 and "leads out" in r.err, r)
        check(os.path.exists("/etc/passwd"))


def test_text_of_others_steers_no_terminal():
    """GO-2022-0983: last words, names of images, commands, variables and what the node says of them."""
    evil = "\x1b]0;owned\x07\x1b[2J\u009b31m\u202ered"
    with Mete(gpus="none") as m:
        body = json.loads(pod("words", "", containers=[{
            "name": "main", "image": "host", "command": ["sh", "-c", "printf '\\033[2J\\033]0;owned\\007words' >/dev/termination-log; exit 3",
                                                         evil], "env": [{"name": "E", "value": evil}]}]))
        body["metadata"]["annotations"] = {"note": evil}
        m.ok("apply", "-f", "-", stdin=json.dumps(body))
        m.ok("apply", "-f", "-", stdin=pod("image", "", containers=[{"name": "main", "image": "x/" + evil + ":1"}]))
        m.ok("apply", "-f", "-", stdin=pod("program", "", containers=[{"name": "main", "image": "host", "command": [evil]}]))
        for name in ("words", "image", "program"):
            ended(m, name)
        wait(lambda: "InvalidImageName" in m.ok("get", "events") or "InspectFailed" in m.ok("get", "events"), "an event tells of it")
        m.ok("create", "configmap", "c", "--from-literal=k=" + evil)
        for words in (("ps", "-a"), ("events",), ("show", "words"), ("show", "image"), ("show", "program"), ("why", "image"),
                      ("why", "program"), ("logs", "image"), ("get", "pods"), ("get", "events"), ("get", "pod", evil),
                      ("logs", "-n", evil, "words"), ("exec", "words", "--", evil), ("image", "ls"), ("image", "pull", evil),
                      ("get", "pods", "-o", "wide"), ("top", "pods"), ("describe", "pod", "words")):
            shown = on_terminal(m, *words).replace(b"\r\x1b[K", b"")  # our own: a line of progress is written anew
            check(not set(shown) & (set(range(32)) - set(b"\t\r\n")), words, shown)
            check(b"\xc2\x9b" not in shown and b"\xe2\x80\xae" not in shown, words, shown)
