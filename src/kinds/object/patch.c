/*
 * patch.c - RFC 7396, and Kubernetes' strategic merge
 *
 * A strategic patch is a merge patch that knows lists: lists with a merge key are merged item by
 * item, sets grow, other lists are replaced. Its directives, as kubectl writes them:
 *
 *   $patch: replace | delete | merge      in an object, or in an item of a merged list
 *   $retainKeys: [names]                  of an object: other members are removed
 *   $setElementOrder/LIST: [items]        the order of LIST afterwards
 *   $deleteFromPrimitiveList/LIST: [..]   items to remove from a set
 *
 * The recursion is as deep as the patch, which json_parse caps.
 */

#include <assert.h>

#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/kind.h"

enum {
    ITEMS_MAX = 1024,
    STEPS_MAX = 4 << 20
};

/*
 * The cost of a patch so far, capped: a patch may hold many lists, and each is searched linearly.
 */
struct merge {
    size_t n_steps; /* items compared so far */
};

static const char order_prefix[] = "$setElementOrder/";
static const char deletion_prefix[] = "$deleteFromPrimitiveList/";

static void remove_key(json_t *object, const char *key)
{
    (void)json_object_del(object, key); /* may be absent */
}

/* A copy of a patch's value for a new member: nulls are left out. */
static json_t *without_nulls(const json_t *value)
{
    json_t *copy = json_is_object(value) ? json_object() : json_deep_copy(value);
    json_t *members = json_is_object(value) ? json_at(value, NULL) : NULL;
    const char *key;
    json_t *member;

    json_object_foreach (members, key, member)
        if (!json_is_null(member))
            json_put(copy, key, without_nulls(member));
    return copy;
}

static void merge_into(json_t *target, json_t *patch)
{
    const char *key;
    json_t *value;

    json_object_foreach (patch, key, value) {
        json_t *present = json_object_get(target, key);

        if (json_is_null(value))
            remove_key(target, key);
        else if (json_is_object(value) && json_is_object(present))
            merge_into(present, value);
        else
            json_put(target, key, without_nulls(value));
    }
}

struct err *patch_merge(const json_t *object, const json_t *patch, json_t **ret)
{
    json_t *result;

    if (!json_is_object(patch))
        return err_new(ERR_BAD_REQUEST, "merge patch: want a JSON object");
    result = json_twin(object);
    merge_into(result, json_at(patch, NULL));
    *ret = result;
    return NULL;
}

/* Recursive: objects hold lists, and lists objects. */
static struct err *apply_object(struct merge *m, const struct field *fields, const struct path *at,
                                json_t *target, json_t *patch);

static struct err *bad_patch(const struct path *at, const char *fmt, ...) PRINTF(2, 3) MUST_CHECK;

static struct err *bad_patch(const struct path *at, const char *fmt, ...)
{
    AUTO(buf_done) struct buf path = {0};
    AUTO_FREE char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = mem_vformat(fmt, ap);
    va_end(ap);
    if (at)
        path_add(&path, at);
    return err_new(ERR_BAD_REQUEST, "strategic merge patch: %s%s%s", path.at ? path.at : "",
                   path.at ? ": " : "", text);
}

static const struct field *find_field(const struct field *fields, const char *name)
{
    for (; fields && fields->name; fields++)
        if (text_equal(fields->name, name))
            return fields;
    return NULL;
}

/* The schema of a field's object; NULL: unknown, merged without a schema. */
static const struct field *fields_of(const struct field *f)
{
    return f && f->type == FIELD_OBJECT ? f->fields : NULL;
}

static bool is_merged_list(const struct field *f)
{
    return f && f->type == FIELD_LIST && f->merge_key;
}

static bool is_set(const struct field *f)
{
    return f && f->type == FIELD_LIST && f->is_set_list;
}

static bool is_equal(const json_t *a, const json_t *b)
{
    return a && b && json_equal(a, b);
}

/* The index of `item` in `list`, by its merge key (NULL: by value); the list's size if `item` is
 * absent, or if the patch has cost too much, which fails the patch in the end. */
static size_t list_index_of(struct merge *m, const json_t *list, const json_t *item,
                            const char *merge_key)
{
    const json_t *key = merge_key ? json_object_get(item, merge_key) : item;
    size_t i = 0;

    for (; i < json_array_size(list); i++) {
        const json_t *other = json_array_get(list, i);

        if (m->n_steps++ > STEPS_MAX)
            return json_array_size(list);
        if (is_equal(merge_key ? json_object_get(other, merge_key) : other, key))
            break;
    }
    return i;
}

static bool has_item(struct merge *m, const json_t *list, const json_t *item, const char *merge_key)
{
    return list_index_of(m, list, item, merge_key) < json_array_size(list);
}

static struct err *check_size(const struct path *at, const json_t *list)
{
    if (json_array_size(list) > ITEMS_MAX)
        return bad_patch(at, "more than %d items", ITEMS_MAX);
    return NULL;
}

/* Does a list of the patch hold {"$patch": "replace"}, which clears the old list? */
static bool is_replacing(const json_t *patch)
{
    for (size_t i = 0; i < json_array_size(patch); i++)
        if (text_equal(json_text(json_array_get(patch, i), "$patch"), "replace"))
            return true;
    return false;
}

static struct err *check_directive(const struct path *at, const json_t *patch)
{
    const json_t *directive = json_object_get(patch, "$patch");
    const char *text = json_string_value(directive);

    if (directive && !text_equal(text, "replace") && !text_equal(text, "delete") &&
        !text_equal(text, "merge"))
        return bad_patch(at, "unknown $patch type: want replace, delete or merge");
    return NULL;
}

/* Appends every item of `list` equal to `item` (variables may occur twice). */
static void append_all(struct merge *m, json_t *picked, const json_t *list, const json_t *item,
                       const char *merge_key)
{
    const json_t *key = merge_key ? json_object_get(item, merge_key) : item;

    for (size_t i = 0; i < json_array_size(list) && m->n_steps++ <= STEPS_MAX; i++) {
        json_t *other = json_array_get(list, i);

        if (is_equal(merge_key ? json_object_get(other, merge_key) : other, key))
            (void)json_array_append(picked, other); /* cannot fail */
    }
}

/* The items of `list` that `order` names, in the order of `order`; not `is_named`: the others, in
 * their own order. New reference. */
static json_t *list_pick(struct merge *m, const json_t *list, const json_t *order, bool is_named,
                         const char *merge_key)
{
    json_t *picked = json_array();

    if (!is_named) {
        for (size_t i = 0; i < json_array_size(list); i++)
            if (!has_item(m, order, json_array_get(list, i), merge_key))
                (void)json_array_append(picked, json_array_get(list, i));
        return picked;
    }
    for (size_t i = 0; i < json_array_size(order); i++) {
        const json_t *item = json_array_get(order, i);

        if (list_index_of(m, order, item, merge_key) == i)
            append_all(m, picked, list, item, merge_key);
    }
    return picked;
}

/*
 * Orders a list. Items that the patch orders come in its order; the server's own items keep theirs.
 * Of one of each, the order of before the patch holds if both were there; else the item of the
 * patch goes first, as in Kubernetes: new items come before the server's own.
 */
static void order_list(struct merge *m, json_t *list, const json_t *before, const json_t *order,
                       const char *merge_key)
{
    AUTO(json_freep) json_t *named = list_pick(m, list, order, true, merge_key);
    AUTO(json_freep) json_t *own = list_pick(m, list, order, false, merge_key);
    size_t i = 0;
    size_t j = 0;

    (void)json_array_clear(list); /* `named` and `own` hold the items */
    while (i < json_array_size(named) || j < json_array_size(own)) {
        const json_t *left = json_array_get(named, i);
        const json_t *right = json_array_get(own, j);
        size_t left_at = left ? list_index_of(m, before, left, merge_key) : 0;
        size_t right_at = right ? list_index_of(m, before, right, merge_key) : 0;
        bool takes_left =
            !right || (left && (left_at == json_array_size(before) ||
                                right_at == json_array_size(before) || left_at < right_at));

        if (takes_left)
            (void)json_array_append(list, json_array_get(named, i++));
        else
            (void)json_array_append(list, json_array_get(own, j++));
    }
}

/* `ret_place` is the place of the item in `list`, the list's size for a new one. */
static struct err *apply_item(struct merge *m, const struct field *f, const struct path *at,
                              json_t *list, json_t *item, size_t *ret_place)
{
    size_t found = list_index_of(m, list, item, f->merge_key);
    bool is_there = found < json_array_size(list);

    *ret_place = found;

    if (text_equal(json_text(item, "$patch"), "delete")) {
        for (; found < json_array_size(list); found = list_index_of(m, list, item, f->merge_key))
            (void)json_array_remove(list, found); /* `found` is in range */
        return NULL;
    }
    if (!is_there)
        (void)json_array_append_new(list, json_object());
    return apply_object(m, fields_of(f->item), at, json_array_get(list, found), item);
}

static struct err *apply_merged_list(struct merge *m, const struct field *f, const struct path *at,
                                     json_t *list, const json_t *patch)
{
    AUTO(json_freep) json_t *before = NULL;
    size_t next = 0; /* the least place of an item that keeps the order */
    bool keeps_order = true;

    TRY(check_size(at, patch));
    TRY(check_size(at, list));
    if (is_replacing(patch))
        (void)json_array_clear(list); /* an array */
    before = json_copy(list);         /* keys of its items do not change */
    for (size_t i = 0; i < json_array_size(patch); i++) {
        json_t *item = json_array_get(patch, i);
        const struct path *here = PATH_INDEX(at, i);
        size_t place = 0;

        if (!json_is_object(item))
            return bad_patch(here, "want an object");
        TRY(check_directive(here, item));
        if (text_equal(json_text(item, "$patch"), "replace") && json_object_size(item) == 1)
            continue;
        if (!json_object_get(item, f->merge_key))
            return bad_patch(here, "does not contain declared merge key: %s", f->merge_key);
        TRY(apply_item(m, f, here, list, item, &place));
        keeps_order = keeps_order && place >= next && place < json_array_size(before);
        next = place + 1;
    }
    if (!keeps_order && json_array_size(before) > 0)
        order_list(m, list, before, patch, f->merge_key);
    return NULL;
}

static struct err *apply_set(struct merge *m, const struct path *at, json_t *list,
                             const json_t *patch)
{
    TRY(check_size(at, patch));
    TRY(check_size(at, list));
    for (size_t i = 0; i < json_array_size(patch); i++) {
        json_t *item = json_array_get(patch, i);

        if (!has_item(m, list, item, NULL))
            (void)json_array_append_new(list, json_deep_copy(item)); /* cannot fail */
    }
    return NULL;
}

static struct err *apply_list(struct merge *m, const struct field *f, const struct path *at,
                              json_t *target, const char *key, const json_t *patch)
{
    bool is_by_key = is_merged_list(f);

    if (!is_by_key && !is_set(f)) {
        json_put(target, key, json_deep_copy(patch));
        return NULL;
    }
    if (is_by_key)
        return apply_merged_list(m, f, at, json_array_at(target, key), patch);
    return apply_set(m, at, json_array_at(target, key), patch);
}

static struct err *apply_member(struct merge *m, const struct field *fields, const struct path *at,
                                json_t *target, const char *key, json_t *value)
{
    const struct field *f = find_field(fields, key);
    json_t *member = json_object_get(target, key);

    if (json_is_null(value)) {
        remove_key(target, key);
        return NULL;
    }
    if (json_is_array(value))
        return apply_list(m, f, at, target, key, value);
    if (!json_is_object(value)) {
        json_put(target, key, json_deep_copy(value));
        return NULL;
    }
    TRY(check_directive(at, value));
    if (text_equal(json_text(value, "$patch"), "delete") && json_object_size(value) == 1) {
        remove_key(target, key);
        return NULL;
    }
    if (!json_is_object(member))
        member = json_object_at(target, key);
    return apply_object(m, fields_of(f), at, member, value);
}

/* $retainKeys: removes the members that it does not name, for unions (a volume's source). */
static struct err *retain_keys(struct merge *m, const struct path *at, json_t *target,
                               const json_t *names)
{
    const char *key;
    json_t *value;
    void *next;

    if (!names)
        return NULL;
    if (!json_is_array(names))
        return bad_patch(at, "$retainKeys: want a list of names");
    TRY(check_size(at, names));
    json_object_foreach_safe (target, next, key, value) {
        AUTO(json_freep) json_t *name = json_string(key);

        if (!has_item(m, names, name, NULL))
            remove_key(target, key);
    }
    return NULL;
}

static struct err *delete_from_list(struct merge *m, const struct path *at, json_t *list,
                                    const json_t *items)
{
    if (!json_is_array(items))
        return bad_patch(at, "want a list");
    TRY(check_size(at, items));
    TRY(check_size(at, list));
    for (size_t i = 0; list && i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);

        for (size_t found = list_index_of(m, list, item, NULL); found < json_array_size(list);
             found = list_index_of(m, list, item, NULL))
            (void)json_array_remove(list, found); /* `found` is in range */
    }
    return NULL;
}

static struct err *apply_order(struct merge *m, const struct field *f, const struct path *at,
                               json_t *list, const json_t *before, const json_t *order)
{
    if (!json_is_array(order))
        return bad_patch(at, "want a list");
    TRY(check_size(at, order));
    if (!json_is_array(list) || (!is_merged_list(f) && !is_set(f)))
        return NULL;
    TRY(check_size(at, list));
    order_list(m, list, before, order, f->merge_key);
    return NULL;
}

static bool is_directive(const char *key)
{
    return text_equal(key, "$patch") || text_equal(key, "$retainKeys") ||
           text_starts_with(key, order_prefix) || text_starts_with(key, deletion_prefix);
}

/* Copies of the lists that the patch orders, before the patch. New reference. */
static json_t *remember_lists(const json_t *target, json_t *patch)
{
    json_t *before = json_object();
    const char *key;
    json_t *value;

    json_object_foreach (patch, key, value) {
        const char *name = key + sizeof(order_prefix) - 1;
        json_t *list = text_starts_with(key, order_prefix) ? json_object_get(target, name) : NULL;

        if (list)
            json_put(before, name, json_deep_copy(list));
    }
    return before;
}

/* Applies deletions from sets, then the members, then the orders. */
static struct err *apply_members(struct merge *m, const struct field *fields, const struct path *at,
                                 json_t *target, json_t *patch)
{
    AUTO(json_freep) json_t *before = remember_lists(target, patch);
    const char *key;
    json_t *value;

    json_object_foreach (patch, key, value)
        if (text_starts_with(key, deletion_prefix))
            TRY(delete_from_list(m, PATH(at, key),
                                 json_object_get(target, key + sizeof(deletion_prefix) - 1),
                                 value));
    json_object_foreach (patch, key, value)
        if (!is_directive(key))
            TRY(apply_member(m, fields, PATH(at, key), target, key, value));
    json_object_foreach (patch, key, value) {
        const char *name = key + sizeof(order_prefix) - 1;

        if (text_starts_with(key, order_prefix))
            TRY(apply_order(m, find_field(fields, name), PATH(at, key),
                            json_object_get(target, name), json_object_get(before, name), value));
    }
    return NULL;
}

static struct err *apply_object(struct merge *m, const struct field *fields, const struct path *at,
                                json_t *target, json_t *patch)
{
    const char *directive = json_text(patch, "$patch");

    TRY(check_directive(at, patch));
    if (text_equal(directive, "replace") || text_equal(directive, "delete"))
        (void)json_object_clear(target); /* an object */
    if (text_equal(directive, "delete"))
        return NULL;
    TRY(apply_members(m, fields, at, target, patch));
    return retain_keys(m, at, target, json_object_get(patch, "$retainKeys"));
}

struct err *patch_strategic(const struct kind *k, const json_t *object, const json_t *patch,
                            json_t **ret)
{
    AUTO(json_freep) json_t *result = NULL;
    struct merge m = {0};

    if (!json_is_object(patch))
        return bad_patch(NULL, "want a JSON object");
    result = json_twin(object);
    TRY(apply_object(&m, k->fields, NULL, result, json_at(patch, NULL)));
    if (m.n_steps > STEPS_MAX)
        return bad_patch(NULL, "too many list items to compare");
    *ret = TAKE(result);
    return NULL;
}
