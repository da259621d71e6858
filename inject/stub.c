/*
 * stub.c - a library without content, in the place of the driver's library at link time
 *
 * The share library is linked against it under the path that the driver's library has in
 * containers.
 */

extern const int share_stub;
const int share_stub = 0;
