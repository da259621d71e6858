/*
 * portforward_socket.c - ports of a pod over a WebSocket with channels (v4.channel.k8s.io)
 *
 * Port i of the list has channel 2i for data and 2i + 1 for an error; both begin with the port's
 * number, u16 little endian. Each port has one connection, without half-close: when the pod ends
 * its half, the connection ends. The WebSocket ends with the last connection.
 */

#include "api/portforward_private.h"
#include "base/mem.h"

struct port_sockets;

struct port_socket {
    struct port_sockets *all;
    struct forward *forward; /* NULL: ended */
    unsigned channel;        /* channel of the data */
};

struct port_sockets {
    struct session_conn *conn;
    struct forward_target *target;
    struct port_socket ports[FORWARD_PORTS_MAX];
    size_t n;
};

static void sockets_free(struct port_sockets *s)
{
    for (size_t i = 0; i < s->n; i++)
        forward_free(s->ports[i].forward);
    forward_target_free(s->target);
    free(s);
}

static void sockets_finish_if_over(struct port_sockets *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->ports[i].forward)
            return;
    session_conn_finish(s->conn);
    sockets_free(s);
}

/* Stops reading from the client while too much waits for the node. */
static void sockets_pace(struct port_sockets *s)
{
    size_t waiting = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->ports[i].forward)
            waiting += forward_backlog(s->ports[i].forward);
    session_conn_pause(s->conn, waiting >= FORWARD_INPUT_HIGH);
}

/* ---- from the node ---- */

static void on_pod_data(void *arg, struct str bytes)
{
    struct port_socket *p = arg;

    session_conn_send(p->all->conn, p->channel, bytes);
    if (!session_conn_is_full(p->all->conn))
        forward_taken(p->forward);
}

static void on_pod_drain(void *arg)
{
    sockets_pace(((struct port_socket *)arg)->all);
}

static void portforward_socket_on_pod_end(void *arg, const char *message)
{
    struct port_socket *p = arg;

    p->forward = NULL;
    if (message)
        session_conn_send(p->all->conn, p->channel + 1, str_of(message));
    sockets_finish_if_over(p->all);
}

/* The protocol has no half-close: the connection ends with the pod's half. */
static void on_pod_data_end(void *arg)
{
    struct port_socket *p = arg;

    forward_send_end(p->forward);
}

/* ---- from the client ---- */

static void portforward_socket_on_message(void *arg, unsigned channel, struct str bytes)
{
    struct port_sockets *s = arg;

    if (channel % 2 != 0 || channel / 2 >= s->n || !s->ports[channel / 2].forward)
        return;
    forward_send(s->ports[channel / 2].forward, bytes);
    sockets_pace(s);
}

static void on_drain(void *arg)
{
    struct port_sockets *s = arg;

    for (size_t i = 0; i < s->n; i++)
        if (s->ports[i].forward)
            forward_taken(s->ports[i].forward);
}

static void on_close(void *arg)
{
    struct port_sockets *s = arg;

    session_conn_free(s->conn);
    sockets_free(s);
}

/* ---- opening ---- */

static void port_begin(struct port_sockets *s, size_t i, uint16_t port)
{
    struct port_socket *p = &s->ports[i];
    const struct forward_options o = {.target = s->target,
                                      .port = port,
                                      .on_data = on_pod_data,
                                      .on_data_end = on_pod_data_end,
                                      .on_drain = on_pod_drain,
                                      .on_end = portforward_socket_on_pod_end,
                                      .arg = p};
    const char number[2] = {(char)(port & 0xff), (char)(port >> 8)};
    AUTO(err_freep) struct err *e = NULL;
    AUTO_FREE char *text = NULL;

    *p = (struct port_socket){.all = s, .channel = (unsigned)i * 2};
    session_conn_send(s->conn, p->channel, (struct str){number, sizeof(number)});
    session_conn_send(s->conn, p->channel + 1, (struct str){number, sizeof(number)});
    e = forward_open(&o, &p->forward);
    if (!e)
        return;
    text = forward_failure(s->target, port, err_message(e));
    session_conn_send(s->conn, p->channel + 1, str_of(text));
}

void portforward_begin_socket(struct call *c, const struct handshake *h,
                              struct forward_target *target, const uint16_t *ports, size_t n)
{
    struct port_sockets *s = mem_alloc(sizeof(*s));
    const struct session_conn_options o = {.message = portforward_socket_on_message,
                                           .on_drain = on_drain,
                                           .on_close = on_close,
                                           .arg = s};

    *s = (struct port_sockets){.target = target, .n = n};
    s->conn = session_conn_new(c, h, &o);
    for (size_t i = 0; i < n; i++)
        port_begin(s, i, ports[i]);
    sockets_finish_if_over(s);
}
