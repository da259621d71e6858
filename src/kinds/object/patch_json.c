/*
 * patch_json.c - RFC 6902: a list of operations on a tree, all or nothing
 *
 * The cost of a patch is capped by its number of operations, and for `copy`, which can double a
 * tree at each step, by the bytes that it copies.
 */

#include <assert.h>

#include "base/mem.h"
#include "base/num.h"
#include "kinds/kind/kind.h"

enum {
    OPERATIONS_MAX = 10000,
    DEPTH_MAX = 100, /* of a path, and of the result: well below JSON_DEPTH_MAX */
    COPY_BYTES_MAX = 3 << 20,
    SHOWN_MAX = 128, /* bytes of a path in a message */
};

struct patch {
    json_t *root;        /* the patched tree; an operation on the path "" replaces it */
    size_t n_operation;  /* for messages */
    size_t copied_bytes; /* so far */
};

/* A parsed pointer (RFC 6901): the parent, and the last word to look up in it. */
struct place {
    json_t *parent; /* borrowed; NULL: the pointer names the root */
    char *last;     /* owned, unescaped */
};

static void place_done(struct place *p)
{
    free(p->last);
}

static struct err *wrong(const struct patch *p, const char *path, const char *what)
{
    return err_new(ERR_INVALID, "JSON patch: operation %zu: path \"%.*s\": %s", p->n_operation,
                   SHOWN_MAX, path, what);
}

/* Unescapes ~1 to a slash and ~0 to a tilde. NULL: another escape. Heap. */
static char *patch_unescape(struct str word)
{
    char *text = mem_strndup(word.at, word.size);
    char *to = text;

    for (const char *at = text; *at; at++) {
        if (*at != '~') {
            *to++ = *at;
            continue;
        }
        at++;
        if (*at != '0' && *at != '1') {
            free(text);
            return NULL;
        }
        *to++ = *at == '0' ? '~' : '/';
    }
    *to = '\0';
    return text;
}

/* Reads an index into a list of `n`. The RFC allows no leading zero. */
static bool pointer_read_index(const char *word, size_t n, size_t *ret)
{
    int64_t index = 0;
    AUTO(err_freep) struct err *e = NULL;

    if (word[0] == '0' && word[1] != '\0')
        return false;
    if (word[0] < '0' || word[0] > '9')
        return false;
    e = num_parse_int64(str_of(word), 0, INT32_MAX, &index);
    *ret = (size_t)index;
    return !e && (size_t)index < n;
}

static json_t *patch_member(json_t *parent, const char *word)
{
    size_t index = 0;

    if (json_is_object(parent))
        return json_object_get(parent, word);
    if (json_is_array(parent) && pointer_read_index(word, json_array_size(parent), &index))
        return json_array_get(parent, index);
    return NULL;
}

static struct err *patch_find_place(const struct patch *p, const char *path, struct place *ret)
{
    struct str rest = str_of(path);
    json_t *here = p->root;

    *ret = (struct place){0};
    if (*path == '\0')
        return NULL;
    if (*path != '/')
        return wrong(p, path, "does not begin with '/'");
    (void)str_cut(&rest, '/');
    for (size_t depth = 0; depth < DEPTH_MAX; depth++) {
        AUTO_FREE char *word = patch_unescape(str_cut(&rest, '/'));

        if (!word)
            return wrong(p, path, "'~' is followed by neither '0' nor '1'");
        if (!rest.at) {
            if (!json_is_object(here) && !json_is_array(here))
                return wrong(p, path, "is inside a value without members");
            *ret = (struct place){.parent = here, .last = TAKE(word)};
            return NULL;
        }
        here = patch_member(here, word);
        if (!here)
            return wrong(p, path, "is not there");
    }
    return wrong(p, path, "is too deep");
}

/* A new reference to the value at `path`. */
static struct err *patch_get(const struct patch *p, const char *path, json_t **ret)
{
    AUTO(place_done) struct place at = {0};
    json_t *found = NULL;

    TRY(patch_find_place(p, path, &at));
    found = at.last ? patch_member(at.parent, at.last) : p->root;
    if (!found)
        return wrong(p, path, "is not there");
    *ret = json_incref(found);
    return NULL;
}

/* Replaces the root. Takes `value`. */
static struct err *put_root(struct patch *p, json_t *value)
{
    json_decref(p->root);
    p->root = value;
    return NULL;
}

/* Does not take `value`. */
static struct err *patch_add(struct patch *p, const char *path, json_t *value)
{
    AUTO(place_done) struct place at = {0};
    size_t index = 0;

    TRY(patch_find_place(p, path, &at));
    if (!at.last)
        return put_root(p, json_incref(value));
    if (json_is_object(at.parent)) {
        json_put(at.parent, at.last, json_incref(value));
        return NULL;
    }
    if (text_equal(at.last, "-"))
        index = json_array_size(at.parent);
    else if (!pointer_read_index(at.last, json_array_size(at.parent) + 1, &index))
        return wrong(p, path, "is no index of the list");
    (void)json_array_insert(at.parent, index, value); /* the index is in range */
    return NULL;
}

static struct err *take_out(struct patch *p, const char *path)
{
    AUTO(place_done) struct place at = {0};
    size_t index = 0;

    TRY(patch_find_place(p, path, &at));
    if (!at.last)
        return wrong(p, path, "the whole object cannot be removed");
    if (!patch_member(at.parent, at.last))
        return wrong(p, path, "is not there");
    if (json_is_object(at.parent))
        return json_object_del(at.parent, at.last) == 0 ? NULL : wrong(p, path, "is not there");
    (void)pointer_read_index(at.last, json_array_size(at.parent), &index); /* valid: found above */
    (void)json_array_remove(at.parent, index);
    return NULL;
}

static struct err *patch_replace(struct patch *p, const char *path, json_t *value)
{
    AUTO(place_done) struct place at = {0};
    size_t index = 0;

    TRY(patch_find_place(p, path, &at));
    if (!at.last)
        return put_root(p, json_incref(value));
    if (!patch_member(at.parent, at.last))
        return wrong(p, path, "is not there");
    if (json_is_object(at.parent)) {
        json_put(at.parent, at.last, json_incref(value));
        return NULL;
    }
    (void)pointer_read_index(at.last, json_array_size(at.parent), &index); /* valid: found above */
    (void)json_array_set(at.parent, index, value);
    return NULL;
}

static struct err *patch_test(const struct patch *p, const char *path, const json_t *value)
{
    AUTO(json_freep) json_t *found = NULL;

    TRY(patch_get(p, path, &found));
    if (!json_equal(found, value))
        return wrong(p, path, "test failed: another value is there");
    return NULL;
}

static struct err *patch_copy(struct patch *p, const char *from, const char *path)
{
    AUTO(json_freep) json_t *found = NULL;
    AUTO(json_freep) json_t *twin = NULL;
    AUTO_FREE char *text = NULL;

    TRY(patch_get(p, from, &found));
    text = json_format(found);
    p->copied_bytes += strlen(text);
    if (p->copied_bytes > COPY_BYTES_MAX)
        return err_new(ERR_TOO_LARGE, "JSON patch: the copies exceed %d bytes", COPY_BYTES_MAX);
    twin = json_deep_copy(found);
    return patch_add(p, path, twin);
}

static struct err *patch_move(struct patch *p, const char *from, const char *path)
{
    AUTO(json_freep) json_t *found = NULL;
    size_t size = strlen(from);

    if (strncmp(from, path, size) == 0 && path[size] == '/')
        return wrong(p, path, "nothing is moved into itself");
    TRY(patch_get(p, from, &found));
    TRY(take_out(p, from));
    return patch_add(p, path, found);
}

static struct err *patch_apply(struct patch *p, const json_t *operation)
{
    const char *op = json_text(operation, "op");
    const char *path = json_text(operation, "path");
    const char *from = json_text(operation, "from");
    json_t *value = json_object_get(operation, "value");
    AUTO(json_freep) json_t *own = NULL;

    if (!op || !path)
        return wrong(p, path ? path : "", "want \"op\" and \"path\"");
    if (text_equal(op, "remove"))
        return take_out(p, path);
    if (text_equal(op, "move") || text_equal(op, "copy")) {
        if (!from)
            return wrong(p, path, "want \"from\"");
        return text_equal(op, "move") ? patch_move(p, from, path) : patch_copy(p, from, path);
    }
    if (!value)
        return wrong(p, path, "want \"value\"");
    own = json_deep_copy(value);
    if (text_equal(op, "add"))
        return patch_add(p, path, own);
    if (text_equal(op, "replace"))
        return patch_replace(p, path, own);
    if (text_equal(op, "test"))
        return patch_test(p, path, own);
    return wrong(p, path, "unknown op: want add, remove, replace, move, copy or test");
}

/* Does the value nest deeper than `depth`, which also bounds the recursion? A stored tree must be
 * parsable again. */
static bool is_deeper(json_t *value, size_t depth)
{
    const char *key = NULL;
    json_t *item = NULL;
    size_t i = 0;

    if (depth == 0)
        return true;
    json_object_foreach (value, key, item)
        if (is_deeper(item, depth - 1))
            return true;
    json_array_foreach (value, i, item)
        if (is_deeper(item, depth - 1))
            return true;
    return false;
}

struct err *patch_json(const json_t *object, const json_t *patch, json_t **ret)
{
    struct patch p = {0};
    struct err *e = NULL;
    const json_t *operation = NULL;
    size_t i = 0;

    if (!json_is_array(patch))
        return err_new(ERR_BAD_REQUEST, "JSON patch: want a JSON array of operations");
    if (json_array_size(patch) > OPERATIONS_MAX)
        return err_new(ERR_TOO_LARGE, "JSON patch: at most %d operations are taken, found %zu",
                       OPERATIONS_MAX, json_array_size(patch));
    p.root = json_deep_copy(object);
    for (i = 0; !e && i < json_array_size(patch); i++) {
        operation = json_array_get(patch, i);
        p.n_operation = i;
        e = patch_apply(&p, operation);
    }
    if (!e && !json_is_object(p.root))
        e = err_new(ERR_INVALID, "JSON patch: the result is not an object");
    if (!e && is_deeper(p.root, DEPTH_MAX))
        e = err_new(ERR_INVALID, "JSON patch: the result is more than %d deep", DEPTH_MAX);
    if (!e)
        *ret = TAKE(p.root);
    json_decref(p.root);
    return e;
}
