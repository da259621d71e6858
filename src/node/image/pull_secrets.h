/*
 * pull_secrets.h - who a registry is to take us for: the passwords in a pod's imagePullSecrets
 * (kubernetes.io/dockerconfigjson and kubernetes.io/dockercfg)
 */
#pragma once

#include "base/json.h"
#include "model/image_name.h"

struct pull_login {
    char *username; /* NULL: none is for this image */
    char *password;
};

/*
 * The login of the longest registry or repository prefix that fits, of the Secrets among `refs`
 * (refs.h) that `pod` names. Secrets that are missing or cannot be read do not count: the registry
 * will say what is missing.
 */
void pull_secrets_find(const json_t *pod, const json_t *refs, const struct image_name *image,
                       struct pull_login *ret);
/* The same in one text: {"auths":{"REGISTRY":{"auth":...}}}, or without "auths". */
void pull_secret_read(struct str text, const struct image_name *image, struct pull_login *ret,
                      size_t *ret_fit);
void pull_login_done(struct pull_login *l);
