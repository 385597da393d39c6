#pragma once
// Nothing to call: see MutexSlowPath.c.
