/* gpu_partitions.c - MIG instances as wanted, one gpu at a time */

#include "node/gpu_partitions.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/retry.h"
#include "kinds/pod/pod_state.h"

enum {
    PARTITION_GPUS_MAX = 64
};

static const char changing[] = "its MIG instances are being changed";
static const int64_t retry_min_ns = 10 * NS_PER_SEC;
static const int64_t retry_max_ns = 600 * NS_PER_SEC;

enum partition_phase {
    PHASE_IDLE,
    PHASE_ANNOUNCED, /* the server is to learn that the gpu is out of service */
    PHASE_CHECKING,  /* the pods are asked for */
    PHASE_RUNNING,
    PHASE_SETTLING, /* until the driver lists the gpus again */
};

struct gpu_partition {
    char uuid[GPU_TEXT_SIZE];
    enum partition_phase phase;
    struct gpu gpu;       /* as last listed */
    struct gpu_wish wish; /* of `plan` */
    struct partition_plan plan;
    char *journal; /* text of the wish on disk; NULL: none */
    char problem[200];
    int64_t pause_ns; /* 0: the last change did not fail */
    int64_t again_ns; /* monotonic */
    uint64_t list;    /* number of the driver's list, in PHASE_SETTLING */
};

struct gpu_partitions {
    struct gpu_partitions_options o;
    char *dir;
    struct gpu_partition all[PARTITION_GPUS_MAX];
    size_t n;
    struct gpu_partition *active; /* in PHASE_CHECKING or PHASE_RUNNING; NULL: none */
    struct client_call *call;
    struct loop_timer *timer;
};

static struct gpu_partition *partition_of(struct gpu_partitions *p, const char *uuid)
{
    struct gpu_partition *found = NULL;

    for (size_t i = 0; i < p->n && !found; i++)
        if (text_equal(p->all[i].uuid, uuid))
            found = &p->all[i];
    if (found || p->n == PARTITION_GPUS_MAX)
        return found;
    found = &p->all[p->n++];
    *found = (struct gpu_partition){0};
    (void)snprintf(found->uuid, sizeof(found->uuid), "%s", uuid);
    return found;
}

/* ---- wishes on disk ---- */

static char *journal_path(const struct gpu_partitions *p, const char *uuid)
{
    return mem_format("%s/%s", p->dir, uuid);
}

static struct err *journal_write(const struct gpu_partitions *p, struct gpu_partition *e)
{
    AUTO_FREE char *path = journal_path(p, e->uuid);
    char text[GPU_WISH_TEXT_SIZE];

    gpu_wish_format(&e->wish, text);
    TRY(file_write_durable(path, 0600, str_of(text)));
    free(e->journal);
    e->journal = mem_strdup(text);
    return NULL;
}

static void journal_drop(const struct gpu_partitions *p, struct gpu_partition *e)
{
    AUTO_FREE char *path = journal_path(p, e->uuid);
    AUTO(err_freep) struct err *failed = e->journal ? dir_remove(path) : NULL;

    if (failed)
        LOG(WARN, "finished change of MIG instances stays on disk", S("gpu", e->uuid), E(failed));
    free(e->journal);
    e->journal = NULL;
}

/* Has a crash left this file while a wish was written? */
static bool is_torn(const char *name)
{
    return strstr(name, ".tmp.") != NULL;
}

static struct err *journal_read(struct gpu_partitions *p)
{
    char **names = NULL;
    size_t n = 0;
    struct err *e = dir_list(p->dir, &names, &n);

    for (size_t i = 0; i < n && !e; i++) {
        AUTO_FREE char *path = journal_path(p, names[i]);
        AUTO(buf_done) struct buf text = {0};
        struct gpu_partition *entry = NULL;

        if (is_torn(names[i])) {
            e = dir_remove(path);
            continue;
        }
        entry = partition_of(p, names[i]);
        e = file_read(path, GPU_WISH_TEXT_SIZE, &text);
        if (!e && entry)
            entry->journal = mem_strndup(text.size > 0 ? text.at : "", text.size);
    }
    names_free(names, n);
    return e;
}

/* The wish that counts: the present one, else the one on disk. */
static struct gpu_wish wish_of(const struct gpu_partition *e, const struct gpu_wish *w)
{
    struct gpu_wish begun = *w;

    if (w->is_asked || !e->journal)
        return *w;
    err_free(gpu_wish_parse(e->journal, &begun)); /* a torn text counts as no wish */
    begun.is_asked = true;
    return begun;
}

/* ---- plans ---- */

/* Slices for pods that hold them already are created while the gpu is in service. */
static bool is_in_service(const struct gpu_wish *w, const struct partition_plan *plan)
{
    return w->kind == GPU_WISH_FLEXIBLE && plan->n > 0 &&
           plan->steps[plan->n - 1].op != PARTITION_ENABLE;
}

static void hide_gpu(struct gpu *g)
{
    g->health = GPU_UNHEALTHY;
    (void)snprintf(g->health_reason, sizeof(g->health_reason), "%s", changing);
}

static void tell_problem(struct gpu *g, const char *problem)
{
    (void)snprintf(g->mode_problem, sizeof(g->mode_problem), "%.200s", problem);
}

static bool is_settled(const struct gpu_partitions *p, const struct gpu_partition *e)
{
    return e->phase != PHASE_SETTLING || p->o.driver.list_number(p->o.driver.self) != e->list;
}

/* On a flexible gpu with MIG on, only pods that were given slices one over the other conflict. */
static enum gpu_partition_state conflict_of(const struct gpu_wish *w, const struct gpu *g)
{
    return w->kind == GPU_WISH_FLEXIBLE && g->mig_mode == 1 ? GPU_PARTITION_PENDING
                                                            : GPU_PARTITION_BLOCKED;
}

/* The plan is empty, or cannot be made. */
static enum gpu_partition_state partition_rest(struct gpu_partitions *p, struct gpu_partition *e,
                                               const struct gpu_wish *w, const struct err *problem,
                                               struct gpu *g)
{
    if (e != p->active)
        e->phase = PHASE_IDLE;
    if (problem) {
        tell_problem(g, err_message(problem));
        return err_code(problem) == ERR_CONFLICT ? conflict_of(w, g) : GPU_PARTITION_FAILED;
    }
    journal_drop(p, e);
    e->pause_ns = 0;
    return GPU_PARTITION_DONE;
}

enum gpu_partition_state gpu_partitions_apply(struct gpu_partitions *p, const struct gpu_wish *w,
                                              const struct gpu_holding *holdings, size_t n,
                                              struct gpu *g)
{
    struct gpu_partition *e = g->uuid[0] ? partition_of(p, g->uuid) : NULL;
    struct gpu_wish wish = {0};
    struct partition_plan plan = {0};
    AUTO(err_freep) struct err *problem = NULL;

    if (!e || g->health == GPU_LOST || g->health == GPU_NOT_ANSWERING)
        return GPU_PARTITION_PENDING;
    wish = wish_of(e, w);
    if (e == p->active || !is_settled(p, e)) {
        if (!is_in_service(&e->wish, &e->plan))
            hide_gpu(g);
        return GPU_PARTITION_PENDING;
    }
    problem = partition_plan_make(g, &wish, holdings, n, &plan);
    if (problem || plan.n == 0)
        return partition_rest(p, e, &wish, problem, g);
    if (e->pause_ns > 0 && loop_now_ns(p->o.loop) < e->again_ns) {
        e->phase = PHASE_IDLE;
        tell_problem(g, e->problem);
        return GPU_PARTITION_FAILED;
    }
    e->gpu = *g;
    e->wish = wish;
    e->plan = plan;
    e->phase = PHASE_ANNOUNCED;
    if (!is_in_service(&wish, &plan))
        hide_gpu(g);
    return GPU_PARTITION_PENDING;
}

/* ---- changes ---- */

static void partition_failed(struct gpu_partitions *p, struct gpu_partition *e,
                             const struct err *why)
{
    LOG(WARN, "MIG instances cannot be changed, will be tried again", S("gpu", e->uuid), E(why));
    (void)snprintf(e->problem, sizeof(e->problem), "%.190s", err_message(why));
    (void)retry_pause(&e->pause_ns, retry_min_ns, retry_max_ns);
    e->again_ns = loop_now_ns(p->o.loop) + e->pause_ns;
    loop_timer_set(p->timer, e->pause_ns);
}

static void on_partitioned(void *arg, const struct err *e)
{
    struct gpu_partitions *p = arg;
    struct gpu_partition *entry = p->active;

    p->active = NULL;
    entry->phase = PHASE_SETTLING;
    entry->list = p->o.driver.list_number(p->o.driver.self);
    if (e)
        partition_failed(p, entry, e);
    else
        LOG(INFO, "MIG instances changed", S("gpu", entry->uuid), U("steps", entry->plan.n));
    p->o.changed(p->o.arg);
}

static void partition_start(struct gpu_partitions *p, struct gpu_partition *e)
{
    AUTO(err_freep) struct err *failed = journal_write(p, e);

    p->active = e;
    e->phase = PHASE_RUNNING;
    if (!failed)
        failed = p->o.driver.start(p->o.driver.self, e->uuid, &e->plan, on_partitioned, p);
    if (!failed)
        return;
    p->active = NULL;
    e->phase = PHASE_IDLE;
    partition_failed(p, e, failed);
    p->o.changed(p->o.arg);
}

/* A pod's devices, collected for one gpu. */
struct found_holders {
    const char *pod;
    struct gpu_holding list[GPU_SLICES_MAX];
    size_t n;
};

static bool add_found(void *arg, const char *container, const struct device *d)
{
    struct found_holders *f = arg;

    (void)container;
    if (f->n < GPU_SLICES_MAX)
        f->list[f->n++] = (struct gpu_holding){.device = *d, .pod = f->pod};
    return true;
}

/* Do these holders of the gpu allow the plan? */
static bool holders_allow(const struct gpu_partition *e, const struct found_holders *found)
{
    struct partition_plan plan = {0};
    AUTO(err_freep)
    struct err *problem = partition_plan_make(&e->gpu, &e->wish, found->list, found->n, &plan);

    return !problem && memcmp(&plan, &e->plan, sizeof(plan)) == 0;
}

/* Do the pods that the server has bound here allow the plan? */
static bool pods_allow(const struct gpu_partition *e, const json_t *pods)
{
    AUTO_FREE struct found_holders *found = mem_alloc(sizeof(*found));
    json_t *pod;
    size_t i;

    json_array_foreach (json_object_get(pods, "items"), i, pod) {
        const char *phase = json_text_at(pod, "status", "phase", NULL);
        size_t n = found->n;

        if (text_equal(phase, "Succeeded") || text_equal(phase, "Failed"))
            continue;
        found->pod = json_text_at(pod, "metadata", "name", NULL);
        pod_each_device(pod, add_found, found);
        for (size_t k = found->n; k > n; k--) /* keep those of this gpu */
            if (!text_equal(found->list[k - 1].device.gpu, e->uuid))
                found->list[k - 1] = found->list[--found->n];
    }
    return holders_allow(e, found);
}

/* Starts the plan, or looks again later: a pod has come, or nobody answered. */
static void partition_checked(struct gpu_partitions *p, bool is_allowed)
{
    struct gpu_partition *entry = p->active;

    if (is_allowed) {
        partition_start(p, entry);
        return;
    }
    p->active = NULL;
    entry->phase = PHASE_IDLE;
    loop_timer_set(p->timer, NS_PER_SEC);
}

static void on_holdings(void *arg, const struct err *e, const struct gpu_holding *list, size_t n)
{
    struct gpu_partitions *p = arg;
    AUTO_FREE struct found_holders *found = mem_alloc(sizeof(*found));

    for (size_t i = 0; i < n && found->n < GPU_SLICES_MAX; i++)
        if (text_equal(list[i].device.gpu, p->active->uuid))
            found->list[found->n++] = list[i];
    partition_checked(p, !e && holders_allow(p->active, found));
}

static void on_pods(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct gpu_partitions *p = arg;
    AUTO(err_freep) struct err *failed = client_error(e, reply);
    AUTO(json_freep) json_t *pods = NULL;

    p->call = NULL;
    if (!failed)
        failed = json_parse(reply->body, &pods);
    partition_checked(p, !failed && pods_allow(p->active, pods));
}

static void ask_for_pods(struct gpu_partitions *p, struct gpu_partition *e)
{
    AUTO_FREE char *path = NULL;
    struct client_request r = {.method = "GET"};

    p->active = e;
    e->phase = PHASE_CHECKING;
    if (p->o.holders.ask) {
        p->o.holders.ask(p->o.holders.self, on_holdings, p);
        return;
    }
    path = mem_format("/api/v1/pods?fieldSelector=spec.nodeName%%3D%s", p->o.node);
    r.path = path;
    client_send(p->o.client, &r, on_pods, p, &p->call);
}

/* Does the server know that the gpu is out of service? */
static bool is_announced(const json_t *gpus, const struct gpu_partition *e)
{
    json_t *gpu;
    size_t i;

    json_array_foreach (gpus, i, gpu)
        if (text_equal(json_text(gpu, "uuid"), e->uuid))
            return text_equal(json_text(gpu, "healthReason"), changing);
    return false;
}

void gpu_partitions_advance(struct gpu_partitions *p, const json_t *node)
{
    const char *text = json_text_at(node, "metadata", "annotations", NODE_GPUS, NULL);
    AUTO(json_freep) json_t *gpus = NULL;

    for (size_t i = 0; i < p->n && !p->active; i++) {
        struct gpu_partition *e = &p->all[i];

        if (e->phase != PHASE_ANNOUNCED)
            continue;
        if (is_in_service(&e->wish, &e->plan)) {
            partition_start(p, e);
            continue;
        }
        if (!gpus && text)
            err_free(json_parse(str_of(text), &gpus)); /* damaged: not announced */
        if (p->o.holders.ask ? p->o.holders.is_announced(p->o.holders.self, e->uuid)
                             : is_announced(gpus, e))
            ask_for_pods(p, e);
    }
}

static void on_partitions_time(void *arg)
{
    struct gpu_partitions *p = arg;

    p->o.changed(p->o.arg);
}

struct err *gpu_partitions_new(const struct gpu_partitions_options *o, struct gpu_partitions **ret)
{
    struct gpu_partitions *p = mem_alloc(sizeof(*p));
    struct err *e = NULL;

    p->o = *o;
    p->dir = mem_strdup(o->dir);
    p->timer = loop_timer_new(o->loop, on_partitions_time, p);
    e = dir_make(p->dir, 0700);
    if (!e)
        e = journal_read(p);
    if (e) {
        gpu_partitions_free(p);
        return err_wrap(e, "changes of MIG instances");
    }
    *ret = p;
    return NULL;
}

void gpu_partitions_free(struct gpu_partitions *p)
{
    if (!p)
        return;
    if (p->call)
        client_cancel(p->call);
    for (size_t i = 0; i < p->n; i++)
        free(p->all[i].journal);
    loop_timer_free(p->timer);
    free(p->dir);
    free(p);
}
