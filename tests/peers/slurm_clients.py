"""The programs that people submit by, unchanged from PyPI, against Mete under the names of Slurm's commands: submitit,
Snakemake, dask-jobqueue, Parsl and torchx, in the virtual environment build/peers/clients, and Lightning in build/peers/lightning: torch
and the parts of CUDA that it brings take 2.2 GB to fetch and 4.5 GB on the disk. Nextflow is that of Maven Central, with what it depends
on, in build/peers/nextflow: its package on PyPI downloads the program from a site of its own.

torchx is its nightly package, whose status is that of `squeue --json`; `torchx list` of 0.7.0 reads the form of Slurm before 23.02 alone."""

import os
import re
import subprocess
import sys
import textwrap

from harness import ROOT, Mete, check, equal, execute, wait
from test_nodes import Node, is_ready, port_of, token

PLACE = os.path.join(ROOT, "build", "peers", "clients")
PACKAGES = {
    "submitit": ["submitit==1.5.4"],
    "snakemake": ["snakemake==9.27.1", "snakemake-executor-plugin-slurm==2.8.0"],
    "dask": ["dask-jobqueue==0.9.0"],
    "parsl": ["parsl==2026.10.26"],
    "torchx": ["torchx-nightly==2026.10.26"],
}


def install(name):
    if not os.path.exists(os.path.join(PLACE, "bin", "python")):
        subprocess.run([sys.executable, "-m", "venv", PLACE], check=True)
    subprocess.run([os.path.join(PLACE, "bin", "pip"), "install", "-q", *PACKAGES[name]], check=True)


class Site:
    """A machine with Mete, where Slurm's commands are in $PATH."""

    def __init__(self, m):
        self.m = m
        self.links = os.path.join(m.dir, "links")
        self.dir = os.path.join(m.dir, "work")
        os.mkdir(self.dir)
        m.mete("slurm-links", self.links, env={"PATH": "/nonexistent"}.items())
        path = os.pathsep.join([self.links, os.path.join(PLACE, "bin"), "/usr/bin", "/bin"])
        self.env = {**m.env, "PATH": path, "HOME": self.dir, "XDG_CACHE_HOME": os.path.join(self.dir, "cache")}

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(textwrap.dedent(text))
        return self.path(name)

    def call(self, *argv, deadline_s=600):
        return execute(list(argv), env=self.env, cwd=self.dir, deadline_s=deadline_s)

    def python(self, text):
        """Runs a program with the client's packages; it ends with the line `fine`."""
        r = self.call("python", self.write("client.py", text))
        check(r.code == 0 and r.out.endswith("fine\n"), r, self.call("squeue", "-a", "-t", "all").out)

    def ok(self, *argv):
        r = self.call(*argv)
        check(r.code == 0, r)
        return r.out


def run(name, test, *arguments):
    install(name)
    with Mete("emulated:2xH100", list(arguments)) as m:
        test(Site(m))


# ---- submitit ----

SUBMITIT = """
    import os, sys, time
    import submitit
    from submitit.helpers import Checkpointable

    class Patient(submitit.helpers.Checkpointable):
        def __call__(self, path):
            with open(path, "a") as f:
                f.write("begun\\n")
            count = len(open(path).readlines())
            if count == 1:
                time.sleep(600)
            return count

    def double(n):
        env = submitit.JobEnvironment()
        assert env.global_rank == 0 and env.num_tasks == 1, env
        return 2 * n, os.environ["SLURM_ARRAY_TASK_ID"]

    if __name__ == "__main__":
        executor = submitit.AutoExecutor(folder="log-%j", cluster="slurm")
        executor.update_parameters(timeout_min=10, slurm_array_parallelism=10, mem_gb=0.05, cpus_per_task=1)
        jobs = executor.map_array(double, range(100))
        assert [j.result() for j in jobs] == [(2 * i, str(i)) for i in range(100)]
        slow = executor.submit(time.sleep, 600)
        while slow.state != "RUNNING":
            time.sleep(0.5)
        slow.cancel(check=False)
        while not slow.done(force_check=True):
            time.sleep(0.5)
        assert slow.state.startswith("CANCELLED"), slow.state
        failed = executor.submit(int, "x")
        assert "ValueError" in str(failed.exception())
        again = executor.submit(Patient(), os.path.abspath("attempts"))
        while not os.path.exists("attempts"):
            time.sleep(0.5)
        again._interrupt(timeout=True)
        assert again.result() == 2
        print("fine")
"""


def submitit():
    run("submitit", lambda site: site.python(SUBMITIT))


# ---- Snakemake ----

SNAKEFILE = """
    SAMPLES = [str(i) for i in range(15)]
    rule all:
        input: "sum"
    rule make:
        output: "made/{i}"
        resources: mem_mb=400, runtime=5
        shell: "echo {wildcards.i} >{output}"
    rule square:
        input: "made/{i}"
        output: "square/{i}"
        threads: 1
        resources: mem_mb=400, runtime=5
        shell: "read n <{input}; echo $((n * n)) >{output}"
    rule sum:
        input: expand("square/{i}", i=SAMPLES)
        output: "sum"
        resources: mem_mb=400, runtime=5
        shell: "cat {input} | awk '{{ n += $1 }} END {{ print n }}' >{output}"
    rule bad:
        output: "never"
        resources: mem_mb=400, runtime=5
        shell: "echo it went wrong >&2; exit 3"
"""


def snakemake():
    run("snakemake", runs_workflows)


def runs_workflows(site):
    site.write("Snakefile", SNAKEFILE)
    words = ["snakemake", "--executor", "slurm", "--jobs", "30", "--latency-wait", "10", "--slurm-init-seconds-before-status-checks", "3",
             "--slurm-no-account", "--default-resources", "slurm_partition=main"]
    for way in (["--slurm-status-command", "sacct"], ["--slurm-status-command", "squeue"], ["--slurm-array-jobs", "all"]):
        r = site.call(*words, *way)
        check(r.code == 0, way, r)
        with open(site.path("sum"), encoding="utf-8") as f:
            check(f.read() == "1015\n", way, r)
        site.ok("rm", "-r", "sum", "made", "square")
    r = site.call(words[0], "never", *words[1:])
    check(r.code == 1 and "SLURM status is: 'FAILED'" in r.err, r)


# ---- Nextflow ----

NEXTFLOW = os.path.join(ROOT, "build", "peers", "nextflow")
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>dev.mete</groupId><artifactId>peers</artifactId><version>1</version>
<dependencies><dependency><groupId>io.nextflow</groupId><artifactId>nextflow</artifactId><version>24.10.0</version></dependency></dependencies></project>
"""

PIPELINE = """
    process make {
        input: val n
        output: path "made"
        script: "echo $n >made"
    }
    process square {
        array 5
        input: path made
        output: path "square"
        script: 'n=$(cat made); echo $((n * n)) >square'
    }
    process uneven {
        errorStrategy 'retry'
        maxRetries 2
        input: path square
        output: stdout
        script: "[ $task.attempt -gt 1 ] || exit 3; cat $square; echo attempt $task.attempt cpus $task.cpus >&2"
    }
    workflow {
        made = make(Channel.of(0..14)) | square
        uneven(made.first())
        made.map { it.text as int }.sum().view { "sum $it" }
    }
"""
ENDLESS = """
    process wait_long {
        input: val n
        script: "sleep 1000"
    }
    workflow { wait_long(Channel.of(1, 2)) }
"""
NEXTFLOW_CONFIG = """
    process { executor = 'slurm'; queue = 'main'; cpus = 1; memory = '60 MB'; time = '10 min'; clusterOptions = '--comment=nextflow' }
    executor { pollInterval = '1 sec'; queueStatInterval = '1 sec'; submitRateLimit = '20/1sec'; $slurm { onlyJobState = false } }
"""


def nextflow():
    libraries = os.path.join(NEXTFLOW, "lib")
    if not os.path.exists(libraries):
        os.makedirs(NEXTFLOW, exist_ok=True)
        with open(os.path.join(NEXTFLOW, "pom.xml"), "w", encoding="utf-8") as f:
            f.write(POM)
        subprocess.run(["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={libraries}"], cwd=NEXTFLOW, check=True)
    with Mete("none") as m:
        runs_pipelines(Site(m), f"{libraries}/*")


def runs_pipelines(site, libraries):
    site.env.update(NXF_HOME=site.path("nextflow"), NXF_OFFLINE="true", NXF_ANSI_LOG="false")
    words = ["java", "-cp", libraries, "nextflow.cli.Launcher", "run"]
    site.write("main.nf", PIPELINE)
    for states in ("false", "true"):
        site.write("nextflow.config", NEXTFLOW_CONFIG.replace("onlyJobState = false", f"onlyJobState = {states}"))
        r = site.call(*words, "main.nf")
        check(r.code == 0 and "sum 1015" in r.out and "Re-submitted process > uneven" in r.out, states, r)
    names = site.ok("sacct", "-a", "-n", "-X", "-P", "-o", "JobName,State,Comment")
    equal(names.count("nf-make_(") + names.count("nf-square_("), 60, names)
    equal(names.count("FAILED"), 2, names)
    site.write("endless.nf", ENDLESS)
    p = subprocess.Popen([*words, "endless.nf"], env=site.env, cwd=site.dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait(lambda: site.ok("squeue", "-h", "-t", "R", "-o", "%j").count("wait_long") == 2, "both tasks run", 120)
        p.terminate()
        wait(lambda: not site.ok("squeue", "-h"), "Nextflow has cancelled what it submitted", 120)
    finally:
        p.kill()
        p.wait()


# ---- dask-jobqueue ----

DASK = """
    from dask.distributed import Client
    from dask_jobqueue import SLURMCluster

    if __name__ == "__main__":
        with SLURMCluster(cores=1, processes=1, memory="300MB", walltime="00:10:00", interface="lo", queue="main",
                          job_extra_directives=["--comment=dask"], local_directory="/tmp") as cluster:
            with Client(cluster) as client:
                cluster.scale(8)
                client.wait_for_workers(8, timeout=300)
                assert sum(client.gather(client.map(lambda n: n * n, range(100)))) == 328350
                cluster.adapt(minimum=1, maximum=1)
                while len(client.scheduler_info()["workers"]) > 1:
                    client.gather(client.map(lambda n: n + 1, range(10), pure=False))
        print("fine")
"""


def dask():
    run("dask", lambda site: site.python(DASK), "--cpus", "8")


# ---- Parsl ----

PARSL = """
    import parsl
    from parsl.config import Config
    from parsl.executors import HighThroughputExecutor
    from parsl.launchers import {launcher}
    from parsl.providers import SlurmProvider

    @parsl.python_app
    def square(n):
        import os
        return n * n, os.environ["SLURM_JOB_ID"]

    if __name__ == "__main__":
        provider = SlurmProvider(partition="main", exclusive=False, cores_per_node=1, mem_per_node=1, init_blocks=2, max_blocks=2,
                                 walltime="00:10:00", launcher={launcher}())
        executor = HighThroughputExecutor(address="127.0.0.1", max_workers_per_node=1, provider=provider)
        with parsl.load(Config(executors=[executor], run_dir="runs")):
            found = [f.result(timeout=300) for f in [square(i) for i in range(40)]]
        assert [n for n, _ in found] == [i * i for i in range(40)], found
        print("fine")
"""


def parsl():
    def runs_blocks(site):
        for launcher in ("SingleNodeLauncher", "SrunLauncher"):
            site.python(PARSL.format(launcher=launcher))
    run("parsl", runs_blocks)


# ---- torchx ----

ROLES = """
    import torchx.specs as specs

    SAY = "echo rank $SLURM_PROCID of $SLURM_NTASKS, $WHO; while [ ! -e $WHO-goes-on ]; do sleep 0.1; done; exit $1"

    def pair(code: int = 0) -> specs.AppDef:
        def role(name, gpu):
            return specs.Role(name=name, image="", entrypoint="sh", args=["-c", SAY, "sh", str(code)], env={"WHO": name},
                              resource=specs.Resource(cpu=1, gpu=gpu, memMB=100))
        return specs.AppDef(name="pair", roles=[role("head", 1), role("work", 0)])
"""


def torchx():
    run("torchx", runs_roles)


def torchx_runs(site, *words):
    """The handle of the app, which runs."""
    handle = site.ok("torchx", "run", "--scheduler", "slurm", *words).split()[-1]
    wait(lambda: "RUNNING" in site.ok("torchx", "status", handle), f"{handle} runs")
    return handle, handle.rsplit("/", 1)[1]


def torchx_ends(site, handle, state):
    # The command ends with 1 when the app failed.
    wait(lambda: f"State: {state}" in site.call("torchx", "status", handle).out, f"{handle} is {state}")


def runs_roles(site):
    site.write("roles.py", ROLES)
    handle, job = torchx_runs(site, "-cfg", "partition=main,time=10", "roles.py:pair")
    status = site.ok("torchx", "status", handle)
    check("*head[0]:RUNNING" in status and "*work[0]:RUNNING" in status, status)
    check("num_replicas': 1" in site.ok("torchx", "describe", handle), handle)
    for name in ("head", "work"):
        site.write(f"{name}-goes-on", "")
    torchx_ends(site, handle, "SUCCEEDED")
    for rank, name in enumerate(("head", "work")):
        with open(site.path(f"slurm-{job}-{name}-0.out"), encoding="utf-8") as f:
            equal(f.read(), f"rank {rank} of 2, {name}\n")
    failed = site.ok("torchx", "run", "--scheduler", "slurm", "roles.py:pair", "--code", "3").split()[-1]
    torchx_ends(site, failed, "FAILED")
    os.remove(site.path("work-goes-on"))
    handle, job = torchx_runs(site, "roles.py:pair")
    site.ok("torchx", "cancel", handle)
    wait(lambda: site.ok("sacct", "-n", "-P", "-X", "-j", job, "-o", "JobID,State").splitlines() ==
         [f"{job}+{i}|CANCELLED by 0" for i in range(2)], "both roles are cancelled")
    handle, job = torchx_runs(site, "utils.sh", "sleep", "1000")
    site.ok("torchx", "cancel", handle)
    listed = site.ok("torchx", "list", "-s", "slurm")
    check("SUCCEEDED" in listed and "FAILED" in listed, listed)


# ---- Lightning ----

LIGHTNING = os.path.join(ROOT, "build", "peers", "lightning")
LIGHTNING_PACKAGES = ["pytorch-lightning==2.0.9", "torch==2.0.1", "numpy<2"]

TRAIN = """
    import os, signal, time
    import pytorch_lightning as pl
    import torch
    from pytorch_lightning.plugins.environments import SLURMEnvironment

    AGAIN = int(os.environ.get("SLURM_RESTART_COUNT", "0"))

    class Model(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def training_step(self, batch, _):
            return self.layer(batch).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

        def on_train_start(self):
            print(f"begun {AGAIN}: rank {self.global_rank} of {self.trainer.world_size}, node {self.trainer.node_rank}, "
                  f"step {min(self.global_step, 1)}", flush=True)

        def on_train_batch_end(self, *_):
            if self.global_step == 5:
                open(f"trains-{AGAIN}-{self.global_rank}", "w").close()
            if AGAIN:
                self.trainer.should_stop = True
            time.sleep(0.05)

    data = torch.utils.data.DataLoader(torch.ones(1 << 20, 2), batch_size=2)
    trainer = pl.Trainer(accelerator="cpu", devices=4, num_nodes=2, strategy="ddp", max_epochs=1, logger=False, enable_progress_bar=False,
                         plugins=[SLURMEnvironment(auto_requeue=True)])
    trainer.fit(Model(), data)
"""


def lightning():
    if not os.path.exists(os.path.join(LIGHTNING, "bin", "python")):
        subprocess.run([sys.executable, "-m", "venv", LIGHTNING], check=True)
    subprocess.run([os.path.join(LIGHTNING, "bin", "pip"), "install", "-q", *LIGHTNING_PACKAGES], check=True)
    with Mete("emulated:2xH100") as m, Node(m, port_of(m), gpus="emulated:2xH100") as node:
        node.start(token(m))
        wait(lambda: is_ready(m, "second"), "the node is ready")
        trains_and_begins_anew(Site(m))


def trains_and_begins_anew(site):
    """8 ranks on 2 nodes; on SIGUSR1 Lightning writes a checkpoint and calls `scontrol requeue`; the next attempt goes on from it."""
    site.write("train.py", TRAIN)
    # Both nodes are this machine; Lightning looks up the name of the first one. Nodes' doors are not for administrators.
    site.write("train.sh", f"""\
        #!/bin/sh
        #SBATCH -J train -N2 -w {os.uname().nodename} --ntasks-per-node=4 -O -t 20 --open-mode=append -o train.out
        export METE_DATA={site.m.data} OMP_NUM_THREADS=1
        srun {LIGHTNING}/bin/python -W ignore train.py
        """)
    job = site.ok("sbatch", "--parsable", "train.sh").strip()

    def output():
        with open(site.path("train.out"), encoding="utf-8") as f:
            return f.read()

    def ended():
        state = site.ok("sacct", "-n", "-P", "-X", "-j", job, "-o", "State").strip()
        return state if state not in ("PENDING", "RUNNING", "REQUEUED") else None

    wait(lambda: all(os.path.exists(site.path(f"trains-0-{r}")) for r in range(8)) or ended(), "all ranks train", 300)
    check(not ended(), output())
    site.ok("scancel", "--signal=USR1", job)
    equal(wait(ended, "the second attempt ended", 300), "COMPLETED", output())
    begun = sorted(re.findall(r"begun \d: rank \d of 8, node \d, step \d", output()))  # ranks may share a line
    equal(begun, [f"begun {again}: rank {r} of 8, node {r // 4}, step {again}" for again in range(2) for r in range(8)], output())


PEERS = {"submitit": submitit, "snakemake": snakemake, "nextflow": nextflow, "dask": dask, "parsl": parsl, "torchx": torchx, "lightning": lightning}
