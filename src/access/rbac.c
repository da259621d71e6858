/* rbac.c - maps of roles and of the bindings of each subject; the match of rules */

#include "access/rbac.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "kinds/kind/label_selector.h"
#include "kinds/kind/rbac_fields.h"

struct rbac_role {
    struct map_handle handle;
    char *key;      /* "NS/NAME"; NS is "" for a ClusterRole */
    json_t *object; /* the object's tree */
    json_t *rules;  /* of an aggregated role, until a role changes; NULL: not known */
};

struct rbac_binding {
    struct map_handle handle;
    char *key;      /* as above */
    char *ns;       /* "" for a ClusterRoleBinding */
    char *role_key; /* as the role's */
    json_t *subjects;
};

/* The bindings of a user or a group. */
struct rbac_subject {
    struct map_handle handle;
    char *key; /* "u:NAME" or "g:NAME" */
    VEC(struct rbac_binding *) bindings;
};

enum {
    N_RESOURCES = 4,
    AGGREGATION_DEPTH = 4
};
static const char *const resources[N_RESOURCES] = {"roles", "clusterroles", "rolebindings",
                                                   "clusterrolebindings"};

struct rbac {
    struct rbac_role *roles;
    struct rbac_binding *bindings;
    struct rbac_subject *subjects;
    struct store_watch *watches[N_RESOURCES];
};

/* ---- subjects ---- */

/* The key of a binding's subject. The caller frees it. */
static char *subject_key(const struct rbac_binding *b, const json_t *subject)
{
    const char *kind = text_or_empty(json_text(subject, "kind"));
    const char *name = text_or_empty(json_text(subject, "name"));
    const char *ns = json_text_filled(subject, "namespace");

    if (text_equal(kind, "ServiceAccount"))
        return mem_format("u:system:serviceaccount:%s:%s", ns ? ns : b->ns, name);
    return mem_format("%s:%s", text_equal(kind, "Group") ? "g" : "u", name);
}

static struct rbac_subject *subject_find(const struct rbac *r, const char *key)
{
    struct rbac_subject *s = NULL;

    map_find_text(handle, r->subjects, key, s);
    return s;
}

static void subject_add(struct rbac *r, struct rbac_binding *b, const json_t *subject)
{
    AUTO_FREE char *key = subject_key(b, subject);
    struct rbac_subject *s = subject_find(r, key);

    if (!s) {
        s = mem_alloc(sizeof(*s));
        s->key = TAKE(key);
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash */
        map_add(handle, r->subjects, s->key, strlen(s->key), s);
    }
    vec_add(&s->bindings, b);
}

static void subject_free(struct rbac *r, struct rbac_subject *s)
{
    map_remove(handle, r->subjects, s);
    vec_done(&s->bindings);
    free(s->key);
    free(s);
}

static void subject_drop(struct rbac *r, const struct rbac_binding *b, const json_t *subject)
{
    AUTO_FREE char *key = subject_key(b, subject);
    struct rbac_subject *s = subject_find(r, key);

    for (size_t i = s ? s->bindings.n : 0; i > 0; i--)
        if (s->bindings.at[i - 1] == b)
            vec_remove(&s->bindings, i - 1);
    if (s && s->bindings.n == 0)
        subject_free(r, s);
}

/* ---- roles and bindings ---- */

static char *object_key(const struct store_key *key)
{
    return mem_format("%s/%s", key->ns, key->name);
}

static void role_remove(struct rbac *r, const char *key)
{
    struct rbac_role *role = NULL;

    map_find_text(handle, r->roles, key, role);
    if (!role)
        return;
    map_remove(handle, r->roles, role);
    json_decref(role->object);
    json_decref(role->rules);
    free(role->key);
    free(role);
}

static void role_put(struct rbac *r, const char *key, json_t *object)
{
    struct rbac_role *role = mem_alloc(sizeof(*role));

    role->key = mem_strdup(key);
    role->object = json_incref(object);
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash */
    map_add(handle, r->roles, role->key, strlen(role->key), role);
}

static void binding_free(struct rbac *r, struct rbac_binding *b)
{
    map_remove(handle, r->bindings, b);
    for (size_t i = 0; i < json_array_size(b->subjects); i++)
        subject_drop(r, b, json_array_get(b->subjects, i));
    json_decref(b->subjects);
    free(b->role_key);
    free(b->ns);
    free(b->key);
    free(b);
}

static void binding_remove(struct rbac *r, const char *key)
{
    struct rbac_binding *b = NULL;

    map_find_text(handle, r->bindings, key, b);
    if (b)
        binding_free(r, b);
}

static void binding_put(struct rbac *r, const char *key, const char *ns, const json_t *object)
{
    struct rbac_binding *b = mem_alloc(sizeof(*b));
    const json_t *ref = json_object_get(object, "roleRef");
    bool is_cluster = text_equal(json_text(ref, "kind"), "ClusterRole");

    b->key = mem_strdup(key);
    b->ns = mem_strdup(ns);
    b->role_key = mem_format("%s/%s", is_cluster ? "" : ns, text_or_empty(json_text(ref, "name")));
    b->subjects = json_incref(json_object_get(object, "subjects"));
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash */
    map_add(handle, r->bindings, b->key, strlen(b->key), b);
    for (size_t i = 0; i < json_array_size(b->subjects); i++)
        subject_add(r, b, json_array_get(b->subjects, i));
}

static void forget_aggregated(struct rbac *r)
{
    struct rbac_role *role;
    struct rbac_role *next;

    map_each (handle, r->roles, role, next) {
        json_decref(role->rules);
        role->rules = NULL;
    }
}

static void rbac_take(struct rbac *r, const struct store_object *o, bool is_deleted)
{
    bool is_binding = text_ends_with(o->key.resource, "bindings");
    AUTO_FREE char *key = object_key(&o->key);
    AUTO(json_freep) json_t *object = NULL;
    AUTO(err_freep) struct err *e = NULL;

    if (is_binding)
        binding_remove(r, key);
    else
        role_remove(r, key);
    if (!is_binding)
        forget_aggregated(r);
    if (is_deleted)
        return;
    e = json_parse(o->bytes, &object);
    if (e)
        return; /* an object that cannot be read gives no rights */
    if (is_binding)
        binding_put(r, key, o->key.ns, object);
    else
        role_put(r, key, object);
}

static void rbac_on_change(void *arg, const struct store_change *change, int64_t revision)
{
    (void)revision;
    if (change)
        rbac_take(arg, change->object, change->type == STORE_DELETED);
}

static struct err *rbac_follow(struct rbac *r, struct store *s, size_t i)
{
    const struct store_range range = {.group = RBAC_GROUP, .resource = resources[i]};
    struct store_list list = {0};

    TRY(store_list(s, &range, NULL, NULL, 0, 0, &list));
    for (size_t j = 0; j < list.n; j++)
        rbac_take(r, list.at[j], false);
    store_list_done(&list);
    return store_watch_new(s, &range, store_revision(s), rbac_on_change, r, &r->watches[i]);
}

struct err *rbac_new(struct store *s, struct rbac **ret)
{
    struct rbac *r = mem_alloc(sizeof(*r));

    for (size_t i = 0; i < N_RESOURCES; i++) {
        struct err *e = rbac_follow(r, s, i);

        if (e) {
            rbac_free(r);
            return e;
        }
    }
    *ret = r;
    return NULL;
}

void rbac_free(struct rbac *r)
{
    struct rbac_role *role;
    struct rbac_role *next_role;
    struct rbac_binding *b;
    struct rbac_binding *next;

    if (!r)
        return;
    for (size_t i = 0; i < N_RESOURCES; i++)
        store_watch_free(r->watches[i]);
    map_each (handle, r->bindings, b, next)
        binding_free(r, b);
    map_each (handle, r->roles, role, next_role)
        role_remove(r, role->key);
    free(r);
}

/* ---- rules ---- */

static bool has_any(const json_t *list, const char *text)
{
    return json_has_text(list, "*") || json_has_text(list, text);
}

static bool resource_matches(const json_t *resources_of_rule, const struct rbac_ask *ask)
{
    for (size_t i = 0; i < json_array_size(resources_of_rule); i++) {
        const char *one = text_or_empty(json_string_value(json_array_get(resources_of_rule, i)));
        size_t size = strlen(ask->resource);

        if (text_equal(one, "*"))
            return true;
        if (!ask->subresource && text_equal(one, ask->resource))
            return true;
        if (!ask->subresource)
            continue;
        if (text_starts_with(one, "*/") && text_equal(one + 2, ask->subresource))
            return true;
        if (strncmp(one, ask->resource, size) == 0 && one[size] == '/' &&
            text_equal(one + size + 1, ask->subresource))
            return true;
    }
    return false;
}

static bool path_matches(const json_t *paths, const char *path)
{
    for (size_t i = 0; i < json_array_size(paths); i++) {
        const char *one = text_or_empty(json_string_value(json_array_get(paths, i)));
        size_t size = strlen(one);

        if (text_equal(one, path))
            return true;
        if (size > 0 && one[size - 1] == '*' && strncmp(one, path, size - 1) == 0)
            return true;
    }
    return false;
}

bool rbac_rule_allows(const json_t *rule, const struct rbac_ask *ask)
{
    const json_t *names = json_object_get(rule, "resourceNames");

    if (!has_any(json_object_get(rule, "verbs"), ask->verb))
        return false;
    if (ask->path)
        return path_matches(json_object_get(rule, "nonResourceURLs"), ask->path);
    if (!has_any(json_object_get(rule, "apiGroups"), ask->group))
        return false;
    if (!resource_matches(json_object_get(rule, "resources"), ask))
        return false;
    return json_array_size(names) == 0 || (ask->name && json_has_text(names, ask->name));
}

/* ---- aggregated roles ---- */

static bool is_selected(const json_t *selectors, const json_t *object)
{
    for (size_t i = 0; i < json_array_size(selectors); i++) {
        AUTO(selector_freep) struct selector *s = NULL;
        AUTO(err_freep) struct err *e = label_selector_parse(json_array_get(selectors, i), &s);

        if (!e && label_selector_matches(s, object))
            return true;
    }
    return false;
}

static const json_t *selectors_of(const struct rbac_role *role)
{
    return json_at(role->object, "aggregationRule", "clusterRoleSelectors", NULL);
}

/* Adds the rules of a role. Of aggregated roles that lead to aggregated roles, AGGREGATION_DEPTH
 * levels count (admin, edit, view), so that a circle ends. */
static void add_rules(const struct rbac *r, const struct rbac_role *role, int depth, json_t *rules)
{
    const json_t *selectors = selectors_of(role);
    struct rbac_role *other;
    struct rbac_role *next;

    if (!selectors) {
        (void)json_array_extend(rules, json_object_get(role->object, "rules"));
        return;
    }
    if (depth == 0)
        return;
    map_each (handle, r->roles, other, next)
        if (other != role && other->key[0] == '/' && is_selected(selectors, other->object))
            add_rules(r, other, depth - 1, rules);
}

/* Borrowed until a role changes. */
static const json_t *rules_of(const struct rbac *r, struct rbac_role *role)
{
    if (!selectors_of(role))
        return json_object_get(role->object, "rules");
    if (!role->rules) {
        role->rules = json_array();
        add_rules(r, role, AGGREGATION_DEPTH, role->rules);
    }
    return role->rules;
}

/* ---- walks ---- */

/* A walk over the rules of a caller; `fn` returns true to stop. */
struct rule_walk {
    const struct rbac *rbac;
    const char *ns; /* NULL: the whole cluster */
    bool (*fn)(void *arg, const json_t *rule);
    void *arg;
};

static bool walk_role(const struct rule_walk *w, const char *key)
{
    const json_t *rules;
    struct rbac_role *role = NULL;

    map_find_text(handle, w->rbac->roles, key, role);
    rules = role ? rules_of(w->rbac, role) : NULL;
    for (size_t i = 0; i < json_array_size(rules); i++)
        if (w->fn(w->arg, json_array_get(rules, i)))
            return true;
    return false;
}

static bool walk_subject(const struct rule_walk *w, const char *prefix, const char *name)
{
    AUTO_FREE char *key = mem_format("%s:%s", prefix, name);
    const struct rbac_subject *s = subject_find(w->rbac, key);

    for (size_t i = 0; s && i < s->bindings.n; i++) {
        const struct rbac_binding *b = s->bindings.at[i];
        bool is_here = *b->ns == '\0' || (w->ns && text_equal(b->ns, w->ns));

        if (is_here && walk_role(w, b->role_key))
            return true;
    }
    return false;
}

static bool walk_caller(const struct rule_walk *w, const struct identity *who)
{
    if (!w->rbac->bindings)
        return false;
    if (walk_subject(w, "u", who->user))
        return true;
    for (size_t i = 0; i < who->n_groups; i++)
        if (walk_subject(w, "g", who->groups[i]))
            return true;
    return false;
}

static bool stops_where_allowed(void *arg, const json_t *rule)
{
    return rbac_rule_allows(rule, arg);
}

bool rbac_allows(const struct rbac *r, const struct identity *who, const struct rbac_ask *ask)
{
    struct rbac_ask copy = *ask;
    const struct rule_walk w = {.rbac = r, .ns = ask->ns, .fn = stops_where_allowed, .arg = &copy};

    return r && walk_caller(&w, who);
}

struct each_rule {
    void (*fn)(void *arg, const json_t *rule);
    void *arg;
};

static bool tells_all(void *arg, const json_t *rule)
{
    const struct each_rule *each = arg;

    each->fn(each->arg, rule);
    return false;
}

void rbac_each_rule(const struct rbac *r, const struct identity *who, const char *ns,
                    void (*fn)(void *arg, const json_t *rule), void *arg)
{
    struct each_rule each = {.fn = fn, .arg = arg};
    const struct rule_walk w = {.rbac = r, .ns = ns, .fn = tells_all, .arg = &each};

    if (r)
        (void)walk_caller(&w, who);
}

json_t *rbac_rules_of(const struct rbac *r, const char *ns, const char *name)
{
    AUTO_FREE char *key = mem_format("%s/%s", ns ? ns : "", name);
    struct rbac_role *role = NULL;
    const json_t *rules;

    if (r)
        map_find_text(handle, r->roles, key, role);
    if (!role)
        return NULL;
    rules = rules_of(r, role);
    return rules ? json_incref((json_t *)(uintptr_t)rules) : json_array();
}
