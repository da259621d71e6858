/* man.c - manual pages from the table of commands, in the macros of man(7) */

#include "base/mem.h"
#include "base/version.h"
#include "cli/term/command.h"

/* Adds text that roff prints unchanged. */
static void man_add_text(struct buf *b, const char *text)
{
    bool is_begin = true;

    for (const char *at = text; *at; at++) {
        if (is_begin && (*at == '.' || *at == '\''))
            buf_add_text(b, "\\&");
        if (*at == '\\')
            buf_add_text(b, "\\e");
        else if (*at == '-')
            buf_add_text(b, "\\-");
        else
            buf_add_char(b, *at);
        is_begin = *at == '\n';
    }
}

/* An empty line separates paragraphs. */
static void add_paragraphs(struct buf *b, const char *text)
{
    for (struct str rest = str_of(text); rest.at;) {
        struct str line = str_cut(&rest, '\n');
        AUTO_FREE char *copy = mem_strndup(line.at, line.size);

        if (line.size == 0) {
            buf_add_text(b, ".PP\n");
            continue;
        }
        man_add_text(b, copy);
        buf_add_char(b, '\n');
    }
}

static void add_heading(struct buf *b, const char *name, const char *summary)
{
    buf_printf(b, ".TH \"%s\" \"1\" \"\" \"mete %s\" \"Mete\"\n.SH NAME\n", name, METE_VERSION);
    man_add_text(b, name);
    buf_add_text(b, " \\- ");
    man_add_text(b, summary);
    buf_add_char(b, '\n');
}

static void add_flag(void *arg, const struct flag *f)
{
    struct buf *b = arg;

    if (f->is_hidden)
        return;
    buf_add_text(b, ".TP\n");
    if (f->letter)
        buf_printf(b, "\\fB\\-%c\\fR, ", f->letter);
    buf_add_text(b, "\\fB\\-\\-");
    man_add_text(b, f->name);
    buf_add_text(b, "\\fR");
    if (f->type != FLAG_SWITCH) {
        buf_add_text(b, " \\fI");
        man_add_text(b, f->value);
        buf_add_text(b, "\\fR");
    }
    buf_add_char(b, '\n');
    man_add_text(b, f->doc);
    buf_add_char(b, '\n');
}

static void add_examples(struct buf *b, const struct command *c)
{
    buf_add_text(b, ".SH EXAMPLES\n");
    for (size_t i = 0; c->examples[i].line; i++) {
        buf_add_text(b, ".TP\n\\fBmete ");
        man_add_text(b, c->examples[i].line);
        buf_add_text(b, "\\fR\n");
        man_add_text(b, c->examples[i].does);
        buf_add_char(b, '\n');
    }
}

static void add_exit_codes(struct buf *b)
{
    buf_add_text(b, ".SH EXIT STATUS\n"
                    "0 done, 1 failed, 2 the command line is wrong, 3 not found, 4 denied, 5 "
                    "conflict or no room in a quota,\n"
                    "6 the server cannot be reached, 7 timed out.\n"
                    "\\fBmete run\\fR passes the job's own code on; its own failures are 125.\n");
}

static char *format_command(const struct command *c)
{
    AUTO_FREE char *name = mem_format("mete-%s", c->name);
    struct buf b = {0};

    add_heading(&b, name, c->summary);
    buf_add_text(&b, ".SH SYNOPSIS\n\\fBmete ");
    man_add_text(&b, c->name);
    buf_add_text(&b, "\\fR [\\fIFLAGS\\fR]");
    if (c->arguments) {
        buf_add_char(&b, ' ');
        man_add_text(&b, c->arguments);
    }
    buf_add_char(&b, '\n');
    if (c->doc) {
        buf_add_text(&b, ".SH DESCRIPTION\n");
        add_paragraphs(&b, c->doc);
    }
    buf_add_text(&b, ".SH OPTIONS\n");
    command_each_flag(c, add_flag, &b);
    add_examples(&b, c);
    add_exit_codes(&b);
    buf_add_text(&b, ".SH SEE ALSO\n.BR mete (1)\n");
    return buf_steal(&b);
}

static char *format_all(void)
{
    struct buf b = {0};

    add_heading(&b, "mete", "deal out GPUs to containers");
    buf_add_text(&b, ".SH SYNOPSIS\n\\fBmete\\fR \\fICOMMAND\\fR [\\fIFLAGS\\fR] "
                     "[\\fIARGUMENTS\\fR]\n"
                     ".SH DESCRIPTION\n"
                     "Mete discovers the GPUs of a machine, queues jobs for them, runs these in "
                     "containers, and measures what\nbecame of it. \\fBmete up\\fR starts it; the "
                     "other commands speak with it, as kubectl does.\n.SH COMMANDS\n");
    for (size_t i = 0; commands[i]; i++) {
        if (commands[i]->is_hidden)
            continue;
        buf_printf(&b, ".TP\n\\fBmete\\-%s\\fR(1)\n", commands[i]->name);
        man_add_text(&b, commands[i]->summary);
        buf_add_char(&b, '\n');
    }
    buf_add_text(
        &b,
        ".SH ENVIRONMENT\n"
        ".TP\n\\fBMETE_DATA\\fR\nthe data directory of the server that is meant\n"
        ".TP\n\\fBMETE_KUBECONFIG\\fR, \\fBKUBECONFIG\\fR\nkubeconfig files that name it instead, "
        "joined by colons: the first before METE_DATA, the second after it\n"
        ".TP\n\\fBNO_COLOR\\fR, \\fBMETE_PLAIN\\fR\nno colours; nothing is redrawn\n"
        ".SH FILES\n"
        ".TP\n\\fI/var/lib/mete\\fR\nthe data directory where none is named\n");
    add_exit_codes(&b);
    return buf_steal(&b);
}

char *man_format(const struct command *c)
{
    return c ? format_command(c) : format_all();
}
