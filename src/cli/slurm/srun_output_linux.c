/* srun_output_linux.c - where the output of tasks goes: labels, files, the terminal */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "cli/slurm/srun.h"
#include "cli/term/keyboard.h"
#include "cli/term/text_escape.h"

enum {
    LINE_KEPT_MAX = 64 << 10 /* of a labelled line that has no end yet */
};

/* The stdout and stderr of a task. */
struct task_lines {
    struct buf rest[2]; /* behind the last newline */
    struct text_escaper cleaners[2];
};

/* The files of a part of the step. */
struct part_files {
    int fds[2];
    bool is_shared; /* stderr goes to the file of stdout */
};

struct srun_output {
    struct srun_output_options o;
    struct part_files *files; /* of each part */
    size_t n_files;
    bool has_labels;
    int label_width;
    struct task_lines *tasks;
};

/* The file that srun itself writes for a mode; NULL: none. The caller frees it. */
static char *output_path(const struct srun_output *out, const char *mode)
{
    AUTO(err_freep) struct err *e = NULL;
    int64_t task = 0;
    char step[24];
    const struct slurm_pattern_values values = step_make_values(out->o.make, 0, 0, step);

    if (!mode || text_equal(mode, "all") || text_equal(mode, "none") || step_pattern_is_local(mode))
        return NULL;
    e = num_parse_int64(str_of(mode), 0, STEP_TASKS_MAX, &task);
    return e ? slurm_pattern_expand(mode, &values) : NULL;
}

static const json_t *part_spec(const struct srun_output *out, size_t part)
{
    const struct step_make *make = out->o.make;

    return make->parts.n > 0 ? make->parts.at[part].submit->spec : out->o.submit->spec;
}

/* Parts may write to the same file: each appends. */
static struct err *open_output(struct srun_output *out, size_t part, size_t stream, const char *key)
{
    const json_t *spec = part_spec(out, part);
    int *fd = &out->files[part].fds[stream];
    AUTO_FREE char *path = output_path(out, json_text_filled(spec, key));
    bool is_append = text_equal(json_text(spec, "openMode"), "append");

    if (!path)
        return NULL;
    *fd = open(path,
               O_WRONLY | O_CREAT | O_CLOEXEC | (is_append ? 0 : O_TRUNC) |
                   (is_append || out->n_files > 1 ? O_APPEND : 0),
               0666);
    if (*fd < 0)
        return err_errno(errno, "Could not open %s file %s", key, path);
    return NULL;
}

/* Opens the files of one part. */
static struct err *open_part(struct srun_output *out, size_t part)
{
    const json_t *spec = part_spec(out, part);

    TRY(open_output(out, part, 0, "stdout"));
    TRY(open_output(out, part, 1, "stderr"));
    out->files[part].is_shared = out->files[part].fds[0] >= 0 && !json_text_filled(spec, "stderr");
    return NULL;
}

struct err *srun_output_new(const struct srun_output_options *o, struct srun_output **ret)
{
    struct srun_output *out = mem_alloc(sizeof(*out));
    int64_t tasks = o->make->tasks;
    struct err *e = NULL;

    *out = (struct srun_output){.o = *o, .label_width = 1};
    out->n_files = o->make->parts.n > 0 ? o->make->parts.n : 1;
    out->files = mem_alloc(out->n_files * sizeof(*out->files));
    for (size_t i = 0; i < out->n_files; i++)
        out->files[i] = (struct part_files){.fds = {-1, -1}};
    out->has_labels = json_bool(o->submit->step, "label", false);
    for (int64_t n = tasks - 1; n >= 10; n /= 10)
        out->label_width++;
    out->tasks = mem_alloc((size_t)tasks * sizeof(*out->tasks));
    for (int64_t i = 0; i < tasks; i++) {
        out->tasks[i] = (struct task_lines){0};
        out->tasks[i].cleaners[0].how = TEXT_ESCAPE_LOG;
        out->tasks[i].cleaners[1].how = TEXT_ESCAPE_LOG;
    }
    for (size_t i = 0; i < out->n_files && !e; i++)
        e = open_part(out, i);
    if (e) {
        srun_output_free(out);
        return e;
    }
    *ret = out;
    return NULL;
}

static int output_fd(const struct srun_output *o, size_t stream, uint32_t rank)
{
    const struct part_files *files = &o->files[step_make_part(o->o.make, rank)];

    if (stream == 1 && files->is_shared)
        stream = 0;
    return files->fds[stream] >= 0 ? files->fds[stream] : (int)stream + 1;
}

/* What a program without a terminal of its own writes must not control the user's terminal. */
static struct err *output_put(struct srun_output *o, size_t stream, uint32_t rank, struct str bytes)
{
    int fd = output_fd(o, stream, rank);
    bool has_terminal = json_bool(o->o.submit->step, "pty", false);
    AUTO(buf_done) struct buf clean = {0};

    if (fd <= 2 && o->o.is_terminal[fd - 1] && !has_terminal) {
        text_escape_piece(&o->tasks[rank].cleaners[stream], bytes, &clean);
        bytes = (struct str){clean.at, clean.size};
    }
    return pipe_write(fd, bytes);
}

static struct err *output_line(struct srun_output *o, size_t stream, uint32_t rank, struct str line)
{
    AUTO(buf_done) struct buf text = {0};

    buf_printf(&text, "%*u: ", o->label_width, rank);
    buf_add(&text, line.at, line.size);
    buf_add_char(&text, '\n');
    return output_put(o, stream, rank, (struct str){text.at, text.size});
}

struct err *srun_output_write(struct srun_output *o, size_t stream, uint32_t rank, struct str bytes)
{
    struct buf *rest = &o->tasks[rank].rest[stream];
    size_t taken = 0;

    if (!o->has_labels)
        return output_put(o, stream, rank, bytes);
    buf_add(rest, bytes.at, bytes.size);
    for (;;) {
        struct str left = {rest->at + taken, rest->size - taken};
        const char *end = left.size > 0 ? memchr(left.at, '\n', left.size) : NULL;
        size_t size = end ? (size_t)(end - left.at) : left.size;

        if (!end && size < LINE_KEPT_MAX)
            break;
        TRY(output_line(o, stream, rank, (struct str){left.at, size}));
        taken += size + (end ? 1 : 0);
    }
    buf_consume(rest, taken);
    return NULL;
}

void srun_output_free(struct srun_output *o)
{
    if (!o)
        return;
    for (int64_t i = 0; i < o->o.make->tasks; i++)
        for (size_t stream = 0; stream < 2; stream++) {
            struct buf *rest = &o->tasks[i].rest[stream];

            if (rest->size > 0) /* an output that is gone was reported before */
                err_free(output_line(o, stream, (uint32_t)i, (struct str){rest->at, rest->size}));
            buf_done(rest);
        }
    for (size_t i = 0; i < o->n_files; i++) {
        fd_close(o->files[i].fds[0]);
        fd_close(o->files[i].fds[1]);
    }
    free(o->files);
    free(o->tasks);
    free(o);
}
