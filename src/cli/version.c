/* version.c - mete version */

#include "base/version.h"

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/term/output.h"

static struct err *version_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *server = NULL;
    AUTO(err_freep) struct err *e = NULL;
    AUTO_FREE char *line = NULL;
    const char *theirs;

    e = session_open(c, &s);
    if (!e)
        e = session_get(s, "/version", &server);
    theirs = json_text(server, "gitVersion");
    if (output_format_of(c->in) == OUTPUT_JSON || output_format_of(c->in) == OUTPUT_YAML) {
        struct listing l;
        AUTO(json_freep)
        json_t *object =
            json_pack("{s:s, s:s, s:s, s:o}", "apiVersion", "mete.dev/v1", "kind", "Version",
                      "client", METE_VERSION, "server", server ? json_incref(server) : json_null());
        struct err *failed;

        listing_init(&l, "VersionList");
        l.is_single = true;
        listing_add(&l, json_array(), object);
        failed = listing_print(c, &l);
        listing_done(&l);
        return failed;
    }
    line = mem_format("mete %s\n", METE_VERSION);
    TRY(output_write(c, str_of(line)));
    if (e)
        cli_say(c, "no server: %s", err_message(e));
    else
        cli_say(c, "server: Kubernetes API %s", theirs ? theirs : "of unknown version");
    return NULL;
}

const struct command command_version = {
    .name = "version",
    .summary = "show the version of this program and of the server",
    .examples = {{"version", "prints the versions of this program and of the server, if one runs"},
                 {"version -o json", "the same for programs"},
                 {0}},
    .groups = FLAGS_SERVER | FLAGS_OUTPUT,
    .n_max = 0,
    .run = version_run,
};
