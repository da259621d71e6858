/* handshake.c - the opening of a WebSocket by a request */

#include "http/handshake.h"

#include <strings.h>

static struct str word_trim(struct str word)
{
    while (word.size > 0 && (*word.at == ' ' || *word.at == '\t'))
        word = (struct str){word.at + 1, word.size - 1};
    while (word.size > 0 && (word.at[word.size - 1] == ' ' || word.at[word.size - 1] == '\t'))
        word.size--;
    return word;
}

bool handshake_lists(const struct api_request *r, const char *header, const char *word)
{
    for (size_t i = 0; i < r->n_headers; i++) {
        struct str rest =
            str_of(text_equal(r->headers[i].name, header) ? r->headers[i].value : NULL);

        while (rest.at) {
            struct str one = word_trim(str_cut(&rest, ','));

            if (one.size == strlen(word) && strncasecmp(one.at, word, one.size) == 0)
                return true;
        }
    }
    return false;
}

bool handshake_is_websocket(const struct api_request *r)
{
    return text_equal(r->method, "GET") && handshake_lists(r, "upgrade", "websocket") &&
           handshake_lists(r, "connection", "upgrade");
}

struct err *handshake_accept(const struct api_request *r, char ret[WEBSOCKET_ACCEPT_SIZE])
{
    if (!text_equal(request_header(r, "sec-websocket-version"), "13"))
        return err_new(ERR_BAD_REQUEST, "want Sec-WebSocket-Version: 13");
    if (!websocket_accept_make(request_header(r, "sec-websocket-key"), ret))
        return err_new(ERR_BAD_REQUEST, "Sec-WebSocket-Key is not 16 bytes in base64");
    return NULL;
}
