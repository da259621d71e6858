/*
 * log_reader.c - reads the parts of one log in order
 *
 * A position is a part (by number and inode) and an offset. The reader moves to the next part only
 * after conmon has begun it, and first reads the present part once more to its end: conmon has
 * closed that by then.
 */

#include "node/log/log_reader.h"

#include "base/mem.h"
#include "base/stamp.h"
#include "node/log/log_file.h"
#include "node/log/log_parts.h"

enum {
    CHUNK = 65536,
    STEPS_MAX = 64 /* in log_reader_tail, whose lines may be long */
};

struct log_reader {
    char *path;
    struct log_file *file;
    int64_t number;
    uint64_t inode;
    int64_t offset;
    bool is_closed; /* conmon has closed this part */

    bool is_seeking; /* backwards, for the last lines */
    int64_t seek_at;
    int64_t tail_lines;
    size_t seen_lines;
    bool is_end_seen;

    int64_t since_ns;
    bool is_inside_line; /* a part of the present line was read */
    bool is_skipped;     /* the present line began before `since_ns` */
    char *chunk;         /* buffer of a step */
};

/* ---- parts ---- */

/* ERR_NOT_FOUND: the part was renamed or removed meanwhile; list the parts again. */
static struct err *open_part(struct log_reader *r, const struct log_part *part)
{
    struct log_file *file = NULL;

    TRY(log_file_open(part->path, &file));
    if (log_file_inode(file) != part->inode) {
        log_file_free(file);
        return err_new(ERR_NOT_FOUND, "%s is another file now", part->path);
    }
    log_file_free(r->file);
    r->file = file;
    r->number = part->number;
    r->inode = part->inode;
    r->offset = 0;
    r->is_closed = false;
    return NULL;
}

/* The first stamp in a part; INT64_MAX: none. */
static int64_t first_stamp(const struct log_part *part)
{
    struct log_file *file = NULL;
    AUTO_FREE char *bytes = mem_alloc(CHUNK);
    int64_t stamp_ns = INT64_MAX;
    size_t size = 0;
    size_t taken = 0;
    struct crilog_line line = {0};
    struct err *e = log_file_open(part->path, &file);

    if (!e)
        e = log_file_read(file, 0, bytes, CHUNK, &size);
    if (!e) {
        crilog_read((struct str){bytes, size}, &line, &taken);
        e = stamp_parse(line.stamp, &stamp_ns);
    }
    log_file_free(file);
    err_free(e); /* no stamp */
    return stamp_ns;
}

/*
 * The part to begin with: the last part for the last lines, else the first part that may contain
 * lines from `since_ns` on. A part whose first line has that very stamp may not be the first one:
 * conmon gives the same stamp to all lines of one read, and begins a new file between any of them.
 */
static size_t first_part(const struct log_reader *r, const struct log_parts *p)
{
    size_t i = p->list.n - 1;

    if (r->tail_lines >= 0)
        return i;
    if (r->since_ns == 0)
        return 0;
    while (i > 0 && first_stamp(&p->list.at[i]) >= r->since_ns)
        i--;
    return i;
}

static const struct log_part *find_next(const struct log_reader *r, const struct log_parts *p)
{
    for (size_t i = 0; i < p->list.n; i++) {
        const struct log_part *part = &p->list.at[i];

        if (part->number > r->number || (part->number == r->number && part->inode != r->inode))
            return part;
    }
    return NULL;
}

static const struct log_part *find_before(const struct log_reader *r, const struct log_parts *p)
{
    for (size_t i = p->list.n; i > 0; i--)
        if (p->list.at[i - 1].number < r->number)
            return &p->list.at[i - 1];
    return NULL;
}

/* ---- backwards ---- */

static struct err *seek_before(struct log_reader *r)
{
    struct log_parts p = {0};
    const struct log_part *before = NULL;
    struct err *e = log_parts_read(r->path, &p);

    if (!e)
        before = find_before(r, &p);
    if (!e && before)
        e = open_part(r, before);
    log_parts_done(&p);
    if (e && err_code(e) != ERR_NOT_FOUND)
        return e;
    if (e || !before) { /* the oldest part left */
        err_free(e);
        r->is_seeking = false;
        r->offset = 0;
        return NULL;
    }
    r->seek_at = log_file_size(r->file);
    return NULL;
}

/* Counts a last line without line end. */
static size_t count_open_line(struct str bytes)
{
    const char *end = bytes.size > 1 ? memrchr(bytes.at, '\n', bytes.size - 1) : NULL;
    size_t start = end ? (size_t)(end - bytes.at) + 1 : 0;
    struct crilog_line line = {0};
    size_t taken = 0;

    crilog_read((struct str){bytes.at + start, bytes.size - start}, &line, &taken);
    return taken > 0 && line.is_partial ? 1 : 0;
}

/* Seeks one chunk back, towards the start of the last lines. */
static struct err *seek_chunk(struct log_reader *r)
{
    int64_t from = r->seek_at > CHUNK ? r->seek_at - CHUNK : 0;
    size_t size = 0;
    size_t kept = 0;
    size_t at = 0;
    bool is_found = false;
    const char *first = NULL;

    if (r->seek_at == 0)
        return seek_before(r);
    TRY(log_file_read(r->file, from, r->chunk, (size_t)(r->seek_at - from), &size));
    if (size > 0 && !r->is_end_seen)
        r->seen_lines = count_open_line((struct str){r->chunk, size});
    r->is_end_seen = r->is_end_seen || size > 0;
    /* A line that begins before the chunk counts with the next chunk; a line longer than a chunk is
     * taken in pieces. */
    first = from > 0 ? memchr(r->chunk, '\n', size) : NULL;
    if (first && first + 1 < r->chunk + size)
        kept = (size_t)(first - r->chunk) + 1;
    at = crilog_tail((struct str){r->chunk + kept, size - kept}, (size_t)r->tail_lines,
                     &r->seen_lines, &is_found);
    r->seek_at = size == 0 ? 0 : from + (int64_t)(kept + at);
    if (is_found) {
        r->offset = r->seek_at;
        r->is_seeking = false;
    }
    return NULL;
}

/* ---- forwards ---- */

static bool is_wanted(struct log_reader *r, const struct crilog_line *line)
{
    int64_t stamp_ns = INT64_MAX;

    if (r->since_ns == 0)
        return true;
    if (!r->is_inside_line) {
        err_free(stamp_parse(line->stamp, &stamp_ns)); /* shows lines without a stamp */
        r->is_skipped = stamp_ns < r->since_ns;
    }
    r->is_inside_line = line->is_partial;
    return !r->is_skipped;
}

/* Gives the lines of the chunk to `fn`; returns the bytes used. `*ret_goes_on` false: `fn` wants no
 * more. */
static size_t give_lines(struct log_reader *r, size_t size, log_line_fn fn, void *arg,
                         bool *ret_goes_on)
{
    size_t used = 0;

    *ret_goes_on = true;
    while (*ret_goes_on) {
        struct crilog_line line = {0};
        size_t taken = 0;

        crilog_read((struct str){r->chunk + used, size - used}, &line, &taken);
        if (taken == 0 && used == 0 && size == CHUNK) { /* longer than any line of conmon's */
            line = (struct crilog_line){.text = {r->chunk, size}, .is_partial = true};
            taken = size;
        }
        if (taken == 0)
            break;
        used += taken;
        if (is_wanted(r, &line))
            *ret_goes_on = fn(arg, &line);
    }
    return used;
}

/* At the end of a part: moves to the next part, if any. */
static struct err *step_on(struct log_reader *r, enum log_step *ret)
{
    struct log_parts p = {0};
    const struct log_part *next = NULL;
    struct err *e = log_parts_read(r->path, &p);

    *ret = LOG_MORE;
    if (!e && p.list.at[p.list.n - 1].inode == r->inode)
        *ret = LOG_END;
    else if (!e)
        next = find_next(r, &p);
    if (next && r->is_closed)
        e = open_part(r, next);
    else if (next)
        r->is_closed = true; /* conmon may have added bytes since the last read */
    log_parts_done(&p);
    if (e && err_code(e) == ERR_NOT_FOUND) { /* being removed, or just rotated */
        err_free(TAKE(e));
        *ret = LOG_END;
    }
    return e;
}

struct err *log_reader_step(struct log_reader *r, log_line_fn fn, void *arg, enum log_step *ret)
{
    AUTO_FREE char *chunk = mem_alloc(CHUNK);
    size_t size = 0;
    size_t used = 0;
    bool goes_on = true;

    *ret = LOG_MORE;
    r->chunk = chunk;
    if (r->is_seeking)
        return seek_chunk(r);
    TRY(log_file_read(r->file, r->offset, r->chunk, CHUNK, &size));
    used = give_lines(r, size, fn, arg, &goes_on);
    r->offset += (int64_t)used;
    return used > 0 ? NULL : step_on(r, ret);
}

/* ---- begin and end ---- */

struct err *log_reader_new(const struct log_reader_options *o, struct log_reader **ret)
{
    struct log_reader *r = mem_alloc(sizeof(*r));
    struct log_parts p = {0};
    struct err *e = NULL;

    r->path = mem_strdup(o->path);
    r->tail_lines = o->tail_lines;
    r->since_ns = o->since_ns;
    e = log_parts_read(o->path, &p);
    if (!e)
        e = open_part(r, &p.list.at[first_part(r, &p)]);
    log_parts_done(&p);
    if (e) {
        log_reader_free(r);
        return e;
    }
    r->is_seeking = o->tail_lines > 0;
    r->seek_at = log_file_size(r->file);
    if (o->tail_lines == 0)
        r->offset = r->seek_at;
    *ret = r;
    return NULL;
}

void log_reader_free(struct log_reader *r)
{
    if (!r)
        return;
    log_file_free(r->file);
    free(r->path);
    free(r);
}

struct err *log_reader_watch(struct log_reader *r, struct loop *l, loop_fn fn, void *arg)
{
    return log_file_watch(r->file, l, fn, arg);
}

/* ---- all at once ---- */

struct tail {
    struct buf text;
    size_t max_bytes;
};

static bool keep_line(void *arg, const struct crilog_line *line)
{
    struct tail *t = arg;

    buf_add(&t->text, line->text.at, line->text.size);
    if (!line->is_partial)
        buf_add_char(&t->text, '\n');
    if (t->text.size > t->max_bytes)
        buf_consume(&t->text, t->text.size - t->max_bytes);
    return true;
}

char *log_reader_tail(const char *path, int64_t max_lines, size_t max_bytes)
{
    const struct log_reader_options o = {.path = path, .tail_lines = max_lines};
    struct tail t = {.max_bytes = max_bytes};
    struct log_reader *r = NULL;
    enum log_step step = LOG_MORE;
    struct err *e = log_reader_new(&o, &r);

    for (int i = 0; !e && i < STEPS_MAX && step == LOG_MORE; i++)
        e = log_reader_step(r, keep_line, &t, &step);
    log_reader_free(r);
    err_free(e); /* keep the lines read so far */
    return buf_steal(&t.text);
}
