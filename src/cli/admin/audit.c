/* audit.c - mete audit: who did what, when, from where, with what outcome */

#include "cli/admin/audit.h"

#include <inttypes.h>
#include <time.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/term/output.h"
#include "model/moment.h"

enum {
    LINE_MAX_BYTES = 64 << 10
};

struct audit_lines {
    struct cli *cli;
    struct session *session;
    struct buf in; /* the incomplete line */
    struct listing listing;
    bool is_raw; /* jsonl: lines are passed on as they come */
    struct err *failed;
};

/* Returns the UTC offset of this machine (TZ, /etc/localtime) at a time. */
static int64_t local_zone(int64_t utc_ns)
{
    time_t seconds = (time_t)(utc_ns / NS_PER_SEC);
    struct tm local = {0};

    return localtime_r(&seconds, &local) ? local.tm_gmtoff * NS_PER_SEC : 0;
}

static void audit_columns(struct listing *l)
{
    static const char *const names[] = {"#NUMBER",  "TIME", "USER",     "VERB",   "OBJECT",
                                        "#OUTCOME", "FROM", "!CHANGED", "!AGENT", "!AS"};

    for (size_t i = 0; i < COUNT(names); i++)
        listing_column(l, names[i]);
}

/* "pods/exec team/x", "queues/a", "/mete.dev/v1/audit" */
static json_t *object_cell(const json_t *line)
{
    const char *sub = json_text(line, "subresource");
    const char *ns = json_text(line, "namespace");
    const char *name = json_text(line, "name");
    const char *resource = json_text(line, "resource");
    AUTO_FREE char *text = NULL;

    if (!resource)
        return json_text_new(json_text(line, "path"));
    text = mem_format("%s%s%s%s%s%s%s", resource, sub ? "/" : "", text_or_empty(sub),
                      ns || name ? " " : "", text_or_empty(ns), ns && name ? "/" : "",
                      text_or_empty(name));
    return json_string(text);
}

static json_t *outcome_cell(const json_t *line)
{
    const json_t *code = json_object_get(line, "code");

    return json_is_integer(code) ? json_integer(json_integer_value(code))
                                 : json_text_new(json_text(line, "stage"));
}

static json_t *names_cell(const json_t *names)
{
    AUTO(buf_done) struct buf b = {0};
    const json_t *name;
    size_t i;

    json_array_foreach (names, i, name)
        buf_printf(&b, "%s%s", i > 0 ? " " : "", text_or_empty(json_string_value(name)));
    return b.size > 0 ? json_string(b.at) : json_null();
}

/* The caller's address, or that of the browser. */
static json_t *from_cell(const json_t *line)
{
    const char *page = json_text(line, "page");
    AUTO_FREE char *text = page ? mem_format("page %s", page) : NULL;

    return json_text_new(text ? text : json_text(line, "from"));
}

static void audit_add_row(struct audit_lines *l, json_t *line)
{
    json_t *row = json_array();

    (void)json_array_append_new(row, json_integer(json_int(line, "number", 0)));
    (void)json_array_append_new(row, json_text_new(json_text(line, "time")));
    (void)json_array_append_new(row, json_text_new(json_text(line, "user")));
    (void)json_array_append_new(row, json_text_new(json_text(line, "verb")));
    (void)json_array_append_new(row, object_cell(line));
    (void)json_array_append_new(row, outcome_cell(line));
    (void)json_array_append_new(row, from_cell(line));
    (void)json_array_append_new(row, names_cell(json_object_get(line, "changed")));
    (void)json_array_append_new(row, json_text_new(json_text(line, "agent")));
    (void)json_array_append_new(row, json_text_new(json_text(line, "as")));
    listing_add(&l->listing, row, line);
}

static struct err *audit_take_line(struct audit_lines *l, struct str line)
{
    AUTO(json_freep) json_t *tree = NULL;

    if (l->is_raw)
        return output_write(l->cli, (struct str){.at = line.at, .size = line.size + 1});
    TRY(json_parse(line, &tree));
    audit_add_row(l, tree);
    return NULL;
}

static void audit_on_data(void *arg, struct str piece)
{
    struct audit_lines *l = arg;
    size_t used = 0;
    const char *end;

    if (l->failed)
        return;
    buf_add(&l->in, piece.at, piece.size);
    while (!l->failed && (end = memchr(l->in.at + used, '\n', l->in.size - used)) != NULL) {
        struct str line = {.at = l->in.at + used, .size = (size_t)(end - l->in.at) - used};

        used += line.size + 1;
        l->failed = audit_take_line(l, line);
    }
    buf_consume(&l->in, used);
    if (!l->failed && l->in.size > LINE_MAX_BYTES)
        l->failed = err_new(ERR_INVALID, "a line of the answer is too long");
    if (l->failed)
        session_stop(l->session);
}

static void audit_on_done(void *arg, const struct err *failed, const struct client_reply *reply)
{
    struct audit_lines *l = arg;

    l->failed = client_error(failed, reply);
    session_stop(l->session);
}

static struct err *audit_path(struct cli *c, int64_t now_ns, struct buf *path)
{
    static const char *const flags[] = {"user", "verb", "namespace", "resource"};
    const char *since = flag_text(c->in, "since");
    char stamp[STAMP_TEXT_SIZE];
    int64_t since_ns = 0;
    AUTO(err_freep)
    struct err *e = since ? moment_parse(str_of(since), now_ns, local_zone, &since_ns) : NULL;

    if (e)
        return cli_usage(c, "--since: %s", err_message(e));
    buf_add_text(path, "/mete.dev/v1/audit");
    stamp_format_micro(since_ns, stamp);
    if (since)
        buf_printf(path, "?since=%s", stamp);
    for (size_t i = 0; i < COUNT(flags); i++) {
        const char *text = flag_text(c->in, flags[i]);

        if (!text)
            continue;
        buf_printf(path, "%s%s=", strchr(path->at, '?') ? "&" : "?", flags[i]);
        client_add_escaped(path, str_of(text));
    }
    return NULL;
}

static struct err *audit_list(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(buf_done) struct buf path = {0};
    struct audit_lines l = {.cli = c};
    struct client_request r = {.method = "GET", .timeout_ns = -1};
    struct err *e;

    TRY(session_open(c, &s));
    TRY(audit_path(c, loop_wall_ns(session_loop(s)), &path));
    l.session = s;
    l.is_raw = output_format_of(c->in) == OUTPUT_JSONL;
    listing_init(&l.listing, "AuditLineList");
    audit_columns(&l.listing);
    r.path = path.at;
    client_stream(session_client(s), &r, audit_on_data, audit_on_done, &l, NULL);
    e = session_run(s);
    if (e)
        err_free(l.failed);
    else if (l.failed)
        e = session_explain(s, l.failed);
    else if (!l.is_raw)
        e = listing_print(c, &l.listing);
    listing_done(&l.listing);
    buf_done(&l.in);
    return e;
}

static struct err *audit_run(struct cli *c)
{
    if (c->in->arguments.n == 0)
        return audit_list(c);
    if (!text_equal(c->in->arguments.at[0], "verify"))
        return cli_usage(c, "\"%s\": want verify, or nothing", c->in->arguments.at[0]);
    return audit_verify(c);
}

static const struct flag audit_flags[] = {
    {.name = "user", .type = FLAG_TEXT, .value = "USER", .doc = "only what this user did"},
    {.name = "verb",
     .type = FLAG_TEXT,
     .value = "VERB",
     .doc = "only this verb: create, update, patch, delete, deletecollection, get, ..."},
    {.name = "namespace",
     .letter = 'n',
     .type = FLAG_TEXT,
     .value = "NAMESPACE",
     .doc = "only what was done in this namespace"},
    {.name = "resource",
     .type = FLAG_TEXT,
     .value = "RESOURCE",
     .doc = "only this resource, in the plural: pods, queues, nodes"},
    {.name = "since",
     .type = FLAG_TEXT,
     .value = "TIME",
     .doc = "only from then on: 2h, today, 2026-11-01, RFC 3339"},
    {.name = "dir",
     .type = FLAG_TEXT,
     .value = "DIR",
     .doc = "verify: the directory with the files; default: that of the data directory"},
    {.name = "head",
     .type = FLAG_TEXT,
     .value = "NUMBER:HASH",
     .doc = "verify: a line that must be in the files; default: the server's last line"},
    {0},
};

static const char *const audit_words[] = {"verify", NULL};

const struct command command_audit = {
    .name = "audit",
    .arguments = "[verify]",
    .summary = "show who did what, when, from where, with what outcome; for administrators",
    .doc = "verify checks the chain of hashes in the files, as root on the server's machine, and "
           "says at which line it breaks.",
    .examples = {{"audit --since 1d --user alice", "lists what alice did since yesterday"},
                 {"audit --resource secrets -o jsonl", "prints the lines about secrets as JSON"},
                 {"audit verify", "checks that no line was changed, removed or inserted"},
                 {0}},
    .flags = audit_flags,
    .groups = FLAGS_SERVER | FLAGS_OUTPUT,
    .words = audit_words,
    .n_max = 1,
    .run = audit_run,
};
