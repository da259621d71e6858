/* completion.c - mete completion: shell scripts that call `mete complete`, so that all shells offer
 * the same words from the table of commands */

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/term/complete.h"
#include "cli/term/output.h"

/* A user who pressed a key does not wait longer for the server. */
static const int64_t patience_ns = 100 * NS_PER_MS;

static const char bash_text[] =
    "_mete()\n"
    "{\n"
    "    local line word before= is_value= IFS=$'\\n'\n"
    "    local -a words=()\n"
    "    COMPREPLY=()\n"
    "    # bash takes --flag=value for three words\n"
    "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD}\"; do\n"
    "        if [[ $is_value ]]; then\n"
    "            words[-1]+=$word is_value=\n"
    "        elif [[ $word == '=' && ${#words[@]} -gt 0 && ${words[-1]} == --* ]]; then\n"
    "            words[-1]+='=' is_value=1\n"
    "        else\n"
    "            words+=(\"$word\")\n"
    "        fi\n"
    "    done\n"
    "    [[ ${words[-1]} == --*=* ]] && before=${words[-1]%%=*}=\n"
    "    while IFS=$'\\t' read -r line _; do\n"
    "        if [ \"$line\" = :files ]; then\n"
    "            compopt -o default\n"
    "        else\n"
    "            COMPREPLY+=(\"${line#\"$before\"}\")\n"
    "        fi\n"
    "    done < <(mete complete -- \"${words[@]}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _mete mete\n";

static const char zsh_text[] =
    "#compdef mete\n"
    "_mete()\n"
    "{\n"
    "    local line\n"
    "    local -a found\n"
    "    for line in \"${(@f)$(mete complete -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\"; do\n"
    "        if [[ $line == :files ]]; then\n"
    "            _files\n"
    "        elif [[ -n $line ]]; then\n"
    "            found+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\")\n"
    "        fi\n"
    "    done\n"
    "    _describe mete found\n"
    "}\n"
    "if [[ $funcstack[1] == _mete ]]; then\n"
    "    _mete \"$@\"\n"
    "else\n"
    "    compdef _mete mete\n"
    "fi\n";

static const char fish_text[] = "function __mete_complete\n"
                                "    set -l words (commandline -opc)[2..] (commandline -ct)\n"
                                "    set -l found (mete complete -- $words 2>/dev/null)\n"
                                "    if contains -- :files $found\n"
                                "        __fish_complete_path (commandline -ct)\n"
                                "    end\n"
                                "    string match -v -- :files $found\n"
                                "end\n"
                                "complete -c mete -f -a '(__mete_complete)'\n";

static struct err *completion_run(struct cli *c)
{
    const char *shell = c->in->arguments.at[0];

    if (text_equal(shell, "bash"))
        return output_write(c, str_of(bash_text));
    if (text_equal(shell, "zsh"))
        return output_write(c, str_of(zsh_text));
    if (text_equal(shell, "fish"))
        return output_write(c, str_of(fish_text));
    return cli_usage(c, "no completion for \"%s\": want bash, zsh or fish", shell);
}

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

const struct command command_completion = {
    .name = "completion",
    .arguments = "bash|zsh|fish",
    .summary = "print a shell completion script",
    .examples = {{"completion bash > /etc/bash_completion.d/mete",
                  "installs completion for all bash users"},
                 {"completion fish | source", "loads completion into this fish"},
                 {0}},
    .words = shells,
    .n_min = 1,
    .n_max = 1,
    .run = completion_run,
};

/* ---- mete complete ---- */

struct live_answer {
    struct session *session;
    struct client_call *call;
    json_t *body;
};

static void completion_on_answer(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct live_answer *a = arg;
    AUTO(err_freep) struct err *failed = client_error(e, reply);

    if (!failed)
        failed = json_parse(reply->body, &a->body);
    session_stop(a->session);
}

static char *live_path(const struct session *s, enum live which)
{
    switch (which) {
    case LIVE_JOBS:
        return path_format("/api/v1/namespaces/%s/pods?limit=500", session_namespace(s));
    case LIVE_NODES:
        return path_format("/api/v1/nodes?limit=500");
    case LIVE_NAMESPACES:
        return path_format("/api/v1/namespaces?limit=500");
    case LIVE_QUEUES:
        return path_format("/apis/mete.dev/v1/queues?limit=500");
    }
    return NULL;
}

/* A server that does not answer at once is no error: the list stays empty. */
static void add_live(void *arg, enum live which, struct buf *b)
{
    struct cli *c = arg;
    AUTO(session_freep) struct session *s = NULL;
    AUTO(err_freep) struct err *e = session_open(c, &s);
    struct live_answer a = {.session = s};
    AUTO_FREE char *path = NULL;
    struct client_request r = {.method = "GET", .timeout_ns = patience_ns};

    if (e)
        return;
    path = live_path(s, which);
    r.path = path;
    client_send(session_client(s), &r, completion_on_answer, &a, &a.call);
    e = session_run(s);
    for (size_t i = 0; i < json_array_size(json_object_get(a.body, "items")); i++) {
        const json_t *item = json_array_get(json_object_get(a.body, "items"), i);
        const char *name = json_text_at(item, "metadata", "name", NULL);

        buf_printf(b, "%s\n", name ? name : "");
    }
    json_decref(a.body);
}

static struct err *complete_run(struct cli *c)
{
    AUTO(buf_done) struct buf b = {0};

    complete_words(c->in->arguments.at, c->in->arguments.n, add_live, c, &b);
    return b.size > 0 ? output_write(c, (struct str){b.at, b.size}) : NULL;
}

const struct command command_complete = {
    .name = "complete",
    .arguments = "-- [WORD...]",
    .summary = "complete a command line: called by shells",
    .examples = {{"complete -- lo", "prints the commands that begin with lo"},
                 {"complete -- ps --", "prints the flags of ps"},
                 {0}},
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE,
    .n_max = 4096,
    .is_hidden = true,
    .run = complete_run,
};
