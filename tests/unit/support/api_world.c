/* api_world.c - requests to the API over faked exchanges */

#include "api_world.h"

#include "access/users.h"
#include "base/mem.h"
#include "test.h"

static struct asked *asked_of(const struct exchange *x)
{
    return (struct asked *)(uintptr_t)x;
}

static void take_head(struct asked *k, const struct api_reply *r)
{
    assert_int_equal(k->status, 0);
    assert_false(k->is_over);
    k->status = r->status;
    k->content_type = mem_strdup(r->content_type ? r->content_type : "application/json");
    k->warnings = r->warnings ? json_deep_copy(r->warnings) : json_array();
}

static void take_reply(struct exchange *x, const struct api_reply *r)
{
    struct asked *k = asked_of(x);

    take_head(k, r);
    buf_add(&k->body, r->body.at, r->body.size);
    k->is_over = true;
}

static void take_begin(struct exchange *x, const struct api_reply *r)
{
    take_head(asked_of(x), r);
    asked_of(x)->is_stream = true;
    x->request = (struct api_request){0};
}

static void take_piece(struct exchange *x, struct str piece)
{
    assert_true(asked_of(x)->is_stream && !asked_of(x)->is_over);
    buf_add(&asked_of(x)->body, piece.at, piece.size);
}

static void take_end(struct exchange *x)
{
    assert_true(asked_of(x)->is_stream && !asked_of(x)->is_over);
    asked_of(x)->is_over = true;
}

static void take_cut(struct exchange *x)
{
    assert_false(asked_of(x)->is_over);
    asked_of(x)->is_over = true;
    asked_of(x)->is_cut = true;
}

static size_t show_backlog(const struct exchange *x)
{
    return asked_of(x)->backlog;
}

static void channel_write(struct channel *c, struct str bytes)
{
    struct asked *k = (struct asked *)(void *)((char *)c - offsetof(struct asked, channel));

    buf_add(&k->body, bytes.at, bytes.size);
}

static size_t channel_backlog(const struct channel *c)
{
    return ((const struct asked *)(const void *)((const char *)c - offsetof(struct asked, channel)))
        ->backlog;
}

static void channel_pause(struct channel *c, bool is_paused)
{
    struct asked *k = (struct asked *)(void *)((char *)c - offsetof(struct asked, channel));

    assert_false(k->is_over);
    k->is_paused = is_paused;
}

static void channel_close(struct channel *c)
{
    struct asked *k = (struct asked *)(void *)((char *)c - offsetof(struct asked, channel));

    assert_false(k->is_over);
    k->is_over = true;
}

static const struct channel_ops channel_ops = {.write = channel_write,
                                               .backlog = channel_backlog,
                                               .pause = channel_pause,
                                               .finish = channel_close,
                                               .close = channel_close};

static struct channel *take_upgrade(struct exchange *x, const struct upgrade *u)
{
    struct asked *k = asked_of(x);

    k->status = 101;
    k->protocol = mem_strdup(u->protocol);
    buf_add_text(&k->upgrade_headers, u->headers ? u->headers : "");
    k->local_uid = u->is_local ? u->uid : 0;
    k->is_upgraded = true;
    k->channel.ops = &channel_ops;
    return &k->channel;
}

static const struct exchange_ops exchange_ops = {
    .reply = take_reply,
    .begin = take_begin,
    .piece = take_piece,
    .end = take_end,
    .cut = take_cut,
    .backlog = show_backlog,
    .upgrade = take_upgrade,
};

static bool user_name(void *arg, uint32_t uid, char *ret, size_t ret_size)
{
    (void)arg;
    if (uid != 1000)
        return false;
    (void)snprintf(ret, ret_size, "ann");
    return true;
}

static json_t *no_gpus(void *arg, const char *ns)
{
    json_t *list = json_array();

    (void)arg;
    (void)ns;
    json_array_append_new(
        list, manifest("{'apiVersion':'mete.dev/v1','kind':'Gpu','metadata':{'name':'GPU-1'}}"));
    return list;
}

static json_t *one_gpu(void *arg, const char *ns, const char *name)
{
    (void)arg;
    (void)ns;
    return strcmp(name, "GPU-1") == 0
               ? manifest("{'apiVersion':'mete.dev/v1','kind':'Gpu','metadata':{'name':'GPU-1'}}")
               : NULL;
}

static struct api_view view = {.list = no_gpus, .get = one_gpu};

void api_world_init(struct api_world *a, const char *users)
{
    api_world_init_signing(a, users, NULL);
}

void api_world_init_signing(struct api_world *a, const char *users, const char *key_file)
{
    struct core_options o = {
        .user_name = user_name, .views = &view, .n_views = 1, .signing_key_file = key_file};

    world_init(&a->w, 1);
    view.kind = kind_find("mete.dev", "gpus");
    o.loop = a->w.loop;
    o.objects = a->w.objects;
    o.take_stats = a->take_stats;
    o.stats_arg = a->stats_arg;
    o.node_wait_ns = a->node_wait_ns;
    o.reports = a->report;
    o.n_reports = a->report ? 1 : 0;
    assert_null(core_new(&o, &a->core));
    if (users) {
        struct users *parsed = NULL;

        world_must(users_parse("users.yaml", str_of(users), &parsed));
        core_take_users(a->core, parsed);
    }
}

void api_world_done(struct api_world *a)
{
    core_free(a->core);
    world_done(&a->w);
}

static char *quotes(const char *text)
{
    char *copy = mem_strdup(text ? text : "");

    for (char *at = copy; *at; at++) {
        if (*at == '\'')
            *at = '"';
    }
    return copy;
}

static void add_header(struct asked *k, const char *name, const char *value)
{
    if (value)
        k->headers[k->x.request.n_headers++] = (struct http_header){.name = name, .value = value};
}

struct asked *api_ask(struct api_world *a, struct question q)
{
    struct asked *k = mem_alloc(sizeof(*k));
    AUTO_FREE char *body = quotes(q.body);
    AUTO_FREE char *bearer = q.who.token ? mem_format("Bearer %s", q.who.token) : NULL;
    const char *const groups[] = {q.who.cert_group};
    char *query;

    buf_add_text(&k->path, q.target);
    query = strchr(k->path.at, '?');
    if (query)
        *query++ = '\0';
    k->backlog = q.backlog;
    k->x.ops = &exchange_ops;
    k->x.request = (struct api_request){.method = q.method ? q.method : "GET",
                                        .path = k->path.at,
                                        .query = query ? query : "",
                                        .headers = k->headers,
                                        .body = str_of(body),
                                        .peer = {.is_unix = !q.who.cert_user,
                                                 .uid = q.who.uid,
                                                 .cert_user = q.who.cert_user,
                                                 .cert_groups = groups,
                                                 .n_cert_groups = q.who.cert_group != NULL}};
    add_header(k, "content-type", q.content_type);
    add_header(k, "accept", q.accept);
    add_header(k, "authorization", bearer);
    if (q.websocket) {
        add_header(k, "upgrade", "websocket");
        add_header(k, "connection", "keep-alive, Upgrade");
        add_header(k, "sec-websocket-version", "13");
        add_header(k, "sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        add_header(k, "sec-websocket-protocol", *q.websocket ? q.websocket : NULL);
    }
    if (q.spdy) {
        add_header(k, "upgrade", "SPDY/3.1");
        add_header(k, "connection", "Upgrade");
        add_header(k, "x-stream-protocol-version", *q.spdy ? q.spdy : NULL);
    }
    if (strstr(q.target, "/stream"))
        add_header(k, "upgrade", "mete-stream");
    if (strstr(q.target, "/node-door"))
        add_header(k, "upgrade", "mete-door");
    core_handle(a->core, &k->x);
    sim_loop_run(a->w.loop);
    return k;
}

void asked_close(struct asked *k)
{
    if (k->is_over)
        return;
    k->is_over = true;
    if (k->is_upgraded && k->channel.on_close)
        k->channel.on_close(k->channel.arg);
    else if (!k->is_upgraded && k->x.on_close)
        k->x.on_close(k->x.arg);
}

void asked_free(struct asked *k)
{
    if (!k)
        return;
    asked_close(k);
    buf_done(&k->path);
    buf_done(&k->body);
    json_decref(k->warnings);
    free(k->content_type);
    free(k->protocol);
    buf_done(&k->upgrade_headers);
    free(k);
}

json_t *asked_json(const struct asked *k)
{
    json_t *json = NULL;

    world_must(json_parse((struct str){.at = k->body.at, .size = k->body.size}, &json));
    return json;
}

json_t *asked_event(const struct asked *k, size_t i)
{
    struct str rest = {.at = k->body.at, .size = k->body.size};
    json_t *json = NULL;

    for (;;) {
        struct str line = str_cut(&rest, '\n');

        if (!line.at || line.size == 0)
            return NULL;
        if (i-- > 0)
            continue;
        world_must(json_parse(line, &json));
        return json;
    }
}

json_t *api_expect(struct api_world *a, int status, struct question q)
{
    AUTO(asked_freep) struct asked *k = api_ask(a, q);

    if (k->status != status)
        print_message("%s %s: %s\n", q.method ? q.method : "GET", q.target, k->body.at);
    assert_int_equal(k->status, status);
    return asked_json(k);
}
