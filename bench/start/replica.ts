/** A minimal replica. It reports the moment at which it knows the leader, and its memory a second later. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Controller, createManager } from 'tenure'
import type { StartReport } from './start-report.ts'

class Idle extends Controller {
  override readonly name = 'idle'

  override async run(): Promise<void> {}
}

const manager = createManager({ ops: { port: 0 }, logLevel: 'silent' })
manager.register(() => new Idle())
manager.on((event) => {
  if (event.kind === 'leader-observed') void report(Number(process.hrtime.bigint()) / 1e6)
})
await manager.start()

async function report(candidateAt: number): Promise<void> {
  await sleep(1000)
  const told: StartReport = { candidateAt, followerBytes: process.memoryUsage.rss() }
  process.stdout.write(JSON.stringify(told), () => process.exit())
}
