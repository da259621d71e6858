/* rotate_key.c - mete rotate-key: a new key for Secrets on disk */

#include "cli/commands.h"
#include "cli/session.h"
#include "cli/term/output.h"

static struct err *rotate_key_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *answer = NULL;
    const struct call rotate = {.method = "POST", .path = "/mete.dev/v1/secret-key"};

    TRY(session_open(c, &s));
    TRY(session_call(s, &rotate, &answer));
    if (text_equal(json_text(answer, "phase"), "Failed"))
        return err_new(ERR_INTERNAL, "the key was not rotated, earlier keys stay in use: %s",
                       text_or_empty(json_text(answer, "message")));
    (void)fprintf(c->out, "%s\n", text_or_empty(json_text(answer, "key")));
    cli_say(c, "all Secrets are sealed with the new key; copy server/secrets.key of the data "
               "directory to where you keep its backup");
    return NULL;
}

const struct command command_rotate_key = {
    .name = "rotate-key",
    .summary = "seal all Secrets on disk with a new key",
    .doc =
        "The server makes a new key, seals all Secrets with it while it runs, and then removes the "
        "earlier keys from server/secrets.key in the data directory. A server that is restarted "
        "in between goes on with it. Prints the id of the new key.",
    .examples = {{"rotate-key", "returns once no Secret needs an earlier key"},
                 {"rotate-key --data /srv/mete", "the same for the server of this directory"},
                 {0}},
    .groups = FLAGS_SERVER,
    .run = rotate_key_run,
};
