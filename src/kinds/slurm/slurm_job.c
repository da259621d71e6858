/* slurm_job.c - the rules of a SlurmJob beyond its schema */

#include "kinds/slurm/slurm_job.h"

#include "kinds/kind/cause.h"
#include "model/index_set.h"

static void validate_array(const json_t *array, const struct path *at, struct causes *causes)
{
    const char *text = json_text(array, "indexes");
    AUTO(index_set_done) struct index_set indexes = {0};
    AUTO(err_freep) struct err *e = NULL;

    if (!text)
        return; /* absent, or the schema reports it */
    e = index_set_parse(str_of(text), SLURM_ARRAY_MAX, &indexes);
    if (e)
        cause_invalid(causes, PATH(at, "indexes"), text, err_message(e));
    else if (indexes.count == 0)
        cause_required(causes, PATH(at, "indexes"), "an array has at least one element");
}

static void validate_memory(const json_t *spec, const struct path *at, struct causes *causes)
{
    static const char *const keys[] = {"memoryPerNode", "memoryPerCpu", "memoryPerGpu"};
    size_t n = 0;

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        n += json_object_get(spec, keys[i]) != NULL;
    if (n > 1)
        cause_forbidden(causes, PATH(at, keys[0]),
                        "only one of memoryPerNode, memoryPerCpu and memoryPerGpu may be set");
}

static void validate_trigger(const json_t *spec, const struct path *at, struct causes *causes)
{
    const json_t *trigger = json_object_get(spec, "trigger");
    const char *event = text_or_empty(json_text(trigger, "event"));
    bool is_of_job = text_equal(event, "fini") || text_equal(event, "time");
    const char *nodes = json_text_filled(trigger, "nodes");
    bool has_job = json_int(trigger, "jobId", 0) > 0;

    if (!trigger)
        return;
    if (is_of_job != has_job || is_of_job == (nodes != NULL))
        cause_invalid(causes, PATH(PATH(at, "trigger"), "event"), event,
                      "fini and time want jobId alone, down and up want nodes alone");
    if (json_object_get(spec, "array") || json_object_get(spec, "components") ||
        json_object_get(spec, "container"))
        cause_forbidden(causes, PATH(at, "trigger"),
                        "a trigger is no array, no heterogeneous job and has no container");
}

bool slurm_job_is_request(const char *key)
{
    static const char *const keys[] = {
        "account",      "constraint",   "cpusMin",      "cpusPerGpu",     "cpusPerTask",
        "excludeNodes", "exclusive",    "gpus",         "gpusPerNode",    "gpusPerTask",
        "gres",         "licenses",     "memoryPerCpu", "memoryPerGpu",   "memoryPerNode",
        "nodeList",     "nodesMax",     "nodesMin",     "openMode",       "overcommit",
        "partition",    "prefer",       "qos",          "reservation",    "stderr",
        "spread",       "stdin",        "stdout",       "switches",       "switchesWait",
        "tasks",        "tasksPerNode", "tasksPerGpu",  "timeMinMinutes", "tmpPerNode",
        "workDir"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (text_equal(key, keys[i]))
            return true;
    return false;
}

/* The receiver is an argument of MailProg, where some characters mean files and commands. */
static bool is_receiver(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "._%+@,-=";

    return *text && !strchr("-.%+@,=", *text) && strspn(text, allowed) == strlen(text);
}

static void validate_mail(const json_t *spec, const struct path *at, struct causes *causes)
{
    static const char *const types[] = {"NONE",           "BEGIN",      "END",
                                        "FAIL",           "REQUEUE",    "ALL",
                                        "INVALID_DEPEND", "TIME_LIMIT", "ARRAY_TASKS"};
    struct str rest = str_of(json_text(spec, "mailType"));
    const char *user = json_text(spec, "mailUser");

    while (rest.at) {
        struct str type = str_cut(&rest, ',');
        bool is_known = false;

        for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
            is_known = is_known || str_equal(type, str_of(types[i]));
        if (!is_known)
            cause_invalid(causes, PATH(at, "mailType"), json_text(spec, "mailType"),
                          "want BEGIN, END, FAIL, REQUEUE, INVALID_DEPEND, TIME_LIMIT, ALL, "
                          "ARRAY_TASKS, with commas");
    }
    if (user && *user && !is_receiver(user))
        cause_invalid(causes, PATH(at, "mailUser"), user,
                      "want the name of a user or an address, such as ann@example.com");
}

static void validate_contiguous(const json_t *spec, const struct path *at, struct causes *causes)
{
    static const char *const others[] = {"nodeList", "excludeNodes", "constraint", "components"};

    for (size_t i = 0; json_bool(spec, "contiguous", false) && i < COUNT(others); i++)
        if (json_object_get(spec, others[i]))
            cause_forbidden(causes, PATH(at, others[i]), "is not available with contiguous nodes");
}

void slurm_job_validate(const json_t *spec, const struct path *at, struct causes *causes)
{
    const char *work_dir = json_text(spec, "workDir");

    validate_array(json_object_get(spec, "array"), PATH(at, "array"), causes);
    validate_memory(spec, at, causes);
    validate_mail(spec, at, causes);
    validate_trigger(spec, at, causes);
    validate_contiguous(spec, at, causes);
    if (work_dir && *work_dir != '/')
        cause_invalid(causes, PATH(at, "workDir"), work_dir, "must be an absolute path");
}
