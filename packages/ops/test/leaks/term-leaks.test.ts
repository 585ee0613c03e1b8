import { openSync, closeSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { HealthRegistry, type Term } from '@tenure/core'
import { metrics } from '@tenure/ops'
import { Counter, register } from 'prom-client'
import { afterEach, describe, expect, it } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { controller, manage, samples } from '../managed-ops.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

type Leaks = Readonly<Record<string, number>>

interface Line {
  readonly kind: string
  readonly name: string
  readonly count: number
  readonly lease: string
  readonly epoch: bigint
}

/** Leads so many terms one after the other, each of which does `work`; returns what was counted and logged. */
async function leaksOf(work: (term: Term, health: HealthRegistry) => unknown, terms = 8) {
  const clock = new VirtualClock()
  const lines: Line[] = []
  const log = () => {}
  const logger = { debug: log, info: log, error: log, warn: collect, child: () => logger }
  function collect(fields: Readonly<Record<string, unknown>>): void {
    if (fields['event'] === 'leak') lines.push(fields as unknown as Line)
  }
  const health = new HealthRegistry()
  await using managed = manage({
    ops: { clock, logger },
    controllers: [controller('sweeper', (term) => work(term, health))],
  })
  managed.manager.livez.add(health)
  await managed.start()
  await managed.state('leading')
  for (let term = 1; term <= terms; term++) {
    await managed.manager.stepDown({ cooldownMs: 5 })
    await turn()
    collectGarbage()
    await clock.advance(1000)
    await managed.state('leading')
  }
  const page = (await managed.get('/metrics')).body
  const counted = samples(page, 'tenure_leaks_total').map((line) => /kind="(.*)"} (\d+)/.exec(line) ?? [])
  const leaks: Leaks = Object.fromEntries(counted.map(([, kind = '', count]) => [kind, Number(count)]))
  return { leaks, lines }
}

const NONE: Leaks = { task: 0, term: 0, metric: 0, 'health-check': 0, 'process-listener': 0, resource: 0 }

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
})

async function listening(): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => sockets.add(socket.on('error', () => {})))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  cleanUps.push(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise((resolve) => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

describe('what terms leave behind', () => {
  it('is nothing where nothing is left', async () => {
    const { leaks, lines } = await leaksOf((term) => {
      term.health.register('works', () => {})
      new Counter({ name: 'swept_total', help: 'Swept.', registers: [metrics(term)] }).inc()
      const listener = () => {}
      process.on('warning', listener)
      term.defer(() => process.off('warning', listener))
      const file = openSync(import.meta.filename, 'r')
      term.defer(() => closeSync(file))
      const timer = setInterval(() => {}, 60_000)
      term.defer(() => clearInterval(timer))
    })
    expect(leaks).toEqual(NONE)
    expect(lines).toEqual([])
  })

  it('is not what the first term has made for good', async () => {
    let made = false
    const { leaks } = await leaksOf((_term, health) => {
      if (made) return
      made = true
      health.register('once', () => {})
      new Counter({ name: 'made_once_total', help: 'Made once.' }).inc()
      cleanUps.push(() => register.removeSingleMetric('made_once_total'))
      const timer = setInterval(() => {}, 60_000)
      cleanUps.push(() => clearInterval(timer))
    })
    expect(leaks).toEqual(NONE)
  })

  it('is seen when it is a Term that something still holds', async () => {
    const kept: Term[] = []
    const { leaks, lines } = await leaksOf((term) => kept.push(term))
    expect(leaks).toEqual({ ...NONE, term: expect.any(Number) })
    expect(leaks['term']).toBeGreaterThanOrEqual(4)
    expect(lines[0]).toMatchObject({ kind: 'term', name: 'sweeper', count: 1, lease: 'janitor', epoch: kept[0]?.epoch })
  })

  it('is seen when it is a metric in the global registry', async () => {
    const { leaks, lines } = await leaksOf((term) => {
      const name = `leaked_${term.epoch}_total`
      new Counter({ name, help: 'Leaked.' }).inc()
      cleanUps.push(() => register.removeSingleMetric(name))
    })
    expect(leaks).toEqual({ ...NONE, metric: 7 })
    expect(lines[0]).toMatchObject({ kind: 'metric', name: expect.stringMatching(/^leaked_\d+_total$/), count: 1 })
  })

  it('is seen when it is a health check', async () => {
    const { leaks } = await leaksOf((term, health) => health.register(`leaked-${term.epoch}`, () => {}))
    expect(leaks).toEqual({ ...NONE, 'health-check': 7 })
  })

  it('is seen when it is a listener on the process', async () => {
    const { leaks, lines } = await leaksOf(() => {
      const listener = () => {}
      process.on('warning', listener)
      cleanUps.push(() => process.off('warning', listener))
    })
    expect(leaks).toEqual({ ...NONE, 'process-listener': 7 })
    expect(lines[0]).toMatchObject({ name: 'warning', count: 1 })
  })

  it('is seen when it is a socket or a timer, after three terms', async () => {
    const port = await listening()
    const { leaks, lines } = await leaksOf(async () => {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      await new Promise((resolve) => socket.once('connect', resolve))
      cleanUps.push(() => socket.destroy())
    })
    expect(leaks['resource']).toBeGreaterThanOrEqual(7)
    expect(leaks).toEqual({ ...NONE, resource: leaks['resource'] })
    expect(lines.map(({ name }) => name)).toContain('TCPSocketWrap')
    expect(lines.find(({ name }) => name === 'TCPSocketWrap')?.count).toBeGreaterThanOrEqual(3)
  })

  it('is seen at once when it is a task whose drain was given up', async () => {
    const clock = new VirtualClock()
    const stuck = Promise.withResolvers<void>()
    await using managed = manage({
      ops: { clock },
      manager: { clock, onWedged: 'abandon', lease: { name: 'janitor', drainTimeoutMs: 100, abortGraceMs: 100 } },
      controllers: [controller('sweeper', (term) => void term.spawn('stuck', () => stuck.promise))],
    })
    await managed.start()
    await clock.advance(0)
    const ended = managed.manager.stepDown({ cooldownMs: 3_600_000 })
    await clock.advance(200)
    await ended
    const page = (await managed.get('/metrics')).body
    expect(samples(page, 'tenure_leaks_total{kind="task"}')).toEqual(['tenure_leaks_total{kind="task"} 1'])
    stuck.resolve()
    await clock.advance(0)
  })
})
