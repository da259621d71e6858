/* sim_cluster.c - the cluster of a replay, from a file or from a running Mete */

#include <ctype.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/yaml.h"
#include "cli/sim/sim_jobs.h"
#include "cli/sim/sim_live.h"
#include "control/queue/queue_read.h"
#include "kinds/queue.h"
#include "sim/trace_file.h"

static struct err *parse_size(struct str size, struct jobs_change *ret)
{
    struct str count = str_cut(&size, 'x');
    int64_t gpus = 0;

    TRY(num_parse_int64(count, 1, POOL_GPUS_MAX, &gpus));
    ret->gpus = (uint32_t)gpus;
    if (size.size >= sizeof(ret->model))
        return err_new(ERR_INVALID, "a model name over %zu bytes", sizeof(ret->model) - 1);
    for (size_t i = 0; i < size.size; i++)
        ret->model[i] = (char)tolower((unsigned char)size.at[i]);
    return NULL;
}

struct err *jobs_change_parse(struct str text, struct jobs_change *ret)
{
    struct str rest = text;
    struct str verb = str_cut(&rest, ' ');
    struct str count = str_cut(&rest, ' ');
    const bool is_removal = str_equal(verb, STR("remove"));
    int64_t n = 0;

    *ret = (struct jobs_change){0};
    if (!is_removal && !str_equal(verb, STR("add")))
        return err_new(ERR_INVALID, "'" STR_FMT "' is no change", STR_ARG(verb));
    TRY(num_parse_int64(count, 1, POOL_NODES_MAX, &n));
    if (rest.at) {
        struct str x = str_cut(&rest, ' ');

        if (!str_equal(x, STR("x")))
            return err_new(ERR_INVALID, "'" STR_FMT "' is not x", STR_ARG(x));
        TRY(parse_size(rest, ret));
    }
    ret->nodes = is_removal ? -n : n;
    return NULL;
}

/* ---- a file ---- */

struct queue_file {
    struct sim_cluster *cluster;
    json_t *queues; /* by name */
    struct arena *arena;
};

static struct err *add_document(struct queue_file *f, json_t *document)
{
    const char *kind = json_text(document, "kind");
    const char *name = json_text_at(document, "metadata", "name", NULL);

    if (text_equal(kind, "Cluster"))
        return sim_cluster_add_nodes(f->cluster, document);
    if (!text_equal(kind, "Queue"))
        return err_new(ERR_INVALID, "kind '%.64s': want Cluster or Queue", kind ? kind : "");
    if (!name)
        return err_new(ERR_INVALID, "a queue needs metadata.name");
    TRY(kind_validate(kind_find("mete.dev", "queues"), document));
    if (json_object_get(f->queues, name))
        return err_new(ERR_INVALID, "duplicate queue %s", name);
    (void)json_object_set(f->queues, name, document); /* its name is valid */
    return NULL;
}

/* Adds parents before children: each round adds the queues whose parent exists. */
static struct err *add_queues(struct queue_file *f)
{
    AUTO(json_freep) json_t *left = json_deep_copy(f->queues);
    size_t before;

    do {
        const char *name;
        json_t *queue;
        void *next;

        before = json_object_size(left);
        json_object_foreach_safe (left, next, name, queue) {
            const char *parent = queue_read_parent(queue);
            struct mete_queue q;

            if (parent && (json_object_get(left, parent) || !json_object_get(f->queues, parent)))
                continue;
            if (!text_equal(name, QUEUE_ROOT)) {
                queue_read(f->arena, name, queue, &q);
                sim_cluster_add_queue(f->cluster, &q);
            }
            (void)json_object_del(left, name);
        }
    } while (json_object_size(left) < before);
    if (before > 0)
        return err_new(ERR_INVALID, "queue %s: its parent is not there, or below it",
                       json_object_iter_key(json_object_iter(left)));
    return NULL;
}

static struct err *add_documents(struct queue_file *f, const json_t *documents)
{
    const json_t *root;
    struct mete_fairness fairness;
    json_t *document;
    size_t i;

    json_array_foreach (documents, i, document) {
        struct err *e = add_document(f, document);

        if (e)
            return err_wrap(e, "document %zu", i + 1);
    }
    TRY(add_queues(f));
    root = json_object_get(f->queues, QUEUE_ROOT);
    queue_read_fairness(root, &fairness);
    sim_cluster_set_fairness(f->cluster, &fairness);
    if (sim_cluster_node_count(f->cluster) == 0)
        return err_new(ERR_INVALID, "no nodes: want a document of kind Cluster");
    return NULL;
}

static struct err *read_file(const char *path, struct sim_cluster *c)
{
    AUTO(json_freep) json_t *documents = NULL;
    AUTO(json_freep) json_t *queues = json_object();
    AUTO(arena_freep) struct arena *a = arena_new();
    AUTO(buf_done) struct buf text = {0};
    struct queue_file f = {.cluster = c, .queues = queues, .arena = a};
    struct err *e;

    TRY(trace_file_read(path, &text));
    TRY(yaml_parse(path, (struct str){text.at, text.size}, &documents));
    e = add_documents(&f, documents);
    return e ? err_wrap(e, "%s", path) : NULL;
}

/* ---- a running Mete ---- */

static struct err *read_live(struct cli *c, struct sim_cluster *cluster)
{
    AUTO(buf_done) struct buf text = {.cap = TRACE_FILE_MAX};
    size_t left_out = 0;

    TRY(sim_recording_get(c, &text));
    TRY(sim_cluster_add_recording(cluster, (struct str){text.at, text.size}, &left_out));
    if (sim_cluster_node_count(cluster) == 0)
        return err_new(ERR_INVALID, "the running Mete has no nodes");
    if (left_out > 0)
        cli_say(c, "%zu jobs of the cluster have no time limit and are ignored", left_out);
    return NULL;
}

static struct err *read_cluster(struct jobs_question *q, struct sim_cluster **ret)
{
    const char *path = flag_text(q->cli->in, "cluster");
    AUTO(sim_cluster_freep) struct sim_cluster *c = sim_cluster_new();

    if (path)
        TRY(read_file(path, c));
    else
        TRY(read_live(q->cli, c));
    *ret = TAKE(c);
    return NULL;
}

static struct err *change_cluster(struct sim_cluster *c, struct str text)
{
    struct jobs_change change;

    TRY(jobs_change_parse(text, &change));
    if (change.nodes < 0)
        return sim_cluster_remove_last(c, (uint32_t)-change.nodes);
    return sim_cluster_add_like(c, "what-if", (uint32_t)change.nodes,
                                change.gpus > 0 ? change.gpus : 8,
                                *change.model ? change.model : "gpu");
}

struct err *jobs_cluster_read(struct jobs_question *q)
{
    struct cli *c = q->cli;
    const char *from = flag_text(c->in, "from");
    const char *change = flag_text(c->in, "what-if");
    AUTO(err_freep) struct err *e = NULL;

    if (!flag_text(c->in, "cluster") && !from)
        return NULL;
    if (from && !text_equal(from, "live"))
        return cli_usage(c, "--from \"%s\": want live", from);
    if (from && flag_text(c->in, "cluster"))
        return cli_usage(c, "--from live and --cluster exclude each other");
    if (flag_text(c->in, "nodes") || flag_count(c->in, "gpus-per-node", 0) != 0)
        return cli_usage(
            c,
            "--nodes and --gpus-per-node describe a pool of equal nodes: omit them with a cluster");
    TRY(read_cluster(q, &q->cluster));
    if (!change)
        return NULL;
    TRY(read_cluster(q, &q->cluster_then));
    e = change_cluster(q->cluster_then, str_of(change));
    if (e)
        return cli_usage(c, "--what-if \"%s\": %s: want 'add 8 x 8xH100' or 'remove 2'", change,
                         err_message(e));
    return NULL;
}
