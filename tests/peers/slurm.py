"""Debian's Slurm 22.05 on loopback beside a Mete: the same words to both, and the same texts or keys from both.

build/peers/slurm has the programs, unpacked from Debian's packages (slurm-client, slurm-wlm-basic-plugins, slurmctld,
slurmd, munge, libmunge2): nothing is installed, and no service starts outside of the test's directory."""

import contextlib
import glob
import os
import re
import shutil
import socket
import subprocess
import tempfile

from harness import ROOT, METE, Mete, check, execute, wait

PLACE = os.path.join(ROOT, "build", "peers", "slurm")
PACKAGES = ("slurm-client", "slurm-wlm-basic-plugins", "slurmctld", "slurmd", "munge", "libmunge2")
LIBRARIES = os.path.join(PLACE, "usr", "lib", "x86_64-linux-gnu")

CONF = """ClusterName=base
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={dir}/munge.sock
CredType=cred/munge
PluginDir={libraries}/slurm-wlm
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool-%n
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd-%n.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd.log
ReturnToService=2
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
NodeName=g0 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=8 RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes=g0 Default=YES MaxTime=INFINITE State=UP
"""

HOSTS = ["n1", "n[1-3,07-10],g1", "r[1-2]x[1-2]", "a[1-2][3-4]", "n[1-3]-[1-2]", "n1,n3,n2,n08,n09,n10", "n08,n9,n10,n011",
         "n99,n100,n101", "[1-3]", "n[01-3],", " n1, n2", "n10,n9,n1,n2,m1", "n1,n01,n001", "n[00-0]", "a0,a00"]

# Words of sbatch: the exit code and the text of stderr are the same.
REFUSED = [["--foo"], ["--cpus-per", "3"], ["-y"], ["--parsable=x"], ["-t", "xx"], ["--mem=abc"], ["-n", "x"], ["-c", "0"],
           ["-N", "4-2"], ["--signal=FOO"], ["--mail-type=foo"], ["--open-mode=foo"], ["--exclusive=foo"], ["--time-min=x"],
           ["--ntasks-per-node=0"], ["--kill-on-invalid-dep=foo"], ["-p", "nonsense"], ["-d", "later:1"], ["--array=x"]]
ACCEPTED = [["-t", "1-2:03"], ["-t", "90"], ["-n", "2"], ["--mem=16M"], ["-b", "now+1hour"], ["-d", "singleton"]]


def unpack():
    """Unpacks Debian's packages where they are missing."""
    if not os.path.exists(os.path.join(PLACE, "usr", "bin", "sbatch")):
        os.makedirs(PLACE, exist_ok=True)
        subprocess.run(["apt-get", "download", *PACKAGES], cwd=PLACE, check=True, capture_output=True)
        for package in glob.glob(os.path.join(PLACE, "*.deb")):
            subprocess.run(["dpkg", "-x", package, PLACE], check=True)


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Real:
    """A real Slurm in a directory of its own."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="peers-slurm-")
        self.conf = f"{self.dir}/slurm.conf"
        self.node = "g0"
        self.nodes = ["g0"]
        self.text = CONF
        os.chmod(self.dir, 0o755)
        self.env = {**os.environ, "SLURM_CONF": f"{self.dir}/slurm.conf", "TZ": "UTC",
                    "LD_LIBRARY_PATH": f"{LIBRARIES}:{LIBRARIES}/slurm-wlm"}
        self.daemons = []

    def start(self, name, *words):
        program = os.path.join(PLACE, "usr", "sbin", name)
        self.daemons.append(subprocess.Popen([program, *words], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def __enter__(self):
        try:
            return self.begin()
        except BaseException:
            self.__exit__()
            raise

    def begin(self):
        host = socket.gethostname().split(".")[0]
        with open(f"{self.dir}/slurm.conf", "w") as f:
            f.write(self.text.format(host=host, dir=self.dir, libraries=LIBRARIES, ports=free_ports(1 + len(self.nodes))))
        for name in ("state", *[f"spool-{n}" for n in self.nodes]):
            os.mkdir(f"{self.dir}/{name}")
        with open(os.open(f"{self.dir}/munge.key", os.O_CREAT | os.O_WRONLY, 0o600), "wb") as f:
            f.write(os.urandom(1024))
        self.start("munged", "-F", "--force", f"--key-file={self.dir}/munge.key", f"--socket={self.dir}/munge.sock",
                   f"--pid-file={self.dir}/munged.pid", f"--log-file={self.dir}/munged.log", f"--seed-file={self.dir}/seed")
        wait(lambda: os.path.exists(f"{self.dir}/munge.sock"), "munged listens", 30)
        self.start("slurmctld-wlm", "-D", "-i")
        for n in self.nodes:
            self.start("slurmd-wlm", "-D", "-N", n, "-d", os.path.join(PLACE, "usr", "sbin", "slurmstepd-wlm"))
        wait(lambda: self.call("sinfo", "-h", "-o", "%T").out.strip() == "idle", "the real Slurm is idle", 60)
        return self

    def __exit__(self, *why):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(20)
        shutil.rmtree(self.dir, ignore_errors=True)

    def call(self, name, *words):
        return execute([os.path.join(PLACE, "usr", "bin", name), *words], env=self.env, cwd=self.dir)


class Ours:
    def __init__(self, m, conf):
        self.m = m
        self.conf = conf
        self.node = socket.gethostname().split(".")[0]

    def call(self, name, *words):
        return execute([METE, name, *words], env={**os.environ, "METE_DATA": self.m.data, "TZ": "UTC"}, cwd=self.m.dir)


def keys(text):
    """The keys of "Key=Value" records, in order."""
    return re.findall(r"(?:^|\s)([A-Za-z_/:]+)=", text)


class Differences:
    """All that differs, so that one run tells everything."""

    def __init__(self):
        self.found = []

    def same(self, ours, real, *what):
        if ours != real:
            self.found.append(f"{what}: ours {ours!r}, real {real!r}")


def compare_texts(real, ours, d):
    for text in HOSTS:
        d.same(*[side.call("scontrol", "show", "hostnames", text).out for side in (ours, real)], text)
        for what in ("hostlist", "hostlistsorted"):
            # The texts may differ ("a[13-14]", "a1[3-4]"): the names are the same.
            short = [side.call("scontrol", "show", what, text).out.strip() for side in (ours, real)]
            names = [real.call("scontrol", "show", "hostnames", s).out.split() for s in short]
            d.same(*(names if what == "hostlist" else map(sorted, names)), what, text)
    for words in REFUSED:
        a, b = [side.call("sbatch", *words, "--wrap=true") for side in (ours, real)]
        d.same(a.code, b.code, words)
        # 22.05 names a partition on a line of its own before; getopt_long prints the program's path.
        check(a.err.splitlines()[0] in b.err.replace(os.path.join(PLACE, "usr", "bin", ""), "").splitlines(), words, a.err, b.err)
    for words in ACCEPTED:
        a, b = [side.call("sbatch", "--test-only", *words, "--wrap=true") for side in (ours, real)]
        d.same((a.code, " to start at " in a.err), (b.code, " to start at " in b.err), words, a.err, b.err)


def compare_keys(real, ours, d):
    """Ours has the keys of 22.05, but for those that 24.11 has no more."""
    renamed = {"TRES", "Power", "CapWatts", "ExtSensorsJoules", "ExtSensorsWatts", "ExtSensorsTemp"}
    jobs = [side.call("sbatch", "--parsable", "--wrap=sleep 300").out.strip() for side in (real, ours)]
    for side, job in zip((real, ours), jobs):
        wait(lambda: side.call("squeue", "-h", "-o", "%T", "-j", job).out.strip() == "RUNNING", "the job runs", 60)
    for what in ("job", "node", "partition"):
        a, b = [side.call("scontrol", "show", what).out for side in (ours, real)]
        d.same([key for key in keys(b) if key not in keys(a) and key not in renamed], [], what)
    for name in ("squeue", "sinfo"):
        d.same(*[re.split(r"\s+", side.call(name).out.splitlines()[0].strip()) for side in (ours, real)], name)
    for side, job in zip((real, ours), jobs):
        d.same(side.call("scancel", job).code, 0, "scancel", job)


PARTITIONS = """PartitionName=DEFAULT MaxTime=1-0
PartitionName=short Nodes={nodes} DefaultTime=30 MaxTime=2:00:00 PriorityTier=10 PriorityJobFactor=5 OverSubscribe=EXCLUSIVE
PartitionName=night Nodes=ALL State=DOWN MaxNodes=2 MinNodes=1 DefMemPerCPU=100 MaxMemPerNode=800 GraceTime=20 MaxTime=UNLIMITED
PartitionName=closed Nodes={nodes} State=INACTIVE Alternate=main Hidden=YES RootOnly=YES ReqResv=YES AllowAccounts=a,b DenyQos=x
PartitionName=empty DisableRootJobs=YES AllowGroups=adm,root TRESBillingWeights="CPU=1.0,Mem=0.25G"
PartitionName=brief Nodes={nodes} MaxTime=10
PartitionName=drained Nodes={nodes} State=DRAIN
"""
# What differs between two machines, and what 24.11 has besides.
OWN_KEYS = {"Nodes", "TotalCPUs", "TotalNodes", "TRES", "MaxCPUsPerSocket"}
WAITING = [["-p", "night"], ["-p", "brief", "-t", "3:00:00"], ["-p", "night", "-t", "5"]]


def values(text):
    """Partitions by name: their keys and values."""
    found = [dict(re.findall(r"(\S+?)=(.*?)(?= \S+=|$)", line)) for line in text.splitlines() if line]
    return {p["PartitionName"]: {k: v for k, v in p.items() if k not in OWN_KEYS} for p in found}


def compare_partitions(real, ours, d):
    """The same partitions in both files: the same tables, values, refusals and reasons."""
    for side in (real, ours):
        with open(side.conf, "a") as f:
            f.write(PARTITIONS.format(nodes=side.node))
        d.same(side.call("scontrol", "reconfigure").code, 0, "reconfigure")
    d.same(*[values(side.call("scontrol", "-ao", "show", "partition").out) for side in (ours, real)], "show partition")
    for words in (["-a"], ["-p", "short"], ["-as"]):
        layout = [] if words == ["-as"] else ["-o", "%P|%a|%l|%L|%D|%r|%s|%g|%h|%p|%I|%M|%B"]
        d.same(*[side.call("sinfo", *words, *layout).out.replace(side.node, "NODE").split() for side in (ours, real)], words)
    for words in (["-p", "drained"], ["-p", "main,nonsense"], ["-p", "nonsense"]):
        a, b = [side.call("sbatch", *words, "--wrap=true") for side in (ours, real)]
        d.same((a.code, a.err), (b.code, b.err.splitlines()[-1] + "\n"), words)
    for words in WAITING:
        found = []
        for side in (ours, real):
            job = side.call("sbatch", "--parsable", *words, "--wrap=true").out.strip()
            # The real one says PartitionConfig until its scheduler has seen the job.
            wait(lambda: side.call("squeue", "-h", "-o", "%r", "-j", job).out.strip() not in ("None", "PartitionConfig"),
                 f"{words}: a reason", 90)
            found.append(side.call("squeue", "-ah", "-o", "%P %l %r", "-j", job).out)
            side.call("scancel", job)
        d.same(*found, words)
    for words in (["create", "foo=1"], ["delete", "PartitionName=nope"], ["update", "partition=nope", "State=UP"],
                  ["show", "partition", "nope"]):
        a, b = [side.call("scontrol", *words) for side in (ours, real)]
        d.same((a.code, a.err or a.out), (b.code, (b.err or b.out).replace("scontrol: error: ", "")), words)


def main():
    unpack()
    m = Mete()
    conf = os.path.join(m.dir, "slurm.conf")
    with open(conf, "w") as f:
        f.write("PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n")
    m.arguments = ["--slurm-conf", conf]
    with Real() as real, m:
        ours = Ours(m, conf)
        check(real.call("sbatch", "-V").out.startswith("slurm"))
        d = Differences()
        compare_texts(real, ours, d)
        compare_keys(real, ours, d)
        compare_partitions(real, ours, d)
    check(not d.found, *d.found)
