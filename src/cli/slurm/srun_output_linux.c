/* srun_output_linux.c - where the output of tasks goes: files, or the output of srun */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "cli/slurm/srun.h"
#include "cli/slurm/task_lines.h"

/* The files of a part of the step. */
struct part_files {
    int fds[2];
    bool is_shared; /* stderr goes to the file of stdout */
};

struct srun_output {
    struct srun_output_options o;
    struct part_files *files; /* of each part */
    size_t n_files;
    struct task_lines *lines;
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

static int output_fd(void *arg, size_t stream, uint32_t rank)
{
    const struct srun_output *o = arg;
    const struct part_files *files = &o->files[step_make_part(o->o.make, rank)];

    if (stream == 1 && files->is_shared)
        stream = 0;
    return files->fds[stream] >= 0 ? files->fds[stream] : (int)stream + 1;
}

struct err *srun_output_new(const struct srun_output_options *o, struct srun_output **ret)
{
    struct srun_output *out = mem_alloc(sizeof(*out));
    const struct task_lines_options lines = {
        .tasks = o->make->tasks,
        .has_labels = json_bool(o->submit->step, "label", false),
        .has_terminal = json_bool(o->submit->step, "pty", false),
        .is_terminal = {o->is_terminal[0], o->is_terminal[1]},
        .fd = output_fd,
        .arg = out};
    struct err *e = NULL;

    *out = (struct srun_output){.o = *o, .lines = task_lines_new(&lines)};
    out->n_files = o->make->parts.n > 0 ? o->make->parts.n : 1;
    out->files = mem_alloc(out->n_files * sizeof(*out->files));
    for (size_t i = 0; i < out->n_files; i++)
        out->files[i] = (struct part_files){.fds = {-1, -1}};
    for (size_t i = 0; i < out->n_files && !e; i++)
        e = open_part(out, i);
    if (e) {
        srun_output_free(out);
        return e;
    }
    *ret = out;
    return NULL;
}

struct err *srun_output_write(struct srun_output *o, size_t stream, uint32_t rank, struct str bytes)
{
    return task_lines_write(o->lines, stream, rank, bytes);
}

void srun_output_free(struct srun_output *o)
{
    if (!o)
        return;
    task_lines_free(o->lines);
    for (size_t i = 0; i < o->n_files; i++) {
        fd_close(o->files[i].fds[0]);
        fd_close(o->files[i].fds[1]);
    }
    free(o->files);
    free(o);
}
