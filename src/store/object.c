/* object.c - refcounted objects, and keys */

#include "store/object.h"

#include <assert.h>
#include <limits.h>

#include "base/mem.h"

/* Casts const away to count refs. Objects are const everywhere else. */
static struct store_object *counted(const struct store_object *o)
{
    return (struct store_object *)(uintptr_t)o;
}

static char *copy_text(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*at, text, size);

    *at += size;
    return copy;
}

static size_t key_size(const struct store_key *key)
{
    return strlen(key->group) + strlen(key->resource) + strlen(key->ns) + strlen(key->name) + 4;
}

struct store_object *object_new(const struct store_key *key, struct str bytes)
{
    size_t size = sizeof(struct store_object) + key_size(key) + bytes.size + 1;
    struct store_object *o = mem_alloc(size);
    char *at = (char *)(o + 1);

    *o = (struct store_object){.refs = 1};
    o->key.group = copy_text(&at, key->group);
    o->key.resource = copy_text(&at, key->resource);
    o->key.ns = copy_text(&at, key->ns);
    o->key.name = copy_text(&at, key->name);
    if (bytes.size > 0)
        memcpy(at, bytes.at, bytes.size);
    o->bytes = (struct str){.at = at, .size = bytes.size};
    return o;
}

int64_t object_size(const struct store_object *o)
{
    return (int64_t)(sizeof(*o) + key_size(&o->key) + o->bytes.size + 1);
}

const struct store_object *store_object_ref(const struct store_object *o)
{
    assert(o->refs > 0 && o->refs < UINT_MAX);
    counted(o)->refs++;
    return o;
}

void store_object_unref(const struct store_object *o)
{
    if (!o)
        return;
    assert(o->refs > 0);
    counted(o)->refs--;
    if (o->refs == 0)
        free(counted(o));
}

int key_compare(const struct store_key *a, const struct store_key *b)
{
    int order = strcmp(a->group, b->group);

    if (order == 0)
        order = strcmp(a->resource, b->resource);
    if (order == 0)
        order = strcmp(a->ns, b->ns);
    if (order == 0)
        order = strcmp(a->name, b->name);
    return order;
}

bool key_in_range(const struct store_key *key, const struct store_range *range)
{
    if (!range->resource)
        return true;
    return strcmp(key->resource, range->resource) == 0 && strcmp(key->group, range->group) == 0 &&
           (!range->ns || strcmp(key->ns, range->ns) == 0);
}

char *key_format(const struct store_key *key)
{
    return mem_format("%s%s%s '%s%s%s'", key->resource, *key->group ? "." : "", key->group, key->ns,
                      *key->ns ? "/" : "", key->name);
}
