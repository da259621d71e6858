/* passwd_linux.c - user names by getpwuid_r */

#include "access/passwd_linux.h"

#include <pwd.h>
#include <stdio.h>

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
