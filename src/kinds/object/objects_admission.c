/* objects_admission.c - what webhooks and policies see of a write */

#include "base/mem.h"
#include "kinds/admission/admission.h"
#include "kinds/object/objects_private.h"

void objects_set_admission(struct objects *o, const struct admission *a,
                           const struct hook_caller *caller)
{
    pending_pods_free(o);
    o->admission = a;
    o->caller = caller;
}

bool objects_asks(const struct objects *o)
{
    return o->admission && admission_is_active(o->admission);
}

static bool is_asked(const struct change *c)
{
    return c->request->admission && objects_asks(c->objects);
}

static struct admission_ask ask_of(const struct change *c, const char *operation)
{
    const struct objects_request *r = c->request;
    const char *name = json_text_at(c->after ? c->after : c->before, "metadata", "name", NULL);

    return (struct admission_ask){.store = c->objects->store,
                                  .kind = c->kind,
                                  .asked = r->asked ? r->asked : c->kind,
                                  .ns = c->kind->is_namespaced ? text_or_empty(r->ns) : "",
                                  .name = text_or_empty(name ? name : r->name),
                                  .subresource = r->subresource,
                                  .operation = operation,
                                  .user = admission_context_user(r->admission),
                                  .manager = r->manager,
                                  .is_dry_run = r->is_dry_run};
}

/* A copy with the resourceVersion of the present object, which shares all else. */
static json_t *with_version(const struct change *c, const json_t *object)
{
    AUTO_FREE char *version = mem_format("%lld", (long long)c->version);
    json_t *copy = json_copy((json_t *)(uintptr_t)object);
    json_t *metadata = json_copy(json_object_get(object, "metadata"));

    json_put_text(metadata, "resourceVersion", version);
    json_put(copy, "metadata", metadata);
    return copy;
}

/* Makes a tree that a client or webhook wrote into an object with its defaults. */
static struct err *settle(void *arg, json_t *object)
{
    const struct change *c = arg;

    TRY(kind_decode(c->kind, object, VALIDATION_IGNORE, NULL));
    return kind_default(c->kind, object, &c->who);
}

struct err *hooks_mutate(struct change *c)
{
    struct admission_ask ask;
    struct admission_mutation m;
    AUTO(json_freep) json_t *before = NULL;
    struct err *e;

    if (!is_asked(c))
        return NULL;
    ask = ask_of(c, c->before ? "UPDATE" : "CREATE");
    ask.object = c->after;
    if (c->before)
        ask.before = before = with_version(c, c->before);
    if (!admission_mutates(c->objects->admission, &ask))
        return NULL;
    m = (struct admission_mutation){.admission = c->request->admission,
                                    .ask = &ask,
                                    .warnings = c->request->warnings,
                                    .object = json_twin(c->after),
                                    .settle = settle,
                                    .arg = c};
    if (*ask.ns)
        json_put_text(json_object_at(m.object, "metadata"), "namespace", ask.ns);
    e = kind_default(c->kind, m.object, &c->who);
    if (!e)
        e = admission_mutate(c->objects->admission, &m);
    json_decref(c->after);
    c->after = m.object;
    return e;
}

struct err *hooks_validate(struct change *c)
{
    struct admission_ask ask;
    AUTO(json_freep) json_t *before = NULL;
    AUTO(json_freep) json_t *after = NULL;

    if (!is_asked(c))
        return NULL;
    ask = ask_of(c, c->before ? "UPDATE" : "CREATE");
    after = c->before ? with_version(c, c->after) : json_incref(c->after);
    ask.object = after;
    if (c->before)
        ask.before = before = with_version(c, c->before);
    return admission_validate(c->objects->admission, c->request->admission, &ask,
                              c->request->warnings);
}

struct err *hooks_delete(struct change *c)
{
    struct admission_ask ask;
    struct admission_mutation m;
    AUTO(json_freep) json_t *before = NULL;

    if (!is_asked(c))
        return NULL;
    before = with_version(c, c->before);
    ask = ask_of(c, "DELETE");
    ask.before = before;
    if (admission_mutates(c->objects->admission, &ask)) {
        struct err *e;

        /* There is no object to change: such a webhook can only deny. */
        m = (struct admission_mutation){.admission = c->request->admission,
                                        .ask = &ask,
                                        .warnings = c->request->warnings,
                                        .settle = settle,
                                        .arg = c};
        e = admission_mutate(c->objects->admission, &m);
        json_decref(m.object);
        TRY(e);
    }
    return admission_validate(c->objects->admission, c->request->admission, &ask,
                              c->request->warnings);
}
