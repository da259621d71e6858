/* fuzz_image_manifest.c - fuzzes all JSON documents of images: accepted documents pass their own
 * checks */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "node/image/image_index.h"
#include "node/image/image_manifest.h"
#include "node/image/pull_secrets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_config(const json_t *j)
{
    AUTO_FREE struct image_config *c = mem_alloc(sizeof(*c));
    AUTO(err_freep) struct err *e = image_config_parse(j, "amd64", c);

    if (e)
        return;
    e = image_config_check(c->config);
    if (e || c->n_layers > IMAGE_LAYERS_MAX)
        abort();
    image_config_done(c);
}

static void try_names(struct str text)
{
    AUTO_FREE char *name = mem_strndup(text.at, text.size);
    struct image_name n = {0};
    struct image_name again = {0};
    struct pull_login login = {0};
    char long_name[IMAGE_NAME_SIZE];
    size_t fit = 0;
    AUTO(err_freep) struct err *e = image_name_parse(name, &n);

    if (!e) {
        image_name_format(&n, long_name);
        e = image_name_parse(long_name, &again);
        if (e || !text_equal(n.repository, again.repository) || !text_equal(n.tag, again.tag))
            abort();
    }
    err_free(image_name_parse("reg.io/team/app", &again));
    pull_secret_read(text, &again, &login, &fit);
    pull_login_done(&login);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct image_choice want = {.architecture = "amd64", .name = "a/b:1"};
    struct str text = {(const char *)data, size};
    AUTO_FREE struct image_manifest *manifest = mem_alloc(sizeof(*manifest));
    AUTO_FREE struct image_archive *archive = mem_alloc(sizeof(*archive));
    struct image_chosen chosen = {0};
    AUTO(json_freep) json_t *j = NULL;
    AUTO(err_freep) struct err *e = json_parse(text, &j);

    try_names(text);
    if (e)
        return 0;
    err_free(image_manifest_parse(j, manifest));
    err_free(image_index_choose(j, &want, &chosen));
    err_free(image_archive_choose(j, &want, archive));
    err_free(image_index_check(j));
    try_config(j);
    return 0;
}
