/**
 * A replica with misbehaving tasks. It writes the beginning and end of each task with the time to descriptor 3, immediately. A message
 * makes it step down.
 */
import { writeSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { silentLogger } from '@tenure/core/internal'
import { createManager } from 'tenure'
import { misbehave, seededRandom } from '../../packages/core/test/drain/adversary.ts'
import { traceInto } from '../traces/assert-traces.ts'
import { GRACE_MS, DRAIN_MS, leaseOptions, type ProcessSetup } from './process-setup.ts'

const { lease, seed, kubeConfigPath, traceFolder }: ProcessSetup = JSON.parse(process.argv[2] ?? '{}')
const random = seededRandom(seed)
const book = { began: (task: number) => note('began', task), ended: (task: number) => note('ended', task) }
const manager = createManager({
  identity: 'adversary',
  lease: leaseOptions(lease),
  ops: false,
  events: false,
  logger: silentLogger,
  restart: { maxRestarts: 1000, backoffMs: 20 },
  env: { KUBECONFIG: kubeConfigPath, ...traceInto(traceFolder, lease) },
  argv: [],
})
manager.register(() => ({
  name: 'adversary',
  run: async (term) => {
    process.send?.('leading')
    await misbehave(term, { random, budgetMs: DRAIN_MS + GRACE_MS, wait: (ms) => wait(ms), book })
  },
}))
process.once('message', () => void manager.stepDown({ cooldownMs: 3_600_000 }))
process.once('disconnect', () => process.exit(1))
process.channel?.unref()
await manager.start()

function note(what: 'began' | 'ended', task: number): void {
  writeSync(3, `${what} ${task} ${process.hrtime.bigint()}\n`)
}
