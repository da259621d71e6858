/* image_roles.h - the roles of `mete` as a child process of the image store */
#pragma once

/* image_unpack_linux.c: reads untrusted images, in a sandbox. */
int image_unpack_main(int argc, char **argv);

/* image_fetch_linux.c: drops privileges, enters its own directory, and executes skopeo. */
int image_fetch_main(int argc, char **argv);
