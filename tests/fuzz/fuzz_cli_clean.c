/*
 * fuzz_cli_clean.c - fuzzes the cleaning of text for terminals
 *
 * The result has no control sequences and is UTF-8. Cleaning it again changes nothing.
 */

#include <assert.h>
#include <stdint.h>

#include "base/json.h"
#include "base/mem.h"
#include "cli/term/text_escape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {.at = (const char *)data, .size = size};

    for (int how = TEXT_ESCAPE_LINE; how <= TEXT_ESCAPE_LOG; how++) {
        AUTO_FREE char *clean = text_escape(text, (enum text_escape_how)how);
        AUTO_FREE char *again = text_escape(str_of(clean), (enum text_escape_how)how);
        AUTO(json_freep) json_t *utf8 = json_string(clean);

        assert(utf8 && strcmp(clean, again) == 0);
        for (const char *at = clean; *at; at++) {
            unsigned char byte = (unsigned char)*at;

            assert(byte != 0x7f &&
                   (byte >= 0x20 || (how != TEXT_ESCAPE_LINE && (byte == '\n' || byte == '\t'))));
        }
        assert(text_escape_fit(clean, text_escape_width(clean)) == strlen(clean));
    }
    return 0;
}
