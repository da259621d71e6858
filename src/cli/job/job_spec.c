/* job_spec.c - the Pod that `mete run` submits */

#include "cli/job/job_spec.h"

#include <ctype.h>
#include <inttypes.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "kinds/object/requeue.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/queue.h"
#include "model/quantity.h"

enum {
    NAME_STEM_MAX = 40,
    NAME_RANDOM = 5,
    MODEL_SIZE = 64
};

static struct err *bad_gpus(const char *text)
{
    return err_new(
        ERR_BAD_REQUEST,
        "--gpus \"%s\": want a number of GPUs or a part of one, with or without a model: "
        "2, a100:2, 0.5, 20Gi, 0.3,20Gi, mig-1g.10gb, 2xmig-1g.10gb, shared",
        text);
}

struct err *job_ask_parse(const char *text, struct gpu_ask *ret, char *ret_model, size_t size)
{
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    struct gpu_ask ask;
    AUTO(err_freep) struct err *e = gpu_ask_parse(colon ? colon + 1 : text, &ask);

    if (e || (colon && length == 0) || length >= size || (colon && text_starts_with(text, "mig-")))
        return bad_gpus(text);
    for (size_t i = 0; i < length; i++)
        ret_model[i] = (char)tolower((unsigned char)text[i]);
    ret_model[length] = '\0';
    *ret = ask;
    return NULL;
}

struct err *job_gpus_parse(const char *text, int64_t *ret_count, char *ret_model, size_t size)
{
    struct gpu_ask ask = {0};
    AUTO(err_freep) struct err *e = job_ask_parse(text, &ask, ret_model, size);

    if (!e && ask.kind == DEVICE_WHOLE) {
        *ret_count = ask.count;
        return NULL;
    }
    return err_new(ERR_BAD_REQUEST,
                   "--gpus \"%s\": want a number of whole GPUs, or a model and a number: 2, a100:2",
                   text);
}

/* Reads "K=V", or "K" for its value in this process: {"name","value"}. */
static struct err *parse_env(const char *text, json_t **ret)
{
    const char *equals = strchr(text, '=');
    AUTO_FREE char *name = mem_strndup(text, equals ? (size_t)(equals - text) : strlen(text));
    const char *value =
        equals ? equals + 1 : getenv(name); /* NOLINT(concurrency-mt-unsafe): one thread */

    if (!name[0])
        return err_new(ERR_BAD_REQUEST, "--env \"%s\": want NAME=VALUE", text);
    if (!value)
        return err_new(ERR_BAD_REQUEST,
                       "--env \"%s\": the variable is not set in this shell: want NAME=VALUE",
                       text);
    *ret = json_object();
    json_put_text(*ret, "name", name);
    json_put_text(*ret, "value", value);
    return NULL;
}

char *job_name_make(const char *command)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    const char *slash = strrchr(command, '/');
    uint8_t dice[NAME_RANDOM];
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
    random_bytes(dice, sizeof(dice));
    for (size_t i = 0; i < sizeof(dice); i++)
        buf_add_char(&b, letters[dice[i] % (sizeof(letters) - 1)]);
    return buf_steal(&b);
}

static struct err *add_quantity(const struct invocation *in, const char *flag, json_t *limits)
{
    const char *text = flag_text(in, flag);
    struct quantity q = {0};
    AUTO(err_freep) struct err *e = text ? quantity_parse(str_of(text), &q) : NULL;

    if (!text)
        return NULL;
    if (e || q.milli <= 0)
        return err_new(ERR_BAD_REQUEST, "--%s \"%s\": want an amount above 0: %s", flag, text,
                       text_equal(flag, "cpu") ? "4, 500m" : "512Mi, 8Gi");
    json_put_text(limits, flag, text);
    return NULL;
}

static struct err *add_resources(const struct invocation *in, json_t *container, json_t *pod)
{
    const char *gpus = flag_text(in, "gpus");
    json_t *limits = json_object_at(json_object_at(container, "resources"), "limits");
    char model[MODEL_SIZE] = "";
    struct gpu_ask ask = {0};

    TRY(add_quantity(in, "cpu", limits));
    TRY(add_quantity(in, "memory", limits));
    if (gpus)
        TRY(job_ask_parse(gpus, &ask, model, sizeof(model)));
    if (ask.count > 0)
        pod_ask_for(pod, container, &ask);
    if (model[0])
        json_put_text(json_object_at(json_object_at(pod, "spec"), "nodeSelector"),
                      "mete.dev/gpu.model", model);
    return NULL;
}

static struct err *add_env(const struct invocation *in, json_t *container)
{
    const char *text;

    for (size_t i = 0; (text = flag_repeated(in, "env", i)); i++) {
        json_t *variable = NULL;

        TRY(parse_env(text, &variable));
        (void)json_array_append_new(json_array_at(container, "env"), variable);
    }
    return NULL;
}

static json_t *command_of(const struct invocation *in)
{
    json_t *command = json_array();

    VEC_EACH (&in->arguments, word) {
        json_t *text = json_string(*word);

        (void)json_array_append_new(
            command, text ? text : json_null()); /* not UTF-8: the caller refuses it */
    }
    return command;
}

static struct err *check_utf8(const struct invocation *in)
{
    VEC_EACH (&in->arguments, word) {
        AUTO(json_freep) json_t *text = json_string(*word);

        if (!text)
            return err_new(ERR_BAD_REQUEST,
                           "argument \"%s\" is not UTF-8, and a manifest cannot contain it", *word);
    }
    return NULL;
}

/* Adds queue, hold and priority of the job. */
static void add_queue(const struct invocation *in, json_t *metadata, json_t *spec)
{
    const char *queue = flag_text(in, "queue");
    const char *class = flag_text(in, "priority");
    const char *reservation = flag_text(in, "reservation");
    int64_t expected_ns = flag_duration_ns(in, "expect", 0);
    AUTO_FREE char *expected = mem_format("%" PRId64 "s", expected_ns / NS_PER_SEC);

    if (queue)
        json_put_text(json_object_at(metadata, "labels"), QUEUE_LABEL, queue);
    if (expected_ns > 0)
        json_put_text(json_object_at(metadata, "annotations"), QUEUE_EXPECTED, expected);
    if (flag_switch(in, "hold"))
        json_put_text(json_object_at(metadata, "annotations"), QUEUE_HOLD, "user");
    if (flag_switch(in, "no-requeue"))
        json_put_text(json_object_at(metadata, "annotations"), POD_REQUEUE, "never");
    if (reservation)
        json_put_text(json_object_at(metadata, "annotations"), QUEUE_RESERVATION, reservation);
    if (class)
        json_put_text(spec, "priorityClassName", class);
}

static struct err *job_spec_fill(const struct invocation *in, const char *ns, const char *cwd,
                                 json_t *pod)
{
    const char *name = flag_text(in, "name");
    AUTO_FREE char *made = name ? NULL : job_name_make(in->arguments.at[0]);
    json_t *metadata = json_object_at(pod, "metadata");
    json_t *spec = json_object_at(pod, "spec");
    json_t *container = json_object();
    int64_t limit_ns = flag_duration_ns(in, "time", 0);

    json_put_text(metadata, "name", name ? name : made);
    json_put_text(metadata, "namespace", ns);
    add_queue(in, metadata, spec);
    json_put_text(spec, "restartPolicy", "Never");
    (void)json_array_append_new(json_array_at(spec, "containers"), container);
    json_put_text(container, "name", "main");
    json_put_text(container, "image", flag_text(in, "image"));
    json_put(container, "command", command_of(in));
    if (cwd)
        json_put_text(container, "workingDir", cwd);
    if (limit_ns > 0)
        json_put_int(spec, "activeDeadlineSeconds", (limit_ns + NS_PER_SEC - 1) / NS_PER_SEC);
    TRY(add_resources(in, container, pod));
    return add_env(in, container);
}

struct err *job_spec_make(const struct invocation *in, const char *ns, const char *cwd,
                          json_t **ret)
{
    AUTO(json_freep) json_t *pod = json_object();

    TRY(check_utf8(in));
    json_put_text(pod, "apiVersion", "v1");
    json_put_text(pod, "kind", "Pod");
    TRY(job_spec_fill(in, ns, cwd, pod));
    *ret = TAKE(pod);
    return NULL;
}
