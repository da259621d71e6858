/* api.c - the HTTP server and the core together */

#include "api/api.h"

#include "access/passwd_linux.h"
#include "api/core.h"
#include "api/metrics.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "http/http.h"

enum {
    NODE_WAIT_S = 10 /* nodes try to connect again each 5 s (node/session/uplink.c) */
};

struct api {
    struct core *core;
    struct http_server *http;
};

static void api_on_token_revoked(void *arg, uint64_t credential)
{
    struct api *a = arg;

    http_server_cut(a->http, credential);
}

struct err *api_new(const struct api_options *o, struct api **ret)
{
    AUTO(api_freep) struct api *a = mem_alloc(sizeof(*a));
    struct core_options core = {.loop = o->loop,
                                .objects = o->objects,
                                .users_file = o->users_file,
                                .nodes_file = o->nodes_file,
                                .user_name = passwd_user_name,
                                .user_uid = passwd_user_uid,
                                .views = o->views,
                                .n_views = o->n_views,
                                .reports = o->reports,
                                .n_reports = o->n_reports,
                                .metrics = o->metrics,
                                .take_stats = o->take_stats,
                                .stats_arg = o->stats_arg,
                                .token_revoked = api_on_token_revoked,
                                .revoked_arg = a,
                                .hook_caller = o->hook_caller,
                                .audit = o->audit,
                                .rotation = o->rotation,
                                .node_wait_ns = NODE_WAIT_S * NS_PER_SEC,
                                .audits_reads = o->audits_reads,
                                .audit_keep_ns = o->audit_keep_ns,
                                .make_link = o->make_link,
                                .link_arg = o->link_arg,
                                .rest = o->rest,
                                .rest_arg = o->rest_arg};
    AUTO_FREE char *signing_key = o->pki_dir ? mem_format("%s/sa.key", o->pki_dir) : NULL;
    struct http_options http = {.loop = o->loop,
                                .unix_fd = o->unix_fd,
                                .tls_fd = o->tls_fd,
                                .pods_fd = o->pods_fd,
                                .pki_dir = o->pki_dir,
                                .handle = core_handle};

    struct http_door doors[2];

    /* the maker is borrowed and const; a door's logic takes a plain pointer */
    struct http_door metrics = {.fd = o->metrics_fd,
                                .is_tls = o->has_metrics_tls,
                                .pki_dir = o->metrics_pki_dir,
                                .handle = metrics_handle,
                                .arg = (void *)(uintptr_t)o->metrics};

    if (o->metrics && o->metrics_fd >= 0)
        doors[http.n_doors++] = metrics;
    if (o->page)
        doors[http.n_doors++] = *o->page;
    http.doors = doors;
    core.signing_key_file = signing_key;
    core.join_dir = o->pki_dir;
    TRY(core_new(&core, &a->core));
    http.arg = a->core;
    TRY(http_server_new(&http, &a->http));
    *ret = TAKE(a);
    return NULL;
}

void api_handle(void *arg, struct exchange *x)
{
    struct api *a = arg;

    core_handle(a->core, x);
}

void api_free(struct api *a)
{
    if (!a)
        return;
    http_server_free(a->http);
    core_free(a->core);
    free(a);
}
