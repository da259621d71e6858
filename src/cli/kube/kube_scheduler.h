/* kube_scheduler.h - the role `mete kube scheduler`: places pods of a Kubernetes cluster */
#pragma once

#include "cli/cli.h"
#include "control/kube/cluster_kube.h"

/* The flag --foreign-queues. */
enum kube_foreign_how kube_foreign_how_of(const struct cli *c);

struct err *kube_scheduler_run(struct cli *c) MUST_CHECK;
