/* slurm_priority.c - multifactor priorities: parameters, factors, and their sum */

#include "model/slurm_priority.h"

#include <stddef.h>
#include <strings.h>

#include "base/num.h"
#include "model/slurm_time.h"

enum {
    DAY_S = 86400,
    MAX_AGE_DAYS = 7,
    HALF_LIFE_DAYS = 7,
    CALC_PERIOD_S = 300
};

void slurm_priority_policy_default(struct slurm_priority_policy *p)
{
    *p = (struct slurm_priority_policy){.max_age_s = MAX_AGE_DAYS * DAY_S,
                                        .half_life_s = HALF_LIFE_DAYS * DAY_S,
                                        .calc_period_s = CALC_PERIOD_S,
                                        .damping = 1};
}

void slurm_priority_policy_done(struct slurm_priority_policy *p)
{
    slurm_tres_done(&p->tres);
}

/* ---- parameters ---- */

static const struct {
    const char *name;
    size_t at;
} weights[] = {
    {"PriorityWeightAge", offsetof(struct slurm_priority_policy, age)},
    {"PriorityWeightAssoc", offsetof(struct slurm_priority_policy, assoc)},
    {"PriorityWeightFairshare", offsetof(struct slurm_priority_policy, fairshare)},
    {"PriorityWeightJobSize", offsetof(struct slurm_priority_policy, jobsize)},
    {"PriorityWeightPartition", offsetof(struct slurm_priority_policy, partition)},
    {"PriorityWeightQOS", offsetof(struct slurm_priority_policy, qos)},
};

/* "5" minutes, "H:M:S" and "D-H" forms with their seconds. */
static struct err *read_seconds(const char *value, int64_t *ret)
{
    struct str rest = str_of(value);
    struct str first = str_cut(&rest, ':');
    struct str second = str_cut(&rest, ':');
    int64_t parts[3] = {0};
    int64_t minutes = 0;

    if (rest.at && rest.size > 0 && !memchr(value, '-', strlen(value))) {
        TRY(num_parse_int64(first, 0, INT32_MAX, &parts[0]));
        TRY(num_parse_int64(second, 0, 59, &parts[1]));
        TRY(num_parse_int64(rest, 0, 59, &parts[2]));
        *ret = (parts[0] * 60 + parts[1]) * 60 + parts[2];
        return NULL;
    }
    TRY(slurm_minutes_parse(str_of(value), &minutes));
    *ret = minutes > 0 ? minutes * 60 : 0;
    return NULL;
}

static void read_flags(struct slurm_priority_policy *p, const char *value)
{
    struct str rest = str_of(value);

    p->is_classic = false;
    p->is_max_tres = false;
    while (rest.at) {
        struct str flag = str_cut(&rest, ',');

        p->is_classic = p->is_classic || str_equal(flag, STR("NO_FAIR_TREE"));
        p->is_max_tres = p->is_max_tres || str_equal(flag, STR("MAX_TRES"));
    }
}

struct err *slurm_priority_policy_set(struct slurm_priority_policy *p, const char *name,
                                      const char *value)
{
    struct slurm_tres tres = {0};
    int64_t n = 0;

    for (size_t i = 0; i < COUNT(weights); i++)
        if (strcasecmp(name, weights[i].name) == 0) {
            TRY(num_parse_int64(str_of(value), 0, UINT32_MAX, &n));
            *(uint32_t *)(void *)((char *)p + weights[i].at) = (uint32_t)n;
            return NULL;
        }
    if (strcasecmp(name, "PriorityMaxAge") == 0)
        return read_seconds(value, &p->max_age_s);
    if (strcasecmp(name, "PriorityDecayHalfLife") == 0)
        return read_seconds(value, &p->half_life_s);
    if (strcasecmp(name, "PriorityCalcPeriod") == 0)
        return read_seconds(value, &p->calc_period_s);
    if (strcasecmp(name, "PriorityFlags") == 0)
        read_flags(p, value);
    if (strcasecmp(name, "PriorityFavorSmall") == 0)
        p->favors_small = strcasecmp(value, "yes") == 0;
    if (strcasecmp(name, "FairShareDampeningFactor") == 0) {
        TRY(num_parse_int64(str_of(value), 1, INT32_MAX, &n));
        p->damping = (unsigned)n;
    }
    if (strcasecmp(name, "PriorityWeightTRES") == 0) {
        TRY(slurm_tres_parse(str_of(value), &tres));
        slurm_tres_done(&p->tres);
        p->tres = tres;
    }
    return NULL;
}

bool slurm_priority_is_on(const struct slurm_priority_policy *p)
{
    return p->age > 0 || p->assoc > 0 || p->fairshare > 0 || p->jobsize > 0 || p->partition > 0 ||
           p->qos > 0 || p->tres.items.n > 0;
}

/* ---- factors ---- */

static double part_of(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0.0;
}

static double within_one(double factor)
{
    return factor < 0 ? 0.0 : factor > 1 ? 1.0 : factor;
}

static double age_factor(const struct slurm_priority_policy *p, const struct slurm_priority_job *j)
{
    if (j->waited_s <= 0)
        return 0.0;
    return j->waited_s < p->max_age_s ? part_of(j->waited_s, p->max_age_s) : 1.0;
}

static double size_factor(const struct slurm_priority_policy *p, const struct slurm_priority_job *j)
{
    int64_t nodes = p->favors_small ? j->cluster_nodes - j->nodes : j->nodes;
    int64_t cpus = p->favors_small ? j->cluster_cpus - j->cpus : j->cpus;
    double factor = part_of(nodes, j->cluster_nodes);

    if (j->cpus > 0)
        factor = (factor + part_of(cpus, j->cluster_cpus)) / 2;
    return within_one(factor);
}

double slurm_priority_tres(const struct slurm_priority_policy *p,
                           const struct slurm_priority_job *j, size_t i)
{
    const struct slurm_tres_item *item = &p->tres.items.at[i];
    int64_t asked = j->asked ? slurm_tres_get(j->asked, item->name, 0) : 0;
    int64_t all = j->cluster ? slurm_tres_get(j->cluster, item->name, 0) : 0;

    return within_one(part_of(asked, all)) * (double)item->count;
}

static double tres_points(const struct slurm_priority_policy *p, const struct slurm_priority_job *j)
{
    double sum = 0;

    for (size_t i = 0; i < p->tres.items.n; i++)
        sum += slurm_priority_tres(p, j, i);
    return sum;
}

struct slurm_priority slurm_priority_find(const struct slurm_priority_policy *p,
                                          const struct slurm_priority_job *j)
{
    struct slurm_priority r = {
        .age = age_factor(p, j) * p->age,
        .assoc = j->assoc * p->assoc,
        .fairshare = j->fairshare * p->fairshare,
        .jobsize = p->jobsize > 0 ? size_factor(p, j) * p->jobsize : 0.0,
        .partition = j->partition * p->partition,
        .qos = j->qos * p->qos,
        .tres = tres_points(p, j),
    };
    double sum = r.age + r.assoc + r.fairshare + r.jobsize + r.partition + r.qos + r.tres +
                 (double)(j->site - j->nice);

    r.priority = sum < 1 ? 1 : sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
    return r;
}
