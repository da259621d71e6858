/* gpu_config.h - the files of --gpu-config (NVIDIA's device plugin) and --mig-config (mig-parted)
 */
#pragma once

#include "gpu/mig_config.h"
#include "kubelet/plugin_answer.h"

/* Reads a file with one document, YAML or JSON. A new tree. */
struct err *gpu_document_read(const char *path, json_t **ret) MUST_CHECK;

/* Reads the file; "": {0}. Logs the settings without effect. ERR_INVALID names the file and the
 * member. */
struct err *gpu_config_read(const char *path, struct sharing_config *ret) MUST_CHECK;

/* The same for device plugins: also their settings. */
struct err *plugin_config_read(const char *path, struct sharing_config *ret_sharing,
                               struct plugin_settings *ret) MUST_CHECK;

/* The same as gpu_config_read, without a log. */
struct err *gpu_config_check(const char *path) MUST_CHECK;

/* Reads a mig-parted file; "": NULL. Every configuration in the file is checked. A new tree. */
struct err *mig_config_read(const char *path, json_t **ret) MUST_CHECK;
struct err *mig_config_check(const char *path) MUST_CHECK;
