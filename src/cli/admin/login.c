/* login.c - mete login: a one-time link to the web page */

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/term/output.h"

static struct err *login_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *answer = NULL;
    const struct call call = {.method = "POST", .path = "/mete.dev/v1/sign-in"};

    TRY(session_open(c, &s));
    TRY(session_call(s, &call, &answer));
    (void)fprintf(c->out, "%s\n", text_or_empty(json_text(answer, "url")));
    cli_say(c, "The link signs you in once, within 10 minutes. Do not share it.");
    return NULL;
}

const struct command command_login = {
    .name = "login",
    .summary = "make a one-time link that signs you in to the web page",
    .doc = "The session in the browser acts as you, with your rights, for at most 12 hours. A "
           "restart of the server ends it.",
    .examples = {{"login", "prints a link that acts as you"},
                 {"login --data /srv/mete", "prints a link to the page of that data directory"},
                 {0}},
    .groups = FLAGS_SERVER,
    .n_max = 0,
    .run = login_run,
};
