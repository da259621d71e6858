/* admission_context.c - questions of a write, with their answers */

#include "kinds/admission/admission_context.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/vec.h"
#include "kinds/admission/review.h"

enum {
    ASKED_MAX = 8, /* of one webhook by one write: the object may change meanwhile */
    UID_SIZE = 37
};

/* A question that was sent. */
struct question {
    struct admission_context *admission;
    char *key;
    char *request; /* the text of the question, without its uid */
    char uid[UID_SIZE];
    void *call; /* NULL: answered */
    json_t *response;
    struct err *failure;
};

struct admission_context {
    struct admission_context_options o;
    int64_t now_ns;
    int64_t pinned; /* 0: none */
    VEC(struct question *) questions;
    struct buf drawn;  /* random bytes of all attempts */
    size_t drawn_used; /* by this attempt */
    size_t n_open;     /* questions without an answer */
    bool is_waiting;
    void (*fn)(void *arg);
    void *arg;
    struct loop_timer *timer; /* calls fn from the loop */
    json_t *annotations;
    json_t *warnings;
};

static void admission_context_on_timer(void *arg)
{
    struct admission_context *d = arg;
    void (*fn)(void *fn_arg) = d->fn;

    d->fn = NULL;
    if (fn)
        fn(d->arg); /* may free the context */
}

struct admission_context *admission_context_new(const struct admission_context_options *o)
{
    struct admission_context *d = mem_alloc(sizeof(*d));

    d->o = *o;
    d->o.user = json_incref(o->user);
    d->now_ns = loop_wall_ns(o->loop);
    d->timer = loop_timer_new(o->loop, admission_context_on_timer, d);
    return d;
}

static void question_free(struct question *q)
{
    const struct hook_caller *caller = q->admission->o.caller;

    if (q->call)
        caller->cancel(caller->arg, q->call);
    json_decref(q->response);
    err_free(q->failure);
    free(q->key);
    free(q->request);
    free(q);
}

void admission_context_free(struct admission_context *d)
{
    if (!d)
        return;
    VEC_EACH (&d->questions, q)
        question_free(*q);
    vec_done(&d->questions);
    buf_done(&d->drawn);
    loop_timer_free(d->timer);
    json_decref(d->annotations);
    json_decref(d->warnings);
    json_decref(d->o.user);
    free(d);
}

void admission_context_begin(struct admission_context *d)
{
    d->drawn_used = 0;
    d->is_waiting = false;
    json_decref(d->annotations);
    json_decref(d->warnings);
    d->annotations = NULL;
    d->warnings = NULL;
}

bool admission_context_is_waiting(const struct admission_context *d)
{
    return d->is_waiting;
}

void admission_context_await(struct admission_context *d, void (*fn)(void *arg), void *arg)
{
    d->fn = fn;
    d->arg = arg;
    if (d->n_open == 0)
        loop_timer_set(d->timer, 0);
}

int64_t admission_context_now_ns(const struct admission_context *d)
{
    return d->now_ns;
}

void admission_context_random(struct admission_context *d, void *ret, size_t size)
{
    size_t lacks = d->drawn_used + size > d->drawn.size ? d->drawn_used + size - d->drawn.size : 0;
    char *bytes = mem_alloc(lacks + 1);

    if (lacks > 0) {
        d->o.random(d->o.random_arg, bytes, lacks);
        buf_add(&d->drawn, bytes, lacks);
    }
    free(bytes);
    memcpy(ret, d->drawn.at + d->drawn_used, size);
    d->drawn_used += size;
}

int64_t admission_context_pin(struct admission_context *d, int64_t number)
{
    if (d->pinned == 0)
        d->pinned = number;
    return d->pinned;
}

const json_t *admission_context_user(const struct admission_context *d)
{
    return d->o.user;
}

const json_t *admission_context_annotations(const struct admission_context *d)
{
    return d->annotations;
}

void admission_context_annotate(struct admission_context *d, const char *key, const char *text)
{
    if (!d->annotations)
        d->annotations = json_object();
    json_put_text(d->annotations, key, text);
}

void admission_context_warn(struct admission_context *d, json_t *warnings, const char *text)
{
    if (!d->warnings)
        d->warnings = json_array();
    (void)json_array_append_new(d->warnings, json_text_new(text)); /* not NULL */
    if (warnings)
        (void)json_array_append_new(warnings, json_text_new(text));
}

const json_t *admission_context_warnings(const struct admission_context *d)
{
    return d->warnings;
}

/* ---- questions ---- */

static void question_end(struct question *q)
{
    struct admission_context *d = q->admission;

    q->call = NULL;
    d->n_open--;
    if (d->n_open == 0)
        loop_timer_set(d->timer, 0);
}

static void question_on_done(void *arg, const struct err *e, int status, struct str body)
{
    struct question *q = arg;

    if (e)
        q->failure = err_new(err_code(e), "%s", err_message(e));
    else
        q->failure = review_read(status, body, q->uid, &q->response);
    question_end(q);
}

static void question_make_uid(struct question *q)
{
    uint8_t b[16];

    q->admission->o.random(q->admission->o.random_arg, b, sizeof(b));
    (void)snprintf(q->uid, sizeof(q->uid),
                   "%02x%02x%02x%02x-%02x%02x-4%x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                   b[1], b[2], b[3], b[4], b[5], (unsigned)(b[6] & 0x0f), b[7],
                   (unsigned)((b[8] & 0x3f) | 0x80), b[9], b[10], b[11], b[12], b[13], b[14],
                   b[15]);
}

static void question_send(struct question *q, const struct hook_question *asked)
{
    const struct hook_caller *caller = q->admission->o.caller;
    AUTO(hook_target_done) struct hook_target target = {0};
    AUTO_FREE char *body = NULL;
    struct hook_post post;

    q->failure = hook_target_find(q->admission->o.store, asked->client, &target);
    if (q->failure)
        return;
    body = review_format(asked->request, q->uid);
    post = (struct hook_post){
        .target = &target, .body = str_of(body), .timeout_ns = asked->timeout_ns};
    q->failure = caller->start(caller->arg, &post, question_on_done, q, &q->call);
    q->admission->n_open += q->call != NULL;
}

static struct question *question_find(const struct admission_context *d, const char *key,
                                      const char *request, size_t *ret_n_asked)
{
    *ret_n_asked = 0;
    VEC_EACH (&d->questions, q) {
        if (!text_equal((*q)->key, key))
            continue;
        ++*ret_n_asked;
        if (text_equal((*q)->request, request))
            return *q;
    }
    return NULL;
}

struct err *admission_context_ask(struct admission_context *d, const struct hook_question *asked,
                                  struct hook_answer *ret, bool *ret_is_there)
{
    AUTO_FREE char *request = json_format(asked->request);
    size_t n_asked = 0;
    struct question *q = question_find(d, asked->key, request, &n_asked);

    if (!q && n_asked == ASKED_MAX)
        return err_new(ERR_CONFLICT,
                       "the object changed %d times while webhooks were asked about it; try again",
                       ASKED_MAX);
    if (!q) {
        q = mem_alloc(sizeof(*q));
        *q = (struct question){.admission = d, .key = mem_strdup(asked->key)};
        q->request = TAKE(request);
        question_make_uid(q);
        vec_add(&d->questions, q);
        question_send(q, asked);
    }
    *ret_is_there = q->response || q->failure;
    d->is_waiting |= !*ret_is_there;
    *ret = (struct hook_answer){.response = q->response, .failure = q->failure};
    return NULL;
}
