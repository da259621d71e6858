/* The role `mete server`: the store, the control loops and the doors, as a user without privileges.
 */
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/api.h"
#include "base/file.h"
#include "base/log.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/role_linux.h"
#include "control/control.h"
#include "kinds/objects.h"
#include "store/storage.h"
#include "store/store.h"

enum {
    CA_FILE_MAX = 64 << 10
};

struct server {
    struct role role; /* loop, lifeline, signals */
    struct storage *storage;
    struct store *store;
    struct objects *objects;
    struct control *control;
    struct api *api;
    struct api_view views[2]; /* the api borrows them */
    char *dir;
    char *pki;
    char *users;
    char *node_tokens;
};

/* Down from the doors, so that nothing is answered over what is gone. */
static void server_done(struct server *s)
{
    api_free(s->api);
    control_free(s->control);
    store_free(s->store);
    objects_free(s->objects);
    storage_free(s->storage);
    role_done(&s->role);
    free(s->dir);
    free(s->pki);
    free(s->users);
    free(s->node_tokens);
}

static void on_fatal(void *arg, const struct err *e)
{
    struct server *s = arg;

    role_fail(&s->role, err_wrap(err_new(err_code(e), "%s", err_message(e)),
                                 "the data directory's disk failed"));
}

static void make_random(void *arg, void *ret, size_t size)
{
    (void)arg;
    random_bytes(ret, size);
}

/* Each connection is a descriptor; the hard limit is what the administrator allows. */
static void raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        LOG(WARN, "the limit of open files stays low");
}

static struct err *open_store(struct server *s)
{
    const struct storage_sqlite_options storage = {
        .loop = s->role.loop, .dir = s->dir, .is_threaded = true};
    struct store_options store = {.loop = s->role.loop, .on_fatal = on_fatal, .arg = s};
    struct objects_options objects = {.loop = s->role.loop, .random = make_random};

    TRY(storage_sqlite_new(&storage, &s->storage));
    store.storage = s->storage;
    TRY(store_open(&store, &s->store));
    objects.store = s->store;
    s->objects = objects_new(&objects);
    return NULL;
}

static struct err *open_doors(struct server *s)
{
    AUTO_FREE char *ca_path = mem_format("%s/ca.crt", s->pki);
    AUTO(buf_done) struct buf ca = {0};
    struct control_options control = {
        .loop = s->role.loop, .store = s->store, .objects = s->objects};
    const struct api_options api = {
        .loop = s->role.loop,
        .store = s->store,
        .objects = s->objects,
        .unix_fd = ROLE_FD_UNIX,
        .tls_fd = ROLE_FD_TLS,
        .pki_dir = s->pki,
        .users_file = s->users,
        .node_tokens_file = s->node_tokens,
        .views = s->views,
        .n_views = sizeof(s->views) / sizeof(s->views[0]),
        .version = METE_VERSION,
    };

    TRY(file_read(ca_path, CA_FILE_MAX, &ca));
    control.ca = ca.at;
    TRY(control_new(&control, &s->control));
    s->views[0] = (struct api_view){.kind = kind_find("mete.dev", "workloads"),
                                    .list = control_workloads,
                                    .get = control_workload,
                                    .arg = s->control};
    s->views[1] = (struct api_view){.kind = kind_find("mete.dev", "gpus"),
                                    .list = control_gpus,
                                    .get = control_gpu,
                                    .arg = s->control};
    return api_new(&api, &s->api);
}

static struct err *server_run(struct cli *c)
{
    struct server s = {0};
    const char *data = flag_text(c->in, "data");
    struct err *e;

    s.dir = mem_format("%s/server", data);
    s.pki = mem_format("%s/pki", s.dir);
    s.users = mem_format("%s/users.yaml", s.dir);
    s.node_tokens = mem_format("%s/node-tokens.yaml", s.dir);
    e = role_init(&s.role, c, "server");
    raise_descriptors();
    if (!e)
        e = open_store(&s);
    if (!e)
        e = open_doors(&s);
    if (!e)
        e = role_ready(&s.role, ROLE_READY_SERVER);
    if (!e)
        e = role_run(&s.role);
    server_done(&s);
    return e;
}

const struct command command_server = {
    .name = "server",
    .summary = "the API, the store and the scheduler: started by mete up",
    .examples = {{"up", "starts it"}, {"down", "ends it"}, {0}},
    .flags = role_flags,
    .is_hidden = true,
    .run = server_run,
};
