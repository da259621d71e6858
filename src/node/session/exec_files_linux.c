/* exec_files_linux.c - a command's process.json, and the runtime's log of its failure */

#include "node/session/exec_files_linux.h"

#include "base/file.h"
#include "base/mem.h"

enum {
    CONFIG_MAX = 4 << 20,
    RUNTIME_LOG_MAX = 65536,
    MESSAGE_MAX = 512,
};

/* The container's own `process`, overlaid with the command's. */
static struct err *make_process(const struct crun_attempt *b, const struct runtime_exec *e,
                                json_t **ret)
{
    AUTO_FREE char *path = attempt_path(b, "config.json");
    AUTO(buf_done) struct buf text = {0};
    AUTO(json_freep) json_t *config = NULL;
    json_t *process = NULL;

    TRY(file_read(path, CONFIG_MAX, &text));
    TRY(json_parse((struct str){text.at, text.size}, &config));
    process = json_object_at(config, "process");
    (void)json_object_update(process, (json_t *)(uintptr_t)e->process); /* cannot fail */
    json_put_bool(process, "terminal", e->has_terminal);
    (void)json_object_del(process, "consoleSize"); /* of the container */
    if (e->has_terminal && e->columns > 0 && e->rows > 0) {
        json_put_int(json_object_at(process, "consoleSize"), "width", e->columns);
        json_put_int(json_object_at(process, "consoleSize"), "height", e->rows);
    }
    if (json_array_size(json_object_get(process, "args")) == 0)
        return err_new(ERR_INVALID, "no command is given");
    /* Through a descriptor in /proc, the directory could be one of the host's. */
    if (text_starts_with(json_text(process, "cwd"), "/proc"))
        return err_new(ERR_INVALID, "the working directory '%.256s' is below /proc",
                       json_text(process, "cwd"));
    *ret = json_incref(process);
    return NULL;
}

struct err *exec_write_process(const char *dir, const struct crun_attempt *b,
                               const struct runtime_exec *e)
{
    AUTO(json_freep) json_t *process = NULL;
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *path = mem_format("%s/process.json", dir);

    TRY(make_process(b, e, &process));
    TRY(dir_make(dir, 0700));
    text = json_format(process);
    return file_write(path, 0600, str_of(text));
}

static char *cause_in(struct str log, bool *ret_is_error)
{
    char *message = mem_strdup("");

    *ret_is_error = false;
    while (log.at && log.size > 0 && !*ret_is_error) {
        struct str text = str_cut(&log, '\n');
        AUTO(json_freep) json_t *line = NULL;
        AUTO(err_freep) struct err *e = json_parse(text, &line);
        const char *said = e ? NULL : json_text(line, "msg");

        if (said)
            text = str_of(said);
        free(message);
        message = mem_strndup(text.at, text.size < MESSAGE_MAX ? text.size : MESSAGE_MAX);
        *ret_is_error = said && text_equal(json_text(line, "level"), "error");
    }
    return message;
}

char *exec_read_cause(const char *dir, bool *ret_is_error)
{
    AUTO_FREE char *path = mem_format("%s/log", dir);
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(path, RUNTIME_LOG_MAX, &text);

    *ret_is_error = false;
    return e || text.size == 0 ? NULL : cause_in((struct str){text.at, text.size}, ret_is_error);
}
