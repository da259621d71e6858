/* update.c - changes by scontrol */

#include "slurm/update.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "model/index_set.h"
#include "model/slurm_amount.h"
#include "model/slurm_time.h"
#include "slurm/submit_options.h"

/* A patch at the version of the object. */
static json_t *patch_new(const json_t *object)
{
    json_t *patch = json_object();

    json_put_text(json_object_at(patch, "metadata"), "resourceVersion",
                  json_text_at(object, "metadata", "resourceVersion", NULL));
    (void)json_object_at(patch, "spec");
    return patch;
}

/* The elements of `before` with, or without, those of `elements`. */
static struct err *elements_change(const char *before, const char *elements, bool is_added,
                                   char **ret)
{
    AUTO(index_set_done) struct index_set set = {0};
    AUTO(index_set_done) struct index_set change = {0};

    TRY(index_set_parse(str_of(text_or_empty(before)), INDEX_SET_MAX, &set));
    TRY(index_set_parse(str_of(elements), INDEX_SET_MAX, &change));
    for (size_t i = 0; i < change.n_words * 64; i++) {
        if (!index_set_has(&change, i))
            continue;
        if (is_added)
            (void)index_set_add(&set, i); /* the set may have it */
        else
            index_set_remove(&set, i);
    }
    *ret = index_set_format(&set);
    return NULL;
}

struct err *slurm_hold_patch(const json_t *job, const char *elements, const char *hold,
                             json_t **ret)
{
    AUTO(json_freep) json_t *patch = patch_new(job);
    json_t *spec = json_object_at(patch, "spec");
    AUTO_FREE char *held = NULL;

    if (text_equal(elements, "*")) {
        json_put_text(spec, "hold", hold ? hold : "none");
        if (!hold)
            json_put(spec, "heldIndexes", json_null());
    } else {
        TRY(elements_change(json_text_at(job, "spec", "heldIndexes", NULL), elements, hold != NULL,
                            &held));
        json_put(spec, "heldIndexes", *held ? json_string(held) : json_null());
    }
    *ret = TAKE(patch);
    return NULL;
}

struct err *slurm_suspend_patch(const json_t *job, const char *elements, bool is_suspended,
                                json_t **ret)
{
    const char *before = json_text_at(job, "spec", "suspended", NULL);
    AUTO(json_freep) json_t *patch = patch_new(job);
    AUTO_FREE char *set = NULL;

    /* Of a whole array, what runs now is meant. */
    if (text_equal(elements, "*") && json_at(job, "spec", "array", NULL))
        elements = is_suspended ? text_or_empty(json_text_at(job, "status", "running", NULL))
                                : text_or_empty(before);
    if (text_equal(elements, "*"))
        set = mem_strdup(is_suspended ? "*" : "");
    else
        TRY(elements_change(before, elements, is_suspended, &set));
    json_put(json_object_at(patch, "spec"), "suspended", *set ? json_string(set) : json_null());
    *ret = TAKE(patch);
    return NULL;
}

struct err *slurm_requeue_patch(const json_t *job, const char *elements, const char *hold,
                                json_t **ret)
{
    const json_t *before = json_at(job, "spec", "requeues", NULL);
    AUTO(index_set_done) struct index_set set = {0};
    json_t *requeues;
    json_t *patch;

    if (hold)
        TRY(slurm_hold_patch(job, elements, hold, &patch));
    else
        patch = patch_new(job);
    *ret = patch;
    requeues = json_object_at(json_object_at(patch, "spec"), "requeues");
    if (text_equal(elements, "*")) {
        json_put_int(requeues, "*", json_int(before, "*", 0) + 1);
        return NULL;
    }
    TRY(index_set_parse(str_of(elements), INDEX_SET_MAX, &set));
    for (size_t i = 0; i < set.n_words * 64; i++) {
        char key[24];

        if (!index_set_has(&set, i))
            continue;
        (void)snprintf(key, sizeof(key), "%zu", i);
        json_put_int(requeues, key, json_int(before, key, 0) + 1);
    }
    return NULL;
}

/* ---- update ---- */

enum update_type {
    UPDATE_TEXT,
    UPDATE_NUMBER,
    UPDATE_MINUTES,
    UPDATE_MOMENT,
    UPDATE_BOOL,
    UPDATE_THROTTLE,
    UPDATE_MEMORY,
    UPDATE_NODES,
    UPDATE_SHARED,
    UPDATE_SWITCHES,
    UPDATE_PRIORITY,
    UPDATE_END
};

static const struct {
    const char *name;
    const char *key;
    enum update_type type;
} update_keys[] = {
    {"Account", "account", UPDATE_TEXT},
    {"ArrayTaskThrottle", "limit", UPDATE_THROTTLE},
    {"Comment", "comment", UPDATE_TEXT},
    {"Deadline", "deadline", UPDATE_MOMENT},
    {"CPUsPerTask", "cpusPerTask", UPDATE_NUMBER},
    {"Dependency", "dependency", UPDATE_TEXT},
    {"EligibleTime", "beginTime", UPDATE_MOMENT},
    {"EndTime", "timeLimitMinutes", UPDATE_END},
    {"ExcNodeList", "excludeNodes", UPDATE_TEXT},
    {"Features", "constraint", UPDATE_TEXT},
    {"Gres", "gres", UPDATE_TEXT},
    {"JobName", "name", UPDATE_TEXT},
    {"Licenses", "licenses", UPDATE_TEXT},
    {"MinCPUsNode", "cpusMin", UPDATE_NUMBER},
    {"MinMemoryCPU", "memoryPerCpu", UPDATE_MEMORY},
    {"MinMemoryNode", "memoryPerNode", UPDATE_MEMORY},
    {"MinTmpDiskNode", "tmpPerNode", UPDATE_MEMORY},
    {"Name", "name", UPDATE_TEXT},
    {"Nice", "nice", UPDATE_NUMBER},
    {"NodeList", "nodeList", UPDATE_TEXT},
    {"NumNodes", NULL, UPDATE_NODES},
    {"NumTasks", "tasks", UPDATE_NUMBER},
    {"OverSubscribe", "exclusive", UPDATE_SHARED},
    {"Partition", "partition", UPDATE_TEXT},
    {"Prefer", "prefer", UPDATE_TEXT},
    {"Priority", "priority", UPDATE_PRIORITY},
    {"QOS", "qos", UPDATE_TEXT},
    {"ReqNodeList", "nodeList", UPDATE_TEXT},
    {"ReqNodes", NULL, UPDATE_NODES},
    {"ReqProcs", "tasks", UPDATE_NUMBER},
    {"Requeue", "requeue", UPDATE_BOOL},
    {"ReservationName", "reservation", UPDATE_TEXT},
    {"Shared", "exclusive", UPDATE_SHARED},
    {"StartTime", "beginTime", UPDATE_MOMENT},
    {"StdErr", "stderr", UPDATE_TEXT},
    {"StdIn", "stdin", UPDATE_TEXT},
    {"StdOut", "stdout", UPDATE_TEXT},
    {"Switches", "switches", UPDATE_SWITCHES},
    {"TasksPerNode", "tasksPerNode", UPDATE_NUMBER},
    {"TimeLimit", "timeLimitMinutes", UPDATE_MINUTES},
    {"TimeMin", "timeMinMinutes", UPDATE_MINUTES},
    {"TresPerNode", "gres", UPDATE_TEXT},
    {"WCKey", "wckey", UPDATE_TEXT},
    {"WorkDir", "workDir", UPDATE_TEXT},
};

/* "90", "+30", "-10": a limit, or a change of the job's limit. */
static struct err *update_minutes(const json_t *job, const char *key, const char *value,
                                  json_t *spec)
{
    int64_t now = json_int(json_object_get(job, "spec"), key, 0);
    bool is_change = *value == '+' || (*value == '-' && !text_equal(value, "-1"));
    int64_t minutes = 0;

    TRY(slurm_minutes_parse(str_of(value + (is_change ? 1 : 0)), &minutes));
    if (is_change)
        minutes = *value == '+' ? now + minutes : now - minutes;
    if (is_change && minutes <= 0)
        return err_new(ERR_INVALID, "Invalid TimeLimit value");
    json_put_int(spec, key, minutes > 0 ? minutes : 0);
    return NULL;
}

static struct err *update_moment(const char *key, const char *value, int64_t now_s, zone_fn zone,
                                 json_t *spec)
{
    char stamp[STAMP_TEXT_SIZE];
    int64_t at_s = 0;

    TRY(slurm_moment_parse(str_of(value), now_s, zone, true, &at_s));
    stamp_format(at_s * NS_PER_SEC, stamp);
    json_put_text(spec, key, stamp);
    return NULL;
}

/* "16G": of the three requests for memory one remains. */
static struct err *update_memory(const char *key, const char *value, json_t *spec)
{
    static const char *const kinds[] = {"memoryPerNode", "memoryPerCpu", "memoryPerGpu"};
    AUTO_FREE char *text = NULL;
    int64_t mib = 0;

    TRY(slurm_memory_parse(str_of(value), &mib));
    text = mem_format("%" PRId64 "Mi", mib);
    for (size_t i = 0; i < COUNT(kinds) && text_starts_with(key, "memory"); i++)
        json_put(spec, kinds[i], json_null());
    json_put_text(spec, key, text);
    return NULL;
}

/* "2" or "1-3" */
static struct err *update_nodes(const char *value, json_t *spec)
{
    struct str most = str_of(value);
    struct str least = str_cut(&most, '-');
    int64_t first = 0;
    int64_t last = 0;

    TRY(num_parse_int64(least, 1, INT32_MAX, &first));
    last = first;
    if (most.at)
        TRY(num_parse_int64(most, first, INT32_MAX, &last));
    json_put_int(spec, "nodesMin", first);
    json_put_int(spec, "nodesMax", last);
    return NULL;
}

/* "YES", "NO": a job that does not share has its nodes alone. */
static struct err *update_shared(const char *key, const char *value, json_t *spec)
{
    bool is_yes =
        strcasecmp(value, "YES") == 0 || strcasecmp(value, "OK") == 0 || text_equal(value, "1");

    if (!is_yes && strcasecmp(value, "NO") != 0 && !text_equal(value, "0"))
        return err_new(ERR_INVALID, "want YES or NO");
    json_put(spec, key, is_yes ? json_null() : json_true());
    return NULL;
}

/* 0 holds the job; "INFINITE" gives it back to its factors. */
static struct err *update_priority(const char *key, const char *value, json_t *spec)
{
    int64_t n = 0;

    if (strcasecmp(value, "INFINITE") == 0 || text_equal(value, "-1")) {
        json_put(spec, key, json_null());
        json_put_text(spec, "hold", "none");
        return NULL;
    }
    TRY(num_parse_int64(str_of(value), 0, UINT32_MAX - 1, &n));
    if (n == 0)
        json_put_text(spec, "hold", "user");
    else
        json_put_int(spec, key, n);
    return NULL;
}

/* The limit with which the job that runs ends at this time. */
static struct err *update_end(const json_t *job, const char *key, const char *value, int64_t now_s,
                              zone_fn zone, json_t *spec)
{
    int64_t started_ns = stamp_or(json_text_at(job, "status", "startTime", NULL), 0);
    int64_t at_s = 0;
    int64_t minutes;

    TRY(slurm_moment_parse(str_of(value), now_s, zone, true, &at_s));
    minutes = (at_s - started_ns / NS_PER_SEC + 59) / 60;
    if (started_ns == 0)
        return err_new(ERR_INVALID, "the job has not started: want TimeLimit");
    if (at_s < now_s || minutes < 1)
        return err_new(ERR_INVALID, "Invalid EndTime value");
    json_put_int(spec, key, minutes);
    return NULL;
}

static struct err *update_one(const json_t *job, size_t i, const char *value, int64_t now_s,
                              zone_fn zone, json_t *spec)
{
    const char *key = update_keys[i].key;
    int64_t n = 0;

    switch (update_keys[i].type) {
    case UPDATE_TEXT:
        json_put(spec, key, *value ? json_string(value) : json_null());
        return NULL;
    case UPDATE_MINUTES:
        return update_minutes(job, key, value, spec);
    case UPDATE_MOMENT:
        return update_moment(key, value, now_s, zone, spec);
    case UPDATE_MEMORY:
        return update_memory(key, value, spec);
    case UPDATE_NODES:
        return update_nodes(value, spec);
    case UPDATE_SHARED:
        return update_shared(key, value, spec);
    case UPDATE_SWITCHES:
        return slurm_switches_read(str_of(value), spec);
    case UPDATE_PRIORITY:
        return update_priority(key, value, spec);
    case UPDATE_END:
        return update_end(job, key, value, now_s, zone, spec);
    case UPDATE_NUMBER:
    case UPDATE_BOOL:
    case UPDATE_THROTTLE:
        break;
    }
    TRY(num_parse_int64(str_of(value), INT32_MIN, INT32_MAX, &n));
    if (update_keys[i].type == UPDATE_BOOL)
        json_put_bool(spec, key, n != 0);
    else if (update_keys[i].type == UPDATE_THROTTLE)
        json_put_int(json_object_at(spec, "array"), key, n);
    else
        json_put_int(spec, key, n);
    return NULL;
}

struct err *slurm_update_patch(const json_t *job, const struct slurm_update *updates, size_t n,
                               int64_t now_s, zone_fn zone, json_t **ret)
{
    AUTO(json_freep) json_t *patch = patch_new(job);
    json_t *spec = json_object_at(patch, "spec");

    for (size_t u = 0; u < n; u++) {
        bool is_known = false;

        for (size_t i = 0; i < COUNT(update_keys) && !is_known; i++) {
            struct err *e;

            if (strcasecmp(update_keys[i].name, updates[u].key) != 0)
                continue;
            is_known = true;
            e = update_one(job, i, updates[u].value, now_s, zone, spec);
            if (e)
                return err_wrap(e, "%s=%s", updates[u].key, updates[u].value);
        }
        if (!is_known)
            return err_new(ERR_INVALID,
                           "Update of this parameter is not supported: %s=%s\nRequest aborted",
                           updates[u].key, updates[u].value);
    }
    *ret = TAKE(patch);
    return NULL;
}

struct err *slurm_node_patch(const struct slurm_update *updates, size_t n, json_t **ret)
{
    json_t *patch = json_object();
    json_t *annotations = json_object_at(json_object_at(patch, "metadata"), "annotations");
    const char *state = NULL;
    const char *reason = NULL;

    *ret = patch;
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(updates[i].key, "State") == 0)
            state = updates[i].value;
        else if (strcasecmp(updates[i].key, "Reason") == 0)
            reason = updates[i].value;
        else
            return err_new(ERR_INVALID,
                           "Update of this parameter is not supported: %s=%s\nRequest aborted",
                           updates[i].key, updates[i].value);
    if (state && (strcasecmp(state, "RESUME") == 0 || strcasecmp(state, "UNDRAIN") == 0)) {
        json_put(annotations, "mete.dev/drain-reason", json_null());
        json_put(json_object_at(patch, "spec"), "unschedulable", json_null());
        return NULL;
    }
    if (!state || strcasecmp(state, "DRAIN") != 0)
        return err_new(ERR_INVALID, "Invalid input: %s\nValid states are: DRAIN RESUME UNDRAIN",
                       text_or_empty(state));
    if (!reason || !*reason)
        return err_new(ERR_INVALID, "You must specify a reason when DOWNING or DRAINING a node. "
                                    "Request denied");
    json_put_text(annotations, "mete.dev/drain-reason", reason);
    json_put_bool(json_object_at(patch, "spec"), "unschedulable", true);
    return NULL;
}
