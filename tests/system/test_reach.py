"""Mete in a directory that only root may enter, such as a checkout below /root: the server's user still runs it."""

import contextlib
import json
import os
import shutil
import tempfile

import image_kit
from harness import BUILD, METE, Mete, check, equal, execute, pod, wait

CONFIG = "apiVersion: mete.dev/v1\nkind: Config\nlearnEvery: 200ms\nlearnAfter: \"2\"\n"


@contextlib.contextmanager
def closed():
    """A build tree below a directory of mode 0700, and the program in it."""
    with tempfile.TemporaryDirectory(prefix="mete-closed-") as d:
        os.makedirs(f"{d}/src/cli")
        os.mkdir(f"{d}/gpusim")
        program = shutil.copy(METE, f"{d}/src/cli/mete")
        for name in ("libnvidia-ml.so.1", "libcuda.so.1", "nvidia-smi"):
            shutil.copy(os.path.join(BUILD, "gpusim", name), f"{d}/gpusim/{name}")
        os.chmod(d, 0o700)
        yield d, program


def table_in_use(m):
    r = m.mete("why", "waiter", "-o", "json")
    return r.code == 0 and json.loads(r.out)["status"].get("reason", {}).get("values")


def refused(program, data):
    r = execute([program, "up", "--data", data, "--gpus", "none", "--listen", "127.0.0.1:0"])
    equal((r.code, r.out), (1, ""), r)
    return r.err


def test_all_roles_run_where_only_root_may_enter():
    with closed() as (d, program):
        with open(f"{d}/mete.yaml", "w", encoding="utf-8") as out:
            out.write(CONFIG)
        with Mete(arguments=("--config", f"{d}/mete.yaml"), program=program) as m:
            m.ok("apply", "-f", "-", stdin=pod("holder", "nvidia-smi -L && exec sleep 1000", gpus=8))
            m.wait_phase("holder", "Running")
            m.ok("apply", "-f", "-", stdin=pod("waiter", "true", gpus=2))
            wait(lambda: table_in_use(m), "a learned table in use")
            equal(wait(lambda: m.ok("logs", "holder"), "the pod's log").count("H100"), 8)
            image = image_kit.Image([image_kit.base_layer()])
            r = m.mete("image", "import", image_kit.write(os.path.join(m.dir, "image.tar"), image.docker("t/a:1")))
            equal(r.code, 0, r)


def test_a_program_for_root_alone_is_refused_at_start():
    with closed() as (_, program), tempfile.TemporaryDirectory() as data:
        os.chmod(data, 0o755)
        os.chmod(program, 0o700)
        said = refused(program, data)
        check(f"may not run {program} (mode 0700): chmod a+rx {program}\n" in said, said)


def test_a_data_directory_out_of_reach_is_refused_at_start():
    with closed() as (d, program):
        said = refused(program, f"{d}/data")
        check(f"may not enter {d} (mode 0700): give another --data DIR, or chmod o+x {d}\n" in said, said)
