/* kube_crds.h - `mete kube crds`: the CustomResourceDefinitions of a cluster */
#pragma once

#include "cli/cli.h"

struct err *kube_crds_run(struct cli *c) MUST_CHECK;
