/* why_slurm.c - mete why of jobs of the Slurm commands that have no pod yet: the words of the
 * report of rows as a workload */

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/job/why.h"
#include "kinds/slurm/slurm_rows.h"

static const struct {
    const char *reason;
    const char *text;
    const char *help;
} waits[] = {
    {"Dependency", "the jobs that it depends on have not come to the wanted end", NULL},
    {"DependencyNeverSatisfied", "a job that it depends on has ended otherwise: it never starts",
     "scontrol update JobId=%s Dependency="},
    {"JobHeldUser", "it is held", "scontrol release %s"},
    {"JobHeldAdmin", "an administrator holds it", "scontrol release %s by an administrator"},
    {"BeginTime", "it may not begin before its time", "scontrol update JobId=%s StartTime=now"},
    {"JobArrayTaskLimit", "as many elements of its array run as it allows",
     "scontrol update JobId=%s ArrayTaskThrottle=0"},
    {"PartitionDown", "its partition starts no jobs", "the partition is set to State=UP"},
    {"PartitionInactive", "its partition is not active", "the partition is set to State=UP"},
    {"PartitionTimeLimit", "its time limit is beyond that of its partition", NULL},
    {"PartitionNodeLimit", "its number of nodes is not one of its partition", NULL},
    {"PartitionConfig", "its partition has no nodes", NULL},
    {"Licenses", "the licenses that it asks for are in use", "a job with them ends"},
    {"None", "it has not been considered yet", NULL},
};

/* A limit has the reason of its own: QOSMaxJobsPerUserLimit and others. */
static const char *text_of(const char *reason)
{
    for (size_t i = 0; i < COUNT(waits); i++)
        if (text_equal(waits[i].reason, reason))
            return waits[i].text;
    return strstr(reason, "Limit") || text_starts_with(reason, "QOS") ||
                   text_starts_with(reason, "Assoc")
               ? "it is at a limit of its account, user or QOS"
               : "it waits for earlier elements of its array";
}

static void add_help_of(json_t *reason, const char *code, const char *word)
{
    for (size_t i = 0; i < COUNT(waits); i++) {
        const char *help = text_equal(waits[i].reason, code) ? waits[i].help : NULL;
        const char *mark = help ? strstr(help, "%s") : NULL;
        AUTO_FREE char *text =
            mark   ? mem_format("%.*s%s%s", (int)(mark - help), help, word, mark + 2)
            : help ? mem_strdup(help)
                   : NULL;

        if (text)
            (void)json_array_append_new(json_array_at(reason, "wouldStartIf"), json_string(text));
    }
}

static char *message_of(const json_t *row, const char *code)
{
    const char *own = json_text_filled(row, "message");
    const char *dependency = json_text_filled(row, "dependency");
    char stamp[STAMP_TEXT_SIZE];

    if (own)
        return mem_strdup(own);
    if (text_equal(code, "BeginTime") && json_int(row, "startTime", 0) > 0) {
        stamp_format(json_int(row, "startTime", 0) * NS_PER_SEC, stamp);
        return mem_format("%s, %s", text_of(code), stamp);
    }
    if (dependency && text_starts_with(code, "Dependency"))
        return mem_format("%s: %s", text_of(code), dependency);
    return mem_strdup(text_of(code));
}

/* The element of the row that is in `word`, with its name as a pod has it. */
static json_t *workload_of(const json_t *row, const char *word)
{
    const char *object = text_or_empty(json_text(row, "object"));
    const char *slash = strchr(object, '/');
    const char *code = text_or_empty(json_text(row, "reason"));
    const char *index = strchr(word, '_');
    AUTO_FREE char *name =
        mem_format("%s%s%s", slash ? slash + 1 : object, index ? "-" : "", index ? index + 1 : "");
    AUTO_FREE char *message = message_of(row, code);
    json_t *workload = json_pack("{s:s,s:s}", "apiVersion", "mete.dev/v1", "kind", "Workload");
    json_t *status = json_object_at(workload, "status");
    json_t *reason;
    char stamp[STAMP_TEXT_SIZE];

    json_put_text(json_object_at(workload, "metadata"), "name", name);
    json_put_text(json_object_at(workload, "metadata"), "namespace", json_text(row, "namespace"));
    json_put_int(json_object_at(workload, "spec"), "jobId", json_int(row, "jobId", 0));
    json_put_text(json_object_at(workload, "spec"), "queue", json_text_filled(row, "account"));
    stamp_format(json_int(row, "submitTime", 0) * NS_PER_SEC, stamp);
    json_put_text(status, "submittedAt", stamp);
    json_put_text(status, "phase", "waiting");
    reason = json_object_at(status, "reason");
    json_put_text(reason, "code", code);
    json_put_text(reason, "message", message);
    add_help_of(reason, code, word);
    return workload;
}

/* A number, or that of an array with the index of an element. */
static bool is_number(const char *word)
{
    size_t n = strspn(word, "0123456789");

    if (n == 0 || n > 18)
        return false;
    return !word[n] || (word[n] == '_' && word[n + 1] &&
                        strspn(word + n + 1, "0123456789") == strlen(word + n + 1));
}

struct err *why_slurm(struct session *s, const char *word, json_t **ret)
{
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *own = NULL;
    AUTO(json_freep) json_t *report = NULL;
    json_t *row;

    *ret = NULL;
    if (!is_number(word))
        return NULL;
    path = path_format("/apis/mete.dev/v1/slurm?what=jobs&states=all&ids=%s", word);
    TRY(session_get_report(s, path, path + strlen("/apis/mete.dev/v1/"), &report));
    row = json_array_get(json_object_get(report, "jobs"), 0);
    if (row && text_equal(json_text(row, "state"), "PENDING"))
        *ret = workload_of(row, word);
    if (!json_text(row, "pod"))
        return NULL;
    own = path_format("/apis/mete.dev/v1/namespaces/%s/workloads/%s",
                      text_or_empty(json_text(row, "namespace")), json_text(row, "pod"));
    return session_get_report(s, own, own + strlen("/apis/mete.dev/v1/"), ret);
}
