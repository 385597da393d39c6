#pragma once
// This header declares nothing: see MutexSlowPath.c.
