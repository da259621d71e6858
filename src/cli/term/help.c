/* help.c - help texts and docs/commands.md from the table of commands */

#include "cli/term/command.h"

enum {
    FLAG_COLUMN = 28
};

static void add_flag(void *arg, const struct flag *f)
{
    struct buf *b = arg;
    size_t start = b->size;

    if (f->is_hidden)
        return;
    buf_add_text(b, "  ");
    if (f->letter)
        buf_printf(b, "-%c, ", f->letter);
    buf_printf(b, "--%s", f->name);
    if (f->type != FLAG_SWITCH)
        buf_printf(b, " %s", f->value);
    if (b->size - start >= FLAG_COLUMN)
        buf_printf(b, "\n%*s", FLAG_COLUMN, "");
    else
        buf_printf(b, "%*s", FLAG_COLUMN - (int)(b->size - start), "");
    buf_printf(b, "%s\n", f->doc);
}

static void add_usage(struct buf *b, const struct command *c)
{
    buf_printf(b, "mete %s [FLAGS]%s%s", c->name, c->arguments ? " " : "",
               c->arguments ? c->arguments : "");
}

char *help_format_command(const struct command *c, bool is_short)
{
    struct buf b = {0};

    buf_printf(&b, "mete %s: %s\n\n", c->name, c->summary);
    for (size_t i = 0; !is_short && c->examples[i].line; i++)
        buf_printf(&b, "  $ mete %s\n      %s\n", c->examples[i].line, c->examples[i].does);
    buf_add_text(&b, is_short ? "usage: " : "\nusage: ");
    add_usage(&b, c);
    buf_add_text(&b, "\n\n");
    if (!is_short && c->doc)
        buf_printf(&b, "%s\n\n", c->doc);
    command_each_flag(c, add_flag, &b);
    return buf_steal(&b);
}

char *help_format(void)
{
    struct buf b = {0};

    buf_add_text(&b, "mete deals out GPUs to containers.\n\n"
                     "  $ sudo mete up\n      starts Mete on this machine\n"
                     "  $ mete run --gpus 1 -- nvidia-smi\n      runs a command with a GPU, now or "
                     "when one is free\n\n"
                     "commands:\n");
    for (size_t i = 0; commands[i]; i++)
        if (!commands[i]->is_hidden)
            buf_printf(&b, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    buf_add_text(&b, "\nmete COMMAND --help explains one command.\n");
    return buf_steal(&b);
}

static void add_flag_row(void *arg, const struct flag *f)
{
    struct buf *b = arg;

    if (f->is_hidden)
        return;
    buf_add_text(b, "| `");
    if (f->letter)
        buf_printf(b, "-%c`, `", f->letter);
    buf_printf(b, "--%s", f->name);
    if (f->type != FLAG_SWITCH)
        buf_printf(b, " %s", f->value);
    buf_printf(b, "` | %s |\n", f->doc);
}

static void add_section(struct buf *b, const struct command *c)
{
    buf_printf(b, "## mete %s\n\n%c%s.\n\n```\n", c->name, c->summary[0], c->summary + 1);
    add_usage(b, c);
    buf_add_text(b, "\n```\n\n");
    if (c->doc)
        buf_printf(b, "%s\n\n", c->doc);
    for (size_t i = 0; c->examples[i].line; i++)
        buf_printf(b, "- `mete %s`: %s\n", c->examples[i].line, c->examples[i].does);
    buf_add_text(b, "\n| flag | does |\n| --- | --- |\n");
    command_each_flag(c, add_flag_row, b);
    buf_add_char(b, '\n');
}

static const char exit_codes[] =
    "## Exit codes\n\n"
    "| code | means |\n| --- | --- |\n"
    "| 0 | done |\n| 1 | failed |\n| 2 | the command line is wrong |\n| 3 | not found |\n"
    "| 4 | denied |\n| 5 | conflict, or no room in a quota |\n| 6 | the server cannot be reached "
    "|\n"
    "| 7 | timed out |\n\n"
    "`mete run` ends with the job's own code; its own failures are 125, and 130 means that it left "
    "a job "
    "running.\n";

char *help_format_markdown(void)
{
    struct buf b = {0};

    buf_add_text(&b, "# Commands\n\nThis page is made from the program's own table by `mete help "
                     "--markdown`.\n\n");
    for (size_t i = 0; commands[i]; i++)
        if (!commands[i]->is_hidden)
            add_section(&b, commands[i]);
    buf_add_text(&b, exit_codes);
    return buf_steal(&b);
}
