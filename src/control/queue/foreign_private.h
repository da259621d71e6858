/* foreign_private.h - the parts of foreign.h */
#pragma once

#include "control/queue/foreign.h"

/* The name in Mete of a queue of Volcano or KAI. The caller frees it. */
char *volcano_queue_name(const struct foreign *f, const json_t *native, const char *name);
char *kai_queue_name(const struct foreign *f, const json_t *native, const char *name);

/* Adds the Queues to `queues`. */
void volcano_queues(const struct foreign *f, const json_t *native, json_t *queues);
void kai_queues(const struct foreign *f, const json_t *native, json_t *queues);
