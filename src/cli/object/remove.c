/* remove.c - deletion of objects, and the wait for their end */

#include "cli/object/remove.h"

#include <inttypes.h>

#include "base/mem.h"
#include "cli/job/jobs.h"
#include "client/informer.h"

void removal_add(struct removal *r, const char *ns, const char *name, const char *uid,
                 const char *title)
{
    struct remove_target t = {
        .ns = mem_strdup(ns), .name = mem_strdup(name), .uid = mem_strdup(uid ? uid : "")};

    t.title = title ? mem_strdup(title) : NULL;
    vec_add(&r->targets, t);
}

void removal_add_job(struct removal *r, const json_t *pod)
{
    struct job job = job_of(pod);
    AUTO_FREE char *title = mem_format("job %s %s", job.id, job.name);

    removal_add(r, job.ns, job.name, json_text_at(pod, "metadata", "uid", NULL), title);
}

void removal_done(struct removal *r)
{
    VEC_EACH (&r->targets, t) {
        free(t->ns);
        free(t->name);
        free(t->uid);
        free(t->title);
    }
    vec_done(&r->targets);
}

/* DeleteOptions. The uid, if known, protects a new object that took the name. */
static json_t *options_of(const struct removal *r, const struct remove_target *t)
{
    json_t *options = json_object();

    json_put_text(options, "apiVersion", "v1");
    json_put_text(options, "kind", "DeleteOptions");
    /* To wait for a Job is to wait for its pods. */
    json_put_text(options, "propagationPolicy",
                  r->waits && text_equal(r->resource->plural, "jobs") ? "Foreground"
                                                                      : "Background");
    if (r->grace_s >= 0)
        json_put_int(options, "gracePeriodSeconds", r->grace_s);
    if (t->uid[0])
        json_put_text(json_object_at(options, "preconditions"), "uid", t->uid);
    return options;
}

/* Takes the uid from the server's answer: the object, or a Status whose details name the object. */
static void learn_uid(struct remove_target *t, const json_t *answer)
{
    const char *uid = json_text_at(answer, "metadata", "uid", NULL);

    if (!uid)
        uid = json_text_at(answer, "details", "uid", NULL);
    if (!uid || t->uid[0])
        return;
    free(t->uid);
    t->uid = mem_strdup(uid);
}

static struct err *delete_one(struct removal *r, struct remove_target *t)
{
    AUTO_FREE char *path = resource_path(r->resource, t->ns, t->name);
    AUTO(json_freep) json_t *options = options_of(r, t);
    AUTO(json_freep) json_t *answer = NULL;
    AUTO_FREE char *title = resource_title(r->resource, t->ns, t->name);
    const struct call call = {.method = "DELETE", .path = path, .body = options};
    struct err *e = session_call(r->session, &call, &answer);

    t->is_gone = e != NULL;
    if (e)
        return e;
    t->is_gone = text_equal(json_text(answer, "kind"), "Status");
    learn_uid(t, answer);
    if (r->past)
        cli_say(r->cli, "%s %s", t->title ? t->title : title, r->past);
    return NULL;
}

struct wait {
    struct removal *removal;
    struct informer *informer;
    json_t *seen; /* set of uids that the list contained */
    bool timed_out;
};

static bool is_all_gone(const struct removal *r)
{
    VEC_EACH (&r->targets, t)
        if (!t->is_gone)
            return false;
    return true;
}

static void look(struct wait *w)
{
    if (is_all_gone(w->removal))
        session_stop(w->removal->session);
}

static void on_put(void *arg, const json_t *object)
{
    struct wait *w = arg;
    const char *uid = json_text_at(object, "metadata", "uid", NULL);

    if (uid)
        json_put_bool(w->seen, uid, true);
}

static void remove_on_removed(void *arg, const json_t *object)
{
    struct wait *w = arg;
    const char *uid = json_text_at(object, "metadata", "uid", NULL);

    if (uid)
        (void)json_object_del(w->seen, uid);
    VEC_EACH (&w->removal->targets, t)
        if (text_equal(t->uid, uid))
            t->is_gone = true;
    look(w);
}

static void remove_on_synced(void *arg)
{
    struct wait *w = arg;

    VEC_EACH (&w->removal->targets, t)
        if (!json_object_get(w->seen, t->uid))
            t->is_gone = true;
    look(w);
}

static void on_deadline(void *arg)
{
    struct wait *w = arg;

    w->timed_out = true;
    session_stop(w->removal->session);
}

/* The smallest collection that contains all targets. */
static char *watched_path(const struct removal *r)
{
    const struct remove_target *first = &r->targets.at[0];
    bool is_one_ns = true;
    AUTO_FREE char *path = NULL;

    VEC_EACH (&r->targets, t)
        is_one_ns = is_one_ns && text_equal(t->ns, first->ns);
    path = resource_path(r->resource, is_one_ns ? first->ns : NULL, NULL);
    if (r->targets.n > 1)
        return TAKE(path);
    return mem_format("%s?fieldSelector=metadata.name%%3D%s", path, first->name);
}

static struct err *wait_gone(struct removal *r)
{
    AUTO_FREE char *path = watched_path(r);
    struct wait w = {.removal = r, .seen = json_object()};
    struct loop *l = session_loop(r->session);
    const struct informer_options o = {.client = session_client(r->session),
                                       .loop = l,
                                       .path = path,
                                       .put = on_put,
                                       .removed = remove_on_removed,
                                       .synced = remove_on_synced,
                                       .arg = &w};
    struct loop_timer *deadline = loop_timer_new(l, on_deadline, &w);
    struct err *e;

    if (r->timeout_ns > 0)
        loop_timer_set(deadline, r->timeout_ns);
    w.informer = informer_new(&o);
    e = session_run(r->session);
    informer_free(w.informer);
    loop_timer_free(deadline);
    json_decref(w.seen);
    if (!e && w.timed_out)
        return err_new(ERR_TIMEOUT, "some objects still exist: their deletion continues");
    return e;
}

struct err *removal_run(struct removal *r)
{
    AUTO(err_freep) struct err *first = NULL;

    VEC_EACH (&r->targets, t) {
        struct err *e = delete_one(r, t);

        if (e && first)
            cli_say(r->cli, "mete: %s", err_message(e));
        if (e && !first)
            first = e;
        else
            err_free(e);
    }
    if (r->waits && r->targets.n > 0 && !is_all_gone(r))
        TRY(wait_gone(r));
    return TAKE(first);
}
