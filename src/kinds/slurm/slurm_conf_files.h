/* slurm_conf_files.h - what gres.conf, cgroup.conf and topology.conf beside slurm.conf add */
#pragma once

#include "kinds/slurm/slurm_conf_objects.h"

struct slurm_conf_file {
    const char *name; /* "gres.conf" */
    /* Adds the lines to the SlurmConfig. ERR_INVALID names file and line. */
    struct err *(*add)(const struct slurm_conf *conf, struct slurm_conf_objects *to);
};

/* Ends with a NULL name. */
extern const struct slurm_conf_file slurm_conf_files[];
