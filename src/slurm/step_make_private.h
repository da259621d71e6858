/* step_make_private.h - the parts of the making of a step */
#pragma once

#include "slurm/step_make.h"

/* The row of the `i`-th node of the step in the allocation. */
const json_t *step_make_row(const struct step_make *m, size_t i);

/* step_variables.c: the variables of all tasks of a node, and of one task. New references. */
json_t *step_node_variables(const struct step_make *m, size_t i);
json_t *step_task_variables(const struct step_make *m, size_t i, size_t local);
