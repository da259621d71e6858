/* scontrol_change.c - scontrol hold, release, requeue, suspend and update */

#include <inttypes.h>
#include <strings.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cli/slurm/scontrol.h"
#include "model/hostlist.h"
#include "model/slurm_array.h"
#include "slurm/cancel.h"
#include "slurm/query.h"
#include "slurm/states.h"
#include "slurm/update.h"

enum {
    CHANGE_TRIES = 20
};

struct err *scontrol_find_job(struct scontrol *x, const char *name, json_t **ret_row,
                              char **ret_elements)
{
    AUTO(slurm_job_name_done) struct slurm_job_name parsed = {0};
    AUTO(err_freep) struct err *e = slurm_job_name_parse(str_of(name), &parsed);
    AUTO(json_freep) json_t *rows = NULL;
    AUTO_FREE char *path = NULL;
    struct slurm_query query = {0};
    AUTO(buf_done) struct buf ids = {0};

    if (e)
        return err_new(ERR_INVALID, "Invalid job id specified");
    TRY(slurm_ids_parse(name, &ids));
    slurm_query_begin(&query, "jobs");
    slurm_query_add(&query, "ids", ids.at);
    slurm_query_add(&query, "states", "all");
    path = slurm_query_end(&query);
    TRY(slurm_rows(&x->s, path, "jobs", &rows));
    if (json_array_size(rows) == 0)
        return err_new(ERR_INVALID, "Invalid job id specified");
    if (json_int(json_array_get(rows, 0), "hetJobOffset", 0) > 0)
        return err_new(ERR_INVALID, "a component changes with its job %" PRId64,
                       json_int(json_array_get(rows, 0), "hetJobId", 0));
    *ret_row = json_incref(json_array_get(rows, 0));
    *ret_elements = slurm_cancel_elements(*ret_row, parsed.id, &parsed.indexes);
    return NULL;
}

/* A change of a SlurmJob: makes the patch of the job that was read. */
struct change {
    const char *verb; /* NULL: update */
    const char *elements;
    const struct slurm_update *updates;
    size_t n_updates;
    const struct slurm_view *view;
};

static struct err *change_patch(const struct change *c, const json_t *job, json_t **ret)
{
    const char *hold = geteuid() == 0 ? "admin" : "user";

    if (!c->verb)
        return slurm_update_patch(job, c->updates, c->n_updates, c->view->now_s, c->view->zone,
                                  ret);
    if (text_equal(c->verb, "hold"))
        return slurm_hold_patch(job, c->elements, hold, ret);
    if (text_equal(c->verb, "uhold"))
        return slurm_hold_patch(job, c->elements, "user", ret);
    if (text_equal(c->verb, "release"))
        return slurm_hold_patch(job, c->elements, NULL, ret);
    if (text_equal(c->verb, "suspend") || text_equal(c->verb, "resume"))
        return slurm_suspend_patch(job, c->elements, text_equal(c->verb, "suspend"), ret);
    return slurm_requeue_patch(job, c->elements, text_equal(c->verb, "requeuehold") ? hold : NULL,
                               ret);
}

static struct err *change_try(struct scontrol *x, const char *path, const struct change *c)
{
    AUTO(json_freep) json_t *job = NULL;
    AUTO(json_freep) json_t *patch = NULL;
    struct call get = {.path = path};
    struct call call = {
        .method = "PATCH", .path = path, .content_type = "application/merge-patch+json"};

    TRY(slurm_call(&x->s, &get, &job));
    TRY(change_patch(c, job, &patch));
    call.body = patch;
    return slurm_call(&x->s, &call, NULL);
}

/* Only what runs is suspended, and only what is suspended resumes. */
static struct err *check_suspension(const char *verb, const char *state)
{
    const char *want = text_equal(verb, "suspend")  ? "RUNNING"
                       : text_equal(verb, "resume") ? "SUSPENDED"
                                                    : NULL;

    if (!want || text_equal(state, want))
        return NULL;
    if (text_equal(state, "PENDING"))
        return err_new(ERR_CONFLICT, "Job is pending execution");
    return err_new(ERR_CONFLICT, slurm_state_is_live(state)
                                     ? "Requested operation is presently disabled"
                                     : "Job/step already completing or completed");
}

/* Changes the job that `name` names. */
static struct err *change_job(struct scontrol *x, const char *name, struct change *c)
{
    AUTO(json_freep) json_t *row = NULL;
    AUTO_FREE char *elements = NULL;
    AUTO_FREE char *path = NULL;
    const char *object;
    const char *slash;

    TRY(scontrol_find_job(x, name, &row, &elements));
    object = json_text(row, "object");
    slash = object ? strchr(object, '/') : NULL;
    if (!slash || !json_bool(row, "batch", false))
        return err_new(ERR_INVALID,
                       "job %s was not submitted by sbatch: use mete hold, release or "
                       "requeue",
                       name);
    TRY(check_suspension(c->verb, json_text(row, "state")));
    c->elements = elements;
    path = path_format("/apis/mete.dev/v1/namespaces/%.*s/slurmjobs/%s", (int)(slash - object),
                       object, slash + 1);
    for (int i = 0;; i++) {
        struct err *e = change_try(x, path, c);

        if (!e || err_code(e) != ERR_CONFLICT || i == CHANGE_TRIES)
            return e;
        err_free(e);
    }
}

struct err *scontrol_change(struct scontrol *x, const char *verb, size_t n,
                            const char *const *words)
{
    struct change c = {.verb = verb, .view = &x->s.view};

    if (n == 0)
        return err_new(ERR_INVALID, "too few arguments for keyword:%s", verb);
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *list = mem_strdup(words[i]);
        struct str rest = str_of(list);

        while (rest.at) {
            struct str name = strchr(list, '[') ? rest : str_cut(&rest, ',');
            AUTO_FREE char *text = mem_strndup(name.at, name.size);

            if (strchr(list, '['))
                rest = (struct str){0};
            TRY(change_job(x, text, &c));
        }
    }
    return NULL;
}

/* ---- update ---- */

static struct err *update_nodes(struct scontrol *x, const char *names,
                                const struct slurm_update *updates, size_t n)
{
    AUTO(hostlist_done) struct hostlist hosts = {0};
    AUTO(json_freep) json_t *patch = NULL;

    TRY(slurm_node_patch(updates, n, &patch));
    TRY(hostlist_parse(str_of(names), HOSTLIST_MAX, &hosts));
    for (size_t i = 0; i < hosts.names.n; i++) {
        AUTO_FREE char *path = path_format("/api/v1/nodes/%s", hosts.names.at[i]);
        struct call call = {.method = "PATCH",
                            .path = path,
                            .content_type = "application/merge-patch+json",
                            .body = patch};

        TRY(slurm_call(&x->s, &call, NULL));
    }
    return NULL;
}

struct err *scontrol_update(struct scontrol *x, size_t n, const char *const *words)
{
    static const char *const entities[] = {"JobId", "JobName", "Job", "NodeName", "NodeNames"};
    struct slurm_update *updates = NULL;
    AUTO_FREE void *memory = updates = mem_alloc((n + 1) * sizeof(*updates));
    AUTO_FREE char **keys = mem_alloc((n + 1) * sizeof(*keys));
    struct change c = {.updates = updates, .view = &x->s.view};
    const char *entity = NULL;
    const char *name = NULL;
    struct err *e = NULL;

    if (scontrol_names_reservation(n, words))
        return scontrol_change_reservation(x, "update", n, words);
    if (scontrol_names_partition(n, words))
        return scontrol_update_partition(x, n, words);
    for (size_t i = 0; i < n; i++) {
        const char *equals = strchr(words[i], '=');
        bool is_entity = false;

        keys[i] = mem_strndup(words[i], equals ? (size_t)(equals - words[i]) : strlen(words[i]));
        for (size_t k = 0; k < COUNT(entities) && equals && !entity; k++)
            is_entity = is_entity || strcasecmp(entities[k], keys[i]) == 0;
        if (is_entity) {
            entity = keys[i];
            name = equals + 1;
        } else {
            updates[c.n_updates++] = (struct slurm_update){keys[i], equals ? equals + 1 : ""};
        }
    }
    if (!entity || strcasecmp(entity, "JobName") == 0)
        e = err_new(ERR_INVALID, "No valid entity in update command\nInput line must include "
                                 "\"NodeName\" or \"JobId\"");
    else if (strncasecmp(entity, "Node", 4) == 0)
        e = update_nodes(x, name, updates, c.n_updates);
    else
        e = change_job(x, name, &c);
    for (size_t i = 0; i < n; i++)
        free(keys[i]);
    return e;
}
