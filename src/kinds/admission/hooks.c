/* hooks.c - from configurations of the store to webhooks */

#include "kinds/admission/hooks.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/admission/admission_fields.h"

enum {
    TIMEOUT_DEFAULT = 10
};

/* ---- conditions ---- */

void hook_conditions_read(const json_t *list, const struct cel_language *language,
                          hook_conditions *ret)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        struct hook_condition c = {.name = json_text(one, "name")};
        AUTO(err_freep)
        struct err *e =
            cel_rule_parse(str_of(text_or_empty(json_text(one, "expression"))), language, &c.rule);

        if (e)
            LOG(ERROR, "a match condition cannot be compiled", S("condition", c.name), E(e));
        vec_add(ret, c);
    }
}

void hook_conditions_done(hook_conditions *c)
{
    VEC_EACH (c, one)
        cel_rule_free(one->rule);
    vec_done(c);
}

struct err *hook_conditions_hold(const hook_conditions *c, struct cel_session *values, bool *ret)
{
    struct err *failed = NULL;

    *ret = true;
    for (size_t i = 0; i < c->n; i++) {
        const struct hook_condition *one = &c->at[i];
        bool holds = false;
        struct err *e = one->rule ? cel_session_holds(values, one->rule, &holds)
                                  : err_new(ERR_INVALID, "it cannot be compiled");

        if (e && !failed)
            failed = err_wrap(e, "expression '%s'", one->name);
        else
            err_free(e);
        if (!e && !holds) { /* it decides, whatever the others say */
            err_free(failed);
            *ret = false;
            return NULL;
        }
    }
    return failed;
}

/* ---- webhooks ---- */

static void hook_init(struct hook *h, const struct store_object *o, json_t *source)
{
    const json_t *conditions = json_object_get(source, "matchConditions");

    *h = (struct hook){
        .source = json_incref(source),
        .name = json_text(source, "name"),
        .timeout_ns = json_int(source, "timeoutSeconds", TIMEOUT_DEFAULT) * NS_PER_SEC,
        .is_ignored = text_equal(json_text(source, "failurePolicy"), "Ignore"),
        .is_repeated = text_equal(json_text(source, "reinvocationPolicy"), "IfNeeded"),
    };
    h->key = mem_format("%s/%s/%lld", o->key.name, h->name, (long long)o->version);
    hook_match_init(&h->match, source, json_object_get(source, "rules"), NULL);
    hook_conditions_read(conditions, &admission_condition_language, &h->conditions);
}

void hooks_done(hook_list *list)
{
    VEC_EACH (list, h) {
        hook_match_done(&h->match);
        hook_conditions_done(&h->conditions);
        json_decref(h->source);
        free(h->key);
    }
    vec_done(list);
}

void hooks_read(const struct store *s, const char *resource, hook_list *ret)
{
    const struct store_range range = {.group = ADMISSION_GROUP, .resource = resource};
    const struct store_object *o = NULL;

    hooks_done(ret);
    while ((o = store_next(s, &range, o ? &o->key : NULL))) {
        AUTO(json_freep) json_t *tree = NULL;
        AUTO(err_freep) struct err *e = json_parse(o->bytes, &tree);
        const json_t *list = json_object_get(tree, "webhooks");

        if (e)
            LOG(ERROR, "a stored webhook configuration cannot be read", S("name", o->key.name),
                E(e));
        for (size_t i = 0; i < json_array_size(list); i++) {
            struct hook h;

            hook_init(&h, o, json_array_get(list, i));
            vec_add(ret, h);
        }
    }
}

struct err *hook_failure(const struct hook *h, const struct err *why)
{
    return err_new(ERR_INTERNAL, "Internal error occurred: failed calling webhook \"%s\": %s: %s",
                   h->name,
                   err_code(why) == ERR_INVALID ? "received invalid webhook response"
                                                : "failed to call webhook",
                   err_message(why));
}
