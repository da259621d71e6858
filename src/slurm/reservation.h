/* reservation.h - scontrol create, update and show of reservations */
#pragma once

#include "slurm/show.h"
#include "slurm/update.h"

/*
 * The spec of a Reservation that the words make, on top of `spec` (of the present one; NULL: none).
 * Nodes=ALL leaves "nodes" to the caller. ERR_INVALID: an unknown or malformed key, or a time is
 * missing. New reference.
 */
struct err *slurm_reservation_spec(const json_t *spec, const struct slurm_update *updates, size_t n,
                                   const struct slurm_view *view, json_t **ret) MUST_CHECK;

/* The nodes of a Reservation as a host list, "" if there are none; the caller frees it. */
char *slurm_reservation_hosts(const json_t *object, size_t *ret_n);

/* Adds the record of a Reservation. */
void slurm_show_reservation(const struct slurm_show *s, const json_t *object, struct buf *out);
