/* podsets_private.h - the kinds of sets of pods */
#pragma once

#include "control/apps/app_pods.h"
#include "control/apps/podsets.h"

struct podsets {
    struct apps_loop *loop;
};

extern const struct app_kind app_replicaset; /* replicasets.c */
