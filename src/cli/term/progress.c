/* progress.c - progress of a job on stderr */

#include "cli/term/progress.h"

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/job/jobs.h"
#include "cli/term/text_escape.h"

#define REPEAT_NS (30 * NS_PER_SEC)

struct progress {
    struct cli *cli;
    struct loop *loop;
    struct loop_timer *timer;
    char *name;
    char *phase;
    char *detail;
    int64_t since_ns;
    bool is_rewritten; /* the terminal's cursor is in the progress line */
    bool is_quiet;
};

static bool is_live(const struct progress *p)
{
    return p->cli->terminal.err && !p->cli->terminal.is_plain;
}

static void show_live(struct progress *p)
{
    char elapsed[STAMP_TEXT_SIZE];
    AUTO_FREE char *line = NULL;
    AUTO_FREE char *clean = NULL;

    elapsed_format(loop_now_ns(p->loop) - p->since_ns, elapsed);
    line = mem_format("%s  %s %s%s%s", p->name, p->phase, elapsed, p->detail[0] ? "  " : "",
                      p->detail);
    clean = text_escape(str_of(line), TEXT_ESCAPE_LINE);
    if (p->cli->terminal.columns > 1)
        clean[text_escape_fit(clean, p->cli->terminal.columns - 1)] = '\0';
    (void)fprintf(p->cli->err, "\r\033[K%s", clean);
    (void)fflush(p->cli->err);
    p->is_rewritten = true;
    loop_timer_set(p->timer, NS_PER_SEC);
}

static void show_line(const struct progress *p, bool is_again)
{
    cli_say(p->cli, "%s  %s%s%s%s", p->name, is_again ? "still " : "", p->phase,
            p->detail[0] ? ": " : "", p->detail);
    loop_timer_set(p->timer, REPEAT_NS);
}

static void progress_on_timer(void *arg)
{
    struct progress *p = arg;

    if (p->is_quiet || !p->phase)
        return;
    if (is_live(p))
        show_live(p);
    else
        show_line(p, true);
}

struct progress *progress_new(struct cli *c, struct loop *l, const char *name)
{
    struct progress *p = mem_alloc(sizeof(*p));

    p->cli = c;
    p->loop = l;
    p->name = mem_strdup(name);
    p->timer = loop_timer_new(l, progress_on_timer, p);
    return p;
}

void progress_free(struct progress *p)
{
    if (!p)
        return;
    progress_quiet(p);
    loop_timer_free(p->timer);
    free(p->name);
    free(p->phase);
    free(p->detail);
    free(p);
}

void progress_phase(struct progress *p, const char *phase, const char *detail)
{
    bool is_new = !text_equal(p->phase, phase);

    if (p->is_quiet || (!is_new && text_equal(p->detail, detail)))
        return;
    if (is_new)
        p->since_ns = loop_now_ns(p->loop);
    free(p->phase);
    free(p->detail);
    p->phase = mem_strdup(phase);
    p->detail = mem_strdup(detail);
    if (is_live(p))
        show_live(p);
    else
        show_line(p, false);
}

void progress_quiet(struct progress *p)
{
    if (p->is_rewritten)
        (void)fputc('\n', p->cli->err);
    p->is_rewritten = false;
    p->is_quiet = true;
    loop_timer_stop(p->timer);
}
