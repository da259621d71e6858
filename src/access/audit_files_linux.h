/*
 * audit_files_linux.h - the audit's files: DIR/audit-NUMBER.jsonl, each named by its first line
 *
 * The store's database commits the lines together with the changes that they record
 * (store/storage.h: notes). This module copies committed lines into the files, before anybody sees
 * the changes, and syncs the files about once a second; until then the database keeps the lines.
 * At the start the files get the lines that they miss.
 */
#pragma once

#include "access/audit_log.h"
#include "store/storage.h"

struct audit_files;

struct audit_files_options {
    const char *dir;        /* made if missing (0700) */
    int64_t file_max_bytes; /* a file that is larger gets no further lines; 0: 64 MiB */
    int64_t file_max_ns;    /* age of a file's first line, likewise; 0: 24 h */
};

struct err *audit_files_open(const struct audit_files_options *o,
                             struct audit_files **ret) MUST_CHECK;
/* Accepts NULL. The storage has ended before. */
void audit_files_free(struct audit_files *f);

/* For storage_sqlite_options; lives as long as the files. */
const struct storage_notes *audit_files_notes(const struct audit_files *f);
const struct audit_log *audit_files_log(const struct audit_files *f);
