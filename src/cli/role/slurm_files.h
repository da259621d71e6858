/* slurm_files.h - the files of --slurm-conf (slurm_files_linux.c) */
#pragma once

#include "kinds/slurm/slurm_conf_objects.h"

#define SLURM_CONF_DEFAULT "/etc/mete/slurm.conf"

/*
 * Reads the file, those that it includes, and gres.conf, cgroup.conf and topology.conf beside it;
 * "", or SLURM_CONF_DEFAULT where that is missing: no file, `*ret` stays empty. ERR_INVALID names
 * file and line. A slurm_config_read_fn, whose `arg` is the path.
 */
struct err *slurm_files_read(void *path, struct slurm_conf_objects *ret) MUST_CHECK;
struct err *slurm_files_check(const char *path) MUST_CHECK;
