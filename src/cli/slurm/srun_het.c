/* srun_het.c - groups of `srun A : B`, and the parts of a step in a heterogeneous job */

#include "cli/slurm/srun_het.h"

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/slurm/slurm_het.h"
#include "model/index_set.h"
#include "slurm/submit_het.h"

/* ---- groups ---- */

/* The place of the next ":" among the arguments; their number: none. */
static size_t find_separator(const struct slurm_words *w)
{
    size_t i = 0;

    while (i < w->arguments.n && !text_equal(w->arguments.at[i], ":"))
        i++;
    return i;
}

struct err *srun_het_split(struct srun_het *h, const struct slurm_option *options,
                           struct slurm_words *first, const struct slurm_submit *submit)
{
    struct srun_group *group = mem_alloc(sizeof(*group));
    struct slurm_words *words = first;

    *group = (struct srun_group){.words = first, .submit = submit};
    vec_add(&h->groups, group);
    for (;;) {
        size_t at = find_separator(words);
        size_t n = words->arguments.n;

        if (at == n)
            return NULL;
        group = mem_alloc(sizeof(*group));
        *group = (struct srun_group){0};
        group->words = &group->own_words;
        group->submit = &group->own_submit;
        vec_add(&h->groups, group);
        TRY(slurm_words_parse(options, true, n - at - 1, &words->arguments.at[at] + 1,
                              &group->own_words));
        words->arguments.n = at;
        words = &group->own_words;
    }
}

const struct slurm_words *srun_het_program(const struct srun_het *h, size_t group)
{
    while (group < h->groups.n && h->groups.at[group]->words->arguments.n == 0)
        group++;
    return group < h->groups.n ? h->groups.at[group]->words : NULL;
}

struct err *srun_het_put_components(const struct srun_het *h, struct slurm_submit *job)
{
    for (size_t i = 1; i < h->groups.n; i++)
        TRY(slurm_submit_component_end(job, h->groups.at[i]->submit));
    return NULL;
}

static void part_free(struct srun_part *p)
{
    step_make_done(&p->make);
    slurm_submit_done(&p->submit);
    json_decref(p->allocation);
    free(p);
}

void srun_het_done(struct srun_het *h)
{
    VEC_EACH (&h->groups, group) {
        slurm_words_done(&(*group)->own_words);
        slurm_submit_done(&(*group)->own_submit);
        free(*group);
    }
    VEC_EACH (&h->parts, part)
        part_free(*part);
    vec_done(&h->groups);
    vec_done(&h->parts);
}

/* ---- parts ---- */

bool srun_het_is_needed(const struct srun_het *h, const json_t *allocation)
{
    return h->groups.n > 1 || json_object_get(allocation, "components") ||
           json_text_filled(h->groups.at[0]->submit->step, "hetGroup");
}

/* The report of the job with the nodes of one component alone. New reference. */
static json_t *part_allocation(const json_t *whole, int64_t component)
{
    json_t *part = json_copy((json_t *)(uintptr_t)whole);
    const json_t *row;
    json_t *nodes = json_array();
    size_t i;

    json_array_foreach (json_object_get(whole, "nodes"), i, row)
        if (json_int(row, "component", 0) == component)
            (void)json_array_append(nodes, (json_t *)(uintptr_t)row); /* fresh: cannot fail */
    json_put(part, "nodes", nodes);
    (void)json_object_del(part, "components"); /* the job has them */
    return part;
}

/* What the words do not ask for is the component's: variables have what the first one asks for. */
static void take_request(json_t *spec, const struct slurm_words *words, const json_t *component)
{
    static const struct {
        const char *key;
        const char *option;
        bool is_taken;
    } requests[] = {{"tasks", "ntasks", true},
                    {"tasksPerNode", "ntasks-per-node", true},
                    {"tasksPerGpu", "ntasks-per-gpu", true},
                    {"overcommit", "overcommit", true},
                    {"gpusPerTask", "gpus-per-task", true},
                    {"nodesMin", "nodes", false},
                    {"nodesMax", "nodes", false},
                    {"cpusPerTask", "cpus-per-task", false},
                    {"gres", "gres", false},
                    {"gpus", "gpus", false},
                    {"gpusPerNode", "gpus-per-node", false},
                    {"nodeList", "nodelist", false}};

    for (size_t i = 0; i < COUNT(requests); i++) {
        json_t *value = json_object_get(component, requests[i].key);

        if (slurm_words_has(words, requests[i].option))
            continue;
        (void)json_object_del(spec, requests[i].key); /* may be absent */
        if (requests[i].is_taken && value)
            json_put(spec, requests[i].key, json_incref(value));
    }
}

static void part_apply(struct srun_part *p, const struct srun_group *group, const json_t *component)
{
    const struct slurm_submit *from = group->submit;

    p->submit =
        (struct slurm_submit){.command = from->command,
                              .spec = json_copy(from->spec),
                              .step = json_copy(from->step),
                              .exported = from->exported ? mem_strdup(from->exported) : NULL};
    take_request(p->submit.spec, group->words, component);
}

/* Makes the part of one component, and joins it. */
static struct err *make_part(struct srun_het *h, size_t group, int64_t index,
                             const struct caller *caller, struct step_make *make)
{
    const json_t *components = json_object_get(make->allocation, "components");
    const struct slurm_words *program = srun_het_program(h, group);
    struct srun_part *p = mem_alloc(sizeof(*p));
    AUTO_FREE char *warning = NULL;

    *p = (struct srun_part){0};
    vec_add(&h->parts, p);
    part_apply(p, h->groups.at[group], json_array_get(components, (size_t)index));
    slurm_submit_put_environment(&p->submit, caller->environment);
    p->allocation = part_allocation(make->allocation, index);
    p->make = (struct step_make){
        .submit = &p->submit, .allocation = p->allocation, .caller = make->caller};
    p->make.caller.argv = (const char *const *)program->arguments.at;
    p->make.caller.n_argv = program->arguments.n;
    if (json_bool(p->submit.step, "multiProg", false))
        return err_new(ERR_INVALID, "--multi-prog in a heterogeneous job is not available yet");
    TRY(step_make_request(&p->make, &warning));
    step_make_join(make, &p->make);
    return NULL;
}

/* The components of a group: --het-group, else by its place; a single group has the first one. */
static struct err *read_components(const struct srun_het *h, size_t group, const json_t *allocation,
                                   struct index_set *ret)
{
    const char *text = json_text_filled(h->groups.at[group]->submit->step, "hetGroup");
    AUTO(err_freep)
    struct err *e = text ? index_set_parse(str_of(text), SLURM_HET_MAX, ret) : NULL;

    if (e || (text && ret->count == 0))
        return err_new(ERR_BAD_REQUEST, "Invalid --het-group specification");
    if (!text)
        (void)index_set_add(ret,
                            h->groups.n > 1 ? group : (size_t)json_int(allocation, "component", 0));
    return NULL;
}

static struct err *make_group(struct srun_het *h, size_t group, const struct caller *caller,
                              struct step_make *make)
{
    size_t n = json_array_size(json_object_get(make->allocation, "components"));
    AUTO(index_set_done) struct index_set chosen = {0};

    TRY(read_components(h, group, make->allocation, &chosen));
    for (size_t i = 0; i < chosen.n_words * 64; i++) {
        if (!index_set_has(&chosen, i))
            continue;
        if (i >= n)
            return err_new(ERR_INVALID,
                           "Attempt to run a job step with het-group value of %zu, but the job "
                           "allocation has maximum value of %zu",
                           i, n - 1);
        TRY(make_part(h, group, (int64_t)i, caller, make));
    }
    return NULL;
}

struct err *srun_het_make(struct srun_het *h, const struct caller *caller, struct step_make *make)
{
    if (!json_object_get(make->allocation, "components"))
        return err_new(ERR_INVALID, "Heterogeneous steps of a job that is not heterogeneous are "
                                    "not available yet");
    for (size_t i = 0; i < h->groups.n; i++)
        TRY(make_group(h, i, caller, make));
    make->submit = &h->parts.at[0]->submit;
    return NULL;
}
