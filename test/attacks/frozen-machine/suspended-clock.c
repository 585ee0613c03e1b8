/*
 * Gives one process the clocks of a machine that was suspended: CLOCK_MONOTONIC leaves out the nanoseconds that stand in the file
 * $SUSPENDED_NS_FILE, CLOCK_BOOTTIME and CLOCK_REALTIME do not. Loaded with LD_PRELOAD. The test stops the process, enters how long
 * that was, and lets it go on.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *suspended_ns;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void load(void) {
  const char *file = getenv("SUSPENDED_NS_FILE");
  int fd = file == NULL ? -1 : open(file, O_RDONLY | O_CLOEXEC);
  if (fd >= 0) suspended_ns = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
  if (fd >= 0) close(fd);
  if (suspended_ns == MAP_FAILED) suspended_ns = NULL;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (real_clock_gettime == NULL) real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  int failed = real_clock_gettime(clock, time);
  if (failed || suspended_ns == NULL) return failed;
  if (clock != CLOCK_MONOTONIC && clock != CLOCK_MONOTONIC_COARSE && clock != CLOCK_MONOTONIC_RAW) return 0;
  int64_t ns = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec - *suspended_ns;
  time->tv_sec = ns / 1000000000;
  time->tv_nsec = ns % 1000000000;
  return 0;
}
