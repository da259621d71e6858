/* pem_linux.h - certificates and keys of memory as files, for libcurl */
#pragma once

#include "base/err.h"

/* Puts `pem` into a memory file: its descriptor, and its path, which is valid while the descriptor
 * is open. The caller closes the one and frees the other. */
struct err *pem_open(const char *pem, int *ret_fd, char **ret_path) MUST_CHECK;
