/* main.c - main(): one binary with several roles: user commands, and the processes that `mete up`
 * starts */

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/program.h"
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

static bool is_help(const char *word)
{
    return text_equal(word, "--help") || text_equal(word, "-h") || text_equal(word, "help");
}

static int main_dispatch(struct cli *c, int argc, char **argv)
{
    const struct command *command = program_command(argv[0]);
    AUTO_FREE char *help = NULL;

    if (command)
        return program_run(c, command, (size_t)argc - 1, (const char *const *)argv + 1);
    if (argc < 2 || (is_help(argv[1]) && argc == 2)) {
        help = help_format();
        return program_print(c, help) || argc < 2 ? EXIT_USAGE : EXIT_OK;
    }
    command = command_find(text_equal(argv[1], "--version") ? "version" : argv[1]);
    if (!command)
        return say_unknown(c, argv[1]);
    return program_run(c, command, (size_t)argc - 2, (const char *const *)argv + 2);
}

int main(int argc, char **argv)
{
    struct cli c = {.out = stdout, .err = stderr};
    AUTO_FREE char *self_path = NULL;
    AUTO(err_freep) struct err *e = NULL;
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
    e = program_begin(&c, &self_path);
    code = e ? cli_complain(&c, e) : main_dispatch(&c, argc, argv);
    free(c.hint);
    return code;
}
