/*
 * api_server_main.c - the API server alone, for tests with clients: api_server DIR PORT
 *
 * Makes DIR/pki, DIR/kubeconfig and DIR/mete.sock, and serves until SIGTERM. It neither schedules
 * nor runs pods.
 */

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "access/pki.h"
#include "api/api.h"
#include "base/file.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/num.h"
#include "store/storage.h"

struct server {
    struct loop *loop;
    struct storage *storage;
    struct store *store;
    struct objects *objects;
    struct api *api;
    int unix_fd;
    int tls_fd;
};

static void random_of(void *arg, void *ret, size_t size)
{
    (void)arg;
    random_bytes(ret, size);
}

static void stop(void *arg)
{
    loop_linux_stop(arg);
}

static int listen_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)unlink(path);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 128) != 0)
        return -1;
    return fd;
}

static int listen_tcp(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(port),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 128) != 0)
        return -1;
    return fd;
}

static struct err *open_store(struct server *s, const char *dir)
{
    AUTO_FREE char *path = mem_format("%s/state", dir);
    const struct storage_sqlite_options disk = {.loop = s->loop, .dir = path, .is_threaded = true};
    struct store_options options = {.loop = s->loop};
    struct objects_options objects = {.loop = s->loop, .random = random_of};

    TRY(dir_make(path, 0700));
    TRY(storage_sqlite_new(&disk, &s->storage));
    options.storage = s->storage;
    TRY(store_open(&options, &s->store));
    objects.store = s->store;
    s->objects = objects_new(&objects);
    return NULL;
}

static struct err *make_namespace(struct server *s, const char *name)
{
    const struct objects_request r = {
        .kind = kind_find("", "namespaces"),
        .ns = "",
        .who = {.user = "system", .is_system = true, .is_admin = true}};
    AUTO(json_freep) json_t *object = json_object();
    AUTO(json_freep) json_t *made = NULL;
    struct err *e;

    json_put_text(json_object_at(object, "metadata"), "name", name);
    e = objects_create(s->objects, &r, object, NULL, NULL, &made);
    if (e && err_code(e) == ERR_EXISTS) {
        err_free(e);
        return NULL;
    }
    return e;
}

static struct err *serve(struct server *s, const char *dir, const char *port_text)
{
    AUTO_FREE char *pki = mem_format("%s/pki", dir);
    AUTO_FREE char *socket_path = mem_format("%s/mete.sock", dir);
    AUTO_FREE char *users = mem_format("%s/users.yaml", dir);
    AUTO_FREE char *config_path = mem_format("%s/kubeconfig", dir);
    AUTO_FREE char *url = mem_format("https://127.0.0.1:%s", port_text);
    AUTO_FREE char *config = NULL;
    struct api_options o = {.loop = s->loop, .pki_dir = pki, .users_file = users};
    int64_t port = 0;

    TRY(num_parse_int64(str_of(port_text), 1, 65535, &port));
    TRY(dir_make(dir, 0755));
    TRY(pki_make(pki, NULL));
    TRY(pki_kubeconfig(pki, url, &config));
    TRY(file_write(config_path, 0600, str_of(config)));
    TRY(open_store(s, dir));
    TRY(make_namespace(s, "default"));
    TRY(make_namespace(s, "kube-system"));
    s->unix_fd = listen_unix(socket_path);
    s->tls_fd = listen_tcp((uint16_t)port);
    if (s->unix_fd < 0 || s->tls_fd < 0)
        return err_new(ERR_UNAVAILABLE, "cannot listen");
    o.unix_fd = s->unix_fd;
    o.tls_fd = s->tls_fd;
    o.store = s->store;
    o.objects = s->objects;
    TRY(api_new(&o, &s->api));
    (void)printf("ready\n");
    (void)fflush(stdout);
    return loop_linux_run(s->loop);
}

int main(int argc, char **argv)
{
    struct server s = {.unix_fd = -1, .tls_fd = -1};
    AUTO(err_freep) struct err *e = NULL;

    if (argc != 3) {
        (void)fprintf(stderr, "usage: api_server DIR PORT\n");
        return 2;
    }
    s.loop = loop_linux_new();
    loop_linux_on_signal(s.loop, SIGTERM, stop, s.loop);
    loop_linux_on_signal(s.loop, SIGINT, stop, s.loop);
    e = serve(&s, argv[1], argv[2]);
    if (e)
        (void)fprintf(stderr, "api_server: %s\n", err_message(e));
    api_free(s.api);
    objects_free(s.objects);
    store_free(s.store);
    storage_free(s.storage);
    loop_linux_free(s.loop);
    fd_close(s.unix_fd);
    fd_close(s.tls_fd);
    return e ? 1 : 0;
}
