/* gpu_annotation.h - changes an annotation of a Node that has a member for each gpu */
#pragma once

#include "cli/cli.h"
#include "cli/session.h"

struct gpu_edit {
    struct session *session;
    const char *node;
    const char *which;      /* index ("3", "gpu3") or UUID; NULL: all gpus of the node */
    const char *annotation; /* key; its value is {"GPU-...": ...} */
    /* Changes the member of a gpu, as the node reports it, in the tree. May be called again. */
    struct err *(*edit)(void *arg, const json_t *gpu, json_t *tree);
    void *arg;
};

/* Splits "NODE/gpu3". `*ret_node` is freed by the caller; `*ret_which` is NULL without a gpu. */
void gpu_target_split(const char *target, char **ret_node, const char **ret_which);

/* Edits the annotation, again if the Node changes meanwhile. `*ret_count`: the number of gpus. */
struct err *gpu_annotation_edit(const struct gpu_edit *g, size_t *ret_count) MUST_CHECK;
