/* slurm_fields.h - schema tables of Slurm's accounts that several kinds share */
#pragma once

#include "kinds/kind/kind.h"

/* The limits, qos and points of an association: of an account (Queue) and of a user. */
extern const struct field slurm_account_fields[];

/* Checks a name of Slurm's accounting: letters, digits and "_.-@+", at most 63 bytes. */
struct err *slurm_name_check(const char *name) MUST_CHECK;
