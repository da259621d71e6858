/* cluster_json.h - nodes, partitions, reservations, licenses and steps as members of documents */
#pragma once

#include "slurm/columns.h"
#include "slurm/document.h"

/* The functions make the array of a document of the rows (kinds/slurm/slurm_rows.h). New
 * references. */
json_t *slurm_nodes_json(const json_t *rows, const struct slurm_view *v);
json_t *slurm_partitions_json(const json_t *rows, const struct slurm_view *v);
json_t *slurm_licenses_json(const json_t *rows, const struct slurm_view *v);
json_t *slurm_steps_json(const json_t *rows, const struct slurm_view *v);
/* The same of objects Reservation. */
json_t *slurm_reservations_json(const json_t *objects, const struct slurm_view *v);
/* The lines of sinfo, each with the row of its partition (member "of"). */
json_t *slurm_sinfo_json(const json_t *lines, const struct slurm_view *v);

/* {"MEMBER": ..., "last_update", "meta", "errors", "warnings"} around `value`, which is taken. New
 * reference. */
json_t *slurm_cluster_document(const char *member, json_t *value, const struct slurm_view *v);
