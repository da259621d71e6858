/* slurm_hide.c - what of a Slurm job only its user and administrators may read */

#include "kinds/slurm/slurm_hide.h"

#include "base/mem.h"
#include "kinds/account/account.h"
#include "kinds/pod/pod_state.h"
#include "kinds/slurm/slurm_job.h"

bool slurm_is_of_another(const json_t *object, const char *user)
{
    const json_t *metadata = json_object_get(object, "metadata");
    bool is_slurm = text_equal(json_text(object, "kind"), "SlurmJob") ||
                    json_text_at(metadata, "labels", SLURM_JOB_LABEL, NULL);

    return is_slurm && !text_equal(json_text_at(metadata, "annotations", POD_USER, NULL), user);
}

void slurm_hide_facts(json_t *facts)
{
    (void)json_object_del(facts, "submitLine"); /* fails where the facts have none */
}

/* Only these annotations stay: others have scripts and variables, or kubectl's copy of them. */
static bool is_open_annotation(const char *key)
{
    static const char *const open[] = {POD_USER, POD_DEVICES, POD_USAGE, SLURM_RESTARTS_ANNOTATION,
                                       SLURM_ACCOUNT_ANNOTATION};

    for (size_t i = 0; i < COUNT(open); i++)
        if (text_equal(key, open[i]))
            return true;
    return false;
}

static void hide_annotations(json_t *annotations)
{
    const char *text = json_text(annotations, SLURM_ACCOUNT_ANNOTATION);
    AUTO(json_freep) json_t *facts = NULL;
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe (annotations, next, key, value)
        if (!is_open_annotation(key))
            (void)json_object_del(annotations, key); /* it is there */
    if (!text)
        return;
    err_free(json_parse(str_of(text), &facts)); /* our own text */
    if (facts) {
        AUTO_FREE char *rest = NULL;

        slurm_hide_facts(facts);
        rest = json_format(facts);
        json_put_text(annotations, SLURM_ACCOUNT_ANNOTATION, rest);
    }
}

json_t *slurm_hide(const json_t *object)
{
    static const char *const secret[] = {"script", "environment", "submitLine"};
    json_t *copy = json_deep_copy(object);

    for (size_t i = 0; i < COUNT(secret); i++) /* the pod's spec has none of them */
        (void)json_object_del(json_object_get(copy, "spec"), secret[i]);
    hide_annotations(json_object_get(json_object_get(copy, "metadata"), "annotations"));
    return copy;
}
