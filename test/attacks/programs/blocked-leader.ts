import { createManager } from 'tenure'

/** Leads with a watchdog, and blocks its event loop for longer than its lease is valid. */
const manager = createManager({
  ops: false,
  watchdog: true,
  lease: { leaseDurationMs: 3000, renewDeadlineMs: 1500, retryPeriodMs: 300, requestTimeoutMs: 300, abortGraceMs: 300 },
})
manager.register(() => ({
  name: 'blocker',
  run: async () => {
    console.log('leading')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 30_000)
    console.log('went on')
  },
}))
void manager.start()
