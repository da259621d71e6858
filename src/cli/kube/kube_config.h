/*
 * kube_config.h - the configuration that a Node's labels choose, as NVIDIA's config-manager and MIG
 * manager choose it
 *
 * A directory has configurations of the device plugin (a mounted ConfigMap), a file those of
 * mig-parted. nvidia.com/device-plugin.config names a file of the directory, else the fallback
 * counts, else the only file; nvidia.com/mig.config names a configuration of mig-parted's file.
 */
#pragma once

#include "base/json.h"
#include "kubelet/plugin_answer.h"

struct kube_config {
    const char *dir;      /* "": none */
    const char *fallback; /* a name in `dir`; "": none */
    const char *mig_file; /* "": MIG instances stay as they are */
    bool is_claims;       /* the gpus are for claims */
};

/* Can sharing.mps of the file `path` be served? ERR_INVALID: not to claims, and not to containers
 * that get their gpus without CDI. */
struct err *kube_config_check_mps(const char *path, bool is_claims,
                                  const struct plugin_settings *settings) MUST_CHECK;

/*
 * A Node as node/gpu_modes.h reads it: its annotation mete.dev/gpu-modes, and mete.dev/gpu-config
 * for what the labels of `node` (NULL: not known yet) choose. What cannot be read is a `problem` in
 * it. `*ret_settings` changes if the configuration has some. A new tree.
 */
json_t *kube_config_node(const struct kube_config *c, const json_t *node,
                         struct plugin_settings *ret_settings);
