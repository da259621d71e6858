"""CDI files: Mete writes one for other container engines, and uses those of the administrator."""

import contextlib
import glob
import json
import os
import shutil

import image_kit
from harness import METE, Mete, Skip, check, equal, execute, wait
from test_driver import PROBE, check_probe, debian, image_of, import_image, run


def uuids_of(m):
    gpus = json.loads(m.mete("gpus", "-o", "json").out)
    found = []

    def walk(value):
        if isinstance(value, dict):
            if value.get("kind") == "Gpu":
                found.append((value["spec"]["index"], value["metadata"]["name"]))
            for v in value.values():
                walk(v)
        elif isinstance(value, list):
            for v in value:
                walk(v)

    walk(gpus)
    return [uuid for _, uuid in sorted(found)]


def read_json(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


class Podman:
    """A podman with a directory of its own."""

    def __init__(self, directory):
        self.root = os.path.join(directory, "podman")
        self.argv = ["podman", "--root", f"{self.root}/root", "--runroot", f"{self.root}/run", "--storage-driver", "vfs",
                     "--cgroup-manager", "cgroupfs", "--runtime", "runc", "--events-backend", "none"]

    def __call__(self, *words):
        return execute([*self.argv, *words], deadline_s=120)


@contextlib.contextmanager
def file_of_the_administrator(name, content):
    path = f"/etc/cdi/{name}.json"
    had_dir = os.path.isdir("/etc/cdi")
    os.makedirs("/etc/cdi", exist_ok=True)
    try:
        with open(path, "w", encoding="utf-8") as f:
            json.dump(content, f)
        yield path
    finally:
        os.remove(path)
        if not had_dir:
            with contextlib.suppress(OSError):
                os.rmdir("/etc/cdi")


def test_the_file_of_mete_up_follows_the_gpus():
    with Mete(gpus="emulated:2xT4") as m:
        m.stop()
        path = os.path.join(m.dir, "cdi", "gpus.json")
        m.arguments = ["--cdi-file", path]
        m.start()
        names = [d["name"] for d in wait(lambda: os.path.exists(path) and read_json(path), "the file")["devices"]]
        uuids = uuids_of(m)
        equal(names, ["0", uuids[0], "1", uuids[1], "all"])
        m.stop()
        m.gpus = "emulated:3xT4"
        m.start()
        wait(lambda: len(read_json(path)["devices"]) == 7, "the file has the third gpu")
        r = m.mete("cdi", "generate", "--gpus", "emulated", "--data", m.data)
        check(r.code == 0, r)
        made, kept = json.loads(r.out), read_json(path)
        for file in (made, kept):
            file["containerEdits"]["env"] = [v for v in file["containerEdits"]["env"] if "GENERATION" not in v]
        equal(made, kept)


def test_bad_paths_of_cdi_files_and_drivers_are_refused():
    for words, message in ((["up", "--cdi-file", "gpus.json"], "CDI file \"gpus.json\""),
                           (["up", "--cdi-file", "/tmp/gpus"], "want an absolute path that ends in .json or .yaml"),
                           (["up", "--driver-root", "driver"], "driver root \"driver\": want an absolute path"),
                           (["up", "--gpus", "emulated:1xT4", "--driver-root", "/"], "emulated gpus have a driver of their own"),
                           (["cdi", "generate", "--gpus", "emulated", "--driver-root", "/"], "emulated gpus have a driver of their own"),
                           (["cdi", "generate", "--file", "x.json"], "want an absolute path")):
        r = execute([METE, *words])
        equal(r.code, 2, r)
        check(message in r.err, r)


def test_podman_runs_with_the_file_that_mete_wrote():
    check(shutil.which("podman"), "podman is not there: tools/bootstrap --tests installs it")
    if glob.glob("/var/run/cdi/*") or glob.glob("/etc/cdi/nvidia*"):
        raise Skip("this machine has CDI files of its own")
    with Mete(gpus="emulated:2xH100") as m:
        podman = Podman(m.dir)
        uuids = uuids_of(m)
        archive = image_kit.write(os.path.join(m.dir, "image.tar"), image_of(debian()).docker("test/podman:1"))
        try:
            r = podman("load", "-i", archive)
            check(r.code == 0, r)
            content = m.mete("cdi", "generate", "--gpus", "emulated", "--data", m.data)
            check(content.code == 0, content)
            with file_of_the_administrator("mete-podman", json.loads(content.out)):
                for device in ("1", uuids[1]):
                    r = podman("run", "--rm", "--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "--device", f"nvidia.com/gpu={device}", "test/podman:1",
                               "/bin/sh", "-c", PROBE)
                    check(r.code == 0, r)
                    check_probe(r.out.splitlines())
                    check(uuids[1] in r.out, r)
        finally:
            podman("rm", "--all", "--force")
            podman("rmi", "--all", "--force")
            execute(["umount", f"{podman.root}/root/vfs"])


def edits_of(m, minor, marker):
    """The edits of a file that nvidia-ctk could have written: libraries, nodes without numbers, and a hook."""
    library = glob.glob(os.path.join(m.data, "node/gpusim/root/usr/lib/*/libnvidia-ml.so.570.124.06"))[0]
    return {
        "env": ["ADMINISTRATOR=yes"],
        "deviceNodes": [{"path": f"/dev/nvidia{minor}", "type": "c", "major": 384, "minor": minor},
                        {"path": "/dev/nvidiactl", "type": "c", "major": 384, "minor": 255}, {"path": "/dev/full"}],
        "mounts": [{"hostPath": library, "containerPath": "/opt/libnvidia-ml.so.1", "options": ["ro", "bind"]}],
        "hooks": [{"hookName": "createContainer", "path": "/bin/sh", "args": ["sh", "-c", f"cat >{marker}; cat config.json >{marker}.config"]}],
    }


def test_a_file_of_the_administrator_is_used_as_it_is():
    with Mete(gpus="emulated:2xH100") as m:
        first, second = uuids_of(m)
        hooked = os.path.join(m.dir, "hooked")
        os.mkdir(hooked)
        os.chmod(hooked, 0o777)  # the hook is in the user namespace of the container
        marker = os.path.join(hooked, "state")
        import_image(m, "test/debian:1", debian())
        script = "echo $ADMINISTRATOR; ls /dev/nvidia? | cat; ls /usr/bin/nvidia-smi /opt /dev/full 2>&1"
        name = f"mete-test-{os.getpid()}"

        devices = [{"name": first, "containerEdits": edits_of(m, 0, marker)},
                   {"name": second, "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia1", "type": "c", "major": 384, "minor": 1}]}}]
        content = {"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": devices}
        with file_of_the_administrator(name, content):
            out = run(m, "used", "test/debian:1", script, gpus=2)
            equal(out, ["yes", "/dev/nvidia0", "/dev/nvidia1", "ls: /usr/bin/nvidia-smi: No such file or directory", "/dev/full", "", "/opt:",
                        "libnvidia-ml.so.1"])
            check(read_json(marker)["bundle"], "the hook got the container's state")
            check("ADMINISTRATOR=yes" in read_json(marker + ".config")["process"]["env"], "the hook reads the container's configuration")
        stale = json.loads(json.dumps(content))
        stale["devices"][1]["containerEdits"]["deviceNodes"][0]["path"] = "/dev/nvidia7"
        with file_of_the_administrator(name, stale):
            out = run(m, "stale", "test/debian:1", "echo $ADMINISTRATOR; nvidia-smi -L", gpus=2)
            equal((out[0], len(out)), ("", 3), out)
        check('msg="CDI files are not used" cause="the CDI files of nvidia.com/gpu have other device nodes' in m.log_text())
