/* help_command.c - mete help: help texts, docs/commands.md and manual pages */

#include "base/file.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/term/output.h"

/* Writes mete.1 and a page for each command, for packages. */
static struct err *write_manual(const char *dir)
{
    AUTO_FREE char *all_path = mem_format("%s/mete.1", dir);
    AUTO_FREE char *all = man_format(NULL);

    TRY(dir_make(dir, 0755));
    TRY(file_write(all_path, 0644, str_of(all)));
    for (size_t i = 0; commands[i]; i++) {
        AUTO_FREE char *path = mem_format("%s/mete-%s.1", dir, commands[i]->name);
        AUTO_FREE char *page = man_format(commands[i]);

        if (!commands[i]->is_hidden)
            TRY(file_write(path, 0644, str_of(page)));
    }
    return NULL;
}

static struct err *help_run(struct cli *c)
{
    const struct command *command;
    AUTO_FREE char *text = NULL;

    if (flag_switch(c->in, "markdown")) {
        text = help_format_markdown();
    } else if (flag_text(c->in, "man-dir")) {
        return write_manual(flag_text(c->in, "man-dir"));
    } else if (c->in->arguments.n == 0) {
        text = help_format();
    } else {
        command = command_find(c->in->arguments.at[0]);
        if (!command) {
            cli_try(c, "mete --help   lists the commands");
            return cli_usage(c, "there is no command \"%s\"", c->in->arguments.at[0]);
        }
        text = help_format_command(command, false);
    }
    return output_write(c, str_of(text));
}

static const struct flag help_flags[] = {
    {.name = "markdown", .type = FLAG_SWITCH, .doc = "print all help as docs/commands.md"},
    {.name = "man-dir",
     .value = "DIR",
     .type = FLAG_TEXT,
     .doc = "write all help as manual pages to DIR"},
    {0},
};

const struct command command_help = {
    .name = "help",
    .arguments = "[COMMAND]",
    .summary = "list the commands, or explain one",
    .examples = {{"help", "lists the commands"}, {"help run", "explains one command"}, {0}},
    .flags = help_flags,
    .takes = TAKES_COMMANDS,
    .n_max = 1,
    .run = help_run,
};
