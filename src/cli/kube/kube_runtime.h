/* kube_runtime.h - `mete kube runtime configure|unconfigure ENGINE` */
#pragma once

#include "cli/cli.h"

struct err *kube_runtime_run(struct cli *c) MUST_CHECK;
