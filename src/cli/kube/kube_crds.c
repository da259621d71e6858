/* kube_crds.c - `mete kube crds`: the CustomResourceDefinitions of a cluster, as YAML */

#include "cli/kube/kube_crds.h"

#include "base/mem.h"
#include "base/yaml.h"
#include "kinds/kind/crd.h"

struct err *kube_crds_run(struct cli *c)
{
    (void)fprintf(c->out,
                  "# Kinds of mete.dev on a Kubernetes cluster, made by `mete kube crds`\n");
    for (size_t i = 0; crd_kinds[i]; i++) {
        AUTO(json_freep) json_t *crd = crd_make(crd_kinds[i]);
        AUTO_FREE char *text = yaml_format(crd);

        (void)fprintf(c->out, "%s%s", i > 0 ? "---\n" : "", text);
    }
    return NULL;
}
