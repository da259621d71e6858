"""The reach and rights of an image's container, by default and on request, and the limits of an image on the node."""

import json
import os
import re
import shutil
import subprocess
import tarfile

from harness import METE, Mete, check, equal, execute_as, pod, wait
from image_kit import BUSYBOX, Image, Layer, write

UID, NAME = 5, "games"  # of Debian's passwd: no login
TOOLS = "test/tools:1"
DEFAULT_CAPS = "00000000a80425fb"
APPLETS = ("cat chmod chown dd echo env grep head hostname id ln ls mkdir mknod mount mv ps pwd readlink rm sh sleep stat "
           "sync tail test touch tr true umount uname unshare wc").split()
LINK, FIFO = "link to ", "fifo"

CALLS = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define TRY(name, call) (errno = 0, printf("%s %s\n", name, (long)(call) < 0 ? strerrorname_np(errno) : "ok"))
static void *run(void *arg) { return arg; }
int main(void)
{
    pthread_t t;
    TRY("unshare", unshare(CLONE_NEWUSER));
    TRY("clone", syscall(SYS_clone, CLONE_NEWUSER | 17, 0, 0, 0, 0));
    TRY("clone3", syscall(SYS_clone3, 0, 0));
    TRY("setns", setns(0, 0));
    TRY("keyctl", syscall(SYS_keyctl, 0, -3));
    TRY("add_key", syscall(SYS_add_key, "user", "a", "b", 1, -3));
    TRY("bpf", syscall(SYS_bpf, 0, 0, 0));
    TRY("perf_event_open", syscall(SYS_perf_event_open, 0, 0, 0, 0, 0));
    TRY("userfaultfd", syscall(SYS_userfaultfd, 0));
    TRY("io_uring_setup", syscall(SYS_io_uring_setup, 1, 0));
    TRY("mount", syscall(SYS_mount, 0, 0, 0, 0, 0));
    TRY("open_by_handle_at", syscall(SYS_open_by_handle_at, 0, 0, 0));
    TRY("kexec_load", syscall(SYS_kexec_load, 0, 0, 0, 0));
    TRY("af_alg", socket(38, SOCK_SEQPACKET, 0));
    TRY("af_vsock", socket(40, SOCK_STREAM, 0));
    TRY("unknown", syscall(999));
    TRY("af_inet", socket(AF_INET, SOCK_STREAM, 0));
    TRY("thread", -pthread_create(&t, 0, run, 0));
    TRY("ptrace", syscall(SYS_ptrace, 0, 0, 0, 0));
    TRY("chroot", chroot("/"));
    return 0;
}
"""
EPERM = ("unshare clone setns keyctl add_key bpf perf_event_open userfaultfd io_uring_setup mount open_by_handle_at "
         "kexec_load").split()

SETUID = r"""
#include <stdio.h>
#include <unistd.h>
int main(void) { printf("%d %d\n", (int)getuid(), (int)geteuid()); return 0; }
"""


def root(files):
    """A layer with busybox and `files`: NAME -> text, (bytes, mode), None (a directory), FIFO or LINK + TARGET."""
    with open(BUSYBOX, "rb") as f:
        whole = {"bin": None, "etc": None, "tmp": None, "bin/busybox": (f.read(), 0o755)}
    whole.update({f"bin/{a}": LINK + "busybox" for a in APPLETS})
    whole["etc/passwd"] = "root:x:0:0:root:/root:/bin/sh\nweb:x:33:34::/var/www:/bin/sh\n"
    whole["etc/group"] = "root:x:0:\nweb:x:34:\nvideo:x:44:web\n"
    if files.get("etc"):
        del whole["etc"], whole["etc/passwd"], whole["etc/group"]
    layer = Layer()
    for name, what in {**whole, **files}.items():
        if what is None:
            layer.dir(name)
        elif isinstance(what, tuple):
            layer.add(name, what[0], mode=what[1])
        elif what == FIFO:
            layer.add(name, type=tarfile.FIFOTYPE)
        elif what.startswith(LINK):
            layer.symlink(name, what[len(LINK):])
        else:
            layer.text(name, what)
    return layer.octets()


def bring(m, name, files=None, **config):
    image = Image([root(files or {})], {"Env": ["PATH=/bin"], **config})
    r = m.mete("image", "import", write(os.path.join(m.dir, "image.tar"), image.docker(name)))
    check(r.code == 0, r)


def compile_static(m, name, source):
    path = os.path.join(m.dir, name)
    done = subprocess.run(["cc", "-static", "-O1", "-x", "c", "-", "-o", path, "-pthread"], input=source, text=True,
                          stderr=subprocess.PIPE, timeout=60)
    equal(done.returncode, 0, done.stderr[-500:])
    with open(path, "rb") as f:
        return f.read()


def bring_tools(m):
    bring(m, TOOLS, {"bin/calls": (compile_static(m, "calls", CALLS), 0o755),
                     "bin/setuid": (compile_static(m, "setuid", SETUID), 0o4755)},
          Entrypoint=["/bin/sh", "-c"], Cmd=["echo the image itself"], User="web", WorkingDir="/made/here",
          Env=["PATH=/bin", "FROM_IMAGE=yes", "LD_PRELOAD=/evil.so", "LD_AUDIT=/evil.so", "NVIDIA_VISIBLE_DEVICES=all",
               "NVIDIA_DRIVER_CAPABILITIES=all", "CUDA_VISIBLE_DEVICES=0,1"])


def manifest(name, script=None, image=TOOLS, limits=None, security=None, container=None, **spec):
    c = {"name": "main", "image": image, "imagePullPolicy": "Never", **(container or {})}
    if script is not None:
        c["args"] = [script]
    if limits:
        c["resources"] = {"limits": limits}
    if security:
        c["securityContext"] = security
    return pod(name, "", containers=[c], **spec)


def run(m, name, script=None, want="Succeeded", **options):
    m.ok("apply", "-f", "-", stdin=manifest(name, script, **options))
    phase = m.wait_phase(name, ("Succeeded", "Failed"))
    out = m.ok("logs", name)
    equal(phase, want, out, m.object("pod", name)["status"])
    return out.splitlines()


def facts(lines):
    return dict(re.split(r":\s*", line, maxsplit=1) for line in lines if re.match(r"\w+:", line))


def waiting(m, name):
    """Polls until the pod's container waits with a message; returns the waiting state."""
    def look():
        states = m.object("pod", name)["status"].get("containerStatuses") or [{}]
        return states[0].get("state", {}).get("waiting", {}).get("message") and states[0]["state"]["waiting"]
    return wait(look, f"{name} waits with a message")


def test_a_container_of_an_image_is_confined():
    with Mete(arguments=["--runtime", "crun"]) as m, m.unharmed():
        a_container_is_confined(m)


def test_a_container_of_an_image_is_confined_by_runc():
    with Mete(arguments=["--runtime", "runc"]) as m, m.unharmed():
        a_container_is_confined(m)
        check(m.object("pod", "who")["status"]["containerStatuses"][0]["containerID"].startswith("runc://"))
        runtimes_change_under_what_runs(m)


def runtimes_change_under_what_runs(m):
    """Containers of runc under a Mete that starts new ones with crun: seen, entered, ended."""
    m.ok("apply", "-f", "-", stdin=manifest("stays", "sleep 1000"))
    m.wait_phase("stays", "Running")
    m.stop()
    m.arguments = ["--runtime", "crun"]
    m.start()
    equal(run(m, "new", "echo new"), ["new"])
    equal(m.phase("stays"), "Running")
    equal(m.ok("exec", "stays", "--", "/bin/echo", "entered"), "entered\n")
    equal(m.object("pod", "stays")["status"]["containerStatuses"][0]["restartCount"], 0)
    m.ok("delete", "pod", "stays", "--grace-period=1")
    equal(m.mete("get", "pod", "stays").code, 3)


def a_container_is_confined(m):
    bring_tools(m)
    null = os.stat("/dev/null")
    the_image_says_who_and_what(m)
    nothing_leaks_in(m)
    rights_are_the_default_ones(m)
    system_calls_are_those_of_the_profile(m)
    the_kernel_is_out_of_reach(m)
    rights_are_as_asked(m)
    root_is_refused_where_it_must_not_be(m)
    pods_have_their_own_users(m)
    only_its_own_gpus(m)
    limits_hold(m)
    now = os.stat("/dev/null")
    equal((now.st_uid, now.st_mode), (null.st_uid, null.st_mode), "the machine's /dev/null changed hands")


def the_image_says_who_and_what(m):
    equal(run(m, "itself"), ["the image itself"])
    out = run(m, "who", "id -u; id -g; id -G; pwd; env", securityContext={"supplementalGroups": [7], "fsGroup": 8})
    equal(out[:2], ["33", "34"])
    equal(sorted(out[2].split()), ["34", "44", "7", "8"], "its own, the image's, and those of the manifest")
    equal(out[3], "/made/here")
    env = dict(line.split("=", 1) for line in out[4:])
    equal({k: env.get(k) for k in ("FROM_IMAGE", "HOME", "PATH")}, {"FROM_IMAGE": "yes", "HOME": "/var/www", "PATH": "/bin"})
    check(not [k for k in env if k.startswith(("LD_", "NVIDIA_", "CUDA_"))], "the image asked for devices", env)
    out = run(m, "strict", "id -G", securityContext={"supplementalGroupsPolicy": "Strict"})
    equal(out, ["34"])
    out = run(m, "asked", "id -u; id -g; cat /etc/hostname /etc/hosts",
              securityContext={"runAsUser": 1234, "runAsGroup": 99},
              hostAliases=[{"ip": "192.0.2.7", "hostnames": ["db", "db.test"]}])
    equal(out[:3], ["1234", "99", os.uname().nodename])
    check("192.0.2.7\tdb\tdb.test" in out, out)
    out = run(m, "command", container={"command": ["/bin/echo", "$(A)", "$(PATH)"], "env": [{"name": "A", "value": "a"}]})
    equal(out, ["a $(PATH)"])
    bring(m, "test/nobody:1", User="missing", Entrypoint=["/bin/sh", "-c"])
    m.ok("apply", "-f", "-", stdin=manifest("missing", "id", image="test/nobody:1"))
    check("user 'missing', which is not in its /etc/passwd" in waiting(m, "missing")["message"], waiting(m, "missing"))
    m.ok("delete", "pod", "missing")


def nothing_leaks_in(m):
    """Descriptors and working directory, in every way that a program starts: run, exec, probe, hook."""
    look = "for f in /proc/self/fd/*; do readlink $f; done; readlink /proc/self/cwd; ls /proc/self/fd | wc -l"
    script = f"exec 4>/tmp/x; ({look}) > /tmp/x.run 4>&-; rm /tmp/x; sleep 1000"
    c = {"name": "main", "image": TOOLS, "imagePullPolicy": "Never", "args": [script], "securityContext": {"runAsUser": 0},
         "readinessProbe": {"exec": {"command": ["/bin/sh", "-c", f"({look}) > /tmp/x.next; mv /tmp/x.next /tmp/x.probe"]}, "periodSeconds": 1},
         "lifecycle": {"postStart": {"exec": {"command": ["/bin/sh", "-c", f"({look}) > /tmp/x.hook"]}}}}
    m.ok("apply", "-f", "-", stdin=pod("leaks", "", containers=[c]))
    wait(lambda: m.phase("leaks") == "Running" and
         any(c["type"] == "Ready" and c["status"] == "True" for c in m.object("pod", "leaks")["status"]["conditions"]),
         "leaks is ready")
    seen = {way: m.ok("exec", "leaks", "--", "/bin/cat", f"/tmp/x.{way}") for way in ("run", "probe", "hook")}
    seen["exec"] = m.ok("exec", "leaks", "--", "/bin/sh", "-c", look)
    for way, text in seen.items():
        lines = text.split()
        equal(lines[-1], "4", way, "0, 1, 2 and the list's own", text)
        equal(lines[-2], "/made/here", way, text)
        for line in lines[:-2]:
            check(line == "/dev/null" or line.startswith(("pipe:", "socket:", "/proc/", "/tmp/x.", "/dev/pts/")), way, text)
    m.ok("delete", "pod", "leaks", "--grace-period=0")


def rights_are_the_default_ones(m):
    status = "cat /proc/self/status"
    user = facts(run(m, "user", status))
    root = facts(run(m, "root", status, security={"runAsUser": 0}))
    for f in (user, root):
        equal([f["CapInh"], f["CapAmb"], f["CapBnd"]], ["0" * 16, "0" * 16, DEFAULT_CAPS])
        equal([f["NoNewPrivs"], f["Seccomp"]], ["1", "2"])
    equal([user["CapEff"], user["CapPrm"]], ["0" * 16] * 2)
    equal([root["CapEff"], root["CapPrm"]], [DEFAULT_CAPS] * 2)
    equal(run(m, "setuid", "setuid"), ["33 33"], "a setuid program gave something")


def system_calls_are_those_of_the_profile(m):
    out = dict(line.split() for line in run(m, "calls", "calls", security={"runAsUser": 0}))
    want = {**{name: "EPERM" for name in EPERM}, "clone3": "ENOSYS", "unknown": "ENOSYS", "af_alg": "EAFNOSUPPORT",
            "af_vsock": "EAFNOSUPPORT", "af_inet": "ok", "thread": "ok", "ptrace": "ok", "chroot": "ok"}
    equal(out, want)
    out = dict(line.split() for line in run(m, "without", "calls", security={
        "runAsUser": 0, "capabilities": {"drop": ["ALL"]}}))
    equal(out["chroot"], "ENOSYS", "no capability, no call")


def the_kernel_is_out_of_reach(m):
    out = run(m, "kernel", """
for f in /proc/sysrq-trigger /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/irq/default_smp_affinity \
    /sys/kernel/uevent_helper /sys/power/state /proc/1/oom_score_adj; do
    (echo -1000 > $f) 2>/dev/null && echo wrote $f
done
for f in /sys/fs/cgroup/*/tasks /sys/fs/cgroup/cgroup.procs; do test -e $f && (echo $$ > $f) 2>/dev/null && echo wrote $f; done
for f in kcore keys timer_list latency_stats sched_debug interrupts; do
    test -e /proc/$f && cat /proc/$f 2>/dev/null | head -c 1 | wc -c | grep -v '^0$'
done
for d in acpi scsi asound; do test -d /proc/$d && ls /proc/$d | grep .; done
ls /sys/firmware /sys/kernel/debug /sys/kernel/tracing /sys/fs/bpf 2>/dev/null | grep -v ^/sys | grep .
mknod /tmp/d c 1 3 2>/dev/null && echo made a device
mknod /tmp/d b 8 0 2>/dev/null && echo made a disk
mount -t tmpfs none /tmp 2>/dev/null && echo mounted
mount -o remount,rw /proc/sys 2>/dev/null && echo remounted
umount /proc/keys 2>/dev/null && echo unmounted
unshare -Urm true 2>/dev/null && echo unshared
hostname other 2>/dev/null && echo renamed
chmod 0 /dev/null 2>/dev/null && echo took the mode of null
chmod 0 /proc/self/fd/0 2>/dev/null && echo took the mode of its input
set -- /proc/[0-9]*; echo $#
ls -d /proc/1/root/*/node 2>/dev/null
echo end""", security={"runAsUser": 0})
    equal(out, ["1", "end"], "sh is the only process; nothing else was said")


def rights_are_as_asked(m):
    equal(run(m, "readonly", "touch /x /tmp/x /etc/hosts 2>/dev/null; touch /dev/shm/x && echo shm",
              security={"runAsUser": 0, "readOnlyRootFilesystem": True}), ["shm"])
    equal(run(m, "written", "touch /x /bin/x && echo yes", security={"runAsUser": 0}), ["yes"])
    equal(run(m, "escalates", "setuid", security={"allowPrivilegeEscalation": True}), ["33 0"])
    status = "cat /proc/self/status"
    f = facts(run(m, "dropped", status, security={"runAsUser": 0, "capabilities": {"drop": ["ALL"], "add": ["KILL"]}}))
    equal([f["CapEff"], f["CapBnd"]], ["0000000000000020"] * 2)
    f = facts(run(m, "added", status, security={"runAsUser": 0, "capabilities": {"add": ["SYS_ADMIN"]}}))
    equal(int(f["CapEff"], 16), int(DEFAULT_CAPS, 16) | 1 << 21)
    out = run(m, "privileged", "cat /proc/self/status; mount -t tmpfs x /tmp && echo mounted; cat /proc/self/uid_map; "
              "mknod /d b 8 0 2>/dev/null && echo made; ls /dev | grep -c nvidia",
              security={"runAsUser": 0, "privileged": True}, want="Failed")
    check("mounted" in out and "made" not in out and out[-1] == "0", out)
    equal(facts(out)["Seccomp"], "0")
    check(not [line for line in out if re.match(r"\s+0\s+0\s", line)], "privileged is the machine's root", out)
    out = run(m, "hostusers", "cat /proc/self/uid_map; id -u", hostUsers=True)
    equal(out[0].split(), ["0", "0", "4294967295"])
    equal(out[1], "33")
    out = run(m, "unconfined", "cat /proc/self/status", securityContext={"seccompProfile": {"type": "Unconfined"}})
    equal(facts(out)["Seccomp"], "0")
    equal(run(m, "sysctl", "cat /proc/sys/kernel/shm_rmid_forced", securityContext={
        "sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]}), ["1"])


def root_is_refused_where_it_must_not_be(m):
    bring(m, "test/number:1", User="44:44", Entrypoint=["/bin/sh", "-c"])
    bring(m, "test/root:1", Entrypoint=["/bin/sh", "-c"])
    equal(run(m, "number", "id -u", image="test/number:1", securityContext={"runAsNonRoot": True}), ["44"])
    for name, image, security, why in (
            ("asroot", "test/number:1", {"runAsNonRoot": True, "runAsUser": 0}, "container's runAsUser breaks non-root policy"),
            ("isroot", "test/root:1", {"runAsNonRoot": True}, "container has runAsNonRoot and image will run as root"),
            ("named", TOOLS, {"runAsNonRoot": True}, "container has runAsNonRoot and image has non-numeric user (web)")):
        m.ok("apply", "-f", "-", stdin=manifest(name, "id", image=image, securityContext=security))
        state = waiting(m, name)
        equal(state["reason"], "CreateContainerConfigError")
        check(state["message"].startswith(why), state)
        m.ok("delete", "pod", name)


def pods_have_their_own_users(m):
    bases = []
    for name in ("one", "two"):
        m.ok("apply", "-f", "-", stdin=manifest(name, "cat /proc/self/uid_map; touch /mine; ls -ln /mine; sleep 1000",
                                                security={"runAsUser": 0}))
        out = wait(lambda: (lines := m.mete("logs", name).out.splitlines()) and len(lines) > 1 and lines, f"{name} runs")
        inside, outside, count = out[0].split()
        equal((inside, count), ("0", "65536"))
        check(out[1].split()[2:4] == ["0", "0"], out)
        bases.append(int(outside))
        uid = m.object("pod", name)["metadata"]["uid"]
        here = os.path.join(m.data, "node", "pods", uid)
        roots = os.stat(os.path.join(here, "roots"))
        equal((roots.st_uid, roots.st_mode & 0o777), (bases[-1], 0o700), "nobody else comes through")
        equal(os.readlink(os.path.join(here, "userns")), str(bases[-1]))
        for part in ("volumes", "etc"):
            equal(os.stat(os.path.join(here, part)).st_mode & 0o077, 0, part)
    check(bases[0] != bases[1], bases)
    m.ok("delete", "pod", "one", "two", "--grace-period=0")


def only_its_own_gpus(m):
    out = run(m, "gpu", "ls /dev | grep '^nvidia[0-9]'; for f in /dev/nvidia*; do cat $f; done; env | grep NVIDIA",
              limits={"nvidia.com/gpu": 1})
    gpus = [line for line in out if re.fullmatch(r"nvidia\d+", line)]
    equal(len(gpus), 1, out)
    opened = [line for line in out if "cat:" in line]
    check(opened and all("No such device" in line for line in opened), "allowed by the cgroup, and emulated", out)
    given = json.loads(m.object("pod", "gpu")["metadata"]["annotations"]["mete.dev/devices"])["containers"]["main"]
    check("NVIDIA_VISIBLE_DEVICES=" + ",".join(given) in out, out, given)
    out = run(m, "nogpu", "ls /dev | grep -c nvidia; true", container={"env": [
        {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]})
    equal(out, ["0"])


def limits_hold(m):
    run(m, "hungry", "exec tail /dev/zero", limits={"memory": "32Mi"}, want="Failed")
    ended = m.object("pod", "hungry")["status"]["containerStatuses"][0]["state"]["terminated"]
    equal((ended["reason"], ended["exitCode"]), ("OOMKilled", 137))
    out = run(m, "quota", "cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu.max /sys/fs/cgroup/pids/pids.max "
              "/sys/fs/cgroup/pids.max 2>/dev/null; true", limits={"cpu": "250m"})
    check(out[0].startswith("25000") and out[1] == "4096", out)
    m.ok("apply", "-f", "-", stdin=manifest("fills", "dd if=/dev/zero of=/tmp/big bs=1M count=24; sync; sleep 1000",
                                            limits={"ephemeral-storage": "8Mi"}, security={"runAsUser": 0}))
    volume = {"volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "8Mi"}}]}
    m.ok("apply", "-f", "-", stdin=manifest(
        "spills", "dd if=/dev/zero of=/scratch/big bs=1M count=24; sync; sleep 1000", security={"runAsUser": 0},
        container={"volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}]}, **volume))
    for name, why in (("fills", "Pod ephemeral local storage usage exceeds the total limit of containers 8Mi. "),
                      ("spills", 'Usage of EmptyDir volume "scratch" exceeds the limit "8Mi". ')):
        equal(m.wait_phase(name, ("Succeeded", "Failed")), "Failed")
        status = m.object("pod", name)["status"]
        equal((status.get("reason"), status.get("message")), ("Evicted", why))
        wait(lambda: "Evicted" in m.ok("get", "events"), f"an event tells of {name}")


def test_rights_that_weaken_the_walls_are_for_administrators():
    with Mete() as m:
        bring_tools(m)
        def apply(text):
            return execute_as(UID, UID, [METE, "apply", "-f", "-"], stdin=text, env={**m.env, "HOME": "/nonexistent"})

        for name, options, why in (
                ("a", {"security": {"privileged": True}}, "securityContext.privileged is for administrators"),
                ("b", {"hostUsers": True}, "spec.hostUsers true is for administrators"),
                ("c", {"securityContext": {"seccompProfile": {"type": "Unconfined"}}}, "Unconfined is for administrators"),
                ("d", {"security": {"seccompProfile": {"type": "Unconfined"}}}, "Unconfined is for administrators"),
                ("e", {"security": {"capabilities": {"add": ["SYS_ADMIN"]}}}, "capabilities.add SYS_ADMIN is for administrators"),
                ("f", {"security": {"capabilities": {"add": ["ALL"]}}}, "capabilities.add ALL is for administrators")):
            r = apply(manifest(name, "id", **options))
            equal(r.code, 4, name, r)
            check(why in r.err, name, r)
            job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
                   "spec": {"template": {"spec": json.loads(manifest(name, "id", **options))["spec"]}}}
            r = apply(json.dumps(job))
            equal(r.code, 4, "by a Job", name, r)
        for name, options, why in (
                ("g", {"security": {"procMount": "Unmasked"}}, "procMount"),
                ("h", {"security": {"seLinuxOptions": {"type": "x"}}}, "seLinuxOptions"),
                ("i", {"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}, "appArmorProfile"),
                ("j", {"securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "x"}}}, "Localhost"),
                ("k", {"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}}, "kernel.msgmax"),
                ("l", {"securityContext": {"sysctls": [{"name": "net.ipv4.ip_forward", "value": "1"}]}}, "node's network"),
                ("m", {"hostPID": True}, "hostPID"), ("n", {"hostIPC": True}, "hostIPC"),
                ("o", {"security": {"capabilities": {"add": ["nonsense"]}}}, "name of a Linux capability"),
                ("p", {"securityContext": {"runAsUser": 70000}}, "between 0 and 65535"),
                ("q", {"security": {"privileged": True, "allowPrivilegeEscalation": False}}, "cannot set")):
            r = m.mete("apply", "-f", "-", stdin=manifest(name, "id", **options))
            check(r.code != 0 and why in r.err, name, r)
        r = apply(manifest("allowed", "id -u; cat /proc/self/status", security={
            "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}, "runAsUser": 0}))
        equal(r.code, 0, r)
        equal(m.wait_phase("allowed", ("Succeeded", "Failed")), "Succeeded")
        out = m.ok("logs", "allowed").splitlines()
        equal((out[0], facts(out)["CapEff"]), ("0", "0000000000000400"), "root inside, nobody outside")


def test_an_image_leads_the_node_nowhere():
    """Links where the runtime and the node put mounts, or read: followed inside the root, or refused; never outside."""
    for runtime in ("crun", "runc"):
        if shutil.which(runtime):
            an_image_leads_nowhere(runtime)


def an_image_leads_nowhere(runtime):
    with Mete(arguments=["--runtime", runtime]) as m, m.unharmed():
        outside = os.path.join(m.dir, "outside")
        os.mkdir(outside, 0o777)
        os.chmod(outside, 0o777)
        up = "../" * 12 + outside.lstrip("/")
        entrypoint = {"Entrypoint": ["/bin/sh", "-c"]}

        def attempt(name, files, script="id -u; echo end", **options):
            bring(m, f"evil/{name}:1", files, **{**entrypoint, **options})
            m.ok("apply", "-f", "-", stdin=manifest(name, script, image=f"evil/{name}:1"))

            def over():
                states = m.object("pod", name)["status"].get("containerStatuses") or [{}]
                state = states[0].get("state", {})
                return state.get("terminated") or (state.get("waiting", {}).get("message") and state["waiting"])
            return wait(over, f"{name} ran or was refused")

        for name, files in (
                ("dev", {"dev": LINK + up}), ("devabs", {"dev": LINK + outside}),
                ("proc", {"proc": LINK + up}), ("sys", {"sys": LINK + up}),
                ("null", {"dev/null": LINK + "../" * 12 + "proc/sysrq-trigger"}),
                ("console", {"dev/console": LINK + up + "/console", "dev/ptmx": LINK + up + "/ptmx"}),
                ("pts", {"dev/pts": LINK + up}), ("shm", {"dev/shm": LINK + up}),
                ("hosts", {"etc/hosts": LINK + up + "/hosts", "etc/resolv.conf": LINK + outside + "/resolv"}),
                ("etc", {"etc": LINK + up})):
            state = attempt(name, files)
            if name in ("dev", "devabs", "proc", "sys"):
                check(" of the image is not a directory" in state.get("message", ""), state)
            equal(os.listdir(outside), [], f"{name}: something was made outside")
        for name, target in (("passwd", "/etc/shadow"), ("passwdup", "../" * 12 + "etc/passwd")):
            state = attempt(name, {"etc/passwd": LINK + target}, User="daemon")
            check("which is not in its /etc/passwd" in state.get("message", "") or
                  "too many levels of symbolic links" in state.get("message", ""), "the machine's own was read", state)
        for name, files in (("fifo", {"etc/passwd": FIFO}), ("folder", {"etc/passwd": None})):
            state = attempt(name, files, User="web")
            check("is not a file" in state.get("message", ""), state)
        state = attempt("endless", {"etc/passwd": "x" * (2 << 20)}, User="web")
        check("is over 1048576 bytes" in state.get("message", ""), state)
        state = attempt("cwd", {"w": LINK + up}, script="echo x > made; pwd", WorkingDir="/w/below")
        equal(os.listdir(outside), [], state)
        bring(m, TOOLS, **entrypoint)
        for fd in range(3, 24):  # CVE-2024-21626: a directory of the host that the runtime left open
            m.ok("apply", "-f", "-", stdin=manifest(f"fd{fd}", "ls ..; ls /proc/self/cwd/../..",
                                                    container={"workingDir": f"/proc/self/fd/{fd}"}))
        for fd in range(3, 24):
            m.wait_phase(f"fd{fd}", ("Succeeded", "Failed"))
            shown = m.mete("logs", f"fd{fd}").out.split()
            check("boot" not in shown and "usr" not in shown and "node" not in shown, fd, shown)
