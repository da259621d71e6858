"""Accounts, users and QOS of Slurm: sacctmgr keeps them as Slurm prints them, and sbatch enforces them."""

import importlib.util
import json
import os
import pwd

from harness import Mete, check, equal, wait

spec = importlib.util.spec_from_file_location("commands", os.path.join(os.path.dirname(__file__), "test_slurm_commands.py"))
commands = importlib.util.module_from_spec(spec)
spec.loader.exec_module(commands)

ME = pwd.getpwuid(os.geteuid()).pw_name
INVALID_ACCOUNT = "Invalid account or account/partition combination specified"


def test_slurm_accounts():
    with Mete("emulated:2xH100") as m:
        s = commands.Slurm(m)
        keeps_accounts(s)
        dumps_and_loads(s)
        enforces(s, m)
        shares_and_orders(s, m)
        m.stop()
        m.start()
        keeps_usage(s)
        reports_usage(s)
        waits_with_reasons(s, m)
        limits_gains_by_age(s, m)
        counts_what_was_used(s)
        preempts(s, m)
        waits_for_licenses(s, m)
        limits_a_partition(s, m)
        follows_submit_rules(s, m)


def limits_gains_by_age(s, m):
    """The age of as many waiting jobs counts as MaxJobsAccrue says; no room is kept for jobs below MinPrioThreshold."""
    set_parameters(m, AccountingStorageEnforce="limits,qos", PriorityCalcPeriod="00:00:01", PriorityWeightAge="1000000", PriorityMaxAge="00:01:00")
    s.ok("sacctmgr", "-i", "modify", "account", "vision_1", "set", "MaxJobsAccrue=1")
    full = s.submit("--exclusive", "--qos=normal", "--wrap", "sleep 1000")
    s.wait_state(full, "RUNNING")
    first, second = (s.submit("--exclusive", "--qos=normal", "--wrap", "sleep 1000") for _ in range(2))

    def ages():
        return dict(line.split() for line in s.ok("sprio", "-h", "-o", "%i %A").splitlines())

    wait(lambda: int(ages().get(first, 0)) > 0, "the first job gains points by age")
    equal(ages().get(second, "0"), "0")
    s.ok("scancel", full)
    s.wait_state(first, "RUNNING")
    wait(lambda: int(ages().get(second, 0)) > 0, "the second job gains points by age")
    s.ok("scancel", second)
    s.ok("sacctmgr", "-i", "modify", "account", "vision_1", "set", "MaxJobsAccrue=-1")
    s.ok("scancel", first)
    set_parameters(m, AccountingStorageEnforce="limits,qos")
    s.ok("sacctmgr", "-i", "modify", "account", "vision_1", "set", "MinPrioThreshold=1")
    half = s.submit("--qos=normal", "--wrap", "sleep 1000")
    s.wait_state(half, "RUNNING")
    large = s.submit("--exclusive", "--qos=normal", "--wrap", "sleep 1000")
    small = s.submit("--qos=normal", "--wrap", "true")
    s.wait_state(small, "COMPLETED")
    s.ok("sacctmgr", "-i", "modify", "account", "vision_1", "set", "MinPrioThreshold=-1")
    s.ok("scancel", half, large)
    wait(lambda: s.ok("squeue", "-h") == "", "all jobs are over")


def reports_usage(s):
    """Sums of accounts are those of their users and of the accounts below, also after a restart."""
    period = ["start=now-2hours", "end=now+1hours"]
    rows = [line.split("|") for line in s.ok("sreport", "-nP", "-t", "seconds", "cluster", "AccountUtilizationByUser", *period, "format=accounts,login,used").splitlines()]
    used = {(account, login): int(n) for account, login, n in rows}
    check(used["vision_1", ""] > 0 and used["vision_1", ME] > 0 and used["root", ""] >= used["vision_1", ""], used)
    equal(rows[0][:2], ["root", ""])
    users = [n for (account, login), n in used.items() if login]
    check(abs(used["root", ""] - sum(users)) <= len(users), used, "each number is rounded")
    head = s.ok("sreport", "user", "top", *period, "-T", "gres/gpu,mem").splitlines()
    check(head[1].startswith("Top 10 Users ") and head[2] == "Usage reported in TRES Minutes", head)
    equal(head[4].split(), ["Cluster", "Login", "Proper", "Name", "Account", "TRES", "Name", "Used"])
    check({"mem", "gres/gpu"} <= {line.split()[-2] for line in head[6:]}, head)
    for words, err in ((["job", "SizesByAccount"], "job SizesByAccount is not available yet: docs/slurm.md\n"), (["nope"], "invalid keyword: nope\n"),
                       (["user", "top", "start=x"], "Invalid time specification (pos=0): x\n"), (["-T", "x", "user", "top"], "No valid TRES given\n")):
        r = s.call("sreport", *words)
        equal((r.code, r.out, r.err), (1, "", err), r)


def keeps_accounts(s):
    out = s.ok("sacctmgr", "-i", "add", "account", "ml", "Description=Learning", "Organization=uni", "Fairshare=3")
    equal(out, " Adding Account(s)\n  ml\n Settings\n  Description     = Learning\n  Organization    = uni\n Associations\n"
               "  A = ml         C = mete      \n Settings\n  Fairshare     = 3\n  Parent        = root\n")
    equal(s.call("sacctmgr", "-i", "add", "account", "ml").out, " Nothing new added.\n")
    equal(s.call("sacctmgr", "-i", "add", "account", "ml").code, 1)
    r = s.call("sacctmgr", "-i", "add", "account", "x", "parent=nope")
    equal((r.code, r.err), (1, " Parent account 'nope' doesn't exist on cluster mete\n        Contact your admin to add this account.\n"
                               " No associations created.\n"))
    s.ok("sacctmgr", "-i", "add", "account", "vision_1", "parent=ml", "MaxJobs=5", "GrpTRES=cpu=4,gres/gpu=2")
    s.ok("sacctmgr", "-i", "add", "qos", "high", "Priority=100", "MaxTRESPU=gres/gpu=1", "Flags=DenyOnLimit", "GraceTime=60")
    s.ok("sacctmgr", "-i", "add", "user", "ann,bob_1", "account=vision_1,default", "DefaultAccount=vision_1")
    equal(s.ok("sacctmgr", "-i", "modify", "user", "ann", "account=vision_1", "set", "qos+=high", "Fairshare=7"),
          " Modified user associations...\n  C = mete       A = vision_1             U = ann      \n")
    equal(s.ok("sacctmgr", "-nP", "list", "assoc", "user=ann", "format=account,qos"), "default|normal\nvision_1|high,normal\n")
    equal(s.ok("sacctmgr", "-n", "-s", "list", "user", "ann", "format=account%256"), f"{'default':>256} \n{'vision_1':>256} \n")
    equal(s.ok("sacctmgr", "-nP", "list", "assoc", "account=vision_1", "format=account,user,share,grptres,maxjobs"),
          "vision_1||1|cpu=4,gres/gpu=2|5\nvision_1|ann|7||5\nvision_1|bob_1|1||5\n")
    equal(s.ok("sacctmgr", "list", "user", "ann"),
          "      User   Def Acct     Admin \n---------- ---------- --------- \n       ann   vision_1      None \n")
    lines = s.ok("sacctmgr", "show", "qos", "-P").splitlines()
    equal(lines[1], "normal|0|00:00:00|||cluster|||1.000000|||||||||||||||||")
    equal(lines[2], "high|100|00:01:00|||cluster|DenyOnLimit||1.000000|||||||||||gres/gpu=1||||||")
    equal(s.ok("sacctmgr", "-i", "delete", "user", "bob_1"), " Deleting users...\n  bob_1\n")
    equal(s.call("sacctmgr", "add", "account", "later", stdin="n\n").out.splitlines()[-1], "(N/y):  Changes Discarded")
    equal(s.ok("sacctmgr", "-nP", "list", "account", "later"), "")
    for words, error in ((("list", "wckey"), "wckeys are not available: docs/slurm.md"), (("list", "user", "format=nope"), "Unknown field 'nope'"),
                         (("nope",), "invalid keyword: nope")):
        r = s.call("sacctmgr", *words)
        equal((r.code, r.err), (1, error + "\n"))


def enforces(s, m):
    job = s.submit("--wrap", "true", "-A", "unknown")  # nothing is enforced yet
    s.wait_state(job, "COMPLETED")
    set_parameters(m, AccountingStorageEnforce="limits,qos")
    for words in (("-A", "unknown"), ("-A", "ml"), ()):
        r = s.call("sbatch", "--wrap", "true", *words)
        equal((r.code, r.err), (1, f"sbatch: error: Batch job submission failed: {INVALID_ACCOUNT}\n"))
    s.ok("sacctmgr", "-i", "add", "user", ME, "account=vision_1,ml", "DefaultAccount=vision_1")
    r = s.call("sbatch", "--wrap", "true", "-A", "ml")
    equal((r.code, r.err), (1, "sbatch: error: Account ml has accounts below it: name one of them, such as vision_1\n"
                               f"sbatch: error: Batch job submission failed: {INVALID_ACCOUNT}\n"))
    s.ok("sacctmgr", "-i", "delete", "user", ME, "account=ml")
    job = s.submit("--wrap", "true")
    s.wait_state(job, "COMPLETED")
    equal(s.ok("squeue", "-h", "-t", "all", "-j", job, "-o", "%a|%q"), "vision_1|normal\n")
    for qos in ("nope", "high"):
        r = s.call("sbatch", "--wrap", "true", "--qos", qos)
        check(r.code == 1 and "Invalid qos specification" in r.err, r)
    s.ok("sacctmgr", "-i", "modify", "user", ME, "set", "qos=high,normal", "DefaultQOS=high")
    job = s.submit("--wrap", "true", "--gres=gpu:1")
    s.wait_state(job, "COMPLETED")
    equal(s.ok("squeue", "-h", "-t", "all", "-j", job, "-o", "%q"), "high\n")
    r = s.call("sbatch", "--wrap", "true", "--gres=gpu:2")
    check(r.code == 1 and "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)" in r.err, r)
    set_parameters(m, AccountingStorageEnforce="none")
    wait(lambda: s.ok("squeue", "-h") == "", "all jobs are over")


def set_parameters(m, **settings):
    m.ok("apply", "-f", "-", stdin=json.dumps({"apiVersion": "mete.dev/v1", "kind": "SlurmConfig", "metadata": {"name": "default"},
                                               "spec": {"settings": settings}}))


def shares(s):
    lines = [line.split("|") for line in s.ok("sshare", "-aPln", "--format=account,user,rawshares,normshares,rawusage,fairshare").splitlines()]
    return {(line[0].strip(), line[1]): line[2:] for line in lines}


def shares_and_orders(s, m):
    m.ok("apply", "-f", "-", stdin='{"apiVersion":"mete.dev/v1","kind":"Queue","metadata":{"name":"root"},"spec":{"fairness":{"order":"Priority"}}}')
    set_parameters(m, PriorityCalcPeriod="00:00:01", PriorityWeightFairshare="1000", PriorityWeightQOS="500", PriorityWeightAge="10")
    s.wait_state(s.submit("--wrap", "sleep 2", "-c", "1"), "COMPLETED")
    found = wait(lambda: (lambda x: int(x["vision_1", ME][2]) > 0 and x)(shares(s)), "the usage counts")
    equal(found["vision_1", "ann"][:2], ["7", "0.875000"])
    equal(found["vision_1", ME][:2], ["1", "0.125000"])
    equal((found["vision_1", "ann"][3], found["vision_1", ME][3]), ("0.666667", "0.333333"), "who used nothing comes first")
    equal(s.ok("sshare", "-U", "--format=Account%20", "--noheader"), "            vision_1 \n")
    header = s.ok("sshare").splitlines()
    equal(header[0], "Account                    User  RawShares  NormShares    RawUsage  EffectvUsage  FairShare ")
    equal(header[2], "root                                          0.000000 " + f"{found['root', ''][2]:>11}      1.000000            ")

    block = s.submit("--exclusive", "--wrap", "sleep 1000")
    s.wait_state(block, "RUNNING")
    low = s.submit("--wrap", "true", "--exclusive", "--nice=100", "--qos=normal")
    high = s.submit("--wrap", "true", "--exclusive", "--qos=high")
    rows = wait(lambda: (lambda out: [row.split()[0] for row in out] == [low, high] and out)(s.ok("sprio", "-h", "-o", "%i %Y %F %Q %N").splitlines()),
                "both wait, and the job that runs is no longer listed")
    equal([row.split()[2:] for row in rows], [["333", "0", "100"], ["333", "500", "0"]])
    check(233 <= int(rows[0].split()[1]) <= 243 and 833 <= int(rows[1].split()[1]) <= 843, rows)
    equal(s.ok("sprio", "-w").splitlines()[1], "        Weights                               1         10       1000        500")
    equal(s.ok("squeue", "-h", "-j", high, "-o", "%Q"), rows[1].split()[1] + "\n")
    s.ok("scancel", block)
    for job in (low, high):
        s.wait_state(job, "COMPLETED")
    starts = {job: s.ok("sacct", "-nXP", "-j", job, "-o", "start").strip() for job in (low, high)}
    first = [line.split("|")[0] for line in s.ok("squeue", "-h", "-t", "all", "-S", "S", "-o", "%i|%S", "-j", f"{low},{high}").splitlines()]
    check(starts[high] <= starts[low] and set(first) == {low, high}, starts, "the job of the better QOS went first")


def keeps_usage(s):
    found = wait(lambda: (lambda x: int(x["vision_1", ME][2]) > 0 and x)(shares(s)), "the usage is read back")
    equal(found["vision_1", ME][3], "0.333333")


def waits_with_reasons(s, m):
    """Limits of QOS, associations and accounts keep jobs waiting with Slurm's reasons, and let them go when room is free."""
    set_parameters(m, AccountingStorageEnforce="limits,qos")
    s.ok("sacctmgr", "-i", "add", "qos", "tight", "MaxJobsPU=1")
    s.ok("sacctmgr", "-i", "add", "qos", "small", "GrpTRES=cpu=1", "MaxWall=10")
    s.ok("sacctmgr", "-i", "modify", "user", ME, "set", "qos=normal,tight,small", "DefaultQOS=normal")
    first = s.submit("--wrap", "sleep 1000", "--qos=tight")
    s.wait_state(first, "RUNNING")
    array = s.submit("--wrap", "sleep 1000", "--qos=tight", "--array=0-3")
    small = s.submit("--wrap", "sleep 1000", "--qos=small", "-c2", "-t5")
    wall = s.submit("--wrap", "sleep 1000", "--qos=small", "-t11")
    s.ok("sacctmgr", "-i", "modify", "account", "vision_1", "set", "MaxJobs=1")
    own = s.submit("--wrap", "true")
    want = {first: "None", array: "QOSMaxJobsPerUserLimit", small: "QOSGrpCpuLimit", wall: "QOSMaxWallDurationPerJobLimit",
            own: "AssocMaxJobsLimit"}
    wait(lambda: {line.split("|")[0].split("_")[0]: line.split("|")[1] for line in s.ok("squeue", "-h", "-o", "%i|%r").split()} == want,
         f"the reasons are {want}")
    s.ok("sacctmgr", "-i", "modify", "account", "vision_1", "set", "MaxJobs=-1")
    s.wait_state(own, "COMPLETED")
    s.ok("scancel", first)
    wait(lambda: sorted(s.states(array).values()) == ["PENDING", "RUNNING"], "one element took the room")
    s.ok("scancel", array, small, wall)
    wait(lambda: s.ok("squeue", "-h") == "", "all jobs are over")
    s.ok("sacctmgr", "-i", "modify", "qos", "small", "set", "GrpTRES=cpu=-1", "GrpTRESRunMins=cpu=12")
    first = s.submit("--wrap", "sleep 1000", "--qos=small", "-t9")
    s.wait_state(first, "RUNNING")
    second = s.submit("--wrap", "sleep 1000", "--qos=small", "-t4")
    third = s.submit("--wrap", "sleep 1000", "--qos=small", "-t2")
    s.wait_state(third, "RUNNING")
    wait(lambda: s.ok("squeue", "-h", "-j", second, "-o", "%r") == "QOSGrpCPURunMinutesLimit\n", "the second job waits for minutes")
    s.ok("scancel", first)
    s.wait_state(second, "RUNNING")
    s.ok("scancel", second, third)
    wait(lambda: s.ok("squeue", "-h") == "", "all jobs are over")
    s.ok("sacctmgr", "-i", "modify", "qos", "tight", "set", "MaxSubmitJobsPU=2")
    r = s.call("sbatch", "--wrap", "true", "--qos=tight", "--array=0-2")
    check(r.code == 1 and "QOSMaxSubmitJobPerUserLimit" in r.err and "Job violates accounting/QOS policy" in r.err, r)


def preempts(s, m):
    """A job of a QOS preempts those of the QOS in its list, as the mode of the victim's QOS says."""
    set_parameters(m, PreemptType="preempt/qos", PreemptMode="REQUEUE")
    s.ok("sacctmgr", "-i", "add", "qos", "low")
    s.ok("sacctmgr", "-i", "add", "qos", "over", "Preempt=low", "Flags=DenyOnLimit")
    low = s.submit("--gres=gpu:2", "--qos=low", "--open-mode=append", "-o", "low.out", "--wrap", "echo ${SLURM_RESTART_COUNT:-first}; sleep 1000")
    wait(lambda: os.path.exists(os.path.join(s.dir, "low.out")) and s.text("low.out") == "first\n", "the job's script runs")
    over = s.submit("--gres=gpu:2", "--qos=over", "--wrap", "sleep 1000")
    s.wait_state(over, "RUNNING")
    wait(lambda: s.states(low)[low] == "PENDING", "the preempted job waits again")
    wait(lambda: "PREEMPTED" in s.ok("sacct", "-nXPD", "-j", low, "-o", "State").split(), "the attempt's row")
    s.ok("scancel", over)
    s.wait_state(low, "RUNNING")
    wait(lambda: s.text("low.out") == "first\n1\n", "the job has started anew")
    s.ok("sacctmgr", "-i", "modify", "qos", "low", "set", "PreemptMode=cancel")
    over = s.submit("--gres=gpu:1", "--qos=over", "--wrap", "sleep 1000")
    s.wait_state(over, "RUNNING")
    wait(lambda: s.states(low)[low] == "PREEMPTED", "the preempted job is over")
    equal(s.ok("sacct", "-nXP", "-j", low, "-o", "State"), "PREEMPTED\n")
    s.ok("scancel", over)
    wait(lambda: s.ok("squeue", "-h") == "", "all jobs are over")


def waits_for_licenses(s, m):
    equal(s.ok("scontrol", "show", "licenses"), "No licenses configured in Slurm.\n")
    set_parameters(m, Licenses="matlab:2,octave:1")
    wait(lambda: "Total=2 Used=0 Free=2" in s.ok("scontrol", "show", "lic"), "the setting is read")
    first = s.submit("-L", "matlab:2", "--wrap", "sleep 1000")
    s.wait_state(first, "RUNNING")
    second = s.submit("--licenses=matlab", "--wrap", "true")
    wait(lambda: s.ok("squeue", "-h", "-j", second, "-o", "%W|%r") == "matlab|Licenses\n", "the second job waits for a license")
    equal(s.ok("scontrol", "show", "licenses", "matlab"), "LicenseName=matlab\n    Total=2 Used=2 Free=0 Reserved=0 Remote=no\n")
    other = s.submit("-L", "octave:1|matlab:1", "-o", "other.out", "--wrap", "echo $SLURM_JOB_LICENSES")
    s.wait_state(other, "COMPLETED")
    equal(s.text("other.out"), "octave:1\n")
    s.ok("scancel", first)
    s.wait_state(second, "COMPLETED")
    r = s.call("sbatch", "-L", "nope", "--wrap", "true")
    equal((r.code, r.err), (1, "sbatch: error: Batch job submission failed: Invalid license specification\n"))


def counts_what_was_used(s):
    """Used minutes of GPUs and of run time, the threshold of shares, and the factor of limits, of QOS."""
    s.ok("sacctmgr", "-i", "add", "qos", "spent", "GrpTRESMins=gres/gpu=0")
    s.ok("sacctmgr", "-i", "add", "qos", "walled", "GrpWall=0")
    s.ok("sacctmgr", "-i", "add", "qos", "fair", "UsageThreshold=1", "Flags=EnforceUsageThreshold")
    s.ok("sacctmgr", "-i", "add", "qos", "double", "LimitFactor=2")
    s.ok("sacctmgr", "-i", "modify", "user", ME, "set", "qos+=spent,walled,fair,double")
    s.ok("sacctmgr", "-i", "modify", "account", "vision_1", "set", "GrpTRES=cpu=1")
    want = {s.submit("--wrap", "true", *words): reason for reason, *words in (
        ("QOSGrpGRESMinutes", "--qos=spent", "--gres=gpu:1"), ("QOSGrpWallLimit", "--qos=walled"), ("QOSUsageThreshold", "--qos=fair"),
        ("AssocGrpCpuLimit", "--qos=normal", "-c2"))}
    wait(lambda: dict(line.split("|") for line in s.ok("squeue", "-h", "-o", "%i|%r").split()) == want, f"the reasons are {want}")
    for words in (("--qos=spent",), ("--qos=double", "-c2")):
        s.wait_state(s.submit("--wrap", "true", *words), "COMPLETED")
    for words in (("qos", "spent", "set", "GrpTRESMins=gres/gpu=100"), ("qos", "walled", "set", "GrpWall=-1"), ("qos", "fair", "set", "UsageThreshold=0"),
                  ("account", "vision_1", "set", "GrpTRES=cpu=-1")):
        s.ok("sacctmgr", "-i", "modify", *words)
    for job in want:
        s.wait_state(job, "COMPLETED")


def limits_a_partition(s, m):
    set_parameters(m, AccountingStorageEnforce="limits")
    s.ok("sacctmgr", "-i", "add", "qos", "parts", "MaxJobsPU=1", "MaxSubmitJobsPU=2")
    s.ok("scontrol", "create", "PartitionName=few", "Nodes=ALL", "Default=YES", "QOS=parts", "TRESBillingWeights=CPU=2.0,GRES/gpu=3.5")
    first = s.submit("--wrap", "sleep 1000", "--gres=gpu:1")
    s.wait_state(first, "RUNNING")
    second = s.submit("--wrap", "true")
    wait(lambda: s.ok("squeue", "-h", "-j", second, "-o", "%P|%q|%r") == "few|normal|QOSMaxJobsPerUserLimit\n", "the partition's QOS limits")
    r = s.call("sbatch", "--wrap", "true")
    check(r.code == 1 and r.err.startswith("sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: Job violates"), r)
    check(",billing=5," in s.ok("scontrol", "show", "job", first), "weights make the billing")
    s.ok("scancel", first)
    s.wait_state(second, "COMPLETED")
    wait(lambda: "billing=2," in s.ok("sacct", "-nXP", "-j", second, "-o", "AllocTRES"), "accounting keeps the billing")


def follows_submit_rules(s, m):
    def rules(*rules):
        spec = {"apiVersion": "mete.dev/v1", "kind": "SlurmConfig", "metadata": {"name": "default"}, "spec": {"submitRules": rules}}
        return m.mete("apply", "-f", "-", stdin=json.dumps(spec))
    r = rules({"when": "job.gpu > 1"})
    check(r.code != 0 and 'spec.submitRules[0].when' in r.err and 'a job has no "gpu"' in r.err, r)
    r = rules({"when": "job.timeLimitMinutes == 0", "set": {"timeLimitMinutes": 7, "comment": "short"}},
              {"when": "job.gpus > 1 && job.comment != 'big'", "refuse": "more than one GPU needs --comment=big"})
    check(r.code == 0, r)
    job = s.submit("--wrap", "true")
    equal(s.ok("squeue", "-h", "-t", "all", "-j", job, "-o", "%l|%k"), "7:00|short\n")
    r = s.call("sbatch", "--wrap", "true", "--gres=gpu:2")
    equal((r.code, r.err), (1, "sbatch: error: more than one GPU needs --comment=big\n"
                               "sbatch: error: Batch job submission failed: Access/permission denied\n"))
    s.wait_state(job, "COMPLETED")


DUMP = """# as Slurm writes it
Cluster - 'mete':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='lab':AdminLevel='Administrator':Fairshare=1
Account - 'lab':Description='a lab: of two':Organization='uni':Fairshare=2:GrpTRES=cpu=4,gres/gpu=2
Parent - 'lab'
Account - 'lab_b':Description='b':Organization='uni':Fairshare=2147483647
User - 'dan':DefaultAccount='lab_b':Fairshare=3:MaxJobs=3:MaxWallDurationPerJob=60:QOS='+high'
Parent - 'lab_b'
User - 'dan':DefaultAccount='lab_b':Fairshare=2147483647
"""


def dumps_and_loads(s):
    s.write("accounts.cfg", DUMP)
    equal(s.ok("sacctmgr", "-i", "load", "file=accounts.cfg"), "For cluster mete\n")
    equal(s.ok("sacctmgr", "-nP", "list", "assoc", "user=dan,root", "format=account,user,share,maxjobs,maxwall,qos"),
          "root|root|1|||normal\nlab|dan|3|3|01:00:00|high,normal\nlab_b|dan|parent|||normal\n")
    equal(s.ok("sacctmgr", "-nP", "list", "user", "dan,root"), "dan|lab_b|None\nroot|root|Administrator\n")
    equal(s.ok("sacctmgr", "-nP", "list", "account", "lab"), "lab|a lab: of two|uni\n")
    r = s.call("sacctmgr", "-i", "load", "accounts.cfg")
    equal((r.code, r.out), (1, "For cluster mete\n Nothing new added.\n"))
    s.ok("sacctmgr", "dump", "file=out.cfg")
    lines = s.text("out.cfg").splitlines()
    for line in ("Parent - 'lab'", "Account - 'lab':Description='a lab: of two':Organization='uni':Fairshare=2:GrpTRES=cpu=4,gres/gpu=2",
                 "Account - 'lab_b':Description='b':Organization='uni':Fairshare=2147483647",
                 "User - 'dan':DefaultAccount='lab_b':Fairshare=3:MaxJobs=3:MaxWallDurationPerJob=60:QOS='normal,high'",
                 "User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1"):
        check(line in lines, line, lines)
    r = s.call("sacctmgr", "-i", "load", s.write("bad.cfg", "Parent - 'root'\nUser - 'x':Nope=1\n"))
    check(r.code == 1 and r.err.startswith("line 2: "), r)
    s.ok("sacctmgr", "-i", "delete", "user", "dan,root")
