/* rest_submit.c - the body of job/submit as options of sbatch */

#include <inttypes.h>

#include "base/mem.h"
#include "slurm/rest.h"
#include "slurm/submit.h"
#include "slurm/update.h"

enum rest_form {
    REST_TEXT,
    REST_NUMBER, /* N, or {"set", "infinite", "number"} */
    REST_LIST,   /* of texts, which commas join, or the joined text */
    REST_FLAG,   /* an option without a value, if true */
    REST_MOMENT, /* seconds since 1970 */
    REST_TRES    /* "gres/gpu:2" or "gres/gpu=2": the part behind the slash */
};

/* The members of a job, and the options of sbatch that they mean. */
static const struct {
    const char *member;
    const char *option;
    enum rest_form form;
    const char *unit;   /* behind a number */
    const char *update; /* the key of scontrol update; NULL: no change after the submission */
} rest_members[] = {
    {"account", "account", REST_TEXT, NULL, "Account"},
    {"array", "array", REST_TEXT, NULL, NULL},
    {"begin_time", "begin", REST_MOMENT, NULL, "StartTime"},
    {"comment", "comment", REST_TEXT, NULL, "Comment"},
    {"constraints", "constraint", REST_TEXT, NULL, NULL},
    {"cpus_per_task", "cpus-per-task", REST_NUMBER, NULL, NULL},
    {"current_working_directory", "chdir", REST_TEXT, NULL, NULL},
    {"deadline", "deadline", REST_MOMENT, NULL, "Deadline"},
    {"dependency", "dependency", REST_TEXT, NULL, "Dependency"},
    {"excluded_nodes", "exclude", REST_LIST, NULL, NULL},
    {"hold", "hold", REST_FLAG, NULL, NULL},
    {"licenses", "licenses", REST_TEXT, NULL, NULL},
    {"memory_per_cpu", "mem-per-cpu", REST_NUMBER, "M", NULL},
    {"memory_per_node", "mem", REST_NUMBER, "M", NULL},
    {"minimum_cpus_per_node", "mincpus", REST_NUMBER, NULL, "MinCPUsNode"},
    {"name", "job-name", REST_TEXT, NULL, "JobName"},
    {"nice", "nice", REST_NUMBER, NULL, "Nice"},
    {"nodes", "nodes", REST_TEXT, NULL, NULL},
    {"partition", "partition", REST_TEXT, NULL, "Partition"},
    {"qos", "qos", REST_TEXT, NULL, "QOS"},
    {"required_nodes", "nodelist", REST_LIST, NULL, NULL},
    {"reservation", "reservation", REST_TEXT, NULL, "ReservationName"},
    {"standard_error", "error", REST_TEXT, NULL, NULL},
    {"standard_input", "input", REST_TEXT, NULL, NULL},
    {"standard_output", "output", REST_TEXT, NULL, NULL},
    {"tasks", "ntasks", REST_NUMBER, NULL, "NumTasks"},
    {"tasks_per_node", "ntasks-per-node", REST_NUMBER, NULL, NULL},
    {"time_limit", "time", REST_NUMBER, NULL, "TimeLimit"},
    {"time_minimum", "time-min", REST_NUMBER, NULL, "TimeMin"},
    {"tres_per_job", "gpus", REST_TRES, NULL, NULL},
    {"tres_per_node", "gres", REST_TRES, NULL, NULL},
    {"wckey", "wckey", REST_TEXT, NULL, "WCKey"},
};

/* Members that are read elsewhere. */
static const char *const rest_others[] = {"argv", "environment", "requeue", "script"};

static struct err *rest_wrong(const char *member)
{
    return err_new(ERR_BAD_REQUEST, "job.%s: malformed", member);
}

/* An absent or unset number gives no text. */
static struct err *rest_number(const json_t *value, const char *unit, const char *member,
                               char **ret)
{
    const json_t *number = json_is_object(value) ? json_object_get(value, "number") : value;

    if (json_is_object(value) && json_bool(value, "infinite", false)) {
        *ret = mem_strdup("UNLIMITED");
        return NULL;
    }
    if (json_is_object(value) && !json_bool(value, "set", true))
        return NULL;
    if (!json_is_integer(number))
        return rest_wrong(member);
    *ret = mem_format("%" PRId64 "%s", (int64_t)json_integer_value(number), text_or_empty(unit));
    return NULL;
}

static struct err *rest_list(const json_t *value, const char *member, char **ret)
{
    struct buf text = {0};
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (value, i, item) {
        if (!json_is_string(item)) {
            buf_done(&text);
            return rest_wrong(member);
        }
        buf_printf(&text, "%s%s", i > 0 ? "," : "", json_string_value(item));
    }
    *ret = text.size > 0 ? buf_steal(&text) : NULL;
    buf_done(&text);
    return NULL;
}

/* "gres/gpu:2" of --gres is "gpu:2"; of --gpus "2". */
static struct err *rest_tres(const char *text, const char *option, const char *member, char **ret)
{
    bool is_job = text_equal(option, "gpus");
    const char *rest = text;
    char *equals;

    if (text_starts_with(rest, "gres/") || text_starts_with(rest, "gres:"))
        rest += strlen("gres/");
    if (is_job && !text_starts_with(rest, "gpu:") && !text_starts_with(rest, "gpu="))
        return rest_wrong(member);
    *ret = mem_strdup(rest + (is_job ? strlen("gpu:") : 0));
    while ((equals = strchr(*ret, '=')))
        *equals = ':';
    return NULL;
}

/* The text of a member as the value of its option; NULL: not given. */
static struct err *rest_value(int64_t now_s, const json_t *value, size_t i, char **ret)
{
    const char *member = rest_members[i].member;
    const char *text = json_string_value(value);
    int64_t at_s = 0;

    switch (rest_members[i].form) {
    case REST_FLAG:
        if (!json_is_boolean(value))
            return rest_wrong(member);
        *ret = json_is_true(value) ? mem_strdup("") : NULL;
        return NULL;
    case REST_NUMBER:
        return rest_number(value, rest_members[i].unit, member, ret);
    case REST_LIST:
        if (json_is_array(value))
            return rest_list(value, member, ret);
        break;
    case REST_MOMENT:
        at_s = json_is_object(value) ? json_int(value, "number", 0) : json_integer_value(value);
        if (at_s > 0)
            *ret = mem_format("now+%" PRId64, at_s > now_s ? at_s - now_s : 0);
        return NULL;
    case REST_TRES:
        if (text && *text)
            return rest_tres(text, rest_members[i].option, member, ret);
        break;
    case REST_TEXT:
        break;
    }
    if (!text)
        return rest_wrong(member);
    *ret = *text ? mem_strdup(text) : NULL;
    return NULL;
}

static bool rest_is_known(const char *name)
{
    for (size_t i = 0; i < COUNT(rest_others); i++)
        if (text_equal(rest_others[i], name))
            return true;
    for (size_t i = 0; i < COUNT(rest_members); i++)
        if (text_equal(rest_members[i].member, name))
            return true;
    return false;
}

/* A member that is not known could restrict the job: it is refused. */
static struct err *rest_check(json_t *job)
{
    const char *name;
    json_t *value;

    json_object_foreach (job, name, value)
        if (!rest_is_known(name) && !json_is_null(value))
            return err_new(ERR_INVALID, "job.%.64s is not available yet", name);
    return NULL;
}

/* Applies one member as its option. */
static struct err *rest_apply(struct slurm_submit *s, size_t i, const json_t *value)
{
    AUTO_FREE char *text = NULL;
    struct slurm_words words = {0};
    struct err *e = NULL;

    TRY(rest_value(s->now_s, value, i, &text));
    if (!text)
        return NULL;
    vec_add(&words.given, (struct slurm_given){.name = rest_members[i].option, .value = text});
    e = slurm_submit_apply(s, &words);
    slurm_words_done(&words);
    return e;
}

static struct err *rest_fill(struct slurm_submit *s, json_t *job, const char *script)
{
    const json_t *arguments = json_object_get(job, "argv");
    const json_t *environment = json_object_get(job, "environment");

    TRY(rest_check(job));
    for (size_t i = 0; i < COUNT(rest_members); i++) {
        const json_t *value = json_object_get(job, rest_members[i].member);

        if (value && !json_is_null(value))
            TRY(rest_apply(s, i, value));
    }
    if (!script || !text_starts_with(script, "#!"))
        return err_new(ERR_INVALID, "script: missing, or its first line is not \"#!\" and a "
                                    "program");
    if (!json_text_filled(s->spec, "workDir"))
        return err_new(ERR_INVALID, "job.current_working_directory: missing");
    json_put_text(s->spec, "script", script);
    if (json_is_boolean(json_object_get(job, "requeue")))
        json_put_bool(s->spec, "requeue", json_bool(job, "requeue", true));
    if (json_is_array(arguments) && json_array_size(arguments) > 0)
        json_put(s->spec, "arguments", json_deep_copy(arguments));
    if (json_is_array(environment) && json_array_size(environment) > 0)
        json_put(s->spec, "environment", json_deep_copy(environment));
    return NULL;
}

struct err *slurm_rest_job(const json_t *body, int64_t now_s, zone_fn zone, json_t **ret)
{
    AUTO(slurm_submit_done)
    struct slurm_submit s = {.now_s = now_s, .zone = zone, .spec = json_object()};
    json_t *job = json_object_get(body, "job");
    const char *script = json_text(body, "script");
    json_t *object;

    if (!json_is_object(job))
        return err_new(ERR_INVALID, "job: missing; an array of jobs is not available yet");
    TRY(rest_fill(&s, job, script ? script : json_text(job, "script")));
    object = json_pack("{s:s,s:s,s:{s:s}}", "apiVersion", "mete.dev/v1", "kind", "SlurmJob",
                       "metadata", "generateName", "slurm-");
    json_put(object, "spec", json_incref(s.spec));
    if (!json_text_filled(s.spec, "name"))
        json_put_text(json_object_get(object, "spec"), "name", "sbatch");
    *ret = object;
    return NULL;
}

/* ---- a change ---- */

/* The members with their keys of scontrol update; texts are owned by `texts`. */
struct rest_changes {
    VEC(struct slurm_update) updates;
    VEC(char *) texts;
};

static void rest_changes_done(struct rest_changes *ch)
{
    VEC_EACH (&ch->texts, text)
        free(*text);
    vec_done(&ch->texts);
    vec_done(&ch->updates);
}

static struct err *rest_change_add(struct rest_changes *ch, const char *name, const json_t *value,
                                   int64_t now_s)
{
    char *text = NULL;

    if (text_equal(name, "requeue") && json_is_boolean(value)) {
        vec_add(&ch->updates, (struct slurm_update){"Requeue", json_is_true(value) ? "1" : "0"});
        return NULL;
    }
    for (size_t i = 0; i < COUNT(rest_members); i++) {
        if (!rest_members[i].update || !text_equal(rest_members[i].member, name))
            continue;
        if (!json_is_string(value) || *json_string_value(value)) /* an empty text takes it away */
            TRY(rest_value(now_s, value, i, &text));
        if (!text && !json_is_string(value))
            return NULL; /* not set */
        text = text ? text : mem_strdup("");
        vec_add(&ch->texts, text);
        vec_add(&ch->updates, (struct slurm_update){rest_members[i].update, text});
        return NULL;
    }
    return err_new(ERR_INVALID, "job.%.64s: a change of it is not available yet", name);
}

struct err *slurm_rest_update(const json_t *body, const json_t *job, const char *elements,
                              int64_t now_s, zone_fn zone, json_t **ret)
{
    AUTO(rest_changes_done) struct rest_changes changes = {0};
    AUTO(json_freep) json_t *patch = NULL;
    AUTO(json_freep) json_t *hold = NULL;
    const json_t *held = json_object_get(body, "hold");
    const char *name = NULL;
    json_t *value = NULL;

    if (json_object_size(body) == 0)
        return err_new(ERR_BAD_REQUEST, "want the members of the job to change");
    json_object_foreach ((json_t *)(uintptr_t)body, name, value)
        if (value != held && !json_is_null(value))
            TRY(rest_change_add(&changes, name, value, now_s));
    TRY(slurm_update_patch(job, changes.updates.at, changes.updates.n, now_s, zone, &patch));
    if (held && !json_is_boolean(held))
        return rest_wrong("hold");
    if (held) {
        TRY(slurm_hold_patch(job, elements, json_is_true(held) ? "user" : NULL, &hold));
        (void)json_object_update_recursive(patch, hold); /* two trees: cannot fail */
    }
    *ret = TAKE(patch);
    return NULL;
}
