/* gpus_set.h - mete gpus set: how gpus are given to pods */
#pragma once

#include "cli/cli.h"

/* Runs `mete gpus set TARGET... --mode MODE`; the first argument is "set". */
struct err *gpus_set(struct cli *c) MUST_CHECK;
