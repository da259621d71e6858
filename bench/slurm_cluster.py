"""A Slurm cluster of one node in a private directory, from Debian's packages: the peer of bench/slurm."""

import os
import re
import shutil
import socket
import subprocess
import tempfile

import kit

PROGRAMS = {"munged": "munge", "slurmctld": "slurm-wlm", "slurmd": "slurm-wlm", "sbatch": "slurm-client",
            "squeue": "slurm-client", "scancel": "slurm-client", "sdiag": "slurm-client", "sinfo": "slurm-client"}
GROUPS = "/sys/fs/cgroup/cpuacct"
CONF = os.path.join(os.path.dirname(os.path.abspath(__file__)), "slurm_peer")
# The programs of the distribution lie here, whatever $PATH says.
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def missing():
    """What keeps the peer from being started; empty: nothing."""
    packages = sorted({package for program, package in PROGRAMS.items() if not shutil.which(program, path=PATH)})
    found = [f"Debian's {' '.join(packages)} (tools/bootstrap --peers)"] if packages else []
    return found + ([] if os.path.isdir(GROUPS) else [f"the cgroup controller cpuacct in {GROUPS}"])


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Cluster:
    """munged, slurmctld and slurmd, for use with `with`. A cpuacct group charges them and their steps, for a step's
    process leaves slurmd's tree."""

    def __init__(self, name, slots):
        self.name = name
        self.dir = tempfile.mkdtemp(prefix=f"bench-slurm-{name}-")
        os.chmod(self.dir, 0o755)
        self.group = os.path.join(GROUPS, os.path.basename(self.dir))
        self.env = {"PATH": PATH, "HOME": self.dir, "SLURM_CONF": os.path.join(self.dir, "slurm.conf")}
        self.daemons = []
        self.configure(slots)

    def configure(self, slots):
        host = socket.gethostname().split(".")[0]
        ctld_port, slurmd_port = free_ports(2)
        for sub in ("state", "spool"):
            os.mkdir(os.path.join(self.dir, sub))
        text = ""
        for part in ("common", self.name):
            with open(os.path.join(CONF, part + ".conf")) as f:
                text += f.read()
        with open(self.env["SLURM_CONF"], "w") as f:
            f.write(text.format(host=host, dir=self.dir, ctld_port=ctld_port, slurmd_port=slurmd_port, slots=slots))
        with open(os.path.join(self.dir, "cgroup.conf"), "w") as f:
            f.write("CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\nCgroupAutomount=no\n")
        with open(os.open(os.path.join(self.dir, "munge.key"), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(os.urandom(1024))

    def spawn(self, program, *arguments):
        def enter():
            with open(os.path.join(self.group, "cgroup.procs"), "w") as f:
                f.write("0")

        with open(os.path.join(self.dir, program + ".log"), "ab") as log:
            self.daemons.append(subprocess.Popen([shutil.which(program, path=PATH), *arguments], env=self.env, stdin=subprocess.DEVNULL,
                                                 stdout=log, stderr=log, preexec_fn=enter))

    def __enter__(self):
        try:
            os.mkdir(self.group)
            files = {word: os.path.join(self.dir, "munge." + end) for word, end in
                     (("key-file", "key"), ("socket", "sock"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed"))}
            self.spawn("munged", "--foreground", "--force", "--num-threads=4", *(f"--{word}={path}" for word, path in files.items()))
            kit.until(lambda: os.path.exists(files["socket"]), "munged listens")
            self.spawn("slurmctld", "-D", "-i")
            self.spawn("slurmd", "-D", "-N", "n0")
            kit.until(self.idle, f"the {self.name} Slurm has an idle node: see {self.dir}")
            return self
        except BaseException:
            self.__exit__()
            raise

    def idle(self):
        return subprocess.run(["sinfo", "-h", "-o", "%T"], env=self.env, capture_output=True, text=True, check=False).stdout == "idle\n"

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        with open(os.path.join(self.group, "cgroup.procs")) as f:
            left = f.read()
        if not left:
            os.rmdir(self.group)
        shutil.rmtree(self.dir, ignore_errors=True)

    def command(self, *words):
        return [shutil.which(words[0], path=PATH), *words[1:]]

    def cpu(self):
        """Seconds of all daemons and steps."""
        with open(os.path.join(self.group, "cpuacct.usage")) as f:
            return int(f.read()) / 1e9

    def pss_kib(self):
        return sum(kit.pss_kib(daemon.pid) for daemon in self.daemons)

    def ended(self):
        """How many jobs have completed since the start."""
        text = subprocess.run(self.command("sdiag"), env=self.env, capture_output=True, text=True, check=True).stdout
        return int(re.search(r"Jobs completed:\s*(\d+)", text).group(1))
