/* intern.c - interned texts: a map from text to number, and a list back */

#include "engine/intern.h"

#include <assert.h>

#include "base/fnv.h"
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
        *recent[RECENT]; /* lately found texts, by a cheap hash: callers ask for few texts often */
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

static struct text **intern_slot_of(struct intern *in, const char *at)
{
    return &in->recent[fnv_text(FNV_START, at) % RECENT];
}

static struct text *intern_find_text(struct intern *in, const char *at)
{
    struct text **recent = intern_slot_of(in, at);
    struct text *text = NULL;

    if (*recent && strcmp((*recent)->at, at) == 0)
        return *recent;
    map_find_text(handle, in->by_text, at, text);
    if (text)
        *recent = text;
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
    struct text *text = intern_find_text(in, at);

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
    const struct text *text = intern_find_text(in, at);

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
    if (*intern_slot_of(in, text->at) == text)
        *intern_slot_of(in, text->at) = NULL;
    in->by_id.at[id] = NULL;
    vec_add(&in->unused, id);
    free(text);
}

const char *intern_text(const struct intern *in, uint32_t id)
{
    return id == 0 ? "" : in->by_id.at[id]->at;
}
