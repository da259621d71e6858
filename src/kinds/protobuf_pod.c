/* protobuf_pod.c - PodTemplateSpec and all below it: field numbers of k8s.io/api/core/v1 */
#include <stddef.h>

#include "kinds/protobuf_tables.h"

static const struct proto_field label_selector_requirement[] = {
    {1, "key", PROTO_STRING, false, NULL},
    {2, "operator", PROTO_STRING, false, NULL},
    {3, "values", PROTO_STRING, true, NULL},
    {0},
};

const struct proto_field proto_label_selector[] = {
    {1, "matchLabels", PROTO_MAP, false, NULL},
    {2, "matchExpressions", PROTO_MESSAGE, true, label_selector_requirement},
    {0},
};

static const struct proto_field host_path_volume_source[] = {
    {1, "path", PROTO_STRING, false, NULL},
    {2, "type", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field empty_dir_volume_source[] = {
    {1, "medium", PROTO_STRING, false, NULL},
    {2, "sizeLimit", PROTO_QUANTITY, false, NULL},
    {3, "mode", PROTO_INT, false, NULL},
    {0},
};

static const struct proto_field key_to_path[] = {
    {1, "key", PROTO_STRING, false, NULL},
    {2, "path", PROTO_STRING, false, NULL},
    {3, "mode", PROTO_INT, false, NULL},
    {4, "user", PROTO_INT, false, NULL},
    {0},
};

static const struct proto_field secret_volume_source[] = {
    {1, "secretName", PROTO_STRING, false, NULL}, {2, "items", PROTO_MESSAGE, true, key_to_path},
    {3, "defaultMode", PROTO_INT, false, NULL},   {4, "optional", PROTO_BOOL, false, NULL},
    {5, "defaultUser", PROTO_INT, false, NULL},   {0},
};

static const struct proto_field object_field_selector[] = {
    {1, "apiVersion", PROTO_STRING, false, NULL},
    {2, "fieldPath", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field resource_field_selector[] = {
    {1, "containerName", PROTO_STRING, false, NULL},
    {2, "resource", PROTO_STRING, false, NULL},
    {3, "divisor", PROTO_QUANTITY, false, NULL},
    {0},
};

static const struct proto_field downward_api_volume_file[] = {
    {1, "path", PROTO_STRING, false, NULL},
    {2, "fieldRef", PROTO_MESSAGE, false, object_field_selector},
    {3, "resourceFieldRef", PROTO_MESSAGE, false, resource_field_selector},
    {4, "mode", PROTO_INT, false, NULL},
    {5, "user", PROTO_INT, false, NULL},
    {0},
};

static const struct proto_field downward_api_volume_source[] = {
    {1, "items", PROTO_MESSAGE, true, downward_api_volume_file},
    {2, "defaultMode", PROTO_INT, false, NULL},
    {3, "defaultUser", PROTO_INT, false, NULL},
    {0},
};

static const struct proto_field local_object_reference[] = {
    {1, "name", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field config_map_volume_source[] = {
    {1, "localObjectReference", PROTO_INLINE, false, local_object_reference},
    {2, "items", PROTO_MESSAGE, true, key_to_path},
    {3, "defaultMode", PROTO_INT, false, NULL},
    {4, "optional", PROTO_BOOL, false, NULL},
    {5, "defaultUser", PROTO_INT, false, NULL},
    {0},
};

static const struct proto_field secret_projection[] = {
    {1, "localObjectReference", PROTO_INLINE, false, local_object_reference},
    {2, "items", PROTO_MESSAGE, true, key_to_path},
    {4, "optional", PROTO_BOOL, false, NULL},
    {0},
};

static const struct proto_field downward_api_projection[] = {
    {1, "items", PROTO_MESSAGE, true, downward_api_volume_file},
    {0},
};

static const struct proto_field config_map_projection[] = {
    {1, "localObjectReference", PROTO_INLINE, false, local_object_reference},
    {2, "items", PROTO_MESSAGE, true, key_to_path},
    {4, "optional", PROTO_BOOL, false, NULL},
    {0},
};

static const struct proto_field service_account_token_projection[] = {
    {1, "audience", PROTO_STRING, false, NULL},
    {2, "expirationSeconds", PROTO_INT, false, NULL},
    {3, "path", PROTO_STRING, false, NULL},
    {4, "user", PROTO_INT, false, NULL},
    {0},
};

static const struct proto_field volume_projection[] = {
    {1, "secret", PROTO_MESSAGE, false, secret_projection},
    {2, "downwardAPI", PROTO_MESSAGE, false, downward_api_projection},
    {3, "configMap", PROTO_MESSAGE, false, config_map_projection},
    {4, "serviceAccountToken", PROTO_MESSAGE, false, service_account_token_projection},
    {5, "clusterTrustBundle", PROTO_OPAQUE, false, NULL},
    {6, "podCertificate", PROTO_OPAQUE, false, NULL},
    {0},
};

static const struct proto_field projected_volume_source[] = {
    {1, "sources", PROTO_MESSAGE, true, volume_projection},
    {2, "defaultMode", PROTO_INT, false, NULL},
    {3, "defaultUser", PROTO_INT, false, NULL},
    {0},
};

static const struct proto_field volume_source[] = {
    {1, "hostPath", PROTO_MESSAGE, false, host_path_volume_source},
    {2, "emptyDir", PROTO_MESSAGE, false, empty_dir_volume_source},
    {3, "gcePersistentDisk", PROTO_OPAQUE, false, NULL},
    {4, "awsElasticBlockStore", PROTO_OPAQUE, false, NULL},
    {5, "gitRepo", PROTO_OPAQUE, false, NULL},
    {6, "secret", PROTO_MESSAGE, false, secret_volume_source},
    {7, "nfs", PROTO_OPAQUE, false, NULL},
    {8, "iscsi", PROTO_OPAQUE, false, NULL},
    {9, "glusterfs", PROTO_OPAQUE, false, NULL},
    {10, "persistentVolumeClaim", PROTO_OPAQUE, false, NULL},
    {11, "rbd", PROTO_OPAQUE, false, NULL},
    {12, "flexVolume", PROTO_OPAQUE, false, NULL},
    {13, "cinder", PROTO_OPAQUE, false, NULL},
    {14, "cephfs", PROTO_OPAQUE, false, NULL},
    {15, "flocker", PROTO_OPAQUE, false, NULL},
    {16, "downwardAPI", PROTO_MESSAGE, false, downward_api_volume_source},
    {17, "fc", PROTO_OPAQUE, false, NULL},
    {18, "azureFile", PROTO_OPAQUE, false, NULL},
    {19, "configMap", PROTO_MESSAGE, false, config_map_volume_source},
    {20, "vsphereVolume", PROTO_OPAQUE, false, NULL},
    {21, "quobyte", PROTO_OPAQUE, false, NULL},
    {22, "azureDisk", PROTO_OPAQUE, false, NULL},
    {23, "photonPersistentDisk", PROTO_OPAQUE, false, NULL},
    {26, "projected", PROTO_MESSAGE, false, projected_volume_source},
    {24, "portworxVolume", PROTO_OPAQUE, false, NULL},
    {25, "scaleIO", PROTO_OPAQUE, false, NULL},
    {27, "storageos", PROTO_OPAQUE, false, NULL},
    {28, "csi", PROTO_OPAQUE, false, NULL},
    {29, "ephemeral", PROTO_OPAQUE, false, NULL},
    {30, "image", PROTO_OPAQUE, false, NULL},
    {0},
};

static const struct proto_field volume[] = {
    {1, "name", PROTO_STRING, false, NULL},
    {2, "volumeSource", PROTO_INLINE, false, volume_source},
    {0},
};

static const struct proto_field container_port[] = {
    {1, "name", PROTO_STRING, false, NULL},
    {2, "hostPort", PROTO_INT_NONZERO, false, NULL},
    {3, "containerPort", PROTO_INT_NONZERO, false, NULL},
    {4, "protocol", PROTO_STRING, false, NULL},
    {5, "hostIP", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field config_map_env_source[] = {
    {1, "localObjectReference", PROTO_INLINE, false, local_object_reference},
    {2, "optional", PROTO_BOOL, false, NULL},
    {0},
};

static const struct proto_field secret_env_source[] = {
    {1, "localObjectReference", PROTO_INLINE, false, local_object_reference},
    {2, "optional", PROTO_BOOL, false, NULL},
    {0},
};

static const struct proto_field env_from_source[] = {
    {1, "prefix", PROTO_STRING, false, NULL},
    {2, "configMapRef", PROTO_MESSAGE, false, config_map_env_source},
    {3, "secretRef", PROTO_MESSAGE, false, secret_env_source},
    {0},
};

static const struct proto_field config_map_key_selector[] = {
    {1, "localObjectReference", PROTO_INLINE, false, local_object_reference},
    {2, "key", PROTO_STRING, false, NULL},
    {3, "optional", PROTO_BOOL, false, NULL},
    {0},
};

static const struct proto_field secret_key_selector[] = {
    {1, "localObjectReference", PROTO_INLINE, false, local_object_reference},
    {2, "key", PROTO_STRING, false, NULL},
    {3, "optional", PROTO_BOOL, false, NULL},
    {0},
};

static const struct proto_field env_var_source[] = {
    {1, "fieldRef", PROTO_MESSAGE, false, object_field_selector},
    {2, "resourceFieldRef", PROTO_MESSAGE, false, resource_field_selector},
    {3, "configMapKeyRef", PROTO_MESSAGE, false, config_map_key_selector},
    {4, "secretKeyRef", PROTO_MESSAGE, false, secret_key_selector},
    {5, "fileKeyRef", PROTO_OPAQUE, false, NULL},
    {0},
};

static const struct proto_field env_var[] = {
    {1, "name", PROTO_STRING, false, NULL},
    {2, "value", PROTO_STRING, false, NULL},
    {3, "valueFrom", PROTO_MESSAGE, false, env_var_source},
    {0},
};

static const struct proto_field resource_requirements[] = {
    {1, "limits", PROTO_QUANTITY_MAP, false, NULL},
    {2, "requests", PROTO_QUANTITY_MAP, false, NULL},
    {3, "claims", PROTO_OPAQUE, false, NULL},
    {0},
};

static const struct proto_field container_resize_policy[] = {
    {1, "resourceName", PROTO_STRING, false, NULL},
    {2, "restartPolicy", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field volume_mount[] = {
    {1, "name", PROTO_STRING, false, NULL},
    {2, "readOnly", PROTO_BOOL, false, NULL},
    {7, "recursiveReadOnly", PROTO_STRING, false, NULL},
    {3, "mountPath", PROTO_STRING, false, NULL},
    {4, "subPath", PROTO_STRING, false, NULL},
    {5, "mountPropagation", PROTO_STRING, false, NULL},
    {6, "subPathExpr", PROTO_STRING, false, NULL},
    {8, "bindMountOptions", PROTO_STRING, true, NULL},
    {0},
};

static const struct proto_field exec_action[] = {
    {1, "command", PROTO_STRING, true, NULL},
    {0},
};

static const struct proto_field http_header[] = {
    {1, "name", PROTO_STRING, false, NULL},
    {2, "value", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field http_get_action[] = {
    {1, "path", PROTO_STRING, false, NULL},
    {2, "port", PROTO_INT_OR_STRING, false, NULL},
    {3, "host", PROTO_STRING, false, NULL},
    {4, "scheme", PROTO_STRING, false, NULL},
    {5, "httpHeaders", PROTO_MESSAGE, true, http_header},
    {6, "protocol", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field tcp_socket_action[] = {
    {1, "port", PROTO_INT_OR_STRING, false, NULL},
    {2, "host", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field probe_handler[] = {
    {1, "exec", PROTO_MESSAGE, false, exec_action},
    {2, "httpGet", PROTO_MESSAGE, false, http_get_action},
    {3, "tcpSocket", PROTO_MESSAGE, false, tcp_socket_action},
    {4, "grpc", PROTO_OPAQUE, false, NULL},
    {0},
};

static const struct proto_field probe[] = {
    {1, "handler", PROTO_INLINE, false, probe_handler},
    {2, "initialDelaySeconds", PROTO_INT_NONZERO, false, NULL},
    {3, "timeoutSeconds", PROTO_INT_NONZERO, false, NULL},
    {4, "periodSeconds", PROTO_INT_NONZERO, false, NULL},
    {5, "successThreshold", PROTO_INT_NONZERO, false, NULL},
    {6, "failureThreshold", PROTO_INT_NONZERO, false, NULL},
    {7, "terminationGracePeriodSeconds", PROTO_INT, false, NULL},
    {0},
};

static const struct proto_field sleep_action[] = {
    {1, "seconds", PROTO_INT, false, NULL},
    {0},
};

static const struct proto_field lifecycle_handler[] = {
    {1, "exec", PROTO_MESSAGE, false, exec_action},
    {2, "httpGet", PROTO_MESSAGE, false, http_get_action},
    {3, "tcpSocket", PROTO_MESSAGE, false, tcp_socket_action},
    {4, "sleep", PROTO_MESSAGE, false, sleep_action},
    {0},
};

static const struct proto_field lifecycle[] = {
    {1, "postStart", PROTO_MESSAGE, false, lifecycle_handler},
    {2, "preStop", PROTO_MESSAGE, false, lifecycle_handler},
    {3, "stopSignal", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field capabilities[] = {
    {1, "add", PROTO_STRING, true, NULL},
    {2, "drop", PROTO_STRING, true, NULL},
    {0},
};

static const struct proto_field seccomp_profile[] = {
    {1, "type", PROTO_STRING, false, NULL},
    {2, "localhostProfile", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field security_context[] = {
    {1, "capabilities", PROTO_MESSAGE, false, capabilities},
    {2, "privileged", PROTO_BOOL, false, NULL},
    {3, "seLinuxOptions", PROTO_OPAQUE, false, NULL},
    {10, "windowsOptions", PROTO_OPAQUE, false, NULL},
    {4, "runAsUser", PROTO_INT, false, NULL},
    {8, "runAsGroup", PROTO_INT, false, NULL},
    {5, "runAsNonRoot", PROTO_BOOL, false, NULL},
    {6, "readOnlyRootFilesystem", PROTO_BOOL, false, NULL},
    {7, "allowPrivilegeEscalation", PROTO_BOOL, false, NULL},
    {9, "procMount", PROTO_STRING, false, NULL},
    {11, "seccompProfile", PROTO_MESSAGE, false, seccomp_profile},
    {12, "appArmorProfile", PROTO_OPAQUE, false, NULL},
    {0},
};

static const struct proto_field container[] = {
    {1, "name", PROTO_STRING, false, NULL},
    {2, "image", PROTO_STRING, false, NULL},
    {3, "command", PROTO_STRING, true, NULL},
    {4, "args", PROTO_STRING, true, NULL},
    {5, "workingDir", PROTO_STRING, false, NULL},
    {6, "ports", PROTO_MESSAGE, true, container_port},
    {19, "envFrom", PROTO_MESSAGE, true, env_from_source},
    {7, "env", PROTO_MESSAGE, true, env_var},
    {8, "resources", PROTO_MESSAGE, false, resource_requirements},
    {23, "resizePolicy", PROTO_MESSAGE, true, container_resize_policy},
    {24, "restartPolicy", PROTO_STRING, false, NULL},
    {25, "restartPolicyRules", PROTO_OPAQUE, false, NULL},
    {9, "volumeMounts", PROTO_MESSAGE, true, volume_mount},
    {21, "volumeDevices", PROTO_OPAQUE, false, NULL},
    {10, "livenessProbe", PROTO_MESSAGE, false, probe},
    {11, "readinessProbe", PROTO_MESSAGE, false, probe},
    {22, "startupProbe", PROTO_MESSAGE, false, probe},
    {12, "lifecycle", PROTO_MESSAGE, false, lifecycle},
    {13, "terminationMessagePath", PROTO_STRING, false, NULL},
    {20, "terminationMessagePolicy", PROTO_STRING, false, NULL},
    {14, "imagePullPolicy", PROTO_STRING, false, NULL},
    {15, "securityContext", PROTO_MESSAGE, false, security_context},
    {16, "stdin", PROTO_BOOL, false, NULL},
    {17, "stdinOnce", PROTO_BOOL, false, NULL},
    {18, "tty", PROTO_BOOL, false, NULL},
    {0},
};

static const struct proto_field sysctl[] = {
    {1, "name", PROTO_STRING, false, NULL},
    {2, "value", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field pod_security_context[] = {
    {1, "seLinuxOptions", PROTO_OPAQUE, false, NULL},
    {8, "windowsOptions", PROTO_OPAQUE, false, NULL},
    {2, "runAsUser", PROTO_INT, false, NULL},
    {6, "runAsGroup", PROTO_INT, false, NULL},
    {3, "runAsNonRoot", PROTO_BOOL, false, NULL},
    {4, "supplementalGroups", PROTO_INT, true, NULL},
    {12, "supplementalGroupsPolicy", PROTO_STRING, false, NULL},
    {5, "fsGroup", PROTO_INT, false, NULL},
    {7, "sysctls", PROTO_MESSAGE, true, sysctl},
    {9, "fsGroupChangePolicy", PROTO_STRING, false, NULL},
    {10, "seccompProfile", PROTO_MESSAGE, false, seccomp_profile},
    {11, "appArmorProfile", PROTO_OPAQUE, false, NULL},
    {13, "seLinuxChangePolicy", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field node_selector_requirement[] = {
    {1, "key", PROTO_STRING, false, NULL},
    {2, "operator", PROTO_STRING, false, NULL},
    {3, "values", PROTO_STRING, true, NULL},
    {0},
};

static const struct proto_field node_selector_term[] = {
    {1, "matchExpressions", PROTO_MESSAGE, true, node_selector_requirement},
    {2, "matchFields", PROTO_MESSAGE, true, node_selector_requirement},
    {0},
};

static const struct proto_field preferred_scheduling_term[] = {
    {1, "weight", PROTO_INT, false, NULL},
    {2, "preference", PROTO_MESSAGE, false, node_selector_term},
    {0},
};

static const struct proto_field node_selector[] = {
    {1, "nodeSelectorTerms", PROTO_MESSAGE, true, node_selector_term},
    {0},
};

static const struct proto_field node_affinity[] = {
    {1, "requiredDuringSchedulingIgnoredDuringExecution", PROTO_MESSAGE, false, node_selector},
    {2, "preferredDuringSchedulingIgnoredDuringExecution", PROTO_MESSAGE, true,
     preferred_scheduling_term},
    {0},
};

static const struct proto_field pod_affinity_term[] = {
    {1, "labelSelector", PROTO_MESSAGE, false, proto_label_selector},
    {2, "namespaces", PROTO_STRING, true, NULL},
    {3, "topologyKey", PROTO_STRING, false, NULL},
    {4, "namespaceSelector", PROTO_MESSAGE, false, proto_label_selector},
    {5, "matchLabelKeys", PROTO_STRING, true, NULL},
    {6, "mismatchLabelKeys", PROTO_STRING, true, NULL},
    {0},
};

static const struct proto_field weighted_pod_affinity_term[] = {
    {1, "weight", PROTO_INT, false, NULL},
    {2, "podAffinityTerm", PROTO_MESSAGE, false, pod_affinity_term},
    {0},
};

static const struct proto_field pod_affinity[] = {
    {1, "requiredDuringSchedulingIgnoredDuringExecution", PROTO_MESSAGE, true, pod_affinity_term},
    {2, "preferredDuringSchedulingIgnoredDuringExecution", PROTO_MESSAGE, true,
     weighted_pod_affinity_term},
    {0},
};

static const struct proto_field pod_anti_affinity[] = {
    {1, "requiredDuringSchedulingIgnoredDuringExecution", PROTO_MESSAGE, true, pod_affinity_term},
    {2, "preferredDuringSchedulingIgnoredDuringExecution", PROTO_MESSAGE, true,
     weighted_pod_affinity_term},
    {0},
};

static const struct proto_field affinity[] = {
    {1, "nodeAffinity", PROTO_MESSAGE, false, node_affinity},
    {2, "podAffinity", PROTO_MESSAGE, false, pod_affinity},
    {3, "podAntiAffinity", PROTO_MESSAGE, false, pod_anti_affinity},
    {0},
};

static const struct proto_field toleration[] = {
    {1, "key", PROTO_STRING, false, NULL},
    {2, "operator", PROTO_STRING, false, NULL},
    {3, "value", PROTO_STRING, false, NULL},
    {4, "effect", PROTO_STRING, false, NULL},
    {5, "tolerationSeconds", PROTO_INT, false, NULL},
    {0},
};

static const struct proto_field host_alias[] = {
    {1, "ip", PROTO_STRING, false, NULL},
    {2, "hostnames", PROTO_STRING, true, NULL},
    {0},
};

static const struct proto_field pod_dns_config_option[] = {
    {1, "name", PROTO_STRING, false, NULL},
    {2, "value", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field pod_dns_config[] = {
    {1, "nameservers", PROTO_STRING, true, NULL},
    {2, "searches", PROTO_STRING, true, NULL},
    {3, "options", PROTO_MESSAGE, true, pod_dns_config_option},
    {0},
};

static const struct proto_field topology_spread_constraint[] = {
    {1, "maxSkew", PROTO_INT, false, NULL},
    {2, "topologyKey", PROTO_STRING, false, NULL},
    {3, "whenUnsatisfiable", PROTO_STRING, false, NULL},
    {4, "labelSelector", PROTO_MESSAGE, false, proto_label_selector},
    {5, "minDomains", PROTO_INT, false, NULL},
    {6, "nodeAffinityPolicy", PROTO_STRING, false, NULL},
    {7, "nodeTaintsPolicy", PROTO_STRING, false, NULL},
    {8, "matchLabelKeys", PROTO_STRING, true, NULL},
    {0},
};

static const struct proto_field pod_os[] = {
    {1, "name", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field eviction_responder[] = {
    {1, "name", PROTO_STRING, false, NULL},
    {2, "priority", PROTO_INT, false, NULL},
    {0},
};

static const struct proto_field pod_spec[] = {
    {1, "volumes", PROTO_MESSAGE, true, volume},
    {20, "initContainers", PROTO_MESSAGE, true, container},
    {2, "containers", PROTO_MESSAGE, true, container},
    {34, "ephemeralContainers", PROTO_OPAQUE, false, NULL},
    {3, "restartPolicy", PROTO_STRING, false, NULL},
    {4, "terminationGracePeriodSeconds", PROTO_INT, false, NULL},
    {5, "activeDeadlineSeconds", PROTO_INT, false, NULL},
    {6, "dnsPolicy", PROTO_STRING, false, NULL},
    {7, "nodeSelector", PROTO_MAP, false, NULL},
    {8, "serviceAccountName", PROTO_STRING, false, NULL},
    {9, "serviceAccount", PROTO_STRING, false, NULL},
    {21, "automountServiceAccountToken", PROTO_BOOL, false, NULL},
    {10, "nodeName", PROTO_STRING, false, NULL},
    {11, "hostNetwork", PROTO_BOOL, false, NULL},
    {12, "hostPID", PROTO_BOOL, false, NULL},
    {13, "hostIPC", PROTO_BOOL, false, NULL},
    {27, "shareProcessNamespace", PROTO_BOOL, false, NULL},
    {14, "securityContext", PROTO_MESSAGE, false, pod_security_context},
    {15, "imagePullSecrets", PROTO_MESSAGE, true, local_object_reference},
    {16, "hostname", PROTO_STRING, false, NULL},
    {17, "subdomain", PROTO_STRING, false, NULL},
    {18, "affinity", PROTO_MESSAGE, false, affinity},
    {19, "schedulerName", PROTO_STRING, false, NULL},
    {22, "tolerations", PROTO_MESSAGE, true, toleration},
    {23, "hostAliases", PROTO_MESSAGE, true, host_alias},
    {24, "priorityClassName", PROTO_STRING, false, NULL},
    {25, "priority", PROTO_INT, false, NULL},
    {26, "dnsConfig", PROTO_MESSAGE, false, pod_dns_config},
    {28, "readinessGates", PROTO_OPAQUE, false, NULL},
    {29, "runtimeClassName", PROTO_STRING, false, NULL},
    {30, "enableServiceLinks", PROTO_BOOL, false, NULL},
    {31, "preemptionPolicy", PROTO_STRING, false, NULL},
    {32, "overhead", PROTO_OPAQUE, false, NULL},
    {33, "topologySpreadConstraints", PROTO_MESSAGE, true, topology_spread_constraint},
    {35, "setHostnameAsFQDN", PROTO_BOOL, false, NULL},
    {36, "os", PROTO_MESSAGE, false, pod_os},
    {37, "hostUsers", PROTO_BOOL, false, NULL},
    {38, "schedulingGates", PROTO_MESSAGE, true, local_object_reference},
    {39, "resourceClaims", PROTO_OPAQUE, false, NULL},
    {40, "resources", PROTO_OPAQUE, false, NULL},
    {41, "hostnameOverride", PROTO_STRING, false, NULL},
    {43, "schedulingGroup", PROTO_OPAQUE, false, NULL},
    {44, "evictionResponders", PROTO_MESSAGE, true, eviction_responder},
    {0},
};

const struct proto_field proto_pod_template[] = {
    {1, "metadata", PROTO_MESSAGE, false, proto_object_meta},
    {2, "spec", PROTO_MESSAGE, false, pod_spec},
    {0},
};
