/*
 * pod_security_fields.c - the schema of hostAliases and of the securityContext of pods and
 * containers
 */

#include <arpa/inet.h>

#include "kinds/kind/fields.h"
#include "kinds/pod/pod_fields.h"
#include "model/names.h"

static const char *const group_policies[] = {"Merge", "Strict", NULL};
static const char *const seccomp_types[] = {"RuntimeDefault", "Unconfined", "Localhost", NULL};

static const struct field group_item = F_INT(NULL, "A gid.", .min = 0, .max = INT32_MAX);
static const struct field capability_item =
    F_STRING(NULL, "A capability, as NET_BIND_SERVICE.", .size_max = 64);

static const struct field seccomp_fields[] = {
    F_STRING("type",
             "RuntimeDefault, the node's own list of calls; Unconfined, for administrators.",
             .is_required = true, .values = seccomp_types),
    F_REFUSED("localhostProfile", "A profile in a file of the node."),
    F_END,
};

static const struct field capabilities_fields[] = {
    F_LIST("add", &capability_item,
           "Capabilities to add; beyond the default set for administrators only.", .items_max = 64),
    F_LIST("drop", &capability_item, "Capabilities to drop from the default set; ALL: all.",
           .items_max = 64),
    F_END,
};

static const struct field sysctl_fields[] = {
    F_STRING("name", "The setting.", .is_required = true, .size_max = 253),
    F_STRING("value", "The value.", .is_required = true, .size_max = 253),
    F_END,
};
static const struct field sysctl_item = F_OBJECT(NULL, sysctl_fields, "A kernel setting.");

const struct field container_security_fields[] = {
    F_BOOL("privileged", "All capabilities and system calls, nothing masked, in its own user "
                         "namespace still; for administrators. It gives no devices."),
    F_BOOL("readOnlyRootFilesystem", "Whether only volumes and /dev/shm are writable."),
    F_BOOL("allowPrivilegeEscalation", "Whether setuid programs work; default: false."),
    F_OBJECT("capabilities", capabilities_fields, "Capabilities to add and drop."),
    F_OBJECT("seccompProfile", seccomp_fields, "The allowed system calls; default: the pod's."),
    F_REFUSED("appArmorProfile", "An AppArmor profile."),
    F_REFUSED("seLinuxOptions", "An SELinux label."),
    F_REFUSED("windowsOptions", "For Windows."),
    F_REFUSED("procMount", "The masking of /proc.", .harmless = "\"Default\""),
    F_INT("runAsUser", "The uid of the container; default: the pod's.", .min = 0, .max = INT32_MAX),
    F_INT("runAsGroup", "The gid of the container; default: the pod's.", .min = 0,
          .max = INT32_MAX),
    F_BOOL("runAsNonRoot", "Whether uid 0 is refused; default: the pod's."),
    F_END,
};

const struct field pod_security_fields[] = {
    F_INT("runAsUser", "The uid of the containers.", .min = 0, .max = INT32_MAX),
    F_INT("runAsGroup", "The gid of the containers.", .min = 0, .max = INT32_MAX),
    F_BOOL("runAsNonRoot", "Whether uid 0 is refused."),
    F_LIST("supplementalGroups", &group_item, "More gids of the containers.", .items_max = 64),
    F_STRING("supplementalGroupsPolicy",
             "Merge: with the groups that the image gives the user; Strict: without them.",
             .values = group_policies),
    F_INT("fsGroup", "A gid of the containers that also owns the volumes.", .min = 0,
          .max = INT32_MAX),
    F_ANY("fsGroupChangePolicy", "When volumes get their owner: at creation.",
          .support = FIELD_IGNORED),
    F_REFUSED("seLinuxOptions", "An SELinux label."),
    F_REFUSED("seLinuxChangePolicy", "When volumes are relabelled."),
    F_OBJECT("seccompProfile", seccomp_fields, "The allowed system calls."),
    F_REFUSED("appArmorProfile", "An AppArmor profile."),
    F_LIST("sysctls", &sysctl_item, "Kernel settings: kernel.shm_rmid_forced is allowed.",
           .items_max = 16),
    F_REFUSED("windowsOptions", "For Windows."),
    F_END,
};

static struct err *check_ip(const char *text)
{
    unsigned char address[16];

    if (inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1)
        return NULL;
    return err_new(ERR_INVALID, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
}

static const struct field host_name_item =
    F_STRING(NULL, "A host name.", .check = name_check_subdomain);

static const struct field host_alias_fields[] = {
    F_STRING("ip", "The address.", .is_required = true, .check = check_ip, .size_max = 64),
    F_LIST("hostnames", &host_name_item, "The names of the address.", .items_max = 256),
    F_END,
};
const struct field host_alias_item = F_OBJECT(NULL, host_alias_fields, "A line of /etc/hosts.");
