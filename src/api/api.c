#include "api/api.h"

#include "api/core.h"
#include "api/http.h"
#include "api/passwd_linux.h"
#include "base/mem.h"

struct api {
    struct core *core;
    struct http_server *http;
};

struct err *api_new(const struct api_options *o, struct api **ret)
{
    AUTO(api_freep) struct api *a = mem_alloc(sizeof(*a));
    const struct core_options core = {.loop = o->loop,
                                      .objects = o->objects,
                                      .users_file = o->users_file,
                                      .node_tokens_file = o->node_tokens_file,
                                      .user_name = passwd_user_name,
                                      .views = o->views,
                                      .n_views = o->n_views,
                                      .version = o->version};
    struct http_options http = {.loop = o->loop,
                                .unix_fd = o->unix_fd,
                                .tls_fd = o->tls_fd,
                                .pki_dir = o->pki_dir,
                                .handle = core_handle};

    TRY(core_new(&core, &a->core));
    http.arg = a->core;
    TRY(http_server_new(&http, &a->http));
    *ret = TAKE(a);
    return NULL;
}

void api_free(struct api *a)
{
    if (!a)
        return;
    http_server_free(a->http);
    core_free(a->core);
    free(a);
}
