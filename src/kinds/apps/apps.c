/* apps.c - amounts, hashes of templates, and cells of apps/v1 */

#include "kinds/apps/apps.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/num.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/label_selector.h"
#include "kinds/kind/template.h"

static const struct field condition_fields[] = {
    F_STRING("type", "Available, Progressing or ReplicaFailure.", .is_required = true,
             .size_max = 316),
    F_STRING("status", "True, False or Unknown.", .is_required = true, .size_max = 16),
    F_TIME("lastUpdateTime", "The last change of the condition."),
    F_TIME("lastTransitionTime", "The last change of the status."),
    F_STRING("reason", "The reason in CamelCase, for programs.", .size_max = 1024),
    F_STRING("message", "The message for users."),
    F_END,
};
const struct field apps_condition_item =
    F_OBJECT(NULL, condition_fields, "An observation about the object.");

static const struct field set_condition_fields[] = {
    F_STRING("type", "ReplicaFailure.", .is_required = true, .size_max = 316),
    F_STRING("status", "True, False or Unknown.", .is_required = true, .size_max = 16),
    F_TIME("lastTransitionTime", "The last change of the status."),
    F_STRING("reason", "The reason in CamelCase, for programs.", .size_max = 1024),
    F_STRING("message", "The message for users."),
    F_END,
};
const struct field apps_set_condition_item =
    F_OBJECT(NULL, set_condition_fields, "An observation about the object.");

/* "25%"; -1: the text is no percentage. */
static int64_t percent_of(const char *text)
{
    size_t size = text ? strlen(text) : 0;
    AUTO(err_freep) struct err *e = NULL;
    int64_t percent = -1;

    if (size < 2 || text[size - 1] != '%')
        return -1;
    e = num_parse_int64((struct str){text, size - 1}, 0, INT32_MAX, &percent);
    return e ? -1 : percent;
}

int64_t apps_amount(const json_t *value, int64_t total, bool rounds_up)
{
    int64_t percent = percent_of(json_string_value(value));

    if (json_is_integer(value))
        return json_integer_value(value);
    if (percent < 0)
        return 0;
    return (total * percent + (rounds_up ? 99 : 0)) / 100;
}

struct apps_limits apps_limits_of(const json_t *spec)
{
    const json_t *rolling = json_at(spec, "strategy", "rollingUpdate", NULL);
    struct apps_limits l = {.replicas = json_int(spec, "replicas", 1)};

    if (!text_equal(json_text_at(spec, "strategy", "type", NULL), "RollingUpdate"))
        return l;
    l.surge = apps_amount(json_object_get(rolling, "maxSurge"), l.replicas, true);
    l.unavailable = apps_amount(json_object_get(rolling, "maxUnavailable"), l.replicas, false);
    if (l.surge == 0 && l.unavailable == 0)
        l.unavailable = 1; /* percentages of few replicas: without room nothing would roll */
    if (l.unavailable > l.replicas)
        l.unavailable = l.replicas;
    return l;
}

static uint64_t hash_bytes(uint64_t hash, const void *at, size_t size)
{
    const unsigned char *bytes = at;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211); /* FNV-1a */
    return hash;
}

/* The order of an object's members does not count. Recursive: JSON has a depth limit. */
static uint64_t hash_value(const json_t *value, const char *skip)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    AUTO_FREE char *text = NULL;
    const char *key;
    json_t *member;
    uint64_t sum = 0;

    if (json_is_object(value)) {
        json_object_foreach ((json_t *)(uintptr_t)value, key, member) {
            uint64_t inner = hash_value(member, skip);

            if (skip && text_equal(key, skip))
                continue;
            sum += hash_bytes(hash_bytes(hash, key, strlen(key)), &inner, sizeof(inner));
        }
        return hash_bytes(hash, &sum, sizeof(sum));
    }
    if (json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value); i++) {
            uint64_t inner = hash_value(json_array_get(value, i), skip);

            hash = hash_bytes(hash, &inner, sizeof(inner));
        }
        return hash;
    }
    text = json_format(value);
    return text ? hash_bytes(hash, text, strlen(text)) : hash;
}

void apps_hash(const json_t *template, int64_t collisions, char ret[APPS_HASH_SIZE])
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    uint64_t hash = hash_value(template, NULL);

    if (collisions >= 0)
        hash = hash_bytes(hash, &collisions, sizeof(collisions));
    hash ^= hash >> 32;
    (void)snprintf(ret, APPS_HASH_SIZE, "%" PRIu32, (uint32_t)hash); /* it fits */
    for (char *at = ret; *at; at++)
        *at = letters[(unsigned char)*at % (sizeof(letters) - 1)];
}

bool apps_is_same_template(const json_t *one, const json_t *other)
{
    AUTO(json_freep) json_t *a = json_deep_copy(one);
    AUTO(json_freep) json_t *b = json_deep_copy(other);
    json_t *const both[] = {a, b};

    for (size_t i = 0; i < 2; i++) {
        json_t *metadata = json_object_get(both[i], "metadata");

        json_put_text(json_object_get(metadata, "labels"), APPS_TEMPLATE_HASH, NULL);
        if (json_object_size(json_object_get(metadata, "labels")) == 0)
            json_put_text(metadata, "labels", NULL);
    }
    return json_equal(a, b);
}

json_t *apps_cell_number(const json_t *object, const char *of, const char *key)
{
    return json_integer(json_int(json_object_get(object, of), key, 0));
}

/* A LabelSelector has no text among its members, a map of labels has nothing else. */
json_t *apps_selector(const json_t *spec)
{
    json_t *selector = json_object_get(spec, "selector");
    json_t *first = json_object_iter_value(json_object_iter(selector));

    if (!selector)
        return NULL;
    return json_is_string(first) ? json_pack("{s:O}", "matchLabels", selector)
                                 : json_incref(selector);
}

json_t *apps_cell_selector(const json_t *selector)
{
    AUTO_FREE char *text = label_selector_format(selector);

    return cell_text(text, "<none>");
}

void apps_add_wide_cells(json_t *row, const json_t *spec, bool has_selector)
{
    AUTO_FREE char *names = template_containers(json_object_get(spec, "template"), "name");
    AUTO_FREE char *images = template_containers(json_object_get(spec, "template"), "image");

    (void)json_array_append_new(row, cell_text(names, ""));
    (void)json_array_append_new(row, cell_text(images, ""));
    if (has_selector) {
        AUTO(json_freep) json_t *selector = apps_selector(spec);

        (void)json_array_append_new(row, apps_cell_selector(selector));
    }
}
