/* cp.c - mete cp: files through `tar` in the container, as kubectl does; cp_tar.h has the local
 * side */

#include "base/file.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/job/cp_tar.h"
#include "cli/job/jobs.h"
#include "cli/job/remote_session.h"
#include "cli/term/keyboard.h"

/* "JOB:PATH", or a local path (`job` is NULL). */
struct place {
    char *job;
    char *path;
};

static void place_done(struct place *p)
{
    free(p->job);
    free(p->path);
}

/* As in scp, a colon before the first slash marks a path in a job. */
static struct place place_parse(const char *word)
{
    size_t n = strcspn(word, ":/");

    if (word[n] == ':' && n > 0)
        return (struct place){.job = mem_strndup(word, n), .path = mem_strdup(word + n + 1)};
    return (struct place){.path = mem_strdup(word)};
}

/* Splits "/a/b/" into "/a" and "b"; paths without a name of their own ("/", "..") stay whole. */
static void path_split(const char *path, char **ret_dir, char **ret_name)
{
    AUTO_FREE char *plain = mem_strdup(path);
    size_t size = strlen(plain);
    char *slash = NULL;

    while (size > 1 && plain[size - 1] == '/')
        plain[--size] = '\0';
    slash = strrchr(plain, '/');
    if (text_equal(plain, "/") || text_equal(slash ? slash + 1 : plain, "..") ||
        text_equal(slash ? slash + 1 : plain, ".")) {
        *ret_dir = TAKE(plain);
        *ret_name = mem_strdup(".");
    } else if (!slash) {
        *ret_dir = mem_strdup(".");
        *ret_name = TAKE(plain);
    } else {
        *ret_name = mem_strdup(slash + 1);
        *ret_dir = mem_strndup(plain, slash == plain ? 1 : (size_t)(slash - plain));
    }
}

struct copy {
    struct cli *cli;
    struct session *session;
    json_t *pod;
    struct tar_job *tar;
    int fd; /* the session's end of the pipe */
    bool is_pipe_broken;
};

static struct err *to_pipe(void *arg, struct str bytes)
{
    struct copy *c = arg;
    struct err *e = pipe_write(c->fd, bytes);

    c->is_pipe_broken = e != NULL; /* the thread at the other end failed, and reports the cause */
    return e;
}

/* Runs `words` (NULL-terminated) in the container. */
static struct err *copy_run(struct copy *c, const char *const *words, struct remote_session *o,
                            int *ret_code)
{
    AUTO(buf_done) struct buf path = {0};

    remote_path_begin(&path, c->pod, "exec", flag_text(c->cli->in, "container"));
    remote_path_streams(&path, o->has_stdin, false);
    for (size_t i = 0; words[i]; i++)
        remote_path_command(&path, words[i]);
    o->path = path.at;
    return remote_session_run(c->cli, c->session, o, ret_code);
}

/* Joins the thread and combines its result with the session's: the cause is reported. */
static struct err *copy_conclude(struct copy *c, struct err *taken, int code)
{
    AUTO(err_freep) struct err *e = taken;
    size_t n_files = 0;
    size_t n_skipped = 0;
    AUTO(err_freep) struct err *tar = tar_join(TAKE(c->tar), &n_files, &n_skipped);

    if (!e && code != 0)
        e = err_new(ERR_INTERNAL, "tar in the container ended with %d", code);
    if (tar && (!e || c->is_pipe_broken)) {
        err_free(e);
        e = TAKE(tar);
    }
    if (n_skipped > 0)
        cli_say(c->cli, "%zu entr%s left out: links and special files are not copied", n_skipped,
                n_skipped == 1 ? "y was" : "ies were");
    if (!e && n_files == 0)
        e = err_new(ERR_NOT_FOUND, "no file was copied");
    return TAKE(e);
}

static struct err *cp_download(struct copy *c, const char *from, const char *to)
{
    AUTO_FREE char *dir = NULL;
    AUTO_FREE char *name = NULL;
    AUTO_FREE char *target = NULL;
    struct remote_session o = {.output = to_pipe, .arg = c};
    int read_fd = -1;
    int code = 0;
    struct err *e = NULL;

    path_split(from, &dir, &name);
    target = path_is_directory(to) ? mem_format("%s/%s", to, name) : mem_strdup(to);
    TRY(pipe_make(&read_fd, &c->fd));
    e = tar_unpack(read_fd, name, target, &c->tar);
    if (!e) {
        const char *const words[] = {"tar", "-cf", "-", "-C", dir, "--", name, NULL};

        e = copy_run(c, words, &o, &code);
    }
    fd_close(fd_take(&c->fd)); /* end of file for the unpacking thread */
    return c->tar ? copy_conclude(c, e, code) : e;
}

static struct err *cp_upload(struct copy *c, const char *from, const char *to)
{
    AUTO_FREE char *dir = NULL;
    AUTO_FREE char *name = NULL;
    const char *const test[] = {"test", "-d", to, NULL};
    struct remote_session quiet = {0};
    struct remote_session o = {.has_stdin = true};
    int write_fd = -1;
    int code = 0;
    struct err *e = NULL;

    if (!file_exists(from))
        return err_new(ERR_NOT_FOUND, "copy %s: no such file or directory", from);
    TRY(copy_run(c, test, &quiet, &code));
    path_split(code == 0 ? from : to, &dir, &name);
    if (code == 0) {
        free(dir);
        dir = mem_strdup(to);
    }
    TRY(pipe_make(&c->fd, &write_fd));
    o.input_fd = c->fd;
    e = tar_pack(write_fd, from, name, &c->tar);
    if (!e) {
        const char *const words[] = {"tar", "-xmf", "-", "-C", dir, NULL};

        e = copy_run(c, words, &o, &code);
    }
    fd_close(fd_take(&c->fd)); /* a thread that still packs gets a write error */
    return c->tar ? copy_conclude(c, e, code) : e;
}

static struct err *copy_between(struct cli *cli, const struct place *from, const struct place *to)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *pod = NULL;
    struct copy c = {.cli = cli, .fd = -1};

    if (!from->job == !to->job)
        return cli_usage(cli, "either the source or the target must be in a job: mete cp JOB:PATH "
                              "PATH, or mete cp PATH JOB:PATH");
    if ((from->job ? from : to)->path[0] == '\0' || (from->job ? to : from)->path[0] == '\0')
        return cli_usage(cli, "no path: want JOB:PATH");
    TRY(session_open(cli, &s));
    TRY(job_find(s, from->job ? from->job : to->job, &pod));
    c.session = s;
    c.pod = pod;
    return from->job ? cp_download(&c, from->path, to->path) : cp_upload(&c, from->path, to->path);
}

static struct err *cp_run(struct cli *c)
{
    struct place from = place_parse(c->in->arguments.at[0]);
    struct place to = place_parse(c->in->arguments.at[1]);
    struct err *e = copy_between(c, &from, &to);

    place_done(&from);
    place_done(&to);
    return e;
}

static const struct flag cp_flags[] = {
    {.name = "container",
     .letter = 'c',
     .type = FLAG_TEXT,
     .value = "NAME",
     .doc = "container of the pod. Required if the pod has several"},
    {0},
};

const struct command command_cp = {
    .name = "cp",
    .arguments = "SRC DST",
    .summary = "copy files to or from a container of a running job",
    .doc = "Either SRC or DST is JOB:PATH. Directories are copied recursively. The container needs "
           "`tar`, and `test` for copies to the container. Copies from a container include only "
           "regular files and directories, owned by you.",
    .examples = {{"cp 12:/tmp/model.pt .", "copies a file from job 12"},
                 {"cp ./data 12:/tmp", "copies a directory to job 12, as /tmp/data"},
                 {0}},
    .flags = cp_flags,
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE,
    .takes = TAKES_PLACES,
    .n_min = 2,
    .n_max = 2,
    .run = cp_run,
};
