/* image_jobs.c - the steps of imports and pulls: a directory is made, skopeo fetches (pulls only),
 * the sandboxed child unpacks, the index changes */

#include <inttypes.h>

#include "base/file.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "node/image/image_job.h"

static const int64_t UNPACK_DEADLINE_NS = INT64_C(4) * 3600 * NS_PER_SEC;

/* ---- the end of a job ---- */

static void job_free(struct image_job *j)
{
    struct images *i = j->images;
    struct image_pulling *w = NULL;

    LIST_REMOVE(i->jobs, j);
    LIST_EACH (j->waiters, w) {
        LIST_REMOVE(j->waiters, w);
        free(w);
    }
    image_child_free(j->child);
    loop_timer_free(j->later);
    buf_done(&j->pending);
    json_decref(j->result);
    err_free(j->error);
    free(j->known);
    free(j->auth);
    free(j->dir);
    free(j->given);
    free(j->username);
    free(j->password);
    free(j);
}

static void job_discard(struct image_job *j)
{
    image_child_free(TAKE(j->child));
    if (j->dir)
        images_discard(j->images, mem_strdup(j->dir));
    job_free(j);
}

/* Calls all waiting callers. Leaves the list first, as a caller may begin the same pull again. */
static void step_end(struct image_job *j)
{
    struct image_pulling *w;

    j->is_dropped = true;
    while ((w = j->waiters)) {
        LIST_REMOVE(j->waiters, w);
        w->done(w->arg, j->error, j->error ? NULL : j->id);
        free(w);
    }
    job_discard(j);
}

static void on_later(void *arg)
{
    struct image_job *j = arg;

    j->step(j);
}

static void do_later(struct image_job *j, void (*step)(struct image_job *j))
{
    j->step = step;
    loop_timer_set(j->later, 0);
}

void job_fail(struct image_job *j, struct err *e)
{
    err_free(j->error);
    j->error = e;
    LOG(WARN, "image could not be had", S("image", j->given ? j->given : ""), E(e));
    do_later(j, step_end);
}

void job_succeed(struct image_job *j)
{
    LOG(INFO, "image added", S("image", j->given ? j->given : ""), S("id", j->id));
    do_later(j, step_end);
}

void job_progress(struct image_job *j, const char *line)
{
    struct image_pulling *w = NULL;

    LIST_EACH (j->waiters, w)
        if (w->progress)
            w->progress(w->arg, line);
}

/* ---- unpacking ---- */

static void on_line(void *arg, struct str line)
{
    job_take_line(arg, line);
}

static void on_drained(void *arg)
{
    struct image_job *j = arg;

    if (j->import.drained)
        j->import.drained(j->import.drained_arg);
}

static struct err *image_job_ending(const struct image_child_end *end)
{
    AUTO_FREE char *how = proc_format_status(end->status);

    if (end->timed_out)
        return err_new(ERR_TIMEOUT, "unpacking took too long");
    return err_new(
        ERR_INTERNAL, "unpacking %s: " STR_FMT, how,
        STR_ARG(((struct str){end->errors.at, end->errors.size > 500 ? 500 : end->errors.size})));
}

static void on_unpacked(void *arg, const struct image_child_end *end)
{
    struct image_job *j = arg;
    struct err *e = NULL;

    if (json_text(j->result, "error"))
        e = err_new(ERR_INVALID, "%.2000s", json_text(j->result, "error"));
    else if (end->status != 0 || !json_object_get(j->result, "image"))
        e = image_job_ending(end);
    image_child_free(TAKE(j->child));
    if (e)
        job_fail(j, e);
    else
        job_commit(j);
}

void job_unpack(struct image_job *j)
{
    struct images *i = j->images;
    AUTO_FREE char *bytes = mem_format("%" PRId64, j->work.bytes_max);
    const char *const argv[] = {i->self_path,
                                "image-unpack",
                                j->dir,
                                j->is_pull ? "dir" : "tar",
                                i->architecture,
                                bytes,
                                j->is_pull ? NULL : j->given,
                                NULL};
    const struct image_child_options o = {.loop = i->o.loop,
                                          .argv = argv,
                                          .deadline_ns = UNPACK_DEADLINE_NS,
                                          .line = on_line,
                                          .drained = on_drained,
                                          .end = on_unpacked,
                                          .arg = j};
    struct err *e = image_child_new(&o, &j->child);

    if (e) {
        job_fail(j, e);
        return;
    }
    if (j->pending.size > 0)
        image_child_send(j->child, (struct str){j->pending.at, j->pending.size});
    buf_done(&j->pending);
    if (j->has_ended || j->is_pull)
        image_child_close(j->child);
}

/* ---- preparing ---- */

static struct err *job_prepare(void *message)
{
    struct image_job *j = message;

    return image_work_make(&j->work);
}

static void on_prepared(void *message, const struct err *e)
{
    struct image_job *j = message;

    j->is_preparing = false;
    if (j->is_dropped)
        job_discard(j);
    else if (e)
        job_fail(j, err_new(err_code(e), "%s", err_message(e)));
    else if (j->is_pull)
        job_inspect(j);
    else
        job_unpack(j);
}

/* The diff ids of the layers on this machine, one a line. */
static char *format_known(const struct images *i)
{
    struct buf text = {0};
    const char *id = NULL;
    json_t *layer = NULL;

    json_object_foreach (json_object_get(i->index, "layers"), id, layer)
        buf_printf(&text, "%s\n", id);
    return buf_steal(&text);
}

static void step_begin(struct image_job *j)
{
    struct images *i = j->images;
    char uuid[37];
    struct err *e = j->given ? image_name_parse(j->given, &j->name) : NULL;

    if (!e && text_equal(j->given, IMAGE_HOST))
        e = err_new(ERR_INVALID, "image name 'host' means the machine's own file system");
    if (e) {
        job_fail(j, e);
        return;
    }
    uuid_make(uuid);
    j->dir = mem_format("%s/%s", i->work_dir, uuid);
    j->known = format_known(i);
    if (j->username)
        j->auth = pull_auth_format(&j->name, j->username, j->password ? j->password : "");
    j->work = (struct image_work_dir){.dir = j->dir,
                                      .known = j->known,
                                      .auth = j->auth,
                                      .registries = i->registries,
                                      .is_pull = j->is_pull};
    j->is_preparing = true;
    worker_give(i->o.worker, job_prepare, on_prepared, j);
}

static struct image_job *job_new(struct images *i, const char *name, bool is_pull)
{
    struct image_job *j = mem_alloc(sizeof(*j));

    j->images = i;
    j->given = name ? mem_strdup(name) : NULL;
    j->is_pull = is_pull;
    j->import.job = j;
    j->later = loop_timer_new(i->o.loop, on_later, j);
    LIST_ADD(i->jobs, j);
    do_later(j, step_begin);
    return j;
}

static struct image_pulling *job_wait(struct image_job *j, const struct image_pull *p)
{
    struct image_pulling *w = mem_alloc(sizeof(*w));

    *w = (struct image_pulling){.job = j, .progress = p->progress, .done = p->done, .arg = p->arg};
    LIST_ADD(j->waiters, w);
    return w;
}

/* ---- pulls ---- */

/* Finds a pull to join: same name and same credentials, so that a caller without access to the
 * image cannot profit from another's. */
static struct image_job *find_pull(struct images *i, const struct image_pull *p)
{
    struct image_job *j = NULL;

    LIST_EACH (i->jobs, j)
        if (j->is_pull && !j->is_dropped && text_equal(j->given, p->name) &&
            text_equal(j->username, p->username) && text_equal(j->password, p->password))
            return j;
    return NULL;
}

void images_pull(struct images *i, const struct image_pull *p, struct image_pulling **ret)
{
    struct image_job *j = find_pull(i, p);
    struct image_pulling *w;

    if (!j) {
        j = job_new(i, p->name, true);
        j->username = p->username ? mem_strdup(p->username) : NULL;
        j->password = p->password ? mem_strdup(p->password) : NULL;
    }
    w = job_wait(j, p);
    if (ret)
        *ret = w;
}

void image_pull_forget(struct image_pulling *p)
{
    LIST_REMOVE(p->job->waiters, p);
    free(p);
}

/* ---- imports ---- */

struct image_import *images_import(struct images *i, const char *name, const struct image_pull *how)
{
    struct image_job *j = job_new(i, name, false);

    (void)job_wait(j, how);
    return &j->import;
}

void image_import_data(struct image_import *m, struct str piece)
{
    if (m->job->child)
        image_child_send(m->job->child, piece);
    else if (!m->job->error && !m->job->result)
        buf_add(&m->job->pending, piece.at, piece.size);
}

size_t image_import_backlog(const struct image_import *m)
{
    return m->job->child ? image_child_backlog(m->job->child) : m->job->pending.size;
}

void image_import_on_drain(struct image_import *m, loop_fn fn, void *arg)
{
    m->drained = fn;
    m->drained_arg = arg;
}

void image_import_end(struct image_import *m)
{
    m->job->has_ended = true;
    if (m->job->child)
        image_child_close(m->job->child);
}

void image_import_cancel(struct image_import *m)
{
    struct image_job *j = m->job;
    struct image_pulling *w = NULL;

    LIST_EACH (j->waiters, w) {
        LIST_REMOVE(j->waiters, w);
        free(w);
    }
    m->drained = NULL;
    j->is_dropped = true;
    if (!j->is_preparing && !j->is_committing)
        job_discard(j);
}

/* ---- all jobs ---- */

void image_jobs_free(struct images *i)
{
    struct image_job *j = NULL;

    LIST_EACH (i->jobs, j)
        job_free(j); /* the next start removes its directory */
}
