/* requests.c - counts of requests, and the path that tells them */

#include "api/requests.h"

#include "api/handlers.h"
#include "api/routes.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/stamp.h"

enum {
    REQUEST_USERS_MAX = 1000 /* further callers count as "others" */
};

struct request_count {
    struct map_handle handle;
    char *name;
    int64_t n;
    int64_t sum_ns;
};

struct requests {
    int64_t since_s;
    struct request_count *kinds; /* bounded by the table of routes and the kinds */
    struct request_count *users;
};

struct requests *requests_new(const struct loop *l)
{
    struct requests *r = mem_alloc(sizeof(*r));

    r->since_s = loop_wall_ns(l) / NS_PER_SEC;
    return r;
}

static void counts_free(struct request_count **counts)
{
    struct request_count *one;
    struct request_count *next;

    map_each (handle, *counts, one, next) {
        map_remove(handle, *counts, one); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
        free(one->name);
        free(one);
    }
}

void requests_free(struct requests *r)
{
    if (!r)
        return;
    counts_free(&r->kinds);
    counts_free(&r->users);
    free(r);
}

static void counts_add(struct request_count **counts, size_t max, const char *name, int64_t ns)
{
    struct request_count *one = NULL;

    map_find_text(handle, *counts, name, one);
    if (!one && map_count(handle, *counts) >= max) {
        name = "others";
        map_find_text(handle, *counts, name, one);
    }
    if (!one) {
        one = mem_alloc(sizeof(*one));
        one->name = mem_strdup(name);
        map_add(handle, *counts, one->name, strlen(one->name), one);
    }
    one->n++;
    one->sum_ns += ns;
}

/* "list pods", "create pods/exec", "GET /apis/mete.dev/v1/usage". The caller frees it. */
static char *request_name(const struct call *c, const char *verb)
{
    if (c->kind)
        return mem_format("%s %s%s%s", verb, c->kind->plural, c->subresource ? "/" : "",
                          text_or_empty(c->subresource));
    return mem_format("%s %s", c->route->method, text_or_empty(c->route->path));
}

void requests_add(struct requests *r, const struct call *c, const char *verb, int64_t ns)
{
    AUTO_FREE char *name = request_name(c, verb);

    counts_add(&r->kinds, SIZE_MAX, name, ns);
    counts_add(&r->users, REQUEST_USERS_MAX, c->who.user, ns);
}

/* ---- the answer ---- */

static int counts_compare(const void *left, const void *right)
{
    const struct request_count *a = *(const struct request_count *const *)left;
    const struct request_count *b = *(const struct request_count *const *)right;

    if (a->n != b->n)
        return a->n > b->n ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* The most frequent first. `only` NULL: all. */
static json_t *counts_tree(struct request_count *counts, const char *only)
{
    size_t n = map_count(handle, counts);
    AUTO_FREE struct request_count **all = mem_alloc((n + 1) * sizeof(struct request_count *));
    struct request_count *one;
    struct request_count *next;
    json_t *items = json_array();

    n = 0;
    map_each (handle, counts, one, next)
        if (!only || text_equal(one->name, only))
            all[n++] = one;
    qsort(all, n, sizeof(struct request_count *), counts_compare);
    for (size_t i = 0; i < n; i++) {
        json_t *item = json_object();

        json_put_text(item, "name", all[i]->name);
        json_put_int(item, "count", all[i]->n);
        json_put_int(item, "totalMicros", all[i]->sum_ns / 1000);
        (void)json_array_append_new(items, item); /* fresh: cannot fail */
    }
    return items;
}

json_t *requests_tree(const struct requests *r, const char *user)
{
    json_t *tree = json_object();

    json_put_text(tree, "kind", "RequestCounts");
    json_put_text(tree, "apiVersion", "mete.dev/v1");
    json_put_int(tree, "since", r->since_s);
    json_put(tree, "kinds", counts_tree(r->kinds, NULL));
    json_put(tree, "users", counts_tree(r->users, user));
    return tree;
}

struct err *handle_requests(struct call *c)
{
    AUTO(json_freep)
    json_t *tree = requests_tree(core_requests(c->core), c->who.is_admin ? NULL : c->who.user);

    reply_json(c->x, 200, tree, NULL);
    return NULL;
}
