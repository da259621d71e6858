/*
 * audit.c - the audited exchange: holds an answer until the line of its request is durable
 *
 * A line names the status of the answer. If the store takes a line back together with its change
 * (the disk was full), the answer has another status, and gets a line of its own. Lines of refused
 * requests that find no room wait in memory, up to a bound, until the disk has room again.
 */

#include "api/audit.h"

#include <inttypes.h>

#include "access/audit_log.h"
#include "api/audit_line.h"
#include "api/routes.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "http/relay.h"
#include "kinds/admission/admission_context.h"
#include "kinds/pod/pod_state.h"

#define TIDY_NS (3600 * NS_PER_SEC)

enum {
    OWED_BYTES_MAX = 1 << 20,
    STRANGERS_MAX = 100, /* lines a minute for callers without an identity */
    NAMES_DEPTH = 3,
    TIMED_OUT = 504
};

struct audit {
    struct audit_options o;
    struct loop_timer *retry;
    struct loop_timer *tidy;
    VEC(char *) owed; /* lines that found no room */
    size_t owed_bytes;
    int64_t missed; /* lines that found no room here either */
    int64_t minute; /* of the last refusal of a stranger */
    unsigned strangers;
    int64_t strangers_missed;
};

enum audited_state {
    AUDITED_OPEN,
    AUDITED_NOTING,
    AUDITED_NOTED
};

/* An answer that waits for its line. Owns its texts. */
struct held {
    struct api_reply reply; /* status 0: none */
    char *body;
    char *content_type;
    char *allow;
    json_t *warnings;
};

struct audited {
    struct relay relay; /* its `x` is NULL: the client has gone */
    struct audit *audit;
    struct buf about;   /* members of the line */
    struct buf changed; /* names of the members that change; empty: unknown */
    char *name;
    enum audited_state state;
    int status;        /* of the line that is noted */
    bool waits;        /* the handler runs after the line */
    bool is_begun;     /* the line is durable, the handler runs or has run */
    bool ends_in_line; /* a second line tells the end, also of a success */
    bool is_dry_run;
    bool is_annotated; /* `about` has what webhooks and policies said */
    struct held held;
};

static struct loop *audit_loop(const struct audit *a)
{
    return core_loop(a->o.core);
}

/* ---- lines that wait for room ---- */

struct owed_line {
    struct audit *audit;
    char *text;
};

static void owed_add(struct audit *a, char *taken)
{
    size_t size = strlen(taken);

    if (a->owed_bytes + size > OWED_BYTES_MAX) {
        a->missed++;
        free(taken);
    } else {
        a->owed_bytes += size;
        vec_add(&a->owed, taken);
    }
    loop_timer_set(a->retry, NS_PER_SEC);
}

static void owed_on_noted(void *arg, const struct err *e, int64_t revision)
{
    struct owed_line *line = arg;

    (void)revision;
    if (e && err_code(e) != ERR_UNAVAILABLE)
        owed_add(line->audit, TAKE(line->text));
    free(line->text);
    free(line);
}

static void audit_note_text(struct audit *a, char *taken)
{
    struct owed_line *line = mem_alloc(sizeof(*line));
    AUTO(err_freep) struct err *e = NULL;

    *line = (struct owed_line){.audit = a, .text = taken};
    e = store_note(core_store(a->o.core), str_of(taken), owed_on_noted, line);
    if (e)
        owed_on_noted(line, e, 0);
}

/* The line of an act of the server itself. `members` begins with a comma, or is empty. */
static char *audit_own_line(const struct audit *a, const char *verb, const char *members)
{
    char stamp[STAMP_TEXT_SIZE];

    stamp_format_micro(loop_wall_ns(audit_loop(a)), stamp);
    return mem_format("\"time\":\"%s\",\"user\":\"system:server\",\"verb\":\"%s\",\"resource\":"
                      "\"audit\"%s",
                      stamp, verb, members);
}

static void audit_note_own(struct audit *a, const char *verb, const char *members)
{
    audit_note_text(a, audit_own_line(a, verb, members));
}

static void audit_retry(void *arg)
{
    struct audit *a = arg;
    char **lines = a->owed.at;
    size_t n = a->owed.n;
    AUTO_FREE char *count = mem_format(",\"count\":%" PRId64, a->missed);

    if (store_is_full(core_store(a->o.core))) {
        loop_timer_set(a->retry, NS_PER_SEC);
        return;
    }
    memset(&a->owed, 0, sizeof(a->owed));
    a->owed_bytes = 0;
    for (size_t i = 0; i < n; i++)
        audit_note_text(a, lines[i]);
    free(lines);
    if (a->missed > 0)
        audit_note_own(a, "miss", count);
    a->missed = 0;
}

/* ---- the end of old lines ---- */

struct audit_forgetting {
    const struct audit_log *log;
    int64_t through;
};

/* The line that names the removed lines is durable: removes their files. */
static void forgetting_on_noted(void *arg, const struct err *failed, int64_t revision)
{
    struct audit_forgetting *f = arg;
    AUTO(err_freep) struct err *e = failed ? NULL : f->log->remove(f->log->self, f->through);

    (void)revision;
    if (e)
        LOG(WARN, "old files of the audit were not removed", E(e));
    free(f);
}

/* Removes files that are old enough. A line of the chain says through which line, and its hash:
 * audit_verify.c begins there. */
static void audit_tidy(void *arg)
{
    struct audit *a = arg;
    const struct audit_log *log = a->o.log;
    struct audit_head through = {0};
    char before[STAMP_TEXT_SIZE];
    AUTO_FREE char *members = NULL;
    AUTO_FREE char *line = NULL;
    AUTO(err_freep) struct err *e = NULL;
    struct audit_forgetting *forgetting;

    loop_timer_set(a->tidy, TIDY_NS);
    stamp_format_micro(loop_wall_ns(audit_loop(a)) - a->o.keep_ns, before);
    e = log->find_old(log->self, before, &through);
    if (e)
        LOG(WARN, "the audit's old files were not found", E(e));
    if (e || through.number == 0)
        return;
    members =
        mem_format(",\"through\":%" PRId64 ",\"throughHash\":\"%s\"", through.number, through.hash);
    line = audit_own_line(a, "forget", members);
    forgetting = mem_alloc(sizeof(*forgetting));
    *forgetting = (struct audit_forgetting){.log = log, .through = through.number};
    e = store_note(core_store(a->o.core), str_of(line), forgetting_on_noted, forgetting);
    if (e)
        forgetting_on_noted(forgetting, e, 0);
}

/* ---- the audit ---- */

struct audit *audit_new(const struct audit_options *o)
{
    struct audit *a = mem_alloc(sizeof(*a));

    a->o = *o;
    a->retry = loop_timer_new(core_loop(o->core), audit_retry, a);
    audit_note_own(a, "start", "");
    if (o->keep_ns > 0) {
        a->tidy = loop_timer_new(core_loop(o->core), audit_tidy, a);
        loop_timer_set(a->tidy, 0);
    }
    return a;
}

void audit_free(struct audit *a)
{
    if (!a)
        return;
    loop_timer_free(a->retry);
    loop_timer_free(a->tidy);
    VEC_EACH (&a->owed, line)
        free(*line);
    vec_done(&a->owed);
    free(a);
}

const struct audit_log *audit_log_of(const struct audit *a)
{
    return a->o.log;
}

/* ---- an audited exchange ---- */

static void audited_free(struct audited *a)
{
    buf_done(&a->about);
    buf_done(&a->changed);
    free(a->name);
    free(a->held.body);
    free(a->held.content_type);
    free(a->held.allow);
    json_decref(a->held.warnings);
    free(a);
}

static void audited_release(struct relay *r)
{
    audited_free((struct audited *)(void *)r);
}

/* The line's text; status 0: the action begins. */
static char *audited_line(const struct audited *a, int status)
{
    struct buf b = {0};

    buf_add(&b, a->about.at, a->about.size);
    if (a->name) {
        buf_add_text(&b, ",\"name\":");
        json_add_quoted(&b, str_of(a->name));
    }
    if (a->changed.size > 0 && status < 300) {
        buf_add_text(&b, ",\"changed\":");
        buf_add(&b, a->changed.at, a->changed.size);
    }
    if (a->is_dry_run)
        buf_add_text(&b, ",\"dryRun\":true");
    if (status == 0)
        buf_add_text(&b, ",\"stage\":\"begun\"");
    else
        buf_printf(&b, ",\"code\":%d", status);
    return buf_steal(&b);
}

static void audited_note(struct audited *a, int status);

/* Passes the held answer on, which ends the exchange. */
static void audited_pass(struct audited *a)
{
    struct exchange *x = a->relay.x;

    if (x) {
        x->on_close = NULL;
        x->on_drain = NULL;
        x->ops->reply(x, &a->held.reply);
    }
    audited_free(a);
}

/* The line could not be written: the client learns that nothing was done. */
static void audited_refuse(struct audited *a, const struct err *e)
{
    struct exchange *x = a->relay.x;

    owed_add(a->audit, audited_line(a, err_http(e)));
    if (x) {
        AUTO(err_freep)
        struct err *why =
            err_new(err_code(e), "the audit cannot record the request: %s", err_message(e));

        x->on_close = NULL;
        x->on_drain = NULL;
        reply_error(x, why, &(struct status_about){0});
    }
    audited_free(a);
}

static void audited_on_failed(struct audited *a, const struct err *e)
{
    int held = a->held.reply.status;

    a->state = AUDITED_OPEN;
    if (held != 0 && held != a->status) {
        audited_note(a, held); /* the change was taken back, too, and the answer says so */
    } else if (held >= 400) {
        owed_add(a->audit, audited_line(a, held));
        audited_pass(a);
    } else {
        audited_refuse(a, e);
    }
}

static void audited_on_noted(void *arg, const struct err *e, int64_t revision)
{
    struct audited *a = arg;
    int held = a->held.reply.status;

    (void)revision;
    if (e && err_code(e) == ERR_UNAVAILABLE && !a->relay.x) {
        audited_free(a); /* the server ends, and the audit may have gone */
    } else if (e) {
        audited_on_failed(a, e);
    }
    if (e) {
        return;
    }
    a->state = AUDITED_NOTED;
    if (!a->relay.x) {
        audited_free(a);
    } else if (a->waits && !a->is_begun) {
        a->is_begun = true;
        a->state = AUDITED_OPEN;
        core_handle_begun(a->audit->o.core, &a->relay.own, a);
    } else if (held != 0 && held != a->status && held != TIMED_OUT) {
        audited_note(a, held);
    } else if (held != 0) {
        audited_pass(a);
    }
}

/* Notes a line with this status; 0: the action begins. Then audited_on_noted goes on. */
static void audited_note(struct audited *a, int status)
{
    struct store *s = core_store(a->audit->o.core);
    AUTO_FREE char *line = audited_line(a, status);
    AUTO(err_freep) struct err *e = NULL;

    if (status >= 400 && store_is_full(s)) {
        owed_add(a->audit, TAKE(line)); /* the last room is for changes */
        audited_pass(a);
        return;
    }
    a->state = AUDITED_NOTING;
    a->status = status;
    e = store_note(s, str_of(line), audited_on_noted, a);
    if (e)
        audited_on_failed(a, e);
}

static char *copy_or_null(const char *text)
{
    return text ? mem_strdup(text) : NULL;
}

static void audited_hold(struct audited *a, const struct api_reply *r)
{
    struct held *h = &a->held;

    h->body = mem_strndup(r->body.at ? r->body.at : "", r->body.size);
    h->content_type = copy_or_null(r->content_type);
    h->allow = copy_or_null(r->allow);
    h->warnings = json_incref((json_t *)(uintptr_t)r->warnings);
    h->reply = *r;
    h->reply.body.at = h->body;
    h->reply.content_type = h->content_type;
    h->reply.allow = h->allow;
    h->reply.warnings = h->warnings;
    a->relay.own.on_close = NULL;
    a->relay.own.on_drain = NULL;
}

static void audited_reply(struct exchange *own, const struct api_reply *r)
{
    struct audited *a = (struct audited *)(void *)relay_of(own);
    bool is_told = a->is_begun && r->status < 400 && !a->ends_in_line;

    if (is_told ||
        (a->state == AUDITED_NOTED && (a->status == r->status || r->status == TIMED_OUT))) {
        a->relay.x->on_close = NULL;
        a->relay.x->on_drain = NULL;
        a->relay.x->ops->reply(a->relay.x, r);
        audited_free(a);
        return;
    }
    audited_hold(a, r);
    if (a->state != AUDITED_NOTING)
        audited_note(a, r->status);
}

static const struct exchange_ops audited_ops = RELAY_OPS(audited_reply, relay_begin);

static void audited_on_close(void *arg)
{
    struct audited *a = arg;

    a->relay.x = NULL;
    if (a->relay.own.on_close)
        a->relay.own.on_close(a->relay.own.arg);
    a->relay.own.on_close = NULL;
    if (a->state != AUDITED_NOTING)
        audited_free(a);
}

static void audited_new(struct audit *audit, struct call *c)
{
    struct audited *a = mem_alloc(sizeof(*a));

    a->audit = audit;
    relay_init(&a->relay, &audited_ops, c->x, audited_release);
    c->x->on_close = audited_on_close;
    a->name = copy_or_null(c->name);
    a->is_dry_run = query_get(&c->query, "dryRun") != NULL;
    audit_add_call(&a->about, c, loop_wall_ns(audit_loop(audit)));
    c->x = &a->relay.own;
    c->audited = a;
}

/* ---- what is recorded ---- */

static bool is_session(const struct call *c)
{
    return text_equal(c->subresource, "exec") || text_equal(c->subresource, "attach") ||
           text_equal(c->subresource, "portforward") || text_equal(c->subresource, "proxy") ||
           text_equal(c->subresource, "signal");
}

/* Is this a read of the log of another user's pod? */
static bool is_foreign_log(const struct call *c)
{
    const struct store_object *o;
    AUTO(json_freep) json_t *pod = NULL;
    AUTO(err_freep) struct err *e = NULL;

    if (!text_equal(c->subresource, "log"))
        return false;
    o = store_get(core_store(c->core), objects_key(c->kind, c->ns, c->name));
    if (!o)
        return false;
    e = objects_decode(o, &pod);
    return !e &&
           !text_equal(json_text_at(pod, "metadata", "annotations", POD_USER, NULL), c->who.user);
}

static bool is_secret(const struct call *c)
{
    return c->kind && !*c->kind->group && text_equal(c->kind->plural, "secrets");
}

/* Signs of life and events are not recorded: they say nothing of what a user did. */
static bool is_background(const struct call *c)
{
    return c->kind && (text_equal(c->kind->plural, "leases") ||
                       text_equal(c->kind->plural, "events") || c->kind->is_question);
}

static bool is_audit_read(const struct call *c)
{
    return c->route->path && text_starts_with(c->route->path, "/mete.dev/v1/audit");
}

/* Does the call make a link to the web page, or begin or end a session there? */
static bool is_sign_in(const struct call *c)
{
    return text_equal(c->route->path, SIGN_IN_PATH) || text_equal(c->route->path, SESSION_PATH);
}

/* Does the handler wait for the line? */
static bool audit_is_waiting_kind(const struct audit *audit, const struct call *c)
{
    bool is_get = text_equal(c->x->request.method, "GET");

    if (is_session(c) || is_audit_read(c) || text_equal(c->route->verb, "deletecollection"))
        return true;
    if (audit_is_images(c))
        return !is_get || audit->o.has_reads;
    if (!is_get)
        return false;
    return is_secret(c) || audit->o.has_reads || is_foreign_log(c);
}

void audit_begin(struct audit *audit, struct call *c)
{
    bool waits;

    if (!audit || c->audited || !c->route || c->who.node || is_background(c))
        return;
    waits = audit_is_waiting_kind(audit, c);
    if (!waits && !is_sign_in(c) && (!c->kind || text_equal(c->x->request.method, "GET")))
        return;
    audited_new(audit, c);
    c->audited->waits = waits;
    c->audited->ends_in_line = text_equal(c->route->verb, "deletecollection");
}

bool audit_waits(struct call *c)
{
    struct audited *a = c->audited;

    if (!a || !a->waits || a->is_begun)
        return false;
    audited_note(a, 0);
    return true;
}

/* Bounds the lines of callers without an identity: anybody who reaches a port can make them. */
static bool audit_takes_stranger(struct audit *a)
{
    int64_t minute = loop_now_ns(audit_loop(a)) / (60 * NS_PER_SEC);
    AUTO_FREE char *count = mem_format(",\"count\":%" PRId64, a->strangers_missed);

    if (minute != a->minute) {
        if (a->strangers_missed > 0)
            audit_note_own(a, "miss", count);
        a->minute = minute;
        a->strangers = 0;
        a->strangers_missed = 0;
    }
    if (a->strangers++ < STRANGERS_MAX)
        return true;
    a->strangers_missed++;
    return false;
}

/* Adds what webhooks and policies want in the line. */
static void audited_annotate(struct audited *a, const struct call *c)
{
    const json_t *annotations = c->admission ? admission_context_annotations(c->admission) : NULL;

    if (!annotations || a->is_annotated)
        return;
    a->is_annotated = true;
    buf_add_text(&a->about, ",\"annotations\":");
    json_add(&a->about, annotations);
}

void audit_failure(struct audit *audit, struct call *c, const struct err *e)
{
    bool is_stranger = err_code(e) == ERR_UNAUTHENTICATED;

    if (c->audited)
        audited_annotate(c->audited, c);
    if (c->audited && !c->audited->name && c->name)
        c->audited->name = mem_strdup(c->name); /* of the body */
    if (!audit || c->audited || (!is_stranger && err_code(e) != ERR_FORBIDDEN))
        return;
    if (!is_stranger || audit_takes_stranger(audit))
        audited_new(audit, c);
}

void audit_decided(const struct call *c, int status, const char *name)
{
    struct audited *a = c->audited;

    if (!a || a->is_begun)
        return;
    if (!a->name && name)
        a->name = mem_strdup(name);
    audited_annotate(a, c);
    audited_note(a, status);
}

static size_t names_depth(const struct call *c)
{
    return is_secret(c) ? 1 : NAMES_DEPTH;
}

void audit_changed_by_patch(const struct call *c, const json_t *patch)
{
    if (c->audited)
        audit_add_patch_names(&c->audited->changed, patch, names_depth(c));
}

void audit_changed_between(const struct call *c, const json_t *before, const json_t *after)
{
    if (c->audited)
        audit_add_changed_names(&c->audited->changed, before, after, names_depth(c));
}
