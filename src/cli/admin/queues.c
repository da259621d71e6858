/* queues.c - mete queues: the tree of queues with quotas, held gpus and waiting jobs */

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/term/output.h"
#include "control/kube/kube_reports.h"
#include "kinds/pod/pod_state.h"
#include "kinds/queue.h"

enum {
    DEPTH_MAX = 64
};

static const char *name_of(const json_t *queue)
{
    return json_text_at(queue, "metadata", "name", NULL);
}

/* Returns the parent's name; "" for a queue at the top. */
static const char *parent_of(const json_t *queue)
{
    const char *parent = json_text_at(queue, "spec", "parent", NULL);

    return parent && !text_equal(parent, QUEUE_ROOT) ? parent : "";
}

static json_t *queue_find(const json_t *queues, const char *name)
{
    json_t *queue;
    size_t i;

    json_array_foreach (queues, i, queue)
        if (text_equal(name_of(queue), name))
            return queue;
    return NULL;
}

/* "active", or the problem in a few words. */
static const char *queue_state(const json_t *queue)
{
    const json_t *condition = object_condition(queue, "Active");
    const char *reason = json_text(condition, "reason");

    if (!condition)
        return "new";
    if (text_equal(reason, "Stopped"))
        return "stopped";
    if (text_equal(reason, "ParentMissing"))
        return "no parent";
    return text_equal(json_text(condition, "status"), "True") ? "active" : "refused";
}

static json_t *gpus_cell(const char *quantity)
{
    AUTO_FREE char *text = amount_format("gpu", quantity);

    return json_text_new(text);
}

/* Reads a member of the queue's gpu quota, if the queue has one. */
static json_t *gpus_of(const json_t *queue, const char *key)
{
    const json_t *list = json_at(queue, "status", "quotas", NULL);

    for (size_t i = 0; i < json_array_size(list); i++)
        if (text_equal(json_text(json_array_get(list, i), "resource"), "gpu"))
            return gpus_cell(json_text(json_array_get(list, i), key));
    return json_null();
}

static json_t *share_of(const json_t *queue)
{
    const json_t *ppm = json_at(queue, "status", "sharePpm", NULL);
    int64_t tenths = (json_int_at(queue, "status", "sharePpm", NULL) + 500) / 1000;
    AUTO_FREE char *text = mem_format("%" PRId64 ".%" PRId64 "%%", tenths / 10, tenths % 10);

    return ppm ? json_string(text) : json_null();
}

/* Returns how long the queue's next workload has waited. */
static json_t *oldest_of(const json_t *queue, int64_t now_ns)
{
    const char *stamp = json_text_at(queue, "status", "waitingSince", NULL);
    int64_t at_ns = stamp_or(stamp, -1);
    char text[STAMP_TEXT_SIZE];

    if (at_ns < 0)
        return json_null();
    stamp_format_age(now_ns > at_ns ? now_ns - at_ns : 0, text);
    return json_string(text);
}

static json_t *count_of(const json_t *queue, const char *key)
{
    const json_t *n = json_at(queue, "status", key, NULL);

    return json_is_integer(n) ? json_integer(json_integer_value(n)) : json_null();
}

/* Formats the quotas of other resources: "cpu 12/32, memory 4Gi/64Gi". */
static json_t *others_of(const json_t *queue)
{
    const json_t *list = json_at(queue, "status", "quotas", NULL);
    struct buf out = {0};
    AUTO_FREE char *text = NULL;
    json_t *quota;
    size_t i;

    json_array_foreach (list, i, quota)
        if (!text_equal(json_text(quota, "resource"), "gpu"))
            buf_printf(&out, "%s%s %s/%s", out.size > 0 ? ", " : "", json_text(quota, "resource"),
                       json_text(quota, "held"), json_text(quota, "nominal"));
    text = buf_steal(&out);
    return json_text_new(text);
}

/* The note of a Queue that stands for another scheduler's object: why Mete does not use the object,
 * or which of its fields Mete does not follow. */
static json_t *note_of(const json_t *queue)
{
    const json_t *annotations = json_at(queue, "metadata", "annotations", NULL);
    const char *refused = json_text(annotations, QUEUE_REFUSED);

    if (!queue_source(queue))
        return json_null();
    return json_text_new(refused ? refused : json_text(annotations, QUEUE_NOTE));
}

static void queues_add_row(struct listing *l, json_t *queue, unsigned depth, int64_t now_ns)
{
    AUTO_FREE char *name = mem_format("%*s%s", (int)depth * 2, "", name_of(queue));
    json_t *row = json_array();
    json_t *const cells[] = {
        json_string(name),
        json_integer(json_int_at(queue, "spec", "weight", NULL)),
        gpus_of(queue, "nominal"),
        gpus_cell(json_text_at(queue, "status", "gpus", NULL)),
        gpus_of(queue, "borrowed"),
        share_of(queue),
        count_of(queue, "waiting"),
        count_of(queue, "onHold"),
        count_of(queue, "running"),
        oldest_of(queue, now_ns),
        json_string(queue_state(queue)),
        others_of(queue),
    };

    for (size_t i = 0; i < COUNT(cells); i++)
        (void)json_array_append_new(row, cells[i]); /* fresh */
    if (l->columns.n > COUNT(cells)) {
        (void)json_array_append_new(row, json_text_new(queue_source(queue)));
        (void)json_array_append_new(row, note_of(queue));
    }
    json_put_text(queue, "apiVersion", "mete.dev/v1");
    json_put_text(queue, "kind", "Queue");
    listing_add(l, row, queue);
}

/* Adds a queue and the queues below it; `queues` is sorted by name. */
static void add_tree(struct listing *l, const json_t *queues, json_t *top, unsigned depth,
                     int64_t now_ns)
{
    json_t *queue;
    size_t i;

    queues_add_row(l, top, depth, now_ns);
    json_array_foreach (queues, i, queue)
        if (depth < DEPTH_MAX && text_equal(parent_of(queue), name_of(top)))
            add_tree(l, queues, queue, depth + 1, now_ns);
}

/* Adds all trees. Queues whose parent does not exist are shown at the top, too. */
static void queues_add_all(struct listing *l, const json_t *queues, int64_t now_ns)
{
    json_t *queue;
    size_t i;

    json_array_foreach (queues, i, queue) {
        const char *parent = parent_of(queue);

        if (!text_equal(name_of(queue), QUEUE_ROOT) && (!*parent || !queue_find(queues, parent)))
            add_tree(l, queues, queue, 0, now_ns);
    }
}

static bool queues_have_sources(const json_t *queues)
{
    for (size_t i = 0; i < json_array_size(queues); i++)
        if (queue_source(json_array_get(queues, i)))
            return true;
    return false;
}

static void queues_columns(struct listing *l, bool has_sources)
{
    static const char *const names[] = {"QUEUE",     "#WEIGHT", "#GPUS",    "#HELD",
                                        "#BORROWED", "#SHARE",  "#WAITING", "!#ON HOLD",
                                        "#RUNNING",  "#OLDEST", "STATE",    "!OTHERS"};

    for (size_t i = 0; i < COUNT(names); i++)
        listing_column(l, names[i]);
    if (has_sources) {
        listing_column(l, "SOURCE");
        listing_column(l, "!NOTE");
    }
}

static struct err *queues_print(struct cli *c, const json_t *queues, int64_t now_ns)
{
    const char *wanted = c->in->arguments.n > 0 ? c->in->arguments.at[0] : NULL;
    json_t *top = wanted ? json_incref(queue_find(queues, wanted)) : NULL;
    struct listing l;
    struct err *e = NULL;

    if (wanted && !top) {
        cli_try(c, "mete queues   lists the queues");
        return err_new(ERR_NOT_FOUND, "there is no queue \"%s\"", wanted);
    }
    listing_init(&l, "QueueList");
    l.api_version = "mete.dev/v1";
    l.prefix = "queue";
    queues_columns(&l, queues_have_sources(queues));
    if (top)
        add_tree(&l, queues, top, 0, now_ns);
    else
        queues_add_all(&l, queues, now_ns);
    e = listing_print(c, &l);
    listing_done(&l);
    json_decref(top);
    return e;
}

static struct err *queues_run(struct cli *c)
{
    const struct list_query q = {.path = "/apis/mete.dev/v1/queues"};
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *report = NULL;
    AUTO(err_freep) struct err *none = NULL;
    struct list_result list = {0};
    struct err *e;

    TRY(session_open(c, &s));
    none = session_get(s, REPORTS_PATH "/queues", &report); /* of a cluster's scheduler */
    if (!none)
        return queues_print(c, json_object_get(report, "items"), loop_wall_ns(session_loop(s)));
    TRY(session_list(s, &q, &list));
    e = queues_print(c, json_object_get(list.first, "items"), loop_wall_ns(session_loop(s)));
    json_decref(list.first);
    return e;
}

const struct command command_queues = {
    .name = "queues",
    .arguments = "[QUEUE]",
    .summary = "show the tree of queues: quotas, GPUs held, waiting and running jobs",
    .doc = "With QUEUE: this queue and the queues below it. The numbers are at most a second old. "
           "GPUS: nominal quota. BORROWED: GPUs held above it. SHARE: dominant share of the "
           "cluster, held now and used lately. OLDEST: age of the next job. On a cluster with "
           "queues of Kueue, Volcano or KAI, SOURCE names their objects, and NOTE (-o wide) says "
           "what of them is "
           "not done.",
    .examples = {{"queues", "shows all queues"},
                 {"queues research -o json",
                  "prints one queue and the queues below it, for programs"},
                 {0}},
    .groups = FLAGS_SERVER | FLAGS_OUTPUT,
    .takes = TAKES_QUEUES,
    .n_max = 1,
    .run = queues_run,
};
