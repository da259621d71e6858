"""The shares of 1,000 users in three levels of accounts, by Mete and by Debian's Slurm 22.05 with its database: the same digits, by Fair Tree
and by the classic algorithm; and `sacctmgr` of both prints the same tables of the same accounts.

Needs root and Debian's packages slurmctld, slurmd, slurm-client, munge, slurmdbd and mariadb-server. The usage is written into the state file
of slurmctld: a user's usage, as that of a long history would be."""

import contextlib
import os
import random
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import time

from harness import BUILD, METE, Mete, check, equal, execute, wait
from slurm import free_ports

PROGRAMS = ("slurmctld", "slurmdbd", "munged", "mariadbd", "mariadb-install-db", "sacctmgr", "sshare")
PROTOCOL = 0x2600  # of the state files of 22.05
USERS = 1000
FIELDS = "account,user,rawshares,normshares,rawusage,normusage,effectvusage,fairshare,levelfs"

CONF = """ClusterName=mete
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={dir}/munge.sock
CredType=cred/munge
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={dir}/state
SlurmctldPidFile={dir}/slurmctld.pid
SlurmctldLogFile={dir}/slurmctld.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={ports[2]}
AccountingStoragePass={dir}/munge.sock
AccountingStorageTRES=gres/gpu
GresTypes=gpu
PriorityType=priority/multifactor
PriorityDecayHalfLife=0
PriorityUsageResetPeriod=NONE
PriorityWeightFairshare=1000
PriorityFlags={flags}
NodeName=g0 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=8 RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes=g0 Default=YES MaxTime=INFINITE State=UP
"""

DBD = """AuthType=auth/munge
AuthInfo=socket={dir}/munge.sock
DbdHost={host}
DbdAddr=127.0.0.1
DbdPort={ports[2]}
SlurmUser=root
PidFile={dir}/slurmdbd.pid
LogFile={dir}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={ports[3]}
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
"""


class Accounts:
    """A real slurmctld with slurmdbd and MariaDB in a directory of its own; no node runs."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="peers-shares-")
        os.chmod(self.dir, 0o755)
        self.env = {**os.environ, "SLURM_CONF": f"{self.dir}/slurm.conf", "TZ": "UTC"}
        self.host = socket.gethostname().split(".")[0]
        self.ports = free_ports(4)
        self.daemons = {}

    def start(self, name, *words):
        self.daemons[name] = subprocess.Popen([shutil.which(name) or f"/usr/sbin/{name}", *words], env=self.env,
                                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self, name):
        self.daemons[name].terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.daemons.pop(name).wait(30)

    def call(self, *words, **options):
        return execute([*words], env=self.env, stdin="", deadline_s=300, **options)

    def write(self, name, text, **values):
        with open(os.open(f"{self.dir}/{name}", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as f:
            f.write(text.format(dir=self.dir, host=self.host, ports=self.ports, **values))

    def __enter__(self):
        try:
            self.begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def begin(self):
        os.mkdir(f"{self.dir}/state")
        with open(os.open(f"{self.dir}/munge.key", os.O_CREAT | os.O_WRONLY, 0o600), "wb") as f:
            f.write(os.urandom(1024))
        self.write("slurm.conf", CONF, flags="NONE")
        self.write("slurmdbd.conf", DBD)
        self.start("munged", "-F", "--force", f"--key-file={self.dir}/munge.key", f"--socket={self.dir}/munge.sock",
                   f"--pid-file={self.dir}/munged.pid", f"--log-file={self.dir}/munged.log", f"--seed-file={self.dir}/seed")
        self.begin_database()
        self.start("slurmdbd", "-D")
        wait(lambda: self.call("sacctmgr", "-n", "list", "cluster").code == 0, "slurmdbd answers", 60)

    def begin_database(self):
        data = f"{self.dir}/maria"
        os.mkdir(data)
        shutil.chown(data, "mysql")
        check(self.call("mariadb-install-db", "--no-defaults", "--user=mysql", f"--datadir={data}",
                        "--auth-root-authentication-method=normal").code == 0, "the database is made")
        self.start("mariadbd", "--no-defaults", "--user=mysql", f"--datadir={data}", f"--socket={data}/m.sock", "--bind-address=127.0.0.1",
                   f"--port={self.ports[3]}", f"--pid-file={data}/maria.pid")
        grant = 'create user slurm@"127.0.0.1" identified by "slurm"; grant all on slurm_acct_db.* to slurm@"127.0.0.1"'
        wait(lambda: self.call("mariadb", "--no-defaults", "-uroot", "-S", f"{data}/m.sock", "-e", grant).code == 0, "the database answers", 60)

    def __exit__(self, *why):
        for name in reversed(list(self.daemons)):
            self.stop(name)
        shutil.rmtree(self.dir, ignore_errors=True)


def make_accounts(seed):
    """Lines of a dump: five accounts, four below each of them, users in all; some shares are the parent's."""
    rng = random.Random(seed)
    lines = ["Cluster - 'mete':Fairshare=1:QOS='normal'", "Parent - 'root'"]
    accounts = []
    for i in range(5):
        lines.append(f"Account - 'a{i}':Description='a{i}':Organization='o':Fairshare={rng.randint(1, 9)}")
    for i in range(5):
        lines.append(f"Parent - 'a{i}'")
        for k in range(4):
            shares = "parent" if rng.random() < 0.2 else rng.randint(1, 9)
            lines.append(f"Account - 'a{i}b{k}':Description='b':Organization='o':Fairshare={shares}")
            accounts.append(f"a{i}b{k}")
    accounts += [f"a{i}" for i in range(5)]
    users = {account: [] for account in accounts}
    for n in range(USERS):
        users[rng.choice(accounts)].append((f"u{n:04}", "parent" if rng.random() < 0.05 else rng.randint(0, 5)))
    for account in accounts:
        lines.append(f"Parent - '{account}'")
        lines += [f"User - '{user}':DefaultAccount='{account}':Fairshare={shares}" for user, shares in users[account]]
    return "\n".join(lines) + "\n"


def make_usage(names, seed):
    """Usage in 1/1000000 by user: many with none, and many that have the same."""
    rng = random.Random(seed)
    return {name: rng.choice((0, 0, 1000000, 360000000, rng.randrange(10**12), rng.randrange(10**9))) for name in names}


def write_usage(real, ids, usage):
    state = struct.pack(">HQ", PROTOCOL, 1)
    for number, user in ids:
        text = f"{usage[user] // 10**6}.{usage[user] % 10**6:06}\0".encode()
        state += struct.pack(">II", number, len(text)) + text + struct.pack(">II", 0, 0)
    with open(f"{real.dir}/state/assoc_usage", "wb") as f:
        f.write(state)


def tree_of(rows, usage):
    """The associations in the order of the real sshare, for slurm_shares: rows are its lines."""
    lines = []
    above = {}
    for row in rows:
        account, user, shares = row[:3]
        depth = len(account) - len(account.lstrip())
        account = account.strip()
        parent = -1 if depth == 0 else above[depth - 1]
        lines.append(f"{parent} {user or '-'} {shares or 1} {usage.get(user, 0) if user else 0} {account}")
        if not user:
            above[depth] = len(lines) - 1
    return "\n".join(lines) + "\n"


def compare(real, usage, ids, flags):
    real.write("slurm.conf", CONF, flags=flags)
    write_usage(real, ids, usage)
    real.start("slurmctld", "-D")
    found = wait(lambda: (lambda r: r.code == 0 and r.out.count("\n") > USERS and r)(real.call("sshare", "-aP", f"--format={FIELDS}")),
                 "the real sshare answers", 60)
    real.stop("slurmctld")
    rows = [line.split("|") for line in found.out.splitlines()[1:]]
    ours = execute([os.path.join(BUILD, "tests", "unit", "slurm_shares"), "classic" if flags == "NO_FAIR_TREE" else "tree"],
                   stdin=tree_of(rows, usage))
    check(ours.code == 0, ours)
    mine = [line.split("|") for line in ours.out.splitlines()[1:]]
    equal(len(mine), len(rows))
    keep = 8 if flags == "NO_FAIR_TREE" else 9  # the classic algorithm has no levels
    for one, other in zip(rows, mine):
        equal(other[:keep], one[:keep], flags)
    print(f"shares: {len(rows)} associations, {flags}: the same digits")


# Lists of both after the same words.
LISTS = [["list", "account"], ["list", "user"], ["-P", "list", "assoc"], ["list", "assoc", "account=ml"], ["show", "qos"], ["-P", "show", "qos"],
         ["-n", "-P", "list", "assoc", "user=ann", "format=account,qos"], ["-n", "-s", "list", "user", "ann", "format=account%256"],
         ["list", "user", "withassoc"], ["-P", "list", "account", "withassoc"], ["-p", "list", "user", "ann"], ["show", "tres"],
         ["list", "user", "format=nope"], ["list", "user", "nope=1"], ["nope"], ["modify", "user", "ann", "set", "nope=1"]]
CHANGES = [["add", "account", "ml", "Description=learning", "Organization=uni", "Fairshare=3"], ["add", "account", "ml"],
           ["add", "account", "sub", "parent=ml", "MaxJobs=5", "GrpTRES=cpu=4,gres/gpu=2"], ["add", "account", "x", "parent=nope"],
           ["add", "user", "ann", "account=ml"], ["add", "user", "ann", "account=ml"],
           ["add", "user", "ann", "account=sub", "Fairshare=7", "MaxWall=60"], ["add", "user", "bob,cat", "account=sub,ml", "DefaultAccount=ml"],
           ["add", "user", "zed", "account=nope"], ["add", "qos", "high", "Description=hi"], ["add", "qos", "high"],
           ["modify", "qos", "high", "set", "Priority=100", "MaxTRESPU=cpu=2", "MaxJobsPU=3", "Flags=DenyOnLimit", "GraceTime=60", "MaxWall=1-0"],
           ["modify", "user", "ann", "set", "qos+=high"], ["modify", "user", "ann", "account=ml", "set", "MaxJobs=2", "Fairshare=parent"],
           ["modify", "account", "ml", "set", "GrpJobs=10"], ["modify", "account", "nope", "set", "GrpJobs=10"], ["delete", "user", "nobody1"],
           ["delete", "user", "cat"], ["add", "qos", "low"], ["delete", "qos", "low"], ["delete", "qos", "nope"]]


ONLY_ONE = re.compile(r"^ *mete\|?default\b|\bmete +default\b|^ *default\b(?! root)|\|default\|(?!.*root)|\|root\|\|?1\||^ +root +root +Adm|\broot +root +1 |\broot\|root\|")


def plain(text):
    """Sorted lines, without what is only in one: the account `default` of Mete, the user root of Slurm's root account."""
    return sorted(line for line in text.splitlines() if not ONLY_ONE.search(line) or "root account|root|mete|||" in line)


def compare_accounts(real):
    """Changes and lists of the real sacctmgr and ours, before the 1,000 users."""
    with Mete() as m:
        env = {**os.environ, "METE_DATA": m.data, "TZ": "UTC"}
        for words in [["-i", *w] for w in CHANGES] + LISTS:
            theirs = real.call("sacctmgr", *words)
            ours = execute([METE, "sacctmgr", *words], env=env, stdin="")
            equal((ours.code, plain(ours.out)), (theirs.code, plain(theirs.out)), words, ours, theirs)
    print(f"sacctmgr: {len(CHANGES)} changes and {len(LISTS)} lists: the same texts and codes")


REPORTS = ["AccountUtilizationByUser", "UserUtilizationByAccount", "TopUsage"]
REPORT_WORDS = [[], ["-P"], ["-p", "-n"], ["-t", "seconds"], ["-t", "hours"], ["-T", "cpu,mem,node,billing"], ["-T", "gres/gpu", "-t", "seconds"]]
REPORT_MORE = [["AccountUtilizationByUser", "tree"], ["AccountUtilizationByUser", "accounts=sub"], ["AccountUtilizationByUser", "users=root"],
               ["AccountUtilizationByUser", "format=Accounts%20,Login,Used"], ["TopUsage", "topcount=1"], ["TopUsage", "group"], ["TopUsage", "accounts=other"]]
REPORT_TRES = {"cpu": "cpuMs", "mem": "memoryMibMs", "node": "nodeMs", "billing": "cpuMs", "gres/gpu": "gpuMs"}


def write_report_usage(real, rows, hour):
    """Gives the real database the hourly sums that Mete has; without capacity it would report none."""
    def insert(table, **values):
        statement = f"insert into {table} (creation_time,mod_time,deleted,time_start,{','.join(values)}) values ({hour},{hour},0,{hour},{','.join(map(str, values.values()))})"
        r = real.call("mariadb", "--no-defaults", "-uroot", "-S", f"{real.dir}/maria/m.sock", "slurm_acct_db", "-e", statement)
        check(r.code == 0, r)
    tres = {}
    for line in real.call("sacctmgr", "-nP", "show", "tres", "format=type,name,id").out.splitlines():
        kind, name, number = line.split("|")
        tres[f"{kind}/{name}" if name else kind] = number
    ids = {(account, user): number for number, account, user in
           (line.split("|") for line in real.call("sacctmgr", "-nP", "show", "assoc", "format=id,account,user").out.splitlines())}
    for name, key in REPORT_TRES.items():
        insert("mete_usage_hour_table", id_tres=tres[name], count=2, alloc_secs=3600, idle_secs=3600)
        for row in rows:
            insert("mete_assoc_usage_hour_table", id=ids[row["account"], row["user"]], id_tres=tres[name], alloc_secs=(row[key] + 500) // 1000)


def compare_reports(real):
    """What jobs of two accounts used, in the words of both sreports; for the real one it was in one hour three days ago."""
    with Mete("emulated:2xH100") as m:
        env = {**os.environ, "METE_DATA": m.data, "TZ": "UTC"}
        for words in (["add", "account", "ml"], ["add", "account", "sub", "parent=ml"], ["add", "account", "other"],
                      ["add", "user", "root", "account=sub,other"]):
            check(execute([METE, "sacctmgr", "-i", *words], env=env, stdin="").code == 0, words)
            check(real.call("sacctmgr", "-i", *words).code == 0, words)
        for account, gpus, seconds in (("other", 1, 4), ("sub", 2, 7), ("sub", 0, 2)):
            words = ["-A", account, *([f"--gres=gpu:{gpus}"] if gpus else []), "--mem=64M", "-o", "/dev/null", "--wrap", f"sleep {seconds}"]
            r = execute([METE, "sbatch", "--wait", *words], env=env, stdin="", cwd="/tmp")
            check(r.code == 0, r)
        wait(lambda: len(m.read("/apis/mete.dev/v1/accounting?states=COMPLETED&from=1h")["items"]) == 3, "all rows are there", 60)
        report = m.read("/apis/mete.dev/v1/rollup?from=2h&to=2100-01-01")
        hour = report["fromS"] // 86400 * 86400 - 3 * 86400  # the real one reports hours that are over
        write_report_usage(real, report["rows"], hour)
        past = [f"{key}={time.strftime('%Y-%m-%dT%H:00:00', time.gmtime(at))}" for key, at in (("start", hour), ("end", hour + 3600))]
        calls = [[*o, "user" if r == "TopUsage" else "cluster", r] for r in REPORTS for o in REPORT_WORDS]
        calls += [["-t", "seconds", "user" if r == "TopUsage" else "cluster", r, more] for r, more in REPORT_MORE]
        for words in calls:
            theirs = real.call("sreport", *words, *past)
            ours = execute([METE, "sreport", *words, "start=now-2hours", "end=now+1hours"], env=env, stdin="")
            equal((ours.code, without_energy(ours.out)), (theirs.code, without_energy(theirs.out)), words, ours, theirs)
    print(f"sreport: {len(calls)} reports of the same history: the same texts")


def without_energy(text):
    """Without the line of the period, which differs, and without the last column where it is energy: the real one has none of gpus."""
    lines = text.splitlines()
    has_energy = any("Energy" in line for line in lines)
    lines = [line for line in lines if " - 20" not in line]
    return [re.sub(r"\|\d*$|\|\d*\|$| +\d+ $", "", line) for line in lines] if has_energy or (lines and "|" in lines[0] and "Used" not in lines[0]) else lines


def delete_accounts(real):
    for account in ("sub", "ml", "other"):
        real.call("sacctmgr", "-i", "delete", "account", account)


def main():
    missing = [name for name in PROGRAMS if not (shutil.which(name) or os.path.exists(f"/usr/sbin/{name}"))]
    check(not missing, f"missing: {missing}: apt-get install slurmctld slurm-client munge slurmdbd mariadb-server")
    with Accounts() as real:
        real.call("sacctmgr", "-i", "add", "cluster", "mete")
        real.start("slurmctld", "-D", "-i")  # tells the database of its resources
        wait(lambda: "gres" in real.call("sacctmgr", "-n", "show", "tres").out, "the database knows gpus", 60)
        compare_accounts(real)
        real.stop("slurmctld")
        for user in ("ann", "bob"):
            real.call("sacctmgr", "-i", "delete", "user", user)
        delete_accounts(real)
        compare_reports(real)
        delete_accounts(real)
        path = f"{real.dir}/accounts.cfg"
        with open(path, "w") as f:
            f.write(make_accounts(1))
        r = real.call("sacctmgr", "-i", "load", f"file={path}")
        check(r.code == 0, r)
        listed = real.call("sacctmgr", "-nP", "list", "assoc", "format=id,user").out.split()
        ids = [(int(line.split("|")[0]), line.split("|")[1]) for line in listed if line.split("|")[1]]
        check(len(ids) > USERS, len(ids))
        for seed in (1, 2):
            usage = make_usage([user for _, user in ids], seed)
            for flags in ("NONE", "NO_FAIR_TREE"):
                compare(real, usage, ids, flags)
