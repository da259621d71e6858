"""Accounts, users and QOS of Slurm: sacctmgr keeps them as Slurm prints them, and sbatch enforces them."""

import importlib.util
import os
import pwd

from harness import Mete, check, equal, wait

spec = importlib.util.spec_from_file_location("commands", os.path.join(os.path.dirname(__file__), "test_slurm_commands.py"))
commands = importlib.util.module_from_spec(spec)
spec.loader.exec_module(commands)

INVALID_ACCOUNT = "Invalid account or account/partition combination specified"


def test_slurm_accounts():
    with Mete("emulated:2xH100") as m:
        s = commands.Slurm(m)
        keeps_accounts(s)
        enforces(s, m)


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
    equal(s.ok("sacctmgr", "-nP", "list", "assoc", "user=ann", "format=account,qos"), "default|normal\nvision_1|normal,high\n")
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
    me = pwd.getpwuid(os.geteuid()).pw_name
    job = s.submit("--wrap", "true", "-A", "unknown")  # nothing is enforced yet
    s.wait_state(job, "COMPLETED")
    parameters = '{"apiVersion":"mete.dev/v1","kind":"Queue","metadata":{"name":"root"},"spec":{"slurmParameters":{"AccountingStorageEnforce":"%s"}}}'
    m.ok("apply", "-f", "-", stdin=parameters % "limits,qos")
    for words in (("-A", "unknown"), ("-A", "ml"), ()):
        r = s.call("sbatch", "--wrap", "true", *words)
        equal((r.code, r.err), (1, f"sbatch: error: Batch job submission failed: {INVALID_ACCOUNT}\n"))
    s.ok("sacctmgr", "-i", "add", "user", me, "account=vision_1")
    job = s.submit("--wrap", "true")
    s.wait_state(job, "COMPLETED")
    equal(s.ok("squeue", "-h", "-t", "all", "-j", job, "-o", "%a|%q"), "vision_1|normal\n")
    for qos in ("nope", "high"):
        r = s.call("sbatch", "--wrap", "true", "--qos", qos)
        check(r.code == 1 and "Invalid qos specification" in r.err, r)
    s.ok("sacctmgr", "-i", "modify", "user", me, "set", "qos=high,normal", "DefaultQOS=high")
    job = s.submit("--wrap", "true", "--gres=gpu:1")
    s.wait_state(job, "COMPLETED")
    equal(s.ok("squeue", "-h", "-t", "all", "-j", job, "-o", "%q"), "high\n")
    r = s.call("sbatch", "--wrap", "true", "--gres=gpu:2")
    check(r.code == 1 and "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)" in r.err, r)
    m.ok("apply", "-f", "-", stdin=parameters % "none")
    wait(lambda: s.ok("squeue", "-h") == "", "all jobs are over")
