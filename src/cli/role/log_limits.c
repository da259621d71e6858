/* log_limits.c - limits of container logs */

#include "cli/role/log_limits.h"

#include "base/num.h"
#include "model/quantity.h"
#include "node/log/rotation.h"

struct err *log_limits_parse(const char *size, const char *files, struct log_limits *ret)
{
    struct quantity q = {0};
    int64_t max_files = 0;
    AUTO(err_freep) struct err *bad_size = quantity_parse(str_of(size), &q);
    AUTO(err_freep) struct err *bad_files = NULL;

    if (bad_size || q.milli / 1000 < LOG_BYTES_MIN || q.milli / 1000 > LOG_BYTES_MAX)
        return err_new(ERR_BAD_REQUEST, "container log size \"%s\": want 64Ki to 1Ti, as in 10Mi",
                       size);
    bad_files = num_parse_int64(str_of(files), LOG_FILES_MIN, LOG_FILES_MAX, &max_files);
    if (bad_files)
        return err_new(ERR_BAD_REQUEST, "container log files \"%s\": want %d to %d", files,
                       (int)LOG_FILES_MIN, (int)LOG_FILES_MAX);
    *ret = (struct log_limits){.max_bytes = q.milli / 1000, .max_files = max_files};
    return NULL;
}
