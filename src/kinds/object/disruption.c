/* disruption.c - pods counted against PodDisruptionBudgets */

#include "kinds/object/disruption.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "kinds/kind/label_selector.h"
#include "kinds/object/objects.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

struct counting {
    const struct selector *selector;
    struct disruption *into;
};

/* Calls `fn` for each object of a namespace in its applied state, so that writes on their way to
 * the disk count. */
static struct err *each_applied(const struct store *s, const char *group, const char *resource,
                                const char *ns, struct err *(*fn)(void *arg, const json_t *object),
                                void *arg)
{
    const struct store_range range = {.group = group, .resource = resource, .ns = ns};
    struct store_list list = {0};
    struct err *e = NULL;

    TRY(store_list(s, &range, NULL, NULL, 0, 0, &list));
    for (size_t i = 0; !e && i < list.n; i++) {
        const struct store_object *o = store_get_applied(s, list.at[i]->key);
        AUTO(json_freep) json_t *object = NULL;

        if (!o)
            continue;
        e = objects_decode(o, &object);
        if (!e)
            e = fn(arg, object);
    }
    store_list_done(&list);
    return e;
}

static struct err *disruption_count_pod(void *arg, const json_t *pod)
{
    struct counting *c = arg;

    if (pod_is_terminal(pod) || !label_selector_matches(c->selector, pod))
        return NULL;
    c->into->expected++;
    c->into->healthy += pod_is_ready(pod) && !pod_is_deleting(pod);
    return NULL;
}

/* A percentage of `whole`, rounded up, or a plain number. The schema has checked the form. */
static int64_t budget_amount(const json_t *value, int64_t whole)
{
    struct str text = str_of(json_string_value(value));
    int64_t percent = 0;
    AUTO(err_freep) struct err *e = NULL;

    if (json_is_integer(value))
        return json_integer_value(value);
    if (text.size == 0)
        return 0;
    e = num_parse_int64((struct str){text.at, text.size - 1}, 0, 100, &percent);
    return e ? 0 : (whole * percent + 99) / 100;
}

struct err *disruption_selector(const json_t *budget, struct selector **ret)
{
    const json_t *selector = json_at(budget, "spec", "selector", NULL);

    *ret = NULL;
    return selector ? label_selector_parse(selector, ret) : NULL;
}

void disruption_settle(const json_t *budget, struct disruption *d)
{
    const json_t *spec = json_object_get(budget, "spec");
    const json_t *max_unavailable = json_object_get(spec, "maxUnavailable");

    d->desired = max_unavailable
                     ? d->expected - budget_amount(max_unavailable, d->expected)
                     : budget_amount(json_object_get(spec, "minAvailable"), d->expected);
    if (d->desired < 0)
        d->desired = 0;
    d->allowed = d->healthy > d->desired ? d->healthy - d->desired : 0;
}

struct err *disruption_count(const struct store *s, const json_t *budget, struct disruption *ret)
{
    AUTO(selector_freep) struct selector *selector = NULL;
    struct disruption d = {0};
    struct counting c = {.into = &d};

    TRY(disruption_selector(budget, &selector));
    c.selector = selector;
    if (selector)
        TRY(each_applied(s, "", "pods", json_text_at(budget, "metadata", "namespace", NULL),
                         disruption_count_pod, &c));
    disruption_settle(budget, &d);
    *ret = d;
    return NULL;
}

struct search {
    const json_t *pod;
    json_t *found; /* new reference */
    size_t n_found;
};

static struct err *match_budget(void *arg, const json_t *budget)
{
    struct search *search = arg;
    AUTO(selector_freep) struct selector *selector = NULL;

    TRY(disruption_selector(budget, &selector));
    if (!selector || !label_selector_matches(selector, search->pod))
        return NULL;
    search->n_found++;
    if (!search->found)
        search->found = json_incref((json_t *)(uintptr_t)budget);
    return NULL;
}

bool disruption_allows(const json_t *budget, const struct disruption *d, bool is_ready)
{
    const char *policy = json_text_at(budget, "spec", "unhealthyPodEvictionPolicy", NULL);

    if (d->allowed > 0)
        return true;
    if (is_ready)
        return false;
    return text_equal(policy, "AlwaysAllow") || (d->healthy >= d->desired && d->desired > 0);
}

/* Clients find the budget that refuses in the causes of the error. */
static struct err *new_refusal(const json_t *budget, const struct disruption *d)
{
    AUTO_FREE char *why = mem_format(
        "The disruption budget %s needs %" PRId64 " healthy pods and has %" PRId64 " currently",
        json_text_at(budget, "metadata", "name", NULL), d->desired, d->healthy);
    AUTO(json_freep)
    json_t *causes = json_pack("[{s:s, s:s}]", "reason", "DisruptionBudget", "message", why);
    struct err *e = err_new(
        ERR_BUSY, "Cannot evict pod as it would violate the pod's disruption budget. %s", why);

    return err_with_details(e, json_format(causes));
}

static struct err *check_budget(const struct store *s, const json_t *pod, const json_t *budget)
{
    struct disruption d = {0};

    TRY(disruption_count(s, budget, &d));
    return disruption_allows(budget, &d, pod_is_ready(pod)) ? NULL : new_refusal(budget, &d);
}

struct err *disruption_check(const struct store *s, const json_t *pod)
{
    struct search search = {.pod = pod};
    struct err *e = NULL;

    if (pod_is_terminal(pod) || pod_is_deleting(pod) || !*pod_node(pod))
        return NULL;
    e = each_applied(s, "policy", "poddisruptionbudgets",
                     json_text_at(pod, "metadata", "namespace", NULL), match_budget, &search);
    if (!e && search.n_found > 1)
        e = err_new(ERR_INTERNAL, "This pod has more than one PodDisruptionBudget, which the "
                                  "eviction subresource does not support.");
    if (!e && search.found)
        e = check_budget(s, pod, search.found);
    json_decref(search.found);
    return e;
}
