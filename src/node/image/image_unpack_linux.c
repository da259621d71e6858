/*
 * image_unpack_linux.c - the role `mete image-unpack`: unpacks one image in a sandbox
 *
 *   mete image-unpack DIR tar|dir ARCHITECTURE BYTES [NAME]
 *
 * DIR/known lists the diff ids of layers on this machine, one a line. With `dir`, the image is in
 * DIR/in/image in the format of skopeo's transport "dir:"; with `tar`, an archive comes on stdin.
 * Layers are unpacked to DIR/layers/N. Output is lines of JSON: {"progress":TEXT}, and last
 * {"image":...} or {"error":TEXT,"code":N}.
 */

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/archive_linux.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "node/image/image_files_linux.h"
#include "node/image/image_layer_linux.h"
#include "node/image/image_manifest.h"
#include "node/image/image_roles.h"
#include "node/image/image_sandbox_linux.h"
#include "node/image/sha256_linux.h"

enum {
    KNOWN_MAX = 16 << 20,
    ENTRIES_MAX = 4000000
};

struct unpack {
    struct image_files *source;
    struct image_choice want;
    struct buf known;
    int64_t left_bytes;
    int64_t left_entries;

    /* the image, filled step by step */
    const char *blobs; /* prefix of a blob's name, before the digits */
    char id[IMAGE_DIGEST_SIZE];
    json_t *names;
    struct image_manifest manifest;
    struct image_archive archive; /* of a Docker archive: paths instead of blobs */
    struct image_config config;
    json_t *json; /* owns the names of `archive` */
    json_t *layers;
    size_t layer; /* number of the layer being unpacked */
};

static void unpack_say(json_t *j)
{
    AUTO(json_freep) json_t *line = j;
    AUTO_FREE char *text = json_format(line);

    if (printf("%s\n", text) < 0 || fflush(stdout) != 0)
        _exit(1); /* the parent is gone */
}

/* ---- manifests ---- */

static char *blob_name(const struct unpack *u, const char *digest)
{
    return mem_format("%s%s", u->blobs, digest + strlen("sha256:"));
}

/* Reads a JSON file, and checks its digest against `want` unless that is NULL. */
static struct err *read_json(const struct unpack *u, const char *name, const char *want,
                             char ret_digest[IMAGE_DIGEST_SIZE], json_t **ret)
{
    AUTO(buf_done) struct buf text = {0};
    AUTO(sha256_freep) struct sha256 *s = sha256_new();
    char digest[IMAGE_DIGEST_SIZE];
    struct err *e;

    TRY(image_files_text(u->source, name, IMAGE_JSON_MAX, &text));
    sha256_add(s, text.at, text.size);
    sha256_end(s, digest);
    if (want && !text_equal(want, digest))
        return err_new(ERR_INVALID, "digest of '%s' does not match: want %s, found %s", name, want,
                       digest);
    e = json_parse((struct str){text.at, text.size}, ret);
    if (e) {
        e = err_wrap(e, "'%.100s'", name);
        if (err_code(e) == ERR_INVALID)
            return e;
        {
            struct err *invalid = err_new(ERR_INVALID, "%s", err_message(e));

            err_free(e);
            return invalid;
        }
    }
    if (ret_digest)
        (void)snprintf(ret_digest, IMAGE_DIGEST_SIZE, "%s", digest);
    return NULL;
}

static struct err *read_config(struct unpack *u, const char *name, const char *digest,
                               size_t n_layers)
{
    AUTO(json_freep) json_t *j = NULL;

    TRY(read_json(u, name, digest, u->id, &j));
    TRY(image_config_parse(j, u->want.architecture, &u->config));
    if (u->config.n_layers != n_layers)
        return err_new(ERR_INVALID, "the manifest has %zu layers and the config has %zu", n_layers,
                       u->config.n_layers);
    return NULL;
}

static struct err *read_manifest(struct unpack *u, const char *name, const char *digest)
{
    AUTO(json_freep) json_t *j = NULL;
    AUTO_FREE char *config = NULL;

    TRY(read_json(u, name, digest, NULL, &j));
    TRY(image_manifest_parse(j, &u->manifest));
    config = blob_name(u, u->manifest.config.digest);
    return read_config(u, config, u->manifest.config.digest, u->manifest.n_layers);
}

/* Reads an OCI layout: index.json, perhaps further indexes, and the manifest. */
static struct err *read_layout(struct unpack *u)
{
    AUTO_FREE char *name = mem_strdup("index.json");
    char digest[IMAGE_DIGEST_SIZE] = "";

    u->blobs = "blobs/sha256/";
    for (int depth = 0; depth < IMAGE_INDEX_DEPTH_MAX; depth++) {
        AUTO(json_freep) json_t *j = NULL;
        struct image_chosen chosen = {0};

        TRY(read_json(u, name, *digest ? digest : NULL, NULL, &j));
        TRY(image_index_choose(j, &u->want, &chosen));
        if (chosen.name && json_array_size(u->names) == 0)
            (void)json_array_append_new(u->names, json_string(chosen.name));
        (void)snprintf(digest, sizeof(digest), "%s", chosen.blob.digest);
        free(name);
        name = blob_name(u, digest);
        if (chosen.media == IMAGE_MEDIA_MANIFEST)
            return read_manifest(u, name, digest);
    }
    return err_new(ERR_INVALID, "index: nested more than %d deep", IMAGE_INDEX_DEPTH_MAX);
}

static struct err *read_docker(struct unpack *u)
{
    const json_t *item = NULL;
    size_t i = 0;

    TRY(read_json(u, "manifest.json", NULL, NULL, &u->json));
    TRY(image_archive_choose(u->json, &u->want, &u->archive));
    json_array_foreach (u->archive.names, i, item)
        if (json_is_string(item))
            (void)json_array_append_new(u->names, json_string(json_string_value(item)));
    return read_config(u, u->archive.config, NULL, u->archive.n_layers);
}

static struct err *read_image(struct unpack *u, bool is_dir)
{
    if (is_dir) {
        u->blobs = "";
        return read_manifest(u, "manifest.json", NULL);
    }
    if (image_files_has(u->source, "index.json"))
        return read_layout(u);
    if (image_files_has(u->source, "manifest.json"))
        return read_docker(u);
    return err_new(ERR_INVALID,
                   "archive: no image: neither index.json (OCI) nor manifest.json (Docker)");
}

/* ---- layers ---- */

static bool is_known(const struct unpack *u, const char *diff_id)
{
    struct str rest = {u->known.at, u->known.size};

    while (rest.at && rest.size > 0)
        if (str_equal(str_cut(&rest, '\n'), str_of(diff_id)))
            return true;
    for (size_t i = 0; i < u->layer; i++)
        if (text_equal(u->config.diff_ids[i], diff_id))
            return true;
    return false;
}

static void image_unpack_on_progress(void *arg, int64_t read_bytes)
{
    const struct unpack *u = arg;
    int64_t size_bytes = u->archive.config ? -1 : u->manifest.layers[u->layer].size_bytes;
    AUTO_FREE char *of =
        size_bytes > 0 ? mem_format(" of %.1f", (double)size_bytes / (1 << 20)) : mem_strdup("");
    AUTO_FREE char *text = mem_format("layer %zu of %zu: %.1f%s MiB", u->layer + 1,
                                      u->config.n_layers, (double)read_bytes / (1 << 20), of);

    unpack_say(json_pack("{s:s}", "progress", text));
}

/* Unpacks one layer. A layer that the machine has is still read and checked: an importer must own
 * the content, not only know its digest. */
static struct err *unpack_layer(struct unpack *u)
{
    const char *diff_id = u->config.diff_ids[u->layer];
    const char *blob = u->archive.config ? NULL : u->manifest.layers[u->layer].digest;
    bool is_here = is_known(u, diff_id);
    AUTO_FREE char *name = blob ? blob_name(u, blob) : mem_strdup(u->archive.layers[u->layer]);
    AUTO_FREE char *dir = mem_format("/layers/%zu", u->layer);
    AUTO(fd_closep) int fd = -1;
    struct image_layer_job job = {.name = name,
                                  .blob = blob,
                                  .diff_id = diff_id,
                                  .dir = is_here ? NULL : dir,
                                  .left_bytes = &u->left_bytes,
                                  .left_entries = &u->left_entries,
                                  .progress = image_unpack_on_progress,
                                  .arg = u};
    struct image_layer_result result = {0};
    json_t *layer = json_object();

    (void)json_array_append_new(u->layers, layer);
    json_put_text(layer, "diffId", diff_id);
    TRY(image_files_open(u->source, name, &fd));
    job.fd = fd;
    TRY(image_layer_unpack(&job, &result));
    if (is_here)
        return NULL;
    json_put_int(layer, "index", (int64_t)u->layer);
    json_put_int(layer, "sizeBytes", result.size_bytes);
    json_put_bool(layer, "isOpaque", result.is_opaque);
    return NULL;
}

static struct err *unpack_layers(struct unpack *u)
{
    for (u->layer = 0; u->layer < u->config.n_layers; u->layer++) {
        struct err *e;

        image_unpack_on_progress(u, 0);
        e = unpack_layer(u);
        if (e)
            return err_wrap(e, "layer %zu of %zu", u->layer + 1, u->config.n_layers);
    }
    return NULL;
}

/* Makes all files durable before the result is reported. */
static struct err *sync_all(void)
{
    AUTO(fd_closep) int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 || syncfs(fd) < 0 ? err_errno(errno, "write the layers to the disk") : NULL;
}

/* ---- the role ---- */

static struct err *open_source(struct unpack *u, bool is_dir)
{
    const struct image_limits limits = {.bytes_max = u->left_bytes};

    if (mkdirat(AT_FDCWD, "/layers", 0700) < 0 || mkdirat(AT_FDCWD, "/spool", 0700) < 0)
        return err_errno(errno, "make a directory");
    if (is_dir)
        u->source = image_files_of_dir("/in/image");
    else
        TRY(image_files_read(STDIN_FILENO, "/spool", &limits, &u->source));
    return NULL;
}

static struct err *image_unpack(struct unpack *u, bool is_dir)
{
    TRY(file_read("/known", KNOWN_MAX, &u->known));
    TRY(open_source(u, is_dir));
    TRY(read_image(u, is_dir));
    TRY(unpack_layers(u));
    TRY(sync_all());
    unpack_say(json_pack("{s:{s:s, s:O, s:O, s:O}}", "image", "id", u->id, "names", u->names,
                         "config", u->config.config, "layers", u->layers));
    return NULL;
}

static void unpack_done(struct unpack *u)
{
    image_files_free(u->source);
    image_config_done(&u->config);
    buf_done(&u->known);
    json_decref(u->names);
    json_decref(u->layers);
    json_decref(u->json);
}

int image_unpack_main(int argc, char **argv)
{
    struct unpack u = {.left_entries = ENTRIES_MAX};
    AUTO(err_freep) struct err *e = NULL;
    bool is_dir = argc > 2 && text_equal(argv[2], "dir");
    bool is_done = false;

    if (argc < 5)
        return 2;
    (void)setlocale(LC_CTYPE, "C.UTF-8"); /* libarchive needs it for names; here these are bytes */
    u.want = (struct image_choice){.architecture = argv[3], .name = argc > 5 ? argv[5] : NULL};
    u.names = json_array();
    u.layers = json_array();
    e = num_parse_int64(str_of(argv[4]), 0, INT64_MAX, &u.left_bytes);
    if (!e)
        e = archive_load(); /* before the sandbox hides the library */
    if (!e)
        e = image_sandbox_enter(argv[1]);
    if (!e)
        e = image_unpack(&u, is_dir);
    is_done = !e;
    if (e)
        unpack_say(json_pack("{s:s, s:i}", "error", err_message(e), "code", err_http(e)));
    unpack_done(&u);
    err_free(TAKE(e));
    _exit(is_done ? 0 : 1); /* skip the leak check, which needs /proc */
}
