/*
 * kind_slurmaccounts.c - mete.dev/v1 SlurmUser and SlurmQos: users of Slurm's accounts, and
 * qualities of service
 *
 * An account is a Queue; the members of `slurm` are what Slurm knows of it besides. Members have
 * the names of sacctmgr, and TRES are texts as sacctmgr writes them ("cpu=4,gres/gpu=2"), memory in
 * MiB.
 */
#include <ctype.h>

#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/slurm_fields.h"
#include "kinds/kind/tables.h"
#include "kinds/slurm/slurm_accounts.h"
#include "model/slurm_tres.h"

enum {
    NAME_MAX_BYTES = 63,
    LIST_MAX_ITEMS = 256
};

struct err *slurm_name_check(const char *name)
{
    size_t size = strlen(name);

    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("_.-@+", name[i]))
            return err_new(ERR_INVALID, "want letters, digits and _.-@+");
    return size > 0 && size <= NAME_MAX_BYTES && isalnum((unsigned char)*name)
               ? NULL
               : err_new(ERR_INVALID, "want 1 to %d bytes, a letter or digit first",
                         NAME_MAX_BYTES);
}

static struct err *check_tres(const char *text)
{
    struct slurm_tres tres = {0};
    struct err *e = slurm_tres_parse(str_of(text), &tres);

    slurm_tres_done(&tres);
    return e;
}

static struct err *check_factor(const char *text)
{
    int64_t factor = 0;

    return slurm_factor_parse(text, &factor);
}

static const struct field name_item =
    F_STRING(NULL, "A name.", .check = slurm_name_check, .size_max = NAME_MAX_BYTES,
             .pattern = "^[A-Za-z0-9][-A-Za-z0-9_.@+]*$");

#define F_TRES(n, text)   F_STRING(n, text, .size_max = 4096, .check = check_tres)
#define F_LIMIT(n, text)  F_INT(n, text, .min = 0, .max = INT32_MAX)
#define F_FACTOR(n, text) F_STRING(n, text, .size_max = 32, .check = check_factor)

/* Limits of all jobs together, of associations and of qualities of service. */
#define F_GROUP_LIMITS                                                                     \
    F_LIMIT("grpJobs", "Jobs that run at once."),                                          \
        F_LIMIT("grpJobsAccrue", "Waiting jobs that gain points by age."),                 \
        F_LIMIT("grpSubmitJobs", "Jobs that wait or run."),                                \
        F_LIMIT("grpWall", "Minutes of run time, decayed."),                               \
        F_TRES("grpTRES", "Resources held at once."),                                      \
        F_TRES("grpTRESMins", "Resources x minutes, decayed."),                            \
        F_TRES("grpTRESRunMins", "Resources x minutes that running jobs may still take."), \
        F_TRES("maxTRES", "Resources of a job."),                                          \
        F_TRES("maxTRESPerNode", "Resources of a job on a node."),                         \
        F_TRES("maxTRESMins", "Resources x minutes of a job."),                            \
        F_LIMIT("maxWall", "Minutes of a job's time limit."),                              \
        F_LIMIT("minPrioThreshold", "The priority from which jobs hold resources back.")

#define F_ASSOCIATION                                                                           \
    F_GROUP_LIMITS, F_LIMIT("maxJobs", "Jobs of a user that run at once."),                     \
        F_LIMIT("maxJobsAccrue", "Waiting jobs of a user that gain points by age."),            \
        F_LIMIT("maxSubmitJobs", "Jobs of a user that wait or run."),                           \
        F_LIMIT("priority", "The value of the association's factor."),                          \
        F_BOOL("sharesOfParent", "Whether the usage counts for the parent's shares alone."),    \
        F_LIST("qos", &name_item, "Qualities of service that jobs may have; absent: as above.", \
               .items_max = LIST_MAX_ITEMS),                                                    \
        F_STRING("defaultQos", "The quality of service of jobs that name none.",                \
                 .check = slurm_name_check)

const struct field slurm_account_fields[] = {
    F_STRING("description", "The purpose of the account.", .size_max = 4096),
    F_STRING("organization", "The organization of the account.", .size_max = 4096),
    F_ASSOCIATION,
    F_END,
};

static const struct field association_fields[] = {
    F_STRING("account", "The account, a Queue.", .is_required = true, .size_max = NAME_MAX_BYTES),
    F_STRING("partition", "The partition; absent: all.", .size_max = NAME_MAX_BYTES),
    F_INT("shares", "The user's shares in the account.", .min = 0, .max = INT32_MAX - 1,
          .fallback = "1"),
    F_ASSOCIATION,
    F_END,
};
static const struct field association_item =
    F_OBJECT(NULL, association_fields, "A user in an account.");

static const char *const admin_levels[] = {"None", "Operator", "Administrator", NULL};

static const struct field user_spec_fields[] = {
    F_STRING("defaultAccount", "The account of jobs that name none.", .size_max = NAME_MAX_BYTES),
    F_STRING("adminLevel", "None, Operator or Administrator; without effect on rights.",
             .values = admin_levels, .fallback = "\"None\""),
    F_LIST("associations", &association_item, "The accounts of the user.",
           .items_max = LIST_MAX_ITEMS),
    F_END,
};

static const struct field user_fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", user_spec_fields, "The accounts of the user.", .fallback = "{}"),
    F_END,
};

static const struct column user_columns[] = {
    {"Name", "string", "name", 0, "The name of the user."},
    {"Default-Account", "string", "", 0, "The account of jobs that name none."},
    {"Accounts", "integer", "", 0, "The number of accounts."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *slurmuser_cells(const json_t *object, int64_t now_ns)
{
    const json_t *spec = json_object_get(object, "spec");
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_text(json_text(spec, "defaultAccount"), "<none>"));
    (void)json_array_append_new(
        row, json_integer((json_int_t)json_array_size(json_object_get(spec, "associations"))));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

/* A user is once in an account, or once in each of its partitions. */
static void slurmuser_validate(const json_t *object, struct causes *causes)
{
    const struct path *spec = PATH(NULL, "spec");
    const json_t *list = json_at(object, "spec", "associations", NULL);

    for (size_t i = 0; i < json_array_size(list); i++)
        for (size_t k = 0; k < i; k++)
            if (text_equal(json_text(json_array_get(list, i), "account"),
                           json_text(json_array_get(list, k), "account")) &&
                text_equal(json_text(json_array_get(list, i), "partition"),
                           json_text(json_array_get(list, k), "partition")))
                cause_duplicate(causes, PATH_INDEX(PATH(spec, "associations"), i),
                                text_or_empty(json_text(json_array_get(list, i), "account")));
}

const struct kind kind_slurmuser = {
    .group = "mete.dev",
    .version = "v1",
    .api_version = "mete.dev/v1",
    .kind = "SlurmUser",
    .plural = "slurmusers",
    .singular = "slurmuser",
    .fields = user_fields,
    .columns = user_columns,
    .cells = slurmuser_cells,
    .validate = slurmuser_validate,
    .check_name = slurm_name_check,
    .doc = "A user of the Slurm commands: accounts, shares and limits.",
};

/* ---- qualities of service ---- */

static const char *const flags[] = {"DenyOnLimit",
                                    "EnforceUsageThreshold",
                                    "NoDecay",
                                    "NoReserve",
                                    "OverPartQOS",
                                    "PartitionMaxNodes",
                                    "PartitionMinNodes",
                                    "PartitionTimeLimit",
                                    "RequiresReservation",
                                    "UsageFactorSafe",
                                    NULL};
static const struct field flag_item = F_STRING(NULL, "A flag.", .values = flags);
static const char *const preempt_modes[] = {"cluster", "cancel", "requeue", "suspend", NULL};

static const struct field qos_spec_fields[] = {
    F_STRING("description", "The purpose.", .size_max = 4096),
    F_LIMIT("priority", "The value of the factor of jobs; the largest of all counts as 1."),
    F_LIST("flags", &flag_item, "Flags, as in Slurm.", .items_max = LIST_MAX_ITEMS),
    F_LIST("preempt", &name_item, "Qualities of service whose jobs may be preempted.",
           .items_max = LIST_MAX_ITEMS),
    F_STRING("preemptMode", "cluster, cancel, requeue or suspend.", .values = preempt_modes,
             .fallback = "\"cluster\""),
    F_LIMIT("preemptExemptTime", "Seconds that a job runs before it may be preempted."),
    F_LIMIT("graceTime", "Seconds between the notice of a preemption and the end."),
    F_FACTOR("usageFactor", "The number by which usage counts."),
    F_FACTOR("usageThreshold", "The fair-share factor below which jobs do not start."),
    F_FACTOR("limitFactor", "The number by which limits of associations count."),
    F_GROUP_LIMITS,
    F_TRES("minTRES", "The least resources of a job."),
    F_TRES("maxTRESPerUser", "Resources of a user held at once."),
    F_TRES("maxTRESPerAccount", "Resources of an account held at once."),
    F_TRES("maxTRESRunMinsPerUser", "As grpTRESRunMins, of a user."),
    F_TRES("maxTRESRunMinsPerAccount", "As grpTRESRunMins, of an account."),
    F_LIMIT("maxJobsPerUser", "Jobs of a user that run at once."),
    F_LIMIT("maxJobsPerAccount", "Jobs of an account that run at once."),
    F_LIMIT("maxJobsAccruePerUser", "Waiting jobs of a user that gain points by age."),
    F_LIMIT("maxJobsAccruePerAccount", "Waiting jobs of an account that gain points by age."),
    F_LIMIT("maxSubmitJobsPerUser", "Jobs of a user that wait or run."),
    F_LIMIT("maxSubmitJobsPerAccount", "Jobs of an account that wait or run."),
    F_END,
};

static const struct field qos_fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", qos_spec_fields, "Priority and limits.", .fallback = "{}"),
    F_END,
};

static const struct column qos_columns[] = {
    {"Name", "string", "name", 0, "The name of the quality of service."},
    {"Priority", "integer", "", 0, "The value of the factor of jobs."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *slurmqos_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, json_integer(json_int_at(object, "spec", "priority", NULL)));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

const struct kind kind_slurmqos = {
    .group = "mete.dev",
    .version = "v1",
    .api_version = "mete.dev/v1",
    .kind = "SlurmQos",
    .plural = "slurmqoses",
    .singular = "slurmqos",
    .fields = qos_fields,
    .columns = qos_columns,
    .cells = slurmqos_cells,
    .check_name = slurm_name_check,
    .doc = "A quality of service of Slurm jobs: priority and limits.",
};
