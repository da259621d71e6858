"""srun --mpi=pmix: tasks that speak PMIx by Debian's libpmix (pmix_client.c), on one node and over two."""

import json
import os
import re
import shutil
import subprocess
import tempfile

from harness import BUILD, METE, Mete, check, equal, execute_as, wait
from test_nodes import Node, is_ready, port_of, token
from test_slurm_commands import Slurm
from test_slurm_nodes import network_of_its_own
from test_tenant_slurm import program_for_all

UID = 5  # games of Debian's passwd: no login


def program(s, name):
    """A program of the build in the directory of the test, which every user may enter."""
    return shutil.copy(os.path.join(BUILD, "tests", "system", name), s.dir)


def says(where, values):
    """The lines of the tasks: `where` has, by rank, the place on its node and the ranks there."""
    return sorted(f"{rank} of {len(where)}, {place} of {peers}: {values}" for rank, (place, peers) in enumerate(where))


def whole(client, where, s, *words, out=None):
    n = len(where)
    r = s.call("srun", "-O", "-n", str(n), "--mpi=pmix", *words[:-1], client, *words[-1].split())
    values = " ".join(f"v{i}" for i in range(n)) if out is None else out
    equal((r.code, sorted(x for x in r.out.splitlines() if " of " in x), r.err), (0, says(where, values), ""), r)
    return r


def test_tasks_speak_pmix():
    with Mete("none") as m:
        s = Slurm(m)
        client = program(s, "pmix_client")
        where = [(i, "0,1,2,3") for i in range(4)]
        whole(client, where, s, "")
        whole(client, where, s, "--mpi=pmix_v4", "direct")
        equal(whole(client, where, s, "spawn").out.count("NOT-SUPPORTED\n"), 4)
        whole(client, where, s, "part")
        equal(s.ok("srun", "--mpi=pmix", "sh", "-c", "echo $PMIX_RANK"), "0\n", "no task needs to speak it")
        equal(s.call("srun", "--mpi=pmix", "-n2", "-O", "sh", "-c", "exit $((3 + SLURM_PROCID))").code, 4)
        equal(s.ok("srun", "sh", "-c", "echo ${PMIX_RANK-none}", env={"PMIX_RANK": "3", "SLURM_MPI_TYPE": "none"}.items()), "none\n")
        equal(s.ok("srun", "--mpi=pmix", "cat", stdin="input\n"), "input\n", "what comes before the tasks is kept")
        ends(s, client, 4)
        is_closed_to_others(s, client)
        says_what_is_missing(s)
        serves_another_user(m, client)


def servers():
    """Processes of PMIx servers of the user that is no administrator."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")
            if words[1:3] == [b"step", b"pmix"] and os.stat(f"/proc/{pid}").st_uid == UID:
                found.append(int(pid))
        except OSError:
            continue  # it has ended
    return found


def serves_another_user(m, client):
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o755)
        copy = shutil.copy(client, home)
        r = execute_as(UID, UID, [METE, "srun", "-O", "-n2", "--mpi=pmix", "-D", "/", copy], env=m.env)
        equal((r.code, sorted(r.out.splitlines()), r.err), (0, says([(0, "0,1"), (1, "0,1")], "v0 v1"), ""), r)
        mete = program_for_all(m)
        p = subprocess.Popen([mete, "srun", "--mpi=pmix", "-D", "/", "sleep", "1000"], env=m.env, user=UID, group=UID, extra_groups=[], cwd="/",
                             stderr=subprocess.DEVNULL)
        try:
            wait(servers, "a PMIx server runs")
        finally:
            p.kill()
            p.wait()
        wait(lambda: servers() == [], "it ends with srun")


def ends(s, client, n, *words):
    """A task that will not come to the fence ends the step. libpmix opens the fence for the others: their ends may be seen first."""
    for word, why in (("die", r"\d: it ended before PMIx_Finalize"), ("leave", r"\d: it ended before PMIx_Finalize"), ("abort", f"{n - 1}: code 7: no more")):
        r = s.call("srun", "-O", "-n", str(n), *words, "--mpi=pmix", client, word)
        why = why.replace(": ", " ends the step: ", 1)
        check(r.code != 0 and re.search(rf"srun: error: \S+: task {why}\n", r.err), word, r)


def is_closed_to_others(s, client):
    """libpmix listens on an address of the machine, and believes the uid that a client names: the name of the step is its
    secret. A client of another user does not know it; with the name, libpmix refuses the uid."""
    out = os.path.join(s.dir, "environment")
    job = s.submit("-o", "/dev/null", "--wrap", f"{s.links}/srun --mpi=pmix sh -c 'env >{out}.new; mv {out}.new {out}; exec sleep 1000'")
    wait(lambda: os.path.exists(out), "the task runs")
    env = dict(line.split("=", 1) for line in open(out).read().splitlines() if line.startswith("PMIX_"))
    check(re.fullmatch(rf"slurm\.pmix\.{job}\.0\.[0-9a-f-]{{36}}", env["PMIX_NAMESPACE"]), env)
    check(all(";tcp4://127.0.0.1:" in uri for name, uri in env.items() if name.startswith("PMIX_SERVER_URI")), env)
    liar = program(s, "pmix_liar")
    guess = {**env, "PMIX_NAMESPACE": f"slurm.pmix.{job}.0"}
    for other, variables in ((client, env), (client, guess), (liar, guess)):
        r = execute_as(UID, UID, [other], env={**os.environ, **variables})
        check(r.code == 9 and "init: " in r.err and not r.out, r)
    s.ok("scancel", job)
    s.wait_state(job, "CANCELLED")


def says_what_is_missing(s):
    """The manager of a step, where libpmix is not."""
    plan = {"env": [], "argv": ["true"], "cwd": "/", "tasks": [{"rank": 0, "env": []}],
            "pmix": {"space": "x", "job": "1.0", "size": 1, "node": 0, "nodes": ["n"], "ranks": ["0"]}}
    where = subprocess.run(["pkg-config", "--variable=libdir", "pmix"], check=True, capture_output=True, text=True).stdout.strip()
    command = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs none {where} && exec {METE} step"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        p.stdin.write(json.dumps(plan).encode() + b"\n")
        p.stdin.flush()
        said = p.stdout.read()  # to its end: the manager ends with its failure
    check(b"--mpi=pmix: libpmix.so.2 is not installed: apt install libpmix2" in said, said)


def test_tasks_of_two_nodes_speak_pmix():
    with network_of_its_own("second") as (space, cable, here, there), Mete("none", ["--listen", f"{here}:0"]) as m:
        s = Slurm(m)
        client = program(s, "pmix_client")
        first = m.object("nodes")["items"][0]["metadata"]["name"]
        last = "zz-" + first
        with Node(m, port_of(m), last, "none", host=here, space=space) as node:
            node.start(token(m))
            wait(lambda: is_ready(m, last), "the node is ready")
            block = [(0, "0,1"), (1, "0,1"), (0, "2,3"), (1, "2,3")]
            cyclic = [(0, "0,2"), (0, "1,3"), (1, "0,2"), (1, "1,3")]
            whole(client, block, s, "-N2", "")
            whole(client, cyclic, s, "-N2", "-m", "cyclic", "direct")
            whole(client, block, s, "-N2", "part")
            whole(client, cyclic, s, "-N2", "-m", "cyclic", "part")
            equal(whole(client, block, s, "-N2", "late").out.count("late here\n"), 3, "a key that was put behind the fence")
            for word in ("never", "mute"):
                r = s.call("srun", "-O", "-N2", "-n4", "--mpi=pmix", client, word)
                equal((r.code, r.out.count("never NOT-FOUND\n"), r.err), (0, 1, ""), r)
            whole(client, block, s, "-N2", "large=2000000", out=" ".join(f"{c}2000000" for c in "abcd"))
            r = s.call("srun", "-O", "-N2", "-n4", "--mpi=pmix", client, "large=34000000")
            check(r.code != 0 and re.search(r"the tasks have put \d+ bytes for PMIx: at most 67108864", r.err), r)
            ends(s, client, 4, "-N2")
