/*
 * pmix_space_linux.c - the name space of a step in libpmix: its nodes, and what each rank is told
 *
 * The attributes are those that the PMIx standard 4.1, section 11.2.3, asks of a host, and that
 * Open MPI reads.
 */

#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/num.h"
#include "cli/slurm/pmix_private.h"
#include "slurm/pmix_message.h"
#include "slurm/step_layout.h"

/* Attributes; done frees texts and arrays. */
struct pmix_infos { /* as VEC(pmix_info_t) */
    pmix_info_t *at;
    size_t n;
    size_t room;
};

enum {
    OF_RANK = 8 /* attributes of a rank */
};

/* ---- attributes ---- */

static pmix_value_t *infos_add(struct pmix_infos *all, const char *key, pmix_data_type_t type)
{
    pmix_info_t *info;

    vec_add(all, (pmix_info_t){0});
    info = &all->at[all->n - 1];
    memcpy(info->key, key, strlen(key)); /* a constant, shorter than the array */
    info->value.type = type;
    return &info->value;
}

static void infos_add_text(struct pmix_infos *all, const char *key, const char *text)
{
    infos_add(all, key, PMIX_STRING)->data.string = mem_strdup(text);
}

static void infos_add_count(struct pmix_infos *all, const char *key, size_t count)
{
    infos_add(all, key, PMIX_UINT32)->data.uint32 = (uint32_t)count;
}

static void infos_add_small(struct pmix_infos *all, const char *key, uint32_t count)
{
    infos_add(all, key, PMIX_UINT16)->data.uint16 = (uint16_t)count;
}

static void infos_add_rank(struct pmix_infos *all, const char *key, uint32_t rank)
{
    infos_add(all, key, PMIX_PROC_RANK)->data.rank = rank;
}

static void infos_done(struct pmix_infos *all)
{
    VEC_EACH (all, info) {
        if (info->value.type == PMIX_STRING)
            free(info->value.data.string);
        if (info->value.type == PMIX_DATA_ARRAY) {
            struct pmix_infos inner = {.at = info->value.data.darray->array,
                                       .n = info->value.data.darray->size};

            infos_done(&inner);
            free(info->value.data.darray);
        }
    }
    vec_done(all);
}

/* Takes the inner attributes. */
static void infos_add_array(struct pmix_infos *all, const char *key, struct pmix_infos *taken)
{
    pmix_data_array_t *array = mem_alloc(sizeof(*array));

    *array = (pmix_data_array_t){.type = PMIX_INFO, .size = taken->n, .array = taken->at};
    *taken = (struct pmix_infos){0};
    infos_add(all, key, PMIX_DATA_ARRAY)->data.darray = array;
}

/* ---- what ranks are told ---- */

/* The first attribute must be the rank. */
static void infos_add_task(struct pmix_infos *all, const struct pmix_space *s, uint32_t rank)
{
    struct pmix_infos task = {.at = mem_alloc(OF_RANK * sizeof(*task.at)), .room = OF_RANK};

    infos_add_rank(&task, PMIX_RANK, rank);
    infos_add_rank(&task, PMIX_GLOBAL_RANK, rank);
    infos_add_rank(&task, PMIX_APP_RANK, rank);
    infos_add_count(&task, PMIX_APPNUM, 0);
    infos_add_small(&task, PMIX_LOCAL_RANK, s->local_ranks.at[rank]);
    infos_add_small(&task, PMIX_NODE_RANK, s->local_ranks.at[rank]);
    infos_add_count(&task, PMIX_NODEID, s->owners.at[rank]);
    infos_add_text(&task, PMIX_HOSTNAME, s->nodes.at[s->owners.at[rank]]);
    infos_add_array(all, PMIX_PROC_DATA, &task);
}

/* "raw:" begins a list that is not compressed (libpmix, preg/raw). */
static void infos_add_maps(struct pmix_infos *all, const struct pmix_space *s)
{
    const json_t *lists = json_object_get(s->document, "ranks");
    struct buf nodes = {0};
    struct buf ranks = {0};

    for (size_t i = 0; i < s->nodes.n; i++) {
        buf_printf(&nodes, "%s%s", i == 0 ? "raw:" : ",", s->nodes.at[i]);
        buf_printf(&ranks, "%s%s", i == 0 ? "raw:" : ";",
                   json_string_value(json_array_get(lists, i)));
    }
    infos_add(all, PMIX_NODE_MAP, PMIX_STRING)->data.string = buf_steal(&nodes);
    infos_add(all, PMIX_PROC_MAP, PMIX_STRING)->data.string = buf_steal(&ranks);
}

static void infos_add_step(struct pmix_infos *all, const struct pmix_space *s)
{
    const json_t *lists = json_object_get(s->document, "ranks");

    infos_add_text(all, PMIX_JOBID, s->job);
    infos_add_count(all, PMIX_UNIV_SIZE, s->size);
    infos_add_count(all, PMIX_JOB_SIZE, s->size);
    infos_add_count(all, PMIX_APP_SIZE, s->size);
    infos_add_count(all, PMIX_MAX_PROCS, s->size);
    infos_add_count(all, PMIX_JOB_NUM_APPS, 1);
    infos_add_count(all, PMIX_NUM_NODES, s->nodes.n);
    infos_add_count(all, PMIX_LOCAL_SIZE, s->ranks.n);
    infos_add_count(all, PMIX_NODE_SIZE, s->ranks.n);
    infos_add_rank(all, PMIX_LOCALLDR, s->ranks.at[0]);
    infos_add_rank(all, PMIX_APPLDR, 0);
    infos_add_text(all, PMIX_LOCAL_PEERS, json_string_value(json_array_get(lists, s->node)));
    infos_add(all, PMIX_SPAWNED, PMIX_BOOL)->data.flag = false;
    infos_add_maps(all, s);
}

/* ---- registration ---- */

struct err *pmix_check(pmix_status_t status, const char *what)
{
    if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED)
        return NULL;
    return err_new(ERR_INTERNAL, "%s: %s", what, sym_PMIx_Error_string(status));
}

/* Without a callback these functions wait for their end. */
struct err *pmix_space_register(const struct pmix_space *s)
{
    struct pmix_infos all = {0};
    pmix_proc_t proc = {0};
    pmix_status_t status;

    memcpy(proc.nspace, s->name, sizeof(proc.nspace));
    infos_add_step(&all, s);
    for (uint32_t rank = 0; rank < s->size; rank++)
        infos_add_task(&all, s, rank);
    status =
        sym_PMIx_server_register_nspace(proc.nspace, (int)s->ranks.n, all.at, all.n, NULL, NULL);
    infos_done(&all);
    TRY(pmix_check(status, "register the step"));
    VEC_EACH (&s->ranks, rank) {
        proc.rank = *rank;
        TRY(pmix_check(sym_PMIx_server_register_client(&proc, getuid(), getgid(), NULL, NULL, NULL),
                       "register a task"));
    }
    return NULL;
}

/* ---- the document ---- */

static struct err *space_wrong(const char *member)
{
    return err_new(ERR_INVALID, "the setup of PMIx: '%s' is malformed", member);
}

/* Ranks of a node: "0,1,5". */
static struct err *space_read_ranks(struct pmix_space *s, size_t node, const char *text)
{
    struct str rest = str_of(text);
    uint32_t local = 0;

    while (rest.at) {
        int64_t rank = 0;

        TRY(num_parse_int64(str_cut(&rest, ','), 0, (int64_t)s->size - 1, &rank));
        if (s->owners.at[rank] != UINT32_MAX)
            return space_wrong("ranks");
        s->owners.at[rank] = (uint32_t)node;
        s->local_ranks.at[rank] = local++;
        if (node == s->node)
            vec_add(&s->ranks, (uint32_t)rank);
    }
    return NULL;
}

static struct err *space_read_nodes(struct pmix_space *s)
{
    const json_t *names = json_object_get(s->document, "nodes");
    const json_t *lists = json_object_get(s->document, "ranks");

    for (uint32_t rank = 0; rank < s->size; rank++) {
        vec_add(&s->owners, UINT32_MAX);
        vec_add(&s->local_ranks, 0);
    }
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        const char *list = json_string_value(json_array_get(lists, i));

        if (!name || !*name || strpbrk(name, ",;"))
            return space_wrong("nodes");
        if (!list)
            return space_wrong("ranks");
        vec_add(&s->nodes, name);
        TRY(space_read_ranks(s, i, list));
    }
    VEC_EACH (&s->owners, owner)
        if (*owner == UINT32_MAX)
            return space_wrong("ranks");
    return s->ranks.n == 0 ? space_wrong("node") : NULL;
}

static struct err *space_read_all(struct pmix_space *s)
{
    int64_t size = json_int(s->document, "size", 0);
    const char *name = json_text_filled(s->document, "space");

    s->job = json_text_filled(s->document, "job");
    s->node = (size_t)json_int(s->document, "node", 0);
    s->size = (uint32_t)size;
    if (!name || strlen(name) >= sizeof(s->name))
        return space_wrong("space");
    memcpy(s->name, name, strlen(name));
    if (!s->job)
        return space_wrong("job");
    if (size <= 0 || size > STEP_TASKS_MAX)
        return space_wrong("size");
    return space_read_nodes(s);
}

struct err *pmix_space_read(struct str text, struct pmix_space *ret)
{
    struct pmix_space s = {0};
    struct err *e;

    TRY(json_parse(text, &s.document));
    e = space_read_all(&s);
    if (e)
        pmix_space_done(&s);
    else
        *ret = s;
    return e;
}

void pmix_space_done(struct pmix_space *s)
{
    vec_done(&s->nodes);
    vec_done(&s->owners);
    vec_done(&s->local_ranks);
    vec_done(&s->ranks);
    json_decref(s->document);
    *s = (struct pmix_space){0};
}
