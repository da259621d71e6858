/*
 * crio_conf.h - Mete's drop-in for CRI-O
 *
 * CRI-O has CDI on since 1.23; the drop-in names the directories of CDI files, and has the handler
 * `nvidia`.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct crio_conf {
    const struct str *files; /* as CRI-O reads them, one after the other, without the drop-in */
    size_t n;
    const char *runtime_path; /* of the handler, where the files have no default one */
    bool has_handler;
};

/* The drop-in's text. The caller frees it. ERR_INVALID: a file is no TOML; ERR_NOT_FOUND: no
 * runtime for the handler. */
struct err *crio_conf_make(const struct crio_conf *c, char **ret) MUST_CHECK;
