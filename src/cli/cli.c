/* cli.c - what all commands use: errors with hints, messages to the user */

#include "cli/cli.h"

#include "base/mem.h"
#include "cli/term/text_escape.h"

struct err *cli_usage(struct cli *c, const char *fmt, ...)
{
    AUTO_FREE char *message = NULL;
    va_list ap;

    va_start(ap, fmt);
    message = mem_vformat(fmt, ap);
    va_end(ap);
    c->exit_code = EXIT_USAGE;
    c->has_code = true;
    return err_new(ERR_BAD_REQUEST, "%s", message);
}

void cli_try(struct cli *c, const char *fmt, ...)
{
    va_list ap;

    if (c->hint)
        return;
    va_start(ap, fmt);
    c->hint = mem_vformat(fmt, ap);
    va_end(ap);
}

static int exit_code_of(const struct err *e)
{
    switch (err_code(e)) {
    case ERR_NOT_FOUND:
        return EXIT_NOT_FOUND;
    case ERR_UNAUTHENTICATED:
    case ERR_FORBIDDEN:
        return EXIT_DENIED;
    case ERR_OVER_QUOTA:
    case ERR_EXISTS:
    case ERR_CONFLICT:
        return EXIT_CONFLICT;
    case ERR_UNAVAILABLE:
    case ERR_PENDING:
        return EXIT_UNREACHABLE;
    case ERR_TIMEOUT:
        return EXIT_TIMED_OUT;
    case ERR_BAD_REQUEST:
    case ERR_INVALID:
    case ERR_NOT_ACCEPTABLE:
    case ERR_EXPIRED:
    case ERR_TOO_LARGE:
    case ERR_BUSY:
    case ERR_INTERNAL:
    case ERR_UNIMPLEMENTED:
    case ERR_NO_SPACE:
        return EXIT_FAILED;
    }
    return EXIT_FAILED;
}

/* Returns the command that lists the objects that `command` takes by name; NULL: it takes none. */
static const char *listing_of(const struct command *command)
{
    switch (command ? command->takes : TAKES_NOTHING) {
    case TAKES_JOBS:
    case TAKES_JOB:
    case TAKES_PLACES:
    case TAKES_JOBS_QUEUE:
        return "mete ps -a   lists the jobs";
    case TAKES_NODES:
        return "mete nodes   lists the nodes";
    case TAKES_QUEUES:
        return "mete queues   lists the queues";
    case TAKES_NOTHING:
        return NULL;
    case TAKES_KINDS:
    case TAKES_COMMANDS:
    case TAKES_FILES:
        break;
    }
    return "mete get KIND -A   lists the objects";
}

static const char *state_of(const struct command *command)
{
    if (command && (command->takes == TAKES_JOB || command->takes == TAKES_JOBS ||
                    command->takes == TAKES_JOBS_QUEUE))
        return "mete show JOB   shows its state";
    return "mete get KIND NAME -o yaml   shows the object";
}

/* Causes that a message names more exactly than its error code; the first match counts. */
struct told_cause {
    int code;
    const char *words;
    const char *hint;
};

static const struct told_cause told_causes[] = {
    {EXIT_DENIED, "read-only file system",
     "findmnt -T PATH   shows the mount; or name another path"},
    {EXIT_DENIED, "permission denied",
     "sudo mete ...   or another path: the file is not this user's"},
    {EXIT_DENIED, "operation not permitted", "sudo mete ...   the kernel requires root"},
    {EXIT_CONFLICT, "file exists", "remove it, or name another path"},
    {EXIT_UNREACHABLE, "permission denied", "sudo mete ...   the socket is not this user's"},
    {EXIT_UNREACHABLE, "connection refused",
     "sudo mete up   no server listens now; mete doctor looks for the cause"},
    {EXIT_UNREACHABLE, "certificate",
     "a kubeconfig of this server: `mete up` writes a new DIR/kubeconfig when it makes "
     "certificates"},
    {EXIT_UNREACHABLE, "resolve host", "correct the server's name in the kubeconfig"},
};

static const char *told_hint(int code, const char *message)
{
    for (size_t i = 0; i < COUNT(told_causes); i++)
        if (told_causes[i].code == code && strcasestr(message, told_causes[i].words))
            return told_causes[i].hint;
    return NULL;
}

/* Returns the line to try if the command gave none; NULL: none. */
static char *default_hint(const struct cli *c, int code, const char *message)
{
    const char *name = c->in ? c->in->command->name : NULL;
    const char *told = told_hint(code, message);
    const char *listing = listing_of(c->in ? c->in->command : NULL);

    if (told)
        return mem_strdup(told);
    switch (code) {
    case EXIT_USAGE:
        return name ? mem_format("mete %s --help", name) : mem_strdup("mete --help");
    case EXIT_NOT_FOUND:
        if (text_ends_with(message, "no such file or directory"))
            return NULL;
        if (text_starts_with(message, "there is no node "))
            return mem_strdup("mete nodes   lists the nodes");
        return listing ? mem_strdup(listing) : NULL;
    case EXIT_DENIED:
        return mem_strdup("sudo mete ...   or ask an administrator: docs/users.md");
    case EXIT_UNREACHABLE:
        return mem_strdup("sudo mete up   or name the server: --data DIR, --kubeconfig FILE");
    case EXIT_TIMED_OUT:
        return mem_strdup("the same command again: the server may still have done the change");
    case EXIT_CONFLICT:
        return mem_strdup(state_of(c->in ? c->in->command : NULL));
    default:
        return NULL;
    }
}

int cli_complain(struct cli *c, const struct err *e)
{
    int code = c->has_code ? c->exit_code : exit_code_of(e);
    AUTO_FREE char *message = text_escape(str_of(err_message(e)), TEXT_ESCAPE_LINES);
    AUTO_FREE char *other = NULL;
    AUTO_FREE char *hint = NULL;

    if (!c->hint)
        other = err_code(e) == ERR_NO_SPACE ? mem_strdup("df -h   shows which disk is full")
                                            : default_hint(c, code, message);
    if (c->hint || other)
        hint = text_escape(str_of(c->hint ? c->hint : other), TEXT_ESCAPE_LINE);
    (void)fprintf(c->err, "mete: %s\n", message);
    if (hint)
        (void)fprintf(c->err, "  try: %s\n", hint);
    if (c->in && c->in->command->failure_code)
        return c->in->command->failure_code;
    return code;
}

void cli_say(const struct cli *c, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *clean = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = mem_vformat(fmt, ap);
    va_end(ap);
    clean = text_escape(str_of(text), TEXT_ESCAPE_LINES);
    (void)fprintf(c->err, "%s\n", clean);
}
