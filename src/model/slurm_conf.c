/* slurm_conf.c - reads files in the form of slurm.conf */

#include "model/slurm_conf.h"

#include <ctype.h>
#include <inttypes.h>
#include <strings.h>

/* Where the reader of a file is. */
struct conf_reader {
    struct slurm_conf *conf;
    slurm_conf_read_fn read;
    void *arg;
    const char *dir; /* of the first file, with its last '/' */
    size_t dir_size;
    const char *file;
    int64_t number; /* of the line, from 1 */
    int depth;
};

static struct err *conf_read_file(const struct conf_reader *from, const char *path);

static struct err *conf_wrong(const struct conf_reader *r, const char *text)
{
    return err_new(ERR_INVALID, "%s:%" PRId64 ": %s", r->file, r->number, text);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static bool is_key(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static void conf_skip_blanks(struct str *rest)
{
    while (rest->size > 0 && is_blank(*rest->at)) {
        rest->at++;
        rest->size--;
    }
}

static struct str conf_take(struct str *rest, size_t size)
{
    struct str taken = {rest->at, size};

    rest->at += size;
    rest->size -= size;
    return taken;
}

/* ---- logical lines ---- */

/* Adds a physical line without its comment; "\#" becomes "#". */
static void conf_add_physical(struct str line, struct buf *out)
{
    for (size_t i = 0; i < line.size; i++) {
        if (line.at[i] == '\\' && i + 1 < line.size && line.at[i + 1] == '#')
            i++;
        else if (line.at[i] == '#')
            return;
        buf_add_char(out, line.at[i]);
    }
}

/* Takes the next line with those that it goes on in; false: none is left. */
static bool conf_next_line(struct conf_reader *r, struct str *rest, int64_t *next, struct buf *out)
{
    buf_clear(out);
    r->number = *next;
    while (rest->at && rest->size > 0) {
        conf_add_physical(str_cut(rest, '\n'), out);
        ++*next;
        while (out->size > 0 && out->at[out->size - 1] == '\r')
            out->at[--out->size] = '\0';
        if (out->size == 0 || out->at[out->size - 1] != '\\')
            return true;
        out->at[--out->size] = '\0';
    }
    return out->size > 0;
}

/* ---- pairs ---- */

static struct err *conf_take_value(const struct conf_reader *r, struct str *rest, struct str *ret)
{
    size_t n = 0;

    if (rest->size > 0 && *rest->at == '"') {
        const char *end = memchr(rest->at + 1, '"', rest->size - 1);

        if (!end)
            return conf_wrong(r, "a value begins with '\"' and has no second one");
        (void)conf_take(rest, 1);
        *ret = conf_take(rest, (size_t)(end - rest->at));
        (void)conf_take(rest, 1);
        if (rest->size > 0 && !is_blank(*rest->at))
            return conf_wrong(r, "want a blank after '\"'");
        return NULL;
    }
    while (n < rest->size && !is_blank(rest->at[n]))
        n++;
    *ret = conf_take(rest, n);
    return NULL;
}

/* Bytes that are not UTF-8 become U+FFFD. */
static char *conf_text(struct str value)
{
    struct buf text = {.cap = 4 * SLURM_CONF_SIZE_MAX};

    buf_add_utf8(&text, value);
    return buf_steal(&text);
}

static struct err *conf_take_pair(const struct conf_reader *r, struct str *rest,
                                  struct slurm_conf_line *line)
{
    struct str key;
    struct str value = {0};
    size_t n = 0;

    while (n < rest->size && is_key(rest->at[n]))
        n++;
    key = conf_take(rest, n);
    conf_skip_blanks(rest);
    if (n == 0 || rest->size == 0 || *rest->at != '=')
        return err_new(ERR_INVALID, "%s:%" PRId64 ": want KEY=VALUE, not '%.*s'", r->file,
                       r->number,
                       n > 0 ? (int)(n < 64 ? n : 64) : (int)(rest->size < 64 ? rest->size : 64),
                       n > 0 ? key.at : rest->at);
    (void)conf_take(rest, 1);
    conf_skip_blanks(rest);
    TRY(conf_take_value(r, rest, &value));
    if (line->pairs.n == SLURM_CONF_PAIRS_MAX)
        return conf_wrong(r, "the line has too many keys");
    vec_add(&line->pairs,
            (struct slurm_conf_pair){mem_strndup(key.at, key.size), conf_text(value)});
    return NULL;
}

static void line_done(struct slurm_conf_line *line)
{
    VEC_EACH (&line->pairs, pair) {
        free(pair->key);
        free(pair->value);
    }
    vec_done(&line->pairs);
}

static struct err *conf_add_line(const struct conf_reader *r, struct str text)
{
    struct slurm_conf_line line = {.file = r->file, .number = r->number};
    struct err *e = NULL;

    conf_skip_blanks(&text);
    while (!e && text.size > 0) {
        e = conf_take_pair(r, &text, &line);
        conf_skip_blanks(&text);
    }
    if (!e && r->conf->lines.n == SLURM_CONF_LINES_MAX)
        e = conf_wrong(r, "the configuration has too many lines");
    if (e)
        line_done(&line);
    else if (line.pairs.n > 0)
        vec_add(&r->conf->lines, line);
    return e;
}

/* ---- files ---- */

/* "%c" is the cluster's name, in lower case. */
static char *conf_include_path(const struct conf_reader *r, struct str name)
{
    struct buf path = {.cap = 4096};
    const char *cluster = "cluster";

    VEC_EACH (&r->conf->lines, line)
        if (slurm_conf_get(line, "ClusterName"))
            cluster = slurm_conf_get(line, "ClusterName");
    if (name.size == 0 || *name.at != '/')
        buf_add(&path, r->dir, r->dir_size);
    for (size_t i = 0; i < name.size && path.size < 2048; i++) {
        if (name.at[i] == '%' && i + 1 < name.size && name.at[i + 1] == 'c') {
            for (const char *c = cluster; *c && path.size < 2048; c++)
                buf_add_char(&path, (char)tolower((unsigned char)*c));
            i++;
        } else {
            buf_add_char(&path, name.at[i]);
        }
    }
    return buf_steal(&path);
}

/* Is the line "Include FILE"? */
static bool conf_is_include(struct str text, struct str *ret_name)
{
    static const char word[] = "include";

    conf_skip_blanks(&text);
    if (text.size <= sizeof(word) || strncasecmp(text.at, word, sizeof(word) - 1) != 0 ||
        !is_blank(text.at[sizeof(word) - 1]))
        return false;
    (void)conf_take(&text, sizeof(word));
    conf_skip_blanks(&text);
    while (text.size > 0 && is_blank(text.at[text.size - 1]))
        text.size--;
    *ret_name = text;
    return text.size > 0 && *text.at != '=';
}

static struct err *conf_include(const struct conf_reader *r, struct str name)
{
    AUTO_FREE char *path = conf_include_path(r, name);
    struct err *e;

    if (r->depth == SLURM_CONF_DEPTH_MAX)
        return conf_wrong(r, "files include each other too deeply");
    e = conf_read_file(r, path);
    if (e && err_code(e) == ERR_NOT_FOUND)
        return err_wrap(e, "%s:%" PRId64 ": Include", r->file, r->number);
    return e;
}

static struct err *conf_add_text(struct conf_reader *r, struct str text)
{
    AUTO(buf_done) struct buf line = {.cap = SLURM_CONF_SIZE_MAX + 1};
    struct str rest = text;
    struct str name;
    int64_t next = 1;

    if (memchr(text.at, '\0', text.size))
        return err_new(ERR_INVALID, "%s: a byte is 0: want text", r->file);
    while (conf_next_line(r, &rest, &next, &line)) {
        struct str one = {line.at, line.size};

        TRY(conf_is_include(one, &name) ? conf_include(r, name) : conf_add_line(r, one));
    }
    return NULL;
}

static struct err *conf_read_file(const struct conf_reader *from, const char *path)
{
    struct conf_reader r = *from;
    AUTO(buf_done) struct buf text = {.cap = SLURM_CONF_SIZE_MAX + 1};

    if (r.conf->files.n == SLURM_CONF_FILES_MAX)
        return err_new(ERR_INVALID, "%s: more than %d files", path, SLURM_CONF_FILES_MAX);
    TRY(r.read(r.arg, path, &text));
    r.conf->size += text.size;
    if (r.conf->size > SLURM_CONF_SIZE_MAX)
        return err_new(ERR_INVALID, "%s: the files have more than %d bytes", path,
                       SLURM_CONF_SIZE_MAX);
    r.file = mem_strdup(path);
    vec_add(&r.conf->files, (char *)(uintptr_t)r.file);
    r.depth++;
    return text.size > 0 ? conf_add_text(&r, (struct str){text.at, text.size}) : NULL;
}

struct err *slurm_conf_load(const char *path, slurm_conf_read_fn read, void *arg,
                            struct slurm_conf *ret)
{
    const char *slash = strrchr(path, '/');
    struct slurm_conf conf = {0};
    const struct conf_reader r = {.conf = &conf,
                                  .read = read,
                                  .arg = arg,
                                  .dir = path,
                                  .dir_size = slash ? (size_t)(slash - path) + 1 : 0};
    struct err *e = conf_read_file(&r, path);

    if (e) {
        slurm_conf_done(&conf);
        return e;
    }
    *ret = conf;
    return NULL;
}

const char *slurm_conf_get(const struct slurm_conf_line *line, const char *key)
{
    const char *value = NULL;

    VEC_EACH (&line->pairs, pair)
        if (strcasecmp(pair->key, key) == 0)
            value = pair->value;
    return value;
}

struct err *slurm_conf_wrong(const struct slurm_conf_line *line, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = mem_vformat(fmt, ap);
    va_end(ap);
    return err_new(ERR_INVALID, "%s:%" PRId64 ": %s", line->file, line->number, text);
}

void slurm_conf_done(struct slurm_conf *c)
{
    VEC_EACH (&c->lines, line)
        line_done(line);
    vec_done(&c->lines);
    VEC_EACH (&c->files, file)
        free(*file);
    vec_done(&c->files);
    *c = (struct slurm_conf){0};
}
