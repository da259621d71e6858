/* session_linux.c - a command's connection to the server */

#include <assert.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/file.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "cli/kubeconfig.h"
#include "cli/session.h"
#include "cli/term/text_escape.h"
#include "client/exec_client.h"
#include "client/pem_linux.h"
#include "control/kube/kube_reports.h"
#include "kinds/kind/value.h"

#define ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

enum {
    KUBECONFIG_MAX = 1 << 20,
    NAMESPACE_MAX = 64,
    PAGE_MAX = 500,
    PEM_FDS = 3
};

struct session {
    struct cli *cli;
    struct loop *loop;
    struct client *client;
    char *where; /* the address, for messages */
    char *ns;
    int pem_fds[PEM_FDS]; /* memory files for certificates in the kubeconfig */
    size_t n_pem_fds;
};

static struct session *session_make(struct cli *c)
{
    struct session *s = mem_alloc(sizeof(*s));

    s->cli = c;
    s->loop = loop_linux_new();
    return s;
}

void session_free(struct session *s)
{
    if (!s)
        return;
    client_free(s->client);
    loop_linux_free(s->loop);
    for (size_t i = 0; i < s->n_pem_fds; i++)
        fd_close(s->pem_fds[i]);
    free(s->where);
    free(s->ns);
    free(s);
}

struct err *session_open_data(struct cli *c, const char *data_dir, struct session **ret)
{
    AUTO(session_freep) struct session *s = session_make(c);
    struct client_options o = {.loop = s->loop, .url = "http://mete"};

    s->where = mem_format("%s/mete.sock", data_dir);
    s->ns = mem_strdup("default");
    o.unix_socket = s->where;
    TRY(client_new(&o, &s->client));
    *ret = TAKE(s);
    return NULL;
}

struct err *session_open_server(struct cli *c, const struct client_options *o, struct session **ret)
{
    AUTO(session_freep) struct session *s = session_make(c);
    struct client_options mine = *o;

    s->where = mem_strdup(o->url);
    s->ns = mem_strdup("default");
    mine.loop = s->loop;
    TRY(client_new(&mine, &s->client));
    *ret = TAKE(s);
    return NULL;
}

/* Puts a certificate into a memory file: libcurl reads files only. The caller frees `*path`. */
static struct err *pem_path(struct session *s, const char *pem, char **path)
{
    char *made = NULL;

    if (!pem)
        return NULL;
    TRY(pem_open(pem, &s->pem_fds[s->n_pem_fds], &made));
    s->n_pem_fds++;
    free(*path);
    *path = made;
    return NULL;
}

/* The description of the cluster for a credential plugin. A new reference. */
static struct err *exec_cluster(const struct client_options *o, json_t **ret)
{
    AUTO(buf_done) struct buf pem = {0};
    AUTO(buf_done) struct buf text = {0};
    json_t *cluster;

    if (o->ca_file)
        TRY(file_read(o->ca_file, KUBECONFIG_MAX, &pem));
    cluster = json_object();
    json_put_text(cluster, "server", o->url);
    if (pem.size > 0) {
        base64_encode((struct str){.at = pem.at, .size = pem.size}, &text);
        json_put_text(cluster, "certificate-authority-data", text.at);
    }
    *ret = cluster;
    return NULL;
}

/* The environment of this program, and `more`, whose texts stay. The caller frees the array. */
static const char **exec_environment(char *const *more)
{
    VEC(const char *) all = {0};

    for (char **at = environ; at && *at; at++)
        vec_add(&all, *at);
    for (; *more; more++)
        vec_add(&all, *more);
    vec_add(&all, NULL);
    return all.at;
}

struct exec_wait {
    struct session *session;
    struct err *e;
};

static void on_exec_begun(void *arg, const struct err *e)
{
    struct exec_wait *w = arg;

    w->e = e ? err_new(err_code(e), "%s", err_message(e)) : NULL;
    session_stop(w->session);
}

/* With the credential of a plugin, which runs once before this returns. */
static struct err *connect_exec(struct session *s, const struct kubeconfig_exec *x,
                                const struct client_options *o)
{
    bool has_terminal = isatty(STDIN_FILENO) == 1;
    AUTO(json_freep) json_t *cluster = NULL;
    AUTO_FREE const char **env = NULL;
    struct exec_wait w = {.session = s};

    if (x->needs_terminal && !has_terminal)
        return err_new(ERR_UNAUTHENTICATED,
                       "credential plugin '%s' needs a terminal (interactiveMode: Always)",
                       x->argv[0]);
    if (x->wants_cluster)
        TRY(exec_cluster(o, &cluster));
    env = exec_environment(x->env);
    TRY(exec_client_new(o,
                        &(struct exec_plugin){.api_version = x->api_version,
                                              .argv = (const char *const *)x->argv,
                                              .env = env,
                                              .cluster = cluster,
                                              .is_interactive = x->may_ask && has_terminal,
                                              .hint = x->hint},
                        &s->client));
    exec_client_begin(s->client, on_exec_begun, &w);
    TRY(session_run(s));
    return w.e;
}

static struct err *connect_kubeconfig(struct session *s, struct kubeconfig *k)
{
    struct client_options o = {.loop = s->loop};

    TRY(pem_path(s, k->ca, &k->ca_file));
    TRY(pem_path(s, k->cert, &k->cert_file));
    TRY(pem_path(s, k->key, &k->key_file));
    s->where = mem_strdup(k->server);
    s->ns = mem_strdup(k->ns && k->ns[0] ? k->ns : "default");
    o.url = k->server;
    o.ca_file = k->ca_file;
    o.cert_file = k->cert_file;
    o.key_file = k->key_file;
    o.token = k->token;
    o.token_file = k->token_file;
    if (k->exec && !o.token && !o.token_file)
        return connect_exec(s, k->exec, &o);
    return client_new(&o, &s->client);
}

static const char *environment(const char *name)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe): one thread */

    return value && value[0] ? value : NULL;
}

/* The address of the API server of the cluster in whose pod this program runs; NULL: it runs in
 * none. The caller frees it. */
static char *cluster_url(void)
{
    const char *host = environment("KUBERNETES_SERVICE_HOST");
    const char *port = environment("KUBERNETES_SERVICE_PORT");

    if (!host || !port || access(ACCOUNT_DIR "/token", F_OK) != 0)
        return NULL;
    return mem_format(strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port);
}

/* As the service account of the pod. */
static struct err *open_in_cluster(struct cli *c, const char *url, struct session **ret)
{
    AUTO(buf_done) struct buf ns = {0};
    const struct client_options o = {
        .url = url, .ca_file = ACCOUNT_DIR "/ca.crt", .token_file = ACCOUNT_DIR "/token"};

    TRY(file_read(ACCOUNT_DIR "/namespace", NAMESPACE_MAX, &ns));
    TRY(session_open_server(c, &o, ret));
    free((*ret)->ns);
    (*ret)->ns = mem_strndup(ns.at ? ns.at : "", ns.size);
    return NULL;
}

/* The data directory or kubeconfig files of the server. A value. */
struct choice {
    const char *data;
    const char *kubeconfig;
    const char
        *variable; /* variable that lists the kubeconfig files, separated by ':'; NULL: the flag */
    const char *context; /* NULL: the current context */
};

/* Kubeconfig files in memory. */
struct file_list {
    VEC(struct kubeconfig_file) files;
    VEC(char *) paths;
    VEC(struct buf) texts;
};

static void file_list_done(struct file_list *l)
{
    VEC_EACH (&l->paths, path)
        free(*path);
    VEC_EACH (&l->texts, text)
        buf_done(text);
    vec_done(&l->files);
    vec_done(&l->paths);
    vec_done(&l->texts);
}

static struct err *add_file(struct file_list *l, struct str path, bool may_be_absent)
{
    char *name = mem_strndup(path.at, path.size);
    struct buf text = {0};
    struct err *e;

    vec_add(&l->paths, name);
    e = file_read(name, KUBECONFIG_MAX, &text);
    if (e && may_be_absent && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        return NULL;
    }
    if (e)
        return e;
    vec_add(&l->texts, text);
    vec_add(&l->files,
            (struct kubeconfig_file){.path = name, .text = {.at = text.at, .size = text.size}});
    return NULL;
}

/* Reads the files; as kubectl, skips missing files of a variable's list. */
static struct err *read_files(const struct choice *where, struct file_list *l)
{
    struct str rest = str_of(where->kubeconfig);

    if (!where->variable)
        return add_file(l, rest, false);
    while (rest.at) {
        struct str path = str_cut(&rest, ':');

        if (path.size > 0)
            TRY(add_file(l, path, true));
    }
    if (l->files.n == 0)
        return err_new(ERR_NOT_FOUND, "no file of the list exists: \"%s\"", where->kubeconfig);
    return NULL;
}

static void try_without(struct cli *c, const struct choice *where)
{
    if (where->variable)
        cli_try(c, "correct $%s, or name the server: --data DIR, --kubeconfig FILE",
                where->variable);
}

static struct err *open_kubeconfig(struct cli *c, const struct choice *where, struct session **ret)
{
    AUTO(session_freep) struct session *s = session_make(c);
    struct kubeconfig k = {0};
    struct file_list l = {0};
    struct err *e = read_files(where, &l);

    if (!e)
        e = kubeconfig_parse(l.files.at, l.files.n, where->context, &k);
    if (!e)
        e = connect_kubeconfig(s, &k);
    kubeconfig_done(&k);
    file_list_done(&l);
    if (e) {
        try_without(c, where);
        return where->variable ? err_wrap(e, "$%s", where->variable) : e;
    }
    *ret = TAKE(s);
    return NULL;
}

/* Takes the first of `variables` that is set. */
static void take_variable(struct choice *where, const char *const *variables)
{
    for (; *variables && !where->kubeconfig && !where->data; variables++) {
        const char *value = environment(*variables);

        if (value && text_ends_with(*variables, "KUBECONFIG")) {
            where->kubeconfig = value;
            where->variable = *variables;
        } else {
            where->data = value;
        }
    }
}

static struct err *choose_server(struct cli *c, struct choice *ret)
{
    static const char *const all[] = {"METE_KUBECONFIG", "METE_DATA", "KUBECONFIG", NULL};
    static const char *const files[] = {"METE_KUBECONFIG", "KUBECONFIG", NULL};
    struct choice where = {.data = flag_text(c->in, "data"),
                           .kubeconfig = flag_text(c->in, "kubeconfig"),
                           .context = flag_text(c->in, "context")};

    if (where.data && where.kubeconfig)
        return cli_usage(c, "--data and --kubeconfig exclude each other");
    if (where.data && where.context)
        return cli_usage(c, "--context and --data exclude each other");
    take_variable(&where, where.context ? files : all);
    if (where.context && !where.kubeconfig)
        return cli_usage(c, "--context needs --kubeconfig FILE or $KUBECONFIG");
    *ret = where;
    return NULL;
}

struct err *session_open(struct cli *c, struct session **ret)
{
    AUTO_FREE char *url = cluster_url();
    struct choice where = {0};
    struct session *s = NULL;

    TRY(choose_server(c, &where));
    if (where.kubeconfig)
        TRY(open_kubeconfig(c, &where, &s));
    else if (!where.data && url)
        TRY(open_in_cluster(c, url, &s));
    else
        TRY(session_open_data(c, where.data ? where.data : "/var/lib/mete", &s));
    assert(s);
    if ((c->in->command->groups & FLAGS_NAMESPACE) && flag_text(c->in, "namespace")) {
        free(s->ns);
        s->ns = mem_strdup(flag_text(c->in, "namespace"));
    }
    *ret = s;
    return NULL;
}

struct err *session_open_cluster(struct cli *c, struct session **ret)
{
    static const char *const files[] = {"METE_KUBECONFIG", "KUBECONFIG", NULL};
    AUTO_FREE char *url = cluster_url();
    struct choice where = {.kubeconfig = flag_text(c->in, "kubeconfig"),
                           .context = flag_text(c->in, "context")};

    take_variable(&where, files);
    if (where.kubeconfig)
        return open_kubeconfig(c, &where, ret);
    if (!url)
        return err_new(ERR_NOT_FOUND, "no API server: want --kubeconfig FILE, $KUBECONFIG, or a "
                                      "pod's service account");
    return open_in_cluster(c, url, ret);
}

struct loop *session_loop(struct session *s)
{
    return s->loop;
}

struct client *session_client(struct session *s)
{
    return s->client;
}

const char *session_namespace(const struct session *s)
{
    return s->ns;
}

struct err *session_run(struct session *s)
{
    return loop_linux_run(s->loop);
}

void session_stop(struct session *s)
{
    loop_linux_stop(s->loop);
}

void session_on_signal(struct session *s, int signal, loop_fn fn, void *arg)
{
    loop_linux_on_signal(s->loop, signal, fn, arg);
}

struct answer {
    struct session *session;
    struct err *e;
    json_t *body;
};

static void show_warnings(const struct cli *c, const char *warnings)
{
    for (struct str rest = str_of(warnings); rest.at;) {
        struct str line = str_cut(&rest, '\n');

        if (line.size > 0)
            cli_say(c, "warning: " STR_FMT, STR_ARG(line));
    }
}

static void session_on_answer(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct answer *a = arg;

    a->e = client_error(e, reply);
    if (!e && reply->warning)
        show_warnings(a->session->cli, reply->warning);
    if (!a->e && reply->body.size > 0) {
        a->e = json_parse(reply->body, &a->body);
        if (a->e)
            a->e = err_wrap(a->e, "the server's answer");
    }
    session_stop(a->session);
}

struct err *session_explain(struct session *s, struct err *e)
{
    if (err_code(e) != ERR_UNAVAILABLE || !strstr(err_message(e), s->where))
        return e;
    return err_wrap(e, "the server cannot be reached");
}

struct err *session_call(struct session *s, const struct call *call, json_t **ret)
{
    AUTO_FREE char *body = call->body ? json_format(call->body) : NULL;
    struct client_request r = {.method = call->method ? call->method : "GET", .path = call->path};
    struct answer a = {.session = s};
    int64_t begin_ns = loop_now_ns(s->loop);

    r.accept = call->accept;
    r.content_type = call->content_type;
    r.body = str_of(body);
    client_send(s->client, &r, session_on_answer, &a, NULL);
    TRY(session_run(s));
    if (a.e) {
        int64_t tried_ms = (loop_now_ns(s->loop) - begin_ns) / NS_PER_MS;
        bool is_away = err_code(a.e) == ERR_UNAVAILABLE || err_code(a.e) == ERR_TIMEOUT;

        if (is_away && strstr(err_message(a.e), s->where))
            return err_wrap(a.e,
                            "the server cannot be reached (tried for %" PRId64 ".%03" PRId64 " s)",
                            tried_ms / 1000, tried_ms % 1000);
        return a.e;
    }
    if (ret)
        *ret = a.body;
    else
        json_decref(a.body);
    return NULL;
}

struct err *session_get(struct session *s, const char *path, json_t **ret)
{
    struct call call = {.path = path};

    return session_call(s, &call, ret);
}

/* A kube-apiserver does not have our server's paths, or says nothing of what the user may not ask.
 * Takes `e`. */
static struct err *get_cluster_report(struct session *s, const char *below, struct err *e,
                                      json_t **ret)
{
    AUTO(err_freep) struct err *first = e;
    AUTO_FREE char *path = mem_format("%s/%s", REPORTS_PATH, below);
    AUTO(err_freep) struct err *none = session_get(s, REPORTS_PATH, NULL);

    if (!none)
        return session_get(s, path, ret);
    return err_code(none) == ERR_UNAVAILABLE ? TAKE(none) : TAKE(first);
}

struct err *session_get_report(struct session *s, const char *path, const char *below, json_t **ret)
{
    struct err *e = session_get(s, path, ret);

    if (!e || (err_code(e) != ERR_NOT_FOUND && err_code(e) != ERR_FORBIDDEN))
        return e;
    return get_cluster_report(s, below, e, ret);
}

struct err *session_get_gpus(struct session *s, json_t **ret)
{
    AUTO_FREE char *below = path_format("gpus?namespace=%s", session_namespace(s));

    return session_get_report(s, "/apis/mete.dev/v1/gpus", below, ret);
}

char *path_format(const char *fmt, ...)
{
    char *path;
    va_list ap;

    va_start(ap, fmt);
    path = mem_vformat(fmt, ap);
    va_end(ap);
    return path;
}

/* Gets one page. `*next` is the continue token, which is replaced; NULL at the end. */
static struct err *get_page(struct session *s, const struct list_query *q, int64_t limit,
                            char **next, json_t **ret)
{
    struct buf path = {0};
    struct call call = {.accept = q->accept};
    const char *token;
    struct err *e;

    buf_printf(&path, "%s%climit=%" PRId64, q->path, strchr(q->path, '?') ? '&' : '?', limit);
    if (*next) {
        buf_add_text(&path, "&continue=");
        client_add_escaped(&path, str_of(*next));
    }
    call.path = path.at;
    e = session_call(s, &call, ret);
    buf_done(&path);
    if (e)
        return e;
    token = json_text_at(*ret, "metadata", "continue", NULL);
    free(*next);
    *next = token && token[0] ? mem_strdup(token) : NULL;
    return NULL;
}

/* The "rows" of a Table, else the "items". */
static json_t *entries_of(json_t *page)
{
    return json_array_at(page, text_equal(json_text(page, "kind"), "Table") ? "rows" : "items");
}

static struct err *list_pages(struct session *s, const struct list_query *q,
                              struct list_result *ret)
{
    AUTO(json_freep) json_t *first = NULL;
    AUTO_FREE char *next = NULL;
    int64_t left = q->limit;
    int64_t more = 0;

    do {
        AUTO(json_freep) json_t *page = NULL;
        int64_t size = q->limit > 0 && left < PAGE_MAX ? left : PAGE_MAX;
        json_t *entries;

        TRY(get_page(s, q, size, &next, &page));
        entries = entries_of(page);
        left -= (int64_t)json_array_size(entries);
        more = json_int_at(page, "metadata", "remainingItemCount", NULL);
        if (first)
            (void)json_array_extend(entries_of(first), entries); /* fails only for non-arrays */
        else
            first = json_incref(page);
    } while (next && (q->limit == 0 || left > 0));
    ret->more = !next ? 0 : more > 0 ? more : -1;
    ret->first = TAKE(first);
    return NULL;
}

struct err *session_list(struct session *s, const struct list_query *q, struct list_result *ret)
{
    struct err *e = list_pages(s, q, ret);

    if (!e || err_code(e) != ERR_EXPIRED)
        return e;
    err_free(e);
    return list_pages(s, q, ret);
}
