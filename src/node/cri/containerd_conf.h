/*
 * containerd_conf.h - Mete's drop-in for containerd, and its import
 *
 * Versions differ (docs/kubernetes.md): 1.7 reads config version 2, with the CRI plugin
 * io.containerd.grpc.v1.cri, where CDI is off by itself; 2.x reads version 3, with
 * io.containerd.cri.v1.runtime. 1.x takes each plugin's section from the last file that has it,
 * whole: so the drop-in has a copy of what the file before it says.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct containerd_conf {
    int version;      /* 2 or 3 */
    struct str base;  /* the last file before the drop-in that has the section; may be empty */
    bool has_handler; /* make the handler `nvidia`, as the default one, if there is none */
};

/* The `version` of a file: 2 or 3; 0: it says none. ERR_INVALID: another one, or no TOML. */
struct err *containerd_conf_version(struct str text, int *ret) MUST_CHECK;
/* Has the file a section of the CRI plugin? */
struct err *containerd_conf_has_section(struct str text, int version, bool *ret) MUST_CHECK;
/* The drop-in's text. The caller frees it. */
struct err *containerd_conf_make(const struct containerd_conf *c, char **ret) MUST_CHECK;

/* The paths and patterns of `imports`, one a line. The caller frees it. */
struct err *containerd_conf_imports(struct str text, char **ret) MUST_CHECK;
/* Does a pattern of `imports` in a file of the directory `dir` mean `path`? */
bool containerd_conf_matches(const char *pattern, const char *dir, const char *path);
/* `text` with `path` as its last import; `version` is written into an empty file. The caller frees
 * it. */
struct err *containerd_conf_import(struct str text, const char *path, int version,
                                   char **ret) MUST_CHECK;
/* `text` without this import. The caller frees it. */
struct err *containerd_conf_forget(struct str text, const char *path, char **ret) MUST_CHECK;
