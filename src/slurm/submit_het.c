/* submit_het.c - the components of heterogeneous submissions */

#include "slurm/submit_het.h"

#include "base/mem.h"
#include "kinds/slurm/slurm_het.h"

/* Members of a request that hold for the components behind it. */
static bool is_kept(const char *key)
{
    return text_equal(key, "name") || text_equal(key, "memoryPerNode") ||
           text_equal(key, "excludeNodes");
}

void slurm_submit_component_begin(const struct slurm_submit *before, struct slurm_submit *next)
{
    *next = (struct slurm_submit){.command = before->command,
                                  .now_s = before->now_s,
                                  .zone = before->zone,
                                  .read_file = before->read_file,
                                  .cwd = before->cwd,
                                  .is_parsable = before->is_parsable,
                                  .is_quiet = before->is_quiet,
                                  .is_test = before->is_test,
                                  .waits = before->waits};
    next->spec = json_copy(before->spec);
    next->step = before->step ? json_copy(before->step) : NULL;
    next->exported = before->exported ? mem_strdup(before->exported) : NULL;
    (void)json_object_del(next->spec, "components"); /* may be absent */
    for (size_t i = 0; slurm_het_keys[i]; i++)
        if (!is_kept(slurm_het_keys[i]))
            (void)json_object_del(next->spec, slurm_het_keys[i]); /* may be absent */
}

static bool is_request(const char *key)
{
    for (size_t i = 0; slurm_het_keys[i]; i++)
        if (text_equal(slurm_het_keys[i], key))
            return true;
    return false;
}

/* Members that mean the script, which the first component runs. */
static bool is_of_script(const char *key)
{
    static const char *const keys[] = {"stdin",   "stdout", "stderr",   "openMode", "workDir",
                                       "comment", "signal", "mailType", "mailUser", "components"};

    for (size_t i = 0; i < COUNT(keys); i++)
        if (text_equal(keys[i], key))
            return true;
    return false;
}

/* A member of the whole job that one of both has otherwise; NULL: none. */
static const char *find_difference(json_t *one, const json_t *other)
{
    const char *key;
    json_t *value;

    json_object_foreach (one, key, value) {
        const json_t *same = json_object_get(other, key);

        if (!is_request(key) && !is_of_script(key) && (!same || !json_equal(value, same)))
            return key;
    }
    return NULL;
}

struct err *slurm_submit_component_end(struct slurm_submit *job,
                                       const struct slurm_submit *component)
{
    const char *key = find_difference(component->spec, job->spec);
    json_t *request;

    if (!key)
        key = find_difference(job->spec, component->spec);
    if (key)
        return err_new(ERR_INVALID,
                       "components with another '%s' than the first one are not available yet",
                       key);
    if (slurm_het_size(job->spec) >= SLURM_HET_MAX)
        return err_new(ERR_INVALID, "a job has at most %d components", SLURM_HET_MAX);
    request = json_object();
    for (size_t i = 0; slurm_het_keys[i]; i++)
        if (json_object_get(component->spec, slurm_het_keys[i]))
            json_put(request, slurm_het_keys[i],
                     json_incref(json_object_get(component->spec, slurm_het_keys[i])));
    (void)json_array_append_new(json_array_at(job->spec, "components"), request); /* cannot fail */
    return NULL;
}
