/* token.c - mete token: one-time tokens by which other machines join, and their end */

#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/term/output.h"

static const char tokens_path[] = "/mete.dev/v1/node-tokens";

static struct err *make(struct cli *c, struct session *s)
{
    AUTO(json_freep) json_t *answer = NULL;
    AUTO(json_freep) json_t *body = json_object();
    struct call call = {.method = "POST", .path = tokens_path, .body = body};
    int64_t seconds = flag_duration_ns(c->in, "ttl", 0) / NS_PER_SEC;
    const char *name = flag_text(c->in, "name");

    json_put_int(body, "seconds", seconds);
    if (name)
        json_put_text(body, "node", name);
    TRY(session_call(s, &call, &answer));
    (void)fprintf(c->out, "%s\n", text_or_empty(json_text(answer, "token")));
    cli_say(c,
            "The token lets one machine join within %" PRId64
            " s:  mete node --server https://HOST:7443%s%s --token TOKEN",
            seconds, name ? " --name " : "", name ? name : "");
    return NULL;
}

static struct err *revoke(struct cli *c, struct session *s)
{
    AUTO(json_freep) json_t *body = json_object();
    const struct call call = {.method = "POST", .path = tokens_path, .body = body};
    const char *node = c->in->arguments.n > 1 ? c->in->arguments.at[1] : NULL;

    if (!node)
        return cli_usage(c, "token revoke wants the name of a node");
    json_put_text(body, "node", node);
    json_put(body, "revoke", json_true());
    TRY(session_call(s, &call, NULL));
    cli_say(c, "node %s may no longer connect; its containers go on until its lease is lost", node);
    return NULL;
}

static struct err *token_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    const char *what = c->in->arguments.at[0];
    bool is_revoke = text_equal(what, "revoke");

    if (!is_revoke && !text_equal(what, "node"))
        return cli_usage(c, "token wants node or revoke, not \"%s\"", what);
    if (!is_revoke && c->in->arguments.n > 1)
        return cli_usage(c, "token node takes no argument: --name NAME names a node");
    TRY(session_open(c, &s));
    return is_revoke ? revoke(c, s) : make(c, s);
}

static const char *const words[] = {"node", "revoke", NULL};

static const struct flag flags[] = {
    {.name = "ttl",
     .type = FLAG_DURATION,
     .value = "DURATION",
     .doc = "time until the token ends, at most 24h",
     .fallback = "10m"},
    {.name = "name",
     .type = FLAG_TEXT,
     .value = "NAME",
     .doc = "the node that may join; also one that has joined before, whose certificate then ends"},
    {0},
};

const struct command command_token = {
    .name = "token",
    .arguments = "node|revoke [NODE]",
    .summary = "let another machine join as a node, or end its right",
    .doc = "The token works once. The token also names this installation's certificate authority, "
           "so that "
           "the new machine cannot be led to another server.",
    .examples = {{"token node", "prints a token for one machine"},
                 {"token node --name gpu-02", "prints a token for this node, also to join again"},
                 {"token revoke gpu-02", "ends the node's certificate and connections"},
                 {0}},
    .flags = flags,
    .groups = FLAGS_SERVER,
    .words = words,
    .n_min = 1,
    .n_max = 2,
    .run = token_run,
};
