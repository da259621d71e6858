/* job_flags.c - the job that the flags of `mete run` ask for */

#include "cli/job/job_flags.h"

#include <ctype.h>

#include "base/mem.h"

static struct err *bad_gpus(const char *text)
{
    return err_new(
        ERR_BAD_REQUEST,
        "--gpus \"%s\": want a number of GPUs or a part of one, with or without a model: "
        "2, a100:2, 0.5, 20Gi, 0.3,20Gi, mig-1g.10gb, 2xmig-1g.10gb, shared, amd, 2xamd",
        text);
}

struct err *job_ask_parse(const char *text, struct gpu_ask *ret, char ret_model[JOB_MODEL_SIZE])
{
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    struct gpu_ask ask;
    AUTO(err_freep) struct err *e = gpu_ask_parse(colon ? colon + 1 : text, &ask);

    if (e || (colon && length == 0) || length >= JOB_MODEL_SIZE ||
        (colon && text_starts_with(text, "mig-")))
        return bad_gpus(text);
    for (size_t i = 0; i < length; i++)
        ret_model[i] = (char)tolower((unsigned char)text[i]);
    ret_model[length] = '\0';
    *ret = ask;
    return NULL;
}

struct err *job_gpus_parse(const char *text, int64_t *ret_count, char ret_model[JOB_MODEL_SIZE])
{
    struct gpu_ask ask = {0};
    AUTO(err_freep) struct err *e = job_ask_parse(text, &ask, ret_model);

    if (!e && ask.kind == DEVICE_WHOLE && ask.vendor == GPU_NVIDIA) {
        *ret_count = ask.count;
        return NULL;
    }
    return err_new(ERR_BAD_REQUEST,
                   "--gpus \"%s\": want a number of whole GPUs, or a model and a number: 2, a100:2",
                   text);
}

/* Reads "K=V", or "K" for its value in this process. */
static struct err *env_read(const char *text, struct job_spec *s)
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
    job_spec_add_variable(s, name, value);
    return NULL;
}

struct err *job_flags_read(const struct invocation *in, struct job_spec *ret)
{
    const char *gpus = flag_text(in, "gpus");
    const char *variable;

    ret->name = flag_text(in, "name");
    ret->image = flag_text(in, "image");
    ret->command = (const char *const *)in->arguments.at;
    ret->n_command = in->arguments.n;
    ret->queue = flag_text(in, "queue");
    ret->priority_class = flag_text(in, "priority");
    ret->reservation = flag_text(in, "reservation");
    ret->is_held = flag_switch(in, "hold");
    ret->never_requeued = flag_switch(in, "no-requeue");
    ret->limit_ns = flag_duration_ns(in, "time", 0);
    ret->expected_ns = flag_duration_ns(in, "expect", 0);
    ret->cpu = flag_text(in, "cpu");
    ret->memory = flag_text(in, "memory");
    if (gpus)
        TRY(job_ask_parse(gpus, &ret->gpus, ret->model));
    for (size_t i = 0; (variable = flag_repeated(in, "env", i)); i++)
        TRY(env_read(variable, ret));
    return NULL;
}
