/* archive_linux.h - libarchive, loaded at its first use (base/library_linux.h) */
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include "base/err.h"

/* The functions of libarchive that Mete calls, each as sym_FUNCTION. */
/* clang-format off */
#define ARCHIVE_CALLS(X)                                                                       \
    X(archive_entry_acl_clear) X(archive_entry_filetype) X(archive_entry_free)                 \
    X(archive_entry_gid) X(archive_entry_hardlink) X(archive_entry_mtime)                      \
    X(archive_entry_mtime_nsec) X(archive_entry_new) X(archive_entry_pathname)                 \
    X(archive_entry_perm) X(archive_entry_set_gid) X(archive_entry_set_gname)                  \
    X(archive_entry_set_hardlink) X(archive_entry_set_pathname) X(archive_entry_set_perm)      \
    X(archive_entry_set_uid) X(archive_entry_set_uname) X(archive_entry_size)                  \
    X(archive_entry_sourcepath) X(archive_entry_symlink) X(archive_entry_uid)                  \
    X(archive_entry_xattr_clear) X(archive_entry_xattr_next) X(archive_entry_xattr_reset)      \
    X(archive_errno) X(archive_error_string) X(archive_read_data) X(archive_read_data_block)   \
    X(archive_read_disk_descend) X(archive_read_disk_new) X(archive_read_disk_open)            \
    X(archive_read_disk_set_symlink_physical) X(archive_read_free) X(archive_read_new)         \
    X(archive_read_next_header) X(archive_read_next_header2) X(archive_read_open)              \
    X(archive_read_open_fd) X(archive_read_support_filter_gzip)                                \
    X(archive_read_support_filter_zstd) X(archive_read_support_format_empty)                   \
    X(archive_read_support_format_raw) X(archive_read_support_format_tar) X(archive_set_error) \
    X(archive_write_close) X(archive_write_data) X(archive_write_data_block)                   \
    X(archive_write_disk_new) X(archive_write_disk_set_options) X(archive_write_fail)          \
    X(archive_write_finish_entry) X(archive_write_free) X(archive_write_header)                \
    X(archive_write_new) X(archive_write_open) X(archive_write_open_fd)                        \
    X(archive_write_set_bytes_per_block) X(archive_write_set_format_gnutar)                    \
    X(archive_write_set_format_pax_restricted) X(archive_entry_set_filetype)                   \
    X(archive_entry_set_mtime) X(archive_entry_set_size)
/* clang-format on */

#define X(name) extern __typeof__(name) *sym_##name;
ARCHIVE_CALLS(X)
#undef X

/* Loads libarchive. Call it before any other function; any thread may. ERR_INTERNAL: libarchive is
 * not installed. */
struct err *archive_load(void) MUST_CHECK;
