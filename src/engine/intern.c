#include "engine/intern.h"

#include <assert.h>

#include "base/map.h"
#include "base/vec.h"

struct text {
    struct map_handle handle;
    uint32_t id;
    uint32_t refs;
    char at[];
};

enum {
    RECENT = 256
};

struct intern {
    struct text *by_text;
    struct text
        *group_cache[RECENT]; /* found lately, by a hash that is cheap: few are asked for often */
    VEC(struct text *) by_id; /* [0] is not used */
    VEC(uint32_t) unused;
};

struct intern *intern_new(void)
{
    struct intern *in = mem_alloc(sizeof(*in));

    vec_add(&in->by_id, NULL);
    return in;
}

void intern_free(struct intern *in)
{
    struct text *text;
    struct text *next;

    if (!in)
        return;
    map_each (handle, in->by_text, text, next) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
        map_remove(handle, in->by_text, text);
        free(text);
    }
    vec_done(&in->by_id);
    vec_done(&in->unused);
    free(in);
}

static struct text **group_cache_of(struct intern *in, const char *at)
{
    uint32_t hash = 2166136261; /* FNV-1a */

    for (; *at; at++)
        hash = (hash ^ (uint8_t)*at) * 16777619;
    return &in->group_cache[hash % RECENT];
}

static struct text *find(struct intern *in, const char *at)
{
    struct text **group_cache = group_cache_of(in, at);
    struct text *text = NULL;

    if (*group_cache && strcmp((*group_cache)->at, at) == 0)
        return *group_cache;
    map_find_text(handle, in->by_text, at, text);
    if (text)
        *group_cache = text;
    return text;
}

static uint32_t free_id(struct intern *in)
{
    if (in->unused.n > 0)
        return in->unused.at[--in->unused.n];
    assert(in->by_id.n < UINT32_MAX);
    vec_add(&in->by_id, NULL);
    return (uint32_t)(in->by_id.n - 1);
}

uint32_t intern_ref(struct intern *in, const char *at)
{
    struct text *text = find(in, at);

    if (!text) {
        size_t size = strlen(at);

        text = mem_alloc(sizeof(*text) + size + 1);
        memcpy(text->at, at, size + 1);
        text->id = free_id(in);
        in->by_id.at[text->id] = text;
        map_add(handle, in->by_text, text->at, size, text);
    }
    text->refs++;
    return text->id;
}

uint32_t intern_find(struct intern *in, const char *at)
{
    const struct text *text = find(in, at);

    return text ? text->id : 0;
}

void intern_unref(struct intern *in, uint32_t id)
{
    struct text *text;

    if (id == 0)
        return;
    text = in->by_id.at[id];
    assert(text && text->refs > 0);
    if (--text->refs > 0)
        return;
    map_remove(handle, in->by_text, text);
    if (*group_cache_of(in, text->at) == text)
        *group_cache_of(in, text->at) = NULL;
    in->by_id.at[id] = NULL;
    vec_add(&in->unused, id);
    free(text);
}

const char *intern_text(const struct intern *in, uint32_t id)
{
    return id == 0 ? "" : in->by_id.at[id]->at;
}
