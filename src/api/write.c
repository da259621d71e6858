/*
 * write.c - create, update, patch and delete
 *
 * The answer is made at once, and sent when the write is durable.
 */

#include "api/audit.h"
#include "api/body.h"
#include "api/form.h"
#include "api/handlers.h"
#include "base/mem.h"

#define TYPE_APPLY "application/apply-patch+yaml"

/* An answer that waits for durability. The client may go before. */
struct pending {
    struct exchange *x; /* NULL: the client has gone */
    int status;
    char *text;
    json_t *warnings;
};

static void pending_free(struct pending *p)
{
    free(p->text);
    json_decref(p->warnings);
    free(p);
}

static void pending_freep(struct pending **p)
{
    if (*p)
        pending_free(*p);
}

static struct pending *pending_new(const struct call *c, int status)
{
    struct pending *p = mem_alloc(sizeof(*p));

    p->x = c->x;
    p->status = status;
    p->warnings = json_array();
    return p;
}

static void on_close(void *arg)
{
    struct pending *p = arg;

    p->x = NULL;
}

static void write_on_durable(void *arg, const struct err *e, int64_t revision)
{
    struct pending *p = arg;
    const struct api_reply r = {
        .status = p->status, .body = str_of(p->text), .warnings = p->warnings};

    (void)revision;
    if (p->x && e)
        reply_error(p->x, e, NULL);
    else if (p->x)
        p->x->ops->reply(p->x, &r);
    pending_free(p);
}

/* Waits for durability; from here the store's callback owns `p`. */
static void pending_await(const struct call *c, struct pending *p, const json_t *object)
{
    bool is_status = text_equal(json_text(object, "kind"), "Status");
    AUTO(json_freep)
    json_t *metadata = c->as == AS_METADATA && !is_status ? form_metadata(object) : NULL;

    p->text = json_format(metadata ? metadata : object);
    p->x->arg = p;
    p->x->on_close = on_close;
    p->x->on_drain = NULL;
}

/* Refuses a body whose kind, namespace or name differs from the path's. */
static struct err *check_place(const struct call *c, const json_t *object)
{
    const char *kind = json_text(object, "kind");
    const char *version = json_text(object, "apiVersion");
    const char *ns = json_text_at(object, "metadata", "namespace", NULL);
    const char *name = json_text_at(object, "metadata", "name", NULL);
    const char *want = text_equal(c->subresource, "binding") ? "Binding" : c->kind->kind;

    if ((kind && !text_equal(kind, want)) ||
        (version && !text_equal(version, c->kind->api_version)))
        return err_new(ERR_BAD_REQUEST, "the request body is a %.64s %.64s: want %s %s",
                       version ? version : "", kind ? kind : "", c->kind->api_version, want);
    if (ns && *ns && c->ns && !text_equal(ns, c->ns))
        return err_new(ERR_BAD_REQUEST, "the namespace of the provided object does not match the "
                                        "namespace sent on the request");
    if (c->name && name && *name && !text_equal(name, c->name))
        return err_new(ERR_BAD_REQUEST,
                       "the name of the object (%.253s) does not match the name on the URL (%s)",
                       name, c->name);
    return NULL;
}

static struct err *check_node(const struct call *c, const json_t *object)
{
    const struct access a = {.verb = c->route ? "create" : "", .kind = c->kind};

    return authz_check_node_create(&c->who, &a, json_text_at(object, "metadata", "name", NULL));
}

struct err *handle_create(struct call *c)
{
    AUTO(pending_freep) struct pending *p = pending_new(c, 201);
    AUTO(json_freep) json_t *object = NULL;
    AUTO(json_freep) json_t *made = NULL;
    struct objects_request r = {0};
    bool is_known = false;

    if (c->kind->is_question)
        return handle_question(c);
    TRY(write_request(c, p->warnings, &r));
    TRY(body_parse(c, &object, &is_known));
    if (!is_known)
        return NULL;
    TRY(check_place(c, object));
    TRY(check_node(c, object));
    if (!c->name && json_text_at(object, "metadata", "name", NULL))
        c->name = arena_strdup(c->arena, json_text_at(object, "metadata", "name", NULL));
    TRY(objects_create(core_objects(c->core), &r, object, write_on_durable, p, &made));
    audit_decided(c, p->status, json_text_at(made, "metadata", "name", NULL));
    pending_await(c, TAKE(p), made);
    return NULL;
}

/* Tells the audit which members an update changes. */
static void note_update(const struct call *c, const struct store_object *before,
                        const json_t *after)
{
    AUTO(json_freep) json_t *old = NULL;
    AUTO(err_freep) struct err *e = c->audited && before ? objects_decode(before, &old) : NULL;

    if (old && !e)
        audit_changed_between(c, old, after);
}

struct err *handle_update(struct call *c)
{
    AUTO(pending_freep) struct pending *p = pending_new(c, 200);
    AUTO(json_freep) json_t *object = NULL;
    AUTO(json_freep) json_t *made = NULL;
    struct objects_request r = {0};
    AUTO(store_object_unrefp) const struct store_object *before = NULL;
    bool is_known = false;

    TRY(write_request(c, p->warnings, &r));
    TRY(body_parse(c, &object, &is_known));
    if (!is_known)
        return NULL;
    TRY(check_place(c, object));
    before = store_get_applied(core_store(c->core),
                               objects_key(kind_kept(c->kind), text_or_empty(c->ns), c->name));
    if (before)
        (void)store_object_ref(before);
    TRY(objects_update(core_objects(c->core), &r, object, write_on_durable, p, &made));
    note_update(c, before, made);
    audit_decided(c, p->status, NULL);
    pending_await(c, TAKE(p), made);
    return NULL;
}

bool parse_patch_type(const struct call *c, enum patch_type *ret)
{
    const char *type = body_type(c);

    if (text_equal(type, "application/merge-patch+json"))
        *ret = PATCH_MERGE;
    else if (!c->kind->is_custom && text_equal(type, "application/strategic-merge-patch+json"))
        *ret = PATCH_STRATEGIC;
    else if (text_equal(type, "application/json-patch+json"))
        *ret = PATCH_JSON;
    else if (c->kind->is_custom) {
        reply_unsupported(c,
                          "application/json-patch+json, application/merge-patch+json, " TYPE_APPLY);
        return false;
    } else {
        reply_unsupported(c, "application/json-patch+json, application/merge-patch+json, "
                             "application/strategic-merge-patch+json, " TYPE_APPLY);
        return false;
    }
    return true;
}

/* An apply of an object that does not exist is a create, which needs that right, too. */
static struct err *check_apply_creates(const struct call *c, const json_t *config)
{
    struct access a = {.verb = "create", .kind = c->kind, .ns = c->ns, .name = c->name};

    TRY(check_node(c, config));
    return authz_check(core_store(c->core), &c->who, &a);
}

static bool is_present(const struct call *c)
{
    return store_get_applied(core_store(c->core),
                             objects_key(c->kind, text_or_empty(c->ns), c->name)) != NULL;
}

static struct err *handle_apply(struct call *c)
{
    bool is_new = !c->subresource && !is_present(c);
    AUTO(pending_freep) struct pending *p = pending_new(c, is_new ? 201 : 200);
    AUTO(json_freep) json_t *config = NULL;
    AUTO(json_freep) json_t *made = NULL;
    struct objects_request r = {0};

    TRY(apply_request(c, p->warnings, &r));
    TRY(body_parse_yaml(c, &config));
    if (is_new)
        TRY(check_apply_creates(c, config));
    TRY(objects_apply(core_objects(c->core), &r, config, write_on_durable, p, &made));
    audit_changed_by_patch(c, config);
    audit_decided(c, p->status, NULL);
    pending_await(c, TAKE(p), made);
    return NULL;
}

struct err *patch_with(struct call *c, enum patch_type type, const json_t *patch,
                       json_t *(*show)(const struct call *c, const json_t *made))
{
    AUTO(pending_freep) struct pending *p = pending_new(c, 200);
    AUTO(json_freep) json_t *made = NULL;
    AUTO(json_freep) json_t *shown = NULL;
    struct objects_request r = {0};

    TRY(write_request(c, p->warnings, &r));
    TRY(objects_patch(core_objects(c->core), &r, type, patch, write_on_durable, p, &made));
    audit_changed_by_patch(c, patch);
    audit_decided(c, p->status, NULL);
    shown = show ? show(c, made) : json_incref(made);
    pending_await(c, TAKE(p), shown);
    return NULL;
}

struct err *handle_patch(struct call *c)
{
    AUTO(json_freep) json_t *patch = NULL;
    enum patch_type type = PATCH_MERGE;

    if (text_equal(body_type(c), TYPE_APPLY))
        return handle_apply(c);
    if (!parse_patch_type(c, &type))
        return NULL;
    TRY(check_unforced(c));
    TRY(json_parse(c->x->request.body, &patch));
    return patch_with(c, type, patch, NULL);
}

/* The answer of a deletion, as in Kubernetes: a Status if the object has gone, the object if it is
 * only marked. */
static json_t *delete_answer(const struct call *c, const json_t *object, bool is_gone)
{
    const struct status_about about = {
        .kind = c->kind, .name = c->name, .uid = json_text_at(object, "metadata", "uid", NULL)};

    return is_gone ? status_success(&about) : json_incref((json_t *)(uintptr_t)object);
}

struct err *delete_with(struct call *c, const struct delete_options *o, int status)
{
    AUTO(pending_freep) struct pending *p = pending_new(c, status);
    AUTO(json_freep) json_t *object = NULL;
    AUTO(json_freep) json_t *answer = NULL;
    struct objects_request r = {0};
    bool is_gone = false;

    TRY(write_request(c, p->warnings, &r));
    r.is_dry_run = o->is_dry_run;
    TRY(objects_delete(core_objects(c->core), &r, o, write_on_durable, p, &object, &is_gone));
    audit_decided(c, status, NULL);
    answer = delete_answer(c, object, is_gone || o->disruption);
    pending_await(c, TAKE(p), answer);
    return NULL;
}

struct err *handle_delete(struct call *c)
{
    AUTO(json_freep) json_t *body = NULL;
    struct delete_options o = {0};
    bool is_known = false;

    TRY(body_parse_optional(c, &body, &is_known));
    if (!is_known)
        return NULL;
    TRY(delete_options_parse(c, body, &o));
    return delete_with(c, &o, 200);
}
