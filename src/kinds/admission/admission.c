/* admission.c - the order of questions about a write */

#include "kinds/admission/admission.h"

#include "base/log.h"
#include "base/mem.h"
#include "kinds/admission/admission_fields.h"
#include "kinds/admission/hooks.h"
#include "kinds/admission/policies.h"
#include "kinds/admission/review.h"

struct follow {
    struct admission *admission;
    struct store_watch *watch;
    const char *resource;
    bool is_stale;
};

enum {
    FOLLOWED = 4
};

struct admission {
    struct store *store;
    struct follow follows[FOLLOWED];
    hook_list mutating;
    hook_list validating;
    struct policies *policies;
};

/* ---- configurations ---- */

static void reload(struct admission *a, const char *resource)
{
    if (text_equal(resource, MUTATING_PLURAL))
        hooks_read(a->store, resource, &a->mutating);
    else if (text_equal(resource, VALIDATING_PLURAL))
        hooks_read(a->store, resource, &a->validating);
    else
        policies_read(a->policies);
}

/* Changes of one batch are read together, when the watch has seen them all. */
static void admission_on_change(void *arg, const struct store_change *change, int64_t revision)
{
    struct follow *f = arg;

    (void)revision;
    if (change) {
        f->is_stale = true;
        return;
    }
    if (f->is_stale)
        reload(f->admission, f->resource);
    f->is_stale = false;
}

struct err *admission_new(struct store *s, struct admission **ret)
{
    static const char *const resources[FOLLOWED] = {MUTATING_PLURAL, VALIDATING_PLURAL,
                                                    POLICY_PLURAL, POLICY_BINDING_PLURAL};
    struct admission *a = mem_alloc(sizeof(*a));
    struct err *e = NULL;

    a->store = s;
    a->policies = policies_new(s);
    for (size_t i = 0; !e && i < FOLLOWED; i++) {
        const struct store_range range = {.group = ADMISSION_GROUP, .resource = resources[i]};
        struct follow *f = &a->follows[i];

        *f = (struct follow){.admission = a, .resource = resources[i]};
        reload(a, resources[i]);
        e = store_watch_new(s, &range, store_revision(s), admission_on_change, f, &f->watch);
    }
    if (e) {
        admission_free(a);
        return e;
    }
    *ret = a;
    return NULL;
}

void admission_free(struct admission *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < FOLLOWED; i++)
        store_watch_free(a->follows[i].watch);
    hooks_done(&a->mutating);
    hooks_done(&a->validating);
    policies_free(a->policies);
    free(a);
}

bool admission_is_active(const struct admission *a)
{
    return a && (a->mutating.n > 0 || a->validating.n > 0 || !policies_is_empty(a->policies));
}

/* ---- one webhook ---- */

enum hook_asked {
    ASKED_NOT,     /* the webhook is not for this write */
    ASKED_WAITING, /* the answer is not there yet */
    ASKED_ALLOWED
};

/* A webhook that is asked about a write. */
struct hook_asking {
    const struct hook *hook;
    struct admission_context *admission;
    const struct admission_ask *ask;
    json_t *warnings;
    int round;
};

static struct err *waiting(void)
{
    return err_new(ERR_PENDING, "webhooks are being asked about the request; try again");
}

static void take_texts(const struct hook_asking *a, const json_t *response)
{
    json_t *annotations = json_object_get(response, "auditAnnotations");
    const json_t *warnings = json_object_get(response, "warnings");
    const char *key;
    json_t *value;

    for (size_t i = 0; i < json_array_size(warnings); i++)
        if (json_is_string(json_array_get(warnings, i)))
            admission_context_warn(a->admission, a->warnings,
                                   json_string_value(json_array_get(warnings, i)));
    json_object_foreach (annotations, key, value) {
        AUTO_FREE char *full = mem_format("%s/%s", a->hook->name, key);

        admission_context_annotate(a->admission, full, json_string_value(value));
    }
}

/* Does the request meet the conditions? A condition that fails has the webhook's failure policy. */
static struct err *meets_conditions(const struct hook_asking *a, const json_t *request, bool *ret)
{
    const json_t *values[] = {[ADMISSION_OBJECT] = json_object_get(request, "object"),
                              [ADMISSION_OLD_OBJECT] = json_object_get(request, "oldObject"),
                              [ADMISSION_REQUEST] = request};
    struct cel_session *session;
    AUTO(err_freep) struct err *e = NULL;

    *ret = true;
    if (a->hook->conditions.n == 0)
        return NULL;
    session = cel_session_new(values, NULL, 0);
    e = hook_conditions_hold(&a->hook->conditions, session, ret);
    cel_session_free(session);
    if (!e)
        return NULL;
    *ret = false;
    if (a->hook->is_ignored)
        return NULL;
    return err_new(ERR_FORBIDDEN, "%s.%s \"%s\" is forbidden: %s", a->ask->kind->plural,
                   a->ask->kind->group, a->ask->name, err_message(e));
}

/* Asks one webhook. `*ret_response` (borrowed) is NULL unless the webhook has allowed. */
static struct err *ask_hook(const struct hook_asking *a, enum hook_asked *ret,
                            const json_t **ret_response)
{
    const struct hook *h = a->hook;
    const struct kind *k = hook_match_find(&h->match, a->ask);
    AUTO(json_freep) json_t *request = NULL;
    AUTO_FREE char *key = mem_format("%s/%d", h->key, a->round);
    struct hook_question q = {.key = key,
                              .client = json_object_get(h->source, "clientConfig"),
                              .timeout_ns = h->timeout_ns};
    struct hook_answer answer = {0};
    bool is_for_it = false;
    bool is_there = false;

    *ret = ASKED_NOT;
    *ret_response = NULL;
    if (!k)
        return NULL;
    request = review_request(a->ask, k);
    TRY(meets_conditions(a, request, &is_for_it));
    if (!is_for_it)
        return NULL;
    q.request = request;
    TRY(admission_context_ask(a->admission, &q, &answer, &is_there));
    *ret = is_there ? ASKED_ALLOWED : ASKED_WAITING;
    if (!is_there)
        return NULL;
    if (answer.failure && h->is_ignored) {
        LOG(WARN, "a webhook failed and is ignored", S("webhook", h->name), E(answer.failure));
        return NULL;
    }
    if (answer.failure)
        return hook_failure(h, answer.failure);
    take_texts(a, answer.response);
    if (!json_bool(answer.response, "allowed", false))
        return review_denial(h->name, answer.response);
    *ret_response = answer.response;
    return NULL;
}

/* ---- mutation ---- */

bool admission_mutates(const struct admission *a, const struct admission_ask *ask)
{
    if (!a || admission_is_exempt(ask->kind))
        return false;
    for (size_t i = 0; i < a->mutating.n; i++)
        if (hook_match_find(&a->mutating.at[i].match, ask))
            return true;
    return false;
}

/* The object in the version that the webhook was asked in; the patch applies to it. */
static struct err *apply_patch(const struct hook_asking *a, struct admission_mutation *m,
                               const json_t *response, bool *ret_is_changed)
{
    const struct kind *k = hook_match_find(&a->hook->match, a->ask);
    AUTO(json_freep) json_t *own = json_deep_copy(m->object);
    AUTO(json_freep) json_t *patched = NULL;
    AUTO(err_freep) struct err *e = NULL;

    *ret_is_changed = false;
    if (k != a->ask->kind)
        kind_from_kept(k, own);
    e = review_patch(response, own, &patched);
    if (e)
        return hook_failure(a->hook, e);
    if (!patched || json_equal(patched, own))
        return NULL;
    if (k != a->ask->kind)
        kind_to_kept(k, patched);
    TRY(m->settle(m->arg, patched));
    json_decref(m->object);
    m->object = TAKE(patched);
    m->ask->object = m->object;
    *ret_is_changed = true;
    return NULL;
}

struct mutated {
    bool was_asked;
    size_t changes_seen; /* number of changes when the webhook had been asked */
};

/* Asks the webhooks one after the other; in the second round those that want to know of changes by
 * others. */
static struct err *mutation_round(const struct admission *a, struct admission_mutation *m,
                                  int round, struct mutated *seen, size_t *changes)
{
    for (size_t i = 0; i < a->mutating.n; i++) {
        struct hook_asking asking = {.hook = &a->mutating.at[i],
                                     .admission = m->admission,
                                     .ask = m->ask,
                                     .warnings = m->warnings,
                                     .round = round};
        const json_t *response = NULL;
        enum hook_asked asked;
        bool is_changed = false;

        if (round > 0 &&
            !(seen[i].was_asked && asking.hook->is_repeated && *changes > seen[i].changes_seen))
            continue;
        TRY(ask_hook(&asking, &asked, &response));
        if (asked == ASKED_WAITING)
            return waiting();
        if (response && m->object)
            TRY(apply_patch(&asking, m, response, &is_changed));
        *changes += is_changed;
        seen[i].was_asked |= asked == ASKED_ALLOWED;
        seen[i].changes_seen = *changes;
    }
    return NULL;
}

struct err *admission_mutate(const struct admission *a, struct admission_mutation *m)
{
    struct mutated *seen = mem_alloc((a->mutating.n + 1) * sizeof(*seen));
    size_t changes = 0;
    struct err *e;

    m->ask->object = m->object;
    e = mutation_round(a, m, 0, seen, &changes);
    if (!e && changes > 0)
        e = mutation_round(a, m, 1, seen, &changes);
    free(seen);
    return e;
}

/* ---- validation ---- */

/* Keeps the first error: the answers may come in any order, the result does not depend on it. */
static struct err *ask_validating(const struct admission *a, struct admission_context *d,
                                  const struct admission_ask *ask, json_t *warnings)
{
    struct err *first = NULL;
    bool is_waiting = false;

    for (size_t i = 0; i < a->validating.n; i++) {
        struct hook_asking asking = {
            .hook = &a->validating.at[i], .admission = d, .ask = ask, .warnings = warnings};
        const json_t *response = NULL;
        enum hook_asked asked = ASKED_NOT;
        struct err *e = ask_hook(&asking, &asked, &response);

        is_waiting |= asked == ASKED_WAITING;
        if (first)
            err_free(e);
        else
            first = e;
    }
    if (!is_waiting)
        return first;
    err_free(first);
    return waiting();
}

struct err *admission_validate(const struct admission *a, struct admission_context *d,
                               const struct admission_ask *ask, json_t *warnings)
{
    if (admission_is_exempt(ask->kind))
        return NULL;
    TRY(policies_judge(a->policies, d, ask, warnings));
    return ask_validating(a, d, ask, warnings);
}
