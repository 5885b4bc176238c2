#pragma once

// GCC and clang say in different ways which sanitizer a file is compiled with. Both
// have a heap of their own, which what replaces or avoids malloc must make way for.
#if defined(__SANITIZE_ADDRESS__)
#define TROUPE_CHECKS_ADDRESSES 1
#elif defined(__SANITIZE_THREAD__)
#define TROUPE_CHECKS_THREADS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TROUPE_CHECKS_ADDRESSES 1
#elif __has_feature(thread_sanitizer)
#define TROUPE_CHECKS_THREADS 1
#endif
#endif
