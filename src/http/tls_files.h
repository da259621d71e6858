/* tls_files.h - files of a TLS server, PEM */
#pragma once

struct tls_files {
    const char *cert; /* with its chain */
    const char *key;
    const char *client_ca; /* clients must show a certificate of it; NULL: none is asked for */
};
