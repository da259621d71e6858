/* ledger_claims.c - devices of claims in the ledger: whose they are, and who shares them */

#include "base/arena.h"
#include "base/vec.h"
#include "kinds/ledger.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_claims.h"

bool ledger_holder_repeats(const json_t *holders, size_t i)
{
    const json_t *own = json_array_get(holders, i);
    const char *claim = json_text(own, "claim");

    for (size_t k = 0; claim && k < i; k++) {
        const json_t *other = json_array_get(holders, k);

        if (text_equal(json_text(other, "claim"), claim) &&
            text_equal(json_text(other, "device"), json_text(own, "device")))
            return true;
    }
    return false;
}

/* The uid in "gpu req-0 UID". */
static struct str uid_of(struct str id)
{
    (void)str_cut(&id, ' ');
    (void)str_cut(&id, ' ');
    return id;
}

struct claim_search {
    const char *container;
    size_t index; /* of the device, among the container's */
    size_t passed;
    struct str claim;
};

static void search_part(void *arg, const struct pod_part *part)
{
    struct claim_search *s = arg;

    if (!text_equal(part->container, s->container))
        return;
    if (s->index >= s->passed && s->index - s->passed < part->count)
        s->claim = part->claim;
    s->passed += part->count;
}

static const json_t *find_container(const json_t *pod, const char *name)
{
    static const char *const lists[] = {"containers", "initContainers"};

    for (size_t i = 0; i < COUNT(lists); i++) {
        const json_t *list = json_at(pod, "spec", lists[i], NULL);

        for (size_t k = 0; k < json_array_size(list); k++)
            if (text_equal(json_text(json_array_get(list, k), "name"), name))
                return json_array_get(list, k);
    }
    return NULL;
}

struct str ledger_claim_of(const json_t *pod, const char *container, size_t index,
                           bool *ret_is_held, struct str *ret_request)
{
    struct claim_search s = {.container = container, .index = index};
    const json_t *tree = find_container(pod, container);
    struct str rest = {0};
    struct pod_claim c;
    struct str request;

    *ret_is_held = false;
    *ret_request = (struct str){0};
    if (!pod_has_claims(pod))
        return (struct str){0};
    pod_each_part(pod, search_part, &s);
    if (s.claim.size > 0) {
        request = s.claim;
        (void)str_cut(&request, ' ');
        *ret_request = str_cut(&request, ' ');
        return uid_of(s.claim);
    }
    while (index >= s.passed && tree && pod_next_claim(pod, &rest, &c)) {
        struct str held = c.held;
        struct device d;

        if (!container_has_claim(tree, &c))
            continue;
        while (pod_next_held(&held, &d)) {
            if (s.passed++ != index)
                continue;
            *ret_is_held = true;
            *ret_request = c.request;
            return c.uid;
        }
    }
    return (struct str){0};
}

/* The container's devices, and behind them those that it shares. */
static void add_held(struct arena *a, const json_t *pod, const json_t *container,
                     struct ledger_container *into)
{
    VEC(struct device) all = {0};
    struct device *copy;
    struct str rest = {0};
    struct pod_claim c;

    for (size_t i = 0; i < into->n_devices; i++)
        vec_add(&all, into->devices[i]);
    while (pod_next_claim(pod, &rest, &c)) {
        struct str held = c.held;
        struct device d;

        while (container_has_claim(container, &c) && pod_next_held(&held, &d))
            vec_add(&all, d);
    }
    copy = arena_alloc(a, (all.n + 1) * sizeof(*copy));
    for (size_t i = 0; i < all.n; i++)
        copy[i] = all.at[i];
    into->devices = copy;
    into->n_devices = all.n;
    vec_done(&all);
}

void ledger_add_held(struct arena *a, const json_t *pod, struct ledger_pod *p)
{
    static const char *const lists[] = {"initContainers", "containers"};
    size_t most = p->n_containers;
    struct ledger_container *list;

    if (!pod_has_claims(pod))
        return;
    for (size_t i = 0; i < COUNT(lists); i++)
        most += json_array_size(json_at(pod, "spec", lists[i], NULL));
    list = arena_alloc(a, (most + 1) * sizeof(*list));
    for (size_t i = 0; i < p->n_containers; i++)
        list[i] = p->containers[i];
    p->containers = list;
    for (size_t i = 0; i < COUNT(lists); i++) {
        const json_t *containers = json_at(pod, "spec", lists[i], NULL);

        for (size_t k = 0; k < json_array_size(containers); k++) {
            const json_t *container = json_array_get(containers, k);
            const char *name = json_text(container, "name");
            size_t at = 0;

            while (at < p->n_containers && !text_equal(list[at].name, name))
                at++;
            if (at == p->n_containers)
                list[p->n_containers++] = (struct ledger_container){.name = name};
            add_held(a, pod, container, &list[at]);
        }
    }
}
