/* kubelet_node.c - labels, conditions and a taint of gpus on the Node of a cluster */

#include "node/kubelet_node.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/retry.h"
#include "base/vec.h"
#include "client/informer.h"
#include "kinds/pod/pod_state.h"

#define HEARTBEAT_NS (300 * NS_PER_SEC) /* of conditions, as node-problem-detector's */

/* The watch alone says what the Node has, so that an answer never hides a later change. What it
 * does not tell for so long is written again. */
#define WATCH_LATE_NS (5 * NS_PER_SEC)

struct kubelet_node {
    struct kubelet_node_options o;
    char *name;
    char *file;
    char *written; /* the last text of the file; NULL: none */
    struct host_info host;
    int64_t began_ns; /* realtime */
    json_t *labels;   /* wanted; NULL: not known yet */
    json_t *node;     /* as the server has it; NULL: not known yet */
    VEC(struct gpu) gpus;
    struct gpu_driver_info driver;
    bool has_driver;
    char *driver_problem;
    enum mig_strategy strategy;
    const char *mig_state;
    bool is_known;
    bool is_late; /* conditions want a new heartbeat */
    struct informer *informer;
    struct client_call *call; /* a write under way */
    struct retry retry;
    struct loop_timer *timer;
    struct loop_timer *heartbeat;
};

char *kubelet_node_format_labels(const json_t *labels)
{
    struct buf text = {0};
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach ((json_t *)(uintptr_t)labels, key, value)
        if (json_is_string(value))
            buf_printf(&text, "%s=%s\n", key, json_string_value(value));
    return buf_steal(&text);
}

/* ---- writes ---- */

static void on_patched(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct kubelet_node *k = arg;
    AUTO(err_freep) struct err *failure = client_error(e, reply);
    AUTO(json_freep) json_t *answer = NULL;
    bool is_told = false;

    k->call = NULL;
    if (!failure)
        failure = json_parse(reply->body, &answer);
    if (failure) {
        LOG(WARN, "Node cannot be written now", S("node", k->name), E(failure));
        loop_timer_set(k->timer, retry_failed(&k->retry, loop_now_ns(k->o.loop)));
        return;
    }
    k->retry = (struct retry){0};
    is_told = text_equal(json_text_at(answer, "metadata", "resourceVersion", NULL),
                         json_text_at(k->node, "metadata", "resourceVersion", NULL));
    loop_timer_set(k->timer, is_told ? 0 : WATCH_LATE_NS);
}

static void node_patch(struct kubelet_node *k, const char *subresource, const char *type,
                       const json_t *patch)
{
    AUTO_FREE char *path = mem_format("/api/v1/nodes/%s%s", k->name, subresource);
    AUTO_FREE char *body = json_format(patch);
    struct client_request r = {
        .method = "PATCH", .path = path, .content_type = type, .body = str_of(body)};

    client_send(k->o.client, &r, on_patched, k, &k->call);
}

/* The label that tells whether the MIG instances are as the Node's label wants them. */
static json_t *mig_label(const struct kubelet_node *k)
{
    static const char key[] = "nvidia.com/mig.config.state";
    json_t *labels = json_object();

    if (json_object_get(k->labels, key))
        json_put(labels, key, json_incref(json_object_get(k->labels, key)));
    return labels;
}

static bool write_labels(struct kubelet_node *k)
{
    AUTO(json_freep) json_t *patch = NULL;
    AUTO(json_freep) json_t *labels = NULL;

    if (k->o.has_labels && !k->file)
        labels = json_incref(k->labels);
    else
        labels = mig_label(k);
    patch = json_pack("{s:{s:O}}", "metadata", "labels", labels);
    if (node_object_has(k->node, patch))
        return false;
    node_patch(k, "", "application/merge-patch+json", patch);
    return true;
}

/* Does the Node have the condition, but for its times? */
static bool has_condition(const json_t *node, const json_t *condition)
{
    static const char *const members[] = {"status", "reason", "message"};
    const json_t *present = object_condition(node, json_text(condition, "type"));

    for (size_t i = 0; i < COUNT(members); i++)
        if (!text_equal(json_text(present, members[i]), json_text(condition, members[i])))
            return false;
    return true;
}

static bool write_conditions(struct kubelet_node *k)
{
    AUTO(json_freep) json_t *status = json_object();
    AUTO(json_freep) json_t *patch = NULL;
    const json_t *list = NULL;
    bool is_there = !k->is_late;
    const struct node_facts f = {.gpus_known = true,
                                 .gpus = k->gpus.at,
                                 .n_gpus = k->gpus.n,
                                 .driver_problem = k->driver_problem,
                                 .node = k->node,
                                 .now_ns = loop_wall_ns(k->o.loop)};

    node_object_put_conditions(&f, status);
    list = json_object_get(status, "conditions");
    for (size_t i = 0; i < json_array_size(list); i++)
        is_there = is_there && has_condition(k->node, json_array_get(list, i));
    if (is_there)
        return false;
    k->is_late = false;
    patch = json_pack("{s:O}", "status", status);
    node_patch(k, "/status", "application/strategic-merge-patch+json", patch);
    return true;
}

static bool is_sick(const struct kubelet_node *k)
{
    for (size_t i = 0; i < k->gpus.n; i++)
        if (k->gpus.at[i].health > GPU_DRAINED)
            return true;
    return k->driver_problem[0] != '\0';
}

/* Taints are one list, which others write as well: a write between our read and ours is a conflict,
 * and the next try begins with what they wrote. */
static bool write_taint(struct kubelet_node *k)
{
    AUTO(json_freep) json_t *taints = NULL;
    AUTO(json_freep) json_t *patch = NULL;

    if (!k->o.taint)
        return false;
    taints = kubelet_taint_list(k->o.taint, k->node, is_sick(k));
    if (!taints)
        return false;
    patch = json_pack("{s:{s:s*},s:{s:O}}", "metadata", "resourceVersion",
                      json_text_at(k->node, "metadata", "resourceVersion", NULL), "spec", "taints",
                      taints);
    node_patch(k, "", "application/merge-patch+json", patch);
    return true;
}

static void make_labels(struct kubelet_node *k)
{
    const struct node_facts f = {.host = &k->host,
                                 .gpus_known = true,
                                 .gpus = k->gpus.at,
                                 .n_gpus = k->gpus.n,
                                 .driver = k->has_driver ? &k->driver : NULL,
                                 .mig_strategy = k->strategy,
                                 .mig_state = k->mig_state,
                                 .node = k->node,
                                 .began_ns = k->began_ns};

    json_decref(k->labels);
    k->labels = json_object();
    node_object_put_labels(&f, k->labels);
}

static void write_file(struct kubelet_node *k)
{
    AUTO_FREE char *text = kubelet_node_format_labels(k->labels);
    AUTO(err_freep) struct err *e = NULL;

    if (text_equal(text, k->written))
        return;
    e = file_write(k->file, 0644, str_of(text));
    if (e) {
        LOG(WARN, "labels cannot be written", S("path", k->file), E(e));
        loop_timer_set(k->timer, retry_failed(&k->retry, loop_now_ns(k->o.loop)));
        return;
    }
    free(k->written);
    k->written = TAKE(text);
}

/* Makes the next write, if one is due. */
static void on_node_time(void *arg)
{
    struct kubelet_node *k = arg;

    if (!k->is_known || k->call || (!k->node && !k->file))
        return;
    make_labels(k);
    if (k->o.has_labels && k->file)
        write_file(k);
    if (!k->node || write_labels(k) || (k->o.has_labels && write_conditions(k)))
        return;
    (void)write_taint(k);
}

static void on_heartbeat(void *arg)
{
    struct kubelet_node *k = arg;

    k->is_late = true;
    loop_timer_set(k->heartbeat, HEARTBEAT_NS);
    loop_timer_set(k->timer, 0);
}

/* ---- the Node ---- */

static void on_node(void *arg, const json_t *object)
{
    struct kubelet_node *k = arg;

    json_decref(k->node);
    k->node = json_incref((json_t *)(uintptr_t)object);
    loop_timer_set(k->timer, 0);
    if (k->o.on_node)
        k->o.on_node(k->o.arg, object);
}

static void on_node_removed(void *arg, const json_t *object)
{
    struct kubelet_node *k = arg;

    (void)object;
    json_decref(TAKE(k->node));
}

static void node_watch(struct kubelet_node *k)
{
    AUTO_FREE char *path = mem_format("/api/v1/nodes?fieldSelector=metadata.name%%3D%s", k->name);

    k->informer = informer_new(&(struct informer_options){.client = k->o.client,
                                                          .loop = k->o.loop,
                                                          .path = path,
                                                          .put = on_node,
                                                          .removed = on_node_removed,
                                                          .arg = k});
}

/* ---- outside ---- */

struct err *kubelet_node_new(const struct kubelet_node_options *o, struct kubelet_node **ret)
{
    struct kubelet_node *k = NULL;
    struct host_info host = {0};

    TRY(host_info_read("/", &host));
    k = mem_alloc(sizeof(*k));
    *k = (struct kubelet_node){.o = *o,
                               .name = mem_strdup(o->node),
                               .file = o->file ? mem_strdup(o->file) : NULL,
                               .host = host,
                               .began_ns = loop_wall_ns(o->loop)};
    k->timer = loop_timer_new(o->loop, on_node_time, k);
    k->heartbeat = loop_timer_new(o->loop, on_heartbeat, k);
    loop_timer_set(k->heartbeat, HEARTBEAT_NS);
    node_watch(k);
    *ret = k;
    return NULL;
}

void kubelet_node_free(struct kubelet_node *k)
{
    if (!k)
        return;
    if (k->call)
        client_cancel(k->call);
    informer_free(k->informer);
    loop_timer_free(k->timer);
    loop_timer_free(k->heartbeat);
    json_decref(k->labels);
    json_decref(k->node);
    free(k->name);
    free(k->file);
    free(k->written);
    free(k->driver_problem);
    vec_done(&k->gpus);
    free(k);
}

void kubelet_node_update(struct kubelet_node *k, const struct kubelet_node_gpus *gpus)
{
    vec_clear(&k->gpus);
    for (size_t i = 0; i < gpus->n; i++)
        vec_add(&k->gpus, gpus->gpus[i]);
    k->has_driver = gpus->driver != NULL;
    if (gpus->driver)
        k->driver = *gpus->driver;
    free(k->driver_problem);
    k->driver_problem = mem_strdup(gpus->driver_problem);
    k->strategy = gpus->strategy;
    k->mig_state = gpus->mig_state;
    k->is_known = true;
    loop_timer_set(k->timer, 0);
}
