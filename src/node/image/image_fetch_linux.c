/*
 * image_fetch_linux.c - the role `mete image-fetch DIR ARGUMENT...`: executes skopeo with these
 * arguments, unprivileged, with DIR as /tmp and no other writable directory
 */

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "node/image/image_roles.h"
#include "node/image/image_sandbox_linux.h"

/* The proxy and certificate variables of our environment; others are not passed on. */
static const char *const passed_on[] = {"HTTP_PROXY",    "HTTPS_PROXY", "NO_PROXY",
                                        "http_proxy",    "https_proxy", "no_proxy",
                                        "SSL_CERT_FILE", "SSL_CERT_DIR"};

int image_fetch_main(int argc, char **argv)
{
    AUTO(err_freep) struct err *e = NULL;
    VEC(char *) env = {0};

    if (argc < 3)
        return 2;
    vec_add(&env, mem_strdup("PATH=/usr/local/bin:/usr/bin:/bin"));
    vec_add(&env, mem_strdup("HOME=/tmp"));
    vec_add(&env, mem_strdup("TMPDIR=/tmp"));
    vec_add(&env, mem_strdup("XDG_RUNTIME_DIR=/tmp"));
    vec_add(&env, mem_strdup("REGISTRY_AUTH_FILE=/tmp/auth.json"));
    for (size_t i = 0; i < COUNT(passed_on); i++) {
        const char *value = getenv(passed_on[i]); /* NOLINT(concurrency-mt-unsafe): one thread */

        if (value)
            vec_add(&env, mem_format("%s=%s", passed_on[i], value));
    }
    vec_add(&env, NULL);
    e = image_sandbox_fetch(argv[1]);
    if (!e) {
        argv[1] = (char *)(uintptr_t) "skopeo";
        (void)execvpe("skopeo", argv + 1, env.at);
        e = err_errno(errno, "run skopeo");
    }
    (void)fprintf(stderr, "%s\n", err_message(e));
    return 127;
}
