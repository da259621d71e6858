"""Images: loaded from archives and pulled from a registry, run, isolated from the machine, and removed."""

import gzip
import json
import os
import random
import re
import signal
import subprocess
import tarfile
import time

import image_kit
from harness import METE, Failure, Mete, arguments_of, check, equal, execute, execute_as, wait
from image_kit import Image, Layer, Registry

UID_BASE = 0x70000000


def images_dir(m, *below):
    return os.path.join(m.data, "node", "images", *below)


def layers(m):
    return sorted(os.listdir(images_dir(m, "layers")))


def work_is_empty(m):
    return os.listdir(images_dir(m, "work")) == []


def import_octets(m, octets, *name, deadline_s=60):
    path = image_kit.write(os.path.join(m.dir, "image.tar"), octets)
    return m.mete("image", "import", path, *name, deadline_s=deadline_s)


def import_ok(m, octets, *name):
    r = import_octets(m, octets, *name)
    check(r.code == 0, "import", r)
    return r.out.strip()


def run_pod(m, name, image, command, policy=None, fields=None, **spec):
    c = {"name": "main", "image": image, **(fields or {})}
    if command:
        c["command"] = ["sh", "-c", command]
    if policy:
        c["imagePullPolicy"] = policy
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", "containers": [c], **spec}}
    m.ok("apply", "-f", "-", stdin=json.dumps(body))


def output(m, name):
    m.wait_phase(name, ("Succeeded", "Failed"))
    return m.ok("logs", name)


def container_status(m, name):
    return m.object("pod", name)["status"].get("containerStatuses", [{}])[0]


def wait_reason(m, name, *reasons):
    def look():
        waiting = container_status(m, name).get("state", {}).get("waiting", {})
        return waiting if waiting.get("reason") in reasons else None

    try:
        return wait(look, f"{name} waits for {reasons}")
    except Failure as e:
        raise Failure(f"{e}\n{m.kubectl('get', 'pod', name, '-o', 'yaml').out}") from None


def events(m, name):
    found = m.object("events", "--field-selector", f"involvedObject.name={name}")["items"]
    return [(e["type"], e["reason"], e["message"]) for e in found]


def has_event(m, name, kind, reason, text):
    return wait(lambda: any(e[0] == kind and e[1] == reason and text in e[2] for e in events(m, name)),
                f"event {kind} {reason} '{text}'")


# ---- what an image is, from inside ----

def test_an_image_brought_in_any_form_is_the_same():
    base = image_kit.base_layer()
    image = Image([base])
    with Mete(gpus="none") as m:
        forms = {
            "a/oci:1": image.layout(),
            "a/zip:1": gzip.compress(image.layout()),
            "a/docker:1": image.docker("other/name:7"),
        }
        for name, octets in forms.items():
            equal(import_ok(m, octets, name), "docker.io/" + name)
        layout = image_kit.write_dir(os.path.join(m.dir, "layout"), image.files("latest"))
        r = m.mete("image", "import", layout, "a/dir:1")
        check(r.code == 0, r)
        listed = json.loads(m.mete("image", "ls", "-o", "json").out)["items"]
        equal(sorted(i["name"] for i in listed), ["docker.io/a/dir:1", "docker.io/a/docker:1", "docker.io/a/oci:1",
                                                   "docker.io/a/zip:1"])
        equal({i["id"] for i in listed}, {image_kit.digest(image.config)})
        equal(len(layers(m)), 1, "a layer is unpacked once")
        equal(import_ok(m, image.docker("own/name:7")), "docker.io/own/name:7")
        r = m.mete("image", "import", layout)
        equal(r.code, 1, r)
        check("give a name" in r.err and "NAME:TAG" in r.err, r)
        shown = wait(lambda: m.object("nodes")["items"][0]["status"].get("images"), "the node shows its images")
        check(shown[0]["sizeBytes"] > 100000 and "docker.io/a/oci:1" in shown[0]["names"], shown)
        check(work_is_empty(m), os.listdir(images_dir(m, "work")))


def test_tools_of_others_make_images_that_run():
    with Mete(gpus="emulated:2xH100") as m:
        bundle = os.path.join(m.dir, "bundle")
        layout = os.path.join(m.dir, "layout")
        for words in (["umoci", "init", "--layout", layout], ["umoci", "new", "--image", layout + ":v1"],
                      ["umoci", "unpack", "--image", layout + ":v1", bundle]):
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            check(done.returncode == 0, words, done)
        root = os.path.join(bundle, "rootfs")
        os.makedirs(os.path.join(root, "bin"))
        execute(["cp", image_kit.BUSYBOX, os.path.join(root, "bin")])
        for applet in image_kit.APPLETS:
            os.symlink("busybox", os.path.join(root, "bin", applet))
        for words in (["umoci", "repack", "--image", layout + ":v1", bundle],
                      ["umoci", "config", "--image", layout + ":v1", "--config.env", "COLOUR=green",
                       "--config.workingdir", "/bin", "--config.cmd", "sh", "--config.cmd", "-c", "--config.cmd",
                       "echo $COLOUR; ls -d busybox"],
                      ["skopeo", "copy", f"oci:{layout}:v1", f"oci-archive:{m.dir}/a.tar:my/oci:1"],
                      ["skopeo", "copy", f"oci:{layout}:v1", f"docker-archive:{m.dir}/d.tar:my/docker:1"]):
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            check(done.returncode == 0, words, done)
        for path, name in ((layout, "my/dir:1"), (f"{m.dir}/a.tar", "my/oci:1"), (f"{m.dir}/d.tar", "my/docker:1")):
            r = m.mete("image", "import", path, *([name] if path == layout else []))
            check(r.code == 0, r)
            run_pod(m, name.split("/")[1].replace(":", "-"), name, None)
            equal(output(m, name.split("/")[1].replace(":", "-")), "green\nbusybox\n")
        r = m.mete("run", "--image", "my/oci:1", "--gpus", "1", "--", "sh", "-c", "ls /dev | grep -c '^nvidia[0-9]'")
        equal((r.code, r.out), (0, "1\n"), r)


def test_layers_hide_and_replace_what_is_below():
    upper = (Layer().text("data/.wh.hidden", "").text("data/opaque/.wh..wh..opq", "").text("data/opaque/new", "new\n")
             .text("data/set", "#!/bin/sh\n", mode=0o4755, uid=1000, gid=1000)
             .text("data/added", "by the second\n").link("data/again", "data/added").symlink("data/link", "/etc/passwd")
             .add("data/pipe", type=tarfile.FIFOTYPE).text("data/\u00e4\u20ac", "named\n"))
    image = Image([image_kit.base_layer(), upper.octets()], {"Env": ["A=1", "PATH=/bin"], "WorkingDir": "/data"})
    with Mete(gpus="none") as m:
        import_ok(m, image.layout(), "t/two:1")
        run_pod(m, "two", "t/two:1", "ls -A | head -7; ls opaque; cat below added again; stat -c '%a %u %F' set pipe; readlink link;"
                                     " cat \u00e4*; pwd; echo A=$A; id -u; echo x > below; cat below; cat /proc/self/uid_map")
        out = output(m, "two").split("\n")
        equal(out[:7], ["added", "again", "below", "link", "opaque", "pipe", "set"], out)
        equal(out[7:15], ["new", "of the first layer", "by the second", "by the second", "4755 1000 regular file",
                          "644 0 fifo", "/etc/passwd", "named"], out)
        equal(out[15:19], ["/data", "A=1", "0", "x"], out)
        base = int(out[19].split()[1])
        check(base > UID_BASE, "uid 0 inside is nobody outside", out)
        run_pod(m, "again", "t/two:1", "cat below")
        equal(output(m, "again"), "of the first layer\n", "what one writes no other sees")
        for root, _, names in os.walk(images_dir(m, "layers")):
            for name in names:
                st = os.lstat(os.path.join(root, name))
                check(UID_BASE <= st.st_uid < UID_BASE + 65536 and UID_BASE <= st.st_gid < UID_BASE + 65536, root, name)


def test_a_whole_layer_can_hide_the_ones_below():
    bin_only = Layer().text(".wh..wh..opq", "").dir("bin")
    with open(image_kit.BUSYBOX, "rb") as f:
        bin_only.add("bin/busybox", f.read(), mode=0o755)
    bin_only.symlink("bin/sh", "busybox").symlink("bin/ls", "busybox")
    with Mete(gpus="none") as m:
        import_ok(m, Image([image_kit.base_layer(), bin_only.octets()]).layout(), "t/bare:1")
        run_pod(m, "bare", "t/bare:1", "ls -d /data /etc/group 2>&1 | grep -c 'No such'; ls /bin",
                fields={"env": [{"name": "PATH", "value": "/bin"}]})
        check("data" not in output(m, "bare").replace("No such", ""), output(m, "bare"))


def test_an_image_of_127_layers_runs_and_one_more_is_refused():
    base = image_kit.base_layer()
    many = [base] + [Layer().text(f"data/{i}", f"{i}\n").octets() for i in range(127)]
    with Mete(gpus="none") as m:
        r = import_octets(m, Image(many).layout(), "t/128:1")
        equal(r.code, 1, r)
        check("128 layers: want a list of at most 127" in r.err, r)
        import_ok(m, Image(many[:127]).layout(), "t/127:1")
        run_pod(m, "many", "t/127:1", "ls /data | wc -l; cat /data/125")
        equal(output(m, "many"), "129\n125\n")


# ---- hostile archives ----

def hostile_layers():
    dev = {"devmajor": 1, "devminor": 3}
    deep = "/".join(["d" * 200] * 30)
    return {
        "an absolute name": (Layer().text("/etc/cron.d/mete-x", "x"), "absolute"),
        "a name that climbs": (Layer().text("a/../../mete-x", "x"), "'..'"),
        "a device node": (Layer().add("dev/null", type=tarfile.CHRTYPE, **dev), "device node"),
        "a block device": (Layer().add("sda", type=tarfile.BLKTYPE, devmajor=8, devminor=0), "device node"),
        "a raw whiteout": (Layer().add("x", type=tarfile.CHRTYPE, devmajor=0, devminor=0), "device node"),
        "a file through a link out": (Layer().symlink("out", "/etc").text("out/passwd", "x"), "leads out of the layer"),
        "a file through a climbing link": (Layer().symlink("out", "../../..").text("out/mete-x", "x"), "leads out"),
        "a hard link out": (Layer().link("x", "/etc/shadow"), "absolute"),
        "a hard link that climbs": (Layer().link("x", "../../etc/shadow"), "'..'"),
        "a hard link through a link": (Layer().symlink("l", "/etc").link("x", "l/shadow"), "leads out"),
        "a hard link to what is missing": (Layer().link("x", "y"), "no file of this layer"),
        "a whiteout of the parent": (Layer().text("a/.wh...", ""), "whiteout of nothing"),
        "a whiteout of nothing": (Layer().text(".wh.", ""), "whiteout of nothing"),
        "a root that is a file": (Layer().text(".", "x"), "root is not a directory"),
        "a file below a file": (Layer().text("a", "x").text("a/b", "x"), "is not a directory"),
        "a file over a full directory": (Layer().text("a/b", "x").text("a", "x"), "not empty"),
        "an owner past the range": (Layer().text("x", "x", uid=65536), "want ids below 65536"),
        "a long part": (Layer().text("a" * 256, "x"), "too long"),
        "a long path": (Layer().text(deep, "x"), "too long"),
        "more than there is room for": (Layer().add("x", b"", pax_headers={
            "GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(1 << 60),
            "GNU.sparse.name": "x"}), None),
    }


def hostile_images():
    base = image_kit.base_layer()
    good = Image([base])

    def broken(change):
        manifest = good.manifest()
        change(manifest)
        return image_kit.archive(good.files(manifest=manifest))

    def config(text):
        image = Image([base])
        image.config = text
        return image.layout()

    files = good.files()
    blob = "blobs/sha256/" + image_kit.digest(good.blobs[0])[7:]
    other = bytearray(files[blob])
    other[len(other) // 2] ^= 1
    lying = Image([base])
    lying.config = lying.config.replace(image_kit.digest(base).encode(), image_kit.digest(b"other").encode())
    return {
        "no archive": (b"hello " * 1000, "not a tar archive"),
        "nothing": (b"", "not a tar archive"),
        "a tar of something else": (image_kit.archive({"a": b"b"}), "no image"),
        "cut off": (good.layout()[:200000], ""),
        "a blob that is another": (image_kit.archive({**files, blob: bytes(other)}), ""),
        "a diff id that is another": (lying.layout(), "diff id of the layer does not match"),
        "a missing blob": (image_kit.archive({k: v for k, v in files.items() if k != blob}), "is missing"),
        "members twice": (Layer().add("index.json", b"{}").add("./index.json", b"{}").octets(), "comes twice"),
        "a member that climbs": (image_kit.archive({**files, "../../mete-x": b"x"}), "'..'"),
        "a huge manifest": (image_kit.archive({**files, "index.json": b" " * (5 << 20)}), "larger than"),
        "a deep manifest": (image_kit.archive({**files, "index.json": b"[" * 100000}), ""),
        "another machine": (Image([base], arch="s390x").layout(), "s390x"),
        "schema 1": (broken(lambda m: m.update(schemaVersion=1)), "schemaVersion"),
        "an unknown layer type": (broken(lambda m: m["layers"][0].update(mediaType="application/x-xz")), "layer 1 of type"),
        "a bad digest": (broken(lambda m: m["layers"][0].update(digest="sha256:../../etc/passwd")), "sha256"),
        "fewer layers than ids": (broken(lambda m: m.update(layers=[])), "0 layers and the config has 1"),
        "a config that is no object": (config(b"[]"), ""),
        "a variable without a name": (config(good.config.replace(b'"config": {}', b'"config": {"Env": ["=x"]}')), "env"),
        "a relative working directory": (config(good.config.replace(b'"config": {}', b'"config": {"WorkingDir": "x"}')),
                                         "workingDir"),
    }


def test_hostile_archives_are_refused_and_leave_nothing():
    cases = {name: (Image([image_kit.base_layer(), layer.octets()]).layout(), text)
             for name, (layer, text) in hostile_layers().items()}
    cases.update(hostile_images())
    before = os.path.getmtime("/etc/passwd")
    with Mete(gpus="none") as m, m.unharmed():
        import_ok(m, Image([image_kit.base_layer()]).layout(), "good/one:1")
        kept = layers(m)
        for name, (octets, text) in cases.items():
            r = import_octets(m, octets, "bad/one:1")
            if text is None and r.code == 0:
                continue  # this libarchive reads it as a plain file, which does no harm
            equal(r.code, 1, name, r)
            check((text or "") in r.err and "internal" not in r.err.lower(), name, f"want '{text}'", r)
        wait(lambda: work_is_empty(m), "nothing is left of what was refused")
        check(set(kept) <= set(layers(m)), kept, layers(m))
        listed = json.loads(m.mete("image", "ls", "-o", "json").out)["items"]
        equal([i["name"] for i in listed], ["docker.io/good/one:1"])
        equal(os.path.getmtime("/etc/passwd"), before)
        for path in ("/etc/cron.d/mete-x", "/mete-x", os.path.join(m.dir, "mete-x"), images_dir(m, "mete-x"),
                     images_dir(m, "work", "mete-x")):
            check(not os.path.exists(path), path)


def test_a_bomb_stops_at_the_room_there_is():
    with Mete(gpus="none") as m:
        big = Layer()
        info = tarfile.TarInfo("zeros")
        st = os.statvfs(m.data)
        info.size = st.f_bavail * st.f_frsize + (1 << 40)
        head = info.tobuf(tarfile.PAX_FORMAT)
        image = Image([head + b"\0" * (1 << 20)])
        r = import_octets(m, image.layout(), "bad/bomb:1")
        equal(r.code, 1, r)
        check("too large for this machine's disk" in r.err, r)
        wait(lambda: work_is_empty(m), "nothing is left of it")
        del big


def test_the_unpacker_sees_nothing_of_the_machine():
    with Mete(gpus="none") as m:
        pipe = subprocess.Popen([METE, "image", "import", "-", "slow/one:1"], env=m.env, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        pipe.stdin.write(Image([image_kit.base_layer()]).layout()[:100000])
        pipe.stdin.flush()
        pid = wait(lambda: unpacker(m), "the unpacker runs")

        def confined():
            with open(f"/proc/{pid}/status") as f:
                status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
            return status if status.get("Seccomp") == "2" else None

        status = wait(confined, "it has entered its sandbox")
        equal(set(status["Uid"].split()), {str(UID_BASE)})
        equal(status["NoNewPrivs"], "1")
        equal(os.listdir(f"/proc/{pid}/root"), sorted(os.listdir(f"/proc/{pid}/root"))[:9] and os.listdir(f"/proc/{pid}/root"))
        check(set(os.listdir(f"/proc/{pid}/root")) <= {"known", "layers", "spool"}, os.listdir(f"/proc/{pid}/root"))
        equal(sorted(map(int, os.listdir(f"/proc/{pid}/fd")))[:3], [0, 1, 2])
        for ns in ("user", "mnt", "net", "ipc", "uts"):
            check(os.readlink(f"/proc/{pid}/ns/{ns}") != os.readlink(f"/proc/self/ns/{ns}"), ns)
        pipe.kill()
        pipe.wait()
        wait(lambda: not unpacker(m) and work_is_empty(m), "it ends with who feeds it")


def unpacker(m):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        words = arguments_of(pid)
        if len(words) > 2 and words[1] == b"image-unpack" and words[2].startswith(m.dir.encode()):
            return int(pid)
    return None


# ---- its end ----

def test_what_is_used_is_kept_and_what_is_not_goes():
    base = image_kit.base_layer()
    second = Image([base, Layer().text("data/two", "2\n").octets()])
    with Mete(gpus="none") as m:
        import_ok(m, Image([base]).layout(), "t/a:1")
        import_ok(m, second.layout(), "t/b:1")
        equal(len(layers(m)), 2)
        run_pod(m, "user", "t/a:1", "sleep 100")
        m.wait_phase("user", "Running")
        r = m.mete("image", "rm", "t/a:1")
        equal(r.code, 5, r)
        check("in use by 1 pods" in r.err, r)
        equal(m.mete("image", "rm", "t/none:1").code, 3)
        check(m.mete("image", "rm", "t/b:1").code == 0, "an unused image can be removed")
        wait(lambda: len(layers(m)) == 1, "its layer went, the shared one stays")
        import_ok(m, second.layout(), "t/a:1")  # takes the name: the first has none now
        r = m.mete("image", "gc")
        check("0 images removed" in r.err, "one is used, one has a name", r)
        m.ok("delete", "pod", "user", "--grace-period=0", "--force")
        wait(lambda: "1 images removed" in m.mete("image", "gc").err, "the nameless one goes")
        check("1 images removed" in m.mete("image", "gc", "--all").err, "and then the other")
        wait(lambda: layers(m) == [], "with all layers")
        equal(json.loads(m.mete("image", "ls", "-o", "json").out)["items"], [])


def test_an_import_cut_by_a_kill_leaves_all_or_nothing():
    base = image_kit.base_layer()
    seed = int(os.environ.get("SEED", time.time()))
    rng = random.Random(seed)
    with Mete(gpus="none") as m:
        import_ok(m, Image([base]).layout(), "t/first:1")
        for i in range(6):
            octets = Image([base, Layer().text("data/n", f"{i}\n").add("data/big", rng.randbytes(3 << 20)).octets()]).layout()
            path = image_kit.write(os.path.join(m.dir, "next.tar"), octets)
            importing = subprocess.Popen([METE, "image", "import", path, f"t/next:{i}"], env=m.env,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            until = time.monotonic() + rng.random() * 0.25
            wait(lambda: time.monotonic() >= until or importing.poll() is not None, "its moment")
            os.kill(wait(lambda: m.child("node"), "mete node runs"), signal.SIGKILL)
            is_acknowledged = importing.wait(60) == 0
            names = wait(lambda: names_of(m), "the node is back")
            check("docker.io/t/first:1" in names, names, f"SEED={seed}")
            check(not is_acknowledged or f"docker.io/t/next:{i}" in names, "what was acknowledged is there", f"SEED={seed}")
            wait(lambda: work_is_empty(m), "what was left is removed")
            equal(len(layers(m)), 1 + len([n for n in names if "/next:" in n]), f"SEED={seed}")
            for name in names[-1:]:
                run_pod(m, f"check-{i}", name, "cat /data/below")
                equal(output(m, f"check-{i}"), "of the first layer\n", f"SEED={seed}")


def names_of(m):
    r = m.mete("image", "ls", "-o", "json")
    return [i["name"] for i in json.loads(r.out)["items"]] if r.code == 0 else None


def test_containers_go_on_over_a_restart_of_the_node():
    with Mete(gpus="none") as m:
        import_ok(m, Image([image_kit.base_layer()]).layout(), "t/a:1")
        run_pod(m, "on", "t/a:1", "echo begun; while ! test -e /data/stop; do sleep 0.1; done; cat /data/below")
        wait(lambda: "begun" in m.kubectl("logs", "on").out, "it runs")
        os.kill(wait(lambda: m.child("node"), "mete node runs"), signal.SIGKILL)
        wait(lambda: names_of(m), "the node is back")
        equal(m.mete("image", "rm", "t/a:1").code, 5, "its image is still in use")
        check(container_status(m, "on")["imageID"].startswith("sha256:"), container_status(m, "on"))
        r = m.kubectl("exec", "on", "--", "touch", "/data/stop")
        check(r.code == 0, r)
        equal(output(m, "on"), "begun\nof the first layer\n")


# ---- registries ----

def test_pull_policies_reasons_and_secrets():
    base = image_kit.base_layer()
    registry = Registry()
    insecure = f'[[registry]]\nlocation = "{registry.host}"\ninsecure = true\n'
    try:
        with Mete(gpus="none") as m, m.unharmed():
            image_kit.write(os.path.join(m.data, "node", "registries.conf"), insecure.encode())
            one = registry.push("team/app", "1", Image([base]))
            r = m.mete("image", "pull", one)
            check(r.code == 0 and r.out.strip() == one, r)
            check("layer 1" in r.err, "progress by layer", r)
            pulls(m, registry, one, base)
            back_off(m, registry)
            secrets(m, registry, base)
    finally:
        registry.close()


def pulls(m, registry, one, base):
    run_pod(m, "never", one, "cat /data/below", policy="Never")
    equal(output(m, "never"), "of the first layer\n")
    has_event(m, "never", "Normal", "Pulled", f'Container image "{one}" already present on machine')
    check("@sha256:" in container_status(m, "never")["imageID"], container_status(m, "never"))
    registry.push("team/app", "1", Image([base, Layer().text("data/below", "of the second\n").octets()]))
    asked = len(registry.asked)
    run_pod(m, "there", one, "cat /data/below", policy="IfNotPresent")
    equal(output(m, "there"), "of the first layer\n")
    equal(len(registry.asked), asked, "nobody was asked")
    run_pod(m, "always", one, "cat /data/below", policy="Always")
    equal(output(m, "always"), "of the second\n")
    has_event(m, "always", "Normal", "Pulling", f'Pulling image "{one}"')
    has_event(m, "always", "Normal", "Pulled", f'Successfully pulled image "{one}" in ')
    blobs = len([p for p in registry.asked if "/blobs/" in p])
    run_pod(m, "once-more", one, "cat /data/below", policy="Always")
    equal(output(m, "once-more"), "of the second\n")
    equal(len([p for p in registry.asked if "/blobs/" in p]), blobs, "what did not move is not fetched again")
    absent = f"{registry.host}/team/other:1"
    run_pod(m, "absent", absent, "true", policy="Never")
    waiting = wait_reason(m, "absent", "ErrImageNeverPull")
    equal(waiting["message"], f'Container image "{absent}" is not present with pull policy of Never')
    run_pod(m, "wrong", "Not/An Image", "true")
    check("couldn't" in wait_reason(m, "wrong", "InvalidImageName")["message"]
          or "Failed to apply" in wait_reason(m, "wrong", "InvalidImageName")["message"], "says why")


def back_off(m, registry):
    missing = f"{registry.host}/team/missing:1"
    run_pod(m, "missing", missing, "true")
    wait_reason(m, "missing", "ErrImagePull", "ImagePullBackOff")
    has_event(m, "missing", "Warning", "Failed", f'Failed to pull image "{missing}"')
    has_event(m, "missing", "Warning", "Failed", "Error: ErrImagePull")
    message = wait_reason(m, "missing", "ImagePullBackOff")["message"]
    check(message.startswith(f'Back-off pulling image "{missing}": ErrImagePull: pull {missing}: '), message)
    check(re.search(r"; next try at 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$", message), message)
    has_event(m, "missing", "Normal", "BackOff", f'Back-off pulling image "{missing}"')
    registry.push("team/missing", "1", Image([image_kit.base_layer()]))
    m.wait_phase("missing", "Succeeded")


def secrets(m, registry, base):
    name = registry.push("secret/app", "1", Image([base, Layer().text("data/below", "private\n").octets()]), "u:p ss:w")
    equal(m.mete("image", "pull", name).code, 4, "without the password it is denied")
    run_pod(m, "denied", name, "true")
    has_event(m, "denied", "Warning", "Failed", f'Failed to pull image "{name}": pull {name}: reading manifest 1')
    has_event(m, "denied", "Warning", "Failed", "unauthorized")
    m.ok("delete", "pod", "denied", "--grace-period=0", "--force")
    m.ok("create", "secret", "docker-registry", "pull", f"--docker-server={registry.host}", "--docker-username=u",
         "--docker-password=p ss:w")
    run_pod(m, "allowed", name, "cat /data/below", imagePullSecrets=[{"name": "gone"}, {"name": "pull"}])
    equal(output(m, "allowed"), "private\n")


def test_only_administrators_change_the_images_of_a_node():
    with Mete(gpus="none") as m:
        import_ok(m, Image([image_kit.base_layer()]).layout(), "t/a:1")
        os.chmod(m.dir, 0o755)

        def as_user(*words):
            return execute_as(1234, 1234, [METE, *words], env=m.env)

        equal(as_user("image", "ls").code, 0)
        for words in (["image", "rm", "t/a:1"], ["image", "gc"], ["image", "import", image_kit.write(
                os.path.join(m.dir, "b.tar"), Image([image_kit.base_layer()]).layout()), "t/b:1"]):
            equal(as_user(*words).code, 4, words, as_user(*words))
        equal(names_of(m), ["docker.io/t/a:1"])
