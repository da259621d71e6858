/* slurm_report_jobs.c - rows of SlurmJobs: waiting elements as one row, all others each */
#include <inttypes.h>

#include "control/slurm/slurm_report_private.h"
#include "kinds/pod/pod_state.h"
#include "kinds/slurm/slurm_hide.h"
#include "kinds/slurm/slurm_rows.h"
#include "model/hostlist.h"
#include "model/quantity.h"

/* The job of a row, or its component. */
struct row_job {
    const struct sjob *j;
    const json_t *spec; /* of the job with the component alone */
    size_t component;
    const struct slurm_filter *filter;
    json_t *rows;
};

/* What differs between the rows of a job. */
struct element_row {
    enum sjob_state state;
    int64_t index;       /* -1: not one element */
    const char *indexes; /* waiting elements; NULL: another row */
    const struct sjob_pod *pod;
    const struct sjob_past *past;
    const char *reason;
    const char *message;
    const struct sjob_pod *first; /* of waiting elements: the pod that waits first; NULL: none */
};

void slurm_put_seconds(json_t *row, const char *key, int64_t ns)
{
    if (ns > 0)
        json_put_int(row, key, ns / NS_PER_SEC);
}

void slurm_put_ask(json_t *row, const struct slurm_ask *ask, bool is_placed)
{
    AUTO_FREE char *tres = slurm_ask_tres(ask);
    AUTO_FREE char *gres = slurm_ask_gres(ask);

    json_put_int(row, "nodeCount", ask->nodes);
    json_put_int(row, "nodesMin", ask->nodes);
    json_put_int(row, "cpus", ask->cpus * ask->nodes);
    json_put_int(row, "tasks", ask->tasks);
    json_put_int(row, "cpusMin", ask->cpus);
    if (ask->memory_bytes > 0)
        json_put_int(row, "memoryPerNode", ask->memory_bytes >> 20);
    if (ask->tmp_bytes > 0)
        json_put_int(row, "tmpDisk", ask->tmp_bytes >> 20);
    json_put_text(row, "tresRequested", tres);
    if (is_placed)
        json_put_text(row, "tresAllocated", tres);
    if (gres)
        json_put_text(row, "tresPerNode", gres);
    json_put_bool(row, "exclusive", ask->is_exclusive);
}

static const char *word_of(enum mete_reason_code code)
{
    switch (code) {
    case METE_REASON_NEVER_FITS:
    case METE_REASON_NO_SUCH_QUEUE:
        return "BadConstraints";
    case METE_REASON_NOT_ALLOWED:
        return "AccountNotAllowed";
    case METE_REASON_OVER_MAX:
    case METE_REASON_QUOTA:
        return "AssociationResourceLimit";
    case METE_REASON_USER_LIMIT:
        return "QOSMaxGRESPerUser";
    case METE_REASON_HELD_BY_YOU:
        return "JobHeldUser";
    case METE_REASON_HELD_BY_ADMIN:
        return "JobHeldAdmin";
    case METE_REASON_NOT_BEFORE:
        return "BeginTime";
    case METE_REASON_QUEUE_STOPPED:
        return "PartitionDown";
    case METE_REASON_GPUS_UNHEALTHY:
    case METE_REASON_NODES_DRAINING:
        return "ReqNodeNotAvail";
    case METE_REASON_RESERVED:
    case METE_REASON_HIGHER_PRIORITY:
    case METE_REASON_SCHEDULING_GATED:
        return "Priority";
    case METE_REASON_NO_NODE_FITS:
    case METE_REASON_TOPOLOGY_SPLIT:
    case METE_REASON_FRAGMENTED:
    case METE_REASON_PREEMPTING:
        return "Resources";
    case METE_REASON_NONE:
    case METE_REASON_NOT_YET_EVALUATED:
        break;
    }
    return "None";
}

const char *slurm_pod_reason(const struct slurm_jobs *s, const char *key, const char *uid,
                             char **ret_message)
{
    struct mete_reason r = {0};

    *ret_message = NULL;
    if (!s->options.scheduler || !scheduler_why(s->options.scheduler, key, uid, true, &r))
        return "None";
    if (r.message && *r.message)
        *ret_message = mem_strdup(r.message);
    return word_of(r.code);
}

/* Script and environment are for the job's user and administrators. */
static bool shows_details(const struct slurm_filter *f, const struct sjob *j)
{
    return f->is_detailed && (f->is_admin || !slurm_is_of_another(j->object, f->reader));
}

static void put_copied(json_t *row, const json_t *spec, bool is_detailed)
{
    static const char *const copied[] = {
        "name",         "account",  "qos",         "wckey",        "comment",  "reservation",
        "constraint",   "licenses", "nodeList",    "excludeNodes", "command",  "workDir",
        "submitHost",   "nice",     "cpusPerTask", "tasksPerNode", "nodesMax", "switches",
        "switchesWait", "trigger",  "contiguous"};
    static const char *const detailed[] = {"submitLine", "script", "environment"};

    for (size_t i = 0; i < COUNT(copied); i++)
        if (json_object_get(spec, copied[i]))
            json_put(row, copied[i], json_incref(json_object_get(spec, copied[i])));
    for (size_t i = 0; is_detailed && i < COUNT(detailed); i++)
        if (json_object_get(spec, detailed[i]))
            json_put(row, detailed[i], json_incref(json_object_get(spec, detailed[i])));
}

/* Sets "gres/gpu:h100:2" for gpus "h100:2". */
static void put_gpus(json_t *row, const char *to, const json_t *spec, const char *from)
{
    const char *gpus = json_text_filled(spec, from);
    AUTO_FREE char *text = gpus ? mem_format("gres/gpu:%s", gpus) : NULL;

    if (text)
        json_put_text(row, to, text);
}

static int64_t mebibytes_of(const json_t *spec, const char *key)
{
    const char *text = json_text_filled(spec, key);
    struct quantity q = {0};
    AUTO(err_freep) struct err *e = text ? quantity_parse(str_of(text), &q) : NULL;

    return text && !e ? quantity_units(q) >> 20 : 0;
}

/* Sets what the job asks for by the cpu, the gpu, the task, and for all of its nodes. */
static void put_parts(json_t *row, const json_t *spec)
{
    int64_t per_cpu = mebibytes_of(spec, "memoryPerCpu");
    int64_t per_gpu = mebibytes_of(spec, "memoryPerGpu");
    int64_t cpus = json_int(spec, "cpusPerTask", 1) * json_int(spec, "tasksPerNode", 1);
    int64_t least = json_int(spec, "cpusMin", 0);
    AUTO_FREE char *memory = mem_format("gres/gpu:%" PRId64, per_gpu);

    json_put_int(row, "cpusMin", cpus > least ? cpus : least);
    if (per_cpu > 0)
        json_put_int(row, "memoryPerCpu", per_cpu);
    if (per_gpu > 0)
        json_put_text(row, "memoryPerTres", memory);
    put_gpus(row, "tresPerJob", spec, "gpus");
    put_gpus(row, "tresPerTask", spec, "gpusPerTask");
    if ((json_text_filled(spec, "gpus") || json_text_filled(spec, "gpusPerTask")) &&
        !json_text_filled(spec, "gpusPerNode") && !json_text_filled(spec, "gres"))
        json_put_text(row, "tresPerNode", NULL);
}

static void put_user(json_t *row, const struct sjob *j)
{
    static const char *const from[] = {"name", "uid", "group", "gid"};
    static const char *const to[] = {"user", "uid", "group", "gid"};
    const json_t *user = json_at(j->object, "spec", "user", NULL);

    for (size_t i = 0; i < COUNT(from); i++)
        if (json_object_get(user, from[i]))
            json_put(row, to[i], json_incref(json_object_get(user, from[i])));
}

static void put_dependency(json_t *row, const struct sjob *j)
{
    AUTO(buf_done) struct buf out = {0};
    const char *decided = json_text_at(j->status, "records", "dependency", NULL);
    const char *state = text_equal(decided, "never") ? "failed" : "unfulfilled";

    if (j->dependency.items.n == 0 || text_equal(decided, "holds") || j->is_over)
        return;
    VEC_EACH (&j->dependency.items, item) {
        if (out.size > 0)
            buf_add_char(&out, j->dependency.is_any ? '?' : ',');
        slurm_dependency_format_item(item, &out);
        buf_printf(&out, "(%s)", state);
    }
    json_put_text(row, "dependency", out.at);
}

static const char *state_word(const struct element_row *e)
{
    return e->state == SJOB_RUNNING && e->pod && e->pod->suspended_at_ns > 0
               ? "SUSPENDED"
               : sjob_state_names[e->state];
}

static void put_suspension_times(json_t *row, const struct sjob_pod *p)
{
    slurm_put_seconds(row, "suspendTime", p->suspended_at_ns);
    if (p->suspended_s > 0)
        json_put_int(row, "suspendedSeconds", p->suspended_s);
}

/* A suspended job has no end by its limit. */
static void put_limit_end(json_t *row, const struct sjob_pod *p, int64_t started_ns,
                          int64_t limit_s)
{
    if (!p || p->suspended_at_ns == 0)
        slurm_put_seconds(row, "endTime",
                          started_ns + (limit_s + (p ? p->suspended_s : 0)) * NS_PER_SEC);
}

static void put_times(json_t *row, const struct sjob *j, const struct element_row *e)
{
    const json_t *spec = json_object_get(j->object, "spec");
    const json_t *metadata = json_object_get(j->object, "metadata");
    int64_t minutes = json_int(spec, "timeLimitMinutes", 0);
    int64_t began_ns = stamp_or(json_text(spec, "beginTime"), 0);
    int64_t submitted_ns = stamp_or(json_text(metadata, "creationTimestamp"), 0);
    int64_t started_ns = e->past ? e->past->end.started_ns : e->pod ? e->pod->end.started_ns : 0;

    slurm_put_seconds(row, "submitTime", submitted_ns);
    slurm_put_seconds(row, "eligibleTime", j->eligible_ns > 0 ? j->eligible_ns : began_ns);
    slurm_put_seconds(row, "deadline", stamp_or(json_text(spec, "deadline"), 0));
    json_put_int(row, "timeLimit", minutes > 0 ? minutes : -1);
    if (json_object_get(spec, "timeMinMinutes"))
        json_put_int(row, "timeMin", json_int(spec, "timeMinMinutes", 0));
    slurm_put_seconds(row, "startTime", started_ns);
    if (!started_ns && e->state == SJOB_PENDING && began_ns > submitted_ns) {
        slurm_put_seconds(row, "startTime", began_ns);
        slurm_put_seconds(row, "endTime", minutes > 0 ? began_ns + minutes * 60 * NS_PER_SEC : 0);
    }
    if (e->pod)
        put_suspension_times(row, e->pod);
    if (e->past)
        slurm_put_seconds(row, "endTime", e->past->end.ended_ns);
    else if (started_ns && minutes > 0)
        put_limit_end(row, e->pod, started_ns, minutes * 60);
}

/* The number of the row's element or component. */
static int64_t row_number(const struct row_job *r, const struct element_row *e)
{
    const struct sjob *j = r->j;

    return (e->index >= 0 ? sjob_element_id(j, (size_t)e->index) : j->id) + (int64_t)r->component;
}

static void put_het(json_t *row, const struct row_job *r)
{
    if (r->j->het.n == 1)
        return;
    json_put_int(row, "hetJobId", r->j->id);
    json_put_int(row, "hetJobOffset", (int64_t)r->component);
    json_put_int(row, "hetJobSize", (int64_t)r->j->het.n);
}

static void put_identity(json_t *row, const struct row_job *r, const struct element_row *e,
                         const char *node)
{
    const struct sjob *j = r->j;
    AUTO_FREE char *object = mem_format("%s/%s", j->ns, j->name);
    AUTO_FREE char *partition = slurm_partition_on(j->jobs, json_text(r->spec, "partition"), node);

    json_put_int(row, "jobId", row_number(r, e));
    put_het(row, r);
    if (j->is_array) {
        json_put_int(row, "arrayJobId", j->id);
        json_put_int(row, "arrayTaskLimit", json_int_at(j->object, "spec", "array", "limit", NULL));
        json_put_int(row, "arrayMax", j->indexes.last);
    }
    if (e->indexes)
        json_put_text(row, "arrayTaskId", e->indexes);
    else if (j->is_array)
        json_put_int(row, "arrayTaskId", e->index);
    json_put_text(row, "object", object);
    json_put_text(row, "namespace", j->ns);
    json_put_text(row, "partition", partition);
    if (e->pod)
        json_put_text(row, "pod", e->pod->name);
}

static void put_files(json_t *row, const struct sjob *j, const struct element_row *e)
{
    const char *host = json_text(row, "batchHost");
    AUTO_FREE char *name = host ? mem_strndup(host, strcspn(host, ".")) : NULL;
    const struct slurm_element element = {
        .job = j->object,
        .index = j->is_array ? e->index : -1,
        .raw_id = e->index >= 0 ? sjob_element_id(j, (size_t)e->index) : j->id,
        .restarts = e->pod    ? e->pod->restarts
                    : e->past ? e->past->restarts
                              : 0,
        .host = name,
    };
    AUTO_FREE char *in = slurm_stdin_path(&element);
    AUTO_FREE char *out = slurm_stdout_path(&element);
    AUTO_FREE char *err = slurm_stderr_path(&element);

    json_put_text(row, "stdin", in);
    json_put_text(row, "stdout", out);
    json_put_text(row, "stderr", err);
}

static const char *end_word(enum sjob_state state)
{
    switch (state) {
    case SJOB_FAILED:
        return "NonZeroExitCode";
    case SJOB_TIMEOUT:
        return "TimeLimit";
    case SJOB_NODE_FAIL:
        return "NodeDown";
    case SJOB_DEADLINE:
        return "DeadLine";
    case SJOB_OUT_OF_MEMORY:
        return "OutOfMemory";
    case SJOB_PENDING:
    case SJOB_RUNNING:
    case SJOB_COMPLETED:
    case SJOB_CANCELLED:
    case SJOB_PREEMPTED:
    case SJOB_STATES:
        break;
    }
    return "None";
}

/* The nodes of the job, or of the component. The caller frees them; NULL: none. */
static char *row_nodes(const struct row_job *r, const struct element_row *e)
{
    const char *nodes = e->past ? e->past->node : e->pod ? sjob_pod_nodes(e->pod) : NULL;

    return sjob_component_nodes(r->j, r->component, nodes);
}

/* The first node of the list runs the script. */
static void put_nodes(json_t *row, const char *nodes)
{
    struct hostlist names = {0};
    AUTO(err_freep)
    struct err *e = nodes ? hostlist_parse(str_of(nodes), HOSTLIST_MAX, &names) : NULL;

    if (nodes && !e && names.names.n > 0) {
        json_put_text(row, "nodes", nodes);
        json_put_text(row, "batchHost", names.names.at[0]);
    }
    hostlist_done(&names);
}

/* 0: held; 1: without weights all are equal. */
static int64_t priority_of(const struct sjob *j, const struct element_row *e, bool is_held)
{
    const struct slurm_fair *fair = j->jobs->options.fair;
    const struct sjob_pod *p = e->pod ? e->pod : e->first;
    uint32_t priority = fair && p ? slurm_fair_priority(fair, p->key) : 0;

    return is_held ? 0 : priority > 0 ? priority : 1;
}

static void put_state(json_t *row, const struct sjob *j, const struct element_row *e)
{
    bool is_held = text_equal(e->reason, "JobHeldUser") || text_equal(e->reason, "JobHeldAdmin");

    json_put_text(row, "state", state_word(e));
    json_put_text(row, "reason", e->reason ? e->reason : end_word(e->state));
    json_put_text(row, "message", e->message);
    json_put_int(row, "priority", priority_of(j, e, is_held));
    json_put_int(row, "restarts",
                 e->pod    ? e->pod->restarts
                 : e->past ? e->past->restarts
                           : json_int(j->status, "restarts", 0));
    json_put_bool(row, "requeue", json_bool(json_object_get(j->object, "spec"), "requeue", true));
    json_put_bool(row, "batch", json_at(j->object, "spec", "script", NULL) != NULL);
    json_put_int(row, "exitCode", e->past ? e->past->end.code : 0);
    json_put_int(row, "exitSignal", e->past ? e->past->end.signal : 0);
    slurm_put_derived(j, e->index, row);
    if (e->state == SJOB_CANCELLED && json_at(j->object, "spec", "cancelledBy", NULL))
        json_put_int(row, "cancelledBy", json_int_at(j->object, "spec", "cancelledBy", NULL));
    if (e->pod && e->state == SJOB_RUNNING &&
        (e->pod->is_deleting || (j->ask.nodes > 1 && e->pod->state >= SJOB_COMPLETED)))
        (void)json_array_append_new(json_array_at(row, "flags"), json_string("COMPLETING"));
}

/* Of a job that has its nodes alone: all cpus of them. */
static void put_whole(json_t *row, const struct row_job *r, const struct element_row *e,
                      struct slurm_ask ask)
{
    int64_t cpus = e->pod ? e->pod->cpus : e->past ? e->past->cpus : 0;
    AUTO_FREE char *tres = NULL;

    if (cpus <= ask.cpus || !json_bool(r->spec, "exclusive", false) || r->component > 0)
        return;
    ask.cpus = cpus;
    slurm_ask_bill(&ask, slurm_billing_of(r->j->jobs, r->spec),
                   slurm_is_max_tres(slurm_settings(r->j->jobs)));
    tres = slurm_ask_tres(&ask);
    json_put_int(row, "cpus", cpus * ask.nodes);
    json_put_text(row, "tresAllocated", tres);
}

static void add_row(const struct row_job *r, const struct element_row *e)
{
    const struct sjob *j = r->j;
    int64_t of = j->is_array || j->het.n > 1 ? j->id : 0;
    struct slurm_ask ask = j->het.asks[r->component];
    AUTO_FREE char *nodes = NULL;
    json_t *row;

    if (!slurm_filter_state(r->filter, state_word(e)) ||
        !slurm_filter_id(r->filter, row_number(r, e), of, j->is_array ? e->index : -1))
        return;
    nodes = row_nodes(r, e);
    row = json_object();
    put_copied(row, r->spec, shows_details(r->filter, j));
    put_user(row, j);
    put_nodes(row, nodes);
    put_identity(row, r, e, json_text(row, "batchHost"));
    put_state(row, j, e);
    put_times(row, j, e);
    put_dependency(row, j);
    slurm_ask_bill(&ask, slurm_billing_of(j->jobs, r->spec),
                   slurm_is_max_tres(slurm_settings(j->jobs)));
    slurm_put_ask(row, &ask, e->pod != NULL || (e->past && e->past->node));
    put_whole(row, r, e, ask);
    put_parts(row, r->spec);
    put_files(row, j, e);
    (void)json_array_append_new(r->rows, row); /* a fresh object: cannot fail */
}

/* ---- the rows of a job ---- */

static void add_pods(const struct row_job *r)
{
    const struct sjob *j = r->j;
    struct sjob_pod *p;
    struct sjob_pod *tmp;

    map_each (by_slot, j->pods, p, tmp) {
        const struct element_row e = {
            .state = SJOB_RUNNING, .index = p->index, .pod = p, .reason = "None"};

        if (p->rank == 0 &&
            p->state != SJOB_PENDING) /* an end that is not counted yet still runs */
            add_row(r, &e);
    }
}

static const struct sjob_pod *waiting_pod(const struct sjob *j)
{
    struct sjob_pod *p;
    struct sjob_pod *tmp;

    map_each (by_slot, j->pods, p, tmp)
        if (p->rank == 0 && p->state == SJOB_PENDING && !p->is_outdated)
            return p;
    return NULL;
}

static void add_waiting(const struct row_job *r)
{
    const struct sjob *j = r->j;
    AUTO(index_set_done) struct index_set waiting = {0};
    AUTO_FREE char *indexes = NULL;
    AUTO_FREE char *message = NULL;
    const struct sjob_pod *p = waiting_pod(j);
    const char *closed = sjob_partition_wait(j);
    struct element_row e = {.state = SJOB_PENDING, .index = -1, .reason = j->reason, .first = p};

    for (size_t i = 0; i < j->all.n_words * 64; i++) {
        const struct sjob_pod *own = index_set_has(&j->all, i) ? sjob_find_pod(j, i) : NULL;

        if (index_set_has(&j->all, i) && !sjob_has_ended(j, i) &&
            (!own || own->state == SJOB_PENDING))
            (void)index_set_add(&waiting, i);
    }
    if (waiting.count == 0 || !slurm_filter_state(r->filter, "PENDING"))
        return;
    if (p && closed)
        e.reason = closed;
    else if (p)
        e.reason = slurm_pod_reason(j->jobs, p->key, p->uid, &message);
    else if (!e.reason)
        e.reason = "None";
    if (p && text_equal(e.reason, "Priority") &&
        json_text_filled(json_object_get(j->object, "spec"), "reservation"))
        e.reason = "Reservation";
    e.message = message;
    if (j->is_array) {
        indexes = index_set_format(&waiting);
        e.indexes = indexes;
    }
    add_row(r, &e);
}

/* A job without an array that ended before the server's start: its status says how. */
static void add_known_end(const struct row_job *r)
{
    const struct sjob *j = r->j;
    const char *state = text_or_empty(json_text(j->status, "state"));
    const char *node = json_text(j->status, "nodes");
    struct sjob_past past = {.end = {.code = json_int(j->status, "exitCode", 0),
                                     .signal = json_int(j->status, "exitSignal", 0),
                                     .started_ns = stamp_or(json_text(j->status, "startTime"), 0),
                                     .ended_ns = stamp_or(json_text(j->status, "endTime"), 0)},
                             .restarts = json_int(j->status, "restarts", 0),
                             .cpus = node ? j->ended_cpus : 0};
    AUTO_FREE char *name = node ? mem_strdup(node) : NULL;
    struct element_row e = {.index = 0, .past = &past};

    past.node = name;
    for (int i = SJOB_COMPLETED; i < SJOB_STATES; i++)
        if (text_equal(state, sjob_state_names[i]))
            e.state = (enum sjob_state)i;
    if (e.state >= SJOB_COMPLETED)
        add_row(r, &e);
}

/* Elements of an array that never had a pod, or that ended before the server's start: a row for
 * each state. */
static void add_known_elements(const struct row_job *r)
{
    const struct sjob *j = r->j;
    const struct {
        const struct index_set *set;
        enum sjob_state state;
    } ends[] = {{&j->completed, SJOB_COMPLETED},
                {&j->failed, SJOB_FAILED},
                {&j->cancelled, SJOB_CANCELLED}};
    AUTO(index_set_done) struct index_set told = {0};

    VEC_EACH (&j->past, past)
        (void)index_set_add(&told, (size_t)past->index);
    for (size_t k = 0; k < COUNT(ends); k++) {
        AUTO(index_set_done) struct index_set untold = {0};
        AUTO_FREE char *indexes = NULL;
        struct element_row e = {.state = ends[k].state, .index = -1};

        if (!slurm_filter_state(r->filter, sjob_state_names[e.state]))
            continue;
        for (size_t i = 0; i < ends[k].set->n_words * 64; i++)
            if (index_set_has(ends[k].set, i) && !index_set_has(&told, i))
                (void)index_set_add(&untold, i);
        if (untold.count == 0)
            continue;
        indexes = index_set_format(&untold);
        e.indexes = indexes;
        add_row(r, &e);
    }
}

static void add_rows(const struct row_job *r)
{
    const struct sjob *j = r->j;
    const char *partition = json_text_filled(r->spec, "partition");
    const struct slurm_row_texts texts = {
        .ns = j->ns,
        .user = json_text_at(r->spec, "user", "name", NULL),
        .account = json_text(r->spec, "account"),
        .name = json_text(r->spec, "name"),
        .partition = partition ? partition : slurm_default_partition(j->jobs),
    };

    if (!slurm_filter_texts(r->filter, &texts) || sjob_is_trigger(j) != r->filter->is_of_triggers)
        return;
    add_pods(r);
    add_waiting(r);
    if (!j->is_array && j->is_over) {
        add_known_end(r);
        return;
    }
    if (j->is_array)
        add_known_elements(r);
    VEC_EACH (&j->past, past) {
        const struct element_row e = {.state = past->end.state, .index = past->index, .past = past};

        add_row(r, &e);
    }
}

void slurm_add_job_rows(struct sjob *j, const struct slurm_filter *f, json_t *rows)
{
    for (size_t i = 0; i < j->het.n; i++) {
        AUTO(json_freep) json_t *own = j->het.n > 1 ? sjob_spec(j, i) : NULL;
        const struct row_job r = {.j = j,
                                  .spec = own ? own : json_object_get(j->object, "spec"),
                                  .component = i,
                                  .filter = f,
                                  .rows = rows};

        add_rows(&r);
    }
}
