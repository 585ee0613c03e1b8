/** What the trace of a process holds that was killed. */
import { readFile } from 'node:fs/promises'
import type { TraceAct, TraceLine } from '@tenure/core/internal'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ApiServer, openApiServer } from './api-server.ts'
import { Scenario } from './scenario.ts'
import { BRISK } from './timings.ts'

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

/** Everything that the elector of a process did, by its trace. */
async function actsOf(path: string): Promise<readonly TraceAct[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').slice(0, -1)
  return lines.flatMap((line) => (JSON.parse(line) as Partial<TraceLine>).d ?? [])
}

describe.concurrent.each(['SIGKILL', 'SIGTERM'] as const)('A process that %s ends at once', (signal) => {
  it('leaves a trace of every write that the API server took from it, and of its term', async () => {
    await using scenario = await Scenario.open(server)
    const leader = await scenario.start('leader', { signals: false, timing: BRISK })
    await leader.saw('loop-began')
    const { length } = scenario.lease
    await scenario.lease.waitFor('a renewal', ({ holder }) => holder === 'leader', { from: length })
    leader.signal(signal)
    expect(await leader.exited).toMatchObject({ signal })
    const acts = await actsOf(scenario.traceOf('leader'))
    const sent = acts.flatMap((act) => ('r' in act ? [act.r.r] : []))
    const taken = scenario.lease.entries.filter(({ holder }) => holder === 'leader')
    expect(taken.length).toBeGreaterThan(1)
    for (const { spec } of taken) expect(sent).toContain(spec.renewTime)
    expect(acts.filter(({ u }) => u === 'begin')).toHaveLength(1)
  })
})
