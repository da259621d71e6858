/* join_linux.c - mete node --server: joins another machine's Mete, and keeps the node running */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/node_ca.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/reach.h"
#include "cli/role/data_dir.h"
#include "cli/role/gpu_config.h"
#include "cli/role/join.h"
#include "cli/role/notify.h"
#include "cli/role/roles.h"
#include "cli/role/supervisor.h"
#include "cli/session.h"

enum {
    HEX_DIGITS = 64,
    NAME_SIZE = 256
};

static const char token_prefix[] = "mete1.";

struct join {
    struct cli *cli;
    struct data_dir data;
    char *dir;  /* DATA/node/join */
    char *name; /* of the node */
    char *ca_file;
    char *cert_file;
    char *key_file;
    const char *gpus; /* --gpus of the child */
    struct session *session;
    struct supervisor *supervisor;
    struct loop_io *ready_io;
    int lifeline[2];
    int ready[2];
    bool is_ready;
    bool is_stopping;
};

char *join_dir(const char *data)
{
    return mem_format("%s/node/join", data);
}

struct err *join_request(const char *dir, json_t **ret)
{
    AUTO_FREE char *request = NULL;

    TRY(node_request_make(dir, &request));
    *ret = json_object();
    json_put_text(*ret, "request", request);
    return NULL;
}

struct err *join_take(const char *dir, const json_t *answer)
{
    AUTO_FREE char *path = mem_format("%s/node.crt", dir);
    const char *pem = json_text(answer, "certificate");

    if (!pem)
        return err_new(ERR_INTERNAL, "the server's answer has no certificate");
    return file_write_durable(path, 0644, str_of(pem));
}

static void join_done(struct join *j)
{
    loop_io_free(j->ready_io);
    supervisor_free(j->supervisor);
    session_free(j->session);
    for (size_t i = 0; i < 2; i++) {
        fd_close(j->lifeline[i]);
        fd_close(j->ready[i]);
    }
    data_dir_done(&j->data);
    free(j->dir);
    free(j->name);
    free(j->ca_file);
    free(j->cert_file);
    free(j->key_file);
}

/* ---- joining ---- */

/* The parts of a token, mete1.SECRET.DIGEST. */
struct token {
    char secret[HEX_DIGITS + 1];
    char digest[CA_DIGEST_SIZE];
};

static bool take_digits(struct str *rest, char ret[HEX_DIGITS + 1])
{
    struct str part = str_cut(rest, '.');

    if (part.size != HEX_DIGITS)
        return false;
    memcpy(ret, part.at, HEX_DIGITS);
    ret[HEX_DIGITS] = '\0';
    return strspn(ret, "0123456789abcdef") == HEX_DIGITS;
}

static struct err *token_read(const char *text, struct token *ret)
{
    struct str rest = str_of(text);

    if (text_starts_with(text, token_prefix)) {
        rest = str_of(text + strlen(token_prefix));
        if (take_digits(&rest, ret->secret) && take_digits(&rest, ret->digest) && !rest.at)
            return NULL;
    }
    return err_new(ERR_INVALID, "--token: want the text that mete token node printed");
}

static struct err *join_call(struct join *j, const struct client_options *o,
                             const struct call *call, json_t **ret)
{
    AUTO(session_freep) struct session *s = NULL;

    TRY(session_open_server(j->cli, o, &s));
    return session_call(s, call, ret);
}

/* Fetches the server's authority, and compares it with the digest in the token. */
static struct err *fetch_authority(struct join *j, const char *server, const struct token *token)
{
    const struct client_options o = {.url = server, .is_unverified = true};
    const struct call call = {.path = "/mete.dev/v1/ca"};
    AUTO(json_freep) json_t *answer = NULL;
    char digest[CA_DIGEST_SIZE];
    const char *pem;

    TRY(join_call(j, &o, &call, &answer));
    pem = json_text(answer, "certificate");
    if (!pem)
        return err_new(ERR_INVALID, "%s is no server of Mete", server);
    TRY(ca_digest(pem, digest));
    if (!text_equal(digest, token->digest))
        return err_new(ERR_FORBIDDEN,
                       "%s is not the server that made the token: its authority differs", server);
    return file_write_durable(j->ca_file, 0644, str_of(pem));
}

static struct err *join_by_token(struct join *j, const char *server, const char *text)
{
    const struct client_options o = {.url = server, .ca_file = j->ca_file};
    AUTO_FREE char *name_path = mem_format("%s/name", j->dir);
    AUTO(json_freep) json_t *body = NULL;
    AUTO(json_freep) json_t *answer = NULL;
    struct call call = {.method = "POST", .path = "/mete.dev/v1/node-join"};
    struct token token = {0};

    TRY(token_read(text, &token));
    TRY(fetch_authority(j, server, &token));
    TRY(join_request(j->dir, &body));
    json_put_text(body, "node", j->name);
    json_put_text(body, "secret", token.secret);
    call.body = body;
    TRY(join_call(j, &o, &call, &answer));
    TRY(file_write_durable(name_path, 0644, str_of(j->name)));
    TRY(join_take(j->dir, answer));
    cli_say(j->cli, "  joined %s as node %s", server, j->name);
    return NULL;
}

/* A new certificate for the present one. */
static struct err *renew(struct join *j, const char *server)
{
    const struct client_options o = {
        .url = server, .ca_file = j->ca_file, .cert_file = j->cert_file, .key_file = j->key_file};
    AUTO(json_freep) json_t *body = NULL;
    AUTO(json_freep) json_t *answer = NULL;
    struct call call = {.method = "POST", .path = "/mete.dev/v1/node-renewals"};

    TRY(join_request(j->dir, &body));
    call.body = body;
    TRY(join_call(j, &o, &call, &answer));
    return join_take(j->dir, answer);
}

/* With a certificate that the server takes, the token is left unused; while the server cannot be
 * reached, the node starts, and connects later. */
static struct err *join_or_renew(struct join *j, const char *server, const char *token)
{
    struct err *e = NULL;

    if (file_exists(j->cert_file)) {
        e = renew(j, server);
        if (e && err_code(e) != ERR_UNAUTHENTICATED && err_code(e) != ERR_FORBIDDEN) {
            LOG(WARN, "the certificate was not renewed", E(e));
            err_free(e);
            return NULL;
        }
        if (!e || !token)
            return e;
        err_free(e);
    }
    if (!token) {
        cli_try(j->cli,
                "on the server: mete token node   then here: mete node --server %s --token "
                "TOKEN",
                server);
        return err_new(ERR_INVALID, "this machine has not joined %s: want --token", server);
    }
    return join_by_token(j, server, token);
}

/* ---- the node's name and directory ---- */

static struct err *find_name(struct join *j)
{
    AUTO_FREE char *path = mem_format("%s/name", j->dir);
    const char *given = flag_text(j->cli->in, "name");
    AUTO(buf_done) struct buf kept = {0};
    struct err *e = file_read(path, NAME_SIZE, &kept);

    if (e && err_code(e) != ERR_NOT_FOUND)
        return e;
    err_free(e);
    if (kept.size > 0 && given && !text_equal(kept.at, given))
        return err_new(ERR_CONFLICT, "this machine has joined as node %s, not as %s", kept.at,
                       given);
    if (kept.size > 0 || given) {
        j->name = mem_strdup(kept.size > 0 ? kept.at : given);
        return NULL;
    }
    return node_name_make(&j->name);
}

static struct err *prepare_gpus(struct join *j)
{
    static const char prefix[] = "emulated:";
    const char *which = flag_text(j->cli->in, "gpus");
    AUTO_FREE char *dir = mem_format("%s/gpusim", j->data.node);
    AUTO_FREE char *seed = mem_format("%s:%s", j->name, j->data.path);

    if (!text_starts_with(which, prefix)) {
        j->gpus = which;
        return NULL;
    }
    j->gpus = "emulated";
    TRY(emulate_check(which + strlen(prefix)));
    return emulate_make(dir, which + strlen(prefix), j->cli->self_path, seed);
}

static struct err *prepare(struct join *j)
{
    const struct invocation *in = j->cli->in;

    TRY(gpu_config_check(flag_text(in, "gpu-config")));
    TRY(mig_config_check(flag_text(in, "mig-config")));
    (void)umask(022);
    TRY(data_dir_open(flag_text(in, "data"), &j->data));
    TRY(reach_check(&j->data, j->cli->self_path));
    j->dir = join_dir(j->data.path);
    j->ca_file = mem_format("%s/ca.crt", j->dir);
    j->cert_file = mem_format("%s/node.crt", j->dir);
    j->key_file = mem_format("%s/node.key", j->dir);
    TRY(dir_make(j->dir, 0700));
    TRY(find_name(j));
    return prepare_gpus(j);
}

/* ---- the child ---- */

static void on_stopped(void *arg)
{
    struct join *j = arg;

    session_stop(j->session);
}

static void on_signal(void *arg)
{
    struct join *j = arg;

    if (j->is_stopping)
        return;
    j->is_stopping = true;
    supervisor_stop(j->supervisor, on_stopped, j);
}

static void on_child_end(void *arg, const char *name, const char *how, unsigned quick)
{
    (void)arg;
    LOG(WARN, "child ended, restarting it", S("child", name), S("how", how), U("in_a_row", quick));
}

static void on_ready_io(void *arg, int fd, bool readable, bool writable)
{
    struct join *j = arg;
    char letters[16];

    (void)readable;
    (void)writable;
    if (read(fd, letters, sizeof(letters)) <= 0 || j->is_ready)
        return;
    j->is_ready = true;
    (void)fputs("ready\n", j->cli->out);
    (void)fflush(j->cli->out); /* the reader of stdout may be gone; jobs do not depend on it */
    notify_manager("READY=1");
}

/* Passes the flags of this command on to the child. */
static void add_flags(const struct join *j, struct child_spec *spec)
{
    static const char *const passed[] = {"server",
                                         "driver-root",
                                         "cpus",
                                         "cdi-file",
                                         "runtime",
                                         "gpu-config",
                                         "mig-config",
                                         "container-log-max-size",
                                         "container-log-max-files",
                                         "log-level",
                                         "log-format"};
    static const char *const words[] = {"--server",
                                        "--driver-root",
                                        "--cpus",
                                        "--cdi-file",
                                        "--runtime",
                                        "--gpu-config",
                                        "--mig-config",
                                        "--container-log-max-size",
                                        "--container-log-max-files",
                                        "--log-level",
                                        "--log-format"};
    const struct invocation *in = j->cli->in;
    const char *root = NULL;
    size_t n = 0;

    while (spec->argv[n])
        n++;
    for (size_t i = 0; i < COUNT(passed); i++) {
        spec->argv[n++] = words[i];
        spec->argv[n++] = flag_text(in, passed[i]);
    }
    for (size_t i = 0; (root = flag_repeated(in, "host-path-root", i)) && n + 2 < CHILD_ARGS_MAX;
         i++) {
        spec->argv[n++] = "--host-path-root";
        spec->argv[n++] = root;
    }
}

static struct err *start_node(struct join *j)
{
    struct child_spec spec = {
        .name = "node",
        .argv = {j->cli->self_path, "node", "--data", j->data.path, "--supervised", "--fenced",
                 "--name", j->name, "--gpus", j->gpus, NULL},
        .fds = {-1, STDERR_FILENO, STDERR_FILENO, [ROLE_FD_LIFELINE] = j->lifeline[0],
                [ROLE_FD_READY] = j->ready[1], [ROLE_FD_CHILDREN] = j->data.children_fd},
        .n_fds = ROLE_FD_CHILDREN + 1,
    };

    add_flags(j, &spec);
    return supervisor_add(j->supervisor, &spec);
}

static struct err *make_pipe(int ret[2])
{
    if (pipe2(ret, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_errno(errno, "create a pipe");
    return NULL;
}

static struct err *supervise(struct join *j, const char *server)
{
    const struct client_options o = {.url = server, .ca_file = j->ca_file};
    struct supervisor_options so = {.on_end = on_child_end, .arg = j};

    TRY(make_pipe(j->lifeline));
    TRY(make_pipe(j->ready));
    TRY(session_open_server(j->cli, &o, &j->session)); /* for its loop */
    so.loop = session_loop(j->session);
    j->supervisor = supervisor_new(&so);
    j->ready_io = loop_io_new(so.loop, j->ready[0], on_ready_io, j);
    loop_io_want(j->ready_io, true, false);
    session_on_signal(j->session, SIGTERM, on_signal, j);
    session_on_signal(j->session, SIGINT, on_signal, j);
    TRY(start_node(j));
    return session_run(j->session);
}

static struct err *join_all(struct join *j)
{
    const char *server = flag_text(j->cli->in, "server");

    if (!text_starts_with(server, "https://"))
        return cli_usage(j->cli, "--server: want https://HOST:PORT");
    log_setup("node", LOG_INFO, text_equal(flag_text(j->cli->in, "log-format"), "json"));
    TRY(prepare(j));
    TRY(join_or_renew(j, server, flag_text(j->cli->in, "token")));
    TRY(supervise(j, server));
    cli_say(j->cli, "  the node has stopped. Running containers continue; the next mete node "
                    "adopts them, unless the fence has ended them.");
    return NULL;
}

struct err *join_run(struct cli *c)
{
    struct join j = {.cli = c,
                     .lifeline = {-1, -1},
                     .ready = {-1, -1},
                     .data = {.lock_fd = -1, .children_fd = -1}};
    struct err *e = join_all(&j);

    if (e && err_code(e) == ERR_FORBIDDEN && geteuid() != 0)
        cli_try(c, "sudo mete node --server URL");
    join_done(&j);
    return e;
}
