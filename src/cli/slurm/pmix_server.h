/* pmix_server.h - mete step pmix: the PMIx server of a step on a node */
#pragma once

#include "base/err.h"

/* Serves the tasks of a step until its standard input, a socket of the manager, ends. */
struct err *pmix_server_run(void) MUST_CHECK;
