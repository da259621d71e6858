/* step_join.c - the parts of a heterogeneous step, one for each component, as one step */

#include "base/mem.h"
#include "slurm/step_make_private.h"

const struct slurm_submit *step_make_submit(const struct step_make *m, size_t i)
{
    const struct slurm_submit *submit = m->submit;

    VEC_EACH (&m->parts, part)
        if (i >= part->first_node)
            submit = part->submit;
    return submit;
}

size_t step_make_part(const struct step_make *m, int64_t rank)
{
    size_t i = 0;

    while (i + 1 < m->parts.n && rank >= m->parts.at[i + 1].first_rank)
        i++;
    return i;
}

/* The place of a pod in the allocation of the whole step. */
static size_t find_pod(const struct step_make *m, const char *pod)
{
    const json_t *rows = json_object_get(m->allocation, "nodes");
    size_t i = 0;

    while (i + 1 < json_array_size(rows) &&
           !text_equal(json_text(json_array_get(rows, i), "pod"), pod))
        i++;
    return i;
}

static void join_layout(struct step_make *m, const struct step_make *part)
{
    VEC_EACH (&part->layout.nodes, node) {
        struct step_node_tasks own = {0};

        VEC_EACH (&node->ranks, rank)
            vec_add(&own.ranks, *rank + (uint32_t)m->tasks);
        vec_add(&m->layout.nodes, own);
    }
    for (size_t i = 0; i < part->nodes.n; i++)
        vec_add(&m->nodes, find_pod(m, step_make_pod(part, i)));
}

/* Each task has the program of its part. */
static void join_programs(struct step_make *m, const struct step_make *part)
{
    AUTO(json_freep) json_t *argv = json_array();

    for (size_t i = 0; i < part->caller.n_argv; i++)
        (void)json_array_append_new(
            argv, *part->caller.argv[i] ? json_text_new(part->caller.argv[i]) : json_string(""));
    if (!m->caller.programs)
        m->caller.programs = json_array();
    for (int64_t i = 0; i < part->tasks; i++)
        (void)json_array_append(m->caller.programs, argv); /* fresh: cannot fail */
}

static void join_object(struct step_make *m, const struct step_make *part)
{
    json_t *spec = json_object_get(part->object, "spec");
    json_t *own;

    if (!m->object) {
        m->object = json_deep_copy(part->object);
        return;
    }
    own = json_object_get(m->object, "spec");
    (void)json_array_extend(json_array_at(own, "nodes"),
                            json_object_get(spec, "nodes")); /* arrays: cannot fail */
    json_put_int(own, "tasks", json_int(own, "tasks", 0) + json_int(spec, "tasks", 0));
}

void step_make_join(struct step_make *m, const struct step_make *part)
{
    vec_add(&m->parts, (struct step_part){.submit = part->submit,
                                          .first_node = m->nodes.n,
                                          .first_rank = m->tasks,
                                          .cpus_per_task = part->cpus_per_task});
    join_layout(m, part);
    join_programs(m, part);
    join_object(m, part);
    m->tasks += part->tasks;
}
