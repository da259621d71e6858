/* slurm_qos.c - the QOS of a partition and that of a job, and which limits of both hold */

#include "kinds/slurm/slurm_qos.h"

#include <stdlib.h>

#include "base/mem.h"
#include "model/slurm_tres.h"

char *slurm_qos_of_partition(const struct slurm_books *b, const char *partitions)
{
    struct str rest = str_of(text_or_empty(partitions));
    struct str first = str_cut(&rest, ',');
    AUTO_FREE char *name = mem_strndup(first.at, first.size);
    AUTO(json_freep) json_t *partition = b->find(b->arg, "slurmpartitions", name);
    const char *qos = json_text_filled(json_object_get(partition, "spec"), "qos");

    return qos ? mem_strdup(qos) : NULL;
}

static void limits_add(const struct slurm_books *b, const char *name, struct slurm_qos_limits *q)
{
    AUTO(json_freep) json_t *object = b->find(b->arg, "slurmqoses", name);
    json_t *spec = json_object_get(object, "spec");

    q->names[q->n] = mem_strdup(name);
    q->specs[q->n++] = spec ? json_copy(spec) : NULL;
}

/* The list without the resources that `other` names. The caller frees it. */
static char *list_without(const char *list, const char *other)
{
    struct slurm_tres named = {0};
    struct buf changes = {0};
    char *rest = NULL;

    err_free(slurm_tres_parse(str_of(other), &named)); /* was checked when it was written */
    VEC_EACH (&named.items, item)
        buf_printf(&changes, "%s%s=-1", changes.size > 0 ? "," : "", item->name);
    slurm_tres_done(&named);
    err_free(slurm_tres_change(list, text_or_empty(changes.at), &rest)); /* likewise */
    buf_done(&changes);
    return rest;
}

/* Takes from `spec` the limits that `first` has. */
static void drop_limits(json_t *spec, const json_t *first)
{
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe (spec, next, key, value) {
        const json_t *other = json_object_get(first, key);
        bool is_list = strstr(key, "TRES") != NULL;

        if (!other || text_equal(key, "flags"))
            continue;
        if (is_list && json_is_string(value) && json_is_string(other)) {
            AUTO_FREE char *rest = list_without(json_string_value(value), json_string_value(other));

            json_put_text(spec, key, text_or_empty(rest));
        } else {
            (void)json_object_del(spec, key); /* is there */
        }
    }
}

static bool has_flag(const json_t *spec, const char *flag)
{
    return json_has_text(json_object_get(spec, "flags"), flag);
}

void slurm_qos_find(const struct slurm_books *b, const char *qos, const char *partitions,
                    struct slurm_qos_limits *ret)
{
    AUTO_FREE char *of_partition = slurm_qos_of_partition(b, partitions);
    const char *own = qos && *qos ? qos : SLURM_QOS_DEFAULT;
    bool is_own_first;

    *ret = (struct slurm_qos_limits){0};
    limits_add(b, own, ret);
    if (!of_partition || text_equal(of_partition, own))
        return;
    limits_add(b, of_partition, ret);
    is_own_first = has_flag(ret->specs[0], "OverPartQOS");
    drop_limits(ret->specs[is_own_first], ret->specs[!is_own_first]);
}

void slurm_qos_done(struct slurm_qos_limits *q)
{
    for (size_t i = 0; i < q->n; i++) {
        free(q->names[i]);
        json_decref(q->specs[i]);
    }
    *q = (struct slurm_qos_limits){0};
}

char *slurm_qos_exceeds(const struct slurm_qos_limits *q, const struct slurm_chain *c,
                        const struct slurm_size *s, bool *ret_denies)
{
    const struct slurm_chain none = {0};
    bool denies = false;
    char *reason = NULL;

    *ret_denies = false;
    for (size_t i = 0; i < q->n && !reason; i++) {
        reason = slurm_limits_find(&none, q->specs[i], s, &denies);
        *ret_denies = *ret_denies || denies;
    }
    return reason ? reason : slurm_limits_find(c, NULL, s, &denies);
}
