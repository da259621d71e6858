/* task_lines.c - the output of tasks: labels, and what a terminal may get */

#include "cli/slurm/task_lines.h"

#include "base/mem.h"
#include "cli/term/keyboard.h"
#include "cli/term/text_escape.h"

enum {
    LINE_KEPT_MAX = 64 << 10 /* of a labelled line that has no end yet */
};

/* The stdout and stderr of a task. */
struct one_task {
    struct buf rest[2]; /* behind the last newline */
    struct text_escaper cleaners[2];
};

struct task_lines {
    struct task_lines_options o;
    int label_width;
    struct one_task *tasks;
};

struct task_lines *task_lines_new(const struct task_lines_options *o)
{
    struct task_lines *l = mem_alloc(sizeof(*l));

    *l = (struct task_lines){.o = *o, .label_width = 1};
    for (int64_t n = o->tasks - 1; n >= 10; n /= 10)
        l->label_width++;
    l->tasks = mem_alloc((size_t)o->tasks * sizeof(*l->tasks));
    for (int64_t i = 0; i < o->tasks; i++) {
        l->tasks[i] = (struct one_task){0};
        l->tasks[i].cleaners[0].how = TEXT_ESCAPE_LOG;
        l->tasks[i].cleaners[1].how = TEXT_ESCAPE_LOG;
    }
    return l;
}

/* What a program without a terminal of its own writes must not control the user's terminal. */
static struct err *lines_put(struct task_lines *l, size_t stream, uint32_t rank, struct str bytes)
{
    int fd = l->o.fd ? l->o.fd(l->o.arg, stream, rank) : (int)stream + 1;
    AUTO(buf_done) struct buf clean = {0};

    if (fd <= 2 && l->o.is_terminal[fd - 1] && !l->o.has_terminal) {
        text_escape_piece(&l->tasks[rank].cleaners[stream], bytes, &clean);
        bytes = (struct str){clean.at, clean.size};
    }
    return pipe_write(fd, bytes);
}

static struct err *lines_put_one(struct task_lines *l, size_t stream, uint32_t rank,
                                 struct str line)
{
    AUTO(buf_done) struct buf text = {0};

    buf_printf(&text, "%*u: ", l->label_width, rank);
    buf_add(&text, line.at, line.size);
    buf_add_char(&text, '\n');
    return lines_put(l, stream, rank, (struct str){text.at, text.size});
}

struct err *task_lines_write(struct task_lines *l, size_t stream, uint32_t rank, struct str bytes)
{
    struct buf *rest = &l->tasks[rank].rest[stream];
    size_t taken = 0;

    if (!l->o.has_labels)
        return lines_put(l, stream, rank, bytes);
    buf_add(rest, bytes.at, bytes.size);
    for (;;) {
        struct str left = {rest->at + taken, rest->size - taken};
        const char *end = left.size > 0 ? memchr(left.at, '\n', left.size) : NULL;
        size_t size = end ? (size_t)(end - left.at) : left.size;

        if (!end && size < LINE_KEPT_MAX)
            break;
        TRY(lines_put_one(l, stream, rank, (struct str){left.at, size}));
        taken += size + (end ? 1 : 0);
    }
    buf_consume(rest, taken);
    return NULL;
}

void task_lines_free(struct task_lines *l)
{
    if (!l)
        return;
    for (int64_t i = 0; i < l->o.tasks; i++)
        for (size_t stream = 0; stream < 2; stream++) {
            struct buf *rest = &l->tasks[i].rest[stream];

            if (rest->size > 0) /* an output that is gone was reported before */
                err_free(lines_put_one(l, stream, (uint32_t)i, (struct str){rest->at, rest->size}));
            buf_done(rest);
        }
    free(l->tasks);
    free(l);
}
