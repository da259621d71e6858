/* gang.c - references of pods to groups, and the rules of groups */

#include "kinds/gang.h"

#include <stdint.h>

#include "kinds/pod/pod_state.h"
#include "kinds/slurm/slurm_het.h"
#include "kinds/slurm/slurm_job.h"

const struct gang_source gang_sources[GANG_DOORS] = {
    [GANG_WORKLOAD] = {"native", "scheduling.k8s.io", "workloads", "Workload"},
    [GANG_PODGROUP] = {"native", "scheduling.k8s.io", "podgroups", "PodGroup"},
    [GANG_COSCHEDULING] = {"coscheduling", "scheduling.x-k8s.io", "podgroups", "PodGroup"},
    [GANG_VOLCANO] = {"volcano", "scheduling.volcano.sh", "podgroups", "PodGroup"},
    [GANG_JOB] = {"job", "batch", "jobs", "Job"},
    [GANG_SLURM] = {"slurm", "mete.dev", "slurmjobs", "SlurmJob"},
};

static const char *text_of(const char *text)
{
    return text && *text ? text : NULL;
}

/* The Job that owns the pod, if the pod has topology annotations; else NULL. */
static const char *job_of(const json_t *pod)
{
    struct topology_level levels[TOPOLOGY_MAX];

    return topology_read(pod, NULL, levels) > 0 ? pod_job(pod) : NULL;
}

static const char *coscheduling_of(const json_t *labels)
{
    static const char *const keys[] = {GANG_COSCHEDULING_LABEL, GANG_SIGS_LABEL,
                                       GANG_SIGS_NAME_LABEL};
    const char *name = NULL;

    for (size_t i = 0; i < COUNT(keys) && !name; i++)
        name = text_of(json_text(labels, keys[i]));
    return name;
}

/* Reads the pod's reference through one door. False: none. */
static bool gang_read_ref(const json_t *pod, enum gang_door door, struct gang_ref *ret)
{
    const json_t *spec = json_object_get(pod, "spec");
    const json_t *metadata = json_object_get(pod, "metadata");

    *ret = (struct gang_ref){.door = door};
    switch (door) {
    case GANG_WORKLOAD:
        ret->name = text_of(json_text_at(spec, "workloadRef", "name", NULL));
        ret->part = text_of(json_text_at(spec, "workloadRef", "podGroup", NULL));
        ret->replica = text_of(json_text_at(spec, "workloadRef", "podGroupReplicaKey", NULL));
        break;
    case GANG_PODGROUP:
        ret->name = text_of(json_text_at(spec, "schedulingGroup", "podGroupName", NULL));
        break;
    case GANG_COSCHEDULING:
        ret->name = coscheduling_of(json_object_get(metadata, "labels"));
        break;
    case GANG_VOLCANO:
        ret->name = text_of(json_text_at(metadata, "annotations", GANG_VOLCANO_ANNOTATION, NULL));
        break;
    case GANG_JOB:
        ret->name = job_of(pod);
        break;
    case GANG_SLURM:
        ret->replica = json_text_at(metadata, "labels", SLURM_GANG_LABEL, NULL);
        if (ret->replica)
            ret->name = text_of(json_text_at(metadata, "labels", SLURM_JOB_LABEL, NULL));
        break;
    case GANG_DOORS:
        break;
    }
    return ret->name != NULL;
}

bool gang_of(const json_t *pod, struct gang_ref *ret)
{
    for (enum gang_door door = GANG_WORKLOAD; door < GANG_DOORS; door++)
        if (gang_read_ref(pod, door, ret))
            return true;
    return false;
}

void gang_validate_pod(const json_t *pod, struct causes *causes)
{
    static const char *const words[GANG_DOORS] = {
        [GANG_WORKLOAD] = "spec.workloadRef",
        [GANG_PODGROUP] = "spec.schedulingGroup",
        [GANG_COSCHEDULING] = "the label " GANG_COSCHEDULING_LABEL,
        [GANG_VOLCANO] = "the annotation " GANG_VOLCANO_ANNOTATION,
    };
    const char *first = NULL;

    for (enum gang_door door = GANG_WORKLOAD; door < GANG_JOB; door++) {
        struct gang_ref ref;
        AUTO(buf_done) struct buf detail = {0};

        if (!gang_read_ref(pod, door, &ref))
            continue;
        if (!first) {
            first = words[door];
            continue;
        }
        buf_printf(&detail, "a pod can be in one group only: %s and %s both name one", first,
                   words[door]);
        cause_forbidden(causes, PATH(NULL, "spec"), detail.at);
    }
}

static const json_t *find_part(const json_t *object, const char *name)
{
    const json_t *parts = json_at(object, "spec", "podGroupTemplates", NULL);

    for (size_t i = 0; i < json_array_size(parts); i++)
        if (text_equal(json_text(json_array_get(parts, i), "name"), name))
            return json_array_get(parts, i);
    return NULL;
}

/* Reads the spec of a native PodGroup, or a template in a Workload: both have the same members. */
static void gang_read_native(const json_t *spec, struct gang_rules *ret)
{
    const json_t *priority = json_object_get(spec, "priority");

    ret->min = json_int_at(spec, "schedulingPolicy", "gang", "minCount", NULL);
    ret->class_name = text_of(json_text(spec, "priorityClassName"));
    ret->has_priority = json_is_integer(priority);
    ret->priority = (int32_t)json_integer_value(priority); /* in range: validated */
}

/* A Job's gang: its parallelism, or the completions that are left. */
static void gang_read_job(const json_t *job, struct gang_rules *ret)
{
    const json_t *spec = json_object_get(job, "spec");
    int64_t left = json_int(spec, "completions", INT64_MAX);

    if (left != INT64_MAX)
        left -= json_int_at(job, "status", "succeeded", NULL);
    ret->min = json_int(spec, "parallelism", 1);
    if (ret->min > left)
        ret->min = left > 0 ? left : 0;
    ret->counts_what_runs = true;
}

/* An attempt of a SlurmJob starts on all of its nodes at once. */
static void gang_read_slurm(const json_t *job, struct gang_rules *ret)
{
    AUTO(slurm_het_done) struct slurm_het het = {.nodes = 1};

    err_free(slurm_het_read(json_object_get(job, "spec"), &het)); /* was read at the creation */
    ret->min = het.nodes;
}

bool gang_read(const struct gang_ref *ref, const json_t *object, struct gang_rules *ret)
{
    const json_t *spec = json_object_get(object, "spec");

    *ret = (struct gang_rules){0};
    ret->n_together = topology_read(object, NULL, ret->together);
    switch (ref->door) {
    case GANG_WORKLOAD:
        spec = find_part(object, ref->part);
        if (!spec)
            return false;
        gang_read_native(spec, ret);
        ret->n_together = topology_read(object, spec, ret->together);
        return true;
    case GANG_PODGROUP:
        gang_read_native(spec, ret);
        ret->n_together = topology_read(object, spec, ret->together);
        return true;
    case GANG_VOLCANO:
        ret->tasks = json_object_get(spec, "minTaskMember");
        ret->class_name = text_of(json_text(spec, "priorityClassName"));
        ret->min = json_int(spec, "minMember", 0);
        return true;
    case GANG_JOB:
        gang_read_job(object, ret);
        return true;
    case GANG_SLURM:
        gang_read_slurm(object, ret);
        return true;
    case GANG_COSCHEDULING:
    case GANG_DOORS:
        break;
    }
    ret->min = json_int(spec, "minMember", 0);
    return true;
}
