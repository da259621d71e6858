/* slurm_billing.c - reads TRESBillingWeights, and weighs amounts */

#include "model/slurm_billing.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/slurm_tres.h"

#define MICRO        INT64_C(1000000)
#define BILLING_MOST (INT64_MAX / 4)

struct weight {
    char *name;    /* owned */
    int64_t micro; /* of one cpu, node or gpu, or of one unit of memory */
    int unit;      /* of memory: 0 KiB, 1 MiB, 2 GiB... */
};

static bool is_known(const char *name)
{
    static const char gpu[] = "gres/gpu";

    if (strcasecmp(name, "cpu") == 0 || strcasecmp(name, "mem") == 0 ||
        strcasecmp(name, "node") == 0)
        return true;
    if (strncasecmp(name, gpu, strlen(gpu)) != 0)
        return false;
    return !name[strlen(gpu)] || (name[strlen(gpu)] == ':' && name[strlen(gpu) + 1]);
}

/* Reads "Mem=0.25G". The caller frees `ret->name`, also after an error. */
static struct err *weight_read(struct str item, struct weight *ret)
{
    static const char units[] = {'K', 'M', 'G', 'T', 'P'};
    struct str value = item;
    struct str name = str_cut(&value, '=');
    const char *unit =
        value.size > 0 ? memchr(units, value.at[value.size - 1] & ~0x20, sizeof(units)) : NULL;
    AUTO_FREE char *number = NULL;

    *ret = (struct weight){.name = mem_strndup(name.at ? name.at : "", name.size), .unit = 1};
    if (!is_known(ret->name))
        return err_new(ERR_INVALID,
                       "resource '%s' is not one of CPU, Mem, Node, GRES/gpu, GRES/gpu:TYPE",
                       ret->name);
    if (unit && strcasecmp(ret->name, "mem") == 0) {
        ret->unit = (int)(unit - units);
        value.size--;
    }
    number = mem_strndup(value.at ? value.at : "", value.at ? value.size : 0);
    return slurm_factor_parse(number, &ret->micro);
}

struct err *slurm_billing_check(const char *weights)
{
    struct str rest = str_of(weights);

    while (rest.at) {
        struct weight w;
        struct err *e = weight_read(str_cut(&rest, ','), &w);

        free(w.name);
        if (e)
            return e;
    }
    return NULL;
}

static int64_t times(int64_t amount, int64_t micro)
{
    int64_t product = 0;

    return __builtin_mul_overflow(amount, micro, &product) || product > BILLING_MOST ? BILLING_MOST
                                                                                     : product;
}

static int64_t weigh(const struct weight *w, const struct slurm_billed *of)
{
    const char *type = strchr(w->name, ':');

    if (strcasecmp(w->name, "cpu") == 0)
        return times(of->cpus, w->micro);
    if (strcasecmp(w->name, "node") == 0)
        return times(of->nodes, w->micro);
    if (strcasecmp(w->name, "mem") == 0)
        return w->unit == 0 ? times(times(of->memory_mib, 1024), w->micro)
                            : times(of->memory_mib, w->micro) >> (10 * (w->unit - 1));
    return !type || strcasecmp(type + 1, of->model) == 0 ? times(of->gpus, w->micro) : 0;
}

int64_t slurm_billing_micro(const char *weights, const struct slurm_billed *of, bool is_max)
{
    struct str rest = str_of(weights && *weights ? weights : NULL);
    int64_t sum = 0;

    if (!rest.at)
        return times(of->cpus, MICRO);
    while (rest.at) {
        struct weight w;
        AUTO(err_freep) struct err *e = weight_read(str_cut(&rest, ','), &w);
        int64_t one = e ? 0 : weigh(&w, of); /* was checked when it was written */

        free(w.name);
        if (is_max)
            sum = one > sum ? one : sum;
        else
            sum = sum > BILLING_MOST - one ? BILLING_MOST : sum + one;
    }
    return sum;
}
