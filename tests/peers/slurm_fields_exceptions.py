"""Differences between Mete and Slurm 22.05, each with its reason: (command, key), where both are patterns of the shell. GAP is what Mete should
have and has not."""

import os
import re
from fnmatch import fnmatchcase

VERSION = "Mete has the texts of 24.11, which differ from those of 22.05"
UNMEASURED = "Mete does not measure it: what is unknown is empty or N/A, never 0"
PLACE = "the name, the address or the port is another"
NUMBERS = "objects of Mete have names, and no numbers of a database"
FIRST = "the first element has the number of its array, and elements that wait come last"
RULES = "the scheduler is another: it plans no nodes, and keeps no evaluations, plans and flags of each job"
DEFAULTS = "without an account Mete's jobs have none, and a limit or memory that was not asked for is none"
GPUS = "gpus of nodes and jobs are counted with and without their type; their indexes are not listed"
CPUS = "a job has its cpus as a share of all, so that they have no numbers"
MINIMUM = "the least cpus of a node are counted in the job's cpus; a job with --mem=0 has its node alone"
SCRIPT = "the script counts as a step of its job, and has the signal in its code"
WORDS = "the same is said in other words or on the other stream"
STRICT = "bad input is an error; 22.05 goes on"
OTHERS = "users and nodes of the other doors need not be known on the machine of the command"
UNSET = "a key that slurm.conf does not set is not listed"
DAEMON = "of slurmctld itself"
NUMBER = "24.11 has an object for a number that may be absent or infinite"
LIST = "24.11 has a list for states and flags"
OBJECT = "24.11 has an object with these members"
NULL = "22.05 has null where nothing is known, 24.11 an empty text, list or number"
ORDER = "equal jobs come in the order of their submission"
GAP = "missing"


def keys(reason, command, names):
    return {(command, name): reason for name in names.split()}


def without_effect():
    """The keys of slurm.conf that have no effect, with the reasons of docs/slurm-conf.md."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "slurm-conf.md"), encoding="utf-8") as f:
        rows = f.read().partition("## All other keys")[2].rpartition("| without effect |")[2].splitlines()
    return {("show config", name): row.rstrip(" |").rpartition(" | ")[2] for row in rows for name in re.findall(r"`(\w+)`", row.partition(" | ")[0])}


EXCEPTIONS = {
    **without_effect(),
    **keys(UNSET, "show config", """AccountingStorageEnforce CliFilterPlugins Epilog GresTypes JobDefaults JobSubmitPlugins Licenses MailProg MCSPlugin
        MpiDefault OverTimeLimit PreemptExemptTime PreemptMode PreemptType PrivateData Prolog PrologEpilogTimeout"""),
    **keys(DAEMON, "show config", "BOOT_TIME HASH_VAL MULTIPLE_SLURMD NEXT_JOB_ID SLURM_CONF SlurmctldHost[[]0]"),
    ("show config", "PMIx*"): "of Slurm's pmix.conf",
    ("show config", "UsePam"): "Mete starts and contains processes by its own means",
    ("show config", "SLURM_VERSION"): VERSION,
    ("show config", "DisableRootJobs"): "YES and NO are in capitals",
    ("* texts", "-V (out)"): VERSION,
    ("* texts", "*nosuchuser (*)"): OTHERS,
    ("squeue texts", "-w nosuch (*)"): OTHERS,
    ("* texts", "-O nope (code)"): STRICT,
    ("squeue texts", "-o %1 (*)"): STRICT,
    ("squeue texts", "-S nope (*)"): "jobs are sorted by any column",
    ("squeue texts", "-s {run} (*)"): "a job without a step stands for its steps",
    ("squeue texts", "*(out)"): ORDER,
    ("squeue texts", "* (err)"): WORDS,
    ("sinfo texts", "-t nope (*)"): GAP + ": a state that is none selects no node, without an error",
    ("sinfo texts", "-o %5P*"): STRICT,
    ("sinfo texts", "extra (*)"): STRICT,
    ("sinfo texts", "* (out)"): WORDS,
    ("sacct texts", "*jobid%x (*)"): "a width that is no number counts as none",
    ("sacct texts", "*-l (out)"): UNMEASURED,
    ("sacct texts", "*%-12*"): "a width belongs to one column; 22.05 gives the last to all of the name",
    ("sacct texts", "* (err)"): WORDS,
    ("scontrol texts", "show hostnames n[[]1 (*)"): STRICT,
    ("scontrol texts", "update jobid={run} (code)"): "no change is no error",
    ("scontrol texts", "*"): WORDS,
    ("scancel texts", "99999999 (*)"): "an unknown job is an error",
    ("scancel texts", "{run}.99 (*)"): GAP + ": an unknown step is no error",
    ("scancel texts", "-t nope (err)"): WORDS,
    ("* --json", "meta.*"): "24.11 has `meta.slurm`, with texts, and the plugin of its reader",
    ("sinfo --json", "nodes[[]]*"): "24.11 has groups of nodes in `sinfo`, as the table; `scontrol show node --json` has nodes",
    **keys(NUMBER, "squeue --json", """jobs[[]].accrue_time jobs[[]].array_job_id jobs[[]].array_task_id jobs[[]].array_max_tasks jobs[[]].cores_per_socket
        jobs[[]].billable_tres jobs[[]].cpus_per_task jobs[[]].cpu_frequency_* jobs[[]].deadline jobs[[]].delay_boot jobs[[]].eligible_time jobs[[]].end_time
        jobs[[]].last_sched_evaluation jobs[[]].max_cpus jobs[[]].max_nodes jobs[[]].tasks_per_* jobs[[]].cpus jobs[[]].node_count jobs[[]].tasks
        jobs[[]].het_job_* jobs[[]].memory_per_* jobs[[]].minimum_* jobs[[]].preempt_time jobs[[]].pre_sus_time jobs[[]].priority jobs[[]].resize_time
        jobs[[]].sockets_per_node jobs[[]].start_time jobs[[]].submit_time jobs[[]].suspend_time jobs[[]].time_limit jobs[[]].time_minimum
        jobs[[]].threads_per_core"""),
    **keys(LIST, "squeue --json", "jobs[[]].flags[[]] jobs[[]].job_state jobs[[]].show_flags[[]] jobs[[]].shared jobs[[]].profile"),
    **keys(OBJECT, "squeue --json", "jobs[[]].derived_exit_code jobs[[]].exit_code jobs[[]].job_resources.*"),
    **keys(NULL, "squeue --json", "jobs[[]].core_spec jobs[[]].thread_spec jobs[[]].nice"),
    ("squeue --json", "jobs[[]].gres_detail[[]]"): GPUS,
    **keys(NUMBER, "sacct --json", "jobs[[]].array.task_id jobs[[]].time.limit jobs[[]].het.job_offset jobs[[]].priority jobs[[]].steps[[]].CPU.requested_frequency.*"),
    **keys(LIST, "sacct --json", "jobs[[]].flags[[]] jobs[[]].state.current jobs[[]].steps[[]].state jobs[[]].*exit_code.status"),
    **keys(OBJECT, "sacct --json", """jobs[[]].*exit_code.return_code jobs[[]].required.memory jobs[[]].steps[[]].time.end jobs[[]].steps[[]].time.start jobs[[]].steps[[]].pid
        jobs[[]].steps[[]].statistics.energy.consumed jobs[[]].steps[[]].step.*"""),
    **keys(NULL, "sacct --json", """jobs[[]].comment.* jobs[[]].array.task jobs[[]].association.partition jobs[[]].container jobs[[]].*kill_request_user
        jobs[[]].reservation.name jobs[[]].*tres.*.name jobs[[]].steps[[]].CPU.governor"""),
    **keys(VERSION, "show [!r]*", "MaxCPUsPerSocket Version CapWatts ExtSensors* ResumeAfterTime TRES Power ReqTRES AllocTRES SubmitLine TresPer* MemPerTres"),
    ("show reservation", "Watts"): VERSION,
    **keys(VERSION, "sinfo -*", "%v %i Version StateComplete"),
    **keys(VERSION, "squeue -O", "tres-per-* mem-per-tres exit_code STDERR STDOUT SiblingsViableRaw"),
    **keys(VERSION, "squeue -o", "%b"),
    **keys(VERSION, "sacct of a *", "AllocGRES Extra FailedNode Licenses Planned PlannedCPU PlannedCPURAW QOSREQ ReqGRES Restarts StdErr StdIn StdOut"),
    **keys(UNMEASURED, "show node", "CPULoad FreeMem BootTime LastBusyTime OS"),
    **keys(UNMEASURED, "sinfo -*", "%e %O CPUsLoad FreeMem"),
    **keys(UNMEASURED, "sacct of a *", "ConsumedEnergy* Ave* MaxDisk* MaxPages* MaxVMSize* SystemCPU UserCPU TotalCPU TRESUsage* ReqCPUFreq* Layout"),
    **keys("Mete measures jobs that end at once, too", "sacct of a step", "MaxRSS* MinCPU*"),
    **keys(PLACE, "*", "NodeAddr AllocNode:Sid AllocNodes %o %V Cluster Port"),
    **keys(NUMBERS, "sacct of a *", "AssocID QOSRAW ReservationId JobIDRaw"),
    **keys(NUMBERS, "squeue -O", "AssocId"),
    **keys(FIRST, "show job", "JobId JobState Reason EligibleTime StartTime EndTime NodeList BatchHost StdErr StdOut Nodes Mem ArrayTaskId"),
    **keys(FIRST, "squeue -*", "%A JobId"),
    **keys(FIRST, "sacct of a *", "AllocCPUS Eligible"),
    **keys(RULES, "show job", "AccrueTime LastSchedEval Scheduler SchedNodeList NumNodes"),
    **keys(RULES, "squeue -*", "%Y %S %e %r %R AccrueTime EligibleTime LastSchedEval MaxCPUs MaxNodes SchedNodes StartTime EndTime Reason ReasonList"),
    **keys(RULES, "sacct of a *", "Flags Reserved ResvCPU Reason"),
    **keys(DEFAULTS, "squeue -*", "%a %m Account MinMemory"),
    **keys(DEFAULTS, "sacct of a *", "Timelimit TimelimitRaw ReqMem ReqTRES AllocTRES"),
    **keys(DEFAULTS, "show job", "MinMemoryNode"),
    **keys(GPUS, "show *", "CfgTRES GresUsed JOB_GRES GRES"),
    **keys(GPUS, "sinfo -*", "GresUsed"),
    **keys(GPUS, "squeue -O", "tres-alloc"),
    ("squeue -O", "ExcNodes"): "the long name of %x",
    ("sacct of a job", "Comment"): "22.05 stores the comment at the end of the job",
    **keys(CPUS, "show *", "CPU_IDs CoreCnt"),
    ("show reservation", "TRES"): "a reservation keeps gpus where the nodes have some",
    **keys(MINIMUM, "show job", "NumCPUs OverSubscribe"),
    **keys(MINIMUM, "squeue -*", "%C %h NumCPUs OverSubscribe"),
    **keys(MINIMUM, "sacct of a *", "NCPUS ReqCPUS"),
    **keys(SCRIPT, "show job", "ExitCode"),
    **keys(SCRIPT, "squeue -O", "DerivedEC"),
    **keys(SCRIPT, "sacct of a *", "ExitCode State"),
    **keys("the user who drained the node has a name, and need not have a uid", "sinfo -*", "%U UserLong"),
    ("sacct of a step", "SubmitLine"): GAP + ": the line of srun is not kept",
    ("show job", "Extra"): "a sentence says why a job waits",
    ("show job", "WCKey"): "a key is kept as it is, without TrackWCKey",
    **keys("the job was looked at by one side before its limit, by the other behind it", "squeue -*", "%L TimeLeft"),
}


def reason_of(command, key):
    """The place in EXCEPTIONS that excuses a difference, and its reason; None: nothing does."""
    return next((at for at in EXCEPTIONS if fnmatchcase(command, at[0]) and fnmatchcase(key, at[1])), None)
