/*
 * slurm_config.h - turns slurm.conf into objects: a SlurmConfig and SlurmPartitions
 *
 * Objects that came from the files have the annotation SLURM_CONF_ANNOTATION; what the files no
 * longer name is deleted. Other partitions, which scontrol or kubectl made, stay. The files are
 * read at the start, and again when spec.reread of the SlurmConfig grows; its status tells of the
 * last reading.
 */
#pragma once

#include "kinds/object/objects.h"
#include "kinds/slurm/slurm_conf_objects.h"

#define SLURM_CONF_ANNOTATION "mete.dev/slurm-conf"

struct slurm_config;

/* Reads the files. No files: `*ret` stays empty. ERR_INVALID names file and line. */
typedef struct err *(*slurm_config_read_fn)(void *arg, struct slurm_conf_objects *ret);

struct slurm_config_options {
    struct loop *loop;
    struct objects *objects;
    slurm_config_read_fn read;
    void *arg;
};

/* Reads the files and writes the objects. A file with an error is an error here. */
struct err *slurm_config_new(const struct slurm_config_options *o,
                             struct slurm_config **ret) MUST_CHECK;
void slurm_config_free(struct slurm_config *c); /* accepts NULL */
