/* fuzz_api_route.c - fuzzes "METHOD PATH?QUERY": path, query, route and continue token */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "api/routes.h"
#include "api/token.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_route(struct arena *a, const char *method, const char *path)
{
    struct request_target t = {0};
    struct route_match m = {0};
    const struct route *r = NULL;
    const char *allow = NULL;
    AUTO(err_freep) struct err *e = target_parse(a, path, &t);

    if (e)
        return;
    for (size_t i = 0; i < t.n; i++)
        assert(*t.segments[i] && !strchr(t.segments[i], '/') && strcmp(t.segments[i], "..") != 0);
    e = routes_find(a, method, &t, &m, &r, &allow);
    if (e)
        return;
    assert(r ? strcmp(r->method, method) == 0 : allow != NULL);
    assert(!r || !r->verb || m.kind);
}

static void try_query(struct arena *a, const char *text)
{
    struct query q = {0};
    struct token token = {0};
    AUTO(err_freep) struct err *e = query_parse(a, text, &q);
    AUTO(err_freep) struct err *bad = NULL;
    const char *more;

    if (e)
        return;
    more = query_get(&q, "continue");
    if (!more)
        return;
    bad = token_parse(a, more, &token);
    if (!bad) {
        AUTO_FREE char *again = token_format(&token);
        struct token back = {0};

        bad = token_parse(a, again, &back);
        assert(!bad && back.revision == token.revision && strcmp(back.name, token.name) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *method = mem_strndup((const char *)data, size);
    struct arena *a = arena_new();
    char *path = strchr(method, ' ');
    char *query;

    if (path) {
        *path++ = '\0';
        query = strchr(path, '?');
        if (query)
            *query++ = '\0';
        try_route(a, method, path);
        if (query)
            try_query(a, query);
    }
    arena_free(a);
    return 0;
}
