/*
 * protobuf_fields.c - the protobuf messages that clients of Kubernetes send, as tables
 *
 * tests/interop/go/tables writes this file from the Go types of k8s.io/api; test_go.py compares.
 */

#include <stddef.h>

#include "base/attr.h"
#include "kinds/wire/protobuf_tables.h"

/* clang-format off */

static const struct proto_field meta_v1_owner_reference[] = {
    {5, "apiVersion", PROTO_STRING, 0, NULL},
    {1, "kind", PROTO_STRING, 0, NULL},
    {3, "name", PROTO_STRING, 0, NULL},
    {4, "uid", PROTO_STRING, 0, NULL},
    {6, "controller", PROTO_BOOL, 0, NULL},
    {7, "blockOwnerDeletion", PROTO_BOOL, 0, NULL},
    {0},
};

static const struct proto_field meta_v1_managed_fields_entry[] = {
    {1, "manager", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "operation", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "apiVersion", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "time", PROTO_TIME, 0, NULL},
    {6, "fieldsType", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {7, "fieldsV1", PROTO_JSON, 0, NULL},
    {8, "subresource", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field meta_v1_object_meta[] = {
    {1, "name", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "generateName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "namespace", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "selfLink", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "uid", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "resourceVersion", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {7, "generation", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {8, "creationTimestamp", PROTO_TIME, PROTO_OMIT_ZERO, NULL},
    {9, "deletionTimestamp", PROTO_TIME, 0, NULL},
    {10, "deletionGracePeriodSeconds", PROTO_INT, 0, NULL},
    {11, "labels", PROTO_STRING, PROTO_MAP, NULL},
    {12, "annotations", PROTO_STRING, PROTO_MAP, NULL},
    {13, "ownerReferences", PROTO_MESSAGE, PROTO_REPEATED, meta_v1_owner_reference},
    {14, "finalizers", PROTO_STRING, PROTO_REPEATED, NULL},
    {17, "managedFields", PROTO_MESSAGE, PROTO_REPEATED, meta_v1_managed_fields_entry},
    {0},
};

static const struct proto_field core_v1_object_reference[] = {
    {1, "kind", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "namespace", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "name", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "uid", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "apiVersion", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "resourceVersion", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {7, "fieldPath", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_binding[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "target", PROTO_MESSAGE, 0, core_v1_object_reference},
    {0},
};

static const struct proto_field core_v1_config_map[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {4, "immutable", PROTO_BOOL, 0, NULL},
    {2, "data", PROTO_STRING, PROTO_MAP, NULL},
    {3, "binaryData", PROTO_BYTES, PROTO_MAP, NULL},
    {0},
};

static const struct proto_field core_v1_endpoint_address[] = {
    {1, "ip", PROTO_STRING, 0, NULL},
    {3, "hostname", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "nodeName", PROTO_STRING, 0, NULL},
    {2, "targetRef", PROTO_MESSAGE, 0, core_v1_object_reference},
    {0},
};

static const struct proto_field core_v1_endpoint_port[] = {
    {1, "name", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "port", PROTO_INT, 0, NULL},
    {3, "protocol", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "appProtocol", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_endpoint_subset[] = {
    {1, "addresses", PROTO_MESSAGE, PROTO_REPEATED, core_v1_endpoint_address},
    {2, "notReadyAddresses", PROTO_MESSAGE, PROTO_REPEATED, core_v1_endpoint_address},
    {3, "ports", PROTO_MESSAGE, PROTO_REPEATED, core_v1_endpoint_port},
    {0},
};

static const struct proto_field core_v1_endpoints[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "subsets", PROTO_MESSAGE, PROTO_REPEATED, core_v1_endpoint_subset},
    {0},
};

static const struct proto_field core_v1_event_source[] = {
    {1, "component", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "host", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_event_series[] = {
    {1, "count", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {2, "lastObservedTime", PROTO_MICRO_TIME, 0, NULL},
    {0},
};

static const struct proto_field core_v1_event[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "involvedObject", PROTO_MESSAGE, 0, core_v1_object_reference},
    {3, "reason", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "message", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "source", PROTO_MESSAGE, 0, core_v1_event_source},
    {6, "firstTimestamp", PROTO_TIME, 0, NULL},
    {7, "lastTimestamp", PROTO_TIME, 0, NULL},
    {8, "count", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {9, "type", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {10, "eventTime", PROTO_MICRO_TIME, 0, NULL},
    {11, "series", PROTO_MESSAGE, 0, core_v1_event_series},
    {12, "action", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {13, "related", PROTO_MESSAGE, 0, core_v1_object_reference},
    {14, "reportingComponent", PROTO_STRING, 0, NULL},
    {15, "reportingInstance", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_limit_range_item[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {2, "max", PROTO_QUANTITY, PROTO_MAP, NULL},
    {3, "min", PROTO_QUANTITY, PROTO_MAP, NULL},
    {4, "default", PROTO_QUANTITY, PROTO_MAP, NULL},
    {5, "defaultRequest", PROTO_QUANTITY, PROTO_MAP, NULL},
    {6, "maxLimitRequestRatio", PROTO_QUANTITY, PROTO_MAP, NULL},
    {0},
};

static const struct proto_field core_v1_limit_range_spec[] = {
    {1, "limits", PROTO_MESSAGE, PROTO_REPEATED, core_v1_limit_range_item},
    {0},
};

static const struct proto_field core_v1_limit_range[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, core_v1_limit_range_spec},
    {0},
};

static const struct proto_field core_v1_namespace_spec[] = {
    {1, "finalizers", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field core_v1_namespace_condition[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {2, "status", PROTO_STRING, 0, NULL},
    {4, "lastTransitionTime", PROTO_TIME, 0, NULL},
    {5, "reason", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "message", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_namespace_status[] = {
    {1, "phase", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "conditions", PROTO_MESSAGE, PROTO_REPEATED, core_v1_namespace_condition},
    {0},
};

static const struct proto_field core_v1_namespace[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, core_v1_namespace_spec},
    {3, "status", PROTO_MESSAGE, 0, core_v1_namespace_status},
    {0},
};

static const struct proto_field core_v1_taint[] = {
    {1, "key", PROTO_STRING, 0, NULL},
    {2, "value", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "effect", PROTO_STRING, 0, NULL},
    {4, "timeAdded", PROTO_TIME, 0, NULL},
    {0},
};

static const struct proto_field core_v1_config_map_node_config_source[] = {
    {1, "namespace", PROTO_STRING, 0, NULL},
    {2, "name", PROTO_STRING, 0, NULL},
    {3, "uid", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "resourceVersion", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "kubeletConfigKey", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_node_config_source[] = {
    {2, "configMap", PROTO_MESSAGE, 0, core_v1_config_map_node_config_source},
    {0},
};

static const struct proto_field core_v1_node_pod_preemption_policy[] = {
    {1, "disableResizePreemption", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field core_v1_node_spec[] = {
    {1, "podCIDR", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {7, "podCIDRs", PROTO_STRING, PROTO_REPEATED, NULL},
    {3, "providerID", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "unschedulable", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {5, "taints", PROTO_MESSAGE, PROTO_REPEATED, core_v1_taint},
    {6, "configSource", PROTO_MESSAGE, 0, core_v1_node_config_source},
    {2, "externalID", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {8, "podPreemptionPolicy", PROTO_MESSAGE, 0, core_v1_node_pod_preemption_policy},
    {0},
};

static const struct proto_field core_v1_node_condition[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {2, "status", PROTO_STRING, 0, NULL},
    {3, "lastHeartbeatTime", PROTO_TIME, 0, NULL},
    {4, "lastTransitionTime", PROTO_TIME, 0, NULL},
    {5, "reason", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "message", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_node_address[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {2, "address", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_daemon_endpoint[] = {
    {1, "Port", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field core_v1_node_daemon_endpoints[] = {
    {1, "kubeletEndpoint", PROTO_MESSAGE, 0, core_v1_daemon_endpoint},
    {0},
};

static const struct proto_field core_v1_node_swap_status[] = {
    {1, "capacity", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field core_v1_node_system_info[] = {
    {1, "machineID", PROTO_STRING, 0, NULL},
    {2, "systemUUID", PROTO_STRING, 0, NULL},
    {3, "bootID", PROTO_STRING, 0, NULL},
    {4, "kernelVersion", PROTO_STRING, 0, NULL},
    {5, "osImage", PROTO_STRING, 0, NULL},
    {6, "containerRuntimeVersion", PROTO_STRING, 0, NULL},
    {7, "kubeletVersion", PROTO_STRING, 0, NULL},
    {8, "kubeProxyVersion", PROTO_STRING, 0, NULL},
    {9, "operatingSystem", PROTO_STRING, 0, NULL},
    {10, "architecture", PROTO_STRING, 0, NULL},
    {11, "swap", PROTO_MESSAGE, 0, core_v1_node_swap_status},
    {12, "runningInUserNamespace", PROTO_BOOL, 0, NULL},
    {0},
};

static const struct proto_field core_v1_container_image[] = {
    {1, "names", PROTO_STRING, PROTO_REPEATED, NULL},
    {2, "sizeBytes", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_attached_volume[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "devicePath", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_node_config_status[] = {
    {1, "assigned", PROTO_MESSAGE, 0, core_v1_node_config_source},
    {2, "active", PROTO_MESSAGE, 0, core_v1_node_config_source},
    {3, "lastKnownGood", PROTO_MESSAGE, 0, core_v1_node_config_source},
    {4, "error", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_node_runtime_handler_features[] = {
    {1, "recursiveReadOnlyMounts", PROTO_BOOL, 0, NULL},
    {2, "userNamespaces", PROTO_BOOL, 0, NULL},
    {0},
};

static const struct proto_field core_v1_node_runtime_handler[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "features", PROTO_MESSAGE, 0, core_v1_node_runtime_handler_features},
    {0},
};

static const struct proto_field core_v1_node_features[] = {
    {1, "supplementalGroupsPolicy", PROTO_BOOL, 0, NULL},
    {0},
};

static const struct proto_field core_v1_node_status[] = {
    {1, "capacity", PROTO_QUANTITY, PROTO_MAP, NULL},
    {2, "allocatable", PROTO_QUANTITY, PROTO_MAP, NULL},
    {3, "phase", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "conditions", PROTO_MESSAGE, PROTO_REPEATED, core_v1_node_condition},
    {5, "addresses", PROTO_MESSAGE, PROTO_REPEATED, core_v1_node_address},
    {6, "daemonEndpoints", PROTO_MESSAGE, 0, core_v1_node_daemon_endpoints},
    {7, "nodeInfo", PROTO_MESSAGE, 0, core_v1_node_system_info},
    {8, "images", PROTO_MESSAGE, PROTO_REPEATED, core_v1_container_image},
    {9, "volumesInUse", PROTO_STRING, PROTO_REPEATED, NULL},
    {10, "volumesAttached", PROTO_MESSAGE, PROTO_REPEATED, core_v1_attached_volume},
    {11, "config", PROTO_MESSAGE, 0, core_v1_node_config_status},
    {12, "runtimeHandlers", PROTO_MESSAGE, PROTO_REPEATED, core_v1_node_runtime_handler},
    {13, "features", PROTO_MESSAGE, 0, core_v1_node_features},
    {14, "declaredFeatures", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field core_v1_node[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, core_v1_node_spec},
    {3, "status", PROTO_MESSAGE, 0, core_v1_node_status},
    {0},
};

static const struct proto_field core_v1_gcepersistent_disk_volume_source[] = {
    {1, "pdName", PROTO_STRING, 0, NULL},
    {2, "fsType", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "partition", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {4, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_awselastic_block_store_volume_source[] = {
    {1, "volumeID", PROTO_STRING, 0, NULL},
    {2, "fsType", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "partition", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {4, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_host_path_volume_source[] = {
    {1, "path", PROTO_STRING, 0, NULL},
    {2, "type", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_glusterfs_persistent_volume_source[] = {
    {1, "endpoints", PROTO_STRING, 0, NULL},
    {2, "path", PROTO_STRING, 0, NULL},
    {3, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {4, "endpointsNamespace", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_nfsvolume_source[] = {
    {1, "server", PROTO_STRING, 0, NULL},
    {2, "path", PROTO_STRING, 0, NULL},
    {3, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_secret_reference[] = {
    {1, "name", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "namespace", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_rbdpersistent_volume_source[] = {
    {1, "monitors", PROTO_STRING, PROTO_REPEATED, NULL},
    {2, "image", PROTO_STRING, 0, NULL},
    {3, "fsType", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "pool", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "user", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "keyring", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {7, "secretRef", PROTO_MESSAGE, 0, core_v1_secret_reference},
    {8, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_iscsipersistent_volume_source[] = {
    {1, "targetPortal", PROTO_STRING, 0, NULL},
    {2, "iqn", PROTO_STRING, 0, NULL},
    {3, "lun", PROTO_INT, 0, NULL},
    {4, "iscsiInterface", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "fsType", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {7, "portals", PROTO_STRING, PROTO_REPEATED, NULL},
    {8, "chapAuthDiscovery", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {11, "chapAuthSession", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {10, "secretRef", PROTO_MESSAGE, 0, core_v1_secret_reference},
    {12, "initiatorName", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_cinder_persistent_volume_source[] = {
    {1, "volumeID", PROTO_STRING, 0, NULL},
    {2, "fsType", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {4, "secretRef", PROTO_MESSAGE, 0, core_v1_secret_reference},
    {0},
};

static const struct proto_field core_v1_ceph_fspersistent_volume_source[] = {
    {1, "monitors", PROTO_STRING, PROTO_REPEATED, NULL},
    {2, "path", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "user", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "secretFile", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "secretRef", PROTO_MESSAGE, 0, core_v1_secret_reference},
    {6, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_fcvolume_source[] = {
    {1, "targetWWNs", PROTO_STRING, PROTO_REPEATED, NULL},
    {2, "lun", PROTO_INT, 0, NULL},
    {3, "fsType", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {5, "wwids", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field core_v1_flocker_volume_source[] = {
    {1, "datasetName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "datasetUUID", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_flex_persistent_volume_source[] = {
    {1, "driver", PROTO_STRING, 0, NULL},
    {2, "fsType", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "secretRef", PROTO_MESSAGE, 0, core_v1_secret_reference},
    {4, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {5, "options", PROTO_STRING, PROTO_MAP, NULL},
    {0},
};

static const struct proto_field core_v1_azure_file_persistent_volume_source[] = {
    {1, "secretName", PROTO_STRING, 0, NULL},
    {2, "shareName", PROTO_STRING, 0, NULL},
    {3, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {4, "secretNamespace", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_vsphere_virtual_disk_volume_source[] = {
    {1, "volumePath", PROTO_STRING, 0, NULL},
    {2, "fsType", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "storagePolicyName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "storagePolicyID", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_quobyte_volume_source[] = {
    {1, "registry", PROTO_STRING, 0, NULL},
    {2, "volume", PROTO_STRING, 0, NULL},
    {3, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {4, "user", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "group", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "tenant", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_azure_disk_volume_source[] = {
    {1, "diskName", PROTO_STRING, 0, NULL},
    {2, "diskURI", PROTO_STRING, 0, NULL},
    {3, "cachingMode", PROTO_STRING, 0, NULL},
    {4, "fsType", PROTO_STRING, 0, NULL},
    {5, "readOnly", PROTO_BOOL, 0, NULL},
    {6, "kind", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_photon_persistent_disk_volume_source[] = {
    {1, "pdID", PROTO_STRING, 0, NULL},
    {2, "fsType", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_portworx_volume_source[] = {
    {1, "volumeID", PROTO_STRING, 0, NULL},
    {2, "fsType", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_scale_iopersistent_volume_source[] = {
    {1, "gateway", PROTO_STRING, 0, NULL},
    {2, "system", PROTO_STRING, 0, NULL},
    {3, "secretRef", PROTO_MESSAGE, 0, core_v1_secret_reference},
    {4, "sslEnabled", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {5, "protectionDomain", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "storagePool", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {7, "storageMode", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {8, "volumeName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {9, "fsType", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {10, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_local_volume_source[] = {
    {1, "path", PROTO_STRING, 0, NULL},
    {2, "fsType", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_storage_ospersistent_volume_source[] = {
    {1, "volumeName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "volumeNamespace", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "fsType", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {5, "secretRef", PROTO_MESSAGE, 0, core_v1_object_reference},
    {0},
};

static const struct proto_field core_v1_csipersistent_volume_source[] = {
    {1, "driver", PROTO_STRING, 0, NULL},
    {2, "volumeHandle", PROTO_STRING, 0, NULL},
    {3, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {4, "fsType", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "volumeAttributes", PROTO_STRING, PROTO_MAP, NULL},
    {6, "controllerPublishSecretRef", PROTO_MESSAGE, 0, core_v1_secret_reference},
    {7, "nodeStageSecretRef", PROTO_MESSAGE, 0, core_v1_secret_reference},
    {8, "nodePublishSecretRef", PROTO_MESSAGE, 0, core_v1_secret_reference},
    {9, "controllerExpandSecretRef", PROTO_MESSAGE, 0, core_v1_secret_reference},
    {10, "nodeExpandSecretRef", PROTO_MESSAGE, 0, core_v1_secret_reference},
    {0},
};

static const struct proto_field core_v1_persistent_volume_source[] = {
    {1, "gcePersistentDisk", PROTO_MESSAGE, 0, core_v1_gcepersistent_disk_volume_source},
    {2, "awsElasticBlockStore", PROTO_MESSAGE, 0, core_v1_awselastic_block_store_volume_source},
    {3, "hostPath", PROTO_MESSAGE, 0, core_v1_host_path_volume_source},
    {4, "glusterfs", PROTO_MESSAGE, 0, core_v1_glusterfs_persistent_volume_source},
    {5, "nfs", PROTO_MESSAGE, 0, core_v1_nfsvolume_source},
    {6, "rbd", PROTO_MESSAGE, 0, core_v1_rbdpersistent_volume_source},
    {7, "iscsi", PROTO_MESSAGE, 0, core_v1_iscsipersistent_volume_source},
    {8, "cinder", PROTO_MESSAGE, 0, core_v1_cinder_persistent_volume_source},
    {9, "cephfs", PROTO_MESSAGE, 0, core_v1_ceph_fspersistent_volume_source},
    {10, "fc", PROTO_MESSAGE, 0, core_v1_fcvolume_source},
    {11, "flocker", PROTO_MESSAGE, 0, core_v1_flocker_volume_source},
    {12, "flexVolume", PROTO_MESSAGE, 0, core_v1_flex_persistent_volume_source},
    {13, "azureFile", PROTO_MESSAGE, 0, core_v1_azure_file_persistent_volume_source},
    {14, "vsphereVolume", PROTO_MESSAGE, 0, core_v1_vsphere_virtual_disk_volume_source},
    {15, "quobyte", PROTO_MESSAGE, 0, core_v1_quobyte_volume_source},
    {16, "azureDisk", PROTO_MESSAGE, 0, core_v1_azure_disk_volume_source},
    {17, "photonPersistentDisk", PROTO_MESSAGE, 0, core_v1_photon_persistent_disk_volume_source},
    {18, "portworxVolume", PROTO_MESSAGE, 0, core_v1_portworx_volume_source},
    {19, "scaleIO", PROTO_MESSAGE, 0, core_v1_scale_iopersistent_volume_source},
    {20, "local", PROTO_MESSAGE, 0, core_v1_local_volume_source},
    {21, "storageos", PROTO_MESSAGE, 0, core_v1_storage_ospersistent_volume_source},
    {22, "csi", PROTO_MESSAGE, 0, core_v1_csipersistent_volume_source},
    {0},
};

static const struct proto_field core_v1_node_selector_requirement[] = {
    {1, "key", PROTO_STRING, 0, NULL},
    {2, "operator", PROTO_STRING, 0, NULL},
    {3, "values", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field core_v1_node_selector_term[] = {
    {1, "matchExpressions", PROTO_MESSAGE, PROTO_REPEATED, core_v1_node_selector_requirement},
    {2, "matchFields", PROTO_MESSAGE, PROTO_REPEATED, core_v1_node_selector_requirement},
    {0},
};

static const struct proto_field core_v1_node_selector[] = {
    {1, "nodeSelectorTerms", PROTO_MESSAGE, PROTO_REPEATED, core_v1_node_selector_term},
    {0},
};

static const struct proto_field core_v1_volume_node_affinity[] = {
    {1, "required", PROTO_MESSAGE, 0, core_v1_node_selector},
    {0},
};

static const struct proto_field core_v1_persistent_volume_spec[] = {
    {1, "capacity", PROTO_QUANTITY, PROTO_MAP, NULL},
    {2, "PersistentVolumeSource", PROTO_INLINE, 0, core_v1_persistent_volume_source},
    {3, "accessModes", PROTO_STRING, PROTO_REPEATED, NULL},
    {4, "claimRef", PROTO_MESSAGE, 0, core_v1_object_reference},
    {5, "persistentVolumeReclaimPolicy", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "storageClassName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {7, "mountOptions", PROTO_STRING, PROTO_REPEATED, NULL},
    {8, "volumeMode", PROTO_STRING, 0, NULL},
    {9, "nodeAffinity", PROTO_MESSAGE, 0, core_v1_volume_node_affinity},
    {10, "volumeAttributesClassName", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_persistent_volume_status[] = {
    {1, "phase", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "message", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "reason", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "lastPhaseTransitionTime", PROTO_TIME, 0, NULL},
    {0},
};

static const struct proto_field core_v1_persistent_volume[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, core_v1_persistent_volume_spec},
    {3, "status", PROTO_MESSAGE, 0, core_v1_persistent_volume_status},
    {0},
};

static const struct proto_field meta_v1_label_selector_requirement[] = {
    {1, "key", PROTO_STRING, 0, NULL},
    {2, "operator", PROTO_STRING, 0, NULL},
    {3, "values", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field meta_v1_label_selector[] = {
    {1, "matchLabels", PROTO_STRING, PROTO_MAP, NULL},
    {2, "matchExpressions", PROTO_MESSAGE, PROTO_REPEATED, meta_v1_label_selector_requirement},
    {0},
};

static const struct proto_field core_v1_volume_resource_requirements[] = {
    {1, "limits", PROTO_QUANTITY, PROTO_MAP, NULL},
    {2, "requests", PROTO_QUANTITY, PROTO_MAP, NULL},
    {0},
};

static const struct proto_field core_v1_typed_local_object_reference[] = {
    {1, "apiGroup", PROTO_STRING, 0, NULL},
    {2, "kind", PROTO_STRING, 0, NULL},
    {3, "name", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_typed_object_reference[] = {
    {1, "apiGroup", PROTO_STRING, 0, NULL},
    {2, "kind", PROTO_STRING, 0, NULL},
    {3, "name", PROTO_STRING, 0, NULL},
    {4, "namespace", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_persistent_volume_claim_spec[] = {
    {1, "accessModes", PROTO_STRING, PROTO_REPEATED, NULL},
    {4, "selector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {2, "resources", PROTO_MESSAGE, 0, core_v1_volume_resource_requirements},
    {3, "volumeName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "storageClassName", PROTO_STRING, 0, NULL},
    {6, "volumeMode", PROTO_STRING, 0, NULL},
    {7, "dataSource", PROTO_MESSAGE, 0, core_v1_typed_local_object_reference},
    {8, "dataSourceRef", PROTO_MESSAGE, 0, core_v1_typed_object_reference},
    {9, "volumeAttributesClassName", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_persistent_volume_claim_condition[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {2, "status", PROTO_STRING, 0, NULL},
    {3, "lastProbeTime", PROTO_TIME, 0, NULL},
    {4, "lastTransitionTime", PROTO_TIME, 0, NULL},
    {5, "reason", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "message", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_modify_volume_status[] = {
    {1, "targetVolumeAttributesClassName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "status", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_volume_health_condition[] = {
    {1, "status", PROTO_STRING, 0, NULL},
    {2, "reason", PROTO_STRING, 0, NULL},
    {3, "message", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_volume_health_status[] = {
    {1, "healthConditions", PROTO_MESSAGE, PROTO_REPEATED, core_v1_volume_health_condition},
    {2, "lastTransitionTime", PROTO_TIME, 0, NULL},
    {0},
};

static const struct proto_field core_v1_persistent_volume_claim_status[] = {
    {1, "phase", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "accessModes", PROTO_STRING, PROTO_REPEATED, NULL},
    {3, "capacity", PROTO_QUANTITY, PROTO_MAP, NULL},
    {4, "conditions", PROTO_MESSAGE, PROTO_REPEATED, core_v1_persistent_volume_claim_condition},
    {5, "allocatedResources", PROTO_QUANTITY, PROTO_MAP, NULL},
    {7, "allocatedResourceStatuses", PROTO_STRING, PROTO_MAP, NULL},
    {8, "currentVolumeAttributesClassName", PROTO_STRING, 0, NULL},
    {9, "modifyVolumeStatus", PROTO_MESSAGE, 0, core_v1_modify_volume_status},
    {10, "healthStatus", PROTO_MESSAGE, 0, core_v1_volume_health_status},
    {0},
};

static const struct proto_field core_v1_persistent_volume_claim[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, core_v1_persistent_volume_claim_spec},
    {3, "status", PROTO_MESSAGE, 0, core_v1_persistent_volume_claim_status},
    {0},
};

static const struct proto_field core_v1_empty_dir_volume_source[] = {
    {1, "medium", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "sizeLimit", PROTO_QUANTITY, 0, NULL},
    {3, "mode", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field core_v1_git_repo_volume_source[] = {
    {1, "repository", PROTO_STRING, 0, NULL},
    {2, "revision", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "directory", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_key_to_path[] = {
    {1, "key", PROTO_STRING, 0, NULL},
    {2, "path", PROTO_STRING, 0, NULL},
    {3, "mode", PROTO_INT, 0, NULL},
    {4, "user", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field core_v1_secret_volume_source[] = {
    {1, "secretName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "items", PROTO_MESSAGE, PROTO_REPEATED, core_v1_key_to_path},
    {3, "defaultMode", PROTO_INT, 0, NULL},
    {4, "optional", PROTO_BOOL, 0, NULL},
    {5, "defaultUser", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field core_v1_local_object_reference[] = {
    {1, "name", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_iscsivolume_source[] = {
    {1, "targetPortal", PROTO_STRING, 0, NULL},
    {2, "iqn", PROTO_STRING, 0, NULL},
    {3, "lun", PROTO_INT, 0, NULL},
    {4, "iscsiInterface", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "fsType", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {7, "portals", PROTO_STRING, PROTO_REPEATED, NULL},
    {8, "chapAuthDiscovery", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {11, "chapAuthSession", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {10, "secretRef", PROTO_MESSAGE, 0, core_v1_local_object_reference},
    {12, "initiatorName", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_glusterfs_volume_source[] = {
    {1, "endpoints", PROTO_STRING, 0, NULL},
    {2, "path", PROTO_STRING, 0, NULL},
    {3, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_persistent_volume_claim_volume_source[] = {
    {1, "claimName", PROTO_STRING, 0, NULL},
    {2, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_rbdvolume_source[] = {
    {1, "monitors", PROTO_STRING, PROTO_REPEATED, NULL},
    {2, "image", PROTO_STRING, 0, NULL},
    {3, "fsType", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "pool", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "user", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "keyring", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {7, "secretRef", PROTO_MESSAGE, 0, core_v1_local_object_reference},
    {8, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_flex_volume_source[] = {
    {1, "driver", PROTO_STRING, 0, NULL},
    {2, "fsType", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "secretRef", PROTO_MESSAGE, 0, core_v1_local_object_reference},
    {4, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {5, "options", PROTO_STRING, PROTO_MAP, NULL},
    {0},
};

static const struct proto_field core_v1_cinder_volume_source[] = {
    {1, "volumeID", PROTO_STRING, 0, NULL},
    {2, "fsType", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {4, "secretRef", PROTO_MESSAGE, 0, core_v1_local_object_reference},
    {0},
};

static const struct proto_field core_v1_ceph_fsvolume_source[] = {
    {1, "monitors", PROTO_STRING, PROTO_REPEATED, NULL},
    {2, "path", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "user", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "secretFile", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "secretRef", PROTO_MESSAGE, 0, core_v1_local_object_reference},
    {6, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_object_field_selector[] = {
    {1, "apiVersion", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "fieldPath", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_resource_field_selector[] = {
    {1, "containerName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "resource", PROTO_STRING, 0, NULL},
    {3, "divisor", PROTO_QUANTITY, 0, NULL},
    {0},
};

static const struct proto_field core_v1_downward_apivolume_file[] = {
    {1, "path", PROTO_STRING, 0, NULL},
    {2, "fieldRef", PROTO_MESSAGE, 0, core_v1_object_field_selector},
    {3, "resourceFieldRef", PROTO_MESSAGE, 0, core_v1_resource_field_selector},
    {4, "mode", PROTO_INT, 0, NULL},
    {5, "user", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field core_v1_downward_apivolume_source[] = {
    {1, "items", PROTO_MESSAGE, PROTO_REPEATED, core_v1_downward_apivolume_file},
    {2, "defaultMode", PROTO_INT, 0, NULL},
    {3, "defaultUser", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field core_v1_azure_file_volume_source[] = {
    {1, "secretName", PROTO_STRING, 0, NULL},
    {2, "shareName", PROTO_STRING, 0, NULL},
    {3, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_config_map_volume_source[] = {
    {1, "LocalObjectReference", PROTO_INLINE, 0, core_v1_local_object_reference},
    {2, "items", PROTO_MESSAGE, PROTO_REPEATED, core_v1_key_to_path},
    {3, "defaultMode", PROTO_INT, 0, NULL},
    {4, "optional", PROTO_BOOL, 0, NULL},
    {5, "defaultUser", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field core_v1_secret_projection[] = {
    {1, "LocalObjectReference", PROTO_INLINE, 0, core_v1_local_object_reference},
    {2, "items", PROTO_MESSAGE, PROTO_REPEATED, core_v1_key_to_path},
    {4, "optional", PROTO_BOOL, 0, NULL},
    {0},
};

static const struct proto_field core_v1_downward_apiprojection[] = {
    {1, "items", PROTO_MESSAGE, PROTO_REPEATED, core_v1_downward_apivolume_file},
    {0},
};

static const struct proto_field core_v1_config_map_projection[] = {
    {1, "LocalObjectReference", PROTO_INLINE, 0, core_v1_local_object_reference},
    {2, "items", PROTO_MESSAGE, PROTO_REPEATED, core_v1_key_to_path},
    {4, "optional", PROTO_BOOL, 0, NULL},
    {0},
};

static const struct proto_field core_v1_service_account_token_projection[] = {
    {1, "audience", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "expirationSeconds", PROTO_INT, 0, NULL},
    {3, "path", PROTO_STRING, 0, NULL},
    {4, "user", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field core_v1_cluster_trust_bundle_projection[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "signerName", PROTO_STRING, 0, NULL},
    {3, "labelSelector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {5, "optional", PROTO_BOOL, 0, NULL},
    {4, "path", PROTO_STRING, 0, NULL},
    {6, "user", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field core_v1_pod_certificate_projection[] = {
    {1, "signerName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "keyType", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "maxExpirationSeconds", PROTO_INT, 0, NULL},
    {4, "credentialBundlePath", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "keyPath", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "certificateChainPath", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {7, "userAnnotations", PROTO_STRING, PROTO_MAP, NULL},
    {8, "user", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field core_v1_volume_projection[] = {
    {1, "secret", PROTO_MESSAGE, 0, core_v1_secret_projection},
    {2, "downwardAPI", PROTO_MESSAGE, 0, core_v1_downward_apiprojection},
    {3, "configMap", PROTO_MESSAGE, 0, core_v1_config_map_projection},
    {4, "serviceAccountToken", PROTO_MESSAGE, 0, core_v1_service_account_token_projection},
    {5, "clusterTrustBundle", PROTO_MESSAGE, 0, core_v1_cluster_trust_bundle_projection},
    {6, "podCertificate", PROTO_MESSAGE, 0, core_v1_pod_certificate_projection},
    {0},
};

static const struct proto_field core_v1_projected_volume_source[] = {
    {1, "sources", PROTO_MESSAGE, PROTO_REPEATED, core_v1_volume_projection},
    {2, "defaultMode", PROTO_INT, 0, NULL},
    {3, "defaultUser", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field core_v1_scale_iovolume_source[] = {
    {1, "gateway", PROTO_STRING, 0, NULL},
    {2, "system", PROTO_STRING, 0, NULL},
    {3, "secretRef", PROTO_MESSAGE, 0, core_v1_local_object_reference},
    {4, "sslEnabled", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {5, "protectionDomain", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "storagePool", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {7, "storageMode", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {8, "volumeName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {9, "fsType", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {10, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_storage_osvolume_source[] = {
    {1, "volumeName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "volumeNamespace", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "fsType", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {5, "secretRef", PROTO_MESSAGE, 0, core_v1_local_object_reference},
    {0},
};

static const struct proto_field core_v1_csivolume_source[] = {
    {1, "driver", PROTO_STRING, 0, NULL},
    {2, "readOnly", PROTO_BOOL, 0, NULL},
    {3, "fsType", PROTO_STRING, 0, NULL},
    {4, "volumeAttributes", PROTO_STRING, PROTO_MAP, NULL},
    {5, "nodePublishSecretRef", PROTO_MESSAGE, 0, core_v1_local_object_reference},
    {0},
};

static const struct proto_field core_v1_persistent_volume_claim_template[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, core_v1_persistent_volume_claim_spec},
    {0},
};

static const struct proto_field core_v1_ephemeral_volume_source[] = {
    {1, "volumeClaimTemplate", PROTO_MESSAGE, 0, core_v1_persistent_volume_claim_template},
    {0},
};

static const struct proto_field core_v1_image_volume_source[] = {
    {1, "reference", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "pullPolicy", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_volume_source[] = {
    {1, "hostPath", PROTO_MESSAGE, 0, core_v1_host_path_volume_source},
    {2, "emptyDir", PROTO_MESSAGE, 0, core_v1_empty_dir_volume_source},
    {3, "gcePersistentDisk", PROTO_MESSAGE, 0, core_v1_gcepersistent_disk_volume_source},
    {4, "awsElasticBlockStore", PROTO_MESSAGE, 0, core_v1_awselastic_block_store_volume_source},
    {5, "gitRepo", PROTO_MESSAGE, 0, core_v1_git_repo_volume_source},
    {6, "secret", PROTO_MESSAGE, 0, core_v1_secret_volume_source},
    {7, "nfs", PROTO_MESSAGE, 0, core_v1_nfsvolume_source},
    {8, "iscsi", PROTO_MESSAGE, 0, core_v1_iscsivolume_source},
    {9, "glusterfs", PROTO_MESSAGE, 0, core_v1_glusterfs_volume_source},
    {10, "persistentVolumeClaim", PROTO_MESSAGE, 0, core_v1_persistent_volume_claim_volume_source},
    {11, "rbd", PROTO_MESSAGE, 0, core_v1_rbdvolume_source},
    {12, "flexVolume", PROTO_MESSAGE, 0, core_v1_flex_volume_source},
    {13, "cinder", PROTO_MESSAGE, 0, core_v1_cinder_volume_source},
    {14, "cephfs", PROTO_MESSAGE, 0, core_v1_ceph_fsvolume_source},
    {15, "flocker", PROTO_MESSAGE, 0, core_v1_flocker_volume_source},
    {16, "downwardAPI", PROTO_MESSAGE, 0, core_v1_downward_apivolume_source},
    {17, "fc", PROTO_MESSAGE, 0, core_v1_fcvolume_source},
    {18, "azureFile", PROTO_MESSAGE, 0, core_v1_azure_file_volume_source},
    {19, "configMap", PROTO_MESSAGE, 0, core_v1_config_map_volume_source},
    {20, "vsphereVolume", PROTO_MESSAGE, 0, core_v1_vsphere_virtual_disk_volume_source},
    {21, "quobyte", PROTO_MESSAGE, 0, core_v1_quobyte_volume_source},
    {22, "azureDisk", PROTO_MESSAGE, 0, core_v1_azure_disk_volume_source},
    {23, "photonPersistentDisk", PROTO_MESSAGE, 0, core_v1_photon_persistent_disk_volume_source},
    {26, "projected", PROTO_MESSAGE, 0, core_v1_projected_volume_source},
    {24, "portworxVolume", PROTO_MESSAGE, 0, core_v1_portworx_volume_source},
    {25, "scaleIO", PROTO_MESSAGE, 0, core_v1_scale_iovolume_source},
    {27, "storageos", PROTO_MESSAGE, 0, core_v1_storage_osvolume_source},
    {28, "csi", PROTO_MESSAGE, 0, core_v1_csivolume_source},
    {29, "ephemeral", PROTO_MESSAGE, 0, core_v1_ephemeral_volume_source},
    {30, "image", PROTO_MESSAGE, 0, core_v1_image_volume_source},
    {0},
};

static const struct proto_field core_v1_volume[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "VolumeSource", PROTO_INLINE, 0, core_v1_volume_source},
    {0},
};

static const struct proto_field core_v1_container_port[] = {
    {1, "name", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "hostPort", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {3, "containerPort", PROTO_INT, 0, NULL},
    {4, "protocol", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "hostIP", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_config_map_env_source[] = {
    {1, "LocalObjectReference", PROTO_INLINE, 0, core_v1_local_object_reference},
    {2, "optional", PROTO_BOOL, 0, NULL},
    {0},
};

static const struct proto_field core_v1_secret_env_source[] = {
    {1, "LocalObjectReference", PROTO_INLINE, 0, core_v1_local_object_reference},
    {2, "optional", PROTO_BOOL, 0, NULL},
    {0},
};

static const struct proto_field core_v1_env_from_source[] = {
    {1, "prefix", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "configMapRef", PROTO_MESSAGE, 0, core_v1_config_map_env_source},
    {3, "secretRef", PROTO_MESSAGE, 0, core_v1_secret_env_source},
    {0},
};

static const struct proto_field core_v1_config_map_key_selector[] = {
    {1, "LocalObjectReference", PROTO_INLINE, 0, core_v1_local_object_reference},
    {2, "key", PROTO_STRING, 0, NULL},
    {3, "optional", PROTO_BOOL, 0, NULL},
    {0},
};

static const struct proto_field core_v1_secret_key_selector[] = {
    {1, "LocalObjectReference", PROTO_INLINE, 0, core_v1_local_object_reference},
    {2, "key", PROTO_STRING, 0, NULL},
    {3, "optional", PROTO_BOOL, 0, NULL},
    {0},
};

static const struct proto_field core_v1_file_key_selector[] = {
    {1, "volumeName", PROTO_STRING, 0, NULL},
    {2, "path", PROTO_STRING, 0, NULL},
    {3, "key", PROTO_STRING, 0, NULL},
    {4, "optional", PROTO_BOOL, 0, NULL},
    {0},
};

static const struct proto_field core_v1_env_var_source[] = {
    {1, "fieldRef", PROTO_MESSAGE, 0, core_v1_object_field_selector},
    {2, "resourceFieldRef", PROTO_MESSAGE, 0, core_v1_resource_field_selector},
    {3, "configMapKeyRef", PROTO_MESSAGE, 0, core_v1_config_map_key_selector},
    {4, "secretKeyRef", PROTO_MESSAGE, 0, core_v1_secret_key_selector},
    {5, "fileKeyRef", PROTO_MESSAGE, 0, core_v1_file_key_selector},
    {0},
};

static const struct proto_field core_v1_env_var[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "value", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "valueFrom", PROTO_MESSAGE, 0, core_v1_env_var_source},
    {0},
};

static const struct proto_field core_v1_resource_claim[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "request", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_resource_requirements[] = {
    {1, "limits", PROTO_QUANTITY, PROTO_MAP, NULL},
    {2, "requests", PROTO_QUANTITY, PROTO_MAP, NULL},
    {3, "claims", PROTO_MESSAGE, PROTO_REPEATED, core_v1_resource_claim},
    {0},
};

static const struct proto_field core_v1_container_resize_policy[] = {
    {1, "resourceName", PROTO_STRING, 0, NULL},
    {2, "restartPolicy", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_container_restart_rule_on_exit_codes[] = {
    {1, "operator", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "values", PROTO_INT, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field core_v1_container_restart_rule[] = {
    {1, "action", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "exitCodes", PROTO_MESSAGE, 0, core_v1_container_restart_rule_on_exit_codes},
    {0},
};

static const struct proto_field core_v1_volume_mount[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {7, "recursiveReadOnly", PROTO_STRING, 0, NULL},
    {3, "mountPath", PROTO_STRING, 0, NULL},
    {4, "subPath", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "mountPropagation", PROTO_STRING, 0, NULL},
    {6, "subPathExpr", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {8, "bindMountOptions", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field core_v1_volume_device[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "devicePath", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_exec_action[] = {
    {1, "command", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field core_v1_httpheader[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "value", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_httpget_action[] = {
    {1, "path", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "port", PROTO_INT_OR_STRING, 0, NULL},
    {3, "host", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "scheme", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "httpHeaders", PROTO_MESSAGE, PROTO_REPEATED, core_v1_httpheader},
    {6, "protocol", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_tcpsocket_action[] = {
    {1, "port", PROTO_INT_OR_STRING, 0, NULL},
    {2, "host", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_grpcaction[] = {
    {1, "port", PROTO_INT, 0, NULL},
    {2, "service", PROTO_STRING, 0, NULL},
    {3, "mode", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_probe_handler[] = {
    {1, "exec", PROTO_MESSAGE, 0, core_v1_exec_action},
    {2, "httpGet", PROTO_MESSAGE, 0, core_v1_httpget_action},
    {3, "tcpSocket", PROTO_MESSAGE, 0, core_v1_tcpsocket_action},
    {4, "grpc", PROTO_MESSAGE, 0, core_v1_grpcaction},
    {0},
};

static const struct proto_field core_v1_probe[] = {
    {1, "ProbeHandler", PROTO_INLINE, 0, core_v1_probe_handler},
    {2, "initialDelaySeconds", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {3, "timeoutSeconds", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {4, "periodSeconds", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {5, "successThreshold", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {6, "failureThreshold", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {7, "terminationGracePeriodSeconds", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field core_v1_sleep_action[] = {
    {1, "seconds", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field core_v1_lifecycle_handler[] = {
    {1, "exec", PROTO_MESSAGE, 0, core_v1_exec_action},
    {2, "httpGet", PROTO_MESSAGE, 0, core_v1_httpget_action},
    {3, "tcpSocket", PROTO_MESSAGE, 0, core_v1_tcpsocket_action},
    {4, "sleep", PROTO_MESSAGE, 0, core_v1_sleep_action},
    {0},
};

static const struct proto_field core_v1_lifecycle[] = {
    {1, "postStart", PROTO_MESSAGE, 0, core_v1_lifecycle_handler},
    {2, "preStop", PROTO_MESSAGE, 0, core_v1_lifecycle_handler},
    {3, "stopSignal", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_capabilities[] = {
    {1, "add", PROTO_STRING, PROTO_REPEATED, NULL},
    {2, "drop", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field core_v1_selinux_options[] = {
    {1, "user", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "role", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "type", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "level", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_windows_security_context_options[] = {
    {1, "gmsaCredentialSpecName", PROTO_STRING, 0, NULL},
    {2, "gmsaCredentialSpec", PROTO_STRING, 0, NULL},
    {3, "runAsUserName", PROTO_STRING, 0, NULL},
    {4, "hostProcess", PROTO_BOOL, 0, NULL},
    {0},
};

static const struct proto_field core_v1_seccomp_profile[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {2, "localhostProfile", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_app_armor_profile[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {2, "localhostProfile", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_security_context[] = {
    {1, "capabilities", PROTO_MESSAGE, 0, core_v1_capabilities},
    {2, "privileged", PROTO_BOOL, 0, NULL},
    {3, "seLinuxOptions", PROTO_MESSAGE, 0, core_v1_selinux_options},
    {10, "windowsOptions", PROTO_MESSAGE, 0, core_v1_windows_security_context_options},
    {4, "runAsUser", PROTO_INT, 0, NULL},
    {8, "runAsGroup", PROTO_INT, 0, NULL},
    {5, "runAsNonRoot", PROTO_BOOL, 0, NULL},
    {6, "readOnlyRootFilesystem", PROTO_BOOL, 0, NULL},
    {7, "allowPrivilegeEscalation", PROTO_BOOL, 0, NULL},
    {9, "procMount", PROTO_STRING, 0, NULL},
    {11, "seccompProfile", PROTO_MESSAGE, 0, core_v1_seccomp_profile},
    {12, "appArmorProfile", PROTO_MESSAGE, 0, core_v1_app_armor_profile},
    {0},
};

static const struct proto_field core_v1_container[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "image", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "command", PROTO_STRING, PROTO_REPEATED, NULL},
    {4, "args", PROTO_STRING, PROTO_REPEATED, NULL},
    {5, "workingDir", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "ports", PROTO_MESSAGE, PROTO_REPEATED, core_v1_container_port},
    {19, "envFrom", PROTO_MESSAGE, PROTO_REPEATED, core_v1_env_from_source},
    {7, "env", PROTO_MESSAGE, PROTO_REPEATED, core_v1_env_var},
    {8, "resources", PROTO_MESSAGE, 0, core_v1_resource_requirements},
    {23, "resizePolicy", PROTO_MESSAGE, PROTO_REPEATED, core_v1_container_resize_policy},
    {24, "restartPolicy", PROTO_STRING, 0, NULL},
    {25, "restartPolicyRules", PROTO_MESSAGE, PROTO_REPEATED, core_v1_container_restart_rule},
    {9, "volumeMounts", PROTO_MESSAGE, PROTO_REPEATED, core_v1_volume_mount},
    {21, "volumeDevices", PROTO_MESSAGE, PROTO_REPEATED, core_v1_volume_device},
    {10, "livenessProbe", PROTO_MESSAGE, 0, core_v1_probe},
    {11, "readinessProbe", PROTO_MESSAGE, 0, core_v1_probe},
    {22, "startupProbe", PROTO_MESSAGE, 0, core_v1_probe},
    {12, "lifecycle", PROTO_MESSAGE, 0, core_v1_lifecycle},
    {13, "terminationMessagePath", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {20, "terminationMessagePolicy", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {14, "imagePullPolicy", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {15, "securityContext", PROTO_MESSAGE, 0, core_v1_security_context},
    {16, "stdin", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {17, "stdinOnce", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {18, "tty", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_ephemeral_container_common[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "image", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "command", PROTO_STRING, PROTO_REPEATED, NULL},
    {4, "args", PROTO_STRING, PROTO_REPEATED, NULL},
    {5, "workingDir", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "ports", PROTO_MESSAGE, PROTO_REPEATED, core_v1_container_port},
    {19, "envFrom", PROTO_MESSAGE, PROTO_REPEATED, core_v1_env_from_source},
    {7, "env", PROTO_MESSAGE, PROTO_REPEATED, core_v1_env_var},
    {8, "resources", PROTO_MESSAGE, 0, core_v1_resource_requirements},
    {23, "resizePolicy", PROTO_MESSAGE, PROTO_REPEATED, core_v1_container_resize_policy},
    {24, "restartPolicy", PROTO_STRING, 0, NULL},
    {25, "restartPolicyRules", PROTO_MESSAGE, PROTO_REPEATED, core_v1_container_restart_rule},
    {9, "volumeMounts", PROTO_MESSAGE, PROTO_REPEATED, core_v1_volume_mount},
    {21, "volumeDevices", PROTO_MESSAGE, PROTO_REPEATED, core_v1_volume_device},
    {10, "livenessProbe", PROTO_MESSAGE, 0, core_v1_probe},
    {11, "readinessProbe", PROTO_MESSAGE, 0, core_v1_probe},
    {22, "startupProbe", PROTO_MESSAGE, 0, core_v1_probe},
    {12, "lifecycle", PROTO_MESSAGE, 0, core_v1_lifecycle},
    {13, "terminationMessagePath", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {20, "terminationMessagePolicy", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {14, "imagePullPolicy", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {15, "securityContext", PROTO_MESSAGE, 0, core_v1_security_context},
    {16, "stdin", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {17, "stdinOnce", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {18, "tty", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_ephemeral_container[] = {
    {1, "EphemeralContainerCommon", PROTO_INLINE, 0, core_v1_ephemeral_container_common},
    {2, "targetContainerName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_sysctl[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "value", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_pod_security_context[] = {
    {1, "seLinuxOptions", PROTO_MESSAGE, 0, core_v1_selinux_options},
    {8, "windowsOptions", PROTO_MESSAGE, 0, core_v1_windows_security_context_options},
    {2, "runAsUser", PROTO_INT, 0, NULL},
    {6, "runAsGroup", PROTO_INT, 0, NULL},
    {3, "runAsNonRoot", PROTO_BOOL, 0, NULL},
    {4, "supplementalGroups", PROTO_INT, PROTO_REPEATED, NULL},
    {12, "supplementalGroupsPolicy", PROTO_STRING, 0, NULL},
    {5, "fsGroup", PROTO_INT, 0, NULL},
    {7, "sysctls", PROTO_MESSAGE, PROTO_REPEATED, core_v1_sysctl},
    {9, "fsGroupChangePolicy", PROTO_STRING, 0, NULL},
    {10, "seccompProfile", PROTO_MESSAGE, 0, core_v1_seccomp_profile},
    {11, "appArmorProfile", PROTO_MESSAGE, 0, core_v1_app_armor_profile},
    {13, "seLinuxChangePolicy", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_preferred_scheduling_term[] = {
    {1, "weight", PROTO_INT, 0, NULL},
    {2, "preference", PROTO_MESSAGE, 0, core_v1_node_selector_term},
    {0},
};

static const struct proto_field core_v1_node_affinity[] = {
    {1, "requiredDuringSchedulingIgnoredDuringExecution", PROTO_MESSAGE, 0, core_v1_node_selector},
    {2, "preferredDuringSchedulingIgnoredDuringExecution", PROTO_MESSAGE, PROTO_REPEATED, core_v1_preferred_scheduling_term},
    {0},
};

static const struct proto_field core_v1_pod_affinity_term[] = {
    {1, "labelSelector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {2, "namespaces", PROTO_STRING, PROTO_REPEATED, NULL},
    {3, "topologyKey", PROTO_STRING, 0, NULL},
    {4, "namespaceSelector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {5, "matchLabelKeys", PROTO_STRING, PROTO_REPEATED, NULL},
    {6, "mismatchLabelKeys", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field core_v1_weighted_pod_affinity_term[] = {
    {1, "weight", PROTO_INT, 0, NULL},
    {2, "podAffinityTerm", PROTO_MESSAGE, 0, core_v1_pod_affinity_term},
    {0},
};

static const struct proto_field core_v1_pod_affinity[] = {
    {1, "requiredDuringSchedulingIgnoredDuringExecution", PROTO_MESSAGE, PROTO_REPEATED, core_v1_pod_affinity_term},
    {2, "preferredDuringSchedulingIgnoredDuringExecution", PROTO_MESSAGE, PROTO_REPEATED, core_v1_weighted_pod_affinity_term},
    {0},
};

static const struct proto_field core_v1_pod_anti_affinity[] = {
    {1, "requiredDuringSchedulingIgnoredDuringExecution", PROTO_MESSAGE, PROTO_REPEATED, core_v1_pod_affinity_term},
    {2, "preferredDuringSchedulingIgnoredDuringExecution", PROTO_MESSAGE, PROTO_REPEATED, core_v1_weighted_pod_affinity_term},
    {0},
};

static const struct proto_field core_v1_affinity[] = {
    {1, "nodeAffinity", PROTO_MESSAGE, 0, core_v1_node_affinity},
    {2, "podAffinity", PROTO_MESSAGE, 0, core_v1_pod_affinity},
    {3, "podAntiAffinity", PROTO_MESSAGE, 0, core_v1_pod_anti_affinity},
    {0},
};

static const struct proto_field core_v1_toleration[] = {
    {1, "key", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "operator", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "value", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "effect", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "tolerationSeconds", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field core_v1_host_alias[] = {
    {1, "ip", PROTO_STRING, 0, NULL},
    {2, "hostnames", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field core_v1_pod_dnsconfig_option[] = {
    {1, "name", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "value", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_pod_dnsconfig[] = {
    {1, "nameservers", PROTO_STRING, PROTO_REPEATED, NULL},
    {2, "searches", PROTO_STRING, PROTO_REPEATED, NULL},
    {3, "options", PROTO_MESSAGE, PROTO_REPEATED, core_v1_pod_dnsconfig_option},
    {0},
};

static const struct proto_field core_v1_pod_readiness_gate[] = {
    {1, "conditionType", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_topology_spread_constraint[] = {
    {1, "maxSkew", PROTO_INT, 0, NULL},
    {2, "topologyKey", PROTO_STRING, 0, NULL},
    {3, "whenUnsatisfiable", PROTO_STRING, 0, NULL},
    {4, "labelSelector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {5, "minDomains", PROTO_INT, 0, NULL},
    {6, "nodeAffinityPolicy", PROTO_STRING, 0, NULL},
    {7, "nodeTaintsPolicy", PROTO_STRING, 0, NULL},
    {8, "matchLabelKeys", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field core_v1_pod_os[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_pod_scheduling_gate[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_pod_resource_claim[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {3, "resourceClaimName", PROTO_STRING, 0, NULL},
    {4, "resourceClaimTemplateName", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_pod_scheduling_group[] = {
    {1, "podGroupName", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_eviction_responder[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "priority", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field core_v1_pod_spec[] = {
    {1, "volumes", PROTO_MESSAGE, PROTO_REPEATED, core_v1_volume},
    {20, "initContainers", PROTO_MESSAGE, PROTO_REPEATED, core_v1_container},
    {2, "containers", PROTO_MESSAGE, PROTO_REPEATED, core_v1_container},
    {34, "ephemeralContainers", PROTO_MESSAGE, PROTO_REPEATED, core_v1_ephemeral_container},
    {3, "restartPolicy", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "terminationGracePeriodSeconds", PROTO_INT, 0, NULL},
    {5, "activeDeadlineSeconds", PROTO_INT, 0, NULL},
    {6, "dnsPolicy", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {7, "nodeSelector", PROTO_STRING, PROTO_MAP, NULL},
    {8, "serviceAccountName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {9, "serviceAccount", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {21, "automountServiceAccountToken", PROTO_BOOL, 0, NULL},
    {10, "nodeName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {11, "hostNetwork", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {12, "hostPID", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {13, "hostIPC", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {27, "shareProcessNamespace", PROTO_BOOL, 0, NULL},
    {14, "securityContext", PROTO_MESSAGE, 0, core_v1_pod_security_context},
    {15, "imagePullSecrets", PROTO_MESSAGE, PROTO_REPEATED, core_v1_local_object_reference},
    {16, "hostname", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {17, "subdomain", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {18, "affinity", PROTO_MESSAGE, 0, core_v1_affinity},
    {19, "schedulerName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {22, "tolerations", PROTO_MESSAGE, PROTO_REPEATED, core_v1_toleration},
    {23, "hostAliases", PROTO_MESSAGE, PROTO_REPEATED, core_v1_host_alias},
    {24, "priorityClassName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {25, "priority", PROTO_INT, 0, NULL},
    {26, "dnsConfig", PROTO_MESSAGE, 0, core_v1_pod_dnsconfig},
    {28, "readinessGates", PROTO_MESSAGE, PROTO_REPEATED, core_v1_pod_readiness_gate},
    {29, "runtimeClassName", PROTO_STRING, 0, NULL},
    {30, "enableServiceLinks", PROTO_BOOL, 0, NULL},
    {31, "preemptionPolicy", PROTO_STRING, 0, NULL},
    {32, "overhead", PROTO_QUANTITY, PROTO_MAP, NULL},
    {33, "topologySpreadConstraints", PROTO_MESSAGE, PROTO_REPEATED, core_v1_topology_spread_constraint},
    {35, "setHostnameAsFQDN", PROTO_BOOL, 0, NULL},
    {36, "os", PROTO_MESSAGE, 0, core_v1_pod_os},
    {37, "hostUsers", PROTO_BOOL, 0, NULL},
    {38, "schedulingGates", PROTO_MESSAGE, PROTO_REPEATED, core_v1_pod_scheduling_gate},
    {39, "resourceClaims", PROTO_MESSAGE, PROTO_REPEATED, core_v1_pod_resource_claim},
    {40, "resources", PROTO_MESSAGE, 0, core_v1_resource_requirements},
    {41, "hostnameOverride", PROTO_STRING, 0, NULL},
    {43, "schedulingGroup", PROTO_MESSAGE, 0, core_v1_pod_scheduling_group},
    {44, "evictionResponders", PROTO_MESSAGE, PROTO_REPEATED, core_v1_eviction_responder},
    {0},
};

static const struct proto_field core_v1_pod_condition[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {7, "observedGeneration", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {2, "status", PROTO_STRING, 0, NULL},
    {3, "lastProbeTime", PROTO_TIME, 0, NULL},
    {4, "lastTransitionTime", PROTO_TIME, 0, NULL},
    {5, "reason", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "message", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_host_ip[] = {
    {1, "ip", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_pod_ip[] = {
    {1, "ip", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_container_state_waiting[] = {
    {1, "reason", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "message", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_container_state_running[] = {
    {1, "startedAt", PROTO_TIME, 0, NULL},
    {0},
};

static const struct proto_field core_v1_container_state_terminated[] = {
    {1, "exitCode", PROTO_INT, 0, NULL},
    {2, "signal", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {3, "reason", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "message", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "startedAt", PROTO_TIME, 0, NULL},
    {6, "finishedAt", PROTO_TIME, 0, NULL},
    {7, "containerID", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_container_state[] = {
    {1, "waiting", PROTO_MESSAGE, 0, core_v1_container_state_waiting},
    {2, "running", PROTO_MESSAGE, 0, core_v1_container_state_running},
    {3, "terminated", PROTO_MESSAGE, 0, core_v1_container_state_terminated},
    {0},
};

static const struct proto_field core_v1_image_volume_status[] = {
    {1, "imageRef", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_volume_status[] = {
    {1, "image", PROTO_MESSAGE, 0, core_v1_image_volume_status},
    {0},
};

static const struct proto_field core_v1_volume_mount_status[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "mountPath", PROTO_STRING, 0, NULL},
    {3, "readOnly", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {4, "recursiveReadOnly", PROTO_STRING, 0, NULL},
    {5, "volumeStatus", PROTO_MESSAGE, 0, core_v1_volume_status},
    {0},
};

static const struct proto_field core_v1_linux_container_user[] = {
    {1, "uid", PROTO_INT, 0, NULL},
    {2, "gid", PROTO_INT, 0, NULL},
    {3, "supplementalGroups", PROTO_INT, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field core_v1_container_user[] = {
    {1, "linux", PROTO_MESSAGE, 0, core_v1_linux_container_user},
    {0},
};

static const struct proto_field core_v1_resource_health[] = {
    {1, "resourceID", PROTO_STRING, 0, NULL},
    {2, "health", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "message", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_resource_status[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "resources", PROTO_MESSAGE, PROTO_REPEATED, core_v1_resource_health},
    {0},
};

static const struct proto_field core_v1_container_status[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "state", PROTO_MESSAGE, 0, core_v1_container_state},
    {3, "lastState", PROTO_MESSAGE, 0, core_v1_container_state},
    {4, "ready", PROTO_BOOL, 0, NULL},
    {5, "restartCount", PROTO_INT, 0, NULL},
    {6, "image", PROTO_STRING, 0, NULL},
    {7, "imageID", PROTO_STRING, 0, NULL},
    {8, "containerID", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {9, "started", PROTO_BOOL, 0, NULL},
    {10, "allocatedResources", PROTO_QUANTITY, PROTO_MAP, NULL},
    {11, "resources", PROTO_MESSAGE, 0, core_v1_resource_requirements},
    {12, "volumeMounts", PROTO_MESSAGE, PROTO_REPEATED, core_v1_volume_mount_status},
    {13, "user", PROTO_MESSAGE, 0, core_v1_container_user},
    {14, "allocatedResourcesStatus", PROTO_MESSAGE, PROTO_REPEATED, core_v1_resource_status},
    {15, "stopSignal", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_pod_resource_claim_status[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "resourceClaimName", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_container_extended_resource_request[] = {
    {1, "containerName", PROTO_STRING, 0, NULL},
    {2, "resourceName", PROTO_STRING, 0, NULL},
    {3, "requestName", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_pod_extended_resource_claim_status[] = {
    {1, "requestMappings", PROTO_MESSAGE, PROTO_REPEATED, core_v1_container_extended_resource_request},
    {2, "resourceClaimName", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_node_allocatable_mapped_resources[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "quantity", PROTO_QUANTITY, 0, NULL},
    {0},
};

static const struct proto_field core_v1_node_allocatable_overhead_resources[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "perPod", PROTO_QUANTITY, 0, NULL},
    {3, "perContainer", PROTO_QUANTITY, 0, NULL},
    {0},
};

static const struct proto_field core_v1_node_allocatable_resource_claim_status[] = {
    {1, "resourceClaimName", PROTO_STRING, 0, NULL},
    {2, "containers", PROTO_STRING, PROTO_REPEATED, NULL},
    {4, "mapping", PROTO_MESSAGE, PROTO_REPEATED, core_v1_node_allocatable_mapped_resources},
    {5, "overhead", PROTO_MESSAGE, PROTO_REPEATED, core_v1_node_allocatable_overhead_resources},
    {0},
};

static const struct proto_field core_v1_pod_volume_health[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "healthConditions", PROTO_MESSAGE, PROTO_REPEATED, core_v1_volume_health_condition},
    {3, "lastTransitionTime", PROTO_TIME, 0, NULL},
    {0},
};

static const struct proto_field core_v1_pod_status[] = {
    {17, "observedGeneration", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {1, "phase", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "conditions", PROTO_MESSAGE, PROTO_REPEATED, core_v1_pod_condition},
    {3, "message", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "reason", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {11, "nominatedNodeName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "hostIP", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {16, "hostIPs", PROTO_MESSAGE, PROTO_REPEATED, core_v1_host_ip},
    {6, "podIP", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {12, "podIPs", PROTO_MESSAGE, PROTO_REPEATED, core_v1_pod_ip},
    {7, "startTime", PROTO_TIME, 0, NULL},
    {10, "initContainerStatuses", PROTO_MESSAGE, PROTO_REPEATED, core_v1_container_status},
    {8, "containerStatuses", PROTO_MESSAGE, PROTO_REPEATED, core_v1_container_status},
    {9, "qosClass", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {13, "ephemeralContainerStatuses", PROTO_MESSAGE, PROTO_REPEATED, core_v1_container_status},
    {14, "resize", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {15, "resourceClaimStatuses", PROTO_MESSAGE, PROTO_REPEATED, core_v1_pod_resource_claim_status},
    {18, "extendedResourceClaimStatus", PROTO_MESSAGE, 0, core_v1_pod_extended_resource_claim_status},
    {19, "allocatedResources", PROTO_QUANTITY, PROTO_MAP, NULL},
    {20, "resources", PROTO_MESSAGE, 0, core_v1_resource_requirements},
    {21, "nodeAllocatableResourceClaimStatuses", PROTO_MESSAGE, PROTO_REPEATED, core_v1_node_allocatable_resource_claim_status},
    {22, "volumeHealth", PROTO_MESSAGE, PROTO_REPEATED, core_v1_pod_volume_health},
    {0},
};

static const struct proto_field core_v1_pod[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, core_v1_pod_spec},
    {3, "status", PROTO_MESSAGE, 0, core_v1_pod_status},
    {0},
};

static const struct proto_field core_v1_pod_template_spec[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, core_v1_pod_spec},
    {0},
};

static const struct proto_field core_v1_pod_template[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "template", PROTO_MESSAGE, 0, core_v1_pod_template_spec},
    {0},
};

static const struct proto_field core_v1_replication_controller_spec[] = {
    {1, "replicas", PROTO_INT, 0, NULL},
    {4, "minReadySeconds", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {2, "selector", PROTO_STRING, PROTO_MAP, NULL},
    {3, "template", PROTO_MESSAGE, 0, core_v1_pod_template_spec},
    {0},
};

static const struct proto_field core_v1_replication_controller_condition[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {2, "status", PROTO_STRING, 0, NULL},
    {3, "lastTransitionTime", PROTO_TIME, 0, NULL},
    {4, "reason", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "message", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_replication_controller_status[] = {
    {1, "replicas", PROTO_INT, 0, NULL},
    {2, "fullyLabeledReplicas", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {4, "readyReplicas", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {5, "availableReplicas", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {3, "observedGeneration", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {6, "conditions", PROTO_MESSAGE, PROTO_REPEATED, core_v1_replication_controller_condition},
    {0},
};

static const struct proto_field core_v1_replication_controller[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, core_v1_replication_controller_spec},
    {3, "status", PROTO_MESSAGE, 0, core_v1_replication_controller_status},
    {0},
};

static const struct proto_field core_v1_scoped_resource_selector_requirement[] = {
    {1, "scopeName", PROTO_STRING, 0, NULL},
    {2, "operator", PROTO_STRING, 0, NULL},
    {3, "values", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field core_v1_scope_selector[] = {
    {1, "matchExpressions", PROTO_MESSAGE, PROTO_REPEATED, core_v1_scoped_resource_selector_requirement},
    {0},
};

static const struct proto_field core_v1_resource_quota_spec[] = {
    {1, "hard", PROTO_QUANTITY, PROTO_MAP, NULL},
    {2, "scopes", PROTO_STRING, PROTO_REPEATED, NULL},
    {3, "scopeSelector", PROTO_MESSAGE, 0, core_v1_scope_selector},
    {0},
};

static const struct proto_field core_v1_resource_quota_status[] = {
    {1, "hard", PROTO_QUANTITY, PROTO_MAP, NULL},
    {2, "used", PROTO_QUANTITY, PROTO_MAP, NULL},
    {0},
};

static const struct proto_field core_v1_resource_quota[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, core_v1_resource_quota_spec},
    {3, "status", PROTO_MESSAGE, 0, core_v1_resource_quota_status},
    {0},
};

static const struct proto_field core_v1_secret[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {5, "immutable", PROTO_BOOL, 0, NULL},
    {2, "data", PROTO_BYTES, PROTO_MAP, NULL},
    {4, "stringData", PROTO_STRING, PROTO_MAP, NULL},
    {3, "type", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_service_port[] = {
    {1, "name", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "protocol", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "appProtocol", PROTO_STRING, 0, NULL},
    {3, "port", PROTO_INT, 0, NULL},
    {4, "targetPort", PROTO_INT_OR_STRING, 0, NULL},
    {5, "nodePort", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field core_v1_client_ipconfig[] = {
    {1, "timeoutSeconds", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field core_v1_session_affinity_config[] = {
    {1, "clientIP", PROTO_MESSAGE, 0, core_v1_client_ipconfig},
    {0},
};

static const struct proto_field core_v1_service_spec[] = {
    {1, "ports", PROTO_MESSAGE, PROTO_REPEATED, core_v1_service_port},
    {2, "selector", PROTO_STRING, PROTO_MAP, NULL},
    {3, "clusterIP", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {18, "clusterIPs", PROTO_STRING, PROTO_REPEATED, NULL},
    {4, "type", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "externalIPs", PROTO_STRING, PROTO_REPEATED, NULL},
    {7, "sessionAffinity", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {8, "loadBalancerIP", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {9, "loadBalancerSourceRanges", PROTO_STRING, PROTO_REPEATED, NULL},
    {10, "externalName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {11, "externalTrafficPolicy", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {12, "healthCheckNodePort", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {13, "publishNotReadyAddresses", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {14, "sessionAffinityConfig", PROTO_MESSAGE, 0, core_v1_session_affinity_config},
    {19, "ipFamilies", PROTO_STRING, PROTO_REPEATED, NULL},
    {17, "ipFamilyPolicy", PROTO_STRING, 0, NULL},
    {20, "allocateLoadBalancerNodePorts", PROTO_BOOL, 0, NULL},
    {21, "loadBalancerClass", PROTO_STRING, 0, NULL},
    {22, "internalTrafficPolicy", PROTO_STRING, 0, NULL},
    {23, "trafficDistribution", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_port_status[] = {
    {1, "port", PROTO_INT, 0, NULL},
    {2, "protocol", PROTO_STRING, 0, NULL},
    {3, "error", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_load_balancer_ingress[] = {
    {1, "ip", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "hostname", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "ipMode", PROTO_STRING, 0, NULL},
    {4, "ports", PROTO_MESSAGE, PROTO_REPEATED, core_v1_port_status},
    {0},
};

static const struct proto_field core_v1_load_balancer_status[] = {
    {1, "ingress", PROTO_MESSAGE, PROTO_REPEATED, core_v1_load_balancer_ingress},
    {0},
};

static const struct proto_field meta_v1_condition[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {2, "status", PROTO_STRING, 0, NULL},
    {3, "observedGeneration", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {4, "lastTransitionTime", PROTO_TIME, 0, NULL},
    {5, "reason", PROTO_STRING, 0, NULL},
    {6, "message", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field core_v1_service_status[] = {
    {1, "loadBalancer", PROTO_MESSAGE, 0, core_v1_load_balancer_status},
    {2, "conditions", PROTO_MESSAGE, PROTO_REPEATED, meta_v1_condition},
    {0},
};

static const struct proto_field core_v1_service[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, core_v1_service_spec},
    {3, "status", PROTO_MESSAGE, 0, core_v1_service_status},
    {0},
};

static const struct proto_field core_v1_service_account[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "secrets", PROTO_MESSAGE, PROTO_REPEATED, core_v1_object_reference},
    {3, "imagePullSecrets", PROTO_MESSAGE, PROTO_REPEATED, core_v1_local_object_reference},
    {4, "automountServiceAccountToken", PROTO_BOOL, 0, NULL},
    {0},
};

static const struct proto_field meta_v1_preconditions[] = {
    {1, "uid", PROTO_STRING, 0, NULL},
    {2, "resourceVersion", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field meta_v1_delete_options[] = {
    {1, "gracePeriodSeconds", PROTO_INT, 0, NULL},
    {2, "preconditions", PROTO_MESSAGE, 0, meta_v1_preconditions},
    {3, "orphanDependents", PROTO_BOOL, 0, NULL},
    {4, "propagationPolicy", PROTO_STRING, 0, NULL},
    {5, "dryRun", PROTO_STRING, PROTO_REPEATED, NULL},
    {6, "ignoreStoreReadErrorWithClusterBreakingPotential", PROTO_BOOL, 0, NULL},
    {0},
};

static const struct proto_field admissionregistration_v1_service_reference[] = {
    {1, "namespace", PROTO_STRING, 0, NULL},
    {2, "name", PROTO_STRING, 0, NULL},
    {3, "path", PROTO_STRING, 0, NULL},
    {4, "port", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field admissionregistration_v1_webhook_client_config[] = {
    {3, "url", PROTO_STRING, 0, NULL},
    {1, "service", PROTO_MESSAGE, 0, admissionregistration_v1_service_reference},
    {2, "caBundle", PROTO_BYTES, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field admissionregistration_v1_rule[] = {
    {1, "apiGroups", PROTO_STRING, PROTO_REPEATED, NULL},
    {2, "apiVersions", PROTO_STRING, PROTO_REPEATED, NULL},
    {3, "resources", PROTO_STRING, PROTO_REPEATED, NULL},
    {4, "scope", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field admissionregistration_v1_rule_with_operations[] = {
    {1, "operations", PROTO_STRING, PROTO_REPEATED, NULL},
    {2, "Rule", PROTO_INLINE, 0, admissionregistration_v1_rule},
    {0},
};

static const struct proto_field admissionregistration_v1_match_condition[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "expression", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field admissionregistration_v1_mutating_webhook[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "clientConfig", PROTO_MESSAGE, 0, admissionregistration_v1_webhook_client_config},
    {3, "rules", PROTO_MESSAGE, PROTO_REPEATED, admissionregistration_v1_rule_with_operations},
    {4, "failurePolicy", PROTO_STRING, 0, NULL},
    {9, "matchPolicy", PROTO_STRING, 0, NULL},
    {5, "namespaceSelector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {11, "objectSelector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {6, "sideEffects", PROTO_STRING, 0, NULL},
    {7, "timeoutSeconds", PROTO_INT, 0, NULL},
    {8, "admissionReviewVersions", PROTO_STRING, PROTO_REPEATED, NULL},
    {10, "reinvocationPolicy", PROTO_STRING, 0, NULL},
    {12, "matchConditions", PROTO_MESSAGE, PROTO_REPEATED, admissionregistration_v1_match_condition},
    {0},
};

static const struct proto_field admissionregistration_v1_mutating_webhook_configuration[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "webhooks", PROTO_MESSAGE, PROTO_REPEATED, admissionregistration_v1_mutating_webhook},
    {0},
};

static const struct proto_field admissionregistration_v1_param_kind[] = {
    {1, "apiVersion", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "kind", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field admissionregistration_v1_named_rule_with_operations[] = {
    {1, "resourceNames", PROTO_STRING, PROTO_REPEATED, NULL},
    {2, "RuleWithOperations", PROTO_INLINE, 0, admissionregistration_v1_rule_with_operations},
    {0},
};

static const struct proto_field admissionregistration_v1_match_resources[] = {
    {1, "namespaceSelector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {2, "objectSelector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {3, "resourceRules", PROTO_MESSAGE, PROTO_REPEATED, admissionregistration_v1_named_rule_with_operations},
    {4, "excludeResourceRules", PROTO_MESSAGE, PROTO_REPEATED, admissionregistration_v1_named_rule_with_operations},
    {7, "matchPolicy", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field admissionregistration_v1_validation[] = {
    {1, "expression", PROTO_STRING, 0, NULL},
    {2, "message", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "reason", PROTO_STRING, 0, NULL},
    {4, "messageExpression", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field admissionregistration_v1_audit_annotation[] = {
    {1, "key", PROTO_STRING, 0, NULL},
    {2, "valueExpression", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field admissionregistration_v1_variable[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "expression", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field admissionregistration_v1_validating_admission_policy_spec[] = {
    {1, "paramKind", PROTO_MESSAGE, 0, admissionregistration_v1_param_kind},
    {2, "matchConstraints", PROTO_MESSAGE, 0, admissionregistration_v1_match_resources},
    {3, "validations", PROTO_MESSAGE, PROTO_REPEATED, admissionregistration_v1_validation},
    {4, "failurePolicy", PROTO_STRING, 0, NULL},
    {5, "auditAnnotations", PROTO_MESSAGE, PROTO_REPEATED, admissionregistration_v1_audit_annotation},
    {6, "matchConditions", PROTO_MESSAGE, PROTO_REPEATED, admissionregistration_v1_match_condition},
    {7, "variables", PROTO_MESSAGE, PROTO_REPEATED, admissionregistration_v1_variable},
    {0},
};

static const struct proto_field admissionregistration_v1_expression_warning[] = {
    {2, "fieldRef", PROTO_STRING, 0, NULL},
    {3, "warning", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field admissionregistration_v1_type_checking[] = {
    {1, "expressionWarnings", PROTO_MESSAGE, PROTO_REPEATED, admissionregistration_v1_expression_warning},
    {0},
};

static const struct proto_field admissionregistration_v1_validating_admission_policy_status[] = {
    {1, "observedGeneration", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {2, "typeChecking", PROTO_MESSAGE, 0, admissionregistration_v1_type_checking},
    {3, "conditions", PROTO_MESSAGE, PROTO_REPEATED, meta_v1_condition},
    {0},
};

static const struct proto_field admissionregistration_v1_validating_admission_policy[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, admissionregistration_v1_validating_admission_policy_spec},
    {3, "status", PROTO_MESSAGE, 0, admissionregistration_v1_validating_admission_policy_status},
    {0},
};

static const struct proto_field admissionregistration_v1_param_ref[] = {
    {1, "name", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "namespace", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "selector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {4, "parameterNotFoundAction", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field admissionregistration_v1_validating_admission_policy_binding_spec[] = {
    {1, "policyName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "paramRef", PROTO_MESSAGE, 0, admissionregistration_v1_param_ref},
    {3, "matchResources", PROTO_MESSAGE, 0, admissionregistration_v1_match_resources},
    {4, "validationActions", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field admissionregistration_v1_validating_admission_policy_binding[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, admissionregistration_v1_validating_admission_policy_binding_spec},
    {0},
};

static const struct proto_field admissionregistration_v1_validating_webhook[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "clientConfig", PROTO_MESSAGE, 0, admissionregistration_v1_webhook_client_config},
    {3, "rules", PROTO_MESSAGE, PROTO_REPEATED, admissionregistration_v1_rule_with_operations},
    {4, "failurePolicy", PROTO_STRING, 0, NULL},
    {9, "matchPolicy", PROTO_STRING, 0, NULL},
    {5, "namespaceSelector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {10, "objectSelector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {6, "sideEffects", PROTO_STRING, 0, NULL},
    {7, "timeoutSeconds", PROTO_INT, 0, NULL},
    {8, "admissionReviewVersions", PROTO_STRING, PROTO_REPEATED, NULL},
    {11, "matchConditions", PROTO_MESSAGE, PROTO_REPEATED, admissionregistration_v1_match_condition},
    {0},
};

static const struct proto_field admissionregistration_v1_validating_webhook_configuration[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "webhooks", PROTO_MESSAGE, PROTO_REPEATED, admissionregistration_v1_validating_webhook},
    {0},
};

static const struct proto_field apiextensions_v1_custom_resource_definition_names[] = {
    {1, "plural", PROTO_STRING, 0, NULL},
    {2, "singular", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "shortNames", PROTO_STRING, PROTO_REPEATED, NULL},
    {4, "kind", PROTO_STRING, 0, NULL},
    {5, "listKind", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "categories", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field apiextensions_v1_jsonschema_props[45];

static const struct proto_field apiextensions_v1_jsonschema_props[45];

static const struct proto_field apiextensions_v1_jsonschema_props[45];

static const struct proto_field apiextensions_v1_jsonschema_props[45];

static const struct proto_field apiextensions_v1_jsonschema_props[45];

static const struct proto_field apiextensions_v1_jsonschema_props[45];

static const struct proto_field apiextensions_v1_jsonschema_props[45];

static const struct proto_field apiextensions_v1_jsonschema_props[45];

static const struct proto_field apiextensions_v1_jsonschema_props[45];

static const struct proto_field apiextensions_v1_jsonschema_props[45];

static const struct proto_field apiextensions_v1_jsonschema_props[45];

static const struct proto_field apiextensions_v1_external_documentation[] = {
    {1, "description", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "url", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field apiextensions_v1_validation_rule[] = {
    {1, "rule", PROTO_STRING, 0, NULL},
    {2, "message", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "messageExpression", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "reason", PROTO_STRING, 0, NULL},
    {5, "fieldPath", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "optionalOldSelf", PROTO_BOOL, 0, NULL},
    {0},
};

static const struct proto_field apiextensions_v1_jsonschema_props[] = {
    {1, "id", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "$schema", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "$ref", PROTO_STRING, 0, NULL},
    {4, "description", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "type", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "format", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {7, "title", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {8, "default", PROTO_JSON, 0, NULL},
    {9, "maximum", PROTO_DOUBLE, 0, NULL},
    {10, "exclusiveMaximum", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {11, "minimum", PROTO_DOUBLE, 0, NULL},
    {12, "exclusiveMinimum", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {13, "maxLength", PROTO_INT, 0, NULL},
    {14, "minLength", PROTO_INT, 0, NULL},
    {15, "pattern", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {16, "maxItems", PROTO_INT, 0, NULL},
    {17, "minItems", PROTO_INT, 0, NULL},
    {18, "uniqueItems", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {19, "multipleOf", PROTO_DOUBLE, 0, NULL},
    {20, "enum", PROTO_JSON, PROTO_REPEATED, NULL},
    {21, "maxProperties", PROTO_INT, 0, NULL},
    {22, "minProperties", PROTO_INT, 0, NULL},
    {23, "required", PROTO_STRING, PROTO_REPEATED, NULL},
    {24, "items", PROTO_SCHEMA_OR_LIST, 0, apiextensions_v1_jsonschema_props},
    {25, "allOf", PROTO_MESSAGE, PROTO_REPEATED, apiextensions_v1_jsonschema_props},
    {26, "oneOf", PROTO_MESSAGE, PROTO_REPEATED, apiextensions_v1_jsonschema_props},
    {27, "anyOf", PROTO_MESSAGE, PROTO_REPEATED, apiextensions_v1_jsonschema_props},
    {28, "not", PROTO_MESSAGE, 0, apiextensions_v1_jsonschema_props},
    {29, "properties", PROTO_MESSAGE, PROTO_MAP, apiextensions_v1_jsonschema_props},
    {30, "additionalProperties", PROTO_SCHEMA_OR_BOOL, 0, apiextensions_v1_jsonschema_props},
    {31, "patternProperties", PROTO_MESSAGE, PROTO_MAP, apiextensions_v1_jsonschema_props},
    {32, "dependencies", PROTO_SCHEMA_OR_STRINGS, PROTO_MAP, apiextensions_v1_jsonschema_props},
    {33, "additionalItems", PROTO_SCHEMA_OR_BOOL, 0, apiextensions_v1_jsonschema_props},
    {34, "definitions", PROTO_MESSAGE, PROTO_MAP, apiextensions_v1_jsonschema_props},
    {35, "externalDocs", PROTO_MESSAGE, 0, apiextensions_v1_external_documentation},
    {36, "example", PROTO_JSON, 0, NULL},
    {37, "nullable", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {38, "x-kubernetes-preserve-unknown-fields", PROTO_BOOL, 0, NULL},
    {39, "x-kubernetes-embedded-resource", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {40, "x-kubernetes-int-or-string", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {41, "x-kubernetes-list-map-keys", PROTO_STRING, PROTO_REPEATED, NULL},
    {42, "x-kubernetes-list-type", PROTO_STRING, 0, NULL},
    {43, "x-kubernetes-map-type", PROTO_STRING, 0, NULL},
    {44, "x-kubernetes-validations", PROTO_MESSAGE, PROTO_REPEATED, apiextensions_v1_validation_rule},
    {0},
};

static const struct proto_field apiextensions_v1_custom_resource_validation[] = {
    {1, "openAPIV3Schema", PROTO_MESSAGE, 0, apiextensions_v1_jsonschema_props},
    {0},
};

static const struct proto_field apiextensions_v1_custom_resource_subresource_status[] = {
    {0},
};

static const struct proto_field apiextensions_v1_custom_resource_subresource_scale[] = {
    {1, "specReplicasPath", PROTO_STRING, 0, NULL},
    {2, "statusReplicasPath", PROTO_STRING, 0, NULL},
    {3, "labelSelectorPath", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field apiextensions_v1_custom_resource_subresources[] = {
    {1, "status", PROTO_MESSAGE, 0, apiextensions_v1_custom_resource_subresource_status},
    {2, "scale", PROTO_MESSAGE, 0, apiextensions_v1_custom_resource_subresource_scale},
    {0},
};

static const struct proto_field apiextensions_v1_custom_resource_column_definition[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "type", PROTO_STRING, 0, NULL},
    {3, "format", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "description", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "priority", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {6, "jsonPath", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field apiextensions_v1_selectable_field[] = {
    {1, "jsonPath", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field apiextensions_v1_custom_resource_definition_version[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "served", PROTO_BOOL, 0, NULL},
    {3, "storage", PROTO_BOOL, 0, NULL},
    {7, "deprecated", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {8, "deprecationWarning", PROTO_STRING, 0, NULL},
    {4, "schema", PROTO_MESSAGE, 0, apiextensions_v1_custom_resource_validation},
    {5, "subresources", PROTO_MESSAGE, 0, apiextensions_v1_custom_resource_subresources},
    {6, "additionalPrinterColumns", PROTO_MESSAGE, PROTO_REPEATED, apiextensions_v1_custom_resource_column_definition},
    {9, "selectableFields", PROTO_MESSAGE, PROTO_REPEATED, apiextensions_v1_selectable_field},
    {0},
};

static const struct proto_field apiextensions_v1_service_reference[] = {
    {1, "namespace", PROTO_STRING, 0, NULL},
    {2, "name", PROTO_STRING, 0, NULL},
    {3, "path", PROTO_STRING, 0, NULL},
    {4, "port", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field apiextensions_v1_webhook_client_config[] = {
    {3, "url", PROTO_STRING, 0, NULL},
    {1, "service", PROTO_MESSAGE, 0, apiextensions_v1_service_reference},
    {2, "caBundle", PROTO_BYTES, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field apiextensions_v1_webhook_conversion[] = {
    {2, "clientConfig", PROTO_MESSAGE, 0, apiextensions_v1_webhook_client_config},
    {3, "conversionReviewVersions", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field apiextensions_v1_custom_resource_conversion[] = {
    {1, "strategy", PROTO_STRING, 0, NULL},
    {2, "webhook", PROTO_MESSAGE, 0, apiextensions_v1_webhook_conversion},
    {0},
};

static const struct proto_field apiextensions_v1_custom_resource_definition_spec[] = {
    {1, "group", PROTO_STRING, 0, NULL},
    {3, "names", PROTO_MESSAGE, 0, apiextensions_v1_custom_resource_definition_names},
    {4, "scope", PROTO_STRING, 0, NULL},
    {7, "versions", PROTO_MESSAGE, PROTO_REPEATED, apiextensions_v1_custom_resource_definition_version},
    {9, "conversion", PROTO_MESSAGE, 0, apiextensions_v1_custom_resource_conversion},
    {10, "preserveUnknownFields", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field apiextensions_v1_custom_resource_definition_condition[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {2, "status", PROTO_STRING, 0, NULL},
    {3, "lastTransitionTime", PROTO_TIME, 0, NULL},
    {4, "reason", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "message", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "observedGeneration", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field apiextensions_v1_custom_resource_definition_status[] = {
    {1, "conditions", PROTO_MESSAGE, PROTO_REPEATED, apiextensions_v1_custom_resource_definition_condition},
    {2, "acceptedNames", PROTO_MESSAGE, 0, apiextensions_v1_custom_resource_definition_names},
    {3, "storedVersions", PROTO_STRING, PROTO_REPEATED, NULL},
    {4, "observedGeneration", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field apiextensions_v1_custom_resource_definition[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, apiextensions_v1_custom_resource_definition_spec},
    {3, "status", PROTO_MESSAGE, 0, apiextensions_v1_custom_resource_definition_status},
    {0},
};

static const struct proto_field apps_v1_controller_revision[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "data", PROTO_JSON, 0, NULL},
    {3, "revision", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field apps_v1_rolling_update_daemon_set[] = {
    {1, "maxUnavailable", PROTO_INT_OR_STRING, 0, NULL},
    {2, "maxSurge", PROTO_INT_OR_STRING, 0, NULL},
    {0},
};

static const struct proto_field apps_v1_daemon_set_update_strategy[] = {
    {1, "type", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "rollingUpdate", PROTO_MESSAGE, 0, apps_v1_rolling_update_daemon_set},
    {0},
};

static const struct proto_field apps_v1_daemon_set_spec[] = {
    {1, "selector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {2, "template", PROTO_MESSAGE, 0, core_v1_pod_template_spec},
    {3, "updateStrategy", PROTO_MESSAGE, 0, apps_v1_daemon_set_update_strategy},
    {4, "minReadySeconds", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {6, "revisionHistoryLimit", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field apps_v1_daemon_set_condition[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {2, "status", PROTO_STRING, 0, NULL},
    {3, "lastTransitionTime", PROTO_TIME, 0, NULL},
    {4, "reason", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "message", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field apps_v1_daemon_set_status[] = {
    {1, "currentNumberScheduled", PROTO_INT, 0, NULL},
    {2, "numberMisscheduled", PROTO_INT, 0, NULL},
    {3, "desiredNumberScheduled", PROTO_INT, 0, NULL},
    {4, "numberReady", PROTO_INT, 0, NULL},
    {5, "observedGeneration", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {6, "updatedNumberScheduled", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {7, "numberAvailable", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {8, "numberUnavailable", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {9, "collisionCount", PROTO_INT, 0, NULL},
    {10, "conditions", PROTO_MESSAGE, PROTO_REPEATED, apps_v1_daemon_set_condition},
    {0},
};

static const struct proto_field apps_v1_daemon_set[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, apps_v1_daemon_set_spec},
    {3, "status", PROTO_MESSAGE, 0, apps_v1_daemon_set_status},
    {0},
};

static const struct proto_field apps_v1_rolling_update_deployment[] = {
    {1, "maxUnavailable", PROTO_INT_OR_STRING, 0, NULL},
    {2, "maxSurge", PROTO_INT_OR_STRING, 0, NULL},
    {0},
};

static const struct proto_field apps_v1_deployment_strategy[] = {
    {1, "type", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "rollingUpdate", PROTO_MESSAGE, 0, apps_v1_rolling_update_deployment},
    {0},
};

static const struct proto_field apps_v1_deployment_spec[] = {
    {1, "replicas", PROTO_INT, 0, NULL},
    {2, "selector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {3, "template", PROTO_MESSAGE, 0, core_v1_pod_template_spec},
    {4, "strategy", PROTO_MESSAGE, 0, apps_v1_deployment_strategy},
    {5, "minReadySeconds", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {6, "revisionHistoryLimit", PROTO_INT, 0, NULL},
    {7, "paused", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {9, "progressDeadlineSeconds", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field apps_v1_deployment_condition[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {2, "status", PROTO_STRING, 0, NULL},
    {6, "lastUpdateTime", PROTO_TIME, 0, NULL},
    {7, "lastTransitionTime", PROTO_TIME, 0, NULL},
    {4, "reason", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "message", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field apps_v1_deployment_status[] = {
    {1, "observedGeneration", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {2, "replicas", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {3, "updatedReplicas", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {7, "readyReplicas", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {4, "availableReplicas", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {5, "unavailableReplicas", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {9, "terminatingReplicas", PROTO_INT, 0, NULL},
    {6, "conditions", PROTO_MESSAGE, PROTO_REPEATED, apps_v1_deployment_condition},
    {8, "collisionCount", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field apps_v1_deployment[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, apps_v1_deployment_spec},
    {3, "status", PROTO_MESSAGE, 0, apps_v1_deployment_status},
    {0},
};

static const struct proto_field apps_v1_replica_set_spec[] = {
    {1, "replicas", PROTO_INT, 0, NULL},
    {4, "minReadySeconds", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {2, "selector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {3, "template", PROTO_MESSAGE, 0, core_v1_pod_template_spec},
    {0},
};

static const struct proto_field apps_v1_replica_set_condition[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {2, "status", PROTO_STRING, 0, NULL},
    {3, "lastTransitionTime", PROTO_TIME, 0, NULL},
    {4, "reason", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "message", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field apps_v1_replica_set_status[] = {
    {1, "replicas", PROTO_INT, 0, NULL},
    {2, "fullyLabeledReplicas", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {4, "readyReplicas", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {5, "availableReplicas", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {7, "terminatingReplicas", PROTO_INT, 0, NULL},
    {3, "observedGeneration", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {6, "conditions", PROTO_MESSAGE, PROTO_REPEATED, apps_v1_replica_set_condition},
    {0},
};

static const struct proto_field apps_v1_replica_set[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, apps_v1_replica_set_spec},
    {3, "status", PROTO_MESSAGE, 0, apps_v1_replica_set_status},
    {0},
};

static const struct proto_field apps_v1_rolling_update_stateful_set_strategy[] = {
    {1, "partition", PROTO_INT, 0, NULL},
    {2, "maxUnavailable", PROTO_INT_OR_STRING, 0, NULL},
    {0},
};

static const struct proto_field apps_v1_stateful_set_update_strategy[] = {
    {1, "type", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "rollingUpdate", PROTO_MESSAGE, 0, apps_v1_rolling_update_stateful_set_strategy},
    {0},
};

static const struct proto_field apps_v1_stateful_set_persistent_volume_claim_retention_policy[] = {
    {1, "whenDeleted", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "whenScaled", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field apps_v1_stateful_set_ordinals[] = {
    {1, "start", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field apps_v1_stateful_set_spec[] = {
    {1, "replicas", PROTO_INT, 0, NULL},
    {2, "selector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {3, "template", PROTO_MESSAGE, 0, core_v1_pod_template_spec},
    {4, "volumeClaimTemplates", PROTO_MESSAGE, PROTO_REPEATED, core_v1_persistent_volume_claim},
    {5, "serviceName", PROTO_STRING, 0, NULL},
    {6, "podManagementPolicy", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {7, "updateStrategy", PROTO_MESSAGE, 0, apps_v1_stateful_set_update_strategy},
    {8, "revisionHistoryLimit", PROTO_INT, 0, NULL},
    {9, "minReadySeconds", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {10, "persistentVolumeClaimRetentionPolicy", PROTO_MESSAGE, 0, apps_v1_stateful_set_persistent_volume_claim_retention_policy},
    {11, "ordinals", PROTO_MESSAGE, 0, apps_v1_stateful_set_ordinals},
    {0},
};

static const struct proto_field apps_v1_stateful_set_condition[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {2, "status", PROTO_STRING, 0, NULL},
    {3, "lastTransitionTime", PROTO_TIME, 0, NULL},
    {4, "reason", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "message", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field apps_v1_stateful_set_status[] = {
    {1, "observedGeneration", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {2, "replicas", PROTO_INT, 0, NULL},
    {3, "readyReplicas", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {4, "currentReplicas", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {5, "updatedReplicas", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {6, "currentRevision", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {7, "updateRevision", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {9, "collisionCount", PROTO_INT, 0, NULL},
    {10, "conditions", PROTO_MESSAGE, PROTO_REPEATED, apps_v1_stateful_set_condition},
    {11, "availableReplicas", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field apps_v1_stateful_set[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, apps_v1_stateful_set_spec},
    {3, "status", PROTO_MESSAGE, 0, apps_v1_stateful_set_status},
    {0},
};

static const struct proto_field authentication_v1_user_info[] = {
    {1, "username", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "uid", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "groups", PROTO_STRING, PROTO_REPEATED, NULL},
    {4, "extra", PROTO_STRINGS, PROTO_MAP, NULL},
    {0},
};

static const struct proto_field authentication_v1_self_subject_review_status[] = {
    {1, "userInfo", PROTO_MESSAGE, 0, authentication_v1_user_info},
    {0},
};

static const struct proto_field authentication_v1_self_subject_review[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "status", PROTO_MESSAGE, 0, authentication_v1_self_subject_review_status},
    {0},
};

static const struct proto_field authentication_v1_bound_object_reference[] = {
    {1, "kind", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "apiVersion", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "name", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "uid", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field authentication_v1_token_request_spec[] = {
    {1, "audiences", PROTO_STRING, PROTO_REPEATED, NULL},
    {4, "expirationSeconds", PROTO_INT, 0, NULL},
    {3, "boundObjectRef", PROTO_MESSAGE, 0, authentication_v1_bound_object_reference},
    {5, "attestations", PROTO_STRINGS, PROTO_MAP, NULL},
    {0},
};

static const struct proto_field authentication_v1_token_request_status[] = {
    {1, "token", PROTO_STRING, 0, NULL},
    {2, "expirationTimestamp", PROTO_TIME, 0, NULL},
    {0},
};

static const struct proto_field authentication_v1_token_request[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, authentication_v1_token_request_spec},
    {3, "status", PROTO_MESSAGE, 0, authentication_v1_token_request_status},
    {0},
};

static const struct proto_field authentication_v1_token_review_spec[] = {
    {1, "token", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "audiences", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field authentication_v1_token_review_status[] = {
    {1, "authenticated", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {2, "user", PROTO_MESSAGE, 0, authentication_v1_user_info},
    {4, "audiences", PROTO_STRING, PROTO_REPEATED, NULL},
    {3, "error", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field authentication_v1_token_review[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, authentication_v1_token_review_spec},
    {3, "status", PROTO_MESSAGE, 0, authentication_v1_token_review_status},
    {0},
};

static const struct proto_field meta_v1_field_selector_requirement[] = {
    {1, "key", PROTO_STRING, 0, NULL},
    {2, "operator", PROTO_STRING, 0, NULL},
    {3, "values", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field authorization_v1_field_selector_attributes[] = {
    {1, "rawSelector", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "requirements", PROTO_MESSAGE, PROTO_REPEATED, meta_v1_field_selector_requirement},
    {0},
};

static const struct proto_field authorization_v1_label_selector_attributes[] = {
    {1, "rawSelector", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "requirements", PROTO_MESSAGE, PROTO_REPEATED, meta_v1_label_selector_requirement},
    {0},
};

static const struct proto_field authorization_v1_resource_attributes[] = {
    {1, "namespace", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "verb", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "group", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "version", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "resource", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "subresource", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {7, "name", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {8, "fieldSelector", PROTO_MESSAGE, 0, authorization_v1_field_selector_attributes},
    {9, "labelSelector", PROTO_MESSAGE, 0, authorization_v1_label_selector_attributes},
    {0},
};

static const struct proto_field authorization_v1_non_resource_attributes[] = {
    {1, "path", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "verb", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field authorization_v1_self_subject_access_review_spec[] = {
    {1, "resourceAttributes", PROTO_MESSAGE, 0, authorization_v1_resource_attributes},
    {2, "nonResourceAttributes", PROTO_MESSAGE, 0, authorization_v1_non_resource_attributes},
    {0},
};

static const struct proto_field authorization_v1_subject_access_review_status[] = {
    {1, "allowed", PROTO_BOOL, 0, NULL},
    {4, "denied", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {2, "reason", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "evaluationError", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field authorization_v1_self_subject_access_review[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, authorization_v1_self_subject_access_review_spec},
    {3, "status", PROTO_MESSAGE, 0, authorization_v1_subject_access_review_status},
    {0},
};

static const struct proto_field authorization_v1_self_subject_rules_review_spec[] = {
    {1, "namespace", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field authorization_v1_resource_rule[] = {
    {1, "verbs", PROTO_STRING, PROTO_REPEATED, NULL},
    {2, "apiGroups", PROTO_STRING, PROTO_REPEATED, NULL},
    {3, "resources", PROTO_STRING, PROTO_REPEATED, NULL},
    {4, "resourceNames", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field authorization_v1_non_resource_rule[] = {
    {1, "verbs", PROTO_STRING, PROTO_REPEATED, NULL},
    {2, "nonResourceURLs", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field authorization_v1_subject_rules_review_status[] = {
    {1, "resourceRules", PROTO_MESSAGE, PROTO_REPEATED, authorization_v1_resource_rule},
    {2, "nonResourceRules", PROTO_MESSAGE, PROTO_REPEATED, authorization_v1_non_resource_rule},
    {3, "incomplete", PROTO_BOOL, 0, NULL},
    {4, "evaluationError", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field authorization_v1_self_subject_rules_review[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, authorization_v1_self_subject_rules_review_spec},
    {3, "status", PROTO_MESSAGE, 0, authorization_v1_subject_rules_review_status},
    {0},
};

static const struct proto_field authorization_v1_subject_access_review_spec[] = {
    {1, "resourceAttributes", PROTO_MESSAGE, 0, authorization_v1_resource_attributes},
    {2, "nonResourceAttributes", PROTO_MESSAGE, 0, authorization_v1_non_resource_attributes},
    {3, "user", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "groups", PROTO_STRING, PROTO_REPEATED, NULL},
    {5, "extra", PROTO_STRINGS, PROTO_MAP, NULL},
    {6, "uid", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field authorization_v1_subject_access_review[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, authorization_v1_subject_access_review_spec},
    {3, "status", PROTO_MESSAGE, 0, authorization_v1_subject_access_review_status},
    {0},
};

static const struct proto_field autoscaling_v1_cross_version_object_reference[] = {
    {1, "kind", PROTO_STRING, 0, NULL},
    {2, "name", PROTO_STRING, 0, NULL},
    {3, "apiVersion", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field autoscaling_v1_horizontal_pod_autoscaler_spec[] = {
    {1, "scaleTargetRef", PROTO_MESSAGE, 0, autoscaling_v1_cross_version_object_reference},
    {2, "minReplicas", PROTO_INT, 0, NULL},
    {3, "maxReplicas", PROTO_INT, 0, NULL},
    {4, "targetCPUUtilizationPercentage", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field autoscaling_v1_horizontal_pod_autoscaler_status[] = {
    {1, "observedGeneration", PROTO_INT, 0, NULL},
    {2, "lastScaleTime", PROTO_TIME, 0, NULL},
    {3, "currentReplicas", PROTO_INT, 0, NULL},
    {4, "desiredReplicas", PROTO_INT, 0, NULL},
    {5, "currentCPUUtilizationPercentage", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field autoscaling_v1_horizontal_pod_autoscaler[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, autoscaling_v1_horizontal_pod_autoscaler_spec},
    {3, "status", PROTO_MESSAGE, 0, autoscaling_v1_horizontal_pod_autoscaler_status},
    {0},
};

static const struct proto_field autoscaling_v1_scale_spec[] = {
    {1, "replicas", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field autoscaling_v1_scale_status[] = {
    {1, "replicas", PROTO_INT, 0, NULL},
    {2, "selector", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field autoscaling_v1_scale[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, autoscaling_v1_scale_spec},
    {3, "status", PROTO_MESSAGE, 0, autoscaling_v1_scale_status},
    {0},
};

static const struct proto_field autoscaling_v2_cross_version_object_reference[] = {
    {1, "kind", PROTO_STRING, 0, NULL},
    {2, "name", PROTO_STRING, 0, NULL},
    {3, "apiVersion", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field autoscaling_v2_metric_target[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {2, "value", PROTO_QUANTITY, 0, NULL},
    {3, "averageValue", PROTO_QUANTITY, 0, NULL},
    {4, "averageUtilization", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field autoscaling_v2_metric_identifier[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "selector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {0},
};

static const struct proto_field autoscaling_v2_object_metric_source[] = {
    {1, "describedObject", PROTO_MESSAGE, 0, autoscaling_v2_cross_version_object_reference},
    {2, "target", PROTO_MESSAGE, 0, autoscaling_v2_metric_target},
    {3, "metric", PROTO_MESSAGE, 0, autoscaling_v2_metric_identifier},
    {0},
};

static const struct proto_field autoscaling_v2_pods_metric_source[] = {
    {1, "metric", PROTO_MESSAGE, 0, autoscaling_v2_metric_identifier},
    {2, "target", PROTO_MESSAGE, 0, autoscaling_v2_metric_target},
    {0},
};

static const struct proto_field autoscaling_v2_resource_metric_source[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "target", PROTO_MESSAGE, 0, autoscaling_v2_metric_target},
    {0},
};

static const struct proto_field autoscaling_v2_container_resource_metric_source[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "target", PROTO_MESSAGE, 0, autoscaling_v2_metric_target},
    {3, "container", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field autoscaling_v2_external_metric_source[] = {
    {1, "metric", PROTO_MESSAGE, 0, autoscaling_v2_metric_identifier},
    {2, "target", PROTO_MESSAGE, 0, autoscaling_v2_metric_target},
    {0},
};

static const struct proto_field autoscaling_v2_metric_spec[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {2, "object", PROTO_MESSAGE, 0, autoscaling_v2_object_metric_source},
    {3, "pods", PROTO_MESSAGE, 0, autoscaling_v2_pods_metric_source},
    {4, "resource", PROTO_MESSAGE, 0, autoscaling_v2_resource_metric_source},
    {7, "containerResource", PROTO_MESSAGE, 0, autoscaling_v2_container_resource_metric_source},
    {5, "external", PROTO_MESSAGE, 0, autoscaling_v2_external_metric_source},
    {0},
};

static const struct proto_field autoscaling_v2_hpascaling_policy[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {2, "value", PROTO_INT, 0, NULL},
    {3, "periodSeconds", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field autoscaling_v2_hpascaling_rules[] = {
    {3, "stabilizationWindowSeconds", PROTO_INT, 0, NULL},
    {1, "selectPolicy", PROTO_STRING, 0, NULL},
    {2, "policies", PROTO_MESSAGE, PROTO_REPEATED, autoscaling_v2_hpascaling_policy},
    {4, "tolerance", PROTO_QUANTITY, 0, NULL},
    {0},
};

static const struct proto_field autoscaling_v2_horizontal_pod_autoscaler_behavior[] = {
    {1, "scaleUp", PROTO_MESSAGE, 0, autoscaling_v2_hpascaling_rules},
    {2, "scaleDown", PROTO_MESSAGE, 0, autoscaling_v2_hpascaling_rules},
    {0},
};

static const struct proto_field autoscaling_v2_horizontal_pod_autoscaler_spec[] = {
    {1, "scaleTargetRef", PROTO_MESSAGE, 0, autoscaling_v2_cross_version_object_reference},
    {2, "minReplicas", PROTO_INT, 0, NULL},
    {3, "maxReplicas", PROTO_INT, 0, NULL},
    {4, "metrics", PROTO_MESSAGE, PROTO_REPEATED, autoscaling_v2_metric_spec},
    {5, "behavior", PROTO_MESSAGE, 0, autoscaling_v2_horizontal_pod_autoscaler_behavior},
    {0},
};

static const struct proto_field autoscaling_v2_metric_value_status[] = {
    {1, "value", PROTO_QUANTITY, 0, NULL},
    {2, "averageValue", PROTO_QUANTITY, 0, NULL},
    {3, "averageUtilization", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field autoscaling_v2_object_metric_status[] = {
    {1, "metric", PROTO_MESSAGE, 0, autoscaling_v2_metric_identifier},
    {2, "current", PROTO_MESSAGE, 0, autoscaling_v2_metric_value_status},
    {3, "describedObject", PROTO_MESSAGE, 0, autoscaling_v2_cross_version_object_reference},
    {0},
};

static const struct proto_field autoscaling_v2_pods_metric_status[] = {
    {1, "metric", PROTO_MESSAGE, 0, autoscaling_v2_metric_identifier},
    {2, "current", PROTO_MESSAGE, 0, autoscaling_v2_metric_value_status},
    {0},
};

static const struct proto_field autoscaling_v2_resource_metric_status[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "current", PROTO_MESSAGE, 0, autoscaling_v2_metric_value_status},
    {0},
};

static const struct proto_field autoscaling_v2_container_resource_metric_status[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "current", PROTO_MESSAGE, 0, autoscaling_v2_metric_value_status},
    {3, "container", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field autoscaling_v2_external_metric_status[] = {
    {1, "metric", PROTO_MESSAGE, 0, autoscaling_v2_metric_identifier},
    {2, "current", PROTO_MESSAGE, 0, autoscaling_v2_metric_value_status},
    {0},
};

static const struct proto_field autoscaling_v2_metric_status[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {2, "object", PROTO_MESSAGE, 0, autoscaling_v2_object_metric_status},
    {3, "pods", PROTO_MESSAGE, 0, autoscaling_v2_pods_metric_status},
    {4, "resource", PROTO_MESSAGE, 0, autoscaling_v2_resource_metric_status},
    {7, "containerResource", PROTO_MESSAGE, 0, autoscaling_v2_container_resource_metric_status},
    {5, "external", PROTO_MESSAGE, 0, autoscaling_v2_external_metric_status},
    {0},
};

static const struct proto_field autoscaling_v2_horizontal_pod_autoscaler_condition[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {2, "status", PROTO_STRING, 0, NULL},
    {3, "lastTransitionTime", PROTO_TIME, 0, NULL},
    {4, "reason", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "message", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "observedGeneration", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field autoscaling_v2_horizontal_pod_autoscaler_status[] = {
    {1, "observedGeneration", PROTO_INT, 0, NULL},
    {2, "lastScaleTime", PROTO_TIME, 0, NULL},
    {3, "currentReplicas", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {4, "desiredReplicas", PROTO_INT, 0, NULL},
    {5, "currentMetrics", PROTO_MESSAGE, PROTO_REPEATED, autoscaling_v2_metric_status},
    {6, "conditions", PROTO_MESSAGE, PROTO_REPEATED, autoscaling_v2_horizontal_pod_autoscaler_condition},
    {0},
};

static const struct proto_field autoscaling_v2_horizontal_pod_autoscaler[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, autoscaling_v2_horizontal_pod_autoscaler_spec},
    {3, "status", PROTO_MESSAGE, 0, autoscaling_v2_horizontal_pod_autoscaler_status},
    {0},
};

static const struct proto_field batch_v1_pod_failure_policy_on_exit_codes_requirement[] = {
    {1, "containerName", PROTO_STRING, 0, NULL},
    {2, "operator", PROTO_STRING, 0, NULL},
    {3, "values", PROTO_INT, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field batch_v1_pod_failure_policy_on_pod_conditions_pattern[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {2, "status", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field batch_v1_pod_failure_policy_rule[] = {
    {1, "action", PROTO_STRING, 0, NULL},
    {2, "onExitCodes", PROTO_MESSAGE, 0, batch_v1_pod_failure_policy_on_exit_codes_requirement},
    {3, "onPodConditions", PROTO_MESSAGE, PROTO_REPEATED, batch_v1_pod_failure_policy_on_pod_conditions_pattern},
    {0},
};

static const struct proto_field batch_v1_pod_failure_policy[] = {
    {1, "rules", PROTO_MESSAGE, PROTO_REPEATED, batch_v1_pod_failure_policy_rule},
    {0},
};

static const struct proto_field batch_v1_success_policy_rule[] = {
    {1, "succeededIndexes", PROTO_STRING, 0, NULL},
    {2, "succeededCount", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field batch_v1_success_policy[] = {
    {1, "rules", PROTO_MESSAGE, PROTO_REPEATED, batch_v1_success_policy_rule},
    {0},
};

static const struct proto_field scheduling_v1alpha3_workload_pod_group_basic_scheduling_policy[] = {
    {0},
};

static const struct proto_field scheduling_v1alpha3_workload_pod_group_gang_scheduling_policy[] = {
    {1, "minCount", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field scheduling_v1alpha3_workload_pod_group_scheduling_policy[] = {
    {1, "basic", PROTO_MESSAGE, 0, scheduling_v1alpha3_workload_pod_group_basic_scheduling_policy},
    {2, "gang", PROTO_MESSAGE, 0, scheduling_v1alpha3_workload_pod_group_gang_scheduling_policy},
    {0},
};

static const struct proto_field scheduling_v1alpha3_topology_constraint[] = {
    {1, "key", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field scheduling_v1alpha3_workload_pod_group_scheduling_constraints[] = {
    {1, "topology", PROTO_MESSAGE, PROTO_REPEATED, scheduling_v1alpha3_topology_constraint},
    {0},
};

static const struct proto_field scheduling_v1alpha3_workload_pod_group_single_disruption_mode[] = {
    {0},
};

static const struct proto_field scheduling_v1alpha3_workload_pod_group_all_disruption_mode[] = {
    {0},
};

static const struct proto_field scheduling_v1alpha3_workload_pod_group_disruption_mode[] = {
    {1, "single", PROTO_MESSAGE, 0, scheduling_v1alpha3_workload_pod_group_single_disruption_mode},
    {2, "all", PROTO_MESSAGE, 0, scheduling_v1alpha3_workload_pod_group_all_disruption_mode},
    {0},
};

static const struct proto_field scheduling_v1alpha3_workload_pod_group_resource_claim[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "resourceClaimName", PROTO_STRING, 0, NULL},
    {3, "resourceClaimTemplateName", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field batch_v1_job_scheduling_configuration[] = {
    {1, "schedulingPolicy", PROTO_MESSAGE, 0, scheduling_v1alpha3_workload_pod_group_scheduling_policy},
    {2, "schedulingConstraints", PROTO_MESSAGE, 0, scheduling_v1alpha3_workload_pod_group_scheduling_constraints},
    {3, "disruptionMode", PROTO_MESSAGE, 0, scheduling_v1alpha3_workload_pod_group_disruption_mode},
    {4, "resourceClaims", PROTO_MESSAGE, PROTO_REPEATED, scheduling_v1alpha3_workload_pod_group_resource_claim},
    {0},
};

static const struct proto_field batch_v1_job_spec[] = {
    {1, "parallelism", PROTO_INT, 0, NULL},
    {2, "completions", PROTO_INT, 0, NULL},
    {3, "activeDeadlineSeconds", PROTO_INT, 0, NULL},
    {11, "podFailurePolicy", PROTO_MESSAGE, 0, batch_v1_pod_failure_policy},
    {16, "successPolicy", PROTO_MESSAGE, 0, batch_v1_success_policy},
    {7, "backoffLimit", PROTO_INT, 0, NULL},
    {12, "backoffLimitPerIndex", PROTO_INT, 0, NULL},
    {13, "maxFailedIndexes", PROTO_INT, 0, NULL},
    {4, "selector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {5, "manualSelector", PROTO_BOOL, 0, NULL},
    {6, "template", PROTO_MESSAGE, 0, core_v1_pod_template_spec},
    {8, "ttlSecondsAfterFinished", PROTO_INT, 0, NULL},
    {9, "completionMode", PROTO_STRING, 0, NULL},
    {10, "suspend", PROTO_BOOL, 0, NULL},
    {14, "podReplacementPolicy", PROTO_STRING, 0, NULL},
    {15, "managedBy", PROTO_STRING, 0, NULL},
    {17, "scheduling", PROTO_MESSAGE, 0, batch_v1_job_scheduling_configuration},
    {0},
};

static const struct proto_field batch_v1_job_template_spec[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, batch_v1_job_spec},
    {0},
};

static const struct proto_field batch_v1_cron_job_spec[] = {
    {1, "schedule", PROTO_STRING, 0, NULL},
    {8, "timeZone", PROTO_STRING, 0, NULL},
    {2, "startingDeadlineSeconds", PROTO_INT, 0, NULL},
    {3, "concurrencyPolicy", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "suspend", PROTO_BOOL, 0, NULL},
    {5, "jobTemplate", PROTO_MESSAGE, 0, batch_v1_job_template_spec},
    {6, "successfulJobsHistoryLimit", PROTO_INT, 0, NULL},
    {7, "failedJobsHistoryLimit", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field batch_v1_cron_job_status[] = {
    {1, "active", PROTO_MESSAGE, PROTO_REPEATED, core_v1_object_reference},
    {4, "lastScheduleTime", PROTO_TIME, 0, NULL},
    {5, "lastSuccessfulTime", PROTO_TIME, 0, NULL},
    {0},
};

static const struct proto_field batch_v1_cron_job[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, batch_v1_cron_job_spec},
    {3, "status", PROTO_MESSAGE, 0, batch_v1_cron_job_status},
    {0},
};

static const struct proto_field batch_v1_job_condition[] = {
    {1, "type", PROTO_STRING, 0, NULL},
    {2, "status", PROTO_STRING, 0, NULL},
    {3, "lastProbeTime", PROTO_TIME, 0, NULL},
    {4, "lastTransitionTime", PROTO_TIME, 0, NULL},
    {5, "reason", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "message", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field batch_v1_uncounted_terminated_pods[] = {
    {1, "succeeded", PROTO_STRING, PROTO_REPEATED, NULL},
    {2, "failed", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field batch_v1_job_status[] = {
    {1, "conditions", PROTO_MESSAGE, PROTO_REPEATED, batch_v1_job_condition},
    {2, "startTime", PROTO_TIME, 0, NULL},
    {3, "completionTime", PROTO_TIME, 0, NULL},
    {4, "active", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {5, "succeeded", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {6, "failed", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {11, "terminating", PROTO_INT, 0, NULL},
    {7, "completedIndexes", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {10, "failedIndexes", PROTO_STRING, 0, NULL},
    {8, "uncountedTerminatedPods", PROTO_MESSAGE, 0, batch_v1_uncounted_terminated_pods},
    {9, "ready", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field batch_v1_job[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, batch_v1_job_spec},
    {3, "status", PROTO_MESSAGE, 0, batch_v1_job_status},
    {0},
};

static const struct proto_field coordination_v1_lease_spec[] = {
    {1, "holderIdentity", PROTO_STRING, 0, NULL},
    {2, "leaseDurationSeconds", PROTO_INT, 0, NULL},
    {3, "acquireTime", PROTO_MICRO_TIME, 0, NULL},
    {4, "renewTime", PROTO_MICRO_TIME, 0, NULL},
    {5, "leaseTransitions", PROTO_INT, 0, NULL},
    {6, "strategy", PROTO_STRING, 0, NULL},
    {7, "preferredHolder", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field coordination_v1_lease[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, coordination_v1_lease_spec},
    {0},
};

static const struct proto_field discovery_v1_endpoint_conditions[] = {
    {1, "ready", PROTO_BOOL, 0, NULL},
    {2, "serving", PROTO_BOOL, 0, NULL},
    {3, "terminating", PROTO_BOOL, 0, NULL},
    {0},
};

static const struct proto_field discovery_v1_for_zone[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field discovery_v1_for_node[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field discovery_v1_endpoint_hints[] = {
    {1, "forZones", PROTO_MESSAGE, PROTO_REPEATED, discovery_v1_for_zone},
    {2, "forNodes", PROTO_MESSAGE, PROTO_REPEATED, discovery_v1_for_node},
    {0},
};

static const struct proto_field discovery_v1_endpoint[] = {
    {1, "addresses", PROTO_STRING, PROTO_REPEATED, NULL},
    {2, "conditions", PROTO_MESSAGE, 0, discovery_v1_endpoint_conditions},
    {3, "hostname", PROTO_STRING, 0, NULL},
    {4, "targetRef", PROTO_MESSAGE, 0, core_v1_object_reference},
    {5, "deprecatedTopology", PROTO_STRING, PROTO_MAP, NULL},
    {6, "nodeName", PROTO_STRING, 0, NULL},
    {7, "zone", PROTO_STRING, 0, NULL},
    {8, "hints", PROTO_MESSAGE, 0, discovery_v1_endpoint_hints},
    {0},
};

static const struct proto_field discovery_v1_endpoint_port[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "protocol", PROTO_STRING, 0, NULL},
    {3, "port", PROTO_INT, 0, NULL},
    {4, "appProtocol", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field discovery_v1_endpoint_slice[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {4, "addressType", PROTO_STRING, 0, NULL},
    {2, "endpoints", PROTO_MESSAGE, PROTO_REPEATED, discovery_v1_endpoint},
    {3, "ports", PROTO_MESSAGE, PROTO_REPEATED, discovery_v1_endpoint_port},
    {0},
};

static const struct proto_field events_v1_event_series[] = {
    {1, "count", PROTO_INT, 0, NULL},
    {2, "lastObservedTime", PROTO_MICRO_TIME, 0, NULL},
    {0},
};

static const struct proto_field events_v1_event[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "eventTime", PROTO_MICRO_TIME, 0, NULL},
    {3, "series", PROTO_MESSAGE, 0, events_v1_event_series},
    {4, "reportingController", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "reportingInstance", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "action", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {7, "reason", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {8, "regarding", PROTO_MESSAGE, 0, core_v1_object_reference},
    {9, "related", PROTO_MESSAGE, 0, core_v1_object_reference},
    {10, "note", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {11, "type", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {12, "deprecatedSource", PROTO_MESSAGE, 0, core_v1_event_source},
    {13, "deprecatedFirstTimestamp", PROTO_TIME, 0, NULL},
    {14, "deprecatedLastTimestamp", PROTO_TIME, 0, NULL},
    {15, "deprecatedCount", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field networking_v1_service_backend_port[] = {
    {1, "name", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "number", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field networking_v1_ingress_service_backend[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "port", PROTO_MESSAGE, 0, networking_v1_service_backend_port},
    {0},
};

static const struct proto_field networking_v1_ingress_backend[] = {
    {4, "service", PROTO_MESSAGE, 0, networking_v1_ingress_service_backend},
    {3, "resource", PROTO_MESSAGE, 0, core_v1_typed_local_object_reference},
    {0},
};

static const struct proto_field networking_v1_ingress_tls[] = {
    {1, "hosts", PROTO_STRING, PROTO_REPEATED, NULL},
    {2, "secretName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field networking_v1_httpingress_path[] = {
    {1, "path", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "pathType", PROTO_STRING, 0, NULL},
    {2, "backend", PROTO_MESSAGE, 0, networking_v1_ingress_backend},
    {0},
};

static const struct proto_field networking_v1_httpingress_rule_value[] = {
    {1, "paths", PROTO_MESSAGE, PROTO_REPEATED, networking_v1_httpingress_path},
    {0},
};

static const struct proto_field networking_v1_ingress_rule_value[] = {
    {1, "http", PROTO_MESSAGE, 0, networking_v1_httpingress_rule_value},
    {0},
};

static const struct proto_field networking_v1_ingress_rule[] = {
    {1, "host", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "IngressRuleValue", PROTO_INLINE, 0, networking_v1_ingress_rule_value},
    {0},
};

static const struct proto_field networking_v1_ingress_spec[] = {
    {4, "ingressClassName", PROTO_STRING, 0, NULL},
    {1, "defaultBackend", PROTO_MESSAGE, 0, networking_v1_ingress_backend},
    {2, "tls", PROTO_MESSAGE, PROTO_REPEATED, networking_v1_ingress_tls},
    {3, "rules", PROTO_MESSAGE, PROTO_REPEATED, networking_v1_ingress_rule},
    {0},
};

static const struct proto_field networking_v1_ingress_port_status[] = {
    {1, "port", PROTO_INT, 0, NULL},
    {2, "protocol", PROTO_STRING, 0, NULL},
    {3, "error", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field networking_v1_ingress_load_balancer_ingress[] = {
    {1, "ip", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "hostname", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {4, "ports", PROTO_MESSAGE, PROTO_REPEATED, networking_v1_ingress_port_status},
    {0},
};

static const struct proto_field networking_v1_ingress_load_balancer_status[] = {
    {1, "ingress", PROTO_MESSAGE, PROTO_REPEATED, networking_v1_ingress_load_balancer_ingress},
    {0},
};

static const struct proto_field networking_v1_ingress_status[] = {
    {1, "loadBalancer", PROTO_MESSAGE, 0, networking_v1_ingress_load_balancer_status},
    {0},
};

static const struct proto_field networking_v1_ingress[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, networking_v1_ingress_spec},
    {3, "status", PROTO_MESSAGE, 0, networking_v1_ingress_status},
    {0},
};

static const struct proto_field networking_v1_ingress_class_parameters_reference[] = {
    {1, "apiGroup", PROTO_STRING, 0, NULL},
    {2, "kind", PROTO_STRING, 0, NULL},
    {3, "name", PROTO_STRING, 0, NULL},
    {4, "scope", PROTO_STRING, 0, NULL},
    {5, "namespace", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field networking_v1_ingress_class_spec[] = {
    {1, "controller", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "parameters", PROTO_MESSAGE, 0, networking_v1_ingress_class_parameters_reference},
    {0},
};

static const struct proto_field networking_v1_ingress_class[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, networking_v1_ingress_class_spec},
    {0},
};

static const struct proto_field networking_v1_network_policy_port[] = {
    {1, "protocol", PROTO_STRING, 0, NULL},
    {2, "port", PROTO_INT_OR_STRING, 0, NULL},
    {3, "endPort", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field networking_v1_ipblock[] = {
    {1, "cidr", PROTO_STRING, 0, NULL},
    {2, "except", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field networking_v1_network_policy_peer[] = {
    {1, "podSelector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {2, "namespaceSelector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {3, "ipBlock", PROTO_MESSAGE, 0, networking_v1_ipblock},
    {0},
};

static const struct proto_field networking_v1_network_policy_ingress_rule[] = {
    {1, "ports", PROTO_MESSAGE, PROTO_REPEATED, networking_v1_network_policy_port},
    {2, "from", PROTO_MESSAGE, PROTO_REPEATED, networking_v1_network_policy_peer},
    {0},
};

static const struct proto_field networking_v1_network_policy_egress_rule[] = {
    {1, "ports", PROTO_MESSAGE, PROTO_REPEATED, networking_v1_network_policy_port},
    {2, "to", PROTO_MESSAGE, PROTO_REPEATED, networking_v1_network_policy_peer},
    {0},
};

static const struct proto_field networking_v1_network_policy_spec[] = {
    {1, "podSelector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {2, "ingress", PROTO_MESSAGE, PROTO_REPEATED, networking_v1_network_policy_ingress_rule},
    {3, "egress", PROTO_MESSAGE, PROTO_REPEATED, networking_v1_network_policy_egress_rule},
    {4, "policyTypes", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field networking_v1_network_policy[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, networking_v1_network_policy_spec},
    {0},
};

static const struct proto_field node_v1_overhead[] = {
    {1, "podFixed", PROTO_QUANTITY, PROTO_MAP, NULL},
    {0},
};

static const struct proto_field node_v1_scheduling[] = {
    {1, "nodeSelector", PROTO_STRING, PROTO_MAP, NULL},
    {2, "tolerations", PROTO_MESSAGE, PROTO_REPEATED, core_v1_toleration},
    {0},
};

static const struct proto_field node_v1_runtime_class[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "handler", PROTO_STRING, 0, NULL},
    {3, "overhead", PROTO_MESSAGE, 0, node_v1_overhead},
    {4, "scheduling", PROTO_MESSAGE, 0, node_v1_scheduling},
    {0},
};

static const struct proto_field policy_v1_eviction[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "deleteOptions", PROTO_MESSAGE, 0, meta_v1_delete_options},
    {0},
};

static const struct proto_field policy_v1_pod_disruption_budget_spec[] = {
    {1, "minAvailable", PROTO_INT_OR_STRING, 0, NULL},
    {2, "selector", PROTO_MESSAGE, 0, meta_v1_label_selector},
    {3, "maxUnavailable", PROTO_INT_OR_STRING, 0, NULL},
    {4, "unhealthyPodEvictionPolicy", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field policy_v1_pod_disruption_budget_status[] = {
    {1, "observedGeneration", PROTO_INT, PROTO_OMIT_ZERO, NULL},
    {2, "disruptedPods", PROTO_TIME, PROTO_MAP, NULL},
    {3, "disruptionsAllowed", PROTO_INT, 0, NULL},
    {4, "currentHealthy", PROTO_INT, 0, NULL},
    {5, "desiredHealthy", PROTO_INT, 0, NULL},
    {6, "expectedPods", PROTO_INT, 0, NULL},
    {7, "conditions", PROTO_MESSAGE, PROTO_REPEATED, meta_v1_condition},
    {0},
};

static const struct proto_field policy_v1_pod_disruption_budget[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, policy_v1_pod_disruption_budget_spec},
    {3, "status", PROTO_MESSAGE, 0, policy_v1_pod_disruption_budget_status},
    {0},
};

static const struct proto_field policy_v1beta1_eviction[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "deleteOptions", PROTO_MESSAGE, 0, meta_v1_delete_options},
    {0},
};

static const struct proto_field rbac_v1_policy_rule[] = {
    {1, "verbs", PROTO_STRING, PROTO_REPEATED, NULL},
    {2, "apiGroups", PROTO_STRING, PROTO_REPEATED, NULL},
    {3, "resources", PROTO_STRING, PROTO_REPEATED, NULL},
    {4, "resourceNames", PROTO_STRING, PROTO_REPEATED, NULL},
    {5, "nonResourceURLs", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field rbac_v1_aggregation_rule[] = {
    {1, "clusterRoleSelectors", PROTO_MESSAGE, PROTO_REPEATED, meta_v1_label_selector},
    {0},
};

static const struct proto_field rbac_v1_cluster_role[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "rules", PROTO_MESSAGE, PROTO_REPEATED, rbac_v1_policy_rule},
    {3, "aggregationRule", PROTO_MESSAGE, 0, rbac_v1_aggregation_rule},
    {0},
};

static const struct proto_field rbac_v1_subject[] = {
    {1, "kind", PROTO_STRING, 0, NULL},
    {2, "apiGroup", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {3, "name", PROTO_STRING, 0, NULL},
    {4, "namespace", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {0},
};

static const struct proto_field rbac_v1_role_ref[] = {
    {1, "apiGroup", PROTO_STRING, 0, NULL},
    {2, "kind", PROTO_STRING, 0, NULL},
    {3, "name", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field rbac_v1_cluster_role_binding[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "subjects", PROTO_MESSAGE, PROTO_REPEATED, rbac_v1_subject},
    {3, "roleRef", PROTO_MESSAGE, 0, rbac_v1_role_ref},
    {0},
};

static const struct proto_field rbac_v1_role[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "rules", PROTO_MESSAGE, PROTO_REPEATED, rbac_v1_policy_rule},
    {0},
};

static const struct proto_field rbac_v1_role_binding[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "subjects", PROTO_MESSAGE, PROTO_REPEATED, rbac_v1_subject},
    {3, "roleRef", PROTO_MESSAGE, 0, rbac_v1_role_ref},
    {0},
};

static const struct proto_field scheduling_v1_priority_class[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "value", PROTO_INT, 0, NULL},
    {3, "globalDefault", PROTO_BOOL, PROTO_OMIT_ZERO, NULL},
    {4, "description", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {5, "preemptionPolicy", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field scheduling_v1alpha3_workload_reference[] = {
    {1, "workloadName", PROTO_STRING, 0, NULL},
    {2, "templateName", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field scheduling_v1alpha3_basic_scheduling_policy[] = {
    {0},
};

static const struct proto_field scheduling_v1alpha3_gang_scheduling_policy[] = {
    {1, "minCount", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field scheduling_v1alpha3_pod_group_scheduling_policy[] = {
    {1, "basic", PROTO_MESSAGE, 0, scheduling_v1alpha3_basic_scheduling_policy},
    {2, "gang", PROTO_MESSAGE, 0, scheduling_v1alpha3_gang_scheduling_policy},
    {0},
};

static const struct proto_field scheduling_v1alpha3_pod_group_scheduling_constraints[] = {
    {1, "topology", PROTO_MESSAGE, PROTO_REPEATED, scheduling_v1alpha3_topology_constraint},
    {0},
};

static const struct proto_field scheduling_v1alpha3_pod_group_resource_claim[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "resourceClaimName", PROTO_STRING, 0, NULL},
    {3, "resourceClaimTemplateName", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field scheduling_v1alpha3_single_disruption_mode[] = {
    {0},
};

static const struct proto_field scheduling_v1alpha3_all_disruption_mode[] = {
    {0},
};

static const struct proto_field scheduling_v1alpha3_disruption_mode[] = {
    {1, "single", PROTO_MESSAGE, 0, scheduling_v1alpha3_single_disruption_mode},
    {2, "all", PROTO_MESSAGE, 0, scheduling_v1alpha3_all_disruption_mode},
    {0},
};

static const struct proto_field scheduling_v1alpha3_pod_group_spec[] = {
    {1, "parentCompositePodGroupName", PROTO_STRING, 0, NULL},
    {2, "workloadRef", PROTO_MESSAGE, 0, scheduling_v1alpha3_workload_reference},
    {3, "schedulingPolicy", PROTO_MESSAGE, 0, scheduling_v1alpha3_pod_group_scheduling_policy},
    {4, "schedulingConstraints", PROTO_MESSAGE, 0, scheduling_v1alpha3_pod_group_scheduling_constraints},
    {5, "resourceClaims", PROTO_MESSAGE, PROTO_REPEATED, scheduling_v1alpha3_pod_group_resource_claim},
    {6, "disruptionMode", PROTO_MESSAGE, 0, scheduling_v1alpha3_disruption_mode},
    {7, "priorityClassName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {8, "priority", PROTO_INT, 0, NULL},
    {9, "preemptionPolicy", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field scheduling_v1alpha3_pod_group_resource_claim_status[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "resourceClaimName", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field scheduling_v1alpha3_pod_group_status[] = {
    {1, "conditions", PROTO_MESSAGE, PROTO_REPEATED, meta_v1_condition},
    {2, "resourceClaimStatuses", PROTO_MESSAGE, PROTO_REPEATED, scheduling_v1alpha3_pod_group_resource_claim_status},
    {0},
};

static const struct proto_field scheduling_v1alpha3_pod_group[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, scheduling_v1alpha3_pod_group_spec},
    {3, "status", PROTO_MESSAGE, 0, scheduling_v1alpha3_pod_group_status},
    {0},
};

static const struct proto_field scheduling_v1alpha3_typed_local_object_reference[] = {
    {1, "apiGroup", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "kind", PROTO_STRING, 0, NULL},
    {3, "name", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field scheduling_v1alpha3_pod_group_template[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "schedulingPolicy", PROTO_MESSAGE, 0, scheduling_v1alpha3_pod_group_scheduling_policy},
    {3, "schedulingConstraints", PROTO_MESSAGE, 0, scheduling_v1alpha3_pod_group_scheduling_constraints},
    {4, "resourceClaims", PROTO_MESSAGE, PROTO_REPEATED, scheduling_v1alpha3_pod_group_resource_claim},
    {5, "disruptionMode", PROTO_MESSAGE, 0, scheduling_v1alpha3_disruption_mode},
    {6, "priorityClassName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {7, "priority", PROTO_INT, 0, NULL},
    {8, "preemptionPolicy", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field scheduling_v1alpha3_composite_basic_scheduling_policy[] = {
    {0},
};

static const struct proto_field scheduling_v1alpha3_composite_gang_scheduling_policy[] = {
    {1, "minGroupCount", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field scheduling_v1alpha3_composite_pod_group_scheduling_policy[] = {
    {1, "basic", PROTO_MESSAGE, 0, scheduling_v1alpha3_composite_basic_scheduling_policy},
    {2, "gang", PROTO_MESSAGE, 0, scheduling_v1alpha3_composite_gang_scheduling_policy},
    {0},
};

static const struct proto_field scheduling_v1alpha3_composite_pod_group_scheduling_constraints[] = {
    {1, "topology", PROTO_MESSAGE, PROTO_REPEATED, scheduling_v1alpha3_topology_constraint},
    {0},
};

static const struct proto_field scheduling_v1alpha3_single_composite_disruption_mode[] = {
    {0},
};

static const struct proto_field scheduling_v1alpha3_all_composite_disruption_mode[] = {
    {0},
};

static const struct proto_field scheduling_v1alpha3_composite_disruption_mode[] = {
    {1, "single", PROTO_MESSAGE, 0, scheduling_v1alpha3_single_composite_disruption_mode},
    {2, "all", PROTO_MESSAGE, 0, scheduling_v1alpha3_all_composite_disruption_mode},
    {0},
};

static const struct proto_field scheduling_v1alpha3_composite_pod_group_template[10];

static const struct proto_field scheduling_v1alpha3_composite_pod_group_template[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "schedulingPolicy", PROTO_MESSAGE, 0, scheduling_v1alpha3_composite_pod_group_scheduling_policy},
    {3, "schedulingConstraints", PROTO_MESSAGE, 0, scheduling_v1alpha3_composite_pod_group_scheduling_constraints},
    {4, "disruptionMode", PROTO_MESSAGE, 0, scheduling_v1alpha3_composite_disruption_mode},
    {5, "priorityClassName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "priority", PROTO_INT, 0, NULL},
    {7, "preemptionPolicy", PROTO_STRING, 0, NULL},
    {8, "podGroupTemplates", PROTO_MESSAGE, PROTO_REPEATED, scheduling_v1alpha3_pod_group_template},
    {9, "compositePodGroupTemplates", PROTO_MESSAGE, PROTO_REPEATED, scheduling_v1alpha3_composite_pod_group_template},
    {0},
};

static const struct proto_field scheduling_v1alpha3_workload_spec[] = {
    {1, "controllerRef", PROTO_MESSAGE, 0, scheduling_v1alpha3_typed_local_object_reference},
    {2, "podGroupTemplates", PROTO_MESSAGE, PROTO_REPEATED, scheduling_v1alpha3_pod_group_template},
    {3, "compositePodGroupTemplates", PROTO_MESSAGE, PROTO_REPEATED, scheduling_v1alpha3_composite_pod_group_template},
    {0},
};

static const struct proto_field scheduling_v1alpha3_workload[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, scheduling_v1alpha3_workload_spec},
    {0},
};

static const struct proto_field scheduling_v1beta1_workload_reference[] = {
    {1, "workloadName", PROTO_STRING, 0, NULL},
    {2, "templateName", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field scheduling_v1beta1_basic_scheduling_policy[] = {
    {0},
};

static const struct proto_field scheduling_v1beta1_gang_scheduling_policy[] = {
    {1, "minCount", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field scheduling_v1beta1_pod_group_scheduling_policy[] = {
    {1, "basic", PROTO_MESSAGE, 0, scheduling_v1beta1_basic_scheduling_policy},
    {2, "gang", PROTO_MESSAGE, 0, scheduling_v1beta1_gang_scheduling_policy},
    {0},
};

static const struct proto_field scheduling_v1beta1_topology_constraint[] = {
    {1, "key", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field scheduling_v1beta1_pod_group_scheduling_constraints[] = {
    {1, "topology", PROTO_MESSAGE, PROTO_REPEATED, scheduling_v1beta1_topology_constraint},
    {0},
};

static const struct proto_field scheduling_v1beta1_pod_group_resource_claim[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "resourceClaimName", PROTO_STRING, 0, NULL},
    {3, "resourceClaimTemplateName", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field scheduling_v1beta1_single_disruption_mode[] = {
    {0},
};

static const struct proto_field scheduling_v1beta1_all_disruption_mode[] = {
    {0},
};

static const struct proto_field scheduling_v1beta1_disruption_mode[] = {
    {1, "single", PROTO_MESSAGE, 0, scheduling_v1beta1_single_disruption_mode},
    {2, "all", PROTO_MESSAGE, 0, scheduling_v1beta1_all_disruption_mode},
    {0},
};

static const struct proto_field scheduling_v1beta1_pod_group_spec[] = {
    {1, "parentCompositePodGroupName", PROTO_STRING, 0, NULL},
    {2, "workloadRef", PROTO_MESSAGE, 0, scheduling_v1beta1_workload_reference},
    {3, "schedulingPolicy", PROTO_MESSAGE, 0, scheduling_v1beta1_pod_group_scheduling_policy},
    {4, "schedulingConstraints", PROTO_MESSAGE, 0, scheduling_v1beta1_pod_group_scheduling_constraints},
    {5, "resourceClaims", PROTO_MESSAGE, PROTO_REPEATED, scheduling_v1beta1_pod_group_resource_claim},
    {6, "disruptionMode", PROTO_MESSAGE, 0, scheduling_v1beta1_disruption_mode},
    {7, "priorityClassName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {8, "priority", PROTO_INT, 0, NULL},
    {9, "preemptionPolicy", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field scheduling_v1beta1_pod_group_resource_claim_status[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "resourceClaimName", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field scheduling_v1beta1_pod_group_status[] = {
    {1, "conditions", PROTO_MESSAGE, PROTO_REPEATED, meta_v1_condition},
    {2, "resourceClaimStatuses", PROTO_MESSAGE, PROTO_REPEATED, scheduling_v1beta1_pod_group_resource_claim_status},
    {0},
};

static const struct proto_field scheduling_v1beta1_pod_group[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, scheduling_v1beta1_pod_group_spec},
    {3, "status", PROTO_MESSAGE, 0, scheduling_v1beta1_pod_group_status},
    {0},
};

static const struct proto_field scheduling_v1beta1_typed_local_object_reference[] = {
    {1, "apiGroup", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {2, "kind", PROTO_STRING, 0, NULL},
    {3, "name", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field scheduling_v1beta1_pod_group_template[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "schedulingPolicy", PROTO_MESSAGE, 0, scheduling_v1beta1_pod_group_scheduling_policy},
    {3, "schedulingConstraints", PROTO_MESSAGE, 0, scheduling_v1beta1_pod_group_scheduling_constraints},
    {4, "resourceClaims", PROTO_MESSAGE, PROTO_REPEATED, scheduling_v1beta1_pod_group_resource_claim},
    {5, "disruptionMode", PROTO_MESSAGE, 0, scheduling_v1beta1_disruption_mode},
    {6, "priorityClassName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {7, "priority", PROTO_INT, 0, NULL},
    {8, "preemptionPolicy", PROTO_STRING, 0, NULL},
    {0},
};

static const struct proto_field scheduling_v1beta1_composite_basic_scheduling_policy[] = {
    {0},
};

static const struct proto_field scheduling_v1beta1_composite_gang_scheduling_policy[] = {
    {1, "minGroupCount", PROTO_INT, 0, NULL},
    {0},
};

static const struct proto_field scheduling_v1beta1_composite_pod_group_scheduling_policy[] = {
    {1, "basic", PROTO_MESSAGE, 0, scheduling_v1beta1_composite_basic_scheduling_policy},
    {2, "gang", PROTO_MESSAGE, 0, scheduling_v1beta1_composite_gang_scheduling_policy},
    {0},
};

static const struct proto_field scheduling_v1beta1_composite_pod_group_scheduling_constraints[] = {
    {1, "topology", PROTO_MESSAGE, PROTO_REPEATED, scheduling_v1beta1_topology_constraint},
    {0},
};

static const struct proto_field scheduling_v1beta1_single_composite_disruption_mode[] = {
    {0},
};

static const struct proto_field scheduling_v1beta1_all_composite_disruption_mode[] = {
    {0},
};

static const struct proto_field scheduling_v1beta1_composite_disruption_mode[] = {
    {1, "single", PROTO_MESSAGE, 0, scheduling_v1beta1_single_composite_disruption_mode},
    {2, "all", PROTO_MESSAGE, 0, scheduling_v1beta1_all_composite_disruption_mode},
    {0},
};

static const struct proto_field scheduling_v1beta1_composite_pod_group_template[10];

static const struct proto_field scheduling_v1beta1_composite_pod_group_template[] = {
    {1, "name", PROTO_STRING, 0, NULL},
    {2, "schedulingPolicy", PROTO_MESSAGE, 0, scheduling_v1beta1_composite_pod_group_scheduling_policy},
    {3, "schedulingConstraints", PROTO_MESSAGE, 0, scheduling_v1beta1_composite_pod_group_scheduling_constraints},
    {4, "disruptionMode", PROTO_MESSAGE, 0, scheduling_v1beta1_composite_disruption_mode},
    {5, "priorityClassName", PROTO_STRING, PROTO_OMIT_ZERO, NULL},
    {6, "priority", PROTO_INT, 0, NULL},
    {7, "preemptionPolicy", PROTO_STRING, 0, NULL},
    {8, "podGroupTemplates", PROTO_MESSAGE, PROTO_REPEATED, scheduling_v1beta1_pod_group_template},
    {9, "compositePodGroupTemplates", PROTO_MESSAGE, PROTO_REPEATED, scheduling_v1beta1_composite_pod_group_template},
    {0},
};

static const struct proto_field scheduling_v1beta1_workload_spec[] = {
    {1, "controllerRef", PROTO_MESSAGE, 0, scheduling_v1beta1_typed_local_object_reference},
    {2, "podGroupTemplates", PROTO_MESSAGE, PROTO_REPEATED, scheduling_v1beta1_pod_group_template},
    {3, "compositePodGroupTemplates", PROTO_MESSAGE, PROTO_REPEATED, scheduling_v1beta1_composite_pod_group_template},
    {0},
};

static const struct proto_field scheduling_v1beta1_workload[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "spec", PROTO_MESSAGE, 0, scheduling_v1beta1_workload_spec},
    {0},
};

static const struct proto_field core_v1_topology_selector_label_requirement[] = {
    {1, "key", PROTO_STRING, 0, NULL},
    {2, "values", PROTO_STRING, PROTO_REPEATED, NULL},
    {0},
};

static const struct proto_field core_v1_topology_selector_term[] = {
    {1, "matchLabelExpressions", PROTO_MESSAGE, PROTO_REPEATED, core_v1_topology_selector_label_requirement},
    {0},
};

static const struct proto_field storage_v1_storage_class[] = {
    {1, "metadata", PROTO_MESSAGE, 0, meta_v1_object_meta},
    {2, "provisioner", PROTO_STRING, 0, NULL},
    {3, "parameters", PROTO_STRING, PROTO_MAP, NULL},
    {4, "reclaimPolicy", PROTO_STRING, 0, NULL},
    {5, "mountOptions", PROTO_STRING, PROTO_REPEATED, NULL},
    {6, "allowVolumeExpansion", PROTO_BOOL, 0, NULL},
    {7, "volumeBindingMode", PROTO_STRING, 0, NULL},
    {8, "allowedTopologies", PROTO_MESSAGE, PROTO_REPEATED, core_v1_topology_selector_term},
    {0},
};

const struct proto_message proto_messages[] = {
    {"v1", "Binding", core_v1_binding},
    {"v1", "ConfigMap", core_v1_config_map},
    {"v1", "Endpoints", core_v1_endpoints},
    {"v1", "Event", core_v1_event},
    {"v1", "LimitRange", core_v1_limit_range},
    {"v1", "Namespace", core_v1_namespace},
    {"v1", "Node", core_v1_node},
    {"v1", "PersistentVolume", core_v1_persistent_volume},
    {"v1", "PersistentVolumeClaim", core_v1_persistent_volume_claim},
    {"v1", "Pod", core_v1_pod},
    {"v1", "PodTemplate", core_v1_pod_template},
    {"v1", "ReplicationController", core_v1_replication_controller},
    {"v1", "ResourceQuota", core_v1_resource_quota},
    {"v1", "Secret", core_v1_secret},
    {"v1", "Service", core_v1_service},
    {"v1", "ServiceAccount", core_v1_service_account},
    {NULL, "DeleteOptions", meta_v1_delete_options},
    {"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", admissionregistration_v1_mutating_webhook_configuration},
    {"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", admissionregistration_v1_validating_admission_policy},
    {"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", admissionregistration_v1_validating_admission_policy_binding},
    {"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", admissionregistration_v1_validating_webhook_configuration},
    {"apiextensions.k8s.io/v1", "CustomResourceDefinition", apiextensions_v1_custom_resource_definition},
    {"apps/v1", "ControllerRevision", apps_v1_controller_revision},
    {"apps/v1", "DaemonSet", apps_v1_daemon_set},
    {"apps/v1", "Deployment", apps_v1_deployment},
    {"apps/v1", "ReplicaSet", apps_v1_replica_set},
    {"apps/v1", "StatefulSet", apps_v1_stateful_set},
    {"authentication.k8s.io/v1", "SelfSubjectReview", authentication_v1_self_subject_review},
    {"authentication.k8s.io/v1", "TokenRequest", authentication_v1_token_request},
    {"authentication.k8s.io/v1", "TokenReview", authentication_v1_token_review},
    {"authorization.k8s.io/v1", "SelfSubjectAccessReview", authorization_v1_self_subject_access_review},
    {"authorization.k8s.io/v1", "SelfSubjectRulesReview", authorization_v1_self_subject_rules_review},
    {"authorization.k8s.io/v1", "SubjectAccessReview", authorization_v1_subject_access_review},
    {"autoscaling/v1", "HorizontalPodAutoscaler", autoscaling_v1_horizontal_pod_autoscaler},
    {"autoscaling/v1", "Scale", autoscaling_v1_scale},
    {"autoscaling/v2", "HorizontalPodAutoscaler", autoscaling_v2_horizontal_pod_autoscaler},
    {"batch/v1", "CronJob", batch_v1_cron_job},
    {"batch/v1", "Job", batch_v1_job},
    {"coordination.k8s.io/v1", "Lease", coordination_v1_lease},
    {"discovery.k8s.io/v1", "EndpointSlice", discovery_v1_endpoint_slice},
    {"events.k8s.io/v1", "Event", events_v1_event},
    {"networking.k8s.io/v1", "Ingress", networking_v1_ingress},
    {"networking.k8s.io/v1", "IngressClass", networking_v1_ingress_class},
    {"networking.k8s.io/v1", "NetworkPolicy", networking_v1_network_policy},
    {"node.k8s.io/v1", "RuntimeClass", node_v1_runtime_class},
    {"policy/v1", "Eviction", policy_v1_eviction},
    {"policy/v1", "PodDisruptionBudget", policy_v1_pod_disruption_budget},
    {"policy/v1beta1", "Eviction", policy_v1beta1_eviction},
    {"rbac.authorization.k8s.io/v1", "ClusterRole", rbac_v1_cluster_role},
    {"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", rbac_v1_cluster_role_binding},
    {"rbac.authorization.k8s.io/v1", "Role", rbac_v1_role},
    {"rbac.authorization.k8s.io/v1", "RoleBinding", rbac_v1_role_binding},
    {"scheduling.k8s.io/v1", "PriorityClass", scheduling_v1_priority_class},
    {"scheduling.k8s.io/v1alpha3", "PodGroup", scheduling_v1alpha3_pod_group},
    {"scheduling.k8s.io/v1alpha3", "Workload", scheduling_v1alpha3_workload},
    {"scheduling.k8s.io/v1beta1", "PodGroup", scheduling_v1beta1_pod_group},
    {"scheduling.k8s.io/v1beta1", "Workload", scheduling_v1beta1_workload},
    {"storage.k8s.io/v1", "StorageClass", storage_v1_storage_class},
};
const size_t proto_messages_count = COUNT(proto_messages);
