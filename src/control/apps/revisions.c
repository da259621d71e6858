/* revisions.c - ControllerRevisions */

#include "control/apps/revisions.h"

#include <stdlib.h>

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "control/writes.h"

#define REVISIONS "controllerrevisions.apps"

struct revision {
    struct map_handle handle; /* by key */
    char *key;                /* "ns/name" */
    const char *name;
    const char *owner; /* uid; borrowed from the object */
    int64_t number;
    json_t *object;
};

struct revisions {
    struct revision *all;
};

struct revisions *revisions_new(void)
{
    return mem_alloc(sizeof(struct revisions));
}

static void revision_free(struct revisions *r, struct revision *one)
{
    map_remove(handle, r->all, one);
    json_decref(one->object);
    free(one->key);
    free(one);
}

void revisions_clear(struct revisions *r)
{
    while (r->all)
        revision_free(r, r->all); /* NOLINT(clang-analyzer-unix.Malloc): it leaves the map */
}

void revisions_free(struct revisions *r)
{
    if (!r)
        return;
    revisions_clear(r);
    free(r);
}

static struct revision *revision_find(const struct revisions *r, const char *ns, const char *name)
{
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct revision *one = NULL;

    map_find_text(handle, r->all, key, one);
    return one;
}

void revisions_put(struct revisions *r, const json_t *object)
{
    const char *ns = json_text_at(object, "metadata", "namespace", NULL);
    const char *name = json_text_at(object, "metadata", "name", NULL);
    const json_t *owners = json_at(object, "metadata", "ownerReferences", NULL);
    struct revision *one = revision_find(r, ns, name);

    if (!one) {
        one = mem_alloc(sizeof(*one));
        one->key = mem_format("%s/%s", ns, name);
        one->name = one->key + strlen(ns) + 1;
        map_add(handle, r->all, one->key, strlen(one->key), one);
    }
    json_decref(one->object);
    one->object = json_incref((json_t *)(uintptr_t)object);
    one->owner = json_text(json_array_get(owners, 0), "uid");
    one->number = json_int(object, "revision", 0);
}

void revisions_remove(struct revisions *r, const char *ns, const char *name)
{
    struct revision *one = revision_find(r, ns, name);

    if (one)
        revision_free(r, one);
}

static bool is_of(const struct revision *one, const struct app *a)
{
    return text_equal(one->owner, a->uid);
}

static json_t *data_template(const struct revision *one)
{
    return json_at(one->object, "data", "spec", "template", NULL);
}

/* The data is a patch of the owner: `kubectl rollout undo` applies it. */
static json_t *data_of(const struct app *a)
{
    json_t *template = json_deep_copy(json_at(a->object, "spec", "template", NULL));

    json_put_text(template, "$patch", "replace");
    return json_pack("{s:{s:o}}", "spec", "template", template);
}

static const char *hash_label(const struct app *a)
{
    return text_equal(a->kind->kind, "DaemonSet") ? APPS_REVISION_HASH
                                                  : "controller.kubernetes.io/hash";
}

static json_t *revision_tree(const struct app *a, const char *name, int64_t number)
{
    json_t *tree = json_object();
    json_t *metadata = json_object_at(tree, "metadata");
    json_t *labels = json_at(a->object, "spec", "template", "metadata", "labels", NULL);

    json_put_text(metadata, "name", name);
    json_put(metadata, "labels", labels ? json_deep_copy(labels) : json_object());
    json_put_text(json_object_get(metadata, "labels"), hash_label(a), revision_hash(a, name));
    app_put_owner(a, metadata);
    json_put(tree, "data", data_of(a));
    json_put_int(tree, "revision", number);
    return tree;
}

static void collide(struct app *a)
{
    json_t *status = json_twin(a->status);

    json_put_int(status, "collisionCount", json_int(status, "collisionCount", 0) + 1);
    app_write_status(a, status);
}

static const char *revision_make(struct revisions *r, struct app *a, int64_t number)
{
    struct turns *t = a->item.turns;
    const json_t *collisions = json_object_get(a->status, "collisionCount");
    struct cluster_answer answer;
    char hash[APPS_HASH_SIZE];
    AUTO_FREE char *name = NULL;
    AUTO(json_freep) json_t *tree = NULL;
    AUTO(err_freep) struct err *e = NULL;

    apps_hash(json_at(a->object, "spec", "template", NULL),
              collisions ? json_integer_value(collisions) : -1, hash);
    name = mem_format("%s-%s", a->name, hash);
    tree = revision_tree(a, name, number);
    answer = turns_answer(t);
    e = writes_end(answer, cluster_create(turns_cluster(t), REVISIONS, a->ns, tree, answer));
    if (!e) {
        revisions_put(r, tree);
        return revision_find(r, a->ns, name)->name;
    }
    if (err_code(e) == ERR_EXISTS && !revision_find(r, a->ns, name))
        app_write_failed(a, e); /* our own from before a restart: the watch tells it */
    else if (err_code(e) == ERR_EXISTS)
        collide(a);
    else
        app_write_failed(a, e);
    return NULL;
}

static bool revision_renumber(struct app *a, struct revision *one, int64_t number)
{
    struct turns *t = a->item.turns;
    const struct cluster_target target = {.resource = REVISIONS, .ns = a->ns, .name = one->name};
    AUTO(json_freep) json_t *patch = json_pack("{s:I}", "revision", (json_int_t)number);
    struct cluster_answer answer = turns_answer(t);
    AUTO(err_freep)
    struct err *e = writes_end(answer, cluster_patch(turns_cluster(t), &target, patch, answer));

    if (!e) {
        one->number = number;
        return true;
    }
    app_write_failed(a, e);
    return false;
}

static bool has_template(const struct revision *one, const json_t *data)
{
    const json_t *own = data_template(one);

    return own && json_equal(own, json_at(data, "spec", "template", NULL));
}

const char *revision_of_template(struct revisions *r, struct app *a)
{
    AUTO(json_freep) json_t *data = data_of(a);
    struct revision *same = NULL;
    int64_t newest = 0;
    struct revision *one;
    struct revision *tmp;

    map_each (handle, r->all, one, tmp) {
        if (!is_of(one, a))
            continue;
        newest = one->number > newest ? one->number : newest;
        if (has_template(one, data) && (!same || one->number > same->number))
            same = one;
    }
    if (!same)
        return revision_make(r, a, newest + 1);
    if (same->number < newest && !revision_renumber(a, same, newest + 1))
        return NULL;
    return same->name;
}

const char *revision_hash(const struct app *a, const char *name)
{
    size_t size = strlen(a->name);

    return strncmp(name, a->name, size) == 0 && name[size] == '-' ? name + size + 1 : name;
}

const json_t *revision_template(const struct revisions *r, const struct app *a, const char *name)
{
    const struct revision *one = name ? revision_find(r, a->ns, name) : NULL;

    return one && is_of(one, a) ? data_template(one) : NULL;
}

/* ---- history ---- */

static bool is_used(struct app *a, const struct revision *one)
{
    struct app_part *p;

    LIST_EACH (a->parts, p) {
        const char *label = json_text_at(p->object, "metadata", "labels", APPS_REVISION_HASH, NULL);

        if (text_equal(label, one->name) || text_equal(label, revision_hash(a, one->name)))
            return true;
    }
    return false;
}

static int compare_numbers(const void *one, const void *other)
{
    const struct revision *x = *(struct revision *const *)one;
    const struct revision *y = *(struct revision *const *)other;

    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void revision_drop(struct app *a, const struct revision *one)
{
    struct turns *t = a->item.turns;
    const struct cluster_target target = {.resource = REVISIONS, .ns = a->ns, .name = one->name};
    struct cluster_answer answer = turns_answer(t);
    AUTO(err_freep)
    struct err *e = writes_end(answer, cluster_remove(turns_cluster(t), &target, NULL, answer));

    if (e && err_code(e) != ERR_NOT_FOUND)
        LOG(WARN, "old revision was not deleted", S("object", a->key), E(e));
}

void revisions_trim(struct revisions *r, struct app *a, const char *kept, const char *also_kept)
{
    int64_t limit = json_int_at(a->object, "spec", "revisionHistoryLimit", NULL);
    VEC(struct revision *) old = {0};
    struct revision *one;
    struct revision *tmp;

    map_each (handle, r->all, one, tmp)
        if (is_of(one, a) && !text_equal(one->name, kept) && !text_equal(one->name, also_kept) &&
            !is_used(a, one))
            vec_add(&old, one);
    if (old.n > 1)
        qsort(old.at, old.n, sizeof(*old.at), compare_numbers);
    for (size_t i = 0; i < old.n && (int64_t)(old.n - i) > limit; i++)
        revision_drop(a, old.at[i]);
    vec_done(&old);
}
