/*
 * slurm_job.h - jobs of the Slurm commands: rules of a SlurmJob, its pods, and the rows of listings
 *
 * A SlurmJob (kind/kind_slurmjob.c) is what sbatch, salloc and srun submit; an array is one object.
 * control/slurm makes a pod for each element and node of the job that may run, as the job
 * controller does for Jobs: these pods are queued, placed, limited, run and charged like all
 * others. Words and forms: https://slurm.schedmd.com (sbatch, squeue, scontrol, sacct).
 */
#pragma once

#include "base/json.h"

struct causes;
struct path;

enum {
    SLURM_SCRIPT_MAX = 131072,  /* bytes of a batch script */
    SLURM_ARRAY_MAX = 100001,   /* MaxArraySize: indexes are below it */
    SLURM_KILL_WAIT_S = 30,     /* KillWait: between SIGTERM and SIGKILL */
    SLURM_OVER_ENDLESS = 65535, /* minutes of OverTimeLimit: no end */
    SLURM_TRIGGER_OFFSET_MAX = 32000,
    SLURM_SWITCH_WAIT_S = 300 /* max_switch_wait: the most that a job waits for its switches */
};

/*
 * The label of a pod of a SlurmJob: its object's name. The pod's own mete.dev/job-id is the raw id
 * of the element; the label mete.dev/slurm-array-job is the id of the array.
 */
#define SLURM_JOB_LABEL   "mete.dev/slurm-job"
#define SLURM_ARRAY_LABEL "mete.dev/slurm-array-job"
#define SLURM_INDEX_LABEL "mete.dev/slurm-array-index"

/*
 * Labels of the pods of a job on several nodes, one pod a node: the attempt, "12.0" (number of the
 * element, restarts), which is a gang of its own, and the pod's rank from 0. The pod of rank 0 runs
 * the script, the others hold their nodes until it ends.
 */
#define SLURM_GANG_LABEL "mete.dev/slurm-gang"
#define SLURM_RANK_LABEL "mete.dev/slurm-rank"

/*
 * Of a pod of a heterogeneous job: the label is its component from 0, the annotation has the
 * numbers of nodes of all components, "1,2".
 */
#define SLURM_HET_LABEL      "mete.dev/slurm-component"
#define SLURM_HET_ANNOTATION "mete.dev/slurm-components"

/* Annotation of such a pod, from its placement on: the nodes in the order of ranks, a hostlist. */
#define SLURM_NODES_ANNOTATION "mete.dev/slurm-nodes"

/* Finalizer of the pods of SlurmJobs: control/slurm removes it when it counts the pod's end. */
#define SLURM_TRACKING "mete.dev/slurm-job"

/* Annotation of a pod: what accounting keeps of its job, a JSON object (account.h, "slurm"). */
#define SLURM_ACCOUNT_ANNOTATION "mete.dev/slurm-account"

/*
 * Annotation of a pod: variables of its containers, a JSON array of "NAME=VALUE". The node sets
 * those of the submission, which it reads from the SlurmJob, then these as they are, and adds those
 * that are known only there (node/spec/env.h).
 */
#define SLURM_ENVIRONMENT_ANNOTATION "mete.dev/slurm-environment"

/* Annotation of a pod: the uid that cancelled it; its row of accounting has the number. */
#define SLURM_CANCELLED_ANNOTATION "mete.dev/slurm-cancelled-by"

/* Annotation of a pod of an allocation: "CODE SIGNAL", how its client said that it ended. */
#define SLURM_END_ANNOTATION "mete.dev/slurm-end"

/*
 * Annotation of a pod: "NUMBER SECONDS" or "NUMBER SECONDS steps": the node sends the signal once
 * to the first process, or to the processes of the steps, so long before the end by
 * activeDeadlineSeconds. A node that is down at that time does not send it later.
 */
#define SLURM_SIGNAL_ANNOTATION "mete.dev/slurm-signal"

/*
 * Annotation of a pod: minutes by which it may exceed its activeDeadlineSeconds before the node
 * ends it; SLURM_OVER_ENDLESS: any time. The time limit of listings and plans stays.
 */
#define SLURM_OVER_ANNOTATION "mete.dev/slurm-over-time"

/*
 * Annotation of a pod: "SECONDS" or "SECONDS STAMP": the pod was suspended for so long, and is
 * suspended since STAMP. The node stops the processes of a suspended pod, and its time limit does
 * not go on.
 */
#define SLURM_SUSPENDED_ANNOTATION "mete.dev/slurm-suspended"

/*
 * Annotation of a pod: why the scheduler has suspended it, so that others use its cpus. The pod is
 * then to have the annotation above, with a STAMP. Only Mete's own processes write the two.
 */
#define SLURM_LENT_ANNOTATION "mete.dev/slurm-lent"

/* Annotation of a pod: "PARTITION/COUNT", a partition whose jobs have so many cpus on a node at
 * most, together. */
#define SLURM_PARTITION_CPUS_ANNOTATION "mete.dev/slurm-partition-cpus"

/* Annotation of a pod: the nodes of its attempt, a hostlist, where the job wants neighbours. */
#define SLURM_WINDOW_ANNOTATION "mete.dev/slurm-window"

/* Annotation of a pod: of its job's alternatives, the licences that it holds, "NAME:COUNT". */
#define SLURM_LICENSE_ANNOTATION "mete.dev/slurm-license"

/* Annotation of a pod: how often its job was started before; absent: 0. */
#define SLURM_RESTARTS_ANNOTATION "mete.dev/slurm-restarts"

/*
 * Annotations of a pod whose job's request was changed: the first is the job's spec.revision of
 * which the pod was made, absent: 0. A pod with the second is of an older revision: it is never
 * bound, and control/slurm replaces it.
 */
#define SLURM_REVISION_ANNOTATION "mete.dev/slurm-revision"
#define SLURM_OUTDATED_ANNOTATION "mete.dev/slurm-outdated"

/* The default partition, which has all nodes. */
#define SLURM_PARTITION "main"

/*
 * The annotation of a pod whose one container, of the image `host`, is started without an OCI
 * runtime (node/runtime, runtime_native_linux.c); its value is a JSON object:
 *   "script"    text of the program: the node writes it to a file that the user may read and
 *               execute, and runs this file with the container's `command` as its arguments;
 *               absent: the container's `command` is executed
 *   "jobScript" true: the same with the script of the pod's SlurmJob, which the node reads there
 *   "stdin"     path of the input; absent: /dev/null
 *   "stdout"    path of the output; "stderr": of the errors, absent: the same file
 *   "openMode"  "truncate" or "append"
 *   "hold"      true: no program runs; the attempt holds its resources until it is ended, and steps
 *               are started in it by pods/exec
 *   "umask"     number
 *   "prolog"    pattern of paths of programs that root runs before the job: a failure ends it
 *   "epilog"    the same behind it; "programTimeout": seconds for each, 0 or absent: any time
 *   "hold"      true: nothing is executed: the pod holds an allocation until a signal ends it
 * Paths are absolute, without patterns, and opened with the rights of the user. The node puts the
 * short form of its name in the place of SLURM_HOST_MARK in them.
 */
#define HOST_PROCESS_ANNOTATION "mete.dev/host-process"
#define SLURM_HOST_MARK         "\x01N" /* %N, before the node is known */

/*
 * The annotation of a pod whose one container, of an image, runs a batch script: the input and
 * output are files of a user of the machine, and not a log. A JSON object: "stdin", "stdout",
 * "stderr", "openMode" and "umask" as above, and
 *   "uid"        the user of the machine: files and hostPaths are opened with the user's rights
 *   "variables"  names of variables that the job has from its submission, though the image has them
 */
#define BATCH_CONTAINER_ANNOTATION "mete.dev/batch-container"

/* Annotation of such a pod: the text of its script, which a volume shows at SLURM_SCRIPT_PATH. */
#define SLURM_SCRIPT_ANNOTATION "mete.dev/slurm-script"
#define SLURM_SCRIPT_DIR        "/run/mete/job"
#define SLURM_SCRIPT_FILE       "slurm_script"

/* May the member of the spec change while no element has started? Its pods are made of it. */
bool slurm_job_is_request(const char *key);

/* Adds a cause for each rule beyond the schema that `spec` breaks. */
void slurm_job_validate(const json_t *spec, const struct path *at, struct causes *causes);
