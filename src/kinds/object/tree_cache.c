/* tree_cache.c - a map from keys to trees */

#include "kinds/object/tree_cache.h"

#include "base/map.h"
#include "base/mem.h"

enum {
    ENTRIES_MAX = 1024 /* then all entries are dropped: parsing them again is quick */
};

struct tree_entry {
    struct map_handle handle;
    char *key;
    const struct store_object *object;
    json_t *tree;
};

struct tree_cache {
    struct tree_entry *entries;
};

struct tree_cache *tree_cache_new(void)
{
    return mem_alloc(sizeof(struct tree_cache));
}

static void entry_clear(struct tree_entry *e)
{
    store_object_unref(e->object);
    json_decref(e->tree);
}

static void tree_cache_clear(struct tree_cache *c)
{
    struct tree_entry *e;
    struct tree_entry *tmp;

    map_each (handle, c->entries, e, tmp) {
        map_remove(handle, c->entries, e); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
        entry_clear(e);
        free(e->key);
        free(e);
    }
}

void tree_cache_free(struct tree_cache *c)
{
    if (!c)
        return;
    tree_cache_clear(c);
    free(c);
}

static char *key_text(const struct store_object *o)
{
    return mem_format("%s/%s/%s/%s", o->key.group, o->key.resource, o->key.ns, o->key.name);
}

void tree_cache_put(struct tree_cache *c, const struct store_object *o, json_t *tree)
{
    AUTO_FREE char *key = NULL;
    struct tree_entry *e = NULL;

    if (!o)
        return;
    key = key_text(o);
    map_find_text(handle, c->entries, key, e);
    if (e) {
        entry_clear(e);
    } else {
        if (map_count(handle, c->entries) >= ENTRIES_MAX)
            tree_cache_clear(c);
        e = mem_alloc(sizeof(*e));
        e->key = TAKE(key);
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash */
        map_add(handle, c->entries, e->key, strlen(e->key), e);
    }
    e->object = store_object_ref(o);
    e->tree = json_incref(tree);
}

struct err *tree_cache_get(struct tree_cache *c, const struct store_object *o, json_t **ret)
{
    AUTO_FREE char *key = key_text(o);
    AUTO(json_freep) json_t *tree = NULL;
    struct tree_entry *e = NULL;

    map_find_text(handle, c->entries, key, e);
    if (e && e->object == o) {
        *ret = json_incref(e->tree);
        return NULL;
    }
    TRY(json_parse(o->bytes, &tree));
    tree_cache_put(c, o, tree);
    *ret = TAKE(tree);
    return NULL;
}
