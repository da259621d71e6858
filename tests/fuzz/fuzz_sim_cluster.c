/* fuzz_sim_cluster.c - fuzzes cluster files: an error, or nodes that the engine accepts */

#include <assert.h>
#include <stdint.h>

#include "base/yaml.h"
#include "sim/sim_cluster.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str text = {(const char *)data, size};
    AUTO(json_freep) json_t *documents = NULL;
    AUTO(err_freep) struct err *e = yaml_parse("f", text, &documents);
    json_t *document;
    size_t i;

    if (e)
        return 0;
    json_array_foreach (documents, i, document) {
        AUTO(sim_cluster_freep) struct sim_cluster *c = sim_cluster_new();
        AUTO(err_freep) struct err *wrong = sim_cluster_add_nodes(c, document);

        if (!wrong && sim_cluster_node_count(c) < 100) {
            struct mete_engine *engine = mete_engine_new(NULL);
            AUTO(err_freep) struct err *refused = sim_cluster_apply(c, engine);

            assert(!mete_engine_check(engine));
            mete_engine_free(engine);
        }
    }
    return 0;
}
