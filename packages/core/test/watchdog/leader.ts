/** A leader in a process of its own: `leader.ts MARKER_FILE BLOCK_MS`. Blocks its event loop once it leads, then stops. */
import { MemoryLeaseStore } from '../../src/lock/memory-lock.ts'
import { Manager } from '../../src/manager/manager.ts'
import type { Logger } from '../../src/ports/logger.ts'
import type { Term } from '../../src/term/term.ts'

const [markerFile = '', blockMs = '0'] = process.argv.slice(2)
const log = (fields: object | string) => console.log(JSON.stringify(fields))
const logger: Logger = { debug: () => {}, info: () => {}, warn: log, error: log, child: () => logger }
const store = new MemoryLeaseStore()

const manager = new Manager({
  identity: 'leader',
  lease: {
    name: 'janitor',
    leaseDurationMs: 1000,
    renewDeadlineMs: 600,
    retryPeriodMs: 100,
    requestTimeoutMs: 100,
    abortGraceMs: 100,
  },
  createLock: ({ name }) => store.lock(name),
  watchdog: markerFile === '' ? true : { markerFile },
  logger,
})
manager.register(() => ({ name: 'blocker', run }))
await manager.start()
log({ event: 'returned' })

async function run(term: Term): Promise<void> {
  await term.sleep(250)
  log({ event: 'blocking', remainingMs: term.remainingMs() })
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(blockMs))
  log({ event: 'unblocked' })
  void manager.stop()
}
