#include "control/boot.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"

static const char *const names[] = {"default", "kube-system", "kube-public"};
enum {
    N_NAMES = sizeof(names) / sizeof(names[0])
};

struct boot {
    struct boot_options options;
    const struct kind *kind;
    struct loop_timer *timer;
    struct store_watch *watch; /* tells when what was written is durable */
    bool is_ready;
};

/* By what is durable, as people will see it. */
static bool is_there(const struct boot *b, const char *name)
{
    return store_get(objects_store(b->options.objects), objects_key(b->kind, "", name)) != NULL;
}

static bool are_all_there(const struct boot *b)
{
    for (size_t i = 0; i < N_NAMES; i++) {
        if (!is_there(b, names[i]))
            return false;
    }
    return true;
}

static struct err *create(struct boot *b, const char *name)
{
    struct objects_request r = {
        .kind = b->kind,
        .ns = "",
        .who = {.user = "system:boot", .is_system = true, .is_admin = true, .host_uid = -1}};
    AUTO(json_freep) json_t *object = json_object();
    AUTO(json_freep) json_t *result = NULL;
    struct err *e;

    json_put_text(json_object_at(object, "metadata"), "name", name);
    e = objects_create(b->options.objects, &r, object, NULL, NULL, &result);
    if (e && err_code(e) == ERR_EXISTS) {
        err_free(e);
        return NULL;
    }
    return e;
}

static void on_time(void *arg)
{
    struct boot *b = arg;

    if (are_all_there(b)) {
        b->is_ready = true;
        if (b->options.on_ready)
            b->options.on_ready(b->options.arg);
        return;
    }
    for (size_t i = 0; i < N_NAMES; i++) {
        AUTO(err_freep) struct err *e = is_there(b, names[i]) ? NULL : create(b, names[i]);

        if (e)
            LOG(WARN, "namespace cannot be created, will be tried again", S("namespace", names[i]),
                E(e));
    }
    loop_timer_set(b->timer, NS_PER_SEC);
}

static void on_change(void *arg, const struct store_change *change, int64_t revision)
{
    struct boot *b = arg;

    (void)change;
    (void)revision;
    if (!b->is_ready && are_all_there(b))
        loop_timer_set(b->timer, 0);
}

struct err *boot_new(const struct boot_options *o, struct boot **ret)
{
    struct boot *b = mem_alloc(sizeof(*b));
    struct store_range range = {.group = "", .resource = "namespaces"};
    struct store *s = objects_store(o->objects);
    struct err *e;

    b->options = *o;
    b->kind = kind_find("", "namespaces");
    b->timer = loop_timer_new(o->loop, on_time, b);
    loop_timer_set(b->timer, 0);
    e = store_watch_new(s, &range, store_revision(s), on_change, b, &b->watch);
    if (e) {
        boot_free(b);
        return e;
    }
    *ret = b;
    return NULL;
}

void boot_free(struct boot *b)
{
    if (!b)
        return;
    store_watch_free(b->watch);
    loop_timer_free(b->timer);
    free(b);
}
