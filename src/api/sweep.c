/*
 * sweep.c - deletecollection
 *
 * Deletes all selected objects in turns of bounded work, and answers when the last deletion is
 * durable.
 */

#include "api/body.h"
#include "api/handlers.h"
#include "api/reviews.h"
#include "api/selection.h"
#include "base/mem.h"
#include "kinds/admission/admission_context.h"

enum {
    DELETES_A_TURN = 64
};

struct sweep {
    struct core *core;
    struct exchange *x; /* NULL: the client has gone; delete no more */
    struct selection selection;
    struct store_list list;
    size_t next;
    size_t outstanding; /* deletions that are not durable yet */
    struct loop_timer *turn;
    struct objects_request request;
    struct admission_context
        *admission; /* of the object whose deletion others are asked about; NULL: none */
    json_t *user_info;
    struct delete_options options;
    char *user;
    char *propagation;
    struct err *failed; /* error of the first failed deletion */
};

static void sweep_free(struct sweep *s)
{
    loop_timer_free(s->turn);
    admission_context_free(s->admission);
    json_decref(s->user_info);
    selection_done(&s->selection);
    store_list_done(&s->list);
    free(s->user);
    free(s->propagation);
    err_free(s->failed);
    free(s);
}

/* The deletion of an object is over, or has not begun. */
static void sweep_drop_admission_context(struct sweep *s)
{
    admission_context_free(s->admission);
    s->admission = NULL;
    s->request.admission = NULL;
}

static void sweep_on_close(void *arg)
{
    struct sweep *s = arg;

    s->x = NULL;
    s->next = s->list.n;
    sweep_drop_admission_context(s);
    loop_timer_stop(s->turn);
    if (s->outstanding == 0)
        sweep_free(s);
}

static void sweep_finish(struct sweep *s)
{
    const struct status_about about = {.kind = s->request.kind};

    if (s->x && s->failed) {
        reply_error(s->x, s->failed, &about);
    } else if (s->x) {
        AUTO(json_freep) json_t *status = status_success(&about);

        reply_json(s->x, 200, status, NULL);
    }
    sweep_free(s);
}

static void sweep_on_durable(void *arg, const struct err *e, int64_t revision)
{
    struct sweep *s = arg;

    (void)revision;
    if (e && !s->failed)
        s->failed = err_new(err_code(e), "%s", err_message(e));
    s->outstanding--;
    if (s->outstanding == 0 && s->next == s->list.n)
        sweep_finish(s);
}

static void sweep_run(void *arg);

/* Others are asked about one object after the other. False: their answers are not there yet. */
static bool sweep_awaits(struct sweep *s)
{
    if (!s->admission || !admission_context_is_waiting(s->admission))
        return false;
    admission_context_await(s->admission, sweep_run, s);
    return true;
}

/* Deletes an object. An object that has gone, or was replaced meanwhile, is not an error. False:
 * webhooks are asked first. */
static bool delete_one(struct sweep *s, const struct store_object *o)
{
    AUTO(json_freep) json_t *object = NULL;
    struct err *e;
    bool is_gone = false;

    s->request.ns = o->key.ns;
    s->request.name = o->key.name;
    if (!s->admission && s->user_info)
        s->admission = core_admission_of(s->core, s->user_info);
    if (s->admission)
        admission_context_begin(s->admission);
    s->request.admission = s->admission;
    e = objects_delete(core_objects(s->core), &s->request, &s->options, sweep_on_durable, s,
                       &object, &is_gone);
    if (e && sweep_awaits(s)) {
        err_free(e);
        return false;
    }
    sweep_drop_admission_context(s);
    if (!e)
        s->outstanding++;
    else if (err_code(e) == ERR_NOT_FOUND || s->failed)
        err_free(e);
    else
        s->failed = e;
    return true;
}

static void sweep_run(void *arg)
{
    struct sweep *s = arg;

    for (size_t n = 0; n < DELETES_A_TURN && s->next < s->list.n; n++) {
        const struct store_object *o = s->list.at[s->next];

        if ((selection_is_all(&s->selection) ||
             selection_matches(&s->selection, s->core, o, NULL)) &&
            !delete_one(s, o))
            return;
        s->next++;
    }
    if (s->next < s->list.n)
        loop_timer_set(s->turn, 0);
    else if (s->outstanding == 0)
        sweep_finish(s);
}

static struct err *open_sweep(struct call *c, struct sweep *s, bool *ret_is_known)
{
    const struct kind *kept = kind_kept(c->kind);
    const struct store_range range = {.group = kept->group, .resource = kept->plural, .ns = c->ns};
    AUTO(json_freep) json_t *body = NULL;

    TRY(body_parse_optional(c, &body, ret_is_known));
    if (!*ret_is_known)
        return NULL;
    TRY(delete_options_parse(c, body, &s->options));
    TRY(write_request(c, NULL, &s->request));
    TRY(selection_parse(c, &s->selection));
    if (!c->who.node) {
        s->user_info = json_object();
        user_info_put(s->user_info, &c->who);
    }
    if (s->options.if_uid || s->options.if_version > 0)
        return err_new(ERR_BAD_REQUEST, "preconditions are for one object, not for a collection");
    s->user = mem_strdup(c->who.user);
    s->request.who.user = s->user;
    s->propagation = s->options.propagation ? mem_strdup(s->options.propagation) : NULL;
    s->options.propagation = s->propagation;
    s->request.is_dry_run = s->options.is_dry_run;
    return store_list(core_store(c->core), &range, NULL, NULL, 0, 0, &s->list);
}

struct err *handle_delete_collection(struct call *c)
{
    struct sweep *s = mem_alloc(sizeof(*s));
    bool is_known = false;
    struct err *e;

    s->core = c->core;
    s->x = c->x;
    e = open_sweep(c, s, &is_known);
    if (e || !is_known) {
        sweep_free(s);
        return e;
    }
    s->turn = loop_timer_new(core_loop(c->core), sweep_run, s);
    s->x->arg = s;
    s->x->on_close = sweep_on_close;
    s->x->on_drain = NULL;
    sweep_run(s);
    return NULL;
}
