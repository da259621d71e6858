/*
 * reviews.c - review kinds, answered but not stored: who am I, may I, may a user
 *
 * The answers come from the same functions that authorize requests.
 */

#include "api/reviews.h"

#include "access/account_token.h"
#include "access/rbac.h"
#include "api/body.h"
#include "api/handlers.h"
#include "base/mem.h"

/* ---- authentication ---- */

static json_t *format_groups(const struct identity *who)
{
    json_t *groups = json_array();

    for (size_t i = 0; i < who->n_groups; i++)
        (void)json_array_append_new(groups, json_string(who->groups[i]));
    return groups;
}

void user_info_put(json_t *into, const struct identity *who)
{
    json_put_text(into, "username", who->user);
    json_put_text(into, "uid", who->uid);
    json_put(into, "groups", format_groups(who));
    if (who->pod)
        json_put(into, "extra",
                 json_pack("{s:[s], s:[s]}", "authentication.kubernetes.io/pod-name", who->pod,
                           "authentication.kubernetes.io/pod-uid", who->pod_uid));
}

static struct err *answer_whoami(struct call *c, json_t *review)
{
    user_info_put(json_object_at(json_object_at(review, "status"), "userInfo"), &c->who);
    return NULL;
}

/* Verifies the token for this audience; puts the user or the failure into the status. */
static void try_audience(struct call *c, const char *token, const char *audience, json_t *status)
{
    struct identity who = {0};
    AUTO(err_freep)
    struct err *e = auth_identify_token(core_auth(c->core), c->arena, token, audience, &who);

    if (e) {
        json_put_text(status, "error", err_message(e));
        return;
    }
    user_info_put(json_object_at(status, "user"), &who);
    (void)json_array_append_new(json_array_at(status, "audiences"), json_string(audience));
}

/* Answers a TokenReview; an invalid token is an answer, not an error. */
static struct err *answer_token(struct call *c, json_t *review)
{
    const json_t *audiences = json_at(review, "spec", "audiences", NULL);
    const char *token = json_text_at(review, "spec", "token", NULL); /* required */
    json_t *status = json_object_at(review, "status");
    bool is_somebody = false;

    for (size_t i = 0; i < json_array_size(audiences); i++)
        try_audience(c, token, json_string_value(json_array_get(audiences, i)), status);
    if (json_array_size(audiences) == 0)
        try_audience(c, token, ACCOUNT_AUDIENCE, status);
    is_somebody = json_object_get(status, "user") != NULL;
    json_put_bool(status, "authenticated", is_somebody);
    if (is_somebody)
        json_put_text(status, "error", NULL);
    return NULL;
}

/* ---- authorization ---- */

/* "" and "*" mean all resources, which only administrators may access. */
static bool is_all(const char *text)
{
    return text_equal(text, "*");
}

static const struct kind *find_kind(const char *group, const char *resource)
{
    const struct kind *k = kind_find(group ? group : "", resource ? resource : "");

    for (size_t i = 0; !k && !group && i < kinds_served_count(); i++)
        if (text_equal(kinds_served(i)->plural, resource))
            k = kinds_served(i);
    return k;
}

/* NULL: allowed. */
static struct err *check_resource(const struct call *c, const struct identity *who,
                                  const json_t *asked)
{
    struct access a = {
        .verb = json_text(asked, "verb"),
        .kind = find_kind(json_text_filled(asked, "group"), json_text_filled(asked, "resource")),
        .subresource = json_text_filled(asked, "subresource"),
        .ns = json_text_filled(asked, "namespace"),
        .name = json_text_filled(asked, "name")};

    if (a.kind && !a.kind->is_namespaced)
        a.ns = NULL;
    if (a.verb && authz_allows_resource(who, &a, text_or_empty(json_text(asked, "group")),
                                        text_or_empty(json_text(asked, "resource"))))
        return NULL;
    if (!a.verb || is_all(a.verb) || is_all(json_text(asked, "resource")))
        return err_new(ERR_FORBIDDEN, "only administrators may access all resources");
    if (!a.kind)
        return err_new(ERR_FORBIDDEN, "this server has no such resource");
    return authz_check(core_store(c->core), who, &a);
}

/* All authenticated callers may read paths that are not resources; no caller may write them. */
static struct err *check_path(const struct identity *who, const json_t *asked)
{
    if (authz_allows_path(who, text_or_empty(json_text(asked, "verb")),
                          text_or_empty(json_text(asked, "path"))))
        return NULL;
    return err_new(ERR_FORBIDDEN, "paths that are not resources are read-only");
}

static struct err *put_access(const struct call *c, const struct identity *who, json_t *review)
{
    const json_t *spec = json_object_get(review, "spec");
    const json_t *resource = json_object_get(spec, "resourceAttributes");
    const json_t *path = json_object_get(spec, "nonResourceAttributes");
    json_t *status = json_object_at(review, "status");
    AUTO(err_freep) struct err *e = NULL;

    if (!resource == !path)
        return err_new(ERR_INVALID,
                       "%s.authorization.k8s.io \"\" is invalid: spec: Invalid value: exactly one "
                       "of nonResourceAttributes or resourceAttributes must be specified",
                       c->kind->kind);
    e = resource ? check_resource(c, who, resource) : check_path(who, path);
    json_put_bool(status, "allowed", !e);
    if (e)
        json_put_text(status, "reason", err_message(e));
    return NULL;
}

static struct err *answer_self_access(struct call *c, json_t *review)
{
    return put_access(c, &c->who, review);
}

static struct err *answer_access(struct call *c, json_t *review)
{
    const json_t *spec = json_object_get(review, "spec");
    const char *user = json_text_filled(spec, "user");
    const json_t *groups = json_object_get(spec, "groups");
    const char **names = arena_alloc(c->arena, (json_array_size(groups) + 1) * sizeof(*names));
    struct identity who = {0};

    if (!user && json_array_size(groups) == 0)
        return err_new(ERR_INVALID, "SubjectAccessReview.authorization.k8s.io \"\" is invalid: "
                                    "spec.user: Required value: want a user, groups, or both");
    for (size_t i = 0; i < json_array_size(groups); i++)
        names[i] = json_string_value(json_array_get(groups, i));
    auth_describe(core_auth(c->core), c->arena, text_or_empty(user), names, json_array_size(groups),
                  &who);
    return put_access(c, &who, review);
}

static void add_rule(void *arg, const struct kind *k, const char *resource, const char *verbs)
{
    json_t *rule = json_object();
    struct str rest = str_of(verbs);

    while (rest.at && rest.size > 0) {
        struct str verb = str_cut(&rest, ' ');

        (void)json_array_append_new(json_array_at(rule, "verbs"), json_stringn(verb.at, verb.size));
    }
    (void)json_array_append_new(json_array_at(rule, "apiGroups"), json_string(k ? k->group : "*"));
    (void)json_array_append_new(json_array_at(rule, "resources"), json_string(resource));
    (void)json_array_append_new(arg, rule);
}

static void add_role_rule(void *arg, const json_t *rule)
{
    json_t *status = arg;
    bool is_path = json_array_size(json_object_get(rule, "nonResourceURLs")) > 0;

    (void)json_array_append(json_array_at(status, is_path ? "nonResourceRules" : "resourceRules"),
                            (json_t *)(uintptr_t)rule);
}

static struct err *answer_rules(struct call *c, json_t *review)
{
    json_t *status = json_object_at(review, "status");
    json_t *paths = json_array_at(status, "nonResourceRules");

    authz_each_rule(&c->who, json_text_at(review, "spec", "namespace", NULL), add_rule,
                    json_array_at(status, "resourceRules"));
    rbac_each_rule(c->who.rbac, &c->who, json_text_at(review, "spec", "namespace", NULL),
                   add_role_rule, status);
    (void)json_array_append_new(paths,
                                json_pack("{s:[s], s:[s]}", "verbs", c->who.is_admin ? "*" : "get",
                                          "nonResourceURLs", "*"));
    json_put_bool(status, "incomplete", c->who.node != NULL);
    return NULL;
}

static const struct review {
    const char *plural;
    struct err *(*answer)(struct call *c, json_t *review);
} reviews[] = {
    {"selfsubjectaccessreviews", answer_self_access},
    {"subjectaccessreviews", answer_access},
    {"selfsubjectrulesreviews", answer_rules},
    {"selfsubjectreviews", answer_whoami},
    {"tokenreviews", answer_token},
};

/* Is a form of the object itself, not of a table alone, in Accept? */
static bool accepts_object(const struct call *c)
{
    struct str rest = str_of(request_header(&c->x->request, "accept"));

    if (c->as != AS_TABLE)
        return true;
    while (rest.at && rest.size > 0) {
        struct str one = str_cut(&rest, ',');

        if (!memmem(one.at, one.size, "as=", 3))
            return true;
    }
    return false;
}

struct err *handle_question(struct call *c)
{
    AUTO(json_freep) json_t *review = NULL;
    AUTO(json_freep) json_t *warnings = json_array();
    struct objects_request r = {0};
    bool is_known = false;

    if (!accepts_object(c))
        return err_new(ERR_NOT_ACCEPTABLE, "a review has no table: want Accept: application/json");
    TRY(write_request(c, warnings, &r));
    TRY(body_parse(c, &review, &is_known));
    if (!is_known)
        return NULL;
    TRY(kind_decode(c->kind, review, r.validation, warnings));
    for (size_t i = 0; i < COUNT(reviews); i++) {
        if (!text_equal(reviews[i].plural, c->kind->plural))
            continue;
        json_put_text(review, "status", NULL);
        TRY(reviews[i].answer(c, review));
        reply_json(c->x, 201, review, warnings);
        return NULL;
    }
    return not_found_path();
}
