/* page.c - from a request to its answer: guards, sign-in, sessions, views */

#include "page/page.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "kinds/wire/status.h"
#include "page/assets.h"
#include "page/guard.h"
#include "page/html.h"
#include "page/live.h"
#include "page/page_views.h"

#define SESSION_PATH "/mete.dev/v1/session" /* of the API, which records sessions */

struct page {
    struct loop *loop;
    struct logins *logins;
    struct live *live;
    struct forward_target api;
    char *host_name;
    char *url;
    char *cookie; /* its name: browsers give cookies to all ports of a host */
    bool is_tls;
};

struct page *page_new(const struct page_options *o)
{
    struct page *p = mem_alloc(sizeof(*p));

    p->loop = o->loop;
    p->logins = logins_new(o->random, o->random_arg);
    p->live = live_new(o->loop, o->store, p->logins);
    p->host_name = mem_strdup(o->host_name);
    p->url = mem_strdup(o->url);
    p->is_tls = text_starts_with(o->url, "https:");
    p->cookie = mem_format("mete_%u", o->port);
    return p;
}

void page_free(struct page *p)
{
    if (!p)
        return;
    live_free(p->live);
    logins_free(p->logins);
    free(p->host_name);
    free(p->url);
    free(p->cookie);
    free(p);
}

void page_serve(struct page *p, request_fn api, void *arg)
{
    p->api = (struct forward_target){.handle = api, .arg = arg};
}

char *page_make_link(struct page *p, const struct api_request *r, const char *user)
{
    char key[LOGIN_KEY_SIZE];

    logins_make_link(p->logins, r, user, loop_now_ns(p->loop), key);
    return mem_format("%s/in#k=%s", p->url, key);
}

/* ---- answers ---- */

static void reply_error(struct exchange *x, const struct err *e)
{
    const struct status_about about = {0};
    AUTO(json_freep) json_t *status = status_of_error(e, &about);
    AUTO_FREE char *text = json_format(status);
    const struct api_reply r = {
        .status = err_http(e), .body = str_of(text), .headers = PAGE_SECURITY};

    x->ops->reply(x, &r);
}

static void reply_redirect(struct exchange *x, const char *to, const char *cookie)
{
    AUTO_FREE char *headers = mem_format(PAGE_SECURITY "Location: %s\r\n%s", to, cookie);
    const struct api_reply r = {
        .status = 303, .content_type = "text/plain; charset=utf-8", .headers = headers};

    x->ops->reply(x, &r);
}

static void reply_sign_in(struct exchange *x, int status, const char *message)
{
    const struct html_page page = {.title = "Sign in", .here = "/in", .script = asset_sign_in};
    AUTO(buf_done) struct buf b = {0};
    struct api_reply r = {.status = status,
                          .content_type = "text/html; charset=utf-8",
                          .cache = "no-store",
                          .headers = PAGE_SECURITY};

    html_begin(&b, &page);
    html_sign_in(&b, message);
    html_end(&b);
    r.body = (struct str){.at = b.at, .size = b.size};
    x->ops->reply(x, &r);
}

/* ---- sign-in ---- */

static struct err *read_key(const struct api_request *r, char ret[LOGIN_KEY_SIZE])
{
    struct str body = r->body;

    if (body.size != 2 + LOGIN_KEY_SIZE - 1 || memcmp(body.at, "k=", 2) != 0)
        return err_new(ERR_FORBIDDEN, "this is not the code of a link");
    memcpy(ret, body.at + 2, LOGIN_KEY_SIZE - 1);
    ret[LOGIN_KEY_SIZE - 1] = '\0';
    return NULL;
}

/* A sign-in or sign-out that waits until the API has recorded it. */
struct page_signing {
    struct page *page;
    struct exchange *x; /* the browser's */
    struct forward_get *get;
    struct err *refusal; /* of a sign-in */
    uint64_t session;    /* that a sign-in has opened; 0: none */
    char cookie[LOGIN_KEY_SIZE];
};

static void signing_free(struct page_signing *s)
{
    forward_cancel(s->get);
    err_free(s->refusal);
    free(s);
}

/* The browser went away without its cookie. */
static void signing_on_close(void *arg)
{
    struct page_signing *s = arg;

    logins_close(s->page->logins, s->session);
    signing_free(s);
}

static struct page_signing *signing_new(struct page *p, struct exchange *x)
{
    struct page_signing *s = mem_alloc(sizeof(*s));

    s->page = p;
    s->x = x;
    x->arg = s;
    x->on_close = signing_on_close;
    return s;
}

static void signing_record(struct page_signing *s, const char *method, const struct credential *who,
                           forward_done_fn done)
{
    const struct forward_question q = {.method = method,
                                       .from = &s->x->request,
                                       .path = SESSION_PATH,
                                       .query = "",
                                       .done = done,
                                       .arg = s};
    struct forward_get *get = NULL;

    forward_get(&s->page->api, who, &q, &get);
    if (get)
        s->get = get;
}

static struct exchange *signing_end(struct page_signing *s)
{
    struct exchange *x = s->x;

    s->get = NULL;
    x->on_close = NULL;
    signing_free(s);
    return x;
}

static void reply_cookie(const struct page *p, struct exchange *x, const char *to,
                         const char *cookie)
{
    int64_t age_s = *cookie ? LOGIN_LIFE_NS / NS_PER_SEC : 0;
    AUTO_FREE char *header = mem_format(
        "Set-Cookie: %s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%" PRId64 "%s\r\n",
        p->cookie, cookie, age_s, p->is_tls ? "; Secure" : "");

    reply_redirect(x, to, header);
}

static void sign_in_on_recorded(void *arg, int status, struct str body)
{
    struct page_signing *s = arg;
    struct page *p = s->page;
    AUTO(err_freep) struct err *refusal = TAKE(s->refusal);
    char cookie[LOGIN_KEY_SIZE];

    (void)body;
    memcpy(cookie, s->cookie, sizeof(cookie));
    if (!refusal && status >= 300) {
        logins_close(p->logins, s->session);
        refusal = err_new(ERR_FORBIDDEN, "the server refused the sign-in with status %d", status);
    }
    if (refusal)
        reply_sign_in(signing_end(s), err_http(refusal), err_message(refusal));
    else
        reply_cookie(p, signing_end(s), "/", cookie);
}

/* The API records the sign-in before the browser gets its cookie; a refused one as that of a caller
 * without an identity. */
static void sign_in_begin(struct page *p, struct exchange *x, const char *key)
{
    static const struct credential nobody = {.user = (char *)(uintptr_t) ""};
    struct page_signing *s = signing_new(p, x);
    int64_t now_ns = loop_now_ns(p->loop);
    const struct login *login = NULL;

    s->refusal = logins_open(p->logins, key, now_ns, s->cookie);
    if (!s->refusal)
        login = logins_find(p->logins, str_of(s->cookie), now_ns);
    if (login)
        s->session = login->id;
    signing_record(s, "POST", login ? &login->who : &nobody, sign_in_on_recorded);
}

static void page_sign_in(struct page *p, struct exchange *x)
{
    char key[LOGIN_KEY_SIZE];
    AUTO(err_freep) struct err *e = NULL;

    if (text_equal(x->request.method, "GET")) {
        reply_sign_in(x, 200, NULL);
        return;
    }
    e = guard_check_origin(&x->request);
    if (!e)
        e = read_key(&x->request, key);
    if (e)
        reply_sign_in(x, err_http(e), err_message(e));
    else
        sign_in_begin(p, x, key);
}

static void sign_out_on_recorded(void *arg, int status, struct str body)
{
    struct page_signing *s = arg;
    const struct page *p = s->page;

    (void)status; /* the session has ended; a line without room waits in the audit */
    (void)body;
    reply_cookie(p, signing_end(s), "/in", "");
}

static void page_sign_out(struct page *p, const struct login *login, struct exchange *x)
{
    AUTO(err_freep) struct err *e = guard_check_origin(&x->request);
    AUTO(credential_done) struct credential who = {0};

    if (e) {
        reply_error(x, e);
        return;
    }
    credential_copy(&who, &login->who);
    logins_close(p->logins, login->id);
    signing_record(signing_new(p, x), "DELETE", &who, sign_out_on_recorded);
}

/* ---- with a session ---- */

static void reply_me(struct page *p, const struct login *s, struct exchange *x)
{
    AUTO(json_freep) json_t *o = json_object();
    AUTO_FREE char *text = NULL;
    struct api_reply r = {.status = 200, .headers = PAGE_SECURITY};

    json_put_text(o, "user", s->who.user);
    json_put_text(o, "machine", p->host_name);
    json_put_int(o, "expiresInSeconds", (s->until_ns - loop_now_ns(p->loop)) / NS_PER_SEC);
    text = json_format(o);
    r.body = str_of(text);
    x->ops->reply(x, &r);
}

static bool is_below(const char *path, const char *prefix)
{
    size_t size = strlen(prefix);

    return strncmp(path, prefix, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

static bool is_api(const char *path)
{
    return is_below(path, "/api") || is_below(path, "/apis") || text_equal(path, "/version") ||
           text_equal(path, "/metrics") || text_equal(path, "/mete.dev/v1/audit");
}

/* For programs of the page, not for people. */
static bool is_data(const char *path)
{
    return is_api(path) || is_below(path, "/page");
}

static struct err *answer_data(struct page *p, const struct login *s, struct exchange *x)
{
    const char *path = x->request.path;
    bool is_read = text_equal(x->request.method, "GET");

    if (!is_read)
        TRY(guard_check_change(&x->request));
    if (is_api(path)) {
        forward_request(&p->api, &s->who, x, PAGE_SECURITY);
        return NULL;
    }
    if (is_read && text_equal(path, "/page/live") && !x->request.is_head)
        return live_begin(p->live, s->id, x, PAGE_SECURITY);
    if (!is_read || !text_equal(path, "/page/me"))
        return err_new(ERR_NOT_FOUND, "there is nothing at %.200s", path);
    reply_me(p, s, x);
    return NULL;
}

static void answer_session(struct page *p, const struct login *s, struct exchange *x)
{
    const char *path = x->request.path;
    AUTO(err_freep) struct err *e = NULL;

    if (is_data(path))
        e = answer_data(p, s, x);
    else if (text_equal(path, "/out") && text_equal(x->request.method, "POST"))
        page_sign_out(p, s, x);
    else if (text_equal(x->request.method, "GET"))
        page_view(&p->api, &s->who, x);
    else
        e = err_new(ERR_NOT_FOUND, "there is nothing to change here");
    if (e)
        reply_error(x, e);
}

void page_handle(void *arg, struct exchange *x)
{
    struct page *p = arg;
    const char *path = x->request.path;
    AUTO(err_freep) struct err *e = guard_check_host(&x->request, p->host_name);
    const struct login *s;

    if (e) {
        reply_error(x, e);
        return;
    }
    if (is_below(path, "/assets") && text_equal(x->request.method, "GET")) {
        assets_answer(x, PAGE_SECURITY);
        return;
    }
    if (text_equal(path, "/in")) {
        page_sign_in(p, x);
        return;
    }
    s = logins_find(p->logins, guard_cookie(&x->request, p->cookie), loop_now_ns(p->loop));
    if (s) {
        answer_session(p, s, x);
        return;
    }
    if (!is_data(path)) {
        reply_redirect(x, "/in", "");
        return;
    }
    e = err_new(ERR_UNAUTHENTICATED, "Unauthorized: sign in at /in");
    reply_error(x, e);
}
