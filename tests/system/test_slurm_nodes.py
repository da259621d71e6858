"""Slurm jobs on several nodes: started together, listed as one job, ended together, and begun anew only when all is over."""

import json
import os
import signal

from harness import Mete, check, equal, wait
from test_nodes import Node, Relay, is_ready, port_of, token
from test_slurm_commands import Slurm


def pods(m):
    """The nodes of pods by their names, and whether they have ended."""
    return {p["metadata"]["name"]: p["spec"].get("nodeName") for p in m.read("/api/v1/namespaces/default/pods")["items"]}


def ended_or_leaving(m):
    """Names of pods that are over, or are being deleted."""
    return [p["metadata"]["name"] for p in m.read("/api/v1/namespaces/default/pods")["items"]
            if p["status"].get("phase") in ("Failed", "Succeeded") or "deletionTimestamp" in p["metadata"]]


def state(m):
    """The state of the only job, by a request alone: this is asked often."""
    return m.read("/apis/mete.dev/v1/namespaces/default/slurmjobs")["items"][0]["status"].get("state")


def variables(s, name):
    return dict(line.split("=", 1) for line in s.text(name).splitlines() if "=" in line)


def test_a_job_runs_on_two_nodes():
    with Mete("emulated:2xH100") as m:
        s = Slurm(m)
        with Node(m, port_of(m), gpus="emulated:2xH100") as node:
            node.start(token(m))
            wait(lambda: is_ready(m, "second"), "the node is ready")
            first = next(n["metadata"]["name"] for n in m.object("nodes")["items"] if n["metadata"]["name"] != "second")
            nodes = sorted([first, "second"])
            a_job_sees_its_nodes(s, m, nodes)
            an_array_and_its_ends(s, m)
            requests(s, nodes)


def a_job_sees_its_nodes(s, m, nodes):
    s.write("two.sh", "#!/bin/sh\n#SBATCH -N 2 --ntasks-per-node=4 -O --gpus-per-node=1 --mem=64M -o two.out\nenv\n"
                      "while [ ! -e go ]; do sleep 0.1; done\n")
    job = s.submit("two.sh")
    wait(lambda: os.path.exists(os.path.join(s.dir, "two.out")) and "SLURM_JOB_ID" in s.text("two.out"), "the script runs")
    env = variables(s, "two.out")
    listed = s.ok("squeue", "-h", "-j", job, "-o", "%N").strip()
    equal(s.ok("scontrol", "show", "hostnames", listed).split(), nodes)
    want = {"SLURM_JOB_NODELIST": listed, "SLURM_NODELIST": listed, "SLURM_NNODES": "2", "SLURM_JOB_NUM_NODES": "2",
            "SLURM_TASKS_PER_NODE": "4(x2)", "SLURM_JOB_CPUS_PER_NODE": "1(x2)", "SLURM_NTASKS": "8", "SLURM_NTASKS_PER_NODE": "4",
            "SLURM_NODEID": "0", "SLURMD_NODENAME": nodes[0], "SLURM_GPUS_ON_NODE": "1", "SLURM_MEM_PER_NODE": "64"}
    equal({k: env.get(k) for k in want}, want)
    equal(s.ok("squeue", "-h", "-j", job, "-o", "%D|%C|%T|%b").strip(), "2|2|RUNNING|gres/gpu:1")
    equal(sorted(pods(m).values()), nodes)
    shown = s.ok("scontrol", "-d", "show", "job", job)
    check(f"NodeList={listed} BatchHost={nodes[0]}" in shown.replace("\n   ", " ") and "NumNodes=2 NumCPUs=2 NumTasks=8" in shown, shown)
    check(f"Nodes={listed} CPU_IDs= Mem=64" in shown, shown)
    check("AllocTRES=cpu=2,mem=128M,node=2,billing=2,gres/gpu=2" in shown, shown)
    s.write("go", "")
    s.wait_state(job, "COMPLETED")
    wait(lambda: not pods(m), "no pod is left")
    fields = "JobID,State,NNodes,NodeList,AllocCPUS,AllocTRES"
    row = s.ok("sacct", "-n", "-P", "-X", "-j", job, "-o", fields).splitlines()
    equal(row, [f"{job}|COMPLETED|2|{listed}|2|cpu=2,mem=128M,node=2,billing=2,gres/gpu=2"])
    equal(len(s.ok("sacct", "-n", "-P", "-j", job, "-o", "JobID").splitlines()), 2)
    wait(lambda: len([r for r in m.read(f"/apis/mete.dev/v1/accounting?ids={job}")["items"]]) == 2, "each node is charged")


def an_array_and_its_ends(s, m):
    job = s.submit("-N2", "-a0-2%1", "-o", "end-%a", "--wrap", "exit $SLURM_ARRAY_TASK_ID")
    wait(lambda: set(s.states(job).values()) == {"COMPLETED", "FAILED"} and len(s.states(job)) == 3, "the array ended", 120)
    equal(s.states(job), {f"{job}_0": "COMPLETED", f"{job}_1": "FAILED", f"{job}_2": "FAILED"})
    job = s.submit("-N2", "--wrap", "sleep 1000")
    s.wait_state(job, "RUNNING")
    waiting = s.submit("-N2", "--exclusive", "--wrap", "true")
    wait(lambda: s.ok("squeue", "-h", "-j", waiting, "-o", "%r").strip() == "Resources", "the next job waits for both nodes")
    check("2 pods" in m.mete("why", waiting).out or "2 nodes" in m.mete("why", waiting).out, m.mete("why", waiting))
    s.ok("scancel", job)
    s.wait_state(job, "CANCELLED")
    s.wait_state(waiting, "COMPLETED")
    wait(lambda: not pods(m), "no pod is left")


def requests(s, nodes):
    equal(s.ok("sbatch", "--parsable", "-w", ",".join(nodes), "--wrap", "true").strip().isdigit(), True)
    job = s.submit("-N2", "-w", nodes[1], "-o", "listed", "--wrap", "echo $SLURM_JOB_NODELIST $SLURM_NNODES")
    s.wait_state(job, "COMPLETED")
    equal(s.text("listed"), f"{nodes[1]},{nodes[0]} 2\n")
    for words, want in ((["-N3"], "Requested node configuration is not available"),
                        (["-N1", "-w", ",".join(nodes)], "Node count specification invalid"),
                        (["-N2", "--contiguous"], "--contiguous is not available yet"),
                        (["-N2", "--switches=1"], "--switches is not available yet"),
                        (["--spread-job"], "--spread-job is not available yet")):
        r = s.call("sbatch", *words, "--wrap", "true")
        check(r.code == 1 and want in r.err, words, r)
    job = s.submit("-n2", f"--cpus-per-task={os.cpu_count()}", "-o", "spread", "--wrap", "echo $SLURM_NNODES $SLURM_TASKS_PER_NODE")
    s.wait_state(job, "COMPLETED")
    equal(s.text("spread"), "2 1(x2)\n")


def test_a_lost_node_ends_the_job_on_both_nodes_before_it_starts_anew():
    with Mete("none") as m:
        s = Slurm(m)
        relay = Relay(port_of(m))
        with Node(m, relay.port, gpus="none") as node:
            node.start(token(m))
            wait(lambda: is_ready(m, "second"), "the node is ready")
            s.write("two.sh", "#!/bin/sh\n#SBATCH -N 2 -o out-%r\nflock -n lock sh -c 'echo $SLURM_RESTART_COUNT $SLURM_NODEID\n"
                              "[ -n \"$SLURM_RESTART_COUNT\" ] || exec sleep 1000'\n")
            job = s.submit("two.sh")
            wait(lambda: state(m) == "RUNNING", "it runs")
            os.kill(m.child("server"), signal.SIGKILL)
            wait(lambda: len(pods(m)) == 2, "the pods are there after the server's restart")
            for name in pods(m):  # the node's loss ends the pods at once
                m.ok("patch", "pod", name, "--type=json", "-p", json.dumps([{"op": "add", "path": "/spec/tolerations/0", "value": {
                    "key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}}]))
            relay.cut()
            wait(lambda: ended_or_leaving(m), "the job ends", 240)
            os.kill(m.child("server"), signal.SIGKILL)
            wait(lambda: len(ended_or_leaving(m)) == 2, "the job ends on the other node, too", 60)
            equal([n for n in pods(m) if "-r1" in n], [], "nothing starts before the second node's pod is over")
            relay.mend()
            wait(lambda: state(m) == "COMPLETED", "it ran again", 120)
            equal(s.text("out-1"), "1 0\n", "it ran once more")
            rows = m.read(f"/apis/mete.dev/v1/accounting?ids={job}")["items"]
            equal(sorted((r["slurm"]["restarts"], r["slurm"]["rank"]) for r in rows), [(0, 0), (0, 1), (1, 0), (1, 1)])
            states = s.ok("sacct", "-n", "-P", "-X", "-D", "-j", job, "-o", "State").split()
            equal(states, ["NODE_FAIL", "COMPLETED"])
