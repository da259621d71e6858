"""mete kube runtime: drop-ins for containerd and CRI-O, members of Docker's file, and the state from before."""

import json
import os
import shutil
import stat
import tempfile

from harness import METE, check, equal, execute

CONTAINERD, OURS = "etc/containerd/config.toml", "etc/containerd/conf.d/99-mete.toml"

VERSION_2 = """# by the administrator
version = 2
imports = [
  "/etc/containerd/conf.d/*.conf", # others
]

[grpc]
  address = "/run/containerd/containerd.sock"

[plugins]
  [plugins."io.containerd.grpc.v1.cri"]
    enable_cdi = false
    sandbox_image = "registry/pause:3.9" # ] not the end
    [plugins.'io.containerd.grpc.v1.cri'.containerd]
      default_runtime_name = "crun"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.crun]
        runtime_type = "io.containerd.runc.v2"
        pod_annotations = [
          "a#b",
          'c]',
        ]
        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.crun.options]
          BinaryName = "/usr/bin/crun"
          SystemdCgroup = true
  [plugins."io.containerd.internal.v1.opt"]
    path = "/opt/containerd"
"""


class Machine:
    def __enter__(self):
        self.root = tempfile.mkdtemp(prefix="mete-test-")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root)

    def path(self, name):
        return os.path.join(self.root, name)

    def write(self, name, text, mode=0o644):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(self.path(name), mode)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            return f.read()

    def files(self):
        return {os.path.relpath(os.path.join(d, f), self.root): (self.read(os.path.relpath(os.path.join(d, f), self.root)))
                for d, _, names in os.walk(self.root) for f in names}

    def mete(self, *words):
        return execute([METE, "kube", "runtime", *words, "--machine-root", self.root])

    def ok(self, *words):
        r = self.mete(*words)
        equal(r.code, 0, r)
        return r.out


def sections(text):
    """{table: {key: value}} of a simple TOML file, names without quotes."""
    found, table = {}, ""
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            table = line.strip("[]").replace('"', "").replace("'", "")
            found[table] = {}
        elif " = " in line and not line.startswith("#"):
            key, value = line.split(" = ", 1)
            found.setdefault(table, {})[key] = value
    return found


def test_containerd_gets_a_drop_in_and_its_file_comes_back():
    with Machine() as m:
        m.write(CONTAINERD, VERSION_2)
        before = m.files()
        check(OURS in m.ok("configure", "containerd", "--nvidia-handler"))
        cri = "plugins.io.containerd.grpc.v1.cri"
        made = sections(m.read(OURS))
        equal(made[""], {"version": "2"})
        equal(made[cri], {"sandbox_image": '"registry/pause:3.9" # ] not the end', "enable_cdi": "true"})
        equal(made[f"{cri}.containerd"], {"default_runtime_name": '"crun"'})
        for handler in ("crun", "nvidia"):
            equal(made[f"{cri}.containerd.runtimes.{handler}"]["runtime_type"], '"io.containerd.runc.v2"')
            equal(made[f"{cri}.containerd.runtimes.{handler}.options"], {"BinaryName": '"/usr/bin/crun"', "SystemdCgroup": "true"})
        check("opt/containerd" not in m.read(OURS))
        equal(m.read(CONTAINERD), VERSION_2.replace('*.conf", # others\n', '*.conf", "/etc/containerd/conf.d/99-mete.toml" # others\n'))
        after = m.files()
        check("nothing to change" in m.mete("configure", "containerd", "--nvidia-handler").err)
        equal(m.files(), after, "once more")
        m.ok("configure", "containerd")
        check("nvidia" not in m.read(OURS))
        m.ok("unconfigure", "containerd")
        equal(m.files(), before)
        check("nothing to change" in m.mete("unconfigure", "containerd").err)


def test_containerd_keeps_what_an_administrator_changes_meanwhile():
    with Machine() as m:
        m.write(CONTAINERD, "version = 3\n[debug]\n  level = 'info'\n")
        m.ok("configure", "containerd")
        equal(m.read(CONTAINERD), "version = 3\nimports = [\"/etc/containerd/conf.d/99-mete.toml\"]\n[debug]\n  level = 'info'\n")
        equal(sections(m.read(OURS))["plugins.io.containerd.cri.v1.runtime"], {"enable_cdi": "true"})
        m.write(CONTAINERD, m.read(CONTAINERD).replace("info", "debug"))
        m.ok("unconfigure", "containerd")
        equal(m.files(), {CONTAINERD: "version = 3\nimports = []\n[debug]\n  level = 'debug'\n"})


def test_containerd_copies_the_section_that_counts():
    with Machine() as m:
        m.write(CONTAINERD, 'version = 2\nimports = ["conf.d/*.toml"]\n')
        m.write("etc/containerd/conf.d/50-nvidia.toml", '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]\n  x = 1\n')
        m.ok("configure", "containerd", "--nvidia-handler")
        equal(sections(m.read(OURS))["plugins.io.containerd.grpc.v1.cri.containerd.runtimes.nvidia"], {"x": "1"}, "another's handler stays")
        equal(m.read(CONTAINERD), 'version = 2\nimports = ["conf.d/*.toml"]\n', "the drop-in is imported already")
        m.ok("unconfigure", "containerd")
        equal(sorted(m.files()), ["etc/containerd/conf.d/50-nvidia.toml", CONTAINERD])


def test_containerd_without_a_file_has_the_version_of_the_program():
    for said, version, error in (("v2.2.9", "3", None), ("1.7.24", "2", None), ("1.6.20~ds1", None, "want 1.7 or later")):
        with Machine() as m:
            m.write("usr/bin/containerd", f"#!/bin/sh\necho containerd github.com/containerd/containerd {said} abc\n", stat.S_IRWXU)
            before = m.files()
            r = m.mete("configure", "containerd")
            if error:
                check(r.code == 1 and error in r.err, r)
                continue
            equal(r.code, 0, r)
            equal(sections(m.read(CONTAINERD))[""]["version"], version)
            equal(sections(m.read(OURS))[""]["version"], version)
            m.ok("unconfigure", "containerd")
            equal(m.files(), before)


def test_what_cannot_be_read_is_told():
    for text, said in (("version = 1\n", "want 2 or 3"), ("version = 2\nimports = 'a'\n", "imports: want an array of paths"),
                       ('version = 2\n[a\n', "line 2: want ']'"), ('version = 2\nx = "a\n', "line 2: a string without an end"),
                       ("version = 2\nx = [1,\n", "line 2: an array or table without an end"), ("version = 2\nnothing\n", "line 2: want KEY = VALUE")):
        with Machine() as m:
            m.write(CONTAINERD, text)
            r = m.mete("configure", "containerd")
            check(r.code == 1 and said in r.err and "/etc/containerd/config.toml" in r.err, said, r)
            equal(m.files(), {CONTAINERD: text})
    with Machine() as m:
        for words, said in ((("configure", "podman"), "wants containerd, crio or docker"), (("on", "crio"), "wants configure or unconfigure")):
            r = m.mete(*words)
            check(r.code == 2 and said in r.err, r)
        m.write("etc/docker/daemon.json", '{"features": []}')
        r = m.mete("configure", "docker")
        check(r.code == 1 and "features: want an object" in r.err, r)


def test_crio_gets_a_drop_in():
    with Machine() as m:
        m.write("etc/crio/crio.conf.d/10-crio.conf", '[crio.runtime]\ndefault_runtime = "crun"\n'
                '[crio.runtime.runtimes.crun]\nruntime_path = "/usr/libexec/crio/crun"\nmonitor_path = "/usr/libexec/crio/conmon"\n')
        before = m.files()
        m.ok("configure", "crio", "--nvidia-handler")
        made = sections(m.read("etc/crio/crio.conf.d/99-mete.conf"))
        equal(made["crio.runtime"], {"cdi_spec_dirs": '["/etc/cdi", "/var/run/cdi"]'})
        equal(made["crio.runtime.runtimes.nvidia"], {"runtime_path": '"/usr/libexec/crio/crun"', "monitor_path": '"/usr/libexec/crio/conmon"'})
        check("nothing to change" in m.mete("configure", "crio", "--nvidia-handler").err)
        m.ok("unconfigure", "crio")
        equal(m.files(), before)
    with Machine() as m:
        r = m.mete("configure", "crio", "--nvidia-handler")
        check(r.code != 0 and "want crun or runc" in r.err, r)
        m.write("usr/bin/runc", "", stat.S_IRWXU)
        m.ok("configure", "crio", "--nvidia-handler")
        equal(sections(m.read("etc/crio/crio.conf.d/99-mete.conf"))["crio.runtime.runtimes.nvidia"]["runtime_path"], '"/usr/bin/runc"')


def test_docker_gets_members_in_its_file():
    name = "etc/docker/daemon.json"
    with Machine() as m:
        m.ok("configure", "docker")
        equal(json.loads(m.read(name)), {"features": {"cdi": True}})
        m.ok("unconfigure", "docker")
        equal(m.files(), {})
        own = '{"log-level":"warn",\n   "features": {"cdi": false}}'
        m.write(name, own)
        m.ok("configure", "docker", "--nvidia-handler")
        equal(json.loads(m.read(name)), {"log-level": "warn", "features": {"cdi": True}, "runtimes": {"nvidia": {"path": "runc"}}})
        check("nothing to change" in m.mete("configure", "docker", "--nvidia-handler").err)
        m.ok("unconfigure", "docker")
        equal(m.files(), {name: own}, "to the byte")
        m.ok("configure", "docker", "--nvidia-handler")
        m.write(name, json.dumps({**json.loads(m.read(name)), "debug": True}))
        m.ok("unconfigure", "docker")
        equal(json.loads(m.read(name)), {"log-level": "warn", "features": {"cdi": False}, "debug": True})
        equal(list(m.files()), [name])
