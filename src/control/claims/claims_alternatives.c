/* claims_alternatives.c - several ways to meet the claims of a pod, and the choice among them */

#include "control/claims/claims_private.h"
#include "control/scheduler/scheduler.h"
#include "kinds/pod/pod_claims.h"

void claims_alternatives_done(struct claims_alternatives *a)
{
    VEC_EACH (&a->all, one) {
        free(one->lines);
    }
    vec_done(&a->all);
}

void claims_alternatives_add(struct claims_alternatives *a, char *lines, const char *node)
{
    struct claims_alternative one = {.node = node};

    one.lines = lines;
    vec_add(&a->all, one);
}

bool claims_alternatives_join(struct claims_alternatives *all,
                              const struct claims_alternatives *own)
{
    struct claims_alternatives both = {0};

    VEC_EACH (&all->all, a) {
        VEC_EACH (&own->all, b) {
            if (both.all.n < CLAIMS_ALTERNATIVES_MAX &&
                (!a->node || !b->node || text_equal(a->node, b->node)))
                claims_alternatives_add(&both, mem_format("%s%s", a->lines, b->lines),
                                        a->node ? a->node : b->node);
        }
    }
    claims_alternatives_done(all);
    *all = both;
    return both.all.n > 0;
}

static char *annotation_of(const struct claims_alternative *a)
{
    return mem_format("ready%s%s\n%s", a->node ? " " : "", a->node ? a->node : "", a->lines);
}

static enum scheduler_start start_with(const struct claims *c, const struct claims_object *pod,
                                       const char *text)
{
    AUTO(json_freep) json_t *tree = json_deep_copy(pod->tree);

    json_put_text(json_object_at(json_object_at(tree, "metadata"), "annotations"), POD_CLAIMS,
                  text);
    return scheduler_could_start(c->options.scheduler, tree);
}

char *claims_alternatives_choose(struct claims *c, const struct claims_object *pod,
                                 const struct claims_alternatives *all)
{
    const char *was = c->is_kube
                          ? pod->text
                          : json_text_at(pod->tree, "metadata", "annotations", POD_CLAIMS, NULL);
    bool is_there = false;

    if (all->all.n == 1 || !c->options.scheduler)
        return annotation_of(&all->all.at[0]);
    c->has_choice = true;
    VEC_EACH (&all->all, one) {
        AUTO_FREE char *text = annotation_of(one);
        enum scheduler_start start = start_with(c, pod, text);

        if (start == SCHEDULER_CAN_START)
            return TAKE(text);
        if (start == SCHEDULER_HAS_PLACED && was)
            return mem_strdup(was);
        is_there = is_there || text_equal(was, text);
    }
    return is_there ? mem_strdup(was) : annotation_of(&all->all.at[0]);
}
