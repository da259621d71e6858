/* image_roles.h - the programs that `mete` is for images: started by images.c, not by people */
#pragma once

/* image_unpack_linux.c: reads what comes from outside, in a sandbox. */
int image_unpack_main(int argc, char **argv);

/* image_fetch_linux.c: becomes skopeo, unprivileged, with a directory of its own. */
int image_fetch_main(int argc, char **argv);
