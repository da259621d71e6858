/*
 * kube_serve.c - the door of the scheduler's reports
 *
 * A round: read the front proxy's authority; make certificate and server, if it is new; write the
 * EndpointSlice; write the authority into the APIService. The next round comes after a minute, or
 * after 10 s if a step failed.
 */

#include "cli/kube/kube_serve.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "access/pki.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "cli/role/data_dir.h"
#include "cli/role/up.h"
#include "control/kube/kube_reports.h"
#include "http/http.h"
#include "model/names.h"

#define ROUND_NS     (60 * NS_PER_SEC)
#define TRY_AGAIN_NS (10 * NS_PER_SEC)

#define PROXY_PATH "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
#define API_SERVICE_PATH \
    "/apis/apiregistration.k8s.io/v1/apiservices/" REPORTS_VERSION "." REPORTS_GROUP

struct kube_serve {
    struct kube_serve_options o;
    struct client_call *call;
    struct loop_timer *timer;
    char *host;
    unsigned port;
    char *ns; /* of the Service */
    char *service;
    int fd;    /* listening */
    char *dir; /* of certificate and key; NULL: none yet */
    char *ca;  /* of the server's certificate, PEM */
    char *proxy_ca;
    json_t *proxy_names;
    struct kube_reports *reports;
    struct http_server *server;
    char *told; /* the last failure that was logged; NULL: none */
};

static void serve_close(struct kube_serve *s)
{
    http_server_free(TAKE(s->server));
    kube_reports_free(TAKE(s->reports));
}

/* Ends a round. Takes `e`. */
static void serve_end_round(struct kube_serve *s, struct err *e)
{
    AUTO(err_freep) struct err *failed = e;

    if (failed && !text_equal(s->told, err_message(failed)))
        LOG(WARN, "reports cannot be offered to the cluster", E(failed));
    if (!failed && s->told)
        LOG(INFO, "reports are offered to the cluster");
    free(s->told);
    s->told = failed ? mem_strdup(err_message(failed)) : NULL;
    loop_timer_set(s->timer, failed ? TRY_AGAIN_NS : ROUND_NS);
}

static void serve_send(struct kube_serve *s, const struct client_request *r, client_done_fn done)
{
    client_send(s->o.client, r, done, s, &s->call);
}

/* ---- the APIService ---- */

static void on_api_service(void *arg, const struct err *failed, const struct client_reply *reply)
{
    struct kube_serve *s = arg;
    struct err *e = client_error(failed, reply);

    s->call = NULL;
    serve_end_round(s, e ? err_wrap(e, "APIService " REPORTS_VERSION "." REPORTS_GROUP) : NULL);
}

static void serve_write_api_service(struct kube_serve *s)
{
    size_t size = strlen(s->ca);
    AUTO_FREE char *text = mem_alloc((size + 2) / 3 * 4 + 1);
    AUTO(json_freep) json_t *patch = json_object();
    AUTO_FREE char *body = NULL;

    (void)EVP_EncodeBlock((unsigned char *)text, (const unsigned char *)s->ca, (int)size);
    json_put_text(json_object_at(patch, "spec"), "caBundle", text);
    body = json_format(patch);
    serve_send(s,
               &(struct client_request){.method = "PATCH",
                                        .path = API_SERVICE_PATH,
                                        .content_type = "application/merge-patch+json",
                                        .body = str_of(body)},
               on_api_service);
}

/* ---- the EndpointSlice ---- */

static void on_slice(void *arg, const struct err *failed, const struct client_reply *reply)
{
    struct kube_serve *s = arg;
    struct err *e = client_error(failed, reply);

    s->call = NULL;
    if (e)
        serve_end_round(s, err_wrap(e, "EndpointSlice %s/%s", s->ns, s->service));
    else
        serve_write_api_service(s);
}

static json_t *slice_make(const struct kube_serve *s)
{
    json_t *o = json_object();
    json_t *metadata = json_object_at(o, "metadata");
    json_t *labels = json_object_at(metadata, "labels");

    json_put_text(o, "apiVersion", "discovery.k8s.io/v1");
    json_put_text(o, "kind", "EndpointSlice");
    json_put_text(metadata, "name", s->service);
    json_put_text(metadata, "namespace", s->ns);
    json_put_text(labels, "kubernetes.io/service-name", s->service);
    json_put_text(labels, "endpointslice.kubernetes.io/managed-by", "mete-scheduler");
    json_put_text(o, "addressType", strchr(s->host, ':') ? "IPv6" : "IPv4");
    json_put(o, "endpoints",
             json_pack("[{s: [s], s: {s: b}}]", "addresses", s->host, "conditions", "ready", 1));
    json_put(o, "ports",
             json_pack("[{s: s, s: i, s: s}]", "name", "https", "port", (int)s->port, "protocol",
                       "TCP"));
    return o;
}

static void serve_write_slice(struct kube_serve *s)
{
    AUTO(json_freep) json_t *slice = slice_make(s);
    AUTO_FREE char *body = json_format(slice);
    AUTO_FREE char *path = mem_format("/apis/discovery.k8s.io/v1/namespaces/%s/endpointslices/%s"
                                      "?fieldManager=mete-scheduler&force=true",
                                      s->ns, s->service);

    serve_send(s,
               &(struct client_request){.method = "PATCH",
                                        .path = path,
                                        .content_type = "application/apply-patch+yaml",
                                        .body = str_of(body)},
               on_slice);
}

/* ---- the door ---- */

static struct err *serve_make_dir(struct kube_serve *s)
{
    const char *tmp = getenv("TMPDIR");
    AUTO_FREE char *path = mem_format("%s/mete-reports-XXXXXX", tmp && *tmp ? tmp : "/tmp");

    if (s->dir)
        return NULL;
    if (!mkdtemp(path))
        return err_errno(errno, "make a directory for the certificate: %s", path);
    s->dir = TAKE(path);
    return NULL;
}

/* Opens the door for the front proxy of this authority. */
static struct err *serve_open(struct kube_serve *s)
{
    AUTO_FREE char *host = mem_format("%s.%s.svc", s->service, s->ns);
    AUTO_FREE char *ca = NULL;

    TRY(serve_make_dir(s));
    TRY(pki_make_service(s->dir, host, s->proxy_ca, &ca));
    serve_close(s);
    s->reports = kube_reports_new(&(struct kube_reports_options){.loop = s->o.loop,
                                                                 .client = s->o.client,
                                                                 .cluster = s->o.cluster,
                                                                 .scheduler = s->o.scheduler,
                                                                 .proxy_names = s->proxy_names});
    TRY(http_server_new(&(struct http_options){.loop = s->o.loop,
                                               .unix_fd = -1,
                                               .tls_fd = s->fd,
                                               .pki_dir = s->dir,
                                               .handle = kube_reports_handle,
                                               .arg = s->reports},
                        &s->server));
    free(s->ca);
    s->ca = TAKE(ca);
    return NULL;
}

/* The names of the front proxy's certificates, a text with a JSON array. New reference. */
static struct err *proxy_names_read(const json_t *data, json_t **ret)
{
    const char *names = json_text(data, "requestheader-allowed-names");
    const char *headers = json_text(data, "requestheader-username-headers");
    AUTO(json_freep) json_t *list = NULL;
    AUTO(json_freep) json_t *users = NULL;

    TRY(json_parse(str_of(names ? names : "[]"), &list));
    TRY(json_parse(str_of(headers ? headers : "[]"), &users));
    if (!json_has_text(users, "X-Remote-User"))
        return err_new(ERR_UNIMPLEMENTED, "the front proxy names users in %s: want X-Remote-User",
                       headers ? headers : "no header");
    *ret = TAKE(list);
    return NULL;
}

static struct err *serve_take_proxy(struct kube_serve *s, const json_t *map)
{
    const json_t *data = json_object_get(map, "data");
    const char *ca = json_text(data, "requestheader-client-ca-file");
    json_t *names = NULL;
    struct err *e;

    if (!ca)
        return err_new(ERR_UNAVAILABLE, "the kube-apiserver has no front proxy: "
                                        "--requestheader-client-ca-file");
    if (s->server && text_equal(ca, s->proxy_ca))
        return NULL;
    TRY(proxy_names_read(data, &names));
    serve_close(s);
    json_decref(s->proxy_names);
    s->proxy_names = names;
    free(s->proxy_ca);
    s->proxy_ca = mem_strdup(ca);
    e = serve_open(s);
    if (e)
        serve_close(s);
    return e;
}

static void on_proxy(void *arg, const struct err *failed, const struct client_reply *reply)
{
    struct kube_serve *s = arg;
    struct err *e = client_error(failed, reply);
    AUTO(json_freep) json_t *map = NULL;

    s->call = NULL;
    if (!e)
        e = json_parse(reply->body, &map);
    if (!e)
        e = serve_take_proxy(s, map);
    if (e)
        serve_end_round(s, err_wrap(e, "front proxy of the kube-apiserver"));
    else
        serve_write_slice(s);
}

static void on_serve_timer(void *arg)
{
    serve_send(arg, &(struct client_request){.method = "GET", .path = PROXY_PATH}, on_proxy);
}

/* ---- beginning and end ---- */

static struct err *serve_read_service(struct kube_serve *s)
{
    const char *slash = strchr(s->o.service, '/');

    s->ns = mem_strndup(s->o.service, strcspn(s->o.service, "/"));
    s->service = mem_strdup(slash ? slash + 1 : "");
    if (!slash)
        return err_new(ERR_INVALID, "service '%s': want NAMESPACE/NAME", s->o.service);
    TRY(name_check_label(s->ns));
    return name_check_label(s->service);
}

static struct err *serve_begin(struct kube_serve *s)
{
    TRY(serve_read_service(s));
    TRY(listen_parse("--reports", s->o.listen, &s->host, &s->port));
    TRY(listen_tcp(s->host, s->port, &s->fd, &s->port));
    s->told = mem_strdup(""); /* the first success is logged */
    s->timer = loop_timer_new(s->o.loop, on_serve_timer, s);
    loop_timer_set(s->timer, 0);
    return NULL;
}

struct err *kube_serve_new(const struct kube_serve_options *o, struct kube_serve **ret)
{
    struct kube_serve *s = mem_alloc(sizeof(*s));
    struct err *e;

    *s = (struct kube_serve){.o = *o, .fd = -1};
    e = serve_begin(s);
    s->o.listen = NULL; /* borrowed until now */
    s->o.service = NULL;
    if (e) {
        kube_serve_free(s);
        return e;
    }
    *ret = s;
    return NULL;
}

void kube_serve_free(struct kube_serve *s)
{
    if (!s)
        return;
    client_cancel(s->call);
    loop_timer_free(s->timer);
    serve_close(s);
    if (s->dir)
        err_free(dir_remove(s->dir)); /* what is left holds a key that nobody trusts any more */
    fd_closep(&s->fd);
    json_decref(s->proxy_names);
    free(s->proxy_ca);
    free(s->told);
    free(s->dir);
    free(s->ca);
    free(s->host);
    free(s->ns);
    free(s->service);
    free(s);
}
