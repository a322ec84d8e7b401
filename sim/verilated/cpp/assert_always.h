// For files that run in each clock: assertions are always on.
//
// Verilated code asks its context before every assertion in every clock, and the answer is behind a mutex.
#pragma once

#include "verilated.h"

#define assertOnGet(type, directive) fatalOnError() | true
