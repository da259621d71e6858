#include "kinds/fields.h"
#include "kinds/pod_fields.h"
#include "model/names.h"

static const char *const media[] = {"Memory", NULL};

static const struct field empty_dir_fields[] = {
    F_STRING("medium", "\"\" for the node's disk, Memory for a tmpfs.", .values = media),
    F_QUANTITY("sizeLimit", "The most that it may hold."),
    F_END,
};

static const struct field path_fields[] = {
    F_STRING("key", "The key.", .is_required = true, .check = name_check_config_key),
    F_STRING("path", "The file's path in the volume.", .is_required = true, .size_max = 4095),
    F_INT("mode", "The file's permissions.", .min = 0, .max = 0777),
    F_END,
};
static const struct field path_item = F_OBJECT(NULL, path_fields, "A key and the file it becomes.");

static const struct field config_map_fields[] = {
    F_STRING("name", "The config map.", .is_required = true, .check = name_check_subdomain),
    F_LIST("items", &path_item, "Which keys become which files; all where it is not given."),
    F_INT("defaultMode", "Permissions of files without a mode of their own.", .min = 0, .max = 0777,
          .fallback = "420"),
    F_BOOL("optional", "Whether the config map may be missing."),
    F_END,
};

static const struct field secret_fields[] = {
    F_STRING("secretName", "The secret.", .is_required = true, .check = name_check_subdomain),
    F_LIST("items", &path_item, "Which keys become which files; all where it is not given."),
    F_INT("defaultMode", "Permissions of files without a mode of their own.", .min = 0, .max = 0777,
          .fallback = "420"),
    F_BOOL("optional", "Whether the secret may be missing."),
    F_END,
};

static const struct field volume_fields[] = {
    F_STRING("name", "The volume's name, unique in the pod.", .is_required = true,
             .check = name_check_label),
    F_OBJECT("emptyDir", empty_dir_fields, "A directory that lives as long as the pod."),
    F_OBJECT("configMap", config_map_fields, "The keys of a config map as files."),
    F_OBJECT("secret", secret_fields, "The keys of a secret as files."),
    F_REFUSED("hostPath", "A path of the node."),
    F_REFUSED("persistentVolumeClaim", "A persistent volume."),
    F_REFUSED("projected", "Several sources in one directory."),
    F_REFUSED("downwardAPI", "Fields of the pod as files."),
    F_REFUSED("ephemeral", "A claim that lives as long as the pod."),
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
