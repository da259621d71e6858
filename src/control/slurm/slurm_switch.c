/*
 * slurm_switch.c - the end of the wait for one switch
 *
 * The pods of a job with --switches=1 insist on one switch. Once the oldest of an attempt has
 * waited for the time that the job says, they only prefer it.
 */
#include "control/slurm/slurm_private.h"
#include "kinds/slurm/slurm_ask.h"
#include "kinds/topology.h"

static void pod_loosen(struct sjob_pod *p)
{
    struct sjob *j = p->job;
    const struct cluster_target target = {.resource = "pods", .ns = j->ns, .name = p->name};
    AUTO(json_freep)
    json_t *patch = json_pack("{s:{s:{s:n,s:s}}}", "metadata", "annotations", TOPOLOGY_REQUIRED,
                              TOPOLOGY_PREFERRED, SLURM_SWITCH_LABEL "1");
    struct cluster_answer a = slurm_answer(j->jobs);
    AUTO(err_freep)
    struct err *e = writes_end(a, cluster_patch(j->jobs->options.cluster, &target, patch, a));

    p->is_together = e != NULL;
    if (!e || err_code(e) == ERR_NOT_FOUND)
        return;
    LOG(WARN, "pod of a Slurm job was not changed", S("pod", p->key), E(e));
    sjob_poke_in(j, NS_PER_SEC);
}

void sjob_loosen_pods(struct sjob *j)
{
    int64_t wait_ns = json_int_at(j->object, "spec", "switchesWait", NULL) * NS_PER_SEC;
    int64_t now_ns = loop_wall_ns(j->jobs->options.loop);
    struct sjob_pod *p;
    struct sjob_pod *next;

    map_each (by_slot, j->pods, p, next) {
        int64_t left_ns = p->created_ns + wait_ns - now_ns;

        if (p->state != SJOB_PENDING || !p->is_together || p->is_deleting || p->is_outdated)
            continue;
        if (left_ns > 0)
            sjob_poke_in(j, left_ns);
        else
            pod_loosen(p);
    }
}
