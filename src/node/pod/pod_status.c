/* pod_status.c - a pod's status, sent to the server: coalesced, one patch at a time, until
 * acknowledged */

#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/retry.h"
#include "base/stamp.h"
#include "kinds/pod/pod_state.h"
#include "node/pod/pod.h"

static const int64_t RETRY_NS = 100 * NS_PER_MS;
static const int64_t RETRY_MAX_NS = 5 * NS_PER_SEC;

/* ---- containers ---- */

void container_end_done(struct container_end *end)
{
    free(end->reason);
    free(end->message);
    *end = (struct container_end){0};
}

static void put_stamp(json_t *object, const char *key, int64_t stamp_ns)
{
    char text[STAMP_TEXT_SIZE];

    if (stamp_ns <= 0) {
        json_put(object, key, json_null());
        return;
    }
    stamp_format(stamp_ns, text);
    json_put_text(object, key, text);
}

static int64_t read_stamp(const json_t *object, const char *key)
{
    return stamp_or(json_text(object, key), 0);
}

static const char *runtime_name(const struct pod *p)
{
    const char *name = p->set->o.runtime->name;

    return name ? name : "crun";
}

static json_t *end_format(const struct pod *p, const struct container *c,
                          const struct container_end *end)
{
    json_t *terminated = json_object();
    AUTO_FREE char *id = container_id(p, c, end->attempt);
    AUTO_FREE char *full = mem_format("%s://%s", runtime_name(p), id);

    json_put_int(terminated, "exitCode", end->code);
    if (end->signal > 0)
        json_put_int(terminated, "signal", end->signal);
    json_put_text(terminated, "reason",
                  end->reason      ? end->reason
                  : end->code == 0 ? "Completed"
                  : end->is_oom    ? "OOMKilled"
                                   : "Error");
    if (end->message)
        json_put_text(terminated, "message", end->message);
    put_stamp(terminated, "startedAt", end->started_ns);
    put_stamp(terminated, "finishedAt", end->finished_ns);
    json_put_text(terminated, "containerID", full);
    return terminated;
}

void container_end_read(const json_t *terminated, struct container_end *ret)
{
    const char *reason = json_text(terminated, "reason");
    const char *message = json_text(terminated, "message");
    const char *id = json_text(terminated, "containerID");
    const char *dash = id ? strrchr(id, '-') : NULL;

    container_end_done(ret);
    if (!json_is_object(terminated))
        return;
    *ret = (struct container_end){.is_set = true,
                                  .code = (int)json_int(terminated, "exitCode", 0),
                                  .signal = (int)json_int(terminated, "signal", 0),
                                  .reason = reason ? mem_strdup(reason) : NULL,
                                  .message = message ? mem_strdup(message) : NULL,
                                  .started_ns = read_stamp(terminated, "startedAt"),
                                  .finished_ns = read_stamp(terminated, "finishedAt")};
    for (const char *at = dash ? dash + 1 : ""; *at >= '0' && *at <= '9' && ret->attempt < 1000000;
         at++)
        ret->attempt = ret->attempt * 10 + (*at - '0');
}

/* Does the status show `running`? As in the kubelet, only after postStart. */
static bool is_running(const struct container *c)
{
    return c->state == CONTAINER_RUNNING && c->start != START_NEW;
}

bool container_has_started(const struct container *c)
{
    return is_running(c) && c->start == START_PROBED && probes_have_started(c->probes);
}

static bool is_ready(const struct container *c)
{
    return container_has_started(c) && probes_are_ready(c->probes);
}

static void put_state(const struct pod *p, const struct container *c, json_t *status)
{
    json_t *state = json_object_at(status, "state");
    json_t *part = NULL;

    if (c->state == CONTAINER_ENDED) {
        json_put(state, "terminated", end_format(p, c, &c->end));
    } else if (is_running(c)) {
        put_stamp(json_object_at(state, "running"), "startedAt", c->started_ns);
    } else {
        part = json_object_at(state, "waiting");
        json_put_text(part, "reason",
                      c->wait_reason ? c->wait_reason
                      : json_array_size(json_at(p->object, "spec", "initContainers", NULL)) == 0
                          ? "ContainerCreating"
                          : "PodInitializing");
        if (c->wait_message)
            json_put_text(part, "message", c->wait_message);
    }
}

static json_t *container_format(const struct pod *p, const struct container *c)
{
    const json_t *spec = pod_container_spec(p, c);
    const char *image = json_text(spec, "image");
    json_t *status = json_object();
    bool runs = is_running(c);
    bool is_done = c->state == CONTAINER_ENDED && c->end.code == 0;
    bool has_run = runs || c->state == CONTAINER_ENDED || c->last.is_set;

    json_put_text(status, "name", c->name);
    put_state(p, c, status);
    (void)json_object_at(status, "lastState");
    if (c->last.is_set)
        json_put(json_object_at(status, "lastState"), "terminated", end_format(p, c, &c->last));
    json_put_bool(status, "ready",
                  c->is_ephemeral                ? false
                  : c->is_init && !c->is_sidecar ? is_done
                                                 : is_ready(c));
    json_put_bool(status, "started", container_has_started(c));
    json_put_int(status, "restartCount",
                 c->state == CONTAINER_WAITING && c->last.is_set ? c->last.attempt : c->attempt);
    json_put_text(status, "image", image ? image : "");
    json_put_text(status, "imageID", !has_run ? "" : c->image_ref ? c->image_ref : "host");
    if (has_run) {
        bool is_current = runs || c->state == CONTAINER_ENDED;
        AUTO_FREE char *id = container_id(p, c, is_current ? c->attempt : c->last.attempt);
        AUTO_FREE char *full = mem_format("%s://%s", runtime_name(p), id);

        json_put_text(status, "containerID", full);
    }
    return status;
}

/* ---- the pod ---- */

struct tally {
    bool is_initialized;
    bool is_ready;
    bool has_run; /* a main container ran */
    bool has_init_failed;
    bool has_failed;
};

static struct tally tally_of(const struct pod *p)
{
    struct tally t = {.is_initialized = true, .is_ready = true};

    for (size_t i = 0; i < p->n_containers; i++) {
        const struct container *c = &p->containers[i];
        bool is_ended = c->state == CONTAINER_ENDED;

        if (c->is_ephemeral)
            continue;
        if (c->is_sidecar) {
            t.is_initialized = t.is_initialized && container_has_started(c);
            t.is_ready = t.is_ready && is_ready(c);
            continue;
        }
        if (c->is_init) {
            t.is_initialized = t.is_initialized && is_ended && c->end.code == 0;
            t.has_init_failed = t.has_init_failed || (is_ended && c->end.code != 0);
            continue;
        }
        t.is_ready = t.is_ready && is_ready(c);
        t.has_run = t.has_run || is_running(c) || is_ended || c->last.is_set;
        t.has_failed = t.has_failed || !is_ended || c->end.code != 0;
    }
    /* A main container that ran proves that the init containers succeeded. */
    for (size_t i = 0; i < p->n_containers; i++)
        if (container_is_main(&p->containers[i]) && t.has_run && !t.has_init_failed)
            t.is_initialized = true;
    return t;
}

static const char *phase_of(const struct pod *p, const struct tally *t)
{
    if (p->life == POD_ENDED && pod_has_ended(p))
        return p->is_past_deadline || p->evicted || t->has_failed || t->has_init_failed
                   ? "Failed"
                   : "Succeeded";
    return t->has_run ? "Running" : "Pending";
}

static const json_t *find_condition(const json_t *status, const char *type)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(status, "conditions"), i, item)
        if (text_equal(json_text(item, "type"), type))
            return item;
    return NULL;
}

/* Adds a condition; lastTransitionTime stays while the status does. */
static void add_condition(const struct pod *p, json_t *conditions, const char *type, bool is_true,
                          const char *reason, const char *message)
{
    const json_t *before = find_condition(p->status, type);
    const char *value = is_true ? "True" : "False";
    const char *since = NULL;
    json_t *condition = json_object();
    char now[STAMP_TEXT_SIZE];

    if (!before)
        before = find_condition(json_object_get(p->object, "status"), type);
    if (text_equal(json_text(before, "status"), value))
        since = json_text(before, "lastTransitionTime");
    stamp_format(loop_wall_ns(p->set->o.loop), now);
    json_put_text(condition, "type", type);
    json_put_text(condition, "status", value);
    json_put_text(condition, "lastTransitionTime", since ? since : now);
    if (!is_true && reason)
        json_put_text(condition, "reason", reason);
    if (!is_true && message)
        json_put_text(condition, "message", message);
    (void)json_array_append_new(conditions, condition);
}

/* The message of Ready or Initialized that lists the unready containers; NULL: none. The caller
 * frees it. */
static char *unready_text(const struct pod *p, bool is_init)
{
    struct buf out = {0};

    for (size_t i = 0; i < p->n_containers; i++) {
        const struct container *c = &p->containers[i];
        bool is_done = c->state == CONTAINER_ENDED && c->end.code == 0;

        if (c->is_ephemeral || (is_init != c->is_init && !c->is_sidecar))
            continue;
        if (!is_init ? is_ready(c) : c->is_sidecar ? container_has_started(c) : is_done)
            continue;
        buf_printf(&out, "%s%s", out.size > 0 ? " " : "", c->name);
    }
    if (out.size > 0) {
        AUTO_FREE char *names = buf_steal(&out);

        return mem_format("containers with %s status: [%s]", is_init ? "incomplete" : "unready",
                          names);
    }
    buf_done(&out);
    return NULL;
}

/* Adds a condition that is True from now on, unless the server has it. */
static void put_fact(const struct pod *p, json_t *conditions, const char *type, const char *reason,
                     const char *message)
{
    const json_t *before = find_condition(p->status, type);
    json_t *condition = NULL;
    char now[STAMP_TEXT_SIZE];

    if (find_condition(json_object_get(p->object, "status"), type))
        return;
    stamp_format(loop_wall_ns(p->set->o.loop), now);
    condition = before ? json_twin(before)
                       : json_pack("{s:s, s:s, s:s, s:s, s:s}", "type", type, "status", "True",
                                   "lastTransitionTime", now, "reason", reason, "message", message);
    (void)json_array_append_new(conditions, condition);
}

static void put_facts(const struct pod *p, json_t *conditions)
{
    /* The job is not at fault: rules of a Job's podFailurePolicy may say so. */
    if (text_equal(p->evicted_as, POD_GPU_LOST))
        put_fact(p, conditions, "DisruptionTarget", POD_GPU_LOST, p->evicted);
    if (text_equal(p->containers[0].end.failed, "prolog"))
        put_fact(p, conditions, POD_PROLOG_FAILED, "PrologFailed", p->containers[0].end.message);
    if (text_equal(p->containers[0].end.failed, "epilog"))
        put_fact(p, conditions, POD_EPILOG_FAILED, "EpilogFailed", "The epilog of Slurm failed.");
    if (p->has_pulled)
        put_fact(p, conditions, POD_IMAGE_PULLED, "Pulled", "An image had to be pulled.");
}

static void put_conditions(const struct pod *p, json_t *status, const struct tally *t,
                           const char *phase)
{
    static const char *const ours[] = {"Initialized", "Ready", "ContainersReady"};
    const bool ready = t->is_ready && text_equal(phase, "Running");
    const bool values[] = {t->is_initialized, ready, ready};
    const char *not_ready = text_equal(phase, "Succeeded") ? "PodCompleted"
                            : text_equal(phase, "Failed")  ? "PodFailed"
                                                           : "ContainersNotReady";
    json_t *conditions = json_array_at(status, "conditions");
    AUTO_FREE char *incomplete = unready_text(p, true);
    AUTO_FREE char *unready = unready_text(p, false);
    const json_t *item = NULL;
    size_t i = 0;

    /* A merge patch replaces the whole list, so it contains the conditions of other clients. */
    json_array_foreach (json_at(p->object, "status", "conditions", NULL), i, item) {
        const char *type = json_text(item, "type");

        if (!text_equal(type, ours[0]) && !text_equal(type, ours[1]) && !text_equal(type, ours[2]))
            (void)json_array_append_new(conditions, json_twin(item));
    }
    put_facts(p, conditions);
    for (size_t k = 0; k < 3; k++)
        add_condition(p, conditions, ours[k], values[k],
                      k == 0 ? "ContainersNotInitialized" : not_ready,
                      k == 0                                        ? incomplete
                      : text_equal(not_ready, "ContainersNotReady") ? unready
                                                                    : NULL);
}

static void put_address(const struct pod *p, json_t *status)
{
    const char *address = pod_address(p);

    if (!address)
        return;
    json_put_text(status, "podIP", address);
    json_put(status, "podIPs", json_pack("[{s:s}]", "ip", address));
}

static json_t *make_status(const struct pod *p)
{
    const struct host_info *host = p->set->o.host;
    const struct tally t = tally_of(p);
    const char *phase = phase_of(p, &t);
    json_t *status = json_object();

    json_put_text(status, "phase", phase);
    put_conditions(p, status, &t, phase);
    json_put_text(status, "hostIP", host->address);
    put_address(p, status);
    put_stamp(status, "startTime", p->start_ns);
    if (p->is_past_deadline) {
        json_put_text(status, "reason", "DeadlineExceeded");
        json_put_text(status, "message",
                      "Pod was active on the node longer than the specified deadline");
    }
    if (p->evicted) {
        json_put_text(status, "reason", p->evicted_as);
        json_put_text(status, "message", p->evicted);
    }
    for (size_t i = 0; i < p->n_containers; i++) {
        const struct container *c = &p->containers[i];

        (void)json_array_append_new(json_array_at(status, c->is_init ? "initContainerStatuses"
                                                          : c->is_ephemeral
                                                              ? "ephemeralContainerStatuses"
                                                              : "containerStatuses"),
                                    container_format(p, c));
    }
    return status;
}

/* ---- sending ---- */

static bool is_final(const json_t *status)
{
    const char *phase = json_text(status, "phase");

    return text_equal(phase, "Succeeded") || text_equal(phase, "Failed");
}

static void back_off(struct pod *p)
{
    p->call_at_ns = pod_now_ns(p) + retry_pause(&p->call_retry_ns, RETRY_NS, RETRY_MAX_NS);
}

static void status_acknowledged(struct pod *p)
{
    p->call_retry_ns = 0;
    p->call_at_ns = 0;
    if (p->sending == p->status)
        p->is_unsent = false;
    if (is_final(p->sending))
        p->is_final_sent = true;
}

static void on_patched(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct pod *p = arg;
    AUTO(err_freep) struct err *failed = client_error(e, reply);

    p->call = NULL;
    if (!failed || err_code(failed) == ERR_NOT_FOUND) {
        status_acknowledged(p); /* not found: the informer will report the deletion */
    } else {
        LOG(WARN, "pod status could not be sent", S("pod", p->name), E(failed));
        back_off(p);
    }
    json_decref(p->sending);
    p->sending = NULL;
    pod_step(p);
}

/* Adds the usage of the containers' last attempts, which the server writes into their rows. */
static void put_usage(const struct pod *p, json_t *metadata)
{
    AUTO(json_freep) json_t *usage = json_object();
    AUTO_FREE char *text = NULL;

    for (size_t i = 0; i < p->n_containers; i++) {
        const struct container *c = &p->containers[i];

        if (c->last.is_set && c->last.has_usage)
            account_usage_put(usage, c->name, c->last.attempt, &c->last.usage);
        if (c->end.is_set && c->end.has_usage)
            account_usage_put(usage, c->name, c->end.attempt, &c->end.usage);
    }
    if (json_object_size(usage) == 0)
        return;
    text = json_format(usage);
    json_put_text(json_object_at(metadata, "annotations"), POD_USAGE, text);
}

static void send_patch(struct pod *p)
{
    AUTO(json_freep) json_t *patch = json_object();
    AUTO_FREE char *path = mem_format("/api/v1/namespaces/%s/pods/%s/status", p->ns, p->name);
    AUTO_FREE char *body = NULL;
    struct client_request r = {
        .method = "PATCH", .path = path, .content_type = "application/merge-patch+json"};

    json_put_text(json_object_at(patch, "metadata"), "uid", p->uid);
    put_usage(p, json_object_at(patch, "metadata"));
    json_put(patch, "status", json_incref(p->status));
    body = json_format(patch);
    r.body = str_of(body);
    p->sending = json_incref(p->status);
    client_send(p->set->o.client, &r, on_patched, p, &p->call);
}

/* Is the status of a pod in creation withheld, or of a host process that has just started? Its
 * start or its end follows soon, and saves a patch. */
static bool is_quiet(const struct pod *p, int64_t now_ns)
{
    const char *phase = json_text(p->status, "phase");

    if (p->is_brief && text_equal(phase, "Running"))
        return now_ns < p->quiet_ns;
    if (!text_equal(phase, "Pending"))
        return false;
    for (size_t i = 0; i < p->n_containers; i++)
        if (p->containers[i].wait_reason)
            return false;
    return now_ns < p->quiet_ns;
}

/* Would the status of a host process be withheld as the one before is? */
static bool is_withheld(const struct pod *p, int64_t now_ns)
{
    if (!p->is_unsent || p->call || p->life != POD_ACTIVE || now_ns >= p->quiet_ns ||
        !pod_is_host_process(p) || !is_quiet(p, now_ns))
        return false;
    for (size_t i = 0; i < p->n_containers; i++)
        if (p->containers[i].state == CONTAINER_ENDED || p->containers[i].wait_reason)
            return false;
    return true;
}

void pod_status_send(struct pod *p)
{
    int64_t now_ns = pod_now_ns(p);

    if (!p->is_final_sent && !is_withheld(p, now_ns)) {
        json_t *status = make_status(p);

        if (p->status && json_equal(status, p->status)) {
            json_decref(status);
        } else {
            json_decref(p->status);
            p->status = status;
            p->is_unsent = true;
        }
    }
    if (!p->is_unsent || p->call || now_ns < p->call_at_ns)
        return;
    if (is_quiet(p, now_ns))
        return;
    if (p->is_brief && !is_final(p->status))
        pod_tell_started(p, &p->containers[0]);
    p->is_brief = false;
    send_patch(p);
}

static void on_deleted(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct pod *p = arg;
    AUTO(err_freep) struct err *failed = client_error(e, reply);

    bool is_done = !failed || err_code(failed) == ERR_NOT_FOUND || err_code(failed) == ERR_CONFLICT;

    p->call = NULL;
    if (p->record == RECORD_DELETING) /* the informer may have been faster */
        pod_record_move(p, is_done ? RECORD_DELETED : RECORD_KEPT);
    if (!is_done) {
        LOG(WARN, "pod could not be deleted", S("pod", p->name), E(failed));
        back_off(p);
    }
    pod_step(p);
}

void pod_delete_send(struct pod *p)
{
    AUTO(json_freep) json_t *options = json_object();
    AUTO_FREE char *path = mem_format("/api/v1/namespaces/%s/pods/%s", p->ns, p->name);
    AUTO_FREE char *body = NULL;
    struct client_request r = {.method = "DELETE", .path = path};

    if (p->call)
        return;
    json_put_text(options, "apiVersion", "v1");
    json_put_text(options, "kind", "DeleteOptions");
    json_put_int(options, "gracePeriodSeconds", 0);
    json_put_text(json_object_at(options, "preconditions"), "uid", p->uid);
    body = json_format(options);
    r.body = str_of(body);
    pod_record_move(p, RECORD_DELETING);
    client_send(p->set->o.client, &r, on_deleted, p, &p->call);
}
