import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiServer, openApiServer } from '../scenarios/api-server.ts'
import { Scenario } from '../scenarios/scenario.ts'
import { BRISK } from '../scenarios/timings.ts'
import { FrozenProcess } from './frozen-machine/frozen-process.ts'

let server: ApiServer
let folder = ''
beforeAll(async () => {
  server = await openApiServer()
  folder = await mkdtemp(join(tmpdir(), 'tenure-frozen-'))
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, maxRetries: 5 })
})

async function startLeader(scenario: Scenario, name: string, mode: 'working' | 'blocked'): Promise<FrozenProcess> {
  await scenario.grant(name)
  const kubeConfig = await scenario.writeKubeConfig(name, server.kubeConfig(scenario.userOf(name)))
  return await FrozenProcess.start({ folder, mode, name, namespace: scenario.namespace, kubeConfig })
}

/** A request that waits in the kernel until the process goes on. */
function askServer(port: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const asked = request({ port: Number(port), host: '127.0.0.1' }, (response) => void response.resume())
  asked.once('close', resolve)
  asked.once('error', () => resolve())
  asked.end()
  return promise
}

describe.concurrent('a leader whose lease was taken by another replica', () => {
  test.each([
    ['its process was paused', 'pause'],
    ['its machine was suspended, with its monotonic clock', 'suspension'],
  ] as const)(
    'while %s, runs no callback of its term when it goes on, and finds every gate closed',
    async (_what, after) => {
      await using scenario = await Scenario.open(server)
      await using leader = await startLeader(scenario, after, 'working')
      const began = await leader.saw('began')
      await leader.saw('held', { count: 20 })

      const rival = await scenario.start('rival', { timing: BRISK })
      await rival.follows(after)
      await leader.stop()
      const answered = askServer(began.what)
      await rival.saw('loop-began')
      leader.resume(after)
      await leader.saw('refused', { count: 50, sinceStop: true })
      await leader.saw('term-over', { sinceStop: true })
      await answered
      const kinds = (kind: string) => leader.sinceStop.filter((saying) => saying.kind === kind)
      expect(kinds('called')).toEqual([])
      expect(kinds('held')).toEqual([])
      expect(kinds('term-over')).toMatchObject([{ what: 'stalled' }])
      const calledBefore = new Set(leader.said.filter(({ kind }) => kind === 'called').map(({ what }) => what))
      expect([...calledBefore].toSorted()).toEqual([
        'every',
        'iterate',
        'listen',
        'message of a worker',
        'output of a child',
        'sleep',
        'timeout',
      ])
    },
  )

  test('while its machine was suspended, with its event loop blocked, is killed by its watchdog at once', async () => {
    await using scenario = await Scenario.open(server)
    await using leader = await startLeader(scenario, 'blocked', 'blocked')
    await leader.saw('began')
    const rival = await scenario.start('rival', { timing: BRISK })
    await leader.stop()
    await rival.saw('loop-began')
    leader.resume('suspension')
    const resumedAt = performance.now()
    expect(await leader.killed()).toBe('SIGKILL')
    // Its monotonic clock has at least two more seconds until the deadline that it set before.
    expect(performance.now() - resumedAt).toBeLessThan(1500)
  })
})
