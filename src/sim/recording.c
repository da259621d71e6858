/* recording.c - playing a recording and comparing its decisions */

#include "sim/recording.h"

#include "base/mem.h"
#include "engine/record/record.h"

enum {
    SHOWN_MAX = 2000 /* bytes of a differing decision */
};

struct player {
    const char *file;
    uint64_t line;
    struct arena *arena;
    struct mete_engine *engine;
    struct buf now; /* the last cycle's decisions; "": none, or already compared */
    uint64_t cycle_line;
    struct recording_report report;
};

static char *shown(struct str text)
{
    return mem_strndup(text.at ? text.at : "", text.size < SHOWN_MAX ? text.size : SHOWN_MAX);
}

static void note_difference(struct player *p, uint64_t line, struct str then, struct str now)
{
    struct recording_difference *first = &p->report.first;

    p->report.differing++;
    if (first->line != 0)
        return;
    first->line = line;
    first->then = shown(then);
    first->now = shown(now);
}

/* Compares the last cycle's decisions with the recorded `then`. A cycle without decisions has no
 * line. */
static void player_compare(struct player *p, struct str then)
{
    if (p->now.size != then.size || (then.size > 0 && memcmp(p->now.at, then.at, then.size) != 0))
        note_difference(p, p->cycle_line, then, (struct str){p->now.at, p->now.size});
    buf_clear(&p->now);
}

static void note_cycle(struct player *p, const struct record_cycle *cycle,
                       const struct mete_decisions *d)
{
    p->report.cycles++;
    p->report.last_ns = cycle->now_ns;
    if (p->report.first_ns == 0)
        p->report.first_ns = cycle->now_ns;
    p->cycle_line = p->line;
    if (d->n_placements > 0 || d->n_evictions > 0 || d->n_resumes > 0 || d->is_cut) {
        record_line_format(&p->now, RECORD_DECIDED, d);
        p->now.size--; /* drops the newline */
    }
}

static struct err *player_begin(struct player *p, const struct mete_options *options)
{
    if (p->engine)
        return err_new(ERR_INVALID, "a second line 'engine'");
    p->engine = mete_engine_new(options);
    if (!p->engine)
        return err_new(ERR_INVALID, "there is no policy '%s'", options->policy);
    return NULL;
}

static struct err *play_line(struct player *p, struct str line)
{
    struct mete_decisions d = {0};
    enum record_call call = RECORD_CALLS;
    void *args = NULL;

    arena_reset(p->arena);
    TRY(record_line_parse(p->arena, line, &call, &args));
    p->report.calls += call != RECORD_DECIDED;
    if (call == RECORD_ENGINE)
        return player_begin(p, args);
    if (!p->engine)
        return err_new(ERR_INVALID, "want the line 'engine' first");
    if (call == RECORD_DECIDED) {
        const struct mete_decisions *then = args;

        p->report.decisions += then->n_placements + then->n_evictions + then->n_resumes;
        player_compare(p, line);
        return NULL;
    }
    player_compare(p, (struct str){0});
    if (record_apply(p->engine, call, args, &d) != METE_OK)
        note_difference(p, p->line, line, str_of(mete_last_error(p->engine)));
    if (call == RECORD_CYCLE)
        note_cycle(p, args, &d);
    return NULL;
}

static struct err *player_play(struct player *p, struct str text)
{
    while (text.at) {
        struct str line = str_cut(&text, '\n');
        struct err *e;

        p->line++;
        if (line.size == 0 || *line.at == '#')
            continue;
        if (line.size > RECORD_LINE_MAX)
            return err_new(ERR_INVALID, "%s:%llu: a line over %d MiB", p->file,
                           (unsigned long long)p->line, RECORD_LINE_MAX >> 20);
        e = play_line(p, line);
        if (e)
            return err_wrap(e, "%s:%llu", p->file, (unsigned long long)p->line);
    }
    if (!p->engine)
        return err_new(ERR_INVALID, "%s: no recording: want the line 'engine' first", p->file);
    player_compare(p, (struct str){0});
    return NULL;
}

void recording_report_done(struct recording_report *r)
{
    free(r->first.then);
    free(r->first.now);
    *r = (struct recording_report){0};
}

struct err *recording_play(const char *file, struct str text, struct recording_report *ret,
                           struct mete_engine **ret_engine)
{
    struct player p = {.file = file, .arena = arena_new(), .now = {.cap = RECORD_LINE_MAX}};
    struct err *e = player_play(&p, text);

    arena_free(p.arena);
    buf_done(&p.now);
    if (e || !ret_engine)
        mete_engine_free(p.engine);
    else
        *ret_engine = p.engine;
    if (e)
        recording_report_done(&p.report);
    else
        *ret = p.report;
    return e;
}
