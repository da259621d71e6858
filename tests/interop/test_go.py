"""Go clients, unchanged: client-go with its default encoding (protobuf), controller-runtime. go/ has the program."""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))

from harness import BUILD, ROOT, Mete, check, equal, execute  # noqa: E402

CLIENTS = os.path.join(ROOT, "build", "go", "clients")
NVML = os.path.join(ROOT, "build", "go", "nvml")
TABLES = os.path.join(ROOT, "build", "go", "tables")


def program(path):
    check(os.path.exists(path), f"{path} is not there: tools/bootstrap --tests makes it")
    return path


def claim(*names):
    """Runs claims of the program against a Mete of its own."""
    program(CLIENTS)
    with Mete() as m:
        r = execute([CLIENTS, m.env["KUBECONFIG"], *names], env=m.env, deadline_s=240)
        equal((r.code, r.out.splitlines()), (0, [f"ok {name}" for name in names]), r)


def test_every_claim_is_run():
    listed = subprocess.run([program(CLIENTS), "list"], capture_output=True, text=True, check=True).stdout.split()
    equal(sorted(listed), sorted(KINDS + WATCHES + OPERATORS + PODS))


KINDS = ["every-kind", "questions", "delete-collection", "discovery", "dynamic-objects", "metadata-only", "patch-metadata"]
WATCHES = ["informers", "informers-of-every-kind", "event-recorders"]
OPERATORS = ["leader-election", "operator"]
PODS = ["logs", "exec", "evict", "bind"]


def test_client_go_writes_every_kind():
    claim(*KINDS)


def test_client_go_watches():
    claim(*WATCHES)


def test_operators_elect_a_leader_and_reconcile():
    claim(*OPERATORS)


def test_client_go_runs_pods():
    claim(*PODS)


def test_protobuf_says_what_json_says():
    """Objects with every field filled, encoded both ways by the Go types, and the protobuf decoded by Mete."""
    r = execute([program(CLIENTS), "encodings", os.path.join(BUILD, "tests", "unit", "protobuf_json")], deadline_s=120)
    check(r.code == 0 and r.out.startswith("ok "), r)


def test_the_tables_are_those_of_the_go_types():
    with open(os.path.join(ROOT, "src", "kinds", "wire", "protobuf_fields.c"), encoding="utf-8") as f:
        r = execute([program(TABLES)], deadline_s=60)
        equal((r.code, r.out == f.read()), (0, True), "run build/go/tables > src/kinds/wire/protobuf_fields.c")


def test_go_nvml_reads_and_divides_emulated_gpus():
    drivers = os.path.join(BUILD, "gpusim")
    with tempfile.TemporaryDirectory(prefix="mete-test-") as directory:
        machine = os.path.join(directory, "machine.bin")
        equal(execute([os.path.join(drivers, "gpusim"), "compile", "2xH100", machine]).code, 0)
        r = execute([program(NVML)], env={**os.environ, "LD_LIBRARY_PATH": drivers, "METE_GPUSIM_MACHINE": machine, "METE_GPUSIM_ALL": "1"})
        gpu = "NVIDIA H100 80GB HBM3 81559"
        equal((r.code, r.out.splitlines()), (0, [gpu, gpu, "32 GPU- MIG-"]), r)
