/* runtime_router.c - two runtimes behind one: containers to the OCI runtime, host processes to the
 * native one */

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "node/runtime/runtime.h"

struct router {
    struct runtime runtime;
    struct runtime *oci;
    struct runtime *native;
    runtime_list_fn fn; /* of a `list` under way */
    void *arg;
    VEC(struct runtime_container)
    found; /* by `oci`, until `native` has listed, too */
};

static const struct runtime *router_find(const struct router *r, const char *id)
{
    return r->native->ops->has(r->native->self, id) ? r->native : r->oci;
}

static void router_create(void *self, const struct runtime_create *c, runtime_done_fn done,
                          void *arg)
{
    const struct router *r = self;
    const struct runtime *to = c->host ? r->native : r->oci;

    to->ops->create(to->self, c, done, arg);
}

static void router_start(void *self, const char *id, runtime_done_fn done, void *arg)
{
    const struct runtime *to = router_find(self, id);

    to->ops->start(to->self, id, done, arg);
}

static void router_kill(void *self, const char *id, int signal, runtime_done_fn done, void *arg)
{
    const struct runtime *to = router_find(self, id);

    to->ops->kill(to->self, id, signal, done, arg);
}

static void on_router_signalled(void *arg, const struct err *e)
{
    (void)arg;
    (void)e; /* the attempt ended */
}

static void router_signal(void *self, const char *id, const struct runtime_signal *s)
{
    const struct runtime *to = router_find(self, id);

    if (to->ops->signal)
        to->ops->signal(to->self, id, s);
    else if (s->is_for_first)
        to->ops->kill(to->self, id, s->number, on_router_signalled, NULL);
}

/* Both runtimes name the cgroups alike. */
static void router_suspend(void *self, const char *id, bool is_suspended)
{
    const struct router *r = self;

    if (r->native->ops->suspend)
        r->native->ops->suspend(r->native->self, id, is_suspended);
}

static void router_remove(void *self, const char *id, runtime_done_fn done, void *arg)
{
    const struct runtime *to = router_find(self, id);

    to->ops->remove(to->self, id, done, arg);
}

/* ---- list ---- */

static void on_native_list(void *arg, const struct err *e, const struct runtime_container *found,
                           size_t n)
{
    struct router *r = arg;
    typeof(r->found) all = r->found;

    r->found = (typeof(r->found)){0};
    for (size_t i = 0; i < n; i++)
        vec_add(&all, found[i]);
    r->fn(r->arg, e, all.at, e ? 0 : all.n);
    vec_done(&all);
}

static void on_oci_list(void *arg, const struct err *e, const struct runtime_container *found,
                        size_t n)
{
    struct router *r = arg;

    if (e) {
        r->fn(r->arg, e, NULL, 0);
        return;
    }
    vec_clear(&r->found);
    for (size_t i = 0; i < n; i++)
        vec_add(&r->found, found[i]);
    r->native->ops->list(r->native->self, on_native_list, r);
}

static void router_list(void *self, runtime_list_fn fn, void *arg)
{
    struct router *r = self;

    r->fn = fn;
    r->arg = arg;
    r->oci->ops->list(r->oci->self, on_oci_list, r);
}

/* ---- commands ---- */

static struct exec *router_exec(void *self, const struct runtime_exec *e)
{
    const struct runtime *to = router_find(self, e->id);

    return to->ops->exec(to->self, e);
}

static struct exec *router_attach(void *self, const struct runtime_exec *e)
{
    const struct runtime *to = router_find(self, e->id);

    return to->ops->attach(to->self, e);
}

/* Finds the port's holder by the attempts' cgroups, which both runtimes name alike. */
static struct exec *router_forward(void *self, const struct runtime_forward *f)
{
    const struct router *r = self;

    return r->oci->ops->forward(r->oci->self, f);
}

static bool router_has(void *self, const char *id)
{
    const struct runtime *to = router_find(self, id);

    return to->ops->has && to->ops->has(to->self, id);
}

static bool router_usage(void *self, const char *id, struct usage *ret)
{
    const struct runtime *to = router_find(self, id);

    return to->ops->usage(to->self, id, ret);
}

static void router_add_gpus(void *self, const char *id, const struct gpu_used *g)
{
    const struct runtime *to = router_find(self, id);

    to->ops->add_gpus(to->self, id, g);
}

static char *router_stuck(void *self, const char *id)
{
    const struct runtime *to = router_find(self, id);

    return to->ops->stuck(to->self, id);
}

static void router_free(void *self)
{
    struct router *r = self;

    runtime_free(r->oci);
    runtime_free(r->native);
    vec_done(&r->found);
    free(r);
}

static const struct runtime_ops router_ops = {.create = router_create,
                                              .start = router_start,
                                              .kill = router_kill,
                                              .signal = router_signal,
                                              .suspend = router_suspend,
                                              .remove = router_remove,
                                              .list = router_list,
                                              .exec = router_exec,
                                              .attach = router_attach,
                                              .forward = router_forward,
                                              .has = router_has,
                                              .usage = router_usage,
                                              .add_gpus = router_add_gpus,
                                              .stuck = router_stuck,
                                              .free = router_free};

/* A change between the two lists reaches the caller in the list. */
static void on_routed_change(void *arg, const struct runtime_container *c)
{
    struct router *r = arg;

    VEC_EACH (&r->found, f) {
        if (text_equal(f->id, c->id)) {
            *f = *c;
            return;
        }
    }
    if (r->runtime.on_change)
        r->runtime.on_change(r->runtime.arg, c);
}

struct runtime *runtime_router_new(struct runtime *oci, struct runtime *native)
{
    struct router *r = mem_alloc(sizeof(*r));

    *r = (struct router){.oci = oci, .native = native};
    r->runtime =
        (struct runtime){.ops = &router_ops, .self = r, .name = oci->name, .version = oci->version};
    oci->on_change = on_routed_change;
    oci->arg = r;
    native->on_change = on_routed_change;
    native->arg = r;
    return &r->runtime;
}
