/*
 * slurm_switch.c - the switches that a job waits for, and the end of its wait
 *
 * The pods of a job with --switches=N insist on one switch of a level, the widest of which no
 * switch has more than N nearest switches below it. Other combinations of N nearest switches are
 * not tried. Once the oldest pod of an attempt has waited for the time that the job says, they only
 * prefer one nearest switch.
 */
#include "base/mem.h"
#include "control/slurm/slurm_private.h"
#include "kinds/slurm/slurm_ask.h"
#include "kinds/topology.h"

/* The switch `level` - 1 above the nearest one of "core/rack1", with all above it; {0}: none. */
static struct str switch_at(const char *path, int64_t level)
{
    struct str s = str_of(path);

    for (int64_t i = 1; i < level; i++) {
        while (s.size > 0 && s.at[s.size - 1] != '/')
            s.size--;
        if (s.size == 0)
            return (struct str){0};
        s.size--;
    }
    return s;
}

/* The most nearest switches below a switch of the level; INT64_MAX: a node has none there. */
static int64_t switch_count(const struct slurm_jobs *s, int64_t level)
{
    AUTO(json_freep) json_t *all = json_object();
    const char *name;
    json_t *value;
    int64_t most = 0;

    json_object_foreach (s->switches, name, value) {
        const char *path = text_or_empty(json_string_value(value));
        struct str at = switch_at(path, level);
        AUTO_FREE char *key = mem_strndup(text_or_empty(at.at), at.size);
        json_t *below;

        if (!at.at)
            return INT64_MAX;
        below = json_object_at(all, key);
        json_put_bool(below, path, true);
        if ((int64_t)json_object_size(below) > most)
            most = (int64_t)json_object_size(below);
    }
    return most;
}

/* The number of all nearest switches. */
static int64_t switch_count_all(const struct slurm_jobs *s)
{
    AUTO(json_freep) json_t *all = json_object();
    const char *name;
    json_t *value;

    json_object_foreach (s->switches, name, value)
        json_put_bool(all, text_or_empty(json_string_value(value)), true);
    return (int64_t)json_object_size(all);
}

int64_t slurm_switch_level(const struct slurm_jobs *s, const json_t *job)
{
    int64_t most = json_int_at(job, "spec", "switches", NULL);
    int64_t level = SLURM_SWITCH_LEVELS;

    if (json_object_size(s->switches) == 0)
        return -1;
    if (most > 1 && switch_count_all(s) <= most)
        return 0;
    while (level > 1 && (most < 2 || switch_count(s, level) > most))
        level--;
    return level;
}

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
