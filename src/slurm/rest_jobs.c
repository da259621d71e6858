/* rest_jobs.c - jobs of slurmrestd: shown, submitted, changed, cancelled */

#include <inttypes.h>
#include <strings.h>

#include "base/mem.h"
#include "client/client.h"
#include "model/slurm_array.h"
#include "slurm/cancel.h"
#include "slurm/job_json.h"
#include "slurm/query.h"
#include "slurm/rest_call.h"
#include "slurm/states.h"

/* ---- listings ---- */

static void rest_tell_jobs(struct rest_call *c, const json_t *answer)
{
    const struct slurm_view view = rest_view(c);
    const json_t *rows = json_object_get(answer, "jobs");

    if (*c->id && json_array_size(rows) == 0)
        rest_fail(c, STATUS_ABSENT, "Invalid job id specified");
    else
        rest_end(c, STATUS_OK, slurm_jobs_document(rows, &view));
}

void rest_jobs(struct rest_call *c)
{
    rest_ask_rows(c, "jobs", "&states=all&detail=1", rest_tell_jobs);
}

/* Reads the part ID of the path: "12", "12_3", "12+1". */
static struct err *rest_read_id(struct rest_call *c)
{
    AUTO(slurm_job_name_done) struct slurm_job_name name = {0};
    AUTO(err_freep) struct err *e = slurm_job_name_parse(str_of(c->id), &name);

    if (e)
        return err_new(ERR_BAD_REQUEST, "Invalid job id specified");
    c->number = name.id;
    index_set_done(&c->indexes);
    c->indexes = name.indexes;
    name.indexes = (struct index_set){0};
    return NULL;
}

/* Asks for the rows of the job in the path, of all states. */
static void rest_ask_job(struct rest_call *c, rest_then_fn then)
{
    AUTO(buf_done) struct buf ids = {0};
    struct slurm_query query = {0};
    AUTO(err_freep) struct err *e = rest_read_id(c);

    if (!e)
        e = slurm_ids_parse(c->id, &ids);
    if (e) {
        rest_fail(c, STATUS_WRONG, "Invalid job id specified");
        return;
    }
    slurm_query_begin(&query, "jobs");
    slurm_query_add(&query, "states", "all");
    slurm_query_add(&query, "detail", "1");
    slurm_query_add(&query, "ids", ids.at);
    c->then = then;
    rest_ask(c, "GET", NULL, slurm_query_end(&query), NULL);
}

void rest_job(struct rest_call *c)
{
    rest_ask_job(c, rest_tell_jobs);
}

/* ---- a new job ---- */

static void rest_tell_submitted(struct rest_call *c, const json_t *answer)
{
    json_t *document = rest_document();
    int64_t id = json_int_at(answer, "status", "jobId", NULL);

    json_put_int(document, "job_id", id);
    json_put_text(document, "step_id", "batch");
    json_put_text(document, "job_submit_user_msg", "");
    json_put(document, "result",
             json_pack("{s:I,s:s,s:i,s:s}", "job_id", (json_int_t)id, "step_id", "batch",
                       "error_code", 0, "error", "No error"));
    rest_end(c, STATUS_OK, document);
}

void rest_submit(struct rest_call *c)
{
    const struct slurm_view view = rest_view(c);
    AUTO(json_freep) json_t *body = NULL;
    AUTO(json_freep) json_t *job = NULL;
    AUTO(err_freep) struct err *e = json_parse(c->x->request.body, &body);

    if (!e)
        e = slurm_rest_job(body, view.now_s, view.zone, &job);
    if (e) {
        rest_fail(c, STATUS_WRONG, err_message(e));
        return;
    }
    c->then = rest_tell_submitted;
    rest_ask(c, "POST", "application/json",
             mem_strdup("/apis/mete.dev/v1/namespaces/default/slurmjobs?fieldManager=slurmrestd&"
                        "fieldValidation=Strict"),
             json_format(job));
}

/* ---- changes of a job: its row, its object, and the patch ---- */

/* The path of the job's object; NULL: a pod of another door. */
static char *rest_object_path(const json_t *row)
{
    const char *object = json_text(row, "object");
    const char *slash = object ? strchr(object, '/') : NULL;

    if (!slash || !json_bool(row, "batch", false))
        return NULL;
    return mem_format("/apis/mete.dev/v1/namespaces/%.*s/slurmjobs/%s", (int)(slash - object),
                      object, slash + 1);
}

static void rest_tell_changed(struct rest_call *c, const json_t *answer)
{
    (void)answer;
    c->done(c);
}

static void rest_change(struct rest_call *c, const json_t *answer)
{
    AUTO_FREE char *elements = slurm_cancel_elements(c->row, c->number, &c->indexes);
    AUTO(json_freep) json_t *patch = NULL;
    AUTO(err_freep) struct err *e = c->change(c, answer, elements, &patch);

    if (e) {
        rest_fail(c, STATUS_WRONG, err_message(e));
        return;
    }
    c->then = rest_tell_changed;
    rest_ask(c, "PATCH", "application/merge-patch+json", rest_object_path(c->row),
             json_format(patch));
}

static void rest_read_object(struct rest_call *c)
{
    c->then = rest_change;
    c->again = rest_read_object;
    rest_ask(c, "GET", NULL, rest_object_path(c->row), NULL);
}

static void rest_take_row(struct rest_call *c, const json_t *answer)
{
    const json_t *row = json_array_get(json_object_get(answer, "jobs"), 0);
    AUTO_FREE char *path = row ? rest_object_path(row) : NULL;
    bool is_update = text_equal(c->x->request.method, "POST");

    if (!row) {
        rest_fail(c, STATUS_ABSENT, "Invalid job id specified");
    } else if (!path) {
        rest_fail(c, STATUS_REFUSED,
                  "jobs of other doors are not changed here: mete cancel, mete hold");
    } else if (!slurm_state_is_live(json_text(row, "state")) && is_update) {
        rest_fail(c, STATUS_CONFLICT, "Job/step already completing or completed");
    } else if (!slurm_state_is_live(json_text(row, "state"))) {
        c->done(c);
    } else if (json_int(row, "hetJobOffset", 0) > 0) {
        rest_fail(c, STATUS_CONFLICT, "a component changes with its job");
    } else {
        c->row = json_deep_copy(row);
        rest_read_object(c);
    }
}

/* ---- cancelling ---- */

static struct err *cancel_patch(struct rest_call *c, const json_t *job, const char *elements,
                                json_t **ret)
{
    (void)c;
    return slurm_cancel_patch(job, elements, ret);
}

static void rest_tell_done(struct rest_call *c)
{
    rest_end(c, STATUS_OK, rest_document());
}

/* Other signals would not end the job. */
static bool ends_job(const char *signal)
{
    static const char *const ends[] = {"9", "15", "KILL", "TERM", "SIGKILL", "SIGTERM"};

    for (size_t i = 0; i < COUNT(ends); i++)
        if (!signal || strcasecmp(signal, ends[i]) == 0)
            return true;
    return false;
}

void rest_cancel(struct rest_call *c)
{
    const char *flags = query_get(c->query, "flags");

    if (!ends_job(query_get(c->query, "signal")) || (flags && *flags)) {
        rest_fail(c, STATUS_WRONG,
                  "a signal other than KILL and TERM, and flags, are not available yet: scancel");
        return;
    }
    c->change = cancel_patch;
    c->done = rest_tell_done;
    rest_ask_job(c, rest_take_row);
}

/* ---- an update ---- */

static struct err *update_patch(struct rest_call *c, const json_t *job, const char *elements,
                                json_t **ret)
{
    const struct slurm_view view = rest_view(c);

    return slurm_rest_update(c->held, job, elements, view.now_s, view.zone, ret);
}

static void rest_tell_updated(struct rest_call *c)
{
    json_t *document = rest_document();

    json_put(document, "results",
             json_pack("[{s:I,s:s,s:s,s:i,s:s}]", "job_id", (json_int_t)c->number, "step_id", "",
                       "error", "No error", "error_code", 0, "why", ""));
    rest_end(c, STATUS_OK, document);
}

void rest_update_job(struct rest_call *c)
{
    AUTO(err_freep) struct err *e = json_parse(c->x->request.body, &c->held);

    if (!e && !json_is_object(c->held))
        e = err_new(ERR_BAD_REQUEST, "want an object with the members of the job to change");
    if (e) {
        rest_fail(c, STATUS_WRONG, err_message(e));
        return;
    }
    c->change = update_patch;
    c->done = rest_tell_updated;
    rest_ask_job(c, rest_take_row);
}
