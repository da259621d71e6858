/*
 * storage.h - persistent volumes: names, and what PersistentVolumes, PersistentVolumeClaims and
 * StorageClasses share
 */
#pragma once

#include "kinds/kind/cause.h"
#include "kinds/kind/kind.h"

/* Names of Kubernetes. */
#define STORAGE_CLAIM_PROTECTION  "kubernetes.io/pvc-protection"
#define STORAGE_VOLUME_PROTECTION "kubernetes.io/pv-protection"
#define STORAGE_BIND_COMPLETED    "pv.kubernetes.io/bind-completed"
#define STORAGE_BOUND_BY          "pv.kubernetes.io/bound-by-controller"
#define STORAGE_PROVISIONED_BY    "pv.kubernetes.io/provisioned-by"
#define STORAGE_PROVISIONER       "volume.kubernetes.io/storage-provisioner"
#define STORAGE_SELECTED_NODE     "volume.kubernetes.io/selected-node"
#define STORAGE_DEFAULT_CLASS     "storageclass.kubernetes.io/is-default-class"
#define STORAGE_NO_PROVISIONER    "kubernetes.io/no-provisioner"
#define STORAGE_HOSTNAME          "kubernetes.io/hostname"

/* Mete's provisioner: a file system of its own for each volume, on one node. */
#define STORAGE_LOCAL "mete.dev/local"
/* The finalizer of its volumes: the node has data to erase. */
#define STORAGE_LOCAL_DATA "mete.dev/local-volume"
/* status.reason of such a volume once its node has erased the data. */
#define STORAGE_ERASED "Erased"

/* The spec of a claim, and a whole claim as a template has it. */
extern const struct field storage_claim_spec_fields[];
extern const struct field storage_claim_template_item;

/* Rules of a claim's spec. */
void storage_validate_claim_spec(const json_t *spec, const struct path *at, struct causes *causes);
/* Rules of an access mode list. */
void storage_validate_modes(const json_t *modes, const struct path *at, struct causes *causes);
/* Kubernetes' limit of one node, and of one pod. */
bool storage_has_mode(const json_t *modes, const char *mode);
/* "RWO,ROX", as tables show modes. The caller frees it. */
char *storage_modes_text(const json_t *modes);

/* The amount "storage" of a map of quantities; 0: none. */
int64_t storage_bytes(const json_t *amounts);
bool storage_class_is_default(const json_t *class);
/* The only node of a volume, "": any. Borrowed. */
const char *storage_volume_node(const json_t *volume);
