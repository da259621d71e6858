/* main.c - main(): one binary with several roles: user commands, and the processes that `mete up`
 * starts */

#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/term/terminal.h"
#include "gpu/gpu_watch.h"
#include "node/image/image_roles.h"
#include "node/runtime/launch_helper.h"

static int say_unknown(struct cli *c, const char *word)
{
    const char *near = command_nearest(word);
    AUTO(err_freep) struct err *e = NULL;

    if (command_is_planned(word)) {
        e = cli_usage(c, "\"%s\" is not available yet", word);
        cli_try(c, "mete --help   lists the commands");
    } else if (near) {
        e = cli_usage(c, "there is no command \"%s\": did you mean \"%s\"?", word, near);
        cli_try(c, "mete %s --help", near);
    } else {
        e = cli_usage(c, "there is no command \"%s\"", word);
    }
    return cli_complain(c, e);
}

static int print_text(const struct cli *c, const char *text)
{
    return fputs(text, c->out) < 0 || fflush(c->out) != 0 ? EXIT_FAILED : EXIT_OK;
}

static int run_command(struct cli *c, const struct command *command, size_t n,
                       const char *const *words)
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
        code = print_text(c, help);
    } else {
        e = command->run(c);
        code = e ? cli_complain(c, e) : c->exit_code;
    }
    invocation_done(in);
    c->in = NULL;
    return code;
}

static bool is_help(const char *word)
{
    return text_equal(word, "--help") || text_equal(word, "-h") || text_equal(word, "help");
}

/* The command of a program's name, such as /usr/bin/sbatch; NULL: another name. */
static const struct command *command_of_program(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    const struct command *command = path ? command_find(slash ? slash + 1 : path) : NULL;

    return command && command->reads_words ? command : NULL;
}

static int main_dispatch(struct cli *c, int argc, char **argv)
{
    const struct command *command = command_of_program(argv[0]);
    AUTO_FREE char *help = NULL;

    if (command)
        return run_command(c, command, (size_t)argc - 1, (const char *const *)argv + 1);
    if (argc < 2 || (is_help(argv[1]) && argc == 2)) {
        help = help_format();
        return print_text(c, help) || argc < 2 ? EXIT_USAGE : EXIT_OK;
    }
    command = command_find(text_equal(argv[1], "--version") ? "version" : argv[1]);
    if (!command)
        return say_unknown(c, argv[1]);
    return run_command(c, command, (size_t)argc - 2, (const char *const *)argv + 2);
}

int main(int argc, char **argv)
{
    struct cli c = {.out = stdout, .err = stderr};
    AUTO_FREE char *self_path = NULL;
    AUTO(err_freep) struct err *e = NULL;
    uint8_t seed[16];
    int code;

    if (argc > 1 && text_equal(argv[1], "gpu-helper"))
        return gpu_helper_main(argc - 1, argv + 1);
    if (argc > 1 && text_equal(argv[1], "image-unpack"))
        return image_unpack_main(argc - 1, argv + 1);
    if (argc > 1 && text_equal(argv[1], "image-fetch"))
        return image_fetch_main(argc - 1, argv + 1);
    if (argc > 1 && text_equal(argv[1], LAUNCH_ROLE))
        return launch_helper_main(argc - 1, argv + 1);
    if (argc > 1 && text_equal(argv[1], LAUNCH_EXEC_ROLE))
        return launch_exec_main(argc - 1, argv + 1);
    random_bytes(seed, sizeof(seed));
    map_seed(seed);
    c.terminal = terminal_look();
    e = self_path_find(&self_path);
    c.self_path = self_path;
    code = e ? cli_complain(&c, e) : main_dispatch(&c, argc, argv);
    free(c.hint);
    return code;
}
