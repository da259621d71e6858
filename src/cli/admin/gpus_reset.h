/* gpus_reset.h - mete gpus reset: asks a node to reset a gpu */
#pragma once

#include "cli/cli.h"

/* Runs `mete gpus reset NODE/GPU`; the first argument is "reset". */
struct err *gpus_reset(struct cli *c) MUST_CHECK;
