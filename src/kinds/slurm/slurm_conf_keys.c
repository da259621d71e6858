/* slurm_conf_keys.c - the keys of slurm.conf, and how their values are read */

#include "kinds/slurm/slurm_conf_keys.h"

#include <inttypes.h>
#include <strings.h>

#include "base/mem.h"
#include "base/num.h"
#include "kinds/slurm/slurm_job.h"
#include "kinds/slurm/slurm_license.h"
#include "model/index_set.h"
#include "model/slurm_amount.h"
#include "model/slurm_billing.h"
#include "model/slurm_time.h"

#define DAEMONS    "Mete has no slurmctld and no slurmd: options of mete up take their place"
#define LOGS       "mete up --log-level and --log-format say what is logged"
#define ACCOUNTING "Mete keeps its own accounting"
#define LAUNCH     "Mete starts and contains processes by its own means"
#define POWER      "Mete switches no nodes off"
#define SCRIPTS    "Mete runs no such program"
#define PLUGINS    "Mete has no plugins of Slurm"
#define DECIDES    "Mete's own scheduler decides"
#define USERS      "Mete knows users by their uid, certificate or token"
#define PRIORITIES "queues and PriorityClasses order jobs: docs/queues.md"

#define KEY_IGNORED(key, text)                              \
    {                                                       \
        .name = (key), .type = CONF_IGNORED, .why = (text), \
    }
#define KEY_REFUSED(key, harmless, text)                                         \
    {                                                                            \
        .name = (key), .type = CONF_REFUSED, .words = (harmless), .why = (text), \
    }
#define KEY(key, kind_of, ...)                             \
    {                                                      \
        .name = (key), .type = CONF_##kind_of, __VA_ARGS__ \
    }
#define KEY_END       \
    {                 \
        .name = NULL, \
    }

const struct slurm_conf_key slurm_conf_globals[] = {
    KEY("AccountingStorageEnforce", TEXT),
    KEY("ClusterName", TEXT),
    KEY("DefCpuPerGPU", COUNT),
    KEY("DefMemPerCPU", MEMORY),
    KEY("DefMemPerGPU", MEMORY),
    KEY("DefMemPerNode", MEMORY),
    KEY("DisableRootJobs", BOOL),
    KEY("EnforcePartLimits", WORD, .words = "ALL,ANY,NO,YES"),
    KEY("Epilog", PATH),
    KEY("FairShareDampeningFactor", TEXT),
    KEY("GresTypes", TEXT),
    KEY("JobFileAppend", COUNT, .max = 1),
    KEY("JobRequeue", COUNT, .max = 1),
    KEY("KillWait", SECONDS, .max = 65533),
    KEY("Licenses", LICENSES),
    KEY("MailProg", PATH),
    KEY("MaxArraySize", COUNT, .max = 4000001),
    KEY("MaxMemPerCPU", MEMORY),
    KEY("MaxMemPerNode", MEMORY),
    KEY("MinJobAge", SECONDS, .max = 65533),
    KEY("MpiDefault", TEXT),
    KEY("OverTimeLimit", OVER),
    KEY("PreemptExemptTime", MINUTES),
    KEY("PreemptMode", PREEMPT, .words = "OFF,CANCEL,REQUEUE,SUSPEND"),
    KEY("PreemptType", WORD, .words = "preempt/none,preempt/qos,preempt/partition_prio"),
    KEY("PriorityCalcPeriod", TEXT),
    KEY("PriorityDecayHalfLife", TEXT),
    KEY("PriorityFavorSmall", TEXT),
    KEY("PriorityFlags", TEXT),
    KEY("PriorityMaxAge", TEXT),
    KEY("PriorityWeightAge", TEXT),
    KEY("PriorityWeightAssoc", TEXT),
    KEY("PriorityWeightFairshare", TEXT),
    KEY("PriorityWeightJobSize", TEXT),
    KEY("PriorityWeightPartition", TEXT),
    KEY("PriorityWeightQOS", TEXT),
    KEY("PriorityWeightTRES", TEXT),
    KEY("Prolog", PATH),
    KEY("PrologEpilogTimeout", SECONDS, .max = 65533),
    KEY("RequeueExit", EXITS),
    KEY("RequeueExitHold", EXITS),
    KEY("TaskEpilog", PATH),
    KEY("TaskProlog", PATH),
    KEY_REFUSED("CliFilterPlugins", "none", "leave it out: Mete runs no plugins of Slurm"),
    KEY_REFUSED("JobSubmitPlugins", "none",
                "leave it out: submitRules of the SlurmConfig do what job_submit.lua does "
                "(docs/slurm.md)"),
    KEY_REFUSED("MCSPlugin", "mcs/none,none", "leave it out: namespaces keep users apart"),
    KEY_REFUSED("PrivateData", "none,cloud,events,reservations,usage",
                "leave it out: a namespace for each group of users hides jobs from others "
                "(docs/users.md)"),
    KEY_REFUSED("SelectType", "select/cons_tres,select/cons_res",
                "select/cons_tres; a partition with OverSubscribe=EXCLUSIVE gives jobs whole "
                "nodes"),
    KEY_IGNORED("AccountingStorageBackupHost", ACCOUNTING),
    KEY_IGNORED("AccountingStorageExternalHost", ACCOUNTING),
    KEY_IGNORED("AccountingStorageHost", ACCOUNTING),
    KEY_IGNORED("AccountingStorageParameters", ACCOUNTING),
    KEY_IGNORED("AccountingStoragePass", ACCOUNTING),
    KEY_IGNORED("AccountingStoragePort", ACCOUNTING),
    KEY_IGNORED("AccountingStorageTRES", ACCOUNTING),
    KEY_IGNORED("AccountingStorageType", ACCOUNTING),
    KEY_IGNORED("AccountingStorageUser", ACCOUNTING),
    KEY_IGNORED("AccountingStoreFlags", ACCOUNTING),
    KEY_IGNORED("AccountingStoreJobComment", ACCOUNTING),
    KEY_IGNORED("AcctGatherEnergyType", ACCOUNTING),
    KEY_IGNORED("AcctGatherFilesystemType", ACCOUNTING),
    KEY_IGNORED("AcctGatherInterconnectType", ACCOUNTING),
    KEY_IGNORED("AcctGatherNodeFreq", ACCOUNTING),
    KEY_IGNORED("AcctGatherProfileType", ACCOUNTING),
    KEY_IGNORED("AllowSpecResourcesUsage", DECIDES),
    KEY_IGNORED("AuthAltParameters", USERS),
    KEY_IGNORED("AuthAltTypes", USERS),
    KEY_IGNORED("AuthInfo", USERS),
    KEY_IGNORED("AuthType", USERS),
    KEY_IGNORED("BackupAddr", DAEMONS),
    KEY_IGNORED("BackupController", DAEMONS),
    KEY_IGNORED("BatchStartTimeout", LAUNCH),
    KEY_IGNORED("BcastExclude", LAUNCH),
    KEY_IGNORED("BcastParameters", LAUNCH),
    KEY_IGNORED("BurstBufferType", PLUGINS),
    KEY_IGNORED("CommunicationParameters", DAEMONS),
    KEY_IGNORED("CompleteWait", DECIDES),
    KEY_IGNORED("ControlAddr", DAEMONS),
    KEY_IGNORED("ControlMachine", DAEMONS),
    KEY_IGNORED("CoreSpecPlugin", PLUGINS),
    KEY_IGNORED("CpuFreqDef", LAUNCH),
    KEY_IGNORED("CpuFreqGovernors", LAUNCH),
    KEY_IGNORED("CredType", USERS),
    KEY_IGNORED("DataParserParameters", DAEMONS),
    KEY_IGNORED("DebugFlags", LOGS),
    KEY_IGNORED("DependencyParameters", DECIDES),
    KEY_IGNORED("EioTimeout", LAUNCH),
    KEY_IGNORED("EpilogMsgTime", SCRIPTS),
    KEY_IGNORED("EpilogSlurmctld", SCRIPTS),
    KEY_IGNORED("EpilogTimeout", SCRIPTS),
    KEY_IGNORED("ExtSensorsFreq", PLUGINS),
    KEY_IGNORED("ExtSensorsType", PLUGINS),
    KEY_IGNORED("FastSchedule", DECIDES),
    KEY_IGNORED("FederationParameters", DAEMONS),
    KEY_IGNORED("FirstJobId", "numbers of jobs are those of all jobs of Mete"),
    KEY_IGNORED("GetEnvTimeout", LAUNCH),
    KEY_IGNORED("GpuFreqDef", LAUNCH),
    KEY_IGNORED("GroupUpdateForce", "groups are looked up at each submission"),
    KEY_IGNORED("GroupUpdateTime", "groups are looked up at each submission"),
    KEY_IGNORED("HashPlugin", PLUGINS),
    KEY_IGNORED("HealthCheckInterval", "Mete watches gpus by its own means: docs/health.md"),
    KEY_IGNORED("HealthCheckNodeState", "Mete watches gpus by its own means: docs/health.md"),
    KEY_IGNORED("HealthCheckProgram", "Mete watches gpus by its own means: docs/health.md"),
    KEY_IGNORED("InactiveLimit", LAUNCH),
    KEY_IGNORED("InteractiveStepOptions", LAUNCH),
    KEY_IGNORED("JobAcctGatherFrequency", ACCOUNTING),
    KEY_IGNORED("JobAcctGatherParams", ACCOUNTING),
    KEY_IGNORED("JobAcctGatherType", ACCOUNTING),
    KEY_IGNORED("JobCompHost", ACCOUNTING),
    KEY_IGNORED("JobCompLoc", ACCOUNTING),
    KEY_IGNORED("JobCompParams", ACCOUNTING),
    KEY_IGNORED("JobCompPass", ACCOUNTING),
    KEY_IGNORED("JobCompPassScript", ACCOUNTING),
    KEY_IGNORED("JobCompPort", ACCOUNTING),
    KEY_IGNORED("JobCompType", ACCOUNTING),
    KEY_IGNORED("JobCompUser", ACCOUNTING),
    KEY_IGNORED("JobContainerType", LAUNCH),
    KEY_IGNORED("JobCredentialPrivateKey", USERS),
    KEY_IGNORED("JobCredentialPublicCertificate", USERS),
    KEY_IGNORED("KillOnBadExit", LAUNCH),
    KEY_IGNORED("LaunchParameters", LAUNCH),
    KEY_IGNORED("LaunchType", LAUNCH),
    KEY_IGNORED("LogTimeFormat", LOGS),
    KEY_IGNORED("MailDomain", "MailProg gets the names of users as they are"),
    KEY_IGNORED("MaxBatchRequeue", DECIDES),
    KEY_IGNORED("MaxDBDMsgs", ACCOUNTING),
    KEY_IGNORED("MaxJobCount", "the disk limits the number of jobs"),
    KEY_IGNORED("MaxJobId", "numbers of jobs only grow, to 2^63"),
    KEY_IGNORED("MaxNodeCount", "nodes join by themselves: docs/nodes.md"),
    KEY_IGNORED("MaxStepCount", LAUNCH),
    KEY_IGNORED("MaxTasksPerNode", LAUNCH),
    KEY_IGNORED("MCSParameters", PLUGINS),
    KEY_IGNORED("MessageTimeout", DAEMONS),
    KEY_IGNORED("MpiParams", LAUNCH),
    KEY_IGNORED("NodeFeaturesPlugins", PLUGINS),
    KEY_IGNORED("PlugStackConfig", PLUGINS),
    KEY_IGNORED("PluginDir", PLUGINS),
    KEY_IGNORED("PowerParameters", POWER),
    KEY_IGNORED("PowerPlugin", POWER),
    KEY_IGNORED("PreemptParameters", DECIDES),
    KEY_IGNORED("PrEpParameters", PLUGINS),
    KEY_IGNORED("PrEpPlugins", PLUGINS),
    KEY_IGNORED("PriorityParameters", PRIORITIES),
    KEY_IGNORED("PrioritySiteFactorParameters", PRIORITIES),
    KEY_IGNORED("PrioritySiteFactorPlugin", PRIORITIES),
    KEY_IGNORED("PriorityType", "weights over 0 turn the multifactor priority on: docs/slurm.md"),
    KEY_IGNORED("PriorityUsageResetPeriod", "usage decays, and is never reset"),
    KEY_IGNORED("ProctrackType", LAUNCH),
    KEY_IGNORED("PrologFlags", "the prolog runs when the job gets its nodes, as with Alloc"),
    KEY_IGNORED("PrologSlurmctld", SCRIPTS),
    KEY_IGNORED("PrologTimeout", SCRIPTS),
    KEY_IGNORED("PropagatePrioProcess", LAUNCH),
    KEY_IGNORED("PropagateResourceLimits", LAUNCH),
    KEY_IGNORED("PropagateResourceLimitsExcept", LAUNCH),
    KEY_IGNORED("RebootProgram", POWER),
    KEY_IGNORED("ReconfigFlags", "what the files say holds again after scontrol reconfigure"),
    KEY_IGNORED("ResumeFailProgram", POWER),
    KEY_IGNORED("ResumeProgram", POWER),
    KEY_IGNORED("ResumeRate", POWER),
    KEY_IGNORED("ResumeTimeout", POWER),
    KEY_IGNORED("ResvEpilog", SCRIPTS),
    KEY_IGNORED("ResvOverRun", DECIDES),
    KEY_IGNORED("ResvProlog", SCRIPTS),
    KEY_IGNORED("ReturnToService", "nodes come back by themselves: docs/nodes.md"),
    KEY_IGNORED("RoutePlugin", DAEMONS),
    KEY_IGNORED("SallocDefaultCommand", LAUNCH),
    KEY_IGNORED("SbcastParameters", LAUNCH),
    KEY_IGNORED("SchedulerParameters", DECIDES),
    KEY_IGNORED("SchedulerTimeSlice", DECIDES),
    KEY_IGNORED("SchedulerType", DECIDES),
    KEY_IGNORED("ScronParameters", SCRIPTS),
    KEY_IGNORED("SelectTypeParameters", "cpus, memory and gpus are always counted"),
    KEY_IGNORED("SlurmSchedLogFile", LOGS),
    KEY_IGNORED("SlurmSchedLogLevel", LOGS),
    KEY_IGNORED("SlurmUser", DAEMONS),
    KEY_IGNORED("SlurmctldAddr", DAEMONS),
    KEY_IGNORED("SlurmctldDebug", LOGS),
    KEY_IGNORED("SlurmctldHost", DAEMONS),
    KEY_IGNORED("SlurmctldLogFile", LOGS),
    KEY_IGNORED("SlurmctldParameters", DAEMONS),
    KEY_IGNORED("SlurmctldPidFile", DAEMONS),
    KEY_IGNORED("SlurmctldPlugstack", PLUGINS),
    KEY_IGNORED("SlurmctldPort", DAEMONS),
    KEY_IGNORED("SlurmctldPrimaryOffProg", SCRIPTS),
    KEY_IGNORED("SlurmctldPrimaryOnProg", SCRIPTS),
    KEY_IGNORED("SlurmctldSyslogDebug", LOGS),
    KEY_IGNORED("SlurmctldTimeout", DAEMONS),
    KEY_IGNORED("SlurmdDebug", LOGS),
    KEY_IGNORED("SlurmdLogFile", LOGS),
    KEY_IGNORED("SlurmdParameters", DAEMONS),
    KEY_IGNORED("SlurmdPidFile", DAEMONS),
    KEY_IGNORED("SlurmdPort", DAEMONS),
    KEY_IGNORED("SlurmdSpoolDir", DAEMONS),
    KEY_IGNORED("SlurmdSyslogDebug", LOGS),
    KEY_IGNORED(
        "SlurmdTimeout",
        "a node is lost 40 s after its last sign of life, and its jobs once they are proven "
        "over: docs/slurm.md"),
    KEY_IGNORED("SlurmdUser", DAEMONS),
    KEY_IGNORED("SrunEpilog", SCRIPTS),
    KEY_IGNORED("SrunPortRange", LAUNCH),
    KEY_IGNORED("SrunProlog", SCRIPTS),
    KEY_IGNORED("StateSaveLocation", "mete up --data names the directory"),
    KEY_IGNORED("SuspendExcNodes", POWER),
    KEY_IGNORED("SuspendExcParts", POWER),
    KEY_IGNORED("SuspendExcStates", POWER),
    KEY_IGNORED("SuspendProgram", POWER),
    KEY_IGNORED("SuspendRate", POWER),
    KEY_IGNORED("SuspendTime", POWER),
    KEY_IGNORED("SuspendTimeout", POWER),
    KEY_IGNORED("SwitchParameters", PLUGINS),
    KEY_IGNORED("SwitchType", PLUGINS),
    KEY_IGNORED("TaskPlugin", LAUNCH),
    KEY_IGNORED("TaskPluginParam", LAUNCH),
    KEY_IGNORED("TCPTimeout", DAEMONS),
    KEY_IGNORED("TmpFS", "docs/volumes.md says which directories a job sees"),
    KEY_IGNORED("TopologyParam", "labels of nodes say where they are: docs/topology.md"),
    KEY_IGNORED("TopologyPlugin",
                "topology.conf and labels of nodes say where they are: docs/topology.md"),
    KEY_IGNORED("TrackWCKey", "a job's wckey is kept as it is"),
    KEY_IGNORED("TreeWidth", DAEMONS),
    KEY_IGNORED("UnkillableStepProgram", SCRIPTS),
    KEY_IGNORED("UnkillableStepTimeout", LAUNCH),
    KEY_IGNORED("UsePAM", LAUNCH),
    KEY_IGNORED("VSizeFactor", LAUNCH),
    KEY_IGNORED("WaitTime", LAUNCH),
    KEY_IGNORED("X11Parameters", LAUNCH),
    KEY_END,
};

const struct slurm_conf_key slurm_conf_partition_keys[] = {
    KEY("AllowAccounts", NAMES, .member = "allowAccounts"),
    KEY("AllowGroups", NAMES, .member = "allowGroups"),
    KEY("AllowQos", NAMES, .member = "allowQos"),
    KEY("AllowUsers", NAMES, .member = "allowUsers"),
    KEY("Alternate", TEXT, .member = "alternate"),
    KEY("DefCpuPerGPU", COUNT, .member = "cpusPerGpu"),
    KEY("DefMemPerCPU", MEMORY, .member = "memoryPerCpu"),
    KEY("DefMemPerGPU", MEMORY, .member = "memoryPerGpu"),
    KEY("DefMemPerNode", MEMORY, .member = "memoryPerNode"),
    KEY("Default", BOOL, .member = "isDefault"),
    KEY("DefaultTime", MINUTES, .member = "defaultTimeMinutes"),
    KEY("DenyAccounts", NAMES, .member = "denyAccounts"),
    KEY("DenyQos", NAMES, .member = "denyQos"),
    KEY("DenyUsers", NAMES, .member = "denyUsers"),
    KEY("DisableRootJobs", BOOL, .member = "disableRootJobs"),
    KEY("GraceTime", SECONDS, .member = "graceTimeSeconds"),
    KEY("Hidden", BOOL, .member = "hidden"),
    KEY("MaxCPUsPerNode", COUNT, .member = "maxCpusPerNode", .max = 1 << 20),
    KEY("MaxMemPerCPU", MEMORY, .member = "maxMemoryPerCpu"),
    KEY("MaxMemPerNode", MEMORY, .member = "maxMemoryPerNode"),
    KEY("MaxNodes", COUNT, .member = "maxNodes", .max = 1 << 20),
    KEY("MaxTime", MINUTES, .member = "maxTimeMinutes"),
    KEY("MinNodes", COUNT, .member = "minNodes", .max = 1 << 20),
    KEY("Nodes", TEXT, .member = "nodes"),
    KEY("OverSubscribe", WORD, .member = "overSubscribe", .words = "NO,EXCLUSIVE"),
    KEY("OverTimeLimit", OVER, .member = "overTimeMinutes"),
    KEY("PreemptMode", WORD, .member = "preemptMode", .words = "OFF,CANCEL,REQUEUE,SUSPEND"),
    KEY("PriorityJobFactor", COUNT, .member = "priorityJobFactor", .max = 65533),
    KEY("PriorityTier", COUNT, .member = "priorityTier", .max = 65533),
    KEY("QOS", TEXT, .member = "qos"),
    KEY("ReqResv", BOOL, .member = "requiresReservation"),
    KEY("RootOnly", BOOL, .member = "rootOnly"),
    KEY("Shared", WORD, .member = "overSubscribe", .words = "NO,EXCLUSIVE"),
    KEY("State", WORD, .member = "state", .words = "UP,DOWN,DRAIN,INACTIVE"),
    KEY("TRESBillingWeights", BILLING, .member = "billingWeights"),
    KEY_REFUSED("AllocNodes", "ALL", "AllocNodes=ALL: where a job was submitted is not checked"),
    KEY_REFUSED("ExclusiveUser", "NO,FALSE,0",
                "OverSubscribe=EXCLUSIVE, which gives each job its nodes alone"),
    KEY_REFUSED("MaxCPUsPerSocket", "UNLIMITED,INFINITE,-1",
                "a partition with nodes of its own, or CPUs= of its nodes"),
    KEY_IGNORED("CpuBind", LAUNCH),
    KEY_IGNORED("LLN", DECIDES),
    KEY_IGNORED("PowerDownOnIdle", POWER),
    KEY_IGNORED("ResumeTimeout", POWER),
    KEY_IGNORED("SelectTypeParameters", "cpus, memory and gpus are always counted"),
    KEY_IGNORED("SuspendTime", POWER),
    KEY_IGNORED("SuspendTimeout", POWER),
    KEY_END,
};

const struct slurm_conf_key slurm_conf_node_keys[] = {
    KEY("CPUs", COUNT, .member = "cpus", .max = 1 << 20),
    KEY("CoreSpecCount", COUNT, .member = "specCores", .max = 1 << 20),
    KEY("CoresPerSocket", COUNT, .member = "coresPerSocket", .max = 1 << 12),
    KEY("Feature", NAMES, .member = "features"),
    KEY("Features", NAMES, .member = "features"),
    KEY("Gres", TEXT, .member = "gres"),
    KEY("MemSpecLimit", MEMORY, .member = "specMemory"),
    KEY("Procs", COUNT, .member = "cpus", .max = 1 << 20),
    KEY("RealMemory", MEMORY, .member = "memory"),
    KEY("Reason", TEXT, .member = "reason"),
    KEY("Sockets", COUNT, .member = "sockets", .max = 1 << 12),
    KEY("State", WORD, .member = "state", .words = "UNKNOWN,DOWN,DRAIN,FAIL,FAILING,CLOUD,FUTURE"),
    KEY("ThreadsPerCore", COUNT, .member = "threadsPerCore", .max = 1 << 6),
    KEY("Weight", COUNT, .member = "weight"),
    KEY_IGNORED("BcastAddr", DAEMONS),
    KEY_IGNORED("Boards", "the node counts its cpus"),
    KEY_IGNORED("CpuBind", LAUNCH),
    KEY_IGNORED("CpuSpecList", LAUNCH),
    KEY_IGNORED("NodeAddr", "nodes call the server: docs/nodes.md"),
    KEY_IGNORED("NodeHostname", "nodes call the server: docs/nodes.md"),
    KEY_IGNORED("Port", "nodes call the server: docs/nodes.md"),
    KEY_IGNORED("RestrictedCoresPerGPU", LAUNCH),
    KEY_IGNORED("SocketsPerBoard", "the node counts its cpus"),
    KEY_IGNORED("TmpDisk", "the node reports its disk"),
    KEY_IGNORED("Topology",
                "topology.conf and labels of nodes say where they are: docs/topology.md"),
    KEY_IGNORED("TRESWeights", ACCOUNTING),
    KEY_END,
};

const struct slurm_conf_key *slurm_conf_key_find(const struct slurm_conf_key *keys,
                                                 const char *name)
{
    for (; keys->name; keys++)
        if (strcasecmp(keys->name, name) == 0)
            return keys;
    return NULL;
}

/* ---- values ---- */

enum {
    OVER_MAX = 65533, /* minutes */
    EXIT_CODE_MAX = 255
};

static bool is_unlimited(const char *value)
{
    return strcasecmp(value, "UNLIMITED") == 0 || strcasecmp(value, "INFINITE") == 0 ||
           text_equal(value, "-1");
}

/* The word of the list, in the list's case. NULL: none. The caller frees it. */
static char *conf_word(const char *words, const char *value)
{
    struct str rest = str_of(words);

    while (rest.at) {
        struct str word = str_cut(&rest, ',');

        if (word.size == strlen(value) && strncasecmp(word.at, value, word.size) == 0)
            return mem_strndup(word.at, word.size);
    }
    return NULL;
}

static struct err *conf_unfit(const struct slurm_conf_key *key, const char *value, const char *want)
{
    return err_new(ERR_INVALID, "%s=%s: want %s", key->name, value, want);
}

static struct err *put_bool(const struct slurm_conf_key *key, const char *value, json_t *to)
{
    AUTO_FREE char *yes = conf_word("YES,TRUE,UP,1", value);
    AUTO_FREE char *no = conf_word("NO,FALSE,DOWN,0", value);

    if (!yes && !no)
        return conf_unfit(key, value, "YES or NO");
    if (key->member)
        json_put_bool(to, key->member, yes != NULL);
    else
        json_put_text(to, key->name, yes ? "YES" : "NO");
    return NULL;
}

static void put_number(const struct slurm_conf_key *key, int64_t n, json_t *to)
{
    AUTO_FREE char *text = mem_format("%" PRId64, n);

    if (key->member)
        json_put_int(to, key->member, n);
    else
        json_put_text(to, key->name, text);
}

static struct err *put_count(const struct slurm_conf_key *key, const char *value, json_t *to)
{
    int64_t max = key->max > 0 ? key->max : INT32_MAX;
    int64_t n = 0;
    AUTO(err_freep) struct err *e = num_parse_int64(str_of(value), 0, max, &n);

    if (e)
        return err_new(ERR_INVALID, "%s=%s: want a number from 0 to %" PRId64, key->name, value,
                       max);
    put_number(key, n, to);
    return NULL;
}

static struct err *put_over(const struct slurm_conf_key *key, const char *value, json_t *to)
{
    int64_t minutes = SLURM_OVER_ENDLESS;
    AUTO(err_freep) struct err *e = NULL;

    if (!is_unlimited(value))
        e = num_parse_int64(str_of(value), 0, OVER_MAX, &minutes);
    if (e)
        return conf_unfit(key, value, "minutes from 0 to 65533, or UNLIMITED");
    put_number(key, minutes, to);
    return NULL;
}

static struct err *put_minutes(const struct slurm_conf_key *key, const char *value, json_t *to)
{
    int64_t minutes = 0;
    AUTO(err_freep) struct err *e = slurm_minutes_parse(str_of(value), &minutes);

    if (e || (minutes == 0 && key->member)) /* a setting of 0 is none */
        return conf_unfit(key, value, "a time limit (30, 1:00:00, 7-0, UNLIMITED)");
    put_number(key, minutes, to);
    return NULL;
}

static struct err *put_memory(const struct slurm_conf_key *key, const char *value, json_t *to)
{
    AUTO_FREE char *text = mem_format("%sMi", value);
    int64_t mib = 0;
    AUTO(err_freep) struct err *e = num_parse_int64(str_of(value), 0, INT64_MAX >> 30, &mib);

    if (e)
        return conf_unfit(key, value, "a number of megabytes");
    if (key->member && mib > 0)
        json_put_text(to, key->member, text);
    else if (mib > 0)
        json_put_text(to, key->name, value);
    return NULL;
}

/* "ALL" leaves nobody out. */
static void put_names(const struct slurm_conf_key *key, const char *value, json_t *to)
{
    AUTO_FREE char *all = conf_word("ALL", value);
    json_t *names = json_array();
    struct str rest = str_of(value);

    while (!all && rest.at) {
        struct str name = str_cut(&rest, ',');
        AUTO_FREE char *text = mem_strndup(name.at, name.size);

        if (name.size > 0)
            (void)json_array_append_new(names, json_text_new(text));
    }
    json_put(to, key->member, names);
    if (all)
        (void)json_object_del(to, key->member);
}

static struct err *put_word(const struct slurm_conf_key *key, const char *value, json_t *to)
{
    AUTO_FREE char *word = conf_word(key->words, value);
    AUTO_FREE char *want = mem_format("one of %s", key->words);

    if (!word)
        return conf_unfit(key, value, want);
    json_put_text(to, key->member ? key->member : key->name, word);
    return NULL;
}

/* Suspended jobs go on by GANG alone, as in Slurm; without a mode GANG is OFF. */
static struct err *put_preempt(const struct slurm_conf_key *key, const char *value, json_t *to)
{
    AUTO_FREE char *mode = NULL;
    AUTO_FREE char *text = NULL;
    bool is_gang = false;
    bool is_right = true;
    struct str rest = str_of(value);

    while (rest.at && is_right) {
        struct str one = str_cut(&rest, ',');
        AUTO_FREE char *word = mem_strndup(one.at, one.size);

        if (strcasecmp(word, "GANG") == 0) {
            is_gang = true;
            continue;
        }
        is_right = !mode;
        if (is_right)
            mode = conf_word(key->words, word);
        is_right = is_right && mode;
    }
    if (!is_right || (text_equal(mode, "SUSPEND") && !is_gang))
        return conf_unfit(key, value, "OFF, CANCEL, REQUEUE or SUSPEND,GANG");
    text = mem_format("%s%s", mode ? mode : "OFF", text_equal(mode, "SUSPEND") ? ",GANG" : "");
    json_put_text(to, key->name, text);
    return NULL;
}

static struct err *put_licenses(const struct slurm_conf_key *key, const char *value, json_t *to)
{
    struct slurm_tres all = {0};
    AUTO(err_freep) struct err *e = slurm_licenses_parse(str_of(value), &all);

    slurm_tres_done(&all);
    if (e)
        return conf_unfit(key, value, "NAME:COUNT with commas, as in matlab:4,ansys:10");
    json_put_text(to, key->name, value);
    return NULL;
}

/* A code or a range of codes: "3", "5-10". */
static struct err *read_exits(struct str text, struct index_set *to)
{
    struct str rest = text;
    struct str first = str_cut(&rest, '-');
    int64_t from = 0;
    int64_t last;

    TRY(num_parse_int64(first, 0, EXIT_CODE_MAX, &from));
    last = from;
    if (rest.at)
        TRY(num_parse_int64(rest, from, EXIT_CODE_MAX, &last));
    for (int64_t i = from; i <= last; i++)
        (void)index_set_add(to, (size_t)i); /* a code may be listed twice */
    return NULL;
}

static struct err *put_exits(const struct slurm_conf_key *key, const char *value, json_t *to)
{
    AUTO(index_set_done) struct index_set codes = {0};
    AUTO_FREE char *text = NULL;
    struct str rest = str_of(value);

    while (rest.at) {
        AUTO(err_freep) struct err *e = read_exits(str_cut(&rest, ','), &codes);

        if (e)
            return conf_unfit(key, value, "exit codes from 0 to 255, as in 1,5-10");
    }
    text = index_set_format(&codes);
    json_put_text(to, key->name, text);
    return NULL;
}

/* Every word of the value must be without effect. */
static struct err *refuse_word(const struct slurm_conf_key *key, const char *value)
{
    struct str rest = str_of(value);

    while (rest.at) {
        struct str one = str_cut(&rest, ',');
        AUTO_FREE char *text = mem_strndup(one.at, one.size);
        AUTO_FREE char *word = conf_word(key->words, text);

        if (!word)
            return err_new(ERR_INVALID, "%s=%s restricts and is not implemented: want %s",
                           key->name, value, key->why);
    }
    return NULL;
}

struct err *slurm_conf_value_read(const struct slurm_conf_key *key, const char *value, json_t *to)
{
    bool can_be_absent =
        key->type == CONF_COUNT || key->type == CONF_MINUTES || key->type == CONF_MEMORY;

    if (can_be_absent && is_unlimited(value)) {
        (void)json_object_del(to, key->member ? key->member : key->name);
        return NULL;
    }
    switch (key->type) {
    case CONF_TEXT:
        json_put_text(to, key->member ? key->member : key->name, *value ? value : NULL);
        return NULL;
    case CONF_NAMES:
        put_names(key, value, to);
        return NULL;
    case CONF_BOOL:
        return put_bool(key, value, to);
    case CONF_COUNT:
    case CONF_SECONDS:
        return put_count(key, value, to);
    case CONF_MINUTES:
        return put_minutes(key, value, to);
    case CONF_OVER:
        return put_over(key, value, to);
    case CONF_MEMORY:
        return put_memory(key, value, to);
    case CONF_BILLING:
        TRY(slurm_billing_check(value));
        json_put_text(to, key->member, *value ? value : NULL);
        return NULL;
    case CONF_PATH:
        if (*value && *value != '/')
            return conf_unfit(key, value, "a path from the root on");
        json_put_text(to, key->name, *value ? value : NULL);
        return NULL;
    case CONF_PREEMPT:
        return put_preempt(key, value, to);
    case CONF_EXITS:
        return put_exits(key, value, to);
    case CONF_LICENSES:
        return put_licenses(key, value, to);
    case CONF_WORD:
        return put_word(key, value, to);
    case CONF_REFUSED:
        return refuse_word(key, value);
    case CONF_IGNORED:
        break;
    }
    return NULL;
}

struct err *slurm_conf_key_read(const struct slurm_conf_line *line,
                                const struct slurm_conf_key *key, const char *value, json_t *to)
{
    struct err *e = slurm_conf_value_read(key, value, to);

    return e ? err_wrap(e, "%s:%" PRId64, line->file, line->number) : NULL;
}
