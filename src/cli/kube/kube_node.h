/* kube_node.h - the role `mete kube node`: this machine's gpus for the kubelet that runs on it */
#pragma once

#include "cli/cli.h"

struct err *kube_node_run(struct cli *c) MUST_CHECK;
