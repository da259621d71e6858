/*
 * kube_runtime_linux.c - `mete kube runtime`: settings of container engines, and the way back
 *
 * A file that an administrator owns is copied beside itself before its first change
 * (FILE.mete-before; FILE.mete-none tells that there was none). The way back restores the copy if
 * nobody changed the file meanwhile, else takes out of it what Mete put in.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/proc.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "cli/kube/kube_runtime.h"
#include "node/cri/containerd_conf.h"
#include "node/cri/crio_conf.h"
#include "node/cri/docker_conf.h"

#define CONTAINERD_DIR  "/etc/containerd"
#define CONTAINERD_FILE CONTAINERD_DIR "/config.toml"
#define CONTAINERD_OURS CONTAINERD_DIR "/conf.d/99-mete.toml"
#define CRIO_DIR        "/etc/crio/crio.conf.d"
#define CRIO_FILE       "/etc/crio/crio.conf"
#define CRIO_OURS       CRIO_DIR "/99-mete.conf"
#define DOCKER_FILE     "/etc/docker/daemon.json"

enum {
    FILE_CAP = 4 << 20
};

struct kube_runtime {
    struct cli *cli;
    const char *root; /* of the machine: "" or a directory */
    bool has_handler;
    bool has_changed;
};

/* A file as it is. */
struct conf_text {
    struct buf text;
    bool is_there;
};

static struct str text_of(const struct conf_text *t)
{
    return (struct str){.at = t->text.at ? t->text.at : "", .size = t->text.size};
}

static void conf_text_done(struct conf_text *t)
{
    buf_done(&t->text);
}

static struct err *conf_read(const struct kube_runtime *x, const char *path, struct conf_text *ret)
{
    AUTO_FREE char *whole = mem_format("%s%s", x->root, path);
    struct err *e = file_read(whole, FILE_CAP, &ret->text);

    ret->is_there = !e;
    if (!e || err_code(e) != ERR_NOT_FOUND)
        return e;
    err_free(e);
    return NULL;
}

/* Writes the file, unless it has this text already. */
static struct err *conf_write(struct kube_runtime *x, const char *path, struct str text)
{
    AUTO_FREE char *whole = mem_format("%s%s", x->root, path);
    AUTO_FREE char *dir = mem_strndup(whole, (size_t)(strrchr(whole, '/') - whole));
    AUTO(conf_text_done) struct conf_text now = {0};

    TRY(conf_read(x, path, &now));
    if (now.is_there && str_equal(text_of(&now), text))
        return NULL;
    TRY(dir_make(dir, 0755));
    TRY(file_write_durable(whole, 0644, text));
    x->has_changed = true;
    (void)fprintf(x->cli->out, "wrote %s\n", path);
    return NULL;
}

static struct err *conf_remove(struct kube_runtime *x, const char *path, bool is_told)
{
    AUTO_FREE char *whole = mem_format("%s%s", x->root, path);

    if (unlink(whole) < 0)
        return errno == ENOENT ? NULL : err_errno(errno, "remove %s", path);
    x->has_changed = x->has_changed || is_told;
    if (is_told)
        (void)fprintf(x->cli->out, "removed %s\n", path);
    return NULL;
}

/* ---- the state before ---- */

/* Keeps the file as it is now, unless an older state is kept. */
static struct err *before_keep(const struct kube_runtime *x, const char *path,
                               const struct conf_text *now)
{
    AUTO_FREE char *kept = mem_format("%s%s.mete-before", x->root, path);
    AUTO_FREE char *none = mem_format("%s%s.mete-none", x->root, path);
    AUTO_FREE char *dir = mem_strndup(kept, (size_t)(strrchr(kept, '/') - kept));

    if (file_exists(kept) || file_exists(none))
        return NULL;
    TRY(dir_make(dir, 0755));
    return now->is_there ? file_write_durable(kept, 0644, text_of(now))
                         : file_write_durable(none, 0644, str_of(""));
}

/* The file as it was kept; `*ret_is_kept`: a copy, or the fact that there was no file. */
static struct err *before_read(const struct kube_runtime *x, const char *path,
                               struct conf_text *ret, bool *ret_is_kept)
{
    AUTO_FREE char *kept = mem_format("%s.mete-before", path);
    AUTO_FREE char *none = mem_format("%s%s.mete-none", x->root, path);

    TRY(conf_read(x, kept, ret));
    *ret_is_kept = ret->is_there || file_exists(none);
    return NULL;
}

static struct err *before_restore(struct kube_runtime *x, const char *path,
                                  const struct conf_text *before)
{
    return before->is_there ? conf_write(x, path, text_of(before)) : conf_remove(x, path, true);
}

static struct err *before_drop(struct kube_runtime *x, const char *path)
{
    AUTO_FREE char *kept = mem_format("%s.mete-before", path);
    AUTO_FREE char *none = mem_format("%s.mete-none", path);

    TRY(conf_remove(x, kept, false));
    return conf_remove(x, none, false);
}

/* ---- containerd ---- */

struct version_wait {
    struct loop *loop;
    char *said; /* NULL: the program failed */
};

static void on_version(void *arg, const struct proc_end *end)
{
    struct version_wait *w = arg;

    if (WIFEXITED(end->status) && WEXITSTATUS(end->status) == 0)
        w->said = mem_strndup(end->output.at, end->output.size);
    loop_linux_stop(w->loop);
}

/* The output of `containerd --version`. The caller frees it. */
static struct err *containerd_ask(const struct kube_runtime *x, char **ret)
{
    static const char *const places[] = {"/usr/bin/containerd", "/usr/local/bin/containerd"};
    AUTO_FREE char *program = mem_strdup("containerd");
    struct version_wait w = {.loop = loop_linux_new()};
    struct err *e;

    for (size_t i = 0; x->root[0] && i < COUNT(places); i++) {
        AUTO_FREE char *path = mem_format("%s%s", x->root, places[i]);

        if (file_exists(path)) {
            free(program);
            program = TAKE(path);
        }
    }
    e = proc_start(w.loop,
                   &(struct proc_options){.argv = (const char *const[]){program, "--version", NULL},
                                          .has_output = true,
                                          .deadline_ns = 10 * NS_PER_SEC},
                   on_version, &w, NULL);
    if (!e)
        e = loop_linux_run(w.loop);
    loop_linux_free(w.loop);
    if (!e && !w.said)
        e = err_new(ERR_UNAVAILABLE, "`%s --version` failed", program);
    *ret = w.said;
    return e;
}

/* The config version of the installed containerd: "containerd github.com/... v2.2.9 abc". */
static struct err *containerd_version(const struct kube_runtime *x, int *ret)
{
    AUTO_FREE char *said = NULL;
    int64_t major = 0;
    int64_t minor = 0;
    struct str rest;
    struct str number;

    TRY(containerd_ask(x, &said));
    rest = str_of(said);
    (void)str_cut(&rest, ' ');
    (void)str_cut(&rest, ' ');
    number = str_cut(&rest, ' ');
    if (number.size > 0 && number.at[0] == 'v')
        number = (struct str){number.at + 1, number.size - 1};
    TRY(num_parse_int64(str_cut(&number, '.'), 0, 1000, &major));
    TRY(num_parse_int64(str_cut(&number, '.'), 0, 1000, &minor));
    if (major < 1 || (major == 1 && minor < 7))
        return err_new(ERR_UNIMPLEMENTED, "containerd %d.%d has no CDI for pods: want 1.7 or later",
                       (int)major, (int)minor);
    *ret = major >= 2 ? 3 : 2;
    return NULL;
}

/* Puts into `last` the last file of an import that has the section; ours does not count. */
static struct err *imported_base(const struct kube_runtime *x, const char *pattern, int version,
                                 struct conf_text *last)
{
    AUTO_FREE char *whole =
        pattern[0] == '/' ? mem_strdup(pattern) : mem_format(CONTAINERD_DIR "/%s", pattern);
    AUTO_FREE char *dir = mem_strndup(whole, (size_t)(strrchr(whole, '/') - whole));
    AUTO_FREE char *below = mem_format("%s%s", x->root, dir);
    char **names = NULL;
    size_t n = 0;
    struct err *e = dir_list(below, &names, &n);

    if (e && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        return NULL;
    }
    for (size_t i = 0; !e && i < n; i++) {
        AUTO_FREE char *path = mem_format("%s/%s", dir, names[i]);
        struct conf_text text = {0};
        bool has_section = false;

        if (!containerd_conf_matches(whole, "", path) || text_equal(path, CONTAINERD_OURS))
            continue;
        e = conf_read(x, path, &text);
        if (!e)
            e = containerd_conf_has_section(text_of(&text), version, &has_section);
        if (e)
            e = err_wrap(e, "%s", path);
        if (!has_section) {
            conf_text_done(&text);
            continue;
        }
        conf_text_done(last);
        *last = text;
    }
    names_free(names, n);
    return e;
}

/* The file from which the drop-in copies, and whether the main file imports the drop-in. */
static struct err *containerd_base(const struct kube_runtime *x, const struct conf_text *main_file,
                                   int version, struct conf_text *ret_base, bool *ret_is_imported)
{
    AUTO_FREE char *imports = NULL;
    struct str rest;

    TRY(conf_read(x, CONTAINERD_FILE, ret_base));
    TRY(containerd_conf_imports(text_of(main_file), &imports));
    rest = str_of(imports);
    while (rest.at) {
        struct str line = str_cut(&rest, '\n');
        AUTO_FREE char *pattern = mem_strndup(line.at, line.size);

        if (!pattern[0])
            continue;
        *ret_is_imported =
            *ret_is_imported || containerd_conf_matches(pattern, CONTAINERD_DIR, CONTAINERD_OURS);
        TRY(imported_base(x, pattern, version, ret_base));
    }
    return NULL;
}

static struct err *containerd_configure(struct kube_runtime *x)
{
    AUTO(conf_text_done) struct conf_text now = {0};
    AUTO(conf_text_done) struct conf_text base = {0};
    AUTO_FREE char *dropin = NULL;
    AUTO_FREE char *imported = NULL;
    bool is_imported = false;
    int version = 0;
    struct err *e;

    TRY(conf_read(x, CONTAINERD_FILE, &now));
    e = containerd_conf_version(text_of(&now), &version);
    if (e)
        return err_wrap(e, CONTAINERD_FILE);
    if (version == 0)
        TRY(containerd_version(x, &version));
    e = containerd_base(x, &now, version, &base, &is_imported);
    if (e)
        return err_wrap(e, CONTAINERD_FILE);
    TRY(containerd_conf_make(&(struct containerd_conf){.version = version,
                                                       .base = text_of(&base),
                                                       .has_handler = x->has_handler},
                             &dropin));
    TRY(conf_write(x, CONTAINERD_OURS, str_of(dropin)));
    if (is_imported)
        return NULL;
    TRY(before_keep(x, CONTAINERD_FILE, &now));
    TRY(containerd_conf_import(text_of(&now), CONTAINERD_OURS, version, &imported));
    return conf_write(x, CONTAINERD_FILE, str_of(imported));
}

static struct err *containerd_unconfigure(struct kube_runtime *x)
{
    AUTO(conf_text_done) struct conf_text now = {0};
    AUTO(conf_text_done) struct conf_text before = {0};
    AUTO_FREE char *ours = NULL;
    AUTO_FREE char *without = NULL;
    bool is_kept = false;
    int version = 0;

    TRY(conf_read(x, CONTAINERD_FILE, &now));
    TRY(before_read(x, CONTAINERD_FILE, &before, &is_kept));
    if (is_kept) {
        TRY(containerd_conf_version(text_of(&now), &version));
        TRY(containerd_conf_import(text_of(&before), CONTAINERD_OURS, version, &ours));
        if (str_equal(text_of(&now), str_of(ours))) {
            TRY(before_restore(x, CONTAINERD_FILE, &before));
        } else if (now.is_there) { /* an administrator changed it */
            TRY(containerd_conf_forget(text_of(&now), CONTAINERD_OURS, &without));
            TRY(conf_write(x, CONTAINERD_FILE, str_of(without)));
        }
        TRY(before_drop(x, CONTAINERD_FILE));
    }
    return conf_remove(x, CONTAINERD_OURS, true);
}

/* ---- CRI-O ---- */

/* The first of the runtimes that packages install; NULL: none. */
static const char *crio_runtime(const struct kube_runtime *x)
{
    static const char *const places[] = {"/usr/libexec/crio/crun", "/usr/bin/crun",
                                         "/usr/libexec/crio/runc", "/usr/bin/runc",
                                         "/usr/sbin/runc"};

    for (size_t i = 0; i < COUNT(places); i++) {
        AUTO_FREE char *path = mem_format("%s%s", x->root, places[i]);

        if (file_exists(path))
            return places[i];
    }
    return NULL;
}

static struct err *crio_make(const struct kube_runtime *x, const struct conf_text *texts, size_t n,
                             char **ret)
{
    VEC(struct str) files = {0};
    struct err *e;

    for (size_t i = 0; i < n; i++)
        vec_add(&files, text_of(&texts[i]));
    e = crio_conf_make(&(struct crio_conf){.files = files.at,
                                           .n = files.n,
                                           .runtime_path = crio_runtime(x),
                                           .has_handler = x->has_handler},
                       ret);
    vec_done(&files);
    return e;
}

static struct err *crio_configure(struct kube_runtime *x)
{
    AUTO_FREE char *dir = mem_format("%s" CRIO_DIR, x->root);
    AUTO_FREE char *text = NULL;
    VEC(struct conf_text) texts = {0};
    struct conf_text first = {0};
    char **names = NULL;
    size_t n = 0;
    struct err *e = conf_read(x, CRIO_FILE, &first);

    vec_add(&texts, first);
    if (!e)
        e = dir_list(dir, &names, &n);
    if (e && err_code(e) == ERR_NOT_FOUND)
        err_free(TAKE(e));
    for (size_t i = 0; !e && i < n; i++) {
        AUTO_FREE char *path = mem_format(CRIO_DIR "/%s", names[i]);
        struct conf_text one = {0};

        if (text_equal(path, CRIO_OURS))
            continue;
        e = conf_read(x, path, &one);
        vec_add(&texts, one);
    }
    if (!e)
        e = crio_make(x, texts.at, texts.n, &text);
    if (!e)
        e = conf_write(x, CRIO_OURS, str_of(text));
    names_free(names, n);
    VEC_EACH (&texts, one)
        conf_text_done(one);
    vec_done(&texts);
    return e;
}

/* ---- Docker ---- */

/* The file's document; NULL: there is none. */
static struct err *docker_parse(const struct conf_text *t, json_t **ret)
{
    struct err *e = t->is_there && t->text.size > 0 ? json_parse(text_of(t), ret) : NULL;

    return e ? err_wrap(e, DOCKER_FILE) : NULL;
}

static struct err *docker_write(struct kube_runtime *x, const json_t *o)
{
    AUTO_FREE char *text = json_format_pretty(o);
    AUTO_FREE char *line = mem_format("%s%s", text, text_ends_with(text, "\n") ? "" : "\n");

    return conf_write(x, DOCKER_FILE, str_of(line));
}

static struct err *docker_configure(struct kube_runtime *x)
{
    AUTO(conf_text_done) struct conf_text now = {0};
    AUTO(json_freep) json_t *before = NULL;
    AUTO(json_freep) json_t *made = NULL;
    struct err *e;

    TRY(conf_read(x, DOCKER_FILE, &now));
    TRY(docker_parse(&now, &before));
    e = docker_conf_make(before, x->has_handler, &made);
    if (e)
        return err_wrap(e, DOCKER_FILE);
    if (before && json_equal(before, made))
        return NULL;
    TRY(before_keep(x, DOCKER_FILE, &now));
    return docker_write(x, made);
}

static struct err *docker_unconfigure(struct kube_runtime *x)
{
    AUTO(conf_text_done) struct conf_text now = {0};
    AUTO(conf_text_done) struct conf_text kept = {0};
    AUTO(json_freep) json_t *is = NULL;
    AUTO(json_freep) json_t *was = NULL;
    AUTO(json_freep) json_t *without = NULL;
    bool is_kept = false;

    TRY(conf_read(x, DOCKER_FILE, &now));
    TRY(before_read(x, DOCKER_FILE, &kept, &is_kept));
    if (!is_kept)
        return NULL;
    TRY(docker_parse(&now, &is));
    TRY(docker_parse(&kept, &was));
    without = docker_conf_forget(is ? is : was, was);
    if (json_equal(without, was) || (!was && json_object_size(without) == 0))
        TRY(before_restore(x, DOCKER_FILE, &kept));
    else
        TRY(docker_write(x, without));
    return before_drop(x, DOCKER_FILE);
}

/* ---- the command ---- */

static struct err *crio_unconfigure(struct kube_runtime *x)
{
    return conf_remove(x, CRIO_OURS, true);
}

static const struct {
    const char *name;
    struct err *(*configure)(struct kube_runtime *x);
    struct err *(*unconfigure)(struct kube_runtime *x);
    const char *service;
} engines[] = {
    {"containerd", containerd_configure, containerd_unconfigure, "containerd"},
    {"crio", crio_configure, crio_unconfigure, "crio"},
    {"docker", docker_configure, docker_unconfigure, "docker"},
};

struct err *kube_runtime_run(struct cli *c)
{
    struct kube_runtime x = {.cli = c,
                             .root = flag_text(c->in, "machine-root"),
                             .has_handler = flag_switch(c->in, "nvidia-handler")};
    const char *what = c->in->arguments.n > 1 ? c->in->arguments.at[1] : "";
    const char *name = c->in->arguments.n > 2 ? c->in->arguments.at[2] : "";
    bool is_on = text_equal(what, "configure");

    if (!is_on && !text_equal(what, "unconfigure"))
        return cli_usage(c, "kube runtime wants configure or unconfigure, not \"%s\"", what);
    for (size_t i = 0; i < COUNT(engines); i++) {
        if (!text_equal(name, engines[i].name))
            continue;
        TRY(is_on ? engines[i].configure(&x) : engines[i].unconfigure(&x));
        if (x.has_changed)
            cli_say(c, "restart it: systemctl restart %s", engines[i].service);
        else
            cli_say(c, "nothing to change");
        return NULL;
    }
    return cli_usage(c, "kube runtime %s wants containerd, crio or docker, not \"%s\"", what, name);
}
