/* node_state.h - the states of nodes as sinfo writes them */
#pragma once

#include "base/json.h"

enum {
    NODE_STATE_SIZE = 32
};

/* "idle", "mixed", "drained*"; short: "idle", "mix", "drain*". */
void slurm_node_state_format(const json_t *row, bool is_short, char ret[NODE_STATE_SIZE]);
