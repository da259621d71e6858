/* recorder.c - the pieces of the record, and their folding */

#include "control/report/recorder.h"

#include <inttypes.h>
#include <zlib.h>

#include "base/log.h"
#include "base/num.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "engine/record/record_fold.h"

enum {
    PIECE_BYTES = 1 << 20,
    PIECES_MAX = 64,
    STATE_MAX = 16 << 20,
    FOLD_STEP = 64 << 10, /* bytes of text in one turn of the loop */
    TEXT_CAP = 4 << 20 | RECORD_LINE_MAX,
};

/* Keeps pieces for 10 s after a client listed them, so that it can still fetch them. */
#define ASKED_NS (INT64_C(10) * NS_PER_SEC)

struct piece {
    uint8_t *at; /* compressed */
    size_t size;
    size_t text_size;
};

struct recorder {
    struct loop *loop;
    struct recorder_options options;
    struct loop_timer *fold_timer;
    struct record_fold *state;
    struct buf text; /* of the last piece, not compressed yet */
    VEC(struct piece) pieces;
    uint64_t first;     /* number of pieces.at[0] */
    char *folding;      /* text of pieces.at[0] while it is being folded; else NULL */
    size_t folded_size; /* bytes of `folding` that are in the state */
    uint64_t folded;    /* number of folding steps so far */
    int64_t asked_ns;   /* time of the last request; 0: none */
    bool is_off;
};

struct report {
    struct recorder *recorder;
    struct loop_timer *timer;
    report_done_fn done;
    void *done_arg;
    bool has_piece;
    uint64_t piece;
    uint64_t folded;
};

static void drop_pieces(struct recorder *r)
{
    VEC_EACH (&r->pieces, p) {
        free(p->at);
    }
    vec_done(&r->pieces);
    free(r->folding);
    r->folding = NULL;
}

static void turn_off(struct recorder *r, const char *why)
{
    LOG(WARN, "the engine is no longer recorded", S("cause", why));
    r->is_off = true;
    loop_timer_stop(r->fold_timer);
    drop_pieces(r);
    buf_done(&r->text);
    record_fold_free(r->state);
    r->state = NULL;
}

static bool piece_expand(const struct piece *p, char **ret)
{
    char *text = mem_alloc(p->text_size + 1);
    uLongf size = p->text_size;

    if (uncompress((Bytef *)text, &size, p->at, p->size) != Z_OK || size != p->text_size) {
        free(text);
        return false;
    }
    *ret = text;
    return true;
}

/* Compresses the full last piece and begins a new one. */
static void close_piece(struct recorder *r)
{
    uLongf size = compressBound(r->text.size);
    uint8_t *at = mem_alloc(size);

    if (compress2(at, &size, (const Bytef *)r->text.at, r->text.size, Z_BEST_SPEED) != Z_OK) {
        free(at);
        turn_off(r, "the lines cannot be compressed");
        return;
    }
    vec_add(&r->pieces, (struct piece){mem_realloc(at, size), size, r->text.size});
    buf_done(&r->text);
    r->text = (struct buf){.cap = TEXT_CAP};
    if (r->pieces.n > r->options.pieces_max)
        loop_timer_set(r->fold_timer, 0);
}

void recorder_line(void *recorder, const char *text, size_t size)
{
    struct recorder *r = recorder;

    if (r->is_off)
        return;
    buf_add(&r->text, text, size);
    if (r->text.size >= r->options.piece_bytes)
        close_piece(r);
}

/* Drops the oldest piece, all of which is in the state. */
static void drop_oldest(struct recorder *r)
{
    free(r->folding);
    r->folding = NULL;
    r->folded_size = 0;
    free(r->pieces.at[0].at);
    vec_remove(&r->pieces, 0);
    r->first++;
}

/* Folds about FOLD_STEP bytes of lines of the oldest piece. */
static struct err *fold_some(struct recorder *r)
{
    const struct piece *p = &r->pieces.at[0];
    size_t end = r->folded_size + FOLD_STEP;

    if (!r->folding && !piece_expand(p, &r->folding))
        return err_new(ERR_INTERNAL, "a piece cannot be read back");
    r->folded++;
    while (r->folded_size < p->text_size && r->folded_size < end) {
        struct str rest = {r->folding + r->folded_size, p->text_size - r->folded_size};
        struct str line = str_cut(&rest, '\n');

        TRY(record_fold_line(r->state, line));
        r->folded_size += line.size + 1;
    }
    if (r->folded_size >= p->text_size)
        drop_oldest(r);
    if (record_fold_size(r->state) > STATE_MAX)
        return err_new(ERR_TOO_LARGE, "the cluster's state alone is over %d MiB", STATE_MAX >> 20);
    return NULL;
}

static void on_fold(void *arg)
{
    struct recorder *r = arg;
    const int64_t since_ns = loop_now_ns(r->loop) - r->asked_ns;
    AUTO(err_freep) struct err *e = NULL;

    if (r->asked_ns > 0 && since_ns < ASKED_NS && r->pieces.n < 2 * r->options.pieces_max) {
        loop_timer_set(r->fold_timer, ASKED_NS - since_ns);
        return;
    }
    e = fold_some(r);
    if (e)
        turn_off(r, err_message(e));
    else if (r->folding || r->pieces.n > r->options.pieces_max)
        loop_timer_set(r->fold_timer, 0);
}

struct recorder *recorder_new(struct loop *l, const struct recorder_options *o)
{
    struct recorder *r = mem_alloc(sizeof(*r));

    r->loop = l;
    r->options = (struct recorder_options){
        .piece_bytes = o->piece_bytes > 0 ? o->piece_bytes : PIECE_BYTES,
        .pieces_max = o->pieces_max > 0 ? o->pieces_max : PIECES_MAX,
    };
    r->fold_timer = loop_timer_new(l, on_fold, r);
    r->state = record_fold_new();
    r->text = (struct buf){.cap = TEXT_CAP};
    return r;
}

void recorder_free(struct recorder *r)
{
    if (!r)
        return;
    loop_timer_free(r->fold_timer);
    drop_pieces(r);
    buf_done(&r->text);
    record_fold_free(r->state);
    free(r);
}

/* ---- requests ---- */

static struct err *put_lines(json_t *o, const char *key, struct str text)
{
    json_t *value = json_stringn(text.at ? text.at : "", text.size);

    if (!value)
        return err_new(ERR_INTERNAL, "the recording is not valid UTF-8");
    json_put(o, key, value);
    return NULL;
}

static struct err *tell_state(struct recorder *r, json_t *answer)
{
    AUTO(buf_done) struct buf text = {.cap = TEXT_CAP};

    record_fold_format(r->state, &text);
    TRY(put_lines(answer, "state", (struct str){text.at, text.size}));
    json_put_int(answer, "folded", (int64_t)r->folded);
    json_put_int(answer, "first", (int64_t)r->first);
    json_put_int(answer, "last", (int64_t)(r->first + r->pieces.n));
    return NULL;
}

static struct err *tell_piece(struct recorder *r, const struct report *q, json_t *answer)
{
    const struct piece *p;
    AUTO_FREE char *text = NULL;
    size_t from = q->piece == r->first ? r->folded_size : 0;

    if (q->folded != r->folded || q->piece < r->first)
        return err_new(ERR_EXPIRED, "piece %" PRIu64 " was folded meanwhile: start again",
                       q->piece);
    if (q->piece > r->first + r->pieces.n)
        return err_new(ERR_BAD_REQUEST, "piece %" PRIu64 ": the last one is %" PRIu64, q->piece,
                       r->first + r->pieces.n);
    if (q->piece == r->first + r->pieces.n)
        return put_lines(answer, "text", (struct str){r->text.at, r->text.size});
    p = &r->pieces.at[q->piece - r->first];
    if (!piece_expand(p, &text))
        return err_new(ERR_INTERNAL, "a piece cannot be read back");
    return put_lines(answer, "text", (struct str){text + from, p->text_size - from});
}

static void free_report(struct report *q)
{
    loop_timer_free(q->timer);
    free(q);
}

static void on_report(void *arg)
{
    struct report *q = arg;
    struct recorder *r = q->recorder;
    AUTO(json_freep) json_t *answer = json_object();
    AUTO(err_freep) struct err *e = NULL;

    if (r->is_off)
        e = err_new(ERR_UNAVAILABLE, "the engine is no longer recorded: the cluster is too large, "
                                     "see the server's log");
    else if (q->has_piece)
        e = tell_piece(r, q, answer);
    else
        e = tell_state(r, answer);
    r->asked_ns = loop_now_ns(r->loop);
    q->done(q->done_arg, e, e ? NULL : answer);
    free_report(q);
}

static struct err *read_number(const struct report_question *from, const char *key, uint64_t *ret)
{
    const char *text = json_text(from->parameters, key);
    struct err *e = num_parse_uint64(str_of(text ? text : ""), UINT64_MAX, ret);

    return e ? err_wrap(e, "parameter %s", key) : NULL;
}

static struct err *read_question(const struct report_question *from, struct report *q)
{
    const char *key;
    json_t *value;

    if (from->namespaces)
        return err_new(ERR_FORBIDDEN, "a recording covers all namespaces: only users who may "
                                      "read all of them get it");
    json_object_foreach ((json_t *)(uintptr_t)from->parameters, key, value) {
        if (!text_equal(key, "piece") && !text_equal(key, "folded"))
            return err_new(ERR_BAD_REQUEST, "unknown parameter '%.64s': want piece and folded",
                           key);
        q->has_piece = true;
    }
    if (!q->has_piece)
        return NULL;
    TRY(read_number(from, "piece", &q->piece));
    return read_number(from, "folded", &q->folded);
}

struct err *recorder_report(void *recorder, const struct report_question *q, report_done_fn done,
                            void *done_arg, struct report **ret)
{
    struct recorder *r = recorder;
    struct report asked = {.recorder = r, .done = done, .done_arg = done_arg};
    struct report *report;

    TRY(read_question(q, &asked));
    report = mem_dup(&asked, sizeof(asked));
    report->timer = loop_timer_new(r->loop, on_report, report);
    loop_timer_set(report->timer, 0);
    *ret = report;
    return NULL;
}

void recorder_cancel(struct report *r)
{
    free_report(r);
}
