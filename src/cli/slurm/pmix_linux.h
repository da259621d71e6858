/* pmix_linux.h - libpmix, loaded by the PMIx server of a step alone (docs/adr/0026-pmix.md) */
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include "base/err.h"

/* The functions of libpmix that Mete uses, each as the pointer sym_NAME. */
/* clang-format off */
#define PMIX_CALLS(X)                                                                           \
    X(PMIx_Error_string) X(PMIx_server_dmodex_request) X(PMIx_server_init)                     \
    X(PMIx_server_register_client) X(PMIx_server_register_nspace) X(PMIx_server_setup_fork)
/* clang-format on */

#define X(name) extern __typeof__(&(name)) sym_##name;
PMIX_CALLS(X)
#undef X

/* Loads libpmix. Call it before any other function. The error says which package is missing. */
struct err *pmix_load(void) MUST_CHECK;
