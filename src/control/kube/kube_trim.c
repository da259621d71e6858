/* kube_trim.c - drops what the cluster's scheduler never reads of pods and nodes */

#include "control/kube/kube_trim.h"

#include "base/mem.h"

static void members_drop(json_t *object, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)json_object_del(object, names[i]); /* if any */
}

static void each_drop(json_t *list, const char *const *names, size_t n)
{
    json_t *object;
    size_t i;

    json_array_foreach (list, i, object)
        members_drop(object, names, n);
}

/* Volumes of claims decide about nodes. */
static void volumes_drop(json_t *spec)
{
    json_t *volumes = json_object_get(spec, "volumes");

    for (size_t i = json_array_size(volumes); i > 0; i--) {
        const json_t *volume = json_array_get(volumes, i - 1);

        if (!json_object_get(volume, "persistentVolumeClaim") &&
            !json_object_get(volume, "ephemeral"))
            (void)json_array_remove(volumes, i - 1); /* is there */
    }
}

void kube_trim_pod(json_t *pod)
{
    static const char *const of_container[] = {
        "args",         "command",         "env",
        "envFrom",      "imagePullPolicy", "lifecycle",
        "startupProbe", "livenessProbe",   "readinessProbe",
        "volumeMounts", "securityContext", "terminationMessagePath",
        "workingDir",   "volumeDevices",   "terminationMessagePolicy",
    };
    static const char *const of_spec[] = {"dnsConfig", "dnsPolicy", "ephemeralContainers",
                                          "hostAliases", "imagePullSecrets"};
    static const char *const of_status[] = {"ephemeralContainerStatuses", "hostIP", "hostIPs",
                                            "podIP", "podIPs"};
    static const char *const of_state[] = {"allocatedResources", "containerID", "imageID",
                                           "resources",          "user",        "volumeMounts"};
    json_t *spec = json_object_get(pod, "spec");
    json_t *status = json_object_get(pod, "status");

    members_drop(spec, of_spec, COUNT(of_spec));
    volumes_drop(spec);
    each_drop(json_object_get(spec, "containers"), of_container, COUNT(of_container));
    each_drop(json_object_get(spec, "initContainers"), of_container, COUNT(of_container));
    members_drop(status, of_status, COUNT(of_status));
    each_drop(json_object_get(status, "containerStatuses"), of_state, COUNT(of_state));
    each_drop(json_object_get(status, "initContainerStatuses"), of_state, COUNT(of_state));
}

void kube_trim_node(json_t *node)
{
    static const char *const of_status[] = {"addresses",       "config",      "daemonEndpoints",
                                            "features",        "images",      "runtimeHandlers",
                                            "volumesAttached", "volumesInUse"};
    static const char *const of_info[] = {
        "architecture", "bootID",  "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion",
        "machineID",    "osImage", "operatingSystem",         "systemUUID",    "swap"};
    json_t *status = json_object_get(node, "status");

    members_drop(status, of_status, COUNT(of_status));
    members_drop(json_object_get(status, "nodeInfo"), of_info, COUNT(of_info));
}
