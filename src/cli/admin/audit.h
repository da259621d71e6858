/* audit.h - what the parts of `mete audit` share */
#pragma once

#include "cli/cli.h"

/* `mete audit verify`: checks the chain in the files of the data directory. */
struct err *audit_verify(struct cli *c) MUST_CHECK;
