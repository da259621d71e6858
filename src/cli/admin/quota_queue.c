/* quota_queue.c - mete quota: quotas of the namespace's queue and of the queues above */

#include "cli/admin/quota_queue.h"

#include "base/mem.h"
#include "kinds/queue.h"
#include "model/quantity.h"

enum {
    ABOVE_MAX = 64
};

/* Gets an object. `*ret` is NULL if the object does not exist or the user may not read it. */
static struct err *quota_get(struct session *s, const char *path, json_t **ret)
{
    struct err *e = session_get(s, path, ret);

    if (e && (err_code(e) == ERR_NOT_FOUND || err_code(e) == ERR_FORBIDDEN)) {
        err_free(e);
        return NULL;
    }
    return e;
}

static struct err *find_queue(struct session *s, const char *ns, char **ret)
{
    AUTO_FREE char *path = path_format("/api/v1/namespaces/%s", ns);
    AUTO(json_freep) json_t *object = NULL;
    const char *queue;

    TRY(quota_get(s, path, &object));
    queue = json_text_at(object, "metadata", "labels", QUEUE_LABEL, NULL);
    if (!queue || !*queue)
        queue = json_text_at(object, "metadata", "annotations", QUEUE_LABEL, NULL);
    *ret = mem_strdup(queue && *queue ? queue : QUEUE_DEFAULT);
    return NULL;
}

static struct quantity amount_of(const json_t *quota, const char *key)
{
    const char *text = json_text(quota, key);
    struct quantity q = {0};
    AUTO(err_freep) struct err *e = text ? quantity_parse(str_of(text), &q) : NULL;

    return e ? (struct quantity){0} : q;
}

static json_t *amount_cell(const char *resource, const char *quantity)
{
    AUTO_FREE char *text = amount_format(resource, quantity);

    return json_text_new(text);
}

static void quota_queue_add_row(struct listing *l, const char *ns, const char *queue,
                                const json_t *quota)
{
    struct quantity held = amount_of(quota, "held");
    struct quantity own = amount_of(quota, "nominal");
    struct quantity left = {.milli = own.milli > held.milli ? own.milli - held.milli : 0,
                            .form = own.form};
    AUTO(json_freep) json_t *object = json_object();
    AUTO_FREE char *name = mem_format("queue %s", queue);
    const char *resource = json_text(quota, "resource");
    char text[QUANTITY_TEXT_SIZE];

    quantity_format(left, text);
    json_put_text(object, "apiVersion", "mete.dev/v1");
    json_put_text(object, "kind", "QuotaUse");
    json_put_text(json_object_at(object, "metadata"), "name", queue);
    json_put_text(json_object_at(object, "metadata"), "namespace", ns);
    json_put_text(object, "queue", queue);
    json_put_text(object, "resource", resource);
    json_put_text(object, "used", json_text(quota, "held"));
    json_put_text(object, "hard", json_text(quota, "nominal"));
    json_put_text(object, "free", text);
    listing_add(l,
                json_pack("[s, s, s, o, o, o]", ns, name, resource,
                          amount_cell(resource, json_text(quota, "held")),
                          amount_cell(resource, json_text(quota, "nominal")),
                          amount_cell(resource, text)),
                object);
}

struct err *quota_add_queues(struct session *s, const char *ns, bool is_name_only,
                             struct listing *l)
{
    AUTO_FREE char *name = NULL;

    TRY(find_queue(s, ns, &name));
    for (unsigned i = 0; i < ABOVE_MAX && *name && !text_equal(name, QUEUE_ROOT); i++) {
        AUTO_FREE char *path = path_format("/apis/mete.dev/v1/queues/%s", name);
        AUTO(json_freep) json_t *queue = NULL;
        const char *parent;
        json_t *quota;
        size_t k;

        TRY(quota_get(s, path, &queue));
        json_array_foreach (json_at(queue, "status", "quotas", NULL), k, quota)
            if (k == 0 || !is_name_only)
                quota_queue_add_row(l, ns, name, quota);
        parent = json_text_at(queue, "spec", "parent", NULL);
        free(name);
        name = mem_strdup(parent ? parent : "");
    }
    return NULL;
}
