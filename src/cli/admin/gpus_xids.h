/* gpus_xids.h - mete gpus xids: what each XID means and does */
#pragma once

#include "cli/cli.h"

/* Runs `mete gpus xids [--dry-run FILE] [CODE...]`; the first argument is "xids". Asks no server.
 */
struct err *gpus_xids(struct cli *c) MUST_CHECK;
