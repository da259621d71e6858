/* capability.c - the kernel's capabilities, and Docker's default set */

#include "model/capability.h"

#include "base/str.h"

static const struct {
    const char *name;
    bool is_default;
} capabilities[CAPABILITY_COUNT] = {
    {"CAP_CHOWN", true},
    {"CAP_DAC_OVERRIDE", true},
    {"CAP_DAC_READ_SEARCH", false},
    {"CAP_FOWNER", true},
    {"CAP_FSETID", true},
    {"CAP_KILL", true},
    {"CAP_SETGID", true},
    {"CAP_SETUID", true},
    {"CAP_SETPCAP", true},
    {"CAP_LINUX_IMMUTABLE", false},
    {"CAP_NET_BIND_SERVICE", true},
    {"CAP_NET_BROADCAST", false},
    {"CAP_NET_ADMIN", false},
    {"CAP_NET_RAW", true},
    {"CAP_IPC_LOCK", false},
    {"CAP_IPC_OWNER", false},
    {"CAP_SYS_MODULE", false},
    {"CAP_SYS_RAWIO", false},
    {"CAP_SYS_CHROOT", true},
    {"CAP_SYS_PTRACE", false},
    {"CAP_SYS_PACCT", false},
    {"CAP_SYS_ADMIN", false},
    {"CAP_SYS_BOOT", false},
    {"CAP_SYS_NICE", false},
    {"CAP_SYS_RESOURCE", false},
    {"CAP_SYS_TIME", false},
    {"CAP_SYS_TTY_CONFIG", false},
    {"CAP_MKNOD", true},
    {"CAP_LEASE", false},
    {"CAP_AUDIT_WRITE", true},
    {"CAP_AUDIT_CONTROL", false},
    {"CAP_SETFCAP", true},
    {"CAP_MAC_OVERRIDE", false},
    {"CAP_MAC_ADMIN", false},
    {"CAP_SYSLOG", false},
    {"CAP_WAKE_ALARM", false},
    {"CAP_BLOCK_SUSPEND", false},
    {"CAP_AUDIT_READ", false},
    {"CAP_PERFMON", false},
    {"CAP_BPF", false},
    {"CAP_CHECKPOINT_RESTORE", false},
};

size_t capability_number(const char *name)
{
    const size_t prefix = strlen("CAP_");
    size_t i = 0;

    while (i < CAPABILITY_COUNT && !text_equal(capabilities[i].name, name) &&
           !text_equal(capabilities[i].name + prefix, name))
        i++;
    return i;
}

enum capability_class capability_class(const char *name)
{
    size_t i = capability_number(name);

    if (text_equal(name, "ALL"))
        return CAPABILITY_ALL;
    if (i == CAPABILITY_COUNT)
        return CAPABILITY_UNKNOWN;
    return capabilities[i].is_default ? CAPABILITY_DEFAULT : CAPABILITY_EXTRA;
}

const char *capability_name(size_t number)
{
    return number < CAPABILITY_COUNT ? capabilities[number].name : NULL;
}

bool capability_is_default(size_t number)
{
    return number < CAPABILITY_COUNT && capabilities[number].is_default;
}
