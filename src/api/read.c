/*
 * read.c - reads of one object, and the versions of reads
 *
 * The resourceVersion parameters of version.h are here, too.
 */

#include <inttypes.h>

#include "api/form.h"
#include "api/handlers.h"
#include "api/version.h"
#include "base/mem.h"
#include "base/num.h"
#include "kinds/object/objects.h"

struct err *version_parse(const struct call *c, int64_t *ret)
{
    const char *text = query_get(&c->query, "resourceVersion");
    struct err *e;

    *ret = 0;
    if (!text || *text == '\0')
        return NULL;
    e = num_parse_int64(str_of(text), 0, INT64_MAX, ret);
    if (!e)
        return NULL;
    err_free(e);
    return err_new(ERR_BAD_REQUEST, "resourceVersion: Invalid value: \"%.64s\": want a number",
                   text);
}

struct err *version_check_reached(const struct call *c, int64_t version)
{
    int64_t now = store_revision(core_store(c->core));

    if (version <= now)
        return NULL;
    return err_new(ERR_TIMEOUT, "Too large resource version: %" PRId64 ", current: %" PRId64,
                   version, now);
}

struct err *version_expired(int64_t version, int64_t oldest)
{
    return err_new(ERR_EXPIRED, "too old resource version: %" PRId64 " (%" PRId64 ")", version,
                   oldest);
}

static struct err *get_view(struct call *c, const struct form *f)
{
    const struct api_view *view = core_view(c->core, c->kind);
    AUTO(json_freep) json_t *tree = view ? view->get(view->arg, c->ns, c->name) : NULL;
    AUTO(buf_done) struct buf b = {0};

    if (!tree)
        return objects_not_found(c->kind, c->name);
    form_add_tree(f, c->core, tree, &b);
    reply_bytes(c->x, (struct str){.at = b.at, .size = b.size});
    return NULL;
}

struct err *handle_get(struct call *c)
{
    AUTO(buf_done) struct buf b = {0};
    const struct store_object *o;
    AUTO(form_done) struct form form = {0};
    int64_t version = 0;

    if (query_bool(&c->query, "watch") && !c->subresource)
        return handle_watch(c);
    TRY(form_parse(c, &form));
    TRY(version_parse(c, &version));
    TRY(version_check_reached(c, version));
    if (c->kind->is_view)
        return get_view(c, &form);
    o = store_get(core_store(c->core), objects_key(c->kind, c->ns ? c->ns : "", c->name));
    if (!o)
        return objects_not_found(c->kind, c->name);
    form_add_object(&form, c->core, o, 0, &b);
    reply_bytes(c->x, (struct str){.at = b.at, .size = b.size});
    return NULL;
}
