/* test_node_router.c - tests of the router: each attempt goes to the runtime that has it */

#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"
#include "node/runtime/runtime.h"
#include "test.h"

/* A runtime that notes its calls, and has one attempt. */
struct noted {
    struct runtime runtime;
    const char *has_id;
    char calls[256];
    enum runtime_state state;
    runtime_list_fn list_fn;
    void *list_arg;
    bool is_freed;
};

struct routed {
    struct noted oci;
    struct noted native;
    struct runtime *router;
    char found[256]; /* "ID=STATE " of the list */
    char changes[256];
};

static void noted_add(struct noted *n, const char *word, const char *id)
{
    size_t size = strlen(n->calls);

    (void)snprintf(n->calls + size, sizeof(n->calls) - size, "%s %s;", word, id);
}

static void noted_create(void *self, const struct runtime_create *c, runtime_done_fn done,
                         void *arg)
{
    (void)done;
    (void)arg;
    noted_add(self, "create", c->id);
}

static void noted_start(void *self, const char *id, runtime_done_fn done, void *arg)
{
    (void)done;
    (void)arg;
    noted_add(self, "start", id);
}

static void noted_kill(void *self, const char *id, int signal, runtime_done_fn done, void *arg)
{
    (void)signal;
    (void)done;
    (void)arg;
    noted_add(self, "kill", id);
}

static void noted_remove(void *self, const char *id, runtime_done_fn done, void *arg)
{
    (void)done;
    (void)arg;
    noted_add(self, "remove", id);
}

static void noted_list(void *self, runtime_list_fn fn, void *arg)
{
    struct noted *n = self;

    n->list_fn = fn;
    n->list_arg = arg;
}

/* Answers the list under way. */
static void noted_tell(const struct noted *n, const struct runtime_container *c)
{
    if (n->list_fn)
        n->list_fn(n->list_arg, NULL, c, 1);
}

static struct exec *noted_exec(void *self, const struct runtime_exec *e)
{
    noted_add(self, "exec", e->id);
    return NULL;
}

static struct exec *noted_forward(void *self, const struct runtime_forward *f)
{
    noted_add(self, "forward", f->ids[0]);
    return NULL;
}

static bool noted_has(void *self, const char *id)
{
    const struct noted *n = self;

    return text_equal(n->has_id, id);
}

static void noted_free(void *self)
{
    struct noted *n = self;

    n->is_freed = true;
}

static const struct runtime_ops noted_ops = {.create = noted_create,
                                             .start = noted_start,
                                             .kill = noted_kill,
                                             .remove = noted_remove,
                                             .list = noted_list,
                                             .exec = noted_exec,
                                             .attach = noted_exec,
                                             .forward = noted_forward,
                                             .has = noted_has,
                                             .free = noted_free};

static void on_change(void *arg, const struct runtime_container *c)
{
    struct routed *x = arg;
    size_t size = strlen(x->changes);

    (void)snprintf(x->changes + size, sizeof(x->changes) - size, "%s=%d ", c->id, (int)c->state);
}

static void on_list(void *arg, const struct err *e, const struct runtime_container *all, size_t n)
{
    struct routed *x = arg;

    assert_null(e);
    for (size_t i = 0; i < n; i++) {
        size_t size = strlen(x->found);

        (void)snprintf(x->found + size, sizeof(x->found) - size, "%s=%d ", all[i].id,
                       (int)all[i].state);
    }
}

static void begin(struct routed *x)
{
    *x = (struct routed){.oci.has_id = "c", .native.has_id = "h"};
    x->oci.runtime = (struct runtime){.ops = &noted_ops, .self = &x->oci, .name = "crun"};
    x->native.runtime = (struct runtime){.ops = &noted_ops, .self = &x->native};
    x->router = runtime_router_new(&x->oci.runtime, &x->native.runtime);
    x->router->on_change = on_change;
    x->router->arg = x;
}

static void calls_go_to_the_runtime_of_the_attempt(void **state)
{
    struct routed x;
    AUTO(json_freep) json_t *host = json_object();
    const char *const ids[] = {"h", NULL};

    (void)state;
    begin(&x);
    const struct runtime *r = x.router;

    assert_string_equal(r->name, "crun");
    r->ops->create(r->self, &(struct runtime_create){.id = "c"}, NULL, NULL);
    r->ops->create(r->self, &(struct runtime_create){.id = "h", .host = host}, NULL, NULL);
    r->ops->start(r->self, "h", NULL, NULL);
    r->ops->kill(r->self, "c", 15, NULL, NULL);
    r->ops->remove(r->self, "h", NULL, NULL);
    r->ops->remove(r->self, "neither", NULL, NULL);
    (void)r->ops->exec(r->self, &(struct runtime_exec){.id = "h"});
    (void)r->ops->attach(r->self, &(struct runtime_exec){.id = "c"});
    (void)r->ops->forward(r->self, &(struct runtime_forward){.ids = ids});
    assert_string_equal(x.oci.calls, "create c;kill c;remove neither;exec c;forward h;");
    assert_string_equal(x.native.calls, "create h;start h;remove h;exec h;");
    runtime_free(x.router);
    assert_true(x.oci.is_freed && x.native.is_freed);
}

/* Between the lists, a change of a listed attempt is told by the list. */
static void lists_both_as_they_are_at_the_end(void **state)
{
    struct routed x;
    struct runtime_container c = {.id = "c", .state = RUNTIME_RUNNING};
    const struct runtime_container h = {.id = "h", .state = RUNTIME_CREATED};

    (void)state;
    begin(&x);
    x.router->ops->list(x.router->self, on_list, &x);
    assert_null(x.native.list_fn);
    noted_tell(&x.oci, &c);
    c.state = RUNTIME_ENDED;
    x.oci.runtime.on_change(x.oci.runtime.arg, &c);
    assert_string_equal(x.changes, "");
    noted_tell(&x.native, &h);
    assert_string_equal(x.found, "c=4 h=2 ");
    x.native.runtime.on_change(x.native.runtime.arg, &h);
    assert_string_equal(x.changes, "h=2 ");
    runtime_free(x.router);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_go_to_the_runtime_of_the_attempt),
        cmocka_unit_test(lists_both_as_they_are_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
