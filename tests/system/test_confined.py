"""The reach of a container of the image `host`, as root and as another user, and the rights to ask for more."""

import contextlib
import json
import os
import pty
import pwd
import select
import subprocess

from harness import METE, Mete, check, equal, execute_as, pod, wait

UID, GID, NAME = 5, 60, "games"  # of Debian's passwd: no login


class Person:
    """A user without privileges, at the unix socket."""

    def __init__(self, m):
        self.m = m

    def mete(self, *words, stdin=None):
        return execute_as(UID, GID, [METE, *words], stdin=stdin, env={**self.m.env, "HOME": "/nonexistent"})

    def run(self, script):
        r = self.mete("run", "--", "sh", "-c", script)
        equal(r.code, 0, r)
        return r.out.splitlines()


def run(m, name, script, **options):
    m.ok("apply", "-f", "-", stdin=pod(name, script, **options))
    m.wait_phase(name, ("Succeeded", "Failed"))
    return m.ok("logs", name).splitlines()


def test_a_container_has_what_it_was_given_and_no_more():
    with Mete() as m:
        root_is_confined(m)
        a_uid_without_an_entry_has_no_group(m)
        somebody_is_confined(m, Person(m))
        volumes_lead_nowhere_else(m)
        the_deepest_directory_goes(m)
        limits_hold(m)


def a_uid_without_an_entry_has_no_group(m):
    """The user's number is another group's: 27 is sudo's."""
    uid = next(u for u in range(50000, 60000) if not known(u))
    equal(run(m, "unknown", "id -u; id -g; id -G", securityContext={"runAsUser": uid}), [str(uid), "65534", "65534"])
    m.ok("delete", "pod", "unknown")


def known(uid):
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        return None


def test_somebody_may_use_his_namespace_as_himself():
    with Mete() as m:
        who = Person(m)
        m.ok("create", "namespace", "others")
        m.ok("apply", "-f", "-", stdin=pod("theirs", "sleep 1000", ns="others"))
        equal(who.run("id -u; id -g; id -G"), [str(UID), str(GID), str(GID)])
        for words in (("get", "pods", "-n", "others"), ("get", "pods", "-A"), ("logs", "theirs", "-n", "others"),
                      ("delete", "pod", "theirs", "-n", "others", "-y"), ("get", "secrets", "-n", "others")):
            r = who.mete(*words)
            check(r.code == 4 and f'User "{NAME}" cannot' in r.err, words, r)
        for member, value in (("runAsUser", 0), ("runAsUser", UID + 1), ("runAsGroup", 0), ("supplementalGroups", [0])):
            for of_pod in (True, False):
                body = json.loads(pod("taller", "id"))
                (body["spec"] if of_pod else body["spec"]["containers"][0])["securityContext"] = {member: value}
                r = who.mete("apply", "-f", "-", stdin=json.dumps(body))
                check(r.code != 0 and member in r.err, member, r)
                is_known = of_pod or member != "supplementalGroups"
                equal(r.code, 4 if is_known else 1, member, r)
        r = who.mete("apply", "-f", "-", stdin=pod("placed", "id", nodeName="vm"))
        check(r.code == 4 and "spec.nodeName" in r.err, r)
        for name in ("taller", "placed"):
            equal(who.mete("get", "pod", name).code, 3, "it is not there")
        only_views(m, who)
        wait(lambda: m.phase("theirs", "others") == "Running", "theirs is as it was")


def only_views(m, who):
    """users.yaml can also reduce rights."""
    m.ok("create", "secret", "generic", "key", "--from-literal=a=b")
    equal(who.mete("get", "secret", "key").code, 0)
    path = os.path.join(m.data, "server", "users.yaml")
    with open(path, "w") as f:
        f.write(f"users:\n- name: {NAME}\n  uid: {UID}\n  roles: [{{role: view, namespace: default}}]\n")
    os.chmod(path, 0o644)
    wait(lambda: who.mete("get", "secret", "key").code == 4, "a viewer reads no secrets")
    equal(who.mete("get", "pods").code, 0)
    r = who.mete("run", "--", "true")
    check(r.code in (4, 125) and "cannot create" in r.err, r)


def root_is_confined(m):
    out = run(m, "root", f"""
ls /proc/self/fd | wc -l                  # 0, 1, 2 and the list's own
pwd -P
set -- /proc/[0-9]*; echo $#              # sh looks itself: there is nobody else
grep -E '^Cap(Eff|Bnd)' /proc/self/status
ls {m.data}/node {m.data}/server {m.data}/kubeconfig 2>&1 | grep -c 'No such file'
ls /proc/1/root{m.data} | wc -l
umount {m.data} 2>/dev/null && echo unmounted
unshare -Urm umount {m.data} 2>/dev/null && echo unmounted
mount -t tmpfs none /mnt 2>/dev/null && echo mounted
for f in /sys/fs/cgroup/*/tasks; do (echo $$ > $f) 2>/dev/null && echo wrote $f; done
for d in 'c 1 11' 'c 10 237' 'b 254 0' 'b 8 0' 'c 384 0' 'c 195 0' 'c 195 255'; do
    mknod /dev/shm/d $d 2>/dev/null && (exec 3<>/dev/shm/d) 2>/dev/null && echo opened $d
    rm -f /dev/shm/d
done
ls /dev | grep -c nvidia
for f in /proc/sysrq-trigger /proc/sys/kernel/core_pattern /sys/kernel/uevent_helper; do
    (echo h > $f) 2>/dev/null && echo wrote $f
done
cat /proc/kcore 2>/dev/null | head -c 1 | wc -c
echo end""")
    equal(out[:3], ["4", "/", "1"], out)
    equal(out[3:5], ["CapEff:\t00000000a80425fb", "CapBnd:\t00000000a80425fb"], "Docker's default set")
    equal(out[5:], ["3", "0", "0", "0", "end"], out)


def somebody_is_confined(m, who):
    out = who.run(f"""
grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs)' /proc/self/status | tr -d '[:space:]'; echo
ls /proc/self/fd | wc -l
set -- /proc/[0-9]*; echo $#
ls {m.data} /proc/1/root{m.data} >/dev/null 2>&1 && echo listed
cat {m.data}/kubeconfig {m.data}/server/* 2>/dev/null
curl -s --max-time 5 --unix-socket {m.data}/mete.sock http://m/version
for w in 'umount {m.data}' 'ls {m.data}' 'mount --bind /proc/1/root{m.data} /mnt'; do
    unshare -Urm $w >/dev/null 2>&1 && echo did $w
done
unshare -UrmC sh -c 'mount -t cgroup -o memory none /mnt && echo -1 > /mnt/memory.limit_in_bytes' 2>/dev/null && echo raised
for f in /sys/fs/cgroup/*/tasks; do (echo $$ > $f) 2>/dev/null && echo wrote $f; done
mknod /dev/shm/d c 1 3 2>/dev/null && echo made
cat /etc/shadow 2>/dev/null | wc -c
su -c id </dev/null 2>/dev/null
echo end""")
    equal(out, ["CapInh:0000000000000000CapPrm:0000000000000000CapEff:0000000000000000CapBnd:0000000000000000"
                "CapAmb:0000000000000000NoNewPrivs:1", "4", "1", "0", "end"])


def delete_whole(m, name):
    here = os.path.join(m.data, "node", "pods", m.object("pod", name)["metadata"]["uid"])
    check(os.path.isdir(here), here)
    m.ok("delete", "pod", name)
    wait(lambda: not os.path.exists(here), f"the directories of {name} are gone")


def volumes_lead_nowhere_else(m):
    """Links that one container leaves in a volume are followed by the next one in its own root, never by the node."""
    mark = os.path.join(m.dir, "mark")
    with open(mark, "w") as f:
        f.write("untouched\n")
    mounts = [{"name": "v", "mountPath": "/scratch"}]
    m.ok("create", "configmap", "c", "--from-literal=k=changed")
    c = [{"name": "main", "image": "host", "command": ["sh", "-c", "ls -l /scratch; cat /files/a/b"],
          "volumeMounts": mounts + [{"name": "f", "mountPath": "/files"}]}]
    first = {"name": "first", "image": "host", "command": ["sh", "-c", f"""
cd /scratch && ln -s {m.data}/node data && ln -s / root && ln -s ../../../../.. up && ln -s {mark} mark
mkdir -p d && mv d volumes"""], "volumeMounts": mounts}
    m.ok("apply", "-f", "-", stdin=pod("links", "", containers=c, initContainers=[first], volumes=[
        {"name": "v", "emptyDir": {}}, {"name": "f", "configMap": {"name": "c", "items": [{"key": "k", "path": "a/b"}]}}]))
    equal(m.wait_phase("links", ("Succeeded", "Failed")), "Succeeded")
    check("changed" in m.ok("logs", "links"), m.ok("logs", "links"))
    delete_whole(m, "links")
    with open(mark) as f:
        equal(f.read(), "untouched\n")
    check(os.path.exists(os.path.join(m.data, "node", "token")), "removing the volume removed what a link named")
    for name, target in (("file", "/etc/hostname"), ("nowhere", "/etc/not/there")):
        c = [{"name": "main", "image": "host", "command": ["true"], "volumeMounts": [{"name": "v", "mountPath": target}]}]
        m.ok("apply", "-f", "-", stdin=pod(name, "", containers=c, volumes=[{"name": "v", "emptyDir": {}}]))
        wait(lambda: target in m.ok("get", "pod", name, "-o", "jsonpath={.status.containerStatuses[*].state.waiting.message}"),
             f"{target} is refused by its name")


def the_deepest_directory_goes(m):
    """5,000 levels, deeper than any path, any stack and any number of descriptors."""
    dig = "import os; os.chdir('/scratch')\nfor _ in range(5000): os.mkdir('d' * 10); os.chdir('d' * 10)"
    c = [{"name": "main", "image": "host", "command": ["python3", "-c", dig],
          "volumeMounts": [{"name": "v", "mountPath": "/scratch"}]}]
    m.ok("apply", "-f", "-", stdin=pod("deep", "", containers=c, volumes=[{"name": "v", "emptyDir": {}}]))
    equal(m.wait_phase("deep", ("Succeeded", "Failed")), "Succeeded")
    delete_whole(m, "deep")


def limits_hold(m):
    limits = {"limits": {"memory": "64Mi", "cpu": "500m"}}
    files = "/sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu.max"
    c = [{"name": "main", "image": "host", "resources": limits,
          "command": ["sh", "-c", f"cat {files} 2>/dev/null; exec tail /dev/zero"]}]
    m.ok("apply", "-f", "-", stdin=pod("hungry", "", containers=c))
    equal(m.wait_phase("hungry", ("Succeeded", "Failed")), "Failed")
    ended = m.object("pod", "hungry")["status"]["containerStatuses"][0]["state"]["terminated"]
    equal((ended["reason"], ended["exitCode"]), ("OOMKilled", 137))
    check(m.ok("logs", "hungry").startswith("50000"), m.ok("logs", "hungry"))
    out = run(m, "forks", """
cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null
python3 -c '
import os, time
n = 0
try:
    while n < 20000:
        if os.fork() == 0:
            time.sleep(1000)
        n += 1
except OSError:
    pass
print(n < 4096)'""")
    equal(out, ["4096", "True"])


def on_terminal(m, *words):
    """The output of `mete` on a terminal."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(METE, [METE, *words], {**m.env, "TERM": "xterm"})
    got = b""
    with contextlib.suppress(OSError):  # EIO: it ended
        while select.select([fd], [], [], 20)[0] and (piece := os.read(fd, 65536)):
            got += piece
    os.close(fd)
    os.waitpid(pid, 0)
    return got


def test_a_job_cannot_write_to_the_readers_terminal():
    evil = r"\033]0;owned\007\033[2J\033[31m\033]52;c;aGk=\007\302\233Kred\342\200\256txt\rover\b\b\n"
    with Mete() as m:
        body = json.loads(pod("evil", f"printf '{evil}'; printf '\\033[2Jlast words' >&2; exit 3"))
        body["metadata"]["annotations"] = {"note": "\x1b[2Jx"}
        m.ok("apply", "-f", "-", stdin=json.dumps(body))
        m.wait_phase("evil", "Failed")
        for words in (("logs", "evil"), ("ps", "-a"), ("show", "evil"), ("get", "pods"), ("events",), ("why", "evil")):
            shown = on_terminal(m, *words)
            check(shown.strip(), words)
            check(not set(shown) & (set(range(32)) - set(b"\t\r\n")), words, shown)
            check(b"\xc2\x9b" not in shown and b"\xe2\x80\xae" not in shown, words, shown)
        check(b"red" in on_terminal(m, "logs", "evil"))
        raw = subprocess.run([METE, "logs", "evil"], env=m.env, stdout=subprocess.PIPE, timeout=30, check=True).stdout
        check(raw.startswith(b"\x1b]0;owned\x07"), "a pipe gets what was written", raw)
        check("\x1b" not in m.mete("logs", "\x1b[2Jx").err.split("try:")[0], "an error shows what was typed")
