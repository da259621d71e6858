/* pod_volume_fields.c - the schema of volumes */

#include "kinds/kind/fields.h"
#include "kinds/pod/pod_fields.h"
#include "kinds/storage/storage.h"
#include "model/names.h"

static const char *const media[] = {"Memory", NULL};

static const char *const host_types[] = {
    "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice",
    "BlockDevice",       NULL};

static const struct field empty_dir_fields[] = {
    F_STRING("medium", "\"\" for the node's disk, Memory for a tmpfs.", .values = media),
    F_QUANTITY("sizeLimit", "The maximum size."),
    F_END,
};

static const struct field path_fields[] = {
    F_STRING("key", "The key.", .is_required = true, .check = name_check_config_key),
    F_STRING("path", "The file's path in the volume.", .is_required = true, .size_max = 4095),
    F_INT("mode", "The file's permissions.", .min = 0, .max = 0777),
    F_END,
};
static const struct field path_item = F_OBJECT(NULL, path_fields, "A key and its file.");

static const struct field config_map_fields[] = {
    F_STRING("name", "The config map.", .is_required = true, .check = name_check_subdomain),
    F_LIST("items", &path_item, "Keys and their files; absent: all keys."),
    F_INT("defaultMode", "Permissions of files without a mode of their own.", .min = 0, .max = 0777,
          .fallback = "420"),
    F_BOOL("optional", "Whether the config map may be missing."),
    F_END,
};

static const struct field secret_fields[] = {
    F_STRING("secretName", "The secret.", .is_required = true, .check = name_check_subdomain),
    F_LIST("items", &path_item, "Keys and their files; absent: all keys."),
    F_INT("defaultMode", "Permissions of files without a mode of their own.", .min = 0, .max = 0777,
          .fallback = "420"),
    F_BOOL("optional", "Whether the secret may be missing."),
    F_END,
};

static const struct field downward_file_fields[] = {
    F_STRING("path", "The file's path in the volume.", .is_required = true, .size_max = 4095),
    F_OBJECT("fieldRef", field_ref_fields, "A field of the pod.", .is_atomic = true),
    F_OBJECT("resourceFieldRef", resource_ref_fields, "A request or limit of a container.",
             .is_atomic = true),
    F_INT("mode", "The file's permissions.", .min = 0, .max = 0777),
    F_END,
};
static const struct field downward_file_item =
    F_OBJECT(NULL, downward_file_fields, "A file with a field of the pod.");

static const struct field downward_fields[] = {
    F_LIST("items", &downward_file_item, "The files."),
    F_INT("defaultMode", "Permissions of files without a mode of their own.", .min = 0, .max = 0777,
          .fallback = "420"),
    F_END,
};

static const struct field keys_projection_fields[] = {
    F_STRING("name", "The object.", .is_required = true, .check = name_check_subdomain),
    F_LIST("items", &path_item, "Keys and their files; absent: all keys."),
    F_BOOL("optional", "Whether the object may be missing."),
    F_END,
};

static const struct field downward_projection_fields[] = {
    F_LIST("items", &downward_file_item, "The files."),
    F_END,
};

static const struct field token_projection_fields[] = {
    F_STRING("audience", "The audience of the token; default: the API server.", .size_max = 1024),
    F_INT("expirationSeconds",
          "The token's lifetime in seconds; the token is renewed after 80 % of it.",
          .fallback = "3600"),
    F_STRING("path", "The file's path in the volume.", .is_required = true, .size_max = 4095),
    F_END,
};

static const struct field projection_fields[] = {
    F_OBJECT("secret", keys_projection_fields, "Keys of a secret."),
    F_OBJECT("configMap", keys_projection_fields, "Keys of a config map."),
    F_OBJECT("downwardAPI", downward_projection_fields, "Fields of the pod."),
    F_OBJECT("serviceAccountToken", token_projection_fields,
             "A token of the pod's service account."),
    F_REFUSED("clusterTrustBundle", "Trust anchors of signers."),
    F_REFUSED("podCertificate", "A certificate of the pod."),
    F_END,
};
static const struct field projection_item =
    F_OBJECT(NULL, projection_fields, "A source of the volume.");

static const struct field projected_fields[] = {
    F_LIST("sources", &projection_item, "The sources of the volume.", .items_max = 64),
    F_INT("defaultMode", "Permissions of files without a mode of their own.", .min = 0, .max = 0777,
          .fallback = "420"),
    F_END,
};

static const struct field host_path_fields[] = {
    F_STRING("path",
             "The path on the node; within the directories that mete up --host-path-root names "
             "unless an administrator asks.",
             .is_required = true, .size_max = 4095),
    F_STRING("type",
             "The type of file that must exist or is created: DirectoryOrCreate, Directory, "
             "FileOrCreate, File, Socket.",
             .values = host_types, .fallback = "\"\""),
    F_END,
};

static const struct field claim_fields[] = {
    F_STRING("claimName", "The claim, in the pod's namespace.", .is_required = true,
             .check = name_check_subdomain),
    F_BOOL("readOnly", "Whether all mounts of the volume are read-only."),
    F_END,
};

static const struct field claim_template_fields[] = {
    F_OBJECT("metadata", object_meta_fields, "Labels and annotations of the claim."),
    F_OBJECT("spec", storage_claim_spec_fields, "The claim.", .is_required = true),
    F_END,
};
static const struct field ephemeral_fields[] = {
    F_OBJECT("volumeClaimTemplate", claim_template_fields, "The claim that the pod gets.",
             .is_required = true),
    F_END,
};

static const struct field volume_fields[] = {
    F_STRING("name", "The volume's name, unique in the pod.", .is_required = true,
             .check = name_check_label),
    F_OBJECT("emptyDir", empty_dir_fields, "A directory that lives as long as the pod."),
    F_OBJECT("configMap", config_map_fields, "The keys of a config map as files."),
    F_OBJECT("secret", secret_fields, "The keys of a secret as files."),
    F_OBJECT("downwardAPI", downward_fields, "Fields of the pod as files."),
    F_OBJECT("projected", projected_fields, "Several sources in one directory."),
    F_OBJECT("hostPath", host_path_fields, "A path of the node."),
    F_OBJECT("persistentVolumeClaim", claim_fields, "A persistent volume."),
    F_OBJECT("ephemeral", ephemeral_fields, "A claim that lives as long as the pod."),
    F_REFUSED("csi", "A volume of a CSI driver."),
    F_REFUSED("image", "An image's files."),
    F_REFUSED("nfs", "An NFS export."),
    F_REFUSED("iscsi", "An iSCSI disk."),
    F_REFUSED("fc", "A fibre channel disk."),
    F_REFUSED("gitRepo", "A git repository."),
    F_REFUSED("glusterfs", "A Gluster volume."),
    F_REFUSED("rbd", "A Ceph block device."),
    F_REFUSED("cephfs", "A Ceph file system."),
    F_REFUSED("cinder", "An OpenStack disk."),
    F_REFUSED("flexVolume", "A volume of a plugin program."),
    F_REFUSED("flocker", "A Flocker volume."),
    F_REFUSED("awsElasticBlockStore", "An AWS disk."),
    F_REFUSED("gcePersistentDisk", "A GCE disk."),
    F_REFUSED("azureDisk", "An Azure disk."),
    F_REFUSED("azureFile", "An Azure file share."),
    F_REFUSED("vsphereVolume", "A vSphere disk."),
    F_REFUSED("photonPersistentDisk", "A Photon disk."),
    F_REFUSED("portworxVolume", "A Portworx volume."),
    F_REFUSED("quobyte", "A Quobyte volume."),
    F_REFUSED("scaleIO", "A ScaleIO volume."),
    F_REFUSED("storageos", "A StorageOS volume."),
    F_END,
};

const struct field volume_item =
    F_OBJECT(NULL, volume_fields, "A directory that containers of the pod can mount.");
