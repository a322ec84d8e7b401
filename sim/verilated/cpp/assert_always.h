// For the files that run each clock: assertions are on, and no one turns them off.
//
// Verilated code asks its context before every assertion, in every clock, and the answer stands behind a mutex.
#pragma once

#include "verilated.h"

#define assertOnGet(type, directive) fatalOnError() | true
