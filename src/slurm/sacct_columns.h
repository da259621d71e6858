/* sacct_columns.h - the fields of sacct, with their widths */
#pragma once

#include "slurm/columns.h"

/* Ends with a NULL header. A row of a batch step has the member "step". */
extern const struct slurm_column slurm_account_columns[];
