/* kube_extend.h - the role `mete kube extender`: an HTTP extender of a kube-scheduler */
#pragma once

#include "cli/cli.h"

struct err *kube_extend_run(struct cli *c) MUST_CHECK;
