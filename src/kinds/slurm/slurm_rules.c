/* slurm_rules.c - conditions, defaults and refusals for new jobs, as data */

#include "kinds/slurm/slurm_rules.h"

#include "base/arena.h"
#include "base/mem.h"
#include "kinds/slurm/slurm_ask.h"
#include "kinds/slurm/slurm_job.h"
#include "model/cel/cel.h"
#include "model/index_set.h"

static const char *const texts[] = {"name",     "account",    "partition", "qos",  "reservation",
                                    "licenses", "constraint", "comment",   "wckey"};

enum {
    MEMBERS_MAX = 32
};

/* A job as conditions see it. */
struct rule_job {
    struct cel_attribute members[MEMBERS_MAX];
    size_t n;
};

static void member_add(struct rule_job *j, const char *name, struct cel_value value)
{
    j->members[j->n++] =
        (struct cel_attribute){.domain = STR(CEL_JOB), .name = str_of(name), .value = value};
}

static void member_add_text(struct rule_job *j, const char *name, const char *text)
{
    member_add(j, name,
               (struct cel_value){.kind = CEL_STRING, .text = str_of(text_or_empty(text))});
}

static void member_add_number(struct rule_job *j, const char *name, int64_t number)
{
    member_add(j, name, (struct cel_value){.kind = CEL_INT, .number = number});
}

static int64_t elements_of(const json_t *spec)
{
    const char *indexes = json_text_at(spec, "array", "indexes", NULL);
    AUTO(index_set_done) struct index_set set = {0};

    if (indexes) /* a malformed text is refused later */
        err_free(index_set_parse(str_of(indexes), SLURM_ARRAY_MAX, &set));
    return set.count > 0 ? (int64_t)set.count : 1;
}

/* Borrows from `spec` and `ask`. */
static void job_read(const json_t *spec, const struct slurm_ask *ask, struct rule_job *ret)
{
    *ret = (struct rule_job){0};
    for (size_t i = 0; i < COUNT(texts); i++)
        member_add_text(ret, texts[i], json_text(spec, texts[i]));
    member_add_text(ret, "user", json_text_at(spec, "user", "name", NULL));
    member_add_text(ret, "group", json_text_at(spec, "user", "group", NULL));
    member_add_text(ret, "gpuModel", ask->model);
    member_add_number(ret, "nodes", ask->nodes);
    member_add_number(ret, "tasks", ask->tasks);
    member_add_number(ret, "cpus", ask->cpus * ask->nodes);
    member_add_number(ret, "gpus", ask->gpus.count * ask->nodes);
    member_add_number(ret, "memoryMiB", ask->memory_bytes >> 20);
    member_add_number(ret, "timeLimitMinutes", json_int(spec, "timeLimitMinutes", 0));
    member_add_number(ret, "elements", elements_of(spec));
    member_add(ret, "hasScript",
               (struct cel_value){.kind = CEL_BOOL, .yes = json_text(spec, "script") != NULL});
}

static struct err *rule_holds(const char *when, const json_t *spec, bool *ret)
{
    AUTO(cel_freep) struct cel *cel = NULL;
    struct slurm_ask ask = {0};
    struct rule_job job;
    struct cel_device device;

    TRY(cel_parse_job(str_of(when), &cel));
    TRY(slurm_ask_read(spec, &ask));
    job_read(spec, &ask, &job);
    device = (struct cel_device){.attributes = job.members, .n_attributes = job.n};
    return cel_matches(cel, &device, ret);
}

struct err *slurm_rule_check(const char *when)
{
    AUTO(json_freep) json_t *none = json_object();
    bool holds = false;

    return rule_holds(when, none, &holds);
}

static void rule_set(const json_t *rule, json_t *spec)
{
    const char *key;
    json_t *value;

    json_object_foreach (json_object_get(rule, "set"), key, value)
        (void)json_object_set(spec, key, value);
}

struct err *slurm_rules_apply(const json_t *rules, json_t *spec)
{
    for (size_t i = 0; i < json_array_size(rules); i++) {
        const json_t *rule = json_array_get(rules, i);
        const char *refuses = json_text_filled(rule, "refuse");
        bool holds = false;
        struct err *e = rule_holds(text_or_empty(json_text(rule, "when")), spec, &holds);

        if (e)
            return err_wrap(e, "submit rule %zu", i + 1);
        if (holds && refuses)
            return err_new(ERR_FORBIDDEN, "%s\nAccess/permission denied", refuses);
        if (holds)
            rule_set(rule, spec);
    }
    return NULL;
}
