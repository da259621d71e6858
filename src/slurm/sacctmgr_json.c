/* sacctmgr_json.c - accounts, users, associations, QOS and resources as documents of slurmdb */

#include <strings.h>

#include "base/mem.h"
#include "kinds/queue.h"
#include "kinds/slurm/slurm_accounts.h"
#include "slurm/document.h"
#include "slurm/sacctmgr_private.h"

static const struct member association_members[] = {
    {"account", "account", MEMBER_TEXT},
    {"accounting", NULL, MEMBER_LIST},
    {"comment", NULL, MEMBER_TEXT},
    {"default/qos", "defaultQos", MEMBER_TEXT},
    {"flags", NULL, MEMBER_LIST},
    {"id", NULL, MEMBER_NUMBER},
    {"lineage", NULL, MEMBER_TEXT},
    {"max/jobs/accruing", "maxJobsAccrue", MEMBER_VALUE},
    {"max/jobs/active", "maxJobs", MEMBER_VALUE},
    {"max/jobs/per/accruing", "grpJobsAccrue", MEMBER_VALUE},
    {"max/jobs/per/count", "grpJobs", MEMBER_VALUE},
    {"max/jobs/per/submitted", "grpSubmitJobs", MEMBER_VALUE},
    {"max/jobs/per/wall_clock", "maxWall", MEMBER_VALUE},
    {"max/jobs/total", "maxSubmitJobs", MEMBER_VALUE},
    {"max/per/account/wall_clock", "grpWall", MEMBER_VALUE},
    {"max/tres/group/active", "grpTRESRunMins", MEMBER_TRES},
    {"max/tres/group/minutes", "grpTRESMins", MEMBER_TRES},
    {"max/tres/minutes/per/job", "maxTRESMins", MEMBER_TRES},
    {"max/tres/minutes/total", NULL, MEMBER_TRES},
    {"max/tres/per/job", "maxTRES", MEMBER_TRES},
    {"max/tres/per/node", "maxTRESPerNode", MEMBER_TRES},
    {"max/tres/total", "grpTRES", MEMBER_TRES},
    {"min/priority_threshold", "minPrioThreshold", MEMBER_VALUE},
    {"parent_account", "parent", MEMBER_TEXT},
    {"partition", "partition", MEMBER_TEXT},
    {"priority", "priority", MEMBER_VALUE},
    {"qos", "qos", MEMBER_WORDS},
    {"shares_raw", "shares", MEMBER_NUMBER},
    {"user", "user", MEMBER_TEXT},
    {0},
};

static const struct member qos_members[] = {
    {"description", "description", MEMBER_TEXT},
    {"id", NULL, MEMBER_NUMBER},
    {"limits/factor", "limitFactor", MEMBER_FACTOR},
    {"limits/grace_time", "graceTime", MEMBER_NUMBER},
    {"limits/max/accruing/per/account", "maxJobsAccruePerAccount", MEMBER_VALUE},
    {"limits/max/accruing/per/user", "maxJobsAccruePerUser", MEMBER_VALUE},
    {"limits/max/active_jobs/accruing", "grpJobsAccrue", MEMBER_VALUE},
    {"limits/max/active_jobs/count", "grpJobs", MEMBER_VALUE},
    {"limits/max/jobs/active_jobs/per/account", "maxJobsPerAccount", MEMBER_VALUE},
    {"limits/max/jobs/active_jobs/per/user", "maxJobsPerUser", MEMBER_VALUE},
    {"limits/max/jobs/count", "grpSubmitJobs", MEMBER_VALUE},
    {"limits/max/jobs/per/account", "maxSubmitJobsPerAccount", MEMBER_VALUE},
    {"limits/max/jobs/per/user", "maxSubmitJobsPerUser", MEMBER_VALUE},
    {"limits/max/tres/minutes/per/account", "maxTRESRunMinsPerAccount", MEMBER_TRES},
    {"limits/max/tres/minutes/per/job", "maxTRESMins", MEMBER_TRES},
    {"limits/max/tres/minutes/per/qos", "grpTRESRunMins", MEMBER_TRES},
    {"limits/max/tres/minutes/per/user", "maxTRESRunMinsPerUser", MEMBER_TRES},
    {"limits/max/tres/minutes/total", "grpTRESMins", MEMBER_TRES},
    {"limits/max/tres/per/account", "maxTRESPerAccount", MEMBER_TRES},
    {"limits/max/tres/per/job", "maxTRES", MEMBER_TRES},
    {"limits/max/tres/per/node", "maxTRESPerNode", MEMBER_TRES},
    {"limits/max/tres/per/user", "maxTRESPerUser", MEMBER_TRES},
    {"limits/max/tres/total", "grpTRES", MEMBER_TRES},
    {"limits/max/wall_clock/per/job", "maxWall", MEMBER_VALUE},
    {"limits/max/wall_clock/per/qos", "grpWall", MEMBER_VALUE},
    {"limits/min/priority_threshold", "minPrioThreshold", MEMBER_VALUE},
    {"limits/min/tres/per/job", "minTRES", MEMBER_TRES},
    {"name", "name", MEMBER_TEXT},
    {"preempt/exempt_time", "preemptExemptTime", MEMBER_VALUE},
    {"preempt/list", "preempt", MEMBER_WORDS},
    {"priority", "priority", MEMBER_VALUE},
    {"usage_factor", "usageFactor", MEMBER_FACTOR},
    {"usage_threshold", "usageThreshold", MEMBER_FACTOR},
    {0},
};

static const struct member account_members[] = {
    {"associations", NULL, MEMBER_LIST},
    {"coordinators", NULL, MEMBER_LIST},
    {"description", "description", MEMBER_TEXT},
    {"flags", NULL, MEMBER_LIST},
    {"name", "account", MEMBER_TEXT},
    {"organization", "organization", MEMBER_TEXT},
    {0},
};

static const struct member user_members[] = {
    {"administrator_level", "adminLevel", MEMBER_WORDS},
    {"associations", NULL, MEMBER_LIST},
    {"coordinators", NULL, MEMBER_LIST},
    {"default/account", "defaultAccount", MEMBER_TEXT},
    {"default/wckey", NULL, MEMBER_TEXT},
    {"flags", NULL, MEMBER_LIST},
    {"name", "user", MEMBER_TEXT},
    {"old_name", NULL, MEMBER_TEXT},
    {"wckeys", NULL, MEMBER_LIST},
    {0},
};

static const struct member cluster_members[] = {
    {"associations/root/account", "account", MEMBER_TEXT},
    {"associations/root/partition", NULL, MEMBER_TEXT},
    {"associations/root/user", NULL, MEMBER_TEXT},
    {"controller/host", "controlHost", MEMBER_TEXT},
    {"controller/port", "controlPort", MEMBER_NUMBER},
    {"flags", NULL, MEMBER_LIST},
    {"nodes", NULL, MEMBER_TEXT},
    {"rpc_version", "rpc", MEMBER_NUMBER},
    {"select_plugin", NULL, MEMBER_TEXT},
    {"tres", NULL, MEMBER_LIST},
    {0},
};

static const struct member tres_members[] = {
    {"count", NULL, MEMBER_NUMBER},
    {"id", "id", MEMBER_NUMBER},
    {"name", "name", MEMBER_TEXT},
    {"type", "type", MEMBER_TEXT},
    {0},
};

/* The words of the data parser for the flags of a QOS. */
static const struct {
    const char *ours;
    const char *word;
} qos_flags[] = {
    {"DenyOnLimit", "DENY_LIMIT"},
    {"EnforceUsageThreshold", "ENFORCE_USAGE_THRESHOLD"},
    {"NoDecay", "NO_DECAY"},
    {"NoReserve", "NO_RESERVE"},
    {"OverPartQOS", "OVERRIDE_PARTITION_QOS"},
    {"PartitionMaxNodes", "PARTITION_MAXIMUM_NODE"},
    {"PartitionMinNodes", "PARTITION_MINIMUM_NODE"},
    {"PartitionTimeLimit", "PARTITION_TIME_LIMIT"},
    {"Relative", "RELATIVE"},
    {"RequiresReservation", "REQUIRED_RESERVATION"},
    {"UsageFactorSafe", "USAGE_FACTOR_SAFE"},
};

static json_t *flags_of(const json_t *row)
{
    const json_t *given = json_object_get(row, "flags");
    json_t *flags = json_array();

    for (size_t i = 0; i < json_array_size(given); i++)
        for (size_t k = 0; k < COUNT(qos_flags); k++)
            if (strcasecmp(text_or_empty(json_string_value(json_array_get(given, i))),
                           qos_flags[k].ours) == 0)
                (void)json_array_append_new(flags, json_string(qos_flags[k].word));
    return flags;
}

/* "requeue,gang" as ["REQUEUE", "GANG"]; "cluster": none of its own. */
static json_t *preempt_modes(const json_t *row)
{
    const char *mode = json_text(row, "preemptMode");

    if (!mode || strcasecmp(mode, "cluster") == 0)
        return json_array();
    if (strcasecmp(mode, "off") == 0)
        return slurm_words_array("DISABLED");
    return slurm_words_array(strcasecmp(mode, "requeue") == 0 ? "REQUEUE" : "CANCEL");
}

/* The account above, other than root; NULL: none. */
static const char *account_above(const struct acct_books *b, const char *account)
{
    const char *parent =
        json_text_filled(json_object_get(acct_find(b->queues, account), "spec"), "parent");

    return text_equal(parent, QUEUE_ROOT) ? NULL : parent;
}

/* "/science/vision/0-ann/": the accounts from the top, and the user. */
static void put_lineage(const struct acct_books *b, json_t *to, const json_t *row)
{
    const char *account = text_or_empty(json_text(row, "account"));
    const char *user = json_text(row, "user");
    AUTO_FREE char *line = user ? mem_format("/0-%s/", user) : mem_strdup("/");

    if (text_equal(account, QUEUE_ROOT))
        account = NULL;
    for (int deep = 0; account && deep < SLURM_ACCOUNTS_DEEP; deep++) {
        char *longer = mem_format("/%s%s", account, line);

        free(line);
        line = longer;
        account = account_above(b, account);
    }
    json_put_text(to, "lineage", line);
}

static bool is_default(const struct acct_books *b, const json_t *row)
{
    const json_t *user = acct_find(b->users, text_or_empty(json_text(row, "user")));

    return user && text_equal(json_text_at(user, "spec", "defaultAccount", NULL),
                              json_text(row, "account"));
}

static json_t *document_row(const struct acct_request *r, const struct acct_books *b,
                            const json_t *row)
{
    static const struct member *const members[] = {
        [ACCT_ACCOUNT] = account_members, [ACCT_ASSOCIATION] = association_members,
        [ACCT_CLUSTER] = cluster_members, [ACCT_QOS] = qos_members,
        [ACCT_TRES] = tres_members,       [ACCT_USER] = user_members,
    };
    json_t *one = json_object();

    members_put(one, row, members[r->entity]);
    if (r->entity == ACCT_QOS) {
        json_put(one, "flags", flags_of(row));
        member_put(one, "preempt/mode", preempt_modes(row));
    } else if (r->entity == ACCT_ASSOCIATION) {
        json_put_text(one, "cluster", b->cluster);
        json_put_bool(one, "is_default", is_default(b, row));
        put_lineage(b, one, row);
    } else if (r->entity == ACCT_CLUSTER) {
        json_put_text(one, "name", b->cluster);
        member_put(one, "associations/root/cluster", json_string(b->cluster));
    }
    return one;
}

/* Adds the short form of each association to the account or user that has it. */
static void put_associations(const struct acct_request *r, const struct acct_books *b, json_t *list)
{
    bool is_of_users = r->entity == ACCT_USER;
    AUTO(json_freep) json_t *tree = acct_associations(b);
    json_t *one;
    size_t i;

    json_array_foreach (list, i, one)
        for (size_t k = 0; k < json_array_size(tree); k++) {
            const json_t *row = json_array_get(tree, k);

            if (text_equal(json_text(row, is_of_users ? "user" : "account"),
                           json_text(one, "name")))
                (void)json_array_append_new(
                    json_array_at(one, "associations"),
                    json_pack("{s:s,s:s,s:s,s:s,s:i}", "account",
                              text_or_empty(json_text(row, "account")), "cluster", b->cluster,
                              "partition", text_or_empty(json_text(row, "partition")), "user",
                              text_or_empty(json_text(row, "user")), "id", 0));
        }
}

struct err *acct_document(const struct acct_request *r, const struct acct_books *b, json_t **ret)
{
    static const char *const names[] = {
        [ACCT_ACCOUNT] = "accounts", [ACCT_ASSOCIATION] = "associations",
        [ACCT_CLUSTER] = "clusters", [ACCT_QOS] = "qos",
        [ACCT_TRES] = "TRES",        [ACCT_USER] = "users",
    };
    struct acct_request request = *r; /* an account or user is one member, whatever it has */
    AUTO(json_freep) json_t *rows = NULL;
    json_t *list;

    request.has_associations = false;
    TRY(acct_rows(&request, b, &rows));
    list = json_array();
    for (size_t i = 0; i < json_array_size(rows); i++)
        (void)json_array_append_new(list, document_row(r, b, json_array_get(rows, i)));
    if ((r->entity == ACCT_USER || r->entity == ACCT_ACCOUNT) && r->has_associations)
        put_associations(r, b, list);
    *ret = slurm_document_new(names[r->entity], list);
    return NULL;
}
