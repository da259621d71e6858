/* sim_record.c - mete sim record and replay: the decisions of a running Mete, recorded and replayed
 */

#include <inttypes.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "cli/session.h"
#include "cli/sim/sim.h"
#include "cli/sim/sim_live.h"
#include "cli/sim/stopwatch.h"
#include "cli/term/output.h"
#include "sim/recording.h"
#include "sim/trace_file.h"

enum {
    TRIES = 5, /* the server may fold pieces between two requests */
    FILE_MODE = 0600
};

static struct err *get_piece(struct session *s, int64_t piece, int64_t folded, struct buf *out)
{
    AUTO_FREE char *path =
        path_format("/apis/mete.dev/v1/recording?piece=%" PRId64 "&folded=%" PRId64, piece, folded);
    AUTO(json_freep) json_t *answer = NULL;
    const char *text;

    TRY(session_get(s, path, &answer));
    text = json_text(answer, "text");
    if (!text)
        return err_new(ERR_INTERNAL, "%s: the answer has no text", path);
    buf_add_text(out, text);
    return NULL;
}

static struct err *get_pieces(struct session *s, struct buf *out)
{
    AUTO(json_freep) json_t *answer = NULL;
    const char *state;
    int64_t folded;
    int64_t last;

    TRY(session_get(s, "/apis/mete.dev/v1/recording", &answer));
    state = json_text(answer, "state");
    folded = json_int(answer, "folded", 0);
    last = json_int(answer, "last", -1);
    buf_clear(out);
    if (state && *state)
        buf_printf(out, "# from a state:\n%s# and then:\n", state);
    for (int64_t i = json_int(answer, "first", 0); i <= last; i++)
        TRY(get_piece(s, i, folded, out));
    return NULL;
}

struct err *sim_recording_get(struct cli *c, struct buf *ret)
{
    AUTO(session_freep) struct session *s = NULL;
    struct err *e = NULL;

    TRY(session_open(c, &s));
    for (int i = 0; i < TRIES; i++) {
        err_free(e);
        e = get_pieces(s, ret);
        if (!e || err_code(e) != ERR_EXPIRED)
            break;
    }
    if (!e && ret->overflow)
        return err_new(ERR_TOO_LARGE, "the recording is over %zu MiB", ret->cap >> 20);
    return e;
}

static const struct sim_column columns[] = {
    {"calls", "#CALLS"}, {"cycles", "#CYCLES"},       {"decisions", "#DECISIONS"}, {"from", "FROM"},
    {"to", "TO"},        {"differing", "#DIFFERING"}, {"wall_s", "#TOOK"},
};

static json_t *stamp_of(int64_t ns)
{
    char text[STAMP_TEXT_SIZE];

    if (ns <= 0)
        return json_null();
    stamp_format(ns, text);
    return json_string(text);
}

static json_t *record_row(const struct recording_report *r, double wall_s)
{
    json_t *row = json_object();

    json_put_int(row, "calls", (int64_t)r->calls);
    json_put_int(row, "cycles", (int64_t)r->cycles);
    json_put_int(row, "decisions", (int64_t)r->decisions);
    json_put(row, "from", stamp_of(r->first_ns));
    json_put(row, "to", stamp_of(r->last_ns));
    json_put_int(row, "differing", (int64_t)r->differing);
    json_put(row, "wall_s", json_real(wall_s));
    return row;
}

/* Reports the result of a replay; a difference is an error. */
static void replay_tell(struct cli *c, const char *file, const struct recording_report *r)
{
    if (r->differing == 0) {
        cli_say(c, "%s: the replay decides the same, to the byte", file);
        return;
    }
    cli_say(c,
            "%s: a replay differs in %" PRIu64 " of %" PRIu64 " cycles, first in line %" PRIu64 ":",
            file, r->differing, r->cycles, r->first.line);
    cli_say(c, "  then: %s", *r->first.then ? r->first.then : "nothing");
    cli_say(c, "  now:  %s", *r->first.now ? r->first.now : "nothing");
    c->exit_code = EXIT_FAILED;
}

static struct err *sim_record_replay(struct cli *c, const char *file, struct str text)
{
    const int64_t began_ns = stopwatch_ns();
    AUTO(json_freep) json_t *rows = json_array();
    struct recording_report r = {0};
    struct err *e;

    TRY(recording_play(file, text, &r, NULL));
    (void)json_array_append_new(
        rows, record_row(&r, (double)(stopwatch_ns() - began_ns) / (double)NS_PER_SEC));
    e = sim_print(c, columns, COUNT(columns), rows);
    if (!e)
        replay_tell(c, file, &r);
    recording_report_done(&r);
    return e;
}

struct err *sim_record(struct cli *c)
{
    const char *path = c->in->arguments.n > 1 ? c->in->arguments.at[1] : NULL;
    AUTO(buf_done) struct buf text = {.cap = TRACE_FILE_MAX};

    if (!path)
        return cli_usage(c, "sim record needs the FILE to write");
    TRY(sim_recording_get(c, &text));
    TRY(file_write(path, FILE_MODE, (struct str){text.at, text.size}));
    return sim_record_replay(c, path, (struct str){text.at, text.size});
}

struct err *sim_replay(struct cli *c)
{
    const char *path = c->in->arguments.n > 1 ? c->in->arguments.at[1] : NULL;
    AUTO(buf_done) struct buf text = {0};

    if (!path)
        return cli_usage(c, "sim replay needs the FILE to replay");
    TRY(trace_file_read(path, &text));
    return sim_record_replay(c, path, (struct str){text.at, text.size});
}
