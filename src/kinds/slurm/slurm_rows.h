/*
 * slurm_rows.h - the rows that the Slurm commands read: GET /apis/mete.dev/v1/slurm
 *
 * The report is made from what the controllers hold in memory: it never waits for a decision. Its
 * parameter `what` is one of "jobs", "steps", "allocation", "nodes", "partitions", "licenses" (rows
 * of name, total, used), "config", "diag", "shares" and "priorities". The answer is an object with
 * the member of that name, an array of rows ("config" and "diag": an object). An absent member is
 * unknown or not set. Times are seconds since 1970, memory is in MiB.
 *
 * Parameters of "jobs": `ids` (numbers, elements and components with commas: "12,13_4,15+1"),
 * `user`, `partition`, `account`, `name`, `states` (with commas; "all"; absent: PENDING, RUNNING,
 * SUSPENDED and COMPLETING), `detail` ("1": also the members marked with +, of the caller's own
 * jobs; administrators: of all), `triggers` ("1": jobs of strigger that wait for their events, with
 * the member `trigger`, which are no rows otherwise). Pods and Jobs of the other doors are rows,
 * too. Jobs that ended are rows for SLURM_JOB_AGE_S; the accounting has all.
 *
 * A row of "jobs" (waiting elements of an array are one row):
 *   jobId, arrayJobId, arrayTaskId (int: an element; string "0-9,12": waiting elements),
 *   arrayTaskLimit, arrayMax, hetJobId, hetJobOffset, hetJobSize (of a component of a heterogeneous
 *   job: each is a row)
 *   object "ns/name" of the SlurmJob or pod, pod (its name), namespace
 *   name, user, uid, group, gid, account, partition, qos, wckey, comment, reservation
 *   state ("PENDING"...), flags (array: "COMPLETING"...), reason ("Priority"...), message
 *   priority, nice, restarts, exitCode, exitSignal, derivedExitCode, derivedExitSignal (of its
 * steps, the highest), requeue (bool), batch (bool) submitTime, eligibleTime, startTime (of a
 * waiting job: expected), endTime (of a running job: by its limit), suspendTime, lastDecisionTime,
 * deadline, timeLimit (minutes; -1: unlimited), timeMin nodes (hostlist), batchHost, nodeCount,
 * nodesMin, nodesMax, cpus, tasks, cpusPerTask, tasksPerNode, cpusMin memoryPerNode, memoryPerCpu,
 * tresRequested, tresAllocated ("cpu=1,mem=4G,node=1,gres/gpu=1") tresPerNode, tresPerJob,
 * tresPerTask ("gres/gpu:2"), gpuIndexes (text "0-1", on one node) constraint, licenses, dependency
 * ("afterok:12(unfulfilled)"), nodeList, excludeNodes, exclusive (bool) command, workDir, stdin,
 * stdout, stderr (patterns replaced), submitHost, +submitLine, +script, +environment
 *
 * A row of "steps" (the same parameters): jobId, arrayJobId, arrayTaskId, step, name, state
 * ("RUNNING", "COMPLETED", "FAILED", "CANCELLED"), user, uid, account, partition, timeLimit,
 * namespace, object "ns/name", nodes (hostlist), nodeCount, cpus, gpus,
 * tasks, distribution, host and pid of srun, startTime, endTime, exitCode, exitSignal,
 * usage (kind_slurmstep.c)
 *
 * "allocation" is an object, what the job `ids` has: jobId, object, nodeCount, index and arrayJobId
 * (of an array), state, reason and message of a wait, nodes (array in the order of ranks: node,
 * pod, address, ready (bool: steps can start), cpus, memory, gpus (a count)), and of the request
 * tasks, tasksPerNode, cpusPerTask, overcommit, gpusPerTask, name, workDir; mpiDefault
 * (MpiDefault of slurm.conf; absent: not set), taskProlog and taskEpilog (likewise); of a
 * heterogeneous job also components (array: the same members of each, nodeCount), component of each
 * node, and component of the answer if `ids` names one alone; {}: there is no such job.
 *
 * "diag" is an object: since (the controller's start); jobs and elements of arrays since then:
 * submitted, started (attempts), completed, cancelled, failed (all other ends); pending, running
 * (now); cycles of the scheduler: cycles (int), cycleLastMicros, cycleMostMicros, cycleSumMicros;
 * waiting (pods that the scheduler has not placed)
 *
 * A row of "nodes": name, state ("IDLE", "MIXED", "ALLOCATED", "DOWN", "UNKNOWN"), flags ("DRAIN",
 *   "NOT_RESPONDING", "MAINTENANCE"...), reason, reasonTime, reasonUser, cpus, cpusAllocated,
 * sockets, cores, threads, load (in 1/100), memory, memoryAllocated, memoryFree, disk, gres
 * ("gpu:h100:8(S:0-1)"), gresUsed, features, partitions (array), weight, arch, os, address,
 * version, bootTime, startTime, tres, tresAllocated, reservation
 *
 * A row of "partitions": name, isDefault (bool), state ("UP", "DOWN", "DRAIN", "INACTIVE"), nodes
 * (hostlist), nodeCount, cpus, timeLimit and defaultTime (minutes; -1: unlimited), nodesMin,
 * nodesMax (-1), priorityTier, priorityFactor, allowAccounts, allowGroups, allowQos, allowUsers,
 * graceTime, overTime (absent: as the cluster), preemptMode, oversubscribe, memoryDefaultPerCpu,
 * memoryDefaultPerNode, memoryMaxPerNode (-1), hidden (bool), rootOnly (bool), qos, tres,
 * billingWeights
 *
 * A row of "shares", an association in the order of the tree: account, user (absent: the account's
 *   own), partition, depth, cluster, rawShares, normShares, rawUsage (int), normUsage,
 *   effectiveUsage, fairShare, levelFs, grpTRESMins, tresRunMins (texts as sshare prints them),
 * isTree (bool: Fair Tree)
 *
 * The first row of "priorities" has the member `weights`; each other is a waiting pod: jobId,
 *   namespace, user, account, partition, qos, priority, nice (ints), tres (text), and reals, factor
 *   x weight: age, assoc, fairshare, jobsize, partitionFactor, qosFactor
 */
#pragma once

#define SLURM_REPORT_PATH "/apis/mete.dev/v1/slurm"

/* What -V prints after "slurm ": the version of the commands whose behaviour these have. Clients
 * branch on its first two numbers. */
#define SLURM_VERSION "24.11.0"

enum {
    SLURM_JOB_AGE_S = 300 /* MinJobAge: how long an ended job stays in listings */
};
