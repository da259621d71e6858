/* slurm_conf_objects.h - the objects that a slurm.conf describes */
#pragma once

#include "base/json.h"
#include "model/slurm_conf.h"

/* {0} is empty; slurm_conf_objects_done frees it. */
struct slurm_conf_objects {
    json_t *config;     /* a SlurmConfig */
    json_t *partitions; /* array of SlurmPartitions, in the order of the file */
    json_t *notes;      /* array of {"where","key","why"}: keys without effect */
};

/* ERR_INVALID names file and line, and says what would be right. `*ret` changes on success only. */
struct err *slurm_conf_objects_make(const struct slurm_conf *conf,
                                    struct slurm_conf_objects *ret) MUST_CHECK;
void slurm_conf_objects_done(struct slurm_conf_objects *o);

/* Notes a key without effect, once for each reason. */
void slurm_conf_note(struct slurm_conf_objects *made, const struct slurm_conf_line *line,
                     const char *key, const char *why);
