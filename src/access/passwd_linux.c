/* passwd_linux.c - users by getpwuid_r, groups by getgrgid_r */

#include "access/passwd_linux.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>

#include "base/mem.h"
#include "kinds/object/objects.h"

bool passwd_user_name(void *arg, uint32_t uid, char *ret, size_t ret_size)
{
    struct passwd entry;
    struct passwd *found = NULL;
    char bytes[4096];
    int n;

    (void)arg;
    if (getpwuid_r(uid, &entry, bytes, sizeof(bytes), &found) != 0 || !found || !*entry.pw_name)
        return false;
    n = snprintf(ret, ret_size, "%s", entry.pw_name);
    return n > 0 && (size_t)n < ret_size;
}

bool passwd_user_uid(void *arg, const char *name, uint32_t *ret)
{
    struct passwd entry;
    struct passwd *found = NULL;
    char bytes[4096];

    (void)arg;
    if (getpwnam_r(name, &entry, bytes, sizeof(bytes), &found) != 0 || !found)
        return false;
    *ret = entry.pw_uid;
    return true;
}

bool passwd_find_user(void *arg, int64_t uid, struct object_user *ret)
{
    struct passwd entry;
    struct passwd *found = NULL;
    struct group group;
    struct group *of = NULL;
    char bytes[4096];
    char group_bytes[16384]; /* with the names of the members */

    (void)arg;
    if (getpwuid_r((uid_t)uid, &entry, bytes, sizeof(bytes), &found) != 0 || !found ||
        !*entry.pw_name || strlen(entry.pw_name) >= sizeof(ret->name))
        return false;
    *ret = (struct object_user){.gid = (int64_t)entry.pw_gid};
    (void)snprintf(ret->name, sizeof(ret->name), "%s", entry.pw_name);
    if (getgrgid_r(entry.pw_gid, &group, group_bytes, sizeof(group_bytes), &of) == 0 && of)
        (void)snprintf(ret->group, sizeof(ret->group), "%s", group.gr_name);
    return true;
}

enum {
    GROUP_BYTES_MAX = 1 << 20 /* with the names of the members */
};

bool passwd_is_member(void *arg, const char *user, int64_t gid, const char *group)
{
    AUTO_FREE char *bytes = mem_alloc(GROUP_BYTES_MAX);
    struct group entry;
    struct group *found = NULL;

    (void)arg;
    if (getgrnam_r(group, &entry, bytes, GROUP_BYTES_MAX, &found) != 0 || !found)
        return false;
    for (char **name = entry.gr_mem; *name; name++)
        if (text_equal(*name, user))
            return true;
    return (int64_t)entry.gr_gid == gid;
}
