/* kube_scheduler.h - the role `mete kube scheduler`: places pods of a Kubernetes cluster */
#pragma once

#include "cli/cli.h"

struct err *kube_scheduler_run(struct cli *c) MUST_CHECK;
