/* accounts.c - creates the default objects of each namespace */

#include "control/accounts.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "control/writes.h"

static const int64_t retry_ns = NS_PER_SEC;
#define ROOT_CA "kube-root-ca.crt"

/* Namespaces are few and change seldom: after a change all are looked at, by their names alone. */
struct accounts {
    struct accounts_options options;
    char *ca;
    struct store *store;
    struct store_watch *watches[3]; /* namespaces, service accounts, config maps */
    struct loop_timer *timer;
    struct writes *writes;
};

static void accounts_on_written(void *owner, const char *ns, uint64_t number, const struct err *e)
{
    struct accounts *a = owner;

    (void)number;
    if (!e)
        return;
    LOG(WARN, "default object of a namespace was taken back", S("namespace", ns), E(e));
    loop_timer_set(a->timer, retry_ns);
}

static struct err *account_create(const struct accounts *a, const struct kind *k, const char *ns,
                                  json_t *object)
{
    const struct objects_request r = {
        .kind = k, .ns = ns, .who = {.user = "system:accounts", .is_system = true, .host_uid = -1}};
    AUTO(json_freep) json_t *mine = object;
    AUTO(json_freep) json_t *made = NULL;
    struct cluster_answer answer = writes_begin(a->writes, accounts_on_written, ns, 0);
    struct err *e = writes_end(
        answer, objects_create(a->options.objects, &r, mine, answer.done, answer.arg, &made));

    /* The object exists, or its namespace is going: nothing to do. */
    if (e && (err_code(e) == ERR_EXISTS || err_code(e) == ERR_FORBIDDEN ||
              err_code(e) == ERR_NOT_FOUND)) {
        err_free(e);
        return NULL;
    }
    return e;
}

static struct err *make_account(const struct accounts *a, const char *ns)
{
    const struct kind *k = kind_find("", "serviceaccounts");

    if (store_get_applied(a->store, objects_key(k, ns, "default")))
        return NULL;
    return account_create(a, k, ns, json_pack("{s:{s:s}}", "metadata", "name", "default"));
}

/* Creates the config map with the present certificate, or replaces an outdated certificate. */
static struct err *make_config_map(const struct accounts *a, const char *ns)
{
    const struct kind *k = kind_find("", "configmaps");
    const struct store_object *o = store_get_applied(a->store, objects_key(k, ns, ROOT_CA));
    const struct objects_request r = {
        .kind = k,
        .ns = ns,
        .name = ROOT_CA,
        .who = {.user = "system:accounts", .is_system = true, .host_uid = -1},
        .validation = VALIDATION_IGNORE};
    AUTO(json_freep) json_t *map = NULL;
    AUTO(json_freep) json_t *patch = NULL;
    AUTO(json_freep) json_t *made = NULL;
    struct cluster_answer answer;

    if (!o)
        return account_create(
            a, k, ns,
            json_pack("{s:{s:s}, s:{s:s}}", "metadata", "name", ROOT_CA, "data", "ca.crt", a->ca));
    TRY(objects_decode(o, &map));
    if (text_equal(json_text_at(map, "data", "ca.crt", NULL), a->ca))
        return NULL;
    patch = json_pack("{s:{s:s}}", "data", "ca.crt", a->ca);
    answer = writes_begin(a->writes, accounts_on_written, ns, 0);
    return writes_end(answer, objects_patch(a->options.objects, &r, PATCH_MERGE, patch, answer.done,
                                            answer.arg, &made));
}

static struct err *accounts_look_at(const struct accounts *a, const struct store_object *namespace)
{
    AUTO(json_freep) json_t *object = NULL;

    TRY(objects_decode(namespace, &object));
    if (json_text_at(object, "metadata", "deletionTimestamp", NULL))
        return NULL;
    TRY(make_account(a, namespace->key.name));
    return a->ca ? make_config_map(a, namespace->key.name) : NULL;
}

static void accounts_on_time(void *arg)
{
    struct accounts *a = arg;
    const struct store_range range = {.group = "", .resource = "namespaces"};
    struct store_list list = {0};
    AUTO(err_freep) struct err *e = store_list(a->store, &range, NULL, NULL, 0, 0, &list);

    for (size_t i = 0; !e && i < list.n; i++) {
        e = accounts_look_at(a, list.at[i]);
        if (e)
            LOG(WARN, "default object of a namespace cannot be created, will be tried again",
                S("namespace", list.at[i]->key.name), E(e));
    }
    store_list_done(&list);
    if (e)
        loop_timer_set(a->timer, retry_ns);
}

/* New namespaces, and default objects that changed or were deleted. */
static void accounts_on_change(void *arg, const struct store_change *change, int64_t revision)
{
    struct accounts *a = arg;
    bool is_namespace = false;
    bool is_ours = false;

    (void)revision;
    if (!change)
        return;
    is_namespace = text_equal(change->object->key.resource, "namespaces");
    is_ours = text_equal(change->object->key.name, "default") ||
              text_equal(change->object->key.name, ROOT_CA);
    if (is_namespace ? change->type == STORE_CREATED : is_ours && change->type != STORE_CREATED)
        loop_timer_set(a->timer, 0);
}

static struct err *accounts_watch(struct accounts *a)
{
    static const char *const resources[3] = {"namespaces", "serviceaccounts", "configmaps"};

    for (size_t i = 0; i < 3; i++) {
        const struct store_range range = {.group = "", .resource = resources[i]};

        TRY(store_watch_new(a->store, &range, store_revision(a->store), accounts_on_change, a,
                            &a->watches[i]));
    }
    return NULL;
}

struct err *accounts_new(const struct accounts_options *o, struct accounts **ret)
{
    struct accounts *a = mem_alloc(sizeof(*a));
    struct err *e = NULL;

    *a = (struct accounts){
        .options = *o, .ca = o->ca ? mem_strdup(o->ca) : NULL, .store = objects_store(o->objects)};
    a->timer = loop_timer_new(o->loop, accounts_on_time, a);
    a->writes = writes_new(a);
    loop_timer_set(a->timer, 0);
    e = accounts_watch(a);
    if (e) {
        accounts_free(a);
        return e;
    }
    *ret = a;
    return NULL;
}

void accounts_free(struct accounts *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < 3; i++)
        store_watch_free(a->watches[i]);
    loop_timer_free(a->timer);
    writes_free(a->writes);
    free(a->ca);
    free(a);
}
