/* submit_options.c - the table of options of sbatch, salloc and srun, and options without values */

#include "slurm/submit_options.h"

#include "base/mem.h"

static struct err *submit_refuse(struct slurm_submit *s, const struct submit_option *o,
                                 const char *value)
{
    (void)s;
    (void)value;
    return err_new(ERR_INVALID, "--%s is not available yet: %s", o->name, o->key);
}

static struct err *submit_harmless(struct slurm_submit *s, const struct submit_option *o,
                                   const char *value)
{
    (void)value;
    submit_warn(s, o, o->key);
    return NULL;
}

/* Accepts an option that asks for what is so anyway. */
static struct err *submit_accept(struct slurm_submit *s, const struct submit_option *o,
                                 const char *value)
{
    (void)s;
    (void)o;
    (void)value;
    return NULL;
}

static void submit_keep(char **to, const char *value)
{
    free(*to);
    *to = mem_strdup(text_or_empty(value));
}

static struct err *submit_wrap(struct slurm_submit *s, const struct submit_option *o,
                               const char *value)
{
    (void)o;
    submit_keep(&s->wrap, value);
    return NULL;
}

static struct err *submit_export(struct slurm_submit *s, const struct submit_option *o,
                                 const char *value)
{
    (void)o;
    submit_keep(&s->exported, value && *value ? value : "ALL");
    return NULL;
}

static struct err *submit_clusters(struct slurm_submit *s, const struct submit_option *o,
                                   const char *value)
{
    (void)o;
    submit_keep(&s->cluster, value);
    return NULL;
}

#define SUBMIT_SWITCH(noun)                                                                 \
    static struct err *submit_##noun(struct slurm_submit *s, const struct submit_option *o, \
                                     const char *value)                                     \
    {                                                                                       \
        (void)o;                                                                            \
        (void)value;                                                                        \
        s->noun = true;                                                                     \
        return NULL;                                                                        \
    }

SUBMIT_SWITCH(is_parsable)
SUBMIT_SWITCH(is_test)
SUBMIT_SWITCH(waits)
SUBMIT_SWITCH(is_quiet)
SUBMIT_SWITCH(ignores_pbs)
SUBMIT_SWITCH(mounts_home)
SUBMIT_SWITCH(asks_help)
SUBMIT_SWITCH(asks_usage)
SUBMIT_SWITCH(asks_version)

#define NO  SLURM_TAKES_NOTHING
#define YES SLURM_TAKES_VALUE
#define MAY SLURM_TAKES_OPTIONAL

#define WHY_BINDING  "tasks are not bound to cores; the job has its cpus as a share"
#define WHY_TOPOLOGY "sockets and cores of nodes are not chosen"
#define WHY_HINT     "has no effect here"

const struct submit_option submit_options[] = {
    {"account", 'A', YES, "ACCOUNT", 0, submit_text, "account"},
    {"acctg-freq", 0, YES, "ACCTG_FREQ", 0, submit_harmless, "the sampling interval is fixed"},
    {"array", 'a', YES, "ARRAY_INX", SLURM_SBATCH, submit_array, "array"},
    {"batch", 0, YES, NULL, SLURM_SBATCH, submit_refuse, "features of the first node"},
    {"bb", 0, YES, "BURST_BUFFER", 0, submit_refuse, "there are no burst buffers"},
    {"bbf", 0, YES, NULL, 0, submit_refuse, "there are no burst buffers"},
    {"begin", 'b', YES, NULL, 0, submit_moment, "beginTime"},
    {"chdir", 'D', YES, NULL, 0, submit_chdir, "workDir"},
    {"cluster-constraint", 0, YES, NULL, 0, submit_refuse, "there is one cluster"},
    {"clusters", 'M', YES, "CLUSTERS", 0, submit_clusters, NULL},
    {"comment", 0, YES, NULL, 0, submit_text, "comment"},
    {"constraint", 'C', YES, "CONSTRAINT", 0, submit_text, "constraint"},
    {"container", 0, YES, "CONTAINER", 0, submit_refuse, "use --container-image"},
    {"container-image", 0, YES, NULL, 0, submit_container, "image"},
    {"container-mounts", 0, YES, NULL, 0, submit_container, "mounts"},
    {"container-workdir", 0, YES, NULL, 0, submit_container, "workDir"},
    {"container-writable", 0, NO, NULL, 0, submit_accept, NULL},
    {"container-readonly", 0, NO, NULL, 0, submit_container, "isReadOnly"},
    {"container-env", 0, YES, NULL, 0, submit_container, "variables"},
    {"container-mount-home", 0, NO, NULL, 0, submit_mounts_home, NULL},
    {"no-container-mount-home", 0, NO, NULL, 0, submit_accept, NULL},
    {"container-remap-root", 0, NO, NULL, 0, submit_refuse, "jobs run as their user"},
    {"no-container-remap-root", 0, NO, NULL, 0, submit_accept, NULL},
    {"no-container-entrypoint", 0, NO, NULL, 0, submit_accept, NULL},
    {"container-entrypoint", 0, NO, NULL, 0, submit_refuse, "the script alone runs"},
    {"container-name", 0, YES, NULL, 0, submit_refuse, "containers end with their job"},
    {"container-save", 0, YES, NULL, 0, submit_refuse, "containers end with their job"},
    {"contiguous", 0, NO, NULL, 0, submit_on, "contiguous"},
    {"core-spec", 'S', YES, "CORE_SPEC", 0, submit_refuse, "cores cannot be set aside"},
    {"cores-per-socket", 0, YES, NULL, 0, submit_refuse, WHY_TOPOLOGY},
    {"cpu-bind", 0, YES, NULL, SLURM_SRUN, submit_step_text, "cpuBind"},
    {"cpu-freq", 0, YES, "CPU_FREQ_REQ", 0, submit_harmless, "the cpu frequency is not set"},
    {"cpus-per-gpu", 0, YES, "CPUS_PER_GPU", 0, submit_count, "cpusPerGpu"},
    {"cpus-per-task", 'c', YES, "CPUS_PER_TASK", 0, submit_count, "cpusPerTask"},
    {"deadline", 0, YES, NULL, 0, submit_moment, "deadline"},
    {"delay-boot", 0, YES, "DELAY_BOOT", 0, submit_harmless, "nodes are not booted for jobs"},
    {"dependency", 'd', YES, NULL, 0, submit_text, "dependency"},
    {"distribution", 'm', YES, "DISTRIBUTION", 0, submit_step_text, "distribution"},
    {"error", 'e', YES, "ERROR", 0, submit_text, "stderr"},
    {"exclude", 'x', YES, NULL, 0, submit_hosts, "excludeNodes"},
    {"exclusive", 0, MAY, "EXCLUSIVE", 0, submit_exclusive, "exclusive"},
    {"export", 0, MAY, "EXPORT", 0, submit_export, NULL},
    {"export-file", 0, YES, NULL, SLURM_SBATCH, submit_export_file, NULL},
    {"extra", 0, YES, NULL, 0, submit_harmless, WHY_HINT},
    {"extra-node-info", 'B', YES, NULL, 0, submit_refuse, WHY_TOPOLOGY},
    {"get-user-env", 0, MAY, "GET_USER_ENV", 0, submit_harmless,
     "the login environment is not loaded"},
    {"gid", 0, YES, NULL, 0, submit_refuse, "jobs have the group of their user"},
    {"gpu-bind", 0, YES, "GPU_BIND", 0, submit_step_text, "gpuBind"},
    {"gpu-freq", 0, YES, "GPU_FREQ", 0, submit_harmless, "the gpu frequency is not set"},
    {"gpus", 'G', YES, "GPUS", 0, submit_gpus, "gpus"},
    {"gpus-per-node", 0, YES, "GPUS_PER_NODE", 0, submit_gpus, "gpusPerNode"},
    {"gpus-per-socket", 0, YES, "GPUS_PER_SOCKET", 0, submit_refuse, WHY_TOPOLOGY},
    {"gpus-per-task", 0, YES, "GPUS_PER_TASK", 0, submit_gpus, "gpusPerTask"},
    {"gres", 0, YES, "GRES", 0, submit_gres, "gres"},
    {"gres-flags", 0, YES, "GRES_FLAGS", 0, submit_harmless, WHY_BINDING},
    {"help", 0, NO, NULL, 0, submit_asks_help, NULL},
    {"hint", 0, YES, "HINT", 0, submit_harmless, WHY_BINDING},
    {"hold", 'H', NO, NULL, 0, submit_hold, "hold"},
    {"ignore-pbs", 0, NO, "IGNORE_PBS", SLURM_SBATCH, submit_ignores_pbs, NULL},
    {"input", 'i', YES, "INPUT", 0, submit_text, "stdin"},
    {"job-name", 'J', YES, "JOB_NAME", 0, submit_text, "name"},
    {"kill-on-invalid-dep", 0, YES, "KILL_INVALID_DEPEND", 0, submit_kill_on_invalid,
     "killOnInvalidDependency"},
    {"licenses", 'L', YES, NULL, 0, submit_text, "licenses"},
    {"mail-type", 0, YES, NULL, 0, submit_mail_type, "mailType"},
    {"mail-user", 0, YES, NULL, 0, submit_text, "mailUser"},
    {"mcs-label", 0, YES, NULL, 0, submit_refuse, "there are no such labels"},
    {"mem", 0, YES, "MEM_PER_NODE", 0, submit_memory, "memoryPerNode"},
    {"mem-bind", 0, YES, "MEM_BIND", 0, submit_harmless, WHY_BINDING},
    {"mem-per-cpu", 0, YES, "MEM_PER_CPU", 0, submit_memory, "memoryPerCpu"},
    {"mem-per-gpu", 0, YES, "MEM_PER_GPU", 0, submit_memory, "memoryPerGpu"},
    {"mincpus", 0, YES, NULL, 0, submit_count, "cpusMin"},
    {"network", 0, YES, "NETWORK", 0, submit_harmless, WHY_HINT},
    {"nice", 0, MAY, NULL, 0, submit_nice, "nice"},
    {"no-kill", 'k', MAY, "NO_KILL", 0, submit_no_kill, "noKill"},
    {"no-requeue", 0, NO, "NO_REQUEUE", SLURM_SBATCH, submit_off, "requeue"},
    {"nodefile", 'F', YES, NULL, 0, submit_nodefile, "nodeList"},
    {"nodelist", 'w', YES, NULL, 0, submit_hosts, "nodeList"},
    {"nodes", 'N', YES, NULL, 0, submit_nodes, NULL},
    {"ntasks", 'n', YES, NULL, 0, submit_count, "tasks"},
    {"ntasks-per-core", 0, YES, NULL, 0, submit_harmless, WHY_BINDING},
    {"ntasks-per-gpu", 0, YES, NULL, 0, submit_count, "tasksPerGpu"},
    {"ntasks-per-node", 0, YES, NULL, 0, submit_count, "tasksPerNode"},
    {"ntasks-per-socket", 0, YES, NULL, 0, submit_harmless, WHY_BINDING},
    {"oom-kill-step", 0, MAY, NULL, 0, submit_harmless, WHY_HINT},
    {"open-mode", 0, YES, "OPEN_MODE", 0, submit_open_mode, "openMode"},
    {"output", 'o', YES, "OUTPUT", 0, submit_text, "stdout"},
    {"overcommit", 'O', NO, "OVERCOMMIT", 0, submit_on, "overcommit"},
    {"oversubscribe", 's', NO, NULL, 0, submit_accept, NULL},
    {"parsable", 0, NO, NULL, SLURM_SBATCH, submit_is_parsable, NULL},
    {"partition", 'p', YES, "PARTITION", 0, submit_text, "partition"},
    {"power", 0, YES, "POWER", 0, submit_harmless, WHY_HINT},
    {"prefer", 0, YES, NULL, 0, submit_text, "prefer"},
    {"priority", 0, YES, NULL, 0, submit_refuse, "use --nice"},
    {"profile", 0, YES, "PROFILE", 0, submit_harmless, "gpu and cpu use is always measured"},
    {"propagate", 0, MAY, NULL, 0, submit_harmless, "the node's limits apply"},
    {"qos", 'q', YES, "QOS", 0, submit_text, "qos"},
    {"quiet", 'Q', NO, NULL, 0, submit_is_quiet, NULL},
    {"reboot", 0, NO, NULL, 0, submit_refuse, "nodes are not rebooted for jobs"},
    {"requeue", 0, NO, "REQUEUE", SLURM_SBATCH, submit_on, "requeue"},
    {"reservation", 0, YES, "RESERVATION", 0, submit_text, "reservation"},
    {"segment", 0, YES, "SEGMENT_SIZE", 0, submit_refuse, "blocks of nodes"},
    {"share", 0, NO, NULL, 0, submit_accept, NULL},
    {"signal", 0, YES, "SIGNAL", 0, submit_signal, "signal"},
    {"sockets-per-node", 0, YES, NULL, 0, submit_refuse, WHY_TOPOLOGY},
    {"spread-job", 0, NO, "SPREAD_JOB", 0, submit_on, "spread"},
    {"switches", 0, YES, "REQ_SWITCH", 0, submit_switches, "switches"},
    {"test-only", 0, NO, NULL, 0, submit_is_test, NULL},
    {"thread-spec", 0, YES, "THREAD_SPEC", 0, submit_refuse, "cores cannot be set aside"},
    {"threads-per-core", 0, YES, "THREADS_PER_CORE", 0, submit_harmless, WHY_BINDING},
    {"time", 't', YES, "TIMELIMIT", 0, submit_time, "timeLimitMinutes"},
    {"time-min", 0, YES, NULL, 0, submit_time, "timeMinMinutes"},
    {"tmp", 0, YES, NULL, 0, submit_tmp, "tmpPerNode"},
    {"tres-bind", 0, YES, NULL, 0, submit_harmless, WHY_BINDING},
    {"tres-per-task", 0, YES, "TRES_PER_TASK", 0, submit_tres_per_task, NULL},
    {"uid", 0, YES, NULL, 0, submit_refuse, "jobs run as the user who submits them"},
    {"usage", 0, NO, NULL, 0, submit_asks_usage, NULL},
    {"use-min-nodes", 0, NO, "USE_MIN_NODES", 0, submit_harmless, WHY_HINT},
    {"verbose", 'v', NO, NULL, 0, submit_accept, NULL},
    {"version", 'V', NO, NULL, 0, submit_asks_version, NULL},
    {"wait", 'W', NO, "WAIT", SLURM_SBATCH, submit_waits, NULL},
    {"wait", 'W', YES, NULL, SLURM_SRUN, submit_step_seconds, "wait"},
    {"wait-all-nodes", 0, YES, "WAIT_ALL_NODES", 0, submit_accept, NULL},
    {"wckey", 0, YES, "WCKEY", 0, submit_text, "wckey"},
    {"wrap", 0, YES, NULL, SLURM_SBATCH, submit_wrap, NULL},
    {"bell", 0, NO, "BELL", SLURM_SALLOC, submit_accept, NULL},
    {"no-bell", 0, NO, "NO_BELL", SLURM_SALLOC, submit_accept, NULL},
    {"no-shell", 0, NO, NULL, SLURM_SALLOC, submit_step_on, "noShell"},
    {"kill-command", 'K', MAY, "KILL_CMD", SLURM_SALLOC, submit_step_text, "killCommand"},
    {"immediate", 'I', MAY, "IMMEDIATE", SLURM_SALLOC | SLURM_SRUN, submit_step_seconds,
     "immediate"},
    {"bcast", 0, MAY, NULL, SLURM_SRUN, submit_step_text, "bcast"},
    {"compress", 0, MAY, NULL, SLURM_SRUN, submit_harmless, "programs are copied as they are"},
    {"disable-status", 'X', NO, NULL, SLURM_SRUN, submit_step_on, "disableStatus"},
    {"epilog", 0, YES, NULL, SLURM_SRUN, submit_refuse, "programs around steps"},
    {"exact", 0, NO, NULL, SLURM_SRUN, submit_step_on, "exact"},
    {"external-launcher", 0, MAY, NULL, SLURM_SRUN, submit_refuse, "launchers beside srun"},
    {"het-group", 0, YES, NULL, SLURM_SRUN, submit_step_text, "hetGroup"},
    {"interactive", 0, NO, NULL, SLURM_SRUN, submit_accept, NULL},
    {"jobid", 0, YES, NULL, SLURM_SRUN, submit_step_text, "jobId"},
    {"kill-on-bad-exit", 'K', MAY, NULL, SLURM_SRUN, submit_step_on, "killOnBadExit"},
    {"label", 'l', NO, NULL, SLURM_SRUN, submit_step_on, "label"},
    {"mpi", 0, YES, NULL, SLURM_SRUN, submit_step_text, "mpi"},
    {"msg-timeout", 0, YES, NULL, SLURM_SRUN, submit_accept, NULL},
    {"multi-prog", 0, NO, NULL, SLURM_SRUN, submit_step_on, "multiProg"},
    {"no-allocate", 'Z', NO, NULL, SLURM_SRUN, submit_refuse, "all steps are in jobs"},
    {"overlap", 0, NO, NULL, SLURM_SRUN, submit_step_on, "overlap"},
    {"preserve-env", 'E', NO, NULL, SLURM_SRUN, submit_refuse, "use --export"},
    {"prolog", 0, YES, NULL, SLURM_SRUN, submit_refuse, "programs around steps"},
    {"pty", 0, MAY, NULL, SLURM_SRUN, submit_step_on, "pty"},
    {"quit-on-interrupt", 0, NO, NULL, SLURM_SRUN, submit_step_on, "quitOnInterrupt"},
    {"relative", 'r', YES, NULL, SLURM_SRUN, submit_step_seconds, "relative"},
    {"resv-ports", 0, MAY, NULL, SLURM_SRUN, submit_refuse, "ports are not reserved"},
    {"send-libs", 0, MAY, NULL, SLURM_SRUN, submit_refuse, "libraries are not copied to nodes"},
    {"slurmd-debug", 0, YES, NULL, SLURM_SRUN, submit_accept, NULL},
    {"task-epilog", 0, YES, NULL, SLURM_SRUN, submit_step_text, "taskEpilog"},
    {"task-prolog", 0, YES, NULL, SLURM_SRUN, submit_step_text, "taskProlog"},
    {"threads", 'T', YES, NULL, SLURM_SRUN, submit_accept, NULL},
    {"treewidth", 0, YES, NULL, SLURM_SRUN, submit_accept, NULL},
    {"unbuffered", 'u', NO, NULL, SLURM_SRUN, submit_accept, NULL},
    {"whole", 0, NO, NULL, SLURM_SRUN, submit_accept, NULL},
    {"x11", 0, MAY, NULL, SLURM_SRUN, submit_refuse, "forward displays by ssh"},
    {0},
};

const struct submit_variable srun_variables[] = {
    {"SLURM_ACCOUNT", "account"},
    {"SLURM_CONSTRAINT", "constraint"},
    {"SLURM_CPU_BIND", "cpu-bind"},
    {"SLURM_CPUS_PER_GPU", "cpus-per-gpu"},
    {"SRUN_CPUS_PER_TASK", "cpus-per-task"},
    {"SLURM_DISABLE_STATUS", "disable-status"},
    {"SLURM_DISTRIBUTION", "distribution"},
    {"SLURM_EXACT", "exact"},
    {"SLURM_EXCLUSIVE", "exclusive"},
    {"SLURM_EXPORT_ENV", "export"},
    {"SLURM_GPU_BIND", "gpu-bind"},
    {"SLURM_GPUS", "gpus"},
    {"SLURM_GPUS_PER_NODE", "gpus-per-node"},
    {"SLURM_GPUS_PER_TASK", "gpus-per-task"},
    {"SLURM_GRES", "gres"},
    {"SLURM_IMMEDIATE", "immediate"},
    {"SLURM_KILL_BAD_EXIT", "kill-on-bad-exit"},
    {"SLURM_LABELIO", "label"},
    {"SLURM_MPI_TYPE", "mpi"},
    {"SLURM_NTASKS", "ntasks"},
    {"SLURM_NTASKS_PER_GPU", "ntasks-per-gpu"},
    {"SLURM_NTASKS_PER_NODE", "ntasks-per-node"},
    {"SLURM_NNODES", "nodes"},
    {"SLURM_OPEN_MODE", "open-mode"},
    {"SLURM_OVERCOMMIT", "overcommit"},
    {"SLURM_OVERLAP", "overlap"},
    {"SLURM_PARTITION", "partition"},
    {"SLURM_QOS", "qos"},
    {"SLURM_RESERVATION", "reservation"},
    {"SLURM_STDERRMODE", "error"},
    {"SLURM_STDINMODE", "input"},
    {"SLURM_STDOUTMODE", "output"},
    {"SLURM_TASK_EPILOG", "task-epilog"},
    {"SLURM_TASK_PROLOG", "task-prolog"},
    {"SLURM_TIMELIMIT", "time"},
    {"SLURM_UNBUFFEREDIO", "unbuffered"},
    {"SLURM_WAIT", "wait"},
    {0},
};
