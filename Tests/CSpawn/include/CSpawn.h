#pragma once
#include <spawn.h>

// <spawn.h> declares these functions only for GNU sources, and the Glibc module of Swift is none.
int cspawn_addclosefrom(posix_spawn_file_actions_t *actions, int from);
int cspawn_addchdir(posix_spawn_file_actions_t *actions, const char *path);
