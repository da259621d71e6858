/*
 * audit_read.c - GET /mete.dev/v1/audit: lines of the audit, and its head
 *
 * Administrators only. The lines come as they are in the files, one a line, oldest first, in turns
 * of bounded work:
 *
 *   GET /mete.dev/v1/audit?user=U&verb=V&namespace=N&resource=R&since=T
 *   GET /mete.dev/v1/audit/head      {"number":N,"hash":H}: the last line that is durable
 *
 * `user` also finds what an administrator did as that user. No string in a line holds a bare
 * quotation mark, so that the text "user":"U" is in a line only as that member.
 */

#include <inttypes.h>

#include "access/audit_log.h"
#include "api/audit.h"
#include "api/handlers.h"
#include "api/routes.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "base/vec.h"

enum {
    LINES_A_TURN = 2000,
    BYTES_A_TURN = 128 << 10
};

struct lines {
    struct exchange *x;
    const struct audit_log *log;
    struct audit_reader *reader;
    struct loop_timer *turn;
    VEC(char *) wanted; /* texts that each line must hold */
    char *user;         /* this text or `as`; NULL: any user */
    char *as;
    char since[STAMP_TEXT_SIZE];
};

static void lines_free(struct lines *l)
{
    if (l->reader)
        l->log->close(l->reader);
    loop_timer_free(l->turn);
    VEC_EACH (&l->wanted, text)
        free(*text);
    vec_done(&l->wanted);
    free(l->user);
    free(l->as);
    free(l);
}

static bool line_has(struct str line, const char *text)
{
    return memmem(line.at, line.size, text, strlen(text)) != NULL;
}

static bool lines_match(const struct lines *l, struct str line)
{
    static const char member[] = "\"time\":\"";
    size_t at = sizeof(member) - 1;
    const char *time = memmem(line.at, line.size, member, at);

    if (l->since[0] && time && line.size - (size_t)(time - line.at) > at + strlen(l->since) &&
        strncmp(time + at, l->since, strlen(l->since)) < 0)
        return false;
    if (l->user && !line_has(line, l->user) && !line_has(line, l->as))
        return false;
    VEC_EACH (&l->wanted, text)
        if (!line_has(line, *text))
            return false;
    return true;
}

static void lines_on_turn(void *arg)
{
    struct lines *l = arg;
    AUTO(buf_done) struct buf out = {0};
    struct str line = {0};
    AUTO(err_freep) struct err *e = NULL;
    size_t n = 0;

    do {
        e = l->log->next(l->reader, &line);
        if (!e && line.at && lines_match(l, line)) {
            buf_add(&out, line.at, line.size);
            buf_add_char(&out, '\n');
        }
    } while (!e && line.at && ++n < LINES_A_TURN && out.size < BYTES_A_TURN);
    l->x->ops->piece(l->x, (struct str){.at = out.at, .size = out.size});
    /* A line without its end is one that is being written. */
    if (e && err_code(e) != ERR_INVALID) {
        LOG(ERROR, "the audit cannot be read", E(e));
        l->x->ops->cut(l->x);
        lines_free(l);
    } else if (e || !line.at) {
        l->x->ops->end(l->x);
        lines_free(l);
    } else if (l->x->ops->backlog(l->x) < API_BACKLOG_MAX / 2) {
        loop_timer_set(l->turn, 0);
    }
}

static void lines_on_drain(void *arg)
{
    struct lines *l = arg;

    loop_timer_set(l->turn, 0);
}

static void lines_on_close(void *arg)
{
    lines_free(arg);
}

static char *member_text(const char *key, const char *value)
{
    struct buf b = {0};

    buf_printf(&b, "\"%s\":", key);
    json_add_quoted(&b, str_of(value));
    return buf_steal(&b);
}

static struct err *lines_filter(const struct call *c, struct lines *l)
{
    static const char *const keys[] = {"verb", "namespace", "resource"};
    const char *user = query_get(&c->query, "user");
    const char *since = query_get(&c->query, "since");
    int64_t since_ns = 0;

    for (size_t i = 0; i < COUNT(keys); i++)
        if (query_get(&c->query, keys[i]))
            vec_add(&l->wanted, member_text(keys[i], query_get(&c->query, keys[i])));
    if (user) {
        l->user = member_text("user", user);
        l->as = member_text("as", user);
    }
    if (!since)
        return NULL;
    TRY(stamp_parse(str_of(since), &since_ns));
    stamp_format_micro(since_ns, l->since);
    return NULL;
}

static struct err *lines_begin(struct call *c, const struct audit_log *log)
{
    const struct api_reply head = {.status = 200, .content_type = "application/jsonl"};
    struct lines *l = mem_alloc(sizeof(*l));
    struct err *e;

    l->x = c->x;
    l->log = log;
    e = lines_filter(c, l);
    if (!e)
        e = log->open(log->self, l->since[0] ? l->since : NULL, &l->reader);
    if (e) {
        lines_free(l);
        return e;
    }
    l->turn = loop_timer_new(core_loop(c->core), lines_on_turn, l);
    l->x->ops->begin(l->x, &head);
    l->x->arg = l;
    l->x->on_close = lines_on_close;
    l->x->on_drain = lines_on_drain;
    loop_timer_set(l->turn, 0);
    return NULL;
}

static void reply_head(struct call *c, const struct audit_log *log)
{
    struct audit_head head = log->head(log->self);
    AUTO(json_freep) json_t *answer = json_object();

    json_put_int(answer, "number", head.number);
    json_put_text(answer, "hash", head.hash);
    reply_json(c->x, 200, answer, NULL);
}

struct err *handle_audit(struct call *c)
{
    const struct audit_log *log = core_audit_log(c->core);

    if (!c->who.is_admin)
        return err_new(ERR_FORBIDDEN,
                       "User \"%s\" cannot get path \"%s\": only administrators read "
                       "the audit",
                       c->who.user, c->x->request.path);
    if (!log)
        return err_new(ERR_NOT_FOUND, "this server keeps no audit");
    if (text_equal(c->route->path, "/mete.dev/v1/audit"))
        return lines_begin(c, log);
    reply_head(c, log);
    return NULL;
}
