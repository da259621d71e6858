"""Volumes, each seen from inside the container: contents, permissions, and attempts to leave the volume."""

import contextlib
import json
import os
import shutil
import signal
import socket
import threading

import image_kit
from harness import METE, Mete, check, equal, execute_as, pod, wait

UID, GID = 5, 60  # of Debian's passwd: no login


class Person:
    """A user without privileges, at the unix socket."""

    def __init__(self, m):
        self.m = m

    def mete(self, *words, stdin=None):
        return execute_as(UID, GID, [METE, *words], stdin=stdin, env={**self.m.env, "HOME": "/nonexistent"})

    def apply(self, manifest):
        return self.mete("apply", "-f", "-", stdin=manifest)


def manifest(name, script, volumes, mounts, env=(), **spec):
    body = json.loads(pod(name, script, volumes=volumes, **spec))
    body["spec"]["containers"][0].update(volumeMounts=mounts, env=list(env))
    return json.dumps(body)


def mount(name, path, **more):
    return {"name": name, "mountPath": path, **more}


def host_path(name, path, type_=None):
    return {"name": name, "hostPath": {"path": path, **({"type": type_} if type_ else {})}}


def run(m, name, script, volumes, mounts, **options):
    m.ok("apply", "-f", "-", stdin=manifest(name, script, volumes, mounts, **options))
    m.wait_phase(name, ("Succeeded", "Failed"))
    return m.ok("logs", name).splitlines()


def waiting(m, name):
    """Reason and message of the first container while it waits."""
    statuses = m.object("pod", name).get("status", {}).get("containerStatuses", [])
    state = statuses[0]["state"].get("waiting", {}) if statuses else {}
    return (state.get("reason"), state.get("message")) if state.get("message") else None


@contextlib.contextmanager
def roots(*arguments):
    """A Mete that offers DIR/share and, only to read, DIR/sets."""
    m = Mete(gpus="none")
    share, sets = os.path.join(m.dir, "share"), os.path.join(m.dir, "sets")
    os.mkdir(share)
    os.chmod(share, 0o1777)
    os.mkdir(sets)
    with open(os.path.join(sets, "one"), "w") as f:
        f.write("set one\n")
    m.arguments += ["--host-path-root", share, "--host-path-root", sets + ":ro", *arguments]
    with m:
        yield m, share, sets


# ---- hostPath ----

def test_host_paths_are_where_they_may_be():
    with roots() as (m, share, sets):
        who = Person(m)
        somebody_is_kept_in_the_roots(m, who, share, sets)
        somebody_uses_the_roots(m, who, share, sets)
        types_are_checked(m, share)
        an_administrator_goes_anywhere_but_behind_the_mask(m)


def somebody_is_kept_in_the_roots(m, who, share, sets):
    for path, why in (("/etc", "is for administrators"), (share + "x", "is for administrators"),
                      (m.data, "is for administrators"), ("/", "is for administrators")):
        r = who.apply(manifest("out", "id", [host_path("h", path)], [mount("h", "/h")]))
        check(r.code == 4 and why in r.err and share in r.err and sets + " (read-only)" in r.err, r)
    for path, why in ((share + "/../x", "must not contain '..'"), ("/proc/1", "its own /proc"), ("x", "absolute path")):
        r = who.apply(manifest("out", "id", [host_path("h", path)], [mount("h", "/h")]))
        check(r.code == 1 and why in r.err, path, r)
    r = who.apply(manifest("out", "id", [host_path("h", sets)], [mount("h", "/h")]))
    check(r.code == 4 and "readOnly: true" in r.err, r)
    r = who.apply(manifest("out", "id", [host_path("h", "/dev/null", "CharDevice")], [mount("h", "/h")]))
    check(r.code == 1 and "gets devices from its resources only" in r.err, r)
    body = json.loads(manifest("out", "id", [host_path("h", "/etc")], [mount("h", "/h")]))
    body["metadata"]["annotations"] = {"mete.dev/host-paths": "any"}
    r = who.apply(json.dumps(body))
    check(r.code != 0 and "mete.dev/" in r.err, r)


def somebody_uses_the_roots(m, who, share, sets):
    """A symlink in a root is not followed, wherever it leads; a directory is made as the user."""
    os.symlink("/etc", os.path.join(share, "etc"))
    os.symlink(".", os.path.join(share, "self"))
    os.mkdir(os.path.join(share, "closed"), 0o700)
    os.mkdir(os.path.join(share, "closed", "inner"), 0o755)
    volumes = [host_path("s", share + "/mine/deep", "DirectoryOrCreate"), host_path("r", sets)]
    mounts = [mount("s", "/s"), mount("r", "/r", readOnly=True)]
    r = who.apply(manifest("user", "id -u > /s/id; cat /r/one; (echo x > /r/x) 2>&1; grep -E ' /(s|r) ' /proc/self/mountinfo"
                           " | cut -d' ' -f5,6", volumes, mounts))
    equal(r.code, 0, r)
    m.wait_phase("user", ("Succeeded", "Failed"))
    out = m.ok("logs", "user").splitlines()
    equal(out[0], "set one")
    check("Read-only file system" in out[1], out)
    check(any(line.startswith("/s rw,nosuid,nodev") for line in out), out)
    check(any(line.startswith("/r ro,nosuid,nodev") for line in out), out)
    made = os.stat(os.path.join(share, "mine", "deep"))
    equal((made.st_uid, made.st_gid, made.st_mode & 0o777), (UID, GID, 0o755))
    with open(os.path.join(share, "mine/deep/id")) as f:
        equal(f.read(), f"{UID}\n")
    for path, why in (("etc", "has a symlink in it"), ("self/mine", "has a symlink in it"),
                      ("closed/inner", "permission denied"), ("closed/new", "permission denied"),
                      ("none", "no such file")):
        kind = "DirectoryOrCreate" if path.endswith("new") else None
        name = "no-" + path.replace("/", "-")
        equal(who.apply(manifest(name, "id", [host_path("h", f"{share}/{path}", kind)], [mount("h", "/h")])).code, 0)
        reason, message = wait(lambda n=name: waiting(m, n), name + " waits with a reason")
        check(why in message.lower() and path in message, reason, message)
        m.ok("delete", "pod", name)
    check(not os.path.exists(os.path.join(share, "closed/new")))


def types_are_checked(m, share):
    with open(os.path.join(share, "file"), "w") as f:
        f.write("content\n")
    m.ok("apply", "-f", "-", stdin=manifest("as-dir", "id", [host_path("h", share + "/file", "Directory")],
                                            [mount("h", "/h")]))
    reason, message = wait(lambda: waiting(m, "as-dir"), "a file is no directory")
    equal(reason, "CreateContainerError")
    check("hostPath type check failed" in message and "is not a directory" in message, message)
    m.ok("delete", "pod", "as-dir")
    out = run(m, "files", "cat /one; echo more >> /two; ls -l /two | cut -c1-10",
              [host_path("a", share + "/file", "File"), host_path("b", share + "/new", "FileOrCreate")],
              [mount("a", "/one", readOnly=True), mount("b", "/two")])
    equal(out, ["content", "-rw-r--r--"])
    with open(os.path.join(share, "new")) as f:
        equal(f.read(), "more\n")
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as s:
        s.bind(os.path.join(share, "sock"))
    equal(run(m, "socket", "test -S /sock && echo socket", [host_path("h", share + "/sock", "Socket")],
              [mount("h", "/sock")]), ["socket"])


def an_administrator_goes_anywhere_but_behind_the_mask(m):
    equal(run(m, "admin", "cat /h/hostname | wc -l; test -e /h/passwd && echo there", [host_path("h", "/etc")],
              [mount("h", "/h")]), ["1", "there"])
    annotations = m.object("pod", "admin")["metadata"]["annotations"]
    equal(annotations["mete.dev/host-paths"], "any")
    m.ok("apply", "-f", "-", stdin=manifest("masked", "id", [host_path("h", m.data + "/server")], [mount("h", "/h")]))
    _, message = wait(lambda: waiting(m, "masked"), "the data directory is hidden")
    check("is hidden from containers" in message, message)
    m.ok("delete", "pod", "masked")
    equal(run(m, "around", f"ls -A /h{m.data} | wc -l; ls /h/tmp >/dev/null && echo listed", [host_path("h", "/")],
              [mount("h", "/h")]), ["0", "listed"])


# ---- what changes ----

FOLLOW = """
last=; while :; do
    now=$(for f in /c/a /s/k /p/a /p/k /d/labels /d/note /one; do cat $f 2>/dev/null || printf none; printf '|'; done)
    [ "$now" = "$last" ] || echo "$now"
    last=$now; sleep 0.05
done"""


def follower(name):
    volumes = [
        {"name": "c", "configMap": {"name": "c"}}, {"name": "s", "secret": {"secretName": "s"}},
        {"name": "p", "projected": {"sources": [{"configMap": {"name": "c"}},
                                                {"secret": {"name": "s", "optional": True}}]}},
        {"name": "d", "downwardAPI": {"items": [
            {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels['app']"}},
            {"path": "note", "fieldRef": {"fieldPath": "metadata.annotations['note']"}}]}}]
    mounts = [mount(n, "/" + n) for n in "cspd"] + [mount("c", "/one", subPath="a")]
    body = json.loads(manifest(name, FOLLOW, volumes, mounts, terminationGracePeriodSeconds=0))
    body["metadata"].update(labels={"app": "x"}, annotations={"note": "y"})
    return json.dumps(body)


def shows(m, name, *want):
    line = "".join(w + "|" for w in want)
    wait(lambda: m.kubectl("logs", name).out.splitlines()[-1:] == [line], f"{name} shows {line}", 30)


def patch(m, kind, name, **data):
    m.ok("patch", kind, name, "--type=merge", "-p", json.dumps(data))


def restart_node(m):
    before = m.child("node")
    os.kill(before, signal.SIGKILL)
    wait(lambda: m.child("node") not in (None, before), "another node")


def test_volumes_follow_what_they_show():
    with Mete(gpus="none") as m, m.unharmed():
        m.ok("create", "configmap", "c", "--from-literal=a=1")
        m.ok("create", "secret", "generic", "s", "--from-literal=k=one")
        m.ok("apply", "-f", "-", stdin=follower("f"))
        shows(m, "f", "1", "one", "1", "one", "x", "y", "1")
        patch(m, "configmap", "c", data={"a": "2"})
        shows(m, "f", "2", "one", "2", "one", "x", "y", "1")  # a subPath stays as it was
        patch(m, "secret", "s", stringData={"k": "two"})
        shows(m, "f", "2", "two", "2", "two", "x", "y", "1")
        m.ok("label", "pod", "f", "app=z", "--overwrite")
        m.ok("annotate", "pod", "f", "note=w", "--overwrite")
        shows(m, "f", "2", "two", "2", "two", "z", "w", "1")
        restart_node(m)
        patch(m, "secret", "s", stringData={"k": "three"})
        patch(m, "configmap", "c", data={"a": "3"})
        shows(m, "f", "3", "three", "3", "three", "z", "w", "1")
        what_is_required_and_goes_stays_as_it_was(m)
        what_is_immutable_is_shown(m)


def what_is_required_and_goes_stays_as_it_was(m):
    m.ok("delete", "secret", "s")
    wait(lambda: "Secret 's' not found" in m.ok("get", "events"), "an Event says that the secret is gone")
    patch(m, "configmap", "c", data={"a": "4"})
    m.ok("create", "secret", "generic", "s", "--from-literal=k=four")
    shows(m, "f", "4", "four", "4", "four", "z", "w", "1")


def what_is_immutable_is_shown(m):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "i"}, "data": {"a": "1"}, "immutable": True}
    m.ok("apply", "-f", "-", stdin=json.dumps(body))
    out = run(m, "immutable", "cat /c/a; echo; ls -A /c | grep -c '^\\.\\.'; readlink /c/a; (echo x > /c/x) 2>&1",
              [{"name": "c", "configMap": {"name": "i"}}], [mount("c", "/c")])
    equal(out[:3], ["1", "2", "..data/a"], out)
    check("Read-only file system" in out[3], out)


def test_memory_outlives_the_node():
    """A container that ends while the node is away finds its emptyDir in memory as it left it."""
    script = """
if [ -e /m/mark ]; then cat /m/mark; stat -f -c %T /m; exec sleep 1000; fi
echo kept > /m/mark; echo ready; while [ ! -e /go/now ]; do sleep 0.05; done; exit 1"""
    with roots() as (m, share, _):
        os.mkdir(share + "/go")
        m.ok("apply", "-f", "-", stdin=manifest(
            "p", script, [{"name": "m", "emptyDir": {"medium": "Memory"}}, host_path("go", share + "/go")],
            [mount("m", "/m"), mount("go", "/go")], restartPolicy="Always", terminationGracePeriodSeconds=0))
        wait(lambda: m.kubectl("logs", "p").out == "ready\n", "the first attempt wrote its mark")
        restart_node(m)
        with open(share + "/go/now", "w"):
            pass
        wait(lambda: m.kubectl("logs", "p").out == "kept\ntmpfs\n", "the second attempt found the mark", 30)


# ---- emptyDir ----

def test_empty_directories_are_as_asked():
    empty = {"name": "e", "emptyDir": {}}
    with Mete(gpus="none") as m, m.unharmed():
        out = run(m, "mode", "stat -c %a:%u:%g /e; mkdir /e/d; stat -c %a:%g /e/d; umask", [empty], [mount("e", "/e")],
                  securityContext={"fsGroup": 4321, "runAsUser": UID})
        equal(out[:2], ["2777:0:4321", "2755:4321"], out)
        out = run(m, "size", "df -B1 --output=size /e | tail -1 | tr -d ' '; head -c 2M /dev/zero > /e/x 2>&1 || echo full",
                  [{"name": "e", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}], [mount("e", "/e")])
        equal(out[0], str(1 << 20), out)
        equal(out[-1], "full", out)
        m.ok("apply", "-f", "-", stdin=manifest(
            "big", "head -c 8M /dev/zero > /e/x; sync; exec sleep 1000",
            [{"name": "e", "emptyDir": {"sizeLimit": "1Mi"}}], [mount("e", "/e")], terminationGracePeriodSeconds=0))
        m.wait_phase("big", "Failed", deadline_s=60)
        status = m.object("pod", "big")["status"]
        equal((status["reason"], status["message"]),
              ("Evicted", 'Usage of EmptyDir volume "e" exceeds the limit "1Mi". '))
        for volume, why in (({"name": "e", "emptyDir": {"medium": "HugePages"}}, "Unsupported value"),
                            ({"name": "e", "persistentVolumeClaim": {"claimName": "x"}, "emptyDir": {}}, "more than 1 volume type"),
                            ({"name": "e", "nfs": {"server": "x", "path": "/"}}, "volumes[0].nfs"),
                            ({"name": "e", "emptyDir": {}, "hostPath": {"path": "/srv"}}, "more than 1 volume type")):
            r = m.kubectl("apply", "-f", "-", stdin=manifest("no", "id", [volume], [mount("e", "/e")]))
            check(r.code != 0 and why in r.err, why, r)
        for more, why in (({"mountPropagation": "Bidirectional"}, "mountPropagation"),
                          ({"recursiveReadOnly": "Enabled"}, "recursiveReadOnly"),
                          ({"subPath": "../x"}, "must not contain '..'"), ({"subPath": "/x"}, "relative path"),
                          ({"subPath": "a", "subPathExpr": "b"}, "mutually exclusive")):
            r = m.kubectl("apply", "-f", "-", stdin=manifest("no", "id", [empty], [mount("e", "/e", **more)]))
            check(r.code != 0 and why in r.err, why, r)


# ---- subPath ----

def test_sub_paths_stay_in_their_volume():
    with roots() as (m, share, _):
        sub_paths_are_made_and_shown(m)
        sub_paths_of_links_lead_nowhere_else(m, share)
        sub_paths_win_no_race(m, share)


def sub_paths_are_made_and_shown(m):
    empty = {"name": "e", "emptyDir": {}}
    out = run(m, "made", "echo x > /a/f; cat /all/deep/er/f; ls /all; stat -c %a:%u /all/deep; cat /all/p-made/g",
              [empty], [mount("e", "/a", subPath="deep/er"), mount("e", "/all"),
                        mount("e", "/b", subPathExpr="p-$(POD)")],
              env=[{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
              securityContext={"runAsUser": UID})
    equal(out[:4], ["x", "deep", "p-made", "777:0"], out)
    m.ok("apply", "-f", "-", stdin=manifest("unknown", "id", [empty], [mount("e", "/b", subPathExpr="$(NONE)")]))
    _, message = wait(lambda: waiting(m, "unknown"), "an unknown variable")
    check("there is no variable NONE" in message, message)
    m.ok("delete", "pod", "unknown")


def sub_paths_of_links_lead_nowhere_else(m, share):
    links = {"abs": "/etc", "up": "../../../../../../../../etc", "in": "real", "loop": "loop", "proc": "/proc/self/root"}
    os.makedirs(share + "/v/real")
    for name, to in links.items():
        os.symlink(to, f"{share}/v/{name}")
    volume = [host_path("v", share + "/v")]
    equal(run(m, "link", "ls -A /s | wc -l", volume, [mount("v", "/s", subPath="in")]), ["0"])
    for name in ("abs", "up", "loop", "proc", "abs/passwd", "proc/etc"):
        pod_name = "link-" + name.replace("/", "-")
        m.ok("apply", "-f", "-", stdin=manifest(pod_name, "ls /s", volume, [mount("v", "/s", subPath=name)]))
        reason, message = wait(lambda n=pod_name: waiting(m, n), pod_name + " waits with a reason")
        check("leads out" in message or "symlink" in message, name, message)
        m.ok("delete", "pod", pod_name)


def sub_paths_win_no_race(m, share):
    """A directory and a link to the node's own /etc change places as fast as they can while pods start."""
    v = share + "/race"
    os.mkdir(v)
    os.chmod(v, 0o777)
    os.mkdir(v + "/d")
    os.symlink("/etc", v + "/l")
    stop = threading.Event()
    who = Person(m)  # an administrator's links are followed

    def swap():
        import ctypes
        libc = ctypes.CDLL(None)
        while not stop.is_set():
            libc.renameat2(-100, (v + "/d").encode(), -100, (v + "/l").encode(), 2)  # RENAME_EXCHANGE

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for i in range(30):
            equal(who.apply(manifest(
                f"race-{i}", "ls -A /s; ls -A /h", [host_path("v", v), host_path("d", v + "/d")],
                [mount("v", "/s", subPath="d"), mount("d", "/h")], terminationGracePeriodSeconds=0)).code, 0)
        for i in range(30):
            m.wait_phase(f"race-{i}", "Succeeded")  # some try again and again until they meet the directory
            equal(m.ok("logs", f"race-{i}"), "", f"race-{i} saw what is not in its volume")
    finally:
        stop.set()
        swapper.join()


# ---- images ----

def in_image(body):
    tree = json.loads(body)
    for c in tree["spec"]["containers"]:
        c.update(image="t/box:1", imagePullPolicy="Never")
    return json.dumps(tree)


def test_volumes_belong_to_the_users_of_an_image():
    for runtime in ("crun", "runc"):
        if shutil.which(runtime):
            volumes_belong_to_the_users_of_an_image(runtime)


def volumes_belong_to_the_users_of_an_image(runtime):
    with roots("--runtime", runtime) as (m, share, sets):
        path = image_kit.write(os.path.join(m.dir, "box.tar"), image_kit.Image([image_kit.base_layer()]).layout())
        equal(m.mete("image", "import", path, "t/box:1").code, 0)
        m.ok("create", "configmap", "c", "--from-literal=a=1")
        m.ok("create", "secret", "generic", "s", "--from-literal=k=one")
        what_we_make_belongs_to_the_pod(m)
        host_paths_of_others_are_the_worlds(m, share, sets)
        host_paths_of_administrators_are_shifted(m, share)
        memory_is_written_again_after_a_restart(m)


def image_run(m, apply, name, script, volumes, mounts, **options):
    r = apply(in_image(manifest(name, script, volumes, mounts, **options)))
    equal(r.code, 0, r)
    m.wait_phase(name, ("Succeeded", "Failed"))
    return m.ok("logs", name).splitlines()


def admin(m):
    return lambda body: m.kubectl("apply", "-f", "-", stdin=body)


def what_we_make_belongs_to_the_pod(m):
    volumes = [{"name": "e", "emptyDir": {}}, {"name": "m", "emptyDir": {"medium": "Memory"}},
               {"name": "c", "configMap": {"name": "c"}}, {"name": "s", "secret": {"secretName": "s",
                                                                                 "defaultMode": 0o400}}]
    mounts = [mount(n, "/" + n) for n in "emcs"] + [mount("e", "/sub", subPath="x/y"),
                                                   mount("c", "/data/one", subPath="a")]
    script = ("stat -c %a:%u:%g /e /m /c /s /s/..data/k /sub; cat /c/a /s/k /data/one; echo; touch /e/f /m/f /sub/f;"
              " stat -c %u:%g /e/f; ls /e/x/y; cat /proc/self/uid_map | tr -s ' '")
    out = image_run(m, admin(m), "owned", script, volumes, mounts)
    equal(out[:6], ["777:0:0", "777:0:0", "755:0:0", "755:0:0", "400:0:0", "777:0:0"], out)
    equal(out[6:9], ["1one1", "0:0", "f"], out)
    check(int(out[9].split()[1]) > 0x70000000, out)
    out = image_run(m, admin(m), "grouped", "stat -c %a:%u:%g /e /s /s/..data/k; cat /s/k; touch /e/f; stat -c %u:%g /e/f",
                    volumes, mounts, securityContext={"runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 2000})
    equal(out, ["2777:0:2000", "2755:0:2000", "440:0:2000", "one1000:2000"], out)


def host_paths_of_others_are_the_worlds(m, share, sets):
    """Below a host root, the container of a user's image reaches only files open to all, as `nobody`."""
    who = Person(m)
    os.makedirs(share + "/private/open")
    os.chmod(share + "/private", 0o700)
    with open(share + "/key", "w") as f:
        f.write("key\n")
    os.chmod(share + "/key", 0o600)
    r = who.apply(in_image(manifest("make", "id", [host_path("h", share + "/x", "DirectoryOrCreate")],
                                    [mount("h", "/h")])))
    check(r.code == 4 and "own nothing on the node" in r.err, r)
    out = image_run(m, who.apply, "world", "cat /r/one; cat /h/key 2>&1; touch /h/by-pod && stat -c %u /h/key; id -u",
                    [host_path("h", share), host_path("r", sets)],
                    [mount("h", "/h"), mount("r", "/r", readOnly=True)])
    equal([out[0], out[-2], out[-1]], ["set one", "65534", "0"], out)
    check("Permission denied" in out[1], out)
    check(os.stat(share + "/by-pod").st_uid > 0x70000000)
    equal(who.apply(in_image(manifest("past", "id", [host_path("h", share + "/private/open")],
                                      [mount("h", "/h")]))).code, 0)
    _, message = wait(lambda: waiting(m, "past"), "nobody goes through a closed directory")
    check("permission denied" in message.lower(), message)
    m.ok("delete", "pod", "past")


def host_paths_of_administrators_are_shifted(m, share):
    out = image_run(m, admin(m), "shifted", "stat -c %u:%g /h/key; cat /h/key; mkdir /h/made; stat -c %u /h/made",
                    [host_path("h", share)], [mount("h", "/h")])
    equal(out, ["0:0", "key", "0"], out)
    equal(os.stat(share + "/made").st_uid, 0)


def memory_is_written_again_after_a_restart(m):
    script = "while sleep 0.05; do cat /s/k; echo; done"
    equal(admin(m)(in_image(manifest("follow", script, [{"name": "s", "secret": {"secretName": "s"}}],
                                     [mount("s", "/s")], terminationGracePeriodSeconds=0))).code, 0)
    last = lambda: m.kubectl("logs", "follow").out.splitlines()[-1:]
    wait(lambda: last() == ["one"], "the first secret")
    restart_node(m)
    patch(m, "secret", "s", stringData={"k": "two"})
    wait(lambda: last() == ["two"], "the second secret")
