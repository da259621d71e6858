/* ip4.c - IPv4 addresses and networks */

#include "model/ip4.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"

enum {
    IP4_BITS = 32,
    IP4_PARTS = 4
};

#define IP4_WORDS "must be a valid IPv4 address, (e.g. 10.9.8.7)"

struct err *ip4_parse(const char *text, uint32_t *ret)
{
    struct str rest = str_of(text);
    uint32_t address = 0;

    for (int i = 0; i < IP4_PARTS; i++) {
        struct str part = rest.at ? str_cut(&rest, '.') : (struct str){0};
        int64_t value = 0;
        AUTO(err_freep) struct err *e = NULL;

        if (part.size == 0 || (part.size > 1 && part.at[0] == '0'))
            return err_new(ERR_INVALID, IP4_WORDS);
        e = num_parse_int64(part, 0, UINT8_MAX, &value);
        if (e)
            return err_new(ERR_INVALID, IP4_WORDS);
        address = address << 8 | (uint32_t)value;
    }
    if (rest.at)
        return err_new(ERR_INVALID, IP4_WORDS);
    *ret = address;
    return NULL;
}

void ip4_format(uint32_t address, char ret[IP4_TEXT_SIZE])
{
    (void)snprintf(ret, IP4_TEXT_SIZE, "%u.%u.%u.%u", address >> 24, address >> 16 & UINT8_MAX,
                   address >> 8 & UINT8_MAX, address & UINT8_MAX);
}

bool ip_is_six(const char *text)
{
    return text && strchr(text, ':') != NULL;
}

static uint32_t net_mask(unsigned bits)
{
    return bits == 0 ? 0 : UINT32_MAX << (IP4_BITS - bits);
}

/* The parts of "ADDRESS/BITS"; errors are to be wrapped. */
static struct err *net_split(const char *text, int64_t bits_min, uint32_t *ret_address,
                             int64_t *ret_bits)
{
    const char *slash = text ? strchr(text, '/') : NULL;
    char address[IP4_TEXT_SIZE];
    struct err *e = NULL;

    if (!slash || (size_t)(slash - text) >= sizeof(address))
        return err_new(ERR_INVALID, "network '%s': want ADDRESS/BITS, as 10.244.0.0/16",
                       text_or_empty(text));
    memcpy(address, text, (size_t)(slash - text));
    address[slash - text] = '\0';
    e = ip4_parse(address, ret_address);
    if (!e)
        e = num_parse_int64(str_of(slash + 1), bits_min, IP4_BITS, ret_bits);
    return e ? err_wrap(e, "network '%s'", text) : NULL;
}

struct err *ip4_block_parse(const char *text, struct ip4_block *ret)
{
    struct ip4_block block = {0};
    int64_t bits = 0;

    TRY(net_split(text, 0, &block.address, &bits));
    block.bits = (unsigned)bits;
    block.address &= net_mask(block.bits);
    *ret = block;
    return NULL;
}

bool ip4_block_has(struct ip4_block block, uint32_t address)
{
    return (address & net_mask(block.bits)) == block.address;
}

struct err *ip4_net_parse(const char *text, struct ip4_net *ret)
{
    struct ip4_net net = {0};
    int64_t bits = 0;

    TRY(net_split(text, 1, &net.address, &bits));
    net.bits = (unsigned)bits;
    if (net.address & ~net_mask(net.bits)) {
        struct ip4_net first = {net.address & net_mask(net.bits), net.bits};
        char right[IP4_NET_TEXT_SIZE];

        ip4_net_format(first, right);
        return err_new(ERR_INVALID, "network '%s' begins at %s", text, right);
    }
    *ret = net;
    return NULL;
}

void ip4_net_format(struct ip4_net net, char ret[IP4_NET_TEXT_SIZE])
{
    char address[IP4_TEXT_SIZE];

    ip4_format(net.address, address);
    (void)snprintf(ret, IP4_NET_TEXT_SIZE, "%s/%u", address, net.bits);
}

bool ip4_net_has(struct ip4_net net, uint32_t address)
{
    return net.bits > 0 && (address & net_mask(net.bits)) == net.address;
}

bool ip4_nets_overlap(struct ip4_net a, struct ip4_net b)
{
    return ip4_net_has(a, b.address) || ip4_net_has(b, a.address);
}

uint64_t ip4_net_size(struct ip4_net net)
{
    return net.bits == 0 ? 0 : UINT64_C(1) << (IP4_BITS - net.bits);
}
