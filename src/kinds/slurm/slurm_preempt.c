/* slurm_preempt.c - PreemptType, PreemptMode, QOS and partitions as rules of evictions */

#include "kinds/slurm/slurm_preempt.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/vec.h"
#include "kinds/slurm/slurm_accounts.h"
#include "mete/engine.h"
#include "model/slurm_time.h"

#define SECONDS_A_MINUTE 60

/* The objects that the rules are made from. */
struct preempt_site {
    const json_t *settings;
    const json_t *specs; /* of QOS or partitions, by name */
    bool is_by_qos;
};

static bool mode_is(const char *mode, const char *word)
{
    size_t size = strcspn(mode, ",");

    return size == strlen(word) && strncasecmp(mode, word, size) == 0;
}

/* "OFF", "CANCEL", "REQUEUE" or "SUSPEND", in any case; that of the cluster may have ",GANG". */
static const char *mode_of(const struct preempt_site *site, const char *name)
{
    const char *cluster = json_text_filled(site->settings, "PreemptMode");
    const char *own = json_text_filled(json_object_get(site->specs, name), "preemptMode");

    return own && strcasecmp(own, "cluster") != 0 ? own : cluster ? cluster : "OFF";
}

static bool may_preempt(const struct preempt_site *site, const char *by, const char *victim)
{
    const json_t *spec = json_object_get(site->specs, by);
    const json_t *other = json_object_get(site->specs, victim);

    if (mode_is(mode_of(site, victim), "OFF"))
        return false;
    if (site->is_by_qos)
        return json_has_text(json_object_get(spec, "preempt"), victim);
    return json_int(spec, "priorityTier", 1) > json_int(other, "priorityTier", 1);
}

static int64_t exempt_seconds(const struct preempt_site *site, const json_t *spec)
{
    const char *text = json_text_filled(site->settings, "PreemptExemptTime");
    int64_t minutes = 0;

    if (json_object_get(spec, "preemptExemptTime"))
        return json_int(spec, "preemptExemptTime", 0);
    if (text)
        err_free(slurm_minutes_parse(str_of(text), &minutes)); /* was checked when it was read */
    return minutes > 0 ? minutes * SECONDS_A_MINUTE : 0;
}

static json_t *class_new(const struct preempt_site *site, const char *name, size_t number)
{
    const json_t *spec = json_object_get(site->specs, name);
    json_t *class = json_object();

    json_put_int(class, "class", (int64_t)number);
    json_put(class, "victims", json_array());
    json_put_int(class, "exemptSeconds", exempt_seconds(site, spec));
    json_put_int(class, "graceSeconds",
                 json_int(spec, site->is_by_qos ? "graceTime" : "graceTimeSeconds", 0));
    json_put_bool(class, "cancels", mode_is(mode_of(site, name), "CANCEL"));
    json_put_bool(class, "suspends", mode_is(mode_of(site, name), "SUSPEND"));
    return class;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

struct preempt_names {
    VEC(const char *) list;
};

/* The names that preempt others or are preempted, sorted. */
static void list_names(const struct preempt_site *site, struct preempt_names *ret)
{
    const char *name;
    const char *other;
    json_t *spec;
    json_t *of_other;

    json_object_foreach ((json_t *)(uintptr_t)site->specs, name, spec) {
        bool has_part = false;

        json_object_foreach ((json_t *)(uintptr_t)site->specs, other, of_other)
            has_part = has_part || may_preempt(site, name, other) || may_preempt(site, other, name);
        if (has_part)
            vec_add(&ret->list, name);
    }
    if (ret->list.n > 1)
        qsort(ret->list.at, ret->list.n, sizeof(*ret->list.at), compare_names);
}

static json_t *classes_of(const struct preempt_site *site, size_t *ret_left)
{
    json_t *classes = json_object();
    struct preempt_names names = {0};

    list_names(site, &names);
    *ret_left = names.list.n >= METE_EVICT_CLASSES ? names.list.n - METE_EVICT_CLASSES + 1 : 0;
    names.list.n -= *ret_left;
    for (size_t i = 0; i < names.list.n; i++) {
        json_t *class = class_new(site, names.list.at[i], i + 1);

        for (size_t k = 0; k < names.list.n; k++)
            if (may_preempt(site, names.list.at[i], names.list.at[k]))
                (void)json_array_append_new(json_object_get(class, "victims"),
                                            json_integer((json_int_t)k + 1));
        json_put(classes, names.list.at[i], class);
    }
    vec_done(&names.list);
    return classes;
}

json_t *slurm_preempt_rules(const json_t *settings, const json_t *qoses, const json_t *partitions,
                            size_t *ret_left)
{
    const char *type = json_text_filled(settings, "PreemptType");
    bool is_by_qos = text_equal(type, "preempt/qos");
    struct preempt_site site = {settings, is_by_qos ? qoses : partitions, is_by_qos};
    AUTO(json_freep) json_t *specs = NULL;
    AUTO(json_freep) json_t *classes = NULL;

    *ret_left = 0;
    if (!is_by_qos && !text_equal(type, "preempt/partition_prio"))
        return NULL;
    if (is_by_qos && !json_object_get(qoses, SLURM_QOS_DEFAULT)) {
        specs = json_copy((json_t *)(uintptr_t)qoses); /* the default QOS needs no object */
        json_put(specs, SLURM_QOS_DEFAULT, json_object());
        site.specs = specs;
    }
    classes = classes_of(&site, ret_left);
    if (json_object_size(classes) == 0)
        return NULL;
    return json_pack("{s:s,s:O}", "by", is_by_qos ? "qos" : "partition", "classes", classes);
}

const json_t *slurm_preempt_class(const json_t *rules, const char *qos, const char *partitions)
{
    const json_t *classes = json_object_get(rules, "classes");
    struct str rest = str_of(text_or_empty(partitions));
    struct str first = str_cut(&rest, ',');
    AUTO_FREE char *name = NULL;

    if (text_equal(json_text(rules, "by"), "qos"))
        return json_object_get(classes, qos && *qos ? qos : SLURM_QOS_DEFAULT);
    name = mem_strndup(first.at, first.size);
    return json_object_get(classes, name);
}
