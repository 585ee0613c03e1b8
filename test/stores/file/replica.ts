/** A replica on one machine without a cluster, as a user would write it. Says when its work begins, with the epoch, and when it ends. */
import { FileLock } from '@tenure/file-lock'
import { createManager, type Term } from 'tenure'

const [path = ''] = process.argv.slice(2)

const manager = createManager({
  lease: {
    name: 'janitor',
    leaseDurationMs: 2000,
    renewDeadlineMs: 1000,
    retryPeriodMs: 300,
    abortGraceMs: 500,
    drainTimeoutMs: 1000,
  },
  lock: () => new FileLock({ path }),
  ops: false,
  logLevel: 'silent',
  argv: [],
  env: { TENURE_TRACE: process.env['TENURE_TRACE'] },
})

manager.register(() => ({
  name: 'work',
  run: async (term: Term) => {
    process.send?.({ kind: 'began', epoch: term.epoch, at: process.hrtime.bigint() })
    await term.sleep(1e9).catch(() => {})
    process.send?.({ kind: 'ended', epoch: term.epoch, at: process.hrtime.bigint() })
  },
}))

process.channel?.unref()
await manager.start()
