/* cel_rule_macro.c - all, exists, exists_one, map, filter, optMap, optFlatMap */

#include "base/mem.h"
#include "model/cel/cel_rule_private.h"

/* A round of a macro. `*ret_is_over`: later rounds change nothing. */
static struct err *macro_round(struct cel_run *r, const struct cel_node *n, struct cel_item *list,
                               size_t *n_held, struct err **error, bool *ret_is_over)
{
    bool yes = true;
    bool is_map = n->macro == CEL_MACRO_MAP;
    struct err *e = NULL;

    if (!is_map || n->n_args == 3)
        e = rule_yes(r, n->args[1], &yes);
    if (e && (*r->steps < 0 || (n->macro != CEL_MACRO_ALL && n->macro != CEL_MACRO_EXISTS)))
        return e;
    if (e) { /* another item may decide */
        err_free(*error);
        *error = e;
        return NULL;
    }
    if (yes && is_map)
        TRY(rule_eval(r, n->args[n->n_args - 1], &list[*n_held]));
    if (yes && n->macro == CEL_MACRO_FILTER)
        list[*n_held] = r->frame[n->slot];
    *n_held += yes;
    *ret_is_over = (n->macro == CEL_MACRO_ALL && !yes) || (n->macro == CEL_MACRO_EXISTS && yes);
    return NULL;
}

static struct err *macro_result(const struct cel_node *n, const struct cel_item *list,
                                size_t n_held, bool is_over, struct err *error,
                                struct cel_item *ret)
{
    if (!is_over && error)
        return error;
    err_free(error);
    switch (n->macro) {
    case CEL_MACRO_ALL:
        *ret = item_bool(!is_over);
        break;
    case CEL_MACRO_EXISTS:
        *ret = item_bool(is_over);
        break;
    case CEL_MACRO_EXISTS_ONE:
        *ret = item_bool(n_held == 1);
        break;
    case CEL_MACRO_MAP:
    case CEL_MACRO_FILTER:
    case CEL_MACRO_OPT_MAP:
    case CEL_MACRO_OPT_FLAT_MAP:
        *ret = item_list(list, n_held);
        break;
    }
    return NULL;
}

/* Sets the variables of a round: an item; its index and the item; or a key and its value. */
static void macro_bind(struct cel_run *r, const struct cel_node *n, const struct cel_item *of,
                       size_t i, const char *const *keys)
{
    struct cel_item first = item_int((int64_t)i);
    struct cel_item second = {0};

    if (of->kind == ITEM_LIST)
        second = item_at(r, of, i);
    else if (keys)
        first = item_text(str_of(keys[i]));
    else
        first = of->list.at[2 * i];
    if (of->kind == ITEM_MAP && keys)
        (void)item_member(r, of, first.text, &second);
    else if (of->kind == ITEM_MAP)
        second = of->list.at[2 * i + 1];
    if (n->slot_second > 0) {
        r->frame[n->slot] = first;
        r->frame[n->slot_second] = second;
    } else {
        r->frame[n->slot] = of->kind == ITEM_LIST ? second : first;
    }
}

static const char *const *keys_of(struct cel_run *r, const struct cel_item *of)
{
    const char **keys;
    size_t n = 0;
    const char *key;
    json_t *value;

    if (of->kind != ITEM_MAP || !of->is_json)
        return NULL;
    keys = arena_alloc(r->arena, (json_object_size(of->json) + 1) * sizeof(*keys));
    json_object_foreach ((json_t *)(uintptr_t)of->json, key, value)
        keys[n++] = key;
    return keys;
}

static struct err *optional_macro(struct cel_run *r, const struct cel_node *n,
                                  const struct cel_item *of, struct cel_item *ret)
{
    struct cel_item made = {0};

    if (of->kind != ITEM_OPTIONAL)
        return rule_no_overload(n, of);
    *ret = item_none();
    if (of->list.n == 0)
        return NULL;
    r->frame[n->slot] = of->list.at[0];
    TRY(rule_eval(r, n->args[1], &made));
    *ret = n->macro == CEL_MACRO_OPT_MAP ? item_some(r, made) : made;
    return NULL;
}

struct err *rule_macro(struct cel_run *r, const struct cel_node *n, struct cel_item *ret)
{
    struct cel_item of = {0};
    struct cel_item *list;
    const char *const *keys;
    struct err *error = NULL;
    size_t n_held = 0;
    bool is_over = false;

    TRY(rule_eval(r, n->args[0], &of));
    if (n->macro == CEL_MACRO_OPT_MAP || n->macro == CEL_MACRO_OPT_FLAT_MAP)
        return optional_macro(r, n, &of, ret);
    if (of.kind != ITEM_LIST && of.kind != ITEM_MAP)
        return rule_no_overload(n, &of);
    TRY(rule_spend(r, n, item_count(&of)));
    list = arena_alloc(r->arena, (item_count(&of) + 1) * sizeof(*list));
    keys = keys_of(r, &of);
    for (size_t i = 0; i < item_count(&of) && !is_over; i++) {
        struct err *e;

        macro_bind(r, n, &of, i, keys);
        e = macro_round(r, n, list, &n_held, &error, &is_over);
        if (!e)
            continue;
        err_free(error);
        return e;
    }
    return macro_result(n, list, n_held, is_over, error, ret);
}
