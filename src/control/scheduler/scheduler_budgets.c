/*
 * scheduler_budgets.c - PodDisruptionBudgets as the watches told them: may a pod be evicted now?
 *
 * The rules are those of kinds/object/disruption.h. A pod that the scheduler is evicting counts as
 * being deleted.
 */
#include <stdlib.h>

#include "base/log.h"
#include "base/num.h"
#include "control/scheduler/scheduler_private.h"
#include "kinds/object/disruption.h"

static const char *label_of(const void *object, const char *key)
{
    const struct sched_pod *p = object;

    for (const char *at = p->label_text; at && *at;) {
        const char *value = at + strlen(at) + 1;

        if (strcmp(at, key) == 0)
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

void sched_pod_read_labels(struct sched_pod *p, const json_t *pod)
{
    const json_t *labels = json_at(pod, "metadata", "labels", NULL);
    AUTO(buf_done) struct buf text = {0};
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)labels, key, value) {
        const char *is = json_string_value(value);

        buf_add(&text, key, strlen(key) + 1);
        buf_add(&text, is ? is : "", strlen(is ? is : "") + 1);
    }
    buf_add(&text, "", 1);
    free(p->label_text);
    p->label_text = mem_dup(text.at, text.size);
}

static bool budget_matches(const struct sched_budget *b, const struct sched_pod *p)
{
    return b->selector && text_equal(b->ns, p->ns) && selector_matches(b->selector, label_of, p);
}

static void budget_count(const struct scheduler *s, const struct sched_budget *b,
                         struct disruption *ret)
{
    struct sched_pod *p;
    struct sched_pod *next;

    *ret = (struct disruption){0};
    map_each (handle, s->pods, p, next) {
        if (sched_pod_has_ended(p) || !budget_matches(b, p))
            continue;
        ret->expected++;
        ret->healthy += p->is_ready && !p->is_deleting && p->ending == SCHED_STAYS;
    }
    disruption_settle(b->object, ret);
}

/* The pod's only budget; NULL: none, or several, which protect no pod. */
static const struct sched_budget *budget_of(const struct scheduler *s, const struct sched_pod *p)
{
    const struct sched_budget *found = NULL;
    struct sched_budget *b;
    struct sched_budget *next;

    map_each (handle, s->budgets, b, next) {
        if (!budget_matches(b, p))
            continue;
        if (found)
            return NULL;
        found = b;
    }
    return found;
}

bool sched_pod_is_protected(const struct scheduler *s, const struct sched_pod *p)
{
    const struct sched_budget *b = NULL;
    struct disruption d;

    if (!sched_pod_is_placed(p) || p->is_deleting)
        return false;
    b = budget_of(s, p);
    if (!b)
        return false;
    budget_count(s, b, &d);
    return !disruption_allows(b->object, &d, p->is_ready);
}

static struct sched_budget *budget_find(const struct scheduler *s, const char *key)
{
    struct sched_budget *b = NULL;

    map_find_text(handle, s->budgets, key, b);
    return b;
}

void sched_budget_free(struct scheduler *s, struct sched_budget *b)
{
    map_remove(handle, s->budgets, b);
    selector_free(b->selector);
    json_decref(b->object);
    free(b->ns);
    free(b->key);
    free(b);
}

void scheduler_put_budget(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct scheduler *s = arg;
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct sched_budget *b = budget_find(s, key);
    AUTO(err_freep) struct err *e = NULL;

    if (!b) {
        b = mem_alloc(sizeof(*b));
        b->key = TAKE(key);
        b->ns = mem_strdup(ns);
        map_add(handle, s->budgets, b->key, strlen(b->key), b);
    }
    json_decref(b->object);
    b->object = json_incref((json_t *)(uintptr_t)object);
    selector_free(b->selector);
    b->selector = NULL;
    e = disruption_selector(object, &b->selector);
    if (e)
        LOG(ERROR, "disruption budget cannot be read", S("budget", b->key), E(e));
}

void scheduler_remove_budget(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct scheduler *s = arg;
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct sched_budget *b = budget_find(s, key);

    (void)last;
    if (b)
        sched_budget_free(s, b);
}
