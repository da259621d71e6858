/* account.c - rows of attempts, and the clock of accounting */

#include "kinds/account/account.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/num.h"
#include "kinds/account/account_private.h"
#include "kinds/object/requeue.h"
#include "kinds/object/txn.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "kinds/queue.h"
#include "kinds/slurm/slurm_job.h"
#include "model/device.h"

/* ---- keys, and the clock that never goes back ---- */

void account_key_before(int64_t to_ns, char ret[ACCOUNT_KEY_SIZE])
{
    (void)snprintf(ret, ACCOUNT_KEY_SIZE, "%0*" PRId64, ACCOUNT_TIME_DIGITS, to_ns);
}

/* Does a row of `r` end at `ns` or later? */
static bool is_after(const struct store *s, const struct store_range *r, int64_t ns)
{
    char key[ACCOUNT_KEY_SIZE];
    struct store_list list = {0};
    AUTO(err_freep) struct err *e = NULL;
    bool is_after;

    account_key_before(ns, key);
    e = store_list(s, r, "", key, 1, 0, &list);
    is_after = !e && list.n > 0;
    if (!e)
        store_list_done(&list);
    return is_after;
}

/* The latest end in a range of rows, by bisection: there are many rows, and no call seeks the last
 * key. */
static int64_t latest_end(const struct store *s, const struct store_range *r)
{
    int64_t low = 0;
    int64_t high = INT64_MAX;

    while (low < high) {
        int64_t middle = high - (high - low) / 2;

        if (is_after(s, r, middle))
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

int64_t account_clock_at_least(struct account_clock *c, int64_t ns)
{
    if (c->last_ns < ns)
        c->last_ns = ns;
    return c->last_ns;
}

int64_t account_now_ns(struct account_clock *c, const struct store *s, const struct loop *l)
{
    const struct store_range rows = account_rows();
    const struct store_range stretches = account_stretches();
    int64_t monotonic_ns = loop_now_ns(l);
    int64_t wall_ns = loop_wall_ns(l);
    int64_t passed_ns = c->is_read ? monotonic_ns - c->monotonic_ns : 0;

    if (!c->is_read) {
        (void)account_clock_at_least(c, latest_end(s, &rows));
        (void)account_clock_at_least(c, latest_end(s, &stretches));
        c->is_read = true;
    }
    c->monotonic_ns = monotonic_ns;
    if (wall_ns >= c->last_ns)
        c->last_ns = wall_ns;
    else
        c->last_ns += passed_ns - passed_ns / 1024;
    return c->last_ns;
}

/* ---- open attempts ---- */

static const char *gpu_model(const json_t *gpus, const char *uuid)
{
    const json_t *gpu;
    size_t i;

    json_array_foreach (gpus, i, gpu) {
        if (text_equal(json_text(gpu, "uuid"), uuid))
            return json_text(gpu, "model");
    }
    return NULL;
}

/* The device's item in the list of an entry; NULL: none. */
static const json_t *find_device(const json_t *list, const char *text)
{
    const json_t *gpu;
    size_t i;

    json_array_foreach (list, i, gpu) {
        const char *device = json_text(gpu, "device");

        if (text_equal(device ? device : json_text(gpu, "uuid"), text))
            return gpu;
    }
    return NULL;
}

/* Adds a device by its text: uuid and model of its gpu, of a part its text and its compute, too. */
static void entry_add_device(json_t *list, const char *text, const json_t *gpus)
{
    struct device d = {0};
    AUTO(err_freep) struct err *e = text ? device_parse(text, &d) : NULL;
    json_t *gpu;

    if (!text || e || find_device(list, text))
        return;
    gpu = json_object();
    json_put_text(gpu, "uuid", d.gpu);
    json_put_text(gpu, "model", gpu_model(gpus, d.gpu));
    if (d.kind != DEVICE_WHOLE) {
        json_put_text(gpu, "device", text);
        json_put_int(gpu, "milli", device_milli(&d));
    }
    (void)json_array_append_new(list, gpu); /* a fresh object: cannot fail */
}

int64_t account_gpu_milli(const json_t *gpu)
{
    int64_t milli = json_int(gpu, "milli", 1000);

    return milli < 0 || milli > 1000 ? 1000 : milli;
}

int64_t account_gpu_from_ns(const struct account_row *row, const json_t *gpu)
{
    int64_t from_ns = json_int(gpu, "fromNs", row->from_ns);

    return from_ns > row->from_ns ? from_ns : row->from_ns;
}

void account_open(json_t *entry, const struct account_begin *b)
{
    json_t *list = json_array();
    const json_t *container;
    const json_t *device;
    size_t i;
    size_t k;

    json_array_foreach (json_object_get(entry, "containers"), i, container) {
        json_array_foreach (json_object_get(container, "gpus"), k, device)
            if (!json_has_text(b->shared, json_string_value(device)))
                entry_add_device(list, json_string_value(device), b->gpus);
    }
    json_put_text(entry, "user", json_text_at(b->pod, "metadata", "annotations", POD_USER, NULL));
    json_put_text(entry, "jobId", json_text_at(b->pod, "metadata", "labels", POD_JOB_ID, NULL));
    json_put_text(entry, "queue", queue_of(b->pod));
    json_put_text(entry, "slurm",
                  json_text_at(b->pod, "metadata", "annotations", SLURM_ACCOUNT_ANNOTATION, NULL));
    json_put_int(entry, "fromNs", b->now_ns);
    json_put_int(entry, "attempt", 0);
    json_put(entry, "gpus", list);
}

void account_move_device(const json_t *from, json_t *to, const char *device, int64_t now_ns)
{
    const json_t *item = find_device(json_object_get(from, "gpus"), device);
    json_t *list = json_array_at(to, "gpus");
    json_t *moved;

    if (!item || find_device(list, device))
        return;
    moved = json_deep_copy(item);
    json_put_int(moved, "fromNs", now_ns);
    (void)json_array_append_new(list, moved); /* a fresh object: cannot fail */
}

/* ---- endings ---- */

static const char *const status_lists[] = {"containerStatuses", "initContainerStatuses"};

static int64_t restarts_of(const json_t *pod)
{
    const json_t *status;
    int64_t sum = 0;
    size_t i;

    for (size_t l = 0; l < 2; l++)
        json_array_foreach (json_at(pod, "status", status_lists[l], NULL), i, status) {
            int64_t n = json_int(status, "restartCount", 0);

            if (n > 0 && __builtin_add_overflow(sum, n, &sum))
                return INT64_MAX;
        }
    return sum;
}

static const json_t *container_status(const json_t *pod, size_t list, const char *name)
{
    const json_t *status;
    size_t i;

    json_array_foreach (json_at(pod, "status", status_lists[list], NULL), i, status) {
        if (text_equal(json_text(status, "name"), name))
            return status;
    }
    return NULL;
}

/* The end of an attempt, and its usage. */
struct ending {
    const char *cause; /* static */
    bool has_code;
    int64_t code;
    int64_t signal;  /* 0: none */
    bool is_certain; /* the pod's status tells of all its containers */
    struct account_usage usage;
};

static const char *cause_of_exit(const json_t *terminated)
{
    if (text_equal(json_text(terminated, "reason"), "OOMKilled"))
        return "OOMKilled";
    return json_int(terminated, "exitCode", 1) == 0 ? "Completed" : "Failed";
}

/* Adds a container's end: the first failure counts, else the first end. */
static void ending_add_exit(struct ending *end, const json_t *terminated)
{
    int64_t code = json_int(terminated, "exitCode", 0);

    if (!json_is_object(terminated))
        return;
    if (!end->has_code || (end->code == 0 && code != 0)) {
        end->has_code = true;
        end->code = code;
        end->signal = json_int(terminated, "signal", 0);
        end->cause = cause_of_exit(terminated);
    }
}

static void ending_add_usage(struct ending *end, const json_t *usage, const char *container,
                             int64_t attempt)
{
    struct account_usage of;
    char key[24];

    (void)snprintf(key, sizeof(key), "%" PRId64, attempt);
    of = account_usage_parse(json_at(usage, "containers", container, key, NULL));
    account_usage_add(&end->usage, &of);
}

/* New reference or NULL. */
static json_t *usage_of(const json_t *pod)
{
    const char *text = json_text_at(pod, "metadata", "annotations", POD_USAGE, NULL);
    AUTO(err_freep) struct err *e = NULL;
    json_t *usage = NULL;

    if (text)
        e = json_parse(str_of(text), &usage);
    return e ? NULL : usage;
}

/* The ending of the containers' attempts that restarts ended between `before` and `after`. */
static struct ending ending_of_restart(const json_t *before, const json_t *after)
{
    struct ending end = {.usage = ACCOUNT_USAGE_UNKNOWN};
    AUTO(json_freep) json_t *usage = usage_of(after);
    const json_t *status;
    size_t i;

    for (size_t l = 0; l < 2; l++)
        json_array_foreach (json_at(after, "status", status_lists[l], NULL), i, status) {
            const char *name = json_text(status, "name");
            int64_t was = json_int(container_status(before, l, name), "restartCount", 0);
            int64_t is = json_int(status, "restartCount", 0);

            if (!name || is <= was)
                continue;
            ending_add_exit(&end, json_at(status, "lastState", "terminated", NULL));
            for (int64_t a = is - was > 16 ? is - 16 : was; a < is; a++)
                ending_add_usage(&end, usage, name, a);
        }
    end.is_certain = end.cause != NULL;
    if (!end.cause)
        end.cause = "Unknown";
    return end;
}

static const char *known_reason(const char *reason)
{
    static const char *const known[] = {"DeadlineExceeded", "Evicted", POD_GPU_LOST, "NodeLost",
                                        "Preempted"};

    for (size_t i = 0; i < COUNT(known); i++) {
        if (text_equal(reason, known[i]))
            return known[i];
    }
    return NULL;
}

static const char *cause_of_pod(const json_t *pod, const struct ending *end)
{
    const char *reason = known_reason(json_text_at(pod, "status", "reason", NULL));
    const json_t *disruption = object_condition(pod, "DisruptionTarget");

    if (!pod)
        return "Unknown";
    if (reason)
        return reason;
    if (text_equal(pod_phase(pod), "Succeeded"))
        return "Completed";
    if (text_equal(json_text(disruption, "status"), "True")) {
        if (text_equal(json_text(disruption, "reason"), POD_PREEMPTED))
            return "Preempted";
        reason = known_reason(json_text(disruption, "reason"));
        return reason ? reason : "Evicted";
    }
    if (pod_is_deleting(pod) || !pod_is_terminal(pod))
        return "Cancelled";
    return text_equal(end->cause, "OOMKilled") ? "OOMKilled" : "Failed";
}

/* An allocation of a Slurm job is ended by its client, who knows how it went. */
static void ending_take_told(struct ending *end, const json_t *pod)
{
    struct str signal =
        str_of(json_text_at(pod, "metadata", "annotations", SLURM_END_ANNOTATION, NULL));
    AUTO(err_freep) struct err *e = NULL;

    if (!signal.at || !text_equal(end->cause, "Cancelled"))
        return;
    e = num_parse_int64(str_cut(&signal, ' '), 0, UINT8_MAX, &end->code);
    if (!e)
        e = num_parse_int64(signal, 0, UINT8_MAX, &end->signal);
    if (!e)
        end->cause = end->code == 0 && end->signal == 0 ? "Completed" : "Failed";
}

/* The ending of each container's last attempt, with the pod's cause. */
static struct ending ending_of_pod(const json_t *pod)
{
    struct ending end = {.usage = ACCOUNT_USAGE_UNKNOWN};
    AUTO(json_freep) json_t *usage = usage_of(pod);
    const json_t *status;
    size_t i;

    for (size_t l = 0; l < 2; l++)
        json_array_foreach (json_at(pod, "status", status_lists[l], NULL), i, status) {
            ending_add_exit(&end, json_at(status, "state", "terminated", NULL));
            if (json_text(status, "name"))
                ending_add_usage(&end, usage, json_text(status, "name"),
                                 json_int(status, "restartCount", 0));
        }
    end.cause = cause_of_pod(pod, &end);
    ending_take_told(&end, pod);
    end.is_certain = !text_equal(end.cause, "NodeLost") && !text_equal(end.cause, "Unknown");
    return end;
}

/* ---- rows ---- */

/* The common part of the rows of a pod's attempts. */
struct subject {
    struct txn *txn;
    const char *ns;
    const char *placement;
    const json_t *entry;
    const json_t *pod; /* NULL: unknown */
};

/* Puts what the pod asked for beside gpus. */
static void put_asks(json_t *row, const json_t *pod)
{
    const struct pod_asks asks = pod ? pod_asks(pod) : (struct pod_asks){0};

    if (asks.cpu_milli > 0)
        json_put_int(row, "cpuAskedMilli", asks.cpu_milli);
    if (asks.memory_bytes > 0)
        json_put_int(row, "memoryAskedBytes", asks.memory_bytes);
}

static void put_wait(json_t *row, int64_t wait_ns)
{
    if (wait_ns >= 0)
        json_put_int(row, "gpuWaitNs", wait_ns);
}

static void put_row(const struct subject *s, int64_t attempt, struct account_span span,
                    const struct ending *end)
{
    const char *uid = json_text(s->entry, "uid");
    AUTO(json_freep) json_t *row = json_object();
    AUTO_FREE char *key =
        mem_format("%0*" PRId64 ".%0*" PRId64 ".%s.%" PRId64, ACCOUNT_TIME_DIGITS, span.to_ns,
                   ACCOUNT_TIME_DIGITS, span.from_ns, uid ? uid : "", attempt);
    const char *queue = json_text(s->entry, "queue");
    json_t *gpus = json_object_get(s->entry, "gpus");

    json_put_text(row, "namespace", s->ns);
    json_put_text(row, "pod", json_text(s->entry, "name"));
    json_put_text(row, "uid", uid);
    json_put_int(row, "attempt", attempt);
    json_put_text(row, "user", json_text(s->entry, "user"));
    json_put_text(row, "jobId", json_text(s->entry, "jobId"));
    json_put_text(row, "queue", queue ? queue : QUEUE_DEFAULT);
    if (!text_equal(s->placement, json_text(s->entry, "name")))
        json_put_text(row, "workload", s->placement);
    json_put_text(row, "node", json_text(s->entry, "node"));
    if (json_array_size(gpus) > 0)
        json_put(row, "gpus", json_incref(gpus));
    json_put_int(row, "fromNs", span.from_ns);
    json_put_int(row, "toNs", span.to_ns);
    put_asks(row, s->pod);
    if (end->is_certain && s->pod)
        put_wait(row, account_wait_of(s->entry, s->pod, span).ns);
    account_usage_format(row, &end->usage);
    if (end->has_code)
        json_put_int(row, "exitCode", end->code);
    if (end->signal > 0)
        json_put_int(row, "exitSignal", end->signal);
    json_put_text(row, "slurm", json_text(s->entry, "slurm"));
    json_put_text(
        row, "cancelledBy",
        json_text_at(s->pod, "metadata", "annotations", SLURM_CANCELLED_ANNOTATION, NULL));
    json_put_text(row, "cause", end->cause);
    txn_put_owed(s->txn, account_key(account_rows(), key), row, STORE_ABSENT);
}

enum {
    UNSEEN_MAX = 64 /* rows for restarts that the server saw only as a count */
};

/* Puts rows of the attempts up to `last`, which ends at `to_ns` with `end`. The server saw nothing
 * of the attempts before it but their number: their rows last no time. */
static void put_rows(const struct subject *s, int64_t last, int64_t to_ns, const struct ending *end)
{
    const struct ending unseen = {.cause = "Unknown", .usage = ACCOUNT_USAGE_UNKNOWN};
    int64_t from_ns = json_int(s->entry, "fromNs", to_ns);
    int64_t first = json_int(s->entry, "attempt", 0);

    if (last - first > UNSEEN_MAX)
        first = last - UNSEEN_MAX;
    for (int64_t a = first; a < last; a++)
        put_row(s, a, (struct account_span){from_ns, from_ns}, &unseen);
    put_row(s, last, (struct account_span){from_ns, to_ns}, end);
}

static int64_t end_of(const json_t *entry, const struct account_end *end)
{
    int64_t from_ns = json_int(entry, "fromNs", end->now_ns);

    return end->now_ns > from_ns ? end->now_ns : account_clock_at_least(end->clock, from_ns);
}

int64_t account_close(struct txn *t, const char *ns, const char *placement, const json_t *entry,
                      const struct account_end *end)
{
    const struct subject s = {
        .txn = t, .ns = ns, .placement = placement, .entry = entry, .pod = end->pod};
    const struct ending ending = ending_of_pod(end->pod);
    int64_t attempt = json_int(entry, "attempt", 0);
    int64_t restarts = restarts_of(end->pod);
    int64_t to_ns = end_of(entry, end);

    put_rows(&s, restarts > attempt ? restarts : attempt, to_ns, &ending);
    return to_ns;
}

/* ---- restarts ---- */

/* The pod's entry in `placement`, borrowed. */
static json_t *placement_entry(const json_t *placement, const char *uid)
{
    json_t *entry;
    size_t i;

    json_array_foreach (json_object_get(placement, "pods"), i, entry) {
        if (text_equal(json_text(entry, "uid"), uid))
            return entry;
    }
    return NULL;
}

void account_restarts_in(const struct store *s, struct txn *t, const json_t *before,
                         const struct account_end *end)
{
    const json_t *metadata = json_object_get(before, "metadata");
    const char *name = json_text_at(metadata, "annotations", POD_PLACEMENT, NULL);
    struct subject subject = {.txn = t, .ns = json_text(metadata, "namespace"), .pod = end->pod};
    struct store_key key = {.group = "mete.dev", .resource = "placements", .ns = subject.ns};
    int64_t restarts = restarts_of(end->pod);
    const struct store_object *o;
    AUTO(json_freep) json_t *placement = NULL;
    AUTO(err_freep) struct err *e = NULL;
    struct ending ending;
    json_t *entry;
    int64_t to_ns;

    if (!*pod_node(before) || restarts <= restarts_of(before))
        return;
    key.name = name ? name : json_text(metadata, "name");
    o = store_get_applied(s, key);
    if (!o)
        return;
    e = json_parse(o->bytes, &placement);
    entry = e ? NULL : placement_entry(placement, json_text(metadata, "uid"));
    if (!entry || restarts <= json_int(entry, "attempt", 0))
        return;
    subject.placement = json_text(placement, "workload");
    subject.entry = entry;
    ending = ending_of_restart(before, end->pod);
    to_ns = end_of(entry, end);
    put_rows(&subject, restarts - 1, to_ns, &ending);
    json_put_int(entry, "attempt", restarts);
    json_put_int(entry, "fromNs", to_ns);
    txn_put(t, key, placement, o->version);
}

/* ---- the annotation ---- */

void account_usage_put(json_t *root, const char *container, int64_t attempt,
                       const struct account_usage *u)
{
    json_t *of = json_object_at(json_object_at(root, "containers"), container);
    json_t *usage = json_object();
    char key[24];

    (void)snprintf(key, sizeof(key), "%" PRId64, attempt);
    account_usage_format(usage, u);
    json_put(of, key, usage);
}

/* ---- jobs that never started ---- */

void account_unstarted_in(struct txn *t, const struct account_unstarted *u)
{
    AUTO(json_freep) json_t *row = json_object();
    AUTO_FREE char *key = mem_format("%0*" PRId64 ".%0*" PRId64 ".%s.%" PRId64, ACCOUNT_TIME_DIGITS,
                                     u->now_ns, ACCOUNT_TIME_DIGITS, u->now_ns, u->uid, u->attempt);
    AUTO_FREE char *by = NULL;

    json_put_text(row, "namespace", u->ns);
    json_put_text(row, "pod", u->name);
    json_put_text(row, "uid", u->uid);
    json_put_int(row, "attempt", u->attempt);
    json_put_text(row, "user", u->user);
    json_put_text(row, "jobId", u->job_id);
    json_put_text(row, "queue", u->queue ? u->queue : QUEUE_DEFAULT);
    json_put_int(row, "fromNs", u->now_ns);
    json_put_int(row, "toNs", u->now_ns);
    json_put_text(row, "slurm", u->slurm);
    if (u->cancelled_by >= 0)
        by = mem_format("%" PRId64, u->cancelled_by);
    json_put_text(row, "cancelledBy", by);
    json_put_text(row, "cause", "Cancelled");
    txn_put_owed(t, account_key(account_rows(), key), row, STORE_ABSENT);
}
