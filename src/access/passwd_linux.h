/* passwd_linux.h - user names of uids */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A user_name_fn over getpwuid_r. */
bool passwd_user_name(void *arg, uint32_t uid, char *ret, size_t ret_size);
