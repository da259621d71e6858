/* scancel_signal.c - signals to jobs that go on */

#include <signal.h>

#include "base/mem.h"
#include "base/num.h"
#include "cli/slurm/scancel_private.h"
#include "kinds/pod/pod_view.h"
#include "kinds/slurm/slurm_job.h"
#include "model/index_set.h"
#include "model/slurm_array.h"
#include "slurm/signals.h"

struct scancel_signal scancel_signal_of(const struct slurm_words *w, const char *step)
{
    const char *name = slurm_words_value(w, "signal");
    bool is_full = slurm_words_has(w, "full");
    bool is_batch = slurm_words_has(w, "batch") || text_equal(step, "batch");
    bool is_step = step && !text_equal(step, "batch");
    struct scancel_signal signal = {.number = name ? slurm_signal_number(str_of(name)) : SIGKILL,
                                    .to = is_full    ? "all"
                                          : is_batch ? "first"
                                                     : "steps"};

    if (is_step)
        return (struct scancel_signal){signal.number, "steps", step};
    if (signal.number == SIGKILL && !is_batch)
        signal.number = 0; /* as without a signal */
    return signal;
}

/* ---- the pods ---- */

static struct err *signal_pod(struct slurm_command *s, const struct scancel_signal *signal,
                              const char *ns, const char *name)
{
    AUTO_FREE char *path = path_format("/api/v1/namespaces/%s/pods/%s/signal", ns, name);
    AUTO(json_freep)
    json_t *body = json_pack("{s:i, s:s}", "signal", signal->number, "to", signal->to);
    const struct call call = {.method = "POST", .path = path, .body = body};

    json_put_text(body, "step", signal->step);
    return slurm_call(s, &call, NULL);
}

static bool is_element_of(const json_t *pod, const char *elements)
{
    const char *text = json_text_at(pod, "metadata", "labels", SLURM_INDEX_LABEL, NULL);
    AUTO(index_set_done) struct index_set set = {0};
    AUTO(err_freep) struct err *e = NULL;
    AUTO(err_freep) struct err *other = NULL;
    int64_t index = 0;

    if (text_equal(elements, "*") || !text)
        return true;
    e = index_set_parse(str_of(elements), SLURM_ARRAY_MAX, &set);
    other = num_parse_int64(str_of(text), 0, SLURM_ARRAY_MAX, &index);
    return !e && !other && index_set_has(&set, (size_t)index);
}

/* The phase of a pod that has just started may not say so yet. */
static bool is_on_node(const json_t *pod)
{
    return json_text_filled(json_object_get(pod, "spec"), "nodeName") && !pod_is_terminal(pod);
}

/* Signals the running pods of the list. A pod that ends meanwhile is no error. */
static struct err *signal_list(struct slurm_command *s, const struct scancel_signal *signal,
                               const json_t *pods, const char *ns, const char *elements)
{
    const json_t *pod = NULL;
    size_t n = 0;
    size_t i = 0;

    json_array_foreach (pods, i, pod) {
        struct err *e = NULL;

        if (!is_on_node(pod) || !is_element_of(pod, elements))
            continue;
        n++;
        e = signal_pod(s, signal, ns, json_text_at(pod, "metadata", "name", NULL));
        if (e && err_code(e) != ERR_NOT_FOUND && err_code(e) != ERR_CONFLICT)
            return e;
        err_free(e);
    }
    return n > 0 ? NULL : err_new(ERR_CONFLICT, "Job is pending execution");
}

struct err *scancel_send(struct slurm_command *s, const struct scancel_signal *signal,
                         const json_t *row, const char *elements)
{
    const char *object = json_text(row, "object");
    const char *slash = strchr(object, '/');
    AUTO_FREE char *ns = mem_strndup(object, (size_t)(slash - object));
    AUTO_FREE char *path = path_format(
        "/api/v1/namespaces/%s/pods?labelSelector=" SLURM_JOB_LABEL "%%3D%s", ns, slash + 1);
    const struct call call = {.path = path};
    AUTO(json_freep) json_t *list = NULL;

    if (!json_bool(row, "batch", false))
        return signal_pod(s, signal, ns, slash + 1);
    TRY(slurm_call(s, &call, &list));
    return signal_list(s, signal, json_object_get(list, "items"), ns, elements);
}
