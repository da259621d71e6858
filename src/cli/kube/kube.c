/* kube.c - mete kube: the roles of a Kubernetes cluster */

#include "cli/commands.h"
#include "cli/kube/kube_node.h"

static struct err *kube_run(struct cli *c)
{
    const char *role = c->in->arguments.at[0];

    if (!text_equal(role, "node"))
        return cli_usage(c, "kube wants node, not \"%s\"", role);
    return kube_node_run(c);
}

static const char *const roles[] = {"node", NULL};
static const char *const log_formats[] = {"text", "json", NULL};

static const struct flag flags[] = {
    {.name = "kubelet-dir",
     .type = FLAG_TEXT,
     .value = "DIR",
     .doc = "directory of the kubelet",
     .fallback = "/var/lib/kubelet"},
    {.name = "cdi-dir",
     .type = FLAG_TEXT,
     .value = "DIR",
     .doc = "directory for the CDI file of the GPUs, which the container engine reads",
     .fallback = "/var/run/cdi"},
    {.name = "config",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "configuration of NVIDIA's device plugin, version v1",
     .fallback = ""},
    {.name = "gpus",
     .type = FLAG_TEXT,
     .value = "WHICH",
     .doc = "auto (the GPUs of this machine) or emulated:PROFILE",
     .fallback = "auto"},
    {.name = "driver-root",
     .type = FLAG_TEXT,
     .value = "DIR",
     .doc = "directory below which the GPU driver is installed; empty: / or /run/nvidia/driver",
     .fallback = ""},
    {.name = "data",
     .type = FLAG_TEXT,
     .value = "DIR",
     .doc = "data directory",
     .fallback = "/var/lib/mete"},
    {.name = "log-format",
     .type = FLAG_TEXT,
     .value = "FORMAT",
     .values = log_formats,
     .doc = "log format: text or json",
     .fallback = "text"},
    {0},
};

const struct command command_kube = {
    .name = "kube",
    .arguments = "node",
    .summary = "serve the GPUs of this machine to the kubelet of a Kubernetes cluster",
    .doc = "Registers a device plugin for each resource (nvidia.com/gpu, nvidia.com/gpu.shared, "
           "nvidia.com/mig-*,\nthose of other vendors) and writes a CDI file. Names and ids are "
           "those of NVIDIA's device plugin.\nPrints the name of a resource each time that the "
           "kubelet begins to watch its devices.",
    .examples = {{"kube node", "serves the GPUs, as root, beside a kubelet"},
                 {"kube node --config config.yaml", "with replicas of GPUs (time-slicing)"},
                 {0}},
    .flags = flags,
    .words = roles,
    .n_min = 1,
    .n_max = 1,
    .run = kube_run,
};
