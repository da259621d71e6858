/* passwd_linux.h - users of uids, and their groups */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A user_name_fn over getpwuid_r. */
bool passwd_user_name(void *arg, uint32_t uid, char *ret, size_t ret_size);

/* A user_uid_fn over getpwnam_r. */
bool passwd_user_uid(void *arg, const char *name, uint32_t *ret);

/* An object_user_fn over getpwuid_r and getgrgid_r. */
struct object_user;
bool passwd_find_user(void *arg, int64_t uid, struct object_user *ret);

/* An object_member_fn over getgrnam_r. */
bool passwd_is_member(void *arg, const char *user, int64_t gid, const char *group);
