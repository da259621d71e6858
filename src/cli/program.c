/* program.c - the start of a program, and the run of one command */

#include "cli/program.h"

#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "cli/term/terminal.h"

struct err *program_begin(struct cli *ret, char **ret_self_path)
{
    uint8_t seed[16];
    size_t json_seed = 0;

    random_bytes(seed, sizeof(seed));
    map_seed(seed);
    memcpy(&json_seed, seed, sizeof(json_seed));
    json_object_seed(json_seed | 1); /* else jansson reads a file for it; 0 would mean that, too */
    ret->terminal = terminal_look();
    TRY(self_path_find(ret_self_path));
    ret->self_path = *ret_self_path;
    return NULL;
}

int program_print(const struct cli *c, const char *text)
{
    return fputs(text, c->out) < 0 || fflush(c->out) != 0 ? EXIT_FAILED : EXIT_OK;
}

int program_run(struct cli *c, const struct command *command, size_t n, const char *const *words)
{
    AUTO_FREE struct invocation *in = mem_alloc(sizeof(*in));
    AUTO(err_freep) struct err *e = NULL;
    AUTO_FREE char *help = NULL;
    int code;

    in->command = command;
    c->in = in;
    e = invocation_parse(command, n, words, in);
    if (e) {
        c->exit_code = EXIT_USAGE;
        c->has_code = true;
        code = cli_complain(c, e);
    } else if (in->wants_help || in->wants_short) {
        help = help_format_command(command, !in->wants_help);
        code = program_print(c, help);
    } else {
        e = command->run(c);
        code = e ? cli_complain(c, e) : c->exit_code;
    }
    invocation_done(in);
    c->in = NULL;
    return code;
}

const struct command *program_command(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    const struct command *command = path ? command_find(slash ? slash + 1 : path) : NULL;

    return command && command->reads_words ? command : NULL;
}
