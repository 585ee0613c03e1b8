import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { rolldown } from 'rolldown'
import { createManager } from 'tenure'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type ApiServer, openApiServer } from '../scenarios/api-server.ts'
import { Scenario } from '../scenarios/scenario.ts'
import { Program } from './program.ts'

const EXAMPLES = join(import.meta.dirname, '../../examples/embedding')
const PROGRAMS = join(import.meta.dirname, 'programs')

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

/** What a program needs to stand for the lease of the scenario. */
async function environment(scenario: Scenario): Promise<NodeJS.ProcessEnv> {
  await scenario.grant('alpha')
  const KUBECONFIG = await scenario.writeKubeConfig('alpha', server.kubeConfig(scenario.userOf('alpha')))
  return { KUBECONFIG, TENURE_LEASE: scenario.leaseName, TENURE_NAMESPACE: scenario.namespace, PORT: '0' }
}

describe.concurrent('Beside a framework that handles SIGTERM as well', () => {
  test('one SIGTERM drains the term and releases the lease, although NestJS sends the signal again', async () => {
    await using scenario = await Scenario.open(server)
    await using program = new Program(join(PROGRAMS, 'nest-and-signals.ts'), await environment(scenario))
    await program.wrote(/leading/)
    const end = await program.terminate()
    expect(program.output).toMatch(/drained\n(.*\n)*stopped/)
    expect(end).toEqual({ code: 0, signal: null })
    expect(await scenario.storedLease()).toMatchObject({ holderIdentity: '' })
  })
})

describe.concurrent('Embedded as in the example', () => {
  const programs = readdirSync(EXAMPLES).filter((file) => /^(bare|with)-.*\.ts$/.test(file))

  test.each(programs)(
    '%s serves health, all metrics and its state on one port, and releases after a SIGTERM',
    async (file) => {
      await using scenario = await Scenario.open(server)
      await using program = new Program(join(EXAMPLES, file), await environment(scenario))
      const [, port] = await program.wrote(/listening .*port: (\d+)/)
      const get = async (path: string) => (await fetch(`http://localhost:${port}${path}`)).text()
      await vi.waitFor(async () => expect(await get('/metrics')).toContain('sweeper_rounds_total'), { timeout: 60_000 })
      expect(await get('/metrics')).toContain('leader_election_master_status{name="janitor"} 1')
      expect(await get('/livez')).toContain('[+]leader-election ok')
      expect(await get('/')).toMatch(/^leading|{"state":{"kind":"leading","epoch":"\d+"}}/)
      const { code, signal } = await program.terminate()
      // NestJS ends the process with the signal that it has handled.
      expect([code, signal]).toEqual(file === 'with-nest.ts' ? [null, 'SIGTERM'] : [0, null])
      expect(program.output).toMatch(/the last round is over\n(.*\n)*stopped/)
      expect(await scenario.storedLease()).toMatchObject({ holderIdentity: '' })
    },
  )
})

describe.concurrent('In a bundle', () => {
  test.each(['esm', 'cjs'] as const)(
    'of format %s, the watchdog ends a leader whose event loop is blocked',
    async (format) => {
      await using scenario = await Scenario.open(server)
      const folder = await mkdtemp(join(tmpdir(), 'tenure-bundle-'))
      try {
        await using bundle = await rolldown({
          input: join(PROGRAMS, 'blocked-leader.ts'),
          platform: 'node',
          resolve: { conditionNames: ['@tenure/source', 'node', 'import'] },
          logLevel: 'silent',
        })
        const file = join(folder, format === 'esm' ? 'leader.mjs' : 'leader.cjs')
        await bundle.write({ file, format })
        await using program = new Program(file, await environment(scenario))
        await program.wrote(/leading/)
        expect(await program.ended).toEqual({ code: null, signal: 'SIGKILL' })
        expect(program.output).not.toContain('went on')
      } finally {
        await rm(folder, { recursive: true, maxRetries: 5 })
      }
    },
  )
})

describe.concurrent('JSON.stringify()', () => {
  test('takes the state, every event and the result of a step-down of a manager that leads', async () => {
    await using scenario = await Scenario.open(server)
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromFile((await environment(scenario))['KUBECONFIG'] ?? '')
    const lease = { name: scenario.leaseName, namespace: scenario.namespace }
    const began = Promise.withResolvers<void>()
    const manager = createManager({
      lease,
      kubeConfig,
      signals: false,
      ops: false,
      logLevel: 'silent',
      env: {},
      argv: [],
    })
    const events: string[] = []
    manager.on((event) => events.push(JSON.stringify(event)))
    manager.register(() => ({
      name: 'work',
      run: (term) => {
        began.resolve()
        return term.sleep(60_000)
      },
    }))
    const running = manager.start()
    await began.promise
    expect(JSON.stringify(manager.state)).toMatch(/^{"kind":"leading","epoch":"\d+"}$/)
    expect(JSON.stringify(await manager.stepDown())).toMatch(/^{"kind":"stepped-down","epoch":"\d+",/)
    expect(events.join('\n')).toMatch(/"kind":"term-began","epoch":"\d+"/)
    await manager.stop()
    await running
  })
})
