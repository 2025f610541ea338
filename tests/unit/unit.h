/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmocka.h, after the headers that it requires. Tests and fixtures have a parameter that most of
 * them do not use.
 */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

#endif
