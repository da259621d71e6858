/* network_tiers.c - configured tiers, and their annotations on Volcano's PodGroups */

#include "kinds/network_tiers.h"

#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/quota/admit.h"
#include "kinds/topology.h"
#include "model/names.h"

void network_tiers_done(struct network_tiers *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->keys[i]);
    *t = (struct network_tiers){0};
}

static struct err *add_tier(struct network_tiers *t, const char *at, size_t size)
{
    AUTO_FREE char *key = mem_strndup(at, size);
    struct err *e = name_check_qualified(key);

    if (e)
        return err_wrap(e, "tier %zu, \"%s\"", t->n + 1, key);
    if (t->n == NETWORK_TIERS_MAX)
        return err_new(ERR_INVALID, "more than %d tiers", NETWORK_TIERS_MAX);
    for (size_t i = 0; i < t->n; i++)
        if (text_equal(t->keys[i], key))
            return err_new(ERR_INVALID, "\"%s\" is tier %zu already", key, i + 1);
    t->keys[t->n++] = TAKE(key);
    return NULL;
}

struct err *network_tiers_parse(const char *text, struct network_tiers *ret)
{
    struct network_tiers tiers = {0};
    struct err *e = NULL;

    for (const char *at = text; *text && !e;) {
        size_t size = strcspn(at, ",");

        e = add_tier(&tiers, at, size);
        if (at[size] == '\0')
            break;
        at += size + 1;
    }
    if (e) {
        network_tiers_done(&tiers);
        return e;
    }
    *ret = tiers;
    return NULL;
}

/* ---- PodGroups ---- */

static const struct path *here(void)
{
    static const struct path spec = {.name = "spec"};
    static const struct path topology = {.up = &spec, .name = "networkTopology"};

    return &topology;
}

/* The number of the tier `name`, 1 .. n, or 0. */
static size_t tier_named(const struct network_tiers *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (text_equal(t->keys[i], name))
            return i + 1;
    return 0;
}

/* The widest tier that the PodGroup allows, 1 .. n; 0 with a cause. */
static size_t highest_of(const struct network_tiers *t, const json_t *asked, struct causes *causes)
{
    const json_t *number = json_object_get(asked, "highestTierAllowed");
    const char *name = json_text(asked, "highestTierName");
    bool is_hard = text_equal(json_text(asked, "mode"), "hard");
    AUTO_FREE char *most = mem_format("there are %zu tiers", t->n);
    int64_t highest = number ? json_integer_value(number) : is_hard ? 0 : (int64_t)t->n;

    if (number && name) {
        cause_forbidden(causes, PATH(here(), "highestTierName"),
                        "highestTierAllowed is set already");
        return 0;
    }
    if (name) {
        highest = (int64_t)tier_named(t, name);
        if (highest == 0)
            cause_not_found(causes, PATH(here(), "highestTierName"), name);
        return (size_t)highest;
    }
    if (highest == 0)
        cause_required(causes, PATH(here(), "highestTierAllowed"), "in mode hard");
    else if (highest > (int64_t)t->n)
        cause_invalid_int(causes, PATH(here(), "highestTierAllowed"), highest, most);
    return highest <= (int64_t)t->n ? (size_t)highest : 0;
}

static bool has_annotations(const json_t *object)
{
    return json_at(object, "metadata", "annotations", TOPOLOGY_REQUIRED, NULL) ||
           json_at(object, "metadata", "annotations", TOPOLOGY_PREFERRED, NULL);
}

static void keep_one(const json_t *before, json_t *object, const char *name)
{
    const char *text = json_text_at(before, "metadata", "annotations", name, NULL);

    if (text)
        json_put_text(json_object_at(json_object_at(object, "metadata"), "annotations"), name,
                      text);
    else if (json_at(object, "metadata", "annotations", name, NULL))
        json_put_text(json_at(object, "metadata", "annotations", NULL), name, NULL);
}

/* Restores the annotations of `before`, or removes them (NULL), whatever the client wrote. */
static void keep(const json_t *before, json_t *object)
{
    for (size_t i = 0; i < NETWORK_TIERS_MAX; i++)
        keep_one(before, object, topology_tier_names[i]);
    keep_one(before, object, TOPOLOGY_TIER_REQUIRED);
}

static void write_down(const struct network_tiers *t, size_t highest, bool is_hard, json_t *object)
{
    json_t *annotations = json_object_at(json_object_at(object, "metadata"), "annotations");

    for (size_t i = 0; i < highest; i++)
        json_put_text(annotations, topology_tier_names[i], t->keys[i]);
    if (is_hard)
        json_put_text(annotations, TOPOLOGY_TIER_REQUIRED, t->keys[highest - 1]);
}

struct err *admit_network_topology(struct change *c)
{
    static const struct network_tiers none = {0};
    const struct network_tiers *t = c->objects->network_tiers ? c->objects->network_tiers : &none;
    const json_t *asked = json_at(c->after, "spec", "networkTopology", NULL);
    AUTO(causes_done) struct causes causes = {0};
    const char *name = json_text_at(c->after, "metadata", "name", NULL);
    size_t highest = 0;

    if (!text_equal(c->kind->group, "scheduling.volcano.sh") ||
        !text_equal(c->kind->plural, "podgroups"))
        return NULL;
    if (c->before && json_equal(json_at(c->before, "spec", "networkTopology", NULL), asked)) {
        keep(c->before, c->after); /* keeps the tiers of its admission */
        return NULL;
    }
    keep(NULL, c->after);
    if (!asked)
        return NULL;
    if (t->n == 0)
        cause_forbidden(&causes, here(),
                        "not implemented without tiers: networkTiers of the configuration names "
                        "their node labels");
    else if (has_annotations(c->after))
        cause_forbidden(&causes, here(), "the annotations have topology constraints already");
    else
        highest = highest_of(t, asked, &causes);
    TRY(causes_err_of(&causes, c->kind, name ? name : ""));
    write_down(t, highest, text_equal(json_text(asked, "mode"), "hard"), c->after);
    return NULL;
}
