/* partition_update.c - the keys of scontrol create and update of partitions */

#include "slurm/partition_update.h"

#include <strings.h>

#include "kinds/slurm/slurm_conf_keys.h"

static struct err *partition_put(const struct slurm_update *u, json_t *spec)
{
    const struct slurm_conf_key *key = slurm_conf_key_find(slurm_conf_partition_keys, u->key);
    struct err *e;

    if (!key || key->type == CONF_IGNORED)
        return err_new(ERR_INVALID,
                       "Update of this parameter is not supported: %s=%s\nRequest aborted", u->key,
                       u->value);
    e = slurm_conf_value_read(key, u->value, spec);
    if (e)
        return err_wrap(e, "Invalid input");
    if (key->member && !json_object_get(spec, key->member))
        json_put(spec, key->member, json_null());
    return NULL;
}

struct err *slurm_partition_patch(const struct slurm_update *updates, size_t n, json_t **ret)
{
    json_t *patch = json_object();
    json_t *spec = json_object_at(patch, "spec");

    *ret = patch;
    for (size_t i = 0; i < n; i++)
        TRY(partition_put(&updates[i], spec));
    return NULL;
}
