#include "base/mem.h"
#include "cli/commands.h"
#include "cli/output.h"

static struct err *help_run(struct cli *c)
{
    const struct command *command;
    AUTO_FREE char *text = NULL;

    if (flag_switch(c->in, "markdown")) {
        text = help_format_markdown();
    } else if (c->in->arguments.n == 0) {
        text = help_format();
    } else {
        command = command_find(c->in->arguments.at[0]);
        if (!command)
            return cli_usage(c, "there is no command \"%s\"", c->in->arguments.at[0]);
        text = help_format_command(command, false);
    }
    return output_write(c, str_of(text));
}

static const struct flag help_flags[] = {
    {.name = "markdown", .type = FLAG_SWITCH, .doc = "all of it, as docs/commands.md"},
    {0},
};

const struct command command_help = {
    .name = "help",
    .arguments = "[COMMAND]",
    .summary = "tell what commands there are, or more about one",
    .examples = {{"help", "lists the commands"}, {"help run", "tells all about one"}, {0}},
    .flags = help_flags,
    .n_max = 1,
    .run = help_run,
};
