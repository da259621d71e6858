/* kube.c - mete kube: the roles beside a kubelet and a kube-apiserver */

#include "cli/commands.h"
#include "cli/kube/kube_crds.h"
#include "cli/kube/kube_extend.h"
#include "cli/kube/kube_node.h"
#include "cli/kube/kube_runtime.h"
#include "cli/kube/kube_scheduler.h"

static struct err *kube_run(struct cli *c)
{
    const char *role = c->in->arguments.at[0];

    if (text_equal(role, "runtime"))
        return kube_runtime_run(c);
    if (c->in->arguments.n > 1)
        return cli_usage(c, "kube %s wants no further argument, not \"%s\"", role,
                         c->in->arguments.at[1]);
    if (text_equal(role, "node"))
        return kube_node_run(c);
    if (text_equal(role, "scheduler"))
        return kube_scheduler_run(c);
    if (text_equal(role, "extender"))
        return kube_extend_run(c);
    if (text_equal(role, "crds"))
        return kube_crds_run(c);
    return cli_usage(c, "kube wants node, scheduler, extender, crds or runtime, not \"%s\"", role);
}

static const char *const roles[] = {"node", "scheduler", "extender", "crds", "runtime", NULL};
static const char *const offers[] = {"plugin", "claims", NULL};
static const char *const log_formats[] = {"text", "json", NULL};

static const char *const foreign_queues[] = {"read", "ignore", NULL};

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
    {.name = "config-dir",
     .type = FLAG_TEXT,
     .value = "DIR",
     .doc = "directory of such configurations (a mounted ConfigMap): the Node's label "
            "nvidia.com/device-plugin.config names the file",
     .fallback = ""},
    {.name = "default-config",
     .type = FLAG_TEXT,
     .value = "NAME",
     .doc = "file of --config-dir for a Node without the label; empty: the only file, if there is "
            "one",
     .fallback = ""},
    {.name = "mig-config",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "mig-parted file: the Node's label nvidia.com/mig.config names the configuration; "
            "empty: MIG instances stay as they are",
     .fallback = ""},
    {.name = "offer",
     .type = FLAG_TEXT,
     .value = "HOW",
     .values = offers,
     .doc = "how pods ask for the GPUs: plugin (resources such as nvidia.com/gpu) or claims "
            "(resource.k8s.io)",
     .fallback = "plugin"},
    {.name = "labels",
     .type = FLAG_TEXT,
     .value = "WHERE",
     .doc = "GPU Feature Discovery's labels: off, node (the role sets them, and the conditions of "
            "GPUs, on the Node) or the path of a file for Node Feature Discovery",
     .fallback = "off"},
    {.name = "taint",
     .type = FLAG_TEXT,
     .value = "NAME:EFFECT",
     .doc = "taint of the Node while one of its GPUs, or the driver, does not work, as in "
            "mete.dev/gpu-health:NoSchedule; empty: none",
     .fallback = ""},
    {.name = "metrics",
     .type = FLAG_TEXT,
     .value = "HOST:PORT",
     .doc = "address of the page /metrics: the GPUs under the names of dcgm-exporter, with the "
            "pods that have them; empty: none",
     .fallback = ""},
    {.name = "node-name",
     .type = FLAG_TEXT,
     .value = "NAME",
     .doc = "name of this node at the API server; empty: $NODE_NAME, else the host name",
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
    {.name = "machine-root",
     .type = FLAG_TEXT,
     .value = "DIR",
     .doc = "directory where the root of the machine is mounted, if the role runs in a container; "
            "the driver is looked for below it",
     .fallback = ""},
    {.name = "nvidia-handler",
     .type = FLAG_SWITCH,
     .doc = "runtime: the handler \"nvidia\", too, as the default one: for pods whose "
            "runtimeClassName is nvidia"},
    {.name = "scheduler-name",
     .type = FLAG_TEXT,
     .value = "NAME,...",
     .doc = "schedulerNames of the pods that the scheduler places",
     .fallback = "mete"},
    {.name = "foreign-queues",
     .type = FLAG_TEXT,
     .value = "HOW",
     .values = foreign_queues,
     .doc = "queue objects of Kueue, Volcano and KAI: read (they are queues of the scheduler) or "
            "ignore (Kueue's controller runs and admits the pods)",
     .fallback = "read"},
    {.name = "lease",
     .type = FLAG_TEXT,
     .value = "NAMESPACE/NAME",
     .doc = "Lease by which one of several schedulers leads; empty: there is one",
     .fallback = "kube-system/mete-scheduler"},
    {.name = "listen",
     .type = FLAG_TEXT,
     .value = "ADDRESS:PORT",
     .doc = "address at which the extender serves HTTP; without --client-ca whoever reaches it "
            "may bind pods",
     .fallback = "127.0.0.1:8888"},
    {.name = "tls-cert",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "certificate (PEM) of the extender, which then serves HTTPS; read when it starts",
     .fallback = ""},
    {.name = "tls-key",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "key (PEM) of --tls-cert",
     .fallback = ""},
    {.name = "client-ca",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "authority (PEM) whose certificates the extender's clients must have; empty: none",
     .fallback = ""},
    {.name = "reports",
     .type = FLAG_TEXT,
     .value = "ADDRESS:PORT",
     .doc = "address of the reports that `mete why`, `free` and `gpus` read through the API "
            "server, as in 10.0.0.7:8443; empty: none",
     .fallback = ""},
    {.name = "reports-service",
     .type = FLAG_TEXT,
     .value = "NAMESPACE/NAME",
     .doc = "Service of the reports, which the APIService v1alpha1.reports.mete.dev names",
     .fallback = "mete-system/mete-scheduler"},
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
    .arguments = "node|scheduler|extender|crds|runtime configure|unconfigure ENGINE",
    .summary = "serve the GPUs of this machine to a kubelet, or schedule a Kubernetes cluster",
    .doc =
        "node: registers a device plugin for each resource (nvidia.com/gpu, "
        "nvidia.com/gpu.shared,\nnvidia.com/mig-*, those of other vendors) and writes a CDI "
        "file. Names and ids are those of NVIDIA's\ndevice plugin. Prints the name of a "
        "resource each time that the kubelet begins to watch its devices. With --offer claims "
        "it is the driver\ngpu.nvidia.com of resource.k8s.io: publishes the GPUs as "
        "ResourceSlices at the API server of --kubeconfig\nand prepares claims.\nscheduler: places "
        "the pods of its schedulerName through the API server of --kubeconfig. Of several, one "
        "leads.\nPrints \"ready\" when it leads and has read the cluster.\nextender: is an HTTP "
        "extender of a kube-scheduler: "
        "filter, prioritize, bind and preempt.\ncrds: prints the "
        "CustomResourceDefinitions of Queue and Reservation, for `kubectl apply -f -`.\nruntime: "
        "lets a container engine (containerd, crio or docker) of this machine give the GPUs of CDI "
        "files,\nand takes it back. Prints the files that it writes.",
    .examples = {{"kube node", "serves the GPUs, as root, beside a kubelet"},
                 {"kube node --offer claims", "serves the GPUs to ResourceClaims"},
                 {"kube runtime configure containerd", "CDI, and the file from before is kept"},
                 {"kube scheduler --kubeconfig ~/.kube/config",
                  "places pods of schedulerName mete"},
                 {0}},
    .flags = flags,
    .groups = FLAGS_SERVER,
    .words = roles,
    .n_min = 1,
    .n_max = 3,
    .run = kube_run,
};
