/* job_spec.c - the Pod of a job without a manifest */

#include "kinds/job/job_spec.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/object/requeue.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/queue.h"
#include "model/quantity.h"

enum {
    NAME_STEM_MAX = 40
};

void job_spec_done(struct job_spec *s)
{
    VEC_EACH (&s->env, variable) {
        free(variable->name);
        free(variable->value);
    }
    vec_done(&s->env);
}

void job_spec_add_variable(struct job_spec *s, const char *name, const char *value)
{
    vec_add(&s->env, (struct job_variable){.name = mem_strdup(name), .value = mem_strdup(value)});
}

char *job_name_make(const char *command, const uint8_t dice[JOB_NAME_RANDOM])
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    const char *slash = strrchr(command, '/');
    struct buf b = {0};

    for (const char *at = slash ? slash + 1 : command; *at && b.size < NAME_STEM_MAX; at++) {
        if (isalnum((unsigned char)*at))
            buf_add_char(&b, (char)tolower((unsigned char)*at));
        else if (b.size > 0 && b.at[b.size - 1] != '-')
            buf_add_char(&b, '-');
    }
    if (b.size == 0)
        buf_add_text(&b, "job-");
    if (b.at[b.size - 1] != '-')
        buf_add_char(&b, '-');
    for (size_t i = 0; i < JOB_NAME_RANDOM; i++)
        buf_add_char(&b, letters[dice[i] % (sizeof(letters) - 1)]);
    return buf_steal(&b);
}

static struct err *job_add_quantity(const char *resource, const char *text, json_t *limits)
{
    struct quantity q = {0};
    AUTO(err_freep) struct err *e = text ? quantity_parse(str_of(text), &q) : NULL;

    if (!text)
        return NULL;
    if (e || q.milli <= 0)
        return err_new(ERR_BAD_REQUEST, "%s \"%s\": want an amount above 0: %s", resource, text,
                       text_equal(resource, "cpu") ? "4, 500m" : "512Mi, 8Gi");
    json_put_text(limits, resource, text);
    return NULL;
}

static struct err *job_add_resources(const struct job_spec *s, json_t *container, json_t *pod)
{
    json_t *limits = json_object_at(json_object_at(container, "resources"), "limits");

    TRY(job_add_quantity("cpu", s->cpu, limits));
    TRY(job_add_quantity("memory", s->memory, limits));
    if (s->gpus.count > 0)
        pod_ask_for(pod, container, &s->gpus);
    if (s->model[0])
        json_put_text(json_object_at(json_object_at(pod, "spec"), "nodeSelector"),
                      "mete.dev/gpu.model", s->model);
    return NULL;
}

static void job_add_env(const struct job_spec *s, json_t *container)
{
    VEC_EACH (&s->env, variable) {
        json_t *entry = json_object();

        json_put_text(entry, "name", variable->name);
        json_put_text(entry, "value", variable->value);
        (void)json_array_append_new(json_array_at(container, "env"), entry);
    }
}

static struct err *job_add_command(const struct job_spec *s, json_t *container)
{
    json_t *command = json_array_at(container, "command");

    for (size_t i = 0; i < s->n_command; i++) {
        json_t *text = json_string(s->command[i]);

        if (!text)
            return err_new(ERR_BAD_REQUEST,
                           "argument \"%s\" is not UTF-8, and a manifest cannot contain it",
                           s->command[i]);
        (void)json_array_append_new(command, text);
    }
    return NULL;
}

/* Adds queue, hold and priority of the job. */
static void job_add_queue(const struct job_spec *s, json_t *metadata, json_t *spec)
{
    AUTO_FREE char *expected = mem_format("%" PRId64 "s", s->expected_ns / NS_PER_SEC);

    if (s->queue)
        json_put_text(json_object_at(metadata, "labels"), QUEUE_LABEL, s->queue);
    if (s->expected_ns > 0)
        json_put_text(json_object_at(metadata, "annotations"), QUEUE_EXPECTED, expected);
    if (s->is_held)
        json_put_text(json_object_at(metadata, "annotations"), QUEUE_HOLD, "user");
    if (s->never_requeued)
        json_put_text(json_object_at(metadata, "annotations"), POD_REQUEUE, "never");
    if (s->reservation)
        json_put_text(json_object_at(metadata, "annotations"), QUEUE_RESERVATION, s->reservation);
    if (s->priority_class)
        json_put_text(spec, "priorityClassName", s->priority_class);
}

static struct err *job_spec_fill(const struct job_spec *s, const char *name, json_t *pod)
{
    json_t *metadata = json_object_at(pod, "metadata");
    json_t *spec = json_object_at(pod, "spec");
    json_t *container = json_object();

    json_put_text(metadata, "name", name);
    json_put_text(metadata, "namespace", s->ns);
    job_add_queue(s, metadata, spec);
    json_put_text(spec, "restartPolicy", "Never");
    (void)json_array_append_new(json_array_at(spec, "containers"), container);
    json_put_text(container, "name", "main");
    json_put_text(container, "image", s->image);
    TRY(job_add_command(s, container));
    if (s->cwd)
        json_put_text(container, "workingDir", s->cwd);
    if (s->limit_ns > 0)
        json_put_int(spec, "activeDeadlineSeconds", (s->limit_ns + NS_PER_SEC - 1) / NS_PER_SEC);
    TRY(job_add_resources(s, container, pod));
    job_add_env(s, container);
    return NULL;
}

struct err *job_spec_make(const struct job_spec *s, const uint8_t dice[JOB_NAME_RANDOM],
                          json_t **ret)
{
    AUTO_FREE char *made = s->name ? NULL : job_name_make(s->command[0], dice);
    AUTO(json_freep) json_t *pod = json_object();

    json_put_text(pod, "apiVersion", "v1");
    json_put_text(pod, "kind", "Pod");
    TRY(job_spec_fill(s, s->name ? s->name : made, pod));
    *ret = TAKE(pod);
    return NULL;
}
