/* slurm_job.c - the rules of a SlurmJob beyond its schema */

#include "kinds/slurm/slurm_job.h"

#include "kinds/kind/cause.h"
#include "model/index_set.h"

static void validate_array(const json_t *array, const struct path *at, struct causes *causes)
{
    const char *text = json_text(array, "indexes");
    AUTO(index_set_done) struct index_set indexes = {0};
    AUTO(err_freep) struct err *e = NULL;

    if (!text)
        return; /* absent, or the schema reports it */
    e = index_set_parse(str_of(text), SLURM_ARRAY_MAX, &indexes);
    if (e)
        cause_invalid(causes, PATH(at, "indexes"), text, err_message(e));
    else if (indexes.count == 0)
        cause_required(causes, PATH(at, "indexes"), "an array has at least one element");
}

static void validate_memory(const json_t *spec, const struct path *at, struct causes *causes)
{
    static const char *const keys[] = {"memoryPerNode", "memoryPerCpu", "memoryPerGpu"};
    size_t n = 0;

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        n += json_object_get(spec, keys[i]) != NULL;
    if (n > 1)
        cause_forbidden(causes, PATH(at, keys[0]),
                        "only one of memoryPerNode, memoryPerCpu and memoryPerGpu may be set");
}

void slurm_job_validate(const json_t *spec, const struct path *at, struct causes *causes)
{
    const char *work_dir = json_text(spec, "workDir");

    validate_array(json_object_get(spec, "array"), PATH(at, "array"), causes);
    validate_memory(spec, at, causes);
    if (work_dir && *work_dir != '/')
        cause_invalid(causes, PATH(at, "workDir"), work_dir, "must be an absolute path");
}
