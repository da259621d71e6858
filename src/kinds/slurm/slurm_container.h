/*
 * slurm_container.h - the container of a SlurmJob: its image, mounts and user, in the words of the
 * options of pyxis (https://github.com/NVIDIA/pyxis)
 */
#pragma once

#include "base/json.h"

struct slurm_element;

/* Does the job run in a container? */
bool slurm_has_container(const json_t *spec);

/* ERR_INVALID: the image or a mount of `spec` is malformed, or cannot be had. */
struct err *slurm_container_check(const json_t *spec) MUST_CHECK;

/*
 * Makes the pod's one container run the script of the job in its image: puts image, command, user,
 * volumes and annotations. `process` has the files of its input and output, in the members of
 * HOST_PROCESS_ANNOTATION; "uid" and "variables" are added to it.
 */
void slurm_container_put(json_t *pod, json_t *container, const json_t *spec, json_t *process);
