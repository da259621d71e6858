/* The role `mete node`: the hands of this machine, as root. */
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/role_linux.h"
#include "client/client.h"
#include "gpu/gpu_watch.h"
#include "node/node.h"

enum {
    TOKEN_MAX = 4096
};

struct hands {
    struct role role;
    const char *data;
    char *socket;
    char *dir;
    char *gpusim;  /* NULL: the gpus are real */
    char *library; /* of the emulated driver */
    char *machine;
    char *token;
    struct client *client;
    struct gpu_watch *gpus;
    struct node *node;
};

static void hands_done(struct hands *h)
{
    node_free(h->node);
    gpu_watch_free(h->gpus);
    client_free(h->client);
    role_done(&h->role);
    free(h->socket);
    free(h->dir);
    free(h->gpusim);
    free(h->library);
    free(h->machine);
    free(h->token);
}

static void on_gpus(void *arg)
{
    struct hands *h = arg;

    if (h->node)
        node_gpus_changed(h->node);
}

static struct err *read_token(struct hands *h)
{
    AUTO_FREE char *path = mem_format("%s/token", h->dir);
    struct buf b = {0};
    struct err *e = file_read(path, TOKEN_MAX, &b);

    if (!e)
        h->token = mem_strndup(b.at, strcspn(b.at, "\r\n"));
    buf_done(&b);
    return e;
}

static struct err *connect_server(struct hands *h)
{
    struct client_options o = {
        .loop = h->role.loop, .unix_socket = h->socket, .url = "http://mete"};

    TRY(read_token(h));
    o.token = h->token;
    return client_new(&o, &h->client);
}

static struct err *watch_gpus(struct hands *h, const struct cli *c)
{
    const char *which = flag_text(c->in, "gpus");
    struct gpu_watch_options o = {
        .loop = h->role.loop, .self_path = c->self_path, .on_change = on_gpus, .arg = h};

    if (text_equal(which, "none"))
        return NULL;
    if (text_equal(which, "emulated")) {
        h->gpusim = mem_format("%s/gpusim", h->dir);
        h->library = mem_format("%s/libnvidia-ml.so.1", h->gpusim);
        h->machine = mem_format("%s/machine.bin", h->gpusim);
    }
    o.library = h->library;
    o.machine = h->machine;
    return gpu_watch_new(&o, &h->gpus);
}

static struct err *begin(struct hands *h, struct cli *c)
{
    struct node_options o = {.name = flag_text(c->in, "name"), .mask_dir = h->data};

    if (!o.name)
        return cli_usage(c, "node wants --name");
    TRY(role_init(&h->role, c, "node"));
    TRY(connect_server(h));
    TRY(watch_gpus(h, c));
    o.loop = h->role.loop;
    o.client = h->client;
    o.gpus = h->gpus;
    o.dir = h->dir;
    o.gpusim_dir = h->gpusim;
    TRY(node_new(&o, &h->node));
    return role_run(&h->role, ROLE_READY_NODE);
}

static struct err *node_run(struct cli *c)
{
    struct hands h = {.data = flag_text(c->in, "data")};
    struct err *e;

    h.socket = mem_format("%s/mete.sock", h.data);
    h.dir = mem_format("%s/node", h.data);
    e = begin(&h, c);
    hands_done(&h);
    return e;
}

const struct command command_node = {
    .name = "node",
    .summary = "the containers of one machine: started by mete up",
    .examples = {{"up", "starts it"}, {"down", "ends it"}, {0}},
    .flags = role_flags,
    .is_hidden = true,
    .run = node_run,
};
