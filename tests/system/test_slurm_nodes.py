"""Slurm jobs on several nodes: started together, listed as one job, ended together, and begun anew only when all is over."""

import contextlib
import json
import os
import pwd
import shutil
import signal
import sys
import tempfile

from harness import METE, Mete, check, equal, execute, execute_as, wait
from test_nodes import Node, is_ready, port_of, token
from test_slurm_commands import Slurm
from test_slurm_steps import PMI


WAITING = ["test_ranks_of_two_machines_meet_also_after_one_was_lost"]

def pods(m):
    """The nodes of pods by their names, and whether they have ended."""
    return {p["metadata"]["name"]: p["spec"].get("nodeName") for p in m.read("/api/v1/namespaces/default/pods")["items"]}


def ended_or_leaving(m):
    """Names of pods that are over, or are being deleted."""
    return [p["metadata"]["name"] for p in m.read("/api/v1/namespaces/default/pods")["items"]
            if p["status"].get("phase") in ("Failed", "Succeeded") or "deletionTimestamp" in p["metadata"]]


def states(m):
    """The states of the jobs by their names, by one request: this is asked often."""
    return {j["spec"]["name"]: j["status"].get("state") for j in m.read("/apis/mete.dev/v1/namespaces/default/slurmjobs")["items"]}


def tolerate_no_loss(m, name):
    """The loss of its node ends the pod as soon as it is certain, and not 5 minutes later."""
    m.ok("patch", "pod", name, "--type=json", "-p", json.dumps([{"op": "add", "path": "/spec/tolerations/0", "value": {
        "key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}}]))


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
            an_allocation(s, m, nodes)
            components_run_together(s, m, nodes)
            components_end_together(s, m)
            components_of_a_command_line(s, nodes)
            a_script_on_the_other_machine_reaches_the_server(m, node, first)
            a_job_is_suspended_on_both_nodes(s, m)


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
    equal(row, [f"{job}|COMPLETED|2|{listed}|2|billing=2,cpu=2,gres/gpu=2,mem=128M,node=2"])
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


def a_job_is_suspended_on_both_nodes(s, m):
    """A QOS suspends another: the job stops on both nodes, also where nobody uses its cpus, and goes on with its step."""
    m.ok("apply", "-f", "-", stdin=json.dumps({"apiVersion": "mete.dev/v1", "kind": "SlurmConfig", "metadata": {"name": "default"},
                                               "spec": {"settings": {"PreemptType": "preempt/qos", "PreemptMode": "SUSPEND,GANG"}}}))
    s.ok("sacctmgr", "-i", "add", "qos", "high", "Preempt=normal")
    cpus = os.cpu_count()

    def count(name):
        path = os.path.join(s.dir, name)
        return len(s.text(name).splitlines()) if os.path.exists(path) else 0
    s.write("count.sh", "#!/bin/sh\nwhile [ ! -e $1.end ]; do echo x >>$1$SLURM_NODEID; sleep 0.05; done\n")
    step = m.spawn([METE, "srun", "-J", "low", "-N2", f"-c{cpus}", "-D", s.dir, "sh", "count.sh", "low"])
    wait(lambda: count("low0") and count("low1"), "the low job runs on both nodes")
    low = s.ok("squeue", "-h", "-n", "low", "-o", "%i").strip()
    high = s.submit("-N1", f"-c{cpus}", "-w", "second", "--qos=high", "--wrap", "sh count.sh high")
    wait(lambda: s.states(low) == {low: "SUSPENDED"} and s.states(high) == {high: "RUNNING"} and count("high0"), "the high job runs", 60)
    before = count("low0"), count("low1")
    ran = count("high0")
    wait(lambda: count("high0") > ran + 10, "the high job goes on")
    equal((count("low0"), count("low1")), before)
    s.write("high.end", "")
    wait(lambda: s.states(low) == {low: "RUNNING"} and count("low0") > before[0] and count("low1") > before[1], "the low job goes on", 60)
    s.write("low.end", "")
    out, err = step.communicate(timeout=60)
    equal((step.returncode, out, err), (0, "", ""))
    s.wait_state(low, "COMPLETED")
    s.wait_state(high, "COMPLETED")


def an_allocation(s, m, nodes):
    out = s.ok("srun", "-N2", "--ntasks-per-node=2", "-O", "-l", "-J", "made", "printenv", "SLURMD_NODENAME")
    equal(sorted(out.splitlines()), [f"{r}: {nodes[r // 2]}" for r in range(4)])
    wait(lambda: states(m)["made"] == "COMPLETED", "the allocation ended")
    row = s.ok("sacct", "-n", "-P", "-X", "--name=made", "-o", "State,NNodes,NodeList,ExitCode").splitlines()
    equal(row, [f"COMPLETED|2|{nodes[0]},{nodes[1]}|0:0"])
    equal(s.call("srun", "-N2", "sh", "-c", "exit $((SLURM_PROCID + 3))").code, 4, "the largest code of all nodes")
    s.write("pmi.py", PMI)
    out = s.ok("srun", "-N2", "--ntasks-per-node=2", "-O", "--mpi=pmi2", sys.executable, "pmi.py")
    equal(sorted(out.splitlines()), [f"{r} v0 v1 v2 v3 (vector,(0,2,2))" for r in range(4)], "the tasks of both nodes met")
    wait(lambda: not pods(m), "no pod is left")


UID = 5  # games of Debian's passwd: no login


def a_script_on_the_other_machine_reaches_the_server(m, node, first):
    """As the user of the job, without a kubeconfig."""
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o755)
        os.chown(home, UID, UID)
        for name in ("mete", "mete-slurm"):
            shutil.copy(os.path.join(os.path.dirname(METE), name), home)
        for name in ("srun", "squeue", "scontrol", "scancel"):
            os.symlink("mete-slurm", os.path.join(home, name))
        path = os.path.join(home, "out")
        script = (f"#!/bin/sh\nexec 2>&1\nPATH={home}:$PATH\nsqueue -h -j $SLURM_JOB_ID -o '%u %N'\nsrun -l printenv SLURMD_NODENAME\n"
                  f"scontrol show hostnames\nscancel $OTHER; echo $?\nsrun head -c 3000000 /dev/zero | (sleep 0.2; wc -c)\necho end; sleep 1000\n")
        other = m.mete("sbatch", "--parsable", "-H", "--wrap", "true").out.strip()
        env = {**m.env, "OTHER": other}
        r = execute_as(UID, UID, [METE, "sbatch", "--parsable", "-N2", "-w", node.name, "-D", home, "-o", path], env=env, stdin=script)
        check(r.code == 0, r)
        wait(lambda: os.path.exists(path) and open(path).read().endswith("end\n"), "the script's commands ended", 120)
        lines = open(path).read().splitlines()
        user = pwd.getpwuid(UID).pw_name
        equal((lines[0], sorted(lines[1:3]), sorted(lines[3:5])),
              (f"{user} {node.name},{first}", [f"0: {node.name}", f"1: {first}"], sorted([node.name, first])), lines)
        equal(lines[5:7], [f"scancel: error: Kill job error on job id {other}: Access/permission denied", "1"], lines)
        equal(lines[-2:], ["6000000", "end"], lines)
        there = {**os.environ, "METE_DATA": node.data}
        equal(execute_as(UID, UID, [METE, "squeue", "-h", "--me", "-o", "%u"], env=there).out, f"{user}\n", "while the job runs")
        r = execute([METE, "squeue"], env=there)
        check(r.code == 1 and "uid 0 has no Slurm job on this node" in r.err, r)
        equal(m.mete("scancel", jobs_of(m, user), other).code, 0)
        wait(lambda: "has no Slurm job" in execute_as(UID, UID, [METE, "squeue"], env=there).err, "the door is closed behind the job", 60)
        wait(lambda: not pods(m), "no pod is left")


def jobs_of(m, user):
    return m.mete("squeue", "-h", "-u", user, "-o", "%i").out.strip()


def requests(s, nodes):
    equal(s.ok("sbatch", "--parsable", "-w", ",".join(nodes), "--wrap", "true").strip().isdigit(), True)
    job = s.submit("-N2", "-w", nodes[1], "-o", "listed", "--wrap", "echo $SLURM_JOB_NODELIST $SLURM_NNODES")
    s.wait_state(job, "COMPLETED")
    equal(s.text("listed"), f"{nodes[1]},{nodes[0]} 2\n")
    for words, want in ((["-N3"], "Requested node configuration is not available"),
                        (["-N1", "-w", ",".join(nodes)], "Node count specification invalid"),
                        (["-N2", "--contiguous", "-x", nodes[0]], "excludeNodes: Forbidden: is not available with contiguous nodes")):
        r = s.call("sbatch", *words, "--wrap", "true")
        check(r.code == 1 and want in r.err, words, r)
    equal(s.call("sbatch", "--test-only", "-N2", "--wrap", "true").err.split(" using ")[1],
          f"2 processors on nodes {s.ok('scontrol', 'show', 'hostlist', ','.join(nodes)).strip()} in partition main\n")
    job = s.submit("-N2", "--contiguous", "-o", "near", "--wrap", "echo $SLURM_JOB_NODELIST")
    s.wait_state(job, "COMPLETED")
    equal(sorted(s.ok("scontrol", "show", "hostnames", s.text("near").strip()).split()), sorted(nodes))
    job = s.submit("-n2", f"--cpus-per-task={os.cpu_count()}", "-o", "spread", "--wrap", "echo $SLURM_NNODES $SLURM_TASKS_PER_NODE")
    s.wait_state(job, "COMPLETED")
    equal(s.text("spread"), "2 1(x2)\n")
    for least, want in (("1-2", "2 1(x2)\n"), ("1", "1 2\n")):
        job = s.submit("-n2", "-O", "-N", least, "--spread-job", "-o", "spread", "--wrap", "echo $SLURM_NNODES $SLURM_TASKS_PER_NODE")
        s.wait_state(job, "COMPLETED")
        equal(s.text("spread"), want, least)


HET = """#!/bin/sh
#SBATCH -J lead -N1 -n1 --gpus-per-node=1 --mem=32M -o het.out
#SBATCH hetjob
#SBATCH -J work -N2 --ntasks-per-node=2 -O --mem=64M
env
export METE_DATA=$HOME_OF_METE PATH=$LINKS:$PATH
srun -l printenv SLURMD_NODENAME >of-lead
srun --het-group=1 -l printenv SLURMD_NODENAME >of-work
srun -o joined-1 sh -c 'echo $SLURM_PROCID $SLURM_NTASKS $SLURM_JOB_ID $SLURM_STEP_NUM_NODES' : -o joined-2 sh -c 'echo $SLURM_PROCID'
while [ ! -e go-on ]; do sleep 0.1; done
"""


def components_run_together(s, m, nodes):
    s.write("het.sh", HET)
    # The second node's door is not for administrators.
    job = s.submit("het.sh", env={"LINKS": s.links, "HOME_OF_METE": m.data}.items())
    wait(lambda: os.path.exists(os.path.join(s.dir, "joined-2")) and len(s.text("joined-2").splitlines()) == 4, "the steps ran", 60)
    env, second = variables(s, "het.out"), str(int(job) + 1)
    both = s.ok("squeue", "-h", "-j", f"{job}+1", "-o", "%N").strip()
    equal(s.ok("scontrol", "show", "hostnames", both).split(), nodes)
    lead = env["SLURMD_NODENAME"]
    want = {"SLURM_HET_SIZE": "2", "SLURM_JOB_ID": job, "SLURM_JOB_NODELIST": lead, "SLURM_NNODES": "1", "SLURM_JOB_NAME": "lead",
            "SLURM_JOB_ID_HET_GROUP_0": job, "SLURM_JOB_ID_HET_GROUP_1": second, "SLURM_JOB_NODELIST_HET_GROUP_0": lead,
            "SLURM_JOB_NODELIST_HET_GROUP_1": both, "SLURM_NNODES_HET_GROUP_1": "2", "SLURM_NTASKS_HET_GROUP_1": "4",
            "SLURM_MEM_PER_NODE_HET_GROUP_0": "32", "SLURM_MEM_PER_NODE_HET_GROUP_1": "64"}
    equal({k: env.get(k) for k in want}, want)
    equal(s.text("of-lead"), f"0: {lead}\n")
    equal(sorted(s.text("of-work").splitlines()), [f"{r}: {nodes[r // 2]}" for r in range(4)])
    equal(s.text("joined-1"), f"0 5 {job} 3\n")
    equal(sorted(s.text("joined-2").split()), ["1", "2", "3", "4"])
    rows = [f"{job}+0|lead|R|1|{lead}", f"{job}+1|work|R|2|{both}"]
    equal(s.ok("squeue", "-h", "-j", job, "-o", "%i|%j|%t|%D|%N").splitlines(), rows)
    equal(s.ok("squeue", "-h", "-j", second, "-o", "%i|%j|%t|%D|%N").splitlines(), rows[1:])
    shown = s.ok("scontrol", "show", "job", job)
    check(f"JobId={second} HetJobId={job} HetJobOffset=1 JobName=work" in shown and f"HetJobIdSet={job}-{second}" in shown, shown)
    for words in (["scancel", f"{job}+1"], ["scancel", second], ["scontrol", "requeue", second]):
        r = s.call(*words)
        check(r.code == 1 and f"with its job {job}" in r.err, words, r)
    s.write("go-on", "")
    s.wait_state(job, "COMPLETED")
    wait(lambda: not pods(m), "no pod is left")
    want = [f"{job}+0|{job}|lead|COMPLETED|1|0:0", f"{job}+0.batch|{job}.batch|batch|COMPLETED|1|0:0",
            f"{job}+0.0|{job}.0|printenv|COMPLETED|1|0:0", f"{job}+0.2|{job}.2|sh|COMPLETED|3|0:0",
            f"{job}+1|{second}|work|COMPLETED|2|0:0", f"{job}+1.1|{second}.1|printenv|COMPLETED|2|0:0"]
    equal(s.ok("sacct", "-n", "-P", "-j", job, "-o", "JobID,JobIDRaw,JobName,State,NNodes,ExitCode").splitlines(), want)
    equal(s.ok("sacct", "-n", "-P", "-X", "-j", f"{job}+1", "-o", "JobID").split(), [f"{job}+1"])
    charged = {r["jobId"]: r["state"] for r in m.read(f"/apis/mete.dev/v1/accounting?ids={job}")["items"]}
    equal(charged, {int(job): "COMPLETED", int(second): "COMPLETED"})


def components_end_together(s, m):
    wide = f"--cpus-per-task={os.cpu_count()}"
    job = s.submit(wide, ":", wide, "--wrap", "sleep 1000")
    s.wait_state(job, "RUNNING")
    waiting = s.submit("-d", f"afterany:{job}", "-n1", "-o", "last.out", ":", "-n1", "-J", "last", "--wrap",
                       "echo $SLURM_RESTART_COUNT; [ -n \"$SLURM_RESTART_COUNT\" ] || METE_DATA=" + m.data + " " + s.links + "/scontrol requeue $SLURM_JOB_ID && sleep 1000")
    full = s.submit("-n1", ":", wide, "--wrap", "true")
    wait(lambda: s.ok("squeue", "-h", "-j", full, "-o", "%i %t %r").splitlines() ==
         [f"{full}+0 PD Resources", f"{full}+1 PD Resources"], "no component starts without the other")
    s.ok("scancel", full)
    wait(lambda: s.ok("sacct", "-n", "-P", "-X", "-j", full, "-o", "JobID,State").splitlines() ==
         [f"{full}+{i}|CANCELLED by 0" for i in range(2)], "both are cancelled")
    equal(s.ok("squeue", "-h", "-j", waiting, "-o", "%i %r").splitlines(), [f"{waiting}+{i} Dependency" for i in range(2)])
    s.ok("scancel", job)
    wait(lambda: s.states(waiting) == {f"{waiting}+{i}": "RUNNING" for i in range(2)} and
         os.path.exists(os.path.join(s.dir, "last.out")) and s.text("last.out").strip() == "1", "the job was begun anew", 60)
    s.ok("scancel", waiting)
    wait(lambda: not pods(m), "no pod is left")


def components_of_a_command_line(s, nodes):
    out = s.ok("srun", "-l", "-n1", ":", "-N2", "-n2", "sh", "-c", "echo $SLURM_PROCID $SLURM_NTASKS")
    equal(sorted(out.splitlines()), [f"{r}: {r} 3" for r in range(3)])
    out = s.ok("salloc", "-n1", ":", "-N2", "sh", "-c", "echo $SLURM_HET_SIZE $SLURM_JOB_NODELIST_HET_GROUP_1; " + s.links + "/srun --het-group=0-1 hostname")
    equal(out.splitlines()[0], f"2 {','.join(nodes)}")
    equal(len(out.splitlines()), 4)
    equal(s.call("srun", "-n1", "true", ":", "-n1", "sh", "-c", "exit 7").code, 7)
    for words, want in ((["-a0-1", "-n1", ":", "-n1"], "Invalid job array specification"),
                        (["-t1", ":", "-t2"], "components with another 'timeLimitMinutes'"),
                        (["-n1", ":", "-N9"], "Requested node configuration is not available")):
        r = s.call("sbatch", *words, "--wrap", "true")
        check(r.code == 1 and want in r.err, words, r)
    r = s.call("srun", "--het-group=0", "-w", nodes[0], "true")
    check(r.code == 1 and "not heterogeneous" in r.err, r)


RANK = """
import os, socket, sys, time
e = os.environ
rank, size, master = int(e["SLURM_PROCID"]), int(e["SLURM_NTASKS"]), sys.argv[1]
port = 15000 + int(e["SLURM_JOB_ID"][-4:])  # as PyTorch Lightning chooses it
if rank == 0:
    server = socket.create_server((master, port), backlog=size)
    peers = [server.accept()[0] for _ in range(size - 1)]
    total = sum(int(p.recv(64)) for p in peers)
    for p in peers:
        p.sendall(b"%d" % total)
else:
    for _ in range(600):
        try:
            s = socket.create_connection((master, port))
            break
        except OSError:
            time.sleep(0.1)
    s.sendall(b"%d" % rank)
    total = int(s.recv(64))
words = rank, e["SLURM_LOCALID"], e["SLURM_NODEID"], e["SLURMD_NODENAME"], e["SLURM_NTASKS_PER_NODE"], total
os.write(1, (" ".join(map(str, words)) + chr(10)).encode())
if e.get("SLURM_RESTART_COUNT") != "1":
    time.sleep(100000)
"""


@contextlib.contextmanager
def network_of_its_own(name):
    """A network namespace that reaches this one by a cable: the names of the namespace and of the cable's end here, and
    both addresses."""
    number = os.getpid() % 16384
    here, there = (f"10.213.{number // 64}.{number % 64 * 4 + i}" for i in (1, 2))
    space, cable = f"mete-{os.getpid()}-{name}", f"mete{number}"
    try:
        for words in (f"netns add {space}", f"link add {cable} type veth peer name {cable}p netns {space}",
                      f"addr add {here}/30 dev {cable}", f"link set {cable} up", f"-n {space} link set lo up",
                      f"-n {space} addr add {there}/30 dev {cable}p", f"-n {space} link set {cable}p up",
                      f"-n {space} route add default via {here}"):
            r = execute(["ip", *words.split()])
            check(r.code == 0, words, r)
        yield space, cable, here, there
    finally:
        execute(["ip", "link", "del", cable])
        execute(["ip", "netns", "del", space])


def test_ranks_of_two_machines_meet_also_after_one_was_lost():
    """As torchrun and Lightning do: the first node of the list is the address at which the tasks of all nodes meet. Another
    job has its script on the machine that is lost."""
    with network_of_its_own("second") as (space, cable, here, there), Mete("none", ["--listen", f"{here}:0", "--cpus", "5"]) as m:
        s = Slurm(m)
        first = m.object("nodes")["items"][0]["metadata"]["name"]
        last = "zz-" + first  # in the order of names
        s.write("rank.py", RANK)
        s.write("train.sh", "#!/bin/sh\n#SBATCH -N 2 --ntasks-per-node=4 -J train -o out-%r\n"
                            "set -e\nhead=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)\n"
                            f"[ $head = {first} ]\nsrun {sys.executable} rank.py {here}\n")
        s.write("there.sh", f"""#!/bin/sh
#SBATCH -N 2 -w {last} -J there -o there-%r
flock -n lock sh -c '
    echo "$SLURM_RESTART_COUNT $SLURMD_NODENAME"
    [ -n "$SLURM_RESTART_COUNT" ] || exec sleep 1000
    export METE_KUBECONFIG={m.data}/kubeconfig
    scontrol show hostnames $(squeue -h -j $SLURM_JOB_ID -o %N)
    srun -l printenv SLURMD_NODENAME'
""")
        with Node(m, port_of(m), last, "none", host=here, space=space, arguments=["--cpus", "5"]) as node:
            node.start(token(m))
            wait(lambda: is_ready(m, last), "the node is ready")
            address = next(a["address"] for a in m.read(f"/api/v1/nodes/{last}")["status"]["addresses"] if a["type"] == "InternalIP")
            equal(address, there, "the node is in its own network")
            jobs = [s.submit(x, env={"PATH": s.links + ":" + os.environ["PATH"]}) for x in ("train.sh", "there.sh")]
            wait(lambda: len(lines(s, "out-0")) == 8 and lines(s, "there-0"), "all ranks met")
            want = sorted(f"{r} {r % 4} {r // 4} {(first, last)[r // 4]} 4 {sum(range(8))}" for r in range(8))
            equal(sorted(lines(s, "out-0")), want)
            loses_the_node_and_gets_it_back(m, cable)
            equal(sorted(lines(s, "out-1")), want)
            there = lines(s, "there-1")
            equal(there[:3], [f"1 {last}", last, first], "it ran once more")
            equal(sorted(there[3:]), [f"0: {last}", f"1: {first}"])
            for job in jobs:
                rows = m.read(f"/apis/mete.dev/v1/accounting?ids={job}")["items"]
                equal(sorted((r["slurm"]["restarts"], r["slurm"]["rank"]) for r in rows), [(0, 0), (0, 1), (1, 0), (1, 1)])
                equal(s.ok("sacct", "-n", "-P", "-X", "-D", "-j", job, "-o", "State").split(), ["NODE_FAIL", "COMPLETED"])


def loses_the_node_and_gets_it_back(m, cable):
    """The server is killed twice meanwhile."""
    for name in pods(m):
        tolerate_no_loss(m, name)
    execute(["ip", "link", "set", cable, "down"])
    wait(lambda: ended_or_leaving(m), "the loss of the node ends a job", 240)
    os.kill(m.child("server"), signal.SIGKILL)
    wait(lambda: len(ended_or_leaving(m)) == 4, "the loss of the node ends both jobs", 240)
    equal([n for n in pods(m) if "-r1" in n], [], "nothing starts before the lost node's pods are over")
    os.kill(m.child("server"), signal.SIGKILL)
    execute(["ip", "link", "set", cable, "up"])
    wait(lambda: states(m) == {"there": "COMPLETED", "train": "COMPLETED"}, "both ran again", 240)


def lines(s, name):
    return s.text(name).splitlines() if os.path.exists(os.path.join(s.dir, name)) else []
