/*
 * hook_calls_linux.c - POSTs to webhooks by libcurl on the loop
 *
 * A client keeps its connections, so that a webhook that is asked often costs no new handshake. The
 * clients that were not used for longest go first.
 */

#include <inttypes.h>

#include "api/hook_calls.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "client/client.h"

enum {
    CLIENTS_MAX = 32,
    ANSWER_MAX = 3 << 20
};

struct hook_client {
    struct hook_client *prev;
    struct hook_client *next;
    struct client *client;
    char *key;
    size_t n_calls;
};

struct hook_calls {
    struct loop *loop;
    struct hook_caller caller;
    struct hook_client *clients; /* the one used last is the last */
    size_t n_clients;
};

struct hook_call {
    struct hook_client *client;
    struct client_call *call;
    char *url; /* as asked, with the timeout */
    hook_done_fn done;
    void *arg;
};

static void hook_client_free(struct hook_calls *h, struct hook_client *c)
{
    LIST_REMOVE(h->clients, c);
    h->n_clients--;
    client_free(c->client);
    free(c->key);
    free(c);
}

/* Makes room: drops the client that has been without calls for longest. */
static void hook_clients_trim(struct hook_calls *h)
{
    struct hook_client *c;

    LIST_EACH (h->clients, c) {
        if (h->n_clients < CLIENTS_MAX)
            return;
        if (c->n_calls == 0)
            hook_client_free(h, c);
    }
}

/* "https://host:port" of a URL. The caller frees it. */
static char *base_of(const char *url)
{
    size_t scheme = strlen("https://");

    return mem_format("%.*s", (int)(scheme + strcspn(url + scheme, "/")), url);
}

static struct err *hook_client_get(struct hook_calls *h, const struct hook_target *t,
                                   struct hook_client **ret)
{
    AUTO_FREE char *base = base_of(t->url);
    AUTO_FREE char *key = mem_format("%s\n%s\n%d\n%s", base, text_or_empty(t->connect),
                                     t->is_unverified, text_or_empty(t->ca));
    const struct client_options o = {.loop = h->loop,
                                     .url = base,
                                     .ca_text = t->ca,
                                     .connect_to = t->connect,
                                     .is_unverified = t->is_unverified,
                                     .body_max = ANSWER_MAX};
    struct client *client = NULL;
    struct hook_client *c;

    LIST_EACH (h->clients, c) {
        if (!text_equal(c->key, key))
            continue;
        LIST_REMOVE(h->clients, c);
        LIST_ADD(h->clients, c);
        *ret = c;
        return NULL;
    }
    TRY(client_new(&o, &client));
    hook_clients_trim(h);
    c = mem_alloc(sizeof(*c));
    *c = (struct hook_client){.client = client, .key = TAKE(key)};
    h->n_clients++;
    LIST_ADD(h->clients, c);
    *ret = c;
    return NULL;
}

static void hook_call_on_done(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct hook_call *call = arg;
    AUTO_FREE char *url = TAKE(call->url);
    AUTO(err_freep) struct err *late = NULL;
    hook_done_fn done = call->done;
    void *done_arg = call->arg;

    call->client->n_calls--;
    free(call);
    if (e && err_code(e) == ERR_TIMEOUT)
        e = late = err_new(ERR_TIMEOUT, "Post \"%s\": context deadline exceeded", url);
    done(done_arg, e, reply ? reply->status : 0, reply ? reply->body : (struct str){0});
}

static struct err *hook_call_start(void *arg, const struct hook_post *post, hook_done_fn done,
                                   void *done_arg, void **ret_call)
{
    struct hook_calls *h = arg;
    const char *url = post->target->url + strlen("https://");
    const char *path = url + strcspn(url, "/");
    AUTO_FREE char *full =
        mem_format("%s?timeout=%" PRId64 "s", *path ? path : "/", post->timeout_ns / NS_PER_SEC);
    const struct client_request r = {
        .method = "POST", .path = full, .body = post->body, .timeout_ns = post->timeout_ns};
    struct hook_client *client = NULL;
    struct hook_call *call;

    TRY(hook_client_get(h, post->target, &client));
    call = mem_alloc(sizeof(*call));
    *call = (struct hook_call){.client = client, .done = done, .arg = done_arg};
    call->url = mem_format("https://" STR_FMT "%s", (int)(path - url), url, full);
    client->n_calls++;
    client_send(client->client, &r, hook_call_on_done, call, &call->call);
    *ret_call = call;
    return NULL;
}

static void hook_call_cancel(void *arg, void *started)
{
    struct hook_call *call = started;

    (void)arg;
    client_cancel(call->call);
    call->client->n_calls--;
    free(call->url);
    free(call);
}

struct hook_calls *hook_calls_new(struct loop *l)
{
    struct hook_calls *h = mem_alloc(sizeof(*h));

    h->loop = l;
    h->caller =
        (struct hook_caller){.start = hook_call_start, .cancel = hook_call_cancel, .arg = h};
    return h;
}

void hook_calls_free(struct hook_calls *h)
{
    struct hook_client *c;

    if (!h)
        return;
    LIST_EACH (h->clients, c)
        hook_client_free(h, c);
    free(h);
}

const struct hook_caller *hook_calls_caller(const struct hook_calls *h)
{
    return &h->caller;
}
