/*
 * Products of two 64-bit numbers, and sums of many, without overflow.
 */
#ifndef XDD_BASE_UINT128_H
#define XDD_BASE_UINT128_H

typedef unsigned __int128 uint128;

#endif
