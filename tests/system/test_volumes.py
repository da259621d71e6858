"""Volumes, each seen from inside the container: what it shows, what it lets be done, and what leads out of it."""

import contextlib
import json
import os
import socket
import threading

from harness import METE, Mete, check, equal, execute, pod, wait

UID, GID = 5, 60  # of Debian's passwd: nobody logs in as this one


class Person:
    """Somebody without privileges, at the unix socket."""

    def __init__(self, m):
        self.m = m

    def mete(self, *words, stdin=None):
        return execute(["setpriv", f"--reuid={UID}", f"--regid={GID}", "--clear-groups", METE, *words], stdin=stdin,
                       env={**self.m.env, "HOME": "/nonexistent"})

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
    r = who.apply(manifest("user", "id -u > /s/id; cat /r/one; echo x > /r/x; grep -E ' /(s|r) ' /proc/self/mountinfo"
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
