/*
 * image_streams.h - image operations over the reverse stream
 *
 *   {"op":"image-list"}               → {"images":[{"id","names","sizeBytes","usedAt","pods"}]}
 *   {"op":"image-import","name":N}    ← an archive → lines {"progress":TEXT}, {"id":...,"names":[]}
 *   {"op":"image-pull","name":N}      → the same
 *   {"op":"image-remove","name":N}    → {"id":...}
 *   {"op":"image-gc","all":BOOL}      → {"removed":N,"freedBytes":N}
 *
 * Each answer consists of lines of JSON; an error is the code and message of the stream's end.
 */
#pragma once

#include "node/image/images.h"
#include "node/session/streams.h"

struct image_streams;

struct image_streams *image_streams_new(struct images *i, const struct stream_out *out);
/* Ends imports; pulls go on. Accepts NULL. To be freed after the images' worker. */
void image_streams_free(struct image_streams *s);

struct stream_service image_streams_service(struct image_streams *s);
