#pragma once
#include <spawn.h>

// What <spawn.h> declares for GNU sources alone, which Swift's Glibc module is not.
int cspawn_addclosefrom(posix_spawn_file_actions_t *actions, int from);
int cspawn_addchdir(posix_spawn_file_actions_t *actions, const char *path);
